"""The summary line by line against statsmodels', its other formats, and the tables of a result as frames."""

import copy
import csv
import io
import json
import pickle
import re
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import references

import glmclf
from glmclf.core.likelihood.links import CLogLogLink, LogitLink
from glmclf.inference.hypotheses.wald import intervals, t_test, term_tests, z_pvalues
from glmclf.inference.margins.prediction import Prediction
from glmclf.results.prediction import PredictionResults
from glmclf.results.tables import frames
from glmclf.results.tables.summary import summary

FACTS = [("Event:", "P(y = 1)"), ("Solver:", "irls, 6 iterations")]


class Logit_:  # stands for a model whose class is called Logit
    link = LogitLink()


Logit_.__name__ = "Logit"


class Result:
    """What a summary reads of a result, without a fit."""

    nobs, df_model, df_resid, converged, cov_type = 100, 2, 97, True, "HC1"
    prsquared, llf, llnull, llr_pvalue, aic, bic = 0.25, -30.5, -40.25, 0.00123, 67.0, 75.0
    deviance, null_deviance = 61.0, 80.5

    def __init__(self, names, theta, se, use_t=False, header=FACTS, notes=(), model=Logit_):
        self.model = model()
        self.model.endog_names, self.model.exog_names = "y", list(names)
        self.model._design, self.model._terms = None, {}
        self.use_t, self._facts, self._lines = use_t, header, notes
        theta, se = np.asarray(theta, float), np.asarray(se, float)
        self.params, self.bse = pd.Series(theta, names), pd.Series(se, names)
        self._param_index = self.params.index
        self.tvalues = self.params / self.bse
        self.pvalues = pd.Series(z_pvalues(self.tvalues, 97 if use_t else None), names)

    @property
    def _owner(self):
        return self

    def conf_int(self, alpha=0.05):
        ends = intervals(self.params, self.bse, alpha, 97 if self.use_t else None)
        return pd.DataFrame(ends, index=self.params.index)

    def _header(self):
        return list(self._facts)

    def _notes(self):
        return list(self._lines)


class Wrapped:
    """A statsmodels fit with the two methods that a summary asks for."""

    def __init__(self, fit):
        self._fit = fit
        self._owner, self.converged = self, fit.mle_retvals["converged"]
        fit.model._design, fit.model._terms = None, {}

    def __getattr__(self, name):
        return getattr(self._fit, name)

    def _header(self):
        return [("Event:", "P(GRADE = 1)")]

    def _notes(self):
        return []


def statsmodels_fit(model="logit", formula="GRADE ~ GPA + TUCE + PSI", data="spector", **fit):
    import statsmodels.formula.api as smf

    return getattr(smf, model)(formula, references.reference(f"{data}__logit")[1]).fit(disp=0, **fit)


def body(text):
    """The lines of a summary but for its title, the date and the time; rules without their length, which is one."""
    lines = [line for line in text.splitlines()[1:] if not line.startswith(("Date:", "Time:"))]
    return [line[0] if len(line) > 1 and line == line[0] * len(line) else line for line in lines]


def shown_width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


# ------------------------------------------------------------------------------------------------ statsmodels' layout


@pytest.mark.filterwarnings("ignore:Maximum Likelihood")  # statsmodels' optimiser, on badly scaled columns
@pytest.mark.parametrize("use_t", [False, True])
@pytest.mark.parametrize(
    "formula",
    [
        "GRADE ~ GPA + TUCE + PSI",
        "GRADE ~ I(GPA * 1e5) + I(TUCE / 1e6) + C(PSI, Treatment(1))",  # tiny, large and long
    ],
)
@pytest.mark.parametrize("model", ["logit", "probit"])
def test_every_line_is_statsmodels(model, formula, use_t):
    fit = statsmodels_fit(model, formula, use_t=use_t)
    ours = summary(Wrapped(fit), alpha=0.1).as_text()
    assert body(ours) == body(str(fit.summary(alpha=0.1)))
    assert ours.splitlines()[0].strip() == f"{type(fit.model).__name__} Regression Results: P(GRADE = 1)"


