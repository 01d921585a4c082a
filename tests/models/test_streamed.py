"""Fits over data in parts equal those to the same rows in memory: estimates, covariances, likelihoods, names, notes."""

import numpy as np
import pandas as pd
import pytest

from glmclf import CLogLog, Logit, MNLogit, Probit
from glmclf.data import sources
from glmclf.errors import (
    CollinearityWarning,
    DataError,
    FormulaError,
    InferenceWarning,
    MissingDataError,
    PerfectSeparationError,
    UnseenLevelError,
)

N = 3_000
EQUAL = 1e-10


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    x = rng.normal(size=N)
    d = pd.DataFrame({"x": x, "z": rng.exponential(size=N), "g": rng.choice(list("abcd"), N)})
    d["k"] = rng.integers(0, 4, N)
    eta = x - 0.5 * d.z + (d.g == "b") - 0.3
    d["y"] = np.where(rng.uniform(size=N) < 1 / (1 + np.exp(-eta)), "yes", "no")
    d["m"] = rng.choice(["u", "v", "w"], N, p=[0.5, 0.3, 0.2])
    d["f"] = rng.integers(0, 4, N)
    d["w"] = rng.uniform(0.5, 2.0, N)
    d["o"] = rng.normal(size=N)
    d["s"], d["t"] = rng.integers(0, 6, N), rng.integers(0, 6, N)
    d["share"] = rng.integers(0, 5, N) / 4
    d["firm"] = rng.integers(0, 60, N).astype(str)
    d["year"] = rng.integers(2000, 2030, N)
    d.loc[rng.integers(0, N, 40), "z"] = np.nan
    d.loc[rng.integers(0, N, 10), "y"] = None
    d.loc[d.index < 700, "g"] = d.g[d.index < 700].replace("d", "a")  # a level that the first part does not have
    return d


TABLE = _table()
CUTS = [0, 650, 650, 651, 1900, N]  # parts of 650, 0, 1, 1249 and 1100 rows
FEW = TABLE.iloc[600:800]  # for what solves linear programs


def parts(table: pd.DataFrame = TABLE, cuts: list[int] = CUTS):
    """A function that gives the table in parts."""

    def tables():
        for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
            yield table.iloc[start:stop]

    return tables


def same(streamed, whole, tol: float = EQUAL) -> None:
    """Everything that a summary shows."""
    for name in ("params", "bse"):
        a, b = getattr(streamed, name), getattr(whole, name)
        assert list(a.index) == list(b.index)
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=tol, atol=1e-13)
    np.testing.assert_allclose(streamed.cov_params(), whole.cov_params(), rtol=1e-8, atol=1e-12)
    for name in ("llf", "llnull", "df_model", "df_resid", "nobs"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=tol)
    lost = ("Data:", "Solver:", "Date:", "Time:")
    a, b = (
        [line.strip("= ") for line in str(r.summary()).splitlines() if not line.startswith(lost)]
        for r in (streamed, whole)
    )
    assert a == b


