"""What was found: summaries, ratios with their forest plot, fits side by side, adjusted predictions, the check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glmclf import plots
from glmclf.inference.hypotheses.wald import CONSTANTS
from glmclf.plots import labelling
from glmclf.plots.forest import END_COLUMNS, UNKNOWN
from glmclf.plots.predicted import values_of
from glmclf.reports.blocks import Section, Subheading, Verbatim, Words, listed, sentence, table_of
from glmclf.reports.modelled import described
from glmclf.results.comparison.compare import compare
from glmclf.results.comparison.regression_table import OMITTED, regression_table
from glmclf.results.performance.findings import FINE, LOOK, PROBLEM, unbroken
from glmclf.results.requires import Kind, has_rows, is_of
from glmclf.results.tables.folding import folded
from glmclf.results.tables.frames import per_unit, ratio_name
from glmclf.results.tables.numbers import number, ratio, value_text

MAX_COEFFICIENTS = 40  # rows of a table of ratios and of its forest plot
MAX_EQUATIONS = 12  # levels of a response whose coefficients are drawn
MAX_VARIABLES = 4  # variables whose adjusted predictions are drawn unasked
MANY_VARIABLES = 100  # variables of which none are drawn unasked
MAX_LEVELS_DRAWN = 30  # levels of a factor at which predictions are drawn
DRAWN_AT, LISTED_AT = 25, 5  # values of a number at which predictions are drawn, and listed
MAX_AVERAGED = 2_000_000  # numbers of the design, times pairs of equations, that are averaged over at each value


class Asked(NamedTuple):
    """What a report was asked for.

    Attributes
    ----------
    fits : dict
        Results by name.
    alpha : float
    units : dict
        Changes of regressors that ratios are of.
    variables : list of str or None
        Of adjusted predictions.
    reps : int or None
        Of the validation.
    seed : int
    sections : tuple of str
        Names of all sections of the report.
    """

    fits: dict[str, Any]
    alpha: float
    units: Mapping[str, float]
    variables: Sequence[str] | None
    reps: int | None
    seed: Any
    sections: tuple[str, ...]


def headings(section: Section, asked: Asked) -> Iterator[Any]:
    """Iterate over the fits, with a heading each where there are several."""
    for name, res in asked.fits.items():
        if len(asked.fits) > 1:
            section.blocks.append(Subheading(name))
        yield res


def p_text(p: float) -> str:
    """A p-value as papers print it; nothing for NaN."""
    return "" if np.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


# ----------------------------------------------------------------------------------------------------- summaries
def summaries(section: Section, asked: Asked) -> None:
    """Summary of each fit; notes are in the section on what was modelled, if the report has that."""
    for name, res in asked.fits.items():
        found = section.ask("The summary", res.summary, alpha=asked.alpha, date=False)
        if found is None:
            continue
        section.show(*found.tables, summary=name if len(asked.fits) > 1 else "")
        told = set(res._notes()) if "model" in asked.sections else set()
        notes = [line.partition("] ")[2] for line in found._notes() if line.startswith("[")]
        section.list(note for note in notes if note not in told)


# ---------------------------------------------------------------------------------------------------- coefficients
def effects(section: Section, asked: Asked) -> None:
    """Ratios of each fit, or coefficients where exp(b) is no ratio, with intervals, and all in one forest plot."""
    inner = {name: getattr(res, "discriminant", res) for name, res in asked.fits.items()}
    names = {ratio_name(res) for res in inner.values()}
    shown: dict[str, None] = {}
    for name, res in inner.items():
        if len(inner) > 1:
            section.blocks.append(Subheading(name))
        shown |= dict.fromkeys(_table_of_effects(section, res, asked))
    if not shown:
        return
    if len({*names}) > 1 or any(len(labelling.levels(res)) > MAX_EQUATIONS + 1 for res in inner.values()):
        why = "coefficients differ in kind" if len(names) > 1 else f"there are more than {MAX_EQUATIONS} equations"
        section.remark(f"The forest plot is left out: {why}.")
        return
    exponentiate = names != {""}
    per_one = any(is_of(res, Kind.OTHER_RATIO) for res in inner.values())  # odds_ratios, which plots ask, refuses them
    units = {} if per_one else {name: size for name, size in asked.units.items() if name in shown}
    section.draw(
        "The forest plot",
        f"{_kind(next(iter(names)))}{', of one unit,' * (per_one and bool(asked.units))} with "
        f"{labelling.percent(asked.alpha)} intervals.",
        plots.coefficients,
        inner if len(inner) > 1 else next(iter(inner.values())),
        exponentiate,
        alpha=asked.alpha,
        which=list(shown),
        units=units or None if exponentiate else None,
    )


def _kind(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}s" if name else "Coefficients"


def _table_of_effects(section: Section, res: Any, asked: Asked) -> list[str]:
    """Add the table of a fit, and return the names of the coefficients in it."""
    name = ratio_name(res)
    frame = section.ask("The table of coefficients", _frame, res, asked)
    if frame is None:
        return []
    terms = folded(res, None)
    inside = {res.model.exog_names[int(i)] for term in terms for i in term.columns}
    every = list(dict.fromkeys(map(str, frame.index.get_level_values(-1))))
    rest = [one for one in every if one not in CONSTANTS and one not in inside]
    rest = rest or [one for one in every if one not in inside]
    kept = _largest(frame, rest) if len(rest) > MAX_COEFFICIENTS else rest
    if getattr(res, "_parent", None) is not None:
        section.say("Coefficients are those of the logit that the laws of the classes imply.")
    if name:
        against: list[Words] = []
        if is_of(res, Kind.SYMMETRIC):
            against = [" against the geometric mean of all levels,"]
        elif labelling.levels(res):
            against = [" against ", Verbatim(str(labelling.plain(res.model.reference))), ","]
        unit = " is of one unit of a regressor, all others being equal."
        section.say(f"The {name}, exp(b),", *against, unit, *_per(asked, kept))
    else:
        section.say(f"exp(b) of {type(res.model).__name__} is no ratio: here are the coefficients themselves.")
        if asked.units:
            section.remark("They are of one unit: units= is of ratios.")
    if terms:
        what = ", ".join(f"{term.name} ({term.size})" for term in terms)
        section.remark("Coefficients of large terms are not listed: ", Verbatim(what), ".")
    if len(kept) < len(rest):
        section.remark(
            f"Of {len(rest):,} coefficients the {len(kept)} that are largest beside their standard errors are listed "
            "(by size where there are none); tidy() of the result has all."
        )
    for level, part in _equations(frame):
        title = "" if level is None else f"{res.model.endog_names} = {labelling.plain(level)}"
        rows = part.loc[[one for one in kept if one in part.index]]
        section.show(_effect_table(rows, name, asked, title))
    return kept


def _frame(res: Any, asked: Asked) -> pd.DataFrame:
    """Estimates, ends of intervals and p-values, exponentiated where that is a ratio, then of `asked.units`."""
    table = res.summary_frame(alpha=asked.alpha)
    found = pd.DataFrame(index=table.index)
    for column, name in (("estimate", "coef"), ("low", END_COLUMNS[0]), ("high", END_COLUMNS[1])):
        found[column] = table[name].to_numpy(dtype=float) if name in table else np.nan
    tests = [name for name in table.columns if name.startswith("P>|")]
    found["p"] = table[tests[0]].to_numpy(dtype=float) if tests else np.nan
    statistic = [name for name in table.columns if name in ("z", "t")]
    found["size"] = np.abs(table[statistic[0] if statistic else "coef"].to_numpy(dtype=float))
    omitted = getattr(res, "_omitted", None)
    found["omitted"] = False if omitted is None else np.asarray(omitted, dtype=bool)
    if ratio_name(res):
        sizes = np.array([asked.units.get(name, 1.0) for name in table.index.get_level_values(-1)], dtype=float)
        ends = np.sort(found[["low", "high"]].to_numpy() * sizes[:, None], axis=1)  # a negative unit changes them
        with np.errstate(over="ignore"):
            found["estimate"] = np.exp(found["estimate"].to_numpy() * sizes)
            found["low"], found["high"] = np.exp(ends).T
    return found


def _largest(frame: pd.DataFrame, names: list[str]) -> list[str]:
    """The coefficients of the largest size in any equation, in their own order."""
    sizes = frame["size"].groupby(frame.index.get_level_values(-1), sort=False).max().reindex(names)
    top = set(sizes.sort_values(ascending=False, kind="stable").index[:MAX_COEFFICIENTS])
    return [name for name in names if name in top]


def _equations(frame: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Levels, None of an event, with the rows of their equations, the first twelve."""
    if not isinstance(frame.index, pd.MultiIndex):
        return [(None, frame)]
    levels = list(dict.fromkeys(frame.index.get_level_values(0)))[:MAX_EQUATIONS]
    return [(level, frame.xs(level, level=0)) for level in levels]


