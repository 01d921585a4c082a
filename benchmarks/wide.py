"""Processor seconds of fits with many columns beside those of peers, with the accuracy each reaches.

    python benchmarks/wide.py                 every problem
    python benchmarks/wide.py --write         fills docs/benchmarks.md, results/wide.json

The programs take turns in one process, and the median of the turns counts: of the processor seconds, as of the seconds
by the clock beside them. Each problem is a function, which gives one entry of the table. R, where `Rscript` with glmnet
is on the path, runs once, in a process of its own.
"""

from __future__ import annotations

import gc
import pathlib
import shutil
import statistics
import subprocess
import tempfile
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

GLMNET = """
suppressMessages(library(glmnet))
read <- function(name, n) readBin(file.path("{folder}", name), "double", n)
fold <- read("fold", {n})
options <- list(
  x = matrix(read("X", {n} * {k}), {n}, {k}), y = read("y", {n}), family = "binomial", lambda = read("alphas", {m}),
  standardize = FALSE, thresh = {thresh}, maxit = 1e7
)
taken <- system.time(
  fit <- if (length(fold)) do.call(cv.glmnet, c(options, list(foldid = fold)))$glmnet.fit else do.call(glmnet, options)
)
found <- c(taken[["user.self"]] + taken[["sys.self"]], taken[["elapsed"]], as.vector(t(as.matrix(coef(fit)))))
writeBin(found, file.path("{folder}", "out"))
"""


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


def glmnet(
    X: np.ndarray, y: np.ndarray, alphas: np.ndarray, error: Callable[[np.ndarray], float], fold: Any = ()
) -> dict[str, Any]:
    """Entries of R's glmnet, or of cv.glmnet where each row has a fold from 1 on, at its own tolerance and a tight one;
    none without R. The first column of X is the intercept; `error` is given coefficients by alpha, a column each."""
    found: dict[str, Any] = {}
    for thresh in ("1e-7", "1e-12") if shutil.which("Rscript") else ():
        with tempfile.TemporaryDirectory() as folder:
            here, (n, k) = pathlib.Path(folder), X[:, 1:].shape
            for name, values in {"X": X[:, 1:].ravel(order="F"), "y": y, "alphas": alphas, "fold": fold}.items():
                np.asarray(values, dtype=float).tofile(here / name)
            script = GLMNET.format(folder=folder, n=n, k=k, m=len(alphas), thresh=thresh)
            (here / "fit.R").write_text(script, encoding="utf-8")
            if subprocess.run(["Rscript", str(here / "fit.R")], capture_output=True).returncode:
                return found
            processor, clock, *b = np.fromfile(here / "out")
        off = error(np.reshape(b, (k + 1, len(alphas))))
        times = {"processor_seconds": processor, "seconds": clock, "memory": None, "error": off}
        found[f"{'cv.glmnet' if len(fold) else 'glmnet'} (R), thresh={thresh}"] = times
    return found


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


