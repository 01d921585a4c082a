"""Linearly dependent columns: an error that names them and their combination."""

import numpy as np
import pytest
from bad_input.refusal import refused
from properties.toys import close, fit, make, methods, models, shared, toy

import glmclf
from glmclf.errors import CollinearityError

CASES = {
    "copy": ("y ~ x1 + z", lambda t: t.x1, ['"z"', "x1"]),
    "multiple": ("y ~ x1 + z", lambda t: 3 * t.x1, ['"z"', "3 * x1"]),
    "sum": ("y ~ x1 + x2 + z", lambda t: t.x1 + t.x2, ['"z"', "x1", "x2"]),
    "difference": ("y ~ x1 + x2 + z", lambda t: 2 * t.x1 - 0.5 * t.x2, ['"z"', "2 * x1", "-0.5 * x2"]),
    "shift": ("y ~ x1 + z", lambda t: t.x1 + 7, ['"z"', "x1", "7 * Intercept"]),
    "constant": ("y ~ x1 + z", lambda t: 5.0 + 0 * t.x1, ['"z"', "5 * Intercept"]),
    "zero": ("y ~ x1 + z", lambda t: 0.0 * t.x1, ['"z"', "0"]),
    "dummy": ("y ~ g + x1 + z", lambda t: (t.g == "b").astype(int), ['"z"', "g[T.b]"]),
}
cases = pytest.mark.parametrize("case", CASES)


@models
@methods
@cases
def test_named_by_every_method(model, method, case):
    formula, column, words = CASES[case]
    t = toy()
    with refused("collinearity", *words, error=CollinearityError):
        make(model, formula, t.assign(z=column(t))).fit(method=method)


@models
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("case", ["copy", "sum", "shift"])
def test_whatever_the_units(model, unit, case):
    formula, column, _ = CASES[case]
    t = toy()
    with refused('"z"', "x1", error=CollinearityError):
        make(model, formula, t.assign(z=column(t) * unit)).fit()
    with refused('"z"', "x1", error=CollinearityError):
        make(model, formula, t.assign(z=column(t), x1=t.x1 * unit)).fit()


@models
def test_the_dummy_trap(model):
    t = toy()
    for level in "abc":
        t[f"is_{level}"] = (t.g == level).astype(int)
    with refused('"is_c"', "Intercept", "is_a", "is_b", error=CollinearityError):
        make(model, "y ~ is_a + is_b + is_c", t).fit()
    with refused("h", error=CollinearityError):
        make(model, "y ~ h + hh", t.assign(hh=t.h.str.upper())).fit()


@models
def test_nested_factors(model):
    t = toy().assign(city=lambda t: t.g + "-" + t.h)
    with refused("city", error=CollinearityError):
        make(model, "y ~ g + city", t).fit()


@models
def test_two_constants(model):
    t = toy()
    X = np.column_stack([np.ones(160), t.x1, np.full(160, 2.0)])
    with refused("2 * const", error=CollinearityError):
        getattr(glmclf, model)(t.y01, X).fit()


@models
def test_several_at_once(model):
    t = toy()
    t = t.assign(z=t.x1 * 2, w=t.x2 - 1, u=0.0)
    with refused('"z"', '"w"', '"u"', "2 * x1", "x2", error=CollinearityError):
        make(model, "y ~ x1 + x2 + z + w + u", t).fit()


@models
def test_an_empty_cell_of_an_interaction(model):
    t = toy()
    t = t[~((t.g == "c") & (t.h == "right"))]
    with refused("g[T.c]:h[T.right]", error=CollinearityError):
        make(model, "y ~ g * h", t).fit()


@models
def test_all_columns_zero_and_a_row_left(model):
    t = toy()
    with refused("x1", "0 in every row", error=CollinearityError):
        getattr(glmclf, model)(t.y01, np.zeros((160, 1))).fit()


@models
@pytest.mark.parametrize("keyword", [{"freq_weights": "times"}, {"weights": "sw"}, {"offset": "off"}])
def test_with_weights_and_offset(model, keyword):
    t = toy()
    with refused('"z"', "x1", error=CollinearityError):
        make(model, "y ~ x1 + z", t.assign(z=-t.x1), **keyword).fit()
    # collinear only where the weight is not zero
    w = (t.x1 > 0).to_numpy(int)
    with refused('"z"', "x1", error=CollinearityError):
        make(model, "y ~ x1 + z", t.assign(z=t.x1.abs()), freq_weights=w).fit()


@models
def test_counts_too(model):
    t = toy()
    with refused('"z"', "x1", error=CollinearityError):
        make(model, "won + lost ~ x1 + z", t.assign(z=t.x1 / 3)).fit()


@models
def test_rank_and_separation_together_end_in_one_of_the_two(model):
    t = toy().assign(z=lambda t: 2 * t.x1, y=lambda t: (t.x1 > 0).astype(int))
    with refused("z", error=glmclf.errors.EstimationError):
        make(model, "y ~ x1 + z", t).fit()


@models
@methods
@pytest.mark.parametrize("noise", [1e-5, 1e-9])
def test_nearly_collinear_is_estimated(model, method, noise):
    t = toy()
    rng = np.random.default_rng(0)
    direction = rng.normal(size=160)
    res = fit(model, "y ~ x1 + z", t.assign(z=t.x1 + noise * direction), options={"method": method})
    same = fit(model, "y ~ x1 + z", t.assign(z=direction))
    close(res.llf, same.llf, 1e-9)
    close(res.params["z"] * noise, same.params["z"], 1e-5)
    close(res.bse["z"] * noise, same.bse["z"], 1e-5)
    close(res.fittedvalues, same.fittedvalues, 1e-6)
    close(res.get_prediction().se, same.get_prediction().se, 1e-5)


@models
def test_polynomials_of_a_year(model):
    t = toy()
    raw = fit(model, "y ~ year + I(year**2) + I(year**3)", t)
    centred = fit(model, "y ~ c + I(c**2) + I(c**3)", t.assign(c=(t.year - 2005) / 10))
    close(raw.llf, centred.llf, 1e-9)
    close(raw.fittedvalues, centred.fittedvalues, 1e-6)
    close(raw.get_prediction().summary_frame(), centred.get_prediction().summary_frame(), 1e-5)
    close(
        raw.get_prediction(t.iloc[:5]).summary_frame(),
        centred.get_prediction(t.assign(c=(t.year - 2005) / 10).iloc[:5]).summary_frame(),
        1e-5,
    )
    close(raw.tvalues.iloc[-1], centred.tvalues.iloc[-1], 1e-5)
    assert shared(model).converged


@models
@pytest.mark.parametrize(
    "right",
    [
        "I(x1**2) + bs(x1, df=6)",
        "bs(x1, df=6) + I(x1**3)",
        "x1 + bs(x1, df=5)",
        "x1 + cr(x1, df=4, constraints='center')",
    ],
)
def test_a_power_inside_a_spline(model, right):
    with refused("collinearity", "x1", error=CollinearityError):
        make(model, f"y ~ {right}", toy()).fit()
