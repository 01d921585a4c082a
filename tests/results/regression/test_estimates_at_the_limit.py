"""Everything that a result offers, of separated, collinear and bias-reduced fits: right, or refused by name."""

import inspect
import io
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest
from properties.toys import MODELS, close, make, toy

import glmclf
from glmclf import errors

every = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])
CASES = [(model, kind) for model in (*MODELS, "MNLogit") for kind in ("both", "complete", "firth and collinear")]
CASES += [("Logit", "collinear"), ("MNLogit", "separated"), ("Probit", "median")]
SPOKEN = tuple(c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Warning))


def data(model, kind, n=160):
    t = toy(n).assign(d=(np.arange(n) % 9 == 0).astype(int))
    t["z"] = 2 * t.x1 - 3
    t["mode"] = np.where(np.arange(n) % 4 == 0, "train", t.y)
    for outcome, value in (("y", "yes"), ("mode", "train")):
        t.loc[t.d == 1, outcome] = value
    if kind == "complete":
        t["y"] = np.where(t.x1 > 0.2, "yes", "no")
        t["mode"] = np.where(t.x1 > 0.5, "yes", np.where(t.x1 > -0.5, "no", "train"))
    right = {"complete": "x1 + d", "collinear": "x1 + g + z", "both": "x1 + g + z + d"}.get(kind, "x1 + g + d")
    right += " + z" if kind == "firth and collinear" else ""
    return t, f"{'mode' if model == 'MNLogit' else 'y'} ~ {right}"


def fitted(model, kind, n=160):
    t, formula = data(model, kind, n)
    reduction = {"bias_reduction": kind.split()[0]} if kind.split()[0] in ("firth", "median") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", errors.SeparationWarning)
        warnings.simplefilter("ignore", errors.CollinearityWarning)
        return make(model, formula, t).fit(**reduction), t


def calls(res, t):
    """Arguments of the methods that need some, or that have several ways."""
    p = len(np.ravel(res.params))
    new = t.head(5)
    return {
        "conf_int": [{}, {"alpha": 0.1}],
        "cov_params": [{}, {"r_matrix": np.eye(p)[1:3]}],
        "t_test": [{"r_matrix": np.eye(p)[1:3]}, {"r_matrix": np.eye(p)}],
        "wald_test": [{"r_matrix": np.eye(p)[1:3]}, {"r_matrix": np.eye(p)[-2:]}],
        "f_test": [{"r_matrix": np.eye(p)[1:3]}],
        "anova": [{"type": i, "test": test} for i in (1, 2, 3) for test in ("LR", "wald", "score")],
        "predict": [{}, {"newdata": new}, *({"which": w} for w in ("linear", "var", "class"))]
        + [{"newdata": new, "priors": "equal"}, {"newdata": new.assign(d=3, x1=9.0, z=15.0)}],
        "get_prediction": [{}, {"newdata": new}, {"newdata": new, "which": "linear"}],
        "augment": [{}, {"newdata": new}],
        "with_cov": [{"cov_type": c} for c in ("nonrobust", "expected", "HC0", "HC1", "HC2", "HC3", "jackknife")]
        + [{"cov_type": "cluster", "groups": "firm"}],
        "score_test": [{"exog_extra": "x2"}],
        "info_criteria": [{"crit": "bic"}],
        "save": [{"path": io.StringIO()}],
        "rebase": [{"level": level} for level in getattr(res, "levels", [])],
        "combine_test": [{"level": "yes", "other": "no"}],
        "simulate": [{"n": 2, "seed": 1}],
        "validate": [{"seed": 1, "reps": 20}],
        "summary": [{}, {"exponentiate": True}],
        "summary_frame": [{}, {"exponentiate": True}],
        "tidy": [{}, {"exponentiate": True}],
        "odds_ratios": [{}, {"units": {"x1": 2.0}}],
    }


def formats(summary):
    for form in ("text", "latex", "html", "csv", "markdown"):
        assert getattr(summary, f"as_{form}")()


