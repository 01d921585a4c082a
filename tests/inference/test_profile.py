"""Profile likelihood intervals, against maxima of separately written likelihoods and R's confint."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, fit, make, models, shared, toy
from references import model_keywords, reference
from scipy import optimize, special

import glmclf
from glmclf import Logit, MNLogit, datasets
from glmclf.errors import DataError
from glmclf.inference.profile.penalised import search_seconds

DROP = 3.841458820694124  # chi-squared(1; 0.95)

# R 4.2.2, MASS 7.3-58.2: confint(glm(GRADE ~ GPA + TUCE + PSI, binomial, spector)); its ends are read off a spline
# through a few points of the profile, which is right to about four digits.
SPECTOR = {
    "Logit": [
        [-25.168164888391, -4.902352940010],
        [0.639366595525, 5.757253137669],
        [-0.170205427494, 0.405044324046],
        [0.478609018741, 4.810260412364],
    ],
}
LOGLIKELIHOODS = {
    "Logit": (special.log_expit, lambda eta: special.log_expit(-eta)),
    "Probit": (special.log_ndtr, lambda eta: special.log_ndtr(-eta)),
    "CLogLog": (lambda eta: np.log(-np.expm1(-np.exp(eta))), lambda eta: -np.exp(eta)),
}


def restricted(loglike, start, j, c):
    """Largest value with coefficient j held at c, by a method that uses values alone, polished by Newton's."""

    def full(rest):
        return np.insert(rest, j, c)

    def negative(rest):
        return -loglike(full(rest))

    found = optimize.minimize(negative, np.delete(start, j), method="BFGS", options={"gtol": 1e-7})
    found = optimize.minimize(
        negative, found.x, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}
    )
    return -found.fun


def check_ends(res, loglike, rows=None, top=None):
    """Twice the fall of the independent likelihood at both ends is the quantile."""
    ci = res.conf_int(method="profile").to_numpy()
    theta = np.ravel(res.params.to_numpy(), order="F")
    start = np.where(np.isfinite(theta), theta, 0.0)
    top = loglike(theta) if top is None else top
    for j in range(len(theta)) if rows is None else rows:
        for end, outside in zip(ci[j], (-1, 1), strict=True):
            if np.isinf(end):
                continue
            assert outside * (end - theta[j]) > 0
            assert 2 * (top - restricted(loglike, start, j, end)) == pytest.approx(DROP, abs=2e-7)


@models
def test_ends_are_where_the_likelihood_has_fallen(model):
    data = datasets.load("spector")
    res = make(model, "GRADE ~ GPA + PSI", data).fit()
    logF, logS = LOGLIKELIHOODS[model]
    X = np.column_stack([np.ones(len(data)), data.GPA, data.PSI])
    y = data.GRADE.to_numpy()
    check_ends(res, lambda b: float(np.sum(np.where(y == 1, logF(X @ b), logS(X @ b)))))


def test_of_several_classes():
    data = toy(80)
    res = make("MNLogit", "g ~ x1", data).fit()
    y = data.g.map({"a": 0, "b": 1, "c": 2}).to_numpy()

    def loglike(b):
        z = np.column_stack([np.zeros(len(y)), b[0] + b[1] * data.x1, b[2] + b[3] * data.x1])
        return float(np.sum(z[np.arange(len(y)), y] - special.logsumexp(z, axis=1)))

    check_ends(res, loglike, rows=[1, 2])


def test_confint_of_R():
    for model, expected in SPECTOR.items():
        res = make(model, "GRADE ~ GPA + TUCE + PSI", datasets.load("spector")).fit()
        np.testing.assert_allclose(res.conf_int(method="profile"), expected, rtol=1e-3)


