"""LDA, QDA and NaiveBayes over data in a stream give what they give of the same rows in memory."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal

import glmclf
from glmclf import LDA, QDA, MNLogit, NaiveBayes
from glmclf.core.rows import streamed
from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.errors import DataError, DataWarning, MissingDataError, SingularCovarianceError

# sums of the same rows in another order
RTOL, ATOL = 1e-10, 1e-12

CUTS = (0, 40, 40, 47, 300)  # uneven parts, the second without rows
NUMBERS = ("params", "bse", "priors", "priors_bse", "llf", "llnull", "llf_conditional", "prsquared", "nobs", "df_model")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    n = 300
    t = pd.DataFrame(
        {
            "y": rng.choice(["a", "b", "c"], n),
            "x1": rng.standard_normal(n),
            "x2": rng.gamma(2.0, 1.0, n) + 0.01,
            "x3": rng.exponential(1.0, n),
            "n": rng.poisson(3, n),
            "g": rng.choice(["u", "v", "w"], n),
            "h": rng.choice(["p", "q"], n),
            "b": rng.random(n) < 0.3,
            "z": rng.integers(0, 2, n),
            "k": rng.integers(1, 5, n),
            "w1": rng.poisson(2, n),
            "w2": rng.poisson(1, n),
            "w3": rng.poisson(3, n),
            "f": rng.integers(0, 4, n),
            "s": rng.uniform(0.5, 2.0, n),
        }
    )
    t["x1"] += t.y == "b"
    early = t.index < 47  # a class, a level and a cell that only the last part has, and a cell that none has
    t.loc[early & (t.y == "c"), "y"] = "a"
    t.loc[early & (t.g == "w"), "g"] = "u"
    t.loc[(t.g == "w") & (t.h == "q"), "h"] = "p"
    return t


@pytest.fixture(scope="module")
def holes(table):
    """The table with missing values, in the first part throughout for one variable."""
    rng, t = np.random.default_rng(9), table.copy()
    for name in ("y", "x1", "x2", "n", "g", "h", "k", "w1"):
        t[name] = t[name].astype(float if t[name].dtype.kind in "if" else object)
        t.loc[rng.random(len(t)) < 0.06, name] = np.nan
    t.loc[:39, "x2"] = np.nan
    return t


def parts(table, cuts=CUTS):
    def tables():
        for start, stop in zip(cuts, cuts[1:]):
            yield table[start:stop]

    return tables


def close(a, b):
    assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=RTOL, atol=ATOL)


def told(res):
    """The summary without the time and where the data come from."""
    lines = res.summary().as_text().splitlines()
    return [line for line in lines if not any(word in line for word in ("Date:", "Time:", "Data:"))]


def both(model, formula, table, *fit, **keywords):
    """The fit in memory and that of the stream, which agree in all that they share."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (model.from_formula(formula, data, **keywords).fit(*fit) for data in (table, parts(table)))
        assert list(one.params.index) == list(two.params.index)
        for name in NUMBERS:
            close(getattr(one, name), getattr(two, name))
        for name in ("params", "bse"):
            close(getattr(one.discriminant, name), getattr(two.discriminant, name))
    return one, two


# ------------------------------------------------------------------------------------------------------- LDA and QDA
OPTIONS = [
    (LDA, {"freq_weights": "f"}),
    (QDA, {"freq_weights": "f"}),
    (LDA, {"weights": "s"}),
    (QDA, {"weights": "s"}),
    (LDA, {"covariance": "diag", "priors": "equal"}),
    (QDA, {"covariance": "spherical", "prior_smoothing": 1.0}),
    (LDA, {"divisor": "unbiased", "subset": "s > 0.8"}),
    (LDA, {"shrinkage": "ledoit_wolf", "weights": "s"}),
    (QDA, {"shrinkage": 0.2, "ridge": 0.1}),
]


@pytest.mark.parametrize("model, options", OPTIONS, ids=str)
def test_gaussian_classes(model, options, holes):
    one, two = both(model, "y ~ x1 + x3 + z", holes, **options)
    close(one.means, two.means)
    for a, b in zip(np.atleast_1d(one.covariances), np.atleast_1d(two.covariances)):
        frames = (a, b) if isinstance(a, np.ndarray) else (pd.concat(a), pd.concat(b))
        close(*frames)


@pytest.mark.parametrize("model, cov_type", [(LDA, "HC0"), (LDA, "cluster"), (QDA, "HC1"), (NaiveBayes, "cluster")])
def test_robust_covariances(model, cov_type, table):
    groups = {"groups": "k"} if cov_type == "cluster" else None
    one, two = both(model, "y ~ x1 + x2 + C(g)", table, cov_type, groups, freq_weights="f")
    close(one.discriminant.cov_params(), two.discriminant.cov_params())


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_clusters_that_hold_a_class_are_warned_of(table):
    t = table.assign(k=np.where(table.y == "c", 9, table.k))
    for data in (t, parts(t)):
        with pytest.warns(match="all rows of class 'c' are in one cluster"):
            LDA.from_formula("y ~ x1 + x2", data).fit("cluster", {"groups": "k"})


