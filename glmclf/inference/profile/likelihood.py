"""Profile likelihood: intervals of a parameter from the likelihood maximised over all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc, chdtri

from glmclf.caching import cached_property
from glmclf.core.fit.constraints import constrained
from glmclf.core.fit.restricted import Restricted, Selected, Within
from glmclf.core.fit.solvers import solve
from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.numerics.arrow import SymmetricMatrix

ROUNDED_SHARE_OF_DROP = 1e-6  # share of the drop that is tolerated where neighbouring numbers are no nearer to it
TOL_SHARE_OF_DROP = 1e-9  # error of the drop in log-likelihood, as a share of it: the step that follows squares it
MAX_STEPS = 100  # Newton steps, of a restricted fit and towards an end


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
    shift : float
        A number to add to r'theta.
    """

    objective: Any
    theta: ndarray
    value: float
    r: ndarray
    shift: float = 0.0

    @cached_property
    def _opening(self) -> Evaluation:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.objective(self.theta)

    @cached_property
    def _scale(self) -> ndarray:
        """Units in which the information has a diagonal of ones."""
        diagonal = self._opening.information.diagonal()
        ok = np.isfinite(diagonal) & (diagonal > 0)
        return np.where(ok, 1.0 / np.sqrt(np.where(ok, diagonal, 1.0)), 1.0)

    @cached_property
    def _direction(self) -> ndarray:
        """Derivative of theta in r'theta along the profile, V r / r'V r, at the start."""
        try:
            d = self._opening.factor.solve(self.r)
        except np.linalg.LinAlgError:
            d = self._scale**2 * self.r
        d = d / (self.r @ d)
        return d if np.isfinite(d).all() else np.zeros_like(d)

    @property
    def centre(self) -> float:
        """Value of r'theta at the start."""
        return float(self.r @ self.theta) + self.shift

    @property
    def se(self) -> float:
        """Standard error of r'theta by the information at the start: the size of a first step."""
        try:
            variance = float(self.r @ self._opening.factor.solve(self.r))
        except np.linalg.LinAlgError:
            variance = float(((self._scale * self.r) ** 2).sum())
        return float(np.sqrt(variance)) if variance > 0 and np.isfinite(variance) else 1.0

    def at(self, c: float, start: ndarray) -> tuple[float, float, ndarray] | None:
        """Profile log-likelihood at r'theta = c, its derivative in c, and theta there; None if no maximum was found."""
        s = self._scale
        part, first = self._within(c - self.shift, start)
        with np.errstate(over="ignore", invalid="ignore"):
            theta = part.theta(first)
            if len(first):
                fit = solve("irls", part, first, tol=1e-16, maxiter=MAX_STEPS)  # type: ignore[arg-type]
                if not fit.converged and not fit.decrement <= 1e-12:
                    return None
                theta = part.theta(fit.theta)
            e = self.objective.gradient(theta)
        if not np.isfinite(e.value):
            return None
        # the envelope theorem: along r the score is the multiplier of the constraint
        r = s * s * self.r
        return float(e.value), float(r @ e.score / (r @ self.r)), theta

    def _within(self, c: float, start: ndarray) -> tuple[Restricted, ndarray]:
        """The objective where r'theta = c, and the point of that nearest to a start."""
        s, tested = self._scale, np.flatnonzero(self.r)
        if len(tested) == 1 and isinstance(self._opening.information, SymmetricMatrix):  # no array of all parameters
            held = np.zeros(len(self.r))
            held[tested] = c / self.r[tested]
            kept = np.delete(np.arange(len(held)), tested)
            return Selected(self.objective, kept, held), start[kept]
        Q, origin = constrained((s * self.r)[None, :], np.array([c]))
        Q, origin = s[:, None] * Q, s * origin
        return Within(self.objective, Q, origin), (Q / (s * s)[:, None]).T @ (start - origin)

    def end(self, sign: float, alpha: float, se: float, centre: float, attained: bool = True) -> float:
        """Value of r'theta where the profile log-likelihood has fallen by chi-squared(1; 1 - alpha)/2, above or below.

        Parameters
        ----------
        sign : {1, -1}
        alpha : float
        se : float
            Size of a first step.
        centre : float
            Of the combination: its estimate, or where the search begins.
        attained : bool
            Whether the maximum is at `centre`, or at infinity on the other side.

        Returns
        -------
        float

        Raises
        ------
        ArithmeticError
            The search found none.
        """
        drop = 0.5 * float(chdtri(1, alpha))
        tol = max(TOL_SHARE_OF_DROP * drop, 64 * np.finfo(float).eps * abs(self.value))
        low, high = 0.0 if attained else -np.inf, np.inf  # steps from the centre: inside, outside
        step, reach = np.sqrt(2 * drop) * se if attained else 0.0, se
        start = self.theta + sign * step * self._direction
        for _ in range(MAX_STEPS):
            found, before = self.at(centre + sign * step, start), step
            if found is None:
                high, wanted = min(high, step), np.nan
            else:
                value, slope, theta = found
                fallen = self.value - value
                low, high = (step, high) if fallen < drop else (low, min(high, step))
                wanted = step + newton_step(fallen, -sign * slope, drop, attained)
                if abs(fallen - drop) <= tol:
                    return centre + sign * (wanted if abs(wanted - step) <= 1e-3 * max(se, abs(step)) else step)
            step, reach = _inside(wanted, step, low, high, reach)
            if abs(step - before) <= 4e-16 * max(abs(centre + sign * step), se):
                if found is None or abs(fallen - drop) > max(ROUNDED_SHARE_OF_DROP * drop, tol):
                    break
                return centre + sign * step
            if found is not None:
                start = theta + sign * (step - before) * self._direction
        raise ArithmeticError(
            f"the profile likelihood of a coefficient beyond {centre + sign * step:.6g} was not found"
        )

    def ends(self, alpha: float, toward: float = 0.0) -> tuple[tuple[float, float], list[str]]:
        """Ends of the profile interval, NaN where none was found, and the reasons (Venzon & Moolgavkar 1988, Applied
        Statistics 37).

        `toward` is the sign of an infinite estimate, whose interval has one end.
        """
        found, failed = {1.0: np.inf, -1.0: -np.inf}, []
        for sign in (-toward,) if toward else (-1.0, 1.0):
            try:
                found[sign] = self.end(sign, alpha, self.se, self.centre, attained=not toward)
            except ArithmeticError as error:
                found[sign] = np.nan
                failed.append(str(error))
        return (found[-1.0], found[1.0]), failed

    def lr_pvalue(self, c: float = 0.0) -> float:
        """p-value of the likelihood ratio test of r'theta = c; NaN where no maximum was found."""
        found = self.at(c, self.theta + (c - self.centre) * self._direction)
        if found is None:
            found = self.at(c, np.zeros_like(self.theta))
        return np.nan if found is None else float(chdtrc(1, max(2.0 * (self.value - found[0]), 0.0)))


def newton_step(fallen: float, slope: float, drop: float, attained: bool) -> float:
    """A step to where a convex fall is `drop`: on its root, as of a quadratic, or on its logarithm, as of a tail."""
    if not slope > 0 or not fallen > 0:
        return np.nan
    if attained:
        return 2.0 * (np.sqrt(drop * fallen) - fallen) / slope
    return (drop - fallen) / slope if fallen > drop else fallen * np.log(drop / fallen) / slope


def _inside(wanted: float, step: float, low: float, high: float, reach: float) -> tuple[float, float]:
    """The step wanted where the bracket holds it, else one that halves or widens the bracket; and how far to go."""
    if low < wanted < high and (np.isfinite(low + high) or abs(wanted - step) <= 64 * reach):
        return wanted, reach
    if np.isfinite(low + high):
        return 0.5 * (low + high), reach
    return (low + reach if np.isinf(high) else high - reach), 2.0 * reach
