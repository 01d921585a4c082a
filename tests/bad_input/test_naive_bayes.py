"""What NaiveBayes refuses or warns about: every message names the feature, the class or rows, and what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused

import glmclf
from glmclf import NaiveBayes, errors

TABLE = pd.DataFrame(
    {
        "y": list("aaabbbcc"),
        "x": [1.0, 2, 3, 4, 5, 6, 7, 8],
        "g": list("uvuvuvuu"),
        "n": [0, 1, 2, 3, 1, 0, 0, 0],
        "still": [1.0, 1, 1, 2, 3, 4, 5, 6],
        "flat": 5.0,
        "step": [1.0, 1, 1, 2, 2, 2, 3, 3],
        "low": [-1.5, 2, 3, 4, 5, 6, 7, 8],
    }
)


def fit(formula, data=TABLE, **keywords):
    return NaiveBayes.from_formula(formula, data, **keywords).fit()


# -------------------------------------------------------------------------------------- features without variance
def test_constant_within_a_class():
    with refused('"still"', "class 'a'", "pooled=True", "categorical", error=errors.SingularCovarianceError) as caught:
        fit("y ~ x + still")
    assert caught.value.columns == ["still"] and caught.value.classes == ["a"]
    assert np.isfinite(fit("y ~ still", pooled=True).bse).all()


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("feature", ["flat", "step"])
def test_constant_within_every_class(feature, pooled):
    words = [f'"{feature}"', "within every class", "drop"]
    with refused(*words, error=errors.SingularCovarianceError, but=["pooled"]) as caught:
        fit(f"y ~ x + {feature}", pooled=pooled)
    assert caught.value.columns == [feature] and caught.value.classes == []


def test_one_row_in_a_class():
    with refused("'c'", "1 row", '"x"', "subset=", "pooled=True", error=errors.SingularCovarianceError):
        fit("y ~ x", TABLE.head(7))
    assert fit("y ~ x", TABLE.head(7), pooled=True).nobs == 7
    with pytest.warns(errors.ZeroCellWarning):
        assert fit("y ~ g", TABLE.head(7)).nobs == 7  # a table needs no variance


def test_constant_gamma():
    data = TABLE.assign(x=TABLE.still)
    with refused('"x"', "class 'a'", "constant", error=errors.SingularCovarianceError, but=["pooled"]):
        fit("y ~ x", data, families={"x": "gamma"})


def test_rounding_is_constant():
    """0.1 + 0.2 is not 0.3."""
    data = TABLE.assign(x=np.where(TABLE.y == "a", 0.3, TABLE.x))
    data.loc[0, "x"] = 0.1 + 0.2
    with refused('"x"', "class 'a'", error=errors.SingularCovarianceError):
        fit("y ~ x", data)


def test_never_observed_in_a_class():
    data = TABLE.assign(x=TABLE.x.where(TABLE.y != "c"), g=TABLE.g.where(TABLE.y != "b"))
    with refused('"x"', "never observed", "'c'", error=errors.EstimationError):
        fit("y ~ x + n", data)
    with refused('"g"', "never observed", "'b'", error=errors.EstimationError):
        fit("y ~ g", data)
    with refused('"x"', "missing in all 8 rows", error=errors.MissingDataError):
        fit("y ~ n + x", TABLE.assign(x=np.nan))


def test_zero_in_a_whole_class_is_no_exponential():
    with refused('"n"', "class 'c'", "exponential", error=errors.EstimationError):
        fit("y ~ n", families={"n": "exponential"})


# ---------------------------------------------------------------------------------------------------------- domains
DOMAINS = [
    ("poisson", [-2.0, 1, 2, 3, 4, 5, 6, 7], ["negative values", "row 0", "-2.0"]),
    ("poisson", [0.5, 1, 2, 3, 4, 5, 6, 7], ["not whole numbers", "row 0", "0.5"]),
    ("exponential", [-2.0, 1, 2, 3, 4, 5, 6, 7], ["negative values", "row 0", "-2.0"]),
    ("gamma", [1.0, 0, 2, 3, 4, 5, 6, 7], ["not positive", "row 1", "0.0"]),
    ("bernoulli", [1.0, 0, 1, 2, 0, 1, 1, 0], ["other than 0 and 1", "row 3", "2.0"]),
]


@pytest.mark.parametrize(("family", "values", "words"), DOMAINS)
def test_values_outside_the_domain(family, values, words):
    data = TABLE.assign(x=values)
    with refused('"x"', family, *words, error=errors.DataError):
        fit("y ~ x", data, families={"x": family})
    with refused('"x1"', family, *words, error=errors.DataError):
        NaiveBayes(data.y.to_numpy(), data[["x"]].to_numpy(), families={"x1": family}).fit()


@pytest.mark.parametrize(("family", "values", "words"), DOMAINS)
def test_new_values_outside_the_domain(family, values, words):
    good = [1.0, 0, 1, 0, 1, 0, 1, 0] if family == "bernoulli" else [1.0, 2, 3, 4, 5, 6, 7, 8]
    res = fit("y ~ x", TABLE.assign(x=good), families={"x": family})
    with refused('"x"', family, *words, error=errors.DataError, but=["families="]):
        res.predict(TABLE.assign(x=values))


@pytest.mark.parametrize("family", ["gaussian", "gamma", "poisson", "exponential"])
def test_infinite_values(family):
    res = fit("y ~ x + g", smoothing=0.5, families={"x": family})
    for call in (res.predict, res.get_prediction, res.augment):
        with refused('"x"', "infinite", "row 2", error=errors.DataError):
            call(TABLE.assign(x=[1.0, 2, np.inf, 4, 5, 6, 7, 8]))
    with refused('"x"', "infinite", error=errors.DataError):
        fit("y ~ x", TABLE.assign(x=[1.0, 2, np.inf, 4, 5, 6, 7, 8]), families={"x": family})


def test_counts_outside_the_domain():
    data = TABLE.assign(m=[1.0, 2, 3, 4, 5, 6, 7, 8.5])
    with refused('"n + m"', "not whole numbers", "row 7", "8.5", error=errors.DataError):
        fit("y ~ n + m", data, multinomial=["n", "m"])


# -------------------------------------------------------------------------------------------------------- zero cells
def test_zero_cells():
    with pytest.warns(errors.ZeroCellWarning) as caught:
        res = fit("y ~ g + x")
    assert len(caught) == 1 and caught[0].filename == __file__
    for word in ("g = 'v'", "class 'c'", "smoothing=.5"):
        assert word in str(caught[0].message)
    d = res.discriminant
    assert d.params.loc["g[T.v]", "c"] == -np.inf and np.isnan(d.bse.loc["g[T.v]", "c"])
    assert np.isfinite(d.bse.drop(index="g[T.v]")).all(axis=None) and np.isfinite(d.bse.loc["g[T.v]", "b"])
    p = res.predict()
    assert (p.loc[TABLE.g == "v", "c"] == 0).all() and np.allclose(p.sum(axis=1), 1)
    assert np.isnan(res.bse["prob[c, g=v]"]) and res.params["prob[c, g=v]"] == 0
    assert res.conf_int().loc["prob[c, g=v]"].isna().all()
    robust = res.with_cov("HC0")
    assert np.isnan(robust.discriminant.bse.loc["g[T.v]", "c"])
    assert np.isfinite(robust.discriminant.bse.drop(index="g[T.v]")).all(axis=None)
    assert np.isfinite(robust.get_prediction(TABLE.iloc[[0, 6]]).se).all(axis=None)
    assert "1 zero cell" in res._summary_features().loc["g", "note"]
    assert "g" in str(res.summary()) and np.isfinite(res.llf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit("y ~ g + x", smoothing=0.5)


def test_zero_cells_are_named_up_to_a_few():
    data = pd.DataFrame({"y": list("ab") * 10, "g": [f"l{i}" for i in range(20)]})
    with pytest.warns(errors.ZeroCellWarning, match="and 14 more"):
        fit("y ~ g", data)
    with pytest.warns(errors.ZeroCellWarning, match="n > 0 in class 'c'"):
        fit("y ~ n", families={"n": "poisson"})
    with pytest.warns(errors.ZeroCellWarning, match="g:h = u:p in class 'b'"):
        fit("y ~ g:h", pd.DataFrame({"y": list("aabb"), "g": list("uvuv"), "h": list("pqqq")}))


def test_no_class_can_have_a_row():
    data = pd.DataFrame({"y": list("aabbb"), "g": list("uvvww"), "h": list("pqpqr")})
    with pytest.warns(errors.ZeroCellWarning):
        res = fit("y ~ g + h", data)
    new = pd.DataFrame({"g": ["u", "v"], "h": ["r", "p"]}, index=[10, 11])
    with pytest.warns(errors.DataWarning, match="10.*smoothing"):
        p = res.predict(new)
    assert p.loc[10].isna().all() and np.allclose(p.loc[11].sum(), 1)
    with pytest.warns(errors.DataWarning):
        assert res.get_prediction(new).predicted.loc[10].isna().all()
    with pytest.warns(errors.DataWarning):
        assert pd.isna(res.predict(new, "class")[10])


# ------------------------------------------------------------------------------------------------------------ levels
def test_unseen_levels():
    new = pd.DataFrame({"x": [1.0], "g": ["other"]})
    res = fit("y ~ x + g", smoothing=0.5)
    with refused('"g"', '"other"', '"u"', error=errors.UnseenLevelError):
        res.predict(new)
    lenient = fit("y ~ x + g", smoothing=0.5, unknown="missing")
    pd.testing.assert_frame_equal(lenient.predict(new), fit("y ~ x").predict(new))
    prediction = lenient.get_prediction(new).summary_frame()
    assert (prediction.features_missing == 1).all()
    with refused("unknown='no'", '"missing"'):
        fit("y ~ x", unknown="no")


def test_levels_of_the_response_without_rows():
    data = TABLE.assign(y=pd.Categorical(TABLE.y, list("abcd")))
    with pytest.warns(errors.DataWarning, match='"d"'):
        res = fit("y ~ x", data)
    assert res.levels == ["a", "b", "c"]


# ------------------------------------------------------------------------------------------------- words and options
def test_words():
    with refused('"full"', "LDA or QDA", error=NotImplementedError):
        fit("y ~ x", covariance="full")
    with refused("'any'", '"diag"'):
        fit("y ~ x", covariance="any")
    with refused("pooled='yes'"):
        fit("y ~ x", pooled="yes")
    with refused("smoothing=-1"):
        fit("y ~ x", smoothing=-1)
    with refused("smoothing=nan"):
        fit("y ~ x", smoothing=float("nan"))
    with refused("missing='some'", '"skip"', '"level"'):
        fit("y ~ x", missing="some")
    with refused("offset=", "NaiveBayes", error=NotImplementedError):
        fit("y ~ x", offset="n")
    with refused("NaiveBayes", "'shrinkage'", error=TypeError):
        fit("y ~ x", shrinkage=0.1)
    with refused("no features", error=errors.FormulaError):
        fit("y ~ 1")


def test_fit_options():
    model = NaiveBayes.from_formula("y ~ x", TABLE)
    with refused("bias_reduction='firth'", "smoothing=.5", error=NotImplementedError):
        model.fit(bias_reduction="firth")
    with refused("HC3", error=NotImplementedError):
        model.fit(cov_type="HC3")
    with refused("'sandwich'", "HC0"):
        model.fit(cov_type="sandwich")
    with refused("progress", "'yes'"):
        model.fit(progress="yes")
    with refused("n_threads"):
        model.fit(n_threads=0)
    with refused("groups"):
        model.fit(cov_type="cluster")


def test_families():
    with refused('"x"', "'weibull'", '"poisson"', error=errors.DataError):
        fit("y ~ x", families={"x": "weibull"})
    with refused('"z"', '"x"', error=errors.DataError):
        fit("y ~ x", families={"z": "poisson"})
    with refused('"g"', "poisson", '"categorical"', error=errors.DataError):
        fit("y ~ g", families={"g": "poisson"})
    with refused("I(x * n)", error=errors.FormulaError):
        fit("y ~ x:n")


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([0.5, 0.5], ["2 values", "3 levels"]),
        ([0.5, 0.6, -0.1], ["-0.1"]),
        ([0.5, 0.2, 0.2], ["0.9"]),
        ({"a": 0.5, "b": 0.2, "z": 0.3}, ["'z'", "'c'"]),
        ([0.5, 0.5, 0.0], ["'c'", "subset="]),
    ],
)
def test_priors(priors, words):
    with refused("priors=", *words):
        fit("y ~ x", priors=priors)


# ------------------------------------------------------------------------------------------------------- afterwards
def test_what_other_families_do_not_have():
    res = fit("y ~ x + g", smoothing=0.5)
    with refused("'g'", "gaussian", error=NotImplementedError):
        res.ladder()
    with refused("missing", "drop"):
        fit("y ~ x", TABLE.assign(x=TABLE.x.where(TABLE.x != 2))).ladder()
    with refused("most=0"):
        res.independence_audit(0)
    with refused("compares features"):
        fit("y ~ x").independence_audit()
    with refused("anova(type=2)", error=NotImplementedError):
        res.anova(2)
    with refused("which='class'", "mean", "linear"):
        res.get_prediction(which="class")


def test_large_covariances():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 420)), columns=[f"f{j}" for j in range(420)])
    data["y"] = np.arange(60) % 20
    model = NaiveBayes.from_formula("y ~ " + " + ".join(data.columns[:-1]), data)
    with refused("HC0", "GB", error=NotImplementedError):
        model.fit(cov_type="HC0")
    res = model.fit()
    with refused("parameters", "bse"):
        res.cov_params()
    assert np.isfinite(res.bse).all() and np.isfinite(res.discriminant.bse).all(axis=None)


def test_damaged_files(tmp_path):
    path = tmp_path / "res.json"
    fit("y ~ x + g", smoothing=0.5).save(path)
    path.write_text(path.read_text().replace('"statistics"', '"stat"'))
    with refused("damaged"):
        glmclf.load(path)


# ------------------------------------------------------------------------------------------- estimates that are 0
def zeros(**levels):
    """Level u of c is never seen in class b; `levels` renames the levels."""
    g = np.random.default_rng(0).normal(size=100)
    c = pd.Series(list("uvwvwvuvwu") * 10).replace(levels)
    return pd.DataFrame({"y": list("aaabbbcccc") * 10, "c": c, "g": g, "id": np.arange(100) // 2})


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0", "HC1", "cluster"])
@pytest.mark.parametrize("pooled", [False, True])
def test_zero_cell_of_the_first_level(cov_type, pooled):
    how = {"cov_type": cov_type, "cov_kwds": {"groups": "id"} if cov_type == "cluster" else None}
    found = []
    for data in (zeros(), zeros(u="z")):
        for reference in ("a", "b"):
            model = NaiveBayes.from_formula("y ~ c + g", data, pooled=pooled, reference=reference)
            found.append(model.fit(**how).get_prediction(data.iloc[:5]).se[["a", "b", "c"]])
    assert np.isfinite(found[0].iloc[1:]).all(axis=None)
    assert found[0].loc[0].isna().tolist() == [False, True, False]
    for other in found[1:]:
        pd.testing.assert_frame_equal(other, found[0], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
def test_bernoulli_that_is_all_1_in_a_class(cov_type):
    data = zeros().assign(b=[1, 0, 1, 1, 1, 1, 0, 1, 1, 0] * 10)
    se = fit("y ~ b + g", data).with_cov(cov_type).get_prediction(data).se
    assert np.isfinite(se[data.b == 1]).all(axis=None)
    other = fit("y ~ b + g", data.assign(b=1 - data.b)).with_cov(cov_type).get_prediction(data.assign(b=1 - data.b)).se
    pd.testing.assert_frame_equal(se, other, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize("cov_type", ["nonrobust", "HC0"])
@pytest.mark.parametrize("reference", ["a", "b"])
def test_an_impossible_class_is_absent(cov_type, reference):
    """Standard errors of the others are those of a fit without the class."""
    data = zeros().assign(n=[1, 0, 2, 0, 0, 0, 1, 3, 0, 1] * 10)
    families = {"n": "poisson"}
    rest = data[data.y != "b"]
    for formula, at in (("y ~ c + g", 0), ("y ~ n + g", 2)):
        own = {} if "c" in formula else {"families": families}
        res = fit(formula, data, reference=reference, **own).with_cov(cov_type).get_prediction(data.iloc[[at]])
        less = fit(formula, rest, **own).with_cov(cov_type).get_prediction(data.iloc[[at]])
        assert res.predicted["b"].tolist() == [0.0] and res.se["b"].isna().all()
        np.testing.assert_allclose(res.se[["a", "c"]], less.se[["a", "c"]], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::glmclf.errors.ZeroCellWarning")
def test_poisson_rate_of_0():
    """log f(0) = -rate has variance rate/n = 0: the class is as one without the feature."""
    data = zeros().assign(n=[1, 0, 2, 0, 0, 0, 1, 3, 0, 1] * 10)
    res = fit("y ~ n + g", data, families={"n": "poisson"})
    for cov_type in ("nonrobust", "HC0"):
        assert np.isfinite(res.with_cov(cov_type).get_prediction(data[data.n == 0]).se).all(axis=None)
        bse = res.with_cov(cov_type).discriminant.bse
        assert np.isnan(bse.loc["n", "b"]) and np.isfinite(bse.drop(index="n")).all(axis=None)
    one = fit("y ~ n", data, families={"n": "poisson"}).discriminant.bse.loc["Intercept", "b"]
    assert one == pytest.approx(np.sqrt(1 / 30 + 1 / 30 + 1.0 / 30))  # priors, and the rate 1 of class a


# -------------------------------------------------------------------------------------------------------------- units
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("family", "scale", "word"),
    [(f, 1e200, "large") for f in ("gaussian", "gamma", "exponential", "poisson")]
    + [(f, 1e-200, "small") for f in ("gaussian", "gamma", "exponential")],
)
def test_units(family, scale, word):
    data = TABLE.assign(x=TABLE.x * scale)
    with refused('"x"', word, "change the units", error=errors.DataError, but=['"g"']):
        fit("y ~ x + g", data, smoothing=0.5, families={"x": family})
    with refused('"x"', word, "change the units", error=errors.DataError):
        fit("y ~ g + x", data, smoothing=0.5, families={"x": family}, pooled=True)
    fit("y ~ x", TABLE.assign(x=TABLE.x * (1e60 if word == "large" else 1e-60)), families={"x": "gaussian"})


def test_constant_is_not_small():
    with refused('"flat"', "constant", error=errors.SingularCovarianceError, but=["units"]):
        fit("y ~ x + flat", TABLE.assign(flat=1e-90))


def test_rows_too_far_out():
    res = fit("y ~ x")
    with pytest.warns(errors.DataWarning, match="check the units") as caught:
        assert res.predict(pd.DataFrame({"x": [1e200, 3.0]})).iloc[0].isna().all()
    assert "smoothing" not in str(caught[0].message)


# -------------------------------------------------------------------------------------------- pairs of features
@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::glmclf.errors.ZeroCellWarning")
@pytest.mark.parametrize("pooled", [False, True])
def test_numbers_never_seen_together(pooled):
    data = zeros().drop(columns="c").assign(h=np.random.default_rng(1).normal(size=100), b=[0, 1, 1, 0, 1] * 20)
    odd = np.arange(100) % 2 == 1
    data = data.assign(g=data.g.where(odd), h=data.h.where(~odd))
    table = fit("y ~ g + h", data, pooled=pooled).independence_audit()
    assert table[["statistic", "pvalue", "llf_conditional_change"]].isna().all(axis=None)
    data = data.assign(b=data.b.astype(float).where(odd), d=data.b.astype(float).where(~odd))
    table = fit("y ~ b + d", data, families={"d": "bernoulli", "b": "bernoulli"}, smoothing=0.0).independence_audit()
    assert table[["statistic", "pvalue", "llf_conditional_change"]].isna().all(axis=None)


def test_audit_of_a_number_by_a_category():
    """n log(SST/SSW), equal variances: of least squares with and without the category."""
    data = zeros().query("y == 'c'").assign(y=["c", "d"] * 20)
    table = fit("y ~ c + g", data, smoothing=0.5).independence_audit()
    for level in "cd":
        own = data[data.y == level]
        within = ((own.g - own.groupby("c").g.transform("mean")) ** 2).sum()
        total = ((own.g - own.g.mean()) ** 2).sum()
        found = table.loc[(level, "c", "g")]
        assert found.statistic == pytest.approx(len(own) * np.log(total / within)) and found.df == own.c.nunique() - 1
    assert "SST/SSW" in glmclf.results.generative.naive_bayes.NaiveBayesResults.independence_audit.__doc__


def test_audit_of_many_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 160))
    X[:, ::2] = X[:, ::2] > 0
    res = NaiveBayes(rng.integers(0, 2, 300), X).fit()
    table = res.independence_audit()
    assert table.statistic.notna().all()
