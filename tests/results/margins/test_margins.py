"""Marginal effects: certified values, R, brute force on every model, laws of repetition, and refusals.

Values of tests/reference/*_margeff.json are certified (mpmath); those of tests/reference/r/margins.json are R's (by
tests/reference/make/margins.R, derivatives and Jacobians of numDeriv).
"""

import json
import re

import mpmath
import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, datasets
from glmclf.errors import DataError, DataWarning, InferenceWarning, MissingDataError, UnseenLevelError

MODELS = (*references.BINARY, "MNLogit")
R = json.loads((references.ROOT / "r" / "margins.json").read_text(encoding="utf-8"))


def fit_of(name):
    case, data = references.reference(name)
    model = getattr(glmclf, case["model"])
    return case["values"], model.from_formula(case["formula"], data, **references.model_keywords(case)).fit()


# ------------------------------------------------------------------------------------------------------ certified
@pytest.mark.parametrize("name", references.names("margeff", MODELS))
def test_certified(name):
    """Derivatives and elasticities, over the rows and at their means, to nine digits."""
    values, res = fit_of(name)
    for method in ("dydx", "eyex", "dyex", "eydx"):
        for at in {"overall", "mean"} & set(values.get(method, {})):
            found = res.get_margeff(at=at, method=method)
            for variable, known in values[method][at].items():
                levels = known if "effect" not in known else {None: known}
                for level, numbers in levels.items():
                    column = [] if level is None else [c for c in found.margeff.columns if str(c) == level]
                    effect, se = (table.loc[(variable, *column)] for table in (found.margeff, found.margeff_se))
                    assert_allclose((effect, se), (numbers["effect"], numbers["se"]), rtol=1e-9)


@pytest.mark.parametrize("name", references.names("margeff", MODELS))
def test_certified_at_values_and_of_changes(name):
    values, res = fit_of(name)
    for setting, effects in values.get("dydx", {}).get("representative", {}).items():
        variable, value = setting.split("=")
        found = res.get_margeff(at={variable: float(value)}).summary_frame()
        for name_of, known in effects.items():
            assert_allclose(found.loc[(float(value), name_of)].iloc[:2], [known["effect"], known["se"]], rtol=1e-9)
    for at, changes in values.get("change", {}).items():
        found = res.get_margeff(at=at, dummy=True).summary_frame()
        for label, known in changes.items():
            if label not in found.index:
                first, second = label[label.index("[") + 1 : -1].split("-", 1)
                label = f"{label[: label.index('[')]}[{first} - {second}]"
            assert_allclose(found.loc[label].iloc[:2], [known["effect"], known["se"]], rtol=1e-9)


@pytest.mark.parametrize("name", ["hard_probit_tail__probit", "hard_cloglog_tail__cloglog", "hard_rare__logit"])
def test_tails_against_mpmath(name):
    """f and (log F)' where probabilities are of the order of 1e-8, at the estimate."""
    case, data = references.reference(name)
    res = references.fitted(name)
    data = data.head(300)
    eta = [mpmath.mpf(v) for v in res.predict(data, which="linear")]
    pdf, cdf = {
        "Probit": (mpmath.npdf, mpmath.ncdf),
        "CLogLog": (lambda e: mpmath.exp(e - mpmath.exp(e)), lambda e: -mpmath.expm1(-mpmath.exp(e))),
        "Logit": (lambda e: 1 / (2 + 2 * mpmath.cosh(e)), lambda e: 1 / (1 + mpmath.exp(-e))),
    }[case["model"]]
    variable = res.model.exog_names[1]
    b = res.params[variable]
    with mpmath.workdps(40):
        slope = sum(pdf(e) for e in eta) / len(eta) * b
        relative = sum(pdf(e) / cdf(e) for e in eta) / len(eta) * b
    found = {m: res.get_margeff(method=m, newdata=data, variables=variable).margeff.iloc[0] for m in ("dydx", "eydx")}
    assert_allclose([found["dydx"], found["eydx"]], [float(slope), float(relative)], rtol=1e-9)


