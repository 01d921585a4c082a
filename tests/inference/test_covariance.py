"""Covariances by leverage, time and resampling: HC2 to HC5, HAC, bootstrap, jackknife, few clusters.

Numbers are R's, direct formulas in numpy, or identities. R's glm keeps the weights of the iteration before its last, so
that its sandwiches have about ten digits; its jackknife, of fits, has more.
"""

import functools
import io
import itertools
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from properties.toys import MODELS, close, fit, make, shared, text, toy
from references import ROOT, digits, fitted, model_keywords, reference

import glmclf
from glmclf import Logit, MNLogit, datasets
from glmclf.errors import CollinearityWarning, EstimationError, InferenceWarning, SeparationWarning
from glmclf.inference.covariance.resampling import drawn

LEVERAGE = ("HC2", "HC3", "HC4", "HC4m", "HC5")
TYPES = {
    **{kind: {} for kind in LEVERAGE},
    **{"HAC": {"maxlags": 3}, "bootstrap": {"reps": 12, "seed": 5}, "jackknife": {}},
}
BOOTSTRAP = {"reps": 12, "seed": 5}

types = pytest.mark.parametrize("cov_type", TYPES)
models = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])


def quietly(f):
    """f() without warnings of replications left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return f()


def with_cov(res, cov_type, **kwds):
    return quietly(lambda: res.with_cov(cov_type, **{**TYPES.get(cov_type, {}), **kwds}))


def words(res):
    """The summary on one line."""
    return " ".join(str(res.summary()).split())


def small():
    """A table whose jackknife takes no time."""
    return toy(60, 4)


def of_levels(model):
    """A fit of the toy data; three levels of the response for MNLogit."""
    return fit(model, "g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2", small())


# ------------------------------------------------------------------------------------------------------------- R
# R 4.2.2, sandwich 3.0-2: sqrt(diag(vcovHC(m, type = ...))) with m <- glm(..., control = glm.control(1e-15, 200));
# "jackknife": (n-1)/n times the squares of coef(update(m, data = d[-i, ])) about their mean
R = {
    "spector__logit": {
        "HC2": [5.614583569840751, 1.398442895335135, 0.134289593439633, 1.035939804817195],
        "HC3": [6.082553285115366, 1.551757620432347, 0.153884611225418, 1.116391341962701],
        "jackknife": [8.172465949558728, 1.924258224790444, 0.166124208699044, 1.252379951930844],
    },
    "menarche__logit": {
        "HC2": [0.725477739616540, 0.055583266451235],
        "HC3": [0.7557956944146378, 0.0579176674682329],
        "jackknife": [0.7417364010998787, 0.0568382118321867],
    },
    "menarche__probit": {"jackknife": [0.3640998684610639, 0.0284284714591246]},  # scoring ends linearly: 8 digits
}


@functools.cache
def stored(file):
    """HC2 to HC5 by mpmath, written out row by row, and by R's sandwich; see tests/reference/make."""
    return json.loads((ROOT / f"leverage/{file}.json").read_text(encoding="utf-8"))["values"]


@functools.cache
def of_reference(name):
    case, data = reference(name)
    return getattr(glmclf, case["model"]).from_formula(case["formula"], data, **model_keywords(case)).fit()


@pytest.mark.parametrize("kind", LEVERAGE)
@pytest.mark.parametrize("name", stored("mpmath"))
def test_of_multi_precision(name, kind):
    expected = stored("mpmath")[name]
    found = of_reference(name).with_cov(kind)
    assert digits(np.ravel(found.bse, order="F"), expected[kind]["bse"]).min() > 11.5
    size = np.sqrt(np.diag(expected[kind]["cov_params"]))
    assert_allclose(found.cov_params() / np.outer(size, size), expected[kind]["cov_params"] / np.outer(size, size),
                    rtol=0, atol=1e-11)  # fmt: skip
    largest = expected["largest_leverage"]
    assert largest < 0.99 and (kind != "HC5" or name != "wine__mnlogit" or largest > 9 * expected["mean_leverage"])


@pytest.mark.parametrize("kind", LEVERAGE)
@pytest.mark.parametrize("name", stored("sandwich"))
def test_of_sandwich(name, kind):
    """R's glm keeps the weights of the iteration before its last, and its bread is of the expected information."""
    expected = stored("sandwich")[name][kind]
    res = of_reference(name)
    found = res.with_cov(kind)
    A = res.model.information(res.params)
    assert digits(A @ found.cov_params().to_numpy() @ A, expected["meat"]).min() > 7
    if "bse" in expected:
        assert digits(found.bse, expected["bse"]).min() > 7


@pytest.mark.parametrize("name, kind", [(name, kind) for name, kinds in R.items() for kind in kinds])
def test_of_r(name, kind):
    bse = fitted(name).with_cov(kind).bse
    assert digits(bse, R[name][kind]).min() > (12 if kind == "jackknife" and name != "menarche__probit" else 8)


def test_factors_of_r():
    """vcovHC of birthwt: the order of R's coefficients is that of its formula."""
    order = ["age", "lwt", "C(race)[T.2]", "smoke", "ptl", "ht", "ui", "ftv"]
    hc3 = [0.03796356911537666, 0.00770105019618697, 0.55079030859667821, 0.40948197415446486, 0.45541571125769986]
    bse = fitted("birthwt__logit").with_cov("HC3").bse
    assert digits(bse[["age", "lwt", "C(race)[T.2]", "smoke", "ptl"]], hc3).min() > 9 and set(order) < set(bse.index)


