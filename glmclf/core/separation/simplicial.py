"""Recession cones whose rays are independent, as where levels of factors are separated each by itself.

All that a linear program answers of other cones, products with the rays do here, however many these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.linalg import block_diag
from scipy.sparse.linalg import splu

from glmclf.caching import cached_property
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.core.separation.cone import ROUNDED_SHARE_OF_TERMS, RecessionCone
from glmclf.core.separation.deadline import Deadline


@dataclass(frozen=True)
class SimplicialCone:
    """Sums of independent rays with nonnegative coefficients; answers what a `RecessionCone` does.

    Attributes
    ----------
    rays : (p, r) csc_array
        In the units of the parameters.
    complete : bool
        Whether every outcome that did not occur is ruled out.
    scale : (k,) ndarray
        Of the coordinates of rows; 0 for columns that were left out.
    """

    rays: Any
    complete: bool
    scale: ndarray

    noise = rounding = ROUNDED_SHARE_OF_TERMS
    still = (ROUNDED_SHARE_OF_TERMS,) * 2

    @property
    def dimension(self) -> int:
        """Dimensions of the cone's span."""
        return self.rays.shape[1]

    @property
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return np.asarray(self.rays.sum(axis=1), dtype=float).ravel()

    @cached_property
    def basis(self) -> ndarray:
        """Basis of the cone's span, (p, r): the sum of the rays, and all but the last."""
        check_directions(*self.rays.shape)
        return np.column_stack([self.direction, self.rays[:, :-1].toarray()])

    @cached_property
    def facets(self) -> ndarray:
        """Rows t of which t @ x >= 0 for the members of the cone, which are basis @ x."""
        r = self.rays.shape[1]
        facets = np.eye(r, k=1)
        facets[:, 0] = 1.0
        return facets

    @property
    def extreme(self) -> ndarray:
        """Facets that others do not imply: all."""
        return self.facets

    def lengths(self, D: ndarray) -> tuple[Any, ndarray]:
        """Matrix T for which the length of a row x is that of x'T, and the lengths of directions, as of
        `RecessionCone`."""
        at = np.flatnonzero(self.scale)
        phi = D[at].reshape(len(at), -1) / self.scale[at, None]
        places = sparse.csr_array((self.scale[at], (at, np.arange(len(at)))), (len(self.scale), len(at)))
        return places, np.linalg.norm(phi, axis=0).reshape(D.shape[1:])

    @cached_property
    def signs(self) -> ndarray:
        """Sign of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        up, down = ((sign * self.rays > 0).sum(axis=1) > 0 for sign in (1, -1))
        return signs_of_two(np.asarray(up).ravel(), np.asarray(down).ravel())

    @cached_property
    def moved(self) -> ndarray:
        """Mask of the parameters that some direction changes, (p,)."""
        return self.signs != 0

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the combinations R d of the parameters (., p) that some direction changes."""
        return self.sign_of(R) != 0

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone, as of `RecessionCone`."""
        R = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
        values, least = R @ self.rays, self.noise * (np.abs(R) @ abs(self.rays))
        return signs_of_two((values > least).any(axis=1), (values < -least).any(axis=1))

    def signs_within(self, R: ndarray, deadline: Deadline) -> tuple[ndarray, ndarray]:
        """Signs as of `sign_of`, and the mask of those that are not determined: none."""
        return self.sign_of(R), np.zeros(len(R), dtype=bool)

    def first_signs(self, count: int) -> ndarray:
        """Signs of the parameters."""
        return self.signs

    def mapped(self, A: ndarray) -> SimplicialCone:
        """The recession cone of the parameters A theta, a linear map of those of this cone."""
        moved = A @ self.rays
        moved[np.abs(moved) <= 1e-9 * (np.abs(A) @ abs(self.rays))] = 0.0  # parameters of one regressor
        return replace(self, rays=sparse.csc_array(moved))

    def widened(self, coordinates: Coordinates) -> SimplicialCone:
        """A cone of the parameters that are left as one of all."""
        places = sparse.csr_array(
            (np.ones(len(coordinates.places)), (coordinates.places, np.arange(len(coordinates.places)))),
            (coordinates.size, len(coordinates.places)),
        )
        scale = np.zeros(coordinates.k)
        scale[coordinates.columns] = self.scale
        return replace(self, rays=sparse.csc_array(places @ self.rays), scale=scale)

    def with_fewest_facets(self) -> SimplicialCone:
        """The cone itself, which has no more facets than it needs."""
        return self

    def held(self, constraints: Any) -> ndarray:
        """Places of as many diverging parameters as the cone has dimensions, which a limit holds at 0."""
        return np.sort(pivots(self.rays)[0])

    def without(self, held: ndarray, theta: ndarray) -> ndarray:
        """Parameters with the same predictors on the rows that no ray moves, and zeros for those `held`."""
        if not theta[held].any():
            return theta
        if len(held) < self.rays.shape[1]:
            raise NotImplementedError(
                "slopes separate the rows of some levels, by a number so large beside its spread that their directions "
                "differ by rounding alone: subtract a value in its middle from a number that is multiplied by a factor"
            )
        t = splu(sparse.csc_array(self.rays.tocsr()[held])).solve(theta[held])
        out = theta - self.rays @ t
        out[held] = 0.0
        return out


@dataclass(frozen=True)
class ProductCone:
    """Sums of members of a simplicial cone and of others, independent of it and of each other; answers what a
    `RecessionCone` does.

    Attributes
    ----------
    simplicial : SimplicialCone
    ways : (p, c) csc_array
        Combinations of the parameters that are the coordinates of the others, side by side.
    others : tuple of RecessionCone
        Each in coordinates of its own.
    """

    simplicial: SimplicialCone
    ways: Any
    others: tuple[RecessionCone, ...]

    @property
    def complete(self) -> bool:
        """Whether every outcome that did not occur is ruled out."""
        return self.simplicial.complete

    @property
    def noise(self) -> float:
        """Rounding of the facets."""
        return max([self.simplicial.noise, *(part.noise for part in self.others)])

    @property
    def dimension(self) -> int:
        """Dimensions of the cone's span."""
        return self._span.rays.shape[1]

    @property
    def still(self) -> tuple[float, float]:
        """Shares of its terms up to which a combination of the parameters is not moved, and from which it is."""
        shares = np.max([self.simplicial.still, *(part.still for part in self.others)], axis=0)
        return float(shares[0]), float(shares[1])

    @property
    def rounding(self) -> float:
        """Share of the lengths of x and d below which x'd is 0 for a row of the fit."""
        return self.still[1]

    @cached_property
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return self.simplicial.direction + self.ways @ np.concatenate([part.direction for part in self.others])

    @property
    def basis(self) -> ndarray:
        """Basis of the cone's span, (p, r): its direction in place of the first, which is inside a part as the first of
        each part is."""
        rays = self.simplicial.rays
        check_directions(*self._span.rays.shape)
        of_others = self._span.rays[:, rays.shape[1] :].toarray()
        parts = [self.simplicial.basis, of_others] if rays.shape[1] else [of_others]
        return np.column_stack([self.direction, np.hstack(parts)[:, 1:]])

    @property
    def facets(self) -> ndarray:
        """Rows t of which t @ x >= 0 for the members of the cone, which are basis @ x."""
        check_directions(*self._span.rays.shape)
        parts: list[Any] = [self.simplicial, *self.others] if self.simplicial.rays.shape[1] else [*self.others]
        facets = block_diag(*(part.facets for part in parts))
        starts = np.cumsum([0, *(part.facets.shape[1] for part in parts)])[:-1]
        return np.column_stack([facets[:, starts].sum(axis=1), facets[:, 1:]])

    @property
    def extreme(self) -> ndarray:
        """Facets that others do not imply, where that is easily found."""
        return self.facets

    def lengths(self, D: ndarray) -> tuple[Any, ndarray]:
        """Lengths as of `RecessionCone.lengths`."""
        return self.simplicial.lengths(D)

    @cached_property
    def signs(self) -> ndarray:
        """Sign of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        up, down = _both(self.simplicial.signs)
        for part, rows, R in self._rows_of_parts():
            more, less = _both(part.sign_of(R))
            up[rows] |= more
            down[rows] |= less
        return signs_of_two(up, down)

    @cached_property
    def moved(self) -> ndarray:
        """Mask of the parameters that some direction changes, (p,)."""
        moved = self.simplicial.moved.copy()
        for part, rows, R in self._rows_of_parts():
            moved[rows] |= part.moves(R)
        return moved

    def placed(self) -> Iterator[tuple[RecessionCone, Any]]:
        """The others, each with its columns of `ways`."""
        end = 0
        for part in self.others:
            start, end = end, end + len(part.basis)
            yield part, self.ways[:, start:end]

    def _rows_of_parts(self) -> Iterator[tuple[RecessionCone, ndarray, ndarray]]:
        """The others, with places of the parameters that they concern and the coordinates of these."""
        for part, ways in self.placed():
            rows, at = np.unique(ways.indices, return_inverse=True)
            R = np.zeros((len(rows), len(part.basis)))
            R[at, np.repeat(np.arange(len(part.basis)), np.diff(ways.indptr))] = ways.data
            yield part, rows, R

    def _by_part(self, R: ndarray) -> Iterator[tuple[RecessionCone, ndarray, ndarray]]:
        """The others that combinations of the parameters, rows of R (., p), concern, with the places of these rows and
        their coordinates."""
        R = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
        W = R @ self.ways
        W[np.abs(W) <= ROUNDED_SHARE_OF_TERMS * (np.abs(R) @ abs(self.ways))] = 0.0
        ends = np.cumsum([len(part.basis) for part in self.others])
        for part, own in zip(self.others, np.split(W, ends[:-1], axis=1), strict=True):
            rows = np.flatnonzero(own.any(axis=1))
            if len(rows):
                yield part, rows, own[rows]

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the combinations R d of the parameters (., p) that some direction changes."""
        moved = self.simplicial.moves(R)
        for part, rows, own in self._by_part(R):
            moved[rows] |= part.moves(own)
        return moved

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone, as of `RecessionCone`."""
        up, down = _both(self.simplicial.sign_of(R))
        for part, rows, own in self._by_part(R):
            more, less = _both(part.sign_of(own))
            up[rows] |= more
            down[rows] |= less
        return signs_of_two(up, down)

    def signs_within(self, R: ndarray, deadline: Deadline) -> tuple[ndarray, ndarray]:
        """Signs as of `sign_of`, and the mask of those that were not determined in time, which are NaN."""
        (up, down), open_ = _both(self.simplicial.sign_of(R)), np.zeros(len(R), dtype=bool)
        for part, rows, own in self._by_part(R):
            signs, late = part.signs_within(own, deadline)
            more, less = _both(signs)
            up[rows] |= more
            down[rows] |= less
            open_[rows] |= late
        return signs_of_two(up, down), open_

    def first_signs(self, count: int) -> ndarray:
        """Signs of the parameters."""
        return self.signs

    def mapped(self, A: ndarray) -> ProductCone:
        """The recession cone of the parameters A theta, a linear map of those of this cone."""
        ways = replace(self.simplicial, rays=self.ways).mapped(A).rays
        return ProductCone(self.simplicial.mapped(A), ways, self.others)

    def widened(self, coordinates: Coordinates) -> ProductCone:
        """A cone of the parameters that are left as one of all."""
        ways = replace(self.simplicial, rays=self.ways).widened(coordinates).rays
        return ProductCone(self.simplicial.widened(coordinates), ways, self.others)

    def with_fewest_facets(self) -> ProductCone:
        """The cone with those facets alone that others do not imply."""
        return replace(self, others=tuple(part.with_fewest_facets() for part in self.others))

    @cached_property
    def _span(self) -> SimplicialCone:
        """Rays of the cone's span."""
        of_others = self.ways @ sparse.block_diag([part.basis for part in self.others], format="csc")
        rays = sparse.csc_array(sparse.hstack([self.simplicial.rays, of_others]))
        rays.eliminate_zeros()
        return replace(self.simplicial, rays=rays)

    def held(self, constraints: Any) -> ndarray:
        """Places of as many diverging parameters as the cone has dimensions, which a limit holds at 0."""
        return self._span.held(constraints)

    def without(self, held: ndarray, theta: ndarray) -> ndarray:
        """Parameters with the same predictors on the rows that no direction moves, and zeros for those `held`."""
        return self._span.without(held, theta)


