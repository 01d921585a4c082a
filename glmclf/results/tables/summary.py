"""Printed summary of regressions: statsmodels' layout to the letter, then facts about response and rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import compress, zip_longest
from typing import Any

import numpy as np

from glmclf.results.tables.folding import FoldedTerm, folded, folded_note, mask
from glmclf.results.tables.frames import coefficients, headings, interval_headings, present, ratio_name
from glmclf.results.tables.labels import LEVELS, level_labels
from glmclf.results.tables.numbers import count, number, pvalue, ratio
from glmclf.results.tables.render import table_classes

HEADER_WIDTHS = (18, 18, 21, 18)
PARAM_WIDTHS = (10, 10, 10, 10, 10, 11, 11)
LABEL_WIDTH, FACT_WIDTH = 18, 59
P_VALUES = ("P>|", "Pr(>|", "pvalue")  # beginnings of the headings of columns of p-values


def summary(
    res: Any,
    *,
    yname: str | None = None,
    xname: Sequence[str] | None = None,
    title: str | None = None,
    alpha: float = 0.05,
    exponentiate: bool = False,
    date: bool = True,
    levels: bool | None = None,
) -> Any:
    """See `Results.summary`."""
    facts = [(label, text) for label, text in res._header() if text not in (None, "")]
    if title is None:
        event = dict(facts).get("Event:")
        title = f"{type(res.model).__name__} Regression Results" + (f": {event}" if event else "")
        facts = [(label, text) for label, text in facts if label != "Event:"]
    names = shown_names(res.model, res.model.exog_names, xname)
    if len(names) != len(res.model.exog_names):
        raise ValueError(f"xname= has {len(names)} names for {len(res.params)} coefficients: give one for each")
    result = table_classes()["Summary"]()
    result.tables.append(_header(res, str(yname or res.model.endog_names), title, date))
    terms = folded(res, levels)
    result.tables.extend(_coefficients(res, names, alpha, exponentiate, str(yname or res.model.endog_names), terms))
    if facts:
        result.tables.append(_facts(facts))
    notes = [*ratio_notes(res, exponentiate), *res._notes(), *folded_note(res, terms)]
    if notes:
        result.add_extra_txt(["Notes:", *(f"[{i}] {note}" for i, note in enumerate(notes, start=1))])
    return result


def estimates_summary(title: str, facts: list[tuple[str, str]], table: Any) -> Any:
    """Summary of estimates other than coefficients: facts above, then a labelled DataFrame."""
    result = table_classes()["Summary"]()
    head = table_classes()["Table"]([(text,) for _, text in facts], None, [label for label, _ in facts], title=title)
    labels = [", ".join(map(str, row)) if isinstance(row, tuple) else str(row) for row in table.index]
    tests = [str(column).startswith(P_VALUES) for column in table.columns]
    rows = [
        tuple("" if np.isnan(v) else pvalue(v) if test else number(v, 4) for v, test in zip(row, tests, strict=True))
        for row in table.to_numpy(dtype=float)
    ]
    body = table_classes()["Table"](rows, [str(c) for c in table.columns], labels, title=None)
    head.widths, body.widths = (LABEL_WIDTH, FACT_WIDTH), (LABEL_WIDTH, *[10] * table.shape[1])
    result.tables.extend([head, body])
    return result


def shown_names(model: Any, names: Sequence[Any], asked: Any) -> list[str]:
    """Names of coefficients as a summary was asked to show them: their own, given ones, or readable ones."""
    if isinstance(asked, str) and asked != LEVELS:
        raise ValueError(f'xname={asked!r}: a list of names, or "{LEVELS}" for names such as "sex: male"')
    if asked is None:
        return [str(name) for name in names]
    return [*level_labels(model._design, names).values()] if isinstance(asked, str) else [str(name) for name in asked]


def moment(asked: bool) -> list[tuple[str, str]]:
    """Lines of a header with date and time, where they are asked for."""
    now = time.localtime()
    lines = [("Date:", time.strftime("%a, %d %b %Y", now)), ("Time:", time.strftime("%H:%M:%S", now))]
    return lines if asked else []


def _header(res: Any, yname: str, title: str, date: bool) -> Any:
    """Header in statsmodels' layout: a two-column table of facts about the fit."""
    left = [
        ("Dep. Variable:", yname),
        ("Model:", type(res.model).__name__),
        ("Method:", getattr(res, "_estimator", "MLE")),
        *moment(date),
        ("converged:", str(bool(res.converged))),
        ("Covariance Type:", str(res.cov_type)),
    ]
    right = [
        ("No. Observations:", count(res.nobs)),
        ("Df Residuals:", count(res.df_resid)),
        ("Df Model:", count(res.df_model)),
        ("Pseudo R-squ.:", f"{res.prsquared:#6.4g}"),
        ("Log-Likelihood:", f"{res.llf:#8.5g}"),
        ("LL-Null:", f"{res.llnull:#8.5g}"),
        res._header_tail() if hasattr(res, "_header_tail") else ("LLR p-value:", f"{res.llr_pvalue:#6.4g}"),
    ]
    return two_columns(left, right, title)


