"""Fit a model from the shell and print its summary: ``python -m glmclf MODEL DATA FORMULA``."""

import argparse
import ast
import contextlib
import csv
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from glmclf import registry

BINARY, REGRESSION_NAMES = registry.lower_case("binary"), registry.lower_case(*registry.REGRESSIONS)
GENERATIVE_NAMES, DISCRIMINANTS = registry.lower_case(*registry.GENERATIVE), registry.lower_case("discriminant")
#: models that have an option, for options that not all models have
HAVE = {
    "event": BINARY,
    "reference": (*registry.lower_case("multinomial"), *GENERATIVE_NAMES),
    "offset": REGRESSION_NAMES,
    "trials": BINARY,
    "method": REGRESSION_NAMES,
    "exponentiate": REGRESSION_NAMES,
    "reps": REGRESSION_NAMES,
    "seed": REGRESSION_NAMES,
    "priors": GENERATIVE_NAMES,
    "prior_smoothing": GENERATIVE_NAMES,
    "discriminant": GENERATIVE_NAMES,
    "covariance": GENERATIVE_NAMES,
    "divisor": GENERATIVE_NAMES,
    "shrinkage": DISCRIMINANTS,
    "target": DISCRIMINANTS,
    "ridge": DISCRIMINANTS,
    "bias_reduction": (*REGRESSION_NAMES, "lda"),
    "flic": ("logit",),
    "separation": REGRESSION_NAMES,
    "collinear": (*REGRESSION_NAMES, *DISCRIMINANTS),
    "families": registry.lower_case("naive_bayes"),
    "multinomial": registry.lower_case("naive_bayes"),
    "pooled": registry.lower_case("naive_bayes"),
    "smoothing": registry.lower_case("naive_bayes"),
    "unknown": registry.lower_case("naive_bayes"),
}
#: value and meaning of each option except --format and --version; an option without a value is a switch
OPTIONS = {
    "event": ("LEVEL", "level of the response whose probability is modelled"),
    "reference": ("LEVEL", "level to compare the others with"),
    "offset": ("COL", "column added to the linear predictor"),
    "freq_weights": ("COL", "column of counts: how many equal rows a row stands for"),
    "weights": ("COL", "column of sampling weights"),
    "trials": ("COL", "column of the numbers of trials of which the response is the proportion of successes"),
    "missing": ("HOW", "drop or raise; naivebayes also skip (its default) or level"),
    "subset": ("QUERY", "rows to use, as in \"age > 20 and region == 'north'\" (see below)"),
    "cov_type": ("TYPE", "{cov_types} (default: nonrobust)"),
    "groups": ("COL", "column of clusters; again for each further grouping"),
    "maxlags": ("N", "HAC: lags, rows being in the order of time"),
    "reps": ("N", "bootstrap: replications (default: 999)"),
    "seed": ("N", "bootstrap and sgd: of the random numbers"),
    "method": ("M", "solver: irls (default), newton, bfgs, lbfgs or sgd"),
    "exponentiate": (None, "odds ratios, or what exp of a coefficient is, for coefficients"),
    "priors": ("P", "equal, or as in a=0.2,b=0.8 or 0.2,0.8"),
    "prior_smoothing": ("X", "pseudo-count of each class, for priors that are estimated"),
    "covariance": ("KIND", "full (default), diag or spherical (naivebayes: diag)"),
    "divisor": ("HOW", "mle (default) or unbiased"),
    "shrinkage": ("X", "0 to 1, ledoit_wolf or oas"),
    "target": ("T", "what to shrink to: diag (default) or identity"),
    "ridge": ("X", "added to each variance"),
    "bias_reduction": ("B", "firth or median (mnlogit: firth): finite also for separated data; lda: exact"),
    "flic": (None, "with --bias-reduction firth: correct the intercept, so that probabilities add up to the events"),
    "separation": ("HOW", "where estimates are infinite: warn (default) and give the limits, or raise"),
    "collinear": ("HOW", "columns that are combinations of others: drop (default; of lda and qda: raise) or raise"),
    "families": ("F", "feature=family of each feature that has another, as in visits=poisson,income=gamma"),
    "multinomial": ("COLS", "columns of counts that make one block, as in w1,w2,w3"),
    "pooled": (None, "gaussian features have one variance for all classes"),
    "smoothing": ("X", "pseudo-count of each cell of a table"),
    "unknown": ("HOW", "raise (default) or missing: what a level is that the rows of the fit do not have"),
    "margins": (None, "print average marginal effects, too"),
    "save": ("FILE", "write the fit to FILE (json), for glmclf.load() in Python; it holds no row of DATA"),
    "predict": ("NEW", "print NEW, which is read as DATA is, with its probabilities and their standard errors (csv)"),
    "out": ("FILE", "write what --predict gives to FILE, and print the summary"),
    "sep": ("C", "csv: what is between columns, one character or tab (default: a comma; of .tsv a tab)"),
    "decimal": ("C", "csv: the decimal mark (default: .)"),
    "encoding": ("NAME", "csv: encoding of the text (default: utf-8)"),
    "na_values": ("LIST", "csv: texts that are missing values in place of NA, null and the like, as in ?,-; or none"),
    "discriminant": (None, "print the implied logit even where it has many coefficients (qda: the quadratic one)"),
}
FIT = ("method", "bias_reduction", "flic", "separation", "collinear")  # options that are keywords of fit()
WRITTEN = ("sep", "decimal", "encoding", "na_values")  # options that say how csv is written
COVARIANCE = {"maxlags": "HAC", "reps": "bootstrap", "seed": "bootstrap"}  # numbers of one covariance type
NUMBER_OPTIONS = ("prior_smoothing", "ridge", "smoothing")
ROW_WORDS = ("offset", "freq_weights", "weights", "trials", "missing")
WORD_OPTIONS = (*ROW_WORDS, "subset", "covariance", "divisor", "target", "unknown", "pooled")
#: a Python keyword with its value, if any; not within a formula, as in C(g, Treatment(reference=1))
KEYWORD = re.compile(
    rf"""(?<![\w(."'])(?P<name>{"|".join(OPTIONS)})=(?!=)(?P<value>"[^"]*"|'[^']*'|[{{\[][^]}}]*[]}}]|[-+\w.]*\w)?"""
)
FORMATS = ("text", "latex", "html", "csv", "markdown", "typst")
FILES = ".csv or .tsv (also .csv.gz and the like), .parquet or .dta file, a folder of .parquet files"
NO_ESTIMATE, BAD_INPUT, NO_OUTPUT = 1, 2, 3

