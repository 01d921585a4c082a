"""Features for naive Bayes, read by a formula over a source or a table in memory, or from arrays."""

from __future__ import annotations

import itertools
import keyword
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from glmclf.data.design.feature_design import MISSING_LEVEL, Feature, FeatureDesign
from glmclf.data.design.feature_terms import FAMILIES, Families, choose_terms
from glmclf.data.formula import expressions
from glmclf.data.formula.dialects import hinting
from glmclf.data.formula.factors import BUILTINS
from glmclf.data.formula.parse import no_features, parse_formula
from glmclf.data.reading.bind import bind
from glmclf.data.reading.feature_builder import Builder
from glmclf.data.reading.feature_reader import ALONE, FeatureReader
from glmclf.data.reading.read import ReadParts, computed, refuse_response, responded, say_left_out, surveyed, variables
from glmclf.data.source.base import Source
from glmclf.data.source.one_table import OneTable
from glmclf.data.table.frame import close_to, quoted
from glmclf.data.table.rows import ReadTable, Respond, check_missing_option, columns_beside, no_trials
from glmclf.errors import DataError

__all__ = ["FAMILIES", "MISSING_LEVEL", "Feature", "FeatureDesign", "read_features"]

FEATURE_MISSING = ("skip", "drop", "raise", "level", "none")


def read_features(
    formula: str,
    data: Any,
    *,
    namespace: Mapping[str, Any] | None = None,
    subset: Any = None,
    missing: str = "skip",
    extras: Mapping[str, Any] | None = None,
    response: Respond,
    restricted: bool = False,
    families: Mapping[str, str] | str | None = None,
    multinomial: Sequence[str] | str | None = None,
    pooled: bool = False,
    smoothed: bool = False,
    check: Callable | None = None,
) -> ReadTable | ReadParts:
    """Read the features that a formula names, each as it is: numbers, codes of levels, or counts.

    Parameters
    ----------
    formula : str
        patsy's language. The intercept does not matter; ``a:b`` of categories is one table over their crossed levels,
        which absorbs ``a`` and ``b``; cells and levels without rows are left out, but for the two of a bool.
    data, namespace, subset, extras, response, restricted
        As in `glmclf.data.reading.read.read_formula`.
    missing : {"skip", "drop", "raise", "level", "none"}
        "skip": rows without response or weight go, a missing feature stays missing; "level": likewise, and missing is a
        level of categories; the others as in `glmclf.data.reading.read.read_formula`.
    families : dict or str, optional
        Family of a feature by term or column, or of all: one of `FAMILIES`. By default bools, and numbers that are
        all 0 or 1, are bernoulli, labels and ``C()`` categorical, other numbers gaussian.
    multinomial : list of str or "all", optional
        Columns of counts that make one block; where the formula names them, they are of the block alone.
    pooled : bool
        Gaussian features have one variance for all classes, hence T = x.
    smoothed : bool
        Levels that a column declares stay without rows, as smoothing gives them a probability.
    check : callable, optional
        ``check(features, values, index)``, called for each part that is read.

    Returns
    -------
    ReadTable or ReadParts
        `design` is a FeatureDesign; of a table in memory `values` are its features on the kept rows.

    Raises
    ------
    FormulaError, MissingDataError, DataError, NotImplementedError
        Naming what was found, where, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from glmclf.data.reading.features import read_features
    >>> data = pd.DataFrame({"y": ["u", "v", "u"], "x": [1.5, np.nan, 2.0], "g": ["a", "b", None]})
    >>> sample = read_features("y ~ x + g", data, response=lambda names, values: None)
    >>> [(f.name, f.family, f.xnames) for f in sample.design.features]
    [('x', 'gaussian', ('x', 'x^2')), ('g', 'categorical', ('g[T.b]',))]
    >>> [v.tolist() for v in sample.values]
    [[1.5, nan, 2.0], [0, 1, -1]]
    """
    check_missing_option(missing, FEATURE_MISSING)
    source = data if isinstance(data, Source) else OneTable(data)
    names = lambda: source.first().columns  # noqa: E731
    parsed = parse_formula(formula, intercept=True, columns=names, beside=columns_beside(extras, source.first()))
    formula = parsed.formula
    plain = list(itertools.chain(*parsed.right))
    block = counts_of(multinomial, list(source.first().columns), plain)
    right, given = list(dict.fromkeys([*plain, *block])), {"subset": subset, "extras": extras}
    with hinting(formula, names):
        fields = bind(source, parsed.left, right, namespace=namespace, restricted=restricted, **given)
    bound, notes = fields["bound"], list[str]()
    refuse_response(list(parsed.left), right, bound)
    terms = choose_terms([codes for codes in parsed.right if codes], block, bound, {}, notes)
    asked = Families(families, pooled, smoothed)
    alone = [(t.codes[0], t) for t in terms if len(t.codes) == 1]
    reader = FeatureReader(
        **fields,
        missing="drop" if missing in ALONE else missing,
        how=missing,
        labels=frozenset(c for c, t in alone if asked.of(t.name, t, bound[c].columns) == "categorical"),
        tables=tuple(t.codes for t in terms if len(t.codes) > 1 and not t.block),
        check=check,
    )
    survey = surveyed(source, reader)
    say_left_out(source, reader, survey)
    made = responded(response, source, reader, survey)
    notes += no_trials(survey.no_trials)
    builder = reader.builder(source, survey, asked, notes)
    features = builder.features(terms)
    if not any(feature.width for feature in features):
        raise no_features(formula, [term.name for term in terms])
    columns = variables(builder.factors, survey)
    design = FeatureDesign(features, formula, " + ".join(parsed.left), builder.factors, columns, missing)
    check_names(design)
    notes += getattr(made, "notes", [])
    if isinstance(source, OneTable):
        table = read_features_of(design, builder, made, notes, builder.reading.frame)
        return replace(table, computed=computed(reader, survey))
    reader = replace(reader, design=design, response=made)
    return ReadParts(design, made, reader, source, survey, reader.extras, notes, computed(reader, survey))


