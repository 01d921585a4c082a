"""Numbers that came as text are named with their column, with the values that are none, and with what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.table.numerals import numerals
from glmclf.errors import DataError, DataWarning

N = 60
RNG = np.random.default_rng(3)
X = np.round(RNG.normal(5, 1, N), 3)
Y = np.where(RNG.normal(size=N) + X > 5, "b", "a")
PLAIN = np.array([f"{v:.3f}" for v in X])


def with_word(word):
    return np.array([*PLAIN[:-1], word])


COLUMNS = {  # text, how many values are numbers, which are not, what to do
    "plain": (PLAIN, "all of its 60", "", r'pd\.to_numeric\(df\["x"\]\)'),
    "comma": (np.array([f"{v:.4f}".replace(".", ",") for v in X]), "all of its 60", r'\("\d,', 'decimal=","'),
    "bound": (np.array([*PLAIN[:-2], "<0.5", "< 0,2"]), "all of its 60", r'"< 0,2", "<0.5"', 'Decide.*"<'),
    "unit": (np.char.add(PLAIN, " kg"), "all of its 60", "kg", r"str\.extract"),
    "percent": (np.char.add(PLAIN, "%"), "all of its 60", "%", r"str\.extract"),
    "thousands": (np.array([f"{1000 * v:,.2f}" for v in X]), "all of its 60", ",", 'thousands=","'),
    "question mark": (with_word("?"), "59 of its 60", r'this is not: "\?"', 'errors="coerce"'),
    "dot": (with_word("."), "59 of its 60", r'this is not: "\."', 'errors="coerce"'),
    "word": (with_word("oops"), "59 of its 60", 'this is not: "oops"', 'errors="coerce"'),
    "half of them words": (np.where(np.arange(N) < 25, np.char.add("w", PLAIN), PLAIN), "35 of", "not", "coerce"),
}
MODELS = ["Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"]


def refused(name, start):
    text, count, words, how = COLUMNS[name]
    return text, pytest.raises(DataError, match=f"{start}is a column of text, although {count}.*{words}.*{how}")


@pytest.mark.parametrize("name", COLUMNS)
def test_as_a_factor(name):
    text, error = refused(name, '^"x" ')
    table = pd.DataFrame({"y": Y, "x": text})
    for data in (table, table.astype({"x": object})):
        with error:
            glmclf.Logit.from_formula("y ~ x", data)
    _, error = refused(name, '"x" ')
    with error:
        glmclf.Logit.from_formula("y ~ x", lambda: iter([table[:30], table[30:]]))
    assert len(glmclf.Logit.from_formula("y ~ C(x)", table).exog_names) > 50  # as it was asked for


@pytest.mark.parametrize("model", MODELS)
def test_in_every_model_and_in_interactions(model):
    text, _ = refused("comma", "")
    table = pd.DataFrame({"y": Y, "x": text, "g": np.arange(N) % 2})
    for formula in ("y ~ x", "y ~ x:C(g)"):
        with pytest.raises(DataError, match='"x" is a column of text, although all of its 60 values are numbers'):
            getattr(glmclf, model).from_formula(formula, table)


@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_as_the_response(model):
    model = getattr(glmclf, model)
    for name in ("comma", "question mark"):
        text, error = refused(name, 'the response "y" ')
        table = pd.DataFrame({"y": text, "z": X})
        with error:
            model.from_formula("y ~ z", table)
        _, error = refused(name, 'the response "y" ')
        with error:
            model(table["y"], table[["z"]])


def test_in_the_classifier():
    sklearn = pytest.importorskip("glmclf.sklearn", exc_type=ImportError)
    table = pd.DataFrame({"x": COLUMNS["unit"][0], "z": X})
    for name in ("logit", "lda", "naivebayes"):
        with pytest.raises(DataError, match='"x" is a column of text, although all of its 60 values are numbers'):
            sklearn.FormulaClassifier(name).fit(table, Y)


@pytest.mark.parametrize("model", MODELS)
def test_in_new_data(model):
    res = getattr(glmclf, model).from_formula("y ~ x", pd.DataFrame({"y": Y, "x": X})).fit()
    for name in ("comma", "question mark"):
        with pytest.raises(DataError, match=f'new data holds labels.*fitted on numbers. "x" .*{COLUMNS[name][3]}'):
            res.predict(pd.DataFrame({"x": COLUMNS[name][0]}))
    with pytest.raises(DataError, match=r'holds labels \("a", "b"\); the model was fitted on numbers.$'):
        res.predict(pd.DataFrame({"x": ["a", "b"]}))


def test_labels_that_are_no_numbers_stay_factors():
    """Names, codes and a few levels are factors as before, and many levels of them are the user's affair."""
    ids = np.array([f"id{i:03d}" for i in range(N)])
    few = np.array(["0.5", "1", "2.5"])[np.arange(N) % 3]
    ranges = np.array([f"{i}-{i + 9}" for i in range(0, 200, 10)])[np.arange(N) % 20]
    codes = np.array([f"{i:02d}" for i in range(25)])[np.arange(N) % 25]
    for text, levels in ((ids, N), (few, 3), (ranges, 20), (codes, 25)):
        assert len(glmclf.Logit.from_formula("y ~ x", pd.DataFrame({"y": Y, "x": text})).exog_names) == levels
    digits = np.arange(30) % 10
    table = pd.DataFrame({"y": digits.astype(str), "z": X[:30]})
    for data in (table, lambda: iter([table[:15], table[15:]])):
        assert len(glmclf.MNLogit.from_formula("y ~ z", data)._response.levels) == 10


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M"])
def test_dates_of_about_a_level_a_row_are_warned_of(model, form):
    table = pd.DataFrame({"y": Y, "x": pd.date_range("2020-01-01", periods=N).strftime(form)})
    for data in (table, lambda: iter([table[:40], table[40:]])):
        with pytest.warns(DataWarning, match=r'"x" is a column of text, .* dates .*pd.to_datetime\(df'):
            getattr(glmclf, model).from_formula("y ~ x", data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        getattr(glmclf, model).from_formula("y ~ C(x)", table)
        getattr(glmclf, model).from_formula("y ~ x", table.assign(x=table.x.to_numpy()[np.arange(N) % 6]))


def test_fewer_levels_are_a_warning_where_a_word_made_them_text():
    values = np.array([f"{v / 4}" for v in range(30)])[np.arange(300) % 30]
    values[70] = "oops"
    table = pd.DataFrame({"y": np.arange(300) % 7 > 2, "x": values})
    with pytest.warns(DataWarning, match='"x" is a column of text.*30 of its 31 values.*"oops".*or say C'):
        glmclf.Logit.from_formula("y ~ x", table)


@pytest.mark.parametrize(
    "values, kinds, words",
    [
        (["1.5", "-2", "1e5", ".5", "+3.", "−4"], {"plain"}, 0),
        (["1,5", "2,75", "3"], {"comma", "plain"}, 0),
        (["1,500", "12,345.6", "1 500", "1.234,5"], {"thousands"}, 0),
        (["<0.5", "> 3", "≤2 mg", "1"], {"bound", "plain"}, 0),
        (["12 kg", "3kg", "$4", "5 %"], {"unit"}, 0),
        (["1 Main", "2 High", "3 Park", "4 Mill", "5", "6", "7", "8"], {"plain"}, 4),  # names behind numbers
        (["1", "2", "nan", "?"], {"plain"}, 2),
    ],
)
def test_what_reads_as_a_number(values, kinds, words):
    found = numerals(values)
    assert set(found.kinds) == kinds and len(found.words) == words


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["a", "b"],
        ["1st", "2nd", "3rd", "4th"],
        ["1-2", "3-4"],
        ["10:30"],
        [1, 2],
        ["1A", "1B", "2A", "2B"],
    ],
)
def test_what_does_not(values):
    assert numerals(values) is None


