"""Features as the columns of a scipy.sparse array, for naive Bayes: blocks of counts, 0/1 features and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.naive_bayes.families import OUTSIDE, Family, MultinomialFamily, SparseBernoulli, SparsePoisson
from glmclf.core.naive_bayes.family import is_sparse
from glmclf.data.design.arrays import (
    Dropped,
    column_names,
    doubtful_columns,
    is_frame,
    rows_by_place,
    sparse_numbers,
    sparse_table,
)
from glmclf.data.design.feature_design import Feature
from glmclf.data.design.feature_terms import Term
from glmclf.data.table.frame import as_frame, close_to, quoted, row_labels
from glmclf.errors import DataError


def without_zeros(X: Any) -> Any:
    """A csr array without entries that are 0, uncopied where it has none."""
    if X.data.all():
        return X
    X = X.copy()
    X.eliminate_zeros()
    return X


@dataclass
class SparseFeatureDesign:
    """Rows of a scipy.sparse array to the values of features.

    Attributes
    ----------
    names : list of str
        Columns of the array, without the constant that was left out.
    runs : list of (str, list of int)
        Families in the order of the features, with the columns of each: of a "multinomial" one feature, of the others a
        feature a column.
    endog_name : str
        Name of the response.
    missing : str
        As the rows of the fit were read.
    dropped : Dropped or None
        The constant column that was left out.
    fixed : list of [int, float]
        Columns that are left out, as all rows have the same 0 or 1, and this value.
    """

    names: list[str]
    runs: list[tuple[str, list[int]]]
    endog_name: str
    missing: str = "skip"
    dropped: Dropped | None = None
    fixed: list[list[Any]] = field(default_factory=list)
    formula: None = None

    k_constant = 1

    def to_record(self) -> dict[str, Any]:
        """The design as plain Python objects."""
        return {
            "kind": "sparse features",
            "names": list(self.names),
            "runs": [[family, list(columns)] for family, columns in self.runs],
            "endog_name": self.endog_name,
            "missing": self.missing,
            "dropped": None if self.dropped is None else list(self.dropped),
            "fixed": [list(pair) for pair in self.fixed],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], borrowed: Mapping[str, Any], *, safe: bool) -> SparseFeatureDesign:
        """The design of which `to_record` gave the record; it borrows nothing."""
        runs = [(family, [int(j) for j in columns]) for family, columns in record["runs"]]
        places = [j for _, columns in runs for j in columns]
        if len(set(places)) < len(places) or not set(places) <= set(range(len(record["names"]))):
            raise DataError("the stored design has features that are no columns, or one twice.")
        rest = (record["endog_name"], record["missing"], Dropped.of_record(record), record["fixed"])
        return cls(record["names"], runs, *rest)

    @cached_property
    def features(self) -> list[Feature]:
        """The features: name, family, levels and columns of each."""
        out: list[Feature] = []
        for family, columns in self.runs:
            names = tuple(self.names[j] for j in columns)
            if family == "multinomial":
                term = Term(names, names, True).name
                out.append(Feature(term, term, family, names, names, names, names, (), 0, names))
            else:
                out += [Feature(x, x, family, (x,), (x,), (x,), None, (), 0, (x,)) for x in names]
        return out

    @property
    def families(self) -> list[Family]:
        """Family of each run."""
        makers: dict[str, Any] = {
            "multinomial": MultinomialFamily,
            "bernoulli": SparseBernoulli,
            "poisson": SparsePoisson,
        }
        return [makers[family](len(columns)) for family, columns in self.runs]

    @cached_property
    def xnames(self) -> list[str]:
        """Columns of the implied logit: Intercept, then the statistic of each column."""
        return ["Intercept", *(self.names[j] for _, columns in self.runs for j in columns)]

    @cached_property
    def terms(self) -> dict[str, slice]:
        """Places in `xnames` of each term."""
        places, start = {"Intercept": slice(0, 1)}, 1
        for feature in self.features:
            places[feature.term] = slice(start, start + feature.width)
            start += feature.width
        return places

    @property
    def variables(self) -> list[str]:
        """Names of the columns, which are the variables."""
        return list(self.names)

    def values(self, newdata: Any, unknown: str = "raise") -> list[Any]:
        """The features of other rows: csr arrays, one a run.

        Parameters
        ----------
        newdata : scipy.sparse array, array, or table with these columns
        unknown : str
            No feature has levels.

        Raises
        ------
        DataError
            Another number of columns, values that a family cannot have, missing values.
        """
        X = self._rows(newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(X.shape[0])
        for j, column in list(doubtful_columns(X).items())[:1]:
            odd = ~np.isfinite(column)
            raise DataError(
                f'"{self.names[j]}" of the new data is missing or infinite ({row_labels(odd, index)}), which sparse '
                "features cannot be: leave such rows out."
            )
        self._check_fixed(X, index)
        return self.split(X, index)

    def _check_fixed(self, X: Any, index: pd.Index) -> None:
        """Refuse another value than the one that a column left out had in all rows of the fit."""
        part = X[:, [j for j, _ in self.fixed]]
        value = np.array([v for _, v in self.fixed])
        entries = np.bincount(part.indices, minlength=len(value))
        other = np.bincount(part.indices[part.data != 1], minlength=len(value))
        for i in np.flatnonzero(np.where(value > 0, (entries < X.shape[0]) | (other > 0), entries > 0))[:1].tolist():
            name, rows = self.names[self.fixed[i][0]], part[:, [i]].toarray()[:, 0] != value[i]
            raise DataError(
                f'"{name}" is not {value[i]:g} in {int(rows.sum())} rows ({row_labels(rows, index)}), as it was in all '
                f'rows of the fit, which left it out: fit with families={{"{name}": "bernoulli"}}.'
            )

    def split(self, X: Any, index: pd.Index) -> list[Any]:
        """The columns of each run, checked."""
        whole = list(range(len(self.names)))
        parts = [X if columns == whole else X[:, columns] for _, columns in self.runs]
        for (_, columns), family, values in zip(self.runs, self.families, parts, strict=True):
            for rows, reason in family.violations(values)[:1]:
                self._refuse(values, family, columns, rows, reason, index)
        return parts

    def _refuse(
        self, X: Any, family: Family, columns: Sequence[int], rows: ndarray, reason: str, index: pd.Index
    ) -> None:
        """Error of values that a family cannot have, of the first column that has some."""
        some = X[rows].tocsc()
        for j in np.unique(X[rows].indices).tolist():
            found = some[:, [j]].toarray()[:, 0]
            bad = OUTSIDE[reason](found)
            if bad.any():
                mask = np.zeros(X.shape[0], dtype=bool)
                mask[rows[bad]] = True
                raise DataError(
                    f'"{self.names[columns[j]]}" is {family.name}, but has {reason} in {int(bad.sum())} of '
                    f"{X.shape[0]} rows ({row_labels(mask, index)}): {quoted(np.unique(found[bad]).tolist(), 4)}. Mend "
                    "these values, or choose another family with families=."
                )

    def _rows(self, newdata: Any) -> Any:
        """New rows as a csr array with the columns of the fit."""
        k = len(self.names)
        table = sparse_table(newdata)
        if table is not None and not set(self.names) - set(table[1]):
            place = {name: j for j, name in enumerate(table[1])}
            X = table[0][:, [place[name] for name in self.names]]
            X.sort_indices()
            return without_zeros(X)
        if is_sparse(newdata):
            X = sparse_numbers(newdata, "the new data")
            if self.dropped is not None and X.shape[1] == k + 1:
                there = X[:, [self.dropped.place]].toarray()
                if not (there == self.dropped.value).all():
                    raise DataError(
                        f'"{self.dropped.name}" of the new data is not {self.dropped.value:g} throughout, as it was.'
                    )
                X = X[:, [j for j in range(k + 1) if j != self.dropped.place]]
            if X.shape[1] != k:
                raise DataError(f"the new data have shape {X.shape}; the model has {k} columns ({quoted(self.names)}).")
            return without_zeros(X)
        from scipy.sparse import csr_array

        if isinstance(newdata, Mapping) or is_frame(newdata):
            frame = as_frame(newdata, scalars=True)
            names = column_names(frame)
            absent = [name for name in self.names if name not in set(names)]
            if absent:
                raise DataError(f'no column "{absent[0]}" in the new data. {close_to(absent[0], names)}')
            return csr_array(frame.set_axis(names, axis=1)[self.names].to_numpy(dtype=float))
        return csr_array(rows_by_place(newdata, self.names, self.dropped).astype(float))
