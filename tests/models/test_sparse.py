"""Regressors as a scipy.sparse array: every number is that of the same array written out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import glmclf
from glmclf.core.design import columns
from glmclf.core.design import sparse as sparse_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.product import rotated
from glmclf.core.design.sparse import Sparse
from glmclf.errors import CollinearityWarning, DataError, MissingDataError, SeparationWarning
from glmclf.inference.covariance.types import COVARIANCES

MODELS = ["Logit", "Probit", "CLogLog", "MNLogit"]
every = pytest.mark.parametrize("model", MODELS)
FORMS = [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix]
N, K = 500, 7


def design(seed=0, share=0.25):
    g = np.random.default_rng(seed)
    X = g.normal(size=(N, K)) * (g.random((N, K)) < share)
    X[:, 0] = 1.0
    return X


def response(model, X=None, seed=1):
    g = np.random.default_rng(seed)
    eta = (design() if X is None else X) @ np.linspace(-0.5, 1.0, K)
    y = (g.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    return np.where(g.random(N) < 0.3, 2, y) if model == "MNLogit" else y


@pytest.fixture(params=["few", "many"], autouse=True)
def density(request, monkeypatch):
    """Grams of sparse rows, and of rows written out."""
    monkeypatch.setattr(sparse_columns, "MAX_SHARE_OF_NONZEROS", 2.0 if request.param == "few" else 0.0)


def fits(model, X=None, form=sparse.csr_array, options=None, said=None, **keywords):
    X = design() if X is None else X
    out = []
    for A in (form(X), X):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", said) if said else None
            made = getattr(glmclf, model)(response(model), A, **keywords)
            assert isinstance(made._rows.X, Sparse) == (A is not X)
            out.append(made.fit(**(options or {})))
    return out


def same(a, b, rtol=1e-9, atol=1e-11):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=atol)


def agree(a, b):
    for name in ("params", "bse", "llf", "llnull", "nobs", "df_model", "df_resid", "pvalues", "aic", "prsquared"):
        if hasattr(a, name):
            same(getattr(a, name), getattr(b, name))
    same(a.cov_params(), b.cov_params())
    same(a.predict(), b.predict())
    same(a.resid_pearson, b.resid_pearson)
    assert a.summary().as_text().split("Date")[0] == b.summary().as_text().split("Date")[0]


@every
@pytest.mark.parametrize("form", FORMS)
def test_forms(model, form):
    a, b = fits(model, form=form)
    agree(a, b)
    assert a.model.exog_names == ["const", *(f"x{j}" for j in range(1, K))]
    assert a.model.k_constant == 1


@every
@pytest.mark.parametrize("method", ["newton", "lbfgs", "bfgs"])
def test_methods(model, method):
    agree(*fits(model, options={"method": method}))


@every
@pytest.mark.parametrize("cov", [name for name in COVARIANCES if name not in ("nonrobust", "jackknife")])
def test_covariances(model, cov):
    kwds = {"cluster": {"groups": np.arange(N) % 50}, "HAC": {"maxlags": 3}, "bootstrap": {"reps": 20, "seed": 1}}
    a, b = fits(model, options={"cov_type": cov, "cov_kwds": kwds.get(cov)})
    same(a.cov_params(), b.cov_params())


@every
@pytest.mark.parametrize("names", [["offset"], ["freq_weights"], ["weights", "offset"]])
def test_weights_and_offset(model, names):
    g = np.random.default_rng(4)
    values = {"offset": g.normal(size=N), "freq_weights": g.integers(0, 4, N), "weights": g.random(N)}
    a, b = fits(model, **{name: values[name] for name in names})
    agree(a, b)
    new = design(9)[:20]
    if "offset" in names:
        offset = values["offset"][:20]
        same(a.predict(sparse.csr_array(new), offset=offset), b.predict(new, offset=offset))


@every
def test_large_blocks_and_threads(model, monkeypatch):
    monkeypatch.setattr(Sparse, "block_size", 64)
    a, b = (fits(model, options={"n_threads": k})[0] for k in (1, 2))
    agree(a, fits(model)[1])
    np.testing.assert_array_equal(a.params, b.params)
    np.testing.assert_array_equal(a.cov_params(), b.cov_params())


@every
def test_separated(model):
    X = design()
    X[:, 3] = np.where(np.arange(N) % 9 == 0, response(model) == 1, 0)
    a, b = fits(model, X, said=SeparationWarning)
    assert np.isinf(np.asarray(a.params)).any()
    same(a.params, b.params)
    same(a.bse, b.bse)
    same(a.llf, b.llf)


@every
def test_collinear(model):
    X = design()
    X[:, 4] = 2 * X[:, 2] - X[:, 3]
    X[:, 5] = 0.0
    a, b = fits(model, X, said=CollinearityWarning)
    assert np.isnan(np.asarray(a.params)).any()
    agree(a, b)
    new = X[:7]
    same(a.predict(sparse.coo_array(new)), b.predict(new))


@every
def test_ill_conditioned(model):
    X = design()
    X[:, 4] = X[:, 2] * (1 + 1e-7 * np.arange(N))
    a, b = fits(model, X)
    assert a._state.basis is not None
    same(a.params, b.params, rtol=1e-7)
    same(a.bse, b.bse, rtol=1e-7)
    same(a.predict(), b.predict(), rtol=1e-7)
    same(a.predict(sparse.csr_array(X[:9])), b.predict(X[:9]), rtol=1e-7)


@every
@pytest.mark.parametrize("options", [{"alpha": 0.01}, {"alpha": 0.02, "L1_wt": 0.0}])
def test_regularised(model, options):
    out = [
        getattr(glmclf, model)(response(model), A).fit_regularized(**options)
        for A in (sparse.csr_array(design()), design())
    ]
    same(out[0].params, out[1].params, atol=1e-8)


@pytest.mark.parametrize("model, kind", [("Logit", "firth"), ("Probit", "median"), ("MNLogit", "firth")])
def test_bias_reduced(model, kind):
    a, b = fits(model, options={"bias_reduction": kind})
    same(a.params, b.params)
    same(a.bse, b.bse)


@every
def test_predictions(model):
    a, b = fits(model)
    new = design(5)[:30]
    for form in FORMS:
        same(a.predict(form(new)), b.predict(new))
        same(a.model.predict(a.params, form(new)), b.model.predict(b.params, new))
    same(a.model.predict(a.params), b.model.predict(b.params))
    same(a.predict(sparse.csr_array(new), which="linear"), b.predict(new, which="linear"))
    x, y = a.get_prediction(sparse.csr_array(new)), b.get_prediction(new)
    same(x.summary_frame(), y.summary_frame())
    new[3, 2] = np.nan
    got = np.asarray(a.predict(sparse.csr_array(new)))
    assert np.isnan(got[3]).all() and np.isfinite(np.delete(got, 3, axis=0)).all()
    with pytest.raises(DataError, match=r"\(30, 6\).*7 columns"):
        a.predict(sparse.csr_array(new[:, 1:]))


@every
def test_inference(model):
    a, b = fits(model)
    for test in ("LR", "wald", "score"):
        same(a.anova(test=test), b.anova(test=test), atol=1e-9)
    same(a.conf_int(method="profile"), b.conf_int(method="profile"), rtol=1e-6)
    same(a.model.score_obs(a.params), b.model.score_obs(b.params))
    if model != "MNLogit":
        same(a.get_influence().hat_matrix_diag, b.get_influence().hat_matrix_diag)


@every
def test_missing_and_infinite(model):
    X = design()
    X[[2, 9], [3, 3]] = np.nan
    a, b = fits(model, X)
    agree(a, b)
    assert a.nobs == N - 2
    with pytest.raises(MissingDataError, match='"x3" .2 rows.: rows 2, 9'):
        getattr(glmclf, model)(response(model), sparse.csr_array(X), missing="raise")
    X[4, 1] = -np.inf
    with pytest.raises(DataError, match='"x1" is infinite in 1 of 498 rows .row 4'):
        getattr(glmclf, model)(response(model), sparse.csr_array(X))


@every
def test_other_numbers(model):
    """Small integers, bools, float32, entries stored twice; the caller's array stays as it is."""
    X = np.abs(design()) > 0.3
    X[:, 0] = True
    y = response(model)
    plain = getattr(glmclf, model)(y, X.astype(float)).fit()
    for dtype in (bool, np.int8, np.float32):
        agree(getattr(glmclf, model)(y, sparse.csr_array(X.astype(dtype))).fit(), plain)
    halves = sparse.csr_array(X.astype(float)) * 0.5
    twice = sparse.csr_array(
        (
            np.tile(halves.data.reshape(-1), 2)[np.argsort(np.tile(np.arange(halves.nnz), 2), kind="stable")],
            np.repeat(halves.indices, 2),
            2 * halves.indptr,
        ),
        X.shape,
    )
    agree(getattr(glmclf, model)(y, twice).fit(), plain)
    assert twice.nnz == 2 * halves.nnz


