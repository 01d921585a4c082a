"""Comparability of likelihoods: whether results are fits to the same observations."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.links import LogitLink
from glmclf.core.likelihood.objective import Largest
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.streamed import side_by_side
from glmclf.core.rows.summed import Summed
from glmclf.errors import DataError
from glmclf.results.base import Results
from glmclf.results.requires import has_rows

SUMS_RTOL = 1e-10  # relative difference of sums of a column that another machine may make


def is_joint(res: Any) -> bool:
    """Whether `llf` is the joint likelihood of response and features, not the conditional one."""
    return hasattr(res, "llf_conditional")


def check_result(res: Any, what: str) -> None:
    """Raise TypeError unless the argument is a result of a fit."""
    if not isinstance(res, Results):
        raise TypeError(f"{what} needs results of fits, found {type(res).__name__}")


def check_likelihoods(a: Any, b: Any, what: str, names: tuple[str, str] = ("this fit", "the other")) -> None:
    """Raise ValueError unless the log-likelihoods of two fits are of the same kind and observations."""
    for res, name in zip((a, b), names, strict=True):
        if res.model._pseudo:
            raise ValueError(
                f"{what}: sampling weights or fractions make the log-likelihood of {name} a pseudo-likelihood, which "
                "does not compare. Compare predictions instead"
            )
        if res._short:
            raise ValueError(f"{what}: {name} did not converge, so that its log-likelihood is no maximum")
    if is_joint(a) != is_joint(b):
        joint, other = names if is_joint(a) else names[::-1]
        raise ValueError(
            f"{what}: the log-likelihood of {joint} is joint, of response and features, that of {other} is of the "
            "response given the regressors. Use compare_conditional() of the generative fit, or its llf_conditional"
        )
    differ = different_data(a, b)
    if differ:
        raise ValueError(
            f"{what}: {names[0]} and {names[1]} are of different data (their {', '.join(differ)} differ). Fit both to "
            "the same rows: drop rows with missing values of either first, for example with data.dropna()"
        )
    if is_joint(a):
        _check_features(a, b, what, names)


def different_data(a: Any, b: Any) -> list[str]:
    """Names of the data that differ between two fits: response, trials, weights, levels or numbers of observations.

    Responses are equal where they part the rows into the same classes, whatever these are called or coded as, except
    that a level with the same name in both is the same class. DataError where only removed rows could tell.
    """
    one, two = a._fingerprint, b._fingerprint
    weights = one["weights"] != two["weights"]
    if a.nobs != b.nobs:
        return [f"numbers of observations, {a.nobs:.15g} and {b.nobs:.15g}," + " and weights" * weights]
    if weights:
        return ["weights"]
    if len(coded_levels(a)) != len(coded_levels(b)):
        return ["levels"]
    differ = [name for name in ("response", "trials") if one[name] != two[name]]
    if rows_gone(a) or rows_gone(b):
        return _different_digests(a, b, differ)
    if matching(a, b) is not None:
        return []
    return ["levels"] if {*coded_levels(a)} != {*coded_levels(b)} else ["response"] if "response" in differ else differ


def _different_digests(a: Any, b: Any, differ: list[str]) -> list[str]:
    """Compare two fits by their stored digests, where the rows of one are gone."""
    x, y = _levels_of_codes(a), _levels_of_codes(b)
    if not differ:
        apart = any(name in y and y.index(name) != i for i, name in enumerate(x))
        return ["levels"] if apart else []
    if coded_levels(a) == coded_levels(b) and hasattr(a.model, "link") == hasattr(b.model, "link"):
        return differ  # both have the same coding
    codings = "; ".join(f"{type(res.model).__name__} of {', '.join(coded_levels(res))}" for res in (a, b))
    raise DataError(
        "whether the two fits are of the same observations cannot be told without the rows, which were removed or not "
        f"saved: their responses are coded in two ways ({codings}; the reference, or what is no event, first). "
        "Compare the fits before they are saved, or fit both by one class of models with the same event= or "
        "reference="
    )


def _levels_of_codes(res: Any) -> list[str]:
    """Levels in the order of the codes in the response's fingerprint."""
    return [str(level) for level in res.levels] if type(res.model).__name__ == "MNLogit" else coded_levels(res)


