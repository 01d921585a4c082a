"""Code whose value in a row depends on other rows, which may be in another part: a lag, a rank, a mean.

Code of operators, element-wise functions and methods on a closed list does not. Other code is tried, and so is each
piece of it that uses a column. A piece that gives other than a value a row (``x.max()``) looks across rows whatever
the data; of others the value of a row must be the same where other rows are gone. So that the answer is one of the
code and not of the rows which come first, it is tried on made-up values of the columns' types, and on the first rows
twice over without and with missing values (``x.duplicated()`` and ``x.fillna(f(x))`` tell only then); parts that come
later are tried as they are.
"""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.formula import expressions
from glmclf.data.formula.evaluate import queried, value_of
from glmclf.data.formula.factors import Box, Expression, Value, arrays_of
from glmclf.data.table.frame import Column, read_column
from glmclf.errors import DataError, FormulaError

FEW = 2000  # rows of which pieces of code are tried
ALONE = 20  # rows that are evaluated one by one
MADE_UP = 24  # rows of values that no table holds
NUMBERS = (0.0, 1.0, 2.0, 0.5, 5.0, -1.0, 3.0, 1.0, 8.0, 2.0, -2.5)
TRUTHS = (True, False, False, True, True)
AT = "_at_"  # stands for the @ of a query
LABELS = ("a", "b", "a", "c", "b")
ARRAYS = (pd.Series, pd.Index, pd.DataFrame, pd.api.extensions.ExtensionArray, np.ndarray, list, tuple)
PIECES = (ast.Call, ast.Attribute, ast.Subscript)
Look = Callable[[str, pd.DataFrame], "bool | None"]


def looks_across(e: Expression, table: Mapping[str, Column], n: int, alone: int = ALONE) -> bool:
    """Whether the value of a row depends on other rows as far as these rows show it, evaluated as they are.

    Parameters
    ----------
    e : Expression
        Its transforms, if it has any, remember their rows.
    table : dict of Column
        Its columns.
    n : int
        Rows of the table.
    alone : int
        How many of them are evaluated one by one.
    """
    return e.tried and n > 0 and bool(_look(e, e.eval_code, table, n, alone))


def code_looks_across(e: Expression, frame: pd.DataFrame) -> bool:
    """Whether the value of a row depends on other rows by the code and the columns' types.

    Of a factor with transforms that have not seen their rows yet, the code of their arguments is tried.

    Parameters
    ----------
    e : Expression
    frame : DataFrame
        Some rows, or none, with its columns.
    """
    if not e.tried:
        return False
    if e.bare is not None:  # an array of the caller's
        return True
    codes = e.transform_arguments() if e.remembers and not e.transforms else [e.eval_code]

    def look(code: str, rows: pd.DataFrame) -> bool | None:
        return _look(e, code, {name: read_column(rows[name], name) for name in e.columns}, len(rows), ALONE)

    pieces = [piece for code in codes for piece in _pieces(code, e.columns)]
    some = frame[list(e.columns)] if e.missing_aware else frame[list(e.columns)].dropna()
    unlike = bool(e.arrays) and not e.transforms  # a spline refuses what is out of its range
    return _any_shows([*codes, *pieces], look, some.iloc[:FEW], e.missing_aware, unlike)


def _look(e: Expression, code: str, table: Mapping[str, Column], n: int, alone: int) -> bool | None:
    def value(rows: ndarray | None) -> Any:
        cut = table if rows is None else {name: column.take(rows) for name, column in table.items()}
        return value_of(e, cut, n if rows is None else len(rows)) if code == e.eval_code else e.run(code, cut)

    lost = [column.missing for column in table.values() if column.missing is not None]
    return _shown(value, n, lost, alone)


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
        if not e.tried or not len(table) or not set(e.columns) <= set(table.columns):
            continue
        some = table[list(e.columns)] if e.missing_aware else table[list(e.columns)].dropna()
        columns = {name: read_column(some[name], name) for name in e.columns}
        if code_looks_across(e, table) or looks_across(e, columns, len(some)):
            raise NotImplementedError(
                f'"{code}": its value in a row depends on other rows, which may be in another part. Compute the '
                "column beforehand."
            )


