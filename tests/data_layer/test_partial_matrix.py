"""Rows of X that lack some variables, designs with a forced intercept, and constants left out of arrays."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from glmclf.core.design.factor import expand
from glmclf.data.design import codec
from glmclf.data.design.arrays import Dropped
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.reading.read import read_formula
from glmclf.errors import DataError, FormulaError, UnseenLevelError


def left(names, values):
    return names, values


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n),
            "z": rng.uniform(0.5, 3, size=n),
            "k": rng.integers(1, 4, n).astype(float),
            "g": np.array(["a", "b", "c"])[np.arange(n) % 3],
            "h": np.array(["u", "v"])[(np.arange(n) // 3) % 2],
        }
    )


def design(right, **keywords):
    return read_formula(f"y ~ {right}", table(), response=left, **keywords).design


def holed(n=60):
    """A table in which each variable is missing in rows of its own, and some in the same rows."""
    data = table(n)
    for shift, name in enumerate(["x", "z", "k", "g", "h"]):
        data.loc[data.index % 7 == shift, name] = np.nan
    data.loc[data.index % 11 == 3, ["x", "g"]] = np.nan
    return data


RIGHT = [
    "x + z",
    "g*x + h",
    "g:h",
    "0 + g:x + C(k)",
    "bs(x, df=4) + standardize(z)",
    "np.column_stack([x, z]):g + k",
    "x + x:z + I(x**2)",
    "I(x > 0) + g",
    "te(cr(x, df=3), cr(z, df=3))",
]


@pytest.mark.parametrize("right", RIGHT)
def test_only_the_columns_of_terms_that_need_a_missing_value_are_nan(right):
    d, data, whole = design(right), holed(), table()
    full = d.matrix(whole)
    found = d.matrix(data, partial=True)
    missing = np.zeros(found.shape, dtype=bool)
    start = 0
    for subterm in d.subterms:
        stop = start + subterm.size({code: f.width for code, f in d.factors.items()})
        for name in {n for code in subterm.factors for n in d.factors[code].expression.columns}:
            missing[:, start:stop] |= data[name].isna().to_numpy()[:, None]
        start = stop
    assert start == len(d.xnames) and missing.any() and not missing.all()
    np.testing.assert_array_equal(np.isnan(found), missing)
    np.testing.assert_allclose(found[~missing], full[~missing], rtol=1e-15)
    assert found.flags.f_contiguous and found.dtype == np.float64


@pytest.mark.parametrize("right", RIGHT)
def test_without_partial_a_row_with_a_hole_is_nan_throughout(right):
    d = design(right)
    partial, plain = d.matrix(holed(), partial=True), d.matrix(holed())
    some = np.isnan(partial).any(axis=1)
    assert np.isnan(plain[some]).all()
    np.testing.assert_array_equal(plain[~some], partial[~some])


def test_complete_rows_are_the_same_bits():
    d = design("g*x + bs(z, df=4)")
    np.testing.assert_array_equal(d.matrix(table(), partial=True), d.matrix(table()))


@pytest.mark.filterwarnings("ignore:.*has no finite value:glmclf.errors.DataWarning")
def test_a_function_may_make_a_value_missing():
    d = read_formula("y ~ np.log(x) + z", table().assign(x=table()["z"]), response=left).design
    X = d.matrix({"x": [-1.0, 1.0], "z": [2.0, np.nan]}, partial=True)
    np.testing.assert_array_equal(X, [[1, np.nan, 2], [1, 0, np.nan]])


def test_no_row_and_rows_without_anything():
    d = design("g*x")
    assert d.matrix(table().iloc[:0], partial=True).shape == (0, 6)
    X = d.matrix(pd.DataFrame({"g": [None], "x": [np.nan]}), partial=True)
    np.testing.assert_array_equal(X, [[1, *[np.nan] * 5]])


def test_one_row_by_name_and_rows_by_place():
    d = design("x + z")
    np.testing.assert_array_equal(d.matrix(pd.Series({"x": 1.0, "z": np.nan}), partial=True), [[1, 1, np.nan]])
    np.testing.assert_array_equal(d.matrix([[1, np.nan, 2.0]], partial=True), [[1, np.nan, 2]])
    np.testing.assert_array_equal(d.matrix([[1, np.nan, 2.0]]), [[np.nan] * 3])


def test_an_unseen_level_is_an_error_even_where_another_variable_is_missing():
    with pytest.raises(UnseenLevelError, match='"q"'):
        design("g + x").matrix({"g": ["q"], "x": [np.nan]}, partial=True)


def test_a_column_that_is_not_there_is_an_error():
    with pytest.raises(DataError, match='no column "x"'):
        design("g + x").matrix({"g": ["a"]}, partial=True)


def test_arrays_keep_nan_where_it_is():
    d = read_arrays(np.arange(9) % 2, np.arange(18.0).reshape(9, 2), response=left).design
    np.testing.assert_array_equal(d.matrix([[1, np.nan]], partial=True), [[1, np.nan]])
    np.testing.assert_array_equal(d.matrix([[1, np.nan]]), [[np.nan, np.nan]])
    np.testing.assert_array_equal(d.matrix({"x2": [1.0], "x1": [np.nan]}, partial=True), [[np.nan, 1]])


# ----------------------------------------------------------------------------------------------------- intercept
@pytest.mark.parametrize("right", ["g", "0 + g", "g - 1", "0 + x", "0 + g:h", "x*g - 1", "C(k, Sum) + 0"])
def test_the_intercept_is_put_in_before_codings_are_chosen(right):
    ours = read_formula(f"y ~ {right}", table(), response=left, intercept=True)
    plain = right.replace("0 + ", "").replace(" - 1", "").replace(" + 0", "")
    theirs = read_formula(f"y ~ {plain}", table(), response=left)
    assert ours.design.xnames == theirs.design.xnames and ours.design.xnames[0] == "Intercept"
    assert ours.design.formula == f"y ~ {right}"
    np.testing.assert_array_equal(expand(ours.pieces, 60), expand(theirs.pieces, 60))
    assert ours.pieces[0].numbers is None and ours.pieces[0].codes is None


@pytest.mark.parametrize("right", ["1", "0", "-1", "C(one)"])
def test_a_formula_without_features_is_refused(right):
    with pytest.raises(FormulaError, match=rf'"y ~ {right}"'.replace("(", r"\(").replace(")", r"\)") + " has no feat"):
        read_formula(f"y ~ {right}", table().assign(one="a"), response=left, intercept=True)


# ------------------------------------------------------------------------------------------------ constant column
def X(n=12):
    return np.random.default_rng(1).normal(size=(n, 2))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_constant_column_is_left_out_and_recorded(place):
    whole = np.insert(X(), place, 2.5, axis=1)
    sample = read_arrays(np.arange(12) % 2, whole, response=left, drop_constant=True)
    np.testing.assert_array_equal(sample.X, X())
    assert sample.design.xnames == ["x1", "x2"] and sample.design.dropped == Dropped("const", place, 2.5)
    np.testing.assert_array_equal(sample.design.matrix(whole), X())
    np.testing.assert_array_equal(sample.design.matrix(X()), X())
    np.testing.assert_array_equal(sample.design.matrix(whole[0]), X()[:1])
    with pytest.raises(DataError, match=rf'column {place} of the new data is not 2.5 throughout, as "const"'):
        sample.design.matrix(whole + 1)


def test_frames_are_matched_by_name():
    frame = pd.DataFrame(X(), columns=["a", "b"]).assign(one=1.0)
    d = read_arrays(np.arange(12) % 2, frame, response=left, drop_constant=True).design
    assert d.dropped == Dropped("one", 2, 1.0) and d.xnames == ["a", "b"]
    np.testing.assert_array_equal(d.matrix(frame[["b", "one", "a"]]), X())


def test_only_the_first_constant_goes_and_zeros_stay():
    whole = np.column_stack([np.zeros(12), X(), np.full(12, 3.0), np.ones(12)])
    d = read_arrays(np.arange(12) % 2, whole, response=left, drop_constant=True)
    assert d.design.dropped.place == 3 and d.X.shape == (12, 4)
    assert not d.X[:, 0].any() and (d.X[:, 3] == 1).all()


def test_nothing_is_left_out_unasked_or_where_nothing_is_constant():
    whole = np.insert(X(), 0, 1.0, axis=1)
    assert read_arrays(np.arange(12) % 2, whole, response=left).X.shape == (12, 3)
    sample = read_arrays(np.arange(12) % 2, X(), response=left, drop_constant=True)
    assert sample.design.dropped is None and sample.X.shape == (12, 2)


def test_a_constant_alone_is_refused():
    with pytest.raises(DataError, match='no features: its only column, "const"'):
        read_arrays(np.arange(12) % 2, np.ones((12, 1)), response=left, drop_constant=True)


def test_one_feature_beside_the_constant():
    whole = np.column_stack([np.ones(12), X()[:, 0]])
    d = read_arrays(np.arange(12) % 2, whole, response=left, drop_constant=True).design
    np.testing.assert_array_equal(d.matrix([1.0, 7.0]), [[7.0]])
    np.testing.assert_array_equal(d.matrix([5.0, 6.0, 7.0]), [[5.0], [6.0], [7.0]])


def test_what_was_dropped_is_stored():
    whole = np.insert(X(), 1, 2.5, axis=1)
    before = read_arrays(np.arange(12) % 2, whole, response=left, drop_constant=True).design
    after = codec.decode(json.loads(json.dumps(codec.encode(before))))
    assert after == before == pickle.loads(pickle.dumps(before))
    np.testing.assert_array_equal(after.matrix(whole), X())
