"""Separated responses: the limits of the estimate, of its inference and of its predictions, in all four models."""

import fractions
import io
import itertools
import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import references
from properties.toys import MODELS, close, make, models, toy

import glmclf
from glmclf import errors
from glmclf.errors import CollinearityWarning, InferenceWarning, PerfectSeparationError, SeparationWarning
from glmclf.inference.covariance.types import COVARIANCES

NAMES = references.names("separation", (*references.BINARY, "MNLogit"))
names = pytest.mark.parametrize("name", NAMES)
every = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])

# digits asked of limit estimates and of their standard errors
DIGITS, DIGITS_BSE = 12, 10


def fitted(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SeparationWarning)
        return model.fit(**options)


def reference_model(name):
    case, data = references.reference(name)
    return getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))


@pytest.fixture(scope="module")
def results():
    """Each reference, fitted once."""
    return {name: fitted(reference_model(name)) for name in NAMES}


def flat(table):
    """name -> value, or (level, name) -> value, of a reference's table."""
    if any(isinstance(v, dict) for v in table.values()):
        return {(level, name): v for level, part in table.items() for name, v in part.items()}
    return dict(table)


def values(table):
    """A result's table by the labels of `flat`."""
    a = table.unstack() if isinstance(table, pd.DataFrame) else table
    return {label: float(v) for label, v in a.items()}


# --------------------------------------------------------------------------------------------- certified limits
@names
def test_certified_limits(name, results):
    res, v = results[name], references.reference(name)[0]["values"]
    assert res.separation.kind == ("quasi-complete" if v["separation"].startswith("quasi") else "complete")
    close(res.llf, v["llf_supremum"], 1e-13, 1e-12)
    params, bse = values(res.params), values(res.bse)
    infinite = flat(v["infinite"])
    assert set(res.separation.directions.index) == set(infinite)
    for label, sign in infinite.items():
        found, said = params[label], res.separation.directions[label]
        assert np.isnan(bse[label])
        if "not" in sign:
            assert np.isnan(found) and np.isnan(said)
        else:
            assert found == said == float(sign)
    for label, limit in flat(v.get("finite_limit", {})).items():
        assert references.digits(params[label], limit) >= DIGITS
        assert references.digits(bse[label], flat(v["finite_limit_bse"])[label]) >= DIGITS_BSE
    if "rows_separated" in v:
        assert res.separation.n_rows == v["rows_separated"] == len(res.separation.rows)
    if "rows_left" in v:
        assert len(res._state.estimate.rows) == v["rows_left"]


@names
@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs"])
def test_every_method_ends_at_the_same_limit(name, method, results):
    one, other = results[name], fitted(reference_model(name), method=method)
    close(one.llf, other.llf, 1e-10, 1e-10)
    close(one.params, other.params, 1e-6, 1e-8)
    close(one.bse, other.bse, 1e-6)
    assert str(one.separation) == str(other.separation)


@names
def test_no_direction_of_recession_lowers_the_likelihood(name, results):
    """Neither the certified one nor ours."""
    res, v = results[name], references.reference(name)[0]["values"]
    stated = {label: float(fractions.Fraction(x)) for label, x in flat(v["direction"]).items()}
    for d in (np.array([stated[label] for label in values(res.params)]), res.separation.direction.to_numpy()):
        far = [res.model.loglike(res._state.finite_theta + s * d / np.abs(d).max()) for s in (0, 1e2, 1e4)]
        assert far[0] <= far[1] + 1e-9 and far[1] <= far[2] + 1e-9


def test_the_contrast_that_stays_finite(results):
    v = references.reference("iris__mnlogit_separation")[0]["values"]
    res = results["iris__mnlogit_separation"]
    found = res.level_contrasts().loc["virginica", "versicolor"]
    known = pd.DataFrame({c: v[c]["virginica - versicolor"] for c in ("finite_contrast", "finite_contrast_bse")})
    for name, (b, se) in known.iterrows():
        assert references.digits(found.loc[name, "coef"], b) >= DIGITS
        assert references.digits(found.loc[name, "std err"], se) >= DIGITS_BSE
    test = res.t_test("yvirginica_petal_width - yversicolor_petal_width = 0")
    close(test.effect, found.loc["petal_width", "coef"], 1e-9)
    assert res.level_contrasts().loc["virginica", "setosa"]["coef"].isna().all()
    with pytest.raises(ValueError, match="infinite"):
        res.t_test("yvirginica_petal_width = 0")


# -------------------------------------------------------------------------------------- against large finite numbers
def far_along(res, s):
    d = res.separation.direction.to_numpy()
    return res._state.finite_theta + s * d / np.abs(d).max()


@names
def test_llf_and_fitted_values_are_limits(name, results):
    res = results[name]
    model = res.model
    sizes = (1e3, 1e5) if "wine" not in name else (1e6, 1e8)
    values = [model.loglike(far_along(res, s)) for s in sizes]
    assert values[0] <= values[1] + 1e-10 and abs(values[1] - res.llf) < 1e-6
    near = model.predict(far_along(res, sizes[1]))
    close(np.asarray(res.fittedvalues), near, 1e-6, 1e-6)
    close(np.asarray(res.predict()), near, 1e-6, 1e-6)


