"""scikit-learn: the estimator passes its checks, and works in its tools with the numbers of the models themselves."""

import importlib.util
import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets, registry

sklearn = pytest.importorskip("sklearn")

from sklearn import (  # noqa: E402
    calibration,
    ensemble,
    inspection,
    linear_model,
    metrics,
    model_selection,
    pipeline,
    preprocessing,
)
from sklearn.base import clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from glmclf.errors import DataError  # noqa: E402
from glmclf.sklearn import FormulaClassifier  # noqa: E402

CONSTANT = "its data have two distinct rows, one a class: within classes the features are constant, an error here"
FEW = "30 features of 3 to 14 rows a class have no covariance matrix, an error here"
DEGENERATE = {"check_sample_weights_shape": CONSTANT, "check_sample_weights_not_overwritten": CONSTANT}
SEPARATED = "its classes are separated: rows whose probability is not determined are an error"
SAMPLING = "factors of classes are sampling weights, which Firth's reduction refuses"
UNDERFLOW = "it compares log p with the logarithm of p where p underflows to 0"
CHECKED = [
    ({"alpha": 0.01}, {}),
    ({"bias_reduction": "firth", "weight_type": "freq_weights"}, {"check_class_weight_classifiers": SAMPLING}),
    pytest.param({"model": "mnlogit", "alpha": 0.01}, {}, marks=pytest.mark.slow),
    ({"model": "lda", "covariance": "diag"}, DEGENERATE),
    pytest.param(
        {"model": "logit"},
        {
            "check_sample_weight_equivalence_on_dense_data": SEPARATED,
            "check_sample_weight_equivalence_on_sparse_data": SEPARATED,
        },
        marks=pytest.mark.slow,
    ),
    pytest.param(
        {"model": "cloglog"},
        {
            "check_sample_weight_equivalence_on_dense_data": SEPARATED,
            "check_sample_weight_equivalence_on_sparse_data": SEPARATED,
            "check_classifiers_train": UNDERFLOW,
        },
        marks=pytest.mark.slow,
    ),
    ({"model": "naivebayes"}, {**DEGENERATE, "check_sample_weight_equivalence_on_dense_data": FEW}),
    pytest.param({"model": "probit", "alpha": 0.01}, {}, marks=pytest.mark.slow),
    pytest.param({"model": "cloglog", "alpha": 0.01}, {}, marks=pytest.mark.slow),
    pytest.param(
        {"model": "qda"},
        {**DEGENERATE, "check_sample_weight_equivalence_on_dense_data": FEW},
        marks=pytest.mark.slow,
    ),
]


@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins").dropna().sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module")
def X(penguins):
    return penguins[["species", "bill_depth_mm", "body_mass_g"]]


@pytest.fixture(scope="module")
def y(penguins):
    return penguins["sex"]