def test_meat_of_a_probit_is_r():
    """meatHC of sandwich; R's bread is of the expected information, ours of the observed one."""
    res = fitted("menarche__probit")
    meats = {
        "HC2": [751.543766818355, 10041.537038068931, 10041.537038068931, 135121.437376692658],
        "HC3": [823.870821229372, 11007.942987729339, 11007.942987729339, 148114.576160112832],
    }
    A = res.model.information(res.params)
    for kind, meat in meats.items():
        found = A @ res.with_cov(kind).cov_params().to_numpy() @ A
        assert digits(found.ravel(), meat).min() > 8


# NeweyWest(m, lag = ., prewhite = FALSE, adjust = FALSE) of high ~ kms + PetrolPrice + law
NEWEY_WEST = {
    0: [1.495906199693498, 0.060745813372550, 14.083772803918661, 0.613800283842918],
    12: [2.0204186672465765, 0.0741205258503353, 16.9552374162269253, 0.7092767889571593],
}


def test_hac():
    res, (case, _) = fitted("seatbelts__logit"), reference("seatbelts__logit_hac")
    found = res.with_cov("HAC", maxlags=4)
    assert digits(found.bse, list(case["values"]["bse"].values())).min() > 12
    assert digits(found.cov_params(), case["values"]["cov_params"]).min() > 12
    assert "(Newey-West, Bartlett weights, 4 lags)" in words(found) and found.cov_kwds == {"maxlags": 4}
    for lags, bse in NEWEY_WEST.items():
        assert digits(res.with_cov("HAC", maxlags=lags).bse, bse).min() > 10
    assert res.with_cov("HAC").cov_kwds == {"maxlags": int(4 * (192 / 100) ** (2 / 9))}


# ------------------------------------------------------------------------------------------------- direct formulas
def delta(h, kind):
    """Powers of 1 - h under squared scores, h the leverages of all rows."""
    r = h / h.mean()
    return {
        "HC2": np.ones(len(h)),
        "HC3": np.full(len(h), 2.0),
        "HC4": np.minimum(4, r),
        "HC4m": np.minimum(1, r) + np.minimum(1.5, r),
        "HC5": np.minimum(r, max(4, 0.7 * r.max())) / 2,
    }[kind]


def direct(X, P, y, kind):
    """Sandwich of scores D (I - W G)^(-delta/2) u of a multinomial logit, written out row by row."""
    n, k = X.shape
    q = P.shape[1] - 1
    Y = (y[:, None] == np.arange(1, q + 1)).astype(float)
    W = np.array([np.diag(p) - np.outer(p, p) for p in P[:, 1:]])
    D = [np.kron(np.eye(q), x[:, None]) for x in X]
    A = sum(d @ w @ d.T for d, w in zip(D, W, strict=True))
    meat = np.zeros((k * q, k * q))
    WG = [w @ d.T @ np.linalg.solve(A, d) for d, w in zip(D, W, strict=True)]
    c = delta(np.array([np.trace(m) for m in WG]), kind) / 2
    for d, m, u, ci in zip(D, WG, Y - P[:, 1:], c, strict=True):
        values, vectors = np.linalg.eig(np.eye(q) - m)
        power = (vectors * values**-ci) @ np.linalg.inv(vectors)
        s = d @ (power @ u).real
        meat += np.outer(s, s)
    return np.linalg.solve(A, np.linalg.solve(A, meat).T)


@pytest.mark.parametrize("kind", LEVERAGE)
def test_several_equations(kind):
    res = of_levels("MNLogit")
    V = direct(res.model.exog, res.predict().to_numpy(), res.model.endog, kind)
    found = res.with_cov(kind)
    assert_allclose(found.cov_params(), V, rtol=1e-9, atol=1e-12)
    rebased = res.rebase("b").with_cov(kind)
    assert_allclose(rebased.cov_params(), found.rebase("b").cov_params(), rtol=1e-9, atol=1e-13)
    again = make("MNLogit", "g ~ x1 + x2", small(), reference="b").fit(cov_type=kind)
    assert_allclose(rebased.bse, again.bse, rtol=1e-9)


@types
def test_two_levels_are_a_logit(cov_type):
    two, one = (fit(model, "y ~ x1 + x2 + h", small()) for model in ("MNLogit", "Logit"))
    assert_allclose(with_cov(two, cov_type).cov_params(), with_cov(one, cov_type).cov_params(), rtol=1e-7, atol=1e-11)


def test_a_mean_in_closed_form():
    """One proportion of n: h = 1/n in all rows, their mean, so that powers of n/(n-1) stand over HC0."""
    res = fit("Logit", "y01 ~ 1")
    n, hc0 = 160, res.with_cov("HC0").bse["Intercept"]
    for kind, power in {"HC2": 0.5, "HC3": 1.0, "HC4": 0.5, "HC4m": 1.0, "HC5": 0.25}.items():
        assert_allclose(res.with_cov(kind).bse, hc0 * (n / (n - 1)) ** power, rtol=1e-12)
    k, N = toy().y01.sum(), n
    b = [np.log(s / (N - 1 - s)) for s in [k - 1] * k + [k] * (N - k)]
    assert_allclose(res.with_cov("jackknife").bse, np.sqrt((N - 1) * np.var(b)), rtol=1e-11)


def test_bootstrap_of_a_mean():
    """Replications of one proportion are log-odds of binomial draws: here of the very draws."""
    res, rng = fit("Logit", "y01 ~ 1"), np.random.default_rng(3)
    shares = [np.bincount(rng.integers(0, 160, 160), minlength=160) @ toy().y01 / 160 for _ in range(40)]
    expected = np.std(np.log(shares) - np.log1p(-np.array(shares)), ddof=1)
    assert_allclose(res.with_cov("bootstrap", reps=40, seed=3).bse, expected, rtol=1e-10)


