"""Linear predictors of rows of a table and their slopes, of regressions and of logits that generative models imply.

The classes hide which of the two a result is. A regression's design is linear in the parameters as it stands; of a
generative model the log-odds are linear in functions z of the features. *Raw* rows are those that averages of levels
are taken of: the design, the features, or the statistics of naive Bayes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design import coding
from glmclf.core.design.basis import DesignBasis
from glmclf.core.design.coding import uncoded_cells
from glmclf.core.design.columns import beside
from glmclf.core.design.dense import Dense, expanded_rows
from glmclf.core.design.factor import FactorColumns
from glmclf.core.design.product import rotated
from glmclf.core.design.recoding import RecodedColumns
from glmclf.core.fit.aliasing import violations
from glmclf.data.design.arrays import is_sparse
from glmclf.data.design.feature_design import MISSING_LEVEL
from glmclf.data.table.frame import as_frame, close_to, quoted, read_column
from glmclf.errors import DataError, DataWarning, InferenceWarning, warn
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.margins.averages import Moved
from glmclf.inference.margins.outcomes import Classes, Event
from glmclf.results.omitted import combination, empty_cell
from glmclf.results.separation import signs_of_rows

CERTAIN = (
    "rows whose outcome is certain by the limit of the estimate (separation) count with a standard error of zero, and "
    'what is of such rows alone has none (NaN): use bias_reduction="firth" for one of theirs'
)
BLOCK_NUMBERS, LEAST_ROWS = 2**20, 64  # numbers, and rows, of a block of features with their products


class LinearPredictors:
    """Base class of linear predictors of a fit, as functions of the columns of a table.

    Attributes
    ----------
    outcome : Event or Classes
    V : (p, p) ndarray, or an object of closed form that products J @ V are taken of
        Covariance of the parameters, equation by equation, in the coordinates of `rows`.
    levels : list
        Names of the outcomes in the order of the engine; empty for an event.
    """

    outcome: Event | Classes
    V: Any
    levels: list[Any]

    def __init__(self, res: Any):
        self.res, self.model, self.design = res, res.model, res.model._design
        self.said: set[str] = set()

    # ------------------------------------------------------------------------------------------------ variables
    @property
    def variables(self) -> list[str]:
        """Columns of the table that the design uses, a constant not among them."""
        if self.model.formula is not None or not hasattr(self.design, "k_constant"):
            return list(self.design.variables)
        constant = self._constant_name()
        return [name for name in self.design.variables if name != constant]

    def _constant_name(self) -> str | None:
        if not self.design.k_constant:
            return None
        if self.model._rows_ is None or not hasattr(self.model, "_constant_column"):
            return "const"
        at = self.model._constant_column()
        return None if at is None else self.design.xnames[at]

    @property
    def offset_name(self) -> str | None:
        """Column that gives the offset, which may also be a variable of the formula."""
        name = getattr(self.model, "_offset_column", None)
        return name if isinstance(name, str) else None

    @property
    def offset_columns(self) -> list[str]:
        """Columns from which code computes the offset; none where it is a column itself."""
        computed = self.model._computed.get("offset")
        return [] if computed is None else list(computed.variables)

    def offset_slopes(self, table: pd.DataFrame, name: str) -> ndarray | None:
        """Derivative of the offsets in a variable; None where they do not depend on it."""
        if name == self.offset_name:
            return self.offset_of(np.ones(len(table)))
        if name in self.offset_columns:
            return self.offset_of(self.model._computed["offset"].derivative(table, name)[:, 0])
        return None

    def refuse_computed(self, name: str, what: str) -> None:
        """Refuse a variable from which the offset is computed where rows are typical ones, of a mean offset."""
        if name in self.offset_columns:
            raise NotImplementedError(
                f'{what} "{name}", of which the offset "{self.offset_name}" is computed: a typical row has the mean of '
                'the offsets. Use at="overall", or a dict'
            )

    def offset_of(self, values: ndarray) -> ndarray:
        """Offsets of linear predictors from values of the offset's column."""
        relative = getattr(self.model, "_relative", None)
        return values if relative is None else relative(values)

    def check(self, name: Any) -> str:
        """Check the name of a variable; the error lists the known ones."""
        known = self.variables
        if name in known:
            return name
        if name in (self.offset_name, *self.offset_columns):
            raise DataError(f'"{name}" is the offset, or a column of it, and no variable of the model: set it by at=')
        hint = close_to(str(name), known)
        made = [code for code in getattr(self.design, "xnames", []) if code == name]
        more = " It is a column of the design; margins are by variable." if made else ""
        raise DataError(f'"{name}" is no variable of the model.{more} {hint}')

    def check_slope(self, name: str) -> None:
        """Raise DerivativeError where the design has no derivative in a variable, whatever the rows."""
        if hasattr(self.design, "factors"):
            from glmclf.data.derivatives.design import refuse_variable  # loads the readers of formulas

            refuse_variable(name, self.design.columns, self.design.factors.values())
            if name in self.offset_columns:
                computed = self.model._computed["offset"]
                refuse_variable(name, computed.columns, computed.factors.values())

    def levels_of(self, name: str, table: pd.DataFrame) -> list[Any] | None:
        """Levels of a factor, the base first; None for a number."""
        column = getattr(self.design, "columns", {}).get(name)
        if column is None:
            return None
        for code, factor in self.design.factors.items():
            if factor.levels is not None and name in (factor.expression.bare, factor.expression.categorised):
                # naive Bayes may have a level for missing values
                known = [level for level in factor.levels if level != MISSING_LEVEL]
                base = self._base(code, len(factor.levels))
                return [known[base], *known[:base], *known[base + 1 :]] if base < len(known) else known
        if column.kind == "bool":
            return [False, True]
        if column.kind in ("label", "category"):
            found = column.categories or sorted(pd.unique(table[name].dropna()).tolist())
            return list(found)
        return None

    def in_order(self, name: str, levels: list[Any]) -> list[Any]:
        """Levels of a factor in their own order, instead of the base first."""
        for factor in getattr(self.design, "factors", {}).values():
            if factor.levels is not None and name in (factor.expression.bare, factor.expression.categorised):
                return list(factor.levels)
        return levels

    def _base(self, code: str, n: int) -> int:
        """Place of the base level, whose columns are all 0; the first if the coding has no such level."""
        for subterm in getattr(self.design, "subterms", []):
            if subterm.factors == (code,) and code in subterm.contrasts:
                zero = uncoded_cells(subterm.contrasts[code])
                return int(zero[0]) if len(zero) else 0
        return 0

    # ---------------------------------------------------------------------------------------------------- rows
    @property
    def blockwise(self) -> bool:
        """Whether rows can be evaluated in blocks, as no term depends on other rows."""
        return not any(f.expression.across for f in getattr(self.design, "factors", {}).values())

    @property
    def by_level(self) -> bool:
        """Whether rows may be columns beside a factor of many levels, of which none is expanded."""
        return False

    @property
    def block_size(self) -> int:
        """Number of rows that are evaluated at a time."""
        K = self.outcome.K
        return expanded_rows(max(len(getattr(self.design, "xnames", self.V)), K * K))

    def fit_table(self) -> pd.DataFrame:
        """Table of the rows of the fit, with all its columns."""
        if hasattr(self.design, "factors"):
            return self.model._fit_table()
        r = self.model._rows
        return pd.DataFrame(r.X[:].toarray(), index=r.index, columns=self.design.xnames)

    def as_table(self, newdata: Any) -> pd.DataFrame:
        """Convert new rows to a table; rows for a design from arrays may be an array."""
        if isinstance(newdata, pd.DataFrame):
            return newdata
        if is_sparse(newdata) and hasattr(self.model, "_new_columns"):
            return pd.DataFrame(self.model._new_columns(newdata).toarray(), columns=self.design.xnames)
        if self.model.formula is None and not hasattr(newdata, "columns") and not isinstance(newdata, dict):
            return pd.DataFrame(self.design.matrix(newdata), columns=self.design.xnames)
        return as_frame(newdata, scalars=True)

    def table(self, newdata: Any = None) -> pd.DataFrame:
        """Table of the rows of the fit, or of new rows, with the columns of the design; labels as categories."""
        frame = self.fit_table() if newdata is None else self.as_table(newdata)
        names = {str(c): c for c in frame.columns}
        lost = [name for name in self.design.variables if name not in names]
        if lost:
            raise DataError(
                f"the table has no column {quoted(lost)}, which the model needs. {close_to(lost[0], frame.columns)}"
            )
        used = [*self.design.variables, *(name for name in self.offset_columns if name in names)]
        chosen = {name: frame[names[name]] for name in dict.fromkeys(used)}
        labels = self.design.label_columns if hasattr(self.design, "columns") else ()
        for name in labels:
            if self.design.columns[name].kind == "label":
                read = read_column(chosen[name], name)
                if isinstance(read.values, pd.Categorical) and read.kind == "label":
                    chosen[name] = pd.Series(read.values, index=frame.index)
        return self._checked(pd.DataFrame(chosen, index=frame.index), newdata)

    def _checked(self, table: pd.DataFrame, newdata: Any) -> pd.DataFrame:
        """Check that the values of a table are in the domain of the model, and return it."""
        return table

    def raw(self, table: pd.DataFrame) -> ndarray:
        """Raw rows; NaN where a value is missing."""
        raise NotImplementedError

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        """Derivatives of raw rows in a variable."""
        raise NotImplementedError

    def refuse_infinite(self, raw: Any) -> None:
        """Refuse rows at which the design is infinite, as the log of 0."""
        infinite = np.isinf(raw).any(axis=0) if isinstance(raw, ndarray) else np.isinf(raw.largest())
        bad = np.flatnonzero(infinite)
        if len(bad):
            names = getattr(self.design, "xnames", [])[-raw.shape[1] :]
            where = quoted([names[j] for j in bad if j < len(names)])
            raise DataError(f"{where} is infinite at these values of the variables: set others, in at=")

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        """Variables from which raw columns are computed: (variables, raw columns) each."""
        raise NotImplementedError

    def rows(self, raw: ndarray) -> ndarray:
        """Convert raw rows to rows of regressors, which the parameters multiply."""
        raise NotImplementedError

    def slopes(self, raw: Any, d: Any) -> Moved:
        """Derivatives of the regressors, from raw rows and their derivatives."""
        raise NotImplementedError

    def predictors(self, raw: ndarray, X: ndarray, offset: ndarray | None) -> ndarray:
        """Linear predictors from raw rows, regressors and offset."""
        raise NotImplementedError

    def steps(self, d: Any, dX: Moved, eta: ndarray) -> ndarray:
        """Derivatives of the linear predictors, (n, q)."""
        raise NotImplementedError

    def lost(self, raw: Any, change: bool = False) -> bool:
        """Whether some raw rows, or changes of rows, need omitted coefficients; warns once."""
        found, broken = self._broken(raw, change)
        if not broken:
            return False
        names = self._column_names
        what = ", ".join(
            f'"{names[j]}" = {combination(found[j], names) or "0" + empty_cell(names[j])}' for j in list(broken)[:3]
        )
        self._say(
            f"not estimable, hence NaN: effects and predictions that leave {what}, as it is in every row of the fit. "
            "The omitted coefficient would decide them"
        )
        return True

    @property
    def _column_names(self) -> list[str]:
        """Names of the columns of the design, those left out among them."""
        return self.model.exog_names

    def _broken(self, raw: ndarray, change: bool) -> tuple[Any, dict[int, ndarray]]:
        """Combinations that omitted columns equal, and those that raw rows or changes of rows violate."""
        return {}, {}

    def _say(self, message: str, category: type[Warning] = DataWarning) -> None:
        if message not in self.said:
            self.said.add(message)
            warn(message, category)


