"""Reports of separation: the infinite coefficients, their signs, and the rows that separation decides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import MAX_NAMES, first_of
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import DataWarning, escaped, warn

if TYPE_CHECKING:
    from glmclf.core.separation.cone import RecessionCone
    from glmclf.core.separation.deadline import Deadline

MAX_FACET_NUMBERS = 1000  # numbers of facets that a file stores


class DivergingParameters:
    """The infinite parameters of a cone by name; their signs are determined when they are asked for.

    Parameters
    ----------
    index : Index
        Names of all parameters.
    cone : RecessionCone
    """

    def __init__(self, index: pd.Index, cone: Any):
        self._index, self._cone = index, cone

    @cached_property
    def directions(self) -> pd.Series:
        """inf, -inf or NaN for each parameter that is infinite."""
        known = "signs" in vars(self._cone)
        return self._named(self._cone.signs, self._cone.signs != 0 if known else self._cone.moved)

    @property
    def names(self) -> pd.Index:
        """Names of the infinite parameters."""
        return self._index[self._cone.moved]

    def first(self, count: int) -> pd.Series:
        """The first `count` of `directions`, without the signs of the others."""
        if "directions" in vars(self) or "signs" in vars(self._cone):
            return self.directions.iloc[:count]
        return self._named(self._cone.first_signs(count), self._cone.moved).iloc[:count]

    def _named(self, signs: ndarray, those: ndarray) -> pd.Series:
        with np.errstate(invalid="ignore"):
            values = np.where(np.isnan(signs[those]), np.nan, signs[those] * np.inf)
        return pd.Series(values, index=self._index[those])


@under_usual_errors
@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Report of separation: a response that some combination of the regressors predicts perfectly.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
        Whether every row is predicted perfectly, or some.
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
    _diverging: DivergingParameters
    direction: pd.Series
    rows: Any
    n_rows: int
    n: int
    response: str

    @property
    def directions(self) -> pd.Series:
        """inf or -inf for each coefficient that is infinite, NaN where directions of both signs exist; by name, or by
        (level, regressor). Of hundreds of coefficients signs take a while when they are first asked for, and those that
        are not determined within the limit of 30 s are NaN, with a warning."""
        return self._diverging.directions

    @property
    def columns(self) -> list[Any]:
        """Coefficients that are infinite or undetermined."""
        return list(self._diverging.names)

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

    def __repr__(self) -> str:
        return escaped(f"{self.kind} separation of {self.response}: {self._said()}; {self.n_rows} of {self.n} rows")

    def _said(self) -> str:
        words, names = [], self._diverging.names
        for name, sign in self._diverging.first(MAX_NAMES).items():
            value = "sign undetermined" if np.isnan(sign) else "inf" if sign > 0 else "-inf"
            words.append(f"{spelled(name)} ({value})")
        return first_of([*words, *names[len(words) :]])

    def message(self, how: str, pseudo: bool = False, finite: bool = True) -> str:
        """Message of the error or warning, for likelihoods and pseudo-likelihoods."""
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
        return f"{what}.{others}{self._of_base()} For tests {instead(pseudo)}."

    def _of_base(self) -> str:
        """Advice where coefficients of a factor balance an infinite intercept; "" where none does."""
        first = self._diverging.first(MAX_NAMES).items()
        signs = {name[-1] if isinstance(name, tuple) else name: sign for name, sign in first}
        own = signs.get("Intercept", 0.0)
        factors = [name.partition("[T.")[0] for name, sign in signs.items() if "[T." in name and not sign == own]
        if not own or not factors:
            return ""
        code = factors[0] if factors[0].startswith("C(") else f"C({factors[0]})"
        return (
            f" If the base level of {factors[0]} has one outcome, fewer coefficients are infinite beside another "
            f'base: {code[:-1]}, Treatment("...")).'
        )


def instead(pseudo: bool) -> str:
    """Advice in place of a Wald test of infinite coefficients."""
    if pseudo:
        return "drop the term or merge its levels: a pseudo-likelihood has no test of infinite coefficients"
    return 'use compare_lr_test, or bias_reduction="firth"'


def spelled(label: Any) -> str:
    """Spell a coefficient by name, or by level and regressor."""
    return f'"{label[1]}" of {label[0]!r}' if isinstance(label, tuple) else f'"{label}"'


def signs_of_rows(cone: RecessionCone, R: ndarray, deadline: Deadline | None = None) -> tuple[ndarray, ndarray]:
    """Signs of R d over the cone, as `RecessionCone.sign_of`, and the rows of R with an unknown sign, NaN.

    Signs are unknown where a cone was loaded without its facets, or they were not determined in time.
    """
    from glmclf.core.separation.deadline import Deadline
    from glmclf.core.separation.recoded import RecodedCone

    if isinstance(cone, RecodedCone):
        cone, R = cone.of_levels, cone.rows(R)
    if hasattr(cone, "simplicial") or hasattr(cone, "rays") or len(cone.facets) or cone.basis.shape[1] == 1:
        return cone.signs_within(R, deadline or Deadline())
    finite = np.where(np.isfinite(R).all(axis=1, keepdims=True), R, 0.0)
    unknown = (np.abs(finite @ cone.basis) > cone.still[0] * (np.abs(finite) @ np.abs(cone.basis))).any(axis=1)
    return np.where(unknown, np.nan, 0.0), unknown


def warn_of_unknown(unknown: ndarray, labels: Any, cone: RecessionCone) -> None:
    """Warn of rows whose predictions need the facets of a cone that a file does not have, or more time."""
    where = np.flatnonzero(unknown)
    if len(where):
        names = where[:MAX_NAMES] if labels is None else labels[where[:MAX_NAMES]]
        some = ", ".join(map(str, names)) + (", ..." if len(where) > MAX_NAMES else "")
        if len(cone.facets):
            why = "them is hidden by rounding, or was not determined within the limit of time: predict fewer at once."
        else:
            why = "them rests on many rows of the fit, which a file does not keep. Ask the fit, before it is saved."
        which = f"{len(where)} of {len(unknown)} rows to predict ({some}) are NaN"
        warn(f"{which}: whether infinite coefficients decide {why}", DataWarning)


def separation_report(model: Any, cone: RecessionCone, gone: Any) -> Separation:
    """Report of a recession cone in terms of a model.

    Messages name the signs of the first MAX_NAMES parameters. `gone` is the mask of the
    outcomes that are ruled out, (n, K) bool, or its stand-in for a stream.
    """
    n = len(model._rows)
    if model._rows.streamed:
        kind = "complete" if gone.complete else "quasi-complete"
        return Separation(kind, *_by_name(model, cone), None, gone.decided, n, model.endog_names)
    kind, rows = "complete" if cone.complete else "quasi-complete", model._rows.index[gone.any(axis=1)]
    return Separation(kind, *_by_name(model, cone), rows, len(rows), n, model.endog_names)


def separation_of(model: Any, found: Any) -> Separation | None:
    """Report of the separation of an estimate; None for an estimate without ruled out outcomes."""
    gone = found.ruled_out
    return None if gone is None else separation_report(model, found.cone, gone)


def renamed(found: Separation, model: Any, cone: RecessionCone) -> Separation:
    """Translate a report of separation to another model of the same response, without row labels if it has none."""
    diverging, direction = _by_name(model, cone)
    rows = None if model._rows_ is None else found.rows
    return replace(found, _diverging=diverging, direction=direction, rows=rows)


def _by_name(model: Any, cone: Any) -> tuple[DivergingParameters, pd.Series]:
    index = model._param_index
    largest = np.abs(cone.direction).max()
    return DivergingParameters(index, cone), pd.Series(cone.direction / (largest if largest > 0 else 1.0), index=index)


def as_dict(found: Separation, cone: RecessionCone) -> dict[str, Any]:
    """Convert a separation to the dict of a file: the cone, and the number of rows.

    The facets of the cone come from rows of the design. Many are neither kilobytes nor no data: then the file has none,
    and what needs them is refused. Rays, as of levels that are separated each by itself, are no rows.
    """
    from glmclf.core.separation.recoded import RecodedCone

    if isinstance(cone, RecodedCone) and hasattr(cone.of_levels, "rays"):
        return as_dict(found, cone.of_levels) | {"of_levels": True}
    kept = {"kind": found.kind, "n_rows": found.n_rows, "n": found.n, "response": found.response}
    if hasattr(cone, "rays"):
        ends = cone.rays.indptr
        return kept | {"rays": [[cone.rays.indices[a:b], cone.rays.data[a:b]] for a, b in pairwise(ends)]}
    facets = cone.extreme if cone.extreme.size <= MAX_FACET_NUMBERS else np.zeros((0, cone.basis.shape[1]))
    rounding = {"noise": cone.noise, "still": list(cone.still)}
    return kept | {"basis": cone.basis, "facets": facets, "signs": cone.signs, **rounding}


def from_dict(stored: dict[str, Any], model: Any, basis: Any) -> tuple[Separation, Any]:
    """Restore a separation from the dict of `as_dict`, of a fit in a basis, which may be None."""
    cone = _cone_of(stored, model)
    if stored.get("of_levels"):
        from glmclf.core.separation.recoded import RecodedCone

        cone = RecodedCone(cone, getattr(basis, "first", basis))
    kept = (stored["n_rows"], stored["n"], stored["response"])
    return Separation(stored["kind"], *_by_name(model, cone), None, *kept), cone


def _cone_of(stored: dict[str, Any], model: Any) -> Any:
    from glmclf.core.separation.cone import RecessionCone
    from glmclf.core.separation.simplicial import SimplicialCone, by_column

    if "rays" in stored:
        rays = [(np.array(at, dtype=np.intp), np.array(values, dtype=float)) for at, values in stored["rays"]]
        of_all = by_column(rays, len(model._param_index))
        return SimplicialCone(of_all, stored["kind"] == "complete", np.ones(len(model.exog_names)))
    basis, facets = (np.array(stored[name], dtype=float) for name in ("basis", "facets"))
    facets, noise = facets.reshape(-1, basis.shape[1]), float(stored["noise"])
    still = tuple(stored.get("still", (noise, noise)))
    cone = RecessionCone(basis, facets, np.zeros(0, dtype=bool), noise, still=still)
    cone.__dict__["signs"] = np.array(stored["signs"], dtype=float)
    return cone
