"""patsy's stateful transforms with their state fixed from `Values`: the same arguments, states and values.

patsy's own code judges the settings and serves new rows. It is shown the range of the column in place of its rows, and
the knots that it would have found in these.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray
from patsy import mgcv_cubic_splines as mgcv
from patsy.splines import BS
from patsy.state import Center, Standardize, stateful_transform
from patsy.util import wide_dtype_for

from glmclf.core.rows.asked import first_time
from glmclf.data.transforms.basis import Refused, Remembers, check_outside, check_size, column, number_of
from glmclf.data.transforms.values import Steps, Values
from glmclf.errors import DataWarning, warn

OUTSIDE_KNOTS = ("error", "extend", "clip")


class SentTransform(Remembers):
    """Transform of patsy's that may be sent to other processes, as its state is numbers."""

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))


def _two_dimensional(x: Any) -> ndarray:
    try:
        x = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refused("needs numbers, found labels.") from None
    return x[:, None] if x.ndim == 1 else x


# ------------------------------------------------------------------------------------------------ centre and scale
class Centred(SentTransform, Center):
    """patsy's `center`."""

    def rows(self, x: Any, *args: Any, **kwargs: Any) -> tuple[ndarray, tuple[Any, ...], dict[str, Any]]:
        """Split the arguments: several columns may be centred at once; patsy refuses what is no number to it."""
        wide_dtype_for(x)
        return _two_dimensional(x), args, kwargs

    def _fix(self, x: Values) -> None:
        self._sum, self._count = x.total, x.n


class Standardized(SentTransform, Standardize):
    """patsy's `standardize`."""

    def rows(self, x: Any, *args: Any, **kwargs: Any) -> tuple[ndarray, tuple[Any, ...], dict[str, Any]]:
        """Split the arguments: several columns may be standardised at once."""
        return _two_dimensional(x), args, kwargs

    def _fix(self, x: Values, center: bool = True, rescale: bool = True, ddof: int = 0) -> None:
        if rescale and (constant := x.low == x.high).any():
            raise Refused(f"the column is constant ({x.low[constant][0] + 0.0:g}) in the rows used: leave it out.")
        self.current_n, self.current_mean, self.current_M2 = x.n, x.mean, x.squares


