"""Exact derivatives of design matrices with respect to variables."""
