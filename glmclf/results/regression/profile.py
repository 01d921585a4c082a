"""Profile likelihood intervals."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.fit.bias import ReducedEstimate
from glmclf.core.fit.constraints import ConstrainedEstimate
from glmclf.core.fit.coordinates import into_basis, rows_from_basis
from glmclf.core.fit.estimate import Estimate
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.fit.restricted import Within
from glmclf.core.rows.asked import asked_for
from glmclf.core.separation.cone import cone_where
from glmclf.core.separation.limit import Limit, LimitEstimate
from glmclf.core.separation.search import constraints_of, ruled_out
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.profile.likelihood import Profile
from glmclf.inference.profile.penalised import PenalisedProfile, evaluation_seconds, search_seconds
from glmclf.results.regression.criterion import penalised_objective
from glmclf.results.requires import Needs, check_needs

MAX_SEARCH_SECONDS = 1800.0  # roughly, from which intervals of a penalised likelihood are not begun

def profile_intervals(res: Any, alpha: float, at: ndarray) -> pd.DataFrame:
    """See `LikelihoodTests.conf_int`."""
    _check_profile(res)
    alpha = check_alpha(alpha)
    _refuse_hours(res, len(at))
    omitted = res._state.omitted
    ends = [(np.nan, np.nan) if omitted is not None and omitted[j] else _ends(res, j, alpha) for j in at]
    return pd.DataFrame(np.array(ends), index=res.model._param_index[at], columns=[0, 1])


def _check_profile(res: Any) -> None:
    if res._state.penalised:
        which = "a refit after selection" if res._has_tests else "a penalised fit"
        has = 'there is "wald"' if res._has_spread else "it has no intervals"
        raise NotImplementedError(f'{asked_for().rstrip("()")}(method="profile") of {which}: {has}')
    what = 'conf_int(method="profile")'
    check_needs(res, what, Needs.LIKELIHOOD, Needs.OBJECTIVE)
    if not res._state.estimate.is_maximum:
        raise NotImplementedError(
            f"{what} with flic=True: the corrected intercept is no maximum. Fit with flic=False for the slopes"
        )
    if res.cov_type not in MODEL_BASED:
        raise NotImplementedError(
            f'{what} with cov_type="{res.cov_type}": a profile likelihood takes the model to be right, which '
            'robust standard errors do not. Use method="wald", or with_cov("nonrobust") first'
        )
    _ = res.model._rows


def _refuse_hours(res: Any, profiles: int) -> None:
    """Refuse so many intervals of a penalised likelihood as would take hours."""
    if not isinstance(res._state.estimate, ReducedEstimate):
        return
    of = res if res._origin is None else res._origin
    n, p = len(res.model._rows), len(res._state.places)
    evaluation = evaluation_seconds(penalised_objective(of), of._state.narrow_centred.fit.theta)
    seconds = search_seconds(p, evaluation) * profiles / p
    if seconds > MAX_SEARCH_SECONDS:
        raise NotImplementedError(
            f'{asked_for().rstrip("()")}(method="profile") of a fit with bias_reduction="firth": the search for the '
            f"ends of {profiles} profiles of a penalised likelihood with {n} rows would take about "
            f"{seconds / 3600:.2g} hours, and what takes more than {MAX_SEARCH_SECONDS / 60:g} minutes is not begun. "
            'Ask for some, columns=, or use method="wald"; penalised likelihood ratio tests of single terms are '
            "anova(type=3)"
        )


def _ends(res: Any, j: int, alpha: float) -> tuple[float, float]:
    r = np.zeros(len(res._state.theta))
    r[j] = 1.0
    profile, toward = profile_of(res, r)
    if profile is None:
        return (-np.inf, np.inf) if np.isnan(toward) else (res._state.theta[j], res._state.theta[j])
    ends, failed = profile.ends(alpha, toward)
    if failed:
        name = res.model._param_names[j]
        warn(f'conf_int(method="profile") of "{name}": {"; ".join(failed)}. NaN stands for it', InferenceWarning)
    return ends


def profile_of(res: Any, r: ndarray) -> tuple[Profile | None, float]:
    """Profile likelihood of r'theta, and the sign of its infinite estimate or 0.

    None with NaN where directions of both signs exist: then every value is as likely as any; None with 0 where
    constraints fix it.
    """
    if res._origin is not None:
        return profile_of(res._origin, r @ res._origin._change_of_base(res.model))
    return _profile(res._state.estimate, res, r)


@singledispatch
def _profile(found: Estimate, res: Any, r: ndarray) -> tuple[Profile | None, float]:
    """Profile likelihood for a kind of estimate; see `profile_of`."""
    theta, back = res._state.narrow_centred.fit.theta, -float(r @ res._state.wide_shift)
    return Profile(res._objective(), theta, res._state.value, _narrow_row(res, r), back), 0.0


@_profile.register
def _of_reduced(found: ReducedEstimate, res: Any, r: ndarray) -> tuple[Profile | None, float]:
    objective, value, back = penalised_objective(res), found.maximised, -float(r @ res._state.wide_shift)
    assert value is not None
    return PenalisedProfile(objective, res._state.narrow_centred.fit.theta, value, _narrow_row(res, r), back), 0.0


@_profile.register
def _of_constrained(found: ConstrainedEstimate, res: Any, r: ndarray) -> tuple[Profile | None, float]:
    """Profile within the constraints of a fit."""
    c = found.constraint
    assert c is not None
    if c.fixed(r[None])[0][0]:
        return None, 0.0
    origin = c.origin + res._state.moved
    eta = np.linalg.lstsq(c.Q, res._state.inner - origin, rcond=None)[0]
    r = res._in_coordinates(r[None])[2][0]
    part = Within(res._objective(), c.Q, origin)
    return Profile(part, eta, res._state.value, c.Q.T @ r, float(r @ c.origin)), 0.0


@_profile.register
def _of_separated(found: LimitEstimate, res: Any, r: ndarray) -> tuple[Profile | None, float]:
    sign = float(found.signs(r[None])[0])
    if np.isnan(sign):
        return None, sign
    return (_profile_to_infinity(res, r) if sign else _profile_in_the_limit(found, res, r)), sign


def _narrow_row(res: Any, r: ndarray) -> ndarray:
    """Combination r in the coordinates of the fit, of the columns that are not omitted."""
    return res._in_coordinates(r[None])[2][0][res._state.places]


def _profile_in_the_limit(found: LimitEstimate, res: Any, r: ndarray) -> Profile:
    """Profile of a finite r'theta of a separated fit, from the rows that separation does not decide."""
    _ = res.model._rows  # raises an error where the rows are gone
    back = -float(r @ res._state.wide_shift)
    return Profile(found.objective, found.inner.fit.theta, res._state.value, found.limit.row(r), back)


def _profile_to_infinity(res: Any, r: ndarray) -> Profile:
    """Profile of an infinite r'theta: fixing it cuts off directions that move it; the others have their own limit."""
    objective, shift = centred(res.model._objective(columns=res._state.columns))
    theta, r = res._state.finite_theta[res._state.places] + shift, r[res._state.places]
    back = -float(r @ shift)
    constraints = constraints_of(objective)
    cone = cone_where(constraints, r[None])
    if cone is None:
        if not objective(theta).well_conditioned(objective.blocks.arrays[0].least_rcond):
            R = triangular_factor(objective.blocks)
            objective, theta, r = objective.rotated(R), into_basis(R, theta), rows_from_basis(R, r[None])[0]
        return Profile(objective, theta, res._state.value, r, back)
    limit = Limit.of(objective, cone, constraints, ruled_out(objective, cone, constraints), theta)
    return Profile(limit.objective, limit.start, res._state.value, limit.row(r), back)
