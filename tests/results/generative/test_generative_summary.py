"""Printed summaries of LDA, QDA and naive Bayes.

Numbers of iris, crabs, Pima.tr and Titanic are closed forms evaluated at high precision, checked against MASS and
e1071, and rounded as printed.
"""

import csv
import io
import re
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import references

import glmclf.core.gaussian.moments
from glmclf.models.discriminant import LDA, QDA
from glmclf.models.naive_bayes import NaiveBayes
from glmclf.results.generative import summary as generative_summary
from glmclf.results.generative.summary import summary

IRIS = "species ~ sepal_length + sepal_width + petal_length + petal_width"
PIMA = "type ~ npreg + glu + bp + skin + bmi + ped + age"


def data(name):
    return references.reference(f"{name}__lda")[1]


@pytest.fixture(scope="module")
def iris():
    return data("iris")


@pytest.fixture(scope="module")
def pima():
    return data("pima_tr")


@pytest.fixture(scope="module")
def lda(iris):
    return LDA.from_formula(IRIS, iris).fit()


@pytest.fixture(scope="module")
def qda(iris):
    return QDA.from_formula(IRIS, iris).fit()


def cells(table):
    """Texts of a table by row and column."""
    return [[str(cell.data).strip() for cell in row] for row in table]


def head(s):
    """The header as a dict."""
    rows = cells(s.tables[0])
    pairs = [(row[i], row[i + 1]) for row in rows for i in (0, 2)]
    return {label.rstrip(":"): text for label, text in pairs if label}


def find(s, corner=None, column=None):
    """The tables with such a corner, or such a column, as (row label -> column -> text)."""
    found = []
    for table in s.tables[1:]:
        rows = cells(table)
        if (corner is None or rows[0][0] == corner) and (column is None or column in rows[0]):
            found.append({row[0]: dict(zip(rows[0][1:], row[1:])) for row in rows[1:]})
    return found


def one(s, **wanted):
    (table,) = find(s, **wanted)
    return table


def facts(s):
    return dict(cells(s.tables[-1]))


def notes(s):
    return s.extra_txt


def body(s):
    """The text but for date and time."""
    return [line for line in s.as_text().splitlines() if not line.startswith(("Date:", "Time:"))]


# ----------------------------------------------------------------------------------------------------------------- LDA


def test_the_head_of_lda(lda):
    shown = head(summary(lda))
    expected = {
        "Dep. Variable": "species",
        "Model": "LDA",
        "Method": "MLE (closed form)",
        "Classes": "3",
        "Covariance": "full, pooled (MLE)",
        "Priors": "estimated",
        "Covariance Type": "nonrobust",
        "No. Observations": "150",
        "Parameters": "24",
        "Df Model": "8",
        "Log-Likelihood (joint)": "-263.20",
        "LL-Null": "-544.71",
        "AIC": "574.4",
        "BIC": "646.7",
        "LL (conditional)": "-6.558",
    }
    assert expected.items() <= shown.items()
    assert float(shown["LLR p-value"]) < 1e-100
    assert float(shown["Pseudo R-squ. (cond.)"]) == pytest.approx(1 - 6.55757901928 / (150 * np.log(3)), abs=5e-5)


def test_the_tests_of_lda(lda):
    tests = one(summary(lda), column="statistic")
    values = {name: tuple(row.values()) for name, row in tests.items()}
    assert values == {
        "Likelihood ratio": ("563.0", "", "8", "", "0.000"),
        "Wilks' lambda": ("0.02344", "199.1", "8", "288", "0.000"),
        "Box's M": ("146.7", "7.045", "20", "77566.8", "0.000"),
    }


