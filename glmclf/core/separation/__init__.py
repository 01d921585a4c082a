"""Separation: the recession cone of a likelihood and the estimate at its limit."""
