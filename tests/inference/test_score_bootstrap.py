"""Score bootstrap by clusters: all signs by hand, Stata's boottest, and what the test is on independent rows."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from properties.toys import MODELS, make, toy
from scipy.stats import norm

import glmclf
from glmclf import Logit
from glmclf.errors import DataError, InferenceWarning, PerfectSeparationError
from glmclf.inference.hypotheses.wild import MULTIPLIERS

models = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])


def fitted(model, t=None, formula=None, **keywords):
    t = toy().assign(k=np.arange(160) % 9) if t is None else t
    return make(model, formula or ("g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2"), t, **keywords).fit()


def hypothesis(model, *names):
    return [f"yc_{name} = 0" if model == "MNLogit" else f"{name} = 0" for name in names]


def by_all_signs(scores, shares):
    """T of the data and the share of all signs whose T is no smaller; scores (G, q)."""

    def T(v):
        a = np.array(v)[:, None] * scores
        C = a - np.outer(shares, a.sum(axis=0))
        return a.sum(axis=0) @ np.linalg.solve(C.T @ C, a.sum(axis=0))

    own = T(np.ones(len(scores)))
    drawn = np.array([T(v) for v in itertools.product((-1.0, 1.0), repeat=len(scores))])
    return own, (drawn >= own * (1 - 1e-9)).mean()


# ------------------------------------------------------------------------------------------------------------ Stata
def test_boottest():
    """Stata 18, boottest 4.5.3: logit y x1 x2 x3 i.firm, vce(cluster clu); boottest x3, reps(2000)
    weighttype(rademacher); the numbers are in tests of StatsPAI (test_feglm_wild_boottest_parity.py). boottest leaves
    out the data and their mirror image, 2 of 512 signs."""
    rng = np.random.default_rng(77)
    t = pd.DataFrame({"firm": rng.integers(0, 4, 300), "clu": rng.integers(0, 9, 300)})
    t = t.assign(**{name: rng.normal(size=300) for name in ("x1", "x2", "x3")})
    p = 1.0 / (1.0 + np.exp(-(0.2 + 0.6 * t.x1 - 0.3 * t.x2 + 0.25 * t.firm)))
    t["y"] = (rng.random(300) < p).astype(int)
    res = Logit.from_formula("y ~ x1 + x2 + x3 + C(firm)", t).fit()
    for name, z, pvalue in (("x3", 0.06450520, 0.95703125), ("x1", 4.56025174, 0.00390625)):
        found = res.score_bootstrap_test(f"{name} = 0", groups="clu")
        assert_allclose(found.statistic, z**2, rtol=1e-6)
        assert found[1:] == (pvalue + 2 / 512, 1, 9, 512, None)


# ----------------------------------------------------------------------------------------------------- all signs
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"weights": "sw"}, {"offset": "off"}], ids=str)
def test_all_signs_of_a_probit(keywords):
    """Scores x (y - p) phi/(p (1 - p)) and the observed information of the restricted probit, in numpy."""
    t = toy().assign(k=np.arange(160) ** 2 % 11)
    found = fitted("Probit", t, **keywords).score_bootstrap_test("x1 = 0.3, x2 = 0", groups="k")
    null = make("Probit", "y ~ x1 + x2", t, **keywords).fit_constrained("x1 = 0.3, x2 = 0")
    X, y = np.column_stack([np.ones(160), t.x1, t.x2]), np.where(t.y == "yes", 1.0, -1.0)
    eta = X @ null.params.to_numpy() + (t.off.to_numpy() if "offset" in keywords else 0.0)
    w = np.ones(160) if keywords in ({}, {"offset": "off"}) else t[next(iter(keywords.values()))].to_numpy(dtype=float)
    ratio = y * norm.pdf(eta) / norm.cdf(y * eta)
    A = (X.T * (w * ratio * (ratio + eta))) @ X
    S = np.zeros((11, 3))
    np.add.at(S, t.k, (w * ratio)[:, None] * X)
    S, shares = S[np.unique(t.k)], np.bincount(t.k, w, 11)[np.unique(t.k)] / w.sum()
    statistic, pvalue = by_all_signs((S @ np.linalg.inv(A))[:, 1:], shares)
    assert_allclose(found.statistic, statistic, rtol=1e-7)
    assert found.pvalue == pvalue and found.reps == 2 ** len(S) and found.df == 2


@models
def test_all_signs_by_the_model_s_own_scores(model):
    t = toy().assign(k=np.arange(160) % 8)
    res = fitted(model, t)
    found = res.score_bootstrap_test(hypothesis(model, "x1"), groups="k")
    null = res.model.fit_constrained(hypothesis(model, "x1"))
    theta = np.ravel(null.params.to_numpy(), order="F")
    scores = np.asarray(res.model.score_obs(theta)) @ np.linalg.inv(-res.model.hessian(theta))
    tested = 4 if model == "MNLogit" else 1
    clusters = np.array([[scores[t.k == k, tested].sum()] for k in range(8)])
    statistic, pvalue = by_all_signs(clusters, np.full(8, 1 / 8))
    assert_allclose(found.statistic, statistic, rtol=1e-7)
    assert found.pvalue == pvalue


# ---------------------------------------------------------------------------------------------------- identities
@models
def test_of_single_rows_it_is_the_robust_score_test(model):
    """With n equal shares T = U/(1 - U/n), U the statistic of outer products; only logits have one information."""
    res = fitted(model)
    found = res.score_bootstrap_test(hypothesis(model, "x1"), groups=np.arange(160), reps=999, seed=2)
    null = res.model.fit_constrained(hypothesis(model, "x1"))
    U = null.constraint_test("score", cov_type="HC0", information="observed").statistic
    assert_allclose(found.statistic, U / (1 - U / 160), rtol=1e-8)
    exact = null.constraint_test("score", cov_type="HC0").pvalue
    assert abs(found.pvalue - exact) < 0.06 and (found.reps, found.seed) == (999, 2)


@models
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"weights": "sw"}], ids=str)
@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_without_the_null_it_is_the_wald_test(model, keywords):
    res = fitted(model, **keywords)
    names = hypothesis(model, "x1", "x2")
    found = res.score_bootstrap_test(names, groups="k", impose_null=False)
    n, p = res.nobs, np.size(res.params)
    factor = 9 / 8 * (n - 1) / (n - p)
    clustered = res.with_cov("cluster", groups="k")
    assert_allclose(found.statistic, factor * clustered.wald_test(names).statistic, rtol=1e-8)
    assert clustered.score_bootstrap_test(names, impose_null=False) == found  # the groups of the fit
    assert found.pvalue * 513 == pytest.approx(round(found.pvalue * 513)) and found.pvalue > 0


@models
def test_what_must_not_change_it(model):
    """Rows repeated for frequency weights, collinear columns, a wide column, parts of a source, another base level."""
    t = toy().assign(k=np.arange(160) % 9)
    t = t.assign(twin=2 * t.x1 + 1 + t.x2, wide=1e7 + (t.x2 > 0.5))
    names = hypothesis(model, "x1")
    formula = "g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2"

    def test(data=t, formula=formula, names=names, **keywords):
        return make(model, formula, data, **keywords).fit().score_bootstrap_test(names, groups="k")

    repeated = t.loc[t.index.repeat(t.times)]
    assert_allclose(test(freq_weights="times")[:5], test(repeated)[:5], rtol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.CollinearityWarning)
        small = test(formula=formula + " + I(x1**2)", names=hypothesis(model, "I(x1 ** 2)"))
        both = test(formula=formula + " + I(x1**2) + twin", names=hypothesis(model, "I(x1 ** 2)"))
        assert_allclose(both[:5], small[:5], rtol=1e-7)
    centred = test(formula=formula.replace("x2", "I(x2 > 0.5)"))
    assert_allclose(test(formula=formula.replace("x2", "wide"))[:5], centred[:5], rtol=1e-6)
    source = test(lambda: (t.iloc[i : i + 45] for i in range(0, 160, 45)))
    assert_allclose(source[:5], test()[:5], rtol=1e-9)
    if model == "MNLogit":
        rebased = fitted(model, t).rebase("c").score_bootstrap_test("ya_x1 = 0", groups="k")
        assert_allclose(rebased[:5], test()[:5], rtol=1e-9)


def test_the_test_of_what_separates():
    """The estimate under the hypothesis is finite, and all that the test needs."""
    t = toy().assign(k=np.arange(160) % 9)
    t["z"] = ((t.y == "yes") & (np.arange(160) < 100)).astype(float)
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = fitted("Logit", t, "y ~ x1 + z")
    assert res.score_bootstrap_test("z = 0", groups="k").pvalue == 2 / 2**9
    with pytest.raises(ValueError, match="infinite"):
        res.score_bootstrap_test("z = 0", groups="k", impose_null=False)
    with pytest.raises(PerfectSeparationError, match="under the constraints x1 = 0"):
        res.score_bootstrap_test("x1 = 0", groups="k")


# ----------------------------------------------------------------------------------------------------------- draws
@pytest.mark.parametrize("kind", MULTIPLIERS)
def test_multipliers_have_mean_0_and_variance_1(kind):
    values, shares = MULTIPLIERS[kind]
    moments = [(shares * values**m).sum() for m in range(4)]
    assert_allclose(moments[:3], [1, 0, 1], atol=1e-15)
    assert_allclose(moments[3], 1.0 if kind == "mammen" else 0.0, atol=1e-14)


@pytest.mark.parametrize("kind", MULTIPLIERS)
def test_random_draws(kind):
    res = fitted("Logit")
    first = res.score_bootstrap_test("x2 = 0", groups="k", multipliers=kind, reps=499, seed=4)
    again = res.score_bootstrap_test("x2 = 0", groups="k", multipliers=kind, reps=499, seed=first.seed)
    assert first == again and first.reps == 499
    assert first.pvalue * 500 == pytest.approx(round(first.pvalue * 500)) and first.pvalue > 0
    some = res.score_bootstrap_test("x2 = 0", groups="k", multipliers=kind, reps=499)
    assert some == res.score_bootstrap_test("x2 = 0", groups="k", multipliers=kind, reps=499, seed=some.seed)
    exact = res.score_bootstrap_test("x2 = 0", groups="k").pvalue
    assert abs(first.pvalue - exact) < (0.1 if kind != "mammen" else 0.4)


# -------------------------------------------------------------------------------------------------------- refusals
def test_too_few_clusters_for_signs():
    res, four = fitted("Logit"), np.arange(160) % 4
    with pytest.warns(InferenceWarning, match=r"scores of 4 clusters .* 16 signs, with p-values of 0.125 and more"):
        assert res.score_bootstrap_test("x2 = 0", groups=four).pvalue >= 0.125
    res.score_bootstrap_test("x2 = 0", groups=four, multipliers="webb", reps=99, seed=1)
    effects = fitted("Logit", formula="y ~ C(k)")  # of the other clusters the scores add up to 0
    with pytest.warns(InferenceWarning, match=r"scores of 2 clusters .* 4 signs, with p-values of 0.5 and more"):
        assert effects.score_bootstrap_test(np.eye(9)[[1]], groups="k").pvalue >= 0.5
    with pytest.raises(ValueError, match="2 restrictions and 2 clusters"):
        res.score_bootstrap_test("x1 = 0, x2 = 0", groups=four // 2)


@pytest.mark.parametrize(
    ("options", "words", "error"),
    [
        ({}, "needs the clusters: groups=", ValueError),
        ({"groups": "nothing"}, "no such column", DataError),
        ({"groups": ["k", "firm"]}, "one grouping; there are k and firm", NotImplementedError),
        ({"groups": np.zeros(160)}, "one group only", ValueError),
        ({"groups": "k", "multipliers": "normal"}, '"webb"', ValueError),
        ({"groups": "k", "reps": 0}, "reps=0", ValueError),
        ({"groups": "k", "seed": -1}, "seed=-1", ValueError),
        ({"groups": "k", "impose_null": "no"}, "impose_null", ValueError),
    ],
)
def test_refusals(options, words, error):
    with pytest.raises(error, match=words):
        fitted("Logit").score_bootstrap_test("x1 = 0", **options)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_fits_that_have_none():
    t = toy().assign(k=np.arange(160) % 9)
    m = make("Logit", "y ~ x1 + x2", t)
    for res, words in (
        (m.fit(bias_reduction="firth"), "maximum likelihood"),
        (m.fit_regularized(alpha=0.1), "not the maximum"),
        (m.fit_constrained("x1 = 0"), "constraints as its hypothesis"),
    ):
        with pytest.raises(NotImplementedError, match=words):
            res.score_bootstrap_test("x2 = 0", groups="k")
    res = m.fit(cov_type="cluster", cov_kwds={"groups": "k"})
    res.remove_data()
    with pytest.raises(DataError, match="needs the rows of the fit"):
        res.score_bootstrap_test("x2 = 0")
