"""Wrong responses, bases, offsets, hypotheses and levels of MNLogit: clear errors that name them, nothing silent."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused

from glmclf import MNLogit
from glmclf.errors import CollinearityWarning, MissingDataError, SeparationWarning

N = 60


def toy(labels=("bus", "car", "walk"), n=N):
    rng = np.random.default_rng(1)
    t = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "o": rng.normal(size=n)})
    codes = rng.integers(0, len(labels), n)
    codes[: len(labels)] = range(len(labels))
    t["mode"] = pd.Series([labels[c] for c in codes], dtype=object if len({type(v) for v in labels}) > 1 else None)
    return t


def fit(t=None, formula="mode ~ x + z", **keywords):
    return MNLogit.from_formula(formula, toy() if t is None else t, **keywords).fit()


# --------------------------------------------------------------------------------------------------------- reference
@pytest.mark.parametrize("reference", ["tram", "Bus", 1, np.nan, ["bus"], ("bus",), b"bus"])
def test_unknown_reference(reference):
    with refused("reference=", "mode", '"bus", "car", "walk"'):
        fit(reference=reference)


def test_reference_of_another_type():
    """The text "1" is not the number 1."""
    with refused("reference='1'", "mode", "1, 2, 3"):
        fit(toy((1, 2, 3)), reference="1")
    with refused("reference=1", "mode", '"1", "2"'):
        fit(toy(("1", "2")), reference=1)


def test_reference_without_rows():
    t = toy()
    t.loc[t["mode"] == "bus", "x"] = np.nan
    with refused("reference='bus'", "mode", '"car", "walk"'):
        fit(t, reference="bus")


def test_reference_of_counts():
    t = toy()
    t = t.join(pd.get_dummies(t["mode"], dtype=int))
    with refused("reference='tram'", '"bus", "car", "walk"'):
        fit(t, "bus + car + walk ~ x", reference="tram")


# ---------------------------------------------------------------------------------------------------------- response
def test_one_level():
    with refused("mode", "one class only", '"bus"'):
        fit(toy().assign(mode="bus"))
    with refused("one class only", "3"):
        MNLogit(np.full(N, 3), np.ones((N, 1)))


def test_one_level_left():
    t = toy(("bus", "car"))
    t.loc[t["mode"] == "bus", "x"] = np.nan
    with refused("mode", "one class only", '"car"'):
        fit(t)
    with refused("mode", "one class only", '"car"'):
        fit(toy(("bus", "car")), subset="mode == 'car'")
    t = toy(("bus", "car"))
    with refused("mode", "one class only", '"car"'):
        fit(t.assign(w=(t["mode"] == "car").astype(int)), freq_weights="w")


@pytest.mark.parametrize("labels", [(1, "1", 2), (1, "a", 2), (1.5, "1.5"), (True, "True", "x"), (0, "0")])
def test_labels_of_several_types(labels):
    with refused("mode", "mixes values of types"):
        fit(toy(labels))
    with refused("mixes values of types"):
        t = toy(labels)
        MNLogit(t["mode"].to_numpy(), np.column_stack([np.ones(N), t.x]))


@pytest.mark.parametrize("labels", [(1, "1", 2), (True, "True", False)])
def test_categories_that_differ_only_in_type(labels):
    t = toy(labels)
    t["mode"] = pd.Categorical(t["mode"], categories=list(labels))
    with refused("mode"):
        fit(t)


def test_true_is_not_one():
    """Python holds True == 1; a column with both is a mistake, not one level."""
    t = toy((1, 2, 3))
    t["mode"] = t["mode"].astype(object)
    t.loc[t.index[t["mode"] == 1][:5], "mode"] = True
    with refused("mode"):
        fit(t)


@pytest.mark.parametrize("missing", ["raise", "none"])
@pytest.mark.parametrize("hole", [None, np.nan, pd.NA])
def test_missing_labels(hole, missing):
    t = toy()
    t["mode"] = t["mode"].astype(object)
    t.loc[[4, 7], "mode"] = hole
    with refused("mode", "4, 7", error=MissingDataError):
        fit(t, missing=missing)
    assert fit(t).nobs == N - 2
    assert fit(t).levels == ["bus", "car", "walk"]


@pytest.mark.parametrize("dtype", ["category", "string", "str", "float", "Int64"])
def test_missing_labels_of_every_dtype(dtype):
    t = toy((0, 1, 2))
    labels = t["mode"] if dtype in ("float", "Int64") else t["mode"].map({0: "a", 1: "b", 2: "c"})
    t["mode"] = labels.astype(dtype)
    t.loc[[4, 7], "mode"] = None
    with refused("mode", "4, 7", error=MissingDataError):
        fit(t, missing="raise")
    res = fit(t)
    assert (res.nobs, len(res.levels)) == (N - 2, 3)
    assert not any(level != level for level in res.levels)


def test_infinite_label():
    t = toy((1.0, 2.0, 3.0))
    t.loc[3, "mode"] = np.inf
    with refused("mode", "infinite"):
        fit(t)


def test_too_many_levels_are_separated_not_silent():
    t = toy().iloc[:30].assign(mode=np.arange(30) + 0.5)
    with refused("mode", "separation"):
        MNLogit.from_formula("mode ~ x + z", t).fit(separation="raise")
    with pytest.warns(SeparationWarning, match="of mode"):
        fit(t)


@pytest.mark.parametrize("value, word", [(-1, "negative"), (0.5, "not whole numbers"), (np.inf, "infinite")])
def test_counts_that_are_no_counts(value, word):
    t = toy()
    t = t.join(pd.get_dummies(t["mode"], dtype=float))
    t.loc[5, "car"] = value
    with refused("car", word if word != "infinite" else "infinite"):
        fit(t, "bus + car + walk ~ x")
    with refused(word):
        MNLogit(t[["bus", "car", "walk"]].to_numpy(), np.column_stack([np.ones(N), t.x]))


def test_counts_of_labels():
    with refused("mode"):
        fit(toy().assign(a=1), "a + mode ~ x")


def test_counts_of_one_class():
    t = toy().assign(a=2, b=0)
    with refused("a + b", "one class only"):
        fit(t, "a + b ~ x")


# ------------------------------------------------------------------------------------------------------------ offset
@pytest.mark.parametrize("shape", [(N, 3), (N, 4), (N - 1,), (N - 1, 2), (N, 2, 1), (1, N), (2, N)])
def test_offset_of_the_wrong_shape(shape):
    with refused("offset", but=("broadcast",)):
        fit(offset=np.ones(shape))


def test_offset_of_one_column_is_one_value_a_row():
    values = np.linspace(0, 1, N)
    np.testing.assert_array_equal(fit(offset=values[:, None]).params, fit(offset=values).params)


def test_offset_message_names_levels():
    with refused("offset has 3 columns", "mode", "3 levels", "2 columns", "car", "walk"):
        fit(offset=np.ones((N, 3)))


def test_offset_columns_by_label():
    """A table whose columns are levels is matched by them, or refused: never taken by position."""
    rng = np.random.default_rng(5)
    O = pd.DataFrame(rng.normal(size=(N, 2)), columns=["car", "walk"])
    right = fit(offset=O).params
    try:
        turned = fit(offset=O[["walk", "car"]]).params
    except ValueError as error:
        assert "offset" in str(error)
    else:
        np.testing.assert_allclose(turned, right, rtol=1e-10)
    with refused("offset", "tram"):
        fit(offset=O.set_axis(["car", "tram"], axis=1))


def test_offset_with_holes_and_infinities():
    O = np.random.default_rng(5).normal(size=(N, 2))
    O[3, 1] = np.nan
    assert fit(offset=O).nobs == N - 1
    with refused("offset"):
        fit(offset=O, missing="raise")
    O[3, 1] = np.inf
    with refused("offset"):
        fit(offset=O)


def test_offset_of_labels():
    with refused("mode"):
        fit(offset="mode")
    with refused("nosuch"):
        fit(offset="nosuch")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1), (3, 2), (2, 2, 1)])
def test_offset_of_new_rows(shape):
    res = fit(offset="o")
    for call in (res.predict, res.get_prediction):
        with refused("offset", but=("broadcast",)):
            call(toy().head(2), offset=np.ones(shape))


def test_new_rows_without_their_offset():
    with refused("offset"):
        fit(offset=toy().o.to_numpy()).predict(toy().head(2))
    with refused("offset", "o"):
        fit(offset="o").predict(toy()[["x", "z"]].head(2))
    with refused("offset"):
        fit(offset=np.ones((N, 2))).get_prediction(toy().head(2))


# -------------------------------------------------------------------------------------------- levels and hypotheses
@pytest.mark.parametrize("level", ["tram", 1, None, "Bus", ["bus"]])
def test_rebase_to_an_unknown_level(level):
    with refused(repr(level), "'bus', 'car', 'walk'"):
        fit().rebase(level)


@pytest.mark.parametrize("pair", [("tram", "bus"), ("bus", "tram"), ("bus", "bus"), (1, 2), ("bus", None)])
def test_combine_test_of_unknown_levels(pair):
    with refused("combine_test", "'bus', 'car', 'walk'", repr(pair[0]), repr(pair[1])):
        fit().combine_test(*pair)


def test_combine_test_without_slopes():
    with refused("slope"):
        fit(formula="mode ~ 1").combine_test("bus", "car")


@pytest.mark.parametrize("hypothesis", ["ytram_x = 0", "ybus_x = 0", "ycar_q = 0", "x = 0", "ycar_x = ytram_x"])
@pytest.mark.parametrize("call", ["t_test", "wald_test", "f_test"])
def test_hypotheses_about_what_is_not_there(call, hypothesis):
    with refused(hypothesis, "ycar_Intercept", "ywalk_z"):
        getattr(fit(), call)(hypothesis)


@pytest.mark.parametrize("R", [np.eye(5), np.ones((2, 3)), np.ones(7), np.zeros((0, 6)), np.full((1, 6), np.nan)])
def test_hypotheses_of_the_wrong_shape(R):
    with refused():
        fit().wald_test(R)


@pytest.mark.parametrize("hypothesis", ["", "  ", [], "ycar_x ==", "ycar_x = = 1", "exp(ycar_x) = 1"])
def test_hypotheses_that_are_none(hypothesis):
    with refused():
        fit().t_test(hypothesis)


def test_contradictory_or_repeated_hypotheses():
    with refused():
        fit().wald_test("ycar_x = 0, ycar_x = 1")


def test_flat_names_that_coincide():
    """Level "a" with the regressor b_x, and level "a_b" with x, have one name: no test of one of them by chance."""
    t = toy(("0", "a", "a_b")).rename(columns={"z": "b_x"})
    res = fit(t, "mode ~ x + b_x")
    with refused("ya_b_x"):
        res.t_test("ya_b_x = 0")
    assert np.isfinite(res.t_test(np.eye(6)).pvalue).all()


# ------------------------------------------------------------------------------------------------- options and types
@pytest.mark.parametrize("keyword", ["event", "prior", "base", "ref", "weight"])
def test_unknown_keywords(keyword):
    with refused(keyword, error=TypeError):
        MNLogit.from_formula("mode ~ x", toy(), **{keyword: "bus"})
    with refused(keyword, error=TypeError):
        MNLogit(toy()["mode"], toy()[["x"]], **{keyword: "bus"})


@pytest.mark.parametrize("options", [{"bias_reduction": "median"}])
def test_options_of_later(options):
    with refused(str(next(iter(options.values()))), error=NotImplementedError):
        MNLogit.from_formula("mode ~ x", toy()).fit(**options)


def test_which():
    res = fit()
    for call in (res.predict, res.model.predict):
        with refused("which='odds'"):
            call(*(() if call == res.predict else (res.params,)), which="odds")
    with pytest.raises((NotImplementedError, ValueError)):
        res.get_prediction(which="class")


@pytest.mark.parametrize(
    "priors",
    [[0.5, 0.5], [0.2, 0.3, 0.6], [0.5, 0.6, -0.1], [1, 0, 0], {"bus": 0.5, "car": 0.5}, [np.nan, 0.5, 0.5], "abc"],
)
def test_priors(priors):
    with refused():
        fit().predict(toy().head(2), priors=priors)


def test_priors_by_label():
    priors = {"bus": 0.2, "car": 0.3, "walk": 0.5}
    res, new = fit(), toy().head(5)
    right = res.predict(new, priors=priors)
    np.testing.assert_allclose(res.predict(new, priors=pd.Series(priors)[["walk", "bus", "car"]]), right, rtol=1e-12)
    np.testing.assert_allclose(res.predict(new, priors=list(priors.values())), right, rtol=1e-12)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2", None])
def test_simulate(n):
    with refused("n="):
        fit().simulate(n)


def test_parameters_by_label_or_refused():
    """A table of parameters in another order is matched by its labels, or refused: never taken by position."""
    res = fit()
    model = res.model
    for turned in (res.params[["walk", "car"]], res.params.iloc[::-1]):
        try:
            value = model.loglike(turned)
        except ValueError as error:
            assert "params" in str(error)
        else:
            assert value == pytest.approx(res.llf)
    for wrong in (res.params.iloc[:, :1], res.params.to_numpy()[:, :1], np.ones(5)):
        with refused("params"):
            model.loglike(wrong)


def test_more_columns_than_rows():
    t = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 8)), columns=list("abcdefgh"))
    with refused("5"):
        MNLogit(["p", "q", "r", "p", "q"], t).fit(collinear="raise")


def test_collinear_columns():
    t = toy().assign(q=lambda d: d.x + d.z)
    with refused('"q"', "x", "z"):
        MNLogit.from_formula("mode ~ x + z + q", t).fit(collinear="raise")
    with pytest.warns(CollinearityWarning, match='"q" = x \\+ z'):
        assert fit(t, "mode ~ x + z + q").params.loc["q"].isna().all()


def test_new_rows_without_a_variable():
    res = fit()
    for call in (res.predict, res.get_prediction):
        with refused('"z"'):
            call(toy()[["x"]])


def test_rows_are_needed():
    res = fit()
    res.remove_data()
    for call in (res.predict, res.pred_table, res.simulate):
        with refused("rows"):
            call()


def test_nothing_is_changed():
    t = toy()
    before, O = t.copy(), np.ones((N, 2))
    fit(t, offset=O, reference="walk").rebase("car")
    pd.testing.assert_frame_equal(t, before)
    assert (O == 1).all()
