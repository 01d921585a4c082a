"""Fits in every state, and their answers as numbers that can be compared under a law: for test_states.py."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import answers
import numpy as np
import pandas as pd
from answers import Fit, inside, ours, questions

import glmclf

UNIT = 1024.0  # by which a law rescales a column; a power of two costs no digit
REFUSALS = (ValueError, NotImplementedError, AttributeError, TypeError)  # of ours, and of nothing that is below
FEW = 20  # estimates of which all pairs are compared
BELOW = (np.linalg.LinAlgError, UnicodeError)  # ValueErrors that are no words of ours
LEFT_OUT = {
    # what is of the table and not of the fit, what draws, and what counts rows
    *("iia_test()", "iia_test small-hsiao?", "sample?", "sample()", "save?", "pickle?", "load?", "without_data()"),
    *("decision_curve?", "decision_curve()", "score_test?", "compare_lr_test null?", "compare_vuong null?"),
    *("validate?", "validate cv?", "simulate?", "resid_quantile?", "separation", "digits", "compare_conditional?"),
}


def table(seed: int = 0, n: int = 48) -> pd.DataFrame:
    """Binary responses y and two, q and k2 of which g == "b" is decided, classes k and k3, counts, weights, offset."""
    rng = np.random.default_rng(seed)
    t = pd.DataFrame({"x": rng.normal(size=n).round(1), "z": rng.normal(size=n).round(2)})
    t["g"] = np.array(["a", "b", "c"])[np.arange(n) * 7 % 3]
    eta = 0.7 * t.x - 0.4 * t.z + (t.g == "c")
    t["y"] = (eta + rng.logistic(size=n) > 0).astype(int)
    t.loc[:3, "y"] = [0, 1, 0, 1]
    t["two"] = np.where(t.y == 1, "yes", "no")
    t["q"] = np.where(t.g == "b", 1, t.y)
    t["q2"] = np.where(t.q == 1, "yes", "no")
    t["perfect"] = (t.x + 0.001 * t.z > 0).astype(int)
    other = np.where(0.5 * t.z + rng.logistic(size=n) > 0, "one", "three")
    t["k"] = np.where(t.y == 1, other, "two")
    t["k3"] = np.where(t.g == "b", "three", np.where(t.y == 1, "one", "two"))
    t["won"], t["lost"] = rng.integers(0, 5, n), rng.integers(1, 5, n)
    t["c1"], t["c2"], t["c3"] = rng.integers(0, 5, n), rng.integers(1, 5, n), rng.integers(0, 4, n)
    t["f"], t["w"] = 1 + np.arange(n) % 3, (1 + np.arange(n) % 5) / 3
    t["o"], t["c"] = np.round(np.cos(np.arange(n)), 2), np.arange(n) % 12
    t["twice"] = 2 * t.x - t.z
    return t


def _of(M: str, formula: str, how: Callable[[Any], Any] = lambda m: m.fit(), **keywords: Any) -> Callable[..., Any]:
    def make(data: Any, **more: Any) -> Any:
        return how(getattr(glmclf, M).from_formula(formula, data, **{**keywords, **more}))

    return make


def _clustered(m: Any) -> Any:
    return m.fit(cov_type="cluster", cov_kwds={"groups": "c"})


def _hc3(m: Any) -> Any:
    return m.fit(cov_type="HC3")


MANY = ("many levels", "many levels, loaded", "many levels, in parts")

#: name -> (fit, laws that it is asked under)
STATES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "separated": (_of("Logit", "q ~ x + z + g"), ("reversed", "repeated", "many levels")),
    "all separated": (_of("Probit", "perfect ~ x + z", _clustered), ("reversed", "loaded")),
    "separated classes": (_of("MNLogit", "k3 ~ x + z + g"), ("reversed",)),
    "two separated classes": (_of("MNLogit", "q2 ~ x + g"), ("repeated", "many levels")),
    "clustered": (_of("CLogLog", "y ~ x + z", _clustered), ("scaled",)),
    "offset and collinear": (_of("Logit", "y ~ x + z + twice", offset="o"), ("without rows",)),
    "weights": (_of("Logit", "q ~ x + g", weights="w"), ("raising", "many levels")),
    "counts": (_of("CLogLog", "won + lost ~ x + g"), ("loaded", "many levels")),
    "firth": (_of("Probit", "q ~ x + g", lambda m: m.fit(bias_reduction="firth")), ("repeated", "many levels")),
    "median": (_of("Logit", "q ~ x + g", lambda m: m.fit(bias_reduction="median")), ("reversed",)),
    "ridge": (_of("Logit", "y ~ x + g", lambda m: m.fit_regularized(0.1)), ("loaded", "many levels")),
    "refit": (_of("MNLogit", "two ~ x + z", lambda m: m.fit_regularized(0.05, L1_wt=1.0, refit=True)), ("reversed",)),
    "constrained": (_of("Logit", "y ~ x + z", lambda m: m.fit_constrained("x = z")), ("repeated",)),
    "fixed": (_of("Probit", "y ~ x + z + g", lambda m: m.fit_constrained("g[T.c] = 0")), ("reversed", "many levels")),
    "decided base": (_of("Logit", "q ~ x + z + C(g, Treatment('b'))", _clustered, offset="o"), MANY[:1]),
    "classes of a factor": (_of("MNLogit", "k ~ x + g", _clustered, weights="w"), MANY[:2]),
    "slopes by level": (_of("Probit", "y ~ 0 + g + x:g", _hc3, freq_weights="f"), MANY[:2]),
    "slopes of classes": (_of("MNLogit", "c1 + c2 + c3 ~ x * g"), MANY[2:]),
    "far and collinear": (_of("CLogLog", "y ~ I(x + 1e6) + twice + x + g", _clustered), MANY[:1]),
    "deviations": (_of("Logit", "q ~ x + z + C(g, Sum)", _hc3), MANY[::2]),
    "LDA": (_of("LDA", "k ~ x + z"), ("in parts",)),
    "NaiveBayes": (_of("NaiveBayes", "k3 ~ x + g", smoothing=1.0), ("repeated",)),
}


# ---------------------------------------------------------------------------------------------------------- answers
def numbers(thing: Any, deep: int = 2) -> dict[Any, Any]:
    """Flat dict of the numbers and texts that an answer holds, by label."""
    return dict(_numbers(thing, (), deep))


def _numbers(thing: Any, at: tuple[Any, ...], deep: int) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(thing, pd.Series):
        thing = thing.to_frame("")
    if isinstance(thing, pd.DataFrame):
        rows = [str(label) for label in thing.index.tolist()]
        times: dict[str, int] = {}
        for i, row in enumerate(rows):
            times[row] = times.get(row, 0) + 1
            for j, name in enumerate(thing.columns.tolist()):
                yield (*at, "row", row, times[row], str(name)), _plain(thing.iat[i, j])
    elif isinstance(thing, np.ndarray):
        yield (*at, "shape"), thing.shape
        for i, v in enumerate(thing.ravel().tolist()):
            yield (*at, i), v
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from _numbers(value, (*at, *(key if isinstance(key, tuple) else (str(key),))), deep)
    elif isinstance(thing, Fault):
        yield (*at, "fault"), thing
    elif isinstance(thing, list | tuple):
        for i, value in enumerate(thing):
            yield from _numbers(value, (*at, i), deep)
    elif ours(type(thing)) and deep and not isinstance(thing, BaseException):
        if hasattr(type(thing), "cov_params") and hasattr(type(thing), "params"):
            yield from _numbers(thing.params, (*at, "params"), 0)
            return
        for name, ask in inside(thing).items():
            if name != "repr" and not (name == "contrasts()" and len(thing) > FEW):
                yield from _numbers(answer(ask, deep - 1), (*at, name), 0)
    elif getattr(thing, "statistic", None) is not None:
        for name in ("statistic", "pvalue", "df_denom", "effect"):
            yield from _numbers(np.asarray(getattr(thing, name, None), dtype=float), (*at, name), 0)
    elif hasattr(thing, "summary_frame"):
        yield from _numbers(thing.summary_frame(), (*at, "summary_frame"), 0)
    elif isinstance(thing, float | int | str | bool | None | np.generic):
        yield at, _plain(thing)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class Fault(str):
    """An answer that is an error of nobody's, or a number with a warning from below."""


