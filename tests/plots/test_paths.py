"""Paths of penalised fits: coefficients over alpha, and the deviance of cross-validation."""

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from figures import crowded, segments  # noqa: E402

from glmclf import plots  # noqa: E402
from glmclf.errors import DataError  # noqa: E402

ALPHAS = [1.0, 0.1, 0.01, 0.001]


@pytest.fixture(scope="module")
def cv(mnlogit):
    return mnlogit.model.fit_regularized_cv(L1_wt=1.0, alphas=ALPHAS, folds=3, seed=1)


def curves(ax, n):
    """Lines of coefficients: those with as many points as there are alphas."""
    return [line.get_xydata() for line in ax.get_lines() if len(line.get_xdata()) == n]


def test_coefficients_over_alpha(logit):
    path = logit.model.fit_regularized(alphas=[*ALPHAS, 0.0])
    fig = plots.regularization(path)
    ax, b = fig.axes[0], path.params.drop(columns="Intercept").iloc[:-1]
    found = curves(ax, 4)
    assert len(found) == 4 and all((xy[:, 0] == ALPHAS).all() for xy in found)
    assert all((xy[:, 1] == b[name]).all() for xy, name in zip(found, b))
    assert ax.get_xscale() == "log" and ax.xaxis_inverted() and ax.get_xlabel().endswith("(0 is not shown)")
    assert {text.get_text().replace("\n", "") for text in ax.texts} == set(b)
    top = ax.child_axes[0]
    fig.draw_without_rendering()
    assert top.get_xlabel() == "effective degrees of freedom"
    assert [t.get_text() for t in top.get_xticklabels()] == [f"{v:.3g}" for v in path.edf.iloc[:4][::-1]]
    assert not crowded(fig)


def test_which_coefficients(logit, wide):
    path = logit.model.fit_regularized(alphas=[0.1, 0.01])
    assert len(curves(plots.regularization(path, which=["Intercept", "bill_depth_mm"]).axes[0], 2)) == 2 + 1
    for options, error, words in [
        ({"which": ["bill"]}, DataError, "no coefficient. The coefficients are"),
        ({"drop": "bill_depth_mm"}, TypeError, "a list of names"),
        ({"part": "deviance"}, ValueError, "part='deviance'"),
        ({"label": "a"}, ValueError, "label='a': how many"),
        ({"label": -1}, ValueError, "label=-1: how many"),
        ({"part": "cv"}, TypeError, "without cross-validation"),
    ]:
        with pytest.raises(error, match=words):
            plots.regularization(path, **options)
    many = plots.regularization(wide.model.fit_regularized(L1_wt=1.0, alphas=[0.1, 0.01]), label=10)
    assert len(many.axes[0].texts) == 10 and not crowded(many)
    with pytest.raises(TypeError, match="fit_regularized.alphas=.*found BinaryResults"):
        plots.regularization(logit)


def test_weights_by_coefficient(mnlogit):
    """What is free is drawn, what is excluded is not; the axis says that alpha multiplies weights."""
    names = mnlogit.model.exog_names[1:]
    weights = {names[0]: 0.0, names[1]: np.inf, **dict.fromkeys(names[2:], 2.0)}
    found = mnlogit.model.fit_regularized_cv(L1_wt=1.0, alphas=ALPHAS, folds=3, seed=1, alpha=weights)
    fig = plots.regularization(found)
    lines = [xy[:, 1] for xy in curves(fig.axes[1], 4)]
    assert len(lines) == len(names) - 1 and (lines[0] == found.path.params["Dream"][names[0]]).all() and lines[0].all()
    assert all(ax.get_xlabel() == "alpha, weight of the penalty" for ax in fig.axes)
    assert fig.axes[1].child_axes[0].get_xlabel() == "slopes that are not 0" and not crowded(fig)
    drawn = plots.regularization(found, "coefficients", which=[names[1]]).axes[0]
    assert not curves(drawn, 4)[0][:, 1].any()
    path = mnlogit.model.fit_regularized(dict(zip(names, (1.0, 3.0))), alphas=ALPHAS, L1_wt=1.0)
    assert plots.regularization(path).axes[0].get_xlabel() == "alpha, times the weight of each coefficient"


def test_cross_validation(cv, mnlogit):
    fig = plots.regularization(cv)
    assert [ax.get_title() for ax in fig.axes] == ["cross-validation, 3 folds, n = 333", "Dream", "Torgersen"]
    ax, table = fig.axes[0], cv.cv
    assert (curves(ax, 4)[0] == np.column_stack([table.index, table["deviance"]])).all()
    ends = np.column_stack([table["deviance"] - table["se"], table["deviance"] + table["se"]])
    assert (segments(ax)[:, :, 1] == ends).all()
    for panel in fig.axes:
        marks = {line.get_linestyle(): line.get_xdata()[0] for line in panel.get_lines() if len(line.get_xdata()) == 2}
        assert (marks[":"], marks["--"]) in [(cv.alpha_1se, cv.alpha_min), (cv.alpha_1se, 0)]
    assert (curves(fig.axes[2], 4)[0][:, 1] == cv.path.params["Torgersen"].iloc[:, 1]).all()
    assert fig.axes[1].child_axes[0].get_xlabel() == "slopes that are not 0" and not crowded(fig)


def test_parts_on_axes_of_a_user(cv):
    figure, axes = plt.subplots(1, 3)
    assert plots.regularization(cv, ax=axes) is figure and all(ax.has_data() for ax in axes)
    assert len(plots.regularization(cv, "cv").axes) == 1 and len(plots.regularization(cv, "coefficients").axes) == 2
    with pytest.raises(ValueError, match="1 Axes; this plot has 3 panels"):
        plots.regularization(cv, ax=plt.subplots()[1])


def test_one_alpha_is_a_mark(logit):
    ax = plots.regularization(logit.model.fit_regularized(alphas=[0.1])).axes[0]
    assert all(line.get_marker() != "None" for line in ax.get_lines() if len(line.get_xdata()) == 1)
    with pytest.raises(DataError, match="no alpha above 0"):
        plots.regularization(logit.model.fit_regularized(alphas=[0.0]))
