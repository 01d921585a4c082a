"""What must not matter: order, units, basis of the columns, coding of factors, dtype, blocks, threads, repetition."""

import numpy as np
import pandas as pd
import pytest
from properties.toys import (
    METHODS,
    close,
    cov_options,
    covariances,
    fit,
    identical,
    make,
    methods,
    models,
    same_inference,
    shared,
    text,
    toy,
)

import glmclf
from glmclf.core.likelihood.objective import Objective
from glmclf.core.rows.blocks import Blocks

ROW_WISE = ["fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"]


@models
@covariances
def test_order_of_the_rows(model, cov):
    t = toy()
    mixed = t.sample(frac=1, random_state=2)
    a, b = shared(model, cov=cov), fit(model, data=mixed, options=cov_options(cov))
    same_inference(a, b)
    assert b.fittedvalues.index.equals(mixed.index)
    for name in ROW_WISE:
        close(getattr(b, name).sort_index(), getattr(a, name))
    close(b.augment().sort_index()[".cooksd"], a.augment()[".cooksd"])


@models
@covariances
def test_another_basis_of_the_columns(model, cov):
    X, y = shared(model).model.exog, shared(model).model.endog
    t, rng = toy(), np.random.default_rng(3)
    A = rng.normal(size=(5, 5)) + 3 * np.eye(5)
    kwds = {"groups": [t[c] for c in ("firm", "year")][: 2 if cov == "two-way" else 1]} if cov.endswith("way") else {}
    options = {"cov_type": "cluster" if kwds else cov, "cov_kwds": kwds}
    cls = getattr(glmclf, model)
    a, b = cls(y, X).fit(**options), cls(y, X @ A).fit(**options)
    close(b.params, np.linalg.solve(A, a.params), 1e-8)
    Ainv = np.linalg.inv(A)
    close(b.cov_params(), Ainv @ a.cov_params().to_numpy() @ Ainv.T, 1e-7)
    close(b.cov_params(A), a.cov_params(), 1e-7)
    for name in ("llf", "llnull", "prsquared", "aic", "bic", "df_model", "llr_pvalue", "deviance"):
        close(getattr(a, name), getattr(b, name))
    close(a.get_prediction(X[:9]).summary_frame(), b.get_prediction(X[:9] @ A).summary_frame(), 1e-8)
    close(a.augment()[".hat"], b.augment()[".hat"], 1e-8)


@models
@methods
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units(model, method, unit):
    t = toy()
    a = shared(model)
    b = fit(model, data=t.assign(x1=t.x1 * unit, x2=t.x2 / unit), options={"method": method})
    scale = np.where(a.params.index == "x1", 1 / unit, np.where(a.params.index == "x2", unit, 1.0))
    close(b.params / scale, a.params)
    close(b.bse / scale, a.bse)
    close(b.tvalues, a.tvalues)
    close(b.pvalues, a.pvalues)
    close(b.llf, a.llf)
    close(b.fittedvalues, a.fittedvalues)
    close(b.wald_test_terms().table, a.wald_test_terms().table)
    assert b.converged


@models
@covariances
def test_units_and_robust_covariances(model, cov):
    t = toy()
    b = fit(model, data=t.assign(x1=t.x1 * 1e8, x2=t.x2 * 1e-8), options=cov_options(cov))
    close(b.pvalues, shared(model, cov=cov).pvalues)
    close(b.wald_test("x1 = 0, x2 = 0").statistic, shared(model, cov=cov).wald_test("x1 = 0, x2 = 0").statistic)


@models
def test_a_large_mean_of_a_regressor(model):
    t = toy()
    a, b = shared(model), fit(model, data=t.assign(x1=t.x1 + 2.0**20))
    close(b.params["x1"], a.params["x1"], 1e-8)
    close(b.bse["x1"], a.bse["x1"], 1e-8)
    close(b.llf, a.llf)


@models
@methods
def test_all_methods_reach_the_same_maximum(model, method):
    res = fit(model, options={"method": method})
    same_inference(res, shared(model))
    assert res.converged and method in text(res)


@models
@methods
@pytest.mark.parametrize("start", [[0, 0, 0, 0, 0], [1, 1, 0, 1, 0], [3, -2, 2, 1, 1]])
def test_the_start_does_not_matter(model, method, start):
    res = fit(model, options={"method": method, "start_params": start})
    close(res.params, shared(model).params)
    assert res.converged


