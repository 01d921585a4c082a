"""Fits over data in parts equal those to the same rows in memory: estimates, covariances, likelihoods, names, notes."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, detect_separation
from glmclf.core.design.dense import Dense
from glmclf.core.likelihood import links
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation import stream as streamed_limit
from glmclf.data.source import base, kept
from glmclf.data.source.parquet import Parquet
from glmclf.errors import (
    CollinearityWarning,
    DataError,
    FormulaError,
    InferenceWarning,
    MissingDataError,
    PerfectSeparationError,
    SeparationWarning,
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
    "HC4": (Probit, "y ~ x + g", {"freq_weights": "f"}, {"cov_type": "HC4"}),
    "HC4m": (CLogLog, "y ~ x + g", {}, {"cov_type": "HC4m"}),
    "HC5": (Logit, "y ~ x + g", {"freq_weights": "f"}, {"cov_type": "HC5"}),
    "HC5 of weights": (Logit, "y ~ x + g", {"weights": "w"}, {"cov_type": "HC5"}),
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
    monkeypatch.setattr(base, "PART_ROWS", 700)
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
    monkeypatch.setattr(base, "PART_ROWS", 2**13)
    path, n = tmp_path / "t.parquet", 2**18
    rng = np.random.default_rng(1)
    pd.DataFrame({name: rng.normal(size=n) for name in "abcd"}).to_parquet(path, row_group_size=2**13)
    before = pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in Parquet(path).tables()]
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
RARE = FEW.assign(
    whole=(FEW.x + FEW.o > 0.1).astype(int),
    one=((FEW.g == "c") | (FEW.w > 1.2)).astype(int),
    two=((FEW.g == "c") | ((FEW.w > 1.2) & (FEW.g != "d"))).astype(int),
    m=np.where(FEW.g == "c", "u", FEW.m),
    s=np.where(FEW.g == "c", 0, FEW.s),
    t=FEW.t + 1,
    far=1e7 + FEW.x,
    twice=2 * FEW.x,
    large=FEW.o + 1e6,
)
SORTED = RARE.sort_values("g", kind="stable")  # parts that are decided altogether, levels of one part
CLUSTERS = {"cov_type": "cluster", "cov_kwds": {"groups": ["firm", "year"]}}
SEPARATED = {
    "complete": (Logit, "whole ~ x + o", {}, {}),
    "one level": (CLogLog, "one ~ x + g", {}, {"cov_type": "HC3"}),
    "two levels": (Probit, "two ~ x + g", {}, {"cov_type": "expected"}),
    "both signs": (Logit, "two ~ x * g", {}, {}),
    "offset": (Logit, "two ~ x + g", {"offset": "large"}, {}),
    "frequencies": (Logit, "two ~ x + g", {"freq_weights": "f"}, {"cov_type": "HC1", "method": "lbfgs"}),
    "sampling weights": (Logit, "two ~ x + g", {"weights": "w"}, {}),
    "clusters": (Logit, "two ~ x + g", {}, CLUSTERS),
    "collinear": (Logit, "two ~ twice + x + g", {}, {}),
    "ill-conditioned": (Logit, "two ~ far + g", {}, {}),
    "counts": (Logit, "s + t ~ x + g", {}, {}),
    "classes": (MNLogit, "m ~ x + g", {"offset": "o", "weights": "w"}, {"cov_type": "HC0"}),
    "classes, clusters": (MNLogit, "m ~ x + g", {}, CLUSTERS),
    "class counts": (MNLogit, "s + t + f ~ x + g", {}, {}),
}


def fits(model, formula, table, cuts=(0, 90, 90, 91, 200), fit=None, **keywords):
    """A fit over parts, one in memory, and the kinds of warnings of each."""
    found = []
    for data in (parts(table, cuts), table):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            res = model.from_formula(formula, data, **keywords).fit(**(fit or {}))
        found += [res, [(w.category, str(w.message).split(", such as")[0].split(")")[0]) for w in said]]
    return found


def same_limit(streamed, whole, new, tol: float = EQUAL) -> None:
    same(streamed, whole, tol)
    found, expected = streamed.separation, whole.separation
    assert str(found) == str(expected) and found.rows is None and found.directions.equals(expected.directions)
    np.testing.assert_allclose(streamed.predict(new), whole.predict(new), rtol=tol, atol=1e-13)


@pytest.mark.parametrize("case", SEPARATED)
def test_limits_are_those_in_memory(case):
    model, formula, keywords, fit = SEPARATED[case]
    table = SORTED if case in ("two levels", "clusters", "classes") else RARE
    streamed, said, whole, expected = fits(model, formula, table, fit=fit, **keywords)
    assert said == expected and any(kind is SeparationWarning for kind, _ in said)
    new = RARE.assign(x=-RARE.x, twice=-RARE.twice, g=RARE.g.to_numpy()[::-1]).head(30)
    same_limit(streamed, whole, new, 1e-6 if case == "ill-conditioned" else EQUAL)


@pytest.mark.parametrize(
    ("model", "formula"),
    [(Logit, "two ~ x + I(g == 'c') + I(g == 'd')"), (MNLogit, "m ~ x + g")],
    ids=["binary", "several"],
)
def test_what_follows_from_a_limit(model, formula):
    import pickle

    streamed, _, whole, _ = fits(model, formula, RARE, (0, 90, 200))
    numbers = {
        "tests of fit": lambda r: r.gof_test(groups=5),
        "decisions": lambda r: r.pred_table(),
        "R squared": lambda r: r.pseudo_rsquared(),
        "other covariances": lambda r: r.with_cov("HC1").bse,
    }
    if model is MNLogit:
        numbers["another base"] = lambda r: r.rebase("w").with_cov("HC0").conf_int()
    else:
        numbers["profiles at infinity"] = lambda r: r.hauck_donner.astype(float)
        numbers["likelihood ratios"] = lambda r: r.anova()
    for name, of in numbers.items():
        np.testing.assert_allclose(of(streamed), of(whole), rtol=1e-7, atol=1e-12, err_msg=name)
    copy = pickle.loads(pickle.dumps(streamed))
    assert copy.summary().tables[1].as_text() == streamed.summary().tables[1].as_text()
    np.testing.assert_array_equal(copy.predict(RARE), streamed.predict(RARE))
    with pytest.raises(NotImplementedError, match="fittedvalues needs the rows"):
        _ = streamed.fittedvalues


def test_separation_may_be_an_error():
    words = r'"g\[T.c\]" \(inf\), "g\[T.d\]" \(-inf\) is infinite \(quasi-complete separation of two: 69 of 200 rows'
    with pytest.raises(PerfectSeparationError, match=words):
        Logit.from_formula("two ~ x + g", parts(RARE, [0, 90, 200])).fit(separation="raise")
    with pytest.raises(PerfectSeparationError, match="under the constraints x = 0"):
        Logit.from_formula("two ~ x + g", parts(RARE, [0, 90, 200])).fit_constrained("x = 0")


# rows (u, v, y) of which events say v >= u >= 0 by two of them that the others do not imply
WEDGE = [[1, 1, 1], [-1, 2, 1], [0, 0, 0], [-1, 1, 1], [1, 0, 1], [0, 0, 1]]


def test_separation_is_detected_by_all_rows(monkeypatch):
    monkeypatch.setattr(streamed_limit, "MAX_ROWS_PER_PASS", 1)
    d = pd.DataFrame(WEDGE, columns=["u", "v", "y"])
    found = detect_separation("y ~ u + v", parts(d, [0, 3, 6]))
    assert str(found) == 'quasi-complete separation of y: "u" (inf), "v" (inf); 4 of 6 rows'
    assert found == replace(detect_separation("y ~ u + v", d), rows=None)
    assert detect_separation("one ~ x", parts(RARE, [0, 90, 200])) is None
    several = detect_separation("m ~ x + g", parts(RARE, [0, 90, 200]), "mnlogit")
    assert str(several) == str(detect_separation("m ~ x + g", RARE, "mnlogit"))


def test_a_row_on_the_edge_of_the_directions_objects():
    """d = (1, 1) in {u, v >= 0} leaves an event at (1, -1) where it is, and (1, 0) does not: it bounds the cone."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    objective = Objective(Binomial(links.LogitLink()), Blocks(Dense(X), np.array([1, 1, 1, 0]), None, None, None))
    for basis, count in (([[1.0, 1.0], [1.0, -1.0]], 1), ([[1.0], [1.0]], 0)):
        found = streamed_limit._looked_at(objective, np.array(basis), np.eye(2), 1e-11, False).farthest
        assert found.against == count
        assert found.arrays[0][0].tolist() == [1.0, -1.0] or not count


