"""Responses that the regressors predict perfectly: no finite estimate, never a "converged" one."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import close, fit, make, methods, models, toy

import glmclf
from glmclf.errors import PerfectSeparationError


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
    with refused("infinite", "separation", *named, error=PerfectSeparationError, but=innocent):
        make(model, formula, separated(kind)).fit(method=method)


@models
@pytest.mark.parametrize(
    "kind, said",
    [
        ("complete", "complete separation"),
        ("quasi", "quasi-complete"),
        ("level", "quasi-complete"),
        ("touching", "quasi-complete"),
    ],
)
def test_the_kind_is_right(model, kind, said):
    with refused(said, error=PerfectSeparationError) as caught:
        make(model, KINDS[kind][0], separated(kind)).fit()
    assert ("quasi" in str(caught.value)) == ("quasi" in said)


@models
@pytest.mark.parametrize("n", [6, 7, 20])
def test_a_line_of_points_is_separated_completely(model, n):
    t = pd.DataFrame({"x": np.arange(n, dtype=float), "y": (np.arange(n) >= n // 2).astype(int)})
    with refused("x", "complete separation", f"{n} rows", error=PerfectSeparationError, but=["quasi"]):
        make(model, "y ~ x", t).fit()


@models
@kinds
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_whatever_the_units(model, kind, unit):
    formula, named, innocent = KINDS[kind]
    with refused(*named, error=PerfectSeparationError, but=innocent):
        make(model, formula, separated(kind, unit)).fit()


@models
@kinds
@pytest.mark.parametrize("event", [0, 1])
def test_whatever_the_event(model, kind, event):
    with refused(*KINDS[kind][1], error=PerfectSeparationError):
        make(model, KINDS[kind][0], separated(kind), event=event).fit()


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
        with refused(*named, error=PerfectSeparationError):
            make(model, formula, t, **keywords).fit()


@models
def test_rows_of_weight_zero_do_not_hide_it(model):
    t = separated("quasi")
    t.loc[0, "y"] = 1 - t.loc[0, "y"]
    with refused("NV", error=PerfectSeparationError):
        make(model, "y ~ x1 + NV", t, freq_weights=np.r_[0, np.ones(59)]).fit()
    t = t.assign(x1=t.x1.where(t.index != 0))
    with refused("NV", error=PerfectSeparationError):
        make(model, "y ~ x1 + NV", t).fit()


@models
@methods
def test_counts(model, method):
    t = pd.DataFrame(
        {"g": list("aabbcc"), "x": [0.0, 1, 0, 1, 0, 1], "won": [3, 5, 8, 9, 4, 4], "lost": [4, 2, 0, 0, 3, 5]}
    )
    with refused("g[T.b]", "infinite", error=PerfectSeparationError, but=['"x"', '"g[T.c]"']):
        make(model, "won + lost ~ g + x", t).fit(method=method)
    line = pd.DataFrame({"x": [1.0, 2, 3, 4], "won": [0, 0, 5, 7], "lost": [5, 6, 0, 0]})
    with refused("x", "complete", error=PerfectSeparationError):
        make(model, "won + lost ~ x", line).fit(method=method)


@models
def test_no_intercept(model):
    x = np.r_[-3.0, -2, -1, 1, 2, 3]
    with refused("x1", error=PerfectSeparationError):
        getattr(glmclf, model)((x > 0).astype(int), x[:, None]).fit()
    levels = pd.DataFrame({"g": list("aaabbbccc"), "y": [1, 1, 1, 0, 1, 0, 1, 0, 0]})
    with refused("g[a]", error=PerfectSeparationError, but=["g[b]", "g[c]"]):
        make(model, "y ~ 0 + g", levels).fit()


@models
def test_splines_and_interactions(model):
    t = separated("complete", n=90)
    with refused("bs(x1, df=4)", error=PerfectSeparationError):
        make(model, "y ~ bs(x1, df=4) + x2", t).fit()
    t = separated("level")
    with refused("g[T.rare]", error=PerfectSeparationError):
        make(model, "y ~ x2 * g", t).fit()


@models
def test_fractions_at_the_ends(model):
    t = pd.DataFrame({"x": np.arange(8.0), "s": [0, 0, 0, 0.4, 1, 1, 1, 1]})
    with refused("x", error=PerfectSeparationError):
        make(model, "s ~ x", t).fit()


@models
def test_many_rows(model):
    rng = np.random.default_rng(5)
    n = 6_000
    t = pd.DataFrame({"x": rng.normal(size=n), "rare": (np.arange(n) < 15).astype(int)})
    t["y"] = np.where(t.rare == 1, 1, rng.random(n) < 0.3).astype(int)
    with refused("rare", error=PerfectSeparationError, but=['"x"']):
        make(model, "y ~ x + rare", t).fit()


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
