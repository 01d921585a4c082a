"""Covariances of the finite parameters of a separated fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from glmclf.core.design.columns import expandable
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation.limit import LimitEstimate
from glmclf.inference.covariance.leverage import Leverages
from glmclf.inference.covariance.types import Context, _scores


@dataclass(frozen=True)
class LimitContext(Context):
    """What a covariance type may use of a limit estimate.

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
        """How many parameters."""
        return self.parameters

    def _blocks(self, codes: Any = None) -> Blocks:
        """Rows of the limit, with one more array of all rows beside them, in blocks that may be expanded."""
        blocks = self.objective.blocks
        if codes is not None:
            blocks = blocks.with_codes(codes if blocks.streamed else codes[self.found.rows])
        return expandable(blocks)

    def _scores(self, X, y, m, offset) -> ndarray:
        """Scores of rows of the limit in the parameters kept, without their weights."""
        S = _scores(X, self.objective.score_factor(self.theta, X, y, m, offset))
        kept = getattr(self.objective, "kept", None)  # of several equations: some of the limit's own parameters
        return S if kept is None else S[:, kept]

    def sum_of_outer_scores(self) -> ndarray:
        """sum_i s_i s_i' over observations."""

        def rows(X, y, m, offset, w):
            S = self._scores(X, y, m, offset)
            if w is None:
                return S.T @ S
            return (S.T * (w if self.frequency else (w / self.objective.unit) ** 2)) @ S

        return self._blocks().sum(rows)

    def scores(self) -> ndarray:
        """Scores of the observations in their order, (n, p), in the objective's unit: as large as a dense X."""
        full = np.zeros((self.n, len(self.theta)))
        for X, y, m, offset, w, at in self._blocks(np.arange(self.n)):
            S = self._scores(X, y, m, offset)
            full[at] = S if w is None or self.frequency else S * (w / self.objective.unit)[:, None]
        if self.weights is None or not self.frequency:
            return full
        return np.repeat(full, self.weights.astype(int), axis=0)

    def sum_of_outer_cluster_scores(self, codes: ndarray, n_clusters: int) -> ndarray:
        """sum_g (sum_{i in g} s_i) (sum_{i in g} s_i)'; `codes` number the clusters of all rows from 0."""

        def rows(X, y, m, offset, w, codes):
            times = np.ones(len(codes)) if w is None else w / self.objective.unit
            members = sparse.csr_array((times, (codes, np.arange(len(codes)))), shape=(n_clusters, len(codes)))
            return members @ self._scores(X, y, m, offset)

        sums = self._blocks(codes).sum(rows)
        return sums.T @ sums

    def leverages(self, cov_type: str) -> Leverages:
        """Leverages of the rows that are not decided, on the finite parameters: as in a fit to these rows alone."""
        if hasattr(self.objective, "kept"):
            raise NotImplementedError(
                f'cov_type="{cov_type}" of a separated MNLogit: outcomes that are ruled out have no leverage. Use "HC1"'
            )
        return replace(super().leverages(cov_type), size=len(self.theta), nobs=None)