def test_bootstrap_of_clusters_draws_clusters():
    res, t, rng = fit("Logit", "y01 ~ 1"), toy(), np.random.default_rng(8)
    codes, names = pd.factorize(t.firm)
    b = []
    for _ in range(30):
        times = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))[codes]
        p = times @ t.y01 / times.sum()
        b.append(np.log(p / (1 - p)))
    found = res.with_cov("bootstrap", reps=30, seed=8, groups="firm")
    assert_allclose(found.bse, np.std(b, ddof=1), rtol=1e-10)
    assert found.cov_kwds == {"groups": ["firm"], "n_groups": [38], "reps": 30, "seed": 8, "used": 30, "left_out": {}}
    assert "bootstrap of clusters (30 replications)" in words(found) and "38 (firm)" in words(found)


# ---------------------------------------------------------------------------------------------------- every model
@types
@models
def test_fit_and_with_cov_agree(model, cov_type):
    res = of_levels(model)
    found = with_cov(res, cov_type)
    again = quietly(lambda: res.model.fit(cov_type=cov_type, cov_kwds=TYPES[cov_type]))
    assert found.cov_type == again.cov_type == cov_type
    assert_array_equal(found.cov_params(), again.cov_params())
    assert_array_equal(found.params, res.params)
    V = found.cov_params().to_numpy()
    assert np.isfinite(V).all()
    assert_allclose(V, V.T, rtol=1e-9, atol=1e-15)
    assert 0.5 < np.median(found.bse / res.bse) < 2


@types
@models
@pytest.mark.parametrize("offset", [None, "off"])
def test_frequency_weights_are_repeated_rows(model, cov_type, offset):
    t = small()
    t["trt"] = np.where(t.x1 > 0, "p", "q")
    expanded = t.loc[t.index.repeat(t.times)].reset_index(drop=True)
    formula = ("g" if model == "MNLogit" else "y") + " ~ x1 + x2 + trt"
    a = quietly(lambda: make(model, formula, t, freq_weights="times", offset=offset).fit())
    b = quietly(lambda: make(model, formula, expanded, offset=offset).fit())
    assert a.nobs == b.nobs == t.times.sum()
    more = {} if cov_type != "HAC" else {"maxlags": 4}
    a, b = quietly(lambda: with_cov(a, cov_type, **more)), with_cov(b, cov_type, **more)
    close(a.cov_params(), b.cov_params(), 1e-7, 1e-10)
    assert a.cov_kwds == b.cov_kwds


@models
def test_clustered_bootstrap_of_frequency_weights(model):
    t = small()
    expanded = t.loc[t.index.repeat(t.times)].reset_index(drop=True)
    formula = "g ~ x1" if model == "MNLogit" else "y ~ x1"
    a, b = make(model, formula, t, freq_weights="times").fit(), make(model, formula, expanded).fit()
    a, b = (with_cov(r, "bootstrap", groups="firm") for r in (a, b))
    close(a.cov_params(), b.cov_params(), 1e-7, 1e-11)


@types
@models
def test_sampling_weights(model, cov_type):
    """Their unit does not matter, and equal ones are none."""
    formula = "g ~ x1" if model == "MNLogit" else "y ~ x1"
    t = small().assign(sw2=lambda d: 1e-3 * d.sw, one=7.0)
    a, b, c = (make(model, formula, t, weights=w).fit() for w in ("sw", "sw2", "one"))
    close(with_cov(a, cov_type).cov_params(), with_cov(b, cov_type).cov_params(), 1e-7, 1e-11)
    close(with_cov(c, cov_type).cov_params(), with_cov(fit(model, formula, t), cov_type).cov_params(), 1e-7, 1e-11)


@pytest.mark.parametrize("kind", LEVERAGE)
def test_leverage_of_a_weighted_row(kind):
    """Weighted leverage w_i v_i x'A^-1 x, scores times w_i."""
    res = make("Logit", "y ~ x1 + x2", toy(), weights="sw").fit()
    X, p, w, y = res.model.exog, res.fittedvalues.to_numpy(), toy().sw.to_numpy(), toy().y01.to_numpy()
    v = w * p * (1 - p)
    A = np.linalg.inv(X.T * v @ X)
    h = v * np.einsum("ij,jk,ik->i", X, A, X)
    S = X * (w * (y - p) / (1 - h) ** (delta(h, kind) / 2))[:, None]
    assert_allclose(res.with_cov(kind).cov_params(), A @ S.T @ S @ A, rtol=1e-9)


@types
def test_counts_are_rows(cov_type):
    """A row of counts is one observation: its trials are drawn, left out and lagged together."""
    t = small()[small().trials > 0].reset_index(drop=True)
    counts = with_cov(make("Logit", "won + lost ~ x1", t).fit(), cov_type)
    t["share"] = t.won / t.trials
    shares = with_cov(make("Logit", "share ~ x1", t, weights="trials").fit(), cov_type)
    assert counts.nobs == len(t)
    close(counts.cov_params(), shares.cov_params(), 1e-7, 1e-11)


@types
@pytest.mark.parametrize("model", MODELS)
def test_fractions(model, cov_type):
    res = with_cov(fit(model, "share ~ x1", small()), cov_type)
    assert np.isfinite(res.bse).all() and 0.5 < (res.bse / fit(model, "share ~ x1", small()).bse).median() < 2


