"""Responses and prior probabilities: labels, counts, fractions, and their coding."""
