"""Correct digits of params and standard errors on the hard problems: glmclf, statsmodels, R and scikit-learn.

    python benchmarks/digits.py            prints the table
    python benchmarks/digits.py --write    and writes it into docs/numerics.md and benchmarks/results/digits.json

The problems are the certified "hard" ones of tests/reference, and ill-conditioned designs made here, whose estimates
are computed with sixty digits (mpmath) from the same doubles: raw polynomials around 1000, columns from 1e-8 to 1e8,
and a column that is the sum of two others up to 1e-9. Every program is asked for its best: statsmodels and R as in
accuracy.py (multinomial: statsmodels' MNLogit by Newton's method, R's nnet::multinom with reltol = 1e-15),
scikit-learn's LogisticRegression by newton-cholesky, without a penalty, to a change of 1e-12; it has no standard
errors, no other links, and no offset. R and scikit-learn are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile

import accuracy
import numpy as np
import pandas as pd
from accuracy import ROOT, attempt, references, score

import glmclf

sys.path.append(str(ROOT / "tests"))
from core import exact

PAGE, RESULTS = ROOT / "docs" / "numerics.md", ROOT / "benchmarks" / "results" / "digits.json"
BEGIN, END = "<!-- digits table: begin (written by benchmarks/digits.py) -->", "<!-- digits table: end -->"
QUANTITIES = ("params", "bse")
ROWS = 60


# ------------------------------------------------------------------------------------------------------- problems
def designs() -> dict[str, np.ndarray]:
    """Regressors beside the intercept, (60, k - 1), by the name of the problem."""
    generator = np.random.default_rng(3)
    found = {
        f"polynomial of degree {degree}, 1000 ± {half}": (np.linspace(1000 - half, 1000 + half, ROWS).round())[:, None]
        ** np.arange(1, degree + 1)
        for degree, half in ((5, 10), (6, 25), (7, 50), (8, 100), (8, 400))
    }
    found["columns from 1e-8 to 1e8"] = generator.normal(size=(ROWS, 4)) * [1e-8, 1e-4, 1e4, 1e8]
    x = generator.normal(size=(ROWS, 2))
    found["x3 = x1 + x2 up to 1e-9"] = np.column_stack([x, x.sum(axis=1) + 1e-9 * generator.normal(size=ROWS)])
    return found


def made() -> dict[str, tuple[dict, pd.DataFrame]]:
    """Cases in the form of tests/reference, certified here."""
    cases = {}
    for name, A in designs().items():
        generator = np.random.default_rng(8)
        X = np.column_stack([np.ones(ROWS), A])
        scaled = X / np.linalg.norm(X, axis=0)
        last = np.linalg.qr(scaled)[0][:, -1]
        y = (generator.random(ROWS) < 1 / (1 + np.exp(0.3 - 4 * last))).astype(float)
        columns = [f"x{j}" for j in range(1, X.shape[1])]
        start = glmclf.Logit(y, X).fit().params
        theta, value, _, V = exact.maximum("logit", X, y, start)
        names = ["Intercept", *columns]
        sizes = np.linalg.svd(scaled, compute_uv=False)
        values = {
            "params": dict(zip(names, theta, strict=True)),
            "bse": dict(zip(names, np.sqrt(np.diag(V)), strict=True)),
            "llf": value,
        }
        case = {"formula": "y ~ " + " + ".join(columns), "model": "Logit", "keywords": {}, "values": values}
        case["checks"] = {"log10_condition_scaled_design": float(np.log10(sizes[0] / sizes[-1]))}
        cases[name] = (case, pd.DataFrame(A, columns=columns).assign(y=y))
    return cases


def problems() -> dict[str, tuple[dict, pd.DataFrame]]:
    hard = [n for n in references.names("fit", (*references.BINARY, "MNLogit")) if n.startswith("hard_")]
    return {n.replace("__", " "): references.reference(n) for n in hard} | made()


# ------------------------------------------------------------------------------------------------------- programs
def flat(values: dict) -> dict[str, float]:
    """Certified numbers of several equations as one vector, "level:name"."""
    if not isinstance(next(iter(values.values())), dict):
        return values
    return {f"{level}:{name}": v for level, part in values.items() for name, v in part.items()}


def by_level(case, params, bse, llf):
    """Digits of tables with a column a level."""
    tall = [pd.Series({f"{c}:{r}": t.loc[r, c] for c in t.columns for r in t.index}) for t in (params, bse)]
    one = {**case, "values": {**case["values"], **{q: flat(case["values"][q]) for q in QUANTITIES}}}
    return score(one, *tall, llf, "bse")


def with_glmclf(name, case, data):
    if case["model"] != "MNLogit":
        return accuracy.with_glmclf(name, case, data)
    res = glmclf.MNLogit.from_formula(case["formula"], data, **references.model_keywords(case)).fit()
    return by_level(case, *(t.set_axis(t.columns.astype(str), axis=1) for t in (res.params, res.bse)), res.llf)


def with_statsmodels(name, case, data):
    import statsmodels.api as sm

    if case["model"] != "MNLogit":
        return accuracy.with_statsmodels(name, case, data)
    left, right = (s.strip() for s in case["formula"].split("~"))
    levels = case["values"]["levels"]
    codes = data.assign(y_=pd.Categorical(data[left].astype(str), levels).codes)
    res = sm.MNLogit.from_formula(f"y_ ~ {right}", codes).fit(method="newton", tol=1e-12, maxiter=200, disp=0)
    tables = (t.set_axis(levels[1:], axis=1) for t in (res.params, res.bse))
    return by_level(case, *tables, res.llf)


def with_sklearn(name, case, data):
    import patsy
    from sklearn.linear_model import LogisticRegression

    keywords = references.model_keywords(case)
    if case["model"] not in ("Logit", "MNLogit") or "offset" in keywords or "+" in case["formula"].split("~")[0]:
        return {"params": None, "bse": None, "llf": None}
    data, formula = accuracy.numeric_response(case, data)
    left, right = (s.strip() for s in formula.split("~"))
    X = patsy.dmatrix(right, data, return_type="dataframe").drop(columns="Intercept")
    weights = next((data[v] for k, v in keywords.items()), None)
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    fit.fit(X, data[left].astype(str) if case["model"] == "MNLogit" else data[left], sample_weight=weights)
    B = pd.DataFrame(np.column_stack([fit.intercept_, fit.coef_]), fit.classes_[-len(fit.coef_) :], ["Intercept", *X])
    if case["model"] == "Logit":
        return {**score(case, B.iloc[0], B.iloc[0], None, "bse"), "bse": None}
    B = B.sub(B.loc[case["values"]["levels"][0]], axis=1).T
    B = B[list(case["values"]["params"])]
    return {**by_level(case, B, B, None), "bse": None}


# -------------------------------------------------------------------------------------------------------------- R
R_MULTINOM = r"""
multi <- function(name, file, formula, reference) {
  d <- read.csv(file, stringsAsFactors = FALSE)
  v <- all.vars(formula)[1]
  d[[v]] <- relevel(factor(d[[v]]), ref = reference)
  tryCatch({
    m <- nnet::multinom(formula, d, trace = FALSE, Hess = TRUE, reltol = 1e-15, abstol = 0, maxit = 10000)
    b <- coef(m); s <- summary(m)$standard.errors
    for (l in rownames(b)) for (k in colnames(b))
      cat(sprintf("%s\t%s:%s\t%.17g\t%.17g\n", name, l, k, b[l, k], s[l, k]))
    cat(sprintf("%s\tllf\t%.17g\t0\n", name, as.numeric(logLik(m))))
  }, error = function(e) NULL)
}
"""


def r_lines(cases, folder: pathlib.Path) -> list[str]:
    lines = [accuracy.R_FIT, R_MULTINOM]
    for i, (name, (case, data)) in enumerate(cases.items()):
        data, formula = accuracy.numeric_response(case, data) if case["model"] != "MNLogit" else (data, case["formula"])
        path = folder / f"{i}.csv"
        accuracy.hexadecimal(data).to_csv(path, index=False)
        if case["model"] == "MNLogit":
            lines.append(f'multi("{name}", "{path}", {formula}, "{case["values"]["levels"][0]}")')
            continue
        keywords = references.model_keywords(case)
        extra = "".join(f', {k.replace("freq_", "")} = "{v}"' for k, v in keywords.items() if k != "event")
        link = case["model"].lower()
        lines.append(f'fit("{name}", "{path}", {accuracy.r_formula(formula)}, "{link}"{extra})')
    return lines


def run_r(cases) -> dict[str, dict[str, tuple[float, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        return accuracy.run_r_lines(r_lines(cases, pathlib.Path(folder)), pathlib.Path(folder))


def with_r(found):
    binary = accuracy.with_r(found)

    def scores(name, case, data):
        if case["model"] != "MNLogit":
            return binary(name, case, data)
        one = {**case, "values": {**case["values"], **{q: flat(case["values"][q]) for q in QUANTITIES}}}
        at = {c: f"{c.split(':')[0]}:{accuracy.r_name(c.split(':', 1)[1])}" for c in one["values"]["params"]}
        params, bse = (pd.Series({c: found[name][r][i] for c, r in at.items()}) for i in (0, 1))
        return score(one, params, bse, found[name]["llf"][0], "bse")

    return scores


# ---------------------------------------------------------------------------------------------------------- table
def measure() -> tuple[list[dict], list[str]]:
    cases = problems()
    found = run_r(cases)
    programs = {"glmclf": with_glmclf, "statsmodels": with_statsmodels}
    if found:
        programs["R"] = with_r(found)
    if sklearn_version():
        programs["scikit-learn"] = with_sklearn
    rows = []
    for name, (case, data) in cases.items():
        row = {"problem": name, "condition": case["checks"]["log10_condition_scaled_design"]}
        row |= {program: attempt(run, name, case, data.copy()) for program, run in programs.items()}
        rows.append(row)
    return rows, list(programs)


def sklearn_version() -> str:
    try:
        import sklearn
    except ImportError:
        print("scikit-learn is not installed: it is left out", file=sys.stderr)
        return ""
    return sklearn.__version__


def markdown(rows, programs) -> str:
    shown = [(p, q) for p in programs for q in QUANTITIES if (p, q) != ("scikit-learn", "bse")]
    head = ["problem", "condition", *(f"{p} {q}" for p, q in shown)]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in rows:
        cells = [row["problem"], f"{row['condition']:.1f}", *(accuracy.cell(row[p], q) for p, q in shown)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def versions(programs) -> dict[str, str]:
    found = accuracy.versions(["R glm"] if "R" in programs else [])
    return found | ({"scikit-learn": sklearn_version()} if "scikit-learn" in programs else {})


def write(rows, programs) -> None:
    used = ", ".join(f"{k} {v}" for k, v in versions(programs).items() if k != "glmclf")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table = f"{markdown(rows, programs)}\n\nMade with {used}. fails: an exception, or a coefficient left out as "
    table += "collinear. Empty: the program has no such number."
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
    RESULTS.write_text(json.dumps({"versions": versions(programs), "rows": rows}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write docs/numerics.md and results/digits.json")
    options = parser.parse_args()
    rows, programs = measure()
    print(markdown(rows, programs))
    if options.write:
        write(rows, programs)


if __name__ == "__main__":
    main()