def test_names_and_title_can_be_given():
    fit = statsmodels_fit()
    names = dict(yname="passed", xname=["one", "two", "three", "four"], title="A table")
    ours = str(summary(Wrapped(fit), **names))
    assert body(ours)[: len(body(str(fit.summary(**names))))] == body(str(fit.summary(**names)))
    assert ours.splitlines()[0].strip() == "A table"
    assert re.search(r"^Event: +P\(GRADE = 1\)$", ours, re.M)  # it has left the title, and is told below
    with pytest.raises(ValueError, match="xname= has 2 names for 4"):
        summary(Wrapped(fit), xname=["a", "b"])


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
@pytest.mark.parametrize(("model", "ours"), [("logit", glmclf.Logit), ("probit", glmclf.Probit)])
@pytest.mark.parametrize(
    ("data", "formula"),
    [("spector", "GRADE ~ GPA + TUCE + PSI"), ("birthwt", "low ~ C(race, Sum) * smoke + np.log(lwt) + I(age ** 4)")],
)
def test_every_line_of_a_fit_is_statsmodels(data, formula, model, ours, cov_type):
    theirs = body(str(statsmodels_fit(model, formula, data, cov_type=cov_type).summary()))
    text = str(ours.from_formula(formula, references.reference(f"{data}__logit")[1]).fit(cov_type=cov_type).summary())
    assert body(text)[: len(theirs)] == theirs
    assert text.splitlines()[0].strip().endswith(f"Regression Results: P({formula.split()[0]} = 1)")


@pytest.mark.parametrize("name", ["spector__logit", "birthwt__probit", "titanic__logit", "budworm__cloglog"])
def test_frames_of_fits_hold_the_certified_numbers(name):
    values, res = references.reference(name)[0]["values"], references.fitted(name)
    tidy = res.tidy().set_index("term")
    for column, key in (("estimate", "params"), ("std_error", "bse"), ("statistic", "tvalues"), ("p_value", "pvalues")):
        np.testing.assert_allclose(tidy[column], pd.Series(values[key])[tidy.index], rtol=1e-8)
    ends = np.array([values["conf_int"][term] for term in tidy.index])
    np.testing.assert_allclose(tidy[["conf_low", "conf_high"]], ends, rtol=1e-8)
    np.testing.assert_allclose(res.summary_frame().iloc[:, 4:], ends, rtol=1e-8)
    row = res.glance().iloc[0]
    keys = {"log_lik": "llf", "aic": "aic", "bic": "bic", "nobs": "nobs", "df_residual": "df_resid"}
    for column, key in keys.items():
        assert row[column] == pytest.approx(values[key], rel=1e-12)
    assert row["deviance"] == pytest.approx(values["deviance"], rel=1e-10)
    assert row["null_deviance"] - row["deviance"] == pytest.approx(values["llr"], rel=1e-8)
    assert row["df_null"] == values["df_resid"] + values["df_model"]


