"""`fit_constrained`, as models have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from glmclf.core.rows.asked import named

Fitted = TypeVar("Fitted")


class ConstrainedFits(Generic[Fitted]):
    """The part of a model that fits it under constraints."""

    @named
    def fit_constrained(
        self: Any,
        constraints: Any,
        start_params: Any = None,
        method: str = "irls",
        maxiter: int = 100,
        tol: float | None = None,
        cov_type: str | None = None,
        cov_kwds: Mapping[str, Any] | None = None,
        n_threads: int | None = None,
    ) -> Fitted:
        """Maximum likelihood estimate that obeys linear equality constraints R b = q.

        Parameters
        ----------
        constraints : str, list of str, dict, array_like, DataFrame or (R, q)
            ``"x1 = x2"``, ``"x1 + 2*x2 = 1, x3 = 0"``, a list of such, ``{"x1": 1}``; a (J, p) matrix with q = 0, also
            labelled by the parameters; or both. Parameters of MNLogit are called ``y{level}_{regressor}``, as in
            `t_test`.
        start_params : (p,) array_like, optional
            Where to start; what disobeys the constraints is moved.
        method : {"irls", "newton", "bfgs", "lbfgs"}
        maxiter, tol, cov_type, cov_kwds, n_threads
            As in `fit`; covariances by refitting (bootstrap, jackknife) are not available.

        Returns
        -------
        Results
            All parameters, which obey the constraints, with the singular covariance Q (Q'IQ)^-1 Q', Q the directions
            that R leaves free. Constraints do not count as parameters (aic, bic, df_model, df_resid). A parameter that
            they fix has the standard error 0 and no test. `constraint_test` tests them.

        Raises
        ------
        ValueError
            Unknown names, constraints that contradict each other or say nothing, unknown options.
        CollinearityError
            The constraints leave columns linearly dependent.
        PerfectSeparationError
            The constrained estimate is infinite. Constraints can also make an infinite estimate finite.
        NotImplementedError
            method="sgd", covariances by refitting.

        Warns
        -----
        InferenceWarning
            Some constraints follow from others and were left out.
        ConvergenceWarning
            No maximum within `maxiter` iterations.

        References
        ----------
        Amemiya (1985), Advanced Econometrics, section 1.4; Stata's ``constraint``.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> model = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector"))
        >>> res = model.fit_constrained("GPA = PSI")
        >>> res.params.round(4)
        Intercept   -12.5279
        GPA           2.5538
        TUCE          0.1079
        PSI           2.5538
        dtype: float64
        >>> round(res.constraint_test().pvalue, 4)
        0.7413
        """
        from glmclf.models.constrained_fit import fit_constrained

        return fit_constrained(*(self, constraints, start_params, method, maxiter, tol, cov_type, cov_kwds, n_threads))
