"""Schema of the numbers in a result's file: types, shapes, ranges, and agreement of what is stored twice.

A checksum tells of accidents; numbers that were changed together with their checksums are refused here where they
contradict the names, the model or each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number, is_truth, is_whole
from glmclf.core.design.coding import LevelCoding
from glmclf.core.numerics.arrow import KINDS, SymmetricMatrix, matrix_of

ROUNDING = 1e-6  # of what is stored twice, relative to its largest number: bases of ill-conditioned designs lose digits


class FieldError(ValueError):
    """A field of a file that no fit has written."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"the file contradicts itself or its model: {field} {what}")


def check_fields(stored: Mapping[str, Any], model: Any) -> None:
    """Raise FieldError for the first field of a file that no fit of the model, which was restored, has."""
    _check_model(stored["model"], model)
    p = model._coordinates.size if "fit" in stored else None
    penalised = "penalty" in stored  # without arrays of all coefficients by all, where there are none
    if not (penalised and stored["covariance"]["matrix"] is None and stored["covariance"]["name"] == "none"):
        _check_covariance(stored["covariance"], p)
    if "fit" in stored:
        _check_estimate(stored["fit"], model._coordinates.size, penalised and stored["fit"]["information"] is None)
    if "penalty" in stored:
        _check_penalty(stored["penalty"])
    if "law" in stored:
        _check_law(stored, len(model.levels))
    if "statistics" in stored:
        _check_statistics(stored["statistics"], len(model.levels))
    _check_facts(stored["facts"], len(model._response.levels or ()))


def check_agreement(stored: Mapping[str, Any], results: Any) -> None:
    """Raise FieldError where numbers that a file holds twice differ, in a result that was restored from it."""
    if sums := stored["facts"].get("_data_sums"):
        _check_sums(sums, stored, results)
    fit = stored.get("fit", {})
    if fit:
        state = results._state
        if fit["theta"] is not None and "shift" in fit:
            _check_same("fit.theta", "fit.gamma", state.given, state.finite_theta)
        if fit.get("inner") is not None:
            _check_same("fit.gamma", "fit.inner", state.estimate.fit.theta + state.moved, state.inner)
        if fit.get("constraint") is not None:
            R, q = (np.array(fit["constraint"][name]) for name in "Rq")
            _check_same("fit.gamma", "fit.constraint", R @ state.finite_theta, q)
    if "law" in stored:
        law, moments = stored["law"], stored["moments"]
        for name in ("counts", "means"):
            _check_same(f"law.{name}", f"moments.{name}", np.array(law[name]).ravel(), np.array(moments[name]).ravel())


def _check_sums(sums: Mapping[str, Any], stored: Mapping[str, Any], results: Any) -> None:
    """Raise FieldError where levels or columns are others, or in another order, than those whose sums the file has."""
    model, facts = results.model, stored["facts"]
    given = model._response.levels
    levels, coded = ([str(level) for level in getattr(model, name, given)] for name in ("levels", "_classes"))
    found = dict(zip(sums["levels"], numbers("facts._data_sums", sums["response"], (len(levels),)), strict=True))
    if {*found} != {*levels}:
        raise FieldError("model.response.levels", f"and facts._data_sums have other names: {levels} and {[*found]}")
    share = facts.get("_event_share")
    for field, names, known in (
        ("facts._event_share", coded, None if share is None else [1 - share, share]),
        ("facts._level_shares", levels, facts.get("_level_shares")),
        ("law.counts", coded, stored.get("law", {}).get("counts")),
        ("statistics.counts", coded, stored.get("statistics", {}).get("counts")),
    ):
        if known is not None:
            if not sum(known) > 0:
                raise FieldError(field, "are all 0")
            counts = np.array([found[name] for name in names])
            _check_same(field, "facts._data_sums", np.array(known) / sum(known), counts / counts.sum())
    if "fit" in stored and sums["columns"] and [*sums["columns"]] != model.exog_names:
        raise FieldError("model.design.xnames", "and facts._data_sums have other columns, or in another order")


