"""Profile likelihood intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import triangular_inverse
from glmclf.core.fit.estimate import into_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.numerics.double_double import product
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.results.regression.state import StateViews
from glmclf.results.requires import Needs, check_needs, requires

if TYPE_CHECKING:
    from glmclf.inference.profile.likelihood import Profile



class Profiles(StateViews):
    """The part of a result that profiles its likelihood."""

    model: Any
    _origin: Any

    @requires()
    def conf_int(self, alpha: float = 0.05, method: str = "wald") -> pd.DataFrame:
        """Confidence intervals of the parameters.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald", "profile"}
            "wald": estimate -/+ z se. "profile": all values that a likelihood ratio test of level `alpha` does not
            reject, {c : 2 (llf - max of the log-likelihood with b_j = c) <= chi-squared(1; 1 - alpha)}; they need no
            symmetry, and are the same whatever the parameter is called (a coefficient, or its exponential).

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends. Of a separated fit the profile interval of a coefficient at infinity is
            one-sided, [lower, inf] or [-inf, upper]; with directions of both signs it is [-inf, inf]. NaN for columns
            left out. Of a fit with bias_reduction="firth" it is of the penalised likelihood, which may have several
            maxima where a coefficient is held: the highest that a search from several points finds counts, and an end
            is the first value beyond the estimate at which the test rejects. NaN, with an `InferenceWarning`, for an
            end at which the statistic could not be brought to the quantile.

        Raises
        ------
        ValueError
            Profile of a pseudo-likelihood (sampling weights, fractions), or of a fit that did not converge.
        NotImplementedError
            Profile of a robust covariance, or of a bias reduction that maximises no likelihood.
        DataError
            Profile of a result whose rows were removed or not saved.

        References
        ----------
        Venzon & Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals. Applied
        Statistics 37, 87-94. Heinze & Schemper (2002), Statistics in Medicine 21, 2409-2419.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.conf_int(method="profile").round(3)
                        0      1
        Intercept -21.660 -4.549
        GPA         0.971  5.934
        PSI         0.467  4.699
        """
        if method != "profile":
            return super().conf_int(alpha, method)  # type: ignore[misc]
        self._check_profile()
        alpha = check_alpha(alpha)
        p = len(self._theta)
        gone = np.zeros(p, dtype=bool) if self._omitted is None else self._omitted
        ends = [(np.nan, np.nan) if gone[j] else self._ends(j, alpha) for j in range(p)]
        return pd.DataFrame(np.array(ends), index=self.model._param_index, columns=[0, 1])

    def _check_profile(self) -> None:
        res: Any = self
        what = 'conf_int(method="profile")'
        check_needs(self, what, Needs.LIKELIHOOD, Needs.OBJECTIVE)
        if self._reduction is not None and self._reduction.flic:
            raise NotImplementedError(
                f"{what} with flic=True: the corrected intercept is no maximum. Fit with flic=False for the slopes"
            )
        if res.cov_type not in MODEL_BASED:
            raise NotImplementedError(
                f'{what} with cov_type="{res.cov_type}": a profile likelihood takes the model to be right, which '
                'robust standard errors do not. Use method="wald", or with_cov("nonrobust") first'
            )
        _ = self.model._rows

    def _ends(self, j: int, alpha: float) -> tuple[float, float]:
        r = np.zeros(len(self._theta))
        r[j] = 1.0
        profile, toward = self._profile_of(r)
        if profile is None:
            return (-np.inf, np.inf) if np.isnan(toward) else (self._theta[j], self._theta[j])
        ends, failed = profile.ends(alpha, toward)
        if failed:
            name = self.model._param_names[j]
            warn(f'conf_int(method="profile") of "{name}": {"; ".join(failed)}. NaN stands for it', InferenceWarning)
        return ends

    def _profile_of(self, r: ndarray) -> tuple[Profile | None, float]:
        """The profile of r'theta, and the sign of its infinite estimate or 0.

        None with NaN where directions of both signs exist: then every value is as likely as any; None with 0 where
        constraints fix it.
        """
        from glmclf.inference.profile.likelihood import Profile
        from glmclf.inference.profile.penalised import PenalisedProfile

        res: Any = self
        if self._origin is not None:
            return self._origin._profile_of(r @ self._origin._change_of_base(self.model))
        if self._constraint is not None:
            return self._profile_within(r), 0.0
        back = -float(r @ res._state.wide_shift)
        if self._reduction is not None:
            objective, value = res._penalised_objective(), self._reduction.penalised
            return PenalisedProfile(objective, res._narrow_centred.fit.theta, value, self._narrow_row(r), back), 0.0
        if self._cone is None:
            theta = res._narrow_centred.fit.theta
            return Profile(res._objective(), theta, self._value, self._narrow_row(r), back), 0.0
        sign = float(self._cone.sign_of(r[None])[0])
        if np.isnan(sign):
            return None, sign
        return (self._profile_to_infinity(r) if sign else self._profile_in_the_limit(r)), sign

    def _profile_within(self, r: ndarray) -> Profile | None:
        """Of what the constraints leave free."""
        from glmclf.core.fit.constraints import Within
        from glmclf.inference.profile.likelihood import Profile

        res, c = cast(Any, self), self._constraint
        if c.fixed(r[None])[0][0]:
            return None
        origin = c.origin + res._moved
        eta = np.linalg.lstsq(c.Q, res._inner - origin, rcond=None)[0]
        r = res._in_coordinates(r[None])[2][0]
        return Profile(Within(res._objective(), c.Q, origin), eta, self._value, c.Q.T @ r, float(r @ c.origin))

    def _narrow_row(self, r: ndarray) -> ndarray:
        """A combination in the coordinates of the fit, of the columns that are left."""
        res: Any = self
        return res._in_coordinates(r[None])[2][0][res._places]

    def _profile_in_the_limit(self, r: ndarray) -> Profile:
        """No separating direction moves r'theta: its profile is that of the likelihood of the rows left."""
        from glmclf.inference.profile.likelihood import Profile

        res: Any = self
        back = -float(r @ res._state.wide_shift)
        inner, objective, r = self._limit.inner, self._limit.objective, r[self._limit.kept]
        if inner.basis is not None:
            objective, r = objective.rotated(inner.basis), _row_into(inner.basis, r)
        return Profile(objective, inner.fit.theta, self._value, r, back)

    def _profile_to_infinity(self, r: ndarray) -> Profile:
        """Directions that move r'theta are cut off where it is held; those that do not lead to a limit of their own."""
        from glmclf.core.separation.cone import cone_where
        from glmclf.core.separation.limit import held_and_kept, limit_objective
        from glmclf.core.separation.search import constraints_of, ruled_out
        from glmclf.inference.profile.likelihood import Profile

        res: Any = self
        objective, shift = centred(self.model._objective(columns=res._columns))
        theta, r = res._inner[res._places], r[res._places]
        back = -float(r @ shift)
        constraints = constraints_of(objective)
        cone = cone_where(constraints, r[None])
        if cone is None:
            if not objective(theta).well_conditioned(objective.blocks.arrays[0].least_rcond):
                R = triangular_factor(objective.blocks)
                objective, theta, r = objective.rotated(R), into_basis(R, theta), _row_into(R, r)
            return Profile(objective, theta, self._value, r, back)
        _, kept = held_and_kept(cone, constraints)
        _, limit = limit_objective(objective, cone, ruled_out(objective, cone, constraints), kept)
        return Profile(limit, theta[kept], self._value, r[kept], back)


def _row_into(basis: ndarray, r: ndarray) -> ndarray:
    """A combination of parameters in the coordinates of a basis, equation by equation."""
    k, T = len(basis), triangular_inverse(basis)
    return np.concatenate([product(r[i : i + k][None], T)[0] for i in range(0, len(r), k)])
