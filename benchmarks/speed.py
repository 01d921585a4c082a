"""Times of glmclf and its peers on the same data in one process, with the accuracy each reaches.

    python benchmarks/speed.py                  arrays, formulas, discrete regressors
    python benchmarks/speed.py --only formula   the problems whose names contain the word
    python benchmarks/speed.py --scale 0.1      the same with a tenth of the rows
    python benchmarks/speed.py --write          writes docs/benchmarks.md and benchmarks/results/speed.json as well

Each time includes the standard errors. The programs take turns, and the median of the turns counts. scikit-learn is
asked for "newton-cholesky" without a penalty at tol=1e-8, and X'WX is formed and inverted by numpy, since it has no
standard errors; glum, where it is installed, for IRLS to a gradient of 1e-8 with its covariance matrix. Each gets X in
the memory order it likes, glmclf by column and, on another line, by row. Accuracy is the largest distance from the
maximum, in standard errors: the maximum is glmclf's estimate after one more Newton step. Memory is what numpy and
Python allocate beyond the data during the fit (tracemalloc), in shares of X.

The floor of a fit is three passes over the data in blocks on all processors, each of two products of X with a vector,
one exponential a row and one symmetric rank-k update (BLAS dsyrk).
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import report

import glmclf
from glmclf.core.design.dense import Dense
from glmclf.core.rows.blocks import Blocks

Program = Callable[[], tuple[Any, Any]]
FORMULA = "y ~ x1 + x2 + x3 + a + b + c"


# ----------------------------------------------------------------------------------------------------------- data
def arrays(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """p columns, the constant included, by column in memory; slopes such that no probability is extreme."""
    generator = np.random.default_rng(seed)
    X = np.empty((n, p), order="F")
    X[:, 0] = 1.0
    for j in range(1, p):
        X[:, j] = generator.normal(size=n)
    eta = X @ np.r_[-0.5, generator.normal(size=p - 1) / np.sqrt(p)]
    return X, (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(float)


def table(n: int, seed: int = 1) -> pd.DataFrame:
    """Three string factors of 5, 20 and 50 levels and three numbers."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame({name: generator.normal(size=n) for name in ("x1", "x2", "x3")})
    eta = 0.4 * frame.x1 - 0.3 * frame.x2 + 0.1 * frame.x3 - 0.4
    for name, levels in (("a", 5), ("b", 20), ("c", 50)):
        codes = generator.integers(0, levels, n)
        frame[name] = np.array([f"{name}{i:02d}" for i in range(levels)], dtype=object)[codes]
        eta += (generator.normal(size=levels) * 0.3)[codes]
    return frame.assign(y=(generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int))


# ------------------------------------------------------------------------------------------------------- programs
def array_programs(X: np.ndarray, y: np.ndarray, model: str = "Logit") -> dict[str, Program]:
    """Name -> a function that fits and returns the parameters and standard errors."""
    row_major = np.ascontiguousarray(X)  # the layout scikit-learn and statsmodels like

    def ours(columns=X):
        res = getattr(glmclf, model)(y, columns).fit()
        return res.params.to_numpy(), res.bse.to_numpy()

    def statsmodels():
        from statsmodels.discrete import discrete_model

        res = getattr(discrete_model, "Probit" if model == "CLogLog" else model)(y, row_major).fit(disp=0)
        return res.params, res.bse

    def sklearn():
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(**no_penalty(), solver="newton-cholesky", tol=1e-8, max_iter=100, fit_intercept=True)
        model.fit(row_major[:, 1:], y)
        params = np.r_[model.intercept_, model.coef_.ravel()]
        mu = 1 / (1 + np.exp(-(row_major @ params)))
        root = row_major * np.sqrt(mu * (1 - mu))[:, None]
        return params, np.sqrt(np.linalg.inv(root.T @ root).diagonal())

    def glum():
        from glum import GeneralizedLinearRegressor

        options = {"solver": "irls-ls", "gradient_tol": 1e-8, "robust": False, "expected_information": True}
        fit = GeneralizedLinearRegressor(family="binomial", alpha=0, **options)
        fit.fit(X[:, 1:], y, store_covariance_matrix=True)
        return np.r_[fit.intercept_, fit.coef_], np.asarray(fit.std_errors())

    programs = {"glmclf": ours, "glmclf, by row": lambda: ours(row_major), "floor": lambda: floor(X)}
    if model != "Logit":
        return programs | {f"statsmodels{', Probit' if model == 'CLogLog' else ''}": statsmodels}
    programs |= {"statsmodels": statsmodels, "scikit-learn": sklearn}
    return programs | ({"glum": glum} if importlib.util.find_spec("glum") else {})


def floor(X: np.ndarray) -> tuple[None, None]:
    """Three passes of the least arithmetic that a fit needs."""
    from scipy.linalg.blas import dsyrk

    b, blocks = np.zeros(X.shape[1]), Blocks(Dense(X))

    def block(part):
        e = np.exp(part.X @ b)
        return np.vstack([dsyrk(1.0, part.X, trans=1), part.X.T @ e])

    for _ in range(3):
        blocks.sum(block)
    return None, None


def no_penalty() -> dict:
    """How this version of scikit-learn spells "no penalty"."""
    import sklearn

    major, minor = map(int, sklearn.__version__.split(".")[:2])
    return {"C": np.inf} if (major, minor) >= (1, 8) else {"penalty": None}


def formula_programs(frame: pd.DataFrame) -> dict[str, Program]:

    def ours():
        res = glmclf.Logit.from_formula(FORMULA, frame).fit()
        return res.params.to_numpy(), res.bse.to_numpy()

    def statsmodels():
        from statsmodels.formula.api import logit

        res = logit(FORMULA, frame).fit(disp=0)
        return res.params.to_numpy(), res.bse.to_numpy()

    return {"glmclf": ours, "statsmodels": statsmodels}


