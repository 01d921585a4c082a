"""Naive Bayes against closed forms at high precision (checked against R's MASS and e1071), other models, and itself."""

import functools
import io
import json
import pathlib
import pickle

import numpy as np
import pandas as pd
import pytest
import references
from scipy.sparse import csr_array

import glmclf
from glmclf import LDA, QDA, MNLogit, NaiveBayes, errors
from glmclf.results.saving import checksums

RTOL = 1e-9  # the published values have twelve digits
DATA = pathlib.Path(__file__).parent.parent / "data"
PIMA = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
MIXED = "type ~ glu + npreg + ped + age + I(bmi > 30)"
MIXED_FAMILIES = {"npreg": "poisson", "ped": "gamma", "age": "exponential"}


def table(name):
    return references._data(f"data/{name}.csv").copy()


def titanic():
    """The table of counts, with the base levels of the published values."""
    levels = {"cls": ["1st", "2nd", "3rd", "Crew"], "sex": ["Female", "Male"], "age": ["Adult", "Child"]}
    return table("titanic").assign(**{c: lambda d, c=c: pd.Categorical(d[c], levels[c]) for c in levels})


def words():
    counts = [(3, 0, 1), (2, 2, 0), (4, 1, 1), (0, 3, 2), (1, 4, 4), (0, 2, 1), (1, 1, 5)]
    return pd.DataFrame(counts, columns=["w1", "w2", "w3"]).assign(cls=list("aaabbbb"))


def stored(name):
    return pd.read_csv(DATA / f"{name}.csv")


def close(found, expected, rtol=RTOL, atol=0.0):
    found, expected = np.asarray(found, float).ravel(), np.ravel(expected)
    if len(expected) == 1:
        expected = np.broadcast_to(expected, found.shape)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@functools.cache
def fitted(which, cov_type=None):
    """Fits of the published values; treat them as read-only."""
    formula, data, keywords = {
        "titanic": ("survived ~ cls + sex + age", titanic, {"freq_weights": "n"}),
        "titanic smoothed": ("survived ~ cls + sex + age", titanic, {"freq_weights": "n", "smoothing": 1}),
        "titanic joint": ("survived ~ cls:sex + age", titanic, {"freq_weights": "n"}),
        "missing": ("type ~ " + " + ".join(PIMA), lambda: stored("pima_tr2"), {}),
        "sprays": ("spray ~ count", lambda: stored("insect_sprays"), {"families": {"count": "poisson"}}),
        "mixed": (MIXED, lambda: table("pima_tr"), {"families": MIXED_FAMILIES}),
        "words": ("cls ~ w1 + w2 + w3", words, {"multinomial": ["w1", "w2", "w3"]}),
        "iris": ("species ~ sepal_length + sepal_width + petal_length + petal_width", lambda: table("iris"), {}),
    }[which]
    return NaiveBayes.from_formula(formula, data(), **keywords).fit(cov_type=cov_type)


EVERY = (
    "y ~ u + v + b + g + h + g2:h2 + n + e + r + w1 + w2 + w3",
    {"families": {"n": "poisson", "e": "exponential", "r": "gamma"}, "multinomial": ["w1", "w2", "w3"]},
)


@functools.cache
def _every(missing=0.15, n=90, seed=4):
    """A table with every family, missing values and three classes."""
    rng = np.random.default_rng(seed)
    k = np.sort(rng.integers(0, 3, n))
    t = pd.DataFrame({"y": np.array(["p", "q", "r"])[k]})
    t["u"], t["v"] = rng.normal(0.4 * k), 1e4 + rng.normal(k)
    t["b"] = (rng.random(n) < 0.3 + 0.2 * k).astype(float)
    for name in ("g", "h", "g2", "h2"):
        t[name] = np.array(["i", "j", "k"])[rng.integers(0, 3, n)]
    t["n"], t["e"], t["r"] = rng.poisson(2.0 + k), rng.exponential(1.0 + k), rng.gamma(2.0 + k)
    t[["w1", "w2", "w3"]] = rng.multinomial(9, [0.2, 0.3, 0.5], n)
    t["n"] = t["n"].astype(float)
    for name in t.columns[1:]:
        t[name] = t[name].where(rng.random(n) >= missing)
    t["f"], t["who"] = rng.integers(1, 4, n), np.arange(n) % 13
    return t


def every(**options):
    return _every(**options).copy()


def fit_every(data=None, cov_type=None, cov_kwds=None, **keywords):
    data = every() if data is None else data
    return NaiveBayes.from_formula(EVERY[0], data, **{**EVERY[1], **keywords}).fit(cov_type=cov_type, cov_kwds=cov_kwds)


# -------------------------------------------------------------------------------------------- published values
LIKELIHOODS = {
    "titanic": (-5455.8833323, 11, -1138.76451919),
    "titanic smoothed": (-5455.90543002, 11, -1138.54165883),
    "missing": (-6418.54314256, 29, -168.965551626),
    "mixed": (-2633.18870379, 15, -110.037972168),
    "words": (-19.1484357329, 5, -0.165751026014),
}


@pytest.mark.parametrize("which", LIKELIHOODS)
def test_likelihoods(which):
    res, (llf, k, conditional) = fitted(which), LIKELIHOODS[which]
    close([res.llf, res.llf_conditional], [llf, conditional])
    assert res.k_params == k
    used = res.k_params_effective
    close([res.aic, res.bic], [2 * used - 2 * llf, np.log(res.nobs) * used - 2 * llf])
    assert (used == k) == (which != "titanic smoothed")


def test_effective_parameters():
    res = fitted("titanic smoothed")
    close(res.k_params_effective, 10.9668935914)
    assert "10.9669 effective parameters of 11" in str(res.summary()).replace("\n    ", " ")
    assert np.isnan(res.llr_pvalue)  # not a maximum of the likelihood
    assert fitted("titanic").llr_pvalue < 1e-50


COEFFICIENTS = {
    "titanic": (
        ["Intercept", "cls[T.2nd]", "cls[T.3rd]", "cls[T.Crew]", "sex[T.Male]", "age[T.Child]"],
        (2.20536143618, -0.85649412226, -1.59649766772, -1.66434398928, -2.31717474077, 0.879708736077),
        (0.148443778062, 0.166088620649, 0.143647995489, 0.139016887172, 0.119588536871, 0.197481875522),
        (0.149998256744, 0.166088620649, 0.143647995489, 0.139016887172, 0.119588536871, 0.197481875522),
    ),
    "titanic smoothed": (
        ["Intercept", "cls[T.2nd]", "cls[T.3rd]", "cls[T.Crew]", "sex[T.Male]", "age[T.Child]"],
        (2.19207807235, -0.850776124764, -1.58953826449, -1.65787358367, -2.31018410002, 0.877219568246),
        (0.147954002125, 0.165492550836, 0.143209613616, 0.138602154713, 0.119258368719, 0.195782911482),
        None,
    ),
    "missing": (
        ["Intercept", "bp", "bp^2", "skin", "skin^2"],
        (-15.3151156742, -0.0024191286126, 0.000245459026647, -0.00980607805352, 0.00091896242299),
        (5.14246147355, 0.096878427983, 0.000653818269894, 0.0491543482492, 0.000776638695328),
        (5.68924530212, 0.113327674983, 0.0007771865728, 0.0926587179621, 0.00150680915263),
    ),
    "mixed": (
        ["Intercept", "glu", "glu^2", "npreg", "log(ped)", "ped", "age", "I(bmi > 30)[T.True]"],
        (
            *(-7.1669547846, 0.00165519086398, 0.000150698471806, 0.506108633888),
            *(0.200542732545, 1.28429571217, 0.00767434428004, 1.51423583489),
        ),
        (
            *(2.61940276252, 0.0345340693685, 0.000129771293003, 0.0750793998059),
            *(0.592602078551, 1.30612763584, 0.00438355915656, 0.38470283614),
        ),
        (
            *(2.31715417337, 0.0301351736738, 0.000122204504945, 0.129345407637),
            *(0.580243060633, 1.46937952807, 0.00137248519852, 0.38470283614),
        ),
    ),
    "words": (
        ["Intercept", "w1", "w2", "w3"],
        (0.287682072452, -2.04307389751, 0.664976303593, 1.2527629685),
        (0.763762615826, 0.705702396918, 0.565895834265, 0.685739086853),
        (0.763762615826, 0.352996209627, 0.535925884137, 0.39177339695),
    ),
}


@pytest.mark.parametrize("which", COEFFICIENTS)
def test_implied_logit(which):
    names, b, se, robust = COEFFICIENTS[which]
    first = fitted(which).discriminant
    if which != "missing":
        assert list(first.params.index) == names
    level = first.params.columns[0]
    close(first.params.loc[names, level], b)
    close(first.bse.loc[names, level], se)
    close(np.sqrt(np.diag(first.cov_params()))[: len(first.params)], first.bse[level])
    if robust:
        other = fitted(which, "HC0")
        close(other.discriminant.bse.loc[names, level], robust)
        close(fitted(which).with_cov("HC0").discriminant.bse, other.discriminant.bse)
        close(other.discriminant.params.loc[names, level], b)
        assert other.cov_type == other.discriminant.cov_type == "HC0"