def test_of_one_proportion_in_closed_form():
    """7 of 20: both ends solve 2 (l(7/20) - l(p)) = 3.84 in p, whatever the link."""
    table = pd.DataFrame({"s": [7], "f": [13]})

    def fallen(p):
        return 2 * (7 * np.log(7 / 20) + 13 * np.log(13 / 20) - 7 * np.log(p) - 13 * np.log1p(-p)) - DROP

    ends = np.array([optimize.brentq(fallen, 1e-6, 0.35, xtol=1e-15), optimize.brentq(fallen, 0.35, 0.99, xtol=1e-15)])
    for model, to in (
        ("Logit", special.logit),
        ("Probit", special.ndtri),
        ("CLogLog", lambda p: np.log(-np.log1p(-p))),
    ):
        ci = make(model, "s + f ~ 1", table).fit().conf_int(method="profile")
        close(ci.to_numpy()[0], to(ends), rtol=1e-9)


@models
@pytest.mark.parametrize("alpha", [0.5, 0.01, 1e-6])
def test_levels(model, alpha):
    res = shared(model)
    ci = res.conf_int(alpha, method="profile")
    assert (ci[0] < res.params).all() and (res.params < ci[1]).all()
    narrow = res.conf_int(min(2 * alpha, 0.9), method="profile")
    assert (ci[0] < narrow[0]).all() and (narrow[1] < ci[1]).all()


# ---------------------------------------------------------------------------------------------------- identities
@models
def test_repeated_rows_are_weights(model):
    data = toy()
    many = data.loc[data.index.repeat(data.times)]
    one = fit(model, "y ~ x1 + x2", data, freq_weights="times", offset="off")
    two = fit(model, "y ~ x1 + x2", many, offset="off")
    close(one.conf_int(method="profile"), two.conf_int(method="profile"), rtol=1e-8)


@models
def test_counts_are_expanded_rows(model):
    data = toy()
    long = pd.concat(
        [data.loc[data.index.repeat(data[count])].assign(z=value) for count, value in (("won", 1), ("lost", 0))]
    )
    counts = fit(model, "won + lost ~ x1 + h", data[data.trials > 0])
    close(counts.conf_int(method="profile"), fit(model, "z ~ x1 + h", long).conf_int(method="profile"), rtol=1e-8)


@models
def test_units_and_codings(model):
    data = toy()
    ci = shared(model, "y ~ x1 + h").conf_int(method="profile")
    other = fit(model, "y ~ small + large", data.assign(small=1e-8 * data.x1, large=1e8 * (data.h == "right")))
    close(other.conf_int(method="profile").loc["small"] * 1e-8, ci.loc["x1"], rtol=1e-8)
    close(other.conf_int(method="profile").loc["large"] * 1e8, ci.loc["h[T.right]"], rtol=1e-8)


def test_two_classes_are_a_logit():
    ci = shared("Logit", "y ~ x1 + x2").conf_int(method="profile")
    two = make("MNLogit", "y ~ x1 + x2", toy()).fit().conf_int(method="profile")
    close(two, ci, rtol=1e-8)
    assert list(two.index.names) == ["level", "regressor"]


def test_another_reference_turns_the_interval():
    res = make("MNLogit", "g ~ x1", toy()).fit()
    ci, turned = res.conf_int(method="profile"), res.rebase("b").conf_int(method="profile")
    close(turned.loc["a"], -ci.loc["b"].iloc[:, ::-1], rtol=1e-8)


def test_ill_conditioned_design():
    """A raw cubic about 1000 spans what one about its mean does: the leading coefficients are the same."""
    x = np.linspace(990, 1010, 60)
    p = special.expit(0.2 * (x - 1000) + 0.01 * (x - 1000) ** 2 - 0.5)
    y = (np.random.default_rng(4).random(60) < p).astype(int)
    data = pd.DataFrame({"x": x, "z": x - 1000, "y": y})
    raw = Logit.from_formula("y ~ x + I(x**2) + I(x**3)", data).fit().conf_int(method="profile")
    centred = Logit.from_formula("y ~ z + I(z**2) + I(z**3)", data).fit().conf_int(method="profile")
    close(raw.loc["I(x ** 3)"], centred.loc["I(z ** 3)"], rtol=1e-6)