@models
def test_the_other_event(model):
    t = toy()
    yes, no = shared(model), fit(model, data=t, event="no")
    if getattr(glmclf, model).link.symmetric:
        close(no.params, -yes.params)
        close(no.bse, yes.bse)
        close(no.pvalues, yes.pvalues)
        close(no.llf, yes.llf)
        close(no.predict(), 1 - yes.predict())
        close(no.pred_table(), yes.pred_table().iloc[::-1, ::-1])
    else:
        assert abs(no.llf - yes.llf) > 1e-3
        close(no.params, fit(model, "yes ~ x1 + x2 + g", t.assign(yes=1 - t.y01)).params)
    assert (no.predict(which="class").to_numpy() == np.where(no.predict() > 0.5, "no", "yes")).all()
    assert "P(y = 'no')" in text(no) and "P(y = 'yes')" in text(yes)
    assert list(no.pred_table().index) == ["yes", "no"]
    same_inference(yes, fit(model, data=t, event="yes"), rtol=0)


@models
@pytest.mark.parametrize(
    "coding",
    [
        "C(g, Treatment('b'))",
        "C(g, Treatment(reference='c'))",
        "C(g, Sum)",
        "C(g, Helmert)",
        "C(g, Diff)",
        "C(g, Poly)",
    ],
)
def test_another_coding_of_a_factor(model, coding):
    a, b = shared(model), fit(model, f"y ~ x1 + x2 + {coding}")
    for name in ("llf", "aic", "bic", "prsquared", "df_model"):
        close(getattr(a, name), getattr(b, name))
    close(a.fittedvalues, b.fittedvalues)
    close(a.params[["x1", "x2"]], b.params[["x1", "x2"]])
    close(a.bse[["x1", "x2"]], b.bse[["x1", "x2"]])
    terms = [r.wald_test_terms().table.drop(index="Intercept") for r in (a, b)]
    close(terms[0].to_numpy(), terms[1].to_numpy())
    close(a.get_prediction(toy(20, 5)).summary_frame(), b.get_prediction(toy(20, 5)).summary_frame())


@models
def test_a_constant_that_the_columns_span(model):
    a, b = shared(model), fit(model, "y ~ 0 + g + x1 + x2")
    for name in (
        "llf",
        "llnull",
        "llr",
        "llr_pvalue",
        "prsquared",
        "df_model",
        "df_resid",
        "aic",
        "bic",
        "null_deviance",
    ):
        close(getattr(a, name), getattr(b, name))
    close(a.glance(), b.glance())
    assert a.model.k_constant == b.model.k_constant == 1
    c = getattr(glmclf, model)(b.model.endog, b.model.exog).fit()
    assert c.model.k_constant == 1
    close(c.llr_pvalue, a.llr_pvalue)
    close(c.df_model, a.df_model)


@models
@covariances
def test_formula_equals_arrays(model, cov):
    t, a = toy(), shared(model, cov=cov)
    X = pd.DataFrame(a.model.exog, columns=a.model.exog_names, index=t.index)
    options = cov_options(cov)
    if "cov_kwds" in options:
        names = np.atleast_1d(options["cov_kwds"]["groups"])
        options = {"cov_type": "cluster", "cov_kwds": {"groups": [t[n] for n in names]}}
    b = getattr(glmclf, model)(t.y, X).fit(**options)
    for name in ("params", "bse", "pvalues"):
        close(getattr(a, name), getattr(b, name), 1e-12)
    for name in ("llf", "llnull", "prsquared", "aic", "bic", "df_model", "df_resid", "nobs"):
        close(getattr(a, name), getattr(b, name), 1e-12)
    close(a.fittedvalues, b.fittedvalues, 1e-12)
    assert (a.predict(which="class") == b.predict(which="class")).all()