# ------------------------------------------------------------------------------------------------- parts of the file
def _check_model(stored: Mapping[str, Any], model: Any) -> None:
    levels, kept = list(model._response.levels or ()), stored["kept"]
    if len(set(levels)) < len(levels):
        raise FieldError("model.response.levels", "has a level twice")
    if levels and len(levels) != 2 and stored["response"]["kind"] == "binary":
        raise FieldError("model.response.levels", f"has {len(levels)} levels, not 2")
    names = stored["design"].get("xnames", [])
    if not _are_names(names):
        raise FieldError("model.design.xnames", "is no list of names")
    if len(set(names)) < len(names):
        raise FieldError("model.design.xnames", "has a name twice")
    _check_terms(stored["design"].get("terms", []), len(names))
    _check_factors(getattr(model._design, "factors", {}))
    _check_column_names(model._design)
    if not is_truth(kept["_has_offset"]) or kept["_has_offset"] != ("offset" in kept["_names"]):
        raise FieldError("model.kept._has_offset", "does not say whether model.kept._names has an offset")
    for name in ("nobs", "_weight_sum"):
        if kept[name] is not None and not (is_number(kept[name]) and 0 < kept[name] < np.inf):
            raise FieldError(f"model.kept.{name}", "is not a finite number above 0")
    for name, ends in (kept.get("_ranges") or {}).items():
        low, high = numbers(f"model.kept._ranges.{name}", ends, (2,))
        if low > high:
            raise FieldError(f"model.kept._ranges.{name}", "has its ends in the wrong order")


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _check_terms(terms: Any, k: int) -> None:
    """Raise FieldError where terms are not [name, first column, column after the last], one after the other."""
    at = 0
    for term in terms:
        if not (isinstance(term, list) and len(term) == 3 and isinstance(term[0], str)):
            raise FieldError("model.design.terms", "is not of a name and two columns a term")
        if not (is_whole(term[1], 0) and is_whole(term[2], 0) and at == term[1] <= term[2]):
            raise FieldError("model.design.terms", f"has columns that are not those of the term {term[0]!r}")
        at = term[2]
    if terms and at != k:
        raise FieldError("model.design.terms", f"are of {at} columns, not of {k}")


def _check_factors(factors: Mapping[str, Any]) -> None:
    """Raise FieldError for levels that are no list, and for a transform that remembers what it cannot have seen."""
    for code, factor in factors.items():
        if factor.levels is not None and not isinstance(factor.levels, Sequence | ndarray | pd.Index):
            raise FieldError("model.design.factors", f"has levels of {code!r} that are no list")
        if not is_whole(factor.width, 0):
            raise FieldError("model.design.factors", f"has a width of {code!r} that is no number of columns")
        for transform in factor.expression.transforms.values():
            for name, value in vars(transform).items():
                if name != "_edges" and isinstance(value, ndarray) and value.dtype.kind in "fO":
                    _check_remembered(code, name, value, getattr(transform, "_degree", None))


def _check_remembered(code: str, name: str, value: ndarray, degree: Any) -> None:
    try:
        finite = np.isfinite(value.astype(float)).all()
    except (TypeError, ValueError):
        finite = name in ("_labels",)
    if not finite:
        raise FieldError("model.design.factors", f"has a number of {code!r} that is not finite: {name}")
    if name != "_all_knots":
        return
    if (np.diff(value) < 0).any():
        raise FieldError("model.design.factors", f"has knots of {code!r} that do not increase")
    outer = 1 if degree is None else int(degree) + 1
    if len(value) < 2 * outer or np.ptp(value[:outer]) > 0 or np.ptp(value[-outer:]) > 0:
        raise FieldError("model.design.factors", f"has outer knots of {code!r} that differ")


