"""What plots share: labels, axes given or made, results by name."""

import numpy as np
import pandas as pd
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from glmclf import LDA, Logit, MNLogit, NaiveBayes, plots  # noqa: E402
from glmclf.plots import layout, marks  # noqa: E402
from glmclf.plots.paths import _apart  # noqa: E402


@pytest.mark.parametrize("label, longest, lines", [
    ("short", 10, ["short"]),
    ("one two three", 8, ["one two", "three"]),
    ("with n = 400 and", 8, ["with", "n = 400", "and"]),
    ("bins of x (p < 0.001)", 14, ["bins of x", "(p < 0.001)"]),
    ("a 95 % interval", 5, ["a", "95 %", "inter", "val"]),
    ("a_rather_long_name", 10, ["a_rather_", "long_name"]),
    ("$x$ costs $5", 20, [r"\$x\$ costs \$5"]),
    ("two\nlines", 20, ["two", "lines"]),
    ("a\x1b[2J\u202eb\u2028c", 30, [r"a\x1b[2J\u202eb\u2028c"]),
    ("", 5, [""]),
])
def test_labels_in_lines(label, longest, lines):
    assert layout.wrapped(label, longest).split("\n") == lines


def test_a_label_is_drawn_as_it_is_written():
    fig, ax = plt.subplots()
    ax.set_title(layout.wrapped("a_1 $b$"))
    fig.draw_without_rendering()
    plain = ax.text(0, 0, "a_1 _b_", fontsize=ax.title.get_fontsize())  # with marks that are no mathematics
    height = plain.get_window_extent().height
    assert ax.title.get_window_extent().height == pytest.approx(height, abs=3)
    assert ax.title.get_text() == r"a_1 \$b\$"


def test_labels_are_moved_apart():
    wanted, need = np.array([0.0, 1.0, 1.1, 5.0]), np.full(4, 1.0)
    found = _apart(wanted, need, 5.0)
    assert (np.diff(found) >= 1 - 1e-12).all() and found[0] >= 0.5 and found[-1] <= 4.5
    assert found[1] == pytest.approx(1.5)


def test_long_names_in_small_axes_are_shortened(eight):
    ax = plt.subplots(2, 3, figsize=(9, 6))[1][0, 0]
    plots.roc(eight, ax=ax)
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said[7].startswith("level number 7 with…\nAUC 0.") and len(set(said)) == 8
    assert layout.shortened(["0123456789abcdefghij"]) == ["0123456789abcdefghij"]
    assert layout.shortened(["0123456789abcdefghijk\nb"]) == ["0123456789abcdefghi\u2026\nb"]


def test_panels_of_a_user(mnlogit):
    fig, axes = plt.subplots(2, 2)
    assert plots.coefficients(mnlogit, panels=True, ax=axes[0]) is fig
    assert [ax.get_title() for ax in axes[0]] == ["Dream", "Torgersen"] and not axes[1, 0].lines
    with pytest.raises(ValueError, match="3 Axes; this plot has 2 panels"):
        plots.coefficients(mnlogit, panels=True, ax=axes.ravel()[:3])
    with pytest.raises(TypeError, match="the Axes of a matplotlib figure"):
        plots.coefficients(mnlogit, ax=[3])


PLOTS = ["coefficients", "margins", "roc", "precision_recall", "calibration", "confusion", "probabilities"]


@pytest.mark.parametrize("name", PLOTS)
def test_what_is_no_result(name, logit):
    more = ["species"] if name == "probabilities" else []
    for wrong, words in [(3, "found int"), (Logit, "found the class Logit"), (logit.model, "call fit\\(\\) first")]:
        with pytest.raises(TypeError, match=f"{name}\\(\\) draws results of fit.*{words}"):
            getattr(plots, name)(wrong, *more)


@pytest.mark.parametrize("name", PLOTS)
def test_what_plots_leave_alone(name, logit):
    """No parameter of matplotlib, no other figure; Axes given are drawn on, and their figure is the answer."""
    before, (fig, ax) = dict(plt.rcParams), plt.subplots()
    more = ["species"] if name == "probabilities" else []
    options = {"event": "male"} if name == "precision_recall" else {}
    assert getattr(plots, name)(logit, *more, ax=ax, **options) is fig
    assert ax.has_data() and dict(plt.rcParams) == before and plt.get_fignums() == [fig.number]


@pytest.mark.parametrize("name", ["coefficients", "margins", "roc", "calibration", "probabilities"])
@pytest.mark.parametrize("alpha", [0, 1, "a"])
def test_levels_of_intervals(name, alpha, logit):
    more = ["species"] if name == "probabilities" else []
    with pytest.raises(ValueError, match=f"alpha={alpha!r}"):
        getattr(plots, name)(logit, *more, alpha=alpha)


