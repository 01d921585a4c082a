"""Files that were changed after they were saved, by accident or by hand, are refused; the message names the field."""

import copy
import io
import json
import os
import re

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.response.codec import decode_response
from glmclf.errors import DataError
from glmclf.results import saving

pytestmark = pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning")  # of the fit made here

N = 90


def table():
    G = np.random.default_rng(3)
    frame = pd.DataFrame({"x": G.normal(size=N), "z": G.uniform(size=N), "g": np.resize(["a", "b", "c"], N)})
    frame["far"], frame["y"] = 1e4 + frame.z, (frame.x + G.logistic(size=N) > 0).astype(int)
    return frame.assign(three=np.where(frame.z + G.normal(size=N) > 1, "u", np.where(frame.y, "v", "w")))


def fits():
    d, F = table(), "~ x + bs(z, df=4) + g"
    make = {name: getattr(glmclf, name).from_formula for name in glmclf.registry.MODELS}
    return {
        "Logit": make["Logit"](f"y {F}", d).fit(cov_type="HC1"),
        "separated": make["Logit"]("I(x > 0) ~ x + g", d).fit(),
        "ridge": make["Logit"](f"y {F}", d).fit_regularized(alpha=0.1, L1_wt=0.0),
        "firth": make["Logit"](f"y {F}", d).fit(bias_reduction="firth"),
        "constrained": make["Logit"]("y ~ x + z", d).fit_constrained("x = z"),
        "Probit": make["Probit"](f"y {F}", d).fit(),
        "CLogLog": make["CLogLog"]("y ~ x", d, offset="z").fit(),
        "offset": make["Logit"]("y ~ x", d, offset="far").fit(),
        "MNLogit": make["MNLogit"]("three ~ x + g", d).fit(),
        "rebased": make["MNLogit"]("three ~ x + I(1e6 + z) + g", d).fit().rebase("v"),
        "symmetric": make["MNLogit"]("three ~ x + g", d).fit_regularized(alpha=0.1, L1_wt=0.0, symmetric=True),
        "LDA": make["LDA"]("three ~ x + z", d).fit(),
        "QDA": make["QDA"]("three ~ x + z", d).fit(),
        "NaiveBayes": make["NaiveBayes"]("three ~ x + g", d).fit(),
    }


STATES = "Logit separated ridge firth constrained Probit CLogLog offset MNLogit rebased LDA QDA NaiveBayes".split()
WRONG = [None, "text", -1, float("nan"), True, [], {}, [[0.5]], 1e300]


def places(value, path=()):
    """Paths of the fields of a file, of long lists the first and last entry."""
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        if not isinstance(value, list) or key in (0, len(value) - 1):
            yield from places(part, (*path, key))


def changed(stored, path, how):
    out = copy.deepcopy(stored)
    at = out
    for key in path[:-1]:
        at = at[key]
    if how == "delete":
        del at[path[-1]]
    elif how == "twice":
        at[path[-1]] = [at[path[-1]]] * 2 if not isinstance(at[path[-1]], list) else at[path[-1]] * 2
    else:
        at[path[-1]] = how
    return out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STATES)
def test_every_field(name, kept):
    stored, new, expected = kept[name]
    text = json.dumps(stored)
    chosen = [path for path in places(stored) if path != ("version",)]
    for i, path in enumerate(chosen):
        for how in ("delete", "twice", WRONG[i % len(WRONG)]):
            one = changed(stored, path, how)
            if json.dumps(one) == text:
                continue
            with pytest.raises(ValueError) as said:
                glmclf.load(io.StringIO(json.dumps(one)))
            if path[0] not in ("format", "checksums") and "was changed" in str(said.value):
                assert str(path[0]) in str(said.value), (path, said.value)
    np.testing.assert_array_equal(glmclf.load(io.StringIO(text)).predict(new), expected)


@pytest.fixture(scope="module")
def kept():
    out, new = {}, table().head(5)
    for name, res in fits().items():
        file = io.StringIO()
        res.save(file)
        out[name] = json.loads(file.getvalue()), new, res.predict(new)
    return out


def test_deep_nesting(kept):
    stored = kept["Logit"][0]
    deep = json.dumps({**stored, "facts": "HERE"}).replace('"HERE"', "[" * 100_000 + "]" * 100_000)
    with pytest.raises(ValueError, match="not JSON|nested too deeply"):
        glmclf.load(io.StringIO(deep))


def test_a_dtype_opens_no_file(tmp_path, kept):
    response = kept["Logit"][0]["model"]["response"]
    for name in ("datetime64[ns, dateutil//etc/passwd]", "datetime64[ns, /etc/passwd]", "datetime64[ns, ../x/y]", 3):
        with pytest.raises(DataError, match="dtype"):
            decode_response({**response, "dtype": name})
    for name in ("int64", "str", "bool", "datetime64[ns, Europe/Berlin]", "datetime64[ns, UTC]", "float32", "boolean"):
        assert str(decode_response({**response, "dtype": name}).dtype) in (name, "object")