@models
@pytest.mark.parametrize("order", ["C", "F", "strided", "float32", "int", "list", "readonly"])
def test_the_layout_of_arrays(model, order):
    y, X = shared(model).model.endog, np.round(shared(model).model.exog, 2)
    cls = getattr(glmclf, model)
    base = cls(y, X).fit()
    if order == "float32":
        a = cls(y.astype(np.float32), X.astype(np.float32)).fit()
        close(a.params, cls(y, X.astype(np.float32).astype(float)).fit().params, 1e-9)
        assert a.params.dtype == np.float64
        return
    if order == "int":
        Z = np.round(X).astype(np.int8)
        a, base = cls(y.astype(np.int8), Z).fit(), cls(y, Z.astype(float)).fit()
    elif order == "readonly":
        y, X = y.copy(), X.copy()
        y.flags.writeable = X.flags.writeable = False
        w = np.ones(len(y))
        w.flags.writeable = False
        a = cls(y, X, freq_weights=w, offset=0 * w).fit()
    else:
        wide = np.zeros((len(X), 10))
        wide[:, ::2] = X
        values = {"C": np.ascontiguousarray(X), "F": np.asfortranarray(X), "strided": wide[:, ::2], "list": X.tolist()}
        a = cls(y.tolist() if order == "list" else y, values[order]).fit()
    close(a.params, base.params, 1e-11)
    close(a.bse, base.bse, 1e-11)
    close(a.llf, base.llf, 1e-13)


def kinds(t):
    """The same table in other dtypes and libraries."""
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")

    text_ = t.assign(**{c: t[c].astype(object) for c in ("y", "g", "h", "firm")})
    yield "object", text_
    yield "string", t.assign(**{c: t[c].astype("string") for c in ("y", "g", "firm")})
    yield "category", t.assign(**{c: t[c].astype("category") for c in ("y", "g", "firm")})
    yield "nullable", t.convert_dtypes()
    yield "arrow", t.convert_dtypes(dtype_backend="pyarrow")
    yield "number objects", t.assign(x1=t.x1.astype(object), times=t.times.astype(object))
    if t.times.notna().all():
        yield "small integers", t.assign(times=t.times.astype(np.uint8), year=t.year.astype(np.int16))
    yield "polars", pl.from_pandas(text_)
    yield "pyarrow", pa.Table.from_pandas(text_, preserve_index=False)
    yield "mapping", {c: text_[c].to_numpy() for c in text_}
    yield "fortran", pd.DataFrame({c: text_[c].to_numpy() for c in reversed(text_.columns)})


@models
def test_the_kind_of_table_does_not_matter(model):
    t = toy()
    options = cov_options("two-way")
    base = fit(model, "y ~ x1 * h + g + times", t, offset="off", freq_weights="times", options=options)
    table = base.predict(t)
    for name, same in kinds(t):
        res = fit(model, "y ~ x1 * h + g + times", same, offset="off", freq_weights="times", options=options)
        assert list(res.params.index) == list(base.params.index), name
        identical(res, base)
        np.testing.assert_array_equal(res.predict(same), table, err_msg=name)
        assert list(res.predict(same, which="class").astype(str)) == list(base.predict(t, which="class"))


@models
def test_responses_of_every_kind(model):
    t = toy()
    base = fit(model, "y01 ~ x1 + g", t)
    for values in (
        t.y01.astype(bool),
        t.y01.astype(float),
        t.y01.astype("Int64"),
        t.y01.astype("boolean"),
        t.y01.astype(bool).astype(object),
        t.y,
        t.y.astype("category"),
        pd.Categorical(t.y, categories=["no", "yes"], ordered=True),
        t.y01.astype(np.int8),
        t.y01.astype("category"),
    ):
        res = fit(model, "resp ~ x1 + g", t.assign(resp=values))
        identical(res, base)
    res = fit(model, "resp ~ x1 + g", t.assign(resp=t.y01 + 1), event=2)
    identical(res, base)
    identical(fit(model, "I(y == 'yes') ~ x1 + g", t), base)
    identical(fit(model, "y01 > 0 ~ x1 + g", t), base)
    turned = fit(model, "resp ~ x1 + g", t.assign(resp=pd.Categorical(t.y, categories=["yes", "no"])))
    identical(turned, fit(model, "y ~ x1 + g", t, event="no"))


@models
@pytest.mark.parametrize("column", ["x1", "g", "y", "off", "times", "sw"])
def test_missing_rows_are_those_of_the_complete_table(model, column):
    t = toy()
    t.loc[[3, 50, 51], "times"] = 2
    t[column] = t[column].astype("Int64") if column == "times" else t[column]
    t.loc[[3, 50, 51], column] = None if column in ("g", "y") else (pd.NA if column == "times" else np.nan)
    weights = {"weights": "sw"} if column == "sw" else {"freq_weights": "times"}
    a = fit(model, data=t, offset="off", **weights)
    b = fit(model, data=t.drop(index=[3, 50, 51]), offset="off", **weights)
    identical(a, b)
    assert a.fittedvalues.index.equals(b.fittedvalues.index)
    report = text(a)
    assert "3 of 160" in report and column in report