def test_names_of_results(logit, probit):
    def names(*args, **options):
        found = plots.coefficients(*args, which=["bill_depth_mm"], **options)
        return [text.get_text() for text in found.axes[0].get_legend().get_texts()]

    assert names([logit, probit]) == ["Logit", "Probit"] and names([logit, logit]) == ["Logit (1)", "Logit (2)"]
    assert names([logit, probit], names=["a", "$b$"]) == ["a", r"\$b\$"] == names({"a": logit, "$b$": probit})
    for wrong in (["a"], ["a", "a"], "ab"):
        with pytest.raises(ValueError, match="as many different names as results, 2"):
            names([logit, probit], names=wrong)
    with pytest.raises(ValueError, match="the list is empty"):
        plots.roc([])


def test_public_functions():
    assert set(PLOTS) <= set(plots.__all__) <= set(dir(plots))
    with pytest.raises(AttributeError, match="has no attribute 'rocs'"):
        plots.rocs


def test_names_that_begin_with_an_underscore(penguins, logit):
    """matplotlib leaves them out of legends; here they stand there, as they are written."""
    table = penguins[::4].assign(island=("_" + penguins.island).where(penguins.island != "Dream"), d=1.0)
    table["island"] = table.island.fillna("Dream")
    res = LDA.from_formula("island ~ bill_length_mm + body_mass_g", table).fit()
    named, levels = {"_one": logit, "two": logit}, ["Dream", "_Biscoe", "_Torgersen"]
    for fig, expected in (
        (plots.coefficients(res), levels[1:]),
        (plots.probabilities(res, "body_mass_g", at={"bill_length_mm": 40}, points=3), levels),
        (plots.probabilities(res, "body_mass_g", at={"bill_length_mm": 40}, points=3, stacked=True), levels),
        (plots.ellipses(res, "bill_length_mm", "body_mass_g"), levels),
        (plots.ellipses(res, "bill_length_mm", "body_mass_g", ax=plt.figure().add_subplot()), levels),
        (plots.roc(named), list(named)),
        (plots.precision_recall(named), [*named, "chance 0.505"]),
        (plots.calibration(named, smooth=False), list(named)),
    ):
        legend = fig.legends[0] if fig.legends else fig.axes[-1].get_legend()
        assert sorted(t.get_text().split("\n")[0] for t in legend.get_texts()) == sorted(expected)


def test_axes_that_are_not_plain():
    for projection in ("polar", "3d", "mollweide"):
        with pytest.raises(TypeError, match=f"ax= has {projection} axes"):
            layout.axes(plt.figure().add_subplot(projection=projection))


@pytest.mark.parametrize("name", ["roc", "precision_recall", "calibration", "confusion", "margins"])
def test_unknown_keywords(name, logit):
    with pytest.raises(TypeError, match=rf"^{name}\(\) has no keyword newdat=; beside its own it takes \w+, "):
        getattr(plots, name)(logit, newdat=1)


def test_names_of_places_fit():
    ax = plt.subplots(1, 3, figsize=(9, 3))[1][0]
    layout.categories(ax, range(3), ["a", "b", "c"])
    assert ax.get_xticklabels()[0].get_rotation() == 0
    for n in (5, 40):
        layout.categories(ax, range(n), [f"a name of place {i}" for i in range(n)])
        ax.set_xlim(-0.5, n - 0.5)
        ax.figure.draw_without_rendering()
        boxes = [t.get_window_extent() for t in ax.get_xticklabels()]
        assert all(a.x1 <= b.x0 + 1 for a, b in zip(boxes, boxes[1:]))


def test_figures_are_the_callers(logit, tmp_path):
    """Without windows pyplot keeps the newest of ours, on which it acts, and all of the caller's: none pile up."""
    plt.close("all")
    own = plt.figure()
    figures = [plots.coefficients(logit), plots.roc(logit), plots.calibration(logit)]
    assert plt.get_fignums() == [own.number, figures[-1].number] and plt.gcf() is figures[-1]
    plt.title("of the caller")
    assert figures[-1].axes[0].get_title() == "of the caller"
    for write in [*(figure.savefig for figure in figures), plt.savefig]:
        write(tmp_path / "drawn.png")
        assert (tmp_path / "drawn.png").stat().st_size > 5000
    plt.close("all")
    plots.roc(logit, ax=plt.figure().add_subplot())
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("draw", [plots.coefficients, plots.roc, plots.calibration, plots.confusion, plots.residuals])
def test_pyplot_writes_what_was_drawn(draw, logit, tmp_path):
    """plt.savefig after a plot, without windows, writes the bytes of the figure that was returned."""
    figure = draw(logit)
    plt.savefig(tmp_path / "pyplot.svg", metadata={"Date": None})
    assert plt.gcf() is figure and 'id="patch_2"' in (tmp_path / "pyplot.svg").read_text()


