"""Comparability of likelihoods: whether results are fits to the same observations."""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.links import LogitLink
from glmclf.core.likelihood.objective import Largest
from glmclf.core.rows.blocks import Blocks
from glmclf.core.rows.streamed import side_by_side
from glmclf.core.rows.summed import Summed, added_by
from glmclf.data.design.arrays import is_sparse
from glmclf.errors import DataError
from glmclf.results.base import Results
from glmclf.results.requires import has_rows

SUMS_TOL = 1e-11  # difference of sums that another order of adding may make, relative to a bound of their terms' sum
MIN_ROWS_OF_A_SUM = 5  # rows of which a sum is kept without them: that of one row is its value


def is_joint(res: Any) -> bool:
    """Whether `llf` is the joint likelihood of response and features, not the conditional one."""
    return hasattr(res, "llf_conditional")


def check_result(res: Any, what: str) -> None:
    """Raise TypeError unless the argument is a result of a fit."""
    if not isinstance(res, Results):
        raise no_result(res, what)


def no_result(res: Any, what: str) -> TypeError:
    """The error for an argument that is no result of a fit; of a list of such it says how they are passed."""
    one_by_one = isinstance(res, (list, tuple)) and all(hasattr(each, "model") for each in res) and len(res) > 0
    how = f": pass them one by one, {what.removesuffix('()')}(*results)" if one_by_one else ""
    return TypeError(f"{what} needs results of fits, found {type(res).__name__}{how}")


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
    if rows_gone(a) or rows_gone(b):
        return _different_totals(a, b)
    one, two = a._fingerprint, b._fingerprint
    weights = one["weights"] != two["weights"]
    if a.nobs != b.nobs:
        return [f"numbers of observations, {a.nobs:.15g} and {b.nobs:.15g}," + " and weights" * weights]
    if weights:
        return ["weights"]
    if len(coded_levels(a)) != len(coded_levels(b)):
        return ["levels"]
    differ = [name for name in ("response", "trials") if one[name] != two[name]]
    if matching(a, b) is not None:
        return []
    return ["levels"] if {*coded_levels(a)} != {*coded_levels(b)} else ["response"] if "response" in differ else differ


def _different_totals(a: Any, b: Any) -> list[str]:
    """Names of what differs between two fits as far as their totals tell, where the rows of one are gone."""
    one, two = a._data_sums, b._data_sums
    if not one or not two:
        raise DataError(
            "whether the two fits are of the same observations cannot be told: the file of one was written by an "
            "earlier version of glmclf, whose digests of the response are no longer read. Fit and save it again"
        )
    weights = not _same_sums(one["weights"], two["weights"])
    if a.nobs != b.nobs:
        return [f"numbers of observations, {a.nobs:g} and {b.nobs:g}," + " and weights" * weights]
    if weights:
        return ["weights"]
    names, others = one["levels"], two["levels"]
    if len(names) != len(others):
        return ["levels"]
    if {*names} & {*others} and {*names} != {*others}:
        return ["levels"]
    if matching(a, b) is None:
        if {*names} == {*others}:
            return ["response"]
        raise DataError(
            "whether the two fits are of the same observations cannot be told without the rows, which were removed or "
            f"not saved: their levels have other names ({', '.join(names)}; {', '.join(others)}). Compare the fits "
            "before they are saved"
        )
    return [] if _same_sums(one["trials"], two["trials"]) else ["trials"]


def matching(a: Any, b: Any) -> list[int] | None:
    """Place of each class of a among the classes of b, in coded order; None where they part the rows differently.

    Without the rows of one, classes of the same names and of equal totals are the same.
    """
    names, others = coded_levels(a), coded_levels(b)
    if rows_gone(a) or rows_gone(b):
        one, two = _responses(a), _responses(b)
        if {*names} != {*others}:
            return list(range(len(names))) if one and [*one.values()] == [*two.values()] else None
        return [others.index(name) for name in names] if one == two else None
    alike = all(a._fingerprint[name] == b._fingerprint[name] for name in ("response", "trials", "weights"))
    known = names == others or not ({*names} & {*others} or type(a.model).__name__ == "MNLogit")
    if known and alike and type(a.model) is type(b.model):
        return list(range(len(names)))
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


def fingerprint(res: Any) -> dict[str, str]:
    """Digests of response, trials, weights and offset, by which fits compare whose rows are at hand.

    They go with the rows: the digest of a response of few rows is that of one of few responses, which one can try.
    """
    alike, digests = counts_alike(res), [_Digest() for _ in range(4)]
    for _X, y, trials, offset, weights in res.model._rows.parts():
        some = res.model._as_endog(y), trials, None if alike else weights, offset
        for digest, a in zip(digests, some, strict=True):
            digest.add(a)
    return dict(zip(("response", "trials", "weights", "offset"), map(str, digests), strict=True))