def _per(asked: Asked, kept: list[str]) -> list[Words]:
    sizes = {name: size for name, size in asked.units.items() if name in kept}
    if not sizes:
        return []
    return [" Of other units are ", *listed([per_unit(name, size) for name, size in sizes.items()]), "."]


def _effect_table(rows: pd.DataFrame, name: str, asked: Asked, title: str) -> Any:
    form = ratio if name else number
    level = labelling.percent(asked.alpha)
    heads = [name or "coefficient", f"{level} interval", "p"]
    cells, stubs = [], []
    for label, b, low, high, p, omitted in zip(
        rows.index, *(rows[c] for c in ("estimate", "low", "high", "p", "omitted")), strict=True
    ):
        ends = "" if np.isnan([low, high]).all() else f"{form(low).strip()} to {form(high).strip()}"
        estimate = OMITTED if omitted else UNKNOWN if np.isnan(b) else form(b).strip()
        cells.append((estimate, ends, p_text(p)))
        stubs.append(per_unit(label, asked.units.get(label, 1)) if name else str(label))
    used = [j for j in range(3) if j == 0 or any(row[j] for row in cells)]
    return table_of([heads[j] for j in used], stubs, [[row[j] for j in used] for row in cells], title)


# -------------------------------------------------------------------------------------------------- side by side
def side_by_side(section: Section, asked: Asked) -> None:
    """Coefficients of several fits in one table, their criteria and tests, their ROC curves."""
    fits, names = list(asked.fits.values()), list(asked.fits)
    if len(fits) < 2:
        section.remark("There is one fit, with nothing beside it.")
        return
    found = section.ask("The table of coefficients", regression_table, *fits, names=names, intervals=True)
    if found is not None:
        section.show(*found.tables)
        section.list(found._notes())
    criteria = section.ask("The comparison of criteria", compare, *fits, names=names)
    if criteria is not None:
        section.say("Criteria of the fits. LR is the likelihood ratio test against the row before, if nested.")
        section.show(_criteria(criteria))
    section.draw("The plot of ROC curves", "ROC curves with areas under them.", plots.roc, asked.fits)