def reached(res, name, arguments):
    """What is there; None where it is refused by the package in words of its own, never by numpy."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            value = getattr(res, name)
            value = value(**arguments) if callable(value) else value
        except (ValueError, NotImplementedError, AttributeError) as error:
            assert not isinstance(error, np.linalg.LinAlgError), (name, arguments, error)
            assert "glmclf" in traceback.extract_tb(error.__traceback__)[-1].filename, (name, arguments, error)
            assert len(str(error)) > 40, (name, arguments, error)
            value = None
    assert all(issubclass(w.category, SPOKEN) for w in given), (name, arguments, [str(w.message) for w in given])
    return value


@pytest.mark.parametrize("model, kind", CASES)
def test_everything_is_there_or_refused_in_words(model, kind):
    res, t = fitted(model, kind, 80)
    found = None if res.separation is None else str(res.separation.kind).split()[0]
    assert found == {"complete": "complete", "both": "quasi-complete", "separated": "quasi-complete"}.get(kind)
    arguments = calls(res, t)
    for name in dir(res):
        if name.startswith("_") or name in ("remove_data", "load", "compare_lr_test", "iia_test"):
            continue
        method = inspect.getattr_static(res, name)
        needs = inspect.isfunction(method) and any(
            p.default is p.empty for p in list(inspect.signature(method).parameters.values())[1:] if p.kind < 2
        )
        for one in arguments.get(name, [] if needs else [{}]):
            value = reached(res, name, one)
            if name == "summary" and value is not None and kind == "both":
                formats(value)


# ----------------------------------------------------------------------------- the coefficient held at a large number
@pytest.mark.parametrize("model", MODELS)
def test_numbers_are_those_with_a_large_offset(model):
    """The infinite coefficient as an offset of 40 where the links are 0 and 1 to rounding."""
    res, t = fitted(model, "separated")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = make(model, "y ~ x1 + g", t, offset=40.0 * t.d).fit()
    names = list(held.params.index)
    for name in ("params", "bse", "tvalues", "pvalues"):
        close(getattr(res, name)[names], getattr(held, name), 1e-7, 1e-10)
    close(res.conf_int().loc[names], held.conf_int(), 1e-7, 1e-9)
    close(res.cov_params().loc[names, names], held.cov_params(), 1e-7, 1e-10)
    close([res.llf, res.deviance], [held.llf, held.deviance], 1e-12)
    for name in ("fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized"):
        close(getattr(res, name), getattr(held, name), 1e-6, 1e-7)
    one, two = res.resid_working, held.resid_working
    close(one[t.d == 0], two[t.d == 0], 1e-6, 1e-8)
    close(one[t.d == 1], two[t.d == 1], 0, 0.03)  # Probit's falls as 1 / eta
    np.testing.assert_array_equal(res.pred_table(), held.pred_table())
    pd.testing.assert_frame_equal(res.simulate(3, seed=5), held.simulate(3, seed=5))
    close(res.pseudo_rsquared()[["Tjur", "Efron"]], held.pseudo_rsquared()[["Tjur", "Efron"]], 1e-9)
    close(res.gof_test().statistic[["Pearson", "deviance"]], held.gof_test().statistic[["Pearson", "deviance"]], 1e-7)
    rest = t[t.d == 0].head(7)
    a, b = res.get_prediction(rest), held.get_prediction(rest, offset=np.zeros(7))
    close(a.summary_frame(), b.summary_frame(), 1e-7)
    for kind in ("expected", "HC0"):
        close(res.with_cov(kind).bse[names], held.with_cov(kind).bse, 1e-7)
    one, two = (r.get_influence() for r in (res, held))
    close(one.hat_matrix_diag, two.hat_matrix_diag, 1e-6, 1e-8)
    close(one.d_params[names], two.d_params, 1e-5, 1e-8)
    close(res.score_test("x2").statistic, held.score_test("x2").statistic, 1e-6)
    a, b = (r.wald_test_terms().table for r in (res, held))
    close(a.loc[["x1", "g"]].astype(float), b.loc[["x1", "g"]].astype(float), 1e-7)
    assert a.loc["d"].isna().sum() == 2


def test_tables_of_infinite_coefficients():
    """R's exp(coef) at infinity: 0 and infinity; neither has a standard error or an interval."""
    res, t = fitted("Logit", "separated")
    down = make("Logit", "y ~ x1 + g + d", t, event="no")
    with pytest.warns(errors.SeparationWarning):
        down = down.fit()
    for r, ratio in ((res, np.inf), (down, 0.0)):
        row = r.odds_ratios().loc["d"]
        assert row.iloc[0] == ratio and row.iloc[1:].isna().all()
        row = r.tidy().set_index("term").loc["d"]
        assert row.estimate == (np.inf if ratio else -np.inf) and row.drop("estimate").isna().all()
    np.testing.assert_array_equal(down.params, -res.params)
    assert np.isfinite(res.glance().astype(float)).all(axis=None)
    close(res.glance().aic, -2 * res.llf + 10)  # the infinite one is a parameter, too


