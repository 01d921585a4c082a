"""Readers: from tables and formulas to the rows of a fit, in memory and part by part."""
