"""Internal validation: how much better a fit looks on its own rows than on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.numerics.folds import deal
from glmclf.core.numerics.ties import TIED
from glmclf.inference.covariance.resampling import drawn
from glmclf.inference.performance import calibration, roc
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.inference.performance.recalibration import recalibrate

VALIDATION_METHODS = ("bootstrap", "cv", ".632+")
SHARE_IN_BOOTSTRAP = 0.632  # expected share of the rows that are in a bootstrap sample
SAME_MEASURE, NO_MEASURE = 1e-10, 1e-13  # measures that differ by less, relatively or at all, differ by rounding
OF_EVENT = ("AUC", "Brier", "log score", "accuracy", "R2", "intercept", "slope")
OF_CLASSES = ("AUC", "Brier", "log score", "accuracy", "R2", "slope")

Refit = Callable[[ndarray], tuple[ndarray | None, str]]  # times of rows -> log probabilities of all, or why not


class Draw(NamedTuple):
    """One resample: how often each row is fitted to, and how many of its observations are kept apart."""

    kept: ndarray
    out: ndarray | None


@dataclass(frozen=True)
class Validated:
    """Performance measures of a fit on its own rows, and those to expect of it on others.

    Attributes
    ----------
    names : list of str
    apparent, training, test, corrected : (k,) ndarrays
        On all rows; mean over replications on the rows fitted to, and on those that judge; corrected for optimism.
    used : int
        Replications with an estimate.
    reasons : dict
        Why others have none, and how many.
    undefined : dict
        Measures that are not finite in some replications, and in how many.
    constant : bool
        Whether the fit predicts the same for all rows.
    """

    names: list[str]
    apparent: ndarray
    training: ndarray
    test: ndarray
    corrected: ndarray
    used: int
    reasons: dict[str, int]
    undefined: dict[str, int]
    constant: bool


class Predicted:
    """Predictions of rows, sorted once, to be judged by several outcomes of these rows.

    Parameters
    ----------
    log_p : (n, K) ndarray
    """

    def __init__(self, log_p: ndarray):
        self.log_p, self.p = log_p, np.exp(log_p)
        self.called, self.squares = self.p.argmax(axis=1), np.einsum("ij,ij->i", self.p, self.p)

    @cached_property
    def _sorted(self) -> list[tuple[ndarray, ndarray]]:
        """Order of the rows and sorted scores of each class, of two that of the event."""
        scores = calibration.log_odds(self.log_p)
        return [roc.descending(scores[:, k]) for k in (range(scores.shape[1]) if scores.shape[1] > 2 else [1])]

    def _auc(self, totals: ndarray) -> float:
        if totals.shape[1] > 2:
            return roc.hand_till_area(self._sorted, totals)
        order, score = self._sorted[0]
        return roc.sorted_area(score, *totals[order].T)

    def measures(self, outcomes: ObservedOutcomes) -> ndarray:
        """AUC (Hand and Till's M), Brier and log score, accuracy, R2, intercept (of an event) and slope."""
        totals, K = outcomes.totals, self.p.shape[1]
        sizes = totals.sum(axis=0)
        n, held = sizes.sum(), np.flatnonzero(totals.any(axis=1))
        auc = self._auc(totals) if (sizes > 0).all() else np.nan
        squares = totals.sum(axis=1) @ self.squares - 2 * np.vdot(totals, self.p) + n
        likely = np.where(totals > 0, self.log_p, 0.0)
        right = totals[np.arange(len(totals)), self.called].sum()
        fit = recalibrate(self.log_p[held], outcomes.rows(held))
        R2 = calibration.nagelkerke(fit.llf, sizes) if np.isfinite(fit.llf) else np.nan
        scores = [auc, squares / n / (2 if K == 2 else 1), -float(np.vdot(totals, likely)) / n, right / n]
        return np.array([*scores, R2, *(fit.intercepts if K == 2 else ()), fit.slope], dtype=float)


def measures(log_p: ndarray, outcomes: ObservedOutcomes) -> ndarray:
    """Performance measures of predictions that are judged once."""
    return Predicted(log_p).measures(outcomes)


def without_information(log_p: ndarray, outcomes: ObservedOutcomes) -> ndarray:
    """Performance measures if outcomes were independent of predictions, their shares as they are.

    Recalibration then has the slope 0, and as intercept the log odds of the event's share.
    """
    K = log_p.shape[1]
    m = outcomes.totals.sum(axis=1)
    share, p = outcomes.sizes / m.sum(), np.exp(log_p)
    brier = float(m @ (p**2).sum(axis=1) / m.sum() - 2 * share @ (m @ p) / m.sum() + 1) / (2 if K == 2 else 1)
    called = np.bincount(p.argmax(axis=1), m, minlength=K) / m.sum()
    log_score = float(-share @ (m @ log_p) / m.sum())
    intercept = [float(np.log(share[1] / share[0]))] if K == 2 else []
    return np.array([0.5, brier, log_score, float(share @ called), 0.0, *intercept, 0.0])


# ------------------------------------------------------------------------------------------------------- resamples
def bootstrap_draws(
    n: int, times: ndarray | None, codes: ndarray | None, reps: int, generator: np.random.Generator, apart: bool
) -> Iterator[Draw]:
    """Observations, or whole clusters, drawn with replacement, and on request those not drawn.

    A table with frequency weights and its expanded rows are drawn alike.
    """
    ends = None if times is None or codes is not None else np.cumsum(times).astype(np.int64)
    for _ in range(reps):
        if ends is None or not apart:
            kept = drawn(n, times, codes, generator)
            if codes is not None and times is not None:
                kept = kept * times
            full = np.ones(n) if times is None else times
            yield Draw(kept, np.where(kept == 0, full, 0.0) if apart else None)
        else:
            N = int(ends[-1])
            often = np.bincount(generator.integers(0, N, N), minlength=N)
            starts = np.r_[0, ends[:-1]]
            yield Draw(np.add.reduceat(often, starts).astype(float), np.add.reduceat(often == 0, starts).astype(float))


def fold_draws(counts: ndarray, folds: int, codes: ndarray | None, generator: np.random.Generator) -> Iterator[Draw]:
    """Each fold kept apart once: observations dealt class by class, or whole clusters.

    Parameters
    ----------
    counts : (n, K) integer ndarray
        Units of each class in each row.
    """
    full = counts.sum(axis=1).astype(float)
    if codes is None:
        parts = deal(counts, folds, generator).sum(axis=2).astype(float)
    else:
        G = int(codes.max()) + 1
        fold = np.empty(G, dtype=int)
        fold[generator.permutation(G)] = np.arange(G) % folds
        parts = (fold[codes] == np.arange(folds)[:, None]) * full
    for out in parts:
        yield Draw(full - out, out)


# ------------------------------------------------------------------------------------------------------ validation
def by_bootstrap(refit: Refit, own: ndarray, outcomes: ObservedOutcomes, draws: Iterator[Draw], weigh) -> Validated:
    """Apparent measures less the mean of how much better replications do on their own rows than on all.

    Parameters
    ----------
    refit : callable
    own : (n, K) ndarray
        Log probabilities of the fit.
    outcomes : ObservedOutcomes
    draws : iterator of Draw
    weigh : callable
        Times a row is drawn -> its weight.

    References
    ----------
    Efron (1983), JASA 78, 316-331. Harrell, Lee & Mark (1996), Statistics in Medicine 15, 361-387.
    """
    training, test, reasons = _resampled(refit, outcomes, draws, weigh, apart=False)
    apparent = measures(own, outcomes)
    one, two = _mean(training, apparent), _mean(test, apparent)
    with np.errstate(invalid="ignore"):
        corrected = apparent - (one - two)
    return _validated(own, apparent, one, two, corrected, reasons, [*training, *test])


def by_632(refit: Refit, own: ndarray, outcomes: ObservedOutcomes, draws: Iterator[Draw], weigh) -> Validated:
    """The .632+ rule: (1 - w) apparent + w out-of-bag, w = .632/(1 - .368 R), R the relative overfitting.

    R = (out-of-bag - apparent)/(uninformative - apparent), between 0 and 1; 0 where no information is to lose: the
    uninformative measure is the apparent one, but for rounding.

    References
    ----------
    Efron & Tibshirani (1997), JASA 92, 548-560.
    """
    training, test, reasons = _resampled(refit, outcomes, draws, weigh, apart=True)
    apparent, none = measures(own, outcomes), without_information(own, outcomes)
    one, two = _mean(training, apparent), _mean(test, apparent)
    with np.errstate(divide="ignore", invalid="ignore"):
        away, most = two - apparent, none - apparent
        rounding = np.abs(most) <= np.maximum(SAME_MEASURE * np.maximum(np.abs(none), np.abs(apparent)), NO_MEASURE)
        most = np.where(rounding, 0.0, most)
        R = np.where(away * most > 0, np.minimum(away / most, 1.0), np.where(np.isnan(away * most), np.nan, 0.0))
    w = SHARE_IN_BOOTSTRAP / (1 - (1 - SHARE_IN_BOOTSTRAP) * R)
    beyond = np.abs(away) > np.abs(most)
    two_bounded = np.where(beyond & (R == 1), none, two)
    return _validated(own, apparent, one, two, (1 - w) * apparent + w * two_bounded, reasons, [*training, *test])


def _resampled(
    refit: Refit, outcomes: ObservedOutcomes, draws: Iterator[Draw], weigh, apart: bool
) -> tuple[list[ndarray], list[ndarray], list[str]]:
    """Measures of refits on their own rows, and on all or on those kept apart; and why there are none."""
    training, test, reasons = [], [], []
    for draw in draws:
        w, rest = weigh(draw.kept), outcomes
        if apart:
            assert draw.out is not None
            rest = outcomes.times(weigh(draw.out))
            if not (rest.sizes > 0).all():
                reasons.append("a class not left out")
                continue
        log_p, why = refit(draw.kept)
        reasons.append(why)
        if log_p is not None:
            found = Predicted(log_p)
            training.append(found.measures(outcomes.times(w)))
            test.append(found.measures(rest))
    return training, test, reasons


def by_folds(
    refit: Refit, own: ndarray, outcomes: ObservedOutcomes, repetitions: Iterator[Iterator[Draw]], weigh
) -> Validated:
    """Measures of predictions by fits without the fold that is predicted, all folds together.

    References
    ----------
    Stone (1974), Journal of the Royal Statistical Society B 36, 111-147.
    """
    training, test, reasons = [], [], []
    for draws in repetitions:
        apart: list[tuple[ndarray, ObservedOutcomes]] = []
        for draw in draws:
            assert draw.out is not None
            w = weigh(draw.kept)
            log_p, why = refit(draw.kept)
            reasons.append(why)
            if log_p is not None:
                rows = np.flatnonzero(draw.out)
                training.append(measures(log_p, outcomes.times(w)))
                apart.append((log_p[rows], outcomes.times(weigh(draw.out)).rows(rows)))
        if apart:
            joint = apart[0][1]._replace(
                counts=np.concatenate([o.counts for _, o in apart]),
                weights=np.concatenate([o.weights for _, o in apart if o.weights is not None]),
            )
            found = measures(np.concatenate([p for p, _ in apart]), joint)
            test.append(_of_a_constant(found) if _constant(own) else found)
    apparent = measures(own, outcomes)
    one, two = _mean(training, apparent), _mean(test, apparent)
    return _validated(own, apparent, one, two, two, reasons, [*training, *test])


def _mean(found: list[ndarray], like: ndarray) -> ndarray:
    with np.errstate(invalid="ignore"):
        return np.mean(found, axis=0) if found else np.full(len(like), np.nan)


def _validated(own, apparent, training, test, corrected, reasons: list[str], found: list[ndarray]) -> Validated:
    names = list(OF_EVENT if own.shape[1] == 2 else OF_CLASSES)
    lost = {why: reasons.count(why) for why in sorted(set(reasons)) if why}
    wild = (~np.isfinite(found)).sum(axis=0) if found else np.zeros(len(names), dtype=int)
    undefined = {name: int(n) for name, n in zip(names, wild, strict=True) if n}
    used = len(reasons) - sum(lost.values())
    return Validated(names, apparent, training, test, corrected, used, lost, undefined, _constant(own))


def _constant(log_p: ndarray) -> bool:
    """Whether all rows have one and the same prediction."""
    return bool(np.isfinite(log_p).all() and (np.ptp(log_p, axis=0) <= TIED).all())


def _of_a_constant(found: ndarray) -> ndarray:
    """Performance measures of constant predictions, without what differences between folds pretend: the constant of a
    fold is opposed to its events."""
    found = found.copy()
    found[0], found[4], found[5:] = 0.5, 0.0, np.nan
    return found
