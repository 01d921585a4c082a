"""How the time of a fit grows with rows, columns, classes and levels of a factor: glmclf and its peers.

    python benchmarks/growth.py                      about fifteen minutes
    python benchmarks/growth.py --scale 0.1          the same with a tenth of the rows
    python benchmarks/growth.py --only levels        one of rows, columns, classes, levels
    python benchmarks/growth.py --write              draws docs/images/growth.svg, writes results/growth.json

Each time includes the standard errors, as in speed.py and multinomial.py, whose data and programs these are; those of a
point take turns, and the median counts. A program that has taken longer than `--limit` seconds at a point is spared
the larger ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import multinomial
import numpy as np
import pandas as pd
import report
import speed

import glmclf

FIGURE = report.ROOT / "docs" / "images" / "growth.svg"
ROWS = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
COLUMNS = (5, 10, 20, 50, 100, 200, 400)
CLASSES = (3, 5, 10, 20, 50)
LEVELS = (5, 20, 50, 200, 500, 2_000)
COLOURS = {"glmclf": "#0072B2", "statsmodels": "#D55E00", "scikit-learn": "#009E73", "glum": "#CC79A7"}

Point = tuple[int, dict[str, speed.Program]]


# ---------------------------------------------------------------------------------------------------------- points
def by_rows(scale: float) -> Iterator[Point]:
    for n in ROWS:
        yield int(n * scale), speed.array_programs(*speed.arrays(int(n * scale), 10))


def by_columns(scale: float) -> Iterator[Point]:
    for p in COLUMNS:
        yield p, speed.array_programs(*speed.arrays(int(50_000 * scale), p))


def by_classes(scale: float) -> Iterator[Point]:
    for K in CLASSES:
        yield K, multinomial.programs(*multinomial.arrays(int(20_000 * scale), 10, K))


def by_levels(scale: float) -> Iterator[Point]:
    for levels in LEVELS:
        yield levels, factor_programs(factor(int(200_000 * scale), levels))


def factor(n: int, levels: int, seed: int = 2) -> pd.DataFrame:
    """Two numbers and a string factor, each of whose levels has both outcomes."""
    generator = np.random.default_rng(seed)
    codes = np.arange(n) % levels
    frame = pd.DataFrame({name: generator.normal(size=n) for name in ("x1", "x2")})
    eta = 0.4 * frame.x1 - 0.3 * frame.x2 + (0.3 * generator.normal(size=levels))[codes]
    frame["g"] = np.array([f"g{i:04d}" for i in range(levels)], dtype=object)[codes]
    y = (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    y[:levels], y[levels : 2 * levels] = 0, 1
    return frame.assign(y=y)


def factor_programs(frame: pd.DataFrame) -> dict[str, speed.Program]:
    formula = "y ~ x1 + x2 + g"

    def ours():
        res = glmclf.Logit.from_formula(formula, frame).fit()
        return res.params.to_numpy(), res.bse.to_numpy()

    def statsmodels():
        from statsmodels.formula.api import logit

        res = logit(formula, frame).fit(disp=0)
        return res.params.to_numpy(), res.bse.to_numpy()

    return {"glmclf": ours, "statsmodels": statsmodels}


AXES: dict[str, tuple[Callable[[float], Iterator[Point]], str]] = {
    "rows": (by_rows, "rows (Logit, 10 columns)"),
    "columns": (by_columns, "columns (Logit, {n50} rows)"),
    "classes": (by_classes, "classes (MNLogit, {n20} x 10)"),
    "levels": (by_levels, "levels of a factor (Logit, formula, {n200} rows)"),
}


# --------------------------------------------------------------------------------------------------------- measure
def grow(points: Iterator[Point], turns: int, limit: float) -> dict[str, dict[str, list]]:
    """Program -> where it was measured and the medians of its seconds."""
    curves: dict[str, dict[str, list]] = {}
    slow: set[str] = set()
    for at, programs in points:
        programs = {name: run for name, run in programs.items() if name in COLOURS and name not in slow}
        if not curves:  # imports are not part of a time
            report.times(programs, 1)
        for name, seconds in report.times(programs, turns)[0].items():
            curve = curves.setdefault(name, {"at": [], "seconds": []})
            curve["at"].append(at)
            curve["seconds"].append(statistics.median(seconds))
            slow |= {name} if curve["seconds"][-1] > limit else set()
            print(f"  {at:>9,} {name:14s} {curve['seconds'][-1]:8.4f} s", flush=True)
    return curves


# ---------------------------------------------------------------------------------------------------------- report
def draw(axes: list[dict]) -> None:
    """One panel for each thing that grows, both scales logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot as plt

    fig, panels = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    for panel, axis in zip(panels.flat, axes, strict=False):
        for name, curve in axis["programs"].items():
            panel.loglog(curve["at"], curve["seconds"], "o-", ms=4, color=COLOURS[name], label=name)
        points = sorted({at for curve in axis["programs"].values() for at in curve["at"]})
        panel.set_xticks(points, [f"{at:,}" for at in points], rotation=30, ha="right")
        panel.minorticks_off()
        panel.set(xlabel=axis["label"], ylabel="seconds")
        panel.grid(alpha=0.3)
    handles = {label: h for panel in panels.flat for h, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    fig.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    parser = report.parser(__doc__, "docs/images/growth.svg and results/growth.json", scale=1.0, only="", turns=3)
    parser.add_argument("--limit", type=float, default=8.0, help="seconds after which a program goes no further")
    options = parser.parse_args()
    load = report.start()
    sizes = {f"n{k}": f"{int(1_000 * k * options.scale):,}" for k in (20, 50, 200)}
    axes = []
    for name, (points, label) in AXES.items():
        if options.only in name:
            print(f"\n{label.format(**sizes)}")
            found = grow(points(options.scale), options.turns, options.limit)
            axes.append({"axis": name, "label": label.format(**sizes), "programs": found})
    if options.write:
        report.save("growth", report.machine(load), axes=axes)
        draw(axes)


if __name__ == "__main__":
    main()