def test_the_classes_of_lda(lda):
    rows = one(summary(lda), corner="means (se)")
    assert list(rows) == ["setosa", "versicolor", "virginica"]
    first = rows["setosa"]
    assert list(first) == ["n", "prior (se)", "sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert (first["n"], first["prior (se)"], first["sepal_length"]) == ("50", "0.333 (0.038)", "5.006 (0.072)")


def test_the_features_of_lda(lda):
    rows = one(summary(lda), corner="feature")
    columns = {name: [row[name] for row in rows.values()] for name in next(iter(rows.values()))}
    assert list(rows) == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    assert columns["F-to-remove"] == ["4.721", "21.936", "35.590", "24.904"]
    assert columns["P>F"][0] == "0.010"
    assert columns["LR"] == ["9.527", "39.892", "60.249", "44.559"]
    assert columns["df"] == ["2"] * 4
    assert columns["tolerance"] == ["0.348", "0.609", "0.365", "0.649"]


def test_the_logit_of_lda(lda):
    s = summary(lda)
    first = one(s, corner="species=versicolor")
    expected = {"coef": "13.7305", "std err": "9.571", "z": "1.435", "P>|z|": "0.151", "[0.025": "-5.028"}
    assert first["Intercept"] == expected | {"0.975]": "32.489"}
    assert list(first["sepal_length"].values()) == ["-8.0061", "2.763", "-2.898", "0.004", "-13.421", "-2.591"]
    second = one(s, corner="species=virginica")
    assert [row["coef"] for row in second.values()] == ["-18.4284", "-11.3248", "-20.3088", "29.7930", "39.2628"]
    assert "[0.05" in one(summary(lda, alpha=0.1), corner="species=virginica")["Intercept"]


def test_facts_and_notes_of_lda(lda):
    s = summary(lda)
    assert facts(s) == {
        "Levels:": "setosa, versicolor, virginica",
        "Reference:": "setosa",
        "Errors:": "2.0% (3 of 150); leave-one-out 2.0% (3)",
    }
    for words in ("Box's M rejects equal covariance", 'cov_type="HC0"', "Priors estimated", "not comparable"):
        assert words in notes(s)


def test_one_line_a_row(lda):
    for line in summary(lda).as_text().splitlines():
        assert len(line) <= 100


def test_lda_of_four_groups():
    crabs = data("crabs").assign(group=lambda d: d["sp"] + d["sex"])
    s = summary(LDA.from_formula("group ~ FL + RW + CL + CW + BD", crabs).fit())
    assert head(s)["Log-Likelihood (joint)"] == "-1384.9" and head(s)["AIC"] == "2845.8"
    tests = one(s, column="statistic")
    assert list(tests["Wilks' lambda"].values())[:4] == ["0.02369", "101.8", "15", "530.4"]
    assert list(tests["Box's M"].values())[:4] == ["273.8", "5.807", "45", "95090.8"]
    assert [row["LR"] for row in one(s, corner="feature").values()] == [
        "90.210", "213.425", "26.461", "111.351", "61.643",
    ]  # fmt: skip
    assert one(s, corner="group=BM")["RW"]["std err"] == "0.683"
    assert one(s, corner="group=OM")["CW"]["coef"] == "-9.0406"
    assert facts(s)["Errors:"] == "4.0% (8 of 200); leave-one-out 5.0% (10)"


# ----------------------------------------------------------------------------------------------------------------- QDA


def test_the_head_and_tests_of_qda(qda):
    s = summary(qda)
    shown = {"Covariance": "full, by class (MLE)", "Parameters": "44", "Log-Likelihood (joint)": "-188.38"}
    assert (shown | {"AIC": "464.8", "BIC": "597.2", "LL (conditional)": "-5.455"}).items() <= head(s).items()
    tests = one(s, column="statistic")
    assert list(tests["LR, LDA in QDA"].values()) == ["149.7", "", "20", "", "0.000"]
    assert list(tests["Box's M"].values())[:4] == ["146.7", "7.045", "20", "77566.8"]
    assert "consider QDA" not in notes(s)
    assert facts(s)["Errors:"] == "2.0% (3 of 150); leave-one-out 2.7% (4)"


def test_classes_and_features_of_qda(qda, iris):
    s = summary(qda)
    X = iris.iloc[:, :4].to_numpy()
    rows = one(s, corner="means (se)")
    if "log|Sigma|" in rows:  # a row a feature
        logdets = list(rows["log|Sigma|"].values())
    else:
        logdets = [row["log|Sigma|"] for row in rows.values()]
    own = [np.linalg.slogdet(np.cov(X[iris["species"] == k].T, bias=True))[1] for k in qda.levels]
    np.testing.assert_allclose(np.array(logdets, dtype=float), own, atol=5e-4)
    features = one(s, corner="feature")
    assert [row["LR"] for row in features.values()] == ["29.373", "66.115", "118.133", "108.518"]
    assert {row["df"] for row in features.values()} == {"10"}


def test_the_quadratic_logit(qda):
    rows = one(summary(qda), corner="species=versicolor")
    assert len(rows) == 15
    shown = {name: (row["coef"], row["std err"]) for name, row in rows.items()}
    assert shown["Intercept"] == ("46.2237", "28.495") and shown["sepal_length"] == ("-27.0816", "13.095")
    assert shown["sepal_length^2"] == ("4.8167", "2.163")
    assert shown["sepal_length:sepal_width"] == ("-8.9067", "3.678")


def test_a_long_quadratic_logit_is_printed_on_demand(pima):
    res = QDA.from_formula(PIMA, pima).fit()
    s = summary(res)
    assert not find(s, column="coef") and "has 36 coefficients" in notes(s) and "discriminant=True" in notes(s)
    full = summary(res, discriminant=True)
    rows = one(full, corner="type=Yes")
    assert len(rows) == 36 and "coefficients: print them" not in notes(full)
    assert [rows[n]["coef"] for n in ("Intercept", "npreg^2", "npreg:glu")] == ["-29.9577", "0.0666", "-0.0017"]
    assert rows["Intercept"]["std err"] == "11.141"
    assert [row["LR"] for row in one(s, corner="feature").values()][:2] == ["28.627", "38.679"]
    assert {row["df"] for row in one(s, corner="feature").values()} == {"8"}
    assert facts(s)["Errors:"] == "23.0% (46 of 200); leave-one-out 27.0% (54)"


def test_no_logit_where_it_is_not_wanted(lda):
    s = summary(lda, discriminant=False)
    assert not find(s, column="coef") and "coefficients: print" not in notes(s)


@pytest.mark.parametrize(("covariance", "llf", "intercept"), [
    ("diag", "-384.09", ("-66.3498", "7.235")),
    ("spherical", "-444.67", ("-79.9767", "5.920")),
])  # fmt: skip
def test_other_structures_of_lda(iris, covariance, llf, intercept):
    s = summary(LDA.from_formula(IRIS, iris, covariance=covariance).fit())
    assert head(s)["Log-Likelihood (joint)"] == llf and head(s)["Covariance"] == f"{covariance}, pooled (MLE)"
    row = one(s, corner="species=versicolor")["Intercept"]
    assert (row["coef"], row["std err"]) == intercept
    assert list(one(s, column="statistic")) == ["Likelihood ratio"]
    features = find(s, corner="feature")
    if covariance == "diag":
        within = [0.26500816, 0.11539, 0.18519, 0.04188]  # squares about the class means over 147, Fisher's table
        total = iris.iloc[:, :4].var(ddof=0).to_numpy()
        expected = 150 * np.log(total / (np.array(within) * 147 / 150))
        shown = [float(row["LR"]) for row in features[0].values()]
        np.testing.assert_allclose(shown, expected, rtol=1e-4)
    else:
        assert not features and "Tests of the features are left out" in notes(s)


def test_other_structures_of_qda(iris):
    s = summary(QDA.from_formula(IRIS, iris, covariance="diag").fit())
    rows = one(s, corner="species=versicolor")
    assert head(s)["Log-Likelihood (joint)"] == "-326.05" and len(rows) == 9
    assert (rows["sepal_length"]["coef"], rows["sepal_length^2"]["std err"]) == ("-18.3781", "0.906")
    s = summary(QDA.from_formula(IRIS, iris, covariance="spherical").fit())
    row = one(s, corner="species=versicolor")["|x|^2"]
    assert (row["coef"], row["std err"]) == ("3.3340", "0.736")


# ---------------------------------------------------------------------------------------- covariances, weights, priors


def test_robust_standard_errors(iris, lda):
    s = summary(lda.with_cov("HC0"))
    assert head(s)["Covariance Type"] == "HC0"
    rows = one(s, corner="species=versicolor")
    assert [row["std err"] for row in rows.values()] == ["10.538", "2.755", "4.174", "3.835", "4.825"]
    assert "consider QDA." in notes(s) and "or cov_type" not in notes(s)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("cov_type", ["nonrobust", "expected", "HC0", "HC1", "cluster"])
@pytest.mark.parametrize("model", [LDA, QDA])
def test_the_covariance_type_is_said(iris, model, cov_type):
    kwds = {"groups": np.arange(150) % 17} if cov_type == "cluster" else None
    res = model.from_formula(IRIS, iris).fit(cov_type, cov_kwds=kwds)
    s = summary(res)
    assert head(s)["Covariance Type"] == cov_type
    assert res._cov.description in notes(s)
    assert ("Clusters:" in facts(s)) == (cov_type == "cluster")
    assert ("take the rows as independent" in notes(s)) == (cov_type == "cluster")
    shown = one(s, corner="species=virginica")["petal_width"]["std err"]
    assert float(shown) == pytest.approx(res.discriminant.bse.loc["petal_width", "virginica"], abs=5e-4)


def test_fixed_priors(iris):
    s = summary(LDA.from_formula(IRIS, iris, priors=[0.2, 0.3, 0.5]).fit())
    assert head(s)["Priors"] == "fixed" and head(s)["Log-Likelihood (joint)"] == "-273.74"
    assert head(s)["Parameters"] == "22"
    shown = [row["prior (se)"] for row in one(s, corner="means (se)").values()]
    assert shown == ["0.200 (fixed)", "0.300 (fixed)", "0.500 (fixed)"]
    row = one(s, corner="species=versicolor")["Intercept"]
    assert (row["coef"], row["std err"]) == ("14.1359", "9.569")
    assert "Priors fixed" in notes(s) and "Priors estimated" not in notes(s)


def test_smoothed_priors(iris):
    s = summary(LDA.from_formula(IRIS, iris[:120], prior_smoothing=2).fit())
    assert head(s)["Priors"] == "smoothed" and facts(s)["Prior smoothing:"] == "(n + 2) / (N + 6)"
    p = 22 / 126
    expected = f"{p:.3f} ({np.sqrt(p * (1 - p) / 126):.3f})"
    assert one(s, corner="means (se)")["virginica"]["prior (se)"] == expected


def test_unbiased_divisor(iris):
    s = summary(LDA.from_formula(IRIS, iris, divisor="unbiased").fit())
    assert head(s)["Covariance"] == "full, pooled (unbiased)" and head(s)["Log-Likelihood (joint)"] == "-263.20"
    row = one(s, corner="species=versicolor")["Intercept"]
    assert (row["coef"], row["std err"]) == ("13.4559", "9.475")


def test_unbiased_slopes(pima):
    s = summary(LDA.from_formula(PIMA, pima).fit(bias_reduction="exact"))
    rows = one(s, corner="type=Yes")
    assert (rows["npreg"]["coef"], rows["npreg"]["std err"]) == ("0.1159", "0.069")
    assert head(s)["Method"] == "unbiased slopes" and "leave-one-out" not in facts(s)["Errors:"]
    assert 'or cov_type="HC0"' not in notes(s)


def test_frequency_weights_are_repeated_rows(iris):
    f = np.arange(150) % 3 + 1
    table = iris.assign(f=f)
    weighted = summary(LDA.from_formula(IRIS, table, freq_weights="f").fit())
    repeated = summary(LDA.from_formula(IRIS, iris.loc[iris.index.repeat(f)]).fit())
    assert facts(weighted).pop("Freq. weights:") == "f (sum 300)"
    assert [line for line in body(weighted) if not line.startswith("Freq.")] == body(repeated)
    assert head(weighted)["No. Observations"] == "300"


def test_a_pseudo_likelihood_has_no_tests(iris):
    table = iris.assign(w=np.linspace(0.5, 2, 150))
    for model in (LDA, QDA):
        s = summary(model.from_formula(IRIS, table, weights="w").fit())
        assert head(s)["Covariance Type"] == "HC0"
        assert not {"AIC", "BIC", "LLR p-value"} & set(head(s))
        assert not find(s, column="statistic") and not find(s, corner="feature")
        assert "pseudo-likelihood (sampling weights)" in notes(s)
        assert facts(s)["Sampling weights:"] == "w (sum 187.5)"
        assert re.fullmatch(r"\d\.\d% \(weighted\); leave-one-out \d\.\d% \(weighted\)", facts(s)["Errors:"])
        (row,) = [line for line in body(s) if line.startswith("setosa ")]
        assert "weight" in notes(s) and "(" not in row  # no standard errors, which weights would scale
        assert "nan" not in s.as_text().lower()


# --------------------------------------------------------------------------------------------------------- regularised


def test_regularised(pima):
    s = summary(LDA.from_formula(PIMA, pima, shrinkage=0.3).fit())
    shown = head(s)
    assert shown["Log-Likelihood (joint)"] == "-4452.7" and shown["Parameters"] == "36.7 (effective)"
    assert shown["AIC"] == f"{2 * 36.7 + 2 * 4452.71978899:.1f}"
    assert shown["Method"] == "regularised MLE" and not {"BIC", "LLR p-value", "Df Model"} & set(shown)
    rows = one(s, corner="type=Yes")
    assert list(rows["npreg"]) == ["coef", "post. sd", "z", "P>|z|", "[0.025", "0.975]"]
    assert [(rows[n]["coef"], rows[n]["post. sd"]) for n in ("Intercept", "npreg", "glu")] == [
        ("-11.7899", "1.765"), ("0.1273", "0.060"), ("0.0371", "0.007"),
    ]  # fmt: skip
    assert {row["z"] + row["P>|z|"] for row in rows.values()} == {""}
    half = 1.959964 * 0.0600195376691
    assert float(rows["npreg"]["[0.025"]) == pytest.approx(0.127307363759 - half, abs=5.1e-4)
    assert not find(s, column="statistic") and not find(s, corner="feature")
    assert facts(s)["Shrinkage:"] == "lambda = 0.3, target diag"
    for words in ("biased", "uncertainty of lambda is ignored", "effective number", "no BIC"):
        assert words in notes(s)


@pytest.mark.parametrize(("shrinkage", "fact", "sd"), [
    ("ledoit_wolf", "lambda = 0.155 (ledoit_wolf), target diag", "1.787"),
    ("oas", "lambda = 0.1153 (oas), target diag", "1.796"),
])  # fmt: skip
def test_shrinkage_chosen_from_the_data(pima, shrinkage, fact, sd):
    s = summary(LDA.from_formula(PIMA, pima, shrinkage=shrinkage).fit())
    assert facts(s)["Shrinkage:"] == fact
    assert one(s, corner="type=Yes")["Intercept"]["post. sd"] == sd


def test_regularised_with_robust_deviations(pima):
    s = summary(LDA.from_formula(PIMA, pima, shrinkage=0.3).fit("HC0"))
    row = one(s, corner="type=Yes")["Intercept"]
    assert (row["std err"], row["z"]) == ("1.848", "")
    assert "post. sd" not in s.as_text()


def test_shrinkage_by_class_and_ridge(iris):
    s = summary(QDA.from_formula(IRIS, iris, shrinkage="oas", ridge=0.01).fit())
    fact = facts(s)["Shrinkage:"]
    assert re.fullmatch(r"lambda: setosa \S+, versicolor \S+, virginica \S+ \(oas\), target diag", fact)
    assert facts(s)["Ridge:"] == "0.01 added to each variance" and "(effective)" in head(s)["Parameters"]
    assert head(summary(LDA.from_formula(IRIS, iris, ridge=0.01).fit()))["Parameters"] == "24"
    assert "post. sd" in one(s, corner="species=virginica")["Intercept"]
    assert "nan" not in s.as_text().lower()


# ----------------------------------------------------------------------------------------------- what is not available


def test_many_features_stand_one_a_row():
    wine = data("wine")
    features = [c for c in wine.columns if c != "cultivar"]
    s = summary(LDA.from_formula("cultivar ~ " + " + ".join(features), wine).fit())
    rows = one(s, corner="means (se)")
    assert list(rows) == ["n", "prior (se)", *features]
    assert list(rows["n"].values()) == ["59", "71", "48"]
    mean = wine.loc[wine.cultivar == "c1", "proline"].mean()
    assert float(rows["proline"]["c1"].split()[0]) == pytest.approx(mean, abs=0.06)


def test_many_classes_stand_in_several_tables():
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(23), 12)
    X = pd.DataFrame(rng.standard_normal((len(y), 8)) + y[:, None] / 5).add_prefix("v")
    s = summary(LDA(y, X).fit())
    tables = find(s, corner="means (se)")
    assert len(tables) > 1 and [c for t in tables for c in t["n"]] == [str(k) for k in range(23)]
    assert max(len(line) for line in s.as_text().splitlines()) <= 100