def _responses(res: Any) -> dict[str, float]:
    """Observations of each class by its name, in coded order."""
    found = res._data_sums
    by_name = dict(zip(found["levels"], found["response"], strict=True)) if found else {}
    return {name: by_name[name] for name in coded_levels(res)} if found else {}


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
    alike = coded_levels(a) == coded_levels(b) and type(a.model) is type(b.model)
    if rows_gone(a) or rows_gone(b):
        sums, others = a._data_sums.get("offset", []), b._data_sums.get("offset", [])
        return _same_sums(sums, others) and (alike or not sums)
    one, two = a._fingerprint["offset"], b._fingerprint["offset"]
    if not one and not two:
        return True
    if alike:
        return one == two
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


def matched(a: Any, b: Any) -> list[int]:
    """Places of a's classes among b's, whose reference and names may differ."""
    return matching(a, b) or [coded_levels(b).index(name) for name in coded_levels(a)]


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
    moments = hasattr(a, "_fitted_classes") and hasattr(b, "_fitted_classes")
    return _moments_apart(a, b) if moments and not (a._data_sums and b._data_sums) else columns_apart(a, b)


def _feature_values(res: Any, X: Any = None) -> dict[str, ndarray]:
    """The features of all or some rows by name; NaN where missing."""
    X = res.model._rows.X if X is None else X
    if not hasattr(X, "values"):
        return dict(zip(res.feature_names, X.toarray().T, strict=True))
    if getattr(res.model, "_sparse", False):
        runs = zip(X.values, res.model._design.runs, strict=True)
        columns = ([v] if family == "multinomial" else _columns_of(v) for v, (family, _) in runs)
        return dict(zip(res.feature_names, itertools.chain(*columns), strict=True))
    values = [np.where(v < 0, np.nan, v) if v.dtype.kind == "i" else v for v in X.values]
    return dict(zip(res.feature_names, values, strict=True))


def _columns_of(v: Any) -> Iterator[Any]:
    """Each column of a csr array as an array of its own."""
    v = v.tocsc()
    return (v[:, [j]].tocsr() for j in range(v.shape[1]))


def _equal(x: Any, y: Any) -> bool:
    """Whether arrays are equal up to rounding; whole numbers of sparse ones are."""
    if is_sparse(x) or is_sparse(y):
        from scipy.sparse import csr_array

        one, two = (v if is_sparse(v) else csr_array(np.nan_to_num(v.reshape(len(v), -1), nan=-1.0)) for v in (x, y))
        return one.shape == two.shape and (one != two).nnz == 0
    if x.shape != y.shape or np.array_equal(x, y):
        return x.shape == y.shape
    spread = np.nan_to_num(np.nanstd(x)) if x.size and not np.isnan(x).all() else 0.0
    return np.allclose(x, y, rtol=1e-12, atol=1e-9 * float(spread), equal_nan=True)


def _moments_apart(a: Any, b: Any) -> list[str]:
    """Features of two Gaussian models whose class means or total variances differ."""
    one, two = a._fitted_classes.moments, b._fitted_classes.moments
    places, own, apart = matched(a, b), list(b.feature_names), []
    for i, name in enumerate(a.feature_names):
        if name in own:
            j, v = own.index(name), one.total[i, i]
            x, y = one.means[:, i], two.means[places, j]
            near = np.abs(x - y) <= 1e-9 * (np.sqrt(v / one.n) + np.abs(x))
            if not (near.all() and np.isclose(v, two.total[j, j], rtol=1e-8)):
                apart.append(name)
    return apart


# ---------------------------------------------------------------------------------------------- data without rows
def totals(res: Any) -> dict[str, Any]:
    """Sums over all rows, or those of a class, by which fits compare whose rows are gone.

    No order of rows is in them, so that no row can be told: means of columns by class, which the estimate tells as
    well. Sums of fewer than `MIN_ROWS_OF_A_SUM` rows are left out.

    Returns
    -------
    dict
        The names of the "levels", the observations of each ("response"), and lists [bound, sums] of "trials",
        "weights", "offset" and each of the "columns": sums by class, or over all where a class has few rows. The bound
        is one of the sum of the absolute terms, a power of two.
    """
    alike, parts = counts_alike(res), list[_SumsByClass]()
    for X, y, trials, offset, weights in res.model._rows.parts():
        cells = _cells_of(res, y, trials, weights)
        values = {"trials": trials, "weights": None if alike else weights, "offset": offset}
        arrays = {name: np.reshape(a, (len(y), -1)) for name, a in values.items() if a is not None}
        largest, sums = _sums_of(arrays, cells)
        own, by_class = _sums_of_columns(res, X, cells)
        counts = np.vstack([cells.sum(axis=0), (cells > 0).sum(axis=0)])
        parts.append(_SumsByClass(largest | own | {"": np.ones(1)}, sums | by_class | {"": counts}, len(y)))
    seen = functools.reduce(operator.add, parts)
    counts, rows = seen.sums[""]
    few = rows.min() < MIN_ROWS_OF_A_SUM
    made = {
        name: _rounded_sums(sums.sum(axis=1, keepdims=True) if few else sums, seen.largest[name] * counts.sum())
        for name, sums in seen.sums.items()
        if name and seen.rows >= MIN_ROWS_OF_A_SUM
    }
    columns = {name[1:]: found for name, found in made.items() if name.startswith("=")}
    beside = {name: made.get(name, []) for name in ("trials", "weights", "offset")}
    return {"levels": coded_levels(res), "response": counts.tolist(), **beside, "columns": columns}


