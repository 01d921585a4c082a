"""Results: labels and presentation of what was estimated."""
