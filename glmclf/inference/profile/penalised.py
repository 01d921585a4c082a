"""Profile of a penalised likelihood, which is not concave: its restricted maxima are the best of several found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.special import chdtrc, chdtri

from glmclf.core.fit.constraints import constrained
from glmclf.core.fit.estimate import FACTORED_ALONE
from glmclf.core.fit.restricted import Within
from glmclf.core.fit.solvers import solve
from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.rows.blocks import one_blas_thread
from glmclf.inference.profile.likelihood import TOL_SHARE_OF_DROP, Profile, newton_step

MAX_POINTS_OF_PATH = 80  # restricted maxima on one path
STEPS_TO_AN_END = 4  # moderate steps of a path from the maximum to an end, in the root of the fall
QUASI_SCORING_PAIRS = 6  # pairs of steps of quasi Fisher scoring, before Newton's
MAX_STEPS_TO_MAXIMUM, STEPS_OF_A_GLANCE = 60, 8  # Newton steps, to the maximum and to see how high it is
EXACT_DECREMENT2, ROUGH_DECREMENT2 = 1e-13, 1e-4  # squared Newton decrements
SADDLE_DECREMENT2 = 1e-6  # squared Newton decrement below which a point may be a saddle
DIFFERENCE_STEP = 1e-5  # step of the differences of the score, in standard errors
SAME_MAXIMUM_DISTANCE = 0.1  # in log-likelihood and in standard errors, within which places are of one maximum
CLOSE_SHARE_OF_DROP = 0.1  # share of the drop that is left where the end is close
AXES_TRIED = 6  # axes of the covariance, the longest, along which a search begins anew
START_DISTANCE = 4.0  # standard errors from which a search begins anew
RANDOM_DISTANCES, DRAWS_AT_A_DISTANCE = (2.0, 6.0, 20.0), 12  # standard errors, random points of each
# what an interval takes, within a factor of two, in evaluations: for each parameter, and more the more there are
EVALUATIONS, EVALUATIONS_PER_PARAMETER = 2000, 40
TIMED_EVALUATIONS = 3  # the quickest of which counts
MAX_ROWS_FOR_SUBSETS, SUBSETS_TRIED, STARTS_KEPT = 1000, 100, 10


@dataclass(frozen=True)
class ProfilePoint:
    """A restricted maximum: where on the path, the value, its derivative in r'theta, theta and how it moves."""

    step: float
    value: float
    slope: float
    theta: ndarray
    direction: ndarray


