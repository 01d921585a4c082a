"""The parameters of a model and those of a fit: one affine change, composed as a fit goes along, undone in one place.

theta = T phi + c. Rows of T for columns that are combinations of others and were left out are 0, which gives every
combination that is estimable its value; the other rows are the inverse of a triangular basis, if an ill-conditioned
design needs one; -c is the shift of the parameters by what was taken out of a large offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.basis import DesignBasis
from glmclf.core.design.centring import LevelCentring
from glmclf.core.design.product import rotated, triangular_inverse
from glmclf.core.design.recoding import LevelRecoding
from glmclf.core.numerics.arrow import SymmetricMatrix
from glmclf.core.numerics.double_double import product

Omitted = Mapping[int, Mapping[int, float]]  # column left out -> {column kept: coefficient}


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Map from the parameters of the columns that are left, with the offset centred, to those of all columns.

    The basis is that of an estimate: see `from_basis`.

    Attributes
    ----------
    k, q : int
        Columns of the design, and equations.
    omitted : mapping of int to dict
        Columns that were left out, and what they equal.
    given_shift : ndarray, optional
        What centring the offset adds to the parameters of the columns that are left, in the coordinates of X.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.core.fit.coordinates import Coordinates
    >>> coordinates = Coordinates(3, 1).without({1: {0: 2.0}}).shifted(np.array([5.0, 0.0]))
    >>> coordinates.spread(np.array([7.0, 1.0]) - coordinates.shift)
    array([2., 0., 1.])
    """

    k: int
    q: int
    omitted: Omitted = field(default_factory=dict)
    given_shift: ndarray | None = None

    # -------------------------------------------------------------------------------------------------- composing
    def without(self, combinations: Omitted) -> Coordinates:
        """Coordinates without more columns, combinations that were found among those that are left, by their place."""
        new = self.in_all_columns(combinations)
        out: dict[int, dict[int, float]] = {}
        for j, terms in {**self.omitted, **new}.items():
            out[j] = {}
            for i, v in terms.items():
                for last, share in new.get(i, {i: 1.0}).items():
                    out[j][last] = out[j].get(last, 0.0) + v * share
        return Coordinates(self.k, self.q, dict(sorted(out.items())))

    def in_all_columns(self, combinations: Omitted) -> dict[int, dict[int, float]]:
        """Combinations that were found among the columns that are left, by their place, as such of all columns."""
        at = self.columns
        new = {int(at[j]): {int(at[i]): v for i, v in terms.items()} for j, terms in combinations.items()}
        return dict(sorted(new.items()))

    def shifted(self, shift: ndarray) -> Coordinates:
        """Coordinates with a centred offset, whose parameters are larger by `shift`."""
        return Coordinates(self.k, self.q, self.omitted, shift)

    # ------------------------------------------------------------------------------------------- columns and places
    @cached_property
    def columns(self) -> ndarray:
        """Columns that are left, ascending."""
        every = np.arange(self.k)
        return np.delete(every, list(self.omitted)) if self.omitted else every

    @cached_property
    def places(self) -> ndarray:
        """Places of their parameters in all equations."""
        return self.places_of(self.q)

    def places_of(self, m: int) -> ndarray:
        """Places of the coefficients of the columns that are left, of m vectors of coefficients one after another."""
        if not self.omitted:
            return np.arange(m * self.k)
        return (np.arange(m)[:, None] * self.k + self.columns).ravel()

    @property
    def size(self) -> int:
        """Number of parameters, those of columns left out counted."""
        return self.k * self.q

    # ---------------------------------------------------------------------------------------------------- the map
    @cached_property
    def shift(self) -> ndarray:
        """Shift that centring the offset adds to the parameters of the columns that are left, in
        the coordinates of X."""
        return np.zeros(len(self.places)) if self.given_shift is None else self.given_shift

    def moved(self, basis: Any) -> ndarray:
        """Shift that centring the offset adds to all parameters, in the coordinates of a basis of the columns left."""
        if not self.shift.any():
            return np.zeros(self.size)
        return self.spread(into_basis(basis, self.shift))

    def spread(self, a: ndarray) -> ndarray:
        """Rows of numbers of the parameters that are left among those of all, the others 0."""
        return placed(a, self.places, self.size)

    def wide(self, V: Any) -> Any:
        """A matrix of the parameters that are left as one of all, with zeros."""
        return wide(V, self.places, self.size)

    def narrow(self, V: Any) -> Any:
        """The matrix of the parameters that are left, of one of all."""
        if isinstance(V, SymmetricMatrix):
            return V.narrowed(np.isin(np.arange(self.size), self.places))
        return V[np.ix_(self.places, self.places)]

    def wide_basis(self, basis: Any) -> Any:
        """A basis of the columns that are left as one of all, in which the others stand for themselves."""
        return basis if basis is None or not self.omitted else _basis_at(basis, self.columns, self.k)

    def narrow_basis(self, basis: Any) -> Any:
        """The basis of the columns that are left, of one of all."""
        return basis if basis is None or not self.omitted else _basis_of(basis, self.columns)


def from_basis(basis: Any, b: ndarray) -> ndarray:
    """Product inv(basis) b, equation by equation: parameters, or one side of their covariance, in
    the coordinates of X."""
    if basis is None:
        return b
    if isinstance(basis, DesignBasis):
        return basis.back(b)
    k, T = len(basis), triangular_inverse(basis)
    parts = [product(T, b[i : i + k].reshape(k, -1)).reshape(b[i : i + k].shape) for i in range(0, len(b), k)]
    return np.concatenate(parts)


