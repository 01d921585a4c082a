"""Inverse prediction: the value of a variable at which the event has a given probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


class InversePredictions:
    """What binary results say of the value of a variable: `inverse_predict`."""

    def inverse_predict(
        self,
        p: Any,
        variable: str,
        at: Mapping[str, Any] | None = None,
        alpha: float = 0.05,
        method: str = "fieller",
    ) -> pd.DataFrame:
        """The value of a variable at which the event has probability p: effective doses, thresholds.

        Parameters
        ----------
        p : float or array_like
            Probabilities, between 0 and 1.
        variable : str
            A variable that the linear predictor is linear in, or in one increasing or decreasing function of it
            (``np.log(dose)``), which may be level in places (``np.minimum(dose, 10)``).
        at : dict, optional
            Values of other variables (of the offset, by its column); without one, a number is at its mean and a factor
            at the shares of its levels.
        alpha : float
            One minus the level of the intervals.
        method : {"fieller", "delta"}
            Fieller's set, or the estimate -/+ z se in the function of the variable, transformed.

        Returns
        -------
        DataFrame
            By p: estimate, se (delta method, in units of the variable), ci_lower, ci_upper and shape. The set is an
            "interval"; or "two rays", up to ci_lower and from ci_upper on, or the "whole line", where the slope does
            not differ from 0 at level alpha. Where the function of the variable is bounded (``1 / dose``) a probability
            may have no value: NaN, as is a set out of reach; an end that is not reached is that of the domain. Where it
            is level, all values of a piece have the probability: NaN, and the warning names the piece. `se` is NaN
            where the function has no finite derivative.

        Raises
        ------
        DataError
            No such variable; p not between 0 and 1.
        NotImplementedError
            A variable in several functions (a polynomial, a spline) or in one that is not monotone, or a factor.
        ValueError
            An infinite or omitted slope.

        Warns
        -----
        InferenceWarning
            A set that is no interval; a probability that no value reaches, or all of a level piece.

        Notes
        -----
        Between the least and the largest value in the fit a function is monotone by its syntax (``np.log``, ``np.exp``,
        ``np.sqrt``, ``np.minimum``, ``np.clip``, odd powers and the like, one within another), or its values and exact
        derivatives are looked at in over 400 places: what turns more narrowly than that is not seen. Beyond it is
        followed as far as it goes on the same way, to where it ends or turns.

        References
        ----------
        Fieller (1954), Journal of the Royal Statistical Society B 16, 175-185. Finney (1971), Probit Analysis, section
        4.4.

        Examples
        --------
        >>> from glmclf import Probit, datasets
        >>> res = Probit.from_formula("killed + survived ~ dose", datasets.load("beetles")).fit()
        >>> res.inverse_predict([0.5, 0.9], "dose").iloc[:, :4].round(4)
             estimate      se  ci_lower  ci_upper
        p
        0.5    1.7709  0.0038    1.7632    1.7782
        0.9    1.8358  0.0057    1.8256    1.8486
        """
        from glmclf.results.margins.inverse import inverse_predict

        return inverse_predict(self, p, variable, at, alpha, method)
