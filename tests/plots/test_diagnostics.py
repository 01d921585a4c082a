"""Influence and residuals: what is drawn are the numbers of the result."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, points, segments, words  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402

import glmclf  # noqa: E402
from glmclf import Logit, MNLogit, datasets, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402
from glmclf.plots import diagnostics  # noqa: E402


# ------------------------------------------------------------------------------------------------------- influence
@pytest.mark.parametrize("by", ["row", "pattern"])
def test_influence(logit, by):
    found = logit.get_influence(by=by)
    ax = plots.influence(logit, by=by, label=3).axes[0]
    bubbles, cooks = ax.collections[0], found.cooks_distance[0]
    assert (bubbles.get_offsets() == np.column_stack([found.hat_matrix_diag, found.resid_studentized])).all()
    assert_allclose(bubbles.get_sizes(), np.maximum(bubbles.get_sizes().max() * cooks / cooks.max(), 4.0))
    assert {t.get_text() for t in ax.texts} == set(map(str, cooks.nlargest(3).index))
    assert ax.get_ylabel() == "studentised Pearson residual" and f"{len(cooks)} " in ax.get_title()
    assert 2 * found.hat_matrix_diag.mean() in [line.get_xdata()[0] for line in ax.lines]


def test_labels_stand_at_their_points(logit):
    found = logit.get_influence()
    ax = plots.influence(logit, "delta_chi2", label=4).axes[0]
    for text in ax.texts:
        row = int(text.get_text())
        assert tuple(text.xy) == (found.hat_matrix_diag[row], found.delta_chi2[row])


def test_influence_of_several_classes(mnlogit):
    found = mnlogit.get_influence()
    ax = plots.influence(mnlogit, label=0).axes[0]
    assert (ax.collections[0].get_offsets()[:, 1] == found.delta_deviance.to_numpy()).all() and not ax.texts
    with pytest.raises(NotImplementedError, match="resid_studentized is for binary models"):
        plots.influence(mnlogit, "resid_studentized")


def test_a_row_without_which_there_is_no_estimate():
    table = pd.DataFrame({"g": list("aaaabbbbc"), "y": [0, 1, 0, 1, 1, 0, 1, 0, 1]})
    res = Logit.from_formula("y ~ g", table).fit(bias_reduction="firth")
    ax = plots.influence(res).axes[0]
    assert len(ax.collections[0].get_offsets()) == 8
    assert ax.collections[1].get_offsets()[0, 0] == pytest.approx(1.0) and ax.get_xlim()[1] > 1
    assert "no estimate without the row (1)" in " ".join(words(ax.figure)).replace("\n", " ")


def test_who_has_no_influence(lda, logit):
    with pytest.raises(NotImplementedError, match=r"influence\(\) of LDA"):
        plots.influence(lda)
    with pytest.raises(TypeError, match=r"influence\(\) draws results of fit\(\)"):
        plots.influence(logit.model)
    with pytest.raises(ValueError, match='y=\'leverage\': choose "resid_studentized", '):
        plots.influence(logit, "leverage")
    with pytest.raises(ValueError, match="label=-1"):
        plots.influence(logit, label=-1)
    with pytest.raises(TypeError, match="ax=3"):
        plots.influence(logit, ax=3)


# ------------------------------------------------------------------------------------------------------- residuals
def test_residuals(logit):
    first, second, third = plots.residuals(logit, seed=5, bins=7, alpha=0.1).axes
    z = logit.resid_quantile(5)
    assert (first.collections[0].get_offsets() == np.column_stack([logit.fittedvalues, z])).all()
    assert (points(second)[:, 1] == np.sort(z)).all()
    curve = logit.calibration(bins=7).curve_frame(0.1)
    assert_allclose(points(third), np.column_stack([curve.predicted, curve.observed - curve.predicted]))
    ends = [curve.lower - curve.predicted, curve.upper - curve.predicted]
    assert_allclose(segments(third)[:, :, 1].T, ends, atol=1e-15)
    assert first.get_xlabel() == "fitted P(sex = 'male')" and "90 %" in third.get_title()


def test_residuals_against_columns(logit, penguins):
    ax = plots.residuals(logit, "flipper_length_mm").axes[0]
    assert (ax.collections[0].get_offsets()[:, 0] == penguins.flipper_length_mm.to_numpy()).all()
    ax = plots.residuals(logit, "island").axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["Biscoe", "Dream", "Torgersen"]
    medians = logit.resid_quantile(0).groupby(penguins.island).median()
    drawn = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert set(medians) <= set(drawn)
    with pytest.raises(DataError, match='against="nope" is no column'):
        plots.residuals(logit, "nope")
    with pytest.raises(DataError, match="against has 2 values, but the table has 333 rows"):
        plots.residuals(logit, [1, 2])
    with pytest.raises(ValueError, match="this plot has 3 panels"):
        plots.residuals(logit, ax=plt.figure().add_subplot())


def test_values_beside_the_rows(penguins):
    """By label, of the fit or of the table; arrays by position in either; never silently by another order."""
    table = datasets.load("penguins")
    res = Logit.from_formula("sex ~ bill_length_mm", table, subset=table.year > 2007, event="male").fit()
    mass = table.body_mass_g.loc[res.fittedvalues.index]
    ax = plots.residuals(res, table.body_mass_g.sample(frac=1, random_state=1)).axes[0]
    assert (ax.collections[0].get_offsets()[:, 0] == mass.to_numpy()).all() and ax.get_xlabel() == "body_mass_g"
    kept = table[table.year > 2007].body_mass_g
    for given in (mass[::-1], mass.to_numpy(), list(mass), kept, kept.to_numpy(), table.body_mass_g.to_numpy()):
        assert (diagnostics._against(res, given)[0] == mass).all()
    with pytest.raises(DataError, match="no value for 1 of the table's"):
        plots.residuals(res, mass[1:])
    with pytest.raises(DataError, match="repeats index labels"):
        plots.residuals(res, pd.concat([mass, mass[:1]]))


def test_residuals_over_time_and_many_categories(logit, penguins):
    days = pd.Series(pd.Timestamp("2020-03-01") + pd.to_timedelta(np.arange(len(penguins)), "D"), penguins.index)
    fig = plots.residuals(logit, days.rename("day"))
    ax = fig.axes[0]
    assert_allclose(ax.collections[0].get_offsets()[:, 0], (days - pd.Timestamp("1970-01-01")).dt.days)
    assert len(ax.lines) == 4 and not crowded(fig)  # a trend, no boxes
    for given in (days.dt.tz_localize("Asia/Tokyo"), days.dt.date, days.dt.to_period("D")):
        assert (diagnostics._times(given)[0] == days).all()
    assert diagnostics._times(days - days.iloc[0])[0].tolist() == list(range(333))
    many = pd.Series([f"level {min(i, 90 - i % 45)}" for i in range(333)], penguins.index, name="many")
    ax = plots.residuals(logit, many).axes[0]
    n = many.nunique()
    assert ax.get_xlabel().replace("\n", " ") == f"many (the most frequent 40 of {n})"
    shown = [t.get_text() for t in ax.get_xticklabels()]
    assert len(shown) == 40 and set(many.value_counts()[lambda c: c > 1].index) & set(shown)
    assert min(many.value_counts()[shown]) >= max(many.value_counts().drop(shown))


def test_a_frequency_weight_stands_for_rows(penguins):
    table = penguins.head(60).assign(times=np.arange(60) % 3)
    res = Logit.from_formula("sex ~ bill_length_mm", table, freq_weights="times").fit()
    ax = plots.residuals(res, "bill_depth_mm").axes[0]
    assert (ax.collections[0].get_offsets()[:, 0] == np.repeat(table.bill_depth_mm.to_numpy(), table.times)).all()


def test_residuals_of_other_responses(lda, separated):
    drawn = plots.residuals(lda).axes[0].collections[0].get_offsets()[:, 0]
    assert (drawn == lda.predict().max(axis=1).to_numpy()).all()
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.poisson(4, (25, 3)), columns=["a", "b", "_c"]).assign(x=rng.normal(size=25))
    res = MNLogit.from_formula("a + b + _c ~ x", table).fit()
    ax = plots.residuals(res).axes[0]
    z = res.resid_quantile(0)
    for cloud, level in zip(ax.collections, ["a", "b", "_c"]):
        assert (cloud.get_offsets() == np.column_stack([res.fittedvalues[level], z[level]])).all()
    beside = ax.figure.axes[2].get_legend()  # of all panels; also of the level that begins with an underscore
    assert [t.get_text() for t in beside.get_texts()] == ["a", "b", "_c"]
    ax.figure.draw_without_rendering()
    assert beside.get_window_extent().x0 > ax.figure.axes[2].get_window_extent().x1
    plots.residuals(separated)
    fractions = Logit.from_formula("s ~ x", table.assign(s=np.linspace(0.1, 0.9, 25))).fit()
    with pytest.raises(NotImplementedError, match="fractional response"):
        plots.residuals(fractions)


# ----------------------------------------------------------------------------------------------- partial residuals
def test_partial_residuals(logit, penguins):
    fig = plots.partial_residuals(logit, ["bill_length_mm", "species"])
    parts, z = logit.components(), logit.resid_partial()
    ax = fig.axes[0]
    drawn = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "o"])
    expected = np.column_stack([penguins.bill_length_mm, z.bill_length_mm])
    assert (np.sort(drawn.view("f8,f8"), axis=0) == np.sort(np.ascontiguousarray(expected).view("f8,f8"), axis=0)).all()
    line = next(line for line in ax.lines if line.get_label() == "model")
    order = penguins.bill_length_mm.to_numpy().argsort(kind="stable")
    assert (line.get_ydata() == parts.bill_length_mm.to_numpy()[order]).all()
    assert [t.get_text() for t in fig.axes[1].get_xticklabels()] == ["Adelie", "Chinstrap", "Gentoo"]
    fig = plots.partial_residuals(logit)
    assert [t.get_text() for t in fig.legends[0].get_texts()] == ["model", "trend of the residuals"]
    for ax, term in zip(fig.axes, z.columns[-3:], strict=True):
        low, high = ax.get_ylim()
        assert ax.get_title() == f"{((z[term] < low) | (z[term] > high)).sum()} of 333 points out of view"
    _, own = plt.subplots(1, 3, layout="constrained")
    plots.partial_residuals(logit, ax=own)
    assert [ax.get_legend() is None for ax in own] == [True, False, True]  # where most is to be named


def test_partial_residuals_of_one_equation(mnlogit, logit, lda, separated):
    fig = plots.partial_residuals(mnlogit, "body_mass_g", level="Dream")
    line = next(line for line in fig.axes[0].lines if line.get_label() == "model")
    assert_allclose(np.sort(line.get_ydata()), np.sort(mnlogit.components()["Dream", "body_mass_g"]))
    with pytest.raises(ValueError, match=r"choose one of \['Dream', 'Torgersen'\]"):
        plots.partial_residuals(mnlogit)
    with pytest.raises(ValueError, match="Logit has one equation"):
        plots.partial_residuals(logit, level="male")
    with pytest.raises(NotImplementedError, match="no linear predictor"):
        plots.partial_residuals(lda)
    with pytest.raises(DataError, match='"nope" is no term'):
        plots.partial_residuals(logit, "nope")
    assert "(infinite coefficient)" in words(plots.partial_residuals(separated, "g"))
    assert "model (omitted)" in words(plots.partial_residuals(separated, "I(2 * x)"))
    assert "model" in words(plots.partial_residuals(separated, "x"))


def test_partial_residuals_of_truth_values(penguins):
    table = penguins.assign(big=penguins.body_mass_g > 4200, _odd=penguins.species.map("_{}".format))
    ax = plots.partial_residuals(MNLogit.from_formula("big ~ bill_length_mm", table).fit(), level=True).axes[0]
    assert ax.get_ylabel().endswith("linear predictor of True")
    res = MNLogit.from_formula("_odd ~ bill_length_mm", table).fit()
    assert plots.partial_residuals(res, level="_Gentoo").axes[0].get_ylabel().endswith("of '_Gentoo'")


# ------------------------------------------------------------------------------------------------------------ looks
def test_texts_are_apart(wide, eight, logit):
    assert not crowded(plots.influence(wide))
    assert not crowded(plots.residuals(eight))
    assert not crowded(plots.partial_residuals(wide, list(wide.components().columns[:2])))
    fig, axes = plt.subplots(3, 5, figsize=(10, 6), layout="constrained")
    assert not crowded(plots.partial_residuals(logit, "species", ax=axes[1, 2]))


def test_what_needs_rows_says_so(logit, tmp_path):
    logit.save(tmp_path / "m.json")
    loaded = glmclf.load(tmp_path / "m.json")
    for plot in (plots.influence, plots.residuals, plots.partial_residuals):
        with pytest.raises(DataError, match="needs the rows of the fit"):
            plot(loaded)