def test_a_class_of_one_row(iris):
    s = summary(LDA.from_formula(IRIS, pd.concat([iris[:40], iris[50:101]])).fit())
    assert "Box's M" not in one(s, column="statistic") and "Wilks' lambda" in one(s, column="statistic")
    assert "Box's M is left out: " in notes(s)
    assert facts(s)["Errors:"].endswith("1 left aside")


def test_the_pooled_scatter_alone(iris, monkeypatch):
    monkeypatch.setattr(glmclf.core.gaussian.moments, "MAX_SCATTER_NUMBERS", 10)
    s = summary(LDA.from_formula(IRIS, iris).fit())
    assert list(one(s, column="statistic")) == ["Likelihood ratio", "Wilks' lambda"]
    assert "Box's M is left out" in notes(s)
    assert one(s, corner="feature")["sepal_length"]["F-to-remove"] == "4.721"


def test_more_features_than_rows():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b"], 10)
    X = rng.standard_normal((20, 30)) + (y == "b")[:, None]
    for model, options in ((LDA, {"shrinkage": 0.5}), (QDA, {"shrinkage": 0.5}), (LDA, {"covariance": "diag"})):
        s = summary(model(y, X, **options).fit())
        assert head(s)["No. Observations"] == "20" and "Errors:" in facts(s)


