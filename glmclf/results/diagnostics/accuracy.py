"""Accuracy of estimates: correct digits of each parameter, and warnings where they are few."""

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

MIN_DIGITS, NO_DIGITS = 8.0, 1.0  # correct digits below which the summary has a note, and a warning is given
MAX_NAMES = 8  # names in a warning
NEGLIGIBLE = 6.0  # orders of magnitude below its standard error, from which an estimate counts as 0


class Digits:
    """Mixin of results with the number of correct digits of each parameter."""

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
            part = rounded[places % len(rounded)]  # equations with different columns are treated as one long equation
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
        """Correct digits of each parameter, relative to its standard error where that is far larger."""
        values, size = np.array(self._digits, dtype=float), np.abs(self._theta)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.log10(self._se / size)
        return values + np.where((size > 0) & (more > NEGLIGIBLE) & np.isfinite(more), more, 0.0)

    @property
    def _n_rows(self: Any) -> int:
        return self.model.nobs if self.model._rows_ is None else len(self.model._rows)

    @cached_property
    def _rounded(self: Any) -> list[bool]:
        """Mask of the columns that the formula computes and that have an entry with the last bit of a double."""
        computed = np.array(self.model._design.computed, dtype=bool)
        if not computed.any() or self.model._rows_ is None:
            return [False] * len(computed)
        r = self.model._rows
        blocks = r.columns() if r.streamed else Blocks(r.patterns)
        found = expandable(blocks).sum(lambda X: _last_bits(X.toarray()))
        return (computed & (found > 0)).tolist()

    def _warn_of_no_digits(self: Any) -> None:
        """Warn of coefficients without a correct digit."""
        none: Any = np.flatnonzero(self._digits_that_count < NO_DIGITS) if self.converged else []
        if len(none):
            names = ", ".join(spelled(self.model._param_index[j]) for j in none[:MAX_NAMES])
            names += ", ..." if len(none) > MAX_NAMES else ""
            warn(
                f"the columns are so close to a combination of each other that the rounding of their numbers decides "
                f"the coefficients of {names}: no digit of these is right. Leave columns out, or give them in full "
                "precision, from an origin and in units that suit them.",
                InferenceWarning,
            )

    def _digit_notes(self: Any) -> list[str]:
        """Note of the summary where few digits are correct."""
        values = self._digits_that_count
        if self.mle_retvals.get("remaining_error") is not None or np.isnan(values).all() or not self.converged:
            return []
        least = int(np.nanargmin(values))
        if values[least] >= MIN_DIGITS:
            return []
        name = spelled(self.model._param_index[least])
        advice = "" if any(self._rounded) or self._exact else " fit(refine=True) gives more."
        return [f"The design is ill-conditioned: about {values[least]:.0f} digits of {name} are right.{advice}"]


def _last_bits(A: ndarray) -> ndarray:
    """Number of entries of each column that use the last bit of a double."""
    return (np.ascontiguousarray(A, dtype=np.float64).view(np.int64) & 1).sum(axis=0)
