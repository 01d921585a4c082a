"""Predictions of LDA, QDA and NaiveBayes: missing features, decisions, other priors, standard errors, far away rows."""

import functools
import io

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_softmax, logit, softmax
from scipy.stats import multivariate_normal

import glmclf
from glmclf import LDA, QDA, NaiveBayes
from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.fit import fit_gaussian
from glmclf.core.gaussian.moments import class_moments
from glmclf.core.rows.blocks import Blocks
from glmclf.errors import DataWarning, EstimationError

LEVELS = ["high", "low", "mid"]
NAMES = ["x1", "x2", "x3"]
FORMULA = "y ~ x1 + x2 + x3"
LAWS = {
    "LDA full": (LDA, {}),
    "LDA diag": (LDA, {"covariance": "diag"}),
    "LDA spherical": (LDA, {"covariance": "spherical"}),
    "QDA full": (QDA, {}),
    "QDA diag": (QDA, {"covariance": "diag"}),
    "QDA spherical": (QDA, {"covariance": "spherical"}),
    "NaiveBayes": (NaiveBayes, {}),
}
DISCRIMINANTS = [name for name in LAWS if name != "NaiveBayes"]
laws = pytest.mark.parametrize("law", LAWS)
discriminants = pytest.mark.parametrize("law", DISCRIMINANTS)


@functools.cache
def _toy():
    rng = np.random.default_rng(17)
    y = rng.choice(3, 120, p=[0.25, 0.45, 0.3])
    mixing = np.eye(3) + 0.25 * rng.normal(size=(3, 3, 3))
    X = rng.normal(size=(3, 3))[y] + np.einsum("ip,ipq->iq", rng.normal(size=(120, 3)), mixing[y])
    t = pd.DataFrame(X, columns=NAMES, index=[f"r{i}" for i in range(120)])
    t["y"], t["g"], t["firm"] = np.array(LEVELS)[y], rng.choice(list("abc"), 120), rng.integers(0, 20, 120)
    return t


def toy():
    return _toy().copy()


@functools.cache
def fitted(law, formula=FORMULA, cov_type=None, **keywords):
    model, options = LAWS[law]
    return model.from_formula(formula, toy(), **options, **keywords).fit(cov_type=cov_type)