@names
def test_predictions_of_rows_seen_anew(name, results):
    """Decided by linear programs, not by what the fit knows of its rows."""
    res, data = results[name], references.reference(name)[1]
    some = data.iloc[:: max(1, len(data) // 25)]
    close(np.asarray(res.predict(some)), np.asarray(res.fittedvalues.loc[some.index]), 1e-12, 1e-14)


def test_predictions_that_are_undetermined_are_nan():
    t = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [0, 0, 1, 1]})
    res = fitted(make("Logit", "y ~ x", t))
    p = res.predict(pd.DataFrame({"x": [0.0, 2, 2.5, 3, 9]}))
    np.testing.assert_array_equal(p, [0, 0, np.nan, 1, 1])
    assert res.get_prediction(pd.DataFrame({"x": [2.5, 9.0]})).se.isna().all()
    assert list(res.predict(pd.DataFrame({"x": [0.0, 2.5, 9]}), which="class")[[0, 2]]) == [0, 1]
    three = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "y": list("aabbcc")})
    multi = fitted(make("MNLogit", "y ~ x", three))
    p = multi.predict(pd.DataFrame({"x": [1.5, 2.5, 3.5, 4.2, 5.5, np.nan]}))
    np.testing.assert_array_equal(p.isna().any(axis=1), [False, True, False, True, False, True])
    np.testing.assert_array_equal(p.to_numpy()[[0, 2, 4]], np.eye(3))


# ------------------------------------------------------------------------------------------------------- tests
def test_lr_tests_of_the_infinite_coefficient():
    """R 4.2.2: anova(glm(HG ~ PI + EH), glm(HG ~ NV + PI + EH), test = "LRT") of endometrial, binomial: 9.3576, the
    larger fit of which ends at a coefficient of 18."""
    data = references.reference("endometrial__logit_separation")[1]
    full = fitted(make("Logit", "HG ~ NV + PI + EH", data))
    without = make("Logit", "HG ~ PI + EH", data).fit()
    test = full.compare_lr_test(without)
    close([test.statistic, test.df], [9.3576, 1], 1e-5)
    table = full.anova()
    close(table.statistic["NV"], test.statistic, 1e-9)
    for term, formula in {"PI": "HG ~ NV + EH", "EH": "HG ~ NV + PI"}.items():
        smaller = fitted(make("Logit", formula, data))
        close(table.statistic[term], 2 * (full.llf - smaller.llf), 1e-8)
    assert list(full.wald_test_terms().table.pvalue.isna()) == [False, True, False, False]


@every
def test_wald_tests_of_finite_coefficients_are_those_on_the_rows_left(model):
    t = toy().assign(d=lambda t: (np.arange(160) % 9 == 0).astype(int), z=lambda t: (t.x2 > 1.5) * 1.0 + (t.x2 > 3))
    outcome = "y01" if model != "MNLogit" else "y"
    t.loc[t.d == 1, "y01"] = 1
    t["y"] = np.where(t.y01 == 1, "yes", "no")
    res = fitted(make(model, f"{outcome} ~ x1 + g + d", t))
    left = make(model, f"{outcome} ~ x1 + g", t[t.d == 0]).fit()
    kept = [0, 1, 2, 3]
    close(np.ravel(res.params)[kept], np.ravel(left.params), 1e-9)
    close(np.ravel(res.bse)[kept], np.ravel(left.bse), 1e-8)
    close(res.llf, left.llf, 1e-12)
    R = np.zeros((2, 5))
    R[0, 1], R[1, 2] = 1, 1
    close(res.wald_test(R).statistic, left.wald_test(R[:, kept]).statistic, 1e-8)
    close(np.ravel(res.with_cov("HC0").bse)[kept], np.ravel(left.with_cov("HC0").bse), 1e-8)
    groups = np.arange(160) // 4
    clustered = [r.with_cov("cluster", groups=g) for r, g in ((res, groups), (left, groups[t.d == 0]))]
    n, m = 160, int((t.d == 0).sum())
    G = len(set(groups))
    ratio = np.sqrt((n - 1) / (n - 5) / ((m - 1) / (m - 4)))
    assert clustered[0].cov_kwds["n_groups"] == [G] == clustered[1].cov_kwds["n_groups"]
    close(np.ravel(clustered[0].bse)[kept], ratio * np.ravel(clustered[1].bse), 1e-8)
    one = res.with_cov("HC1")  # observations and parameters of all rows: the limit of fits with large coefficients
    close(np.ravel(one.bse)[kept], np.ravel(left.with_cov("HC0").bse) * np.sqrt(n / (n - 5)), 1e-8)
    assert np.isnan(np.ravel(one.bse)[4])
    for extra in ("x2", "z"):
        a, b = (r.score_test(extra) for r in (res, left))
        close([a.statistic, a.df], [b.statistic, b.df], 1e-7)


@every
def test_score_tests_of_terms_where_the_smaller_models_are_separated(model):
    """As on the rows left, with the infinite coefficient out of the way."""
    t = toy().assign(d=(np.arange(160) % 9 == 0).astype(int))
    t.loc[t.d == 1, "y"] = "yes"
    res, left = fitted(make(model, "y ~ x1 + g + d", t)), make(model, "y ~ x1 + g", t[t.d == 0]).fit()
    q = len(np.ravel(res.params)) // 5
    for kind in (2, 3):
        found, known = (r.anova(type=kind, test="score") for r in (res, left))
        close(found.statistic[["x1", "g"]], known.statistic[["x1", "g"]], 1e-6)
        assert list(found.df[["x1", "g", "d"]]) == [q, 2 * q, q] and found.statistic["d"] > 5
    t["h"] = np.where(t.d == 1, "only there", "elsewhere")
    with pytest.warns(CollinearityWarning), pytest.warns(SeparationWarning):
        both = make(model, "y ~ x1 + d + h", t).fit()
    assert both.anova(type=3, test="score").df["h"] == 0
    t["e"] = np.where(t.d == 1, t.x2, 0.0)  # varies on the decided rows alone
    res = fitted(make(model, "y ~ x1 + d + e", t))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        table = res.anova(type=3, test="score")
    assert table.statistic.isna().to_list() == [False, True, True]
    assert [str(w.message)[:29] for w in given] == [f'anova(test="score"): {v} has no' for v in "de"]
    for extra, data in (("e", t), ("x2", t.assign(y=np.where(t.d == 1, "yes", "no")))):
        separated = fitted(make(model, "y ~ d", data))
        with pytest.raises(errors.EstimationError, match=f"'{extra}' is a combination .* predicted perfectly"):
            separated.score_test(extra)