def test_poisson_of_six_classes():
    res = fitted("sprays")
    close(res.llf, -311.3012858)
    close(res.discriminant.params["C"], (12.4166666667, -1.94017947435))
    close(res.discriminant.bse["C"], (1.24443204359, 0.213885778949))
    assert list(res.params.index[-2:]) == ["rate[E, count]", "rate[F, count]"]


def test_joint_table():
    res, apart = fitted("titanic joint"), fitted("titanic")
    close(res.llf, -5254.4059589)
    assert res.k_params == 17
    test = res.compare_lr_test(apart)
    close(test.statistic, 402.954746808)
    assert test.df == 6 and test.pvalue < 1e-80
    assert len(res.discriminant.params) == 1 + 7 + 1 and "cls:sex[T.1st:Male]" in res.discriminant.params.index


def sparse():
    """Two factors with two of nine cells empty; the levels of h appear as w, u, v in the cells that have rows."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            name: np.array(list(levels))[rng.integers(0, 3, 300)]
            for name, levels in (("y", "pqr"), ("g", "abc"), ("h", "uvw"))
        }
    )
    data["x"] = rng.normal(size=300)
    return data.assign(h=np.where(data.g == "a", "w", data.h))


def test_a_joint_table_counts_the_cells_that_have_rows():
    data = sparse()
    res = NaiveBayes.from_formula("y ~ g:h + x", data, unknown="missing").fit()
    same = NaiveBayes.from_formula("y ~ C(gh) + x", data.assign(gh=data.g + ":" + data.h)).fit()
    assert res.k_params == same.k_params == 2 + 3 * 6 + 3 * 2
    for name in ("llf", "aic", "bic", "df_model"):
        close(getattr(res, name), getattr(same, name))
    assert len(res.discriminant.params) == len(same.discriminant.params)
    assert "2 of 9 cells of g:h have no rows and were left out" in str(res.summary())
    row = pd.DataFrame({"g": ["a", None], "h": ["u", "u"], "x": [0.3, 0.3]})
    found = res.predict(row).to_numpy()
    close(found[0], found[1])
    with pytest.raises(errors.UnseenLevelError, match='combination "a:u"'):
        NaiveBayes.from_formula("y ~ g:h + x", data).fit().predict(row)
    with pytest.raises(errors.DataError, match='needs a table with the columns "g", "h", "x"; found ndarray'):
        res.predict(np.ones((2, 3)))


def test_likelihood_ratio_of_terms():
    """As R's loglm: G^2 of class by level."""
    tests = fitted("titanic").term_tests()
    close(tests.statistic[:2], (180.9014, 434.4688), rtol=1e-6)
    assert tests.df.tolist() == [3, 1, 1] and list(tests.index) == ["cls", "sex", "age"]
    res = fitted("titanic")
    close(tests.statistic.sum(), res.llr)
    assert res.df_model == tests.df.sum()
    pd.testing.assert_frame_equal(res.anova(), tests)
    wald = res.anova(test="wald")
    assert list(wald.index) == ["cls", "sex", "age"] and wald.df.tolist() == [3, 1, 1]


# ------------------------------------------------------------------------------------------------- certified files
@pytest.mark.parametrize("name", ["iris__nb", "pima_tr__nb", "wine__nb"])
def test_gaussian_reference(name):
    case, data = references.reference(name)
    res = NaiveBayes.from_formula(case["formula"], data, covariance=case["keywords"]["covariance"]).fit()
    v = case["values"]
    mle = v["mle"]
    assert res.k_params == mle["n_params"] and res.nobs == v["nobs"]
    for k in v["levels"]:
        close([res.priors[k], res.counts[k]], [v["priors"][k], v["counts"][k]], rtol=1e-14)
        for x in v["features"]:
            law = res.conditionals[x].loc[k]
            close([law["mean", "estimate"], law["var", "estimate"]], [v["means"][k][x], mle["variances"][k][x]], 1e-13)
            se = [mle["means_se"][k][x], mle["variances_se"][k][x]]
            close([law["mean", "se"], law["var", "se"]], se, 1e-13)
        close(res.priors_bse[k], mle["priors_se"][k], rtol=1e-13)
    for what in ("llf", "llf_conditional", "aic", "bic"):
        close(getattr(res, what), mle[what], rtol=1e-12)
    rows = mle["posterior"]["rows"]
    close(res.predict().iloc[rows], mle["posterior"]["mean"], rtol=1e-10, atol=1e-300)
    close(res.pred_table(), mle["confusion"])
    assert res.error_rates().rates.loc["resubstitution", "n_errors"] == mle["errors"]
    _check_discriminant(res.discriminant, mle["discriminant"])


def _check_discriminant(d, expected):
    for k, e in expected.items():
        close([d.params.loc["Intercept", k], d.bse.loc["Intercept", k]], [e["const"], e["const_se"]], rtol=1e-10)
        for what, form in (("linear", "{}"), ("quadratic", "{}^2")):
            names = list(e[what])
            rows = [form.format(x) for x in names]
            close(d.params.loc[rows, k], [e[what][x] for x in names], rtol=1e-10)
            close(d.bse.loc[rows, k], [e[what + "_se"][x] for x in names], rtol=1e-10)


@pytest.mark.parametrize("smoothing", [0, 1, 3])
def test_house_votes(smoothing):
    case, data = references.reference("housevotes__nb_categorical")
    v = case["values"]
    res = NaiveBayes.from_formula(case["formula"], data, smoothing=smoothing).fit()
    assert res.model._facts["n_dropped"] == 0 and res.nobs == len(data)
    expected = v[f"laplace={smoothing}"]
    found, right, conditionals = [], [], res.conditionals
    for x, laws in expected["tables"].items():
        for k, law in laws.items():
            for level, p in law.items():
                found.append(conditionals[x].loc[k, (level, "estimate")])
                right.append(p)
    assert len(right) > 30
    close(found, right, rtol=1e-13)
    close([res.llf, res.llf_conditional], [expected["llf"], expected["llf_conditional"]], rtol=1e-12)
    close(res.predict().iloc[expected["posterior"]["rows"]], expected["posterior"]["mean"], rtol=1e-10)
    assert res.error_rates().rates.loc["resubstitution", "n_errors"] == expected["errors"]


# ------------------------------------------------------------------------------------------- as other models have it
@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "cluster"])
def test_gaussian_features_are_diagonal_discriminant_analysis(pooled, cov_type):
    data, formula = table("pima_tr"), "type ~ " + " + ".join(PIMA)
    kwds = {"groups": np.arange(len(data)) % 17} if cov_type == "cluster" else None
    one = NaiveBayes.from_formula(formula, data, pooled=pooled).fit(cov_type=cov_type, cov_kwds=kwds)
    model = LDA if pooled else QDA
    two = model.from_formula(formula, data, covariance="diag").fit(cov_type=cov_type, cov_kwds=kwds)
    names = list(two.discriminant.params.index)
    for what in ("params", "bse", "pvalues"):
        close(getattr(one.discriminant, what).loc[names], getattr(two.discriminant, what), rtol=1e-8, atol=1e-300)
    for what in ("llf", "llnull", "llf_conditional", "aic", "bic", "k_params", "df_model", "llr_pvalue", "prsquared"):
        close(getattr(one, what), getattr(two, what), rtol=1e-10)
    a, b = (res.get_prediction(data[PIMA] + 1).summary_frame() for res in (one, two))
    close(a, b, rtol=1e-8)
    close(one.error_rates().rates, two.error_rates().rates)
    close(one.leave_one_out(), two.leave_one_out(), rtol=1e-9)
    close(one.ladder(), two.ladder(), rtol=1e-8)
    close(one.term_tests(), two.term_tests(), rtol=1e-8, atol=1e-300)
    frame = one.discriminant.cov_params()
    order = pd.MultiIndex.from_product([two.discriminant.params.columns, names])
    close(frame.loc[order, order], two.discriminant.cov_params(), rtol=1e-6, atol=1e-7)


def test_one_table_is_the_saturated_multinomial_logit():
    data, weights, formula = table("alligators"), "freq", "foodchoice ~ lake"
    sums = data.groupby(["foodchoice", "lake"]).freq.transform("sum")
    kept = data[(sums > 0) & (data.freq > 0)]
    one = NaiveBayes.from_formula(formula, kept, freq_weights=weights).fit()
    two = MNLogit.from_formula(formula, kept, freq_weights=weights).fit(tol=1e-14)
    close(one.discriminant.params.loc[two.params.index], two.params, rtol=1e-8)
    close(one.discriminant.bse.loc[two.params.index], two.bse, rtol=1e-8)
    close(one.llf_conditional, two.llf, rtol=1e-12)
    close(one.discriminant.cov_params(), two.cov_params(), rtol=1e-7, atol=1e-10)
    for cov_type in ("HC0", "HC1"):
        close(one.with_cov(cov_type).discriminant.bse, two.with_cov(cov_type).bse, rtol=1e-7)
    a, b = (res.get_prediction(kept).se for res in (one, two))
    close(a[list(b.columns)], b, rtol=1e-7)


