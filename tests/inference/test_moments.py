"""Tests of fit by moments: R, moments written out, laws of weights and labels, size, what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.errors import DataError, InferenceWarning

BINARY = ["Logit", "Probit", "CLogLog"]
GENERATIVE = ["LDA", "QDA", "NaiveBayes"]

# R 4.2.2, m <- glm(..., control = glm.control(1e-15, 200)); F, f, fp the fitted values, their first and second
# derivatives, n the trials, X <- model.matrix(m):
# sum of squares: with V = sum(n F (1-F) (1-2F)^2) - g' solve(A, g), g = X' (n (1-2F) f), A the expected information,
#     (sum(n (y (1-F)^2 + (1-y) F^2)) - sum(n F (1-F)))^2 / V; rms 6.5-0, resid(lrm, "gof"), has its root .501674865017
#     for birthwt and .189152358427782 for spector
# Stukel: anova(m, update(m, . ~ . + I(e^2/2 * (e >= 0)) + I(-e^2/2 * (e < 0))), test = "Rao"), e linear predictors
# information matrix: with w = sqrt(F (1-F) / n), the sum of squares that qr(cbind(f/w * X, fp/w * Z), tol = 1e-7)
#     explains of (y-F)/w, and its rank less ncol(X); Z products X[, i] * X[, j], i <= j, or X^2 (diagonal)
R = {
    "spector__logit": [0.0357786146987979, 0.0619055408454514, (10.542030622909065, 9), (3.555725338631063, 4)],
    "spector__probit": [0.0986898460932975, None, (7.080562397005941, 8), (2.884322320242855, 3)],
    "spector__cloglog": [0.00444352324873078, None, (5.532049479719794, 9), (3.529413261567857, 4)],
    "birthwt__logit": [0.25167767019, 0.356795215044, (56.4331395731, 48), (10.7610891405, 10)],
    "menarche__logit": [3.16809339276, 7.93809230582, (7.97647000076, 3), (7.85651624226, 2)],
    "menarche__probit": [0.118300197215, None, (8.40573001653, 2), (8.35796447748, 1)],
    "menarche__cloglog": [79.5383939445, None, (173.160749795, 3), (173.15158103, 2)],
    "titanic__logit": [21.4846187961, 42.9111034244, (103.8295931716, 8), (95.6527023786, 6)],
}


@pytest.mark.parametrize("name", R)
def test_of_r(name):
    squares, stukel, full, diagonal = R[name]
    res = references.fitted(name)
    table = res.gof_test()
    rtol = 1e-8 if name.endswith("logit") else 3e-6  # with other links R's fit leaves fewer digits
    assert_allclose(table.loc["sum of squares", ["statistic", "df"]].astype(float), [squares, 1], rtol=rtol)
    assert ("Stukel" in table.index) == (stukel is not None)
    if stukel is not None:
        assert_allclose(table.loc["Stukel", ["statistic", "df"]].astype(float), [stukel, 2], rtol=rtol)
    assert_allclose(table.loc["information matrix", ["statistic", "df"]].astype(float), full, rtol=rtol)
    assert_allclose(res.information_matrix_test(diagonal=True)[:2], diagonal, rtol=rtol)


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(5)
    n = 400
    df = pd.DataFrame(
        {"x": rng.normal(size=n).round(1), "z": rng.normal(size=n).round(1), "g": rng.choice(list("ab"), n)}
    )
    utility = np.column_stack([np.zeros(n), 0.9 * df.x + 0.4 * (df.g == "b"), df.z]) + rng.gumbel(size=(n, 3))
    df["y"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["b"] = (df.y == "car").astype(int)
    df["w"] = rng.integers(1, 4, n)
    return df


def regression(counts, p, scores, moments):
    """Explained sum of squares of Pearson residuals of all outcomes on scores and moments, (n, K, .) each."""
    root = np.sqrt(counts.sum(axis=1, keepdims=True) * p)
    r = ((counts - counts.sum(axis=1, keepdims=True) * p) / root).ravel()
    A = (np.concatenate([scores, moments], axis=2) * root[:, :, None]).reshape(len(r), -1)
    fit, _, rank, _ = np.linalg.lstsq(A / np.linalg.norm(A, axis=0), r, rcond=1e-7)
    return float(((A / np.linalg.norm(A, axis=0)) @ fit) @ r), rank - scores.shape[2]


def test_several_classes_written_out(toy):
    """The artificial regression with an outcome a row, and second derivatives of probabilities by differences."""
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    X, B = res.model.exog, res.params.to_numpy()
    eta, p, h = X @ B, res.fittedvalues.to_numpy(), 1e-3
    counts = pd.get_dummies(toy.y).to_numpy(dtype=float)

    def prob(z):
        e = np.exp(np.column_stack([np.zeros(len(z)), z]))
        return e / e.sum(axis=1, keepdims=True)

    e = np.eye(2) * h
    score = np.stack([(prob(eta + d) - prob(eta - d)) / (2 * h) / p for d in e], axis=2)
    second = [[prob(eta + a + b) - prob(eta + a - b) - prob(eta - a + b) + prob(eta - a - b) for b in e] for a in e]
    second = np.moveaxis(np.array(second), [0, 1], [2, 3]) / (4 * h * h) / p[:, :, None, None]
    scores = (score[:, :, :, None] * X[:, None, None, :]).reshape(*p.shape, -1)
    i, j = np.triu_indices(3)
    a, b = np.triu_indices(2)
    full = (second[:, :, a, b, None] * (X[:, i] * X[:, j])[:, None, None, :]).reshape(*p.shape, -1)
    assert_allclose(res.information_matrix_test()[:2], regression(counts, p, scores, full), rtol=1e-5)
    own = second[:, :, [0, 1], [0, 1], None] * (X * X)[:, None, None, :]
    assert_allclose(
        res.information_matrix_test(diagonal=True)[:2],
        regression(counts, p, scores, own.reshape(*p.shape, -1)),
        rtol=1e-5,
    )
    squares = ((p * p).sum(axis=1, keepdims=True) - p)[:, :, None]
    found = res.gof_test().loc["sum of squares", ["statistic", "df"]]
    assert_allclose(found.astype(float), regression(counts, p, scores, squares), rtol=1e-5)


@pytest.mark.parametrize("model", [*BINARY, "MNLogit", *GENERATIVE])
def test_repeated_rows(toy, model):
    y = "y" if model in ("MNLogit", *GENERATIVE) else "b"
    cls, long = getattr(glmclf, model), toy.loc[toy.index.repeat(toy.w)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        one, many = (
            cls.from_formula(f"{y} ~ x + z", toy, freq_weights="w").fit(),
            cls.from_formula(f"{y} ~ x + z", long).fit(),
        )
        assert_allclose(one.gof_test(), many.gof_test(), rtol=1e-6)
        assert_allclose(one.gof_groups(), many.gof_groups(), rtol=1e-8)
        assert_allclose(one.pseudo_rsquared(), many.pseudo_rsquared(), rtol=1e-8)


@pytest.mark.parametrize("model", ["MNLogit", *GENERATIVE])
def test_the_base_and_the_order_of_rows_do_not_matter(toy, model):
    cls = getattr(glmclf, model)
    fits = [cls.from_formula("y ~ x + z", toy).fit(), cls.from_formula("y ~ x + z", toy[::-1], reference="rail").fit()]
    rows = ["sum of squares", "information matrix"] if model == "MNLogit" else ["sum of squares"]
    a, b = (res.gof_test().loc[rows] for res in fits)
    assert_allclose(a, b, rtol=1e-6)
    assert_allclose(*(res.pseudo_rsquared() for res in fits), rtol=1e-8)


def test_the_event_and_the_coding_do_not_matter(toy):
    a = glmclf.Logit.from_formula("b ~ x + g", toy).fit().gof_test()
    b = glmclf.Logit.from_formula("b ~ I(1e4 - 30 * x) + C(g, Sum)", toy, event=0).fit().gof_test()
    groups = "Hosmer-Lemeshow"  # a group holds its upper break, which is the lower one of the other event
    assert_allclose(a.drop(groups), b.drop(groups), rtol=1e-7)
    shifted = glmclf.Logit.from_formula("b ~ x + g", toy.assign(o=5.0), offset="o").fit().gof_test()
    assert_allclose(a, shifted, rtol=1e-9)


def test_separated_fits_are_tested_on_the_rows_left(toy):
    """A level with one outcome decides its rows, and nothing else."""
    extra = toy.head(20).assign(g="c", b=1)
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = glmclf.Logit.from_formula("b ~ x + z + g", pd.concat([toy, extra])).fit()
    rows = ["sum of squares", "Stukel", "information matrix"]
    plain = glmclf.Logit.from_formula("b ~ x + z + g", toy).fit()
    assert_allclose(res.gof_test().loc[rows], plain.gof_test().loc[rows], rtol=1e-7)


def test_constrained_and_reduced_fits(toy):
    model = glmclf.Logit.from_formula("b ~ x + z + g", toy)
    rows = ["Pearson", "sum of squares", "Stukel"]
    smaller = glmclf.Logit.from_formula("b ~ x + g", toy).fit().gof_test().loc[rows]
    found = model.fit_constrained("z = 0").gof_test().loc[rows]
    assert_allclose(found.statistic.iloc[1:], smaller.statistic.iloc[1:], rtol=1e-8)
    # a bias reduction that is small moves the tests little: its score is taken out of the moments
    firth, plain = (model.fit(bias_reduction=b).gof_test().loc[rows[1:]] for b in ("firth", None))
    assert_allclose(firth.statistic, plain.statistic, rtol=0.1, atol=0.05)


def test_collinear_columns(toy):
    with pytest.warns(glmclf.errors.CollinearityWarning):
        res = glmclf.Logit.from_formula("b ~ x + z + I(x + z)", toy).fit()
    plain = glmclf.Logit.from_formula("b ~ x + z", toy).fit()
    assert_allclose(res.gof_test(), plain.gof_test(), rtol=1e-7)


def test_many_columns_have_the_diagonal():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(600), rng.normal(size=(600, 25))])
    res = glmclf.Logit(rng.integers(0, 2, 600), X).fit()
    assert res.gof_test().index[-1] == "information matrix (diagonal)"


@pytest.mark.slow
@pytest.mark.parametrize("model", ["MNLogit", *GENERATIVE])
def test_size(model):
    """Of true models, 60 samples: p-values are about uniform."""
    rng, cls, found = np.random.default_rng(1), getattr(glmclf, model), []
    for _ in range(60):
        y = rng.integers(0, 3, 300)
        X = rng.normal(size=(300, 2)) + np.array([[0, 0], [1, 0], [0, 1.5]])[y]
        res = cls.from_formula("y ~ a + b", pd.DataFrame({"y": y, "a": X[:, 0], "b": X[:, 1]})).fit()
        found.append(res.gof_test().pvalue.iloc[-2:].to_numpy())
    below = (np.array(found) < 0.2).mean(axis=0)
    assert (np.abs(below - 0.2) < 4 * np.sqrt(0.16 / 60)).all(), below


def test_generative_models_that_are_wrong():
    """Independent features are taken for granted where they are not."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 800)
    a = rng.normal(size=800) + y
    df = pd.DataFrame({"y": y, "a": a, "c": a + 0.3 * rng.normal(size=800)})
    assert (glmclf.NaiveBayes.from_formula("y ~ a + c", df).fit().gof_test().pvalue < 1e-6).all()
    assert (glmclf.LDA.from_formula("y ~ a + c", df).fit().gof_test().pvalue > 0.01).all()


