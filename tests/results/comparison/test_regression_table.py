"""Coefficients side by side: certified numbers in their cells, what is not there, and every format read back."""

import csv
import io
import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import references

import glmclf
from glmclf import datasets, regression_table
from glmclf.errors import CollinearityWarning, DataWarning, InferenceWarning, SeparationWarning
from glmclf.results.tables import render as layout

DIGITS = 12  # decimals that are printed for comparison with certified values
CLOSE = 1e-9  # of values of order 1, as certified
ODD = ["a_b % & # $x$ {y} ~ ^ \\ < > | * @ \"q\" 'r'", "`c` [t](u) &amp; -- // /* ## -? ...", "年齢 é ж", "= 1", "- 2"]


@pytest.fixture(scope="module")
def birthwt():
    return [references.fitted("birthwt__logit"), references.fitted("birthwt__probit")]


@pytest.fixture(scope="module")
def alligators():
    case, data = references.reference("alligators__mnlogit")
    made = glmclf.MNLogit.from_formula(case["formula"], data, freq_weights="freq", reference="Fish")
    return case["values"], made.fit()


@pytest.fixture(scope="module")
def spector():
    return datasets.load("spector")


def numbers(text):
    return [float(x) for x in re.findall(r"-?\d[\d.e+-]*", text)]


def lines(table):
    """Of each coefficient, its cells and those below; and the footer, by label."""
    frame, out, last = table.to_frame(), {}, None
    for label, row in zip(frame.index, frame.to_numpy()):
        last = label or last
        out.setdefault(last, []).append([x.strip() for x in row])
    return out


# ------------------------------------------------------------------------------------------------------ the numbers
def test_cells_hold_certified_numbers(birthwt):
    values = [references.reference(f"birthwt__{m}")[0]["values"] for m in ("logit", "probit")]
    read = lines(regression_table(*birthwt, digits=DIGITS, names=["a", "b"]))
    assert list(read)[: len(values[0]["params"])] == list(birthwt[0].params.index)
    for j, v in enumerate(values):
        for name, b in v["params"].items():
            assert numbers(read[name][0][j]) == pytest.approx([b], abs=CLOSE)
            assert numbers(read[name][1][j]) == pytest.approx([v["bse"][name]], abs=CLOSE)
        below = {"Log-likelihood": "llf", "AIC": "aic", "BIC": "bic", "Pseudo R-squared": "prsquared"}
        for label, key in below.items():
            assert float(read[label][0][j]) == pytest.approx(v[key], abs=CLOSE)
    assert read["Model"] == [["Logit", "Probit"]] and read["Observations"] == [["189", "189"]]
    assert read["Events"] == [["59", "59"]]  # sum(birthwt$low)
    assert read["Covariance"] == [["nonrobust", "nonrobust"]] and "Reference" not in read


def test_stars_go_by_certified_p_values(birthwt):
    values = references.reference("birthwt__logit")[0]["values"]["pvalues"]
    for levels in (True, (0.1, 0.05, 0.02, 0.01)):
        table = regression_table(birthwt[0], stars=levels)
        for name, p in values.items():
            cut = (0.05, 0.01, 0.001) if levels is True else levels
            assert lines(table)[name][0][0].count("*") == sum(p < x for x in cut)
    assert "* p < 0.1, ** p < 0.05, *** p < 0.02, **** p < 0.01." in str(table)
    assert "*" not in str(regression_table(birthwt[0]))


@pytest.mark.parametrize("exponentiate", [False, True])
def test_ratios_and_intervals(birthwt, exponentiate):
    v = references.reference("birthwt__logit")[0]["values"]
    shown = np.exp if exponentiate else np.positive
    with_ends = regression_table(birthwt[0], intervals=True, exponentiate=exponentiate, digits=DIGITS, stars=True)
    with_errors = regression_table(birthwt[0], exponentiate=exponentiate, digits=DIGITS, stars=True)
    for name, b in v["params"].items():
        (first,), (second,) = lines(with_ends)[name]
        assert second.startswith("[") and second.endswith("]")
        assert numbers(first.rstrip("*")) == pytest.approx([shown(b)], rel=1e-9)
        assert numbers(second) == pytest.approx(shown(v["conf_int"][name]), rel=1e-9)
        error = v["bse"][name] * (np.exp(b) if exponentiate else 1)
        assert numbers(lines(with_errors)[name][1][0]) == pytest.approx([error], rel=1e-9)
        assert first.count("*") == sum(v["pvalues"][name] < x for x in (0.05, 0.01, 0.001))
    assert ("odds ratio" in str(with_ends)) == exponentiate
    assert "Intervals of level 95 % in brackets." in str(with_ends)


