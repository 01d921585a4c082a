"""The state of a fit: its estimate, the covariance of that, and the way from the two to what is reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from glmclf.core.fit.aliasing import columns_kept, narrow, narrow_basis, places_kept
from glmclf.core.fit.estimate import Estimate, from_basis, into_basis
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.likelihood.objective import Evaluation
from glmclf.inference.covariance.types import Covariance

if TYPE_CHECKING:
    pass

KINDS = ("separation", "reduction", "constraint")  # what a file says of estimates other than maxima


@dataclass(frozen=True, eq=False)
class FitState:
    """An estimate and its covariance, in the coordinates in which they were found and keep their digits.

    Attributes
    ----------
    estimate : Estimate
        Of all columns, with the offset as it was given.
    covariance : Covariance
        In the coordinates of the fit.
    groupings : list of str
        Names of the groupings of a clustered covariance.
    k, q : int
        Columns of the design, and equations.
    shift : ndarray
        What centring the offset adds to the parameters of the columns that are left, in the coordinates of X.
    inner : (p,) ndarray
        The estimate in the coordinates of the fit with the offset centred, where it has more digits.
    given : (p,) ndarray, optional
        The finite estimate in the coordinates of X, where it is known otherwise than from `inner`.
    """

    estimate: Estimate
    covariance: Covariance
    groupings: list[str]
    k: int
    q: int
    shift: ndarray
    inner: ndarray
    given: ndarray | None = None

    @classmethod
    def of(
        cls, estimate: Estimate, covariance: tuple[Covariance, list[str]], k: int, q: int, shift: ndarray
    ) -> FitState:
        """The state of an estimate with the offset given, of which centring adds `shift` to the parameters."""
        return cls(estimate, *covariance, k, q, shift, estimate.fit.theta + _moved(estimate, k, q, shift))

    @classmethod
    def of_centred(
        cls, estimate: Estimate, covariance: tuple[Covariance, list[str]], k: int, q: int, shift: ndarray
    ) -> FitState:
        """The state of an estimate with the offset centred, whose parameters are larger by `shift`."""
        if not shift.any():
            return cls.of(estimate, covariance, k, q, shift)
        inner = estimate.fit.theta
        given = replace(estimate.fit, theta=inner - _moved(estimate, k, q, shift))
        return cls(replace(estimate, fit=given), *covariance, k, q, shift, inner)

    # ------------------------------------------------------------------------------------------- columns and places
    @cached_property
    def columns(self) -> ndarray:
        """Columns of the design that are no combinations of others."""
        return columns_kept(self.estimate.omitted, self.k)

    @cached_property
    def places(self) -> ndarray:
        """Places of their parameters in all equations."""
        return places_kept(self.estimate.omitted, self.k, self.q)

    @cached_property
    def omitted(self) -> ndarray | None:
        """Which reported parameters are of columns that were left out; None if none are."""
        if not self.estimate.omitted:
            return None
        p = self.estimate.reported_size
        out = np.ones(p, dtype=bool)
        out[places_kept(self.estimate.omitted, self.k, p // self.k)] = False
        return out

    @property
    def free_count(self) -> Any:
        """How many parameters are free, without those left out and the constraints; effective ones of a penalty."""
        return self.estimate.free_count(0 if self.omitted is None else int(self.omitted.sum()))

    @property
    def narrow(self) -> Estimate:
        """The estimate of the columns that are left alone."""
        return narrow(self.estimate, self.k, self.q)

    @property
    def narrow_centred(self) -> Estimate:
        """The estimate of the columns that are left alone, with the offset centred."""
        return narrow(self.centred, self.k, self.q)

    @property
    def centred(self) -> Estimate:
        """The estimate with the offset centred."""
        if not self.shift.any():
            return self.estimate
        return replace(self.estimate, fit=replace(self.estimate.fit, theta=self.inner))

    # --------------------------------------------------------------------------------------------------- numbers
    @property
    def moved(self) -> ndarray:
        """What centring the offset adds to all parameters, in the coordinates of the fit."""
        return _moved(self.estimate, self.k, self.q, self.shift)

    @property
    def wide_shift(self) -> ndarray:
        """What centring the offset adds to all parameters, in the coordinates of X."""
        return _wide(self.shift, self.places, self.k * self.q)

    @cached_property
    def finite_theta(self) -> ndarray:
        """The estimate, with zeros for columns that were left out and finite values for what is infinite."""
        if not self.shift.any():
            return from_basis(self.estimate.basis, self.estimate.fit.theta)
        return from_basis(self.estimate.basis, self.inner) - self.wide_shift

    @cached_property
    def theta(self) -> ndarray:
        """The estimate as it is reported: inf and -inf for what is infinite, NaN for columns that were left out."""
        theta = self.estimate.reported(self.finite_theta if self.given is None else self.given)
        return theta if self.omitted is None else np.where(self.omitted, np.nan, theta)

    @cached_property
    def V(self) -> ndarray:
        """Covariance of the parameters; NaN for infinite ones and for those left out, 0 for fixed ones."""
        V, basis = self.covariance.matrix, self.estimate.basis
        if basis is not None:
            V = from_basis(basis, from_basis(basis, V).T)
            V = 0.5 * (V + V.T)
        lost = self.estimate.infinite != 0
        if self.omitted is not None:
            lost = lost | self.omitted
        if lost.any():
            V = V.copy()
            V[lost] = V[:, lost] = np.nan
        fixed = self.estimate.fixed_parameters
        return np.where(fixed | fixed[:, None], 0.0, V) if fixed.any() else V

    def coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R in the fit's coordinates, where an ill-conditioned design keeps its digits."""
        return self.estimate.fit.theta, self.covariance.matrix, self.estimate.coordinates(R)

    # --------------------------------------------------------------------------------------------------- changes
    def with_covariance(self, covariance: Covariance, groupings: list[str]) -> FitState:
        """The estimate with another covariance."""
        return replace(self, covariance=covariance, groupings=groupings)

    def with_estimate(self, **changes: Any) -> FitState:
        """The state with other values of the estimate's attributes."""
        return replace(self, estimate=replace(self.estimate, **changes))

    def mapped(self, estimate: Estimate, A: ndarray, shift: ndarray) -> FitState:
        """The state of A theta, of which `estimate` is the estimate and `shift` what centring the offset adds."""
        covariance = replace(self.covariance, matrix=A @ self.covariance.matrix @ A.T)
        finite = np.isfinite(self.theta).all()
        state = FitState.of(estimate, (covariance, self.groupings), self.k, self.q, shift)
        return replace(state, given=A @ (self.theta if finite else self.finite_theta))

    def without_rows(self) -> FitState:
        """The state without what has an entry a row."""
        return replace(self, estimate=self.estimate.without_rows())

    # ----------------------------------------------------------------------------------------------------- in files
    def to_dict(self, method: str) -> dict[str, Any]:
        """What a file keeps of the estimate that a solver, `method`, found."""
        found, fit = self.estimate, self.estimate.fit
        return {
            "theta": self.finite_theta,
            "gamma": fit.theta,
            "shift": self.shift,
            "inner": self.inner,
            "basis": found.basis,
            "value": fit.evaluation.value,
            "score": fit.evaluation.score,
            "information": fit.evaluation.information,
            **{name: getattr(fit, name) for name in ("iterations", "converged", "message", "decrement")},
            "method": method,
            "exact": found.exact,
            "omitted": {str(j): [list(t) for t in terms.items()] for j, terms in found.omitted.items()},
            **{name: None for name in KINDS},
            **found.to_dict(),
        }

    @classmethod
    def from_dict(
        cls, stored: dict[str, Any], covariance: tuple[Covariance, list[str]], k: int, q: int, cone: Any = None
    ) -> FitState:
        """The state that a file has; `cone` is that of a separated fit."""
        f: dict[str, Any] = {n: np.array(v) if isinstance(v, list) else v for n, v in stored.items()}
        evaluation = Evaluation(f["value"], f["score"], f["information"])
        fit = Fit(f["gamma"], evaluation, f["iterations"], f["converged"], f["message"], f["decrement"])
        omitted = {int(j): {int(i): v for i, v in terms} for j, terms in stored.get("omitted", {}).items()}
        found = _of_its_kind(stored, cone)(fit, f["basis"], omitted=omitted, exact=f.get("exact"))
        state = cls.of(found, covariance, k, q, np.zeros(len(places_kept(omitted, k, q))))
        if "shift" in f:
            state = replace(state, shift=f["shift"], inner=f["inner"])
        return replace(state, given=f["theta"])


