"""Random small designs of whole numbers: separation is what enumeration finds, limits are fits on what it leaves."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.cones import exact_cone
from properties.toys import MODELS
from scipy.special import expit, log_ndtr, ndtr

import glmclf
from glmclf import errors

SPOKEN = (
    errors.SeparationWarning,
    errors.CollinearityWarning,
    errors.InferenceWarning,
    errors.DataWarning,
)
KINDS = ["plain", "factor", "counts", "freq_weights", "weights", "offset", "no constant"]
every = pytest.mark.parametrize("model", [*MODELS, "MNLogit"])


def design(generator, model, kind):
    """A table, a formula and the keywords of a model; sometimes separated, sometimes collinear."""
    K = 3 if model == "MNLogit" else 2
    n = int(generator.integers(K + 1, 8 if K == 3 else 13))
    t = pd.DataFrame({"a": generator.integers(-2, 3, n), "b": generator.integers(0, 2, n)})
    t["c"] = generator.integers(-1, 4, n)
    t["g"] = generator.choice(list("uvw"), n)
    right = str(generator.choice(["a", "a + b", "b + c", "a * b"] if K == 2 else ["a", "b", "c"]))
    if kind == "factor":
        right = "g + a" if K == 2 else "g"
    if kind == "no constant":
        right = "0 + g" if generator.random() < 0.5 else "0 + a + b"
    eta = generator.choice([0.5, 3.0]) * (t.a + t.b - t.c / 2 + 0.3).to_numpy()
    latent = eta + generator.logistic(size=n)
    y = (latent > 0).astype(int) if K == 2 else np.digitize(latent, [-1, 1])
    y[:K] = np.arange(K)
    keywords = {}
    if kind in ("freq_weights", "weights"):
        w = generator.integers(0, 4, n) if kind == "freq_weights" else generator.integers(1, 9, n) / 2
        w[:K] = 1
        keywords[kind] = w
    if kind == "offset":
        keywords["offset"] = generator.integers(-2, 3, n).astype(float)
    if kind == "counts":
        m = generator.integers(1, 4, n)
        counts = np.array([generator.multinomial(s - 1, np.full(K, 1 / K)) * (generator.random() < 0.5) for s in m])
        counts[np.arange(n), y] += m - counts.sum(axis=1)
        t = t.assign(**{f"n{j}": counts[:, j] for j in range(K)})
        left = "n1 + n0" if K == 2 else "n0 + n1 + n2"
        return t, f"{left} ~ {right}", keywords
    return t.assign(y=y), f"y ~ {right}", keywords


def attempt(model, t, formula, keywords, **options):
    """A fit and the kinds of its warnings, or None for both where the fit is refused by a named error."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            res = getattr(glmclf, model).from_formula(formula, t, **keywords).fit(**options)
        except (errors.DataError, errors.EstimationError) as error:
            assert str(error)
            return None, None
        text = res.summary().as_text()
    kinds = [w.category for w in given]
    assert set(kinds) <= set(SPOKEN), [str(w.message) for w in given]
    assert ("infinite" in text) == (res.separation is not None)
    return res, kinds


def classes(res):
    """Counts of each class, (n, K), the one without an equation first."""
    r = res.model._rows
    if res.model._likelihood.n_eta == 1:
        m = np.ones(len(r)) if r.trials is None else r.trials
        return np.column_stack([m - r.y, r.y])
    return r.y if r.y.ndim == 2 else (r.y[:, None] == np.arange(res.model.J)).astype(float)


def full_rank(X):
    """Columns that are no combinations of earlier ones."""
    ranks = [0, *(np.linalg.matrix_rank(X[:, : j + 1]) for j in range(X.shape[1]))]
    return np.flatnonzero(np.diff(ranks))


# link by link: p at a linear predictor, derivatives of log p and log(1 - p), and minus the second derivatives
def logit(eta):
    p, q = expit(eta), expit(-eta)
    return p, q, -p, p * q, p * q


