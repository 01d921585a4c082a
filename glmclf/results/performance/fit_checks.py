"""Checks of a fit: the estimate, calibration, residuals, influence, overlap of regressors and discrimination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import bdtrc, chdtrc, ndtr

from glmclf.inference.generative.means import tolerances
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.inference.performance.calibration import bins_of
from glmclf.inference.residuals.uniform import PLACES, averaged_transform, kolmogorov_smirnov
from glmclf.results.performance.findings import (
    FINE,
    LOOK,
    P_SAYS,
    PROBLEM,
    SMALL_DISTANCE,
    UNLESS_CLOSE,
    Finding,
    Inspection,
    check_rows,
    holm,
    judged,
    p_words,
    tested,
    up_to,
)
from glmclf.results.performance.rows import scored_rows
from glmclf.results.requires import Kind, Needs, check_needs, is_of
from glmclf.results.tables.numbers import value_text, with_minus

SMALL_DEVIATION = 0.05  # mean deviation of shares, of the rarer outcome's share, that changes no decision
UNLESS_SMALL = f", unless shares deviate by less than {100 * SMALL_DEVIATION:g} % on average"
SMALL_SLOPE = 0.05  # deviation of a calibration slope from 1 that changes no decision
MAX_BINS = 20
BINS_OF_LEVELS = 10  # of each of several levels, and of each regressor
MAX_BINNED = 5e8  # numbers that are binned: a minute
MAX_GOF_NUMBERS = 1e7  # coefficients of the log-odds times rows, of the test of a generative model: seconds
LEAST_VALUES = 5  # distinct values of a number from which it is binned
COOK_LOOK, COOK_PROBLEM = 0.5, 1.0
VIF_LOOK, VIF_PROBLEM = 5.0, 10.0
SHRINKS = "a penalty shrinks the predictions of the fit's own rows on purpose; validate() judges it"
MAX_INFLATED = 200  # terms whose variance inflation a check computes
LEAST_SHRINKAGE = 0.9


def regressions_only(c: Inspection, panel: str, instead: str) -> Any:
    """The result, unless it is of a generative model."""
    if hasattr(c.results, "discriminant"):
        raise NotImplementedError(f"{panel} is of regressions; {type(c.results.model).__name__} has {instead}")
    return c.results


# ------------------------------------------------------------------------------------------------------- calibration
def calibration(c: Inspection) -> list[Finding]:
    """Bins of the predicted probabilities, goodness of fit, slope, link and shrinkage."""
    res = c.results
    several = len(res._judged_levels) > 2
    bins = BINS_OF_LEVELS if several else int(np.clip(np.sqrt(res.nobs), 4, MAX_BINS))
    found = res.calibration(bins)
    curve = found.curve_frame(c.alpha)
    c.drawn["calibration"] = {"curve": curve, "smooth": found.smooth_frame(), "levels": found.levels}
    off = _deviation(curve)
    small = off < SMALL_DEVIATION
    rest = [
        *c.optional("goodness of fit", lambda: _goodness_of_fit(res, small)),
        *c.optional("calibration slope", lambda: _slope(res, found, c.alpha)),
        *c.optional("link", lambda: _link(res, small)),
        *c.optional("shrinkage", lambda: _shrinkage(res)),
    ]
    findings = [_bins(curve, off, c.alpha), *rest]
    if not getattr(res, "_priors_free", True):
        return without_verdict(findings, "the priors were given, and the rows have other shares")
    return without_verdict(findings, SHRINKS) if is_of(res, Kind.NOT_REFIT) else findings


def without_verdict(findings: list[Finding], why: str) -> list[Finding]:
    """Findings without a verdict, as they say nothing about whether the fit is right."""
    return [f._replace(verdict="", threshold=f"none: {why}") for f in findings]


def _deviation(curve: pd.DataFrame) -> float:
    """Mean deviation of observed shares from predicted ones, over the share of the rarer outcome; the largest."""
    parts = [curve] if curve.index.nlevels == 1 else [part for _, part in curve.groupby(level=0, sort=False)]
    found = []
    for t in parts:
        share = float(t.n @ t.observed / t.n.sum())
        found.append(_mean_deviation(t.n, t.observed - t.predicted, min(share, 1 - share)))
    return float(np.nanmax(found)) if np.isfinite(found).any() else np.nan


def _bins(curve: pd.DataFrame, off: float, alpha: float) -> Finding:
    rounding = 1e-9
    inside = (curve.lower <= curve.predicted + rounding) & (curve.upper >= curve.predicted - rounding)
    n, out = len(curve), int((~inside).sum())
    p = float(bdtrc(out - 1, n, alpha)) if out else 1.0
    words = f"{n - out} of {n} bins cover the prediction"
    says = f"more outside of their {100 * (1 - alpha):g} % intervals than by chance: {P_SAYS}{UNLESS_SMALL}"
    return tested("bins", words, (n - out) / n, p, off < SMALL_DEVIATION, says, "Gelman & Hill 2007, section 5.6")


def _goodness_of_fit(res: Any, small: bool) -> Finding:
    if hasattr(res, "discriminant"):
        if res._logit_form().coefficients.size * res.nobs > MAX_GOF_NUMBERS:
            raise ValueError("goodness of fit of so many coefficients and rows takes long: ask gof_test() for it")
        test, name, source = res.gof_test().loc["groups of risk"], "groups of risk", "Andrews 1988"
        statistic, p = test["statistic"], float(test["pvalue"])
    else:
        from glmclf.results.comparison.conditional import with_rows
        from glmclf.results.diagnostics.goodness_of_fit import risk_group_test

        check_needs(res, "gof_test", Needs.MAXIMUM, Needs.LIKELIHOOD)
        tests = risk_group_test(with_rows(res), 10)
        if np.isnan(tests["Pearson"][2]):
            name, source = res._risk_test, "Hosmer & Lemeshow 1980; Fagerland, Hosmer & Bofin 2008"
        else:  # patterns have several observations each
            name, source = "Pearson", "McCullagh & Nelder 1989, section 4.4"
        statistic, _, p, _ = tests[name]
    if np.isnan(p):
        raise ValueError(f"{name} has no degrees of freedom: the groups of risk are too few, or the model is saturated")
    return tested("goodness of fit", f"{name} {p_words(p)}", statistic, p, small, f"{P_SAYS}{UNLESS_SMALL}", source)


def _slope(res: Any, found: Any, alpha: float) -> Finding:
    if not hasattr(res, "discriminant") and not is_of(res, Kind.CONSTRAINED):
        raise NotImplementedError(
            "calibration slope: in the rows of the fit it is 1 by construction, or larger as a penalty or a bias "
            "reduction shrinks on purpose; validate() has the one to expect in new rows"
        )
    slopes, se = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (found.slope, found.slope_se))
    p = holm(2 * ndtr(-np.abs((slopes - 1) / se)))
    if not np.isfinite(p).any():
        raise ValueError("no slope: probabilities are 0 and 1, or all alike")
    k = int(np.nanargmin(p))
    table = found.summary_frame(alpha)
    row = table.loc[(found.levels[k], "slope")] if table.index.nlevels > 1 else table.loc["slope"]
    of = f" of {value_text(found.levels[k])}:" if len(slopes) > 1 else ""
    words = f"calibration slope{of} {slopes[k]:.2f} ({row.lower:.2f} to {row.upper:.2f})"
    return Finding(
        "calibration slope", words.replace("-", "\N{MINUS SIGN}"), float(slopes[k]), float(p[k]),
        judged(float(p[k]), abs(slopes[k] - 1) < SMALL_SLOPE),
        f"differs from 1: {P_SAYS}, unless by less than {SMALL_SLOPE:g}", "Cox 1958; Steyerberg 2019, section 15.3",
    )  # fmt: skip


def _link(res: Any, small: bool) -> Finding | None:
    if hasattr(res, "discriminant"):
        return None
    table = res.linktest()
    rows = table if table.index.nlevels == 1 else table.swaplevel()
    z, p = np.atleast_1d(rows.loc["_hatsq", "z"]), np.atleast_1d(rows.loc["_hatsq", "P>|z|"]).astype(float)
    adjusted = holm(p)
    k = int(np.nanargmin(adjusted))
    says = f"{P_SAYS} of the squared linear predictor{UNLESS_SMALL}"
    return tested("link", f"link test {p_words(adjusted[k])}", z[k], adjusted[k], small, says, "Pregibon 1980")


def _shrinkage(res: Any) -> Finding | None:
    if hasattr(res, "discriminant"):
        return None
    check_needs(res, "shrinkage", Needs.MLE, Needs.LIKELIHOOD, Needs.UNCONSTRAINED)
    if not res.df_model > 0:
        return None
    s = 1.0 - res.df_model / res.llr if res.llr > res.df_model else 0.0
    return Finding(
        "shrinkage", f"slope to expect in new rows {s:.2f}", s, np.nan, FINE if s >= LEAST_SHRINKAGE else LOOK,
        f"1 - df / LR below {LEAST_SHRINKAGE:g}: the fit is more extreme than new rows will be",
        "van Houwelingen & le Cessie 1990; Riley et al. 2019",
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------- regressors
def regressors(c: Inspection) -> list[Finding]:
    """Binned residuals against each number in the data; that of the smallest p-value is drawn."""
    res = regressions_only(c, "regressors", "features")
    check_rows(res)
    source, rows = res._margin_source(), scored_rows(res)
    table, whole = source.table(), source.fit_table()
    for name in [source.offset_name, *source.offset_columns]:
        if name in whole:
            table = table.assign(**{name: whole[name].array})
    numbers = [v for v in table if pd.api.types.is_numeric_dtype(table[v].dtype) and source.levels_of(v, table) is None]
    levels = res._judged_levels
    shown = [res._event_place] if len(levels) == 2 else range(len(levels))
    if len(numbers) * len(shown) * len(table) > MAX_BINNED:
        raise ValueError(f"regressors: {len(numbers):,} numbers in {len(table):,} rows are too many to bin unasked")
    found: dict[tuple[str, Any], pd.DataFrame] = {}
    for name in numbers:
        x = table[name].to_numpy(dtype=float, na_value=np.nan)
        if not np.isfinite(x).all() or len(np.unique(x)) < LEAST_VALUES:
            continue
        for k in shown:
            found[name, levels[k]] = binned_residuals(x, rows.p[:, k], rows.of(k), BINS_OF_LEVELS)
    if not found:
        raise ValueError(f"regressors: no number with {LEAST_VALUES} values or more is in the data")
    stats = [_chi_square(t) for t in found.values()]
    p = holm(np.array([chdtrc(df, chi2) if df else np.nan for chi2, df in stats]))
    if not np.isfinite(p).any():
        raise ValueError("regressors: probabilities are 0 and 1, so that residuals have no variance")
    i = int(np.nanargmin(p))
    (name, level), (chi2, _) = list(found)[i], stats[i]
    within, sizes = found[name, level], rows.of(levels.index(level)).sizes
    small = _mean_deviation(within.n, within.residual, float(sizes.min() / sizes.sum())) < SMALL_DEVIATION
    c.drawn["regressors"] = {"name": name, "level": level, "bins": within, "all": found}
    inside = int((within.z.abs() <= 2).sum())
    words = f"{inside} of {len(within)} bins of {name} within 2 se ({p_words(p[i])})"
    says = f"chi-squared of the bins of a regressor, at most, by Holm's method: {P_SAYS}{UNLESS_SMALL}"
    finding = tested("regressors", words, chi2, p[i], small, says, "Gelman & Hill 2007, section 5.6")
    return without_verdict([finding], SHRINKS) if is_of(res, Kind.NOT_REFIT) else [finding]


def binned_residuals(x: ndarray, p: ndarray, outcomes: ObservedOutcomes, bins: int) -> pd.DataFrame:
    """Observed less predicted shares by bins of x, with standard errors that the probabilities imply.

    Rows that are units of sampling (sampling weights, fractions) have those of their own residuals.

    Returns
    -------
    DataFrame
        Columns x (mean), n, residual, se, z.
    """
    code = bins_of(x, outcomes, bins, "quantile")
    m = outcomes.totals.sum(axis=1)
    observed = outcomes.totals[:, 1]
    if outcomes.rowwise:
        power = np.ones(len(x)) if outcomes.weights is None else outcomes.powers
        own = outcomes.counts.sum(axis=1)
        variance = power * (outcomes.counts[:, 1] - own * p) ** 2
    else:
        variance = m * p * (1 - p)
    n = np.bincount(code, m)
    se = np.sqrt(np.bincount(code, variance)) / n
    residual = np.bincount(code, observed - m * p) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(se > 0, residual / se, np.nan)
    return pd.DataFrame({"x": np.bincount(code, m * x) / n, "n": n, "residual": residual, "se": se, "z": z})


def _chi_square(bins: pd.DataFrame) -> tuple[float, int]:
    z = bins.z.dropna()
    return float(z @ z), len(z)


def _mean_deviation(n: pd.Series, deviations: pd.Series, rarer: float) -> float:
    """Mean deviation of shares, over the share of the rarer outcome."""
    return float(n @ deviations.abs() / n.sum()) / rarer if rarer > 0 else np.nan


# --------------------------------------------------------------------------------------------------------- residuals
def residuals(c: Inspection) -> list[Finding]:
    """Quantile residuals, and the distance of their law, over all draws, from the normal law."""
    from glmclf.results.diagnostics.residuals import transform_bounds

    res = c.results
    c.drawn["residuals"] = res.resid_quantile(c.generator)
    low, high = transform_bounds(res)
    known = np.isfinite(low.to_numpy()).all(axis=1)
    laws = [averaged_transform(low[k].to_numpy()[known], high[k].to_numpy()[known]) for k in low]
    found = [float(np.abs(law - PLACES).max()) for law in laws]
    D, n = max(found), int(known.sum())
    p = min(1.0, len(found) * kolmogorov_smirnov(D, n))
    words, says = f"{up_to(D)} from normal ({p_words(p)})", f"Kolmogorov-Smirnov: {P_SAYS}{UNLESS_CLOSE}"
    source = "Dunn & Smyth 1996; Czado, Gneiting & Held 2009"
    return [tested("residuals", words, D, p, D < SMALL_DISTANCE, says, source)]


# --------------------------------------------------------------------------------------------------------- influence
def influence(c: Inspection) -> list[Finding]:
    """Cook's distances and leverages."""
    res = regressions_only(c, "influence", "distances, or leave_one_out()")
    found = res.get_influence()
    cooks, h = found.cooks_distance[0], found.hat_matrix_diag
    c.drawn["influence"] = pd.DataFrame({"leverage": h, "cooks": cooks})
    alone = int(cooks.isna().sum())
    if alone == len(cooks):
        raise ValueError("influence: no row has an estimate without it")
    if not cooks.max() > 0:
        raise ValueError(f"influence: no row moves the estimate ({res.separation or 'all are fitted exactly'})")
    place = int(np.nanargmax(cooks.to_numpy()))
    D = float(cooks.iloc[place])
    verdict = PROBLEM if D >= COOK_PROBLEM else LOOK if D >= COOK_LOOK or alone else FINE
    words = f"Cook's distance up to {with_minus(D, 2)} (row {value_text(cooks.index[place])})"
    if alone:
        words += f", {alone:,} row{'s' if alone > 1 else ''} that a coefficient cannot do without"
    says = f"Cook's distance from {COOK_LOOK:g}, {COOK_PROBLEM:g}; a row of leverage one"
    return [Finding("influence", words, D, np.nan, verdict, says, "Cook & Weisberg 1982; Pregibon 1981")]


