"""Options of the command: one table, of which the parser, its help and the keywords of models and fits are made."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, NoReturn

from glmclf import registry
from glmclf.shell import values
from glmclf.shell.tables import FILES, form_of, kind_written, no_place

ALL = tuple(registry.LOWER_CASE)
BINARY, REGRESSION_NAMES = registry.lower_case("binary"), registry.lower_case(*registry.REGRESSIONS)
GENERATIVE_NAMES, DISCRIMINANTS = registry.lower_case(*registry.GENERATIVE), registry.lower_case("discriminant")
MULTINOMIAL, NAIVE_BAYES = registry.lower_case("multinomial"), registry.lower_case("naive_bayes")
BAD_INPUT = 2  # exit status
FORMATS = ("text", "latex", "html", "csv", "markdown", "typst")


class ShellOption(NamedTuple):
    """Option of the command.

    Attributes
    ----------
    value : str or None
        What stands for its value in the help; None of a switch.
    meaning : str
        Its help; names in braces are lists of `known_words`.
    models : tuple of str
        Models that have it.
    read : callable
        The value that a text stands for.
    of : {"model", "fit", "covariance", "csv", "command"}
        Whose keyword it is.
    also : tuple of str
        Other spellings.
    """

    value: str | None
    meaning: str
    models: tuple[str, ...] = ALL
    read: Callable[[str, values.Given], Any] = values.text
    of: str = "command"
    also: tuple[str, ...] = ()


_model, _fit = partial(ShellOption, of="model"), partial(ShellOption, of="fit")
_csv, _covariance = partial(ShellOption, of="csv"), partial(ShellOption, of="covariance")
OPTIONS: Mapping[str, ShellOption] = {
    "event": _model("LEVEL", "level of the response whose probability is modelled", BINARY, values.response_level),
    "reference": _model(
        "LEVEL", "level to compare the others with", (*MULTINOMIAL, *GENERATIVE_NAMES), values.response_level
    ),
    "offset": _model("COL", "column added to the linear predictor", REGRESSION_NAMES),
    "freq_weights": _model("COL", "column of counts: how many equal rows a row stands for"),
    "weights": _model("COL", "column of sampling weights"),
    "trials": _model("COL", "numbers of trials of which the response is the proportion of successes", BINARY),
    "missing": _model("HOW", "{missing}; naivebayes also {feature_missing} (default: drop; of naivebayes: skip)"),
    "subset": _model("QUERY", "rows to use, as in \"age > 20 and region == 'north'\" (see below)"),
    "cov_type": _fit("TYPE", "{cov_types} (default: nonrobust)"),
    "groups": ShellOption("COL", "column of clusters; again for each further grouping"),
    "maxlags": _covariance("N", "HAC: lags, rows being in the order of time", read=values.whole),
    "reps": _covariance("N", "bootstrap: replications (default: 999)", REGRESSION_NAMES, values.whole),
    "seed": _covariance("N", "bootstrap and sgd: of the random numbers", REGRESSION_NAMES, values.whole),
    "method": _fit("M", "solver: {solvers} (default: irls)", REGRESSION_NAMES),
    "exponentiate": ShellOption(
        None,
        "exp(b) in place of b: odds ratios (of cloglog hazard ratios, of mnlogit relative risk ratios)",
        REGRESSION_NAMES,
        also=("odds_ratios",),
    ),
    "priors": _model("P", "equal, or as in a=0.2,b=0.8 or 0.2,0.8", GENERATIVE_NAMES, values.prior_probabilities),
    "prior_smoothing": _model(
        "X", "pseudo-count of each class, for priors that are estimated", GENERATIVE_NAMES, values.number
    ),
    "covariance": _model("KIND", "{kinds} (default: full; naivebayes: diag)", GENERATIVE_NAMES),
    "divisor": _model("HOW", "{divisors} (default: mle)", GENERATIVE_NAMES),
    "shrinkage": _model("X", "0 to 1, {intensities}", DISCRIMINANTS, values.number_or_word),
    "target": _model("T", "what to shrink to: {targets} (default: diag)", DISCRIMINANTS),
    "ridge": _model("X", "added to each variance", DISCRIMINANTS, values.number),
    "bias_reduction": _fit(
        "B", "{reductions} (mnlogit: firth): finite also for separated data; lda: exact", (*REGRESSION_NAMES, "lda")
    ),
    "flic": _fit(
        None,
        "with --bias-reduction firth: correct the intercept, so that probabilities add up to the events",
        ("logit",),
    ),
    "separation": _fit(
        "HOW", "where estimates are infinite: warn (default) and give the limits, or raise", REGRESSION_NAMES
    ),
    "collinear": _fit(
        "HOW",
        "columns that are combinations of others: drop (default; of lda and qda: raise) or raise",
        (*REGRESSION_NAMES, *DISCRIMINANTS),
    ),
    "families": _model(
        "F",
        "feature=family of each feature that has another, as in visits=poisson,income=gamma: {families}",
        NAIVE_BAYES,
        values.families,
    ),
    "multinomial": _model(
        "COLS", "columns of counts that make one block, as in w1,w2,w3", NAIVE_BAYES, values.list_of_names
    ),
    "pooled": _model(None, "gaussian features have one variance for all classes", NAIVE_BAYES),
    "smoothing": _model("X", "pseudo-count of each cell of a table", NAIVE_BAYES, values.number),
    "unknown": _model(
        "HOW", "raise (default) or missing: what a level is that the rows of the fit do not have", NAIVE_BAYES
    ),
    "levels": ShellOption(None, "print each coefficient of factors of more than 50 levels, too"),
    "margins": ShellOption(None, "print average marginal effects, too"),
    "save": ShellOption("FILE", "write the fit to FILE (json), for glmclf.load() in Python; it holds no row of DATA"),
    "report": ShellOption(
        "FILE",
        "write a report with figures and a validation to FILE: one page (.html), or Markdown with its pictures in a "
        "folder beside it (.md, .qmd)",
    ),
    "predict": ShellOption(
        "NEW", "print NEW, which is read as DATA is, with its probabilities and their standard errors (csv)"
    ),
    "out": ShellOption("FILE", "write what --predict gives to FILE, and print the summary"),
    "sep": _csv(
        "C",
        "csv: what is between columns, one character or tab (default: a comma; of .tsv a tab)",
        read=values.character,
    ),
    "decimal": _csv("C", "csv: the decimal mark (default: .)", read=values.character),
    "encoding": _csv("NAME", "csv: encoding of the text (default: utf-8)"),
    "na_values": _csv(
        "LIST",
        "csv: texts that are missing values in place of NA, null and the like, as in ?,-; or none",
        read=values.missing_texts,
    ),
    "discriminant": ShellOption(
        None, "print the implied logit even where it has many coefficients (qda: the quadratic one)", GENERATIVE_NAMES
    ),
}
ONE_TYPE = {"maxlags": "HAC", "reps": "bootstrap", "seed": "bootstrap"}  # options of one type of covariance

EPILOG = """\
shipped data sets:
{data}

