"""Responses that the regressors predict perfectly: said, by name, and never a finite estimate of what is infinite."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import close, fit, make, methods, models, toy

import glmclf
from glmclf.errors import PerfectSeparationError, SeparationWarning


def separated(kind, unit=1.0, n=60):
    rng = np.random.default_rng(11)
    t = pd.DataFrame({"x1": rng.normal(size=n), "x2": rng.normal(size=n), "h": rng.choice(["left", "right"], n)})
    y = (rng.random(n) < 0.5).astype(int)
    if kind == "complete":
        y = (t.x1 + 0.5 * t.x2 > 0.1).astype(int)
    elif kind == "quasi":  # every row of NV > 0 is an event
        t["NV"] = (np.arange(n) % 5 == 0).astype(int)
        y = np.where(t.NV > 0, 1, y)
    elif kind == "level":
        t["g"] = np.where(np.arange(n) < 8, "rare", rng.choice(["a", "b"], n))
        y = np.where(t.g == "rare", 0, y)
    elif kind == "touching":  # one value of x1 holds both outcomes
        t["x1"] = np.repeat(np.arange(6.0), n // 6)
        y = np.where(t.x1 == 2, np.arange(n) % 2, t.x1 > 2)
    t["x1"] *= unit
    return t.assign(y=y)


def told(model, *words, but=(), **options):
    """The error of separation="raise" and the one warning of the default name the same; what is named is infinite."""
    with refused("infinite", *words, error=PerfectSeparationError, but=but) as caught:
        model.fit(separation="raise", **options)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        res = model.fit(**options)
    if model._pseudo:  # HC0 of the few rows that are left may be 0, which is said as well
        given = [w for w in given if "alone determine" not in str(w.message)]
    assert [w.category for w in given] == [SeparationWarning]
    said = str(given[0].message)
    for word in words:
        assert word in said
    assert not any(word in said for word in but)
    check_limits(res, said)
    return str(caught.value)


def check_limits(res, said):
    """inf, -inf or NaN without a standard error for what is named, finite numbers for all others."""
    named = res.separation.columns
    for name in res.params.index:
        assert (f'"{name}"' in said) == (name in named) or len(named) > 8
        assert np.isfinite(res.params[name]) == (name not in named) == np.isfinite(res.bse[name])
    assert res.converged and np.isfinite(res.llf) and res.fittedvalues.between(0, 1).all()
    for values in (res.resid_response, res.resid_pearson, res.resid_dev, res.resid_generalized, res.resid_working):
        assert np.isfinite(values).all()
    text = res.summary().as_text()
    assert "(omitted)" not in text and "infinite" in text


KINDS = {
    "complete": ("y ~ x1 + x2", ["x1", "x2"], []),
    "quasi": ("y ~ x1 + NV", ["NV"], ['"x1"', '"Intercept"']),
    "level": ("y ~ x1 + g", ["g[T.rare]"], ['"x1"', '"g[T.b]"']),
    "touching": ("y ~ x1 + x2", ["x1"], []),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@models
@methods
@kinds
def test_named_by_every_method(model, method, kind):
    formula, named, innocent = KINDS[kind]
    told(make(model, formula, separated(kind)), "infinite", "separation", *named, but=innocent, method=method)


@models
@pytest.mark.parametrize(
    "kind, words",
    [
        ("complete", "complete separation"),
        ("quasi", "quasi-complete"),
        ("level", "quasi-complete"),
        ("touching", "quasi-complete"),
    ],
)
def test_the_kind_is_right(model, kind, words):
    said = told(make(model, KINDS[kind][0], separated(kind)), words)
    assert ("quasi" in said) == ("quasi" in words)


@models
@pytest.mark.parametrize("n", [6, 7, 20])
def test_a_line_of_points_is_separated_completely(model, n):
    t = pd.DataFrame({"x": np.arange(n, dtype=float), "y": (np.arange(n) >= n // 2).astype(int)})
    told(make(model, "y ~ x", t), "x", "complete separation", f"{n} rows", but=["quasi"])


@models
@kinds
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_whatever_the_units(model, kind, unit):
    formula, named, innocent = KINDS[kind]
    told(make(model, formula, separated(kind, unit)), *named, but=innocent)


@models
@kinds
@pytest.mark.parametrize("event", [0, 1])
def test_whatever_the_event(model, kind, event):
    told(make(model, KINDS[kind][0], separated(kind), event=event), *KINDS[kind][1])


@models
@kinds
def test_with_offset_and_weights(model, kind):
    t, rng = separated(kind), np.random.default_rng(3)
    formula, named, _ = KINDS[kind]
    for keywords in (
        {"offset": rng.normal(size=60)},
        {"offset": np.full(60, 30.0)},
        {"freq_weights": rng.integers(1, 900, 60)},
        {"weights": rng.gamma(2.0, size=60) * 1e-3},
    ):
        told(make(model, formula, t, **keywords), *named)


@models
def test_rows_of_weight_zero_do_not_hide_it(model):
    t = separated("quasi")
    t.loc[0, "y"] = 1 - t.loc[0, "y"]
    told(make(model, "y ~ x1 + NV", t, freq_weights=np.r_[0, np.ones(59)]), "NV")
    t = t.assign(x1=t.x1.where(t.index != 0))
    told(make(model, "y ~ x1 + NV", t), "NV")


@models
@methods
def test_counts(model, method):
    t = pd.DataFrame(
        {"g": list("aabbcc"), "x": [0.0, 1, 0, 1, 0, 1], "won": [3, 5, 8, 9, 4, 4], "lost": [4, 2, 0, 0, 3, 5]}
    )
    told(make(model, "won + lost ~ g + x", t), "g[T.b]", "infinite", but=['"x"', '"g[T.c]"'], method=method)
    line = pd.DataFrame({"x": [1.0, 2, 3, 4], "won": [0, 0, 5, 7], "lost": [5, 6, 0, 0]})
    told(make(model, "won + lost ~ x", line), "x", "complete", method=method)


@models
def test_no_intercept(model):
    x = np.r_[-3.0, -2, -1, 1, 2, 3]
    told(getattr(glmclf, model)((x > 0).astype(int), x[:, None]), "x1")
    levels = pd.DataFrame({"g": list("aaabbbccc"), "y": [1, 1, 1, 0, 1, 0, 1, 0, 0]})
    told(make(model, "y ~ 0 + g", levels), "g[a]", but=["g[b]", "g[c]"])


@models
def test_splines_and_interactions(model):
    t = separated("complete", n=90)
    told(make(model, "y ~ bs(x1, df=4) + x2", t), "bs(x1, df=4)")
    t = separated("level")
    told(make(model, "y ~ x2 * g", t), "g[T.rare]")


@models
def test_fractions_at_the_ends(model):
    t = pd.DataFrame({"x": np.arange(8.0), "s": [0, 0, 0, 0.4, 1, 1, 1, 1]})
    told(make(model, "s ~ x", t), "x")


@models
def test_many_rows(model):
    rng = np.random.default_rng(5)
    n = 6_000
    t = pd.DataFrame({"x": rng.normal(size=n), "rare": (np.arange(n) < 15).astype(int)})
    t["y"] = np.where(t.rare == 1, 1, rng.random(n) < 0.3).astype(int)
    told(make(model, "y ~ x + rare", t), "rare", but=['"x"'])


@models
@methods
def test_nearly_separated_is_estimated(model, method):
    """One row on the wrong side: the estimate is finite, and found."""
    t = separated("quasi")
    t.loc[0, "y"] = 0
    res = fit(model, "y ~ x1 + NV", t, options={"method": method})
    assert res.converged and 1 < res.params["NV"] < 10
    close(res.model.score(res.params), 0, atol=1e-8)
    line = pd.DataFrame({"x": np.r_[np.arange(20.0), 9.4], "y": np.r_[np.arange(20) > 9, True].astype(int)})
    assert line.y[20] == 1
    line.loc[20, "x"] = 8.5
    res = fit(model, "y ~ x", line, options={"method": method})
    assert res.converged and np.isfinite(res.bse).all()


@models
def test_no_false_alarm_for_large_effects_and_offsets(model):
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = (rng.random(400) < getattr(glmclf, model).link.cdf(12 * x)).astype(int)
    t = pd.DataFrame({"x": x, "y": y})
    res = fit(model, "y ~ x", t)
    assert res.converged and res.params["x"] > 5
    rare = fit(
        model,
        "y ~ x1",
        toy().assign(y=(np.arange(160) % 80 == 3).astype(int)),
        freq_weights=np.where(np.arange(160) % 80 == 3, 1, 10**6),
    )
    assert rare.converged and rare.params["Intercept"] < -3


@models
def test_the_null_of_a_separated_factor_is_fine(model):
    res = fit(model, "y ~ 1", separated("complete"))
    assert res.converged