def test_groups_are_those_of_the_test(toy):
    for res in (
        glmclf.Logit.from_formula("b ~ x + z", toy).fit(),
        glmclf.MNLogit.from_formula("y ~ x + z", toy, reference="rail").fit(),
    ):
        table, levels = res.gof_groups(8), res._class_names()
        o = table[[f"observed_{level}" for level in levels]].to_numpy()
        e = table[[f"expected_{level}" for level in levels]].to_numpy()
        assert_allclose(((o - e) ** 2 / e).sum(), res.gof_test(8).statistic.iloc[2])
        assert_allclose(o.sum(axis=1), table.n)
        assert_allclose(e.sum(axis=1), table.n)
        assert (table.low <= table.high).all() and (table.high.to_numpy()[:-1] < table.low.to_numpy()[1:]).all()


def test_pseudo_rsquared_of_several_classes(toy):
    """Two classes have the numbers of the binary model; the formulas written out."""
    for name in ("Tjur", "Efron"):
        two, one = (
            getattr(glmclf, m).from_formula("b ~ x", toy).fit().pseudo_rsquared()[name] for m in ("MNLogit", "Logit")
        )
        assert_allclose(two, one, rtol=1e-9)
    for model in ("MNLogit", *GENERATIVE):
        res = getattr(glmclf, model).from_formula("y ~ x + z", toy).fit()
        p, y, found = res.fittedvalues.to_numpy(), pd.get_dummies(toy.y).to_numpy(dtype=float), res.pseudo_rsquared()
        total = ((y - y.mean(axis=0)) ** 2).sum()
        assert_allclose(found["Efron"], 1 - ((y - p) ** 2).sum() / total, rtol=1e-9)
        assert_allclose(found["Tjur"], ((y - y.mean(axis=0)) * (p - p.mean(axis=0))).sum() / total, rtol=1e-9)
        assert_allclose(found["McFadden"], res.prsquared, rtol=1e-12)
        assert ("adjusted McFadden" in found) == (model == "MNLogit")