CASES = {
    "factor": (Logit, "y ~ x + np.log(z) + g", {}, {}),
    "event": (Logit, "y ~ x * C(k)", {"event": "no"}, {}),
    "frequencies": (Probit, "y ~ x + g", {"freq_weights": "f"}, {}),
    "sampling weights": (Logit, "y ~ x + z", {"weights": "w"}, {}),
    "offset": (CLogLog, "y ~ x + z", {"offset": "o"}, {}),
    "counts": (Logit, "s + t ~ x + g", {}, {}),
    "fractions": (Logit, "share ~ x", {}, {}),
    "no constant": (Logit, "y ~ 0 + g + x", {}, {}),
    "number as label": (Logit, "I(k > 1) ~ x + z", {}, {}),
    "subset": (Logit, "y ~ x + g", {"subset": "z > 0.2 and g != 'c'"}, {}),
    "HC1": (Logit, "y ~ x + g", {}, {"cov_type": "HC1"}),
    "HC3": (Logit, "y ~ x + g", {"freq_weights": "f"}, {"cov_type": "HC3"}),
    "clusters": (Logit, "y ~ x + g", {}, {"cov_type": "cluster", "cov_kwds": {"groups": "firm"}}),
    "two groupings": (Logit, "y ~ x + g", {}, {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}}),
    "firth": (Logit, "y ~ x + g", {}, {"bias_reduction": "firth"}),
    "median": (Probit, "y ~ x + g", {}, {"bias_reduction": "median"}),
    "newton": (CLogLog, "y ~ x + g", {}, {"method": "newton"}),
    "lbfgs": (Logit, "y ~ x + g", {}, {"method": "lbfgs"}),
    "splines": (Logit, "y ~ bs(x, df=5) + standardize(np.log(z)) + qcut(z, 3)", {}, {}),
    "polynomial": (Probit, "y ~ poly(x, 3)", {"freq_weights": "f"}, {}),
    "classes": (MNLogit, "m ~ x + g", {"reference": "v"}, {}),
    "class counts": (MNLogit, "s + t + f ~ x", {}, {}),
    "classes, offset and weights": (MNLogit, "m ~ x", {"offset": "o", "weights": "w"}, {"cov_type": "HC0"}),
    "numbers as classes": (MNLogit, "k ~ x + z", {"freq_weights": "f"}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_fit_in_memory(case):
    model, formula, keywords, fit = CASES[case]
    streamed, whole = (model.from_formula(formula, data, **keywords).fit(**fit) for data in (parts(), TABLE))
    same(streamed, whole)


PENALISED = {
    "counts": (Probit, "s + t ~ x + g", {}, {"alpha": 0.01}),
    "frequencies": (Logit, "y ~ x + g", {"freq_weights": "f"}, {"alpha": 0.01, "L1_wt": 0.5}),
    "sampling weights": (CLogLog, "y ~ x + g", {"weights": "w"}, {"alpha": {"x": 0.1}}),
    "no penalty": (MNLogit, "m ~ x + g", {}, {"alpha": 0.0}),
    "combinations of others": (Logit, "y ~ x + I(2 * x + 1)", {}, {"alpha": 0.01}),
    "no constant": (Logit, "y ~ 0 + g + x", {}, {"alpha": 0.01}),
}


@pytest.mark.filterwarnings("ignore:The columns span a constant")
@pytest.mark.parametrize("case", PENALISED)
def test_penalised_fits_are_sums(case):
    model, formula, keywords, fit = PENALISED[case]
    data = parts(FEW, [0, 90, 200]), FEW
    streamed, whole = (model.from_formula(formula, d, **keywords).fit_regularized(**fit) for d in data)
    np.testing.assert_allclose(streamed.params, whole.params, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(streamed.df_model, whole.df_model, rtol=1e-8)
    lost = ("Data:", "Solver:", "Date:", "Time:")
    a, b = ([x for x in str(r.summary()).splitlines() if not x.startswith(lost)] for r in (streamed, whole))
    assert a == b


def test_a_large_offset_is_centred():
    d = TABLE.assign(o=TABLE.o + 1e6)
    same(Logit.from_formula("y ~ x", parts(d), offset="o").fit(), Logit.from_formula("y ~ x", d, offset="o").fit())


def test_ill_conditioned_columns_are_fitted_in_a_basis():
    d = TABLE.assign(far=1e7 + TABLE.x, near=TABLE.x + 1e-7 * TABLE.o)
    formula = "y ~ far + near"
    same(Logit.from_formula(formula, parts(d)).fit(), Logit.from_formula(formula, d).fit(), tol=1e-6)


def test_subsample_is_the_same_however_rows_are_parted():
    n = 40_000
    rng = np.random.default_rng(2)
    d = pd.DataFrame({"x": rng.normal(size=n)})
    d["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-d.x))).astype(int)
    fits = [Logit.from_formula("y ~ x", parts(d, cuts)).fit() for cuts in ([0, 17_001, n], [0, 5, 30_000, n])]
    whole = Logit.from_formula("y ~ x", d).fit()
    for fit in fits:
        same(fit, whole)
        assert fit.mle_retvals["iterations"] == whole.mle_retvals["iterations"]


@pytest.mark.parametrize("kind", ["file", "folder", "dataset", "path", "csv", "compressed csv"])
def test_files(kind, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(sources, "ROWS", 700)
    if "csv" in kind:
        data = str(tmp_path / ("t.csv.gz" if "compressed" in kind else "t.csv"))
        TABLE.to_csv(data, index=False)
    elif kind == "folder":
        for number, start in enumerate(range(0, N, 800)):
            TABLE.iloc[start : start + 800].to_parquet(tmp_path / f"part-{number}.parquet")
        data = str(tmp_path)
    else:
        data = tmp_path / "t.parquet"
        TABLE.to_parquet(data, row_group_size=512)
        if kind == "dataset":
            import pyarrow.dataset

            data = pyarrow.dataset.dataset(data)
    res = Logit.from_formula("y ~ x + np.log(z) + g", data).fit()
    same(res, Logit.from_formula("y ~ x + np.log(z) + g", TABLE).fit())
    assert "Data:" in str(res.summary())


def test_a_file_is_held_in_part_only(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(sources, "ROWS", 2**13)
    path, n = tmp_path / "t.parquet", 2**18
    rng = np.random.default_rng(1)
    pd.DataFrame({name: rng.normal(size=n) for name in "abcd"}).to_parquet(path, row_group_size=2**13)
    before = pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in sources.Parquet(path).tables()]
    assert len(held) == 32
    assert max(held) < path.stat().st_size / 2


def test_categories_keep_their_order_where_parts_agree_on_it():
    d = TABLE.assign(g=pd.Categorical(TABLE.g, categories=list("dcba")))
    same(Logit.from_formula("y ~ g", parts(d)).fit(), Logit.from_formula("y ~ g", d).fit())

    def own():
        for table in parts()():
            yield table.assign(g=table.g.astype("category"))

    same(Logit.from_formula("y ~ g", own).fit(), Logit.from_formula("y ~ g", TABLE).fit())


def test_the_same_bits_each_time():
    a, b = (Logit.from_formula("y ~ x + g", parts()).fit(cov_type="HC0") for _ in range(2))
    assert a.params.tolist() == b.params.tolist() and a.bse.tolist() == b.bse.tolist() and a.llf == b.llf


def test_predictions_saving_and_loading(tmp_path):
    from glmclf import load

    res = Logit.from_formula("y ~ bs(x, df=4) + g", parts()).fit()
    whole = Logit.from_formula("y ~ bs(x, df=4) + g", TABLE).fit()
    new = TABLE.head(50)
    np.testing.assert_allclose(res.predict(new), whole.predict(new), rtol=1e-10)
    res.save(tmp_path / "r.json")
    loaded = load(tmp_path / "r.json")
    assert loaded.predict(new).tolist() == res.predict(new).tolist()
    assert str(loaded.summary()).split("Data:")[0] == str(res.summary()).split("Data:")[0]


def test_collinear_columns_are_left_out():
    d = TABLE.assign(twice=2 * TABLE.x - TABLE.o, none=0.0)
    with pytest.warns(CollinearityWarning, match="twice"):
        res = Logit.from_formula("y ~ x + o + twice + none", parts(d)).fit()
    with pytest.warns(CollinearityWarning):
        whole = Logit.from_formula("y ~ x + o + twice + none", d).fit()
    assert res.params.isna().tolist() == [False, False, False, True, True]
    same(res, whole)


# -------------------------------------------------------------------------------------------------- separation
@pytest.mark.parametrize("model", [Logit, Probit, CLogLog], ids=lambda m: m.__name__)
@pytest.mark.parametrize("kind", ["complete", "quasi-complete"])
def test_separation_is_named(model, kind):
    y = FEW.x + FEW.o > 0.1 if kind == "complete" else (FEW.g == "c") | (FEW.w > 1.2)
    d = FEW.assign(y=y.astype(int))
    formula, names = ("y ~ x + o", ["x", "o"]) if kind == "complete" else ("y ~ x + g", ["g[T.c]"])
    count = len(d) if kind == "complete" else int((d.g == "c").sum())
    with pytest.raises(PerfectSeparationError, match=f"{kind} separation of y: {count} of {len(d)} rows") as error:
        model.from_formula(formula, parts(d, [0, 90, 90, 91, 200])).fit()
    assert all(f'"{name}" (inf)' in str(error.value) for name in names)


def test_separation_of_several_classes_is_named():
    d = FEW.assign(m=np.where(FEW.g == "c", "u", FEW.m))
    with pytest.raises(PerfectSeparationError, match=r'"g\[T.c\]" of \'v\' \(-inf\), "g\[T.c\]" of \'w\' \(-inf\)'):
        MNLogit.from_formula("m ~ x + g", parts(d, [0, 90, 90, 91, 200])).fit()


def test_one_row_that_overlaps_is_found():
    d = TABLE.assign(y=(TABLE.x > 0.1).astype(int))
    d.loc[(d.x - 0.1).where(d.x > 0.1).nsmallest(2).index[1], "y"] = 0
    with pytest.warns(InferenceWarning, match="all but separated"):
        whole = Logit.from_formula("y ~ x", d).fit()
    with pytest.warns(InferenceWarning, match="all but separated"):
        same(Logit.from_formula("y ~ x", parts(d)).fit(), whole, tol=1e-7)


@pytest.mark.parametrize(
    "formula",
    [
        *("y ~ x - 1", "y ~ 0 + one + x", "y ~ g:x - 1", "y ~ 0 + bs(x, df=4, include_intercept=True)"),
        "y ~ 0 + cr(x, df=4)",
    ],
)
def test_a_constant_is_found_in_the_span(formula):
    d = TABLE.assign(one=2.0)
    streamed, whole = (Logit.from_formula(formula, data).fit() for data in (parts(d), d))
    assert streamed.model.k_constant == whole.model.k_constant == int("x - 1" not in formula)
    same(streamed, whole)


def test_clusters_are_told_by_their_values_whatever_the_type_of_their_column():
    types = ["int64", "uint64", "Int64", "float64", "category"]
    cuts = [0, 500, 1000, 1500, 2000, N]

    def typed(d):
        for start, stop, kind in zip(cuts[:-1], cuts[1:], types, strict=True):
            yield d.iloc[start:stop].astype({"year": kind})

    options = {"cov_type": "cluster", "cov_kwds": {"groups": "year"}}
    whole = Logit.from_formula("y ~ x", TABLE).fit(**options)
    same(Logit.from_formula("y ~ x", lambda: typed(TABLE)).fit(**options), whole)
    types[3] = "int64"  # no float tells whole numbers above 2**53 apart
    same(Logit.from_formula("y ~ x", lambda: typed(TABLE.assign(year=TABLE.year + 2**60))).fit(**options), whole)


def test_ids_beside_missing_ones_stay_apart():
    d = TABLE.assign(year=(TABLE.year + 2**60).astype("Int64"))
    d.loc[5, ["year", "x"]] = pd.NA, np.nan
    options = {"cov_type": "cluster", "cov_kwds": {"groups": "year"}}
    whole = Logit.from_formula("y ~ x", TABLE.drop(index=5)).fit(**options)
    for data in (d, parts(d)):
        same_errors = Logit.from_formula("y ~ x", data).fit(**options).bse
        np.testing.assert_allclose(same_errors, whole.bse, rtol=1e-12)


def test_rows_without_a_group_and_the_part_are_named():
    lost = TABLE.assign(firm=TABLE.firm.where((TABLE.index < 700) | (TABLE.index > 702)))
    with pytest.raises(MissingDataError, match=r"part 4 of .*firm: the group is missing in 3 rows .*\[700, 701, 702\]"):
        Logit.from_formula("y ~ x", parts(lost)).fit(cov_type="cluster", cov_kwds={"groups": "firm"})


def test_rows_that_are_no_counts_are_counted_and_the_part_is_named():
    broken = TABLE.assign(s=TABLE.s + 0.5 * (TABLE.index >= 1900))
    for model, formula in ((Logit, "s + t ~ x"), (MNLogit, "t + s + f ~ x")):
        with pytest.raises(DataError, match=r"part 5 of .*\"s\" are not whole numbers in \d{4} of 1100 rows"):
            model.from_formula(formula, parts(broken))


@pytest.mark.parametrize("response", ["m", "k"])
def test_levels_of_weight_zero_are_noted(response):
    d = TABLE.assign(f=(TABLE[response] != TABLE[response].max()).astype(int))
    streamed, whole = (MNLogit.from_formula(f"{response} ~ x", data, freq_weights="f").fit() for data in (parts(d), d))
    assert "no rows used, left out" in str(whole.summary())
    same(streamed, whole)


def test_groups_of_two_types_are_refused():
    with pytest.raises(DataError, match="int, str in different parts"):
        Logit.from_formula("y ~ x", changed(year="2001")).fit(cov_type="cluster", cov_kwds={"groups": "year"})


# -------------------------------------------------------------------------------------- rows that are not the same
@pytest.mark.parametrize("kind", ["fewer parts", "fewer rows", "other values", "another order"])
@pytest.mark.parametrize("after", ["in the fit", "after the fit"])
def test_a_source_that_changes_is_named(kind, after):
    state = {"calls": 0, "from": 10**9}

    def tables():
        state["calls"] += 1
        now = state["calls"] > state["from"]
        order = [0, 1, 2, 4, 3] if now and kind == "another order" else range(5)
        all_parts = list(parts()())
        for i in order:
            table = all_parts[i]
            if now and i == 3 and kind == "fewer parts":
                continue
            if now and i == 3 and kind == "fewer rows":
                table = table.iloc[1:]
            yield table.assign(x=2 * table.x) if now and i == 3 and kind == "other values" else table

    model = Logit.from_formula("y ~ x + g", tables)
    state["from"] = state["calls"] + 1 if after == "in the fit" else 10**9
    words = "same tables each time it is read, also after the fit"
    if after == "in the fit":
        with pytest.raises(DataError, match=words):
            model.fit()
        return
    res = model.fit()
    state["from"] = state["calls"]
    with pytest.raises(DataError, match=words):
        res.with_cov("HC0")


class Turning:
    """A source of which a column is another from some call on, counted from 1."""

    def __init__(self, table: pd.DataFrame, **columns):
        self.table, self.new, self.calls, self.last = table, table.assign(**columns), 0, 10**9

    def __call__(self):
        self.calls += 1
        yield from parts(self.new if self.calls > self.last else self.table, [0, 90, len(self.table)])()


CHANGES = {
    "center": ("y ~ center(x)", {"x": FEW.x * 0.7 + 0.1}, {}, None),
    "poly": ("y ~ poly(x, 2)", {"x": FEW.x * 0.7 + 0.1}, {}, None),
    "offset": ("y ~ 1", {"o": FEW.o + 0.1}, {"offset": "o"}, None),
    "two groups": ("y ~ 1", {"b": (np.arange(200) // 7) % 13}, {}, ["a", "b"]),
}


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("case", CHANGES)
def test_every_pass_reads_what_the_first_one_read(case):
    formula, columns, options, groups = CHANGES[case]
    how = {} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    turning = Turning(FEW.assign(a=np.arange(200) % 12, b=(np.arange(200) // 3) % 13), **columns)

    def fit(data):
        return Logit.from_formula(formula, data, **options).fit(**how)

    old, new = fit(turning), fit(turning.new)
    calls, refused = turning.calls, 0
    for last in range(2 if groups is None else 8, calls):
        turning.calls, turning.last = 0, last
        try:
            found = fit(turning)
        except DataError as error:
            assert "same tables each time it is read, also after the fit" in str(error)
            refused += 1
        else:  # before the first pass or after the last one: never some of both
            assert any(np.allclose(found.bse, one.bse, rtol=1e-12) for one in (old, new)), last
    assert refused > 2


def test_new_data_that_change_while_they_are_read():
    res = Logit.from_formula("y ~ x + g", TABLE).fit()
    turning = Turning(TABLE, x=TABLE.x + 1)
    turning.last = 2
    with pytest.raises(DataError, match='other values of "x" than at first'):
        res.get_margeff(newdata=turning)


def test_ids_that_change_below_the_rounding_of_floats():
    turning = Turning(TABLE.assign(year=2**60 + TABLE.year), year=2**60 + TABLE.year[::-1].to_numpy())
    model = Logit.from_formula("y ~ x", turning)
    model.fit(cov_type="cluster", cov_kwds={"groups": "year"})
    turning.last = turning.calls
    with pytest.raises(DataError, match='other values of "year" than at first'):
        model.fit(cov_type="cluster", cov_kwds={"groups": "year"})


def test_a_pickle_has_what_needs_the_rows(tmp_path):
    import pickle

    few = parts(FEW, [0, 90, 200])
    for formula, fit in (("y ~ x + g", {}), ("s + t ~ x", {}), ("y ~ x", {"bias_reduction": "firth"})):
        res = Logit.from_formula(formula, few).fit(**fit)
        other = pickle.loads(pickle.dumps(Logit.from_formula(formula, few).fit(**fit)))
        assert str(other.summary()) == str(res.summary()) and other.llnull == res.llnull
        res.save(tmp_path / "r.json")


def test_firth_of_separated_rows_has_a_summary():
    d = FEW.assign(h=FEW.g == "c").assign(q=(FEW.g == "c") | (FEW.w > 1.1))
    streamed, whole = (
        Logit.from_formula("q ~ h", data).fit(bias_reduction="firth") for data in (parts(d, [0, 200]), d)
    )
    same(streamed, whole)


# -------------------------------------------------------------------------------------------------- bad input
def changed(**columns):
    """Parts of which the third has other columns."""

    def tables():
        for number, table in enumerate(parts()()):
            yield table.assign(**columns) if number == 3 else table

    return tables


BAD = {
    "no column": (parts(), "y ~ x + nothing", {}, FormulaError, "nothing"),
    "another kind": (changed(x="text"), "y ~ x", {}, DataError, '"x" is 1 column of numbers in part 1 and labels in'),
    "a third class": (changed(y="maybe"), "y ~ x", {}, DataError, "maybe"),
    "weights": (changed(w=-1.0), "y ~ x", {"weights": "w"}, DataError, 'part 4.*weights="w" has negative values'),
    "infinite": (changed(x=np.inf), "y ~ x", {}, DataError, 'part 4.*"x" is infinite'),
    "counts": (changed(s=-1), "s + t ~ x", {}, DataError, "negative"),
    "offset beside": (parts(), "y ~ x", {"offset": TABLE.o}, DataError, "offset= .* name of a column"),
    "no offset": (parts(), "y ~ x", {"offset": "oo"}, DataError, 'offset="oo": no such column'),
    "mask": (parts(), "y ~ x", {"subset": TABLE.x > 0}, DataError, "subset= .* query"),
    "across rows": (parts(), "y ~ x.rank()", {}, NotImplementedError, "depends on other rows"),
    "across rows in a spline": (parts(), "y ~ bs(x.rank(), df=4)", {}, NotImplementedError, "depends on other rows"),
    "missing": (parts(), "y ~ x + z", {"missing": "raise"}, MissingDataError, 'part 1 .*missing values in .*"z"'),
    "nothing left": (parts(), "y ~ x", {"subset": "x > 99"}, MissingDataError, "no complete row is left of the 3000"),
    "one class": (parts(), "y ~ x", {"subset": "y == 'no'"}, DataError, "one class only"),
    "no table": (lambda: iter([]), "y ~ x", {}, DataError, "no table"),
    "no tables": (lambda: TABLE, "y ~ x", {}, DataError, "one after another"),
    "no file": ("nothing.parquet", "y ~ x", {}, DataError, "no such file"),
    "another file": (__file__, "y ~ x", {}, DataError, "Parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_the_part(case):
    data, formula, keywords, error, words = BAD[case]
    with pytest.raises(error, match=words):
        Logit.from_formula(formula, data, **keywords)


def test_a_source_that_is_used_up_is_named():
    tables = iter([TABLE.iloc[:1000], TABLE.iloc[1000:]])
    with pytest.raises(DataError, match="anew|no table|same tables"):
        Logit.from_formula("y ~ x", lambda: tables)


def test_a_file_that_was_written_anew_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path, row_group_size=500)
    res = Logit.from_formula("y ~ x", path).fit()
    path.write_bytes(path.read_bytes()[4000:])
    with pytest.raises(DataError, match=r'(?s)t.parquet" cannot be read .* the same tables each time'):
        res.pred_table()


def test_filters_and_hive_partitions(tmp_path, monkeypatch):
    dataset = pytest.importorskip("pyarrow.dataset")
    monkeypatch.setattr(sources, "ROWS", 500)
    d = TABLE.assign(firm=TABLE.firm.astype(int))
    d.to_parquet(tmp_path / "t", partition_cols=["g"], row_group_size=90)
    whole = Logit.from_formula("y ~ x + g", d).fit()
    same(Logit.from_formula("y ~ x + g", tmp_path / "t").fit(), whole)
    some = dataset.dataset(tmp_path / "t", partitioning="hive").filter(dataset.field("firm") < 40)
    same(Logit.from_formula("y ~ x + g", some).fit(), Logit.from_formula("y ~ x + g", d[d.firm < 40]).fit())


def test_a_source_that_gives_other_rows_is_named():
    calls = []

    def tables():
        calls.append(1)
        yield TABLE.iloc[: 2000 if len(calls) < 4 else 1500]

    with pytest.raises(DataError, match="same tables each time"):
        Logit.from_formula("y ~ x", tables)


def test_levels_that_are_new_at_a_prediction():
    res = Logit.from_formula("y ~ g", parts()).fit()
    with pytest.raises(UnseenLevelError, match='"q"'):
        res.predict(pd.DataFrame({"g": ["a", "q"]}))


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        ({"method": "sgd"}, 'method="sgd"'),
        ({"cov_type": "HAC"}, 'cov_type="HAC"'),
        ({"cov_type": "bootstrap"}, 'cov_type="bootstrap"'),
        ({"cov_type": "jackknife"}, 'cov_type="jackknife"'),
    ],
    ids=str,
)
def test_options_that_need_rows_are_refused_by_name(fit, words):
    with pytest.raises(NotImplementedError, match=words):
        Logit.from_formula("y ~ x", parts()).fit(**fit)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("nothing", "no such column"),
        (TABLE.firm, "names of one or two columns"),
        ("z", "missing in"),
        (["firm", "year", "k"], "one or two groupings, found 3"),
    ],
    ids=["no column", "values", "missing", "three"],
)
def test_groups_are_columns(groups, words):
    with pytest.raises(ValueError, match=words):
        Logit.from_formula("y ~ x", parts()).fit(cov_type="cluster", cov_kwds={"groups": groups})


def test_progress_names_parts(capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tqdm", None)  # as if it were not installed
    Logit.from_formula("y ~ x", parts()).fit(progress=True)
    assert "Logit, irls, iteration 1, llf -" in (said := capsys.readouterr().err) and "part 5 of 5" in said


def test_interruption_ends_at_once_and_leaves_no_thread():
    import threading

    model = Logit.from_formula("y ~ x", parts())

    def stop(*_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        model.fit(callback=stop)
    assert threading.active_count() <= before
    same(model.fit(), Logit.from_formula("y ~ x", TABLE).fit())