def _lasso_data(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Response and columns, the first of ones, of which 40 others matter."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(n, k))
    y = generator.random(n) < 1 / (1 + np.exp(0.3 - X[:, :40] @ generator.normal(scale=0.3, size=40)))
    return y.astype(float), np.asfortranarray(np.column_stack([np.ones(n), X]))


def one_lasso(turns: int) -> dict[str, Any]:
    """One lasso of a logit of 50,000 rows and 200 columns, with 38 nonzero slopes."""
    y, X = _lasso_data(50_000, 200)
    model = glmclf.Logit(y, X)
    run = {"glmclf": lambda: model.fit_regularized(0.005, L1_wt=1.0).params.to_numpy()}
    return measure("one lasso, 50,000 x 200", run, lambda b: _violation(X, y, b, 0.005, 1.0), turns)


def lasso_path(turns: int) -> dict[str, Any]:
    """Fifty lassos of a logit of 50,000 rows and 200 columns, from 11 nonzero coefficients to all."""
    (y, X), alphas = _lasso_data(50_000, 200), 0.05 * 0.001 ** (np.arange(50) / 49)
    model = glmclf.Logit(y, X)

    def violation(B: np.ndarray) -> float:
        return max(_violation(X, y, B[:, i], alphas[i], 1.0) for i in (10, 30, 49))

    run = {"glmclf": lambda: model.fit_regularized(alphas=alphas, L1_wt=1.0).params.to_numpy().T}
    entry = measure("path of 50 lassos, 50,000 x 200", run, violation, turns)
    entry["programs"] |= glmnet(X, y, alphas, violation)
    return entry


def folds_of_lassos(n: int, k: int, folds: int) -> Callable[[int], dict[str, Any]]:
    """Problem of a cross-validation of twenty lassos; the error is that of the path of all rows."""

    def problem(turns: int) -> dict[str, Any]:
        (y, X), alphas = _lasso_data(n, k), 0.05 * 0.001 ** (np.arange(20) / 19)
        model, fold = glmclf.Logit(y, X), np.random.default_rng(2).permutation(np.arange(n) % folds) + 1

        def violation(B: np.ndarray) -> float:
            return max(_violation(X, y, B[:, i], alphas[i], 1.0) for i in (5, 12, 19))

        def ours() -> np.ndarray:
            return model.fit_regularized_cv(folds=fold, alphas=alphas, L1_wt=1.0).path.params.to_numpy().T

        entry = measure(f"20 lassos in {folds} folds, {n:,} x {k}", {"glmclf": ours}, violation, turns)
        entry["programs"] |= glmnet(X, y, alphas, violation, fold)
        return entry

    return problem


def ridge_of_words(turns: int) -> dict[str, Any]:
    """Ridge of a logit of 10,000 texts of 100 words, of 50,000 that there are."""
    from sklearn.linear_model import LogisticRegression

    generator = np.random.default_rng(1)
    n, k, alpha = 10_000, 50_000, 0.001
    places = np.repeat(np.arange(n), 100), generator.integers(0, k, 100 * n)
    X = sparse.csr_array((generator.integers(1, 4, 100 * n).astype(float), places), (n, k))
    y = (generator.random(n) < 1 / (1 + np.exp(-X[:, :5000] @ generator.normal(size=5000)))).astype(int)
    both = sparse.csr_array(sparse.hstack([np.ones((n, 1)), X]))
    other = LogisticRegression(C=1 / (alpha * n), tol=1e-10, max_iter=10_000)

    def by_other() -> np.ndarray:
        fit = other.fit(X, y)
        return np.append(fit.intercept_, fit.coef_)

    programs: dict[str, Run] = {
        "glmclf, model and fit": lambda: glmclf.Logit(y, both).fit_regularized(alpha).params.to_numpy(),
        "scikit-learn, lbfgs, tol=1e-10": by_other,
    }
    return measure(
        "ridge of a logit, sparse 10,000 x 50,000", programs, lambda b: _violation(both, y, b, alpha, 0.0), turns
    )


def _violation(X: Any, y: np.ndarray, b: np.ndarray, alpha: float, L1_wt: float) -> float:
    """Largest violation of the conditions for a maximum of llf/N less the penalty; the first column is free."""
    score = X.T @ (y - 1 / (1 + np.exp(-(X @ b)))) / len(y)
    weight = alpha * np.append(0.0, np.ones(len(b) - 1))
    score -= weight * (1 - L1_wt) * b
    lasso = weight * L1_wt
    return float(np.where(b != 0, abs(score - lasso * np.sign(b)), np.maximum(abs(score) - lasso, 0)).max())


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
            """To the maximum, in standard errors: the length of one more step of Newton's; of the peer, which keeps two
            coefficients, the larger distance of these."""
            if isinstance(found, pd.Series):
                res, bse = ours()
                return float((abs(found - res.params) / bse)[["x", "z"]].max())
            res, _ = found
            e = res.model._objective()(np.asarray(res.params))
            return float(np.sqrt(e.score @ e.factor.solve(e.score)))

        programs: dict[str, Run] = {"glmclf": ours}
        try:
            from pyfixest import feglm
        except ImportError:
            print("pyfixest is not installed: its rows are left out")
        else:
            programs["pyfixest, of x and z alone"] = lambda: feglm("y ~ x + z | id", data, family="logit").coef()
        return measure(f"Logit, {levels:,} levels, {n:,} rows, with standard errors", programs, distance, turns)

    return problem


def dense(n: int, k: int, correlation: float = 0.0) -> Callable[[int], dict[str, Any]]:
    """Problem of a Logit of normal numbers in an array, whose rows, or whose columns, lie side by side."""

    def problem(turns: int) -> dict[str, Any]:
        import statsmodels.api as sm
        from sklearn.linear_model import LogisticRegression

        generator = np.random.default_rng(0)
        X = np.sqrt(1.0 - correlation) * generator.normal(size=(n, k))
        X += np.sqrt(correlation) * generator.normal(size=(n, 1))
        X[:, 0] = 1.0
        b = generator.normal(size=k) / np.sqrt(k)
        y = (generator.random(n) < 1 / (1 + np.exp(-X @ b))).astype(float)
        objective = glmclf.Logit(y, X)._objective()

        def by_lbfgs(A: np.ndarray, tol: float) -> np.ndarray:
            return LogisticRegression(C=np.inf, tol=tol, max_iter=1000, fit_intercept=False).fit(A, y).coef_[0]

        programs: dict[str, Run] = {}
        for A, how in ((X, "by row"), (np.asfortranarray(X), "by column")):
            programs |= {
                f"glmclf, {how}": lambda A=A: np.asarray(glmclf.Logit(y, A).fit().params),
                f"statsmodels, {how}": lambda A=A: sm.Logit(y, A).fit(disp=0).params,
                f"scikit-learn, lbfgs, tol=1e-10, {how}": lambda A=A: by_lbfgs(A, 1e-10),
                f"scikit-learn, lbfgs, tol=1e-4, {how}": lambda A=A: by_lbfgs(A, 1e-4),
            }

        def distance(theta: np.ndarray) -> float:
            """To the maximum, in standard errors: the length of one more step of Newton's."""
            e = objective(theta)
            return float(np.sqrt(e.score @ e.factor.solve(e.score)))

        words = f", columns correlated by {correlation}" if correlation else ""
        return measure(f"Logit, {n:,} x {k}{words}", programs, distance, turns)

    return problem


PROBLEMS = (
    *(dense(*of) for of in ((200_000, 100), (200_000, 100, 0.5), (50_000, 200), (1_000_000, 20), (2_000, 50))),
    sparse_counts,
    one_lasso,
    lasso_path,
    *(folds_of_lassos(*of) for of in ((5_000, 100, 10), (50_000, 200, 5))),
    ridge_of_words,
    *map(levels_of_factor, (200, 500, 2_000, 30_000)),
)


# --------------------------------------------------------------------------------------------------------- report
def table(entries: list[dict], about: dict) -> list[str]:
    lines = report.head("problem", "program", "processor seconds", "seconds", "memory beyond the data, MB", "error")
    for problem, name, r in report.rows(entries):
        memory = "" if r["memory"] is None else f"{r['memory'] / 1e6:.0f}"
        lines.append(
            f"| {problem} | {name} | {r['processor_seconds']:.3f} | {r['seconds']:.3f} | {memory} | {r['error']:.0e} |"
        )
    note = "The error of naive Bayes is the largest of a posterior probability among 500 rows, whose cells are in "
    note += "extended precision; of a penalised fit the largest violation of the conditions for a maximum of llf/N; "
    note += "of a fit of arrays or with levels it is the distance from the maximum, in standard errors. R ran once. "
    note += f"Medians on {report.processors(about)}; {report.used(about, 'scikit-learn', 'statsmodels')}."
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