def test_profile_intervals(spector):
    res = glmclf.Logit.from_formula("GRADE ~ PSI", spector).fit()
    ends = res.conf_int(0.1, method="profile").loc["PSI"]
    table = regression_table(res, intervals="profile", alpha=0.1, exponentiate=True, digits=DIGITS)
    assert numbers(lines(table)["PSI"][1][0]) == pytest.approx(np.exp(ends), rel=1e-9)
    assert "Profile likelihood intervals of level 90 %" in str(table)
    with pytest.raises(NotImplementedError):
        regression_table(res.model.fit_regularized(0.1), intervals="profile")


def test_outcomes_stand_in_groups(alligators):
    values, res = alligators
    small = glmclf.LDA.from_formula("species ~ bill_length_mm", datasets.load("penguins")).fit()
    table = regression_table(res, small, names=["food", "lda"], digits=DIGITS)
    frame = table.to_frame()
    heads = [("food", x) for x in values["levels"][1:]]
    assert list(frame.columns) == [*heads, ("lda", "Chinstrap"), ("lda", "Gentoo")]
    read = lines(table)
    for j, level in enumerate(values["levels"][1:]):
        for name, b in values["params"][level].items():
            assert numbers(read[name][0][j]) == pytest.approx([b], abs=CLOSE)
            assert numbers(read[name][1][j]) == pytest.approx([values["bse"][level][name]], abs=CLOSE)
    implied = small.discriminant
    for j, level in enumerate(["Chinstrap", "Gentoo"], start=4):
        assert float(read["bill_length_mm"][0][j]) == pytest.approx(implied.params.loc["bill_length_mm", level])
        assert read["size[T.>2.3]"][0][j] == ""
    assert read["Reference"] == [["Fish", "", "", "", "Adelie", ""]]
    assert read["Observations"] == [["219", "", "", "", "342", ""]]
    assert read["AIC"][0][4] == "" and float(read["Log-likelihood"][0][4]) == pytest.approx(small.llf_conditional)
    assert "lda: coefficients of the implied logit" in str(table) and "Events" not in read
    text = table.as_text().splitlines()
    assert text[1].split() == ["food", "lda"] and re.fullmatch(r" +-+ -+", text[2])
    start = text[2].index("-")
    assert text[3][:start].strip() == "" and text[1].index("food") > start


# ------------------------------------------------------------------------------------- what is not there, or not finite
def test_infinite_and_omitted_entries():
    case, data = references.reference("endometrial__logit_separation")
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit.from_formula(case["formula"], data).fit()
    with pytest.warns(CollinearityWarning):
        twin = glmclf.Logit.from_formula("HG ~ PI + I(2 * PI)", data).fit()
    limit = case["values"]["finite_limit"]
    for ratios, shown in ((False, np.positive), (True, np.exp)):
        table = regression_table(res, twin, digits=DIGITS, names=["all", "twin"], stars=True, exponentiate=ratios)
        read = lines(table)
        assert read["NV"] == [["inf", ""]]
        for name in ("PI", "EH"):
            assert numbers(read[name][0][0].rstrip("*")) == pytest.approx([shown(limit[name])], abs=CLOSE)
        assert "all: the maximum likelihood estimate is infinite" in str(table)
        assert sum(cells[0][1] == "(omitted)" for cells in read.values()) == 1
        gone = next(name for name, cells in read.items() if cells[0][1] == "(omitted)")
        assert gone in ("PI", "I(2 * PI)") and (len(read[gone]) == 1 or read[gone][1][1] == "")
    with pytest.warns(SeparationWarning):
        down = glmclf.Logit.from_formula(case["formula"], data.assign(NV=-data.NV)).fit()
    assert lines(regression_table(down))["NV"] == [["-inf"]]
    assert lines(regression_table(down, exponentiate=True))["NV"] == [["0"]]


