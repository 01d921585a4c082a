"""Lower-case functions for formulas, as in ``statsmodels.formula.api``."""

from glmclf.formula import api as api
