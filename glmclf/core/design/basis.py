"""Bases of designs of which no matrix is held: what leads from the parameters of X to those of a fit, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.numerics.arrow import check_dense


class DesignBasis(ABC):
    """A basis B of a design: parameters in it are B theta, and its columns X inv(B). It answers where an array does."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of columns k."""

    @abstractmethod
    def into(self, b: ndarray) -> ndarray:
        """Parameters of X, (p,) or (p, r) equation by equation, in the coordinates of the basis."""

    @abstractmethod
    def back(self, b: ndarray) -> ndarray:
        """Parameters in the coordinates of the basis, or one side of their covariance, as those of X."""

    @abstractmethod
    def rows(self, R: ndarray) -> ndarray:
        """Combinations (r, p) of the parameters of X as such of those in the basis."""

    @abstractmethod
    def columns(self, X: Any, exact: bool | None = None) -> Any:
        """Columns in the basis, X inv(B); rows in twofold arithmetic where they are expanded and `exact` says so."""

    @abstractmethod
    def at(self, columns: ndarray, k: int) -> Any:
        """The basis of some columns as one of all k, in which the others stand for themselves."""

    @abstractmethod
    def of(self, columns: ndarray) -> Any:
        """The basis of some of the columns."""

    @abstractmethod
    def into_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of B' times d, equation by equation."""

    @abstractmethod
    def back_squares(self, d: ndarray) -> ndarray:
        """Squares of the entries of inv(B) times d, equation by equation."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """The basis as numbers for a file."""

    @property
    @abstractmethod
    def keeps_levels(self) -> bool:
        """Whether columns in the basis are such of levels, of which none is expanded, where those of X are."""

    @property
    @abstractmethod
    def logdet(self) -> float:
        """Logarithm of the absolute determinant."""

    def covariance(self, V: Any) -> Any:
        """Covariance of the parameters of X from one in the coordinates of the basis."""
        return self.back(self.back(V).T)

    def places(self, columns: ndarray) -> ndarray:
        """Places in X of the columns that those at some places in the basis stand for."""
        return columns

    def touched(self, columns: ndarray) -> ndarray:
        """Mask of the columns in the basis that may be not zero where one of some columns of X, a mask (k,), is not."""
        return columns

    @property
    def undone(self) -> Any:
        """The basis that makes columns less their means by level what they were; None where they are no such."""
        return None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> ndarray:
        check_dense(len(self))
        return self.into(np.eye(len(self)))

    @property
    def inverse(self) -> ndarray:
        """The matrix inv(B), (k, k)."""
        check_dense(len(self))
        return self.back(np.eye(len(self)))


def led_back(b: ndarray, basis: DesignBasis, share: float) -> ndarray:
    """Numbers (p,) or (p, r) in a basis as such of the parameters of X, exactly 0 where they are at most a share of
    their terms, as rounding leaves them."""
    out = basis.back(b)
    out[np.abs(out) <= share * np.sqrt(basis.back_squares(b**2))] = 0.0
    return out


def by_equation(f: Any, k: int, b: ndarray) -> ndarray:
    """``f`` of the parameters of each equation, k each, one after the other."""
    return np.concatenate([f(b[i : i + k]) for i in range(0, len(b), k)])