def _check_column_names(design: Any) -> None:
    """Raise FieldError where a column has the name of another factor, or, of a level's indicator, another level."""
    widths = {code: factor.width for code, factor in getattr(design, "factors", {}).items()}
    at = 0
    for subterm in getattr(design, "subterms", ()):
        codes = subterm.factors
        if len(set(codes)) < len(codes):
            raise FieldError("model.design.subterms", f"has a factor twice: {codes}")
        own = design.xnames[at : at + subterm.size(widths)]
        at += subterm.size(widths)
        if len(own) < subterm.size(widths) or not all(_is_of(name, codes) for name in own):
            raise FieldError("model.design.xnames", f"and the terms do not agree: {codes} and {own}")
        for code, coding in subterm.contrasts.items():
            _check_indicators(code, design.factors[code].levels, coding, own)
        if len(codes) != 1 or not subterm.contrasts:
            continue
        (code,), (coding,) = codes, subterm.contrasts.values()
        levels = [str(level) for level in design.factors[code].levels]
        known = _indicators(levels)
        for name, ones in zip(own, _cells_of_columns(coding), strict=True):
            said = name[len(code) :]
            if len(ones) == 1 and said in known and said not in _indicators([levels[ones[0]]]):
                raise FieldError("model.design.factors", f"has levels in another order than the column {name!r}")


def _check_indicators(code: str, levels: Any, coding: Any, own: Sequence[str]) -> None:
    """Raise FieldError where columns are named as indicators of levels, and the coding is of others."""
    if isinstance(coding, LevelCoding):
        return
    readings = [  # two, where there are levels "b" and "T.b"
        [k for k, level in enumerate(levels) if any(f"{code}[{of}{level}]" in name for name in own)]
        for of in ("", "T.")
    ]
    said = [np.eye(len(levels))[:, named] for named in readings if len(named) == coding.shape[1]]
    if said and not any(np.array_equal(coding, ones) for ones in said):
        raise FieldError("model.design.subterms", f"has a coding of {code!r} that is not of indicators of levels")


def _cells_of_columns(coding: Any) -> list[ndarray]:
    """Levels that have a column, of each column of a coding."""
    if not isinstance(coding, LevelCoding):
        return [np.flatnonzero(column) for column in coding.T]
    cells = list(np.flatnonzero(coding.position >= 0)[:, None])
    return cells if coding.opposite is None else [np.zeros(0)] * coding.width


def _indicators(levels: Sequence[str]) -> set[str]:
    """What indicators of levels are called after their factor, under treatment coding or for all levels."""
    return {f"[{of}{level}]" for level in levels for of in ("", "T.")}


def _is_of(name: str, codes: Sequence[str]) -> bool:
    """Whether a column's name, as in "x:g[T.b]", is one of a product of factors."""
    if not codes:
        return name == "Intercept"
    return name.startswith(codes[0]) and all(f":{code}" in name for code in codes[1:])


def _check_covariance(stored: Mapping[str, Any], p: int | None) -> None:
    shape = None if p is None else (p, p)
    V = _matrix("covariance.matrix", stored["matrix"], shape, unknown=True)
    if not all(is_whole(size, 1) for size in stored["clusters"]):
        raise FieldError("covariance.clusters", "is not a number of clusters")
    if not isinstance(stored["groups"], list) or not all(isinstance(name, str) for name in stored["groups"]):
        raise FieldError("covariance.groups", "is no list of names")
    if len(V):
        _check_variances("covariance.matrix", V, difference=len(stored["clusters"]) > 1)
        _check_known("covariance.matrix", V, stored["name"] in ("nonrobust", "expected", "posterior"))


def _check_estimate(fit: Mapping[str, Any], p: int, unformed: bool) -> None:
    once = [name for name in ("theta", "inner") if fit.get(name) is not None]  # where gamma does not say it to the bit
    for name in (*once, "gamma", "score"):
        numbers(f"fit.{name}", fit[name], (p,))
    if numbers("fit.shift", fit.get("shift", [])).ndim != 1:
        raise FieldError("fit.shift", "is not an array of one dimension")
    basis = fit.get("basis")
    if isinstance(basis, Mapping):
        _check_basis(basis, p)
    if not unformed:
        _check_variances("fit.information", _matrix("fit.information", fit["information"], (p, p)))
    numbers("fit.value", fit["value"], ())
    if not is_truth(fit["converged"]):
        raise FieldError("fit.converged", "is neither true nor false")
    if not is_whole(fit["iterations"], 0):
        raise FieldError("fit.iterations", "is not a number of iterations")
    for places, values in (fit.get("separation") or {}).get("rays", ()):
        at = numbers("fit.separation.rays", places)
        numbers("fit.separation.rays", values, at.shape)
        if not (at.ndim == 1 and len(at) and np.isin(at, np.arange(p)).all()):
            raise FieldError("fit.separation.rays", f"is not about the {p} parameters")
    constraint = fit.get("constraint")
    if constraint is not None:
        R = numbers("fit.constraint.R", constraint["R"])
        R = numbers("fit.constraint.R", constraint["R"], (len(R), p))
        numbers("fit.constraint.q", constraint["q"], (len(R),))