def test_a_notebook_shows_each_figure_once():
    """The cells of a notebook, run by IPython with matplotlib's inline backend."""
    pytest.importorskip("matplotlib_inline")
    capture = pytest.importorskip("IPython.utils.capture")
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    backend, image = plt.get_backend(), "image/png"
    try:
        shell.run_cell("%matplotlib inline")
        shell.run_cell("from glmclf import Logit, datasets, plots")
        shell.run_cell("res = Logit.from_formula('GRADE ~ GPA + PSI', datasets.load('spector')).fit()")
        for cell, shown in [("plots.roc(res)", 1), ("fig = plots.roc(res)", 0), ("fig", 1)]:
            with capture.capture_output() as found:
                answer = shell.run_cell(cell).result
            published = sum(image in output.data for output in found.outputs)
            displayed = answer is not None and image in shell.display_formatter.format(answer)[0]
            assert published + displayed == shown, cell
    finally:
        plt.switch_backend(backend)
        type(shell).clear_instance()


def test_classes_differ_in_colour_and_marker():
    """Twelve colours apart, then others with other markers and dashes."""
    looks = [tuple(marks.look(i).values()) for i in range(96)]
    styles = [tuple(marks.line(i).values()) for i in range(48)]
    assert len({*looks}) == len(looks) and len({*styles}) == len(styles)
    assert len({layout.colour(i) for i in range(12)}) == 12
    assert all(layout.marker(i) != layout.marker(i + 1) for i in range(96))


HOSTILE = "\x1b[2J\u202e $x_1$ \u2028"  # commands of a terminal, another direction of writing, mathematics, a line end
OF_NAMES = {
    "coefficients": lambda fits: plots.coefficients({HOSTILE + "1": fits[0], HOSTILE + "2": fits[0]}),
    "margins": lambda fits: plots.margins(fits[0]),
    "probabilities": lambda fits: plots.probabilities(fits[1], HOSTILE + "x"),
    "by": lambda fits: plots.probabilities(fits[0], HOSTILE + "x", by=HOSTILE + "g"),
    "points": lambda fits: plots.probabilities(fits[1], HOSTILE + "g"),
    "roc": lambda fits: plots.roc(fits[1]),
    "confusion": lambda fits: plots.confusion(fits[1]),
    "residuals": lambda fits: plots.residuals(fits[0], against=HOSTILE + "x"),
    "partial_residuals": lambda fits: plots.partial_residuals(fits[0]),
    "regions": lambda fits: plots.regions({HOSTILE: fits[2]}, HOSTILE + "x", HOSTILE + "z"),
    "canonical": lambda fits: plots.canonical(fits[2]),
    "densities": lambda fits: plots.densities(fits[3]),
    "regularization": lambda fits: plots.regularization(fits[0].model.fit_regularized(alphas=[0.1, 0.01])),
}


@pytest.fixture(scope="module")
def hostile():
    """Fits of a table whose names and levels command terminals."""
    G, n = np.random.default_rng(0), 120
    frame = pd.DataFrame({HOSTILE + name: G.normal(size=n) for name in "xz"})
    for name in "gk":
        frame[HOSTILE + name] = np.take([HOSTILE + level for level in "abc"], G.integers(3, size=n))
    frame["y"] = G.integers(2, size=n)
    x, z, g, k = (f"Q({HOSTILE + name!r})" for name in "xzgk")
    return [
        Logit.from_formula(f"y ~ {x} + {z} + {g}", frame).fit(), MNLogit.from_formula(f"{k} ~ {x} + {g}", frame).fit(),
        LDA.from_formula(f"{k} ~ {x} + {z}", frame).fit(), NaiveBayes.from_formula(f"{k} ~ {x} + {g}", frame).fit(),
    ]


@pytest.mark.parametrize("plot", OF_NAMES)
def test_no_name_commands_or_is_mathematics(plot, hostile):
    written = [found.get_text() for found in OF_NAMES[plot](hostile).findobj(plt.Text)]
    assert any(r"\x1b[2J\u202e" in text for text in written)
    for text in written:
        assert not set(text) & set("\x1b\u202e\u2028") and ("$" not in text.replace(r"\$", "") or "mathdefault" in text)
