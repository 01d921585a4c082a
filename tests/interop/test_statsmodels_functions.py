"""statsmodels' functions that take any results: pairwise tests of a factor, sandwich covariances."""

import copy
import pickle

import numpy as np
import pytest
import references
from numpy.testing import assert_allclose
from statsmodels.base.wrapper import ResultsWrapper
from statsmodels.stats import contrast, sandwich_covariance

import glmclf
from glmclf.results import interop

FORMULAS = ["low ~ C(race) + age", "low ~ C(race, Sum) + age", "low ~ age + C(race, Treatment(3)) + smoke"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_pairwise_tests(formula):
    """With statsmodels' own Logit as the other side."""
    import statsmodels.formula.api as smf

    _, data = references.reference("birthwt__logit")
    res = glmclf.Logit.from_formula(formula, data).fit()
    term = next(name for name in res.model.data.model_spec.term_names if "race" in name)
    theirs = smf.logit(formula, data).fit(disp=0, tol=1e-12).t_test_pairwise(term).result_frame
    ours = contrast.t_test_pairwise(res, term).result_frame
    assert list(ours.index) == list(theirs.index)
    assert_allclose(ours.iloc[:, :7].astype(float), theirs.iloc[:, :7].astype(float), rtol=1e-6)
    if "Sum" not in formula:
        assert_allclose(np.sort(abs(res.t_test_pairwise(term).result_frame["coef"])), np.sort(abs(ours["coef"])))


def test_the_design_as_patsy_describes_it():
    from patsy import dmatrix

    _, data = references.reference("birthwt__logit")
    right = "C(race) * age + bs(lwt, df=4) + smoke:C(ptl > 0)"
    found = glmclf.Logit.from_formula(f"low ~ {right}", data).data.model_spec
    theirs = dmatrix(right, data).design_info
    assert found.column_names == theirs.column_names and found.term_names == theirs.term_names
    assert list(found.term_name_slices.items()) == list(theirs.term_name_slices.items())
    for one, other in zip(found.term_codings.values(), theirs.term_codings.values()):
        for a, b in zip(one, other, strict=True):
            assert a.num_columns == b.num_columns
            for x, y in zip(a.contrast_matrices.values(), b.contrast_matrices.values(), strict=True):
                assert_allclose(x.matrix, y.matrix)
    assert not hasattr(glmclf.Logit(data.low, data[["age"]]).data, "model_spec")


def test_sandwich_covariances():
    res, groups = references.fitted("birthwt__logit"), np.arange(189) // 7
    close = dict(rtol=1e-7, atol=1e-12)
    white = sandwich_covariance.cov_white_simple(res, use_correction=False)
    assert_allclose(white, res.with_cov("HC0").cov_params(), **close)
    clusters = sandwich_covariance.cov_cluster(res, groups, use_correction=True)
    factor = 27 / 26 * 188 / (189 - len(res.params))  # G / (G-1) (n-1) / (n-p), in both
    assert_allclose(clusters, res.with_cov("cluster", groups=groups).cov_params(), **close)
    assert_allclose(clusters / sandwich_covariance.cov_cluster(res, groups, use_correction=False), factor)


ASKED_FIRST = {
    "isinstance": lambda res: isinstance(res, ResultsWrapper),
    "isinstance of another": lambda res: isinstance(res, dict),
    "name": lambda res: res.__class__.__name__ == type(res).__name__,
    "dir": dir,
    "pickle": lambda res: pickle.loads(pickle.dumps(res)),
    "pickle in Python": lambda res: pickle._loads(pickle._dumps(res)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("first", ASKED_FIRST)
@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_results_made_before_statsmodels_was_loaded(first, model):
    """They are its results for whoever asks, whatever was done with them first, and stay of one class."""
    _, data = references.reference("birthwt__logit")
    res = getattr(glmclf, model).from_formula("low ~ age + smoke", data).fit()
    res = res if model == "Logit" else res.equations[1]
    cls = type(res)
    interop.StatsmodelsStyle.__bases__ = (interop._Parent,)
    assert not issubclass(cls, ResultsWrapper)
    found = ASKED_FIRST[first](res)
    if first in ("isinstance", "name"):
        assert found
    elif "copy" in first or "pickle" in first:
        assert type(found) is cls and found.params.equals(res.params)
    assert isinstance(res, ResultsWrapper) and res.__class__ is type(res) is cls
    assert type(pickle.loads(pickle.dumps(res))) is cls and issubclass(cls, ResultsWrapper)
