"""Code that looks across rows, integers that would wrap around, categories without an order, masked arrays."""

import numpy as np
import pandas as pd
import pytest

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
    "I(x - x.mean())": lambda t: t.x - t.x.mean(),
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


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e155])
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


def marked(v):
    return v.str.startswith("a")


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
    "edges": [-1.0, 0.0, 1.0], "top": np.arange(9.0),
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
)  # fmt: skip
ALONE = (
    "x.fillna(0)", "x.where(x < 1, 1)", "x.clip(upper=1)", "x.isin([1, 2])", "g.str.upper()", "g.str.len() + x",
    "g.str[0]", "g.str.extract('(.)')[0]", "x.apply(lambda v: max(v, 0))", "np.max([x, w], axis=0)", "g.map(named)",
    "marked(g)", "np.where(marked(g), 1, 0)", "lengths(g)",
    "np.max(np.column_stack([x, w]), axis=1)", "np.column_stack([x, w])[:, 1]", "x.combine_first(w)", "np.modf(w)[0]",
    "np.digitize(w, edges)", "x.where(x < 9, top.max())", "C(c.astype(str))", "x.values", "c.astype(float)",
    "pd.cut(w, edges, labels=False).fillna(7)", 'Q("odd name").round()', "[v if v == v else 0 for v in x]", "x.isna()",
    "np.searchsorted(edges, w)", "x.between(0, 1)", "x.rename('other')", "x.map(str)", "np.nan_to_num(x)",
)  # fmt: skip


@pytest.fixture(scope="module")
def part():
    """The first of parts: nothing of it is missing or large, and no row is there twice."""
    g = np.random.default_rng(7)
    t = pd.DataFrame({"x": g.normal(size=50), "w": g.normal(size=50), "id": np.arange(50), "c": np.arange(50) % 5})
    return t.assign(g=g.choice(["a", "b-c"], 50), **{"odd name": t.w, "y": t.c % 2})


def across(code, table):
    """Whether a factor is found to look across rows, as over a stream."""
    from glmclf.data.formula.across import code_looks_across, looks_across
    from glmclf.data.formula.factors import resolve
    from glmclf.data.table.frame import read_column

    e = resolve(code, table.columns, {**HERE, "pd": pd})
    if e.remembers:
        e.prepare()
        from glmclf.data.transforms.memory import memorise

        memorise(e, {name: read_column(table[name], name) for name in e.columns})
    columns = {name: read_column(table[name], name) for name in e.columns}
    return code_looks_across(e, table) or looks_across(e, columns, len(table))


@pytest.mark.parametrize("code", LOOKING)
def test_code_that_looks_across_rows_though_the_first_do_not_show_it(code, part):
    assert across(code, part)


@pytest.mark.parametrize("code", ALONE)
def test_code_of_each_row_alone(code, part):
    assert not across(code, part)


ASKING = (
    "x > x.mean()", "c == c.max()", "x.rank() > 3", "not id.duplicated()", "c > c.shift()",
    "`odd name` > `odd name`.min()", "c < 9 or c < c.max()", "c < @capped(c) + @filled(x)", "c in id",
    "x.fillna(x.median()) > 0", "id.isin(c)",
)  # fmt: skip
ASKING_ALONE = (
    "x > 0", "g in ['a', 'q']", "g.str.startswith('a')", "`odd name` > @edges[1]", "x < @top.max()", "abs(x) > 1",
    "x.isna()", "not g.str.contains('@|`')", "x > 0 & c < 3", "g == 'a.b()'", "x.abs().between(0, 1)",
    "id not in [1, 2]",
)  # fmt: skip


@pytest.mark.parametrize("query", [*ASKING, *ASKING_ALONE])
def test_queries_that_look_across_rows(query, part):
    from glmclf.data.formula.across import Query

    assert Query(query, HERE).code_looks_across(part) == (query in ASKING)
    if query in ASKING_ALONE:
        assert glmclf.data.formula.evaluate.queried(query, part, HERE).dtype == bool


def bound(code, table):
    """A factor with its names, its transforms before they have seen rows."""
    from glmclf.data.formula.factors import resolve

    return resolve(code, table.columns, {**HERE, "pd": pd})


@pytest.fixture(scope="module")
def void(part):
    """A first part of the same types of which everything is missing, but whole numbers, and one without rows."""
    empty = {"x": np.nan, "w": np.nan, "g": None, "odd name": np.nan}
    return part.assign(**empty), part[:0]


@pytest.mark.parametrize("code", [c for c in LOOKING if "filled" not in c and "capped" not in c and "c < 9" not in c])
def test_code_looks_across_rows_whatever_the_first_part_holds(code, void):
    from glmclf.data.formula.across import code_looks_across

    assert [code_looks_across(bound(code, first), first) for first in void] == [True, True]


