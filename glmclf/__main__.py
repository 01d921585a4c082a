"""Fit a model from the shell and print its summary: ``python -m glmclf MODEL DATA FORMULA``."""

import argparse
import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from glmclf import registry
from glmclf.shell.advice import in_shell, one_line
from glmclf.shell.options import BAD_INPUT, given, misfit, parser
from glmclf.shell.tables import for_spreadsheets, kind_written, read, writing

NO_ESTIMATE, NO_OUTPUT = 1, 3  # exit statuses beside BAD_INPUT


def fit(args: argparse.Namespace) -> Any:
    """Fit the model that the arguments describe."""
    frame = read(args.data, given(args, "csv"), remote=args.remote, formula=args.formula)
    fit_keywords, cov_kwds = given(args, "fit"), given(args, "covariance")
    if args.method == "sgd" and "seed" in cov_kwds:
        fit_keywords["seed"] = cov_kwds["seed"]
    if args.cov_type != "bootstrap":
        cov_kwds.pop("seed", None)
    if args.groups:
        cov_kwds["groups"] = args.groups[0] if len(args.groups) == 1 else args.groups
        fit_keywords.setdefault("cov_type", "cluster")
    if cov_kwds:
        fit_keywords["cov_kwds"] = cov_kwds
    cls = registry.model_class(registry.LOWER_CASE[args.model])
    model = cls._from_formula(args.formula, frame, {}, trusted=False, **given(args, "model", frame))
    return model.fit(**fit_keywords)


def run(args: argparse.Namespace) -> int:
    """Fit, print the summary on stdout and each warning as a line on stderr; return the exit status."""
    with warned():
        results = fit(args)
        text = predicted(results, args) if args.predict else None
        if text is None:
            text = "\n\n".join(summaries(results, args))
        if args.save:
            with writing(args.save):
                results.save(args.save)
        if args.report:
            with writing(args.report):
                results.report(args.report)
    print(text, flush=True)
    return 0 if results.converged else NO_ESTIMATE


@contextlib.contextmanager
def warned() -> Iterator[None]:
    """Print each warning as a line on stderr at the end, also where an error follows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        try:
            yield
        finally:
            for message in dict.fromkeys(one_line(w.message) for w in caught):
                print(f"glmclf: warning: {message}", file=sys.stderr)


def predicted(results: Any, args: argparse.Namespace) -> str | None:
    """Rows of NEW with their predictions as csv; None where they were written to a file."""
    table = for_spreadsheets(results.augment(read(args.predict, given(args, "csv"), "NEW", args.remote)))
    if not args.out:
        return table.to_csv(index=False).rstrip("\n")
    with writing(args.out):
        table.to_csv(args.out, index=False, sep=kind_written(args.out))
    return None


def summaries(results: Any, args: argparse.Namespace) -> list[str]:
    """The summary, and the margins where they are asked for, in the format that is asked for."""
    asked = ("exponentiate", "discriminant", "levels")
    summary = results.summary(**{name: True for name in asked if getattr(args, name)})
    if summary.extra_txt:
        summary.extra_txt = in_shell(summary.extra_txt)
    found = [summary, results.get_margeff().summary()] if args.margins else [summary]
    texts = [getattr(table, f"as_{args.format}")() for table in found]
    # LaTeX sets two hyphens as a dash
    return [re.sub(r"--(?=[a-z])", "-{}-", text) for text in texts] if args.format == "latex" else texts


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
