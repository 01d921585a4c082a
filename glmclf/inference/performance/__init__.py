"""Predictive performance: accuracy, ROC, calibration, validation."""
