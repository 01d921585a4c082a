"""Tables of LDA and QDA: names of quadratic terms, canonical functions, distances, error rates, the ladder of laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.discriminant.quadratic import monomials
from glmclf.core.gaussian.fit import (
    Gaussian,
    SingularDispersion,
    conditional_loglikelihood,
    fit_gaussian,
    loglikelihood,
    n_parameters,
)
from glmclf.core.gaussian.moments import ClassMoments
from glmclf.core.rows.asked import named
from glmclf.errors import DataWarning, EstimationError, InferenceWarning, warn
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.inference.generative import manova
from glmclf.inference.hypotheses import wald
from glmclf.results.comparison.comparability import check_values, different_data, matching
from glmclf.results.generative import lr_test as nested_laws
from glmclf.results.requires import Needs, check_needs
from glmclf.results.tables.frames import notebook

LARGEST_ROBUST = 12_000  # coefficients of which a robust covariance is formed: 1.2 GB


# ------------------------------------------------------------------------------------------------ implied logit
def quadratic_names(names: list[str], terms: dict[str, list[int]], kind: str) -> tuple[list[str], dict[str, list[int]]]:
    """Regressors of a quadratic logit, and the places of each term's: x, its squares, its products with others.

    Parameters
    ----------
    names : list of str
        The constant, then the features.
    terms : dict
        Features of each term.
    kind : {"full", "diag", "spherical"}
    """
    constant, features = names[0], names[1:]
    if kind == "spherical":
        square = [f"|{','.join(features)}|^2"] if len(features) < 4 else ["|x|^2"]
        places = {constant: [0], **{t: [j + 1 for j in at] for t, at in terms.items()}}
        return [*names, *square], {**places, square[0]: [len(names)]}
    pairs = _products(kind, len(features))
    products = [f"{features[i]}^2" if i == j else f"{features[i]}:{features[j]}" for i, j in pairs]
    places = {constant: [0]}
    for term, at in terms.items():
        inside = set(at)
        squares = [len(names) + m for m, pair in enumerate(pairs) if inside & set(pair)]
        places[term] = [*(j + 1 for j in at), *squares]
    return [*names, *products], places


def _products(kind: str, p: int) -> list[tuple[int, int]]:
    """Features i <= j of the products x_i x_j, in the order of their coefficients."""
    i, j = (a[p + 1 :] - 1 for a in monomials(kind, p))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def functions(law: Gaussian, D: ndarray) -> ndarray:
    """What the implied logit is linear in, from x minus the centre: 1, x and, if quadratic, products, (n, m)."""
    parts = [np.ones((len(D), 1)), D]
    if not law.pooled:
        if law.kind == "spherical":
            parts.append((D * D).sum(axis=1, keepdims=True))
        else:
            i, j = np.array(_products(law.kind, law.p), dtype=int).reshape(-1, 2).T
            parts.append(D[:, i] * D[:, j])
    return np.hstack(parts)


def function_slopes(law: Gaussian, D: ndarray, d: ndarray) -> ndarray:
    """Derivatives of `functions` where x changes by d, (n, m)."""
    parts = [np.zeros((len(D), 1)), d]
    if not law.pooled:
        if law.kind == "spherical":
            parts.append(2.0 * (D * d).sum(axis=1, keepdims=True))
        else:
            i, j = np.array(_products(law.kind, law.p), dtype=int).reshape(-1, 2).T
            parts.append(d[:, i] * D[:, j] + D[:, i] * d[:, j])
    return np.hstack(parts)


# --------------------------------------------------------------------------------------------------------- tests
def manova_table(found: manova.Manova) -> pd.DataFrame:
    """Wilks, Pillai, Hotelling-Lawley, Roy; Bartlett's test in ``attrs``."""
    tests = {
        "Wilks' lambda": found.wilks,
        "Pillai's trace": found.pillai,
        "Hotelling-Lawley trace": found.hotelling_lawley,
        "Roy's greatest root": found.roy,
    }
    columns = ["statistic", "F", "df1", "df2", "pvalue"]
    table = pd.DataFrame([[getattr(t, c) for c in columns] for t in tests.values()], columns=columns)
    table.index = pd.Index(tests, dtype=object)
    table.attrs["bartlett"] = found.bartlett._asdict()
    return table


