"""Factors as cell codes against the dense columns they stand for: products, grams, slices, and whole fits."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from glmclf import CLogLog, Logit, Probit
from glmclf.core.design import pieces as in_form
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import FactorColumns, SubtermColumns, expand
from glmclf.core.design.pieces import from_pieces
from glmclf.core.design.product import Product, rotated
from glmclf.core.design.sparse import Sparse
from glmclf.core.likelihood.links import ProbitLink
from glmclf.core.likelihood.objective import Objective
from glmclf.core.likelihood.pointwise import Binomial
from glmclf.core.rows.blocks import Blocks

# sums of n terms in another order
RTOL = 1e-11
N = 700


def coding(levels, kind, generator):
    if kind == "full":
        return np.eye(levels)
    if kind == "treatment":
        return np.eye(levels)[:, 1:]
    if kind == "sum":
        return np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])
    return generator.normal(size=(levels, levels - 1))


def numbers_piece(generator, c=1):
    return SubtermColumns(generator.normal(size=(N, c)), None, None, np.arange(c), np.zeros(c, dtype=int))


def factor_piece(generator, levels, kind, c=0, codes=None):
    """A factor, alone or times each of c columns of numbers, in patsy's order: numbers run slowest."""
    contrast = coding(levels, kind, generator)
    d = contrast.shape[1]
    numbers = generator.normal(size=(N, c)) if c else None
    codes = generator.integers(0, levels, N) if codes is None else codes
    num, cat = np.repeat(np.arange(max(c, 1)), d), np.tile(np.arange(d), max(c, 1))
    return SubtermColumns(numbers, codes, contrast, num, cat)


def interaction(generator, kinds):
    """Two factors' cells and the Kronecker product of their codings."""
    contrast = np.kron(coding(3, kinds[0], generator), coding(4, kinds[1], generator))
    codes = generator.integers(0, 3, N) * 4 + generator.integers(0, 4, N)
    d = contrast.shape[1]
    return SubtermColumns(None, codes, contrast, np.zeros(d, dtype=int), np.arange(d))


def constant():
    return SubtermColumns(None, None, None, np.zeros(1, dtype=int), np.zeros(1, dtype=int))


def designs():
    g = np.random.default_rng(42)
    shared = g.integers(0, 5, N)
    return {
        "numbers": [constant(), numbers_piece(g, 3)],
        "one factor": [factor_piece(g, 4, "full")],
        "treatment": [
            constant(),
            factor_piece(g, 5, "treatment"),
            factor_piece(g, 3, "treatment"),
            numbers_piece(g, 2),
        ],
        "sum": [constant(), factor_piece(g, 5, "sum"), numbers_piece(g)],
        "polynomial": [constant(), factor_piece(g, 4, "dense"), factor_piece(g, 6, "treatment")],
        "slopes by level": [constant(), factor_piece(g, 5, "treatment", c=2), factor_piece(g, 3, "sum", c=2)],
        "crossed": [constant(), interaction(g, ("treatment", "treatment")), interaction(g, ("sum", "full"))],
        "same codes": [factor_piece(g, 5, "full", codes=shared), factor_piece(g, 5, "sum", c=1, codes=shared)],
        "numbers last and first": [numbers_piece(g, 2), factor_piece(g, 3, "full"), constant(), numbers_piece(g)],
        "one level": [constant(), factor_piece(g, 2, "treatment"), factor_piece(g, 1, "full", c=1)],
    }


DESIGNS = designs()


@pytest.fixture(params=DESIGNS)
def pieces(request):
    return DESIGNS[request.param]


def same(a, b):
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    np.testing.assert_allclose(a, b, rtol=RTOL, atol=RTOL * max(1.0, np.abs(b).max(initial=0.0)))


def check(X, D):
    generator = np.random.default_rng(3)
    n, k = D.shape
    b, u, w = (
        generator.normal(size=k),
        generator.normal(size=n),
        generator.uniform(0, 2, n) * (generator.random(n) < 0.9),
    )
    assert X.shape == D.shape
    same(X @ b, D @ b)
    for B in (np.outer(b, [1.0, -2.0]), np.outer(b, [1.0, 0.5, 3.0])):  # of two equations, and of three
        same(X @ B, D @ B)
    same(X.times(u), D.T @ u)
    G = X.gram(w)
    same(G, D.T @ (w[:, None] * D))
    same(G, G.T)
    same(X.gram(w - 0.5), D.T @ ((w - 0.5)[:, None] * D))  # curvatures of a link that is not log-concave
    np.testing.assert_array_equal(X.toarray(), D)


def test_cells_are_the_dense_columns(pieces):
    D = expand(pieces, N)
    check(FactorColumns(pieces, N), D)
    check(Dense(D)[:], D)


