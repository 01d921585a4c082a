"""What separation says of a model: which coefficients are infinite, in which direction, and which rows decide it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.separation import Cone

SHOWN = 8


@dataclass(frozen=True)
class Separation:
    """A response that some combination of the regressors predicts perfectly.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
        Whether every row is predicted perfectly, or some.
    directions : Series
        inf or -inf for each coefficient that is infinite, NaN where directions of both signs exist; by name, or by
        (level, regressor).
    direction : Series
        One direction along which the likelihood never falls and that decides all rows that can be decided: a
        certificate to check.
    rows : Index
        Labels of the rows that it decides; of several classes, of those in which it rules an outcome out.
    n : int
        Rows in all.
    """

    kind: str
    directions: pd.Series
    direction: pd.Series
    rows: Any
    n: int
    response: str

    @property
    def columns(self) -> list[Any]:
        """The coefficients that are infinite, or undetermined."""
        return list(self.directions.index)

    def __str__(self) -> str:
        return f"{self.kind} separation of {self.response}: {self._said()}; {len(self.rows)} of {self.n} rows"

    def _said(self) -> str:
        words = []
        for name, sign in self.directions.items():
            label = f'"{name[1]}" of {name[0]!r}' if isinstance(name, tuple) else f'"{name}"'
            words.append(f"{label} ({'sign undetermined' if np.isnan(sign) else 'inf' if sign > 0 else '-inf'})")
        more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
        return ", ".join(words[:SHOWN]) + more

    def message(self, how: str) -> str:
        """The error's or the warning's words."""
        some = ", ".join(map(str, self.rows[:5])) + (", ..." if len(self.rows) > 5 else "")
        what = (
            f"the maximum likelihood estimate of {self._said()} is infinite ({self.kind} separation of "
            f"{self.response}: {len(self.rows)} of {self.n} rows are predicted perfectly, such as {some})"
        )
        if how == "raise":
            return f'{what}. Use bias_reduction="firth", drop the term, merge its levels, or fit(separation="warn").'
        return (
            f"{what}. The other coefficients are the limit estimates and can be used; test these with "
            'compare_lr_test, or use bias_reduction="firth".'
        )


def separation_report(model: Any, cone: Cone, decided: ndarray) -> Separation:
    """The cone in the terms of a model; `decided` are the places of the rows that it decides."""
    index = model._param_index
    signs = pd.Series(cone.signs, index=index)
    directions = signs[(signs != 0).to_numpy()].map(lambda s: np.nan if np.isnan(s) else s * np.inf)
    kind, n = "complete" if cone.complete else "quasi-complete", len(model._rows)
    direction = pd.Series(cone.direction, index=index)
    return Separation(kind, directions, direction, model._rows.index[decided], n, model.endog_names)
