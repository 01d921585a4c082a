"""Fits to Parquet files that need not fit in memory: time, passes and peak memory, beside the same rows in memory.

    python benchmarks/large.py                  Logit, LDA and NaiveBayes, 2,000,000 and 20,000,000 rows of 10 columns
    python benchmarks/large.py --only Logit     the problems whose names contain the word
    python benchmarks/large.py --scale 0.1      the same with a tenth of the rows
    python benchmarks/large.py --write          writes docs/benchmarks.md and benchmarks/results/large.json as well

Files are written to a temporary folder (2 GB) and removed. Each program runs in a process of its own, whose largest
resident memory the system tells; with Dask, those of the workers are added. Seconds are of the model, its estimate and
standard errors; a frame in memory is read before, which is counted apart. A pass is one sum over all rows.
dask-ml, if it is installed, fits by Newton's method, without standard errors.
"""

from __future__ import annotations

import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import report

SIZES = (2_000_000, 20_000_000)
COLUMNS = 10  # the constant is one
TOGETHER = 2**17  # rows of a row group
MODELS = ("Logit", "LDA", "NaiveBayes")
NAMES = [f"x{j}" for j in range(1, COLUMNS)]
FORMULA = f"y ~ {' + '.join(NAMES)}"
PARTITION = 4  # row groups, for Dask
WORKERS = 2
PATIENCE = 50  # seconds that a program is waited for

Found = dict[str, Any]


# ----------------------------------------------------------------------------------------------------------- data
def table(n: int, seed: int) -> pd.DataFrame:
    """Normal columns and a response of which a logit is true."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, COLUMNS - 1))
    eta = X @ np.linspace(-0.5, 0.5, COLUMNS - 1) - 0.5
    return pd.DataFrame(X, columns=NAMES).assign(y=(random.random(n) < 1 / (1 + np.exp(-eta))).astype("int8"))


def write(path: str, n: int) -> Found:
    """A file of n rows, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups = [min(TOGETHER, n - start) for start in range(0, n, TOGETHER)]
    first = pa.Table.from_pandas(table(groups[0], 0), preserve_index=False)
    with pq.ParquetWriter(path, first.schema, use_dictionary=False) as file:
        for seed, rows in enumerate(groups):
            file.write_table(pa.Table.from_pandas(table(rows, seed), preserve_index=False))
    return {"bytes": pathlib.Path(path).stat().st_size}


# ------------------------------------------------------------------------------------------- programs, in a process
def timed(owner: type, name: str, passes: list[float], counts: Callable[[Any], bool]) -> None:
    """Take down the seconds of each call of a method that is a pass."""
    method = getattr(owner, name)

    def wrapper(self, *args, **kwargs):
        if not counts(self):
            return method(self, *args, **kwargs)
        start = time.perf_counter()
        found = method(self, *args, **kwargs)
        passes.append(time.perf_counter() - start)
        return found

    setattr(owner, name, wrapper)


def fitted(model: str, data: Any, passes: list[float]) -> Found:
    import glmclf

    start = time.perf_counter()
    res = getattr(glmclf, model).from_formula(FORMULA, data).fit()
    params, bse = (np.asarray(v, dtype=float).ravel().tolist() for v in (res.params, res.bse))
    return {"seconds": time.perf_counter() - start, "params": params, "bse": bse, "passes": passes}


def memory(model: str, path: str, n: int) -> Found:
    """The frame is read whole."""
    from glmclf.core.rows.blocks import Blocks

    passes: list[float] = []
    timed(Blocks, "sum", passes, lambda blocks: blocks.n == n)
    start = time.perf_counter()
    frame = pd.read_parquet(path)
    reading = time.perf_counter() - start
    return fitted(model, frame, passes) | {"reading": reading}


def parquet(model: str, path: str, n: int) -> Found:
    """The path is passed."""
    from glmclf.data.source.parquet import Parquet

    passes: list[float] = []
    for name in ("sum", "sum_of_rows"):
        timed(Parquet, name, passes, lambda source: True)
    return fitted(model, path, passes)


def decoding(model: str, path: str, n: int) -> Found:
    """The file is read to Arrow's memory, part by part, and thrown away."""
    from glmclf.data.source.parquet import Parquet

    start = time.perf_counter()
    for _ in Parquet(path)._dataset.to_batches(batch_size=TOGETHER, batch_readahead=2, fragment_readahead=1):
        pass
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "passes": [seconds]}


def with_workers(run: Callable[[], Found]) -> Found:
    """What is found with a client, the memory of its workers included."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found = run()
        workers = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        return found | {"workers": sum(workers.values())}


def dask(model: str, path: str, n: int) -> Found:
    """A Dask DataFrame of the file, and a local cluster; its columns are read anew in each pass over the file alone."""
    import dask.dataframe as dd

    from glmclf.data.source.dask import Dask

    passes: list[float] = []
    timed(Dask, "_total", passes, lambda source: True)
    return with_workers(lambda: fitted(model, dd.read_parquet(path, split_row_groups=PARTITION), passes))


def dask_ml(model: str, path: str, n: int) -> Found:
    """dask-ml's LogisticRegression of columns that the workers hold."""
    import dask.dataframe as dd
    from dask_ml.linear_model import LogisticRegression

    def run() -> Found:
        start = time.perf_counter()
        frame = dd.read_parquet(path, split_row_groups=PARTITION).persist()
        X, y = (frame[columns].to_dask_array(lengths=True) for columns in (NAMES, "y"))
        res = LogisticRegression(solver="newton", max_iter=50).fit(X, y)
        return {"seconds": time.perf_counter() - start, "params": [float(res.intercept_), *map(float, res.coef_)]}

    return with_workers(run)


