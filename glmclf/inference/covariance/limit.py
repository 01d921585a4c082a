"""Covariances of the finite parameters of a separated fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import expandable
from glmclf.core.fit.restricted import Restricted
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation.limit import LimitEstimate
from glmclf.inference.covariance.leverage import Leverages
from glmclf.inference.covariance.types import Context, check_expanded


@dataclass(frozen=True)
class LimitContext(Context):
    """Ingredients of the covariance types for the limit estimate of a separated fit.

    Rows that are decided have no score, but they are observations, as they are in a fit whose coefficients are large.

    Attributes
    ----------
    parameters : int
        The infinite ones counted.
    found : LimitEstimate
    weights : (n,) ndarray or None
        Of all rows.
    n : int
        Rows, the decided ones counted.
    """

    parameters: int
    found: LimitEstimate
    weights: ndarray | None
    n: int

    @property
    def size(self) -> int:
        """Number of parameters, the infinite ones counted."""
        return self.parameters

    def scores_of(self, X, y, m, offset, weights) -> tuple[ndarray, ndarray | None]:
        """Scores of rows of the limit in its coordinates, without their weights, and these."""
        S, weights = super().scores_of(X, y, m, offset, weights)
        return (self.objective.score(S.T).T if isinstance(self.objective, Restricted) else S), weights

    def cluster_sums(self, codes: Any, n_clusters: int) -> Any:
        """Sums of the scores over clusters; `codes` are those of all rows."""
        found, kept = super().cluster_sums(codes, n_clusters), getattr(self.objective, "kept", None)
        if kept is None or not self._of_levels:
            return found
        return found.narrowed(np.isin(np.arange(len(self.found.cone.direction)), kept))

    def scores(self) -> ndarray:
        """Scores of the observations in their order, (n, p), in the objective's unit: as large as a dense X."""
        check_expanded(self)
        full = np.zeros((self.n, len(self.theta)))
        for *block, at in self._beside(np.arange(self.n)):
            S, w = self.scores_of(*block)
            full[at] = S if w is None or self.frequency else S * (w / self.unit)[:, None]
        if self.weights is None or not self.frequency:
            return full
        return np.repeat(full, self.weights.astype(int), axis=0)

    def _beside(self, codes: Any) -> Blocks:
        """Rows of the limit, with one more array of all rows beside them."""
        codes = codes[self.found.rows]
        if self._of_levels:
            return super()._beside(codes)
        return expandable(self.objective.blocks.with_codes(codes))

    def leverages(self, cov_type: str) -> Leverages:
        """Leverages of the rows that are not decided, on the finite parameters: as in a fit to these rows alone."""
        if isinstance(self.objective, Restricted):
            raise NotImplementedError(
                f'cov_type="{cov_type}" of a separated MNLogit: outcomes that are ruled out have no leverage. Use "HC1"'
            )
        return replace(super().leverages(cov_type), size=len(self.theta), nobs=None)