def test_without_the_rows(lda, qda, iris):
    for model in (LDA, QDA):
        res = model.from_formula(IRIS, iris).fit()
        before = body(summary(res))
        res.remove_data()
        assert body(summary(res)) == before
        file = io.StringIO()
        res.save(file)
        file.seek(0)
        assert body(summary(type(res).load(file))) == before


def test_rows_gone_before_errors_were_counted(iris):
    res = LDA.from_formula(IRIS, iris).fit()
    res.model = res.model._without_rows()
    s = summary(res)
    assert "Errors:" not in facts(s) and "Error rates are left out" in notes(s)
    assert "LL (conditional)" not in head(s) and "conditional log-likelihood is left out" in notes(s)
    assert one(s, corner="species=versicolor")["Intercept"]["coef"] == "13.7305"


def test_errors_of_many_rows(iris, monkeypatch):
    monkeypatch.setattr(generative_summary, "MAX_LEAVE_ONE_OUT", 600)
    res = LDA.from_formula(IRIS, iris).fit()
    s = summary(res)
    assert facts(s)["Errors:"] == "2.0% (3 of 150)" and "leave-one-out error is left out" in notes(s)
    assert "_error_facts" not in res.__dict__
    monkeypatch.setattr(generative_summary, "MAX_RESUBSTITUTION", 600)
    s = summary(res)
    assert "Errors:" not in facts(s) and "see error_rates()" in notes(s)
    res.error_rates()
    assert facts(summary(res))["Errors:"] == "2.0% (3 of 150); leave-one-out 2.0% (3)"  # it is known by now


