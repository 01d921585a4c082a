"""What a formula keeps of the caller's objects: the values that it had, and no table."""

import functools
import io
import pickle

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.formula.borrowed import with_values_named
from glmclf.errors import DataError

N = 150
MODELS = [glmclf.Logit, glmclf.Probit, glmclf.CLogLog, glmclf.MNLogit, glmclf.LDA, glmclf.QDA, glmclf.NaiveBayes]


class Settings:
    """Holds a table, and numbers of it."""

    def __init__(self, table):
        self.table, self.shift, self.knots = table, 0.25, [-0.5, 0.5]


def above(x, table):
    return x > table.x.mean()


def table():
    G = np.random.default_rng(4)
    frame = pd.DataFrame({"x": G.normal(size=N), "secret": [f"PATIENT-{i:04d}" for i in range(N)]})
    return frame.assign(y=np.resize([0, 1, 1, 0, 1], N), g=np.resize(["a", "b"], N))


VALUES = [  # the same formula in numbers
    ("I(x - df.x.mean())", "I(x - mean)"),
    ("np.minimum(x, np.max(df['x']) / 2)", "np.minimum(x, top / 2)"),
    ("I(x * spread_of(df))", "I(x * spread)"),
    ("I(x - own.shift)", "I(x - 0.25)"),
    ("I(x - own.table.x.mean())", "I(x - mean)"),
    ("bs(x, knots=own.knots, degree=1)", "bs(x, knots=[-0.5, 0.5], degree=1)"),
    ("C(g, levels=list(df.g.unique()[::-1]))", "C(g, levels=['b', 'a'])"),
    ("I(x - df.loc[df.g == 'a', 'x'].mean())", "I(x - first)"),
    ("I(x * [row for row in df.x if row > 2][0])", "I(x * large)"),
]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("formula, numbers", VALUES)
def test_values_are_those_of_the_fit(model, formula, numbers):
    df = table()
    own, mean, top, spread = Settings(df), df.x.mean(), df.x.max(), df.x.std()  # noqa: F841
    first, large = df.loc[df.g == "a", "x"].mean(), df.x[df.x > 2].iloc[0]  # noqa: F841
    given = df.copy()

    def spread_of(t):
        return float(t.x.std())

    res = model.from_formula(f"y ~ {formula}", given).fit()
    plain = model.from_formula(f"y ~ {numbers}", given).fit()
    new = given.head(7)
    before = plain.predict(new)
    df["x"], own.shift = 100.0, 7.0  # a change of the caller's objects changes no fit
    np.testing.assert_array_equal(res.predict(new), before)
    file = io.StringIO()
    res.save(file)
    res.remove_data()
    kept = pickle.dumps(res)
    assert b"PATIENT" not in kept and np.asarray(given.x)[3].tobytes() not in kept
    np.testing.assert_array_equal(pickle.loads(kept).predict(new), before)
    assert "PATIENT" not in file.getvalue() and repr(float(given.x[3])) not in file.getvalue()
    file.seek(0)
    np.testing.assert_array_equal(glmclf.load(file).predict(new), before)


@pytest.mark.parametrize("formula", ["np.interp(x, df.x.sort_values(), rows)", "smaller(x)", "I(x - held(x))", "at(x)"])
def test_tables_that_a_term_needs_are_named(formula):
    df = table()
    smaller = functools.partial(above, table=df)  # noqa: F841
    at = functools.partial(np.interp, xp=[0, 1], fp=[0.0, 150.0])  # noqa: F841
    held, rows = functools.partial(above, table=df.head(3)), np.arange(N) / N  # noqa: F841
    res = glmclf.Logit.from_formula(f"y ~ {formula}", df).fit()
    if formula == "at(x)":  # short settings are none
        res.remove_data()
        return
    for drop in (res.remove_data, lambda: res.save(io.StringIO())):
        with pytest.raises(DataError, match="keeps (a table|an array) of .* of yours"):
            drop()
    assert res.resid_pearson.shape == (N,)  # nothing was dropped


def test_of_code_that_is_not_trusted_nothing_is_evaluated():
    ran = []

    class Odd:
        @property
        def value(self):
            ran.append(1)
            return 1.0

        def __call__(self, x):
            return x

    assert with_values_named("f.value + x", ["x"], {"f": Odd()}, None)[0] == "f.value + x"
    sklearn = pytest.importorskip("glmclf.sklearn", exc_type=ImportError)
    frame = table()
    with pytest.raises(DataError):
        sklearn.FormulaClassifier("logit", "I(x - f.value)", functions={"f": Odd()}, trusted=False).fit(
            frame[["x"]], frame["y"])
    assert not ran


def test_columns_and_functions_stay():
    df = table()
    for code in ("df.x + x", "f(x)", "np.log(x + k)", "lambda v: v + df.x.mean()", "df.x.clip(x)"):
        written, values, _ = with_values_named(code, ["x"], {"df": df, "f": np.abs, "k": 2.0}, ["I"])
        assert ("df.x" in code and "lambda" not in code) == (written != code) or code == "df.x.clip(x)"
        assert all(isinstance(v, (pd.Series, float)) for v in values.values())
