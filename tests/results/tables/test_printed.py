"""What prints of models, results and tables: names and numbers, no addresses; nothing cut at 80 columns."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, compare, datasets, registry
from glmclf.results.tables.frames import WholeFrame

BINARY, SEVERAL = "sex ~ bill_length_mm + bill_depth_mm", "species ~ bill_length_mm + bill_depth_mm"


@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins").dropna()


def formula_of(name):
    return BINARY if registry.MODELS[name].kind == "binary" else SEVERAL


@pytest.mark.parametrize("name", registry.names())
def test_models_and_results(name, penguins):
    """Model, formula, observations, log-likelihood and convergence, as saved and without rows."""
    res = getattr(glmclf, name).from_formula(formula_of(name), penguins).fit()
    text = repr(res)
    for part in (name, formula_of(name), "333 observations", "converged", f"{res.llf:#.5g}"):
        assert part in text
    assert text == str(res) and len(text.splitlines()) == 2 and "0x" not in text
    assert repr(res.model) == f"<{name}: {formula_of(name)}, 333 observations>"
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    assert repr(glmclf.load(file)) == text
    res.remove_data()
    assert repr(res) == text


def test_results_of_other_kinds(penguins):
    model = Logit.from_formula(BINARY, penguins)
    assert "RegularizedBinaryResults of Logit" in repr(model.fit_regularized(alpha=0.1))
    assert repr(model.fit_constrained("bill_length_mm = 0.1")).count("Logit: sex ~") == 1
    assert "Pooled" in repr(glmclf.pool([model.fit(), model.fit()]))
    lda = LDA.from_formula(SEVERAL, penguins).fit()
    assert repr(lda.discriminant).splitlines()[1] == " Chinstrap, Gentoo against Adelie>"
    assert "Equation of Gentoo against Adelie" in repr(lda.discriminant.equations["Gentoo"])
    assert "did NOT converge" in repr(short_of(model))


def short_of(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.ConvergenceWarning)
        return model.fit(maxiter=1, method="newton")


def test_models_of_arrays_and_of_many_terms(penguins):
    X = penguins[["bill_length_mm", "bill_depth_mm"]].assign(const=1.0)
    assert repr(Logit(penguins.sex, X)) == "<Logit: sex on 3 columns, 333 observations>"
    formula = "sex ~ " + " + ".join(f"I(bill_length_mm > {i})" for i in range(35, 50))
    assert len(repr(Logit.from_formula(formula, penguins))) < 150


@pytest.mark.parametrize("by", ["row", "pattern"])
def test_influence(by, penguins):
    found = Logit.from_formula(BINARY, penguins).fit().get_influence(by=by)
    cooks = found.cooks_distance[0]
    lines = repr(found).splitlines()
    assert len(lines) == 7 and str(cooks.idxmax()) == lines[2].split()[0]
    assert "<table" in found._repr_html_() and lines[0] in found._repr_html_()


def test_in_a_notebook(penguins):
    res = Logit.from_formula(BINARY, penguins).fit()
    for one in (res.roc(), res.precision_recall(event="male"), res.get_influence(), res.get_margeff(), res.anova()):
        assert "<p>" in one._repr_html_() or "<table" in one._repr_html_()


def test_tables_print_whole(penguins):
    fits = [model.from_formula("sex ~ bill_length_mm + bill_depth_mm + C(island, Treatment('Dream'))", penguins).fit()
            for model in (Logit, Probit, CLogLog)]
    several = MNLogit.from_formula(SEVERAL, penguins).fit()
    tables = [
        compare(*fits), fits[0].odds_ratios(), fits[0].summary_frame(), fits[0].tidy(), fits[0].glance(),
        several.odds_ratios(), several.iia_test(), QDA.from_formula(SEVERAL, penguins).fit().ladder(),
        NaiveBayes.from_formula(SEVERAL, penguins).fit().ladder(), fits[0].get_margeff().summary_frame(),
    ]  # fmt: skip
    for table in tables:
        with pd.option_context("display.width", 80):
            said = " ".join(repr(table).split())
            for column in table.columns:
                assert str(column) in said
                for text in table[column]:
                    assert not isinstance(text, str) or " ".join(text.split()) in said
        html = re.sub(r"<[^>]*>", "", table._repr_html_())
        assert all(str(column) in html.replace("&gt;", ">") for column in table.columns)


def test_a_whole_frame_is_a_frame():
    table = WholeFrame({"a": [1.0, 2.0], "b": ["x" * 90, "y"]})
    assert isinstance(table.round(1), WholeFrame) and "x" * 90 in repr(table) and "x" * 90 in table._repr_html_()
    table.attrs["notes"] = ["a note"]
    assert repr(table.head(1)).endswith("\na note") and "<p>a note</p>" in table._repr_html_()
    pd.testing.assert_frame_equal(table, pd.DataFrame({"a": [1.0, 2.0], "b": ["x" * 90, "y"]}))
    assert np.array_equal(table["a"], [1.0, 2.0]) and type(pd.DataFrame(table)) is pd.DataFrame


# ------------------------------------------------------------------------------------------------ what tables say
@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("test", ["LR", "wald", "score"])
def test_anova_says_which_tests(type, test, penguins):
    found = Logit.from_formula("sex ~ bill_length_mm + island", penguins).fit().anova(type=type, test=test)
    name = {"LR": "Likelihood ratio", "wald": "Wald", "score": "Score"}[test]
    assert repr(found).splitlines()[-1].startswith(f"{name} tests, type {type}: each term")


def test_anova_says_that_type_3_depends_on_the_coding(penguins):
    """Treatment coding tests what is crossed at the base level; sum coding at the mean, which is nothing to say."""
    def said(formula, **options):
        return repr(Logit.from_formula(formula, penguins).fit().anova(**options))

    assert "what is crossed with island is tested at its base level" in said("sex ~ bill_length_mm * island")
    for formula in ("sex ~ bill_length_mm * C(island, Sum)", "sex ~ bill_length_mm + island",
                    "sex ~ bill_length_mm * bill_depth_mm"):
        assert "depends on the coding" not in said(formula)
    assert "depends on the coding" not in said("sex ~ bill_length_mm * island", type=2)
    assert "type 3" in repr(LDA.from_formula(SEVERAL, penguins).fit().anova())


@pytest.mark.parametrize("name", ["Logit", "MNLogit", "LDA"])
def test_summaries_without_the_date(name, penguins):
    res = getattr(glmclf, name).from_formula(formula_of(name), penguins).fit()
    with_date, without = res.summary().as_text(), res.summary(date=False).as_text()
    assert "Date:" in with_date and "Time:" in with_date
    assert "Date:" not in without and "Time:" not in without and without == res.summary(date=False).as_text()


def test_levels_as_labels(penguins):
    """sex: male for sex[T.male], in summaries and regression tables; other codings keep their names."""
    formula = "species == 'Gentoo' ~ C(sex, base='male') * bill_length_mm + C(island, Sum) + bs(bill_depth_mm, df=4)"
    res = Logit.from_formula(formula, penguins).fit(bias_reduction="firth")
    crossed = "sex: female \N{MULTIPLICATION SIGN} bill_length_mm"
    names = ["Intercept", "sex: female", "C(island, Sum)[S.Biscoe]", crossed, "bs(bill_depth_mm, df=4)[0]"]
    rows = glmclf.regression_table(res, labels="levels").to_frame().index
    text = res.summary(xname="levels").as_text()
    assert all(name in rows and name in text for name in names)
    with pytest.raises(ValueError, match="or \"levels\""):
        res.summary(xname="labels")
    bayes = NaiveBayes.from_formula("species ~ sex + bill_length_mm", penguins).fit()
    assert "sex: male" in bayes.summary(xname="levels").as_text()
    assert "sex: male" in glmclf.regression_table(bayes, labels="levels").to_frame().index


def test_levels_with_colons_as_labels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": rng.integers(0, 2, 200), "g": rng.choice(["a:b", "a:b[T.c]", "a"], 200),
                          "h": rng.choice(["x", "g[T.a:b]:y"], 200), "I": rng.normal(size=200)})
    rows = glmclf.regression_table(Logit.from_formula("y ~ g * h", table).fit(), labels="levels").to_frame().index
    assert "g: a:b \N{MULTIPLICATION SIGN} h: x" in rows and "g: a:b[T.c]" in rows


# ------------------------------------------------------------------------------------------------------- numbers
def test_counts_are_whole(penguins):
    """Degrees of freedom beside a NaN are floats, and print as whole numbers."""
    large = Logit.from_formula(BINARY, penguins).fit()
    table = compare(large, large.refit(". ~ . - bill_length_mm"))
    assert table["df"].dtype == float and repr(table).splitlines()[-1].split()[-2] == "1"
    assert "<td>1</td>" in table._repr_html_()


def test_rules_are_of_one_length(penguins):
    res = Logit.from_formula("sex ~ bill_length_mm + C(island, Treatment('Torgersen'))", penguins).fit()
    several = MNLogit.from_formula("species ~ C(island, Treatment('Torgersen'))", penguins)
    texts = [one.summary().as_text() for one in (res, glmclf.pool([res, res]), several.fit(bias_reduction="firth"),
                                                 QDA.from_formula(SEVERAL, penguins).fit(), res.get_margeff())]
    for text in texts:
        rules = [line for line in text.splitlines() if set(line) in ({"="}, {"-"})]
        assert len(rules) > 3 and len({*map(len, rules)}) == 1


def test_ratios_have_two_digits():
    """Ends of an interval of a small ratio, 3.7e-04 to 8.4e-04, are no 0.000 and 0.001."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.normal(size=4000)})
    table["y"] = (rng.random(4000) < 1 / (1 + np.exp(7.2 - table.x))).astype(int)
    res = Logit.from_formula("y ~ x", table).fit()
    line = next(line for line in res.summary(exponentiate=True).as_text().splitlines() if line.startswith("Intercept"))
    printed, exact = np.array(line.split()[1:], dtype=float), res.summary_frame(exponentiate=True).loc["Intercept"]
    np.testing.assert_allclose(printed[[0, 1, 4, 5]], exact.iloc[[0, 1, 4, 5]], rtol=5e-3)


def test_p_values_in_one_style(penguins):
    """A p-value of 1e-31 is 0.000, as in summaries of coefficients, and none is 0."""
    text = Logit.from_formula(BINARY, penguins).fit().get_margeff().summary().as_text()
    rows = [line.split() for line in text.splitlines() if line.startswith("bill_")]
    assert len(rows) == 2 and all(row[4] == "0.000" for row in rows)


def test_many_observations(penguins):
    """Counts above a million in full."""
    table = penguins.assign(f=30_000)
    res = Logit.from_formula(BINARY, table, freq_weights="f").fit()
    assert "9,990,000 observations" in repr(res) and "(sum 9990000)" in res.summary().as_text()
    assert "e+0" not in repr(res.classification_report())
    assert res.default_model_infos["Observations"](res) == "9990000"
