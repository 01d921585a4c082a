"""save and load: JSON without a training row and without code, bit for bit the same in another process."""

import base64
import copy
import gzip
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import pytest
from properties.toys import close, cov_options, fit, identical, make, models, shared, text, toy

import glmclf
from glmclf.errors import FormulaError

FORMULAS = {
    "plain": "y ~ x1 + x2 + g",
    "bs": "y ~ bs(x1, df=5) + g",
    "bs knots": "y ~ bs(x1, knots=[-0.5, 0.5], degree=2, include_intercept=True) - 1",
    "cr": "y ~ 0 + cr(x1, df=4) + x2:h",
    "cr constraint": "y ~ cr(x1, df=4, constraints='center')",
    "cc": "y ~ 0 + cc(x2, df=4)",
    "te": "y ~ te(cr(x1, df=3), cr(x2, df=3)) - 1",
    "center": "y ~ center(x1) * standardize(x2)",
    "nested": "y ~ standardize(np.log(x2)) + center(x1):g",
    "scale": "y ~ scale(x1, ddof=1) + x2",
    "treatment": "y ~ C(g, Treatment('b')) + x1",
    "sum": "y ~ C(g, Sum) * h",
    "helmert": "y ~ C(g, Helmert) + C(h, Diff) + C(year, Poly)",
    "levels": "y ~ C(g, levels=['c', 'a', 'b']) + x1",
    "interaction": "y ~ x1 * g * h",
    "numpy": "y ~ np.log1p(x2) + np.sqrt(x2) + I(x1**2 / 3) + np.where(x1 > 0.1, x1, 0)",
    "clip": "y ~ np.clip(x1, -1, 1) + np.abs(x1) + (x2 > 1.5)",
    "odd": 'y ~ Q("odd name") + Q("odd name"):g',
    "ill": "y ~ year + I(year**2) + I(year**3)",
    "0 + g": "y ~ 0 + g + x1",
    "one": "y ~ 1",
    "counts": "won + lost ~ bs(x1, df=4)",
    "fractions": "share ~ x1 + g",
    "bools": "I(y == 'yes') ~ x1 + C(year > 2005)",
}


def table(n=160, seed=1):
    return toy(n, seed).assign(**{"odd name": lambda t: t.off * 3})


def fresh():
    t = table(30, 5)
    return t.assign(
        x1=t.x1.clip(-1.7, 1.7), x2=t.x2.clip(0.4, 4.5), year=t.year.clip(1991, 2018), won=t.won, lost=t.lost
    )


def saved(res):
    file = io.StringIO()
    res.save(file)
    return file.getvalue()


def loaded(res, **keywords):
    return glmclf.load(io.StringIO(saved(res)), **keywords)


def built(name, model="Logit", **keywords):
    data = table()
    if name == "helmert":
        data = data.assign(year=data.year % 4)
    return fit(model, FORMULAS[name], data, **keywords), (
        fresh().assign(year=fresh().year % 4) if name == "helmert" else fresh()
    )


formulas = pytest.mark.parametrize("name", FORMULAS)


def numbers(res, new, offset=None):
    """Every number that must come back bit for bit."""
    out = {name: np.asarray(getattr(res, name), float).ravel() for name in ("params", "bse", "tvalues", "pvalues")}
    for name in (
        "llf",
        "llnull",
        "llr",
        "llr_pvalue",
        "prsquared",
        "aic",
        "bic",
        "nobs",
        "df_model",
        "df_resid",
        "deviance",
        "null_deviance",
    ):
        out[name] = np.array([getattr(res, name)], float)
    out["conf_int"] = res.conf_int(0.1).to_numpy().ravel()
    out["cov"] = res.cov_params().to_numpy().ravel()
    for which in ("mean", "linear", "var"):
        out[which] = res.predict(new, which=which).to_numpy()
    out["prior"] = res.predict(new, priors=[0.9, 0.1]).to_numpy()
    out["intervals"] = res.get_prediction(new).summary_frame(0.1).to_numpy().ravel()
    out["linear intervals"] = res.get_prediction(new, which="linear").summary_frame().to_numpy().ravel()
    out["t"] = res.t_test(np.eye(len(res.params))).summary_frame().to_numpy(float).ravel()
    out["terms"] = res.wald_test_terms().table.to_numpy(float).ravel()
    out["wald"] = np.array([float(res.wald_test(np.eye(len(res.params))[-1:]).statistic)])
    out["glance"] = res.glance().to_numpy(float).ravel()
    return out