class StateViews:
    """What results read of the state of their fit, under the names that they know it by."""

    _state: FitState

    _fit: Any = property(lambda self: self._state.estimate.fit)
    _basis: Any = property(lambda self: self._state.estimate.basis)
    _exact: Any = property(lambda self: self._state.estimate.exact)
    _combinations: Any = property(lambda self: self._state.estimate.omitted)
    _cone: Any = property(lambda self: getattr(self._state.estimate, "cone", None))
    _limit: Any = property(
        lambda self: self._state.estimate if getattr(self._state.estimate, "inner", None) is not None else None
    )
    _ruled_out: Any = property(lambda self: getattr(self._state.estimate, "ruled_out", None))
    _constraint: Any = property(lambda self: getattr(self._state.estimate, "constraint", None))
    _reduction: Any = property(lambda self: getattr(self._state.estimate, "reduction", None))
    _theta: Any = property(lambda self: self._state.theta)
    _value: Any = property(lambda self: self._state.estimate.fit.evaluation.value)
    _cov: Any = property(lambda self: self._state.covariance)
    _group_names: Any = property(lambda self: self._state.groupings)
    _shift: Any = property(lambda self: self._state.shift)
    _inner: Any = property(lambda self: self._state.inner)
    _moved: Any = property(lambda self: self._state.moved)
    _omitted: Any = property(lambda self: self._state.omitted)
    _size: Any = property(lambda self: self._state.free_count)
    _columns: Any = property(lambda self: self._state.columns)
    _places: Any = property(lambda self: self._state.places)
    _narrow: Any = property(lambda self: self._state.narrow)
    _narrow_centred: Any = property(lambda self: self._state.narrow_centred)
    _finite_theta: Any = property(lambda self: self._state.finite_theta)
    _found: Any = property(lambda self: self._state.estimate)
    _V: Any = property(lambda self: self._state.V)


