"""Singular dispersions: which features, in which classes, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

if TYPE_CHECKING:
    from glmclf.core.gaussian.moments import ClassMoments

CONSTANT_SD_SHARE = 1e-10  # sd of a feature within classes, as a share of its total sd, up to which it is constant
DEPENDENT_LENGTH_SHARE = 1e-7  # share of its residuals' length left by others, below which a feature depends on them
DEPENDENT_VARIANCE_SHARE = 1e-12  # share of variance left by others, where only sums of squares are known
ROUNDED_SHARE_OF_CONSTANT = 1e-9  # share of a combination's terms up to which its constant is their rounding


class SingularDispersion(Exception):
    """Error of a covariance matrix without inverse; it holds positions, so that the caller can name
    features and classes.

    Attributes
    ----------
    reason : {"constant within every class", "constant within a class", "collinear", "too few rows"}
    columns : tuple of int
        Features that are constant, or equal to combinations of others.
    classes : tuple of int
        Classes concerned; empty where the covariance is pooled.
    combinations : dict
        Collinear: dependent feature -> {feature: coefficient}, of features centred by class.
    rows, needed : tuple of float, int
        Too few rows: rows of each class concerned, or of all together where pooled, and how many are needed there.
    """

    def __init__(
        self,
        reason: str,
        columns: Iterable[int] = (),
        classes: Iterable[int] = (),
        *,
        combinations: dict[int, dict[int, float]] | None = None,
        rows: Iterable[float] = (),
        needed: int = 0,
    ):
        self.reason, self.columns, self.classes = reason, tuple(map(int, columns)), tuple(map(int, classes))
        self.combinations = dict(combinations or {})
        self.rows, self.needed = tuple(map(float, rows)), needed
        super().__init__(f"{reason}: columns {list(self.columns)}, classes {list(self.classes)}")

    def __reduce__(self):
        return _rebuilt, (self.reason, self.columns, self.classes, self.combinations, self.rows, self.needed)

    @property
    def combination(self) -> dict[int, float]:
        """Combination that the first dependent column equals: {feature: coefficient}."""
        return self.combinations.get(self.columns[0], {}) if self.columns else {}


def _rebuilt(reason, columns, classes, combinations, rows, needed) -> SingularDispersion:
    return SingularDispersion(reason, columns, classes, combinations=combinations, rows=rows, needed=needed)


def least_variances(squares: ndarray, n: float, means: ndarray) -> ndarray:
    """Variances within classes up to which features count as constant, (p,).

    Parameters
    ----------
    squares : (p,) ndarray
        Sums of squares about the grand mean.
    n : float
        Rows.
    means : (K, p) ndarray
        Class means: the largest values of a feature that hardly varies about them.
    """
    rounding = 8 * np.finfo(float).eps * np.abs(means).max(axis=0)
    return np.maximum(CONSTANT_SD_SHARE * np.sqrt(squares / n), rounding) ** 2


def dependent_columns(R: ndarray, least: float = DEPENDENT_LENGTH_SHARE) -> dict[int, dict[int, float]]:
    """Columns that are combinations of earlier ones, taken from left to right: column -> {column: coefficient}.

    Parameters
    ----------
    R : (m, p) ndarray
        Any factor of the scatter, R'R; no column is zero.
    least : float
        Part of a column's length that others must leave.
    """
    length = np.linalg.norm(R, axis=0)
    unit = R / length
    basis = np.zeros((len(R), 0))
    kept: list[int] = []
    found: dict[int, dict[int, float]] = {}
    for j in range(R.shape[1]):
        rest = unit[:, j] - basis @ (basis.T @ unit[:, j])
        rest -= basis @ (basis.T @ rest)  # twice, so that the basis stays orthogonal
        size = np.linalg.norm(rest)
        if size >= least:
            basis, kept = np.column_stack([basis, rest / size]), [*kept, j]
            continue
        a = np.linalg.solve(basis.T @ unit[:, kept], basis.T @ unit[:, j])
        # what is smaller than the tolerance is its noise
        found[j] = {i: float(v * length[j] / length[i]) for i, v in zip(kept, a, strict=True) if abs(v) > 10 * least}
    return found


def dependent_from_scatter(S: ndarray) -> dict[int, dict[int, float]]:
    """Columns that are combinations of earlier ones, where only the scatter S (p, p) is known: half the digits."""
    scale = np.sqrt(np.diag(S))
    values, vectors = np.linalg.eigh(S / scale / scale[:, None])
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale
    least = np.sqrt(DEPENDENT_VARIANCE_SHARE)
    while not (found := dependent_columns(root, least)):
        least *= 2  # the factorisation failed; the nearest dependence is the reason
    return found


def redundant_features(moments: ClassMoments, R: ndarray | None = None) -> dict[int, dict[int, float]]:
    """Features that equal a constant or, in all rows and not only up to a constant of the class, a combination of
    earlier ones: feature -> {feature: coefficient}, where -1 stands for the constant 1.

    Those that vary between classes alone are not among them: they tell the classes apart.

    Parameters
    ----------
    moments : ClassMoments
    R : (m, p) ndarray, optional
        Factor of the scatter within classes, R'R = W; without it only constants are looked for.
    """
    floors = least_variances(moments.total_squares, moments.n, moments.means)
    within = moments.sums_of_squares(True)[1][0] / moments.n
    alike = moments.between_squares / moments.n <= floors
    found: dict[int, dict[int, float]] = {int(j): {} for j in np.flatnonzero((within <= floors) & alike)}
    varying = np.flatnonzero(within > floors)
    if R is not None and len(varying):
        for j, terms in dependent_columns(R[:, varying]).items():
            found[int(varying[j])] = {int(varying[i]): a for i, a in terms.items()}
    apart = np.where(moments.counts[:, None] > 0, moments.apart, 0.0)
    sd = np.sqrt(moments.total_squares / moments.n)
    for j, terms in list(found.items()):
        at, a = np.array(list(terms), dtype=np.intp), np.array(list(terms.values()))
        if (np.abs(apart[:, j] - apart[:, at] @ a) > DEPENDENT_LENGTH_SHARE * sd[j]).any() and terms:
            del found[j]
            continue
        parts = moments.mean[at] * a
        rest = float(moments.mean[j] - parts.sum())
        if abs(rest) > ROUNDED_SHARE_OF_CONSTANT * (abs(moments.mean[j]) + np.abs(parts).sum() + sd[j]):
            terms[-1] = rest
    return dict(sorted(found.items()))