def test_score_test_of_a_separated_multinomial():
    """The limit of the statistic at large finite coefficients."""
    data = references.reference("sep_mnlogit__mnlogit_separation")[1]
    data["e"] = np.sin(np.arange(len(data)))
    res = fitted(make("MNLogit", "y ~ x + d", data))
    wider = make("MNLogit", "y ~ x + d + e", data)
    theta = np.column_stack([far_along(res, 25.0).reshape(3, 2, order="F").T, np.zeros(2)]).ravel()
    u, A = wider.score(theta), wider.information(theta)
    statistic = float(u @ np.linalg.solve(A, u))
    close(res.score_test("e").statistic, statistic, 1e-5)
    assert res.score_test("e").df == 2
    tested = np.arange(len(theta)) % 4 == 3
    B = np.zeros((2, len(theta)))  # the score of what is tested, less what the others tell of it
    B[:, tested], B[:, ~tested] = np.eye(2), -np.linalg.solve(A[np.ix_(~tested, ~tested)], A[np.ix_(~tested, tested)]).T
    S = wider.score_obs(theta) @ B.T
    close(res.score_test("e", cov_type="HC0").statistic, S.sum(axis=0) @ np.linalg.solve(S.T @ S, S.sum(axis=0)), 1e-5)


def test_hc2_hc3_and_influence_of_the_rows_left():
    t = toy().assign(d=(np.arange(160) % 9 == 0).astype(int))
    t.loc[t.d == 1, "y01"] = 1
    res, left = fitted(make("Logit", "y01 ~ x1 + d", t)), make("Logit", "y01 ~ x1", t[t.d == 0]).fit()
    for kind in [name for name, entry in COVARIANCES.items() if entry.leverage]:
        close(res.with_cov(kind).bse[["Intercept", "x1"]], left.with_cov(kind).bse, 1e-8)
    a, b = res.get_influence(), left.get_influence()
    close(a.hat_matrix_diag[t.d == 0], b.hat_matrix_diag, 1e-8)
    assert not a.hat_matrix_diag[t.d == 1].any()
    close(a.d_params.loc[t.d == 0, ["Intercept", "x1"]], b.d_params, 1e-8)
    assert a.d_params["d"].isna().all()
    new = res.augment().filter(like=".")
    assert (new[".se_fit"].isna() == (t.d == 1)).all() and np.isfinite(new.drop(columns=".se_fit")).all(axis=None)
    with pytest.raises(NotImplementedError, match="bootstrap"):
        res.with_cov("bootstrap")
    multi = fitted(reference_model("sep_mnlogit__mnlogit_separation"))
    for kind in ("HC3", "HC4", "HC5"):
        with pytest.raises(NotImplementedError, match=kind):
            multi.with_cov(kind)


def a_decided_level():
    """Of g == "b" the class is known, three of three and yes of two; x1 takes five values."""
    t = toy().assign(g=np.array(["a", "b", "c"])[np.arange(160) % 3])
    t["x1"] = t.x1.round().clip(-2, 2)
    there = t.g != "b"
    return t.assign(
        two=np.where(there & (t.y01 == 0), "no", "yes"),
        y01=np.where(there, t.y01, 1),
        three=np.where(there, np.where(t.y01 == 1, "one", "two"), "three"),
    )


@pytest.mark.parametrize("by", ["row", "pattern"])
@pytest.mark.parametrize("weights", [None, "freq_weights", "weights"])
def test_influence_of_separated_classes(by, weights):
    t = a_decided_level().assign(f=1 + np.arange(160) % 3)
    columns = ["hat_diag", "cooks_d", "delta_chi2", "delta_deviance"]
    keywords = {} if weights is None else {weights: "f"}

    def found(name, formula, data=t, **options):
        return fitted(make(name, formula, data, **keywords, **options)).get_influence(by)

    a, b = found("Logit", "y01 ~ x1 + g"), found("MNLogit", "two ~ x1 + g")
    close(a.summary_frame()[columns], b.summary_frame()[columns], 1e-10)
    close(a.d_fittedvalues, b.d_fittedvalues["yes"], 1e-10)
    close(a.d_params.to_numpy(), b.d_params.to_numpy(), 1e-10)
    # without the level that is decided the other two classes are a Logit
    if weights != "weights":  # whose mean is another
        left, whole = found("Logit", "three ~ x1 + g", t[t.g != "b"], event="two"), found("MNLogit", "three ~ x1 + g")
        at = left.hat_matrix_diag.index
        close(whole.summary_frame().loc[at, columns], left.summary_frame()[columns], 1e-10)
        assert not whole.summary_frame().drop(at)[columns].any(axis=None)
        rebased = fitted(make("MNLogit", "three ~ x1 + g", t, **keywords)).rebase("two").get_influence(by)
        close(rebased.summary_frame()[columns], whole.summary_frame()[columns], 1e-10)
        close(rebased.d_params["one"]["x1"], -whole.d_params["two"]["x1"], 1e-10)


