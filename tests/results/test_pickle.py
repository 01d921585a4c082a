"""pickle, deepcopy and remove_data."""

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, cov_options, covariances, fit, identical, make, models, shared, text, toy

import glmclf


def square(v):
    return v**2


def again(res):
    return pickle.loads(pickle.dumps(res))


FORMULAS = [
    "y ~ x1 + x2 + g",
    "y ~ bs(x1, df=4) + C(g, Treatment('b'))",
    "y ~ standardize(x1) * h",
    "y ~ te(cr(x1, df=3), cr(x2, df=3)) - 1",
]


@models
@covariances
def test_a_round_trip(model, cov):
    res = shared(model, cov=cov)
    other = again(res)
    identical(res, other)
    assert text(res) == text(other)
    t = toy(20, 4)
    np.testing.assert_array_equal(res.predict(t), other.predict(t))
    np.testing.assert_array_equal(res.get_prediction(t).summary_frame(), other.get_prediction(t).summary_frame())
    np.testing.assert_array_equal(res.resid_dev, other.resid_dev)
    pd.testing.assert_frame_equal(res.augment(), other.augment())
    pd.testing.assert_frame_equal(res.pred_table(), other.pred_table())
    identical(res.with_cov("HC0"), other.with_cov("HC0"))
    identical(res.with_cov("cluster", groups="firm"), other.with_cov("cluster", groups="firm"))
    identical(other.model.fit(), res.model.fit())


@models
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("how", [again, copy.deepcopy, copy.copy])
def test_every_formula_and_way(model, formula, how):
    res = fit(model, formula, offset="off")
    other = how(res)
    t = toy(20, 4).assign(x1=lambda t: t.x1.clip(-1.5, 1.5), x2=lambda t: t.x2.clip(0.3, 5))
    expected = res.get_prediction(t).summary_frame()
    np.testing.assert_array_equal(other.get_prediction(t).summary_frame(), expected)
    res.remove_data()
    np.testing.assert_array_equal(how(res).get_prediction(t).summary_frame(), expected)
    assert other.fittedvalues.notna().all()


@models
def test_remove_data_keeps_what_has_the_size_of_the_parameters(model):
    m = make(model, "y ~ x1 + x2 + g", toy(), offset="off", freq_weights="times")
    full, res = m.fit(**cov_options("two-way")), m.fit(**cov_options("two-way"))
    small = m.fit()
    res.fittedvalues, res.resid_dev
    res.remove_data()
    identical(res, full)
    assert text(res) == text(full)
    t = toy(20, 4)
    np.testing.assert_array_equal(res.predict(t), full.predict(t))
    np.testing.assert_array_equal(res.predict(t, which="class"), full.predict(t, which="class"))
    np.testing.assert_array_equal(res.predict(t, priors=[0.8, 0.2]), full.predict(t, priors=[0.8, 0.2]))
    np.testing.assert_array_equal(res.get_prediction(t).summary_frame(), full.get_prediction(t).summary_frame())
    pd.testing.assert_frame_equal(res.augment(t), full.augment(t))
    pd.testing.assert_frame_equal(res.wald_test_terms().table, full.wald_test_terms().table)
    pd.testing.assert_frame_equal(res.tidy(), full.tidy())
    pd.testing.assert_frame_equal(res.glance(), full.glance())
    close(res.t_test("x1 = x2").pvalue, full.t_test("x1 = x2").pvalue, 0)
    assert m.endog.shape == m.exog.shape[:1]  # the user's model keeps its rows
    nested = make(model, "y ~ x1", toy(), offset="off", freq_weights="times").fit()
    small.remove_data()
    assert small.compare_lr_test(nested) == full.compare_lr_test(nested)
    nested.remove_data()
    assert small.compare_lr_test(nested) == full.compare_lr_test(
        m.__class__.from_formula("y ~ x1", toy(), offset="off", freq_weights="times").fit()
    )
    res.remove_data()  # twice does no harm
    identical(again(res), full)


def reachable(thing, seen=None, depth=0):
    """Arrays, Series, frames and indexes that an object reaches."""
    seen = set() if seen is None else seen
    if id(thing) in seen or depth > 14:
        return
    seen.add(id(thing))
    if isinstance(thing, (np.ndarray, pd.Series, pd.DataFrame, pd.Index, pd.Categorical)):
        yield thing
        return
    inner = list(getattr(thing, "__dict__", {}).values()) if not isinstance(thing, type) else []
    if isinstance(thing, dict):
        inner += [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set)):
        inner += list(thing)
    for value in inner:
        if not isinstance(value, (str, int, float, type(None), type(sys))) and not callable(value):
            yield from reachable(value, seen, depth + 1)


