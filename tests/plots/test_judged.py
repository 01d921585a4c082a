"""ROC, precision and recall, calibration, confusion: what is drawn are the numbers of the result."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, points, segments, words  # noqa: E402

import glmclf  # noqa: E402
from glmclf import Logit, MNLogit, Probit, datasets, plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402


def lines(ax):
    return [line for line in ax.get_lines() if line.get_linestyle() != "None"]


def legend(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]


def test_roc(logit):
    fig, found = plots.roc(logit, alpha=0.1, cut="youden"), logit.roc()
    ax = fig.axes[0]
    assert (lines(ax)[1].get_xydata() == found.curve[["fpr", "tpr"]]).all(axis=None)
    low, high = found.conf_int(0.1)
    assert legend(ax) == [f"AUC {found.auc:.3f} ({low:.3f} to {high:.3f})"]
    best = found.cut_points().loc["youden"]
    assert points(ax).tolist() == [[1 - best["specificity"], best["sensitivity"]]]
    assert ax.texts[0].get_text() == f"p > {best['threshold']:.3g}"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("1 − specificity", "sensitivity of 'male'")
    assert ax.get_title() == "168 events, 165 others" and not crowded(fig)


def test_roc_of_several(logit, probit, mnlogit, eight):
    ax = plots.roc([logit, probit]).axes[0]
    assert [len(line.get_xdata()) for line in lines(ax)[1:]] == [len(r.roc().curve) for r in (logit, probit)]
    assert [text.split(" AUC")[0] for text in legend(ax)] == ["Logit", "Probit"]
    assert len({line.get_linestyle() for line in lines(ax)[1:]}) == 2  # apart without colours, too
    given = plots.roc([logit.roc(), probit.roc()], names=["a", "b"]).axes[0]
    assert (lines(given)[1].get_xydata() == lines(ax)[1].get_xydata()).all()
    with pytest.raises(NotImplementedError, match="give event=, one of"):
        plots.roc([mnlogit, mnlogit])
    with pytest.raises(ValueError, match="cut='best'"):
        plots.roc(logit, cut="best")
    with pytest.raises(TypeError, match="takes no event="):
        plots.roc(logit.roc(), event="male")
    fig, found = plots.roc(eight), eight.roc()
    curves = lines(fig.axes[0])[1:]
    assert all((line.get_ydata() == found.curve(lv).curve["tpr"]).all() for lv, line in zip(eight.levels, curves))
    assert not crowded(fig) and any("$x_7$" in text for text in words(fig))
    assert plots.roc(mnlogit).axes[0].get_title().startswith("each level against all others, Hand-Till M\n0.")


def test_a_perfect_curve_has_no_interval():
    with pytest.warns(UserWarning, match="is infinite"):
        res = Logit.from_formula("y ~ x", {"y": [0, 0, 1, 1], "x": [1.0, 2, 3, 4]}).fit()
    curve = res.roc()
    with pytest.warns(UserWarning, match="there is no interval"):
        fig = plots.roc(curve)
    assert legend(fig.axes[0]) == ["AUC 1.000 (no interval)"]
    with pytest.warns(UserWarning, match="0 or 1"):
        title = plots.calibration(res, bins=2).axes[0].get_title()
    assert title.replace("\n", " ") == "no intercept, no slope, Brier 0.000, n = 4"


def test_precision_recall(logit, mnlogit):
    ax, found = plots.precision_recall(logit).axes[0], logit.precision_recall()
    assert (lines(ax)[0].get_xydata() == found.curve[["recall", "precision"]].dropna()).all(axis=None)
    said = [f"average precision {found.average_precision:.3f}", f"chance {found.prevalence:.3f}"]
    assert legend(ax) == said and lines(ax)[1].get_ydata()[0] == found.prevalence
    with pytest.raises(ValueError, match="give event="):
        plots.precision_recall(mnlogit)
    assert plots.precision_recall(mnlogit, event="Dream").axes[0].get_ylabel() == "precision of 'Dream'"


def test_calibration(logit):
    fig, found = plots.calibration(logit, bins=6, alpha=0.1), logit.calibration(6)
    ax, table = fig.axes[0], found.curve_frame(0.1)
    assert (points(ax) == table[["predicted", "observed"]]).all(axis=None)
    assert (segments(ax)[:, :, 1] == table[["lower", "upper"]]).all(axis=None)
    assert (lines(ax)[1].get_xydata() == found.smooth_frame()).all(axis=None)
    assert ax.get_title().replace("\n", " ") == "intercept 0.00, slope 1.00, Brier 0.083, n = 333"
    bars, counts = ax.patches, found.histogram()
    tall = np.array([bar.get_height() for bar in bars]).reshape(2, -1)
    most = counts[["events", "others"]].to_numpy().max()
    assert tall * most / 0.11 == pytest.approx(np.stack([counts["events"], -counts["others"]]))
    assert ax.get_xlabel() == "predicted probability of 'male'" and not crowded(fig)


def test_calibration_of_several(logit, probit, mnlogit, eight):
    ax = plots.calibration([logit, probit], bins=5).axes[0]
    assert legend(ax) == ["Logit", "Probit"] and not ax.patches
    with pytest.raises(NotImplementedError, match="give level=, one of"):
        plots.calibration([mnlogit, mnlogit])
    with pytest.raises(DataError, match="level='Dreams'"):
        plots.calibration(mnlogit, level="Dreams")
    with pytest.raises(DataError, match="level='male' is none of those with a curve of MNLogit"):
        plots.calibration([logit, mnlogit], level="male")
    found = mnlogit.calibration(5)
    fig = plots.calibration(found)
    assert [ax.get_ylabel() for ax in fig.axes] == [f"observed share of '{level}'" for level in mnlogit.levels]
    assert (points(fig.axes[1]) == found.curve.loc["Dream", ["predicted", "observed"]]).all(axis=None)
    assert not crowded(fig)
    fig = plots.calibration(eight, bins=2, smooth=False, level=eight.levels[3])
    assert not crowded(fig) and any("$x_3$" in text for text in words(fig).copy())


def test_histogram_of_predictions(penguins):
    """Against numpy's, of the probabilities themselves; weights count."""
    res = Logit.from_formula("sex ~ bill_depth_mm", penguins, event="male").fit()
    p, yes = res.predict().to_numpy(), (penguins.sex == "male").to_numpy()
    table = res.calibration().histogram(7)
    assert (table["events"] == np.histogram(p[yes], 7, (0, 1))[0]).all()
    assert (table["others"] == np.histogram(p[~yes], 7, (0, 1))[0]).all()
    assert table["left"].tolist() == (np.arange(7) / 7).tolist() and table["right"].iloc[-1] == 1
    w = np.arange(len(p)) % 3 + 1
    counted = Logit.from_formula("sex ~ bill_depth_mm", penguins.assign(w=w), event="male", freq_weights="w").fit()
    table = counted.calibration().histogram(7)
    assert (table["events"] == np.histogram(counted.predict()[yes], 7, (0, 1), weights=w[yes])[0]).all()
    with pytest.raises(ValueError, match="bins=0"):
        res.calibration().histogram(0)


