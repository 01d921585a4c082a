"""LazyFrames of polars and relations of DuckDB in parts are the table that they stand for."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.reading.open_source import as_source
from glmclf.data.source import base
from glmclf.data.source.lazy import _of_equal_size
from glmclf.errors import DataError

MODELS = {"Logit": "y", "Probit": "y", "CLogLog": "y", "MNLogit": "c", "LDA": "c", "QDA": "c", "NaiveBayes": "c"}
ENGINES = ("polars", "duckdb")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng, n = np.random.default_rng(2), 250
    df = pd.DataFrame({"x": rng.normal(size=n), "a b": rng.normal(size=n), "g": rng.choice(list("uv"), n)})
    df["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-df.x))).astype(int)
    df["c"], df["f"] = df.y + rng.integers(0, 2, n), rng.integers(1, 4, n)
    df.loc[[3, 140], "x"] = np.nan
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("lazy") / "rows.parquet"
    df.to_parquet(path, row_group_size=70)
    return df, path


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(base, "PART_ROWS", 60)


def lazy(engine, path, where="true"):
    """The rows of a file under a condition, as the engine's table."""
    module = pytest.importorskip(engine)
    if engine == "duckdb":
        return module.connect().sql(f"select * from '{path}' where {where}")
    rows = module.scan_parquet(path)
    return rows if where == "true" else rows.filter(module.sql_expr(where))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_parts_are_the_whole(table, engine, model):
    df, path = table
    right = 'x + Q("a b")' if model == "QDA" else 'x + Q("a b") + g'
    make, formula = getattr(glmclf, model).from_formula, f"{MODELS[model]} ~ {right}"
    for options in ({}, {"freq_weights": "f * 2"}, {"subset": "x > -1"}):
        found, known = (make(formula, data, **options).fit() for data in (lazy(engine, path), df))
        np.testing.assert_allclose(found.predict(df), known.predict(df), rtol=1e-8)
        assert found.nobs == known.nobs
    few = known.pred_table(newdata=lazy(engine, path, "x > 0"))
    np.testing.assert_allclose(few, known.pred_table(newdata=df[df.x > 0]), rtol=1e-12)
    assert [len(part) for part in known.augment(lazy(engine, path))] == [60, 60, 60, 60, 10]
    assert [part.index[0] for part in known.augment(lazy(engine, path))] == [0, 60, 120, 180, 240]


@pytest.mark.parametrize("engine", ENGINES)
def test_only_used_columns_are_asked_for(table, engine, monkeypatch):
    source = as_source(lazy(engine, table[1]))
    tables = [part for part, _ in source.tables(["g", "x"])]
    assert all(list(part) == ["g", "x"] for part in tables) and sum(map(len, tables)) == len(table[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_refusals(table, engine):
    nothing = lazy(engine, table[1], "x > 1000")
    with pytest.raises(DataError, match="has no rows"):
        glmclf.Logit.from_formula("y ~ x", nothing)
    with pytest.raises(DataError, match='"nobody"'):
        glmclf.Logit.from_formula("y ~ nobody", lazy(engine, table[1]))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_cannot_make_is_said_with_its_name(table, engine, tmp_path):
    gone = tmp_path / "gone.parquet"
    table[0].to_parquet(gone)
    lost = lazy(engine, gone)
    gone.unlink()
    broken = {"gone.parquet": lost}
    if engine == "polars":
        import polars as pl

        broken |= {
            '"nobody"': lazy(engine, table[1]).with_columns(w=pl.col("nobody")),
            "division": lazy(engine, table[1]).map_batches(lambda rows: 1 // 0),
        }
    res = glmclf.Logit.from_formula("y ~ x", table[0]).fit()
    for words, data in broken.items():
        for call in (lambda d: glmclf.Logit.from_formula("y ~ x", d), lambda d: list(res.augment(d)), res.predict):
            with pytest.raises(DataError, match=f"(?i)the {engine} ?\\w+ cannot be computed: .*{words}") as found:
                call(data)
            assert "FAILED" not in str(found.value) and found.value.__cause__ is not None


@pytest.mark.parametrize("sizes", [[], [0], [59], [60], [61], [200, 0, 1, 59, 60, 7], [1] * 130])
def test_batches_of_any_size_become_parts_of_one(sizes):
    pa = pytest.importorskip("pyarrow")
    values = iter(np.split(np.arange(sum(sizes)), np.cumsum(sizes)))
    tables = [pa.table({"v": next(values)}) for _ in [*sizes, 0]]
    parts = [len(part) for part in _of_equal_size(tables, pa.concat_tables)]
    full, rest = divmod(sum(sizes), 60)
    assert parts == [60] * full + ([rest] if rest or not full else [])
    found = pa.concat_tables(list(_of_equal_size(tables, pa.concat_tables)))["v"].to_numpy()
    np.testing.assert_array_equal(found, np.arange(sum(sizes)))
