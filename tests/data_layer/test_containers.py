"""The same rows give the same fit whichever container they come in, for columns of any type.

The values of a cell are held against a fit of a pandas frame in which the column stands as plain numbers, or as text
whose order is that of the levels; a type that is refused is refused in each container, by an error that names the
column and a type.
"""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.errors import DataError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pc = pytest.importorskip("pyarrow.compute")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

N = 48
CODES = (np.arange(N) * 7 % 5) % 3  # of three levels, none in the order of appearance alone
CODES[0] = 1
X = np.sin(np.arange(N) * 1.3)
Y = ((np.arange(N) * 11 % 7 + 2 * X + CODES) > 4).astype(int)
DECIMALS = [decimal.Decimal(t) for t in ("-1.5", "0.25", "3")]
DATES = [datetime.date(2020, 1, d) for d in (1, 2, 5)]
TIMES = [datetime.datetime(2020, 1, d, 12) for d in (1, 2, 5)]


def dictionary(values, ordered=False, null=False):
    def make(codes, missing):
        codes = pa.array(codes.astype(np.int8), mask=missing)
        if null:  # an entry of the dictionary stands for the missing ones
            codes = codes.fill_null(len(values))
        return pa.DictionaryArray.from_arrays(codes, pa.array([*values, None] if null else values), ordered=ordered)

    return make


def plain(values, dtype=None):
    return lambda codes, missing: pa.array(np.array(values, dtype=object)[codes].tolist(), dtype, mask=missing)


# type -> (values by code, what the column is: numbers, levels in this order, or refused)
WORDS, WHOLE = ["lo", "mid", "hi"], [10, 9, 20]
TYPES = {
    "string": (plain(["b", "c", "a"]), "sorted", ["b", "c", "a"]),
    "large_string": (plain(["b", "c", "a"], pa.large_string()), "sorted", ["b", "c", "a"]),
    "string_view": (plain(["b", "c", "a"], pa.string_view()), "sorted", ["b", "c", "a"]),
    "categorical of text": (dictionary(WORDS), "levels", WORDS),
    "ordered categorical of text": (dictionary(WORDS, ordered=True), "levels", WORDS),
    "null in the dictionary": (dictionary(WORDS, null=True), "levels", WORDS),
    "categorical of numbers": (dictionary(WHOLE), "levels", WHOLE),
    "ordered categorical of numbers": (dictionary(WHOLE, ordered=True), "levels", WHOLE),
    "categorical of fractions": (dictionary([2.5, 1.0, 7.0]), "levels", [2.5, 1.0, 7.0]),
    "categorical of dates": (dictionary(DATES[::-1]), "levels", DATES[::-1]),
    "categorical of times": (dictionary(TIMES[::-1]), "levels", TIMES[::-1]),
    "categorical of decimals": (dictionary(DECIMALS[::-1]), "levels", DECIMALS[::-1]),
    "bool": (lambda codes, missing: pa.array(codes > 0, mask=missing), "truth", [False, True, True]),
    "categorical of bools": (
        lambda codes, missing: dictionary([True, False])((codes == 0).astype(int), missing),
        "truths",
        [False, True, True],
    ),
    "int8": (plain([-3, 4, 1], pa.int8()), "number", [-3, 4, 1]),
    "uint64": (plain([3, 4, 1], pa.uint64()), "number", [3, 4, 1]),
    "uint64 that no float holds": (plain([2**63 + 1, 2**63 + 2, 2**64 - 1], pa.uint64()), "refused", None),
    "float16": (plain([np.float16(v) for v in (0.5, -1, 2)], pa.float16()), "number", [0.5, -1, 2]),
    "double": (plain([0.5, -1.0, 2.0]), "number", [0.5, -1, 2]),
    "decimal128": (plain(DECIMALS), "number", [-1.5, 0.25, 3]),
    "decimal256": (plain(DECIMALS, pa.decimal256(40, 2)), "number", [-1.5, 0.25, 3]),
    "timestamp": (plain(TIMES), "refused", None),
    "timestamp of a zone": (plain(TIMES, pa.timestamp("us", "UTC")), "refused", None),
    "date": (plain(DATES), "refused", None),
    "duration": (plain([datetime.timedelta(days=d) for d in (1, 2, 5)]), "refused", None),
    "time": (plain([datetime.time(h) for h in (1, 2, 5)]), "refused", None),
    "list": (lambda codes, missing: pa.array([[int(c)] for c in codes], mask=missing), "refused", None),
    "struct": (lambda codes, missing: pa.array([{"a": int(c)} for c in codes], mask=missing), "refused", None),
}
MISSING = np.isin(np.arange(N), [5, 17])
NONE = np.zeros(N, dtype=bool)
NAMES = sorted(TYPES)


