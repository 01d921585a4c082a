"""State of a fit: estimate, covariance, and the map from both to the reported parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.fit.aliasing import not_estimable
from glmclf.core.fit.coordinates import (
    Coordinates,
    basis_of_record,
    covariance_from_basis,
    from_basis,
    record_of_basis,
)
from glmclf.core.fit.estimate import Estimate, at_infinity
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation
from glmclf.core.numerics.arrow import BlocksPlusLowRank, SymmetricMatrix, matrix_of, record_of
from glmclf.inference.covariance.types import Covariance

STORED_KINDS = ("separation", "reduction", "constraint")  # kinds of estimates other than maxima in files


@dataclass(frozen=True, eq=False)
class FitState:
    """Immutable state of a fit: estimate and covariance, in the coordinates in which both keep their digits.

    Attributes
    ----------
    estimate : Estimate
        Of all columns, with the offset as it was given.
    covariance : Covariance
        In the coordinates of the fit.
    groupings : list of str
        Names of the groupings of a clustered covariance.
    coordinates : Coordinates
        Which columns are left, and what centring the offset adds to their parameters.
    inner : (p,) ndarray
        The estimate in the coordinates of the fit with the offset centred, where it has more digits.
    given : (p,) ndarray, optional
        The finite estimate in the coordinates of X, where it is known otherwise than from `inner`.
    """

    estimate: Estimate
    covariance: Covariance
    groupings: list[str]
    coordinates: Coordinates
    inner: ndarray
    given: ndarray | None = None

    @classmethod
    def of(cls, estimate: Estimate, covariance: tuple[Covariance, list[str]], coordinates: Coordinates) -> Self:
        """Create the state from an estimate with the offset as given."""
        moved = coordinates.moved(coordinates.narrow_basis(estimate.basis))
        return cls(estimate, *covariance, coordinates, estimate.fit.theta + moved)

    @classmethod
    def of_centred(
        cls, estimate: Estimate, covariance: tuple[Covariance, list[str]], coordinates: Coordinates
    ) -> Self:
        """Create the state from an estimate with the offset centred."""
        if not coordinates.shift.any():
            return cls.of(estimate, covariance, coordinates)
        inner, moved = estimate.fit.theta, coordinates.moved(coordinates.narrow_basis(estimate.basis))
        given = replace(estimate.fit, theta=inner - moved)
        return cls(replace(estimate, fit=given), *covariance, coordinates, inner)

    # ------------------------------------------------------------------------------------------------ the estimate
    @property
    def fit(self) -> Fit:
        """Fit of the estimate, in its own coordinates."""
        return self.estimate.fit

    @property
    def value(self) -> float:
        """Log-likelihood, without the coefficients of counts."""
        return self.estimate.fit.evaluation.value

    @property
    def basis(self) -> Any:
        """Basis of the fit's coordinates; None where they are those of X."""
        return self.estimate.basis

    @property
    def exact(self) -> bool | None:
        """Whether rows are transformed to the basis in twofold arithmetic."""
        return self.estimate.exact

    @property
    def combinations(self) -> Mapping[int, Mapping[int, float]]:
        """Combinations that omitted columns equal, column -> {column: coefficient}."""
        return self.estimate.omitted

    @property
    def name(self) -> str:
        """Name of the method of estimation."""
        return self.estimate.name

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Labels and texts of what a summary says of the method of estimation."""
        return []

    # ------------------------------------------------------------------------------ what a penalty or selection changes
    @property
    def penalised(self) -> bool:
        """Whether a penalty shrank the estimate or selected its columns."""
        return False

    @property
    def has_spread(self) -> bool:
        """Whether the estimate has standard errors."""
        return True

    @property
    def has_tests(self) -> bool:
        """Whether the estimate has Wald tests."""
        return True

    @property
    def deviation(self) -> str:
        """Heading of the standard errors in a summary."""
        return "std err"

    @property
    def symmetric(self) -> bool:
        """Whether every class has a coefficient vector, the reference, too."""
        return False

    @property
    def unselected(self) -> ndarray | None:
        """Mask of the reported parameters that a selection left at 0; None without a selection."""
        return None

    # ------------------------------------------------------------------------------------------- columns and places
    @property
    def columns(self) -> ndarray:
        """Places of the columns of the design that are not omitted."""
        return self.coordinates.columns

    @property
    def places(self) -> ndarray:
        """Places of the parameters of `columns` in all equations."""
        return self.coordinates.places

    @property
    def shift(self) -> ndarray:
        """Shift of the parameters that are not omitted by centring the offset, in the coordinates of X."""
        return self.coordinates.shift

    @cached_property
    def omitted(self) -> ndarray | None:
        """Mask of the reported parameters of omitted columns; None without any."""
        if not self.combinations:
            return None
        p = self.estimate.reported_size
        out = np.ones(p, dtype=bool)
        out[self.coordinates.places_of(p // self.coordinates.k)] = False
        return out

    @property
    def free_count(self) -> Any:
        """Number of free parameters, without omitted ones and constraints; the effective number under a penalty."""
        return self.estimate.free_count(0 if self.omitted is None else int(self.omitted.sum()))

    @property
    def narrow(self) -> Estimate:
        """Estimate of the columns that are not omitted."""
        return self.estimate.narrow(self.coordinates)

    @property
    def narrow_centred(self) -> Estimate:
        """Estimate of the columns that are not omitted, with the offset centred."""
        return self.centred.narrow(self.coordinates)

    @property
    def centred(self) -> Estimate:
        """Estimate with the offset centred."""
        if not self.shift.any():
            return self.estimate
        return replace(self.estimate, fit=replace(self.estimate.fit, theta=self.inner))

    # --------------------------------------------------------------------------------------------------- numbers
    @property
    def moved(self) -> ndarray:
        """Shift of all parameters by centring the offset, in the coordinates of the fit."""
        return self.coordinates.moved(self.coordinates.narrow_basis(self.basis))

    @property
    def wide_shift(self) -> ndarray:
        """Shift of all parameters by centring the offset, in the coordinates of X."""
        return self.coordinates.spread(self.shift)

    @cached_property
    def finite_theta(self) -> ndarray:
        """Finite parameters, with zeros for omitted columns and finite values for infinite parameters."""
        if not self.shift.any():
            return from_basis(self.estimate.basis, self.estimate.fit.theta)
        return from_basis(self.estimate.basis, self.inner) - self.wide_shift

    @cached_property
    def theta(self) -> ndarray:
        """Reported parameters: inf and -inf where infinite, NaN for omitted columns."""
        theta = self.estimate.reported(self.finite_theta if self.given is None else self.given)
        return theta if self.omitted is None else np.where(self.omitted, np.nan, theta)

    @cached_property
    def V(self) -> Any:
        """Covariance of the reported parameters; NaN where infinite or omitted, 0 where fixed."""
        V, basis = self.covariance.matrix, self.estimate.basis
        if isinstance(V, SymmetricMatrix):
            return self._of_levels(covariance_from_basis(basis, V))
        if basis is not None:
            V = covariance_from_basis(basis, V)
            V = 0.5 * (V + V.T)
        lost = self.estimate.unbounded
        if self.omitted is not None:
            lost = lost | self.omitted
        if lost.any():
            V = V.copy()
            V[lost] = V[:, lost] = np.nan
        fixed = self.estimate.fixed_parameters
        return np.where(fixed | fixed[:, None], 0.0, V) if fixed.any() else V

    def _of_levels(self, V: Any) -> BlocksPlusLowRank:
        """Covariance of the reported parameters where a factor has many levels: as an array only if it is asked for."""
        lost, fixed = self.estimate.unbounded, self.estimate.fixed_parameters
        lost = lost if self.omitted is None else lost | self.omitted
        return V.without(lost, fixed) if lost.any() or fixed.any() else V

    @property
    def variances(self) -> ndarray:
        """Diagonal of the covariance of the reported parameters."""
        return self.V.diagonal()

    def block(self, at: ndarray) -> ndarray:
        """Covariance of the reported parameters at some places."""
        return self.V[np.ix_(at, at)]

    def in_coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in the fit's coordinates, where an ill-conditioned design keeps its digits."""
        return self.estimate.fit.theta, self.covariance.matrix, self.estimate.coordinates(R)

    def combined(self, R: ndarray, estimate: ndarray, se: ndarray, units: Any) -> tuple[ndarray, ndarray]:
        """Reported combinations of parameters, rows of R, and standard errors, from finite ones.

        inf, -inf or NaN where a combination is infinite, NaN where columns left out make it arbitrary, and without a
        standard error where constraints fix it.
        """
        signs = self.estimate.signs(R)
        if signs.any():
            estimate, se = at_infinity(estimate, signs), np.where(signs == 0, se, np.nan)
        if self.combinations:
            lost = [bool(not_estimable(self.combinations, row[None], self.coordinates.k, units)) for row in R]
            estimate, se = np.where(lost, np.nan, estimate), np.where(lost, np.nan, se)
        fixed, values = self.estimate.fixed(R)
        return np.where(fixed, values, estimate), np.where(fixed, 0.0, se)

    # --------------------------------------------------------------------------------------------------- changes
    def with_covariance(self, covariance: Covariance, groupings: list[str]) -> FitState:
        """Copy of the state with another covariance."""
        return replace(self, covariance=covariance, groupings=groupings)

    def with_estimate(self, **changes: Any) -> FitState:
        """Copy of the state with other values of the estimate's attributes."""
        return replace(self, estimate=replace(self.estimate, **changes))

    def mapped(self, estimate: Estimate, A: ndarray, coordinates: Coordinates) -> FitState:
        """State of A theta, with its estimate and coordinates."""
        covariance = replace(self.covariance, matrix=A @ self.covariance.matrix @ A.T)
        finite = np.isfinite(self.theta).all()
        state = FitState.of(estimate, (covariance, self.groupings), coordinates)
        return replace(state, given=A @ (self.theta if finite else self.finite_theta))

    def without_rows(self) -> FitState:
        """Copy of the state without arrays that have an entry for each row."""
        return replace(self, estimate=self.estimate.without_rows())

    # ----------------------------------------------------------------------------------------------------- in files
    def to_dict(self, method: str) -> dict[str, Any]:
        """Convert the state to the dict of a file; `method` is the solver."""
        found, fit = self.estimate, self.estimate.fit
        return {
            "theta": self.given,
            "gamma": fit.theta,
            "shift": self.shift,
            "inner": self.inner if self.shift.any() else None,
            "basis": record_of_basis(found.basis),
            "value": fit.evaluation.value,
            "score": fit.evaluation.score,
            "information": None if found.too_wide else record_of(fit.evaluation.information),
            **{name: getattr(fit, name) for name in ("iterations", "converged", "message", "decrement")},
            "method": method,
            "exact": found.exact,
            "omitted": {str(j): [list(t) for t in terms.items()] for j, terms in found.omitted.items()},
            **{name: None for name in STORED_KINDS},
            **found.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], coordinates: Coordinates, cone: Any = None) -> Self:
        """Restore the state from the dict of a file; `coordinates` are those of all columns.

        `cone` is that of a separated fit.
        """
        f: dict[str, Any] = {n: np.array(v) if isinstance(v, list) else v for n, v in stored["fit"].items()}
        fit = Fit(f["gamma"], cls._evaluation(f), f["iterations"], f["converged"], f["message"], f["decrement"])
        omitted = {int(j): {int(i): v for i, v in terms} for j, terms in f.get("omitted", {}).items()}
        basis = basis_of_record(f["basis"])
        found = cls._kind_of_estimate(stored, cone)(fit, basis, omitted=omitted, exact=f.get("exact"))
        coordinates = replace(coordinates, omitted=omitted)
        state = cls.of(found, cls._covariance(stored["covariance"], found, coordinates), coordinates)
        if "shift" in f:
            state = replace(state, coordinates=state.coordinates.shifted(f["shift"]))
        if f.get("inner") is not None:
            state = replace(state, inner=f["inner"])
        return replace(state, given=f["theta"])

    @classmethod
    def _evaluation(cls, fit: dict[str, Any]) -> Evaluation:
        """Evaluation at the estimate that a file has."""
        return Evaluation(fit["value"], fit["score"], matrix_of(fit["information"]))

    @classmethod
    def _covariance(cls, stored: dict[str, Any], found: Any, coordinates: Coordinates) -> tuple[Covariance, list[str]]:
        """Covariance that a file has, with the names of its groupings."""
        return Covariance.of(stored)

    @classmethod
    def _kind_of_estimate(cls, stored: dict[str, Any], cone: Any) -> Callable[..., Estimate]:
        """Function that restores an estimate of the kind that a file has."""
        if cone is not None:
            from glmclf.core.separation.limit import LimitEstimate

            return partial(LimitEstimate, cone=cone)
        fit = stored["fit"]
        if fit.get("reduction") is not None:
            from glmclf.core.fit.bias import ReducedEstimate, Reduction

            return partial(ReducedEstimate, reduction=Reduction.from_dict(fit["reduction"]))
        if fit.get("constraint") is not None:
            from glmclf.core.fit.constraints import ConstrainedEstimate, Constraint

            return partial(ConstrainedEstimate, constraint=Constraint.from_dict(fit["constraint"]))
        return Estimate
