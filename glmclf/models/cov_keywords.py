"""Keywords of covariance types, as `fit` and `with_cov` take them, checked and aligned with the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_whole
from glmclf.data.table.groups import Groups
from glmclf.errors import EstimationError, InferenceWarning, warn
from glmclf.inference.covariance.influence import RowsError
from glmclf.inference.covariance.types import (
    COVARIANCES,
    MODEL_BASED,
    Context,
    Covariance,
    InfluenceContext,
    check,
    covariance,
    spread,
)
from glmclf.models.fit_options import check_seed, wide_offset

FEW_CLUSTERS = 20  # below it tests reject too often even where clusters are alike (Cameron & Miller 2015, section VI)
# share of the largest variance, and of the model-based variance, up to which a variance counts as 0
NO_VARIANCE_SHARE, NO_VARIANCE = 1e-12, 1e-24
OWN_OF_CLUSTERS = (
    "as they do for the intercept and slopes that a cluster has for itself: clusters tell nothing of their spread, and "
    'their standard errors, and those of predictions, are far too small. Use "HC1" for these.'
)


@dataclass(frozen=True)
class Keywords:
    """Keywords of a covariance type for the rows of a fit.

    Attributes
    ----------
    given : dict
        For `inference.covariance.types.covariance`.
    names : list of str
        What to call the groupings.
    doubt : str
        What the summary says besides.
    """

    given: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    doubt: str = ""

    @property
    def codes(self) -> list[ndarray]:
        """Clusters of the rows, by grouping."""
        return self.given.get("groups", [])

    def covariance(self, cov_type: str, context: Context | InfluenceContext) -> Covariance:
        """Covariance matrix of a type, with warnings about it in its description."""
        found = covariance(cov_type, context, **self.given)
        if (found.matrix.diagonal() < 0).any():  # of several clusterings alone
            warn(
                f"the multiway covariance by {' and '.join(self.names)} is not positive semi-definite: some standard "
                "errors are NaN. Use fewer groupings, or more clusters.",
                InferenceWarning,
            )
        return replace(found, description=f"{found.description} {self.doubt}".strip())

    def doubting(self, cov_type: str, doubt: str) -> Keywords:
        """A copy with another warning added."""
        warn(f'cov_type="{cov_type}": {doubt}', InferenceWarning)
        return replace(self, doubt=f"{self.doubt} {doubt}".strip())


def read_keywords(model: Any, cov_type: str, cov_kwds: Mapping[str, Any] | None) -> Keywords:
    """Check the keywords of `cov_type`, align them with the rows of a model, and warn of doubtful ones.

    Raises
    ------
    TypeError
        Not a dict, or a keyword that the type does not take.
    ValueError, DataError, MissingDataError
        Values that the type or the rows cannot have.
    NotImplementedError
        Several groupings of a bootstrap.
    """
    if cov_kwds is not None and not isinstance(cov_kwds, Mapping):
        raise TypeError(f'cov_kwds={cov_kwds!r}: a dict, as {{"groups": column name or values}}')
    check(cov_type)
    known, results = COVARIANCES[cov_type].options, COVARIANCES[cov_type].found
    given = {name: v for name, v in dict(cov_kwds or {}).items() if v is not None and name not in results}
    unknown = set(cov_kwds or {}) - set(known) - set(results)
    if unknown:
        has = f"; it has {', '.join(known)}" if known else ""
        raise TypeError(f'cov_type="{cov_type}" takes no keyword {", ".join(sorted(map(repr, unknown)))}{has}')
    if cov_type == "cluster" and "groups" not in given:
        raise ValueError('cov_type="cluster" needs the groups: cov_kwds={"groups": column name or values}')
    _check_whole(given, "maxlags", 0, "lags")
    _check_whole(given, "reps", 2, "replications")
    check_seed(given.get("seed"))
    names: list[str] = []
    if "groups" in given:
        found = model._groups(given["groups"])
        given["groups"], names = found.codes, found.names
        _check_clusters(found)
        if cov_type == "bootstrap" and len(names) > 1:
            raise NotImplementedError(
                f'cov_type="bootstrap" draws the clusters of one grouping; groups= has {" and ".join(names)}'
            )
    doubt = _few_clusters(given, names) or (_disorder(model) if cov_type == "HAC" else "")
    if doubt:
        warn(f'cov_type="{cov_type}": {doubt}', InferenceWarning)
    return Keywords(given, names, doubt)


def row_covariance(
    model: Any, cov_type: str, context: Context, keywords: Keywords, rows: ndarray | None = None
) -> Covariance:
    """Covariance of a fit to some `rows` of a model; errors about rows name their labels.

    Raises
    ------
    EstimationError
        The covariance does not exist.
    """
    try:
        found = keywords.covariance(cov_type, context)
        doubt = _lost_spread(found, context)
        if doubt:
            warn(f'cov_type="{cov_type}": {doubt}', InferenceWarning)
            found = replace(found, description=f"{found.description} {doubt}")
        return found
    except RowsError as refusal:
        named = model._rows.named(refusal.rows, rows)
        raise EstimationError(str(refusal).replace("{rows}", named)) from None
    except np.linalg.LinAlgError:
        largest = model._rows.largest()
        advice = wide_offset(model) or (
            "Check the offset and the scale of the regressors, of which "
            f'"{model.exog_names[int(largest.argmax())]}" has the largest numbers, up to {largest.max():.3g}'
        )
        raise EstimationError(
            f'cov_type="{cov_type}": the information matrix is singular at the estimate: no standard errors exist. '
            f"{advice}"
        ) from None


def _lost_spread(found: Covariance, context: Context) -> str:
    """Warning about combinations of coefficients with a variance of 0 or less, or ""."""
    if found.name in MODEL_BASED or (found.matrix.diagonal() < 0).any():
        return ""
    used = found.options.get("used", np.inf)
    if used <= context.size:
        return (
            f"The covariance of {used} replications has rank {used - 1} at most, and there are {context.size} "
            "coefficients: standard errors are rough, those of some combinations are 0, and many joint tests do not "
            "exist. Use reps=999."
        )
    values = spread(context, found.matrix)
    if not len(values):
        return ""
    if len(found.clusters) > 1 and values[0] < -1e-8 * values[-1]:
        return (
            "The multiway covariance is not positive semi-definite: standard errors of some combinations, as of "
            "predictions, are NaN. Use fewer groupings, or more clusters."
        )
    few = bool(found.clusters) and min(found.clusters) <= context.size  # the rank is low with so few clusters
    low = values[0] <= NO_VARIANCE_SHARE * values[-1] or values[-1] <= NO_VARIANCE
    if low and not few and len(found.clusters) <= 1:
        return (
            "Rows that alone determine a coefficient are fitted perfectly and have no residual: standard errors of "
            'some coefficients or combinations are 0 or far too small. Use "nonrobust".'
        )
    silent = found.silent
    return f"Scores of every cluster add up to 0 for {silent} coefficients, {OWN_OF_CLUSTERS}" if silent else ""


def _check_clusters(groups: Groups) -> None:
    """Raise ValueError for a grouping with a single cluster."""
    alone = [i for i, codes in enumerate(groups.codes) if codes.max() == 0]
    if not alone:
        return
    several = len(groups.names) > 1
    which = " and ".join(f"grouping {i + 1} ({groups.names[i]})" if several else groups.names[i] for i in alone)
    raise ValueError(
        f"standard errors by clusters need at least two clusters; {which} {'have' if len(alone) > 1 else 'has'} one in "
        "the rows of the fit" + (". Leave it out" if several and len(alone) == 1 else "")
    )


def _check_whole(given: Mapping[str, Any], name: str, least: int, what: str) -> None:
    check_whole(name, given.get(name, least), least, f"a whole number of {what}")


def _few_clusters(given: Mapping[str, Any], names: list[str]) -> str:
    """Warning about groupings with few clusters, or ""."""
    counts = [int(codes.max()) + 1 for codes in given.get("groups", [])]
    few = [f"{count} of {name}" for count, name in zip(counts, names, strict=True) if 1 < count < FEW_CLUSTERS]
    if not few:
        return ""
    return (
        f"Few clusters ({', '.join(few)}): standard errors tend to be too small and tests to reject too often; the t "
        "distribution with clusters - 1 degrees of freedom (use_t=True) helps in part."
    )


def _disorder(model: Any) -> str:
    """Warning about rows that are no equally spaced series: gaps, or an index out of order; or ""."""
    index, positions = model._rows.index, model._rows.positions
    words = []
    if model._cut is not None or not isinstance(positions, slice):
        places = np.arange(len(model._given_index)) if model._cut is None else np.flatnonzero(model._cut)
        places = places[positions]
        gone = int(places[-1] - places[0] + 1 - len(places))
        if gone:
            words.append(
                f"{gone} row{'s' if gone > 1 else ''} between the first and the last of the fit "
                f"{'are' if gone > 1 else 'is'} left out (missing values, subset or weight 0), and the rows on either "
                "side count as neighbours in time."
            )
    dated = isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex))
    if dated and not (index.is_monotonic_increasing or index.is_monotonic_decreasing):
        words.append("Rows count as ordered by time as they stand in the table, but its index is not sorted.")
    return " ".join(words)