@pytest.mark.filterwarnings("ignore:.*groups of 10 asked for")
def test_nothing_left_to_test(toy):
    with pytest.warns(InferenceWarning, match="no degree of freedom"):
        assert np.isnan(glmclf.Logit.from_formula("b ~ g", toy).fit().gof_test().loc["Stukel", "statistic"])


def test_refusals(toy, tmp_path):
    res = glmclf.Logit.from_formula("b ~ x", toy).fit()
    lda = glmclf.LDA.from_formula("y ~ x + z", toy).fit()
    for one in (res, lda):
        for groups in (2, 5.0, True, "10"):
            with pytest.raises(ValueError, match="3 or more"):
                one.gof_test(groups)
        with pytest.raises(ValueError, match="2 or more"):
            one.gof_groups(1)
    sampled = [
        glmclf.Logit.from_formula("b ~ x", toy, weights="w").fit(),
        glmclf.MNLogit.from_formula("y ~ x", toy, weights="w").fit(),
        glmclf.LDA.from_formula("y ~ x", toy, weights="w").fit(),
    ]
    for one in sampled:
        for call in (one.gof_test, one.gof_groups):
            with pytest.raises(ValueError, match="pseudo-likelihood"):
                call()
    with pytest.raises(ValueError, match="pseudo-likelihood"):
        sampled[0].information_matrix_test()
    with pytest.raises(NotImplementedError, match=r"gof_test\(\).*divisor"):
        glmclf.LDA.from_formula("y ~ x", toy, divisor="unbiased").fit().gof_test()
    ridge = glmclf.Logit.from_formula("b ~ x", toy).fit_regularized(0.1)
    with pytest.raises((NotImplementedError, AttributeError), match="maximum"):
        ridge.information_matrix_test()
    res.save(tmp_path / "m.json")
    for call in ("gof_test", "gof_groups", "information_matrix_test"):
        with pytest.raises(DataError, match="rows of the fit"):
            getattr(glmclf.load(tmp_path / "m.json"), call)()