def discrete_programs(frame: pd.DataFrame) -> dict[str, Program]:
    """A fit on categories alone, beside one group-by of them, which gives no estimate."""

    def ours():
        res = glmclf.Logit.from_formula("y ~ a + b + c", frame).fit()
        return res.params.to_numpy(), res.bse.to_numpy()

    def group_by():
        frame.groupby(["a", "b", "c"], observed=True).y.agg(["sum", "size"])
        return None, None

    return {"glmclf": ours, "group-by (pandas)": group_by}


# -------------------------------------------------------------------------------------------------------- measure
def measure(problem: str, programs: dict[str, Program], maximum, x_bytes: int, turns: int) -> dict:
    """One entry of the results; `maximum` is the estimate that accuracy is counted from."""
    seconds, found = report.times(programs, turns)
    memory = {name: report.peak_memory(run)[0] for name, run in programs.items()}
    median = {name: statistics.median(s) for name, s in seconds.items()}
    theta, se = maximum
    entry = {"problem": problem, "x_bytes": x_bytes, "programs": {}}
    for name in programs:
        b, bse = found[name]
        same = b is not None and not name.endswith("Probit")  # a program of the same model
        entry["programs"][name] = {
            "seconds": median[name],
            "all_seconds": seconds[name],
            "times_glmclf": median[name] / median["glmclf"],
            "memory_over_x": memory[name] / x_bytes,
            "distance_in_errors": float(np.max(np.abs(b - theta) / se)) if same else None,
            "bse_relative_error": float(np.max(np.abs(bse / se - 1))) if same else None,
        }
    return entry


def polished(model) -> tuple[np.ndarray, np.ndarray]:
    """The maximum and its standard errors: glmclf's estimate after one more Newton step."""
    theta = model.fit().params.to_numpy().ravel(order="F")
    information = np.asarray(model.information(theta))
    step = np.linalg.solve(information, np.ravel(model.score(theta), order="F"))
    return theta + step, np.sqrt(np.linalg.inv(information).diagonal())


def array_problem(model: str, rows: int, p: int, turns: int) -> dict:
    X, y = arrays(rows, p)
    best = polished(getattr(glmclf, model)(y, X))
    return measure(f"{model}, {rows:,} x {p}", array_programs(X, y, model), best, X.nbytes, turns)


def formula_problem(rows: int, turns: int) -> dict:
    frame = table(rows)
    best = polished(glmclf.Logit.from_formula(FORMULA, frame))
    title = f"formula, {rows:,} rows, factors of 5, 20, 50 levels and 3 numbers"
    return measure(title, formula_programs(frame), best, 8 * rows * len(best[0]), max(1, turns - 2))


def discrete_problem(rows: int, turns: int) -> dict:
    frame = table(rows)[["a", "b", "c", "y"]].astype({"a": "category", "b": "category", "c": "category"})
    best = polished(glmclf.Logit.from_formula("y ~ a + b + c", frame))
    title = f"discrete, {rows:,} rows, categories of 5, 20, 50 levels"
    return measure(title, discrete_programs(frame), best, 8 * rows * len(best[0]), max(1, turns - 2))


def run_all(scale: float, turns: int, only: str) -> list[dict]:
    million, many = int(1_000_000 * scale), int(200_000 * scale)
    problems: dict[str, Callable[[], dict]] = {
        "Logit, 10 columns": lambda: array_problem("Logit", million, 10, turns),
        "Logit, 100 columns": lambda: array_problem("Logit", many, 100, turns),
        "Probit": lambda: array_problem("Probit", million, 10, turns),
        "CLogLog": lambda: array_problem("CLogLog", million, 10, turns),
        "formula": lambda: formula_problem(million, turns),
        "discrete": lambda: discrete_problem(10 * million, turns),
    }
    entries = []
    for name, run in problems.items():
        if only in name:
            entries.append(run())
            show(entries[-1])
    return entries


# --------------------------------------------------------------------------------------------------------- report
def show(entry: dict) -> None:
    print(f"\n{entry['problem']}")
    for name, r in entry["programs"].items():
        line = f"  {name:20s} {r['seconds']:8.4f} s  {r['times_glmclf']:6.2f} x  memory {r['memory_over_x']:6.2f} X"
        if r["distance_in_errors"] is not None:
            line += f"  distance {r['distance_in_errors']:.1e} se  bse {r['bse_relative_error']:.1e}"
        print(line, flush=True)


def written(entries: list[dict], about: dict) -> list[str]:
    lines = report.head(
        "problem",
        "program",
        "seconds",
        "times glmclf's",
        "memory beyond the data, in X",
        "distance from the maximum, in standard errors",
    )
    for problem, name, r in report.rows(entries):
        distance = "" if r["distance_in_errors"] is None else f"{r['distance_in_errors']:.0e}"
        lines.append(
            f"| {problem} | {name} | {r['seconds']:.3g} | {r['times_glmclf']:.2f} | {r['memory_over_x']:.2f} | "
            f"{distance} |"
        )
    used = report.used(about, "statsmodels", "scikit-learn")
    note = f"Medians, standard errors included, on {report.processors(about)}; {used}."
    return [*lines, "", note, *report.busy(about)]


def main() -> None:
    parser = report.parser(__doc__, "docs/benchmarks.md and results/speed.json", scale=1.0, only="", turns=5)
    options = parser.parse_args()
    load = report.start()
    entries, about = run_all(options.scale, options.turns, options.only), report.machine(load)
    report.show(about)
    if options.write:
        report.fill("speed", "", written(entries, about))
        report.save("speed", about, problems=entries)


if __name__ == "__main__":
    main()