def _check_known(field: str, V: Any, informed: bool) -> None:
    """Raise FieldError for unknown entries: of an inverse information any, of others those beside known ones."""
    if isinstance(V, SymmetricMatrix):
        unknown = np.isnan(V.diagonal())
        bad = informed and unknown.any()
    else:
        unknown = np.isnan(V)
        bad = unknown.any() and (informed or (unknown != unknown.diagonal() | unknown.diagonal()[:, None]).any())
    if bad and not unknown.all():
        raise FieldError(field, "holds a number that is not finite")


def _check_penalty(stored: Mapping[str, Any]) -> None:
    if (numbers("penalty.alpha", stored["alpha"], infinite=True) < 0).any():
        raise FieldError("penalty.alpha", "is negative")
    if not 0 <= numbers("penalty.L1_wt", stored["L1_wt"], ()) <= 1:
        raise FieldError("penalty.L1_wt", "is not between 0 and 1")
    if numbers("penalty.n", stored["n"], ()) <= 0:
        raise FieldError("penalty.n", "is not above 0")
    b = numbers("penalty.b", stored["b"])
    if stored.get("V") is not None:
        V = _matrix("penalty.V", stored["V"], (b.size, b.size))  # a level more where the coding is symmetric
        if len(V):
            _check_variances("penalty.V", V)


def _check_law(stored: Mapping[str, Any], K: int) -> None:
    law, moments = stored["law"], stored["moments"]
    for field, values in (("law.counts", law["counts"]), ("law.prior_counts", law["prior_counts"]),
                          ("moments.counts", moments["counts"])):  # fmt: skip
        _check_counts(field, numbers(field, values, (K,)))
    priors = np.exp(numbers("law.log_priors", law["log_priors"], (K,), infinite=True))
    if not abs(priors.sum() - 1) <= ROUNDING:
        raise FieldError("law.log_priors", f"are of priors that add up to {priors.sum():.6g}, not 1")
    p = len(numbers("law.centre", law["centre"]))
    for field, values in (("law.means", law["means"]), ("moments.means", moments["means"])):
        numbers(field, values, (K, p))
    if len(law["dispersions"]) not in (1, K):
        raise FieldError("law.dispersions", f"is neither one nor of the {K} levels")
    for d in law["dispersions"]:
        root = numbers("law.dispersions", d["root"], (p, p) if d["kind"] == "full" else (p,))
        if ((root.diagonal() if root.ndim == 2 else root) <= 0).any():
            raise FieldError("law.dispersions", "has a standard deviation that is not above 0")
        if numbers("law.dispersions", d["n"], (), infinite=True) <= 0:
            raise FieldError("law.dispersions", "is of no row")
    if law.get("target", "diag") not in ("diag", "identity", "fixed"):
        raise FieldError("law.target", "is nothing to shrink to")
    for name, most in (("shrinkage", 1.0), ("ridge", np.inf)):
        found = numbers(f"law.{name}", law.get(name, 0.0))
        if ((found < 0) | (found > most)).any():
            raise FieldError(f"law.{name}", "is out of its range")
    scatter = numbers("moments.scatter", moments["scatter"])
    if scatter.ndim >= 2 and (np.diagonal(scatter, axis1=-2, axis2=-1) < 0).any():
        raise FieldError("moments.scatter", "has a negative sum of squares")


