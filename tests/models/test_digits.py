"""Every digit that the data hold: ill-conditioned designs against sixty digits, and what `digits` says of them."""

import warnings

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
import references
from core import exact

import glmclf
from glmclf import CLogLog, Logit, MNLogit, Probit
from glmclf.core.design import product
from glmclf.errors import SeparationWarning

MODELS = {"Logit": Logit, "Probit": Probit, "CLogLog": CLogLog}
PARAMS, BSE = 12, 10  # correct digits aimed at
HONEST = 1.5  # how many digits too high `digits` may be: roundings are random
N = 40


def polynomial(degree):
    """x^0 ... x^degree around 1000, as doubles hold them."""
    half = {5: 10, 6: 25, 7: 50, 8: 100}[degree]  # condition 10^13
    x = np.linspace(1000 - half, 1000 + half, N).round()
    return x[:, None] ** np.arange(degree + 1)


def scales():
    """Columns from 1e-8 to 1e8."""
    generator = np.random.default_rng(3)
    return np.column_stack([np.ones(N), generator.normal(size=(N, 4)) * [1e-8, 1e-4, 1e4, 1e8]])


def near_collinear():
    """x3 = x1 + x2 up to 1e-9."""
    generator = np.random.default_rng(4)
    x = generator.normal(size=(N, 2))
    return np.column_stack([np.ones(N), x, x.sum(axis=1) + 1e-9 * generator.normal(size=N)])


DESIGNS = {f"poly{d}": lambda d=d: polynomial(d) for d in (5, 6, 7, 8)}
DESIGNS |= {"scales": scales, "collinear": near_collinear}
KINDS = ["plain", "freq_weights", "weights", "offset", "counts"]


def data(design, kind):
    """Design, response and keywords, and the same as `exact.maximum` takes them."""
    generator = np.random.default_rng(8)
    X = DESIGNS[design]()
    z = np.linalg.qr(X / np.linalg.norm(X, axis=0))[0][:, -1]
    p = 1 / (1 + np.exp(0.3 - 4 * z))
    m = generator.integers(1, 9, N).astype(float) if kind == "counts" else None
    y = generator.binomial(1 if m is None else m.astype(int), p).astype(float)
    more = {"offset": generator.normal(size=N)} if kind == "offset" else {}
    w = {"freq_weights": generator.integers(1, 6, N), "weights": generator.uniform(0.2, 5, N)}.get(kind)
    given = more if w is None else {kind: w}
    endog = y if m is None else np.column_stack([y, m - y])
    return X, endog, given, {"y": y, "m": m, "offset": more.get("offset"), "weights": w}