def _any_shows(codes: list[str], look: Look, frame: pd.DataFrame, holes: bool = True, unlike: bool = False) -> bool:
    """Whether some code looks across rows, made up or in the first of the other trials where it can be evaluated.

    `unlike`: there are arrays of the caller's in it, to which what cannot be evaluated at all owes that.
    """
    first = [_harder(frame, holes), frame] if len(frame) else []
    trials = [*([rows] for rows in _made_up(frame, holes)), first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are not there
        for i, code in enumerate(dict.fromkeys(codes)):
            answers = []
            for tables in trials:
                found = (answer for table in tables if (answer := look(code, table)) is not None)
                answers += [*itertools.islice(found, 1)]
                if any(answers):
                    return True
            if unlike and not i and not answers:
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


def _is_label(node: ast.AST) -> bool:
    """Whether this is ``x.index``, the labels of rows, and not ``x.str.index``."""
    accessor = isinstance(node, ast.Attribute) and getattr(node.value, "attr", None) == "str"
    return isinstance(node, ast.Attribute) and node.attr in ("index", "axes") and not accessor


def _uses(code: str, columns: Collection[str]) -> bool:
    try:
        found = expressions.names(code)
    except FormulaError:
        return False
    return not (found.used | found.rooted | found.quoted | found.keyword).isdisjoint(columns)


def _shown(value: Callable[[ndarray | None], Any], n: int, lost: list[ndarray], alone: int = ALONE) -> bool | None:
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
    turned = _turned(raw, n)  # which of few rows no shape tells
    try:
        for rows in _some_rows(n, lost, alone):
            some = _by_row(value(rows), len(rows), turned)
            if some is None or not _alike(some, whole[rows]):
                return True
    except DataError:
        return True
    return False


def _some_rows(n: int, lost: list[ndarray], alone: int) -> Iterator[ndarray]:
    """Every other row, the others, and some one by one; of a column that these miss, a row beside that has a value.

    Without it the type of a column would be another, and ``x.str.startswith("a")``, say, an error.
    """
    everything = np.arange(n)
    single = np.unique(np.linspace(0, n - 1, alone).astype(np.intp))[:, None]
    there = [(mask, int(np.argmin(mask))) for mask in lost if not mask.all()]
    for rows in (everything[::2], everything[1::2], *single):
        if len(rows):
            beside = [first for mask, first in there if mask[rows].all()]
            yield np.union1d(rows, beside).astype(np.intp) if beside else rows


def _has_values(raw: Any) -> bool:
    """Whether these are values, not a method, say, or an accessor such as ``x.str``."""
    known = (Box, Value, Mapping, set, frozenset, *ARRAYS)
    return isinstance(raw, known) or pd.api.types.is_scalar(raw)


def _by_row(raw: Any, n: int, turned: bool | None = None) -> ndarray | None:
    """Values along n rows; None where there is not one for each of them. `turned`: whether rows are the last axis, by
    default as the shape tells."""
    values = _as_array(raw)
    if values is None:
        return None
    if values.ndim == 2 and (len(values) != n if turned is None else turned):
        values = values.T
    if not values.ndim or len(values) != n:
        return None
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _as_array(raw: Any) -> ndarray | None:
    while isinstance(raw, (Box, Value)):
        raw = raw.data
    if not isinstance(raw, ARRAYS):
        return None
    try:
        return np.asarray(raw)
    except ValueError:  # arrays of unequal length
        return None


def _turned(raw: Any, n: int) -> bool:
    """Whether values in two dimensions have the rows last."""
    values = _as_array(raw)
    return values is not None and values.ndim == 2 and len(values) != n


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


def _harder(frame: pd.DataFrame, holes: bool) -> pd.DataFrame:
    """The rows twice over: at first with values for the missing ones, then with more missing where that changes no
    type."""
    n, columns = len(frame), {}
    for i, (name, column) in enumerate(frame.items()):
        there = np.flatnonzero(column.notna().to_numpy())
        rows = np.arange(n)
        if len(there):
            rows = np.where(column.isna(), there[rows % len(there)], rows)
        twice = column.iloc[rows[_twice(n, i)]].set_axis(frame.index[_twice(n, 0)])
        whole = isinstance(twice.dtype, np.dtype) and twice.dtype.kind in "biu"
        columns[name] = twice.mask(_holes(n, i)) if holes and not whole else twice
    return pd.DataFrame(columns, index=frame.index[_twice(n, 0)])


def _made_up(frame: pd.DataFrame, holes: bool) -> Iterator[pd.DataFrame]:
    """Rows of the columns' types, each with several values, some of them equal and some missing.

    A column without a value may turn out to be of numbers or of labels: with one, once as the former and once as the
    latter.
    """
    kinds = {name: _kind(column) for name, column in frame.items()}
    for nothing in ("number", "label") if None in kinds.values() else ("number",):
        made = {name: _made_column(frame[name], kind or nothing, i) for i, (name, kind) in enumerate(kinds.items())}
        yield _harder(pd.DataFrame(made, index=pd.RangeIndex(MADE_UP)), holes)


def _kind(column: pd.Series) -> str | None:
    typed = column.dtype.kind in "mM" or isinstance(column.dtype, pd.CategoricalDtype)
    return read_column(column, column.name).kind if typed or column.notna().any() else None


def _made_column(column: pd.Series, kind: str, i: int) -> pd.Series:
    values: Any = {"number": NUMBERS, "bool": TRUTHS, "label": LABELS}.get(kind)
    if values is None or kind == "label":
        values = column.cat.categories if kind == "category" else column.dropna().drop_duplicates().iloc[:MADE_UP]
    if len(values) < 2:
        if kind == "other":
            values = pd.date_range("2020-01-31", periods=5, freq="13D") if column.dtype.kind == "M" else column
        else:
            values = values if len(values) and not isinstance(values[0:1].tolist()[0], str) else LABELS
    values = pd.Series(list(values) if kind != "other" else values)
    made = values.iloc[np.roll(np.arange(MADE_UP) % max(len(values), 1), 3 * i)] if len(values) else values
    return made.reset_index(drop=True).astype("category" if kind == "category" else made.dtype)


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
            self.names, self._foreign, self.arrays = set(), False, dict[str, int]()
            return
        self.names = {self._name(name) for name in found.used | found.rooted | found.keyword}
        pieces = any(_is_piece(node) for node in ast.walk(expressions.parse(self.code)))
        columns, at = self._known(found)
        self.arrays = arrays_of({name.removeprefix(AT): value for name, value in at.items()})
        self._foreign = (pieces or bool(self.arrays)) and not expressions.alone(self.code, columns, at)

    def _known(self, found: expressions.Names) -> tuple[set[str], dict[str, Any]]:
        """Names that are of columns, and variables of the caller's, as the code has them."""
        names = found.used | found.rooted | found.keyword
        at = {name: self._caller.get(name.removeprefix(AT)) for name in names if name.startswith(AT)}
        return {name for name in names if name not in at}, at

    def _python(self, match: re.Match) -> str:
        """What is not Python in a query, as a name."""
        if match[1] is not None:
            return match[1]
        name = AT if match[2] is None else f"_quoted_{len(self._quoted)}_"
        if match[2] is not None:
            self._quoted[name] = match[2]
        return name

    def _name(self, name: str) -> str:
        return self._quoted.get(name, name)

    def _original(self, code: str) -> str:
        for name, own in self._quoted.items():
            code = code.replace(name, f"`{own}`")
        return code.replace(AT, "@")

    def asks_for_labels(self, frame: pd.DataFrame) -> bool:
        """Whether the answer in a row depends on its label, in these rows with others."""
        if not self._foreign:
            return False
        if any(map(_is_label, ast.walk(expressions.parse(self.code)))):
            return True
        for rows in (*_made_up(frame[self._columns(frame)], True), frame[self._columns(frame)]):
            n = len(rows)
            labels = np.arange(n)[::-1] + (np.arange(n) % 3 - 1) * 10**15
            try:
                here, there = (queried(self.text, t, self._caller) for t in (rows, rows.set_axis(labels)))
            except DataError:
                continue
            a, b = _by_row(here, n), _by_row(there, n)
            if a is not None and (b is None or not _alike(a, b)):
                return True
        return False

    def _columns(self, frame: pd.DataFrame) -> list[Any]:
        return [name for name in frame.columns if name in self.names]

    def _look(self, code: str, table: pd.DataFrame, alone: int = ALONE) -> bool | None:
        def value(rows: ndarray | None) -> Any:
            cut = table if rows is None else table.iloc[rows]
            return queried(self.text if code == self.code else self._original(code), cut, self._caller)

        lost = [mask for _, column in table.items() if (mask := column.isna().to_numpy()).any()]
        return _shown(value, len(table), lost, alone)

    def looks_across(self, frame: pd.DataFrame, alone: int = ALONE) -> bool:
        """Whether it depends on other rows whether a row is taken, as far as these show it, evaluated as they are."""
        return self._foreign and len(frame) > 0 and bool(self._look(self.code, frame[self._columns(frame)], alone))

    def code_looks_across(self, frame: pd.DataFrame) -> bool:
        """Whether it depends on other rows by the code and the columns' types; of `frame` there may be no rows."""
        if not self._foreign:
            return False
        columns = self._columns(frame)
        own = {name for name, quoted in self._quoted.items() if quoted in columns}
        codes = [self.code, *_pieces(self.code, {*columns, *own})]
        return _any_shows(codes, self._look, frame[columns].iloc[:FEW], unlike=bool(self.arrays))