@pytest.mark.parametrize("alpha", [0, 1.5, np.nan])
def test_alpha_is_checked(alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        summary(Result(["x"], [1], [1]), alpha=alpha)


@pytest.mark.parametrize(
    ("alpha", "heads"),
    [
        (0.05, ("[0.025", "0.975]")),
        (0.01, ("[0.005", "0.995]")),
        (0.3, ("[0.15", "0.85]")),
        (1e-7, ("[5e-08", "0.99999995]")),
    ],
)
def test_headings_of_the_interval(alpha, heads):
    assert frames.interval_headings(alpha) == heads


def test_tables_stand_where_statsmodels_has_them():
    result = summary(Result(["x"], [1], [0.5], notes=["a note"]))
    assert len(result.tables) == 3
    read = pd.read_csv(io.StringIO(result.tables[1].as_csv()), index_col=0)
    assert read.loc["x", "coef"] == 1.0 and read.loc["x", "std err"] == 0.5


def test_it_is_a_statsmodels_summary():
    from statsmodels.iolib.summary import Summary
    from statsmodels.iolib.table import SimpleTable

    result = summary(Result(["x"], [1], [0.5]))
    assert isinstance(result, Summary) and all(isinstance(table, SimpleTable) for table in result.tables)
    assert str(result) == result.as_text()
    assert result._repr_html_() == result.as_html() and result._repr_latex_() == result.as_latex()
    assert str(pickle.loads(pickle.dumps(result))) == str(copy.deepcopy(result)) == str(result)


# ------------------------------------------------------------------------------------------- what was modelled, notes


def test_facts_and_notes():
    header = [*FACTS, ("Rows dropped:", "3 (x: 2, off: 1)"), ("Link:", ""), ("Freq. weights:", None)]
    text = str(summary(Result(["x"], [1], [0.5], header=header, notes=["first", "second"])))
    assert text.splitlines()[0].strip() == "Logit Regression Results: P(y = 1)"
    assert text.endswith("\nNotes:\n[1] first\n[2] second")
    facts = text[text.rindex("-" * 78) :].splitlines()
    assert facts[2:6] == [
        "=" * 78,
        "Solver:            irls, 6 iterations",
        "Rows dropped:      3 (x: 2, off: 1)",
        "=" * 78,
    ]


def test_nothing_to_say():
    text = str(summary(Result(["x"], [1], [0.5], header=[])))
    assert text.splitlines()[0].strip() == "Logit Regression Results"
    assert text.endswith("=" * 78) and "Notes" not in text and text.count("=" * 78) == 3


def test_long_facts_and_notes_wrap_in_text_only():
    words = " ".join(f"word{i}" for i in range(40))
    result = summary(Result(["x"], [1], [0.5], header=[("Rows dropped:", words)], notes=[words]))
    assert max(map(len, str(result).splitlines())) == 78
    flat = " ".join(str(result).split())
    assert flat.count(words) == 2
    for text in (result.as_html(), result.as_latex(), result.as_csv(), result.as_markdown()):
        assert text.count(words) == 2


# ------------------------------------------------------------------------------------------------ odd names and numbers


@pytest.mark.parametrize(
    "names",
    [
        ["Intercept", "C(a_very_long_name_of_a_factor, Treatment('some level'))[T.another level of it]"],
        ["年齢", "naïve"],
        ["e\u0301te\u0301", "x"],  # combining accents
        ["line\nbreak", "tab\tstop"],
        ["пол[T.ж]", "größe:höhe"],
    ],
)
def test_rows_stay_aligned(names):
    table = summary(Result(names, [1.5, -2e7], [0.5, 1e-6])).tables[1].as_text().splitlines()
    assert len(table) == 6
    assert len({shown_width(line) for line in table}) == 1


def test_numbers_that_are_not_finite_or_not_moderate():
    names = ["sep", "gone", "tiny", "huge", "zero"]
    result = Result(names, [np.inf, np.nan, 1e-12, 123456.789, 0.0], [np.nan, np.nan, 1e-13, 1e3, 1.0])
    result.pvalues["tiny"] = 1e-300
    table = summary(result).tables[1].as_text().splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in table[3:-1]}
    assert len({len(line) for line in table}) == 1
    assert rows["sep"] == ["inf", "nan", "nan", "nan", "nan", "nan"]
    assert rows["gone"] == ["nan"] * 6
    assert rows["tiny"][:4] == ["1e-12", "1e-13", "10.000", "0.000"]
    assert rows["huge"][:2] == ["1.235e+05", "1000.000"]
    assert rows["zero"][0] == "0"


def test_omitted_coefficients_say_so():
    result = Result(["x", "twin"], [1, np.nan], [0.5, np.nan])
    result._omitted = np.array([False, True])
    line = summary(result).tables[1].as_text().splitlines()[-2]
    assert line.split() == ["twin", "(omitted)"] and len(line) == 78


def test_thousands_of_coefficients():
    names = [f"x{i}" for i in range(4000)]
    text = str(summary(Result(names, np.arange(4000), np.ones(4000))))
    assert text.count("\n") > 4000 and len({len(line) for line in text.splitlines() if line.startswith("x")}) == 1


# --------------------------------------------------------------------------------------------------------- the formats

ODD = ["100%_sure & #1 $x$", "C(g, Treatment('<b>'))[T.a|b]", r"back\slash {~^}"]


@pytest.fixture
def odd():
    header = [("Event:", "P(a_b = '<5%')"), ("Clusters:", "8 (cl_1 & cl_2)")]
    return summary(Result(ODD, [1, 2, 3], [1, 1, 1], header=header, notes=["50% of x_1 < 3 & more"]))


def test_latex_escapes(odd):
    text = odd.as_latex()
    assert r"100\%\_sure \& \#1 \$x\$" in text
    assert r"C(g, Treatment('$<$b$>$'))[T.a$|$b]" in text
    assert r"back\textbackslash{}slash \{\textasciitilde{}\textasciicircum{}\}" in text
    assert r"P$>|$z$|$" in text and r"50\% of x\_1 $<$ 3 \& more" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {3, 6, 1}
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 3
    bare = re.sub(r"\\[%_&#${}]|^%.*$|\\\\", "", text, flags=re.M)
    assert not re.search(r"[#~%]", bare) and bare.count("{") == bare.count("}") and bare.count("$") % 2 == 0


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.stack, self.cells = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.stack.append(tag)
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] in ("td", "th", "caption"):
            self.cells[-1] += data

    def handle_startendtag(self, tag, attrs):
        assert tag == "br"


