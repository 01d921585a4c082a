"""Results of regressions: models of two outcomes, and of several levels."""