@models
def test_missing_rows_of_several_columns_and_robust_errors(model):
    t = toy()
    t.loc[[1, 2], "x1"] = np.nan
    t.loc[[2, 3], "g"] = None
    t.loc[[150], "y"] = None
    for cov in ("HC1", "two-way"):
        a, b = fit(model, data=t, options=cov_options(cov)), fit(model, data=t.dropna(), options=cov_options(cov))
        identical(a, b)
    full = a.predict(t)
    assert full.index.equals(t.index)
    assert list(full.index[full.isna()]) == [1, 2, 3]
    frame = a.get_prediction(t).summary_frame()
    assert frame.index.equals(t.index) and frame.isna().any(axis=1).sum() == 3


@models
@pytest.mark.parametrize("subset", ["mask", "series", "shuffled", "query", "list"])
def test_subset_is_the_cut_table(model, subset):
    t = toy()
    mask = t.x2 > 0.7
    given = {
        "mask": mask.to_numpy(),
        "series": mask,
        "shuffled": mask.sample(frac=1, random_state=0),
        "query": "x2 > 0.7",
        "list": mask.tolist(),
    }
    options = cov_options("one-way")
    a = fit(
        model,
        "y ~ center(x1) + bs(x2, df=4) + g",
        t,
        subset=given[subset],
        offset="off",
        freq_weights=t.times.to_numpy(),
        options=options,
    )
    cut = t[mask]
    b = fit(model, "y ~ center(x1) + bs(x2, df=4) + g", cut, offset="off", freq_weights="times", options=options)
    identical(a, b)
    assert a.fittedvalues.index.equals(b.fittedvalues.index)