def test_species_of_penguins_are_what_lda_says():
    res = glmclf.LDA.from_formula("species ~ bill_length_mm + body_mass_g", datasets.load("penguins")).fit()
    table = res.gof_test()
    assert table.loc["groups of risk", ["df", "groups"]].tolist() == [20, 10] and (table.pvalue > 0.1).all()


@pytest.mark.parametrize("model", BINARY)
@pytest.mark.parametrize(
    ("constraints", "reduced"),
    [
        ("x = z", "I(x + z) + g"),
        ("2*x = 2*z", "I(x + z) + g"),
        ("x = 3*z, g[T.v] = 0", "I(x + z / 3)"),
        ("x + z + Intercept = 0", "0 + I(1 - z) + I(x - z) + I((g == 'v') * 1)"),
    ],
)
def test_constraints_are_a_smaller_design(model, constraints, reduced):
    """However they are written, all moments are those of the directions left free."""
    rng = np.random.default_rng(5)
    df = pd.DataFrame({"x": rng.normal(size=300), "z": rng.normal(size=300), "g": rng.choice(list("uv"), 300)})
    df["y"] = (rng.random(300) < 0.5 + 0.1 * df.x.clip(-4, 4)).astype(int)
    fit = getattr(glmclf, model).from_formula
    a, b = fit("y ~ x + z + g", df).fit_constrained(constraints), fit("y ~ " + reduced, df).fit()
    assert_allclose(a.gof_test(), b.gof_test(), rtol=1e-6)
    assert_allclose(a.information_matrix_test(True), b.information_matrix_test(True), rtol=1e-6)


