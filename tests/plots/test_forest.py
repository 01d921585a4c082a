"""Coefficients and marginal effects: what is drawn are the numbers of the result, and every name can be read."""

import pickle

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, points, segments, words  # noqa: E402

import glmclf  # noqa: E402
from glmclf import CLogLog, Logit, plots  # noqa: E402
from glmclf.plots import forest  # noqa: E402


def check_drawn(ax, table):
    """Estimates and ends of intervals, from the top."""
    marks, lines, table = points(ax), segments(ax), table.to_numpy()
    order, by_row = np.argsort(marks[:, 1]), np.argsort(lines[:, 0, 1])
    assert (marks[order, 0] == table[:, 0]).all()
    assert (lines[by_row][:, :, 0] == table[:, 1:]).all()
    assert (lines[by_row][:, 0, 1] == marks[order, 1]).all()


def test_coefficients_of_a_logit(logit):
    fig = plots.coefficients(logit, alpha=0.1)
    table = logit.summary_frame(alpha=0.1).drop(index="Intercept")
    check_drawn(fig.axes[0], table[["coef", "Conf. Int. Low", "Conf. Int. Upp."]])
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == list(table.index)
    assert fig.axes[0].get_title() == "P(sex = 'male'), n = 333"
    assert fig.axes[0].get_xlabel() == "coefficient, 90 % interval (nonrobust)"


def test_ratios_are_on_a_log_axis(logit, mnlogit, penguins):
    fig = plots.coefficients(logit, exponentiate=True, units={"bill_length_mm": 5}, which=["bill_length_mm"])
    table = logit.odds_ratios(units={"bill_length_mm": 5}).loc[["bill_length_mm (per 5)"]]
    check_drawn(fig.axes[0], table.iloc[:, [0, -2, -1]])
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["bill_length_mm (per 5)"]
    assert fig.axes[0].get_xscale() == "log" and fig.axes[0].get_xlabel().startswith("odds ratio")
    assert fig.axes[0].get_lines()[0].get_xdata() == [1, 1]
    cloglog = CLogLog.from_formula("sex ~ bill_depth_mm", penguins, event="male").fit()
    assert plots.coefficients(cloglog, True).axes[0].get_xlabel().startswith("hazard ratio")
    assert plots.coefficients(mnlogit, True).axes[0].get_xlabel().startswith("relative risk ratio")


def test_no_ratio_of_a_probit(probit):
    with pytest.raises(NotImplementedError, match="no ratio"):
        plots.coefficients(probit, exponentiate=True)
    with pytest.raises(ValueError, match="units= is for exponentiate=True"):
        plots.coefficients(probit, units={"bill_depth_mm": 2})


def test_which_coefficients(logit):
    def rows(**options):
        return [t.get_text() for t in plots.coefficients(logit, **options).axes[0].get_yticklabels()]

    assert rows(which=["bill_depth_mm", "Intercept"]) == ["bill_depth_mm", "Intercept"]
    assert rows(drop=["bill_length_mm", "species[T.Gentoo]"]) == ["species[T.Chinstrap]", "bill_depth_mm"]
    with pytest.raises(glmclf.errors.DataError, match="'bill' is no coefficient. The coefficients are"):
        plots.coefficients(logit, which=["bill"])
    with pytest.raises(TypeError, match="a list of names"):
        plots.coefficients(logit, drop="bill_depth_mm")
    with pytest.raises(ValueError, match="no coefficient is left"):
        plots.coefficients(logit, which=["Intercept"], drop=["Intercept"])


def test_infinite_and_omitted_coefficients(separated):
    fig = plots.coefficients(separated)
    ax = fig.axes[0]
    assert {text.get_text(): text.xy[0] > 0.9 for text in ax.texts} == {"inf": True, "(omitted)": False}
    assert [text.get_text() for text in ax.texts].count("inf") == 2
    assert len(points(ax, ">")) == 2 and points(ax, "o").tolist() == [[separated.params["x"], points(ax, "o")[0, 1]]]
    assert len(segments(ax)) == 1 and not crowded(fig)


def test_an_infinite_ratio_has_the_end_that_its_profile_has(separated):
    ax = plots.coefficients(separated, True, method="profile", which=["g[T.c]"]).axes[0]
    low, high = np.exp(separated.conf_int(method="profile").loc["g[T.c]"])
    assert np.isposinf(high) and segments(ax)[0, 0, 0] == low and segments(ax)[0, 1, 0] == ax.get_xlim()[1]


