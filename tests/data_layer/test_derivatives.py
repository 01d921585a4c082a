"""dX / d variable: against mpmath's differentiation of the same functions, R's splineDesign and hand formulas.

1e-9 is what is promised; plain functions and splines keep 1e-12.
"""

import json
import math
import pathlib
import pickle
import tracemalloc

import mpmath
import numpy as np
import pandas as pd
import pytest
from mpmath import mp
from scipy import special
from scipy.interpolate import CubicSpline

from glmclf import LDA, Logit, MNLogit, NaiveBayes
from glmclf.data.design import codec
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.reading.read import read_formula
from glmclf.errors import DataError

R = json.loads((pathlib.Path(__file__).parents[1] / "reference/basis/basis.json").read_text())
RTOL = 1e-12


def left(names, values):
    return names, values


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "x": rng.normal(size=n),
            "z": rng.uniform(0.5, 3, size=n),
            "k": rng.integers(1, 4, n),
            "b": rng.uniform(size=n) < 0.5,
            "g": np.array(["a", "b", "c"])[np.arange(n) % 3],
            "h": np.array(["u", "v"])[(np.arange(n) // 3) % 2],
            "times": rng.integers(0, 4, n),
        }
    )


def design(right, data=None, **keywords):
    return read_formula(f"y ~ {right}", table() if data is None else data, response=left, **keywords).design


def close(found, expected, rtol=RTOL, atol=1e-14):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


