"""Tables and columns at the border, and the alignment of what stands beside them."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

from glmclf import Logit, MNLogit
from glmclf.data.table.frame import align, as_frame, labels, read_column, unusable
from glmclf.errors import DataError

# ----------------------------------------------------------------------------------------------------- plain
NUMBERS = {
    "float32": (pd.Series([1.5, np.nan], dtype="float32"), [1.5, np.nan], "f"),
    "int8": (pd.Series([1, -2], dtype="int8"), [1, -2], "i"),
    "uint8": (pd.Series([1, 255], dtype="uint8"), [1, 255], "i"),
    "uint64": (pd.Series([1, 2**64 - 2**11], dtype="uint64"), [1.0, 2.0**64 - 2**11], "f"),
    "Int64": (pd.Series([1, 2], dtype="Int64"), [1, 2], "i"),
    "Int64 missing": (pd.Series([1, None], dtype="Int64"), [1.0, np.nan], "f"),
    "Float64": (pd.Series([1.5, None], dtype="Float64"), [1.5, np.nan], "f"),
    "bool": (pd.Series([True, False]), [True, False], "b"),
    "boolean": (pd.Series([True, False], dtype="boolean"), [True, False], "b"),
    "boolean missing": (pd.Series([True, None], dtype="boolean"), [1.0, np.nan], "f"),
    "int objects": (pd.Series([1, 2], dtype=object), [1, 2], "i"),
    "int objects missing": (pd.Series([1, None], dtype=object), [1.0, np.nan], "f"),
    "mixed number objects": (pd.Series([1, 2.5, True, pd.NA], dtype=object), [1.0, 2.5, 1.0, np.nan], "f"),
    "bool objects": (pd.Series([True, False], dtype=object), [True, False], "b"),
    "bool objects missing": (pd.Series([True, None], dtype=object), [1.0, np.nan], "f"),
    "decimal objects": (pd.Series([decimal.Decimal("1.5"), None], dtype=object), [1.5, np.nan], "f"),
    "numpy objects": (pd.Series([np.int8(3), np.float32(0.5)], dtype=object), [3.0, 0.5], "f"),
    "big integers": (pd.Series([2**70, 1], dtype=object), [2.0**70, 1.0], "f"),
    "nothing": (pd.Series([None, None], dtype=object), [np.nan, np.nan], "f"),
    "sparse": (pd.Series([0.0, 2.0], dtype="Sparse[float]"), [0.0, 2.0], "f"),
}


def plain(series, name):
    """A column as numbers with NaN, or as a Categorical with code -1, where a value is missing."""
    column = read_column(series, name)
    if column.kind == "other":
        raise unusable(column.values, name)
    return column.marked()


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_and_bools(kind):
    series, expected, dtype = NUMBERS[kind]
    before = series.copy()
    found = plain(series, "x")
    assert isinstance(found, np.ndarray) and found.dtype in (np.float64, np.int64, bool) and found.dtype.kind == dtype
    np.testing.assert_array_equal(found, expected)
    pd.testing.assert_series_equal(series, before)


LABELS = {
    "str": pd.Series(["b", "a", None, "b"]),
    "object": pd.Series(["b", "a", None, "b"], dtype=object),
    "object NaN": pd.Series(["b", "a", np.nan, "b"], dtype=object),
    "object NA": pd.Series(["b", "a", pd.NA, "b"], dtype=object),
    "string": pd.Series(["b", "a", None, "b"], dtype="string"),
    "python string": pd.Series(["b", "a", None, "b"], dtype="string[python]"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_sorted(kind):
    found = plain(LABELS[kind], "g")
    assert isinstance(found, pd.Categorical) and found.categories.tolist() == ["a", "b"]
    assert found.codes.tolist() == [1, 0, -1, 1]
    column = read_column(LABELS[kind], "g")
    assert column.kind == "label" and column.missing.tolist() == [False, False, True, False]


def test_arrow_columns():
    pa = pytest.importorskip("pyarrow")
    text = pa.array(["b", "a", None, "b"])
    for array in (text, text.cast(pa.large_string())):
        found = plain(pd.Series(array, dtype=pd.ArrowDtype(array.type)), "g")
        assert found.categories.tolist() == ["a", "b"] and found.codes.tolist() == [1, 0, -1, 1]
    for array, expected in (
        (pa.array([1, 2], pa.int8()), [1, 2]),
        (pa.array([1, None], pa.uint16()), [1, np.nan]),
        (pa.array([1.5, None]), [1.5, np.nan]),
        (pa.array([True, False]), [True, False]),
        (pa.array([True, None]), [1, np.nan]),
        (pa.array([decimal.Decimal("1.25"), None]), [1.25, np.nan]),
        (pa.nulls(2), [np.nan, np.nan]),
    ):
        found = plain(pd.Series(array, dtype=pd.ArrowDtype(array.type)), "x")
        assert found.dtype in (np.float64, np.int64, bool)
        np.testing.assert_array_equal(found, expected)
    for array in (
        pa.array([[1], [2]]),
        pa.array([datetime.date(2020, 1, 1)]),
        pa.array([datetime.datetime(2020, 1, 1)]),
    ):
        with pytest.raises(DataError, match='"x"'):
            plain(pd.Series(array, dtype=pd.ArrowDtype(array.type)), "x")


def test_categories_keep_their_order():
    series = pd.Series(pd.Categorical(["lo", None, "hi"], ["lo", "hi", "top"], ordered=True))
    found = plain(series, "g")
    assert found.categories.tolist() == ["lo", "hi", "top"] and found.ordered and found.codes.tolist() == [0, -1, 1]
    strange = pd.Series(pd.Categorical(pd.array(["b", "a"], dtype="string")))
    assert plain(strange, "g").categories.tolist() == ["a", "b"]
    assert plain(pd.Series(pd.Categorical([3, 1, 3])), "g").categories.tolist() == [1, 3]


@pytest.mark.parametrize(
    "series, message",
    [
        (pd.Series(pd.date_range("2020", periods=2)), "datetime64"),
        (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), "UTC"),
        (pd.Series(pd.to_timedelta([1, 2], "s")), "timedelta"),
        (pd.Series(pd.period_range("2020", periods=2)), "period"),
        (pd.Series([datetime.date(2020, 1, 1)] * 2), "neither numbers nor labels"),
        (pd.Series([1j, 2]), "complex"),
        (pd.Series([1j, None], dtype=object), "complex"),
        (pd.Series([[1], [2]]), "nested"),
        (pd.Series([{"a": 1}, {"a": 2}]), "nested"),
        (pd.Series([("b", 1), ("a", 2)]), "nested"),
        (pd.Series(["a", 1]), "types int, str"),
    ],
)
def test_columns_that_are_neither(series, message):
    with pytest.raises(DataError, match=f'"when".*{message}|{message}'):
        plain(series, "when")


def test_bytes_are_labels():
    assert plain(pd.Series([b"x", b"a"]), "g").codes.tolist() == [1, 0]


# --------------------------------------------------------------------------------------------------- as_frame
def test_a_pandas_frame_is_not_copied():
    frame = pd.DataFrame({"x": [1]})
    assert as_frame(frame) is frame


def test_mappings():
    assert as_frame({"x": [1, 2]}).shape == (2, 1)
    assert as_frame({"x": 1, "g": "a"}, scalars=True).shape == (1, 2)
    with pytest.raises(DataError):
        as_frame({"x": 1})
    with pytest.raises(DataError, match="lengths"):
        as_frame({"x": [1, 2], "z": [1]})


def test_empty_tables():
    with pytest.raises(DataError, match="no rows"):
        as_frame(pd.DataFrame({"x": []}))
    assert len(as_frame(pd.DataFrame({"x": []}), empty=True)) == 0


def test_other_objects():
    from pathlib import Path

    for later in ("data.csv", Path("data.csv"), lambda: None):
        with pytest.raises(NotImplementedError, match="file or stream"):
            as_frame(later)
    for bad in (None, 1.0, [1, 2], pd.Series([1]), np.ones((2, 2)), object()):
        with pytest.raises(DataError, match="named columns"):
            as_frame(bad)
    with pytest.raises(DataError, match="several levels"):
        as_frame(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(DataError, match='more than once: "x"'):
        as_frame(pd.DataFrame([[1, 2]], columns=["x", "x"]))


# ------------------------------------------------------------------------------------------------------ align
@pytest.fixture
def frame():
    return pd.DataFrame(
        {"x": [10.0, 20.0, 30.0], "g": ["a", "b", None], "k": pd.array([1, 2, None], "Int64")}, list("pqr")
    )


def test_columns_arrays_and_series(frame):
    shuffled = pd.Series([3.0, 1.0, 2.0, 9.0], list("rpqz"))
    for values, expected in (
        ("x", [10, 20, 30]),
        ("k", [1, 2, np.nan]),
        (np.array([1, 2, 3]), [1, 2, 3]),
        ([1, 2, 3], [1, 2, 3]),
        (range(3), [0, 1, 2]),
        (pd.Series([1, 2, 3], list("pqr")), [1, 2, 3]),
        (shuffled, [1, 2, 3]),
        (pd.DataFrame({"w": [1, 2, 3]}, list("pqr")), [1, 2, 3]),
        (pd.array([1, 2, 3], "Int64"), [1, 2, 3]),
    ):
        np.testing.assert_array_equal(align(values, name="w", frame=frame), expected)
    assert align("g", name="groups", frame=frame).tolist()[:2] == ["a", "b"]
    assert pd.isna(align("g", name="groups", frame=frame)[2])
    assert align(["u", "v", "u"], name="groups", frame=frame).tolist() == ["u", "v", "u"]


def test_polars_series(frame):
    pl = pytest.importorskip("polars")
    assert align(pl.Series([1, 2, 3]), name="w", frame=frame).tolist() == [1, 2, 3]
    assert align(pl.Series(["a", "b", "a"]), name="w", frame=frame).tolist() == ["a", "b", "a"]


def test_repeated_labels(frame):
    frame.index = list("ppq")
    assert align(pd.Series([1, 2, 3], list("ppq")), name="w", frame=frame).tolist() == [1, 2, 3]
    assert align(pd.Series([1, 2], list("qp")), name="w", frame=frame).tolist() == [2, 2, 1]
    with pytest.raises(DataError, match=r'w: the Series repeats index labels \("p"\)'):
        align(pd.Series([1, 2, 3], list("pqp")), name="w", frame=frame)


@pytest.mark.parametrize(
    "values, message",
    [
        ("xx", r"w=\"xx\": no such column. Did you mean 'x'"),
        ([1, 2], "w has 2 values, but the table has 3 rows"),
        (pd.Series([1, 2, 3]), "no value for 3 of the table's 3 index labels"),
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        (2.5, "2.5"),
        (pd.DataFrame({"a": [1, 2, 3], "b": 1}, list("pqr")), "shape"),
    ],
)
def test_what_cannot_be_aligned(frame, values, message):
    with pytest.raises(DataError, match=message):
        align(values, name="w", frame=frame)


# ---------------------------------------------------------------------------------------------------- labels
NAMES = ["Intercept", "x", "f[T.b]:x", "größe"]


DAYS = list(pd.to_datetime(["2020-1-1", "2021-1-1"]))


@pytest.mark.parametrize("levels", [[1, 2], [1, 2.5], ["a", "b"], [True, False], DAYS], ids=str)
def test_labels(levels):
    for _ in range(2):  # made, and kept
        pd.testing.assert_index_equal(labels(NAMES), pd.Index(NAMES))
        expected = pd.MultiIndex.from_product([levels, NAMES], names=["level", "regressor"])
        pd.testing.assert_index_equal(labels(NAMES, levels), expected)


def test_labels_that_are_equal_but_not_alike():
    for levels, kind in (([1, 0], int), ([True, False], bool), ([1.0, 0.0], float)):
        assert [type(v) for v in labels(["x"], levels).get_level_values(0)] == [kind] * 2


def test_names_of_labels_belong_to_one_result():
    labels(NAMES).name = "term"
    labels(NAMES, [1, 2]).names = ["class", "term"]
    assert labels(NAMES).name is None and list(labels(NAMES, [1, 2]).names) == ["level", "regressor"]
    table = pd.DataFrame({"x": [0.0, 1, 2, 3, 4, 5], "y": [0, 1, 0, 1, 2, 1]})
    for model in (Logit.from_formula("I(y > 0) ~ x", table), MNLogit.from_formula("y ~ x", table)):
        res = model.fit()
        for give in (lambda res=res: res.params, lambda res=res: res.bse, res.conf_int, res.cov_params):
            give().index.rename("term" if give().index.nlevels == 1 else ["class", "term"], inplace=True)
            assert "term" not in give().index.names
    ends = res.conf_int()
    ends.columns.name = "end"
    assert res.conf_int().columns.name is None