def probit(eta):
    r1, r0 = (np.exp(-(eta**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi) for z in (eta, -eta))
    return ndtr(eta), r1, -r0, r1 * (eta + r1), r0 * (r0 - eta)


def cloglog(eta):
    h = np.exp(eta)
    r1 = h * np.exp(-h) / -np.expm1(-h)
    return -np.expm1(-h), r1, -h, r1 * (r1 - 1 + h), h


LINKS = {"Logit": logit, "Probit": probit, "CLogLog": cloglog}


def check_binary_limit(res, X, seen, cone):
    """The rows left have the score of a maximum, a linear predictor in the span, and the inverse information."""
    Y, r = classes(res), res.model._rows
    w = np.ones(len(Y)) if r.weights is None else r.weights / (1.0 if res.model._frequency else r.weights.mean())
    p = res.fittedvalues.to_numpy()
    gone = np.zeros(seen.shape, dtype=bool) if cone is None else cone.ruled_out
    np.testing.assert_array_equal(p[gone[:, 0]], 1.0)
    np.testing.assert_array_equal(p[gone[:, 1]], 0.0)
    left = ~gone.any(axis=1)
    if not left.any():
        return
    eta = res.predict(which="linear").to_numpy()[left]
    again, u1, u0, v1, v0 = LINKS[type(res.model).__name__](eta)
    np.testing.assert_allclose(p[left], again, rtol=1e-12)
    score = w[left] * (Y[left, 1] * u1 + Y[left, 0] * u0)
    A = w[left] * (Y[left, 1] * v1 + Y[left, 0] * v0)
    if r.offset is not None:
        eta = eta - r.offset[left]
    check_limit(res, np.zeros(X.shape[1]) if cone is None else cone.signs, X[left], eta, X[left].T @ score,
                X[left].T @ (A[:, None] * X[left]))  # fmt: skip


def check_limit(res, signs, X, eta, score, information):
    """Estimates and standard errors of what has no sign; these are estimable, whatever solves the equations."""
    np.testing.assert_allclose(score, 0, atol=1e-8)
    solution = np.linalg.lstsq(X, eta, rcond=None)[0]
    np.testing.assert_allclose(X @ solution, eta, rtol=1e-6, atol=1e-7)
    kept = res._places
    params, finite = np.ravel(np.asarray(res.params), order="F")[kept], signs == 0
    np.testing.assert_allclose(params[finite], solution[finite], rtol=1e-6, atol=1e-7)
    if res.cov_type == "nonrobust":
        V = np.linalg.pinv(information, rcond=1e-11, hermitian=True)
        bse = np.ravel(np.asarray(res.bse), order="F")[kept]
        np.testing.assert_allclose(bse[finite], np.sqrt(np.diag(V))[finite], rtol=2e-5)


def check_several(res, X, seen, cone):
    """The same of several classes: outcomes ruled out have probability 0, the others the score of a maximum."""
    Y, r, k = classes(res), res.model._rows, X.shape[1]
    w = np.ones(len(Y)) if r.weights is None else r.weights / (1.0 if res.model._frequency else r.weights.mean())
    P = res.fittedvalues[[res.model._response.levels[j] for j in np.argsort(res.model._order)]].to_numpy()
    gone = np.zeros(seen.shape, dtype=bool) if cone is None else cone.ruled_out
    np.testing.assert_array_equal(P == 0, gone)
    M = Y.sum(axis=1, keepdims=True)
    score = (X.T @ (w[:, None] * (Y - M * P)[:, 1:])).ravel(order="F")
    information = np.zeros((2 * k, 2 * k))
    rows, eta = [], []
    for i, x in enumerate(X):
        p = P[i, 1:]
        information += w[i] * M[i] * np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))
        possible = np.flatnonzero(~gone[i])
        for c in possible[1:]:
            row = np.zeros((3, k))
            row[c], row[possible[0]] = x, -x
            rows.append(row[1:].ravel())
            offset = 0.0 if r.offset is None else np.r_[0.0, np.ravel(r.offset[i]) * np.ones(2)]
            shift = 0.0 if r.offset is None else offset[c] - offset[possible[0]]
            eta.append(np.log(P[i, c]) - np.log(P[i, possible[0]]) - shift)
    signs = np.zeros(2 * k) if cone is None else cone.signs
    if rows:
        check_limit(res, signs, np.array(rows), np.array(eta), score, information)


def check(model, kind, generator):
    """One random design; whether it is separated, or None where the fit is refused by name."""
    return check_table(model, *design(generator, model, kind))


def check_table(model, t, formula, keywords):
    """A fit against enumeration; as `check`."""
    res, kinds = attempt(model, t, formula, keywords)
    if res is None:
        return None
    example = f"{model} {formula!r} {keywords}\n{t.to_dict('list')}"
    X = res.model.exog
    assert (errors.CollinearityWarning in kinds) == (np.linalg.matrix_rank(X) < X.shape[1]), example
    A, seen = X[:, res._state.columns], classes(res) > 0
    assert np.linalg.matrix_rank(A) == A.shape[1] == np.linalg.matrix_rank(X), example
    cone = exact_cone(A, seen)
    assert (cone is None) == (res.separation is None) == (errors.SeparationWarning not in kinds), example
    try:
        (check_several if model == "MNLogit" else check_binary_limit)(res, A, seen, cone)
        assert res.converged and np.isfinite([res.llf, res.llnull]).all()
        params, bse = (np.ravel(np.asarray(v), order="F") for v in (res.params, res.bse))
        assert (np.isfinite(params) == np.isfinite(bse)).all()
        omitted = np.setdiff1d(np.arange(len(params)), res._places)
        assert np.isnan(params[omitted]).all()
        if cone is not None:
            check_report(res, cone, model, t, formula, keywords)
    except AssertionError as error:
        raise AssertionError(example) from error
    return cone is not None


