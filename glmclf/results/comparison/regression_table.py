"""Regression tables: coefficients of several fits side by side, in the formats of the summary, and in Word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from glmclf.caching import cached_property
from glmclf.checks import check_whole, true_or_false
from glmclf.errors import DataError, DataWarning, warn
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.results.comparison.codings import told_apart
from glmclf.results.comparison.comparability import no_result
from glmclf.results.comparison.compare import fit_names
from glmclf.results.tables.folding import FoldedTerm, folded
from glmclf.results.tables.frames import ratio_name
from glmclf.results.tables.labels import LEVELS, level_labels
from glmclf.results.tables.numbers import decimal
from glmclf.results.tables.render import SummaryFormats, plain, table_classes, width
from glmclf.results.wald import WaldInference

STARS = (0.05, 0.01, 0.001)
OMITTED = "(omitted)"


class RegressionTable(SummaryFormats):
    """Coefficients of several fits side by side. Made by `glmclf.regression_table`, not by hand.

    A notebook shows its HTML; `as_text`, `as_latex` (package booktabs), `as_html`, `as_markdown`, `as_typst` and
    `as_csv` write the others, `as_docx` a Word file.

    Attributes
    ----------
    tables : list
        The table.
    extra_txt : str
        The notes below it, a line each.
    """

    def __init__(self, table: Any, notes: Iterable[str]) -> None:
        self.tables = [table]
        self.extra_txt = "\n".join(map(plain, notes))

    def to_frame(self) -> pd.DataFrame:
        """Table of texts as printed, as a DataFrame.

        Returns
        -------
        DataFrame
            Of texts, a row a line; columns are (name of the fit, what the column is about). Numbers are in `tidy()` of
            the fits.
        """
        lines = self.tables[0]._lines()
        heads = [line.spread(again=True)[1:] for line in lines if line.header]
        rows = [line.spread(again=False) for line in lines if not line.header]
        return pd.DataFrame(
            [row[1:] for row in rows], index=[row[0] for row in rows], columns=pd.MultiIndex.from_arrays(heads)
        )

    def as_docx(self, path: str | PathLike[str]) -> None:
        """Write the table to a Word file; needs maketables (``pip install maketables``).

        Parameters
        ----------
        path : str or path
            Name of the file, which ends in ``.docx``; one that is there is replaced.

        Raises
        ------
        ImportError
            maketables is not installed.
        """
        try:
            from maketables import MTable
        except ImportError as error:
            raise ImportError(f"as_docx() needs maketables (pip install maketables): {error}") from error
        caption = self.tables[0].title
        table = MTable(self.to_frame(), notes="\n".join(self._notes()), caption=caption and plain(caption))
        document: Any = table.make(type="docx")
        document.save(str(path))

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _repr_latex_(self) -> str:
        return self.as_latex()


@dataclass
class _Column:
    """Column of a regression table: an equation's head, and the texts of each coefficient by label."""

    head: str
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Form:
    """Format of numbers in a regression table."""

    stars: tuple[float, ...]
    intervals: str | None
    exponentiate: bool
    alpha: float
    digits: int

    def cells(self, numbers: np.ndarray, omitted: bool) -> tuple[str, ...]:
        """Two lines of a coefficient: the estimate with its stars, and its standard error or interval."""
        (b, se, p, low, high), pad = numbers.tolist(), max(1, len(self.stars))
        if omitted:
            return OMITTED, ""
        stars = "*" * sum(p < level for level in self.stars)
        first = decimal(b, self.digits) + f"{stars:<{pad}}"
        known = not np.isnan(low) if self.intervals else not np.isnan(se)
        if not known:
            return first, ""
        ends = f"[{decimal(low, self.digits)}, {decimal(high, self.digits)}]"
        return first, (ends if self.intervals else f"({decimal(se, self.digits)})") + " " * (pad - 1)


