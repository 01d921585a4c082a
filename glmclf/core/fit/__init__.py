"""Maximisation: starts, coordinates, solvers, collinear columns, bias reduction."""
