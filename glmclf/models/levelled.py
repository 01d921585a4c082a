"""Models of a response with several levels, one of which is the base."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.rows.asked import named
from glmclf.results.regression.levels import Levels


class LevelledModel(Levels):
    """Mixin of models of a response with several levels: all levels, the base level, and `endog` in their order."""

    _response: Any
    _rows: Any

    @property
    def levels(self) -> list[Any]:
        """All levels of the response, in their order."""
        return self._response.levels

    @property
    def reference(self) -> Any:
        """The base level."""
        return self._response.reference

    @property
    @named
    def endog(self) -> ndarray:
        """The response: codes of the levels in their order, (n,), or counts, (n, J)."""
        return self._as_endog(self._rows.y)

    def _as_endog(self, y: ndarray) -> ndarray:
        return y[:, self._order] if y.ndim == 2 else np.argsort(self._order)[y]

    def _modelled(self) -> list[tuple[str, str]]:
        levels = ", ".join(str(level) for level in self.levels)
        return [("Levels:", levels), ("Reference:", f"{self.reference}")]
