"""Files of Stata in parts are the table that pandas reads of the whole."""

import warnings

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.data.source import base
from glmclf.errors import DataError, DataWarning

MODELS = {"Logit": "y", "Probit": "y", "CLogLog": "y", "MNLogit": "c", "LDA": "c", "QDA": "c", "NaiveBayes": "c"}
LABELS = {
    "region": {3: "south", 1: "north", 2: "east", 9: "nowhere"},
    "c": {0: "low", 1: "mid", 2: "high"},
    "score": {99: "unknown"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file of 250 rows, whose regions are in few parts each, with values without a label and missing ones."""
    rng, n = np.random.default_rng(0), 250
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n).astype(np.float32)})
    t["region"] = np.where(np.arange(n) < 90, 1.0, np.where(np.arange(n) < 180, 3.0, rng.integers(1, 4, n)))
    t.loc[[5, 120], "region"] = np.nan
    t["score"] = rng.integers(1, 4, n).astype(np.int8)
    t.loc[200:, "score"] = 99
    t["y"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-t.x))).astype(np.int8)
    t["c"] = (t.y + rng.integers(0, 2, n)).astype(np.int8)
    t["word"], t["w"] = rng.choice(["u", "v"], n), rng.integers(1, 4, n).astype(np.int8)
    t["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, n), unit="D")
    path = tmp_path_factory.mktemp("stata") / "rows.dta"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t.to_stata(path, write_index=False, value_labels=LABELS, convert_dates={"day": "td"})
    return path


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(base, "PART_ROWS", 60)


@pytest.mark.parametrize("model", MODELS)
def test_parts_are_the_whole(path, model):
    make, right = getattr(glmclf, model).from_formula, "x + z" if model == "QDA" else "x + z + region + word"
    for options in ({}, {"freq_weights": "w"}, {"subset": "x > -1"}):
        formula, whole = f"{MODELS[model]} ~ {right}", pd.read_stata(path)
        found, known = (make(formula, data, **options).fit() for data in (path, whole))
        np.testing.assert_allclose(found.llf, known.llf, rtol=1e-10)
        assert found.nobs == known.nobs and found.model.exog_names == known.model.exog_names
        np.testing.assert_allclose(found.predict(whole), known.predict(whole), rtol=1e-8)


def test_categories_are_those_of_all_parts_by_value(path):
    res = glmclf.Logit.from_formula("y ~ C(region) + region:x", path).fit()
    assert res.params.index[:3].tolist() == ["Intercept", "C(region)[T.east]", "C(region)[T.south]"]
    known = glmclf.Logit.from_formula("y ~ C(region) + region:x", pd.read_stata(path)).fit()
    np.testing.assert_allclose(res.params, known.params, rtol=1e-8)
    assert [len(part) for part in res.augment(path)] == [60, 60, 60, 60, 10]


@pytest.mark.parametrize("model", MODELS)
def test_labels_in_part_are_of_numbers(path, model):
    """As Stata takes them; C() makes levels of the values, and either is said by I() or C()."""
    make, left = getattr(glmclf, model).from_formula, MODELS[model]
    numbers = pd.read_stata(path, convert_categoricals=False)
    with pytest.warns(DataWarning, match='"score" of Stata "rows.dta" has labels in part: 99 is "unknown", but'):
        found = make(f"{left} ~ x + score", path).fit()
    np.testing.assert_allclose(found.llf, make(f"{left} ~ x + score", numbers).fit().llf, rtol=1e-10)
    make(f"{left} ~ x + I(score)", path)
    if model != "QDA":
        found, known = (make(f"{left} ~ x + C(score)", data).fit() for data in (path, numbers))
        np.testing.assert_allclose(found.llf, known.llf, rtol=1e-10)
        with pytest.warns(DataWarning, match=r'"score" is categorical, with numbers beside words \(.*"unknown"\)'):
            whole = make(f"{left} ~ x + score", pd.read_stata(path)).fit()
        np.testing.assert_allclose(whole.llf, known.llf, rtol=1e-10)


def test_what_is_no_such_file(tmp_path, path):
    (tmp_path / "bad.dta").write_bytes(b"nothing of Stata")
    cut = tmp_path / "cut.dta"
    cut.write_bytes(path.read_bytes()[:900])
    for file in ("bad.dta", "cut.dta"):
        with pytest.raises(DataError, match=f'Stata "{file}" cannot be read: it is no file of Stata, or is damaged'):
            glmclf.Logit.from_formula("y ~ x", tmp_path / file)
    with pytest.raises(DataError, match="there is no such file"):
        glmclf.Logit.from_formula("y ~ x", tmp_path / "none.dta")
    with pytest.raises(DataError, match='"day"'):
        glmclf.Logit.from_formula("y ~ day", path)
    twice = tmp_path / "twice.dta"
    labels = {"g": {1: "a", 2: "a"}}
    pd.DataFrame({"g": [1, 2], "y": [0, 1]}).to_stata(twice, write_index=False, value_labels=labels)
    with pytest.raises(DataError, match='values of "g" share a label'):
        glmclf.Logit.from_formula("y ~ g", twice)
