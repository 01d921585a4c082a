"""Files elsewhere, by fsspec: its file system in memory stands for one of a cloud."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.source import base
from glmclf.errors import DataError

fsspec = pytest.importorskip("fsspec")
MODELS = {"Logit": "y", "MNLogit": "c", "LDA": "c", "NaiveBayes": "c"}
KEPT = {"skip_instance_cache": True}  # an option that changes nothing


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(1), 150
    df = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(list("ab"), n)})
    df["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-df.x))).astype(int)
    df["c"] = df.y + rng.integers(0, 2, n)
    memory = fsspec.filesystem("memory")
    pytest.importorskip("pyarrow")
    for name, part in {"rows.parquet": df, "many/a.parquet": df[:80], "many/b.parquet": df[80:]}.items():
        with memory.open(f"/data/{name}", "wb") as file:
            part.to_parquet(file)
    with memory.open("/data/rows.csv", "w") as file:
        df.to_csv(file, index=False)
    with memory.open("/data/rows.dta", "wb") as file:
        df.to_stata(file, write_index=False)
    yield df
    memory.rm("/data", recursive=True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["rows.parquet", "many", "rows.csv", "rows.dta"])
def test_files_elsewhere_are_read_in_parts(table, model, name, monkeypatch):
    monkeypatch.setattr(base, "PART_ROWS", 60)
    make, formula, path = getattr(glmclf, model).from_formula, f"{MODELS[model]} ~ x + g", f"memory://data/{name}"
    known = make(formula, table).fit()
    for options in (None, KEPT):
        found = make(formula, path, storage_options=options).fit()
        np.testing.assert_allclose(found.predict(table), known.predict(table), rtol=1e-9)
    np.testing.assert_allclose(known.pred_table(newdata=path), known.pred_table(newdata=table), rtol=1e-12)
    assert sum(len(part) for part in found.augment(path)) == len(table)


def test_no_file_holds_the_options(table, tmp_path):
    res = glmclf.Logit.from_formula("y ~ x", "memory://data/rows.parquet", storage_options={"word": "secret"}).fit()
    res.save(tmp_path / "fit.json")
    assert "secret" not in (tmp_path / "fit.json").read_text() and "secret" not in str(res.summary())


def test_refusals(table, tmp_path):
    with pytest.raises(DataError, match="storage_options= is for a path elsewhere.*DataFrame"):
        glmclf.Logit.from_formula("y ~ x", table, storage_options=KEPT)
    with pytest.raises(DataError, match="storage_options= is for a path elsewhere.*'rows.csv'"):
        glmclf.Logit.from_formula("y ~ x", "rows.csv", storage_options=KEPT)
    for name in ("none.parquet", "none.csv", "none.dta"):
        with pytest.raises(DataError, match=f'"{name}" cannot be read'):
            glmclf.Logit.from_formula("y ~ x", f"memory://data/{name}")
    with pytest.raises(DataError, match="cannot be read: Protocol not known: nowhere"):
        glmclf.Logit.from_formula("y ~ x", "nowhere://data/rows.parquet")
