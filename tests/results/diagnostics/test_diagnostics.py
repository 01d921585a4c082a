"""Quantile and partial residuals, and variance inflation: R, exact arithmetic, laws, refusals."""

import math
import warnings

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import Logit, datasets
from glmclf.errors import CollinearityWarning, DataError, InferenceWarning, SeparationWarning
from glmclf.inference.residuals import quantile as quantile_residuals
from glmclf.results.diagnostics.residuals import partial_weights

ALL = ["Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"]


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(7)
    n = 1500
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)}, index=np.arange(n) + 10)
    df["y"] = rng.choice(["low", "mid", "top"], n)
    df["x"] += 0.8 * (df.y == "top")
    df["b"] = np.where(df.y == "top", "yes", "no")
    df["w"] = rng.integers(1, 4, n)
    return df


def fit(model, df, right="x + z", **kw):
    return getattr(glmclf, model).from_formula(f"{'b' if model in ALL[:3] else 'y'} ~ {right}", df, **kw).fit()


# ------------------------------------------------------------------------------------------------ quantile residuals
def exact(y, m, p, u):
    """Normal quantile of P(Y < y) + u P(Y = y) of a binomial, by mpmath."""
    mass = [mp.binomial(m, k) * p**k * (1 - p) ** (m - k) for k in range(m + 1)]
    low, high = mp.fsum(mass[:y]) + u * mass[y], mp.fsum(mass[y + 1 :]) + (1 - u) * mass[y]
    tail, sign = (low, 1) if low < high else (high, -1)
    if tail > mp.mpf("1e-250"):
        return sign * -mp.sqrt(2) * mp.erfinv(1 - 2 * tail)
    z0 = -mp.sqrt(-2 * mp.log(tail))
    return sign * mp.findroot(lambda z: mp.log(mp.erfc(-z / mp.sqrt(2)) / 2) - mp.log(tail), z0)


