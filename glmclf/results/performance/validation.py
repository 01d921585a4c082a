"""Validation by resampling: the whole fit repeated, knots, cuts and centres of its formula too, labelled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice, check_whole
from glmclf.core.numerics import seeds
from glmclf.core.rows.asked import under_usual_errors
from glmclf.errors import (
    CollinearityError,
    DataError,
    EstimationError,
    InferenceWarning,
    PerfectSeparationError,
    SingularCovarianceError,
    escaped,
    warn,
    without_warnings,
)
from glmclf.inference.covariance.resampling import MAX_DRAWN_ONE_BY_ONE
from glmclf.inference.performance import validation
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.inference.performance.validation import VALIDATION_METHODS
from glmclf.results.base import codes_of_clusters
from glmclf.results.performance.rows import all_classes, scored_rows
from glmclf.results.tables.frames import notebook

REPS = 200
FOLDS = 10


@under_usual_errors
class Validation:
    """Internal validation of a fit by resampling. Made by `validate`, not by hand.

    Attributes
    ----------
    table : DataFrame
        By measure: apparent (on the rows of the fit), training and test (means over replications, on the rows fitted
        to and on those that judge), optimism (training - test; apparent - corrected but for the bootstrap) and
        corrected.
    method : str
    n_replications, n_used : int
        Fits asked for, and those with an estimate.
    failures : dict
        Why the others have none, and how many.
    """

    def __init__(self, found: validation.Validated, method: str):
        self.method, self.failures, self.n_used = method, dict(found.reasons), found.used
        self.n_replications = found.used + sum(found.reasons.values())
        with np.errstate(invalid="ignore"):
            optimism = found.training - found.test if method == "bootstrap" else found.apparent - found.corrected
        columns = {"apparent": found.apparent, "training": found.training, "test": found.test}
        columns |= {"optimism": optimism, "corrected": found.corrected}
        self.table = pd.DataFrame(columns, index=pd.Index(found.names, name="measure"))

    def __repr__(self) -> str:
        return escaped(f"{self._head}\n{self.table.to_string(float_format='{:z.4f}'.format)}")

    @property
    def _head(self) -> str:
        lost = "".join(f"; {n} {why}" for why, n in self.failures.items())
        return f"Validation: {self.method}, {self.n_used} of {self.n_replications} fits used{lost}"

    def _repr_html_(self) -> str:
        return notebook(self._head, self.table, digits="z.4f")

    def __getitem__(self, measure: str) -> float:
        """Corrected value of a measure; KeyError with the known names for an unknown one."""
        if not isinstance(measure, str) or measure not in self.table.index:
            raise KeyError(f"no measure {measure!r}; there are {', '.join(map(repr, self.table.index))}")
        return float(self.table.loc[measure, "corrected"])

    def summary_frame(self) -> pd.DataFrame:
        """Copy of `table`."""
        return self.table.copy()


class Resampled:
    """Refits of a model with other weights of its rows."""

    def __init__(self, res: Any, own: ndarray, outcomes: ObservedOutcomes):
        self.res, self.own = res, own
        n = len(own)
        frequency = outcomes.frequency
        self.times = outcomes.weights if frequency else None
        self.weights = None if frequency else outcomes.weights
        self.outcomes = outcomes.times(np.ones(n) if outcomes.weights is None else outcomes.weights)
        self._learner = res.model._learner()

    def weigh(self, kept: ndarray) -> ndarray:
        """Weights of rows from the numbers of times that they were drawn."""
        return kept if self.weights is None else kept * self.weights

    def refit(self, kept: ndarray) -> tuple[ndarray | None, str]:
        """Log probabilities of all rows by the fit to rows that count so often, or the reason for its failure."""
        weights, original = self.weigh(kept), self.res.model
        if not (self.outcomes.times(weights).sizes > 0).all():
            return None, "without a class"
        with without_warnings():
            try:
                if self._learner is not None:
                    original = original._relearnt(self._learner, kept)
                found = self.res._repeated(original._reweighted(weights))
            except EstimationError as error:
                return None, _reason(error)
            except DataError:
                if self._learner is None:
                    raise
                return None, "without a basis"
            if not found.converged:
                return None, "not converged"
            if _left_out(found) != _left_out(self.res):
                return None, "collinear"
            log_p = found._log_p_beside(original)
        return (None, "without a prediction of some rows") if np.isnan(log_p).any() else (log_p, "")

    def units(self) -> ndarray:
        """Numbers of units of each class to deal to folds, (n, K); undivided rows of counts and fractions, (n, 1).

        Classes are in the levels' own order.
        """
        times = np.ones(len(self.own)) if self.times is None else self.times
        single = (self.outcomes.counts.max(axis=1) == 1) & (self.outcomes.counts.sum(axis=1) == 1)
        response = self.res.model._response
        order = response.own_order if hasattr(response, "event") else slice(None)
        counts = self.outcomes.counts[:, order] if single.all() else np.ones((len(self.own), 1))
        return (times[:, None] * counts).astype(np.int64)


def _reason(error: EstimationError) -> str:
    kinds = {PerfectSeparationError: "separated", CollinearityError: "collinear", SingularCovarianceError: "singular"}
    return next((word for kind, word in kinds.items() if isinstance(error, kind)), "without an estimate")


def validate(res: Any, method: str, seed: Any, reps: int | None, folds: int | None, groups: Any) -> Validation:
    """See `Performance.validate`."""
    rows = scored_rows(res)
    all_classes(res, rows, "validate()")
    again = Resampled(res, rows.log_p, rows.outcomes)
    check_choice("method", method, VALIDATION_METHODS)
    if method != "cv" and folds is not None:
        raise TypeError(f'folds= is for method="cv", not {method!r}')
    reps = check_whole("reps", (1 if method == "cv" else REPS) if reps is None else reps, 1)
    codes = None if groups is None else codes_of_clusters(again.res.model, groups, "validate(groups=)")
    generator = seeds.generator(seed)
    if method == "cv":
        folds = check_whole("folds", FOLDS if folds is None else folds, 2)
        found = _by_folds(again, reps, folds, codes, generator)
    else:
        apart = method == ".632+"
        if apart and again.times is not None and again.times.sum() > MAX_DRAWN_ONE_BY_ONE:
            raise NotImplementedError(f'method=".632+" of more than {MAX_DRAWN_ONE_BY_ONE} observations: use "cv"')
        n = len(again.own)
        draws = validation.bootstrap_draws(n, again.times, codes, reps, generator, apart)
        rule = validation.by_632 if apart else validation.by_bootstrap
        found = rule(again.refit, again.own, again.outcomes, draws, again.weigh)
    return _reported(found, method)


def _by_folds(again: Resampled, reps: int, folds: int, codes, generator) -> validation.Validated:
    units = again.units()
    most = int(units.sum()) if codes is None else int(codes.max()) + 1
    if folds > most:
        raise ValueError(f"folds={folds}: no more than the {most} {'observations' if codes is None else 'groups'}")
    repetitions = (validation.fold_draws(units, folds, codes, generator) for _ in range(reps))
    return validation.by_folds(again.refit, again.own, again.outcomes, repetitions, again.weigh)


def _reported(found: validation.Validated, method: str) -> Validation:
    total, lost = found.used + sum(found.reasons.values()), sum(found.reasons.values())
    words = ", ".join(f"{n} {why}" for why, n in found.reasons.items())
    if found.used < max(1, total / 2):
        raise EstimationError(
            f'validate(method="{method}"): only {found.used} of {total} fits have an estimate ({words}). Validate a '
            'smaller model, or one with bias_reduction="firth" or a ridge'
        )
    if lost:
        warn(
            f"{lost} of {total} fits have no estimate ({words}) and are not in the means, which are those of data that "
            "have one: they may look better than they are",
            InferenceWarning,
        )
    if found.constant:
        warn(
            "the fit predicts the same for every row: a constant has no slope and no intercept of recalibration (NaN), "
            "its R2 is 0 and its AUC 1/2",
            InferenceWarning,
        )
    elif found.undefined:
        counts = ", ".join(f"{name} in {n}" for name, n in found.undefined.items())
        warn(
            f"measures that are infinite or undefined on some resamples, and so are their means: {counts}. Predicted "
            "probabilities of 0 or 1 do this (NaiveBayes: use smoothing=), predictions that separate the classes, and "
            "those that are the same for all rows that judge",
            InferenceWarning,
        )
    return Validation(found, method)


def _left_out(res: Any) -> set[int]:
    """Columns that a regression left out as combinations of others."""
    state = getattr(res, "_state", None)
    return set() if state is None else set(state.combinations)
