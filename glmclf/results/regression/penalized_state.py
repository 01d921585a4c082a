"""State of a penalised fit: the coefficients that its penalty is on, and what their spread is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.fit.coordinates import Coordinates
from glmclf.core.fit.estimate import Estimate
from glmclf.core.likelihood.objective import DeferredEvaluation, Evaluation
from glmclf.core.numerics.arrow import BlocksPlusLowRank
from glmclf.core.penalised.problem import PenalisedEstimate, Penalty, refuse_to_form
from glmclf.inference.covariance.types import Covariance, DeferredCovariance
from glmclf.results.regression.state import FitState

# kinds of the spread, the names of their covariances
POSTERIOR, REFIT, NONE = "posterior", "nonrobust", "none"
WORDS = {
    POSTERIOR: "Standard errors are posterior standard deviations: the penalty is a normal prior, the posterior normal "
    "at its mode. There is no z and no p.",
    REFIT: "Standard errors are from the inverse observed information of the selected columns; they and the p-values "
    "ignore that the same data selected them.",
    NONE: "",
}


@dataclass(frozen=True, eq=False)
class PenalisedState(FitState):
    """State of a penalised fit, whose reported parameters are the coefficients that the penalty is on.

    A ridge has a posterior, the refit of selected columns has the covariance of a maximum, all others have no spread.
    With `symmetric` every class has coefficients, of which the parameters of the estimate are contrasts.
    """

    estimate: PenalisedEstimate

    @classmethod
    def of_fit(cls, found: PenalisedEstimate, spread: str, coordinates: Coordinates) -> PenalisedState:
        """Create the state from the estimate of all columns and the kind of its spread."""
        return cls.of(found, (_covariance_of(found, spread, coordinates), []), coordinates)

    @classmethod
    def _evaluation(cls, fit: dict[str, Any]) -> Evaluation:
        if fit["information"] is not None:
            return super()._evaluation(fit)
        return DeferredEvaluation(fit["value"], fit["score"], partial(refuse_to_form, len(fit["score"])))

    @classmethod
    def _covariance(cls, stored: dict[str, Any], found: Any, coordinates: Coordinates) -> tuple[Covariance, list[str]]:
        if stored["matrix"] is not None:
            return super()._covariance(stored, found, coordinates)
        return _covariance_of(found, stored["name"], coordinates), stored["groups"]

    @classmethod
    def _kind_of_estimate(cls, stored: dict[str, Any], cone: Any) -> Callable[..., Estimate]:
        return partial(PenalisedEstimate, **PenalisedEstimate.parts_from_dict(stored["penalty"]))

    # --------------------------------------------------------------------------------------------- what the fit is
    @property
    def penalty(self) -> Penalty:
        """Penalty of the coefficients."""
        return self.estimate.penalty

    @property
    def b(self) -> ndarray:
        """Coefficients that the penalty is on, 0 for omitted columns, (d,)."""
        return self.estimate.b

    @property
    def penalised(self) -> bool:
        return True

    @property
    def has_spread(self) -> bool:
        return self.covariance.name != NONE

    @property
    def has_tests(self) -> bool:
        return self.covariance.name == REFIT

    @property
    def deviation(self) -> str:
        return "post. sd" if self.covariance.name == POSTERIOR else super().deviation

    @property
    def symmetric(self) -> bool:
        return self.estimate.symmetric

    # ------------------------------------------------------------------------------------------------- coefficients
    @cached_property
    def slopes(self) -> ndarray:
        """Mask of the coefficients that are not intercepts, (d,)."""
        constant = self.estimate.constant
        return np.arange(len(self.b)) % self.coordinates.k != (-1 if constant is None else constant)

    @property
    def selected(self) -> ndarray:
        """Mask of the slopes that are not 0, (d,)."""
        return self.slopes & (self.b != 0)

    @property
    def unselected(self) -> ndarray | None:
        if not self.penalty.lasso.any():
            return None
        return (self.b == 0) if self.omitted is None else (self.b == 0) & ~self.omitted

    @property
    def V(self) -> Any:
        """Covariance of the coefficients; NaN for those that are omitted or unselected, and without a spread."""
        return self._V if self.has_spread else np.broadcast_to(np.nan, (len(self.b), len(self.b)))

    @cached_property
    def _V(self) -> Any:
        V, lost = self.estimate.V, np.zeros(len(self.b), dtype=bool)
        for some in (self.omitted, self.unselected):
            lost = lost if some is None else lost | some
        if isinstance(V, BlocksPlusLowRank):
            return V.without(lost, np.zeros_like(lost)) if lost.any() else V
        V = np.array(V)
        V[lost] = V[:, lost] = np.nan
        return V

    def in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in the fit's coordinates or, with coefficients of every class, in theirs."""
        return (np.nan_to_num(self.theta), np.nan_to_num(self.V), R) if self.symmetric else super().in_coordinates(R)

    # ------------------------------------------------------------------------------------------------ for the summary
    @property
    def name(self) -> str:
        return f"{self.estimate.name}, refit" if self.has_tests else self.estimate.name

    @property
    def shared_alpha(self) -> float | None:
        """The alpha of all penalised coefficients, 0 without any; None where they have several."""
        given = np.unique(self.penalty.alpha[self.penalty.alpha > 0])
        return None if len(given) > 1 else float(given.sum())

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The penalty, and how many slopes are not 0."""
        alpha = "alpha by coefficient" if self.shared_alpha is None else f"alpha = {self.shared_alpha:.6g}"
        coding = ", symmetric coding" if self.symmetric else ""
        total = int(self.slopes.sum()) - (0 if self.omitted is None else int(self.omitted[self.slopes].sum()))
        return [
            ("Penalty:", f"{self.estimate.name.lower()}, {alpha}, L1_wt = {self.penalty.L1_wt:g}{coding}"),
            ("Nonzero slopes:", f"{int(self.selected.sum())} of {total}"),
        ]


def _covariance_of(found: PenalisedEstimate, spread: str, coordinates: Coordinates) -> Covariance:
    """Covariance of the parameters by the kind of the spread, formed when it is asked for."""
    size = (coordinates.size, coordinates.size)
    known = partial(getattr, found.spread, "parameters")
    form = partial(np.broadcast_to, np.nan, size) if spread == NONE else known
    return DeferredCovariance(spread, WORDS[spread], form)