@pytest.mark.parametrize(("parameters", "expected"), CHECKED)
def test_the_checks_of_estimators(parameters, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = FormulaClassifier(**parameters)
        found = check_estimator(made, expected_failed_checks=expected, on_skip=None, on_fail="raise")
    failed = {check["check_name"] for check in found if check["status"] == "xfail"}
    assert failed == {*expected} and len(found) > 50


# ------------------------------------------------------------------------------------------------ the same numbers
@pytest.mark.parametrize(("name", "kind"), registry.LOWER_CASE.items())
def test_predictions_are_those_of_the_model(penguins, X, y, name, kind):
    binary = name in registry.lower_case("binary")
    labels = y if binary else penguins["island"]
    formula = "bill_depth_mm + body_mass_g"
    made = FormulaClassifier(name, formula).fit(X, labels)
    res = getattr(glmclf, kind).from_formula(f"{labels.name} ~ {formula}", penguins).fit()
    p = res.predict()
    p = np.column_stack([1 - p, p]) if binary else p.to_numpy()
    assert_allclose(made.predict_proba(X), p, rtol=1e-9, atol=1e-12)
    assert made.formula_ == f"{labels.name} ~ {formula}" and type(made.results_) is type(res)
    assert made.classes_.tolist() == sorted(set(labels))
    assert (made.predict(X) == res.predict(which="class").to_numpy()).all()
    assert_allclose(np.exp(made.predict_log_proba(X)), p, rtol=1e-9, atol=1e-12)
    scores, inside = made.decision_function(X), p.min(axis=1) > 1e-6
    expected = np.log(p[inside, 1] / p[inside, 0]) if binary else np.log(p[inside])
    assert_allclose(scores[inside], expected, rtol=1e-6, atol=1e-6)
    assert inside.sum() > 200
    assert made.score(X, labels) == pytest.approx((made.predict(X) == labels).mean())
    if kind in ("QDA", "NaiveBayes"):
        assert not hasattr(made, "coef_")
    else:
        linear = X[["bill_depth_mm", "body_mass_g"]].to_numpy() @ made.coef_.T + made.intercept_
        assert made.coef_.shape == (1 if binary else 3, 2)
        expected = res.predict(which="linear").to_numpy()
        difference = linear - (expected[:, None] if binary else expected)
        assert_allclose(difference - difference.mean(axis=1, keepdims=True), 0, atol=1e-7)
        assert_allclose(difference[:, 0], 0, atol=1e-7)


def test_the_event_turns_the_model_and_not_the_answers(X, y):
    pairs = [(model, event) for model in ("logit", "cloglog") for event in ("male", "female")]
    fits = [FormulaClassifier(model, "body_mass_g", event=event).fit(X, y) for model, event in pairs]
    assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), rtol=1e-9)
    assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-7)
    assert_allclose(fits[0].results_.params, -fits[1].results_.params, rtol=1e-7)
    assert abs(fits[2].predict_proba(X) - fits[3].predict_proba(X)).max() > 1e-3
    with pytest.raises(AttributeError, match="not linear in the other class"):
        fits[3].coef_


def test_a_ridge_is_that_of_scikit_learn(X, y):
    x = preprocessing.StandardScaler().fit_transform(X[["bill_depth_mm", "body_mass_g"]])
    theirs = linear_model.LogisticRegression(C=0.3, tol=1e-10, max_iter=1000).fit(x, y)
    ours = FormulaClassifier(alpha=1 / (0.3 * len(x))).fit(x, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-6)
    assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-5)


def test_tails_are_exact(X, y):
    made = FormulaClassifier("probit", "body_mass_g").fit(X, y)
    far = pd.DataFrame({"species": "Adelie", "bill_depth_mm": 1.0, "body_mass_g": [-2e5, 2e5]})[X.columns]
    assert made.predict_proba(far)[0, 1] == 0 and made.predict_log_proba(far)[0, 1] < -1000
    b = made.results_.params
    z = abs(b["Intercept"] - 2e5 * b["body_mass_g"])
    expected = -0.5 * z**2 - np.log(z) - 0.5 * np.log(2 * np.pi) - 1 / z**2  # Abramowitz & Stegun 26.2.12
    assert made.predict_log_proba(far)[0, 1] == pytest.approx(expected, rel=1e-9)
    assert np.sign(made.decision_function(far)).tolist() == [-1, 1]


@pytest.mark.parametrize("name", ["lda", "qda", "naivebayes"])
def test_log_posteriors_near_zero_keep_their_digits(X, y, name):
    made = FormulaClassifier(name, "body_mass_g").fit(X, y)
    far = X.head(3).assign(body_mass_g=[7e3, 3e4, 4e4])
    log_p = made.predict_log_proba(far)
    certain, other = log_p.max(axis=1), log_p.min(axis=1)
    assert other[0] > -20 and other[1] < -20
    assert_allclose(certain, np.log1p(-np.exp(other)), rtol=1e-12)  # p_0 + p_1 = 1


@pytest.mark.parametrize("labels", [[1, 2], [-1.0, 1.0], [False, True], ["no", "yes"]])
def test_labels_of_any_kind(X, y, labels):
    coded = np.where(y == "male", labels[1], labels[0])
    made = FormulaClassifier(formula="body_mass_g").fit(X, coded)
    assert made.classes_.tolist() == labels and made.classes_.dtype == coded.dtype
    assert made.predict(X).dtype == coded.dtype and made.formula_ == "y ~ body_mass_g"
    reference = FormulaClassifier(formula="body_mass_g").fit(X, y)
    assert_allclose(made.predict_proba(X), reference.predict_proba(X), rtol=1e-9)