def test_a_gap_of_seconds_is_seen_from_far():
    """Three seconds within a year, counted from 1970."""
    t = np.sort(1.7e9 + np.round(np.random.default_rng(5).uniform(0, 3e7, 200)))
    t[100:] += 3 - (t[100] - t[99])
    d = pd.DataFrame({"t": t, "y": np.arange(200) >= 100}).sample(frac=1.0, random_state=1)
    found = detect_separation("y ~ t", parts(d, [0, 90, 200]))
    assert str(found) == 'complete separation of y: "Intercept" (-inf), "t" (inf); 200 of 200 rows'
    d.loc[100, "y"], d.loc[101, "t"] = False, t[100] - 1
    assert detect_separation("y ~ t", parts(d, [0, 90, 200])) is None


def test_few_rows_a_pass_lead_to_the_same_limit(monkeypatch):
    monkeypatch.setattr(streamed_limit, "MAX_ROWS_PER_PASS", 1)
    streamed, _, whole, _ = fits(Logit, "whole ~ x + o + w", RARE)
    same_limit(streamed, whole, RARE.assign(x=-RARE.x).head(30))


def test_too_many_rows_around_the_directions_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(streamed_limit, "MAX_BOUNDING_NUMBERS", 10)
    words = "complete separation of whole: 200 of 200 rows .* more rows than are kept of data in a stream"
    with pytest.raises(PerfectSeparationError, match=words):
        Logit.from_formula("whole ~ x + o", parts(RARE, [0, 90, 200])).fit()


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
@pytest.fixture
def read_anew(monkeypatch):
    """Small data are read in each pass, as large ones are."""
    monkeypatch.setattr(kept, "MAX_BYTES_OF_SOURCES", 0)


