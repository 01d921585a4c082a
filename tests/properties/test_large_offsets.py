"""A constant added to the offset changes the intercept, or the coefficients of groups, by as much, and nothing else."""

import warnings

import numpy as np
import pandas as pd
import pytest

from glmclf import Logit, MNLogit, load, registry
from glmclf.errors import InferenceWarning, SeparationWarning

SHIFTS = (-1e3, 1e6)
RTOL = 1e-7  # beyond the rounding of an intercept of a million


def table(n=60, seed=3):
    """Offsets are multiples of 1/64, so that a constant is added to them without rounding."""
    rng = np.random.default_rng(seed)
    d = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z"])
    d["g"] = np.array(list("abc"))[rng.integers(0, 3, n)]
    d["y"], d["k"] = rng.integers(0, 2, n), rng.integers(0, 3, n)
    d["o"] = np.round(rng.normal(size=n) * 64) / 64
    return d


DATA = table()
FORMULAS = {"constant": "{} ~ x + z", "groups": "{} ~ 0 + C(g) + x + z"}
RESPONSES = {"binary": "y", "multinomial": "k"}
MODELS = {
    lower: (registry.model_class(name), RESPONSES[registry.MODELS[name].kind])
    for lower, name in registry.LOWER_CASE.items()
    if registry.MODELS[name].kind in RESPONSES
}


def model(name, columns, c, data=DATA):
    kind, y = MODELS[name]
    return kind.from_formula(FORMULAS[columns].format(y), data.assign(o=data.o + c), offset="o")


def moved(params, c):
    """Parameters with what the constant takes from the intercept, or the groups, put back."""
    out = np.array(params, dtype=float)
    names = [str(name) for name in params.index]
    level = [i for i, name in enumerate(names) if name == "Intercept" or name.startswith("C(g)")]
    out[level] += c
    return out.ravel()


def numbers(result, c):
    """What a result says, as one vector."""
    new = DATA.iloc[:9].assign(o=DATA.o[:9] + c)
    out = [moved(result.params, c), [result.llf, result.llnull, result.aic], np.ravel(result.predict())]
    return np.concatenate([*out, np.ravel(result.predict(new)), np.ravel(result.predict(which="linear"))])


def statistics(result, columns):
    """Of the terms; without the groups nothing would make up for the offset."""
    return [] if columns == "groups" else np.ravel(result.anova().to_numpy(dtype=float)[:, 0])


def slopes(table):
    """Rows of a table that the constant does not move."""
    keep = [not any(s in str(label) for s in ("Intercept", "C(g)")) for label in table.index]
    return np.ravel(np.array(table, dtype=float)[keep])


def same(law, rtol=RTOL, shifts=SHIFTS):
    want = np.asarray(law(0.0), dtype=float)
    assert np.isfinite(want).any()
    for c in shifts:
        np.testing.assert_allclose(np.asarray(law(c), dtype=float), want, rtol=rtol, atol=rtol, err_msg=f"shift {c}")


@pytest.mark.parametrize("columns", FORMULAS)
@pytest.mark.parametrize("name", MODELS)
def test_fit(name, columns):
    def law(c):
        res = model(name, columns, c).fit()
        parts = [numbers(res, c), np.ravel(res.bse), [res.llr]]
        parts += [np.ravel(res.with_cov(kind).bse) for kind in ("expected", "HC0", "HC3", "HC4", "HC5")]
        parts += [statistics(res, columns), np.ravel(res.get_influence().cooks_distance)]
        extra = DATA.x**2
        return np.concatenate([*parts, [res.score_test(exog_extra=extra).statistic]])

    same(law)


@pytest.mark.parametrize("name", ["probit", "mnlogit"])
def test_bootstrap_and_jackknife(name):
    def law(c):
        res = model(name, "constant", c).fit()
        with warnings.catch_warnings():
            warnings.simplefilter("error", InferenceWarning)
            boot = res.with_cov("bootstrap", reps=20, seed=1)
        return np.concatenate([np.ravel(boot.bse), np.ravel(res.with_cov("jackknife").bse)])

    same(law)


@pytest.mark.parametrize("columns", FORMULAS)
@pytest.mark.parametrize("name", ["probit", "mnlogit"])
def test_profiles(name, columns):
    same(lambda c: slopes(model(name, columns, c).fit().conf_int(method="profile")), rtol=1e-6)


def test_profile_of_the_intercept():
    same(lambda c: model("logit", "constant", c).fit().conf_int(method="profile").loc["Intercept"] + c, rtol=1e-6)


@pytest.mark.parametrize("columns", FORMULAS)
@pytest.mark.parametrize("name", ["logit", "mnlogit"])
def test_firth(name, columns):
    def law(c):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            res = model(name, columns, c).fit(bias_reduction="firth")
            lr = [res.llr, res.llr_pvalue, res.llf_penalized, *statistics(res, columns)]
            if c:  # what a summary says of a fit without it is tested elsewhere
                assert res.summary() is not None
        return np.concatenate([numbers(res, c), np.ravel(res.bse), lr])

    same(law)


def test_firth_profile_and_flic():
    def law(c):
        res = model("logit", "constant", c).fit(bias_reduction="firth")
        flic = model("logit", "constant", c).fit(bias_reduction="firth", flic=True)
        return np.concatenate([slopes(res.conf_int(method="profile")), numbers(flic, c), [flic.llr]])

    same(law, rtol=1e-6)


def test_median_bias_reduction():
    same(lambda c: numbers(model("probit", "groups", c).fit(bias_reduction="median"), c))