@formulas
def test_every_formula_comes_back_bit_for_bit(name):
    res, new = built(name)
    other = loaded(res)
    a, b = numbers(res, new), numbers(other, new)
    for key, values in a.items():
        np.testing.assert_array_equal(values, b[key], err_msg=key)
    assert text(other) == text(res)
    assert list(other.predict(new, which="class")) == list(res.predict(new, which="class"))
    assert other.predict(new, which="class").dtype == res.predict(new, which="class").dtype
    assert other.predict(new).index.equals(res.predict(new).index)
    assert len(saved(res)) < 40_000
    identical(loaded(other), res)


@models
@pytest.mark.parametrize("cov", ["nonrobust", "HC1", "two-way"])
@pytest.mark.parametrize(
    "keywords", [{}, {"offset": "off"}, {"freq_weights": "times"}, {"weights": "sw"}, {"event": "no"}], ids=str
)
def test_every_model_and_option(model, cov, keywords):
    res = fit(model, data=table(), options=cov_options(cov), **keywords)
    other, new = loaded(res), fresh()
    again = numbers(other, new)
    for key, values in numbers(res, new).items():
        np.testing.assert_array_equal(values, again[key], err_msg=key)
    assert text(other) == text(res)
    for name in ("cov_type", "converged", "method", "mle_retvals", "cov_kwds"):
        assert getattr(other, name) == getattr(res, name), name
    for name in ("endog_names", "exog_names", "formula", "nobs", "k_constant", "df_model", "df_resid"):
        assert getattr(other.model, name) == getattr(res.model, name), name
    assert type(other) is type(res) and type(other.model) is type(res.model)


@pytest.mark.parametrize("name", ["LDA", "QDA"])
def test_a_covariance_that_is_all_target_is_known_from_no_rows(name):
    res = make(name, "g ~ x1 + x2", table(), shrinkage=1.0).fit()
    assert str(loaded(res).summary(date=False)) == str(res.summary(date=False))
    np.testing.assert_array_equal(loaded(res).predict(fresh()), res.predict(fresh()))


WORKER = """
import json, pickle, sys
sys.path[:0] = {path!r}
from results_worker import numbers
import glmclf
out = {{}}
for name, (file, new) in pickle.load(open({jobs!r}, "rb")).items():
    res = glmclf.load(file)
    out[name] = {{k: v.tobytes().hex() for k, v in numbers(res, new).items()}}
    assert "patsy" in sys.modules or res.model.formula is None
print(json.dumps(out))
"""


def test_in_another_process(tmp_path):
    """All formulas in one other process: the numbers, byte by byte."""
    import inspect

    (tmp_path / "results_worker.py").write_text(
        "import numpy as np\n\n\n" + inspect.getsource(numbers), encoding="utf-8"
    )
    jobs, expected = {}, {}
    for name in FORMULAS:
        res, new = built(name)
        path = tmp_path / f"{len(jobs)}.json"
        res.save(path)
        jobs[name] = (str(path), new)
        expected[name] = {k: v.tobytes().hex() for k, v in numbers(res, new).items()}
    arrays = glmclf.Probit(table().y, np.column_stack([np.ones(160), table().x1])).fit()
    arrays.save(tmp_path / "arrays.json")
    new = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])
    jobs["arrays"], expected["arrays"] = (
        (str(tmp_path / "arrays.json"), new),
        {k: v.tobytes().hex() for k, v in numbers(arrays, new).items()},
    )
    (tmp_path / "jobs.pickle").write_bytes(pickle.dumps(jobs))
    root = [str(tmp_path), str(pathlib.Path(glmclf.__file__).parents[1])]
    code = WORKER.format(path=root, jobs=str(tmp_path / "jobs.pickle"))
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    for name, values in expected.items():
        for key, value in values.items():
            assert found[name][key] == value, (name, key)