# --------------------------------------------------------------------------------------------------------- splines
class BSpline(SentTransform, BS):
    """patsy's `bs`, with one setting more: what becomes of values beyond the outer knots.

    Parameters
    ----------
    outside : {"error", "extend", "clip"}
        A DataError; the outer polynomials continued, with a warning, as R's ``bs`` does; or the value at the outer
        knot.
    """

    def _fix(
        self,
        x: Values,
        df: Any = None,
        knots: Any = None,
        degree: Any = 3,
        include_intercept: bool = False,
        lower_bound: Any = None,
        upper_bound: Any = None,
        outside: str = "error",
    ) -> Steps[None]:
        check_outside(outside, OUTSIDE_KNOTS)
        for name, size in (("df", df), ("degree", degree), ("knots", np.size(knots) if knots is not None else 0)):
            check_size(size, name)
        inner = df - (degree + 1) + (not include_intercept) if df is not None and knots is None else 0
        if inner > 0 and inner == int(inner):
            percent = 100 * np.linspace(0, 1, int(inner) + 2)[1:-1]
            knots = yield from x.quantiles(percent / 100)
        ends = x.reach if outside == "error" else (x.low, x.high)
        self.memorize_chunk(list(ends), df, knots, degree, include_intercept, lower_bound, upper_bound)
        self.memorize_finish()
        if outside == "extend" and (np.isin(self._inner_knots, self._ends)).any():
            raise Refused(
                f"an inner knot lies on an outer one ({self._ends[0]:g} or {self._ends[1]:g}), so that no polynomial "
                'is there to be continued: give knots= inside, or outside="clip".'
            )

    @property
    def _ends(self) -> ndarray:
        """The outer knots."""
        return np.asarray(self._all_knots, dtype=np.float64)[[0, -1]]

    @property
    def _inner_knots(self) -> ndarray:
        order = int(self._degree) + 1
        return np.asarray(self._all_knots, dtype=np.float64)[order:-order]

    def beyond(self, x: ndarray) -> ndarray:
        """Values beyond the outer knots, as a mask."""
        low, high = self._ends
        return (x < low) | (x > high)

    def transform(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The basis at other rows."""
        settings = self._settings(x, *args, **kwargs)
        include_intercept, outside = settings["include_intercept"], settings["outside"]
        values = column(x)
        beyond = self.beyond(values)
        if not beyond.any():
            return super().transform(x, include_intercept=include_intercept)
        low, high = self._ends
        some = values[beyond]
        furthest = some[np.argmax(np.maximum(low - some, some - high))]
        if outside == "error":
            raise Refused(
                f"a value lies outside the range of the spline, {low:g} to {high:g} (the furthest is {furthest:g}). "
                "Leave out such rows, give wider lower_bound= and upper_bound= in the formula, or say there "
                'outside="extend" (the outer polynomials go on) or "clip" (the value at the outer knot).',
                np.flatnonzero(beyond),
            )
        basis = np.array(super().transform(np.clip(values, low, high), include_intercept=True))
        if outside == "extend":
            self._say_extended(int(beyond.sum()), len(values), furthest)
            basis[beyond] = self._continued(some)
        return basis if include_intercept else basis[:, 1:]

    def _continued(self, x: ndarray) -> ndarray:
        """The basis by the outer polynomials, beyond the outer knots, with the column that stands for an intercept."""
        from scipy.interpolate import splev

        knots, degree = np.asarray(self._all_knots, dtype=np.float64), int(self._degree)
        units = np.eye(len(knots) - degree - 1)
        return np.column_stack([splev(x, (knots, unit, degree)) for unit in units])

    def _say_extended(self, rows: int, n: int, furthest: float) -> None:
        low, high = self._ends
        if first_time(("extended", low, high)):
            warn(
                f"{rows} of {n} values lie beyond the outer knots of bs(), {low:g} and {high:g} (the furthest is "
                f"{furthest:g}): the polynomials of its ends are continued there, and soon lead far away",
                DataWarning,
            )


class Cubic(SentTransform, mgcv.CubicRegressionSpline):
    """patsy's `cr` and `cc`."""

    def _fix(
        self,
        x: Values,
        df: Any = None,
        knots: Any = None,
        lower_bound: Any = None,
        upper_bound: Any = None,
        constraints: Any = None,
    ) -> Steps[None]:
        for name, size in (("df", df), ("knots", np.size(knots) if knots is not None else 0)):
            check_size(size, name)
        low = x.low if lower_bound is None else lower_bound
        high = x.high if upper_bound is None else upper_bound
        centred = isinstance(constraints, str) and constraints == "center"
        if df is not None and knots is None:
            rows = 1 if centred else 0 if constraints is None else len(np.atleast_2d(constraints))
            knots = yield from self._inner(x, df, df - 2 + rows + self._cyclic, low, high)
        if centred and knots is not None:
            places = mgcv._get_all_sorted_knots(np.array([x.low, x.high]), None, knots, low, high)
            constraints = (yield from x.sum(partial(_column_sums, places, self._cyclic))) / x.n
        self.memorize_chunk([x.low, x.high], df, knots, low, high, constraints)
        self.memorize_finish()

    def _inner(self, x: Values, df: Any, size: Any, low: float, high: float) -> Steps[Any]:
        """The inner knots, at quantiles of the distinct values; None where patsy will refuse the settings."""
        if size < 0 or size != int(size) or low > high:
            return None
        if size == 0:
            return np.empty(0)
        knots, distinct = yield from x.distinct_quantiles(np.linspace(0, 100, int(size) + 2)[1:-1] / 100, low, high)
        if len(np.unique([low, high, *knots])) < size + 2:
            raise Refused(
                f"the column has too few distinct values ({number_of(distinct)} from {low:g} to {high:g}) for df={df}: "
                "take a smaller df."
            )
        return knots


def _column_sums(knots: ndarray, cyclic: bool, x: ndarray, times: ndarray | None) -> ndarray:
    basis = mgcv._get_free_crs_dmatrix(x, knots, cyclic=cyclic)
    return basis.sum(axis=0) if times is None else times @ basis


class Natural(Cubic, mgcv.CR):
    """patsy's `cr`."""


class Cyclic(Cubic, mgcv.CC):
    """patsy's `cc`."""


class Tensor(SentTransform, mgcv.TE):
    """patsy's `te`, which remembers the means of its columns where these are constrained to 0."""

    def remembers(self, code: str) -> bool:
        """Whether the call has constraints, which alone are remembered."""
        return "constraints" in code

    def rows(self, *args: Any, **kwargs: Any) -> tuple[ndarray, tuple[Any, ...], dict[str, Any]]:
        """Rows of the tensor product, where it is centred."""
        factors = [_two_dimensional(a) for a in args]
        if any(f.ndim != 2 for f in factors):
            raise Refused("takes columns, found an array of more than two dimensions.")
        check_size(math.prod(f.shape[1] for f in factors), "the product of its columns")
        constraints = kwargs.get("constraints")
        centred = isinstance(constraints, str) and constraints == "center"
        return mgcv._row_tensor_product(factors) if centred else np.empty((len(factors[0]), 0)), (), kwargs

    def _fix(self, x: Values, constraints: Any = None) -> None:
        if isinstance(constraints, str) and constraints == "center":
            constraints = x.mean
        self.memorize_chunk(constraints=constraints)
        self.memorize_finish()


_standardize = stateful_transform(Standardized)
PATSY_TRANSFORMS: dict[str, Any] = {
    "center": stateful_transform(Centred),
    "standardize": _standardize,
    "scale": _standardize,
    "bs": stateful_transform(BSpline),
    "cr": stateful_transform(Natural),
    "cc": stateful_transform(Cyclic),
    "te": stateful_transform(Tensor),
}