EPILOG = """\
shipped data sets:
{data}

examples:
  python -m glmclf logit spector "GRADE ~ GPA + TUCE + PSI"
  python -m glmclf logit penguins "sex ~ body_mass_g + species" --event male --exponentiate
  python -m glmclf logit spector "GRADE ~ GPA + PSI" --bias-reduction firth --flic
  python -m glmclf probit fair "I(affairs > 0) ~ age + yrs_married + religious" --cov-type HC0
  python -m glmclf cloglog beetles "killed + survived ~ dose" --format markdown
  python -m glmclf mnlogit penguins "species ~ bill_length_mm + sex" --reference Chinstrap --exponentiate
  python -m glmclf lda penguins "species ~ bill_length_mm + body_mass_g" --priors equal --cov-type HC0
  python -m glmclf qda penguins "species ~ bill_length_mm + body_mass_g" --shrinkage 0.1 --discriminant
  python -m glmclf naivebayes penguins "species ~ bill_length_mm + sex + C(year)" --smoothing 0.5
  python -m glmclf naivebayes fair "I(affairs > 0) ~ age + yrs_married" --families age=gamma --pooled
  python -m glmclf logit fair "I(affairs > 0) ~ age + yrs_married" --margins --save fair.json
  python -m glmclf lda penguins "species ~ bill_length_mm + sex" --predict new.csv > predicted.csv
  python -m glmclf logit survey.csv "answer ~ age" --sep ";" --decimal , --encoding latin-1 --na-values "?,-"
  cut -d, -f1-5 survey.csv | python -m glmclf logit - "answer ~ age" --event yes

FORMULA and --subset name columns of DATA (Q("odd name"), in --subset `odd name`), numbers and text, operators and
numpy's element-wise functions, as in np.log(x); FORMULA also patsy's and glmclf's transforms: {transforms}.
Nothing else is run: no method of a column, no other function of Python, no variable (@name).

exit status: 0; 1 where the data give no estimate, 2 where the input cannot be used, 3 where the output has no room
"""


