"""Digits to expect of an estimate, by name, and what a summary says of few."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from glmclf.core.design.columns import expandable
from glmclf.core.fit.aliasing import narrow
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.precision import expected_digits
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import InferenceWarning, warn
from glmclf.results.regression.separation import spelled
from glmclf.results.requires import Needs, requires

FEW, NONE = 8.0, 1.0
SHOWN = 8  # names in a warning
ZERO = 6.0  # orders of magnitude below its standard error where an estimate is 0


class Digits:
    """Results that know how many of their digits are right."""

    _digit_facts: ClassVar[tuple[str, ...]] = ("_rounded", "_digits")

    @property
    @requires(Needs.MAXIMUM)
    def digits(self: Any) -> Any:
        """Correct digits to expect of each parameter, -log10 of its relative error, from 0 to 16.

        Computed from the information, without a pass over the rows: rounding errors of the score, propagated to the
        parameters as its sampling errors are. A column of the data counts as exact; one that the formula computes, such
        as ``I(x ** 5)`` or ``x:z``, counts as rounded unless none of its entries needs the last bit of a double. An
        ill-conditioned design (`refine` of `fit`) keeps its digits unless it is large. An estimate short of the maximum
        has the digits that its distance to it leaves.

        Returns
        -------
        Series or, of several equations, DataFrame
            As `params`; NaN for coefficients that are infinite or left out, and under constraints.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> bool(res.digits.min() > 13)
        True
        """
        return self._labelled(np.maximum(np.array(self._digits, dtype=float), 0.0))

    @cached_property
    def _digits(self: Any) -> list[float]:
        model, out = self.model, np.full(len(self._theta), np.nan)
        rounded = np.array(self._rounded, dtype=bool)
        shift: Any = 0.0
        found, places, n = self._found, self._places, self._n_rows
        if self._cone is not None:
            if self._limit is None or not len(self._limit.kept):
                return out.tolist()
            found, places, n = self._limit.inner, self._limit.kept, len(self._limit.rows)
            finite = self._cone.signs[places] == 0
            part = rounded[places % len(rounded)]  # equations that keep different columns are one long equation
        else:
            found = narrow(found, len(model.exog_names), model._likelihood.n_eta)
            part, finite = rounded[self._columns], np.ones(len(places), dtype=bool)
            if model._has_offset and model._rows_ is not None:
                shift = centred(model._objective(columns=self._columns))[1]
        total = model.nobs if model._frequency else n
        repeats = max(1.0, total / n)
        values = expected_digits(found, n, unit=model._unit, repeats=repeats, rounded=part, shift=shift)
        out[places] = np.where(finite, values, np.nan)
        return out.tolist()

    @property
    def _digits_that_count(self: Any) -> ndarray:
        """The same, of an estimate that is 0 beside its standard error against that: 1e-17 +/- 0.3 needs no digit."""
        values, size = np.array(self._digits, dtype=float), np.abs(self._theta)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.log10(self._se / size)
        return values + np.where((size > 0) & (more > ZERO) & np.isfinite(more), more, 0.0)

    @property
    def _n_rows(self: Any) -> int:
        return self.model.nobs if self.model._rows_ is None else len(self.model._rows)

    @cached_property
    def _rounded(self: Any) -> list[bool]:
        """Columns that the formula computed, if an entry needs the last bit of a double."""
        computed = np.array(self.model._design.computed, dtype=bool)
        if not computed.any() or self.model._rows_ is None:
            return [False] * len(computed)
        r = self.model._rows
        blocks = r.columns() if r.streamed else Blocks(r.patterns)
        found = expandable(blocks).sum(lambda X: _last_bits(X.toarray()))
        return (computed & (found > 0)).tolist()

    def _warn_of_no_digits(self: Any) -> None:
        """An InferenceWarning that names coefficients without a correct digit."""
        none: Any = np.flatnonzero(self._digits_that_count < NONE) if self.converged else []
        if len(none):
            names = ", ".join(spelled(self.model._param_index[j]) for j in none[:SHOWN])
            names += ", ..." if len(none) > SHOWN else ""
            warn(
                f"the columns are so close to a combination of each other that the rounding of their numbers decides "
                f"the coefficients of {names}: no digit of these is right. Leave columns out, or give them in full "
                "precision, from an origin and in units that suit them.",
                InferenceWarning,
            )

    def _digit_notes(self: Any) -> list[str]:
        """A line under the summary where few digits are right."""
        values = self._digits_that_count
        if self.mle_retvals.get("remaining_error") is not None or np.isnan(values).all() or not self.converged:
            return []
        least = int(np.nanargmin(values))
        if values[least] >= FEW:
            return []
        name = spelled(self.model._param_index[least])
        advice = "" if any(self._rounded) or self._exact else " fit(refine=True) gives more."
        return [f"The design is ill-conditioned: about {values[least]:.0f} digits of {name} are right.{advice}"]


def _last_bits(A: ndarray) -> ndarray:
    """How many entries of each column use the last bit of a double."""
    return (np.ascontiguousarray(A, dtype=np.float64).view(np.int64) & 1).sum(axis=0)