def test_small_data_are_read_until_they_are_known_to_be_the_same():
    calls = []

    def tables():
        calls.append(1)
        yield from parts(FEW, [0, 90, 200])()

    model = Logit.from_formula("y ~ x", tables)
    before = len(calls)
    res = model.fit(bias_reduction="firth")
    whole = Logit.from_formula("y ~ x", FEW).fit(bias_reduction="firth")
    np.testing.assert_allclose(res.conf_int(method="profile"), whole.conf_int(method="profile"), rtol=1e-8)
    assert res.pred_table().equals(whole.pred_table())
    assert len(calls) - before <= 2


def test_a_function_may_fill_its_memory_anew():
    x, y = np.empty(100), np.arange(100) % 2

    def tables():  # in one piece of memory, filled anew
        for start in (0, 100):
            x[:] = TABLE.x[start : start + 100] + y
            yield pd.DataFrame({"x": x, "y": y}, copy=False)

    whole = pd.concat([table.copy() for table in tables()], ignore_index=True)
    a, b = (NaiveBayes.from_formula("y ~ x", data).fit() for data in (tables, whole))
    a.pred_table()  # and now of what is kept
    np.testing.assert_allclose(a.llf_conditional, b.llf_conditional, rtol=EQUAL)
    assert a.pred_table().equals(b.pred_table())


@pytest.mark.parametrize("case", ["firth", "clusters"])
def test_what_is_kept_is_what_is_read(case, monkeypatch):
    model, formula, keywords, fit = CASES[case]
    found = [model.from_formula(formula, parts(), **keywords).fit(**fit)]
    monkeypatch.setattr(kept, "MAX_BYTES_OF_SOURCES", 0)
    found.append(model.from_formula(formula, parts(), **keywords).fit(**fit))
    for name in ("params", "bse"):
        a, b = (getattr(res, name).to_numpy() for res in found)
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_what_is_kept_is_bounded_in_all(monkeypatch):
    monkeypatch.setattr(kept, "_rooms", type(kept._rooms)())
    monkeypatch.setattr(kept, "MAX_BYTES_OF_SOURCES", 100_000)
    models = [Logit.from_formula("y ~ x + z", parts()) for _ in range(3)]
    results = [model.fit() for model in models]
    held = [room for room in kept._rooms if room.taken]  # of 75 kB each
    assert [len(room.arrays) for room in held] == [4] and 70_000 < held[0].taken <= 100_000
    del models, results, held
    assert not [room for room in kept._rooms if room.taken]
    monkeypatch.setattr(kept, "MIN_ROWS_TO_FORESEE", 100)
    room, numbers = kept.Room(50_000, len(TABLE)), np.ones((650, 3))
    room.offer(0, (numbers,))  # the first part shows that all are more
    assert room.full and not room.taken
    room = kept.Room(50_000)
    room.offer(0, (numbers,))
    numbers[:] = 0
    assert (room.arrays[0][0] == 1).all()