def test_histogram_of_several_levels(mnlogit, penguins):
    table = mnlogit.calibration().histogram(4)
    p = mnlogit.predict()["Dream"]
    assert (table.loc["Dream", "events"] == np.histogram(p[penguins.island == "Dream"], 4, (0, 1))[0]).all()
    assert table.groupby(level=0)[["events", "others"]].sum().sum(axis=1).tolist() == [333] * 3


def test_confusion(logit, mnlogit, penguins):
    fig, table = plots.confusion(logit, 0.3), logit.pred_table(0.3)
    ax = fig.axes[0]
    shares = table.to_numpy() / table.to_numpy().sum(axis=1, keepdims=True)
    assert (ax.images[0].get_array() == shares).all()
    cells = [f"{n:.0f}\n{100 * s:.0f} %" for n, s in zip(table.to_numpy().ravel(), shares.ravel())]
    assert [text.get_text() for text in ax.texts] == cells
    assert ax.get_title() == "n = 333, 'male' where p > 0.3"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted sex", "observed sex")
    report = plots.confusion(mnlogit.classification_report())
    assert len(report.axes[0].texts) == 9 and not crowded(report)
    with pytest.raises(NotImplementedError, match="threshold= is for two levels"):
        plots.confusion(mnlogit, 0.5)


