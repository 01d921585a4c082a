"""Tests, intervals and predictions from an estimate and its covariance: arrays in, small records out."""
