"""What averages are taken over and what comes of them near 0 and 1: against predict(), brute force and other routes."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import expit, log_ndtr
from scipy.stats import norm

import glmclf
from glmclf import LDA, CLogLog, Logit, MNLogit, Probit
from glmclf.data.formula.expressions import monotone
from glmclf.errors import DataError, DataWarning, DerivativeError, InferenceWarning, UnseenLevelError

BINARY = (Logit, Probit, CLogLog)


@pytest.fixture(scope="module")
def table():
    rng, n = np.random.default_rng(0), 200
    d = pd.DataFrame(
        {"x": rng.normal(size=n), "g": rng.choice(list("ab"), n), "z": rng.uniform(0.5, 3, n), "cl": np.arange(n) // 5}
    )
    d["y"] = (rng.uniform(size=n) < expit(d.x)).astype(int)
    d["o"] = rng.normal(size=n)
    return d.assign(c=np.where(rng.uniform(size=n) < 0.4, "q", np.where(d.y == 1, "p", "r")))


# ------------------------------------------------------------------------------------------------- unconditional
@pytest.mark.parametrize("cov", ["nonrobust", "HC0", "HC1", "cluster"])
def test_unconditional_of_other_rows_adds_two_variances(table, cov):
    """That of the estimate, and that of the mean of the new rows, whatever their number and order."""
    keywords = {"groups": "cl"} if cov == "cluster" else {}
    res = Logit.from_formula("y ~ x", table).fit().with_cov(cov, **keywords)
    for new in (table, table[::-1], table[:50]):
        p = res.predict(new)
        known = {"slope": res.params["x"] * p * (1 - p), "level": p}
        given = {
            "slope": res.get_margeff(newdata=new).margeff_se.iloc[0],
            "level": res.predictions(newdata=new).se.iloc[0],
        }
        found = {
            "slope": res.get_margeff(newdata=new, vcov="unconditional").margeff_se.iloc[0],
            "level": res.predictions(newdata=new, vcov="unconditional").se.iloc[0],
        }
        for what, h in known.items():
            assert_allclose(found[what] ** 2, given[what] ** 2 + h.var(ddof=1) / len(new), rtol=1e-10)


def test_unconditional_of_other_rows_that_lack_a_value(table):
    res = Logit.from_formula("y ~ x", table).fit(cov_type="HC0")
    holes = table.assign(x=table.x.where(table.index > 3))
    with pytest.warns(DataWarning, match="4 rows"):
        found = res.get_margeff(newdata=holes, vcov="unconditional").margeff_se
    assert_allclose(found, res.get_margeff(newdata=table[4:], vcov="unconditional").margeff_se, rtol=1e-12)


# ----------------------------------------------------------------------------------------------------- near 0 and 1
@pytest.mark.parametrize("model", BINARY)
@pytest.mark.parametrize("x", [-100.0, 8.0, 30.0, 100.0, 800.0])
def test_one_cell_is_its_prediction(table, model, x):
    """All rows are the same: the interval is that of the linear predictor, as get_prediction has it."""
    res = model.from_formula("y ~ x", table).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = res.predictions({"x": [x]}).summary_frame()
        known = res.get_prediction(pd.DataFrame({"x": [x]})).summary_frame()
    assert_allclose(found, known, rtol=1e-9)


@pytest.mark.parametrize("model", [MNLogit, LDA])
def test_one_cell_of_classes_is_its_prediction(table, model):
    res = model.from_formula("c ~ x + z", table).fit()
    for x in (-60.0, 5.0, 60.0):
        found = res.predictions({"x": [x]}, at={"z": 1.0}).summary_frame()
        known = res.get_prediction(pd.DataFrame({"x": [x], "z": [1.0]})).summary_frame()
        assert_allclose(found, known, rtol=1e-9)


def test_averages_near_one_through_their_complement(table):
    """log(p/(1-p)) of an average from the averages of p and of 1 - p, with gradients of the latter."""
    res = Logit.from_formula("y ~ x + z", table).fit()
    b, V = res.params.to_numpy(), res.cov_params().to_numpy()
    X = np.column_stack([np.ones(len(table)), np.full(len(table), 60.0), table.z])
    p, q = expit(X @ b), expit(-X @ b)
    centre = np.log(p.mean()) - np.log(q.mean())
    J = (p * q) @ X / len(X) / (p.mean() * q.mean())
    half = 1.959963984540054 * np.sqrt(J @ V @ J)
    found = res.predictions({"x": [60.0]}).conf_int()
    assert_allclose(1 - found, 1 - expit([[centre - half, centre + half]]), rtol=1e-9, atol=1e-16)
    other = Logit.from_formula("y ~ x + z", table, event=0).fit().predictions({"x": [60.0]}).conf_int()
    assert_allclose(other, expit([[-centre - half, -centre + half]]), rtol=1e-9)


def test_ratios_of_odds_near_one(table):
    res = Logit.from_formula("y ~ x", table).fit()
    b, se = res.params["x"], res.bse["x"]
    for x in (-800.0, 100.0, 800.0):
        found = res.contrasts({"x": [x, x + 1]}, comparison="odds ratio").summary_frame().iloc[0]
        assert_allclose(found[["odds ratio", "se", "z"]], [np.exp(b), se * np.exp(b), b / se], rtol=1e-9)
    probit = Probit.from_formula("y ~ x", table).fit()
    lower, upper = (probit.params["Intercept"] + probit.params["x"] * v for v in (20.0, 21.0))
    known = log_ndtr(upper) - log_ndtr(-upper) - log_ndtr(lower) + log_ndtr(-lower)
    assert_allclose(np.log(probit.contrasts({"x": [20.0, 21.0]}, comparison="odds ratio").estimate), known, rtol=1e-9)


@pytest.mark.parametrize("kind", ["difference", "ratio", "odds ratio"])
def test_far_contrasts_do_not_warn(table, kind):
    for model, left in ((Logit, "y"), (MNLogit, "c")):
        res = model.from_formula(f"{left} ~ x", table).fit()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = res.contrasts({"x": [-1e3, 0.0, 1e3]}, comparison=kind).summary_frame()
        assert not found.iloc[:, 0].isna().any() and found["z"].notna().any()


# ------------------------------------------------------------------------------------------------------- which rows
def test_most_frequent_of_tied_levels_is_no_matter_of_the_base():
    d = pd.DataFrame({"x": np.arange(12.0) % 5, "g": ["b", "a", "c"] * 4, "y": [0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0]})
    found = [
        Logit.from_formula(f"y ~ x + {g}", d).fit().get_margeff("median", variables="x").margeff.iloc[0]
        for g in ("g", "C(g, Treatment('b'))", "C(g, Treatment('c'))", "C(g, Sum)")
    ]
    assert_allclose(found, found[0], rtol=1e-8)
    p = Logit.from_formula("y ~ x + g", d).fit().predict(pd.DataFrame({"x": [d.x.median()], "g": ["a"]}))
    res = Logit.from_formula("y ~ x + C(g, Treatment('c'))", d).fit()
    assert_allclose(res.predictions(at="median").predicted, p, rtol=1e-8)


@pytest.mark.parametrize("model", [*BINARY, MNLogit])
def test_a_variable_that_is_the_offset_too_moves_both(table, model):
    left = "c" if model is MNLogit else "y"
    res = model.from_formula(f"{left} ~ x * o", table, offset="o").fit()

    def mean(**to):
        return np.atleast_1d(res.predict(table.assign(**to)).mean())

    h = 1e-4
    slope = (mean(o=table.o + h) - mean(o=table.o - h)) / (2 * h)
    assert_allclose(np.ravel(res.get_margeff(variables="o").margeff), slope, rtol=1e-6, atol=1e-9)
    found = res.predictions({"o": [0.0, 2.0]})
    assert_allclose(found.predicted.to_numpy().reshape(-1, 2), np.column_stack([mean(o=0.0), mean(o=2.0)]), rtol=1e-10)
    assert_allclose(res.predictions(at={"o": 1.0}).predicted, mean(o=1.0), rtol=1e-10)
    typical = pd.DataFrame({"x": [table.x.mean()], "o": [1.0]})
    assert_allclose(res.predictions({"o": [1.0]}, at="mean").predicted, np.ravel(res.predict(typical)), rtol=1e-10)
    median = pd.DataFrame({"x": [table.x.median()], "o": [table.o.median()]})
    assert_allclose(res.predictions(at="median").predicted, np.ravel(res.predict(median)), rtol=1e-10)
    if model is not MNLogit:
        with pytest.raises(NotImplementedError, match='"o", which is the offset'):
            res.inverse_predict(0.5, "o")


def test_rows_without_an_offset_are_left_out(table):
    res = Logit.from_formula("y ~ x", table, offset="z").fit()
    holes = table.assign(z=table.z.where(table.index > 9))
    for of in (lambda t: res.get_margeff(newdata=t).margeff, lambda t: res.predictions(newdata=t).predicted):
        with pytest.warns(DataWarning, match="10 rows"):
            found = of(holes)
        assert_allclose(found, of(table[10:]), rtol=1e-12)
    assert_allclose(
        res.predictions(newdata=holes, at={"z": 1.0}).predicted, res.predictions(newdata=table, at={"z": 1.0}).predicted
    )


def test_effects_of_a_table_are_of_the_same_rows(table):
    res = Logit.from_formula("y ~ x * g", table).fit()
    holes = table.assign(g=table.g.where(table.index > 19, None))
    with pytest.warns(DataWarning, match="20 rows"):
        found = res.get_margeff(newdata=holes).margeff
    assert_allclose(found, res.get_margeff(newdata=table[20:]).margeff, rtol=1e-12)
    with warnings.catch_warnings():  # what a setting sets is not asked for
        warnings.simplefilter("error")
        found = res.predictions("g", newdata=holes).predicted
    assert_allclose(found, res.predictions("g").predicted, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*rows that lack a value")
def test_groups_without_a_row_are_nan_by_name(table):
    res = Logit.from_formula("y ~ x * g", table).fit()
    rows = table[:3].assign(x=[0.5, np.nan, 1.0])
    with pytest.warns(InferenceWarning, match="row 1: NaN"):
        found = res.get_margeff(at=rows, variables="x").margeff
    assert_allclose(found.iloc[[0, 2]], res.get_margeff(at=rows.iloc[[0, 2]], variables="x").margeff)
    assert np.isnan(found.iloc[1])
    holes = table.assign(x=table.x.where(table.cl != 7))
    for at in ("overall", "mean"):
        with pytest.warns(InferenceWarning, match="cl 7: NaN"):
            found = res.predictions(by="cl", newdata=holes, at=at).summary_frame()
        assert found.loc[7].isna().all() and found.drop(7).notna().all().all()
    with pytest.raises(DataError, match="no row"):
        res.get_margeff(newdata=table.assign(x=np.nan))


def test_a_variable_set_twice_is_an_error(table):
    res = Logit.from_formula("y ~ x + g", table).fit()
    for variables, at in (("g", {"g": "a"}), ({"x": [0, 1]}, {"x": 2}), ("g", pd.DataFrame({"g": ["a", "b"]}))):
        with pytest.raises(ValueError, match="both set"):
            res.predictions(variables, at)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_no_derivative_is_no_matter_of_the_order_of_rows(table, order):
    d = table.assign(w=np.append(np.zeros(1), table.z[1:]))[order]
    res = Logit.from_formula("y ~ x + np.sqrt(w)", d).fit()
    with pytest.warns(DataWarning, match='no effect of "w"'):
        assert list(res.get_margeff().margeff.index) == ["x"]
    with pytest.raises(DerivativeError, match="no finite derivative"):
        res.get_margeff(variables="w")


def test_an_unseen_level_is_no_lack_of_a_derivative(table):
    res = Logit.from_formula("y ~ x * g", table).fit()
    for rows in (table[:2].assign(g=["a", "q"]), table.assign(g=["a"] * 199 + ["q"])):
        with pytest.raises(UnseenLevelError, match="q"):
            res.get_margeff(at=rows, variables="x")


# ------------------------------------------------------------------------------------------------------------- size
def test_many_rows_and_groups_against_predictions_one_by_one(table):
    """Thousands of estimates: their covariance is not formed, and those of groups are sums of their rows."""
    rng = np.random.default_rng(1)
    big = pd.DataFrame({"x": rng.normal(size=40_000), "q": rng.integers(0, 5000, 40_000)})
    res = Logit.from_formula("y ~ x", table).fit()
    found = res.predictions(at=big).summary_frame()
    assert_allclose(found, res.get_prediction(big).summary_frame(), rtol=1e-9)
    found = res.predictions(by="q", newdata=big)
    known = res.predict(big).groupby(big.q).mean()
    assert_allclose(found.predicted, known, rtol=1e-12)
    some = [3, 17, 4000]
    few = res.predictions(by="q", newdata=big[big.q.isin(some)])
    at = [list(known.index).index(v) for v in some]
    assert_allclose(found.summary_frame().iloc[at], few.summary_frame(), rtol=1e-10)


# ----------------------------------------------------------------------------------------------- inverse prediction
@pytest.fixture(scope="module")
def doses():
    counts = {"s": np.tile([8, 6, 4, 2], 5), "f": np.tile([2, 4, 6, 8], 5)}
    return pd.DataFrame({"dose": np.tile([1.0, 2, 4, 8], 5), **counts})


def fieller(res, p):
    """All u with (A - u B)^2 <= z^2 Var, by the roots of the quadratic: the set of the function's value."""
    a, b = res.params.to_numpy()
    V, y, z2 = res.cov_params().to_numpy(), np.log(p / (1 - p)), 1.959963984540054**2
    roots = np.roots([b * b - z2 * V[1, 1], 2 * ((a - y) * b - z2 * V[0, 1]), (a - y) ** 2 - z2 * V[0, 0]])
    return (y - a) / b, *sorted(roots)