def test_long_tables_are_left_out(iris, monkeypatch):
    monkeypatch.setattr(generative_summary, "MAX_ROWS", 3)
    s = summary(LDA.from_formula(IRIS, iris).fit())
    assert not find(s, column="coef") and not find(s, corner="feature") and not find(s, corner="means (se)")
    for words in ("means of 4 features are not printed", "Tests of 4 terms", "has 10 coefficients"):
        assert words in notes(s)


def test_terms_of_several_columns(iris):
    table = iris.assign(size=np.where(np.arange(150) % 3 == 0, "s", np.where(np.arange(150) % 3 == 1, "m", "l")))
    s = summary(LDA.from_formula("species ~ petal_width + C(size)", table).fit())
    rows = one(s, corner="feature")
    assert set(rows) == {"petal_width", "C(size)"}
    assert rows["C(size)"]["df"] == "4" and rows["C(size)"]["tolerance"] == ""
    assert "2 dummy columns modelled as Gaussian" in notes(s)


# --------------------------------------------------------------------------------------------------------- naive Bayes


def titanic(formula="survived ~ cls + sex + age", cov_type=None, **keywords):
    table = references.reference("titanic__logit")[1]
    return NaiveBayes.from_formula(formula, table, freq_weights="n", **keywords).fit(cov_type)


