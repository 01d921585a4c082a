"""Recession cones whose rays are independent, as where levels of factors are separated each by itself.

All that a linear program answers of other cones, products with the rays do here, however many these are.
"""

from __future__ import annotations

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
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return np.asarray(self.rays.sum(axis=1), dtype=float).ravel()

    @cached_property
    def basis(self) -> ndarray:
        """Basis of the cone's span, (p, r): the sum of the rays, and all but the last."""
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
    others : tuple of RecessionCone
    """

    simplicial: SimplicialCone
    others: tuple[RecessionCone, ...]

    @property
    def _parts(self) -> list[Any]:
        rays = self.simplicial.rays
        return [self.simplicial, *self.others] if rays.shape[1] else [*self.others]

    @property
    def complete(self) -> bool:
        """Whether every outcome that did not occur is ruled out."""
        return self.simplicial.complete

    @property
    def noise(self) -> float:
        """Rounding of the facets."""
        return max(part.noise for part in self._parts)

    @property
    def still(self) -> tuple[float, float]:
        """Shares of its terms up to which a combination of the parameters is not moved, and from which it is."""
        low, high = (max(shares) for shares in zip(*(part.still for part in self._parts), strict=True))
        return low, high

    @property
    def rounding(self) -> float:
        """Share of the lengths of x and d below which x'd is 0 for a row of the fit."""
        return self.still[1]

    @property
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return np.sum([part.direction for part in self._parts], axis=0)

    @cached_property
    def basis(self) -> ndarray:
        """Basis of the cone's span, (p, r): its direction in place of the first, which is inside a part as the first of
        each part is."""
        return np.column_stack([self.direction, np.hstack([part.basis for part in self._parts])[:, 1:]])

    @cached_property
    def facets(self) -> ndarray:
        """Rows t of which t @ x >= 0 for the members of the cone, which are basis @ x."""
        facets = block_diag(*(part.facets for part in self._parts))
        starts = np.cumsum([0, *(part.basis.shape[1] for part in self._parts)])[:-1]
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
        return signs_of_any([part.signs for part in self._parts])

    @cached_property
    def moved(self) -> ndarray:
        """Mask of the parameters that some direction changes, (p,)."""
        return np.any([part.moved for part in self._parts], axis=0)

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the combinations R d of the parameters (., p) that some direction changes."""
        return np.any([part.moves(R) for part in self._parts], axis=0)

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone, as of `RecessionCone`."""
        return signs_of_any([part.sign_of(R) for part in self._parts])

    def signs_within(self, R: ndarray, deadline: Deadline) -> tuple[ndarray, ndarray]:
        """Signs as of `sign_of`, and the mask of those that were not determined in time, which are NaN."""
        found = [part.signs_within(R, deadline) for part in self._parts]
        return signs_of_any([signs for signs, _ in found]), np.any([open_ for _, open_ in found], axis=0)

    def first_signs(self, count: int) -> ndarray:
        """Signs of the parameters."""
        return self.signs

    def mapped(self, A: ndarray) -> ProductCone:
        """The recession cone of the parameters A theta, a linear map of those of this cone."""
        return ProductCone(self.simplicial.mapped(A), tuple(part.mapped(A) for part in self.others))

    def widened(self, coordinates: Coordinates) -> ProductCone:
        """A cone of the parameters that are left as one of all."""
        return ProductCone(self.simplicial.widened(coordinates), tuple(c.widened(coordinates) for c in self.others))

    def with_fewest_facets(self) -> ProductCone:
        """The cone with those facets alone that others do not imply."""
        return replace(self, others=tuple(part.with_fewest_facets() for part in self.others))

    @cached_property
    def _span(self) -> SimplicialCone:
        """Rays of the cone's span."""
        of_others = [sparse.csc_array(part.basis) for part in self.others]
        return replace(self.simplicial, rays=sparse.csc_array(sparse.hstack([self.simplicial.rays, *of_others])))

    def held(self, constraints: Any) -> ndarray:
        """Places of as many diverging parameters as the cone has dimensions, which a limit holds at 0."""
        return self._span.held(constraints)

    def without(self, held: ndarray, theta: ndarray) -> ndarray:
        """Parameters with the same predictors on the rows that no direction moves, and zeros for those `held`."""
        return self._span.without(held, theta)


def signs_of_any(signs: list[ndarray]) -> ndarray:
    """Signs of sums of members of several cones from those in each."""
    up, down = (np.any([(sign * s > 0) | np.isnan(s) for s in signs], axis=0) for sign in (1, -1))
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
