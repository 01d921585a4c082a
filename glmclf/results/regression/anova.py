"""Tests of the terms of a formula: likelihood ratio, Wald and score statistics of nested column spaces."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.checks import check_choice, is_whole
from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import level_centring
from glmclf.core.design.coding import column_sums
from glmclf.core.design.columns import reordered, some_columns
from glmclf.core.design.product import rotated
from glmclf.core.fit.coordinates import into_basis
from glmclf.core.fit.information import loses_digits
from glmclf.core.fit.rank import independent, triangular_factor
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES, BlocksPlusLowRank
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.hypotheses import anova as tests
from glmclf.inference.hypotheses import score, wald
from glmclf.inference.hypotheses.anova import TermComparison
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.frames import with_notes

CENTRED = 1e-9  # sum of a column of a coding that is about the mean of the levels, up to the rounding of Poly


def anova(res: Any, type: int, test: str) -> pd.DataFrame:
    """See `LikelihoodTests.anova`."""
    if not is_whole(type) or type not in tests.ANOVA_TYPES:
        raise ValueError(f"type={type!r}: choose 1, 2 or 3")
    check_choice("test", test, tests.ANOVA_TESTS)
    if test != "wald":
        check_needs(res, f'anova(test="{test}")', Needs.LIKELIHOOD, Needs.OBJECTIVE)
    if test == "score":
        check_needs(res, 'anova(test="score")', Needs.MLE)
    model, constant, q = res.model, res.model._constant_column(), res.model._likelihood.n_eta
    columns = {name: np.arange(len(model.exog_names))[part] for name, part in model._design.terms.items()}
    if type == 1 and model.formula is not None:
        from glmclf.data.formula.parse import written_order

        columns = {name: columns[name] for name in written_order(model.formula) if name in columns}
    skip = next((name for name, c in columns.items() if len(c) == 1 and c[0] == constant), None)
    compared = tests.comparisons(type, columns, model._term_factors, skip)
    statistic = {"LR": lr_statistic, "wald": wald_statistic, "score": score_statistic}[test]
    if res._state.combinations or (test == "LR" and res.bias_reduction is not None):
        check_formed(f'anova(test="{test}") of a bias-reduced fit, or beside columns left out,', len(model.exog_names))
    if res._state.combinations:
        compared = [of_full_rank(res, c) for c in compared]
    values = [statistic(res, c) for c in compared]
    df = [len(c.tested) * q for c in compared]
    pvalues = [float(chdtrc(d, v)) if d and not np.isnan(v) else np.nan for v, d in zip(values, df, strict=True)]
    index = pd.Index([c.term for c in compared], dtype=object)
    table = pd.DataFrame({"statistic": values, "df": df, "pvalue": pvalues}, index=index)
    return with_notes(table, f"{TEST_WORDS[test]} tests, type {type}: {TYPE_WORDS[type]}.", *_coding_note(type, model))


TEST_WORDS = {"LR": "Likelihood ratio", "wald": "Wald", "score": "Score"}
TYPE_WORDS = {
    1: "each term added to those before it",
    2: "each term added to all that do not contain it",
    3: "each term taken out of the whole model",
}


def _coding_note(type: int, model: Any) -> list[str]:
    """Note on tests of type 3 of terms crossed with factors whose coding is not about their mean."""
    subterms = getattr(model._design, "subterms", ())
    crossed: dict[str, None] = {}
    for s in subterms:
        inside = any({*other.factors} < {*s.factors} for other in subterms if other.factors)
        crossed |= {code: None for code, C in s.contrasts.items() if inside and abs(column_sums(C)).max() > CENTRED}
    if type != 3 or not crossed:
        return []
    names = ", ".join(crossed)
    return [
        f"With interactions type 3 depends on the coding: what is crossed with {names} is tested at its base level. "
        f"Use sum coding, C(g, Sum), for tests at the mean of the levels, or type 2."
    ]


def of_full_rank(res: Any, c: TermComparison) -> TermComparison:
    """Comparison of the two column spaces of a term by columns of full rank."""
    smaller = independent(res._factor, c.smaller, res._units)
    return TermComparison(c.term, independent(res._factor, np.r_[smaller, c.tested], res._units), smaller)


def flat_columns(res: Any, columns: ndarray) -> ndarray:
    return tests.across_equations(columns, len(res.model.exog_names), res.model._likelihood.n_eta)


def lr_statistic(res: Any, c: TermComparison) -> float:
    larger, smaller = res._criterion.with_columns(c.larger)[0], res._criterion.with_columns(c.smaller)[0]
    return wald.lr_test(larger, smaller, 1).statistic


def wald_statistic(res: Any, c: TermComparison) -> float:
    if not len(c.tested):
        return 0.0
    if res._state.combinations:
        return wald_of_spaces(res, c)
    absent = np.setdiff1d(np.arange(len(res.model.exog_names)), c.larger)
    if not len(absent) and isinstance(res._V, BlocksPlusLowRank):
        tested = res._state.places[np.isin(res._state.places, flat_columns(res, c.tested))]
        try:
            return wald.statistic_of(res._theta, res._V, tested, res._in_coordinates, res._rank)
        except ValueError:
            warn(wald.no_joint_test([c.term]), InferenceWarning)
            return np.nan
    check_formed('anova(type=1 or 2, test="wald")', len(res._state.theta))
    tested, absent = flat_columns(res, c.tested), flat_columns(res, absent)
    chosen = np.concatenate([absent, tested])
    R = np.zeros((len(chosen), len(res._state.theta)))
    R[np.arange(len(chosen)), chosen] = 1.0
    place = np.arange(len(chosen))
    return wald_given(res, R, place[len(absent) :], place[: len(absent)], c.term)


def wald_of_spaces(res: Any, c: TermComparison) -> float:
    """Wald statistic of two nested column spaces, in coordinates whose first ones span the smaller space."""
    columns = independent(res._factor, np.r_[c.smaller, c.tested, res._state.columns], res._units)
    # X[:, kept] = X[:, columns] A, so that the parameters of `columns` are A b
    A = np.linalg.lstsq(res._factor[:, columns], res._factor[:, res._state.columns], rcond=None)[0]
    q = res.model._likelihood.n_eta
    R = np.zeros((len(columns) * q, len(res._state.theta)))
    R[:, res._state.places] = np.kron(np.eye(q), A)
    tested = tests.across_equations(np.arange(len(c.smaller), len(c.larger)), len(columns), q)
    absent = tests.across_equations(np.arange(len(c.larger), len(columns)), len(columns), q)
    place = np.arange(len(absent) + len(tested))
    R = R[np.concatenate([absent, tested])]
    return wald_given(res, R, place[len(absent) :], place[: len(absent)], c.term)


def wald_given(res: Any, R: ndarray, tested: ndarray, absent: ndarray, term: str) -> float:
    """Wald statistic of combinations R given that those of the rows `absent` are 0; NaN where there is none."""

    def form(z: ndarray, C: ndarray) -> float:
        return tests.wald_statistic(z, C, tested, absent)

    if res._touches_infinity(R):
        return np.nan
    theta, V, R = res._coordinates(R)
    try:
        return wald.joint_statistic(theta, V, R, np.zeros(len(R)), form, res._rank)
    except (ValueError, np.linalg.LinAlgError):
        warn(wald.no_joint_test([term]), InferenceWarning)
        return np.nan


def check_formed(what: str, p: int) -> None:
    """Refuse arrays of all pairs of so many columns."""
    if 8 * p * p > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"{what} forms arrays of all pairs of {p:,} columns, each of {8e-9 * p * p:.1f} GB: use "
            "wald_test_terms(), or compare_lr_test with a fit without the term"
        )


def score_statistic(res: Any, c: TermComparison) -> float:
    if not len(c.tested):
        return 0.0
    q, k = res.model._likelihood.n_eta, len(c.larger)
    kept = tests.across_equations(np.arange(len(c.smaller)), k, q)
    theta = np.zeros(k * q)
    theta[kept] = res._criterion.with_columns(c.smaller)[1]
    if not np.isfinite(theta).all():
        return score_at_limit(res, c)
    own = res.model._objective()
    chosen = own.blocks.map(lambda X, *rest: (reordered(X, c.smaller, c.tested), *rest))
    with suppress(np.linalg.LinAlgError):
        if of_levels(chosen) is not None:
            return _score_statistic_of_levels(type(own)(own.likelihood, chosen, own.unit), theta)
        # the smaller model's columns span the first ones of a triangular basis, so that the test is the same in it
        R = triangular_factor(chosen.map(lambda X, *rest: (X,)))
        blocks = chosen.map(lambda X, *rest: (rotated(X, R), *rest))
        e = type(own)(own.likelihood, blocks, own.unit)(into_basis(R, theta), True)
        return score.score_test(e.score, e.information, np.setdiff1d(np.arange(k * q), kept)).statistic
    warn(
        f'anova(test="score"): {c.term} has no test, since the information of the model without it is singular to '
        'rounding (fitted probabilities of 0 and 1). Use test="LR".',
        InferenceWarning,
    )
    return np.nan


def _score_statistic_of_levels(objective: Any, theta: ndarray) -> float:
    """Score statistic s' I^-1 s with a factor of many levels, in columns less their means by level where these have
    the digits: at the maximum of the smaller model it is the same in all coordinates."""
    e = objective(theta, True)
    if loses_digits(of_levels(objective.blocks), e):
        basis = level_centring(objective.blocks)
        e = objective.rotated(basis)(basis.into(theta), True)
    half = e.factor.half_solved(e.score[:, None])
    return float((half * half).sum())


def score_at_limit(res: Any, c: TermComparison) -> float:
    """Score statistic where the smaller model is separated; NaN where separation decides all rows."""
    found: Any = res.model._estimate_with(c.smaller, np.zeros(len(c.smaller) * res.model._likelihood.n_eta))
    if found.has_limit and len(found.rows):
        objective, theta, tested = found.with_columns(some_columns(res.model._rows.X, c.tested).toarray())
        e = objective(theta, True)
        with suppress(ValueError, np.linalg.LinAlgError):  # columns may be collinear in the undecided rows
            return score.score_test(e.score, e.information, tested).statistic
    warn(
        f'anova(test="score"): {c.term} has no test, since the model without it is separated and the rows left '
        'say nothing about it. Use test="LR".',
        InferenceWarning,
    )
    return np.nan
