"""Results of LDA and QDA: rows left out, laws compared, functions, draws, tables, each against another way to it."""

import functools
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from glmclf import LDA, QDA, Logit, MNLogit, NaiveBayes
from glmclf.errors import DataWarning, EstimationError, InferenceWarning, SingularCovarianceError

LEVELS = ["bus", "car", "walk"]
NAMES = ["x1", "x2"]
FORMULA = "y ~ x1 + x2"
LAWS = {
    "LDA full": (LDA, {}),
    "LDA diag": (LDA, {"covariance": "diag"}),
    "LDA spherical": (LDA, {"covariance": "spherical"}),
    "QDA full": (QDA, {}),
    "QDA diag": (QDA, {"covariance": "diag"}),
    "QDA spherical": (QDA, {"covariance": "spherical"}),
}
laws = pytest.mark.parametrize("law", LAWS)


@functools.cache
def _toy(n=45):
    rng = np.random.default_rng(23)
    y = np.arange(n) % 5 // 2 if n < 100 else rng.choice(3, n, p=[0.4, 0.4, 0.2])
    mixing = np.eye(2) + 0.4 * rng.normal(size=(3, 2, 2))
    X = rng.normal(size=(3, 2))[y] + np.einsum("ip,ipq->iq", rng.normal(size=(n, 2)), mixing[y])
    t = pd.DataFrame(X, columns=NAMES)
    t["y"], t["w"] = np.array(LEVELS)[y], rng.uniform(0.5, 2.0, n)
    t["f"], t["firm"] = rng.integers(1, 4, n), rng.integers(0, 12, n)
    return t


def toy(n=45):
    return _toy(n).copy()


def fit(law, t=None, formula=FORMULA, **keywords):
    model, options = LAWS[law]
    return model.from_formula(formula, toy() if t is None else t, **{**options, **keywords}).fit()


@functools.cache
def fitted(law):
    """A fit of the toy data; treat it as read-only."""
    return fit(law)


