"""Formulas and conditions from outside (trusted=False, the shell): a closed list, and nothing of the caller's."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.formula.conditions import chosen
from glmclf.errors import DataError, FormulaError

N = 120


def table():
    G = np.random.default_rng(20)
    frame = pd.DataFrame({
        "x": G.normal(size=N), "k": G.integers(0, 5, N), "odd name": G.normal(size=N),
        "g": pd.Categorical(np.resize(["a", "b", "c"], N)), "text": np.resize(["n", "s"], N),
        "day": pd.date_range("2020-01-01", periods=N), "flag": G.random(N) < 0.5,
    })
    frame["lost"] = frame.x.where(G.random(N) < 0.8)
    frame["maybe"] = frame.flag.astype("boolean").where(G.random(N) < 0.8)
    frame = frame.assign(y=np.resize([0, 1, 1, 0, 0, 1, 0], N), three=np.resize(["u", "v", "w", "v"], N))
    return frame.rename_axis("row")


SAME_AS_PANDAS = [
    "x > 0", "x > 0 and k < 3", "x > 0 & k < 3", "x > 0 | k == 1 and flag", "not flag", "~flag", "not (k == 1)",
    "`odd name` > 0", "text == 'n'", "text != 'it is #1'", "g == 'a'", "g in ['a', 'c']",
    "g not in ('a', 'c')", "k == [1, 2]", "k != [1, 2]", "-1 < x < 1", "-1 < x <= k < 3", "k % 2 == 1", "k // 2 > 0",
    "x ** 2 < 1", "x * 2 - 1 > -k / 3", "sqrt(x * x) > 0.5", "log(x) < 0", "lost > 0", "lost == lost",
    "day > '2020-02-01'", "flag == True", "text > g", "+x >= `odd name`", "abs(x) > 1", "index > 5", "row < 100",
]


@pytest.mark.parametrize("text", SAME_AS_PANDAS)
def test_conditions_mean_what_they_mean_to_pandas(text):
    frame = table()
    if text == "text > g":
        frame = frame.assign(g=frame.g.astype(object))
    with np.errstate(all="ignore"):
        kept = frame.query(text, engine="python").index
    assert np.array_equal(chosen(text, frame).fillna(False), frame.index.isin(kept))
    assert 0 < len(kept) <= N


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("text", [
    "maybe", "not maybe", "whole > 1", "not (whole > 1)", "whole > 1 or x > 0", "lost > 0",
])
def test_rows_of_which_the_answer_is_missing_are_not_chosen(text, trusted):
    frame = table().assign(whole=lambda t: t.k.astype("Int64").where(t.lost.notna()))
    wanted = glmclf.Logit.from_formula("y ~ x", frame.query(text, engine="python")).fit()
    for data in (frame, lambda: iter([frame.iloc[:50], frame.iloc[50:]])):
        found = glmclf.Logit.from_formula("y ~ x", data, subset=text, trusted=trusted).fit()
        assert found.nobs == wanted.nobs
        np.testing.assert_allclose(found.params, wanted.params, rtol=1e-9)


def test_conditions_with_functions_of_numpy():
    frame = table()
    assert not chosen('text == "`odd name` @x"', frame).any()  # a word, in which pandas looks for names
    either = (frame.x.abs() > 1) | frame.lost.isna()
    assert chosen("np.abs(x) > 1 or np.isnan(lost)", frame).tolist() == either.tolist()
    assert chosen("np.where(x > 0, k, 0) > 2", frame).tolist() == ((frame.x > 0) & (frame.k > 2)).tolist()


@pytest.mark.parametrize("text", [
    "(x > 0) & (text != '`') | (@os.system('touch RAN') == 7) | (text == '`')", "@os.system('x') == 0", "@y > 1",
    "x.__class__ == 0", "x.to_csv('RAN') > 0", "x.rank() > 3", "x[0] > 1", "__import__('os').system('x')", "open('x')",
    "[v for v in x]", "(lambda: x)()", "(y := 3)", "f'{x}' == 'a'", "x if k else y", "nothing > 1",
    "np.load('RAN')", "np.add(x, x, x) > 0", "numpy.save('RAN', x)", "getattr(x, 'index') > 1", "C(x) > 1", "bs(x) > 1",
    "x", "x + 1", "3", "True", "x and k > 1", "not k", "~k", "k & 1", "k ^ 1 == 2", "text * 10**9 == 'a'",
    "'a' * 10**9 == text", "9 ** 9 ** 9 ** 9 > x", "g ** 2 > 1", "x > 'a'", "k in x", "1 in [1]",
    "x @ k > 1", "x < [1, 2]",
    "x > 0; k", "",
    "(" * 400 + "x" + ")" * 400 + " > 0", "-" * 5000 + "x > 0", "np.pi", "x is None", "*x", "x > yield",
])
def test_other_conditions_are_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        chosen(text, table())
    assert not list(tmp_path.iterdir())


MODELS = [glmclf.Logit, glmclf.Probit, glmclf.CLogLog, glmclf.MNLogit, glmclf.LDA, glmclf.QDA, glmclf.NaiveBayes]


def parts():
    frame = table()
    return lambda: (frame.iloc[start : start + 50] for start in range(0, N, 50))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("of", [table, parts], ids=["table", "parts"])
def test_every_model(model, of):
    number, array, twice = 0.5, np.arange(N), lambda x: 2 * x  # noqa: F841
    y = "three" if model not in (glmclf.Logit, glmclf.Probit, glmclf.CLogLog) else "y"
    for right in ("I(x - number)", "array", "twice(x)", "x.rank()", "abs(x)", "np.load('RAN')", "I(x.to_csv('RAN'))"):
        with pytest.raises(FormulaError):
            model.from_formula(f"{y} ~ {right}", of(), trusted=False)
    with pytest.raises(FormulaError):
        model.from_formula(f"I(twice({y})) ~ x", of(), trusted=False)
    for subset in ("x > @number", "x > -x.max()", "(x > 0) | (@twice(x) > 0)"):
        with pytest.raises(FormulaError):
            model.from_formula(f"{y} ~ x", of(), subset=subset, trusted=False)
    with pytest.raises(ValueError, match="trusted='no'"):
        model.from_formula(f"{y} ~ x", of(), trusted="no")
    new = table().head(9)
    formula, subset = f"{y} ~ np.log(x**2 + 1) + k", "k < 4 and -2.0 < x"
    closed = model.from_formula(formula, of(), subset=subset, trusted=False).fit()
    ours = model.from_formula(formula, of(), subset=subset).fit()
    np.testing.assert_array_equal(closed.predict(new), ours.predict(new))


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize(("text", "meant"), [  # by Python's whole numbers, which no bits bound
    ("year ** 6 > 6.45e19", lambda k: (2000 + k) ** 6 > 6.45e19), ("k ** 10000 > 1", lambda k: k > 1),
    ("k * 2**62 > 1", lambda k: k > 0), ("year * year * year * year * year * year > 6.45e19", lambda k: k > 2),
    ("u8 + u8 > 405", lambda k: k > 2), ("u8 - 202 < 0", lambda k: k < 2), ("-u8 < -202", lambda k: k > 2),
    ("u8 * u8 > 40500", lambda k: k > 1), ("i8 + i8 > 205", lambda k: k > 2), ("u64 - 2 < 0", lambda k: k < 2),
    ("big * 3 == 30000000000000006", lambda k: k == 2), ("big + 1 == 10000000000000003", lambda k: k == 2),
    ("u8 // 2 * 2 == u8", lambda k: k % 2 == 0),
])
def test_whole_numbers_of_conditions_do_not_wrap_around(text, meant, trusted):
    k = [int(value) for value in np.resize(np.arange(5), N)]
    frame = table().assign(k=k)
    frame = frame.assign(year=frame.k + 2000, big=frame.k + 10**16, u64=frame.k.astype("uint64"),
                         u8=(frame.k + 200).astype("uint8"), i8=(frame.k + 100).astype("int8"))
    model = glmclf.Logit.from_formula("y ~ x", frame, subset=text, trusted=trusted)
    assert model.exog[:, 1].tolist() == [x for x, value in zip(frame.x, k, strict=True) if meant(value)]


@pytest.mark.parametrize("call", ["np.multiply(u8, u8) > 40000", "np.add(u8, u8) > 400", "np.square(u8) > 40000"])
def test_functions_of_whole_numbers_do_not_wrap_around(call):
    frame = table().assign(u8=np.resize(np.array([200, 201], dtype="uint8"), N))
    assert chosen(call, frame).tolist() == [value == 201 for value in frame.u8]


@pytest.mark.parametrize(("right", "message"), [
    ("*".join(f"v{i}" for i in range(30)), "more than 20,000 terms"),
    ("(" + " + ".join(f"v{i}" for i in range(30)) + ")**15", "more than 20,000 terms"),
    (".**30", "more than 20,000 terms"),
    ("te(cr(v0, df=100), cr(v1, df=100))", "10,000 columns"),
    ("C(v0):C(v1):C(v2)", "1,728,001 columns"),
])
def test_formulas_that_would_take_all_memory(right, message):
    frame = table().assign(**{f"v{i}": np.random.default_rng(i).permutation(N) for i in range(30)})
    with pytest.raises(DataError, match=message):
        glmclf.Logit.from_formula(f"y ~ {right}", frame, trusted=False)


def test_terms_written_twice_are_counted_once():
    for right, terms in (("*".join(["x"] * 60), 2), ("(x + k)**99999999", 4), ("(x + k + x:k)**3", 4)):
        assert len(glmclf.Logit.from_formula(f"y ~ {right}", table(), trusted=False).exog_names) == terms


def test_detecting_separation():
    number = 1.0  # noqa: F841
    with pytest.raises(FormulaError, match="number"):
        glmclf.detect_separation("y ~ I(x + number)", table(), trusted=False)
    assert glmclf.detect_separation("y ~ x", table(), trusted=False) is None


def test_classifiers():
    sklearn = pytest.importorskip("glmclf.sklearn", exc_type=ImportError)
    frame = table()
    X, y = frame[["x", "k"]], frame["y"]

    def twice(x):
        return 2 * x

    for formula in ("x.rank()", "I(__import__('os').getpid() * x)", "twice(x)"):
        with pytest.raises(FormulaError):
            sklearn.FormulaClassifier("logit", formula, trusted=False).fit(X, y)
    supplied = sklearn.FormulaClassifier("logit", "twice(x)", functions={"twice": twice}, trusted=False).fit(X, y)
    plain = sklearn.FormulaClassifier("logit", "x").fit(X, y)
    np.testing.assert_allclose(supplied.predict_proba(X), plain.predict_proba(X), rtol=1e-10)