@every
def test_refused(model):
    y, X = response(model), design()
    with pytest.raises(DataError, match="exog has dtype complex"):
        getattr(glmclf, model)(y, sparse.csr_array(X * 1j))
    with pytest.raises(DataError, match="499"):
        getattr(glmclf, model)(y, sparse.csr_array(X[1:]))
    with pytest.raises(NotImplementedError, match='method="sgd" with a scipy.sparse exog'):
        getattr(glmclf, model)(y, sparse.csr_array(X)).fit(method="sgd")
    with pytest.raises(DataError, match="rows and columns"):
        getattr(glmclf, model)(y, sparse.coo_array(X[:, 1]))


@pytest.mark.parametrize("model", ["LDA", "QDA"])
def test_discriminant_models_refuse(model):
    with pytest.raises(NotImplementedError, match=f"{model} takes no scipy.sparse exog"):
        getattr(glmclf, model)(response("Logit"), sparse.csr_array(design()))
    res = getattr(glmclf, model)(response("Logit"), design(share=1.0)[:, 1:]).fit()
    with pytest.raises(NotImplementedError, match="new data: scipy.sparse"):
        res.predict(sparse.csr_array(design()[:, 1:]))


@every
def test_a_span_that_holds_a_constant(model):
    g = np.random.default_rng(2)
    level = g.integers(0, K, N)
    X = sparse.csr_array((np.ones(N), (np.arange(N), level)), shape=(N, K))
    a = getattr(glmclf, model)(response(model), X)
    assert a.k_constant == 1
    assert a.exog_names == [f"x{j}" for j in range(1, K + 1)]
    agree(a.fit(), getattr(glmclf, model)(response(model), X.toarray()).fit())