def test_codes_of_a_fixed_width_are_labels():
    """007 is no way to write a number: as many levels as rows are the user's."""
    d = pd.DataFrame({"g": [f"{i:03d}" for i in range(40)], "s": np.arange(40) % 5 + 1, "f": np.arange(40) % 3 + 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = glmclf.Logit.from_formula("s + f ~ g", d)
    assert len(model.exog_names) == 40 and model.exog_names[-1] == "g[T.039]"


def test_signed_whole_numbers_are_codes():
    d = pd.DataFrame({"y": np.arange(20) % 3 == 0, "g": np.array(["-2", "-1", "0", "1", "2"])[np.arange(20) % 5]})
    assert len(glmclf.Logit.from_formula("y ~ g", d).exog_names) == 5


@pytest.mark.parametrize("model", MODELS)
def test_a_categorical_column_is_a_factor(model):
    """Its levels were declared: as many as rows are the user's, as in a response."""
    table = pd.DataFrame({"y": np.arange(40) % 2, "g": pd.Categorical([f"{v / 4}" for v in range(20)] * 2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in (table, lambda: iter([table[:25], table[25:]])):
            model_of = getattr(glmclf, model).from_formula("y ~ g", data)
            assert model_of._design.factors["g"].levels == sorted(table["g"].cat.categories)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("levels, said", [
    (["a", "b", " "], '" "'), (["a", "a ", "b"], '"a", "a "'), (["a", "", "b"], '""'),
])
def test_levels_that_blanks_make_are_named(model, levels, said):
    table = pd.DataFrame({"y": np.arange(42) % 2, "g": np.repeat(levels, 14)})
    for data in (table, lambda: iter([table[:20], table[20:]])):
        with pytest.warns(DataWarning, match=rf'"g" has .* that only blanks make \({said}\)'):
            getattr(glmclf, model).from_formula("y ~ g", data)
    if model == "MNLogit":
        with pytest.warns(DataWarning, match='"g" has .* that only blanks make'):
            glmclf.MNLogit.from_formula("g ~ y", table)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        getattr(glmclf, model).from_formula("y ~ g", table.astype({"g": "category"}))
