"""Sphinx configuration. The build needs no network."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "glmclf"
author = "The glmclf developers"
copyright = "2026, The glmclf developers"
release = version = installed("glmclf")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "offline",
    "figure_of",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "conftest.py", "sg_execution_times.rst"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
templates_path = ["_templates"]
numpydoc_show_class_members = False  # the template of classes documents every method in full

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "image_scrapers": ("figure_of",),
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "glmclf"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "navbar_center": [],
    "navbar_persistent": ["search-button-field"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["site-contents"]}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False
html_copy_source = False
