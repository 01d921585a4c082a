"""Validation of fits by resampling, in sentences and a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from glmclf.plots import labelling
from glmclf.reports.blocks import Section, table_of
from glmclf.reports.findings import Asked, headings
from glmclf.results.performance.validation import REPS
from glmclf.results.requires import has_rows

LEAST_REPS = 20  # of large data, where optimism is small
ALL_OPERATIONS = 5e9  # of all replications, about: half a minute
MOST_OF_ONE = 2e9  # of one replication, beyond which a report has none unasked
ROW_OPERATIONS = 200  # of a row beside its products: its sort, its probabilities


def validation(section: Section, asked: Asked) -> None:
    """Apparent performance, and what is left of it on rows that the fit has not seen."""
    for res in headings(section, asked):
        _apparent(section, res, asked.alpha)
        reps = asked.reps if asked.reps is not None else affordable(res)
        if reps is None:
            section.remark(
                f"The validation is left out: each replication would fit {len(res.model.exog_names):,} columns to "
                f"{res.nobs:,.10g} rows again. reps={LEAST_REPS} asks for it."
            )
            continue
        clustered = res.cov_type == "cluster" and has_rows(res)
        groups = res._cov_options().get("groups") if clustered else None
        found = section.ask("The validation", res.validate, reps=reps, seed=asked.seed, groups=groups)
        if found is not None:
            _corrected(section, found, asked.seed, groups is not None)


def affordable(res: Any) -> int | None:
    """Replications that a report makes unasked, by the size of the fit; None where one takes too long."""
    equations = max(1, len(labelling.levels(res)) - 1)
    columns, rows = float(len(res.model.exog_names) * equations), float(res.nobs)
    cost = rows * (columns**2 + ROW_OPERATIONS) + columns**3
    return None if cost > MOST_OF_ONE else int(min(REPS, max(LEAST_REPS, ALL_OPERATIONS // cost)))


def _apparent(section: Section, res: Any, alpha: float) -> None:
    curve = section.ask("The area under the ROC curve", res.roc)
    if curve is None or np.isnan(curve.auc):
        return
    ends = section.ask("Its interval", curve.conf_int, alpha) if hasattr(curve, "conf_int") else None
    interval = ""
    if ends is not None and not np.isnan(ends).any():
        interval = " ({} interval {:.3f} to {:.3f})".format(labelling.percent(alpha), *ends)
    what = "Hand and Till's M" if labelling.levels(res) else "The area under the ROC curve"
    section.say(f"{what} is {curve.auc:.3f}{interval} on the rows of the fit, which flatter it.")


def _corrected(section: Section, found: Any, seed: Any, clusters: bool) -> None:
    drawn = "clusters" if clusters else "rows"
    section.say(
        f"The whole fit was repeated on {found.n_used} bootstrap samples of the {drawn} (seed {seed}). Optimism is how "
        "much better a measure is on the sample of a fit than on all rows; the corrected measure is without it."
    )
    if found.failures:
        lost = ", ".join(f"{n} {why}" for why, n in found.failures.items())
        section.remark(f"Of {found.n_replications} samples some have no fit: {lost}.")
    table, columns = found.table, ("apparent", "optimism", "corrected")
    rows = [["" if np.isnan(v) else f"{v:z.3f}" for v in row] for row in table[list(columns)].to_numpy(dtype=float)]
    section.show(table_of(columns, [str(name) for name in table.index], rows))