def test_a_file_is_replaced_when_all_is_written(tmp_path, monkeypatch):
    path = tmp_path / "fit.json"
    res = glmclf.Logit.from_formula("y ~ x", table()).fit()
    res.save(path)
    before = path.read_text()
    os.chmod(path, 0o640)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        res.save(path)
    monkeypatch.undo()
    assert path.read_text() == before and os.listdir(tmp_path) == ["fit.json"]
    res.save(path)
    assert path.read_text() == before and path.stat().st_mode & 0o777 == 0o640
    (tmp_path / "link.json").symlink_to(path)
    res.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()


# ------------------------------------------------------------- numbers changed on purpose, with their checksums
def resealed(stored, path, change):
    """File with a changed field and the checksums of what it now holds."""
    out = copy.deepcopy({name: part for name, part in stored.items() if name != saving.CHECKSUMS})
    at = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = change(at[path[-1]])
    return io.StringIO(json.dumps({**out, saving.CHECKSUMS: saving.checksums(out)}))


def first(value):
    """Change of the first number of nested lists to a value."""
    def change(found):
        return value if not isinstance(found, list) else [change(found[0]), *found[1:]]

    return change


def swapped(found):
    """Levels of a factor in another order."""
    return json.loads(json.dumps(found).replace('"a", "b"', '"b", "a"'))


def replaced(old, new):
    """Change of a part of the JSON, which is there."""

    def change(found):
        text = json.dumps(found)
        assert old in text
        return json.loads(text.replace(old, new))

    return change


def knot(at, value):
    """Change of a knot of a spline."""

    def change(found):
        known = rf'("_all_knots", \{{"array": \[(?:[^,]+, ){{{at}}})[^],]+'
        text, n = re.subn(known, rf"\g<1>{value}", json.dumps(found))
        assert n == 1
        return json.loads(text)

    return change


def zero(found):
    return [zero(x) for x in found] if isinstance(found, list) else 0.0


