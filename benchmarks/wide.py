"""Processor seconds of fits with many columns beside those of peers, with the accuracy each reaches.

    python benchmarks/wide.py                 every problem
    python benchmarks/wide.py --write         fills docs/benchmarks.md, results/wide.json

The programs take turns in one process, and the median of the turns counts: of the processor seconds, as of the seconds
by the clock beside them. Each problem is a function, which gives one entry of the table.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import report
from scipy import sparse
from scipy.special import softmax

import glmclf

Run = Callable[[], Any]


def measure(problem: str, programs: dict[str, Run], error: Callable[[Any], float], turns: int) -> dict[str, Any]:
    """One entry of the results; `error` says how far what came of a program is from the truth."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    found = {}
    for name, run in report.in_turns(programs, turns):
        gc.collect()
        start = time.process_time(), time.perf_counter()
        found[name] = run()
        taken[name].append((time.process_time() - start[0], time.perf_counter() - start[1]))
    entry: dict[str, Any] = {"problem": problem, "programs": {}}
    for name, run in programs.items():
        processor, clock = (statistics.median(some) for some in zip(*taken[name], strict=True))
        entry["programs"][name] = {
            "processor_seconds": processor,
            "seconds": clock,
            "memory": report.peak_memory(run)[0],
            "error": error(found[name]),
        }
    return entry


# -------------------------------------------------------------------------------------------------------- problems
def sparse_counts(turns: int) -> dict[str, Any]:
    """Multinomial naive Bayes of 10,000 texts of 50 words, of 50,000 that there are, in 4 classes."""
    from sklearn.naive_bayes import MultinomialNB

    generator = np.random.default_rng(0)
    n, p, K = 10_000, 50_000, 4
    X = sparse.random_array((n, p), density=0.001, format="csr", rng=generator)
    X.data = generator.poisson(0.5, X.nnz) + 1.0
    y, some = generator.integers(0, K, n), X[:500]
    cells = np.stack([X[y == k].sum(axis=0) for k in range(K)]).astype(np.longdouble) + 1
    scores = some @ np.log(cells / cells.sum(axis=1, keepdims=True)).T.astype(float) + np.log(np.bincount(y) / n)
    truth = softmax(scores, axis=1)

    def with_errors() -> Any:
        res = glmclf.NaiveBayes(y, X, multinomial="all", smoothing=1.0).fit()
        _ = res.discriminant.bse
        return lambda: np.asarray(res.predict(some))

    model = glmclf.NaiveBayes(y, X, multinomial="all", smoothing=1.0)
    programs: dict[str, Run] = {
        "glmclf, model, fit and standard errors": with_errors,
        "glmclf, fit": lambda: (lambda res: lambda: np.asarray(res.predict(some)))(model.fit()),
        "scikit-learn": lambda: (lambda fit: lambda: fit.predict_proba(some))(MultinomialNB(alpha=1.0).fit(X, y)),
    }
    words = f"multinomial naive Bayes, sparse {n:,} x {p:,}"
    return measure(words, programs, lambda predict: float(np.abs(predict() - truth).max()), turns)


def levels_of_factor(levels: int, rows: int = 20) -> Callable[[int], dict[str, Any]]:
    """Problem of a Logit with an intercept for each of many levels, and the standard error of each."""

    def problem(turns: int) -> dict[str, Any]:
        generator = np.random.default_rng(1)
        n = levels * rows
        ids = pd.Categorical.from_codes(np.repeat(np.arange(levels), rows), [f"f{i:06d}" for i in range(levels)])
        data = pd.DataFrame({"x": generator.normal(size=n), "z": generator.normal(size=n), "id": ids})
        eta = 0.5 * data.x - 0.3 * data.z + (0.7 * generator.normal(size=levels))[ids.codes]
        data["y"] = (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
        same = data.groupby("id", observed=True).y.transform("nunique") == 1  # no level is to be separated
        first = same & ~data.duplicated("id")
        data.loc[first, "y"] = 1 - data.loc[first, "y"]

        def ours() -> Any:
            res = glmclf.Logit.from_formula("y ~ x + z + id", data).fit()
            return res, res.bse

        def distance(found: Any) -> float:
            """To the maximum, in standard errors: the length of one more step of Newton's."""
            res, _ = found
            e = res.model._objective()(np.asarray(res.params))
            return float(np.sqrt(e.score @ e.factor.solve(e.score)))

        words = f"Logit, {levels:,} levels, {n:,} rows, with the standard error of each"
        return measure(words, {"glmclf": ours}, distance, turns)

    return problem


PROBLEMS = (sparse_counts, *map(levels_of_factor, (200, 500, 2_000, 30_000)))


# --------------------------------------------------------------------------------------------------------- report
def table(entries: list[dict], about: dict) -> list[str]:
    lines = report.head("problem", "program", "processor seconds", "seconds", "memory beyond the data, MB", "error")
    for problem, name, r in report.rows(entries):
        lines.append(
            f"| {problem} | {name} | {r['processor_seconds']:.3f} | {r['seconds']:.3f} | {r['memory'] / 1e6:.0f} | "
            f"{r['error']:.0e} |"
        )
    note = "The error is the largest of a posterior probability among 500 rows, whose cells are in extended precision; "
    note += "of a fit with levels it is the distance from the maximum, in standard errors. "
    note += f"Medians on {report.processors(about)}; {report.used(about, 'scikit-learn')}."
    return [*lines, "", note, *report.busy(about)]


def main() -> None:
    options = report.parser(__doc__, "the table and results/wide.json", turns=7).parse_args()
    load = report.start()
    entries = [problem(options.turns) for problem in PROBLEMS]
    about = report.machine(load)
    print("\n".join(table(entries, about)))
    if options.write:
        report.fill("wide", "wide.py", table(entries, about))
        report.save("wide", about, problems=entries)


if __name__ == "__main__":
    main()
