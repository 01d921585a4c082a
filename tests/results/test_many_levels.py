"""Answers of fits whose factors are codes, of which no row is expanded, equal those of the dense design."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, Probit
from glmclf.core.design import coding, pieces
from glmclf.core.design.arrow import ArrowColumns
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns
from glmclf.core.fit import bias
from glmclf.errors import CollinearityWarning, UnseenLevelError
from glmclf.inference.margins.prediction import LinearErrors
from glmclf.inference.specification import moment_tests
from glmclf.models import discriminant
from glmclf.results.diagnostics import goodness_of_fit, influence
from glmclf.results.hypotheses import pairwise
from glmclf.results.margins import effects, levels, typical

CLOSE = {"rtol": 1e-8, "atol": 1e-11}  # two ways of summing, at estimates that agree to the solver's tolerance


@contextmanager
def coded(many: int = 10**9):
    """Tables with factors as codes, however few rows they have, or of more than so many levels as an arrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "MIN_ROWS_FOR_CODES", 1)
        patch.setattr(coding, "MANY_LEVELS", many)
        yield


def table(levels: int = 22, rows: int = 12, seed: int = 0) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    g = np.repeat(np.arange(levels), rows)
    n = len(g)
    data = pd.DataFrame({"g": [f"g{i:02d}" for i in g], "x": r.normal(size=n), "z": r.normal(size=n)})
    data["h"] = r.choice(["p", "q", "r"], n)
    data["w"] = r.integers(1, 4, n)
    data["y"] = (r.random(n) < 1 / (1 + np.exp(-0.5 * data.x - 0.4 * r.normal(size=levels)[g]))).astype(int)
    data["k"] = r.choice(["a", "b", "c"], n)
    for i, k in enumerate("abc"):
        data.loc[data.index % rows == i, "k"] = k
    data.loc[data.index % rows == 0, "y"] = 0
    data.loc[data.index % rows == 1, "y"] = 1
    return data


DATA = table()
SEPARATED = DATA.assign(y=np.where(DATA.g == "g04", 1, DATA.y))
ONE_CLASS = DATA.assign(k=np.where(DATA.g == "g04", "a", DATA.k))
MODELS = {
    "Logit": lambda: Logit.from_formula("y ~ x + z + h + g", DATA).fit(),
    "Logit sum": lambda: Logit.from_formula("y ~ x + h + C(g, Sum)", DATA).fit(),
    "Logit slopes": lambda: Logit.from_formula("y ~ x + g + h:x", DATA).fit(),
    "Logit weighted": lambda: Logit.from_formula("y ~ x + h + g", DATA, freq_weights="w").fit(),
    "Logit sampled": lambda: Logit.from_formula("y ~ x + h + g", DATA, weights="w").fit(),
    "Logit separated": lambda: Logit.from_formula("y ~ x + h + g", SEPARATED).fit(),
    "Probit offset": lambda: Probit.from_formula("y ~ x + h + g", DATA, offset="z").fit(),
    "CLogLog": lambda: CLogLog.from_formula("y ~ 0 + x + g", DATA).fit(),
    "MNLogit": lambda: MNLogit.from_formula("k ~ x + h + g", DATA).fit(),
}
QUESTIONS = {
    "bse": lambda res: res.bse,
    "prediction": lambda res: res.get_prediction().summary_frame(),
    "prediction linear": lambda res: res.get_prediction(which="linear").summary_frame(),
    "prediction of new rows": lambda res: res.get_prediction(DATA[5:60:7]).summary_frame(),
    "influence": lambda res: res.get_influence().summary_frame(),
    "leverage": lambda res: res.get_influence().hat_matrix_diag,
    "cooks": lambda res: res.get_influence().cooks_distance[0],
    "HC2": lambda res: res.with_cov("HC2").bse,
    "HC3": lambda res: res.with_cov("HC3").bse,
    "cluster": lambda res: res.with_cov("cluster", groups="g").bse,
    "part": lambda res: res.cov_params(columns=[res.model.exog_names[i] for i in (1, 7, 20)]),
    "terms": lambda res: res.wald_test_terms().table,
    "vif": lambda res: res.vif(),
    "vif by column": lambda res: res.vif(by="column"),
    "vif of the design": lambda res: res.vif(of="design"),
    "components": lambda res: res.components(),
    "inverse": lambda res: res.inverse_predict(0.4, "x"),
    "moments": lambda res: res.gof_test().drop(index=["Pearson", "deviance"]).filter(regex="^(?!information)", axis=0),
    "information": lambda res: res.information_matrix_test(diagonal=True),
    **{f"anova {n} {t}": lambda res, n=n, t=t: res.anova(n, t) for n in (1, 3) for t in ("LR", "wald", "score")},
    "pairs": lambda res: res.t_test_pairwise("g", method="none").result_frame[["coef", "std err"]],
}