def removal_table(terms: dict[str, list[int]], tests: list[manova.FeatureTest], tolerance: ndarray) -> pd.DataFrame:
    """F-to-remove and likelihood ratio of each term."""
    rows = []
    for at, t in zip(terms.values(), tests, strict=True):
        f, lr = t.f_to_remove, t.lr
        alone = tolerance[at[0]] if len(at) == 1 else np.nan
        rows.append([t.partial_lambda, f.F, f.df1, f.df2, f.pvalue, lr.statistic, lr.df, lr.pvalue, alone])
    columns = ["partial_lambda", "F", "df1", "df2", "pvalue", "LR", "LR_df", "LR_pvalue", "tolerance"]
    return pd.DataFrame(rows, index=pd.Index(terms, dtype=object), columns=columns)


def independent_term_tests(moments: ClassMoments, law: Gaussian, terms: dict[str, list[int]]) -> pd.DataFrame:
    """Likelihood ratio of each term where features are independent within classes ("diag")."""
    if law.kind == "spherical":
        raise NotImplementedError(
            'term_tests() with covariance="spherical": one variance serves all features, which cannot be tested one by '
            "one; use wald_test_terms()"
        )
    within, total = np.diagonal(moments.within), np.diagonal(moments.total)
    null = moments.n * np.log(total / moments.n)
    if law.pooled:
        statistic, df = null - moments.n * np.log(within / moments.n), moments.K - 1
    else:
        own = np.diagonal(moments.scatter, axis1=1, axis2=2) / moments.counts[:, None]
        statistic, df = null - moments.counts @ np.log(own), 2 * (moments.K - 1)
    rows = [(float(statistic[at].sum()), df * len(at)) for at in terms.values()]
    table = pd.DataFrame(rows, index=pd.Index(terms, dtype=object), columns=["statistic", "df"])
    return table.assign(pvalue=chdtrc(table.df, np.maximum(table.statistic, 0)))


def lr_test(larger: Any, smaller: Any):
    """Likelihood ratio test of a law nested in another, on the same features and rows."""
    joint = getattr(smaller, "_joint_law", None)
    if joint == "independent":
        return nested_laws.lr_test(larger, smaller)
    if joint != "normal":
        raise TypeError(
            f"compare_lr_test needs a fit of LDA, QDA or NaiveBayes, found {type(smaller).__name__}: joint likelihoods "
            "do not compare with conditional ones; use compare_conditional"
        )
    for which, res in (("this", larger), ("restricted", smaller)):
        check_needs(res, f"compare_lr_test ({which} model)", Needs.LIKELIHOOD)
    differ = different_data(larger, smaller)
    if differ:
        raise ValueError(f"the two models were fitted to different data: their {', '.join(differ)} differ")
    if {*larger.feature_names} != {*smaller.feature_names}:
        raise ValueError(
            f"the models have different features ({larger.feature_names}; {smaller.feature_names}): densities of other "
            "variables do not compare. term_tests() tests features"
        )
    check_values(larger, smaller, "compare_lr_test()")
    nested_laws.check_priors(larger, smaller)
    a, b = nested_laws.of_normals(larger), nested_laws.of_normals(smaller)
    df = larger.k_params - smaller.k_params
    if not nested_laws.holds(a, b) or df <= 0:
        raise ValueError(
            f"a covariance that is {nested_laws.words(b)} is not nested in one that is {nested_laws.words(a)}"
        )
    statistic = max(2 * (larger.llf - smaller.llf), 0.0)
    return wald.LRTest(statistic, float(chdtrc(df, statistic)), df)


def _matched(a: Any, b: Any) -> list[int]:
    """Places of a's classes among b's, whose reference and names may differ."""
    return matching(a, b) or [b.model._classes.index(level) for level in a.model._classes]


def distance_table(found: diagnostics.Mahalanobis, levels: list[Any], order: list[int]) -> pd.DataFrame:
    """Squared distances of all pairs of levels."""
    rows, labels = [], []
    for a, level in enumerate(levels):
        for b in range(a):
            i, j = order[a], order[b]
            D2, F, p, unbiased = (m[i, j] for m in (found.squared, found.F, found.pvalue, found.unbiased))
            rows.append([D2, F, found.df1, found.df2, p, unbiased])
            labels.append((level, levels[b]))
    index = pd.MultiIndex.from_tuples(labels, names=["level", "other"])
    return pd.DataFrame(rows, index=index, columns=["D2", "F", "df1", "df2", "pvalue", "D2_unbiased"])