@models
@pytest.mark.parametrize("size", [1, 7, 64, 160, 1000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_and_threads_change_nothing_but_rounding(model, size, n_threads):
    res = shared(model, offset="off")
    m, theta = res.model, res.params.to_numpy() + 0.1
    r = m._rows
    blocks = Blocks(r.X, r.y, r.trials, r.offset, r.weights, size=size, n_threads=n_threads)
    for expected in (True, False):
        e = Objective(m._likelihood, blocks)(theta, expected)
        close(e.value, m.loglike(theta), 1e-13)
        close(e.score, m.score(theta), 1e-11)
        close(e.information, m.information(theta, expected), 1e-12)


@models
def test_threads_never_change_a_bit(model):
    rng = np.random.default_rng(8)
    n = 70_000
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 3))])
    y = (rng.random(n) < 0.3).astype(float)
    groups = rng.integers(0, 50, n)
    options = {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    m = getattr(glmclf, model)(y, X)
    fits = [m.fit(n_threads=k, **options) for k in (1, 2, 4)]
    identical(fits[0], fits[1])
    identical(fits[0], fits[2])


@models
def test_fitting_twice_gives_the_same_bits(model):
    m = make(model, "y ~ x1 + g", toy(), offset="off", freq_weights="times")
    for method in METHODS:
        identical(m.fit(method=method), m.fit(method=method))
    first = m.fit()
    m.fit(cov_type="HC1", maxiter=20, start_params=[1, 1, 1, 1])
    identical(first, m.fit())


@models
def test_nothing_passed_in_is_modified(model):
    t = toy()
    t.loc[5, "x1"] = np.nan
    before = t.copy(deep=True)
    y, X = (t.y == "yes").to_numpy(float), t[["x1", "x2"]].fillna(0).to_numpy()
    offset, weights, groups, start = t.off.to_numpy(), t.times.to_numpy(float), t.firm.to_numpy(object), np.zeros(4)
    copies = [a.copy() for a in (y, X, offset, weights, groups, start)]
    kwds = {"groups": groups}
    res = make(model, "y ~ x1 + g", t, offset=offset, freq_weights=weights).fit(
        cov_type="cluster", cov_kwds=kwds, start_params=start
    )
    res.predict(t, offset=offset), res.get_prediction(t, offset=offset).summary_frame(), res.augment(), res.summary()
    res.simulate(2), res.with_cov("HC0"), res.remove_data()
    other = getattr(glmclf, model)(y, X, offset=offset, freq_weights=weights).fit()
    other.predict(X, offset=offset), other.get_prediction(X, offset=offset).summary_frame(), other.augment()
    pd.testing.assert_frame_equal(t, before)
    for a, b in zip((y, X, offset, weights, groups, start), copies, strict=True):
        np.testing.assert_array_equal(a, b)
    assert list(kwds) == ["groups"] and kwds["groups"] is groups


@models
def test_results_do_not_share_memory_with_what_the_user_changes_later(model):
    t = toy()
    m = make(model, "y ~ x1 + g", t)
    before, first = m.fit(), m.fit()
    # what a user does to the numbers that were handed out
    for thing in (first.params, first.bse, first.fittedvalues, first.resid_pearson, first.predict()):
        thing.iloc[:] = 0.25
    for table in (first.cov_params(), first.conf_int(), first.pred_table(), first.augment()[[".fitted"]]):
        table.iloc[:, :] = -1
    again = m.fit()
    identical(again, before)
    close(first.predict(t), before.predict(t), 0)
    close(first.resid_dev, before.resid_dev, 0)
    close(first.pred_table(), before.pred_table(), 0)
    close(first.get_prediction(t).summary_frame(), before.get_prediction(t).summary_frame(), 0)
    close(first.t_test(np.eye(4)).tvalue, before.tvalues, 1e-12)
    close(first.with_cov("nonrobust").bse, before.bse, 1e-12)


@models
def test_a_constant_offset_moves_the_intercept_alone(model):
    t = toy()
    a, b = shared(model), fit(model, data=t, offset=np.full(160, 1.75))
    close(b.params["Intercept"], a.params["Intercept"] - 1.75)
    close(b.params[1:], a.params[1:])
    close(b.bse, a.bse)
    for name in ("llf", "llnull", "llr", "prsquared", "aic"):
        close(getattr(b, name), getattr(a, name))
    close(b.fittedvalues, a.fittedvalues)


@models
@methods
def test_an_offset_of_200(model, method):
    t = toy()
    for sign in (-1, 1):
        res = fit(model, data=t, offset=np.full(160, sign * 200.0), options={"method": method})
        close(res.params["Intercept"], shared(model).params["Intercept"] - sign * 200)
        close(res.params[1:], shared(model).params[1:], 1e-8)
        close(res.llf, shared(model).llf)
        close(res.llnull, shared(model).llnull)


@models
def test_an_offset_with_coefficient_is_a_regressor_less(model):
    t = toy()
    full = shared(model)
    res = fit(model, "y ~ x1 + g", t, offset=full.params["x2"] * t.x2)
    close(res.params, full.params.drop("x2"), 1e-8)
    close(res.llf, full.llf)


@models
def test_the_null_model_keeps_the_offset(model):
    t = toy()
    res = shared(model, offset="off")
    null = fit(model, "y ~ 1", t, offset="off")
    close(res.llnull, null.llf)
    close(null.llr, 0, atol=1e-10)
    assert np.isnan(null.llr_pvalue) and null.df_model == 0
    none = fit(model, "y ~ 0 + x1", t, offset="off")
    p = getattr(glmclf, model).link.cdf(t.off.to_numpy())
    close(none.llnull, np.log(np.where(t.y == "yes", p, 1 - p)).sum())
    assert none.df_model == 1 and none.model.k_constant == 0


def wide(spread):
    rng = np.random.default_rng(1)
    off = rng.normal(scale=spread, size=80)
    return pd.DataFrame({"off": off, "y": (rng.random(80) < 0.5).astype(int), "x": rng.normal(size=80)})


@models
@pytest.mark.parametrize("spread", [2.0, 5.0, 10.0, 20.0])
def test_the_null_model_with_a_wide_offset(model, spread):
    from scipy.optimize import minimize_scalar

    t = wide(spread)
    m = make(model, "y ~ x", t, offset="off")

    def minus(b):
        eta = np.asarray(b)[..., None] + t.off.to_numpy()
        return -np.where(t.y == 1, m.link.logcdf(eta), m.link.logsf(eta)).sum(axis=-1)

    grid = np.linspace(-150, 150, 3001)
    b = grid[np.argmin(minus(grid))]
    best = minimize_scalar(minus, bounds=(b - 0.2, b + 0.2), method="bounded", options={"xatol": 1e-10})
    close(m._null_loglike(), -best.fun, 1e-9)


@models
@pytest.mark.parametrize("spread", [2.0, 5.0, 10.0, 20.0])
def test_a_wide_offset(model, spread):
    res = fit(model, "y ~ x", wide(spread), offset="off")
    assert res.converged and res.llr >= 0
    close(res.model.score(res.params) * res.bse, 0, atol=1e-6)


@models
def test_intercept_only_and_one_regressor_only(model):
    t = toy()
    res = fit(model, "y ~ 1", t)
    share = t.y01.mean()
    close(res.params["Intercept"], getattr(glmclf, model).link.quantile(np.float64(share)))
    close(res.llf, 160 * (share * np.log(share) + (1 - share) * np.log(1 - share)))
    close([res.llf, res.prsquared], [res.llnull, 0.0], atol=1e-12)
    assert res.df_model == 0 and res.df_resid == 159
    assert "Intercept" in text(res)
    close(res.get_prediction(t).predicted, share)
    arrays = getattr(glmclf, model)(t.y01, t.x1).fit()
    assert list(arrays.params.index) == ["x1"] and arrays.df_model == 1
    close(arrays.params, fit(model, "y ~ 0 + x1", t).params)
    close(arrays.predict([0.5, 1.0]), arrays.predict(pd.DataFrame({"x1": [0.5, 1.0]})))


@models
def test_repeated_index_labels_are_rows_of_their_own(model):
    t = toy()
    a = fit(model, data=t.set_index(np.zeros(160, dtype=int)), offset="off", options=cov_options("one-way"))
    same_inference(a, fit(model, data=t, offset="off", options=cov_options("one-way")), rtol=0)


@models
def test_permuted_columns_of_the_formula(model):
    a, b = shared(model), fit(model, "y ~ g + x2 + x1")
    close(b.params[a.params.index], a.params)
    close(b.bse[a.params.index], a.bse)
    close(b.llf, a.llf)


@models
def test_missing_values_of_every_kind_of_table(model):
    t = toy()
    holes = {"x1": [1, 2], "g": [2, 3], "y": [150], "off": [7], "times": [8, 9]}
    t["times"] += 1
    spoilt = t.astype({"times": float, "g": object, "y": object, "h": object, "firm": object})
    for column, rows in holes.items():
        spoilt.loc[rows, column] = None if column in ("g", "y") else np.nan
    gone = sorted({r for rows in holes.values() for r in rows})
    base = fit(model, "y ~ x1 * h + g", t.drop(index=gone), offset="off", freq_weights="times")
    predicted = base.predict(t.drop(index=[1, 2, 3, 7]))
    for name, same in kinds(spoilt):
        res = fit(model, "y ~ x1 * h + g", same, offset="off", freq_weights="times")
        identical(res, base)
        assert "7 of 160" in text(res), name
        p = res.predict(same)
        assert len(p) == 160 and list(np.flatnonzero(p.isna())) == [1, 2, 3, 7], name
        np.testing.assert_array_equal(p.dropna(), predicted, err_msg=name)


@models
@pytest.mark.parametrize("size", [50.0, 200.0])
def test_rows_that_their_offset_decides_count_for_nothing(model, size):
    """y = 1 where the offset is +200 and y = 0 where it is -200: their log-likelihood is 0, whatever the rest."""
    t = toy()
    extra = toy(40, 7).assign(off=lambda d: np.where(d.y == "yes", size, -size))
    res = fit(model, data=pd.concat([t, extra], ignore_index=True), offset="off")
    base = shared(model, offset="off")
    close(res.params, base.params, 1e-8)
    close(res.bse, base.bse, 1e-8)
    close(res.llf, base.llf, 1e-10)


@models
def test_an_offset_on_the_wrong_side_is_paid_for_in_full(model):
    t = toy()
    extra = toy(1, 7).assign(off=-30.0, y="yes", x1=0.0, x2=0.0, g="a")
    both = pd.concat([t, extra], ignore_index=True)
    res = fit(model, "y ~ x1", both, offset="off")
    link = getattr(glmclf, model).link
    eta = res.predict(which="linear").to_numpy()
    close(res.llf, np.where(both.y == "yes", link.logcdf(eta), link.logsf(eta)).sum(), 1e-12)
    close(res.model.score(res.params) * res.bse, 0, atol=1e-8)