def _criteria(table: pd.DataFrame) -> Any:
    forms = {"llf": "{:.2f}", "parameters": "{:.6g}", "nobs": "{:.10g}", "aic": "{:.2f}", "bic": "{:.2f}"}
    forms |= {"LR": "{:.2f}", "df": "{:.6g}"}
    rows = []
    for _, row in table.iterrows():
        cells = ["" if np.isnan(row[c]) else form.format(row[c]) for c, form in forms.items()]
        rows.append([str(row["model"]).partition(":")[0], *cells, p_text(row["pvalue"])])
    return table_of(["model", *forms, "p"], [str(name) for name in table.index], rows)


# --------------------------------------------------------------------------------------------------- predictions
def predictions(section: Section, asked: Asked) -> None:
    """Adjusted predictions over the first variables of the formula, or those asked for."""
    for res in headings(section, asked):
        _predictions_of(section, res, asked)


def _predictions_of(section: Section, res: Any, asked: Asked) -> None:
    every = section.ask("The plot of adjusted predictions", variables_of, res)
    if not every:
        if every is not None:
            section.remark("There are no adjusted predictions: the model has no variable.")
        return
    if asked.variables is None and len(every) > MANY_VARIABLES:
        section.remark(f"Adjusted predictions of {len(every):,} variables are not drawn: variables= names some.")
        return
    given = None if asked.variables is None else [name for name in asked.variables if name in every]
    names = every[:MAX_VARIABLES] if given is None else given
    if given is None and len(every) > len(names):
        section.remark(
            f"Of {len(every):,} variables the first {len(names)} of the formula are drawn; variables= names others."
        )
    numbers = res.nobs * len(res.model.exog_names) * max(1, len(labelling.levels(res)) - 1) ** 2
    at = "overall" if has_rows(res) and numbers <= MAX_AVERAGED else "mean"
    what = {
        "overall": "probabilities are averaged over the rows, in which all other variables are as observed",
        "mean": "all other variables are at their means, factors at the shares of their levels",
    }
    levels = labelling.levels(res)
    if len(levels) > MAX_EQUATIONS:
        section.remark(f"Of {len(levels):,} levels of the response the first {MAX_EQUATIONS} are drawn and listed.")
    started = False
    for name in names:
        table = section.ask(f"The table of predictions over {name}", _listed_at, res, name, at, asked.alpha)
        if table is None:
            continue
        if not started:
            section.say(f"Predicted probabilities with {labelling.percent(asked.alpha)} intervals: {what[at]}.")
            started = True
        section.draw(
            f"The plot over {name}",
            f"{described(res)} over {name}.",
            plots.probabilities,
            res,
            name,
            at=at,
            points=DRAWN_AT,
            levels=levels[:MAX_EQUATIONS] or None,
            alpha=asked.alpha,
            beside=[table],
        )


