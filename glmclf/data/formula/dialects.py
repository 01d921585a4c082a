"""What users of other languages write in formulas: R's functions, Stata's prefixes, `.` for all columns, odd names.

`with_all_columns` puts columns in place of a dot; `refuse_names` and `hinting` say how columns are written whose names
are no words of Python, and what stands here for R's words.
"""

from __future__ import annotations

import ast
import contextlib
import keyword
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from glmclf.data.table.frame import close_to, quoted
from glmclf.errors import FormulaError

_FACTOR = "write C(...) for a factor"
R_FUNCTIONS = {
    "as.factor": _FACTOR,
    "as_factor": _FACTOR,
    "as.character": _FACTOR,
    "factor": _FACTOR,
    "ordered": "write C(...), or C(..., Poly) for R's contrasts of an ordered factor",
    "as.ordered": "write C(...), or C(..., Poly) for R's contrasts of an ordered factor",
    "relevel": 'write C(g, Treatment("b")) for a factor with the base "b"',
    "strata": "write C(...) for an effect of each stratum",
    "ns": 'write cr(x, df=4, constraints="center") for a natural cubic spline',
    "rcs": 'write cr(x, df=4, constraints="center") for a restricted (natural) cubic spline',
    "s": 'write cr(x, df=4, constraints="center") or bs(x, df=4) for a curve of given degrees of freedom',
    "lo": 'write cr(x, df=4, constraints="center") or bs(x, df=4) for a curve of given degrees of freedom',
    "as.numeric": "write the column alone, or x.astype(float)",
    "as.integer": "write the column alone, or x.astype(int)",
    "is.na": "write np.isnan(x), or x.isna() of labels",
    "ifelse": "write np.where(condition, a, b)",
    "interaction": "write a:b for the interaction of a and b",
    "cluster": 'say fit(cov_type="cluster", cov_kwds={"groups": ...}) for clusters',
}
_CALLED = re.compile(rf"(?<![\w.])({'|'.join(re.escape(name) for name in R_FUNCTIONS)})\s*\(")
FOREIGN_SIGNS = {
    "%in%": "%in% is R's: write x.isin([...])",
    "%%": "%% is R's: write np.mod(x, k) for the remainder of a division",
    "$": "$ is R's: write the column alone, without its table",
    "||": "there are no random effects, as (x || g) names them in R: take C(g), or clusters",
    "<-": "<- is R's: compute the column beforehand",
    "##": "## is Stata's: write a * b for two columns and their interaction",
    "#": "# is Stata's: write a:b for the interaction of two columns",
}
_OF_STATA = re.compile(r"(?<![\w.)\]])(i|ib\w*|c)\.([^\W\d]\w*)(?![\w.(])")  # i.firm, ib3.region, c.age
_QUOTED = re.compile(r""" "[^"]*" | '[^']*' """, flags=re.VERBOSE)
_DOT = re.compile(r"""(?<![\w.)\]"'])\.(?![\w.(\[])(\s*\^\s*(?=\d))?""")
_WORDS = re.compile(r"[^\W\d]\w*((\.\w+)|(-[^\W\d]\w*))+")  # names that Python reads as attributes and differences
_LEFT_OUT = re.compile(r"-\s*([^\W\d]\w*)(?![\w.(\[])")
_LEFT_OUT_QUOTED = re.compile(r"""-\s*Q\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*\)""")


def _unquoted(formula: str) -> str:
    """A formula of the same length without what stands in quotes."""
    return _QUOTED.sub(lambda m: f'"{"_" * (len(m[0]) - 2)}"', formula)


def _written(name: str) -> str:
    """A column as a formula has it: its name, or Q(...) of one that is no word of Python."""
    if name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name:
        return name
    return f"Q({name!r})" if '"' in name or "\\" in name or not name.isprintable() else f'Q("{name}")'


# ------------------------------------------------------------------------------------------------------- all columns
def has_dot(formula: str) -> bool:
    """Whether a dot on the right side of a formula stands for columns.

    Examples
    --------
    >>> has_dot("y ~ . - id"), has_dot("y ~ np.log(x) + I(.5 * z)"), has_dot("y ~ a.b")
    (True, False, False)
    """
    return _DOT.search(_unquoted(formula).partition("~")[2]) is not None