# ---------------------------------------------------------------------------------------------- numpy's functions
FUNCTIONS = [
    ("np.exp(x)", lambda x, z: mp.exp(x)),
    ("np.exp2(x)", lambda x, z: mp.mpf(2) ** x),
    ("np.expm1(x)", lambda x, z: mp.expm1(x)),
    ("np.log(z)", lambda x, z: mp.log(z)),
    ("np.log2(z)", lambda x, z: mp.log(z, 2)),
    ("np.log10(z)", lambda x, z: mp.log10(z)),
    ("np.log1p(z)", lambda x, z: mp.log1p(z)),
    ("np.sqrt(z)", lambda x, z: mp.sqrt(z)),
    ("np.cbrt(z)", lambda x, z: mp.cbrt(z)),
    ("np.square(x)", lambda x, z: x**2),
    ("np.reciprocal(z)", lambda x, z: 1 / z),
    ("np.sin(x)", lambda x, z: mp.sin(x)),
    ("np.cos(x)", lambda x, z: mp.cos(x)),
    ("np.tan(x / 3)", lambda x, z: mp.tan(x / 3)),
    ("np.arcsin(z / 4)", lambda x, z: mp.asin(z / 4)),
    ("np.arccos(z / 4)", lambda x, z: mp.acos(z / 4)),
    ("np.arctan(x)", lambda x, z: mp.atan(x)),
    ("np.sinh(x)", lambda x, z: mp.sinh(x)),
    ("np.cosh(x)", lambda x, z: mp.cosh(x)),
    ("np.tanh(5 * x)", lambda x, z: mp.tanh(5 * x)),
    ("np.arcsinh(x)", lambda x, z: mp.asinh(x)),
    ("np.arccosh(z + 1)", lambda x, z: mp.acosh(z + 1)),
    ("np.arctanh(z / 4)", lambda x, z: mp.atanh(z / 4)),
    ("np.deg2rad(x)", lambda x, z: x * mp.pi / 180),
    ("np.degrees(x)", lambda x, z: x * 180 / mp.pi),
    ("np.hypot(x, z)", lambda x, z: mp.sqrt(x**2 + z**2)),
    ("np.arctan2(x, z)", lambda x, z: mp.atan2(x, z)),
    ("np.logaddexp(x, z)", lambda x, z: mp.log(mp.exp(x) + mp.exp(z))),
    ("np.logaddexp2(x, z)", lambda x, z: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** z, 2)),
    ("np.power(z, x)", lambda x, z: z**x),
    ("np.float_power(z, 3)", lambda x, z: z**3),
    ("I(-x + 2 * x - x / z)", lambda x, z: -x + 2 * x - x / z),
    ("I(x**2)", lambda x, z: x**2),
    ("I(x**3 / (1 + z**2))", lambda x, z: x**3 / (1 + z**2)),
    ("I(2**x + x**0 + z**-1.5)", lambda x, z: mp.mpf(2) ** x + 1 + z ** mp.mpf(-1.5)),
    ("I(z**x)", lambda x, z: z**x),
    ("np.mod(x, 0.7)", lambda x, z: x - mp.mpf(0.7) * mp.floor(x / mp.mpf(0.7))),
    ("np.fmod(z, 0.7)", lambda x, z: z - mp.mpf(0.7) * mp.floor(z / mp.mpf(0.7))),
    ("np.remainder(5, z)", lambda x, z: 5 - z * mp.floor(5 / z)),
    ("I(x // 0.5 + x)", lambda x, z: x + mp.floor(2 * x)),
    ("np.abs(x)", lambda x, z: abs(x)),
    ("np.maximum(x, z - 1)", lambda x, z: max(x, z - 1)),
    ("np.minimum(x * z, x)", lambda x, z: min(x * z, x)),
    ("np.clip(x**3, -1, 0.5)", lambda x, z: min(max(x**3, -1), mp.mpf(0.5))),
    ("np.where(x > 0, x**3, np.sin(x) * z)", lambda x, z: x**3 if x > 0 else mp.sin(x) * z),
    ("np.where((x > 0) & (z < 2), x * z, np.log(z))", lambda x, z: x * z if x > 0 and z < 2 else mp.log(z)),
    ("I((x > 0.1) * (x - 0.1))", lambda x, z: max(x - mp.mpf(0.1), 0)),
    ("np.log(1 + np.exp(np.sqrt(z) * x))", lambda x, z: mp.log(1 + mp.exp(mp.sqrt(z) * x))),
    ("expit(2 * x)", lambda x, z: 1 / (1 + mp.exp(-2 * x))),
    ("logit(z / 4)", lambda x, z: mp.log(z / (4 - z))),
    ("log_expit(9 * x)", lambda x, z: -mp.log(1 + mp.exp(-9 * x))),
    ("ndtr(3 * x)", lambda x, z: mp.ncdf(3 * x)),
    ("log_ndtr(9 * x)", lambda x, z: mp.log(mp.ncdf(9 * x))),
    ("erf(x)", lambda x, z: mp.erf(x)),
    ("erfc(x)", lambda x, z: mp.erfc(x)),
    ("gammaln(z)", lambda x, z: mp.loggamma(z)),
    ("xlogy(x, z)", lambda x, z: x * mp.log(z)),
    ("xlog1py(x, z)", lambda x, z: x * mp.log1p(z)),
]
SCIPY = {
    name: getattr(special, name)
    for name in ["expit", "logit", "log_expit", "ndtr", "log_ndtr", "erf", "erfc", "gammaln", "xlogy", "xlog1py"]
}


@pytest.mark.parametrize("code, f", FUNCTIONS, ids=[code for code, _ in FUNCTIONS])
def test_numpy_s_functions_against_mpmath(code, f):
    data = table(25)
    d = design(f"0 + {code}", data, namespace=SCIPY)
    for place, name in enumerate(["x", "z"]):
        if name not in d.variables:
            continue
        with mp.workdps(40):
            order = [(1, 0), (0, 1)][place]
            points = zip(data.x.tolist(), data.z.tolist())
            exact = [float(mpmath.diff(f, (mp.mpf(x), mp.mpf(z)), order).real) for x, z in points]
        close(d.derivative(data, name)[:, 0], exact, rtol=1e-11)


def test_steps_have_no_slope_between_their_jumps():
    data = table()
    d = design("0 + I(np.floor(z) * x + np.sign(x) + np.rint(x) + np.ceil(x) + np.trunc(x))", data)
    close(d.derivative(data, "x")[:, 0], np.floor(data.z))
    d = design("0 + I(x * (x > 0) + (x != 3) + np.heaviside(x, 0.5))", data)
    close(d.derivative(data, "x")[:, 0], data.x > 0)


