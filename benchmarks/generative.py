"""Times of LDA, QDA and NaiveBayes beside scikit-learn's on the same data, with the accuracy each reaches.

    python benchmarks/generative.py                 1,000,000 x 10 and 200,000 x 100, 5 classes, by row and by column
    python benchmarks/generative.py --scale 0.1     the same with a tenth of the rows
    python benchmarks/generative.py --write         fills docs/benchmarks.md, docs/numerics.md, results/generative.json

The programs take turns in one process, and the median of the turns counts. A fit of glmclf includes the standard errors
of the implied logit; scikit-learn has none. A prediction is the posterior of every row. Accuracy is the largest error
of a posterior among 500 rows: the true one is that of the program's own estimator (with its divisor, n or the degrees
of freedom, whichever is nearer), with moments summed and equations solved in extended precision. Memory is what numpy
and Python allocate beyond the data at the most (tracemalloc), in shares of X; of a prediction, less the probabilities
that it returns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import report
from numpy import ndarray

import glmclf

PROBLEMS = ((1_000_000, 10, 5), (200_000, 100, 5))
CHECKED = 500  # rows whose posterior is compared


class Program(NamedTuple):
    """A fit of (X, y), posteriors of X by it, and which covariance it estimates."""

    fit: Callable[[ndarray, ndarray], Any]
    predict: Callable[[Any, ndarray], ndarray]
    kind: str


# ----------------------------------------------------------------------------------------------------------- data
def arrays(n: int, p: int, K: int, seed: int = 0) -> tuple[ndarray, ndarray]:
    """Correlated normal features by row in memory, with means by class such that no class is certain."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, K, n)
    means = 1.5 * generator.normal(size=(K, p)) / np.sqrt(p)
    mix = np.linalg.qr(generator.normal(size=(p, p)))[0] * np.linspace(0.5, 2.0, p)
    X = generator.normal(size=(n, p)) @ mix
    X += means[y]
    return X, y