@pytest.mark.parametrize(
    "code, back, p",
    [
        ("I(1/dose)", lambda u: 1 / u if u > 0 else np.inf, (0.5, 0.95, 0.3)),
        ("np.exp(-dose)", lambda u: -np.log(u) if u > 0 else np.inf, (0.5, 0.85, 0.95)),
        ("I(dose**2)", lambda u: np.sqrt(u) if u > 0 else 0.0, (0.5, 0.05)),
        ("np.sqrt(dose)", lambda u: u * u if u > 0 else 0.0, (0.5, 0.85)),
        ("np.log(dose)", np.exp, (0.5, 0.01, 0.99)),
        ("np.minimum(dose, 10)", lambda u: u if u < 10 else np.inf, (0.1, 0.95)),  # a line between the data's ends
        ("np.minimum(dose, 15)", lambda u: u if u < 15 else np.inf, (0.05,)),
        ("np.abs(dose)", lambda u: max(u, 0.0), (0.75,)),
        ("np.maximum(dose, 0.5)", lambda u: u if u > 0.5 else -np.inf, (0.75,)),
        ("I((dose - 4.5)**3)", lambda u: 4.5 + np.cbrt(u), (0.5, 0.05)),
    ],
)
def test_inverse_through_functions_of_limited_range(doses, code, back, p):
    """Fieller's set of the function's value, mapped; an end that is not reached is that of the domain."""
    res = Logit.from_formula(f"s + f ~ {code}", doses).fit()
    found = res.inverse_predict(p, "dose")
    for q in p:
        value, low, high = fieller(res, q)
        ends = sorted([back(low), back(high)])
        numbers = found.loc[q, ["estimate", "ci_lower", "ci_upper"]].astype(float)
        assert_allclose(numbers, [back(value), *ends], rtol=1e-9)