def kind(name):
    return TYPES[name][1]


def arrow(name, missing=MISSING):
    """The table in Arrow: columns of the type, c and, with two levels, two."""
    make = TYPES[name][0]
    columns = {"y": Y, "x": X, "c": make(CODES, missing), "unused": make(CODES, missing)}
    return pa.table({**columns, "two": make(np.where(CODES > 1, 1, 0), missing)})


def written(table, path):
    pq.write_table(table, path / "t.parquet", row_group_size=20)
    return str(path / "t.parquet")


def polars(table):
    """The table as polars' own: categories of text as Enum."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_dictionary(field.type):
            words = column.chunk(0).dictionary.drop_null().to_pylist()
            if not isinstance(words[0], str):
                pytest.skip("polars has categories of text only")
            columns.append(pl.Series(field.name, column.to_pylist(), dtype=pl.Enum(words)))
        else:
            columns.append(pl.Series(field.name, pl.from_arrow(column)))
    return pl.DataFrame(columns)


def dask(frame):
    config = pytest.importorskip("dask").config
    with config.set({"dataframe.convert-string": False}):  # else dates and decimals become text
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3, sort=False)


def in_pandas(table):
    """The table in pandas' own types, in which a null is no category."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and (known := table.column(i).chunk(0).dictionary).null_count:
            codes = pc.index_in(pa.array(table.column(i).to_pylist()), known.drop_null())
            table = table.set_column(i, field.name, pa.DictionaryArray.from_arrays(codes, known.drop_null()))
    return table.to_pandas()