class Parser(argparse.ArgumentParser):
    """Argument parser with errors on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"glmclf: error: {message}; see python -m glmclf --help\n")


def spelled(name: str) -> str:
    """Spell an option as the shell takes it."""
    return f"--{name.replace('_', '-')}"


def meaning(name: str) -> str:
    """Help text of an option."""
    text = OPTIONS[name][1]
    if "{cov_types}" in text:
        from glmclf.inference.covariance import wording

        text = text.format(cov_types=wording.enumerated(wording.names(), "or", quote=""))
    return text


def parser() -> argparse.ArgumentParser:
    """Parser of the command's arguments."""
    from glmclf import __version__, datasets
    from glmclf.data.formula.expressions import FUNCTIONS

    data = "\n".join(f"  {name:10} {datasets.CATALOGUE[name][2]}" for name in datasets.names())
    p = Parser(
        prog="python -m glmclf",
        description="Fit a model and print its summary.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG.format(data=data, transforms=", ".join(sorted(FUNCTIONS))),
    )
    p.add_argument("model", metavar="MODEL", choices=list(registry.LOWER_CASE), help=", ".join(registry.LOWER_CASE))
    p.add_argument("data", metavar="DATA", help=f"shipped data set, {FILES}, or - (csv on stdin)")
    p.add_argument("formula", metavar="FORMULA", help='as in "y ~ x1 + C(g)"')
    for name, (metavar, _) in OPTIONS.items():
        whose = f"{', '.join(HAVE[name])}: " if name in HAVE else ""
        takes: dict[str, Any] = {"action": "store_true"} if metavar is None else {"metavar": metavar}
        if name == "groups":
            takes["action"] = "append"
        p.add_argument(spelled(name), help=f"{whose}{meaning(name)}", **takes)
    p.add_argument("--remote", action="store_true", help="fetch DATA that is an address, as in https://... or s3://...")
    p.add_argument("--format", choices=FORMATS, default="text", help="form of the summary (default: text)")
    p.add_argument("--version", action="version", version=f"glmclf {__version__}")
    return p


def form_of(source: str) -> str | None:
    """What a table is read as: "shipped", "csv", "dta" or what `kind_of` a path is; None where nothing reads it."""
    from glmclf import datasets
    from glmclf.data.reading.open_source import kind_of

    if source in datasets.names():
        return "shipped"
    return "csv" if source == "-" else "dta" if source.lower().endswith(".dta") else kind_of(source)


def csv_keywords(args: argparse.Namespace) -> dict[str, Any]:
    """Keywords of a reader of csv, from the options that say how it is written."""
    found = {name: getattr(args, name) for name in WRITTEN if getattr(args, name) is not None}
    if "sep" in found:
        found["sep"] = {"tab": "\t", "\\t": "\t"}.get(found["sep"], found["sep"])
    for name in ("sep", "decimal"):
        if len(found.get(name, ".")) != 1:
            tab = ", or tab" if name == "sep" else ""
            raise ValueError(f"{spelled(name)} {getattr(args, name)!r}: one character is wanted{tab}")
    if "na_values" in found:
        texts = [] if args.na_values == "none" else args.na_values.split(",")
        found |= {"na_values": ["", *texts], "keep_default_na": False}
    return found


def read(source: str, written: dict[str, Any], name: str = "DATA", remote: bool = False) -> Any:
    """Read the table that DATA names: a shipped data set, a path that `data=` takes, a .dta file, or csv on stdin.

    An address is fetched where `remote` says so: what calls the command with a name from outside asks for no network.
    """
    import pandas as pd

    from glmclf import datasets
    from glmclf.data.reading.open_source import as_source
    from glmclf.data.source.parquet import Parquet
    from glmclf.errors import DataError

    kind = form_of(source)
    if kind == "shipped":
        return datasets.load(source)
    if "://" in source and not remote:
        raise ValueError(f"{name} {source!r} is an address: --remote fetches it")
    if kind is None:
        names = ", ".join(datasets.names())
        raise ValueError(f"{name} {source!r} is neither a shipped data set ({names}) nor a {FILES}, nor -")
    if source != "-" and "://" not in source and not os.path.exists(os.path.expanduser(source)):
        raise ValueError(f"cannot read {source!r}: No such file or folder")
    try:
        if kind == "csv":
            return read_csv(source, written)
        if kind == "dta":
            return pd.read_stata(source)
        opened = as_source(source)
        assert isinstance(opened, Parquet)
        return opened.whole()
    except DataError:
        raise
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x}"
        encoding = written.get("encoding", "utf-8")
        raise ValueError(f"cannot read {source!r}: it is not in {encoding} ({byte}): name another --encoding") from None
    except ValueError as error:
        raise ValueError(f"cannot read {source!r}: {printable(error)}") from None
    except ImportError:
        raise ValueError(f'reading {source!r} needs pyarrow: pip install "glmclf[parquet]"') from None
    except Exception as error:  # readers raise many types of errors for a file of another format
        raise ValueError(f"cannot read {source!r}: {getattr(error, 'strerror', None) or error}") from None


