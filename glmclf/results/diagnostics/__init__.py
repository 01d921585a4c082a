"""Diagnostics of a fit: goodness of fit, influence, residuals, link test, inflation, accuracy."""
