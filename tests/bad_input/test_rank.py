"""Linearly dependent columns: named with their combination, as an error or when they are left out."""

import warnings

import numpy as np
import pytest
from bad_input.refusal import refused
from properties.toys import close, fit, make, methods, models, shared, toy

import glmclf
from glmclf.errors import CollinearityError, CollinearityWarning


def told(model, *words, **options):
    """The error of collinear="raise" and the one warning of the default name the same; what is left out is NaN."""
    with refused(*words, error=CollinearityError):
        model.fit(collinear="raise", **options)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        res = model.fit(**options)
    assert [w.category for w in given] == [CollinearityWarning]
    said = str(given[0].message)
    assert not [word for word in words if word not in said], said
    omitted = res.params.isna()
    assert omitted.any() and all(f'"{name}" =' in said for name in res.params.index[omitted])
    np.testing.assert_array_equal(omitted, res.bse.isna())
    assert res.converged and len(res.params) - omitted.sum() == res.df_model + model.k_constant
    assert res.summary().as_text().count("(omitted)") == omitted.sum()
    return res


CASES = {
    "copy": ("y ~ x1 + z", lambda t: t.x1, ['"z"', "x1"]),
    "multiple": ("y ~ x1 + z", lambda t: 3 * t.x1, ['"z"', "3 * x1"]),
    "sum": ("y ~ x1 + x2 + z", lambda t: t.x1 + t.x2, ['"z"', "x1", "x2"]),
    "difference": ("y ~ x1 + x2 + z", lambda t: 2 * t.x1 - 0.5 * t.x2, ['"z"', "2 * x1 - 0.5 * x2"]),
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
    told(make(model, formula, t.assign(z=column(t))), "collinearity", *words, method=method)


@models
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
@pytest.mark.parametrize("case", ["copy", "sum", "shift"])
def test_whatever_the_units(model, unit, case):
    formula, column, _ = CASES[case]
    t = toy()
    told(make(model, formula, t.assign(z=column(t) * unit)), '"z"', "x1")
    told(make(model, formula, t.assign(z=column(t), x1=t.x1 * unit)), '"z"', "x1")


@models
def test_the_dummy_trap(model):
    t = toy()
    for level in "abc":
        t[f"is_{level}"] = (t.g == level).astype(int)
    told(make(model, "y ~ is_a + is_b + is_c", t), '"is_c"', "Intercept", "is_a", "is_b")
    told(make(model, "y ~ h + hh", t.assign(hh=t.h.str.upper())), "h")


@models
def test_nested_factors(model):
    t = toy().assign(city=lambda t: t.g + "-" + t.h)
    told(make(model, "y ~ g + city", t), "city")


@models
@pytest.mark.parametrize("unit", [1e-170, 1e-200])
def test_numbers_whose_squares_underflow_are_no_combination(model, unit):
    t = toy()
    for collinear in ("raise", "drop"):
        with refused('"z"', "no double holds their squares", error=CollinearityError):
            make(model, "y ~ x1 + z", t.assign(z=t.x2 * unit)).fit(collinear=collinear)


@models
def test_more_columns_than_rows(model):
    X = np.random.default_rng(3).normal(size=(6, 9))
    X[:, 0] = 1
    y = np.array([0, 1, 0, 1, 1, 0])
    with refused("9 columns", "6", error=CollinearityError):
        getattr(glmclf, model)(y, X).fit(collinear="raise")
    with pytest.warns(CollinearityWarning), pytest.warns(glmclf.errors.SeparationWarning):
        res = getattr(glmclf, model)(y, X).fit()
    assert res.params.isna().to_numpy()[6:].all() and res.df_model == 5 and res.df_resid == 0
    np.testing.assert_array_equal(res.fittedvalues, y)


@models
def test_two_constants(model):
    t = toy()
    X = np.column_stack([np.ones(160), t.x1, np.full(160, 2.0)])
    told(getattr(glmclf, model)(t.y01, X), "2 * const")


@models
def test_several_at_once(model):
    t = toy()
    t = t.assign(z=t.x1 * 2, w=t.x2 - 1, u=0.0)
    told(make(model, "y ~ x1 + x2 + z + w + u", t), '"z"', '"w"', '"u"', "2 * x1", "x2")


@models
def test_an_empty_cell_of_an_interaction(model):
    t = toy()
    t = t[~((t.g == "c") & (t.h == "right"))]
    told(make(model, "y ~ g * h", t), "g[T.c]:h[T.right]")


@models
def test_all_columns_zero_and_a_row_left(model):
    t = toy()
    for collinear in ("raise", "drop"):  # nothing would be left
        with refused("x1", "0 in every row", error=CollinearityError):
            getattr(glmclf, model)(t.y01, np.zeros((160, 1))).fit(collinear=collinear)


@models
@pytest.mark.parametrize("keyword", [{"freq_weights": "times"}, {"weights": "sw"}, {"offset": "off"}])
def test_with_weights_and_offset(model, keyword):
    t = toy()
    told(make(model, "y ~ x1 + z", t.assign(z=-t.x1), **keyword), '"z"', "x1")
    # collinear only where the weight is not zero
    w = (t.x1 > 0).to_numpy(int)
    told(make(model, "y ~ x1 + z", t.assign(z=t.x1.abs()), freq_weights=w), '"z"', "x1")


@models
def test_counts_too(model):
    t = toy()
    told(make(model, "won + lost ~ x1 + z", t.assign(z=t.x1 / 3)), '"z"', "x1")


@models
def test_rank_and_separation_together(model):
    t = toy().assign(z=lambda t: 2 * t.x1, y=lambda t: (t.x1 > 0).astype(int))
    with refused("z", error=CollinearityError):
        make(model, "y ~ x1 + z", t).fit(collinear="raise")
    with pytest.warns(CollinearityWarning), refused("x1", error=glmclf.errors.PerfectSeparationError, but=['"z"']):
        make(model, "y ~ x1 + z", t).fit(separation="raise")
    with pytest.warns(CollinearityWarning), pytest.warns(glmclf.errors.SeparationWarning):
        res = make(model, "y ~ x1 + z", t).fit()
    assert res.params["x1"] == np.inf and np.isnan(res.params["z"]) and res.separation.columns[-1] == "x1"


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
    told(make(model, f"y ~ {right}", toy()), "collinearity", "x1")