def test_two_classes_are_the_binary_model():
    t, formula = data("Logit", "separated")
    with pytest.warns(errors.SeparationWarning):
        one, two = (make(m, formula, t).fit() for m in ("Logit", "MNLogit"))
    close(two.params["yes"], one.params)
    close(two.bse["yes"], one.bse, 1e-8)
    close(two.fittedvalues["yes"], one.fittedvalues, 1e-9)
    close(two.conf_int(), one.conf_int(), 1e-8)
    close(two.anova().statistic, one.anova().statistic, 1e-9)
    close(two.anova(test="score").statistic, one.anova(test="score").statistic, 1e-8)
    new = t.head(9).assign(d=np.arange(9) - 4.0)
    a, b = two.get_prediction(new).summary_frame(), one.get_prediction(new).summary_frame()
    close(a.xs("yes", level="level"), b, 1e-7)
    assert list(two.predict(new, which="class")) == list(one.predict(new, which="class"))


# ------------------------------------------------------------------------------------------------------ kept and moved
@every
@pytest.mark.parametrize("kind", ["complete", "both"])
def test_a_kept_result_says_the_same(model, kind):
    res, t = fitted(model, kind)
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    kept, new = glmclf.load(file), t.head(40).assign(x1=np.linspace(-3, 3, 40))
    new["z"] = 2 * new.x1 - 3
    close(kept.predict(new), res.predict(new), 1e-12)
    close(kept.get_prediction(new).summary_frame(), res.get_prediction(new).summary_frame(), 1e-10)
    close(kept.summary_frame(), res.summary_frame(), 1e-12)
    close(kept.llr, res.llr, 1e-12)
    assert list(kept.tidy().columns) == list(res.tidy().columns)
    cut = [[line for line in r.summary().as_text().splitlines() if not line.startswith(("Date", "Time"))]
           for r in (kept, res)]  # fmt: skip
    assert cut[0] == cut[1]


def test_a_file_keeps_few_sides_of_the_cone(tmp_path):
    """Many rows that bound the directions are not kept: estimates are there, new rows that need them are refused."""
    rng = np.random.default_rng(3)
    t = pd.DataFrame(rng.normal(size=(400, 9)), columns=list("abcdefghi"))
    t["y"] = (t.a + t.b > 0.3).astype(int)
    with pytest.warns(errors.SeparationWarning):
        res = glmclf.Logit.from_formula("y ~ " + " + ".join("abcdefghi"), t).fit()
    path = tmp_path / "fit.json"
    res.save(path)
    assert path.stat().st_size < 30_000
    again = glmclf.load(path)
    pd.testing.assert_series_equal(again.params, res.params)
    assert str(again.separation.kind) == "complete" and again.llf == res.llf
    with pytest.warns(errors.DataWarning, match="before it is saved"):
        assert again.predict(t.head(3)).isna().all()