def _check_statistics(stored: Mapping[str, Any], K: int) -> None:
    counts = numbers("statistics.counts", stored["counts"], (K,))
    _check_counts("statistics.counts", counts)
    for arrays in stored["features"]:
        n, *others = (numbers("statistics.features", values) for values in arrays)
        _check_counts("statistics.features", n)
        if any(len(values) != K for values in (n, *others)):
            raise FieldError("statistics.features", f"is not of the {K} levels")
        if (n.reshape(K, -1) > (1 + ROUNDING) * counts[:, None]).any():
            raise FieldError("statistics.features", "is of more rows of a level than statistics.counts")


def _check_facts(stored: Mapping[str, Any], K: int) -> None:
    for name in ("llf", "_null_value", "df_model", "_saturated_value"):
        if name in stored:
            numbers(f"facts.{name}", stored[name], (), unknown=True, infinite=True)
    if stored.get("_digits") is not None:
        numbers("facts._digits", stored["_digits"], unknown=True, infinite=True)
    if stored.get("_error_facts") is not None:
        _check_error_facts(stored["_error_facts"], K)
    shares = stored.get("_level_shares", stored.get("_event_share"))
    if shares is not None:
        field = "facts._level_shares" if "_level_shares" in stored else "facts._event_share"
        found = numbers(field, shares)
        if ((found < 0) | (found > 1)).any() or (found.ndim and abs(found.sum() - 1) > ROUNDING):
            raise FieldError(field, "is no share of 1")


def _check_error_facts(facts: Any, K: int) -> None:
    if not isinstance(facts, Mapping):
        raise FieldError("facts._error_facts", "is no dict")
    for method in ("resubstitution", "leave-one-out"):
        found = facts[method]
        if found is None and method == "leave-one-out":
            continue
        for name, shape in (("confusion", (K, K)), ("skipped", (K,)), ("score", ())):
            free = name == "score"  # of decisions that were certain, and wrong
            values = numbers("facts._error_facts", found[name], shape, unknown=free, infinite=free)
            if not free:
                _check_counts("facts._error_facts", values)
    for name, shape in (("largest", (K,)), ("n", ()), ("priors", (K,))):
        _check_counts("facts._error_facts", numbers("facts._error_facts", facts[name], shape))
    if abs(sum(facts["priors"]) - 1) > ROUNDING:
        raise FieldError("facts._error_facts", "has priors that do not add up to 1")


# ---------------------------------------------------------------------------------------------------- kinds of fields
def _check_basis(basis: Mapping[str, Any], p: int) -> None:
    """Raise FieldError for means by level, or places of levels, that are not those of columns of the design."""
    if "first" in basis:
        for part in (basis["first"], basis["second"]):
            if isinstance(part, Mapping):
                _check_basis(part, p)
        return
    if "order" in basis:
        order, groups = numbers("fit.basis.order", basis["order"]), basis["groups"]
        places = [numbers("fit.basis.groups", group["places"]) for group in groups]
        every = np.concatenate([np.zeros(0), *(at.ravel() for at in places)])
        whole = order.ndim == 1 and len(order) and not p % len(order) and all(at.ndim == 2 for at in places)
        if not whole or not np.array_equal(np.sort(order), np.arange(len(order))):
            raise FieldError("fit.basis", "has places of columns that are none")
        if not np.isin(every, order).all() or len(np.unique(every)) != every.size:
            raise FieldError("fit.basis.groups", "has places of columns that are none, or repeats them")
        for group, at in zip(groups, places, strict=True):
            if group["table"] is not None:
                numbers("fit.basis.groups.table", group["table"], (at.shape[1],) * 2)
        return
    k = int(numbers("fit.basis.size", basis["size"], ()))
    means = numbers("fit.basis.means", basis["means"])
    places = [numbers(f"fit.basis.{name}", basis[name], means.shape) for name in ("rows", "columns")]
    if k < 1 or p % k or any(((at < 0) | (at >= k) | (at % 1 != 0)).any() for at in places):
        raise FieldError("fit.basis", "has places of columns that are none")