def test_a_class_without_rows_has_no_shares(mnlogit, penguins):
    pl = pytest.importorskip("polars")
    some = penguins[penguins.island != "Dream"]
    fig = plots.confusion(mnlogit, newdata=pl.from_pandas(some))
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert texts[3:6] == ["0\n–"] * 3 and fig.axes[0].get_title() == f"n = {len(some)}"
    assert fig.axes[0].images[0].get_array().mask[1].all()


def test_confusion_of_long_names(eight):
    fig = plots.confusion(eight)
    assert not crowded(fig)
    assert [t.get_text().replace("\n", " ").replace("\\", "") for t in fig.axes[0].get_yticklabels()] == eight.levels


def test_rows_that_are_gone(logit, penguins, tmp_path):
    logit.save(tmp_path / "kept.json")
    res = glmclf.load(tmp_path / "kept.json")
    for plot in (plots.roc, plots.precision_recall, plots.calibration, plots.confusion):
        with pytest.raises(DataError, match="rows of the fit"):
            plot(res)
    new = lines(plots.roc(res, penguins).axes[0])[1].get_xydata()
    assert (new == lines(plots.roc(logit).axes[0])[1].get_xydata()).all()


def test_streams_and_counts():
    table = datasets.load("spector")
    halves = [table.iloc[:15], table.iloc[15:]]
    res = Logit.from_formula("GRADE ~ GPA + PSI", lambda: iter(halves)).fit()
    whole = Logit.from_formula("GRADE ~ GPA + PSI", table).fit()
    assert [t.get_text() for t in plots.confusion(res).axes[0].texts] == [
        t.get_text() for t in plots.confusion(whole).axes[0].texts
    ]
    assert points(plots.calibration(res, 4).axes[0]) == pytest.approx(points(plots.calibration(whole, 4).axes[0]))
    beetles = Probit.from_formula("killed + survived ~ dose", datasets.load("beetles")).fit()
    assert plots.confusion(beetles).axes[0].get_title() == "n = 481, 1 where p > 0.5"


def test_counts_and_fractions_are_called_by_their_columns():
    beetles = datasets.load("beetles")
    counts = Probit.from_formula("killed + survived ~ dose", beetles).fit()
    n = beetles.killed + beetles.survived
    share = Logit.from_formula("share ~ dose", beetles.assign(share=beetles.killed / n, n=n), trials="n").fit()
    for res, name in ((counts, "killed"), (share, "share")):
        for given in (res, res.calibration(3)):
            ax = plots.calibration(given, bins=3 if given is res else 10).axes[0]
            assert ax.get_xlabel() == f"predicted probability of {name}"
            assert ax.get_ylabel() == f"observed share of {name}"
        assert plots.roc(res).axes[0].get_ylabel() == f"sensitivity of {name}"
        assert plots.precision_recall(res.precision_recall()).axes[0].get_ylabel() == f"precision of {name}"
    both = plots.calibration({"a": counts, "b": share}, bins=3).axes[0]
    assert both.get_xlabel() == "predicted probability of the event"
    assert plots.roc({"a": counts, "b": share}).axes[0].get_ylabel() == "sensitivity"


def test_levels_that_are_numbers():
    generator = np.random.default_rng(3)
    table = pd.DataFrame({"k": np.tile([1.0, 2.0, 3.5], 40), "x": generator.normal(size=120)})
    res = MNLogit.from_formula("k ~ x", table).fit()
    assert [t.get_text() for t in plots.confusion(res).axes[0].get_xticklabels()] == ["1", "2", "3.5"]
    assert legend(plots.coefficients(res).axes[0]) == ["2", "3.5"]
    assert plots.calibration(res, level=2.0).axes[0].get_xlabel() == "predicted probability of 2"
