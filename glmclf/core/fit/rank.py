"""Rank of a design, and the basis in which an ill-conditioned one is well-conditioned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy.linalg import solve_triangular

from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.columns import expandable
from glmclf.core.design.recoding import RecodedColumns
from glmclf.core.numerics.triangular import qr_factor
from glmclf.core.rows.blocks import Blocks

MAX_ROUNDINGS = 8  # roundings (times k) of others' span within which a column is dependent
MIN_REST_OF_CANCELLED = 1e-11  # rest from which only large terms that cancel count, with `FEW_ROUNDINGS` of them
FEW_ROUNDINGS = 2  # roundings of large terms, or of the numbers themselves, that count as rounding
FACTORS_COMBINED = 8  # triangular factors that are combined at once
MAX_ROUNDED_REST = 1e-2  # rest above which nothing is rounding, not even of float16 numbers
BITS = {2.0**-24: 24, 2.0**-11: 11}  # significant bits of float32 and float16, by their unit of rounding
BINADES, LOWEST_BINADE = 96, -48  # powers of two whose numbers are counted apart, and the exponent of the lowest
MIN_SHARE_OF_LAST_BITS = 0.25  # share of rounded numbers that use the last bit of their format: half on average


def projected_out(Q: ndarray, x: ndarray) -> tuple[ndarray, ndarray]:
    """What orthonormal columns leave of a vector, and its coefficients on them: projected twice, so that what is left
    is orthogonal to rounding (Daniel, Gragg, Kaufman & Stewart 1976, Mathematics of Computation 30)."""
    a = Q.T @ x
    rest = x - Q @ a
    again = Q.T @ rest
    return rest - Q @ again, a + again


def triangular_factor(blocks: Blocks) -> ndarray:
    """Triangular factor R of X = Q R, (k, k) upper triangular, combined block by block, as a tree: rounding
    errors do not add up.

    X is the first of the blocks' arrays or, where they hold several Columns, all of those side by side.
    """
    columns = [i for i, a in enumerate(blocks.arrays) if hasattr(a, "block_size")]
    k = sum(blocks.arrays[i].shape[1] for i in columns)
    levels: list[list[ndarray]] = [[]]
    for block in expandable(blocks):
        levels[0].append(qr_factor(np.column_stack([block[i].toarray() for i in columns])))
        for depth, level in enumerate(levels):
            if len(level) == FACTORS_COMBINED:
                levels[depth + 1 :] = levels[depth + 1 :] or [[]]
                levels[depth + 1].append(qr_factor(*level))
                level.clear()
    R = qr_factor(*(part for level in levels for part in level))
    return np.vstack([R, np.zeros((k - len(R), k))])


def dependencies(R: ndarray, units: ndarray | None = None) -> dict[int, dict[int, float]]:
    """Columns of X that are combinations of earlier ones: dependent column -> {column: coefficient}.

    Parameters
    ----------
    R : (k, k) ndarray
        Triangular factor of X, or some of its columns in any order, (., k).
    units : (k,) ndarray, optional
        `roundings` of the columns.

    Notes
    -----
    Columns are taken from left to right, as R's `lm` does, and compared with their own length, so that units do not
    matter. The tolerance is a few roundings: a design of condition 1e13 has full rank.
    """
    m, k = R.shape
    units = np.zeros(k) if units is None else units
    length = np.linalg.norm(R, axis=0)
    S = R / np.where(length > 0, length, 1.0)
    Q, U = np.zeros((m, k), order="F"), np.zeros((k, k))  # S[:, kept] = Q U
    kept: list[int] = []
    found: dict[int, dict[int, float]] = {}
    for j in range(k):
        r = len(kept)
        rest, a = projected_out(Q[:, :r], S[:, j])
        size = float(np.linalg.norm(rest))
        b = solve_triangular(U[:r, :r], a) if size < MAX_ROUNDED_REST and r else np.zeros(r)
        # the terms of the combination are rounded, too: large terms that cancel leave a larger rest
        tolerance = _tolerance(size, np.abs(b), k, units[[*kept, j]])
        if length[j] > 0 and size > tolerance and r < m:
            Q[:, r], U[:r, r], U[r, r] = rest / size, a, size
            kept.append(j)
        else:
            terms = zip(kept, b, strict=True) if length[j] > 0 else ()
            least = max(1e-9, FEW_ROUNDINGS * units[[*kept, j]].max())
            found[j] = {i: float(v * length[j] / length[i]) for i, v in terms if abs(v) > least}
    return found


def _tolerance(size: float, b: ndarray, k: int, units: ndarray) -> float:
    """Largest rest that is rounding: of arithmetic with terms of these sizes, or of the numbers themselves."""
    terms = float(b.sum())
    arithmetic = MAX_ROUNDINGS * max(1.0, terms) if size < MIN_REST_OF_CANCELLED else FEW_ROUNDINGS * terms
    own = float(b @ units[:-1]) + units[-1]
    return max(k * np.finfo(float).eps * arithmetic, FEW_ROUNDINGS * own)


def roundings(blocks: Blocks) -> ndarray:
    """Unit of rounding of each column's numbers, (k,): 2^-24 if they were rounded to float32, 2^-11 to float16, else 0.

    Such columns are told by their numbers, whatever holds them now: all fit into the shorter format, and many use its
    last bit. On a grid, as whole ones or eighths are, exact numbers do so in one binade at most.
    """
    columns = [i for i, a in enumerate(blocks.arrays) if hasattr(a, "block_size")]
    X = blocks.few()[0] if blocks.streamed else blocks.arrays[0]
    if columns == [0] and isinstance(X, ArrowColumns | RecodedColumns):
        rows = blocks.rechunk(min(blocks.size, X.rows_of_border))
        return X.by_column(np.array([_unit(*f) for f in rows.sum(lambda X, *_: _formats(X.numbers))]))
    facts = expandable(blocks).sum(lambda *block: np.concatenate([_formats(block[i].toarray()) for i in columns]))
    return np.array([_unit(*f) for f in facts])


def _formats(X: ndarray) -> ndarray:
    """Counts of each column, by format: numbers that do not fit, and in each binade all numbers and those that
    use the last bit of the format; (k, formats, 1 + 2 BINADES). A column whose first numbers do not fit is not
    looked at further."""
    out = np.zeros((X.shape[1], len(BITS), 1 + 2 * BINADES))
    for j in range(X.shape[1]):
        for f, bits in enumerate(BITS.values()):
            if (_scaled(X[:64, j], bits)[0] % 1 != 0).any():
                out[j, f, 0] = 1
                continue
            whole, binade = _scaled(X[:, j], bits)
            out[j, f, 0] = (whole % 1 != 0).sum()
            there = whole != 0
            for part, which in ((0, there), (1, there & (whole % 2 == 1))):
                counts = np.bincount(binade[which], minlength=BINADES)
                out[j, f, 1 + part * BINADES : 1 + (part + 1) * BINADES] = counts
    return out


def _scaled(x: ndarray, bits: int) -> tuple[ndarray, ndarray]:
    """Numbers |x| as multiples of the last place of a format of so many bits, and the binades."""
    fraction, binade = np.frexp(np.abs(x.astype(np.float64)))
    return np.ldexp(fraction, bits), np.clip(binade - LOWEST_BINADE, 0, BINADES - 1)


def _unit(*formats: ndarray) -> float:
    """Unit of the shortest format that a column's numbers were rounded to, 0 for none."""
    found = 0.0
    for (unit, bits), (strange, *counts) in zip(BITS.items(), formats, strict=True):
        there, odd = np.array(counts[:BINADES]), np.array(counts[BINADES:])
        used = np.flatnonzero((odd >= MIN_SHARE_OF_LAST_BITS * there) & (odd > 0))
        # a grid of 2^-16 or finer is none of exact numbers
        rounded = len(used) > 1 or (bits == 24 and len(used) == 1 and used[0] + LOWEST_BINADE <= 8)
        if not strange and rounded and odd.sum() >= MIN_SHARE_OF_LAST_BITS * there.sum():
            found = unit
    return found


def independent(R: ndarray, columns: ndarray, units: Any = None) -> ndarray:
    """The columns among `columns` that are no combination of those before them, in their order."""
    found = dependencies(R[:, columns], None if units is None else np.asarray(units)[columns])
    return columns[[i for i in range(len(columns)) if i not in found]].astype(np.intp)