def test_collinear_columns_have_none():
    data = toy().assign(twice=lambda t: 2 * t.x1)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        ci = make("Logit", "y ~ x1 + twice + x2", data).fit().conf_int(method="profile")
    assert ci.loc["twice"].isna().all()
    close(ci.drop("twice"), shared("Logit", "y ~ x1 + x2").conf_int(method="profile"), rtol=1e-9)


def test_tables_take_them():
    res = shared("Logit")
    ci = res.conf_int(method="profile").to_numpy()
    frame = res.summary_frame(method="profile")
    close(frame[["Conf. Int. Low", "Conf. Int. Upp."]], ci)
    close(res.odds_ratios(method="profile").iloc[:, -2:], np.exp(ci))
    close(res.odds_ratios(units={"x1": -2.0}, method="profile").loc["x1 (per -2)"].iloc[-2:], np.exp(-2 * ci[3, ::-1]))


# --------------------------------------------------------------------------------------------------- separation
@functools.cache
def separated(name):
    case, data = reference(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.SeparationWarning)
        return getattr(glmclf, case["model"]).from_formula(case["formula"], data, **model_keywords(case)).fit()


def test_one_sided_limit_of_an_infinite_coefficient():
    """Of NV; the others are those beside an offset that puts it far out."""
    res = separated("endometrial__logit_separation")
    ci = res.conf_int(method="profile")
    assert ci.loc["NV", 1] == np.inf
    _, data = reference("endometrial__logit_separation")
    X = np.column_stack([np.ones(len(data)), data.NV, data.PI, data.EH])

    def loglike(b):
        return float(np.sum(np.where(data.HG == 1, special.log_expit(X @ b), special.log_expit(-X @ b))))

    # the supremum: NV so large that its rows are certain
    check_ends(res, loglike, rows=[1], top=res.llf)
    near = make("Logit", "HG ~ PI + EH", data, offset=60.0 * data.NV).fit()
    close(ci.drop("NV"), near.conf_int(method="profile"), rtol=1e-7)


@pytest.mark.parametrize(
    "name",
    ["sep_quasi__logit_separation", "sep_factor__logit_separation", "sep_mnlogit__mnlogit_separation"],
)
def test_intervals_of_separated_fits(name):
    res = separated(name)
    ci, flat = res.conf_int(method="profile"), np.ravel(res.params.to_numpy(), order="F")
    for value, (low, high) in zip(flat, ci.to_numpy(), strict=True):
        assert low < value < high or (np.isinf(value) and (low if value < 0 else high) == value)
        assert np.isfinite([low, high]).sum() == (2 if np.isfinite(value) else 1)


def test_infinite_coefficients_that_move_together():
    """Two groups without events: of each the interval is that of the group beside the others held at infinity."""
    data = pd.DataFrame({"g": list("aaaabbbccccc"), "y": [0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1]})
    with pytest.warns(glmclf.errors.SeparationWarning):
        ci = Logit.from_formula("y ~ g", data).fit().conf_int(method="profile")
    with pytest.warns(glmclf.errors.SeparationWarning):
        alone = Logit.from_formula("y ~ g", data[data.g != "c"]).fit().conf_int(method="profile")
    close(ci.loc["g[T.b]"], alone.loc["g[T.b]"], rtol=1e-9)
    assert ci.loc["g[T.c]", 1] == np.inf and np.isfinite(ci.loc["g[T.c]", 0])


def test_directions_of_both_signs_leave_nothing_known():
    data = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "y": [0, 0, 0, 1, 1, 1]})
    data["z"] = [1.0, 3, 2, 2, 3, 1.5]
    with pytest.warns(glmclf.errors.SeparationWarning):
        ci = Logit.from_formula("y ~ x + z", data).fit().conf_int(method="profile")
    assert ci.loc["z"].tolist() == [-np.inf, np.inf]
    assert np.isfinite(ci.loc["x", 0]) and ci.loc["x", 1] == np.inf


