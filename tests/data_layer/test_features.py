"""Features of a table: terms as they are rather than as columns, their families, missing values, new data, storage."""

import copy
import functools
import json
import pickle

import numpy as np
import pandas as pd
import patsy
import pytest

from glmclf.data.design import codec
from glmclf.data.design.arrays import Dropped
from glmclf.data.reading.feature_arrays import read_feature_arrays
from glmclf.data.reading.features import FAMILIES, MISSING_LEVEL, FeatureDesign, read_features
from glmclf.data.reading.read import read_formula
from glmclf.data.response.response import MultinomialResponse
from glmclf.errors import DataError, FormulaError, MissingDataError, UnseenLevelError

build = functools.partial(MultinomialResponse.build, reference=None)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": np.array(["no", "yes", "so"])[np.arange(n) % 3],
            "x": rng.normal(size=n),
            "z": rng.uniform(0.5, 3, size=n),
            "k": rng.integers(1, 4, n),
            "i": rng.integers(0, 2, n),
            "b": rng.integers(0, 2, n).astype(bool),
            "g": np.array(["a", "b", "c"])[(np.arange(n) // 3) % 3],
            "h": np.array(["u", "v"])[(np.arange(n) // 5) % 2],
            "o": pd.Categorical(np.array(["lo", "hi"])[(np.arange(n) // 7) % 2], ["lo", "mid", "hi"], ordered=True),
            "w1": rng.integers(0, 5, n),
            "w2": rng.integers(0, 5, n),
            "w3": rng.integers(0, 5, n),
            "odd name": rng.normal(size=n),
        }
    )


def holed():
    """Missing: x in rows 0 and 3, g in 3 and 5, o in 7, w2 in 9; row 11 has none of x, z, g."""
    data = table()
    data.loc[[0, 3, 11], "x"] = np.nan
    data.loc[[3, 5, 11], "g"] = None
    data.loc[[7], "o"] = np.nan
    data.loc[[11], "z"] = np.nan
    data["w2"] = data["w2"].astype("Int64").mask(data.index == 9)
    return data


def read(right, data=None, **keywords):
    return read_features(f"y ~ {right}", table() if data is None else data, response=build, **keywords)


def arrays(exog, endog=None, **keywords):
    endog = table()["y"].to_numpy()[: len(exog)] if endog is None else endog
    return read_feature_arrays(endog, exog, response=build, **keywords)


def names(sample):
    return [f.name for f in sample.design.features]


def only(sample):
    assert len(sample.values) == len(sample.design.features) == 1
    return sample.design.features[0], sample.values[0]


# ------------------------------------------------------------------------------------------- one term, one feature
def test_a_number():
    feature, values = only(read("x"))
    assert (feature.name, feature.family, feature.kind, feature.xnames) == ("x", "gaussian", "numbers", ("x", "x^2"))
    assert (feature.columns, feature.variables, feature.cells, feature.width) == (("x",), ("x",), 1, 2)
    np.testing.assert_array_equal(values, table()["x"])
    assert values.dtype == np.float64


@pytest.mark.parametrize("code", ["np.log(z)", "I(x ** 2)", "standardize(x)", "np.where(g == 'a', x, z)"])
def test_a_function_of_numbers_is_patsys_factor(code):
    feature, values = only(read(code))
    assert feature.name == code and feature.variables is None
    theirs = patsy.dmatrix(f"0 + {code}", table(), return_type="dataframe").to_numpy()[:, 0]
    np.testing.assert_allclose(values, theirs, rtol=1e-14)


def test_whole_numbers_are_not_guessed_to_be_counts():
    feature, values = only(read("k"))
    assert feature.family == "gaussian" and values.dtype == np.float64


@pytest.mark.parametrize("code", ["g", "h", "o", "C(k)", "C(i)", "C(b)", "C(x > 0)"])
def test_labels_are_codes_of_the_levels_that_have_rows(code):
    feature, values = only(read(code))
    assert (feature.family, feature.kind) == ("categorical", "codes")
    assert values.dtype.kind == "i" and values.min() == 0 and values.max() == feature.cells - 1
    column = {"C(x > 0)": table()["x"] > 0}.get(code)
    column = table()[code.strip("C()")] if column is None else column
    assert [feature.levels[code] for code in values] == column.tolist()


def test_names_and_levels_of_a_category_are_those_of_a_design():
    for code in ("g", "C(k)", "o", "C(g, Treatment('b'))", "C(k, Treatment(3))"):
        feature, _ = only(read(code))
        assert ["Intercept", *feature.xnames] == read_formula(f"y ~ {code}", table(), response=build).design.xnames


def test_a_level_without_rows_is_noted():
    sample = read("o")
    assert only(sample)[0].levels == ("lo", "hi")
    assert sample.notes == ['level "mid" of o has no rows: its probability is 0 in every class']
    sample = read("C(g, levels=['d', 'c', 'b', 'a', 'e'])")
    feature, values = only(sample)
    assert feature.levels == ("c", "b", "a") and feature.sizes == (3,)
    assert [feature.levels[v] for v in values] == table()["g"].tolist()
    assert sample.notes[0].startswith("levels \"d\", \"e\" of C(g, levels=['d', 'c', 'b', 'a', 'e']) have no rows:")
    assert sample.design.values({"g": ["d", "a", "e"]})[0].tolist() == [-2, 2, -3]
    assert sample.design.values({"g": ["d", "a"]}, unknown="missing")[0].tolist() == [-1, 2]
    with pytest.raises(FormulaError, match='the base level "d" has no rows'):
        read("C(g, Treatment('d'), levels=['a', 'b', 'c', 'd'])")
    feature, values = only(read("C(g, Treatment('c'), levels=['a', 'd', 'b', 'c'])"))
    assert feature.levels == ("c", "a", "b")
    assert [feature.levels[v] for v in values] == table()["g"].tolist()


def test_the_base_of_a_treatment_coding_comes_first_and_other_codings_do_not_matter():
    sample = read("C(g, Treatment('c'))")
    feature, values = only(sample)
    assert feature.levels == ("c", "a", "b") and not sample.notes
    assert [feature.levels[v] for v in values] == table()["g"].tolist()
    assert [feature.levels[v] for v in sample.design.values(table())[0]] == table()["g"].tolist()
    sample = read("C(g, Sum)")
    assert only(sample)[0].levels == ("a", "b", "c")
    assert sample.notes == ["the coding of C(g, Sum) is not used: levels are compared with the first"]
    with pytest.raises(FormulaError, match=r'"q" is none of its levels "a", "b", "c"'):
        read("C(g, Treatment('q'))")


@pytest.mark.parametrize("code", ["b", "I(x > 0)", "b == True"])
def test_a_bool_is_bernoulli_and_named_as_in_a_design(code):
    feature, values = only(read(code))
    assert (feature.family, feature.kind, feature.levels) == ("bernoulli", "numbers", (False, True))
    assert ["Intercept", *feature.xnames] == read_formula(f"y ~ {code}", table(), response=build).design.xnames
    assert values.dtype == np.float64 and set(values) == {0.0, 1.0}


def test_zeros_and_ones_are_bernoulli_also_where_missing_values_made_them_floats():
    feature, values = only(read("i"))
    assert (feature.family, feature.xnames, feature.levels) == ("bernoulli", ("i",), None)
    data = table().assign(i=table()["i"].where(table()["x"] > -1))
    feature, found = only(read("i", data))
    assert feature.family == "bernoulli" and np.isnan(found).any()
    np.testing.assert_array_equal(found, data["i"])
    assert only(read("I(i + 1)"))[0].family == "gaussian"


def test_a_nullable_bool_is_a_bool():
    data = table()
    data["b"] = data["b"].astype("boolean").mask(data.index < 3)
    feature, values = only(read("b", data))
    assert feature.family == "bernoulli" and feature.xnames == ("b[T.True]",)
    assert np.isnan(values[:3]).all()
    np.testing.assert_array_equal(values[3:], table()["b"][3:].astype(float))


def test_a_factor_of_several_columns_is_a_feature_each():
    sample = read("bs(x, df=4) + np.column_stack([x, z])")
    assert names(sample) == [f"bs(x, df=4)[{j}]" for j in range(4)] + [f"np.column_stack([x, z])[{j}]" for j in (0, 1)]
    assert {f.family for f in sample.design.features} == {"gaussian"}
    assert sample.design.features[0].xnames == ("bs(x, df=4)[0]", "bs(x, df=4)[0]^2")
    theirs = np.asarray(patsy.dmatrix("0 + bs(x, df=4) + np.column_stack([x, z])", table()))
    np.testing.assert_allclose(np.column_stack(sample.values), theirs, rtol=1e-13, atol=1e-15)
    assert sample.design.terms == {
        "Intercept": slice(0, 1),
        "bs(x, df=4)": slice(1, 9),
        "np.column_stack([x, z])": slice(9, 13),
    }


def test_the_intercept_does_not_matter_and_the_formula_gives_the_order():
    for right in ("x + g + z", "0 + x + g + z", "x + g + z - 1"):
        sample = read(right)
        assert names(sample) == ["x", "g", "z"]
        assert sample.design.xnames == ["Intercept", "x", "x^2", "g[T.b]", "g[T.c]", "z", "z^2"]
        assert sample.design.k_constant == 1


def test_columns_with_odd_names():
    feature, values = only(read('Q("odd name")'))
    assert feature.name == 'Q("odd name")' and feature.variables == ("odd name",)
    np.testing.assert_array_equal(values, table()["odd name"])


@pytest.mark.parametrize("right", ["1", "0", "C(one)"])
def test_a_formula_without_features_is_refused(right):
    said = r'"C\(one\)" has one level' if right == "C(one)" else "$"
    with pytest.raises(FormulaError, match=f"has no features: name at least one beside the intercept. ?{said}"):
        read(right, table().assign(one="a"))


def test_a_factor_of_one_level_is_left_out_with_a_note():
    sample = read("x + C(one)", table().assign(one="a"))
    assert names(sample) == ["x"]
    assert sample.notes == ['C(one) has one level, "a", in the rows used: it is left out']
    with pytest.raises(UnseenLevelError, match=r'"q".*\(1 of 1 rows: row 0\)'):
        sample.design.values({"x": [1.0], "one": ["q"]})


@pytest.mark.parametrize("values, shown, other", [([1] * 60, "1", 0), ([0.0] * 60, "0", 1)])
def test_constant_numbers_without_a_family_are_left_out_with_a_note(values, shown, other):
    data = table().assign(one=values)
    sample = read("x + one", data)
    assert names(sample) == ["x"]
    assert len(sample.notes) == 1 and sample.notes[0].startswith(f"one has one level, {shown}")
    for d in (sample.design, through_json(sample.design)):
        assert d.values({"x": [1.0], "one": [values[0]]})[0].tolist() == [1.0]
        assert d.values({"x": [1.0], "one": [other]}, unknown="missing")[0].tolist() == [1.0]
        with pytest.raises(UnseenLevelError, match='"one" has level'):
            d.values({"x": [1.0], "one": [other]})
        with pytest.raises(DataError, match='no column "one"'):
            d.values({"x": [1.0]})
    with pytest.raises(FormulaError, match='has no features.*"one" has one level'):
        read("one", data)


@pytest.mark.parametrize(
    "values, families",
    [([1] * 60, {"one": "bernoulli"}), ([0.0] * 60, {"one": "bernoulli"}), ([True] * 60, None), ([False] * 60, None)],
)
@pytest.mark.parametrize("smoothed", [False, True])
def test_a_declared_bernoulli_has_two_values_whichever_occur(values, families, smoothed):
    sample = read("x + one", table().assign(one=values), families=families, smoothed=smoothed)
    assert names(sample) == ["x", "one"] and not sample.notes and sample.design.features[1].family == "bernoulli"
    for d in (sample.design, through_json(sample.design)):
        for value in (0, 1):
            assert d.values({"x": [1.0], "one": [type(values[0])(value)]})[1].tolist() == [value]


@pytest.mark.parametrize(
    "code, levels", [("k", ["u", "v", "w"]), ("C(k)", ["u", "v", "w"]), ("C(s, levels=['v', 't'])", ["v", "t"])]
)
def test_declared_levels_without_rows_stay_where_tables_are_smoothed(code, levels):
    data = table().assign(s="v", k=pd.Categorical(["v", "u"] * 30, categories=["u", "v", "w"]))
    smoothed, plain = (read(f"x + {code}", data, smoothed=on) for on in (True, False))
    assert smoothed.design.features[1].levels == tuple(levels) and not smoothed.notes
    there = [level for level in levels if level in ("u", "v")]
    assert plain.design.features[1].levels == tuple(there) and plain.notes
    assert read("x + s", data.assign(s=["v", "t"] * 30), smoothed=True, subset="s == 'v'").notes  # it declares nothing
    X = data[["x", "k"]]
    assert arrays(X, smoothed=True).design.features[1].levels == ("u", "v", "w")


def test_a_bernoulli_is_constant_on_the_rows_used():
    data = table().assign(one=(np.arange(60) == 4), f=1 * (np.arange(60) != 4))
    assert names(read("x + one", data)) == ["x", "one"]
    assert names(read("x + one", data.assign(one=1 * data.one), extras={"freq_weights": "f"})) == ["x"]
    data["one"] = data["one"].astype("boolean").mask(data.index == 4)
    assert names(read("x + one", data)) == ["x", "one"]
    with pytest.raises(MissingDataError, match='"one" is missing in 1 rows'):
        read("x + one", data, missing="level")
    assert names(read("x + one", data.assign(one=2.0), families={"one": "bernoulli"})) == ["x", "one"]
    code = "np.column_stack([i, 0 * i])"
    assert names(read(code, families={f"{code}[1]": "bernoulli"})) == [f"{code}[0]", f"{code}[1]"]
    X = np.column_stack([table()["x"], np.arange(60) % 2, np.zeros(60), np.ones(60)])
    sample = arrays(X)
    assert names(sample) == ["x1", "x2"] and sample.design.dropped.place == 3
    assert len(sample.design.values(X[:4])[0]) == 4
    assert names(arrays(X, families={"const": "bernoulli", "x3": "bernoulli"})) == ["x1", "x2", "x3", "const"]


# ---------------------------------------------------------------------------------------------------- joint tables
def test_an_interaction_of_categories_is_one_table():
    feature, values = only(read("g:h"))
    assert feature.levels == (("a", "u"), ("a", "v"), ("b", "u"), ("b", "v"), ("c", "u"), ("c", "v"))
    assert feature.xnames == tuple(f"g:h[T.{w}]" for w in ("a:v", "b:u", "b:v", "c:u", "c:v"))
    assert (feature.family, feature.cells, feature.sizes, feature.variables) == ("categorical", 6, (3, 2), ("g", "h"))
    assert [feature.levels[v] for v in values] == list(zip(table()["g"], table()["h"]))


def test_three_ways_and_bools_and_numbers_made_levels():
    feature, values = only(read("g:b:C(k)"))
    assert feature.cells == len(set(zip(table()["g"], table()["b"], table()["k"]))) == 17
    assert feature.columns == ("g", "b", "k")
    assert [feature.levels[v] for v in values] == list(zip(table()["g"], table()["b"], table()["k"]))


def without(g, h):
    data = table()
    return data[(data["g"] != g) | (data["h"] != h)]


@pytest.mark.parametrize("lost", ["a", "b", "c"])
@pytest.mark.parametrize("how", ["no row", "weight", "freq_weights", "response"])
def test_cells_without_rows_are_left_out(lost, how):
    data = table().assign(f=1 - ((table()["g"] == lost) & (table()["h"] == "v")))
    given = {how: "f"} if "weight" in how else {}
    if how == "weight":
        given = {"weights": "f"}
    if how == "response":
        data["y"] = data["y"].where(data["f"] == 1)
    sample = read("g:h", without(lost, "v") if how == "no row" else data, extras=given)
    feature, values = only(sample)
    cells = [(g, h) for g in "abc" for h in "uv" if (g, h) != (lost, "v")]
    assert feature.levels == tuple(cells) and feature.cells == 5 and feature.width == 4
    assert feature.xnames == tuple(f"g:h[T.{g}:{h}]" for g, h in cells[1:])
    used = data[data["f"] == 1]
    assert [feature.levels[v] for v in values] == list(zip(used["g"], used["h"]))
    assert sample.notes == ["1 of 6 cells of g:h has no rows and was left out"]


def test_a_cell_without_rows_is_an_unseen_level():
    for d in (read("x + g:h", without("b", "u")).design, through_json(read("x + g:h", without("b", "u")).design)):
        new = {"x": [0.0] * 4, "g": ["b", "b", "c", None], "h": ["v", "u", "v", "u"]}
        with pytest.raises(
            UnseenLevelError,
            match='"g:h" has the combination "b:u", which no row had when the model was fitted; it knows "a:u", "a:v"',
        ):
            d.values(new)
        assert d.values(new, unknown="missing")[1].tolist() == [2, -1, 4, -1]
        assert d.values({"x": [0.0], "g": ["b"], "h": [None]})[1].tolist() == [-1]
        with pytest.raises(UnseenLevelError, match='"g" has level "q"'):
            d.values({"x": [0.0], "g": ["q"], "h": ["u"]})


def test_a_missing_value_in_a_cell_without_rows_is_missing():
    data = table()
    data.loc[[0], "g"] = None
    d = read("g:h", data, missing="level").design
    levels = d.features[0].levels
    assert (MISSING_LEVEL, "u") in levels and (MISSING_LEVEL, "v") not in levels
    assert d.values({"g": [None, None], "h": ["u", "v"]})[0].tolist() == [levels.index((MISSING_LEVEL, "u")), -1]


def test_a_table_of_one_cell_is_left_out_with_a_note():
    data = table().assign(g="a", h="u")
    data.loc[1, ["g", "h"]] = ["b", None]
    sample = read("x + g:h", data)
    assert names(sample) == ["x"]
    assert sample.notes == ['g:h has one level, "a:u", in the rows used: it is left out']
    with pytest.raises(UnseenLevelError, match='"g" has level "b"'):
        sample.design.values({"x": [1.0], "g": ["b"], "h": ["u"]})
    data = table().assign(g=table()["g"].where(table()["i"] == 1), h=table()["h"].where(table()["i"] == 0))
    with pytest.raises(MissingDataError, match='"g:h" is missing in all 60 rows'):
        read("x + g:h", data)


def test_names_of_cells_are_unique():
    rows = [("a", "b:c"), ("a:b", "c"), ("a", "c"), ("'a", "c"), ("a:b", "b:c")] * 4
    data = pd.DataFrame(rows, columns=["g", "h"]).assign(y=["no", "yes"] * 10)
    feature, _ = only(read("g:h", data))
    words = [feature.word(code) for code in range(feature.cells)]
    assert dict(zip(feature.levels, words)) == {
        ("'a", "c"): '"\'a":c',
        ("a", "b:c"): "a:'b:c'",
        ("a", "c"): "a:c",
        ("a:b", "b:c"): "'a:b':'b:c'",
        ("a:b", "c"): "'a:b':c",
    }
    assert feature.xnames == tuple(f"g:h[T.{word}]" for word in words[1:])
    assert only(read("g", data))[0].xnames == ("g[T.a]", "g[T.a:b]")


@pytest.mark.parametrize("right", ["g*h", "g + h + g:h", "g:h + h", "g/h"])
def test_terms_within_a_larger_interaction_are_absorbed(right):
    sample = read(right)
    assert names(sample) == ["g:h"]
    assert sample.notes and all("is part of the joint table g:h, which absorbs it" in note for note in sample.notes)


def test_the_largest_interaction_absorbs_all_others():
    sample = read("g*h*C(k) + x")
    assert sorted(names(sample)) == ["g:h:C(k)", "x"]
    assert sum("absorbs it" in note for note in sample.notes) == 6


@pytest.mark.parametrize("right", ["g:h + g:C(k)", "(g + h + C(k))**2", "g:I(x > 0) + h:I(x > 0)"])
def test_tables_that_share_a_factor_are_refused(right):
    with pytest.raises(ValueError, match="would be counted twice, in .* or make one table of all"):
        read(right)


@pytest.mark.parametrize("right", ["g + C(g)", "k + C(k)", "C(g):h + g", "C(k) + C(k, Sum)", "g:C(g)"])
def test_a_column_that_is_taken_twice_is_refused(right):
    with pytest.raises(FormulaError, match=r'"[gk]" would be counted twice, in .*: keep one of them'):
        read(right)


def test_functions_of_one_column_are_noted():
    assert read("x + I(x**2)").notes == ["x and I(x ** 2) use x, but count as independent given the class"]


def test_interactions_of_numbers_are_refused():
    with pytest.raises(FormulaError, match=r'"x:z" is an interaction of numbers.*I\(x \* z\)'):
        read("x:z + g")
    with pytest.raises(FormulaError, match=r'"g:x".*"x" holds numbers. Say C\(x\)'):
        read("g:x")
    with pytest.raises(FormulaError, match=r'"g:i".*"i" holds numbers'):
        read("g*i")


def test_a_table_of_too_many_cells_is_refused():
    data = pd.DataFrame({"y": ["a", "b"] * 750, "k": np.arange(1500), "l": np.arange(1500)})
    with pytest.raises(FormulaError, match=r"a table of 2,250,000 cells"):
        read("C(k):C(l)", data)


# -------------------------------------------------------------------------------------------------------- families
@pytest.mark.parametrize(
    "family, xnames",
    [
        ("gaussian", ("k", "k^2")),
        ("poisson", ("k",)),
        ("exponential", ("k",)),
        ("gamma", ("log(k)", "k")),
        ("categorical", ("k[T.2]", "k[T.3]")),
        ("bernoulli", ("k",)),
    ],
)
def test_families_by_name(family, xnames):
    feature, values = only(read("k", families={"k": family}))
    assert (feature.family, feature.xnames, feature.variables) == (family, xnames, ("k",))
    assert feature.family in FAMILIES
    found = [feature.levels[v] for v in values] if family == "categorical" else values
    assert list(found) == table()["k"].tolist()


def test_families_of_bools_and_of_zeros_and_ones():
    assert only(read("b", families={"b": "categorical"}))[0].xnames == ("b[T.True]",)
    assert only(read("i", families={"i": "gaussian"}))[0].family == "gaussian"


@pytest.mark.parametrize("key", ["np.log(z)", "np.log( z )", "z"])
def test_a_family_by_term_or_by_its_column(key):
    assert only(read("np.log(z)", families={key: "gamma"}))[0].family == "gamma"


def test_the_more_specific_name_counts():
    sample = read("z + np.sqrt(z)", families={"z": "gamma"})
    assert [f.family for f in sample.design.features] == ["gamma", "gamma"]
    sample = read("z + np.sqrt(z)", families={"z": "gamma", "np.sqrt(z)": "exponential"})
    assert [f.family for f in sample.design.features] == ["gamma", "exponential"]


def test_families_of_a_factor_of_several_columns():
    code = "np.column_stack([k, z])"
    sample = read(code, families={code: "gamma", f"{code}[0]": "poisson"})
    assert [f.family for f in sample.design.features] == ["poisson", "gamma"]
    with pytest.raises(DataError, match=r'"np.column_stack\(\[k, z\]\)\[0\]" is .* cannot be categorical'):
        read(code, families={code: "categorical"})


def test_pooled_gaussians_have_one_statistic():
    sample = read("x + z + g", pooled=True, families={"z": "gamma"})
    assert [f.xnames for f in sample.design.features] == [("x",), ("log(z)", "z"), ("g[T.b]", "g[T.c]")]


@pytest.mark.parametrize(
    "families, message",
    [
        ({"q": "poisson"}, 'no feature "q". The features are "x", "g", "b", "h:o"'),
        ({"X": "gamma"}, "no feature \"X\". Did you mean 'x'"),
        ({"x": "normal"}, '"x" has \'normal\'; choose one of "gaussian"'),
        ({"x": "multinomial"}, '"x" alone cannot be multinomial; name its columns in multinomial='),
        ({"g": "gaussian"}, r'"g" is labels \("a", "b", "c"\) and cannot be gaussian; it can be "categorical"'),
        ({"g": "bernoulli"}, '"g" is labels .* cannot be bernoulli'),
        ({"b": "poisson"}, '"b" is True or False and cannot be poisson; it can be "bernoulli", "categorical"'),
        ({"h:o": "gaussian"}, '"h:o" is a joint table and cannot be gaussian'),
        ({"h": "categorical"}, '"h" is part of "h:o", which has one distribution'),
        ({"y": "poisson"}, 'no feature "y"'),
        ({1: "poisson"}, 'no feature "1"'),
    ],
)
def test_families_that_make_no_sense(families, message):
    with pytest.raises(DataError, match=message):
        read("x + g + b + h:o", families=families)


def test_families_is_a_dict():
    with pytest.raises(TypeError, match=r"families= is a dict .* found list"):
        read("x", families=["gaussian"])
    assert only(read("h:o", families={"o:h": "categorical"}))[0].name == "h:o"


# ---------------------------------------------------------------------------------------------------- multinomial
@pytest.mark.parametrize("right", ["1", "w1 + w2 + w3", "w2", "0 + w3 + w1"])
def test_a_block_of_counts(right):
    feature, values = only(read(right, multinomial=["w1", "w2", "w3"]))
    assert (feature.family, feature.kind, feature.name) == ("multinomial", "counts", "w1 + w2 + w3")
    assert feature.xnames == feature.levels == feature.variables == ("w1", "w2", "w3") and feature.cells == 3
    np.testing.assert_array_equal(values, table()[["w1", "w2", "w3"]])
    assert values.dtype == np.float64


def test_a_block_stands_where_its_first_column_is_named_else_last():
    assert names(read("x + w2 + g + w1", multinomial=["w1", "w2"])) == ["x", "w1 + w2", "g"]
    assert names(read("x + g", multinomial=["w1", "w2"])) == ["x", "g", "w1 + w2"]


def test_long_blocks_have_a_short_name_and_odd_columns_are_found():
    data = table().rename(columns={"w3": "w 3", "w1": "C"})
    feature, values = only(read("1", data, multinomial=["C", "w2", "w 3"]))
    assert feature.columns == ("C", "w2", "w 3")
    np.testing.assert_array_equal(values, table()[["w1", "w2", "w3"]])
    sample = read("1", multinomial=["w1", "w2", "w3", "k", "i"])
    assert names(sample) == ["w1 + ... + i"]


@pytest.mark.parametrize("right", ["np.log(w1) + x", "w1:g", "C(w2)", "I(w1 + k)"])
def test_a_column_of_the_block_cannot_be_used_again(right):
    with pytest.raises(FormulaError, match=r'uses "w[12]", which multinomial= counts already'):
        read(right, multinomial=["w1", "w2"])


def test_blocks_that_make_no_sense():
    with pytest.raises(DataError, match='multinomial= names "w9", which is no column. The columns are "y"'):
        read("x", multinomial=["w1", "w9"])
    with pytest.raises(DataError, match="two or more different columns"):
        read("x", multinomial=["w1"])
    with pytest.raises(DataError, match="two or more different columns"):
        read("x", multinomial=["w1", "w1"])
    with pytest.raises(DataError, match=r'multinomial= names "g", which holds labels \("a", "b", "c"\), not counts'):
        read("x", multinomial=["w1", "g"])
    with pytest.raises(TypeError, match="multinomial= is a list of columns"):
        read("x", multinomial="w1")
    with pytest.raises(DataError, match=r'"w1" is part of "w1 \+ w2"'):
        read("x", multinomial=["w1", "w2"], families={"w1": "poisson"})


# --------------------------------------------------------------------------------------------------------- missing
def test_skip_keeps_rows_and_leaves_a_missing_feature_missing():
    sample = read("x + z + g + o + g:h", holed().assign(g2=holed()["g"]).rename(columns={"g": "G", "g2": "g"}))
    assert names(sample) == ["x", "z", "o", "g:h"] and len(sample) == 60 and sample.keep.all()
    x, z, o, gh = sample.values
    assert np.flatnonzero(np.isnan(x)).tolist() == [0, 3, 11]
    assert np.flatnonzero(np.isnan(z)).tolist() == [11]
    assert np.flatnonzero(o < 0).tolist() == [7]
    assert np.flatnonzero(gh < 0).tolist() == [3, 5, 11]
    assert set(o[o < 0]) == set(gh[gh < 0]) == {-1}
    assert sample.n_dropped == 0 and sample.dropped == {}


def test_a_row_without_any_feature_stays():
    sample = read("x + z + g", holed())
    assert len(sample) == 60 and sample.values[2][11] == -1


def test_rows_without_response_or_weight_go():
    data = holed()
    data.loc[20, "y"] = None
    w = np.ones(60)
    w[21], w[22] = np.nan, 0
    sample = read("x + g", data, extras={"weights": w})
    assert np.flatnonzero(~sample.keep).tolist() == [20, 21, 22] and sample.n_dropped == 2 and sample.n_absent == 1
    assert sample.dropped == {"y": 1, "weights": 1}
    assert [len(v) for v in sample.values] == [57, 57] and len(sample.response.y) == 57
    assert len(sample.extras["weights"]) == 57
    np.testing.assert_array_equal(sample.values[0], data["x"].drop([20, 21, 22]))


def test_transforms_remember_the_rows_that_have_their_own_variables():
    data = holed()
    sample = read("standardize(x) + bs(z, df=4) + g", data)
    x = data["x"]
    np.testing.assert_allclose(sample.values[0], (x - x.mean()) / x.std(ddof=0), rtol=1e-12)
    theirs = patsy.dmatrix("0 + bs(z, df=4)", data[["z"]].dropna())
    np.testing.assert_allclose(np.column_stack(sample.values[1:5])[data["z"].notna()], theirs, rtol=1e-12, atol=1e-14)
    for before, after in zip(sample.values, sample.design.values(data)):
        np.testing.assert_array_equal(before, after)


def test_transforms_see_no_row_without_response_and_each_as_often_as_its_weight_says():
    data = holed()
    data["f"] = np.arange(60) % 4
    data.loc[30, "y"] = None
    data.loc[30, "x"] = 1000.0
    sample = read("center(x)", data, extras={"freq_weights": "f"})
    used = data[data["y"].notna() & (data["f"] > 0)]
    mean = np.average(used["x"].dropna(), weights=used["f"][used["x"].notna()])
    np.testing.assert_allclose(sample.values[0], used["x"] - mean, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*has no finite value:glmclf.errors.DataWarning")
def test_a_value_that_a_function_made_missing_is_missing():
    feature, values = only(read("np.log(x)"))
    np.testing.assert_array_equal(np.isnan(values), table()["x"] < 0)


def test_a_lag_is_that_of_the_table():
    sample = read("x.shift(1) + z", holed())
    np.testing.assert_array_equal(sample.values[0], holed()["x"].shift(1))


def test_drop_keeps_complete_rows_only():
    data = holed()
    sample = read("standardize(x) + g", data, missing="drop", multinomial=["w1", "w2"])
    complete = data[["x", "g", "w2"]].notna().all(axis=1)
    np.testing.assert_array_equal(sample.keep, complete)
    assert sample.dropped == {"x": 3, "g": 3, "w2": 1} and sample.n_dropped == complete.size - complete.sum()
    x = data["x"][complete]
    np.testing.assert_allclose(sample.values[0], (x - x.mean()) / x.std(ddof=0), rtol=1e-12)
    assert not np.isnan(sample.values[2]).any() and (sample.values[1] >= 0).all()


@pytest.mark.parametrize("missing", ["raise", "none"])
def test_raise_says_where_values_are_missing(missing):
    with pytest.raises(MissingDataError, match=r'missing values in "x" \(3 rows\), "g" \(3 rows\): rows 0, 3, 5, 11'):
        read("x + g", holed(), missing=missing)
    assert len(read("h + k", holed(), missing=missing)) == 60


def test_level_makes_missing_labels_a_level():
    sample = read("z + g + C(k) + b:o", holed().assign(z=1.0 * table()["k"]), missing="level")
    z, g, k, bo = sample.design.features
    assert g.levels == ("a", "b", "c", MISSING_LEVEL) and g.xnames[-1] == "g[T.(missing)]"
    assert k.levels == (1, 2, 3)
    assert bo.levels[-1] == (True, MISSING_LEVEL) and bo.sizes == (2, 3)
    assert np.flatnonzero(sample.values[1] == 3).tolist() == [3, 5, 11]
    assert sample.values[3][7] == bo.levels.index((bool(table()["b"][7]), MISSING_LEVEL))
    assert len(sample) == 60
    new = sample.design.values(
        {"z": [1.0] * 3, "g": [None, "a", "b"], "k": [np.nan, 1, 2], "b": [True] * 3, "o": ["lo", None, "hi"]}
    )
    assert new[1].tolist() == [3, 0, 1] and new[2].tolist() == [-1, 0, 1]
    assert [bo.levels[v] for v in new[3]] == [(True, "lo"), (True, MISSING_LEVEL), (True, "hi")]


def test_level_refuses_missing_numbers_naming_the_column():
    with pytest.raises(MissingDataError, match=r'"x" is missing in 3 rows \(rows 0, 3, 11\), and missing="level"'):
        read("g + x", holed(), missing="level")
    data = table()
    data["b"] = data["b"].astype("boolean").mask(data.index == 4)
    with pytest.raises(MissingDataError, match=r'"b" is missing in 1 rows.*families=\{"b": "categorical"\}'):
        read("b", data, missing="level")
    feature, values = only(read("b", data, missing="level", families={"b": "categorical"}))
    assert feature.levels == (False, True, MISSING_LEVEL) and values[4] == 2
    feature, values = only(read("x", holed().round(0), missing="level", families={"x": "categorical"}))
    assert feature.levels[-1] == MISSING_LEVEL
    with pytest.raises(MissingDataError, match=r'"w2" is missing in 1 rows'):
        read("1", holed(), missing="level", multinomial=["w1", "w2"])


def test_level_refuses_a_level_of_that_name():
    data = holed()
    data.loc[1, "g"] = MISSING_LEVEL
    with pytest.raises(DataError, match=r'"g" has a level called "\(missing\)" already'):
        read("g", data, missing="level")
    feature, values = only(read("g", data))
    assert MISSING_LEVEL in feature.levels and values[3] == -1


def test_a_feature_that_is_nowhere_is_refused():
    with pytest.raises(MissingDataError, match=r'"q" is missing in all 60 rows: leave it out'):
        read("x + q", table().assign(q=np.nan))
    with pytest.raises(MissingDataError, match=r'"q" is missing in all 60 rows'):
        read("x + q", table().assign(q=None))


def test_an_infinite_value_is_refused():
    data = table()
    data.loc[3, "x"] = np.inf
    with pytest.raises(DataError, match=r'"x" is infinite in 1 of 60 rows \(row 3\)'):
        read("x", data)
    with pytest.raises(DataError, match=r'"np.log\(i\)" is infinite'):
        read("np.log(i)")


def test_unknown_ways_with_missing_values():
    with pytest.raises(ValueError, match='missing=\'fill\': choose one of "skip", "drop", "raise", "level", "none"'):
        read("x", missing="fill")
    with pytest.raises(NotImplementedError, match="NaiveBayes"):
        read_formula("y ~ x", table(), response=build, missing="skip")


# -------------------------------------------------------------------------------------------- rows, as elsewhere
def test_rows_are_those_of_a_design():
    data = holed().set_index(pd.Index(np.arange(60) // 2))
    data["wt"] = 1.0 + np.arange(60)
    common = dict(subset="x > 0 or g == 'a'", extras={"weights": "wt"}, missing="drop", response=build)
    ours, theirs = (f("y ~ x + g", data, **common) for f in (read_features, read_formula))
    for name in ("n_given", "n_dropped", "n_absent", "dropped"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("keep", "rows", "cut"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.index.equals(theirs.index) and ours.given_index.equals(theirs.given_index)
    np.testing.assert_array_equal(ours.extras["weights"], theirs.extras["weights"])
    np.testing.assert_array_equal(ours.response.y, theirs.response.y)
    assert ours.frame.equals(theirs.frame)


def test_a_series_of_weights_is_aligned_by_label():
    data = table()
    w = pd.Series(np.arange(60.0) + 1, index=data.index)[::-1]
    np.testing.assert_array_equal(read("x", data, extras={"weights": w}).extras["weights"], np.arange(60.0) + 1)


def test_variables_of_the_caller_and_the_shell():
    feature, values = only(read("I(x > cut)", namespace={"cut": 0.25}))
    np.testing.assert_array_equal(values, table()["x"] > 0.25)
    feature, _ = only(read("extra", namespace={"extra": np.arange(60.0)}))
    assert feature.variables == ("extra",)
    with pytest.raises(FormulaError, match="not among what a stored or restricted formula may do"):
        read("x.rank()", restricted=True)
    with pytest.raises(FormulaError, match="no column or variable"):
        read("I(x > cut)", namespace={"cut": 0.25}, restricted=True)
    assert names(read("np.log(z) + g:h", restricted=True)) == ["np.log(z)", "g:h"]


def test_nothing_passed_in_is_changed():
    data, families, block = holed(), {"x": "gaussian"}, ["w1", "w2"]
    before = data.copy(deep=True)
    read("x + g + b", data, families=families, multinomial=block, missing="drop")
    pd.testing.assert_frame_equal(data, before)
    assert families == {"x": "gaussian"} and block == ["w1", "w2"]


def test_names_that_would_clash():
    with pytest.raises(DataError, match=r'called the same: "x\^2"'):
        arrays(pd.DataFrame({"x": [1.0, 2, 4], "x^2": [3.0, 5, 7]}), families={"x^2": "exponential"})


@pytest.mark.parametrize(
    "formula, message",
    [
        ("y ~ nope", 'no column or variable "nope"'),
        ("~ x", "needs a response"),
        ("y ~ x ^ 2", "not available"),
        (3, "text like"),
        ("y ~ y + g", '"y" is the response and cannot explain itself: take it out of the right side.$'),
        ("y ~ x + C(y)", '"y" is the response .* side in "C(y)"'),
        ("C(y) ~ x + y", '"y" is the response'),
        ("y ~ y:g", '"y" is the response'),
        ("I(x > 0) ~ z + I(x > 0)", '"I(x > 0)" is the response'),
        ("b ~ np.where(b, x, z)", '"b" is the response'),
    ],
)
def test_formulas_that_cannot_be_read(formula, message):
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(FormulaError, match=message):
        read_features(formula, table(), response=build)


def test_what_else_the_response_may_be_in():
    assert names(read_features("I(x > 0) ~ x + g", table(), response=build)) == ["x", "g"]
    lagged = read_features("i ~ x + i.shift(1)", table(), response=build)
    assert names(lagged) == ["x", "i.shift(1)"]
    with pytest.raises(FormulaError, match='"i" is the response'):
        read_features("i ~ x", table(), response=build, multinomial=["w1", "i"])


def test_one_class_is_refused_with_what_was_left_out():
    data = table().assign(y=["a"] * 59 + [None])
    with pytest.raises(DataError, match=r'one class only.*1 of 60 rows were left out, missing in "y"'):
        read("x", data)


# ---------------------------------------------------------------------------------------------------------- arrays
def test_each_column_of_an_array_is_a_feature():
    X = table()[["x", "i", "k"]].to_numpy()
    sample = arrays(X)
    assert names(sample) == ["x1", "x2", "x3"] and sample.design.endog_name == "y" and sample.design.formula is None
    assert [f.family for f in sample.design.features] == ["gaussian", "bernoulli", "gaussian"]
    np.testing.assert_array_equal(np.column_stack(sample.values), X)
    assert np.shares_memory(sample.values[0], X) and sample.frame is None and sample.X is None


def test_a_table_beside_a_response_may_hold_labels():
    data = table()[["x", "g", "b", "o", "odd name", "i"]].assign(np=1.5 * table()["z"], C=table()["k"])
    sample = arrays(data, table()["y"], families={"C": "poisson", "odd name": "gaussian"})
    assert names(sample) == list(data.columns)
    assert [f.family for f in sample.design.features] == [
        *("gaussian", "categorical", "bernoulli", "categorical", "gaussian", "bernoulli", "gaussian", "poisson")
    ]
    assert sample.design.features[4].xnames == ("odd name", "odd name^2")
    assert sample.design.features[1].xnames == ("g[T.b]", "g[T.c]")
    for column, values, feature in zip(data, sample.values, sample.design.features):
        found = [feature.levels[v] for v in values] if feature.kind == "codes" else values
        assert list(found) == data[column].tolist()
    assert sample.index.equals(data.index)


def test_missing_values_of_arrays():
    data = holed()[["x", "z", "g"]]
    sample = arrays(data)
    assert len(sample) == 60 and np.isnan(sample.values[0]).sum() == 3 and (sample.values[2] < 0).sum() == 3
    assert len(arrays(data, missing="drop")) == 56
    with pytest.raises(MissingDataError, match=r'"x" \(3 rows\)'):
        arrays(data, missing="raise")
    with pytest.raises(MissingDataError, match=r'"x" is missing in 3 rows'):
        arrays(data, missing="level")
    assert arrays(data[["g"]], missing="level").design.features[0].levels[-1] == MISSING_LEVEL
    y = table()["y"].where(table().index != 2)
    sample = arrays(data.to_numpy()[:, :2].astype(float), y, extras={"weights": np.arange(60.0)})
    assert len(sample) == 58 and sample.n_dropped == 1 and sample.n_absent == 1
    np.testing.assert_array_equal(sample.values[0], data["x"].drop([0, 2]))
    with pytest.raises(MissingDataError, match='"x1" is missing in all 60 rows'):
        arrays(np.column_stack([np.full(60, np.nan), np.arange(60.0)]))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_constant_column_is_left_out_and_recorded(place):
    X = np.insert(table()[["x", "z"]].to_numpy(), place, 1.0, axis=1)
    sample = arrays(X)
    assert sample.design.dropped == Dropped("const", place, 1.0) and names(sample) == ["x1", "x2"]
    for newdata in (X, np.delete(X, place, axis=1)):
        np.testing.assert_array_equal(np.column_stack(sample.design.values(newdata)), np.column_stack(sample.values))
    with pytest.raises(DataError, match='"const" was when'):
        sample.design.values(X + 1)
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    assert arrays(frame).design.dropped == Dropped(frame.columns[place], place, 1.0)
    with pytest.raises(DataError, match='no features: its only column, "const"'):
        arrays(np.ones((60, 1)))


def test_counts_in_arrays():
    data = table()[["x", "w1", "w2", "w3"]].rename(columns={"w3": "w 3"})
    sample = arrays(data, multinomial=["w1", "w2", "w 3"])
    assert names(sample) == ["x", "w1 + w2 + w 3"] and sample.design.features[1].xnames == ("w1", "w2", "w 3")
    np.testing.assert_array_equal(sample.values[1], data[["w1", "w2", "w 3"]])
    assert names(arrays(table()[["w1", "w2"]].to_numpy(), multinomial=["x1", "x2"])) == ["x1 + x2"]
    with pytest.raises(DataError, match='multinomial= names "w4", which is no column'):
        arrays(data, multinomial=["w1", "w4"])


def test_arrays_that_make_no_sense():
    X = table()[["x", "z"]].to_numpy()
    with pytest.raises(DataError, match="exog is None"):
        arrays(None, [1, 2])
    with pytest.raises(DataError, match="endog has 5 rows and exog 60"):
        arrays(X, np.arange(5))
    with pytest.raises(DataError, match="occur more than once"):
        arrays(pd.DataFrame(X, columns=["x", "x"]))
    with pytest.raises(DataError, match="at least one row and one column"):
        arrays(X[:, :0], table()["y"])
    with pytest.raises(DataError, match="not numbers: use from_formula"):
        arrays(table()[["g"]].to_numpy(dtype=object))
    with pytest.raises(DataError, match='"x2" is infinite in 1 of 60 rows'):
        arrays(np.where(X == X[3, 1], np.inf, X))
    with pytest.raises(DataError, match="indices for endog and exog are not aligned"):
        arrays(pd.DataFrame(X), table()["y"].set_axis(np.arange(60) + 1))
    with pytest.raises(DataError, match='weights="w" names a column'):
        arrays(X, extras={"weights": "w"})
    with pytest.raises(DataError, match="every column has one level"):
        arrays(pd.DataFrame({"g": ["a"] * 60}))


def test_one_column_and_other_shapes():
    assert names(arrays(table()["x"])) == ["x"]
    assert names(arrays(table()["g"])) == ["g"]
    assert names(arrays(table()["x"].to_numpy())) == ["x1"]
    masked = np.ma.masked_less(table()[["x"]].to_numpy(), -1)
    np.testing.assert_array_equal(np.isnan(arrays(masked).values[0]), table()["x"] < -1)
    assert arrays(table()[["x"]].to_numpy(np.float32)).values[0].dtype == np.float32


# -------------------------------------------------------------------------------------------------------- new data
RIGHT = "x + bs(z, df=4) + g:h + C(k) + b + i + o + standardize(x**2)"


def test_the_training_rows_come_back():
    sample = read(RIGHT, multinomial=["w1", "w2"], families={"i": "bernoulli"})
    for before, after in zip(sample.values, sample.design.values(table())):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype


def test_missing_variables_and_single_rows():
    d = read("x + g + b + g2:h", table().assign(g2=table()["g"]), multinomial=["w1", "w2"]).design
    found = d.values(
        {
            "x": [np.nan, 1],
            "g": ["b", None],
            "b": [None, True],
            "g2": ["a", "a"],
            "h": ["v", None],
            "w1": [1, 2],
            "w2": [np.nan, 3],
        }
    )
    np.testing.assert_array_equal(found[0], [np.nan, 1])
    np.testing.assert_array_equal(found[1], [1, -1])
    np.testing.assert_array_equal(found[2], [np.nan, 1])
    np.testing.assert_array_equal(found[3], [1, -1])
    np.testing.assert_array_equal(found[4][1], [2, 3])
    assert np.isnan(found[4][0]).any()
    row = read("x + g").design.values(pd.Series({"x": 1.0, "g": "c", "other": 3}))
    assert row[0].tolist() == [1.0] and row[1].tolist() == [2]
    nothing = read("x + g + g:h").design.values(table().iloc[:0])
    assert [len(v) for v in nothing] == [0, 0]
    every = read("x + g").design.values({"x": [np.nan], "g": [None]})
    assert np.isnan(every[0]).all() and every[1].tolist() == [-1]


@pytest.mark.parametrize(
    "right, column", [("g", "g"), ("g:h", "g"), ("C(k)", "k"), ("o", "o"), ("C(g, levels=['a', 'b', 'c'])", "g")]
)
def test_a_level_that_training_did_not_have(right, column):
    d = read(right).design
    new = table().iloc[:3].astype({column: object})
    new.loc[1, column] = 9 if column == "k" else "q"
    shown = "9" if column == "k" else '"q"'
    with pytest.raises(UnseenLevelError, match=rf"{column}.*{shown}"):
        d.values(new)
    training = read(right).values[0]
    found = d.values(new, unknown="missing")[0]
    assert found.tolist() == [training[0], -1, training[2]]
    with pytest.raises(ValueError, match='unknown=\'drop\': choose "raise" or "missing"'):
        d.values(new, unknown="drop")


def test_an_unseen_level_is_not_the_level_for_missing_values():
    d = read("g", holed(), missing="level").design
    assert d.values({"g": ["q", None]}, unknown="missing")[0].tolist() == [-1, 3]


def test_the_error_names_the_known_levels():
    with pytest.raises(
        UnseenLevelError, match='"g" has level "q", which the model does not know; it knows "a", "b", "c"'
    ):
        read("g").design.values({"g": ["q"]})


def test_codes_of_declared_levels_without_rows():
    """-2, -3, ... in the order of the levels, and -1 where a level that nobody knows is missing by option."""
    data = table().assign(s=pd.Categorical(["c", "a"] * 30, categories=list("abcd")))
    sample = read("s + g", data)
    for d in (sample.design, through_json(sample.design)):
        assert d.values({"s": ["a", "b", "c", "d", None], "g": "a"})[0].tolist() == [0, -2, 1, -3, -1]
        assert d.values({"s": ["a", "b", "z"], "g": "a"}, unknown="missing")[0].tolist() == [0, -1, -1]
    joint = read("s:g", data).design.values({"s": ["b", "b", None], "g": ["a", None, "a"]})
    assert joint[0].tolist() == [-2, -1, -1]


def test_new_data_of_another_kind():
    d = read("x + g").design
    with pytest.raises(DataError, match='no column "g"'):
        d.values({"x": [1.0]})
    with pytest.raises(DataError, match='"x" of the new data holds labels'):
        d.values({"x": ["one"], "g": ["a"]})
    for rows in ([[1.0, 2.0]], np.ones((1, 2)), (1.0, 2.0)):
        with pytest.raises(DataError, match=f'a table with the columns "x", "g"; found {type(rows).__name__}'):
            d.values(rows)
    np.testing.assert_array_equal(read("b").design.values({"b": [1, 0]})[0], [1.0, 0.0])
    np.testing.assert_array_equal(read("i").design.values({"i": [True, False]})[0], [1.0, 0.0])
    np.testing.assert_array_equal(read("x").design.values({"x": [3]})[0], [3.0])


def test_new_data_for_arrays():
    X = table()[["x", "z"]].to_numpy()
    d = arrays(X).design
    for rows in (X[:2], X[:2].tolist(), pd.DataFrame(X[:2]), {"x2": X[:2, 1], "x1": X[:2, 0]}):
        np.testing.assert_array_equal(np.column_stack(d.values(rows)), X[:2])
    np.testing.assert_array_equal(np.column_stack(d.values(X[0])), X[:1])
    np.testing.assert_array_equal(np.column_stack(d.values(pd.Series({"x2": 2.0, "x1": 1.0}))), [[1, 2]])
    np.testing.assert_array_equal(np.column_stack(d.values([np.nan, 1])), [[np.nan, 1]])
    with pytest.raises(DataError, match="the model has 2 columns"):
        d.values(np.ones((4, 3)))
    with pytest.raises(DataError, match='no column "x2"'):
        d.values({"x1": [1.0]})
    labels = arrays(table()[["g", "x"]].assign(one=1.0)).design
    for rows in ([["b", 1.5]], [["b", 1.5, 1.0]], {"x": [1.5], "g": ["b"]}, ["b", 1.5]):
        found = labels.values(rows)
        assert found[0].tolist() == [1] and found[1].tolist() == [1.5]
    with pytest.raises(DataError, match="the model has 2 columns"):
        labels.values([["b"]])
    np.testing.assert_array_equal(arrays(table()["x"]).design.values([1.0, 2.0])[0], [1.0, 2.0])


# --------------------------------------------------------------------------------------------------------- storage
def through_json(d, functions=None):
    return codec.decode(json.loads(json.dumps(codec.encode(d), allow_nan=False)), functions)


def stored_designs():
    yield read(RIGHT, multinomial=["w1", "w2"], families={"z": "gamma"}).design, table()
    yield read("g + C(o, Treatment('hi')) + b:h", holed(), missing="level").design, holed()
    yield read("standardize(x) + I(x > cut)", holed(), namespace={"cut": 0.25}, pooled=True).design, holed()
    yield arrays(table()[["x", "g", "odd name", "b"]].assign(one=2.0)).design, table()
    yield arrays(table()[["x", "z"]].assign(one=2.0)).design, table()
    yield read("x + g:h + C(i, levels=[2, 1, 0])", without("b", "u")).design, without("b", "u")


@pytest.mark.parametrize("number", range(6))
def test_every_bit_comes_back_from_json_and_pickle(number):
    before, data = list(stored_designs())[number]
    for after in (through_json(before), pickle.loads(pickle.dumps(before)), copy.deepcopy(before)):
        assert isinstance(after, FeatureDesign)
        for name in (
            "features",
            "formula",
            "endog_name",
            "missing",
            "dropped",
            "xnames",
            "terms",
            "variables",
            "levels",
        ):
            assert getattr(after, name) == getattr(before, name)
        for a, b in zip(after.values(data), before.values(data)):
            np.testing.assert_array_equal(a, b)
    assert codec.encode(through_json(before)) == codec.encode(before)


def test_a_file_holds_no_training_row():
    text = json.dumps(codec.encode(read(RIGHT).design))
    assert len(text) < 20_000 and repr(float(table()["x"][17])) not in text
    assert len(pickle.dumps(read(RIGHT).design)) < 20_000


def test_a_file_runs_nothing_off_the_closed_list():
    d = read("x.clip(0, 1)").design
    with pytest.raises(FormulaError, match="cannot be stored in a file"):
        codec.encode(d)
    stored = codec.encode(read("np.log(z)").design)
    text = json.dumps(stored).replace("np.log(z)", "np.load(z)")
    with pytest.raises(FormulaError, match="np.load"):
        codec.decode(json.loads(text))
    with pytest.raises(DataError, match="not a stored design"):
        codec.decode({"version": 1, "kind": "features"})


def cube(v):
    return v**3


def test_functions_of_the_caller_are_supplied_again():
    d = read("cube(x)", namespace={"cube": cube}).design
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).values(table())[0], table()["x"] ** 3)
    with pytest.raises(FormulaError, match="cube"):
        through_json(d)
    np.testing.assert_array_equal(through_json(d, {"cube": cube}).values(table())[0], table()["x"] ** 3)