@pytest.mark.parametrize("cov_type", [*LEVERAGE, "bootstrap", "jackknife"])
@models
def test_order_of_rows_does_not_matter(model, cov_type):
    t = small()
    formula = "g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2"
    mixed = t.sample(frac=1, random_state=3)
    a, b = fit(model, formula, t), fit(model, formula, mixed)
    if cov_type == "bootstrap":
        with pytest.raises(AssertionError):  # the draws are by place
            close(with_cov(a, cov_type).bse, with_cov(b, cov_type).bse)
        return
    close(with_cov(a, cov_type).cov_params(), with_cov(b, cov_type).cov_params(), 1e-8, 1e-12)


@types
@models
def test_collinear_columns(model, cov_type):
    t = small().assign(z=lambda d: 2 * d.x1 - 1)
    formula = "g ~ x1 + z + x2" if model == "MNLogit" else "y ~ x1 + z + x2"
    with pytest.warns(CollinearityWarning):
        more = make(model, formula, t).fit()
    less = with_cov(fit(model, formula.replace(" + z", ""), t), cov_type)
    more = with_cov(more, cov_type)
    V = more.cov_params()
    kept = [i for i, name in enumerate(V.index) if "z" not in str(name)]
    assert V.isna().to_numpy().any() or (V.to_numpy()[~np.isin(np.arange(len(V)), kept)] == 0).all()
    close(V.iloc[kept, kept], less.cov_params(), 1e-7, 1e-11)


@types
@pytest.mark.parametrize("model", MODELS)
def test_units(model, cov_type):
    """x2 in other units, far from zero: fitted in another basis, its standard error is in these units."""
    t = small().assign(far=lambda d: 1e6 + 1e-3 * d.x2)
    a, b = (with_cov(fit(model, f, t), cov_type) for f in ("y ~ x1 + x2", "y ~ x1 + far"))
    assert_allclose(b.bse["far"], 1e3 * a.bse["x2"], rtol=1e-5)
    assert_allclose(b.bse["x1"], a.bse["x1"], rtol=1e-6)


@types
@models
def test_kept(model, cov_type):
    """Saved, pickled, without the data: the covariance and what it was told stay."""
    res = with_cov(of_levels(model), cov_type)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    for other in (glmclf.load(file), pickle.loads(pickle.dumps(res))):
        assert_array_equal(other.cov_params(), res.cov_params())
        assert (other.cov_type, other.cov_kwds) == (res.cov_type, res.cov_kwds)
        assert text(other).split("Notes:")[1] == text(res).split("Notes:")[1]
    with pytest.raises(glmclf.errors.DataError, match="rows"):
        with_cov(glmclf.load(io.StringIO(file.getvalue())), cov_type)


