"""Recession cones found in columns for each level of a factor, which answer in the parameters of another coding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.basis import led_back
from glmclf.core.design.product import rotated
from glmclf.core.design.recoding import LevelRecoding
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.separation.cone import ROUNDED_SHARE_OF_TERMS
from glmclf.core.separation.deadline import Deadline
from glmclf.core.separation.simplicial import SimplicialCone, signs_of_any, signs_of_two

RAYS_AT_ONCE = 64  # rays that are expanded at once


@dataclass(frozen=True)
class RecodedCone:
    """A cone of coefficients of levels, in terms of the parameters of a coding; answers what a `RecessionCone` does.

    A direction of few levels moves each parameter of the coding: the cone of levels is what is held.

    Attributes
    ----------
    of_levels : SimplicialCone or ProductCone
    recoding : LevelRecoding
    """

    of_levels: Any
    recoding: LevelRecoding

    @property
    def dimension(self) -> int:
        """Dimensions of the cone's span."""
        return self.of_levels.dimension

    @property
    def facets(self) -> ndarray:
        """Rows t of which t @ x >= 0 for the members of the cone, which are basis @ x."""
        return self.of_levels.facets

    @property
    def extreme(self) -> ndarray:
        """Facets that others do not imply."""
        return self.of_levels.extreme

    @property
    def complete(self) -> bool:
        """Whether every outcome that did not occur is ruled out."""
        return self.of_levels.complete

    @property
    def still(self) -> tuple[float, float]:
        """Shares of terms up to which combinations do not move, and from which they surely do."""
        return self.of_levels.still

    @property
    def noise(self) -> float:
        """Rounding of the facets."""
        return self.of_levels.noise

    @cached_property
    def direction(self) -> ndarray:
        """One in the relative interior, (p,)."""
        return self._led_back(self.of_levels.direction)

    @cached_property
    def basis(self) -> ndarray:
        """Basis of the cone's span, (p, r)."""
        return self._led_back(self.of_levels.basis)

    def _led_back(self, directions: ndarray) -> ndarray:
        return led_back(directions, self.recoding, ROUNDED_SHARE_OF_TERMS)

    @cached_property
    def signs(self) -> ndarray:
        """Sign of each parameter over the cone, (p,): 1, -1, 0, or NaN where directions of both signs exist."""
        cone = self.of_levels
        rays, others = (cone.rays, []) if isinstance(cone, SimplicialCone) else (cone.simplicial.rays, cone.placed())
        up, down = np.zeros((2, rays.shape[0]), dtype=bool)
        for start in range(0, rays.shape[1], RAYS_AT_ONCE):
            some = self._led_back(rays[:, start : start + RAYS_AT_ONCE].toarray())
            up |= (some > 0).any(axis=1)
            down |= (some < 0).any(axis=1)
        parts = [part.sign_of(self._led_back(ways.toarray())) for part, ways in others]
        return signs_of_any([signs_of_two(up, down), *parts])

    @property
    def moved(self) -> ndarray:
        """Mask of the parameters that some direction changes, (p,)."""
        return self.signs != 0

    def moves(self, R: ndarray) -> ndarray:
        """Mask of the combinations R d of the parameters (., p) that some direction changes."""
        return self.of_levels.moves(self.rows(R))

    def sign_of(self, R: ndarray) -> ndarray:
        """Sign that each combination R d of the parameters (., p) takes over the cone, as of `RecessionCone`."""
        return self.of_levels.sign_of(self.rows(R))

    def signs_within(self, R: ndarray, deadline: Deadline) -> tuple[ndarray, ndarray]:
        """Signs as of `sign_of`, and the mask of those that were not determined in time, which are NaN."""
        return self.of_levels.signs_within(self.rows(R), deadline)

    def rows(self, R: ndarray) -> ndarray:
        """Combinations of the parameters (., p) as such of the coefficients of levels."""
        with np.errstate(invalid="ignore"):  # rows that are not finite have no sign
            return self.recoding.rows_of_levels(R)

    def first_signs(self, count: int) -> ndarray:
        """Signs of the parameters."""
        return self.signs

    def mapped(self, A: ndarray) -> RecodedCone:
        """The recession cone of A theta, whose equations A mixes, column by column alike."""
        return replace(self, of_levels=self.of_levels.mapped(A))

    def widened(self, coordinates: Coordinates) -> RecodedCone:
        """A cone of the parameters that are left as one of all."""
        return RecodedCone(self.of_levels.widened(coordinates), coordinates.wide_basis(self.recoding))

    def with_fewest_facets(self) -> RecodedCone:
        """The cone with those facets alone that others do not imply."""
        return replace(self, of_levels=self.of_levels.with_fewest_facets())


def of_levels(cone: Any, X: Any) -> tuple[Any, Any]:
    """A cone and rows of a design, of which it is asked, in columns for each level where it was found in these."""
    return (cone.of_levels, rotated(X, cone.recoding)) if isinstance(cone, RecodedCone) else (cone, X)