def test_what_a_reader_must_know(spector):
    made = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE", spector)
    fits = {"ridge": made.fit_regularized(0.1), "lasso": made.fit_regularized(0.2, L1_wt=1.0)}
    fits["firth"] = made.fit(bias_reduction="firth")
    fits["sampled"] = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE", spector, weights="TUCE").fit()
    table = regression_table(*fits.values(), names=list(fits), stars=True)
    read, text = lines(table), " ".join(str(table).split())
    assert "ridge: penalised: posterior standard deviations, no tests." in text
    assert "lasso: penalised: no standard errors, no tests." in text
    assert "sampled: the log-likelihood is a pseudo-likelihood" in text
    assert "firth: penalised" not in text and read["Model"][0][3] == "Logit" and "," in read["Model"][0][2]
    assert fits["lasso"].params["GPA"] == 0 and read["GPA"][0][1] == "0" and read["GPA"][1][1] == ""
    assert read["Intercept"][0][0].count("*") == 0
    assert read["AIC"][0][3] == "" and read["Events"][0] == ["11", "11", "11", ""]
    assert read["Covariance"][0][3] == "HC0"
    assert "Standard errors in parentheses" in text


def test_how_constrained_and_selected_fits_came_about(spector):
    made = glmclf.Logit.from_formula("GRADE ~ GPA + TUCE + PSI", spector)
    with pytest.warns(InferenceWarning, match="ignore that the same data selected them"):
        equal, chosen = made.fit_constrained("GPA = PSI"), made.fit_regularized(0.1, L1_wt=1.0, refit=True)
    table = regression_table(equal, chosen, made.fit(), stars=True)
    read, text = lines(table), " ".join(str(table).split())
    assert read["Model"][0] == ["Logit, constrained", "Logit, Lasso, refit", "Logit"]
    assert "(1): under the constraint GPA - PSI = 0." in text and "(3):" not in text and "penalised" not in text
    assert "(2): columns that a penalty selected, by maximum likelihood; errors and p-values ignore" in text
    three = glmclf.MNLogit.from_formula("kind ~ GPA", spector.assign(kind=spector.GRADE + spector.PSI))
    text = " ".join(str(regression_table(three.fit_constrained("y1_GPA = y2_GPA, y2_Intercept = 0"))).split())
    assert "(1): under the constraints y1_GPA - y2_GPA = 0, y2_Intercept = 0." in text


def test_labels_of_nothing_are_warned_of(birthwt):
    with pytest.warns(DataWarning, match="labels= names 'agee', 1, no coefficient of the fits: Intercept, "):
        table = regression_table(*birthwt, labels={"agee": "Age", 1: "One", "lwt": "Weight"})
    assert "Weight" in table.to_frame().index and "age" in table.to_frame().index


def test_pooled_fits_beside_their_parts(spector):
    fits = [glmclf.Logit.from_formula("GRADE ~ GPA", spector.iloc[i:]).fit() for i in (0, 3)]
    pooled = glmclf.pool([fits[0], fits[0].with_cov("nonrobust")])
    read = lines(regression_table(pooled, *fits, digits=DIGITS))
    assert read["Model"] == [["Logit, pooled", "Logit", "Logit"]]
    assert read["GPA"][0][0] == read["GPA"][0][1]  # the mean of two equal estimates
    assert read["Log-likelihood"][0][0] == "" and read["Observations"] == [["32", "32", "29"]]


def test_kept_fits_show_the_same(spector, tmp_path):
    res = glmclf.Logit.from_formula("GRADE ~ GPA", spector).fit()
    before = str(regression_table(res, stars=True))
    res.save(tmp_path / "a.json")
    assert str(regression_table(glmclf.load(tmp_path / "a.json"), stars=True)) == before
    res.remove_data()
    assert str(regression_table(res, stars=True)) == before


