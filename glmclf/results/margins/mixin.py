"""Margins: marginal effects, adjusted predictions and their contrasts, inverse prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from glmclf.results.requires import Needs, requires

if TYPE_CHECKING:
    import pandas as pd

    from glmclf.results.margins.contrasts import Contrasts
    from glmclf.results.margins.effects import MarginalEffects
    from glmclf.results.margins.predictions import AdjustedPredictions
    from glmclf.results.margins.predictors import LinearPredictors

Variables = str | Sequence[str] | Mapping[str, Any] | None


class Margins:
    """Mixin of results with marginal effects, adjusted predictions, contrasts and inverse predictions of variables."""

    model: Any
    _cov: Any

    def _margin_source(self) -> LinearPredictors:
        """Linear predictors of the fit for averages over rows."""
        raise NotImplementedError

    @requires(Needs.SPREAD)
    def get_margeff(
        self,
        at: Any = "overall",
        method: str = "dydx",
        atexog: Mapping[str, Any] | None = None,
        dummy: bool = False,
        count: bool = False,
        *,
        variables: str | Sequence[str] | None = None,
        over: Any = None,
        contrast: str = "reference",
        newdata: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        vcov: str | None = None,
    ) -> MarginalEffects:
        """Marginal effects of the variables of the formula on the probabilities, with delta-method standard errors.

        Parameters
        ----------
        at : {"overall", "mean", "median", "zero"}, dict or DataFrame
            What effects are averages over. "overall": the rows of the fit as they are. "mean": one row with numbers at
            their mean and factors at the shares of their levels (the average of the design over the levels); "median":
            numbers at the median, factors at the most frequent level (of levels that tie, the first in their order,
            sorted or that of the categories, whatever the base); "zero": numbers 0, factors at their base; the offset
            is at its mean or, where the formula has the same column, where that is. A dict sets these variables and
            leaves all others as observed (as Stata); a list of values makes a grid. A DataFrame (or another frame): an
            effect for each of its rows, which set all variables, or leave those that are absent as observed.
        method : {"dydx", "eyex", "dyex", "eydx"}
            Derivatives, elasticities, or half elasticities. Discrete changes of factors do not know "ex": of these they
            are changes of p ("dydx", "dyex") or of log p.
        atexog : dict, optional
            Variables to set in a typical row, ``at="mean", atexog={"x": 1}``.
        dummy, count : bool
            Whether numbers that are 0 or 1, or other whole numbers from 0 on, have discrete changes in place of
            derivatives: from 0 to 1, and half the change from x - 1 to x + 1.
        variables : str or list of str, optional
            All by default.
        over : str, list of str or array_like, optional
            Groups of rows, to average over each of them: a column, several that are crossed, or values beside the rows
            of the fit, the table, or the table before `subset`.
        contrast : {"reference", "pairwise"}
            Levels of a factor against its base, or each pair of levels.
        newdata : DataFrame or data in parts, optional
            Rows to average over, in place of those of the fit; each counts once, unless they are weighted. Data in
            parts are as `from_formula` takes them; of these, and of a fit to such data, `over` is columns, and `vcov`
            is not there.
        freq_weights, weights : str or array_like, optional
            Weights of the rows of `newdata`, by a column of it or a value a row (of data in parts by a column): the
            averages, and typical rows, are weighted. Frequency weights stand for so many rows each; sampling weights
            do not depend on their unit. Rows without a weight are left out, with a warning. They make a difference to
            each other in unconditional variances alone.
        vcov : {"unconditional"}, optional
            Whether the rows are a sample, too, over which averages vary; else they are given. Rows of `newdata` are an
            independent one: the variance of their mean, the estimate given, is added to that of the estimate. Averages
            over one row, or one cluster, have none: NaN, with a warning. With a robust covariance the factor for small
            samples is N/(N-1) over rows, or G/(G-1) over clusters, as Stata's, whatever that of the fit is (of HC1
            n/(n-p)).

        Returns
        -------
        MarginalEffects
            `margeff, margeff_se, tvalues, pvalues, conf_int(alpha), summary(), summary_frame(alpha)`; a row a variable,
            of factors one a level. With several classes a row a level of the response and variable, and the effects on
            the levels add up to 0.

        Raises
        ------
        DataError
            No such variable (columns of the design are none), an unknown level, a group without a row; a variable that
            was asked for by name and has no derivative.
        NotImplementedError
            A penalised estimate without standard errors; `vcov="unconditional"` with a covariance or rows that it is
            not known for.

        Notes
        -----
        The effect of x is the total derivative: it goes through ``I(x**2)``, splines and interactions. With p = F(eta),
        eta = x'b + offset, the average of f(eta) (dx/dv)'b with weights (frequencies, sampling weights, trials of
        counts: as of the expanded rows) has the gradient sum w (f dx/dv + f' (dx/dv)'b x), analytically, and the
        covariance of the fit: robust if that is. LDA, QDA and NaiveBayes are logits in functions z of the features.
        A variable of the formula that is the offset, too, moves both. Rows that lack a value that is not set, of the
        offset, too, are left out of all averages of a table, with a warning; NaiveBayes' rows with missing features,
        too, which its predictions integrate out. A group or a row of a DataFrame of which nothing is left is NaN.

        References
        ----------
        Bartus (2005), Stata Journal 5, 309-329. Williams (2012), Stata Journal 12, 308-331.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        >>> res.get_margeff().summary_frame().iloc[:, :4].round(4)
                   dy/dx  Std. Err.       z  Pr(>|z|)
        variable
        GPA       0.3626     0.1094  3.3130    0.0009
        TUCE      0.0122     0.0178  0.6861    0.4927
        PSI       0.3052     0.0924  3.3035    0.0010
        """
        from glmclf.results.margins.effects import marginal_effects

        beside = {"freq_weights": freq_weights, "weights": weights}
        return marginal_effects(
            self, at, method, atexog, dummy, count, variables, over, contrast, newdata, beside, vcov
        )

    @requires(Needs.SPREAD)
    def predictions(
        self,
        variables: Variables = None,
        at: Any = "overall",
        *,
        by: Any = None,
        which: str = "mean",
        weights: Any = "proportional",
        newdata: Any = None,
        freq_weights: Any = None,
        vcov: str | None = None,
    ) -> AdjustedPredictions:
        """Adjusted predictions: probabilities averaged over rows with variables set to values; marginal means.

        Parameters
        ----------
        variables : str, list of str or dict, optional
            Variables that are set to each of their levels or, in a dict, to values, crossed if there are several: a row
            of the answer for each cell. Without, the rows are averaged as they are.
        at : {"overall", "mean", "median", "zero"}, dict or DataFrame
            What is averaged over, as in `get_margeff`. With "mean" a prediction is that of one typical row: the
            estimated marginal mean of the linear predictor, transformed.
        by : str, list of str or array_like, optional
            Groups of rows, averaged separately: by a column, by several that are crossed, or by values beside the rows.
        which : {"mean", "linear"}
            Probabilities, or linear predictors (log-odds against the reference).
        weights : {"proportional", "equal"}, str or array_like
            Whether the levels of a typical row count by their shares or alike, as R's emmeans has them by default. Or
            sampling weights of the rows of `newdata`: another column of it, or a value a row.
        newdata : DataFrame or data in parts, optional
            Rows to average over, in place of those of the fit.
        freq_weights : str or array_like, optional
            Frequency weights of the rows of `newdata`, as in `get_margeff`.
        vcov : {"unconditional"}, optional
            As in `get_margeff`, with its factor for small samples.

        Returns
        -------
        AdjustedPredictions
            `predicted, se, conf_int(alpha, adjust), summary_frame(alpha, adjust), contrasts(...)`. The intervals of
            probabilities are those of F^-1(p), with several classes of log(p / (1 - p)), transformed: inside (0, 1),
            and as exact near 1 as near 0, as averages of 1 - p are made beside those of p.

        Raises
        ------
        DataError
            No such variable or level; a number without values to set it to.
        ValueError
            `weights="equal"` where levels are as observed; a variable that `variables` and `at` both set.

        References
        ----------
        Searle, Speed & Milliken (1980), American Statistician 34, 216-221. Williams (2012), Stata Journal 12, 308-331.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("sex ~ body_mass_g + species", datasets.load("penguins"), event="male").fit()
        >>> res.predictions("species").summary_frame().round(3)
                   predicted     se  ci_lower  ci_upper
        species
        Adelie         0.684  0.019     0.647     0.720
        Chinstrap      0.666  0.024     0.618     0.712
        Gentoo         0.185  0.010     0.166     0.206
        """
        from glmclf.results.margins.predictions import adjusted_predictions

        return adjusted_predictions(self, variables, at, by, which, weights, freq_weights, newdata, vcov)

    @requires()
    def contrasts(
        self,
        variables: Variables,
        at: Any = "overall",
        *,
        comparison: str = "difference",
        contrast: str = "pairwise",
        adjust: str = "none",
        by: Any = None,
        which: str = "mean",
        weights: Any = "proportional",
        newdata: Any = None,
        freq_weights: Any = None,
        vcov: str | None = None,
        seed: int = 0,
    ) -> Contrasts:
        """Contrasts of adjusted predictions: differences, ratios or odds ratios, with simultaneous inference.

        Parameters
        ----------
        variables, at, by, which, weights, newdata, freq_weights, vcov
            As in `predictions`; `vcov="unconditional"` has the factor N/(N-1), of clusters G/(G-1), of `get_margeff`.
        comparison, contrast, adjust, seed
            As in `AdjustedPredictions.contrasts`.

        Returns
        -------
        Contrasts
            `estimate, se, tvalues, pvalues, conf_int(alpha), summary_frame(alpha)`.
        """
        rows = {"weights": weights, "newdata": newdata, "freq_weights": freq_weights}
        found = self.predictions(variables, at, by=by, which=which, **rows, vcov=vcov)
        return found.contrasts(comparison=comparison, contrast=contrast, adjust=adjust, seed=seed)

    @requires(Needs.BINARY, Needs.SPREAD)
    def inverse_predict(
        self, p: Any, variable: str, at: Mapping[str, Any] | None = None, alpha: float = 0.05, method: str = "fieller"
    ) -> pd.DataFrame:
        """Inverse prediction: the value of a variable at which the event has probability p (effective dose, threshold).

        It is for binary models.

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
            Another model, whose probabilities of a class need not rise or fall with a variable; a variable in
            several functions (a polynomial, a spline) or in one that is not monotone, or a factor.
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