@models
def test_arrays(model):
    t = table()
    X = t[["x1", "x2"]].assign(one=1.0)
    res = getattr(glmclf, model)(t.y, X, offset=t.off, freq_weights=t.times).fit(cov_type="HC1")
    other = loaded(res)
    identical(res, other)
    new = X.iloc[:9]
    np.testing.assert_array_equal(other.predict(new, offset=t.off[:9]), res.predict(new, offset=t.off[:9]))
    np.testing.assert_array_equal(other.predict(new.to_numpy(), offset=0), res.predict(new.to_numpy(), offset=0))
    with pytest.raises(ValueError, match="offset"):
        other.predict(new)
    assert text(other) == text(res)


@models
def test_a_loaded_result_tests_and_compares(model):
    big, small = shared(model), shared(model, "y ~ x1")
    expected = big.compare_lr_test(small)
    assert loaded(big).compare_lr_test(small) == expected
    assert big.compare_lr_test(loaded(small)) == expected
    assert loaded(big).compare_lr_test(loaded(small)) == expected
    other = loaded(big)
    close(other.t_test("g[T.b] = g[T.c], x1 = 1").pvalue, big.t_test("g[T.b] = g[T.c], x1 = 1").pvalue, 0)
    assert other.wald_test("x1 = x2").pvalue == big.wald_test("x1 = x2").pvalue
    pd.testing.assert_frame_equal(other.tidy(), big.tidy())
    pd.testing.assert_frame_equal(other.augment(fresh()), big.augment(fresh()))
    pd.testing.assert_frame_equal(other.cov_params(), big.cov_params())
    pd.testing.assert_frame_equal(other.conf_int(), big.conf_int())
    for refused in (fit(model, "y ~ x1", toy().iloc[1:]), fit(model, "y ~ x1", offset="off"), shared(model, "y ~ h")):
        with pytest.raises(ValueError):
            loaded(big).compare_lr_test(loaded(refused))
    with pytest.raises(ValueError):
        loaded(small).compare_lr_test(loaded(big))


@models
def test_missing_values_levels_and_offset_are_as_before(model):
    from glmclf.errors import UnseenLevelError

    t = table()
    t.loc[[3, 4], "x1"] = np.nan
    res = fit(model, "y ~ center(x1) + g", t, offset="off")
    other, new = loaded(res), fresh()
    assert text(other) == text(res) and "2 of 160" in text(other)
    new.loc[2, "x1"] = np.nan
    np.testing.assert_array_equal(other.predict(new), res.predict(new))
    with pytest.raises(UnseenLevelError, match='"z"'):
        other.predict(new.assign(g="z"))
    with pytest.raises(ValueError, match="off"):
        other.predict(new.drop(columns="off"))
    with pytest.raises(ValueError, match='"x1"'):
        other.predict(new.drop(columns="x1"))


@models
def test_row_wise_things_raise_clearly(model):
    res = loaded(shared(model))
    for name in ("fittedvalues", "resid_response", "resid_pearson", "resid_dev", "resid_generalized", "resid_working"):
        with pytest.raises(ValueError, match="rows.*(removed|saved)"):
            getattr(res, name)
    for call in (
        res.predict,
        res.get_prediction,
        res.augment,
        res.pred_table,
        res.simulate,
        res.get_distribution,
        res.model.fit,
    ):
        with pytest.raises(ValueError, match="rows.*(removed|saved)"):
            call()
    for call in (res.model.loglike, res.model.score, res.model.hessian, res.model.score_obs, res.model.predict):
        with pytest.raises(ValueError, match="rows.*(removed|saved)"):
            call(res.params)
    with pytest.raises(ValueError, match="rows.*(removed|saved)"):
        res.with_cov("HC0")
    res.remove_data()
    assert pickle.loads(pickle.dumps(res)).params.equals(res.params)
    assert copy.deepcopy(res).params.equals(res.params)


