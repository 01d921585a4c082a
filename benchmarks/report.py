"""What the timed scripts share: their options, turns, memory, the machine, and where tables and results go.

Importing it puts the checkout first on the path, so that `import glmclf` after it is that of the checkout.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pathlib
import platform
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PAGE, RESULTS = ROOT / "docs" / "benchmarks.md", ROOT / "benchmarks" / "results"
BUSY = 0.5  # load before the start from which the times deserve a warning
IDLE = 0.3  # seconds before each run: BLAS threads of the program before turn for a while with nothing to do
HELP = {
    "scale": "share of the rows",
    "only": "what has this in its name",
    "turns": "turns of each program; the median counts",
}

T = TypeVar("T")
Load = tuple[float, float, float]


# ---------------------------------------------------------------------------------------------------------- start
def parser(about: str, writes: str, **defaults: float | str) -> argparse.ArgumentParser:
    """--write and those options of HELP that have a default here."""
    found = argparse.ArgumentParser(description=about.split("\n")[0])
    for name, value in defaults.items():
        found.add_argument(f"--{name}", type=type(value), default=value, help=HELP[name])
    found.add_argument("--write", action="store_true", help=f"write {writes}")
    return found


def start(clock: bool = True) -> Load:
    """The load before the start, with a word on it where the clock is what counts; warnings are ignored from here."""
    load = os.getloadavg()
    if clock and load[0] > BUSY:
        print(f"The machine is busy (load {load[0]:.1f}): read the ratios only.")
    warnings.simplefilter("ignore")
    return load


# -------------------------------------------------------------------------------------------------------- measure
def in_turns(programs: dict[str, T], turns: int) -> Iterator[tuple[str, T]]:
    """Names and programs, all of them once a turn."""
    for _ in range(turns):
        yield from programs.items()


def seconds_of(run: Callable[[], T]) -> tuple[float, T]:
    """By the clock, and what came of it."""
    gc.collect()
    time.sleep(IDLE)
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def times(programs: dict[str, Callable[[], T]], turns: int) -> tuple[dict[str, list[float]], dict[str, T]]:
    """Seconds of each program, taking turns, and what came of each the last time."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    found = {}
    for name, run in in_turns(programs, turns):
        taken, found[name] = seconds_of(run)
        seconds[name].append(taken)
    return seconds, found


def peak_memory(run: Callable[[], T]) -> tuple[int, T]:
    """Bytes allocated beyond what was there, at the most, and what came of it."""
    gc.collect()
    tracemalloc.start()
    try:
        found = run()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


# -------------------------------------------------------------------------------------------------------- machine
def machine(load: Load) -> dict[str, Any]:
    """What the times depend on."""
    import scipy
    import sklearn
    import statsmodels
    from threadpoolctl import threadpool_info

    cpus = [line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": cpus[0] if cpus else platform.processor(),
        "processors": processors,
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "pandas": pd.__version__,
        "statsmodels": statsmodels.__version__,
        "scikit-learn": sklearn.__version__,
        "blas": sorted({f"{p['internal_api']} {p['version']}, {p['num_threads']} threads" for p in pools}),
        "load_before": list(load),
        "busy": load[0] > BUSY,
    }


def _lines(path: str) -> list[str]:
    try:
        return pathlib.Path(path).read_text().splitlines()
    except OSError:
        return []


def show(about: dict[str, Any]) -> None:
    print("\n" + "\n".join(f"{k}: {v}" for k, v in about.items()))


def used(about: dict[str, Any], *names: str) -> str:
    """Versions in a sentence."""
    return ", ".join(f"{name} {about[name]}" for name in ("python", "numpy", "scipy", *names))


def processors(about: dict[str, Any]) -> str:
    return f"{about['processors']} processors ({about['processor']})"


# ---------------------------------------------------------------------------------------------------------- table
def head(*columns: str) -> list[str]:
    """The first two lines of a table: two columns of words, the others of numbers."""
    return [f"| {' | '.join(columns)} |", "|---|---|" + "---:|" * (len(columns) - 2)]


def rows(entries: list[dict]) -> Iterator[tuple[str, str, dict]]:
    """Problem (at its first program only), program and what was found of it."""
    for entry in entries:
        for i, (name, found) in enumerate(entry["programs"].items()):
            yield entry["problem"] if i == 0 else "", name, found


def busy(about: dict[str, Any]) -> list[str]:
    """The lines under a table of times by the clock."""
    if not about["busy"]:
        return []
    return ["", f"The machine was busy (load {about['load_before'][0]:.1f} before the start): read the ratios only."]


# ---------------------------------------------------------------------------------------------------------- write
def fill(name: str, script: str, lines: list[str], page: pathlib.Path = PAGE) -> None:
    """Write lines between the markers of a table, which are put at the end of a page without them."""
    begin, end = f"<!-- {name} table: begin (written by benchmarks/{script}) -->", f"<!-- {name} table: end -->"
    text = page.read_text(encoding="utf-8")
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}{end}\n"
    before, rest = text.split(begin)
    table = "\n".join(lines)
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")


def save(name: str, about: dict[str, Any], **found: list[dict]) -> None:
    """Write benchmarks/results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": about, **found}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