# ------------------------------------------------------------------------------------------------------ collinearity
def collinearity(c: Inspection) -> list[Finding]:
    """Variance inflation, on the scale of one coefficient."""
    res = c.results
    if hasattr(res, "discriminant"):
        factors, of = _of_features(res), "features within classes"
    elif len(res.model._terms) > MAX_INFLATED:
        raise ValueError(f"collinearity of {len(res.model._terms):,} terms takes a factorisation each: vif() has them")
    else:
        try:
            table, of = res.vif(), "estimates"
        except NotImplementedError:  # penalised, constrained, separated
            table, of = res.vif(of="design"), "columns"
        factors = table["GVIF^(1/(2df))"] ** 2
    lost, factors = factors.index[factors.isna()], factors.dropna()
    if len(factors) < 2:
        raise ValueError("collinearity: there are no two terms that could overlap")
    c.drawn["collinearity"] = {"vif": factors, "of": of}
    v, name = float(factors.max()), factors.idxmax()
    verdict = PROBLEM if v >= VIF_PROBLEM else LOOK if v >= VIF_LOOK else FINE
    words = f"variance inflation up to {with_minus(v)} ({name})"
    if len(lost):
        words += f", {len(lost)} without one"
    says = f"inflation of a term's variance, GVIF^(1/df), from {VIF_LOOK:g}, {VIF_PROBLEM:g}"
    source = "Fox & Monette 1992; James et al. 2021, section 3.3.3; with caution, O'Brien 2007"
    return [Finding("collinearity", words, v, np.nan, verdict, says, source)]