@pytest.mark.parametrize("name", ["plain", "bs", "te", "treatment", "counts", "ill"])
def test_no_training_row_is_in_the_file(name):
    rng = np.random.default_rng(0)
    t = table(600).assign(x1=lambda t: t.x1 + rng.normal(size=600) * 1e-7)
    t.index = [f"patient {i}" for i in range(600)]
    res = fit(
        "Logit",
        FORMULAS[name],
        t,
        offset="off",
        freq_weights=(1 + t.times).to_numpy(),
        options={"cov_type": "cluster", "cov_kwds": {"groups": t.index.str[-1].to_numpy()}},
    )
    written = saved(res)
    assert "patient" not in written
    # knots at the ends are the smallest and the largest value: the only data that may be there
    inner = t[(t.x1 > t.x1.min()) & (t.x1 < t.x1.max()) & (t.x2 > t.x2.min()) & (t.x2 < t.x2.max())]
    knots = [repr(v) for v in inner.x1] + [repr(v) for v in inner.x2] + [repr(v) for v in inner.off]
    assert sum(v in written for v in knots) <= 1  # an inner knot is a quantile, and may fall on a row

    def lengths(value):
        if isinstance(value, dict):
            for v in value.values():
                yield from lengths(v)
        elif isinstance(value, list):
            yield len(value)
            for v in value:
                yield from lengths(v)

    assert max(lengths(json.loads(written))) < 100
    assert len(written) < 40_000


def test_the_file_is_strict_json(tmp_path):
    res = fit("Logit", "share ~ x1", table())
    res.save(tmp_path / "m.json")

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    stored = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert stored["format"] == "glmclf"


def test_paths_and_open_files(tmp_path):
    res = shared("Logit")
    path = tmp_path / "odd näme.json"
    res.save(path), res.save(str(tmp_path / "b.json"))
    identical(glmclf.load(path), res), identical(glmclf.load(str(tmp_path / "b.json")), res)
    identical(type(res).load(path), res)
    assert path.read_bytes() == (tmp_path / "b.json").read_bytes()
    openers = {
        "text": (lambda m: open(path, m, encoding="utf-8"), "w", "r"),
        "binary": (lambda m: open(path, m), "wb", "rb"),
        "unbuffered": (lambda m: open(path, m, buffering=0), "wb", "rb"),
        "gzip": (lambda m: gzip.open(path, m), "wb", "rb"),
        "gzip text": (lambda m: gzip.open(path, m, encoding="utf-8"), "wt", "rt"),
    }
    for name, (opener, write, read) in openers.items():
        with opener(write) as file:
            res.save(file)
            assert not file.closed, name
        with opener(read) as file:
            identical(glmclf.load(file), res)
    for file in (
        io.StringIO(),
        io.BytesIO(),
        tempfile.TemporaryFile("w+"),
        tempfile.TemporaryFile("w+b"),
        tempfile.NamedTemporaryFile("w+"),
        tempfile.NamedTemporaryFile("w+b"),
        tempfile.SpooledTemporaryFile(mode="w+"),
        tempfile.SpooledTemporaryFile(mode="w+b"),
    ):
        with file:
            res.save(file)
            file.seek(0)
            identical(glmclf.load(file), res)


def test_text_that_is_not_ascii(tmp_path):
    t = table().assign(
        größe=lambda t: t.x1,
        g=lambda t: t.g.map({"a": "ä", "b": "β", "c": "日本"}),
        y=lambda t: np.where(t.y == "yes", "はい", "nein"),
    )
    res = fit("Logit", "y ~ größe + g", t)
    res.save(tmp_path / "m.json")
    other = glmclf.load(tmp_path / "m.json")
    identical(other, res)
    assert list(other.predict(t, which="class")) == list(res.predict(which="class"))
    assert text(other) == text(res)


@pytest.mark.parametrize("values", [[0, 1], [0.0, 1.0], [False, True], ["a", "b"], [np.int8(0), np.int8(1)]], ids=str)
@pytest.mark.parametrize("dtype", [None, "category", object])
def test_labels_keep_their_type(values, dtype):
    t = table().assign(resp=pd.Series(values * 80, dtype=dtype))
    res = fit("Logit", "resp ~ x1", t)
    other = loaded(res)
    a, b = other.predict(t, which="class"), res.predict(t, which="class")
    assert a.dtype == b.dtype and list(a) == list(b) and type(a.iloc[0]) is type(b.iloc[0])
    close(
        other.predict(t, priors={values[0]: 0.5, values[1]: 0.5}),
        res.predict(t, priors={values[0]: 0.5, values[1]: 0.5}),
        0,
    )
    assert text(other) == text(res)


