"""Error rates of a classifier's decisions: resubstitution, leave-one-out and posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.naive_bayes.fit import NaiveBayesFit
from glmclf.core.numerics.softmax import log_softmax
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import InferenceWarning, escaped, warn
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.inference.generative.discriminant import ErrorRates, ErrorSums, decisions
from glmclf.inference.generative.naive_bayes import log_joint_without
from glmclf.results.tables.frames import notebook


def error_facts(found: diagnostics.ErrorRates) -> dict[str, Any]:
    """Error counts as plain numbers, to be stored."""

    def of(c: diagnostics.ErrorCounts | None) -> dict[str, Any] | None:
        return (
            None if c is None else {"confusion": c.confusion.tolist(), "skipped": c.skipped.tolist(), "score": c.score}
        )

    return {
        "resubstitution": of(found.resubstitution),
        "leave-one-out": of(found.leave_one_out),
        "largest": found.largest.tolist(),
        "n": found.n,
        "priors": found.priors.tolist(),
    }


def warn_skipped(facts: dict[str, Any], classes: list[Any]) -> None:
    """Warn of classes with rows that cannot be left out."""
    left = facts["leave-one-out"]
    if left is None or not any(left["skipped"]):
        return
    parts = ", ".join(f"{c!r}: {n:.15g}" for c, n in zip(classes, left["skipped"], strict=True) if n)
    warn(
        f"leaving one out, some rows' classes have no law without them ({parts}): they are left aside", InferenceWarning
    )


class ErrorTables:
    """Error rates of a classifier's decisions, by method.

    Attributes
    ----------
    rates : DataFrame
        Rows resubstitution, leave-one-out (NaN where it is not available) and posterior: error, the share of wrong
        decisions; n_errors; log_score, the sum of log p(y | x); skipped.
    by_class : DataFrame
        Error of each level, a column a method.
    confusion : dict of DataFrame
        Decisions (columns) by level (rows).
    """

    def __init__(self, facts: dict[str, Any], res: Any):
        o, levels = np.array(res.model._order), pd.Index(res.levels, dtype=object)
        self.confusion, rows, by_class = {}, {}, {}
        for method in ("resubstitution", "leave-one-out"):
            kept = facts[method]
            if kept is None:
                rows[method] = [np.nan] * 4
                continue
            table = np.array(kept["confusion"])[np.ix_(o, o)]
            wrong, n = table.sum() - np.trace(table), table.sum()
            rate = wrong / n if n else np.nan
            rows[method] = [rate, wrong, kept["score"], float(np.sum(kept["skipped"]))]
            with np.errstate(invalid="ignore", divide="ignore"):
                by_class[method] = 1 - np.diag(table) / table.sum(axis=1)
            observed, decided = levels.rename("observed"), levels.rename("predicted")
            self.confusion[method] = pd.DataFrame(table, index=observed, columns=decided)
        largest, n, priors = np.array(facts["largest"]), facts["n"], np.array(facts["priors"])
        rows["posterior"] = [1 - largest.sum() / n, np.nan, np.nan, 0.0]
        by_class["posterior"] = (1 - largest / (n * priors))[o]
        self.rates = pd.DataFrame.from_dict(rows, orient="index", columns=["error", "n_errors", "log_score", "skipped"])
        self.by_class = pd.DataFrame(by_class, index=levels)

    def __repr__(self) -> str:
        return escaped(repr(self.rates))

    def _repr_html_(self) -> str:
        return notebook(self.rates)


def log_posterior(joint: ndarray) -> ndarray:
    """Log posterior log p(k | x), NaN where every class has probability 0."""
    with np.errstate(invalid="ignore"):
        return log_softmax(joint)


def error_rates(fit: NaiveBayesFit, blocks: Blocks, frequency: bool) -> ErrorRates:
    """Resubstitution, leave-one-out and posterior error rates in one pass over (values..., y, w)."""

    def part(*block: Any) -> Any:
        values, y, w = block[:-2], block[-2], block[-1]
        f = np.ones(len(y)) if w is None else w
        posterior = log_posterior(fit.log_joint_of_block(values))
        left = decisions(log_posterior(log_joint_without(fit, values, y, w, frequency)), y, f)
        largest = np.bincount(posterior.argmax(axis=1), f * np.exp(posterior.max(axis=1)), fit.K)
        return ErrorSums(decisions(posterior, y, f), left, largest, float(f.sum()))

    return blocks.sum(part).rates(np.exp(fit.log_priors))
