"""Laws of naive Bayes and the ladder of laws: what is drawn are the numbers of the result."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, words  # noqa: E402
from numpy.testing import assert_allclose  # noqa: E402

import glmclf  # noqa: E402
from glmclf import LDA, NaiveBayes, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 120)
    columns = {"y": np.array(["u", "v", "w"])[y], "x": y + rng.normal(size=120),
               "flag": rng.uniform(size=120) < 0.2 + 0.2 * y, "n": rng.poisson(1 + y),
               "pos": rng.gamma(2 + y), "wait": rng.exponential(1 + y),
               "g": rng.choice(["$a$", "b_2", "c"], 120), "w1": rng.poisson(2 + y), "w2": rng.poisson(3, 120)}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def bayes(table):
    families = {"n": "poisson", "pos": "gamma", "wait": "exponential"}
    formula = "y ~ x + flag + n + pos + wait + g + w1 + w2"
    return NaiveBayes.from_formula(formula, table, families=families, multinomial=["w1", "w2"]).fit()


def test_densities(bayes, table):
    fig = plots.densities(bayes, ["x", "n", "pos", "wait"], bins=6)
    for ax, name in zip(fig.axes, ["x", "n", "pos", "wait"]):
        assert [line.get_label() for line in ax.lines] == bayes.levels
        for line, level in zip(ax.lines, bayes.levels):
            assert (line.get_ydata() == bayes.density(name, line.get_xdata())[level]).all()
        whole = name == "n"
        assert ax.get_ylabel() == ("probability" if whole else "density")
        for stairs, level in zip(ax.patches, bayes.levels):
            values, edges, _ = stairs.get_data()
            own = table[name][table.y == level]
            assert values @ np.diff(edges) == pytest.approx(1.0)
            if whole:
                assert_allclose(values[:3], [(own == k).mean() for k in range(3)])


def test_tables(bayes):
    fig = plots.densities(bayes, ["flag", "g", "w1 + w2"], alpha=0.1)
    interval = bayes.conf_int(0.1)
    for ax, name in zip(fig.axes, ["flag", "g", "w1 + w2"]):
        p = bayes.conditionals[name].xs("estimate", axis=1, level=1)
        assert_allclose([bar.get_width() for bar in ax.patches], p.to_numpy().ravel())
    ends = np.concatenate([np.array(c.get_segments())[:, :, 0] for c in fig.axes[1].collections])
    expected = [interval.loc[f"prob[{level}, g={cell}]"] for level in bayes.levels for cell in ("$a$", "b_2", "c")]
    assert_allclose(ends, expected)
    assert [t.get_text() for t in fig.axes[1].get_yticklabels()] == [r"\$a\$", "b_2", "c"]
    assert fig.axes[0].get_xlabel() == "P(flag = True)"


def test_a_level_that_was_never_seen_has_no_interval(penguins):
    with pytest.warns(glmclf.errors.ZeroCellWarning):
        res = NaiveBayes.from_formula("species ~ island", penguins).fit()
    ax = plots.densities(res).axes[0]
    assert sum(len(c.get_segments()) for c in ax.collections) == 3  # of Adelie; the others have 0 and 1 alone


def test_histograms_count_weights(penguins):
    table = penguins.head(250).assign(times=np.arange(250) % 3)
    res = NaiveBayes.from_formula("species ~ year", table, freq_weights="times", families={"year": "poisson"}).fit()
    stairs = plots.densities(res).axes[0].patches[0].get_data()
    own = table[table.species == "Adelie"]
    at = np.flatnonzero((stairs.edges[:-1] < 2008) & (stairs.edges[1:] > 2008))
    share = own.times[own.year == 2008].sum() / own.times.sum()
    assert_allclose(stairs.values[at] * np.diff(stairs.edges)[at], share)


def test_laws_need_no_rows(bayes, lda, tmp_path):
    bayes.save(tmp_path / "m.json")
    loaded = glmclf.load(tmp_path / "m.json")
    with pytest.raises(DataError, match="needs the rows of the fit"):
        plots.densities(loaded)
    fig = plots.densities(loaded, points=False)
    assert len(fig.axes) == 7 and not fig.axes[0].patches
    with pytest.raises(NotImplementedError, match=r"densities\(\) of LDA"):
        plots.densities(lda)
    with pytest.raises(DataError, match='"nope" is no feature'):
        plots.densities(bayes, "nope")
    with pytest.raises(ValueError, match="bins=0"):
        plots.densities(bayes, bins=0)


def test_ladder(lda, logit, bayes):
    fig = plots.ladder(lda, ["aic", "llf", "error_loo"])
    table = lda.ladder()
    for ax, name in zip(fig.axes, ["aic", "llf", "error_loo"]):
        assert (ax.lines[0].get_xdata() == table[name]).all()
        best = table[name].max() if name == "llf" else table[name].min()
        assert ax.lines[1].get_marker() == "*" and ax.lines[1].get_xdata() == [best]
    bold = [t.get_text() for t in fig.axes[0].get_yticklabels() if t.get_fontweight() == "bold"]
    assert bold == ["full, pooled (LDA)"]
    with pytest.raises(NotImplementedError, match=r"ladder\(\) of Logit"):
        plots.ladder(logit)
    with pytest.raises(NotImplementedError, match="is for gaussian features"):
        plots.ladder(bayes)
    with pytest.raises(ValueError, match='choose "aic", '):
        plots.ladder(lda, ["BIC"])


def test_laws_that_the_data_do_not_have():
    rng = np.random.default_rng(0)
    few = pd.DataFrame(rng.normal(size=(9, 3)), columns=list("abc")).assign(y=list("uuuvvvwww"))
    res = LDA.from_formula("y ~ a + b + c", few).fit()
    assert res.ladder().aic.isna().sum() == 1
    assert "(no estimate)" in words(plots.ladder(res, "aic"))


def test_texts_are_apart(bayes, eight):
    assert not crowded(plots.ladder(LDA.from_formula("y ~ x + n", bayes.model.data.frame).fit()))
    assert not crowded(plots.densities(bayes))
    levels = eight.model._response.levels
    kinds = [f"a quite long $label$ of level {k:02d}" for k in range(40)]
    wide = pd.DataFrame({"y": np.repeat(levels, 40), "kind": kinds * 8})
    assert not crowded(plots.densities(NaiveBayes.from_formula("y ~ kind", wide, smoothing=1).fit()))