# -------------------------------------------------------------------------------------------------- rows and options
def test_rows_are_united_in_order(spector):
    make = lambda f: glmclf.Logit.from_formula(f, spector).fit()
    fits = [make("GRADE ~ GPA + PSI"), make("GRADE ~ TUCE + PSI"), make("GRADE ~ 0 + GPA + I(GPA ** 2)")]
    table = regression_table(*fits, stats=["nobs"])
    assert list(lines(table)) == ["Intercept", "GPA", "TUCE", "PSI", "I(GPA ** 2)", "Observations"]
    read = lines(table)
    assert [bool(x) for x in read["GPA"][0]] == [True, False, True]
    assert [bool(x) for x in read["TUCE"][0]] == [False, True, False] and read["PSI"][0][2] == ""
    kept = regression_table(*fits, keep=["PSI", "GPA"], stats=["bic", "nobs"], labels={"PSI": "Programme"})
    assert list(lines(kept)) == ["Programme", "GPA", "BIC", "Observations"]
    assert "Not shown: Intercept, TUCE, I(GPA ** 2)." in str(kept)
    one = regression_table(fits[0], fits[1], labels={"GPA": "ability", "TUCE": "ability"})
    assert [bool(x) for x in lines(one)["ability"][0]] == [True, True]
    assert lines(regression_table(fits[0], keep=[], stats="nobs")) == {"Observations": [["32"]]}
    assert [len(t) for t in lines(regression_table(fits[0], stats=[])).values()] == [2, 2, 2]


def test_terms_are_kept_and_dropped_as_wholes(birthwt):
    table = regression_table(birthwt[0], drop="C(race)")
    assert not any("race" in name for name in lines(table)) and "Not shown: C(race)." in str(table)
    table = regression_table(birthwt[0], drop=["C(race)[T.2]", "Intercept"])
    assert "C(race)[T.3]" in lines(table) and "Not shown: Intercept, C(race)[T.2]." in str(table)
    assert list(lines(regression_table(birthwt[0], keep=["smoke", "C(race)"], stats=[]))) == [
        "smoke", "C(race)[T.2]", "C(race)[T.3]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"keep": ["age", "agee"]}, ValueError, "keep= names 'agee', no coefficient or term of the fits: Intercept"),
        ({"drop": "race"}, ValueError, "drop= names 'race'"),
        ({"labels": {"age": "x", "lwt": "x"}}, ValueError, "calls 'age', 'lwt' of one fit the same, 'x'"),
        ({"stars": (0.01, 0.05)}, ValueError, "the largest first"),
        ({"stars": (5,)}, ValueError, "between 0 and 1"),
        ({"stars": 0.05}, ValueError, r"stars=0.05: True, or levels .* as \(0.1, 0.05, 0.01\)"),
        ({"stars": "ab"}, ValueError, "stars='ab': True, or levels"),
        ({"labels": "age"}, ValueError, "labels='age': a dict of names and their texts"),
        ({"intervals": "hdi"}, ValueError, 'intervals=\'hdi\': choose False, True, "wald" or "profile"'),
        ({"digits": -1}, ValueError, "digits=-1"),
        ({"digits": 2.5}, ValueError, "whole number"),
        ({"stats": ["r2"]}, ValueError, "stats= has 'r2'; there are model"),
        ({"alpha": 5}, ValueError, "between 0 and 1"),
        ({"names": ["a", "b"]}, ValueError, "one name for each of the 1 fits"),
        ({"exponentiate": True, "probit": True}, NotImplementedError, "Probit"),
    ],
)
def test_options_are_checked(birthwt, options, error, message):
    with pytest.raises(error, match=message):
        regression_table(birthwt[int(options.pop("probit", False))], **options)


