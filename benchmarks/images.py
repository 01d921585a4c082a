"""A ridge of MNLogit on images: 60,000 x 717, ten classes, 6,453 coefficients against a base. glmclf and scikit-learn.

    python benchmarks/images.py                  minutes
    python benchmarks/images.py --scale 0.1      a tenth of the rows
    python benchmarks/images.py --write          writes docs/benchmarks.md and benchmarks/results/images.json as well

The images are made up: ten figures of strokes, 28 x 28 pixels of whole numbers from 0 to 255, each bent, turned and
shifted at random; one in twenty bears another's label. Both programs maximise the same penalised likelihood, with a
coefficient vector for each class. Accuracy is the largest violation of the conditions for a maximum, in shares of what
it is without slopes, computed by numpy. Standard errors are a line of their own: scikit-learn has none, and glmclf
forms the information for them when they are asked for. Memory is what numpy and Python allocate beyond the data
(tracemalloc).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import report

import glmclf

ROWS, COLUMNS, CLASSES = 60_000, 717, 10
ALPHAS = (1e-2, 1e-3, 1e-4)
ERRORS = "glmclf, with standard errors"


# ----------------------------------------------------------------------------------------------------------- data
def images(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The constant and the pixels that are most often not 0, by column in memory, and a class a row."""
    generator = np.random.default_rng(seed)
    figures = [_figure(generator) for _ in range(CLASSES)]
    y = generator.integers(0, CLASSES, n)
    pixels = np.zeros((n, 28 * 28), dtype=np.uint8)
    for start in range(0, n, 2000):
        for c, figure in enumerate(figures):
            rows = start + np.flatnonzero(y[start : start + 2000] == c)
            pixels[rows] = _drawn(figure, len(rows), generator)
    y = np.where(generator.random(n) < 0.05, generator.integers(0, CLASSES, n), y)
    often = np.sort(np.argsort(-(pixels > 0).sum(axis=0), kind="stable")[: COLUMNS - 1])
    X = np.ones((n, COLUMNS), order="F")
    X[:, 1:] = pixels[:, often] / 255.0
    return X, y


def _figure(generator) -> np.ndarray:
    """Corners of a line, around 0, within 7 of it."""
    corners = np.cumsum(generator.normal(size=(generator.integers(5, 9), 2)), axis=0)
    corners -= corners.mean(axis=0)
    return corners * (7.0 / np.abs(corners).max())


def _drawn(figure: np.ndarray, m: int, generator) -> np.ndarray:
    """m drawings of a line by a soft pen, (m, 784) from 0 to 255."""
    corners = figure + generator.normal(size=(m, *figure.shape)) * 1.8
    turn, size, lean = (s * generator.normal(size=m) for s in (0.25, 0.15, 0.3))
    A = np.array([[np.cos(turn), lean - np.sin(turn)], [np.sin(turn), np.cos(turn)]]) * (1.0 + size)
    corners = np.einsum("abm,mcb->mca", A, corners) + 13.5 + generator.normal(size=(m, 1, 2)) * 1.2
    place = np.linspace(0.0, len(figure) - 1 - 1e-9, 40)
    before, share = place.astype(int), (place % 1.0)[:, None]
    line = corners[:, before] * (1.0 - share) + corners[:, before + 1] * share
    grid, ink = np.arange(28), np.zeros((m, 28, 28))
    for point in np.moveaxis(line, 1, 0):
        up, along = (np.exp(-((grid - point[:, [axis]]) ** 2) / 1.62) for axis in (0, 1))
        np.maximum(ink, up[:, :, None] * along[:, None, :], out=ink)
    strength = 320.0 * (1.0 + 0.1 * generator.normal(size=(m, 1, 1)))
    return np.clip(strength * ink - 25.0, 0.0, 255.0).reshape(m, -1).astype(np.uint8)