def derivative(design: Any, table: pd.DataFrame, name: str) -> Any:
    """Derivative of the design in a variable, dX/dv, for the rows of a table."""
    if design.formula is None and hasattr(design, "xnames") and not hasattr(design, "factors"):
        out = np.zeros((len(table), len(design.xnames)))
        out[:, design.xnames.index(name)] = 1.0
        return out
    return design.derivative(table, name)


def design_parts(design: Any, skip: int = 0) -> list[tuple[tuple[str, ...], list[int]]]:
    """Variables of each subterm of a formula's design, and its columns less the first `skip`."""
    if not hasattr(design, "subterms"):
        return [((name,), [j]) for j, name in enumerate(design.xnames)]
    widths = {code: factor.width for code, factor in design.factors.items()}
    out, start = [], -skip
    for subterm in design.subterms:
        stop = start + subterm.size(widths)
        names = dict.fromkeys(n for code in subterm.factors for n in design.factors[code].expression.columns)
        out.append((tuple(names), [j for j in range(start, stop) if j >= 0]))
        start = stop
    return out


class RegressionPredictors(LinearPredictors):
    """Linear predictors of a regression."""

    def __init__(self, res: Any):
        super().__init__(res)
        self.V, self.k = res._cov.matrix, len(res.model.exog_names)
        self.several = res.model._likelihood.n_eta > 1 or hasattr(res.model, "levels")
        self.outcome = Classes(res.model.J) if self.several else Event(res.model.link)
        self.levels = list(res.model._response.classes) if self.several else []

    def raw(self, table: pd.DataFrame) -> ndarray:
        return self.design.matrix(table)

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        return derivative(self.design, table, name)

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        return design_parts(self.design)

    @cached_property
    def by_level(self) -> bool:
        state, design = self.res._state, self.design
        wide = hasattr(design, "level_columns") and len(design.xnames) >= coding.MANY_LEVELS and self.blockwise
        return wide and (state.basis is None or (isinstance(state.basis, DesignBasis) and state.basis.keeps_levels))

    def rows(self, raw: Any) -> Any:
        res = self.res
        if not isinstance(raw, ndarray):
            return raw if res._state.basis is None else rotated(raw, res._state.basis)
        return raw if res._state.basis is None else rotated(Dense(raw), res._state.basis, res._state.exact)[:].toarray()

    def slopes(self, raw: Any, d: Any) -> Moved:
        basis = self.res._state.basis
        if not isinstance(d, Moved):
            return Moved.of(self.rows(d))
        if basis is None:
            return d
        at = np.argsort(basis.places(np.arange(self.k)))  # means by level are of columns that do not move
        if isinstance(d.values, RecodedColumns):
            return Moved(at[d.columns[d.values.recoding.order]], d.values.by_level)
        if len(d.columns) == basis.touched(np.isin(np.arange(self.k), d.columns)).sum():
            return Moved(at[d.columns], d.values)
        wide = np.zeros((d.values.shape[0], self.k))
        wide[:, d.columns] = d.values.toarray()
        return Moved.of(self.rows(wide))

    def predictors(self, raw: Any, X: Any, offset: ndarray | None) -> ndarray:
        columns, X = (Dense(a) if isinstance(a, ndarray) else a for a in (raw, X))
        eta = self.res._at_the_limit(columns, self.res._predictor(columns, X, offset))
        if not self.res._state.estimate.is_finite and np.isinf(eta).any():
            self._say(CERTAIN, InferenceWarning)
        return eta

    def steps(self, d: Any, dX: Moved, eta: ndarray) -> ndarray:
        found = self.res._state.estimate
        steps = np.column_stack([dX.values @ b[dX.columns] for b in found.fit.theta.reshape(-1, self.k)])
        if found.is_finite:
            return steps
        if not self.several:
            from glmclf.core.fit.estimate import at_infinity

            rows, signs = np.flatnonzero(_touched(d, found.unbounded)), np.zeros(len(steps))
            signs[rows] = signs_of_rows(found.cone, _expanded(d, rows, self.k))[0]
            return at_infinity(steps[:, 0], signs)[:, None]
        touched = _touched(d, found.unbounded.reshape(-1, self.k).any(axis=0))
        if touched.any():
            self._say(
                f"effects through coefficients that are infinite ({self.res.separation}) are NaN with several classes: "
                'use bias_reduction="firth"'
            )
            steps[touched] = np.nan
        return steps

    def _broken(self, raw: Any, change: bool) -> tuple[Any, dict[int, ndarray]]:
        found = self.res._state.combinations
        if not found or not isinstance(raw, Moved):
            return found, violations(found, raw, self.res._units) if found else {}
        at = np.full(self.k, len(raw.columns))  # of columns that do not move one of zeros
        at[raw.columns] = np.arange(len(raw.columns))
        wide, units, out = beside(raw.values, np.zeros((raw.values.shape[0], 1))), np.zeros(len(raw.columns) + 1), {}
        units[at] = self.res._units
        for j, terms in found.items():
            few = {int(at[i]): c for i, c in terms.items() if at[i] < len(raw.columns)}
            broken = violations({int(at[j]): few}, wide, units)
            if broken:
                out[j] = broken[int(at[j])]
        return found, out


