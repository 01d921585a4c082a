"""Binary responses: every kind, both ends of `event`, and everything that is no binary response."""

import numpy as np
import pandas as pd
import pytest

from glmclf.data.response import response as response_module
from glmclf.data.response.response import BinaryResponse
from glmclf.errors import DataError

build = BinaryResponse.build
TRUTH = [0, 1, 1, 0, 1]


def same(found, expected):
    """Equal values and dtype."""
    pd.testing.assert_series_equal(pd.Series(found), pd.Series(expected), check_names=False)


LABELS = {
    "int": (np.array([0, 1, 1, 0, 1]), [0, 1], "P(y = 1)"),
    "int8": (pd.Series([0, 1, 1, 0, 1], dtype="int8"), [0, 1], "P(y = 1)"),
    "float": (np.array([0.0, 1, 1, 0, 1]), [0.0, 1.0], "P(y = 1)"),
    "Int64": (pd.Series([0, 1, 1, 0, 1], dtype="Int64"), [0, 1], "P(y = 1)"),
    "Float64": (pd.Series([0, 1, 1, 0, 1], dtype="Float64"), [0.0, 1.0], "P(y = 1)"),
    "bool": (np.array([False, True, True, False, True]), [False, True], "P(y = True)"),
    "boolean": (pd.Series([False, True, True, False, True], dtype="boolean"), [False, True], "P(y = True)"),
    "text": (pd.Series(["no", "yes", "yes", "no", "yes"]), ["no", "yes"], "P(y = 'yes')"),
    "string": (pd.Series(["no", "yes", "yes", "no", "yes"], dtype="string"), ["no", "yes"], "P(y = 'yes')"),
    "object": (pd.Series(["no", "yes", "yes", "no", "yes"], dtype=object), ["no", "yes"], "P(y = 'yes')"),
    "bool objects": (pd.Series([False, True, True, False, True], dtype=object), [False, True], "P(y = True)"),
    "category": (pd.Series(pd.Categorical(["b", "a", "a", "b", "a"], ["b", "a"])), ["b", "a"], "P(y = 'a')"),
    "ordered": (
        pd.Series(pd.Categorical(["z", "a", "a", "z", "a"], ["z", "a"], ordered=True)),
        ["z", "a"],
        "P(y = 'a')",
    ),
    "category of 0/1": (pd.Series(pd.Categorical([0, 1, 1, 0, 1])), [0, 1], "P(y = 1)"),
    "category of bools": (pd.Series(pd.Categorical([False, True, True, False, True])), [False, True], "P(y = True)"),
    "list": (["n", "y", "y", "n", "y"], ["n", "y"], "P(y = 'y')"),
    "numpy text": (np.array(["n", "y", "y", "n", "y"]), ["n", "y"], "P(y = 'y')"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_two_labels_of_any_kind(kind):
    values, levels, text = LABELS[kind]
    response = build("y", values)
    assert response.y.dtype == np.float64 and response.y.tolist() == TRUTH
    assert response.trials is None and response.kind == "binary" and response.name == "y"
    assert response.levels == levels and [type(v) for v in response.levels] == [type(v) for v in levels]
    assert response.event == levels[1] and response.describe() == text
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    same(
        response.decode(np.array(TRUTH, dtype=bool)),
        series.array if kind != "numpy text" else series.astype(object).array,
    )


@pytest.mark.parametrize("kind", LABELS)
def test_the_other_event_turns_everything_round(kind):
    values, levels, _ = LABELS[kind]
    response = build("y", values, event=levels[0])
    assert response.y.tolist() == [1 - t for t in TRUTH]
    assert response.levels == levels[::-1] and response.event == levels[0]
    same(response.decode([1 - t for t in TRUTH]), build("y", values).decode(TRUTH))
    assert build("y", values, event=levels[1]).y.tolist() == TRUTH


@pytest.mark.parametrize("kind", LABELS)
def test_an_unknown_event_lists_the_levels(kind):
    for event in ("maybe", 7, [0]):
        with pytest.raises(DataError, match=r'not a level of "y", which has .+, '):
            build("y", LABELS[kind][0], event=event)


@pytest.mark.parametrize("kind", LABELS)
def test_rows_without_a_class(kind):
    found = build("y", LABELS[kind][0]).decode([True, False, True], missing=[False, True, False])
    assert pd.isna(pd.Series(found)).tolist() == [False, True, False]
    assert pd.Series(found).tolist()[0] == LABELS[kind][1][1]


def test_arrow_labels():
    pytest.importorskip("pyarrow")
    for dtype in ("string[pyarrow]", pd.ArrowDtype(__import__("pyarrow").large_string())):
        values = pd.Series(["no", "yes", "yes", "no", "yes"], dtype=dtype)
        response = build("y", values)
        assert response.levels == ["no", "yes"] and response.y.tolist() == TRUTH
        same(response.decode(TRUTH), values)
    values = pd.Series(TRUTH, dtype="int64[pyarrow]")
    same(build("y", values).decode(TRUTH), values)
    values = pd.Series(TRUTH, dtype="bool[pyarrow]")
    same(build("y", values).decode(TRUTH), values)


def test_two_other_numbers_need_an_event():
    with pytest.raises(DataError, match=r'"y" holds numbers other than 0 and 1 \(2 values: 1, 2\).*event=2'):
        build("y", [1, 2, 2, 1])
    response = build("y", [1, 2, 2, 1], event=2)
    assert response.y.tolist() == [0, 1, 1, 0] and response.levels == [1, 2]
    assert build("y", [1, 2, 2, 1], event=1).y.tolist() == [1, 0, 0, 1]
    with pytest.raises(DataError, match="event=3"):
        build("y", [1, 2, 2, 1], event=3)
    assert build("y", [0.0, 0.5, 0.5], event=0.5).kind == "binary"


def test_categories_keep_their_order_and_unused_ones_do_not_count():
    values = pd.Series(pd.Categorical(["lo", "hi", "lo"], ["never", "hi", "lo"]))
    response = build("y", values)
    assert response.levels == ["hi", "lo"] and response.y.tolist() == [1, 0, 1]
    assert response.notes == ['level "never" has no rows in y']
    same(response.decode([True, False, True]), values)


@pytest.mark.parametrize(
    "values, shown",
    [
        ([0, 0, 0], "0"),
        ([1.0, 1.0], "1.0"),
        ([True, True], "True"),
        (["a", "a"], '"a"'),
        (pd.Categorical(["a", "a"], ["a", "b"]), '"a"'),
        ([3, 3], "3"),
    ],
)
def test_one_class_only(values, shown):
    with pytest.raises(DataError, match=rf'"y".*{shown}.*needs both'):
        build("y", values)


def test_three_labels_point_to_mnlogit():
    with pytest.raises(DataError, match=r'"y" has 3 levels \("a", "b", "c"\).*MNLogit'):
        build("y", ["a", "b", "c", "a"])
    with pytest.raises(DataError, match=r"MNLogit"):
        build("y", [0, 1, 2])
    with pytest.raises(DataError, match=r"first|and \d+ more"):
        build("y", [f"id{i}" for i in range(100)])
    with pytest.raises(DataError, match="linear model"):
        build("y", np.linspace(0, 9, 50))
    with pytest.raises(DataError):
        build("y", [-1, 1, -1])


def test_fractions():
    response = build("share", [0.0, 0.25, 1.0])
    assert response.kind == "fraction" and response.y.tolist() == [0, 0.25, 1] and response.trials is None
    assert response.levels == [0, 1] and "share" in response.describe()
    same(response.decode([True, False]), pd.Series([1, 0]))
    with pytest.raises(DataError, match="event=1"):
        build("share", [0.0, 0.25, 1.0], event=1)
    with pytest.raises(DataError, match="numbers other than 0 and 1"):
        build("share", [0.0, 0.25, 1.1])
    with pytest.raises(DataError, match="infinite"):
        build("share", [0.0, 0.25, np.inf])


def test_counts():
    response = build(["died", "alive"], [pd.Series([3, 0, 2]), np.array([1.0, 4.0, 2.0])])
    assert response.kind == "counts" and response.name == "died + alive"
    assert response.y.tolist() == [3, 0, 2] and response.trials.tolist() == [4, 4, 4]
    assert response.y.dtype == response.trials.dtype == np.float64
    assert response.describe() == "successes of died + alive" and response.levels == [0, 1]


@pytest.mark.parametrize(
    "a, b, message",
    [
        ([1, -1], [2, 2], r'"a" are negative in 1 of 2 rows \(first: -1\)'),
        ([1, 2], [2, 2.5], r'"b" are not whole numbers in 1 of 2 rows \(first: 2.5\)'),
        ([1, np.inf], [2, 2], r'"a" are infinite'),
        ([0, 0], [2, 2], r"failures only"),
        ([3, 1], [0, 0], r"successes only"),
        (["u", "v"], [1, 2], r'"a" counts .* labels'),
        ([np.nan, 1], [1, 2], r'"a" is missing in 1'),
    ],
)
def test_counts_that_are_none(a, b, message):
    with pytest.raises(DataError, match=message):
        build(["a", "b"], [a, b])


def test_counts_have_no_event_and_two_terms():
    with pytest.raises(DataError, match="event"):
        build(["a", "b"], [[1, 2], [2, 1]], event=1)
    with pytest.raises(DataError, match="3 parts"):
        build(["a", "b", "c"], [[1, 2], [2, 1], [1, 1]])


def test_missing_and_odd_values():
    with pytest.raises(DataError, match='"y" is missing in 1 row'):
        build("y", [0, 1, np.nan])
    with pytest.raises(DataError, match="datetime"):
        build("y", pd.Series(pd.date_range("2020", periods=3)))


def test_without_rows():
    response = build("y", ["no", "yes", "no"], event="no")
    small = response.without_rows()
    assert small.y is None and small.trials is None
    assert small.levels == ["yes", "no"] and small.describe() == "P(y = 'no')"
    assert list(small.decode([True, False])) == ["no", "yes"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_whole_numbers_are_coded_as_unique_does(dtype):
    """Counting in place of sorting, at the ends of each type and where the range is wide."""
    info = np.iinfo(dtype)
    near_top = [info.max, info.max - 3, info.max, info.max - 2]
    for values in (near_top, [info.min, info.min + 5, info.min], [info.min, info.max, 0]):
        y = np.array(values, dtype=dtype)
        found, codes = response_module.distinct(y)
        levels, places = np.unique(y, return_inverse=True)
        assert found.tolist() == levels.tolist() and codes.tolist() == places.tolist()