def read_csv(source: str, written: dict[str, Any]) -> Any:
    """Read a csv file or standard input; names that occur twice in the header stay duplicates, which are refused."""
    from glmclf import datasets
    from glmclf.data.source.csv import header
    from glmclf.data.source.paths import separator_of

    if source == "-" and (sys.stdin is None or sys.stdin.closed):
        raise ValueError("standard input is closed")
    text = None
    if source == "-":
        text = sys.stdin.buffer.read().decode(written["encoding"]) if "encoding" in written else sys.stdin.read()
    first, file = (source if text is None else io.StringIO(text) for _ in range(2))
    written = {"sep": separator_of(source), **written}
    if written.get("decimal") == written["sep"]:
        raise ValueError(f"--decimal {written['decimal']} is what is between columns, too: give --sep")
    names = header(first, **{name: value for name, value in written.items() if name in ("sep", "encoding")})
    frame = datasets.read_csv(file, **written)
    return frame.set_axis(names, axis=1) if len(names) == frame.shape[1] and all(names) else frame


def printable(error: Exception) -> str:
    """Message of an error, printable whatever bytes it quotes."""
    return str(error).encode("utf-8", "replace").decode("utf-8")


def response_level(text: str, formula: str, frame: Any) -> Any:
    """The level of the response that is written as `text`: the data decide between 1, 1.0, True and "1"."""
    name = formula.partition("~")[0].strip()
    values = frame[name].dropna().unique() if [*frame].count(name) == 1 else []  # names that occur twice are refused
    for value in values:
        if str(value) == text:
            return value.item() if hasattr(value, "item") else value
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, bool | int | float) else text


def number(text: str, option: str) -> float:
    """Read a number from the command line."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{spelled(option)} {text!r}: a number is wanted") from None


def whole(text: str, option: str) -> int:
    """Read a whole number from the command line."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{spelled(option)} {text!r}: a whole number is wanted") from None


def prior_probabilities(text: str, formula: str, frame: Any) -> Any:
    """Probabilities of the levels: "equal", numbers in the order of the levels, or level=number."""
    if text == "equal":
        return text
    parts = text.split(",")
    if "=" not in text:
        try:
            return [float(part) for part in parts]
        except ValueError:
            raise ValueError(f"--priors {text!r}: equal, numbers as in 0.2,0.8, or a=0.2,b=0.8 is wanted") from None
    pairs = [part.rpartition("=") for part in parts]
    if not all(level.strip() and equals for level, equals, _ in pairs):
        raise ValueError(f"--priors {text!r}: level=probability of every level, as in a=0.2,b=0.8, or numbers alone")
    priors = {response_level(level.strip(), formula, frame): number(p, "priors") for level, _, p in pairs}
    if len(priors) < len(parts):
        raise ValueError(f"--priors {text!r} names a level twice")
    return priors


def families(text: str) -> dict[str, str]:
    """Read families by feature; a feature's name, as C(g, levels=[1, 2]), may contain commas and equals signs."""
    pair = r"(.+?) *= *(\w+) *(?:,|$)"
    pairs = re.findall(pair, text)
    if not pairs or re.sub(pair, "", text):
        raise ValueError(f"--families {text!r}: feature=family is wanted, as in visits=poisson,income=gamma")
    found = {name.strip(): family for name, family in pairs}
    if len(found) < len(pairs):
        raise ValueError(f"--families {text!r} names a feature twice")
    return found