def test_tests_on_class_moments(table):
    (one, two), (q1, q2) = (both(model, "y ~ x1 + x2 + x3", table) for model in (LDA, QDA))
    for name in ("boxm_test", "manova", "f_to_remove", "term_tests", "distances", "mardia_test", "ladder"):
        close(getattr(one, name)(), getattr(two, name)())
        close(getattr(q1, name)(), getattr(q2, name)())
    close(one.canonical.eigenvalues, two.canonical.eigenvalues)
    close(one.canonical.standardised, two.canonical.standardised)
    close(one.canonical.centroids, two.canonical.centroids)
    close(one.error_rates().rates, two.error_rates().rates)
    assert q2.compare_lr_test(two).statistic == pytest.approx(q1.compare_lr_test(one).statistic, rel=RTOL)
    assert q2.compare_lr_test(one).df == 12  # of the same rows, wherever they are


def test_unbiased_slopes(table):
    one, two = (LDA.from_formula("y ~ x1 + x2", d).fit(bias_reduction="exact") for d in (table, parts(table)))
    close(one.discriminant.params, two.discriminant.params)
    close(one.discriminant.bse, two.discriminant.bse)


@pytest.mark.filterwarnings("ignore:.*all but a combination")
def test_nearly_collinear_features_keep_their_digits(table):
    t = table.assign(x2=table.x1 + 1e-7 * table.x2)
    one, two = (LDA.from_formula("y ~ x1 + x2", d).fit() for d in (t, parts(t)))
    assert one._fitted_classes.factors is not None and two._fitted_classes.factors is not None
    assert_allclose(one.discriminant.params, two.discriminant.params, rtol=1e-6)  # of 16 digits the data leave 9


# --------------------------------------------------------------------------------------------------------- NaiveBayes
FAMILIES = {"n": "poisson", "x2": "gamma", "x3": "exponential", "k": "categorical"}
MIXED = "y ~ x1 + n + x2 + x3 + g + b + z + k"


@pytest.mark.parametrize(
    "weights, cov_type", [({}, None), ({}, "HC0"), ({"freq_weights": "f"}, "HC1"), ({"weights": "s"}, "HC0")], ids=str
)
def test_a_mixture_of_families(weights, cov_type, holes):
    one, two = both(NaiveBayes, MIXED, holes, cov_type, families=FAMILIES, smoothing=0.5, **weights)
    assert one.model.features == two.model.features
    assert one.model._design.columns == two.model._design.columns
    close(one.observed, two.observed)
    for name, own in one.conditionals.items():
        close(own, two.conditionals[name])


@pytest.mark.parametrize(
    "missing, formula, families",
    [
        ("skip", "y ~ g:h + x1 + np.log(x2) + C(k) + n", {"n": "poisson"}),
        ("drop", "y ~ g:h + x1 + np.log(x2) + C(k) + n", {"n": "poisson"}),
        ("level", "y ~ g:h + b + C(k) + x3", None),
        ("skip", "y ~ center(x1) + bs(x2, df=4) + C(g, Treatment('v'))", None),
        ("drop", "y ~ center(x1) + bs(x3, df=4) + C(g, levels=['w', 'v', 'u', 'none'])", None),
    ],
)
def test_missing_values(missing, formula, families, holes):
    one, two = both(NaiveBayes, formula, holes, "HC0", missing=missing, families=families, smoothing=1.0)
    assert one.model.features == two.model.features
    close(one.term_tests(), two.term_tests())


def test_blocks_of_counts(holes):
    one, two = both(NaiveBayes, "y ~ w1 + w2 + w3 + x1", holes, "HC0", multinomial=["w1", "w2", "w3"])
    assert one._totals == two._totals and len(one._totals) == 1
    pd.testing.assert_frame_equal(one.sample(5, seed=1), two.sample(5, seed=1), rtol=RTOL)


def test_one_variance_for_all_classes(table):
    one, two = both(NaiveBayes, "y ~ x1 + x2", table, "HC0", pooled=True, priors={"a": 0.5, "b": 0.3, "c": 0.2})
    close(one.ladder(), two.ladder())
    close(one.error_rates().rates, two.error_rates().rates)


def test_a_number_that_is_binary_in_some_parts_is_none(table):
    t = table.assign(n=np.where(table.index < 40, table.z, table.n))
    _, res = both(NaiveBayes, "y ~ n + z", t)
    assert [f.family for f in res.model.features] == ["gaussian", "bernoulli"]