def mardia_table(m: manova.Mardia) -> pd.DataFrame:
    """Skewness, with its small-sample form, and kurtosis."""
    rows = {
        "skewness": (m.b1, m.skew.statistic, m.skew.df, m.skew.pvalue),
        "skewness (small sample)": (m.b1, m.skew_small.statistic, m.skew_small.df, m.skew_small.pvalue),
        "kurtosis": (m.b2, m.z, np.nan, m.kurtosis_pvalue),
    }
    table = pd.DataFrame(list(rows.values()), columns=["coefficient", "statistic", "df", "pvalue"])
    return table.set_axis(pd.Index(rows, dtype=object))


class CanonicalTables:
    """Canonical discriminant functions with their names.

    Attributes
    ----------
    eigenvalues, correlations, proportions : Series
        By function.
    raw, standardised, structure : DataFrame
        Coefficients of x - mean; these times the standard deviation within classes; correlations of features and
        functions within classes. Rows are features, columns functions.
    centroids : DataFrame
        Scores of the class means, a row a level.
    tests : DataFrame
        For each function: are it and all after it zero? Bartlett's chi-squared.
    """

    def __init__(self, found: manova.Canonical, res: Any):
        self._found, self._res = found, res
        functions = pd.Index([f"CAN{j + 1}" for j in range(len(found.eigenvalues))], dtype=object)
        names = res.feature_names
        self.eigenvalues = pd.Series(found.eigenvalues, index=functions)
        self.correlations = pd.Series(found.correlations, index=functions)
        self.proportions = pd.Series(found.proportions, index=functions)
        self.raw, self.standardised, self.structure = (
            pd.DataFrame(a, index=names, columns=functions) for a in (found.raw, found.standardised, found.structure)
        )
        rows = pd.Index(res.levels, dtype=object)
        self.centroids = pd.DataFrame(found.centroids[res.model._order], index=rows, columns=functions)
        columns = ["statistic", "df", "pvalue"]
        self.tests = pd.DataFrame(list(found.tests), columns=columns, index=functions[: len(found.tests)])

    @named
    def scores(self, newdata=None) -> pd.DataFrame:
        """Values of the functions, (x - mean)' raw, by row; NaN for a row with a missing feature.

        Parameters
        ----------
        newdata : DataFrame, array_like, optional
            By default the rows of the fit.

        Returns
        -------
        DataFrame
            A column a function.
        """
        values, index = self._res._values(newdata)
        return pd.DataFrame(self._found.scores(values), index=index, columns=self.eigenvalues.index)

    def _functions(self) -> pd.DataFrame:
        table = pd.DataFrame(
            {"eigenvalue": self.eigenvalues, "proportion": self.proportions, "correlation": self.correlations}
        )
        return table.join(self.tests)

    def __repr__(self) -> str:
        return f"{self._functions()}\n\nstandardised coefficients\n{self.standardised}"

    def _repr_html_(self) -> str:
        return notebook(self._functions(), "standardised coefficients", self.standardised)


# --------------------------------------------------------------------------------------------------- error rates
def error_facts(found: diagnostics.ErrorRates) -> dict[str, Any]:
    """Error counts as plain numbers, to be kept."""

    def of(c: diagnostics.ErrorCounts | None) -> dict[str, Any] | None:
        return (
            None if c is None else {"confusion": c.confusion.tolist(), "skipped": c.skipped.tolist(), "score": c.score}
        )

    return {
        "resubstitution": of(found.resubstitution),
        "leave-one-out": of(found.leave_one_out),
        "largest": found.largest.tolist(),
        "n": found.n,
        "priors": found.priors.tolist(),
    }


def warn_skipped(facts: dict[str, Any], classes: list[Any]) -> None:
    """Say which classes have rows that cannot be left out."""
    left = facts["leave-one-out"]
    if left is None or not any(left["skipped"]):
        return
    parts = ", ".join(f"{c!r}: {n:g}" for c, n in zip(classes, left["skipped"], strict=True) if n)
    warn(
        f"leaving one out, some rows' classes have no law without them ({parts}): they are left aside",
        InferenceWarning,
    )