def test_callers_functions_and_constants():
    f = lambda v: v**2 + 1
    limit, knots = 1.25, [-0.2, 0.3]
    assert f(1) == 2
    res = glmclf.Logit.from_formula("y ~ f(x1) + I(x2 > limit) + bs(off, knots=knots)", table()).fit()
    with pytest.raises(FormulaError, match="f"):
        loaded(res)
    other = loaded(res, functions={"f": f})
    identical(other, res)
    np.testing.assert_array_equal(other.predict(fresh()), res.predict(fresh()))
    limit = knots = None
    np.testing.assert_array_equal(other.predict(fresh()), res.predict(fresh()))
    assert limit is knots
    from scipy import special

    res = glmclf.Logit.from_formula("y ~ special.expit(x1)", table()).fit()
    with pytest.raises(FormulaError, match="special"):
        loaded(res)
    np.testing.assert_array_equal(
        loaded(res, functions={"special.expit": special.expit}).predict(fresh()), res.predict(fresh())
    )


EVIL = [
    "__import__('os').system('touch {mark}')",
    "os.system('touch {mark}')",
    "open('{mark}', 'w')",
    "eval('x1')",
    "exec('import os')",
    "getattr(np, 'load')('{mark}')",
    "np.load('{mark}')",
    "np.lib.npyio.NpzFile",
    "np.fromfile('{mark}')",
    "np.save('{mark}', x1)",
    "np.__dict__['save']('{mark}', x1)",
    "np.add.__class__",
    "np.add.reduce(x1)",
    "np.add(x1, x1, x1)",
    "np.add(x1, x1, out=x1)",
    "np.frompyfunc(open, 1, 1)(x1)",
    "np.vectorize(print)(x1)",
    "x1.__class__.__bases__",
    "x1.tofile('{mark}')",
    "().__class__.__mro__[1].__subclasses__()",
    "(lambda: 0)()",
    "[v for v in x1]",
    "{{v for v in x1}}",
    "(v for v in x1)",
    "f'{{x1}}'",
    "x1 if True else x2",
    "(y := x1)",
    "x1[0]",
    "bs.__globals__",
    "C.__init__.__globals__",
    "print(x1)",
    "breakpoint()",
    "globals()",
    "type(x1)",
    "10 ** 10 ** 10",
    "'a' * 10 ** 9",
    "[0] * 10 ** 9",
    "pd.read_pickle('{mark}')",
    "numpy.load('{mark}')",
    "np.random.seed(1)",
    "np.ctypeslib.load_library('a', 'b')",
    "Q.__class__",
    "I.__self__",
    "I(__import__('os'))",
    "bs(__import__('os').system('touch {mark}'), df=4)",
    "C(g, Treatment(open('{mark}', 'w')))",
    "*x1",
    "await x1",
    "x1 @ x1",
    "x1 is x1",
    "x1 in x1",
    "1 << 10 ** 9",
]


@pytest.mark.parametrize("code", EVIL)
def test_code_in_a_file_is_refused_before_it_runs(code, tmp_path, monkeypatch):
    """The expression stands wherever the file holds the code of a factor."""
    mark = tmp_path / "mark"
    code = code.format(mark=mark)
    written = saved(shared("Logit", "y ~ np.log(x2) + x1"))
    encoded = json.dumps("np.log(x2)")
    assert encoded in written
    evil = written.replace(encoded, json.dumps(code)).replace("np.log(x2)", json.dumps(code)[1:-1])

    def never(*args, **keywords):
        raise AssertionError("ran")

    with monkeypatch.context() as patch:
        patch.setattr("os.system", never)
        patch.setattr("numpy.load", never)
        patch.setattr("builtins.print", never)
        with pytest.raises(FormulaError):
            glmclf.load(io.StringIO(evil))
    assert not mark.exists()