def answer(ask: Callable[[], Any], deep: int = 2) -> Any:
    """Flat numbers, the words of a refusal as a dict of its class, or a `Fault`."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found: Any = numbers(ask(), deep)
        except Exception as error:
            return _refusal(error)
    for w in heard:
        if issubclass(w.category, RuntimeWarning) and not ours(w.category):
            return Fault(f"{w.category.__name__}: {w.message} at {w.filename}:{w.lineno}")
    return found


def _refusal(error: Exception) -> Any:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    said = "/glmclf/" in last.filename and "raise" in (last.line or "")
    said |= "got an unexpected keyword argument" in str(error)  # which Python says
    if said and isinstance(error, REFUSALS) and not isinstance(error, BELOW) and str(error):
        return {"refused": type(error).__name__, "says": str(error)}
    way = " < ".join(f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in frames[::-1][:5])
    return Fault(f"{type(error).__name__}: {error} at {way}")


def refused(found: Any) -> bool:
    return isinstance(found, dict) and "refused" in found


def asked(res: Any, data: pd.DataFrame) -> dict[str, Callable[[], Any]]:
    """What a fit is asked, by the questions of `answers`."""
    answers.TABLES["states"] = data
    term = "g" if "g" in res.model.exog_names[1:][-1] else "x"
    found = questions(res, Fit(lambda: res, "states", "x", term))
    return {name: ask for name, ask in found.items() if name not in LEFT_OUT}


def all_answers(res: Any, data: pd.DataFrame) -> dict[str, Any]:
    return {name: answer(ask) for name, ask in asked(res, data).items()}


# ------------------------------------------------------------------------------------------------------------- laws
def differences(a: Any, b: Any, rtol: float, unit: float = 1.0, rows: bool = True) -> str:
    """How two answers differ; "" if they do not.

    `unit`: numbers may differ by its powers. Without `rows` those of `b` may stand for several of `a`.
    """
    if isinstance(a, Fault) or isinstance(b, Fault):
        return f"{a if isinstance(a, Fault) else b}"
    if refused(a) or refused(b):
        same = refused(a) and refused(b) and a["refused"] == b["refused"]
        return "" if same else f"{a if refused(a) else 'a number'} against {b if refused(b) else 'a number'}"
    gone = {at[:-1] for at in b if at and at[-1] == "refused" and at not in a}
    a = {at: v for at, v in a.items() if not any(at[: len(way)] == way for way in gone)}
    b = {at: v for at, v in b.items() if not any(at[: len(way)] == way for way in gone)}
    if not rows:
        b = {at: v for at, v in b.items() if at in a or "row" not in at}
    if set(a) != set(b):
        few = list(set(a) ^ set(b))[:3]
        return f"other cells: {few}"
    sizes = [abs(v) for v in a.values() if isinstance(v, float) and np.isfinite(v)]
    floor = rtol * (max(sizes) if sizes else 0.0) if unit == 1.0 else 1e-9
    for at, v in a.items():
        if isinstance(v, Fault) or isinstance(b[at], Fault):
            return f"{at}: {v if isinstance(v, Fault) else b[at]}"
        if not _same(v, b[at], rtol, floor, unit):
            return f"{at}: {v} against {b[at]}"
    return ""


def _same(v: Any, w: Any, rtol: float, floor: float, unit: float) -> bool:
    if isinstance(v, float | int) and isinstance(w, float | int):
        if not (np.isfinite(v) and np.isfinite(w)):
            return v == w or (np.isnan(v) and np.isnan(w))
        powers = (0,) if unit == 1.0 else (0, 1, -1, 2, -2)
        return any(abs(v - w * unit**j) <= rtol * max(abs(v), abs(w * unit**j)) + floor for j in powers)
    return True  # texts and shapes have words and tables of their own
