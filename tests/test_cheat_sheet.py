"""Each code of the cheat sheet runs: formulas and keywords give fits, calls and attributes have values."""

import re

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, Logit, MNLogit, NaiveBayes, Probit, datasets

CODE = re.compile(r"`([^`\n]+)`")
LEVELS = ["yes", "no"]
OF = {"reference": ["MNLogit", "LDA", "QDA", "NaiveBayes"], "priors": ["LDA", "QDA", "NaiveBayes"]}
OF |= {"shrinkage": ["LDA", "QDA"], "families": ["NaiveBayes"]}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20)
    n = 240
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "w": rng.gamma(2.0, size=n)})
    frame["g"] = np.tile(["a", "b", "c"], n // 3)
    frame["group"] = np.repeat(np.arange(60), n // 60)
    frame["y"] = np.where(frame["x"] + rng.logistic(size=n) > 0, "yes", "no")
    frame["k"] = np.array(["a", "b", "c"])[np.digitize(frame["x"] + rng.logistic(size=n), [-0.7, 0.7])]
    frame["n"] = np.tile([1, 2], n // 2)
    frame["t"], frame["f"] = rng.normal(size=n) / 5, rng.integers(1, 4, n)
    frame["good"], frame["bad"], frame["share"] = rng.integers(0, 5, n), rng.integers(1, 5, n), rng.uniform(size=n)
    return frame.assign(**{"dose group": frame["g"]})


@pytest.fixture(scope="module")
def names(data):
    """What the head of the sheet says that its names are."""
    from glmclf import plots

    model, several = Logit.from_formula("y ~ x + z + g", data), MNLogit.from_formula("k ~ x + z", data)
    names = {name: getattr(glmclf, name) for name in glmclf.__all__}
    names |= {"datasets": datasets, "plots": plots, "data": data, "model": model, "res": model.fit()}
    names |= {"small": names["res"].refit(". ~ . - z"), "probit": Probit.from_formula("y ~ x", data).fit()}
    names |= {"new": data.head(3).drop(columns="y"), "test": data.iloc[::2], "several": several.fit()}
    names |= {name: m.from_formula("k ~ x + z", data).fit() for name, m in {"lda": LDA, "bayes": NaiveBayes}.items()}
    names |= {"endog": (data["y"] == "yes").to_numpy(), "exog": np.column_stack([np.ones(len(data)), data["x"]])}
    return names | {"path": model.fit_regularized(alphas=[0.1, 0.01], L1_wt=1)}


def run(code, data, names):
    """Say what kind of code it was, having run it: a keyword alone is one of the models that have it."""
    if re.match(r"^(I\(.*\)|(\w+ \+ )*\w+) ~", code):
        Logit.from_formula(code, data).fit()
        return "formula"
    keyword = re.match(r"^(\w+)=[^=]", code)
    if not keyword:
        exec(code, dict(names))
        return "code"
    for model in OF.get(keyword[1], ["Logit"]):
        exec(f"{model}.from_formula('{'y' if model == 'Logit' else 'k'} ~ w', data, {code}).fit()", dict(names))
    return "keyword"


def test_the_code_of_the_cheat_sheet_runs(repository, data, names, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    data.to_parquet("rows.parquet")
    codes = CODE.findall((repository / "docs/cheat-sheet.md").read_text(encoding="utf-8"))
    said = [*data, *LEVELS, *names]  # words, and commands, which run in test_docs.py
    codes = [code for code in codes if code not in said and not code.startswith("python -m")]
    kinds, failed = [], []
    for code in codes:
        try:
            kinds.append(run(code, data, names))
        except Exception as error:
            failed.append(f"{code}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)
    assert len(codes) > 130 and kinds.count("formula") > 10 and kinds.count("keyword") > 8


def test_the_sheet_has_every_model_and_plot(repository):
    from glmclf import plots

    text = (repository / "docs/cheat-sheet.md").read_text(encoding="utf-8")
    missing = [name for name in glmclf.registry.names() if f"| `{name}` |" not in text]
    missing += [name for name in plots.__all__ if f"plots.{name}(" not in text]
    assert not missing, missing