# --------------------------------------------------------------------------------------------------------------- R
@pytest.mark.parametrize("model", [Logit, Probit, CLogLog])
def test_splines_and_interactions_against_r(model):
    data = references.reference("birthwt__logit")[1]
    res = model.from_formula("low ~ bs(age, df=3, degree=3) + smoke * np.log(lwt) + C(race)", data).fit()
    known = R[f"birthwt_{model.link.name}"]
    found = res.with_cov("expected").get_margeff(dummy=True).summary_frame().loc[known["names"]]
    assert_allclose(found.iloc[:, 0], known["expected"]["value"], rtol=1e-6)  # of R's scoring steps
    assert_allclose(found.iloc[:, 1], known["expected"]["se"], rtol=1e-6)
    if known["HC0"]:
        found = res.with_cov("HC0").get_margeff(dummy=True).summary_frame().loc[known["names"]]
        assert_allclose(found.iloc[:, 1], known["HC0"]["se"], rtol=1e-6)


def test_unconditional_standard_errors_against_r():
    data, known = references.reference("birthwt__logit")[1], R["unconditional"]
    res = Logit.from_formula("low ~ age + lwt + smoke", data).fit()
    keywords = {"variables": "lwt", "vcov": "unconditional"}
    assert_allclose(res.get_margeff(**keywords).margeff_se, known["plain"], rtol=1e-8)
    assert_allclose(res.with_cov("HC0").get_margeff(**keywords).margeff_se, known["robust"], rtol=1e-8)
    each = res.with_cov("cluster", groups=data.assign(row=np.arange(len(data)))["row"])
    with pytest.raises(NotImplementedError, match="column"):
        each.get_margeff(**keywords)
    by_name = Logit.from_formula("low ~ age + lwt + smoke", data.assign(row=np.arange(len(data)))).fit()
    assert_allclose(
        by_name.with_cov("cluster", groups="row").get_margeff(**keywords).margeff_se, known["robust"], rtol=1e-8
    )


def test_several_classes_against_nnet():
    data, known = references.reference("housing__mnlogit")[1], R["housing"]
    res = MNLogit.from_formula("satis ~ infl + type + cont", data, freq_weights="n").fit()
    a, _, c = known["factor"]
    found = res.get_margeff(variables="infl")
    assert_allclose(found.margeff.loc[f"infl[{c} - {a}]", known["levels"]], known["value"], rtol=1e-5)
    assert_allclose(found.margeff_se.loc[f"infl[{c} - {a}]", known["levels"]], known["se"], rtol=1e-4)


# ---------------------------------------------------------------------------------------------------- every model
@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(4)
    n = 240
    df = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.gamma(3.0, size=n),
            "g": rng.choice(list("abc"), n),
            "b": rng.random(n) < 0.4,
            "c": rng.poisson(2.0, n),
            "f": rng.integers(1, 4, n),
        },
        index=np.arange(n) + 7,
    )
    utility = np.column_stack([np.zeros(n), 0.6 * df.x - 0.2 * df.z + (df.g == "b"), 0.1 * df.z + 0.5 * df.b])
    df["y"] = np.array(["u", "v", "w"])[(utility + rng.gumbel(size=(n, 3))).argmax(axis=1)]
    df["d"] = np.where(df.y == "v", "yes", "no")
    return df


RIGHT = "x * g + np.log(z) + I(x**2) + b + c"
FITS = {
    "Logit": lambda df, **k: Logit.from_formula(f"d ~ {RIGHT}", df, **k).fit(),
    "Probit": lambda df, **k: Probit.from_formula(f"d ~ {RIGHT}", df, **k).fit(),
    "CLogLog": lambda df, **k: CLogLog.from_formula(f"d ~ {RIGHT}", df, **k).fit(),
    "MNLogit": lambda df, **k: MNLogit.from_formula(f"y ~ {RIGHT}", df, **k).fit(),
    "LDA": lambda df, **k: LDA.from_formula(f"y ~ {RIGHT}", df, **k).fit(),
    "QDA": lambda df, **k: QDA.from_formula("y ~ x + z + np.log(z)", df, **k).fit(),
    "NaiveBayes": lambda df, **k: NaiveBayes.from_formula(
        "y ~ x + z + g + b + c", df, families={"z": "gamma", "c": "poisson"}, **k
    ).fit(),
}


