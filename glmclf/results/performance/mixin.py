"""Performance of predictions, on the rows of the fit or on new data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from numpy import ndarray

from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.results.performance.options import RowOptions
from glmclf.results.requires import Needs, requires

if TYPE_CHECKING:
    from glmclf.results.performance.calibration import Calibration
    from glmclf.results.performance.model_check import ModelCheck
    from glmclf.results.performance.report import ClassificationReport
    from glmclf.results.performance.roc import MulticlassRoc, PrecisionRecall, RocCurve
    from glmclf.results.performance.validation import Validation


class Performance:
    """Mixin of results that predict probabilities of levels: classification tables, curves, calibration, validation."""

    model: Any
    # the prediction is the first of the most probable levels, not the level beyond a threshold
    _most_probable: ClassVar[bool] = True

    # ------------------------------------------------------------------------------------------- what a family supplies
    def _log_p(self, newdata, offset) -> tuple[ndarray, ndarray, pd.Index]:
        """Log probabilities and probabilities (n, K) of rows of the fit (None) or new data, and labels of the rows.

        Columns are in the order of the levels.
        """
        raise NotImplementedError

    def _log_p_beside(self, model) -> ndarray:
        """Log probabilities (n, K) of the rows of a model with the same columns."""
        raise NotImplementedError

    @property
    def _counts(self) -> ndarray:
        """Observations of each level in each row of the fit, unweighted, (n, K)."""
        raise NotImplementedError

    def _rows_read(self, X, y, trials, offset) -> tuple[ndarray, ndarray, ndarray]:
        """Log probabilities, probabilities and counts of rows as a stream gives them."""
        raise RowsElsewhereError()

    def _repeated(self, model) -> Any:
        """Fit another model with the options of this fit."""
        raise NotImplementedError

    @property
    def _judged_levels(self) -> list[Any]:
        return list(self.model._response.levels)

    @property
    def _event_place(self) -> int:
        """Place of the event among the two levels of a response."""
        return 1

    def _check_row_options(self, options: RowOptions) -> None:
        """Refuse row options that do not apply to the model."""

    # ----------------------------------------------------------------------------------------------------------- tables
    @requires()
    def pred_table(
        self, threshold=None, newdata=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> pd.DataFrame:
        """Classification table: observed against predicted classes.

        Parameters
        ----------
        threshold : float, optional
            Two levels: the event is predicted where its probability is above this, by default 0.5. With several levels
            the most probable one is predicted.
        newdata : DataFrame, array_like or data in parts, optional
            Rows to judge, with the response; by default the rows of the fit. Rows without an outcome or a prediction
            are left out, with a warning. Data in parts, as `from_formula` takes them, are read part by part; of tables
            and `decision_curve` any number of rows, of curves those whose probabilities fit in memory: rows times
            levels up to 1e8.
        endog : str or array_like, optional
            The response of `newdata`, if it is not in the column that the model was fitted to.
        freq_weights, weights : str, array_like or number, optional
            Frequency or sampling weights of the rows of `newdata`; by default the column that weighted the fit.
        offset : array_like, optional
            As in `predict`.

        Returns
        -------
        DataFrame
            Rows observed, columns predicted, in the order of the levels (two: the event last); observations are counted
            with their weights, counts by successes and failures.
        """
        from glmclf.results.performance.report import pred_table

        return pred_table(self, threshold, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def classification_report(
        self,
        threshold=None,
        newdata=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> ClassificationReport:
        """Classification report: accuracy, sensitivity and the like, with standard errors and intervals.

        Parameters
        ----------
        threshold, newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        ClassificationReport
            `overall`: accuracy; of two levels sensitivity, specificity, PPV, NPV and F1 of the event; kappa (Cohen's),
            MCC (Matthews' correlation, of several levels Gorodkin's), balanced accuracy. `by_class` of several.

        Raises
        ------
        DataError
            New data without the response, or with labels that the model does not know.

        Notes
        -----
        Intervals of proportions are Wilson's; of other measures by the delta method in the cells of the table: kappa
        -/+ z se (Fleiss, Cohen & Everitt 1969), MCC on Fisher's scale, F1, balanced accuracy and averages on the logit
        scale. Under sampling weights standard errors are those of a weighted sample of rows, and Wilson's interval is
        that of the effective number of observations. A measure that is 0/0, as the PPV of an event that is never
        predicted, is NaN, and so are averages over it. On the rows of the fit all of it is optimistic: see `validate`.

        References
        ----------
        Wilson (1927), JASA 22, 209-212. Gorodkin (2004), Computational Biology and Chemistry 28, 367-374.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.classification_report().overall.loc[["accuracy", "sensitivity"]].round(3)
                     estimate     se  lower  upper
        measure
        accuracy        0.812  0.069  0.647  0.911
        sensitivity     0.727  0.134  0.434  0.903
        """
        from glmclf.results.performance.report import classification_report

        return classification_report(self, threshold, alpha, RowOptions(newdata, endog, freq_weights, weights, offset))

    # ----------------------------------------------------------------------------------------------------------- curves
    @requires()
    def roc(
        self, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> RocCurve | MulticlassRoc:
        """ROC curve and area under it, with DeLong's standard error; of several levels Hand and Till's M.

        Parameters
        ----------
        newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        event : label, optional
            The level to look for, against all others; by default the event of two levels.

        Returns
        -------
        RocCurve
            `auc`, `se`, `conf_int(method="delong"|"logit")`, `curve`, `cut_points()`, `partial_auc()`, `compare()`.
        MulticlassRoc
            Several levels without `event`: `auc` (M), `table` (one level against all others), `pairs`, `curve(level)`.

        Raises
        ------
        DataError
            One class alone in new data.

        Notes
        -----
        The score is the log odds of the event, so that probabilities that round to 1 stay apart. O(n log n). Of the
        rows of the fit, the area is optimistic, and its standard error takes the coefficients for known.

        References
        ----------
        DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44, 837-845. Hand & Till (2001), Machine Learning 45,
        171-186.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.roc()
        RocCurve(event=1, auc=0.8831, se=0.0621)
        """
        from glmclf.results.performance.roc import roc_curves

        return roc_curves(self, event, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def compare_roc(
        self,
        other,
        newdata=None,
        event=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> pd.Series:
        """DeLong's test that another model of the same rows has the same area under its ROC curve.

        Parameters
        ----------
        other : results
            Of any model of the same response.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`, for both.
        alpha : float
            One minus the level of the interval of the difference.

        Returns
        -------
        Series
            auc, other_auc, difference, se, statistic (z), pvalue, lower, upper, correlation.

        Raises
        ------
        DataError
            The models were fitted to different rows, and no `newdata` is given.

        Notes
        -----
        Of two nested models on the rows they were fitted to the test is too conservative (Demler, Pencina & D'Agostino
        2012, Statistics in Medicine 31, 2577-2587): use `compare_lr_test`, or new data.
        """
        from glmclf.results.performance.roc import compare_roc

        if not isinstance(other, Performance):
            raise TypeError(f"compare_roc needs the results of another model; found {type(other).__name__}")
        return compare_roc(self, other, event, alpha, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def precision_recall(
        self, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> PrecisionRecall:
        """Precision against recall (sensitivity), and average precision.

        Parameters
        ----------
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.

        Returns
        -------
        PrecisionRecall
            `average_precision`, `prevalence`, `curve`.

        References
        ----------
        Davis & Goadrich (2006), Proceedings of the 23rd International Conference on Machine Learning, 233-240.
        """
        from glmclf.results.performance.roc import precision_recall

        return precision_recall(self, event, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def decision_curve(
        self,
        thresholds=None,
        newdata=None,
        event=None,
        *,
        alpha: float = 0.05,
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> pd.DataFrame:
        """Decision curve: net benefit of acting on predictions above each threshold, on all rows and on none.

        Parameters
        ----------
        thresholds : array_like, optional
            Probabilities in [0, 1) at which one would act: a threshold t says that a missed event is (1 - t)/t times as
            bad as acting in vain. By default 0.01, 0.02, ..., 0.99.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.
        alpha : float
            One minus the level of the intervals.

        Returns
        -------
        DataFrame
            By threshold: net_benefit TP/n - FP/n t/(1 - t) with se, lower and upper; treat_all, treat_none (0);
            standardized, divided by the share of events; and avoided, the interventions in vain saved per observation
            against treat_all, (net_benefit - treat_all) (1 - t)/t.

        References
        ----------
        Vickers & Elkin (2006), Medical Decision Making 26, 565-574.
        """
        from glmclf.results.performance.benefit import decision_curve

        return decision_curve(self, thresholds, event, alpha, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def lift(
        self, bins: int = 10, newdata=None, event=None, *, endog=None, freq_weights=None, weights=None, offset=None
    ) -> pd.DataFrame:
        """Gain and lift: the share of the events among the observations with the highest probabilities.

        Parameters
        ----------
        bins : int
            Groups of about equal numbers of observations; equal probabilities stay together.
        newdata, event, endog, freq_weights, weights, offset
            As in `roc`; of several levels `event` is needed.

        Returns
        -------
        DataFrame
            By group, from the highest probabilities: n, events, rate, lift (rate over that of all), and of all
            observations down to it share, gain (their share of the events) and cumulative_lift (gain over share).
        """
        from glmclf.results.performance.benefit import lift

        return lift(self, bins, event, RowOptions(newdata, endog, freq_weights, weights, offset))

    # --------------------------------------------------------------------------------------- calibration and validation
    @requires()
    def calibration(
        self,
        bins: int | Sequence[float] = 10,
        newdata=None,
        *,
        method: str = "quantile",
        endog=None,
        freq_weights=None,
        weights=None,
        offset=None,
    ) -> Calibration:
        """Calibration: do events happen as often as predicted? Curve, intercept and slope, ICI, Brier and log scores.

        Parameters
        ----------
        bins : int or list of numbers
            Of the curve and of Murphy's decomposition: how many, or their edges between 0 and 1, which are given with 0
            and 1 or without. A bin holds its right edge; bins without a row are left out.
        newdata, endog, freq_weights, weights, offset
            As in `pred_table`.
        method : {"quantile", "uniform"}
            Bins of about equal numbers of observations (equal probabilities stay together), or of equal width; without
            effect on edges.

        Returns
        -------
        Calibration
            `curve`, `intercept`, `slope`, `ici`, `brier`, `log_score`, `summary_frame()`; of several levels each
            against all others.

        Warns
        -----
        InferenceWarning
            Levels without a row among those judged: what compares them with others is NaN. Probabilities of 0 or 1.

        Notes
        -----
        Intercept ("calibration in the large") and slope are of logit models of the outcome given logit(p), the former
        with slope 1. ICI, E50, E90 and Emax are mean, median, 90th percentile and maximum of the distance between p and
        a smoothed curve, a logit model on a restricted cubic spline of logit(p) with four knots. Brier = reliability -
        resolution + uncertainty + within bins; scaled Brier = 1 - Brier/uncertainty. A maximum likelihood logit is
        calibrated on its own rows by construction (intercept 0, slope 1): use new data or `validate`.

        References
        ----------
        Cox (1958), Biometrika 45, 562-565. Murphy (1973), Journal of Applied Meteorology 12, 595-600. Austin &
        Steyerberg (2019), Statistics in Medicine 38, 4051-4065.

        Examples
        --------
        >>> from glmclf import Probit, datasets
        >>> res = Probit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> c = res.calibration(bins=4)
        >>> round(c.slope, 3), round(c.brier, 4)
        (0.99, 0.1305)
        """
        from glmclf.results.performance.calibration import calibrated

        return calibrated(self, bins, method, RowOptions(newdata, endog, freq_weights, weights, offset))

    @requires()
    def check(self, panels: str | Sequence[str] | None = None, *, alpha: float = 0.05, seed: Any = 0) -> ModelCheck:
        """Check of the fit: what calibration, residuals, influence, overlap and laws of features say, with verdicts.

        `plots.check` draws it. What a fit cannot have is left out, and `left_out` of what is returned says why.

        Parameters
        ----------
        panels : str or list of str, optional
            Which of the following, by default all that the fit can have:

            - "calibration": observed shares by bins of the probabilities, goodness of fit, the calibration slope, the
              link test and the expected shrinkage.
            - "regressors" (regressions): observed less predicted shares by bins of each number in the data.
            - "residuals": the law of quantile residuals.
            - "influence" (regressions): Cook's distances.
            - "features" (LDA, QDA, NaiveBayes): the law of each number in each class against its data.
            - "distances" (LDA, QDA): rows as far from their class as the normal law says.
            - "covariances" (LDA, QDA): Box's M.
            - "independence" (NaiveBayes): pairs of features that depend on each other within classes.
            - "collinearity": variance inflation factors.
            - "roc": the area under the curve, which has no verdict.
        alpha : float
            One minus the level of bands and intervals, in (0, 1).
        seed : int, SeedSequence or Generator
            Of the randomised quantile residuals that are drawn; no verdict depends on it.

        Returns
        -------
        ModelCheck
            `table` (a row a check: what is found, value, p-value, verdict, threshold, source), `verdict`, `left_out`.

        Raises
        ------
        NotImplementedError, DataError, ValueError
            A panel asked for by name that the fit cannot have: the message says which, and why.

        Notes
        -----
        Verdicts are "fine", "look" and "problem"; of a p-value they are from 0.05 and from 0.001 downwards, so that
        of twenty checks of a right model one says "look". Many rows make every deviation significant: a test says
        "fine", too, where the deviation is small, which is said with its size in the threshold. Of many levels,
        variables or classes the p-value is the smallest by Holm's method.

        References
        ----------
        Gelman & Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models, section 5.6. Luedecke,
        Ben-Shachar, Patil, Waggoner & Makowski (2021), performance: an R package for assessment, comparison and testing
        of statistical models, Journal of Open Source Software 6, 3139.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("sex ~ bill_depth_mm + body_mass_g", datasets.load("penguins")).fit()
        >>> found = res.check(["collinearity", "influence"])
        >>> found.table["found"].tolist()
        ["Cook's distance up to 0.17 (row 114)", 'variance inflation up to 4.41 (bill_depth_mm)']
        >>> found.verdict
        'fine'
        """
        from glmclf.results.performance.model_check import ModelCheck

        return ModelCheck(self, panels, alpha, seed)

    @requires(Needs.REPEATABLE, Needs.ROWS)
    def validate(
        self, method: str = "bootstrap", *, seed=None, reps: int | None = None, folds: int | None = None, groups=None
    ) -> Validation:
        """Internal validation: performance to expect on new rows, by repeating the whole fit on resamples.

        Parameters
        ----------
        method : {"bootstrap", "cv", ".632+"}
            Harrell's bootstrap, corrected = apparent - mean(own sample - all rows); cross-validation, predictions of
            each fold by the fit to the others, all folds together; or Efron and Tibshirani's .632+ rule.
        seed : int, SeedSequence or Generator, optional
            The same seed gives the same numbers.
        reps : int, optional
            Bootstrap samples, by default 200; or how often the folds are dealt, by default once.
        folds : int, optional
            "cv": how many, by default 10.
        groups : str or array_like, optional
            Clusters that are drawn, or left out, as a whole: a column of the table, or values beside it.

        Returns
        -------
        Validation
            `table` by measure: AUC (of several levels M), Brier and log score, accuracy (most probable level),
            R2 (Nagelkerke's, after recalibration to the rows that judge), intercept and slope of recalibration;
            ``found["AUC"]`` is the corrected one.

        Raises
        ------
        EstimationError
            Fewer than half of the fits have an estimate.

        Warns
        -----
        InferenceWarning
            Fits without an estimate (separated, collinear, not converged, without a basis: too few distinct values of a
            variable for its knots or groups): they are counted in `failures`. Measures
            that are not defined: a fit that predicts the same for all rows has the R2 0 and no intercept and slope.

        Notes
        -----
        Weights, offset, penalties, constraints and bias reduction are those of the fit; a penalty that cross-validation
        chose, or a formula that was, is not chosen again. What the formula remembers of the rows (knots, cuts, centres,
        means) is learnt anew in each resample, as in `fit_regularized_cv`. Where values beyond the range of the fit are
        an error, as of ``bs``, ``qcut`` and ``cut``, the ends of this range stay; with ``outside=`` in the formula they
        are learnt, too. A row of frequency weight f stands for f observations, each
        drawn alone; rows of counts and of sampling weights are drawn as rows. With a seed the numbers are those of the
        expanded rows, each behind the one it repeats. Without information, as the .632+ rule supposes, recalibration
        has slope 0 and the log odds of the event's share as intercept; the rule keeps the intercept between that of the
        fit and these, and so says little about it: ask another method.

        R2 is of discrimination alone: predictions are recalibrated to the very rows that judge them, as in R's rms,
        before their likelihood is taken. So the "test" and "corrected" R2 of "cv" and ".632+" are never negative
        there, do not count that predictions are too extreme (the slope does), count predictions that rank the wrong
        way round (a negative slope) as information, and may exceed the apparent R2 in tiny samples.

        A replication costs a fit that starts at the estimate and a sort of the rows for each class: of a million rows
        about 1.5 seconds of a Logit, 5 of an MNLogit of four levels. There optimism is small, and 20 tell enough.

        References
        ----------
        Harrell, Lee & Mark (1996), Statistics in Medicine 15, 361-387. Efron & Tibshirani (1997), JASA 92, 548-560.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("I(affairs > 0) ~ rate_marriage + age", datasets.load("fair")).fit()
        >>> found = res.validate(reps=20, seed=1)
        >>> round(found["AUC"], 2), found.n_used
        (0.71, 20)
        """
        from glmclf.results.performance.validation import validate

        return validate(self, method, seed, reps, folds, groups)
