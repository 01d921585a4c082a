"""A scipy.sparse array, or a table of pandas' sparse columns, read as features for naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glmclf.data.design.arrays import Dropped, missing_columns, sparse_table, sums_up
from glmclf.data.design.feature_terms import Families, Term, fitting
from glmclf.data.design.sparse_features import SparseFeatureDesign, without_zeros
from glmclf.data.reading.arrays import BesideArrays, check_finite, read_exog
from glmclf.data.reading.feature_reader import ALONE
from glmclf.data.reading.features import FEATURE_MISSING, block_of
from glmclf.data.table.frame import quoted, row_labels
from glmclf.data.table.rows import ReadTable, Respond, check_missing_option
from glmclf.errors import DataError

MAX_NAMED_COLUMNS = 6  # columns that a message spells out


def read_sparse_features(
    endog: Any,
    exog: Any,
    *,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    families: Mapping[str, str] | str | None = None,
    multinomial: Sequence[str] | str | None = None,
    pooled: bool = False,
    smoothed: bool = False,
) -> ReadTable:
    """Read a scipy.sparse array as features: counts and 0/1 columns, which are never written out.

    Parameters
    ----------
    endog : (n,) array-like or Series
        Response.
    exog : (n, p) scipy.sparse array, or DataFrame of pandas' sparse columns
        Features.
    missing, extras, response, families, multinomial, pooled, smoothed
        As in `glmclf.data.reading.feature_arrays.read_feature_arrays`.

    Returns
    -------
    ReadTable
        `design` is a SparseFeatureDesign, `values` csr arrays of the kept rows, one a run of columns of a family.

    Raises
    ------
    MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1, 0, 2], [0, 1, 0], [0, 1, 5]])
    >>> read = read_sparse_features([0, 1, 0], X, families={"x3": "poisson"}, response=lambda names, values: None)
    >>> [(f.name, f.family) for f in read.design.features]
    [('x1', 'bernoulli'), ('x2', 'bernoulli'), ('x3', 'poisson')]
    """
    check_missing_option(missing, FEATURE_MISSING)
    X, names, index = sparse_table(exog) or read_exog(exog, sparse=True)
    beside = BesideArrays.of(endog, X, index, "drop" if missing in ALONE else missing, extras)
    clean = sums_up(X)
    lost = {} if clean else missing_columns(X, names)
    if lost and missing in ALONE:
        name = next(iter(lost))
        raise DataError(
            f'"{name}" is missing ({row_labels(lost[name], index)}): of scipy.sparse features none may be missing '
            'where others are there; missing="drop" leaves such rows out.'
        )
    beside.rows.lose(beside.lost, lost)
    X = without_zeros(X if beside.rows.selection is None else X[beside.rows.selection])
    if not clean:
        check_finite(X, names, beside.rows)
    block = block_of(multinomial, names)
    chosen = _families(X, names, set(block), Families(families, pooled, smoothed))
    made = beside.respond(response)
    dropped, fixed = _constants(X, names, chosen)
    if dropped is not None:
        keep = np.delete(np.arange(len(names)), dropped.place)
        X, names, chosen = X[:, keep], [names[j] for j in keep], [chosen[j] for j in keep]
        fixed = {j - (j > dropped.place): value for j, value in fixed.items()}
    runs = _runs(chosen, fixed)
    if not runs:
        raise DataError("exog has no features: every column has one value in the rows used.")
    fields = " + ".join(beside.left), missing, dropped, [[j, value] for j, value in fixed.items()]
    design = SparseFeatureDesign(names, runs, *fields)
    values = design.split(X, beside.rows.index[beside.rows.keep])
    notes = [*_note(names, fixed), *getattr(made, "notes", [])]
    kept = beside.finish()
    return ReadTable(design=design, response=made, pieces=None, X=None, notes=notes, frame=None, values=values, **kept)


def _families(X: Any, names: list[str], block: set[str], asked: Families) -> list[str]:
    """Family of each column: "multinomial" of those of the block; "" of what was not asked for and is 0 or 1."""
    if len(block) == len(names):
        asked.check_names(names)
        return ["multinomial"] * len(names)
    found = [
        "multinomial" if name in block else asked.of(name, Term((name,), (name,)), (name,)) or "" for name in names
    ]
    asked.check_names(names)
    other = np.unique(X.indices[X.data != 1]).tolist()
    for j in np.flatnonzero([family not in ("multinomial", "poisson", "bernoulli", "") for family in found]).tolist():
        fitting(found[j], ("poisson", "bernoulli"), names[j], "a column of a scipy.sparse array")
    gaussian = [names[j] for j in other if not found[j]]
    if gaussian:
        raise DataError(
            f"{quoted(gaussian, MAX_NAMED_COLUMNS)} of scipy.sparse exog are not all 0 or 1, and a gaussian needs "
            'every number: say what they are by families="poisson" (or a dict by column), count them in '
            'multinomial="all" (or a list), or pass an array, exog.toarray()'
        )
    return found


def _constants(X: Any, names: list[str], families: list[str]) -> tuple[Dropped | None, dict[int, float]]:
    """The first column of one value other than 0, and the others of one value, by place; columns with a family stay."""
    free = np.array([not family for family in families])
    if not free.any():
        return None, {}
    n, entries = X.shape[0], np.bincount(X.indices, minlength=len(names))
    fixed = {int(j): float(entries[j] > 0) for j in np.flatnonzero(free & ((entries == 0) | (entries == n)))}
    first = next((j for j, value in fixed.items() if value), None)
    if first is None:
        return None, fixed
    del fixed[first]
    return Dropped(names[first], first, 1.0), fixed


def _runs(chosen: list[str], fixed: Mapping[int, float]) -> list[tuple[str, list[int]]]:
    """Runs of columns of one family, the block where its first column is."""
    families = np.array([family or "bernoulli" for family in chosen])
    block = np.flatnonzero(families == "multinomial")
    left = np.ones(len(chosen), dtype=bool)
    left[[*fixed, *block[1:]]] = False
    places = np.flatnonzero(left)
    ends = np.flatnonzero(families[places][1:] != families[places][:-1]) + 1
    runs = [(str(families[part[0]]), part.tolist()) for part in np.split(places, ends) if len(part)]
    return [(family, block.tolist() if family == "multinomial" else columns) for family, columns in runs]


def _note(names: list[str], fixed: Mapping[int, float]) -> list[str]:
    if not fixed:
        return []
    which = quoted([names[j] for j in fixed], MAX_NAMED_COLUMNS)
    plural = ("have", "they are") if len(fixed) > 1 else ("has", "it is")
    return [f"{which} {plural[0]} one value in the rows used: {plural[1]} left out"]