@pytest.mark.parametrize("name", FITS)
def test_effects_are_changes_of_average_predictions(toy, name):
    """The derivative of the weighted mean of predict(), and differences of it."""
    res = FITS[name](toy, freq_weights="f")
    found = res.get_margeff(count=True).margeff
    assert found.index[0] == "x"
    w = toy.f / toy.f.sum()

    def mean(**changes):
        new = toy.assign(**changes)
        return w @ res.predict(new)

    h = 1e-4
    changes = {
        "x": (mean(x=toy.x + h) - mean(x=toy.x - h)) / (2 * h),
        "z": (mean(z=toy.z + h) - mean(z=toy.z - h)) / (2 * h),
    }
    if "c" in found.index and name != "NaiveBayes":
        changes["c"] = (mean(c=toy.c + 1) - mean(c=toy.c - 1)) / 2
    if "g[c - a]" in found.index:
        changes["g[c - a]"] = mean(g="c") - mean(g="a")
        changes["b[True - False]"] = mean(b=True) - mean(b=False)
    for label, change in changes.items():
        assert_allclose(found.loc[label], change, rtol=1e-6, atol=1e-9, err_msg=label)


@pytest.mark.parametrize(
    "name, method",
    [("Logit", "eyex"), ("Probit", "dydx"), ("CLogLog", "eyex"), ("MNLogit", "dydx"), ("MNLogit", "eyex")],
)
def test_standard_errors_against_a_numerical_jacobian(toy, name, method):
    res = FITS[name](toy)
    model, theta, V = res.model, res._theta, res.cov_params().to_numpy()
    h = 1e-4

    def effects(flat):
        params = flat if name != "MNLogit" else flat.reshape(model.K, -1, order="F")
        p = {k: model.predict(params, toy.assign(**v)) for k, v in tables.items()}
        slope = (p["up"] - p["down"]) / (2 * h)
        if method == "eyex":
            slope = (slope.T * toy.x.to_numpy()).T / p["as"]
            return np.r_[slope.mean(axis=0), (np.log(p["c"]) - np.log(p["a"])).mean(axis=0)].ravel()
        return np.r_[slope.mean(axis=0), (p["c"] - p["a"]).mean(axis=0)].ravel()

    tables = {"as": {}, "up": {"x": toy.x + h}, "down": {"x": toy.x - h}, "a": {"g": "a"}, "c": {"g": "c"}}
    E = np.eye(len(theta)) * 1e-5
    J = np.array([(effects(theta + e) - effects(theta - e)) / 2e-5 for e in E]).T
    found = res.get_margeff(method=method)
    rows = found.margeff.loc[["x", "g[c - a]"]].to_numpy().ravel()
    assert_allclose(rows, effects(theta), rtol=1e-6)
    assert_allclose(
        found.margeff_se.loc[["x", "g[c - a]"]].to_numpy().ravel(), np.sqrt(np.diag(J @ V @ J.T)), rtol=1e-5
    )


@pytest.mark.parametrize("name", ["LDA", "QDA", "NaiveBayes"])
@pytest.mark.parametrize("cov", ["nonrobust", "HC0"])
def test_generative_standard_errors_from_the_implied_logit(toy, name, cov):
    """A numerical Jacobian in the coefficients of `discriminant`, whose columns are built here by hand."""
    columns, formula = {
        "LDA": (lambda d: np.column_stack([np.ones(len(d)), d.x, d.z]), "y ~ x + z"),
        "QDA": (lambda d: np.column_stack([np.ones(len(d)), d.x, d.z, d.x**2, d.x * d.z, d.z**2]), "y ~ x + z"),
        "NaiveBayes": (lambda d: np.column_stack([np.ones(len(d)), d.x, d.x**2, np.log(d.z), d.z]), "y ~ x + z"),
    }[name]
    keywords = {"families": {"z": "gamma"}} if name == "NaiveBayes" else {}
    res = getattr(glmclf, name).from_formula(formula, toy, **keywords).fit(cov_type=cov)
    d, h = res.discriminant, 1e-4
    B, V = d.params.to_numpy(), d.cov_params().to_numpy()

    def effects(flat):
        def p(table):
            z = np.column_stack([np.zeros(len(table)), columns(table) @ flat.reshape(B.shape, order="F")])
            e = np.exp(z - z.max(axis=1, keepdims=True))
            return e / e.sum(axis=1, keepdims=True)

        return ((p(toy.assign(z=toy.z + h)) - p(toy.assign(z=toy.z - h))) / (2 * h)).mean(axis=0)

    flat = B.ravel(order="F")
    step = 1e-5 * np.maximum(np.abs(flat), 1e-2)
    J = np.array([(effects(flat + s * e) - effects(flat - s * e)) / (2 * s) for s, e in zip(step, np.eye(len(flat)))]).T
    found = res.get_margeff(variables="z")
    assert_allclose(found.margeff.loc["z"], effects(flat), rtol=1e-6)
    assert_allclose(found.margeff_se.loc["z"], np.sqrt(np.diag(J @ V @ J.T)), rtol=1e-4)