@pytest.mark.parametrize(
    "code, slope",
    [
        ("np.abs(x)", 1.0),
        ("np.abs(-x)", 1.0),
        ("np.maximum(x, 0)", 1.0),
        ("np.maximum(-x, 0)", 0.0),
        ("np.minimum(x, 0)", 0.0),
        ("np.fmax(2 * x, -x)", 2.0),
        ("np.fmin(2 * x, -x)", -1.0),
        ("np.clip(x, 0, 1)", 1.0),
        ("np.clip(x, -1, 0)", 0.0),
        ("np.where(x > 0, 3 * x, x)", 3.0),
        ("np.where(x < 0, 3 * x, x)", 1.0),
        ("np.where(x == 0, 0, 5 * x)", 5.0),
        ("I((x > 0) * x)", 1.0),
        ("I((-x >= 0) * x)", 0.0),
        ("I(x * np.sign(x))", 1.0),
        ("hinge(x, 0)", 1.0),
        ("hinge(-x, 0)", 0.0),
        ("bs(x, knots=[0], degree=1)", None),
        ("bs(-x, knots=[0], degree=1)", None),
        ("kinked(x)", 1.0),
    ],
)
def test_a_kink_has_the_slope_to_its_right(code, slope):
    d = design(f"0 + {code}", namespace={"kinked": lambda x: np.array([abs(v) for v in np.asarray(x).tolist()])})
    found = d.derivative({"x": [0.0]}, "x")
    if slope is None:  # linear beyond the knot, so any point there tells
        close(found, d.derivative({"x": [1e-3]}, "x"))
        assert not np.allclose(found, d.derivative({"x": [-1e-3]}, "x"))
    else:
        close(found, [[slope]])


# ------------------------------------------------------------------------------------------- products and codings
def test_products_and_interactions():
    data = table()
    x, z, g = data.x.to_numpy(), data.z.to_numpy(), (data.g.to_numpy()[:, None] == ["b", "c"]).astype(float)
    d = design("x * g + x:z + I(x**2):x:np.log(z) + C(k):z", data)
    named = dict(zip(d.xnames, d.derivative(data, "x").T))
    close(named["x"], 1)
    close(named["x:g[T.b]"], g[:, 0])
    close(named["x:g[T.c]"], g[:, 1])
    close(named["x:z"], z)
    close(named["I(x ** 2):x:np.log(z)"], 3 * x**2 * np.log(z))
    rest = set(named) - {"x", "x:g[T.b]", "x:g[T.c]", "x:z", "I(x ** 2):x:np.log(z)"}
    assert rest and all((named[name] == 0).all() for name in rest)
    by_z = dict(zip(d.xnames, d.derivative(data, "z").T))
    close(by_z["I(x ** 2):x:np.log(z)"], x**3 / z)
    close(by_z["C(k)[2]:z"] if "C(k)[2]:z" in by_z else by_z["C(k)[T.2]:z"], data.k == 2)


@pytest.mark.parametrize(
    "right",
    [
        "g*x + h",
        "0 + g:x + C(k)",
        "bs(x, df=5) * z",
        "bs(x, df=4):g:h",
        "cr(x, df=4, constraints='center'):z",
        "te(cr(x, df=3), cr(z, df=3))",
        "te(bs(x**2, df=4), cc(z, df=3), x)",
        "standardize(x) * center(z) + scale(x**3, ddof=1):g",
        "center(np.column_stack([x, x * z])):g",
        "bs(np.exp(x), df=4):x",
        "poly(x, 3) * poly(z, 2)",
        "poly(np.exp(x), 2):g",
        "rbf(x, df=3):rbf(z, [1, 2], scale=0.5)",
        "sigmoid(x * z, [-1, 0, 1])",
        "te(poly(x, 2), rbf(x, df=2))",
        "I(x > 0):x + b:x",
        "bs(x=x, df=4) + standardize(x=x) + poly(x=x, degree=2)",
        "bs(x, 5, None, 2, True)",
        "qcut(x, 3):z + x + cut(z, 2):x",
    ],
)
def test_against_extrapolated_differences_of_the_matrix(right):
    data = table()
    d = design(right, data)
    inner = data[(data.x.abs() < 1.5) & (data.x.abs() > 0.03) & data.z.between(0.7, 2.8)]
    # far enough from each quantile that no step crosses it
    edges = np.concatenate([data.x.quantile([1 / 3, 2 / 3, 0.25, 0.5, 0.75]), [1.75]])
    inner = inner[(np.abs(inner.x.to_numpy()[:, None] - edges) > 0.02).all(axis=1)]
    assert len(inner) > 10

    def quotient(h):
        up, down = inner.assign(x=inner.x + h), inner.assign(x=inner.x - h)
        return (d.matrix(up) - d.matrix(down)) / (up.x - down.x).to_numpy()[:, None]

    a, b, c = quotient(4e-3), quotient(2e-3), quotient(1e-3)
    b, c = b + (b - a) / 3, c + (c - b) / 3
    close(d.derivative(inner, "x"), c + (c - b) / 15, rtol=1e-8, atol=1e-8)