def test_html_escapes(odd):
    read = Cells(odd.as_html())
    assert not read.stack
    assert set(ODD) <= set(read.cells) and "Logit Regression Results: P(a_b = '<5%')" in read.cells
    assert "<b>" not in odd.as_html() and "50% of x_1 &lt; 3 &amp; more" in odd.as_html()


def test_csv_reads_back(odd):
    rows = list(csv.reader(io.StringIO(odd.as_csv())))
    assert rows[0] == ["Logit Regression Results: P(a_b = '<5%')"]
    start = rows.index(["", "coef", "std err", "z", "P>|z|", "[0.025", "0.975]"])
    assert [row[0] for row in rows[start + 1 : start + 4]] == ODD
    assert [float(row[1]) for row in rows[start + 1 : start + 4]] == [1, 2, 3]
    assert ["Clusters:", "8 (cl_1 & cl_2)"] in rows and ["[1] 50% of x_1 < 3 & more"] in rows


def test_markdown_tables(odd):
    text = odd.as_markdown()
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert [len(block) for block in blocks] == [9, 5, 3]
    for block, columns in zip(blocks, [4, 7, 2]):
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in block} == {columns + 1}
        assert set(block[1]) <= set("| :-")
    assert r"100%\_sure & #1 \$x\$" in text and r"[T.a\|b]" in text and r"\<b>" in text
    assert text.startswith("**Logit Regression Results: P(a_b = '<5%')**")


def test_typst_strings_read_back(odd):
    text = odd.as_typst()
    strings = [json.loads(s) for s in re.findall(r'"(?:[^"\\\\]|\\\\.)*"', text)]  # its escapes are JSON's
    csv_cells = [cell for row in csv.reader(io.StringIO(odd.as_csv())) for cell in row]
    assert strings == csv_cells and {*ODD} <= {*strings}
    bare = re.sub(r'"(?:[^"\\\\]|\\\\.)*"', "", text)
    assert bare.count("#table(") == bare.count("stroke: none") == 3 and bare.count("(") == bare.count(")")
    assert not re.search(r"[$%&<>|~^_@*]", bare)


# ------------------------------------------------------------------------------------------------------ exponentiating


@pytest.mark.parametrize(("link", "head"), [(LogitLink(), "odds ratio"), (CLogLogLink(), "HR")])
def test_ratios(link, head):
    result = Result(["Intercept", "x"], [-1, 0.7], [0.5, 0.2])
    result.model.link = link
    lines = summary(result, exponentiate=True).tables[1].as_text().splitlines()
    assert lines[1].lstrip().startswith(head) and len({len(line) for line in lines}) == 1
    plain = summary(result).tables[1].as_text().splitlines()
    ratio, se, z, p, low, high = map(float, lines[-2].split()[1:])
    assert (ratio, se) == (pytest.approx(np.exp(0.7), abs=1e-4), pytest.approx(0.2 * np.exp(0.7), abs=1e-3))
    assert (z, p) == tuple(map(float, plain[-2].split()[3:5]))
    assert (low, high) == tuple(pytest.approx(np.exp(0.7 + s * 1.959964 * 0.2), abs=1e-3) for s in (-1, 1))


# -------------------------------------------------------------------------------------------------------------- frames


def test_summary_frame_has_statsmodels_columns():
    theta, V = np.array([1.0, -0.5]), np.diag([0.25, 0.01])
    for use_t in (False, True):
        result = Result(["a", "b"], theta, np.sqrt(np.diag(V)), use_t=use_t)
        expected = t_test(theta, V, np.eye(2), df=97 if use_t else None).summary_frame(alpha=0.1).set_axis(["a", "b"])
        pd.testing.assert_frame_equal(frames.summary_frame(result, 0.1), expected)
    ratios = frames.summary_frame(result, exponentiate=True)
    np.testing.assert_allclose(ratios["coef"], np.exp(theta))
    np.testing.assert_allclose(ratios["std err"], np.exp(theta) * [0.5, 0.1])
    pd.testing.assert_series_equal(ratios["P>|t|"], frames.summary_frame(result)["P>|t|"])


