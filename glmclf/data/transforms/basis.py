"""Basis functions for formulas, fixed by the training rows: poly, rbf, sigmoid, hinge, and the groups qcut and cut.

Each fixes its state from the `Values` of the training rows, in memory or over a stream
(`glmclf.data.formula.memory`); `transform`, as in patsy's protocol of stateful transforms, serves any rows. What is
remembered is numbers and text (`glmclf.data.design.codec.STATES`). `derivative` gives that of `transform`, for
`glmclf.data.derivatives.design`.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from patsy.state import stateful_transform
from scipy.special import expit

from glmclf.core.rows.summed import Summed, added_by
from glmclf.data.transforms.values import MAX_SORTED_VALUES, Steps, Values, together

MAX_BASIS_COLUMNS = 2000  # columns, or groups, that one transform makes of a column
VALUES_SHOWN = 5  # values outside the groups that an error names
POLYNOMIAL_ROWS = 8192  # rows whose polynomials stay in the cache


class Refused(ValueError):
    """Error of an argument of a transform; the formula's factor is put before its message.

    Parameters
    ----------
    message : str
    places : ndarray, optional
        Rows at fault, by position among those at hand.
    """

    def __init__(self, message: str, places: ndarray | None = None):
        super().__init__(message)
        self.places = places


class Remembers:
    """A transform whose state is fixed by the complete training rows."""

    def rows(self, x: Any, *args: Any, **kwargs: Any) -> tuple[ndarray, tuple[Any, ...], dict[str, Any]]:
        """Split the arguments of a call: numbers of the rows, (n,) or (n, columns), and settings."""
        return column(x), args, kwargs

    def remembers(self, code: str) -> bool:
        """Whether a call, by its code, has anything to remember."""
        return True

    def fix(self, x: Values, *args: Any, **kwargs: Any) -> Steps[None]:
        """Fix the state on the training rows, with those sums over them that it takes."""
        self._settings(x, *args, **kwargs)
        yield from self._fix(x, *args, **kwargs) or ()

    def _settings(self, x: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call by name, with defaults."""
        try:
            found = inspect.signature(self._fix).bind(x, *args, **kwargs)
        except TypeError as error:
            raise Refused(f"{error}.") from None
        found.apply_defaults()
        return found.arguments

    def _fix(self, x: Values, *args: Any, **kwargs: Any) -> Steps[None] | None:
        """Fix the state on the training rows, as a generator where their moments do not suffice."""
        raise NotImplementedError


