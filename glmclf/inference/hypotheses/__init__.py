"""Tests of hypotheses on parameters: Wald, score, likelihood ratio, multiplicity, pooling."""
