"""`python -m glmclf`: what it prints, where, and with which exit status."""

import csv
import io
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import __main__ as command
from glmclf import datasets, registry
from glmclf.results.tables.render import SummaryFormats
from glmclf.shell import values
from glmclf.shell.advice import in_shell, one_line
from glmclf.shell.options import BINARY, FORMATS, OPTIONS, known_words, spelled

SPECTOR = ["logit", "spector", "GRADE ~ GPA + TUCE + PSI"]
REGRESSIONS = ", ".join(registry.lower_case(*registry.REGRESSIONS))
SURVEY = pathlib.Path(__file__).parent / "data" / "survey.csv"


@pytest.fixture
def shell(capsys):
    """``shell(*args) -> (status, stdout, stderr)``, in this process."""

    def run(*args):
        try:
            status = command.main([str(a) for a in args])
        except SystemExit as stop:
            status = stop.code
        out = capsys.readouterr()
        return status, out.out, out.err

    return run


def refused(result, *words, status=2):
    """Assert one line on stderr with all the words, nothing on stdout, and the status."""
    got, out, err = result
    assert got == status and out == "", result
    assert err.startswith("glmclf: error: ") and err.endswith("\n") and err.count("\n") == 1, err
    for word in words:
        assert word in err, err


def warned(result, *words):
    """Assert a summary on stdout and warnings with all the words on stderr; return what was printed."""
    got, out, err = result
    assert got == 0 and "Regression Results" in out, result
    assert err.startswith("glmclf: warning: ")
    for word in words:
        assert word in err, err
    return out


def process(*args, **kwargs):
    command = [sys.executable, "-m", "glmclf", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **kwargs)


# ---------------------------------------------------------------- what it prints

def test_summary_of_a_shipped_data_set(shell):
    status, out, err = shell(*SPECTOR)
    assert (status, err) == (0, "")
    assert "-12.890" in out and "P(GRADE = 1)" in out
    gpa = next(line for line in out.splitlines() if line.startswith("GPA")).split()
    assert gpa[1:3] == ["2.8261", "1.263"]


@pytest.mark.parametrize("name", list(registry.LOWER_CASE))
def test_every_model(shell, name):
    status, out, err = shell(name, "spector", "GRADE ~ GPA + PSI")
    res = getattr(glmclf, registry.LOWER_CASE[name]).from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    logit = getattr(res, "discriminant", res)
    gpa = logit.params["GPA"] if name in BINARY else logit.params.loc["GPA", 1]
    assert (status, err) == (0, "")
    assert f"{res.llf:#.5g}" in out and f"{gpa:.4f}" in out


@pytest.mark.parametrize("suffix", ["csv", "parquet", "dta"])
def test_files(shell, tmp_path, suffix):
    frame = datasets.load("spector")
    file = tmp_path / f"data.{suffix}"
    if suffix == "csv":
        frame.to_csv(file, index=False)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(file)
    else:
        frame.to_stata(file, write_index=False)
    status, out, err = shell("logit", file, "GRADE ~ GPA + TUCE + PSI")
    assert (status, err) == (0, "") and "-12.890" in out


@pytest.mark.parametrize("name", ["data.csv.gz", "data.tsv", "data.PARQUET", "data.pq", "folder", "hive"])
def test_paths_that_data_takes(shell, tmp_path, name):
    frame = datasets.load("spector")
    if ".csv" in name:
        frame.to_csv(tmp_path / name, index=False)
    elif ".tsv" in name:
        frame.to_csv(tmp_path / name, index=False, sep="\t")
    else:
        pytest.importorskip("pyarrow")
        (tmp_path / "folder").mkdir()
        for i, rows in enumerate((frame.iloc[:12], frame.iloc[12:].astype({"TUCE": float}))):
            rows.to_parquet(tmp_path / "folder" / f"{i}.parquet")
        frame.to_parquet(tmp_path / name, partition_cols=["PSI"]) if name == "hive" else None
        frame.to_parquet(tmp_path / name) if "." in name else None
    status, out, err = shell("logit", tmp_path / name, "GRADE ~ GPA + TUCE + C(PSI)")
    assert (status, err) == (0, "") and "-12.890" in out
    assert glmclf.Logit.from_formula("GRADE ~ GPA + TUCE + C(PSI)", tmp_path / name).fit().nobs == len(frame)


def test_csv_on_standard_input(shell, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(datasets.load("spector").to_csv(index=False)))
    status, out, err = shell("logit", "-", "GRADE ~ GPA + TUCE + PSI")
    assert (status, err) == (0, "") and "-12.890" in out


@pytest.mark.parametrize("form, mark", [("text", "=====\n"), ("latex", r"\begin{tabular}"), ("html", "<table"),
                                        ("csv", ","), ("markdown", "|"), ("typst", "#table(")])
def test_formats(shell, form, mark):
    status, out, err = shell(*SPECTOR, "--format", form)
    assert (status, err) == (0, "")
    assert mark in out and "2.8261" in out
    assert ("| ---: |" in out) == (form == "markdown")


def test_exponentiate(shell):
    status, out, _ = shell(*SPECTOR, "--exponentiate")
    psi = next(line for line in out.splitlines() if line.startswith("PSI")).split()
    assert status == 0 and float(psi[1]) == pytest.approx(np.exp(2.378687655093354), rel=1e-4)
    assert shell(*SPECTOR, "--odds-ratios")[1].split("converged")[1] == out.split("converged")[1]


@pytest.mark.parametrize("model, heading, ratio", [
    ("logit", "odds ratio", "odds ratio"), ("cloglog", "HR", "hazard ratio"), ("mnlogit", "RRR", "relative risk ratio"),
])
def test_ratios_have_the_name_of_their_model(shell, model, heading, ratio):
    """exp(b) of a separated fit, too: 0 and infinity."""
    status, out, err = shell(model, "spector", "GRADE ~ GPA + PSI", "--odds-ratios")
    assert (status, err) == (0, "") and heading in out and ratio in " ".join(out.split())
    separated = ("GRADE ~ I(GPA > 3.3)", "--subset", "GPA > 3.3 or GRADE == 0")
    status, out, err = shell(model, "spector", *separated, "--odds-ratios")
    line = next(line for line in out.splitlines() if line.startswith("I(GPA"))
    assert status == 0 and heading in out and line.split("]")[1].split()[0] == "inf" and "separation" in err