def close(a, b, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


# ---------------------------------------------------------------------------------------------------- rows left out
def brute(t, law, res, **keywords):
    """Posteriors of each row from a fit without it, with the priors of the fit."""
    out = []
    for i in range(len(t)):
        rest = t.drop(index=t.index[i])
        out.append(fit(law, rest, priors=res.priors.to_dict(), **keywords).predict(t.iloc[[i]]).iloc[0])
    return pd.DataFrame(out, index=t.index)


@pytest.mark.parametrize(
    ("law", "keywords"),
    [
        *((law, {}) for law in LAWS),
        *(("LDA full", {"divisor": "unbiased"}), ("QDA full", {"divisor": "unbiased"})),
        *(("QDA diag", {"divisor": "unbiased"}), ("LDA full", {"shrinkage": 0.3})),
        *(("QDA full", {"shrinkage": 0.3, "target": "identity"}), ("LDA full", {"ridge": 0.2})),
        ("QDA full", {"shrinkage": 0.2, "ridge": 0.1, "divisor": "unbiased"}),
        ("LDA full", {"shrinkage": 0.3, "target": np.array([[2.0, 0.3], [0.3, 1.0]])}),
        *(("LDA full", {"weights": "w"}), ("QDA full", {"weights": "w"})),
    ],
)
def test_leave_one_out_is_a_refit(law, keywords):
    t = toy()
    res = fit(law, t, **keywords)
    expected = brute(t, law, res, **keywords)
    found = res.leave_one_out()
    close(found, expected, 1e-8)
    assert list(found.index) == list(t.index) and list(found.columns) == LEVELS
    e, w = res.error_rates(), t.w if keywords.get("weights") else pd.Series(1.0, t.index)
    wrong = expected.idxmax(axis=1) != t.y
    row = e.rates.loc["leave-one-out"]
    close([row.n_errors, row.error], [w[wrong].sum(), w[wrong].sum() / w.sum()], 1e-10)
    own = expected.to_numpy()[np.arange(len(t)), [LEVELS.index(v) for v in t.y]]
    close(row.log_score, w @ np.log(own), 1e-8)
    close(e.by_class["leave-one-out"], [w[wrong & (t.y == k)].sum() / w[t.y == k].sum() for k in LEVELS])
    table = pd.crosstab(t.y, expected.idxmax(axis=1), w, aggfunc="sum").reindex(columns=LEVELS).fillna(0)
    close(e.confusion["leave-one-out"], table)


@laws
def test_error_rates(law):
    res, t = fitted(law), toy()
    p, e = res.predict(), res.error_rates()
    wrong = p.idxmax(axis=1) != t.y
    close(e.rates.loc["resubstitution", ["error", "n_errors", "log_score", "skipped"]].astype(float), [
        wrong.mean(), wrong.sum(), res.llf_conditional, 0,
    ])  # fmt: skip
    close(e.confusion["resubstitution"], res.pred_table())
    close(e.by_class["resubstitution"], wrong.groupby(t.y).mean())
    top = p.max(axis=1)
    close(e.rates.loc["posterior", "error"], 1 - top.mean())
    by_class = [1 - top[p.idxmax(axis=1) == k].sum() / (len(t) * res.priors[k]) for k in LEVELS]
    close(e.by_class["posterior"], by_class)
    assert "leave-one-out" in repr(e)


def test_a_class_of_one_row_cannot_be_left_out():
    t = pd.concat([toy().head(30), toy().head(1).assign(y="train", x1=4.0)], ignore_index=True)
    res = fit("LDA full", t)
    p = res.leave_one_out()
    assert p.loc[30].isna().all() and p.drop(index=30).notna().all(axis=None)
    with pytest.warns(InferenceWarning, match="'train': 1"):
        e = res.error_rates()
    assert e.rates.loc["leave-one-out", "skipped"] == 1
    assert e.confusion["leave-one-out"].to_numpy().sum() == 30
    assert np.isnan(e.by_class.loc["train", "leave-one-out"])
    with pytest.raises(SingularCovarianceError, match="'train'"):
        fit("QDA full", t)


def test_pred_table_is_weighted():
    t = toy()
    for law in ("LDA full", "QDA full"):
        res = fit(law, t, freq_weights="f")
        table = pd.crosstab(t.y, res.predict(which="class"), t.f, aggfunc="sum").reindex(columns=LEVELS).fillna(0)
        close(res.pred_table(), table)
        assert res.pred_table().index.name == "observed" and res.pred_table().columns.name == "predicted"


# ------------------------------------------------------------------------------------------------------ laws compared
@pytest.mark.parametrize("keywords", [{}, {"divisor": "unbiased"}, {"priors": "equal"}, {"freq_weights": "f"}])
@pytest.mark.parametrize("law", ["LDA full", "QDA diag"])
def test_ladder(law, keywords):
    """Each rung is that fit; each test that of `compare_lr_test`."""
    table = fit(law, **keywords).ladder()
    rungs = {
        "spherical, pooled": ("LDA spherical", None),
        "diagonal, pooled": ("LDA diag", "LDA spherical"),
        "full, pooled (LDA)": ("LDA full", "LDA diag"),
        "spherical, by class": ("QDA spherical", "LDA spherical"),
        "diagonal, by class (naive Bayes)": ("QDA diag", "LDA diag"),
        "full, by class (QDA)": ("QDA full", "LDA full"),
    }
    assert list(table.index) == list(rungs)
    mle = {name: value for name, value in keywords.items() if name != "divisor"}
    for rung, (name, below) in rungs.items():
        res, row = fit(name, **mle), table.loc[rung]
        expected = [res.llf, res.k_params, res.aic, res.bic, res.llf_conditional]
        close(row[["llf", "k_params", "aic", "bic", "llf_conditional"]].astype(float), expected)
        close(row.error_loo, res.error_rates().rates.loc["leave-one-out", "error"])
        if below is None:
            assert row[["LR", "df", "pvalue"]].isna().all()
        else:
            test = res.compare_lr_test(fit(below, **mle))
            close(row[["LR", "df", "pvalue"]].astype(float), [test.statistic, test.df, test.pvalue], 1e-8)
    close(table.attrs["box_m"]["pvalue"], fit("LDA full", **mle).boxm_test().pvalue)


def test_compare_lr_test():
    table = {
        ("LDA diag", "LDA spherical"): 1,
        ("LDA full", "LDA diag"): 1,
        ("LDA full", "LDA spherical"): 2,
        ("QDA full", "LDA full"): 6,
        ("QDA full", "QDA diag"): 3,
        ("QDA full", "LDA spherical"): 8,
        ("QDA diag", "LDA diag"): 4,
        ("QDA diag", "QDA spherical"): 3,
    }
    for (a, b), df in table.items():
        one, two = fitted(a), fitted(b)
        found = one.compare_lr_test(two)
        statistic = 2 * (one.llf - two.llf)
        close([found.statistic, found.df, found.pvalue], [statistic, df, stats.chi2.sf(statistic, df)], 1e-8)
        close(found, fit(a, reference="walk").compare_lr_test(two), 1e-8)
    for a, b in (
        ("LDA full", "QDA full"),
        ("LDA full", "QDA diag"),
        ("LDA full", "LDA full"),
        ("LDA diag", "LDA full"),
    ):
        with pytest.raises(ValueError, match="not nested"):
            fitted(a).compare_lr_test(fitted(b))


def test_compare_lr_test_refuses():
    t, res = toy(), fitted("QDA full")
    for other, words in (
        (fit("LDA full", t.head(40)), "different data"),
        (fit("LDA full", freq_weights="f"), "weights"),
        (fit("LDA full", weights="w"), "pseudo-likelihood"),
        (fit("LDA full", formula="y ~ x1"), "different features"),
        (fit("LDA full", t.assign(x2=2 * t.x2)), "different features"),
        (fit("LDA full", shrinkage=0.2), "regularised"),
        (fit("LDA full", t.assign(y=t.y.sample(frac=1, random_state=0).to_numpy())), "response"),
    ):
        with pytest.raises(ValueError, match=words):
            res.compare_lr_test(other)
    with pytest.raises(ValueError, match="fixed priors"):
        fit("QDA full", priors="equal").compare_lr_test(fitted("LDA full"))
    with pytest.raises(TypeError, match="compare_conditional"):
        res.compare_lr_test(MNLogit.from_formula(FORMULA, t).fit())
    with pytest.raises(TypeError):
        res.compare_lr_test("LDA")


def conditional(res, other):
    found = res.compare_conditional(other)
    return [found.statistic, found.scale, found.df, found.pvalue, found.penalty, found.aic_conditional, *found.weights]


def test_compare_conditional_with_logit_and_mnlogit():
    t = toy(200)
    two = t[t.y != "walk"]
    res = LDA.from_formula(FORMULA, two).fit()
    expected = conditional(res, MNLogit.from_formula(FORMULA, two).fit())
    close(conditional(res, Logit.from_formula(FORMULA, two, event="car").fit()), expected, 1e-6)
    assert expected[0] > 0 and 0 < expected[3] < 1
    res = LDA.from_formula(FORMULA, t).fit()
    mnlogit = MNLogit.from_formula(FORMULA, t).fit()
    expected = conditional(res, mnlogit)
    close(expected[0], 2 * (mnlogit.llf - res.llf_conditional), 1e-10)
    for reference in LEVELS:
        other = MNLogit.from_formula(FORMULA, t, reference=reference).fit()
        close(conditional(res, other), expected, 1e-6)
        close(conditional(LDA.from_formula(FORMULA, t, reference=reference).fit(), mnlogit), expected, 1e-6)
    assert "chi2" in repr(res.compare_conditional(mnlogit))


def test_compare_conditional_of_arrays_and_repeated_rows():
    t = toy(200)
    repeated = t.loc[t.index.repeat(t.f)].reset_index(drop=True)
    fits = [
        [model.from_formula(FORMULA, d, **k).fit() for model in (LDA, MNLogit)]
        for d, k in ((t, {"freq_weights": "f"}), (repeated, {}))
    ]
    close(conditional(*fits[0]), conditional(*fits[1]), 1e-6)
    scaled = t.assign(x1=1e3 * t.x1 + 5)
    a, b = ([model.from_formula(FORMULA, d).fit() for model in (LDA, MNLogit)] for d in (t, scaled))
    close(conditional(*a), conditional(*b), 1e-5)
    X = t[NAMES].assign(const=1.0)[["const", *NAMES]]
    close(conditional(LDA(t.y, X).fit(), MNLogit(t.y, X).fit()), conditional(*a), 1e-6)


def test_compare_conditional_by_hand():
    """Weights are eigenvalues of I_c Cov(psi_logit - psi_LDA), the latter by the derivatives of refits."""
    t = toy(200)
    t = t[t.y != "walk"].head(60).reset_index(drop=True)
    res, other = LDA.from_formula(FORMULA, t).fit(), Logit.from_formula(FORMULA, t, event="car").fit()
    X, y, w = np.column_stack([np.ones(len(t)), t[NAMES]]), (t.y == "car").to_numpy(), np.ones(len(t))
    p = other.predict(t).to_numpy()
    information = X.T @ (X * (p * (1 - p))[:, None])
    psi_logit = np.linalg.solve(information, (X * (y - p)[:, None]).T).T
    psi_lda = []
    for h in 1e-4 * np.eye(len(t)):
        b = [LDA.from_formula(FORMULA, t, weights=w + s * h).fit().discriminant.params["car"] for s in (1, -1)]
        psi_lda.append((b[0] - b[1]).to_numpy() / 2e-4)
    D = psi_logit - np.array(psi_lda)
    weights = np.sort(np.linalg.eigvals(information @ (D.T @ D)).real)[::-1]
    found = res.compare_conditional(other)
    close(found.weights, weights, 1e-4, 1e-8)
    close([found.scale, found.df], [(weights**2).sum() / weights.sum(), weights.sum() ** 2 / (weights**2).sum()], 1e-4)
    close(found.pvalue, stats.chi2.sf(found.statistic / found.scale, found.df), 1e-8)
    close(found.penalty, np.trace(information @ res.discriminant.cov_params()), 1e-6)


def test_compare_conditional_with_fixed_priors_has_slopes_alone():
    """Whatever the priors: intercepts are those that suit the rows best, found here by an offset."""
    t = toy(200)
    mnlogit = MNLogit.from_formula(FORMULA, t).fit()
    res = LDA.from_formula(FORMULA, t, priors="equal").fit()
    found = res.compare_conditional(mnlogit)
    assert len(found.weights) == 4 and np.isfinite(found.pvalue)
    for priors in ([0.2, 0.3, 0.5], [0.9, 0.05, 0.05]):
        other = LDA.from_formula(FORMULA, t, priors=priors).fit()
        close(conditional(other, mnlogit), conditional(res, mnlogit), 1e-8)
    slopes = t[NAMES].to_numpy() @ res.discriminant.params.loc[NAMES].to_numpy()
    constant = MNLogit.from_formula("y ~ 1", t, offset=slopes).fit()
    close([found.llf_conditional, found.statistic], [constant.llf, 2 * (mnlogit.llf - constant.llf)], 1e-8)
    two = t[t.y != "walk"]
    res, other = LDA.from_formula(FORMULA, two, priors="equal").fit(), MNLogit.from_formula(FORMULA, two).fit()
    expected = conditional(res, other)
    close(conditional(res, Logit.from_formula(FORMULA, two, event="car").fit()), expected, 1e-8)


def test_compare_conditional_of_true_fixed_priors_has_its_level():
    """With the difference of intercepts in the statistic three of four samples were rejected."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(60):
        y = rng.integers(0, 2, 300)
        X = rng.normal(size=(300, 2)) + np.column_stack([y, 0 * y])
        logit = Logit(y, np.column_stack([np.ones(300), X])).fit()
        rejected += LDA(y, X, priors="equal").fit().compare_conditional(logit).pvalue < 0.05
    assert rejected <= 9  # at .05 more than 9 of 60 come once in 1,350


def test_compare_conditional_by_whatever_the_regressors_span():
    """Order, units and basis of the logit's columns do not matter, nor which class says "diag by class"."""
    t = toy(200)
    res, plain = LDA.from_formula(FORMULA, t).fit(), MNLogit.from_formula(FORMULA, t).fit()
    for formula in ("y ~ x2 + x1", "y ~ I(2 * x1 - 3) + I(x1 + x2)", "y ~ center(x1) + standardize(x2)"):
        close(conditional(res, MNLogit.from_formula(formula, t).fit()), conditional(res, plain), 1e-6)
    squares = MNLogit.from_formula("y ~ x1 + x2 + I(x1**2) + I(x2**2)", t).fit()
    bayes, diag = NaiveBayes.from_formula(FORMULA, t).fit(), QDA.from_formula(FORMULA, t, covariance="diag").fit()
    close(conditional(bayes, squares), conditional(diag, squares), 1e-6)
    table = NaiveBayes.from_formula("y ~ C(f)", t, smoothing=0).fit()
    found = table.compare_conditional(MNLogit.from_formula("y ~ C(f)", t).fit())
    close([found.statistic, found.pvalue], [0.0, 1.0], atol=1e-8)


def test_compare_conditional_of_qda_by_hand():
    t = toy(200)
    t = t[t.y != "walk"].head(70).reset_index(drop=True)
    formula = "y ~ x1 + x2 + I(x1**2) + x1:x2 + I(x2**2)"
    res, other = QDA.from_formula(FORMULA, t).fit(), Logit.from_formula(formula, t, event="car").fit()
    x1, x2 = t.x1.to_numpy(), t.x2.to_numpy()
    X, w = np.column_stack([np.ones(len(t)), x1, x2, x1**2, x1 * x2, x2**2]), np.ones(len(t))
    y = (t.y == "car").to_numpy()
    p = other.predict(t).to_numpy()
    information = X.T @ (X * (p * (1 - p))[:, None])
    psi_logit = np.linalg.solve(information, (X * (y - p)[:, None]).T).T
    psi_qda = []
    for h in 1e-4 * np.eye(len(t)):
        b = [QDA.from_formula(FORMULA, t, weights=w + s * h).fit().discriminant.params["car"] for s in (1, -1)]
        psi_qda.append((b[0] - b[1]).to_numpy() / 2e-4)
    D = psi_logit - np.array(psi_qda)
    weights = np.sort(np.linalg.eigvals(information @ (D.T @ D)).real)[::-1]
    found = res.compare_conditional(other)
    close(found.weights, weights, 1e-4, 1e-7)
    close(found.penalty, np.trace(information @ res.discriminant.cov_params()), 1e-6)


def test_compare_conditional_refuses():
    t = toy(200)
    res, mnlogit = LDA.from_formula(FORMULA, t).fit(), MNLogit.from_formula(FORMULA, t).fit()
    for one, other, words in (
        (res, MNLogit.from_formula(FORMULA, t.head(150)).fit(), "different rows"),
        (res, MNLogit.from_formula(FORMULA, t, freq_weights="f").fit(), "different rows or weights"),
        (res, MNLogit.from_formula("y ~ x1", t).fit(), "regressors differ"),
        (res, MNLogit.from_formula("y ~ 0 + x1 + x2", t).fit(), "regressors differ"),
        (res, MNLogit.from_formula(FORMULA, t.assign(x1=t.x1.to_numpy()[::-1])).fit(), '"x1" is no combination'),
        (res, MNLogit.from_formula("y ~ x1 + x2 + I(x1**2)", t).fit(), "no combination"),
        (res, MNLogit.from_formula(FORMULA, t.assign(y=t.y.str.upper())).fit(), "level"),
        (res, Logit.from_formula("I(y == 'car') ~ x1 + x2", t).fit(), "levels"),
        (LDA.from_formula(FORMULA, t, weights="w").fit(), mnlogit, "pseudo-likelihood"),
        (res, MNLogit.from_formula(FORMULA, t, weights="w").fit(), "likelihood"),
        (LDA.from_formula(FORMULA, t, shrinkage=0.1).fit(), mnlogit, "regularised"),
        (LDA.from_formula(FORMULA, t, divisor="unbiased").fit(), mnlogit, "divisor"),
        (LDA.from_formula(FORMULA, t, prior_smoothing=2).fit(), mnlogit, "prior_smoothing"),
        (NaiveBayes.from_formula(FORMULA, t, prior_smoothing=2).fit(), mnlogit, "prior_smoothing"),
        (QDA.from_formula(FORMULA, t).fit(), mnlogit, "3 columns, they are 6"),
        (NaiveBayes.from_formula(FORMULA, t).fit(), mnlogit, "3 columns, they are 5"),
        (NaiveBayes.from_formula(FORMULA, t.assign(x1=t.x1.where(t.x1 < 1))).fit(), mnlogit, "missing features"),
    ):
        with pytest.raises((ValueError, NotImplementedError), match=words):
            one.compare_conditional(other)
    for other in (res, "mnlogit", mnlogit.model):
        with pytest.raises(TypeError, match=r"MNLogit|fit of"):
            res.compare_conditional(other)


# ------------------------------------------------------------------------------------------- functions and distances
def test_canonical_scores():
    res, t = fitted("LDA full"), toy()
    c = res.canonical
    scores = c.scores()
    close(scores, (t[NAMES] - t[NAMES].mean()) @ c.raw.to_numpy())
    close(c.scores(t.head(3)), scores.head(3))
    assert list(scores.columns) == ["CAN1", "CAN2"] and list(scores.index) == list(t.index)
    centred = scores - scores.groupby(t.y).transform("mean")
    close(centred.T @ centred / (len(t) - 3), np.eye(2), 1e-10, 1e-10)
    close(c.centroids, scores.groupby(t.y).mean(), 1e-9, 1e-10)
    gap = t.head(2).assign(x1=[np.nan, 0.0])
    assert c.scores(gap).isna().all(axis=1).tolist() == [True, False]
    # the classes as functions tell them apart: eta squared of each is its squared correlation
    between = ((c.centroids**2).mul(t.y.value_counts()[LEVELS], axis=0)).sum()
    close(between / (scores**2).sum(), c.correlations**2)
    assert "standardised" in repr(c)


def test_distances():
    res, t = fitted("LDA full"), toy()
    S = res.covariances.to_numpy() * len(t) / (len(t) - 3)
    for (a, b), row in res.distances().iterrows():
        d = (res.means.loc[a] - res.means.loc[b]).to_numpy()
        close(row.D2, d @ np.linalg.solve(S, d))
        close(row.pvalue, stats.f.sf(row.F, row.df1, row.df2))
    # of two classes: Hotelling's T^2, which manova has too
    two = LDA.from_formula(FORMULA, t[t.y != "walk"]).fit()
    close(two.distances().F.iloc[0], two.manova().F.iloc[0])
    close(two.distances().pvalue.iloc[0], two.manova().pvalue.iloc[0], 1e-8)


@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@pytest.mark.parametrize("law", ["LDA full", "QDA full"])
def test_typicality(law, divisor):
    """F for new rows; of a row of the fit, in its own class, Beta: the F of the class without it."""
    t, res = toy(), fit(law, divisor=divisor)
    x, n, N, K, p = t[NAMES].head(4) + 0.5, t.y.value_counts()[LEVELS], len(t), 3, 2
    found = res.typicality(x)
    for k in LEVELS:
        D = (x - t[t.y == k][NAMES].mean()).to_numpy()
        if law == "LDA full":
            S = sum((n[c] - 1) * t[t.y == c][NAMES].cov() for c in LEVELS) / (N - K)
            scale, df = n[k] * (N - K - p + 1) / ((n[k] + 1) * (N - K) * p), N - K - p + 1
        else:
            S, scale, df = t[t.y == k][NAMES].cov(), n[k] * (n[k] - p) / ((n[k] ** 2 - 1) * p), n[k] - p
        D2 = np.einsum("ij,ij->i", D, np.linalg.solve(S, D.T).T)
        close(found[k], stats.f.sf(scale * D2, p, df), 1e-8)
    own = res.typicality()
    for i in (0, 7, 20):
        k, rest = t.y[i], fit(law, t.drop(index=i), divisor=divisor)
        close(own.loc[i], rest.typicality(t.loc[[i]]).iloc[0], 1e-8)
        if law == "LDA full":
            D2 = (t.loc[i, NAMES] - t[t.y == k][NAMES].mean()).to_numpy(dtype=float)
            D2 = D2 @ np.linalg.solve(S, D2)
            close(own.loc[i, k], stats.beta.sf(D2 * n[k] / ((n[k] - 1) * (N - K)), p / 2, (N - K - p) / 2), 1e-8)


def test_typicality_is_uniform():
    """New rows of a class: their typicality of it has mean 1/2 and variance 1/12."""
    rng, values = np.random.default_rng(3), {"LDA full": [], "QDA full": []}
    for _ in range(40):
        y = np.arange(30) % 3
        X, new = (rng.normal(size=(n, 2)) + (np.arange(n) % 3)[:, None] for n in (30, 60))
        for law in values:
            found = LAWS[law][0](y, X).fit().typicality(new).to_numpy()
            values[law].append(found[np.arange(60), np.arange(60) % 3])
    for law, found in values.items():
        assert np.mean(found) == pytest.approx(0.5, abs=0.025), law
        assert np.var(found) == pytest.approx(1 / 12, abs=0.006), law


def test_mardia_of_classes_is_a_sum():
    """With a covariance for each class the statistics of the classes are added; nothing depends on the axes."""
    t = toy()
    alone = [QDA.from_formula(FORMULA, pd.concat([d, d.assign(y="copy")])).fit() for _, d in t.groupby("y")]
    table = fitted("QDA full").mardia_test()
    close(table.statistic.iloc[0], sum(one.mardia_test().statistic.iloc[0] for one in alone) / 2)
    assert table.df.iloc[0] == 3 * 4
    turned = t.assign(x1=t.x1 + t.x2, x2=t.x1 - 2 * t.x2)
    close(fit("QDA full", turned).mardia_test(), table, 1e-8)
    close(fit("QDA full", formula="y ~ x2 + x1").mardia_test(), table, 1e-8)


# -------------------------------------------------------------------------------------------------------- estimates
@laws
def test_names_and_intervals_of_parameters(law):
    res, t = fitted(law), toy()
    names, pooled = list(res.params.index), law.startswith("LDA")
    kind = law.split()[1]
    inside = {"full": ["x1, x1", "x1, x2", "x2, x2"], "diag": ["x1, x1", "x2, x2"], "spherical": [""]}[kind]
    what = "var" if kind == "spherical" else "cov"
    parts = [[e] if pooled else [f"{k}, {e}" if e else k for k in LEVELS] for e in inside]
    expected = [f"{what}[{part}]" if part else what for group in zip(*parts) for part in group]
    means = [f"mean[{k}, {x}]" for k in LEVELS for x in NAMES]
    assert names == ["log_prior_odds[car]", "log_prior_odds[walk]", *means, *expected]
    close(res.bse**2, np.diag(res.cov_params()), 1e-10)
    counts = t.y.value_counts()
    odds = 1 / counts["bus"] + 1 / counts[["car", "walk"]]
    close(res.bse.iloc[:2] ** 2, odds)
    ends, z = res.conf_int(), 1.959963984540054
    for name in names:
        b, se = res.params[name], res.bse[name]
        if name.startswith("var") or (name.startswith("cov") and len(set(name[4:-1].split(", ")[-2:])) == 1):
            half = z * se / b
            close(ends.loc[name], [b * np.exp(-half), b * np.exp(half)])
            n = len(t) if pooled else counts[name[4:-1].split(", ")[0]]
            close(half, z * np.sqrt(2 / n / (2 if kind == "spherical" else 1)))
        else:
            close(ends.loc[name], [b - z * se, b + z * se], 1e-9)
    assert np.linalg.eigvalsh(res.cov_params()).min() > 0


@laws
def test_covariance_of_parameters_is_the_inverse_information(law):
    """A numerical Hessian of the joint likelihood in the parameters, as they are named."""
    res, t = fitted(law), toy()
    X, y = t[NAMES].to_numpy(), np.array([LEVELS.index(v) for v in t.y])
    kind, pooled = law.split()[1], law.startswith("LDA")
    places = {"full": [(0, 0), (0, 1), (1, 1)], "diag": [(0, 0), (1, 1)], "spherical": [None]}[kind]

    def minus_llf(theta):
        odds, means, rest = np.append(0, theta[:2]), theta[2:8].reshape(3, 2), theta[8:].reshape(-1, len(places))
        total = -(odds[y] - np.log(np.exp(odds).sum())).sum()
        for k in range(3):
            S = np.zeros((2, 2))
            for place, value in zip(places, rest[0 if pooled else k]):
                if place is None:
                    S = value * np.eye(2)
                else:
                    S[place] = S[place[::-1]] = value
            D = X[y == k] - means[k]
            total += 0.5 * (
                np.einsum("ij,ij->", D, np.linalg.solve(S, D.T).T) + len(D) * np.linalg.slogdet(2 * np.pi * S)[1]
            )
        return total

    theta = res.params.to_numpy()
    close(-minus_llf(theta), res.llf)
    h = 1e-3 * res.bse.to_numpy() * 5
    E = np.diag(h)
    n = len(theta)
    H = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            f = [minus_llf(theta + a * E[i] + b * E[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            H[i, j] = H[j, i] = (f[0] - f[1] - f[2] + f[3]) / (4 * h[i] * h[j])
    sd = res.bse.to_numpy()
    close(H * np.outer(sd, sd), np.linalg.inv(res.cov_params()) * np.outer(sd, sd), 1e-3, 1e-3)


def test_hypotheses_of_the_discriminant():
    d = fitted("LDA full").discriminant
    by_name = d.t_test("ycar_x1 = ywalk_x1")
    R = np.zeros(6)
    R[1], R[4] = 1, -1
    close(by_name.effect, R @ d.params.to_numpy().ravel(order="F"))
    close(by_name.sd, np.sqrt(R @ d.cov_params().to_numpy() @ R), 1e-8)
    contrasts = d.level_contrasts()
    row = contrasts.loc[("walk", "car", "x1")]
    close(row["std err"], by_name.sd.ravel()[0], 1e-8)
    merged = d.combine_test("car", "walk")
    joint = d.wald_test("ycar_x1 = ywalk_x1, ycar_x2 = ywalk_x2")
    close([merged.statistic, merged.pvalue], [joint.statistic, joint.pvalue], 1e-7)
    close(d.odds_ratios().iloc[:, 0], np.exp(d.params.to_numpy().ravel(order="F")))
    assert np.isnan(d.aic) and d.llf == fitted("LDA full").llf_conditional
    assert list(d.equations) == ["car", "walk"]
    close(d.equations["car"].cov_params(), d.cov_params().loc["car", "car"])
    tidy = d.tidy()
    close(tidy["estimate"], d.params.to_numpy().ravel(order="F"))


def test_glance_and_criteria():
    res = fitted("QDA full")
    row = res.glance().iloc[0]
    close([row.log_lik, row.aic, row.bic, row.nobs], [res.llf, res.aic, res.bic, 45])
    close(res.info_criteria("aic", 2), res.aic + 4)
    close(res.info_criteria("bic", 1), res.bic + np.log(45))
    with pytest.raises(ValueError, match="aic"):
        res.info_criteria("hqic")


# ------------------------------------------------------------------------------------------------------------ draws
@pytest.mark.parametrize("divisor", ["mle", "unbiased"])
@laws
def test_sample_has_the_moments_of_the_law(law, divisor):
    res = fit(law, divisor=divisor)
    drawn, n = res.sample(40_000, seed=1), 40_000
    assert list(drawn.columns) == ["y", *NAMES]
    shares = drawn.y.value_counts(normalize=True)[LEVELS]
    assert (np.abs(shares - res.priors) < 5 * np.sqrt(res.priors / n)).all()
    for k in LEVELS:
        own = drawn[drawn.y == k][NAMES]
        S = res.covariances if law.startswith("LDA") else res.covariances[k]
        sd = np.sqrt(np.diag(S))
        assert (np.abs(own.mean() - res.means.loc[k]) < 5 * sd / np.sqrt(len(own))).all()
        assert (np.abs(own.cov() - S) < 8 * np.outer(sd, sd) / np.sqrt(len(own))).all(axis=None)
    pd.testing.assert_frame_equal(drawn, res.sample(40_000, seed=1))
    assert not drawn.equals(res.sample(40_000, seed=2))
    again = LAWS[law][0].from_formula(FORMULA, drawn, **LAWS[law][1]).fit()
    assert (np.abs(again.discriminant.params - res.discriminant.params) < 6 * again.discriminant.bse).all(axis=None)


def test_sample_by_class_and_of_other_responses():
    res = fitted("LDA full")
    drawn = res.sample(None, seed=0, by_class={"walk": 3, "bus": 2})
    assert drawn.y.value_counts().to_dict() == {"walk": 3, "bus": 2}
    assert len(res.sample(5, seed=0, by_class={"walk": 3, "bus": 2})) == 5
    generator = np.random.default_rng(4)
    one, two = res.sample(10, generator), res.sample(10, generator)
    assert not one.equals(two)
    for keywords in ({"n": 4, "by_class": {"walk": 3}}, {"n": 3, "by_class": {"tram": 3}}, {"n": 0}, {"n": 2.5}):
        with pytest.raises(ValueError):
            res.sample(**keywords)
    t = toy().assign(y=toy().y.map({"bus": 10, "car": 2, "walk": 5}))
    drawn = fit("QDA full", t).sample(50, seed=1)
    assert set(drawn.y) <= {10, 2, 5} and drawn.y.dtype == t.y.dtype
    t = toy().assign(g=np.where(toy().x2 > 0, "a", "b"))
    with pytest.warns(DataWarning, match=r"g\[T.b\]"):
        drawn = fit("LDA full", t, "y ~ x1 + g").sample(20, seed=1)
    assert "g[T.b]" in drawn


@laws
def test_simulate_draws_from_the_posterior(law):
    res, t = fitted(law), toy()
    drawn = res.simulate(400, seed=7)
    assert drawn.shape == (45, 400) and list(drawn.columns[:2]) == ["sim_1", "sim_2"]
    assert list(drawn.index) == list(t.index)
    shares = np.column_stack([(drawn == k).mean(axis=1) for k in LEVELS])
    p = res.predict().to_numpy()
    assert (np.abs(shares - p) <= 5 * np.sqrt(p * (1 - p) / 400) + 1e-3).all()
    pd.testing.assert_frame_equal(drawn, res.simulate(400, seed=7))
    weighted = fit(law, freq_weights="f").simulate(2, seed=0)
    assert len(weighted) == t.f.sum() and list(weighted.index) == list(t.index.repeat(t.f))
    with pytest.raises(ValueError):
        res.simulate(0)


@laws
def test_augment(law):
    res, t = fitted(law), toy()
    for table, frame in ((res.augment(), t), (res.augment(t.head(4)), t.head(4))):
        p, se = res.predict(frame), res.get_prediction(frame).se
        for k in LEVELS:
            close(table[f".fitted_{k}"], p[k])
            close(table[f".se_fit_{k}"], se[k])
        assert table[".class"].tolist() == p.idxmax(axis=1).tolist()
        assert list(table.index) == list(frame.index) and set(NAMES) <= set(table.columns)
    assert not any(c.startswith(".") for c in t.columns)


# ------------------------------------------------------------------------------------------------------ covariances
@pytest.mark.parametrize("cov", ["nonrobust", "expected", "HC0", "HC1", "cluster"])
@laws
def test_with_cov_is_a_fit_with_it(law, cov):
    model, options = LAWS[law]
    t = toy(200)
    kwds = {"groups": "firm"} if cov == "cluster" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*Few clusters")
        a = model.from_formula(FORMULA, t, **options).fit(cov_type=cov, cov_kwds=kwds or None)
        first = model.from_formula(FORMULA, t, **options).fit()
        b = first.with_cov(cov, **kwds)
    np.testing.assert_array_equal(a.discriminant.cov_params(), b.discriminant.cov_params())
    np.testing.assert_array_equal(a.get_prediction(t).se, b.get_prediction(t).se)
    np.testing.assert_array_equal(a.get_prediction(t, priors="equal").se, b.get_prediction(t, priors="equal").se)
    np.testing.assert_array_equal(a.bse, b.bse)
    assert first.cov_type == "nonrobust" and b.cov_type == a.cov_type == cov
    if cov == "HC1":
        n, q = 200, a.discriminant.params.size
        close(a.discriminant.cov_params(), n / (n - q) * first.with_cov("HC0").discriminant.cov_params(), 1e-10)


def test_with_cov_without_rows():
    res = fit("LDA full")
    res.remove_data()
    close(res.with_cov("expected").discriminant.bse, fitted("LDA full").discriminant.bse)
    with pytest.raises((EstimationError, ValueError)):
        res.with_cov("HC0")


# --------------------------------------------------------------------------------------------------- regularisation
def test_shrinkage_has_limits():
    """0 is the maximum of the likelihood, 1 the target; targets are what they say."""
    t = toy()
    close(fit("LDA full", shrinkage=0.0).discriminant.params, fitted("LDA full").discriminant.params, 1e-13)
    whole = fit("LDA full", shrinkage=1.0)
    close(whole.discriminant.params, fitted("LDA diag").discriminant.params, 1e-10)
    close(
        fit("LDA full", shrinkage=1.0, target="identity").discriminant.params,
        fitted("LDA spherical").discriminant.params,
    )
    S = fitted("LDA full").covariances.to_numpy()
    T = np.array([[2.0, 0.5], [0.5, 1.0]])
    close(fit("LDA full", shrinkage=0.4, target=T).covariances, 0.6 * S + 0.4 * T)
    labelled = pd.DataFrame(T, NAMES, NAMES).loc[NAMES[::-1], NAMES[::-1]]
    close(fit("LDA full", shrinkage=0.4, target=labelled).covariances, 0.6 * S + 0.4 * T)
    close(fit("LDA full", ridge=0.3).covariances, S + 0.3 * np.eye(2))
    for law in ("LDA full", "QDA full"):
        for k in ("ledoit_wolf", "oas"):
            res = fit(law, shrinkage=k)
            intensity = np.atleast_1d(res.shrinkage)
            assert ((intensity > 0) & (intensity <= 1)).all()
            assert np.isfinite(res.llf) and res.llf < fitted(law).llf
            assert res.k_params < fitted(law).k_params
    assert t.equals(toy())


@pytest.mark.parametrize("keywords", [{"shrinkage": 0.3}, {"ridge": 0.5}, {"shrinkage": 0.3, "target": "identity"}])
@pytest.mark.parametrize("law", ["LDA full", "QDA full"])
def test_likelihood_of_a_regularised_fit(law, keywords):
    """The density at the estimate, summed."""
    res, t = fit(law, **keywords), toy()
    total = 0.0
    for k, own in t.groupby("y"):
        S = res.covariances if law == "LDA full" else res.covariances[k]
        total += stats.multivariate_normal(res.means.loc[k], S).logpdf(own[NAMES]).sum()
        total += len(own) * np.log(res.priors[k])
    close(res.llf, total)
    close(res.aic, 2 * res.k_params - 2 * total)


@pytest.mark.parametrize("law", [LDA, QDA, NaiveBayes])
def test_sampling_weights_leave_the_laws_without_standard_errors(law):
    """The inverse information would follow the scale of the weights: NaN and an error, not a number."""
    rng = np.random.default_rng(3)
    d = pd.DataFrame({"y": rng.choice(list("abc"), 90), "x": rng.normal(size=90), "z": rng.normal(size=90)})
    d["w"] = rng.gamma(2.0, size=90)
    res = law.from_formula("y ~ x + z", d, weights="w").fit()
    assert res.bse.isna().all() and res.conf_int().isna().all().all() and res.priors_bse.isna().all()
    for call in (res.cov_params, lambda: res.t_test(np.eye(len(res.params))[:1])):
        with pytest.raises(ValueError, match="sampling weights"):
            call()
    assert np.isfinite(res.discriminant.bse).all().all()
    assert any("assume the laws" in n for n in law.from_formula("y ~ x", d).fit(cov_type="HC0")._notes())


@pytest.mark.parametrize("model", [LDA, QDA])
def test_draws_of_a_kept_result_bit_for_bit(model):
    rng = np.random.default_rng(7)
    t = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde")).assign(y=rng.choice(LEVELS, 200))
    res, file = model.from_formula("y ~ a + b + c + d + e", t).fit(), io.StringIO()
    res.save(file)
    file.seek(0)
    kept = type(res).load(file)
    for n in (5, 50):
        pd.testing.assert_frame_equal(kept.sample(n, seed=1), res.sample(n, seed=1), check_exact=True)
