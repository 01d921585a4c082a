"""Numerical tools without statistics: double-double sums, special functions, seeds, folds."""
