"""Tables of tests of means and of normality: MANOVA, F-to-remove, tests of terms, distances, Mardia's coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy.special import chdtrc

from glmclf.core.gaussian.fit import Gaussian
from glmclf.core.gaussian.moments import ClassMoments
from glmclf.inference.generative import discriminant as diagnostics
from glmclf.inference.generative.means import FeatureTest, Manova
from glmclf.inference.generative.normality import Mardia


def manova_table(found: Manova) -> pd.DataFrame:
    """Table of Wilks, Pillai, Hotelling-Lawley and Roy; Bartlett's test in ``attrs``."""
    tests = {
        "Wilks' lambda": found.wilks,
        "Pillai's trace": found.pillai,
        "Hotelling-Lawley trace": found.hotelling_lawley,
        "Roy's greatest root": found.roy,
    }
    columns = ["statistic", "F", "df1", "df2", "pvalue"]
    table = pd.DataFrame([[getattr(t, c) for c in columns] for t in tests.values()], columns=columns)
    table.index = pd.Index(tests, dtype=object)
    bartlett = found.bartlett
    table.attrs["bartlett"] = {"statistic": bartlett.statistic, "df": bartlett.df, "pvalue": bartlett.pvalue}
    return table


def removal_table(terms: dict[str, list[int]], tests: list[FeatureTest], tolerance: ndarray) -> pd.DataFrame:
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
    within, total = moments.sums_of_squares(True)[1][0], moments.total_squares
    null = moments.n * np.log(total / moments.n)
    if law.pooled:
        statistic, df = null - moments.n * np.log(within / moments.n), moments.K - 1
    else:
        own = moments.class_squares / moments.counts[:, None]
        statistic, df = null - moments.counts @ np.log(own), 2 * (moments.K - 1)
    return term_ratio_table(statistic, np.full(len(statistic), df), terms)


def term_ratio_table(statistic: ndarray, df: ndarray, terms: dict[str, list[int]]) -> pd.DataFrame:
    """Likelihood ratio tests of terms, from the statistic and the degrees of freedom of each feature."""
    rows = [(float(statistic[at].sum()), int(df[at].sum())) for at in terms.values()]
    table = pd.DataFrame(rows, index=pd.Index(terms, dtype=object), columns=["statistic", "df"])
    return table.assign(pvalue=chdtrc(table.df, np.maximum(table.statistic, 0.0)))


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


def mardia_table(m: Mardia) -> pd.DataFrame:
    """Skewness, with its small-sample form, and kurtosis."""
    rows = {
        "skewness": (m.b1, m.skew.statistic, m.skew.df, m.skew.pvalue),
        "skewness (small sample)": (m.b1, m.skew_small.statistic, m.skew_small.df, m.skew_small.pvalue),
        "kurtosis": (m.b2, m.z, np.nan, m.kurtosis_pvalue),
    }
    table = pd.DataFrame(list(rows.values()), columns=["coefficient", "statistic", "df", "pvalue"])
    return table.set_axis(pd.Index(rows, dtype=object))