@pytest.mark.parametrize("kind", ["fewer parts", "fewer rows", "other values", "another order"])
@pytest.mark.parametrize("after", ["in the fit", "after the fit"])
def test_a_source_that_changes_is_named(kind, after, read_anew):
    _check_changes(kind, 1 if after == "in the fit" else None, lambda res: res.with_cov("HC0"))


@pytest.mark.parametrize("kind", ["fewer parts", "fewer rows", "other values", "another order"])
def test_a_change_of_small_data_is_named_wherever_they_are_read(kind):
    _check_changes(kind, 0, None)
    _check_changes(kind, None, lambda res: res.with_cov("cluster", groups="firm"))


def _check_changes(kind, more, then):
    """A source that changes after so many passes of the fit or, of None, after it, when something is asked for."""
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
    state["from"] = 10**9 if more is None else state["calls"] + more
    words = "same tables each time it is read, also after the fit"
    if more is not None:
        with pytest.raises(DataError, match=words):
            model.fit()
        return
    res = model.fit()
    state["from"] = state["calls"]
    with pytest.raises(DataError, match=words):
        then(res)


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
def test_every_pass_reads_what_the_first_one_read(case, read_anew):
    formula, columns, options, groups = CHANGES[case]
    how = {} if groups is None else {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    turning = Turning(FEW.assign(a=np.arange(200) % 12, b=(np.arange(200) // 3) % 13), **columns)

    def fit(data):
        return Logit.from_formula(formula, data, **options).fit(**how)

    old, new = fit(turning), fit(turning.new)
    calls, refused = turning.calls, 0
    for last in range(2 if groups is None else 5, calls):
        turning.calls, turning.last = 0, last
        try:
            found = fit(turning)
        except DataError as error:
            assert "same tables each time it is read, also after the fit" in str(error)
            refused += 1
        else:  # before the first pass or after the last one: never some of both
            assert any(np.allclose(found.bse, one.bse, rtol=1e-12) for one in (old, new)), last
    assert refused > 1


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
        texts = [re.sub(r"\d\d:\d\d:\d\d", "", str(r.summary())) for r in (other, res)]
        assert texts[0] == texts[1] and other.llnull == res.llnull
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


LONG = TABLE.firm.astype(int) + 2**60  # next to each other, which doubles are not


def of_two_types():
    """Whole numbers beyond 2**53 in the first part, with a decimal point in the others."""
    for i, table in enumerate(parts()()):
        rows = LONG[table.index] if i == 0 else LONG[table.index] - 2.0**60
        yield table.assign(long=rows.astype("float64" if i else "int64"))


@pytest.mark.parametrize("groups", ["long", ["long", "year"]])
@pytest.mark.parametrize("dask", [False, True])
def test_groups_of_long_numbers_stay_apart(groups, dask):
    data, tables = of_two_types, list(of_two_types())
    if dask:
        dd = pytest.importorskip("dask.dataframe")
        data = dd.from_map(lambda i: tables[i], range(len(tables)), meta=tables[0][:0], enforce_metadata=False)
    text = pd.concat([t.assign(long=t.long.map(lambda v: str(int(v)))) for t in tables])
    found, whole = (
        Logit.from_formula("y ~ x", d).fit(cov_type="cluster", cov_kwds={"groups": groups}) for d in (data, text)
    )
    np.testing.assert_allclose(found.bse, whole.bse, rtol=EQUAL)


@pytest.mark.parametrize(("model", "formula"), [(Logit, "y ~ C(long)"), (MNLogit, "long ~ x")])
def test_labels_that_no_type_holds_are_named(model, formula):
    assert sum("115292150460684" in str(name) for name in exact_names(model.from_formula(formula, of_two_types))) > 5

    def rounded():
        for table in of_two_types():
            yield table if table.long.dtype.kind == "i" else table.assign(long=table.long + 2.0**60)

    with pytest.raises(DataError, match=r'long.* holds whole numbers beyond 2\*\*53 in one part and floats in another'):
        model.from_formula(formula, rounded)


def exact_names(model):
    """Columns of the design, and levels of the response."""
    return [*model.exog_names, *getattr(model, "levels", ())]


def test_code_across_rows_is_seen_where_the_rows_used_come_late():
    table = TABLE.assign(n=range(N))
    with pytest.raises(NotImplementedError, match="depends on other rows"):
        Logit.from_formula("y ~ x.rank()", parts(table, [0, N]), subset="n > 2500")


def test_a_source_that_is_used_up_is_named():
    tables = iter([TABLE.iloc[:1000], TABLE.iloc[1000:]])
    with pytest.raises(DataError, match="anew|no table|same tables"):
        Logit.from_formula("y ~ x", lambda: tables)


def test_a_file_that_was_written_anew_is_named(tmp_path, read_anew):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path, row_group_size=500)
    res = Logit.from_formula("y ~ x", path).fit()
    path.write_bytes(path.read_bytes()[4000:])
    with pytest.raises(DataError, match=r'(?s)t.parquet" cannot be read: .* the same tables each time'):
        res.pred_table()


def test_filters_and_hive_partitions(tmp_path, monkeypatch):
    dataset = pytest.importorskip("pyarrow.dataset")
    monkeypatch.setattr(base, "PART_ROWS", 500)
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
        yield TABLE.iloc[: 2000 if len(calls) < 3 else 1500]

    with pytest.raises(DataError, match="same tables each time"):
        Logit.from_formula("y ~ x", tables)


class Counted:
    """A function that yields tables and counts how often it is called."""

    def __init__(self, table=FEW, size=80):
        self.table, self.size, self.calls = table, size, 0

    def __call__(self):
        self.calls += 1
        return (self.table.iloc[i : i + self.size] for i in range(0, len(self.table), self.size))

    def passes(self, f):
        """What f gives, and how many calls that took."""
        before = self.calls
        return f(), self.calls - before


OPENED = 3  # calls: the columns, and the two passes of `from_formula`
TERMS = {"x": 0, "center(x)": 2, "standardize(x) + center(o)": 2, "bs(x, df=4) + standardize(o)": 3, "qcut(x, 4)": 3,
         "rbf(x, df=4)": 3, "poly(x, 2) + cr(o, df=4)": 5, "bs(center(x), df=4)": 4}  # fmt: skip


@pytest.mark.parametrize("terms", TERMS)
def test_passes_of_a_formula_are_those_of_the_guide(terms):
    counted = Counted()
    Logit.from_formula(f"y ~ {terms}", counted)
    assert counted.calls == OPENED + TERMS[terms]


COSTS = {  # of a summary, HC0, HC3, clusters
    Logit: (1, 1, 1, 2), Probit: (2, 1, 2, 2), CLogLog: (2, 1, 2, 2), MNLogit: (1, 1, 1, 2),
    LDA: (2, 1, None, 3), QDA: (2, 1, None, 3), NaiveBayes: (2, 1, None, 2),
}  # fmt: skip


@pytest.mark.parametrize("model", COSTS)
def test_passes_of_results_are_those_of_the_guide(model, read_anew):
    counted = Counted()
    made = model.from_formula("y ~ x + o + g", counted)
    assert counted.calls == OPENED
    res, own = counted.passes(made.fit)
    assert own == 1 if model in (LDA, QDA, NaiveBayes) else 4 <= own <= 7
    summary, HC0, HC3, cluster = COSTS[model]
    took = counted.passes(res.summary)[1]
    assert took == summary or (model is Logit and took == 0)  # of small effects nothing is to be said
    assert counted.passes(res.summary)[1] == 0
    for name, cost in {"HC0": HC0, "HC3": HC3, "HC4": HC3, "HC4m": HC3, "HC5": HC3 and HC3 + 1}.items():
        assert cost is None or counted.passes(lambda name=name: made.fit(cov_type=name))[1] == own + cost
    assert counted.passes(lambda: made.fit(cov_type="cluster", cov_kwds={"groups": "firm"}))[1] == own + cluster
    for one in (res.pred_table, res.calibration, res.classification_report, res.gof_test, res.pseudo_rsquared):
        assert counted.passes(one)[1] == 1, one
    grid = {"x": [0.0, 1.0]}
    asked = [(2, {"at": grid}), (3, {"dummy": True, "count": True}), (3, {"over": "g"}), (3, {"at": "median"})]
    for cost, options in asked:
        assert counted.passes(lambda options=options: res.get_margeff(**options))[1] == cost, options
    assert counted.passes(lambda: res.predictions("g", at=grid))[1] == 2


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
        (TABLE.firm, "names of columns"),
        ("z", "missing in"),
        (["firm"] * 11, "1 to 10 groupings, found 11"),
    ],
    ids=["no column", "values", "missing", "too many"],
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
