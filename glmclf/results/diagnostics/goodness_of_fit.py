"""Goodness of fit of a regression: tests by pattern, by groups of risk and by moments, and the groups themselves."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.checks import check_whole
from glmclf.core.design.arrow import of_levels
from glmclf.core.fit.constraints import ConstrainedEstimate
from glmclf.core.fit.coordinates import into_basis
from glmclf.core.fit.estimate import Estimate
from glmclf.core.fit.restricted import Restricted, Selected
from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.numerics.arrow import ArrowFactor, check_dense
from glmclf.core.numerics.ties import tied_codes
from glmclf.core.rows.streamed import rows_removed
from glmclf.core.separation.limit import LimitEstimate
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.covariance.constrained import free_directions, root_within
from glmclf.inference.covariance.influence import first_rows
from glmclf.inference.specification import gof, moment_tests
from glmclf.inference.specification.moment_tests import MomentTest
from glmclf.results.separation import instead

MAX_MOMENTS_ASKED = 5_000  # moments that are tested together at all: their covariance takes a minute and 200 MB
MAX_MOMENTS = 300  # moments of the full information matrix test in `gof_test`; beyond, its diagonal form
WITHOUT_LEVELS = "without levels"  # of a test of the parameters that are not of the factor of many levels
TEST_COLUMNS = ["statistic", "df", "pvalue", "groups"]


class RiskRows(NamedTuple):
    """Rows of a goodness of fit test, with their fitted probabilities.

    Attributes
    ----------
    counts, p : (n, K) ndarrays
        Observations and fitted probabilities of each class.
    risk : (n,) ndarray
        Risk by which rows are grouped.
    pattern : (n,) integer ndarray
        Numbers of the covariate patterns, from 0.
    possible : (n, K) bool ndarray
        Outcomes that separation does not rule out.
    """

    counts: ndarray
    p: ndarray
    risk: ndarray
    pattern: ndarray
    possible: ndarray


class Estimated(NamedTuple):
    """Estimate at which moments are tested.

    Attributes
    ----------
    objective : Objective
    theta : (p,) ndarray
    root : (p, d) ndarray or ArrowFactor
        T with T T' its inverse information; beside many levels the information itself, factored.
    kept : (d,) integer ndarray or None
        Parameters that the factor is of; None where it is of all.
    basis : (k, k) ndarray, DesignBasis or None
        Basis of the coordinates, as in `core`'s `Estimate`.
    free : (p, d) ndarray or None
        Directions that were estimated, one a parameter of the model without the others; None where all were.
    places : integer ndarray
        Of what was estimated among all parameters.
    """

    objective: Any
    theta: ndarray
    root: Any
    kept: ndarray | None
    basis: Any
    free: ndarray | None
    places: ndarray


def gof_test(res: Any, groups: int) -> pd.DataFrame:
    """See `Diagnostics.gof_test`."""
    check_groups(groups)
    res = _with_rows(res)
    rows = risk_group_test(res, groups)
    for name, test in tests_of_moments(res).items():
        rows[name] = (*test, 0)
    return pd.DataFrame.from_dict(rows, orient="index", columns=TEST_COLUMNS)


def risk_group_test(res: Any, groups: int) -> dict[str, tuple]:
    """Tests by covariate pattern and by groups of risk alone, which need no moments."""
    seen = undecided(res)
    rows = by_pattern(res, seen)
    rows[res._risk_test] = by_groups(res, seen, rows["Pearson"][1], groups)
    return rows


def gof_groups(res: Any, groups: int) -> pd.DataFrame:
    """See `Diagnostics.gof_groups`."""
    check_groups(groups, least=2)
    res = _with_rows(res)
    seen = undecided(res)
    if not len(seen.risk):
        raise ValueError(f"gof_groups(): there is no row to group, as separation decides all ({res.separation})")
    return group_table(seen.counts, seen.p, seen.risk, groups, res._class_names())


def information_matrix_test(res: Any, diagonal: bool) -> MomentTest:
    """See `Diagnostics.information_matrix_test`."""
    name = "information matrix (diagonal)" if diagonal else "information matrix"
    p = finite_parameters(res)
    c = moment_tests.n_indicators(p, 1, diagonal)
    if c > MAX_MOMENTS_ASKED:
        what = "variances" if diagonal else "variances and covariances"
        few = p <= MAX_MOMENTS_ASKED
        instead = "use diagonal=True" if few else "gof_test() has those without the levels of a factor"
        raise ValueError(
            f"information_matrix_test() of {p:,} parameters compares {c:,} {what}, more than the "
            f"{MAX_MOMENTS_ASKED:,} that are tested together: {instead}"
        )
    return tests_of_moments(res, [name])[name]


def undecided(res: Any) -> RiskRows:
    """Observed and fitted counts of the rows that separation does not decide."""
    counts, p, risk = res._observed_and_fitted()
    if res._state.estimate.is_finite:
        return RiskRows(counts, p, risk, pattern_numbers(res), np.ones(p.shape, dtype=bool))
    gone = res._outcomes_gone
    rows = np.flatnonzero((~gone).sum(axis=1) > 1)
    counts, p, risk, possible = counts[rows], p[rows], risk[rows], ~gone[rows]
    # if no row can be of the reference, the risk is that of leaving another class
    if len(rows) and not possible[:, 0].any():
        risk = np.delete(p, np.flatnonzero(possible.any(axis=0))[0], axis=1).sum(axis=1)
    return RiskRows(counts, p, risk, np.unique(pattern_numbers(res)[rows], return_inverse=True)[1], possible)


def finite_parameters(res: Any) -> int:
    """Number of parameters estimated from the rows that separation does not decide."""
    return res._size - res._state.estimate.infinite_directions


def by_pattern(res: Any, seen: RiskRows) -> dict[str, tuple]:
    """Statistic, df, pvalue and patterns of the tests by covariate pattern."""
    if not len(seen.risk):
        return dict.fromkeys(["Pearson", "deviance"], (np.nan, 0, np.nan, 0))
    pearson, deviance, patterns = gof.by_pattern(seen.counts, seen.p, seen.pattern)
    free = seen.possible[first_rows(seen.pattern)].sum() - patterns
    df = int(free) - finite_parameters(res)
    usable = df > 0 and seen.counts.sum() >= 2 * patterns
    found = {"Pearson": pearson, "deviance": deviance}
    return {name: (v, df, float(chdtrc(df, v)) if usable else np.nan, patterns) for name, v in found.items()}


def by_groups(res: Any, seen: RiskRows, df: int, groups: int) -> tuple[float, int, float, int]:
    """Statistic, df, pvalue and groups of the test by groups of risk; `df` is that by covariate pattern.

    NaN with a warning where ties leave too few groups or the model is saturated.
    """
    none = np.nan, 0, np.nan, 0
    try:
        t = gof.hosmer_lemeshow(seen.counts, seen.p, seen.risk, int(groups), seen.possible)
    except ValueError as error:
        if len(seen.risk):  # otherwise the tests by moments warn
            warn(str(error), InferenceWarning)
        return none
    if df <= 0:
        warn(
            f"{res._risk_test}: no degree of freedom is left, as the model is saturated: it fits every covariate "
            "pattern, and so every group of them, whatever was observed",
            InferenceWarning,
        )
        return none
    return t.statistic, t.df, t.pvalue, len(t.observed)


def tests_of_moments(res: Any, wanted: list[str] | None = None) -> dict[str, MomentTest]:
    """Tests by moments of the rows that separation does not decide; NaN, with a warning, without such rows."""
    estimate = estimated_rows(res)
    names = moment_names(res, estimate) if wanted is None else wanted
    if estimate is None:
        found = dict.fromkeys(names, MomentTest(np.nan, 0, np.nan))
        why = f"{res.separation}"
        names = [*(["Pearson", "deviance", res._risk_test] if wanted is None else []), *names]
        warn(f"{', '.join(names)}: no test of a separated fit ({why}): {instead(False)}", InferenceWarning)
        return found
    found = {}
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for name in names:
            found[name] = moment_tests.moment_test(*estimate[:4], *moment_functions(name, estimate))
    empty = [name for name, test in found.items() if not test.df]
    if empty:
        warn(
            f"{', '.join(empty)}: no degree of freedom is left, as the model fits whatever the moments are, or "
            "probabilities are 0 and 1 to rounding",
            InferenceWarning,
        )
    return found


def moment_names(res: Any, estimate: Estimated | None) -> list[str]:
    """Tests by moments that the model has."""
    k, q = len(res._state.columns), res.model._likelihood.n_eta
    n, without = moment_tests.n_indicators(k, q, False), ""
    if res._state.estimate.constraints:
        n = moment_tests.n_indicators(finite_parameters(res), 1, False)
    elif estimate is not None and (levels := of_levels(estimate.objective.blocks)) is not None:
        n, without = moment_tests.n_indicators(len(levels.layout.border), q, False), WITHOUT_LEVELS
    elif not res._state.estimate.is_finite:
        n = moment_tests.n_indicators(finite_parameters(res), 1, False)
    link = getattr(res.model, "link", None)  # MNLogit has no link
    logit = q == 1 and (link is None or link.canonical)
    parts = [*(["diagonal"] if n > MAX_MOMENTS else []), *([without] if without else [])]
    return [
        "sum of squares",
        *(["Stukel"] if logit else []),
        *([] if without and not n else [f"information matrix ({', '.join(parts)})" if parts else "information matrix"]),
    ]


def moment_functions(name: str, estimate: Estimated) -> tuple[Any, int, bool]:
    """Moment function, its number of moments, and whether it reads all columns."""
    if name in ("sum of squares", "Stukel"):
        return (*((moment_tests.sum_of_squares, 1) if name == "sum of squares" else (moment_tests.stukel, 2)), False)
    objective, diagonal = estimate.objective, "diagonal" in name
    if WITHOUT_LEVELS in name:
        return (*_moments_without_levels(estimate, diagonal), False)
    directions = estimate.free
    if estimate.kept is not None:
        check_dense(len(estimate.theta))
        directions = into_basis(estimate.basis, np.eye(len(estimate.theta))[:, estimate.kept])
    elif directions is not None and not diagonal:
        directions = estimate.root
    if directions is not None:
        c = moment_tests.n_indicators(directions.shape[1], 1, diagonal)
        return moment_tests.information_matrix_along(directions, diagonal), c, True
    k, q = objective.blocks.arrays[0].shape[1], objective.likelihood.n_eta
    unit = estimate.basis if diagonal else moment_tests.orthogonal(objective)
    return moment_tests.information_matrix(diagonal, unit), moment_tests.n_indicators(k, q, diagonal), True


def _moments_without_levels(estimate: Estimated, diagonal: bool) -> tuple[Any, int]:
    """Moments of the information matrix in the parameters that are not of the factor of many levels."""
    objective, basis = estimate.objective, estimate.basis
    levels, q = of_levels(objective.blocks), objective.likelihood.n_eta
    centred = None if basis is None else basis.undone
    assert levels is not None
    border, k = levels.layout.border, levels.shape[1]

    def columns(X: Any) -> ndarray:
        return (X if centred is None else centred.columns(X)).border.toarray()

    if estimate.kept is None:
        unit = None if diagonal else moment_tests.orthogonal(objective, columns)
        moments = moment_tests.information_matrix(diagonal, unit, columns)
        return moments, moment_tests.n_indicators(len(border), q, diagonal)
    at = (np.arange(q)[:, None] * k + border).ravel()
    directions = np.eye(len(at))[:, np.isin(at, estimate.kept)]
    moments = moment_tests.information_matrix_along(directions, diagonal, columns)
    return moments, moment_tests.n_indicators(directions.shape[1], 1, diagonal)


def estimated_rows(res: Any) -> Estimated | None:
    """Estimate of the finite parameters and its rows; None where separation decides all of them."""
    owner = res._origin or res
    return _estimated(owner._state.estimate, owner)


@singledispatch
def _estimated(found: Estimate, res: Any) -> Estimated | None:
    """`estimated_rows` of an estimate of some kind."""
    objective, theta, evaluation, basis = at_the_estimate(res)
    return Estimated(objective, theta, _root(evaluation.factor), None, basis, None, res._state.places)


def _root(factor: Any) -> Any:
    return factor if isinstance(factor, ArrowFactor) else factor.root


@_estimated.register
def _of_constrained(found: ConstrainedEstimate, res: Any) -> Estimated | None:
    objective, theta, evaluation, basis = at_the_estimate(res)
    free = into_basis(basis, free_directions(found.constraint.R))
    root = root_within(found.constraint.Q, evaluation.information)
    return Estimated(objective, theta, root, None, basis, free, res._state.places)


@_estimated.register
def _of_separated(found: LimitEstimate, res: Any) -> Estimated | None:
    """Estimate of the finite parameters of a separated fit."""
    if not found.has_limit:
        raise rows_removed()
    if not len(found.kept) or not len(found.rows):
        return None
    basis, theta, objective = found.inner.basis, found.inner.fit.theta, found.objective
    if not isinstance(objective, Restricted):
        return Estimated(objective, theta, _root(objective(theta, True).factor), None, basis, None, found.kept)
    factor, inner, whole = objective(theta, True).factor, objective.objective, objective.theta(theta)
    if isinstance(factor, ArrowFactor) and isinstance(objective, Selected):
        return Estimated(inner, whole, factor, objective.kept, found.limit.whole_basis, None, found.kept)
    free = objective.free if basis is None else objective.free @ basis
    return Estimated(inner, whole, objective.free @ factor.root, None, None, free, found.kept)


def check_coordinates(estimate: Estimated) -> None:
    """Refuse some of the parameters of several equations in columns less their means by level."""
    if estimate.kept is not None and estimate.basis is not None:
        raise NotImplementedError(
            "this of a separated fit of several classes, of which regressors are large beside their spread within the "
            "levels of a factor of many: subtract a value in its middle from each of them"
        )


def at_the_estimate(res: Any) -> tuple[Any, ndarray, Evaluation, ndarray | None]:
    """The objective, the estimate, the evaluation there with the expected information, and the basis."""
    objective, narrow = res._objective(), res._state.narrow_centred
    evaluation = narrow.fit.evaluation if objective.canonical else objective(narrow.fit.theta, True)
    return objective, narrow.fit.theta, evaluation, narrow.basis


def pattern_numbers(res: Any) -> ndarray:
    """Number of each row's covariate pattern, the offset included, in order of appearance.

    Values that differ by rounding alone are of one pattern. Patterns of a constrained fit are those of the free
    combinations of columns.
    """
    rows = res.model._rows.blocks()
    if res._state.estimate.constraints or of_levels(rows) is None:
        X, _, offset = res._free_design()
    else:
        X, offset = rows.collect(lambda X, *rest: X.distinctions), res.model._rows.offset
    X = X if offset is None else np.column_stack([X, offset])
    code = np.zeros(len(X), dtype=np.int64)
    for column in X.T:
        levels = tied_codes(column)
        code = pd.factorize(code * (int(levels.max()) + 1) + levels)[0].astype(np.int64)
    return code


def _with_rows(res: Any) -> Any:
    """Results with the rows of the fit in memory, so that all tests need a single pass."""
    from glmclf.results.comparison.conditional import with_rows

    return with_rows(res)


def check_groups(groups: Any, least: int = 3) -> None:
    """Check the number of groups: ValueError unless it is a whole number that is large enough."""
    check_whole("groups", groups, least)


def group_table(counts: ndarray, p: ndarray, risk: ndarray, groups: int, levels: list[Any]) -> pd.DataFrame:
    """Groups of risk with observed and expected counts of each class."""
    times = counts.sum(axis=1)
    group = gof.risk_groups(risk, times, int(groups))
    index = pd.RangeIndex(1, int(group.max()) + 2, name="group")
    by = pd.Series(risk).groupby(group)
    table = {"low": by.min().to_numpy(), "high": by.max().to_numpy(), "n": np.bincount(group, times)}
    for j, level in enumerate(levels):
        table[f"observed_{level}"] = np.bincount(group, counts[:, j])
        table[f"expected_{level}"] = np.bincount(group, times * p[:, j])
    return pd.DataFrame(table, index=index)
