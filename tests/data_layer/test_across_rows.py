"""Code that looks across rows, integers that would wrap around, categories without an order, masked arrays."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import special

import glmclf


@pytest.fixture(scope="module")
def table():
    g = np.random.default_rng(4)
    n = 120
    t = pd.DataFrame({"x": g.normal(size=n), "z": g.normal(size=n), "k": g.integers(1, 5, n)})
    t["y"] = (g.random(n) < 0.5).astype(int)
    t.loc[t.k == 1, "z"] = np.nan
    return t


ACROSS = {
    "x.shift(1).fillna(0)": lambda t: t.x.shift(1).fillna(0),
    "x.shift(1)": lambda t: t.x.shift(1),
    "x.cumsum()": lambda t: t.x.cumsum(),
    "x.rank()": lambda t: t.x.rank(),
    "np.cumsum(x)": lambda t: np.cumsum(t.x),
}


@pytest.mark.parametrize("code", ACROSS)
def test_a_lag_is_that_of_the_table_not_of_the_complete_rows(table, code):
    beforehand = table.assign(v=ACROSS[code](table))
    found = glmclf.Logit.from_formula(f"y ~ {code} + z", table).fit()
    right = glmclf.Logit.from_formula("y ~ v + z", beforehand).fit()
    assert found.nobs == right.nobs == beforehand[["v", "z"]].notna().all(axis=1).sum()
    np.testing.assert_allclose(found.params, right.params, rtol=1e-10)
    np.testing.assert_allclose(found.predict(table), right.predict(beforehand), rtol=1e-10)


def test_weights_that_repeat_rows_are_refused_where_rows_look_at_others(table):
    with pytest.raises(NotImplementedError, match="x.rank.*freq_weights"):
        glmclf.Logit.from_formula("y ~ x.rank()", table, freq_weights="k")


def test_weights_that_repeat_rows_suit_a_function_of_the_row(table):
    def square(v):
        return v**2

    found = glmclf.Logit.from_formula("y ~ square(x)", table, freq_weights="k").fit()
    expanded = table.loc[table.index.repeat(table.k)]
    right = glmclf.Logit.from_formula("y ~ I(x**2)", expanded).fit()
    np.testing.assert_allclose(found.params, right.params, rtol=1e-10)


def test_products_of_integers_do_not_wrap_around(table):
    large = table.assign(i=table.k * 3_000_000 + 1)
    found = glmclf.Logit.from_formula("y ~ I(i**3)", large).fit()
    right = glmclf.Logit.from_formula("y ~ I(i**3)", large.astype({"i": float})).fit()
    assert found.llf == right.llf and (found.params == right.params).all()


@pytest.mark.parametrize("first", ["yes", "no"])
def test_the_order_of_rows_decides_no_event(first):
    polars = pytest.importorskip("polars")
    labels = [first] + ["no", "yes", "yes"] * 20
    frame = polars.DataFrame({"a": labels, "x": np.sin(np.arange(61))})
    loose = frame.with_columns(polars.col("a").cast(polars.Categorical))
    arrow = loose.to_arrow()
    for data in (loose, arrow):
        assert "a = 'yes'" in glmclf.Logit.from_formula("a ~ x", data).fit().summary().as_text()


def test_masked_values_are_missing(table):
    X = np.ma.masked_array(np.column_stack([np.ones(len(table)), table.x]), mask=False)
    X.mask[:5, 1] = True
    found = glmclf.Logit(table.y.to_numpy(), X).fit()
    right = glmclf.Logit(table.y.to_numpy()[5:], X.data[5:]).fit()
    assert found.nobs == len(table) - 5
    np.testing.assert_array_equal(found.params, right.params)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e155, 1e300])
def test_sampling_weights_of_any_scale(table, scale):
    w = np.random.default_rng(1).gamma(2.0, size=len(table))
    one = glmclf.Logit.from_formula("y ~ x", table, weights=w).fit()
    other = glmclf.Logit.from_formula("y ~ x", table, weights=w * scale).fit()
    np.testing.assert_allclose(other.params, one.params, rtol=1e-10)
    np.testing.assert_allclose(other.bse, one.bse, rtol=1e-10)


def test_rows_in_another_order_are_refused(table):
    for formula in ("y ~ x.sort_values()", "y ~ x[::-1]", "y[::-1] ~ x"):
        with pytest.raises(ValueError, match="another order"):
            glmclf.Logit.from_formula(formula, table)


@pytest.mark.parametrize("value", [np.zeros(7), 3.0, "text", np])
def test_a_variable_of_the_caller_that_is_no_column_says_so(table, value):
    other = value  # noqa: F841
    with pytest.raises(ValueError, match="other"):
        glmclf.Logit.from_formula("y ~ other", table)


# ------------------------------------------------------------------------------------------------ data in parts
def filled(v):
    return v.fillna(v.mean())


def labels(v):
    return v.index


@glmclf.rowwise
def marked(v):
    return v.str.startswith("a")


@glmclf.rowwise
def lengths(v):
    known = v.dropna().unique()
    return v.map(dict(zip(known, np.vectorize(len)(known), strict=True)))  # an error where all are missing


def capped(v):
    return np.where(v > 50, np.max(v), v)


class Unlike(dict):
    """Of which a missing key has a value."""

    def __missing__(self, key):
        return 0.0


HERE = {
    "filled": filled, "marked": marked, "lengths": lengths, "capped": capped, "named": Unlike(a=1.0),
    "edges": [-1.0, 0.0, 1.0], "top": np.arange(9.0), "settings": pd.Series({"top": 8.0}), "seen": {},
    "bounded": glmclf.rowwise(lambda v: min(v, 0.5)), "special": special,
}  # fmt: skip
LOOKING = (
    "c.where(c < 5, c.max())", "np.where(c < 9, c, c.max())", "x.fillna(x.mean())", "x.fillna(w.sum())", "filled(x)",
    "x.ffill()", "x.interpolate()", "I(1.0 * id.duplicated())", "g.map(g.value_counts())", "g.isin(g[:3])",
    "c.where(c < 9, len(c))", "c.where(c < 9, c.size)", "c.where(c < 9, c.index)", "np.where(c < 9, c, x @ w)",
    "c.isin(set(c))", "np.isin(c, id)", "x.groupby(id).transform('mean')",
    "c.where(c < 9, sorted(c))", "x.apply(lambda v: v if v < 9 else x.max())",
    'Q("odd name").fillna(Q("odd name").median())', "np.maximum(x, np.quantile(x, 0.0))",
    "bs(x.fillna(x.mean()), df=4)",
    "np.max(np.column_stack([x, w]), axis=0)[0] + x", "np.maximum.accumulate(id)", "C(pd.qcut(x, 3, labels=False))",
    "x.fillna(0, limit=1)", "np.digitize(w, x)", "x.apply(lambda v, most=w: v)", "x.map(lambda v: seen.get(v))",
    "x.map(lambda v, seen=set(): v in seen or seen.add(v))", "np.add.accumulate(x)", "special.expit(x, w)",
    "special.expit.accumulate(x)", "np.nan_to_num(x, copy=False)", "cut(x, filled(w))", "x.apply('rank')",
)  # fmt: skip
ALONE = (
    "x.fillna(0)", "x.where(x < 1, 1)", "x.clip(upper=1)", "x.isin([1, 2])", "g.str.upper()", "g.str.len() + x",
    "g.str[0]", "x.apply(lambda v: max(v, 0))", "g.map(named)", "marked(g)", "np.where(marked(g), 1, 0)", "lengths(g)",
    "np.column_stack([x, w])", "x.combine_first(w)", "np.digitize(w, edges)", "x.where(x < 9, settings.top)",
    "x.where(x < 9, top.max())",
    "C(c.astype(str))", "x.values", "c.astype(float)", 'Q("odd name").round()', "x.isna()", "x.where(x < 9, edges[1])",
    "np.searchsorted(edges, w)", "x.between(0, 1)", "x.map(str)", "np.nan_to_num(x)", "abs(x)",
    "np.interp(w, edges, edges)",
    "special.expit(x)", "x.map(lambda v: bounded(v))", "bs(w, knots=edges, lower_bound=-9, upper_bound=9)",
)  # fmt: skip
NOT_KNOWN = {
    "g.str.extract('(.)')[0]": "g.str.extract('(.)')[0]", "np.max([x, w], axis=0)": "np.max([x, w], axis=0)",
    "np.max(np.column_stack([x, w]), axis=1)": "np.max(np.column_stack([x, w]), axis=1)",
    "np.column_stack([x, w])[:, 1]": "np.column_stack([x, w])[:, 1]", "np.modf(w)[0]": "np.modf(w)[0]",
    "pd.cut(w, edges, labels=False).fillna(7)": "pd.cut(w, edges, labels=False)",
    "x.rename('other')": "x.rename('other')", "I(x + np.modf(w)[0])": "np.modf(w)[0]",
}  # fmt: skip  # though they are of each row alone: with the piece that is not on the list


@pytest.fixture(scope="module")
def part():
    """The first of parts: nothing of it is missing or large, and no row is there twice."""
    g = np.random.default_rng(7)
    t = pd.DataFrame({"x": g.normal(size=50), "w": g.normal(size=50), "id": np.arange(50), "c": np.arange(50) % 5})
    return t.assign(g=g.choice(["a", "b-c"], 50), **{"odd name": t.w, "y": t.c % 2})


def bound(code, table):
    """A factor with its names."""
    from glmclf.data.formula.factors import resolve

    return resolve(code, table.columns, {**HERE, "pd": pd})


def value(code, table):
    """What a factor is, by row."""
    from glmclf.data.formula.evaluate import value_of
    from glmclf.data.formula.memory import memorise
    from glmclf.data.table.frame import read_column

    e = bound(code, table)
    if e.remembers:
        e.prepare()
        memorise(e, {name: read_column(table[name], name) for name in e.columns})
    found = value_of(e, {name: read_column(table[name], name) for name in e.columns}, len(table)).data
    return np.array(found.tolist()) if isinstance(found, pd.Categorical) else found


@pytest.mark.parametrize("code", LOOKING)
def test_code_that_looks_across_rows(code, part):
    assert bound(code, part).unknown
    with pytest.raises(NotImplementedError, match=r"depends on other rows.*glmclf\.rowwise"):
        glmclf.Logit._from_formula(f"y ~ {code}", lambda: iter([part[:25], part[25:]]), {**HERE, "pd": pd})


@pytest.mark.parametrize("code", ALONE)
def test_code_of_each_row_alone(code, part):
    assert not bound(code, part).unknown
    if "bs(" not in code:
        np.testing.assert_array_equal(
            np.concatenate([value(code, rows) for rows in (part[:7], part[7:])]), value(code, part)
        )


@pytest.mark.parametrize("code", NOT_KNOWN)
def test_code_off_the_list_is_refused_with_the_piece(code, part):
    from glmclf.data.formula.across import factor_across

    e = bound(code, part)
    assert e.unknown == NOT_KNOWN[code] and "declared by f = glmclf.rowwise(f)" in str(factor_across(e))
    assert (f'("{NOT_KNOWN[code]}")' in str(factor_across(e))) == (code != NOT_KNOWN[code])


def test_functions_are_named():
    from glmclf.data.formula.across import factor_across

    t = pd.DataFrame({"x": [1.0]})
    for code in (
        "filled(x)",
        "np.log(1 + filled(x))",
        "center(filled(x))",
        "x.map(filled)",
        "np.where(x > 0, filled(x), 0)",
    ):
        with pytest.raises(NotImplementedError, match=r"filled = glmclf\.rowwise\(filled\)"):
            raise factor_across(bound(code, t))


ASKING = (
    "x > x.mean()", "c == c.max()", "x.rank() > 3", "not id.duplicated()", "c > c.shift()",
    "`odd name` > `odd name`.min()", "c < 9 or c < c.max()", "c < @capped(c) + @filled(x)", "c in id",
    "x.fillna(x.median()) > 0", "id.isin(c)",
)  # fmt: skip
ASKING_ALONE = (
    "x > 0", "g in ['a', 'q']", "g.str.startswith('a')", "`odd name` > @edges[1]", "x < @settings.top", "abs(x) > 1",
    "x.isna()", "not g.str.contains('@|`')", "x > 0 & c < 3", "g == 'a.b()'", "x.abs().between(0, 1)",
    "id not in [1, 2]", "@marked(g)", "c in @edges", "log1p(abs(x)) < 1",
)  # fmt: skip


@pytest.mark.parametrize("query", [*ASKING, *ASKING_ALONE])
def test_queries_that_look_across_rows(query, part):
    from glmclf.data.formula.across import Query

    assert bool(Query(query, HERE).unknown) == (query in ASKING)
    if query in ASKING_ALONE:
        assert glmclf.data.formula.evaluate.queried(query, part, HERE).dtype == bool


def test_a_query_is_refused_with_the_piece(part):
    for query, piece in {
        "x > 0 and x < @top.max()": r'\("@top.max\(\)"\)',
        "@filled(x) > 0": r"filled = glmclf\.rowwise\(filled\)",
    }.items():
        with pytest.raises(NotImplementedError, match=f"depends on other rows.*{piece}"):
            glmclf.Logit._from_formula("y ~ w", lambda: iter([part]), HERE, subset=query)


@pytest.mark.parametrize("first", ["void", "empty"])
@pytest.mark.parametrize(
    "code", ["x.fillna(x.mean())", "filled(x)", "bs(x.fillna(x.mean()), df=4)", "I(1.0 * id.duplicated())"]
)
def test_code_looks_across_rows_whatever_the_first_part_holds(code, first, part):
    before = part.assign(x=np.nan, w=np.nan, g=None) if first == "void" else part[:0]
    with pytest.raises(NotImplementedError, match="depends on other rows"):
        glmclf.Logit._from_formula(f"y ~ {code}", lambda: iter([before, part]), HERE)


@pytest.mark.parametrize("code", ["txt.str.contains('A')", "txt.str.isupper()", "np.where(txt.str.match('A'), 1, 0)"])
def test_text_that_is_missing_in_one_part(code, part):
    text = part.assign(txt=np.where(part.w > 0, "A", "cd")).astype({"txt": "str"})
    text.loc[20:24, "txt"] = None
    found = glmclf.Logit.from_formula(f"y ~ x + {code}", lambda: iter([text[:20], text[20:25], text[25:]])).fit()
    right = glmclf.Logit.from_formula(f"y ~ x + {code}", text).fit()
    assert found.nobs == right.nobs and found.llf == pytest.approx(right.llf, rel=1e-10)


ROWS, EDGES = np.arange(25.0), np.array([-1.0, 0.0, 1.0])


@pytest.mark.parametrize("parts", [(25, 50), (20, 50)])
@pytest.mark.parametrize(
    ("formula", "subset"),
    [("y ~ ROWS", None), ("y ~ x + I(x * ROWS)", None), ("y ~ center(x - ROWS)", None), ("y ~ x", "x > @ROWS")],
)
def test_an_array_of_the_callers_has_no_rows_in_parts(part, parts, formula, subset):
    tables = [part[: parts[0]], part[parts[0] :]]
    with pytest.raises(NotImplementedError, match=r'"ROWS" \(25 values\) is such, must be a column of the data'):
        glmclf.Logit.from_formula(formula, lambda: iter(tables), subset=subset)


def test_arrays_that_are_settings(part):
    halves = lambda: iter([part[:25], part[25:]])
    for formula in ("y ~ np.digitize(w, EDGES)", "y ~ bs(w, knots=EDGES)", "y ~ w + np.isin(c, EDGES)"):
        found, right = (glmclf.Logit.from_formula(formula, data).fit() for data in (halves, part))
        assert found.llf == pytest.approx(right.llf, rel=1e-10)


def test_truth_of_two_types_is_told_apart(part):
    tables = [part[:25].assign(t=part.x > 0), part[25:].assign(t=(part.x > 0).astype("category"))]
    with pytest.raises(ValueError, match='"t" is True and False in part 1 and a categorical of True and Fal'):
        glmclf.Logit.from_formula("y ~ t", lambda: iter(tables))


LISTED = (
    "x.clip(0, 1)", "g.str.upper() == 'A'", "x.isin([1, 2])", "g.map({'a': 1})", "x.between(0, 1)", "d.dt.month",
    "x.fillna(0).round(2)", "np.isin(x, [1])", "center(x.abs())", "g.isin(named)", "x.astype(int)", "g.str[0]",
    "g in ['a', 'b'] and x > limit", "d.dt.floor('D') - d", "np.where(x.isna(), z, x)", "g.map(lambda v: v)",
)  # fmt: skip
OFF_THE_LIST = (
    "x.rank()", "x.fillna(x.mean())", "g.str.cat()", "g.str.get_dummies()", "x.isin(z)", "x in z", "f(x)", "x.index",
    "x + named", "x.fillna(method='ffill')[0]", "x.map(f)", "x.astype('category')", "x[::-1]", "x.values[0] * x",
    "g.str.split('a', expand=True)", "x.fillna(array)", "g.map(lambda v: x)", "x.clip(upper=x.max())",
    "x.fillna(method='ffill')",
)  # fmt: skip


def test_the_list_of_code_of_each_row_alone():
    from glmclf.data.formula.rowwise import unknown

    caller = {"named": {"a": 1}, "limit": 0.5, "array": np.arange(3.0), "f": filled}
    known = [code for code in (*LISTED, *OFF_THE_LIST) if not unknown(code, ["x", "z", "g", "d"], caller)]
    assert known == list(LISTED)


def test_functions_are_called_once_a_part_and_pass(part):
    calls = []

    @glmclf.rowwise
    def seen(v):
        calls.append(len(v))
        return v

    source = lambda: (part[i % 10 : i % 10 + 30] for i in range(50))
    glmclf.Logit.from_formula("y ~ seen(x)", source)
    assert set(calls) == {30} and len(calls) <= 4 * 50


def test_parts_without_rows_are_not_evaluated(part):
    @glmclf.rowwise
    def named(v):
        return np.vectorize(lambda u: "hi" if u > 1 else "lo")(v)

    found = glmclf.Logit.from_formula("y ~ named(c)", lambda: iter([part[:20], part[:0], part[20:]])).fit()
    right = glmclf.Logit.from_formula("y ~ named(c)", part).fit()
    assert found.llf == pytest.approx(right.llf, rel=1e-12) and found.nobs == 50


@pytest.mark.parametrize(
    ("model", "formula"),
    [
        (glmclf.Logit, "y ~ capped(x)"),
        (glmclf.Logit, "y ~ bs(capped(x), df=4, upper_bound=99, lower_bound=-9)"),
        (glmclf.NaiveBayes, "y ~ capped(x)"),
    ],
)
def test_a_function_that_is_not_declared(model, formula, part):
    later = part.assign(x=np.linspace(40, 80, 50))
    with pytest.raises(
        NotImplementedError, match=r"capped.* depends on other rows.*capped = glmclf\.rowwise\(capped\)"
    ):
        model.from_formula(formula, lambda: iter([part, later]))


def test_a_query_of_a_function_that_is_not_declared(part):
    later = part.assign(x=np.linspace(40, 80, 50))
    with pytest.raises(
        NotImplementedError, match=r'subset="@capped\(x\) < 70" .*depends on other rows.*glmclf\.rowwise'
    ):
        glmclf.Logit.from_formula("y ~ w", lambda: iter([part, later]), subset="@capped(x) < 70")


def bounded(v, most=0.5):
    return np.minimum(v, most)


class Shift:
    """Of which a method is used."""

    def __init__(self, by):
        self.by = by

    def moved(self, v):
        return np.abs(v - self.by)


@pytest.mark.parametrize(
    "function",
    [bounded, functools.partial(bounded, most=0.1), lambda v: bounded(v), np.vectorize(bounded), Shift(0.3).moved],
)
def test_declared_functions_over_data_in_parts(function, part, tmp_path):
    f = glmclf.rowwise(function)
    later = part.assign(x=part.x + 1)
    both = pd.concat([part, later], ignore_index=True)
    for formula, subset in (("y ~ f(x) + center(f(w))", None), ("y ~ x", "@f(x) > -0.2")):
        data = lambda: iter([part, later])
        found, right = (glmclf.Logit._from_formula(formula, d, {"f": f}, subset=subset).fit() for d in (data, both))
        np.testing.assert_allclose(found.params, right.params, rtol=1e-10)
        np.testing.assert_allclose(found.bse, right.bse, rtol=1e-10)
        rows = pd.concat(list(found.augment(data)))
        np.testing.assert_allclose(rows[".fitted"], found.predict(both), rtol=1e-12)
        if subset is None:
            found.save(tmp_path / "f.json")
            loaded = glmclf.load(tmp_path / "f.json", functions={"f": f})
            np.testing.assert_array_equal(loaded.predict(both), found.predict(both))
            np.testing.assert_allclose(pd.concat(list(loaded.augment(data)))[".fitted"], rows[".fitted"], rtol=1e-12)


def test_a_function_of_a_loaded_fit_is_declared_anew(part, tmp_path):
    glmclf.Logit.from_formula("y ~ capped(x)", part).fit().save(tmp_path / "f.json")
    loaded = glmclf.load(tmp_path / "f.json", functions={"capped": capped})
    with pytest.raises(NotImplementedError, match="glmclf.rowwise"):
        list(loaded.augment(lambda: iter([part])))


def test_declared_functions_are_pickled_as_functions(part):
    import pickle

    cloudpickle = pytest.importorskip("cloudpickle")
    from glmclf.data.formula.rowwise import is_rowwise

    assert pickle.loads(pickle.dumps(marked)) is marked and glmclf.rowwise(marked) is marked
    for f in (functools.partial(capped), lambda v: 2 * v, Shift(1.0).moved, math.sqrt):
        again = cloudpickle.loads(cloudpickle.dumps(glmclf.rowwise(f)))
        assert is_rowwise(again) and again(4.0) == f(4.0)
    assert is_rowwise(np.exp) and is_rowwise(special.expit) and glmclf.rowwise(np.exp) is np.exp
    assert not is_rowwise(np.matmul) and not is_rowwise(capped)
    fit = glmclf.Logit.from_formula("y ~ lengths(g)", part).fit()
    assert is_rowwise(
        pickle.loads(pickle.dumps(fit)).model._design.factors["lengths(g)"].expression.borrowed["lengths"]
    )


@pytest.mark.parametrize("bad", [3, "f", None])
def test_only_functions_are_declared(bad):
    with pytest.raises(TypeError, match="takes a function of columns"):
        glmclf.rowwise(bad)
    import patsy

    with pytest.raises(TypeError, match="remembers rows"):
        glmclf.rowwise(patsy.center)


@pytest.mark.parametrize("array", [np.arange(25.0), list(range(25)), pd.Series(np.arange(25.0))])
def test_declared_functions_take_no_array_with_a_value_a_row(part, array):
    f = glmclf.rowwise(lambda v, w: v + np.asarray(w))
    with pytest.raises(NotImplementedError, match=r'"array" \(25 values\) is such, must be a column of the data'):
        glmclf.Logit.from_formula("y ~ f(x, array)", lambda: iter([part[:25], part[25:]]))
    assert f is not None


def test_names_of_transforms_are_functions_of_the_callers(part):
    def sigmoid(v):
        return v / v.max()

    with pytest.raises(NotImplementedError, match=r"sigmoid = glmclf\.rowwise"):
        glmclf.Logit.from_formula("y ~ sigmoid(x)", lambda: iter([part[:25], part[25:]]))


def test_labels_of_rows_in_a_query(part, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    part.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(NotImplementedError, match='"index", the labels of rows, .*CSV "t.csv"'):
        glmclf.Logit.from_formula("y ~ w", tmp_path / "t.csv", subset="index > 20")
    for query in ("x.index > 20", "c.index < 10 and x > 0"):
        with pytest.raises(NotImplementedError, match='"index", the labels of rows'):
            glmclf.Logit.from_formula("y ~ w", lambda: iter([part[:9], part[9:]]), subset=query)
    with pytest.raises(NotImplementedError, match=r"labels = glmclf\.rowwise\(labels\)"):
        glmclf.Logit.from_formula("y ~ w", lambda: iter([part[:9], part[9:]]), subset="@labels(x) > 1000")
    for query in ("index > 20", "x.index > 20"):
        found = glmclf.Logit.from_formula("y ~ w", dd.from_pandas(part, npartitions=3), subset=query).fit()
        np.testing.assert_allclose(found.params, glmclf.Logit.from_formula("y ~ w", part[21:]).fit().params, rtol=1e-10)
    named = part.rename(columns={"id": "index"})
    found = glmclf.Logit.from_formula("y ~ w", lambda: iter([named[:9], named[9:]]), subset="index > 20").fit()
    assert found.nobs == 29


def test_new_data_in_parts(part):
    later = part.assign(x=np.linspace(40, 80, 50))
    fit = glmclf.Logit.from_formula("y ~ capped(x)", part).fit()
    declared = glmclf.Logit._from_formula(
        "y ~ bounded(x)", part, {"bounded": glmclf.rowwise(lambda v: bounded(v))}
    ).fit()
    both = pd.concat([part, later], ignore_index=True)
    for go in (
        lambda r, new: pd.concat(list(r.augment(new)) if callable(new) else [r.augment(new)])[".fitted"],
        lambda r, new: r.roc(new).auc,
        lambda r, new: r.get_margeff(newdata=new).margeff,
        lambda r, new: r.pred_table(newdata=new),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match=r"capped.* depends on other rows.*glmclf\.rowwise"):
            go(fit, lambda: iter([part, later]))
        np.testing.assert_allclose(go(declared, lambda: iter([part, later])), go(declared, both), rtol=1e-10)


@pytest.mark.parametrize(
    "code, by_hand",
    [
        ("I(x * t.dt.month)", lambda t: t.x * t.t.dt.month),
        ("x.where(t.dt.month > 6, 0)", lambda t: t.x.where(t.t.dt.month > 6, 0)),
        ("t.dt.month", lambda t: t.t.dt.month),
        ("I((t > '2020-07-01') & (x > 0))", lambda t: ((t.t > "2020-07-01") & (t.x > 0)).astype(int)),
    ],
)
@pytest.mark.parametrize("model", [glmclf.Logit, glmclf.NaiveBayes])
def test_dates_go_by_place_and_not_by_labels_of_rows(table, code, by_hand, model):
    days = np.random.default_rng(5).integers(0, 365, len(table))
    whole = table.assign(t=pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))
    shuffled = whole.sample(frac=1, random_state=6)
    for t in (shuffled, whole[20:], whole.set_axis(whole.index + 5), whole.set_axis([0] * len(whole))):
        right = model.from_formula("y ~ v", t.assign(v=by_hand(t))).fit()
        res = model.from_formula(f"y ~ {code}", t).fit()
        for new in (shuffled, shuffled[:7]):
            known = right.predict(new.assign(v=by_hand(new)))
            np.testing.assert_allclose(np.asarray(res.predict(new)), np.asarray(known), rtol=1e-7)


def test_rows_of_the_callers_are_not_matched_by_labels(table):
    turned = table.dropna().iloc[::-1]
    known = glmclf.Logit.from_formula("y ~ v", turned.assign(v=turned.x + turned.z)).fit()
    for code in ("I(x.abs() + turned['z'])", "x.where(turned.z > 0, 0)", "x.add(turned.z)"):
        with pytest.raises(glmclf.errors.DataError, match=r"turned.*labels of rows.*to_numpy\(\)"):
            glmclf.Logit.from_formula(f"y ~ {code}", turned)
    for code in ("I(x + turned.z)", "I(x + turned.z.to_numpy())", "I(x + turned.z.values)", "I(x + z)"):
        found = glmclf.Logit.from_formula(f"y ~ {code}", turned).fit()
        np.testing.assert_allclose(found.params, known.params, rtol=1e-9)
    mean = glmclf.Logit.from_formula("y ~ I(x - turned.x.mean())", turned).fit()
    np.testing.assert_allclose(mean.llf, glmclf.Logit.from_formula("y ~ x", turned).fit().llf, rtol=1e-12)