def two_columns(
    left: list[tuple[str, str]], right: list[tuple[str, str]], title: str, widths: tuple[int, ...] = HEADER_WIDTHS
) -> Any:
    """Table of facts, label and value, in two columns; the shorter one is padded with blanks."""
    pairs = list(zip_longest(left, right, fillvalue=("", "")))
    rows = [(value, f"  {key}" if key else "", text) for (_, value), (key, text) in pairs]
    table = table_classes()["Table"](rows, None, [label for (label, _), _ in pairs], title=title)
    for row in table:
        row[2].datatype = "stub"
    table.widths = widths
    return table


def _coefficients(
    res: Any, names: list[str], alpha: float, exponentiate: bool, yname: str, terms: Sequence[FoldedTerm] = ()
) -> list[Any]:
    """statsmodels' table of coefficients, one for each equation; one without an estimate shows as (omitted).

    Those of `terms` stand in one line.
    """
    cells = res._table_cells if hasattr(res, "_table_cells") else partial(_table_cells, res)
    heads, rows = cells(alpha, exponentiate)
    if exponentiate:
        heads[0] = _ratio_heading(res)
    levels = getattr(res, "_table_levels", None) or getattr(res.model, "_equations", [None])
    k, tables = len(names), []
    first, inside = {int(t.columns[0]): t for t in terms}, {int(i) for t in terms for i in t.columns}
    shown = [i for i in range(k) if i in first or i not in inside]
    stubs = [first[i].name if i in first else names[i] for i in shown]
    form = ratio if exponentiate else number
    for j, level in enumerate(levels):
        lines = {i: t.line(res, j * k, form, exponentiate) for i, t in first.items()}
        empty = [""] * (len(heads) - 1)
        some = [(lines[i], *empty) if i in lines else rows[j * k + i] for i in shown]
        table = table_classes()["Table"](some, heads, stubs, title=None)
        table.spans = {row: (1, len(heads)) for row, i in enumerate(shown, start=1) if i in lines}
        if level is not None:
            table[0][0].data = f"{yname}={level}"
        table.widths = PARAM_WIDTHS[: 1 + len(heads)]
        tables.append(table)
    return tables


def _ratio_heading(res: Any) -> str:
    """Name of exp(coef) as a heading: its initials where it is wider than the column, as HR and RRR in the field."""
    name = ratio_name(res)
    return name if len(name) <= PARAM_WIDTHS[1] else "".join(word[0] for word in name.split()).upper()


def ratio_notes(res: Any, exponentiate: bool) -> list[str]:
    """Note on the heading of a table of ratios, where that is initials."""
    if not exponentiate or _ratio_heading(res) == ratio_name(res):
        return []
    return [f"{_ratio_heading(res)} is the {ratio_name(res)}, exp(coef)."]


def _table_cells(res: Any, alpha: float, exponentiate: bool) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headings and rows of the table of coefficients."""
    c, here = coefficients(res, alpha, exponentiate), present(res)
    omitted, unselected = (mask(getattr(res, name, None), len(c.estimate)) for name in ("_omitted", "_unselected"))
    form = ratio if exponentiate else number
    columns = np.column_stack((c.estimate, c.std_error, c.statistic, c.pvalue, c.low, c.high)).tolist()
    rows = []
    for out, alone, (b, se, z, p, low, high) in zip(omitted, omitted | unselected, columns, strict=True):
        row = ("(omitted)" if out else form(b, 4), form(se), number(z), pvalue(p), form(low), form(high))
        cells = tuple(compress(row, here))
        rows.append((cells[0], *[""] * (len(cells) - 1)) if alone else cells)
    deviation = getattr(res, "_deviation", "std err")
    return list(compress(["coef", deviation, *headings(res), *interval_headings(alpha)], here)), rows


def _facts(facts: list[tuple[str, str]]) -> Any:
    """Table of facts about the response and the rows, a label and a text a row."""
    rows, labels = [(str(text),) for _, text in facts], [str(label) for label, _ in facts]
    table = table_classes()["Table"](rows, None, labels, title=None)
    table.widths = (LABEL_WIDTH, FACT_WIDTH)
    table.wrapped = True
    return table