def arrow_backed(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


CONTAINERS = {
    "pandas": lambda t, p: in_pandas(t),
    "nullable": lambda t, p: in_pandas(t).convert_dtypes(),
    "arrow-backed pandas": lambda t, p: arrow_backed(t),
    "mapping": lambda t, p: dict(in_pandas(t).items()),
    "mapping of Arrow": lambda t, p: {name: pd.array(arrow_backed(t)[name]) for name in t.column_names},
    "pyarrow": lambda t, p: t,
    "pyarrow in chunks": lambda t, p: pa.concat_tables([t[:20], t[20:]]),
    "record batch": lambda t, p: t.combine_chunks().to_batches()[0],
    "dataset": lambda t, p: ds.dataset(written(t, p)),
    "Parquet": written,
    "polars": lambda t, p: polars(t),
    "lazy polars": lambda t, p: polars(t).lazy(),
    "function of tables": lambda t, p: lambda: iter([t[:20], t[20:]]),
    "function of arrow-backed frames": lambda t, p: lambda: iter([arrow_backed(t)[:20], arrow_backed(t)[20:]]),
    "Dask": lambda t, p: dask(in_pandas(t)),
    "arrow-backed Dask": lambda t, p: dask(arrow_backed(t)),
}


def expected(name):
    """The rows in plain columns: c as numbers or as text ordered by its levels, `rank` as text, `missing` left out."""
    _, kind, values = TYPES[name]
    order = values if kind == "levels" else [True, False] if kind == "truths" else sorted(set(values))
    frame = pd.DataFrame({"y": Y, "x": X})
    for column, codes in (("c", CODES), ("two", np.where(CODES > 1, 1, 0))):
        own = np.array(values, dtype=object)[codes]
        rank = np.array([order.index(v) for v in own])
        levels = ["L0", "L1", "L2"][: len(order)]
        frame[f"{column}_rank"] = pd.Categorical.from_codes(np.where(MISSING, -1, rank), levels)
        frame[column] = np.where(MISSING, np.nan, own.astype(float)) if kind == "number" else frame[f"{column}_rank"]
    return frame


def given(name, container, path, missing=MISSING):
    """The rows in a container that has the type."""
    categories = pa.types.is_dictionary(arrow(name)["c"].type)
    if container in ("Parquet", "dataset") and categories and "of text" not in name:
        pytest.skip("Parquet keeps categories of text only, and no null among them")
    if "polars" in container and name == "decimal256":
        pytest.skip("polars has no such numbers")
    if container == "pandas" and "no float holds" in name:
        missing = NONE  # beside which pandas itself makes them floats
    return CONTAINERS[container](arrow(name, missing), path)


MANY = ("pandas", "arrow-backed pandas", "pyarrow in chunks", "Parquet", "polars", "function of tables")
FEW = ["categorical of text", "date", "decimal128"]
CELLS = [
    (n, c) for n in NAMES for c in CONTAINERS if n in FEW or c in MANY or (n == "list" and c == "arrow-backed Dask")
]


def every_cell(test):
    """All types in the containers that differ in how they are read, few types in the others."""
    return pytest.mark.parametrize(("name", "container"), CELLS)(test)


def check(model, formula, data, plain, as_plain):
    """The fit of `data` is that of plain columns, or is refused by name and type."""
    model = getattr(glmclf, model)
    if plain is None:
        types = r"nested|object|datetime|timestamp|duration|timedelta|date|time|whole numbers beyond 2\*\*63"
        with pytest.raises(DataError, match=f'"(c|two)" (is|holds|mixes).*({types})'):
            model.from_formula(formula, data)
        return
    own, other = model.from_formula(formula, data).fit(), model.from_formula(as_plain, plain).fit()
    assert own.llf == pytest.approx(other.llf, rel=1e-9) and own.nobs == other.nobs
    if not callable(data) and not isinstance(data, str) and not hasattr(data, "scanner") and not hasattr(data, "dask"):
        found, right = (np.asarray(r.predict(d), dtype=float) for r, d in ((own, data), (other, plain)))
        np.testing.assert_allclose(found, right, atol=1e-8)


@every_cell
def test_factor(name, container, tmp_path):
    data, plain = given(name, container, tmp_path), None if kind(name) == "refused" else expected(name)
    for model in ("Logit", "LDA", "NaiveBayes") if name in FEW else ("Logit", "NaiveBayes"):
        check(model, "y ~ x + c", data, plain, "y ~ x + c")


@every_cell
def test_response(name, container, tmp_path):
    data, plain = given(name, container, tmp_path), None if kind(name) == "refused" else expected(name)
    for model in ("MNLogit", "LDA", "QDA", "NaiveBayes") if name in FEW else ("MNLogit", "LDA"):
        check(model, "c ~ x", data, plain, "c_rank ~ x")
    if kind(name) not in ("number", "truth"):
        for model in ("Logit", "Probit", "CLogLog") if name in FEW else ("Logit",):
            check(model, "two ~ x", data, plain, "two_rank ~ x")


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@every_cell
def test_unused_column_and_groups(name, container, tmp_path):
    """A column that is not used stops nothing, and groups may be of any type that tells values apart."""
    data = given(name, container, tmp_path, NONE)
    model = glmclf.Logit.from_formula("y ~ x", data)
    assert model.fit().llf == pytest.approx(PLAIN.fit().llf, rel=1e-9)
    if name in ("list", "struct"):
        with pytest.raises(DataError, match="nested"):
            model.fit(cov_type="cluster", cov_kwds={"groups": "c"})
        return
    codes = {"bool": CODES > 0, "categorical of bools": CODES == 0}.get(name, CODES)
    found, right = (
        m.fit(cov_type="cluster", cov_kwds={"groups": groups}).bse for m, groups in ((model, "c"), (PLAIN, codes))
    )
    np.testing.assert_allclose(found, right, rtol=1e-7)


PLAIN = glmclf.Logit.from_formula("y ~ x", pd.DataFrame({"y": Y, "x": X}))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", ["uint64", "float16", "double", "decimal128"])
def test_offset_and_weights(name, container, tmp_path):
    data, plain = given(name, container, tmp_path), expected(name)
    for options in ({"offset": "c"}, {"weights": "c"}):
        if "weights" in options and min(TYPES[name][2]) < 0:
            with pytest.raises(DataError, match='weights="c" has negative values'):
                glmclf.Logit.from_formula("y ~ x", data, **options)
            continue
        own, other = (glmclf.Logit.from_formula("y ~ x", d, **options).fit() for d in (data, plain))
        np.testing.assert_allclose(own.params, other.params, rtol=1e-7)


# ------------------------------------------------------------------------------------------ types of one container
def test_whole_numbers_of_128_bits(tmp_path):
    plain = expected("int8")
    for dtype in (pl.Int128, pl.UInt128):
        values = [None if m else int(v) for v, m in zip(CODES + 2, MISSING, strict=True)]
        frame = pl.DataFrame({"y": Y, "x": X, "c": pl.Series(values, dtype=dtype)})
        assert glmclf.Logit.from_formula("y ~ x", frame).fit().llf == pytest.approx(PLAIN.fit().llf, rel=1e-9)
        numbers = plain.assign(c=np.where(MISSING, np.nan, CODES + 2))
        check("Logit", "y ~ x + c", frame, numbers, "y ~ x + c")
        check("NaiveBayes", "c ~ x", frame, numbers, "c ~ x")


def test_categories_of_polars_without_an_order_are_text(tmp_path):
    """The order in which polars met the words of a Categorical has no meaning, wherever it is written down."""
    frame = pl.DataFrame({"y": Y, "x": X, "c": pl.Series(np.array(WORDS)[CODES], dtype=pl.Categorical)})
    frame.write_parquet(tmp_path / "t.parquet")
    text = pd.DataFrame({"y": Y, "x": X, "c": np.array(WORDS)[CODES]})
    right = list(glmclf.Logit.from_formula("y ~ x + c", text).fit().params.index)
    for data in (frame, frame.to_arrow(), str(tmp_path / "t.parquet"), pq.read_table(tmp_path / "t.parquet")):
        assert list(glmclf.Logit.from_formula("y ~ x + c", data).fit().params.index) == right


def test_dictionaries_that_differ_between_chunks():
    """There is no one order then: sorted as text is, in memory as in parts; an ordered one is refused."""
    tables = [
        pa.table({"y": Y[i], "x": X[i], "c": pa.array(np.array(WORDS)[CODES[i]]).dictionary_encode()})
        for i in (slice(0, 20), slice(20, N))
    ]
    assert not tables[0]["c"].chunk(0).dictionary.equals(tables[1]["c"].chunk(0).dictionary)
    for data in (pa.concat_tables(tables), lambda: iter(tables)):
        names = list(glmclf.Logit.from_formula("y ~ x + c", data).fit().params.index)
        assert names == ["Intercept", "c[T.lo]", "c[T.mid]", "x"]
    ordered = [
        t.set_column(2, "c", pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True))
        for t in tables
        for c in t["c"].chunks
    ]
    for data in (pa.concat_tables(ordered), lambda: iter(ordered)):
        with pytest.raises(DataError, match='"c" is .*ordered'):
            glmclf.Logit.from_formula("y ~ x + c", data)