def replaced(value, old, new):
    if isinstance(value, dict):
        return {k: replaced(v, old, new) for k, v in value.items()}
    if isinstance(value, list):
        return [replaced(v, old, new) for v in value]
    return value.replace(old, new) if isinstance(value, str) else value


@pytest.mark.parametrize(
    "name, code",
    [("open", "open('{mark}', 'w')"), ("os.system", "os.system('touch {mark}')"), ("np.save", "np.save('{mark}', x1)")],
)
def test_a_file_cannot_permit_functions_to_itself(name, code, tmp_path):
    mark = tmp_path / "mark"
    stored = replaced(json.loads(saved(shared("Logit", "y ~ np.log(x2) + x1"))), "np.log(x2)", code.format(mark=mark))
    design = stored["model"]["design"]
    assert "functions" in design and "columns" in design
    for lists in (
        {"functions": [name]},
        {"constants": [[name, 1]]},
        {"functions": [name], "constants": [[name.partition(".")[0], 1]]},
    ):
        with pytest.raises(ValueError):
            glmclf.load(
                io.StringIO(json.dumps({**stored, "model": {**stored["model"], "design": {**design, **lists}}}))
            )
    assert not mark.exists()


@pytest.mark.parametrize("code", EVIL[:12])
def test_code_as_a_constant_or_level_stays_text(code):
    res = fit("Logit", "y ~ C(g) + x1", table().assign(g=lambda t: t.g.map({"a": "A", "b": code, "c": "C"})))
    identical(loaded(res), res)


def test_pickle_inside_a_file_is_not_read():
    class Evil:
        def __reduce__(self):
            return (print, ("ran",))

    payload = base64.b64encode(pickle.dumps(Evil())).decode()
    for content in (
        payload,
        json.dumps(payload),
        json.dumps({"format": "glmclf", "version": 1, "model": payload}),
        pickle.dumps(Evil()),
    ):
        file = io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content)
        with pytest.raises(ValueError):
            glmclf.load(file)


def test_versions():
    stored = json.loads(saved(shared("Logit")))
    newer = {**stored, "version": stored["version"] + 1}
    with pytest.raises(ValueError, match=f"version {newer['version']}.*upgrade|{newer['version']}.*[Uu]pgrade"):
        glmclf.load(io.StringIO(json.dumps(newer)))
    for broken in (None, "1", 0, -1, 1.5, [], True):
        if broken is True:
            continue
        with pytest.raises(ValueError):
            glmclf.load(io.StringIO(json.dumps({**stored, "version": broken})))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json",
        "[]",
        "{}",
        "5",
        "null",
        '"text"',
        '{"format": "other"}',
        '{"format": "glmclf"}',
        '{"format": "glmclf", "version": 1}',
        b"\x80\x04\x95",
        b"\xff\xfe\x00",
        "{'format': 'glmclf'}",
    ],
)
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "foreign.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match="foreign.json"):
        glmclf.load(path)
    with pytest.raises(ValueError):
        glmclf.load(io.BytesIO(path.read_bytes()))


def test_parts_cut_out_of_a_file_are_refused():
    """By load, whenever it sees it; a part of no consequence to load at the latest by what needs it."""
    stored = json.loads(saved(shared("Logit", "y ~ bs(x1, df=4) + g")))
    needed = [key for key in stored if key not in ("format", "version")]
    assert len(needed) >= 3
    for part in needed:
        with pytest.raises(ValueError):
            glmclf.load(io.StringIO(json.dumps({key: value for key, value in stored.items() if key != part})))
        for wrong in (None, 5, [], "text"):
            with pytest.raises(ValueError):
                glmclf.load(io.StringIO(json.dumps({**stored, part: wrong})))
    for part in stored["model"]:
        cut = {**stored, "model": {k: v for k, v in stored["model"].items() if k != part}}
        with pytest.raises(ValueError):
            glmclf.load(io.StringIO(json.dumps(cut)))
    other = {**stored, "model": {**stored["model"], "class": "os.system"}}
    with pytest.raises(ValueError, match="os.system"):
        glmclf.load(io.StringIO(json.dumps(other)))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        glmclf.load(tmp_path / "nowhere.json")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.json"
    shared("Logit").save(path)
    before = path.read_bytes()
    res = glmclf.Logit.from_formula("y ~ x1.clip(0, 1)", table()).fit()
    try:
        res.save(path)
    except ValueError:
        assert path.read_bytes() == before


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_stays(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("kept")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="m.json"):
        shared("Logit").save(path)
    assert path.read_text() == "kept" and os.listdir(tmp_path) == ["m.json"]


