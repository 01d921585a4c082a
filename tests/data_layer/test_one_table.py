"""A table in memory is a source of one part: what parts may not have, and that its factors are evaluated once."""

import numpy as np
import pandas as pd
import pytest

from glmclf.core.design.factor import expand
from glmclf.data.formula.rowwise import rowwise
from glmclf.data.reading.features import read_features
from glmclf.data.reading.read import ReadParts, read_formula
from glmclf.data.source.calls import Calls
from glmclf.data.source.one_table import OneTable
from glmclf.data.table.rows import ReadTable


@pytest.fixture
def data(rng):
    n = 60
    table = pd.DataFrame({"y": rng.integers(0, 2, n), "x": rng.normal(size=n), "g": rng.choice(list("abc"), n)})
    table.loc[3, "x"] = np.nan
    return table.set_index(pd.Index([f"row {i}" for i in range(n)]))


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def response(names, values):
    class Made:
        notes = ()

        def without_rows(self):
            return self

    made = Made()
    made.names, made.values = names, values
    return made


def read(formula, source, **keywords):
    return read_formula(formula, source, response=response, **keywords)


def test_it_is_read_as_parts_are(data):
    table, source = read("y ~ x*g", data), read("y ~ x*g", Calls(lambda: iter([data.iloc[:25], data.iloc[25:]])))
    assert isinstance(table, ReadTable) and isinstance(source, ReadParts)
    assert table.design.xnames == source.design.xnames and table.design.levels == source.design.levels
    assert table.design.columns == source.design.columns
    same = ["n_before", "n_given", "n_dropped", "dropped", "n_absent"]
    assert [table.facts[name] for name in same] == [source.facts[name] for name in same] == [60, 60, 1, {"x": 1}, 0]
    assert len(table) == len(source) == 59


def test_a_table_and_its_source_are_the_same(data):
    one, other = read("y ~ x + g", data), read("y ~ x + g", OneTable(data))
    assert one.design.xnames == other.design.xnames
    np.testing.assert_array_equal(expand(one.pieces, len(one)), expand(other.pieces, len(other)))


@pytest.mark.parametrize("formula", ["y ~ f(x) + g", "y ~ x + f(x):g", "f(y) ~ x"])
def test_factors_are_evaluated_once_on_all_rows(data, formula):
    """Besides, a function that is not declared to be of each row alone is tried on some."""
    calls = []

    def f(x):
        calls.append(len(x))
        return np.asarray(x) * 1.0

    read(formula, data, namespace={"f": f})
    assert [n for n in calls if n > 30] == [60]
    calls.clear()
    read(formula, data, namespace={"f": rowwise(f)})
    assert calls == [60]


def test_features_are_evaluated_once_on_all_rows(data):
    calls = []

    def f(x):
        calls.append(len(x))
        return np.asarray(x) * 1.0

    found = read_features("y ~ f(x) + g", data, response=response, namespace={"f": f})
    assert [n for n in calls if n > 30] == [60] and [f.name for f in found.design.features] == ["f(x)", "g"]


def test_what_only_a_table_in_memory_may_have(data):
    mask = (data["x"] > 0).to_numpy()
    values = np.arange(len(data), dtype=float)
    beside = {"namespace": {"values": values}, "subset": mask, "extras": {"offset": values}}
    found = read("y ~ x + values + x.shift(1)", data, **beside)
    assert "values" in found.frame and "values" not in data
    assert found.extras["offset"].tolist() == values[mask][found.keep].tolist()
    assert found.index.equals(data.index[mask][found.keep])
    labelled = read("y ~ x", data, subset='index != "row 5"')
    assert "row 5" not in labelled.index and labelled.n_given == 59