def test_constraints_across_levels(toy):
    """x has no effect on the odds of one level: the same under any reference."""
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit_constrained("ycar_x = 0")
    tests = [res.rebase(level).information_matrix_test() for level in res.levels]
    assert tests[0].df <= 15
    for test in tests:
        assert_allclose(test, tests[0], rtol=1e-7)


def test_full_test_is_the_same_in_all_coordinates(toy):
    """Levels independent of the regressors: some moments are next to nothing beside the scores."""
    df = toy.assign(k=np.random.default_rng(3).choice(list("pqr"), len(toy)))
    tests = [glmclf.MNLogit.from_formula("k ~ x", df, reference=r).fit().information_matrix_test() for r in "pqr"]
    tests.append(glmclf.MNLogit.from_formula("k ~ I(40 - 3 * x)", df).fit().information_matrix_test())
    for test in tests:
        assert_allclose(test, tests[0], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*no degree of freedom is left")
def test_all_parameters_fixed(toy):
    """Nothing is estimated: the sum of squares against its plain variance, by hand."""
    res = glmclf.Logit.from_formula("b ~ x", toy).fit_constrained("Intercept = -0.5, x = 0.7")
    p = res.fittedvalues
    z = ((toy.b - p) ** 2 - p * (1 - p)).sum() ** 2 / (p * (1 - p) * (1 - 2 * p) ** 2).sum()
    assert_allclose(res.gof_test().loc["sum of squares", "statistic"], z, rtol=1e-10)


def test_ill_conditioned_designs_and_sparse_ones(toy):
    from scipy import sparse

    df = toy.assign(t=2000 + toy.x / 10, u=toy.x / 10)
    raw = glmclf.Logit.from_formula("b ~ t + I(t ** 2)", df).fit().gof_test()
    centred = glmclf.Logit.from_formula("b ~ u + I(u ** 2)", df).fit().gof_test()
    assert_allclose(raw, centred, rtol=1e-5)
    X = np.column_stack([np.ones(len(toy)), toy.x, toy.z])
    a, b = (glmclf.Logit(toy.b, form(X)).fit() for form in (np.asarray, sparse.csr_array))
    assert_allclose(a.gof_test(), b.gof_test(), rtol=1e-9)
    assert_allclose(
        a.get_influence(by="pattern").summary_frame(), b.get_influence(by="pattern").summary_frame(), rtol=1e-8
    )
    assert_allclose(a.vif(), b.vif(), rtol=1e-9)


def test_generative_models_with_missing_features(toy):
    """Posteriors are there from the other features; how the laws' estimation moves them is not."""
    df = toy.copy()
    df.loc[df.index[:30], "z"] = np.nan
    res = glmclf.NaiveBayes.from_formula("y ~ x + z", df).fit()
    assert res.gof_groups().n.sum() == len(df) and res.pseudo_rsquared().between(0, 1).all()
    with pytest.raises(ValueError, match=r'gof_test\(\) needs rows without missing features.*missing="drop"'):
        res.gof_test()
    with pytest.raises(ValueError, match=r"gof_test\(\) is not defined for a regularised fit"):
        glmclf.LDA.from_formula("y ~ x + z", toy, shrinkage=0.2).fit().gof_test()