@pytest.mark.parametrize("name", FITS)
def test_repeated_rows_are_frequency_weights(toy, name):
    """Every number, at every place; absent rows of weight 0, too."""
    toy = toy.assign(f=toy.f - 1)
    weighted, repeated = FITS[name](toy, freq_weights="f"), FITS[name](toy.loc[toy.index.repeat(toy.f)])
    regression = hasattr(weighted, "_state")
    places = [("overall", None), ("mean", None), ("median", None), ("overall", "unconditional")]
    for at, vcov in places if name in ("Logit", "QDA") else [places[-1 if regression else 0], places[1]]:
        if vcov and not regression:
            continue
        one, two = (r.get_margeff(at=at, vcov=vcov).summary_frame() for r in (weighted, repeated))
        assert_allclose(one, two, rtol=1e-7, atol=1e-10)
    over = [r.get_margeff(over="b", variables="x").summary_frame() for r in (weighted, repeated)]
    assert_allclose(*over, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["MNLogit", "LDA", "QDA", "NaiveBayes"])
@pytest.mark.parametrize("at", ["overall", "mean", "median", {"x": [0.0, 1.0]}])
def test_effects_on_levels_add_up_to_zero(toy, name, at):
    found = FITS[name](toy).get_margeff(at=at).margeff
    assert list(found.columns) == ["u", "v", "w"]
    assert_allclose(found.sum(axis=1), 0.0, atol=1e-13)


def test_two_classes_are_a_logit(toy):
    one, two = Logit.from_formula(f"d ~ {RIGHT}", toy).fit(), MNLogit.from_formula(f"d ~ {RIGHT}", toy).fit()
    a, b = one.get_margeff().summary_frame(), two.get_margeff().summary_frame()
    assert_allclose(a, b.loc["yes"], rtol=1e-8)
    assert_allclose(a.iloc[:, 0], -b.loc["no"].iloc[:, 0], rtol=1e-8)


def test_another_event_turns_the_signs(toy):
    a = Logit.from_formula(f"d ~ {RIGHT}", toy).fit().get_margeff().summary_frame()
    b = Logit.from_formula(f"d ~ {RIGHT}", toy, event="no").fit().get_margeff().summary_frame()
    assert_allclose(a.iloc[:, :3], b.iloc[:, :3] * [-1, 1, -1], rtol=1e-8)


def test_units_base_and_order_of_rows(toy):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit().get_margeff(contrast="pairwise").margeff
    shuffled = toy.sample(frac=1.0, random_state=1)
    assert_allclose(
        Logit.from_formula(f"d ~ {RIGHT}", shuffled).fit().get_margeff(contrast="pairwise").margeff, res, rtol=1e-8
    )
    other = Logit.from_formula(
        "d ~ k * C(g, Treatment('c')) + np.log(z) + I(k**2) + b + c", toy.assign(k=10 * toy.x)
    ).fit()
    found = other.get_margeff()
    assert_allclose(found.margeff["k"], res["x"] / 10, rtol=1e-8)
    assert_allclose(found.margeff["g[b - c]"], -res["g[c - b]"], rtol=1e-8)
    sums = (
        Logit.from_formula("d ~ x * C(g, Sum) + np.log(z) + I(x**2) + b + c", toy)
        .fit()
        .get_margeff(contrast="pairwise")
    )
    assert_allclose(sums.margeff, res, rtol=1e-8)


def test_counts_are_as_the_expanded_rows():
    data = references.reference("budworm__logit")[1]
    res = Logit.from_formula("dead + alive ~ ldose + sex", data).fit()
    long = pd.concat([data.assign(y=1, n=data.dead), data.assign(y=0, n=data.alive)])
    expanded = Logit.from_formula("y ~ ldose + sex", long, freq_weights="n").fit()
    for at in ("overall", "mean"):
        assert_allclose(res.get_margeff(at=at).summary_frame(), expanded.get_margeff(at=at).summary_frame(), rtol=1e-8)


def test_sampling_weights_do_not_depend_on_their_unit(toy):
    fits = [Logit.from_formula("d ~ x + g", toy.assign(w=k * toy.f), weights="w").fit() for k in (1.0, 1e-3)]
    for vcov in (None, "unconditional"):
        one, two = (r.get_margeff(vcov=vcov).summary_frame() for r in fits)
        assert_allclose(one, two, rtol=1e-7)


