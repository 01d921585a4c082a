"""Code whose value in a row depends on other rows, which may be in another part: a lag, a rank, a mean.

It is found by trial: the code, and each piece of it that uses a column, is evaluated on some of the rows. A piece that
gives other than a value a row (``x.max()``) looks across rows whatever the data; of others the value of a row must be
the same where other rows are gone. Rows are tried twice over and with missing values among them, as ``x.duplicated()``
and ``x.fillna(f(x))`` tell only then; parts that come later are tried as they are.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data import expressions
from glmclf.data.factors import Box, Expression, Value
from glmclf.data.frame import Column, read_column
from glmclf.data.reading import queried, value_of
from glmclf.errors import DataError, FormulaError

FEW = 2000  # rows of which pieces of code are tried
ALONE = 20  # rows that are evaluated one by one
ARRAYS = (pd.Series, pd.Index, pd.DataFrame, pd.api.extensions.ExtensionArray, np.ndarray, list, tuple)
PIECES = (ast.Call, ast.Attribute, ast.Subscript)


def looks_across(e: Expression, table: Mapping[str, Column], n: int, pieces: bool = True) -> bool:
    """Whether the value of a row depends on other rows; what cannot be evaluated without them does, too.

    Parameters
    ----------
    e : Expression
    table : dict of Column
        Its columns.
    n : int
        Rows of the table.
    pieces : bool
        Whether pieces of the code are tried as well, on more than these rows; without that the code as a whole.

    Raises
    ------
    DataError
        It cannot be evaluated with all rows.
    """
    if not e.foreign:
        return False
    value_of(e, table, n)

    def shown(code: str, table: Mapping[str, Column], n: int) -> bool | None:
        def value(rows: ndarray | None) -> Any:
            cut = table if rows is None else {name: column.take(rows) for name, column in table.items()}
            return value_of(e, cut, n if rows is None else len(rows)) if code == e.eval_code else e.run(code, cut)

        return _shown(value, n)

    if not pieces:
        return bool(shown(e.eval_code, table, n))
    more = {name: _harder(column, n, i) for i, (name, column) in enumerate(table.items())}
    codes = [e.eval_code, *_pieces(e.eval_code, e.columns)]
    return _any_shows(codes, [functools.partial(shown, table=t, n=m) for t, m in ((more, 2 * n), (table, n))])


def refuse_across(design: Any, table: pd.DataFrame) -> None:
    """NotImplementedError where new data come in parts and a factor of a design looks across their rows.

    Parameters
    ----------
    design : Design or FeatureDesign
    table : DataFrame
        One part.
    """
    for code, factor in getattr(design, "factors", {}).items():
        e = factor.expression
        if not e.foreign or not set(e.columns) <= set(table.columns):
            continue
        some = table[list(e.columns)].dropna() if e.remembers else table  # what it remembers is of complete rows
        for rows, pieces in ((some.iloc[:FEW], True), (some, False)):
            columns = {name: read_column(rows[name], name) for name in e.columns}
            if len(rows) and looks_across(e, columns, len(rows), pieces):
                raise NotImplementedError(
                    f'"{code}": its value in a row depends on other rows, which may be in another part. Compute the '
                    "column beforehand."
                )


def _any_shows(codes: list[str], trials: list[Callable[[str], bool | None]]) -> bool:
    """Whether some code looks across rows in the first of the trials in which it can be evaluated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are not there
        for code in codes:
            found = (answer for trial in trials if (answer := trial(code)) is not None)
            if next(found, False):
                return True
    return False


def _pieces(code: str, columns: Collection[str]) -> list[str]:
    """Code of calls, attributes, elements, products of matrices and tests of membership that use columns."""
    tree = expressions.parse(code)
    found = [ast.unparse(node) for node in ast.walk(tree) if node is not tree and _is_piece(node)]
    return [piece for piece in dict.fromkeys(found) if _uses(piece, columns)]


def _is_piece(node: ast.AST) -> bool:
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    member = isinstance(node, ast.Compare) and any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
    return isinstance(node, PIECES) or product or member


def _uses(code: str, columns: Collection[str]) -> bool:
    try:
        found = expressions.names(code)
    except FormulaError:
        return False
    return not (found.used | found.rooted | found.quoted | found.keyword).isdisjoint(columns)


def _shown(value: Callable[[ndarray | None], Any], n: int) -> bool | None:
    """Whether a row's value is another where other rows are gone; None where there is none with all of them."""
    try:
        raw = value(None)
    except DataError:
        return None
    if not _has_values(raw):
        return None
    whole = _by_row(raw, n)
    if whole is None:
        return True
    try:
        for rows in _some_rows(n):
            some = _by_row(value(rows), len(rows))
            if some is None or not _alike(some, whole[rows]):
                return True
    except DataError:
        return True
    return False


def _some_rows(n: int) -> Iterator[ndarray]:
    """Every other row, the others, and some one by one."""
    everything = np.arange(n)
    alone = np.unique(np.linspace(0, n - 1, ALONE).astype(np.intp))[:, None]
    return (rows for rows in (everything[::2], everything[1::2], *alone) if len(rows))


