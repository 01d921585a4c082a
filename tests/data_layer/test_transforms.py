"""Basis functions in formulas: values against R and pandas, memory of the training rows, storage, bad input.

`basis.json` holds R's numbers; its script is beside it. R's poly works on the raw powers of x, ours about the mean:
that is where 1e-12 comes from.
"""

import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, Logit, NaiveBayes
from glmclf.data.design import codec
from glmclf.data.reading.read import read_formula
from glmclf.errors import DataError, DataWarning, FormulaError, UnseenLevelError

R = json.loads((pathlib.Path(__file__).parents[1] / "reference/basis/basis.json").read_text())
NEW = pd.DataFrame({"x": R["new"]})


def left(names, values):
    return names, values


def design(right, data=None, **keywords):
    data = pd.DataFrame({"x": R["x"], "y": np.arange(30) % 2}) if data is None else data
    return read_formula(f"y ~ {right}", data, response=left, **keywords).design


def table(n=120, seed=3):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(0.5, 3, n), "k": rng.integers(1, 4, n)})
    data["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-data.x + (data.z - 1.5) ** 2))).astype(int)
    data["w"] = rng.integers(0, 4, n)
    return data


ALL = [
    "poly(x, 3)",
    "poly(x, degree=2):z",
    "rbf(x, df=3)",
    "rbf(x, [-1, 0.5], scale=0.7)",
    "rbf(x, centers=[0]) : rbf(z, centers=[1, 2])",
    "sigmoid(x, [-1, 0, 1]) + z",
    "sigmoid(np.log(z), df=2)",
    "hinge(x, 0.2) + x",
    "hinge(x, knots=[-0.5, 0, 0.5])",
    "qcut(x, 4)",
    "C(qcut(x, 3), Sum) * z",
    "cut(x, [-np.inf, -1, 0, np.inf])",
    "cut(z, 3, right=False)",
    "te(poly(x, 2), rbf(z, df=3))",
]


# --------------------------------------------------------------------------------------------------------- values
def test_poly_is_r_s():
    d = design("0 + poly(x, 5)")
    np.testing.assert_allclose(d.matrix(pd.DataFrame({"x": R["x"]})), R["poly5"], rtol=1e-12, atol=1e-13)
    both = pd.DataFrame({"x": R["new"] + R["beyond"]})
    np.testing.assert_allclose(d.matrix(both), R["poly5_new"], rtol=1e-11, atol=1e-12)
    assert d.xnames[0] == "poly(x, 5)[0]"


def test_poly_is_orthonormal_on_the_training_rows():
    data = table()
    P = design("0 + poly(x, 8)", data).matrix(data)
    np.testing.assert_allclose(P.T @ P, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=0), 0, atol=1e-12)


