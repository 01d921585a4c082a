"""Profile likelihood intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.product import triangular_inverse
from glmclf.core.fit.estimate import into_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.numerics.double_double import product
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.results.requires import Needs, check_needs

if TYPE_CHECKING:
    from glmclf.inference.profile.likelihood import Profile


def profile_intervals(res: Any, alpha: float) -> pd.DataFrame:
    """Profile likelihood intervals of `RegressionResults.conf_int`."""
    _check(res)
    alpha = check_alpha(alpha)
    p = len(res._theta)
    gone = np.zeros(p, dtype=bool) if res._omitted is None else res._omitted
    ends = [(np.nan, np.nan) if gone[j] else _ends(res, j, alpha) for j in range(p)]
    return pd.DataFrame(np.array(ends), index=res.model._param_index, columns=[0, 1])


def _check(res: Any) -> None:
    what = 'conf_int(method="profile")'
    check_needs(res, what, Needs.LIKELIHOOD, Needs.OBJECTIVE)
    if res._reduction is not None and res._reduction.flic:
        raise NotImplementedError(
            f"{what} with flic=True: the corrected intercept is no maximum. Fit with flic=False for the slopes"
        )
    if res.cov_type not in MODEL_BASED:
        raise NotImplementedError(
            f'{what} with cov_type="{res.cov_type}": a profile likelihood takes the model to be right, which '
            'robust standard errors do not. Use method="wald", or with_cov("nonrobust") first'
        )
    _ = res.model._rows


def _ends(res: Any, j: int, alpha: float) -> tuple[float, float]:
    r = np.zeros(len(res._theta))
    r[j] = 1.0
    profile, toward = profile_of(res, r)
    if profile is None:
        return (-np.inf, np.inf) if np.isnan(toward) else (res._theta[j], res._theta[j])
    ends, failed = profile.ends(alpha, toward)
    if failed:
        name = res.model._param_names[j]
        warn(f'conf_int(method="profile") of "{name}": {"; ".join(failed)}. NaN stands for it', InferenceWarning)
    return ends


def profile_of(res: Any, r: ndarray) -> tuple[Profile | None, float]:
    """The profile of r'theta, and the sign of its infinite estimate or 0.

    None with NaN where directions of both signs exist: then every value is as likely as any; None with 0 where
    constraints fix it.
    """
    from glmclf.inference.profile.likelihood import Profile
    from glmclf.inference.profile.penalised import PenalisedProfile

    if res._origin is not None:
        return profile_of(res._origin, r @ res._origin._change_of_base(res.model))
    if res._constraint is not None:
        return _within_constraints(res, r), 0.0
    back = -float(r @ res._state.wide_shift)
    if res._reduction is not None:
        objective, value = res._penalised_objective(), res._reduction.penalised
        return PenalisedProfile(objective, res._narrow_centred.fit.theta, value, _narrow_row(res, r), back), 0.0
    if res._cone is None:
        theta = res._narrow_centred.fit.theta
        return Profile(res._objective(), theta, res._value, _narrow_row(res, r), back), 0.0
    sign = float(res._cone.sign_of(r[None])[0])
    if np.isnan(sign):
        return None, sign
    return (_to_infinity(res, r) if sign else _in_the_limit(res, r)), sign


def _within_constraints(res: Any, r: ndarray) -> Profile | None:
    """Of what the constraints leave free."""
    from glmclf.core.fit.constraints import Within
    from glmclf.inference.profile.likelihood import Profile

    c = res._constraint
    if c.fixed(r[None])[0][0]:
        return None
    origin = c.origin + res._moved
    eta = np.linalg.lstsq(c.Q, res._inner - origin, rcond=None)[0]
    r = res._in_coordinates(r[None])[2][0]
    return Profile(Within(res._objective(), c.Q, origin), eta, res._value, c.Q.T @ r, float(r @ c.origin))


def _narrow_row(res: Any, r: ndarray) -> ndarray:
    """A combination in the coordinates of the fit, of the columns that are left."""
    return res._in_coordinates(r[None])[2][0][res._places]


def _in_the_limit(res: Any, r: ndarray) -> Profile:
    """No separating direction moves r'theta: its profile is that of the likelihood of the rows left."""
    from glmclf.inference.profile.likelihood import Profile

    back = -float(r @ res._state.wide_shift)
    inner, objective, r = res._limit.inner, res._limit.objective, r[res._limit.kept]
    if inner.basis is not None:
        objective, r = objective.rotated(inner.basis), _row_into(inner.basis, r)
    return Profile(objective, inner.fit.theta, res._value, r, back)


def _to_infinity(res: Any, r: ndarray) -> Profile:
    """Directions that move r'theta are cut off where it is held; those that do not lead to a limit of their own."""
    from glmclf.core.separation.cone import cone_where
    from glmclf.core.separation.limit import held_and_kept, limit_objective
    from glmclf.core.separation.search import constraints_of, ruled_out
    from glmclf.inference.profile.likelihood import Profile

    objective, shift = centred(res.model._objective(columns=res._columns))
    theta, r = res._inner[res._places], r[res._places]
    back = -float(r @ shift)
    constraints = constraints_of(objective)
    cone = cone_where(constraints, r[None])
    if cone is None:
        if not objective(theta).well_conditioned(objective.blocks.arrays[0].least_rcond):
            R = triangular_factor(objective.blocks)
            objective, theta, r = objective.rotated(R), into_basis(R, theta), _row_into(R, r)
        return Profile(objective, theta, res._value, r, back)
    _, kept = held_and_kept(cone, constraints)
    _, limit = limit_objective(objective, cone, ruled_out(objective, cone, constraints), kept)
    return Profile(limit, theta[kept], res._value, r[kept], back)


def _row_into(basis: ndarray, r: ndarray) -> ndarray:
    """A combination of parameters in the coordinates of a basis, equation by equation."""
    k, T = len(basis), triangular_inverse(basis)
    return np.concatenate([product(r[i : i + k][None], T)[0] for i in range(0, len(r), k)])
