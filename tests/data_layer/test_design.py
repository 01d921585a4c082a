"""Designs from formulas and arrays against patsy's own matrices, and every way input can be wrong."""

import copy
import pickle

import numpy as np
import pandas as pd
import patsy
import pytest

import glmclf
from glmclf.core.design import factor
from glmclf.core.design.factor import FactorColumns, expand
from glmclf.data.design import design as design_module
from glmclf.data.formula.parse import parse_formula
from glmclf.data.reading import arrays as arrays_module
from glmclf.data.reading import read as read_module
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.reading.read import read_formula
from glmclf.errors import DataError, FormulaError, MissingDataError, UnseenLevelError


def left(names, values):
    return names, values


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n),
            "z": rng.uniform(0.5, 3, size=n),
            "k": rng.integers(1, 4, n),
            "b": rng.integers(0, 2, n).astype(bool),
            "g": np.array(["a", "b", "c"])[np.arange(n) % 3],
            "h": np.array(["u", "v"])[(np.arange(n) // 3) % 2],
            "o": pd.Categorical(
                np.array(["lo", "mid", "hi"])[(np.arange(n) // 6) % 3], ["lo", "mid", "hi"], ordered=True
            ),
            "odd name": rng.normal(size=n),
        }
    )


def read(formula, data, **keywords):
    return read_formula(formula, data, response=left, **keywords)


def matrix(sample):
    return expand(sample.pieces, len(sample.rows)) if sample.X is None else sample.X


FORMULAS = """
1
x
x + z
0 + x
x - 1
g
0 + g
g + h
0 + g + h
g*h
g:h
0 + g:h
g + g:h
g/h
h/g/o
x:g
x*g
0 + x:g
g + x:g
g*h*x
x:z
x*z*g
(x + g + h)**2
b
0 + b
b*x
b:g
C(k)
C(k)*x
C(k, Treatment(2))
C(g, Treatment("b"))
C(g, Sum)
C(g, Sum)*C(h, Helmert)
C(o, Poly)
C(g, Diff) + x
C(g, levels=["c", "a", "b"])
C(g, np.array([[1.0], [0.5], [-2.0]]))
0 + C(g, Poly):x
o
o*g
bs(x, df=4)
bs(x, df=5, degree=2)*g
cr(z, df=4)
cc(z, df=4)
te(cr(x, df=3), cr(z, df=3))
te(cr(x, df=3), cr(z, df=3), constraints="center")
center(x) + standardize(z)
scale(x, ddof=1):g
center(np.log(z))
standardize(center(x))
I(x**2) + x
I(x > 0)
np.log(z) + np.exp(x)
Q("odd name")
np.sqrt(Q("odd name")**2):g
np.where(g == "a", x, z)
np.column_stack([x, z])
np.column_stack([x, z]):g
bs(x, df=4):bs(z, df=4)
x:np.column_stack([x, z]):C(g, Sum):h
""".strip().splitlines()


@pytest.mark.parametrize("right", FORMULAS)
def test_the_design_is_patsys(right):
    data = table()
    ours = read(f"y ~ {right}", data)
    theirs = patsy.dmatrix(right, data)
    assert ours.design.xnames == theirs.design_info.column_names
    assert ours.design.terms == dict(theirs.design_info.term_name_slices)
    np.testing.assert_allclose(matrix(ours), np.asarray(theirs), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("right", FORMULAS)
def test_new_data_use_what_the_training_rows_fixed(right):
    data = table()
    ours = read(f"y ~ {right}", data)
    theirs = patsy.dmatrix(right, data)
    inside = (data["x"] > data["x"].min()) & (data["z"].between(*data["z"].quantile([0.05, 0.95])))
    new = data[inside].iloc[::-2]
    expected = np.asarray(patsy.build_design_matrices([theirs.design_info], new)[0])
    if len(expected) == 1:  # patsy's intercept-only matrix has one row
        expected = np.repeat(expected, len(new), axis=0)
    found = ours.design.matrix(new)
    assert found.flags.f_contiguous and found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(ours.design.matrix(data), matrix(ours))


CODED = """
C(g, Treatment(reference="c"))
C(g, Treatment("b")):h - 1
C(g, Treatment)*x - 1
C(k, Treatment(3)):x
C(k, Sum) - 1
C(k, Sum(2))*b
C(g, Sum("a")):C(o, Poly)
C(o, Poly)*C(g, Sum)*h
C(o, Poly(scores=[1, 2, 4]))
C(o, Poly):x - 1
C(o, Helmert) + 0
C(g, Helmert):C(h, Sum)
C(g, Diff)*C(o, Helmert)
C(k, Diff):x + k
C(g, Sum):x:z
h*C(k)*b
h:C(k):b
0 + h:C(k):b
g*h - g
g*h - h - 1
g*o*x - g:o:x
g/h/b - 1
g/C(k, Sum)
h/(x + o)
(g + h + b)**3
(g + x)**2 - 1
g:h + x:g - 1
x + x:g + x:h
x:z:g - 1
0 + x + g:h
g:x + h:x - 1
b - 1
0 + b:o
C(b)*x
C(b, Sum):g
C(h == "u")
I(k == 2):g
unused
0 + unused*h
C(unused, Sum):x
reordered*b
C(reordered, Poly) - 1
numbered
numbered:x + C(numbered, Helmert)
Q("odd factor")
Q("odd factor")*Q("odd name") - 1
C(Q("odd factor"), Sum):h
C(k, levels=[3, 1, 2])*h
C(g, levels=["c", "b", "a"], contrast=Helmert)
C(text_numbers)
1 + g + 1
g + h + g
""".strip().splitlines()


def coded_table():
    data = table()
    i = np.arange(len(data))
    return data.assign(
        unused=pd.Categorical(np.array(["p", "r"])[(i // 2) % 2], ["p", "q", "r"]).remove_categories("q"),
        reordered=pd.Categorical(np.array(["s", "l", "m"])[(i // 4) % 3], ["l", "s", "m"]),
        numbered=pd.Categorical(np.array([10, 9, 2])[(i // 5) % 3], [10, 2, 9]),
        text_numbers=np.array(["10", "9", "2"])[(i // 5) % 3],
        **{"odd factor": np.array(["a b", "c[", "T."])[(i // 7) % 3]},
    )


@pytest.mark.parametrize("right", CODED)
def test_codings_are_patsys_to_the_bit(right):
    """Names, and the numbers of every form of the columns; a product of three may be rounded in another order."""
    data = coded_table()
    ours, theirs = read(f"y ~ {right}", data), patsy.dmatrix(right, data)
    assert ours.design.xnames == theirs.design_info.column_names
    assert ours.design.terms == dict(theirs.design_info.term_name_slices)
    X = np.asarray(theirs)
    rtol = 1e-15 if right.count(":") + right.count("*") > 1 else 0
    np.testing.assert_allclose(matrix(ours), X, rtol=rtol, atol=0)
    np.testing.assert_array_equal(ours.design.matrix(data), matrix(ours))
    coded, w = FactorColumns(ours.pieces, len(X)), np.linspace(0.5, 2, len(X))
    np.testing.assert_array_equal(coded.toarray(), matrix(ours))
    np.testing.assert_allclose(coded @ np.eye(X.shape[1]), X, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(coded.gram(w), (X.T * w) @ X, rtol=1e-12, atol=1e-13 * len(X))


def test_levels_without_rows_are_left_out_as_patsy_does_when_told():
    """patsy keeps them as columns of zeros, which no fit can use."""
    data = coded_table()
    data["unused"] = data["unused"].cat.add_categories(["q", "z"])
    ours = read("y ~ unused*h", data)
    theirs = patsy.dmatrix("unused*h", data.assign(unused=data["unused"].cat.remove_unused_categories()))
    assert ours.design.xnames == theirs.design_info.column_names
    np.testing.assert_array_equal(matrix(ours), np.asarray(theirs))


@pytest.mark.parametrize(
    "right", ["f5 + f20 + x", "f5*x + f20", "f5:f20 + x", "C(f20, Poly)*x", "0 + f20/f5", "f20:x + f5:z"]
)
def test_no_factor_of_a_large_table_is_expanded(right, monkeypatch):
    """From a formula to the summary and to predictions."""
    rng = np.random.default_rng(0)
    n = 21_000
    data = pd.DataFrame({"y": rng.integers(0, 2, n), "x": rng.normal(size=n), "z": rng.normal(size=n)})
    for levels in (5, 20):
        data[f"f{levels}"] = rng.choice([f"v{i:02d}" for i in range(levels)], n)
    rows = []

    def watched(pieces, n):
        rows.append(n)
        return expand(pieces, n)

    monkeypatch.setattr(factor, "expand", watched)
    res = glmclf.Logit.from_formula(f"y ~ {right}", data).fit()
    res.summary().as_text()
    res.predict()
    assert isinstance(res.model._rows.X, FactorColumns)
    assert max(rows, default=0) < 5_000
    assert res.model.exog_names == patsy.dmatrix(right, data[:2_000]).design_info.column_names


@pytest.mark.parametrize("right", ["g*x + bs(z, df=4)", "C(k)*h", "b + o"])
def test_one_row_and_no_row(right):
    data = table()
    sample = read(f"y ~ {right}", data)
    np.testing.assert_array_equal(sample.design.matrix(data.iloc[[7]]), matrix(sample)[[7]])
    np.testing.assert_array_equal(sample.design.matrix(dict(data.iloc[7])), matrix(sample)[[7]])
    assert sample.design.matrix(data.iloc[:0]).shape == (0, len(sample.design.xnames))
    nothing, X = sample.design(data)
    assert nothing is None and X.shape == (60, len(sample.design.xnames))


def test_the_left_side_never_sees_new_data():
    sample = read("y ~ x", table())
    assert sample.design.variables == ["x"]
    sample.design.matrix(pd.DataFrame({"x": [1.0]}))


# ------------------------------------------------------------------------------------------- kinds of columns
def variants(data):
    nullable = data.convert_dtypes()
    objects = data.astype(object)
    arrow = data.astype({"x": "double[pyarrow]", "k": "int64[pyarrow]", "b": "bool[pyarrow]", "g": "string[pyarrow]"})
    dictionary = data.assign(g=data["g"].astype("category"), h=data["h"].astype("string"))
    return {"nullable": nullable, "objects": objects, "arrow": arrow, "dictionary": dictionary}


@pytest.mark.parametrize("kind", ["nullable", "objects", "arrow", "dictionary"])
@pytest.mark.parametrize("right", ["x*g", "C(k) + b", "b:x + h", "bs(x, df=4) + o", "np.log(z)*h", "I(k**2)"])
def test_the_dtype_of_a_column_does_not_matter(kind, right):
    data = table()
    plain, other = read(f"y ~ {right}", data), read(f"y ~ {right}", variants(data)[kind])
    if not (kind == "objects" and "o" in right.split(" + ")):  # an ordered categorical as objects is sorted text
        assert other.design.xnames == plain.design.xnames
        np.testing.assert_array_equal(matrix(other), matrix(plain))
        np.testing.assert_array_equal(plain.design.matrix(variants(data)[kind]), matrix(plain))
    np.testing.assert_array_equal(other.design.matrix(variants(data)[kind]), matrix(other))


def test_polars_and_pyarrow_frames():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    data = table().drop(columns="o")
    plain = read("y ~ x*g + b", data)
    polars = pl.from_pandas(data)
    for frame in (polars, polars.lazy(), polars.to_arrow(), polars.with_columns(pl.col("g").cast(pl.Categorical))):
        sample = read("y ~ x*g + b", frame)
        assert sample.design.xnames == plain.design.xnames
        np.testing.assert_array_equal(matrix(sample), matrix(plain))
        np.testing.assert_array_equal(plain.design.matrix(frame), matrix(plain))


def test_mappings_and_record_arrays():
    data = table()
    plain = read("y ~ x + g", data)
    np.testing.assert_array_equal(matrix(read("y ~ x + g", {c: data[c].to_list() for c in "yxg"})), matrix(plain))
    records = data[["y", "x", "k"]].to_records(index=False)
    np.testing.assert_array_equal(matrix(read("y ~ x + k", records)), matrix(read("y ~ x + k", data)))


def test_nothing_the_user_passed_is_modified():
    data = table()
    data.loc[3, "x"] = np.nan
    before = data.copy(deep=True)
    weights = np.ones(60)
    read("y ~ x*g + center(x) + standardize(z)", data, extras={"freq_weights": weights}, subset=data["z"] > 0.7)
    pd.testing.assert_frame_equal(data, before)
    assert (weights == 1).all()


# -------------------------------------------------------------------------------------------------- missing
def with_holes(kind):
    data = table()
    data.loc[[3, 9], "x"] = np.nan
    data["g"] = data["g"].astype(object)
    data.loc[[5, 9], "g"] = None
    data.loc[11, "z"] = np.nan
    if kind == "nullable":
        data = data.convert_dtypes()
    if kind == "arrow":
        pytest.importorskip("pyarrow")
        data = data.astype({"x": "double[pyarrow]", "g": "large_string[pyarrow]"})
    if kind == "category":
        data["g"] = data["g"].astype("category")
    return data


@pytest.mark.parametrize("kind", ["object", "nullable", "arrow", "category"])
def test_rows_with_missing_values_go_and_are_counted(kind):
    data = with_holes(kind)
    sample = read("y ~ x*g", data)
    kept = [i for i in range(60) if i not in (3, 5, 9)]
    assert sample.rows.tolist() == kept and sample.rows.dtype == np.intp
    assert sample.index.tolist() == kept
    assert (sample.n_given, sample.n_dropped, sample.n_absent) == (60, 3, 0)
    assert sample.dropped == {"x": 2, "g": 2}
    reference = patsy.dmatrix("x*g", table().iloc[kept])
    np.testing.assert_allclose(matrix(sample), np.asarray(reference), rtol=1e-14)
    predicted = sample.design.matrix(data)
    assert predicted.shape == (60, 6)
    assert np.isnan(predicted[[3, 5, 9]]).all() and np.isfinite(predicted[kept]).all()


def test_nullable_integers_and_bools_keep_their_kind():
    data = table()
    data["k"] = data["k"].astype("Int64")
    data["b"] = data["b"].astype("boolean")
    data.loc[0, "k"], data.loc[1, "b"] = pd.NA, pd.NA
    sample = read("y ~ C(k) + b", data)
    assert sample.design.xnames == ["Intercept", "C(k)[T.2]", "C(k)[T.3]", "b[T.True]"]
    assert sample.rows.tolist() == list(range(2, 60))
    objects = table().astype({"b": object})
    objects.loc[4, "b"] = None
    assert read("y ~ b", objects).design.xnames == ["Intercept", "b[T.True]"]


def test_transforms_remember_the_kept_rows_only():
    data = table()
    data.loc[:9, "z"] = np.nan
    data.loc[:9, "x"] = 100.0
    sample = read("y ~ center(x) + z", data)
    np.testing.assert_allclose(matrix(sample)[:, 1], data["x"][10:] - data["x"][10:].mean(), atol=1e-14)


@pytest.mark.filterwarnings("ignore:.*has no finite value:glmclf.errors.DataWarning")
def test_a_factor_that_is_nan_by_itself_costs_the_row():
    data = table()
    for right in ("np.log(x)", "center(np.log(x))", "bs(np.log(x), df=4)", "center(np.log(x)) + standardize(z)"):
        sample = read(f"y ~ {right}", data)
        kept = np.flatnonzero(data["x"] > 0)
        assert sample.rows.tolist() == kept.tolist()
        assert sample.dropped == {right.split(" + ")[0]: 60 - len(kept)} and sample.n_dropped == 60 - len(kept)
        np.testing.assert_allclose(matrix(sample), np.asarray(patsy.dmatrix(right, data.iloc[kept])), atol=1e-12)
        assert np.isnan(sample.design.matrix(data)[data["x"] <= 0]).all()
        np.testing.assert_array_equal(sample.design.matrix(data)[kept], matrix(sample))


def test_factors_that_look_at_missing_values_keep_their_rows():
    data = table()
    data.loc[[1, 2], "x"] = np.nan
    sample = read("y ~ np.isnan(x) + np.nan_to_num(x)", data)
    assert len(sample.rows) == 60
    assert matrix(sample)[:4, 1].tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(sample.design.matrix(data), matrix(sample))
    assert len(read("y ~ x.fillna(0) + z", data).rows) == 60
    assert len(read("y ~ np.isnan(x) + x", data).rows) == 58


def test_missing_raise_none_and_the_rest():
    data = with_holes("object")
    for option in ("raise", "none"):
        with pytest.raises(MissingDataError, match=r'"x" \(2 rows\).*rows 3, 5, 9'):
            read("y ~ x*g", data, missing=option)
        read("y ~ b", data, missing=option)
    with pytest.raises(MissingDataError, match="np.log"):
        read("y ~ np.log(x - 10)", table(), missing="raise")
    with pytest.raises(NotImplementedError, match="NaiveBayes"):
        read("y ~ x", data, missing="skip")
    with pytest.raises(ValueError, match='"drop"'):
        read("y ~ x", data, missing="delete")


def test_all_rows_missing():
    data = table()
    data["x"] = np.nan
    with pytest.raises(MissingDataError, match=r'"x" \(60 rows\)'):
        read("y ~ x", data)
    with pytest.raises(MissingDataError, match="np.log"):
        read("y ~ np.log(-z)", table())


@pytest.mark.parametrize(
    "right", ["x", "I(x * 2)", "np.log(w)", "bs(x, df=4)", "center(x)", "x:g", "np.column_stack([x, z])"]
)
def test_infinite_values_are_refused(right):
    data = table()
    data.loc[[7, 8], "x"] = np.inf
    data["w"] = np.where(np.arange(60) == 7, 0.0, 1.0)
    with pytest.raises(DataError, match=r"infinite.*row"):
        read(f"y ~ {right}", data)


# ---------------------------------------------------------------------------------------------------- levels
def test_levels_without_rows_are_left_out_with_a_note():
    data = table()
    data["g"] = pd.Categorical(data["g"], ["z", "c", "b", "a"])
    sample = read("y ~ g", data)
    assert sample.design.xnames == ["Intercept", "g[T.b]", "g[T.a]"]
    assert sample.notes == ['level "z" of g has no rows and was left out']
    assert sample.design.levels == {"g": ["c", "b", "a"]}
    with pytest.raises(UnseenLevelError, match=r'"z" had no rows'):
        sample.design.matrix(pd.DataFrame({"g": ["a", "z"]}))
    lost = table()
    lost.loc[lost["g"] == "b", "x"] = np.nan
    sample = read("y ~ x + C(g)", lost)
    assert sample.design.levels == {"C(g)": ["a", "c"]}
    assert "b" in sample.notes[0]


def test_levels_given_by_hand_stay():
    sample = read('y ~ C(g, levels=["a", "b", "c", "d"])', table())
    assert len(sample.design.xnames) == 4 and not sample.notes
    with pytest.raises(DataError, match='"c"'):
        read('y ~ C(g, levels=["a", "b"])', table())


def test_unseen_levels_name_column_level_and_known_levels():
    sample = read("y ~ C(g) + k", table())
    with pytest.raises(UnseenLevelError, match=r'"C\(g\)" has levels "q", "r".*"a", "b", "c"'):
        sample.design.matrix(pd.DataFrame({"g": ["r", "a", "q"], "k": [1, 2, 3]}))
    categories = pd.Categorical(["c", None, "a"], ["z", "c", "a"])  # an unseen category without a row is no matter
    X = sample.design.matrix(pd.DataFrame({"g": categories, "k": [1, 2, 3]}))
    assert np.isnan(X[1]).all() and X[0].tolist() == [1, 0, 1, 1] and X[2].tolist() == [1, 0, 0, 3]


def test_new_values_are_matched_by_value():
    data = table()
    sample = read("y ~ C(k) + b + x", data)
    expected = sample.design.matrix(data)
    for other in (
        data.astype({"k": float, "b": int}),
        data.astype({"k": "category", "b": "category"}),
        data.astype({"k": object, "b": object, "x": object}),
        data.assign(k=pd.Categorical(data["k"], [3, 2, 1, 9])),
        data.astype({"k": "Int8", "b": "boolean", "x": "Float64"}),
    ):
        np.testing.assert_array_equal(sample.design.matrix(other), expected)
    with pytest.raises(UnseenLevelError, match=r"'?2'?"):
        sample.design.matrix(data.assign(b=2))


def test_the_wrong_kind_or_no_column_at_prediction():
    data = table()
    for right in ("x + g", "np.exp(x)", "bs(x, df=4)"):
        design = read(f"y ~ {right}", data).design
        with pytest.raises(DataError, match='"x"'):
            design.matrix(data.assign(x="text"))
        with pytest.raises(DataError, match='"x"'):
            design.matrix(data.drop(columns="x"))
    with pytest.raises(DataError):
        read("y ~ np.where(g == 'a', 1, 0)", data).design.matrix(data.assign(g=1.0))
    missing = read("y ~ x + g", data).design.matrix(data.assign(x=None))
    assert missing.shape == (60, 4) and np.isnan(missing).all()


def test_category_codes_in_an_expression_keep_their_meaning():
    data = table()
    sample = read("y ~ o.cat.codes", data)
    reordered = data.assign(o=pd.Categorical(data["o"].astype(str), ["hi", "lo", "mid"]))
    np.testing.assert_array_equal(sample.design.matrix(reordered), matrix(sample))


def test_splines_outside_the_knots_say_so():
    design = read("y ~ bs(x, df=4)", table()).design
    with pytest.raises(DataError, match=r"bs\(x, df=4\).*outside the range"):
        design.matrix(pd.DataFrame({"x": [100.0]}))


# ----------------------------------------------------------------------------------------------------- names
def test_patsys_functions_win_over_the_callers_variables():
    namespace = {"C": 3, "bs": "no", "center": None, "scale": 2.0}
    sample = read("y ~ C(g) + bs(x, df=4) + center(z)", table(), namespace=namespace)
    assert sample.design.xnames[1] == "C(g)[T.b]"


def test_columns_win_over_the_callers_variables():
    sample = read("y ~ x + cut", table().assign(cut=1.5), namespace={"x": 0, "cut": 99})
    assert (matrix(sample)[:, 2] == 1.5).all()


def test_a_column_called_like_a_function():
    data = table().assign(C=np.arange(60.0), bs=1.0, np=2.0)
    assert read("y ~ C(g)", data).design.xnames == ["Intercept", "C(g)[T.b]", "C(g)[T.c]"]
    assert read("y ~ C + bs", data).design.xnames == ["Intercept", "C", "bs"]
    assert (matrix(read("y ~ np.log(z) + np", data))[:, 2] == 2.0).all()
    np.testing.assert_array_equal(matrix(read('y ~ C(Q("C") > 30)', data))[:, 1], np.arange(60) > 30)
    with pytest.raises(FormulaError, match=r'Q\("C"\)'):
        read("y ~ C(C > 30)", data)


def test_functions_constants_and_arrays_of_the_caller():
    data = table()
    offset_of = pd.Series(np.arange(60.0)[::-1], index=np.arange(60)[::-1])
    namespace = {"f": lambda v: v**2, "cut": 0.5, "w": np.arange(60.0), "s": offset_of, "knots": np.array([0.0, 0.5])}
    sample = read("y ~ f(x) + I(x > cut) + w + s + bs(x, knots=knots)", data, namespace=namespace)
    X = pd.DataFrame(matrix(sample), columns=sample.design.xnames)
    np.testing.assert_array_equal(X["f(x)"], data["x"] ** 2)
    np.testing.assert_array_equal(X["I(x > cut)[T.True]"], data["x"] > 0.5)
    np.testing.assert_array_equal(X["w"], np.arange(60.0))
    np.testing.assert_array_equal(X["s"], np.arange(60.0))
    assert sample.design.variables == ["x", "w", "s"] or set(sample.design.variables) == {"x", "w", "s"}
    assert "w" in sample.frame and "w" not in data
    cut = read("y ~ w", data, namespace=namespace, subset=data["x"] > 0)
    np.testing.assert_array_equal(matrix(cut)[:, 1], np.flatnonzero(data["x"] > 0))


@pytest.mark.parametrize(
    "formula, message",
    [
        ("y ~ x + zz", r"no column or variable \"zz\".*Did you mean 'z'"),
        ("y ~ X", r"Did you mean 'x'"),
        ("yy ~ x", r"\"yy\".*'y'"),
        ("y ~ log(z)", r"np\.log"),
        ("y ~ factor(g)", r"C\("),
        ("y ~ offset(z)", "offset="),
        ("y ~ foo(z)", r"no function \"foo\""),
        ("y ~ x(2)", "not a function"),
        ("y ~ Q('nope')", "nope"),
        ("y ~ Q(x)", "quotes"),
        ("y ~ x^2", r"\^"),
        ("y ~ (x", "cannot be read"),
        ("y ~ x +", "cannot be read"),
        ("y ~", "regressors"),
        ("~ x", "response"),
        ("x", "response"),
        ("", "response"),
        ("y ~ 0", "no regressors"),
        ("y ~ x - x - 1", "no regressors"),
        ("y:x ~ z", "interaction"),
        ("1 ~ x", "no response"),
        ("y ~ x + C(g, Treatment('nope'))*h", r"C\(g.*nope.*\"a\", \"b\", \"c\""),
        ("y ~ C(g, np.eye(2))", r"C\(g.*levels"),
        ("y ~ C(g, 'nope')", r"C\(g"),
        ("y ~ I([v for v in x])", "not currently supported"),
    ],
)
def test_formulas_that_cannot_be_read(formula, message):
    with pytest.raises(FormulaError, match=message):
        read(formula, table())


@pytest.mark.parametrize("formula", [None, 3, ["y", "x"]])
def test_a_formula_is_text(formula):
    with pytest.raises(FormulaError, match="text"):
        read(formula, table())


@pytest.mark.parametrize(
    "right, message",
    [
        ("I(3)", "single value"),
        ("np.array([1.0, 2.0])", "2 values"),
        ("x.missing_method()", "AttributeError"),
        ("g + 1 + I(g + 1)", "cannot be evaluated"),
        ("np.log(g)", "cannot be evaluated"),
        ("d", "datetime"),
        ("I(x * 1j)", "complex"),
    ],
)
def test_factors_that_make_no_column(right, message):
    data = table().assign(d=pd.Timestamp("2020-01-01"))
    with pytest.raises(DataError, match=message):
        read(f"y ~ {right}", data)


def test_dates_work_inside_an_expression():
    data = table().assign(d=pd.date_range("2020-01-30", periods=60))
    data.loc[2, "d"] = pd.NaT
    sample = read("y ~ d.dt.month", data)
    assert len(sample.rows) == 59 and set(matrix(sample)[:, 1]) == {1.0, 2.0, 3.0}
    assert np.isnan(sample.design.matrix(data)[2]).all()


def test_string_methods_see_text():
    sample = read("y ~ g.str.upper() + I(g + h)", table())
    assert sample.design.levels["g.str.upper()"] == ["A", "B", "C"]
    assert sample.design.levels["I(g + h)"] == ["au", "av", "bu", "bv", "cu", "cv"]
    np.testing.assert_array_equal(sample.design.matrix(table()), matrix(sample))


def test_mixed_labels_and_nested_values():
    data = table(6)
    with pytest.raises(DataError, match=r'"m" mixes values of types int, str'):
        read("y ~ m", data.assign(m=["a", 1, "b", 2, "c", 3]))
    with pytest.raises(DataError, match='"m".*nested'):
        read("y ~ m", data.assign(m=[[1], [2], [3], [4], [5], [6]]))


# ------------------------------------------------------------------------------------------------- constants
@pytest.mark.parametrize(
    "right, expected",
    [("x", 1), ("0 + x", 0), ("0 + g", 1), ("0 + x + g", 1), ("0 + g:h", 1), ("0 + b", 1), ("0 + x:g", 0)]
    + [("0 + C(g, Sum)", 1), ("1", 1), ("0 + bs(x, df=4)", 0), ("0 + o:x + h", 1)],
)
def test_k_constant_from_codings(right, expected):
    assert read(f"y ~ {right}", table()).design.k_constant == expected


# --------------------------------------------------------------------------------------- subset and extras
def test_subset_by_mask_series_and_query():
    data = table().sample(frac=1, random_state=1)
    mask = (data["x"] > 0).to_numpy()
    expected = data.index[mask].tolist()
    shuffled = pd.Series(mask, index=data.index).sort_index()
    for subset in (mask, mask.tolist(), pd.Series(mask, index=data.index), shuffled, "x > 0", "x > @low"):
        sample = read("y ~ z + g", data, subset=subset, namespace={"low": 0})
        assert sample.index.tolist() == expected and sample.n_given == len(expected)
        assert sample.frame.index.tolist() == expected
        np.testing.assert_array_equal(matrix(sample)[:, -1], data["z"][mask])
    repeated = pd.concat([data, data])
    assert len(read("y ~ z", repeated, subset="x > 0").rows) == 2 * mask.sum()


@pytest.mark.parametrize(
    "subset, error",
    [
        ([1, 2, 3], DataError),
        (np.arange(60), TypeError),
        (5, TypeError),
        ("nope > 3", DataError),
        ("x +", DataError),
        (pd.Series([True] * 59 + [None], dtype="boolean"), DataError),
        (np.zeros(60, dtype=bool), DataError),
    ],
)
def test_bad_subsets(subset, error):
    with pytest.raises(error, match="subset"):
        read("y ~ x", table(), subset=subset)


def test_extras_follow_the_rows():
    data = table().sample(frac=1, random_state=2)
    data.loc[5, "x"] = np.nan
    data["w"] = np.arange(60) % 4
    data["e"] = np.linspace(0, 1, 60)
    data.iloc[10, data.columns.get_loc("e")] = np.nan
    series = data["e"].sort_index()
    for offset in ("e", data["e"].to_numpy(), series, data["e"].tolist()):
        sample = read("y ~ x", data, extras={"offset": offset, "freq_weights": "w", "weights": None}, subset="z > 1")
        kept = data[(data["z"] > 1) & (data["w"] > 0) & data["x"].notna() & data["e"].notna()]
        assert sample.index.tolist() == kept.index.tolist()
        np.testing.assert_array_equal(sample.extras["offset"], kept["e"])
        np.testing.assert_array_equal(sample.extras["freq_weights"], kept["w"])
        cut = data[data["z"] > 1]
        assert sample.n_absent == (cut["w"] == 0).sum()
        assert sample.n_dropped == len(cut) - sample.n_absent - len(kept)
    assert set(sample.extras) == {"offset", "freq_weights"}


def test_a_row_of_weight_zero_is_absent_even_if_it_is_not_complete():
    data = table()
    data["w"] = 1
    data.loc[[0, 1], "w"] = 0
    data.loc[0, "x"] = np.nan
    sample = read("y ~ x", data, extras={"freq_weights": "w"}, missing="raise")
    assert (sample.n_absent, sample.n_dropped, sample.dropped) == (2, 0, {})
    only = data.assign(g=np.where(data["w"] == 0, "q", data["g"]))
    assert read("y ~ g", only, extras={"freq_weights": "w"}).design.levels == {"g": ["a", "b", "c"]}


@pytest.mark.parametrize(
    "extras, message",
    [
        ({"weights": -np.ones(60)}, r"weights has negative values in 60 of 60 rows"),
        ({"freq_weights": "half"}, r'freq_weights="half".*weights='),
        ({"weights": "g"}, r'weights="g" must be numbers'),
        ({"offset": "nope"}, r'offset="nope": no such column'),
        ({"offset": "xx"}, r"Did you mean 'x'"),
        ({"offset": np.ones(59)}, r"59 values.*60 rows"),
        ({"offset": np.full(60, np.inf)}, r"offset has infinite"),
        ({"weights": np.full(60, np.inf)}, r"weights has infinite"),
        ({"weights": np.zeros(60)}, r"weight 0"),
        ({"weights": np.ones(60), "freq_weights": np.ones(60)}, r"both"),
        ({"offset": pd.Series(1.0, index=range(1, 61))}, r"no value for 1 of the table's 60 index labels"),
        ({"offset": pd.Series(1.0, index=[0, *range(59)])}, r"repeats index labels"),
        ({"weights": np.ones((60, 2))}, r"shape"),
        ({"offset": 1.0}, r"one value a row"),
    ],
)
def test_bad_extras(extras, message):
    with pytest.raises(DataError, match=message):
        read("y ~ x", table().assign(half=0.5), extras=extras)


def test_an_array_beside_the_table_has_the_tables_length():
    with pytest.raises(DataError, match="before subset"):
        read("y ~ x", table(), extras={"offset": np.ones(10)}, subset=np.arange(60) < 10)


def test_counts_on_the_left_side():
    data = pd.DataFrame({"a": [3, 0, 2, 0], "b": [1, 4, 2, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    sample = read("a + b ~ x", data)
    names, values = sample.response
    assert names == ["a", "b"] and [v.tolist() for v in values] == [[3, 0, 2], [1, 4, 2]]
    assert sample.n_absent == 1 and sample.notes == ["1 row with no trials left out"]
    assert sample.design.endog_name == "a + b"
    with pytest.raises(DataError, match='"g" on the left side'):
        read("a + g ~ x", data.assign(g="u"))


def test_missing_values_under_one_name_in_two_places():
    data = table().assign(weights=1.0)
    data.loc[3, "weights"] = np.nan
    w = np.ones(60)
    w[5] = np.nan
    sample = read("y ~ x + weights", data, extras={"weights": w})
    assert sample.rows.tolist() == [i for i in range(60) if i not in (3, 5)] and sample.dropped == {"weights": 2}
    y = pd.Series(np.arange(60) % 2.0, name="x")
    y[7] = np.nan
    arrays = read_arrays(y, data[["x", "weights"]], response=left, extras={"weights": w})
    assert sorted(set(range(60)) - set(arrays.rows)) == [3, 5, 7]


def test_levels_named_on_the_left_side_keep_their_order():
    names, values = read('C(h, levels=["v", "u"]) ~ x', table()).response
    assert list(values[0].categories) == ["v", "u"]


def test_a_note_of_the_response_reaches_the_sample():
    class Noted:
        notes = ["a note"]

    assert read_formula("y ~ x", table(), response=lambda names, values: Noted()).notes == ["a note"]
    assert read_arrays([0, 1], [1.0, 2.0], response=lambda names, values: Noted()).notes == ["a note"]


def test_a_series_of_another_table_is_a_constant_where_a_method_is_called():
    other = pd.Series([1.0, 3.0], index=[7, 8])
    sample = read("y ~ I(x - other.mean())", table(), namespace={"other": other})
    np.testing.assert_array_equal(matrix(sample)[:, 1], table()["x"] - 2)
    listed = read("y ~ w", table(), namespace={"w": list(range(60))})
    np.testing.assert_array_equal(matrix(listed)[:, 1], np.arange(60))
    with pytest.raises(DataError, match="other: the Series has no value"):
        read("y ~ other", table(), namespace={"other": other})


def test_copies_of_a_design_need_no_pickle():
    design = read("y ~ f(x)", table(), namespace={"f": lambda v: v}).design
    assert copy.deepcopy(design) is design and copy.copy(design) is design


def test_levels_given_by_hand_and_new_data():
    design = read('y ~ C(g, levels=["c", "b", "a"])', table()).design
    with pytest.raises(UnseenLevelError, match='"q"'):
        design.matrix({"g": "q"})


def test_quoted_names_inside_transforms():
    data = table()
    sample = read('y ~ center(Q("odd name"))', data)
    np.testing.assert_allclose(matrix(sample)[:, 1], data["odd name"] - data["odd name"].mean(), atol=1e-14)
    np.testing.assert_array_equal(sample.design.matrix(data), matrix(sample))


def test_left_sides_are_expressions_too():
    data = table()
    for code in ("I(x > 0)", "np.where(x > 0, 1, 0)", "C(g)", "g"):
        names, values = read(f"{code} ~ z", data).response
        assert names == [parse_formula(f"{code} ~ z").left[0]] and len(values[0]) == 60
    data.loc[4, "y"] = np.nan
    assert read("y ~ z", data).dropped == {"y": 1}


def test_repeated_index_labels_do_no_harm():
    data = table()
    data.index = [0] * 60
    data.loc[data["x"] < 0, "x"] = np.nan
    sample = read("y ~ x + g", data)
    np.testing.assert_array_equal(sample.rows, np.flatnonzero(data["x"].notna()))


def test_duplicate_columns_and_bad_tables():
    data = table()
    with pytest.raises(DataError, match='"x"'):
        read("y ~ x", pd.concat([data, data[["x"]]], axis=1))
    with pytest.raises(DataError, match="no rows"):
        read("y ~ x", data.iloc[:0])
    for bad in (None, 3, [1, 2], np.ones((3, 2)), data["x"], {"y": [0, 1], "x": [1]}):
        with pytest.raises(DataError):
            read("y ~ x", bad)
    for later in ("table.csv", lambda: data):
        with pytest.raises(NotImplementedError, match="file or stream"):
            read("y ~ x", later)
    same = pd.Categorical(np.arange(60) % 3).rename_categories({0: 0, 1: 1, 2: "1"})
    with pytest.raises(DataError, match="more than once"):
        read("y ~ m", data.assign(m=same))


def test_restricted_formulas():
    data = table()
    for right in FORMULAS:
        if "np.array(" not in right and "column_stack" not in right:
            read(f"y ~ {right}", data, restricted=True)
    for right in ("np.load('x')", "x.rank()", "f(x)", "__import__('os').getcwd()", "abs(x)", "(lambda: x)()", "number"):
        with pytest.raises(FormulaError):
            read(f"y ~ {right}", data, restricted=True, namespace={"g": abs, "number": 3.0})
    supplied = read("y ~ f(x)", data, restricted=True, namespace={"f": abs})
    np.testing.assert_array_equal(matrix(supplied)[:, 1], abs(data["x"]))


def test_pickle():
    sample = read("y ~ bs(x, df=4)*g + C(k, Sum) + np.log(z)", table())
    again = pickle.loads(pickle.dumps(sample.design))
    np.testing.assert_array_equal(again.matrix(table()), matrix(sample))
    assert again.xnames == sample.design.xnames and again.levels == sample.design.levels


def shifted(x):
    return x + 1


def test_pickle_takes_functions_by_reference():
    namespace = {"shifted": pd.to_numeric, "local": lambda x: x, "pd": pd, "cut": np.array([0.25])}
    good = read("y ~ shifted(x) + pd.to_numeric(z) + bs(x, knots=cut)", table(), namespace=namespace).design
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(good)).matrix(table()), good.matrix(table()))
    bad = read("y ~ local(x)", table(), namespace=namespace).design
    with pytest.raises(FormulaError, match="local"):
        pickle.dumps(bad)


# ----------------------------------------------------------------------------------------------------- arrays
def arrays(n=20, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, n), np.column_stack([np.ones(n), rng.normal(size=(n, 2))])


def test_arrays_are_not_copied_and_keep_float32():
    y, X = arrays()
    for exog in (X, np.asfortranarray(X), X.astype(np.float32)):
        sample = read_arrays(y, exog, response=left)
        assert sample.X is exog or np.shares_memory(sample.X, exog)
        assert sample.X.dtype == exog.dtype and sample.pieces is None
        assert sample.design.xnames == ["const", "x1", "x2"] and sample.design.k_constant == 1
        assert sample.response[0] == ["y"] and sample.design.endog_name == "y"
    assert read_arrays(y, X[:, 1:].round().astype(int), response=left).X.dtype == np.float64


def test_names_are_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    y, X = arrays()
    for exog in (X, X[:, ::-1], X[:, 1:], X[:, 1], X[:, [1]]):
        theirs = sm.Logit(y, exog)
        ours = read_arrays(y, exog, response=left)
        assert ours.design.xnames == theirs.exog_names and ours.design.endog_name == theirs.endog_names
    frame = pd.DataFrame(X, columns=["one", "a", "b"])
    assert read_arrays(pd.Series(y, name="out"), frame, response=left).design.xnames == ["one", "a", "b"]
    assert read_arrays(pd.Series(y, name="out"), frame["a"], response=left).design.xnames == ["a"]
    assert read_arrays(pd.Series(y, name="out"), frame, response=left).design.endog_name == "out"


def test_tables_of_nullable_and_arrow_columns_are_arrays_too():
    pytest.importorskip("pyarrow")
    y, X = arrays()
    frame = pd.DataFrame(X, columns=["c", "a", "b"])
    frame["d"] = X[:, 1] > 0
    expected = np.column_stack([X, X[:, 1] > 0])
    for other in (frame, frame.astype({"a": "Float64", "d": "boolean"}), frame.astype({"b": "double[pyarrow]"})):
        np.testing.assert_array_equal(read_arrays(y, other, response=left).X, expected)
    with pytest.raises(DataError, match=r'"a" of exog.*from_formula'):
        read_arrays(y, frame.assign(a="text"), response=left)


def test_missing_rows_of_arrays_go_together():
    y, X = arrays()
    y = y.astype(float)
    X = X.copy()
    y[0], X[1, 1], X[2, 2] = np.nan, np.nan, np.nan
    w = np.ones(20)
    w[3], w[4] = 0, np.nan
    sample = read_arrays(y, X, response=left, extras={"weights": w})
    assert sample.rows.tolist() == list(range(5, 20))
    assert (sample.n_given, sample.n_dropped, sample.n_absent) == (20, 4, 1)
    assert sample.dropped == {"weights": 1, "y": 1, "x1": 1, "x2": 1}
    np.testing.assert_array_equal(sample.X, X[5:])
    assert np.isnan(X[1, 1])
    for option in ("raise", "none"):
        with pytest.raises(MissingDataError, match="x1"):
            read_arrays(y, X, response=left, missing=option)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda y, X: (y[:-1], X), "19 rows and exog 20"),
        (lambda y, X: (y, np.where(X == X[3, 1], np.inf, X)), '"x1" is infinite'),
        (lambda y, X: (y, X.astype(complex)), "complex"),
        (lambda y, X: (y, X.astype(str)), "from_formula"),
        (lambda y, X: (y, np.ones((20, 2, 2))), "shape"),
        (lambda y, X: (y, np.ones((20, 0))), "at least one"),
        (lambda y, X: (y, None), "None"),
        (lambda y, X: (pd.Series(y, index=range(1, 21)), pd.DataFrame(X)), "not aligned"),
        (lambda y, X: (y, pd.DataFrame(X, columns=["a", "b", "b"])), "more than once"),
    ],
)
def test_bad_arrays(change, message):
    with pytest.raises(DataError, match=message):
        read_arrays(*change(*arrays()), response=left)


def test_column_names_mean_nothing_beside_arrays():
    with pytest.raises(DataError, match="pass the values"):
        read_arrays(*arrays(), response=left, extras={"offset": "x1"})


def test_sparse_arrays():
    import scipy.sparse

    y, X = arrays()
    plain = read_arrays(y, X, response=left)
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
        sample = read_arrays(y, form(X), response=left)
        assert isinstance(sample.X, scipy.sparse.csr_array)
        np.testing.assert_array_equal(sample.X.toarray(), plain.X)
        assert sample.design == plain.design
    with pytest.raises(NotImplementedError, match="scipy.sparse"):
        read_arrays(y, scipy.sparse.csr_array(X), response=left, drop_constant=True)


def test_new_arrays():
    y, X = arrays()
    design = read_arrays(y, pd.DataFrame(X, columns=["one", "a", "b"]), response=left).design
    shuffled = pd.DataFrame(X[:, ::-1], columns=["b", "a", "one"]).assign(more="text")
    for new in (shuffled, X, X.tolist(), pd.DataFrame(X)):
        np.testing.assert_array_equal(design.matrix(new), X)
    for new in (X[3], X[3].tolist(), {"b": X[3, 2], "a": X[3, 1], "one": 1}, shuffled.iloc[3]):
        np.testing.assert_array_equal(design.matrix(new), X[[3]])
    one = read_arrays(y, X[:, 1], response=left).design
    np.testing.assert_array_equal(one.matrix(X[:5, 1]), X[:5, [1]])
    hole = X.copy()
    hole[2, 1] = np.nan
    assert np.isnan(design.matrix(hole)[2]).all() and np.isnan(hole[2]).sum() == 1
    for bad in (X[:, :2], np.ones(4), pd.DataFrame({"one": [1], "a": [2]})):
        with pytest.raises(DataError):
            design.matrix(bad)


@pytest.mark.parametrize("n", [50, 5000])
def test_a_constant_in_the_span_of_arrays(n):
    rng = np.random.default_rng(0)
    dummies = np.eye(3)[rng.integers(0, 3, n)]
    x = rng.normal(size=(n, 2))
    assert read_arrays(np.arange(n) % 2, np.hstack([dummies, x]), response=left).design.k_constant == 1
    assert read_arrays(np.arange(n) % 2, np.hstack([dummies[:, :2], x]), response=left).design.k_constant == 0
    almost = np.hstack([dummies, 1e8 * x])
    almost[n // 2, :3] = 0
    assert read_arrays(np.arange(n) % 2, almost, response=left).design.k_constant == 0


def test_numbers_that_a_stray_word_made_text():
    rng = np.random.default_rng(5)
    d = pd.DataFrame({"x": rng.normal(size=90).astype(str), "y": rng.integers(0, 2, 90)})
    d["few"], d["code"] = rng.integers(0, 30, 90) / 4, rng.integers(10, 40, 90)
    d = d.astype({"few": str, "code": str})
    d.loc[70, ["x", "few", "code"]] = "oops", "1,5", "A1"
    words = r'"x" is a column of text, although 89 of its 90 values are numbers; this is not: "oops"'
    for data in (d, lambda: iter([d[:40], d[40:]])):
        for model in (glmclf.Logit, glmclf.NaiveBayes):
            with pytest.raises(DataError, match=words):
                model.from_formula("y ~ x", data)
        with pytest.raises(DataError, match='"few" is a column of text.*this is not: "1,5"'):
            glmclf.Logit.from_formula("y ~ few", data)
        assert len(glmclf.Logit.from_formula("y ~ code", data).exog_names) > 20  # a code, some of which are letters
        assert len(glmclf.Logit.from_formula("y ~ C(x)", data).exog_names) == 90  # as it was asked for


def test_what_the_module_offers():
    assert set(design_module.__all__) == {"Design", "TableDesign", "build_design", "table_of"}
    assert set(arrays_module.__all__) == {"BesideArrays", "check_finite", "read_arrays", "read_endog", "read_exog"}
    assert set(read_module.__all__) == {"ReadTable", "ReadParts", "read_formula"}