def test_weights(X, y):
    w = np.arange(len(y)) % 3
    repeated = FormulaClassifier(formula="body_mass_g").fit(X.loc[X.index.repeat(w)], y.repeat(w))
    counted = FormulaClassifier(formula="body_mass_g", weight_type="freq_weights").fit(X, y, sample_weight=w)
    sampled = FormulaClassifier(formula="body_mass_g").fit(X, y, sample_weight=w / 7)
    assert_allclose(counted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9)
    assert_allclose(sampled.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)
    assert_allclose(counted.results_.bse, repeated.results_.bse, rtol=1e-8)
    assert sampled.results_.cov_type == "HC0" and counted.results_.cov_type == "nonrobust"
    with pytest.raises(DataError, match="other than whole numbers"):
        clone(counted).fit(X, y, sample_weight=w / 7)
    with pytest.raises(ValueError, match="both given"):
        FormulaClassifier(formula="body_mass_g", weights="body_mass_g").fit(X, y, sample_weight=w)
    by_column = FormulaClassifier(formula="bill_depth_mm", weights="body_mass_g").fit(X, y)
    assert_allclose(
        by_column.coef_, FormulaClassifier(formula="bill_depth_mm").fit(X, y, sample_weight=X.body_mass_g).coef_
    )


@pytest.mark.parametrize("name", ["mnlogit", "lda", "qda", "naivebayes"])
def test_a_class_without_weight_has_probability_zero(X, penguins, name):
    labels, made = penguins.species, FormulaClassifier(name, "bill_depth_mm + body_mass_g")
    inside = (labels != "Gentoo").to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a level without rows
        made.fit(X, labels, sample_weight=inside.astype(float))
    alone = clone(made).fit(X[inside], labels[inside])
    assert made.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"] and len(alone.classes_) == 2
    assert_allclose(made.predict_proba(X)[:, :2], alone.predict_proba(X), rtol=1e-6)
    assert (made.predict_proba(X)[:, 2] == 0).all() and np.isneginf(made.predict_log_proba(X)[:, 2]).all()
    assert (made.predict(X) == alone.predict(X)).all() and made.decision_function(X).shape == (len(X), 3)
    if name in ("mnlogit", "lda"):
        scores = X[["bill_depth_mm", "body_mass_g"]].to_numpy() @ made.coef_.T + made.intercept_
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        assert_allclose(p / p.sum(axis=1, keepdims=True), made.predict_proba(X), rtol=1e-7, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*no rows, left out")
def test_bags_in_which_a_class_is_missing(X, penguins):
    rare = np.where(np.arange(len(X)) < 1, "rare", np.where(penguins.sex == "male", "b", "a"))
    bag = ensemble.BaggingClassifier(FormulaClassifier("lda", "x0", covariance="diag"), 6, random_state=0)
    p = bag.fit(X[["body_mass_g"]].to_numpy(), rare).predict_proba(X[["body_mass_g"]].to_numpy())
    lost = [2 not in np.unique(np.unique(rare, return_inverse=True)[1][rows]) for rows in bag.estimators_samples_]
    assert any(lost) and not all(lost)
    assert p.shape[1] == 3
    assert_allclose(p.sum(axis=1), 1)


# ------------------------------------------------------------------------------------------------- tables and arrays
def test_class_weights_are_those_of_scikit_learn(X, penguins):
    rows = X[["body_mass_g", "bill_depth_mm"]]
    species = penguins["species"]
    scaled = (rows - rows.mean()) / rows.std()
    given = {"Adelie": 0.5, "Gentoo": 3.0, "Chinstrap": 2.0}
    w = np.random.default_rng(3).uniform(0.2, 2.0, len(rows))
    for class_weight in ("balanced", given):
        ours = FormulaClassifier("mnlogit", alpha=0.1, class_weight=class_weight).fit(scaled, species)
        weights = sklearn.utils.class_weight.compute_sample_weight(class_weight, species)
        by_hand = FormulaClassifier("mnlogit", alpha=0.1).fit(scaled, species, sample_weight=weights)
        np.testing.assert_allclose(ours.predict_proba(scaled), by_hand.predict_proba(scaled), rtol=1e-12)
    C = 1 / (0.1 * len(rows))
    theirs = linear_model.LogisticRegression(C=C, class_weight="balanced", tol=1e-12, max_iter=10_000)
    theirs.fit(scaled, species == "Gentoo")
    ours = FormulaClassifier("logit", alpha=0.1, class_weight="balanced").fit(scaled, species == "Gentoo")
    np.testing.assert_allclose(ours.predict_proba(scaled), theirs.predict_proba(scaled), rtol=1e-5)
    both = FormulaClassifier("lda", class_weight="balanced").fit(scaled, species, sample_weight=w)
    np.testing.assert_allclose(list(both.results_.priors), 1 / 3, rtol=1e-12)  # all classes weigh alike


@pytest.mark.parametrize(
    "parameters, weights, message",
    [
        ({"class_weight": "even"}, None, 'class_weight=.even.: choose "balanced"'),
        ({"class_weight": {"femal": 2}}, None, "names 'femal'; the classes are \\['female', 'male'\\]"),
        ({"class_weight": {"female": -1}}, None, "numbers from 0 on"),
        ({"class_weight": "balanced", "weight_type": "freq_weights"}, 1, "makes sampling weights"),
        ({"class_weight": "balanced", "weights": "body_mass_g"}, None, "class_weight= and weights="),
    ],
)
def test_class_weights_that_mean_nothing(X, y, parameters, weights, message):
    weights = None if weights is None else np.ones(len(y))
    with pytest.raises(ValueError, match=message):
        FormulaClassifier("logit", "body_mass_g", **parameters).fit(X, y, sample_weight=weights)


def test_class_weights_need_labels_beside_the_table(penguins):
    with pytest.raises(ValueError, match="give them beside the table"):
        FormulaClassifier("logit", "sex ~ body_mass_g", class_weight="balanced").fit(penguins)


def test_all_columns_by_default(penguins, y):
    X = penguins[["bill_depth_mm", "island"]].assign(**{"odd name": penguins.year - 2008, "np": penguins.body_mass_g})
    made = FormulaClassifier().fit(X, y)
    assert made.formula_ == "sex ~ bill_depth_mm + island + Q('odd name') + Q('np')"
    assert made.feature_names_in_.tolist() == X.columns.tolist() and made.n_features_in_ == 4
    array = X[["bill_depth_mm", "np"]].to_numpy()
    by_array = FormulaClassifier().fit(array, y)
    assert by_array.results_.model.exog_names == ["Intercept", "x0", "x1"]
    assert not hasattr(by_array, "feature_names_in_")
    named = FormulaClassifier(formula="x0 * x1").fit(array, y)
    assert named.coef_.shape == (1, 3)
    with pytest.raises(ValueError, match="feature names should match"):
        made.predict(X.rename(columns={"island": "isle"}))
    with pytest.raises(ValueError, match="has 1 features, but FormulaClassifier is expecting 2"):
        by_array.predict(array[:, :1])
    kept = X.copy()
    made.predict(X)
    pd.testing.assert_frame_equal(X, kept)


def test_options_that_name_columns_mean_columns(penguins, y):
    """Not the labels, whatever the column, the label or the formula's left side is called."""
    numbers = (penguins.year - 2008.0).to_numpy()
    data = pd.DataFrame({"x": penguins.bill_depth_mm, "apart": numbers})
    labels = pd.Series(y.to_numpy(), name="label")
    for formula, keywords in (
        ("x", {"offset": "{}"}),
        ("x", {"cov_type": "cluster", "cov_kwds": {"groups": ["{}"]}}),
        ("{} ~ x", {"offset": "{}"}),
    ):
        found = []
        for name in ("apart", "y", "label", "y0"):
            options = {k: _filled(v, name) for k, v in keywords.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # few clusters
                X = data.rename(columns={"apart": name})
                made = FormulaClassifier("logit", formula.format(name), **options).fit(X, labels)
            found.append(np.r_[made.results_.params, made.results_.bse])
            assert made.formula_.split(" ~ ")[0] not in X.columns
        for other in found[1:]:
            assert_allclose(other, found[0], rtol=1e-12)
    for name in ("y", "label"):  # no column: not the labels either
        with pytest.raises(ValueError, match=f'"{name}"'):
            FormulaClassifier("logit", "x", offset=name).fit(data, labels)


def _filled(value, name):
    if isinstance(value, dict):
        return {key: _filled(each, name) for key, each in value.items()}
    return [name] if isinstance(value, list) else value.format(name)


def test_the_response_in_the_table(penguins):
    made = FormulaClassifier("logit", "sex ~ body_mass_g").fit(penguins)
    beside = FormulaClassifier("logit", "sex ~ body_mass_g").fit(penguins, penguins.sex)
    right = FormulaClassifier("logit", "~ body_mass_g").fit(penguins, penguins.sex)
    assert "sex" not in made.feature_names_in_ and "sex" in beside.feature_names_in_
    for one in (beside, right):
        assert_allclose(one.predict_proba(penguins), made.predict_proba(penguins), rtol=1e-10)
    assert (made.predict(penguins.drop(columns="sex")) == made.predict(penguins)).all()
    computed = FormulaClassifier("logit", "I(body_mass_g > 4000) ~ bill_depth_mm").fit(penguins)
    assert computed.classes_.tolist() == [False, True] and computed.predict(penguins).dtype == bool
    for formula in (None, "body_mass_g"):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            FormulaClassifier("logit", formula).fit(penguins)


def test_other_tables(X, y):
    polars = pytest.importorskip("polars")
    made = FormulaClassifier(formula="body_mass_g + C(species)").fit(X, y)
    other = FormulaClassifier(formula="body_mass_g + C(species)").fit(polars.DataFrame(X.to_dict("list")), y.to_numpy())
    assert_allclose(made.predict_proba(X), other.predict_proba(polars.DataFrame(X.to_dict("list"))), rtol=1e-10)


def test_functions_of_the_caller(X, y):
    half = {"half": np.vectorize(lambda x: x / 2)}
    made = FormulaClassifier(formula="half(body_mass_g)", functions=half).fit(X, y)
    assert_allclose(made.coef_, 2 * FormulaClassifier(formula="body_mass_g").fit(X, y).coef_, rtol=1e-7)
    half_ = half["half"]  # a variable here, which the formula does not see
    with pytest.raises(ValueError, match="no function"):
        FormulaClassifier(formula="half_(body_mass_g)").fit(X, y)
    assert half_(2) == 1


def test_missing_values(penguins):
    full = datasets.load("penguins")
    X, y = full[["bill_depth_mm", "body_mass_g"]], full["island"]
    with pytest.raises(ValueError, match="missing"):
        FormulaClassifier("lda").fit(X, y)
    dropped = FormulaClassifier("mnlogit", missing="drop").fit(X, y)
    with pytest.raises(DataError, match=r"2 of 344 rows have no prediction \(the first is row 3\)"):
        dropped.predict(X)
    skipped = FormulaClassifier("naivebayes").fit(X, y)
    assert (skipped.predict(X) == y).mean() > 0.6


@pytest.mark.parametrize(
    ("name", "options", "takes"),
    [("lda", {}, False), ("qda", {"missing": "drop"}, False), ("naivebayes", {"missing": "raise"}, False),
     ("naivebayes", {}, True), ("naivebayes", {"missing": "skip"}, True)],
)  # fmt: skip
def test_missing_values_in_rows_to_predict(X, y, name, options, takes):
    table = X[["bill_depth_mm", "body_mass_g"]]
    holes = table.assign(body_mass_g=np.where(np.arange(len(X)) == 4, np.nan, table.body_mass_g))
    made = FormulaClassifier(name, **options).fit(table, y)
    by_array = FormulaClassifier(name, **options).fit(table.to_numpy(), y)
    for method in ("predict", "predict_proba", "decision_function"):
        if takes:
            assert len(getattr(made, method)(holes)) == len(getattr(by_array, method)(holes.to_numpy())) == len(X)
            continue
        with pytest.raises(DataError, match=r"1 of 333 rows have no prediction \(the first is row 4\)"):
            getattr(made, method)(holes)
        with pytest.raises(ValueError, match="contains NaN"):
            getattr(by_array, method)(holes.to_numpy())
    unused = FormulaClassifier(name, "bill_depth_mm", **options).fit(table, y)
    assert len(unused.predict(holes)) == len(X)


def test_undetermined_rows_are_no_classes():
    X = np.array([[0.0, 0], [1, 0], [0, 1], [5, 5], [6, 5], [5, 6]])
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(glmclf.errors.SeparationWarning):
        made = FormulaClassifier().fit(X, y)
    assert (made.predict(X) == y).all()
    with pytest.raises(DataError, match='the classes are separated.*bias_reduction="firth"'):
        made.predict(np.array([[3.0, 2.0]]))
    FormulaClassifier(bias_reduction="firth").fit(X, y).predict(np.array([[3.0, 2.0]]))


# -------------------------------------------------------------------------------------------------------- parameters
def test_parameters():
    made = FormulaClassifier("lda", "x", shrinkage=0.2, priors="equal")
    own = {"model": "lda", "formula": "x", "weight_type": "weights", "class_weight": None, "functions": None}
    own["trusted"] = True
    assert made.get_params() == {**own, "shrinkage": 0.2, "priors": "equal"}
    copied = clone(made).set_params(shrinkage=0.3, cov_type="HC0")
    assert copied.get_params()["shrinkage"] == 0.3 and made.get_params()["shrinkage"] == 0.2
    assert "cov_type" not in made.get_params() and repr(made).count("shrinkage=0.2") == 1


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"bias_reducton": "firth"}, TypeError, "take no keyword 'bias_reducton'; they have .*bias_reduction"),
        ({"model": "lda", "event": "a"}, TypeError, "LDA and its fit.* take no keyword 'event'"),
        ({"model": "qda", "alpha": 0.1}, TypeError, "no penalty alpha=; LDA and QDA have shrinkage="),
        ({"model": "logistic"}, ValueError, 'model=.logistic.: choose "logit", '),
        ({"model": dict}, ValueError, "or a class of glmclf"),
        ({"weight_type": "aweights"}, ValueError, 'weight_type=\'aweights\': choose "weights" or "freq_weights"'),
        ({"formula": "s + f ~ x"}, ValueError, "counts"),
        ({"alpha": 0.1, "bias_reduction": "firth"}, TypeError, "fit_regularized.* take no keyword 'bias_reduction'"),
    ],
)
def test_parameters_are_checked_by_fit(parameters, error, message):
    made = FormulaClassifier(**parameters)
    data = pd.DataFrame({"x": np.arange(6.0), "s": [1, 2, 0, 1, 2, 2], "f": [2, 1, 1, 1, 0, 1]})
    with pytest.raises(error, match=message):
        made.fit(data, None if "~" in str(made.formula) else [0, 1, 0, 1, 1, 0])