@pytest.mark.parametrize("reference", [0.0, 1.0])
def test_ends_that_are_infinite_or_not_known(reference):
    zero, nan = (0.0, np.nan) if reference else (-np.inf, np.nan)
    rows = forest.Rows(np.array([2.0, 3.0, 4.0]), np.array([zero, nan, 3.0]), np.array([np.inf, 5.0, nan]), [""] * 3)
    ax = plt.subplots()[1]
    forest._marks(ax, {"a": rows}, ["a"], np.arange(3.0), reference)
    low, high = ax.get_xlim()
    assert segments(ax)[:, :, 0].tolist() == [[low, high], [3, 5], [3, 4]]
    assert points(ax, "<")[:, 1].tolist() == points(ax, ">")[:, 1].tolist() == [0.0]


def test_a_coefficient_of_minus_infinity(separated):
    ax = plots.coefficients(separated, which=["Intercept"]).axes[0]
    assert [text.get_text() for text in ax.texts] == ["\N{MINUS SIGN}inf"] and len(points(ax, "<")) == 1
    assert plots.coefficients(separated, True, which=["Intercept"]).axes[0].texts[0].get_text() == "0"


def test_after_a_lasso_marks_are_open(logit):
    res = logit.model.fit_regularized(0.05, L1_wt=1.0)
    ax = plots.coefficients(res).axes[0]
    assert (np.sort(points(ax)[:, 0]) == np.sort(res.params.drop("Intercept"))).all() and not len(ax.texts)
    assert ax.get_lines()[-1].get_markerfacecolor() == "white"
    assert ax.get_xlabel() == "coefficient (without intervals)"


def test_several_results_beside_each_other(logit, probit):
    fig = plots.coefficients({"all": logit, "probit": probit}, which=["species[T.Gentoo]", "bill_depth_mm"])
    marks = points(fig.axes[0])
    found = [logit.params["species[T.Gentoo]"], logit.params["bill_depth_mm"], probit.params["bill_depth_mm"]]
    assert (marks[np.argsort(marks[:, 1]), 0] == found).all()  # one above the other, in the order given
    assert fig.axes[0].get_xlabel() == "coefficient, 95 % interval (HC0, nonrobust)"


def test_a_legend_that_fits_below_the_axes_is_there(logit, probit):
    fig = plots.coefficients({"maximum likelihood": logit, "probit": probit, "again": logit})
    fig.draw_without_rendering()
    ax = fig.axes[0]
    assert ax.get_legend().get_window_extent().y1 <= ax.xaxis.label.get_window_extent().y0 and not crowded(fig)


def test_results_of_other_events_say_so(logit, mnlogit, penguins):
    other = Logit.from_formula("sex ~ bill_depth_mm", penguins, event="female").fit()
    names = [t.get_text() for t in plots.coefficients([logit, other]).axes[0].get_legend().get_texts()]
    assert names == ["Logit (1): P(sex = 'male')", "Logit (2): P(sex = 'female')"]
    with pytest.raises(ValueError, match="differ in kind"):
        plots.coefficients([logit, mnlogit])


def test_two_levels_beside_a_binary_model():
    table = glmclf.datasets.load("penguins").dropna()
    fits = [m.from_formula("sex ~ bill_length_mm", table).fit() for m in (glmclf.MNLogit, glmclf.LDA)]
    binary = glmclf.Logit.from_formula("sex ~ bill_length_mm", table, event="male").fit()
    fig = plots.coefficients({"multinomial": fits[0], "LDA": fits[1], "logit": binary})
    drawn = [res.params.to_numpy().ravel()[-1] for res in (fits[0], fits[1].discriminant, binary)]
    np.testing.assert_allclose(points(fig.axes[0])[:, 0], drawn)
    other = glmclf.Logit.from_formula("sex ~ bill_length_mm", table, event="female").fit()
    fig = plots.coefficients({"LDA": fits[1], "logit": other})
    said = [text.get_text() for key in (*fig.legends, fig.axes[0].get_legend()) if key for text in key.get_texts()]
    assert said == ["LDA: P(sex = 'male')", "logit: P(sex = 'female')"]