def test_frequency_weights_repeat_the_rows_that_poly_remembers():
    data = pd.DataFrame({"x": R["x"], "y": np.arange(30) % 2, "times": R["times"]})
    d = design("0 + poly(x, 3)", data, extras={"freq_weights": "times"})
    found = d.matrix(data.loc[data.index.repeat(R["times"])])
    np.testing.assert_allclose(found, R["poly3_times"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(d.matrix(NEW), R["poly3_times_new"], rtol=1e-11, atol=1e-12)


def test_gaussians_and_sigmoids_are_their_formulas():
    data, c = table(), np.array([-1.0, 0.5])
    u = (data.x.to_numpy()[:, None] - c) / 0.7
    found = design("0 + rbf(x, [0.5, -1], scale=0.7) + sigmoid(x, c, scale=0.7)", data, namespace={"c": c}).matrix(data)
    np.testing.assert_allclose(found, np.hstack([np.exp(-(u**2) / 2), 1 / (1 + np.exp(-u))]), rtol=1e-14)


def test_centers_at_quantiles_and_the_default_scale():
    data = table()
    centers = np.quantile(data.x, [0.25, 0.5, 0.75])
    explicit = f"0 + rbf(x, {centers.tolist()}, scale={(centers[2] - centers[0]) / 2})"
    np.testing.assert_allclose(
        design("0 + rbf(x, df=3)", data).matrix(data), design(explicit, data).matrix(data), rtol=1e-14
    )
    one = design("0 + sigmoid(x, [0])", data).matrix(data)[:, 0]
    np.testing.assert_allclose(one, 1 / (1 + np.exp(-data.x / data.x.std(ddof=0))), rtol=1e-14)


def test_sigmoids_do_not_overflow():
    data = table()
    far = design("0 + sigmoid(x, [0], scale=1e-3) + rbf(x, [0], scale=1e-3)", data).matrix({"x": [-1e6, 1e6]})
    assert far.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_hinges():
    data = table()
    found = design("0 + hinge(x, [0.5, -0.5])", data).matrix(data)
    x = data.x.to_numpy()
    np.testing.assert_array_equal(found, np.column_stack([np.clip(x + 0.5, 0, None), np.clip(x - 0.5, 0, None)]))


@pytest.mark.parametrize(
    "right, kept",
    [
        ("qcut(x, 4)", "quartile"),
        ("cut(x, [1000, 1003.2, 1006.1, 1010])", "cut"),
        ("cut(x, [1000, 1003.2, 1006.1, 1010], right=False)", "cut_left"),
    ],
)
def test_groups_are_r_s(right, kept):
    d = design(f"0 + {right}")
    found = d.matrix(pd.DataFrame({"x": R["x"]})).argmax(axis=1) + 1
    assert found.tolist() == R[kept]


@pytest.mark.parametrize(
    "right, pandas",
    [
        ("qcut(x, 5)", lambda x: pd.qcut(x, 5)),
        ("cut(x, 3)", lambda x: pd.cut(x, 3)),
        ("cut(x, 3, right=False)", lambda x: pd.cut(x, 3, right=False)),
        ("cut(x, [-10, 0, 10])", lambda x: pd.cut(x, [-10, 0, 10])),
        ("cut(x, [-10, 0, 10], include_lowest=True)", lambda x: pd.cut(x, [-10, 0, 10], include_lowest=True)),
        ("cut(x, [-np.inf, 0.0001, 0.00012, np.inf])", lambda x: pd.cut(x, [-np.inf, 0.0001, 0.00012, np.inf])),
    ],
)
def test_groups_have_the_names_of_pandas(right, pandas):
    data = table()
    theirs = pandas(data.x)
    used = [str(c) for c in theirs.cat.categories if (theirs == c).any()]
    d = design(f"0 + {right}", data)
    assert list(d.levels.values()) == [used]
    codes = theirs.cat.remove_unused_categories().cat.codes
    np.testing.assert_array_equal(d.matrix(data), np.eye(len(used))[codes])


# --------------------------------------------------------------------------------- values outside what is remembered
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_are_continued_beyond_their_knots_as_r_s(degree):
    d = design(f"0 + bs(x, knots={R['knots']}, degree={degree}, outside='extend')")
    rows = pd.DataFrame({"x": R["beyond"] + R["new"]}, index=list("abcdefghi"))
    with pytest.warns(DataWarning, match="2 of 9 values lie beyond the outer knots.*furthest is 990.5"):
        found = d.matrix(rows)
    np.testing.assert_allclose(found, R[f"bs{degree}_beyond"], rtol=1e-9, atol=1e-11)
    stored = codec.decode(json.loads(json.dumps(codec.encode(d))))
    with pytest.warns(DataWarning, match="continued"):
        np.testing.assert_array_equal(stored.matrix(rows), found)


def test_splines_are_held_at_their_outer_knots():
    d = design("bs(x, df=5, outside='clip')")
    plain = design("bs(x, df=5)")
    inside = pd.DataFrame({"x": np.clip(R["beyond"] + R["new"], min(R["x"]), max(R["x"]))})
    np.testing.assert_array_equal(d.matrix({"x": R["beyond"] + R["new"]}), plain.matrix(inside))


def test_bounds_inside_the_data_of_a_fit():
    data = pd.DataFrame({"x": R["x"], "y": np.arange(30) % 2})
    bounded = f"bs(x, knots={R['knots']}, lower_bound=1001, upper_bound=1009"
    with pytest.raises(DataError, match=r"outside the range of the spline, 1001 to 1009 \(the furthest is 1000.1\)"):
        design(f"{bounded})", data)
    clipped = design(f"{bounded}, outside='clip')", data)
    np.testing.assert_array_equal(clipped.matrix(data)[np.argmin(R["x"])], clipped.matrix({"x": [1001]})[0])


@pytest.mark.parametrize("right", ["bs(x, df=4)", "qcut(x, 3)", "cut(x, [999, 1005, 1010])", "cut(x, 3)"])
def test_an_error_names_the_rows_outside(right):
    rows = pd.DataFrame({"x": [1003.0, 990.5, np.nan, 1015.25]}, index=list("abcd"))
    with pytest.raises(DataError, match=r'outside.*990.5.*outside="extend".*\(2 of 4 rows: rows b, d\)') as caught:
        design(right).matrix(rows)
    assert f'"{right}"' in str(caught.value)


@pytest.mark.parametrize(
    "right, edges",
    [
        ("qcut(x, 3, outside='extend')", [-np.inf, *np.quantile(R["x"], [1 / 3, 2 / 3]), np.inf]),
        ("cut(x, [999, 1005, 1010], outside='extend')", [-np.inf, 1005.0, np.inf]),
        ("cut(x, [1002, 1005, 1008], right=False, outside='extend')", [-np.inf, 1005.0, np.inf]),
        ("cut(x, 2, outside='extend')", [-np.inf, (min(R["x"]) + max(R["x"])) / 2, np.inf]),
    ],
)
def test_open_ends_of_groups_are_the_intervals_of_pandas(right, edges):
    d = design(f"0 + {right}")
    every = pd.DataFrame({"x": R["beyond"] + R["x"] + [edges[1]]})
    theirs = pd.cut(every.x, edges, right="right=False" not in right)
    assert list(d.levels.values()) == [[str(c) for c in theirs.cat.categories]]
    np.testing.assert_array_equal(d.matrix(every).argmax(axis=1), theirs.cat.codes)


@pytest.mark.parametrize("model", [Logit, LDA, NaiveBayes])
def test_predictions_go_on_outside_the_groups_in_every_container(model, tmp_path):
    data = table()
    formula = "y ~ z + qcut(x, 3, outside='extend')"
    res = model.from_formula(formula, data).fit()
    far = pd.DataFrame({"x": [-99.0, 99.0], "z": 1.0})
    near = pd.DataFrame({"x": [data.x.min(), data.x.max()], "z": 1.0})
    wanted = np.asarray(res.predict(near))
    np.testing.assert_array_equal(res.predict(far), wanted)
    res.save(tmp_path / "m.json")
    np.testing.assert_array_equal(glmclf.load(tmp_path / "m.json").predict(far), wanted)
    streamed = model.from_formula(formula, lambda: iter([data[:50], data[50:]])).fit()
    np.testing.assert_allclose(np.asarray(streamed.predict(far)), wanted, rtol=1e-9)


@pytest.mark.parametrize("outside", ["extend", "clip"])
def test_margins_of_a_spline_beyond_its_knots(outside):
    data = table()
    res = Logit.from_formula(f"y ~ bs(x, df=5, outside='{outside}')", data).fit()
    at = pd.DataFrame({"x": [data.x.max() + 0.5]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        margin = res.get_margeff(variables="x", newdata=at).margeff.iloc[0]
        h = 1e-5
        p = [float(res.predict({"x": [at.x[0] + s * h]}).iloc[0]) for s in (-1, 1)]
    assert margin == pytest.approx((p[1] - p[0]) / (2 * h), abs=1e-7)
    assert (margin == 0) == (outside == "clip")


@pytest.mark.parametrize("right", ["bs(x, df=4, outside='a')", "qcut(x, 3, outside='clip')", "cut(x, 3, outside=1)"])
def test_other_words_for_outside_are_refused(right):
    with pytest.raises(DataError, match="outside=.*'error', 'extend'"):
        design(right)


def test_a_polynomial_between_equal_knots_is_not_continued():
    data = pd.DataFrame({"x": [0.0] * 12 + R["x"][:12], "y": [0, 1] * 12})
    with pytest.raises(DataError, match="an inner knot lies on an outer one"):
        design("bs(x, df=5, outside='extend')", data)
    assert np.isfinite(design("bs(x, df=5, outside='clip')", data).matrix({"x": [-3.0, 2000.0]})).all()


# ------------------------------------------------------------------------------------------------ memory, storage
@pytest.mark.parametrize("right", ALL)
def test_new_rows_are_seen_as_the_training_rows_were(right):
    data = table()
    d = design(right, data)
    whole = d.matrix(data)
    np.testing.assert_allclose(d.matrix(data.iloc[[7, 3]]), whole[[7, 3]], rtol=1e-15)
    stored = codec.decode(json.loads(json.dumps(codec.encode(d))))
    np.testing.assert_array_equal(stored.matrix(data), whole)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).matrix(data), whole)
    assert d.xnames == stored.xnames and "x" in d.variables + ["x"]


@pytest.mark.parametrize("right", ALL)
def test_missing_values_make_rows_of_nan_and_are_not_remembered(right):
    data = table()
    holed = data.copy()
    holed.loc[[2, 9], ["x", "z"]] = np.nan
    d = design(right, holed)
    kept = data.drop(index=[2, 9])
    found = d.matrix(holed)
    assert np.isnan(found[[2, 9]]).all()
    np.testing.assert_array_equal(np.delete(found, [2, 9], axis=0), design(right, kept).matrix(kept))


@pytest.mark.parametrize("right", ALL)
def test_frequency_weights_are_repeated_rows(right):
    data = table()
    repeated = data.loc[data.index.repeat(data.w)]
    weighted = design(right, data, extras={"freq_weights": "w"})
    np.testing.assert_allclose(
        weighted.matrix(repeated), design(right, repeated).matrix(repeated), rtol=1e-11, atol=1e-13
    )


def test_a_saved_model_predicts_the_same_in_another_process(tmp_path):
    data = table()
    res = Logit.from_formula("y ~ poly(x, 2) + rbf(z, df=2) + qcut(z, 3)", data).fit()
    res.save(tmp_path / "m.json")
    data.to_csv(tmp_path / "d.csv", index=False)
    code = (
        "import sys, pandas, glmclf\n"
        "res = glmclf.load(sys.argv[1])\n"
        "print(*(p.hex() for p in res.predict(pandas.read_csv(sys.argv[2]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.json", tmp_path / "d.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    here = glmclf.load(tmp_path / "m.json").predict(pd.read_csv(tmp_path / "d.csv"))
    assert done.stdout.split() == [p.hex() for p in here]
    np.testing.assert_array_equal(here, res.predict(pd.read_csv(tmp_path / "d.csv")))


def test_a_file_with_other_state_is_refused():
    stored = json.loads(json.dumps(codec.encode(design("poly(x, 2)"))).replace('"_alpha"', '"_beta"'))
    with pytest.raises(DataError, match=r"state of poly\(\)"):
        codec.decode(stored)


def test_restricted_formulas_may_use_them():
    data = table()
    np.testing.assert_array_equal(
        design("poly(x, 2) + hinge(z, 1)", data, restricted=True).matrix(data),
        design("poly(x, 2) + hinge(z, 1)", data).matrix(data),
    )


def test_a_function_of_the_caller_s_by_the_same_name_is_meant():
    data = table()
    found = design("0 + sigmoid(x)", data, namespace={"sigmoid": np.tanh}).matrix(data)
    np.testing.assert_array_equal(found[:, 0], np.tanh(data.x))
    number = design("0 + I(x - cut)", data, namespace={"cut": 0.25}).matrix(data)
    np.testing.assert_array_equal(number[:, 0], data.x - 0.25)
    variable = design("0 + poly(x, 2)", data, namespace={"poly": 3}).matrix(data)
    np.testing.assert_array_equal(variable, design("0 + poly(x, 2)", data).matrix(data))


def test_a_stored_function_of_the_caller_s_is_not_taken_for_ours():
    data = table()
    d = design("0 + sigmoid(x)", data, namespace={"sigmoid": np.tanh})
    stored = json.loads(json.dumps(codec.encode(d)))
    with pytest.raises(FormulaError, match=r'functions=\{"sigmoid"'):
        codec.decode(stored)
    again = codec.decode(stored, functions={"sigmoid": np.tanh})
    np.testing.assert_array_equal(again.matrix(data), d.matrix(data))


def test_columns_may_be_called_like_transforms():
    data = table().assign(cut="a", poly=lambda d: d.x**2)
    data.loc[::2, "cut"] = "b"
    d = design('cut + C(cut):poly + cut(x, [-9, 0, 9]) + poly(Q("poly"), 2)', data)
    assert d.xnames[1] == "cut[T.b]" and "cut(x, [-9, 0, 9])[T.(0, 9]]" in d.xnames
    np.testing.assert_array_equal(d.matrix(data)[:, 1], data.cut == "b")


def test_infinite_edges_are_no_values_whatever_the_number_of_rows():
    data = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 1]})
    assert design("cut(x, [-np.inf, 1.5, np.inf])", data).matrix(data)[:, 1].tolist() == [0, 1, 1]