@models
@pytest.mark.parametrize("formula", [FORMULAS[0], FORMULAS[1], "won + lost ~ x1 + g"])
def test_nothing_row_sized_is_left(model, formula):
    t = toy(3000)
    res = make(model, formula, t, offset="off", freq_weights="times").fit(**cov_options("one-way"))
    res.fittedvalues, res.resid_pearson, res.augment(), res.summary(), res.get_prediction()
    res.remove_data()
    assert max(len(a) for a in reachable(res)) < 200
    assert len(pickle.dumps(res)) < 30_000


def test_kilobytes_after_200000_rows():
    rng = np.random.default_rng(1)
    n = 200_000
    t = pd.DataFrame({"x": rng.normal(size=n), "g": rng.choice(list("abcd"), n), "y": rng.integers(0, 2, n)})
    t["id"] = [f"row {i}" for i in range(n)]
    res = glmclf.Logit.from_formula("y ~ x * g", t.set_index("id")).fit(cov_type="HC0")
    res.fittedvalues, res.resid_dev
    assert len(pickle.dumps(res)) > 1_000_000
    res.remove_data()
    assert len(pickle.dumps(res)) < 20_000
    file = io.StringIO()
    res.save(file)
    assert len(file.getvalue()) < 20_000


def test_arrays_too():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(5000), rng.normal(size=(5000, 3))])
    index = pd.Index([f"label {i}" for i in range(5000)])
    res = glmclf.Probit(pd.Series(rng.integers(0, 2, 5000), index), pd.DataFrame(X, index)).fit()
    p = res.predict(X[:5])
    res.remove_data()
    assert len(pickle.dumps(res)) < 10_000
    close(again(res).predict(X[:5]), p, 0)


@models
def test_a_function_of_a_module_goes_by_reference(model):
    res = getattr(glmclf, model).from_formula("y ~ square(x1) + x2", toy()).fit()
    t = toy(20, 4)
    np.testing.assert_array_equal(again(res).predict(t), res.predict(t))


@models
def test_a_local_function(model):
    cube = lambda v: v**3
    assert cube is not None
    res = getattr(glmclf, model).from_formula("y ~ cube(x1) + x2", toy()).fit()
    with pytest.raises((ValueError, pickle.PicklingError, AttributeError), match="cube"):
        pickle.dumps(res)
    t = toy(20, 4)
    np.testing.assert_array_equal(copy.deepcopy(res).predict(t), res.predict(t))


def test_another_process(tmp_path):
    res = shared("Logit", FORMULAS[1])
    path = tmp_path / "res.pickle"
    path.write_bytes(pickle.dumps(res))
    code = (
        f"import pickle; r = pickle.load(open({str(path)!r}, 'rb')); "
        "print([p.hex() for p in r.params], r.predict().iloc[3].hex())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"{[p.hex() for p in res.params]} {res.predict().iloc[3].hex()}"


@models
def test_models_too(model):
    m = make(model, "y ~ bs(x1, df=4) + g", toy(), offset="off")
    identical(again(m).fit(), m.fit())
    identical(copy.deepcopy(m).fit(), m.fit())


@pytest.mark.parametrize(("model", "formula"), [("Logit", "h ~ x1"), ("MNLogit", "g ~ x1"), ("LDA", "g ~ x1 + x2")])
def test_averages_hold_no_rows(model, formula):
    """Nor do equations; all are pickled, and the table goes with the rows of their result."""
    t = toy().assign(kept_back=[f"kept_back_{i}" for i in range(len(toy()))])
    res = getattr(glmclf, model).from_formula(formula, t).fit()
    found = [res.get_margeff(), res.get_margeff(at="mean"), res.predictions(), getattr(res, "equations", None)]
    tables = [made.summary_frame() for made in found[:3]]
    res.remove_data()
    for made, table in zip(found, [*tables, None], strict=True):
        stored = pickle.dumps(made)
        assert b"kept_back" not in stored
        if table is not None:
            pd.testing.assert_frame_equal(pickle.loads(stored).summary_frame(), table)
