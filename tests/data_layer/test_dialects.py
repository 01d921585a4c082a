"""What users of R and of other languages write in formulas: `.`, names with dots, R's functions, bit operators."""

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, Logit, MNLogit, NaiveBayes
from glmclf.data.formula.dialects import R_FUNCTIONS, has_dot, with_all_columns
from glmclf.errors import DataError, FormulaError

N = 60
I = np.arange(N)
D = pd.DataFrame(
    {
        "id": I,
        "y": (I * 7 % 11 + 2 * np.sin(I) > 5).astype(int),
        "k": np.array(list("pqr"))[I * 5 % 3],
        "x": np.sin(1.3 * I),
        "z": np.cos(0.7 * I),
        "w": 1 + I % 3,
        "old": I % 4 == 0,
        "new": I % 3 == 0,
        "Sepal.Length": np.sin(2.1 * I),
        "blood-pressure": np.cos(2.9 * I),
        "odd name": np.cos(3.7 * I),
    }
)
ODD = 'Q("Sepal.Length") + Q("blood-pressure") + Q("odd name")'


# ------------------------------------------------------------------------------------------------------- bit operators
@pytest.mark.parametrize("model, left", [(Logit, "y"), (MNLogit, "k"), (LDA, "k"), (NaiveBayes, "k")])
@pytest.mark.parametrize(
    "term, write",
    [
        ("I(id^2)", r"\*\*"),
        ("x + np.log(1 + id ^ 2)", r"\*\*"),
        ("bs(id ^ 2, df=4)", r"\*\*"),
        ("(1|w)", "random effects"),
        ("x + (1 + x | w)", "random effects"),
        ("x|w", "random effects"),
        ("I(id & w)", "logical_and"),
        ("I(id > 3 & w > 1)", "in parentheses"),
        ("I(~id)", "logical_not"),
        ("I(id << 2)", r"2\*\*k"),
        ("I(old & id)", "logical_and"),
        ("id % 2", r"np.mod\(id, 2\)"),
        ("np.log(1 + id % w)", r"np.mod\(id, w\)"),
    ],
)
def test_bits_of_numbers_are_refused(model, left, term, write):
    with pytest.raises(FormulaError, match=write):
        model.from_formula(f"{left} ~ {term}", D)


def test_bits_of_numbers_on_the_left():
    with pytest.raises(FormulaError, match=r"np.mod\(id, 2\)"):
        Logit.from_formula("I(id % 2) ~ x", D)
    with pytest.raises(FormulaError, match=r"\*\*"):
        Logit.from_formula("I(id ^ 1) ~ x", D)


