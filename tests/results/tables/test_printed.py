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
