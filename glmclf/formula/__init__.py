"""Lower-case functions for formulas, as in ``statsmodels.formula.api``."""
