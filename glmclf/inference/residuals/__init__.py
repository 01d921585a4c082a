"""Residuals of binary and multinomial responses."""