def test_half_a_count_is_firths_reduction_of_bias():
    data = titanic()
    res = NaiveBayes.from_formula("survived ~ cls", data, freq_weights="n", smoothing=0.5).fit()
    cells = data.groupby(["survived", "cls"], observed=False).n.sum().unstack() + 0.5
    slopes = np.log(cells.loc["Yes"] / cells.loc["No"])
    close(res.discriminant.params["Yes"].iloc[1:], (slopes - slopes["1st"]).iloc[1:], rtol=1e-13)
    close(res.priors["Yes"], data.n[data.survived == "Yes"].sum() / data.n.sum())  # the prior is not smoothed


def test_smoothing_fills_empty_cells():
    data = pd.DataFrame({"y": list("aabb"), "g": list("uvuu")})
    res = NaiveBayes.from_formula("y ~ g", data, smoothing=1).fit()
    close(res.predict(pd.DataFrame({"g": ["v"]})), [2 / 4 / (2 / 4 + 1 / 4), 1 / 4 / (2 / 4 + 1 / 4)], rtol=1e-14)


# ------------------------------------------------------------------------------------------------------- weights
def _numbers(res, new):
    """Everything that must not depend on whether rows are counted or repeated."""
    d = res.discriminant
    prediction = res.get_prediction(new)
    out = [res.params, res.bse, d.params, d.bse, d.cov_params(), res.llf, res.llnull, res.llf_conditional, res.aic]
    out += [res.bic, res.nobs, res.prsquared, res.term_tests(), res.pred_table(), res.priors, res.priors_bse]
    out += [prediction.predicted, prediction.se, res.error_rates().rates, res.intercept_parts, res.observed]
    audit = res.independence_audit(None)
    return [*out, audit]


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "cluster"])
def test_frequency_weights_are_repeated_rows(cov_type, pooled):
    data = every()
    repeated = data.loc[data.index.repeat(data.f)].reset_index(drop=True)
    kwds = {"groups": "who"} if cov_type == "cluster" else None
    one = fit_every(data, cov_type, kwds, freq_weights="f", pooled=pooled, smoothing=0.5)
    two = fit_every(repeated, cov_type, kwds, pooled=pooled, smoothing=0.5)
    new = every(seed=9)
    for a, b in zip(_numbers(one, new), _numbers(two, new)):
        close(a, b, rtol=1e-8, atol=1e-10)


def test_sampling_weights():
    data = every().assign(w=lambda d: 0.5 + d.f * 1.7)
    res = fit_every(data, weights="w", smoothing=0.5)
    assert res.cov_type == "HC0" and np.isnan(res.aic) and np.isnan(res.bic) and res.nobs == len(data)
    close(res.priors, data.groupby("y").w.sum() / data.w.sum())
    twice = fit_every(data.assign(w=2 * data.w), weights="w", smoothing=1.0)
    close(twice.discriminant.bse, res.discriminant.bse, rtol=1e-8)
    close(twice.discriminant.params, res.discriminant.params, rtol=1e-8)
    assert np.isfinite(res.get_prediction().se.to_numpy()).all()
    assert res.error_rates().rates.loc["leave-one-out", "n_errors"] > 0
    whole = fit_every(data.assign(w=1.0), weights="w", smoothing=0.5)
    close(whole.discriminant.bse, fit_every(data, "HC0", smoothing=0.5).discriminant.bse, rtol=1e-9)
    for call in (res.term_tests, res.independence_audit, lambda: res.compare_lr_test(res)):
        with pytest.raises(ValueError, match="pseudo-likelihood"):
            call()


def test_priors_that_are_given():
    res = NaiveBayes.from_formula("species ~ sepal_length", table("iris"), priors=[0.2, 0.3, 0.5]).fit()
    free = NaiveBayes.from_formula("species ~ sepal_length", table("iris")).fit()
    assert not any(name.startswith("log_prior") for name in res.params.index)
    assert res.k_params == free.k_params - 2
    close(res.priors_bse, 0, atol=1e-300)
    close(res.discriminant.params - free.discriminant.params, [[np.log(1.5), np.log(2.5)], [0, 0], [0, 0]], atol=1e-11)
    close(free.predict(priors=[0.2, 0.3, 0.5]), res.predict(), rtol=1e-12)
    close(free.get_prediction(priors=[0.2, 0.3, 0.5]).se, res.get_prediction().se, rtol=1e-9)
    one = NaiveBayes.from_formula("species ~ sepal_length", table("iris"), prior_smoothing=2).fit()
    close(one.priors, 1 / 3, rtol=1e-14)


# ---------------------------------------------------------------------------------------------- parameters and tests
def test_names_of_parameters():
    names = fit_every(smoothing=0.5).params.index
    for name in ("log_prior_odds[q]", "mean[p, u]", "var[r, v]", "prob[p, b]", "prob[q, g=j]", "prob[r, g2:h2=i:k]"):
        assert name in names
    for name in ("rate[p, n]", "rate[p, e]", "shape[q, r]", "rate[q, r]", "prob[r, w2]"):
        assert name in names
    assert names.is_unique
    pooled = NaiveBayes.from_formula("y ~ u", every(), pooled=True).fit()
    names = ["log_prior_odds[q]", "log_prior_odds[r]", "mean[p, u]", "mean[q, u]", "mean[r, u]", "var[u]"]
    assert list(pooled.params.index) == names
    close(pooled.conditionals["u"]["var", "estimate"], [pooled.params["var[u]"]] * 3)


def test_densities():
    from scipy import stats

    res = fitted("mixed")
    x, law = np.array([1.0, 4.0, 30.0]), res.conditionals
    for k in res.levels:
        p = {name: t.xs("estimate", axis=1, level=1).loc[k] for name, t in law.items()}
        normal = stats.norm(p["glu"]["mean"], np.sqrt(p["glu"]["var"]))
        close(res.density("glu", x)[k], normal.pdf(x))
        close(res.density("npreg", x)[k], stats.poisson(p["npreg"]["rate"]).pmf(x))
        close(res.density("ped", x)[k], stats.gamma(p["ped"]["shape"], scale=1 / p["ped"]["rate"]).pdf(x))
        close(res.density("age", x)[k], stats.expon(scale=1 / p["age"]["rate"]).pdf(x))
        q = float(p["I(bmi > 30)"].iloc[0])
        close(res.density("I(bmi > 30)", [0, 1])[k], [1 - q, q])
    assert res.density("glu", [np.nan]).isna().all(axis=None)
    with pytest.raises(errors.DataError, match="is poisson, but has negative values"):
        res.density("npreg", [-1.0])
    with pytest.raises(errors.DataError, match="is no feature of the model"):
        res.density("nope", x)
    with pytest.raises(ValueError, match="takes values"):
        res.density("glu", [[1.0]])
    with pytest.raises(NotImplementedError, match="its table is in conditionals"):
        fitted("titanic").density("cls", [0])


def test_intervals_stay_in_range():
    res = fit_every(smoothing=0.5)
    ends, b, se = res.conf_int(), res.params, res.bse
    for name in ("var[q, u]", "rate[p, n]", "shape[q, r]"):
        close(ends.loc[name], b[name] * np.exp(np.array([-1, 1]) * 1.959963984540054 * se[name] / b[name]))
    name = "prob[q, g=j]"
    logit = np.log(b[name] / (1 - b[name])) + np.array([-1, 1]) * 1.959963984540054 * se[name] / (
        b[name] * (1 - b[name])
    )
    close(ends.loc[name], 1 / (1 + np.exp(-logit)))
    close(ends.loc["mean[p, u]"], b["mean[p, u]"] + np.array([-1, 1]) * 1.959963984540054 * se["mean[p, u]"])


