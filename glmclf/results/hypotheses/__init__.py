"""Hypotheses on parameters: linear, nonlinear, pairwise."""