def _touched(d: Any, columns: ndarray) -> ndarray:
    """Mask of the rows of derivatives in which one of some columns, a mask (k,), is not zero."""
    if not isinstance(d, Moved):
        return (d[:, columns] != 0).any(axis=1)
    if isinstance(d.values, FactorColumns):
        return d.values.uses(columns[d.columns])
    return (d.values.toarray()[:, columns[d.columns]] != 0).any(axis=1)


def _expanded(d: Any, rows: ndarray, k: int) -> ndarray:
    """Some rows of derivatives, (., k)."""
    if not isinstance(d, Moved):
        return d[rows]
    out = np.zeros((len(rows), k))
    out[:, d.columns] = d.values[rows].toarray()
    return out


class GenerativePredictors(LinearPredictors):
    """Base class of linear predictors of LDA, QDA and NaiveBayes, from their implied logit."""

    def __init__(self, res: Any):
        super().__init__(res)
        self.form = res._logit_form()
        self.b, self.V = self._estimate()
        if not np.isfinite(self.b).all():
            raise ValueError(
                "margins need finite log-odds: cells of some class are never seen, their probability is estimated as "
                "0. Fit with smoothing=.5"
            )
        self.outcome = Classes(len(res.levels))
        self.levels = list(res.model._classes)

    def _estimate(self) -> tuple[ndarray, Any]:
        """Coefficients about the features' centre, (K-1, m), and their covariance, of the fit's type."""
        raise NotImplementedError

    def predictors(self, raw: ndarray, X: ndarray, offset: ndarray | None) -> ndarray:
        return np.column_stack([np.zeros(len(X)), X @ self.b.T])

    def steps(self, d: ndarray, dX: Moved, eta: ndarray) -> ndarray:
        return dX.values @ self.b[:, dX.columns].T