def test_tables_of_naive_bayes():
    s = summary(titanic())
    shown = {"Log-Likelihood (joint)": "-5455.9", "Parameters": "11", "LL (conditional)": "-1138.8"}
    assert shown.items() <= head(s).items() and "Covariance" not in head(s)
    assert list(one(s, column="prior (se)")["No"].values()) == ["1490", "0.6770 (0.0100)"]
    features = one(s, corner="feature")
    row = {"family": "categorical", "params": "6", "observed": "2201", "LR": "180.901", "df": "3", "P>chi2": "0.000"}
    assert row.items() <= features["cls"].items()
    assert (features["sex"]["LR"], features["sex"]["df"]) == ("434.469", "1")
    p = 122 / 1490  # of those who died, in the first class
    first = f"{p:.4f} ({np.sqrt(p * (1 - p) / 1490):.4f})"
    assert one(s, corner="estimate (se)")["prob[cls=1st]"]["No"] == first
    logit = one(s, corner="survived=Yes")
    assert [row["coef"] for row in logit.values()] == ["2.2054", "-0.8565", "-1.5965", "-1.6643", "-2.3172", "0.8797"]
    assert [row["std err"] for row in logit.values()] == ["0.148", "0.166", "0.144", "0.139", "0.120", "0.197"]
    assert "independence_audit()" in notes(s) and facts(s)["Families:"] == "categorical: cls, sex, age"


def test_smoothed_tables_and_joint_ones():
    s = summary(titanic(smoothing=1))
    shown = {"Method": "smoothed MLE", "Parameters": "11.0 (effective)", "LL (conditional)": "-1138.5"}
    assert shown.items() <= head(s).items() and "LLR p-value" not in head(s)
    assert not find(s, column="statistic") and "leave the smoothing out" in notes(s)
    assert one(s, corner="survived=Yes")["age[T.Child]"]["coef"] == "0.8772"
    s = summary(titanic("survived ~ cls:sex + age", "HC0"))
    assert head(s)["Parameters"] == "17" and head(s)["Covariance Type"] == "HC0"
    assert "cls:sex" in one(s, corner="feature")
    assert "prob[cls:sex=1st:Female]" in one(s, corner="estimate (se)")


def test_naive_bayes_of_missing_numbers():
    table = pd.read_csv(references.ROOT.parent / "data" / "pima_tr2.csv")
    res = NaiveBayes.from_formula("type ~ npreg + glu + bp + skin + bmi + ped + age", table).fit()
    s = summary(res)
    assert head(s)["Log-Likelihood (joint)"] == "-6418.5" and head(s)["Parameters"] == "29"
    features = one(s, corner="feature")
    assert {name: int(row["observed"]) for name, row in features.items()} == table.iloc[:, :7].count().to_dict()
    estimates = one(s, corner="estimate (se)")
    assert len(estimates) == 14
    bp = table.loc[table.type == "Yes", "bp"].dropna()
    assert estimates["mean[bp]"]["Yes"] == f"{bp.mean():.3f} ({np.sqrt(bp.var(ddof=0) / len(bp)):.3f})"
    row = one(s, corner="type=Yes")["skin^2"]
    assert (row["coef"], row["std err"]) == ("0.0009", "0.001")
    assert facts(s)["Missing:"] == "factor dropped"
    before = body(s)
    res.remove_data()
    assert body(summary(res)) == before