def test_another_reference_of_a_separated_fit():
    res = separated("sep_mnlogit__mnlogit_separation")
    ci, turned = res.conf_int(method="profile"), res.rebase("c").conf_int(method="profile")
    close(turned.loc["a"], -ci.loc["c"].iloc[:, ::-1], rtol=1e-8)


# ------------------------------------------------------------------------------------------------ bias reduction
def test_of_the_penalised_likelihood():
    """Heinze & Schemper (2002): the penalty of the full information, at every value of the coefficient."""
    case, data = reference("endometrial__logit_firth")
    res = Logit.from_formula(case["formula"], data).fit(bias_reduction="firth")
    ci = res.conf_int(method="profile")
    assert (ci[0] < res.params).all() and (res.params < ci[1]).all()
    X = np.column_stack([np.ones(len(data)), data.NV, data.PI, data.EH])

    def penalised(b):
        eta = X @ b
        w = special.expit(eta) * special.expit(-eta)
        ll = np.sum(np.where(data.HG == 1, special.log_expit(eta), special.log_expit(-eta)))
        return float(ll + 0.5 * np.linalg.slogdet(X.T @ (w[:, None] * X))[1])

    check_ends(res, penalised, rows=[1])


def penalised_of(X, y):
    def value(b):
        eta = X @ b
        log_w = special.log_expit(eta) + special.log_expit(-eta)
        R = np.linalg.qr(np.exp(0.5 * log_w)[:, None] * X, mode="r")
        with np.errstate(divide="ignore"):
            return float(np.where(y == 1, special.log_expit(eta), special.log_expit(-eta)).sum()) + float(
                np.log(np.abs(np.diag(R))).sum()
            )

    return value


SEVERAL = pd.DataFrame(
    {
        "x": [-1.05, -0.83, -4.88, 3.6, 2.29, -0.65, 1.55, 0.56, -1.11, 1.96, -0.62]
        + [-0.66, -1.58, 0.91, -0.2, 1.09, -1.21, 0.25, -1.78, 1.68, 0.38, 0.66],
        "g": list("abbbabbabbbbaaabaabbba"),
        "y": [0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0],
    }
)


def test_penalised_likelihood_with_several_maxima():
    """At the upper end of g[T.b] the highest restricted maximum of many starts is at the quantile; a lower one was so
    at 11.79, where the statistic of the highest is 1.40."""
    res = Logit.from_formula("y ~ x + g", SEVERAL).fit(bias_reduction="firth")
    end = res.conf_int(method="profile").loc["g[T.b]"].iloc[1]
    X = np.column_stack([np.ones(len(SEVERAL)), SEVERAL.g == "b", SEVERAL.x])
    value = penalised_of(X, SEVERAL.y.to_numpy())
    starts = [np.zeros(2), *np.random.default_rng(0).normal(size=(8, 2)) * 8]

    def highest(c):
        def negative(b):
            return -max(value(np.array([b[0], c, b[1]])), -1e10)

        options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000}
        found = [optimize.minimize(negative, s, method="Nelder-Mead", options=options).fun for s in starts]
        return -min(found)

    top = value(res.params.to_numpy())
    assert 2 * (top - highest(end)) == pytest.approx(DROP, abs=1e-6)


def test_an_end_that_is_not_found_is_nan(monkeypatch):
    from glmclf.inference.profile import penalised as penalised_profile

    monkeypatch.setattr(penalised_profile, "MAX_POINTS_OF_PATH", 1)
    res = Logit.from_formula("y ~ 1", SEVERAL).fit(bias_reduction="firth")
    with pytest.warns(glmclf.errors.InferenceWarning, match='"Intercept"'):
        assert res.conf_int(method="profile").isna().all(axis=None)