examples:
  python -m glmclf logit spector "GRADE ~ GPA + TUCE + PSI"
  python -m glmclf logit penguins "sex ~ body_mass_g + species" --event male --odds-ratios
  python -m glmclf logit spector "GRADE ~ GPA + PSI" --bias-reduction firth --flic
  python -m glmclf probit fair "I(affairs > 0) ~ age + yrs_married + religious" --cov-type HC0
  python -m glmclf cloglog beetles "killed + survived ~ dose" --format markdown
  python -m glmclf mnlogit penguins "species ~ bill_length_mm + sex" --reference Chinstrap --exponentiate
  python -m glmclf lda penguins "species ~ bill_length_mm + body_mass_g" --priors equal --cov-type HC0
  python -m glmclf qda penguins "species ~ bill_length_mm + body_mass_g" --shrinkage 0.1 --discriminant
  python -m glmclf naivebayes penguins "species ~ bill_length_mm + sex + C(year)" --smoothing 0.5
  python -m glmclf naivebayes fair "I(affairs > 0) ~ age + yrs_married" --families age=gamma --pooled
  python -m glmclf logit fair "I(affairs > 0) ~ age + yrs_married" --margins --save fair.json
  python -m glmclf logit penguins "sex ~ bill_length_mm + species" --event male --report report.html
  python -m glmclf lda penguins "species ~ bill_length_mm + sex" --predict new.csv > predicted.csv
  python -m glmclf logit survey.csv "answer ~ age" --sep ";" --decimal , --encoding latin-1 --na-values "?,-"
  cut -d, -f1-5 survey.csv | python -m glmclf logit - "answer ~ age" --event yes

