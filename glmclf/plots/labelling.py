"""Labels of plots: results and their names, levels of responses, numbers of observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from glmclf.data.response.response import plain
from glmclf.data.table.frame import close_to
from glmclf.errors import DataError

ROWS = ("endog", "freq_weights", "weights", "offset")  # keywords that may accompany newdata=


def results_of(given: Any, names: Sequence[str] | None, plot: str, methods: Sequence[str]) -> dict[str, Any]:
    """Results by name, of one or several.

    Parameters
    ----------
    given : result, list of results or dict of them by name
    names : list of str, optional
        By default the classes of the models, with a number where they repeat.
    plot : str
        Name of the plot, for errors.
    methods : list of str
        What the results must have, one of them.

    Raises
    ------
    TypeError
        Something else than results.
    ValueError
        None at all, or as many names as there are not results.
    """
    if isinstance(given, Mapping):
        if names is not None:
            raise ValueError("names= beside a dict, whose keys are the names: leave it out")
        names = [str(name) for name in given]
    many = _listed(given)
    if not many:
        raise ValueError(f"{plot}() needs a result; the list is empty")
    for one in many:
        check(one, plot, methods)
    if names is None:
        return dict(zip(_numbered([type(getattr(one, "model", one)).__name__ for one in many]), many))
    listed = isinstance(names, Sequence) and not isinstance(names, str)
    if not listed or len(names) != len(many) or len(set(map(str, names))) < len(many):
        raise ValueError(f"names={names!r}: as many different names as results, {len(many)}")
    return dict(zip(map(str, names), many))


def _listed(given: Any) -> list[Any]:
    """List of results from one result, a sequence or a dict."""
    given = given.values() if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
    return list(given)


def made(given: Any, plot: str, kinds: Any, method: str, asked: Mapping[str, Any], make: Callable[[Any], Any]) -> Any:
    """Object that a plot draws: the one given if it is of one of the kinds, else the one that `make` has from a result.

    Parameters
    ----------
    given : result, or object of one of the kinds
    plot : str
        Name of the plot, for errors.
    kinds : type or tuple of types
    method : str
        Of results, the one that makes such an object.
    asked : dict
        Options of the method as they were given, None where they were not: an object that is made takes none.
    make : callable

    Raises
    ------
    TypeError
        Something else than these; options beside an object.
    """
    if not isinstance(given, kinds):
        check(given, plot, (method,))
        return make(given)
    told = [name for name, value in asked.items() if value is not None]
    if told:
        raise TypeError(f"{plot}() of a {type(given).__name__} takes no {'=, '.join(told)}=: pass the result instead")
    return given


def all_made(
    given: Any,
    names: Sequence[str] | None,
    plot: str,
    kinds: Any,
    method: str,
    asked: Mapping[str, Any],
    make: Callable[[Any], Any],
) -> dict[str, Any]:
    """Apply `made` to one or several by name, either all objects of the kinds or all results."""
    ready = all(isinstance(one, kinds) for one in _listed(given))
    found = results_of(given, names, plot, ("__class__",) if ready else (method,))
    return {name: made(one, plot, kinds, method, asked, make) for name, one in found.items()}


def check(given: Any, plot: str, methods: Sequence[str]) -> None:
    """Refuse an argument that is no result with one of the methods."""
    if isinstance(given, type) or not any(hasattr(given, method) for method in methods):
        what = f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
        hint = ": call fit() first" if hasattr(given, "fit") and hasattr(given, "endog_names") else ""
        raise TypeError(f"{plot}() draws results of fit() that have {' or '.join(methods)}; found {what}{hint}")


def check_keywords(given: Mapping[str, Any], plot: str, known: Sequence[str] = ROWS) -> None:
    """Refuse keywords that are unknown to the method which a plot passes them to."""
    odd = [name for name in given if name not in known]
    if odd:
        raise TypeError(f"{plot}() has no keyword {odd[0]}=; beside its own it takes {', '.join(known)}")


def _numbered(names: list[str]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({i + 1})" for i, name in enumerate(names)]


def response(res: Any) -> Any:
    """Response of the model of a result or of a part of a result."""
    model = res.model
    return model._response if hasattr(model, "_response") else res._parent.model._response


def levels(res: Any) -> list[Any]:
    """Levels of a multinomial response; an empty list for a binary model."""
    return list(getattr(res.model, "levels", []))


def columns(table: pd.DataFrame, levels: Sequence[Any]) -> pd.DataFrame:
    """Columns of levels, which are no masks where they are True and False."""
    return table.iloc[:, table.columns.get_indexer(pd.Index(levels))]


def probability(res: Any, level: Any = None) -> str:
    """Label of a probability, as ``P(y = 'yes')``, for one level or for "level"."""
    found = response(res)
    if levels(res):
        return f"P({found.name} = {'level' if level is None else repr(plain(level))})"
    return f"share of {found.count_names[0]} in {found.name}" if found.kind == "counts" else found.describe()


def observations(n: float) -> str:
    """Number of observations, as ``n = 344``."""
    return f"n = {n:,.10g}"


def percent(alpha: float) -> str:
    """The level of intervals, as ``95 %``."""
    return f"{100 * (1 - alpha):.10g} %"


def chosen(known: Sequence[str], which: Any, drop: Any, constants: set[str]) -> list[str]:
    """Names of the coefficients to draw: those of ``which=``, by default all but constants, without those of ``drop=``.

    Raises
    ------
    DataError
        A name that is no coefficient.
    TypeError
        A name in place of a list of names.
    ValueError
        None is left.
    """
    for keyword, given in (("which", which), ("drop", drop)):
        if isinstance(given, str):
            raise TypeError(f"{keyword}={given!r}: a list of names, [{given!r}]")
        lost = [name for name in given or () if name not in known]
        if lost:
            hint = close_to(str(lost[0]), known).replace("columns", "coefficients")
            raise DataError(f"{keyword}=: {lost[0]!r} is no coefficient. {hint}")
    if which is None:
        which = [name for name in known if name not in constants]
    shown = [name for name in which if name not in set(drop)]
    if not shown:
        raise ValueError("no coefficient is left to draw")
    return shown