# --------------------------------------------------------------------------------------------------------- splines
NEW = pd.DataFrame({"x": R["new"]})
TRAIN = pd.DataFrame({"x": R["x"], "y": np.arange(30) % 2})


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_b_splines_have_r_s_derivatives_at_knots_and_ends_too(degree):
    d = design(f"0 + bs(x, knots={R['knots']}, degree={degree})", TRAIN)
    found, theirs = d.derivative(NEW, "x"), np.array(R[f"bs{degree}_slope"])
    if degree == 1:  # R gives 0 at the end, where a broken line has no slope to its right; ours is that from inside
        assert (theirs[-1] == 0).all()
        theirs[-1] = theirs[-2]
    close(found, theirs, rtol=1e-10, atol=1e-13)


@pytest.mark.filterwarnings("ignore:.*beyond the outer knots")
@pytest.mark.parametrize("outside", ["extend", "clip"])
def test_slopes_of_b_splines_beyond_their_knots(outside):
    d = design(f"0 + bs(x, df=5, outside='{outside}')", TRAIN)
    low, high = min(R["x"]), max(R["x"])
    x, h = np.array([low - 3, low - 1, high + 1, high + 3]), 0.125
    at = [d.matrix({"x": x + s * h}) for s in (-2, -1, 1, 2)]
    exact = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h)  # of polynomials of degree 4 or less
    close(d.derivative({"x": x}, "x"), exact, rtol=1e-8, atol=1e-10)
    ends = d.derivative({"x": [low, high]}, "x")  # at an outer knot from the side to which x grows
    inside = design("0 + bs(x, df=5)", TRAIN).derivative({"x": [low, high]}, "x")
    close(ends, inside if outside == "extend" else inside * [[1.0], [0.0]], rtol=1e-12, atol=1e-14)


def test_a_whole_b_spline_basis_sums_to_one():
    d = design("0 + bs(x, df=7, include_intercept=True)", TRAIN)
    close(d.derivative(TRAIN, "x").sum(axis=1), 0, atol=1e-12)
    assert (design("0 + bs(x, 3, degree=0)", TRAIN).derivative(NEW, "x") == 0).all()


@pytest.mark.parametrize("name, bc, knots", [("cr", "natural", 6), ("cc", "periodic", 6)])
def test_cubic_regression_splines_are_interpolating_splines(name, bc, knots):
    data = table()
    inner, low, high = [-1.0, -0.4, 0.3, 0.9], -2.0, 2.0
    d = design(f"0 + {name}(x, knots={inner}, lower_bound={low}, upper_bound={high})", data)
    places = np.array([low, *inner, high])
    unit = np.eye(knots) if name == "cr" else np.vstack([np.eye(knots - 1), np.eye(knots - 1)[:1]])
    slopes = CubicSpline(places, unit, bc_type=bc).derivative()
    x = np.concatenate([np.linspace(low, high, 41), places])
    close(d.derivative({"x": x}, "x"), slopes(x), rtol=1e-11, atol=1e-12)
    beyond = d.derivative({"x": [-3.0, 2.7]}, "x")  # natural splines go on as lines, cyclic ones start again
    close(beyond, slopes([low, high]) if name == "cr" else slopes([1.0, -1.3]), rtol=1e-11, atol=1e-12)