class DiscriminantPredictors(GenerativePredictors):
    """Linear predictors of LDA and QDA: raw rows are the features, z their products."""

    @property
    def block_size(self) -> int:
        """Number of rows that are evaluated at a time: with their products some megabytes."""
        return min(super().block_size, max(LEAST_ROWS, BLOCK_NUMBERS // self.b.shape[1]))

    def raw(self, table: pd.DataFrame) -> ndarray:
        X = self.design.matrix(table)
        return X[:, self._skip :]

    @property
    def _skip(self) -> int:
        return 1 if self.model.formula is not None else 0

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        return derivative(self.design, table, name)[:, self._skip :]

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        return design_parts(self.design, self._skip)

    def fit_table(self) -> pd.DataFrame:
        given = self.model._given
        return super().fit_table() if given is None or hasattr(self.design, "factors") else given._fit_table()

    @property
    def _column_names(self) -> list[str]:
        return self.model._all_names

    def _broken(self, raw: ndarray, change: bool) -> tuple[Any, dict[int, ndarray]]:
        return self.model._left_out, self.model._violations(raw, 0.0 if change else 1.0)

    def _kept(self, raw: ndarray) -> ndarray:
        """Features of raw rows that the fit did not leave out."""
        return raw[:, self.model._kept_features] if self.model._omitted else raw

    def rows(self, raw: ndarray) -> ndarray:
        return self.form.functions(self._kept(raw))

    def slopes(self, raw: ndarray, d: ndarray) -> Moved:
        return Moved(*self.res._function_slopes(self._kept(raw), self._kept(d)))

    def _estimate(self) -> tuple[ndarray, Any]:
        res = self.res
        if res._reduced is not None:
            return res._reduced, res._cov.matrix
        return self.form.coefficients, self.form.closed if res._cov.name in MODEL_BASED else res._cov.matrix


class NaiveBayesPredictors(GenerativePredictors):
    """Linear predictors of NaiveBayes: raw rows are the statistics T of the features."""

    def _values(self, table: pd.DataFrame) -> list[ndarray]:
        return self.design.values(table)

    def _checked(self, table: pd.DataFrame, newdata: Any) -> pd.DataFrame:
        if newdata is not None:
            values = self._values(table)
            self.model._check_domains(values, table.index, new=True)
            self.res._warn_impossible(self.res._log_joint(values), values, table.index)
        return table

    def raw(self, table: pd.DataFrame) -> ndarray:
        values = self._values(table)
        Z = self.form.functions(values)
        missing = np.zeros(len(Z), dtype=bool)
        for v in values:
            bad = v < 0 if v.dtype.kind in "iu" else np.isnan(v)  # codes: missing, or impossible in every class
            missing |= bad.reshape(len(Z), -1).any(axis=1)
        Z[missing] = np.nan
        return Z

    def raw_slopes(self, table: pd.DataFrame, name: str) -> ndarray:
        return self.res._parts.logit_slopes(self._values(table), derivative(self.design, table, name))

    def levels_of(self, name: str, table: pd.DataFrame) -> list[Any] | None:
        """Levels of a factor, or of a number that is 0 or 1 by its family; None for other numbers."""
        found = super().levels_of(name, table)
        uses = [f for f in self.model.features if name in f.columns]
        if found is None and uses and all(f.family == "bernoulli" and f.variables for f in uses):
            return [0, 1]
        return found

    def _estimate(self) -> tuple[ndarray, Any]:
        res, b = self.res, self.form.coefficients
        if res._cov.name in MODEL_BASED:
            return b, self.form.closed
        return b, res._parts.collapsed(res._cov.matrix)

    def parts(self) -> list[tuple[tuple[str, ...], list[int]]]:
        out: list[tuple[tuple[str, ...], list[int]]] = [((), [0])]
        start = 1
        for feature in self.model.features:
            stop = start + feature.width
            out.append((feature.columns, list(range(start, stop))))
            start = stop
        return out

    def rows(self, raw: ndarray) -> ndarray:
        return raw

    def slopes(self, raw: ndarray, d: ndarray) -> Moved:
        return Moved.of(d)