def test_errors_by_leverage_time_and_resampling(shell):
    model = glmclf.Logit.from_formula(SPECTOR[2], datasets.load("spector"))
    for args, kwds in (
        (["HC3"], {}),
        (["HC4m"], {}),
        (["HC5"], {}),
        (["jackknife"], {}),
        (["HAC", "--maxlags", "2"], {"maxlags": 2}),
        (["bootstrap", "--reps", "20", "--seed", "3"], {"reps": 20, "seed": 3}),
        (["bootstrap", "--reps", "20", "--seed", "3", "--groups", "TUCE"], {"reps": 20, "seed": 3, "groups": "TUCE"}),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            res = model.fit(cov_type=args[0], cov_kwds=kwds)
        status, out, _ = shell(*SPECTOR, "--cov-type", *args)
        assert status == 0 and f"{res.bse['GPA']:.3f}" in out and args[0] in out


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_robust_and_clustered_errors(shell):
    status, out, _ = shell(*SPECTOR, "--cov-type", "HC1")
    res = glmclf.Logit.from_formula(SPECTOR[2], datasets.load("spector")).fit(cov_type="HC1")
    assert status == 0 and f"{res.bse['GPA']:.3f}" in out
    formula, fair = "sex ~ body_mass_g", datasets.load("penguins")
    status, out, _ = shell("logit", "penguins", formula, "--groups", "species")
    res = glmclf.Logit.from_formula(formula, fair).fit(cov_type="cluster", cov_kwds={"groups": "species"})
    assert status == 0 and "cluster" in out and f"{res.tvalues['body_mass_g']:.3f}" in out


def test_offset_weights_and_subset(shell, tmp_path):
    frame = datasets.load("spector").assign(w=np.arange(32) % 3 + 1, off=0.1 * np.arange(32))
    file = tmp_path / "w.csv"
    frame.to_csv(file, index=False)
    options = ["--freq-weights", "w", "--offset", "off", "--subset", "TUCE > 17"]
    status, out, err = shell("logit", file, "GRADE ~ GPA", *options)
    keywords = {"freq_weights": "w", "offset": "off", "subset": frame["TUCE"] > 17}
    res = glmclf.Logit.from_formula("GRADE ~ GPA", frame, **keywords).fit()
    assert (status, err) == (0, "")
    assert f"{res.llf:.3f}" in out and f"{res.params['GPA']:.4f}" in out
    status, out, _ = shell("logit", file, "GRADE ~ GPA", "--weights", "w")
    assert status == 0 and "HC0" in out


@pytest.mark.parametrize("level", ["female", "male"])
def test_event_as_text(shell, level):
    status, out, _ = shell("logit", "penguins", "sex ~ body_mass_g", "--event", level)
    res = glmclf.Logit.from_formula("sex ~ body_mass_g", datasets.load("penguins"), event=level).fit()
    assert status == 0 and f"P(sex = '{level}')" in out and f"{res.tvalues['body_mass_g']:.3f}" in out


@pytest.mark.parametrize("labels, text, expected", [
    ([1, 2], "2", 2), ([0.5, 1.5], "1.5", 1.5), ([True, False], "False", False),
    (["1", "2"], "1", "1"), (["a", "b"], "c", "c"),
    ([0, 1], "1", 1), ([0.0, 1.0], "1", 1),
])
def test_the_data_decide_the_kind_of_the_event(labels, text, expected):
    level = values.response_level(text, values.Given("event", "y ~ x", pd.DataFrame({"y": labels})))
    assert level == expected and isinstance(level, str) == isinstance(expected, str)


def test_a_survey_with_odd_names(shell):
    formula = 'answer ~ Q("âge") + Q("hours per week") + C(region)'
    options = {"event": "no", "freq_weights": "weight"}
    status, out, err = shell("logit", SURVEY, formula, "--event", "no", "--freq-weights", "weight",
                             "--subset", "`hours per week` > 2 and region != 'north'")
    frame = datasets.read_csv(SURVEY)
    rows = (frame["hours per week"] > 2) & (frame["region"] != "north")
    res = glmclf.Logit.from_formula(formula, frame, subset=rows, **options).fit()
    assert (status, err) == (0, "")
    assert "P(answer = 'no')" in out and f"{res.llf:.3f}" in out and 'Q("âge")' in out
    assert f"{res.tvalues.iloc[-1]:.3f}" in out


def test_event_zero(shell):
    status, out, _ = shell(*SPECTOR, "--event", "0")
    assert status == 0 and "P(GRADE = 0)" in out and "-2.8261" in out


PENGUINS = ["mnlogit", "penguins", "species ~ bill_length_mm + sex"]


def test_mnlogit_by_species(shell):
    status, out, err = shell(*PENGUINS)
    res = glmclf.MNLogit.from_formula(PENGUINS[2], datasets.load("penguins")).fit()
    assert (status, err) == (0, "")
    assert f"{res.llf:.2f}" in out and "species=Adelie" not in out
    for level in ["Chinstrap", "Gentoo"]:
        assert f"species={level}" in out and f"{res.params.loc['bill_length_mm', level]:.4f}" in out


@pytest.mark.parametrize("level", ["Adelie", "Chinstrap", "Gentoo"])
def test_reference_as_text(shell, level):
    status, out, err = shell(*PENGUINS, "--reference", level)
    res = glmclf.MNLogit.from_formula(PENGUINS[2], datasets.load("penguins"), reference=level).fit()
    assert (status, err) == (0, "")
    assert f"species={level}" not in out
    for other in res.params:
        assert f"species={other}" in out and f"{res.tvalues.loc['bill_length_mm', other]:.3f}" in out


def test_reference_that_is_a_number(shell):
    options = ["--reference", "5", "--subset", "rate_marriage > 2"]
    status, out, err = shell("mnlogit", "fair", "rate_marriage ~ children", *options)
    assert (status, err) == (0, "") and "rate_marriage=3" in out and "rate_marriage=5" not in out


def test_mnlogit_of_counts(shell, tmp_path):
    file = tmp_path / "counts.csv"
    counts = pd.DataFrame({"a": [3, 5, 2, 6], "b": [4, 1, 3, 2], "c": [2, 2, 5, 1], "x": [0.0, 1.0, 2.0, 3.0]})
    counts.to_csv(file, index=False)
    status, out, err = shell("mnlogit", file, "a + b + c ~ x", "--reference", "b")
    res = glmclf.MNLogit.from_formula("a + b + c ~ x", counts, reference="b").fit()
    assert (status, err) == (0, "") and f"{res.llf:.3f}" in out
    assert f"{res.params.loc['x', 'a']:.4f}" in out and f"{res.params.loc['x', 'c']:.4f}" in out


@pytest.mark.parametrize("form, mark", [("latex", r"\begin{tabular}"), ("html", "<table"), ("csv", ","),
                                        ("markdown", "|")])
def test_mnlogit_formats(shell, form, mark):
    status, out, err = shell(*PENGUINS, "--format", form, "--exponentiate")
    res = glmclf.MNLogit.from_formula(PENGUINS[2], datasets.load("penguins")).fit()
    ratio = np.exp(res.params.loc["bill_length_mm", "Gentoo"])
    assert (status, err) == (0, "") and mark in out and f"{ratio:.4f}" in out


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_mnlogit_robust_and_clustered(shell):
    status, out, _ = shell(*PENGUINS, "--groups", "island")
    keywords = {"cov_type": "cluster", "cov_kwds": {"groups": "island"}}
    res = glmclf.MNLogit.from_formula(PENGUINS[2], datasets.load("penguins")).fit(**keywords)
    assert status == 0 and "cluster" in out and f"{res.tvalues.loc['bill_length_mm', 'Gentoo']:.3f}" in out


def test_mnlogit_refusals(shell):
    refused(shell(*PENGUINS, "--reference", "Emperor"), "Emperor", "species", "Adelie")
    refused(shell(*PENGUINS, "--event", "Adelie"), "--event", "--reference")
    refused(shell(*SPECTOR, "--reference", "0"), "--reference", "--event")
    separated = "species ~ bill_length_mm + bill_depth_mm + flipper_length_mm"
    warned(shell("mnlogit", "penguins", separated), "separation", "species")


SPECIES = "species ~ bill_length_mm + body_mass_g"


def block(out, level, name):
    """The numbers of a row in the table of a level."""
    lines = iter(out.splitlines())
    next(line for line in lines if line.strip().startswith(f"species={level} "))
    return next(line for line in lines if line.split()[:1] == [name]).split()[1:]


@pytest.mark.parametrize("options, keywords", [
    (["--reference", "Gentoo"], {"reference": "Gentoo"}),
    (["--priors", "equal"], {"priors": "equal"}),
    (["--priors", "0.2,0.3,0.5"], {"priors": [0.2, 0.3, 0.5]}),
    (["--priors", "Gentoo=.5,Adelie=.2,Chinstrap=.3"], {"priors": [0.2, 0.3, 0.5]}),
    (["--priors", "Gentoo = .5, Adelie = .2, Chinstrap = .3"], {"priors": [0.2, 0.3, 0.5]}),
    (["--covariance", "diag"], {"covariance": "diag"}),
    (["--freq-weights", "times"], {"freq_weights": "times"}),
    (["--weights", "share"], {"weights": "share"}),
    (["--subset", "year > 2007"], {"subset": datasets.load("penguins")["year"] > 2007}),
])
@pytest.mark.parametrize("model", ["lda", "qda", "naivebayes"])
def test_options_of_generative_models(shell, tmp_path, model, options, keywords):
    if model == "naivebayes" and "covariance" in keywords:
        keywords = {}  # the only one it has
    frame = datasets.load("penguins")
    frame["times"], frame["share"] = np.arange(344) % 3, 0.5 + np.arange(344) % 4
    file = tmp_path / "penguins.csv"
    frame.to_csv(file, index=False)
    res = getattr(glmclf, registry.LOWER_CASE[model]).from_formula(SPECIES, frame, **keywords).fit()
    status, out, err = shell(model, file, SPECIES, *options)
    assert (status, err) == (0, "")
    level = res.discriminant.params.columns[-1]
    b, se = (t.loc["bill_length_mm", level] for t in (res.discriminant.params, res.discriminant.bse))
    assert block(out, level, "bill_length_mm")[:2] == [f"{b:.4f}", f"{se:.3f}"]
    assert f"species={res.reference} " not in out


@pytest.mark.parametrize("model, options, keywords", [
    ("lda", ["--shrinkage", "0.25"], {"shrinkage": 0.25}),
    ("qda", ["--shrinkage", "ledoit_wolf"], {"shrinkage": "ledoit_wolf"}),
    ("lda", ["--missing", "drop"], {}),
    ("naivebayes", ["--missing", "drop"], {"missing": "drop"}),
    ("naivebayes", ["--smoothing", "0.5"], {"smoothing": 0.5}),
    ("naivebayes", ["--pooled"], {"pooled": True}),
    ("naivebayes", ["--families", "body_mass_g=gamma, bill_length_mm=exponential"],
     {"families": {"body_mass_g": "gamma", "bill_length_mm": "exponential"}}),
    ("naivebayes", ["--unknown", "missing"], {"unknown": "missing"}),
    ("naivebayes", ["--prior-smoothing", "40"], {"prior_smoothing": 40}),
    ("lda", ["--prior-smoothing", "40"], {"prior_smoothing": 40}),
    ("qda", ["--prior-smoothing", "40"], {"prior_smoothing": 40}),
    ("lda", ["--divisor", "unbiased"], {"divisor": "unbiased"}),
    ("qda", ["--divisor", "unbiased"], {"divisor": "unbiased"}),
    ("naivebayes", ["--divisor", "unbiased"], {"divisor": "unbiased"}),
    ("lda", ["--ridge", "2.5"], {"ridge": 2.5}),
    ("qda", ["--ridge", ".5"], {"ridge": 0.5}),
    ("lda", ["--shrinkage", "1e-5", "--target", "identity"], {"shrinkage": 1e-5, "target": "identity"}),
])
def test_options_of_one_generative_model(shell, model, options, keywords):
    formula = SPECIES + " + sex"
    res = getattr(glmclf, registry.LOWER_CASE[model]).from_formula(formula, datasets.load("penguins"), **keywords).fit()
    status, out, err = shell(model, "penguins", formula, *options)
    assert (status, err) == (0, "") and f"{res.llf:#.5g}" in out
    for name in ("Intercept", "sex[T.male]"):
        b, se = (t.loc[name, "Gentoo"] for t in (res.discriminant.params, res.discriminant.bse))
        assert block(out, "Gentoo", name)[:2] == [f"{b:.4f}", f"{se:.3f}"]


def test_unbiased_slopes(shell):
    res = glmclf.LDA.from_formula(SPECIES, datasets.load("penguins")).fit(bias_reduction="exact")
    status, out, err = shell("lda", "penguins", SPECIES, "--bias-reduction", "exact")
    b, se = (t.loc["bill_length_mm", "Gentoo"] for t in (res.discriminant.params, res.discriminant.bse))
    assert (status, err) == (0, "") and "unbiased slopes" in out
    assert block(out, "Gentoo", "bill_length_mm")[:2] == [f"{b:.4f}", f"{se:.3f}"]


AUSTEN = pathlib.Path(__file__).parent.parent / "examples" / "data" / "austen.csv"


@pytest.mark.parametrize("formula", ["novel ~ 1", 'novel ~ the + to + Q("and")'])
def test_a_block_of_counts(shell, formula):
    res = glmclf.NaiveBayes.from_formula(formula, pd.read_csv(AUSTEN), multinomial=["the", "to", "and"]).fit()
    status, out, err = shell("naivebayes", AUSTEN, formula, "--multinomial", "the, to,and")
    assert (status, err) == (0, "") and f"{res.llf:#.5g}" in out
    assert "multinomial" in out and "prob[to]" in out


@pytest.mark.parametrize("text, expected", [
    ("npreg=poisson,ped=gamma", {"npreg": "poisson", "ped": "gamma"}),
    (" npreg=poisson , ped=gamma ", {"npreg": "poisson", "ped": "gamma"}),
    ("C(g, levels=[1, 2])=categorical,x=gamma", {"C(g, levels=[1, 2])": "categorical", "x": "gamma"}),
])
def test_families_by_name(text, expected):
    assert values.families(text, values.Given("families", "y ~ x", None)) == expected


FIVE = "species ~ bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g + year"


def test_the_quadratic_table(shell):
    status, out, err = shell("qda", "penguins", FIVE)
    assert (status, err) == (0, "") and "year^2" not in out
    assert "print them by --discriminant, or" in " ".join(out.split()) and "discriminant=True" not in out
    status, out, err = shell("qda", "penguins", FIVE, "--discriminant")
    res = glmclf.QDA.from_formula(FIVE, datasets.load("penguins")).fit()
    z = res.discriminant.tvalues.loc["body_mass_g:year", "Gentoo"]
    assert (status, err) == (0, "") and block(out, "Gentoo", "body_mass_g:year")[2] == f"{z:.3f}"
    for model in ("lda", "naivebayes"):
        assert shell(model, "penguins", SPECIES, "--discriminant")[0] == 0


@pytest.mark.filterwarnings("ignore:.*Few clusters")
@pytest.mark.filterwarnings("ignore:.*rows between the first and the last")
@pytest.mark.parametrize("options, keywords", [
    (["--cov-type", "HC0"], {"cov_type": "HC0"}),
    (["--cov-type", "HC1"], {"cov_type": "HC1"}),
    (["--cov-type", "HAC", "--maxlags", "2"], {"cov_type": "HAC", "cov_kwds": {"maxlags": 2}}),
    (["--groups", "year"], {"cov_type": "cluster", "cov_kwds": {"groups": "year"}}),
])
@pytest.mark.parametrize("model", ["lda", "qda", "naivebayes"])
def test_robust_errors_of_generative_models(shell, model, options, keywords):
    res = getattr(glmclf, registry.LOWER_CASE[model]).from_formula(SPECIES, datasets.load("penguins")).fit(**keywords)
    status, out, err = shell(model, "penguins", SPECIES, *options)
    z = res.discriminant.tvalues.loc["body_mass_g", "Chinstrap"]
    doubt = "Few clusters (3 of year)" if "--groups" in options else ""
    if "HAC" in options and model != "naivebayes":  # which skips missing values, not rows
        doubt = "2 rows between"
    assert status == 0 and doubt in err and bool(err) == bool(doubt)
    assert block(out, "Chinstrap", "body_mass_g")[2] == f"{z:.3f}"


def test_a_prior_by_a_level_that_is_a_number(shell):
    res = glmclf.LDA.from_formula("GRADE ~ GPA", datasets.load("spector"), priors={0: 0.5, 1: 0.5}).fit()
    status, out, err = shell("lda", "spector", "GRADE ~ GPA", "--priors", "1=0.5,0=0.5")
    assert (status, err) == (0, "") and f"{res.llf:#.5g}" in out


@pytest.mark.parametrize("form, mark", [
    ("latex", r"\begin{tabular}"), ("html", "<table"), ("csv", ","), ("markdown", "|"),
])
@pytest.mark.parametrize("model", ["lda", "qda", "naivebayes"])
def test_formats_of_generative_models(shell, model, form, mark):
    status, out, err = shell(model, "penguins", SPECIES, "--format", form)
    assert (status, err) == (0, "") and mark in out


@pytest.mark.parametrize("model, args, words", [
    ("lda", ["--event", "Adelie"], ["--event", "--reference"]),
    ("lda", ["--offset", "year"], ["--offset", "lda", "mnlogit"]),
    ("qda", ["--exponentiate"], ["--exponentiate", "qda"]),
    ("naivebayes", ["--method", "newton"], ["--method", "naivebayes"]),
    ("naivebayes", ["--shrinkage", "0.1"], ["--shrinkage", "lda, qda"]),
    ("qda", ["--smoothing", "0.5"], ["--smoothing", "naivebayes"]),
    ("mnlogit", ["--priors", "equal"], ["--priors", "mnlogit"]),
    ("logit", ["--covariance", "diag"], ["--covariance", "logit"]),
    ("lda", ["--reference", "Emperor"], ["Emperor", "Adelie"]),
    ("lda", ["--priors", "0.5,0.6"], ["priors", "3"]),
    ("lda", ["--priors", "0.5,0.6,x"], ["--priors", "x"]),
    ("lda", ["--priors", "0.5,0.6,0.3"], ["add up to 1.4"]),
    ("lda", ["--priors", "Adelie=0.5,Emperor=0.5"], ["Emperor"]),
    ("lda", ["--priors", "Adelie=0.5,Adelie=0.5"], ["Adelie", "twice"]),
    ("lda", ["--priors", ""], ["--priors"]),
    ("lda", ["--priors", "Adelie=.2,.3,.5"], ["--priors", "level=probability"]),
    ("lda", ["--priors", "estimate"], ["--priors", "estimate", "equal"]),
    ("lda", ["--target", "identity"], ["--target", "--shrinkage"]),
    ("lda", ["--groups", "year", "--cov-type", "HC0"], ["--groups", "--cov-type cluster", "HC0"]),
    ("qda", ["--shrinkage", "guess"], ["guess", "oas"]),
    ("qda", ["--shrinkage", "1.5"], ["1.5"]),
    ("qda", ["--shrinkage", "nan"], ["nan"]),
    ("qda", ["--covariance", "banded"], ["banded", "spherical"]),
    ("naivebayes", ["--covariance", "full"], ["full", "QDA"]),
    ("naivebayes", ["--smoothing", "-1"], ["smoothing", "-1"]),
    ("naivebayes", ["--smoothing", "much"], ["--smoothing", "much"]),
    ("naivebayes", ["--missing", "wait"], ["wait", "skip"]),
    ("lda", ["--missing", "skip"], ["skip", "drop"]),
    ("lda", ["--missing", "raise"], ["bill_length_mm"]),
    ("lda", ["--weights", "nowhere"], ["weights", "nowhere"]),
    ("lda", ["--cov-type", "HC9"], ["HC9"]),
    ("lda", ["--cov-type", "cluster"], ["--groups"]),
    ("lda", ["--families", "year=poisson"], ["--families", "naivebayes"]),
    ("qda", ["--multinomial", "year,body_mass_g"], ["--multinomial", "naivebayes"]),
    ("lda", ["--pooled"], ["--pooled", "naivebayes"]),
    ("mnlogit", ["--pooled"], ["--pooled", "naivebayes"]),
    ("lda", ["--unknown", "missing"], ["--unknown", "naivebayes"]),
    ("mnlogit", ["--prior-smoothing", "1"], ["--prior-smoothing is for lda, qda, naivebayes; mnlogit"]),
    ("logit", ["--divisor", "mle"], ["--divisor", "lda, qda, naivebayes"]),
    ("naivebayes", ["--ridge", "1"], ["--ridge", "lda, qda"]),
    ("naivebayes", ["--target", "diag"], ["--target", "lda, qda"]),
    ("qda", ["--bias-reduction", "exact"], [f"--bias-reduction is for {REGRESSIONS}, lda; qda"]),
    ("mnlogit", ["--discriminant"], ["--discriminant", "naivebayes"]),
    ("naivebayes", ["--families", "bill_length_mm"], ["--families", "feature=family"]),
    ("naivebayes", ["--families", ""], ["--families", "feature=family"]),
    ("naivebayes", ["--families", "bill_length_mm=gamma,body_mass_g"], ["--families", "feature=family"]),
    ("naivebayes", ["--families", "year=gamma,year=poisson"], ["--families", "twice"]),
    ("naivebayes", ["--families", "mass=gamma"], ["mass", "body_mass_g"]),
    ("naivebayes", ["--families", "body_mass_g=normal"], ["normal", "gamma"]),
    ("naivebayes", ["--families", "bill_length_mm=poisson"], ["whole numbers", "with --families"]),
    ("naivebayes", ["--multinomial", ""], ["--multinomial"]),
    ("naivebayes", ["--multinomial", "year"], ["--multinomial", "year"]),
    ("naivebayes", ["--multinomial", "year,mass"], ["mass", "body_mass_g"]),
    ("naivebayes", ["--unknown", "skip"], ["--unknown skip", "missing"]),
    ("qda", ["--prior-smoothing", "-1"], ["--prior-smoothing -1"]),
    ("qda", ["--prior-smoothing", "some"], ["--prior-smoothing", "some"]),
    ("lda", ["--prior-smoothing", "1", "--priors", "equal"], ["--prior-smoothing", "--priors"]),
    ("lda", ["--divisor", "n"], ["--divisor n", "unbiased"]),
    ("lda", ["--ridge", "much"], ["--ridge", "much"]),
    ("lda", ["--ridge", "-1"], ["--ridge -1"]),
    ("lda", ["--target", "zero"], ["--target zero", "identity"]),
    ("lda", ["--bias-reduction", "firth"], ["--bias-reduction firth", "exact"]),
    ("lda", ["--bias-reduction", "exact", "--cov-type", "HC0"], ["--bias-reduction exact", "--cov-type HC0"]),
    ("lda", ["--ridge", "1", "--covariance", "diag"], ["--ridge", "--covariance diag"]),
])
def test_generative_refusals(shell, model, args, words):
    refused(shell(model, "penguins", SPECIES, *args), *words)


@pytest.mark.parametrize("model", ["lda", "qda", "naivebayes"])
@pytest.mark.parametrize("formula", [
    "species ~ __import__('os').system('true')", "species ~ bill_length_mm.to_csv('x')", "species ~ np.load('x.npy')",
    "species ~ I(exec('1'))",
])
def test_a_formula_of_a_generative_model_runs_no_code(shell, model, formula):
    refused(shell(model, "penguins", formula))


def test_no_law_is_status_1(shell):
    doubled = "species ~ bill_length_mm + I(2 * bill_length_mm)"
    refused(shell("lda", "penguins", doubled), "bill_length_mm", status=1)
    refused(shell("qda", "penguins", "species ~ bill_length_mm + island"), "island", "Gentoo", status=1)
    refused(shell("naivebayes", "penguins", "species ~ year", "--subset", "year == 2008"), "year", status=1)


def test_a_zero_cell_is_a_warning(shell):
    status, out, err = shell("naivebayes", "penguins", "species ~ island")
    assert status == 0 and "island" in out
    assert err.startswith("glmclf: warning: ") and err.count("\n") == 1 and err.endswith("Use --smoothing .5.\n")


# ---------------------------------------------------------------- advice

@pytest.mark.parametrize("advice, expected", [
    ("Use smoothing=.5.", "Use --smoothing .5."),
    ("use ridge=, or shrinkage= with target=\"identity\".", "use --ridge, or --shrinkage with --target identity."),
    ("a larger shrinkage=", "a larger --shrinkage"),
    ("use pooled=True, one variance", "use --pooled, one variance"),
    ("use missing=\"drop\", or fill them", "use --missing drop, or fill them"),
    ("missing='raise' leaves none out", "--missing raise leaves none out"),
    ("use cov_type=\"HC0\".", "use --cov-type HC0."),
    ("Name the event, event='very good', or", "Name the event, --event \"very good\", or"),
    ("event=5 is not a level", "--event 5 is not a level"),
    ("reference='Emperor' is not", "--reference Emperor is not"),
    ("with families={\"year\": \"categorical\"}", "with --families year=categorical"),
    ("with families={\"C(g)\": \"categorical\"}", "with --families \"C(g)=categorical\""),
    ("priors=[0.5, 0.6] add up to 1.1", "--priors 0.5,0.6 add up to 1.1"),
    ("one row a class with its count as freq_weights=, or", "one row a class with its count as --freq-weights, or"),
    ("prior_smoothing= smooths", "--prior-smoothing smooths"),
    ("print them by summary(discriminant=True)", "print them by --discriminant"),
    # what is no keyword, or has no option, stays
    ("Raise maxiter=, or start elsewhere.", "Raise maxiter=, or start elsewhere."),
    ("\"C(g, Treatment(reference=2))\" is", "\"C(g, Treatment(reference=2))\" is"),
    ("get_prediction(priors=\"estimate\")", "get_prediction(priors=\"estimate\")"),
    ("no column \"weights=1\"", "no column \"weights=1\""),
    ("my_weights=1 and weights == 1", "my_weights=1 and weights == 1"),
])
def test_advice_in_the_words_of_the_shell(advice, expected):
    assert in_shell(advice) == expected


@pytest.mark.parametrize("message, line", [
    ("event='a\\x1b[2J' is not a level", r'--event "a\x1b[2J" is not a level'),
    ("subset='x > 0\\ny' is no\ncondition", r'--subset "x > 0\ny" is no condition'),
    ("the level \u202eb", r"the level \u202eb"),
])
def test_a_message_commands_no_terminal(message, line):
    """Values that messages quote as Python does are escaped as the shell shows them."""
    assert one_line(message) in (line, line.replace('"', ""))


@pytest.mark.parametrize("args, words, status", [
    (["qda", "penguins", "species ~ bill_length_mm + island"], ["--ridge, or --shrinkage with --target identity"], 1),
    (["naivebayes", "penguins", "species ~ year + body_mass_g", "--subset", "year == 2008 or species == 'Gentoo'"],
     ["--pooled", "--families year=categorical"], 1),
    (["lda", "penguins", "species ~ bill_length_mm", "--missing", "raise"], ["--missing drop"], 2),
    (["logit", "penguins", "sex ~ body_mass_g", "--event", "chick"], ["--event chick", "female"], 2),
    (["lda", "penguins", SPECIES, "--reference", "Emperor"], ["--reference Emperor", "Adelie"], 2),
])
def test_advice_of_errors(shell, args, words, status):
    result = shell(*args)
    refused(result, *words, status=status)
    assert not any(f"{name}=" in result[2] for name in OPTIONS)


@pytest.mark.parametrize("form", FORMATS)
def test_advice_of_notes(shell, form):
    status, out, err = shell("naivebayes", "penguins", SPECIES, "--format", form)
    words = " ".join(out.replace("\\", "").split())
    assert (status, err) == (0, "") and "cov_type=" not in words and "HC0" in words
    assert ("-{}-cov-type HC0" if form == "latex" else "--cov-type HC0") in words


# ---------------------------------------------------------------- the process

@pytest.mark.slow
def test_as_a_process():
    done = process(*SPECTOR)
    assert done.returncode == 0 and done.stderr == "" and "2.8261" in done.stdout


@pytest.mark.slow
def test_a_terminal_without_the_letters():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("logit", str(SURVEY), 'answer ~ Q("âge")', env=environment)
    assert done.returncode == 0 and done.stderr == "" and "\\xe2ge" in done.stdout


def test_help_lists_data_sets_and_examples(shell):
    status, out, err = shell("--help")
    assert status == 0 and err == ""
    for word in [*datasets.names(), "examples:", "GRADE ~ GPA + TUCE + PSI", *registry.LOWER_CASE]:
        assert word in out


def test_help_says_which_models_take_an_option(shell):
    status, out, err = shell("--help")
    words = " ".join(out.split())
    some = {name: option for name, option in OPTIONS.items() if len(option.models) < len(registry.MODELS)}
    for name, option in some.items():
        spellings = ", ".join(map(spelled, (name, *option.also)))
        assert f" {spellings} {option.value or ''}".rstrip() + f" {', '.join(option.models)}: " in words
    assert "naivebayes: diag)" in words and 0 < len(some) < len(OPTIONS)


def test_help_has_the_lists_of_the_package(shell):
    """Solvers, covariances, families and the like; and the forms that summaries have."""
    words = " ".join(shell("--help")[1].split())
    for name, listed in known_words().items():
        assert listed in words, name
    assert "irls, newton, bfgs, lbfgs or sgd" in words and "full, diag or spherical" in words
    assert {f"as_{form}" for form in FORMATS} <= {name for name in dir(SummaryFormats) if name[:3] == "as_"}


@pytest.mark.slow
def test_a_closed_pipe_is_quiet():
    first = subprocess.Popen([sys.executable, "-m", "glmclf", *SPECTOR], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.close()  # before anything is written
    assert first.stderr.read() == b""
    first.stderr.close()
    assert first.wait(timeout=120) == 0


# ---------------------------------------------------------------- refusals

@pytest.mark.parametrize("args, words", [
    ([], ["MODEL"]),
    (["logit", "spector"], ["FORMULA"]),
    (["tobit", "spector", "y ~ x"], ["tobit", "probit"]),
    ([*SPECTOR, "--colour"], ["--colour"]),
    ([*SPECTOR, "--format", "pdf"], ["pdf", "markdown"]),
])
def test_usage(shell, args, words):
    refused(shell(*args), *words)


def test_data_that_are_not_there(shell, tmp_path):
    refused(shell("logit", "spektor", "y ~ x"), "spektor", "spector", ".csv")
    refused(shell("logit", tmp_path / "no.csv", "y ~ x"), "no.csv", "No such file")
    refused(shell("logit", tmp_path / "no.parquet", "y ~ x"), "no.parquet", "No such file")
    refused(shell("logit", tmp_path / "no.dta", "y ~ x"), "no.dta", "No such file")
    refused(shell("logit", tmp_path, "y ~ x"), "holds no Parquet file")
    (tmp_path / "latin.csv").write_bytes("y,x\n1,é\n".encode("latin-1"))
    refused(shell("logit", tmp_path / "latin.csv", "y ~ x"), "not in utf-8 (byte 0xe9)")
    refused(shell("logit", "table.xlsx", "y ~ x"), "table.xlsx", ".parquet")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00bad\n1", b"a,b\n1,2,3\n1,2,3,4\n"])
def test_files_that_are_not_tables(shell, tmp_path, content):
    for suffix in [".csv", ".parquet", ".dta"]:
        file = tmp_path / f"bad{suffix}"
        file.write_bytes(content)
        refused(shell("logit", file, "y ~ x"))


@pytest.mark.parametrize("formula, words", [
    ("GRADE ~ GPAS", ["GPAS", "GPA"]),
    ("GRADE ~ GPA +", []),
    ("TUCE ~ GPA", ["TUCE"]),
    ("", []),
    ("GRADE ~ 0", []),
])
def test_formulas(shell, formula, words):
    refused(shell("logit", "spector", formula), *words)


@pytest.mark.parametrize("args, words", [
    (["--event", "5"], ["5"]),
    (["--offset", "nowhere"], ["offset", "nowhere"]),
    (["--weights", "nowhere"], ["weights", "nowhere"]),
    (["--cov-type", "HC9"], ["HC9"]),
    (["--method", "guess"], ["guess"]),
    (["--groups", "nowhere"], ["nowhere"]),
    (["--reps", "9"], ["--reps is for --cov-type bootstrap"]),
    (["--cov-type", "HC3", "--maxlags", "2"], ["--maxlags is for --cov-type HAC"]),
    (["--cov-type", "bootstrap", "--reps", "many"], ["--reps 'many'", "whole number"]),
    (["--cov-type", "bootstrap", "--reps", "1"], ["--reps 1", "2 or more"]),
    (["--cov-type", "HAC", "--maxlags", "32"], ["--maxlags 32", "32"]),
    (["--cov-type", "HC2", "--groups", "PSI"], ["HC2", "groups"]),
    (["--cov-type", "cluster"], ["--groups"]),
    (["--subset", "GPA > 99"], []),
    (["--subset", "NOTHING > 1"], ["NOTHING", "TUCE"]),
    (["--subset", "GPA * 2"], ["subset"]),
    (["--subset", "GPA > 'x'"], ["--subset"]),
])
def test_options(shell, args, words):
    refused(shell(*SPECTOR, *args), *words)


@pytest.mark.parametrize("formula", [
    "GRADE ~ __import__('os').system('true')",
    "GRADE ~ open('/etc/hostname').read()",
    "GRADE ~ np.load('x.npy')",
    "GRADE ~ GPA.to_csv('x')",
    "GRADE ~ I(exec('1'))",
    "eval('GRADE') ~ GPA",
    "GRADE ~ pd.read_pickle('x')",
])
def test_a_formula_runs_no_code(shell, formula):
    refused(shell("logit", "spector", formula))


@pytest.mark.parametrize("query", [
    "@pd.read_pickle('x')", "GPA.to_csv('x')", "__import__('os')", "9 ** 9 ** 9 > GPA", "'a' * 1000000000 == GPA",
    "GPA[0] > 1", "(lambda: 1)()", "GPA >", "", "GPA = 3", "[x for x in GPA]", "GPA > 1; 1",
])
def test_a_subset_runs_no_code(shell, query):
    refused(shell(*SPECTOR, "--subset", query), "--subset")


@pytest.mark.parametrize("query", [
    "GPA > 2.5 and TUCE != 20", "not (PSI == 1)", "`GPA` >= 2", "PSI in [0, 1]", "GPA * 2 - 1 > -TUCE",
])
def test_a_subset_may_compare(shell, query):
    spector = datasets.load("spector")
    _, out, _ = shell(*SPECTOR, "--subset", query)
    n = len(spector.query(query))
    assert f"{n} of 32 rows" in out or n == 32


def test_no_estimate_is_status_1(shell, tmp_path):
    file = tmp_path / "separated.csv"
    pd.DataFrame({"y": [0] * 10 + [1] * 10, "x": range(20)}).to_csv(file, index=False)
    refused(shell("logit", file, "y ~ 0 + I(0 * x)"), "I(0 * x)", "0 in every row", status=1)
    assert " inf " in warned(shell("logit", file, "y ~ x"), '"x" (inf)', "complete separation")


def test_collinear_columns_are_left_out(shell):
    printed = warned(shell("logit", "beetles", "killed + survived ~ dose + I(2 * dose)"), '"I(2 * dose)" = 2 * dose')
    assert printed.count("(omitted)") == 1
    warned(shell("logit", "spector", "GRADE ~ bs(GPA, df=40)"), "linearly dependent")


def test_separated_data(shell, tmp_path):
    path = tmp_path / "separated.csv"
    path.write_text("x,z,g,y\n1,3,a,no\n2,5,a,no\n3,7,b,yes\n4,9,b,no\n5,11,a,no\n6,13,a,yes\n7,15,c,yes\n8,17,c,yes\n")
    call = ("logit", path, "y ~ x + z + g", "--event", "yes")
    out = warned(shell(*call), '"z" = Intercept + 2 * x', '"g[T.c]" (inf)', "or --bias-reduction firth")
    assert " inf " in out and "(omitted)" in out
    status, _, err = shell(*call, "--separation", "raise")
    warning, error = err.splitlines()
    assert status == 1 and '"z" = Intercept' in warning and '"g[T.c]" (inf)' in error and "--separation warn" in error
    refused(shell(*call, "--collinear", "raise"), '"z" = Intercept + 2 * x', status=1)
    refused(shell(*call, "--separation", "ignore"), "--separation ignore", '"warn"')
    refused(shell(*call, "--flic"), "--flic", "--bias-reduction firth")
    refused(shell("probit", *call[1:], "--bias-reduction", "firth", "--flic"), "--flic is for logit")
    for options, words in {
        ("firth",): "Mean BR (Firth)",
        ("firth", "--flic"): "Mean BR (Firth), FLIC",
        ("median",): "Median BR",
    }.items():
        out = warned(shell(*call, "--bias-reduction", *options), '"z" = Intercept')
        assert words in out and " inf " not in out
    refused(shell("mnlogit", *call[1:3], "--bias-reduction", "median"), "--bias-reduction median of MNLogit")
    assert "bias-reduced" in warned(shell("mnlogit", *call[1:3], "--bias-reduction", "firth"), '"z"')


def test_a_warning_is_one_line(shell, monkeypatch):
    import warnings

    class Results:
        converged, extra_txt = False, None

        def summary(self):
            return self

        def as_text(self):
            return "table"

    def fit(args):
        warnings.warn("stopped\nafter 3 iterations", UserWarning, stacklevel=2)
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return Results()

    monkeypatch.setattr(command, "fit", fit)
    assert shell(*SPECTOR) == (1, "table\n", "glmclf: warning: stopped after 3 iterations\n")


def test_a_csv_with_a_column_twice_is_refused(tmp_path, capsys):
    path = tmp_path / "twice.csv"
    path.write_text("y,x,x\n" + "".join(f"{i % 2},{i * 7 % 5},{i}\n" for i in range(20)))
    assert command.main(["logit", str(path), "y ~ x"]) == 2
    assert '"x"' in capsys.readouterr().err


@pytest.mark.parametrize("option", [name for name, option in OPTIONS.items() if option.value])
def test_an_empty_value_is_refused(option, capsys):
    words = ["logit", "spector", "GRADE ~ GPA", spelled(option), ""]
    model = OPTIONS[option].models[0]
    with pytest.raises(SystemExit) as stop:
        command.main([model, *words[1:]])
    assert stop.value.code == 2 and f"{spelled(option)} needs a value" in capsys.readouterr().err


def test_seed_of_the_stochastic_gradient(capsys):
    words = ["logit", "spector", "GRADE ~ GPA", "--seed", "3"]
    assert command.main([*words, "--method", "sgd"]) == 0 and "sgd" in capsys.readouterr().out
    assert command.main([*words, "--method", "sgd", "--cov-type", "bootstrap", "--reps", "20"]) == 0
    with pytest.raises(SystemExit):
        command.main(words)
    assert "--seed is for --cov-type bootstrap or --method sgd" in capsys.readouterr().err


def test_addresses_are_fetched_where_asked(shell):
    for source in ("https://example.invalid/x.csv", "file:///etc/passwd", "s3://bucket/x.parquet"):
        refused(shell("logit", source, "y ~ x"), "--remote fetches it")


def test_names_twice_in_the_header_with_an_event(shell, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("y,y,x\n" + "a,b,1\nb,a,2\na,a,3\nb,b,4\n" * 3)
    refused(shell("logit", path, "y ~ x", "--event", "a"), "y")


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_has_a_message_and_a_status():
    with open("/dev/full", "w") as full:
        command_line = [sys.executable, "-m", "glmclf", *SPECTOR]
        done = subprocess.run(command_line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and done.stderr.startswith("glmclf: error: the output cannot be written: No space left")
    assert done.stderr.count("\n") == 1


# ---------------------------------------------------------------- saving, predicting, margins, and csv of other forms

def test_margins_after_the_summary(shell):
    """Effects of Greene's table, as statsmodels prints them."""
    status, out, err = shell(*SPECTOR, "--margins")
    summary, margins = out.split("Logit Marginal Effects")
    assert (status, err) == (0, "") and "-12.890" in summary
    rows = [line.split() for line in margins.splitlines() if line[:4] in ("GPA ", "TUCE")]
    assert [(name, dydx, round(float(se), 3)) for name, dydx, se, *_ in rows] == [
        ("GPA", "0.3626", 0.109),
        ("TUCE", "0.0122", 0.018),
    ]
    status, out, err = shell("lda", "penguins", "species ~ bill_length_mm", "--margins", "--format", "csv")
    assert status == 0 and "bill_length_mm" in out


def test_save_and_predict(shell, tmp_path):
    saved, new, to = tmp_path / "fit.json", tmp_path / "new.csv", tmp_path / "out.csv"
    new.write_text("GPA,TUCE,PSI\n2.66,20,0\n3.92,29,1\n")
    assert shell(*SPECTOR, "--save", saved)[0] == 0
    expected = glmclf.load(saved).predict(pd.read_csv(new))
    status, out, err = shell(*SPECTOR, "--predict", new)
    found = datasets.read_csv(io.StringIO(out))
    assert (status, err) == (0, "") and found.columns.tolist() == ["GPA", "TUCE", "PSI", ".fitted", ".se_fit"]
    np.testing.assert_array_equal(found[".fitted"], expected)
    eta = -13.02135 + 2.826113 * 2.66 + 0.0951577 * 20  # coefficients as Greene prints them
    assert found[".fitted"][0] == pytest.approx(1 / (1 + np.exp(-eta)), abs=1e-6)
    status, out, err = shell(*SPECTOR, "--predict", new, "--out", to)
    assert "Logit Regression Results" in out and to.read_text() == shell(*SPECTOR, "--predict", new)[1]
    status, out, err = shell("lda", "penguins", "species ~ bill_length_mm + sex", "--predict", "penguins")
    assert status == 0 and ".fitted_Adelie" in out.splitlines()[0] and len(out.splitlines()) == 345


def test_csv_of_names_and_levels_holds_no_formula(shell, tmp_path):
    """Texts that begin like formulas of spreadsheets have a quote before them, numbers stay."""
    data, out_file = tmp_path / "data.csv", tmp_path / "out.csv"
    notes = ["-c", "\x1b[2Jb"]
    rows = [f"{'=1+1' if i % 3 else '@a'},{i % 7 - 3},{notes[i % 2]}" for i in range(60)]
    data.write_text("\n".join(["y,x,+note", *rows]))
    status, out, _ = shell("logit", data, "y ~ x", "--event", "=1+1", "--predict", data)
    found = list(csv.reader(io.StringIO(out)))
    assert status == 0 and found[0] == ["y", "x", "'+note", ".fitted", ".se_fit"]
    assert found[1][:3] == ["'@a", "-3", "'-c"] and found[2][:3] == ["'=1+1", "-2", r"\x1b[2Jb"]
    assert shell("logit", data, "y ~ x", "--event", "=1+1", "--predict", data, "--out", out_file)[0] == 0
    assert out_file.read_text() == out
    status, out, _ = shell("lda", data, "y ~ x", "--format", "csv")
    cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
    assert status == 0 and not any(cell.startswith(("=", "@")) for cell in cells) and any("'=1+1" in c for c in cells)


@pytest.mark.parametrize(("options", "words"), [
    (["--out", "x.csv"], ["--out is for --predict"]),
    (["--predict", "spector", "--margins"], ["--margins", "--out FILE"]),
    (["--predict", "spector", "--format", "latex"], ["--format latex", "--out FILE"]),
    (["--predict", "nowhere"], ["NEW 'nowhere'"]),
    (["--sep", ";"], ["--sep is for csv", "'spector'"]),
    (["--save", "new.csv", "--predict", "./new.csv"], ["--save 'new.csv'", "another file"]),
    (["--save", "new.csv", "--predict", "spector", "--out", "new.csv"], ["--save 'new.csv'", "another file"]),
    (["--predict", "new.csv", "--out", "./new.csv"], ["--out './new.csv'", "another file"]),
    (["--report", "new.html", "--save", "new.html"], ["--save 'new.html'", "another file"]),
    (["--report", "new.html", "--predict", "new.html"], ["--report 'new.html'", "another file"]),
    (["--report", "report.pdf"], ["--report 'report.pdf'", '".html"']),
    (["--report", "/nowhere/report.html"], ["cannot write --report '/nowhere/report.html'"]),
])
def test_what_does_not_go_together(shell, options, words):
    refused(shell(*SPECTOR, *options), *words)


def test_a_report_beside_the_summary(shell, tmp_path):
    page = tmp_path / "report.html"
    status, out, err = shell(*SPECTOR, "--report", page)
    assert status == 0 and "Logit Regression Results" in out and "fits have no estimate" not in err
    assert "Estimation is by maximum likelihood" in page.read_text(encoding="utf-8")


def test_a_command_that_fails_saves_nothing(shell, tmp_path):
    saved, new = tmp_path / "fit.json", tmp_path / "new.csv"
    new.write_text("body_mass_g,island\n4000,Atlantis\n")
    call = ("logit", "penguins", "sex ~ body_mass_g + island", "--event", "male", "--save", saved)
    refused(shell(*call, "--predict", new), "Atlantis")
    refused(shell("probit", *call[1:], "--odds-ratios"), "Probit")
    assert not saved.exists() and shell(*call)[0] == 0 and saved.exists()


WRITTEN = "a;jéa;z\n1,5;NA;x\n2,5;b;?\n3,5;b;x\n1;NA;x\n0,2;b;x\n4;NA;x\n2;b;x\n3;NA;x\n"


@pytest.mark.parametrize("sep", [";", "tab"])
@pytest.mark.parametrize("stdin", [False, True])
def test_csv_of_other_forms(shell, tmp_path, monkeypatch, sep, stdin):
    """Decimal commas, Latin-1, and NA as a level: the fit of the same numbers from a plain file."""
    text = WRITTEN.replace(";", "\t") if sep == "tab" else WRITTEN
    path, plain = tmp_path / "data.csv", tmp_path / "plain.csv"
    path.write_bytes(text.encode("latin-1"))
    plain.write_text(WRITTEN.replace(",", ".").replace(";", ",").replace("é", "e").replace("NA", "no"))
    if stdin:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes()), encoding="utf-8"))
    form = ("--sep", sep, "--decimal", ",", "--encoding", "latin-1")
    mine = shell("logit", "-" if stdin else path, "jéa ~ a", "--event", "b", "--na-values", "none", *form)
    theirs = shell("logit", plain, "jea ~ a", "--event", "b")
    numbers = [[line.split()[:7] for line in out.splitlines() if line[:2] == "a "] for _, out, _ in (mine, theirs)]
    assert mine[0] == theirs[0] == 0 and numbers[0] == numbers[1] and len(numbers[0]) == 1


def test_texts_that_are_missing(shell, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("y,x\n" + "0,1\n1,?\n1,2\n0,3\n1,4\n0,-\n1,0\n0,5\n")
    assert "6" in warned_or_plain(shell("logit", path, "y ~ x", "--na-values", "?,-"))
    refused(shell("logit", path, "y ~ x", "--decimal", ","), "--decimal", "--sep")
    refused(shell("logit", path, "y ~ x", "--sep", "::"), "--sep '::'", "tab")
    refused(shell("logit", path, "y ~ x", "--encoding", "klingon"), "klingon")
    refused(shell("logit", path, "y ~ x", "--sep", ";"), "one column, 'y,x'", "--sep")


def warned_or_plain(result):
    status, out, err = result
    assert status == 0 and not err, result
    return next(line for line in out.splitlines() if "No. Observations" in line).split()[-1]


def test_help_of_what_is_written(shell):
    _, out, _ = shell("--help")
    words = " ".join(out.split())
    assert "NEW, which is read as DATA is" in words and "for glmclf.load()" in words and "--na-values LIST" in words


@pytest.mark.parametrize("options, words", [
    (["--predict", "new.csv", "--out", "/nowhere/x.csv"], ["cannot write --out '/nowhere/x.csv': there is no folder"]),
    (["--save", "/nowhere/fit.json"], ["cannot write --save", "there is no folder '/nowhere'"]),
    (["--save", "/"], ["cannot write --save '/': it is a folder"]),
    (["--predict", "new.csv", "--out", "out.xlsx"], ["--out 'out.xlsx'", "name it .csv"]),
    (["--predict", "new.csv", "--out", "out.parquet"], ["--out 'out.parquet'", "name it .csv"]),
])
def test_what_cannot_be_written_is_said_before_the_fit(shell, options, words, monkeypatch):
    monkeypatch.setattr(command, "read", None)
    refused(shell(*SPECTOR, *options), *words)


def test_predictions_are_written_as_their_name_says(shell, tmp_path):
    new, out = tmp_path / "new.csv", tmp_path / "out.tsv"
    datasets.load("spector").head(3).to_csv(new, index=False)
    shell(*SPECTOR, "--predict", new, "--out", out)
    res = glmclf.Logit.from_formula(SPECTOR[2], datasets.load("spector")).fit()
    np.testing.assert_allclose(pd.read_csv(out, sep="\t")[".fitted"], res.predict(datasets.load("spector").head(3)))


ANSWERS = "answer,age\n" + "".join(f"{'yes' if i % 2 else 'no'},{i}.5\n" for i in range(30))


@pytest.mark.parametrize("text, words", [
    ("", ["it is empty"]),
    ("answer;age\nyes;1,5\nno;2,5\n", ["there is one column, 'answer;age'", "--sep"]),
    ("answer age\nyes 1\nno 2\n", ["there is one column, 'answer age'", "--sep"]),
    (ANSWERS.replace(",", "\t").replace(".", ","), ["Read it with --decimal ,"]),
    (ANSWERS.replace(",", "\t") + "no\t?\n", ["Say by --na-values"]),
])
def test_advice_on_csv_is_in_options(shell, tmp_path, text, words):
    path = tmp_path / ("rows.tsv" if "\t" in text else "rows.csv")
    path.write_text(text)
    refused(shell("logit", path, "answer ~ age"), *words)


def test_warnings_are_printed_before_an_error(shell, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("answer,age\n" + "yes,1\n ,2\nno,3\n" * 5)
    status, out, err = shell("logit", path, "answer ~ age")
    first, second = err.splitlines()
    assert status == 2 and not out and 'a level that only blanks make (" ")' in first and '--na-values " "' in first
    assert second.startswith("glmclf: error: ") and "has 3 levels" in second


def test_labels_of_stata_in_part(shell, tmp_path):
    """As over the file in parts: numbers, with a word where the column stands in the formula as it is."""
    path, rng = tmp_path / "rows.dta", np.random.default_rng(1)
    rows = pd.DataFrame({"age": rng.integers(18, 91, 90), "g": rng.integers(1, 3, 90), "y": rng.integers(0, 2, 90)})
    rows.to_stata(path, write_index=False, value_labels={"age": {90: "90 or older"}, "g": {1: "a", 2: "b"}})
    printed = warned(shell("logit", path, "y ~ age + g"), '"age" of Stata "rows.dta" has labels in part', "I(age)")
    assert "g[T.b]" in printed
    _, _, err = shell("logit", path, "y ~ I(age) + g")
    assert not err
