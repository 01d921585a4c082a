"""The columns that a formula's terms describe, in the form that makes a pass over them cheapest."""

from __future__ import annotations

import numpy as np

from glmclf.core.design.arrow import ArrowColumns, spine
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, expand
from glmclf.core.design.recoding import RecodedColumns, recoded
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES

MIN_ROWS_FOR_CODES = 20_000  # rows below which the calls of `FactorColumns` cost more than the arithmetic of `Dense`
MAX_CELLS_OF_TERM = 20_000  # cells of one term above which a table of two terms' cells is no longer small


def from_pieces(pieces: list[SubtermColumns], n: int) -> Dense | FactorColumns:
    """The columns that `pieces` describe: where a factor has many levels as `ArrowColumns`, of any number of rows, as
    dense information would take levels times levels; else in whichever form makes a pass cheaper.

    The costs are nanoseconds a row, measured: a dense gram takes 0.1 k^2 + 6 k, a weighted count 4, a product of one
    dense column with one factor 5.
    """
    if recoded(pieces) is not None:
        return RecodedColumns(pieces, n)
    if spine(pieces) is not None:
        return ArrowColumns(pieces, n)
    k = sum(len(p.num) for p in pieces)
    coded = [piece for piece in pieces if piece.codes is not None]
    d = k - sum(len(piece.num) for piece in coded)
    m = sum(len(np.unique(piece.num)) for piece in coded)
    counted = 0.1 * d * d + 6 * d + m * (12 + 5 * d) + 2 * m * (m + 1)
    largest = max((len(piece.contrast) for piece in coded), default=0)
    dense = n < MIN_ROWS_FOR_CODES or counted > 0.1 * k * k + 6 * k or largest > MAX_CELLS_OF_TERM
    if not coded or (dense and 8 * n * k <= MAX_DENSE_BYTES):
        return Dense(expand(pieces, n))
    return FactorColumns(pieces, n)