def _has_values(raw: Any) -> bool:
    """Whether these are values, not a method, say, or an accessor such as ``x.str``."""
    known = (Box, Value, Mapping, set, frozenset, *ARRAYS)
    return isinstance(raw, known) or pd.api.types.is_scalar(raw)


def _by_row(raw: Any, n: int) -> ndarray | None:
    """Values along n rows; None where there is not one for each of them."""
    while isinstance(raw, (Box, Value)):
        raw = raw.data
    if not isinstance(raw, ARRAYS):
        return None
    try:
        values = np.asarray(raw)
    except ValueError:  # arrays of unequal length
        return None
    if values.ndim == 2 and len(values) != n:
        values = values.T
    if not values.ndim or len(values) != n:
        return None
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _alike(a: ndarray, b: ndarray) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
        return np.allclose(a, b, rtol=1e-10, atol=0.0, equal_nan=True)
    lost = pd.isna(a)
    if not np.array_equal(lost, pd.isna(b)):
        return False
    return all(_equal(u, v) for u, v in zip(a[~lost].tolist(), b[~lost].tolist(), strict=True))


def _equal(u: Any, v: Any) -> bool:
    return bool(np.array_equal(u, v)) if isinstance(u, ndarray) else bool(u == v)


def _holes(n: int, i: int) -> ndarray:
    """Rows of twice n in which the i-th column is to be missing: some of the second n."""
    rows = np.arange(2 * n)
    return (rows >= n) & (rows % 3 == i % 3)


def _twice(n: int, i: int) -> ndarray:
    """Rows of the i-th column twice over, the second time beside others of the other columns."""
    return np.concatenate([np.arange(n), np.roll(np.arange(n), 7 * i)])


def _harder(column: Column, n: int, i: int) -> Column:
    """The column twice over, with missing values in the second half where these change no type."""
    twice = column.take(_twice(n, i))
    labels = isinstance(twice.values, pd.Categorical)
    if not labels and not (column.kind == "number" and twice.values.dtype.kind == "f"):
        return twice
    holes = _holes(n, i)
    if labels:
        codes = np.where(holes, -1, twice.values.codes)
        values: Any = pd.Categorical.from_codes(codes, dtype=twice.values.dtype)
    else:
        values = np.where(holes, np.nan, twice.values)
    return Column(values, holes if twice.missing is None else holes | twice.missing, column.kind)


# ----------------------------------------------------------------------------------------------------------- queries
class Query:
    """A query for rows, and what it may look at.

    Parameters
    ----------
    text : str
        As of `pandas.DataFrame.query`.
    caller : mapping
        Variables that it may use.

    Attributes
    ----------
    names : set of str
        Names in it, of columns or of what belongs to the index.
    """

    _OUTSIDE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`([^`]*)`|@""")

    def __init__(self, text: str, caller: Mapping[str, Any]):
        self.text, self._caller = text, caller
        self._quoted: dict[str, str] = {}
        self.code = self._OUTSIDE.sub(self._python, text.strip())
        try:
            found = expressions.names(self.code)
        except FormulaError:  # which pandas will refuse, too
            self.names, self._foreign = set(), False
            return
        self.names = {self._name(name) for name in found.used | found.rooted | found.keyword}
        self._foreign = any(_is_piece(node) for node in ast.walk(expressions.parse(self.code)))

    def _python(self, match: re.Match) -> str:
        """What is not Python in a query, as a name."""
        if match[1] is not None:
            return match[1]
        name = "_at_" if match[2] is None else f"_quoted_{len(self._quoted)}_"
        if match[2] is not None:
            self._quoted[name] = match[2]
        return name

    def _name(self, name: str) -> str:
        return self._quoted.get(name, name)

    def _original(self, code: str) -> str:
        for name, own in self._quoted.items():
            code = code.replace(name, f"`{own}`")
        return code.replace("_at_", "@")

    def looks_across(self, frame: pd.DataFrame, pieces: bool = True) -> bool:
        """Whether it depends on other rows whether a row is taken; see `looks_across`."""
        columns = [name for name in frame.columns if name in self.names]
        if not self._foreign or not len(frame):
            return False

        def shown(code: str, table: pd.DataFrame) -> bool | None:
            def value(rows: ndarray | None) -> Any:
                cut = table if rows is None else table.iloc[rows]
                return queried(self.text if code == self.code else self._original(code), cut, self._caller)

            return _shown(value, len(table))

        few = frame[columns]
        if not pieces:
            return bool(shown(self.code, few))
        own = {name for name, quoted in self._quoted.items() if quoted in columns}
        codes = [self.code, *_pieces(self.code, {*columns, *own})]
        return _any_shows(codes, [functools.partial(shown, table=table) for table in (_harder_frame(few), few)])


def _harder_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows twice over, as of columns in `_harder`."""
    n = len(frame)
    columns = {}
    for i, (name, column) in enumerate(frame.items()):
        holes = column.dtype.kind == "f" or pd.api.types.is_string_dtype(column.dtype)
        twice = column.iloc[_twice(n, i)].set_axis(frame.index[_twice(n, 0)])
        columns[name] = twice.mask(_holes(n, i)) if holes else twice
    return pd.DataFrame(columns, index=frame.index[_twice(n, 0)])
