"""Transforms in formulas that remember: splines, polynomials, standardisation."""
