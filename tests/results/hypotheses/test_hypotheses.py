"""t_test, wald_test, f_test, wald_test_terms, compare_lr_test of fits: strings, matrices, robust covariances."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, covariances, fit, make, models, shared, toy

import glmclf
import glmclf.errors


def by_hand(res, R, q=0.0):
    R = np.atleast_2d(np.asarray(R, float))
    d = R @ res.params.to_numpy() - q
    return d, R @ res.cov_params().to_numpy() @ R.T


def denominator(res):
    """Degrees of freedom of t and F tests: clusters less one (the fewer of two ways), as Stata has it, or df_resid."""
    return min(res.cov_kwds["n_groups"]) - 1 if res.cov_type == "cluster" else res.df_resid


@models
@covariances
def test_t_test(model, cov):
    from scipy.stats import norm, t

    res = shared(model, cov=cov)
    R = [[0, 0, 0, 1, -1], [0, 1, 0, 0, 0], [1, 0, 0, 2, 0]]
    d, V = by_hand(res, R)
    for hypothesis in (R, "x1 = x2, g[T.b] = 0, Intercept + 2 * x1 = 0", ["x1 - x2 = 0", "g[T.b]", "Intercept + 2*x1"]):
        test = res.t_test(hypothesis)
        close(test.effect, d)
        close(test.sd, np.sqrt(np.diag(V)))
        close(test.tvalue, d / np.sqrt(np.diag(V)))
        close(test.pvalue, 2 * norm.sf(abs(d) / np.sqrt(np.diag(V))))
    with_t = res.t_test(R, use_t=True)
    close(with_t.pvalue, 2 * t.sf(abs(d) / np.sqrt(np.diag(V)), denominator(res)))
    shifted = res.t_test((R, [0.5, -1, 2]))
    close(shifted.tvalue, (d - [0.5, -1, 2]) / np.sqrt(np.diag(V)))
    close(res.t_test("x1 = 0.5").tvalue, (res.params["x1"] - 0.5) / res.bse["x1"])
    close(res.t_test(np.eye(5)).pvalue, res.pvalues)
    assert "Test for Constraints" in str(test.summary())


@models
@covariances
def test_wald_and_f(model, cov):
    from scipy.stats import chi2, f

    res = shared(model, cov=cov)
    R = np.eye(5)[1:3]
    d, V = by_hand(res, R)
    W = d @ np.linalg.solve(V, d)
    for hypothesis in (R, "g[T.b] = 0, g[T.c] = 0", ["g[T.b]", "g[T.c] = 0"], "g[T.b] = g[T.c] = 0"):
        test = res.wald_test(hypothesis)
        close([test.statistic, test.pvalue], [W, chi2.sf(W, 2)])
        assert np.ndim(test.statistic) == 0
        old = res.wald_test(hypothesis, scalar=False)
        assert np.shape(old.statistic) == (1, 1)
        close(old.statistic, W)
        by_f = res.wald_test(hypothesis, use_f=True)
        close([by_f.statistic, by_f.pvalue], [W / 2, f.sf(W / 2, 2, denominator(res))])
        close(res.f_test(hypothesis).pvalue, by_f.pvalue, 0)
    close(res.wald_test("x1 = 0").statistic, res.tvalues["x1"] ** 2)
    close(res.wald_test("x1 = 0").pvalue, res.pvalues["x1"], 1e-8)
    table = res.wald_test_terms().table
    assert list(table.index) == ["Intercept", "g", "x1", "x2"] and list(table.df_constraint) == [1, 2, 1, 1]
    close(table.statistic["g"], W)
    close(table.pvalue["g"], chi2.sf(W, 2))
    assert "Intercept" not in res.wald_test_terms(skip_constant=True).table.index
    close(res.wald_test_terms(use_f=True).table.pvalue["g"], f.sf(W / 2, 2, denominator(res)))


ODD = {
    "y ~ C(g)": ("C(g)[T.b] = C(g)[T.c]", [0, 1, -1]),
    "y ~ C(g, Treatment('b'))": ("C(g, Treatment('b'))[T.a] = 0", [0, 1, 0]),
    "y ~ g:x1": ("g[a]:x1 = g[b]:x1", [0, 1, -1, 0]),
    "y ~ np.log(x2) + I(x1**2)": ("np.log(x2) = 2 * I(x1 ** 2)", [0, 1, -2]),
    'y ~ Q("odd name")': ('Q("odd name") = 0', [0, 1]),
    "y ~ bs(x1, df=3)": ("bs(x1, df=3)[0] = bs(x1, df=3)[2]", [0, 1, 0, -1]),
}


@models
@pytest.mark.parametrize("formula", ODD)
def test_names_of_every_kind_in_hypotheses(model, formula):
    hypothesis, row = ODD[formula]
    res = fit(model, formula, toy().assign(**{"odd name": toy().off}))
    d, V = by_hand(res, row)
    test = res.t_test(hypothesis)
    close([test.effect[0], test.sd.item()], [d[0], np.sqrt(V[0, 0])])


@models
def test_level_names_with_signs_and_spaces(model):
    t = toy().assign(g=lambda t: t.g.map({"a": "0 to 5", "b": "5-10, no", "c": "> 10 = old"}))
    res = fit(model, "y ~ x1 + g", t)
    close(res.t_test("g[T.5-10, no] = g[T.> 10 = old]").effect, res.params.iloc[1] - res.params.iloc[2])
    close(res.wald_test_terms().table.to_numpy(), fit(model, "y ~ x1 + g", toy()).wald_test_terms().table.to_numpy())


@models
def test_a_term_test_is_the_likelihood_ratios_kin(model):
    big, small = shared(model), shared(model, "y ~ x1 + x2")
    lr = big.compare_lr_test(small)
    assert lr.df == 2 and lr.statistic == pytest.approx(2 * (big.llf - small.llf))
    from scipy.stats import chi2

    close(lr.pvalue, chi2.sf(lr.statistic, 2))
    assert lr.statistic == pytest.approx(big.wald_test_terms().table.statistic["g"], rel=0.5)
    close(big.compare_lr_test(shared(model, "y ~ 1")).statistic, big.llr)
    close(big.compare_lr_test(shared(model, "y ~ 1")).pvalue, big.llr_pvalue)
    statistic, pvalue, df = lr
    assert (statistic, pvalue, df) == (lr.statistic, lr.pvalue, lr.df)


@models
def test_the_covariance_does_not_matter_to_a_likelihood_ratio(model):
    a = shared(model, cov="HC1").compare_lr_test(shared(model, "y ~ x1", cov="HC0"))
    b = shared(model).compare_lr_test(shared(model, "y ~ x1"))
    assert a == b


@models
def test_two_orders_of_the_same_model(model):
    with pytest.raises(ValueError):  # nothing is tested
        shared(model).compare_lr_test(fit(model, "y ~ g + x2 + x1"))
    # y ~ 0 + g + x1 spans y ~ g
    nested = fit(model, "y ~ 0 + g + x1").compare_lr_test(fit(model, "y ~ g"))
    close(nested.statistic, fit(model, "y ~ g + x1").compare_lr_test(fit(model, "y ~ g")).statistic)
    assert nested.df == 1


@models
def test_splines_nest_lines(model):
    test = fit(model, "y ~ bs(x1, df=5)").compare_lr_test(fit(model, "y ~ x1"))
    assert test.df == 4 and 0 <= test.pvalue <= 1


@models
def test_a_covariance_that_is_not_positive_definite(model):
    t = toy().assign(firm=lambda t: t.firm.str[-1], year=lambda t: t.year % 4)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for seed in range(12):
            mixed = t.assign(firm=t.firm.sample(frac=1, random_state=seed).to_numpy())
            unfitted = make(model, "y ~ x1 + x2 + g", mixed)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", glmclf.errors.InferenceWarning)
                res = unfitted.fit(cov_type="cluster", cov_kwds={"groups": ["firm", "year"]})
            variances = np.diag(res.cov_params())
            least = np.linalg.eigvalsh(res.cov_params() / np.sqrt(np.outer(abs(variances), abs(variances))))[0]
            assert any("semi-definite" in str(w.message) for w in said) == (least < 0)
            assert ("semi-definite" in " ".join(res.summary().as_text().split())) == (least < 0)
            assert (res.bse.isna() == (variances < 0)).all()
            close(res.t_test(np.eye(5)).sd, res.bse)
            close(res.t_test(np.eye(5)).pvalue, res.pvalues)
            assert "nan" in res.summary().as_text() if (variances < 0).any() else True
            assert len(res.get_prediction(t).summary_frame()) == 160


@models
def test_cov_params_of_combinations(model):
    res = shared(model)
    R = [[0, 0, 0, 1, -1], [0, 1, 0, 0, 0]]
    close(res.cov_params(R), by_hand(res, R)[1])
    V = res.cov_params()
    assert list(V.index) == list(V.columns) == list(res.params.index)
    close(np.sqrt(np.diag(V)), res.bse)
    assert isinstance(V, pd.DataFrame) and isinstance(res.params, pd.Series)


@models
def test_labelled_matrices(model):
    """Columns with the names of the parameters belong to them, in whatever order: never another hypothesis."""
    res = shared(model)
    row = pd.Series({"x2": -1.0, "x1": 1.0, "g[T.c]": 0.0, "g[T.b]": 0.0, "Intercept": 0.0})
    expected = res.t_test("x1 = x2")
    for R in (row, row.to_frame().T, row[list(res.params.index)], row[list(res.params.index)].to_frame().T):
        try:
            tests = [res.t_test(R), res.wald_test(R)]
        except ValueError as error:
            assert "label" in str(error) or "column" in str(error) or "name" in str(error)
            continue
        close([tests[0].effect.item(), tests[0].pvalue.item()], [expected.effect.item(), expected.pvalue.item()])
        close(tests[1].pvalue, expected.pvalue)


@models
def test_strings_in_a_tuple(model):
    res = shared(model)
    assert res.wald_test(("x1 = 0", "x2 = 0")).statistic == res.wald_test(["x1 = 0", "x2 = 0"]).statistic
    close(res.wald_test({"x1": 0.5, "x2": 0}).statistic, res.wald_test("x1 = 0.5, x2 = 0").statistic, 1e-12)


def test_the_base_level_has_no_parameters():
    rows = pd.DataFrame({"y": [1.0, 2.0, 3.0] * 8, "x": np.sin(np.arange(24.0))})
    res = glmclf.MNLogit.from_formula("y ~ x", rows).fit()
    for hypothesis in ("y2_x = y1_x", "y1.0_x = 0", ["y2_x", "y1_x = y3_x"], {"y1_x": 0}):
        with pytest.raises(ValueError, match=r"y1(\.0)?_x.* is the base level, which has no parameters"):
            res.wald_test(hypothesis)
    with pytest.raises(ValueError, match="parameters are") as caught:
        res.wald_test("y4_x = 0")
    assert "base level" not in str(caught.value)


def test_a_list_of_one_value_stands_for_one_row():
    """As in statsmodels, which refuses it beside several; a number is that of all rows, in every table of estimates."""
    data = pd.DataFrame({"y": np.resize([0, 1, 1, 0, 1], 60), "x": np.sin(np.arange(60.0) ** 2)})
    res = glmclf.Logit.from_formula("y ~ x", data).fit()
    for tested in (res, res.predictions({"x": [0, 1]})):
        for test in (tested.t_test, tested.wald_test):
            with pytest.raises(ValueError, match="1 right-hand sides for 2 hypotheses"):
                test((np.eye(2), [0.5]))
        same = tested.t_test((np.eye(2), [0.5, 0.5]))
        np.testing.assert_array_equal(tested.t_test((np.eye(2), 0.5)).statistic, same.statistic)