def test_what_is_no_fit_is_refused(birthwt):
    with pytest.raises(TypeError, match="at least one fit"):
        regression_table()
    with pytest.raises(TypeError, match=r"found list: pass them one by one, regression_table\(\*results\)"):
        regression_table(birthwt)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        *((0, "0"), (0.0004, "0.0004"), (0.00049, "0.00049"), (0.0123456, "0.012"), (-0.0056, "-0.0056")),
        *((0.00123456, "0.00123"), (-1234.5678, "-1234.568"), (3e-12, "3e-12"), (123456789.0, "1.23e+08")),
        *((np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan")),
    ],
)
def test_small_numbers_keep_their_digits(x, text):
    from glmclf.results.tables.numbers import decimal

    assert decimal(x, 3) == text


# --------------------------------------------------------------------------------------------------------- the formats
@pytest.fixture(scope="module")
def odd():
    rng = np.random.default_rng(0)
    data = {name: rng.normal(size=60) for name in ODD}
    import pandas as pd

    X, y = pd.DataFrame(data).assign(const=1.0), rng.integers(0, 3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        three = glmclf.MNLogit(pd.Series(np.array(["", "b_1|*", "<c>&"])[y], name="y"), X[[*ODD[:2], "const"]]).fit()
        two = glmclf.Logit((y > 0).astype(int), X).fit()
    return regression_table(two, three, names=[ODD[0], ODD[1]], title=ODD[1], labels={ODD[2]: ""}, stars=True)


@pytest.fixture(scope="module")
def expected(odd):
    """Texts of all cells, row by row, a text a cell."""
    return [[cell.text for cell in line.cells] for line in odd.tables[0]._lines()]


def test_the_odd_table_is_odd(expected):
    flat = [text for row in expected for text in row]
    assert {*ODD} - {ODD[2]} <= {*flat} and {"b_1|*", "<c>&", ""} <= {*flat}


class Rows(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.rows, self.spans, self.caption, self._in = [], [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
            self.spans.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.spans[-1].append(int(dict(attrs).get("colspan", 1)))
        self._in = tag if tag in ("td", "th", "caption") else self._in

    def handle_endtag(self, tag):
        self._in = None if tag == self._in else self._in

    def handle_data(self, data):
        if self._in == "caption":
            self.caption += data
        elif self._in:
            self.rows[-1][-1] += data


def test_html_reads_back(odd, expected):
    read = Rows(odd.as_html())
    assert read.rows == expected and read.caption == ODD[1]
    assert {sum(spans) for spans in read.spans} == {4} and read.spans[0] == [1, 1, 2]
    assert odd._repr_html_() == odd.as_html()


def test_csv_reads_back(odd, expected):
    rows = list(csv.reader(io.StringIO(odd.tables[0].as_csv())))
    assert rows[0] == [ODD[1]] and rows[1] == ["", ODD[0], ODD[1], ODD[1]] and {len(row) for row in rows[1:]} == {4}
    quoted = {"= 1": "'= 1", "- 2": "'- 2"}  # a spreadsheet would evaluate them
    assert [row[0] for row in rows[1:]] == [quoted.get(row[0], row[0]) for row in expected]


def test_markdown_reads_back(odd, expected):
    parser = pytest.importorskip("markdown_it").MarkdownIt().enable("table")
    page = parser.render(odd.as_markdown())
    read = Rows(page)
    flat = lambda row: [x for x in row if x]
    assert read.rows[0] == ["", f"{ODD[0]}: P(y = 1)", f"{ODD[1]}: <c>&", f"{ODD[1]}: b_1|*"]
    assert [flat(row) for row in read.rows[1:]] == [flat(row) for row in expected[2:]]
    assert "<em>" not in page and "<a" not in page and "<code>" not in page and page.count("<strong>") == 1
    assert "* p &lt; 0.05, ** p &lt; 0.01" in page and "<li>" not in page


def test_typst_reads_back(odd, expected):
    typst = pytest.importorskip("typst")
    found = json.loads(typst.query(odd.as_typst().encode(), "table"))[0]["children"]

    def text(x):
        return x["text"] if "text" in x else text(x["body"])

    cells = [x for x in found if x["func"] == "cell"]
    assert [text(x["body"]) for x in cells] == [x for row in expected for x in row]
    assert sum(x.get("colspan", 1) for x in cells) == 4 * len(expected)
    res = references.fitted("birthwt__logit")
    summary = res.summary().as_typst()
    assert typst.compile(summary.encode()).startswith(b"%PDF")
    tables = json.loads(typst.query(summary.encode(), "table"))
    assert len(tables) == 3 and not any("fr" in str(table["columns"]) for table in tables)  # also on pages of no width


def decoded(text):
    """What LaTeX shows of a text of a cell."""
    text = re.sub(r"\\multicolumn\{\d\}\{c\}\{(.*)\}$", r"\1", text)
    text = re.sub(r"^\\textbf\{(.*)\}$", r"\1", text)
    words = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~"}
    out = ""
    for part in re.findall(r"\\text[a-z]+\{\}|\\.|\$[<>|]+\$|\{\}|.", text):
        assert not re.fullmatch(r"[#$%&_^~{}\\]", part), f"{part} in {text}"
        out += words.get(part, "" if part == "{}" else part.strip("$") if part[0] == "$" else part.lstrip("\\"))
    return out


def test_latex_reads_back(odd, expected):
    text = odd.as_latex()
    rows = [line[: -len(r" \\")] for line in text.splitlines() if line.endswith(r" \\")]
    read = [[decoded(cell.strip()) for cell in re.split(r"(?<!\\)&", row)] for row in rows]
    assert read == expected
    assert r"\begin{tabular}{lccc}" in text and text.count(r"\cmidrule(lr){3-4}") == 1
    title = re.search(r"^\\textbf\{(.*)\}\\par\\medskip$", text, re.M)
    assert decoded(title[1]) == ODD[1] and title.end() < text.index(r"\begin{tabular}") and "%" not in text[0]
    assert text.count(r"\midrule") == 2 and r"-{}-" in text and r"\multicolumn{2}{c}" in rows[0]
    assert text.index(r"\cmidrule") < text.index(r"\midrule") < text.rindex(r"\midrule")


def test_text_is_aligned(odd):
    from glmclf.results.tables.render import width

    text = odd.as_text().split("\n\n")[0].splitlines()
    rule = text[1]
    assert set(rule) == {"="} and max(map(width, text[1:])) == len(rule)
    assert [line for line in text[1:] if set(line) in ({"="}, {"-"})] == [rule, *["-" * len(rule)] * 2, rule]


def test_summary_as_typst_escapes_by_strings():
    assert layout.typst('a "b" \\ #c') == '"a \\"b\\" \\\\ #c"'


# -------------------------------------------------------------------------------------- the same name, other levels
def penguins_by(levels, formula="sex ~ island + bill_length_mm", model=glmclf.Logit, **keywords):
    table = datasets.load("penguins").dropna()
    table["island"] = pd.Categorical(table.island, levels)
    return model.from_formula(formula, table, **keywords).fit()


BY_BISCOE, BY_DREAM = ["Biscoe", "Dream", "Torgersen"], ["Dream", "Biscoe", "Torgersen"]


def test_base_levels_are_told_apart():
    """Torgersen against Biscoe, and against Dream, are two quantities: their difference is Biscoe against Dream."""
    one, two = penguins_by(BY_BISCOE), penguins_by(BY_DREAM)
    read = lines(regression_table(one, two, digits=8))
    a, b = (read[f"island[T.Torgersen] (against {base})"][0] for base in ("Biscoe", "Dream"))
    assert a[1] == "" and b[0] == ""
    assert float(a[0]) - float(b[1]) == pytest.approx(-float(read["island[T.Biscoe]"][0][1]), abs=1e-7)
    assert [row for row in read if row.startswith("Intercept")] == [
        "Intercept (at island = Biscoe)", "Intercept (at island = Dream)"]
    assert float(read["bill_length_mm"][0][0]) == pytest.approx(float(read["bill_length_mm"][0][1]), abs=1e-7)
    same = lines(regression_table(one, one))
    assert "island[T.Torgersen]" in same and "Intercept" in same


@pytest.mark.parametrize(
    ("formulas", "rows"),
    [
        (  # a level by name, also where a label calls both the same
            ["sex ~ C(island)", "sex ~ C(island, Sum)"],
            ["Dream (against Biscoe)", "Dream (against the mean of Biscoe, Dream, Torgersen)"],
        ),
        (  # a slope at the base level of what it is crossed with
            ["sex ~ bill_length_mm * C(island, Treatment('Dream'))", "sex ~ bill_length_mm * C(island, Sum)"],
            ["bill_length_mm (at island = Dream)",
             "bill_length_mm (at the mean of island over Biscoe, Dream, Torgersen)"],
        ),
    ],
)
def test_codings_are_told_apart(formulas, rows):
    labels = {"C(island)[T.Dream]": "Dream", "C(island, Sum)[S.Dream]": "Dream"}
    fits = [penguins_by(BY_BISCOE, formula) for formula in formulas]
    known = [name for fit in fits for name in fit.params.index]
    read = regression_table(*fits, labels={name: text for name, text in labels.items() if name in known})
    assert [row for row in read.to_frame().index if row.startswith(f"{rows[0].split()[0]} (")] == rows


@pytest.mark.parametrize("coding", ["Poly", "Helmert", "Diff", "Sum", "M"])
def test_contrasts_of_one_name_are_told_apart(coding):
    """Estimates that share a row are the same combination of the levels' log-odds."""
    fits = []
    for levels, M in ((BY_BISCOE, [[1, 0], [0, 1], [-1, -1]]), (BY_DREAM, [[1, 0], [0, 3], [-1, -1]])):
        table = datasets.load("penguins").dropna()
        table["island"], codings = pd.Categorical(table.island, levels), {"M": np.array(M, dtype=float)}
        formula = f"sex ~ C(island, {coding if coding not in codings else 'codings[coding]'})"
        fits.append(glmclf.Logit.from_formula(formula, table).fit())
    read = lines(regression_table(*fits, digits=8, stats=[]))
    cells = {row: [float(cell) for cell in found[0] if cell] for row, found in read.items()}
    assert sum(map(len, cells.values())) == 6
    for row, values in cells.items():
        assert np.ptp(values) < 1e-7, row
    if coding == "Poly":
        odds = penguins_by(BY_BISCOE, "sex ~ 0 + island").params
        known = 6**-0.5 * (odds["island[Biscoe]"] + odds["island[Torgersen]"] - 2 * odds["island[Dream]"])
        row = "C(island, Poly).Quadratic (0.4082 Biscoe + 0.4082 Torgersen - 0.8165 Dream)"
        assert cells[row] == [pytest.approx(known, abs=1e-7)]
    if coding == "M":
        at = [row for row in cells if row.startswith("Intercept")]
        assert len(at) == 2 and len({*at}) == 2


def test_slopes_at_other_bases_are_told_apart():
    fits = [penguins_by(levels, "sex ~ bill_length_mm * island") for levels in (BY_BISCOE, BY_DREAM)]
    read = list(lines(regression_table(*fits, penguins_by(BY_BISCOE))))
    assert "bill_length_mm (at island = Biscoe)" in read and "bill_length_mm (at island = Dream)" in read


@pytest.mark.parametrize("model", [glmclf.LDA, glmclf.NaiveBayes])
def test_base_levels_of_implied_logits_are_told_apart(model):
    fits = [penguins_by(levels, "sex ~ island + bill_length_mm", model) for levels in (BY_BISCOE, BY_DREAM)]
    read = lines(regression_table(*fits))
    assert {"island[T.Torgersen] (against Biscoe)", "island[T.Torgersen] (against Dream)"} <= set(read)


def test_references_of_the_response_are_told():
    fits = [penguins_by(BY_BISCOE, "species ~ bill_length_mm", glmclf.MNLogit, reference=level)
            for level in ("Adelie", "Gentoo")]
    text = regression_table(*fits, stats=["nobs"]).as_text()
    text = " ".join(text.split())
    assert "Levels of the response are against different references: (1) Adelie, (2) Gentoo." in text
    assert "different references" not in regression_table(fits[0], fits[0]).as_text()