def read_features_of(
    design: FeatureDesign, builder: Builder, made: Any, notes: list[str], frame: pd.DataFrame | None
) -> ReadTable:
    """The design with the features of the kept rows."""
    values = [feature.values(builder.coded) for feature in design.features]
    kept = builder.reading.finish()
    return ReadTable(design=design, response=made, pieces=None, X=None, notes=notes, frame=frame, values=values, **kept)


def check_names(design: FeatureDesign) -> None:
    """Refuse columns of the implied logit that are called the same."""
    repeated = [name for name, count in Counter(design.xnames).items() if count > 1]
    if repeated:
        raise DataError(f"columns of the implied logit would be called the same: {quoted(repeated)}. Rename a feature.")


def counts_of(multinomial: Any, columns: Collection[str], codes: list[str]) -> list[str]:
    """Codes of the columns of a block, as the formula has them where it does."""
    own = {column: code for code in codes if (column := expressions.bare_column(code)) is not None}
    return [own.get(name) or code_of(name) for name in block_of(multinomial, columns, list(own))]


def block_of(multinomial: Any, columns: Collection[str], every: Sequence[str] | None = None) -> list[str]:
    """Columns of a block of counts; `every` of them, or all, by "all"."""
    if multinomial is None:
        return []
    if isinstance(multinomial, str) and multinomial == "all":
        if len(names := list(columns if every is None else every)) < 2:
            raise DataError(f'multinomial="all" needs two or more columns of counts, found {quoted(names)}.')
        return names
    if isinstance(multinomial, str) or not all(isinstance(name, str) for name in multinomial):
        raise TypeError(f'multinomial= is a list of columns, as in ["w1", "w2"], or "all", found {multinomial!r}.')
    names = list(multinomial)
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(f"multinomial= needs two or more different columns of counts, found {quoted(names)}.")
    there = set(columns)
    for name in names:
        if name not in there:
            raise DataError(f'multinomial= names "{name}", which is no column. {close_to(name, columns)}')
    return names


def code_of(name: str) -> str:
    """A column as code: its name where that is one and no function's, else quoted."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and name not in {*BUILTINS, "Q"}
    return name if plain and name not in expressions.NUMPY_NAMES else f"Q({name!r})"