def matching(a: Any, b: Any) -> list[int] | None:
    """Place of each class of a among the classes of b, in coded order; None where they part the rows differently."""
    names, others = coded_levels(a), coded_levels(b)
    alike = all(a._fingerprint[name] == b._fingerprint[name] for name in ("response", "trials", "weights"))
    known = names == others or not ({*names} & {*others} or type(a.model).__name__ == "MNLogit")
    if known and alike and type(a.model) is type(b.model):
        return list(range(len(names)))
    if rows_gone(a) or rows_gone(b):
        return None
    if len(a.model._rows) != len(b.model._rows) or len(names) != len(others):
        return None
    places, free = [], [i for i, name in enumerate(others) if name not in names]
    may_be = [[others.index(name)] if name in others else free for name in names]
    alike_in = _cells_alike(a, b, [(j, i) for j, where in enumerate(may_be) for i in where])
    for j, where in enumerate(may_be):
        found = next((i for i in where if alike_in[j, i] and (i in free or names[j] in others)), None)
        if found is None:
            return None
        places.append(found)
        free = [i for i in free if i != found]
    return places


def fingerprint(res: Any) -> dict[str, Any]:
    """Fingerprint of a fit's data: digests of response, trials, weights and offset, and sums of columns."""
    alike, digests, start = counts_alike(res), [_Digest() for _ in range(4)], 0
    sums: dict[str, ndarray] = {}
    for X, y, trials, offset, weights in res.model._rows.parts():
        some = res.model._as_endog(y), trials, None if alike else weights, offset
        for digest, a in zip(digests, some, strict=True):
            digest.add(a)
        for name, own in _column_sums(res, X, start).items():
            sums[name] = sums.get(name, 0.0) + own
        start += len(y)
    found: dict[str, Any] = dict(zip(("response", "trials", "weights", "offset"), map(str, digests), strict=True))
    return found | {"columns": {name: own.tolist() for name, own in sums.items()}}


class _Digest:
    """Digest of an array that comes in parts; empty for None."""

    def __init__(self) -> None:
        self._hash: Any = None

    def add(self, a: ndarray | None) -> None:
        if a is not None:
            self._hash = self._hash or hashlib.blake2b(digest_size=16)
            self._hash.update(np.ascontiguousarray(a).tobytes())

    def __str__(self) -> str:
        return "" if self._hash is None else self._hash.hexdigest()


def same_offset(a: Any, b: Any) -> bool:
    """Whether two fits of the same data have the same offset, in terms of classes rather than of codes."""
    one, two = a._fingerprint["offset"], b._fingerprint["offset"]
    if not one and not two:
        return True
    alike = coded_levels(a) == coded_levels(b) and type(a.model) is type(b.model)
    if alike or rows_gone(a) or rows_gone(b):
        return one == two and alike
    if matching(a, b) is None:
        return False
    found = with_offsets(a, b, lambda X, x, Z, y: (X, x, y)).sum(_offsets_apart)
    return bool(found.apart <= 1e-14 * found.largest)


def columns_of(a: Any, b: Any) -> Blocks:
    """Blocks of the columns of two fits of the same rows."""
    return side_by_side(a.model._rows.columns(), b.model._rows.columns(), lambda X, Z: (X, Z))


def with_offsets(a: Any, b: Any, of: Callable[..., tuple]) -> Blocks:
    """Blocks of ``of(X, x, Z, z)`` for two fits of the same rows.

    X, Z are their columns and x, z their offsets of each class relative to the first, (n, K), with the classes of the
    second fit in the order of the first.
    """
    places = matching(a, b) or slice(None)

    def offsets(res: Any, y: ndarray, offset: ndarray | None) -> ndarray:
        out = np.zeros((len(y), len(coded_levels(res))))
        if offset is not None:
            out[:, 1:] = offset if np.ndim(offset) == 2 else np.asarray(offset)[:, None]
        return out

    def both(X, y, trials, offset, weights, Z, y_b, trials_b, offset_b, weights_b) -> tuple:
        z = offsets(b, y_b, offset_b)[:, places]
        return of(X, offsets(a, y, offset), Z, z - z[:, :1])

    return side_by_side(a.model._rows.blocks(), b.model._rows.blocks(), both)


@dataclass(frozen=True)
class _Apart(Summed):
    """Largest difference of two offsets beyond rounding, and the largest offset; ``a + b`` is that of both blocks."""

    apart: Largest
    largest: Largest