@dataclass(frozen=True)
class PenalisedProfile(Profile):
    """Profile of the penalised likelihood llf + log|I|/2, which may have several maxima where r'theta is held.

    The path is followed outward from the maximum in moderate steps. At each of its points the search begins from
    several: from the points before it, from where the likelihood without the penalty is largest, and from the maximum
    moved along its covariance with r'theta; the highest is kept. An end counts only if a wider search there finds no
    higher maximum, which would put it further out.
    """

    def _subspace(self, c: float) -> tuple[ndarray, ndarray, ndarray]:
        """Q and origin with r'(origin + Q eta) = c, on the information's scale, and the matrix from theta to eta."""
        s = self._scale
        Q, origin = constrained((s * self.r)[None, :], np.array([c - self.shift]))
        return s[:, None] * Q, s * origin, (Q / s[:, None]).T

    def _highest(self, c: float, starts: list[ndarray], known: ProfilePoint | None = None) -> ProfilePoint | None:
        """The highest maximum with r'theta = c that climbs from the starts lead to; None if none leads to one."""
        Q, origin, back = self._subspace(c)
        part = Within(self.objective, Q, origin)
        with np.errstate(all="ignore"):
            if not Q.shape[1]:
                return self._place(c, origin)
            tops = [] if known is None else [(known.value, back @ (known.theta - origin))]
            for start in starts:
                eta = back @ (start - origin)
                if np.isfinite(eta).all() and (top := _climb(part, eta, ROUGH_DECREMENT2, tops)) is not None:
                    tops.append(top)
            polished: list[tuple[float, ndarray]] = []
            for value, eta in sorted(tops, key=lambda top: -top[0]):
                if polished and (value < polished[0][0] - SAME_MAXIMUM_DISTANCE or _near(value, eta, polished)):
                    continue
                if (top := _climb(part, eta, EXACT_DECREMENT2)) is not None:
                    polished.append(top)
            highest = max(polished, key=lambda top: top[0], default=None)
        return None if highest is None else self._place(c, part.theta(highest[1]))

    def _place(self, c: float, theta: ndarray) -> ProfilePoint | None:
        e = self.objective(theta)
        if not np.isfinite(e.value):
            return None
        r = self._scale**2 * self.r
        try:
            direction = e.factor.solve(self.r)
            direction = direction / (self.r @ direction)
        except np.linalg.LinAlgError:
            direction = self._direction
        return ProfilePoint(abs(c - self.centre), float(e.value), float(r @ e.score / (r @ self.r)), theta, direction)

    def _plain(self, c: float) -> ndarray:
        """Maximum of the likelihood without the penalty, or, if there is none, a place on the way to it."""
        Q, origin, back = self._subspace(c)
        part = Within(self.objective.objective, Q, origin)
        with np.errstate(all="ignore"):
            eta = back @ (self.theta + (c - self.centre) * self._direction - origin)
            return part.theta(solve("irls", part, eta, maxiter=2 * QUASI_SCORING_PAIRS).theta)  # type: ignore[arg-type]

    def _starts(self, c: float, known: list[ProfilePoint], few: bool = False) -> list[ndarray]:
        step, sign = abs(c - self.centre), np.sign(c - self.centre)
        near = sorted(known, key=lambda place: abs(place.step - step))[:3]
        starts = [place.theta + sign * (step - place.step) * place.direction for place in near]
        if few:
            return starts[:2]
        starts += [self.theta + (c - self.centre) * self._direction]
        if len(near) > 1 and near[0].step != near[1].step:
            along = (near[0].theta - near[1].theta) / (near[0].step - near[1].step)
            starts.append(near[0].theta + (step - near[0].step) * along)
        held = float(self.r @ near[0].theta)
        if held and 0 < (c - self.shift) / held < 10:
            starts.append(near[0].theta * ((c - self.shift) / held))
        return [*starts, self._plain(c)]

    def _wide(self, place: ProfilePoint) -> Iterator[ndarray]:
        """Points around a maximum, along its axes, and far from it."""
        yield np.zeros_like(self.theta)
        for e in (self._opening, self.objective(place.theta)):
            try:
                root = e.factor.root
            except np.linalg.LinAlgError:
                continue
            size = np.linalg.norm(root, axis=0)
            for j in np.argsort(-size)[:AXES_TRIED]:
                yield place.theta + START_DISTANCE * root[:, j]
                yield place.theta - START_DISTANCE * root[:, j]

    def _promising(self, c: float) -> list[ndarray]:
        """The highest of many points: at random, and where some rows are undecided, as they are at maxima far out."""
        Q, origin, back = self._subspace(c)
        rng, p, d = np.random.default_rng(Q.shape[0]), *Q.shape
        sizes = np.repeat(RANDOM_DISTANCES, DRAWS_AT_A_DISTANCE)
        etas = [back @ (self.theta - origin) + size * rng.standard_normal(d) for size in sizes]
        blocks = self.objective.objective.blocks
        if blocks.arrays[0].shape[1] == p and d:
            rows = blocks.sample(MAX_ROWS_FOR_SUBSETS).toarray()
            for _ in range(SUBSETS_TRIED):
                some = rows[rng.choice(len(rows), min(d, len(rows)), replace=False)]
                etas.append(np.linalg.lstsq(some @ Q, -some @ origin, rcond=1e-8)[0])
        points = [origin + Q @ eta for eta in etas]
        with np.errstate(all="ignore"):
            values = np.nan_to_num([self.objective(point).value for point in points], nan=-np.inf)
        return [points[i] for i in np.argsort(-values, kind="stable")[:STARTS_KEPT]]

    def _verified(self, c: float, place: ProfilePoint) -> ProfilePoint | None:
        """The highest maximum that a wider search finds."""
        return self._highest(c, [*self._wide(place), *self._promising(c)], place)

    def end(self, sign: float, alpha: float, se: float, centre: float, attained: bool = True) -> float:
        """Value of r'theta, above or below the maximum, where the profile has first fallen by chi-squared(1; 1 -
        alpha)/2.

        Parameters
        ----------
        sign : {1, -1}
        alpha, se, centre : float
            As in `Profile.end`.
        attained : bool
            A penalised likelihood has its maximum always.

        Returns
        -------
        float

        Raises
        ------
        ArithmeticError
            No end was found, or the estimate is not the highest maximum.
        """
        with self._one_thread():
            return self._search(sign, 0.5 * float(chdtri(1, alpha)), se, centre)

    def _one_thread(self) -> AbstractContextManager:
        return one_blas_thread() if len(self.theta) < FACTORED_ALONE.stop else nullcontext()

    def _search(self, sign: float, drop: float, se: float, centre: float) -> float:
        tol = max(TOL_SHARE_OF_DROP * drop, 64 * np.finfo(float).eps * abs(self.value))
        path = _Path(self.value, drop, sign, np.sqrt(2 * drop) * se / STEPS_TO_AN_END, self._begin)
        while path.tried < MAX_POINTS_OF_PATH:
            c = centre + sign * path.step
            place = self._highest(c, self._starts(c, path.known, path.nearly))
            if place is not None and abs(path.left(place)) <= tol:
                best = self._verified(c, place)
                if best is not None and best.value <= place.value + tol:
                    return c
                place = best
                path.reopen()  # what was found beyond belongs to a lower maximum
            if place is not None and place.value > self.value + max(tol, 1e-8):
                raise ArithmeticError(f"a point higher than the estimate, by {place.value - self.value:.3g}, was found")
            if not path.advance(place, 1e-14 * max(abs(c), se)):
                break
        raise ArithmeticError(f"the end of its profile beyond {centre + sign * path.low.step:.6g} was not found")

    @property
    def _begin(self) -> ProfilePoint:
        return ProfilePoint(0.0, self.value, 0.0, self.theta, self._direction)

    def lr_pvalue(self, c: float = 0.0) -> float:
        """p-value of the likelihood ratio test of r'theta = c; NaN where no maximum was found."""
        with self._one_thread():
            place = self._reached(c)
        if place is None or place.value > self.value + 1e-8:
            return np.nan
        return float(chdtrc(1, max(2.0 * (self.value - place.value), 0.0)))

    def _reached(self, c: float) -> ProfilePoint | None:
        """The highest maximum at r'theta = c, on a path from the estimate."""
        parts = int(np.clip(np.ceil(abs(c - self.centre) / self.se), 1, 2 * STEPS_TO_AN_END))
        known = [self._begin]
        place: ProfilePoint | None = None
        for at in np.linspace(self.centre, c, parts + 1)[1:]:
            place = self._highest(float(at), self._starts(float(at), known))
            known += [] if place is None else [place]
        return None if place is None else self._verified(c, place)


