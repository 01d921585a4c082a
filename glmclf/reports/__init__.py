"""Reports of fits: one HTML file, or Markdown with pictures, of what was modelled, found, checked and validated."""
