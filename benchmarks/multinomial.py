"""Times of MNLogit, statsmodels, scikit-learn and R's nnet on the same data, with the accuracy each reaches.

    python benchmarks/multinomial.py                  100,000 x 20 in 5 classes, 20,000 x 20 in 10, 5,000 x 10 in 50
    python benchmarks/multinomial.py --scale 0.1      the same with a tenth of the rows
    python benchmarks/multinomial.py --write          writes docs/benchmarks.md and results/multinomial.json as well

Each time includes the standard errors. The programs take turns in one process, and the median of the turns counts.
scikit-learn is asked for "newton-cholesky" without a penalty at tol=1e-8, and numpy forms and inverts the information,
since it has no standard errors. R, where `Rscript` with nnet is on the path, fits once in a process of its own, which
times `multinom` and `vcov` alone; the most that R held is not comparable and left out. Accuracy is the largest
distance from the maximum, in standard errors: the maximum is glmclf's estimate after one more Newton step. Memory is
what numpy and Python allocate beyond the data during the fit (tracemalloc).
"""

from __future__ import annotations

import pathlib
import shutil
import statistics
import subprocess
import tempfile

import numpy as np
import report
import speed

import glmclf

PROBLEMS = ((100_000, 20, 5), (20_000, 20, 10), (5_000, 10, 50))

R_FIT = """
suppressMessages(library(nnet))
n <- {n}; p <- {p}
X <- matrix(readBin("{X}", "double", n * p), n, p)
y <- factor(readBin("{y}", "integer", n))
d <- data.frame(y = y, X[, -1])
seconds <- system.time({{
  m <- multinom(y ~ ., d, maxit = 2000, MaxNWts = 100000, trace = FALSE)
  V <- vcov(m)
}})[["elapsed"]]
writeBin(c(seconds, t(coef(m)), sqrt(diag(V))), "{out}")
"""


