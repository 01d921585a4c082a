"""Readers: from tables and formulas to the rows of a fit.

`read_formula` and `read_features` read a source by a formula: `bind` finds what its names are, a `Reader` evaluates a
part (`settle`) and tells what it shows (`summary`), and of all that is shown the design and the response are made. A
table in memory is a source of one part, evaluated once. `arrays` and `feature_arrays` read what has no formula.
"""