CHANGES = [
    ("offset", "fit.inner", zero), ("offset", "fit.gamma", zero), ("rebased", "fit.theta", zero),
    ("constrained", "fit.gamma", lambda found: [*found[:-1], 2.0]),
    *((name, f"fit.{field}", first(wrong)) for name in ("Logit", "MNLogit", "separated")
      for field in ("gamma", "shift", "score", "information", "value")
      for wrong in (True, "1", None, float("nan"), float("inf"))),
    *((name, f"fit.{field}", lambda found: found[:-1]) for name in ("Logit", "separated", "MNLogit", "Probit")
      for field in ("gamma", "score", "information")),
    *((name, f"fit.{field}", change) for name, field in (("offset", "inner"), ("rebased", "theta"))
      for change in (lambda found: found[:-1], first(True), first(float("nan")))),
    *((name, "fit.information", first(-1e6)) for name in ("Logit", "CLogLog")),
    ("Logit", "model.response.levels", lambda found: found[:1]),
    ("Logit", "model.design.subterms", lambda found: json.loads(json.dumps(found).replace('["x"]', '["x", "x"]'))),
    *(("Logit", "model.design.xnames", change) for change in (lambda found: found[:-1], lambda found: found[::-1])),
    ("Logit", "covariance.matrix", lambda found: [row[:3] for row in found[:3]]),
    ("LDA", "law.dispersions", lambda _: []), ("QDA", "law.dispersions", lambda found: found[:2]),
    ("Logit", "fit.shift", lambda _: 0.0),
    ("Logit", "fit.converged", lambda _: 1), ("Logit", "fit.iterations", lambda _: -1),
    *((name, "covariance.matrix", first(wrong)) for name in ("Logit", "MNLogit") for wrong in (True, -1e3, "x")),
    ("Logit", "covariance.matrix", lambda found: [[*found[0][:-1], 9e9], *found[1:]]),
    ("Logit", "covariance.matrix", lambda found: found[:-1]), ("Logit", "covariance.clusters", lambda _: [0]),
    ("constrained", "fit.constraint.q", lambda _: [1.0]), ("constrained", "fit.constraint.R", lambda found: [[0, 1]]),
    ("ridge", "penalty.alpha", first(-1.0)), ("ridge", "penalty.L1_wt", lambda _: 2.0),
    ("ridge", "penalty.n", lambda _: 0), ("ridge", "penalty.b", first(True)),
    ("MNLogit", "model.response.levels", lambda found: [found[0], found[0], found[2]]),
    ("LDA", "model.response.levels", lambda found: [found[0], found[0], found[2]]),
    ("Logit", "model.design.factors", swapped),
    ("Logit", "model.design.xnames", lambda found: [found[1], *found[1:]]),
    ("Logit", "model.kept.nobs", lambda _: -3), ("QDA", "model.kept.nobs", lambda _: True),
    ("Logit", "model.kept._weight_sum", lambda _: -1.0),
    ("Logit", "model.kept._ranges.x", lambda found: found[::-1]),
    *((name, field, first(wrong)) for name in ("LDA", "QDA") for wrong in (True, -5.0, float("nan"))
      for field in ("law.counts", "law.prior_counts", "moments.counts")),
    *((name, field, change) for name in ("LDA", "QDA") for field in ("law.means", "moments.means", "law.counts")
      for change in (zero, lambda found: found[:-1])),
    *(("LDA", "law.log_priors", change) for change in (zero, first(float("nan")), lambda found: found[:-1])),
    ("QDA", "law.centre", first(float("nan"))), ("LDA", "moments.scatter", first(-1.0)),
    ("NaiveBayes", "statistics.counts", first(-1.0)), ("NaiveBayes", "statistics.features", first(float("nan"))),
    ("NaiveBayes", "statistics.features", first(-1.0)), ("NaiveBayes", "statistics.counts", lambda found: found[:-1]),
    ("LDA", "law.target", lambda _: "mean"), ("QDA", "law.ridge", lambda _: -1.0),
    ("QDA", "law.shrinkage", lambda _: [2.0]),
    ("QDA", "law.dispersions", lambda found: [{**found[0], "n": "90"}, *found[1:]]),
    *((name, "covariance.groups", change) for name in ("Logit", "LDA")
      for change in (lambda _: True, lambda _: "g", lambda _: [3])),
    ("Logit", "facts._digits", lambda _: {}),
    ("Logit", "facts.llf", lambda _: True), ("Logit", "facts._event_share", lambda _: 1.5),
    ("MNLogit", "facts._level_shares", first(0.9)),
    *((name, "model.design.terms", change) for name in ("Logit", "MNLogit", "LDA")
      for change in (lambda found: [["Intercept", "0", 1], *found[1:]], lambda found: [[0, 0, 1], *found[1:]],
                     lambda found: [[*found[0][:2], 1.5], *found[1:]], lambda found: found[:-1], first(3))),
    *((name, "model.design.factors", replaced('["levels", ["a", "b", "c"]]', '["levels", 3]'))
      for name in ("Logit", "NaiveBayes")),
    *(("Logit", "model.design.factors", knot(at, value)) for at in (0, 4, 8) for value in ("1e300", "-1e300", "null")),
    *((name, "model.design.subterms", replaced("[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]", f"[{ones}]"))
      for name in ("Logit", "MNLogit") for ones in ("0.0, 0.0, 1.0, 1.0, 0.0, 1.0", "1.0, 0.0, 1.0, 0.0, 0.0, 1.0",
                                                    "0.0, 0.0, 2.0, 0.0, 0.0, 1.0")),
    *((name, "model.kept._has_offset", lambda found: not found) for name in ("Logit", "MNLogit", "offset")),
    ("Logit", "model.kept._has_offset", lambda _: 0),
    *((name, field, first(float("nan"))) for name, field in (("MNLogit", "covariance.matrix"),
      ("Logit", "covariance.matrix"), ("ridge", "penalty.V"), ("ridge", "covariance.matrix"))),
    *((name, "penalty.V", change) for name in ("ridge", "symmetric")
      for change in (first(-1.0), lambda found: found[:-1])),
    *(("NaiveBayes", "statistics.counts", change) for change in (zero, lambda found: found[::-1])),
    ("NaiveBayes", "statistics.features", lambda found: [[found[0][0][::-1], *found[0][1:]], found[1]]),
    *((name, f"facts._error_facts.{field}", change) for name in ("LDA", "NaiveBayes")
      for field, change in (("resubstitution.confusion", lambda found: [found[0][:-1], *found[1:]]),
                            ("leave-one-out.skipped", lambda _: [0]), ("resubstitution.score", lambda _: "0"),
                            ("largest", first(True)), ("priors", first(2.0)), ("n", lambda _: -1))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "field", "change"), CHANGES)
def test_numbers_that_no_fit_has(name, field, change, kept):
    """The message names the field, whatever the checksums say."""
    with pytest.raises(ValueError, match="contradicts itself") as said:
        glmclf.load(resealed(kept[name][0], field.split("."), change))
    assert field.rsplit(".", maxsplit=field.count(".") - 1)[0] in str(said.value), said.value