def test_covariance_of_parameters():
    """The delta method leads from natural parameters to the implied logit."""
    res = fit_every(smoothing=0.5)
    V, b = res.cov_params(), res.params
    np.testing.assert_allclose(np.sqrt(np.diag(V)), res.bse, rtol=1e-12)

    def variance(names, gradient):
        return gradient @ V.loc[names, names].to_numpy() @ gradient

    names = [f"prob[{k}, g={level}]" for k in "pq" for level in "ij"]
    g = np.array([1, -1, -1, 1]) / b[names]  # log odds of j against i, q against p
    close(np.sqrt(variance(names, g)), res.discriminant.bse.loc["g[T.j]", "q"])
    names = ["shape[p, r]", "shape[q, r]"]
    close(np.sqrt(variance(names, np.array([-1.0, 1.0]))), res.discriminant.bse.loc["log(r)", "q"])
    names = ["rate[p, r]", "shape[p, r]"]
    mean = b[names[1]] / b[names[0]]
    n = int(every().query("y == 'p'").r.notna().sum())
    close(variance(names, np.array([-mean / b[names[0]], 1 / b[names[0]]])), mean / b[names[0]] / n)  # of a/b = mean
    names = ["log_prior_odds[q]", "log_prior_odds[r]"]
    close(variance(names, np.array([1.0, -1.0])), 1 / res.counts["q"] + 1 / res.counts["r"])
    assert V.loc["mean[p, u]", "mean[q, u]"] == 0
    test = res.t_test("mean[p, u] = mean[q, u]")
    close(test.effect, b["mean[p, u]"] - b["mean[q, u]"])


def test_intercept_parts():
    res = fit_every(smoothing=0.5)
    close(res.intercept_parts.sum(), res.discriminant.params.loc["Intercept"], rtol=1e-10)
    assert list(res.intercept_parts.index) == ["(priors)", *res.feature_names]


def test_wald_test_of_counts_is_of_their_shares():
    """L columns of counts have L - 1 differences."""
    res = fitted("words")
    table = res.wald_test_terms(skip_constant=True).table
    d, V = res.discriminant.params["b"].to_numpy()[1:], res.discriminant.cov_params().to_numpy()[1:, 1:]
    R = np.array([[-1.0, 1, 0], [-1, 0, 1]])
    close(table.statistic.iloc[0], (R @ d) @ np.linalg.solve(R @ V @ R.T, R @ d))
    assert table.df_constraint.tolist() == [2]
    robust = fitted("words", "HC0").wald_test_terms(skip_constant=True).table
    V = fitted("words", "HC0").discriminant.cov_params().to_numpy()[1:, 1:]
    close(robust.statistic.iloc[0], (R @ d) @ np.linalg.solve(R @ V @ R.T, R @ d), rtol=1e-7)


# ----------------------------------------------------------------------------------------------- robust covariances
def influences(fit, values, y):
    """N times the derivative of the coefficients in the weight of each row, from that of each family's parameters."""
    arrays = [v[:] for v in fit.packed(values)]
    own, out = np.zeros((len(y), fit.M)), np.zeros((len(y), fit.K - 1, fit.M))
    own[:, 0] = (fit.n / fit.prior_counts)[y]
    for (fitted, span), v in zip(fit._spans(), arrays, strict=True):
        psi = fitted.influence(v, y) * (fit.n / fitted.n[y])[..., None]
        own[:, 0] += psi[..., 0].sum(axis=1)
        own[:, span] = psi[..., 1:].reshape(len(y), -1)
    for k in range(1, fit.K):
        out[:, k - 1] = np.where((y == k)[:, None], own, np.where((y == 0)[:, None], -own, 0.0))
    for (fitted, span), v in zip(fit._spans(), arrays, strict=True):
        if (shared := fitted.shared_influence(v, y)) is not None:
            z, directions = shared
            out[..., 0] += fit.n * (z @ directions[..., 0].T)
            out[..., span] += fit.n * (z[:, None, :, None] * directions[..., 1:]).reshape(len(y), fit.K - 1, -1)
    return out.reshape(len(y), -1)


@pytest.mark.parametrize("pooled", [False, True])
def test_robust_covariance_is_that_of_the_influences(pooled):
    res = fit_every(cov_type="HC0", smoothing=0.5, pooled=pooled)
    r = res.model._rows
    psi = influences(res._fit, r.X.values, r.y)
    V = psi.T @ psi / res.nobs**2
    scale = np.sqrt(np.outer(np.diag(V), np.diag(V)))
    np.testing.assert_allclose(res.discriminant.cov_params() / scale, V / scale, atol=1e-7)  # v is far from 0


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("cov_type", ["HC0", "cluster"])
def test_a_row_with_missing_features_has_the_interval_of_the_smaller_model(cov_type):
    data = every(missing=0.0)
    kwds = {"groups": "who"} if cov_type == "cluster" else None
    formula = "y ~ u + v + g + n"
    fit = {"cov_type": cov_type, "cov_kwds": kwds}
    whole = NaiveBayes.from_formula(formula, data, families={"n": "poisson"}).fit(**fit)
    part = NaiveBayes.from_formula("y ~ v + n", data, families={"n": "poisson"}).fit(**fit)
    new = data.head(5).assign(u=np.nan, g=None)
    a, b = whole.get_prediction(new), part.get_prediction(new)
    close(a.predicted, b.predicted, rtol=1e-12)
    # the small-sample factor counts the coefficients of the whole fit
    factor = np.sqrt((90 - part.discriminant.cov_params().shape[0]) / (90 - whole.discriminant.cov_params().shape[0]))
    close(a.se, b.se * (factor if cov_type == "cluster" else 1), rtol=1e-8)
    assert (a.summary_frame().features_missing == 2).all() and "features_missing" not in part.get_prediction(
        new
    )._frame(b.predicted)


