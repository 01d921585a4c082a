"""Covariances of estimates: model-based, robust, clustered, resampled."""
