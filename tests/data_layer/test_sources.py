"""Files in parts are the tables that pandas reads of the whole: types of columns, folders of many files, and errors."""

import decimal

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import Logit, MNLogit
from glmclf.data.source import base
from glmclf.errors import DataError

N = 300


@pytest.fixture(scope="module")
def table():
    g = np.random.default_rng(4)
    t = pd.DataFrame({"x": g.normal(size=N), "i": g.integers(0, 4, N), "b": g.random(N) < 0.4})
    t["g"] = g.choice(list("abc"), N)
    t["y"] = (g.random(N) < 1 / (1 + np.exp(-t.x))).astype(int)
    t["id"] = g.integers(0, 30, N)
    return t


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "PART_ROWS", 100)
    monkeypatch.chdir(tmp_path)


def same(formula, data, whole, model=Logit, fit=None, **options):
    a, b = (model.from_formula(formula, d, **options).fit(**(fit or {})) for d in (data, whole))
    np.testing.assert_allclose(a.params, b.params, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(a.bse, b.bse, rtol=1e-8)
    assert list(a.params.index) == list(b.params.index)
    assert a.nobs == b.nobs


def parts(*tables):
    return lambda: iter(tables)


def folder(*tables):
    pytest.importorskip("pyarrow")
    for name, part in zip("abcd", tables, strict=False):
        part.to_parquet(f"{name}.parquet")
    return "."


# ------------------------------------------------------------------------------- whole numbers that floats do not hold
def ids(table, where):
    """The table in Arrow, with ids above 2**60 in place of small ones, and without those of some rows."""
    pa = pytest.importorskip("pyarrow")
    large = {"id": 2**60 + 50 * table.id, "i": 2**60 + 100 * table.i}
    holed = {name: pa.array(values.to_numpy(), mask=where) for name, values in large.items()}
    return pa.table({name: holed.get(name, table[name].tolist()) for name in table})


def polars(t):
    return pytest.importorskip("polars").from_arrow(t)


def written(t):
    import pyarrow.parquet

    pyarrow.parquet.write_table(t, "ids.parquet")
    return "ids.parquet"


def as_csv(t):
    pytest.importorskip("pyarrow.csv").write_csv(t, "ids.csv")
    return "ids.csv"


DIGITS = {
    "Arrow": lambda t: t,
    "polars": polars,
    "Parquet": written,
    "CSV": as_csv,
    "parts": lambda t: parts(t.slice(0, 120), t.slice(120)),
    "parts, the last with missing ones": lambda t: parts(polars(t.slice(120)), polars(t.slice(0, 120))),
}


@pytest.mark.parametrize("kind", DIGITS)
def test_ids_beyond_the_whole_numbers_of_floats_stay_apart_beside_missing_ones(kind, table):
    lost = ((table.x > 1) & (table.index < 120)).to_numpy()
    data, clusters = DIGITS[kind](ids(table, lost)), {"cov_type": "cluster", "cov_kwds": {"groups": "id"}}
    few = table[~lost]  # the same clusters and levels, by small numbers
    found = Logit.from_formula("y ~ x + C(i)", data).fit(**clusters)
    known = Logit.from_formula("y ~ x + C(i)", few).fit(**clusters)
    np.testing.assert_allclose(found.bse, known.bse, rtol=1e-10)
    assert list(found.params.index) == ["Intercept", *(f"C(i)[T.{2**60 + 100 * i}]" for i in (1, 2, 3)), "x"]
    classes = MNLogit.from_formula("i ~ x", data)
    assert classes.levels == [2**60 + 100 * i for i in range(4)]


def test_floats_that_may_be_rounded_ids_beside_whole_ones_are_refused(table):
    t = table.assign(id=2**60 + table.id)
    rounded = parts(t[:100].astype({"id": float}), t[100:])
    with pytest.raises(DataError, match='"id" holds whole numbers beyond 2.*rounded'):
        Logit.from_formula("y ~ x", rounded).fit(cov_type="cluster", cov_kwds={"groups": "id"})
    for model, formula in ((Logit, "y ~ C(id)"), (MNLogit, "id ~ x")):
        with pytest.raises(DataError, match="whole numbers beyond 2.*rounded"):
            model.from_formula(formula, rounded)


def test_groups_beside_the_table_keep_their_digits(table):
    t = ids(table, (table.x > 1).to_numpy())
    model = Logit.from_formula("y ~ x", table, subset="x <= 1")
    known = model.fit(cov_type="cluster", cov_kwds={"groups": table.id})
    for groups in (t["id"], polars(t)["id"], t.select(["id"])):
        found = model.fit(cov_type="cluster", cov_kwds={"groups": groups})
        np.testing.assert_allclose(found.bse, known.bse, rtol=1e-12)


# ----------------------------------------------------------------------------------------------------------- CSV
@pytest.mark.parametrize("word", [5, 105])
def test_a_column_of_a_csv_file_has_the_type_of_its_first_part(table, word):
    t = table.astype({"id": object, "i": object, "b": object})
    t["id"] = ["0" + str(v) if k % 7 == 0 else str(v) for k, v in enumerate(t.id)]
    t.loc[word, "id"], t.loc[250, "i"] = "A1", "2.0"
    t["b"] = [v if k < 200 else int(v) for k, v in enumerate(t.b)]
    t["c"] = table.b.astype(object).where(t.index > 100)
    t["n"] = table.i.astype(object).where(t.index != 150)
    t["late"] = table.g.where(t.index > 150)
    t.to_csv("t.csv", index=False)
    whole = pd.read_csv("t.csv", low_memory=False)
    for formula in ("y ~ C(i)", "y ~ c", "y ~ C(n)", "y ~ late"):
        same(formula, "t.csv", whole)
    same("C(i) ~ x", "t.csv", whole, MNLogit)
    apart = r'CSV "t.csv": column "b" holds True and False in part 1 .rows from 0. and numbers in part 3 .rows from 200'
    with pytest.raises(DataError, match=apart + r'.*pandas.read_csv\("t.csv", dtype=\{"b": str\}, chunksize=100\)'):
        Logit.from_formula("y ~ b", "t.csv")
    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": "id"}}
    if word == 5:  # text in the first part is text in all
        same("y ~ x", "t.csv", whole, fit=clustered)
    else:
        with pytest.raises(DataError, match='column "id" holds numbers in part 1 .* and text in part 2'):
            Logit.from_formula("y ~ x", "t.csv").fit(**clustered)
    with pytest.raises(DataError, match='column "(b|id)" holds'):
        Logit.from_formula("y ~ x", "t.csv", subset="id != '7'")  # which may use any column
    typed = {"id": str, "b": str}
    known = lambda: pd.read_csv("t.csv", dtype=typed, chunksize=100)
    same("y ~ x + b", known, pd.read_csv("t.csv", dtype=typed), subset="id != '7'", fit=clustered)


def test_integers_of_a_csv_file_beyond_64_bits(table):
    t = table.assign(i=table.i.astype(object))
    t.loc[100:199, "i"] = 2**64
    t.to_csv("t.csv", index=False)
    same("y ~ C(i)", "t.csv", pd.read_csv("t.csv", low_memory=False))


@pytest.mark.parametrize("last", ["2.5", str(2**63), "-3"])
def test_whole_numbers_of_a_csv_file_that_no_type_holds_with_others(table, last):
    t = table.assign(id=(2**62 + table.id).astype(object))
    t.loc[250, "id"] = last
    t.loc[40, ["id", "x"]] = None
    t.to_csv("t.csv", index=False)
    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": "id"}}
    if last != "2.5":
        whole = pd.read_csv("t.csv", dtype={"id": "Int64" if last == "-3" else "UInt64"})
        same("y ~ x", "t.csv", whole, fit=clustered)
        return
    with pytest.raises(DataError, match='"id" holds whole numbers beyond 2.*rounded'):
        Logit.from_formula("y ~ x", "t.csv").fit(**clustered)


def test_a_line_with_more_fields(table):
    table.to_csv("t.csv", index=False)
    head, *lines = open("t.csv").read().splitlines()
    open("t.csv", "w").write("\n".join([head, *lines[:150], lines[150] + ",3", *lines[151:]]))
    with pytest.raises(DataError, match="Expected 6 fields in line 152, saw 7"):
        Logit.from_formula("y ~ x", "t.csv")
    open("t.csv", "w").write("\n".join([head, *(f"r{k},{line}" for k, line in enumerate(lines))]))
    for formula in ("y ~ x", "y ~ x + i + b + g + id"):  # all columns, too
        same(formula, "t.csv", pd.read_csv("t.csv"))


def test_a_csv_file_that_breaks_off_or_is_of_another_encoding(table):
    table.to_csv("t.csv.gz", index=False)
    raw = open("t.csv.gz", "rb").read()
    open("t.csv.gz", "wb").write(raw[: len(raw) // 2])
    table.to_csv("t.csv", index=False)
    open("t.csv", "ab").write(b"\xff\xfe,1,1,a,0,0\n")
    for name, word in (("t.csv.gz", "ended before"), ("t.csv", "utf-8 .byte 0xff.*encoding=")):
        with pytest.raises(DataError, match=f'CSV "{name}" cannot be read: .*{word}'):
            Logit.from_formula("y ~ x", name)


@pytest.mark.parametrize("name", ["my.data.csv", "my.data.csv.gz", "b.parquet.csv", "A.CSV", "q.csv.parquet"])
def test_the_last_suffix_counts(name, table):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
        table.to_parquet(name)
    else:
        table.to_csv(name, index=False)
    same("y ~ x", name, table)


# ------------------------------------------------------------------------------------------------------- Parquet
def test_types_of_files_in_a_folder_are_united(table):
    a, b = table.iloc[:140].astype({"i": "int8"}), table.iloc[140:]
    b = b.assign(i=b.i + 1000.5, id=b.id.map(decimal.Decimal), g=b.g.astype("category"))
    same("y ~ x + C(i) + g + id", folder(a, b), pd.concat([a, b.astype({"g": object, "id": int})]))


def test_a_column_that_the_first_file_of_a_folder_lacks(table):
    same("y ~ x + g", folder(table.iloc[:100].drop(columns="g"), table.iloc[100:]), table.iloc[100:])


def test_other_files_in_a_folder(table, tmp_path):
    folder(table.iloc[:100], table.iloc[100:])
    for name in ("_SUCCESS", "b.crc", ".a.parquet.crc", "notes.txt"):
        (tmp_path / name).write_text("no table")
    same("y ~ x", tmp_path, table)
    (tmp_path / "c.parquet").write_text("no table")
    with pytest.raises(DataError, match="cannot be read: .*c.parquet"):
        Logit.from_formula("y ~ x", tmp_path)


def test_types_of_files_that_have_none_in_common(table):
    path = folder(table, table.astype({"i": str, "b": int, "y": bool}))
    whole = pd.concat([table, table])
    same("y ~ x + g", path, whole)  # what the formula does not need, and 0 and 1 as truth values in the response
    with pytest.raises(DataError, match='column "i" is int64 in a.parquet and (large_)?string in b.parquet'):
        Logit.from_formula("y ~ x + i", path)
    words = r'"b" is True and False in part 1 \(a.parquet\) and .* numbers in part 4 \(b.parquet\): give'
    with pytest.raises(DataError, match=words):
        Logit.from_formula("y ~ x + b", path)


def test_parts_are_named_by_their_files(table):
    path = folder(table.iloc[:60], table.iloc[60:90], table.iloc[90:].assign(x=np.inf))
    with pytest.raises(DataError, match=r'part 2 \(c.parquet\) of .*: "x" is infinite'):
        Logit.from_formula("y ~ x", path)
    with pytest.raises(DataError, match=r'part 1 \(a.parquet to b.parquet\) of .*: "np.log\(i\)" is infinite'):
        Logit.from_formula("y ~ np.log(i)", path)
    with pytest.raises(DataError, match='part 1 of Parquet "a.parquet"'):
        Logit.from_formula("y ~ np.log(i)", "a.parquet")


def test_a_list_of_paths(table, tmp_path):
    folder(table.iloc[:90], table.iloc[90:200], table.iloc[200:])
    (tmp_path / "more").mkdir()
    table.to_parquet(tmp_path / "more" / "d.parquet")
    same("y ~ x + g", ["a.parquet", tmp_path / "c.parquet"], table.drop(index=range(90, 200)))
    same("y ~ x + g", ("c.parquet", "more"), pd.concat([table.iloc[200:], table]))
    for paths, word in ((["a.parquet", "x.csv"], '"x.csv": in a list'), ("*.parquet", "list of paths, as glob.glob")):
        with pytest.raises(DataError, match=word):
            Logit.from_formula("y ~ x", paths)


def test_a_list_of_csv_files(table, tmp_path):
    table.iloc[:130].to_csv("a.csv", index=False)
    table.iloc[130:, ::-1].to_csv("b.tsv.gz", index=False, sep="\t")
    files = ["a.csv", tmp_path / "b.tsv.gz"]
    same("y ~ x + g", files, table)
    whole = Logit.from_formula("y ~ x", table).fit()
    pd.testing.assert_frame_equal(pd.concat(whole.augment(files)), whole.augment(table), check_dtype=False)
    table.iloc[130:].assign(x="text").to_csv("c.csv", index=False)
    apart = r'"x" holds numbers in part 1 \(rows from 0 of "a.csv"\) and text in part 3 \(rows from 0 of "c.csv"\)'
    with pytest.raises(DataError, match=apart):
        Logit.from_formula("y ~ x", ["a.csv", "c.csv"])
    table.drop(columns="x").to_csv("d.csv", index=False)
    with pytest.raises(DataError, match='part 3 .*"d.csv".* has no column "x".* columns are .*"g"'):
        Logit.from_formula("y ~ x", ["a.csv", "d.csv"])
    table.set_axis(["x" if name == "g" else name for name in table], axis=1).to_csv("e.csv", index=False)
    for files in ("e.csv", ["a.csv", "e.csv"]):  # pandas would number them
        with pytest.raises(DataError, match='"e.csv" cannot be read: column names occur more than once: "x"'):
            Logit.from_formula("y ~ x", files)


def test_a_path_stays_where_it_was(table, tmp_path, monkeypatch):
    folder(table)
    table.to_csv("t.csv", index=False)
    fits = [Logit.from_formula("y ~ x", data).fit() for data in (".", "a.parquet", ["a.parquet"], "t.csv")]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for res in fits:
        assert res.pred_table().to_numpy().sum() == N


def stored(table):
    """Tables with what pandas writes of their index."""
    yield table
    yield table.iloc[5::2]
    yield table.set_index("id")
    yield table.set_index(["id", "i"])
    yield pd.concat([table, table.iloc[:7]])  # without a name


def test_rows_keep_the_labels_they_have_in_memory(table):
    res = Logit.from_formula("y ~ x", table).fit()
    for t in stored(table):
        folder(t, t.iloc[:50])
        for path in ("a.parquet", "."):
            whole = res.augment(pd.read_parquet(path))
            pd.testing.assert_frame_equal(pd.concat(res.augment(path)), whole)
    table.to_csv("t.csv", index=False)
    polars = pytest.importorskip("polars")
    for data in ("t.csv", lambda: (polars.from_pandas(t) for t in (table.iloc[:120], table.iloc[120:]))):
        pd.testing.assert_frame_equal(pd.concat(res.augment(data)), res.augment(table), check_dtype=False)


def test_new_rows_need_what_the_model_needs(table):
    res = Logit.from_formula("y ~ x", table).fit()
    new = table.iloc[:100], table.iloc[100:].drop(columns=["y", "g"])
    for data in (parts(*new), folder(*new)):
        found = pd.concat(res.augment(data))
        np.testing.assert_allclose(found[".fitted"], res.predict(table))
    with pytest.raises(DataError, match='part 2 of .*"x"'):
        list(res.augment(parts(table, table.drop(columns="x"))))


@pytest.mark.parametrize("data", ["rows.parquet", parts()])
def test_arrays_are_in_memory(table, data):
    for arrays in ((data, table[["x"]]), (table.y, data)):
        for model in (Logit, glmclf.NaiveBayes):
            with pytest.raises(DataError, match="where values in memory are needed: .* go to from_formula"):
                model(*arrays)


def test_a_folder_without_parquet_files(table, tmp_path):
    pytest.importorskip("pyarrow")
    table.to_csv("a.csv")
    with pytest.raises(DataError, match='no Parquet file .*"a.csv"'):
        Logit.from_formula("y ~ x", tmp_path)


def test_a_parquet_file_damaged_within(table):
    pytest.importorskip("pyarrow")
    table.to_parquet("t.parquet", row_group_size=50)
    raw = open("t.parquet", "rb").read()
    third = len(raw) // 3
    open("t.parquet", "wb").write(raw[:third] + bytes(2000) + raw[third + 2000 :])
    with pytest.raises(DataError, match='Parquet "t.parquet" cannot be read'):
        Logit.from_formula("y ~ x + i + g", "t.parquet").fit()
    table.to_parquet("a.parquet")
    with pytest.raises(DataError, match='^"t.parquet" of Parquet "[^"]*" cannot be read: .* damaged'):
        Logit.from_formula("y ~ x + i + g", ".").fit()


# --------------------------------------------------------------------------------------------------------- parts
def test_whole_numbers_in_some_parts_and_others_in_others(table):
    a, b = table.iloc[:140], table.iloc[140:].astype({"i": float})
    same("y ~ C(i) + x", parts(a, b), pd.concat([a, b]))
    same("y ~ C(i) + x", parts(b, a), pd.concat([a, b]))


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("formula", ["y ~ x", "C(y) ~ x + g"])
def test_a_response_of_true_and_false_in_some_parts(part, formula, table):
    cut = [table.iloc[:140], table.iloc[140:]]
    cut[part] = cut[part].assign(y=cut[part].y.astype(bool))
    same(formula, parts(*cut), pd.concat(cut))
    fits = [Logit.from_formula(formula, data).fit() for data in (parts(*cut), pd.concat(cut))]
    assert [str(fit.summary()).splitlines()[0].strip() for fit in fits] == [
        "Logit Regression Results: P(y = 1)" if formula == "y ~ x" else "Logit Regression Results: P(C(y) = 1)"
    ] * 2


def test_kinds_of_parts_are_told_apart(table):
    a, b = table.iloc[:140], table.iloc[140:].astype({"b": int})
    for formula, words in (
        ("y ~ b", '"b" is True and False in part 1 and 1 column of numbers in part 2'),
        ("y ~ C(b)", r'"C\(b\)" is True and False in part 1 and numbers as labels in part 2'),
        ("y ~ np.where(b, 'u', 'v')", 'column "b" holds True and False in part 1 and numbers in part 2'),
    ):
        with pytest.raises(DataError, match=words):
            Logit.from_formula(formula, parts(a, b))


def test_parts_without_columns(table):
    nothing = pd.DataFrame()
    data = parts(nothing, table.iloc[:140], nothing, table.iloc[140:], nothing)
    same("y ~ x + g", data, table, subset="x > -1 and g != 'c'")
    assert [len(part) for part in Logit.from_formula("y ~ x", data).fit().augment(data)] == [0, 140, 0, 160, 0]
    with pytest.raises(DataError, match="tables without columns"):
        Logit.from_formula("y ~ x", parts(nothing))


def test_parts_that_are_record_batches(table):
    pyarrow = pytest.importorskip("pyarrow")
    whole = pyarrow.Table.from_pandas(table)
    same("y ~ x + g", lambda: whole.to_batches(max_chunksize=70), table)
    same("y ~ x + g", lambda: whole.to_reader(max_chunksize=70), table)


def test_no_rows_at_all(table):
    with pytest.raises(DataError, match=r'has no rows \(columns: "x"'):
        Logit.from_formula("y ~ x", parts(table.iloc[:0], table.iloc[:0]))


REFUSED = {
    "dict": (lambda t: lambda: t.to_dict("list"), "gives dict: it must give tables"),
    "array": (lambda t: lambda: t.to_numpy(), "gives ndarray: it must give tables"),
    "series": (lambda t: lambda: t.y, "gives Series: it must give tables"),
    "lines": (lambda t: lambda: ["t.csv"], r"part 1 of <lambda>\(\) is no table \(found str\)"),
    "none": (lambda t: lambda: [t, None], r"part 2 of <lambda>\(\): data= needs a table .* found NoneType"),
    "arguments": (lambda t: lambda a: [t], "needs arguments .*'a'.*partial"),
    "class": (lambda t: dict, "is the class dict: pass a table"),
    "bytes": (lambda t: b"t.csv", "of type bytes: a path is passed as text"),
    "list": (lambda t: [t, t], "list of tables: pass a function"),
    "generator": (lambda t: (part for part in [t]), "of type generator is read once"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_source_is_told_what_is(case, table):
    made, words = REFUSED[case]
    with pytest.raises(DataError, match=words):
        Logit.from_formula("y ~ x", made(table))


def test_margins_at_typical_rows(table):
    data = parts(table)
    fit = Logit.from_formula("y ~ x", data).fit()
    whole = Logit.from_formula("y ~ x", table).fit()
    for streamed, averages in ((fit.get_margeff, whole.get_margeff), (fit.predictions, whole.predictions)):
        for at in ("median", pd.DataFrame({"x": [1.5]})):
            np.testing.assert_allclose(streamed(at=at).summary_frame(), averages(at=at).summary_frame(), rtol=1e-9)


@glmclf.rowwise
def positive(x):
    if (x <= 0).any():
        raise ValueError("not positive")
    return x + 1


def lag(x):
    return x.shift(1).fillna(0)


@pytest.mark.parametrize("formula", ["y ~ positive(x)", "y ~ bs(positive(x), df=4)"])
def test_an_error_of_a_function_is_its_own(formula, table):
    with pytest.raises(DataError, match="cannot be evaluated: ValueError: not positive"):
        Logit.from_formula(formula, parts(table))
    positives = table[table.x > 0]
    data, whole = ((Logit.from_formula(formula, d, subset="x > 0").fit()) for d in (parts(table), positives))
    np.testing.assert_allclose(data.params, whole.params, rtol=1e-8)


@pytest.mark.parametrize("ends", [[0, 1, N], [0, 1, 2, 2, 3, N], list(range(N + 1))])
def test_a_lag_is_seen_though_the_first_parts_are_short(ends, table):
    data = parts(*(table.iloc[a:b] for a, b in zip(ends, ends[1:], strict=False)))
    for formula in ("y ~ lag(x)", "y ~ I(x - x.mean())", *(["y ~ bs(lag(x), df=4)"] if len(ends) < N else [])):
        with pytest.raises(NotImplementedError, match="depends on other rows"):
            Logit.from_formula(formula, data)


@pytest.mark.parametrize("text, words", [
    ("y;x\n1;1,5\n0;2,5\n", ['there is one column, "y;x"', 'pandas.read_csv("rows.csv", sep=\';\'', 'decimal=","']),
    ("y\tx\n1\t1\n0\t2\n", ["there is one column", r"sep='\t'"]),
    ("", ["it is empty"]),
])
def test_csv_of_other_marks_between_columns(tmp_path, text, words):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(DataError) as said:
        Logit.from_formula("y ~ x", path)
    assert str(said.value).startswith('CSV "rows.csv" cannot be read: ')
    assert all(word in str(said.value) for word in words), said.value