@pytest.mark.parametrize(
    "term, by_hand",
    [
        ("I(old & new)", D.old & D.new),
        ("I(old | new)", D.old | D.new),
        ("I(old ^ new)", D.old ^ D.new),
        ("I(~old)", ~D.old),
        ("I((x > 0) & ~(z > 0))", (D.x > 0) & (D.z <= 0)),
        ("np.mod(id, 3)", D.id - 3 * (D.id // 3)),
    ],
)
def test_truth_values_may_be_combined(term, by_hand):
    found = Logit.from_formula(f"y ~ {term}", D)
    assert np.array_equal(found.exog[:, -1], by_hand.astype(float))


@pytest.mark.parametrize("query", ["id & 1", "old | w", "(id & 1) == 1", "not id", "id ^ 2 > 3", "~w", "old & (w + 1)"])
def test_bits_of_numbers_in_a_query(query):
    with pytest.raises(FormulaError, match="subset=.*(logical_|\\*\\*)"):
        Logit.from_formula("y ~ x", D, subset=query)


@pytest.mark.parametrize(
    "query, by_hand",
    [
        ("id > 3 & w > 1", (D.id > 3) & (D.w > 1)),
        ("old | new", D.old | D.new),
        ("not old and k == 'a|b' or k != 'q'", ~D.old & (D.k == "a|b") | (D.k != "q")),
        ("`blood-pressure` > 0 & ~old", (D["blood-pressure"] > 0) & ~D.old),
        ("id % 2 == 0", D.id.isin(range(0, N, 2))),
    ],
)
def test_queries_of_truth_values(query, by_hand):
    assert np.array_equal(Logit.from_formula("y ~ x", D, subset=query).exog[:, 1], D.x[by_hand])


# -------------------------------------------------------------------------------------------------------- all columns
@pytest.mark.parametrize(
    "short, whole",
    [
        ("y ~ . - id", f"y ~ k + x + z + w + old + new + {ODD}"),
        ("y ~ .-id-k - 1", f"y ~ x + z + w + old + new + {ODD} - 1"),
        ("y ~ x:z + . - id", f"y ~ x:z + k + x + z + w + old + new + {ODD}"),
        ("I(y == 1) ~ .", f"I(y == 1) ~ id + k + x + z + w + old + new + {ODD}"),
        ("y + w ~ . - id", f"y + w ~ k + x + z + old + new + {ODD}"),
    ],
)
def test_a_dot_is_all_other_columns(short, whole):
    a, b = Logit.from_formula(short, D), Logit.from_formula(whole, D)
    assert a.exog_names == b.exog_names
    assert np.array_equal(a.exog, b.exog)


@pytest.mark.parametrize("power", ["**2", "^2", " ^ 2"])
def test_a_dot_crossed_with_itself(power):
    few = D[["y", "x", "z", "old"]]
    a, b = Logit.from_formula("y ~ ." + power, few), Logit.from_formula("y ~ (x + z + old)**2", few)
    assert a.exog_names == b.exog_names
    assert "x:z" in a.exog_names


def test_a_dot_times_a_column():
    few = D[["y", "x", "z", "old"]]
    a, b = Logit.from_formula("y ~ old * .", few), Logit.from_formula("y ~ old * (x + z + old)", few)
    assert a.exog_names == b.exog_names


@pytest.mark.parametrize("model, left", [(MNLogit, "k"), (LDA, "k"), (NaiveBayes, "k"), (Logit, "y")])
def test_a_dot_leaves_out_weights_and_offset(model, left):
    beside = {"weights": "w"} if model in (LDA, NaiveBayes) else {"freq_weights": "w", "offset": "z"}
    some = D[[left, "x", "w", "z", "odd name"]]
    found = model.from_formula(f"{left} ~ .", some, **beside)
    whole = model.from_formula(f'{left} ~ x + Q("odd name"){"" if "offset" in beside else " + z"}', some, **beside)
    assert sorted(found._design.variables) == sorted(whole._design.variables)


@pytest.mark.parametrize("model, left", [(LDA, "k"), (NaiveBayes, "k"), (Logit, "y")])
def test_a_dot_leaves_out_columns_that_are_given_as_such(model, left):
    keyword = "freq_weights" if model is Logit else "weights"
    some = D[[left, "x", "w", "z"]]
    for given in (some["w"], some["w"][::-1]):
        found = model.from_formula(f"{left} ~ .", some, **{keyword: given})
        assert sorted(found._design.variables) == ["x", "z"]
    for given in (2 * some["w"], some["w"].rename("other"), some["w"].to_numpy()):
        found = model.from_formula(f"{left} ~ .", some, **{keyword: given})
        assert sorted(found._design.variables) == ["w", "x", "z"]
    with pytest.raises(DataError, match=f"{keyword}= of data in a stream is the name"):
        model.from_formula(f"{left} ~ .", lambda: iter([some]), **{keyword: some["w"]})


@pytest.mark.parametrize("name", ["odd name", "x", "class", 'a "b"'])
def test_a_dot_leaves_out_what_is_quoted_in_either_way(name):
    some = D[["y", "x", "odd name"]].assign(**{"class": D["z"], 'a "b"': D["w"]})
    whole = Logit.from_formula("y ~ .", some.drop(columns=name)).exog_names
    for quote in "'\"":
        if quote not in name:
            assert Logit.from_formula(f"y ~ . - Q({quote}{name}{quote})", some).exog_names == whole
            assert Logit.from_formula(f"y ~ .-Q( {quote}{name}{quote} )", some).exog_names == whole
    with pytest.raises(FormulaError, match=r'leaves out "class".*write - Q\("class"\)'):
        Logit.from_formula("y ~ . - class", some)
    with pytest.raises(FormulaError, match='leaves out "clas": no such column'):
        Logit.from_formula("y ~ . - Q('clas')", some)


@pytest.mark.parametrize("name", ["", "a\\b", "a\nb", "a\u200bb", "\ufb01", "1a", "a ~ b", "None"])
def test_a_dot_takes_any_name(name):
    some = D[["y", "x", "z"]].rename(columns={"x": name})
    res, right = Logit.from_formula("y ~ .", some).fit(), Logit.from_formula("y ~ x + z", D).fit()
    np.testing.assert_allclose(res.predict(some[:5]), right.predict(D[:5]), rtol=1e-12)
    assert Logit.from_formula(f"y ~ . - Q({name!r})", some).exog_names == ["Intercept", "z"]


def test_a_dot_over_data_in_parts_and_for_new_rows():
    some = D[["y", "x", "z", "odd name"]]
    memory = Logit.from_formula("y ~ .", some).fit()
    parts = Logit.from_formula("y ~ .", lambda: iter([some[:25], some[25:]])).fit()
    np.testing.assert_allclose(parts.params, memory.params, rtol=1e-9)
    new = some.drop(columns="y").assign(more=1.0)[:5]
    np.testing.assert_allclose(memory.predict(new), memory.predict()[:5], rtol=1e-12)


def test_what_a_dot_cannot_be():
    with pytest.raises(FormulaError, match='leaves out "idd": no such column. Did you mean \'id\''):
        Logit.from_formula("y ~ . - idd", D)
    with pytest.raises(FormulaError, match="no columns but"):
        Logit.from_formula("y ~ .", D[["y"]])
    with pytest.raises(FormulaError, match="cannot be named"):
        with_all_columns("y ~ .", ["y", 3], ["y"])
    assert not any(map(has_dot, ["y ~ np.log(x)", "y ~ I(x * .5)", "y ~ I(x * 5.)", 'y ~ Q(". a")', "y ~ x.map(f)"]))


# -------------------------------------------------------------------------------------------------------------- names
@pytest.mark.parametrize("model", [Logit, LDA, NaiveBayes])
@pytest.mark.parametrize(
    "name",
    ["Sepal.Length", "blood-pressure", "max.temp", "a.b.c", "sys/dia", "odd name", "class", "2nd", "x(1)", "50%"],
)
def test_a_column_that_is_no_word_is_to_be_quoted(model, name):
    data = pd.DataFrame({"y": D.y, name: D.x, "Species": D.z, "blood": D.z})
    for code in (name, f"np.log({name})", f"Species + {name}"):
        with pytest.raises(FormulaError) as error:
            model.from_formula(f"y ~ {code}", data)
        assert f'Q("{name}")' in str(error.value)
    model.from_formula(f'y ~ Q("{name}")', data).fit()


def test_a_name_that_is_made_of_columns_may_stay_a_formula():
    data = D.assign(**{"x:z": D.x * D.z, "np.log(w)": 0.0, "x*z": 1.0})
    assert Logit.from_formula("y ~ x:z + np.log(w)", data).exog_names == ["Intercept", "x:z", "np.log(w)"]
    assert Logit.from_formula("y ~ x*z", data).exog_names == ["Intercept", "x", "z", "x:z"]
    with pytest.raises(FormulaError, match="no column or variable \"zz\"") as error:
        Logit.from_formula("y ~ x:z + zz", data)
    assert "Q(" not in str(error.value)


@pytest.mark.parametrize("name", sorted(R_FUNCTIONS))
def test_functions_of_r(name):
    with pytest.raises(FormulaError) as error:
        Logit.from_formula(f"y ~ {name}(x)", D)
    assert R_FUNCTIONS[name] in str(error.value)


@pytest.mark.parametrize(
    "formula, write",
    [("y ~ k %in% c", "isin"), ("y ~ id %% 2", "np.mod"), ("y ~ D$x", "column alone"), ("y ~ x + (x || k)", "random")],
)
def test_operators_of_r(formula, write):
    with pytest.raises(FormulaError, match=write):
        Logit.from_formula(formula, D)


@pytest.mark.parametrize(
    "formula, write",
    [
        ("y ~ x + i.k", r"write C\(k\) for a factor"),
        ("y ~ ib2.k", r"ib2.k is Stata's: write C\(k\)"),
        ("y ~ c.x + k", "write x alone"),
        ("y ~ x##k", r"a \* b"),
        ("y ~ x#k", "write a:b"),
    ],
)
def test_words_of_stata(formula, write):
    with pytest.raises(FormulaError, match=f"Stata.*{write}|{write}"):
        Logit.from_formula(formula, D)


# ---------------------------------------------------------------------------------------------------------- sizes
@pytest.mark.parametrize(
    "code, words",
    [
        ("I(np.where(id >= 0, 9, None) ** 99999999)", "is infinite"),
        ("np.power(np.where(id >= 0, 9, None), 10**7)", "is infinite"),
        ("I(k * 10**7)", "no number"),
        ("I(['a'] * 10**9)", "no number"),
        ("I(9**9**9 * id)", "more than 4096 bits"),
        ("I((2**4000 * 2**4000) * id)", "more than 4096 bits"),
        *((f"{f}(x, df=20000)", "df asks for 20,000 columns") for f in ("bs", "cr", "cc", "rbf", "sigmoid")),
        ("bs(x, knots=np.linspace(-0.9, 0.9, 20000))", "knots asks for 20,000"),
        ("bs(x, df=5, degree=10**6)", "degree asks for"),
        ("hinge(x, np.linspace(-0.9, 0.9, 20000))", "knots asks for 20,000"),
        ("cut(x, 10**7)", "edges asks for 10,000,000"),
        ("cut(x, np.linspace(-2, 2, 20000))", "edges asks for 20,000"),
        ("qcut(x, 10**7)", "n asks for 10,000,000"),
        ("poly(x, 10**7)", "degree asks for 10,000,000"),
    ],
)
def test_what_takes_all_memory_is_refused_at_once(code, words):
    with pytest.raises(ValueError, match=words):
        Logit.from_formula(f"y ~ {code}", D)


@pytest.mark.parametrize(
    "code, exact",
    [
        ("I(i**6)", lambda i: float(i**6)),
        ("I(i**3 * i**3 * i**3)", lambda i: float(i**9)),
        ("np.power(i, 5)", lambda i: float(i**5)),
        ("np.square(i**4)", lambda i: float(i**8)),
        ("I(i * 10**18)", lambda i: float(i * 10**18)),
        ("I(i**-2)", lambda i: 1 / i**2),
        ("I(i * 3 + 2**3)", lambda i: float(3 * i + 8)),
    ],
)
def test_whole_numbers_do_not_wrap_around(code, exact):
    data = D.assign(i=I + 1970)
    found = Logit.from_formula(f"y ~ {code}", data).exog[:, 1]
    np.testing.assert_allclose(found, [exact(int(i)) for i in data.i], rtol=1e-14)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("code", [
    "I((x > 0) + (x > 1))", "np.add(x > 0, x > 1)", "I(a + b)", "I((x > 0) + (x > 1) + 0)",
])  # fmt: skip
def test_a_sum_of_conditions_counts_them(code, trusted):
    """numpy's sum of True and True is True, R's is 2."""
    t = pd.DataFrame({"x": np.linspace(-2, 2, 40), "y": np.resize([0, 1, 1, 0, 1], 40)})
    t = t.assign(a=t.x > 0, b=t.x > 1, n=1.0 * (t.x > 0) + (t.x > 1))
    found, expected = (Logit.from_formula(f"y ~ {term}", t, trusted=trusted).fit() for term in (code, "n"))
    np.testing.assert_allclose(found.params, expected.params, rtol=1e-12)
    weights = Logit.from_formula("y ~ x", t, freq_weights="(x > -1) + (x > 1)").fit()
    assert weights.nobs == (t.x > -1).sum() + (t.x > 1).sum()