@pytest.mark.parametrize("right", ["poly(x, 3)", "rbf(x, df=3)", "sigmoid(x, df=2)", "qcut(x, 4)"])
def test_another_unit_and_another_order_of_rows(right):
    data = table()
    base = design(f"0 + {right}", data).matrix(data)
    metres = data.assign(x=1000 * data.x + 7000)
    np.testing.assert_allclose(design(f"0 + {right}", metres).matrix(metres), base, rtol=1e-9, atol=1e-11)
    order = np.random.default_rng(5).permutation(len(data))
    mixed = data.iloc[order]
    np.testing.assert_allclose(design(f"0 + {right}", mixed).matrix(mixed), base[order], rtol=1e-10, atol=1e-12)


# --------------------------------------------------------------------------------------------------------- models
@pytest.mark.parametrize("model", [Logit, LDA], ids=lambda m: m.__name__)
def test_the_fit_is_that_on_raw_powers(model):
    data = table()
    ortho = model.from_formula("y ~ poly(x, 3)", data).fit()
    raw = model.from_formula("y ~ x + I(x**2) + I(x**3)", data).fit()
    np.testing.assert_allclose(ortho.predict(data), raw.predict(data), rtol=1e-9)


def test_naive_bayes_takes_groups_as_a_factor():
    data = table()
    res = NaiveBayes.from_formula("y ~ qcut(x, 3) + z", data).fit()
    by_hand = data.assign(q=pd.qcut(data.x, 3).astype(str))
    other = NaiveBayes.from_formula("y ~ q + z", by_hand).fit()
    np.testing.assert_allclose(res.predict(data), other.predict(by_hand), rtol=1e-12)


