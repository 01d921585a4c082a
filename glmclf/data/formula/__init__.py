"""Formulas: parsing, terms, factors, and what their code may do."""
