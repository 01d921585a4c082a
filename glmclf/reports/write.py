"""Function `report`: chooses sections, asks results for their content, and writes the file."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from glmclf.checks import check_choice, check_whole, either, first_of, is_number, true_or_false
from glmclf.errors import DataError
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.plots import labelling
from glmclf.reports import citation, figures, findings, validated
from glmclf.reports.blocks import Listing, Section, table_of
from glmclf.reports.findings import Asked
from glmclf.reports.modelled import describe_model, described, title_of
from glmclf.reports.page import html_page
from glmclf.reports.quarto import markdown_text
from glmclf.results.base import Results
from glmclf.results.saving import file_name, replace_file, write_text

FORMS = ("html", "markdown")
FORM_OF = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".qmd": "markdown"}
SEED = 0  # of the validation


def _models(section: Section, asked: Asked) -> None:
    for res in findings.headings(section, asked):
        describe_model(section, res)


def _cite(section: Section, _: Asked) -> None:
    section.say(citation.reference())
    section.blocks.append(Listing(citation.bibtex()))
    section.say("The numbers were computed with these versions.")
    found = citation.versions()
    section.show(table_of(["version"], list(found), [[version] for version in found.values()]))


#: title of each section, and what writes it, in the order of a report
SECTIONS: Mapping[str, tuple[str, Callable[[Section, Asked], None]]] = {
    "model": ("What was modelled, and what was left out", _models),
    "comparison": ("Fits side by side", findings.side_by_side),
    "summary": ("Summary", findings.summaries),
    "effects": ("Coefficients and ratios", findings.effects),
    "predictions": ("Adjusted predictions", findings.predictions),
    "check": ("Check of the fit", findings.checks),
    "validation": ("Performance and its validation", validated.validation),
    "citation": ("How to cite, and versions", _cite),
}


@true_or_false
def report(
    results: Any,
    path: Any,
    *,
    format: str | None = None,
    names: Sequence[str] | None = None,
    sections: Sequence[str] | None = None,
    title: str | None = None,
    alpha: float = 0.05,
    units: Mapping[str, float] | None = None,
    variables: Sequence[str] | None = None,
    reps: int | None = None,
    seed: int = SEED,
    date: bool = True,
) -> None:
    """Write a report of one fit, or of several side by side: one HTML file, or Markdown with pictures.

    Parameters
    ----------
    results : result, list of results or dict of them by name
        Of `fit` and the like, of any model.
    path : str, path or open file
        Where: ``.html`` for one file that needs no network and runs no script; ``.md`` or ``.qmd`` for Markdown with
        its figures as PNG in the folder ``<name>_files`` beside it. Files of these names are replaced once all is
        written. An open file takes HTML.
    format : {"html", "markdown"}, optional
        By default what the name of the file says.
    names : list of str, optional
        What to call several results.
    sections : list of str, optional
        Of "model", "comparison", "summary", "effects", "predictions", "check", "validation" and "citation", in the
        order wanted; all by default.
    title : str, optional
        By default the model and its response.
    alpha : float
        One minus the level of the intervals, in (0, 1).
    units : dict, optional
        Changes of regressors that ratios are of, as in `odds_ratios`: ``{"age": 10}``.
    variables : list of str, optional
        Of adjusted predictions, by default the first four of the formula.
    reps : int, optional
        Bootstrap samples of the validation. By default 200, of large data fewer, 20 at least; where a single fit takes
        more than some seconds the validation is left out unless `reps` is given.
    seed : int
        Of the validation.
    date : bool
        Whether the report has date and time. Without them the same fit has the same file, byte for byte.

    Raises
    ------
    ValueError
        An unknown section or form; a name of a file that says neither form.
    TypeError
        What is no result of a fit.
    DataError
        A name in `units` or `variables` that no result has.
    OSError
        The file cannot be written.

    Notes
    -----
    What a fit cannot have, as a validation without its rows, is left out with a sentence that says why. Numbers are
    those of the results' own methods with their usual options. Of wide fits tables have the first 200 rows, ratios are
    those of the 40 coefficients that are largest beside their standard errors, and adjusted predictions of large data
    are those of an average row. Figures need matplotlib; without it a report has none.

    Examples
    --------
    >>> import io, glmclf
    >>> from glmclf import Logit, datasets
    >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
    >>> file = io.StringIO()
    >>> glmclf.report(res, file, sections=["model", "summary"], date=False)
    >>> "All 32 rows were used." in file.getvalue()
    True
    """
    fits = labelling.results_of(results, names, "report", ("report",))
    for res in fits.values():
        if not isinstance(res, Results):
            raise TypeError(f"report() is of results of fit(); found {type(res).__name__}")
    form = report_form(path, format)
    chosen = _chosen(sections, len(fits))
    _check_names("units", units, _coefficients, fits.values())
    _check_names("variables", variables, findings.variables_of, fits.values())
    for name, size in (units or {}).items():
        if not is_number(size) or not math.isfinite(size) or size == 0:
            raise ValueError(f"units={{{name!r}: {size!r}}}: the size of a change is a finite number other than zero")
    if reps is not None:
        reps = check_whole("reps", reps, 1)
    asked = Asked(fits, check_alpha(alpha), dict(units or {}), variables, reps, check_whole("seed", seed, 0), chosen)
    title = _title(list(fits.values())) if title is None else str(title)
    moment = time.strftime("%d %B %Y, %H:%M") if date else ""
    with figures.drawing():
        written = [_written(name, asked) for name in chosen]
        if form == "html":
            return write_text(path, html_page(title, moment, written))
        _write_markdown(path, title, moment, written)


def _title(fits: list[Any]) -> str:
    """Title of a report: that of a fit, and of several what they have in common."""
    first = title_of(fits[0])
    if len(fits) == 1:
        return first
    same = {title_of(res) for res in fits} == {first}
    return f"{first}: {len(fits)} fits" if same else f"{len(fits)} fits of {described(fits[0])}"


def _written(name: str, asked: Asked) -> Section:
    title, write = SECTIONS[name]
    section = Section(name, title)
    write(section, asked)
    return section


def report_form(path: Any, form: str | None) -> str:
    """Form of a report: the one asked for, or what the name of the file says."""
    if form is not None:
        check_choice("format", form, FORMS)
    if hasattr(path, "write"):
        if form == "markdown":
            raise ValueError('format="markdown" has its pictures in a folder beside it: give the name of a file')
        return "html"
    name = file_name(path)
    suffix = os.path.splitext(name)[1].lower()
    if form is None and suffix not in FORM_OF:
        raise ValueError(f"{name!r}: the name of a report ends in {either(FORM_OF)}")
    return form or FORM_OF[suffix]


def _chosen(sections: Sequence[str] | None, fits: int) -> tuple[str, ...]:
    if sections is None:
        return tuple(name for name in SECTIONS if fits > 1 or name != "comparison")
    if isinstance(sections, str) or not isinstance(sections, Iterable):
        raise TypeError(f"sections={sections!r}: a list of names, [{sections!r}]")
    for name in sections:
        check_choice("sections", name, SECTIONS)
    if not sections:
        raise ValueError(f"sections= is empty: choose of {either(SECTIONS)}")
    return tuple(dict.fromkeys(sections))


def _coefficients(res: Any) -> list[str]:
    return list(getattr(res, "discriminant", res).model.exog_names)


def _check_names(keyword: str, given: Any, names: Callable[[Any], list[str]], fits: Iterable[Any]) -> None:
    if keyword == "units" and not (given is None or isinstance(given, Mapping)):
        raise TypeError(f'units={given!r}: a dict of sizes by name, {{"age": 10}}')
    if isinstance(given, str) or not (given is None or isinstance(given, Iterable)):
        raise TypeError(f"{keyword}={given!r}: a list of names, [{given!r}]")
    if given:
        known = list(dict.fromkeys(name for res in fits for name in names(res)))
        for name in given:
            if name not in known:
                raise DataError(f"{keyword}=: no result has {name!r}; there are {first_of(known)}")


def _write_markdown(path: Any, title: str, moment: str, sections: Sequence[Section]) -> None:
    """Write the pictures and then the text, each beside what it replaces."""
    place = os.path.realpath(os.fsdecode(path))
    folder = f"{os.path.splitext(place)[0]}_files"
    text, pictures = markdown_text(title, moment, sections, quote(os.path.basename(folder)))
    if pictures:
        os.makedirs(folder, exist_ok=True)
    for name, picture in pictures.items():
        replace_file(os.path.join(folder, name), picture)
    write_text(place, text)