@true_or_false
def regression_table(
    *results: Any,
    names: Sequence[str] | None = None,
    stars: bool | Sequence[float] = False,
    intervals: bool | str = False,
    exponentiate: bool = False,
    alpha: float = 0.05,
    digits: int = 3,
    keep: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    labels: Mapping[str, str] | str | None = None,
    stats: Sequence[str] | None = None,
    title: str | None = None,
    levels: bool | None = None,
) -> RegressionTable:
    """Table of coefficients of one or more fits side by side, with statistics of each fit below.

    Parameters
    ----------
    *results : results
        Fits of any model, to any data; pooled fits, too. LDA, QDA and NaiveBayes are shown by the logit that they
        imply. Models of several levels have a column a level.
    names : list of str, optional
        What to call the fits; by default (1), (2), ...
    stars : bool or sequence of float
        Whether to mark p-values below 0.05, 0.01 and 0.001, or other levels, the largest first.
    intervals : bool or {"wald", "profile"}
        Whether intervals of level 1 - alpha stand below the coefficients, instead of standard errors.
    exponentiate : bool
        exp(coef), which the notes name (odds ratios of a logit): with delta-method standard errors, or exp of the
        intervals; p-values stay those of coef = 0.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    digits : int
        Decimals; numbers below 10**(1 - digits) have as many significant digits.
    keep, drop : str or list of str, optional
        Coefficients or terms of the formula to show, in this order, or not to show; the notes say which are not.
    labels : mapping of str to str or "levels", optional
        Texts for names of coefficients; "levels": those of levels of factors as "sex: male". Coefficients that are
        called the same share a row, unless they compare different levels of a factor: those have rows of their own,
        "g[T.c] (against a)" and "g[T.c] (against b)".
    stats : list of str, optional
        Which of "model", "reference", "nobs", "events", "llf", "aic", "bic", "prsquared", "cov_type" stand below, in
        this order; by default those that at least one fit has.
    title : str, optional
    levels : bool, optional
        Whether each coefficient has a row. By default a term that has more than 50 in one of the fits, such as a factor
        of hundreds of levels, has one row in all, which says how many levels it has; with False each term of two or
        more.

    Returns
    -------
    RegressionTable
        `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`, `as_docx` and `to_frame`.

    Raises
    ------
    TypeError
        No fit, or what is none.
    ValueError
        Names that are no coefficient or term, labels that give two coefficients of a fit one row, other options that
        have no meaning.
    NotImplementedError
        exponentiate=True of a model whose exp(coef) is no ratio (Probit), or profile intervals of a fit that has none.

    Warns
    -----
    DataWarning
        Labels of no coefficient.

    Notes
    -----
    A cell is empty where a fit does not have the coefficient, "(omitted)" where its column repeats others. Where the
    maximum likelihood estimate is infinite it is "inf" or "-inf" (ratios: inf or 0), or "nan" with no sign, always
    without a standard error. Events are those of the rows' trials and frequency weights. Nothing is compared: `compare`
    tests nested fits of the same rows.

    See Also
    --------
    glmclf.compare : Log-likelihoods, criteria and tests of fits of the same rows.

    Examples
    --------
    >>> import glmclf
    >>> from glmclf import Logit, datasets
    >>> spector = datasets.load("spector")
    >>> small = Logit.from_formula("GRADE ~ GPA", spector).fit()
    >>> large = Logit.from_formula("GRADE ~ GPA + PSI", spector).fit()
    >>> print(glmclf.regression_table(small, large, stars=True, labels={"PSI": "Programme"}))
    ==============================================
                          (1)            (2)
                      P(GRADE = 1)   P(GRADE = 1)
    ----------------------------------------------
    Intercept           -9.703**      -11.602**
                        (3.671)        (4.213)
    GPA                  2.840*         3.063*
                        (1.127)        (1.223)
    Programme                           2.338*
                                       (1.041)
    ----------------------------------------------
    Model                Logit          Logit
    Observations           32             32
    Events                 11             11
    Log-likelihood      -16.209        -13.127
    AIC                  36.418         32.253
    BIC                  39.349         36.650
    Pseudo R-squared     0.213          0.363
    Covariance         nonrobust      nonrobust
    ==============================================
    <BLANKLINE>
    Standard errors in parentheses.
    * p < 0.05, ** p < 0.01, *** p < 0.001.
    """
    fits = [_Fit(res) for res in results]
    if not fits:
        raise TypeError("regression_table() needs at least one fit: regression_table(res1, res2, ...)")
    digits = check_whole("digits", digits, 0, most=15)
    form = _Form(_levels(stars), _interval(intervals), bool(exponentiate), check_alpha(alpha), digits)
    called = fit_names(names, len(fits))
    chosen = _Chosen.of(fits, keep, drop)
    for term in dict.fromkeys(term.name for fit in fits for term in folded(fit.res, levels)):
        for fit in fits:
            fit.fold(term, chosen)
    texts = _check_labels(labels, fits)
    for fit in fits:
        fit.check_labels(texts, chosen)
    called_rows = told_apart([(fit.owner._design, fit.names) for fit in fits], texts)
    coefficients = {label for rows in called_rows for label in rows.values()}
    for fit, rows in zip(fits, called_rows, strict=True):
        for name, whole in fit.folded.items():
            label = texts.get(whole.name, whole.name)
            rows[name] = f"{label} (levels)" if label in coefficients else label
    columns = [fit.columns(form, chosen, rows) for fit, rows in zip(fits, called_rows, strict=True)]
    flat = [column for some in columns for column in some]
    body, stubs = _body(flat, chosen.order(fits, flat, called_rows))
    below = _footer(fits, stats, form.digits)
    table = _table(body, stubs, below, called, columns, title)
    return RegressionTable(table, _notes(fits, called, form, chosen))


