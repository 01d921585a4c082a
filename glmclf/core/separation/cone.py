"""Separation: the directions along which a likelihood never falls, and what diverges along them.

Where the outcomes can be told apart, the maximum likelihood estimate is at infinity (Albert & Anderson 1984): the
likelihood rises along a direction d without end. All such directions form a cone, {d: A d >= 0, E d = 0}, with a row of
A for every outcome that a row did not show beside one that it did, and of E where both were seen. Linear programs
decide whether it holds more than 0 (Konis 2007), which rows are decided by it, and which signs its members take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy import ndarray
from scipy.linalg import cho_factor, cho_solve, qr, solve_triangular

from glmclf.caching import cached_property
from glmclf.core.fit.coordinates import Coordinates, wide
from glmclf.core.numerics.constants import EPS
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.separation.deadline import SIGN_SECONDS, Deadline, OutOfTime
from glmclf.core.separation.rows import MAX_TIE_SHARE, ScaledRows, directions
from glmclf.errors import EstimationError, InferenceWarning, warn

HIGHS_TOL = 1e-7  # feasibility tolerance of HiGHS
SURE_GAIN = 1e2 * HIGHS_TOL  # gain in a program's answer above which the program's tolerance cannot have made it
OBJECTIVE_SCALE = 1e6  # factor of an objective, which is large beside HiGHS' tolerance
DIRECTION_DECIMALS = 13  # decimals to which directions are compared
MIN_GAIN_SHARE = 1e-10  # share of a row's length above which a gain is no rounding
MAX_ROWS_PER_QUESTION = 40  # rows that a round adds where many questions are asked of one cone
MAX_ROWS_PER_ROUND = 500  # rows with which a linear program begins, and that a round adds
MAX_POLYTOPE_DIMENSIONS = 6  # dimensions of a polytope whose corners are quickly found
NULL_SINGULAR_SHARE = 1e-10  # share of the largest singular value below which one belongs to the null space
ROUNDED_SHARE_OF_TERMS = 1e-11  # share of its terms below which a sum of them is rounding
SMALLEST_SHARE_KEPT = 1e-9  # of a parameter of a direction, below which what a correction leaves of it is none
MIN_BALL_SHARE = 1e-3  # distance of a point to its nearest facet, over its length, below which a cone is made rounder
MAX_CENTRING_STEPS = 50  # Newton steps to the centre of a cone
FACET_STEP_SHARE = 0.99  # share of the way to a facet that a member of the cone is moved
METRIC_RIDGE = 1e-13  # share of a metric's diagonal that is added to it
MIN_NUMBERS_TO_CLIMB = 2**20  # numbers of facets from which a program takes longer than steps of affine scaling
MAX_CLIMBS, CLIMBING_STEPS, CLIMBING_SHARE = 100, 5, 0.9  # questions, steps for each, share of the way to a facet
MAX_PRODUCT_NUMBERS = 2**23  # numbers of a product with all facets that are formed at once
MAX_SPREADING_ROUNDS, MAX_REFINEMENTS = 4, 6  # changes of coordinates, programs solved again for a correction
EXTRA_PROGRAM_ROUNDS = 6  # rounds of a decision about rows at most, beside one for each coordinate of a direction
MAX_CORRECTION_SCALE = 1e6  # largest scale of a correction, in units of the violated rows


class Constraints(Protocol):
    """Rows of A and E in the coordinates of `directions`, without forming them all."""

    directions: ScaledRows
    tied: ndarray
    length: ndarray
    size: int

    def times(self, D: ndarray) -> ndarray:
        """Products of all rows, those of A and of E together, with D (p, r): (m, r)."""

    def rows(self, which: ndarray) -> ndarray:
        """Some rows of A and E, (., p)."""

    def given(self, which: ndarray) -> ndarray:
        """Some rows of A and E in the units of the parameters, (., p)."""


@dataclass(frozen=True)
class RecessionCone:
    """Directions along which a likelihood never falls, in the units of the parameters.

    Attributes
    ----------
    basis : (p, r) ndarray
        Of the cone's span. The first column is in its relative interior: it decides every row that some direction
        decides.
    facets : (m, r) ndarray
        The cone is ``{basis @ t : facets @ t >= 0}``.
    decided : (rows of A and E,) bool ndarray
        Outcomes that the first column rules out.
    noise : float
        Rounding of the facets.
    M : (k, k) ndarray, optional
        Of the coordinates of rows in which it was found (`ScaledRows`); zeros for columns that were left out.
    tie : float
        What is 0 there.
    still : (float, float)
        Share of its terms up to which a combination of the parameters is not moved, and from which it is: between those
        of the rows that nothing decides and of those that are decided. Both are the same but where rounding hides more.
    """

    basis: ndarray
    facets: ndarray
    decided: ndarray
    noise: float = ROUNDED_SHARE_OF_TERMS
    M: Any = None
    tie: float = ROUNDED_SHARE_OF_TERMS
    still: tuple[float, float] = (ROUNDED_SHARE_OF_TERMS,) * 2

    @property
    def dimension(self) -> int:
        """Dimensions of the cone's span."""
        return self.basis.shape[1]

    @property
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return self.basis[:, 0]

    @property
    def rounding(self) -> float:
        """Share of the lengths of x and d, in the coordinates of rows, below which x'd is 0 for a row of the fit."""
        return float(np.clip(max(self.noise, self.tie), ROUNDED_SHARE_OF_TERMS, MAX_TIE_SHARE))

    def lengths(self, D: ndarray) -> tuple[ndarray, ndarray]:
        """Matrix T for which the length of a row x is that of x'T, and the lengths (q, ...) of
        directions D (k, q, ...)."""
        return lengths(self.M, D)

    @property
    def complete(self) -> bool:
        """Whether every outcome that did not occur is ruled out."""
        return bool(self.decided.all())

    @cached_property
    def signs(self) -> ndarray:
        """Sign of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        signs = np.zeros(len(self.basis))
        signs[self._parameters] = self.sign_of(self._units)
        return signs

    @cached_property
    def moved(self) -> ndarray:
        """Mask of the parameters that some direction changes, (p,); their signs are another question."""
        moved = np.zeros(len(self.basis), dtype=bool)
        moved[self._parameters] = self.moves(self._units)
        return moved

    @property
    def _parameters(self) -> ndarray:
        """Places of the parameters in the cone's span."""
        return np.flatnonzero(self.basis.any(axis=1))

    @property
    def _units(self) -> ndarray:
        """Each of these parameters alone, (., p)."""
        at = self._parameters
        units = np.zeros((len(at), len(self.basis)))
        units[np.arange(len(at)), at] = 1.0
        return units

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the combinations R d of the parameters (., p) that some direction changes."""
        R = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
        moved: ndarray = (np.abs(R @ self.basis) > self.still[0] * (np.abs(R) @ np.abs(self.basis))).any(axis=1)
        return moved

    def mapped(self, A: ndarray) -> RecessionCone:
        """The recession cone of the parameters A theta, a linear map of those of this cone."""
        moved = A @ self.basis
        moved[np.abs(moved) <= 1e-9 * (np.abs(A) @ np.abs(self.basis))] = 0.0  # parameters of one regressor
        return replace(self, basis=moved)

    def widened(self, coordinates: Coordinates) -> RecessionCone:
        """A cone of the parameters that are left as one of all."""
        if not coordinates.omitted:
            return self
        M = wide(self.M, coordinates.columns, coordinates.k)
        out = replace(self, basis=coordinates.spread(self.basis), M=M)
        if "signs" in vars(self):  # asked for already
            vars(out)["signs"] = coordinates.spread(self.signs)
        return out

    def with_fewest_facets(self) -> RecessionCone:
        """The cone with those facets alone that others do not imply, and no row that it decides."""
        return replace(self, facets=self.extreme, decided=np.zeros(0, dtype=bool))

    def held(self, constraints: Constraints) -> ndarray:
        """Places of as many diverging parameters as the cone has dimensions, which a limit holds at 0."""
        # in proportion to the parameters that M makes of coordinates of size one
        size = np.abs(constraints.directions.parameters(np.ones((constraints.size, 1))))
        scaled = self.basis / np.where(size > 0, size, 1.0)
        scaled = scaled / np.linalg.norm(scaled, axis=0)
        concerned = np.flatnonzero(np.linalg.norm(scaled, axis=1) > 0)
        pivots = qr(scaled[concerned].T, mode="r", pivoting=True)[1][: self.basis.shape[1]]
        return concerned[pivots]

    def without(self, held: ndarray, theta: ndarray) -> ndarray:
        """Parameters with the same predictors on the rows that no direction moves, and zeros for those `held`."""
        return theta - self.basis @ np.linalg.solve(self.basis[held], theta[held])

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone: 1, -1, 0, or NaN for both.

        0 for a row of R that is not finite, of which nothing can be said; NaN, with a warning, where the sign was not
        determined in `SIGN_SECONDS`.
        """
        signs, open_ = self.signs_within(R, Deadline())
        if open_.any():
            warn(
                f"of {len(R)} signs of infinite combinations of parameters {int(open_.sum())} were not determined "
                f"within the limit of {SIGN_SECONDS:g} s (NaN): inf, -inf or neither",
                InferenceWarning,
            )
        return signs

    def signs_within(self, R: ndarray, deadline: Deadline) -> tuple[ndarray, ndarray]:
        """Signs as of `sign_of`, and the mask of those that were not determined in time, which are NaN."""
        R = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
        T, size = R @ self.basis, np.abs(R) @ np.abs(self.basis)
        moved, sure = ((np.abs(T) > share * size).any(axis=1) for share in self.still)
        T[~(moved & sure)] = 0.0
        hidden = moved & ~sure
        out, open_ = np.zeros(len(R)), np.zeros(len(R), dtype=bool)
        largest = np.abs(T).max(axis=1, initial=0.0)
        rounding = 16 * EPS * size.max(axis=1, initial=0.0) / np.where(largest > 0, largest, 1.0)
        noise = np.maximum(self.noise, rounding)  # differences of large numbers, from far origins
        T = largest_one(T)
        _, first, of = np.unique(np.round(T, DIRECTION_DECIMALS) + 0.0, axis=0, return_index=True, return_inverse=True)
        T, noise = T[first], noise[first]
        known = self._known(T, noise, deadline)
        found, late = np.full(len(T), np.nan), np.zeros(len(T), dtype=bool)
        for i, (t, e, k) in enumerate(zip(T, noise, known, strict=True)):
            deadline.tell(i, len(T))
            try:
                found[i] = self._sign(t, float(e), k, deadline)
            except OutOfTime:
                late[i] = True
        if len(found):
            out, open_ = found[np.ravel(of)], late[np.ravel(of)]
        return np.where(hidden, np.nan, out), open_ | hidden

    def first_signs(self, count: int) -> ndarray:
        """Signs of parameters over the cone, of those that are not 0 the first `count` alone; NaN
        for the later ones."""
        out = np.where(self.basis.any(axis=1), np.nan, 0.0)
        asked = np.flatnonzero(out)
        for start in range(0, len(asked), count):
            some = asked[start : start + count]
            out[some] = self.sign_of(np.eye(len(out))[some])
            if np.count_nonzero(out[: some[-1] + 1]) >= count:
                break
        return out

    def _sign(self, t: ndarray, noise: float, known: ndarray, deadline: Deadline) -> float:
        """Sign of t'x over the cone of `facets`, t known but for `noise`; `known` is what `_known` found of t."""
        if not t.any():
            return 0.0
        if len(t) == 1:
            return float(np.sign(t[0]))
        if not len(self.facets):
            raise EstimationError(
                "what this fit, whose estimate is infinite, says of new rows or of other levels rests on many rows, "
                "which a file does not keep: ask the fit itself, before it is saved"
            )
        if self._corner is not None:
            rays, rounding = self._corner
            values, least = t @ rays, max(noise, rounding) * np.abs(t).sum()
            up, down = (bool((s * values > least).any()) for s in (1.0, -1.0))
        else:
            sides = zip((1.0, -1.0), known, strict=True)
            up, down = (self._reaches(s * t, noise, deadline) if np.isnan(k) else bool(k) for s, k in sides)
        return np.nan if up == down else 1.0 if up else -1.0  # of neither sign only as rounding hides it

    def _reaches(self, t: ndarray, noise: float, deadline: Deadline) -> bool:
        """Whether t'x > 0 somewhere in the cone: at a ray that another question has found, or by a linear program.

        The program has the facets that mattered before; those that its answer violates are added.
        """
        if any(ray @ t > max(SURE_GAIN, noise) for ray in self._rays):
            return True
        while True:
            x = _plain_program(OBJECTIVE_SCALE * t, self._active[0], seconds=deadline.left)
            if x is None or t @ x <= noise:
                return False
            worst = _violated(self.facets, x, 0.0)[:MAX_ROWS_PER_QUESTION]
            if not len(worst):
                break
            self._active[0] = np.vstack([self._active[0], self.facets[worst]])
        if t @ x <= SURE_GAIN:  # where the program's tolerance may have made it
            x = _refined(OBJECTIVE_SCALE * t, self.facets, x, deadline)
            return x is not None and float(t @ x) > noise and (self.facets @ x).min() > -self.noise
        self._rays.append(x)
        return True

    def _known(self, T: ndarray, noise: ndarray, deadline: Deadline) -> ndarray:
        """Whether rows t of T take values t'x > 0, and < 0, in the cone, (q, 2): 1, 0, or NaN where that is left to a
        program. Members of the cone show that they do; a row that is a facet is nowhere negative."""
        known = np.full((len(T), 2), np.nan)
        if not len(self.facets) or T.shape[1] == 1 or self._corner is not None:
            return known
        least = np.maximum(SURE_GAIN, noise)[:, None]

        def look(which: ndarray, members: ndarray) -> None:
            values = T[which] @ members
            known[which, 0] = np.where((values > least[which]).any(axis=1), 1.0, known[which, 0])
            known[which, 1] = np.where((values < -least[which]).any(axis=1), 1.0, known[which, 1])

        look(np.arange(len(T)), np.column_stack(self._rays))
        for side, s in ((1, 1.0), (0, -1.0)):
            known[np.isnan(known[:, side]) & self._is_facet(s * T, noise), side] = 0.0
        asked = np.flatnonzero(np.isnan(known).any(axis=1) & T.any(axis=1))
        step = max(1, MAX_PRODUCT_NUMBERS // len(self.facets))
        for start in range(0, len(asked), step):
            some = asked[start : start + step]
            look(some, self._ends(T[some]))
        if self.facets.size >= MIN_NUMBERS_TO_CLIMB:
            unknown = np.argwhere(np.isnan(known[asked]))
            for i, side in np.column_stack([asked[unknown[:, 0]], unknown[:, 1]])[:MAX_CLIMBS].tolist():
                if np.isnan(known[i, side]) and not deadline.is_over:
                    member = self._climbed((1.0 - 2.0 * side) * T[i], float(least[i, 0]))
                    look(np.flatnonzero(np.isnan(known).any(axis=1)), member[:, None])
        return known

    def _climbed(self, t: ndarray, enough: float) -> ndarray:
        """A member of the cone with t'x > `enough` where a few steps of affine scaling lead to one (Dikin 1967), each
        along H^-1 t for the metric H about the last; else where they end."""
        x = np.eye(len(t))[0]
        for _ in range(CLIMBING_STEPS):
            if t @ x > enough:
                break
            G = self.facets / (self.facets @ x)[:, None]
            metric = _factor_of_metric(G)
            if metric is None:
                break
            way = cho_solve(metric, t, check_finite=False)
            new = x + CLIMBING_SHARE * way / max(-float((G @ way).min()), np.finfo(float).tiny)
            new = new / np.abs(new).max()
            if not np.isfinite(new).all() or (self.facets @ new).min() <= 0:
                break
            x = new
        return x

    def _ends(self, T: ndarray) -> ndarray:
        """Members of the cone, (r, .), as far from the first axis as the facets allow, towards where t'x rises and
        falls most in Dikin's ellipsoid about the axis, that is along H^-1 t for its metric H."""
        gain, H = self.facets[:, 0], self._metric
        if H is None:
            return np.zeros((T.shape[1], 0))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            way = cho_solve(H, T.T, check_finite=False)
            change = self.facets @ way / gain[:, None]
            ends = []
            for s, fall in ((1.0, -change.min(axis=0)), (-1.0, change.max(axis=0))):
                ends.append(s * FACET_STEP_SHARE / np.maximum(fall, 1e-3 * np.abs(change).max(axis=0)) * way)
        members = np.hstack(ends)
        members[0] += 1.0
        return largest_one(members[:, np.isfinite(members).all(axis=0)].T).T

    @cached_property
    def _metric(self) -> Any:
        """Cholesky factor of the metric of Dikin's ellipsoid about the first axis, with a little more on its diagonal,
        as it only gives directions to members; None where rounding leaves no factor."""
        gain = self.facets[:, 0]
        return _factor_of_metric(self.facets / gain[:, None]) if gain.min() > 0 else None

    def _is_facet(self, T: ndarray, noise: ndarray) -> ndarray:
        """Whether rows of T are facets but for their noise: looked up by one combination of their entries."""
        weight = np.sqrt(np.arange(2.0, T.shape[1] + 2))
        keys = self.facets @ weight
        order = np.argsort(keys)
        keys, at = keys[order], T @ weight
        near = weight[-1] * (noise + 16 * EPS * T.shape[1])
        low, high = np.searchsorted(keys, at - near), np.searchsorted(keys, at + near, side="right")
        out = np.zeros(len(T), dtype=bool)
        for i in np.flatnonzero(low < high):
            out[i] = bool((np.abs(self.facets[order[low[i] : high[i]]] - T[i]).sum(axis=1) <= noise[i]).any())
        return out

    @cached_property
    def _corner(self) -> tuple[ndarray, float] | None:
        """Rays of a cone with as many facets as dimensions, as of levels that are separated each by itself, and their
        rounding; None for another cone, or for one too narrow to find its rays by an inverse."""
        m, r = self.facets.shape
        if m != r:
            return None
        values = np.linalg.svd(self.facets, compute_uv=False)
        rounding = max(self.noise, 16 * EPS) * float(values[0] / values[-1]) if values[-1] > 0 else np.inf
        if rounding > HIGHS_TOL:
            return None
        return largest_one(np.linalg.inv(self.facets).T).T, rounding

    @cached_property
    def _active(self) -> list[ndarray]:
        """Facets that the linear programs of earlier questions needed."""
        few = self.facets[:: max(1, len(self.facets) // MAX_ROWS_PER_ROUND)]
        return [self.extreme if len(self.extreme) <= MAX_ROWS_PER_ROUND else few]

    @cached_property
    def _rays(self) -> list[ndarray]:
        """Members of the cone, in terms of the basis, with largest entries of one."""
        return [np.eye(self.basis.shape[1])[0]]

    @cached_property
    def extreme(self) -> ndarray:
        """Facets without those that other facets imply, where these are easily found."""
        return self.facets[extreme_rows(self.facets)]


def _factor_of_metric(G: ndarray) -> Any:
    """Cholesky factor of G'G with a little more on its diagonal; None where rounding leaves no factor."""
    H = G.T @ G
    try:
        return cho_factor(H + np.diag(METRIC_RIDGE * (np.diag(H) + np.trace(H) / len(H))), check_finite=False)
    except np.linalg.LinAlgError:
        return None


def extreme_rows(facets: ndarray) -> ndarray:
    """Places of the facets that other facets do not imply, where that is easily found; of all facets, where it is not.

    Where they meet the plane that the first axis, on which all are positive, points to, they are the corners of a
    polytope.
    """
    n, r = facets.shape
    if r == 1 or not n:
        return np.arange(min(n, 1))
    if r > MAX_POLYTOPE_DIMENSIONS or n <= r:
        return np.arange(n)
    flat = facets[:, 1:] / facets[:, :1]
    if r == 2:
        return np.unique([int(flat.argmin()), int(flat.argmax())])
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.sort(ConvexHull(flat).vertices)
    except QhullError:
        return np.arange(n)


def lengths(M: ndarray, D: ndarray) -> tuple[ndarray, ndarray]:
    """Matrix T and lengths of directions D, as `RecessionCone.lengths` returns them, in the coordinates of M."""
    at = np.flatnonzero(np.diag(M))
    phi = solve_triangular(M[np.ix_(at, at)], D[at].reshape(len(at), -1), check_finite=False)
    return M[:, at], np.linalg.norm(phi, axis=0).reshape(D.shape[1:])


def largest_one(T: ndarray) -> ndarray:
    """Rows scaled to a largest entry of one."""
    size = np.abs(T).max(axis=1, keepdims=True, initial=0.0)
    return T / np.where(size > 0, size, 1.0)


def different(T: ndarray) -> ndarray:
    """Rows of T scaled to a largest entry of one, one row for each direction."""
    T = largest_one(T)
    return T[different_rows(T)]


def different_rows(T: ndarray) -> ndarray:
    """Places of one row of T for each direction, where the rows' largest entries are one."""
    of = _distinct(np.round(T, DIRECTION_DECIMALS))[1]
    first = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.intp)
    first[of] = np.arange(len(T))
    return first


def recession_cone(constraints: Constraints, near: Hint | None = None) -> RecessionCone | None:
    """The cone of a likelihood, or None where its maximum is at finite parameters.

    Parameters
    ----------
    constraints : Constraints
        Rows of A and E, of length one.
    near : Hint, optional
        Rows that a fit has left undecided, with their scores there. Where these prove it, all separating directions are
        0 on the rows, and the programs are small.

    Returns
    -------
    RecessionCone or None
    """
    if near is None:
        return _whole(constraints)
    rows = near.undecided | constraints.tied
    if not rows.any() or not near.proves(constraints):
        return _whole(constraints, near.theta)
    N = _null_space(constraints.rows(rows), constraints.directions.tie)
    if not N.shape[1]:
        return None
    return _within(constraints, N, near.theta) or _whole(constraints)


def cone_where(constraints: Constraints, R: ndarray) -> RecessionCone | None:
    """The part of the cone where R d = 0, R (J, p) in the units of the parameters."""
    A = constraints.directions.rows(R)
    size = np.abs(A).max(axis=1, keepdims=True, initial=0.0)
    N = _null_space(A / np.where(size > 0, size, 1.0))
    return _within(constraints, N) if N.shape[1] else None


@dataclass(frozen=True)
class Hint:
    """Hint at the recession cone from the place where a fit stopped.

    Attributes
    ----------
    undecided : (m,) bool ndarray
        Rows of A with probabilities well inside (0, 1).
    multipliers : (m,) ndarray
        How much of each row of A (>= 0) and of E (any sign) is in the score.
    theta : (p,) ndarray
        Where it stopped, far along a direction that may be one of the cone; in the units of the parameters.
    """

    undecided: ndarray
    multipliers: ndarray
    theta: ndarray

    def proves(self, constraints: Constraints) -> bool:
        """Whether no direction of the cone is positive in a row that is undecided.

        None is if these rows and those of E add up to 0 with positive multipliers of the former (Stiemke's lemma), as
        they do at a maximum. At a place near one the multipliers are to be changed, by the least share of each.
        """
        tied = constraints.tied
        rows = self.undecided | tied
        value = (self.multipliers * constraints.length)[rows]
        free = np.abs(value).max() if tied.any() else 1.0
        size = np.where(tied[rows], free, value)
        if not np.isfinite(size).all() or (size <= 0).any():
            return False
        B = size[:, None] * constraints.rows(rows)
        change = B @ np.linalg.lstsq(B, value / size, rcond=NULL_SINGULAR_SHARE)[0]
        return bool((change[~tied[rows]] < 0.5).all())


def _whole(constraints: Constraints, theta: ndarray | None = None) -> RecessionCone | None:
    return _within(constraints, np.eye(constraints.size), theta)


def _within(constraints: Constraints, N: ndarray, theta: ndarray | None = None) -> RecessionCone | None:
    """The part of the cone in the span of N's columns; `theta` may be in its interior, which saves the programs."""
    T = constraints.times(N)
    place = constraints.directions
    if N.shape[1] < len(N):  # what is 0 in these coordinates, but for rounding
        T[np.abs(T) <= place.tie] = 0.0
    tied = constraints.tied
    A, of = _distinct(T[~tied])
    E = _distinct(T[tied])[0]
    start = None if theta is None or not np.isfinite(theta).all() else N.T @ place.coordinates(theta)
    direction, strict = _at_once(A, E, start)
    if direction is None:
        direction, strict = _interior(A, E, place.tie)
    if direction is None:
        return None
    decided = np.zeros(len(T), dtype=bool)
    decided[~tied] = strict[of]
    B, rounding = np.eye(T.shape[1]), 0.0
    if len(E) or not strict.all():
        B, rounding = _null_space_and_rounding(np.vstack([A[~strict], E]), place.tie)
    C, _, noise = rounded_cone(A[strict] @ B, B.T @ direction)
    basis = place.parameters(N @ B @ C, rounding)
    seen = np.flatnonzero(~tied)[np.unique(of, return_index=True)[1][strict]]  # a row of each that is decided
    facets, still = _facets_and_rounding(constraints, basis, seen, np.flatnonzero(~decided))
    return RecessionCone(basis, different(facets), decided, max(noise, rounding), place.M, place.tie, still)


def _facets_and_rounding(
    constraints: Constraints, basis: ndarray, decided: ndarray, others: ndarray
) -> tuple[ndarray, tuple[float, float]]:
    """Facets of a cone, the rows `decided` in terms of its basis, and the shares of its terms up to which a row is not
    moved: whoever asks about the rows anew is to find what a fit found.

    The basis is changed where it moves the `others`, which nothing decides: a parameter that is 0, as rounding alone
    moved it, may have held what others need to balance each other.
    """

    def shares() -> tuple[ndarray, float, ndarray]:
        facets, moved = _moved(constraints, decided, basis)
        left = _moved(constraints, others, basis)[1].max(axis=0, initial=0.0)
        return facets, min(ROUNDED_SHARE_OF_TERMS, 0.25 * float(moved.max(axis=1).min(initial=1.0))), left

    facets, still, left = shares()
    wrong = np.flatnonzero(2.0 * left > still)
    for j in wrong:
        at = np.flatnonzero(basis[:, j])
        R = constraints.given(others)[:, at] * np.abs(basis[at, j])
        R = R / np.maximum(np.linalg.norm(R, axis=1), np.finfo(float).tiny)[:, None]
        change = np.linalg.lstsq(R, R @ np.sign(basis[at, j]), rcond=NULL_SINGULAR_SHARE)[0]
        share = 1.0 - np.sign(basis[at, j]) * change
        basis[at, j] *= np.where(np.abs(share) > SMALLEST_SHARE_KEPT, share, 0.0)
    if len(wrong):
        facets, still, left = shares()
    return facets, (still, max(still, 2.0 * float(left.max(initial=0.0))))


def _moved(constraints: Constraints, rows: ndarray, basis: ndarray) -> tuple[ndarray, ndarray]:
    """What each column of a basis moves some rows by, and the shares of its terms that this is, (m, r) both."""
    values, shares = np.empty((2, len(rows), basis.shape[1]))
    step = max(1, MAX_PRODUCT_NUMBERS // len(basis))
    for start in range(0, len(rows), step):
        R, part = constraints.given(rows[start : start + step]), slice(start, start + step)
        size = np.abs(R) @ np.abs(basis)
        values[part] = R @ basis
        shares[part] = np.abs(values[part]) / np.where(size > 0, size, 1.0)
    return values, shares


def rounded_cone(F: ndarray, x: ndarray) -> tuple[ndarray, ndarray, float]:
    """Coordinates C in which the cone F x >= 0 is round, with the first axis inside, its facets there, their rounding.

    A cone whose facets face each other closely is first seen from near its centre: in the metric G'G, where the rows of
    G are those of F over their gains F x, it holds the unit ball about x (Dikin's ellipsoid), whatever its shape.
    """
    F = F / np.linalg.norm(F, axis=1)[:, None]
    R, noise = np.eye(len(x)), ROUNDED_SHARE_OF_TERMS
    if (F @ x).min() < MIN_BALL_SHARE * np.linalg.norm(x):
        near, few = F, 8 * MAX_ROWS_PER_ROUND
        if len(F) > 2 * few:
            near = np.vstack([F[np.argsort(F @ x)[:few]], F[:: len(F) // few]])
        x = _centre(near, F, x)
        noise = max(ROUNDED_SHARE_OF_TERMS, 16 * EPS * float(np.linalg.norm(x) / (F @ x).min()))
        F = F / (F @ x)[:, None]
        R = qr_factor(near / (near @ x)[:, None])
    axis = R @ x
    Q = np.linalg.qr(np.column_stack([axis, np.eye(len(x))]))[0]
    Q[:, 0] *= np.sign(Q[:, 0] @ axis)
    C = solve_triangular(R, Q, check_finite=False)
    return C, F @ C, noise


def _centre(near: ndarray, F: ndarray, x: ndarray) -> ndarray:
    """From x inside F x > 0 towards the maximum of sum(log(near @ x)) where sum(near @ x) = 1, by Newton's method."""
    x = x / (near @ x).sum()
    for _ in range(MAX_CENTRING_STEPS):
        s = near @ x
        step = np.linalg.lstsq(near / s[:, None], 1.0 - len(s) * s, rcond=None)[0]
        decrement = float(np.linalg.norm((near @ step) / s))
        length, new = 1.0, x + step
        while (F @ new).min() <= 0.1 * length * (F @ x).min() or not _higher(near @ new, s):
            length *= 0.5
            if length < 1e-6:
                return x
            new = x + length * step
        x = new / (near @ new).sum()
        if decrement < 0.25:
            break
    return x


def _higher(new: ndarray, old: ndarray) -> bool:
    """Whether sum(log s) - m sum(s) is no lower for `new` than for `old` values of s."""
    return float(np.log(new / old).sum() - len(old) * (new - old).sum()) >= 0.0


def _distinct(rows: ndarray) -> tuple[ndarray, ndarray]:
    """Rows without repetitions, but perhaps a few, and which of them each row is.

    They are sorted by one combination of their columns: a second's work where all columns in turn take ten.
    """
    rows = rows + 0.0  # no negative zeros
    order = np.argsort(rows @ np.sqrt(np.arange(2.0, rows.shape[1] + 2)), kind="stable")
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    of = np.empty(len(rows), dtype=np.intp)
    of[order] = np.cumsum(new) - 1
    return rows[order[new]], of


def _at_once(A: ndarray, E: ndarray, t: ndarray | None) -> tuple[ndarray | None, ndarray]:
    """The direction `t`, scaled, where it is > 0 in every row of A that is not 0, else None; and the
    mask of these rows."""
    moved: ndarray = (A != 0).any(axis=1)
    if t is None or E.any() or not moved.any() or not np.isfinite(t).all():
        return None, moved
    size = np.abs(t).max()
    if not size > 0 or (A[moved] @ (t / size)).min() <= MIN_GAIN_SHARE:
        return None, moved
    return t / size, moved


def _interior(A: ndarray, E: ndarray, tie: float) -> tuple[ndarray | None, ndarray]:
    """A direction with A d >= 0, E d = 0 that is > 0 in every row of A where one can be, and these rows."""
    N = _null_space(E, tie) if len(E) else np.eye(A.shape[1])
    d, strict = _decide(A @ N, tie)
    return (None if d is None else N @ d), strict


def _decide(rows: ndarray, tie: float) -> tuple[ndarray | None, ndarray]:
    """Interior direction of a cone without E, by one program after the other, each on rows that the last one left open.

    A program tells for sure only where its answer gains much. The other rows are looked at by themselves, in
    coordinates in which they point everywhere. What no direction moves among them no direction of the whole cone moves:
    these rows are held at 0, and the rest is asked again. If one moves all of them, both answers are joined; or the
    whole is asked again in coordinates in which the cone of these rows is round.
    """
    N, W, nothing = np.eye(rows.shape[1]), None, (None, np.zeros(len(rows), dtype=bool))
    for _ in range(EXTRA_PROGRAM_ROUNDS + len(N)):
        here = rows @ N
        Z, W = _spread_out(here, tie) if W is None else (_of_length_one(here @ W, here, tie), W)
        live = np.flatnonzero(Z.any(axis=1))
        u = _separating(Z[live]) if len(live) else None
        if u is None:
            return nothing
        sure = Z[live] @ u > SURE_GAIN
        strict, left, b = live[sure], live[~sure], W @ u
        if not len(strict):
            return nothing
        w, moved = _decide(here[left], tie) if len(left) else (np.zeros(len(b)), ~sure[:0])
        tied = left[~moved]
        if len(tied):
            N, W = N @ _null_space(here[tied] / np.linalg.norm(here[tied], axis=1)[:, None], tie), None
            if not N.shape[1]:
                return nothing
            continue
        joined = _joined(b, w, here[strict], here[left]) if len(left) else b
        if joined is not None:
            decided = np.zeros(len(rows), dtype=bool)
            decided[live] = True
            return N @ joined, decided
        W = _around(here[left], w, tie)
    return nothing


def _around(rows: ndarray, w: Any, tie: float) -> ndarray:
    """Coordinates in which the cone rows d >= 0 is round about w, whatever does not move the rows left as it is."""
    _, values, V = np.linalg.svd(qr_factor(rows, np.zeros((rows.shape[1],) * 2)))
    moving, still = V[values > tie * values[0]].T, V[values <= tie * values[0]].T
    return np.hstack([moving @ rounded_cone(rows @ moving, moving.T @ w)[0], still])


def _of_length_one(Z: ndarray, rows: ndarray, tie: float) -> ndarray:
    """Rows of Z scaled to length one; 0 where those of `rows` are."""
    length = np.where(np.linalg.norm(rows, axis=1) > tie, np.linalg.norm(Z, axis=1), np.inf)
    return Z / length[:, None]


def _joined(b: ndarray, w: Any, strict: ndarray, left: ndarray) -> ndarray | None:
    """Direction b + s w that moves all rows, where b moves the rows `strict` and w all rows `left`;
    None if no s does."""
    change = strict @ w
    falling = change < 0
    high = float(((strict @ b)[falling] / -change[falling]).min(initial=np.inf))
    low = max(0.0, float((-(left @ b) / (left @ w)).max()))
    size = float(np.linalg.norm(b) / np.linalg.norm(w))
    share = 0.5 * (low + min(high, 3.0 * low + size))
    return b + share * w if low < high else None


def _spread_out(rows: ndarray, tie: float) -> tuple[ndarray, ndarray]:
    """Rows of length one, or 0, in coordinates in which they point everywhere; these as columns."""
    moved = np.linalg.norm(rows, axis=1) > tie
    W = np.eye(rows.shape[1])
    for _ in range(MAX_SPREADING_ROUNDS):
        Z = _of_length_one(rows @ W, rows, tie)
        some = Z[moved] if moved.sum() >= W.shape[1] else np.vstack([Z[moved], np.zeros((W.shape[1], W.shape[1]))])
        _, values, V = np.linalg.svd(qr_factor(some))
        kept = values > 4.0 * tie * values.max(initial=0.0)
        if not kept.any() or (kept.all() and values.min() > 0.1 * values.max()):
            break
        W = W @ (V[kept] / values[kept, None] * values.max()).T
    return Z, W


def _separating(Z: ndarray) -> ndarray | None:
    """A direction with Z u >= 0, and > 0 where it is of length one in many; None if there is none but 0.

    To rounding where it can be; else to the tolerance of a program, as where rows are all but tied.
    """
    c = Z.sum(axis=0)
    size = float(np.abs(c).max())
    u = _solve(c / size, Z) if size > 0 else None
    return None if u is None else _refined(c / size, Z, u)


def _null_space(rows: ndarray, tie: float = NULL_SINGULAR_SHARE) -> ndarray:
    """Orthonormal basis of {d: rows d = 0}, (p, r); rows of length one that are shorter than `tie` there are 0."""
    return _null_space_and_rounding(rows, tie)[0]


def _null_space_and_rounding(rows: ndarray, tie: float) -> tuple[ndarray, float]:
    """Orthonormal basis of {d: rows d = 0}, (p, r), and the rounding of its entries that rounding
    of the rows causes."""
    p = rows.shape[1]
    if len(rows) > 4 * p:
        rows = qr_factor(rows)
    _, values, W = np.linalg.svd(rows)
    values = np.pad(values, (0, p - len(values)))
    null = values <= max(tie, 16 * EPS * values.max(initial=0.0))
    rounding = 16 * EPS * float(values.max(initial=0.0) / values[~null].min(initial=1.0))
    return W[null].T, rounding


def _solve(c, A, lower=None, low=-1.0, high=1.0, deadline: Deadline | None = None) -> ndarray | None:
    """Solution of a linear program, the argmax of c'b over A b >= lower (0), low <= b <= high.

    Of many rows few matter: the program begins with some, and those that its answer violates are added.
    """
    lower = np.zeros(len(A)) if lower is None else lower
    if len(A) <= 4 * MAX_ROWS_PER_ROUND:
        return _plain_program(c, A, lower, low, high, None if deadline is None else deadline.left)
    active = np.arange(0, len(A), len(A) // MAX_ROWS_PER_ROUND)
    while True:
        b = _plain_program(c, A[active], lower[active], low, high, None if deadline is None else deadline.left)
        if b is None:
            return None
        worst = _violated(A, b, lower)
        if not len(np.setdiff1d(worst, active)):
            return b
        active = np.union1d(active, worst)


def _violated(A: ndarray, b: ndarray, lower) -> ndarray:
    """Rows that an answer violates, at most MAX_ROWS_PER_ROUND, the worst first."""
    rest = A @ b - lower
    wrong = np.flatnonzero(rest < -HIGHS_TOL)
    return wrong[np.argsort(rest[wrong], kind="stable")[:MAX_ROWS_PER_ROUND]]


def _plain_program(
    c, A, lower: Any = 0.0, low: Any = -1.0, high: Any = 1.0, seconds: float | None = None
) -> ndarray | None:
    """Solution of a linear program, None where there is none; `OutOfTime` where it takes longer than `seconds`."""
    from scipy.optimize import linprog

    bounds = np.column_stack(np.broadcast_arrays(low, high, c)[:2])
    lower = np.broadcast_to(lower, len(A))
    for presolve in (True, False):  # which takes rows that differ by 1e-9 for parallel
        options = {"presolve": presolve} | ({} if seconds is None else {"time_limit": seconds})
        found = linprog(-c, A_ub=-A, b_ub=-lower, bounds=bounds, method="highs", options=options)
        if found.status == 0:
            return found.x
        if found.status == 1 and seconds is not None:
            raise OutOfTime
    return None


def _refined(c: ndarray, A: ndarray, b: ndarray, deadline: Deadline | None = None) -> ndarray | None:
    """The answer b of a program moved until A b >= 0 to rounding, or as near as programs come; None where it is 0.

    The program is solved again for the correction, in units of what is violated (Gleixner, Steffy & Wolter 2016).
    """
    unit = 1.0
    for _ in range(MAX_REFINEMENTS):
        rest = A @ b
        size = float(np.abs(b).max())
        if size < 1e-3:
            return None
        if rest.min() >= -8 * len(b) * EPS * size:
            break
        unit = max(1e-6 * unit, -float(rest.min()))
        far = min(MAX_CORRECTION_SCALE, 1.0 / unit)
        low, high = np.maximum((-1.0 - b) / unit, -far), np.minimum((1.0 - b) / unit, far)
        step = _solve(c, A, -rest / unit, low, high, deadline)
        if step is None:
            break
        b = b + unit * step
    return b


# ------------------------------------------------------------------------------------------------------ the rows
class BinaryConstraints:
    """Constraints x'd >= 0 for rows of events alone, <= 0 for rows without events, = 0 where both
    outcomes were seen."""

    kind: ndarray | None = None  # of which of its rows each row of an objective is

    def __init__(self, X: ndarray, y: ndarray, m: ndarray | None):
        self.directions = directions(X)
        self.length, self.size = self.directions.length, X.shape[1]
        self.sign = np.where(y == 0, -1.0, 1.0)
        self._Z = self.sign[:, None] * self.directions.Z
        self.tied = (y > 0) & (y < (1.0 if m is None else m))

    def times(self, D: ndarray) -> ndarray:
        """Products of all rows, those of A and of E together, with D (p, r): (m, r)."""
        return self._Z @ D

    def rows(self, which: ndarray) -> ndarray:
        """Some rows of A and E, (., p)."""
        return self._Z[which]

    def given(self, which: ndarray) -> ndarray:
        """Some rows of A and E in the units of the parameters, (., p)."""
        return self.sign[which, None] * self.directions.X[which]


class MultinomialConstraints:
    """Constraints (d_c - d_l)'x >= 0 for each class c that a row showed and l that it did not, = 0 for
    two that it showed.

    Constraints are ordered by pair (c, l), c < l where tied, then by row; `pair` and `row` say which.
    """

    kind: ndarray | None = None

    def __init__(self, X: ndarray, seen: ndarray):
        k, K = X.shape[1], seen.shape[1]
        self._K, self._k, self.size = K, k, k * (K - 1)
        self.directions = directions(X)
        pairs, rows, tied = [], [], []
        for c in range(K):
            for l in range(K):
                at = np.flatnonzero(seen[:, c] & ~(seen[:, l] & (l < c))) if c != l else np.zeros(0, dtype=np.intp)
                pairs.append(np.full(len(at), c * K + l))
                rows.append(at)
                tied.append(seen[at, l])
        self.pair, self.row, self.tied = np.concatenate(pairs), np.concatenate(rows), np.concatenate(tied)
        self.length = self.directions.length[self.row]

    def times(self, D: ndarray) -> ndarray:
        """Products of all rows, those of A and of E together, with D (p, r): (m, r)."""
        return self._of(self.directions.Z, np.ones(len(self.row), dtype=bool), D)

    def _of(self, Z: ndarray, which: ndarray, D: ndarray) -> ndarray:
        D = D.reshape(self._K - 1, self._k, -1)
        zero = np.zeros_like(D[0])
        pair, row = self.pair[which], self.row[which]
        out = np.empty((len(pair), D.shape[2]))
        for both in np.unique(pair):
            c, l = divmod(int(both), self._K)
            here = pair == both
            out[here] = Z[row[here]] @ ((D[c - 1] if c else zero) - (D[l - 1] if l else zero))
        return out

    def rows(self, which: ndarray) -> ndarray:
        """Some rows of A and E, (., p)."""
        return self._of(self.directions.Z, which, np.eye(self.size))

    def given(self, which: ndarray) -> ndarray:
        """Some rows of A and E in the units of the parameters, (., p)."""
        return self._of(self.directions.X, which, np.eye(self.size))
