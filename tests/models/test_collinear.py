"""Columns left out because they are combinations of others: everything else is as in the fit without them."""

import functools
import io
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import references
from properties.toys import FRAMES, MODELS, NUMBERS, close, make, toy

import glmclf
from glmclf.core.design.dense import Dense
from glmclf.errors import CollinearityError, CollinearityWarning, DataWarning, SeparationWarning
from glmclf.inference.covariance.types import COVARIANCES

every = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])


def table():
    """The toys with a third outcome, a redundant number `z`, a redundant level `one` and a column `nought` of zeros."""
    t = toy()
    t["mode"] = np.where(np.arange(160) % 4 == 0, "train", t.y)
    return t.assign(z=2 * t.x1 - 3, one=np.where(t.g == "b", 1.0, 0.0), nought=0.0)


REDUNDANT, PLAIN = "x1 + g + z + x2 + one + nought", "x1 + g + x2"
NAMES = ["z", "one", "nought"]


def left(model):
    return "mode" if model == "MNLogit" else "y"


def fitted(model, formula=None, data=None, said=CollinearityWarning, options=None, **keywords):
    """A fit that gives this warning and no other."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in () if said is None else said if isinstance(said, tuple) else (said,):
            warnings.simplefilter("ignore", category)
        formula = formula or REDUNDANT
        formula = formula if "~" in formula else f"{left(model)} ~ {formula}"
        return make(model, formula, table() if data is None else data, **keywords).fit(**(options or {}))


@functools.cache
def both(model, **keywords):
    """Fits with the redundant columns and without, computed once; treat them as read-only."""
    return fitted(model, **keywords), fitted(model, PLAIN, said=None, **keywords)


def places(res):
    """Flat places of the parameters that the plain fit has."""
    k = len(res.model.exog_names)
    kept = [j for j, name in enumerate(res.model.exog_names) if name not in NAMES]
    return np.concatenate([np.array(kept) + k * i for i in range(len(res._theta) // k)])


def flat(frame):
    return np.asarray(frame, float).ravel(order="F")


KEYWORDS = {
    "plain": {},
    "freq_weights": {"freq_weights": "times"},
    "weights": {"weights": "sw"},
    "offset": {"offset": "off"},
}


# ---------------------------------------------------------------------------------------------- the same inference
@every
@pytest.mark.parametrize("kind", KEYWORDS)
def test_as_the_fit_without_them(model, kind):
    res, plain = both(model, **KEYWORDS[kind])
    at = places(res)
    for name in FRAMES:
        a, b = flat(getattr(res, name)), flat(getattr(plain, name))
        close(a[at], b, 1e-9, 1e-12)
        assert np.isnan(np.delete(a, at)).all() and len(a) > len(at)
    for name in NUMBERS:
        close(getattr(res, name), getattr(plain, name), 1e-9, 1e-9)
    close(res.cov_params().to_numpy()[np.ix_(at, at)], plain.cov_params(), 1e-8, 1e-12)
    close(res.conf_int().to_numpy()[at], plain.conf_int(), 1e-8)
    close(res.summary_frame().to_numpy()[at], plain.summary_frame(), 1e-8)
    close(res.tidy().iloc[at][["estimate", "std_error"]], plain.tidy()[["estimate", "std_error"]], 1e-8)
    close(res.glance(), plain.glance(), 1e-9, 1e-9)
    for name in ("fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized"):
        close(getattr(res, name), getattr(plain, name), 1e-7, 1e-10)
    if kind != "weights":
        close(res.gof_test(), plain.gof_test(), 1e-6, 1e-9)
    close(res.pseudo_rsquared(), plain.pseudo_rsquared(), 1e-8)
    for which in ("mean", "linear"):
        new = table().iloc[:9]
        close(res.predict(new, which=which), plain.predict(new, which=which), 1e-8, 1e-12)
    close(res.get_prediction(new).summary_frame(), plain.get_prediction(new).summary_frame(), 1e-7, 1e-12)
    text = res.summary().as_text()
    assert text.count("(omitted)") == len(res._theta) - len(at) and '"z" = -3 * Intercept + 2 * x1' in text


@every
@pytest.mark.parametrize("cov", [name for name in COVARIANCES if name not in ("nonrobust", "bootstrap")])
def test_covariances(model, cov):
    if cov == "jackknife" and model != "Logit":
        pytest.skip("one model is enough for 160 fits")
    keywords = {"groups": "firm"} if cov == "cluster" else {}
    res, plain = both(model)
    at = places(res)
    a, b = (r.with_cov(cov, **keywords) for r in (res, plain))
    close(flat(a.bse)[at], flat(b.bse), 1e-7)
    assert np.isnan(np.delete(flat(a.bse), at)).all()
    close(
        a.wald_test(np.eye(len(a._theta))[at[1:3]]).statistic, b.wald_test(np.eye(len(b._theta))[1:3]).statistic, 1e-6
    )
    direct = fitted(model, options={"cov_type": cov, "cov_kwds": keywords})
    close(flat(direct.bse), flat(a.bse), 1e-10)


@every
@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs"])
def test_every_method_and_a_start(model, method):
    res, plain = fitted(model, options={"method": method}), fitted(model, PLAIN, said=None)
    close(flat(res.params)[places(res)], flat(plain.params), 1e-6, 1e-8)
    again = fitted(model, options={"start_params": np.nan_to_num(flat(res.params))})
    close(again.params, res.params, 1e-7, 1e-9)


@every
def test_counts(model):
    t = table()
    formula = "won + lost ~ " if model != "MNLogit" else "won + lost + trials ~ "
    res, plain = fitted(model, formula + REDUNDANT, t), fitted(model, formula + PLAIN, t, None)
    close(flat(res.params)[places(res)], flat(plain.params), 1e-8)
    close(res.llf, plain.llf, 1e-12)


@every
def test_arrays(model):
    t = table()
    y = t["mode"] if model == "MNLogit" else t.y
    X = np.column_stack([np.ones(160), t.x1, t.z, t.x2])
    with pytest.warns(CollinearityWarning, match=r'"x2" = -3 \* const \+ 2 \* x1;'):
        res = getattr(glmclf, model)(y, X).fit()
    plain = getattr(glmclf, model)(y, X[:, [0, 1, 3]]).fit()
    close(flat(res.params)[~np.isnan(flat(res.params))], flat(plain.params), 1e-9)
    close(res.predict(X[:5]), plain.predict(X[:5, [0, 1, 3]]), 1e-9)
    wide = np.column_stack([t.g == "a", t.g == "b", t.g == "c", np.ones(160)]).astype(float)  # the constant is last
    with pytest.warns(CollinearityWarning, match='"const"'):
        res = getattr(glmclf, model)(y, wide).fit()
    plain = getattr(glmclf, model)(y, wide[:, :3]).fit()
    for name in NUMBERS:
        close(getattr(res, name), getattr(plain, name), 1e-9)


# ------------------------------------------------------------------------------------------------------- tests
@every
def test_hypotheses(model):
    res, plain = both(model)
    names = res.model._param_names
    R = np.zeros((1, len(names)))
    R[0, 3] = 1  # x1 alone: a coefficient of the model without the columns left out
    small = np.zeros((1, len(plain._theta)))
    small[0, 3] = 1
    close(res.t_test(R).pvalue, plain.t_test(small).pvalue, 1e-8)
    R[0, 4] = 2  # the effect of x1 through both columns: the same, whichever is left out
    assert res.model.exog_names[3:5] == ["x1", "z"]
    close(res.t_test(R).effect, plain.t_test(small).effect, 1e-9)
    close(res.t_test(R).sd, plain.t_test(small).sd, 1e-8)
    close(res.wald_test(R).statistic, plain.wald_test(small).statistic, 1e-7)
    for wrong in (np.eye(len(names))[[4]], np.eye(len(names)), R * 2 + np.eye(len(names))[[4]]):
        with pytest.raises(ValueError, match=r'not estimable.*"z" \(it equals -3 \* Intercept \+ 2 \* x1\)'):
            res.t_test(wrong)
        with pytest.raises(ValueError, match="not estimable"):
            res.wald_test(wrong)
    tests = res.wald_test_terms().table
    close(tests.loc[["g", "x1", "x2"]], plain.wald_test_terms().table.loc[["g", "x1", "x2"]], 1e-7)
    assert (tests.loc[NAMES, "df_constraint"] == 0).all() and tests.loc[NAMES, "pvalue"].isna().all()


@every
@pytest.mark.parametrize("test", ["LR", "wald", "score"])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_anova_compares_column_spaces(model, test, kind):
    res, plain = (r.anova(type=kind, test=test) for r in both(model))
    q = 2 if model == "MNLogit" else 1
    assert (res.loc[NAMES, "df"] == 0).all() and (res.loc[NAMES, "statistic"] == 0).all()
    assert res.loc[NAMES, "pvalue"].isna().all()
    close(res.loc["x2"], plain.loc["x2"], 1e-6)
    if kind == 1:
        close(res.loc[["g", "x1", "x2"]], plain.loc[["g", "x1", "x2"]], 1e-6)
        return
    # z takes the place of x1, and `one` that of a level of g
    assert res.df["x1"] == 0 and res.df["g"] == q
    without = fitted(model, "x1 + one + x2", said=None)
    whole = fitted(model, PLAIN, said=None)
    if test == "LR":
        close(res.statistic["g"], 2 * (whole.llf - without.llf), 1e-6)
    elif test == "wald":
        R = np.zeros((q, len(whole._theta)))
        R[np.arange(q), 2 + 5 * np.arange(q)] = 1  # level c
        close(res.statistic["g"], whole.wald_test(R).statistic, 1e-6)
    else:
        close(res.statistic["g"], without.score_test(table()[["g"]].eq("c").astype(float)).statistic, 1e-6)


@every
def test_comparisons_of_fits(model):
    res, plain = both(model)
    small = fitted(model, "x1 + z", said=CollinearityWarning)
    for a in (res, plain):
        test = a.compare_lr_test(small)
        close([test.statistic, test.df], list(plain.compare_lr_test(fitted(model, "x1", said=None)))[::2], 1e-8)
    with pytest.raises(ValueError, match="parameters, this one"):
        res.compare_lr_test(plain)
    for extra in ("year", "off"):
        close(res.score_test(extra), plain.score_test(extra), 1e-6)
    with pytest.raises(CollinearityError):
        res.score_test(table()[["z"]])
    constrained = np.nan_to_num(flat(res.params)) * 0.9
    close(
        res.score_test(params_constrained=constrained, k_constraints=2).statistic,
        plain.score_test(params_constrained=constrained[places(res)], k_constraints=2).statistic,
        1e-6,
    )


@every
def test_influence(model):
    res, plain = both(model)
    a, b, at = res.get_influence(), plain.get_influence(), places(res)
    close(a.hat_matrix_diag, b.hat_matrix_diag, 1e-7)
    close(a.cooks_distance[0], b.cooks_distance[0], 1e-6)
    close(a.cooks_distance[1], b.cooks_distance[1], 1e-6)
    close(a.d_params.to_numpy()[:, at], b.d_params, 1e-6, 1e-10)
    assert np.isnan(np.delete(a.d_params.to_numpy(), at, axis=1)).all()
    close(a.dfbetas.to_numpy()[:, at], b.dfbetas, 1e-6, 1e-10)
    new = [".hat", ".cooksd", ".resid"]
    close(res.augment()[new], plain.augment()[new], 1e-6, 1e-10)


def test_multinomial_tables():
    res, plain = both("MNLogit")
    for level in ("train", "yes", "no"):
        a, b = res.rebase(level), plain.rebase(level)
        at = places(a)
        close(flat(a.params)[at], flat(b.params), 1e-8)
        close(flat(a.bse)[at], flat(b.bse), 1e-8)
        close(a.predict(table().head()), b.predict(table().head()), 1e-8)
        close(flat(a.with_cov("HC0").bse)[at], flat(b.with_cov("HC0").bse), 1e-7)
        close(a.combine_test("train", "no").statistic, b.combine_test("train", "no").statistic, 1e-6)
        c, d = a.level_contrasts(), b.level_contrasts()
        gone = c.index.get_level_values("regressor").isin(NAMES)
        close(c[~gone], d, 1e-6)
        assert c[gone].isna().all(axis=None)
    close(res.iia_test()[["statistic", "df"]], plain.iia_test()[["statistic", "df"]], 1e-5)
    close(
        res.iia_test("small-hsiao", seed=3)[["statistic", "df"]],
        plain.iia_test("small-hsiao", seed=3)[["statistic", "df"]],
        1e-5,
        1e-9,
    )
    for level, equation in res.equations.items():
        close(equation.cov_params(), res.cov_params().loc[level, level], 1e-12)
    ratios = res.odds_ratios()
    assert ratios.isna().all(axis=1).sum() == 6


# ------------------------------------------------------------------------------------------- keeping and predicting
@every
def test_saved_pickled_and_without_data(model):
    res = fitted(model)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    bare = pickle.loads(pickle.dumps(res))
    bare.remove_data()
    new = table().head()
    for other in (glmclf.load(file), bare, pickle.loads(pickle.dumps(bare))):
        close(other.params, res.params, 1e-15)
        close(other.bse, res.bse, 1e-14)
        close(other.predict(new), res.predict(new), 1e-13)
        for name in NUMBERS:
            close(getattr(other, name), getattr(res, name), 1e-14)
        close(other.model.predict(other.params, new), res.predict(new), 1e-13)
        assert "(omitted)" in other.summary().as_text()
        with pytest.warns(DataWarning, match='"z" = -3'):
            other.predict(new.assign(z=5.0))


@every
def test_new_rows_that_are_not_estimable(model):
    res, plain = both(model)
    new = table().head(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res.predict(new)
        res.predict(new.assign(x1=1e6, z=2e6 - 3))  # far away, but of the same kind
        res.predict(new.assign(x2=[np.nan, 1, 2, 3, 4, 5.0]))
    wrong = new.assign(z=new.z + [0, 0, 1, 0, 0, 2], nought=[0, 1, 0, 0, 0, 0.0])
    words = r'3 of 6 rows .* not estimable.*"z" = -3 \* Intercept \+ 2 \* x1, "nought" = 0'
    with pytest.warns(DataWarning, match=words):
        p = res.predict(wrong)
    close(p, plain.predict(new), 1e-8)
    with pytest.warns(DataWarning, match="not estimable"):
        res.get_prediction(wrong)


@every
@pytest.mark.parametrize("kind", ["plain", "offset"])
def test_the_model_at_the_parameters_of_its_fit(model, kind):
    """NaN of columns left out counts as 0, as any combination goes with it; any other NaN stays one."""
    res, plain = both(model, **KEYWORDS[kind])
    made, at = res.model, places(res)
    kwargs = {"offset": table().off.to_numpy()} if kind == "offset" else {}
    for params in (res.params, np.asarray(res.params), flat(res.params)):
        close(made.predict(params), plain.model.predict(plain.params), 1e-9)
        close(made.predict(params, table(), **kwargs), plain.fittedvalues, 1e-9)
        close(made.loglike(params), plain.llf, 1e-12)
        close(made.score(params), np.zeros(len(res._theta)), 0, 1e-8)
    close(made.loglikeobs(res.params), plain.model.loglikeobs(plain.params), 1e-8, 1e-12)
    close(made.hessian(res.params)[np.ix_(at, at)], plain.model.hessian(plain.params), 1e-8, 1e-8)
    with pytest.warns(CollinearityWarning):
        again = made.fit(start_params=res.params)
    close(flat(again.params)[at], flat(plain.params), 1e-8)
    wrong = np.where(np.arange(len(flat(res.params))) == at[0], np.nan, flat(res.params))
    assert np.isnan(made.loglike(wrong)) and np.isnan(made.predict(wrong)).any()
    with pytest.warns(DataWarning, match='1 of 6 rows to predict are not estimable.*"nought" = 0'):
        made.predict(res.params, table().head(6).assign(nought=[0, 1, 0, 0, 0, 0.0]), **_first(kwargs))


def _first(kwargs):
    return {name: values[:6] for name, values in kwargs.items()}


def test_an_empty_cell_is_named():
    t = toy()
    t = t[~((t.g == "c") & (t.h == "right"))]
    cell = r'\(no row has g = "c" and h = "right"\)'
    with pytest.warns(CollinearityWarning, match=r'"g\[T.c\]:h\[T.right\]" = 0 in every row ' + cell):
        res = make("Logit", "y ~ g * h", t).fit()
    assert res.df_model == 4
    new = pd.DataFrame({"g": ["c", "c"], "h": ["left", "right"]})
    with pytest.warns(DataWarning, match='1 of 2 rows.*no row has g = "c" and h = "right"'):
        res.predict(new)
    # R's anova and drop1 take the rank, too
    assert res.anova(type=2).df.to_dict() == {"g": 2, "h": 1, "g:h": 1}


# -------------------------------------------------------------------------------------------- with separation
@every
@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times"}, {"offset": "off"}])
def test_collinear_and_separated(model, keywords):
    t = table().assign(d=(np.arange(160) % 9 == 1).astype(int), e=lambda t: 1.0 - t.d)
    t.loc[t.d == 1, ["y", "mode"]] = "yes"
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        res = make(model, f"{left(model)} ~ x1 + d + z + e", t, **keywords).fit()
    assert [w.category for w in given] == [CollinearityWarning, SeparationWarning]
    plain = fitted(model, f"{left(model)} ~ x1 + d", t, SeparationWarning, **keywords)
    kept = ~np.isin(np.tile(res.model.exog_names, len(res._theta) // 5), ["z", "e"])
    for name in FRAMES:
        close(flat(getattr(res, name))[kept], flat(getattr(plain, name)), 1e-8, 1e-12)
    for name in NUMBERS:
        close(getattr(res, name), getattr(plain, name), 1e-9, 1e-9)
    pd.testing.assert_series_equal(res.separation.directions, plain.separation.directions)
    close(res.fittedvalues, plain.fittedvalues, 1e-8, 1e-14)
    close(res.predict(t.head(12)), plain.predict(t.head(12)), 1e-8, 1e-14)
    for cov in ("HC0", "HC1"):
        close(flat(res.with_cov(cov).bse)[kept], flat(plain.with_cov(cov).bse), 1e-7)
    close(res.score_test("x2"), plain.score_test("x2"), 1e-6)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    other = glmclf.load(file)
    close(other.params, res.params, 1e-15)
    close(other.predict(t.head(12)), res.predict(t.head(12)), 1e-12)
    text = res.summary().as_text()
    assert "(omitted)" in text and "inf" in text
    if model == "MNLogit" and not keywords.get("offset"):  # an offset is one against the reference
        both_said = (CollinearityWarning, SeparationWarning)
        direct = fitted(model, "mode ~ x1 + d + z + e", t, both_said, reference="yes", **keywords)
        close(res.rebase("yes").params, direct.params, 1e-8)
        close(res.rebase("yes").bse, direct.bse, 1e-8)


@every
def test_more_columns_than_rows(model):
    generator = np.random.default_rng(0)
    X = np.column_stack([np.ones(7), generator.normal(size=(7, 11))])
    y = np.array(list("abbabaa")) if model != "MNLogit" else np.array(list("abcabca"))
    with pytest.warns(CollinearityWarning, match="linearly dependent"), pytest.warns(SeparationWarning):
        res = getattr(glmclf, model)(y, X).fit()
    assert np.isnan(np.asarray(res.params).reshape(12, -1)[7:]).all()
    q = 2 if model == "MNLogit" else 1
    assert res.df_model == 6 * q and res.df_resid == 7 - 7 * q and abs(res.llf) < 1e-12
    with pytest.raises(CollinearityError, match="12 columns need at least as many rows"):
        getattr(glmclf, model)(y, X).fit(collinear="raise")


# ----------------------------------------------------------------------------------------------- full rank is kept
HARD = [n for n in references.names("fit") if n.startswith(("hard_poly", "hard_collinear", "hard_scale"))]


@pytest.mark.parametrize("name", HARD)
def test_ill_conditioned_designs_lose_no_column(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollinearityWarning)
        res = model.fit()
    assert res._omitted is None and np.isfinite(res.params).all()


@pytest.mark.parametrize("name", ["hard_poly5__logit", "hard_collinear__logit"])
def test_ill_conditioned_and_collinear_keeps_its_digits(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"])
    variable = "x" if "poly" in name else "x1"
    with pytest.warns(CollinearityWarning, match='"copy"'):
        res = model.from_formula(case["formula"] + " + copy", data.assign(copy=data[variable] * 4)).fit()
    plain = model.from_formula(case["formula"], data).fit()
    for a in ("params", "bse"):
        known = case["values"][a]
        digits = [[references.digits(getattr(r, a)[n], v) for n, v in known.items()] for r in (plain, res)]
        assert np.subtract(*digits).max() <= 1.5
    close(res.fittedvalues, plain.fittedvalues, 1e-11)
    new = data.assign(copy=data[variable] * 4).head()
    close(res.get_prediction(new).se, plain.get_prediction(new).se, 1e-8)


# ------------------------------------------------------------------------------- factors with cells without rows, as R
R_GLM = {
    # R 4.2.2: m <- glm(survived == "Yes" ~ cls * age + sex, binomial(link), titanic, weights = n, subset = n > 0,
    # control = glm.control(1e-11)): rank 8 of 9, as the crew had no child, and all of the first and second class's
    # children survived: R gives ageChild = 22 (se 14000). deviance(m), coefficients and standard errors of the others
    # (from the expected information), anova(m, test = "Chisq") and drop1(m)
    "Logit": (
        2174.3985531418,
        [2.044976938109, -1.173586211790, -1.643787119668, -0.817555452042, -2.462438175845],
        [1.69457784570e-01, 2.04233176937e-01, 1.73671547073e-01, 1.58912373320e-01, 1.41563340607e-01],
        [180.9013614, 25.5830462, 352.9112156, 35.6625526],
        [359.3674813, 35.6625526],
    ),
    "Probit": (
        2175.7120530164,
        [1.238938900486, -0.725313470421, -0.952191440228, -0.512086800434, -1.480673744827],
        [9.63178553308e-02, 1.18435802578e-01, 9.94970025472e-02, 9.48119498683e-02, 8.11807404365e-02],
        [180.9013614, 25.2282246, 350.6987325, 36.9163574],
        [358.0539814, 36.9163574],
    ),
}


@pytest.mark.parametrize("model", R_GLM)
def test_children_of_the_crew(model):
    """An empty cell and cells of survivors alone, at once, against R."""
    deviance, params, bse, sequential, dropped = R_GLM[model]
    data = references.reference("titanic__logit")[1]
    both_said = (CollinearityWarning, SeparationWarning)
    res = fitted(model, "survived ~ cls * age + sex", data, both_said, freq_weights="n")
    close(res.deviance, deviance, 1e-9)
    finite = ["Intercept", "cls[T.2nd]", "cls[T.3rd]", "cls[T.Crew]", "sex[T.Male]"]
    close(res.params[finite], params, 1e-7)
    close(res.with_cov("expected").bse[finite], bse, 1e-6)
    assert res.df_model == 7 and res._state.combinations.keys() == {8}
    close(res.anova(type=1).statistic, sequential, 1e-7)
    assert list(res.anova(type=1).df) == [3, 1, 1, 2]
    close(res.anova(type=3).statistic[["sex", "cls:age"]], dropped, 1e-7)
    signs = res.separation.directions
    assert signs["age[T.Child]"] == np.inf and signs["cls[T.3rd]:age[T.Child]"] == -np.inf
    assert np.isnan(signs["cls[T.2nd]:age[T.Child]"]) and len(signs) == 3


@every
def test_sparse_interactions_against_the_cells_that_are_there(model):
    """A saturated model of two factors has the observed shares of the cells with rows as fitted values."""
    generator = np.random.default_rng(12)
    n = 400
    t = pd.DataFrame({"g": generator.choice(list("abcdef"), n), "h": generator.choice(list("pqrst"), n)})
    lacking = {("a", "p"), ("c", "q"), ("c", "r"), ("f", "t"), ("b", "s")}
    t = t[[cell not in lacking for cell in zip(t.g, t.h, strict=True)]].reset_index(drop=True)
    n = len(t)
    outcomes = ["no", "yes", "perhaps"] if model == "MNLogit" else ["no", "yes"]
    cells, place = t.groupby(["g", "h"]).ngroup(), t.groupby(["g", "h"]).cumcount()
    first = np.array(outcomes)[place % len(outcomes)]  # every outcome in every cell
    t["y"] = np.where(place < len(outcomes), first, generator.choice(outcomes, n))
    res = fitted(model, "y ~ g * h", t)
    shares = pd.get_dummies(t.y, dtype=float).groupby(cells).transform("mean")
    fit = res.fittedvalues if model == "MNLogit" else res.fittedvalues.to_frame("yes")
    close(fit, shares[list(fit.columns)], 1e-8)
    assert res.df_model == (cells.nunique() - 1) * (len(outcomes) - 1)
    other = fitted(model, "y ~ h * g", t)
    close(other.llf, res.llf, 1e-12)
    assert res.anova(type=2).df["g:h"] == other.anova(type=2).df["h:g"] == (cells.nunique() - 10) * (len(outcomes) - 1)


def test_many_levels_with_empty_cells_stay_cells():
    """Large tables of factors are not expanded for the sake of a cell without rows."""
    generator = np.random.default_rng(5)
    n = 30_000
    t = pd.DataFrame({"g": generator.integers(0, 25, n), "h": generator.integers(0, 8, n)})
    t["x"] = generator.normal(size=n)
    t = t[(t.g % 8 != t.h) | (t.h == 0) | (t.g == 0)]
    t["y"] = (generator.random(len(t)) < 0.3 + 0.02 * (t.g % 5)).astype(int)
    with pytest.warns(CollinearityWarning, match="no row has g ="):
        res = make("Logit", "y ~ x + C(g) * C(h)", t).fit()
    cells = t.groupby(["g", "h"]).ngroups
    assert res.converged and res.df_model == cells and not isinstance(res.model._rows.X, Dense)


# ------------------------------------------------------------------------------------------ what a second fit does
def test_a_subset_that_loses_rank_says_so_in_the_iia_test():
    t = table()
    t["w"] = np.where(t["mode"] == "train", t.off, t.x1)
    res = fitted("MNLogit", "mode ~ x1 + w", t, None)
    note = res.iia_test().loc["train", "note"]
    assert "w" in note and "combination" in note


# ------------------------------------------------------------------------------------------ numbers that are rounded
@every
@pytest.mark.parametrize("copy", ["standardize(far)", "center(far)", "I((far - far.mean()) / far.std())"])
def test_standardised_copies_of_numbers_far_from_zero(model, copy):
    t = table().assign(far=lambda t: 1e6 + t.x1)
    res, plain = fitted(model, f"{left(model)} ~ far + {copy}", t), fitted(model, f"{left(model)} ~ far", t, None)
    assert res.df_model == plain.df_model and np.isnan(np.array(res.params)[2]).all()
    close(res.llf, plain.llf, 1e-12)
    close(np.array(res.params)[1], np.array(plain.params)[1], 1e-9)


@every
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_short_floats(model, dtype):
    """An array, a table and a formula; saved, it still knows what new rows of short floats obey."""
    t = table()[["x1", "x2", left(model)]].assign(s=lambda t: (t.x1 + t.x2).astype(dtype))
    X = np.column_stack([np.ones(len(t)), t.x1, 3 * t.x1]).astype(dtype)
    with pytest.warns(CollinearityWarning, match='"x2" = '):
        res = getattr(glmclf, model)(t[left(model)], X).fit()
    assert res.df_model == len(res.model._equations if model == "MNLogit" else [1])
    res = fitted(model, f"{left(model)} ~ x1 + x2 + s", t)
    plain = fitted(model, f"{left(model)} ~ x1 + x2", t, None)
    close(res.llf, plain.llf, 1e-12)
    buffer = io.StringIO()
    res.save(buffer)
    buffer.seek(0)
    loaded = glmclf.load(buffer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(loaded.predict(t), plain.predict(t), 1e-9)
    with pytest.warns(DataWarning, match="not estimable"):
        loaded.predict(t.assign(s=t.s + 1))
    assert list(res.anova(type=1).df) == [*plain.anova(type=1).df, 0]


def test_coefficients_without_a_digit_are_named():
    """Differences of some units in the last place, beside coefficients that they make huge."""
    x = toy().x1.to_numpy()
    y = (toy().y == toy().y.iloc[0]).astype(float)
    X = np.column_stack([np.ones(len(x)), x, x + 3e-14 * np.random.default_rng(1).normal(size=len(x))])
    model = glmclf.Logit(y, X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        res = model.fit(refine=False)
    said = [w for w in caught if "no digit" in str(w.message)]
    assert bool(said) == bool((res.digits < 1).any())
    assert said or any(w.category is CollinearityWarning for w in caught)


def test_scale_is_not_called_collinearity():
    t = toy()
    X = np.column_stack([np.ones(len(t)), t.x1 * 1e-200, t.x2 * 1e200])
    with pytest.raises(CollinearityError, match='scale of "x1".*"x2".*another unit') as caught:
        glmclf.Logit(t.x1 > t.x2, X).fit()
    assert "dependent" not in str(caught.value)


@pytest.mark.parametrize(
    "spline, better",
    [
        ("cr(x1, df=4)", 'cr(x1, df=4, constraints="center")'),
        ("cc(x1, df=4)", 'cc(x1, df=4, constraints="center")'),
        ("bs(x1, df=5, include_intercept=True)", "without include_intercept=True"),
    ],
)
def test_splines_that_span_the_intercept_say_how_to_be_written(spline, better):
    with pytest.warns(CollinearityWarning, match=re.escape(f"add up to the intercept: write {better}")):
        glmclf.Logit.from_formula(f"y ~ {spline} + g", toy()).fit()
    with pytest.raises(CollinearityError, match=re.escape(f"write {better}")):
        glmclf.Logit.from_formula(f"y ~ {spline} + g", toy()).fit(collinear="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        centred = better if "(" in better else "bs(x1, df=4)"
        glmclf.Logit.from_formula(f"y ~ {centred} + g", toy()).fit()
