"""alpha by coefficient along paths and in cross-validation: glmnet's values, conditions for a maximum, identities."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from models.test_regularized import four, kinds, many_columns, model_of, quiet
from properties.toys import close, make, toy
from scipy import sparse

import glmclf
from glmclf import Logit, MNLogit
from glmclf.errors import CollinearityWarning, ConvergenceWarning, EstimationError, PerfectSeparationError

# R 4.2.2, glmnet 4.1-6, thresh=1e-20, maxit=1e7, X and y of `many_columns`:
#   pf <- .5 + (1:60 %% 4)/2; pf[c(1, 7)] <- 0; pf[c(2, 60)] <- Inf; s <- sum(ifelse(is.finite(pf), pf, 1))/60
#   glmnet(X, y, family="binomial", alpha=L1_wt, lambda=ALPHAS*s, penalty.factor=pf, standardize=FALSE)
# with pf[c(2, 60)] <- 1 where L1_wt is 0: coefficients that are not 0 and the sum of their absolute values, with the
# intercept, by lambda; then the intercept and the coefficients of columns 1, 2, 5, 7, 30 and 60 at the last.
ALPHAS = [0.1, 0.05, 0.02, 0.01, 0.005]
GLMNET = {
    1.0: (
        [5, 16, 22, 34, 46],
        [0.90869073491634, 1.72540760263729, 3.56841254693434, 4.69247772039542, 6.20207322506637],
        [-0.071860617211, 0.303688151055, 0, -0.794889458181, -0.012252900518, 0.433528254962, 0],
    ),
    0.5: (
        [16, 23, 36, 44, 54],
        [1.5640424398286, 2.8666500727680, 4.3913722282746, 5.8083935626660, 7.6996489567576],
        [-0.069464386769, 0.283921097838, 0, -0.844073038329, -0.041510334327, 0.448809033471, 0],
    ),
    0.0: (
        [61] * 5,
        [4.4551157644052, 5.7623584958306, 7.5212272774049, 8.7513449583644, 10.0671144321952],
        [-0.085150469598, 0.553679689685, 1.120190026097, -0.956871075146, -0.120446888025, 0.456927785662]
        + [-0.148131077160],
    ),
}
# the lasso with weights=rep(c(1, 2, .5, 3), 75), offset=sin(1:300)
WEIGHTED = (
    [6, 18, 25, 35, 47],
    [1.6005676978705, 2.8050449103560, 5.0848709545304, 6.7374253836887, 8.5195551465046],
)
# glmnet(X, factor(1 + (i * 104729) %% 3), family="multinomial", lambda=c(.02,.01,.005)*s, the rest as of the lasso):
# slopes of each class by lambda; then those of the free columns 1 and 7 at the last
BY_CLASS = (
    [[4, 5, 9], [2, 3, 4], [2, 2, 4]],
    [
        [0.226079022172, 0.438176270205, 0.567031846493],
        [0.025316045802, 0.059011187482, 0.138397454655],
        [0.019578438048, 0.026972627742, 0.061282753633],
    ],
    [[-0.021391593060, 0.001316298018, 0.020075295042], [0.013308391758, -0.023856851041, 0.010548459283]],
)
# cv.glmnet(the lasso, foldid=(i - 1) %% 5 + 1, type.measure="deviance", thresh=1e-16): cvm, cvsd, nzero
CV = [
    (1.3848072924318, 0.025759307286266, 4),
    (1.3909481914874, 0.037209804020549, 15),
    (1.3617646414192, 0.042625093423899, 21),
    (1.4081809787979, 0.059865226142589, 33),
    (1.4995073454016, 0.088216542017563, 45),
]
FIRST = 0.14846173389383  # largest lambda of glmnet's own grid, over s


def factors(excluded=np.inf):
    """The penalty factors of glmnet's calls, and 0 for the intercept."""
    pf = 0.5 + np.arange(61) % 4 / 2
    pf[[0, 1, 7]], pf[[2, 60]] = 0, excluded
    return pf


# ------------------------------------------------------------------------------------------------ reference values
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("L1_wt", GLMNET)
def test_paths_of_glmnet(L1_wt, kind):
    _, y, X = many_columns()
    nonzero, sizes, last = GLMNET[L1_wt]
    path = quiet(Logit(y, kind(X)), factors() if L1_wt else factors(1.0), alphas=ALPHAS, L1_wt=L1_wt)
    B = path.params.to_numpy()
    assert (B != 0).sum(axis=1).tolist() == nonzero and path.converged.all()
    close(np.abs(B).sum(axis=1), sizes, 1e-9)
    close(B[-1, [0, 1, 2, 5, 7, 30, 60]], last, 1e-9, 2e-9)


