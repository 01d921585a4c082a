"""Averages over rows with their errors: marginal effects, predictions, contrasts, inverse prediction."""