def test_vif_of_what_stays_finite():
    """Whatever is infinite, and however it is coded: of the rows left, the order of rows, base levels and weights."""
    t = a_decided_level().assign(f=1 + np.arange(160) % 3, u=np.arange(160) // 3 % 2)
    left = make("Logit", "y01 ~ x1 + u + C(g == 'a')", t[t.g != "b"]).fit().vif().GVIF[["x1", "u"]]
    for formula in ("y01 ~ x1 + u + g", "y01 ~ x1 + u + C(g, Treatment('b'))", "y01 ~ 0 + g + x1 + u"):
        if "0" not in formula[5:]:
            close(fitted(make("Logit", formula, t)).vif().GVIF[["x1", "u"]], left, 1e-9)
    for name, formula in (("MNLogit", "two ~ x1 + u + g"), ("MNLogit", "three ~ x1 + u + g")):
        close(fitted(make(name, formula, t)).vif().GVIF[["x1", "u"]], left, 1e-9)
    # a threshold: both x1 and z are infinite, and either may be held
    s = t.assign(z=np.round(2 * np.sin(np.arange(160))), v=np.cos(3 * np.arange(160)))
    s["q"] = np.where(s.x1 + s.z > 0, 1, np.where(s.x1 + s.z < 0, 0, s.y01))
    formula = "q ~ x1 + z + v + u"
    res = fitted(make("Logit", formula, s))
    assert np.isinf(res.params[["x1", "z"]]).all() and np.isfinite(res.params[["v", "u"]]).all()
    for other in (s.iloc[::-1], s.sample(frac=1.0, random_state=3), s.assign(x1=1e3 * s.x1)):
        close(fitted(make("Logit", formula, other)).vif().GVIF, res.vif().GVIF, 1e-8)
    a = fitted(make("Logit", formula, s, freq_weights="f")).vif()
    b = fitted(make("Logit", formula, s.loc[s.index.repeat(s.f)])).vif()
    close(a.GVIF, b.GVIF, 1e-8)


def test_clusters_where_no_coefficient_is_finite():
    t = toy().assign(y01=(toy().x1 > 0).astype(int), c=np.arange(160) % 80)
    for name in [*MODELS, "MNLogit"]:
        res = fitted(make(name, "y01 ~ x1 + x2", t), cov_type="cluster", cov_kwds={"groups": "c"})
        assert "No coefficient is finite" in res.summary().as_text()


def test_moments_of_a_separated_fit_without_its_rows(tmp_path):
    res = fitted(make("Logit", "y01 ~ x1 + g", a_decided_level()))
    res.save(tmp_path / "fit.json")
    for other in (glmclf.load(tmp_path / "fit.json"), pickle.loads(pickle.dumps(res))):
        if other.model._rows_ is not None:
            other.remove_data()
        for ask in (other.information_matrix_test, other.vif):
            with pytest.raises(errors.DataError, match="needs the rows of the fit"):
                ask()


def test_conditional_comparison_with_a_separated_logit():
    t = toy().assign(three=a_decided_level().three)
    t.loc[t.three == "three", "x2"] += 30
    res = fitted(make("MNLogit", "three ~ x1 + x2", t))
    with pytest.raises(ValueError, match=r"compare_conditional\(\) of MNLogit: the estimate is infinite"):
        glmclf.LDA.from_formula("three ~ x1 + x2", t).fit().compare_conditional(res)


@pytest.mark.parametrize("name", ["sep_mnlogit__mnlogit_separation", "iris__mnlogit_separation"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_rebase_is_the_fit_against_the_other_reference(name, place, results):
    res, (case, data) = results[name], references.reference(name)
    level = case["values"]["levels"][place]
    direct = fitted(make("MNLogit", case["formula"], data, reference=level))
    moved = res.rebase(level)
    for a in (moved, moved.rebase(res.reference).rebase(level), pickle.loads(pickle.dumps(moved))):
        close(a.params, direct.params, 1e-9)
        close(a.bse, direct.bse, 1e-8)
        close(a.fittedvalues, direct.fittedvalues, 1e-9, 1e-15)
        close(a.predict(data.head(12)), direct.predict(data.head(12)), 1e-9, 1e-15)
        assert list(a.separation.directions.index) == list(direct.separation.directions.index)
    close(moved.with_cov("HC0").bse, direct.with_cov("HC0").bse, 1e-8)


# ------------------------------------------------------------------------------------------------- keeping
@pytest.mark.filterwarnings("ignore:.*rows to predict")
@names
def test_saved_pickled_and_without_data(name, results):
    res, data = results[name], references.reference(name)[1].iloc[::11]
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    bare = pickle.loads(pickle.dumps(res))
    bare.remove_data()
    p = res.predict(data)
    loaded = glmclf.load(file)
    few = res._state.estimate.cone.extreme.size <= 1000  # numbers of the design that a file may keep
    assert few == (name != "wine__mnlogit_all_separation")
    for other in (loaded, bare, pickle.loads(pickle.dumps(bare))):
        close(other.params, res.params, 1e-15)
        close(other.bse, res.bse, 1e-15)
        if few or other is not loaded:
            close(other.predict(data), p, 1e-12, 1e-15)
        else:
            with pytest.warns(errors.DataWarning, match="rests on many rows"):
                unknown = other.predict(data).isna().any(axis=1)
            close(other.predict(data)[~unknown], p[~unknown], 1e-12, 1e-15)
        close(other.conf_int(), res.conf_int(), 1e-13)
        assert str(other.separation) == str(res.separation) and other.separation.rows is None
        assert other.llf == res.llf and "infinite" in other.summary().as_text()
    assert len(res.separation.rows) == res.separation.n_rows


# ---------------------------------------------------------------------------------------------- asked beforehand
@names
def test_detect_separation(name, results):
    case, data = references.reference(name)
    found = glmclf.detect_separation(case["formula"], data, case["model"].lower(), **references.model_keywords(case))
    assert str(found) == str(results[name].separation)
    model = results[name].model
    same = glmclf.detect_separation(data[model.endog_names], model.exog, type(model))
    assert (same.kind, same.n_rows) == (found.kind, found.n_rows)
    np.testing.assert_array_equal(same.directions.to_numpy(), found.directions.to_numpy())


def test_detect_separation_of_data_that_are_not():
    t = toy()
    assert glmclf.detect_separation("y ~ x1 + g", t) is None
    assert glmclf.detect_separation("y ~ x1 + g", t, freq_weights="times", model="probit") is None
    assert glmclf.detect_separation("g ~ x1", t, "mnlogit") is None
    assert glmclf.detect_separation("y ~ x1 + z", t.assign(z=2 * t.x1)) is None
    unit = 3.0
    assert glmclf.detect_separation("y ~ I(x1 / unit)", t) is None, unit
    with pytest.raises(ValueError, match='"mnlogit"'):
        glmclf.detect_separation("y ~ x1", t, "ols")


# ------------------------------------------------------------------------------------------- not separated
@pytest.mark.parametrize(
    "name", [f"hard_{n}" for n in ("nearsep__logit", "nearsep__probit", "wide__logit", "rare__logit")]
)
def test_estimates_that_exist_are_found(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        res = model.fit()
    assert res.separation is None and glmclf.detect_separation(case["formula"], data, case["model"].lower()) is None
    assert min(references.digits(res.params[k], b) for k, b in case["values"]["params"].items()) >= 9


@models
def test_a_large_slope_and_a_gross_outlier_are_no_separation(model):
    x = np.linspace(-1, 1, 81)
    y = (x > 0).astype(int)
    y[[39, 41]] = 1, 0  # overlap on a fiftieth of the range
    t = pd.DataFrame({"x": x, "y": y})
    for data in (t, pd.concat([t, pd.DataFrame({"x": [40.0], "y": [0]})])):
        with warnings.catch_warnings():
            warnings.simplefilter("error", SeparationWarning)
            res = make(model, "y ~ x", data).fit()
        assert res.converged and res.separation is None and np.isfinite(res.params).all()
        assert np.abs(res.model.score(res.params)).max() < 1e-6
    assert make(model, "y ~ x", t).fit().params["x"] > 20


# -------------------------------------------------------------------------------------------- brute force, all models
def separable(X, seen):
    """Whether some direction never speaks against an outcome seen and sometimes for one: by trying all extreme rays."""
    k, K = X.shape[1], seen.shape[1]
    rows = []
    for (c, l), i in itertools.product(itertools.permutations(range(K), 2), range(len(X))):
        if seen[i, c]:
            row = np.zeros((K, k))
            row[c], row[l] = X[i], -X[i]
            rows.append(row[1:].ravel())
    A = np.unique(rows, axis=0)
    p = A.shape[1]
    for picked in itertools.combinations(range(len(A)), p - 1):
        _, s, V = np.linalg.svd(A[list(picked)]) if p > 1 else (None, np.ones(0), np.eye(1))
        if (s > 1e-9).all() and any((A @ d).min() > -1e-9 for d in (V[-1], -V[-1])):
            return True
    return False


@every
def test_random_small_designs(model):
    """Never NaN or inf without a word; separated exactly where all extreme directions say so."""
    generator = np.random.default_rng(17)
    counted = {True: 0, False: 0}
    for _ in range(40):
        n = int(generator.integers(4, 11 if model != "MNLogit" else 8))
        X = np.column_stack([np.ones(n, dtype=int), generator.integers(-2, 3, n), generator.integers(0, 2, n)])
        X = X[:, : 2 if model == "MNLogit" else 3]
        K = 3 if model == "MNLogit" else 2
        y = np.r_[np.arange(K), generator.integers(0, K, n - K)]
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            res = getattr(glmclf, model)(y, X.astype(float)).fit()
        kinds = [w.category for w in given]
        assert set(kinds) <= {SeparationWarning, CollinearityWarning, glmclf.errors.InferenceWarning}, given
        rank = np.linalg.matrix_rank(X)
        assert (CollinearityWarning in kinds) == (rank < X.shape[1])
        ranks = [0, *(np.linalg.matrix_rank(X[:, : j + 1]) for j in range(X.shape[1]))]
        columns = np.flatnonzero(np.diff(ranks))
        expected = separable(X[:, columns], y[:, None] == np.arange(K))
        assert (SeparationWarning in kinds) == expected == (res.separation is not None), (X.tolist(), y.tolist())
        counted[expected] += 1
        assert res.converged and np.isfinite([res.llf, res.aic, res.bic]).all()
        finite = np.isfinite(np.asarray(res.params)).ravel(order="F")
        assert finite.all() or len(kinds)
        assert finite.sum() == np.isfinite(np.asarray(res.bse)).sum()
        assert np.isfinite(np.asarray(res.fittedvalues)).all()
        res.summary().as_text()
        if expected:
            with pytest.raises(PerfectSeparationError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                res.model.fit(separation="raise")
    assert min(counted.values()) >= 3


# -------------------------------------------------------------------------------------------------- what is said
def apart(**columns):
    return pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "z": [1.0, 0, 1, 0, 1, 1], "y": [0, 0, 0, 1, 1, 1], **columns})


def test_separations_are_compared_by_what_they_say():
    one, same = (fitted(make("Logit", "y ~ x", apart())).separation for _ in range(2))
    assert one == same and hash(one) == hash(same) and one in {same}
    assert one != fitted(make("Logit", "y ~ z + x", apart())).separation
    assert one != fitted(make("Logit", "y ~ x", apart(y=[1, 1, 1, 0, 0, 0]))).separation and one != "complete"
    assert np.abs(one.direction).max() == 1
    assert glmclf.detect_separation("y ~ x", apart()) == one


def test_advice_can_be_followed():
    """Likelihood ratio tests and Firth's estimate are for likelihoods."""
    for keywords in ({}, {"weights": [1, 2, 1.5, 1, 1, 1]}):
        with pytest.warns(SeparationWarning) as caught:
            res = make("Logit", "y ~ x", apart(), **{k: np.array(v) for k, v in keywords.items()}).fit()
        with pytest.raises(ValueError, match="infinite") as refused:
            res.wald_test("x = 0")
        for text in (str(caught[0].message), str(refused.value), res.summary().as_text().replace("\n    ", " ")):
            assert ("compare_lr_test" in text) == ("firth" in text) == (not keywords), text
            assert ("merge its levels" in text) == bool(keywords)
        assert "can be used" not in str(caught[0].message)  # there are none
    with pytest.raises(PerfectSeparationError) as raised:
        make("Logit", "y ~ x", apart(), weights=np.array([1, 2, 1.5, 1, 1, 1])).fit(separation="raise")
    assert "firth" not in str(raised.value)


def test_levels_apart_cannot_be_combined_by_a_wald_test():
    t = apart(y=list("aabbcc"))
    res = fitted(make("MNLogit", "y ~ x", t))
    with pytest.raises(ValueError, match="combine_test.*firth") as refused:
        res.combine_test("a", "b")
    assert "compare_lr_test" not in str(refused.value)


def test_wald_table_has_the_terms_that_are_finite():
    t = toy()
    t["y"] = np.where(t.g == "b", t.y.iloc[0], t.y)
    res = fitted(make("Logit", "y ~ g + x1 + x2", t))
    table, terms = res.anova(type=3, test="wald"), res.wald_test_terms().table
    assert np.isnan(table.statistic["g"]) and np.isfinite(table.statistic[["x1", "x2"]]).all()
    close(table.statistic[["x1", "x2"]], terms.loc[["x1", "x2"], "statistic"].astype(float), 1e-9)


def test_a_row_far_off_is_no_separation():
    x = np.r_[np.arange(39.0), 1e4]
    y = (x > 19).astype(float)
    y[[15, 24]] = y[[24, 15]]
    for model in ("Logit", "Probit", "MNLogit"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            res = getattr(glmclf, model)(y, np.column_stack([np.ones(40), x])).fit()
            without = getattr(glmclf, model)(y[:39], np.column_stack([np.ones(39), x[:39]])).fit()
        close(res.params, without.params, 1e-9)


def test_a_file_without_the_sides_of_the_cone_answers_rows_that_need_none():
    generator = np.random.default_rng(0)
    t = pd.DataFrame(generator.normal(size=(360, 8)), columns=list("abcdefgh"))
    t["k"] = np.where(np.arange(360) % 2, "p", "q")
    apart = t[list("abcdefgh")].sum(axis=1) > 0
    t["y"] = np.where(t.k == "p", apart, generator.random(360) < 0.5).astype(int)
    res = fitted(make("Logit", f"y ~ C(k):({'+'.join('abcdefgh')})", t))
    buffer = io.StringIO()
    res.save(buffer)
    buffer.seek(0)
    with pytest.warns(errors.DataWarning, match=r"180 of 360 rows to predict \(1, 3, 5, .*a file does not keep"):
        found = glmclf.load(buffer).predict(t)
    assert found.isna().equals(t.k == "p")
    close(found[t.k == "q"], res.predict(t)[t.k == "q"], 1e-12)


def test_an_outcome_that_is_ruled_out_for_certain():
    """No c as g grows; of x between those of a and b, directions disagree about these."""
    x = [1.0, 2, 3, 5, 6, 7, 1, 2, 3, 4, 5, 6]
    t = pd.DataFrame({"x": x, "g": [1.0] * 6 + [0.0] * 6, "y": list("aaabbb") + list("cccccc")})
    res = fitted(make("MNLogit", "y ~ x + g", t))
    p = res.predict(pd.DataFrame({"x": [4.0, 1.0], "g": [5.0, 1.0]}))
    assert p["c"].tolist() == [0, 0] and p["a"].isna().tolist() == [True, False] == p["b"].isna().tolist()
    assert p["a"][1] == 1


def test_iterations_of_the_fit_that_stopped():
    t = apart(y=[0, 0, 1, 0, 1, 1], k=list("ppppqq")).assign(y=[0, 1, 0, 1, 1, 1])
    with pytest.warns(errors.ConvergenceWarning, match="stopped after 1 iter"), pytest.warns(SeparationWarning):
        make("Logit", "y ~ k + x", t.assign(y=[0, 1, 0, 1, 1, 1], x=[1.0, 2, 3, 5, 5, 7])).fit(maxiter=1)


def test_an_offset_of_one_column():
    t = toy().rename(columns={"off": "o"})
    o = t.o.to_numpy()
    one, two = (make("MNLogit", "y ~ x1", t, offset=value).fit() for value in (o, o[:, None]))
    close(two.params, one.params, 1e-14)
    close(two.predict(t, offset=o[:, None]), one.predict(t, offset=o), 1e-14)


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e9])
def test_rows_of_the_fit_are_predicted_as_fitted_whatever_the_origin(shift):
    """Rows on the sides of the cone are differences of large numbers."""
    u = np.array([0, -1, 1, -2, 0, 1, -1, 0, -1, -1, -2.0])
    X = np.column_stack([np.ones(len(u)), u + shift])
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit((u < 0).astype(int), X).fit()
    np.testing.assert_array_equal(res.fittedvalues, u < 0)
    np.testing.assert_array_equal(res.predict(X), u < 0)
    new = res.predict(np.column_stack([np.ones(3), np.array([-1.5, -0.5, 3.0]) + shift]))
    np.testing.assert_array_equal(new, [1, np.nan, 0])


def _far(seed, shift):
    """Rows of few values, most of them told apart by the regressors, which have large means; for a model's frame."""
    g = np.random.default_rng(seed)
    n = int(g.integers(8, 30))
    u = np.round(g.normal(size=n), int(g.integers(0, 4)))
    t = pd.DataFrame({"x": u + shift, "z": g.integers(-2, 3, n) + shift * (g.random() < 0.5)})
    t["h"], t["g"] = g.choice(list("uv"), n), g.choice(list("abcd"), n)
    side = np.sign(u + g.integers(-1, 2) * (t.h == "v"))
    t["y"] = np.where(side == 0, g.integers(0, 2, n), side > 0).astype(int)
    t["k"] = np.where(t.y == 1, "p", np.where(t.z - t.z.mean() > g.normal(), "q", "r"))
    return t


@pytest.mark.parametrize(
    "model, seed, shift, formula",
    [
        ("Logit", 3, 1e6, "x * z"),
        ("Logit", 29, 1e8, "x * h * g"),
        ("Probit", 19, 1e6, "0 + g + x:g"),
        ("CLogLog", 7, 1e8, "x * h * g"),
        ("MNLogit", 12, 1e8, "x * g"),
        ("MNLogit", 8, 1e6, "x * z"),
    ],
)
def test_rows_of_the_fit_are_predicted_as_fitted_where_their_terms_cancel(model, seed, shift, formula, tmp_path):
    t = _far(seed, shift)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearityWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        res = getattr(glmclf, model).from_formula(f"{'k' if model == 'MNLogit' else 'y'} ~ {formula}", t).fit()
    assert res.separation is not None
    res.save(tmp_path / "a.json")
    for r in (res, glmclf.load(tmp_path / "a.json")):
        np.testing.assert_allclose(r.predict(t), res.fittedvalues, atol=1e-6)


def test_a_parameter_that_is_0_holds_nothing_that_others_need():
    """x at 1e6 moves no row along the only direction, (1, -1, 0): what rounding had left of it is not in the others."""
    x = 1e6 + np.array([-0.458, -0.686, -0.026, 0.3, 0.62, -0.241, 1.75])
    h, y = np.array([0, 1, 1, 1, 1, 1, 1.0]), np.array([1, 1, 0, 1, 1, 0, 1])
    X = np.column_stack([np.ones(7), h, x])
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit(y, X).fit()
    assert 0 < np.asarray(res.fittedvalues)[1:].min() and np.asarray(res.fittedvalues)[1:].max() < 1
    np.testing.assert_allclose(res.predict(X), res.fittedvalues, rtol=1e-6)
    np.testing.assert_allclose(res.separation.direction, [1, -1, 0], rtol=1e-12)


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog"])
def test_a_narrow_overlap_among_the_rows_that_are_left(model, gap):
    """x1 separates all rows but three; these overlap in x2, by next to nothing: their fit is the limit."""
    x1 = np.array([2, -1, -2, 2, 0, -2, 2, -1, 0, 1, 0.0])
    x2 = np.array([-1.56, 0.33, -0.55, 1.54, 0.14, 0.29, 0.05, -2.16, -0.37, -0.08, -0.37 + gap])
    y, left = np.array([0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1]), x1 == 0
    X = np.column_stack([np.ones(11), x1, x2])
    with pytest.warns(SeparationWarning):
        res = getattr(glmclf, model)(y, X).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = getattr(glmclf, model)(y[left], X[left][:, [0, 2]]).fit()
    assert res.params["x1"] == -np.inf and res.separation.n_rows == 8
    np.testing.assert_allclose(res.params[["const", "x2"]], alone.params, rtol=1e-6)
    np.testing.assert_allclose(res.llf, alone.llf, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_the_model_at_infinite_parameters(model):
    """A dummy variable decides its rows; its coefficient, 0 times infinity in the others, does not count there."""
    data = toy().assign(d=lambda t: np.where(np.arange(len(t)) % 5 == 0, 1.0, 0.0))
    data["y"] = np.where(data.d == 1, data.y.max(), data.y)
    res = fitted(make(model, "y ~ x1 + d", data))
    assert np.isinf(res.params["d"]) and np.isfinite(res.params[["Intercept", "x1"]]).all()
    made = res.model
    close(made.predict(res.params), res.predict(), 1e-14)
    close(made.predict(res.params, data.head(7)), res.predict(data.head(7)), 1e-14)
    close(made.loglike(res.params), res.llf, 1e-12)
    close(made.score(res.params), np.zeros(3), 0, 1e-8)
    both = res.params.mask(res.params.index == "x1", -res.params["d"])
    p = made.predict(both)
    assert np.isnan(p[(data.d * data.x1 > 0)]).all() and np.isfinite(p[(data.d == 0) & (data.x1 != 0)]).all()


# --------------------------------------------------------------------------------------------- signs when asked for
@pytest.fixture
def programs(monkeypatch):
    """Linear programs that are solved while a test runs."""
    from glmclf.core.separation import cone

    seen, solve = [], cone._plain_program
    monkeypatch.setattr(cone, "_plain_program", lambda *a, **k: seen.append(1) or solve(*a, **k))
    return seen


def separated_classes(p=14, n=28, K=4):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p))])
    return np.arange(n) % K, X