class ErrorTables:
    """Error rates of a classifier's decisions, by method.

    Attributes
    ----------
    rates : DataFrame
        Rows resubstitution, leave-one-out (NaN where it is not available) and posterior: error, the share of wrong
        decisions; n_errors; log_score, the sum of log p(y | x); skipped.
    by_class : DataFrame
        Error of each level, a column a method.
    confusion : dict of DataFrame
        Decisions (columns) by level (rows).
    """

    def __init__(self, facts: dict[str, Any], res: Any):
        o, levels = np.array(res.model._order), pd.Index(res.levels, dtype=object)
        self.confusion, rows, by_class = {}, {}, {}
        for method in ("resubstitution", "leave-one-out"):
            kept = facts[method]
            if kept is None:
                rows[method] = [np.nan] * 4
                continue
            table = np.array(kept["confusion"])[np.ix_(o, o)]
            wrong, n = table.sum() - np.trace(table), table.sum()
            rate = wrong / n if n else np.nan
            rows[method] = [rate, wrong, kept["score"], float(np.sum(kept["skipped"]))]
            with np.errstate(invalid="ignore", divide="ignore"):
                by_class[method] = 1 - np.diag(table) / table.sum(axis=1)
            observed, decided = levels.rename("observed"), levels.rename("predicted")
            self.confusion[method] = pd.DataFrame(table, index=observed, columns=decided)
        largest, n, priors = np.array(facts["largest"]), facts["n"], np.array(facts["priors"])
        rows["posterior"] = [1 - largest.sum() / n, np.nan, np.nan, 0.0]
        by_class["posterior"] = (1 - largest / (n * priors))[o]
        self.rates = pd.DataFrame.from_dict(rows, orient="index", columns=["error", "n_errors", "log_score", "skipped"])
        self.by_class = pd.DataFrame(by_class, index=levels)

    def __repr__(self) -> str:
        return repr(self.rates)

    def _repr_html_(self) -> str:
        return notebook(self.rates)


# --------------------------------------------------------------------------------------------------------- ladder
LAWS = (
    ("spherical, pooled", "spherical", True, None),
    ("diagonal, pooled", "diag", True, "spherical, pooled"),
    ("full, pooled (LDA)", "full", True, "diagonal, pooled"),
    ("spherical, by class", "spherical", False, "spherical, pooled"),
    ("diagonal, by class (naive Bayes)", "diag", False, "diagonal, pooled"),
    ("full, by class (QDA)", "full", False, "full, pooled (LDA)"),
)


def ladder(res: Any) -> pd.DataFrame:
    """The six laws of the same features, each against the one that it contains."""
    f, model = res._fitted_classes, res.model
    blocks, rows, fits = model._blocks(), {}, {}
    for name, kind, pooled, below in LAWS:
        try:
            law = fit_gaussian(f.moments, kind, pooled, **res._prior_options)
        except (SingularDispersion, ValueError):
            rows[name] = [np.nan] * 9
            continue
        llf, k = loglikelihood(f.moments, law), n_parameters(law)
        fits[name] = (llf, k)
        test = [np.nan] * 3
        if below in fits:
            statistic, df = max(2 * (llf - fits[below][0]), 0.0), k - fits[below][1]
            test = [statistic, df, float(chdtrc(df, statistic)) if df > 0 else np.nan]
        error = np.nan
        left = diagnostics.error_rates(law, blocks, moments=f.moments).leave_one_out
        if left is not None:
            error = float(left.rate)
        bic = k * np.log(f.moments.n) - 2 * llf
        rows[name] = [llf, k, 2 * k - 2 * llf, bic, *test, conditional_loglikelihood(blocks, law), error]
    columns = ["llf", "k_params", "aic", "bic", "LR", "df", "pvalue", "llf_conditional", "error_loo"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    try:
        table.attrs["box_m"] = res.boxm_test().to_dict()
    except EstimationError as error:
        table.attrs["box_m"] = str(error)
    return table


def warn_dummies(dummies: list[str]) -> None:
    """A normal law does not draw zeros and ones."""
    if dummies:
        warn(
            f"dummy columns are modelled as Gaussian: {', '.join(dummies)} of sample() hold other values than 0 and 1",
            DataWarning,
        )