# ------------------------------------------------------------------------------------------------------- programs
def programs() -> dict[str, dict[str, Program]]:
    """Model -> name -> program; glmclf is the first of each."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB

    def theirs(model, kind: str) -> Program:
        return Program(lambda X, y: model.fit(X, y), lambda fitted, X: fitted.predict_proba(X), kind)

    return {
        "LDA": {
            "glmclf": ours(glmclf.LDA, "pooled"),
            "scikit-learn, svd": theirs(LinearDiscriminantAnalysis(), "pooled"),
            "scikit-learn, lsqr": theirs(LinearDiscriminantAnalysis(solver="lsqr"), "pooled"),
        },
        "QDA": {
            "glmclf": ours(glmclf.QDA, "full"),
            "scikit-learn": theirs(QuadraticDiscriminantAnalysis(), "full"),
        },
        "NaiveBayes": {
            "glmclf": ours(glmclf.NaiveBayes, "diag"),
            "scikit-learn": theirs(GaussianNB(var_smoothing=0.0), "diag"),
        },
    }


def ours(model, kind: str) -> Program:
    def fit(X: ndarray, y: ndarray):
        res = model(y, X).fit()
        _ = res.discriminant.bse
        return res

    return Program(fit, lambda res, X: res.predict(X), kind)


# ------------------------------------------------------------------------------------------------------- accuracy
def moments(X: ndarray, y: ndarray, K: int) -> tuple[ndarray, ndarray, ndarray]:
    """Counts, means (K, p) and scatters (K, p, p) in extended precision."""
    p = X.shape[1]
    n, means, S = np.bincount(y, minlength=K), np.empty((K, p), np.longdouble), np.zeros((K, p, p), np.longdouble)
    for k in range(K):
        rows = X[y == k]
        means[k] = rows.mean(axis=0, dtype=np.longdouble)
        for start in range(0, len(rows), 2_000):
            Z = np.ascontiguousarray((rows[start : start + 2_000] - means[k]).T)
            for j in range(p):
                S[k, j] += (Z * Z[j]).sum(axis=1)
    return n, means, S


def posteriors(X: ndarray, known: tuple[ndarray, ndarray, ndarray], kind: str, unbiased: bool) -> ndarray:
    """Posteriors of rows of X from moments in extended precision."""
    n, means, S = known
    scores = np.empty((len(X), len(n)), np.longdouble)
    for k in range(len(n)):
        if kind == "pooled":
            Sigma = S.sum(axis=0) / (n.sum() - (len(n) if unbiased else 0))
        else:
            Sigma = S[k] / (n[k] - unbiased)
        if kind == "diag":
            Sigma = np.diag(np.diag(Sigma))
        D = (X - means[k]).T
        inverse = np.linalg.inv(Sigma.astype(float))
        Z = inverse @ D
        for _ in range(3):  # refined until the residual, in extended precision, is nothing
            Z = Z + inverse @ (D - Sigma @ Z).astype(float)
        logdet = np.linalg.slogdet(Sigma.astype(float))[1]
        scores[:, k] = np.log(np.longdouble(n[k]) / n.sum()) - (logdet + (D * Z).sum(axis=0)) / 2
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# -------------------------------------------------------------------------------------------------------- measure
def measure(problem: str, X: ndarray, y: ndarray, known, runs: dict[str, Program], turns: int) -> dict:
    """One entry of the results."""
    taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in runs}
    rows = np.linspace(0, len(X) - 1, CHECKED).astype(int)
    entry: dict[str, Any] = {"problem": problem, "x_bytes": X.nbytes, "programs": {}}
    errors = {}
    right = {
        kind: [posteriors(X[rows], known, kind, unbiased) for unbiased in (False, True)]
        for kind in {run.kind for run in runs.values()}
    }
    for name, run in report.in_turns(runs, turns):
        seconds, fitted = report.seconds_of(lambda run=run: run.fit(X, y))
        taken[name][0].append(seconds)
        seconds, found = report.seconds_of(lambda run=run, fitted=fitted: run.predict(fitted, X))
        taken[name][1].append(seconds)
        errors[name] = min(np.abs(np.asarray(found)[rows] - p).max() for p in right[run.kind])
    for name, run in runs.items():
        entry["programs"][name] = {
            "fit_seconds": statistics.median(taken[name][0]),
            "predict_seconds": statistics.median(taken[name][1]),
            "all_seconds": taken[name],
            "posterior_error": float(errors[name]),
            **memory(run, X, y, len(known[0])),
        }
    first = entry["programs"]["glmclf"]
    for r in entry["programs"].values():
        r["fit_times_glmclf"] = r["fit_seconds"] / first["fit_seconds"]
        r["predict_times_glmclf"] = r["predict_seconds"] / first["predict_seconds"]
    return entry


def memory(run: Program, X: ndarray, y: ndarray, K: int) -> dict[str, float]:
    """What a fit and a prediction allocate, in shares of X."""
    fitting, fitted = report.peak_memory(lambda: run.fit(X, y))
    predicting = report.peak_memory(lambda: run.predict(fitted, X))[0] - 8 * len(X) * K
    return {"fit_memory_over_x": fitting / X.nbytes, "predict_memory_over_x": predicting / X.nbytes}


def run_all(scale: float, turns: int) -> list[dict]:
    entries = []
    for rows, p, K in PROBLEMS:
        n = max(int(rows * scale), 20 * p * K)
        by_row, y = arrays(n, p, K)
        known = moments(by_row, y, K)
        for layout in ("row", "column"):
            X = by_row if layout == "row" else np.asfortranarray(by_row)
            for model, runs in programs().items():
                entries.append(measure(f"{model}, {n:,} x {p} by {layout}", X, y, known, runs, turns))
                show(entries[-1])
    return entries


# --------------------------------------------------------------------------------------------------------- report
def show(entry: dict) -> None:
    print(f"\n{entry['problem']}, 5 classes  (X as doubles: {entry['x_bytes'] / 1e6:.0f} MB)")
    for name, r in entry["programs"].items():
        print(
            f"  {name:19s} fit {r['fit_seconds']:7.3f} s {r['fit_times_glmclf']:6.1f} x {r['fit_memory_over_x']:5.2f} X"
            f"   predict {r['predict_seconds']:6.3f} s {r['predict_times_glmclf']:5.1f} x "
            f"{r['predict_memory_over_x']:5.2f} X   posterior error {r['posterior_error']:.0e}",
            flush=True,
        )


def speed_table(entries: list[dict], about: dict) -> list[str]:
    of_each = ("times glmclf's", "memory, in X")
    lines = report.head("5 classes", "program", "fit, seconds", *of_each, "predict, seconds", *of_each)
    for problem, name, r in report.rows(entries):
        lines.append(
            f"| {problem} | {name} | {r['fit_seconds']:.2f} | {r['fit_times_glmclf']:.1f} | "
            f"{r['fit_memory_over_x']:.2f} | {r['predict_seconds']:.2f} | {r['predict_times_glmclf']:.1f} | "
            f"{r['predict_memory_over_x']:.2f} |"
        )
    note = "Fits of glmclf include the standard errors of the implied logit. "
    note += f"Medians on {report.processors(about)}; {report.used(about, 'scikit-learn')}."
    return [*lines, "", note, *report.busy(about)]


def accuracy_table(entries: list[dict]) -> list[str]:
    lines = [
        f"Largest error of a posterior probability among {CHECKED} rows, against the same estimator in extended "
        "precision.",
        "",
        *report.head("5 classes", "program", "error"),
    ]
    for problem, name, r in report.rows(entries):
        lines.append(f"| {problem} | {name} | {r['posterior_error']:.0e} |")
    return lines


def main() -> None:
    options = report.parser(__doc__, "the tables and results/generative.json", scale=1.0, turns=3).parse_args()
    load = report.start()
    entries, about = run_all(options.scale, options.turns), report.machine(load)
    report.show(about)
    if options.write:
        report.fill("generative", "generative.py", speed_table(entries, about))
        report.fill("generative", "generative.py", accuracy_table(entries), report.ROOT / "docs" / "numerics.md")
        report.save("generative", about, problems=entries)


if __name__ == "__main__":
    main()
