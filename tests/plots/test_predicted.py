"""Predicted probabilities over a variable: the curves are those of `predictions`."""

import io
import json

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, points, segments, words  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402

import glmclf  # noqa: E402
from glmclf import LDA, CLogLog, Logit, MNLogit, NaiveBayes, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402


def bands(ax):
    """Lower and upper ends, (bands, 2, n)."""
    found = []
    for band in ax.collections:
        vertices = band.get_paths()[0].vertices
        n = (len(vertices) - 3) // 2
        found.append([vertices[1 : n + 1, 1], vertices[n + 2 : 2 * n + 2, 1][::-1]])
    return np.array(found)


def ends_of(table):
    return table[["ci_lower", "ci_upper"]].to_numpy().T


def test_a_curve_of_a_number(logit, penguins):
    fig = plots.probabilities(logit, "bill_length_mm", at="mean", points=7, alpha=0.1)
    ax, x = fig.axes[0], penguins.bill_length_mm
    grid = np.linspace(x.min(), x.max(), 7)
    table = logit.predictions({"bill_length_mm": grid}, "mean").summary_frame(0.1)
    assert (ax.get_lines()[0].get_xydata() == np.column_stack([grid, table["predicted"]])).all()
    assert (bands(ax)[0] == ends_of(table)).all()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bill_length_mm", "P(sex = 'male')")
    assert ax.get_title() == "others at their means" and ax.get_legend() is None and not crowded(fig)


def test_a_curve_for_each_level_of_a_factor(logit):
    grid = [38.0, 45.0, 52.0]
    ax = plots.probabilities(logit, "bill_length_mm", "species", values=grid).axes[0]
    table = logit.predictions({"species": None, "bill_length_mm": grid}).summary_frame()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"species = {g}" for g in table.index.levels[0]]
    for line, band, (_, part) in zip(ax.get_lines(), bands(ax), table.groupby(level=0)):
        assert (line.get_ydata() == part["predicted"]).all() and (band == ends_of(part)).all()
    assert ax.get_title() == "averaged over the rows"


