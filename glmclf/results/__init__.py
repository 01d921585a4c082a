"""Results of fits: labelled estimates, tests, tables and predictions."""
