"""Code that looks across rows, integers that would wrap around, categories without an order, masked arrays."""

import numpy as np
import pandas as pd
import pytest

import glmclf


@pytest.fixture(scope="module")
def table():
    g = np.random.default_rng(4)
    n = 120
    t = pd.DataFrame({"x": g.normal(size=n), "z": g.normal(size=n), "k": g.integers(1, 5, n)})
    t["y"] = (g.random(n) < 0.5).astype(int)
    t.loc[t.k == 1, "z"] = np.nan
    return t


ACROSS = {
    "x.shift(1).fillna(0)": lambda t: t.x.shift(1).fillna(0),
    "x.shift(1)": lambda t: t.x.shift(1),
    "x.cumsum()": lambda t: t.x.cumsum(),
    "x.rank()": lambda t: t.x.rank(),
    "I(x - x.mean())": lambda t: t.x - t.x.mean(),
    "np.cumsum(x)": lambda t: np.cumsum(t.x),
}


@pytest.mark.parametrize("code", ACROSS)
def test_a_lag_is_that_of_the_table_not_of_the_complete_rows(table, code):
    beforehand = table.assign(v=ACROSS[code](table))
    found = glmclf.Logit.from_formula(f"y ~ {code} + z", table).fit()
    right = glmclf.Logit.from_formula("y ~ v + z", beforehand).fit()
    assert found.nobs == right.nobs == beforehand[["v", "z"]].notna().all(axis=1).sum()
    np.testing.assert_allclose(found.params, right.params, rtol=1e-10)
    np.testing.assert_allclose(found.predict(table), right.predict(beforehand), rtol=1e-10)


def test_weights_that_repeat_rows_are_refused_where_rows_look_at_others(table):
    with pytest.raises(NotImplementedError, match="x.rank.*freq_weights"):
        glmclf.Logit.from_formula("y ~ x.rank()", table, freq_weights="k")


def test_weights_that_repeat_rows_suit_a_function_of_the_row(table):
    def square(v):
        return v**2

    found = glmclf.Logit.from_formula("y ~ square(x)", table, freq_weights="k").fit()
    expanded = table.loc[table.index.repeat(table.k)]
    right = glmclf.Logit.from_formula("y ~ I(x**2)", expanded).fit()
    np.testing.assert_allclose(found.params, right.params, rtol=1e-10)


def test_products_of_integers_do_not_wrap_around(table):
    large = table.assign(i=table.k * 3_000_000 + 1)
    found = glmclf.Logit.from_formula("y ~ I(i**3)", large).fit()
    right = glmclf.Logit.from_formula("y ~ I(i**3)", large.astype({"i": float})).fit()
    assert found.llf == right.llf and (found.params == right.params).all()


@pytest.mark.parametrize("first", ["yes", "no"])
def test_the_order_of_rows_decides_no_event(first):
    polars = pytest.importorskip("polars")
    labels = [first] + ["no", "yes", "yes"] * 20
    frame = polars.DataFrame({"a": labels, "x": np.sin(np.arange(61))})
    loose = frame.with_columns(polars.col("a").cast(polars.Categorical))
    arrow = loose.to_arrow()
    for data in (loose, arrow):
        assert "a = 'yes'" in glmclf.Logit.from_formula("a ~ x", data).fit().summary().as_text()


def test_masked_values_are_missing(table):
    X = np.ma.masked_array(np.column_stack([np.ones(len(table)), table.x]), mask=False)
    X.mask[:5, 1] = True
    found = glmclf.Logit(table.y.to_numpy(), X).fit()
    right = glmclf.Logit(table.y.to_numpy()[5:], X.data[5:]).fit()
    assert found.nobs == len(table) - 5
    np.testing.assert_array_equal(found.params, right.params)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e155])
def test_sampling_weights_of_any_scale(table, scale):
    w = np.random.default_rng(1).gamma(2.0, size=len(table))
    one = glmclf.Logit.from_formula("y ~ x", table, weights=w).fit()
    other = glmclf.Logit.from_formula("y ~ x", table, weights=w * scale).fit()
    np.testing.assert_allclose(other.params, one.params, rtol=1e-10)
    np.testing.assert_allclose(other.bse, one.bse, rtol=1e-10)


def test_rows_in_another_order_are_refused(table):
    for formula in ("y ~ x.sort_values()", "y ~ x[::-1]", "y[::-1] ~ x"):
        with pytest.raises(ValueError, match="another order"):
            glmclf.Logit.from_formula(formula, table)


@pytest.mark.parametrize("value", [np.zeros(7), 3.0, "text", np])
def test_a_variable_of_the_caller_that_is_no_column_says_so(table, value):
    other = value  # noqa: F841
    with pytest.raises(ValueError, match="other"):
        glmclf.Logit.from_formula("y ~ other", table)