def _offsets_apart(X: Any, x: ndarray, y: ndarray) -> _Apart:
    return _Apart(Largest((np.abs(x - y) - 1e-12 * np.abs(y)).max()), Largest(np.abs(x).max()))


def same_link(a: Any, b: Any) -> bool:
    """Whether two conditional models have the same link, where an MNLogit of two levels counts as a Logit.

    The two tails of an asymmetric link differ.
    """
    one, other = (getattr(res.model, "link", LogitLink) for res in (a, b))
    several = [len(coded_levels(res)) for res in (a, b)]
    if one.name != other.name or several[0] != several[1]:
        return False
    if not one.symmetric and coded_levels(a) != coded_levels(b):
        return matching(a, b) == [0, 1]
    return True


def rows_gone(res: Any) -> bool:
    """Whether the rows of a fit were removed or not saved."""
    return res.model._rows_ is None


def counted(res: Any) -> ndarray | None:
    """Weights of the rows; None where all are 1, given or not."""
    return None if counts_alike(res) else res.model._rows.weights


def counts_alike(res: Any) -> bool:
    """Whether the weight of each row is 1, given or not."""
    r = res.model._rows
    return r.weights is None or (res.model._frequency and r.alike)


def coded_levels(res: Any) -> list[str]:
    """Levels of the response in the order of their codes, the reference or the non-event first."""
    model = res.model
    levels = model._classes if hasattr(model, "_classes") else model._response.levels
    return [str(level) for level in levels]


def _cells_alike(a: Any, b: Any, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], bool]:
    """Whether all rows have equal counts of a level of a and a level of b, by the places of both levels."""

    def both(X, y, trials, offset, weights, Z, y_b, trials_b, offset_b, weights_b) -> tuple:
        return X, _cells_of(a, y, trials, weights), _cells_of(b, y_b, trials_b, weights_b)

    def other(X: Any, x: ndarray, y: ndarray) -> ndarray:
        return np.array([not np.array_equal(x[:, j], y[:, i]) for j, i in pairs], dtype=int)

    found = side_by_side(a.model._rows.blocks(), b.model._rows.blocks(), both).sum(other)
    return dict(zip(pairs, (found == 0).tolist(), strict=True))


def _cells_of(res: Any, y: ndarray, trials: ndarray | None, weights: ndarray | None) -> ndarray:
    """Observations of each level in some rows, the levels in the order of their codes."""
    if hasattr(res.model, "_cells_of"):
        cells = res.model._cells_of(y, trials, weights)
    else:
        K = len(coded_levels(res))
        cells = (y[:, None] == np.arange(K)) * (1.0 if weights is None else weights[:, None])
    return np.asarray(cells, dtype=float)


def _check_features(a: Any, b: Any, what: str, names: tuple[str, str]) -> None:
    """Raise ValueError unless two joint likelihoods have the same variables, all as densities or as probabilities."""
    one, two = measures(a), measures(b)
    if one != two:
        apart = [name for name in {**one, **two} if one.get(name) != two.get(name)]
        differ = [f"{name}: {one.get(name, 'absent')}; {two.get(name, 'absent')}" for name in apart]
        raise ValueError(
            f"{what}: {names[0]} and {names[1]} are joint likelihoods of different variables ({', '.join(differ)}): "
            "densities of one variable do not compare with those of another, nor with probabilities. term_tests() "
            "tests features; llf_conditional compares the posteriors"
        )
    check_values(a, b, what, names)


def check_values(a: Any, b: Any, what: str, names: tuple[str, str] = ("this fit", "the restricted one")) -> None:
    """Raise ValueError where features of the same name have different values, as far as these are known."""
    apart = features_apart(a, b)
    if apart:
        raise ValueError(
            f"{what}: {names[0]} and {names[1]} have different features: {', '.join(apart)} of the same name "
            f"{'has' if len(apart) == 1 else 'have'} other values, and densities of other values do not compare. Fit "
            "both to the same table"
        )


def features_apart(a: Any, b: Any) -> list[str]:
    """Features of two generative models with equal names and different values, by rows, moments or sums."""
    if has_rows(a) and has_rows(b):
        one, two = _feature_values(a), _feature_values(b)
        return [name for name, x in one.items() if name in two and not _equal(x, two[name])]
    if ("columns" in a._fingerprint and "columns" in b._fingerprint) or not _have_moments(a, b):
        return columns_apart(a, b)
    return _moments_apart(a, b)


