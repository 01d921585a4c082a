"""Correct digits of glmclf, statsmodels and R's glm on the certified problems of tests/reference.

    python benchmarks/accuracy.py            prints the table
    python benchmarks/accuracy.py --write    and writes it into docs/numerics.md and benchmarks/results/accuracy.json

Every program is asked for its best: statsmodels' Logit and Probit by Newton's method to a change of 1e-12, its GLM
where there are counts, weights or the complementary log-log link, R's `glm` with epsilon = 1e-15. Standard errors are
compared with those the program means: of the observed information, or of the expected one, which the two GLMs report.
R is left out where `Rscript` is not found; it reads the data as hexadecimal numbers, so that all start from the same
doubles.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import references  # noqa: E402

import glmclf  # noqa: E402

PAGE, RESULTS = ROOT / "docs" / "numerics.md", ROOT / "benchmarks" / "results" / "accuracy.json"
BEGIN, END = "<!-- accuracy table: begin (written by benchmarks/accuracy.py) -->", "<!-- accuracy table: end -->"
QUANTITIES = ("params", "bse", "llf")


def worst(estimate, expected) -> float:
    """Digits of the worst of several numbers."""
    return float(references.digits(estimate, expected).min())


def score(case, params: pd.Series, bse: pd.Series, llf: float | None, kind: str) -> dict[str, float | None]:
    """Digits of what a program found; `kind` is the key of the standard errors it means."""
    values = case["values"]
    expected = references.labelled(values["params"])
    se = references.labelled(values[kind]) if kind in values else None
    return {
        "params": worst(params[expected.index], expected),
        "bse": None if se is None else worst(bse[se.index], se),
        "llf": None if llf is None else worst(llf, values["llf"]),
    }


# ------------------------------------------------------------------------------------------------------- programs
def with_glmclf(name, case, data):
    model = getattr(glmclf, case["model"]).from_formula(case["formula"], data, **references.model_keywords(case))
    res = model.fit()
    return score(case, res.params, res.bse, res.llf, "bse")


def with_statsmodels(name, case, data):
    import statsmodels.api as sm

    keywords = references.model_keywords(case)
    data, formula = numeric_response(case, data)
    offset = None if "offset" not in keywords else data[keywords["offset"]]
    weights = {k: data[v] for k, v in keywords.items() if k == "freq_weights"}
    if "weights" in keywords:
        weights["var_weights"] = data[keywords["weights"]]
    if case["model"] == "CLogLog" or weights or "+" in case["formula"].split("~")[0]:
        link = getattr(sm.families.links, case["model"])()
        model = sm.GLM.from_formula(formula, data, family=sm.families.Binomial(link), offset=offset, **weights)
        res = model.fit(tol=1e-15, maxiter=200)
        return score(case, res.params, res.bse, None if "weights" in keywords else res.llf, glm_errors(case))
    model = getattr(sm, case["model"]).from_formula(formula, data, offset=offset)
    res = model.fit(method="newton", tol=1e-12, maxiter=200, disp=0)
    return score(case, res.params, res.bse, res.llf, "bse")


def numeric_response(case, data):
    """The data and formula with 0/1 in place of labels, for programs without `event`."""
    event = references.model_keywords(case).get("event")
    left, right = case["formula"].split("~")
    if event is None:
        return data, case["formula"]
    return data.assign(event_=(data[left.strip()] == event).astype(float)), f"event_ ~{right}"


def glm_errors(case) -> str:
    """Which certified standard errors a GLM by Fisher scoring reports."""
    if "weights" in case["keywords"]:
        return "bse_hessian" if case["model"] == "Logit" else "bse_hessian_expected"
    return "bse_expected" if case["model"] != "Logit" else "bse"


# -------------------------------------------------------------------------------------------------------------- R
R_FIT = r"""
fit <- function(name, file, formula, link, weights = NULL, offset = NULL) {
  d <- read.csv(file, stringsAsFactors = FALSE)
  for (v in names(d)) if (is.character(d[[v]]))
    d[[v]] <- factor(d[[v]], levels = sort(unique(d[[v]]), method = "radix"))
  d$w_ <- if (is.null(weights)) rep(1, nrow(d)) else d[[weights]]
  d$o_ <- if (is.null(offset)) rep(0, nrow(d)) else d[[offset]]
  d <- d[d$w_ > 0, ]
  tryCatch({
    m <- suppressWarnings(glm(formula, binomial(link), d, weights = w_, offset = o_,
                              control = glm.control(epsilon = 1e-15, maxit = 200)))
    s <- sqrt(diag(vcov(m)))
    for (k in names(coef(m))) cat(sprintf("%s\t%s\t%.17g\t%.17g\n", name, k, coef(m)[k], s[k]))
    cat(sprintf("%s\tllf\t%.17g\t0\n", name, as.numeric(logLik(m))))
  }, error = function(e) NULL)
}
"""


def hexadecimal(data: pd.DataFrame) -> pd.DataFrame:
    """Numbers as R reads them without rounding."""
    columns = {
        c: data[c].map(lambda v: "NA" if pd.isna(v) else float(v).hex())
        if pd.api.types.is_numeric_dtype(data[c])
        else data[c]
        for c in data.columns
    }
    return pd.DataFrame(columns)


def r_formula(formula: str) -> str:
    left, right = formula.split("~")
    left = left if "+" not in left else f"cbind({left.replace('+', ',')})"
    return f"{left} ~ {right}".replace("**", "^").replace("C(", "factor(")


def r_name(name: str) -> str:
    """The name R gives to a column of patsy."""
    plain = re.sub(r"\[T\.([^\]]*)\]", r"\1", name).replace(" ** ", "^").replace("C(", "factor(")
    return "(Intercept)" if plain == "Intercept" else plain


def run_r(names) -> dict[str, dict[str, tuple[float, float]]]:
    """Coefficients and standard errors by problem; empty without Rscript."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [R_FIT]
        for i, name in enumerate(names):
            case, data = references.reference(name)
            data, formula = numeric_response(case, data)
            path = pathlib.Path(folder) / f"{i}.csv"
            hexadecimal(data).to_csv(path, index=False)
            keywords = references.model_keywords(case)
            extra = "".join(f', {k.replace("freq_", "")} = "{v}"' for k, v in keywords.items() if k != "event")
            lines.append(f'fit("{name}", "{path}", {r_formula(formula)}, "{case["model"].lower()}"{extra})')
        return run_r_lines(lines, pathlib.Path(folder))