def quiet(model, endog, X, given=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model(endog, X, **(given or {})).fit(**options)


def compared(res, X, known):
    """Correct digits of each parameter and each standard error of the inverse information."""
    theta, _, _, V = exact.maximum(res.model.link.name, X, known["y"], res.params, *_rest(known))
    return references.digits(res.params, theta), references.digits(res.bse, np.sqrt(np.diag(V)))


def _rest(known):
    return known["m"], known["offset"], known["weights"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("design", DESIGNS)
def test_ill_conditioned_designs(design, model):
    X, endog, given, known = data(design, "plain")
    params, bse = compared(res := quiet(MODELS[model], endog, X), X, known)
    assert params.min() > PARAMS and bse.min() > BSE, (params, bse)
    assert (res.digits - params).max() < HONEST and res.digits.min() > PARAMS


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("design", ["poly5", "collinear"])
def test_weights_counts_and_offset(design, kind):
    X, endog, given, known = data(design, kind)
    options = {"cov_type": "nonrobust"} if kind == "weights" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glmclf.errors.InferenceWarning)  # the inverse information of sampling weights
        res = Logit(endog, X, **given).fit(**options)
    params, bse = compared(res, X, known)
    assert params.min() > PARAMS and bse.min() > BSE, (params, bse)
    assert (res.digits - params).max() < HONEST and res.digits.min() > PARAMS


@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs", "sgd"])
@pytest.mark.parametrize("model", ["Logit", "CLogLog"])
def test_every_solver(model, method):
    X, endog, _, known = data("poly6", "plain")
    params, bse = compared(quiet(MODELS[model], endog, X, method=method), X, known)
    assert params.min() > PARAMS and bse.min() > BSE, (params, bse)


def multinomial_maximum(X, y, start, digits=60):
    """Estimate (k, K-1) and its covariance, by Newton's method in mpmath."""
    with mp.workdps(digits):
        k, q = X.shape[1], start.shape[1]
        A = [[mp.mpf(float(v)) for v in row] for row in X]
        theta = mp.matrix([mp.mpf(float(v)) for v in start.ravel(order="F")])
        for _ in range(4):
            s, H = mp.zeros(k * q, 1), mp.zeros(k * q, k * q)
            for x, c in zip(A, y, strict=True):
                e = [mp.exp(mp.fsum(x[i] * theta[j * k + i] for i in range(k))) for j in range(q)]
                p = [v / (1 + mp.fsum(e)) for v in e]
                for j in range(q):
                    u = (1 if c == j + 1 else 0) - p[j]
                    for i in range(k):
                        s[j * k + i] += u * x[i]
                        for l in range(q):
                            h = p[j] * ((1 if j == l else 0) - p[l]) * x[i]
                            for r in range(k):
                                H[j * k + i, l * k + r] += h * x[r]
            theta += mp.lu_solve(H, s)
        V = H**-1
        return [np.array(v, dtype=float) for v in (list(theta), [V[i, i] for i in range(k * q)])]


@pytest.mark.parametrize("design", ["poly5", "collinear", "scales"])
def test_several_classes(design):
    X = DESIGNS[design]()
    y = np.random.default_rng(1).integers(0, 3, N)
    res = quiet(MNLogit, y, X)
    theta, variances = multinomial_maximum(X, y, res.params.to_numpy())
    params = references.digits(res.params.to_numpy().ravel(order="F"), theta)
    bse = references.digits(res.bse.to_numpy().ravel(order="F"), np.sqrt(variances))
    assert params.min() > PARAMS and bse.min() > BSE, (params, bse)
    expected = res.digits
    assert expected.shape == res.params.shape and list(expected.index) == list(res.params.index)
    assert (expected.to_numpy().ravel(order="F") - params).max() < HONEST
    rebased = res.rebase(2)
    assert rebased.digits.shape == expected.shape and rebased.digits.to_numpy().min() > PARAMS


@pytest.mark.parametrize("name", references.names("fit", (*references.BINARY, "MNLogit")))
def test_references(name):
    """Certified values: the aim or what the rounded columns of the formula leave, and an honest word on it."""
    case, table = references.reference(name)
    if case["model"] == "MNLogit":
        res = MNLogit.from_formula(case["formula"], table, **references.model_keywords(case)).fit()
    else:
        res = references.fitted(name)
    values, checks = case["values"], case["checks"]
    found = {q: _digits(getattr(res, q), values[q]) for q in ("params", "bse")}
    assert found["params"].min() >= min(PARAMS, checks["attainable_digits_params"] - 0.1)
    assert found["bse"].min() >= min(BSE, checks["attainable_digits_bse"] - 0.1)
    expected = res.digits.to_numpy()
    assert np.nanmin(expected) - found["params"].min() < HONEST


def _digits(got, expected):
    if isinstance(got, pd.DataFrame):
        got = got.set_axis(got.columns.astype(str), axis=1)
        return np.concatenate([references.digits(got[c][list(v)], [float(b) for b in v.values()])
                               for c, v in expected.items()])
    expected = references.labelled(expected)
    return references.digits(got[expected.index], expected)


# ------------------------------------------------------------------------------------------------- refine, digits
def test_refine():
    """Plain arithmetic loses as many digits as it says; asked for, large designs keep them too."""
    X, endog, _, known = data("poly5", "plain")
    plain = quiet(Logit, endog, X, refine=False)
    params, _ = compared(plain, X, known)
    assert params.min() < 6 and abs(plain.digits.min() - params.min()) < 2.5
    assert "The design is ill-conditioned: about" in plain.summary().as_text()
    assert "fit(refine=True) gives more" in " ".join(plain._notes())
    refined = quiet(Logit, endog, X, refine=True)
    assert compared(refined, X, known)[0].min() > PARAMS and "ill-conditioned" not in refined.summary().as_text()


def test_a_large_design_says_what_it_loses(monkeypatch):
    X, endog, _, known = data("poly5", "plain")
    monkeypatch.setattr(product, "MAX_TWOFOLD_ARITHMETIC", 1)
    large = quiet(Logit, endog, X)
    assert compared(large, X, known)[0].min() < 6 and large.digits.min() < 6
    refined = quiet(Logit, endog, X, refine=True)
    params, bse = compared(refined, X, known)
    assert params.min() > PARAMS and bse.min() > BSE and refined.digits.min() > PARAMS
    robust = refined.with_cov("HC0")
    monkeypatch.undo()
    expected = quiet(Logit, endog, X, cov_type="HC0")
    np.testing.assert_allclose(robust.bse, expected.bse, rtol=1e-12)
    np.testing.assert_allclose(refined.fittedvalues, expected.fittedvalues, rtol=1e-12)


@pytest.mark.parametrize("model", [*MODELS, "MNLogit"])
def test_refine_changes_nothing_else(model):
    generator = np.random.default_rng(2)
    X = np.column_stack([np.ones(80), generator.normal(size=(80, 2))])
    y = generator.integers(0, 3 if model == "MNLogit" else 2, 80)
    fits = [quiet(getattr(glmclf, model), y, X, refine=refine) for refine in (None, True, False)]
    for other in fits[1:]:
        np.testing.assert_allclose(other.params, fits[0].params, rtol=1e-11)
        np.testing.assert_allclose(other.bse, fits[0].bse, rtol=1e-11)
        np.testing.assert_allclose(other.llf, fits[0].llf, rtol=1e-14)


def test_an_estimate_of_0_needs_no_digit():
    data = pd.DataFrame({"x": [0, 1], "yes": [25, 49], "no": [25, 1]})
    res = quiet_formula(data)
    assert abs(res.params["Intercept"]) < 1e-14 and (res.digits >= 0).all()
    assert "digits of" not in res.summary().as_text()


def quiet_formula(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Logit.from_formula("yes + no ~ x", data).fit()


def test_computed_columns_are_rounded():
    """x^5 of small whole numbers is exact; of decimals it is not, and the estimate shows it."""
    generator = np.random.default_rng(5)
    x = generator.integers(900, 1100, 200).astype(float)
    y = (generator.random(200) < 0.5).astype(float)
    formula = "y ~ " + " + ".join(["x", *(f"I(x ** {d})" for d in range(2, 6))])
    whole = Logit.from_formula(formula, pd.DataFrame({"x": x, "y": y})).fit()
    decimal = Logit.from_formula(formula, pd.DataFrame({"x": x * 1.1, "y": y})).fit()
    assert whole.digits.min() > 12 > 8 > decimal.digits.min()
    assert "digits of" in decimal.summary().as_text() and "refine" not in " ".join(decimal._notes())
    by_hand = Logit(y, np.vander(x * 1.1, 6, increasing=True)).fit()  # columns given as numbers are what they are
    assert by_hand.digits.min() > 12


def test_omitted_and_infinite_coefficients_have_no_digits():
    generator = np.random.default_rng(6)
    t = pd.DataFrame({"x": generator.normal(size=60), "y": generator.integers(0, 2, 60)})
    t["twice"], t["s"] = 2 * t.x, t.y * (generator.random(60) < 0.3)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        res = Logit.from_formula("y ~ x + twice", t).fit()
    assert np.isnan(res.digits["twice"]) and res.digits[["Intercept", "x"]].min() > 12
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = Logit.from_formula("y ~ x + s", t).fit()
    assert np.isnan(res.digits["s"]) and res.digits[["Intercept", "x"]].min() > 12


@pytest.mark.parametrize("refine", [None, True, False])
def test_kept(tmp_path, refine):
    X, endog, _, _ = data("poly5", "plain")
    res = quiet(Logit, endog, X, refine=refine)
    res.save(tmp_path / "m.json")
    back = glmclf.load(tmp_path / "m.json")
    pd.testing.assert_series_equal(back.digits, res.digits)
    np.testing.assert_array_equal(back.predict(X[:5]), np.asarray(res.predict(X[:5])))
    res.remove_data()
    pd.testing.assert_series_equal(res.digits, back.digits)


def test_bad_refine():
    X, endog, _, _ = data("scales", "plain")
    with pytest.raises(ValueError, match="refine='yes'"):
        Logit(endog, X).fit(refine="yes")
    with pytest.raises(NotImplementedError, match='refine=True with bias_reduction="firth"'):
        Logit(endog, X).fit(refine=True, bias_reduction="firth")


def test_an_estimate_short_of_the_maximum_has_few_digits():
    X, endog, _, _ = data("scales", "plain")
    raw = Logit(endog, X).fit(method="sgd", polish=False)
    best = quiet(Logit, endog, X)
    away = references.digits(raw.params, best.params)
    assert raw.digits.max() < 4 and np.abs(raw.digits - away).max() < 1.5


# --------------------------------------------------------------------------------------------------- large offsets
def test_a_large_offset_costs_no_digit():
    """Against mpmath: the linear predictor is not formed as a difference of millions."""
    generator = np.random.default_rng(2)
    z = generator.normal(size=(N, 3))
    y = (generator.random(N) < 0.5).astype(float)
    X, offset = np.column_stack([np.ones(N), z]), 1e6 + z[:, 0]
    for name, model in MODELS.items():
        for method in ("irls", "newton", "lbfgs"):
            res = quiet(model, y, X, {"offset": offset}, method=method)
            theta, _, _, V = exact.maximum(res.model.link.name, X, y, res.params, None, offset, None)
            digits = references.digits(res.params, theta)
            assert digits.min() > 13 and (res.digits - digits).max() < HONEST, (name, method, digits)
            assert references.digits(res.bse, np.sqrt(np.diag(V))).min() > 9


CODINGS = {
    "intercept": lambda z, g: np.column_stack([np.ones(N), z]),
    "threes": lambda z, g: np.column_stack([z, np.full(N, 3.0)]),
    "dummies": lambda z, g: np.column_stack([g, 1 - g, z]),
}


@pytest.mark.parametrize("reduction", [None, "firth", "median"])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_constant_in_the_offset_moves_the_constant_alone(coding, reduction):
    for seed in range(3):
        generator = np.random.default_rng(seed)
        z, g = generator.normal(size=(N, 2)), np.arange(N) % 2.0
        y, X = (generator.random(N) < 0.5).astype(float), CODINGS[coding](z, g)
        moved = 1e5 + z[:, 0]
        res, plain = (quiet(Probit, y, X, {"offset": o}, bias_reduction=reduction) for o in (moved, moved - 1e5))
        slopes = [j for j in range(X.shape[1]) if not np.isin(X[:, j], (0, 1, 3)).all()]
        np.testing.assert_allclose(res.params.iloc[slopes], plain.params.iloc[slopes], rtol=1e-13)
        np.testing.assert_allclose(res.bse, plain.bse, rtol=1e-8)


@pytest.mark.parametrize("reduction", [None, "firth"])
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
@pytest.mark.parametrize("size", [1e3, -1e5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_offset_that_columns_explain_moves_their_coefficients_alone(model, reduction, size, seed):
    """X b + X a = X (b + a): of levels of a factor, one of them separated for one seed, and of a slope."""
    generator = np.random.default_rng(seed)
    k, x = generator.integers(0, 3, 40), generator.normal(size=40)
    X = np.column_stack([np.ones(40), x, k == 1, k == 2]).astype(float)
    y = np.where((k == 1) & (seed == 2), 1, generator.random(40) < 0.5).astype(int)
    if model == "MNLogit":
        y *= generator.integers(1, 3, 40)
    small = np.round(generator.normal(size=40), 3)
    plain = quiet_or_separated(getattr(glmclf, model), y, X, small, reduction)
    for a in ([0, 0, size, 0], [0, 0, size, 3 * size], [0, size, 0, 0]):
        res = quiet_or_separated(getattr(glmclf, model), y, X, small + X @ a, reduction)
        # of a slope, offset + X a is itself rounded to 1e-16 of the offset
        rtol = 1e-9 if a[1] == 0 else 1e-6
        away = np.reshape(a, (4, 1) if model == "MNLogit" else 4)
        np.testing.assert_allclose(res.params.to_numpy() + away, plain.params, rtol, rtol * 10)
        np.testing.assert_allclose(res.bse, plain.bse, rtol)
        np.testing.assert_allclose(res.llf, plain.llf, rtol)


def quiet_or_separated(model, y, X, offset, reduction):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeparationWarning)
        return model(y, X, offset=offset).fit(bias_reduction=reduction)


def test_large_offsets_of_several_equations():
    generator = np.random.default_rng(5)
    z = generator.normal(size=(60, 2))
    y, X = generator.integers(0, 3, 60), np.column_stack([np.ones(60), z])
    more = generator.normal(size=(60, 2)) + [1e6, -2e5]
    res, plain = (quiet(MNLogit, y, X, {"offset": o}) for o in (more, more - [1e6, -2e5]))
    np.testing.assert_allclose(res.params.iloc[1:], plain.params.iloc[1:], rtol=1e-13)
    np.testing.assert_allclose(res.params.iloc[0] + [1e6, -2e5], plain.params.iloc[0], atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_an_offset_that_cannot_be_centred_has_honest_digits(model):
    """A column that is no constant takes it up: some digits are lost, and `digits` says so."""
    for seed in range(6):
        generator = np.random.default_rng(seed)
        z = generator.normal(size=(N, 3))
        y = (generator.random(N) < 0.5).astype(float)
        X = np.column_stack([1 + 1e-3 * z[:, 0], z[:, 1:]])
        offset = 1e5 * X[:, 0] + z[:, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            res = MODELS[model](y, X, offset=offset).fit(start_params=[-1e5, 0, 0])
        theta = exact.maximum(res.model.link.name, X, y, res.params, None, offset, None)[0]
        digits = references.digits(res.params, theta)
        assert res.converged and digits.min() > 8 and (res.digits - digits).max() < HONEST, (digits, res.digits)