def test_statsmodels(toy):
    """What its columns mean is the same where no variable has two of them."""
    import statsmodels.api as sm

    X = sm.add_constant(toy[["x", "z", "c"]].assign(b=toy.b.astype(float)))
    y = (toy.d == "yes").astype(int)
    mine, theirs = Logit(y, X).fit(), sm.Logit(y, X).fit(disp=0)
    for options in (
        {},
        {"at": "mean"},
        {"method": "eyex"},
        {"dummy": True},
        {"count": True},
        {"dummy": True, "method": "eydx"},
        {"at": "median"},
        {"at": "zero"},
    ):
        a, b = mine.get_margeff(**options), theirs.get_margeff(**options)
        assert list(a.summary_frame().columns) == list(b.summary_frame().columns)
        assert_allclose(a.summary_frame(), b.summary_frame(), rtol=1e-5, atol=1e-12, err_msg=str(options))
        assert_allclose(a.conf_int(0.1), b.conf_int(0.1), rtol=1e-5, atol=1e-12)
    assert "dy/dx" in mine.get_margeff().summary().as_text()


# -------------------------------------------------------------------------------------------------- where effects are
def test_a_dict_sets_variables_and_leaves_the_others(toy):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit()
    found = res.get_margeff(at={"x": [0, 1], "g": "b"}, variables=["z", "b"])
    assert found.margeff.index.names == ["x", "g", "variable"]
    alone = res.get_margeff(newdata=toy.assign(x=1, g="b"), variables=["z", "b"])
    assert_allclose(found.margeff.loc[(1, "b")], alone.margeff, rtol=1e-12)
    rows = pd.DataFrame({"x": [0, 1], "g": ["b", "b"]}, index=["p", "q"])
    assert_allclose(res.get_margeff(at=rows, variables=["z", "b"]).margeff, found.margeff, rtol=1e-12)


def test_each_row_of_a_table(toy):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy, offset=0.1 * toy.x).fit()
    few = toy.head(3)
    with pytest.raises(DataError, match="offset"):
        res.get_margeff(newdata=few)
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit()
    rows = res.get_margeff(at=few)
    assert list(dict.fromkeys(rows.margeff.index.get_level_values(0))) == list(few.index)
    for label in few.index:
        assert_allclose(rows.margeff.loc[label], res.get_margeff(newdata=few.loc[[label]]).margeff, rtol=1e-12)


def test_groups_are_fits_on_their_rows(toy):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit()
    found = res.get_margeff(over="b", variables=["x", "g"])
    assert found.margeff.index.names == ["b", "variable"]
    for label in (False, True):
        part = res.get_margeff(newdata=toy[toy.b == label], variables=["x", "g"])
        assert_allclose(found.summary_frame().loc[label], part.summary_frame(), rtol=1e-10)
    assert_allclose(res.get_margeff(over=toy.b, variables="x").margeff, found.margeff.xs("x", level=1), rtol=1e-12)


def test_at_the_mean_of_factors_and_offsets(toy):
    toy = toy.assign(o=0.3 * toy.c)
    res = Logit.from_formula("d ~ x * g + b", toy, offset="o").fit()
    shares = toy.g.value_counts(normalize=True)
    eta = sum(
        shares[g]
        * (b if v else 1 - b)
        * res.predict(pd.DataFrame({"x": [toy.x.mean()], "g": g, "b": v, "o": toy.o.mean()}), which="linear").iloc[0]
        for g in "abc"
        for v in (True, False)
        for b in [toy.b.mean()]
    )
    slope = res.params["x"] + sum(shares[g] * res.params[f"x:g[T.{g}]"] for g in "bc")
    p = 1 / (1 + np.exp(-eta))
    assert_allclose(res.get_margeff(at="mean", variables="x").margeff["x"], p * (1 - p) * slope, rtol=1e-10)


def test_arrays_have_a_variable_a_column(toy):
    X = np.column_stack([np.ones(len(toy)), toy.x, toy.z])
    y = (toy.d == "yes").astype(int)
    array, formula = Logit(y, X).fit(), Logit.from_formula("y ~ x + z", toy.assign(y=y)).fit()
    assert list(array.get_margeff().margeff.index) == ["x1", "x2"]
    assert_allclose(array.get_margeff().summary_frame(), formula.get_margeff().summary_frame(), rtol=1e-8)
    assert_allclose(
        array.get_margeff("mean", atexog={1: 0.5}).margeff,
        formula.get_margeff("mean", atexog={"x": 0.5}).margeff,
        rtol=1e-8,
    )
    lda, by_formula = LDA(toy.y, toy[["x", "z"]]).fit(), LDA.from_formula("y ~ x + z", toy).fit()
    assert_allclose(lda.get_margeff().summary_frame(), by_formula.get_margeff().summary_frame(), rtol=1e-8)


