"""Recession cones whose rays are independent, as where levels of factors are separated each by itself.

All that a linear program answers of other cones, products with the rays do here, however many these are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.sparse.linalg import splu

from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.separation.cone import ROUNDED_SHARE_OF_TERMS, lengths
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
        return lengths(np.diag(self.scale), D)

    @cached_property
    def signs(self) -> ndarray:
        """Sign of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        up, down = ((sign * self.rays > 0).sum(axis=1) > 0 for sign in (1, -1))
        return _signs(np.asarray(up).ravel(), np.asarray(down).ravel())

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
        return _signs((values > least).any(axis=1), (values < -least).any(axis=1))

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

    @cached_property
    def _pivots(self) -> ndarray:
        """A parameter of each ray, with which the rays are independent, (r,): its largest when earlier rays are taken
        off. Short rays come first, so that few are changed."""
        rays = self.rays
        columns = [
            dict(zip(rays.indices[a:b].tolist(), rays.data[a:b].tolist(), strict=True))
            for a, b in zip(rays.indptr[:-1], rays.indptr[1:], strict=True)
        ]
        found: dict[int, dict[int, float]] = {}  # rays that are 1 at their parameter, and 0 at those before it
        for ray in sorted(columns, key=len):
            rest = dict(ray)
            for j in [j for j in found if j in rest]:
                share = rest[j]
                for i, value in found[j].items():
                    rest[i] = rest.get(i, 0.0) - share * value
            free = {j: v for j, v in rest.items() if j not in found}
            at = max(free, key=lambda j: abs(free[j]))
            found[at] = {j: v / rest[at] for j, v in rest.items() if v != 0}
        return np.array(sorted(found), dtype=np.intp)

    def held(self, constraints: Any) -> ndarray:
        """Places of as many diverging parameters as the cone has dimensions, which a limit holds at 0."""
        return self._pivots

    def without(self, held: ndarray, theta: ndarray) -> ndarray:
        """Parameters with the same predictors on the rows that no ray moves, and zeros for those `held`."""
        if not theta[held].any():
            return theta
        t = splu(sparse.csc_array(self.rays.tocsr()[held])).solve(theta[held])
        out = theta - self.rays @ t
        out[held] = 0.0
        return out


def by_column(columns: list[tuple[ndarray, ndarray]], n: int) -> Any:
    """Columns of places and values as a csc_array with n rows."""
    starts = np.cumsum([0, *(len(rows) for rows, _ in columns)])
    rows, values = (np.concatenate([column[i] for column in columns]) for i in (0, 1))
    return sparse.csc_array((values, rows, starts), (n, len(columns)))


def _signs(up: ndarray, down: ndarray) -> ndarray:
    return np.where(up & down, np.nan, up.astype(float) - down)
