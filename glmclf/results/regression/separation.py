"""What separation says of a model: which coefficients are infinite, in which direction, and which rows decide it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.errors import DataWarning, warn

if TYPE_CHECKING:
    from glmclf.core.separation.cone import RecessionCone

SHOWN = 8
LARGEST = 1000  # numbers of facets that a file keeps


@dataclass(frozen=True, eq=False)
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
        One direction along which the likelihood never falls and that decides all rows that can be decided, with a
        largest entry of one: a certificate to check. There may be others, and two equal separations (``==``) may differ
        in it.
    rows : Index or None
        Labels of the rows that it decides; of several classes, of those in which it rules an outcome out. None where
        the rows are gone, or in a stream.
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Separation):
            return NotImplemented
        rows = [None if s.rows is None else list(s.rows) for s in (self, other)]
        return self._facts == other._facts and rows[0] == rows[1] and self.directions.equals(other.directions)

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[Any, ...]:
        return (self.kind, self.response, self.n_rows, self.n, *self.columns)

    def __str__(self) -> str:
        return f"{self.kind} separation of {self.response}: {self._said()}; {self.n_rows} of {self.n} rows"

    def _said(self) -> str:
        words = []
        for name, sign in self.directions.items():
            value = "sign undetermined" if np.isnan(sign) else "inf" if sign > 0 else "-inf"
            words.append(f"{spelled(name)} ({value})")
        more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
        return ", ".join(words[:SHOWN]) + more

    def message(self, how: str, pseudo: bool = False, finite: bool = True) -> str:
        """The error's or the warning's words; of a pseudo-likelihood, and where some coefficients are finite."""
        rows = [] if self.rows is None else self.rows
        some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        several = isinstance(self.direction.index, pd.MultiIndex)
        foreseen = "have outcomes that are ruled out" if several else "are predicted perfectly"
        what = (
            f"the maximum likelihood estimate of {self._said()} is infinite ({self.kind} separation of "
            f"{self.response}: {self.n_rows} of {self.n} rows {foreseen}{', such as ' if some else ''}{some})"
        )
        if how == "stream":
            firth = "drop" if pseudo else 'use bias_reduction="firth", drop'
            none = "Its limits rest on more rows than are kept of data in a stream"
            what = what.replace("sign undetermined", "sign not found out")
            return f"{what}. {none}: {firth} the term, merge its levels, or fit a sample in memory."
        if how == "raise":
            firth = "Drop" if pseudo else 'Use bias_reduction="firth", drop'
            return f'{what}. {firth} the term, merge its levels, or take the limit estimates with separation="warn".'
        others = " The other coefficients are the limit estimates and can be used." if finite else ""
        return f"{what}.{others} For tests {instead(pseudo)}."


def instead(pseudo: bool) -> str:
    """What there is in place of a Wald test of infinite coefficients."""
    if pseudo:
        return "drop the term or merge its levels: a pseudo-likelihood has no other test of them"
    return 'use compare_lr_test, or bias_reduction="firth"'


def spelled(label: Any) -> str:
    """A coefficient by name, or by level and regressor."""
    return f'"{label[1]}" of {label[0]!r}' if isinstance(label, tuple) else f'"{label}"'


def signs_of_rows(cone: RecessionCone, R: ndarray) -> tuple[ndarray, ndarray]:
    """Signs of R d over the cone as `RecessionCone.sign_of`, and rows of R of which a cone that was loaded without its
    facets cannot say: NaN."""
    unknown = np.zeros(len(R), dtype=bool)
    if len(cone.facets) or cone.basis.shape[1] == 1:
        return cone.sign_of(R), unknown
    finite = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
    unknown = (np.abs(finite @ cone.basis) > cone.noise * (np.abs(finite) @ np.abs(cone.basis))).any(axis=1)
    return np.where(unknown, np.nan, 0.0), unknown


def warn_of_unknown(unknown: ndarray, labels: Any) -> None:
    """A DataWarning that names rows whose predictions need the facets of a cone that a file did not keep."""
    where = np.flatnonzero(unknown)
    if len(where):
        names = where[:SHOWN] if labels is None else labels[where[:SHOWN]]
        some = ", ".join(map(str, names)) + (", ..." if len(where) > SHOWN else "")
        warn(
            f"{len(where)} of {len(unknown)} rows to predict ({some}) are NaN: whether infinite coefficients decide "
            "them rests on many rows of the fit, which a file does not keep. Ask the fit itself, before it is saved.",
            DataWarning,
        )


def separation_report(model: Any, cone: RecessionCone, signs: ndarray, gone: Any) -> Separation:
    """The cone in the terms of a model; `signs` are those of its parameters, of which its words show the first SHOWN;
    `gone` are the outcomes of its rows that it rules out, (n, K) bool, or what stands for those of a stream."""
    n = len(model._rows)
    if model._rows.streamed:
        kind = "complete" if gone.complete else "quasi-complete"
        return Separation(kind, *_by_name(model, cone, signs), None, gone.decided, n, model.endog_names)
    kind, rows = "complete" if cone.complete else "quasi-complete", model._rows.index[gone.any(axis=1)]
    return Separation(kind, *_by_name(model, cone, signs), rows, len(rows), n, model.endog_names)


def separation_of(model: Any, found: Any) -> Separation | None:
    """The separation of an estimate that knows which outcomes are ruled out; None of others."""
    gone = found.ruled_out
    return None if gone is None else separation_report(model, found.cone, found.cone.signs, gone)


def renamed(found: Separation, model: Any, cone: RecessionCone) -> Separation:
    """The same separation in the terms of another model of the same response, without labels of rows if it has none."""
    directions, direction = _by_name(model, cone, cone.signs)
    rows = None if model._rows_ is None else found.rows
    return replace(found, directions=directions, direction=direction, rows=rows)


def _by_name(model: Any, cone: RecessionCone, signs: Any) -> tuple[pd.Series, pd.Series]:
    index = model._param_index
    signs = pd.Series(signs, index=index)
    directions = signs[(signs != 0).to_numpy()].map(lambda s: np.nan if np.isnan(s) else s * np.inf)
    largest = np.abs(cone.direction).max()
    return directions, pd.Series(cone.direction / (largest if largest > 0 else 1.0), index=index)


def as_dict(found: Separation, cone: RecessionCone) -> dict[str, Any]:
    """What a file keeps of a separation: the cone, and of the rows their number.

    The facets of the cone come from rows of the design. Many are neither kilobytes nor no data: then the file has none,
    and what needs them is refused.
    """
    kept = {"kind": found.kind, "n_rows": found.n_rows, "n": found.n, "response": found.response}
    facets = cone.extreme if cone.extreme.size <= LARGEST else np.zeros((0, cone.basis.shape[1]))
    return kept | {"basis": cone.basis, "facets": facets, "signs": cone.signs, "noise": cone.noise}


def from_dict(stored: dict[str, Any], model: Any) -> tuple[Separation, RecessionCone]:
    """What `as_dict` kept."""
    from glmclf.core.separation.cone import RecessionCone

    basis, facets = (np.array(stored[name], dtype=float) for name in ("basis", "facets"))
    cone = RecessionCone(basis, facets.reshape(-1, basis.shape[1]), np.zeros(0, dtype=bool), float(stored["noise"]))
    cone.__dict__["signs"] = np.array(stored["signs"], dtype=float)
    kept = (stored["n_rows"], stored["n"], stored["response"])
    return Separation(stored["kind"], *_by_name(model, cone, cone.signs), None, *kept), cone