def run_r_lines(lines, folder: pathlib.Path) -> dict[str, dict[str, tuple[float, float]]]:
    """What a script prints, a line a coefficient: problem, name, estimate and standard error."""
    program = shutil.which("Rscript")
    if program is None:
        print("Rscript is not installed: R is left out", file=sys.stderr)
        return {}
    script = folder / "fit.R"
    script.write_text("\n".join(lines))
    done = subprocess.run([program, "--vanilla", str(script)], capture_output=True, text=True, check=True)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for line in filter(lambda s: "\t" in s, done.stdout.splitlines()):  # R prints the NULL of a failed fit
        name, parameter, estimate, se = line.split("\t")
        found.setdefault(name, {})[parameter] = (r_number(estimate), r_number(se))
    return found


def r_number(text: str) -> float:
    return np.nan if text == "NA" else float(text)


def with_r(found):
    def scores(name, case, data):
        numbers = found[name]
        columns = list(case["values"]["params"])
        params = pd.Series({c: numbers[r_name(c)][0] for c in columns})
        bse = pd.Series({c: numbers[r_name(c)][1] for c in columns})
        llf = None if "weights" in case["keywords"] else numbers["llf"][0]
        return score(case, params, bse, llf, glm_errors(case))

    return scores


# ---------------------------------------------------------------------------------------------------------- table
def measure() -> tuple[list[dict], list[str]]:
    names = references.names("fit")
    found = run_r(names)
    programs = {"glmclf": with_glmclf, "statsmodels": with_statsmodels}
    if found:
        programs["R glm"] = with_r(found)
    rows = []
    for name in names:
        case, data = references.reference(name)
        row = {
            "problem": name,
            "condition": case["checks"]["log10_condition_scaled_design"],
            "attainable": case["checks"]["attainable_digits_params"],
        }
        for program, run in programs.items():
            row[program] = attempt(run, name, case, data.copy())
        rows.append(row)
    return rows, list(programs)


def attempt(run, name, case, data):
    """Digits, or the name of the error."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return run(name, case, data)
    except Exception as error:  # another program's failure is a row of the table
        return {"error": type(error).__name__}


def cell(result, quantity) -> str:
    if "error" in result:
        return "fails" if quantity == "params" else ""
    value = result[quantity]
    return "" if value is None else f"{abs(value):.1f}"


def markdown(rows, programs) -> str:
    head = ["problem", "condition", *(f"{p} {q}" for p in programs for q in QUANTITIES)]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in rows:
        cells = [
            row["problem"].replace("__", " "),
            f"{row['condition']:.1f}",
            *(cell(row[p], q) for p in programs for q in QUANTITIES),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def versions(programs) -> dict[str, str]:
    import scipy
    import statsmodels

    found = {
        "glmclf": getattr(glmclf, "__version__", ""),
        "statsmodels": statsmodels.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    if "R glm" in programs:
        out = subprocess.run(
            ["Rscript", "-e", "cat(R.version$major, R.version$minor, sep='.')"], capture_output=True, text=True
        )
        found["R"] = out.stdout.strip()
    return {k: v for k, v in found.items() if v}


def note(programs) -> str:
    used = ", ".join(f"{k} {v}" for k, v in versions(programs).items() if k != "glmclf")
    return (
        f"Made with {used}. Standard errors: glmclf and statsmodels' Logit and Probit those of the observed "
        "information; statsmodels' GLM (complementary log-log, counts, weights) and R's `glm` those of the expected "
        "one. Empty: the program means another number there. fails: an exception; 0.0: no digit is right, most often "
        "with a word that the fit did not converge."
    )


def write(rows, programs) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(
        f"{before}{BEGIN}\n\n{markdown(rows, programs)}\n\n{note(programs)}\n\n{END}{after}", encoding="utf-8"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"versions": versions(programs), "rows": rows}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write docs/numerics.md and results/accuracy.json")
    options = parser.parse_args()
    rows, programs = measure()
    print(markdown(rows, programs))
    if options.write:
        write(rows, programs)


if __name__ == "__main__":
    main()
