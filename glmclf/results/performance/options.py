"""Options of performance measures: which rows they are of."""

from __future__ import annotations

from typing import Any, NamedTuple


class RowOptions(NamedTuple):
    """Options of the rows of a measure: new data with outcomes, weights and offset, or the rows of the fit."""

    newdata: Any = None
    endog: Any = None
    freq_weights: Any = None
    weights: Any = None
    offset: Any = None

    @property
    def beside(self) -> dict[str, Any]:
        """Options that accompany new data, except the offset."""
        return {"endog": self.endog, "freq_weights": self.freq_weights, "weights": self.weights}