def test_errors_of_a_path_name_it(tmp_path):
    for path in (tmp_path / "none" / "m.json", tmp_path):
        with pytest.raises(OSError) as said:
            shared("Logit").save(path)
        assert said.value.filename == str(path) and not os.listdir(tmp_path)
    shared("Logit").save(os.fsencode(tmp_path / "m.json"))
    identical(glmclf.load(tmp_path / "m.json"), shared("Logit"))


@models
def test_a_result_without_data_saves_the_same(model):
    res = make(model, "y ~ bs(x1, df=4) + g", table(), offset="off", freq_weights="times").fit()
    first = saved(res)
    res.remove_data()
    assert saved(res) == first
    assert saved(glmclf.load(io.StringIO(first))) == first


@models
def test_a_result_that_did_not_converge(model):
    with pytest.warns(UserWarning):
        res = shared(model).model.fit(maxiter=1)
    other = loaded(res)
    assert other.converged is False and text(other) == text(res) and "NOT a maximum" in text(other)


def test_clusters_of_two_ways_may_have_a_negative_variance():
    """V1 + V2 - V12 (Cameron, Gelbach & Miller 2011) is no covariance of anything where clusters are few."""
    n = np.arange(24)
    t = pd.DataFrame({"y": n % 3 == 0, "x": n % 5, "a": n % 2, "b": n // 2 % 2})
    with pytest.warns(UserWarning):
        res = glmclf.Logit.from_formula("y ~ x", t).fit(cov_type="cluster", cov_kwds={"groups": ["a", "b"]})
    assert np.diag(res.cov_params()).min() < 0
    assert text(loaded(res)) == text(res)


# ------------------------------------------------------------------------------------------ levels of any type
def test_levels_that_look_like_the_names_of_others():
    """The indicator of the level "T.a" has the name that the one of "a" has under treatment coding."""
    t = table().assign(h=lambda t: t.g.map({"a": "a", "b": "T.a", "c": "T.T.a"}))
    for formula in ("y ~ h + x1", "y ~ 0 + h + x1", "y ~ 0 + h:x1"):
        res = glmclf.Logit.from_formula(formula, t).fit()
        np.testing.assert_array_equal(loaded(res).predict(t), res.predict(t))


def _levelled():
    df = glmclf.datasets.load("fair").iloc[::20].reset_index(drop=True)
    days = pd.to_datetime("2020-03-28") + pd.to_timedelta(np.arange(len(df)) % 3, unit="D")
    return df.assign(
        y=(df.affairs > 0).astype(int),
        interval=pd.cut(df.age, 3),
        day=pd.Categorical(days),
        local=pd.Categorical(days.tz_localize("Europe/Berlin")),
        period=pd.Categorical(days.to_period("D")),
        span=pd.Categorical(days - days[0]),
        date=pd.Categorical(days.date),
    )


@pytest.mark.parametrize("name", ["interval", "day", "local", "period", "span", "date"])
@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA", "NaiveBayes"])
def test_levels_of_any_type(model, name, tmp_path):
    """As factors, and of several classes as the response."""
    df = _levelled()
    left = {"Logit": "y", "MNLogit": name, "LDA": name, "NaiveBayes": "y"}[model]
    right = "religious" if left == name else f"religious + {name}"
    res = getattr(glmclf, model).from_formula(f"{left} ~ {right}", df).fit()
    res.save(tmp_path / "m.json")
    found = glmclf.load(tmp_path / "m.json")
    np.testing.assert_array_equal(np.asarray(found.predict(df)), np.asarray(res.predict(df)))
    pd.testing.assert_frame_equal(found.tidy(), res.tidy())
    assert found.model._response.levels == res.model._response.levels
    if left == name:
        assert list(found.predict(df).columns) == list(res.predict(df).columns)