def check_report(res, cone, model, t, formula, keywords):
    """What is said of a separation, by the fit and without one."""
    params = np.ravel(np.asarray(res.params), order="F")[res._places]
    np.testing.assert_array_equal(np.where(np.isfinite(params), 0.0, np.sign(params)), cone.signs)
    found = res.separation
    asked = glmclf.detect_separation(formula, t, model, **keywords)
    for s in (found, asked):
        assert s.kind == ("complete" if cone.complete else "quasi-complete")
        places = np.flatnonzero(cone.ruled_out.any(axis=1))
        assert list(s.rows) == list(res.model._rows.index[places]) and s.n_rows == len(places)
    assert str(found) == str(asked)
    d = found.direction.to_numpy()[res._places]
    assert not found.direction.to_numpy()[np.setdiff1d(np.arange(len(found.direction)), res._places)].any()
    k = res.model.exog[:, res._state.columns].shape[1]
    D = np.column_stack([np.zeros(k), d.reshape(-1, k).T])
    Z = res.model.exog[:, res._state.columns] @ (D / np.abs(D).max())
    seen = classes(res) > 0
    for z, s, gone in zip(Z, seen, cone.ruled_out, strict=True):
        np.testing.assert_allclose(z[s], z[s][0], atol=1e-9)
        assert (z[s][0] - z[gone] > 1e-7).all()
        np.testing.assert_allclose(z[~gone & ~s], z[s][0], atol=1e-9)


@every
@pytest.mark.parametrize("kind", KINDS)
def test_random_designs(model, kind):
    generator = np.random.default_rng([MODELS.index(model) if model in MODELS else 9, KINDS.index(kind)])
    found = [check(model, kind, generator) for _ in range(3 if model == "MNLogit" else 5)]
    assert any(found) and None not in found[:1]


@every
@pytest.mark.parametrize("reduction", ["firth", "median"])
def test_bias_reduced_estimates_are_finite(model, reduction):
    if model == "MNLogit" and reduction == "median":
        pytest.skip("refused by name")
    generator = np.random.default_rng(31)
    for i in range(21):
        kind = KINDS[i % len(KINDS)]
        t, formula, keywords = design(generator, model, kind)
        if kind == "weights":
            continue
        res, kinds = attempt(model, t, formula, keywords, bias_reduction=reduction)
        if res is None:
            continue
        kept = res._places
        assert res.converged and set(kinds) <= {errors.CollinearityWarning}
        for values in (res.params, res.bse, res.pvalues):
            assert np.isfinite(np.ravel(np.asarray(values), order="F")[kept]).all()
        p = np.asarray(res.fittedvalues)
        assert ((p >= 0) & (p <= 1)).all()  # 1 by rounding: CLogLog's is exp(-exp(eta)) away from it


def rows(K, most):
    """Tables of up to `most` rows of whole numbers and a factor, with outcomes 0, ..., K - 1, each of which occurs."""
    one = st.tuples(st.integers(-3, 3), st.integers(0, 2), st.sampled_from("uvw"), st.integers(0, K - 1))

    def table(found):
        found = [(*row[:3], i) if i < K else row for i, row in enumerate(found)]
        return pd.DataFrame(found, columns=["a", "b", "g", "y"])

    return st.lists(one, min_size=K, max_size=most).map(table)


@pytest.mark.parametrize("model", MODELS)
@settings(derandomize=True, deadline=None, max_examples=15, database=None)
@given(t=rows(2, 12), right=st.sampled_from(["a", "a + b", "g + a", "0 + a + b", "a * b", "a + I(a**2)"]))
def test_any_table_of_whole_numbers(model, t, right):
    check_table(model, t, f"y ~ {right}", {})


@settings(derandomize=True, deadline=None, max_examples=15, database=None)
@given(t=rows(3, 8), right=st.sampled_from(["a", "b", "g", "0 + a"]))
def test_any_table_of_several_classes(t, right):
    check_table("MNLogit", t, f"y ~ {right}", {})