@pytest.mark.parametrize("code", ALONE)
def test_code_of_each_row_alone_whatever_the_first_part_holds(code, void):
    from glmclf.data.formula.across import code_looks_across

    assert not code_looks_across(bound(code, void[0]), void[0])


def test_queries_about_a_first_part_without_values(void):
    from glmclf.data.formula.across import Query

    for query in ("@filled(x) > 0", "c in id", "x.fillna(w.mean()) > 0"):
        assert all(Query(query, HERE).code_looks_across(first) for first in void), query
    for query in ("x > 0", "g.str.startswith('a')", "x.clip(0, 1) > @edges[1]", "c in [1, 2]"):
        assert not any(Query(query, HERE).code_looks_across(first) for first in void), query


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
    "g in ['a', 'b'] and x > limit", "d.dt.floor('D') - d", "np.where(x.isna(), z, x)",
)  # fmt: skip
OFF_THE_LIST = (
    "x.rank()", "x.fillna(x.mean())", "g.str.cat()", "g.str.get_dummies()", "x.isin(z)", "x in z", "f(x)", "x.index",
    "x + named", "x.fillna(method='ffill')[0]", "x.map(f)", "x.astype('category')", "x[::-1]", "x.values[0] * x",
    "g.str.split('a', expand=True)", "x.fillna(array)", "g.map(lambda v: v)", "x.clip(upper=x.max())",
)  # fmt: skip


def test_the_list_of_code_of_each_row_alone():
    from glmclf.data.formula.expressions import alone

    caller = {"named": {"a": 1}, "limit": 0.5, "array": np.arange(3.0), "f": filled}
    known = [code for code in (*LISTED, *OFF_THE_LIST) if alone(code, ["x", "z", "g", "d"], caller)]
    assert known == list(LISTED)


def test_code_on_the_list_is_not_tried_and_other_code_less_in_later_parts(part, monkeypatch):
    calls = []

    def seen(v):
        calls.append(len(v))
        return v

    source = lambda: (part[i % 10 : i % 10 + 30] for i in range(50))
    glmclf.Logit.from_formula("y ~ seen(x)", source)
    assert sum(n == 1 for n in calls) <= 20 * (20 + 6) and len(calls) < 900
    from glmclf.data.formula import across

    monkeypatch.setattr(across, "_shown", lambda *_: pytest.fail("it was tried"))
    glmclf.Logit.from_formula("y ~ x.clip(0, 1) + g.str.upper()", source, subset="g.isin(['a', 'b-c']) and c > 0")


def test_parts_without_rows_are_not_evaluated(part):
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
def test_a_function_that_looks_across_rows_in_a_later_part(model, formula, part):
    later = part.assign(x=np.linspace(40, 80, 50))
    with pytest.raises(NotImplementedError, match="part 2 of .*capped.* depends on other rows"):
        model.from_formula(formula, lambda: iter([part, later]))


def test_a_query_that_looks_across_rows_in_a_later_part(part):
    later = part.assign(x=np.linspace(40, 80, 50))
    with pytest.raises(NotImplementedError, match=r'part 2 of .*subset="@capped\(x\) < 70" .*depends on other rows'):
        glmclf.Logit.from_formula("y ~ w", lambda: iter([part, later]), subset="@capped(x) < 70")


def test_labels_of_rows_in_a_query(part, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    part.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(NotImplementedError, match='"index", the labels of rows, .*CSV "t.csv"'):
        glmclf.Logit.from_formula("y ~ w", tmp_path / "t.csv", subset="index > 20")
    for query in ("x.index > 20", "c.index < 10 and x > 0", "@labels(x) > 1000"):
        with pytest.raises(NotImplementedError, match='"index", the labels of rows'):
            glmclf.Logit.from_formula("y ~ w", lambda: iter([part[:9], part[9:]]), subset=query)
    found = glmclf.Logit.from_formula("y ~ w", dd.from_pandas(part, npartitions=3), subset="index > 20").fit()
    np.testing.assert_allclose(found.params, glmclf.Logit.from_formula("y ~ w", part[21:]).fit().params, rtol=1e-10)
    named = part.rename(columns={"id": "index"})
    found = glmclf.Logit.from_formula("y ~ w", lambda: iter([named[:9], named[9:]]), subset="index > 20").fit()
    assert found.nobs == 29


def test_new_data_in_parts(part):
    later = part.assign(x=np.linspace(40, 80, 50))
    fit = glmclf.Logit.from_formula("y ~ capped(x)", part).fit()
    for go in (fit.augment, fit.roc, lambda new: fit.get_margeff(newdata=new), lambda new: fit.pred_table(newdata=new)):
        assert go(lambda: iter([part])) is not None
        with pytest.raises(NotImplementedError, match="part 2 of .*capped.* depends on other rows"):
            list(go(lambda: iter([part, later])))