def test_families_in_one_model():
    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 40)
    table = pd.DataFrame({"y": y, "g": rng.gamma(2, size=80), "e": rng.exponential(size=80), "n": rng.poisson(3, 80)})
    counts = rng.multinomial(6, [0.2, 0.3, 0.5], 80)
    table = table.assign(b=rng.random(80) < 0.5, w1=counts[:, 0], w2=counts[:, 1], w3=counts[:, 2])
    families = {"g": "gamma", "e": "exponential", "n": "poisson"}
    formula, options = "y ~ g + e + n + b + w1 + w2 + w3", {"families": families, "multinomial": ["w1", "w2", "w3"]}
    s = summary(NaiveBayes.from_formula(formula, table, **options).fit())
    assert [row["family"] for row in one(s, corner="feature").values()] == [
        "gamma", "exponential", "poisson", "bernoulli", "multinomial",
    ]  # fmt: skip
    estimates = one(s, corner="estimate (se)")
    assert {"shape[g]", "rate[g]", "rate[e]", "rate[n]", "prob[w1]", "prob[w3]"} <= set(estimates)
    assert estimates["rate[n]"]["a"].split()[0] == f"{table[table.y == 'a'].n.mean():.3f}"
    s = summary(NaiveBayes.from_formula(formula, table, weights=rng.uniform(1, 2, 80), **options).fit())
    assert "LR" not in one(s, corner="feature")["g"] and "nan" not in s.as_text().lower()
    for form in (s.as_csv, s.as_html, s.as_latex, s.as_markdown):
        assert "multinomial" in form()


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
def test_a_cell_without_rows():
    table = pd.DataFrame({"y": list("aaaabbbb"), "x": list("uvuvuuuu")})
    s = summary(NaiveBayes.from_formula("y ~ x", table).fit())
    assert one(s, corner="y=b")["x[T.v]"]["coef"] == "-inf"
    assert "zero cell" in one(s, corner="feature")["x"]["note"]


def test_many_levels_are_not_printed(monkeypatch):
    monkeypatch.setattr(generative_summary, "MAX_ROWS", 2)
    s = summary(titanic())
    assert not find(s, corner="feature") and not find(s, corner="estimate (se)") and not find(s, column="coef")
    for words in ("3 features are not printed", "8 estimates a class", "logit has 6 coefficients"):
        assert words in notes(s)


# --------------------------------------------------------------------------------------------------- names and options


def test_names_and_title_can_be_given(lda, qda):
    names = ["one", "two", "three", "four", "five"]
    s = summary(lda, yname="kind", xname=names, title="A table")
    assert s.as_text().splitlines()[0].strip() == "A table" and head(s)["Dep. Variable"] == "kind"
    assert list(one(s, corner="kind=versicolor")) == names
    assert list(one(s, corner="feature")) == names[1:]
    assert list(one(s, corner="means (se)")["setosa"])[2:] == names[1:]
    with pytest.raises(ValueError, match="xname= has 2 names for 5 regressors"):
        summary(lda, xname=["a", "b"])
    with pytest.raises(ValueError, match="xname= has 5 names for 15"):
        summary(qda, xname=names)
    with pytest.raises(ValueError, match="alpha=2"):
        summary(lda, alpha=2)


def test_results_print_it(lda):
    assert body(lda.summary()) == body(summary(lda))
    assert lda._repr_html_().startswith('<table class="simpletable">')


def shown_width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize("names", [
    ["a_very_long_name_of_a_feature_that_does_not_end_soon", "x"],
    ["年齢", "naïve"],
    ["e\u0301te\u0301", "y"],
    ["line\nbreak", "tab\tstop"],
])  # fmt: skip
def test_rows_stay_aligned(names):
    rng = np.random.default_rng(3)
    y = np.repeat(["класс один", "二", "a class with a very long label, indeed longer than any table"], 20)
    X = pd.DataFrame(rng.standard_normal((60, 2)), columns=names)
    for model in (LDA, QDA):
        s = summary(model(y, X).fit())
        for table in s.tables[:-1]:
            lines = table.as_text().splitlines()[1 if table.title else 0 :]
            assert len({shown_width(line) for line in lines}) == 1


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6, 1e12])
def test_means_keep_digits_in_any_unit(iris, scale):
    table = iris.assign(petal_width=iris.petal_width * scale)
    s = summary(LDA.from_formula("species ~ petal_width", table).fit())
    mean, se = one(s, corner="means (se)")["versicolor"]["petal_width"].split()
    assert float(mean) == pytest.approx(1.326 * scale, rel=2e-3)
    assert float(se.strip("()")) == pytest.approx(np.sqrt(0.0410 / 50) * scale, rel=0.06)
    assert len(f"{mean} {se}") <= 24