def test_a_feature_that_is_constant_everywhere_is_left_out_one_that_is_so_in_a_part_stays(table):
    t = table.assign(one=1, part=np.where(table.index < 40, 1, table.z))
    _, res = both(NaiveBayes, "y ~ x1 + one + part", t)
    assert res.feature_names == ["x1", "part"]


def test_categories_that_differ_between_parts(table):
    def tables():
        for part in parts(table)():
            yield part.assign(g=part.g.astype("category"))

    one, two = (NaiveBayes.from_formula("y ~ g:h", d).fit() for d in (table, tables))
    assert one.model.features == two.model.features
    close(one.params, two.params)


# ------------------------------------------------------------------------------------------------- files, new rows
@pytest.mark.parametrize("model, weights", [(LDA, {}), (QDA, {"freq_weights": "f"}), (NaiveBayes, {"weights": "s"})])
def test_summaries_are_the_same(model, weights, holes):
    one, two = both(model, "y ~ x1 + x3 + g", holes, **weights)
    assert told(one) == told(two)


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_files_saving_and_new_rows(model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    res = model.from_formula("y ~ x1 + x2 + C(g)", str(tmp_path / "t.csv")).fit("HC0")
    whole = model.from_formula("y ~ x1 + x2 + C(g)", table).fit("HC0")
    new = table[:5].assign(x1=[np.nan, *table.x1[1:5]])
    assert_allclose(res.predict(new), whole.predict(new), rtol=1e-9)  # text holds 16 digits
    assert_allclose(res.get_prediction(new).se, whole.get_prediction(new).se, rtol=1e-9)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    again = glmclf.load(file)
    assert again.predict(new).equals(res.predict(new))
    assert told(again)[:8] == told(res)[:8]


@pytest.mark.parametrize("model", [LDA, NaiveBayes])
def test_labels_without_rows_are_noted(model, table):
    t = table.assign(x1=np.where(table.y == "c", np.nan, table.x1))
    with pytest.warns(DataWarning, match='level "c" of y: no rows, left out'):
        assert model.from_formula("y ~ x1", parts(t), missing="drop").levels == ["a", "b"]


# ------------------------------------------------------------------------------------- judging the rows of the fit
JUDGED = {
    "pred_table": lambda r: r.pred_table(),
    "report": lambda r: r.classification_report().summary_frame(),
    "calibration": lambda r: r.calibration(4).summary_frame(),
    "roc": lambda r: r.roc().table,
    "precision_recall": lambda r: r.precision_recall(event="b").curve,
    "lift": lambda r: r.lift(event="b"),
    "decision_curve": lambda r: r.decision_curve(event="b"),
    "gof_groups": lambda r: r.gof_groups(),
    "pseudo_rsquared": lambda r: r.pseudo_rsquared(),
}
LAWS = {LDA: "x1 + x2", QDA: "x1 + x2", NaiveBayes: "x1 + x2 + g"}
SPANNED = {LDA: "", QDA: " + I(x1**2) + I(x2**2) + x1:x2", NaiveBayes: " + I(x1**2) + I(x2**2)"}


@pytest.mark.filterwarnings("ignore::glmclf.errors.DataWarning")
@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_judging_the_rows_of_the_fit(model, holes):
    a, b = both(model, f"y ~ {LAWS[model]}", holes, freq_weights="f")
    for judge in JUDGED.values():
        close(judge(a), judge(b))
    if model is NaiveBayes:
        assert_frame_equal(a.independence_audit(), b.independence_audit(), rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_the_posteriors_of_complete_rows(model, table):
    a, b = both(model, f"y ~ {LAWS[model]}", table)
    close(a.gof_test(), b.gof_test())
    one, two = (MNLogit.from_formula(f"y ~ {LAWS[model]}{SPANNED[model]}", t).fit() for t in (table, parts(table)))
    expected = a.compare_conditional(one)
    for found in (b.compare_conditional(two), a.compare_conditional(two), b.compare_conditional(one)):
        for name in ("statistic", "scale", "df", "pvalue", "penalty", "aic_conditional"):
            close(getattr(found, name), getattr(expected, name))
    if model is NaiveBayes:
        assert_frame_equal(a.independence_audit(), b.independence_audit(), rtol=RTOL, atol=ATOL)
    other = MNLogit.from_formula(f"y ~ {LAWS[model]}{SPANNED[model]}", parts(table[::-1])).fit()
    with pytest.raises(ValueError, match="different rows or weights"):
        b.compare_conditional(other)


def test_errors_that_no_part_causes_name_none(table):
    res = LDA.from_formula("y ~ x1 + x2", parts(table)).fit()
    for data in (None, parts(table)):
        with pytest.raises(NotImplementedError, match="^threshold= is for two levels"):
            res.pred_table(0.3, newdata=data)
        with pytest.raises(NotImplementedError, match="^offset= of LDA"):
            res.roc(newdata=data, offset=1.0)
    bayes = NaiveBayes.from_formula("y ~ qcut(x1, 4) + x2", parts(table)).fit()
    with pytest.warns(DataWarning, match='no effect of "x1" is given: "x1" only chooses levels'):
        bayes.get_margeff()


def test_rows_that_are_too_many_to_hold(table, monkeypatch):
    a, b = (m.from_formula("y ~ x1 + x2", parts(table)).fit() for m in (LDA, MNLogit))
    monkeypatch.setattr(streamed, "MOST_GATHERED", 100)
    message = r"^compare_conditional\(\) brings numbers .* 300 rows have more than \d+: use a fit to a sample in memory"
    with pytest.raises(RowsElsewhereError, match=message):
        a.compare_conditional(b)


# --------------------------------------------------------------------------------------------------------- refusals
BY_ROW = ("predict", "get_prediction", "leave_one_out", "simulate")


@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_what_needs_the_rows_is_refused(model, table):
    res = model.from_formula("y ~ x1 + x2", parts(table)).fit()
    for name in BY_ROW:
        with pytest.raises(RowsElsewhereError, match=f"{name}\\(\\) needs the rows of the fit one by one"):
            getattr(res, name)()
    for use in (lambda: res.fittedvalues, lambda: res.model.exog):
        with pytest.raises(RowsElsewhereError, match="rows of the fit one by one"):
            use()
    with pytest.raises(NotImplementedError, match='cov_type="HAC" of a fit to a stream'):
        res.with_cov("HAC")


@pytest.mark.parametrize(
    "model, formula, change, keywords, error, message",
    [
        (NaiveBayes, "y ~ x1", {}, {"families": {"x1": "poisson"}}, DataError, 'part 1 of .*"x1" is poisson'),
        (NaiveBayes, "y ~ x1", {"x1": np.nan}, {}, MissingDataError, '"x1" is missing in all 300 rows'),
        (LDA, "y ~ x1 + x2", {"x1": 1.0}, {}, SingularCovarianceError, '"x1" is constant within every class'),
        (QDA, "y ~ x1 + x2", {"x1": lambda t: 2 * t.x2}, {}, SingularCovarianceError, '"x2" = 0.5 \\* x1'),
        (LDA, "y ~ x1 + x2", {"x1": lambda t: 1e-80 * t.x1}, {}, DataError, '"x1" are too small'),
        (NaiveBayes, "y ~ x1", {"x1": lambda t: 1e-80 * t.x1}, {}, DataError, '"x1" are too small'),
        (LDA, "y ~ x1", {"y": "a"}, {}, DataError, "one class only"),
        (LDA, "y ~ x1", {"s": 1e200}, {"weights": "s"}, DataError, "weights= are 1e\\+200 at most"),
    ],
)
def test_errors_are_those_of_the_rows_in_memory(model, formula, change, keywords, error, message, table):
    with pytest.raises(error, match=message):
        model.from_formula(formula, parts(table.assign(**change)), **keywords).fit()


def test_missing_numbers_are_no_level(holes):
    with pytest.raises(MissingDataError, match=f'"x1" is missing in {holes.x1[holes.y.notna()].isna().sum()} rows'):
        NaiveBayes.from_formula("y ~ x1 + g", parts(holes), missing="level")


def test_a_column_of_two_types_is_named_with_its_parts(table):
    def tables():
        yield table[:100]
        yield table[100:].assign(x1="text")

    for model in (LDA, NaiveBayes):
        with pytest.raises(DataError, match='"x1" is 1 column of numbers in part 1 and labels in part 2'):
            model.from_formula("y ~ x1", tables)


@pytest.mark.parametrize("model", [LDA, QDA])
def test_an_offset_of_the_features_costs_no_digits(model, table, tmp_path):
    far = table[["y", "x1", "x2"]].assign(x1=lambda d: d["x1"] + 2.0**27)
    near = far.assign(x1=far["x1"] - 2.0**27)  # exact: the same numbers about 0
    expected = model.from_formula("y ~ x1 + x2", near).fit()
    margins, p = expected.get_margeff().margeff.to_numpy(), expected.predict(near).to_numpy()
    for data in (far, parts(far)):
        res = model.from_formula("y ~ x1 + x2", data).fit()
        res.save(tmp_path / "r.json")
        again = glmclf.load(tmp_path / "r.json")
        np.testing.assert_allclose(res.get_margeff().margeff, margins, rtol=1e-11)
        np.testing.assert_allclose(res.llf_conditional, expected.llf_conditional, rtol=1e-13)
        for one in (res, again):
            np.testing.assert_allclose(one.predict(far), p, rtol=1e-12)