# ------------------------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    "right, words",
    [
        ("poly(x, 1.5)", ["1.5", "whole number"]),
        ("poly(x, 0)", ["degree=0"]),
        ("poly(x, 'a')", ["'a'"]),
        ("poly(k, 3)", ["3 distinct", "2 at most"]),
        ("poly(x * 0, 2)", ["constant"]),
        ("poly(g, 2)", ["labels"]),
        ("poly(np.column_stack([x, z]), 2)", ["one column", "(120, 2)"]),
        ("poly(x, 2, 3)", ["too many"]),
        ("rbf(x)", ["centers=", "df="]),
        ("rbf(x, [0], df=2)", ["either"]),
        ("rbf(x, 3)", ["centers=3", "df="]),
        ("rbf(x, [0, 0])", ["more than once"]),
        ("rbf(x, [0, np.inf])", ["finite"]),
        ("rbf(x, df=3, scale=0)", ["scale=0", "positive"]),
        ("rbf(k, df=8)", ["too few", "3", "df=8"]),
        ("rbf(x, df=2, width=1)", ["width"]),
        ("rbf(x * 0, [1])", ["constant"]),
        ("sigmoid(x, ['u'])", ["'u'", "numbers"]),
        ("hinge(x)", ["knots"]),
        ("hinge(x, [9, 0])", ["[9.0]", "range"]),
        ("qcut(k, 9)", ["9 groups", "fewer"]),
        ("qcut(x, 1)", ["n=1"]),
        ("qcut(x, 121)", ["121 groups", "distinct values (120)", "fewer"]),
        ("cut(x, 1)", ["edges=1", "from 2"]),
        ("cut(x, [-9, 9])", ["one group", "(-9, 9]"]),
        ("standardize(x * 0)", ["constant (0)"]),
        ("scale(x - x + 1.1)", ["constant", "1.1"]),
        ("standardize(np.column_stack([x, z * 0 + 2]))", ["constant (2)"]),
        ("qcut(x * 0, 2)", ["constant"]),
        ("cut(x, [1, 0])", ["increasing"]),
        ("cut(x, ['a', 'b'])", ["'a'", "numbers"]),
        ("cut(x, [1])", ["two or more"]),
        ("cut(x, [0, 1])", ["outside", "(0, 1]", "np.inf"]),
    ],
)
def test_what_makes_no_basis_is_refused_by_name(right, words):
    data = table().assign(g="a")
    with pytest.raises(DataError) as caught:
        design(right, data)
    for word in [right.partition("(")[0], *words]:
        assert word in str(caught.value)
    assert "_fix" not in str(caught.value)



def test_a_group_without_training_rows_is_an_unseen_level():
    with pytest.raises(UnseenLevelError, match="no rows when the model was fitted"):
        design("cut(x, [0, 500, 2000])").matrix({"x": [3.0]})


def test_an_unknown_function_names_the_near_ones():
    with pytest.raises(FormulaError, match="hinge"):
        design("hinges(x, 2)")
