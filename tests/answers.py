"""Fits of all kinds, what to ask of them, and answers as text that can be kept: for test_snapshots.py.

Reaches everything through public names; classes of results are those of results.
"""

import contextlib
import functools
import hashlib
import inspect
import json
import pathlib
import pickle
import re
import tempfile
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import glmclf
from glmclf import datasets
from glmclf.formula import api

FOLDER = pathlib.Path(__file__).parent / "snapshots"
PACKAGE = "glmclf"
DEEP = 2  # how many results inside results are followed
KEPT_IN_FULL, INSIDE = 60, 4  # cells of a table, and of one inside a result; of a larger one a digest is kept
REFUSED = "(*args, **kwargs)"  # signature of a method that a penalised fit has only to refuse it
PARTS = 3


# ------------------------------------------------------------------------------------------------------------- data
@functools.cache
def _table(name: str) -> pd.DataFrame:
    rng = np.random.default_rng(20)
    if name == "spector":
        table = datasets.load("spector")
        table["often"] = np.arange(len(table)) % 4
        table["weight"] = (1 + np.arange(len(table)) % 5) / 3
        table["shift"] = np.cos(np.arange(len(table))) / 2
        table["class_room"] = np.arange(len(table)) % 8
        table["const"] = 1.0
        table["psi"] = np.where(table.PSI == 1, "yes", "no")
        table["school"] = np.array(["a", "b", "c"])[np.arange(len(table)) * 7 % 3]
        table["twice"] = 2 * table.GPA - table.PSI
        return table
    if name == "birds":
        table = datasets.load("penguins").iloc[::3].reset_index(drop=True)
        table["often"] = 1 + np.arange(len(table)) % 3
        table["weight"] = (1 + np.arange(len(table)) % 5) / 3
        table["bill"] = table.bill_length_mm / 10 + rng.standard_normal(len(table)).round(2)
        table["depth"] = table.bill_depth_mm / 10 + rng.standard_normal(len(table)).round(2)
        table["nest"] = np.arange(len(table)) % 12
        table["shift"] = np.sin(np.arange(len(table))) / 2
        return table
    if name == "whole birds":
        return _table("birds").dropna().reset_index(drop=True)
    if name == "beetles":
        return datasets.load("beetles")
    if name == "separated":
        x = np.arange(24.0)
        return pd.DataFrame({"x": x, "z": np.sin(x), "g": np.array(["a", "b", "c"])[(x % 3).astype(int)],
                             "y": (x > 11).astype(int), "q": ((x > 11) | (x % 3 == 1)).astype(int),
                             "k": np.where(x > 15, "three", np.where(x % 5 < 2, "one", "two"))})
    if name == "words":
        counts = rng.poisson([2.0, 1.0, 3.0], (40, 3))
        kind = np.array(["ham", "spam"])[np.arange(40) % 2]
        counts[kind == "spam", 0] += rng.poisson(2.0, 20)
        return pd.DataFrame(counts, columns=["w1", "w2", "w3"]).assign(
            kind=kind, flag=rng.integers(0, 2, 40).astype(bool), size=rng.gamma(2.0, 1.0, 40).round(3) + 0.1,
            colour=np.array(["red", "green", "blue"])[rng.integers(0, 3, 40)])
    if name == "curved":
        x = np.linspace(900.0, 1000.0, 60)
        table = pd.DataFrame({"x": x, "z": rng.standard_normal(60).round(3)})
        table["y"] = (rng.random(60) < 1 / (1 + np.exp(-np.sin((x - 900) / 15)))).astype(int)
        table["share"] = (rng.random(60) * 0.9 + 0.05).round(3)
        table["a"], table["b"] = rng.integers(0, 9, 60), rng.integers(1, 9, 60)
        table["c"] = rng.integers(0, 5, 60)
        return table
    raise KeyError(name)


TABLES: dict[str, pd.DataFrame] = {}  # tables of others, by name


def table(name: str) -> pd.DataFrame:
    """A table that the caller may change."""
    return (TABLES[name] if name in TABLES else _table(name)).copy()


def parts(name: str) -> Callable:
    """A function that yields the table in parts."""
    def read():
        whole = table(name)
        cuts = np.linspace(0, len(whole), PARTS + 1).astype(int)
        yield from (whole.iloc[i:j] for i, j in zip(cuts[:-1], cuts[1:]))

    return read


