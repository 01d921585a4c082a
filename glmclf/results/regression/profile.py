"""What the shape of the likelihood says that the curvature at its maximum does not: profile intervals, and where Wald
tests fail."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.core.design.columns import triangular_inverse
from glmclf.core.fit.estimate import into_basis
from glmclf.core.fit.offsets import centred
from glmclf.core.fit.rank import triangular_factor
from glmclf.core.numerics.double_double import product
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import InferenceWarning, warn
from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.inference.specification.hauck_donner import wald_derivatives
from glmclf.results.regression.separation import spelled

if TYPE_CHECKING:
    from glmclf.inference.profile.likelihood import Profile

MODEL_BASED = ("nonrobust", "expected")
SHOWN = 8


class Profiles:
    """The part of a result that profiles its likelihood."""

    model: Any
    _cone: Any
    _limit: Any
    _origin: Any
    _reduction: Any
    _constraint: Any
    _omitted: ndarray | None
    _theta: ndarray
    _value: float

    def conf_int(self, alpha: float = 0.05, method: str = "wald") -> pd.DataFrame:
        """Confidence intervals of the parameters.

        Parameters
        ----------
        alpha : float
            One minus the level, in (0, 1).
        method : {"wald", "profile"}
            "wald": estimate -/+ z se. "profile": all values that a likelihood ratio test of level `alpha` does not
            reject, {c : 2 (llf - max of the log-likelihood with b_j = c) <= chi-squared(1; 1 - alpha)}; they need no
            symmetry, and are the same whatever the parameter is called (a coefficient, or its exponential).

        Returns
        -------
        DataFrame
            Columns 0 and 1: the ends. Of a separated fit the profile interval of a coefficient at infinity is
            one-sided, [lower, inf] or [-inf, upper]; with directions of both signs it is [-inf, inf]. NaN for columns
            left out. Of a fit with bias_reduction="firth" it is of the penalised likelihood, which may have several
            maxima where a coefficient is held: the highest that a search from several points finds counts, and an end
            is the first value beyond the estimate at which the test rejects. NaN, with an `InferenceWarning`, for an
            end at which the statistic could not be brought to the quantile.

        Raises
        ------
        ValueError
            Profile of a pseudo-likelihood (sampling weights, fractions), or of a fit that did not converge.
        NotImplementedError
            Profile of a robust covariance, or of a bias reduction that maximises no likelihood.
        DataError
            Profile of a result whose rows were removed or not saved.

        References
        ----------
        Venzon & Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals. Applied
        Statistics 37, 87-94. Heinze & Schemper (2002), Statistics in Medicine 21, 2409-2419.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.conf_int(method="profile").round(3)
                        0      1
        Intercept -21.660 -4.549
        GPA         0.971  5.934
        PSI         0.467  4.699
        """
        if method != "profile":
            return super().conf_int(alpha, method)  # type: ignore[misc]
        self._check_profile()
        alpha = check_alpha(alpha)
        p = len(self._theta)
        gone = np.zeros(p, dtype=bool) if self._omitted is None else self._omitted
        ends = [(np.nan, np.nan) if gone[j] else self._ends(j, alpha) for j in range(p)]
        return pd.DataFrame(np.array(ends), index=self.model._param_index, columns=[0, 1])

    def _check_profile(self) -> None:
        res: Any = self
        what = 'conf_int(method="profile")'
        res._check_likelihood(what, 'conf_int(method="wald")')
        res._check_penalised(what)
        if self._reduction is not None and self._reduction.flic:
            raise NotImplementedError(
                f"{what} with flic=True: the corrected intercept is no maximum. Fit with flic=False for the slopes"
            )
        if res.cov_type not in MODEL_BASED:
            raise NotImplementedError(
                f'{what} with cov_type="{res.cov_type}": a profile likelihood takes the model to be right, which '
                'robust standard errors do not. Use method="wald", or with_cov("nonrobust") first'
            )
        _ = self.model._rows

    def _ends(self, j: int, alpha: float) -> tuple[float, float]:
        r = np.zeros(len(self._theta))
        r[j] = 1.0
        profile, toward = self._profile_of(r)
        if profile is None:
            return (-np.inf, np.inf) if np.isnan(toward) else (self._theta[j], self._theta[j])
        ends, failed = profile.ends(alpha, toward)
        if failed:
            name = self.model._param_names[j]
            warn(f'conf_int(method="profile") of "{name}": {"; ".join(failed)}. NaN stands for it', InferenceWarning)
        return ends

    def _profile_of(self, r: ndarray) -> tuple[Profile | None, float]:
        """The profile of r'theta, and the sign of its infinite estimate or 0.

        None with NaN where directions of both signs exist: then every value is as likely as any; None with 0 where
        constraints fix it.
        """
        from glmclf.inference.profile.likelihood import Profile
        from glmclf.inference.profile.penalised import PenalisedProfile

        res: Any = self
        if self._origin is not None:
            return self._origin._profile_of(r @ self._origin._change_of_base(self.model))
        if self._constraint is not None:
            return self._profile_within(r), 0.0
        back = -float(r @ res._wide(res._shift))
        if self._reduction is not None:
            objective, value = res._penalised_objective(), self._reduction.penalised
            return PenalisedProfile(objective, res._narrow_centred.fit.theta, value, self._narrow_row(r), back), 0.0
        if self._cone is None:
            theta = res._narrow_centred.fit.theta
            return Profile(res._objective(), theta, self._value, self._narrow_row(r), back), 0.0
        sign = float(self._cone.sign_of(r[None])[0])
        if np.isnan(sign):
            return None, sign
        return (self._profile_to_infinity(r) if sign else self._profile_in_the_limit(r)), sign

    def _profile_within(self, r: ndarray) -> Profile | None:
        """Of what the constraints leave free."""
        from glmclf.core.fit.constraints import Within
        from glmclf.inference.profile.likelihood import Profile

        res, c = cast(Any, self), self._constraint
        if c.fixed(r[None])[0][0]:
            return None
        origin = c.origin + res._moved
        eta = np.linalg.lstsq(c.Q, res._inner - origin, rcond=None)[0]
        r = res._in_coordinates(r[None])[2][0]
        return Profile(Within(res._objective(), c.Q, origin), eta, self._value, c.Q.T @ r, float(r @ c.origin))

    def _narrow_row(self, r: ndarray) -> ndarray:
        """A combination in the coordinates of the fit, of the columns that are left."""
        res: Any = self
        return res._in_coordinates(r[None])[2][0][res._places]

    def _profile_in_the_limit(self, r: ndarray) -> Profile:
        """No separating direction moves r'theta: its profile is that of the likelihood of the rows left."""
        from glmclf.inference.profile.likelihood import Profile

        res: Any = self
        back = -float(r @ res._wide(res._shift))
        inner, objective, r = self._limit.inner, self._limit.objective, r[self._limit.kept]
        if inner.basis is not None:
            objective, r = objective.rotated(inner.basis), _row_into(inner.basis, r)
        return Profile(objective, inner.fit.theta, self._value, r, back)

    def _profile_to_infinity(self, r: ndarray) -> Profile:
        """Directions that move r'theta are cut off where it is held; those that do not lead to a limit of their own."""
        from glmclf.core.separation.cone import cone_where
        from glmclf.core.separation.limit import held_and_kept, limit_objective
        from glmclf.core.separation.search import constraints_of, ruled_out
        from glmclf.inference.profile.likelihood import Profile

        res: Any = self
        objective, shift = centred(self.model._objective(columns=res._columns))
        theta, r = res._inner[res._places], r[res._places]
        back = -float(r @ shift)
        constraints = constraints_of(objective)
        cone = cone_where(constraints, r[None])
        if cone is None:
            if not objective(theta).well_conditioned(objective.blocks.arrays[0].least_rcond):
                R = triangular_factor(objective.blocks)
                objective, theta, r = objective.rotated(R), into_basis(R, theta), _row_into(R, r)
            return Profile(objective, theta, self._value, r, back)
        _, kept = held_and_kept(cone, constraints)
        _, limit = limit_objective(objective, cone, ruled_out(objective, cone, constraints), kept)
        return Profile(limit, theta[kept], self._value, r[kept], back)

    # --------------------------------------------------------------------------------------- the Hauck-Donner effect
    @property
    def hauck_donner(self) -> pd.DataFrame:
        """Where the Hauck-Donner effect makes Wald tests useless, with the likelihood ratio tests to use instead.

        Far from 0 a standard error may grow faster than its coefficient, so that the Wald statistic z = b/se falls, and
        a large effect looks like none (Hauck & Donner 1977). It does where the derivative of z in b, the other
        coefficients held, is negative (Yee 2022; VGAM's hdeff): 1/se - b (dse^2/db) / (2 se^3), se of the expected
        information. With Probit and CLogLog the z of other tables has the observed one, unless cov_type="expected".

        Returns
        -------
        DataFrame
            Indexed by coefficient; `derivative` of z, in units of 1/b; `present`: whether it is negative, or the
            coefficient infinite; `wald`, `lr`: p-values of the tests of b = 0, `lr` only where the effect is present.

        Raises
        ------
        ValueError
            A pseudo-likelihood, or a fit that did not converge.
        NotImplementedError
            A constrained fit.
        DataError
            The rows were removed or not saved.

        References
        ----------
        Hauck & Donner (1977), Journal of the American Statistical Association 72, 851-853. Yee (2022), On the
        Hauck-Donner effect in Wald tests: detection, tipping points, and parameter space characterization, ibid. 117,
        1763-1774.

        Examples
        --------
        >>> import pandas as pd
        >>> from glmclf import Logit
        >>> table = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [15, 10, 1, 200]})
        >>> Logit.from_formula("y ~ x", table, freq_weights="n").fit().hauck_donner.round(4)
                   derivative  present    wald   lr
        Intercept      2.3502    False  0.3206  NaN
        x             -1.3136     True  0.0000  0.0
        """
        res: Any = self
        res._check_likelihood("hauck_donner", "compare_lr_test of a model that has one")
        if self._constraint is not None:
            raise NotImplementedError("hauck_donner of a constrained fit: use constraint_test()")
        slope = self._wald_derivatives
        infinite = np.isinf(self._theta)
        present = (slope < 0) | infinite
        lr = np.full(len(slope), np.nan)
        for j in np.flatnonzero(present):
            lr[j] = self._lr_pvalue(int(j))
        z = res._pvalues_flat
        columns = {"derivative": slope, "present": present, "wald": z, "lr": lr}
        return pd.DataFrame(columns, index=self.model._param_index)

    @property
    def _pvalues_flat(self) -> ndarray:
        res: Any = self
        return wald.z_pvalues(res._z)

    def _lr_pvalue(self, j: int) -> float:
        """Of the hypothesis that a parameter is 0; NaN where there is no likelihood, or directions of both signs."""
        if self._reduction is not None and (self._reduction.penalised is None or self._reduction.flic):
            return np.nan
        r = np.zeros(len(self._theta))
        r[j] = 1.0
        profile = self._profile_of(r)[0]
        return np.nan if profile is None else profile.lr_pvalue()

    @cached_property
    def _wald_derivatives(self) -> ndarray:
        """Derivatives of the Wald statistics, NaN for parameters that are infinite or left out."""
        return self._derivatives_of(np.flatnonzero(np.isfinite(self._theta)))

    def _derivatives_of(self, tested: ndarray) -> ndarray:
        """The same of some parameters, NaN for all others."""
        res: Any = self
        out = np.full(len(self._theta), np.nan)
        if not len(tested):
            return out
        R = res._in_coordinates(np.eye(len(self._theta))[tested])[2]
        G = self._expected_covariance() @ R.T
        variance = np.einsum("cp,pc->c", R, G)
        blocks, estimate = self._undecided_rows(), self._theta[tested]
        likelihood = self.model._likelihood
        out[tested] = wald_derivatives(likelihood, blocks, res._inner, G, tested, estimate, variance)
        return out

    def _suspects(self) -> ndarray:
        """Finite parameters, constants aside, that may have the effect.

        With a logit no row's weight changes faster than itself, so that there is none where |b_j x_ij| <= 2 throughout.
        """
        k, finite = len(self.model.exog_names), np.isfinite(self._theta)
        finite[np.arange(len(finite)) % k == self.model._constant_column()] = False
        if self.model._likelihood.canonical and finite.any():
            largest = self.model._rows.largest()
            finite &= np.abs(np.where(finite, self._theta, 0.0)) * np.tile(largest, len(finite) // k) > 2.0
        return np.flatnonzero(finite)

    def _expected_covariance(self) -> ndarray:
        """Inverse expected information in the coordinates of the fit, 0 for what is infinite or left out."""
        res: Any = self
        if self._origin is not None:
            A = self._origin._change_of_base(self.model)
            return A @ self._origin._expected_covariance() @ A.T
        if self.model._likelihood.canonical and res.cov_type in MODEL_BASED:
            return res._cov.matrix
        keywords = self.model._cov_keywords("expected", None)
        found = self._limit or res._centred(res._found)
        return self.model._covariance(found, res._objective(), "expected", keywords)[0].matrix

    def _undecided_rows(self) -> Blocks:
        """The design in the coordinates of the fit and as it is, trials, offset and weights; without what separation
        decides."""
        res: Any = self
        gone = res._ruled_out
        if self.model._rows.streamed:
            return self._undecided_in_stream()
        objective, shift = centred(self.model._objective(columns=res._columns))
        r = self.model._rows if gone is not None or shift.any() else self.model._counted()[0]
        offset = objective.blocks.arrays[3] if r is self.model._rows else r.offset
        Z = r.X if res._basis is None else r.X.rotated(res._basis)
        arrays = [Z, r.X, r.trials, offset, r.weights]
        if gone is None:
            return Blocks(*arrays, size=self.model._block_size)
        if self.model._likelihood.n_eta == 1:
            rows = np.flatnonzero(~gone.any(axis=1))
            return Blocks(*(None if a is None else a[rows] for a in arrays))
        from glmclf.core.separation.limit import offset_of_all

        arrays[3] = offset_of_all(gone, offset)
        return Blocks(*arrays, size=self.model._block_size)

    def _undecided_in_stream(self) -> Blocks:
        """The same of rows in a stream."""
        res: Any = self
        blocks, basis = centred(self.model._objective())[0].blocks, res._basis
        K, cone, gone = self.model._likelihood.n_eta + 1, self._cone, res._ruled_out
        several = K > 2

        def both(X, y, m, offset, w):
            return X if basis is None else X.rotated(basis), X, m, offset, w

        def left(X, y, m, offset, w):
            out = outcomes_ruled_out(cone, K, X)
            if several:
                return both(X, y, m, offset_of_all(out, offset), w)
            rows = np.flatnonzero(~out.any(axis=1))
            some = (None if a is None else a[rows] for a in (y, m, offset, w))
            return rows, both(X.subset(rows), *some)

        if cone is None:
            return blocks.changed(both)
        from glmclf.core.separation.limit import offset_of_all
        from glmclf.core.separation.outcomes import outcomes_ruled_out

        return blocks.changed(left) if several else blocks.left(left, gone.left)

    @cached_property
    def _flagged(self) -> list[list[Any]]:
        """Places of the finite coefficients, constants aside, with the effect, and likelihood ratio p-values."""
        model, res = self.model, cast(Any, self)
        if model._rows_ is None or model._pseudo or self._constraint is not None or not res.converged:
            return []
        found = np.flatnonzero(self._derivatives_of(self._suspects()) < 0)
        return [[int(j), float(self._lr_pvalue(int(j))) if i < SHOWN else np.nan] for i, j in enumerate(found)]

    def _hauck_donner_notes(self) -> list[str]:
        """A line for the summary."""
        res: Any = self
        if not self._flagged or res.cov_type not in MODEL_BASED:
            return []
        names, z = [spelled(name) for name in self.model._param_index], self._pvalues_flat
        tests = []
        for j, pvalue in self._flagged[:SHOWN]:
            lr = "" if np.isnan(pvalue) else f", likelihood ratio {pvalue:.3g}"
            tests.append(f"{names[j]} (p-value: Wald {z[j]:.3g}{lr})")
        more = f" and {len(self._flagged) - SHOWN} more" if len(self._flagged) > SHOWN else ""
        return [
            f"Wald statistics fall as these coefficients grow (Hauck-Donner effect): {', '.join(tests)}{more}. Use "
            f'compare_lr_test and conf_int(method="profile"){self._where_there_is_a_likelihood()}.'
        ]

    def _where_there_is_a_likelihood(self) -> str:
        """Of which other fit, if this one has no likelihood ratio tests and profiles of its own."""
        if self._reduction is None:
            return ""
        if self._reduction.penalised is None:
            return " of the fit without bias_reduction="
        return " of the fit without flic=True, which has the same slopes" if self._reduction.flic else ""


def _row_into(basis: ndarray, r: ndarray) -> ndarray:
    """A combination of parameters in the coordinates of a basis, equation by equation."""
    k, T = len(basis), triangular_inverse(basis)
    return np.concatenate([product(r[i : i + k][None], T)[0] for i in range(0, len(r), k)])
