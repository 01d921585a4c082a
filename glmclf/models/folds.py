"""Folds of cross-validation: observations dealt out at random class by class, or by labels of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number, is_truth, is_whole
from glmclf.errors import EstimationError
from glmclf.models.fit_options import check_seed


def dealt(model: Any, folds: Any, seed: Any) -> tuple[ndarray, list[Any]]:
    """Observations of each fold, (folds, n, K), and the names of the folds."""
    from glmclf.core.numerics.folds import deal

    units = _units(model)
    check_seed(seed)
    if is_whole(folds):
        if not 2 <= folds <= units.sum():
            raise ValueError(f"folds={folds}: at least 2, and no more than the {units.sum()} observations")
        whole = not model._frequency or units.shape[1] == 1
        order = model._response.own_order if units.shape[1] > 1 else [0]  # independent of event= and reference=
        parts = (_whole_rows if whole else deal)(units[:, order], int(folds), seed)[:, :, np.argsort(order)]
        labels: list[Any] = list(range(1, int(folds) + 1))
    else:
        if seed is not None:
            raise ValueError("seed= is for folds by number; here they are given by row")
        codes, labels = _labels_of_rows(model, folds)
        if len(labels) < 2:
            raise ValueError("folds= has one label: at least 2 folds are needed")
        parts = np.array([units * (codes == g)[:, None] for g in range(len(labels))])
    _check_classes(model, parts, labels)
    return parts, labels


def _units(model: Any) -> ndarray:
    """Numbers of single observations of each class in each row, (n, K); of fractions the rows, (n, 1)."""
    r = model._rows
    if model._response.kind == "fraction":
        return np.ones((len(r), 1), dtype=int) if r.weights is None else r.weights[:, None].astype(int)
    if model._frequency:
        return np.rint(model._cells).astype(np.int64)
    return np.rint(model._cells / r.weights[:, None]).astype(np.int64)


def _labels_of_rows(model: Any, folds) -> tuple[ndarray, list[Any]]:
    """The fold of each row of the fit as a number, and the names of the folds."""
    if is_truth(folds) or is_number(folds) or folds is None:
        raise ValueError(f"folds={folds!r}: how many, a column of the table, or a label for each row")
    table = model.data.table
    if isinstance(folds, str):
        if table is None or folds not in table.columns:
            raise ValueError(f"folds={folds!r} is no column of the model's table")
        folds = table[folds]
    values = folds if isinstance(folds, pd.Series) else pd.Series(_one_label_a_row(folds))
    codes, labels = pd.factorize(values, sort=True)
    codes = np.where(codes < 0, np.nan, codes)
    given = pd.Series(codes, index=values.index, name="folds") if isinstance(folds, pd.Series) else codes
    found = model._beside_the_rows(given, "folds").to_numpy()[:, 0].astype(int)
    used = np.unique(found)
    return np.searchsorted(used, found), [labels[g] for g in used]


def _check_classes(model: Any, parts: ndarray, labels: list[Any]) -> None:
    """Raise EstimationError where the observations outside a fold lack a class."""
    totals = parts.sum(axis=1)
    rest = totals.sum(axis=0) - totals
    names = getattr(model, "_classes", model._response.levels)
    for label, row in zip(labels, rest, strict=True):
        absent = [str(names[j]) for j in np.flatnonzero(row == 0)] if len(row) > 1 else []
        if absent or not row.sum():
            raise EstimationError(
                f"fold {label}: no observation of {', '.join(absent) or model.endog_names} is left to fit to. Use "
                "other folds, or leave a level of one observation out"
            )


def _one_label_a_row(folds) -> Any:
    """Labels of folds as an array, if they are a sequence."""
    if isinstance(folds, (pd.Index, pd.Categorical)):
        return folds
    wanted = "how many, a column of the table, or one label for each row"
    try:
        values = np.asarray(folds)
    except ValueError:  # sequences of several lengths
        raise ValueError(f"folds= holds sequences: {wanted}") from None
    if isinstance(folds, (Mapping, set, frozenset)) or not values.ndim:
        raise ValueError(f"folds={folds!r}: {wanted}")
    if values.ndim > 1:
        raise ValueError(f"folds= has shape {values.shape}: {wanted}")
    return values


def _whole_rows(units: ndarray, folds: int, seed) -> ndarray:
    """Rows dealt to folds whole, class by class where they have one class."""
    from glmclf.core.numerics.folds import deal

    labels = units.argmax(axis=1)
    rows = np.zeros((len(units), units.shape[1]), dtype=np.int64)
    rows[np.arange(len(units)), labels] = 1
    if folds > len(units):
        raise ValueError(f"folds={folds}: no more than the {len(units)} rows, which are not split")
    return deal(rows, folds, seed).sum(axis=2)[:, :, None] * units