def numbers(
    field: str, value: Any, shape: tuple[int, ...] | None = None, *, unknown: bool = False, infinite: bool = False
) -> ndarray:
    """Numbers of a field as an array; FieldError for what is none, for another shape, and for NaN and infinity.

    Parameters
    ----------
    field : str
        Name of the field, as in "fit.theta".
    value : float or nested list of float
        From JSON; truth values are no numbers.
    shape : tuple of int, optional
    unknown, infinite : bool
        Whether NaN, and whether infinity may be there.
    """
    if not all(kind in (int, float) for kind in _kinds(value)):
        raise FieldError(field, "holds something that is no number")
    try:
        found = np.array(value, dtype=float)
    except (ValueError, OverflowError):
        raise FieldError(field, "is no array of numbers") from None
    if shape is not None and found.shape != shape:
        raise FieldError(field, f"has shape {found.shape}, not {shape}")
    if (not unknown and np.isnan(found).any()) or (not infinite and np.isinf(found).any()):
        raise FieldError(field, "holds a number that is not finite")
    return found


def _kinds(value: Any) -> set[type]:
    """Types of the entries of nested lists."""
    if not isinstance(value, list):
        return {type(value)}
    kinds = set(map(type, value))
    return kinds if list not in kinds else set().union(*map(_kinds, value))


def _check_counts(field: str, found: ndarray) -> None:
    if (found < 0).any():
        raise FieldError(field, "is negative")


def _matrix(field: str, value: Any, shape: tuple[int, int] | None, unknown: bool = False) -> Any:
    """A symmetric matrix of a field: an array, or the parts of one in which a factor has many levels."""
    if not isinstance(value, Mapping):
        return numbers(field, value, shape, unknown=unknown)
    if value.get("kind") not in KINDS:
        raise FieldError(field, f"is of no known kind: {value.get('kind')!r}")
    p = int(numbers(f"{field}.size", value["size"], ()))
    border, slots = (numbers(f"{field}.{name}", value[name]) for name in ("border", "slots"))
    every = np.sort(np.concatenate([border.ravel(), slots[slots >= 0]]))
    if (shape is not None and p != shape[0]) or border.ndim != 1 or slots.ndim != 2:
        raise FieldError(field, f"has {p} parameters, not {shape}")
    if (np.diff(every) == 0).any() or (len(every) and not 0 <= every[0] <= every[-1] < p) or (every % 1).any():
        raise FieldError(field, "has places of parameters that are none")
    (L, m), r = slots.shape, len(border)
    if value["kind"] == "arrow":
        shapes: dict[str, tuple] = {"A": (r, r), "B": (L, m, r), "C": (L, m, m)}
    else:
        r = len(value["K"])
        shapes = {"D": (L, m, m), "Z": (p, r), "K": (r, r)}
    for name, wanted in shapes.items():
        found = numbers(f"{field}.{name}", value[name], unknown=unknown)
        if found.size != np.prod(wanted):
            raise FieldError(f"{field}.{name}", f"has shape {found.shape}, not {wanted}")
    return matrix_of(value)


def _check_variances(field: str, V: Any, difference: bool = False) -> None:
    """Raise FieldError for a matrix that is not square and symmetric with a diagonal of at least 0, up to rounding.

    A difference of such matrices, as of two-way clusters, may have a negative diagonal.
    """
    if isinstance(V, SymmetricMatrix):
        v = V.diagonal()
        if not difference and (v < -ROUNDING * np.nanmax(abs(v), initial=0.0)).any():
            raise FieldError(field, "has a negative variance")
        return
    if V.ndim != 2 or len(V) != len(V.T):
        raise FieldError(field, f"has shape {V.shape}, which is not square")
    bound = ROUNDING * np.nanmax(abs(V), initial=0.0)
    if not difference and (V.diagonal() < -bound).any():
        raise FieldError(field, "has a negative variance")
    if (abs(V - V.T) > bound).any():
        raise FieldError(field, "is not symmetric")


def _check_same(field: str, other: str, a: ndarray, b: ndarray) -> None:
    size = max(np.max(abs(a), initial=0.0), np.max(abs(b), initial=0.0), 1.0)
    if a.shape != b.shape or (abs(a - b) > ROUNDING * size).any():
        raise FieldError(field, f"and {other} do not agree")