PROGRAMS = {
    "in memory": memory,
    "Parquet": parquet,
    "decoding alone": decoding,
    "Dask, two workers": dask,
    "dask-ml, two workers": dask_ml,
}
FOR_LOGIT = ("decoding alone", "Dask, two workers", "dask-ml, two workers")


def one(program: str, model: str, path: str, n: int) -> Found:
    import glmclf

    getattr(glmclf, model)
    if program == "write":
        return write(path, n)
    before = peak()
    try:
        found = PROGRAMS[program](model, path, n)
    except ImportError as error:
        return {"missing": f"not installed ({error.name})"}
    return found | {"peak": peak() + found.pop("workers", 0), "before": before}


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def apart(*what: Any) -> Found:
    """`one` in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(what)]
    try:
        patience = None if what[0] == "write" else PATIENCE
        found = subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"missing": f"not finished after {PATIENCE} s"}
    if found.returncode:
        raise RuntimeError(found.stderr)
    return json.loads(found.stdout.splitlines()[-1])


# -------------------------------------------------------------------------------------------------------- measure
def measure(model: str, path: str, n: int) -> Found:
    """One entry of the results."""
    entry: Found = {"problem": f"{model}, {n:,} x {COLUMNS}", "rows": n, "programs": {}}
    for name in PROGRAMS:
        if name in FOR_LOGIT and model != "Logit":
            continue
        found = apart(name, model, path, n)
        entry["programs"][name] = found
        if "params" in found:
            whole = entry["programs"]["in memory"]
            gap = np.abs(np.subtract(found["params"], whole["params"])) / whole["bse"]
            found["off"] = float(np.nanmax(gap))
        print(entry["problem"], name, {k: v for k, v in found.items() if k not in ("params", "bse")}, flush=True)
    return entry


def run_all(scale: float, only: str) -> list[Found]:
    entries = []
    for n in (int(n * scale) for n in SIZES):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.parquet"
            size = apart("write", "Logit", path, n)["bytes"]
            found = [measure(model, path, n) for model in MODELS if only in f"{model}, {n:,} x {COLUMNS}"]
            entries += [entry | {"bytes": size} for entry in found]
    return sorted(entries, key=lambda entry: MODELS.index(entry["problem"].partition(",")[0]))


# --------------------------------------------------------------------------------------------------------- report
def cells(found: Found) -> str:
    if "missing" in found:
        return f"{found['missing']} | | | | "
    passes = found.get("passes", [])
    each = f"{statistics.median(passes):.3g}" if passes else ""
    off = f"{found['off']:.0e}" if "off" in found else ""
    return f"{found['seconds']:.3g} | {len(passes) or ''} | {each} | {found['peak'] / 1e6:.0f} | {off}"


def written(entries: list[Found], about: dict[str, Any]) -> list[str]:
    far = "distance from the fit in memory, in standard errors"
    lines = report.head("problem", "program", "seconds", "passes", "seconds a pass", "peak memory, MB", far)
    for problem, name, found in report.rows(entries):
        lines.append(f"| {problem} | {name} | {cells(found)} |")
    reading = [f"{e['programs']['in memory']['reading']:.2g}" for e in entries if e["problem"].startswith("Logit")]
    before = max(found.get("before", 0) for e in entries for found in e["programs"].values()) / 1e6
    files = sorted({f"{entry['bytes'] / 1e9:.2g}" for entry in entries}, key=float)
    note = f"Files of {' and '.join(files)} GB; Python and its packages take {before:.0f} MB of each peak, with Dask "
    note += f"three times; reading the frame, {' and '.join(reading)} s, is not in the seconds in memory; "
    note += f"{report.processors(about)}; {report.used(about, 'pandas', 'pyarrow', 'dask')}"
    return [*lines, "", f"{note}{', dask-ml ' + about['dask-ml'] if about['dask-ml'] else ''}.", *report.busy(about)]


def machine(load: report.Load) -> dict[str, Any]:
    """With the versions of what reads files."""
    import importlib.metadata

    about = report.machine(load)
    for name in ("pyarrow", "dask", "dask-ml"):
        try:
            about[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            about[name] = ""
    return about


def main() -> None:
    parser = report.parser(__doc__, "docs/benchmarks.md and results/large.json", scale=1.0, only="")
    parser.add_argument("--one", help="run one program (for the script itself)")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(*json.loads(options.one))))
        return
    load = report.start()
    entries, about = run_all(options.scale, options.only), machine(load)
    if options.write:
        report.fill("large", "large.py", written(entries, about))
        for entry in entries:
            for found in entry["programs"].values():
                found.pop("params", None), found.pop("bse", None)
        report.save("large", about, problems=entries)
    else:
        print("\n".join(written(entries, about)))


if __name__ == "__main__":
    main()
