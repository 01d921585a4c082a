"""Predictive performance: reports, ROC curves, calibration, validation."""