def _of_its_kind(stored: dict[str, Any], cone: Any) -> Callable[..., Estimate]:
    """What makes the estimate that a file has."""
    if cone is not None:
        from glmclf.core.separation.limit import LimitEstimate

        return partial(LimitEstimate, cone=cone)
    if stored.get("reduction") is not None:
        from glmclf.core.fit.bias import ReducedEstimate, Reduction

        return partial(ReducedEstimate, reduction=Reduction.from_dict(stored["reduction"]))
    if stored.get("constraint") is not None:
        from glmclf.core.fit.constraints import ConstrainedEstimate, Constraint

        return partial(ConstrainedEstimate, constraint=Constraint.from_dict(stored["constraint"]))
    return Estimate


def _wide(values: ndarray, places: ndarray, p: int) -> ndarray:
    """Numbers of some of p parameters among those of all, the others 0."""
    out = np.zeros(p)
    out[places] = values
    return out


def _moved(estimate: Estimate, k: int, q: int, shift: ndarray) -> ndarray:
    """A shift of the parameters of the columns that are left, as one of all in the coordinates of the fit."""
    basis = narrow_basis(estimate)
    moved = shift if basis is None or not shift.any() else into_basis(basis, shift)
    return _wide(moved, places_kept(estimate.omitted, k, q), k * q)