@pytest.mark.parametrize("k", [3, 30, 50, 90])
def test_rows_and_columns_side_by_side(k):
    D = np.random.default_rng(k).normal(size=(300, k))
    for A in (D, np.asfortranarray(D)):
        check(Dense(A)[:], D)
        check(Dense(A).subset(np.arange(0, 300, 7))[:], D[::7])
        check(Dense(A.astype(np.float32))[10:90], D.astype(np.float32)[10:90].astype(float))
        u = np.random.default_rng(1).normal(size=(300, 2))
        s, G = Dense(A).times_and_gram(u[:, 0], u[:, 1] ** 2)
        same(s, D.T @ u[:, 0])
        same(G, D.T @ (u[:, 1:] ** 2 * D))


@pytest.mark.parametrize("rows", [slice(0, 100), slice(650, 900), slice(None, None, 7), slice(5, 6), slice(0, 0)])
def test_slices(pieces, rows):
    check(FactorColumns(pieces, N)[rows], expand(pieces, N)[rows])
    check(FactorColumns(pieces, N)[rows][:], expand(pieces, N)[rows])


def test_absent_levels(pieces):
    """A block in which a level does not occur has a column of zeros, not one column fewer."""
    for start in range(0, N, 3):
        X = FactorColumns(pieces, N)[start : start + 3]
        assert X.gram(np.ones(X.shape[0])).shape == (X.shape[1], X.shape[1])


def test_rotation(pieces):
    D = expand(pieces, N)
    k = D.shape[1]
    R = np.triu(np.random.default_rng(1).normal(size=(k, k))) + 4 * np.eye(k)
    same(rotated(FactorColumns(pieces, N), R)[:].toarray(), np.linalg.solve(R.T, D.T).T)


@pytest.mark.parametrize("size", [64, 700, 5000])
def test_objective(pieces, size):
    g = np.random.default_rng(8)
    D = expand(pieces, N)
    y, offset, theta = (g.random(N) < 0.4).astype(float), g.normal(size=N), g.normal(size=D.shape[1]) * 0.3
    values = []
    for X, n_threads in ((Dense(D), 1), (FactorColumns(pieces, N), 1), (FactorColumns(pieces, N), 3)):
        blocks = Blocks(X, y, None, offset, None, size=size, n_threads=n_threads)
        values.append(Objective(Binomial(ProbitLink(), binary=True), blocks)(theta))
    for other in values[1:]:
        same(other.score, values[0].score)
        same(other.information, values[0].information)
    np.testing.assert_array_equal(values[1].information, values[2].information)


