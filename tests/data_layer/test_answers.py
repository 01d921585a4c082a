"""Rows that subset= takes where values are missing: three-valued logic, the same of every container and way of reading.

Right answers are by hand, row by row.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import glmclf
from glmclf.data.formula.conditions import chosen
from glmclf.data.reading.bind import subset_mask
from glmclf.errors import DataError, FormulaError

K = [1, 2, 3, None, 1, None]
X = [1.5, -1.0, None, 2.0, -2.0, None]
G = ["a", "b", None, "a", None, "b c"]
B = [True, False, None, None, True, False]
Y = [0, 1, 0, 1, 0, 1]

OPEN, CLOSED = (True,), (True, False)
ANSWERS = [  # the query, the rows it takes, whether it may come from outside
    ("k != 1", [1, 2], CLOSED),
    ("k == 1", [0, 4], CLOSED),
    ("not k > 2", [0, 1, 4], CLOSED),
    ("~(k > 2)", [0, 1, 4], CLOSED),
    ("g != 'a'", [1, 5], CLOSED),
    ("g not in ['a']", [1, 5], CLOSED),
    ("g in ['a']", [0, 3], CLOSED),
    ("g != ['a']", [1, 5], CLOSED),
    ("k != 1 or x > 0", [0, 1, 2, 3], CLOSED),
    ("k != 1 | x > 0", [0, 1, 2, 3], CLOSED),
    ("k != 1 and x > 0", [], CLOSED),
    ("not (k == 1 and x > 0)", [1, 2, 4], CLOSED),
    ("not (k == 1 or x > 0)", [1], CLOSED),
    ("b", [0, 4], CLOSED),
    ("not b", [1, 5], CLOSED),
    ("b != True", [1, 5], CLOSED),
    ("b == False", [1, 5], CLOSED),
    ("not b or k == 2", [1, 5], CLOSED),
    ("-1 <= x < 2", [0, 1], CLOSED),
    ("not (0 < x < 2)", [1, 3, 4], CLOSED),
    ("k + x != 2.5", [1, 4], CLOSED),
    ("abs(x) != 1", [0, 3, 4], CLOSED),
    ("sqrt(x) != 0", [0, 3], CLOSED),
    ("k == k", [0, 1, 2, 4], CLOSED),
    ("k != k", [3, 5], CLOSED),
    ("(g == g) and not (k == k)", [3, 5], CLOSED),
    ("`odd name` != 1", [1, 2], CLOSED),
    ("(k > 1) == (x > 0)", [4], CLOSED),
    ("np.isnan(x) or x > 1.5", [2, 3, 5], (False,)),
    ("np.fmax(x, 0) != 1.5", [1, 2, 3, 4, 5], (False,)),
    ("k.isna()", [3, 5], OPEN),
    ("not k.isna()", [0, 1, 2, 4], OPEN),
    ("k.notna() and x.notna()", [0, 1, 4], OPEN),
    ("g.isna() or g != 'a'", [1, 2, 4, 5], OPEN),
    ("k.fillna(7) != 1", [1, 2, 3, 5], OPEN),
    ("not g.isin(['a'])", [1, 5], OPEN),
    ("g not in @words", [1, 5], OPEN),
    ("k != @one", [1, 2], OPEN),
    ("not `odd name`.gt(1)", [0, 4], OPEN),
    ("k != x.max()", [0, 2, 4], OPEN),
    ("not g.str.startswith('a')", [1, 5], OPEN),
]  # fmt: skip
CALLER = {"words": ["a"], "one": 1}


def plain():
    return pd.DataFrame({"k": K, "x": X, "g": G, "b": B, "odd name": K, "y": Y, "row": range(6)})


def frames():
    """The table in the types of pandas in which columns hold missing values."""
    nullable = plain().astype({"k": "Int64", "x": "Float64", "g": "string", "b": "boolean", "odd name": "Int64"})
    return {
        "floats and objects": plain(),
        "nullable": nullable,
        "arrow": nullable.convert_dtypes(dtype_backend="pyarrow"),
        "categories": plain().astype({"g": "category", "b": "category"}),
    }


@pytest.mark.parametrize("kind", list(frames()))
@pytest.mark.parametrize(("query", "rows", "ways"), ANSWERS)
def test_answers_are_those_of_three_valued_logic(query, rows, ways, kind):
    frame = frames()[kind]
    before = frame.copy(deep=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for trusted in ways:
            found = subset_mask(query, frame, CALLER, not trusted, part=True)
            assert np.flatnonzero(found).tolist() == rows, trusted
    pd.testing.assert_frame_equal(frame, before)


def containers(path):
    whole = pa.table({"k": pa.array(K, "int64"), "x": X, "g": G, "b": B, "odd name": pa.array(K, "int64"),
                      })  # fmt: skip
    r = np.random.default_rng(3)
    whole = pa.concat_tables([whole] * 20).append_column("y", pa.array(r.integers(0, 2, 120)))
    whole = whole.append_column("w", pa.array(r.normal(size=120)))
    pq.write_table(whole, path / "t.parquet")
    frame = whole.to_pandas()
    frame.to_csv(path / "t.csv", index=False)
    return {
        "memory": frame, "arrow": whole, "polars": pl.from_arrow(whole), "lazy": pl.from_arrow(whole).lazy(),
        "csv": str(path / "t.csv"), "parquet": str(path / "t.parquet"),
        "parts": lambda: iter([frame[:50], frame[50:]]), "nullable": frame.convert_dtypes(),
        "polars parts": lambda: iter([pl.from_arrow(whole[:70]), pl.from_arrow(whole[70:])]),
    }  # fmt: skip


@pytest.mark.parametrize("query", ["k != 1", "g not in ['a']", "not b", "k != 1 or x > 0", "b != True", "not k > 2"])
def test_every_container_takes_the_same_rows(query, tmp_path):
    rows = next(rows for q, rows, _ in ANSWERS if q == query)
    for kind, data in containers(tmp_path).items():
        for trusted in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = glmclf.Logit.from_formula("y ~ w", data, subset=query, trusted=trusted)
                assert model.fit().nobs == 20 * len(rows), (kind, trusted)


def test_what_is_no_condition_is_refused_beside_missing_values():
    frame = plain()
    for query in ("k", "k + 1", "g", "x or k > 1", "1"):
        for restricted in (True, False):
            with pytest.raises((DataError, FormulaError, TypeError), match="True|query|no condition"):
                subset_mask(query, frame, {}, restricted)
    assert chosen("g == g", frame).tolist() == [g is not None for g in G]


DAYS = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"] * 8)


def times():
    table = pd.DataFrame({"y": [0, 1, 1, 0] * 6, "d": DAYS, "x": np.arange(24.0)})
    yield table
    yield table.assign(d=DAYS.tz_localize("Europe/Berlin"))
    yield table.assign(d=DAYS.date)
    yield table.assign(d=DAYS.astype("datetime64[s]"))
    yield lambda: iter([table.iloc[:10], table.iloc[10:]])


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("d != '2020-01-02'", 16),
        ("d == '2020-01-02'", 8),
        ("d not in ['2020-01-02']", 16),
        ("d in ['2020-01-01', '2020-01-03']", 16),
        ("d > '2020-01-01'", 16),
        ("'2020-01-01' < d <= '2020-01-02'", 8),
        ("not d == '2020-01-02' and x < 12", 8),
    ],
)
def test_times_beside_text_that_stands_for_times(query, rows, trusted):
    for data in times():
        assert glmclf.Logit.from_formula("y ~ 1", data, subset=query, trusted=trusted).fit().nobs == rows


@pytest.mark.parametrize("trusted", [True, False])
def test_text_that_is_no_time(trusted):
    with pytest.raises(DataError, match="'soon' is no date, time or duration to compare 'd' with"):
        glmclf.Logit.from_formula("y ~ 1", next(times()), subset="d != 'soon'", trusted=trusted)


@pytest.mark.parametrize("trusted", [True, False])
def test_names_in_backticks_ask_for_missing_values_too(trusted):
    table = next(times()).assign(**{"my col": [np.nan, 1.0, 2.0] * 8})
    absent = "`my col` != `my col`"
    for query, rows in ((absent, 8), (f"x < 3 or {absent}", 10), ("`my col` == `my col`", 16)):
        assert glmclf.Logit.from_formula("y ~ 1", table, subset=query, trusted=trusted).fit().nobs == rows