# ------------------------------------------------------------------------------------------------ unusual estimates
def test_separated_fits(toy):
    toy = toy.assign(d=np.where(toy.g == "c", "yes", toy.d))
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = Logit.from_formula("d ~ x + g", toy).fit()
    with pytest.warns(InferenceWarning, match="certain"):
        found = res.get_margeff()
    rest = toy[toy.g != "c"]
    part = Logit.from_formula("d ~ x + g", rest).fit()
    assert_allclose(found.margeff["x"], part.get_margeff().margeff["x"] * len(rest) / len(toy), rtol=1e-7)
    assert_allclose(found.margeff_se["x"], part.get_margeff().margeff_se["x"] * len(rest) / len(toy), rtol=1e-7)
    with pytest.warns(InferenceWarning, match="certain"):
        means = res.predictions("g").summary_frame()
    assert means.loc["c", "predicted"] == 1 and np.isnan(means.loc["c", "se"])
    with pytest.warns(InferenceWarning, match="of such rows alone has none"):
        by_group, first = res.get_margeff(over="g"), res.predictions("g")
        within = res.predictions({"x": [0.0, 1.0]}, by="g").contrasts().summary_frame()
    none = by_group.summary_frame().loc[("c", "x")]
    assert none.iloc[0] == 0 and np.isnan(none.iloc[1])
    assert within.loc["c", "difference"].item() == 0 and np.isnan(within.loc["c", "se"].item())
    # the contrast of predictions is the effect, and both count the rows that are decided with a standard error of zero
    changes = first.contrasts(contrast="reference").summary_frame()
    effects = found.summary_frame().filter(like="g[", axis=0)
    assert_allclose(changes.iloc[:, :4], effects.iloc[:, :4], rtol=1e-9)
    assert_allclose(changes.se["c - a"], means.loc["a", "se"], rtol=1e-9)
    with pytest.warns(glmclf.errors.SeparationWarning):
        line = Logit.from_formula("y ~ x", pd.DataFrame({"x": [1, 2, 3, 3, 4, 5.0], "y": [0, 0, 0, 1, 1, 1]})).fit()
    with pytest.warns(InferenceWarning, match="certain"):
        slope = line.get_margeff()
    assert slope.margeff["x"] == np.inf and np.isnan(slope.margeff_se["x"])


def test_collinear_columns(toy):
    with pytest.warns(glmclf.errors.CollinearityWarning):
        res = Logit.from_formula("d ~ x + twice + z", toy.assign(twice=2 * toy.x)).fit()
    with pytest.warns(DataWarning, match='not estimable.*"twice" = 2 \\* x'):
        found = res.get_margeff()
    assert found.margeff[["x", "twice"]].isna().all() and found.margeff_se[["x", "twice"]].isna().all()
    plain = Logit.from_formula("d ~ x + z", toy).fit()
    assert_allclose(found.margeff["z"], plain.get_margeff().margeff["z"], rtol=1e-8)
    with pytest.warns(glmclf.errors.CollinearityWarning):
        curved = Logit.from_formula("d ~ x + I(2 * x) + z", toy).fit()
    assert_allclose(curved.get_margeff().margeff, plain.get_margeff().margeff, rtol=1e-8)


def test_other_estimates_carry_their_covariance(toy):
    model = Logit.from_formula("d ~ x + z", toy)
    constrained = model.fit_constrained("x = z").get_margeff()
    assert_allclose(constrained.margeff["x"], constrained.margeff["z"], rtol=1e-10)
    ridge = model.fit_regularized(alpha=0.05)
    found = ridge.get_margeff()
    assert found.pvalues.isna().all() and (found.margeff_se > 0).all()
    with pytest.raises(NotImplementedError, match="L1_wt"):
        model.fit_regularized(alpha=0.05, L1_wt=1.0).get_margeff()
    firth = model.fit(bias_reduction="firth")
    assert_allclose(firth.get_margeff().margeff["x"], _slope(firth, toy), rtol=1e-6)
    shrunk = LDA.from_formula("y ~ x + z", toy, shrinkage=0.3).fit().get_margeff()
    assert shrunk.tvalues.isna().all().all()