def close(a, b, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(np.asarray(a, dtype=float), np.asarray(b, dtype=float), rtol=rtol, atol=atol)


def parameters(res):
    """Priors, means and covariance matrices by level, from what the result says."""
    means = res.means if hasattr(res, "means") else None
    covariances = res.covariances
    each = covariances if isinstance(covariances, dict) else dict.fromkeys(res.levels, covariances)
    return res.priors, means, each


def holes(t):
    """Rows with every pattern of missing features."""
    t = t.head(16)[NAMES].copy()
    for i in range(len(t)):
        for j in range(3):
            if i >> j & 1:
                t.iloc[i, j] = np.nan
    return t


# ------------------------------------------------------------------------------------------------- missing features
@discriminants
def test_missing_features_are_integrated_out(law):
    """Posteriors and densities of the marginal law N(m_o, S_oo), written out."""
    res, new = fitted(law), holes(toy())
    priors, means, covariances = parameters(res)
    joint, p = res.predict(new, "joint"), res.predict(new)
    for label, row in new.iterrows():
        seen = row.notna()
        expected = [
            np.log(priors[k])
            + (
                multivariate_normal(means.loc[k, seen], covariances[k].loc[seen, seen]).logpdf(row[seen])
                if seen.any()
                else 0.0
            )
            for k in LEVELS
        ]
        close(joint.loc[label], expected, 1e-10, 1e-12)
        close(p.loc[label], softmax(expected), 1e-10)
        close(res.predict(new.loc[[label]], "linear"), [np.subtract(expected, expected[0])], 1e-9, 1e-10)
    assert list(p.index) == list(new.index)


@laws
def test_missing_feature_is_an_integral(law):
    """Of the density over all values that it might have."""
    res, row = fitted(law), toy().head(1)[NAMES]
    gap = row.assign(x2=np.nan)
    # the trapezoidal rule is exact, far out and for a smooth density
    x = np.linspace(-25, 25, 2001)
    density = np.exp(res.predict(row.loc[row.index.repeat(len(x))].assign(x2=x), "joint"))
    close(np.exp(res.predict(gap, "joint")), [density.sum() * (x[1] - x[0])], 1e-9)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1"])
@pytest.mark.parametrize("law", ["LDA full", "LDA diag", "QDA full", "QDA diag", "NaiveBayes"])
def test_missing_features_are_a_fit_without_them(law, cov_type):
    """But HC1's factor is that of the fit."""
    res, new = fitted(law, cov_type=cov_type), holes(toy())
    prediction = res.get_prediction(new)
    frame = prediction.summary_frame().reset_index(level="level")
    for seen, rows in new.groupby(new.notna().apply(tuple, axis=1)):
        names = [name for name, here in zip(NAMES, seen) if here]
        if not names:
            continue
        other = fitted(law, "y ~ " + " + ".join(names), cov_type=cov_type)
        close(res.predict(rows), other.predict(rows))
        close(res.predict(rows, "joint"), other.predict(rows, "joint"))
        se = other.get_prediction(rows).se
        if cov_type != "HC1":
            close(prediction.se.loc[rows.index], se, 1e-7)
            ends = other.get_prediction(rows).conf_int()
            close(frame.loc[rows.index, ["ci_lower", "ci_upper"]], ends, 1e-7)
        assert (frame.loc[rows.index, "features_missing"] == 3 - len(names)).all()


@laws
def test_rows_without_features_are_judged_by_the_priors(law):
    res, new = fitted(law), toy().head(2)[NAMES] * np.nan
    n = len(toy())
    for row in res.predict(new).to_numpy():
        close(row, res.priors, 1e-14)
    prediction = res.get_prediction(new)
    close(prediction.se.iloc[0], np.sqrt(res.priors * (1 - res.priors) / n), 1e-12)
    frame = prediction.summary_frame()
    assert (frame.features_missing == 3).all() and (frame.ci_lower > 0).all() and (frame.ci_upper < 1).all()
    assert res.predict(new, "class").tolist() == [res.priors.idxmax()] * 2
    fixed = fitted(law, priors="equal")
    close(fixed.predict(new), 1 / 3, 1e-14)
    close(fixed.get_prediction(new).se, 0)
    close(res.get_prediction(new, priors=[0.2, 0.3, 0.5]).predicted, [[0.2, 0.3, 0.5]] * 2, 1e-14)


def test_complete_rows_say_nothing_of_missing_features():
    assert "features_missing" not in fitted("LDA full").get_prediction(toy()).summary_frame()


def test_a_missing_factor_lacks_all_its_dummies():
    t = toy()
    res, other = (LDA.from_formula(f, t).fit() for f in ("y ~ x1 + C(g) + np.exp(x2)", "y ~ x1 + np.exp(x2)"))
    new = t.head(3).assign(g=[np.nan, "b", np.nan])
    close(res.predict(new).iloc[[0, 2]], other.predict(new).iloc[[0, 2]])
    frame = res.get_prediction(new).summary_frame()
    assert frame.features_missing.groupby(level=0, sort=False).first().tolist() == [2, 0, 2]
    close(res.predict(t.head(1).assign(x2=np.nan)), LDA.from_formula("y ~ x1 + C(g)", t).fit().predict(t.head(1)))


@laws
def test_small_sample_factors_are_those_of_the_fit(law):
    """HC1 is n/(n-p) times HC0 with the p of the fit, for rows that lack a feature, too."""
    res, t = fitted(law), toy().head(4)
    t.loc[t.index[:2], "x1"] = np.nan
    zero, one = (res.with_cov(name).get_prediction(t, "linear").se**2 for name in ("HC0", "HC1"))
    ratio = (one / zero).to_numpy()
    ratio = ratio[np.isfinite(ratio)]
    n, p = res.nobs, res.discriminant.params.size
    close(ratio, n / (n - p), 1e-9)


def test_robust_intervals_of_missing_features_need_the_rows():
    res = LDA.from_formula(FORMULA, toy()).fit(cov_type="HC0")
    file = io.StringIO()
    res.save(file)
    res.remove_data()
    file.seek(0)
    for kept in (res, glmclf.load(file)):
        with pytest.raises(EstimationError, match=r"without x1.*rows of the fit"):
            kept.get_prediction(holes(toy()).iloc[[1]])
        close(kept.predict(holes(toy())), fitted("LDA full").predict(holes(toy())))


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_clustered_intervals_of_missing_features():
    t = toy()
    whole, part = (
        LDA.from_formula(f, t).fit(cov_type="cluster", cov_kwds={"groups": "firm"}) for f in (FORMULA, "y ~ x1 + x3")
    )
    n, old, new = len(t), 2 * 4, 2 * 3
    # the factors (n-1)/(n-p) count the coefficients of the fit
    factor = np.sqrt((n - new) / (n - old))
    gap = t.head(4).assign(x2=np.nan)
    for res in (whole, whole.with_cov("cluster", groups="firm")):
        se = res.get_prediction(gap).se.to_numpy() / part.get_prediction(gap).se.to_numpy()
        assert (np.isclose(se, 1) | np.isclose(se, factor)).all()


# ----------------------------------------------------------------------------------------------------- other shapes
@laws
def test_shapes_of_predictions(law):
    res, t = fitted(law), toy()
    p = res.predict(t)
    assert list(p.columns) == LEVELS and list(p.index) == list(t.index)
    close(p.sum(axis=1), 1, 1e-13)
    close(p, res.fittedvalues)
    close(p, res.predict())
    linear, joint = res.predict(t, "linear"), res.predict(t, "joint")
    assert (linear["high"] == 0).all()
    close(linear, joint.sub(joint["high"], axis=0), 1e-9, 1e-10)
    close(np.log(p), log_softmax(joint, axis=1), 1e-9, 1e-10)
    own = joint.to_numpy()[np.arange(len(t)), [LEVELS.index(v) for v in t.y]]
    close(own.sum(), res.llf, 1e-11)
    assert (res.predict(t, "class") == p.idxmax(axis=1)).all()
    assert res.predict(t.head(0)).shape == (0, 3) and len(res.get_prediction(t.head(0)).summary_frame()) == 0
    close(res.predict(t[NAMES[::-1]]), p)
    one = {"x1": 0.1, "x2": 0.2, "x3": 0.3}
    close(res.predict(one), res.predict(pd.DataFrame([one])))


@laws
def test_predictions_refuse(law):
    res, t = fitted(law), toy()
    for call, words in (
        (lambda: res.predict(t.drop(columns="x2")), "x2"),
        (lambda: res.predict(t, "probability"), 'choose "mean", '),
        (lambda: res.predict(t, rule="ml"), 'which="class"'),
        (lambda: res.predict(t, cost=np.eye(3)), 'which="class"'),
        (lambda: res.predict(t, "class", rule="best"), "rule"),
        (lambda: res.predict(t, "class", rule="ml", cost=np.eye(3)), "two rules"),
        (lambda: res.predict(t, "class", cost=np.eye(2)), "shape"),
        (lambda: res.predict(t, "class", cost=pd.DataFrame(np.eye(3))), "levels"),
        (lambda: res.predict(t, "class", cost=np.full((3, 3), np.nan)), "missing"),
        (lambda: res.predict(t, priors=[0.5, 0.5]), "3 levels"),
        (lambda: res.predict(t, priors=[0.5, 0.6, -0.1]), "from 0 to 1"),
        (lambda: res.predict(t, priors=[0.5, 0.6, 0.1]), "add up"),
        (lambda: res.predict(t, priors={"high": 0.5, "low": 0.5}), "levels"),
        (lambda: res.predict(t, priors={"high": 0.5, "low": 0.2, "up": 0.3}), "levels"),
        (lambda: res.predict(t, priors="same"), "equal"),
        (lambda: res.predict(t.head(0), priors="estimate"), "rows"),
        (lambda: res.get_prediction(t).summary_frame(alpha=2), "alpha"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    for which in ("class", "joint", "median"):
        with pytest.raises(ValueError, match=f"which='{which}'.*mean.*linear"):
            res.get_prediction(t, which)
    with pytest.raises(ValueError, match="'high', against which there are no log-odds"):
        res.get_prediction(t, "linear", priors=[0.0, 0.4, 0.6])
    with pytest.raises(NotImplementedError, match="estimate"):
        res.get_prediction(t, priors="estimate")


# ------------------------------------------------------------------------------------------------------- decisions
@laws
def test_rules(law):
    res, t = fitted(law), toy()
    p, joint = res.predict(t), res.predict(t, "joint")
    assert (res.predict(t, "class", rule="ml") == (joint - np.log(res.priors)).idxmax(axis=1)).all()
    equal = res.predict(t, "class", priors="equal")
    assert (res.predict(t, "class", rule="ml") == equal).all()
    C = np.array([[0.0, 4.0, 1.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])  # cost[truth, decision]
    expected = np.array(LEVELS)[(p.to_numpy() @ C).argmin(axis=1)]
    assert (res.predict(t, "class", cost=C) == expected).all()
    labelled = pd.DataFrame(C, LEVELS, LEVELS).loc[["mid", "high", "low"], ["low", "mid", "high"]]
    assert (res.predict(t, "class", cost=labelled) == expected).all()
    assert (res.predict(t, "class", cost=1 - np.eye(3)) == p.idxmax(axis=1)).all()
    moved = res.predict(t, priors=[0.6, 0.2, 0.2]).to_numpy()
    decided = res.predict(t, "class", cost=C, priors=[0.6, 0.2, 0.2])
    assert (decided == np.array(LEVELS)[(moved @ C).argmin(axis=1)]).all()


@laws
def test_rejection(law):
    res, t = fitted(law), toy()
    p = res.predict(t)
    C = np.column_stack([1 - np.eye(3), np.full(3, 0.3)])
    expected = np.where(p.max(axis=1) >= 0.7, p.idxmax(axis=1), "reject")
    decided = res.predict(t, "class", cost=C)
    assert (decided == expected).all() and 0 < (decided == "reject").sum() < len(t)
    named = pd.DataFrame(C, LEVELS, [*LEVELS, "ask"])[["ask", "mid", "low", "high"]]
    assert (res.predict(t, "class", cost=named) == np.where(expected == "reject", "ask", expected)).all()
    assert list(decided.index) == list(t.index)


def test_ties_go_to_the_first_level():
    """Of the levels in their order, whatever the reference."""
    t = pd.DataFrame({"x": [-2.0, 0.0, 0.0, 2.0, -1.0, 1.0], "y": ["b", "b", "a", "a", "b", "a"]})
    t = pd.concat([t, t.assign(y=t.y.map({"a": "b", "b": "a"}))], ignore_index=True)
    for reference in ("a", "b"):
        res = LDA.from_formula("y ~ x", t, reference=reference).fit()
        close(res.predict(t), 0.5)
        assert set(res.predict(t, "class")) == {"a"}
        assert set(res.predict(t, "class", cost=[[0, 1], [1, 0]])) == {"a"}
        assert set(res.predict(t, "class", cost=[[0, 1, 0.5], [1, 0, 0.5]])) == {"a"}


# ------------------------------------------------------------------------------------------------------ other priors
@laws
def test_estimated_priors(law):
    """Saerens' algorithm, written out: the mean posterior is the prior that it comes from."""
    res, t = fitted(law), toy()
    new = pd.concat([t[t.y == "low"]] * 3 + [t.head(25)])
    density = np.exp(res.predict(new, "joint") - np.log(res.priors)).to_numpy()
    q = res.priors.to_numpy()
    for _ in range(20_000):
        p = density * q / (density @ q)[:, None]
        if np.abs(p.mean(axis=0) - q).max() <= 1e-12:
            break
        q = p.mean(axis=0)
    found = res.predict(new, priors="estimate")
    close(found, p, 1e-6, 1e-8)  # a prior that tends to 0 does so slowly
    close(found, res.predict(new, priors=q / q.sum()), 1e-6, 1e-8)
    assert q[LEVELS.index("low")] > res.priors["low"]
    assert (res.predict(new, "class", priors="estimate") == found.idxmax(axis=1)).all()


@laws
def test_a_prior_of_zero(law):
    res, t = fitted(law), toy()
    zero = {"high": 0.4, "low": 0.6, "mid": 0.0}
    p = res.predict(t, priors=zero)
    assert (p["mid"] == 0).all()
    two = res.predict(t)[["high", "low"]].to_numpy() * [0.4, 0.6] / res.priors[["high", "low"]].to_numpy()
    close(p[["high", "low"]], two / two.sum(axis=1, keepdims=True))
    frame = res.get_prediction(t, priors=zero).summary_frame()
    assert frame.notna().all(axis=None)
    assert (frame.xs("mid", level="level") == 0).all(axis=None)
    first = res.get_prediction(t, priors=[0.0, 0.4, 0.6]).summary_frame()  # the reference too
    assert first.notna().all(axis=None) and (first.xs("high", level="level") == 0).all(axis=None)
    with pytest.raises(ValueError, match="'high', against which there are no log-odds"):
        res.predict(t, priors=[0.0, 0.4, 0.6], which="linear")
    assert (res.predict(t, priors=zero, which="linear")["mid"] == -np.inf).all()
    only = res.get_prediction(t, priors=[0.0, 0.0, 1.0]).summary_frame().xs("mid", level="level")
    assert (only.predicted == 1).all() and (only.se == 0).all()
    assert "mid" not in set(res.predict(t, "class", priors=zero))


# --------------------------------------------------------------------------------------------------- standard errors
def from_flat(res, theta, x):
    """Log posterior of one row from the flat parameters, in the order of the levels."""
    values = pd.Series(theta, index=res.params.index)
    kind, pooled = res.model._options["covariance"], isinstance(res.model, LDA)
    out = []
    for k in LEVELS:
        mean = np.array([values[f"mean[{k}, {x}]"] for x in NAMES])
        name = "" if pooled else f"{k}, "
        if kind == "spherical":
            S = np.eye(3) * values["var" if pooled else f"var[{k}]"]
        else:
            S = np.zeros((3, 3))
            for i in range(3):
                for j in range(i, 3) if kind == "full" else (i,):
                    S[i, j] = S[j, i] = values[f"cov[{name}{NAMES[i]}, {NAMES[j]}]"]
        odds = values.get(f"log_prior_odds[{k}]", 0.0)
        seen = ~np.isnan(x)
        D, S = (x - mean)[seen], S[np.ix_(seen, seen)]
        out.append(odds - 0.5 * np.linalg.slogdet(S)[1] - 0.5 * D @ np.linalg.solve(S, D))
    return log_softmax(out)


@discriminants
def test_standard_errors_by_the_delta_method(law):
    """Through all parameters and their covariance, by numerical derivatives."""
    res, V = fitted(law), fitted(law).cov_params().to_numpy()
    theta, new = res.params.to_numpy(), toy().iloc[[0, 30, 77]]
    new.iloc[1, 1], new.iloc[2, [0, 2]] = np.nan, np.nan
    prediction = res.get_prediction(new)
    frame = prediction.summary_frame()
    for row, (label, x) in enumerate(new[NAMES].iterrows()):
        steps, G = 1e-5 * np.maximum(np.abs(theta), 0.1), []
        for i, h in enumerate(steps):
            e = np.zeros(len(theta))
            e[i] = h
            f = [np.exp(from_flat(res, theta + c * e, x.to_numpy())) for c in (2, 1, -1, -2)]
            G.append((-f[0] + 8 * f[1] - 8 * f[2] + f[3]) / (12 * h))
        p, se = np.exp(from_flat(res, theta, x.to_numpy())), np.sqrt(np.diag(np.array(G).T @ V @ np.array(G)))
        close(prediction.predicted.loc[label], p)
        close(prediction.se.iloc[row], se, 2e-6, 1e-10)
        half = 1.959963984540054 * se / (p * (1 - p))
        ends = frame.loc[label]
        close(ends.ci_lower, expit(logit(p) - half), 1e-5)
        close(ends.ci_upper, expit(logit(p) + half), 1e-5)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
@laws
def test_predicted_log_odds(law, cov_type):
    """Linear in the coefficients of the discriminant, whose covariance has another way to their standard errors."""
    res, t = fitted(law, cov_type=cov_type), toy().head(8)
    prediction, d = res.get_prediction(t, "linear"), res.discriminant
    close(prediction.predicted, res.predict(t, "linear"))
    assert (prediction.predicted["high"] == 0).all() and (prediction.se["high"] == 0).all()
    of = {"Intercept": np.ones(8), **t}
    z = np.column_stack([_function(of, name) for name in d.params.index])
    K = len(LEVELS) - 1
    for j, level in enumerate(d.params.columns):
        R = np.kron(np.eye(K)[j], z)
        test = d.t_test(R)
        close(prediction.predicted[level], test.effect, 1e-7)
        close(prediction.se[level], test.sd, 1e-6)
        ends = prediction.conf_int(0.1).xs(level, level="level")
        close(ends["ci_upper"] - ends["ci_lower"], 2 * 1.6448536269514722 * prediction.se[level])
    close(prediction.conf_int().mean(axis=1).to_numpy(), prediction.predicted.to_numpy().ravel())
    known = res.get_prediction(t, "linear", priors=[0.2, 0.3, 0.5])
    close(known.predicted, res.predict(t, "linear", priors=[0.2, 0.3, 0.5]))


def test_log_odds_of_impossible_classes():
    """0 for the reference also where it cannot be; infinite ones have no interval; NaN where no class can be."""
    t = pd.DataFrame({"y": list("aabbcc") * 5, "g": list("uvuwww") * 5, "h": list("kkkllm") * 5})
    with pytest.warns(glmclf.errors.ZeroCellWarning):
        res = NaiveBayes.from_formula("y ~ g", t).fit()
    frame = res.get_prediction(pd.DataFrame({"g": ["u", "v", "w"]}), "linear").summary_frame()
    inf = np.inf
    expected = [[0, 0, -inf], [0, -inf, -inf], [0, inf, inf]]
    close(res.predict(pd.DataFrame({"g": ["u", "v", "w"]}), "linear"), expected)
    close(frame.predicted.unstack(), expected)
    close(frame.loc[(0, "b"), "se"], np.sqrt(1 / 5 + 1 / 5))  # log(10 * 5/10) - log(10 * 5/10), se of two counts of 5
    finite = np.isfinite(frame.predicted)
    assert frame[finite].notna().all(axis=None) and frame.loc[~finite, ["se", "ci_lower", "ci_upper"]].isna().all(
        axis=None
    )
    # what is certain by estimates of 0 has no interval; each of two classes that are left has one
    means = res.get_prediction(pd.DataFrame({"g": ["u", "v"]})).summary_frame()
    close(means.predicted.unstack(), [[0.5, 0.5, 0], [1, 0, 0]])
    intervals = means[["se", "ci_lower", "ci_upper"]].notna().all(axis=1).unstack()
    assert intervals.to_numpy().tolist() == [[True, True, False], [False, False, False]]
    with pytest.warns(glmclf.errors.ZeroCellWarning):
        two = NaiveBayes.from_formula("y ~ g + h", t).fit()
    with pytest.warns(DataWarning, match="1 row .0. with probability 0 in every class"):
        nowhere = two.predict(pd.DataFrame({"g": ["v"], "h": ["m"]}), "linear")
    assert nowhere.isna().all(axis=None)


def _function(columns, name):
    """Values of a function that log-odds are linear in: x, x^2, x:z, a sum of squares |x,z|^2."""
    if name.endswith("^2"):
        return sum(columns[part] ** 2 for part in name[:-2].strip("|").split(","))
    return np.prod([np.asarray(columns[part]) for part in name.split(":")], axis=0)


@laws
def test_standard_errors_with_known_priors(law):
    """Without the part of the priors; as of a fit with these priors."""
    res, t = fitted(law), toy().head(8)
    fixed = fitted(law, priors=(0.2, 0.3, 0.5))
    one, two = res.get_prediction(t, priors=[0.2, 0.3, 0.5]), fixed.get_prediction(t)
    close(one.summary_frame(), two.summary_frame(), 1e-8)
    estimated = fixed.get_prediction(t, priors=res.priors.to_dict())
    close(estimated.predicted, res.predict(t), 1e-10)
    assert (estimated.se <= res.get_prediction(t).se * (1 + 1e-12)).all(axis=None)
    assert (estimated.se < 0.999 * res.get_prediction(t).se).any(axis=None)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("cov_type", ["HC0", "HC1", "cluster"])
@laws
def test_robust_standard_errors_with_known_priors(law, cov_type):
    """As of a fit with these priors: also where the common covariance is not that of the classes, whose sizes then tell
    of it."""
    model, options = LAWS[law]
    more = {"cov_kwds": {"groups": "firm"}} if cov_type == "cluster" else {}
    for weights in ({}, {"weights": toy().firm / 10 + 1.0}):
        res = model.from_formula(FORMULA, toy(), **options, **weights).fit(cov_type=cov_type, **more)
        known = {**options, **weights, "priors": res.priors.to_dict()}
        fixed = model.from_formula(FORMULA, toy(), **known).fit(cov_type=cov_type, **more)
        for rows in (toy().head(8), holes(toy())) if cov_type == "HC0" else (toy().head(8),):
            one, two = res.get_prediction(rows, priors=res.priors.to_dict()), fixed.get_prediction(rows)
            close(one.se, two.se, 1e-7, 1e-10)
        assert (fixed.discriminant.bse.iloc[1:] > 0).all(axis=None)


def log_odds(kind, pooled, t, w, asked, **more):
    """Of rows with the features they have and with their priors, from one fit with weights w."""
    X, y = t[NAMES].to_numpy(), np.array([LEVELS.index(v) for v in t.y])
    moments, found = class_moments(Blocks(Dense(X), y, w), 3), []
    for row, priors in asked:
        law = fit_gaussian(moments, kind, pooled, priors=priors, **more).marginal(~np.isnan(row))
        joint = law.log_joint(row[None, ~np.isnan(row)])[0]
        found.append(joint[1:] - joint[0])
    return np.array(found)


@pytest.mark.parametrize(
    ("law", "more"),
    [
        *((law, {}) for law in DISCRIMINANTS),
        ("LDA full", {"shrinkage": 0.3}),
        ("LDA full", {"shrinkage": 0.3, "target": "identity"}),
        ("QDA full", {"shrinkage": 0.3, "target": "identity", "ridge": 0.2}),
    ],
)
def test_robust_standard_errors_by_the_infinitesimal_jackknife(law, more):
    """HC0 is the sum of squared derivatives of the log-odds in the weights of the rows."""
    model, options = LAWS[law]
    t, asked = toy().head(40), []
    for gap in ([], [1], [0, 2]):
        row = toy()[NAMES].iloc[70].to_numpy(copy=True)
        row[gap] = np.nan
        asked.append((row, None if gap == [1] else np.array([0.2, 0.3, 0.5])))
    res = model.from_formula(FORMULA, t, **options, **more).fit(cov_type="HC0")
    kind, pooled, w = options.get("covariance", "full"), model is LDA, np.ones(len(t))
    psi = []
    for h in 1e-4 * np.eye(len(t)):
        f = [log_odds(kind, pooled, t, w + sign * h, asked, **more) for sign in (1, -1)]
        psi.append((f[0] - f[1]) / 2e-4)
    for i, ((row, priors), own) in enumerate(zip(asked, log_odds(kind, pooled, t, w, asked, **more), strict=True)):
        S, p, changes = np.zeros((3, 3)), np.exp(log_softmax(np.append(0, own))), np.array(psi)[:, i]
        S[1:, 1:] = changes.T @ changes
        G = np.diag(p) - np.outer(p, p)
        prediction = res.get_prediction(pd.DataFrame([row], columns=NAMES), priors=priors)
        close(prediction.predicted, [p])
        close(prediction.se, [np.sqrt(np.diag(G @ S @ G))], 1e-5)


# --------------------------------------------------------------------------------------------------------- far away
@pytest.mark.parametrize("distance", [30.0, 1e3, 1e6])
@laws
def test_far_away_rows(law, distance):
    """Posteriors that underflow to 0 still have their logarithm, and no row is NaN."""
    res, rng = fitted(law), np.random.default_rng(1)
    new = pd.DataFrame(distance * rng.normal(size=(40, 3)), columns=NAMES)
    p, linear, joint = res.predict(new), res.predict(new, "linear"), res.predict(new, "joint")
    for table in (p, linear, joint):
        assert np.isfinite(table.to_numpy()).all()
    close(p.sum(axis=1), 1, 1e-13)
    assert (res.predict(new, "class") == joint.idxmax(axis=1)).all()
    frame = res.get_prediction(new).summary_frame()
    assert frame.notna().all(axis=None)
    assert frame.ci_lower.between(0, 1).all() and frame.ci_upper.between(0, 1).all()
    assert (frame.ci_lower <= frame.predicted).all() and (frame.predicted <= frame.ci_upper).all()
    inside = (frame.predicted > 1e-12) & (frame.predicted < 1 - 1e-12)
    assert (frame.se[inside] > 0).all()


def test_logs_of_tiny_posteriors():
    """A hundred standard deviations away, against 50 digits."""
    res = fitted("QDA full")
    priors, means, covariances = parameters(res)
    x = means.loc["low"] + 100 * np.sqrt(np.diag(covariances["low"]))
    with mp.workdps(50):
        scores = []
        for k in LEVELS:
            S = mp.matrix(covariances[k].to_numpy().tolist())
            d = mp.matrix((x - means.loc[k]).tolist())
            scores.append(mp.log(priors[k]) - mp.log(mp.det(S)) / 2 - (d.T * mp.lu_solve(S, d))[0] / 2)
        expected = [float(s - scores[0]) for s in scores]
        top = max(scores)
        p = [float(mp.exp(s - top) / mp.fsum(mp.exp(r - top) for r in scores)) for s in scores]
    row = x.to_frame().T
    close(res.predict(row, "linear"), [expected], 1e-11)
    close(res.predict(row), [p], 1e-8, 1e-300)


def test_intervals_near_one_are_those_of_the_complement():
    """p = 1 - 1e-12: the interval is on the scale of log p/(1 - p), computed without cancellation."""
    res, t = LDA.from_formula("y ~ x1 + x2", toy()[toy().y != "mid"]).fit(), toy().head(1)
    slope = res.discriminant.params["low"]
    x = (28.0 - slope["Intercept"] - slope["x2"] * t.x2.iloc[0]) / slope["x1"]
    frame = res.get_prediction(t.assign(x1=x)).summary_frame().droplevel(0)
    close(frame.predicted["high"], expit(-28.0), 1e-10)
    close(frame.se["high"], frame.se["low"], 1e-12)
    close(frame.ci_lower["high"], 1 - mp.mpf(frame.ci_upper["low"]), 1e-3)
    half = 1.959963984540054 * frame.se["high"] / expit(-28.0) / expit(28.0)
    close([frame.ci_lower["high"], frame.ci_upper["high"]], [expit(-28 - half), expit(-28 + half)], 1e-9)