# ------------------------------------------------------------------------------------------------------- one fit
class _Fit:
    """Adapter from a result to the columns and statistics of a regression table."""

    def __init__(self, res: Any) -> None:
        self.given = res
        self.res = res.discriminant if hasattr(res, "llf_conditional") else res
        if not isinstance(self.res, WaldInference):
            raise no_result(res, "regression_table()")
        self.names = [str(name) for name in self.res.model.exog_names]
        self.levels = getattr(self.res, "_table_levels", None) or getattr(self.res.model, "_equations", None)
        self.owner = self.res._owner.model
        self.folded: dict[str, FoldedTerm] = {}  # terms in one row, by each of their coefficients

    @property
    def heads(self) -> list[str]:
        """Head of each column: the event, or a level."""
        return [self.owner._response.describe()] if self.levels is None else [plain(level) for level in self.levels]

    @cached_property
    def terms(self) -> dict[str, list[str]]:
        """Coefficients by term of the formula."""
        model, names = self.res.model, np.array(self.names, dtype=object)
        terms = getattr(model, "_regressor_terms", None) or model._terms
        return {str(term): names[part].tolist() for term, part in terms.items()}

    @cached_property
    def term_of(self) -> dict[str, set[str]]:
        """Terms by coefficient."""
        found: dict[str, set[str]] = {name: set() for name in self.names}
        for term, members in self.terms.items():
            for name in members:
                found[name].add(term)
        return found

    def fold(self, name: str, chosen: _Chosen) -> None:
        """Give the coefficients of a term one row, if the fit has it and none of them is asked for by its name."""
        for term in folded(self.res, False):
            members = [self.names[i] for i in term.columns]
            if term.name == name and not {*members} & {*(chosen.keep or ())}:
                self.folded |= dict.fromkeys(members, term)

    def check_labels(self, labels: Mapping[str, str], chosen: _Chosen) -> None:
        """Refuse labels that call two of the chosen coefficients the same."""
        shown = [labels.get(name, name) for name in self.names if chosen.has(self, name)]
        if len(set(shown)) == len(shown):
            return
        twice = next(label for label, count in Counter(shown).items() if count > 1)
        of = ", ".join(repr(name) for name in self.names if labels.get(name, name) == twice)
        raise ValueError(f"labels= calls {of} of one fit the same, {twice!r}: give each its own label")

    def columns(self, form: _Form, chosen: _Chosen, labels: dict[str, str]) -> list[_Column]:
        """Columns of the fit, with the chosen coefficients by label."""
        table, k, n = self._numbers(form), len(self.names), len(self.heads)
        gone = self.res._omitted if self.res._omitted is not None else np.zeros(n * k, dtype=bool)
        out = []
        for j, head in enumerate(self.heads):
            rows = zip(self.names, table[j * k : (j + 1) * k], gone[j * k : (j + 1) * k], strict=True)
            cells: dict[str, tuple[str, ...]] = {}
            for name, row, no in rows:
                if chosen.has(self, name):
                    term = self.folded.get(name)
                    cells[labels[name]] = form.cells(row, bool(no)) if term is None else (term.size, "")
            out.append(_Column(head, cells))
        return out

    def _numbers(self, form: _Form) -> np.ndarray:
        """Estimate, standard error, p-value and interval of each coefficient."""
        t = self.res.tidy(alpha=form.alpha, exponentiate=form.exponentiate)
        table = t[["estimate", "std_error", "p_value", "conf_low", "conf_high"]].to_numpy(dtype=float, copy=True)
        if form.intervals == "profile":
            ends = self.res.conf_int(form.alpha, method="profile").to_numpy(dtype=float)
            with np.errstate(over="ignore"):
                table[:, 3:] = np.exp(ends) if form.exponentiate else ends
        return table

    @property
    def pseudo(self) -> bool:
        """Whether the log-likelihood is a pseudo-likelihood."""
        return bool(getattr(self.owner, "_pseudo", False))

    @property
    def penalised(self) -> bool:
        """Whether the estimates are shrunk, and have posterior standard deviations at most."""
        return bool(getattr(self.given, "_regularised", False)) and not self.selected

    @property
    def selected(self) -> bool:
        """Whether a penalty chose the columns of a maximum likelihood fit."""
        return bool(getattr(self.given, "refitted", False))

    @property
    def constraints(self) -> list[str]:
        """Constraints on the estimates, as equations."""
        return list(getattr(self.given._owner, "constraints", []))

    def model(self) -> str:
        """Class of the model, with the method of estimation unless it is maximum likelihood."""
        kind = type(self.owner).__name__
        if hasattr(self.given, "results"):
            return f"{kind}, pooled"
        if self.constraints:
            return f"{kind}, constrained"
        how = getattr(self.given, "_estimator", "MLE")
        return kind if how == "MLE" or hasattr(self.given, "llf_conditional") else f"{kind}, {how}"

    def reference(self) -> str:
        """Reference level of the response."""
        free = self.levels is None or len(self.levels) == len(getattr(self.res, "levels", self.res.model.levels))
        return "" if free else plain(self.res.model.reference)

    def events(self) -> float:
        """Observations of the event; NaN where there is none, or rows are sampled with weights."""
        if self.levels is not None or self.pseudo:
            return np.nan
        with suppress(DataError, AttributeError):
            return self.owner._totals[0]
        single = self.owner._response.kind == "binary"  # without its rows a model of counts has no trials either
        return round(self.res._event_share * self.res.nobs) if single else np.nan


