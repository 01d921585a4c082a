"""Gaussian classes: moments, covariances and their shrinkage, densities, likelihood."""