# ------------------------------------------------------------------------------------------------------- programs
def programs(X: np.ndarray, y: np.ndarray, alpha: float) -> dict[str, Callable[[], np.ndarray]]:
    """Name -> a function that fits and returns the coefficients, (classes, columns)."""
    row_major = np.ascontiguousarray(X[:, 1:])

    def ours(errors=False):
        res = glmclf.MNLogit(y, X).fit_regularized(alpha, symmetric=True)
        return (res.bse if errors else res.params).to_numpy().T

    def sklearn(solver):
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=1.0 / (alpha * len(y)), solver=solver, tol=1e-8, max_iter=3000).fit(row_major, y)
        return np.column_stack([model.intercept_, model.coef_])

    return {
        "glmclf": ours,
        ERRORS: lambda: ours(errors=True),
        "scikit-learn, newton-cg": lambda: sklearn("newton-cg"),
        "scikit-learn, lbfgs": lambda: sklearn("lbfgs"),
    }


def violation(X: np.ndarray, y: np.ndarray, alpha: float, B: np.ndarray) -> float:
    """Largest entry of the penalised score at B in shares of that without slopes."""

    def largest(B):
        eta = B @ X.T
        p = np.exp(eta - eta.max(axis=0))
        u = (y == np.arange(CLASSES)[:, None]) - p / p.sum(axis=0)
        score = u @ X / len(y) - alpha * B * (np.arange(COLUMNS) > 0)
        return np.abs(score).max()

    null = np.zeros_like(B)
    null[:, 0] = np.log(np.bincount(y, minlength=CLASSES))
    return float(largest(B) / largest(null))


# ---------------------------------------------------------------------------------------------------------- report
def measure(X: np.ndarray, y: np.ndarray, alpha: float) -> dict:
    entry = {"problem": f"{len(y):,} x {COLUMNS}, {CLASSES} classes, alpha = {alpha:g}", "programs": {}}
    for name, run in programs(X, y, alpha).items():
        seconds, B = report.seconds_of(run)
        entry["programs"][name] = {
            "seconds": seconds,
            "memory_bytes": report.peak_memory(run)[0],
            "violation": None if name == ERRORS else violation(X, y, alpha, B),
        }
    for r in entry["programs"].values():
        r["times_glmclf"] = r["seconds"] / entry["programs"]["glmclf"]["seconds"]
    return entry


def show(entry: dict) -> None:
    print(f"\n{entry['problem']}")
    for name, r in entry["programs"].items():
        print(
            f"  {name:28s} {r['seconds']:8.1f} s  {r['times_glmclf']:6.2f} x  {r['memory_bytes'] / 1e6:7.0f} MB  "
            f"violation {shown(r['violation'])}",
            flush=True,
        )


def shown(violation: float | None) -> str:
    return "" if violation is None else f"{violation:.0e}"


def written(entries: list[dict], about: dict) -> list[str]:
    lines = report.head(
        "ridge of MNLogit",
        "program",
        "seconds",
        "times glmclf's",
        "memory beyond the data, MB",
        "violation of the conditions for a maximum",
    )
    for problem, name, r in report.rows(entries):
        lines.append(
            f"| {problem} | {name} | {r['seconds']:.0f} | {r['times_glmclf']:.1f} | {r['memory_bytes'] / 1e6:.0f} | "
            f"{shown(r['violation'])} |"
        )
    note = f"Once each, on {report.processors(about)}; {report.used(about, 'scikit-learn')}."
    return [*lines, "", note, *report.busy(about)]


def main() -> None:
    options = report.parser(__doc__, "the table and results/images.json", scale=1.0).parse_args()
    load = report.start()
    X, y = images(max(int(ROWS * options.scale), 1000))
    entries = []
    for alpha in ALPHAS:
        entries.append(measure(X, y, alpha))
        show(entries[-1])
    about = report.machine(load)
    report.show(about)
    if options.write:
        report.fill("image", "images.py", written(entries, about))
        report.save("images", about, problems=entries)


if __name__ == "__main__":
    main()