def test_centred_and_standardised_columns():
    data = table()
    close(design("0 + center(x**2)", data).derivative(data, "x")[:, 0], 2 * data.x)
    sd = data.x.std(ddof=1)
    close(design("0 + scale(x, ddof=1)", data).derivative(data, "x")[:, 0], 1 / sd)
    close(design("0 + standardize(x, rescale=False)", data).derivative(data, "x")[:, 0], 1)
    close(design("0 + standardize(k)", data).derivative(data, "k")[:, 0], 1 / data.k.std(ddof=0))


def test_orthogonal_polynomials_differentiate_to_lower_ones():
    data = table()
    d = design("poly(x, 4)", data)
    coefficients = np.linalg.lstsq(np.vander(data.x, 5, increasing=True), d.matrix(data), rcond=None)[0]
    powers = np.vander(data.x, 5, increasing=True)
    exact = powers[:, :4] @ (coefficients[1:] * np.arange(1, 5)[:, None])
    close(d.derivative(data, "x"), exact, rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------------------------------------ rows and weights
def test_rows_with_a_missing_value_are_nan():
    data = table()
    for place, name in enumerate(["x", "z", "g"]):
        data.loc[place * 3, name] = np.nan
    d = design("x * g + np.log(z) + bs(x, df=4)", data)
    found, full = d.derivative(data, "x"), d.derivative(data.dropna(), "x")
    assert np.isnan(found).all(axis=1).tolist() == data.isna().any(axis=1).tolist()
    np.testing.assert_array_equal(found[~np.isnan(found[:, 0])], full)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(d.matrix(data)))
    assert found.flags.f_contiguous and found.dtype == np.float64
    assert np.isnan(d.derivative(data.iloc[:1], "x")).all() and d.derivative(data.iloc[:0], "x").shape == (
        0,
        len(d.xnames),
    )


def test_a_variable_that_may_be_missing_has_no_derivative_where_it_is():
    data = table()
    data.loc[4, "x"] = np.nan
    d = design("x.fillna(0) + z", data)
    found = d.derivative(data, "x")
    assert np.isfinite(d.matrix(data)).all() and np.isnan(found[4]).all()
    close(np.delete(found, 4, axis=0), np.tile([0.0, 1.0, 0.0], (59, 1)), rtol=1e-9)


@pytest.mark.parametrize("right", ["bs(x, df=5) * standardize(z)", "poly(x, 3):g", "te(cr(x, df=3), cr(z, df=3))"])
def test_frequency_weights_are_repeated_rows(right):
    data = table()
    repeated = data.loc[data.index.repeat(data.times)]
    inside = data[data.x.between(repeated.x.min(), repeated.x.max())]
    weighted = design(right, data, extras={"freq_weights": "times"}).derivative(inside, "x")
    close(weighted, design(right, repeated).derivative(inside, "x"), rtol=1e-10, atol=1e-12)


def test_another_unit_of_the_variable():
    data = table()
    right = "bs(x, df=4) * g + np.log(2 + x**2)"
    metres, kilometres = design("bs(x, df=4)*g + standardize(x)", data), data.assign(x=data.x / 1000)
    close(
        design("bs(x, df=4)*g + standardize(x)", kilometres).derivative(kilometres, "x"),
        metres.derivative(data, "x") * 1000,
        rtol=1e-10,
        atol=1e-10,
    )
    assert design(right, data).derivative(data, "x").shape == design(right, data).matrix(data).shape


def test_permuted_rows_and_frames_of_other_kinds():
    data = table()
    d = design("x * g + poly(x, 2)", data)
    order = np.random.default_rng(1).permutation(len(data))
    np.testing.assert_array_equal(d.derivative(data.iloc[order], "x"), d.derivative(data, "x")[order])
    columns = {name: data[name].tolist() for name in ["x", "g"]}
    np.testing.assert_array_equal(d.derivative(columns, "x"), d.derivative(data, "x"))
    np.testing.assert_array_equal(d.derivative(data.iloc[3], "x"), d.derivative(data, "x")[3:4])
    nullable = data.assign(x=data.x.astype("Float64"))
    np.testing.assert_array_equal(d.derivative(nullable, "x"), d.derivative(data, "x"))