def test_equal_values_of_a_dictionary_are_one_category():
    codes = pa.array(CODES.astype(np.int8))
    twice = pa.DictionaryArray.from_arrays(codes, pa.array(["b", "a", "b"]))
    check(
        "Logit",
        "y ~ x + c",
        pa.table({"y": Y, "x": X, "c": twice}),
        pd.DataFrame({"y": Y, "x": X, "c": pd.Categorical.from_codes(np.array([0, 1, 0])[CODES], ["b", "a"])}),
        "y ~ x + c",
    )


def test_columns_that_pandas_cannot_hold():
    union = pa.UnionArray.from_dense(
        pa.array(np.zeros(N, dtype=np.int8)), pa.array(np.arange(N, dtype=np.int32)), [pa.array(CODES)]
    )
    nested = pa.DictionaryArray.from_arrays(pa.array(CODES.astype(np.int8)), pa.array([[1], [2], [3]]))
    table = pa.table({"y": Y, "x": X, "c": union, "d": nested})
    for data in (table, table.slice(0), lambda: iter([table[:20], table[20:]])):
        assert glmclf.Logit.from_formula("y ~ x", data).fit().llf == pytest.approx(PLAIN.fit().llf, rel=1e-9)
        for column, dtype in (("c", "dense_union"), ("d", "dictionary.*nested")):
            for formula in (f"y ~ x + {column}", f"{column} ~ x"):
                with pytest.raises(DataError, match=f'column "{column}" is of type {dtype}'):
                    glmclf.LDA.from_formula(formula, data)


@pytest.mark.parametrize("to", [(1, 2, 4), (True, False, False), ("u", "v", "u")], ids=str)
def test_what_map_gives_is_the_same_of_text_and_of_categories(to):
    words = np.array(["a", "b", "c"], dtype=object)[CODES]
    words[5] = None
    text = pd.DataFrame({"y": Y, "x": X, "g": words})
    formula = f"y ~ x + g.map({dict(zip('abc', to, strict=True))})"
    right = glmclf.Logit.from_formula(formula, text).fit()
    for table in (text.astype({"g": "category"}), pl.from_pandas(text), pa.Table.from_pandas(text)):
        found = glmclf.Logit.from_formula(formula, table).fit()
        assert found.params.index.equals(right.params.index) and found.nobs == N - 1
        np.testing.assert_allclose(found.params, right.params, rtol=1e-12)
