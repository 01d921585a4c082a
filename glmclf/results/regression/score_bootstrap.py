"""Score bootstrap: tests of few clusters by random signs of their scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.checks import check_choice, check_whole
from glmclf.core.numerics import seeds
from glmclf.errors import InferenceWarning, warn, without_warnings
from glmclf.inference.covariance.types import Context, whole_seed
from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.records import ScoreBootstrapTest
from glmclf.inference.hypotheses.score import orthogonal
from glmclf.inference.hypotheses.wild import MULTIPLIERS, wild_test
from glmclf.results.base import codes_of_clusters
from glmclf.results.regression.constrained import across
from glmclf.results.requires import Needs, check_needs

NO_SCORE = 1e-8  # share of the largest score of a cluster up to which one is 0 by rounding
LEVEL = 0.05  # level of a test that no p-value may reach with so few clusters


def score_bootstrap_test(
    res: Any, hypothesis: Any, groups: Any, multipliers: str, reps: int, seed: Any, impose_null: bool
) -> ScoreBootstrapTest:
    """See `LikelihoodTests.score_bootstrap_test`."""
    check_choice("multipliers", multipliers, MULTIPLIERS)
    check_whole("reps", reps, 1, "a whole number of draws")
    seeds.generator(seed)
    known = whole_seed(seed)
    R, q = wald.linear_restrictions(*res._constraints(hypothesis))
    if groups is None and res.cov_type == "cluster":
        groups = res._cov_options().get("groups", res._group_names)
    if groups is None:
        raise ValueError("score_bootstrap_test needs the clusters: groups=column name or values")
    codes = codes_of_clusters(res.model, groups, "score_bootstrap_test(groups=)")
    G, J = int(codes.max()) + 1, len(R)
    if G <= J:
        raise ValueError(
            f"score_bootstrap_test: {J} restriction{'s' if J > 1 else ''} and {G} clusters, of which there must be "
            "more than restrictions. Test fewer at once"
        )
    context, u, d = (_under_the_null if impose_null else _at_the_estimate)(res, R, q, codes, G)
    sizes = context.cluster_sizes(codes, G)
    wald_statistic = wald.quadratic_form(d, u.T @ u)  # an error where clusters cannot tell the directions apart
    found = wild_test(u, sizes / sizes.sum(), None if impose_null else wald_statistic, multipliers, int(reps), known)
    statistic, pvalue, reps, every = found
    told = int((np.abs(u) > NO_SCORE * np.abs(u).max(axis=0)).any(axis=1).sum())
    if multipliers == "rademacher" and 2.0 ** (1 - told) > LEVEL:
        warn(
            f"scores of {told} clusters tell something of the hypothesis, and have {2**told} signs, with p-values of "
            f'{2.0 ** (1 - told):g} and more alone: use multipliers="webb"',
            InferenceWarning,
        )
    return ScoreBootstrapTest(statistic, pvalue, J, G, reps, None if every else known)


def _under_the_null(res: Any, R: ndarray, q: ndarray, codes: Any, G: int) -> tuple[Context, ndarray, ndarray]:
    """Context, scores (G, J) of the clusters across the hypothesis at the estimate that obeys it, and their sum."""
    options = {name: res._options[name] for name in ("maxiter", "tol", "n_threads") if name in res._options}
    with without_warnings(InferenceWarning):  # of a model-based covariance, which is not used
        null = res.model.fit_constrained(_with_omitted(res, R, q), cov_type="nonrobust", **options)
    if not null.converged:
        raise ValueError("score_bootstrap_test: the fit under the hypothesis did not converge. Use fit(maxiter=...)")
    objective, theta, e, A, tested = across(null, res, expected=False)
    context = Context(objective, theta, e, res.nobs, res.model._frequency)
    u = context.cluster_sums(codes, G) @ A @ orthogonal(A.T @ e.information @ A, tested).T
    return context, u, u.sum(axis=0)


def _with_omitted(res: Any, R: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """The hypothesis, and zeros for the coefficients of columns that the fit left out."""
    res._check_unaliased(R)
    if res._state.omitted is None:
        return R, q
    zeros = np.eye(len(res._theta))[res._state.omitted]
    return np.vstack([R, zeros]), np.concatenate([q, np.zeros(len(zeros))])


def _at_the_estimate(res: Any, R: ndarray, q: ndarray, codes: Any, G: int) -> tuple[Context, ndarray, ndarray]:
    """Context, influence (G, J) of the clusters on R theta, and its distance from q."""
    check_needs(res, "score_bootstrap_test(impose_null=False)", Needs.FINITE)
    if not res.converged:
        raise ValueError("score_bootstrap_test(impose_null=False): the fit did not converge")
    theta, _, wide = res._coordinates(R)
    objective, narrow = res._objective(), res._state.narrow_centred.fit
    context = Context(objective, narrow.theta, narrow.evaluation, res.nobs, res.model._frequency)
    S, T = context.cluster_sums(codes, G) * objective.unit, context.root
    return context, S @ T @ (wide[:, res._state.places] @ T).T, wide @ theta - q