FORMULA and --subset name columns of DATA (Q("odd name"), in --subset `odd name`), numbers and text, operators and
numpy's element-wise functions, as in np.log(x); FORMULA also patsy's and glmclf's transforms: {transforms}.
Nothing else is run: no method of a column, no other function of Python, no variable (@name).

exit status: 0; 1 where the data give no estimate, 2 where the input cannot be used, 3 where the output has no room
"""


def known_words() -> dict[str, str]:
    """Lists of the package that the help names, as sentences have them."""
    from glmclf.checks import either
    from glmclf.core.fit.bias import REDUCTIONS
    from glmclf.core.fit.solvers import SOLVERS
    from glmclf.data.design.feature_terms import FAMILIES
    from glmclf.data.reading.features import FEATURE_MISSING
    from glmclf.data.table.rows import MISSING
    from glmclf.inference.covariance.types import COVARIANCES
    from glmclf.models.discriminant import COVARIANCE_KINDS, DIVISORS, INTENSITIES, TARGETS

    lists = {
        "missing": MISSING,
        "feature_missing": [word for word in FEATURE_MISSING if word not in MISSING],
        "cov_types": COVARIANCES,
        "solvers": SOLVERS,
        "kinds": COVARIANCE_KINDS,
        "divisors": DIVISORS,
        "intensities": INTENSITIES,
        "targets": TARGETS,
        "reductions": REDUCTIONS,
        "families": FAMILIES,
    }
    return {name: either(words).replace('"', "") for name, words in lists.items()}


class Parser(argparse.ArgumentParser):
    """Argument parser with errors on one line, whose help is made when it is asked for."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"glmclf: error: {message}; see python -m glmclf --help\n")

    def format_help(self) -> str:
        from glmclf import datasets
        from glmclf.data.formula.expressions import FUNCTIONS

        words = known_words()
        for action in self._actions:
            action.help = (action.help or "").format_map(words)
        data = "\n".join(f"  {name:10} {datasets.CATALOGUE[name][2]}" for name in datasets.names())
        self.epilog = EPILOG.format(data=data, transforms=", ".join(sorted(FUNCTIONS)))
        return super().format_help()


def spelled(name: str) -> str:
    """Spell an option as the shell takes it."""
    return f"--{name.replace('_', '-')}"