def with_all_columns(formula: str, columns: Iterable[Any], used: Collection[str]) -> str:
    """A formula with columns in place of a dot: all but those on the left side and those that serve otherwise.

    Parameters
    ----------
    formula : str
    columns : iterable
        Names of the columns of the table.
    used : collection of str
        Columns of the left side, of weights and of an offset.

    Examples
    --------
    >>> with_all_columns("y ~ . - id", ["id", "y", "x", "odd name"], ["y"])
    'y ~ id + x + Q("odd name") - id'
    >>> with_all_columns("y ~ .^2", ["y", "a", "b"], ["y"])
    'y ~ (a + b)**2'
    """
    known = list(columns)
    odd = [name for name in known if not isinstance(name, str)]
    if odd:
        raise FormulaError(f'"." is for all columns, and {quoted(odd)} cannot be named in a formula: rename them.')
    terms = " + ".join(_written(name) for name in known if name not in used)
    if not terms:
        raise FormulaError(f'"." in "{formula}": the table has no columns but {quoted(known)}.')
    start = formula.index("~") + 1
    quoted_out = [ast.literal_eval(name) for name in _LEFT_OUT_QUOTED.findall(formula[start:])]
    for name in [*_LEFT_OUT.findall(_unquoted(formula)[start:]), *quoted_out]:
        if name not in known:
            raise FormulaError(f'"{formula}" leaves out "{name}": no such column. {close_to(name, known)}')
        if keyword.iskeyword(name) and name not in quoted_out:
            raise FormulaError(f'"{formula}" leaves out "{name}", no word of a formula: write - {_written(name)}.')
    # a term is left out where it is written alike
    formula = formula[:start] + _LEFT_OUT_QUOTED.sub(lambda m: f"- {_written(ast.literal_eval(m[1]))}", formula[start:])
    text = _unquoted(formula)
    parts, last = [formula[:start]], start
    for dot in _DOT.finditer(text, start):
        added = _ends(text[start : dot.start()], "+(", last=True) and _ends(text[dot.end() :], "+-)", last=False)
        parts += [formula[last : dot.start()], terms if added else f"({terms})", "**" if dot[1] else ""]
        last = dot.end()
    return "".join([*parts, formula[last:]])


def _ends(text: str, signs: str, last: bool) -> bool:
    """Whether the end of some text, or its beginning, is one of some signs, or nothing is there."""
    found = text.strip()
    return not found or found[-1 if last else 0] in signs


# -------------------------------------------------------------------------------------------------------------- hints
def refuse_names(formula: str, columns: Iterable[Any]) -> None:
    """FormulaError where a column such as ``Sepal.Length`` or ``blood-pressure`` stands in a formula unquoted.

    Python would read an attribute of one name, or a term less another, and might find both.
    """
    for name in columns:
        if not isinstance(name, str) or not _WORDS.fullmatch(name):
            continue
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.(])", _unquoted(formula)):
            other = "" if "-" not in name else ", or put spaces around the minus that leaves out a term"
            raise FormulaError(
                f'the column "{name}" is no word of Python, and would be read as '
                f"{'a difference' if '-' in name else 'an attribute'}: write {_written(name)}{other}."
            )


@contextlib.contextmanager
def hinting(formula: Any, columns: Callable[[], Iterable[Any]] | None) -> Iterator[None]:
    """Let errors of a formula say what stands here for R's words, and how a column is written."""
    try:
        yield
    except FormulaError as error:
        found = list(columns()) if columns is not None else []
        hint = " ".join(_hints(str(formula), found, str(error)))
        if not hint:
            raise
        parted = "\n" if "\n" in str(error) else " "  # below the place that the parser shows
        hinted = FormulaError(f"{error}{parted}{hint}")
        hinted.reason = error.reason and f"{error.reason} {hint}"
        raise hinted from None


def _hints(formula: str, columns: list[Any], said: str) -> Iterator[str]:
    text = _unquoted(formula)
    odd = [c for c in columns if isinstance(c, str) and _written(c) != c and c.strip() and _stands(c, text, columns)]
    if odd and not any(_written(c) in said for c in odd):
        yield f"The table has {quoted(odd)}, no word of Python: write {', '.join(map(_written, odd))}."
    for name in dict.fromkeys(_CALLED.findall(text)):
        if R_FUNCTIONS[name] not in said and name not in columns:
            yield f"{name}() is R's: {R_FUNCTIONS[name]}."
    for sign, hint in FOREIGN_SIGNS.items():
        if sign in text and hint not in said:
            yield f"{hint[0].upper()}{hint[1:]}."
            text = text.replace(sign, " ")
    for prefix, name in dict.fromkeys(_OF_STATA.findall(text)):
        if prefix not in columns and name in columns:
            what = f"C({name}) for a factor" if prefix != "c" else f"{name} alone for a number"
            yield f"{prefix}.{name} is Stata's: write {what}."


def _stands(name: str, text: str, columns: list[Any]) -> bool:
    """Whether a column that is no word of Python stands in a formula, and is not made of other columns."""
    parts = re.findall(r"[^\W\d]\w*", name)
    made = bool(parts) and not any(keyword.iskeyword(part) for part in parts) and set(parts) <= set(columns)
    return not made and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