def test_new_data_and_tests_use_it():
    res = shared("Logit").with_cov("HC3")
    V, x = res.cov_params().to_numpy(), res.model.exog[:3]
    se = np.sqrt(np.einsum("ij,jk,ik->i", x, V, x))
    assert_allclose(res.get_prediction(toy().head(3), which="linear").se, se, rtol=1e-9)
    assert_allclose(res.t_test("x1 = 0").sd.item(), res.bse["x1"], rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------- seeds
def test_seeds():
    res = fit("Logit", "y ~ x1")

    def bse(seed):
        return res.with_cov("bootstrap", reps=8, seed=seed).bse.to_numpy()

    state = np.random.get_state()[1].copy()
    assert_array_equal(bse(3), bse(3))
    assert_array_equal(bse(3), bse(np.random.SeedSequence(3)))
    drawn = res.with_cov("bootstrap", reps=8, seed=np.random.default_rng(3))
    assert_array_equal(drawn.bse, bse(np.random.default_rng(3)))
    assert_array_equal(drawn.bse, bse(drawn.cov_kwds["seed"]))
    assert_array_equal(bse(3), bse(np.int64(3)))
    assert (bse(3) != bse(4)).any() and (bse(None) != bse(None)).any()
    generator = np.random.default_rng(3)
    assert (bse(generator) != bse(generator)).any()  # it goes on
    assert_array_equal(np.random.get_state()[1], state)


def test_a_random_seed_can_be_repeated():
    res = fit("Logit", "y ~ x1").with_cov("bootstrap", reps=8)
    again = res.with_cov("bootstrap", reps=8, seed=res.cov_kwds["seed"])
    assert_array_equal(res.bse, again.bse)
    for seed in ([1, 2], np.random.SeedSequence(7, spawn_key=(1,)), np.random.default_rng(1)):
        found = res.with_cov("bootstrap", reps=8, seed=seed)
        assert_array_equal(found.bse, res.with_cov("bootstrap", **found.cov_kwds).bse)
    sequence = res.with_cov("bootstrap", reps=8, seed=np.random.SeedSequence(7))
    assert sequence.cov_kwds["seed"] == 7
    clustered = res.with_cov("bootstrap", reps=8, groups="firm", seed=1)
    assert_array_equal(clustered.bse, res.with_cov("bootstrap", **clustered.cov_kwds).bse)
    clustered = res.with_cov("cluster", groups=["firm", "year"])
    assert_array_equal(clustered.bse, res.with_cov("cluster", **clustered.cov_kwds).bse)


def test_threads_do_not_matter():
    model = make("Logit", "y ~ x1", toy())
    a, b = (model.fit(cov_type="bootstrap", cov_kwds=BOOTSTRAP, n_threads=k) for k in (1, 3))
    assert_array_equal(a.cov_params(), b.cov_params())


def test_draws():
    rng = np.random.default_rng(1)
    times = np.array([0.0, 3, 1, 6])
    total = sum(drawn(4, times, None, rng) for _ in range(400))
    assert drawn(4, times, None, rng).sum() == 10 and total[0] == 0
    assert_allclose(total / 400, times, atol=0.4)  # a draw of one observation has deviation below 1.6/20
    codes = np.array([0, 1, 1, 2])
    w = drawn(4, None, codes, rng)
    assert w[1] == w[2] and w[0] + w[1] + w[3] == 3


def test_many_repeated_rows_are_drawn_by_their_law(monkeypatch):
    monkeypatch.setattr("glmclf.inference.covariance.resampling.MAX_DRAWN_ONE_BY_ONE", 5)
    w = drawn(3, np.array([4.0, 0, 9]), None, np.random.default_rng(1))
    assert w.sum() == 13 and w[1] == 0


# --------------------------------------------------------------------------------------------- replications left out
def test_replications_without_an_estimate_are_counted():
    """A cell of four rows, one event: 0 or only events in it, or no row, is no rare draw."""
    rng = np.random.default_rng(0)
    t = pd.DataFrame({"x": rng.normal(size=60), "d": np.arange(60) < 4})
    t["y"] = np.where(t.d, np.arange(60) == 0, rng.random(60) < 0.5).astype(int)
    res = fit("Logit", "y ~ x + d", t)
    with pytest.warns(InferenceWarning, match="of 60 bootstrap replications have no estimate") as caught:
        found = res.with_cov("bootstrap", reps=60, seed=2)
    draws, rng = [], np.random.default_rng(2)
    for _ in range(60):
        draws.append(np.bincount(rng.integers(0, 60, 60), minlength=60)[:4])
    empty = sum(w.sum() == 0 for w in draws)
    separated = sum(w.sum() > 0 and (w[0] == 0 or w[1:].sum() == 0) for w in draws)
    assert empty and separated
    assert found.cov_kwds["left_out"] == {"separated": separated, "collinear": empty}
    assert found.cov_kwds["used"] == 60 - empty - separated
    assert f"{separated} separated, {empty} collinear left out" in words(found)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert found.bse["d[T.True]"] < 10  # a separated draw ends at an estimate near 20 with an se of thousands


def test_too_few_replications():
    """One overlap of two rows: draws without either are separated."""
    t = pd.DataFrame({"x": [0.0, 1, 2, 3, 4, 5], "y": [0, 0, 1, 0, 1, 1]})
    with pytest.raises(EstimationError, match="only .* of 40 replications have an estimate .*separated"):
        quietly(lambda: fit("Logit", "y ~ x", t).with_cov("bootstrap", reps=40, seed=1))


def test_a_jackknife_without_an_estimate_names_the_row():
    t = toy(40).assign(d=lambda f: (f.index < 3).astype(float))
    t["y"] = np.where(t.d == 1, np.arange(40) == 1, t.y01).astype(int)
    t.index = [f"r{i}" for i in range(40)]
    with pytest.raises(EstimationError, match=r'"jackknife": without row \'r1\' there is no estimate \(1 separated\)'):
        fit("Logit", "y ~ x1 + d", t).with_cov("jackknife")


# --------------------------------------------------------------------------------- separated and bias-reduced fits
def separated(kind="Logit"):
    t = toy().assign(z=lambda f: np.where((f.y == "yes") & (f.x2 > 2), 1, 0))
    with pytest.warns(SeparationWarning):
        return make(kind, "y ~ x1 + z", t).fit()


@pytest.mark.parametrize("model", MODELS)
def test_finite_coefficients_of_a_separated_fit(model):
    """HC2 to HC5 are those of the rows that are not decided; these count for HAC, in their places."""
    res = separated(model)
    rest = fit(model, "y ~ x1", res.model.data.frame.query("z == 0"))
    for kind in LEVERAGE:
        close(res.with_cov(kind).bse["x1"], rest.with_cov(kind).bse["x1"], 1e-8)
    close(res.with_cov("HAC", maxlags=0).bse["x1"], res.with_cov("HC0").bse["x1"], 1e-10)
    S = rest.model.score_obs(rest.params)
    full = np.zeros((len(toy()), 2))
    full[res.model.data.frame.z.to_numpy() == 0] = S
    A = np.linalg.inv(rest.model.information(rest.params))
    G = full[1:].T @ full[:-1]
    V = A @ (full.T @ full + 0.5 * (G + G.T)) @ A
    close(res.with_cov("HAC", maxlags=1).bse["x1"], np.sqrt(V[1, 1]), 1e-8)


@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"weights": "sw"}])
def test_leverages_of_a_separated_fit_to_parts(keywords):
    """The mean leverage is that of the rows that are not decided, wherever these are."""
    t = toy().assign(z=lambda f: np.where((f.y == "yes") & (f.x2 > 2), 1, 0))
    with pytest.warns(SeparationWarning):
        parts = Logit.from_formula("y ~ x1 + z", lambda: iter([t[:50], t[50:90], t[90:]]), **keywords).fit()
    rest = make("Logit", "y ~ x1", t[t.z == 0], **keywords).fit()
    for kind in LEVERAGE:
        close(parts.with_cov(kind).bse["x1"], rest.with_cov(kind).bse["x1"], 1e-11)


@models
@pytest.mark.parametrize("cov_type", ["bootstrap", "jackknife"])
def test_refits_of_a_separated_fit_are_refused(model, cov_type):
    with pytest.raises(NotImplementedError, match=f'"{cov_type}" of a separated fit'):
        separated(model).with_cov(cov_type)