@every
def test_formula_rows(model):
    """Rows of the design of a formula, given as such."""
    X = design()
    t = pd.DataFrame(X[:, 1:], columns=list("abcdef")).assign(y=response(model))
    res = getattr(glmclf, model).from_formula("y ~ a + b + c + d + e + f", t).fit()
    same(res.predict(sparse.csr_array(X[:8])), res.predict(t[:8]))


def test_nothing_whole_is_expanded(monkeypatch):
    """A fit, its table and predictions expand blocks at most."""
    g = np.random.default_rng(3)
    n, k, largest = 60_000, 300, [0]
    X = sparse.hstack([np.ones((n, 1)), sparse.random(n, k - 1, 0.01, random_state=g)], format="csr")
    X = sparse.csr_array(X)
    expand = sparse.csr_array.toarray

    def watched(self, *args, **kwargs):
        largest[0] = max(largest[0], self.shape[0] * self.shape[1])
        return expand(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    y = (g.random(n) < 0.4).astype(int)
    res = glmclf.Logit(y, X).fit()
    res.summary().as_text()
    res.predict()
    res.predict(X[:30_000])
    assert largest[0] <= 2**24
    assert isinstance(res.model._rows.X, Sparse)


def test_columns_against_dense():
    g = np.random.default_rng(8)
    X, w, P, T = design(), g.random(N), g.random((N, 3)), g.normal(size=(K, 4))
    rows = np.array([3, 3, 77])
    S, D = Sparse(sparse.csr_array(X)), Dense(X)
    same(S @ T, D @ T)
    same(S @ T[:, 0], D @ T[:, 0])
    same(S.lengths(T), D.lengths(T))
    same(S.times(P), D.times(P))
    same(S.gram(w), D.gram(w))
    for a, b in zip(S.times_and_gram(w, w), D.times_and_gram(w, w), strict=True):
        same(a, b)
    A, B = S.stacked_gram(P), D.stacked_gram(P)
    same(A[:K, K:], B[:K, K:])
    same(A[2 * K :, K : 2 * K], B[2 * K :, K : 2 * K])
    same(S.largest(), np.abs(X).max(axis=0))
    same(S.subset(rows).toarray(), X[rows])
    same(S[5:80:3].toarray(), X[5:80:3])
    same(columns.some_columns(S, np.array([0, 4])).toarray(), X[:, [0, 4]])
    R = np.triu(g.normal(size=(K, K))) + 3 * np.eye(K)
    for exact in (True, False):
        same(rotated(S, R, exact)[:].toarray(), rotated(D, R, exact)[:].toarray())
        same(rotated(S, R, exact).subset(rows)[:].toarray(), rotated(D, R, exact)[rows].toarray())
