"""What starting takes, and small fits: `import`, the first fit of a process, and fits to tens or hundreds of rows.

    python benchmarks/small.py              a look, in a minute
    python benchmarks/small.py --write      writes docs/benchmarks.md and benchmarks/results/small.json as well

Imports and first fits are timed in fresh processes that take turns, with the bytecode of all packages compiled before.
Small fits run in one process, in turns, to the shipped data sets. Times are of the processor, not of the clock, with
one BLAS thread; medians count.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import report
from threadpoolctl import threadpool_limits

import glmclf
from glmclf import datasets

SPECTOR, PENGUINS = "GRADE ~ GPA + TUCE + PSI", "species ~ bill_length_mm + body_mass_g"

# run in a process of its own; {what} is the statement that is timed
FRESH = """
import sys, time
start = time.process_time()
{what}
print(time.process_time() - start, len(sys.modules))
"""
FIRST = """
import {module}
import pandas
table = pandas.DataFrame({{"y": [0, 1, 1, 0, 1, 0, 1, 1], "x": [1.0, 2, 3, 1, 4, 2, 2, 5]}})
{module}.{logit}("y ~ x", table).fit({options}).summary().as_text()
"""


# ------------------------------------------------------------------------------------------------ fresh processes
def starts() -> dict[str, dict[str, str]]:
    """Problem -> program -> statement."""
    first = {
        "glmclf": FIRST.format(module="glmclf", logit="Logit.from_formula", options=""),
        "statsmodels": FIRST.format(module="statsmodels.formula.api", logit="logit", options="disp=0"),
    }
    errors = {name: statement.replace("summary().as_text()", "bse") for name, statement in first.items()}
    imports = {"glmclf": "from glmclf import Logit", "statsmodels": "import statsmodels.formula.api"}
    return {
        "import of a model": imports,
        "import, first fit of a formula, bse": errors,
        "import, first fit of a formula, summary": first,
    }


def fresh(statement: str, cache: str) -> tuple[float, int]:
    """Seconds of a statement in a new process, and how many modules it leaves loaded."""
    one = dict.fromkeys(["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"], "1")
    environment = {**os.environ, **one, "PYTHONPATH": str(report.ROOT), "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", FRESH.format(what=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, modules = done.stdout.split()
    return float(seconds), int(modules)


def measure_start(problem: str, programs: dict[str, str], cache: str, turns: int) -> dict:
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    modules = {name: fresh(statement, cache)[1] for name, statement in programs.items()}  # compiles, too
    for name, statement in report.in_turns(programs, turns):
        seconds[name].append(fresh(statement, cache)[0])
    return entry(problem, seconds, modules)


# ----------------------------------------------------------------------------------------------------- small fits
def fits() -> dict[str, dict[str, Callable]]:
    """Problem -> program -> a function that fits."""
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    spector, penguins = datasets.load("spector"), datasets.load("penguins").dropna()
    coded = penguins.assign(species=penguins.species.astype("category").cat.codes)  # statsmodels takes no labels
    y, X = spector.GRADE.to_numpy(float), np.column_stack([np.ones(32), spector[["GPA", "TUCE", "PSI"]]])
    species, bills = coded.species.to_numpy(), penguins[["bill_length_mm", "bill_depth_mm"]].to_numpy()
    return {
        "Logit, formula, 32 rows, summary": {
            "glmclf": lambda: glmclf.Logit.from_formula(SPECTOR, spector).fit().summary().as_text(),
            "statsmodels": lambda: smf.logit(SPECTOR, spector).fit(disp=0).summary().as_text(),
        },
        "Logit, formula, 32 rows, bse": {
            "glmclf": lambda: glmclf.Logit.from_formula(SPECTOR, spector).fit().bse,
            "statsmodels": lambda: smf.logit(SPECTOR, spector).fit(disp=0).bse,
        },
        "Logit, arrays, 32 rows, bse": {
            "glmclf": lambda: glmclf.Logit(y, X).fit().bse,
            "statsmodels": lambda: sm.Logit(y, X).fit(disp=0).bse,
        },
        "MNLogit, formula, 333 rows, summary": {
            "glmclf": lambda: glmclf.MNLogit.from_formula(PENGUINS, penguins).fit().summary().as_text(),
            "statsmodels": lambda: smf.mnlogit(PENGUINS, coded).fit(disp=0, maxiter=100).summary().as_text(),
        },
        "LDA, arrays, 333 rows": {
            "glmclf": lambda: glmclf.LDA(species, bills).fit(),
            "scikit-learn": lambda: LinearDiscriminantAnalysis().fit(bills, species),
        },
    }


def measure_fits(problem: str, programs: dict[str, Callable], turns: int) -> dict:
    for fit in programs.values():
        fit()
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for name, fit in report.in_turns(programs, turns):
        start = time.process_time()
        for _ in range(10):
            fit()
        seconds[name].append((time.process_time() - start) / 10)
    return entry(problem, seconds)


# --------------------------------------------------------------------------------------------------------- report
def entry(problem: str, seconds: dict[str, list[float]], modules: dict[str, int] | None = None) -> dict:
    ours = statistics.median(seconds["glmclf"])
    programs = {}
    for name, all_seconds in seconds.items():
        median = statistics.median(all_seconds)
        programs[name] = {"seconds": median, "times_glmclf": median / ours, "all_seconds": all_seconds}
        if modules is not None:
            programs[name]["modules"] = modules[name]
        print(f"{problem:45s} {name:14s} {1e3 * median:9.2f} ms {median / ours:6.2f} x", flush=True)
    return {"problem": problem, "programs": programs}


def written(entries: list[dict], about: dict) -> list[str]:
    lines = report.head("problem", "program", "milliseconds", "times glmclf's", "modules")
    for problem, name, r in report.rows(entries):
        milliseconds, modules = f"{1e3 * r['seconds']:.1f}", r.get("modules", "")
        lines.append(f"| {problem} | {name} | {milliseconds} | {r['times_glmclf']:.1f} | {modules} |")
    used = report.used(about, "pandas", "statsmodels", "scikit-learn")
    return [*lines, "", f"Medians of processor time with one BLAS thread ({about['processor']}); {used}."]


def main() -> None:
    options = report.parser(__doc__, "docs/benchmarks.md and results/small.json", turns=9).parse_args()
    load = report.start(clock=False)
    with tempfile.TemporaryDirectory() as cache:
        entries = [measure_start(problem, programs, cache, options.turns) for problem, programs in starts().items()]
    with threadpool_limits(1):
        entries += [measure_fits(problem, programs, options.turns) for problem, programs in fits().items()]
    if options.write:
        about = report.machine(load)
        report.fill("small", "small.py", written(entries, about))
        report.save("small", about, problems=entries)


if __name__ == "__main__":
    main()
