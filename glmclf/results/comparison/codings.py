"""Codings of factors: which levels a coefficient compares, so that coefficients of one name are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.core.design.coding import LevelCoding, uncoded_cells

WEIGHT_DIGITS = 9  # decimals to which weights of levels agree: they are inverses of small matrices of exact numbers

Weights = tuple[tuple[str, float], ...]  # of levels by name, without those of weight zero


class Meaning(NamedTuple):
    """Levels on which a coefficient rests.

    Attributes
    ----------
    own : tuple of Weights
        Contrast of levels of each factor in the coefficient's term: g[T.c] is +1 at c and -1 at the base.
    at : dict of Weights
        Levels at which the coefficient holds, by column of the table, of factors in terms that contain its own: the
        base level under treatment coding, the mean of all under sum coding. The intercept holds at those of every
        factor.
    """

    own: tuple[Weights, ...]
    at: dict[str, Weights]

    def agrees(self, other: Meaning) -> bool:
        """Whether two coefficients of one name are the same quantity, as far as codings tell."""
        common = self.at.keys() & other.at.keys()
        return self.own == other.own and all(self.at[code] == other.at[code] for code in common)

    def words(self, others: Sequence[Meaning]) -> str:
        """What tells the coefficient from others of its name."""
        rivals = [other.own for other in others if other.own != self.own]
        own = [_contrast(w) for w in self.own] if rivals else []
        if any(own == [_contrast(w) for w in rival] for rival in rivals):  # c - a and b - a are both against a
            own = [_combination(w) for w in self.own]
        apart = [code for code, w in self.at.items() if any(other.at.get(code, w) != w for other in others)]
        return ", ".join(dict.fromkeys([*filter(None, own), *(f"at {_place(code, self.at[code])}" for code in apart)]))


def _contrast(weights: Weights) -> str:
    """A contrast of levels in words: "against a", "against the mean of a, b, c"; "" for a level by itself."""
    negative = [(level, -w) for level, w in weights if w < 0]
    if not negative:
        return ""
    if len(weights) == 2 and negative[0][1] == 1.0:
        return f"against {negative[0][0]}"
    if len(negative) == len(weights) - 1 and _share_alike(negative, len(weights)):
        return f"against the mean of {', '.join(level for level, _ in weights)}"
    return _combination(weights)


def _place(code: str, weights: Weights) -> str:
    """Levels at which a coefficient holds, in words: "g = a", "the mean of g over a, b"."""
    if len(weights) == 1:
        return f"{code} = {weights[0][0]}"
    if _share_alike(weights, len(weights)):
        return f"the mean of {code} over {', '.join(level for level, _ in weights)}"
    return f"{code} = {_combination(weights)}"


def _share_alike(weights: Sequence[tuple[str, float]], n: int) -> bool:
    """Whether each weight is one of n equal shares."""
    return all(w == round(1.0 / n, WEIGHT_DIGITS) for _, w in weights)


def _combination(weights: Weights) -> str:
    """A sum of levels with their weights, which tells any two apart: "0.5 a + 0.5 c - 1 b"."""
    positive_first = sorted(weights, key=lambda weighted: weighted[1] < 0)
    text = " ".join(f"{'-' if w < 0 else '+'} {abs(w):.4g} {level}" for level, w in positive_first)
    return text.removeprefix("+ ")


def _weights(levels: Sequence[Any], values: ndarray) -> Weights:
    rounded = np.round(values, WEIGHT_DIGITS).tolist()
    return tuple(sorted((str(level), w) for level, w in zip(levels, rounded, strict=True) if w != 0.0))


def meanings(design: Any, names: Sequence[str]) -> dict[str, Meaning]:
    """Meaning of each coefficient of a design, by name.

    Parameters
    ----------
    design : Design, FeatureDesign or design of arrays
    names : list of str
        Coefficients; of an implied logit also squares and products of features, which hold at the levels of all.
    """
    if hasattr(design, "features"):
        found, everywhere = _of_features(design.features)
        crossed = {}
    else:
        found, everywhere = _of_subterms(design)
        crossed = everywhere if {*names} - {*found, "Intercept"} else {}  # a quadratic logit has products of all
    found.setdefault("Intercept", Meaning((), everywhere))
    known = {name: found.get(name, Meaning((), {})) for name in names}
    return {name: Meaning(one.own, crossed | one.at) for name, one in known.items()} if crossed else known


def _of_subterms(design: Any) -> tuple[dict[str, Meaning], dict[str, Weights]]:
    subterms = getattr(design, "subterms", ())
    if not subterms:
        return {}, {}
    widths = {code: factor.width for code, factor in design.factors.items()}
    rows = [
        {code: _rows(coding, design.factors[code].levels) for code, coding in subterm.contrasts.items()}
        for subterm in subterms
    ]
    found, names = {}, iter(design.xnames)
    called = {code: _column_of(code, factor) for code, factor in design.factors.items()}
    for subterm, own in zip(subterms, rows, strict=True):
        at = {
            called[code]: place
            for larger, codes in zip(subterms, rows, strict=True)
            if {*subterm.factors} < {*larger.factors}
            for code, (place, _) in codes.items()
            if code not in subterm.factors and place is not None
        }
        sizes = [subterm.contrasts[c].shape[1] if c in subterm.contrasts else widths[c] for c in subterm.factors]
        for j in range(int(np.prod(sizes))):
            places = np.unravel_index(j, sizes, order="F") if sizes else ()
            parts = [own[c][1][int(i)] for c, i in zip(subterm.factors, places, strict=True) if c in own]
            found[next(names)] = Meaning(tuple(parts), at)
    everywhere = {called[code]: place for codes in rows for code, (place, _) in codes.items() if place is not None}
    return found, everywhere


def _column_of(code: str, factor: Any) -> str:
    """Column that a factor is made of, however the formula codes it: that of g, C(g) and C(g, Sum) is g."""
    columns = list(factor.expression.columns)
    return columns[0] if len(columns) == 1 else code


def _rows(coding: ndarray, levels: Any) -> tuple[Weights | None, list[Weights]]:
    """Weights of levels at which a coding is zero (None of one without a base), and those of each of its columns.

    Means of levels are m = [1, C] (a, b) under a coding C, so that rows of the inverse say what a and each b are.
    """
    if isinstance(coding, LevelCoding):
        return _of_many(coding, levels)
    whole = coding.shape[1] == len(coding)
    if ((coding == 0) | (coding == 1)).all() and (coding.sum(axis=0) == 1).all() and (coding.sum(axis=1) <= 1).all():
        own, rest = [str(levels[i]) for i in coding.argmax(axis=0)], np.flatnonzero(coding.sum(axis=1) == 0)
        if whole:
            return None, [((level, 1.0),) for level in own]
        if len(rest) == 1:
            base = str(levels[rest[0]])
            return ((base, 1.0),), [tuple(sorted([(base, -1.0), (level, 1.0)])) for level in own]
    inverse = np.linalg.pinv(coding if whole else np.column_stack([np.ones(len(coding)), coding]))
    rows = [_weights(levels, row) for row in inverse]
    return (None, rows) if whole else (rows[0], rows[1:])


def _of_many(coding: LevelCoding, levels: Any) -> tuple[Weights | None, list[Weights]]:
    """Weights as of `_rows` for many levels; of deviations, whose means have all of them, none are told."""
    if coding.opposite is not None:
        return None, [((f"{levels[i]} against the mean", 1.0),) for i in np.flatnonzero(coding.position >= 0)]
    own, rest = [str(levels[i]) for i in np.flatnonzero(coding.position >= 0)], uncoded_cells(coding)
    if not len(rest):
        return None, [((level, 1.0),) for level in own]
    base = str(levels[rest[0]])
    return ((base, 1.0),), [tuple(sorted([(base, -1.0), (level, 1.0)])) for level in own]


def _of_features(features: Sequence[Any]) -> tuple[dict[str, Meaning], dict[str, Weights]]:
    """Meanings under NaiveBayes, whose tables are coded against their first level."""
    found: dict[str, Meaning] = {}
    everywhere: dict[str, Weights] = {}
    for feature in features:
        if feature.levels is None or len(feature.xnames) != len(feature.levels) - 1:
            continue
        words = [feature.word(code) for code in range(len(feature.levels))]
        everywhere[feature.name] = ((words[0], 1.0),)
        for name, word in zip(feature.xnames, words[1:], strict=True):
            found[name] = Meaning((tuple(sorted([(words[0], -1.0), (word, 1.0)])),), {})
    return found, everywhere


def told_apart(
    fits: Sequence[tuple[Any, Sequence[str]]], labels: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Labels of the coefficients of several fits: one for the same quantity, different ones for different levels.

    Parameters
    ----------
    fits : sequence of (design, names)
        Of each fit its design and the names of its coefficients.
    labels : dict, optional
        What to call them; by default their names.

    Returns
    -------
    list of dict
        Of each fit the labels by name: the name, or with what tells it apart, as "g[T.c] (against a)".
    """
    rows: dict[str, list[Meaning]] = {}
    places = []
    for design, names in fits:
        place = {}
        for name, meaning in meanings(design, names).items():
            known = rows.setdefault((labels or {}).get(name, name), [])
            at = next((i for i, other in enumerate(known) if meaning.agrees(other)), len(known))
            known[at:at + 1] = [Meaning(meaning.own, {**meaning.at, **(known[at].at if at < len(known) else {})})]
            place[name] = at
        places.append(place)
    texts = {
        label: [f"{label} ({words})" if (words := one.words(known)) else label for one in known]
        for label, known in rows.items()
    }  # fmt: skip
    return [{name: texts[(labels or {}).get(name, name)][at] for name, at in place.items()} for place in places]