# ----------------------------------------------------------------------------------------------------------- data
def arrays(n: int, p: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """p columns, the constant included, by column in memory, and a class a row, each of them seen."""
    generator = np.random.default_rng(seed)
    X = np.asfortranarray(np.column_stack([np.ones(n), generator.normal(size=(n, p - 1))]))
    B = np.column_stack([np.zeros(p), generator.normal(size=(p, K - 1)) / np.sqrt(p)])
    utility = X @ B + generator.gumbel(size=(n, K))
    y = utility.argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


# ------------------------------------------------------------------------------------------------------- programs
def programs(X: np.ndarray, y: np.ndarray) -> dict[str, speed.Program]:
    """Name -> a function that fits and returns the parameters and standard errors, equation by equation."""
    row_major = np.ascontiguousarray(X)

    def ours():
        res = glmclf.MNLogit(y, X).fit()
        return res.params.to_numpy().ravel(order="F"), res.bse.to_numpy().ravel(order="F")

    def statsmodels():
        from statsmodels.discrete.discrete_model import MNLogit

        res = MNLogit(y, row_major).fit(method="newton", maxiter=100, disp=0)
        return np.ravel(res.params, order="F"), np.ravel(res.bse, order="F")

    def sklearn():
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(**speed.no_penalty(), solver="newton-cholesky", tol=1e-8, max_iter=100)
        model.fit(row_major[:, 1:], y)
        B = np.column_stack([model.intercept_, model.coef_])
        B = B[1:] - B[0]
        return B.ravel(), standard_errors(row_major, B)

    return {"glmclf": ours, "statsmodels": statsmodels, "scikit-learn": sklearn}


def standard_errors(X: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Of a multinomial logit with parameters B (K-1, p), the blocks of whose information numpy forms."""
    q, p = B.shape
    eta = np.column_stack([np.zeros(len(X)), X @ B.T])
    mu = np.exp(eta - eta.max(axis=1, keepdims=True))
    mu = mu[:, 1:] / mu.sum(axis=1, keepdims=True)
    information = np.empty((q, p, q, p))
    for j in range(q):
        for m in range(j + 1):
            w = mu[:, j] * ((j == m) - mu[:, m])
            information[j, :, m, :] = X.T @ (X * w[:, None])
            information[m, :, j, :] = information[j, :, m, :].T
    return np.sqrt(np.linalg.inv(information.reshape(q * p, q * p)).diagonal())


def with_r(X: np.ndarray, y: np.ndarray, limit: float) -> tuple[float, np.ndarray, np.ndarray] | str:
    """Seconds, parameters and standard errors of nnet's `multinom` and `vcov`, or why there are none."""
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    n, p = X.shape
    with tempfile.TemporaryDirectory() as folder:
        path = {name: str(pathlib.Path(folder) / name) for name in ("X", "y", "out", "fit.R")}
        X.ravel(order="F").tofile(path["X"])
        y.astype(np.int32).tofile(path["y"])
        script = pathlib.Path(path["fit.R"])
        script.write_text(R_FIT.format(n=n, p=p, X=path["X"], y=path["y"], out=path["out"]), encoding="utf-8")
        try:
            done = subprocess.run(["Rscript", str(script)], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return f"not finished after {limit:.0f} s"
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
        values = np.fromfile(path["out"])
    theta, se = np.split(values[1:], 2)
    return float(values[0]), theta, se


# -------------------------------------------------------------------------------------------------------- measure
def row(seconds: list[float], found, maximum, memory: int | None) -> dict:
    """What is kept of one program."""
    theta, se = maximum
    return {
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "memory_bytes": memory,
        "distance_in_errors": float(np.max(np.abs(found[0] - theta) / se)),
        "bse_relative_error": float(np.max(np.abs(found[1] / se - 1))),
    }


def measure(n: int, p: int, K: int, turns: int, limit: float) -> dict:
    """One entry of the results."""
    X, y = arrays(n, p, K)
    maximum, runs = speed.polished(glmclf.MNLogit(y, X)), programs(X, y)
    seconds, found = report.times(runs, turns)
    entry = {"problem": f"{n:,} x {p}, {K} classes", "x_bytes": X.nbytes, "programs": {}}
    for name, run in runs.items():
        entry["programs"][name] = row(seconds[name], found[name], maximum, report.peak_memory(run)[0])
    from_r = with_r(X, y, limit)
    if isinstance(from_r, str):
        entry["without R"] = from_r
    else:
        entry["programs"]["nnet (R)"] = row([from_r[0]], from_r[1:], maximum, None)
    for r in entry["programs"].values():
        r["times_glmclf"] = r["seconds"] / entry["programs"]["glmclf"]["seconds"]
    return entry


# --------------------------------------------------------------------------------------------------------- report
def show(entry: dict) -> None:
    print(f"\n{entry['problem']}  (X as doubles: {entry['x_bytes'] / 1e6:.1f} MB)")
    for name, r in entry["programs"].items():
        memory = "" if r["memory_bytes"] is None else f"{r['memory_bytes'] / 1e6:8.1f} MB"
        print(
            f"  {name:14s} {r['seconds']:8.3f} s  {r['times_glmclf']:7.2f} x  {memory:>11s}  "
            f"distance {r['distance_in_errors']:.1e} se  bse {r['bse_relative_error']:.1e}",
            flush=True,
        )
    if "without R" in entry:
        print(f"  nnet (R)       {entry['without R']}")


def written(entries: list[dict], about: dict) -> list[str]:
    lines = report.head(
        "MNLogit",
        "program",
        "seconds",
        "times glmclf's",
        "memory beyond the data, MB",
        "distance from the maximum, in standard errors",
        "largest relative error of a standard error",
    )
    for entry in entries:
        for problem, name, r in report.rows([entry]):
            memory = "" if r["memory_bytes"] is None else f"{r['memory_bytes'] / 1e6:.0f}"
            lines.append(
                f"| {problem} | {name} | {r['seconds']:.2f} | {r['times_glmclf']:.1f} | {memory} | "
                f"{r['distance_in_errors']:.0e} | {r['bse_relative_error']:.0e} |"
            )
        if "without R" in entry:
            lines.append(f"| | nnet (R) | {entry['without R']} | | | | |")
    used = report.used(about, "statsmodels", "scikit-learn")
    note = f"Medians, standard errors included, on {report.processors(about)}; {used}. "
    note += "R: one fit, `multinom` to its default tolerance and `vcov`."
    return [*lines, "", note, *report.busy(about)]


def main() -> None:
    parser = report.parser(__doc__, "docs/benchmarks.md and results/multinomial.json", scale=1.0, turns=3)
    parser.add_argument("--r-seconds", type=float, default=600, help="how long to wait for R")
    options = parser.parse_args()
    load = report.start()
    entries = []
    for n, p, K in PROBLEMS:
        entries.append(measure(max(int(n * options.scale), 20 * K), p, K, options.turns, options.r_seconds))
        show(entries[-1])
    about = report.machine(load)
    report.show(about)
    if options.write:
        report.fill("multinomial", "", written(entries, about))
        report.save("multinomial", about, problems=entries)


if __name__ == "__main__":
    main()