LIMITED = ["I(1/dose)", "np.exp(-dose)", "sigmoid(dose, [4], scale=1)", "np.clip(dose, 0, 10)"]


@pytest.mark.parametrize("code", LIMITED)
def test_probabilities_that_no_value_has(doses, code):
    res = Logit.from_formula(f"s + f ~ {code}", doses).fit()
    least = res.predict({"dose": 1e6}).iloc[0]
    with pytest.warns(InferenceWarning, match='no value of "dose" has p = 0.05'):
        found = res.inverse_predict([0.05, 0.5], "dose")
    assert least > 0.05 and np.isnan(found.loc[0.05, "estimate"]) and found.loc[0.5].notna().all()
    with pytest.warns(InferenceWarning, match="no value"):
        near = res.inverse_predict(least * 0.999, "dose").iloc[0]
    assert near["ci_upper"] == np.inf and np.isfinite(near["ci_lower"]) and np.isnan(near["estimate"])


def test_a_line_within_bounds_is_not_followed_beyond(doses):
    res = Logit.from_formula("s + f ~ bs(dose, degree=1, df=1)", doses).fit()
    with pytest.warns(InferenceWarning, match='no value of "dose" has p = 0.05'):
        found = res.inverse_predict([0.05, 0.5], "dose")
    assert found.loc[0.05, ["estimate", "ci_lower", "ci_upper"]].isna().all()
    assert_allclose(res.predict({"dose": [found.loc[0.5, "estimate"]]}), 0.5, rtol=1e-12)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("np.round(dose)", "step function.*np.round"),
        ("np.floor(dose)", "step function.*np.floor"),
        ("I(dose//1)", "step function.*dose // 1"),
        ("I(dose + 3 * np.floor(dose))", "jumps at 4"),
    ],
)
def test_steps_have_no_inverse(doses, code, words):
    with pytest.raises(NotImplementedError, match=words):
        Logit.from_formula(f"s + f ~ {code}", doses).fit().inverse_predict(0.5, "dose")


