"""Profile likelihood: intervals of a parameter from the likelihood maximised over all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.special import chdtri

from glmclf.core.solvers import solve
from glmclf.core.subspace import Within, constrained

TOL = 1e-10  # of the drop in log-likelihood, and of a step in standard errors
MOST = 60
FAR = 1e4  # standard errors beyond which an end counts as infinite


@dataclass(frozen=True)
class Profile:
    """The likelihood of a linear combination r'theta, maximised over everything else.

    Attributes
    ----------
    objective : Objective
        In the coordinates of `theta`.
    theta : (p,) ndarray
        Its maximum, or a point to begin at where the maximum is infinite.
    value : float
        Log-likelihood at the maximum, or its supremum.
    r : (p,) ndarray
    """

    objective: Any
    theta: ndarray
    value: float
    r: ndarray

    def at(self, c: float, start: ndarray) -> tuple[float, float, ndarray] | None:
        """Profile log-likelihood at r'theta = c, its derivative in c, and where it is; None if there is no maximum."""
        Q, origin = constrained(self.r[None, :], np.array([c]))
        part = Within(self.objective, Q, origin)
        with np.errstate(over="ignore", invalid="ignore"):
            if Q.shape[1]:
                fit = solve("irls", part, Q.T @ (start - origin), tol=1e-16, maxiter=MOST)  # type: ignore[arg-type]
                if not fit.converged and fit.decrement > 1e-6:
                    return None
                theta = part.theta(fit.theta)
            else:
                theta = origin
            e = self.objective.gradient(theta)
        # the envelope theorem: along r the score is the multiplier of the constraint
        slope = float(self.r @ e.score / (self.r @ self.r))
        return float(e.value), slope, theta

    def end(self, sign: float, alpha: float, se: float, centre: float) -> float:
        """Where the profile log-likelihood has fallen by chi-squared(1; 1 - alpha)/2, above or below the maximum.

        Parameters
        ----------
        sign : {1, -1}
        alpha : float
        se : float
            Size of a first step.
        centre : float
            Of the combination: its estimate, or where the search begins.

        Returns
        -------
        float
            Infinite where the profile does not fall that far.
        """
        drop = 0.5 * float(chdtri(1, alpha))
        low, high = 0.0, np.inf  # steps from the centre: inside, outside
        step, start = np.sqrt(2 * drop) * se, self.theta
        for _ in range(MOST):
            found = self.at(centre + sign * step, start)
            if found is None:
                high = min(high, step)
                step = 0.5 * (low + high)
                continue
            value, slope, theta = found
            gap = self.value - value - drop  # negative inside
            if gap < 0:
                low, start = step, theta
            else:
                high = step
            if abs(gap) <= TOL * max(1.0, drop):
                return centre + sign * step
            fall = -sign * slope  # how the gap grows with the step
            wanted = step - gap / fall if fall > 0 else np.inf
            # on a quadratic the root of the gap is linear in the step: take that instead where it is inside
            if gap + drop > 0 and fall > 0:
                wanted = step + (np.sqrt(drop * (gap + drop)) - (gap + drop)) * 2 / fall
            if not low < wanted < high or not np.isfinite(wanted):
                wanted = 0.5 * (low + high) if np.isfinite(high) else 2 * step
            if wanted > FAR * se and not np.isfinite(high):
                return sign * np.inf
            if abs(wanted - step) <= 1e-13 * max(abs(step), se):
                return centre + sign * wanted
            step = wanted
        return centre + sign * step


def profile_interval(profile: Profile, alpha: float, se: float, centre: float) -> tuple[float, float]:
    """Both ends of the profile interval of level 1 - alpha (Venzon & Moolgavkar 1988, Applied Statistics 37)."""
    return profile.end(-1.0, alpha, se, centre), profile.end(1.0, alpha, se, centre)