def rows_from_basis(basis: Any, R: ndarray) -> ndarray:
    """Product R inv(basis), equation by equation: combinations of parameters of X, (r, p), in those of a basis."""
    if basis is None:
        return R
    if isinstance(basis, DesignBasis):
        return basis.rows(R)
    k, T = len(basis), triangular_inverse(basis)
    return np.hstack([product(R[:, i : i + k], T) for i in range(0, R.shape[1], k)])


def covariance_from_basis(basis: Any, V: Any) -> Any:
    """Product inv(basis) V inv(basis)', equation by equation: a covariance in the coordinates of X."""
    if isinstance(basis, DesignBasis):
        return basis.covariance(V)
    return V if basis is None else from_basis(basis, from_basis(basis, V).T)


def into_basis(basis: Any, b: ndarray) -> ndarray:
    """Product basis b, equation by equation: parameters of X in the coordinates of a basis."""
    if basis is None:
        return b
    if isinstance(basis, DesignBasis):
        return basis.into(b)
    k = len(basis)
    return np.concatenate([basis @ b[i : i + k] for i in range(0, len(b), k)])


@dataclass(frozen=True, eq=False)
class ComposedBasis(DesignBasis):
    """A basis of the columns that another basis makes of X.

    Attributes
    ----------
    first : DesignBasis
    second : DesignBasis or (k, k) upper triangular ndarray
    """

    first: DesignBasis
    second: Any

    def __len__(self) -> int:
        return len(self.first)

    def into(self, b: ndarray) -> ndarray:
        """Parameters of X in the coordinates of the basis."""
        return into_basis(self.second, self.first.into(b))

    def back(self, b: ndarray) -> ndarray:
        """Parameters in the coordinates of the basis, or one side of their covariance, as those of X."""
        return self.first.back(from_basis(self.second, b))

    def rows(self, R: ndarray) -> ndarray:
        """Combinations of the parameters of X as such of those in the basis."""
        return rows_from_basis(self.second, self.first.rows(R))

    def covariance(self, V: Any) -> Any:
        """Covariance of the parameters of X from one in the coordinates of the basis."""
        return self.first.covariance(covariance_from_basis(self.second, V))

    def columns(self, X: Any, exact: bool | None = None) -> Any:
        """Columns in the basis."""
        return rotated(self.first.columns(X, exact), self.second, exact)

    def at(self, columns: ndarray, k: int) -> ComposedBasis:
        """The basis of some columns as one of all k."""
        return ComposedBasis(self.first.at(columns, k), _basis_at(self.second, columns, k))

    def of(self, columns: ndarray) -> ComposedBasis:
        """The basis of some of the columns."""
        return ComposedBasis(self.first.of(columns), _basis_of(self.second, columns))

    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of both bases, transposed, times d."""
        return self.first.into_squares(self.second.into_squares(d))

    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of both inverses times d."""
        return self.first.back_squares(self.second.back_squares(d))

    def places(self, columns: ndarray) -> ndarray:
        """Places in X of the columns that those at some places in the basis stand for."""
        return self.first.places(columns)

    def touched(self, columns: ndarray) -> ndarray:
        """Mask of the columns in the basis that may be not zero where one of some columns of X is not."""
        return self.first.touched(columns)

    @property
    def undone(self) -> Any:
        """The basis that makes columns less their means by level what they were."""
        return self.second.undone if isinstance(self.second, DesignBasis) else None

    @property
    def keeps_levels(self) -> bool:
        """Whether columns in the basis are such of levels."""
        return self.first.keeps_levels and isinstance(self.second, DesignBasis) and self.second.keeps_levels

    @property
    def logdet(self) -> float:
        """Logarithm of the absolute determinant."""
        return self.first.logdet + basis_logdet(self.second)

    def to_record(self) -> dict[str, Any]:
        """The basis as numbers for a file."""
        return {"first": self.first.to_record(), "second": record_of_basis(self.second)}


def _basis_at(basis: Any, columns: ndarray, k: int) -> Any:
    if isinstance(basis, DesignBasis):
        return basis.at(columns, k)
    out = np.eye(k)
    out[np.ix_(columns, columns)] = basis
    return out


def _basis_of(basis: Any, columns: ndarray) -> Any:
    return basis.of(columns) if isinstance(basis, DesignBasis) else basis[np.ix_(columns, columns)]


def composed(first: Any, second: Any) -> Any:
    """The basis of a basis; either may be None."""
    return second if first is None else first if second is None else ComposedBasis(first, second)


def basis_logdet(basis: Any) -> float:
    """Logarithm of the absolute determinant of a basis, which may be None."""
    if basis is None:
        return 0.0
    return basis.logdet if isinstance(basis, DesignBasis) else float(np.log(np.abs(np.diag(basis))).sum())


def record_of_basis(basis: Any) -> Any:
    """A basis for a file: an array as it is."""
    return basis.to_record() if isinstance(basis, DesignBasis) else basis


def basis_of_record(stored: Any) -> Any:
    """The basis that a file holds."""
    if not isinstance(stored, Mapping):
        return None if stored is None else np.asarray(stored, dtype=float)
    if "first" in stored:
        return ComposedBasis(basis_of_record(stored["first"]), basis_of_record(stored["second"]))
    return (LevelRecoding if "order" in stored else LevelCentring).of_record(stored)


def placed(a: ndarray, at: ndarray, p: int) -> ndarray:
    """Rows at some places among p, the others 0."""
    out = np.zeros((p, *a.shape[1:]))
    out[at] = a
    return out


def wide(V: Any, at: ndarray, p: int) -> Any:
    """A matrix of some parameters as one of all p, with zeros."""
    if isinstance(V, SymmetricMatrix):
        return V.embedded(at, p)
    out = np.zeros((p, p))
    out[np.ix_(at, at)] = V
    return out
