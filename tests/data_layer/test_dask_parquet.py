"""Dask joins the partitions of Parquet files by the share of columns that it reads: no fit or prediction sees it."""

import re

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit
from glmclf.errors import DataError, UnseenLevelError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyarrow")

from glmclf.data.source import dask as sums  # noqa: E402

EQUAL = 1e-9  # of the same sums, added in another order
FILES, ROWS = 12, 60


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Partitions of few rows stay tables of their own."""
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", 0)


@pytest.fixture(scope="module")
def table():
    g, n = np.random.default_rng(4), FILES * ROWS
    t = pd.DataFrame(g.normal(size=(n, 8)), columns=[f"x{j}" for j in range(8)])
    t["g"], t["firm"], t["year"] = g.choice(list("abc"), n), g.integers(0, 40, n), g.integers(0, 25, n)
    t["w"], t["times"] = g.random(n) + 0.5, g.integers(1, 4, n)
    t["y"] = (g.random(n) < 1 / (1 + np.exp(-t.x1 + 0.5 * t.x2))).astype(int)
    t["k"] = g.choice(["low", "mid", "top"], n)
    return t


@pytest.fixture(scope="module", params=["fsspec", "arrow"])
def lazy(request, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    for i in range(FILES):
        table.iloc[i * ROWS : (i + 1) * ROWS].to_parquet(folder / f"{i:02}.parquet")
    ddf = dd.read_parquet(folder, filesystem=request.param)
    joined = ddf[["x1", "x2"]].map_partitions(len, meta=("n", int)).optimize(fuse=False)
    assert joined.npartitions < ddf.npartitions == FILES  # else nothing is tested here
    return ddf


def assert_equal(found, want):
    for name in ("params", "bse"):
        np.testing.assert_allclose(np.asarray(getattr(found, name)), np.asarray(getattr(want, name)), rtol=EQUAL)
    assert found.llf == pytest.approx(want.llf, rel=EQUAL)


CLUSTERS = {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}}
TWO_WAY = {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}}
FITS = {
    "logit": (Logit, "y ~ x1 + x2 + C(g)", {}, TWO_WAY),
    "weights": (Logit, "y ~ x1", {"weights": "w"}, CLUSTERS),
    "repeated": (Logit, "y ~ bs(x1, df=4)", {"freq_weights": "times"}, {}),
    "probit": (Probit, "y ~ x1", {"offset": "x3"}, CLUSTERS),
    "cloglog": (CLogLog, "y ~ x1 + g", {}, CLUSTERS),
    "mnlogit": (MNLogit, "k ~ x1 + g", {}, TWO_WAY),
    "lda": (LDA, "k ~ x1 + x2", {}, CLUSTERS),
    "qda": (QDA, "k ~ x1", {}, CLUSTERS),
    "bayes": (NaiveBayes, "k ~ x1 + g", {}, CLUSTERS),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_in_memory(lazy, table, name):
    Model, formula, options, fit = FITS[name]
    model, whole = (Model.from_formula(formula, data, **options) for data in (lazy, table))
    assert_equal(model.fit(**fit), whole.fit(**fit))
    later = model.fit().with_cov("cluster", groups="year")
    np.testing.assert_allclose(later.bse, whole.fit().with_cov("cluster", groups="year").bse, rtol=EQUAL)


def test_partitions_are_those_of_the_frame_whatever_is_read(lazy):
    """To the last bit, as of the same rows in partitions that no reader joins."""
    parts = [dask.delayed(lazy.partitions[i].compute()) for i in range(FILES)]
    fits = [Logit.from_formula("y ~ x1 + g", d).fit(**CLUSTERS) for d in (lazy, dd.from_delayed(parts))]
    one, two = ([np.asarray(f.params).tobytes(), np.asarray(f.cov_params()).tobytes(), f.llf] for f in fits)
    assert one == two


@pytest.mark.parametrize("Model", [Logit, MNLogit, LDA])
def test_margins_by_group(lazy, table, Model):
    formula = "y ~ x1 + g" if Model is Logit else "k ~ x1 + x2"
    found, want = (Model.from_formula(formula, d).fit().get_margeff(variables="x1", over="firm") for d in (lazy, table))
    np.testing.assert_allclose(found.margeff, want.margeff, rtol=1e-8)


def test_margins_of_new_rows_by_group(lazy, table):
    fit = Logit.from_formula("y ~ x1 + g", table).fit()
    found, want = (fit.get_margeff(variables="x1", newdata=d, over="year").margeff for d in (lazy, table))
    np.testing.assert_allclose(found, want, rtol=1e-8)


def test_partitions_that_are_cut_by_size(lazy, table):
    ddf = lazy.repartition(partition_size="20kB")
    assert_equal(Logit.from_formula("y ~ x1", ddf).fit(**CLUSTERS), Logit.from_formula("y ~ x1", table).fit(**CLUSTERS))


# ------------------------------------------------------------------------------------------------------- errors


def test_an_error_of_a_fit_names_the_partition_of_the_frame(table, tmp_path):
    for i in range(FILES):
        rows = table.iloc[i * ROWS : (i + 1) * ROWS]
        rows.assign(x1=np.where(rows.index % ROWS == 7, 0.0 if i == 9 else 1.0, 2.0)).to_parquet(
            tmp_path / f"{i:02}.parquet"
        )
    ddf = dd.read_parquet(tmp_path)
    with pytest.raises(DataError, match=r"^partition 9 of the Dask DataFrame: .*np.log\(x1\).* is infinite"):
        Logit.from_formula("y ~ np.log(x1)", ddf)


def test_an_error_of_joined_partitions_names_their_rows(table, tmp_path):
    fit = Logit.from_formula("y ~ x1 + g", table).fit()
    for i in range(FILES):
        rows = table.iloc[i * ROWS : (i + 1) * ROWS]
        rows.assign(g=np.where(rows.index == 9 * ROWS + 7, "q", rows.g)).to_parquet(tmp_path / f"{i:02}.parquet")
    lazy = fit.predict(dd.read_parquet(tmp_path))
    with pytest.raises(UnseenLevelError, match=r'joined partitions \(rows .*"g" has level "q"') as found:
        lazy.compute()
    first, last = map(int, re.search(r"rows (\d+) to (\d+)", str(found.value)).groups())
    assert first <= 9 * ROWS + 7 <= last


# -------------------------------------------------------------------------------------------------- predictions
USES = {
    "filter": (lambda d, p: d[p > 0.5].x2.sum(), lambda t, p: t.x2[p > 0.5].sum()),
    "length": (lambda d, p: len(d[p > 0.5]), lambda t, p: (p > 0.5).sum()),
    "column": (lambda d, p: d.x5[p > 0.5].sum(), lambda t, p: t.x5[p > 0.5].sum()),
    "columns": (lambda d, p: len(d[["x4", "x5"]][p > 0.5]), lambda t, p: (p > 0.5).sum()),
    "assign": (lambda d, p: (d.assign(p=p).p * d.x2).sum(), lambda t, p: (p * t.x2).sum()),
    "grouped": (lambda d, p: d.assign(p=p).groupby("g").p.mean().sum(), lambda t, p: p.groupby(t.g).mean().sum()),
    "beside": (
        lambda d, p: d.map_partitions(lambda rows, p: (rows.x6 * p).sum(), p, meta=("s", float)).sum(),
        lambda t, p: (t.x6 * p).sum(),
    ),
    "alone": (lambda d, p: p.sum(), lambda t, p: p.sum()),
    "assigned": (lambda d, p: d.assign(z=d.x1 * 2)[p > 0.5].z.sum(), lambda t, p: 2 * t.x1[p > 0.5].sum()),
}


@pytest.mark.parametrize("use", USES)
def test_predictions_stay_beside_their_frame(lazy, table, use):
    fit = Logit.from_formula("y ~ x1 + x2", table).fit()
    of_lazy, of_table = USES[use]
    (found,) = dask.compute(of_lazy(lazy, fit.predict(lazy)))
    assert found == pytest.approx(of_table(table, fit.predict(table)), rel=1e-12)


def test_predictions_of_two_models_stay_beside_each_other(lazy, table):
    fits = [Logit.from_formula(f, table).fit() for f in ("y ~ x1 + g", "y ~ x3")]
    one, two = (fit.predict(lazy) for fit in fits)
    p, q = (fit.predict(table) for fit in fits)
    assert (one - two).abs().sum().compute() == pytest.approx((p - q).abs().sum(), rel=1e-12)
    assert len(lazy[(one > 0.5) & (two > 0.5)]) == ((p > 0.5) & (q > 0.5)).sum()


@pytest.mark.parametrize("name", FITS)
def test_predictions_are_those_in_memory(lazy, table, name):
    Model, formula, options, _ = FITS[name]
    fit = Model.from_formula(formula, table, **options).fit()
    np.testing.assert_allclose(fit.predict(lazy).compute(), fit.predict(lazy.compute()), rtol=1e-13)


def test_predictions_read_the_columns_that_they_need(lazy, table):
    found = Logit.from_formula("y ~ x1 + x2", table).fit().predict(lazy).optimize(fuse=False)
    steps = [e.operand("_expr") if "Fused" in type(e).__name__ else e for e in found.expr.walk()]
    assert [sorted(e.columns) for e in steps if "ReadParquet" in type(e).__name__] == [["x1", "x2"]]
