"""Separation: the recession cone of a likelihood and the estimate at its limit."""

MIN_COLUMNS_TO_COUNT = 16  # columns from which programs, and fits towards infinity, take longer than counting