def _of_features(res: Any) -> pd.Series:
    if not hasattr(res, "f_to_remove") or not res._law.pooled or res._law.kind != "full":
        raise NotImplementedError(f"collinearity of {type(res.model).__name__}: each class has a covariance of its own")
    check_needs(res, "f_to_remove", Needs.LIKELIHOOD)
    found = tolerances(res._fitted_classes.moments, res._within_root)
    return pd.Series(1 / found, index=pd.Index(res.feature_names, dtype=object))


# --------------------------------------------------------------------------------------------------------------- ROC
def roc(c: Inspection) -> list[Finding]:
    """Areas under ROC curves, which say how well classes are told apart and not whether the fit is right."""
    found = c.results.roc()
    low, high = found.conf_int(c.alpha)
    curves = {level: found.curve(level) for level in found.table.index} if hasattr(found, "table") else None
    c.drawn["roc"] = {found.event: found} if curves is None else curves
    ends = "" if np.isnan(low) else f" ({low:.2f} to {high:.2f})"
    words = f"{'AUC' if curves is None else 'M, the mean AUC of pairs,'} {found.auc:.2f}{ends}"
    return [Finding("roc", words, float(found.auc), np.nan, "", "none: no test of the fit", "Hand & Till 2001")]


def estimate(c: Inspection) -> list[Finding]:
    """Whether there is a finite maximum, and the solver found it."""
    res = c.results
    separation = getattr(res, "separation", None)
    says, source = "not converged; separated: infinite estimates", "Albert & Anderson 1984"
    if not res.converged:
        return [Finding("estimate", "the fit did not converge", np.nan, np.nan, PROBLEM, says, source)]
    if separation is not None:
        n = int((~np.isfinite(np.asarray(res._theta, dtype=float))).sum())
        words = f"{separation}: {n} estimate{'s are' if n != 1 else ' is'} infinite"
        return [Finding("estimate", words, n, np.nan, LOOK, says, source)]
    return [Finding("estimate", "converged, finite", 0, np.nan, FINE, says, source)]


PANELS: dict[str, Callable[[Inspection], list[Finding]]] = {
    "estimate": estimate,
    "calibration": calibration,
    "regressors": regressors,
    "residuals": residuals,
    "influence": influence,
    "collinearity": collinearity,
    "roc": roc,
}