def test_intervals_far_from_the_origin():
    """Robust intervals do not cancel where features are far from 0."""
    data = table("iris")
    near = NaiveBayes.from_formula("species ~ sepal_length + petal_length", data).fit(cov_type="HC0")
    moved = data.assign(sepal_length=data.sepal_length + 2.0**24)
    far = NaiveBayes.from_formula("species ~ sepal_length + petal_length", moved).fit(cov_type="HC0")
    close(far.get_prediction().se, near.get_prediction().se, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*not in the averages:glmclf.errors.DataWarning")
@pytest.mark.parametrize("options", [{}, {"pooled": True}, {"divisor": "unbiased"}])
@pytest.mark.parametrize("origin", [1e9, 1e12])
@pytest.mark.parametrize("holes", [False, True])
def test_an_origin_far_away_costs_no_digits(options, origin, holes):
    """Sums of a multiple of 1/1024 and 1e12 are exact: what is computed of both is the same."""
    rng = np.random.default_rng(5)
    y, w = rng.choice(list("abc"), 300), rng.integers(1, 4, 300)
    u = np.round(rng.normal(size=300) * 1024) / 1024 + (y == "b")
    u[::7 if holes else 1000] = np.nan
    near = pd.DataFrame({"y": y, "u": u, "w": w, "v": rng.normal(size=300)})
    far = near.assign(u=near.u + origin)
    new = pd.DataFrame({"u": [0.5, -4.0, 60.0, np.nan], "v": 0.0})
    moved = new.assign(u=new.u + origin)
    cuts = [0, 20, 20, 90, 300]
    stream = [far[start:stop] for start, stop in zip(cuts, cuts[1:])]
    one = NaiveBayes.from_formula("y ~ u + v", near, freq_weights="w", **options).fit()
    for data in (far, lambda: iter(stream)):
        two = NaiveBayes.from_formula("y ~ u + v", data, freq_weights="w", **options).fit()
        file = io.StringIO()
        two.save(file)
        file.seek(0)
        for res in (two, glmclf.load(file)):
            close([res.llf, res.llf_conditional], [one.llf, one.llf_conditional], rtol=1e-12)
            close(res.predict(moved), one.predict(new), rtol=1e-11)
            close(res.get_prediction(moved).se, one.get_prediction(new).se, rtol=1e-11)
        if data is far:
            close(two.leave_one_out(), one.leave_one_out(), rtol=1e-11)
            close(two.get_margeff().margeff, one.get_margeff().margeff, rtol=1e-9, atol=1e-14)


def test_files_without_the_rest_of_means():
    """Statistics of normal features were three arrays."""
    res, file = NaiveBayes.from_formula("y ~ u", every()).fit(), io.StringIO()
    res.save(file)
    stored = json.loads(file.getvalue())
    stored["statistics"]["features"] = [arrays[:3] for arrays in stored["statistics"]["features"]]
    del stored["checksums"]
    found = glmclf.load(io.StringIO(json.dumps({**stored, "checksums": checksums(stored)})))
    close(found.predict(every()), res.predict(every()), rtol=1e-13)


def test_prediction_without_any_feature_is_the_prior():
    for cov_type in ("nonrobust", "HC0"):
        res = fit_every(cov_type=cov_type, smoothing=0.5)
        new = pd.DataFrame(np.nan, index=[0, 1], columns=every().columns[1:])
        prediction = res.get_prediction(new)
        close(prediction.predicted, [*res.priors] * 2)
        close(prediction.se, [*np.sqrt(res.priors * (1 - res.priors) / res.nobs)] * 2, rtol=1e-8)


# ---------------------------------------------------------------------------------------------------- leaving one out
@pytest.mark.parametrize("options", [{}, {"pooled": True}, {"freq_weights": "f"}, {"weights": "f"}])
def test_leaving_one_out_is_fitting_without_the_row(options):
    data = every()
    res = fit_every(data, smoothing=0.5, **options)
    found = res.leave_one_out()
    names = ["p", "q", "r"]
    priors = [res.priors[k] for k in names]
    for i in (0, 17, 44, 60, 89):
        rest = data.copy()
        if options.get("freq_weights"):
            rest.loc[i, "f"] -= 1
        else:
            rest = rest.drop(index=i)
        without = fit_every(rest, smoothing=0.5, priors=priors, **options)
        close(found.loc[i, names], without.predict(data.loc[[i]])[names], rtol=1e-8)
    table, f = res.error_rates(), data.f if options.get("freq_weights") or options.get("weights") else 1 + 0 * data.f
    wrong = found.idxmax(axis=1) != data.y
    close(table.rates.loc["leave-one-out", "n_errors"], (f * wrong).sum())
    own = np.log(found.to_numpy()[np.arange(len(data)), [list(found.columns).index(k) for k in data.y]])
    close(table.rates.loc["leave-one-out", "log_score"], (f * own).sum(), rtol=1e-8)
    close(table.rates.loc["resubstitution", "log_score"], res.llf_conditional)


def test_a_row_that_its_class_cannot_do_without():
    data = pd.DataFrame({"y": list("aaabb"), "x": [1.0, 2, 4, 7, 9], "e": [1.0, 1, 1, 1, 2]})
    res = NaiveBayes.from_formula("y ~ x", data).fit()
    with pytest.warns(errors.InferenceWarning, match="'b': 2"):
        table = res.error_rates()
    assert table.rates.loc["leave-one-out", "skipped"] == 2
    assert res.leave_one_out().isna().all(axis=1).tolist() == [False, False, False, True, True]


# ------------------------------------------------------------------------------------------------- nested models
def test_pooled_variances_in_separate_ones():
    data = table("iris")
    formula = "species ~ sepal_length + petal_length"
    one, two = (NaiveBayes.from_formula(formula, data, pooled=pooled).fit() for pooled in (False, True))
    test = one.compare_lr_test(two)
    close(test.statistic, 2 * (one.llf - two.llf))
    assert test.df == 4
    rebased = NaiveBayes.from_formula(formula, data, pooled=True, reference="virginica").fit()
    close(one.compare_lr_test(rebased).statistic, test.statistic)
    with pytest.raises(ValueError, match="one variance"):
        two.compare_lr_test(one)


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
def test_tables_within_tables():
    data = every(missing=0.0)
    with pytest.warns(errors.ZeroCellWarning):
        large = NaiveBayes.from_formula("y ~ g:h:h2 + g2", data).fit()
    small = NaiveBayes.from_formula("y ~ h + g2 + g:h2", data).fit()
    test = large.compare_lr_test(small)
    assert test.df == large.k_params - small.k_params > 0
    other = NaiveBayes.from_formula("y ~ h + g2 + C(g, levels=['k', 'i', 'j']):h2", data).fit()
    close(large.compare_lr_test(other).statistic, test.statistic)
    flag = data.assign(b=data.b == 1)
    a = NaiveBayes.from_formula("y ~ b:g", flag).fit()
    close(a.compare_lr_test(NaiveBayes.from_formula("y ~ b + g", flag).fit()).df, 3 * 2)


def test_exponential_in_gamma():
    data = every()
    fits = [NaiveBayes.from_formula("y ~ r", data, families={"r": f}).fit() for f in ("gamma", "exponential")]
    test = fits[0].compare_lr_test(fits[1])
    assert test.df == 3 and test.statistic > 0


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ("y ~ u + g", "y ~ u", "not made of features"),
        ("y ~ u", "y ~ u + g", "lacks"),
        ("y ~ g:h", "y ~ g + h", "missing"),
        ("y ~ u", "y ~ u", "no fewer parameters"),
    ],
)
def test_models_that_are_not_nested(one, two, words):
    a, b = (NaiveBayes.from_formula(f, every()).fit() for f in (one, two))
    with pytest.raises(ValueError, match=words):
        a.compare_lr_test(b)


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
def test_other_things_that_do_not_compare():
    data = every(missing=0.0)
    joint = NaiveBayes.from_formula("y ~ g:h", data).fit()
    with pytest.raises(ValueError, match="smoothing"):
        joint.compare_lr_test(NaiveBayes.from_formula("y ~ g + h", data, smoothing=1).fit())
    with pytest.raises(ValueError, match="different data"):
        joint.compare_lr_test(NaiveBayes.from_formula("y ~ g + h", data.head(80)).fit())
    with pytest.raises(ValueError, match="fixed priors"):
        fixed = NaiveBayes.from_formula("y ~ g:h", data, priors="equal").fit()
        fixed.compare_lr_test(NaiveBayes.from_formula("y ~ g + h", data).fit())
    with pytest.raises(TypeError, match="MultinomialResults"):
        joint.compare_lr_test(MNLogit.from_formula("y ~ g", data).fit())
    with pytest.raises(ValueError, match="same values"):
        joint.compare_lr_test(NaiveBayes.from_formula("y ~ g + h", data.assign(g=data.h)).fit())


# ------------------------------------------------------------------------------------------------------- the audit
def test_audit_of_tables():
    """G^2 of class tables, and the conditional likelihood of the joint one."""
    res = fitted("titanic")
    audit = res.independence_audit()
    apart = fitted("titanic").llf
    total = audit.xs(("cls", "sex"), level=("feature", "other")).statistic.sum()
    close(total, fitted("titanic joint").llf * 2 - 2 * apart)
    change = audit.loc[("No", "cls", "sex"), "llf_conditional_change"]
    close(change, fitted("titanic joint").llf_conditional - res.llf_conditional)
    assert audit.loc[("Yes", "cls", "sex"), "df"] == 3
    assert audit.index.get_level_values("level").tolist() == ["No"] * 3 + ["Yes"] * 3
    p = np.sort(audit.pvalue)
    assert (audit.pvalue_holm >= audit.pvalue).all()
    close(audit.pvalue_holm.max(), min(1.0, (p * np.arange(6, 0, -1)).max()))