def _slope(res, table, h=1e-4):
    return (res.predict(table.assign(x=table.x + h)).mean() - res.predict(table.assign(x=table.x - h)).mean()) / (2 * h)


def test_kept_results(toy, tmp_path):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit()
    known = res.get_margeff(newdata=toy).summary_frame()
    res.save(tmp_path / "kept.json")
    kept = glmclf.load(tmp_path / "kept.json")
    assert_allclose(kept.get_margeff(newdata=toy).summary_frame(), known, rtol=1e-12)
    assert len(kept.get_margeff(at=toy.head(2)).margeff)
    with pytest.raises(DataError, match="rows of the fit"):
        kept.get_margeff()
    for name in ("LDA", "NaiveBayes"):
        res = FITS[name](toy)
        known = res.get_margeff().summary_frame()
        res.save(tmp_path / "kept.json")
        assert_allclose(glmclf.load(tmp_path / "kept.json").get_margeff(newdata=toy).summary_frame(), known, rtol=1e-9)


# --------------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    "keywords, error, words",
    [
        ({"variables": "w"}, DataError, '"w" is no variable'),
        ({"variables": "g[T.b]"}, DataError, "column of the design"),
        ({"variables": []}, ValueError, "at least one"),
        ({"at": {"g": "q"}}, UnseenLevelError, 'no level "q"'),
        ({"at": {"w": 1}}, DataError, '"w" is no variable'),
        ({"at": {"x": []}}, ValueError, "no value"),
        ({"at": "centre"}, ValueError, "overall"),
        ({"at": 3}, ValueError, "overall"),
        ({"at": pd.DataFrame({"x": []})}, DataError, "without rows"),
        ({"at": pd.DataFrame({"q": [1]})}, DataError, "none of the variables"),
        ({"at": pd.DataFrame({"x": [1]}), "over": "b"}, ValueError, "DataFrame"),
        ({"method": "dx"}, ValueError, "dydx"),
        ({"contrast": "all"}, ValueError, "pairwise"),
        ({"over": "w"}, DataError, "no such column"),
        ({"vcov": "robust"}, ValueError, "unconditional"),
        ({"vcov": "unconditional", "at": "mean"}, NotImplementedError, 'at="mean"'),
        ({"newdata": pd.DataFrame({"x": [1.0]})}, DataError, "no column"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_bad_input(toy, keywords, error, words):
    res = Logit.from_formula(f"d ~ {RIGHT}", toy).fit()
    with pytest.raises(error, match=words):
        res.get_margeff(**keywords)


def test_what_has_no_derivative(toy):
    res = Logit.from_formula("d ~ I(x > 0) + z", toy).fit()
    with pytest.warns(DataWarning, match='no effect of "x"'):
        assert list(res.get_margeff().margeff.index) == ["z"]
    with pytest.raises(DataError, match='"x"'):
        res.get_margeff(variables="x")
    with pytest.raises(MissingDataError, match="over="):
        res.get_margeff(over=toy.g.where(toy.x > 0))
    with pytest.raises(NotImplementedError, match="LDA"):
        LDA.from_formula("y ~ x", toy).fit().get_margeff(vcov="unconditional")


def test_dates_and_functions_across_rows(toy):
    toy = toy.assign(when=pd.to_datetime(np.where(toy.b, "2019-03-01", "2021-03-01")))
    res = Logit.from_formula("d ~ x + I(when.dt.year)", toy).fit()
    with pytest.warns(DataWarning, match='no effect of "when"'):
        assert list(res.get_margeff().margeff.index) == ["x"]
    with pytest.raises(DataError, match="when"):
        res.get_margeff(at="mean")

    def centred(v):
        return v - v.mean()

    res = Logit.from_formula("d ~ centred(x) + z", toy).fit()
    with pytest.warns(DataWarning, match='no effect of "x"'):
        assert list(res.get_margeff().margeff.index) == ["z"]
    plain = Logit.from_formula("d ~ x + z", toy).fit()
    assert_allclose(res.predictions({"z": [1.0]}).predicted, plain.predictions({"z": [1.0]}).predicted, rtol=1e-8)


def test_other_frames(toy):
    pl = pytest.importorskip("polars")
    res = Logit.from_formula("d ~ x + g", toy).fit()
    new = toy.drop(columns="b").head(50)
    found = res.get_margeff(newdata=pl.from_pandas(new), over="g", variables="x")
    assert_allclose(found.margeff, res.get_margeff(newdata=new, over="g", variables="x").margeff, rtol=1e-12)


def test_subsets_and_missing_rows_of_the_fit(toy):
    holes = toy.assign(x=toy.x.where(toy.c != 3))
    res = Logit.from_formula("d ~ x + g", holes, subset="z > 2").fit()
    rest = holes[holes.z > 2].dropna()
    known = Logit.from_formula("d ~ x + g", rest).fit().get_margeff(over="g").summary_frame()
    assert_allclose(res.get_margeff(over="g").summary_frame(), known, rtol=1e-9)
    assert_allclose(res.get_margeff(over=toy.g).summary_frame(), known, rtol=1e-9)


def test_another_base_level_of_the_response(toy):
    res = MNLogit.from_formula(f"y ~ {RIGHT}", toy).fit()
    known = res.get_margeff(at="mean").summary_frame()
    assert_allclose(res.rebase("w").get_margeff(at="mean").summary_frame(), known, rtol=1e-6, atol=1e-9)


def test_missing_rows_are_said_and_nothing_is_modified(toy):
    res = Logit.from_formula("d ~ x + g", toy).fit()
    new = toy.assign(x=toy.x.where(toy.x > 0))
    copy = new.copy()
    with pytest.warns(DataWarning, match="lack a value"):
        found = res.get_margeff(newdata=new)
    assert_allclose(found.margeff, res.get_margeff(newdata=new.dropna()).margeff, rtol=1e-12)
    pd.testing.assert_frame_equal(new, copy)


@pytest.mark.parametrize("kind", ["category", "string", "object"])
def test_columns_of_labels(toy, kind):
    known = Logit.from_formula("d ~ x + g", toy).fit().get_margeff().summary_frame()
    found = Logit.from_formula("d ~ x + g", toy.assign(g=toy.g.astype(kind))).fit().get_margeff().summary_frame()
    pd.testing.assert_frame_equal(found, known)


def test_penguins_keep_their_data():
    data = datasets.load("penguins")
    before = data.copy()
    Logit.from_formula("sex ~ body_mass_g * species", data).fit().get_margeff(contrast="pairwise")
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize(
    "options", [{"at": "zero"}, {"at": "zero", "variables": "u"}, {"at": {"u": 0}, "variables": "u"}]
)
@pytest.mark.parametrize("term", ["np.log(u)", "poly(np.log(u), 2)", "I(x * np.log(u))"])
def test_where_a_function_is_infinite_effects_are_nan(term, options):
    """One warning says so, of the term and its rows."""
    g = np.random.default_rng(0)
    data = pd.DataFrame({"u": g.uniform(0.1, 5, 80), "x": g.normal(size=80), "y": g.integers(0, 2, 80)})
    res = Logit.from_formula(f"y ~ {term} + x" if "variables" in options else f"y ~ {term}", data).fit()
    with pytest.warns(DataWarning, match=rf'^"{re.escape(term)}" has no finite value in .*: u = 0.* in row') as caught:
        assert np.isnan(res.get_margeff(**options).margeff).all()
    assert len(caught) == 1


# ------------------------------------------------------------------------------------------------ many coefficients
@pytest.mark.parametrize("model", [LDA, QDA, NaiveBayes])
def test_effects_of_generative_models_without_the_covariance_matrix(model, monkeypatch):
    """The delta method takes products with the covariance of the implied logit, which has too many numbers to form."""
    penguins = datasets.load("penguins")[["species", "bill_length_mm", "body_mass_g", "bill_depth_mm"]].dropna()
    res = model.from_formula("species ~ bill_length_mm + body_mass_g + bill_depth_mm", penguins).fit()
    known = res.get_margeff()
    pairs = res.contrasts({"bill_length_mm": [40, 45]}).summary_frame()
    monkeypatch.setattr("glmclf.core.discriminant.logit.MAX_FORMED_COEFFICIENTS", 0)
    monkeypatch.setattr("glmclf.results.generative.implied_logit.MAX_FORMED", 0)
    found = res.get_margeff()
    np.testing.assert_allclose(found.margeff_se, known.margeff_se, rtol=1e-9)
    pd.testing.assert_frame_equal(res.contrasts({"bill_length_mm": [40, 45]}).summary_frame(), pairs, rtol=1e-6)
    monkeypatch.setattr("glmclf.results.margins.effects.MAX_GRADIENT_NUMBERS", 10)
    with pytest.raises(NotImplementedError, match=r"get_margeff\(\) of 3 averages.* variables="):
        res.get_margeff()
