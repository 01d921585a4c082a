"""The note on factors whose levels have few observations each: when it is printed, and what it counts."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import CLogLog, Logit, MNLogit, Probit

WORDS = "incidental parameters"


def table(levels: int = 24, rows: int = 6, seed: int = 0) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    g = np.repeat(np.arange(levels), rows)
    x = r.normal(size=len(g))
    y = (r.random(len(g)) < 1 / (1 + np.exp(-0.3 * x))).astype(int)
    y[::rows], y[1::rows] = 0, 1  # no level is separated
    return pd.DataFrame({"y": y, "x": x, "g": [f"g{i:02d}" for i in g], "k": r.choice(["a", "b", "c"], len(g))})


def notes(res) -> str:
    return " ".join(res.summary().extra_txt.split())


@pytest.mark.parametrize("model", [Logit, Probit, CLogLog])
def test_what_it_says(model):
    said = notes(model.from_formula("y ~ x + g", table()).fit())
    assert "g has 24 levels of 6 observations each" in said
    assert "some 1.20 times or somewhat more" in said  # 1 + 1/5


def test_levels_without_an_intercept():
    assert "g has 24 levels of 6 observations each" in notes(Logit.from_formula("y ~ 0 + g + x", table()).fit())


def test_several_classes():
    data = table(rows=12)
    for i, k in enumerate("abc"):
        data.loc[data.index % 12 == i, "k"] = k
    assert "24 levels of 12 observations" in notes(MNLogit.from_formula("k ~ x + g", data).fit())


@pytest.mark.parametrize(
    ("formula", "data"),
    [
        ("y ~ x + g", table(rows=20)),  # enough observations
        ("y ~ x + g", table(levels=19)),  # few levels
        ("y ~ g", table()),  # no other coefficient
        ("y ~ 0 + g", table()),
        ("y ~ x", table()),
    ],
)
def test_when_it_is_not_printed(formula, data):
    assert WORDS not in notes(Logit.from_formula(formula, data).fit())


def test_estimates_that_are_not_maximum_likelihood():
    model = Logit.from_formula("y ~ x + g", table())
    for res in (model.fit(bias_reduction="firth"), model.fit_regularized(0.1)):
        assert WORDS not in notes(res)
    assert WORDS in notes(model.fit_constrained("x = 0.3"))


def test_observations_are_counted_not_rows():
    data = table(rows=6)
    data["w"] = 4
    assert WORDS not in notes(Logit.from_formula("y ~ x + g", data, freq_weights="w").fit())
    assert WORDS in notes(Logit.from_formula("y ~ x + g", data, weights="w").fit())
    counts = pd.DataFrame({"g": data.g, "x": data.x, "yes": data.y + 1, "no": 3 - data.y})
    assert WORDS not in notes(Logit.from_formula("yes + no ~ x + g", counts).fit())  # 24 trials a level
    few = counts.assign(no=1, yes=[1, 2] * 72)
    assert "24 levels of 15 observations" in notes(Logit.from_formula("yes + no ~ x + g", few).fit())


def test_kept_without_rows(tmp_path):
    res = Logit.from_formula("y ~ x + g", table()).fit()
    said = notes(res)
    res.save(tmp_path / "fit.json")
    assert notes(glmclf.load(tmp_path / "fit.json")) == said
    res.remove_data()
    assert notes(res) == said


def test_data_in_parts():
    data = table()
    res = Logit.from_formula("y ~ x + g", lambda: iter([data[:70], data[70:]])).fit()
    assert "24 levels of 6 observations" in notes(res)


def test_pairs_of_rows_double_the_slope():
    """Andersen's result of 1973, which the note rests on, and the conditional estimate that does not have it."""
    r = np.random.default_rng(3)
    n = 400
    x = r.normal(size=(n, 2))
    y = (x + r.normal(size=(n, 1)) + r.logistic(size=x.shape) > 0).astype(int)
    mixed = y.sum(axis=1) == 1
    x, y = x[mixed], y[mixed]
    data = pd.DataFrame({"x": x.ravel(), "y": y.ravel(), "g": np.repeat(np.arange(len(x)), 2).astype(str)})
    slope = Logit.from_formula("y ~ x + g", data).fit().params["x"]
    conditional = Logit((y[:, 1] > y[:, 0]).astype(int), np.diff(x)).fit().params.iloc[0]
    np.testing.assert_allclose(slope, 2 * conditional, rtol=1e-8)
