"""Fits that plots are tested with, each made once."""

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, Logit, MNLogit, Probit, datasets

LONG = [f"level number {k} with a long name of about sixty letters $x_{k}$" for k in range(8)]


@pytest.fixture(scope="session")
def penguins():
    return datasets.load("penguins").dropna()


@pytest.fixture(scope="session")
def logit(penguins):
    return Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm + species", penguins, event="male").fit()


@pytest.fixture(scope="session")
def probit(penguins):
    return Probit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins, event="male").fit(cov_type="HC0")


@pytest.fixture(scope="session")
def mnlogit(penguins):
    return MNLogit.from_formula("island ~ body_mass_g + sex", penguins).fit()


@pytest.fixture(scope="session")
def lda(penguins):
    return LDA.from_formula("species ~ bill_length_mm + bill_depth_mm", penguins).fit()


@pytest.fixture(scope="session")
def wide():
    """40 regressors, of which two thirds have names of 60 letters."""
    generator = np.random.default_rng(1)
    names = [f"x{i}" if i % 3 == 0 else f"a_rather_long_$variable$_with_a_number_{i}_and words äöü" + "z" * 9
             for i in range(40)]
    table = pd.DataFrame(generator.normal(size=(150, 40)), columns=names)
    y = pd.Series((table.x0 + 2 * generator.normal(size=150) > 0).astype(int), name="y")
    return Logit(y, table.assign(const=1.0)).fit()


@pytest.fixture(scope="session")
def eight():
    """8 levels with long names."""
    generator = np.random.default_rng(2)
    table = {"y": np.repeat(LONG, 30), "x": generator.normal(size=240), "g": np.tile(list("abc"), 80)}
    return MNLogit.from_formula("y ~ x + g", pd.DataFrame(table)).fit()


@pytest.fixture(scope="session")
def separated():
    """g[T.b] and g[T.c] are infinite, z is omitted, x is finite."""
    x = [1, 2, 3, 2.5, 5, 6, 3.3, 8, 4.5, 4.2] * 4
    table = pd.DataFrame({"y": [0, 0, 0, 1, 1, 1, 0, 1, 0, 1] * 4, "x": x, "g": list("aaabbccccc") * 4})
    with pytest.warns(UserWarning):
        return Logit.from_formula("y ~ g + x + I(2 * x)", table).fit()