# --------------------------------------------------------------------------------------------------------- the formats

ODD = ["100%_sure & #1 $x$", "C(g)[T.<b>|c]", r"back\slash {~^}"]


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.stack, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.stack.append(tag)
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_startendtag(self, tag, attrs):
        assert tag == "br"

    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("td", "th", "caption"):
            self.cells[-1] += data


@pytest.fixture(scope="module", params=["lda", "qda", "regularised", "weights", "one feature", "many"])
def odd(request):
    rng = np.random.default_rng(4)
    y = np.repeat(["a & b", "<c>", "50%_d"], 30)
    X = pd.DataFrame(rng.standard_normal((90, 3)) + (y == "<c>")[:, None], columns=ODD)
    if request.param == "many":
        X = pd.concat([X, X.sample(frac=1, random_state=1).reset_index(drop=True).add_suffix("_2"), X**2], axis=1)
        X.columns = [f"{name}{i}" for i, name in enumerate(X.columns)]
    model = QDA if request.param in ("qda", "many") else LDA
    options = {"regularised": {"shrinkage": 0.2}, "weights": {"weights": rng.uniform(1, 2, 90)}}
    X = X.iloc[:, :1] if request.param == "one feature" else X
    return summary(model(y, X, **options.get(request.param, {})).fit(), discriminant=True)


def test_csv_reads_back(odd):
    rows = list(csv.reader(io.StringIO(odd.as_csv())))
    for table in odd.tables:
        read = list(csv.reader(io.StringIO(table.as_csv())))
        assert len({len(row) for row in read[1 if table.title else 0 :]}) == 1
        assert all(row in rows for row in read)


def test_html_is_balanced(odd):
    read = Cells(odd.as_html())
    assert not read.stack and "<c>" not in odd.as_html()
    assert any("a & b" in cell for cell in read.cells)


def test_latex_is_escaped(odd):
    text = odd.as_latex()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == len(odd.tables)
    bare = re.sub(r"\\[%_&#${}]|^%.*$|\\\\", "", text, flags=re.M)
    assert not re.search(r"[#~%]", bare) and bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0


def test_markdown_has_columns(odd):
    blocks = [b.splitlines() for b in odd.as_markdown().split("\n\n") if b.startswith("|")]
    assert len(blocks) == len(odd.tables)
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block}) == 1
        assert set(block[1]) <= set("| :-")


# --------------------------------------------------------------------------------------------------------- the helpers


@pytest.mark.parametrize(("x", "se", "text"), [
    (5.006, 0.0721, "5.006 (0.072)"),
    (0.33333, 0.0004714, "0.33333 (0.00047)"),
    (3700.66, 37.619, "3700.7 (37.6)"),
    (1234567.8, 456.7, "1234568 (457)"),
    (0.0, 0.0, "0.000 (0.000)"),
    (1.5, np.nan, "1.500"),
    (-np.inf, np.nan, "-inf"),
    (1.234e-9, 5.678e-10, "0.00000000123 (0.00000000057)"),
])  # fmt: skip
def test_estimates_with_standard_errors(x, se, text):
    shown = generative_summary._with_se(x, se)
    assert shown == text or (len(text) > 22 and shown == f"{x:.6g} ({se:.3g})")


def test_leaving_one_out_where_each_row_needs_a_covariance(iris, monkeypatch, tmp_path):
    """Of a shrunken fit that is large the summary and a file have it only after it was asked for."""
    known = LDA.from_formula(IRIS, iris, shrinkage=0.3).fit().error_rates().rates
    monkeypatch.setattr("glmclf.results.generative.discriminant.MAX_UNASKED_OPERATIONS", 150 * 4**3 / 3 - 1)
    res = LDA.from_formula(IRIS, iris, shrinkage=0.3).fit()
    s = summary(res)
    assert "leave-one-out" not in facts(s)["Errors:"] and "a covariance matrix for each row" in notes(s)
    res.save(tmp_path / "early.json")
    pd.testing.assert_frame_equal(res.error_rates().rates, known)
    assert "leave-one-out" in facts(summary(res))["Errors:"]
    res.save(tmp_path / "late.json")
    early, late = (glmclf.load(tmp_path / name).error_rates().rates for name in ("early.json", "late.json"))
    assert early.loc["leave-one-out"].isna().all() and early.loc["resubstitution"].equals(known.loc["resubstitution"])
    pd.testing.assert_frame_equal(late, known)
    for cheap in ({"ridge": 0.1}, {"shrinkage": 0.3, "target": np.eye(4)}, {}):
        assert "leave-one-out" in facts(summary(LDA.from_formula(IRIS, iris, **cheap).fit()))["Errors:"]