def check_directions(p: int, r: int) -> None:
    """Refuse an array of so many directions.

    Raises
    ------
    NotImplementedError
        It would take more than `MAX_DENSE_BYTES`.
    """
    if 8 * p * r > MAX_DENSE_BYTES:
        raise NotImplementedError(
            f"one array of {r:,} directions of separation in {p:,} parameters would take {8e-9 * p * r:.1f} GB: merge "
            "levels whose outcomes their own columns tell apart, or leave them out"
        )


def _both(signs: ndarray) -> tuple[ndarray, ndarray]:
    """Whether signs are those of directions up, and down: NaN of both."""
    unknown = np.isnan(signs)
    return (signs > 0) | unknown, (signs < 0) | unknown


def signs_of_any(signs: list[ndarray]) -> ndarray:
    """Signs of sums of members of several cones from those in each."""
    up, down = (np.any(those, axis=0) for those in zip(*map(_both, signs), strict=True))
    return signs_of_two(up, down)


def pivots(rays: Any, last: Any = False) -> tuple[ndarray, ndarray]:
    """A parameter of each ray with which the rays are independent, its largest when earlier rays are taken off; and the
    places of these rays, without those that are sums of others. Short rays come first, so that few are changed, but for
    the mask of the `last`; what is large or rounding is so beside the parameter's largest entry in the rays, whatever
    its unit."""
    largest = abs(rays).max(axis=1).toarray().ravel() if rays.nnz else np.ones(rays.shape[0])
    rays = sparse.csc_array((rays.data / largest[rays.indices], rays.indices, rays.indptr), rays.shape)
    columns = [
        dict(zip(rays.indices[a:b].tolist(), rays.data[a:b].tolist(), strict=True)) for a, b in pairwise(rays.indptr)
    ]
    found: list[int] = []
    places: list[int] = []
    number: dict[int, int] = {}  # of each parameter found
    reduced: list[dict[int, float]] = []  # rays without those before them, over what they are at their parameter
    for place in np.lexsort((np.diff(rays.indptr), np.broadcast_to(last, len(columns)))).tolist():
        rest, size = dict(columns[place]), max(map(abs, columns[place].values()))
        waiting = sorted(number[j] for j in rest if j in number)
        while waiting:
            n = heappop(waiting)
            share = rest.pop(found[n], 0.0)
            for i, value in reduced[n].items():
                if i in number and i not in rest:
                    heappush(waiting, number[i])
                rest[i] = rest.get(i, 0.0) - share * value
        rest = {j: v for j, v in rest.items() if abs(v) > ROUNDED_SHARE_OF_TERMS * size}
        if rest:
            at = max(rest, key=lambda j: abs(rest[j]))
            reduced.append({j: v / rest[at] for j, v in rest.items() if j != at})
            number[at] = len(found)
            found.append(at)
            places.append(place)
    return np.array(found, dtype=np.intp), np.array(places, dtype=np.intp)


def by_column(columns: list[tuple[ndarray, ndarray]], n: int) -> Any:
    """Columns of places and values as a csc_array with n rows."""
    starts = np.cumsum([0, *(len(rows) for rows, _ in columns)])
    rows, values = (np.concatenate([np.zeros(0, dtype=np.intp), *(column[i] for column in columns)]) for i in (0, 1))
    return sparse.csc_array((values, rows, starts), (n, len(columns)))


def signs_of_two(up: ndarray, down: ndarray) -> ndarray:
    return np.where(up & down, np.nan, up.astype(float) - down)