def test_odd_names_and_integers():
    data = table().rename(columns={"k": "odd name"})
    d = design('0 + Q("odd name") + I(Q("odd name")**2)', data)
    k = data["odd name"]
    close(d.derivative(data, "odd name"), np.column_stack([np.ones(60), 2 * k]))


def test_nothing_given_is_modified_and_stored_designs_agree():
    data = table()
    before = data.copy(deep=True)
    d = design("bs(x, df=4) * g + hinge(x, 0) + te(cr(x, df=3), z)", data)
    found = d.derivative(data, "x")
    pd.testing.assert_frame_equal(data, before)
    np.testing.assert_array_equal(codec.decode(json.loads(json.dumps(codec.encode(d)))).derivative(data, "x"), found)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).derivative(data, "x"), found)


def test_memory_is_that_of_x():
    n = 300_000
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=n), "z": rng.uniform(1, 2, n), "y": 0})
    d = design("bs(x, df=6) * z + poly(x, 3) + np.log(z):x", data)
    tracemalloc.start()
    found = d.derivative(data, "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * found.nbytes


# ---------------------------------------------------------------------------------------- functions of the caller's
def by_the_row(x):
    return np.array([math.exp(v) * v for v in np.asarray(x, dtype=float)])


def test_functions_that_take_no_dual_numbers():
    data = table()
    d = design("0 + f(x) + f(x):z", data, namespace={"f": by_the_row})
    exact = np.exp(data.x) * (1 + data.x)
    close(d.derivative(data, "x"), np.column_stack([exact, exact * data.z]), rtol=1e-10)
    one = d.derivative({"x": [0.0], "z": [2.0]}, "x")
    close(one, [[1.0, 2.0]], rtol=1e-10)


def test_methods_of_columns():
    data = table()
    d = design("0 + x.clip(-1, 1) + z.pow(3) + np.log(z).mul(x)", data)
    close(d.derivative(data, "x"), np.column_stack([data.x.abs() < 1, np.zeros(60), np.log(data.z)]), rtol=1e-9)
    close(d.derivative(data, "z")[:, 1], 3 * data.z**2, rtol=1e-10)


def test_functions_of_modules_and_ufuncs_without_a_rule():
    data = table()
    d = design(
        "0 + sp.boxcox(z, 0.3) + boxcox(z, 0.3) + sp.expit(z)",
        data,
        namespace={"sp": special, "boxcox": special.boxcox},
    )
    power, p = data.z ** (0.3 - 1), special.expit(data.z)
    close(d.derivative(data, "z"), np.column_stack([power, power, p * (1 - p)]), rtol=1e-9)


def test_functions_near_the_edge_of_where_they_are_defined():
    data = table().assign(x=np.geomspace(1e-7, 10, 60))
    f = {"f": lambda x: np.array([math.log(v) if v > 0 else math.nan for v in np.asarray(x).tolist()])}
    close(design("0 + f(x)", data, namespace=f).derivative(data, "x")[:, 0], 1 / data.x, rtol=1e-9)


def test_functions_that_fail_below_an_edge():
    def rooted(x):
        return np.array([math.sqrt(v) * v for v in np.asarray(x).tolist()])

    data = table().assign(x=np.linspace(0, 3, 60))
    found = design("0 + rooted(x)", data, namespace={"rooted": rooted}).derivative({"x": [0.01, 1.0, 2.0]}, "x")
    close(found[:, 0], 1.5 * np.sqrt([0.01, 1.0, 2.0]), rtol=1e-9)


def test_a_function_that_treats_dual_numbers_in_another_way_is_found_out():
    def sly(x):
        try:
            return np.asarray(x, dtype=float) ** 3
        except TypeError:
            return x * 0

    data = table()
    close(design("0 + sly(x)", data, namespace={"sly": sly}).derivative(data, "x")[:, 0], 3 * data.x**2, rtol=1e-9)


@pytest.mark.parametrize(
    "code",
    ["x.shift(1).fillna(0)", "x.rank()", "f(x)", "np.cumsum(x)", "x.diff()"],
)
@pytest.mark.parametrize("rows", [60, 1])
def test_a_value_that_depends_on_other_rows_has_no_derivative(code, rows):
    d = design(code, namespace={"f": lambda x: x / np.linalg.norm(x)})
    if rows == 1 and code == "x.diff()":
        return  # of one row it is missing
    with pytest.raises(DataError, match="other rows"):
        d.derivative(table().iloc[:rows], "x")


@pytest.mark.parametrize(
    "code, scale",
    [
        ("I(x - x.mean())", lambda x: 1.0),
        ("I(x / np.max(x))", lambda x: 1.0 / x.max()),
        ("standardize(x - x.mean())", lambda x: 1.0 / x.std(ddof=0)),
        ("I((x - x.min()) / (x.max() - x.min()))", lambda x: 1.0 / (x.max() - x.min())),
    ],
)
@pytest.mark.parametrize("rows", [60, 1])
def test_numbers_of_a_column_are_those_of_the_fit(code, scale, rows):
    data = table()
    found = design("0 + " + code, data).derivative(data.iloc[:rows], "x")[:, 0]
    close(found, np.full(rows, scale(data.x)), rtol=1e-12)


@pytest.mark.parametrize("code", ["bs(f(x), df=4)", "center(f(x))", "bs(x.shift(1).fillna(0), df=4)"])
def test_nor_has_a_transform_of_such_a_value(code):
    d = design(code, namespace={"f": lambda x: x - np.mean(x)})
    with pytest.raises(DataError, match="other rows"):
        d.derivative(table(), "x")


def test_transforms_of_functions_of_the_caller_s():
    data = table()
    d = design("bs(f(x), df=5) * z", data, namespace={"f": by_the_row})
    same = design("bs(np.exp(x) * x, df=5) * z", data)
    inner = data[(data.x > data.x.quantile(0.1)) & (data.x < data.x.max())]
    close(d.derivative(inner, "x"), same.derivative(inner, "x"), rtol=1e-9, atol=1e-9)


def test_functions_of_the_caller_s_with_missing_values():
    data = table()
    data.loc[3, "x"], data.loc[4, "z"], data.loc[5, "g"] = np.nan, np.nan, None
    d = design("0 + f(x):z:g + f(x * z)", data, namespace={"f": by_the_row})
    found = d.derivative(data, "x")
    np.testing.assert_array_equal(np.isnan(found), np.isnan(d.matrix(data)))
    u = data.x * data.z
    close(found[:, -1][[0, 6]], (data.z * np.exp(u) * (1 + u))[[0, 6]], rtol=1e-10)


def test_long_tables_are_taken_in_parts_only_where_rows_are_on_their_own(monkeypatch):
    monkeypatch.setattr("glmclf.data.derivatives.design.DIFFERENTIATED_ROWS", 16)
    data = table()
    f = {"f": by_the_row}
    right = "0 + f(x) + x.pow(2):z + bs(x, df=4) + I(z * x.mean())"
    d = design(right, data, namespace=f)
    exact = np.column_stack([np.exp(data.x) * (1 + data.x), 2 * data.x * data.z])
    apart = design("0 + f(x) + x.pow(2):z + bs(x, df=4)", data, namespace=f)
    named = dict(zip(apart.xnames, apart.derivative(data, "x").T))
    close(np.column_stack([named["f(x)"], named["x.pow(2):z"]]), exact, rtol=1e-9)
    monkeypatch.undo()
    close(apart.derivative(data, "x"), np.column_stack(list(named.values())), rtol=1e-9, atol=1e-12)
    monkeypatch.setattr("glmclf.data.derivatives.design.DIFFERENTIATED_ROWS", 16)
    close(d.derivative(data, "z")[:, d.xnames.index("I(z * x.mean())")], np.full(60, data.x.mean()))


def test_other_variables_of_such_code_are_as_they_are():
    data = table()
    d = design("0 + I(z * x.mean())", data)
    close(d.derivative(data, "z")[:, 0], np.full(60, data.x.mean()))


@pytest.mark.parametrize(
    "code, x",
    [("np.sqrt(x)", 0.0), ("np.cbrt(x)", 0.0), ("np.sqrt(x**2)", None), ("f(x)", 0.0)],
)
def test_no_finite_derivative(code, x):
    data = table().assign(x=np.linspace(0, 3, 60))
    jump = {"f": lambda x: np.array([1.0 if v > 0 else 0.0 for v in np.asarray(x).tolist()])}
    d = design(f"{code} + z", data, namespace=jump)
    if x is None:  # a kink: the slope to its right
        close(d.derivative({"x": [0.0], "z": [1.0]}, "x"), [[0, 1, 0]], rtol=1e-9)
        return
    with pytest.raises(DataError, match=r'no finite derivative in "x" in 1 row.*0\.0'):
        d.derivative(data, "x")


# ------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    "right, variable, words",
    [
        ("x + z", "q", ["q", "no variable", "formula"]),
        ("x + z", "Z", ["Z", "'z'"]),
        ("x + g", "g", ["g", "labels"]),
        ("x + C(k)", "k", ["k", "factor", "C(k)"]),
        ("x + C(k) + k", "k", ["k", "factor", "C(k)"]),
        ("x + b", "b", ["b", "True or False"]),
        ("x + cut(z, 3)", "z", ["z", "cut(z, 3)"]),
        ("x + I(z > 1)", "z", ["z", "levels"]),
        ("x + c", "c", ["c", "categorical"]),
    ],
)
def test_variables_without_a_derivative(right, variable, words):
    data = table().assign(c=pd.Categorical(table().g, ordered=True))
    with pytest.raises(DataError) as caught:
        design(right, data).derivative(data, variable)
    for word in words:
        assert word in str(caught.value)