def parser() -> argparse.ArgumentParser:
    """Parser of the command's arguments."""
    from glmclf import __version__

    p = Parser(
        prog="python -m glmclf",
        description="Fit a model and print its summary.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("model", metavar="MODEL", choices=ALL, help=", ".join(ALL))
    p.add_argument("data", metavar="DATA", help=f"shipped data set, {FILES}, or - (csv on stdin)")
    p.add_argument("formula", metavar="FORMULA", help='as in "y ~ x1 + C(g)"')
    for name, option in OPTIONS.items():
        whose = "" if option.models == ALL else f"{', '.join(option.models)}: "
        takes: dict[str, Any] = {"action": "store_true"} if option.value is None else {"metavar": option.value}
        if name == "groups":
            takes["action"] = "append"
        p.add_argument(*map(spelled, (name, *option.also)), help=f"{whose}{option.meaning}", **takes)
    p.add_argument("--remote", action="store_true", help="fetch DATA that is an address, as in https://... or s3://...")
    p.add_argument("--format", choices=FORMATS, default="text", help="form of the summary (default: text)")
    p.add_argument("--version", action="version", version=f"glmclf {__version__}")
    return p


def is_given(args: argparse.Namespace, name: str) -> bool:
    """Whether an option was given."""
    return getattr(args, name) not in (None, False)


def given(args: argparse.Namespace, of: str, frame: Any = None) -> dict[str, Any]:
    """Keywords `of` a model, a fit, a covariance or a reader of csv that were given, with their values."""
    return {
        name: option.read(getattr(args, name), values.Given(name, args.formula, frame))
        for name, option in OPTIONS.items()
        if option.of == of and is_given(args, name)
    }


def misfit(args: argparse.Namespace) -> str | None:
    """Error message for a combination of options that do not go together, or None."""
    for name, option in OPTIONS.items():
        value = getattr(args, name)
        if value == "" or (name == "groups" and "" in (value or ())):
            return f"{spelled(name)} needs a value: {option.meaning.format_map(known_words())}"
    for name, option in OPTIONS.items():
        if not is_given(args, name) or args.model in option.models:
            continue
        whose = f"{', '.join(map(spelled, (name, *option.also)))} is for {', '.join(option.models)}"
        if name == "reference":
            return f"{whose}; the level that {args.model} models is --event LEVEL"
        if name == "event":
            return f"{whose}; the base level of {args.model} is --reference LEVEL"
        return f"{whose}; {args.model} has no such option"
    if args.out and not args.predict:
        return "--out is for --predict NEW"
    written = {name: getattr(args, name) for name in ("save", "out", "report")}
    for name, path in written.items():
        if path and _same_file(path, args.data, args.predict, *(p for other, p in written.items() if other != name)):
            return f"{spelled(name)} {path!r} is the name of another file of this command"
        if path and (why := no_place(path)):
            return f"cannot write {spelled(name)} {path!r}: {why}"
    if args.out and kind_written(args.out) is None:
        return f"--out {args.out!r}: csv is written, so name it .csv, or .tsv for tabs"
    if args.report:
        from glmclf.reports.write import report_form

        try:
            report_form(args.report, None)
        except ValueError as error:
            return f"--report {error}"
    if args.data == args.predict == "-":
        return "DATA and NEW cannot both be standard input"
    if args.predict and not args.out:
        for name in ("margins", "exponentiate", "discriminant", "levels"):
            if is_given(args, name):
                return f"{spelled(name)} is for the summary, in place of which --predict prints rows: give --out FILE"
        if args.format not in ("text", "csv"):
            return f"--format {args.format} is for the summary; --predict prints csv: give --out FILE"
    read_forms = {form_of(args.data), form_of(args.predict or args.data)}
    for name, option in OPTIONS.items():
        if option.of == "csv" and is_given(args, name) and "csv" not in read_forms:
            return f"{spelled(name)} is for csv, which {args.data!r} is not"
    if args.groups and args.cov_type not in (None, "cluster", "bootstrap"):
        return f"--groups is for --cov-type cluster or bootstrap, not {args.cov_type}"
    if args.cov_type == "cluster" and not args.groups:
        return "--cov-type cluster needs --groups COL"
    for name, kind in ONE_TYPE.items():
        if not is_given(args, name) or args.cov_type == kind or (name == "seed" and args.method == "sgd"):
            continue
        return f"{spelled(name)} is for --cov-type {kind}" + (" or --method sgd" if name == "seed" else "")
    return None


def _same_file(path: str, *others: str | None) -> bool:
    """Whether a path is one of some others."""
    return os.path.realpath(path) in [os.path.realpath(other) for other in others if other]
