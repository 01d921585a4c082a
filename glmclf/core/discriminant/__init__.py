"""The logit that Gaussian classes imply: coefficients, covariances, influence."""
