"""Sums of hundreds of terms: read as patsy reads short ones, for every model, saved and loaded, over parts."""

import contextlib
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from patsy import ModelDesc

import glmclf
from glmclf import Logit
from glmclf.data.design.feature_terms import choose_terms
from glmclf.data.formula.factors import resolve
from glmclf.data.formula.parse import parse_formula, written_order
from glmclf.errors import DataError, FormulaError

K, N = 1200, 40
NAMES = [f"c{i}" for i in range(K)]
FORMULA = "y ~ " + " + ".join(NAMES)


def of_patsy(formula):
    found = ModelDesc.from_formula(formula)
    return [tuple(f.name() for f in term.factors) for term in found.rhs_termlist]


SUMS = ["1", "0", "-1 + a", "1 - 1 + a", "a - 0", "0 + a + 1", "1 + (a + 0)", "0 + (a + 1)", "1 - (a + 1) + b"]
SUMS += [
    "a + b - (a + b) + c",
    "a*b - a",
    "c + a:c + a*(b - c)",
    "a + a + a",
    "(a + b + c)**2 - a:b - 1",
    "a/(b + c) + 0",
]


def random_sum(draw, depth):
    if depth == 0:
        return draw.choice(["a", "b", "c", "0", "1", "np.log(a)"])
    left, right, sign = random_sum(draw, depth - 1), random_sum(draw, draw.randrange(depth)), draw.choice("++-:*")
    return draw.choice(["{} {} {}", "({}) {} {}", "{} {} ({})"]).format(left, sign, right)


def test_sums_are_read_as_patsy_reads_them():
    draw = random.Random(1)
    right = 0
    for text in [*SUMS, *(random_sum(draw, draw.randrange(1, 6)) for _ in range(300))]:
        try:
            expected = of_patsy(f"y ~ {text}")
        except Exception:  # what patsy refuses is refused here
            expected = []
        try:
            found = parse_formula(f"y ~ {text}").right
        except FormulaError:
            found = []
        assert found == expected, text
        right += bool(expected)
    assert right > 150


def test_other_nests_that_are_too_deep_are_an_error_of_ours():
    with pytest.raises(FormulaError, match="nested too deeply: only sums may be long"):
        parse_formula("y ~ " + ":".join(NAMES))


@pytest.mark.parametrize(("depth", "trusted"), [(140, True), (140, False), (240, True), (240, False), (3000, True)])
def test_deep_expressions_are_read_or_refused(depth, trusted):
    """Also from a stack that is in use: never a RecursionError."""
    def below(frames, formula):
        if frames == 0:
            return Logit.from_formula(formula, table, trusted=trusted)
        return below(frames - 1, formula)

    table = pd.DataFrame({"x": np.linspace(0.5, 1.0, 20), "y": [0, 1] * 10})
    for piece, end in (("x + ", ""), ("-", ""), ("abs(", ")"), ("I(", ")"), ("(", ")"), ("x ** (", ")")):
        with contextlib.suppress(FormulaError, DataError):  # of numbers that are huge
            below(40, f"y ~ np.exp({piece * depth}x{end * depth})")
    with pytest.raises(FormulaError, match="nested too deeply: make a column of it"):
        below(40, f"y ~ I({'x + ' * 240}x)")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b"], N // 2)
    X = rng.normal(size=(N, K))
    X[y == "b", :5] += 1
    return pd.DataFrame(X, columns=NAMES).assign(y=y)


FITS = {
    "NaiveBayes": {},
    "LDA": {"covariance": "diag"},
}


@pytest.mark.parametrize("model", FITS)
@pytest.mark.parametrize("way", ["memory", "parts"])
def test_models_of_hundreds_of_terms(model, way, table, tmp_path):
    """The fit of the same columns as an array, which needs no formula."""
    model, options = getattr(glmclf, model), FITS[model]
    expected = model(table["y"], table[NAMES], **options).fit().predict(table[NAMES].head(3))
    data = table if way == "memory" else lambda: iter([table[:25], table[25:]])
    res = model.from_formula(FORMULA, data, **options).fit()
    again = pickle.loads(pickle.dumps(res))
    for one in (res, again):
        np.testing.assert_allclose(np.asarray(one.predict(table.head(3))), np.asarray(expected), atol=1e-9)


@pytest.mark.parametrize("model", ["Probit", "MNLogit"])
def test_regressions_of_hundreds_of_terms(model, table, tmp_path):
    model, names = getattr(glmclf, model), NAMES[:600]
    formula, options = "y ~ " + " + ".join(names), {"alpha": 1.0, "L1_wt": 0}
    res = model.from_formula(formula, table).fit_regularized(**options)
    plain = model(table["y"], table[names].assign(Intercept=1.0)[["Intercept", *names]]).fit_regularized(**options)
    np.testing.assert_allclose(np.ravel(res.params), np.ravel(plain.params), rtol=1e-5, atol=1e-8)
    res.save(tmp_path / "m")
    rows = table.head(3)
    np.testing.assert_allclose(np.asarray(glmclf.load(tmp_path / "m").predict(rows)), np.asarray(res.predict(rows)))


def test_classifier_without_a_formula(table):
    sklearn = pytest.importorskip("glmclf.sklearn", exc_type=ImportError)
    X, y = table[NAMES[:784]].to_numpy(), table["y"]
    found = sklearn.FormulaClassifier("lda", shrinkage=0.5).fit(X, y).predict_proba(X[:4])
    np.testing.assert_allclose(found, np.asarray(glmclf.LDA(y, X, shrinkage=0.5).fit().predict(X[:4])), atol=1e-8)


def test_order_of_hundreds_of_terms():
    assert written_order(FORMULA) == ["Intercept", *NAMES]


class Counted(tuple):
    """Codes of a term that count how often they are compared."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return tuple.__eq__(self, other)

    __hash__ = tuple.__hash__


def test_terms_of_features_are_chosen_one_by_one():
    """Time in proportion to their number: each is compared with no more than a few others."""
    names = NAMES[:400]
    bound = {name: resolve(name, names, {}) for name in names}
    Counted.compared = 0
    terms = choose_terms([Counted((name,)) for name in names], names[100:200], bound, {}, [])
    assert len(terms) == 301 and Counted.compared < 10 * len(names)
