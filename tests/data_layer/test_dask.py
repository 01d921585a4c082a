"""Dask DataFrames: the fits and predictions are those of the same rows in memory, whatever the workers do."""

import _thread
import asyncio
import gc
import os
import pickle
import re
import signal
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, QDA, Logit, MNLogit, NaiveBayes, Probit, rowwise
from glmclf.errors import DataError, MissingDataError, SeparationWarning, UnseenLevelError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")

from glmclf.data.source import dask as sums  # noqa: E402

EQUAL = 1e-10  # of the same sums, added in another order
PARTS = 9


@pytest.fixture(scope="module")
def table():
    """Rows of which the first ninth has one level of g and one class, and others have missing values."""
    g = np.random.default_rng(8)
    n = 900
    t = pd.DataFrame({"x": g.normal(size=n), "z": g.normal(size=n), "times": g.integers(1, 4, n), "w": g.random(n)})
    t["c"] = g.integers(0, 30, n)
    t["g"] = np.where(np.arange(n) < 400, "a", g.choice(list("abcd"), n))
    t["y"] = (g.random(n) < 1 / (1 + np.exp(-t.x + 0.5 * t.z - (t.g == "c")))).astype(int)
    t["k"] = g.choice(["low", "mid", "top"], n)
    t.loc[:99, "y"] = 0
    t.loc[200:299, "x"] = np.nan
    t.index = np.arange(n) * 10
    return t


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Partitions of few rows stay tables of their own."""
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", 0)


def parted(table, sizes=(100,) * PARTS, **types):
    """A Dask DataFrame of partitions of these sizes, its divisions unknown."""
    ends = np.cumsum([0, *sizes])
    frames = [table.iloc[a:b].astype(types) for a, b in zip(ends, ends[1:])]
    meta = frames[0].iloc[:0]
    return dd.from_delayed([dask.delayed(f) for f in frames], meta=meta, verify_meta=False)


def numbers(result):
    """What is compared bit for bit."""
    found = [result.params, result.bse, result.cov_params()]
    return b"".join(np.ascontiguousarray(v, dtype=float).tobytes() for v in [*found, result.llf, result.llnull])


def assert_equal(streamed, whole):
    for name in ("params", "bse"):
        a, b = getattr(streamed, name), getattr(whole, name)
        assert list(a.index) == list(b.index)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=EQUAL, atol=EQUAL)
    for name in ("llf", "llnull", "nobs"):
        assert getattr(streamed, name) == pytest.approx(getattr(whole, name), rel=EQUAL)


FITS = {
    "factor": (Logit, "y ~ x + g", {}, {}),
    "robust": (Logit, "y ~ x * C(g)", {}, {"cov_type": "HC1"}),
    "offset": (Probit, "y ~ x", {"offset": "z", "weights": "w"}, {"cov_type": "HC0"}),
    "repeated": (Logit, "y ~ np.exp(x) + z", {"freq_weights": "times", "subset": "z > -1"}, {}),
    "levels": (MNLogit, "k ~ x + g", {}, {"cov_type": "HC1"}),
    "groups": (Logit, "y ~ bs(z, df=4) + center(x)", {}, {"cov_type": "cluster", "cov_kwds": {"groups": "c"}}),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_in_memory(table, name):
    Model, formula, options, fit = FITS[name]
    streamed = Model.from_formula(formula, parted(table), **options).fit(**fit)
    assert_equal(streamed, Model.from_formula(formula, table, **options).fit(**fit))


def test_limits_of_separated_fits(table):
    d = table.assign(y=np.where(table.g == "d", 1, table.y), k=np.where(table.g == "c", "low", table.k))
    for Model, formula, fit in ((Logit, "y ~ x + g", FITS["groups"][3]), (MNLogit, "k ~ x + g", {})):
        with pytest.warns(SeparationWarning):
            streamed = Model.from_formula(formula, parted(d)).fit(**fit)
        with pytest.warns(SeparationWarning):
            whole = Model.from_formula(formula, d).fit(**fit)
        assert_equal(streamed, whole)
        assert str(streamed.separation) == str(whole.separation)
        np.testing.assert_allclose(streamed.predict(parted(d)).compute(), whole.predict(d), rtol=EQUAL)


@pytest.mark.parametrize("sizes", [(0, 300, 0, 600), (900, 0), (1, 2, 97, 800), (900,)])
def test_partitions_of_any_size(table, sizes):
    whole = Logit.from_formula("y ~ x + g", table).fit()
    assert_equal(Logit.from_formula("y ~ x + g", parted(table, sizes)).fit(), whole)


def test_partitions_with_divisions_and_sorted_index(table):
    ddf = dd.from_pandas(table, npartitions=4)
    assert ddf.known_divisions and not parted(table).known_divisions
    assert_equal(Logit.from_formula("y ~ x + g", ddf).fit(), Logit.from_formula("y ~ x + g", table).fit())


@pytest.mark.parametrize("known", [True, False])
def test_categories_known_or_not(table, known):
    whole = Logit.from_formula("y ~ x + g", table).fit()
    ddf = parted(table, g="category")  # of each partition its own
    ddf = ddf.categorize(columns=["g"]) if known else ddf.assign(g=ddf.g.astype("category"))
    assert ddf.g.cat.known is known
    assert_equal(Logit.from_formula("y ~ x + g", ddf).fit(), whole)


@pytest.mark.parametrize("types", [{"g": "string", "k": "string"}, {"g": object}, {"x": "Float64", "times": "Int64"}])
def test_types_of_columns(table, types):
    whole = Logit.from_formula("y ~ x + g", table, freq_weights="times").fit()
    assert_equal(Logit.from_formula("y ~ x + g", parted(table, **types), freq_weights="times").fit(), whole)


def test_missing_throughout(table):
    with pytest.raises(MissingDataError, match=r"Dask DataFrame: missing values in \"x\" \(100 rows\)"):
        Logit.from_formula("y ~ x", parted(table).partitions[2])


def test_the_order_of_addition_is_one_whatever_a_task_takes(table, monkeypatch):
    rows = table.iloc[300:].head(240)
    runs = {}
    for together in (0, 45, 10**6):
        monkeypatch.setattr(sums, "MAX_ROWS_PER_TASK", together)
        monkeypatch.setattr(sums, "MIN_TASKS_PER_WORKER", 0.01)
        model = Logit.from_formula("y ~ x + z", parted(rows, [20] * 12))
        runs[len(model._rows.stream.source._leaves(12))] = numbers(model.fit(cov_type="HC1"))
    assert list(runs) == [12, 6, 1]
    assert len(set(runs.values())) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 31, 100])
def test_the_tree_pairs_neighbours_level_by_level(n):
    """Against pairs, pairs of pairs, ... with the odd one left over."""

    def levels(items):
        while len(items) > 1:
            pairs = [items[i : i + 2] for i in range(0, len(items), 2)]
            items = ["(" + "".join(pair) + ")" if len(pair) == 2 else pair[0] for pair in pairs]
        return items[0]

    class Text(str):
        def __add__(self, other):
            return Text("(" + str(self) + str(other) + ")")

    items = [f"<{i}>" for i in range(n)]
    assert sums._sum(lambda part, i: Text(part), 0, items) == levels(items)


def test_a_task_is_alone_in_its_thread(table):
    from threadpoolctl import threadpool_info

    from glmclf.core.rows.blocks import Blocks

    source, found = sums.Dask(parted(table)), []

    def look(frame, place):
        blas = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
        found.append((Blocks(np.ones(3), size=1, n_threads=4).n_threads, set(blas)))

    source.sum(look)
    assert len(found) == PARTS and all(n == 1 and blas <= {1} for n, blas in found)


def test_columns_are_projected(table):
    seen = []

    def look(frame):
        seen.append(list(frame.columns))
        return frame

    meta = table.iloc[:0]
    Logit.from_formula("y ~ x", parted(table)[["x", "y", "g"]].map_partitions(look, meta=meta[["x", "y", "g"]])).fit()
    source = sums.Dask(parted(table))
    assert source.sum(lambda frame, place: frame.columns.tolist()[: 2 * (place.number == 0)], ["y", "x"]) == ["y", "x"]
    assert seen and source.sum(lambda frame, place: int(frame.shape[1]), ["y"]) == PARTS


# ------------------------------------------------------------------------------------------------------- errors
def spoilt(table):
    bad = table.copy()
    bad.loc[bad.index[350], "z"] = 0.0
    bad["z"] = bad.z.abs()
    return parted(bad)


def test_an_error_names_the_partition(table):
    with pytest.raises(DataError, match=r"partition 3 of the Dask DataFrame: .*np.log\(z\).* is infinite") as found:
        Logit.from_formula("y ~ np.log(z)", spoilt(table))
    assert not any("/dask/" in str(entry.path) for entry in found.traceback)


def test_a_partition_that_cannot_be_made(table):
    def fails(frame, partition_info=None):
        if partition_info and partition_info["number"] == 2:
            raise RuntimeError("the disk is gone")
        return frame

    with pytest.raises(DataError, match="partition 2 of the Dask DataFrame cannot be computed: RuntimeError: the d"):
        Logit.from_formula("y ~ x", parted(table).map_partitions(fails, meta=table.iloc[:0]))


def test_a_partition_that_cannot_be_made_at_first(table):
    asked = []

    def fails(frame, partition_info=None):
        asked.append(partition_info)
        if len(asked) == 12:
            raise OSError("the disk was away")
        return frame

    ddf = parted(table).map_partitions(fails, meta=table.iloc[:0])
    with dask.config.set(scheduler="synchronous"), pytest.raises(DataError, match="was away.*each partition can be"):
        Logit.from_formula("y ~ x", ddf)


def test_what_a_cluster_cannot_do_says_why(table):
    class KilledWorker(Exception):
        pass

    source = sums.Dask(parted(table))
    for failed, words in {
        KilledWorker("at task 7"): "workers died at a task .* more memory, or take smaller partitions",
        sums.CancelledError("lost"): r"persist\(\).* has lost it.* Make the frame anew",
        ValueError("Missing dependency k"): r"persist\(\).* has lost it.* Make the frame anew",
    }.items():
        error = source._named_error(failed, [])
        assert isinstance(error, DataError) and re.search(words, str(error))


def of_frames(frames):
    """A Dask DataFrame whose description is that of the first."""
    parts = [dask.delayed(frame) for frame in frames]
    return dd.from_delayed(parts, meta=frames[0].iloc[:0], verify_meta=False)


@pytest.mark.parametrize("joined", [0, 10**6])
@pytest.mark.parametrize("what", ["columns", "Series", "None"])
def test_a_partition_of_other_columns(table, what, joined, monkeypatch):
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", joined)
    other = {"columns": table.rename(columns={"x": "u"}), "Series": table.x, "None": None}[what]
    ddf = of_frames([table, other, table])
    lacks = r'partition 1 of the Dask DataFrame has no column "x"'
    match = lacks if what == "columns" else rf"partition 1 of the Dask DataFrame: .* found {type(other).__name__}"
    fit = Logit.from_formula("y ~ x", table).fit()
    with pytest.raises(DataError, match=match):
        Logit.from_formula("y ~ x", ddf)
    with pytest.raises(DataError, match=match.replace(", which the first one has", "")):
        fit.predict(ddf).compute()
    if what == "columns":
        with pytest.raises(DataError, match="^" + lacks):
            whole = of_frames([t.dropna() for t in (table, other, table)])
            Logit.from_formula("y ~ z", whole).fit(cov_type="cluster", cov_kwds={"groups": "x"})


@pytest.mark.parametrize("n", [2, 20])
def test_what_partitions_are_together_is_told_as_it_is(table, n):
    """Types that differ are seen where sums are added, within a task and among them."""
    frames = [table] * (n - 1) + [table.astype({"x": str})]
    with pytest.raises(DataError, match=r'^"x" is 1 column of numbers in partition \d+ and labels in partition'):
        Logit.from_formula("y ~ x", of_frames(frames))
    with pytest.raises(DataError, match=r'^"C\(x\)" mixes values of types float, str'):
        Logit.from_formula("y ~ C(x)", of_frames(frames))


def test_columns_are_chosen_where_files_are_read(table, tmp_path):
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "a.parquet")
    ddf = dd.read_parquet(tmp_path)
    for some in (ddf, ddf[ddf.x > 0]):
        (part,) = sums.Dask(some)._partitions(["y", "x"])
        assert set(part.compute().columns) == {"x", "y"}


# ---------------------------------------------------------------------------------------- partitions of few rows
def test_partitions_of_few_rows_are_joined(table, monkeypatch):
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", 250)
    ddf = parted(table, (25,) * 4 + (0, 0, 100, 100, 300, 300, 0))
    source, places = sums.Dask(ddf), []
    assert source.sum(lambda frame, place: 1) == 11
    source.sum(lambda frame, place: places.append((place.number, place.name, len(frame))), ["x"])
    joined = [(0, "partitions 0 to 6", 200), (1, "partition 7", 100), (2, "partition 8", 300)]
    assert sorted(places) == [*joined, (3, "partitions 9 to 10", 300)]
    assert [(p.number, str(p), len(t)) for t, p in source.tables()] == sorted(places)
    for options in ({}, {"cov_type": "cluster", "cov_kwds": {"groups": "c"}}):
        whole = Logit.from_formula("y ~ center(x) + g", table).fit(**options)
        assert_equal(Logit.from_formula("y ~ center(x) + g", ddf).fit(**options), whole)


def test_which_partitions_are_joined_depends_on_them_alone(table, monkeypatch):
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", 150)
    runs = set()
    for workers in (1, 2, 7):
        with dask.config.set(num_workers=workers):
            runs.add(numbers(Logit.from_formula("y ~ x + g", parted(table, (50,) * 18)).fit(cov_type="HC1")))
    assert len(runs) == 1


def test_partitions_of_unequal_types_stay_apart(table, monkeypatch):
    monkeypatch.setattr(sums, "MIN_ROWS_PER_TABLE", 10**6)
    large = table.assign(c=table.c + 2**53)  # not one number each, as floats
    parts = np.split(np.arange(900), 3)
    frames = [large.iloc[i] for i in parts]
    frames[1] = frames[1].astype({"c": "uint64", "times": "float32"})
    source = sums.Dask(of_frames(frames))
    source.sum(lambda frame, place: 0, ["x", "times"])
    assert source._joined == [(0, 1), (1, 2), (2, 3)]
    fit = {"cov_type": "cluster", "cov_kwds": {"groups": "c"}}
    whole = Logit.from_formula("y ~ z", large).fit(**fit)
    assert_equal(Logit.from_formula("y ~ z", of_frames(frames)).fit(**fit), whole)


@pytest.mark.parametrize("room", [0, 2**28])
def test_arrays_of_small_data_are_kept_in_this_process(table, monkeypatch, room):
    monkeypatch.setattr(sums, "MAX_BYTES_IN_PROCESS", room)
    made = []

    def look(frame):
        made.append(len(frame))
        return frame

    ddf = parted(table).map_partitions(look, meta=table.iloc[:0])
    model = Logit.from_formula("y ~ x + g", ddf)
    before = len(made)
    found = [numbers(model.fit()) for _ in range(2)]
    assert found[0] == found[1] and (len(made) == before) is (room > 0)
    source = model._rows.stream.source
    del model
    gc.collect()
    assert not source._kept


def test_other_collections_are_refused(table):
    ddf = parted(table)
    import dask.array
    import dask.bag

    others = {
        "Series": ddf.x, "Array": dask.array.ones((3, 2)), "Bag": dask.bag.from_sequence([1]),
        "Delayed": dask.delayed(table),
    }  # fmt: skip
    fit = Logit.from_formula("y ~ x", table).fit()
    for name, data in others.items():
        for go in (lambda data=data: Logit.from_formula("y ~ x", data), lambda data=data: fit.predict(data)):
            with pytest.raises(DataError, match=f"Dask {name} where a Dask DataFrame is needed"):
                go()


def test_a_lag_is_refused_where_the_first_partition_is_empty(table):
    with pytest.raises(NotImplementedError, match="depends on other rows"):
        Logit.from_formula("y ~ x.shift(1).fillna(0)", parted(table, (0, 450, 450)))


@pytest.mark.parametrize(("model", "formula"), [(Logit, "y ~ x"), (Logit, "y ~ C(g)"), (LDA, "k ~ center(x)")])
def test_partitions_that_are_others_each_time_are_named(table, model, formula):
    drawn = np.random.default_rng(3)
    rows = table.dropna()
    ddf = parted(rows, (400, 400)).map_partitions(lambda t: t.sample(200, random_state=drawn), meta=rows[:0])
    words = 'other values of "[xyk]" than at first'
    with dask.config.set(scheduler="synchronous"), pytest.raises(DataError, match=words):
        model.from_formula(formula, ddf)


@pytest.mark.filterwarnings("ignore:.*is_categorical_dtype")
def test_categories_of_dask(table):
    ddf = dd.from_pandas(table.astype({"g": object, "k": object}), npartitions=3).categorize(columns=["g", "k"])
    assert_equal(MNLogit.from_formula("k ~ x", ddf).fit(), MNLogit.from_formula("k ~ x", table).fit())
    whole = Logit.from_formula("y ~ x", table).fit()
    ddf = dd.from_pandas(table.astype({"g": "category"}), npartitions=3).categorize(index=True)
    np.testing.assert_array_equal(whole.predict(ddf).compute(), whole.predict(table))


def test_an_interrupt_leaves_all_as_it_was(table, monkeypatch):
    monkeypatch.setattr(sums, "MAX_BYTES_IN_PROCESS", 0)  # each pass is over the partitions
    armed = []

    def interrupts(frame):
        if armed:
            armed.pop()
            _thread.interrupt_main()
            time.sleep(0.2)
        return frame

    ddf = parted(table).map_partitions(interrupts, meta=table.iloc[:0])
    model = Logit.from_formula("y ~ x + g", ddf)
    armed.append(True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit()
            time.sleep(1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not armed
    assert_equal(model.fit(), Logit.from_formula("y ~ x + g", table).fit())


# -------------------------------------------------------------------------------------------------- predictions
PREDICTED = {
    "logit": (Logit, "y ~ x + g", {}),
    "probit": (Probit, "y ~ x", {"offset": "z"}),
    "bool": (Logit, "k == 'low' ~ x + C(g)", {}),
    "levels": (MNLogit, "k ~ x + g", {}),
    "lda": (LDA, "k ~ x + z", {}),
    "qda": (QDA, "k ~ x + z", {}),
    "bayes": (NaiveBayes, "k ~ x + g", {}),
}


LAZY = {"int64": "Int64", "bool": "boolean"}  # of classes, which can be missing in any partition


@pytest.mark.parametrize("which", ["mean", "linear", "class"])
@pytest.mark.parametrize("name", PREDICTED)
def test_predictions_are_lazy(table, name, which):
    Model, formula, options = PREDICTED[name]
    fit = Model.from_formula(formula, table, **options).fit()
    some = table if which == "mean" else table.dropna()
    want, lazy = fit.predict(some, which=which), fit.predict(parted(some, (300, 0, len(some) - 300)), which=which)
    want = want.astype(LAZY.get(str(want.dtype), want.dtype)) if want.ndim == 1 else want
    assert isinstance(lazy, dd.Series if want.ndim == 1 else dd.DataFrame)
    found = lazy.compute()
    (pd.testing.assert_series_equal if want.ndim == 1 else pd.testing.assert_frame_equal)(found, want, rtol=1e-14)
    if want.ndim == 1:
        assert lazy._meta.dtype == want.dtype and lazy._meta.name == want.name
    else:
        assert list(lazy.columns) == list(want.columns)


def test_predictions_for_other_priors_and_thresholds(table):
    fit, ddf = Logit.from_formula("y ~ x", table).fit(), parted(table)
    for options in ({"priors": {0: 0.9, 1: 0.1}}, {"which": "class", "threshold": 0.2}, {"which": "var"}):
        want = fit.predict(table, **options).astype("Int64" if "which" in options and "threshold" in options else float)
        pd.testing.assert_series_equal(fit.predict(ddf, **options).compute(), want, rtol=1e-14)
    fit = LDA.from_formula("k ~ x + z", table).fit()
    with pytest.raises(NotImplementedError, match="needs all rows at once"):
        fit.predict(ddf, priors="estimate")


@pytest.mark.parametrize("left", ["y", "y == 1", "half", "k"])
def test_classes_have_one_dtype_throughout(table, left):
    """In memory it depends on whether one is missing."""
    table = table.assign(half=table.times / 2)
    Model = MNLogit if left in ("half", "k") else Logit
    fit = Model.from_formula(f"{left} ~ x", table).fit()
    lazy = fit.predict(parted(table), which="class")
    found = [lazy.partitions[i].compute().dtype for i in range(PARTS)]
    want = fit.predict(table, which="class")
    dtype = table[left].dtype if left in table else np.dtype(bool)
    assert {str(d) for d in (*found, lazy.dtype, lazy.compute().dtype)} == {LAZY.get(str(dtype), str(dtype))}
    assert lazy.compute().isna().sum() == 100 and lazy.compute().dropna().tolist() == want.dropna().tolist()


def test_predictions_of_a_fit_to_partitions(table):
    ddf = parted(table, g="category")
    fit = Logit.from_formula("y ~ x + g", ddf).fit()
    want = Logit.from_formula("y ~ x + g", table).fit().predict(table)
    pd.testing.assert_series_equal(fit.predict(ddf).compute(), want, rtol=1e-12)


def test_what_predictions_refuse(table):
    ddf = parted(table)
    fit = Logit.from_formula("y ~ x + g", table).fit()
    with pytest.raises(DataError, match='no column "x"'):
        fit.predict(ddf[["g", "z"]])
    with pytest.raises(DataError, match="offset= for the Dask DataFrame is the name of one of its columns"):
        fit.predict(ddf, offset=table.z)
    new = table.copy()
    new.loc[new.index[450], "g"] = "q"
    lazy = fit.predict(parted(new))
    with pytest.raises(UnseenLevelError, match='partition 4 of the Dask DataFrame: "g" has level "q"'):
        lazy.compute()
    lag = Logit.from_formula("y ~ x.shift(1).fillna(0)", table).fit()
    with pytest.raises(NotImplementedError, match=r'"x.shift\(1\).fillna\(0\)" .* depends on other rows'):
        lag.predict(ddf)
    with pytest.raises(NotImplementedError, match=r"\.predict\(ddf\) is lazy"):
        fit.get_prediction(ddf)
    with pytest.raises(NotImplementedError, match=r"\.predict\(ddf\) is lazy"):
        fit.get_distribution(ddf)
    with pytest.raises(DataError, match="where a Dask DataFrame is needed"):
        fit.augment(ddf.x)
    with pytest.raises(TypeError, match=r"predict\(\) got an unexpected keyword argument 'cost'"):
        fit.predict(ddf, cost=1)


def test_tables_beside_predictions_come_by_partition(table):
    fit = Logit.from_formula("y ~ x + g", table).fit()
    found = pd.concat(list(fit.augment(parted(table))))
    pd.testing.assert_frame_equal(found, fit.augment(table), rtol=1e-14, check_dtype=False)


# ------------------------------------------------------------------------------------------------------ cluster
@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def test_an_asynchronous_client_is_refused(table):
    distributed = pytest.importorskip("distributed")
    async def fit():
        cluster = {"processes": False, "n_workers": 0, "dashboard_address": None}
        async with distributed.Client(asynchronous=True, **cluster):
            with pytest.raises(NotImplementedError, match="asynchronous client.*without asynchronous=True"):
                Logit.from_formula("y ~ x", parted(table))

    asyncio.run(fit())


FEW = (100, 200, 0, 600)  # of which the cluster's fits are, a while each


@pytest.fixture
def threaded():
    """Numbers of a fit without the cluster."""

    def fit(Model, formula, ddf, **options):
        with dask.config.set(scheduler="threads"):
            return Model.from_formula(formula, ddf).fit(**options)

    return fit


@pytest.mark.parametrize("name", ["robust", "levels", "groups"])
def test_a_cluster_gives_the_fit_in_memory(client, table, threaded, name):
    Model, formula, options, fit = FITS[name]
    ddf = parted(table, FEW)
    found = Model.from_formula(formula, ddf, **options).fit(**fit)
    assert_equal(found, Model.from_formula(formula, table, **options).fit(**fit))
    assert numbers(found) == numbers(threaded(Model, formula, ddf, **fit))


def test_a_cluster_gives_the_same_bits_again_and_keeps_nothing(client, table, monkeypatch):
    monkeypatch.setattr(sums, "MIN_TASKS_PER_WORKER", 0.01)

    def fit(together):
        monkeypatch.setattr(sums, "MAX_ROWS_PER_TASK", together)
        model = Logit.from_formula("y ~ x + g", parted(table, FEW))
        found = numbers(model.fit())
        assert client.futures
        return found

    assert fit(0) == fit(10**6)
    gc.collect()
    assert _soon(lambda: not client.futures)


def _soon(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
        gc.collect()  # of what other threads have let go since
    return true()


def test_a_worker_killed_in_mid_fit_changes_nothing(client, table, threaded):
    ddf = parted(table, FEW)
    killed = []

    def kill(iteration, params, llf):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    found = Logit.from_formula("y ~ x + g", ddf).fit(callback=kill)
    assert killed
    assert numbers(found) == numbers(threaded(Logit, "y ~ x + g", ddf))
    assert _soon(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)


def test_what_a_cluster_lost_is_made_again(client, table):
    from distributed.client import Future

    model = Logit.from_formula("y ~ x + g", parted(table, FEW))
    whole = numbers(model.fit())
    client.cancel([Future(key, client=client) for key in list(client.futures)], force=True)
    assert numbers(model.fit()) == whole


def test_errors_of_a_cluster_are_ours(client, table):
    with pytest.raises(DataError, match=r"partition 3 of the Dask DataFrame: .* is infinite") as found:
        Logit.from_formula("y ~ np.log(z)", spoilt(table))
    assert not any("/distributed/" in str(entry.path) for entry in found.traceback)
    lock = _thread.allocate_lock()

    @rowwise
    def locked(x):
        with lock:
            return x * 2

    with pytest.raises(DataError, match="cannot be sent to Dask's workers"):
        Logit.from_formula("y ~ locked(x)", parted(table))


def test_an_interrupt_gives_back_what_a_cluster_keeps(client, table, monkeypatch):
    model = Logit.from_formula("y ~ x + g", parted(table, FEW))
    compute, calls = dask.compute, []

    def interrupted(*tasks):
        calls.append(tasks)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(*tasks)

    monkeypatch.setattr(dask, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit()
    calls.clear()
    monkeypatch.undo()
    gc.collect()
    assert _soon(lambda: not client.futures)
    assert_equal(model.fit(), Logit.from_formula("y ~ x + g", table).fit())


def test_what_an_interrupt_leaves_waiting_is_not_reported():
    AllExit = pytest.importorskip("distributed.client").AllExit
    loop, reported = asyncio.new_event_loop(), []
    loop.set_exception_handler(lambda loop, context: reported.append(context["message"]))
    client = SimpleNamespace(loop=SimpleNamespace(asyncio_loop=loop))

    class Interrupted(sums.Dask):
        _client = lambda self: client

    def stopped():
        raise KeyboardInterrupt

    with dask.config.set(scheduler="synchronous"), pytest.raises(KeyboardInterrupt):
        Interrupted(parted(pd.DataFrame({"x": [1.0]}), (1,)))._computed([], dask.delayed(stopped)())
    loop.call_exception_handler({"message": "waits", "exception": AllExit()})
    loop.call_exception_handler({"message": "another", "exception": ValueError()})
    loop.call_exception_handler({"message": "none"})
    loop.close()
    assert reported == ["another", "none"]


def test_what_is_sent_is_small(client, table, monkeypatch):
    sent, dumps = [], sums._pickled

    def watched(value):
        sent.append(len(dumps(value)))
        return dumps(value)

    monkeypatch.setattr(sums, "_pickled", watched)
    unused = np.zeros(10**6)  # a variable of the caller that the formula does not use
    double = rowwise(lambda x: 2 * x)  # noqa: F841
    found = MNLogit.from_formula("k ~ double(x) + g", parted(table, FEW)).fit(cov_type="HC1")
    assert len(sent) > 5 and max(sent) < 8_000 < unused.nbytes
    twice = table.assign(x=2 * table.x)
    np.testing.assert_allclose(found.params, MNLogit.from_formula("k ~ x + g", twice).fit().params, rtol=EQUAL)


def test_a_cluster_predicts(client, table):
    double = rowwise(lambda x: 2 * x)  # noqa: F841
    fit = MNLogit.from_formula("k ~ double(x) + g", table).fit()
    pd.testing.assert_frame_equal(fit.predict(parted(table, FEW)).compute(), fit.predict(table), rtol=1e-14)
    new = table.copy()
    new.loc[new.index[450], "g"] = "q"
    with pytest.raises(UnseenLevelError, match='partition 4 of the Dask DataFrame: "g" has level "q"'):
        fit.predict(parted(new)).compute()


SENT = [(Logit, "fit", ()), (Logit, "fit_constrained", ("x = 0.5",)), (Logit, "fit_regularized", (0.1,)),
        (MNLogit, "fit", ()), (LDA, "fit", ()), (NaiveBayes, "fit", ())]


@pytest.mark.parametrize("Model, fit, options", SENT)
def test_a_result_can_be_sent_before_anything_was_asked_of_it(client, table, Model, fit, options):
    """Its client holds locks while it pickles, for which a pass would wait."""

    def told(result):
        return [line for line in str(result.summary()).splitlines() if "Date:" not in line and "Time:" not in line]

    formula = "y ~ x + z" if Model is Logit else "k ~ x + z"
    result = getattr(Model.from_formula(formula, parted(table, FEW)), fit)(*options)
    assert client.submit(told, result).result(timeout=60) == told(result)


def test_arrays_come_back_from_a_network_as_they_were(table):
    """Sums of arrays that start at any byte are rounded otherwise."""
    n = 65
    raw = np.zeros(8 * n + 1, dtype=np.uint8)
    raw[1:] = np.arange(n, dtype=float).view(np.uint8)
    odd = raw[1:].view(float)
    assert not odd.flags.aligned
    moved = sums._aligned(pd.DataFrame({"a": odd}, copy=False))
    assert moved.a.to_numpy().flags.aligned and moved.a.tolist() == list(range(n))
    kept = sums.Kept([(np.ones((5, 3), order="F"), None)])
    assert kept.__sizeof__() > 5 * 3 * 8
    buffers = []
    again = pickle.loads(pickle.dumps(kept, protocol=5, buffer_callback=buffers.append), buffers=buffers)
    assert not buffers and again[0][0].flags.f_contiguous and (again[0][0] == 1).all()


def test_an_error_of_a_function_is_its_own(table):
    @rowwise
    def small(x):
        if (x > 1).any():
            raise ValueError("too large")
        return x

    lazy = Logit.from_formula("y ~ small(x)", table[table.x < 1]).fit().predict(parted(table))
    with pytest.raises(DataError, match=r"partition \d of .* cannot be evaluated: ValueError: too large"):
        lazy.compute()


@pytest.mark.parametrize("Model", [Logit, MNLogit, LDA, QDA, NaiveBayes])
def test_arrays_of_dask_are_refused(table, Model):
    ddf = parted(table)
    arrays = ddf.y.to_dask_array(), ddf[["x"]].to_dask_array()
    for endog, exog in (arrays, (ddf.k, ddf[["x"]]), (table.k, ddf[["x"]]), (ddf.k, table[["x"]])):
        with pytest.raises(DataError, match=r"found a Dask \w+ where .* from_formula\("):
            Model(endog, exog)


def test_margins_at_a_dask_frame(table):
    fit = Logit.from_formula("y ~ x", table).fit()
    with pytest.raises(ValueError, match='^at=DataFrame: "overall", .* DataFrame in memory.*ddf.compute.*newdata='):
        fit.get_margeff(at=parted(table))


def test_predictions_of_a_file_stay_beside_its_rows(table, tmp_path):
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=max(1, len(table) // 8))
    ddf = dd.read_parquet(tmp_path / "rows.parquet", split_row_groups=1)
    fit = Logit.from_formula("y ~ x", table).fit()
    beside = ddf.assign(p=fit.predict(ddf)).compute()
    np.testing.assert_array_equal(beside.p, fit.predict(beside[["x"]]))
    assert len(beside) == len(table)
