"""What a notebook shows of results that print tables: the same numbers, with every name escaped."""

from contextlib import suppress
from html.parser import HTMLParser

import numpy as np
import pytest

import glmclf
from glmclf import datasets

LEVELS = {"Adelie": "<A&B>", "Chinstrap": "Chinstrap", "Gentoo": "Gentoo"}


@pytest.fixture(scope="module")
def penguins():
    data = datasets.load("penguins").dropna()
    return data.assign(species=data.species.map(LEVELS), male=(data.sex == "male").astype(int))


@pytest.fixture(scope="module")
def shown(penguins):
    logit = glmclf.Logit.from_formula("male ~ bill_length_mm + species", penguins)
    lda = glmclf.LDA.from_formula("species ~ bill_length_mm + body_mass_g", penguins).fit()
    res, new = logit.fit(), penguins.iloc[::60]
    return {
        "calibration": (res.calibration(), lambda x: x.summary_frame()),
        "report": (lda.classification_report(), lambda x: x.table),
        "roc": (lda.roc(), lambda x: x.summary_frame()),
        "levels": (lda.get_prediction(new), lambda x: x.summary_frame()),
        "canonical": (lda.canonical, lambda x: x.standardised),
        "errors": (lda.error_rates(), lambda x: x.rates),
        "path": (logit.fit_regularized(alphas=[0.1, 0.01]), lambda x: x.table()),
        "cv": (logit.fit_regularized_cv(folds=3, seed=0, alphas=[0.1, 0.01]), lambda x: x.cv),
        "pairwise": (res.t_test_pairwise("species"), lambda x: x.result_frame),
        "nonlinear": (res.nonlinear_test(["exp(bill_length_mm) = 1", "Intercept**2 = 1"]), lambda x: x.summary_frame()),
        "validation": (res.validate(method="cv", folds=3, seed=0), lambda x: x.table),
        "margins": (res.get_margeff(), lambda x: x.summary_frame()),
    }


NAMES = ["calibration", "report", "roc", "levels", "canonical", "errors", "path", "cv", "pairwise", "nonlinear",
         "validation", "margins"]  # fmt: skip


class Cells(HTMLParser):
    """Numbers in the cells of HTML tables; NaN for texts."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.numbers = False, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "td"

    def handle_data(self, data):
        if self.inside and data.strip():
            with suppress(ValueError):
                self.numbers.append(float(data))


@pytest.mark.parametrize("name", NAMES)
def test_the_table_that_is_printed(shown, name):
    thing, table = shown[name]
    page = thing._repr_html_()
    assert "<A&B>" not in page and page.count("<table") == page.count("</table>") > 0 and repr(thing)
    numbers = np.array(Cells(page).numbers)
    for x in table(thing).select_dtypes("number").to_numpy(dtype=float).ravel():
        same = np.isnan(numbers) if np.isnan(x) else abs(numbers - x) <= 1e-4 * max(1, abs(x))
        assert same.any(), x