@pytest.mark.parametrize(
    "code, moved",
    [
        ("np.log(dose + 1)", "np.log(dose)"),
        ("np.log1p(dose)", "np.log(dose)"),
        ("np.sqrt(dose + 1)", "np.sqrt(dose)"),
        ("I(1 / (dose + 1))", "I(1 / dose)"),
        ("np.log(1 - dose)", "np.log(-dose)"),
    ],
)
def test_data_that_begin_at_0(doses, code, moved):
    """The same function of a variable that is larger by 1: its inverse less 1, also beyond 0."""
    sign, p = (-1.0 if "1 - dose" in code else 1.0), [0.5, 0.9, 0.001]
    at_0 = doses.assign(dose=sign * (doses.dose - 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        known = Logit.from_formula(f"s + f ~ {moved}", doses.assign(dose=sign * doses.dose)).fit()
        known = known.inverse_predict(p, "dose")
        found = Logit.from_formula(f"s + f ~ {code}", at_0).fit().inverse_predict(p, "dose")
    ends = ["estimate", "ci_lower", "ci_upper"]
    assert_allclose(found[ends], known[ends] - sign, rtol=1e-8, atol=1e-10)
    assert_allclose(found["se"], known["se"], rtol=1e-7)
    assert (found["shape"] == known["shape"]).all() and np.isfinite(found.loc[0.5, "estimate"])


@pytest.mark.parametrize("code", ["I(dose**1.5)", "np.sqrt(dose)", "np.sqrt(dose - 1)"])
def test_a_function_that_ends_at_a_value(doses, code):
    """Beyond the domain a p has no value; the others of the same call have theirs."""
    res = Logit.from_formula(f"s + f ~ {code}", doses).fit()
    with pytest.warns(InferenceWarning, match="no value.*p = 0.99:"):
        found = res.inverse_predict([0.5, 0.99], "dose")
    assert found.loc[0.99, ["estimate", "se"]].isna().all() and found.loc[0.5].notna().all()
    assert_allclose(res.predict({"dose": [found.loc[0.5, "estimate"]]}), 0.5, rtol=1e-10)


def test_values_of_extreme_probabilities(doses):
    """u(v) = log(v + a): v = exp(u) - a, to the last digit that a float has."""
    for a in (0, 1):
        res = Logit.from_formula(f"f + s ~ np.log(dose + {a})", doses).fit()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = res.inverse_predict([1e-60, 1e-20], "dose")
        known = [np.exp(fieller(res, q)[0]) - a for q in found.index]
        assert_allclose(found["estimate"], known, rtol=1e-9 if a == 0 else 4e-16)


TURNS = ["np.abs(u - 0.4)", "I(u**3 - u)", "I(u + 2 * np.sin(u * 2))", "I(np.log(u + 0.1)**2)", "np.sin(20 * u)"]


@pytest.mark.parametrize("code", [*TURNS, "np.abs(u - 1e-6)", "np.where(u > 4, u + 0.03 * np.sin(50 * u), u)"])
def test_functions_that_turn_are_refused(code):
    """Between the ends, however near to one of them: of one p there are several values."""
    d = pd.DataFrame({"u": np.linspace(0, 8, 60), "y": np.tile([0, 1, 0, 0, 1], 12)})
    with pytest.raises(NotImplementedError, match='"u", which enters by several functions or by one that is not mono'):
        Logit.from_formula(f"y ~ {code}", d).fit().inverse_predict(0.5, "u")


@pytest.mark.parametrize(
    "code, level",
    [
        ("np.minimum(u, 5)", (5, np.inf)),
        ("np.maximum(u, 5)", (-np.inf, 5)),
        ("u.clip(5, 7)", (-np.inf, 5)),
        ("np.minimum(u, 12)", (12, np.inf)),
        ("np.where(u < 3, u, np.where(u < 5, 3, u - 2))", (3, 5)),
    ],
)
def test_functions_that_are_level_in_places(code, level):
    """Where they are not, the value is that of the line; where they are, all values have the p, and it is said."""
    rng = np.random.default_rng(2)
    d = pd.DataFrame({"u": np.linspace(0, 10, 80)})
    d["y"] = (rng.uniform(size=80) < expit(d.u - 5)).astype(int)
    res = Logit.from_formula(f"y ~ {code}", d).fit()
    inner = np.array([6.0, 6.9] if level[1] == 5 else [1.0, 4.0])
    found = res.inverse_predict(res.predict({"u": inner}), "u")
    assert_allclose(found["estimate"], inner, rtol=1e-10)
    slope, inside = res.params.iloc[1], found.to_numpy()[:, 1].astype(float)
    linear = res.get_prediction({"u": inner}, which="linear")
    assert_allclose(inside, linear.se / abs(slope), rtol=1e-8)
    at = level[1] - 1 if np.isinf(level[0]) else level[0] + 1
    text = f"all from {level[0]} to {level[1]}, where its function"
    with pytest.warns(InferenceWarning, match=f'more than one value of "u" has p = .*{text}'):
        found = res.inverse_predict(res.predict({"u": [at]}), "u")
    assert found[["estimate", "se"]].isna().all(axis=None)


def test_code_that_is_monotone_by_its_syntax():
    known = ["np.log1p(np.exp(-x))", "I((x - z)**3)", "np.clip(2 * x, 0, 1)", "x**0.5", "I(3 - np.sqrt(center(x)))"]
    other = ["np.abs(x)", "x**2", "1 / x", "x * np.exp(x)", "np.maximum(x, -x)", "f(x)", "x**-1.0", "x // 1"]
    assert all(monotone(code, "x") for code in known) and not any(monotone(code, "x") for code in other)


@pytest.mark.parametrize("code", ["I((dose - 9)**2)", "hinge(dose, [15])", "np.log(dose - 5)", "dose"])
def test_inverse_of_a_kept_result_bit_for_bit(doses, code):
    res = Logit.from_formula(f"s + f ~ {code}", doses.assign(dose=10 * doses.dose)).fit()
    known, file = res.inverse_predict([0.5, 0.2], "dose"), io.StringIO()
    res.save(file)
    file.seek(0)
    pd.testing.assert_frame_equal(glmclf.load(file).inverse_predict([0.5, 0.2], "dose"), known, check_exact=True)
    res.remove_data()
    pd.testing.assert_frame_equal(res.inverse_predict([0.5, 0.2], "dose"), known, check_exact=True)


@pytest.mark.parametrize("of", [np.asarray, csr_array])
def test_inverse_of_a_kept_result_of_arrays(table, of):
    X = np.column_stack([np.ones(len(table)), table.x])
    res, file = Logit(table.y, of(X)).fit(), io.StringIO()
    known = res.inverse_predict(0.5, "x1")
    assert_allclose(res.predict([[1.0, known["estimate"].iloc[0]]]), 0.5, rtol=1e-9)
    res.save(file)
    old = json.loads(file.getvalue())
    assert old["model"]["kept"].pop("_ranges")["x1"] == [table.x.min(), table.x.max()]
    file.seek(0)
    pd.testing.assert_frame_equal(glmclf.load(file).inverse_predict(0.5, "x1"), known, check_exact=True)
    kept = glmclf.load(io.StringIO(json.dumps({**old, "version": 1})))
    assert_allclose(kept.predict(X), res.predict(X), rtol=0)
    with pytest.raises(DataError, match='range of "x1".*save it again'):
        kept.inverse_predict(0.5, "x1")


@pytest.mark.parametrize("at", [{"z": np.inf}, {"z": np.nan}, {"z": None}, {"g": None}, {"o": -np.inf}, {"o": "a"}])
def test_values_of_others_that_are_none(table, at):
    """The error names what at= sets, not the variable that is asked for."""
    res = Logit.from_formula("y ~ x + z + g", table, offset="o").fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=f'at= sets "{next(iter(at))}" to .*: give it a'):
            res.inverse_predict(0.5, "x", at)


# ------------------------------------------------------------------------------------------------ what is accepted
def test_groups_beside_the_rows_as_given(table):
    """As groups= of fit: beside the table, what `subset` left of it, or the rows of the fit."""
    holes = table.assign(x=table.x.where(table.index > 4))
    res = Logit.from_formula("y ~ x", holes, subset=table.z > 1).fit()
    known = res.get_margeff(over="g").margeff
    for groups in (table.g, table.g.to_numpy(), table.g[table.z > 1].to_numpy(), table.g[res.fittedvalues.index]):
        assert_allclose(res.get_margeff(over=groups).margeff, known)
    X = np.column_stack([np.ones(len(table)), holes.x])
    arrays = Logit(table.y.to_numpy(), X, missing="drop").fit()
    assert_allclose(
        arrays.get_margeff(over=table.g.to_numpy()).margeff, arrays.get_margeff(over=table.g.to_numpy()[5:]).margeff
    )


def test_columns_of_arrays_by_place(table):
    X = np.column_stack([np.ones(len(table)), table.x, table.z])
    res = Logit(table.y.to_numpy(), X).fit()
    assert_allclose(res.get_margeff(at={2: 1.0}).margeff, res.get_margeff(at={"x2": 1.0}).margeff)
    for at in ({9: 0.0}, {-1: 0.0}, {"x1": "s"}):
        with pytest.raises(DataError, match="at= sets"):
            res.get_margeff(at=at)


def test_sparse_rows_to_average_over(table):
    from scipy import sparse

    X = np.column_stack([np.ones(len(table)), table.x])
    res = Logit(table.y.to_numpy(), sparse.csr_matrix(X)).fit()
    assert_allclose(
        res.get_margeff(newdata=sparse.csr_array(X[:9])).margeff, res.get_margeff(newdata=X[:9]).margeff, rtol=1e-12
    )


def test_frames_as_settings(table):
    polars = pytest.importorskip("polars")
    res = Logit.from_formula("y ~ x + g", table).fit()
    rows = pd.DataFrame({"x": [0.0, 1.0], "g": ["a", "b"]})
    assert_allclose(res.predictions(at=polars.from_pandas(rows)).predicted, res.predict(rows))
    with pytest.raises(DataError, match="Did you mean 'x'"):
        res.predictions(at=rows.rename(columns={"x": "X"}))


def test_infinite_values_do_not_warn(table):
    rows = pd.DataFrame({"x": [np.inf, 0.0], "g": ["a", "b"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        Logit.from_formula("y ~ x", table).fit().get_prediction(rows).summary_frame()
        assert np.isnan(Logit.from_formula("y ~ x * g", table).fit().predict(rows).iloc[0])


def test_what_is_not_there_says_so(table, tmp_path):
    res = Logit.from_formula("y ~ x", table).fit()
    with pytest.raises(ValueError, match="joint law"):
        res.get_prediction(table[:3]).conf_int(adjust="tukey")
    for model in (MNLogit, LDA):
        with pytest.raises(NotImplementedError, match="inverse_predict.*is for Logit"):
            model.from_formula("c ~ x", table).fit().inverse_predict(0.5, "x")
    res.save(tmp_path / "res.json")
    with pytest.raises(DataError, match="not in the file"):
        glmclf.load(tmp_path / "res.json").get_prediction(table[:3], priors={0: 0.5, 1: 0.5})


# ----------------------------------------------------------------------------------------------- far tails, few rows
def line_data():
    rng = np.random.default_rng(0)
    d = pd.DataFrame({"x": rng.normal(size=300) + 1, "z": rng.uniform(0.5, 3, 300)})
    return d.assign(y=(rng.uniform(size=300) < 1 / (1 + np.exp(-d.x))).astype(int), k=rng.integers(0, 3, 300))


def test_errors_of_probabilities_whose_squares_underflow():
    """p = exp(eta) to the last digit there, so that p, its slope and changes have the errors of lognormal numbers."""
    d, values = line_data(), np.array([-400.0, -399.0, -398.0])
    res = Logit.from_formula("y ~ x", d).fit()
    (a, b), V = res.params.to_numpy(), res.cov_params().to_numpy()
    p, X = np.exp(a + b * values), np.column_stack([np.ones(3), values])

    def se(J):
        unit = np.abs(J).max(axis=1, keepdims=True)
        return unit[:, 0] * np.sqrt(np.einsum("ep,pq,eq->e", J / unit, V, J / unit))

    found = res.predictions({"x": values.tolist()})
    assert_allclose(found.se, se(p[:, None] * X), rtol=1e-9)
    assert_allclose(found.se, res.get_prediction(pd.DataFrame({"x": values})).summary_frame()["se"], rtol=1e-9)
    pairs = found.contrasts(contrast="reference", adjust="tukey")
    assert_allclose(pairs.se, se(p[1:, None] * X[1:] - p[0] * X[0]), rtol=1e-9)
    alone = 2 * norm.sf(np.abs(pairs.estimate / pairs.se))
    assert ((pairs.pvalues >= alone * (1 - 1e-9)) & (pairs.pvalues <= 2 * alone)).all()
    slopes = b * p[:, None] * X + p[:, None] * [0.0, 1.0]
    for at in ({"x": values.tolist()}, pd.DataFrame({"x": values})):
        effects = res.get_margeff(at=at)
        assert_allclose(effects.margeff_se, se(slopes), rtol=1e-9)
        assert effects.pvalues.min() > 0.9
    several = MNLogit.from_formula("k ~ x", d).fit()
    table = several.predictions({"x": [-4000.0, 4000.0]}).summary_frame()
    small = table[(table.predicted > 0) & (table.predicted < 1e-160)]
    assert len(small) == 2 and (small.se > small.predicted).all()
    effects = several.get_margeff(at={"x": [-4000.0, 4000.0]})
    assert np.nanmin(effects.pvalues) > 0.9


@pytest.mark.parametrize("cov", ["nonrobust", "HC1", "cluster"])
@pytest.mark.parametrize("model, formula", [(Logit, "y ~ x + z"), (MNLogit, "k ~ x")])
def test_unconditional_of_groups_is_of_each_group_as_a_part(model, formula, cov):
    """var = J V J' + N/(N-1) sum u'u of what rows add; robust: sum (u + J psi)'(u + J psi), written out row by row."""
    d = line_data().assign(g=np.arange(300) % 7, cl=np.arange(300) // 6)
    res = model.from_formula(formula, d).fit().with_cov(cov, **({"groups": "cl"} if cov == "cluster" else {}))
    found, given = (res.predictions(by="g", vcov=vcov) for vcov in ("unconditional", None))
    J, p = given._covariance.J, res.predict(d).to_numpy().reshape(300, -1)
    L, U = p.shape[1], np.zeros((300, 7 * p.shape[1]))
    for g in range(7):
        at = d.g == g
        U[at, g * L : (g + 1) * L] = (p[at] - p[at].mean(axis=0)) / at.sum()
    N, V = 300, J @ given.results._margin_source().V @ J.T
    if cov != "nonrobust":
        U, V = U + res._influence_on(J), 0.0
    if cov == "cluster":
        N, U = 50, np.stack([U[d.cl == c].sum(axis=0) for c in range(50)])
    known = V + N / (N - 1) * U.T @ U
    assert_allclose(found._covariance.matrix(), known, rtol=1e-9, atol=1e-16)
    assert_allclose(found._covariance.errors, np.sqrt(np.diagonal(known)), rtol=1e-9)


def test_one_row_has_no_sampling_variance():
    d = line_data().assign(g=["alone", *["many"] * 299], cl=np.arange(300) // 6)
    d["h"] = np.where(d.cl == 3, "alone", "many")
    res = Logit.from_formula("y ~ x", d).fit()
    for ask in (res.get_margeff, res.predictions):
        with pytest.warns(InferenceWarning, match="over one row, which has no sampling variance"):
            frame = ask(newdata=d.iloc[:1], vcov="unconditional").summary_frame()
        assert frame.iloc[:, 1].isna().all() and frame.iloc[:, 0].notna().all()
    for fit, by, unit in ((res, "g", "row"), (res.with_cov("cluster", groups="cl"), "h", "cluster")):
        with pytest.warns(InferenceWarning, match=f'of {by} "alone" are over one {unit}'):
            se = fit.predictions(by=by, vcov="unconditional").se
        assert np.isnan(se["alone"]) and se["many"] > 0
    with pytest.warns(InferenceWarning, match="over one row"):
        assert np.isnan(res.get_margeff(over="g", vcov="unconditional").margeff_se.iloc[0])


def test_other_rows_of_a_fit_with_an_offset_of_values():
    d = line_data()
    res = Logit.from_formula("y ~ x", d, offset=d.z.to_numpy()).fit()
    for ask in (res.get_margeff, res.predictions):
        with pytest.raises(DataError, match="name of a column"):
            ask(newdata=d)
    named = Logit.from_formula("y ~ x", d, offset="z").fit()
    assert_allclose(named.get_margeff(newdata=d).margeff, res.get_margeff().margeff, rtol=1e-12)


def test_a_table_of_all_variables_sets_them_all(table):
    res = Logit.from_formula("y ~ x + g", table).fit()
    for at in (table[:3], table[["g"]][:3]):
        with pytest.raises(ValueError, match='both set "g"'):
            res.predictions("g", at=at)


# ------------------------------------------------------------------------------------------------- rows of counts
@pytest.fixture(scope="module")
def counted():
    """Rows of 1 to 29 trials with three outcomes, and the same data a trial a row."""
    rng = np.random.default_rng(0)
    n = 40
    d = pd.DataFrame(
        {"x": rng.normal(size=n), "g": rng.integers(0, 9, n), "row": np.arange(n), "w": rng.integers(1, 4, n)}
    )
    share = np.exp(np.column_stack([np.zeros(n), d.x + rng.normal(size=n), -d.x / 2]))
    share /= share.sum(axis=1, keepdims=True)
    cells = np.array([rng.multinomial(m, p) for m, p in zip(rng.integers(1, 30, n), share, strict=True)])
    d[["a", "b", "c"]] = cells
    d["rest"] = d.b + d.c
    trials = d.loc[d.index.repeat(cells.sum(axis=1))]
    trials = trials.assign(y=np.concatenate([np.repeat(list("abc"), c) for c in cells]))
    return d, trials.assign(event=(trials.y == "a").astype(int))


@pytest.mark.parametrize("left, model, right", [("a + rest", Logit, "event"), ("a + b + c", MNLogit, "y")])
def test_unconditional_of_counts_takes_a_row_as_one_unit(counted, left, model, right):
    """As trials in clusters, a row a cluster; and rows in clusters as their trials in the same clusters."""
    rows, trials = counted
    a, b = (model.from_formula(f"{y} ~ x", d).fit() for y, d in ((left, rows), (right, trials)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # few clusters, and groups of one row
        for one, two in [("HC0", "row"), ("HC1", "row"), ("cluster", "g")]:
            one = a.with_cov(one, **({"groups": "g"} if one == "cluster" else {}))
            two = b.with_cov("cluster", groups=two)
            for call in (
                lambda r: r.get_margeff(vcov="unconditional").margeff_se,
                lambda r: r.get_margeff(vcov="unconditional", over="g").margeff_se,
                lambda r: r.predictions(vcov="unconditional").se,
            ):
                assert_allclose(call(one), call(two), rtol=1e-9)


def test_unconditional_of_counts_is_near_the_jackknife_over_rows(counted):
    rows = counted[0]
    fit = Logit.from_formula("a + rest ~ x", rows).fit("irls", cov_type="HC0")
    left_out = [
        Logit.from_formula("a + rest ~ x", rows.drop(i)).fit().predictions().predicted.iloc[0] for i in rows.index
    ]
    spread = np.array(left_out) - np.mean(left_out)
    assert_allclose(fit.predictions(vcov="unconditional").se, np.sqrt(39 / 40 * spread @ spread), rtol=0.03)
    twice = Logit.from_formula("a + rest ~ x", rows, freq_weights="w").fit(cov_type="HC0")
    repeated = Logit.from_formula("a + rest ~ x", rows.loc[rows.index.repeat(rows.w)]).fit(cov_type="HC0")
    assert_allclose(*(r.predictions(vcov="unconditional").se for r in (twice, repeated)), rtol=1e-9)