def test_audit_of_numbers():
    res = fitted("iris")
    audit = res.independence_audit(None)
    own = table("iris").query("species == 'setosa'")
    r = np.corrcoef(own.sepal_length, own.sepal_width)[0, 1]
    row = audit.loc[("setosa", "sepal_length", "sepal_width")]
    close(row.statistic, -50 * np.log(1 - r**2))
    assert row.df == 1 and len(audit) == 3 * 6 and len(res.independence_audit(2)) == 6
    pair = NaiveBayes.from_formula("species ~ sepal_length + sepal_width", table("iris")).fit()
    change = pair.independence_audit().llf_conditional_change
    qda = QDA.from_formula("species ~ sepal_length + sepal_width", table("iris")).fit()
    close(change, qda.llf_conditional - pair.llf_conditional, rtol=1e-8)
    pooled = NaiveBayes.from_formula("species ~ sepal_length + sepal_width", table("iris"), pooled=True).fit()
    lda = LDA.from_formula("species ~ sepal_length + sepal_width", table("iris")).fit()
    close(pooled.independence_audit().llf_conditional_change, lda.llf_conditional - pooled.llf_conditional, rtol=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_audit_of_a_number_that_is_constant_where_both_are_there(seed):
    """Rounding leaves it a sum of squares a little above or below 0: no test, whichever."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"y": np.repeat(["a", "b"], 30), "u": rng.normal(size=60), "v": rng.normal(size=60)})
    frame["g"] = rng.choice(list("pqr"), 60)
    frame.loc[:19, "u"] = 0.1
    frame.loc[20:29, "v"], frame.loc[20:29, "g"] = np.nan, None
    audit = NaiveBayes.from_formula("y ~ u + v + g", frame).fit().independence_audit(None).statistic
    assert audit[[("a", "u", "v"), ("a", "u", "g")]].isna().all()
    assert (audit[[("b", "u", "v"), ("b", "u", "g")]] > 0).all()


def test_audit_of_a_number_beside_a_table():
    data = every()
    res = fit_every(data, smoothing=0.5)
    audit = res.independence_audit(None)
    own = data[data.y == "q"]
    complete = own.dropna(subset=["u", "g"])
    within = complete.groupby("g").u.transform(lambda x: x - x.mean())
    row = audit.loc[("q", "u", "g")]
    close(row.statistic, len(complete) * np.log(complete.u.var(ddof=0) / (within**2).mean()))
    assert row.df == 2 and np.isnan(row.llf_conditional_change)
    complete = own.dropna(subset=["n", "g"])
    means = complete.groupby("g").n.transform("mean")
    close(audit.loc[("q", "g", "n")].statistic, 2 * (complete.n * np.log(means / complete.n.mean())).sum())
    complete = own.dropna(subset=["n", "r"])
    r = np.corrcoef(complete.n, np.log(complete.r))[0, 1]
    close(audit.loc[("q", "n", "r")].statistic, -len(complete) * np.log(1 - r**2))
    blocks = audit[audit.index.get_level_values("other") == "w1 + w2 + w3"]
    assert blocks.statistic.isna().all() and len(blocks) == 3 * (len(res.feature_names) - 1)


# ---------------------------------------------------------------------------------------------------- missing values
def test_ways_to_treat_missing_values():
    data = every()
    formula = "y ~ u + g"
    skip, drop = (NaiveBayes.from_formula(formula, data, missing=m).fit() for m in ("skip", "drop"))
    assert skip.nobs == 90 and drop.nobs == len(data.dropna(subset=["u", "g"]))
    complete = NaiveBayes.from_formula(formula, data.dropna(subset=["u", "g"])).fit()
    close(drop.params, complete.params)
    assert skip.observed.loc["p", "u"] == data[data.y == "p"].u.notna().sum()
    close(skip.conditionals["u"]["mean", "estimate"], data.groupby("y").u.mean())
    level = NaiveBayes.from_formula("y ~ g", data, missing="level").fit()
    assert "g[T.(missing)]" in level.discriminant.params.index
    own = data[data.y == "q"].g
    close(level.params["prob[q, g=(missing)]"], own.isna().mean())
    close(level.predict(pd.DataFrame({"g": [None]})), level.predict(data[data.g.isna()]).iloc[:1])
    assert "factor dropped" in str(skip.summary()) and "a level of categories" in str(level.summary())


def test_rows_without_response_go():
    data = every()
    data.loc[[3, 7], "y"] = None
    res = NaiveBayes.from_formula("y ~ u + g", data).fit()
    assert res.nobs == 88 and 3 not in res.fittedvalues.index
    with pytest.raises(errors.MissingDataError, match='"u"'):
        NaiveBayes.from_formula("y ~ u", every(), missing="raise")


# --------------------------------------------------------------------------------------------------------- arrays
def test_arrays():
    data = table("pima_tr")
    X = np.column_stack([np.ones(len(data)), data[PIMA], data.bmi > 30])
    res = NaiveBayes(data.type, X).fit()
    assert res.model.dropped_const == "const" and res.feature_names[0] == "x1"
    assert [f.family for f in res.model.features] == ["gaussian"] * 7 + ["bernoulli"]
    assert list(res.discriminant.params.index[:3]) == ["const", "x1", "x1^2"]
    same = NaiveBayes.from_formula("type ~ " + " + ".join(PIMA) + " + I(bmi > 30)", data).fit()
    close(res.discriminant.params, same.discriminant.params, rtol=1e-10)
    close(res.predict(X), same.predict(), rtol=1e-12)
    close(res.predict(X[:, 1:]), same.predict(), rtol=1e-12)
    assert res.wald_test_terms().table.index[0] == "const"
    frame = NaiveBayes(data.type, data[PIMA].assign(old=np.where(data.age > 40, "yes", "no"))).fit()
    assert frame.feature_names == [*PIMA, "old"] and frame.model.features[-1].family == "categorical"
    out = frame.augment()
    assert list(out.old[:3]) == list(np.where(data.age > 40, "yes", "no")[:3]) and ".fitted_No" in out


# -------------------------------------------------------------------------------------------------- keeping, moving
def _same(a, b, new):
    """Bit for bit."""
    pd.testing.assert_series_equal(a.params, b.params, check_exact=True)
    pd.testing.assert_series_equal(a.bse, b.bse, check_exact=True)
    for what in ("params", "bse"):
        x, y = (getattr(res.discriminant, what) for res in (a, b))
        pd.testing.assert_frame_equal(x, y, check_exact=True)
    pd.testing.assert_frame_equal(a.predict(new), b.predict(new), check_exact=True)
    x, y = (res.get_prediction(new).summary_frame() for res in (a, b))
    pd.testing.assert_frame_equal(x, y, check_exact=True)
    for what in ("llf", "llnull", "llf_conditional", "aic", "bic", "k_params", "prsquared", "cov_type"):
        assert getattr(a, what) == getattr(b, what)
    pd.testing.assert_frame_equal(a.term_tests(), b.term_tests(), check_exact=True)
    pd.testing.assert_frame_equal(a.error_rates().rates, b.error_rates().rates, check_exact=True)
    pd.testing.assert_frame_equal(a.sample(20, seed=3), b.sample(20, seed=3), check_exact=True)


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.parametrize("options", [{}, {"pooled": True}, {"priors": "equal"}, {"freq_weights": "f"}])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1", "cluster"])
def test_saved_and_pickled_results_are_the_same(cov_type, options):
    kwds = {"groups": "who"} if cov_type == "cluster" else None
    res = fit_every(cov_type=cov_type, cov_kwds=kwds, smoothing=0.5, **options)
    new = every(seed=11)
    file = io.StringIO()
    res.save(file)
    text = file.getvalue()
    assert len(text) < 150_000 and "nan" not in text.lower().split('"facts"')[0]
    loaded = glmclf.load(io.StringIO(text))
    _same(res, loaded, new)
    _same(res, pickle.loads(pickle.dumps(res)), new)
    bare = pickle.loads(pickle.dumps(res))
    bare.remove_data()
    _same(res, bare, new)
    assert str(bare.summary()).split("Levels")[1] == str(loaded.summary()).split("Levels")[1]
    with pytest.raises(ValueError, match="rows of the fit"):
        loaded.with_cov("HC0")
    with pytest.raises(ValueError, match="rows of the fit"):
        loaded.independence_audit()
    close(
        loaded.with_cov("nonrobust").discriminant.bse, fit_every(smoothing=0.5, **options).discriminant.bse, rtol=1e-12
    )


def test_loaded_models_still_compare():
    files = []
    for which in ("titanic joint", "titanic"):
        files.append(io.StringIO())
        fitted(which).save(files[-1])
        files[-1].seek(0)
    joint, apart = map(glmclf.load, files)
    close(joint.compare_lr_test(apart).statistic, 402.954746808)


# ----------------------------------------------------------------------------------------------------------- drawing
def test_sample_gives_the_variables():
    res = fit_every(smoothing=0.5)
    drawn = res.sample(4000, seed=1)
    assert set(drawn.columns) == set(every().columns) - {"f", "who"}
    assert set(drawn.g) == {"i", "j", "k"} and set(drawn.b) == {0.0, 1.0}
    assert (drawn[["w1", "w2", "w3"]].sum(axis=1) == 9).all()
    again = fit_every(drawn, smoothing=0.5)
    z = (again.params - res.params) / again.bse
    assert (z.abs() < 4.5).mean() > 0.98
    pd.testing.assert_frame_equal(drawn, res.sample(4000, seed=1))
    sizes = res.sample(None, seed=2, by_class={"p": 3, "r": 2}).y.value_counts()
    assert sizes.to_dict() == {"p": 3, "r": 2}


def test_sample_of_computed_features_and_bools():
    data = table("pima_tr").assign(big=lambda d: d.bmi > 30)
    drawn = NaiveBayes.from_formula("type ~ np.log(glu) + big + C(npreg)", data, smoothing=0.5).fit().sample(50, seed=1)
    assert list(drawn.columns) == ["type", "np.log(glu)", "big", "npreg"]
    assert drawn.big.dtype == bool and drawn.npreg.dtype.kind in "if"
    missing = NaiveBayes.from_formula("y ~ g", every(), missing="level").fit().sample(200, seed=1)
    assert missing.g.isna().any() and set(missing.g.dropna()) == {"i", "j", "k"}


def test_a_joint_table_without_some_cells():
    data = sparse()
    res = NaiveBayes.from_formula("y ~ g:h + x", data).fit()
    drawn = res.sample(400, seed=1)
    assert set(zip(drawn.g, drawn.h)) == set(zip(data.g, data.h))
    test = res.compare_lr_test(NaiveBayes.from_formula("y ~ g + h + x", data).fit())
    assert test.df == 3 * (6 - 2 - 2)


def test_names_of_cells_are_unique():
    rows = [("a", "b:c"), ("a:b", "c"), ("a", "c")] * 4
    data = pd.DataFrame(rows, columns=["g", "h"]).assign(y=list("ppqqqp") * 2)
    res = NaiveBayes.from_formula("y ~ g:h", data, smoothing=1).fit()
    assert res.params.index.is_unique and "prob[p, g:h=a:'b:c']" in res.params.index
    assert res.conditionals["g:h"].columns.is_unique and res.discriminant.params.index.is_unique


def test_simulate_and_augment():
    res, data = fit_every(smoothing=0.5), every()
    assert set(res.simulate(2, seed=1).sim_1) <= {"p", "q", "r"}
    out = res.augment(data.head(3))
    assert (
        list(out.index) == [0, 1, 2] and (out[".fitted_p"] + out[".fitted_q"] + out[".fitted_r"]).round(9).eq(1).all()
    )
    assert res.augment().shape[0] == 90


# --------------------------------------------------------------------------------------------------------- prediction
def test_rules_and_prevalences():
    res = fitted("iris")
    new = table("iris").iloc[[60, 70, 120]]
    assert res.predict(new, "class").tolist() == res.predict(new).idxmax(axis=1).tolist()
    cost = pd.DataFrame(1 - np.eye(3), index=res.levels, columns=res.levels).assign(unsure=1e-9)
    assert set(res.predict(new, "class", cost=cost)) == {"unsure"}
    joint = res.predict(new, which="joint")
    close(np.exp(joint).div(np.exp(joint).sum(axis=1), axis=0), res.predict(new))
    close(res.predict(new, which="linear")["setosa"], 0, atol=1e-300)
    est = res.predict(table("iris").tail(110), priors="estimate")
    close(est.mean(), [10 / 110, 50 / 110, 50 / 110], rtol=0.1)


def test_summary_in_all_forms():
    res = fit_every(smoothing=0.5, cov_type="HC0")
    s = res.summary()
    for text in (s.as_text(), s.as_html(), s.as_latex(), s.as_csv(), s.as_markdown()):
        assert "gaussian" in text
    assert "effective" in s.as_text()
    rows = res._summary_features()
    assert list(rows.index) == res.feature_names and (rows.params > 0).all()
    assert rows.loc["g2:h2", "note"].startswith("joint table")


# ------------------------------------------------------------------------------------------- levels without rows
def without_w_and_false():
    rng = np.random.default_rng(0)
    k = pd.Categorical(rng.choice(["u", "v"], 40), categories=["u", "v", "w"])
    frame = pd.DataFrame({"y": np.repeat(["a", "b"], [15, 25]), "flag": True, "k": k, "w": rng.uniform(0.2, 2, 40)})
    return frame.assign(f=rng.integers(1, 4, 40))


@pytest.mark.parametrize("weights", [{}, {"weights": "w"}, {"freq_weights": "f"}])
@pytest.mark.parametrize("streamed", [False, True])
def test_levels_that_no_row_has_are_smoothed(weights, streamed, tmp_path):
    """(n_l + a)/(n + a L), L with the levels that the columns declare, by hand."""
    frame, a = without_w_and_false(), 0.5
    data = (lambda: iter([frame[:7], frame[7:30], frame[30:]])) if streamed else frame
    res = NaiveBayes.from_formula("y ~ flag + k", data, smoothing=a, **weights).fit()
    w = frame[next(iter(weights.values()))].to_numpy() if weights else np.ones(40)
    new = pd.DataFrame({"flag": [True, False, False], "k": ["u", "w", "v"]})
    joint = np.zeros((3, 2))
    for j, level in enumerate("ab"):
        n, rows = w[frame.y == level].sum(), frame.y == level
        for i, (flag, k) in enumerate(zip(new.flag, new.k)):
            found = [w[rows & (frame.flag == flag)].sum(), w[rows & (frame.k == k)].sum()]
            joint[i, j] = n / w.sum() * (found[0] + a) / (n + 2 * a) * (found[1] + a) / (n + 3 * a)
    expected = joint / joint.sum(axis=1, keepdims=True)
    close(res.predict(new), expected, 1e-12)
    res.save(tmp_path / "levels.json")
    close(glmclf.load(tmp_path / "levels.json").predict(new), expected, 1e-12)


def test_a_value_that_no_row_has_is_impossible_without_smoothing():
    frame = without_w_and_false()
    with pytest.warns(glmclf.errors.ZeroCellWarning, match="flag = False in class 'a'; flag = False in class 'b'"):
        res = NaiveBayes.from_formula("y ~ flag + k", frame).fit()
    close(res.predict(frame[:5]), NaiveBayes.from_formula("y ~ k", frame).fit().predict(frame[:5]), 1e-14)
    with pytest.warns(glmclf.errors.DataWarning, match="probability 0 in every class"):
        assert res.predict(frame[:1].assign(flag=False)).isna().all(axis=None)


def declared():
    """g declares c, which no row has; h has one of its levels; k occurs with weight 0 only in v."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"y": np.repeat(["p", "q"], [12, 18]), "x": rng.normal(size=30), "f": 1.0})
    data["g"] = pd.Categorical(np.tile(["b", "a", "d"], 10), categories=["c", "d", "b", "a"])
    data["h"] = pd.Categorical(["only"] * 30, categories=["only", "never"])
    data["k"] = pd.Categorical(np.where(data.index < 3, "v", "u"), categories=["u", "v"])
    return data.assign(f=np.where(data.index < 3, 0.0, 1.0 + data.index % 3))


@pytest.mark.parametrize("weights", [{}, {"weights": "f"}, {"freq_weights": "f"}])
@pytest.mark.parametrize("streamed", [False, True])
def test_declared_levels_without_rows_have_probability_0(weights, streamed, tmp_path):
    """Estimates are those without the level; 0/0 is NaN, and the other rows are as if it were not declared."""
    data = declared()
    source = (lambda: iter([data[:7], data[7:30]])) if streamed else data
    plain = data.assign(g=data.g.cat.remove_unused_categories())
    formula = "y ~ x + C(g, Treatment('d')) + h" + (" + k" if weights else "")
    res = NaiveBayes.from_formula(formula, source, **weights).fit()
    known = NaiveBayes.from_formula("y ~ x + C(g, Treatment('d'))", plain, **weights).fit()
    close([res.llf, res.k_params], [known.llf, known.k_params], 1e-13)
    close(res.discriminant.params, known.discriminant.params, 1e-12)
    close(res.discriminant.bse, known.discriminant.bse, 1e-12)
    new = pd.DataFrame({"x": 0.5, "g": list("abcd") + [None, "a", "a"], "h": "only", "k": "u"})
    new.loc[5, "h"] = "never"
    new.loc[6, "k"] = "v" if weights else "u"
    lost = [2, 5, 6] if weights else [2, 5]
    res.save(tmp_path / "declared.json")
    for fit in (res, glmclf.load(tmp_path / "declared.json")):
        names = "= c; h = never" + ("; k = v" if weights else "")
        with pytest.warns(glmclf.errors.DataWarning, match=f"{len(lost)} rows .2, 5.*{names}") as caught:
            p = fit.predict(new)
        assert len(caught) == 1 and p[p.isna().any(axis=1)].index.tolist() == lost
        kept = new.drop(index=lost)
        close(p.loc[kept.index], known.predict(kept), 1e-12)
        assert np.isneginf(fit.predict(new, which="joint").loc[lost]).all(axis=None)
        with pytest.warns(glmclf.errors.DataWarning, match=" = c; h = never"):
            frame = fit.get_prediction(new).summary_frame()
        assert frame.loc[lost, ["predicted", "se"]].isna().all(axis=None) and frame.loc[[0, 1], "se"].notna().all()
    with pytest.warns(glmclf.errors.DataWarning, match=" = c; h = never"):
        assert res.predict(new, which="class").isna().tolist() == [i in lost for i in range(7)]
    assert "has no rows: its probability is 0 in every class" in " ".join(str(res.summary()).split())


@pytest.mark.filterwarnings("ignore:never seen")
def test_declared_levels_beside_other_options():
    data = declared()
    new = pd.DataFrame({"x": 0.5, "g": ["c", "a"], "h": ["only", "never"]})
    missing = NaiveBayes.from_formula("y ~ x + g", data, unknown="missing").fit()
    close(missing.predict(new)[:1], missing.predict(new.assign(g=None))[:1], 1e-14)
    joint = NaiveBayes.from_formula("y ~ x + g:k", data).fit()
    with pytest.warns(glmclf.errors.DataWarning, match="g:k"):
        assert joint.predict(new.assign(k="u")).isna().all(axis=1).tolist() == [True, False]
    with pytest.raises(glmclf.errors.UnseenLevelError, match='"z"'):
        joint.predict(new.assign(g="z", k="u"))
    level = NaiveBayes.from_formula("y ~ x + g", data.assign(g=data.g.mask(data.index == 4)), missing="level").fit()
    with pytest.warns(glmclf.errors.DataWarning, match="g = c"):
        assert level.predict(new.assign(g=["c", None])).isna().all(axis=1).tolist() == [True, False]
    arrays = NaiveBayes(data.y, data[["x", "g"]]).fit()
    with pytest.warns(glmclf.errors.DataWarning, match="g = c"):
        assert arrays.predict(new).isna().all(axis=1).tolist() == [True, False]


@pytest.mark.parametrize("value", [True, False])
def test_a_bool_with_one_value_leaves_the_other_coefficients(value):
    """The part of a factor p(value) = 1 is log 1; the slope is not identified."""
    data = declared().assign(b=value)
    with pytest.warns(glmclf.errors.ZeroCellWarning):
        res = NaiveBayes.from_formula("y ~ x + b", data).fit()
    known = NaiveBayes.from_formula("y ~ x", data).fit()
    for cov_type in ("nonrobust", "HC0"):
        a, b = (fit.with_cov(cov_type).discriminant for fit in (res, known))
        names = b.params.index
        close(a.params.loc[names], b.params, 1e-13)
        close(a.bse.loc[names], b.bse, 1e-12)
        assert a.params.loc["b[T.True]"].isna().all()


# ------------------------------------------------------------------------------------- variances by degrees of freedom
@pytest.mark.parametrize("name", ["iris__nb", "pima_tr__nb", "wine__nb"])
def test_unbiased_variances_reference(name):
    """Multi-precision closed forms, which R's e1071 shares to 14 digits; the likelihood is the maximum."""
    case, data = references.reference(name)
    res = NaiveBayes.from_formula(case["formula"], data, divisor="unbiased").fit()
    v = case["values"]
    known = v["moment"]
    for k in v["levels"]:
        for x in v["features"]:
            close(res.conditionals[x].loc[k]["var", "estimate"], known["variances"][k][x], 1e-13)
    close(res.llf_conditional, known["llf_conditional"], rtol=1e-12)
    close([res.llf, res.aic, res.bic], [v["mle"][what] for what in ("llf", "aic", "bic")], rtol=1e-12)
    close(res.predict().iloc[known["posterior"]["rows"]], known["posterior"]["mean"], rtol=1e-10, atol=1e-300)
    close(res.pred_table(), known["confusion"])
    assert "unbiased (n - 1)" in str(res.summary())


def test_unbiased_variances_of_features_with_gaps():
    """R 4.2.2, e1071 1.7.13: naiveBayes(type ~ bp + skin + bmi, data = Pima.tr2), predict(type = "raw")."""
    data = pd.read_csv(pathlib.Path(__file__).parents[1] / "data" / "pima_tr2.csv")
    res = NaiveBayes.from_formula("type ~ bp + skin + bmi", data, divisor="unbiased").fit()
    sd = {
        "bp": [11.3911032352800, 11.7992759034252],
        "skin": [10.8587326591793, 12.3015948629469],
        "bmi": [6.54678557737769, 5.59462998020286],
    }
    for feature, known in sd.items():
        close(np.sqrt(res.conditionals[feature]["var", "estimate"]), known, 1e-14)
    yes = [0.239877287256048, 0.163549326345784, 0.257697392447744, 0.506910720029186, 0.333142132953634]
    close(res.predict(data.iloc[[0, 1, 200, 249, 299]])["Yes"], yes, 1e-13)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("weights", [{}, {"freq_weights": "f"}])
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_unbiased_variances_are_those_of_a_diagonal_discriminant(pooled, weights, cov_type, tmp_path):
    """All of QDA or LDA with covariance="diag": coefficients, standard errors, leaving one out, in memory and parts."""
    iris = references._data("data/iris.csv").assign(f=np.arange(150) % 3 + 1)
    options = {"divisor": "unbiased", **weights}
    formula = "species ~ sepal_length + petal_width"
    model = glmclf.LDA if pooled else glmclf.QDA
    other = model.from_formula(formula, iris, covariance="diag", **options).fit(cov_type)
    for data in (iris, lambda: iter([iris[:70], iris[70:]])):
        res = NaiveBayes.from_formula(formula, data, pooled=pooled, **options).fit(cov_type)
        bse = other.discriminant.bse.loc[res.discriminant.bse.index]
        close(res.discriminant.params, other.discriminant.params.loc[bse.index], 1e-10)
        close(res.discriminant.bse, bse, 1e-9)
        close(res.llf, other.llf, 1e-12)
        close(res.error_rates().rates, other.error_rates().rates, 1e-9)
    res.save(tmp_path / "nb.json")
    close(glmclf.load(tmp_path / "nb.json").discriminant.bse, bse, 1e-9)
    x = iris[:7]
    odds = [r.get_prediction(x, which="linear").summary_frame().filter(like="se") for r in (res, other)]
    close(*odds, 1e-8)
    whole = iris.loc[iris.index.repeat(iris.f if weights else 1)]
    repeated = NaiveBayes.from_formula(formula, whole, pooled=pooled, divisor="unbiased").fit(cov_type)
    close(repeated.discriminant.bse, res.discriminant.bse, 1e-9)


def test_unbiased_variances_are_refused_where_rows_are_not_counted():
    iris = references._data("data/iris.csv").assign(w=np.linspace(0.5, 2, 150))
    formula = "species ~ sepal_length + petal_width"
    with pytest.raises(NotImplementedError, match='divisor="unbiased".*weights='):
        NaiveBayes.from_formula(formula, iris, divisor="unbiased", weights="w").fit()
    with pytest.raises(ValueError, match="divisor='n': choose"):
        NaiveBayes.from_formula(formula, iris, divisor="n")
    pima, formula = references._data("data/pima_tr.csv"), "type ~ glu + bmi"
    res = NaiveBayes.from_formula(formula, pima, divisor="unbiased").fit()
    with pytest.raises(NotImplementedError, match='divisor="mle"'):
        res.compare_conditional(glmclf.Logit.from_formula(formula, pima).fit())


def test_levels_that_no_row_has_are_no_degrees_of_freedom():
    """The likelihood ratio leaves smoothing out, and with it levels without rows."""
    data = pd.DataFrame({"k": list("abc") * 20, "c": list("pqqpp") * 12, "b": [True] * 60})
    wide = data.assign(c=pd.Categorical(data.c, categories=list("pqrst")))
    few, many = (NaiveBayes.from_formula("k ~ c", t, smoothing=0.5).fit().term_tests() for t in (data, wide))
    pd.testing.assert_frame_equal(few, many)
    assert few.df.tolist() == [2]
    both = NaiveBayes.from_formula("k ~ c + b", data, smoothing=0.5, families={"b": "bernoulli"}).fit().term_tests()
    assert both.df.tolist() == [2, 0]
    X = csr_array((data.c == "p").to_numpy(dtype=float)[:, None] * [1.0, 0.0])
    words = NaiveBayes(data.k, X, families="bernoulli", smoothing=0.5).fit().term_tests()
    assert words.df.tolist() == [2, 0] and words.statistic.iloc[0] == pytest.approx(few.statistic.iloc[0], rel=1e-12)


@pytest.mark.parametrize("cov_type", [None, "HC0"])
def test_wald_tests_of_levels_that_no_row_has(cov_type):
    """Odds of two levels do not depend on how many others share the pseudo-counts: the tests of a term are those
    without the levels that no row has, whichever of them stands first, in the summary as well."""
    rng = np.random.default_rng(3)
    k, c = rng.choice(list("abc"), 150), rng.choice(list("pqr"), 150)
    data = pd.DataFrame({"k": k, "c": c, "x": rng.normal(size=150)})
    options = {} if cov_type is None else {"cov_type": cov_type}
    few = NaiveBayes.from_formula("k ~ c + x", data, smoothing=0.5).fit(**options)
    expected = few.discriminant.wald_test_terms(skip_constant=True).table
    assert expected.df_constraint.tolist() == [4, 4]
    for levels in ("pqrst", "sptqr", "stpqr"):
        wide = data.assign(c=pd.Categorical(data.c, categories=list(levels)))
        many = NaiveBayes.from_formula("k ~ c + x", wide, smoothing=0.5).fit(**options)
        pd.testing.assert_frame_equal(many.discriminant.wald_test_terms(skip_constant=True).table, expected, rtol=1e-9)
        assert many.df_model == few.df_model == 8
        line = next(t for t in many.summary(levels=False).as_text().splitlines() if "5 levels" in t and "chi2" in t)
        assert "chi2(2)" in line


def test_wald_tests_of_words_that_no_row_has():
    """Of a block of counts, dense or sparse, and of 0/1 columns."""
    rng = np.random.default_rng(5)
    y, X = rng.choice(list("ab"), 80), rng.poisson(2.0, (80, 3)).astype(float)
    wide = np.column_stack([np.zeros(80), X[:, :2], np.zeros(80), X[:, 2]])
    for of in (np.asarray, csr_array):
        few, many = (NaiveBayes(y, of(v), multinomial="all", smoothing=1.0).fit() for v in (X, wide))
        a, b = (res.discriminant.wald_test_terms(skip_constant=True).table for res in (few, many))
        assert a.df_constraint.tolist() == b.df_constraint.tolist() == [2] and many.df_model == 2
        np.testing.assert_allclose(a.statistic, b.statistic, rtol=1e-9)
        assert "chi2(2)" in many.summary(levels=False).as_text()
        few, many = (NaiveBayes(y, of(1.0 * (v > 2)), families="bernoulli", smoothing=1.0).fit() for v in (X, wide))
        a, b = (res.discriminant.wald_test_terms(skip_constant=True).table for res in (few, many))
        assert b.df_constraint.tolist() == [0, 1, 1, 0, 1] and np.flatnonzero(b.statistic.isna()).tolist() == [0, 3]
        np.testing.assert_allclose(a.statistic, b.statistic.dropna(), rtol=1e-9)
