"""Base class of all models: the rows of a table that a model uses, their names and facts."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.caching import cached_property
from glmclf.checks import check_truth
from glmclf.core.design.dense import Dense
from glmclf.core.design.pieces import from_pieces
from glmclf.core.design.sparse import Sparse
from glmclf.core.rows.asked import named
from glmclf.core.rows.streamed import RowsElsewhereError, rows_removed
from glmclf.data.design.arrays import is_sparse
from glmclf.data.formula.borrowed import rows_in
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.reading.open_source import as_source
from glmclf.data.response.response import packed
from glmclf.data.source.base import Source
from glmclf.data.table.frame import assigned, labels, read_column
from glmclf.data.table.groups import Groups, label
from glmclf.data.table.rows import ReadTable
from glmclf.errors import DataError, FormulaError, InferenceWarning, escaped, warn
from glmclf.inference.covariance.types import COVARIANCES, MODEL_BASED, REFITS, check
from glmclf.inference.covariance.wording import enumerated, for_generative, names
from glmclf.models.cov_keywords import Keywords, read_keywords
from glmclf.models.rows import FitRowsInMemory, FitRowsInParts
from glmclf.models.stream import Stream

if TYPE_CHECKING:
    from glmclf.data.reading.read import ReadParts
    from glmclf.data.reading.relearn import Learner


DOTS = re.compile(r"""("[^"]*"|'[^']*'|(?<![\w.)\]])\.(?![\w.]))""")  # texts in quotes, and dots by themselves
MAX_SAID = 100  # characters of a formula that a model prints


def _said_in_full(formula: str, old: str) -> str:
    """A formula with the sides of an old one in place of its dots, as R's update: ". ~ . - x"."""
    if not isinstance(formula, str):
        raise TypeError(f'refit({formula!r}): a formula, as "y ~ x" or ". ~ . - x", which takes x out')
    left, tilde, right = formula.rpartition("~")
    before, _, after = old.partition("~")
    if not tilde:
        raise FormulaError(f'refit("{formula}"): a formula has two sides, as "y ~ x" or ". ~ . - x"')
    left = before.strip() if left.strip() in ("", ".") else left.strip()
    parts = re.split(DOTS, right)  # texts in quotes stay as they are
    if "." not in parts:
        return f"{left} ~ {right.strip()}"
    from glmclf.data.formula.parse import written_order

    terms = written_order(f"{left} ~ {''.join(f'({after.strip()})' if part == '.' else part for part in parts)}")
    kept = [term for term in terms if term != "Intercept"]
    constant = [] if kept and "Intercept" in terms else ["1" if "Intercept" in terms else "0"]
    return f"{left} ~ {' + '.join([*constant, *kept])}"


def _ranges_of(names: list[str], X: Any) -> dict[str, list[float]]:
    """Smallest and largest value by column, missing values aside; columns without a value are left out."""
    if is_sparse(X):
        low, high = X.nanmin(axis=0).toarray().ravel(), X.nanmax(axis=0).toarray().ravel()
    else:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    ends = zip(names, low.astype(float).tolist(), high.astype(float).tolist(), strict=True)
    return {name: [a, b] for name, a, b in ends if np.isfinite(a) and np.isfinite(b)}


def names_of_caller(frame: FrameType, trusted: bool) -> dict[str, Any]:
    """Names that a formula may use beside the table: all that its caller sees, none where it is not trusted."""
    return {**frame.f_globals, **frame.f_locals} if trusted else {}