# --------------------------------------------------------------------------------------------------- refusals
def refused(error, call, *words):
    with pytest.raises(error) as caught:
        call()
    assert all(word in str(caught.value) for word in words), caught.value


def test_what_has_no_profile():
    data = toy()
    for keywords, formula in (({"weights": "sw"}, "y ~ x1"), ({}, "share ~ x1")):
        res = make("Logit", formula, data, **keywords).fit()
        refused(ValueError, lambda res=res: res.conf_int(method="profile"), "pseudo-likelihood", "wald")
    res = shared("Logit")
    refused(NotImplementedError, lambda: res.with_cov("HC1").conf_int(method="profile"), "HC1", "profile")
    median = make("Probit", "y ~ x1", data).fit(bias_reduction="median")
    refused(NotImplementedError, lambda: median.conf_int(method="profile"), "median", "Probit")
    flic = make("Logit", "y ~ x1", data).fit(bias_reduction="firth", flic=True)
    refused(NotImplementedError, lambda: flic.conf_int(method="profile"), "flic=True")
    refused(ValueError, lambda: res.conf_int(method="exact"), "exact", "profile")
    refused(ValueError, lambda: res.conf_int(0.0, method="profile"), "alpha")
    with pytest.warns(glmclf.errors.ConvergenceWarning):
        short = make("Logit", "y ~ x1", data).fit(maxiter=1)
    refused(ValueError, lambda: short.conf_int(method="profile"), "converge")


def test_without_rows(tmp_path):
    res = fit("Logit", "y ~ x1")
    expected = res.conf_int(method="profile")
    res.save(tmp_path / "fit.json")
    refused(DataError, lambda: glmclf.load(tmp_path / "fit.json").conf_int(method="profile"), "rows")
    res.remove_data()
    refused(DataError, lambda: res.conf_int(method="profile"), "rows")
    assert np.isfinite(expected.to_numpy()).all()


def test_what_would_take_hours_is_not_begun():
    """Of 120 parameters of a penalised likelihood one alone takes half a minute; 10 take seconds."""
    generator = np.random.default_rng(0)
    X, y = np.column_stack([np.ones(1000), generator.normal(size=(1000, 11))]), generator.integers(0, 11, 1000)
    res = MNLogit(y, X).fit(bias_reduction="firth")
    for of in (res, res.rebase(2)):
        with pytest.raises(NotImplementedError, match=r'120 profiles.*1000 rows.*hours.*method="wald".*anova'):
            of.conf_int(method="profile")
    with pytest.raises(NotImplementedError, match=r"^odds_ratios\("):
        res.odds_ratios(method="profile")
    assert search_seconds(10, 4e-4) < 10 < 1800 < search_seconds(120, 4e-3)


def test_intervals_of_some_parameters():
    data = datasets.load("spector").assign(k=lambda d: pd.cut(d.TUCE, 3, labels=["low", "mid", "high"]).astype(str))
    binary = [model.from_formula("GRADE ~ GPA + PSI", data).fit() for model in (Logit, glmclf.Probit, glmclf.CLogLog)]
    classes = [model.from_formula("k ~ GPA + PSI", data).fit() for model in (MNLogit, glmclf.LDA, glmclf.NaiveBayes)]
    for res in (*binary, *classes):
        for method in ("wald", "profile") if res in (*binary, classes[0]) else ("wald",):
            every = res.conf_int(method=method)
            last, first = every.index[-1], every.index[0]
            pd.testing.assert_frame_equal(
                res.conf_int(method=method, columns=[last, first]), every.loc[[last, first]], rtol=1e-12
            )
        with pytest.raises(ValueError, match="nothing"):
            res.conf_int(columns="nothing")
    every = classes[0].conf_int(method="profile")
    one = classes[0].conf_int(method="profile", columns="GPA")
    pd.testing.assert_frame_equal(one, every[every.index.get_level_values(-1) == "GPA"], rtol=1e-12)