def options(args: argparse.Namespace, frame: Any) -> dict[str, Any]:
    """Keywords of the model."""
    found = {name: getattr(args, name) for name in WORD_OPTIONS}
    given = {name: text for name, text in vars(args).items() if name in OPTIONS and text is not None}
    found |= {name: number(given[name], name) for name in NUMBER_OPTIONS if name in given}
    levels = [name for name in ("event", "reference") if name in given]
    found |= {name: response_level(given[name], args.formula, frame) for name in levels}
    if "priors" in given:
        found["priors"] = prior_probabilities(args.priors, args.formula, frame)
    if "families" in given:
        found["families"] = families(args.families)
    if "multinomial" in given:
        found["multinomial"] = next(csv.reader([args.multinomial], skipinitialspace=True)) or [""]
    if "shrinkage" in given:
        word = args.shrinkage.isidentifier() and args.shrinkage not in ("nan", "inf")
        found["shrinkage"] = args.shrinkage if word else number(args.shrinkage, "shrinkage")
    return {name: value for name, value in found.items() if value is not None and value is not False}


def fit(args: argparse.Namespace) -> Any:
    """Fit the model that the arguments describe."""
    frame = read(args.data, csv_keywords(args), remote=args.remote)
    fit_keywords: dict[str, Any] = {"cov_type": args.cov_type}
    for name in FIT:
        if getattr(args, name) not in (None, False):
            fit_keywords[name] = getattr(args, name)
    given = {name: getattr(args, name) for name in COVARIANCE if args.cov_type == COVARIANCE[name]}
    cov_kwds: dict[str, Any] = {name: whole(text, name) for name, text in given.items() if text is not None}
    if args.seed is not None and args.method == "sgd":
        fit_keywords["seed"] = whole(args.seed, "seed")
    if args.groups:
        cov_kwds["groups"] = args.groups[0] if len(args.groups) == 1 else args.groups
        fit_keywords["cov_type"] = args.cov_type or "cluster"
    if cov_kwds:
        fit_keywords["cov_kwds"] = cov_kwds
    model = registry.model_class(registry.LOWER_CASE[args.model])
    return model._from_formula(args.formula, frame, {}, trusted=False, **options(args, frame)).fit(**fit_keywords)