def test_odds_ratios_for_a_change_of_several_units():
    result = Result(["Intercept", "age", "dose"], [0.5, 0.03, -0.2], [0.1, 0.01, 0.05])
    ratios = frames.odds_ratios(result, units={"age": 10, "dose": -2})
    assert list(ratios.index) == ["Intercept", "age (per 10)", "dose (per -2)"]
    assert list(ratios.columns) == ["odds ratio", "std err", "z", "P>|z|", "[0.025", "0.975]"]
    np.testing.assert_allclose(ratios["odds ratio"], np.exp([0.5, 0.3, 0.4]))
    np.testing.assert_allclose(ratios["std err"], np.exp([0.5, 0.3, 0.4]) * [0.1, 0.1, 0.1])
    np.testing.assert_allclose(ratios["z"], [5, 3, 4])
    np.testing.assert_allclose(ratios["P>|z|"], result.pvalues)
    half = 1.959963984540054 * 0.1
    np.testing.assert_allclose(ratios["[0.025"], np.exp(np.array([0.5, 0.3, 0.4]) - half))
    np.testing.assert_allclose(ratios["0.975]"], np.exp(np.array([0.5, 0.3, 0.4]) + half))


def test_odds_ratios_of_what_is_not_finite():
    ratios = frames.odds_ratios(Result(["a", "b", "c"], [np.inf, -np.inf, np.nan], [np.nan] * 3))
    assert ratios["odds ratio"].tolist()[:2] == [np.inf, 0.0]
    assert ratios.drop(columns="odds ratio").isna().all(axis=None) and np.isnan(ratios.loc["c", "odds ratio"])


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ({"Age": 10}, "'Age'.*Its coefficients are Intercept, age"),
        ({"age": 0}, "finite number other than zero"),
        ({"age": "10"}, "finite number other than zero"),
        ({"age": np.nan}, "finite number"),
    ],
)
def test_units_are_checked(units, message):
    with pytest.raises(ValueError, match=message):
        frames.odds_ratios(Result(["Intercept", "age"], [0.5, 0.03], [0.1, 0.01]), units=units)


def test_tidy():
    result = Result(["Intercept", "x"], [1.0, 2.0], [0.5, 0.5])
    tidy = frames.tidy(result)
    assert list(tidy.columns) == ["term", "estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    assert tidy["term"].tolist() == ["Intercept", "x"] and tidy.index.tolist() == [0, 1]
    assert tidy["statistic"].tolist() == [2.0, 4.0]
    ratio = frames.tidy(result, exponentiate=True)
    np.testing.assert_allclose(ratio[["estimate", "std_error"]], np.exp([[1.0], [2.0]]) * [[1, 0.5]])


def test_glance():
    row = frames.glance(Result(["x"], [1], [0.5]))
    assert list(row.columns) == [
        "null_deviance", "df_null", "log_lik", "aic", "bic", "deviance", "df_residual", "nobs",
    ]  # fmt: skip
    assert row.iloc[0].tolist() == [80.5, 99, -30.5, 67.0, 75.0, 61.0, 97, 100]


def test_term_table_is_statsmodels():
    fit = statsmodels_fit(formula="GRADE ~ GPA + C(TUCE // 10)")
    theirs = fit.wald_test_terms(scalar=True)
    terms = {"Intercept": slice(0, 1), "C(TUCE // 10)": slice(1, 1 + fit.params.size - 2), "GPA": slice(-1, None)}
    ours = frames.term_table(term_tests(np.asarray(fit.params), np.asarray(fit.cov_params()), terms))
    pd.testing.assert_frame_equal(ours.table, theirs.table, check_index_type=False, rtol=1e-10)
    assert str(ours) == str(theirs) and type(ours) is type(theirs)
    with_f = frames.term_table(term_tests(np.array([2.0]), np.eye(1), {"x": slice(0, 1)}, use_f=True, df=30))
    assert with_f.table.columns.tolist() == ["statistic", "pvalue", "df_constraint", "df_denom"]
    assert with_f.distribution == "F" and with_f.df_denom.tolist() == [30]


def test_predictions_carry_their_index():
    numbers = Prediction(np.array([0.0, np.nan]), np.array([0.5, np.nan]), LogitLink())
    results = PredictionResults(numbers, pd.Index(["a", "b"], name="id"))
    frame = results.summary_frame(alpha=0.1)
    assert frame.columns.tolist() == ["predicted", "se", "ci_lower", "ci_upper"]
    assert frame.index.equals(pd.Index(["a", "b"], name="id")) and frame.loc["b"].isna().all()
    np.testing.assert_allclose(frame.loc["a"], [0.5, 0.125, *numbers.conf_int(0.1)[0]])
    assert results.predicted["a"] == 0.5 and results.se["a"] == 0.125 and len(results) == 2
    assert results.which == "mean" and "predicted" in repr(results) and "<table" in results._repr_html_()