# ------------------------------------------------------------------------------------------------------- options
def _levels(stars: bool | Sequence[float]) -> tuple[float, ...]:
    if isinstance(stars, bool):
        return STARS if stars else ()
    levels: tuple[float, ...] = ()
    with suppress(TypeError, ValueError):  # a number, or a text as it is
        levels = tuple(float(level) for level in stars)
    if not levels or any(not 0 < level < 1 for level in levels) or sorted(levels, reverse=True) != list(levels):
        raise ValueError(f"stars={stars!r}: True, or levels between 0 and 1, the largest first, as (0.1, 0.05, 0.01)")
    return levels


def _interval(intervals: bool | str) -> str | None:
    if intervals in (True, "wald"):
        return "wald"
    if intervals is False or intervals == "profile":
        return intervals or None
    raise ValueError(f'intervals={intervals!r}: choose False, True, "wald" or "profile"')


def _check_labels(labels: Mapping[str, str] | str | None, fits: list[_Fit]) -> dict[str, str]:
    """Labels by coefficient, checked; warn of names that no fit has."""
    if isinstance(labels, str) and labels == LEVELS:
        return {name: text for fit in fits for name, text in level_labels(fit.owner._design, fit.names).items()}
    if labels is not None and not isinstance(labels, Mapping):
        raise ValueError(f'labels={labels!r}: a dict of names and their texts, as {{"x1": "Income"}}, or "levels"')
    known = list(dict.fromkeys(name for fit in fits for name in [*fit.names, *(t.name for t in fit.folded.values())]))
    unknown = [name for name in labels or {} if name not in known]
    if unknown:
        found = ", ".join(map(repr, unknown))
        warn(f"labels= names {found}, no coefficient of the fits: {', '.join(known)}", DataWarning)
    return dict(labels or {})


