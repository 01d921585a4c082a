"""Designs and labels as JSON: the same bits back, and nothing evaluated that is not on the closed list."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from glmclf.data.design import codec
from glmclf.data.formula import expressions
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.reading.read import read_formula
from glmclf.data.response import codec as response_codec
from glmclf.data.response.response import BinaryResponse
from glmclf.errors import DataError, FormulaError, UnseenLevelError


def left(names, values):
    return names, values


def table(n=80, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n) / 3,
            "z": rng.uniform(0.5, 3, size=n),
            "k": rng.integers(1, 4, n),
            "f": np.array([0.1, 1 / 3])[rng.integers(0, 2, n)],
            "b": rng.integers(0, 2, n).astype(bool),
            "g": np.array(["a", "b", "ü"])[np.arange(n) % 3],
            "o": pd.Categorical(
                np.array(["lo", "mid", "hi"])[(np.arange(n) // 6) % 3], ["lo", "mid", "hi"], ordered=True
            ),
            "odd name": rng.normal(size=n),
        }
    )


def design(right, **namespace):
    return read_formula(f"y ~ {right}", table(), response=left, namespace=namespace).design


def through_json(d, functions=None):
    return codec.decode(json.loads(json.dumps(codec.encode(d), allow_nan=False)), functions)


RIGHT = [
    "1",
    "x*g",
    "0 + g",
    "C(k) + C(f) + b",
    "C(k, Sum):x + C(g, Treatment('b'))",
    "C(o, Poly)*C(g, Helmert)",
    "C(g, levels=['ü', 'a', 'b'])",
    "bs(x, df=5) + cr(z, df=4)",
    "cc(z, df=4, constraints='center')",
    "te(cr(x, df=3), cr(z, df=3), constraints='center')",
    "center(x) + standardize(z) + scale(x, ddof=1):g",
    "standardize(center(np.log(z)))",
    "np.log(z) + np.where(x > 0, x, 0) + np.clip(x, -1, 1)",
    "I(x**2) + I((x > 0) & (z < 2))",
    'Q("odd name")*b',
    "np.where(g == 'a', x, z)",
    "center(x)*center(k)",
    "I(x / np.pi - np.e)",
]


@pytest.mark.parametrize("right", RIGHT)
def test_every_bit_comes_back(right):
    before = design(right)
    after = through_json(before)
    new = table(seed=3).iloc[5:40]
    np.testing.assert_array_equal(after.matrix(new), before.matrix(new))
    for name in ("xnames", "terms", "k_constant", "formula", "endog_name", "variables", "levels"):
        assert getattr(after, name) == getattr(before, name)
    assert [type(v) for vs in after.levels.values() for v in vs] == [
        type(v) for vs in before.levels.values() for v in vs
    ]
    assert codec.encode(after) == codec.encode(before)


def test_a_file_holds_no_training_row_and_is_small():
    text = json.dumps(codec.encode(design("bs(x, df=5)*g + C(k, Sum) + te(cr(x, df=3), cr(z, df=3))")))
    assert len(text) < 20_000
    assert len(json.dumps(codec.encode(design("x + g")))) < 2_000
    assert repr(float(table()["x"][17])) not in text


def test_a_loaded_design_checks_new_data():
    after = through_json(design("C(g) + x"))
    with pytest.raises(UnseenLevelError, match='"q"'):
        after.matrix(pd.DataFrame({"g": ["q"], "x": [1.0]}))
    with pytest.raises(DataError, match='"x"'):
        after.matrix(pd.DataFrame({"g": ["a"]}))
    with pytest.raises(DataError, match='"x"'):
        after.matrix(pd.DataFrame({"g": ["a"], "x": ["text"]}))


def test_designs_of_arrays():
    X = np.column_stack([np.ones(9), np.arange(9.0)])
    before = read_arrays(np.arange(9) % 2, X, response=left).design
    after = through_json(before)
    assert after == before
    np.testing.assert_array_equal(after.matrix(X), X)


def test_constants_of_the_caller_are_stored():
    before = design(
        "I(x > cut) + bs(x, knots=knots) + C(g, levels=order)",
        cut=0.25,
        knots=np.array([0.0, 1 / 3]),
        order=["b", "a", "ü"],
    )
    np.testing.assert_array_equal(through_json(before).matrix(table()), before.matrix(table()))


def test_functions_of_the_caller_are_supplied_again():
    import scipy.special

    def double(v):
        return 2 * v

    before = design("double(x) + sp.expit(z)", double=double, sp=scipy.special)
    stored = codec.encode(before)
    assert stored["functions"] == ["double", "sp.expit"]
    functions = {"double": double, "sp.expit": scipy.special.expit}
    np.testing.assert_array_equal(through_json(before, functions).matrix(table()), before.matrix(table()))
    for some in (None, {"double": double}, {"sp.expit": scipy.special.expit}, {"sp": scipy.special, "double": double}):
        with pytest.raises(FormulaError, match=r"double\(x\)|sp\.expit\(z\)") as caught:
            codec.decode(stored, some)
        assert "functions={" in str(caught.value)


@pytest.mark.parametrize("right", ["x.clip(0)", "abs(x)", "g.str.upper()", "o.cat.codes", "np.round(x)"])
def test_what_no_file_may_hold_is_said_when_saving(right):
    with pytest.raises(FormulaError, match="cannot be stored.* Write it with numpy's element-wise") as caught:
        codec.encode(design(right))
    assert "load(" not in str(caught.value)  # there is no file to load


# ------------------------------------------------------------------------------------------------ closed list
ALLOWED = [
    "x",
    "x + z * 2 - 1 / x ** 2 // 3 % 4",
    "-x",
    "~(x > 0) | (z <= 1) & (x != z) ^ (x == 1)",
    "not x",
    "x > 0 and z > 0",
    "np.log1p(np.abs(x))",
    "np.maximum(x, z)",
    "np.where(x > 0, 1, 0)",
    "np.clip(x, a_min=0, a_max=1)",
    "np.pi * x",
    "C(x, Treatment(reference=2), levels=[1, 2, 3])",
    "C(x, Sum)",
    "bs(x, knots=(0.1, 0.5), degree=2, include_intercept=True)",
    'Q("odd name")',
    "numpy.exp(x)",
    "f(x, 3, k='a')",
    "sp.expit(x)",
    "x * 10**9",
    "2**3 * x",
    "C(x, levels=None)",
]
REFUSED = [
    "np.load('model.npy')",
    "np.fromfile('x')",
    "np.save('x', x)",
    "np.loadtxt('x')",
    "np.random.normal(x)",
    "np.linalg.inv(x)",
    "np.vectorize(f)(x)",
    "np.frompyfunc(f, 1, 1)",
    "np.log.reduce(x)",
    "np.add.outer(x, x)",
    "np.matmul(x, x)",
    "np.log(x, out=x)",
    "np.log(x, x)",
    "np.add(x, x, x)",
    "np.clip(x, 0, 1, x)",
    "np.log(x, where=x > 0)",
    "np.log(x, dtype='O')",
    "np.log(*x)",
    "np.log(**x)",
    "np.__dict__",
    "np.__builtins__",
    "np._core",
    "np.log.__class__",
    "np.lib",
    "np",
    "np.log",
    "np.where",
    "C(np)",
    "__import__('os').system('true')",
    "eval('1')",
    "exec('1')",
    "open('x')",
    "getattr(x, 'y')",
    "print(x)",
    "len(x)",
    "x.__class__",
    "x.sum()",
    "x.real",
    "x[0]",
    "x[:]",
    "().__class__",
    "''.join(x)",
    "'{0.__class__}'.format(x)",
    "'%s' % x",
    "f'{x}'",
    "b'x'",
    "1j",
    "...",
    "lambda: 1",
    "(lambda: 1)()",
    "[v for v in x]",
    "{v for v in x}",
    "{'a': x}",
    "{x}",
    "(v for v in x)",
    "x if z else 0",
    "(y := x)",
    "x @ z",
    "x << 3",
    "x >> 3",
    "x in z",
    "x is z",
    "unknown",
    "unknown(x)",
    "sp.other(x)",
    "sp.expit.__call__(x)",
    "f",
    "f.attribute",
    "C",
    "bs",
    "I(np)",
    'Q("unknown")',
    "ContrastMatrix(x, x)",
    "9**9**9",
    "9**9**9 * x",
    "x + (-9)**(9**9)",
    "10**400",
    "2.0**5000",
    "'a' * 10**9",
    "[0] * 10**9",
    "(0,) * 10**9",
    "C(x, levels=[0] * 10**9)",
    "text * 10**9",
    "items * 10**9",
    "nine**nine**nine",
    "1" + "0" * 400,
    "await x",
    "yield x",
]


@pytest.mark.parametrize("code", ALLOWED)
def test_the_closed_list_holds_what_formulas_need(code):
    expressions.check(code, ["x", "z", "odd name"], ["f", "sp.expit"])


@pytest.mark.parametrize("code", REFUSED, ids=lambda code: code[:40])
def test_the_closed_list_refuses_everything_else(code):
    constants = {"text": "a", "items": [0], "nine": 9}
    with pytest.raises(FormulaError):
        expressions.check(code, ["x", "z", "odd name"], ["f", "sp.expit"], constants)


def test_refusals_name_the_expression_and_the_way_out():
    with pytest.raises(
        FormulaError, match=r'"scipy\.special\.expit\(x\)".*load\(path, functions={"scipy\.special\.expit"'
    ):
        expressions.check("x + scipy.special.expit(x)", ["x"])


@pytest.mark.parametrize(
    "code", ["(" * 5000 + "x" + ")" * 5000, "-" * 9000 + "x", "+".join(["x"] * 4900), "x" * 20_000]
)
def test_code_that_is_too_deep_or_long_ends_in_an_error(code):
    for look in (expressions.names, lambda c: expressions.check(c, ["x"])):
        try:
            look(code)
        except FormulaError:
            pass


@pytest.mark.parametrize("code", ["np.load('x')", "x.__class__", "__import__('os')", "9**9**9", "unknown(x)"])
def test_a_tampered_file_evaluates_nothing(code, monkeypatch):
    stored = json.loads(json.dumps(codec.encode(design("np.log(z)"))))
    text = json.dumps(stored).replace("np.log(z)", code.replace('"', "'"))
    monkeypatch.setattr("builtins.eval", lambda *a: pytest.fail("evaluated"))
    with pytest.raises(FormulaError):
        codec.decode(json.loads(text))


def test_tampered_transform_states_are_refused():
    stored = json.dumps(codec.encode(design("center(x)")))
    with pytest.raises(DataError, match="state"):
        codec.decode(json.loads(stored.replace("_count", "transform")))
    with pytest.raises(DataError):
        codec.decode(json.loads(stored.replace("__center__", "__other__")))


@pytest.mark.parametrize("stored", [{}, {"version": "1"}, [], None, {"version": 1}, {"version": 1, "kind": "formula"}])
def test_what_is_no_design(stored):
    with pytest.raises(DataError, match="not a stored design"):
        codec.decode(stored)


def test_a_newer_format_is_refused_by_name():
    stored = codec.encode(design("x"))
    with pytest.raises(DataError, match=f"version {codec.VERSION + 1}"):
        codec.decode({**stored, "version": codec.VERSION + 1})
    response = response_codec.encode_response(BinaryResponse.build("y", [0, 1]))
    with pytest.raises(DataError, match=f"version {codec.VERSION + 1}"):
        response_codec.decode_response({**response, "version": codec.VERSION + 1})


# -------------------------------------------------------------------------------------------------- responses
@pytest.mark.parametrize(
    "values",
    [
        pd.Series([0, 1, 1]),
        pd.Series([0.0, 1.0, 1.0]),
        pd.Series([False, True, True]),
        pd.Series(["no", "yes", "yes"]),
        pd.Series(["no", "yes", "yes"], dtype=object),
        pd.Series(["no", "yes", "yes"], dtype="string"),
        pd.Series([0, 1, 1], dtype="Int64"),
        pd.Series(pd.Categorical(["no", "yes", "yes"], ["yes", "no", "never"], ordered=True)),
        pd.Series(pd.Categorical([1, 2, 2])),
        pd.Series([0.25, 0.5, 1.0]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_labels_come_back(values):
    before = BinaryResponse.build("y", values)
    after = response_codec.decode_response(json.loads(json.dumps(response_codec.encode_response(before))))
    assert after.y is None and after.trials is None
    for name in ("kind", "name", "levels", "event", "notes"):
        assert getattr(after, name) == getattr(before, name)
    assert after.describe() == before.describe()
    pd.testing.assert_series_equal(pd.Series(after.decode([True, False])), pd.Series(before.decode([True, False])))


def test_what_is_no_response():
    with pytest.raises(DataError, match="not a stored response"):
        response_codec.decode_response({"version": 1})


@pytest.mark.parametrize(
    "value",
    [1, -(2**62), 0.1, 1e-320, -0.0, float("inf"), "ü", True, None, [1, 2.0], (1, "a"), np.float64(1 / 3), np.int64(7)],
)
def test_values_keep_type_and_bits(value):
    again = codec.unpack(json.loads(json.dumps(codec.pack(value), allow_nan=False)))
    assert type(again) is type(value) and repr(again) == repr(value)


def test_arrays_keep_shape_dtype_and_bits():
    for array in (
        np.random.default_rng(0).normal(size=(3, 4)),
        np.array([np.nan, np.inf]),
        np.arange(3),
        np.zeros((0, 2)),
    ):
        again = codec.unpack(json.loads(json.dumps(codec.pack(array), allow_nan=False)))
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)
    with pytest.raises(DataError, match="datetime"):
        codec.pack(datetime.datetime(2020, 1, 1))


LABELS = [
    pd.Interval(0.1, 1 / 3, closed="left"),
    pd.Interval(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")),
    pd.Timestamp("2020-02-29 12:00:00.123456789"),
    pd.Timestamp("2020-02-29").as_unit("s"),
    pd.Timestamp("2020-10-25 00:30", tz="UTC").tz_convert("Europe/Berlin"),  # the hour that occurs twice
    pd.Timestamp("2020-10-25 01:30", tz="UTC").tz_convert("Europe/Berlin"),
    pd.Timedelta("-3 days 00:00:00.5"),
    pd.Period("2020Q3"),
    pd.Period("2020-01-31", "D"),
    datetime.date(1969, 12, 31),
]


@pytest.mark.parametrize("label", LABELS, ids=repr)
def test_intervals_dates_and_spans_come_back_as_they_were(label):
    found = codec.unpack(json.loads(json.dumps(codec.pack([label, (label, 1)]))))
    assert found == [label, (label, 1)] and type(found[0]) is type(label) and str(found[0]) == str(label)
    assert hash(found[0]) == hash(label) and getattr(found[0], "unit", "") == getattr(label, "unit", "")


@pytest.mark.parametrize(
    "stored",
    [
        {"time": "2020-01-01", "unit": "ns", "zone": "dateutil//etc/passwd"},
        {"time": "2020-01-01", "unit": "ns", "zone": "../../etc/passwd"},
        {"time": 5, "unit": "ns", "zone": None},
        {"time": "yesterday or so", "unit": "ns", "zone": None},
        {"interval": [1], "closed": "left"},
        {"interval": [2, 1], "closed": "left"},
        {"period": 3, "freq": "fortnight"},
        {"date": "2020-13-01"},
        {"span": "x", "unit": "ns"},
    ],
)
def test_labels_that_are_none_are_refused(stored):
    with pytest.raises(DataError):
        codec.unpack(stored)
