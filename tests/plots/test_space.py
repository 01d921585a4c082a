"""Decision regions, ellipses and canonical scores, against the result's own predictions and laws."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, words  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402
from scipy import stats  # noqa: E402

import glmclf  # noqa: E402
from glmclf import LDA, QDA, Logit, NaiveBayes, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402
from glmclf.plots import decision_regions, layout  # noqa: E402

X, Y = "bill_length_mm", "bill_depth_mm"


@pytest.fixture(scope="module")
def qda(penguins):
    return QDA.from_formula(f"species ~ {X} + {Y} + body_mass_g", penguins).fit()


@pytest.fixture(scope="module")
def bayes(penguins):
    return NaiveBayes.from_formula(f"species ~ {X} + {Y} + island", penguins, smoothing=0.5).fit()


def decided(ax, levels):
    """Levels by the colours of the regions, and the centres of the cells."""
    from matplotlib.colors import to_rgb

    mesh = ax.collections[0]
    image, edges = mesh.get_array(), mesh.get_coordinates()
    colours = np.array([to_rgb(layout.colour(k)) for k in range(len(levels))])
    place = np.abs(image[:, :, None, :3] - colours).sum(axis=-1).argmin(axis=-1)
    centres = (edges[1:, 1:] + edges[:-1, :-1]) / 2
    return np.array(levels, dtype=object)[place], centres, image[..., 3]


# --------------------------------------------------------------------------------------------------------- regions
@pytest.mark.parametrize("name", ["logit", "probit", "lda", "qda", "bayes"])
def test_regions_are_decisions(name, request, penguins):
    res = request.getfixturevalue(name)
    ax = plots.regions(res, X, Y, resolution=15).axes[0]
    levels, at, strength = decided(ax, res._judged_levels)
    grid = pd.DataFrame(at.reshape(-1, 2), columns=[X, Y])
    grid = grid.assign(body_mass_g=penguins.body_mass_g.mean(), species="Adelie", island="Biscoe")
    assert (levels.ravel() == res.predict(grid, "class")).all()
    p = res.predict(grid)
    p = np.maximum(p, 1 - p) if p.ndim == 1 else p.max(axis=1)
    assert (np.argsort(strength.ravel()) == np.argsort(p, kind="stable")).mean() > 0.5 and strength.min() > 0.1
    assert_allclose([at.min(axis=(0, 1)), at.max(axis=(0, 1))], penguins[[X, Y]].agg(["min", "max"]), atol=1e-9)


def test_borders_are_where_the_log_odds_are_0(logit, lda):
    for res, cut in ((logit, 0.5), (logit, 0.8)):
        ax = plots.regions(res, X, Y, threshold=cut, points=False, resolution=30).axes[0]
        border = ax.collections[1].get_paths()[0].vertices
        p = res.predict(pd.DataFrame(border, columns=[X, Y]).assign(species="Adelie"))
        assert_allclose(p, cut, atol=1e-9)
    ax = plots.regions(lda, X, Y, points=False, resolution=30).axes[0]
    for k in (1, 2, 3):
        border = ax.collections[k].get_paths()[0].vertices
        best = np.sort(lda.predict(pd.DataFrame(border, columns=[X, Y])), axis=1)
        assert np.median(best[:, -1] - best[:, -2]) < 1e-6


def test_points_and_rings(lda, logit, penguins):
    ax = plots.regions(lda, X, Y, resolution=9).axes[0]
    clouds = [c for c in ax.collections if c.get_label() in lda.levels]
    for cloud in clouds:
        assert (cloud.get_offsets() == penguins.loc[penguins.species == cloud.get_label(), [X, Y]].to_numpy()).all()
    wrong = lda.predict(which="class") != penguins.species
    ring = next(c for c in ax.collections if c.get_label() == "decided wrongly")
    assert (ring.get_offsets() == penguins.loc[wrong, [X, Y]].to_numpy()).all()
    assert ax.get_title() == f"LDA: {wrong.sum()} of 333 rows wrong"
    table = logit.pred_table(0.8)
    title = plots.regions(logit, X, Y, threshold=0.8, resolution=9).axes[0].get_title()
    assert f": {table.to_numpy().sum() - np.trace(table):g} of 333" in title


def test_other_variables_are_held(logit, qda, bayes, penguins):
    def label(res, **options):
        return plots.regions(res, X, Y, resolution=5, points=False, **options).axes[0].get_xlabel().replace("\n", " ")

    assert label(logit) == f"{X} (at species = Adelie)"
    assert label(logit, at={"species": "Gentoo"}) == f"{X} (at species = Gentoo)"
    assert label(qda) == f"{X} (at body_mass_g = {penguins.body_mass_g.mean():.4g})"
    assert label(bayes) == f"{X} (at island = {penguins.island.mode()[0]})"
    two = LDA.from_formula(f"species ~ {X} + {Y}", penguins).fit()
    assert_allclose(two.means, LDA.from_formula(f"species ~ {X} + {Y} + body_mass_g", penguins).fit().means[[X, Y]])
    left_out = plots.regions(qda, X, Y, at={"body_mass_g": np.nan}, resolution=8, points=False).axes[0]
    levels, at, _ = decided(left_out, qda.levels)
    plain = QDA.from_formula(f"species ~ {X} + {Y}", penguins).fit()
    assert (levels.ravel() == plain.predict(pd.DataFrame(at.reshape(-1, 2), columns=[X, Y]), "class")).all()


def test_rows_count_as_often_as_their_weights(penguins):
    table = penguins.iloc[::3].assign(times=np.arange(111) % 4)
    formula = f"sex ~ {X} + {Y} + body_mass_g + island"
    once = Logit.from_formula(formula, table, freq_weights="times").fit()
    many = Logit.from_formula(formula, table.loc[table.index.repeat(table.times)]).fit()
    labels = {plots.regions(r, X, Y, resolution=5, points=False).axes[0].get_xlabel() for r in (once, many)}
    assert len(labels) == 1 and f"{np.average(table.body_mass_g, weights=table.times):.4g}" in labels.pop()


def test_wrong_rows_count_as_often_as_their_weights(penguins):
    often = penguins.assign(times=np.arange(333) % 4)
    res = LDA.from_formula(f"species ~ {X} + {Y}", often, freq_weights="times").fit()
    table = res.pred_table().to_numpy()
    title = plots.regions(res, X, Y, resolution=5).axes[0].get_title()
    assert title == f"LDA: {table.sum() - np.trace(table):g} of {res.nobs} rows wrong"


def test_truth_values_and_0_or_1(penguins):
    table = penguins.assign(big=penguins.body_mass_g > 4200, male=(penguins.sex == "male").astype(int))
    for formula, model, held in (
        (f"species ~ {X} + {Y} + big", LDA, "big = False"),
        (f"species ~ {X} + {Y} + male", NaiveBayes, "male = 1"),
        (f"island == 'Dream' ~ {X} + {Y} + C(male)", Logit, "male = 1"),
    ):
        ax = plots.regions(model.from_formula(formula, table).fit(), X, Y, resolution=5, points=False).axes[0]
        assert f"(at {held})" in ax.get_xlabel().replace("\n", " ")
    res = LDA.from_formula(f"big ~ {X} + {Y}", table).fit()
    levels, at, _ = decided(plots.regions(res, X, Y, resolution=9).axes[0], [False, True])
    assert (levels.ravel() == res.predict(pd.DataFrame(at.reshape(-1, 2), columns=[X, Y]), "class")).all()
    centres = [line.get_xydata()[0] for line in plots.ellipses(res, X, Y, points=False).axes[0].lines[2::3]]
    assert_allclose(centres, res.means)


def test_regions_of_a_separated_fit(monkeypatch):
    """A point of the grid is predicted once, as each takes a linear program, and there are fewer of them."""
    table = pd.DataFrame({"x": [-9, -8, -7, 7, 8, 9.0], "z": [1, -1, 0, 0.5, -1, 1], "y": [0, 0, 0, 1, 1, 1]})
    with pytest.warns(UserWarning):
        res = Logit.from_formula("y ~ x + z", table).fit()
    asked, predict = [], type(res).predict
    monkeypatch.setattr(decision_regions, "RESOLUTION_SEPARATED", 10)
    monkeypatch.setattr(type(res), "predict", lambda self, *a, **k: asked.append(1) or predict(self, *a, **k))
    ax = plots.regions(res, "x", "z", points=False).axes[0]
    levels, at, strength = decided(ax, [0, 1])
    p = predict(res, pd.DataFrame(at.reshape(-1, 2), columns=["x", "z"])).to_numpy().reshape(10, 10)
    assert len(asked) == 1 and np.isnan(p).any() and (np.isnan(p) == (strength == 0)).all()
    assert (levels[~np.isnan(p)] == p[~np.isnan(p)]).all()


def test_many_held_variables_are_counted(wide):
    label = plots.regions(wide, "x0", "x3", resolution=3, points=False).axes[0].get_xlabel().replace("\n", " ")
    assert label.count(" = ") == 4 and label.endswith("34 more)")


@pytest.mark.parametrize(("options", "words"), [
    ({"y": "species"}, '"species" is a factor: regions are over two numbers'),
    ({"y": "bill"}, '"bill" is no variable of the model'),
    ({"y": X}, "regions are over two variables"),
    ({"at": {"nope": 1}}, 'at= holds "nope", which is no other variable'),
    ({"at": {X: 1}}, "which is on an axis"),
    ({"at": {"species": ["Adelie"]}}, "one value is needed"),
    ({"at": {"species": "Emu"}}, 'level "Emu"'),
    ({"at": {"species": None}}, "predictions are NaN over all"),
    ({"resolution": 1}, "resolution=1"),
    ({"threshold": 2}, "threshold=2"),
])  # fmt: skip
def test_what_regions_refuse(logit, options, words):
    with pytest.raises(ValueError, match=words):
        plots.regions(logit, X, **{"y": Y, "resolution": 5, **options})


def test_a_number_that_the_model_takes_for_a_factor(penguins):
    res = Logit.from_formula(f"sex ~ {X} + C(year)", penguins).fit()
    with pytest.raises(DataError, match='"year" is a factor'):
        plots.regions(res, X, "year")
    flags = penguins.assign(flag=(penguins.year > 2007).astype(int))
    with pytest.raises(DataError, match='"flag" is 0 or 1'):
        plots.regions(NaiveBayes.from_formula(f"species ~ {X} + flag", flags).fit(), X, "flag")


def test_whole_numbers_and_counts(penguins):
    rng = np.random.default_rng(3)
    table = penguins.assign(n=rng.poisson(3 + 2 * (penguins.species == "Gentoo")), m=rng.poisson(2, len(penguins)))
    res = NaiveBayes.from_formula(f"species ~ n + {X} + m", table, families={"n": "poisson", "m": "poisson"}).fit()
    ax = plots.regions(res, "n", X, resolution=40, points=False).axes[0]
    _, at, _ = decided(ax, res.levels)
    assert_allclose(np.unique(at[..., 0].round(9)), np.arange(table.n.min(), table.n.max() + 1))
    assert f"m = {table.m.mean().round():.0f}" in ax.get_xlabel()
    counts = pd.DataFrame({"x": rng.normal(size=9), "z": rng.normal(size=9), "won": range(9), "lost": [4] * 9})
    ax = plots.regions(Logit.from_formula("won + lost ~ x + z", counts).fit(), "x", "z", resolution=5).axes[0]
    drawn = {c.get_label()[0]: len(c.get_offsets()) for c in ax.collections if c.get_label()[0] in "01"}
    assert ax.get_title() == "Logit" and drawn == {"0": 9, "1": 8}


def test_offsets_and_arrays(penguins):
    table = penguins.assign(off=np.linspace(-1, 1, len(penguins)))
    by_name = Logit.from_formula(f"sex ~ {X} + {Y}", table, offset="off").fit()
    assert "at off = 1" in plots.regions(by_name, X, Y, at={"off": 1}, resolution=5).axes[0].get_xlabel()
    by_value = Logit.from_formula(f"sex ~ {X} + {Y}", penguins, offset=table.off).fit()
    with pytest.raises(DataError, match="the offset is needed"):
        plots.regions(by_value, X, Y)
    one, two = (decided(plots.regions(r, X, Y, at=at, resolution=9, points=False).axes[0], ["female", "male"])[0]
                for r, at in ((by_name, {"off": 2}), (by_value, {"offset": 2})))
    assert (one == two).all()
    array = Logit((penguins.sex == "male").to_numpy(), penguins[[X, Y]].assign(const=1.0)).fit()
    assert "of 333 rows wrong" in plots.regions(array, X, Y, resolution=5).axes[0].get_title()


def test_several_results(lda, qda, penguins, tmp_path):
    fig = plots.regions({"one $x$": lda, "two_": qda}, X, Y, resolution=9)
    assert [t.split(":")[0] for t in words(fig) if "wrong" in t and ":" in t] == ["one $x$", "two_"]
    assert [t.get_text() for t in fig.legends[0].get_texts()] == [*lda.levels, "decided wrongly"]
    with pytest.raises(ValueError, match="this plot has 2 panels"):
        plots.regions([lda, qda], X, Y, ax=plt.figure().add_subplot(), resolution=5)
    lda.save(tmp_path / "m.json")
    loaded = glmclf.load(tmp_path / "m.json")
    with pytest.raises(DataError, match="needs the rows of the fit"):
        plots.regions(loaded, X, Y)
    some = penguins.head(50)
    assert "of 50 rows" in plots.regions(loaded, X, Y, newdata=some, resolution=5).axes[0].get_title()
    grey = plots.regions(loaded, X, Y, newdata=some[[X, Y]], resolution=5)
    assert "rows (50)" in words(grey) and grey.axes[0].get_title() == "LDA"


# ------------------------------------------------------------------------------------------- ellipses and canonical
@pytest.mark.parametrize("name", ["lda", "qda", "bayes"])
def test_ellipses(name, request):
    res = request.getfixturevalue(name)
    ax = plots.ellipses(res, Y, X, content=[0.5, 0.9], points=False).axes[0]
    for k, level in enumerate(res.levels):
        inner, outer, centre = ax.lines[3 * k : 3 * k + 3]
        if name == "bayes":
            law = [res.conditionals[f].loc[level] for f in (Y, X)]
            mean, cov = [p["mean", "estimate"] for p in law], np.diag([p["var", "estimate"] for p in law])
        else:
            own = res.covariances if name == "lda" else res.covariances[level]
            mean, cov = res.means.loc[level, [Y, X]], own.loc[[Y, X], [Y, X]]
        assert_allclose(centre.get_xydata()[0], mean)
        for line, content in ((inner, 0.5), (outer, 0.9)):
            d = line.get_xydata() - np.asarray(mean)
            assert_allclose(np.einsum("ij,jk,ik->i", d, np.linalg.inv(cov), d), stats.chi2(2).ppf(content), rtol=1e-9)
    assert ax.get_xlabel() == Y and "50 % and 90 %" in ax.get_title()


def test_what_ellipses_refuse(lda, bayes, logit):
    with pytest.raises(NotImplementedError, match=r"ellipses\(\) of Logit"):
        plots.ellipses(logit, X, Y)
    with pytest.raises(NotImplementedError, match='"island" is categorical'):
        plots.ellipses(bayes, X, "island")
    with pytest.raises(DataError, match='"bill" is no feature'):
        plots.ellipses(lda, X, "bill")
    with pytest.raises(ValueError, match="content=95"):
        plots.ellipses(lda, X, Y, content=95)


def test_canonical(lda, qda, penguins):
    ax = plots.canonical(qda, 2, 1).axes[0]
    scores = qda.canonical.scores()[["CAN2", "CAN1"]]
    for k, level in enumerate(qda.levels):
        assert (ax.collections[k].get_offsets() == scores[penguins.species == level].to_numpy()).all()
        ellipse, centre = ax.lines[2 * k : 2 * k + 2]
        assert (centre.get_xydata()[0] == qda.canonical.centroids.loc[level, ["CAN2", "CAN1"]]).all()
    # with the divisor N - K the pooled law has variance 1: circles
    one = LDA.from_formula(f"species ~ {X} + {Y}", penguins, divisor="unbiased").fit()
    for line in plots.canonical(one, points=False).axes[0].lines[::2]:
        d = line.get_xydata()
        d = d - (d.max(axis=0) + d.min(axis=0)) / 2
        assert_allclose((d * d).sum(axis=1), stats.chi2(2).ppf(0.95), rtol=1e-3)
    with pytest.raises(ValueError, match="the functions are 1 to 2"):
        plots.canonical(lda, 3)


def test_one_canonical_function(penguins, bayes):
    two = LDA.from_formula(f"sex ~ {X} + {Y}", penguins, divisor="unbiased").fit()
    fig = plots.canonical(two)
    ax, scores = fig.axes[0], two.canonical.scores().CAN1
    assert ax.get_xlabel() == "CAN1 (100 % between classes)"
    for k, level in enumerate(two.levels):
        assert (ax.collections[k].get_offsets()[:, 0] == scores[penguins.sex == level].to_numpy()).all()
        low, high = ax.lines[2 * k].get_xdata()
        assert high - low == pytest.approx(2 * stats.norm.ppf(0.975))
    with pytest.raises(NotImplementedError, match="canonical functions are of LDA and QDA"):
        plots.canonical(bayes)


# ------------------------------------------------------------------------------------------------------------ looks
def test_texts_are_apart(eight):
    rng = np.random.default_rng(0)
    long = "a_feature_$with$_a_name_of_about_sixty_letters_and_underscores_"
    levels = eight.model._response.levels
    y = np.repeat(np.arange(8), 20)
    table = pd.DataFrame({long: y + rng.normal(size=160), "größe": rng.normal(size=160), "third": y % 3})
    table["third"] += rng.normal(size=160)
    res = LDA(pd.Series(np.array(levels)[y], name="y"), table).fit()
    assert not crowded(plots.regions([res, res], long, "größe", resolution=9))
    assert not crowded(plots.ellipses(res, long, "größe"))
    assert not crowded(plots.canonical(res))
    fig, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    plots.regions(res, long, "größe", resolution=9, ax=axes[0, 0])
    plots.canonical(res, ax=axes[1, 1])
    assert not crowded(fig)
    cut = [t.get_text() for t in axes[1, 1].get_legend().get_texts()]
    assert len(set(cut)) == 8