def test_new_data_are_read_as_by_matrix():
    d = design("x * g + bs(z, df=4)")
    with pytest.raises(DataError, match='no column "g"'):
        d.derivative({"x": [1.0], "z": [1.0]}, "x")
    with pytest.raises(DataError, match="unknown|does not know"):
        d.derivative({"x": [1.0], "z": [1.0], "g": ["q"]}, "x")
    with pytest.raises(DataError, match="outside the range"):
        d.derivative({"x": [1.0], "z": [99.0], "g": ["a"]}, "z")


# ------------------------------------------------------------------------------------------ arrays and generative
def test_arrays_have_their_columns_as_variables():
    X = np.column_stack([np.ones(5), np.arange(5.0), [1, 4, 2, np.nan, 0]])
    d = read_arrays(np.array([0, 1, 0, 1, 1]), X, response=left).design
    found = d.derivative(X, "x2")
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(np.delete(found, 3, axis=0), np.tile([0.0, 0.0, 1.0], (4, 1)))
    with pytest.raises(DataError, match='no column "x3"'):
        d.derivative(X, "x3")


def test_features_of_naive_bayes():
    data = table().assign(n1=np.arange(60) % 5, n2=np.arange(60) % 3)
    data.loc[5, "x"] = np.nan
    data.loc[6, "g"] = None
    res = NaiveBayes.from_formula("y ~ np.exp(x) + z + g:h + n1 + n2", data, multinomial=["n1", "n2"]).fit()
    d = res.model.data.design_info
    by_x, by_n = d.derivative(data, "x"), d.derivative(data, "n2")
    assert [a.shape for a in by_x] == [a.shape for a in d.values(data)] == [(60,), (60,), (60,), (60, 2)]
    np.testing.assert_allclose(by_x[0], np.exp(data.x), rtol=RTOL)
    assert (by_x[1] == 0).all() and np.isnan(by_x[2]).tolist() == data.g.isna().tolist()
    assert by_n[3].tolist() == [[0.0, 1.0]] * 60
    with pytest.raises(DataError, match="labels"):
        d.derivative(data, "g")


def test_features_of_arrays():
    X = np.column_stack([np.arange(8.0), [1, 4, 2, 3, 0, 5, 7, 6]])
    y = np.array([0, 1, 0, 1, 1, 0, 1, 0])
    d = NaiveBayes(y, X).fit().model.data.design_info
    assert [a.tolist() for a in d.derivative(X[:2], d.variables[1])] == [[0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("model", [Logit, MNLogit, LDA])
def test_models_of_a_design(model):
    data = table()
    res = model.from_formula("y ~ poly(x, 2) + z", data).fit()
    found = res.model.data.design_info.derivative(data, "z")
    assert found.shape[0] == 60 and (found.sum(axis=1) == 1).all()