def test_weights_and_offset_of_glmnet():
    i, y, X = many_columns()
    model = Logit(y, X, weights=np.tile([1, 2, 0.5, 3], 75), offset=np.sin(i))
    B = quiet(model, factors(), alphas=ALPHAS, L1_wt=1.0).params.to_numpy()
    assert (B != 0).sum(axis=1).tolist() == WEIGHTED[0]
    close(np.abs(B).sum(axis=1), WEIGHTED[1], 1e-9)


def test_softmax_of_glmnet():
    i, _, X = many_columns()
    path = quiet(MNLogit(1 + (i * 104729) % 3, X), factors(), alphas=[0.02, 0.01, 0.005], L1_wt=1.0, symmetric=True)
    B = path.params.to_numpy().reshape(3, 3, 61)[:, :, 1:]
    assert (B != 0).sum(axis=2).T.tolist() == BY_CLASS[0]
    close(np.abs(B).sum(axis=2).T, BY_CLASS[1], 1e-8)
    close(B[-1][:, [0, 6]].T, BY_CLASS[2], 1e-8)


def test_cross_validation_and_grid_of_glmnet():
    i, y, X = many_columns()
    model = Logit(y, X)
    found = model.fit_regularized_cv((i - 1) % 5, alphas=ALPHAS, L1_wt=1.0, alpha=factors())
    close(found.cv[["deviance", "se", "nonzero"]], CV, 2e-8)
    res = found.result
    assert (found.alpha, found.alpha_min) == (0.1, 0.02) and (res.alpha == 0.1 * factors()).all()
    close(model.fit_regularized(factors(), alphas="auto", L1_wt=1.0).alphas[0], FIRST, 1e-11)


# ------------------------------------------------------------------------------------------------------ conditions
@pytest.mark.parametrize("keywords", [{}, {"weights": "w"}, {"freq_weights": "w"}, {"offset": "o"}])
@four
def test_optimality(model, keywords):
    i, y, X = many_columns()
    y = 1 + (i * 104729) % 3 + (X[:, 2] > 0.8) if model == "MNLogit" else y
    given = {"w": 1 + (i * 31) % 4, "o": np.cos(i)}
    m = getattr(glmclf, model)(y, X, **{name: given[value] for name, value in keywords.items()})
    n = given["w"].sum() if "w" in keywords.values() else 300
    for L1_wt in (1.0, 0.5, 0.0):
        pf = factors() if L1_wt else factors(1.0)
        path = quiet(m, pf, alphas=0.1 * 0.25 ** np.arange(4), L1_wt=L1_wt)
        for a, row in path.params.iterrows():
            b, alpha = row.to_numpy().reshape(-1, 61), a * pf
            s = m.score(b.ravel()).reshape(b.shape) / n
            s, b, alpha = s[:, pf < np.inf], b[:, pf < np.inf], alpha[pf < np.inf]
            s, lasso = s - alpha * (1 - L1_wt) * b, np.broadcast_to(alpha * L1_wt, b.shape)
            off = np.where(b != 0, np.abs(s - lasso * np.sign(b)), np.maximum(np.abs(s) - lasso, 0))
            assert off.max() < 1e-9
        assert not path.params.to_numpy().reshape(4, -1, 61)[..., pf == np.inf].any()


# ------------------------------------------------------------------------------------------------------ identities
@kinds
@four
def test_a_path_is_its_fits(model, L1_wt):
    """By name, a term for all its columns; with a base level and by class; folds of the same weights."""
    m, given = model_of(model), {"x1": 1.0, "h" if model == "MNLogit" else "g": 2.0}
    names = [name for name in m.exog_names if name.startswith(("h[", "g["))]
    alpha = pd.Series(0.0, m.exog_names)
    alpha["x1"], alpha[names] = 1.0, 2.0
    for symmetric in (False, True) if model == "MNLogit" else (False,):
        options = {"L1_wt": L1_wt, "symmetric": symmetric}
        path = quiet(m, given, alphas=[0.1, 0.01], **options)
        for a in path:
            res = quiet(m, a * alpha, **options)
            close(path.params.loc[a], res.params.to_numpy().ravel(order="F"), 1e-9, 1e-12)
            assert path.edf[a] == pytest.approx(res.k_params_effective, rel=1e-8)
            close(path.at(a).alpha, res.alpha, 1e-15)
        by_name = m.fit_regularized_cv(3, seed=1, alphas=[0.1, 0.01], alpha=given, **options)
        by_place = m.fit_regularized_cv(3, seed=1, alphas=[0.1, 0.01], alpha=alpha.to_numpy(), **options)
        close(by_name.deviances, by_place.deviances, 1e-12)
        close(by_name.path.params, path.params, 1e-10)


