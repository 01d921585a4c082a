"""Predictions of an event with standard errors and intervals, labelled."""

from __future__ import annotations

import numpy as np
import pandas as pd

from glmclf.inference.hypotheses.multiplicity import share_of_alpha
from glmclf.inference.margins.contrasts import check_adjust
from glmclf.inference.margins.prediction import Prediction
from glmclf.results.tables.frames import FrameShown


class PredictionResults(FrameShown):
    """Predictions with standard errors and intervals, labelled by the rows they belong to.

    Parameters
    ----------
    prediction : Prediction
        The numbers.
    index : Index
        One label a row.

    Attributes
    ----------
    predicted, se : Series
        Predicted probabilities (or linear predictors) and their standard errors.
    which : {"mean", "linear"}
        What is predicted.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from glmclf.core.likelihood.links import LogitLink
    >>> from glmclf.inference.margins.prediction import Prediction
    >>> from glmclf.results.prediction import PredictionResults
    >>> numbers = Prediction(np.array([0.0, 3.0]), np.array([0.5, 1.0]), LogitLink())
    >>> PredictionResults(numbers, pd.Index(["a", "b"])).summary_frame().round(3)
       predicted     se  ci_lower  ci_upper
    a      0.500  0.125     0.273     0.727
    b      0.953  0.045     0.739     0.993
    """

    def __init__(self, prediction: Prediction, index: pd.Index) -> None:
        self._prediction = prediction
        self._index = index

    @property
    def which(self) -> str:
        """Kind of prediction: "mean" or "linear"."""
        return self._prediction.which

    @property
    def predicted(self) -> pd.Series:
        """Predictions by row; NaN for a row with a missing value."""
        return pd.Series(self._prediction.predicted, index=self._index, name="predicted")

    @property
    def se(self) -> pd.Series:
        """Standard errors by row; the delta method's for probabilities."""
        return pd.Series(self._prediction.se, index=self._index, name="se")

    def conf_int(self, alpha: float = 0.05, adjust: str = "none") -> pd.DataFrame:
        """Intervals of level 1 - alpha.

        Parameters
        ----------
        alpha : float
            In (0, 1).
        adjust : {"none", "bonferroni", "sidak"}
            Whether they hold row by row, or for all rows together.

        Returns
        -------
        DataFrame
            ci_lower and ci_upper; the ends of a probability's interval are those of the linear predictor, transformed.

        Raises
        ------
        ValueError
            If alpha is not in (0, 1).
        """
        rows = max(int(np.isfinite(self._prediction.se).sum()), 1)
        ends = self._prediction.conf_int(share_of_alpha(alpha, check_adjust(adjust), rows))
        return pd.DataFrame(ends, index=self._index, columns=["ci_lower", "ci_upper"])

    def summary_frame(self, alpha: float = 0.05, adjust: str = "none") -> pd.DataFrame:
        """Predictions, standard errors and intervals.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).
        adjust : {"none", "bonferroni", "sidak"}
            As in `conf_int`.

        Returns
        -------
        DataFrame
            predicted, se, ci_lower, ci_upper; one row a prediction.

        Raises
        ------
        ValueError
            If alpha is not in (0, 1).
        """
        return pd.concat([self.predicted, self.se, self.conf_int(alpha, adjust)], axis=1)

    def __len__(self) -> int:
        return len(self._index)
