"""Names and levels of data command no terminal, turn no line round and are no formula of a spreadsheet."""

import csv
import io
import json
import pickle
import re
import shutil
import subprocess
import unicodedata

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, Logit, MNLogit, NaiveBayes
from glmclf.errors import DataError, DataWarning, SingularCovarianceError, escaped, warn
from glmclf.results.tables.render import in_csv, markdown

ESCAPE, TURN, C1, BREAK = "\x1b[2J", "\u202e", "\x9b31m", "a\nb"
WORST = ESCAPE + TURN + C1


def commands(text):
    """Characters of a text that are more than ink, but for line ends."""
    return [c for c in text if c != "\n" and (unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in "\u202e\u2066")]


USUAL = ["x_1", "bill_length_mm", "a__b", "I(x ** 2)", "I(age < 5)", "p <0.001", "y ~ x_1 + z", "C(g)[T.b_1]", "é_1"]
MARKED = ["_x", "x_", "__a__", "*a*", "2*a*3", "~a~", "<b>", "x<y>", "</p>", "<!-- a", "a _b_ c", "(_a_)", "$x_$"]


@pytest.mark.parametrize("name", USUAL + MARKED)
def test_names_in_markdown(name):
    """Usual names are as they are, and Pandoc reads all of them as text."""
    text = markdown(name)
    assert (text == name) == (name in USUAL)
    if shutil.which("pandoc"):
        for form in ("markdown-smart", "gfm", "commonmark"):
            call = ["pandoc", "-f", form, "-t", "json"]
            run = subprocess.run(call, input=f"({text}) {text}", capture_output=True, text=True, check=True)
            (block,) = json.loads(run.stdout)["blocks"]
            assert "".join(" " if node["t"] == "Space" else node["c"] for node in block["c"]) == f"({name}) {name}"


@pytest.fixture(scope="module")
def data():
    G, n = np.random.default_rng(8), 240
    d = pd.DataFrame({f"=x{WORST}": G.normal(size=n), "g": np.resize(["a", f"+b{WORST}", "@c", f"-d{BREAK}"], n)})
    d["y"] = np.where(d.iloc[:, 0] + G.logistic(size=n) > 0, f"=1+1{WORST}", "@no")
    d["three"] = np.resize([f"=u{WORST}", "-v", "w\tx"], n)
    return d


def fits(d):
    x = d[[f"=x{WORST}"]]
    return [
        Logit(d.y, x.assign(one=1.0)).fit(),
        Logit.from_formula("y ~ g", d).fit(),
        MNLogit.from_formula("three ~ g", d).fit(),
        LDA(d.three, x).fit(),
        NaiveBayes.from_formula("three ~ g", d).fit(),
    ]


@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning")
def test_nothing_that_is_printed_commands(data):
    for res in fits(data):
        table = glmclf.regression_table(res, title=WORST)
        parts = [res.summary(), table]
        texts = [
            getattr(part, f"as_{form}")()
            for part in parts
            for form in ("text", "html", "latex", "csv", "markdown", "typst")
        ]
        texts += [repr(res), repr(res.model), res._repr_html_(), repr(res.classification_report())]
        texts += [repr(res.calibration()), res.calibration()._repr_html_(), repr(res.summary_frame())]
        for text in texts:
            assert not commands(text), ascii(text)
        assert any(r"\x1b[2J\u202e\x9b31m" in text for text in texts)


def test_letters_of_any_script_stay():
    for text in ("naïve 年齢 пол", "e\u0301", "שלום", "\u06a9\u200c\u0627", "a\\x1b", "\U0001f600"):
        assert escaped(text) == text
    assert escaped("a\x1b\x00\x9b\u2028\u202e\u2067\u061cb\n") == "a\\x1b\\x00\\x9b\\u2028\\u202e\\u2067\\u061cb\n"
    assert escaped("\ud800\n", keep="") == "\\ud800\\n"


def test_messages(data):
    res = Logit.from_formula("y ~ g", data).fit()
    with pytest.raises(DataError) as said:
        res.predict(pd.DataFrame({"g": [f"new{WORST}"]}))
    assert not commands(str(said.value)) and r"new\x1b[2J\u202e\x9b31m" in str(said.value)
    with pytest.raises(DataError) as said:
        Logit(data.y, pd.DataFrame({f"n{WORST}\n2": np.where(data.index == 3, np.inf, 1.0)})).fit()
    assert not commands(str(said.value)) and r"n\x1b[2J\u202e\x9b31m\n2" in str(said.value)
    with pytest.warns(DataWarning) as caught:
        warn(f'"{WORST}" is odd', DataWarning)
    assert str(caught[0].message) == r'"\x1b[2J\u202e\x9b31m" is odd'


def test_a_pickled_error_says_the_same():
    for error in (DataError(WORST), SingularCovarianceError(WORST, ["x"], ["a"], {"x": 1.0})):
        assert str(pickle.loads(pickle.dumps(error))) == str(error) == r"\x1b[2J\u202e\x9b31m"


@pytest.mark.parametrize("text", [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-v", "-1e", "- a", "-2 (A1)",
])  # fmt: skip
def test_a_formula_has_a_quote_before_it(text):
    assert in_csv(text) == f"'{text}"


@pytest.mark.parametrize("text", [
    "-1.234", "+2", "-1e-05", "-inf", "-0.358***", "-0.358 *", "-12.5%", "-1,234.5", "-.5", "-", "+", "", "a=1", "(-1)",
    "-1.5 (0.2)",
])  # fmt: skip
def test_numbers_and_other_texts_stay(text):
    assert in_csv(text) == text


@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning")
def test_csv_holds_no_formula(data):
    quoted = set()
    for res in fits(data):
        labels = {name: "-a" for name in res.tidy().term if name == "g[T.a]"}
        labelled = glmclf.regression_table(res, stars=True, names=["=first"], title="@title", labels=labels)
        for text in (res.summary().as_csv(), labelled.as_csv()):
            for cell in (cell for row in csv.reader(io.StringIO(text)) for cell in row):
                assert cell[:1] not in ("=", "@", "\t"), cell
                number = re.sub(r" \([\d.]+\)$", "", cell).rstrip("* %")  # beside its standard error
                assert cell[:1] not in ("+", "-") or float(number) is not None
                quoted |= {cell} if cell.startswith("'") else set()
    assert {"'=first", "'@title", "'-a"} < quoted
    assert r"'=x\x1b[2J\u202e\x9b31m" in quoted