MANY = {"codes": 10**9, "arrow": 20}  # levels from which a factor makes an arrow


@pytest.fixture(scope="module", params=[f"{name}, {form}" for form in MANY for name in MODELS])
def both(request):
    """The fit of a design of codes or of an arrow, and that of the dense one; and what makes the first."""
    name, form = request.param.split(", ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *args, **kwargs: None)  # of separation, tested elsewhere
        with coded(MANY[form]):
            one = MODELS[name]()
        other = MODELS[name]()
    X = one.model._rows.X
    assert isinstance(X, FactorColumns) and isinstance(other.model._rows.X, Dense)
    assert isinstance(X, ArrowColumns) == (form == "arrow" and name != "Logit sum")
    return one, other, MANY[form]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning")
def test_as_of_the_dense_design(both, question):
    with coded(both[2]):
        found = answer(both[0], question)
    assert_allclose(found, answer(both[1], question), **CLOSE)


def answer(res, question: str) -> np.ndarray:
    try:
        return np.asarray(QUESTIONS[question](res), dtype=float)
    except (ValueError, NotImplementedError) as error:
        return np.array([float(len(str(error)))])  # both are refused by the same sentence


def test_levels_without_a_coefficient_make_their_rows_nan():
    X = FactorColumns(codes_of(DATA), len(DATA))
    r = np.random.default_rng(0)
    A = r.normal(size=(X.shape[1], 40))
    V = A @ A.T
    V[3], V[:, 3] = np.nan, np.nan
    dense = X.toarray()
    found, expected = LinearErrors(V)(X), LinearErrors(V)(dense)
    assert np.isnan(found).sum() == (dense[:, 3] != 0).sum() > 0
    assert_allclose(found, expected, rtol=1e-12)


def codes_of(data: pd.DataFrame) -> list:
    with coded():
        return Logit.from_formula("y ~ x + h + g", data)._rows.X.pieces


@pytest.mark.parametrize("nearly", [0.0, 1e-13])
def test_errors_where_the_covariance_is_singular(nearly):
    """Without a Cholesky factor that can be trusted the eigenvalues decide."""
    A = np.random.default_rng(0).normal(size=(6, 4))
    V, X = A @ A.T + nearly * np.eye(6), np.random.default_rng(1).normal(size=(50, 6))
    assert_allclose(LinearErrors(V)(X), np.sqrt(((X @ A) ** 2).sum(axis=1)), rtol=1e-6)


def test_changes_that_are_too_large_are_refused_with_what_there_is(monkeypatch):
    res = MODELS["Logit"]()
    monkeypatch.setattr(influence, "MAX_CHANGE_BYTES", 8 * len(DATA) * len(res.params) - 1)
    found = res.get_influence()
    assert found.hat_matrix_diag.sum() == pytest.approx(len(res.params))
    assert "hat_diag" in repr(found)
    said = f"changes of 26 parameters by {len(DATA)} rows have .* GB.*cooks_distance"
    for ask in (lambda: found.d_params, lambda: found.dfbetas, found.summary_frame):
        with pytest.raises(ValueError, match=said):
            ask()


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_unseen_levels_are_named(model):
    res = MODELS[model]()
    new = DATA[:3].assign(g=["g01", "nowhere", "g02"])
    for ask in (res.predict, res.get_prediction):
        with pytest.raises(UnseenLevelError, match="nowhere"):
            ask(new)


# ------------------------------------------------------------------------------------------------------- margins
MARGINS = {
    "effects": lambda res: res.get_margeff(variables=["g", "h"]).summary_frame(),
    "effects, relative": lambda res: res.get_margeff(variables=["g"], over="h").summary_frame(),
    "effects, unconditional": lambda res: res.get_margeff(variables=["g"], vcov="unconditional").summary_frame(),
    "predictions": lambda res: res.predictions("g").summary_frame(),
    "predictions at the mean": lambda res: res.predictions("g", at="mean").summary_frame(),
    "linear predictions": lambda res: res.predictions("g", which="linear").summary_frame(),
    "cells of two factors": lambda res: res.predictions(["h", "g"]).summary_frame(),
    "contrasts": lambda res: res.contrasts("g", contrast="reference", comparison="ratio").summary_frame(),
}


def margins(res, question: str) -> np.ndarray:
    try:
        return np.asarray(MARGINS[question](res), dtype=float)
    except (ValueError, NotImplementedError) as error:
        return np.array([float(len(str(error)))])


@pytest.mark.parametrize("question", MARGINS)
@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning", "ignore::glmclf.errors.DataWarning")
def test_levels_set_in_turn_equal_those_set_one_by_one(both, question, monkeypatch):
    monkeypatch.setattr(levels, "MIN_APART", 2)
    with coded(both[2]):
        found = margins(both[0], question)
    monkeypatch.setattr(levels, "MIN_APART", np.inf)
    monkeypatch.setattr(typical, "MAX_NUMBERS", 1)
    assert_allclose(found, margins(both[1], question), **CLOSE)


def test_levels_that_are_numbers_or_truth_values(monkeypatch):
    data = DATA.assign(year=np.arange(len(DATA)) % 9 + 2000, old=DATA.z > 0)
    res = Logit.from_formula("y ~ x + C(year) + old", data).fit()
    monkeypatch.setattr(levels, "MIN_APART", 2)
    found = res.get_margeff().summary_frame()
    monkeypatch.setattr(levels, "MIN_APART", np.inf)
    pd.testing.assert_frame_equal(found, res.get_margeff().summary_frame(), rtol=1e-9)


# --------------------------------------------------------------------------------------------------------- pairs
@pytest.mark.parametrize("factor", ["g", "h"])
def test_pairs_from_the_covariance_of_levels(both, factor, monkeypatch):
    """As of the combinations one by one, whose standard errors are computed each by itself."""
    one, other, _ = both
    if factor not in {str(f.expression.columns[0]) for f in one.model._design.factors.values()}:
        pytest.skip("not in this formula")
    crossed = factor == "h" and any(":" in term for term in one.model._design.terms)
    at = {"x": 0.5} if crossed else None
    found = one.t_test_pairwise(factor, at=at).result_frame
    monkeypatch.setattr(type(other), "_plain", False)
    pd.testing.assert_frame_equal(found, other.t_test_pairwise(factor, at=at).result_frame, rtol=1e-8, atol=1e-11)


def test_pairs_of_thousands_need_no_combinations(monkeypatch):
    res = MODELS["Logit"]()
    monkeypatch.setattr(pairwise, "MAX_COMBINATION_BYTES", 8 * 231 * 26 - 1)
    found = res.t_test_pairwise("g")
    assert found.n_tests == len(found.result_frame) == 231
    for ask in (lambda: found.contrasts, lambda: res.t_test_pairwise("g", method="tukey")):
        with pytest.raises(ValueError, match="combinations of 231 pairs of levels have .* GB.*holm"):
            ask()


def test_information_matrix_of_many_parameters_is_refused(monkeypatch):
    res = MODELS["Logit"]()
    monkeypatch.setattr(goodness_of_fit, "MAX_MOMENTS_ASKED", 350)
    with pytest.raises(ValueError, match="26 parameters compares 351 variances and covariances.*diagonal=True"):
        res.information_matrix_test()
    assert res.information_matrix_test(diagonal=True).df <= 26
    monkeypatch.setattr(goodness_of_fit, "MAX_MOMENTS_ASKED", 25)
    with pytest.raises(ValueError, match="26 parameters compares 26 variances, .*gof_test\\(\\) has those without"):
        res.information_matrix_test(diagonal=True)


@pytest.mark.parametrize("model", ["Logit slopes", "Probit offset", "Logit separated", "MNLogit", "MNLogit separated"])
@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning", "ignore::glmclf.errors.InferenceWarning")
def test_information_matrix_of_parameters_beside_many_levels(model):
    make = MODELS.get(model, lambda: MNLogit.from_formula("k ~ x + h + g", ONE_CLASS).fit())
    with coded(20):
        many = make()
        found = many.gof_test().filter(regex="^information", axis=0)
    assert list(found.index) == ["information matrix (without levels)"]
    dense = goodness_of_fit.estimated_rows(make())
    of_theta = dense.places if len(dense.theta) > len(dense.places) else np.arange(len(dense.theta))
    at = of_theta[np.isin(dense.places % len(many.model.exog_names), many.model._rows.X.layout.border)]
    moments = moment_tests.information_matrix_along(np.eye(len(dense.theta))[:, at], False)
    expected = moment_tests.moment_test(*dense[:4], moments, len(at) * (len(at) + 1) // 2, True)
    assert_allclose(found.iloc[0, :3].astype(float), expected, **CLOSE)
    assert expected.df > len(at)


@pytest.mark.parametrize("table, model, y", [(SEPARATED, Logit, "y"), (ONE_CLASS, MNLogit, "k")])
@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")
def test_inflation_of_separated_levels_with_sum_coding_is_refused(table, model, y):
    with coded(20), pytest.raises(NotImplementedError, match="a coding of many levels: use treatment"):
        model.from_formula(f"{y} ~ x + C(g, Sum)", table).fit().vif()


def test_score_test_beside_many_levels():
    extra = DATA[["x"]] ** 2
    with coded(20):
        found = MODELS["Logit"]().score_test(exog_extra=extra)
    assert_allclose(found[:2], MODELS["Logit"]().score_test(exog_extra=extra)[:2], **CLOSE)


def test_messages_about_many_levels_are_short():
    data = table(levels=60)
    data["size"] = data.groupby("g").x.transform("mean")
    with pytest.warns(CollinearityWarning) as seen:
        res = Logit.from_formula("y ~ x + g + size", data).fit()
    words = '"size" = a number for each level of g, within which it is constant'
    assert words in str(seen[0].message)
    assert words in " ".join(str(res.summary()).split())
    with pytest.raises(ValueError, match=r'"g00" is the base level of g, whose effect is 0'):
        res.t_test("g[T.g00] = 0")
    for refused in (
        lambda: res.t_test("nothing = 0"),
        lambda: res.t_test({"nothing": 0}),
        lambda: res.nonlinear_test("exp(nothing) = 1"),
        lambda: res.model.fit(start_params=[1.0]),
        lambda: res.model.fit(start_params=pd.Series({"nothing": 1.0})),
        lambda: res.model.fit_regularized(alpha=np.ones(3)),
    ):
        with pytest.raises(ValueError, match="and 54 more"):
            refused()


def test_many_levels_are_refused_by_size_where_all_are_needed_at_once(monkeypatch):
    data = table(levels=40)
    for module in (discriminant, bias):
        monkeypatch.setattr(module, "MAX_DENSE_BYTES", 8 * 40 * 39)
    for model in (LDA, QDA):
        with pytest.raises(NotImplementedError, match=r"480 rows of 40 features .*NaiveBayes has a table"):
            model.from_formula("y ~ x + g", data)
        with pytest.raises(NotImplementedError, match=r"480 rows of 40 features .*NaiveBayes has a table"):
            model.from_formula("y ~ x + g", lambda: iter([data[:200], data[200:]]))
        assert model.from_formula("y ~ x + z", data).fit().nobs == len(data)
    with pytest.raises(NotImplementedError, match=r"all 41 coefficients.*firth"):
        Logit.from_formula("y ~ x + g", data).fit(bias_reduction="median")
    monkeypatch.setattr(effects, "MAX_GRADIENT_NUMBERS", 100)
    with pytest.raises(NotImplementedError, match=r"some levels, as variables=\{\"g\": \['g00', 'g01'\]\}"):
        Logit.from_formula("y ~ x + g", data).fit().predictions("g")