@pytest.mark.parametrize("model", MODELS)
def test_bias_reduced_fits(model):
    """Leverage and scores at the estimate; refits would have to be bias-reduced, too."""
    res = make(model, "y ~ x1 + x2", toy()).fit(bias_reduction="firth")
    for kind in ("bootstrap", "jackknife"):
        with pytest.raises(NotImplementedError, match=f'"{kind}" with bias_reduction="firth"'):
            res.with_cov(kind)
    if model == "Logit":
        X, p, y = res.model.exog, res.fittedvalues.to_numpy(), toy().y01.to_numpy()
        A = np.linalg.inv(X.T * (p * (1 - p)) @ X)
        h = p * (1 - p) * np.einsum("ij,jk,ik->i", X, A, X)
        for kind in LEVERAGE:
            S = X * ((y - p) / (1 - h) ** (delta(h, kind) / 2))[:, None]
            assert_allclose(res.with_cov(kind).cov_params(), A @ S.T @ S @ A, rtol=1e-9)


# ------------------------------------------------------------------------------------------------- leverage of one
def test_a_row_of_leverage_one_is_named():
    t = pd.DataFrame({"won": [4, 3, 7, 2], "lost": [5, 6, 2, 8], "x": [0.0, 1, 2, 0], "g": list("aaab")})
    t.index = ["p", "q", "r", "s"]
    res = fit("Logit", "won + lost ~ x + g", t)
    for kind in LEVERAGE:
        with pytest.raises(EstimationError, match=f"\"{kind}\" divides by 1 - leverage, which is 0 for row 's'") as e:
            res.with_cov(kind)
        assert '"HC1"' in str(e.value)
    assert np.isfinite(fit("Logit", "won + lost ~ x", t).with_cov("HC3").bse).all()


