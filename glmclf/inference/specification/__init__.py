"""Tests of specification: goodness of fit, information matrix, Vuong, Hauck-Donner, VIF."""