@pytest.mark.parametrize("m", [1, 2, 9, 40])
@pytest.mark.parametrize("eta", [-300.0, -20.0, -1.5, 0.0, 0.3, 8.0, 250.0])
def test_exact_far_into_the_tails(m, eta):
    with mp.workdps(400):
        p = 1 / (1 + mp.exp(-mp.mpf(eta)))
        for y in sorted({0, 1, m // 2, m}):
            expected = float(exact(y, m, p, mp.mpf("0.25")))
            counts = (np.array([float(v)]) for v in (y, m))
            logs = np.array([-np.logaddexp(0, -eta)]), np.array([-np.logaddexp(0, eta)])
            assert_allclose(
                quantile_residuals.of_counts(*counts, *logs, np.array([0.25])), expected, rtol=1e-10, atol=1e-13
            )


def test_classes_are_counts_of_one_trial():
    log_p = np.log([[0.2, 0.8], [0.99, 0.01]])
    y, u = np.array([0, 1]), np.array([0.3, 0.6])
    by_class = quantile_residuals.of_classes(y, log_p, u)
    assert_allclose(
        by_class, quantile_residuals.of_counts(y * 1.0, np.ones(2), log_p[:, 1], log_p[:, 0], u), rtol=1e-14
    )


@pytest.mark.parametrize("model", ALL)
def test_standard_normal_where_the_model_is_right(model, toy):
    """Kolmogorov's distance of 1,500 residuals, and of a wrong model: the worse for a strong effect left out."""
    from scipy import stats

    z = fit(model, toy).resid_quantile(seed=3)
    assert z.index.equals(toy.index) and stats.kstest(z, "norm").pvalue > 0.01
    assert z.equals(fit(model, toy).resid_quantile(seed=3)) and not z.equals(fit(model, toy).resid_quantile(seed=4))


@pytest.mark.parametrize("model", ALL)
def test_frequency_weights_draw_for_each_repeated_row(model, toy):
    a, b = fit(model, toy, freq_weights="w"), fit(model, toy.loc[toy.index.repeat(toy.w)])
    pd.testing.assert_series_equal(a.resid_quantile(seed=1), b.resid_quantile(seed=1), rtol=1e-6)


def test_levels_count_in_their_order_and_events_turn_the_sign(toy):
    a, b = (fit("MNLogit", toy, reference=level).resid_quantile(seed=1) for level in ("low", "top"))
    assert_allclose(a, b, rtol=1e-7)
    res = fit("Logit", toy)
    z, yes = res.resid_quantile(seed=1), toy.b == "yes"
    p = res.fittedvalues
    u = quantile_residuals.uniform(len(toy), np.random.default_rng(1))
    from scipy.special import ndtri

    assert_allclose(z, ndtri(np.where(yes, 1 - p + u * p, u * (1 - p))), rtol=1e-9, atol=1e-12)


def test_counts_have_binomial_residuals():
    table = pd.DataFrame({"x": [0.0, 1, 2, 3], "s": [3, 9, 30, 55], "f": [57, 41, 33, 6]})
    res = glmclf.Logit.from_formula("s + f ~ x", table).fit()
    z = res.resid_quantile(seed=0)
    u = quantile_residuals.uniform(4, np.random.default_rng(0))
    with mp.workdps(40):
        rows = zip(table.s, table.s + table.f, res.fittedvalues, u, strict=True)
        expected = [float(exact(int(s), int(m), mp.mpf(float(p)), mp.mpf(float(v)))) for s, m, p, v in rows]
    assert_allclose(z, expected, rtol=1e-8)
    several = glmclf.MNLogit.from_formula("a + s + f ~ x", table.assign(a=5)).fit().resid_quantile(seed=0)
    assert list(several) == ["a", "s", "f"] and np.isfinite(several).all().all()


def test_certain_rows_are_noise(toy):
    table = pd.DataFrame({"x": [0, 1], "s": [6, 12], "f": [14, 0]})
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit.from_formula("s + f ~ x", table).fit()
    assert np.isfinite(res.resid_quantile(seed=0)).all()


# --------------------------------------------------------------------------------------------------- partial residuals
# R 4.2.2: m as in test_influence.py; residuals(m, "partial") of rows 1, 100 and 1, 10, and
# attr(predict(m, type = "terms"), "constant")
PARTIAL = {
    "birthwt__logit": (
        {
            "age": [-1.30298761714, -1.28578494648],
            "lwt": [-2.23313832391, -1.19680357634],
            "C(race)": [-0.643112753011, -1.573130582291],
            "ftv": [-1.48004606107, -1.07250225782],
        },
        [0, 99],
        -0.963371726223,
    ),
    "menarche__logit": ({"Age": [-7.351047294987, -0.920969850233]}, [0, 9], 0.153043243953),
    "menarche__probit": ({"Age": [-3.801213126238, -0.559166339344]}, [0, 9], 0.0739035765176),
    "menarche__cloglog": ({"Age": [-4.715074594988, -0.461267313691]}, [0, 9], -0.500334403803),
}


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
def test_weights_of_partial_residuals(model, toy):
    """The working residual is Pearson's over the root of the working weight."""
    res = fit(model, toy, weights="w")
    assert_allclose(partial_weights(res).iloc[:, 0], (res.resid_pearson / res.resid_working) ** 2, rtol=1e-9)


def test_weights_of_two_levels_are_those_of_a_logit(toy):
    two = fit("Logit", toy, freq_weights="w")
    one = glmclf.MNLogit.from_formula("b ~ x + z", toy, freq_weights="w").fit()
    assert_allclose(partial_weights(one), partial_weights(two), rtol=1e-8)


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_residuals_of_r(name):
    expected, rows, constant = PARTIAL[name]
    res = references.fitted(name)
    found, rtol = res.resid_partial(), 1e-8 if name.endswith("logit") else 1e-6
    for term, values in expected.items():
        assert_allclose(found[term].iloc[rows], values, rtol=rtol)
    assert_allclose(res.components().attrs["constant"], constant, rtol=rtol)


@pytest.mark.parametrize("model", ALL[:4])
def test_components_add_up_to_the_linear_predictor(model, toy):
    res = fit(model, toy.assign(o=0.3 * toy.z), "x + z + x:z", offset="o")
    table, eta = res.components(), res.predict(which="linear")
    constant = np.atleast_1d(table.attrs["constant"])
    for j, level in enumerate(res.model._equations if model == "MNLogit" else [None]):
        part, own = (table, eta) if level is None else (table[level], eta[level])
        assert list(part) == ["x", "z", "x:z"]
        assert_allclose(part.sum(axis=1) + constant[j] + 0.3 * toy.z, own, rtol=1e-9, atol=1e-11)
    assert_allclose(table.mean(), 0, atol=1e-12)
    repeated = fit(model, toy.loc[toy.index.repeat(toy.w)]).resid_partial()
    weighted = fit(model, toy, freq_weights="w").resid_partial()
    assert_allclose(weighted.loc[weighted.index.repeat(toy.w)], repeated, rtol=1e-6, atol=1e-9)


def test_working_residuals_of_several_classes(toy):
    """W^-1 (y - p), solved row by row; two classes have the binary model's."""
    res = fit("MNLogit", toy)
    p, u = res.fittedvalues.to_numpy()[:, 1:], res.resid_generalized.to_numpy()
    W = np.einsum("ni,ij->nij", p, np.eye(2)) - p[:, :, None] * p[:, None, :]
    assert_allclose(res.resid_working, np.linalg.solve(W, u[:, :, None])[:, :, 0], rtol=1e-9, atol=1e-13)
    two, one = (getattr(glmclf, m).from_formula("b ~ x", toy).fit() for m in ("MNLogit", "Logit"))
    assert_allclose(two.resid_working["yes"], one.resid_working, rtol=1e-8)


def test_terms_without_an_estimate(toy):
    with pytest.warns(CollinearityWarning):
        res = fit("Logit", toy, "x + z + I(x + z)")
    plain = fit("Logit", toy)
    assert_allclose(res.components().sum(axis=1), plain.components().sum(axis=1), rtol=1e-8, atol=1e-10)
    df = toy.assign(g=np.where(np.arange(len(toy)) < 20, "sure", "not"))
    df.loc[df.g == "sure", "b"] = "yes"
    with pytest.warns(SeparationWarning):
        res = fit("Logit", df, "x + g")
    assert res.components().g.isna().all() and np.isfinite(res.components().x).all()


# ------------------------------------------------------------------------------------------------- variance inflation
# R 4.2.2, car 3.1-1: vif(m) of the birthwt fit above; of glm(y ~ cls + sex + age, binomial, titanic, one row each); of
# glm(sex == "male" ~ species + body_mass_g + bill_length_mm, binomial(link), penguins) and of the lm
CAR = {
    "birthwt__logit": {"age": 1.10000028108, "lwt": 1.30349453963, "C(race)": 1.51027519468, "smoke": 1.34826304871}
    | {"ptl": 1.08784656277, "ht": 1.16842640433, "ui": 1.06306110494, "ftv": 1.08714536691},
    "titanic__logit": {"cls": 1.36428769582, "sex": 1.26653993214, "age": 1.08588575450},
}
PENGUINS = {
    "Logit": [62.99257957356566, 10.00098902138951, 8.23903239925382],
    "Probit": [49.74355150937165, 8.67021729499230, 7.10370883176451],
    "design": [10.33593069585883, 4.64786845186466, 5.15588900519445],
}


@pytest.mark.parametrize("name", CAR)
def test_vif_of_car(name):
    found = references.fitted(name).vif()
    assert set(found.index) == set(CAR[name])
    assert_allclose(found.GVIF[list(CAR[name])], list(CAR[name].values()), rtol=1e-8)
    assert_allclose(found["GVIF^(1/(2df))"], found.GVIF ** (1 / (2 * found.df)), rtol=1e-12)


@pytest.mark.parametrize("case", PENGUINS)
def test_vif_of_penguins(case):
    model = getattr(glmclf, "Logit" if case == "design" else case)
    res = model.from_formula("sex ~ species + body_mass_g + bill_length_mm", datasets.load("penguins")).fit()
    found = res.vif("design") if case == "design" else res.vif()
    assert_allclose(found.GVIF, PENGUINS[case], rtol=1e-7)
    assert found.df.tolist() == [2, 1, 1]


def test_vif_is_one_over_what_others_leave(toy):
    df = toy.assign(v=toy.x + 0.3 * toy.z, w2=toy.z**2)
    res = fit("Logit", df, "x + v + w2")
    found = res.vif("design", by="column")
    X = df[["x", "v", "w2"]].to_numpy()
    inverse = np.linalg.inv(np.corrcoef(X.T))
    assert_allclose(found.GVIF, np.diag(inverse), rtol=1e-10)
    V = res.with_cov("expected").cov_params().iloc[1:, 1:].to_numpy()
    assert_allclose(res.vif(by="column").GVIF, np.diag(V) * np.diag(np.linalg.inv(V)), rtol=1e-8)


def test_vif_of_several_classes_by_determinants(toy):
    df = toy.assign(v=toy.x + 0.5 * toy.z)
    res = fit("MNLogit", df, "x + v")
    V = res.cov_params().to_numpy()
    x, v = [1, 4], [2, 5]

    def det(i):
        return np.linalg.det(V[np.ix_(i, i)])

    assert_allclose(res.vif().GVIF, det(x) * det(v) / det(x + v), rtol=1e-8)
    assert res.vif().df.tolist() == [2, 2] and res.vif("design").df.tolist() == [1, 1]


@pytest.mark.parametrize("of", ["information", "design"])
def test_vif_under_weights_units_and_ill_conditioning(toy, of):
    df = toy.assign(v=toy.x + 0.5 * toy.z, g=np.where(toy.z > 0.5, "a", np.where(toy.z < -1, "b", "c")))
    a = fit("Logit", df, "x + v + g", freq_weights="w").vif(of)
    b = fit("Logit", df.loc[df.index.repeat(df.w)], "x + v + g").vif(of)
    assert_allclose(a.GVIF, b.GVIF, rtol=1e-8)
    c = fit("Logit", df, "I(1000 * x + 7) + v + C(g, Sum)", freq_weights="w").vif(of)
    assert_allclose(c.GVIF["C(g, Sum)"], a.GVIF["g"], rtol=1e-7)
    near = fit("Logit", df.assign(t=2e6 + df.x), "x + I(x + 1e-6 * z)").vif(of)
    r = np.corrcoef(df.x, df.x + 1e-6 * df.z)[0, 1]
    assert r > 0.999999 and near.GVIF.min() > 1e11
    if of == "design":
        z = df.z - df.z.mean()
        xc = df.x - df.x.mean()
        left = 1e-12 * (z @ z - (z @ xc) ** 2 / (xc @ xc))
        assert_allclose(near.GVIF.iloc[0], 1 + ((xc + 1e-6 * z) @ xc) ** 2 / (xc @ xc) / left, rtol=1e-4)


def test_vif_of_separated_classes_does_not_see_a_repeated_column():
    g = np.random.default_rng(19)
    t = pd.DataFrame({"x": g.normal(size=120), "d": (np.arange(120) % 9 == 0) * 1})
    t = t.assign(u=g.normal(size=120) + 0.5 * t.x, z=2 * t.x - 3, m=np.where(t.d == 1, "c", g.choice(list("abc"), 120)))
    with pytest.warns(SeparationWarning):
        without = glmclf.MNLogit.from_formula("m ~ x + u + d", t).fit()
    with pytest.warns(CollinearityWarning), pytest.warns(SeparationWarning):
        repeated = glmclf.MNLogit.from_formula("m ~ x + u + z + d", t).fit()
    for base in "abc":
        pair = [res.rebase(base).vif().loc[["x", "u"], "GVIF"].astype(float) for res in (without, repeated)]
        np.testing.assert_allclose(*pair, 1e-9)


def test_vif_of_odd_fits(toy):
    with pytest.warns(CollinearityWarning):
        res = fit("Logit", toy, "x + z + I(x + z)")
    assert np.isnan(res.vif().GVIF["I(x + z)"]) and res.vif().df["I(x + z)"] == 0
    assert_allclose(res.vif().GVIF[["x", "z"]], fit("Logit", toy).vif().GVIF, rtol=1e-8)
    with pytest.warns(InferenceWarning, match="column of ones"):
        fit("Logit", toy, "0 + x + z").vif()
    mean = fit("Logit", toy, "0 + x + C(w, Sum)")  # a column of ones among those of a factor
    assert_allclose(mean.vif().loc[["x", "C(w, Sum)"]], fit("Logit", toy, "x + C(w, Sum)").vif().iloc[::-1], rtol=1e-8)
    ridge = glmclf.Logit.from_formula("b ~ x + z", toy).fit_regularized(0.1)
    assert_allclose(ridge.vif("design").GVIF, fit("Logit", toy).vif("design").GVIF, rtol=1e-10)
    with pytest.raises(NotImplementedError, match="regularised"):
        ridge.vif()
    with pytest.raises(NotImplementedError, match="constraints"):
        glmclf.Logit.from_formula("b ~ x + z", toy).fit_constrained("x = z").vif()
    for word in ({"of": "vcov"}, {"by": "level"}):
        with pytest.raises(ValueError, match="choose"):
            fit("Logit", toy).vif(**word)


# ---------------------------------------------------------------------------------------------------------- refusals
def test_fractions_and_kept_results(toy, tmp_path):
    res = glmclf.Logit.from_formula("f ~ x", toy.assign(f=0.4 + 0.01 * np.tanh(toy.z))).fit()
    with pytest.raises(NotImplementedError, match="fractional"):
        res.resid_quantile()
    for model in ("Logit", "MNLogit", "LDA"):
        fit(model, toy).save(tmp_path / "m.json")
        kept = glmclf.load(tmp_path / "m.json")
        for name in ("resid_quantile", "resid_partial", "vif", "components"):
            if hasattr(kept, name):
                with pytest.raises(DataError, match="removed or not saved"):
                    getattr(kept, name)()


def test_sampling_weights_and_penalised_fits_have_them(toy):
    """Residuals and terms need no likelihood."""
    for res in (fit("Logit", toy, weights="w"), glmclf.MNLogit.from_formula("y ~ x + z", toy).fit_regularized(0.01)):
        assert np.isfinite(res.resid_quantile(seed=0)).all() and np.isfinite(res.resid_partial()).all().all()
    symmetric = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit_regularized(0.01, symmetric=True)
    assert list(symmetric.components().columns.get_level_values(0).unique()) == ["low", "mid", "top"]
    with pytest.raises(NotImplementedError, match="symmetric"):
        symmetric.resid_partial()
    assert not math.isnan(fit("LDA", toy, weights="w").resid_quantile(seed=0).sum())


def test_a_row_that_alone_determines_a_coefficient_has_no_standardised_residual():
    data = pd.DataFrame({"share": [0.2, 0.6, 0.3, 0.7, 0.4, 0.9, 0.5], "g": list("aabbbbc")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        res = Logit.from_formula("share ~ 0 + g", data).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        last = res.augment().iloc[-1]
    assert last[".hat"] == pytest.approx(1.0, abs=1e-12) and last[".resid"] == pytest.approx(0.0, abs=1e-7)
    assert np.isnan(last[".cooksd"])
