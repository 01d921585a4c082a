"""Separation: the directions along which a likelihood never falls, and what diverges along them.

Where the outcomes can be told apart, the maximum likelihood estimate is at infinity (Albert & Anderson 1984): the
likelihood rises along a direction d without end. All such directions form a cone, {d: A d >= 0, E d = 0}, with a row of
A for every outcome that a row did not show beside one that it did, and of E where both were seen. Linear programs
decide whether it holds more than 0 (Konis 2007), which rows are decided by it, and which signs its members take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy import ndarray

from glmclf.core.cone_rows import Directions, directions
from glmclf.errors import EstimationError

TOLERANCE = 1e-7  # HiGHS' feasibility tolerance
SURE = 1e2 * TOLERANCE  # a gain that is no rounding
AGAIN = 40  # rows that a round adds where many questions are asked of one cone
MANY = 500  # rows with which a linear program begins, and that a round adds
FEW = 6  # dimensions of a polytope whose corners are quickly found
NULL = 1e-10  # singular values below this share of the largest belong to the null space
ZERO = 1e-11  # share of its terms below which a sum of them is rounding


class Constraints(Protocol):
    """Rows of A and E in the coordinates of `directions`, without forming them all."""

    directions: Directions
    tied: ndarray
    length: ndarray
    size: int

    def times(self, D: ndarray) -> ndarray:
        """All rows times D (p, r), those of A and E together: (m, r)."""

    def rows(self, which: ndarray) -> ndarray:
        """Some rows, (., p)."""


@dataclass(frozen=True)
class Cone:
    """Directions along which a likelihood never falls, in the units of the parameters.

    Attributes
    ----------
    direction : (p,) ndarray
        One in the relative interior: it decides every row that some direction decides.
    basis : (p, r) ndarray
        Of the cone's span.
    facets : (m, r) ndarray
        The cone is ``{basis @ t : facets @ t >= 0}``.
    decided : (rows of A and E,) bool ndarray
        Outcomes that `direction` rules out.
    """

    direction: ndarray
    basis: ndarray
    facets: ndarray
    decided: ndarray

    @property
    def complete(self) -> bool:
        """Whether every outcome that did not occur is ruled out."""
        return bool(self.decided.all())

    @cached_property
    def signs(self) -> ndarray:
        """Of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        return self.sign_of(np.eye(len(self.basis)))

    def mapped(self, A: ndarray) -> Cone:
        """The cone of A theta."""
        both = np.column_stack([self.direction, self.basis])
        moved = A @ both
        moved[np.abs(moved) <= 1e-9 * (np.abs(A) @ np.abs(both))] = 0.0  # parameters of one regressor
        return replace(self, direction=moved[:, 0], basis=moved[:, 1:])

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone: 1, -1, 0, or NaN for both.

        0 for a row of R that is not finite, of which nothing can be said.
        """
        R = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
        T, size = R @ self.basis, np.abs(R) @ np.abs(self.basis)
        T[(np.abs(T) <= ZERO * size).all(axis=1)] = 0.0
        out = np.zeros(len(R))
        distinct, of = np.unique(_directions(T), axis=0, return_inverse=True)
        found = np.array([self._sign(t) for t in distinct])
        if len(found):
            out = found[np.ravel(of)]
        return out

    def _sign(self, t: ndarray) -> float:
        """Sign of t'x over the cone of `facets`."""
        if not t.any():
            return 0.0
        if len(t) == 1:
            return float(np.sign(t[0] * self._inner[0]))
        if not len(self.facets):
            raise EstimationError(
                "what this fit, whose estimate is infinite, says of new rows or of other levels rests on many rows, "
                "which a file does not keep: ask the fit itself, before it is saved"
            )
        up, down = (self._reaches(s * t) for s in (1.0, -1.0))
        return np.nan if up and down else 1.0 if up else -1.0 if down else 0.0

    def _reaches(self, t: ndarray) -> bool:
        """Whether t'x > 0 somewhere in the cone: at a ray that another question has found, or by a linear program.

        The program has the facets that mattered before; those that its answer violates are added.
        """
        if any(ray @ t > SURE for ray in self._rays):
            return True
        while True:
            x = _plain_program(t, self._active[0], np.zeros(len(self._active[0])))
            if x is None or t @ x <= SURE:
                return False
            worst = _violated(self.facets, x, 0.0)[:AGAIN]
            if not len(worst):
                self._rays.append(x)
                return True
            self._active[0] = np.vstack([self._active[0], self.facets[worst]])

    @cached_property
    def _active(self) -> list[ndarray]:
        """Facets that mattered so far."""
        few = self.facets[:: max(1, len(self.facets) // MANY)]
        return [self.extreme if len(self.extreme) <= MANY else few]

    @cached_property
    def _rays(self) -> list[ndarray]:
        """Members of the cone, in terms of the basis, with largest entries of one."""
        return [self._inner / np.abs(self._inner).max()]

    @cached_property
    def extreme(self) -> ndarray:
        """Facets without those that follow from others, where they are easily told."""
        r = self.facets.shape[1]
        if r == 1:
            return self.facets[:1]
        if r > FEW or len(self.facets) <= r:
            return self.facets
        from scipy.spatial import ConvexHull, QhullError

        # where they meet a plane that all of them point to, the extreme ones are the corners of a polytope
        points = self.facets / (self.facets @ self._inner)[:, None]
        B = np.linalg.svd(self._inner[None])[2][1:]
        flat = points @ B.T
        if r == 2:
            return self.facets[[int(flat.argmin()), int(flat.argmax())]]
        try:
            return self.facets[ConvexHull(flat).vertices]
        except QhullError:
            return self.facets

    @cached_property
    def _inner(self) -> ndarray:
        """`direction` in terms of the basis."""
        return np.linalg.lstsq(self.basis, self.direction, rcond=None)[0]


def _directions(T: ndarray) -> ndarray:
    """Rows scaled to a largest entry of one, rounded, so that multiples are equal."""
    size = np.abs(T).max(axis=1, keepdims=True, initial=0.0)
    return np.round(T / np.where(size > 0, size, 1.0), 9) + 0.0


def recession_cone(constraints: Constraints, near: Hint | None = None) -> Cone | None:
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
    Cone or None
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


def cone_where(constraints: Constraints, R: ndarray) -> Cone | None:
    """The part of the cone where R d = 0, R (J, p) in the units of the parameters."""
    A = constraints.directions.rows(R)
    size = np.abs(A).max(axis=1, keepdims=True, initial=0.0)
    N = _null_space(A / np.where(size > 0, size, 1.0))
    return _within(constraints, N) if N.shape[1] else None


@dataclass(frozen=True)
class Hint:
    """What the place where a fit stopped says of the cone.

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
        change = B @ np.linalg.lstsq(B, value / size, rcond=NULL)[0]
        return bool((change[~tied[rows]] < 0.5).all())


def _whole(constraints: Constraints, theta: ndarray | None = None) -> Cone | None:
    return _within(constraints, np.eye(constraints.size), theta)


def _within(constraints: Constraints, N: ndarray, theta: ndarray | None = None) -> Cone | None:
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
        direction, strict = _interior(A, E)
    if direction is None:
        return None
    decided = np.zeros(len(T), dtype=bool)
    decided[~tied] = strict[of]
    B = np.eye(T.shape[1])
    if len(E) or not strict.all():
        B = _null_space(np.vstack([A[~strict], E]), place.tie)
    direction = B @ (B.T @ direction)
    if (A[strict] @ direction).min() <= 0:
        return None
    facets = _distinct(_directions(A[strict] @ B))[0]
    return Cone(place.parameters((N @ direction)[:, None])[:, 0], place.parameters(N @ B), facets, decided)


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
    """`t` of size one where it is > 0 in every row of A that is not 0, and these rows; else None."""
    moved: ndarray = (A != 0).any(axis=1)
    if t is None or E.any() or not moved.any() or not np.isfinite(t).all():
        return None, moved
    size = np.abs(t).max()
    if not size > 0 or (A[moved] @ (t / size)).min() <= SURE:
        return None, moved
    return t / size, moved


def _interior(A: ndarray, E: ndarray) -> tuple[ndarray | None, ndarray]:
    """A direction with A d >= 0, E d = 0 that is > 0 in every row of A where one can be, and these rows."""
    strict = np.zeros(len(A), dtype=bool)
    direction = None
    while not strict.all():
        b = _maximise(A[~strict].sum(axis=0), A, E)
        if b is None or (A[~strict] @ b).max() < 10 * SURE:
            break
        b = _refined(A, E, b)
        if b is None:
            break
        direction = b if direction is None else direction + b
        gained = A @ direction > SURE
        if not (gained & ~strict).any():
            break
        strict |= gained
    return direction, strict


def _null_space(rows: ndarray, tie: float = NULL) -> ndarray:
    """Orthonormal basis of {d: rows d = 0}, (p, r); rows of length one that are shorter than `tie` there are 0."""
    p = rows.shape[1]
    if len(rows) > 4 * p:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))
    _, values, W = np.linalg.svd(rows)
    values = np.pad(values, (0, p - len(values)))
    return W[values <= max(tie, 16 * np.finfo(float).eps * values.max(initial=0.0))].T


def _maximise(c: ndarray, A: ndarray, E: ndarray) -> ndarray | None:
    """argmax of c'b over A b >= 0, E b = 0, -1 <= b <= 1."""
    b = _solve(c, A, np.zeros(len(A)), E, np.zeros(len(E)))
    return None if b is None else np.where(np.abs(b) > TOLERANCE, b, 0.0)


def _solve(c, A, lower, E, equal) -> ndarray | None:
    """argmax of c'b over A b >= lower, E b = equal, -1 <= b <= 1.

    Of many rows few matter: the program begins with some, and those that its answer violates are added.
    """
    if len(A) <= 4 * MANY:
        return _plain_program(c, A, lower, E, equal)
    active = np.arange(0, len(A), len(A) // MANY)
    while True:
        b = _plain_program(c, A[active], lower[active], E, equal)
        if b is None:
            return None
        worst = _violated(A, b, lower)
        if not len(worst):
            return b
        active = np.union1d(active, worst)


def _violated(A: ndarray, b: ndarray, lower) -> ndarray:
    """Rows that an answer violates, at most MANY, the worst first."""
    rest = A @ b - lower
    wrong = np.flatnonzero(rest < -TOLERANCE)
    return wrong[np.argsort(rest[wrong], kind="stable")[:MANY]]


def _plain_program(c, A, lower, E=None, equal=None) -> ndarray | None:
    from scipy.optimize import linprog

    equality = {"A_eq": E, "b_eq": equal} if E is not None and len(E) else {}
    found = linprog(-c, A_ub=-A, b_ub=-lower, bounds=(-1, 1), method="highs", **equality)
    return found.x if found.status == 0 else None


def _refined(A: ndarray, E: ndarray, b: ndarray) -> ndarray | None:
    """b moved until A b >= 0 and E b = 0 to rounding, or None where that cannot be: the overlap is narrow, but is one.

    The program is solved again for the correction, in units of its own tolerance.
    """
    unit = 1.0
    for _ in range(3):
        rounding = 8 * len(b) * np.finfo(float).eps * np.abs(b).max()
        if (A @ b).min() >= -rounding and np.abs(E @ b).max(initial=0.0) <= rounding:
            return b
        unit *= 10 * TOLERANCE
        near = np.abs(A @ b) < 1e3 * len(b) * unit
        step = _solve(A[near].sum(axis=0), A[near], -(A[near] @ b) / unit, E, -(E @ b) / unit)
        if step is None:
            return None
        b = b + unit * step
    return b if (A @ b).min() >= -rounding else None


# ------------------------------------------------------------------------------------------------------ the rows
class BinaryConstraints:
    """x'd >= 0 for rows of events alone, <= 0 for rows without, = 0 where both were seen."""

    def __init__(self, X: ndarray, y: ndarray, m: ndarray | None):
        self.directions = directions(X)
        self.length, self.size = self.directions.length, X.shape[1]
        self._Z = np.where(y == 0, -1.0, 1.0)[:, None] * self.directions.Z
        self.tied = (y > 0) & (y < (1.0 if m is None else m))

    def times(self, D: ndarray) -> ndarray:
        """All rows times D (p, r), those of A and E together: (m, r)."""
        return self._Z @ D

    def rows(self, which: ndarray) -> ndarray:
        """Some rows, (., p)."""
        return self._Z[which]


class MultinomialConstraints:
    """(d_c - d_l)'x >= 0 for each class c that a row showed and l that it did not, = 0 for two that it showed.

    Constraints are ordered by pair (c, l), c < l where tied, then by row; `pair` and `row` say which.
    """

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
        """All rows times D (p, r), those of A and E together: (m, r)."""
        return self._of(np.ones(len(self.row), dtype=bool), D)

    def _of(self, which: ndarray, D: ndarray) -> ndarray:
        D = D.reshape(self._K - 1, self._k, -1)
        zero = np.zeros_like(D[0])
        out = np.empty((int(which.sum()), D.shape[2]))
        pair, row = self.pair[which], self.row[which]
        for both in np.unique(pair):
            c, l = divmod(int(both), self._K)
            here = pair == both
            out[here] = self.directions.Z[row[here]] @ ((D[c - 1] if c else zero) - (D[l - 1] if l else zero))
        return out

    def rows(self, which: ndarray) -> ndarray:
        """Some rows, (., p)."""
        return self._of(which, np.eye(self.size))
