"""Messages about aliased columns: the combinations that they equal, and empty cells of factors."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping
from typing import Any

from glmclf.checks import MAX_NAMES, first_of
from glmclf.core.fit.aliasing import violations
from glmclf.errors import DataWarning, warn

_LEVEL = re.compile(
    r"(?:C\((?P<inner>[^,()]+)(?:, *Treatment.*)?\)|(?P<bare>[^()\[\]]+))\[(?:T\.)?(?P<level>[^\[\]]*)\]"
)


_SPLINE = re.compile(r"(?P<factor>(?:cr|cc|te|bs)\(.*\))\[\d+\]")


def splines_with_constant(combinations: Mapping[int, Mapping[int, float]], names: list[str]) -> str:
    """Sentence about splines whose columns add up to the intercept, and how to write them without it; "" for none."""
    found: dict[str, None] = {}
    for j, terms in combinations.items():
        spline = _SPLINE.fullmatch(names[j])
        if spline is not None and "Intercept" in (names[i] for i in terms) and _is_call(spline["factor"]):
            found[spline["factor"]] = None
    said = []
    for factor in found:
        way = "without include_intercept=True" if factor.startswith("bs(") else f'{factor[:-1]}, constraints="center")'
        said.append(f'the columns of "{factor}" add up to the intercept: write {way}')
    return "; ".join(said)


def _is_call(code: str) -> bool:
    """Whether code is one call, and no product of several as ``cr(x)[0]:cr(z)``."""
    try:
        return isinstance(ast.parse(code, mode="eval").body, ast.Call)
    except SyntaxError:
        return False


def combination(terms: Mapping[int, float], names: list[str]) -> str:
    """Text of a linear combination of columns, ``x1 + 2 * x2``; empty for 0, and in words where terms are many."""
    if len(terms) > MAX_NAMES and (factor := _factor_of([names[i] for i in terms])):
        if all(f"{v:.6g}" == ("1" if names[i] == "Intercept" else "-1") for i, v in terms.items()):
            return f"Intercept less all other columns of {factor}"
        return f"a number for each level of {factor}, within which it is constant"
    parts: list[str] = []
    for i, v in itertools.islice(terms.items(), MAX_NAMES):
        sign = "" if not parts else " - " if v < 0 else " + "
        size = abs(v) if parts else v
        parts.append(sign + (names[i] if f"{size:.6g}" == "1" else f"{size:.6g} * {names[i]}"))
    more = f" and {len(terms) - MAX_NAMES:,} more terms" if len(terms) > MAX_NAMES else ""
    return "".join(parts) + more


def _factor_of(names: list[str]) -> str:
    """The factor of which all columns but an intercept are levels; "" without one."""
    found = [_LEVEL.fullmatch(name) for name in names if name != "Intercept"]
    factors = {m["inner"] or m["bare"] if m is not None else "" for m in found}
    return factors.pop() if len(factors) == 1 else ""


def empty_cell(name: str) -> str:
    """Text with the level, or combination of levels, that a column of zeros shows to be empty; "" for numbers."""
    cells = [_LEVEL.fullmatch(part) for part in name.split(":")]
    found = [(m["inner"] or m["bare"], m["level"]) for m in cells if m is not None]
    if not found or len(found) < len(cells):
        return ""
    return " (no row has " + " and ".join(f'{factor} = "{level}"' for factor, level in found) + ")"


def omitted_note(combinations: Mapping[int, Mapping[int, float]], names: list[str]) -> str:
    """Note of the summary on omitted columns."""
    parts = [
        f'"{names[j]}" = {combination(terms, names) or "0" + empty_cell(names[j])}' for j, terms in combinations.items()
    ]
    return f"Omitted, as combinations of other columns: {first_of(parts)}."


def check_new_rows(
    combinations: Mapping[int, Mapping[int, float]], X: Any, names: list[str], units: Any = None
) -> None:
    """Warn of rows to predict, of Columns X, that violate a combination which columns of the fit obeyed."""
    broken = violations(combinations, X, units) if combinations else {}
    if broken:
        warn(new_rows_warning(broken, combinations, names, X.shape[0]), DataWarning)


def broken_combinations(
    broken: Mapping[int, Any], combinations: Mapping[int, Mapping[int, float]], names: list[str]
) -> tuple[int, str]:
    """Number of rows that break combinations, and text of these."""
    said = []
    for j in broken:
        terms = combinations[j]
        cell = "" if terms else empty_cell(names[j])
        said.append(f'"{names[j]}" = {combination(terms, names) or "0"}{cell}')
    return int((sum(broken.values()) > 0).sum()), first_of(said)


def new_rows_warning(broken: Mapping[int, Any], combinations, names: list[str], n: int) -> str:
    """Warn of rows to predict that are not estimable, with the reason."""
    rows, said = broken_combinations(broken, combinations, names)
    return (
        f"{rows} of {n} rows to predict are not estimable: in every row of the fit {said}, and not in these. Their "
        "predictions take the omitted coefficients as 0."
    )