def variables_of(res: Any) -> list[str]:
    """Variables of the formula, over which there are adjusted predictions."""
    return res._margin_source().variables


def _listed_at(res: Any, name: str, at: str, alpha: float) -> Any:
    """Table of predictions at the levels of a factor, or at five values of a number; many classes have rows."""
    values, _ = values_of(res._margin_source(), name, None, LISTED_AT, None)
    if len(values) > MAX_LEVELS_DRAWN:
        raise ValueError(f"{name} has {len(values):,} levels; predictions() has them")
    table = res.predictions({name: values}, at).summary_frame(alpha)
    levels = labelling.levels(res) or [None]
    columns = table[["predicted", "ci_lower", "ci_upper"]].to_numpy(dtype=float).reshape(len(levels), len(values), 3)
    rows = [[_with_ends(*cell) for cell in row[:MAX_EQUATIONS]] for row in columns.transpose(1, 0, 2)]
    heads = [labelling.probability(res, level) for level in levels[:MAX_EQUATIONS]]
    stubs = [f"{name} = {value_text(v)}" for v in values]
    if len(heads) > max(LISTED_AT, len(stubs)):
        return table_of(stubs, heads, list(zip(*rows)))
    return table_of(heads, stubs, rows)


def _with_ends(p: float, low: float, high: float) -> str:
    """A probability with its interval, as far as they are known."""
    if np.isnan(p):
        return UNKNOWN
    if np.isnan([low, high]).any():
        return _share(p)
    return f"{_share(p)} ({_share(low)} to {_share(high)})"


def _share(p: float) -> str:
    """A probability with three decimals, none of which rounds to 0 or 1."""
    return "<0.001" if 0 < p < 0.001 else ">0.999" if 0.999 < p < 1 else f"{p:.3f}"


# --------------------------------------------------------------------------------------------------------- check
def checks(section: Section, asked: Asked) -> None:
    """Verdicts of `check` of each fit, its figure, and what each check found."""
    for res in headings(section, asked):
        found = section.ask("The check", res.check, alpha=asked.alpha)
        if found is None:
            continue
        section.say(*_verdicts(found.table))
        section.draw("The figure of the check", "Each panel says what is seen, and a verdict.", plots.check, found)
        table = found.table
        rows = table[["found", "verdict", "threshold"]].assign(found=table["found"].map(unbroken)).to_numpy().tolist()
        heads = ["found", "verdict", "threshold of a look, a problem"]
        section.show(table_of(heads, list(table.index), rows, text=True))
        section.list(
            f"{name} is left out: {sentence(why.removeprefix(f'{name}: '))}"
            for name, why in found.left_out.items()
            if not why.startswith(f"{name} is of ")  # other models
        )


def _verdicts(table: pd.DataFrame) -> list[Words]:
    """Sentence with the number of checks of each verdict, and their names unless they are fine."""
    judged = table[table["verdict"] != ""]
    if set(table["panel"]) == {"estimate"}:
        return [f"Only the estimate could be looked at ({table['found'].iloc[0]}: {table['verdict'].iloc[0]})."]
    words: list[Words] = [f"Of {len(judged)} checks {(judged['verdict'] == FINE).sum()} found nothing to mend"]
    for verdict, one, many in ((LOOK, "asks for a look", "ask for a look"), (PROBLEM, "is a problem", "are problems")):
        names = list(judged.index[judged["verdict"] == verdict])
        if names:
            words += [f"; {len(names)} {one if len(names) == 1 else many}: ", *listed(names)]
    return [*words, "."]