class Basis(Remembers):
    """A transform that is a function of one column."""

    def transform(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The basis at other rows."""
        return self._at(column(x))

    def derivative(self, x: ndarray, left: ndarray) -> ndarray:
        """Derivative of the transform in x, (n, columns); in the rows of `left` the derivative to the left."""
        return np.zeros((len(x), 1))

    def _at(self, x: ndarray) -> Any:
        raise NotImplementedError


def column(x: Any) -> ndarray:
    """One column of numbers as float64."""
    try:
        values = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refused("needs numbers, found labels.") from None
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise Refused(f"takes one column, found an array of shape {values.shape}.")
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _whole(value: Any, name: str, least: int) -> int:
    if not _is_number(value) or not float(value).is_integer() or value < least:
        raise Refused(f"{name}={value!r}: a whole number from {least} on.")
    check_size(int(value), name)
    return int(value)


def check_size(columns: Any, name: str) -> None:
    """Refuse a basis of more columns, or groups, than can be made of a column of numbers in seconds."""
    if _is_number(columns) and columns > MAX_BASIS_COLUMNS:
        raise Refused(f"{name} asks for {columns:,} columns or groups: at most {MAX_BASIS_COLUMNS:,} are made.")


def _places(values: Any, name: str) -> ndarray:
    """Centres or knots as increasing numbers; none twice."""
    try:
        places = np.sort(np.atleast_1d(np.asarray(values, dtype=np.float64)))
    except (TypeError, ValueError):
        raise Refused(f"{name}={values!r}: a list of numbers.") from None
    check_size(len(places), name)
    if places.ndim != 1 or not len(places) or not np.isfinite(places).all():
        raise Refused(f"{name}={values!r}: a list of one or more finite numbers.")
    if (np.diff(places) == 0).any():
        raise Refused(f"{name}={values!r}: a number occurs more than once.")
    return places


def check_outside(outside: Any, allowed: Collection[str]) -> None:
    """Refuse what says nothing of values outside the range that a transform remembers."""
    if not isinstance(outside, str) or outside not in allowed:
        raise Refused(f"outside={outside!r}: one of {', '.join(map(repr, allowed))}.")


def _varies(x: Values) -> None:
    if x.low == x.high:
        raise Refused(f"the column is constant ({x.low + 0.0:g}) in the rows used: leave it out.")


def number_of(distinct: int) -> str:
    """A number of distinct values that were counted up to `MAX_SORTED_VALUES`."""
    return str(distinct) if distinct <= MAX_SORTED_VALUES else f"more than {MAX_SORTED_VALUES:,}"


# -------------------------------------------------------------------------------------------------- polynomials
class Polynomial(Basis):
    """poly(x, degree): polynomials that are orthonormal over the training rows, as R's ``poly``.

    Column j has degree j + 1 and a positive leading coefficient; on the training rows each has mean 0 and sum of
    squares 1, and no two are correlated. Evaluated by the three-term recurrence (Kennedy & Gentle 1980, Statistical
    Computing, section 8.5), about the mean in units of the largest deviation from it.

    Parameters
    ----------
    x : column of numbers
    degree : int
        Highest degree, below the number of distinct values.
    """

    def _fix(self, x: Values, degree: int = 1) -> Steps[None]:
        degree = _whole(degree, "degree", 1)
        _varies(x)
        self._centre = float(x.mean)
        self._scale = float(max(x.high - self._centre, self._centre - x.low))
        self._alpha, self._norm2 = np.zeros(degree), np.zeros(degree + 1)
        distinct, moments = yield from together(x.distinct(degree), x.sum(partial(self._moments, 0)))
        if degree >= distinct:
            raise Refused(f"the column has {distinct} distinct values, which allow a degree of {distinct - 1} at most.")
        for j in range(degree):
            self._norm2[j], self._alpha[j] = moments[0], moments[1] / moments[0]
            moments = yield from x.sum(partial(self._moments, j + 1))
        self._norm2[degree] = moments[0]

    def _moments(self, degree: int, x: ndarray, times: ndarray | None) -> ndarray:
        """Sums of z'z and u z'z of the monic polynomial z, given those of lower degree."""
        u = x - self._centre
        u /= self._scale
        z = np.concatenate([self._monic(degree, u[i : i + POLYNOMIAL_ROWS]) for i in range(0, len(u), POLYNOMIAL_ROWS)])
        weighted = z if times is None else times * z
        return np.array([weighted @ z, u @ (weighted * z)])

    def _monic(self, degree: int, u: ndarray) -> ndarray:
        last, z = np.zeros(len(u)), np.ones(len(u))
        for j in range(degree):
            ratio = self._norm2[j] / self._norm2[j - 1] if j else 1.0
            last, z = z, (u - self._alpha[j]) * z - ratio * last
        return z

    def _at(self, x: ndarray) -> ndarray:
        return self._recurrence(x)[0]

    def derivative(self, x: ndarray, left: ndarray) -> ndarray:
        """Derivatives of the polynomials, alike from both sides."""
        return self._recurrence(x)[1]

    def _recurrence(self, x: ndarray) -> tuple[ndarray, ndarray]:
        """The polynomials and their derivatives, (n, degree) each."""
        u, degree = (x - self._centre) / self._scale, len(self._alpha)
        z, dz = np.empty((len(u), degree), order="F"), np.empty((len(u), degree), order="F")
        last, dlast, here, dhere = np.zeros(len(u)), np.zeros(len(u)), np.ones(len(u)), np.zeros(len(u))
        for j in range(degree):
            shift, ratio = u - self._alpha[j], self._norm2[j] / self._norm2[j - 1] if j else 1.0
            dlast, dhere = dhere, here + shift * dhere - ratio * dlast
            last, here = here, shift * here - ratio * last
            root = np.sqrt(self._norm2[j + 1])
            z[:, j], dz[:, j] = here / root, dhere / (root * self._scale)
        return z, dz


# ------------------------------------------------------------------------------------------- bumps, steps, hinges
class Local(Basis):
    """Functions of (x - centre) / scale, one a centre, defined for any x.

    Parameters
    ----------
    x : column of numbers
    centers : list of numbers, optional
        One column each.
    df : int, optional
        That many centres at equally spaced quantiles of the training rows: 1/(df + 1), ..., df/(df + 1).
    scale : float, optional
        In units of x; default the mean distance of neighbouring centres, with one centre the standard deviation of x.
    """

    def _fix(self, x: Values, centers: Any = None, df: Any = None, scale: Any = None) -> Steps[None]:
        _varies(x)
        if (centers is None) == (df is None):
            raise Refused("give either centers=, a list of numbers, or df=, how many.")
        if centers is not None:
            if np.ndim(centers) != 1:
                raise Refused(f"centers={centers!r}: a list of numbers; for so many at quantiles write df=.")
            self._centers = _places(centers, "centers")
        else:
            df = _whole(df, "df", 1)
            self._centers = yield from x.quantiles(np.linspace(0.0, 1.0, df + 2)[1:-1])
            if (np.diff(self._centers) == 0).any():
                distinct = number_of((yield from x.distinct(MAX_SORTED_VALUES)))
                raise Refused(f"the column has too few distinct values ({distinct}) for df={df} centers.")
        self._scale = self._width(x) if scale is None else scale
        if not _is_number(self._scale) or not 0 < self._scale < np.inf:
            raise Refused(f"scale={scale!r}: a positive number.")
        self._scale = float(self._scale)

    def _width(self, x: Values) -> float:
        c = self._centers
        return float((c[-1] - c[0]) / (len(c) - 1)) if len(c) > 1 else x.std

    def _units(self, x: ndarray) -> ndarray:
        return (x[:, None] - self._centers) / self._scale


class GaussianBasis(Local):
    """rbf(x, centers= or df=, scale=): Gaussian radial basis functions, exp(-((x - centre) / scale)^2 / 2).

    See `Local` for the arguments.
    """

    def _at(self, x: ndarray) -> ndarray:
        return np.exp(-0.5 * self._units(x) ** 2)

    def derivative(self, x: ndarray, left: ndarray) -> ndarray:
        """Derivative of a Gaussian: -(x - centre) / scale^2 times the function."""
        u = self._units(x)
        return -u * np.exp(-0.5 * u * u) / self._scale


class Sigmoid(Local):
    """sigmoid(x, centers= or df=, scale=): logistic steps, 1 / (1 + exp(-(x - centre) / scale)).

    See `Local` for the arguments.
    """

    def _at(self, x: ndarray) -> ndarray:
        return expit(self._units(x))

    def derivative(self, x: ndarray, left: ndarray) -> ndarray:
        """Derivative of a sigmoid F: F (1 - F) / scale."""
        u = self._units(x)
        return expit(u) * expit(-u) / self._scale


class Hinge(Basis):
    """hinge(x, knots): broken lines, max(0, x - knot), one a knot.

    Parameters
    ----------
    x : column of numbers
    knots : number or list of numbers
        Inside the range of the training rows: with ``x + hinge(x, k)`` the slope changes at k.
    """

    def _fix(self, x: Values, knots: Any) -> None:
        self._knots = _places(knots, "knots")
        low, high = map(float, x.reach)
        outside = self._knots[(self._knots <= low) | (self._knots >= high)]
        if len(outside):
            raise Refused(
                f"the knots {outside.tolist()} are not inside the range of the rows used, {low:g} to {high:g}: the "
                "line is not broken there."
            )

    def _at(self, x: ndarray) -> ndarray:
        return np.maximum(x[:, None] - self._knots, 0.0)

    def derivative(self, x: ndarray, left: ndarray) -> ndarray:
        """Derivative of a hinge: 1 beyond the knot, 0 before it; at the knot by the side."""
        x = x[:, None]
        return np.where(left[:, None], x > self._knots, x >= self._knots).astype(np.float64)


# -------------------------------------------------------------------------------------------------------- groups
OUTSIDE_GROUPS = ("error", "extend")


class Binned(Basis):
    """Intervals of a number, as a factor whose levels are called like pandas' intervals."""

    def _set(self, edges: ndarray, right: bool, lowest: bool, outside: str) -> None:
        """Set edges and labels: edges of integers give labels of integers, and -0.0 is 0.0."""
        if outside == "extend":
            edges = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
        edges = edges + edges.dtype.type(0)
        self._edges, self._right, self._lowest = edges.astype(np.float64), bool(right), bool(lowest)
        intervals = pd.cut(np.array([np.nan]), edges, right=self._right, include_lowest=self._lowest).categories
        self._labels = [str(interval) for interval in intervals]

    def _at(self, x: ndarray) -> pd.Categorical:
        codes = self._codes(x)
        if (outside := self._in_none(x, codes)).any():
            raise self._refused(x[outside][:VALUES_SHOWN].tolist(), np.flatnonzero(outside))
        return pd.Categorical.from_codes(codes, categories=self._labels)

    def _codes(self, x: ndarray) -> ndarray:
        """The interval of each value; -1 or the number of intervals where it is in none, -1 where it is missing."""
        codes = np.searchsorted(self._edges, x, side="left" if self._right else "right") - 1
        if self._lowest:
            codes[x == self._edges[0]] = 0
        codes[np.isnan(x)] = -1
        return codes

    def _in_none(self, x: ndarray, codes: ndarray) -> ndarray:
        """Rows whose value is in no interval."""
        return ((codes < 0) | (codes >= len(self._labels))) & ~np.isnan(x)

    def _left_out(self, x: ndarray, times: ndarray | None) -> _InNone:
        return _InNone(x[self._in_none(x, self._codes(x))][:VALUES_SHOWN].tolist())

    def _refused(self, some: list[float], places: ndarray | None = None) -> Refused:
        found = ", ".join(f"{value:g}" for value in some)
        return Refused(
            f"a value is outside the intervals {self._labels[0]} to {self._labels[-1]} ({found}). Leave out such rows, "
            'or say outside="extend" in the formula: the outer groups then have no end, as by edges of -np.inf and '
            "np.inf.",
            places,
        )


@dataclass
class _InNone(Summed):
    """The first few values in no interval; + joins those of two sets of rows."""

    some: list[float] = field(metadata=added_by(lambda a, b: (a + b)[:VALUES_SHOWN]))


class Quantiles(Binned):
    """qcut(x, n): groups of equal size, by the quantiles of the training rows, as ``pandas.qcut``.

    Parameters
    ----------
    x : column of numbers
    n : int
        How many groups, no more than distinct values.
    outside : {"error", "extend"}
        What becomes of a value beyond the training rows: it is in no group, a DataError, or the outer groups have no
        end, (-inf, a] and (b, inf].
    """

    def _fix(self, x: Values, n: int, outside: str = "error") -> Steps[None]:
        check_outside(outside, OUTSIDE_GROUPS)
        n = _whole(n, "n", 2)
        _varies(x)
        distinct, edges = yield from together(x.distinct(n), x.quantiles(np.linspace(0.0, 1.0, n + 1)))
        if n > distinct:
            raise Refused(f"the column has too few distinct values ({distinct}) for {n} groups: take fewer groups.")
        if (np.diff(edges) == 0).any():
            raise Refused(
                f"two of the {n} groups have the same bounds, as too many rows share a value: take fewer groups, or "
                "cut(x, edges)."
            )
        edges[[0, -1]] = x.reach
        self._set(edges, True, True, outside)


class Intervals(Binned):
    """cut(x, edges, right=True, include_lowest=False): groups between edges, as ``pandas.cut``.

    Parameters
    ----------
    x : column of numbers
    edges : list of numbers, or int
        Increasing, so many that there are two groups or more; -np.inf and np.inf may be the outer ones. An int asks for
        that many intervals of equal width over the training rows.
    right : bool
        Whether an interval holds its right edge, (a, b], or its left one, [a, b).
    include_lowest : bool
        Whether the first interval holds its left edge.
    outside : {"error", "extend"}
        What becomes of a value outside the edges: it is in no group, a DataError, or the outer groups have no end.
    """

    def _fix(
        self, x: Values, edges: Any, right: bool = True, include_lowest: bool = False, outside: str = "error"
    ) -> Steps[None]:
        check_outside(outside, OUTSIDE_GROUPS)
        if np.ndim(edges) == 0:
            _varies(x)
            n, ends = _whole(edges, "edges", 2), np.array(x.reach)  # the width takes no more of the rows
            edges = pd.cut(ends, n, right=right, include_lowest=include_lowest, retbins=True)[1]
        edges = np.asarray(edges)
        check_size(edges.size, "edges")
        if edges.dtype.kind not in "iuf":
            raise Refused(f"edges={edges.tolist()!r}: a list of numbers.")
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise Refused(f"edges={edges.tolist()}: a list of two or more increasing numbers.")
        self._set(edges, right, include_lowest, outside)
        if len(edges) == 2:
            beyond = (yield from x.sum(self._left_out)).some
            if beyond:  # said first
                raise self._refused(beyond)
            raise Refused(f"all rows used are in one group, {self._labels[0]}: give another edge between them.")


TRANSFORMS: dict[str, Any] = {
    "poly": stateful_transform(Polynomial),
    "rbf": stateful_transform(GaussianBasis),
    "sigmoid": stateful_transform(Sigmoid),
    "hinge": stateful_transform(Hinge),
    "qcut": stateful_transform(Quantiles),
    "cut": stateful_transform(Intervals),
}