def test_levels_in_one_panel_and_in_several(mnlogit, lda):
    one = plots.coefficients(mnlogit)
    assert [t.get_text() for t in one.axes[0].get_legend().get_texts()] == ["Dream", "Torgersen"]
    table = mnlogit.summary_frame().drop(index="Intercept", level=1)
    wanted = table.iloc[[0, 2, 1, 3]]  # rows of both levels together
    check_drawn(one.axes[0], wanted[["coef", "Conf. Int. Low", "Conf. Int. Upp."]])
    two = plots.coefficients(mnlogit, panels=True)
    check_drawn(two.axes[1], table.loc["Torgersen"][["coef", "Conf. Int. Low", "Conf. Int. Upp."]])
    assert [ax.get_title() for ax in two.axes] == ["Dream", "Torgersen"]
    table = lda.discriminant.summary_frame().loc["Gentoo"].iloc[1:]
    check_drawn(plots.coefficients(lda, panels=True).axes[1], table[["coef", "Conf. Int. Low", "Conf. Int. Upp."]])


@pytest.mark.parametrize("name, panels", [("wide", False), ("eight", False), ("eight", True)])
def test_long_names_do_not_overlap(name, panels, request):
    res = request.getfixturevalue(name)
    fig = plots.coefficients(res, panels=panels)
    assert not crowded(fig)
    if name == "eight":
        assert any("$x_7$" in text for text in words(fig))


def test_a_small_part_of_a_users_figure(wide, mnlogit):
    fig, axes = plt.subplots(2, 2, figsize=(6, 5), layout="constrained")
    plots.coefficients(wide, which=list(wide.params.index[:8]), ax=axes[0, 0])
    plots.margins(mnlogit, ax=axes[1, 1])
    fig.draw_without_rendering()
    boxes = [t.get_window_extent() for t in axes[0, 0].get_yticklabels()]
    assert all(a.y0 > b.y1 - 1 for a, b in zip(boxes, boxes[1:]))


def test_margins(logit, mnlogit):
    fig = plots.margins(logit, alpha=0.2)
    table = logit.get_margeff().summary_frame(0.2)
    check_drawn(fig.axes[0], table.iloc[:, [0, 4, 5]])
    assert fig.axes[0].get_xlabel() == "dy/dx on P(sex = 'male'), 80 % interval\n(nonrobust)"
    found = mnlogit.get_margeff(variables="sex")
    ax = plots.margins(found).axes[0]
    check_drawn(ax, found.summary_frame().iloc[:, [0, 4, 5]])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == mnlogit.levels
    with pytest.raises(TypeError, match="takes no at="):
        plots.margins(found, at="mean")


def test_margins_at_settings(logit):
    fig = plots.margins(logit, variables="bill_length_mm", at={"bill_length_mm": [38.5, 45]}, over="species")
    labels = [t.get_text().replace("\n", " ") for t in fig.axes[0].get_yticklabels()]
    assert labels[0] == "bill_length_mm = 38.5, species = Adelie" and len(labels) == 6
    assert fig.axes[0].get_title() == "effect of bill_length_mm, at: observed" and not crowded(fig)


def test_kept_results(logit, tmp_path):
    """Without its rows a result has coefficients; margins say what they need."""
    logit.save(tmp_path / "kept.json")
    for res in (glmclf.load(tmp_path / "kept.json"), pickle.loads(pickle.dumps(logit))):
        assert (points(plots.coefficients(res).axes[0]) == points(plots.coefficients(logit).axes[0])).all()
    with pytest.raises(glmclf.errors.DataError, match="rows of the fit"):
        plots.margins(glmclf.load(tmp_path / "kept.json"))


def test_base_levels_are_told_apart(penguins, logit):
    other = penguins.assign(species=pd.Categorical(penguins.species, ["Gentoo", "Adelie", "Chinstrap"]))
    fits = [logit, Logit.from_formula("sex ~ bill_length_mm + bill_depth_mm + species", other, event="male").fit()]
    fig = plots.coefficients(fits, which=["species[T.Chinstrap]", "bill_length_mm"])
    labels = [" ".join(label.get_text().split()) for label in fig.axes[0].get_yticklabels()]
    assert labels == [
        "species[T.Chinstrap] (against Adelie)", "species[T.Chinstrap] (against Gentoo)", "bill_length_mm"]
    drawn = [line.get_xdata() for line in fig.axes[0].lines if line.get_marker() not in ("None", "")]
    expected = [fit.params[["species[T.Chinstrap]", "bill_length_mm"]] for fit in fits]
    for x, b in zip([x for x in drawn if len(x)], expected):
        np.testing.assert_allclose(x, b)