@four
def test_weights_by_equation(model):
    """Coefficients that are free, or excluded, in one equation alone; a table beside one equation is refused."""
    m = model_of(model)
    if model != "MNLogit":
        with pytest.raises(ValueError, match="one equation"):
            m.fit_regularized(pd.DataFrame(1.0, m.exog_names, ["y"]), alphas=[0.1])
        return
    table = pd.DataFrame(1.0, index=m.exog_names, columns=["b", "c"])
    table.loc["Intercept"] = 0.0
    table.loc["x1", "b"], table.loc["x2", "c"] = 0.0, np.inf
    path = quiet(m, table, alphas=[0.001, 0.0001], L1_wt=0.7)
    for a, row in path.params.iterrows():
        b, s = row.unstack(0).loc[table.index, table.columns], m.score(row.to_numpy()).reshape(-1, 2, order="F") / 160
        used = (b != 0).to_numpy() & (table > 0).to_numpy()
        assert abs(s[2, 0]) < 1e-10 and b.loc["x2", "c"] == 0 and used.sum() >= 3
        close(s[used], (a * (0.3 * b + 0.7 * np.sign(b))).to_numpy()[used], 1e-8)


@pytest.mark.parametrize("L1_wt", [0.5, 1.0])
@four
def test_an_infinite_weight_is_a_model_without_the_column(model, L1_wt, tmp_path):
    m, y = model_of(model), "g" if model == "MNLogit" else "y"
    short = make(model, f"{y} ~ x1 + {'h' if model == 'MNLogit' else 'g'}", toy())
    every, rest = pd.Series(1.0, m.exog_names[1:]), pd.Series(1.0, short.exog_names[1:])
    every["x2"] = np.inf
    for symmetric in (False, True) if model == "MNLogit" else (False,):
        options = {"L1_wt": L1_wt, "symmetric": symmetric}
        a, b = (n.fit_regularized(w, alphas=[0.05, 0.01, 0.0], **options) for n, w in ((m, every), (short, rest)))
        gone = a.params.columns.get_level_values(-1) == "x2"
        close(a.params.loc[:, ~gone], b.params, 1e-8, 1e-11)
        close(a.edf, b.edf, 1e-9)
        assert (a.params.loc[:, gone] == 0).all(axis=None) and (a.nonzero == b.nonzero).all()
        options |= {"folds": 4, "seed": 1, "alphas": [0.05, 0.0]}
        folds = [n.fit_regularized_cv(alpha=w, **options).deviances for n, w in ((m, every), (short, rest))]
        close(*folds, 1e-9)
        res, other = a.at(0.02), b.at(0.02)
        assert res.llf_penalized == pytest.approx(other.llf_penalized, rel=1e-12) and res.df_model == other.df_model
        close(res.predict(), other.predict(), 1e-9)
        assert "alpha by coefficient" in str(res.summary()) and not any("x2" in str(name) for name in res.selected)
        res.save(tmp_path / "lasso.json")
        again = glmclf.load(tmp_path / "lasso.json")
        close(again.alpha, res.alpha) if symmetric else close(again.alpha.loc["x2"], res.alpha.loc["x2"])
        assert again.llf_penalized == res.llf_penalized
    far = np.full(m._flat(m.fit().params).shape, 2.0)
    found = [m.fit_regularized(0.02 * every, L1_wt, start_params=start).params for start in (far, None)]
    close(*found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refits = [n.fit_regularized(0.01 * w, L1_wt, refit=True) for n, w in ((m, every), (short, rest))]
    close(refits[0].params.drop("x2"), refits[1].params, 1e-8, 1e-10)


def test_an_adaptive_lasso():
    """Weights of 1 / |b| of a first lasso, infinite where that left a column out."""
    _, y, X = many_columns()
    model = Logit(y, X)
    first = model.fit_regularized(0.02, L1_wt=1.0).params.iloc[1:]
    with np.errstate(divide="ignore"):
        path = model.fit_regularized(1 / first.abs(), alphas="auto", L1_wt=1.0)
    assert path.nonzero.iloc[0] == 0 and path.converged.all()
    assert (path.params.iloc[:, 1:] != 0).any()[first == 0].sum() == 0 and path.nonzero.max() == (first != 0).sum()


def test_data_in_parts(tmp_path):
    data = toy()
    options = {"alphas": [0.05, 0.01], "L1_wt": 0.5}
    weights = {"x1": 1.0, "x2": np.inf, "g": 0.5}
    parts = make("Logit", "y ~ x1 + x2 + g", lambda: iter([data.iloc[:70], data.iloc[70:]]))
    close(quiet(parts, weights, **options).params, quiet(model_of("Logit"), weights, **options).params, 1e-9, 1e-12)


def test_collinear_columns_without_a_penalty_on_a_path():
    m = make("Logit", "y ~ x1 + I(2*x1 + 1) + x2", toy())
    with pytest.warns(CollinearityWarning):
        path = m.fit_regularized({"x2": 1.0}, alphas=[0.1, 0.01])
    close(path.params["x2"], quiet(make("Logit", "y ~ x1 + x2", toy()), {"x2": 1.0}, alphas=[0.1, 0.01]).params["x2"])


# ------------------------------------------------------------------------------------------------------------- folds
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_threads_change_no_number(model):
    """Of 40,000 rows, ten blocks and more."""
    i = np.arange(40_000)
    X = np.column_stack([np.ones(len(i)), np.sin(i), np.cos(3 * i), np.sin(i * i)])
    m = getattr(glmclf, model)((i * 104729) % 7 % (2 if model == "Logit" else 3), X)
    options = {"folds": 2, "seed": 1, "alphas": [0.001, 0.0001], "L1_wt": 1.0}
    found = [m.fit_regularized_cv(n_threads=n, **options) for n in (None, 1, 3)]
    for other in found[1:]:
        assert (other.deviances == found[0].deviances).all(axis=None)
        assert (other.path.params == found[0].path.params).all(axis=None)


@pytest.mark.parametrize(
    ("options", "names"),
    [({"alpha": {"x": 0.0, "z": 1.0}}, ""), ({"alpha": {"z": 1.0}, "L1_wt": 1.0}, ""), ({"alphas": [0.1, 0.0]}, '"z"')],
)
@four
def test_a_fold_without_which_free_columns_separate_the_rest(model, options, names):
    """The one fold in which classes overlap is named; its deviance, infinite, came out as a large number."""
    generator = np.random.default_rng(3)
    t = pd.DataFrame(generator.normal(size=(80, 2)), columns=["x", "z"])
    t["y"] = (t.x > 0).astype(int) + (t.x > 1) * (model == "MNLogit")
    t.loc[:7, "y"] = [1, 0, 0, 1, 0, 1, 1, 0]
    t["part"] = np.repeat(["a", "b", "c", "d"], 20)
    m = make(model, "y ~ x + z", t)
    with pytest.raises(PerfectSeparationError, match=f"fold a: without it the data are separated by .*\"x\".*{names}"):
        m.fit_regularized_cv("part", **{"alphas": [0.1, 0.01], **options})
    assert np.isfinite(m.fit_regularized_cv("part", alphas=[0.1, 0.01]).deviances).all(axis=None)


def with_a_rare_level(level):
    """The toy data, a level in six rows of fold 3 alone, which have all classes, and the folds."""
    data, folds = toy(), np.arange(160) % 4
    data["h"], data["g"], rare = data.g, data.g.to_numpy()[::-1], data.index[folds == 3][:6]
    data.loc[rare, ["h", "y", "g"]] = [[level, y, g] for y, g in zip(["yes", "no"] * 3, "abcabc", strict=True)]
    return data, folds


FREE = [{"alpha": {"x1": 1.0}}, {"alpha": {"x1": 1.0}, "L1_wt": 1.0}, {"alphas": [0.1, 0.0]}]


@pytest.mark.parametrize("options", FREE)
@pytest.mark.parametrize(
    ("level", "words"), [("z", '"h[T.z]" = 0 (no row has h = "z")'), ("A", '"h[T.c]" = Intercept - h[T.a] - h[T.b]')]
)
@four
def test_a_fold_without_which_a_free_level_has_no_rows(model, level, words, options):
    """Its rows counted as of the base level; they are named, also where it is the base level."""
    data, folds = with_a_rare_level(level)
    m = make(model, f"{'g' if model == 'MNLogit' else 'y'} ~ x1 + h", data)
    said = re.escape(f"fold 3: without it there is no estimate for 6 of its 40 rows: in every other row {words}")
    with pytest.raises(EstimationError, match=said):
        m.fit_regularized_cv(folds, **{"alphas": [0.1, 0.01], **options})


def test_a_fold_without_which_a_level_free_in_one_equation_has_no_rows():
    data, folds = with_a_rare_level("z")
    m = make("MNLogit", "g ~ x1 + h", data)
    alpha = np.ones((len(m.exog_names), 2))
    alpha[0] = 0.0
    assert np.isfinite(m.fit_regularized_cv(folds, alphas=[0.1], alpha=alpha).deviances).all(axis=None)
    alpha[m.exog_names.index("h[T.z]"), 1] = 0.0
    with pytest.raises(EstimationError, match=r"fold 3: .* 6 of its 40 rows: .*\"h\[T.z\]\" = 0"):
        m.fit_regularized_cv(folds, alphas=[0.1], alpha=alpha)


def test_a_fold_without_which_a_penalised_level_has_no_rows():
    """Its coefficient is 0 by the penalty: that of the base level."""
    data, folds = with_a_rare_level("z")
    found = make("Logit", "y ~ x1 + h", data).fit_regularized_cv(folds, alphas=[0.05, 0.01]).deviances
    rest, out = data[folds != 3], data[folds == 3].replace({"h": {"z": "a"}})
    for alpha in (0.05, 0.01):
        p = make("Logit", "y ~ x1 + h", rest).fit_regularized(alpha).predict(out)
        expected = -2 * np.mean(np.where(out.y == "yes", np.log(p), np.log1p(-p)))
        assert found.loc[alpha, 3] == pytest.approx(expected, rel=1e-9)


def test_a_fold_without_which_one_level_of_many_has_no_rows():
    """The combination that is the base level is said in words."""
    level = np.repeat(np.arange(30), 8)
    data = pd.DataFrame({"x": np.sin(np.arange(240)), "y": np.tile([0, 1], 120), "id": level})
    m = make("Logit", "y ~ x + C(id)", data)
    folds = np.where(level == 0, "a", np.tile(["b", "c"], 120))
    with pytest.raises(EstimationError, match='8 of its 8 rows: .*"C.id..T.29." = Intercept less all other columns'):
        m.fit_regularized_cv(folds, alphas=[0.1], alpha={"x": 1.0})


def test_folds_that_do_not_converge_are_named():
    with pytest.warns(ConvergenceWarning) as caught:
        model_of("Logit").fit_regularized_cv(toy().g.to_numpy(), alphas=[1e-3], maxiter=1, L1_wt=1.0)
    said = [str(w.message) for w in caught if "folds" in str(w.message)]
    assert len(said) == 1 and '(fold "a", "b", "c")' in said[0]


# ------------------------------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (0.1, "one of alpha= .one number. and alphas= .a path."),
        (np.array(0.1), "weight for each coefficient"),
        ("x1", "alpha='x1'"),
        ({"x1": -1.0}, "0 or more"),
        ({"x1": np.nan}, "0 or more"),
        ({"x1": None}, "0 or more"),
        ({"x1": [1.0, 2.0]}, "0 or more"),
        ({"x1": True}, "0 or more"),
        ({"x7": 1.0}, "'x7', which is no column and no term"),
        ({"g": 1.0, "g[T.b]": 2.0}, '"g[T.b]" twice'),
        (pd.Series([1.0, 2.0], ["x1", "x1"]), '"x1" twice'),
        ([1.0, 2.0], "shape (2,)"),
        ({"x2": np.inf}, 'infinite for "x2", with L1_wt=0: a ridge leaves no column out'),
        ({"Intercept": 1.0}, "penalize_intercept=True"),
    ],
)
def test_weights_that_are_none(alpha, words):
    m = model_of("Logit")
    for call in (lambda: m.fit_regularized(alpha, alphas=[0.1]), lambda: m.fit_regularized_cv(3, alpha=alpha)):
        with pytest.raises(ValueError, match=words if "one of" in words else re.escape(words)):
            call()


def test_one_infinite_weight_for_all():
    with pytest.raises(ValueError, match="numbers, 0 or more"):
        model_of("Logit").fit_regularized(np.inf, L1_wt=1.0)