@dataclass
class _Chosen:
    """Choice of coefficients to show, by name or term."""

    keep: list[str] | None
    drop: list[str]

    @classmethod
    def of(cls, fits: list[_Fit], keep: str | Sequence[str] | None, drop: str | Sequence[str] | None) -> _Chosen:
        """Create the choice, checked against the coefficients and terms of all fits."""
        lists = [[option] if isinstance(option, str) else list(option or []) for option in (keep, drop)]
        known = list(dict.fromkeys(name for fit in fits for name in [*fit.names, *fit.terms]))
        for word, entries in zip(("keep", "drop"), lists, strict=True):
            unknown = [entry for entry in entries if entry not in known]
            if unknown:
                found = ", ".join(map(repr, unknown))
                raise ValueError(f"{word}= names {found}, no coefficient or term of the fits: {', '.join(known)}")
        return cls(None if keep is None else lists[0], lists[1])

    @staticmethod
    def _place(fit: _Fit, name: str, entries: list[str]) -> int | None:
        """Place of the first entry that names a coefficient or its term; None without one."""
        terms = fit.term_of[name]
        return next((i for i, entry in enumerate(entries) if entry == name or entry in terms), None)

    def has(self, fit: _Fit, name: str) -> bool:
        """Whether a coefficient is shown."""
        kept = self.keep is None or self._place(fit, name, self.keep) is not None
        return kept and self._place(fit, name, self.drop) is None

    def order(self, fits: list[_Fit], columns: list[_Column], labels: list[dict[str, str]]) -> list[str]:
        """Labels of the rows from all columns; a label new in a later column precedes its successor or is last."""
        order: list[str] = []
        for column in columns:
            there = [label for label in column.rows if label in order]
            for label in column.rows:
                if label not in order:
                    order.insert(order.index(there[0]) if there else len(order), label)
                elif there and label == there[0]:
                    there.pop(0)
        if self.keep is None:
            return order
        places: dict[str, int] = {}
        for fit, called in zip(fits, labels, strict=True):
            for name in fit.names:
                place, label = self._place(fit, name, self.keep), called[name]
                if place is not None:
                    places[label] = min(place, places.get(label, place))
        return sorted(order, key=lambda label: places[label])

    def hidden(self, fits: list[_Fit]) -> list[str]:
        """Terms of a fit that are not in the table, and hidden coefficients of terms of which some are shown."""
        out: dict[str, None] = {}
        for fit in fits:
            for term, members in fit.terms.items():
                gone = [name for name in members if not self.has(fit, name)]
                out |= dict.fromkeys([term] if len(gone) == len(members) > 0 else gone)
        return list(out)


