"""What separation says of a model: which coefficients are infinite, in which direction, and which rows decide it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.separation import Cone

SHOWN = 8
LARGEST = 1000  # numbers of facets that a file keeps


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
    rows : Index or None
        Labels of the rows that it decides; of several classes, of those in which it rules an outcome out. None where
        the rows are gone.
    n_rows, n : int
        How many those are, and rows in all.
    response : str
        What is separated.

    Examples
    --------
    >>> import pandas as pd
    >>> from glmclf import detect_separation
    >>> table = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [0, 0, 0, 1, 1, 1]})
    >>> found = detect_separation("y ~ x", table)
    >>> print(found)
    complete separation of y: "Intercept" (-inf), "x" (inf); 6 of 6 rows
    """

    kind: str
    directions: pd.Series
    direction: pd.Series
    rows: Any
    n_rows: int
    n: int
    response: str

    @property
    def columns(self) -> list[Any]:
        """The coefficients that are infinite, or undetermined."""
        return list(self.directions.index)

    def __str__(self) -> str:
        return f"{self.kind} separation of {self.response}: {self._said()}; {self.n_rows} of {self.n} rows"

    def _said(self) -> str:
        words = []
        for name, sign in self.directions.items():
            label = f'"{name[1]}" of {name[0]!r}' if isinstance(name, tuple) else f'"{name}"'
            words.append(f"{label} ({'sign undetermined' if np.isnan(sign) else 'inf' if sign > 0 else '-inf'})")
        more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
        return ", ".join(words[:SHOWN]) + more

    def message(self, how: str) -> str:
        """The error's or the warning's words."""
        rows = [] if self.rows is None else self.rows
        some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        several = isinstance(self.direction.index, pd.MultiIndex)
        foreseen = "have outcomes that are ruled out" if several else "are predicted perfectly"
        what = (
            f"the maximum likelihood estimate of {self._said()} is infinite ({self.kind} separation of "
            f"{self.response}: {self.n_rows} of {self.n} rows {foreseen}, such as {some})"
        )
        if how == "raise":
            return (
                f'{what}. Use bias_reduction="firth", drop the term, merge its levels, or take the limit estimates '
                'with separation="warn".'
            )
        return (
            f"{what}. The other coefficients are the limit estimates and can be used; test these with "
            'compare_lr_test, or use bias_reduction="firth".'
        )


def separation_report(model: Any, cone: Cone, decided: ndarray) -> Separation:
    """The cone in the terms of a model; `decided` are the places of the rows that it decides."""
    kind, rows = "complete" if cone.complete else "quasi-complete", model._rows.index[decided]
    return Separation(kind, *_by_name(model, cone), rows, len(rows), len(model._rows), model.endog_names)


def renamed(found: Separation, model: Any, cone: Cone) -> Separation:
    """The same separation in the terms of another model of the same response, without labels of rows if it has none."""
    directions, direction = _by_name(model, cone)
    rows = None if model._rows_ is None else found.rows
    return replace(found, directions=directions, direction=direction, rows=rows)


def _by_name(model: Any, cone: Cone) -> tuple[pd.Series, pd.Series]:
    index = model._param_index
    signs = pd.Series(cone.signs, index=index)
    directions = signs[(signs != 0).to_numpy()].map(lambda s: np.nan if np.isnan(s) else s * np.inf)
    return directions, pd.Series(cone.direction, index=index)


def as_dict(found: Separation, cone: Cone) -> dict[str, Any]:
    """What a file keeps of a separation: the cone, and of the rows their number.

    The facets of the cone come from rows of the design. Many are neither kilobytes nor no data: then the file has none,
    and what needs them is refused.
    """
    kept = {"kind": found.kind, "n_rows": found.n_rows, "n": found.n, "response": found.response}
    facets = cone.extreme if cone.extreme.size <= LARGEST else np.zeros((0, cone.basis.shape[1]))
    return kept | {"direction": cone.direction, "basis": cone.basis, "facets": facets, "signs": cone.signs}


def from_dict(stored: dict[str, Any], model: Any) -> tuple[Separation, Cone]:
    """What `as_dict` kept."""
    direction, basis, facets = (np.array(stored[name], dtype=float) for name in ("direction", "basis", "facets"))
    cone = Cone(direction, basis, facets.reshape(-1, basis.shape[1]), np.zeros(0, dtype=bool))
    cone.__dict__["signs"] = np.array(stored["signs"], dtype=float)
    kept = (stored["n_rows"], stored["n"], stored["response"])
    return Separation(stored["kind"], *_by_name(model, cone), None, *kept), cone