@pytest.mark.parametrize("dispersion", [zero, first(-1.0), first(True)])
def test_a_dispersion_is_positive(dispersion, kept):
    with pytest.raises(ValueError, match=r"law\.dispersions"):
        glmclf.load(resealed(kept["QDA"][0], ["law", "dispersions", 1, "root"], dispersion))


def test_what_was_not_changed_passes(kept):
    for stored, new, expected in kept.values():
        found = glmclf.load(resealed(stored, ["version"], lambda version: version))
        np.testing.assert_array_equal(found.predict(new), expected)


# ---------------------------------------------------------------------------------------------- coefficients, once
@pytest.mark.parametrize("name", [name for name in STATES if name not in ("LDA", "QDA", "NaiveBayes")])
def test_coefficients_are_stored_once(name, kept):
    """Beside `gamma`, what it does not say to the last bit: of a large offset taken out, and of another base level."""
    fit = kept[name][0]["fit"]
    assert (fit["inner"] is None) == (name not in ("offset", "separated") or not np.any(fit["shift"]))
    assert (fit["theta"] is None) == (name != "rebased")


@pytest.mark.filterwarnings("ignore")
def test_files_with_coefficients_in_three_forms():
    """Format 3: they load to the last bit, and are refused where the forms differ."""
    for name, res in fits().items():
        file = io.StringIO()
        res.save(file)
        stored = json.loads(file.getvalue())
        stored.pop(saving.CHECKSUMS)
        if "fit" in stored:
            stored["fit"] |= {"theta": res._state.finite_theta.tolist(), "inner": res._state.inner.tolist()}
        found = glmclf.load(resealed(stored, ["version"], lambda _: 3))
        for one in ("params", "bse"):
            if hasattr(res, one) and name != "rebased":
                np.testing.assert_array_equal(getattr(found, one), getattr(res, one))
        np.testing.assert_array_equal(found.predict(table().head(5)), res.predict(table().head(5)))
        old = {**stored, "version": 3}
        for field in ("theta", "inner", "gamma") if "fit" in stored else ():
            with pytest.raises(ValueError, match="contradicts itself"):
                glmclf.load(resealed(old, ["fit", field], lambda found: [2 * v + 1 for v in found]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STATES)
def test_loaded_numbers_are_those_saved(name):
    """To the last bit, and again from a file of the loaded result."""
    res, new = fits()[name], table().head(5)
    for _ in range(2):
        file = io.StringIO()
        res.save(file)
        file.seek(0)
        found = glmclf.load(file)
        one, other = (getattr(r, "discriminant", r) for r in (res, found))
        np.testing.assert_array_equal(one.params, other.params)
        np.testing.assert_array_equal(one.cov_params(), other.cov_params())
        np.testing.assert_array_equal(res.predict(new), found.predict(new))
        res = found


def signed(stored):
    """A file with checksums of what it says now."""
    stored = {name: value for name, value in stored.items() if name != "checksums"}
    return io.StringIO(json.dumps({**stored, "checksums": saving.checksums(stored)}))


@pytest.mark.parametrize("name", ["Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"])
def test_levels_in_another_order_are_refused(name, kept):
    """The shares of the classes and the sums of the data name them, so that an exchange alone contradicts these."""
    stored = copy.deepcopy(kept[name][0])
    glmclf.load(signed(stored))
    stored["model"]["response"]["levels"].reverse()
    with pytest.raises(ValueError, match="and facts._data_sums do not agree|levels"):
        glmclf.load(signed(stored))


@pytest.mark.parametrize(("name", "left"), [("Logit", "y"), ("CLogLog", "y"), ("MNLogit", "three")])
def test_columns_of_arrays_in_another_order_are_refused(name, left):
    d = table()
    res = getattr(glmclf, name)(d[left], d[["x", "z"]].assign(one=1.0)).fit()
    file = io.StringIO()
    res.save(file)
    stored = json.loads(file.getvalue())
    glmclf.load(signed(stored))
    names = stored["model"]["design"]["xnames"]
    names[0], names[1] = names[1], names[0]
    with pytest.raises(ValueError, match="xnames and facts._data_sums"):
        glmclf.load(signed(stored))


@pytest.mark.parametrize("levels", [["T.u", "u"], ["u", "T.u"], ["a]:g[T.b", "b", "c"]])
@pytest.mark.parametrize("terms", ["g", "0 + g:h", "g * h", "C(g, Sum)"])
def test_levels_that_look_like_names_of_columns(levels, terms):
    d = table().assign(g=np.resize(levels, N), h=np.resize(["p", "q", "q", "p", "r"], N))
    res, file = glmclf.Logit.from_formula(f"y ~ {terms}", d).fit(), io.StringIO()
    res.save(file)
    file.seek(0)
    np.testing.assert_array_equal(glmclf.load(file).predict(d), res.predict(d))