def test_the_choice():
    """Factors stay codes where there are many rows and columns; few rows or numbers alone are dense."""
    g = np.random.default_rng(2)
    n = in_form.MIN_ROWS_FOR_CODES + 10
    codes = g.integers(0, 50, n)
    factor = SubtermColumns(None, codes, np.eye(50)[:, 1:], np.zeros(49, dtype=int), np.arange(49))
    number = SubtermColumns(g.normal(size=(n, 1)), None, None, np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    assert isinstance(from_pieces([constant(), number, factor], n), FactorColumns)
    assert isinstance(from_pieces([constant(), number], n), Dense)
    few = factor._replace(codes=codes[:100])
    assert isinstance(from_pieces([constant(), few], 100), Dense)


# ------------------------------------------------------------------------------------------------------- whole fits
FORMULAS = [
    "y ~ x + g + h",
    "y ~ 0 + g + x:h",
    "y ~ g * h + I(x**2)",
    "y ~ C(g, Sum) + C(h, Poly) + x",
    "y ~ x * g + bs(z, df=4)",
]


@pytest.fixture(scope="module")
def table():
    g = np.random.default_rng(12)
    n = 1500
    frame = pd.DataFrame({"x": g.normal(size=n), "z": g.gamma(2, size=n), "off": g.normal(size=n) * 0.2})
    frame["g"] = np.array(list("abcde"))[g.integers(0, 5, n)]
    frame["h"] = np.array(["k1", "k2", "k3"])[g.integers(0, 3, n)]
    frame["times"] = g.integers(0, 4, n)
    frame["w"] = g.uniform(0.2, 3, n)
    frame["id"] = g.integers(0, 80, n)
    eta = 0.4 * frame.x - 0.2 * frame.z + 0.5 * (frame.g == "b") - 0.4 * (frame.h == "k3") + frame.off
    return frame.assign(y=(g.random(n) < 1 / (1 + np.exp(-eta))).astype(int))


def both(monkeypatch, make):
    """The same fit on dense columns and on cell codes."""
    plain = make()
    assert isinstance(plain.model._rows.X, Dense)
    monkeypatch.setattr("glmclf.models.inputs.from_pieces", FactorColumns)
    coded = make()
    assert isinstance(coded.model._rows.X, FactorColumns)
    return plain, coded


@pytest.mark.filterwarnings("ignore:.*The inverse information takes")
@pytest.mark.parametrize("keywords", [{}, {"offset": "off"}, {"freq_weights": "times"}, {"weights": "w"}])
@pytest.mark.parametrize("formula", FORMULAS)
def test_fits_do_not_depend_on_the_form(monkeypatch, table, formula, keywords):
    plain, coded = both(monkeypatch, lambda: Logit.from_formula(formula, table, **keywords).fit())
    for number in ("params", "bse", "llf", "llnull", "nobs", "df_model", "deviance"):
        same(getattr(coded, number), getattr(plain, number))
    for cov_type, extra in [("HC0", {}), ("HC1", {}), ("expected", {}), ("cluster", {"groups": "id"})]:
        same(coded.with_cov(cov_type, **extra).bse, plain.with_cov(cov_type, **extra).bse)
    same(coded.fittedvalues, plain.fittedvalues)
    same(coded.get_prediction().se, plain.get_prediction().se)
    new = table.iloc[3:30]
    same(coded.predict(new), plain.predict(new))
    same(coded.get_prediction(new).se, plain.get_prediction(new).se)
    same(coded.resid_dev, plain.resid_dev)
    for column in (".fitted", ".hat", ".cooksd"):
        same(coded.augment()[column], plain.augment()[column])
    same(coded.model.exog, plain.model.exog)
    same(coded.model.score_obs(plain.params), plain.model.score_obs(plain.params))


@pytest.mark.parametrize("method", ["newton", "bfgs", "lbfgs"])
@pytest.mark.parametrize("model", [Probit, CLogLog])
def test_other_links_and_solvers(monkeypatch, table, model, method):
    plain, coded = both(monkeypatch, lambda: model.from_formula(FORMULAS[2], table).fit(method=method))
    same(coded.params, plain.params)
    same(coded.bse, plain.bse)
    assert coded.converged


def messages(monkeypatch, table, formula):
    """The error of the dense columns and of the cell codes."""
    found = []
    for coded in (False, True):
        if coded:
            monkeypatch.setattr("glmclf.models.inputs.from_pieces", FactorColumns)
        with pytest.raises(ValueError) as caught:
            Logit.from_formula(formula, table).fit(separation="raise", collinear="raise")
        found.append((type(caught.value), str(caught.value)))
    return found


def test_separation_and_collinearity_are_the_same_errors(monkeypatch, table):
    separated = table.assign(y=np.where(table.g == "c", 1, table.y))
    one, two = messages(monkeypatch, separated, "y ~ x + g + h")
    assert one == two and '"g[T.c]"' in one[1]


def test_collinear_factors_are_the_same_error(monkeypatch, table):
    one, two = messages(monkeypatch, table.assign(again="_" + table.g), "y ~ x + g + again")
    assert one == two and '"again[T._b]" = "' not in one[1] and "again[T._b]" in one[1]


@pytest.mark.parametrize("exact", [True, False])
def test_a_product_is_asked_for_rows_first(exact):
    """Some rows of X T are those of X times T, whatever holds X and in whichever order they are asked for."""
    g = np.random.default_rng(5)
    A, T, rows = g.normal(size=(60, 4)), g.normal(size=(4, 3)), np.array([7, 3, 41])
    codes = g.integers(0, 5, 60)
    coded = SubtermColumns(None, codes, np.eye(5)[:, 1:], np.zeros(4, dtype=int), np.arange(4))
    for X in (Dense(A), Dense(np.asfortranarray(A)), FactorColumns([coded], 60), Sparse(sparse.csr_array(A))):
        expected = X.toarray() @ T
        XT = Product(X, T, exact)
        assert XT.shape == (60, 3) and not any(hasattr(XT, name) for name in ("gram", "times", "toarray", "__matmul__"))
        same(XT[5:20].toarray(), expected[5:20])
        same(XT.subset(rows)[:].toarray(), expected[rows])
        same(XT[rows].toarray(), expected[rows])
        same(XT.subset(rows).subset(np.array([2]))[:].toarray(), expected[[41]])


@pytest.mark.parametrize("rows", [0, 1, 255, 257, 700])
def test_wide_terms_are_expanded_as_they_are_defined(rows):
    """Columns are ``numbers[:, num] * contrast[codes, cat]``."""
    rng = np.random.default_rng(rows)
    numbers, contrast = rng.normal(size=(rows, 2)), rng.normal(size=(51, 50))
    codes = rng.integers(0, 51, rows).astype(np.int8)
    num, cat = np.repeat([0, 1], 50), np.tile(np.arange(50)[::-1], 2)
    for given in (numbers, None):
        piece = SubtermColumns(given, codes, contrast, num if given is not None else 0 * num, cat)
        known = contrast[codes[:, None], cat] * (1.0 if given is None else given[:, num])
        np.testing.assert_array_equal(expand([piece], rows), known)