def test_more_classes_than_two_need_another_model(X, penguins):
    with pytest.raises(ValueError, match='Only binary classification is supported.*Logit is a model of two.*"mnlogit"'):
        FormulaClassifier("logit", "body_mass_g").fit(X, penguins.species)


# ------------------------------------------------------------------------------------------------------------- tools
def test_a_pipeline_and_a_search_over_formulas_and_models(X, y):
    scale = make_column_transformer(
        (preprocessing.StandardScaler(), ["bill_depth_mm", "body_mass_g"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    steps = pipeline.make_pipeline(scale, FormulaClassifier()).set_output(transform="pandas")
    f = "formulaclassifier__"
    grid = [
        {f"{f}formula": ["body_mass_g", "bill_depth_mm * species"], f"{f}alpha": [None, 0.1]},
        {f"{f}model": ["lda", glmclf.QDA], f"{f}formula": ["body_mass_g + bill_depth_mm"]},
    ]
    search = model_selection.GridSearchCV(steps, grid, cv=3, scoring="neg_log_loss", error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 6 and np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_[-1]
    assert best.results_.summary().as_text() and (search.predict(X) == y).mean() > 0.8
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_allclose(again.predict_proba(X), search.predict_proba(X))


def test_cross_validation_is_fitting_by_hand(X, y):
    made = FormulaClassifier(formula="body_mass_g + species")
    folds = model_selection.KFold(3)
    scores = model_selection.cross_val_score(made, X, y, cv=folds, scoring="neg_log_loss")
    data = X.assign(sex=y)
    for (train, test), score in zip(folds.split(X), scores):
        p = glmclf.Logit.from_formula("sex ~ body_mass_g + species", data.iloc[train]).fit().predict(data.iloc[test])
        assert score == pytest.approx(np.log(np.where(y.iloc[test] == "male", p, 1 - p)).mean())


def test_estimators_around_it(X, y):
    logit, lda = (FormulaClassifier(m, "body_mass_g + bill_depth_mm") for m in ("logit", "lda"))
    calibrated = calibration.CalibratedClassifierCV(logit, cv=3).fit(X, y)
    assert metrics.log_loss(y, calibrated.predict_proba(X)) < 0.5
    voting = ensemble.VotingClassifier([("a", logit), ("b", lda)], voting="soft").fit(X, y)
    mean = np.mean([clone(m).fit(X, y).predict_proba(X) for m in (logit, lda)], axis=0)
    assert_allclose(voting.predict_proba(X), mean, rtol=1e-8)
    found = inspection.permutation_importance(logit.fit(X, y), X, y, n_repeats=2, random_state=0)
    assert found.importances_mean[0] == 0 and (found.importances_mean[1:] > 0.05).all()  # species is not used


def test_displays(X, y):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    two = X[["bill_depth_mm", "body_mass_g"]]
    made = FormulaClassifier().fit(two, y)
    curve = metrics.RocCurveDisplay.from_estimator(made, two, y)
    assert curve.roc_auc == pytest.approx(made.results_.roc().auc, abs=1e-9)
    table = metrics.ConfusionMatrixDisplay.from_estimator(made, two, y).confusion_matrix
    assert (table == made.results_.pred_table().to_numpy()[:2, :2]).all()
    shown = calibration.CalibrationDisplay.from_estimator(made, two, y, n_bins=4)
    assert np.isfinite(shown.prob_true).all()
    regions = inspection.DecisionBoundaryDisplay.from_estimator(made, two, grid_resolution=5)
    assert np.isfinite(np.asarray(regions.response, dtype=float)).all()
    pyplot.close("all")


def test_without_scikit_learn(monkeypatch):
    source = importlib.util.spec_from_file_location("without", glmclf.sklearn.__file__)
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"needs scikit-learn 1.6 or later: pip install 'glmclf\[sklearn\]'"):
        source.loader.exec_module(importlib.util.module_from_spec(source))


# ------------------------------------------------------------------------------------------------------ sparse counts
@pytest.mark.parametrize("options", [{"multinomial": "all"}, {"families": "poisson"}])
def test_sparse_counts(options):
    """As the model of the array, in a pipeline and in folds; a class without weight keeps its place."""
    from scipy import sparse
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    rng = np.random.default_rng(0)
    counts, labels = rng.poisson(0.7, (80, 6)).astype(float), rng.choice(["u", "v", "w"], 80)
    counts[labels == "u", 0] += 2
    X = sparse.csr_matrix(counts)
    made = FormulaClassifier("naivebayes", smoothing=1.0, **options)
    assert made.__sklearn_tags__().input_tags.sparse
    known = glmclf.NaiveBayes(labels, X, smoothing=1.0, **options).fit()
    fitted = clone(made).fit(X, labels)
    for rows in (X, counts):
        np.testing.assert_allclose(fitted.predict_proba(rows), known.predict(X), rtol=1e-13)
    assert (fitted.predict(sparse.csc_array(counts)) == known.predict(X, which="class")).all()
    assert fitted.formula_ is None and fitted.n_features_in_ == 6
    assert cross_val_score(made, X, labels, cv=4).mean() > 0.4
    with pytest.warns(glmclf.errors.DataWarning, match='level "w" of y: no rows'):
        weighted = clone(made).fit(X, labels, sample_weight=np.where(labels == "w", 0.0, 2.0))
    assert (weighted.predict_proba(X)[:, 2] == 0).all()
    balanced = clone(made).set_params(class_weight="balanced").fit(X, labels)
    np.testing.assert_allclose(np.exp(balanced.results_._log_priors), 1 / 3)
    with pytest.raises(ValueError, match="not whole numbers"):
        make_pipeline(MaxAbsScaler(), made).fit(X, labels)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :4])
    with pytest.raises(DataError, match="scipy.sparse exog are not all 0 or 1"):
        FormulaClassifier("naivebayes").fit(X, labels)
    for model, formula, words in (("lda", None, "LDA takes none"), ("logit", "x0", "no names for the formula")):
        with pytest.raises(DataError, match=f"scipy.sparse array, and .*{words}: pass an array, X.toarray"):
            FormulaClassifier(model, formula).fit(X, labels)


@pytest.mark.parametrize("name", registry.lower_case("binary", "multinomial"))
@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}, {"alpha": 0.05, "L1_wt": 0.5, "class_weight": "balanced"}])
def test_regressions_of_sparse_arrays(name, options):
    """As of the array: predictions, coefficients, the free intercept."""
    from scipy import sparse

    rng = np.random.default_rng(3)
    X = sparse.random_array((150, 5), density=0.4, rng=rng, format="csc")
    labels = rng.choice(["u", "v", "w"] if name == "mnlogit" else ["u", "v"], 150)
    made, known = (FormulaClassifier(name, **options).fit(rows, labels) for rows in (X, X.toarray()))
    assert made.__sklearn_tags__().input_tags.sparse
    for rows in (X, X.toarray(), sparse.coo_array(X)):
        np.testing.assert_allclose(made.predict_proba(rows), known.predict_proba(X.toarray()), rtol=1e-9)
    np.testing.assert_allclose(made.coef_, known.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(made.intercept_, known.intercept_, rtol=1e-7, atol=1e-9)
    with pytest.raises(DataError, match="fitted to an array or a table: pass an array"):
        known.predict(X)


def test_columns_of_sparse_arrays_are_called_as_those_of_others():
    """Options by name are of the same columns, the response has the same name."""
    from scipy import sparse

    rng = np.random.default_rng(4)
    X = sparse.random_array((150, 4), density=0.4, rng=rng, format="csc")
    labels = pd.Series(rng.choice(["u", "v"], 150), name="side")
    for name in ("logit", "mnlogit"):
        one, other = (FormulaClassifier(name, alpha={"x1": 5.0}).fit(rows, labels) for rows in (X, X.toarray()))
        assert one.results_.model.exog_names == other.results_.model.exog_names == ["Intercept", "x0", "x1", "x2", "x3"]
        assert one.results_.model.endog_names == other.results_.model.endog_names == "side"
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)
        assert abs(one.coef_[0, 1]) < 0.1 * np.abs(one.coef_[0, [0, 2, 3]]).min()
    counts = rng.poisson(0.7, (150, 4)).astype(float)
    families = {f"x{j}": "poisson" for j in range(4)}
    made = FormulaClassifier("naivebayes", families=families)
    fits = [clone(made).fit(rows, labels) for rows in (sparse.csr_array(counts), counts)]
    assert [fit.results_.feature_names for fit in fits] == [["x0", "x1", "x2", "x3"]] * 2
    np.testing.assert_allclose(fits[0].predict_proba(counts), fits[1].predict_proba(counts), rtol=1e-12)
    counts[:, 2] = 1.0
    for rows in (sparse.csr_array(counts), counts):
        with pytest.warns(glmclf.errors.CollinearityWarning, match='"x2" = Intercept'):
            FormulaClassifier("logit").fit(rows, labels)