def search_seconds(p: int, evaluation: float) -> float:
    """Seconds that the intervals of all of p parameters take, roughly, where an evaluation takes so many.

    Each search ends, but the number of its evaluations grows with p.
    """
    return p * (EVALUATIONS + EVALUATIONS_PER_PARAMETER * p) * evaluation


def evaluation_seconds(objective: Any, theta: ndarray) -> float:
    """Seconds that one evaluation of a penalised likelihood takes, with a step from it."""
    took = []
    for _ in range(TIMED_EVALUATIONS):
        start = perf_counter()
        e = objective(theta)
        e.factor.solve(e.score)
        took.append(perf_counter() - start)
    return min(took)


class _Path:
    """Search for an end of a profile: steps outward from a maximum, and, beyond the end, back to it.

    Parameters
    ----------
    value, drop : float
        The maximum, and how far below it the end is.
    sign : float
    step : float
        The first.
    begin : ProfilePoint
    """

    def __init__(self, value: float, drop: float, sign: float, step: float, begin: ProfilePoint):
        self.value, self.drop, self.sign, self.step, self.reach = value, drop, sign, step, step
        self.low, self.known = begin, [begin]
        self.high: ProfilePoint | None = None
        self.tried = self.bracketed = 0

    def left(self, place: ProfilePoint) -> float:
        """Fall of the likelihood that is left at a place until the end."""
        return self.drop - (self.value - place.value)

    @property
    def nearly(self) -> bool:
        """Whether the end is so near that the last place tells where to look."""
        return self.high is not None and abs(self.left(self.known[-1])) < CLOSE_SHARE_OF_DROP * self.drop

    def reopen(self) -> None:
        """Forget the places beyond the last one inside."""
        self.known = [p for p in self.known if p.step <= self.low.step]
        self.high, self.bracketed = None, 0

    def advance(self, place: ProfilePoint | None, least: float) -> bool:
        """Choose the next step; False if none is left."""
        self.tried += 1
        if place is None:
            self.reach = 0.5 * (self.step - self.low.step)
            self.step = self.low.step + self.reach
            return self.reach > least
        self.known.append(place)
        if self.left(place) > 0:
            self.reach = max(place.step - self.low.step, 0.25 * self.reach)
            self.low = place
        else:
            self.high = place
        if self.high is not None and self.high.step - self.low.step <= least:
            self.reopen()  # the profile is continuous: a higher maximum beyond was missed
        self.step = self._outward() if self.high is None else self._between(place)
        return True

    def _outward(self) -> float:
        """A step outward, in which the root of the fall grows by a part of its value at the end."""
        now, end = np.sqrt(max(self.value - self.low.value, 0.0)), np.sqrt(self.drop)
        slope = -self.sign * self.low.slope
        wanted = (min(now + end / STEPS_TO_AN_END, 1.02 * end) - now) * 2.0 * now / slope if slope > 0 else np.inf
        return self.low.step + float(np.clip(wanted, 0.1 * self.reach, 2.0 * self.reach))

    def _between(self, place: ProfilePoint) -> float:
        """A step within a bracket: Newton's or, so that the bracket shrinks, the middle."""
        self.bracketed += 1
        assert self.high is not None
        wanted = place.step + newton_step(self.value - place.value, -self.sign * place.slope, self.drop, True)
        if self.bracketed % 6 and self.low.step < wanted < self.high.step:
            return wanted
        return 0.5 * (self.low.step + self.high.step)