def run(args: argparse.Namespace) -> int:
    """Fit, print the summary on stdout and each warning as a line on stderr; return the exit status."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        results = fit(args)
        if args.save:
            with writing(args.save):
                results.save(args.save)
        text = predicted(results, args) if args.predict else None
        if text is None:
            text = "\n\n".join(tables(results, args))
    for message in dict.fromkeys(one_line(w.message) for w in caught):
        print(f"glmclf: warning: {message}", file=sys.stderr)
    print(text, flush=True)
    return 0 if results.converged else NO_ESTIMATE


def predicted(results: Any, args: argparse.Namespace) -> str | None:
    """Rows of NEW with their predictions as csv; None where they were written to a file."""
    table = results.augment(read(args.predict, csv_keywords(args), "NEW", args.remote))
    if not args.out:
        return for_spreadsheets(table).to_csv(index=False).rstrip("\n")
    with writing(args.out):
        for_spreadsheets(table).to_csv(args.out, index=False)
    return None


def for_spreadsheets(table: Any) -> Any:
    """Table for csv: no name or text is a formula of spreadsheets or commands a terminal; numbers stay."""
    from glmclf.errors import escaped
    from glmclf.results.tables.render import in_csv

    def word(value: Any) -> Any:
        return in_csv(escaped(value)) if isinstance(value, str) else value

    columns = [table.iloc[:, j] for j in range(table.shape[1])]
    shown = {j: c if c.dtype.kind in "biufM" else c.astype(object).map(word) for j, c in enumerate(columns)}
    return type(table)(shown, index=table.index).set_axis([word(name) for name in table.columns], axis=1)


def tables(results: Any, args: argparse.Namespace) -> list[str]:
    """The summary, and the margins where they are asked for, in the format that is asked for."""
    summary = results.summary(**{name: True for name in ("exponentiate", "discriminant") if getattr(args, name)})
    if summary.extra_txt:
        summary.extra_txt = in_shell(summary.extra_txt)
    found = [summary, results.get_margeff().summary()] if args.margins else [summary]
    texts = [getattr(table, f"as_{args.format}")() for table in found]
    # LaTeX sets two hyphens as a dash
    return [re.sub(r"--(?=[a-z])", "-{}-", text) for text in texts] if args.format == "latex" else texts


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {path!r}: {error.strerror or error}") from None


def one_line(message: object) -> str:
    """Message on a single line, with options as the shell takes them."""
    from glmclf.errors import escaped

    return in_shell(escaped(" ".join(str(message).split())))


def in_shell(text: str) -> str:
    """Translate advice from Python's keywords to the shell's options: ``smoothing=.5`` is --smoothing .5."""
    text = text.replace("summary(discriminant=True)", "--discriminant")
    return KEYWORD.sub(lambda found: " ".join([spelled(found["name"]), *value_in_shell(found["value"])]), text)


def value_in_shell(text: str | None) -> list[str]:
    """Value of a keyword as the shell takes it; empty where there is none, or the option is a switch."""
    if text is None or text == "True":
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return [text]
    if isinstance(value, dict):
        text = ",".join(f"{key}={item}" for key, item in value.items())
    elif isinstance(value, list):
        text = ",".join(map(str, value))
    elif isinstance(value, str):
        text = value
    return [f'"{text}"' if not text or set(text) & set(" \t'();&|<>*$`") else text]


def _same_file(path: str, *others: str | None) -> bool:
    """Whether a path is one of some others."""
    return os.path.realpath(path) in [os.path.realpath(other) for other in others if other]


def misfit(args: argparse.Namespace) -> str | None:
    """Error message for a combination of options that do not go together, or None."""
    for name in OPTIONS:
        if getattr(args, name) == "" or (name == "groups" and "" in (args.groups or ())):
            return f"{spelled(name)} needs a value: {meaning(name)}"
    for name, models in HAVE.items():
        if getattr(args, name) in (None, False) or args.model in models:
            continue
        if name == "reference":
            return f"--reference is for {', '.join(models)}; the level that {args.model} models is --event LEVEL"
        if name == "event":
            return f"--event is for {', '.join(models)}; the base level of {args.model} is --reference LEVEL"
        return f"{spelled(name)} is for {', '.join(models)}; {args.model} has no such option"
    if args.out and not args.predict:
        return "--out is for --predict NEW"
    if args.save and _same_file(args.save, args.data, args.predict, args.out):
        return f"--save {args.save!r} is the name of another file of this command"
    if args.data == args.predict == "-":
        return "DATA and NEW cannot both be standard input"
    if args.predict and not args.out:
        for name in ("margins", "exponentiate", "discriminant"):
            if getattr(args, name):
                return f"{spelled(name)} is for the summary, in place of which --predict prints rows: give --out FILE"
        if args.format not in ("text", "csv"):
            return f"--format {args.format} is for the summary; --predict prints csv: give --out FILE"
    for name in WRITTEN:
        if getattr(args, name) is not None and "csv" not in (form_of(args.data), form_of(args.predict or args.data)):
            return f"{spelled(name)} is for csv, which {args.data!r} is not"
    if args.groups and args.cov_type not in (None, "cluster", "bootstrap"):
        return f"--groups is for --cov-type cluster or bootstrap, not {args.cov_type}"
    if args.cov_type == "cluster" and not args.groups:
        return "--cov-type cluster needs --groups COL"
    for name, kind in COVARIANCE.items():
        if getattr(args, name) is None or args.cov_type == kind or (name == "seed" and args.method == "sgd"):
            continue
        return f"{spelled(name)} is for --cov-type {kind}" + (" or --method sgd" if name == "seed" else "")
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command: exit status 0; 1 where the data give no estimate, 2 where the input, 3 where the output fails.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; default: those of the process.

    Returns
    -------
    int
        Exit status. A usage error raises SystemExit(2), as argparse does.

    Examples
    --------
    >>> from glmclf.__main__ import main
    >>> main(["logit", "nowhere", "y ~ x"])
    2
    """
    from glmclf.errors import EstimationError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # characters that a terminal cannot show are escaped
    args = parser().parse_args(argv)
    wrong = misfit(args)
    if wrong is not None:
        parser().error(wrong)
    try:
        return run(args)
    except BrokenPipeError:
        # the reader of a pipe has closed it; the interpreter's flush at exit must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # of standard output: errors of DATA are told by `read`
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"glmclf: error: the output cannot be written: {error.strerror or error}", file=sys.stderr)
        return NO_OUTPUT
    except KeyboardInterrupt:
        return 130
    except (ValueError, TypeError, NotImplementedError) as error:
        print(f"glmclf: error: {one_line(error)}", file=sys.stderr)
        return NO_ESTIMATE if isinstance(error, EstimationError) else BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
