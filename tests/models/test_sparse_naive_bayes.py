"""NaiveBayes on scipy.sparse arrays: every number is that of the same array written out, or of scikit-learn."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import glmclf
from glmclf import NaiveBayes
from glmclf.errors import DataError, DataWarning, ZeroCellWarning

N = 90
RNG = np.random.default_rng(4)
COUNTS, ONES = RNG.poisson(0.6, (N, 6)).astype(float), (RNG.random((N, 6)) < 0.3).astype(float)
NEW_COUNTS, NEW_ONES = RNG.poisson(0.6, (7, 6)).astype(float), (RNG.random((7, 6)) < 0.3).astype(float)
Y, TIMES = RNG.choice(["a", "b", "c"], N), RNG.integers(1, 4, N)
MIXED = {"multinomial": ["x3", "x4"], "families": {"x5": "poisson"}}


def mixed(ones, counts):
    return np.hstack([ones[:, :2], counts[:, :3], ones[:, 3:5]])


CASES = {
    "multinomial": (COUNTS, NEW_COUNTS, {"multinomial": "all"}),
    "poisson": (COUNTS, NEW_COUNTS, {"families": "poisson"}),
    "bernoulli": (ONES, NEW_ONES, {}),
    "mixed": (mixed(ONES, COUNTS), mixed(NEW_ONES, NEW_COUNTS), MIXED),
}
OPTIONS = {
    "plain": {},
    "smoothed": {"smoothing": 0.5, "freq_weights": TIMES},
    "weighted": {"weights": TIMES / 2.0},
    "priors": {"priors": [0.2, 0.3, 0.5], "reference": "b"},
}
every = pytest.mark.parametrize("case", CASES)


def close(a, b, rtol=1e-12, atol=1e-13):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=atol)


@every
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.filterwarnings("ignore:cov_type=.nonrobust")
def test_every_number_is_that_of_the_array(case, option, tmp_path):
    X, new, keywords = CASES[case]
    keywords = {**keywords, **OPTIONS[option]}
    a, b = (NaiveBayes(Y, A, **keywords).fit() for A in (sparse.csr_array(X), X))
    assert a.feature_names == b.feature_names and a.params.index.equals(b.params.index)
    for name in ("params", "bse", "llf", "llnull", "k_params", "k_params_effective", "llf_conditional", "observed"):
        close(getattr(a, name), getattr(b, name), rtol=1e-11)
    for cov_type in ("nonrobust", "HC0"):
        one, two = (res.with_cov(cov_type) for res in (a, b))
        for name in ("params", "bse", "pvalues"):
            close(getattr(one.discriminant, name), getattr(two.discriminant, name), rtol=1e-10)
        close(one.discriminant.cov_params(), two.discriminant.cov_params(), rtol=1e-9)
        frames = (res.get_prediction(A).summary_frame() for res, A in ((one, sparse.csc_matrix(new)), (two, new)))
        close(*frames, rtol=1e-9)
    for which in ("mean", "joint", "linear"):
        close(a.predict(sparse.csr_array(new), which), b.predict(new, which), rtol=1e-11)
    close(a.predict(new), b.predict(new), rtol=1e-11)
    close(a.leave_one_out(), b.leave_one_out(), rtol=1e-11)
    if option != "weighted":
        close(a.term_tests(), b.term_tests(), rtol=1e-9)
    assert a.summary(date=False).as_text() == b.summary(date=False).as_text()
    a.save(tmp_path / "sparse.json")
    for other in (glmclf.load(tmp_path / "sparse.json"), pickle.loads(pickle.dumps(a))):
        np.testing.assert_array_equal(other.predict(sparse.coo_array(new)), a.predict(new))
        np.testing.assert_array_equal(other.discriminant.bse, a.discriminant.bse)
        assert other.summary(date=False).as_text() == a.summary(date=False).as_text()


def few_rows():
    """Cells without a count, a column of ones, one of zeros, and a class that always has a 1."""
    X = np.zeros((24, 8))
    X[:8, 0] = X[3:20, 1] = X[::3, 2] = X[:, 3] = X[16:, 4] = X[2:5, 5] = X[10, 5] = X[1::2, 6] = 1.0
    return np.repeat(["a", "b", "c"], 8), X


@every
@pytest.mark.filterwarnings("ignore:never seen")
def test_many_classes(case):
    X, new, keywords = CASES[case]
    X, y = np.tile(X, (5, 1)), np.arange(5 * N) % 45
    options = {**keywords, "smoothing": 0.5}
    a, b = (NaiveBayes(y, A, **options).fit() for A in (sparse.csr_array(X), X))
    close(a.llf, b.llf)
    close(a.predict(sparse.csr_array(new)), b.predict(new))


@pytest.mark.parametrize("options", [{"families": "bernoulli"}, {"families": "poisson"}, {"multinomial": "all"}, {}])
def test_cells_without_a_count(options):
    y, X = few_rows()
    found = []
    for A in (sparse.csr_matrix(X), X):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            res = NaiveBayes(y, A, **options).fit()
        found.append((res, [str(w.message) for w in said if w.category is ZeroCellWarning]))
    (a, one), (b, two) = found
    assert one == two and one and a.model.dropped_const == b.model.dropped_const
    for cov_type in ("nonrobust", "HC0"):
        p, q = (res.with_cov(cov_type).discriminant for res in (a, b))
        close(p.params, q.params)
        close(p.bse, q.bse, rtol=1e-10)
    close(a.predict(which="joint"), b.predict(which="joint"))
    close(a.get_prediction().summary_frame(), b.get_prediction().summary_frame(), rtol=1e-10)
    close(a.leave_one_out(), b.leave_one_out())
    if not options:
        assert a.model._notes == ['"x7" has one value in the rows used: it is left out']
        X[0, 7] = 1
        with pytest.raises(DataError, match=r'"x7" is not 0 in 1 rows \(row 0\)'):
            a.predict(sparse.csr_array(X))
        return
    new = np.tile(X[:1], (2, 1))
    new[0, 7] = 1
    with pytest.warns(DataWarning, match=r"1 row \(0\) with probability 0 in every class \(x7 (= 1|> 0)\)"):
        assert a.predict(sparse.csr_array(new)).isna().all(axis=1).tolist() == [True, False]


def test_words_name_columns_and_index_rows():
    table = pd.DataFrame.sparse.from_spmatrix(
        sparse.csr_matrix(COUNTS), columns=[f"w{j}" for j in range(6)], index=np.arange(N) + 5
    )
    named = NaiveBayes(pd.Series(Y, index=table.index, name="author"), table, multinomial="all").fit()
    plain = NaiveBayes(Y, sparse.csr_array(COUNTS), multinomial="all").fit()
    assert named.discriminant.params.index.tolist() == ["Intercept", *table.columns]
    assert named.predict().index.equals(table.index) and named.model.endog_names == "author"
    np.testing.assert_array_equal(named.params, plain.params)
    shuffled = table[table.columns[::-1]]
    np.testing.assert_array_equal(named.predict(shuffled[:4]), plain.predict(COUNTS[:4]))
    np.testing.assert_array_equal(named.predict(shuffled[:4].sparse.to_dense()), plain.predict(COUNTS[:4]))
    with pytest.raises(DataError, match='no column "w2"'):
        named.predict(table[["w0", "w1"]])


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool])
def test_numbers_of_other_types(kind):
    X = (COUNTS if kind is not bool else ONES).astype(kind)
    options = {"multinomial": "all"} if kind is not bool else {}
    a, b = (NaiveBayes(Y, sparse.csr_array(A), **options).fit() for A in (X, X.astype(float)))
    np.testing.assert_array_equal(a.params, b.params)
    np.testing.assert_array_equal(a.predict(), b.predict())
    close(a.leave_one_out(), b.leave_one_out())
    assert X.dtype == kind


def test_a_given_array_is_not_changed():
    X = sparse.csr_array(COUNTS)
    X.data[3] = 0.0  # stored
    twin = X.copy()
    res = NaiveBayes(Y, X, families="poisson").fit()
    res.predict(X)
    assert X.nnz == twin.nnz and (X.data == twin.data).all()
    close(res.params, NaiveBayes(Y, X.toarray(), families="poisson").fit().params)


def test_what_sparse_features_cannot_be():
    X = sparse.csr_array(COUNTS)
    with pytest.raises(DataError, match='"x1".*not all 0 or 1.*families="poisson".*multinomial="all"'):
        NaiveBayes(Y, X)
    with pytest.raises(DataError, match='"x1" is a column of a scipy.sparse array and cannot be gaussian'):
        NaiveBayes(Y, X, families={"x1": "gaussian"})
    with pytest.raises(DataError, match='"x1" is bernoulli, but has values other than 0 and 1 in'):
        NaiveBayes(Y, X, families="bernoulli")
    with pytest.raises(DataError, match='"x1" is multinomial, but has negative counts'):
        NaiveBayes(Y, -X, multinomial="all")
    with pytest.raises(DataError, match='"x1" is poisson, but has values that are not whole numbers in .*: 0.5'):
        NaiveBayes(Y, 0.5 * X, families="poisson")
    with pytest.raises(DataError, match='no feature "x9"'):
        NaiveBayes(Y, X, families={"x9": "poisson"}, multinomial=["x1", "x2"])
    with pytest.raises(NotImplementedError, match="LDA takes no scipy.sparse"):
        glmclf.LDA(Y, X)
    res = NaiveBayes(Y, X, multinomial="all").fit()
    for method in ("get_margeff", "predictions"):
        with pytest.raises(NotImplementedError, match="scipy.sparse features have not"):
            getattr(res, method)()
    with pytest.raises(NotImplementedError, match="compare_lr_test"):
        res.compare_lr_test(res)
    with pytest.raises(DataError, match="shape .*the model has 6 columns"):
        res.predict(X[:, :4])


def test_missing_and_infinite_values():
    X = sparse.csr_array(COUNTS)
    X.data[3] = np.nan
    row = int(np.searchsorted(X.indptr, 3, side="right")) - 1
    place = f'"x{X.indices[3] + 1}" .*row {row}'
    with pytest.raises(DataError, match=place + '.*missing="drop" leaves such rows out'):
        NaiveBayes(Y, X, families="poisson")
    kept = np.arange(N) != row
    a = NaiveBayes(Y, X, families="poisson", missing="drop").fit()
    np.testing.assert_array_equal(a.params, NaiveBayes(Y[kept], X[kept], families="poisson").fit().params)
    with pytest.raises(DataError, match=place.replace(" .*", ".* is missing or infinite .*")):
        a.predict(X)
    with pytest.raises(DataError, match="pass endog.toarray"):
        NaiveBayes(sparse.csr_array(Y[:, None] == Y[0]), X, families="poisson")
    X.data[3] = np.inf
    with pytest.raises(DataError, match="is infinite in 1 of 90 rows"):
        NaiveBayes(Y, X, families="poisson")


def test_rows_of_weight_zero_are_absent():
    times = np.where(np.arange(N) < 50, 1, 0)
    a = NaiveBayes(Y, sparse.csr_array(COUNTS), multinomial="all", freq_weights=times).fit()
    b = NaiveBayes(Y[:50], sparse.csr_array(COUNTS[:50]), multinomial="all").fit()
    np.testing.assert_array_equal(a.params, b.params)
    assert a.nobs == 50


def test_totals_of_fits_without_rows():
    """Sums by class of a sparse fit are those of the array, so that the two compare."""
    for X, _, keywords in CASES.values():
        a, b = (NaiveBayes(Y, A, **keywords).fit()._data_sums["columns"] for A in (sparse.csr_array(X), X))
        assert a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_scikit_learn_has_the_same_posteriors():
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    X = sparse.random_array((300, 2000), density=0.01, format="csr", rng=np.random.default_rng(0))
    X.data = np.ceil(3 * X.data)
    y = np.repeat([0, 1, 2], 100)
    for keywords, other in (({"multinomial": "all"}, "MultinomialNB"), ({"families": "bernoulli"}, "BernoulliNB")):
        X.data = X.data if other == "MultinomialNB" else np.ones_like(X.data)
        known = getattr(naive_bayes, other)(alpha=1.0).fit(X, y)
        p = NaiveBayes(y, X, smoothing=1.0, **keywords).fit().predict(X)
        close(p, known.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_nothing_is_written_out(monkeypatch):
    """10 million numbers would be; fit, predictions, summary and coefficients do without them."""

    def refuse(self, *args, **kwargs):
        raise AssertionError("written out")

    X = sparse.random_array((500, 20_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    X.data[:] = 1.0
    for keywords in ({"multinomial": "all"}, {"families": "bernoulli"}, {"families": "poisson"}):
        model = NaiveBayes(np.arange(500) % 2, X, smoothing=1.0, **keywords)
        monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroCellWarning)
            res = model.fit()
        assert res.predict(X[:3]).shape == (3, 2) and res.discriminant.bse.shape == (20_001, 1)
        monkeypatch.undo()


def test_a_matrix_of_all_words_is_not_formed_without_a_word():
    X = sparse.random_array((60, 20_000), density=1e-3, format="csr", rng=np.random.default_rng(0))
    X.data[:] = 1.0
    X = sparse.csr_array(sparse.vstack([X, np.ones((1, 20_000))]))  # words that no row has are not tested
    res = NaiveBayes(np.arange(61) % 3, X, multinomial="all", smoothing=1.0).fit()
    with pytest.raises(ValueError, match="GB, more than is formed"):
        res.discriminant.cov_params()
    with pytest.raises(NotImplementedError, match="39,998 coefficients needs .* GB, which is not formed: term_tests"):
        res.discriminant.wald_test_terms()
    assert "20,000 levels" in res.summary().as_text()
    with pytest.raises(NotImplementedError, match='would take .* GB: .* or cov_type="nonrobust"'):
        NaiveBayes(np.arange(61) % 3, X, multinomial="all", smoothing=1.0, weights=np.ones(61)).fit()


@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_one_family_for_all_features_of_a_table(family):
    X = pd.DataFrame(ONES, columns=list("uvwxyz")).assign(label=Y)
    names = list("uvwxyz")
    one = NaiveBayes.from_formula("label ~ u + v + w + x + y + z", X, families=family).fit()
    each = NaiveBayes.from_formula("label ~ u + v + w + x + y + z", X, families=dict.fromkeys(names, family)).fit()
    np.testing.assert_array_equal(one.params, each.params)
    block = NaiveBayes.from_formula("label ~ u + v + w + x + y + z", X, multinomial="all").fit()
    listed = NaiveBayes.from_formula("label ~ u + v + w + x + y + z", X, multinomial=names).fit()
    np.testing.assert_array_equal(block.params, listed.params)


def test_a_constant_column_stays_in_its_block():
    X = np.column_stack([COUNTS[:, 0], np.ones(N), COUNTS[:, 1]])
    for A in (X, sparse.csr_array(X)):
        res = NaiveBayes(Y, A, multinomial="all").fit()
        assert res.model.dropped_const is None and res.model.features[0].cells == 3
