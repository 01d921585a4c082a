"""Working memory of fits and predictions: what is allocated beyond the data, at the most, in shares of X.

    python benchmarks/memory.py                  all models and kinds of data, three sizes each
    python benchmarks/memory.py --only MNLogit   the problems whose names contain the word
    python benchmarks/memory.py --scale 0.1      the same with a tenth of the rows
    python benchmarks/memory.py --write          writes docs/benchmarks.md and benchmarks/results/memory.json as well

Counted by tracemalloc, which numpy tells of its arrays, from when the data are there to the end: the model is made,
fitted, its standard errors and summary are asked for; then, apart, the rows of the fit are predicted, and other rows.
X counts 8 (float32: 4) bytes for each row and column of the design, with factors and sparse data as if they were
expanded. Where memory is a constant number of blocks the share falls as n grows; the last column is the slope, in
shares of X, from the second size to the third: what each further row adds. A prediction's own values are part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import report
import speed

import glmclf

SIZES = (100_000, 300_000, 1_000_000)
BINARY, SEVERAL = ("Logit", "Probit", "CLogLog"), ("MNLogit", "LDA", "QDA", "NaiveBayes")
STEPS = ("fit", "predict", "predict other rows")

Data = tuple[Callable[[], Any], Any, int]  # makes the model; other rows to predict; bytes of X


# ----------------------------------------------------------------------------------------------------------- data
def response(y: np.ndarray, model: str) -> np.ndarray:
    """0 and 1, or five classes."""
    if model in BINARY:
        return y
    return (2 * y).astype(int) + np.random.default_rng(2).integers(0, 3, len(y))


def of_arrays(model: str, n: int, kind: str) -> Data:
    """Ten columns, by column or by row."""
    X, y = speed.arrays(n, 10)
    X = np.asarray(X, dtype="float32" if "float32" in kind else "float64", order="C" if "by row" in kind else "F")
    y = response(y, model)
    return (lambda: getattr(glmclf, model)(y, X)), X, X.nbytes


def of_formula(model: str, n: int, kind: str) -> Data:
    """Three numbers and factors of 5, 20 and 50 levels; or the factors alone."""
    frame = speed.table(n)
    frame["y"] = response(frame.y.to_numpy(), model)
    formula = speed.FORMULA if kind == "formula" else "y ~ a + b + c"
    width = 73 + (3 if kind == "formula" else 0)
    return (lambda: getattr(glmclf, model).from_formula(formula, frame)), frame, 8 * n * width


def of_sparse(model: str, n: int, kind: str) -> Data:
    """A constant and 99 columns, of which one entry in a hundred is not 0."""
    from scipy import sparse

    n //= 5
    random = sparse.random_array((n, 99), density=0.01, rng=np.random.default_rng(0), format="csr")
    X = sparse.csr_array(sparse.hstack([np.ones((n, 1)), random]))
    eta = X @ np.r_[-0.5, np.random.default_rng(1).normal(size=99)]
    y = response((np.random.default_rng(2).random(n) < 1 / (1 + np.exp(-eta))).astype(float), model)
    return (lambda: getattr(glmclf, model)(y, X)), X, 8 * n * 100


def problems() -> dict[str, Callable[[int], Data]]:
    """Name -> data of n rows."""
    found: dict[str, Callable[[int], Data]] = {}
    for model in (*BINARY, *SEVERAL):
        kinds: dict[str, Callable[[str, int, str], Data]] = dict.fromkeys(
            ["float64 by column", "float64 by row", "float32 by column", "float32 by row"], of_arrays
        )
        kinds["formula"] = of_formula
        if model in (*BINARY, "MNLogit"):
            kinds |= {"factors alone": of_formula, "sparse": of_sparse}
        for kind, make in kinds.items():
            found[f"{model}, {kind}"] = lambda n, model=model, kind=kind, make=make: make(model, n, kind)
    return found


# -------------------------------------------------------------------------------------------------------- measure
def fitted(make: Callable[[], Any]) -> Any:
    """The result, with what a user looks at first."""
    res = make().fit()
    _ = res.bse
    res.summary().as_text()
    return res


def measure(problem: str, data: Callable[[int], Data], sizes: tuple[int, ...]) -> dict:
    """One entry of the results: for each size and step the peak, in bytes and in shares of X."""
    entry: dict[str, Any] = {"problem": problem, "sizes": []}
    for n in sizes:
        make, rows, x_bytes = data(n)
        used, res = report.peak_memory(lambda make=make: fitted(make))
        step = {"fit": used}
        step["predict"] = report.peak_memory(lambda res=res: res.predict())[0]
        step["predict other rows"] = report.peak_memory(lambda res=res, rows=rows: res.predict(rows))[0]
        shares = {name: value / x_bytes for name, value in step.items()}
        entry["sizes"].append({"rows": n, "x_bytes": x_bytes, "bytes": step, "over_x": shares})
    few, many = entry["sizes"][-2:]
    entry["slope"] = {
        name: (many["bytes"][name] - few["bytes"][name]) / (many["x_bytes"] - few["x_bytes"]) for name in STEPS
    }
    return entry


def run_all(scale: float, only: str) -> list[dict]:
    sizes = tuple(max(1000, int(n * scale)) for n in SIZES)
    warm_up()
    entries = []
    for name, data in problems().items():
        if only in name:
            entries.append(measure(name, data, sizes))
            show(entries[-1])
    return entries


def warm_up() -> None:
    """Import what a first fit imports, which is no working memory."""
    for model in (*BINARY, *SEVERAL):
        make, rows, _ = of_formula(model, 2000, "formula")
        fitted(make).predict(rows)


# --------------------------------------------------------------------------------------------------------- report
def show(entry: dict) -> None:
    print(f"\n{entry['problem']}")
    for name in STEPS:
        shares = "  ".join(f"{size['over_x'][name]:6.3f} X" for size in entry["sizes"])
        megabytes = entry["sizes"][-1]["bytes"][name] / 1e6
        print(f"  {name:20s} {shares}   {megabytes:8.1f} MB   slope {entry['slope'][name]:6.3f} X", flush=True)


def written(entries: list[dict], about: dict) -> list[str]:
    sizes = [f"{size['rows']:,} rows" for size in entries[0]["sizes"]]
    lines = report.head("problem", "step", *sizes, "each further row")
    for entry in entries:
        for i, name in enumerate(STEPS):
            shares = " | ".join(f"{size['over_x'][name]:.3f}" for size in entry["sizes"])
            first = entry["problem"] if i == 0 else ""
            lines.append(f"| {first} | {name} | {shares} | {entry['slope'][name]:.3f} |")
    note = 'In shares of X as it is given; "fit" is the model, its estimate, standard errors and summary; '
    note += f"{about['processors']} processors; {report.used(about)}; sparse: a fifth of the rows."
    return [*lines, "", note]


def main() -> None:
    options = report.parser(__doc__, "docs/benchmarks.md and results/memory.json", scale=1.0, only="").parse_args()
    load = report.start(clock=False)
    entries, about = run_all(options.scale, options.only), report.machine(load)
    if options.write:
        report.fill("memory", "memory.py", written(entries, about))
        report.save("memory", about, problems=entries)


if __name__ == "__main__":
    main()