def test_a_factor_has_points(logit):
    ax = plots.probabilities(logit, "species", {"bill_depth_mm": [15.5, 18]}, at={"bill_length_mm": 44}).axes[0]
    cells = {"bill_depth_mm": [15.5, 18], "species": None}
    table = logit.predictions(cells, {"bill_length_mm": 44}).summary_frame()
    assert points(ax)[:, 1] == pytest.approx(table["predicted"].to_numpy(), rel=1e-12)
    assert segments(ax)[:, :, 1] == pytest.approx(ends_of(table).T, rel=1e-10)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["Adelie", "Chinstrap", "Gentoo"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["bill_depth_mm = 15.5", "bill_depth_mm = 18"]
    assert len(set(points(ax)[:, 0])) == 6  # beside each other


def test_levels_of_the_response(mnlogit, lda):
    fig = plots.probabilities(mnlogit, "body_mass_g", "sex", at="mean", points=5)
    assert [ax.get_title() for ax in fig.axes] == ["sex = female", "sex = male"]
    x = fig.axes[0].get_lines()[0].get_xdata()
    table = mnlogit.predictions({"sex": ["male"], "body_mass_g": x.tolist()}, "mean").summary_frame()
    for line, band, level in zip(fig.axes[1].get_lines(), bands(fig.axes[1]), mnlogit.levels):
        assert line.get_ydata() == pytest.approx(table.loc[level, "predicted"].to_numpy(), rel=1e-12)
        assert band == pytest.approx(ends_of(table.loc[level]), rel=1e-10)
    assert [t.get_text() for t in fig.axes[1].get_legend().get_texts()] == mnlogit.levels
    one = plots.probabilities(lda, "bill_depth_mm", levels=["Gentoo"], values=[15, 17, 19]).axes[0]
    table = lda.predictions({"bill_depth_mm": [15, 17, 19]}).summary_frame().loc["Gentoo"]
    assert (one.get_lines()[0].get_ydata() == table["predicted"]).all()
    assert one.get_ylabel() == "P(species = 'Gentoo')"


def test_stacked_areas(mnlogit, logit):
    ax = plots.probabilities(mnlogit, "body_mass_g", at="mean", points=4, stacked=True).axes[0]
    tops = bands(ax)[:, 1] if bands(ax)[0, 1].max() > 0 else bands(ax)[:, 0]
    table = mnlogit.predictions({"body_mass_g": np.linspace(2700, 6300, 4)}, "mean").predicted
    assert np.sort(tops, axis=0) == pytest.approx(table.to_numpy().reshape(3, 4).cumsum(axis=0))
    bars = plots.probabilities(mnlogit, "sex", stacked=True).axes[0].patches
    p = mnlogit.predictions("sex").predicted.to_numpy()
    assert [bar.get_height() for bar in bars] == pytest.approx(p.tolist())
    assert bars[-1].get_y() + bars[-1].get_height() == pytest.approx(1)
    with pytest.raises(ValueError, match="Logit has one event"):
        plots.probabilities(logit, "species", stacked=True)


def test_long_names(eight):
    for x in ("g", "x"):
        fig = plots.probabilities(eight, x, at="mean", points=3)
        assert not crowded(fig) and any("$x_7$" in text for text in words(fig))
    generator = np.random.default_rng(4)
    g = np.repeat([f"a level of a factor ${i}" for i in range(9)], 10)
    table = pd.DataFrame({"y": np.tile([0, 1, 1], 30), "g": g, "größe $ in µm": generator.normal(size=90)})
    res = Logit.from_formula("y ~ g + Q('größe $ in µm')", table).fit()
    assert not crowded(plots.probabilities(res, "g", at="mean"))
    fig = plots.probabilities(res, "größe $ in µm", at="mean", points=3)
    assert "größe $ in µm" in words(fig)


def test_without_rows(logit, mnlogit, penguins, tmp_path):
    """A setting of all other variables needs no rows; the range is kept of binary models."""
    logit.save(tmp_path / "logit.json")
    res = glmclf.load(tmp_path / "logit.json")
    at = {"bill_depth_mm": 17.0, "species": "Gentoo"}
    ax = plots.probabilities(res, "bill_length_mm", at=at, points=5).axes[0]
    rows = pd.DataFrame({"bill_length_mm": ax.get_lines()[0].get_xdata(), **at})
    table = logit.get_prediction(rows).summary_frame()
    assert ax.get_lines()[0].get_ydata() == pytest.approx(table["predicted"].to_numpy(), rel=1e-12)
    assert bands(ax)[0] == pytest.approx(ends_of(table), rel=1e-10)
    assert ax.get_title() == "bill_depth_mm = 17, species = Gentoo"
    x = penguins.bill_length_mm
    assert ax.get_lines()[0].get_xdata()[[0, -1]].tolist() == [x.min(), x.max()]
    with pytest.raises(DataError, match="rows of the fit"):
        plots.probabilities(res, "species")
    pl = pytest.importorskip("polars")
    new = plots.probabilities(res, "species", newdata=pl.from_pandas(penguins[:50])).axes[0]
    table = logit.predictions("species", newdata=penguins[:50])
    assert points(new)[:, 1] == pytest.approx(table.predicted.to_numpy(), rel=1e-12)
    file = tmp_path / "mnlogit.json"
    mnlogit.save(file)
    ax = plots.probabilities(glmclf.load(file), "body_mass_g", at={"sex": "male"}, points=3).axes[0]
    ends = penguins.body_mass_g.agg(["min", "max"])
    assert (ax.get_lines()[0].get_xdata()[[0, -1]] == ends).all()
    kept = json.loads(file.read_text())
    del kept["model"]["kept"]["_ranges"]
    old = glmclf.load(io.StringIO(json.dumps({**kept, "version": 1})))
    with pytest.raises(DataError, match='the range of "body_mass_g" is not known .* give values=, or newdata='):
        plots.probabilities(old, "body_mass_g", at={"sex": "male"})


@pytest.mark.parametrize("model", [LDA, NaiveBayes])
def test_ranges_of_generative_results_without_rows(model, penguins, tmp_path):
    rows = penguins[["bill_length_mm", "bill_depth_mm"]]
    for res, names in (
        (model.from_formula("species ~ bill_length_mm + bill_depth_mm", penguins).fit(), list(rows)),
        (model(penguins.species.to_numpy(), rows.to_numpy()).fit(), ["x1", "x2"]),
    ):
        res.save(tmp_path / "m.json")
        res.remove_data()
        for one in (glmclf.load(tmp_path / "m.json"), res):
            ax = plots.probabilities(one, names[0], at={names[1]: 17.0}, points=2).axes[0]
            assert ax.get_lines()[0].get_xdata().tolist() == rows.bill_length_mm.agg(["min", "max"]).tolist()


def test_numbers_that_are_0_or_1_and_truth_values():
    generator = np.random.default_rng(5)
    columns = {"d": np.tile([0, 1], 30), "b": np.tile([True, False, False], 20)}
    table = pd.DataFrame({"y": generator.uniform(size=60) > 0.5, **columns})
    res = Logit.from_formula("y ~ d + b", table).fit()
    ax = plots.probabilities(res, "d", "b").axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1"] and ax.get_ylabel() == "P(y = True)"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["b = False", "b = True"]
    expected = res.predict(pd.DataFrame({"d": [0, 1, 0, 1], "b": [False, False, True, True]}))
    assert points(ax)[:, 1] == pytest.approx(expected.to_numpy())


def test_an_offset_that_is_set():
    generator = np.random.default_rng(6)
    table = pd.DataFrame({"y": np.tile([0, 1], 20), "x": generator.normal(size=40), "o": np.repeat([0.5, 1], 20)})
    res = Logit.from_formula("y ~ x", table, offset="o").fit()
    ax = plots.probabilities(res, "x", at={"o": 2.0}, values=[-1, 0, 1]).axes[0]
    expected = res.predict(pd.DataFrame({"x": [-1, 0, 1], "o": 2.0}))
    assert ax.get_lines()[0].get_ydata() == pytest.approx(expected.to_numpy())
    given = Logit.from_formula("y ~ x", table, offset=table.o.to_numpy()).fit()
    ax = plots.probabilities(given, "x", values=[-1, 0, 1]).axes[0]
    assert (ax.get_lines()[0].get_ydata() == given.predictions({"x": [-1, 0, 1]}).predicted).all()


WRONG = [
    (("bill",), {}, DataError, "no variable of the model"),
    (("species", "bill_length_mm"), {}, DataError, 'say at which values, by={"bill_length_mm"'),
    (("species", "species"), {}, ValueError, "the variable of the x axis"),
    (("species", 3), {}, TypeError, "the name of one variable"),
    (("species",), {"at": {"species": "Gentoo"}}, ValueError, '"species", which the plot is over'),
    (("species",), {"at": {"bill_length_mm": [1, 2]}}, ValueError, "several values, which by= is for"),
    (("species",), {"at": {"bil": 1}}, DataError, "no variable of the model"),
    (("species",), {"at": "median of all"}, ValueError, '"median", "zero"'),
    (("species",), {"at": 3}, TypeError, "at= is int"),
    (("bill_length_mm",), {"points": 1}, ValueError, "points=1"),
    (("bill_length_mm",), {"values": []}, ValueError, "no value"),
    (("bill_length_mm",), {"values": 40}, TypeError, "a list of them, found 40"),
    (("bill_length_mm",), {"values": [40, np.nan]}, DataError, "it cannot be nan"),
    (("species", {"bill_length_mm": 40}), {}, TypeError, "a list of them, found 40"),
    (("species",), {"values": "Gentoo"}, TypeError, "a list of them, found 'Gentoo'"),
    (("species",), {"levels": ["male"]}, ValueError, "one event"),
]


@pytest.mark.parametrize("args, options, error, words", WRONG)
def test_what_cannot_be_drawn(args, options, error, words, logit):
    with pytest.raises(error, match=words):
        plots.probabilities(logit, *args, **options)


def test_gaps_of_a_separated_fit():
    """The axes are those of the data and of probabilities, whatever is NaN."""
    table = pd.DataFrame({"x": [-9, -8, -7, 7, 8, 9], "z": [1, -1, 0, 0.5, -1, 1], "g": list("aabbab")})
    table["y"] = (table.x > 0).astype(int)
    with pytest.warns(UserWarning):
        res, factor = (Logit.from_formula(f"y ~ x + {v}", table).fit() for v in "zg")
        across, along, groups = (
            plots.probabilities(r, v, points=4).axes[0] for r, v in ((res, "x"), (res, "z"), (factor, "g"))
        )
        low = plots.probabilities(res, "x", values=[-9, -8, 0]).axes[0]
        certain = [plots.probabilities(res, "x", values=v).axes[0].get_ylim() for v in ([-9, -8, -7], [7, 8, 9])]
    assert_allclose(certain, [(0, 1), (0, 1)], atol=0.02)
    p = across.get_lines()[0].get_ydata()
    assert (p[[0, -1]] == [0, 1]).all() and np.isnan(p).any()
    assert low.get_lines()[0].get_ydata()[0] == 0 and np.isnan(low.get_lines()[0].get_ydata()[2])
    for ax, ends in ((across, (-9, 9)), (along, (-1, 1)), (low, (-9, 0))):
        assert_allclose(ax.get_xlim(), ends, rtol=0.03, atol=0.1)
        assert_allclose(ax.get_ylim(), (0, 1), atol=0.02)
    assert "(NaN throughout)" in words(along.figure) and "(NaN throughout)" not in words(across.figure)
    assert words(groups.figure).count("NaN") == np.isnan(points(groups)[:, 1]).sum() == 1


def test_legends_of_intervals_stand_outside(mnlogit, logit):
    """Below the axis where one row or two have room, else beside the axes."""
    fig = plots.probabilities(mnlogit, "sex")
    fig.draw_without_rendering()
    legend, named = fig.axes[0].get_legend().get_window_extent(), fig.axes[0].xaxis.label.get_window_extent()
    assert 0 <= legend.y0 < legend.y1 <= named.y0 and not crowded(fig)
    rows = plots.probabilities(logit, "bill_length_mm", by="species")
    rows.draw_without_rendering()
    texts = [text.get_window_extent() for text in rows.axes[0].get_legend().get_texts()]
    assert len({round(text.y0) for text in texts}) == 2 and not crowded(rows)
    named = rows.axes[0].xaxis.label.get_window_extent()
    plain = plots.probabilities(logit, "bill_length_mm")
    assert rows.get_figwidth() == plain.get_figwidth() and max(text.y1 for text in texts) < named.y0
    panels = plots.probabilities(mnlogit, "body_mass_g", by="sex")
    panels.draw_without_rendering()
    assert panels.axes[1].get_legend().get_window_extent().x0 > panels.axes[1].get_window_extent().x1


def test_counts_are_named_by_what_is_counted():
    table = pd.DataFrame({"killed": [1, 4, 9, 8], "survived": [9, 5, 3, 2], "dose": [1.0, 2.0, 3.0, 4.0]})
    fig = plots.probabilities(CLogLog.from_formula("killed + survived ~ dose", table).fit(), "dose")
    assert fig.axes[0].get_ylabel() == "share of killed in killed + survived"


def test_unknown_levels(mnlogit):
    with pytest.raises(DataError, match="the response has the levels"):
        plots.probabilities(mnlogit, "sex", levels=["Dreams"])


def test_a_lasso_has_no_bands(logit):
    with pytest.raises(NotImplementedError, match="no standard errors"):
        plots.probabilities(logit.model.fit_regularized(0.01, L1_wt=1.0), "species")


def test_streams(penguins):
    parts = [penguins[::2], penguins[1::2]]
    res = Logit.from_formula("sex ~ bill_depth_mm", lambda: iter(parts), event="male").fit()
    ax = plots.probabilities(res, "bill_depth_mm", points=3).axes[0]
    ends = [penguins.bill_depth_mm.min(), penguins.bill_depth_mm.max()]
    assert ax.get_lines()[0].get_xdata()[[0, -1]].tolist() == ends
    several = MNLogit.from_formula("island ~ bill_depth_mm", lambda: iter(parts)).fit()
    for options, found in (({"at": "mean"}, ends), ({"newdata": penguins[:20]}, penguins.bill_depth_mm[:20])):
        ax = plots.probabilities(several, "bill_depth_mm", points=2, **options).axes[0]
        assert ax.get_lines()[0].get_xdata().tolist() == [min(found), max(found)]
    assert len(plots.probabilities(several, "bill_depth_mm", values=[15, 17, 19], at="mean").axes[0].get_lines()) == 3
