"""Labels of coefficients that a reader of a paper understands: "sex: male" for sex[T.male]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LEVELS = "levels"  # the option that asks for such labels
TIMES = " \N{MULTIPLICATION SIGN} "


def level_labels(design: Any, names: Sequence[Any]) -> dict[Any, str]:
    """Labels by name of coefficients of levels: the column and the level, of interactions joined by a times sign.

    Names of other codings than treatment and of what is no factor stay as they are, as they would be misread.

    Parameters
    ----------
    design : Design, FeatureDesign or design of arrays
    names : list of str
    """
    if hasattr(design, "features"):
        found = _of_features(design.features)
    else:
        found = _of_subterms(design)
    return {name: found.get(name, str(name)) for name in names}


def _of_features(features: Sequence[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for feature in features:
        if feature.levels is None or len(feature.xnames) != len(feature.levels) - 1:
            continue
        column = feature.columns[0] if len(feature.columns) == 1 else feature.name
        found |= {name: f"{column}: {feature.word(i)}" for i, name in enumerate(feature.xnames, start=1)}
    return found


def _of_subterms(design: Any) -> dict[str, str]:
    subterms = getattr(design, "subterms", ())
    widths = {code: factor.width for code, factor in design.factors.items()} if subterms else {}
    found: dict[str, str] = {}
    names = iter(getattr(design, "xnames", ()))
    for subterm in subterms:
        for _ in range(subterm.size(widths)):
            name = next(names)
            found[name] = TIMES.join(_parts(name, subterm, design.factors)) or name
    return found


def _parts(name: str, subterm: Any, factors: Any) -> list[str]:
    """Labels of the factors of a column's name, in their order; the codes are known, so that levels may have colons."""
    rest, words = name, []
    for i, code in enumerate(subterm.factors):
        later = subterm.factors[i + 1] if i + 1 < len(subterm.factors) else None
        end = len(rest) if later is None else rest.index(f":{later}", len(code))
        words.append(_word(rest[:end], code, factors[code], code in subterm.contrasts))
        rest = rest[end + 1 :]
    return words


def _word(name: str, code: str, factor: Any, labelled: bool) -> str:
    suffix = name[len(code) :]
    if not labelled or not suffix.startswith("["):
        return name
    level = suffix[1:-1].removeprefix("T.")
    if level not in {str(known) for known in factor.levels}:
        return name
    columns = factor.expression.columns
    return f"{columns[0] if len(columns) == 1 else code}: {level}"
