"""Comparisons of the levels of a factor with each other, adjusted for their number."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.numerics import seeds
from glmclf.errors import DataError
from glmclf.inference.hypotheses import multiplicity as pairwise
from glmclf.inference.hypotheses import wald
from glmclf.results.tables.frames import notebook

ADJUSTMENT_WORDS = {
    "holm": "Holm, intervals Bonferroni",
    "sidak": "Sidak",
    "hs": "Holm-Sidak, intervals Sidak",
    "bonferroni": "Bonferroni",
    "tukey": "largest |z| of the joint distribution (Tukey type)",
    "none": "not adjusted",
}


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
    contrasts : DataFrame
        The combinations of parameters that were tested.
    n_tests : int
        How many tests the adjustment counts: those whose difference has a standard error.
    error : float
        Relative standard error of the numerical integration of "tukey"; 0 of other methods.
    """

    def __init__(self, frame: pd.DataFrame, contrasts: pd.DataFrame, method: str, alpha: float, n: int, error: float):
        self.result_frame, self.contrasts = frame, contrasts
        self.method, self.alpha, self.n_tests, self.error = method, alpha, n, error

    def summary_frame(self) -> pd.DataFrame:
        """Copy of `result_frame`."""
        return self.result_frame.copy()

    def __repr__(self) -> str:
        return f"{self.result_frame.to_string()}\n{self._foot}"

    @property
    def _foot(self) -> str:
        n = f"{self.n_tests} test{'s' if self.n_tests != 1 else ''}"
        return f"{n}, adjusted: {ADJUSTMENT_WORDS[self.method]}"

    def _repr_html_(self) -> str:
        return notebook(self.result_frame, self._foot)


def pairwise_tests(
    res: Any, term_name: str, method: str, alpha: float, at: Mapping[str, Any] | None, use_t: bool | None, seed: int
) -> PairwiseTests:
    """Tests of `WaldInference.t_test_pairwise`."""
    if method not in pairwise.PAIRWISE_ADJUSTMENTS:
        raise ValueError(f"method={method!r}: choose one of {', '.join(map(repr, pairwise.PAIRWISE_ADJUSTMENTS))}")
    wald.check_alpha(alpha)
    seeds.whole(seed)
    if at is not None and not isinstance(at, Mapping):
        raise ValueError(f"at={at!r}: a dict of values of the variables that the factor interacts with")
    res = getattr(res, "discriminant", res)
    labels, R = _contrasts(res, term_name, at)
    df = res._df(use_t)
    estimate, se = res._contrasts(R)
    tested = np.flatnonzero((se > 0) & np.isfinite(estimate))
    z, adjusted = np.full(len(R), np.nan), np.full(len(R), np.nan)
    z[tested] = estimate[tested] / se[tested]
    critical, error = wald.critical_value(alpha, df), 0.0
    if len(tested):
        C = _correlation(res, R[tested], se[tested]) if method == "tukey" else np.eye(len(tested))
        found = pairwise.adjusted(z[tested], C, method, alpha, df, seed)
        adjusted[tested], critical, error = found.pvalue, found.critical, found.error
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
    contrasts = pd.DataFrame(R, index=labels, columns=res._param_index)
    return PairwiseTests(pd.DataFrame(values, index=labels), contrasts, method, alpha, len(tested), error)


def _correlation(res: Any, R: ndarray, se: ndarray) -> ndarray:
    _, V, rotated = res._in_coordinates(R)
    C = rotated @ V @ rotated.T / np.outer(se, se)
    return 0.5 * (C + C.T)


def _contrasts(res: Any, factor: str, at: Mapping[str, Any] | None) -> tuple[pd.Index, ndarray]:
    """Labels and combinations of all pairs, in all equations."""
    from glmclf.data.design.level_rows import level_rows
    from glmclf.data.reading.features import FeatureDesign

    if not isinstance(factor, str):
        raise ValueError(f"term_name={factor!r}: the name of a factor")
    owner, names = getattr(res, "_parent", res).model, res.model.exog_names
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
    pairs = [(b, a) for a, b in itertools.combinations(range(len(levels)), 2)]
    D = np.array([rows[b] - rows[a] for b, a in pairs]).reshape(-1, len(names))
    text = [f"{levels[b]}-{levels[a]}" for b, a in pairs]
    equations = getattr(res.model, "_equations", None)
    if equations is None:
        return pd.Index(text, dtype=object), D
    tuples = [(level, pair) for level in equations for pair in text]
    index = pd.MultiIndex.from_tuples(tuples, names=["level", "pair"]) if tuples else pd.Index([], dtype=object)
    return index, np.kron(np.eye(len(equations)), D)


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