def _near(value: float, eta: ndarray, tops: list[tuple[float, ndarray]]) -> bool:
    """Whether a place belongs to a maximum found before."""
    same = SAME_MAXIMUM_DISTANCE
    return any(value <= v + same and v <= value + same and np.linalg.norm(eta - e) < same for v, e in tops)


def _climb(part: Within, eta: ndarray, tol: float, tops=()) -> tuple[float, ndarray] | None:
    """A maximum by quasi Fisher scoring and Newton's method on differences of the score, or a place on the way to it if
    `tol` is `ROUGH_DECREMENT2`; None if there is none, or if the way leads to one of the maxima `tops`."""
    opening = part(eta)
    for _ in range(QUASI_SCORING_PAIRS):
        fit = solve("irls", part, eta, opening=opening, tol=tol, maxiter=2)  # type: ignore[arg-type]
        if not (np.isfinite(fit.theta).all() and np.isfinite(fit.evaluation.value)):
            break
        eta, opening = fit.theta, fit.evaluation
        if _near(fit.evaluation.value, eta, tops):
            return None
        if fit.converged or fit.iterations < 2:
            break
    if tol == ROUGH_DECREMENT2 and fit.converged:
        return fit.evaluation.value, eta
    e = part(eta)
    for _ in range(MAX_STEPS_TO_MAXIMUM if tol < ROUGH_DECREMENT2 else STEPS_OF_A_GLANCE):
        if not (np.isfinite(e.value) and np.isfinite(e.score).all()):
            return None
        step, up = _newton_direction(part, eta, e)
        decrement, concave = float(step @ e.score), up is None
        if decrement <= tol and concave:
            return _finished(part, eta, e, step)
        moved = _off_saddle(part, eta, e, up) if up is not None and decrement <= SADDLE_DECREMENT2 else None
        moved = moved or _rise(part, eta, e, step, decrement)
        if moved is None:  # rounding, if so little is left to gain
            return (e.value, eta) if decrement <= max(tol, 1e-9) else None
        eta, e = moved
    return (e.value, eta) if tol == ROUGH_DECREMENT2 else None


def _finished(part: Within, eta: ndarray, e: Evaluation, step: ndarray) -> tuple[float, ndarray]:
    """The place after the last Newton step, or before it if the step leads down."""
    last = part(eta + step)
    return (last.value, eta + step) if last.value >= e.value else (e.value, eta)


def _newton_direction(part: Within, eta: ndarray, e: Evaluation) -> tuple[ndarray, ndarray | None]:
    """A Newton step upward; and the direction in which the function curves up most, if it does in any."""
    H = np.empty((len(eta), len(eta)))
    for j, h in enumerate(DIFFERENCE_STEP * np.maximum(1.0, 1e-3 * np.abs(eta))):
        beyond = eta.copy()
        beyond[j] += h
        H[:, j] = (e.score - part(beyond).score) / h
    if not np.isfinite(H).all():
        H = e.information
    values, V = np.linalg.eigh(0.5 * (H + H.T))
    size = np.maximum(np.abs(values), 1e-10 * np.abs(values).max())
    step = V @ ((V.T @ e.score) / size)
    longest = 10.0 * max(1.0, float(np.linalg.norm(eta)))
    length = float(np.linalg.norm(step))
    up = None if values[0] > -1e-6 * values[-1] else V[:, 0]
    return step * min(1.0, longest / length) if length > 0 else step, up


def _off_saddle(part: Within, eta: ndarray, e: Evaluation, up: ndarray) -> tuple[ndarray, Evaluation] | None:
    """The highest of some points on both sides of a saddle, which symmetric designs lead scoring to; None if none is
    higher."""
    points = [eta + t * up for size in (2.0, 0.5, 0.1, 0.02, 4e-3) for t in (size, -size)]
    moved = max(((point, part(point)) for point in points), key=lambda m: np.nan_to_num(m[1].value, nan=-np.inf))
    return moved if moved[1].value > e.value else None


def _rise(part: Within, eta: ndarray, e: Evaluation, step: ndarray, gain: float) -> tuple[ndarray, Evaluation] | None:
    """The longest of 1, 1/2, ... of a step that rises enough."""
    length = 1.0
    for _ in range(40):
        new = part(eta + length * step)
        if new.value >= e.value + 1e-4 * length * gain and new.value > e.value:
            return eta + length * step, new
        length *= 0.5
    return None