@dataclass(frozen=True)
class _SumsByClass(Summed):
    """Sums by class of what has a value a row, by name, (width, K), and the largest absolute values, (width,)."""

    largest: dict[str, Any] = field(metadata=added_by(lambda a, b: {n: np.maximum(a[n], b.get(n, 0.0)) for n in a}))
    sums: dict[str, Any]
    rows: int


def _sums_of(arrays: dict[str, ndarray], cells: ndarray) -> tuple[dict[str, ndarray], dict[str, ndarray]]:
    """Largest absolute values and sums by class of arrays (n, width)."""
    largest = {name: np.abs(a).max(axis=0, initial=0.0) for name, a in arrays.items()}
    return largest, {name: a.T @ cells for name, a in arrays.items()}


def _sums_of_columns(res: Any, X: Any, cells: ndarray) -> tuple[dict[str, ndarray], dict[str, ndarray]]:
    """Largest absolute value and sums by class of each column; of features also the missing values of each class."""
    if getattr(res.model, "_sparse", False):
        found = [_sums_of_run(v, cells) for v in X.values]
        names = [f"={name}" for name in res.feature_names]
        runs = zip(found, res.model._design.runs, strict=True)
        parts_of = (([run] if family == "multinomial" else _by_feature(run)) for run, (family, _) in runs)
        of_each = list(itertools.chain(*parts_of))
        largest, by_class = zip(*of_each, strict=True)
        return dict(zip(names, largest, strict=True)), dict(zip(names, by_class, strict=True))
    if is_joint(res):
        parts = {f"={name}": v.reshape(len(cells), -1) for name, v in _feature_values(res, X).items()}
        both = {name: np.column_stack([np.nan_to_num(v), np.isnan(v)]) for name, v in parts.items()}
        return _sums_of(both, cells)
    names = [f"={name}" for name in res.model.exog_names]
    sums = np.zeros((X.shape[1], cells.shape[1]))
    for first in range(0, len(cells), X.block_size):
        part = slice(first, min(first + X.block_size, len(cells)))
        sums += np.column_stack([X[part].times(c) for c in cells[part].T])
    largest = X.largest() if len(cells) else np.zeros(len(names))
    return dict(zip(names, largest[:, None], strict=True)), dict(zip(names, sums[:, None, :], strict=True))


def _sums_of_run(v: Any, cells: ndarray) -> tuple[ndarray, ndarray]:
    """Largest values and sums by class of the columns of a csr array, then those of their missing values: 0."""
    largest, sums = abs(v).max(axis=0).toarray().ravel(), v.T @ cells
    return np.concatenate([largest, np.zeros(len(largest))]), np.concatenate([sums, np.zeros(sums.shape)])


def _by_feature(run: tuple[ndarray, ndarray]) -> Iterator[tuple[ndarray, ndarray]]:
    """`_sums_of_run` of each column alone."""
    p = len(run[0]) // 2
    return ((run[0][[j, p + j]], run[1][[j, p + j]]) for j in range(p))


def _rounded_sums(sums: ndarray, bound: ndarray) -> list[list[float]]:
    """Lists [bound, sums by class] of each of the columns."""
    top = np.exp2(np.ceil(np.log2(np.where(bound > 0, bound, 1.0))))
    return np.column_stack([top, sums]).tolist()


def columns_apart(a: Any, b: Any) -> list[str]:
    """Columns or features of equal names whose totals differ; empty where a file has none."""
    one, two = (res._data_sums.get("columns", {}) for res in (a, b))
    places = matching(a, b)
    return [name for name in one if name in two and not _same_sums(one[name], two[name], places)]


def _same_sums(one: list[list[float]], two: list[list[float]], places: list[int] | None = None) -> bool:
    """Whether sums are equal up to the order of adding; of all rows where one has no others."""
    if not one or not two:
        return bool(one) == bool(two)
    (bound, x), (other, y) = ((a[:, :1], a[:, 1:]) for a in map(np.asarray, (one, two)))
    if x.shape == y.shape and x.shape[1] > 1 and places is not None:
        y = y[:, places]
    if x.shape != y.shape:
        x, y = x.sum(axis=1, keepdims=True), y.sum(axis=1, keepdims=True)
    return x.shape == y.shape and bool((np.abs(x - y) <= SUMS_TOL * np.minimum(bound, other)).all())


def measures(res: Any) -> dict[str, str]:
    """Measure of each feature of a generative model: density or probability."""
    features = getattr(res.model, "features", None)
    if features is None:
        return dict.fromkeys(res.feature_names, "density")
    densities = ("gaussian", "exponential", "gamma")
    return {f.name: "density" if f.family in densities else "probability" for f in features}