def test_signs_are_determined_when_they_are_asked_for(programs):
    """A fit asks no more than its message names; parameters, covariance and rows that are undecided need no sign."""
    y, X = separated_classes()
    model = glmclf.MNLogit(y, X)
    with pytest.raises(PerfectSeparationError):
        model.fit(separation="raise")
    least = len(programs)
    with pytest.warns(SeparationWarning):
        res = model.fit()
    assert len(programs) == 2 * least
    assert len(res.separation.columns) == 45 and res.cov_params().isna().all().all()
    np.testing.assert_allclose(res.predict().sum(axis=1), 1.0)
    assert len(programs) == 2 * least
    assert res.separation.directions.index.equals(res.cov_params().index) and len(programs) > 2 * least


def test_signs_that_take_too_long_are_told(monkeypatch, capsys):
    from glmclf.core.separation import cone
    from glmclf.core.separation.deadline import Deadline

    y, X = separated_classes()
    with pytest.warns(SeparationWarning):
        res = glmclf.MNLogit(y, X).fit()
    found = res._state.estimate.cone
    known = found.sign_of(np.eye(45))
    asked = replace(found)  # without the rays that earlier questions found
    signs, late = asked.signs_within(np.eye(45), Deadline(0.0))
    assert late.any() and np.isnan(signs[late]).all()
    np.testing.assert_array_equal(signs[~late], known[~late])
    patient = Deadline()
    patient._start -= 11.0  # as if it had begun 11 seconds ago
    np.testing.assert_array_equal(asked.signs_within(np.eye(45), patient)[0], known)
    said = capsys.readouterr().err
    assert said.startswith("glmclf: signs of infinite combinations of parameters, 0 of ") and said.count("\n") == 1
    monkeypatch.setattr(cone, "Deadline", lambda: Deadline(0.0))
    with pytest.warns(InferenceWarning, match=r"of 45 signs .* not determined within the limit of 30 s"):
        replace(found).sign_of(np.eye(45))


