"""Penalised maximum likelihood: ridge, lasso and elastic net."""
