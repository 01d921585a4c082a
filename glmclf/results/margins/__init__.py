"""Marginal effects, adjusted predictions, contrasts and inverse predictions."""