def _feature_values(res: Any, X: Any = None) -> dict[str, ndarray]:
    """The features of all or some rows by name; NaN where missing."""
    X = res.model._rows.X if X is None else X
    if not hasattr(X, "values"):
        return dict(zip(res.feature_names, X.toarray().T, strict=True))
    values = [np.where(v < 0, np.nan, v) if v.dtype.kind == "i" else v for v in X.values]
    return dict(zip(res.feature_names, values, strict=True))


def _equal(x: ndarray, y: ndarray) -> bool:
    """Whether arrays are equal up to rounding."""
    if x.shape != y.shape or np.array_equal(x, y):
        return x.shape == y.shape
    spread = np.nan_to_num(np.nanstd(x)) if x.size and not np.isnan(x).all() else 0.0
    return np.allclose(x, y, rtol=1e-12, atol=1e-9 * float(spread), equal_nan=True)


def _have_moments(a: Any, b: Any) -> bool:
    return hasattr(a, "_fitted_classes") and hasattr(b, "_fitted_classes")


def _moments_apart(a: Any, b: Any) -> list[str]:
    """Features of two Gaussian models whose class means or total variances differ."""
    one, two = a._fitted_classes.moments, b._fitted_classes.moments
    places = matching(a, b) or [b.model._classes.index(level) for level in a.model._classes]
    own, apart = list(b.feature_names), []
    for i, name in enumerate(a.feature_names):
        if name in own:
            j, v = own.index(name), one.total[i, i]
            x, y = one.means[:, i], two.means[places, j]
            near = np.abs(x - y) <= 1e-9 * (np.sqrt(v / one.n) + np.abs(x))
            if not (near.all() and np.isclose(v, two.total[j, j], rtol=1e-8)):
                apart.append(name)
    return apart


# ---------------------------------------------------------------------------------------------- columns without rows
def _column_sums(res: Any, X: Any, start: int) -> dict[str, ndarray]:
    """Weighted sums of each column, by name, of rows from the `start`-th on, and of the mask of missing values.

    The weights are fixed pseudo-random numbers by row, so that other numbers, or the same numbers in other rows, have
    other sums; unlike digests, sums add up over parts and allow for rounding.
    """
    n = X.shape[0]
    if is_joint(res):
        u = _weights_of_rows(start, n)
        parts = {name: v.reshape(n, -1) for name, v in _feature_values(res, X).items()}
        return {name: np.append(u @ np.nan_to_num(v), u @ np.isnan(v)) for name, v in parts.items()}
    total = np.zeros(X.shape[1])
    for first in range(0, n, X.block_size):
        block = X[slice(first, min(first + X.block_size, n))]
        total += block.times(_weights_of_rows(start + first, block.shape[0]))
    return {name: np.array([value]) for name, value in zip(res.model.exog_names, total, strict=True)}


def _weights_of_rows(start: int, n: int) -> ndarray:
    """Pseudo-random weights of rows, all distinct: fractional parts of multiples of the golden ratio (Weyl)."""
    places = np.arange(start + 1, start + n + 1, dtype=np.uint64)
    return (places * np.uint64(0x9E3779B97F4A7C15)).astype(float) / 2.0**64


def columns_apart(a: Any, b: Any) -> list[str]:
    """Columns or features of equal names whose stored sums differ; empty where a file has no sums."""
    one, two = (res._fingerprint.get("columns", {}) for res in (a, b))
    shared = [name for name in one if name in two]
    return [name for name in shared if not _same_sums(np.asarray(one[name]), np.asarray(two[name]))]


def _same_sums(x: ndarray, y: ndarray) -> bool:
    return x.shape == y.shape and np.allclose(x, y, rtol=SUMS_RTOL, atol=0.0)


def measures(res: Any) -> dict[str, str]:
    """Measure of each feature of a generative model: density or probability."""
    features = getattr(res.model, "features", None)
    if features is None:
        return dict.fromkeys(res.feature_names, "density")
    densities = ("gaussian", "exponential", "gamma")
    return {f.name: "density" if f.family in densities else "probability" for f in features}