@pytest.mark.parametrize("L1_wt", [0.0, 1.0])
@pytest.mark.parametrize("columns", FORMULAS)
@pytest.mark.parametrize("name", MODELS)
def test_penalties(name, columns, L1_wt):
    def law(c):
        res = model(name, columns, c).fit_regularized({"x": 0.02, "z": 0.01}, L1_wt=L1_wt)
        assert res.converged
        return np.concatenate([numbers(res, c)[:-1], [res.llf_penalized]])

    same(law, shifts=(40.0, *SHIFTS))


def test_symmetric_penalty():
    same(lambda c: moved(model("mnlogit", "constant", c).fit_regularized(0.02, symmetric=True).predict(), 0.0))


def test_a_penalised_constant_is_not_moved():
    """Where the offset cannot go into a free parameter the penalty sees it: brute force."""
    from scipy.optimize import minimize

    c, a = 12.0, 0.5
    d = DATA.assign(o=DATA.o + c)
    res = Logit.from_formula("y ~ x", d, offset="o").fit_regularized(a, penalize_intercept=True)

    def loss(b):
        eta = b[0] + b[1] * d.x + d.o
        return float(np.mean(np.logaddexp(0.0, eta) - d.y * eta) + 0.5 * a * b @ b)

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
    np.testing.assert_allclose(res.params, best.x, atol=1e-6)


def test_path_and_cross_validation():
    def law(c):
        m = model("logit", "constant", c)
        path = m.fit_regularized(alphas=[0.1, 0.01, 0.0], L1_wt=1).params.drop(columns="Intercept")
        chosen = m.fit_regularized_cv(folds=4, seed=1, alphas=[0.1, 0.01], L1_wt=0.5)
        return np.concatenate([np.ravel(path), np.ravel(chosen.cv.to_numpy(dtype=float))])

    same(law)


@pytest.mark.parametrize("constraint", ["x = z", "x = 0.5"])
@pytest.mark.parametrize("columns", FORMULAS)
def test_constraints(columns, constraint):
    def law(c):
        res = model("logit", columns, c).fit_constrained(constraint)
        tests = [res.constraint_test(test).statistic for test in ("wald", "lr", "score")]
        parts = [numbers(res, c), np.ravel(res.with_cov("HC0").bse), tests]
        return np.concatenate([*parts, slopes(res.conf_int(method="profile"))])

    same(law, rtol=1e-6)


def test_a_fixed_constant_follows_the_offset():
    def law(c):
        res = model("logit", "constant", c).fit_constrained({"Intercept": 0.25 - c})
        return numbers(res, c)

    same(law)


def test_separated():
    d = DATA.assign(g=np.where(DATA.g == "c", "b", DATA.g))
    d["s"] = ((DATA.g == "c") & (DATA.y == 1)).astype(float)

    def law(c):
        with pytest.warns(SeparationWarning):
            res = Logit.from_formula("y ~ s + x + z", d.assign(o=d.o + c), offset="o").fit()
        assert np.isinf(res.params["s"])
        parts = [moved(res.params, c)[2:], res.bse[2:], [res.llf], np.ravel(res.predict())]
        return np.concatenate([*parts, np.ravel(res.conf_int(method="profile").loc[["x", "s"], 0])])

    same(law, rtol=1e-6)


def test_kept_and_collinear(tmp_path):
    """Results that were copied, re-expressed or kept with their rows agree with the fit."""
    import pickle

    d = DATA.assign(o=DATA.o + 1e6, w=2.0 * DATA.x)
    with pytest.warns(match="linearly dependent"):
        res = MNLogit.from_formula("k ~ x + w + z", d, offset="o").fit()
    plain = MNLogit.from_formula("k ~ x + z", d.assign(o=DATA.o), offset="o").fit()
    for one in (res, pickle.loads(pickle.dumps(res)), res.rebase(1).rebase(0)):
        np.testing.assert_allclose(one.predict(), plain.predict(), rtol=RTOL)
        np.testing.assert_allclose(one.with_cov("HC0").bse.loc["z"], plain.with_cov("HC0").bse.loc["z"], rtol=RTOL)
    bare = res.with_cov("HC0")
    bare.remove_data()
    np.testing.assert_allclose(bare.predict(d), plain.predict(), rtol=RTOL)


@pytest.mark.parametrize("options", [{}, {"method": "bfgs"}, {"bias_reduction": "firth"}], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_a_callback_sees_the_parameters_of_the_model(name, options):
    seen = []
    result = model(name, "constant", 1e6).fit(callback=lambda *told: seen.append(told[1]), **options)
    np.testing.assert_allclose(seen[-1], np.ravel(result.params, order="F"), rtol=1e-6)


@pytest.mark.parametrize("c", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("columns", FORMULAS)
@pytest.mark.parametrize("name", MODELS)
def test_a_kept_result_predicts_bit_for_bit(name, columns, c, tmp_path):
    fits = [model(name, columns, c).fit()]
    if columns == "constant":
        fits.append(model(name, columns, c).fit_regularized(0.01))
    new = DATA.assign(o=DATA.o + c)
    for result in fits:
        result.save(tmp_path / "model.json")
        kept = load(tmp_path / "model.json")
        np.testing.assert_array_equal(kept.predict(new), result.predict(new))
        np.testing.assert_array_equal(kept.params, result.params)
        frames = [r.get_prediction(new).summary_frame() for r in (kept, result)]
        np.testing.assert_array_equal(*frames)
