"""offset= that is none, in fitting and predicting."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from mpmath import mp
from properties.toys import MODELS, close, fit, make, models, shared, toy

import glmclf
from glmclf.errors import DataError, EstimationError


@models
@pytest.mark.parametrize(
    "value, words",
    [
        ("offf", ["offf", "off"]),
        (np.zeros(159), ["159", "160"]),
        (np.zeros((160, 2)), ["(160, 2)"]),
        (0.5, ["0.5"]),
        (["a"] * 160, ["a"]),
        ("g", ["g"]),
        (np.r_[np.inf, np.zeros(159)], ["infinite", "1 of 160", "row 0"]),
        (np.r_[np.zeros(159), -np.inf], ["infinite", "row 159"]),
        (pd.Series(0.0, index=range(5, 165)), ["label"]),
    ],
)
def test_fitting(model, value, words):
    with refused("offset", *words, error=DataError):
        make(model, "y ~ x1", toy(), offset=value)


@models
def test_predicting_asks_for_the_offset(model):
    named = shared(model, offset="off")
    new = toy(9, 4)
    with refused("off", "offset"):
        named.predict(new.drop(columns="off"))
    with refused("off", "offset"):
        named.get_prediction(new.drop(columns="off"))
    with refused("off", "offset"):
        named.augment(new.drop(columns="off"))
    given = fit(model, offset=toy().off.to_numpy())
    for call in (given.predict, given.get_prediction, given.augment):
        with refused("offset"):
            call(new)
    close(given.predict(new, offset=new.off), named.predict(new))
    close(given.predict(), named.predict())
    close(named.predict(new.drop(columns="off"), offset=0), named.predict(new.assign(off=0.0)))
    arrays = getattr(glmclf, model)(toy().y01, toy()[["x1", "x2"]], offset=toy().off).fit()
    with refused("offset"):
        arrays.predict(new[["x1", "x2"]])


@models
@pytest.mark.parametrize(
    "offset, words", [(np.zeros(8), ["8", "9"]), (np.zeros((9, 2)), []), (["a"] * 9, []), ("nowhere", ["nowhere"])]
)
def test_predicting_with_a_bad_offset(model, offset, words):
    with refused("offset", *words):
        shared(model, offset="off").predict(toy(9, 4), offset=offset)


@models
def test_a_bad_column_at_prediction(model):
    res = shared(model, offset="off")
    with refused("off"):
        res.predict(toy(9, 4).assign(off="a"))


@models
def test_a_series_of_offsets_is_matched_by_label(model):
    res, new = shared(model, offset="off"), toy(9, 4)
    mixed = new.off.sample(frac=1, random_state=2)
    close(res.predict(new.drop(columns="off"), offset=mixed), res.predict(new))
    close(res.get_prediction(new, offset=mixed).predicted, res.predict(new))
    with refused("offset"):
        res.predict(new, offset=new.off.set_axis(range(100, 109)))
    close(res.predict(offset=toy().off.sample(frac=1, random_state=2)), res.predict())


@models
def test_an_offset_by_name_of_another_column(model):
    res, new = shared(model, offset="off"), toy(9, 4)
    close(res.predict(new.rename(columns={"off": "log_n"}), offset="log_n"), res.predict(new))
    close(res.predict(offset="off"), res.predict())


NO_NUMBERS = {
    "dates": pd.Series(pd.date_range("2020", periods=9)),
    "datetime64": np.arange(9).astype("M8[ns]"),
    "durations": pd.to_timedelta(np.arange(9), unit="s"),
    "timedelta64": np.arange(9).astype("m8[s]"),
    "complex": np.full(9, 1j),
    "complex objects": [1j] * 9,
    "objects": [object()] * 9,
    "texts": ["1.5"] * 9,
}


def _fits():
    for model in MODELS:
        yield pytest.param(lambda model=model: shared(model, offset="off"), id=model)
    yield pytest.param(lambda: glmclf.MNLogit.from_formula("g ~ x1", toy(), offset="off").fit(), id="MNLogit")


@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
@pytest.mark.parametrize("make_fit", [*_fits()])
def test_what_numpy_would_turn_into_numbers(make_fit, values):
    """Dates and durations became nanoseconds, complex numbers their real parts, texts what they spell."""
    res, new, X = make_fit(), toy(9, 4), np.ones((9, len(make_fit().model.exog_names)))
    calls = {
        "fit": lambda: type(res.model).from_formula("y ~ x1", new, offset=values),
        "predict": lambda: res.predict(new, offset=values),
        "get_prediction": lambda: res.get_prediction(new, offset=values),
        "column": lambda: res.predict(new.assign(off=values)),
        "get_distribution": lambda: res.get_distribution(new, offset=values),
        "model.predict": lambda: res.model.predict(res.params, X, offset=values),
        "one value": lambda: res.predict(new.iloc[:1], offset=[values[0]]),
        "at": lambda: res.predictions(at={"off": values[0]}),
        "inverse_predict": lambda: res.inverse_predict(0.5, "x1", {"off": values[0], "g": "a"}),
    }
    for name, call in calls.items():
        if name != "inverse_predict" or hasattr(res.model, "link"):
            with refused("off", error=DataError) as caught:
                call()
            assert "number" in str(caught.value) or "complex" in str(caught.value), name


@pytest.mark.parametrize("reduction", [None, "firth"])
@pytest.mark.parametrize("model", ["Logit", "CLogLog", "MNLogit"])
def test_an_offset_that_decides_the_rows(model, reduction):
    """Offsets of 1e5 at random, which no coefficient takes up: the error names the offset, its ends and their rows."""
    generator = np.random.default_rng(7)
    z, y = 1e5 * generator.normal(size=40), generator.integers(0, 3 if model == "MNLogit" else 2, 40)
    data = pd.DataFrame({"y": y, "x": generator.normal(size=40), "o": z}, index=[f"r{i}" for i in range(40)])
    rows = [repr(data.index[z.argmin()]), repr(data.index[z.argmax()])]
    with refused('The offset "o"', f"{z.min():.4g}", f"{z.max():.4g}", *rows, "unit", error=EstimationError):
        getattr(glmclf, model).from_formula("y ~ x", data, offset="o").fit(bias_reduction=reduction)


def _log(model, y, eta):
    """log P(Y = y), and its derivative in eta."""
    if model == "CLogLog":
        none = -mp.exp(eta)
        return (mp.log(-mp.expm1(none)), mp.exp(eta) / mp.expm1(-none)) if y else (none, none)
    sign = 1 if y else -1
    if model == "Probit":
        return mp.log(mp.ncdf(sign * eta)), sign * mp.npdf(eta) / mp.ncdf(sign * eta)
    return -mp.log1p(mp.exp(-sign * eta)), sign / (1 + mp.exp(sign * eta))


@pytest.mark.parametrize("model", [*MODELS, "MNLogit"])
def test_null_model_of_an_offset_that_a_factor_takes_up(model):
    """The constant alone does not, and its maximum is far from where a constant without the offset would start.

    Two classes with the same offset are one event, whose rows are then divided by their shares.
    """
    generator = np.random.default_rng(11)
    g, y, w = generator.integers(0, 4, 40), generator.integers(0, 2, 40), generator.integers(1, 4, 40)
    o = np.array([0, 500, -300, 40])[g] + np.round(4 * generator.normal(size=40)) / 4
    data = pd.DataFrame({"y": y, "g": np.array(list("abcd"))[g], "o": o, "w": w})
    if model == "MNLogit":
        data["y"] += y * (np.arange(40) % 3 == 0)

    def null(c):
        rows = [_log(model, one, mp.mpf(at) + c) for one, at in zip(y, o, strict=True)]
        return [mp.fsum(map(mp.fmul, map(int, w), part)) for part in zip(*rows, strict=True)]

    with mp.workdps(30):
        low, high = mp.mpf(-1000), mp.mpf(1000)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if null(middle)[1] > 0 else (low, middle)
        totals = [int(w[data.y == k].sum()) for k in (1, 2)]
        expected = float(null(low)[0] + sum(n * mp.log(mp.mpf(n) / sum(totals)) for n in totals if n))
    for rows in (data, lambda: iter([data[:15], data[15:]]), data.loc[data.index.repeat(w)].assign(w=1)):
        res = getattr(glmclf, model).from_formula("y ~ g", rows, offset="o", freq_weights="w").fit()
        assert np.isclose(res.llnull, expected, rtol=1e-12, atol=0)
