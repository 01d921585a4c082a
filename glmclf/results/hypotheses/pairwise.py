"""Comparisons of the levels of a factor with each other, adjusted for their number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.core.numerics import seeds
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import DataError, escaped
from glmclf.inference.hypotheses import multiplicity as pairwise
from glmclf.inference.hypotheses import wald
from glmclf.results.tables.frames import notebook

MAX_CONTRAST_ENTRIES = 2**20  # of the combinations of parameters that are tested at a time
MAX_COMBINATION_BYTES = 2**31  # of those that are held at once, for who asks for them
ADJUSTMENT_WORDS = {
    "holm": "Holm, intervals Bonferroni",
    "sidak": "Sidak",
    "hs": "Holm-Sidak, intervals Sidak",
    "bonferroni": "Bonferroni",
    "tukey": "largest |z| of the joint distribution (Tukey type)",
    "none": "not adjusted",
}


@under_usual_errors
class PairwiseTests:
    """Differences of the levels of a factor, with adjusted tests and simultaneous intervals.

    Attributes
    ----------
    method : str
        Of the adjustment.
    alpha : float
        Family-wise level of the intervals and of the column reject.
    result_frame : DataFrame
        A row a pair (of several equations (level, pair)): coef, std err, z, P>|z| (not adjusted), Conf. Int. Low,
        Conf. Int. Upp. (simultaneous), pvalue-<method> and reject-<method>.
    n_tests : int
        How many tests the adjustment counts: those whose difference has a standard error.
    error : float
        Relative standard error of the numerical integration of "tukey"; 0 of other methods.
    """

    def __init__(self, frame: pd.DataFrame, pairs: LevelPairs, method: str, alpha: float, n: int, error: float):
        self.result_frame, self._pairs = frame, pairs
        self.method, self.alpha, self.n_tests, self.error = method, alpha, n, error

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """Combinations of parameters that were tested, a row a pair and a column a parameter."""
        R = self._pairs.combinations(slice(None))
        return pd.DataFrame(R, index=self._pairs.labels, columns=self._pairs.parameters)

    def summary_frame(self) -> pd.DataFrame:
        """Copy of `result_frame`."""
        return self.result_frame.copy()

    def __repr__(self) -> str:
        return escaped(f"{self.result_frame.to_string()}\n{self._foot}")

    @property
    def _foot(self) -> str:
        n = f"{self.n_tests} test{'s' if self.n_tests != 1 else ''}"
        return f"{n}, adjusted: {ADJUSTMENT_WORDS[self.method]}"

    def _repr_html_(self) -> str:
        return notebook(self.result_frame, self._foot)


class LevelPairs:
    """All pairs of the levels of a factor, in all equations, as combinations of parameters that are made when used.

    Parameters
    ----------
    levels : list
    rows : (L, k) ndarray
        Rows of the design that differ in the level.
    equations : list or None
        Names of the equations of several classes.
    parameters : Index
    """

    def __init__(self, levels: list[Any], rows: ndarray, equations: Any, parameters: pd.Index):
        self._rows, self._equations, self.parameters = rows, 1 if equations is None else len(equations), parameters
        self._lower, self._upper = np.triu_indices(len(levels), 1)
        text = [f"{b}-{a}" for a, b in itertools.combinations(levels, 2)]
        tuples = [(level, pair) for level in equations or () for pair in text]
        none = equations is None or not tuples
        self.labels = (
            pd.Index([] if equations is not None else text, dtype=object)
            if none
            else pd.MultiIndex.from_tuples(tuples, names=["level", "pair"])
        )

    def __len__(self) -> int:
        return self._equations * len(self._lower)

    def estimates(self, res: Any) -> tuple[ndarray, ndarray]:
        """Estimate and standard error of each pair: where all are finite from the covariance of the levels."""
        rows = self._rows - self._rows[:1]  # what all levels share is gone exactly
        found = []
        for equation in range(self._equations if res._plain and len(rows) else 0):
            R = np.zeros((len(rows), self._equations, rows.shape[1]))
            R[:, equation] = rows
            theta, V, G = res._coordinates(R.reshape(len(rows), -1))
            if not np.isfinite(V.diagonal()).all():
                break
            found.append([A[self._lower, self._upper] for A in wald.differences(G, theta, V)])
        if len(found) < self._equations:
            found = [res._contrasts(self.combinations(tests)) for tests in self.blocks()]
        estimate, se = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return estimate, se

    def combinations(self, tests: slice | ndarray) -> ndarray:
        """Combinations of the parameters of some tests, (tests, p); refused where they would have more than 2 GB."""
        at, k = np.arange(len(self))[tests], self._rows.shape[1]
        size = 8 * len(at) * self._equations * k
        if size > MAX_COMBINATION_BYTES:
            raise ValueError(
                f"the combinations of {len(at):,} pairs of levels have {size / 1e9:,.1f} GB, more than is formed: "
                'method="holm", "sidak", "hs" and "bonferroni" do not need them, and result_frame has the tests'
            )
        equation, pair = np.divmod(at, max(len(self._lower), 1))
        R = np.zeros((len(at), self._equations, k))
        R[np.arange(len(at)), equation] = self._rows[self._upper[pair]] - self._rows[self._lower[pair]]
        return R.reshape(len(at), -1)

    def blocks(self) -> Iterator[slice]:
        """Tests of which combinations fit into little memory."""
        step = max(1, MAX_CONTRAST_ENTRIES // max(1, self._equations * self._rows.shape[1]))
        return (slice(start, start + step) for start in range(0, max(len(self), 1), step))


def pairwise_tests(
    res: Any, term_name: str, method: str, alpha: float, at: Mapping[str, Any] | None, use_t: bool | None, seed: int
) -> PairwiseTests:
    """Tests of `WaldInference.t_test_pairwise`."""
    check_choice("method", method, pairwise.PAIRWISE_ADJUSTMENTS)
    wald.check_alpha(alpha)
    seeds.whole(seed)
    if at is not None and not isinstance(at, Mapping):
        raise ValueError(f"at={at!r}: a dict of values of the variables that the factor interacts with")
    res = getattr(res, "discriminant", res)
    pairs = _pairs(res, term_name, at)
    df = res._df(use_t)
    estimate, se = pairs.estimates(res)
    tested = np.flatnonzero((se > 0) & np.isfinite(estimate))
    z, adjusted = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    z[tested] = estimate[tested] / se[tested]
    critical, error = wald.critical_value(alpha, df), 0.0
    if len(tested):
        C = _correlation(res, pairs.combinations(tested), se[tested]) if method == "tukey" else None
        family = pairwise.adjusted(z[tested], C, method, alpha, df, seed)
        adjusted[tested], critical, error = family.pvalue, family.critical, family.error
    name, p = ("z", "P>|z|") if df is None else ("t", "P>|t|")
    with np.errstate(invalid="ignore"):
        values = {
            "coef": estimate,
            "std err": se,
            name: z,
            p: wald.z_pvalues(z, df),
            "Conf. Int. Low": estimate - critical * se,
            "Conf. Int. Upp.": estimate + critical * se,
            f"pvalue-{method}": adjusted,
            f"reject-{method}": adjusted <= alpha,
        }
    return PairwiseTests(pd.DataFrame(values, index=pairs.labels), pairs, method, alpha, len(tested), error)


def _correlation(res: Any, R: ndarray, se: ndarray) -> ndarray:
    """The correlation of the combinations R, or of more of them than parameters a root of it."""
    _, V, rotated = res._in_coordinates(R)
    unknown = ~np.isfinite(V.diagonal())  # of parameters that no combination with a standard error has
    V = np.where(unknown[:, None] | unknown, 0.0, V)
    if len(R) > len(V):
        values, vectors = np.linalg.eigh(V)
        return rotated @ (vectors * np.sqrt(np.maximum(values, 0.0))) / se[:, None]
    C = rotated @ V @ rotated.T / np.outer(se, se)
    return 0.5 * (C + C.T)


def _pairs(res: Any, factor: str, at: Mapping[str, Any] | None) -> LevelPairs:
    """All pairs of levels, in all equations."""
    from glmclf.data.design.level_rows import level_rows
    from glmclf.data.reading.features import FeatureDesign

    if not isinstance(factor, str):
        raise ValueError(f"term_name={factor!r}: the name of a factor")
    owner, names = res._owner.model, res.model.exog_names
    if isinstance(owner._design, FeatureDesign):
        levels, rows = _of_table(owner, names, factor, at)
    elif owner.formula is None:
        raise DataError(f'"{factor}" has no levels: the model has no formula with factors. Use t_test with a matrix')
    elif [*owner._design.xnames] == [*names]:
        levels, rows = level_rows(owner._design, factor, at)
    else:
        raise NotImplementedError(
            f"t_test_pairwise() of {type(owner).__name__}: its log-odds are no linear function of the formula's "
            "columns. Use t_test"
        )
    return LevelPairs(levels, rows, getattr(res.model, "_equations", None), res._param_index)


def _of_table(model: Any, names: list[str], factor: str, at: Mapping[str, Any] | None) -> tuple[list[Any], ndarray]:
    """Levels of a categorical feature, and the indicator of each that enters the log-odds."""
    tables = {f.term: f for f in model.features if f.family == "categorical" and len(f.factors) == 1}
    feature = tables.get(factor) or next((f for f in tables.values() if f.variables == (factor,)), None)
    if feature is None or at:
        words = f"its features of this kind are {', '.join(tables)}" if tables else "it has none"
        raise NotImplementedError(
            f"t_test_pairwise({factor!r}) of NaiveBayes is for a categorical feature that is no joint table, without "
            f"at=; {words}. Use t_test"
        )
    rows = np.zeros((len(feature.levels), len(names)))
    for i, name in enumerate(feature.xnames):
        rows[i + 1, names.index(name)] = 1.0
    return list(feature.levels), rows
