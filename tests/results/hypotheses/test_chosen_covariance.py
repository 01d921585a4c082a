"""The covariance of chosen coefficients is a part of that of all, in every model, and is not made from it where it
would be large."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from answers import FITS
from numpy.testing import assert_allclose

from glmclf import LDA, Logit, NaiveBayes, datasets
from glmclf.results.hypotheses import chosen

KINDS = ["Logit", "Logit firth", "Logit ridge", "Logit constrained", "Logit pooled", "Logit quasi-separated", "Probit",
         "CLogLog counts", "MNLogit", "LDA", "LDA implied logit", "QDA", "NaiveBayes", "NaiveBayes families",
         "NaiveBayes implied logit"]


@pytest.mark.filterwarnings("ignore::glmclf.errors.SeparationWarning", "ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_part_of_all(kind):
    res = FITS[kind].make()
    V = res.cov_params()
    names = [V.index[i] for i in (-1, 0)]
    part = res.cov_params(columns=names)
    assert list(part.index) == list(part.columns) == names
    pd.testing.assert_frame_equal(part, V.loc[names, names])
    one = res.cov_params(columns=names[0])
    assert_allclose(one, V.loc[names[:1], names[:1]])


@pytest.mark.parametrize("kind", ["MNLogit", "NaiveBayes implied logit"])
def test_regressors_of_all_equations(kind):
    res = FITS[kind].make()
    V = res.cov_params()
    name = V.index[1][1]
    both = [label for label in V.index if label[1] == name]
    assert len(both) == 2
    pd.testing.assert_frame_equal(res.cov_params(columns=name), V.loc[both, both])
    spelled = [f"y{level}_{name}" for level, name in both]
    pd.testing.assert_frame_equal(res.cov_params(columns=spelled), V.loc[both, both])


@pytest.mark.parametrize("columns", [["GAP"], ["GPA", "nothing"], [3], 3, [["GPA"]], [None]])
def test_unknown_names(columns):
    res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    with pytest.raises(ValueError, match=r"columns= names .* no parameter of the model"):
        res.cov_params(columns=columns)


def test_words_of_refusals():
    res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    with pytest.raises(ValueError, match=r"'GAP', which .*Did you mean 'GPA'"):
        res.cov_params(columns=["PSI", "GAP"])
    with pytest.raises(ValueError, match="names no parameter"):
        res.cov_params(columns=[])
    with pytest.raises(ValueError, match="not both"):
        res.cov_params([[1, 0, 0]], columns=["GPA"])


def test_twice_is_once():
    res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    assert list(res.cov_params(columns=["PSI", "GPA", "PSI"]).index) == ["PSI", "GPA"]


def test_a_matrix_that_is_too_large_is_refused_with_its_size(monkeypatch):
    res = FITS["MNLogit"].make()
    p = len(res.cov_params())
    monkeypatch.setattr(chosen, "MAX_COVARIANCE_BYTES", 8 * p * p - 1)
    with pytest.raises(ValueError, match=rf"all {p} parameters has .* GB.*cov_params\(columns=\["):
        res.cov_params()
    names = [label for label in res.conf_int().index][:-1]
    assert res.cov_params(columns=names).shape == (p - 1, p - 1)
    monkeypatch.setattr(chosen, "MAX_COVARIANCE_BYTES", 0)
    with pytest.raises(ValueError, match="these 1 parameters has .* GB.*fewer"):
        res.cov_params(columns=names[:1])
    with pytest.raises(ValueError, match="GB"):
        next(iter(res.equations.values())).cov_params()


def wide(d: int = 75) -> pd.DataFrame:
    r = np.random.default_rng(0)
    data = pd.DataFrame(r.normal(size=(300, d)), columns=[f"x{i}" for i in range(d)])
    return data.assign(y=r.choice(["a", "b"], 300))


def test_parts_of_thousands_of_parameters():
    res = LDA.from_formula("y ~ .", wide()).fit()
    names = ["mean[b, x3]", "cov[x1, x2]", "cov[x1, x1]", "cov[x2, x2]"]
    n, S = res.nobs, res.covariances
    R = np.zeros((1, len(res.params)))
    R[0, res.params.index.get_loc("cov[x1, x2]")] = 1.0
    res.t_test(R)  # imports what it needs
    tracemalloc.start()
    V, t = res.cov_params(columns=names), res.t_test(R)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(res.params) > 3000 and peak < 8e6  # all of them: 72 MB
    assert_allclose(V.loc["cov[x1, x2]", "cov[x1, x1]"], 2 * S.loc["x1", "x1"] * S.loc["x1", "x2"] / n)
    assert V.loc["mean[b, x3]", "cov[x1, x1]"] == 0
    assert_allclose(np.sqrt(np.diag(V)), res.bse[names])
    assert_allclose(np.ravel(t.sd), res.bse["cov[x1, x2]"])


def test_parts_of_a_table_of_many_levels():
    r = np.random.default_rng(0)
    data = pd.DataFrame({"g": r.integers(0, 900, 40_000).astype(str), "y": r.choice(["a", "b", "c"], 40_000)})
    res = NaiveBayes.from_formula("y ~ g", data).fit()
    names = ["prob[b, g=7]", "log_prior_odds[c]", "prob[b, g=12]", "prob[a, g=7]"]
    V = res.cov_params(columns=names)
    p = res.params
    assert_allclose(V.iloc[0, 2], -p["prob[b, g=7]"] * p["prob[b, g=12]"] / (data.y == "b").sum())
    assert (V.iloc[3, :3] == 0).all()
    assert_allclose(np.sqrt(np.diag(V)), res.bse[names])