# ------------------------------------------------------------------------------------------------------- few clusters
@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("model", [*MODELS, "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_few_clusters(model):
    t = toy().assign(block=np.arange(160) % 9, many=np.arange(160) % 20)
    m = make(model, "g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2", t)
    with pytest.warns(InferenceWarning, match=r'"cluster": Few clusters \(9 of block\)') as caught:
        res = m.fit(cov_type="cluster", cov_kwds={"groups": "block"})
    assert len(caught) == 1 and caught[0].filename == __file__
    assert "Few clusters (9 of block)" in words(res)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Few clusters" not in words(m.fit(cov_type="cluster", cov_kwds={"groups": "many"}))
    with pytest.warns(InferenceWarning, match=r"Few clusters \(9 of block\)"):
        res.with_cov("cluster", groups=["block", "many"])


def test_few_clusters_of_a_bootstrap():
    with pytest.warns(InferenceWarning, match=r'"bootstrap": Few clusters \(3 of g\)'):
        fit("Logit", "y ~ x1").with_cov("bootstrap", groups="g", reps=5, seed=1)


# ----------------------------------------------------------------------------------------------- several groupings
# m <- glm(case ~ spontaneous + induced + age, binomial, infert); V <- vcovCL(m, cluster = ~ ..., type = "HC1")
# (sandwich 3.0-2): diag(V), V[2, 3]
MULTIWAY = {
    ("stratum", "age", "parity"): (
        [2.30091337651504e-01, 8.84161826596812e-02, 3.17999463861472e-02, 7.82804447399964e-05],
        0.00698862269256298,
    ),
    ("stratum", "age", "parity", "education"): (
        [0.401076818582414507, 0.050216330739384675, 0.092162403394489653, 0.000241635100441259],
        -0.0246476802933421,
    ),
    ("parity", "education", "induced"): (
        [0.224329534130738861, 0.007258654005137298, 0.049756833711879792, 0.000161274073214122],
        -0.0249350752112756,
    ),
}


@pytest.mark.filterwarnings("ignore:.*Few clusters", "ignore:.*not positive semi-definite")
@pytest.mark.parametrize("source", ["memory", "stream"])
@pytest.mark.parametrize("groups", MULTIWAY)
def test_several_groupings_of_r(groups, source):
    infert = pd.read_csv(ROOT / "data" / "infert.csv")
    data = infert if source == "memory" else lambda: (infert.iloc[i : i + 60] for i in range(0, len(infert), 60))
    res = Logit.from_formula("case ~ spontaneous + induced + age", data).fit()
    V = res.with_cov("cluster", groups=list(groups)).cov_params()
    variances, covariance = MULTIWAY[groups]
    assert_allclose(np.diag(V), variances, rtol=2e-8)
    assert_allclose(V.iloc[1, 2], covariance, rtol=2e-8)


@pytest.mark.filterwarnings("ignore:.*Few clusters", "ignore:.*not positive semi-definite")
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"weights": "sw", "offset": "off"}], ids=str)
@pytest.mark.parametrize("model", [*MODELS, "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_several_groupings_are_a_sum_over_their_intersections(model, keywords):
    """V = sum over sets of groupings of (-1)^(size + 1) V of the intersections, each a covariance of one grouping."""
    t = toy().assign(third=np.arange(160) % 7)
    names = ["firm", "year", "third"]
    keywords = keywords if model in (*MODELS, "MNLogit") else {k: v for k, v in keywords.items() if k != "offset"}
    res = make(model, "g ~ x1 + x2" if model == "MNLogit" else "y ~ x1 + x2", t, **keywords).fit()

    def matrix(groups):
        found = res.with_cov("cluster", groups=groups)
        return getattr(found, "discriminant", found).cov_params().to_numpy()

    expected = 0.0
    for k in (1, 2, 3):
        for some in itertools.combinations(names, k):
            crossed = t[list(some)].astype(str).agg("/".join, axis=1)
            expected = expected - (-1) ** k * matrix(crossed)
    assert_allclose(matrix(names), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
    assert_allclose(matrix([*names, "year"]), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA"])
def test_a_negative_variance_is_said_in_every_model(model):
    n = np.arange(24)
    t = pd.DataFrame({"y": n % 3 == 0, "x": n % 5 + 0.1 * (n % 2), "a": n % 2, "b": n // 2 % 2, "c": n % 3})
    formula = "y ~ x" if model != "MNLogit" else "c ~ x"
    with pytest.warns(InferenceWarning) as caught:
        found = make(model, formula, t).fit(cov_type="cluster", cov_kwds={"groups": ["a", "b"]})
    V = getattr(found, "discriminant", found).cov_params()
    assert (np.diag(V) < 0).any()
    assert any("multiway covariance by a and b is not positive semi-definite" in str(w.message) for w in caught)
    assert np.isnan(found.get_margeff().margeff_se).any(axis=None)  # and numpy warns of nothing


# ----------------------------------------------------------------------------------------------------- time's order
def test_rows_left_out_in_between_are_warned_of():
    t = toy().assign(x1=lambda f: f.x1.where(f.index != 80))
    with pytest.warns(InferenceWarning, match="1 row between the first and the last of the fit is left out") as caught:
        res = make("Logit", "y ~ x1", t).fit(cov_type="HAC", cov_kwds={"maxlags": 2})
    assert len(caught) == 1 and "count as neighbours in time" in words(res)
    close(res.bse, fit("Logit", "y ~ x1", t.dropna()).with_cov("HAC", maxlags=2).bse)
    with pytest.warns(InferenceWarning, match="10 rows between"):
        quiet = Logit.from_formula("y ~ x1", toy(), subset=(toy().index < 40) | (toy().index >= 50)).fit()
        quiet.with_cov("HAC")
    with pytest.warns(InferenceWarning, match="rows between"):
        make("Logit", "y ~ x1", toy(), freq_weights="times").fit(cov_type="HAC")


def test_rows_left_out_at_the_ends_are_not():
    t = toy().assign(x1=lambda f: f.x1.where((f.index > 4) & (f.index < 150)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Logit.from_formula("y ~ x1", t, subset=t.index > 2).fit(cov_type="HAC")
        fit("Logit", "y ~ x1", toy()).with_cov("HAC")


def test_an_index_out_of_order():
    t = toy().set_index(pd.date_range("2020", periods=160, freq="D"))
    for ordered in (t, t[::-1]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Logit.from_formula("y ~ x1", ordered).fit(cov_type="HAC")
    with pytest.warns(InferenceWarning, match="its index is not sorted"):
        Logit.from_formula("y ~ x1", t.sample(frac=1, random_state=1)).fit(cov_type="HAC")


# ----------------------------------------------------------------------------------------------------- generative
@pytest.mark.parametrize("model", ["LDA", "QDA", "NaiveBayes"])
def test_hac_of_generative_models(model):
    """Of influences: no lag is HC0, one adds half of the products of neighbours; repeated rows are weights."""
    t = toy().assign(times=lambda f: f.times + 1)
    res = make(model, "g ~ x1 + x2", t).fit()
    zero, one = (res.with_cov("HAC", maxlags=lags) for lags in (0, 1))
    close(zero.discriminant.bse, res.with_cov("HC0").discriminant.bse)
    assert (one.discriminant.bse.to_numpy() != zero.discriminant.bse.to_numpy()).any()
    pairs = np.arange(160) // 2  # within pairs alone, by clusters of two: the other neighbours are the rest
    assert one.with_cov("cluster", groups=pairs).cov_type == "cluster" and one.cov_kwds == {"maxlags": 1}
    a = make(model, "g ~ x1 + x2", t, freq_weights="times").fit(cov_type="HAC", cov_kwds={"maxlags": 2})
    expanded = t.loc[t.index.repeat(t.times)].reset_index(drop=True)
    b = make(model, "g ~ x1 + x2", expanded).fit(cov_type="HAC", cov_kwds={"maxlags": 2})
    close(a.discriminant.bse, b.discriminant.bse, 1e-8)
    file = io.StringIO()
    one.save(file)
    file.seek(0)
    again = glmclf.load(file)
    assert again.cov_kwds == {"maxlags": 1} and "1 lag" in words(again)
    close(again.discriminant.bse, one.discriminant.bse)


def test_hac_of_rows_with_missing_features():
    res = make("LDA", "y ~ x1 + x2", toy()).fit(cov_type="HAC", cov_kwds={"maxlags": 2})
    new = toy().head(3).assign(x2=[np.nan, 1.0, 2.0])
    close(res.get_prediction(new).se, res.model.fit().with_cov("HAC", maxlags=2).get_prediction(new).se)


# ----------------------------------------------------------------------------------------------------- a large pass
def test_blocks_do_not_matter():
    """More rows than a block: scores and leverages are gathered in order."""
    t = pd.concat([datasets.load("fair")] * 3, ignore_index=True)
    res = fit("Logit", "I(affairs > 0) ~ age + C(occupation)", t)
    X, p = res.model.exog, res.fittedvalues.to_numpy()
    u = res.model.endog - p
    A = np.linalg.inv(X.T * (p * (1 - p)) @ X)
    h = p * (1 - p) * np.einsum("ij,jk,ik->i", X, A, X)
    for kind in LEVERAGE:
        S = X * (u / (1 - h) ** (delta(h, kind) / 2))[:, None]
        assert_allclose(res.with_cov(kind).bse, np.sqrt(np.diag(A @ S.T @ S @ A)), rtol=1e-9)
    S = X * u[:, None]
    G = S[1:].T @ S[:-1]
    V = A @ (S.T @ S + 0.5 * (G + G.T)) @ A
    assert_allclose(res.with_cov("HAC", maxlags=1).bse, np.sqrt(np.diag(V)), rtol=1e-9)


def test_nothing_given_is_modified():
    t = toy()
    kwds = {"groups": "firm", "reps": 5, "seed": 1}
    MNLogit.from_formula("g ~ x1", t).fit(cov_type="bootstrap", cov_kwds=kwds)
    assert kwds == {"groups": "firm", "reps": 5, "seed": 1}
    pd.testing.assert_frame_equal(t, toy())


# -------------------------------------------------------------------------------- rows that determine a coefficient
ALONE = "no residual"


def counts(n, **columns):
    return pd.DataFrame({"s": [3, 5, 1, 4][:n], "f": [4, 2, 6, 1][:n], "x": [0.0, 1.0, 3.0, 4.0][:n], **columns})


def lone(n=40):
    """A dummy of one row of counts."""
    rng = np.random.default_rng(0)
    t = pd.DataFrame({"x": rng.normal(size=n), "o": (np.arange(n) == 3) * 1.0, "k": np.arange(n) % 23})
    return t.assign(s=rng.integers(1, 5, n), f=rng.integers(1, 5, n))


@pytest.mark.parametrize("model", MODELS)
def test_perfectly_fitted_rows_are_warned_of(model):
    cases = [(counts(2), "s + f ~ x", None), (counts(1), "s + f ~ 1", None), (counts(2), "s + f ~ x", [2, 3])]
    cases += [(counts(3, g=list("abc")), "s + f ~ g", None), (lone(), "s + f ~ x + o", None)]
    for table, formula, times in cases:
        weights = {} if times is None else {"freq_weights": np.array(times)}
        res = make(model, formula, table, **weights).fit()
        with pytest.warns(InferenceWarning, match=ALONE):
            robust = res.with_cov("HC0")
        assert ALONE in words(robust) and ALONE not in words(res)
        assert robust.t_test(np.eye(len(res.params))).sd.max() < res.bse.max()


@pytest.mark.parametrize("cov_type, kwds", [
    ("HC1", {}), *((kind, {}) for kind in LEVERAGE), ("HAC", {}), ("jackknife", {}), ("bootstrap", BOOTSTRAP)
])
def test_perfectly_fitted_rows_in_every_type(cov_type, kwds):
    res = make("Logit", "s + f ~ x", counts(2), freq_weights=np.array([20, 30])).fit()
    with pytest.warns(InferenceWarning, match=ALONE):
        assert (res.with_cov(cov_type, **kwds).bse < 1e-6).all()


def test_rows_with_residuals_are_not_warned_of():
    table = lone()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = make("Logit", "s + f ~ x", table).fit()
        for cov_type in ("HC0", "HC3", "HC4", "HC4m", "HC5", "HAC", "jackknife"):
            res.with_cov(cov_type)
        res.with_cov("cluster", groups="k")
    with pytest.warns(InferenceWarning, match=ALONE):
        make("Logit", "s + f ~ x + o", table).fit().with_cov("cluster", groups=np.arange(40))


def test_as_many_rows_as_parameters():
    two = make("Logit", "s + f ~ x", counts(2)).fit()
    for cov_type in ("HC1", "HAC"):
        with pytest.raises(ValueError, match="more observations than parameters"):
            two.with_cov(cov_type)
    for res in (two, make("Logit", "s + f ~ 1", counts(1)).fit()):
        for cov_type in (*LEVERAGE, "jackknife"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(EstimationError, match='Use "nonrobust"'):  # others are refused here
                    res.with_cov(cov_type)
        assert res.with_cov("nonrobust").cov_type == "nonrobust"


def test_refits_of_an_estimate_short_of_the_maximum():
    raw = make("Logit", "y ~ x1", small()).fit(method="sgd", polish=False, seed=1)
    for cov_type in ("bootstrap", "jackknife"):
        with pytest.warns(InferenceWarning, match="Replications are maxima"):
            assert "Replications are maxima" in words(raw.with_cov(cov_type, **TYPES[cov_type]))
    assert np.isnan(raw.llr) and np.isnan(raw.llr_pvalue) and "LLR p-value: nan" in words(raw)


@pytest.mark.parametrize("levels", [12, 150])
@pytest.mark.filterwarnings("ignore:cov_type=.cluster.. Few clusters")
def test_clusters_tell_nothing_of_what_is_their_own(levels):
    """Scores of a level's own intercept and slope add up to 0 in its rows: a sandwich holds nothing of their spread."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": np.repeat(np.arange(levels), 30), "x": rng.normal(size=30 * levels)})
    table["y"] = (rng.logistic(size=len(table)) < table.x / 2).astype(int)
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": "g"}}
    with pytest.warns(glmclf.errors.InferenceWarning, match=f"add up to 0 for {2 * levels} coefficients"):
        res = glmclf.Logit.from_formula("y ~ x * C(g)", table).fit(**clusters)
    assert "clusters tell nothing of their spread" in " ".join(str(res.summary()).split())
    table["pair"] = table.g // 2
    for groups in ("g", "pair"):  # of levels within clusters, too; of x they tell
        clusters["cov_kwds"] = {"groups": groups}
        with pytest.warns(glmclf.errors.InferenceWarning, match=f"add up to 0 for {levels} coefficients"):
            glmclf.Logit.from_formula("y ~ x + C(g)", table).fit(**clusters)
    table["across"] = np.arange(len(table)) % 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        glmclf.Logit.from_formula("y ~ x + C(g)", table).fit(cov_type="cluster", cov_kwds={"groups": "across"})