class ModelData:
    """Attributes that code written for statsmodels looks for under ``model.data``.

    Attributes
    ----------
    table : DataFrame or None
        The table of the fit.
    """

    def __init__(self, design, table, xnames):
        self.design_info, self.table, self.param_names, self.xnames = design, table, list(xnames), list(xnames)

    @property
    def frame(self) -> pd.DataFrame | None:
        """The table of the fit with the formula's columns of text as categoricals, which marginaleffects asks for."""
        if self.table is None or not hasattr(self.design_info, "columns"):
            return self.table
        names = [name for name in (*self.design_info.columns, self.design_info.endog_name) if name in self.table]
        text = [name for name in names if pd.api.types.infer_dtype(self.table[name], skipna=True) == "string"]
        return self.table.astype(dict.fromkeys(text, "category")) if text else self.table

    @property
    def model_spec(self):
        """The design of a formula as patsy describes it."""
        if not hasattr(self.design_info, "subterms"):
            raise AttributeError("a model of arrays has no model_spec: there is no formula")
        from glmclf.data.formula.parse import described

        return described(self.design_info)


class Inputs:
    """A response and columns read from arrays or by a formula, before anything is fitted.

    Subclasses name their coding keywords (`event`, `reference`, ...) and build the response. A line ``{parameters}`` of
    their docstring stands for the sections of that of their base class.
    """

    _variables: ClassVar[tuple[str, ...]] = ("offset", "freq_weights", "weights")
    _coding: ClassVar[dict[str, Any]] = {}  # the class's other keywords and their defaults
    _missing: ClassVar[str] = "drop"
    _no_covariances: ClassVar[tuple[str, ...]] = ()
    _rows_: Any  # FitRows or None
    _table_columns: Sequence[Any] = ()  # of the data of the fit; none where they are gone
    _computed: Mapping[str, Any] = {}  # designs of the offset, weights and trials that code computes, by keyword
    _results_class: ClassVar[Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        about, shared = cls.__doc__, cls.__base__.__doc__ if cls.__base__ else None
        if about is not None and shared is not None:  # python -OO leaves none
            cls.__doc__ = about.replace("{parameters}", shared.split("\n", 2)[-1].strip())

    @classmethod
    def _coder(cls, coding: dict[str, Any]) -> Callable:
        """Function that codes the response: names and values of the left side -> response."""
        raise NotImplementedError

    @property
    def _pseudo(self) -> bool:
        """Whether the log-likelihood is a pseudo-likelihood, without AIC, BIC and likelihood ratio tests."""
        return not self._frequency

    # ------------------------------------------------------------------------------------------------ input
    def _from_arrays(self, endog, exog, missing, keywords: dict[str, Any]) -> None:
        self._asked: dict[str, Any] = {}
        coding, extras = self._split(keywords)
        self._start_with(self._read_arrays(endog, exog, coding, missing=missing, extras=extras), keywords)

    @classmethod
    def from_formula(
        cls,
        formula: str,
        data: Any,
        subset: Any = None,
        missing: str = "default",
        *,
        eval_env: int = 0,
        trusted: bool = True,
        storage_options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Self:
        """Create a model from a formula and a table.

        A formula and a query are code of the caller's, which may run anything that Python can: what is from outside, of
        a user of a web page or in a file of settings, is read with ``trusted=False``.

        Parameters
        ----------
        formula : str
            A patsy formula, ``"y ~ x1 + C(g)"``; counts on the left side as the class takes them. A dot stands for all
            columns but those of the left side, of weights and of an offset: ``"y ~ . - id"``. Columns whose names are
            no words of Python are quoted: ``Q("Sepal.Length")``.
        data : DataFrame, path, pyarrow Dataset, callable, dask DataFrame, polars LazyFrame or DuckDB relation
            A table: pandas, polars, pyarrow, or a mapping of columns. Or rows that are read in parts and need not fit
            in memory: the path of a Parquet file, of a folder of them (or a list of such paths), of a CSV file or of
            one of Stata; a pyarrow dataset; a function without arguments that yields tables, the same in each call; a
            Dask DataFrame; a LazyFrame of polars; a relation of DuckDB. Fits equal those in memory to rounding.
        subset : array_like of bool or str, optional
            Rows to use: a mask, or a query such as ``"age > 20"``; of data in parts a query.
        missing : str
            What to do with rows in which a variable of the model is missing: "drop", "raise" or "none"; NaiveBayes also
            "skip", its default, and "level".
        eval_env : int
            How many callers up the formula's functions and variables are looked up: 0 is the caller of this method.
        trusted : bool
            False reads the formula and a query in `subset` as `load` reads a file: they name columns, numbers, numpy's
            element-wise functions and the transforms of formulas, and anything else is refused before it is run. No
            variable of the caller's is looked up.
        storage_options : dict, optional
            Options of fsspec for `data` that is a path elsewhere, ``"s3://bucket/rows.parquet"``: keys, endpoints and
            the like. No file of `save` holds them.
        **keywords
            The keywords of the class. Those that are variables are a column's name, code of columns as in the formula
            whose value in a row is of that row alone (``offset="np.log(exposure)"``) or, beside a table, one value a
            row.

        Returns
        -------
        Model

        Raises
        ------
        DataError, FormulaError, MissingDataError
            Input that the model cannot use; the message names the column, the values and the rows, of data in parts the
            part or partition as well. A source that gives other rows when it is read again.
        NotImplementedError
            Of data in parts: a term whose value in a row depends on other rows, but for the transforms that remember
            their rows; a stateful transform of the caller's.
        ImportError
            The package that reads such data is not installed.
        TypeError
            A keyword that the class does not have.
        """
        names = names_of_caller(sys._getframe(1 + eval_env), trusted)
        data = data if storage_options is None else as_source(data, storage_options)
        return cls._from_formula(formula, data, names, subset=subset, missing=missing, trusted=trusted, **keywords)

    @classmethod
    def _from_formula(
        cls, formula, data, namespace, *, subset=None, missing="default", trusted=True, **keywords
    ) -> Self:
        check_truth("trusted", trusted)
        self = cls.__new__(cls)
        source = data if isinstance(data, Source) else as_source(data)
        coding, extras = self._split(keywords)
        options = {
            "subset": subset,
            "missing": cls._missing if missing == "default" else missing,
            "extras": extras,
            "restricted": not trusted,
        }
        self._asked = {"coding": coding, "missing": options["missing"], "trusted": trusted}
        read = self._read(formula, data if source is None else source, namespace, coding, **options)
        self._start_with(read, keywords)
        return self

    def _read(self, formula, data, namespace, coding: dict[str, Any], **options) -> Any:
        """A ReadTable of a table in memory, a ReadParts of a source."""
        from glmclf.data.reading.read import read_formula

        return read_formula(formula, data, namespace=namespace, response=self._coder(coding), **options)

    def _read_arrays(self, endog, exog, coding: dict[str, Any], **options) -> ReadTable:
        return read_arrays(endog, exog, response=self._coder(coding), **options)

    def _split(self, keywords) -> tuple[dict[str, Any], dict[str, Any]]:
        """Keywords of the class with their defaults, and the variables beside the table."""
        unknown = set(keywords) - set(self._coding) - set(self._variables)
        if unknown:
            have = ", ".join(sorted([*self._coding, *self._variables]))
            names = ", ".join(map(repr, sorted(unknown)))
            raise TypeError(f"{type(self).__name__} takes no keyword {names}; it has {have}")
        extras = {name: value for name, value in keywords.items() if name in self._variables and value is not None}
        return {**self._coding, **{n: v for n, v in keywords.items() if n in self._coding}}, extras

    def _start_with(self, read: ReadTable | ReadParts, keywords: dict[str, Any]) -> None:
        """Store the design, the response and the rows that were read, and the summary's facts about the rows."""
        self._design, self._response = read.design, read.response
        self.formula = read.design.formula
        self._frequency = "weights" not in read.extras
        self._rows_ = rows = self._in_memory(read) if isinstance(read, ReadTable) else self._in_parts(read)
        self._given_index, self._cut, self._table_columns = read.given_index, read.cut, read.names
        self._names = {name: label(keywords.get(name), name) for name in read.extras}
        self._has_offset = "offset" in read.extras
        self._offset_column = keywords["offset"] if isinstance(keywords.get("offset"), str) else None
        self._computed = read.computed
        self._facts, self._notes = read.facts, list(read.notes)
        self.data = ModelData(read.design, read.frame, read.design.xnames)
        self._weight_sum = total = rows.weight_sum
        self.nobs: int | float = len(rows) if total is None or not self._frequency else round(total)

    def _again(self, formula: str, namespace: dict[str, Any]) -> Self:
        """Model of another formula of the same rows, with offset, weights and coding of this one.

        Raises
        ------
        DataError
            A model without formula or rows.
        MissingDataError
            A row in which a variable of the new formula is missing.
        """
        if self.formula is None:
            raise DataError("refit() of a model of arrays, which has no formula: make the model of other columns")
        r, asked = self._rows, self._asked
        table = self._fit_table().copy(deep=False)
        beside: dict[str, Any] = {}
        values = {"offset": r.offset, "trials": r.trials if "trials" in self._names else None}
        values["freq_weights" if self._frequency else "weights"] = r.weights
        for name, value in values.items():
            if value is None or np.ndim(value) == 2:
                beside |= {} if value is None else {name: value}
                continue
            beside[name] = own = self._names.get(name, name)
            if name not in self._computed and own not in table.columns:
                table[own] = value
            elif name not in self._computed and not np.array_equal(np.asarray(table[own], dtype=float), value):
                beside[name] = pd.Series(value, index=table.index, name=own)
        missing = "raise" if asked["missing"] == "drop" else asked["missing"]
        formula = _said_in_full(formula, self.formula)
        return type(self)._from_formula(
            formula,
            table,
            {**namespace, **self._borrowed} if asked["trusted"] else {},
            missing=missing,
            trusted=asked["trusted"],
            **{**self._coding_for(formula), **beside},
        )

    def _coding_for(self, formula: str) -> dict[str, Any]:
        """Keywords of the class for a model of another formula."""
        return self._asked["coding"]

    @property
    def _borrowed(self) -> dict[str, Any]:
        """Variables of the caller's that the formula uses, by name."""
        return {name: value for factor in self._factors for name, value in factor.expression.borrowed.items()}

    @property
    def _factors(self) -> list[Any]:
        """Factors of the formula, and of what code computes beside it."""
        designs = (self._design, *self._computed.values())
        return [factor for design in designs for factor in getattr(design, "factors", {}).values()]

    def _in_memory(self, read: ReadTable) -> FitRowsInMemory:
        self._response = response = packed(read.response)
        offset = read.extras.get("offset")
        self._check_offset(offset)
        weights = read.extras.get("freq_weights", read.extras.get("weights"))
        positions = slice(None) if len(read) == read.n_given else read.rows
        arrays = response.y, response.trials, offset, weights
        return FitRowsInMemory(self._columns(read), *arrays, read.index, positions)

    def _in_parts(self, read: ReadParts) -> FitRowsInParts:
        rows = FitRowsInParts(Stream(read.source, read.reader, len(read)), self._summed)
        self._sums, self._ranges = rows.facts.outcomes, read.ranges  # in the passes that were made anyway
        return rows

    @property
    def _summed(self) -> Callable:
        """``f(y, trials, weights)``: sums of the response that the model asks for; it holds no rows itself."""
        raise NotImplementedError

    @cached_property
    def _sums(self) -> ndarray:
        """Sums of `_summed` over all rows."""
        return self._rows.total(self._summed)

    def _columns(self, read: ReadTable) -> Any:
        """Columns of a sample besides the response: the design or features."""
        if read.pieces is not None:
            return from_pieces(read.pieces, len(read))
        return Sparse(read.X) if is_sparse(read.X) else Dense(np.asarray(read.X))

    def _reweighted(self, weights: ndarray):
        """A copy of the model with other weights, of the rows that have one."""
        rows = np.flatnonzero(weights)
        part = replace(self._rows.take(rows), weights=weights[rows])
        other = self._copy_with(
            keep=("k_constant",),
            _response=replace(self._response, y=part.y, trials=part.trials),
            _rows_=part,
            _weight_sum=float(part.weights.sum()),
        )
        other.nobs = other._count(part.weights)
        return other

    def _learner(self) -> Learner | None:
        """Learner of what the formula remembers of the rows of the fit; None where it remembers nothing."""
        from glmclf.data.reading.relearn import Learner

        return None if self.data.table is None else Learner.of(self._design, self._fit_table())

    def _relearnt(self, learner: Learner, times: ndarray) -> Any:
        """A copy of the model whose formula remembers the rows of the fit as often as `times` says, (n,)."""
        design = learner.on(times)
        rows = replace(self._rows, X=self._columns_of(learner.rows(design)))
        return self._copy_with(
            keep=("k_constant",), _design=design, _rows_=rows, data=ModelData(design, self.data.table, design.xnames)
        )

    def _columns_of(self, made: Any) -> Any:
        """Columns of all rows from the pieces of a design."""
        return from_pieces(made, len(self._rows))

    def _copy_with(self, keep: Collection[str] = (), **changes: Any) -> Any:
        """Copy with other attributes; of cached quantities only those in `keep` are copied."""
        cached = {n for c in type(self).__mro__ for n, v in vars(c).items() if isinstance(v, cached_property)}
        other = object.__new__(type(self))
        other.__dict__ = {n: v for n, v in vars(self).items() if n not in cached.difference(keep)} | changes
        return other

    def _count(self, weights) -> int | float:
        return len(self._rows) if weights is None or not self._frequency else int(weights.sum())

    @property
    def _rows(self) -> Any:
        if self._rows_ is None:
            raise rows_removed()
        return self._rows_

    def __repr__(self) -> str:
        return escaped(f"<{type(self).__name__}: {self._said}>")

    @property
    def _said(self) -> str:
        """Formula, or response and columns, and the number of observations."""
        names = self.exog_names
        what = self.formula or f"{self.endog_names} on {len(names)} column{'s' if len(names) != 1 else ''}"
        what = what if len(what) <= MAX_SAID else f"{what[: MAX_SAID - 3]}..."
        return f"{what}, {self.nobs:,.15g} observations"

    # ------------------------------------------------------------------------------------- names of statsmodels
    @property
    def endog_names(self) -> str:
        """Name of the response."""
        return self._response.name

    @property
    def exog_names(self) -> list[str]:
        """Names of the columns of the design."""
        return self._design.xnames

    @property
    def _param_names(self) -> list[str]:
        """Names of the flat parameters, as hypotheses spell them."""
        return self.exog_names

    @property
    def _terms(self) -> dict[str, Any]:
        """Places of each term's parameters."""
        return self._design.terms

    @property
    def _param_index(self) -> pd.Index:
        """Labels of the flat parameters in tables."""
        return labels(self.exog_names)

    @property
    @named
    def endog(self) -> ndarray:
        """The response as coded, (n,): 1 for the event, successes, or a fraction."""
        return self._as_endog(self._rows.y)

    def _as_endog(self, y: ndarray) -> ndarray:
        """Response of some rows in the coding of `endog`."""
        return np.asarray(y, dtype=np.float64)

    @property
    @named
    def exog(self) -> ndarray:
        """The design, (n, k)."""
        return self._rows.X.toarray()

    @property
    @named
    def offset(self) -> ndarray | None:
        """The offset, (n,), or None."""
        return self._rows.offset

    @cached_property
    @named
    def k_constant(self) -> int:
        """1 if the columns hold or span a constant, else 0."""
        if self._design.k_constant or self.formula is None:
            return int(self._design.k_constant)
        return self._rows.spans_constant()  # columns of a formula may add up to a constant

    def _check_covariance(self, cov_type: str) -> None:
        """Refuse an unknown or unsupported covariance type; warn of one that is invalid for pseudo-likelihoods."""
        check(cov_type)
        if cov_type in self._no_covariances:
            raise NotImplementedError(
                f'cov_type="{cov_type}" is for {registry.listed(registry.REGRESSIONS)}; '
                f"{type(self).__name__} has {enumerated(names(for_generative))}"
            )
        needs_rows = COVARIANCES[cov_type].needs_rows
        if needs_rows and self._rows.streamed:
            by_row = names(lambda entry: entry.kind == "rows")
            raise RowsElsewhereError(
                f'cov_type="{cov_type}" fits the model again to resampled rows, which are in a stream: use '
                f'"{by_row[0]}" to "{by_row[-1]}", or a fit to a sample in memory'
                if cov_type in REFITS
                else f'cov_type="{cov_type}" of a fit to a stream: {needs_rows}. Use "HC1" or "cluster", or fit a '
                "sample in memory"
            )
        doubt = self._doubt(cov_type)
        if doubt:
            warn(f'cov_type="{cov_type}": {doubt} Use "HC0" or "cluster".', InferenceWarning)

    def _doubt(self, cov_type: str) -> str:
        """Reason why a covariance is not valid for the model, or ""."""
        if not self._pseudo or cov_type not in MODEL_BASED:
            return ""
        if self._frequency:
            return "The inverse information takes fractions for outcomes of trials; standard errors may be far off."
        return (
            "The inverse information takes sampling weights for numbers of observations; standard errors shrink as the "
            "unit of the weights does."
        )

    def _groups(self, groups: Any) -> Groups:
        """Clusters of the rows of the fit by some variables."""
        return self._rows.groups(groups, self.data.table, self._given_index, self._cut)

    def _cov_keywords(self, cov_type: str, cov_kwds) -> Keywords:
        """Keywords of a covariance, checked and aligned with the rows of the fit."""
        return read_keywords(self, cov_type, cov_kwds)

    # --------------------------------------------------------------------------------------- keeping and moving
    _kept: ClassVar[tuple[str, ...]] = (
        "formula",
        "nobs",
        "k_constant",
        "_frequency",
        "_names",
        "_has_offset",
        "_offset_column",
        "_weight_sum",
        "_facts",
        "_notes",
        "_ranges",
    )

    @cached_property
    def _ranges(self) -> dict[str, list[float]] | None:
        """Smallest and largest value of each numeric variable; None if loaded from a file without them."""
        r, columns = self._rows, getattr(self._design, "columns", None)
        if columns is None and isinstance(r.X, (Dense, Sparse)):
            return _ranges_of(self._design.variables, r.X.X)
        table = self._fit_table()
        names = {str(c): c for c in table.columns}
        if columns is None:
            known = [name for name in self._design.variables if pd.api.types.is_numeric_dtype(table[names[name]].dtype)]
            return _ranges_of(known, table[[names[name] for name in known]].to_numpy(dtype=float)) if known else {}
        found: dict[str, list[float]] = {}
        for name in self._design.variables:
            column = read_column(table[names[name]], name)
            if column.kind == "number":
                found |= _ranges_of([name], np.asarray(column.marked(), dtype=float)[:, None])
        return found

    def _without_rows(self):
        """Copy of the model without any array that has an entry for each row.

        Raises
        ------
        DataError
            The formula keeps a table or a long array of the caller's, which may be such.
        """
        self._check_kept()
        other = object.__new__(type(self))
        other.__dict__ = {name: getattr(self, name) for name in self._kept}
        other._design, other._response, other._rows_ = self._design, self._response.without_rows(), None
        other._computed = self._computed
        other.data = ModelData(self._design, None, self._design.xnames)
        return other

    def _check_kept(self) -> None:
        if self._rows_ is None:
            return
        for factor in self._factors:
            e = factor.expression
            for name, value in e.borrowed.items():
                found = rows_in(value, len(self._rows))
                if found:
                    raise DataError(
                        f'"{e.code}" keeps {found} of yours ("{e.pieces.get(name, name)}"), which may be rows of the '
                        "data: a fit without them is not made. Take the numbers that the term needs before "
                        "(k = table.x.mean()), or make it a column of the data"
                    )

    def _as_dict(self) -> dict[str, Any]:
        from glmclf.data.design.codec import encode
        from glmclf.data.response.codec import encode_response

        small = self._without_rows()
        kept = {name: getattr(small, name) for name in self._kept}
        found = {
            "class": type(self).__name__,
            "design": encode(self._design),
            "response": encode_response(self._response),
            "kept": kept,
        }
        if self._computed:
            found["computed"] = {name: encode(design) for name, design in self._computed.items()}
        return found

    @classmethod
    def _rebuild(cls, stored: dict[str, Any], functions):
        from glmclf.data.design.codec import decode
        from glmclf.data.response.codec import decode_response

        self = object.__new__(cls)
        kept = {"_ranges": None, "_omitted": (), "_units": (), **stored["kept"]}  # older files lack them
        self.__dict__ = {name: kept[name] for name in cls._kept}
        self._design = decode(stored["design"], functions)
        self._computed = {name: decode(design, functions) for name, design in stored.get("computed", {}).items()}
        self._response, self._rows_ = decode_response(stored["response"]), None
        self.data = ModelData(self._design, None, self._design.xnames)
        return self

    # ------------------------------------------------------------------------------------------ for the summary
    def _fit_table(self) -> pd.DataFrame:
        """The rows of the fit as a new table."""
        if self.data.table is not None:
            return self.data.table.iloc[self._rows.positions]
        r = self._rows
        table = pd.DataFrame(r.X.toarray(), index=r.index, columns=self.exog_names)
        return assigned(table, {self.endog_names: self.endog})

    def _header(self) -> list[tuple[str, str]]:
        f, names = self._facts, self._names
        facts = self._modelled()
        if "source" in f:
            facts.append(("Data:", f["source"]))
        if "freq_weights" in names:
            facts.append(("Freq. weights:", f"{names['freq_weights']} (sum {self._weight_sum:.10g})"))
        if "weights" in names:
            facts.append(("Sampling weights:", f"{names['weights']} (sum {self._weight_sum:.10g})"))
        if "trials" in names:
            facts.append(("Trials:", names["trials"]))
        if self._has_offset:
            facts.append(("Offset:", names["offset"]))
        if f["n_before"] != f["n_given"]:
            facts.append(("Subset:", f"{f['n_given']} of {f['n_before']} rows"))
        if f["n_dropped"]:
            why = ", ".join(f"{name}: {count}" for name, count in f["dropped"].items())
            facts.append(("Rows dropped:", f"{f['n_dropped']} of {f['n_given']} with missing values ({why})"))
        if f["n_absent"]:
            facts.append(("Rows absent:", f"{f['n_absent']} of weight zero"))
        return facts

    def _modelled(self) -> list[tuple[str, str]]:
        """Rows of the summary about the response, (label, text) each."""
        raise NotImplementedError

    def _check_offset(self, offset: ndarray | None) -> None:
        if offset is not None and offset.ndim == 2:
            name = type(self).__name__
            raise DataError(f"offset has shape {offset.shape}; {name} takes one value a row")

    def _summary_notes(self) -> list[str]:
        notes = list(self._notes)
        if self._pseudo:
            what = "sampling weights" if not self._frequency else "a fractional response"
            notes.append(f"The log-likelihood is a pseudo-likelihood ({what}): no AIC, BIC or likelihood ratio test.")
        return notes
