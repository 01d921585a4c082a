"""Reports: structure of the page, its numbers, what fits cannot have, names that would be markup, files."""

import io
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import glmclf
from glmclf import LDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, datasets
from glmclf.errors import DataError
from glmclf.reports import citation, write

VOID = {"meta", "br", "path"}
FETCHES = {"src", "href", "xlink:href", "action", "data", "poster", "srcset"}
SHOWN_OF_CHECKS = ["found", "verdict", "threshold"]
FAST = {"reps": 3, "date": False}


class Page(HTMLParser):
    """Parsed page: its texts by section, tags, attributes; open elements that were not closed are errors."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.section = [], [], [], ""
        self.texts, self.rows, self.ids = {}, {}, []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.texts[self.section] = self.texts.get(self.section, "") + data
        if {"td", "th"} & set(self.open):
            self.rows[self.section][-1][-1] += data

    def cells(self, section, label):
        return next(row[1:] for row in self.rows[section] if row and row[0] == label)


def page(results, **options):
    file = io.StringIO()
    glmclf.report(results, file, **{**FAST, **options})
    return Page(file.getvalue())


@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins")


@pytest.fixture(scope="module")
def logit(penguins):
    return Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm + species", penguins, event="male").fit()


@pytest.fixture(scope="module")
def whole(logit):
    return page(logit)


def loaded(res):
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    return glmclf.load(file)


# ---------------------------------------------------------------------------------------------------------- the page
def test_the_page_runs_nothing_and_fetches_nothing(whole):
    assert not {"script", "link", "iframe", "img", "object", "embed", "form"} & set(whole.tags)
    fetched = [(name, value) for _, name, value in whole.attributes if name in FETCHES]
    assert fetched and all(value.startswith(("#", "data:image/png;base64,")) for _, value in fetched)
    assert not [name for _, name, _ in whole.attributes if name.startswith("on")]
    policy = next(value for tag, name, value in whole.attributes if tag == "meta" and "default-src" in (value or ""))
    assert policy.startswith("default-src 'none'") and "script" not in policy
    styles = [value for _, name, value in whole.attributes if name == "style"]
    assert not [value for value in styles if re.search(r"url\((?!#)", value)]


def test_parts_of_figures_have_names_of_their_own(whole):
    assert len(whole.ids) == len(set(whole.ids))
    used = {value for _, _, text in whole.attributes for value in re.findall(r"url\(#([^)]+)\)", text or "")}
    used |= {value[1:] for _, name, value in whole.attributes if name in ("href", "xlink:href") and value[0] == "#"}
    assert used <= set(whole.ids)


def test_light_dark_and_paper():
    for rule in ("prefers-color-scheme: dark", "@page { size: A4", "@media print", "break-inside: avoid"):
        assert rule in write.html_page("", "", [])


def test_what_was_modelled(whole):
    said = " ".join(whole.texts["model"].split())
    assert "Logit (logistic regression) models P(sex = 'male') by the formula sex ~ bill_length_mm" in said
    assert "The event is male, which has 168 of 333 observations (50.5 %); the other level is female." in said
    assert "Of 344 rows 333 were used; 11 have missing values in sex (11), bill_length_mm (2)" in said
    assert "There are no weights and no offset." in said
    assert "by maximum likelihood (irls, " in said and "of type nonrobust" in said


def test_numbers_are_those_of_the_result(whole, logit):
    ratios = logit.odds_ratios()
    for name in ratios.index[1:]:
        found, low, high = ratios.loc[name, ["odds ratio", "[0.025", "0.975]"]]
        estimate, interval, p = whole.cells("effects", name)
        assert float(estimate) == pytest.approx(found, rel=0.01)
        assert [*map(float, interval.split(" to "))] == pytest.approx([low, high], rel=0.01)
        expected = logit.pvalues[name]
        assert p == "<0.001" if expected < 0.001 else float(p) == pytest.approx(expected, abs=6e-4)
    table = logit.validate(reps=3, seed=0).table
    for name in table.index:
        expected = table.loc[name, ["apparent", "optimism", "corrected"]].to_numpy()
        assert [*map(float, whole.cells("validation", name))] == pytest.approx(expected, abs=6e-4)
    area, (low, high) = logit.roc().auc, logit.roc().conf_int()
    assert f"is {area:.3f} (95 % interval {low:.3f} to {high:.3f}) on the rows" in whole.texts["validation"]
    found = logit.predictions({"species": ["Adelie", "Chinstrap", "Gentoo"]}).summary_frame()
    p, low, high = found[["predicted", "ci_lower", "ci_upper"]].to_numpy()[1]
    assert whole.cells("predictions", "species = Chinstrap") == [f"{p:.3f} ({low:.3f} to {high:.3f})"]
    assert whole.cells("summary", "bill_depth_mm")[0] == f"{logit.params['bill_depth_mm']:.4f}"


def test_the_check_is_that_of_the_result(whole, logit):
    table = logit.check().table
    for name in table.index:
        cells = whole.cells("check", name)
        assert "p = " not in cells[0]  # of unbroken spaces
        shown = table.loc[name, SHOWN_OF_CHECKS]
        assert [" ".join(cell.split()) for cell in cells] == [" ".join(str(v).split()) for v in shown]
    said = " ".join(whole.texts["check"].split())
    judged = table[table.verdict != ""]
    assert f"Of {len(judged)} checks {(judged.verdict == 'fine').sum()} found nothing to mend" in said
    for name in judged.index[judged.verdict != "fine"]:
        assert re.search(rf"(asks? for a look|problems?):[^.]*{name}", said)


def test_the_same_fit_has_the_same_report(logit, tmp_path):
    for name in ("a", "b"):
        logit.report(tmp_path / f"{name}.html", sections=["effects", "predictions"], date=False)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with_date = page(logit, sections=["citation"], date=True)
    assert re.search(r"\d\d \w+ \d{4}, \d\d:\d\d", with_date.texts[""])


def test_settings_and_figures_of_matplotlib_stay(logit):
    own, before = pyplot.figure(), dict(matplotlib.rcParams)
    page(logit, sections=["effects"])
    assert dict(matplotlib.rcParams) == before
    assert pyplot.gcf() is own and pyplot.get_fignums() == [own.number]
    pyplot.close(own)


def test_a_style_of_the_user_is_not_that_of_the_report(logit):
    plain = io.StringIO(), io.StringIO()
    logit.report(plain[0], sections=["effects"], date=False)
    with matplotlib.style.context("dark_background"):
        logit.report(plain[1], sections=["effects"], date=False)
    assert plain[0].getvalue() == plain[1].getvalue()


# -------------------------------------------------------------------------------------------------------- its sections
def test_sections_are_chosen_in_order(logit):
    found = page(logit, sections=["citation", "model"])
    assert [name for name in found.ids if name in write.SECTIONS] == ["citation", "model"]
    every = page(logit, sections=None, reps=1)
    assert [name for name in every.ids if name in write.SECTIONS] == [n for n in write.SECTIONS if n != "comparison"]


@pytest.mark.parametrize("options, error, words", [
    ({"sections": ["model", "models"]}, ValueError, 'choose "model", "comparison", "summary", "effects"'),
    ({"sections": "model"}, TypeError, "a list of names"),
    ({"sections": []}, ValueError, "is empty"),
    ({"units": {"bill_length_mm": 0}}, ValueError, "a finite number other than zero"),
    ({"units": {"age": 10}}, DataError, "'age'; there are Intercept"),
    ({"variables": ["age"]}, DataError, "'age'; there are bill_length_mm"),
    ({"variables": "species"}, TypeError, "a list of names"),
    ({"reps": 0}, ValueError, "reps=0"),
    ({"alpha": 2}, ValueError, "alpha"),
    ({"date": "no"}, ValueError, "choose True or False"),
    ({"format": "pdf"}, ValueError, 'choose "html" or "markdown"'),
    ({"format": "markdown"}, ValueError, "the name of a file"),
    ({"names": ["a", "b"]}, ValueError, "as many different names"),
    ({"names": 3}, ValueError, "names=3: as many different names"),
    ({"sections": 3}, TypeError, "sections=3: a list of names"),
    ({"variables": 3}, TypeError, "variables=3: a list of names"),
    ({"units": ["age"]}, TypeError, "units=['age']: a dict of sizes by name"),
    ({"section": ["model"]}, TypeError, "section"),
])  # fmt: skip
def test_options_that_are_none(logit, options, error, words):
    with pytest.raises(error, match=re.escape(words)):
        logit.report(io.StringIO(), **options)


def test_what_is_no_fit(logit):
    path = logit.model.fit_regularized(alphas=[0.1, 0.01])
    for odd in (path, logit.model, Logit, [], None):
        with pytest.raises((TypeError, ValueError), match="report"):
            glmclf.report(odd, io.StringIO())
    for path in (None, 3, True):
        for write_to in (logit.report, logit.save):
            with pytest.raises(TypeError, match=f"path={path}: give the name of a file, or an open file"):
                write_to(path)
    with pytest.raises(ValueError, match=r'"\.html"'):
        logit.report("report.pdf")


def test_units_and_variables(logit):
    found = page(logit, sections=["effects", "predictions"], units={"bill_length_mm": 5}, variables=["species"])
    expected = logit.odds_ratios(units={"bill_length_mm": 5}).loc["bill_length_mm (per 5)", "odds ratio"]
    assert float(found.cells("effects", "bill_length_mm (per 5)")[0]) == pytest.approx(expected, rel=1e-3)
    assert found.tags.count("figure") == 2


def test_units_of_hazard_ratios():
    res = CLogLog.from_formula("killed + survived ~ dose", datasets.load("beetles")).fit()
    found = page(res, sections=["effects"], units={"dose": -0.1})
    ratio, (low, high) = np.exp(-0.1 * res.params["dose"]), np.exp(-0.1 * res.conf_int().loc["dose"])
    estimate, interval, _ = found.cells("effects", "dose (per -0.1)")
    assert float(estimate) == pytest.approx(ratio, rel=1e-2)
    assert [*map(float, interval.split(" to "))] == pytest.approx([high, low], rel=1e-2)
    assert "Hazard ratios, of one unit, with 95 % intervals" in found.texts["effects"]


def test_several_fits(logit, penguins):
    small = Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins, event="male").fit()
    file = io.StringIO()
    logit.report(file, others=[small], names=["full", "small"], sections=["model", "comparison", "effects"], date=False)
    found = Page(file.getvalue())
    assert found.texts["model"].count("Logit (logistic regression)") == 2
    test = logit.compare_lr_test(small)
    assert float(found.cells("comparison", "small")[-3]) == pytest.approx(test.statistic, abs=0.006)
    assert float(found.cells("comparison", "full")[4]) == pytest.approx(logit.aic, abs=0.006)
    assert "alone" not in page(logit, sections=["comparison"]).texts["comparison"]


# ---------------------------------------------------------------------------------------------------- every kind of fit
def fits(penguins):
    rows = penguins.dropna()
    beetles, words = datasets.load("beetles"), rows.assign(n=1 + np.arange(len(rows)) % 3, w=1.5)
    apart = pd.DataFrame({"y": [0, 0, 0, 1, 1, 1] * 3, "x": [1, 2, 3, 4, 5, 6] * 3, "z": np.sin(np.arange(18.0))})
    sex = "sex ~ bill_length_mm + species"
    yield "probit", Probit.from_formula(sex, penguins).fit(cov_type="HC1"), "exp(b) of Probit is no ratio"
    yield "hazard", CLogLog.from_formula("killed + survived ~ dose", beetles).fit(), "hazard ratio, exp(b), is of"
    yield "levels", MNLogit.from_formula("species ~ body_mass_g", penguins, freq_weights=None).fit(), "against Adelie"
    yield "lda", LDA.from_formula("species ~ bill_length_mm", penguins).fit(), "logit that the laws of the classes"
    yield "bayes", NaiveBayes.from_formula("species ~ bill_length_mm + sex", penguins).fit(), "Families:"
    yield "counts", Logit.from_formula(sex, words, freq_weights="n").fit(), "frequency weight says: n (sum"
    yield "sampled", Logit.from_formula(sex, words, weights="w").fit(), "sampling weights: w (sum"
    yield "cluster", Logit.from_formula(sex, words).fit(
        cov_type="cluster", cov_kwds={"groups": rows.island.to_numpy()}), "bootstrap samples of the clusters"
    yield "ridge", Logit.from_formula(sex, rows).fit_regularized(0.1), "Penalty: ridge"
    yield "lasso", MNLogit.from_formula("species ~ bill_length_mm", rows).fit_regularized(0.1, L1_wt=1.0), "no standard"
    yield "symmetric", MNLogit.from_formula("species ~ bill_length_mm", rows).fit_regularized(
        0.1, symmetric=True), "exp(b), against the geometric mean of all levels, is of one unit"
    yield "no ratio", Probit.from_formula(sex, rows).fit_regularized(0.1, L1_wt=1.0), "There are no standard errors"
    yield "firth", Logit.from_formula("y ~ x + z", apart).fit(bias_reduction="firth"), "Firth"
    yield "bound", Logit.from_formula(sex, rows).fit_constrained("bill_length_mm = 1"), "constraints bill_length_mm = 1"
    yield "collinear", Logit.from_formula(sex + " + I(2 * bill_length_mm)", rows).fit(), "(omitted)"
    yield "separated", Logit.from_formula("y ~ x + z", apart).fit(), "whose estimate is infinite"
    yield "without rows", loaded(Logit.from_formula(sex, rows).fit()), "needs the rows of the fit"
    yield "stream", Logit.from_formula(sex, lambda: iter([rows[:100], rows[100:]])).fit(), "The data were read in parts"


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning", "ignore::glmclf.errors.CollinearityWarning")
@pytest.mark.filterwarnings("ignore::glmclf.errors.InferenceWarning")
def test_every_kind_of_fit(penguins):
    for name, res, words in fits(penguins):
        before = np.asarray(res.params, dtype=float).tobytes()
        found = page(res, sections=["model", "summary", "effects", "validation"], reps=2)
        said = " ".join(" ".join(found.texts.values()).split())
        assert words in said, (name, said)
        assert np.asarray(res.params, dtype=float).tobytes() == before, name


def test_a_fit_that_did_not_converge_says_so(penguins):
    with pytest.warns(glmclf.errors.ConvergenceWarning):
        res = Logit.from_formula("sex ~ bill_length_mm", penguins).fit(maxiter=1)
    found = page(res, sections=["model", "validation"])
    assert "which did NOT converge" in found.texts["model"]
    said = " ".join(found.texts["validation"].split())
    assert "The validation is left out: validate() repeats the fit, which did not" in said


def test_warnings_are_in_the_report(penguins):
    """On resamples of few rows some have no estimate: the report says so, and nobody is warned besides."""
    res = Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm", penguins.dropna()[:20]).fit(bias_reduction="firth")
    found = page(res.model.fit_regularized(0.01), sections=["validation"], reps=20)
    assert "fits have no estimate" in found.texts["validation"] or "20 bootstrap samples" in found.texts["validation"]


def test_without_matplotlib(logit, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = page(logit)
    assert "figure" not in found.tags and "svg" not in found.tags
    assert "plots need matplotlib" in found.texts["effects"]
    assert float(found.cells("effects", "bill_length_mm")[0]) == pytest.approx(logit.odds_ratios().iloc[3, 0], rel=1e-3)


def test_large_fits_have_reports_of_a_bounded_size():
    rng = np.random.default_rng(0)
    n = 12_000
    table = pd.DataFrame({"g": rng.integers(0, 500, n).astype(str), "x": rng.normal(size=n)})
    table["y"] = (rng.random(n) < 1 / (1 + np.exp(-table.x))).astype(int)
    found = page(Logit.from_formula("y ~ x + g", table).fit(), sections=["summary", "effects", "validation"], reps=None)
    assert "g (500 levels)" in found.texts["effects"] and len(found.rows["effects"]) < 5
    assert "reps=20 asks for it" in found.texts["validation"]
    X = rng.normal(size=(400, 300))
    found = page(Logit(table.y[:400], X).fit_regularized(1.0), sections=["summary", "effects", "check"])
    assert "collinearity of 300 terms" in found.texts["check"]
    assert "more rows, which are not shown" in found.texts["summary"]
    assert len(found.rows["effects"]) == 41 and "Of 300 coefficients the 40" in found.texts["effects"]


# ---------------------------------------------------------------------------------------------------- names of the data
ODD = ["<script>alert(1)</script>", "\"&amp;'", "x onload=alert(1)", "\u05d0\u05d1", "a\u202eb", "\U0001f427", "$x_1$"]


@pytest.fixture(scope="module")
def odd():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(90, len(ODD))), columns=ODD)
    table["y"] = rng.choice(["<b>no</b>", "![yes](http://a.b)", "`c`"], 90)
    return MNLogit(table["y"], table[ODD].assign(const=1.0)).fit()


def test_names_are_text(odd):
    found = page(odd, sections=["model", "summary", "effects", "predictions"], variables=ODD[:1])
    assert not {"script", "b", "img"} & set(found.tags)
    for text in ("model", "summary", "effects"):
        assert "<script>alert(1)</script>" in found.texts[text] and "\u202e" not in found.texts[text]
    assert r"a\u202eb" in found.texts["effects"] and "\u05d0\u05d1" in found.texts["effects"]
    assert "\"&amp;'" in found.texts["effects"] and "<b>no</b>" in found.texts["model"]
    assert "bdi" in found.tags


def test_names_are_text_in_markdown(odd, tmp_path):
    odd.report(tmp_path / "r.md", sections=["model", "effects"], date=False, title='a "title" \\ of <b>')
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.startswith('---\ntitle: "a \\"title\\" \\\\\\\\ of \\\\<b>"\n---\n')
    assert "](http" not in re.sub(r"``.*?``|`[^`]*`", "", text) and "\u202e" not in text
    assert not re.search(r"(?<!\\)<script", re.sub(r"`[^`]*`", "", text))
    assert "`` `c` ``" in text


LIVE = [
    "<script>alert(1)</script>",
    "[click](javascript:alert(1)) ![](http://e.x/p.png)",
    "{{< include secret >}} {{{< env X >}}}",
    "`r system('id')` `{r} 1`",
    "r system('id')",
    "x](http://e.x) [Summary] [Summary][Summary]",
    "$x$ &lt; <http://e.x> @cite ^[note] ~a~ #",
]


@pytest.mark.parametrize("level", LIVE)
def test_levels_do_nothing_in_markdown(level, tmp_path):
    """Neither Pandoc nor Quarto and knitr, which look for their marks in the text itself, code included."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"z": rng.normal(size=80), "g": np.resize([level, "b"], 80), level: rng.normal(size=80)})
    table["y"] = rng.choice([level, "no"], 80)
    res = Logit.from_formula(f"y ~ z + C(g, levels=['b', {level!r}]) + Q({level!r})", table, event=level).fit()
    path = tmp_path / "r {{< x >}} (1).md"
    res.report(path, sections=["model", "summary", "predictions"], variables=[level], date=False)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\{\{<|`r[ #]|`\{\w+\} ", text)
    if shutil.which("pandoc"):
        run = subprocess.run(["pandoc", "-s", "-t", "json", path], capture_output=True, text=True, check=True)
        title = json.loads(run.stdout)["meta"]["title"]["c"]
        assert {node["t"] for node in title} <= {"Str", "Space", "Quoted"}
        raw = re.findall(r'"t":"Raw\w+","c":\["\w+","(.*?)"\]', run.stdout)
        assert set(raw) <= {"<!-- -->"}
        assert not {"Link", "Math", "Cite", "Note", "Subscript"} & set(re.findall(r'"t":"(\w+)"', run.stdout))


@pytest.mark.parametrize("title", ["# a #", "- a", "+ a", "1. a", "(2) a", "> a", ": a", "::: a", "a: b", "{{< x >}}"])
@pytest.mark.skipif(not shutil.which("pandoc"), reason="needs pandoc")
def test_titles_are_one_line_of_text(title, logit, tmp_path):
    logit.report(tmp_path / "r.md", sections=["citation"], title=title, date=False)
    (tmp_path / "title.txt").write_text("$title$")
    call = ["pandoc", "-t", "plain", "--template", tmp_path / "title.txt", tmp_path / "r.md"]
    assert subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip() == title


# --------------------------------------------------------------------------------------------------------------- files
def test_markdown_with_pictures(logit, tmp_path):
    (tmp_path / "a b_files").mkdir()
    (tmp_path / "a b_files" / "mine.txt").write_text("stays")
    logit.report(tmp_path / "a b.md", sections=["effects", "predictions", "citation"], date=False)
    text = (tmp_path / "a b.md").read_text(encoding="utf-8")
    links = re.findall(r"!\[[^\]]*\]\(a%20b_files/([^)]+)\)", text)
    assert len(links) == 4 and "## Coefficients and ratios {#effects}" in text
    pictures = {path.name: path.read_bytes() for path in (tmp_path / "a b_files").glob("*.png")}
    assert set(pictures) == set(links) and all(p.startswith(b"\x89PNG") for p in pictures.values())
    logit.report(tmp_path / "a b.md", sections=["effects", "predictions", "citation"], date=False)
    assert {path.name: path.read_bytes() for path in (tmp_path / "a b_files").glob("*.png")} == pictures
    assert (tmp_path / "a b_files" / "mine.txt").read_text() == "stays"
    assert {path.name for path in tmp_path.iterdir()} == {"a b.md", "a b_files"}


def test_a_file_that_cannot_be_written_stays(logit, tmp_path):
    with pytest.raises(OSError):
        logit.report(tmp_path / "nowhere" / "r.html", sections=["citation"])
    kept = tmp_path / "r.html"
    kept.write_text("kept")
    with pytest.raises(ValueError):
        logit.report(kept, sections=["none"])
    assert kept.read_text() == "kept"
    binary = io.BytesIO()
    logit.report(binary, sections=["citation"])
    assert binary.getvalue().startswith(b"<!DOCTYPE html>")


def test_the_citation_is_that_of_the_repository(repository):
    entry = citation.bibtex()
    page, cff = ((repository / name).read_text(encoding="utf-8") for name in ("docs/cite.md", "CITATION.cff"))
    assert entry in page and citation.reference() in page
    assert f'title: "{citation.TITLE}"' in cff and citation.AUTHOR in cff


def test_predictions_of_many_classes_have_rows():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": [f"k{i % 8}" for i in range(400)], "x": rng.normal(size=400)})
    res = MNLogit.from_formula("kind ~ x", table).fit()
    heads, *rows = page(res, sections=["predictions"]).rows["predictions"]
    values = np.linspace(table.x.min(), table.x.max(), 5)
    assert [float(head[4:].replace("\N{MINUS SIGN}", "-")) for head in heads[1:]] == pytest.approx(values, rel=1e-4)
    assert [row[0] for row in rows] == [f"P(kind = 'k{i}')" for i in range(8)]
    p = res.predict(pd.DataFrame({"x": values})).to_numpy().T
    assert np.abs(np.array([[float(cell.split()[0]) for cell in row[1:]] for row in rows]) - p).max() < 6e-4