def parquet(name: str) -> str:
    """Path of a file of the table, in row groups."""
    path = pathlib.Path(_folder()) / f"{name}.parquet"
    if not path.exists():
        whole = table(name)
        whole.to_parquet(path, row_group_size=len(whole) // PARTS + 1)
    return str(path)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def _folder() -> str:
    return _temporary().name


# ------------------------------------------------------------------------------------------------------------- fits
class Fit(NamedTuple):
    """How a fit is made, and a table, a variable and a term that it can be asked about."""

    make: Callable[[], Any]
    table: str
    variable: str
    term: str


FITS: dict[str, Fit] = {}
GRADE, SPECIES, SEX = "GRADE ~ GPA + TUCE + psi", "species ~ bill + depth + sex", "sex ~ bill + depth + island"
SIZES, MIXED = "species ~ bill + depth + flipper_length_mm", "species ~ bill + flipper_length_mm + island + sex"


def _of(data: str, variable: str, term: str = "") -> Callable[[str, Callable], None]:
    def add(name: str, make: Callable[[pd.DataFrame], Any]) -> None:
        assert name not in FITS, name
        FITS[name] = Fit(lambda: make(table(data)), data, variable, term or variable)

    return add


def _models(*names: str) -> list[tuple[str, Any]]:
    return [(name, getattr(glmclf, name)) for name in names]


def _add_binary() -> None:
    add = _of("spector", "GPA", "psi")
    for name, M in _models("Logit", "Probit", "CLogLog"):
        add(name, lambda t, M=M: M.from_formula(GRADE + " + school", t).fit())
        add(f"{name} offset", lambda t, M=M: M.from_formula(GRADE, t, offset="shift").fit())
        add(f"{name} firth", lambda t, M=M: M.from_formula(GRADE, t).fit(bias_reduction="firth"))
        add(f"{name} freq_weights HC1", lambda t, M=M: M.from_formula(GRADE, t, freq_weights="often").fit(
            cov_type="HC1"))
    L = glmclf.Logit
    add("Logit arrays", lambda t: L(t.GRADE.to_numpy(), np.column_stack([np.ones(32), t[["GPA", "PSI"]]])).fit())
    add("Logit named columns", lambda t: L(t.GRADE, t[["const", "GPA", "PSI"]]).fit())
    add("Logit newton", lambda t: L.from_formula(GRADE, t).fit("newton"))
    add("Logit lbfgs", lambda t: L.from_formula(GRADE, t).fit("lbfgs"))
    add("Logit sgd", lambda t: L.from_formula(GRADE, t).fit("sgd", seed=3))
    add("Logit one pass", lambda t: L.from_formula(GRADE, t).fit(maxiter=1))
    add("Logit no intercept", lambda t: L.from_formula("GRADE ~ 0 + GPA + PSI", t).fit())
    add("Logit weights", lambda t: L.from_formula(GRADE, t, weights="weight").fit())
    add("Logit cluster", lambda t: L.from_formula(GRADE, t).fit(cov_type="cluster", cov_kwds={"groups": "class_room"}))
    add("Logit HC3", lambda t: L.from_formula(GRADE, t).fit(cov_type="HC3"))
    add("Logit HAC", lambda t: L.from_formula(GRADE, t).fit(cov_type="HAC", cov_kwds={"maxlags": 2}))
    add("Logit bootstrap", lambda t: L.from_formula("GRADE ~ GPA", t).fit(
        cov_type="bootstrap", cov_kwds={"reps": 20, "seed": 3}))
    add("Logit jackknife", lambda t: L.from_formula("GRADE ~ GPA", t).fit(cov_type="jackknife"))
    add("Logit median", lambda t: L.from_formula(GRADE, t).fit(bias_reduction="median"))
    add("Logit firth offset weights", lambda t: L.from_formula(GRADE, t, offset="shift", freq_weights="often").fit(
        bias_reduction="firth"))
    add("Logit constrained", lambda t: L.from_formula(GRADE, t).fit_constrained("GPA = 10*TUCE"))
    add("Logit constrained HC0", lambda t: L.from_formula(GRADE, t).fit_constrained(
        "GPA + psi[T.yes] = 4, TUCE = 0.1", cov_type="HC0"))
    add("Probit constrained offset", lambda t: glmclf.Probit.from_formula(GRADE, t, offset="shift").fit_constrained(
        "psi[T.yes] = 1"))
    add("Logit collinear", lambda t: L.from_formula(GRADE + " + twice", t).fit())
    add("Logit collinear constrained", lambda t: L.from_formula("GRADE ~ GPA + PSI + TUCE + twice", t).fit_constrained(
        "TUCE = 0.1"))
    add("Logit ridge", lambda t: L.from_formula(GRADE, t).fit_regularized(0.1))
    add("Logit ridge offset", lambda t: L.from_formula(GRADE, t, offset="shift").fit_regularized(0.05))
    add("Logit lasso", lambda t: L.from_formula(GRADE, t).fit_regularized(0.1, L1_wt=1.0))
    add("Logit elastic net", lambda t: L.from_formula(GRADE, t, freq_weights="often").fit_regularized(0.1, L1_wt=0.5))
    add("Logit refit after lasso", lambda t: L.from_formula(GRADE, t).fit_regularized(0.1, L1_wt=1.0, refit=True))
    add("Logit path", lambda t: L.from_formula(GRADE, t).fit_regularized(alphas=[0.5, 0.1, 0.02], L1_wt=1.0))
    add("Logit cv", lambda t: L.from_formula(GRADE, t).fit_regularized_cv(folds=3, seed=3, L1_wt=1.0))
    add("Logit streamed", lambda t: L.from_formula(GRADE + " + school", parts("spector")).fit(n_threads=1))
    add("Logit Parquet", lambda t: L.from_formula(GRADE, parquet("spector"), freq_weights="often").fit(
        cov_type="HC1", n_threads=1))
    add("Logit streamed ridge", lambda t: L.from_formula(GRADE, parts("spector")).fit_regularized(0.1, n_threads=1))
    add("Logit streamed firth", lambda t: L.from_formula(GRADE, parts("spector")).fit(
        bias_reduction="firth", n_threads=1))
    add("Logit pooled", lambda t: glmclf.pool(
        [L.from_formula(GRADE, t.assign(GPA=t.GPA + np.sin(t.index * (1 + m)) / 9)).fit() for m in range(3)]))
    add = _of("birds", "bill", "island")
    add("Logit missing rows", lambda t: L.from_formula(SEX, t, event="male").fit())
    add("Logit spline", lambda t: L.from_formula("sex ~ bs(bill, df=4) + depth:island", t).fit())
    add("Probit poly", lambda t: glmclf.Probit.from_formula("sex ~ poly(bill, 2) * np.log(depth + 9)", t).fit())
    add = _of("beetles", "dose")
    for name, M in _models("Logit", "CLogLog"):
        add(f"{name} counts", lambda t, M=M: M.from_formula("killed + survived ~ dose", t).fit())
    add("Logit counts firth", lambda t: L.from_formula("killed + survived ~ dose", t).fit(bias_reduction="firth"))
    add("Logit counts streamed", lambda t: L.from_formula("killed + survived ~ dose", parts("beetles")).fit(
        n_threads=1))
    add = _of("separated", "z", "g")
    add("Logit separated", lambda t: L.from_formula("y ~ x + z", t).fit())
    add("Logit quasi-separated", lambda t: L.from_formula("q ~ z + g", t).fit())
    add("Probit quasi-separated HC1", lambda t: glmclf.Probit.from_formula("q ~ z + g", t).fit(cov_type="HC1"))
    add("Logit separated firth", lambda t: L.from_formula("y ~ x + z", t).fit(bias_reduction="firth"))
    add("Logit separated streamed", lambda t: L.from_formula("q ~ z + g", parts("separated")).fit(n_threads=1))
    add("MNLogit separated", lambda t: glmclf.MNLogit.from_formula("k ~ x + z", t).fit())
    add("MNLogit quasi-separated", lambda t: glmclf.MNLogit.from_formula("k ~ z + I(x > 15)", t).fit())
    add = _of("curved", "x")
    add("Logit ill-conditioned", lambda t: L.from_formula("y ~ x + I(x**2) + I(x**3)", t).fit())
    add("Logit ill-conditioned offset", lambda t: L.from_formula(
        "y ~ x + I(x**2) + I(x**3) + I(x**4)", t, offset="z").fit(cov_type="HC1"))
    add("Logit fractions", lambda t: L.from_formula("share ~ x + z", t).fit())


def _add_multinomial() -> None:
    M = glmclf.MNLogit
    add = _of("birds", "bill", "sex")
    add("MNLogit", lambda t: M.from_formula(SPECIES, t).fit())
    add("MNLogit freq_weights", lambda t: M.from_formula(SPECIES, t, freq_weights="often", reference="Gentoo").fit())
    add("MNLogit weights", lambda t: M.from_formula(SPECIES, t, weights="weight").fit())
    add("MNLogit offset HC1", lambda t: M.from_formula("species ~ bill + depth", t.dropna(), offset=np.column_stack(
        [t.dropna()["shift"], -t.dropna()["shift"]])).fit(cov_type="HC1"))
    add("MNLogit cluster", lambda t: M.from_formula("species ~ bill + depth", t).fit(
        cov_type="cluster", cov_kwds={"groups": "nest"}))
    add("MNLogit firth", lambda t: M.from_formula(SPECIES, t).fit(bias_reduction="firth"))
    add("MNLogit median", lambda t: M.from_formula("species ~ bill + depth", t).fit(bias_reduction="median"))
    add("MNLogit constrained", lambda t: M.from_formula("species ~ bill + depth", t).fit_constrained(
        np.array([[0.0, 1, 0, 0, -1, 0]])))
    add("MNLogit collinear", lambda t: M.from_formula("species ~ bill + depth + I(bill + depth)", t).fit())
    add("MNLogit rebased", lambda t: M.from_formula(SPECIES, t).fit().rebase("Gentoo"))
    add("MNLogit ridge", lambda t: M.from_formula(SPECIES, t).fit_regularized(0.05))
    add("MNLogit symmetric ridge", lambda t: M.from_formula(SPECIES, t).fit_regularized(
        0.05, symmetric=True))
    add("MNLogit lasso", lambda t: M.from_formula(SPECIES, t).fit_regularized(0.1, L1_wt=1.0))
    add("MNLogit refit after lasso", lambda t: M.from_formula(SPECIES, t).fit_regularized(
        0.1, L1_wt=1.0, refit=True))
    add("MNLogit streamed", lambda t: M.from_formula(SPECIES, parts("birds")).fit(n_threads=1))
    add = _of("curved", "z")
    add("MNLogit counts", lambda t: M.from_formula("a + b + c ~ z + poly(x, 2)", t).fit())
    add("MNLogit ill-conditioned", lambda t: M.from_formula("a + b + c ~ x + I(x**2) + I(x**3)", t).fit())


def _add_generative() -> None:
    add = _of("birds", "bill", "sex")
    for name, M in _models("LDA", "QDA"):
        add(name, lambda t, M=M: M.from_formula(SIZES, t).fit())
        add(f"{name} diagonal", lambda t, M=M: M.from_formula(SIZES, t, covariance="diag").fit())
        add(f"{name} weights", lambda t, M=M: M.from_formula(SIZES, t, weights="weight").fit())
    D, Q, N = glmclf.LDA, glmclf.QDA, glmclf.NaiveBayes
    add("LDA shrunken", lambda t: D.from_formula(SIZES, t, shrinkage=0.3).fit())
    add("LDA shrunken by Ledoit and Wolf", lambda t: D.from_formula(SIZES, t, shrinkage="ledoit_wolf").fit())
    add("LDA exact", lambda t: D.from_formula(SIZES, t).fit(bias_reduction="exact"))
    add("LDA priors HC1", lambda t: D.from_formula(
        "species ~ bill + depth", t, priors=[0.2, 0.3, 0.5], divisor="unbiased").fit(cov_type="HC1"))
    add("LDA spherical", lambda t: D.from_formula(SIZES, t, covariance="spherical").fit())
    add("LDA sex", lambda t: D.from_formula("sex ~ bill + depth", t, freq_weights="often").fit())
    add("LDA streamed", lambda t: D.from_formula(SIZES, parts("birds")).fit(n_threads=1))
    add("LDA implied logit", lambda t: D.from_formula("species ~ bill + depth", t).fit().discriminant)
    add("QDA ridge", lambda t: Q.from_formula(SIZES, t, ridge=0.1).fit())
    add("QDA reference", lambda t: Q.from_formula("species ~ bill + depth", t, reference="Gentoo").fit())
    add("NaiveBayes", lambda t: N.from_formula(MIXED, t).fit())
    add("NaiveBayes pooled", lambda t: N.from_formula(SIZES, t, pooled=True, missing="drop").fit())
    add("NaiveBayes smoothed", lambda t: N.from_formula(MIXED, t, smoothing=1.0, weights="weight").fit())
    add("NaiveBayes streamed", lambda t: N.from_formula(MIXED, parts("birds")).fit(n_threads=1))
    add("NaiveBayes implied logit", lambda t: N.from_formula(
        "species ~ bill + island", t, pooled=True, smoothing=1.0).fit().discriminant)
    add = _of("words", "w1", "colour")
    add("NaiveBayes families", lambda t: N.from_formula(
        "kind ~ w1 + flag + size + colour + w2", t, families={"w1": "poisson", "size": "gamma"}).fit())
    add("NaiveBayes multinomial", lambda t: N.from_formula(
        "kind ~ w1 + w2 + w3 + flag", t, multinomial=["w1", "w2", "w3"], smoothing=1.0).fit())


_add_binary()
_add_multinomial()
_add_generative()


# -------------------------------------------------------------------------------------------------------- questions
def _rows(f: Fit) -> pd.DataFrame:
    whole = table(f.table)
    return whole.iloc[[1, len(whole) // 2, len(whole) - 1]]


def _event(res: Any) -> Any:
    return res.levels[-1] if hasattr(res, "levels") else None


def _null(res: Any, f: Fit) -> Any:
    return type(res.model).from_formula(res.model.formula.split("~")[0] + "~ 1", table(f.table)).fit()


def _first(res: Any, count: int) -> np.ndarray:
    return np.eye(len(res.cov_params()))[:count]


#: what a method is asked whose arguments are needed, or say more than none; a name is the method, then what is asked
QUESTIONS: dict[str, Callable[[Any, Fit], Any]] = {
    "summary exponentiate": lambda r, f: r.summary(exponentiate=True),
    "summary_frame exponentiate": lambda r, f: r.summary_frame(exponentiate=True),
    "conf_int profile": lambda r, f: r.conf_int(method="profile"),
    "tidy exponentiate": lambda r, f: r.tidy(exponentiate=True),
    "cov_params r": lambda r, f: r.cov_params(_first(r, 2)),
    "t_test": lambda r, f: r.t_test(_first(r, 1)),
    "t_test name": lambda r, f: r.t_test(f"{f.variable} = 0"),
    "f_test": lambda r, f: r.f_test(_first(r, 2)),
    "wald_test": lambda r, f: r.wald_test(_first(r, 2)),
    "nonlinear_test": lambda r, f: r.nonlinear_test(f"{f.variable}**2 = 1"),
    "t_test_pairwise": lambda r, f: r.t_test_pairwise(f.term, "sidak"),
    "anova 1": lambda r, f: r.anova(1),
    "anova 2 wald": lambda r, f: r.anova(2, "wald"),
    "anova 3 score": lambda r, f: r.anova(3, "score"),
    "score_test": lambda r, f: r.score_test(np.cos(np.arange(len(r.fittedvalues)))[:, None]),
    "constraint_test wald": lambda r, f: r.constraint_test("wald"),
    "constraint_test score": lambda r, f: r.constraint_test("score"),
    "info_criteria": lambda r, f: r.info_criteria("bic"),
    "with_cov HC0": lambda r, f: r.with_cov("HC0"),
    "with_cov expected": lambda r, f: r.with_cov("expected"),
    "with_cov HC2": lambda r, f: r.with_cov("HC2"),
    "predict": lambda r, f: r.predict(_rows(f)),
    "predict linear": lambda r, f: r.predict(_rows(f), "linear"),
    "predict class": lambda r, f: r.predict(_rows(f), "class"),
    "get_prediction": lambda r, f: r.get_prediction(_rows(f)),
    "get_prediction linear": lambda r, f: r.get_prediction(_rows(f), "linear"),
    "get_distribution": lambda r, f: r.get_distribution(_rows(f)),
    "augment new": lambda r, f: r.augment(_rows(f)),
    "get_margeff mean": lambda r, f: r.get_margeff("mean"),
    "get_margeff eyex": lambda r, f: r.get_margeff(method="eyex", variables=f.variable),
    "get_margeff over": lambda r, f: r.get_margeff(over={"birds": "year"}.get(f.table, f.term), contrast="pairwise"),
    "get_margeff data": lambda r, f: r.get_margeff(_rows(f)),
    "predictions": lambda r, f: r.predictions(f.term),
    "predictions values": lambda r, f: r.predictions({f.variable: [1.0, 2.0]}),
    "contrasts": lambda r, f: r.contrasts(f.term),
    "contrasts ratio": lambda r, f: r.contrasts({f.variable: [2.0, 3.0]}, comparison="ratio", adjust="sidak"),
    "inverse_predict": lambda r, f: r.inverse_predict(0.4, f.variable),
    "get_influence pattern": lambda r, f: r.get_influence("pattern"),
    "classification_report new": lambda r, f: r.classification_report(newdata=_rows(f)),
    "compare_roc": lambda r, f: r.compare_roc(r, event=_event(r)),
    "decision_curve": lambda r, f: r.decision_curve([0.2, 0.5], event=_event(r)),
    "precision_recall": lambda r, f: r.precision_recall(event=_event(r)),
    "roc event": lambda r, f: r.roc(event=_event(r)),
    "lift": lambda r, f: r.lift(4, event=_event(r)),
    "compare_vuong": lambda r, f: r.compare_vuong(r),
    "compare_lr_test": lambda r, f: r.compare_lr_test(r),
    "compare_lr_test null": lambda r, f: r.compare_lr_test(_null(r, f)),
    "compare_vuong null": lambda r, f: r.compare_vuong(_null(r, f)),
    "validate": lambda r, f: r.validate(seed=3, reps=2),
    "validate cv": lambda r, f: r.validate("cv", seed=3, folds=2),
    "simulate": lambda r, f: r.simulate(2, seed=3),
    "sample": lambda r, f: r.sample(4, seed=3),
    "resid_quantile": lambda r, f: r.resid_quantile(seed=3),
    "vif column": lambda r, f: r.vif(by="column"),
    "rebase": lambda r, f: r.rebase(r.levels[-1]),
    "combine_test": lambda r, f: r.combine_test(r.levels[0], r.levels[-1]),
    "iia_test small-hsiao": lambda r, f: r.iia_test("small-hsiao", seed=3),
    "density": lambda r, f: r.density(f.variable, [1.0, 2.0]),
    "typicality new": lambda r, f: r.typicality(_rows(f)),
    "compare_conditional": lambda r, f: r.compare_conditional(
        glmclf.MNLogit.from_formula(r.model.formula, table(f.table)).fit()),
    "at": lambda r, f: r.at(0.1),
    "save": lambda r, f: saved(r),
    "load": lambda r, f: loaded(r).predict(_rows(f)),
    "pickle": lambda r, f: pickle.loads(pickle.dumps(r)).params,
}
LEFT_ALONE = {"remove_data", "save", "load", "model", "endog", "exog", "data", "validate", "simulate", "resid_quantile",
              "mle_retvals", "results"}


def saved(res: Any) -> Any:
    """What stands in the file of a result."""
    path = pathlib.Path(_folder()) / "saved.json"
    res.save(path)
    return json.loads(path.read_text(encoding="utf-8"))


def loaded(res: Any) -> Any:
    path = pathlib.Path(_folder()) / "saved.json"
    res.save(path)
    return glmclf.load(path)


def public_names(thing: Any) -> list[str]:
    """Names without an underscore that the package itself defines, of an object or a class."""
    cls = thing if isinstance(thing, type) else type(thing)
    found = []
    for name in dir(thing):
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if not name.startswith("_") and (owner is None or ours(owner)):
            found.append(name)
    return found


def ours(cls: type) -> bool:
    return cls.__module__.split(".")[0] == PACKAGE


def is_method(thing: Any, name: str) -> bool:
    static = inspect.getattr_static(thing, name, None)
    return isinstance(static, types.FunctionType | classmethod | staticmethod)


def signature(function: Any) -> str:
    """Names, kinds and defaults of parameters; annotations name modules, which may move."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def needs_nothing(function: Any) -> bool:
    return all(p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) or p.name == "self"
               for p in inspect.signature(function).parameters.values())


_plain_types: dict[type, type] = {}


def plain_type(res: Any) -> type:
    """The class of results of the same model without a penalty."""
    cls = type(res)
    if not hasattr(cls, "posterior_sd"):
        return cls
    if cls not in _plain_types:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _plain_types[cls] = type(res.model.fit(n_threads=1))
    return _plain_types[cls]


def own_names(res: Any) -> list[str]:
    """Public names of a fit, without those that a penalised one has only to refuse them."""
    plain = plain_type(res)
    return [name for name in public_names(res) if hasattr(plain, name) or not refuses(res, name)]


def own_signature(res: Any, name: str) -> str | None:
    """Signature of a method, None for an attribute; one that is only refused has that of the fit without penalty."""
    if not is_method(type(res), name):
        return None
    found = signature(getattr(res, name))
    return signature(inspect.getattr_static(plain_type(res), name)).replace("(self, ", "(").replace(
        "(self)", "()") if found == REFUSED else found


def refuses(res: Any, name: str) -> bool:
    if is_method(type(res), name):
        return signature(getattr(res, name)) == REFUSED
    try:
        getattr(res, name)
    except (NotImplementedError, AttributeError):
        return True
    return False


def questions(res: Any, f: Fit) -> dict[str, Callable[[], Any]]:
    """What a fit is asked: all its attributes, methods that need no argument, and `QUESTIONS`."""
    found: dict[str, Callable[[], Any]] = {}
    plain, names = plain_type(res), own_names(res)
    for name in names:
        if name in LEFT_ALONE:
            continue
        if not is_method(type(res), name):
            found[name] = lambda name=name: getattr(res, name)
        elif needs_nothing(getattr(plain, name, getattr(res, name))):
            found[f"{name}()"] = lambda name=name: getattr(res, name)()
    have = {*names, *(["pickle"] if "save" in names else [])}
    for asked, question in QUESTIONS.items():
        if asked.split()[0] in have:
            found[f"{asked}?"] = lambda question=question: question(res, f)
    return found


# ---------------------------------------------------------------------------------------------------------- answers
def answer(question: Callable[[], Any], write: Callable[[Any], Any]) -> Any:
    """What was answered or refused, with the warnings, as `write` puts it."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = write(question())
        except Exception as error:
            found = {"raises": type(error).__name__, "says": said(str(error))}
    words = [f"{w.category.__name__}: {said(str(w.message))}" for w in heard if "glmclf" in w.category.__module__]
    return {"answer": found, "warnings": words} if words else found


def said(text: str) -> str:
    """A text without this run's folder, date and time, and without the modules in which classes stand."""
    text = text.replace(_folder(), "FOLDER")
    text = re.sub(r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4}\b", "DATE", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"\bglmclf(?:\.\w+)+\.([A-Z]\w+)", r"\1", text)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def labels(index: pd.Index) -> list[str]:
    return [str(label) if isinstance(label, tuple) else f"{label}" for label in index.tolist()]


def cell(value: Any) -> Any:
    return written(value, DEEP)


def written(thing: Any, deep: int = DEEP) -> Any:
    """An object as JSON that tells the last bit."""
    if isinstance(thing, pd.DataFrame | pd.Series):
        return _written_table(thing, deep)
    if isinstance(thing, np.ndarray):
        return {"shape": list(thing.shape), "dtype": str(thing.dtype), "cells": short(
            [cell(v) for v in thing.ravel().tolist()], deep)}
    if isinstance(thing, np.generic):
        return written(thing.item(), deep)
    if isinstance(thing, float):
        return repr(thing)
    if thing is None or isinstance(thing, bool | int):
        return thing
    if isinstance(thing, str):
        return lines(said(thing), deep)
    if isinstance(thing, dict):
        return {str(key): written(value, deep) for key, value in thing.items()}
    if isinstance(thing, pd.Index):
        return labels(thing)
    if isinstance(thing, list | tuple | set | frozenset):
        if hasattr(thing, "_asdict"):
            return written(thing._asdict(), deep)
        return [written(value, deep) for value in (sorted(thing) if isinstance(thing, set | frozenset) else thing)]
    if hasattr(thing, "as_text"):
        return lines(said(thing.as_text()), deep)
    return _written_object(thing, deep)


def _written_table(thing: pd.DataFrame | pd.Series, deep: int) -> Any:
    table = thing.to_frame() if isinstance(thing, pd.Series) else thing
    cells = [[cell(v) for v in table.iloc[:, j].tolist()] for j in range(table.shape[1])]
    names = {"columns": labels(table.columns), "of columns": level_names(table.columns),
             "index": labels(table.index), "of index": level_names(table.index)}
    if isinstance(thing, pd.Series):
        names = {"series": str(thing.name), "index": names["index"], "of index": names["of index"]}
    names = {name: found for name, found in names.items() if found}
    if deep == DEEP:
        return {**{name: short(found) if name == "index" else found for name, found in names.items()},
                "cells": short(cells)}
    return {"table": short([json.dumps(names), *cells], deep)}


def level_names(index: pd.Index) -> list[str]:
    return [str(name) for name in index.names] if any(name is not None for name in index.names) else []


def _written_object(thing: Any, deep: int) -> Any:
    if ours(type(thing)):
        if not deep:
            return lines(said(repr(thing)), deep)
        return {"class": type(thing).__name__,
                **{name: answer(ask, lambda v: written(v, deep - 1)) for name, ask in inside(thing).items()}}
    names = [name for name in ("statistic", "pvalue", "df_denom", "effect") if getattr(thing, name, None) is not None]
    found = {name: written(np.asarray(getattr(thing, name)), 0) for name in names}
    if hasattr(thing, "summary_frame"):
        with contextlib.suppress(Exception):
            found["summary_frame"] = written(thing.summary_frame(), 0)
    if hasattr(thing, "dist") and hasattr(thing, "mean"):  # a frozen distribution
        found["mean"] = written(np.asarray(thing.mean()), 0)
    return found or lines(said(repr(thing)), deep)


def inside(thing: Any) -> dict[str, Callable[[], Any]]:
    """What an object of ours has to say: of a result its estimates, of others all that needs no argument."""
    if hasattr(type(thing), "cov_params") and hasattr(type(thing), "params"):
        return {name: lambda name=name: getattr(thing, name) for name in ("params", "bse")}
    found: dict[str, Callable[[], Any]] = {"repr": lambda: repr(thing)}
    for name in public_names(thing):
        if name in LEFT_ALONE:
            continue
        if not is_method(type(thing), name):
            found[name] = lambda name=name: getattr(thing, name)
        elif needs_nothing(getattr(thing, name)):
            found[f"{name}()"] = lambda name=name: getattr(thing, name)()
    return found


def lines(text: str, deep: int = DEEP) -> Any:
    return short(text.split("\n"), deep) if "\n" in text else text


def short(cells: list, deep: int = DEEP) -> Any:
    """Cells as they are, of many the first ones and a digest."""
    count = sum(len(c) if isinstance(c, list) else 1 for c in cells)
    if count <= (KEPT_IN_FULL if deep == DEEP else INSIDE):
        return cells
    digest = hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]
    first = [c[:2] if isinstance(c, list) else c[:60] if isinstance(c, str) else c for c in cells[:3]]
    return {"of": count, "digest": digest, "first": first}


def other_answers() -> dict[str, Callable[[], Any]]:
    """Functions of several fits, of none, and of names in lower case."""
    def fit(M, formula, data="spector"):
        return M.from_formula(formula, table(data)).fit()

    L, M, D = glmclf.Logit, glmclf.MNLogit, glmclf.LDA
    small, large = "GRADE ~ GPA", GRADE
    return {
        "compare": lambda: glmclf.compare(fit(L, small), fit(L, large), fit(glmclf.Probit, large)),
        "compare classes": lambda: glmclf.compare(fit(M, "species ~ bill", "whole birds"), fit(
            M, "species ~ bill + depth", "whole birds")),
        "regression_table": lambda: glmclf.regression_table(fit(L, small), fit(L, large), stars=True),
        "regression_table markdown": lambda: glmclf.regression_table(fit(L, small), fit(L, large)).as_markdown(),
        "regression_table latex": lambda: glmclf.regression_table(fit(L, small), fit(L, large)).as_latex(),
        "regression_table classes": lambda: glmclf.regression_table(fit(M, "species ~ bill", "birds"),
                                                                    exponentiate=True, intervals=True),
        "detect_separation": lambda: glmclf.detect_separation("q ~ z + g", table("separated")),
        "detect_separation complete": lambda: glmclf.detect_separation("y ~ x + z", table("separated")),
        "detect_separation classes": lambda: glmclf.detect_separation("k ~ x + z", table("separated"), "mnlogit"),
        "detect_separation none": lambda: glmclf.detect_separation(large, table("spector")),
        "compare_lr_test": lambda: fit(L, large).compare_lr_test(fit(L, small)),
        "compare_lr_test classes": lambda: fit(M, "species ~ bill + depth", "whole birds").compare_lr_test(
            fit(M, "species ~ bill", "whole birds")),
        "compare_lr_test LDA": lambda: fit(glmclf.QDA, "species ~ bill + depth", "whole birds").compare_lr_test(
            fit(D, "species ~ bill + depth", "whole birds")),
        "compare_vuong": lambda: fit(L, "GRADE ~ TUCE").compare_vuong(fit(L, small)),
        "compare_roc": lambda: fit(L, large).compare_roc(fit(L, small)),
        "pool classes": lambda: glmclf.pool([fit(M, "species ~ bill", "birds"), fit(M, "species ~ bill", "birds")]),
        "summary latex": lambda: fit(L, small).summary(title="t").tables[1].as_latex_tabular(),
        "summary html": lambda: fit(L, small)._repr_html_(),
        "summary markdown": lambda: fit(M, "species ~ bill", "birds").summary().as_markdown(),
        "raise separated": lambda: L.from_formula("y ~ x + z", table("separated")).fit(separation="raise"),
        "raise collinear": lambda: L.from_formula("GRADE ~ GPA + PSI + twice", table("spector")).fit(
            collinear="raise"),
        "raise missing": lambda: L.from_formula(SEX, table("birds"), missing="raise"),
        "raise response": lambda: L.from_formula("GPA ~ TUCE", table("spector")),
        "raise three levels": lambda: L.from_formula("species ~ bill", table("birds")),
        "raise cov_type": lambda: L.from_formula(small, table("spector")).fit(cov_type="HC9"),
        "raise method": lambda: L.from_formula(small, table("spector")).fit("nm"),
        "raise event": lambda: L.from_formula(SEX, table("birds"), event="neither"),
        "raise unseen": lambda: fit(L, "sex ~ island", "birds").predict({"island": ["Atlantis"]}),
        "raise column": lambda: fit(L, small).predict({"TUCE": [1]}),
        "rows streamed": lambda: L.from_formula(small, parts("spector")).fit(n_threads=1).resid_dev,
        **{f"api {name}": lambda name=name: getattr(api, name)(
            "GRADE ~ GPA" if name in ("logit", "probit", "cloglog") else "species ~ bill", table(
                "spector" if name in ("logit", "probit", "cloglog") else "birds")).fit() for name in api.__all__},
        **{f"loglike {name}": lambda name=name: _at_params(getattr(glmclf, name)) for name in
           ("Logit", "Probit", "CLogLog", "MNLogit")},
    }


def _at_params(M: Any) -> dict[str, Any]:
    """A model's likelihood and derivatives at parameters that are no estimates."""
    binary = M is not glmclf.MNLogit
    model = M.from_formula("GRADE ~ GPA" if binary else "species ~ bill", table("spector" if binary else "birds"))
    at = np.array([-1.0, 0.25]) if binary else np.array([-1.0, 0.25, 0.5, -0.125])
    names = ("loglike", "loglikeobs", "score", "score_obs", "score_factor", "hessian", "hessian_factor", "information")
    return {name: getattr(model, name)(at) for name in names}
