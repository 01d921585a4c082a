"""Models, toy data and comparisons that the property, bad-input and result tests share."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import registry

MODELS = registry.names("binary")
METHODS = ["irls", "newton", "bfgs", "lbfgs", "sgd"]
COVARIANCES: dict[str, dict[str, Any]] = {
    "nonrobust": {},
    "expected": {},
    "HC0": {},
    "HC1": {},
    "one-way": {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}},
    "two-way": {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}},
}
FORMULA = "y ~ x1 + x2 + g"

models = pytest.mark.parametrize("model", MODELS)
methods = pytest.mark.parametrize("method", METHODS)
covariances = pytest.mark.parametrize("cov", COVARIANCES)


def cov_options(cov: str) -> dict[str, Any]:
    """Options of fit() for an entry of COVARIANCES."""
    return COVARIANCES[cov] or {"cov_type": cov}


@functools.cache
def _toy(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    t = pd.DataFrame({"x1": rng.normal(size=n), "x2": rng.gamma(2.0, size=n)})
    t["g"] = rng.choice(["a", "b", "c"], n)
    t["h"] = rng.choice(["left", "right"], n)
    t["off"] = rng.normal(scale=0.4, size=n)
    t["firm"] = rng.choice([f"f{i}" for i in range(40)], n)
    t["year"] = rng.integers(1990, 2020, n)
    eta = -0.6 + 0.8 * t.x1 - 0.3 * t.x2 + t.g.map({"a": 0.0, "b": 0.7, "c": -0.5})
    p = 1 / (1 + np.exp(-eta))
    t["y"] = np.where(rng.random(n) < p, "yes", "no")
    t["y01"] = (t.y == "yes").astype(int)
    t["times"] = rng.choice([0, 1, 1, 2, 5], n)
    t["sw"] = rng.gamma(3.0, size=n)
    t["trials"] = rng.choice([0, 1, 2, 7], n)
    t["won"] = rng.binomial(t.trials, p)
    t["lost"] = t.trials - t.won
    t["share"] = rng.beta(2, 3, n)
    return t


def toy(n: int = 160, seed: int = 1) -> pd.DataFrame:
    """A table with two numbers, two factors, an offset, clusters, weights, counts and a yes/no response."""
    return _toy(n, seed).copy()


def make(model: str, formula: str, data: Any, **keywords: Any) -> Any:
    """A model from a formula, by the name of its class."""
    return getattr(glmclf, model).from_formula(formula, data, **keywords)


def fit(model: str, formula: str = FORMULA, data: Any = None, *, options: Any = None, **keywords: Any) -> Any:
    """A fit; warnings are errors, so that none passes unseen."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", glmclf.errors.InferenceWarning)  # two-way clusters with a variance below 0
        return make(model, formula, toy() if data is None else data, **keywords).fit(**(options or {}))


@functools.cache
def shared(model: str, formula: str = FORMULA, cov: str = "nonrobust", offset: str | None = None) -> Any:
    """A fit of the toy data, computed once; treat it as read-only."""
    return fit(model, formula, offset=offset, options=cov_options(cov))


NUMBERS = (
    *("llf", "llnull", "llr", "llr_pvalue", "prsquared", "aic", "bic", "nobs", "df_model", "df_resid"),
    *("deviance", "null_deviance"),
)
FRAMES = ("params", "bse", "tvalues", "pvalues")


def close(a: Any, b: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """assert_allclose, NaN equal to NaN."""
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=atol)


def same_inference(a: Any, b: Any, rtol: float = 1e-9) -> None:
    """Every number of two fits that is not row-sized is the same."""
    assert list(a.params.index) == list(b.params.index)
    for name in FRAMES:
        close(getattr(a, name), getattr(b, name), rtol, 1e-11)
    for name in NUMBERS:
        close(getattr(a, name), getattr(b, name), rtol, 1e-10)
    close(a.cov_params(), b.cov_params(), rtol, 1e-11)
    close(a.conf_int(), b.conf_int(), rtol, 1e-11)
    close(a.glance(), b.glance(), rtol, 1e-10)
    close(a.summary_frame(), b.summary_frame(), rtol, 1e-11)
    p = len(a.params)
    close(a.t_test(np.eye(p)).summary_frame(), b.t_test(np.eye(p)).summary_frame(), rtol, 1e-11)
    close(a.wald_test_terms().table, b.wald_test_terms().table, rtol, 1e-11)
    hypothesis = np.eye(p)[1:] if p > 1 else np.eye(p)
    for use_f in (False, True):
        one, two = (r.wald_test(hypothesis, use_f=use_f) for r in (a, b))
        close([one.statistic, one.pvalue], [two.statistic, two.pvalue], rtol, 1e-11)


def identical(a: Any, b: Any) -> None:
    """The same, to the last bit."""
    for name in FRAMES:
        np.testing.assert_array_equal(np.asarray(getattr(a, name)), np.asarray(getattr(b, name)))
    for name in NUMBERS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(np.asarray(a.cov_params()), np.asarray(b.cov_params()))


def text(res: Any) -> str:
    """The summary without date and time."""
    lines = res.summary().as_text().splitlines()
    cut = [line for line in lines if not line.startswith(("Date:", "Time:"))]
    rest = [line[line.index("  ") :].split("  ")[-2:] for line in lines if line.startswith(("Date:", "Time:"))]
    return "\n".join([*cut, *(" ".join(r) for r in rest)])