@pytest.mark.filterwarnings("ignore:rows whose outcome is certain")
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_a_regressor_far_from_zero(model, parts):
    """Beside a decided level a regressor near 1e8 gives what it gives near 0, but for the constant."""
    rng = np.random.default_rng(3)
    n = 40
    t = pd.DataFrame({"x": np.round(64 * rng.normal(size=n)) / 64, "z": rng.normal(size=n), "o": rng.normal(size=n)})
    t["g"] = np.array(list("abc"))[np.arange(n) % 3]
    y = (t.x + rng.logistic(size=n) > 0).astype(int) + (rng.integers(0, 2, n) if model == "MNLogit" else 0)
    t["y"] = np.where(t.g == "b", y.max(), y)

    def fit(t):
        data = (lambda: iter([t[:17], t[17:]])) if parts else t
        with pytest.warns(SeparationWarning):
            return getattr(glmclf, model).from_formula("y ~ x + z + g", data, offset="o").fit()

    far = t.assign(x=t.x + 1e8)
    res, right = fit(far), fit(t)
    slopes = np.flatnonzero(np.isin(right.model.exog_names, ["x", "z"]))
    answers = [
        lambda r, t: r.params.to_numpy().reshape(len(r.model.exog_names), -1)[slopes],
        lambda r, t: r.bse.to_numpy().reshape(len(r.model.exog_names), -1)[slopes],
        lambda r, t: r.get_prediction(t, offset=t.o).summary_frame().to_numpy(),
        lambda r, t: r.get_margeff(newdata=t).summary_frame().to_numpy()[:, :2],
        lambda r, t: r.llf,
    ]
    if not parts:
        answers += [
            lambda r, t: r.anova(test="score").loc[["x", "z"], "statistic"].to_numpy(),
            lambda r, t: r.vif(of="information").loc[["x", "z"], "GVIF"].to_numpy(),
            lambda r, t: r.get_influence().cooks_distance[0].to_numpy(),
            lambda r, t: r.conf_int(method="profile").to_numpy().reshape(-1, len(r.model.exog_names), 2)[:, slopes],
            lambda r, t: r.with_cov("HC1").bse.to_numpy().reshape(len(r.model.exog_names), -1)[slopes],
        ]
    for ask in answers:
        assert np.allclose(ask(res, far), ask(right, t), rtol=1e-7, atol=1e-12, equal_nan=True)


def test_a_base_level_of_one_outcome_has_advice():
    data = pd.DataFrame({"g": np.repeat(list("abcd"), 10), "y": np.tile([0, 1], 20), "k": np.tile(["u", "v"], 20)})
    advice = r'If the base level of g has one outcome, .* another base: C\(g, Treatment\("\.\.\."\)\)'
    for level, said in (("a", True), ("c", False)):
        alike = data.assign(y=data.y.where(data.g != level, 1), k=data.k.where(data.g != level, "v"))
        for model, formula in ((glmclf.Logit, "y ~ g"), (glmclf.MNLogit, "k ~ g")):
            with pytest.warns(SeparationWarning) as seen:
                model.from_formula(formula, alike).fit()
            assert bool(re.search(advice, str(seen[0].message))) is said