# ------------------------------------------------------------------------------------------------------ the table
def _body(columns: list[_Column], order: list[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Rows of cells and their labels: two rows a coefficient, one where no fit has a second line."""
    rows: list[tuple[str, ...]] = []
    stubs = []
    for label in order:
        pairs = [column.rows.get(label, ("", "")) for column in columns]
        for i, line in enumerate(zip(*pairs, strict=True)):
            if i == 0 or any(line):
                rows.append(line)
                stubs.append("" if i else label)
    return rows, stubs


def _number(name: str, digits: int | None = None) -> Callable[[_Fit], str]:
    """Function that formats an attribute of a fit as text, empty where the fit has none."""

    def text(fit: _Fit) -> str:
        x = getattr(fit.res, name, np.nan)
        if np.isnan(x):
            return ""
        return f"{x:.{digits}f}" if digits is not None else f"{x:g}" if x != int(x) else f"{int(x)}"

    return text


def _stats(digits: int) -> dict[str, tuple[str, Callable[[_Fit], str]]]:
    """Label and text of each line below the coefficients."""
    return {
        "model": ("Model", _Fit.model),
        "reference": ("Reference", _Fit.reference),
        "nobs": ("Observations", _number("nobs")),
        "events": ("Events", lambda fit: "" if np.isnan(fit.events()) else f"{fit.events():.15g}"),
        "llf": ("Log-likelihood", _number("llf", digits)),
        "aic": ("AIC", _number("aic", digits)),
        "bic": ("BIC", _number("bic", digits)),
        "prsquared": ("Pseudo R-squared", _number("prsquared", digits)),
        "cov_type": ("Covariance", lambda fit: str(fit.res.cov_type)),
    }


def _footer(fits: list[_Fit], stats: Sequence[str] | None, digits: int) -> list[tuple[str, list[str]]]:
    """Lines below the coefficients, a text a fit."""
    known = _stats(digits)
    wanted = list(known) if stats is None else [stats] if isinstance(stats, str) else list(stats)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"stats= has {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    lines = [(label, [text(fit) for fit in fits]) for label, text in (known[name] for name in wanted)]
    return [line for line in lines if stats is not None or any(line[1])]


def _table(
    rows: list[tuple[str, ...]],
    stubs: list[str],
    below: list[tuple[str, list[str]]],
    names: list[str],
    columns: list[list[_Column]],
    title: str | None,
) -> Any:
    """Table with a group of columns for each fit."""
    sizes = [len(some) for some in columns]
    spread = [tuple(x for t, n in zip(texts, sizes, strict=True) for x in (t, *[""] * (n - 1))) for _, texts in below]
    heads = [column.head for some in columns for column in some]
    labels = [*stubs, *(label for label, _ in below)]
    table = table_classes()["Table"]([*rows, *spread], heads, labels, title=title)
    top = [x for name, n in zip(names, sizes, strict=True) for x in (plain(name), *[""] * (n - 1))]
    table.insert(0, ["", *top], datatype="header")
    spans = (1, *sizes)
    ruled = 2 + len(rows)
    table.spans = {0: spans, **{ruled + i: spans for i in range(len(below))}}
    table.rules, table.align = ((ruled,) if below and rows else ()), "c"
    table.widths = (0, *(width(head) + 2 for head in heads))
    return table


def _notes(fits: list[_Fit], names: list[str], form: _Form, chosen: _Chosen) -> list[str]:
    """Notes below the table: the meaning of the cells, and remarks on each fit."""
    ratios = dict.fromkeys(f"{ratio_name(fit.res)}s" for fit in fits)
    notes = [f"Exponentiated coefficients ({', '.join(ratios)})."] if form.exponentiate else []
    kind = "Profile likelihood intervals" if form.intervals == "profile" else "Intervals"
    errors = "Standard errors (delta method)" if form.exponentiate else "Standard errors"
    level = f"{100 * (1 - form.alpha):.10g} %"
    notes.append(f"{kind} of level {level} in brackets." if form.intervals else f"{errors} in parentheses.")
    if form.stars:
        marks = (f"{'*' * (i + 1)} p < {level:g}" for i, level in enumerate(form.stars))
        notes.append(f"{', '.join(marks)}.")
    references = [fit.reference() for fit in fits]
    if len({*references} - {""}) > 1:
        pairs = (f"{name} {level}" for name, level in zip(names, references, strict=True) if level)
        notes.append(f"Levels of the response are against different references: {', '.join(pairs)}.")
    for fit, name in zip(fits, names, strict=True):
        notes += [f"{name}: {text}" for text in _remarks(fit)]
    terms = dict.fromkeys(t.name for fit in fits for name, t in fit.folded.items() if chosen.has(fit, name))
    if terms:
        notes.append(f"One row for all coefficients of {', '.join(terms)}: levels=True shows each.")
    hidden = chosen.hidden(fits)
    return [*notes, f"Not shown: {', '.join(hidden)}."] if hidden else notes


def _remarks(fit: _Fit) -> list[str]:
    """Remarks on a fit: convergence, separation, pseudo-likelihood, penalty, selection, constraints."""
    out, theta = [], np.asarray(fit.res.params, dtype=float)
    if not getattr(fit.given, "converged", True):
        out.append("did NOT converge; the estimate is no maximum.")
    if np.isinf(theta).any() or getattr(fit.given, "separation", None) is not None:
        out.append("the maximum likelihood estimate is infinite (separation); finite coefficients are the limit.")
    if fit.pseudo and not fit.penalised and hasattr(fit.given, "llf"):
        out.append("the log-likelihood is a pseudo-likelihood, which has no AIC and BIC.")
    if hasattr(fit.given, "llf_conditional"):
        out.append("coefficients of the implied logit; log-likelihood of the response given the features.")
    if fit.penalised:
        spread = np.isfinite(np.asarray(fit.res.bse, dtype=float)).any()
        out.append(f"penalised: {'posterior standard deviations' if spread else 'no standard errors'}, no tests.")
    if fit.selected:
        out.append("columns that a penalty selected, by maximum likelihood; errors and p-values ignore the selection.")
    if fit.constraints:
        out.append(f"under the constraint{'s' * (len(fit.constraints) > 1)} {', '.join(fit.constraints)}.")
    return out
