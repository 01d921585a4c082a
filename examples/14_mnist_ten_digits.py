"""
Ten digits: softmax, LDA and naive Bayes on MNIST
=================================================

Multinomial logit with a ridge is what neural networks call a softmax layer with weight decay. How many of the test
images does it read, which does it doubt, and what do two generative models make of the same pixels?
"""

# %%
# The data
# --------
# 4,000 images to learn from and 1,000 to test; with the environment variable ``MNIST`` all 60,000 and 10,000
# (:doc:`/guides/mnist` has those numbers).

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import LDA, MNLogit, NaiveBayes, datasets

pd.set_option("display.width", 110, "display.max_columns", 12)
digits = datasets.mnist(os.environ.get("MNIST"))
train, test = digits.train_images / 255, digits.test_images / 255
live = np.ptp(train, axis=0) > 0
train, test, truth = train[:, live], test[:, live], digits.test_labels
print(digits.source, f"{live.sum()} of 784 pixels have ink in some training image", sep="\n")

# %%
# Three models
# ------------
# Softmax: with ``symmetric=True`` every digit has weights of its own, and no digit is the base. There are thousands of
# them, so the fit goes by gradients (limited-memory BFGS), to the same accuracy as others. A penalty makes the estimate
# finite: a pixel that no training image of some digit has inked wants a weight of minus infinity there.

inked = np.array([train[digits.train_labels == k].any(axis=0) for k in range(10)])
print(f"{(~inked.all(axis=0)).sum()} of these pixels are never inked in some digit")

softmax = MNLogit(digits.train_labels, np.column_stack([np.ones(len(train)), train])).fit_regularized(
    0.01, symmetric=True)
print({key: softmax.mle_retvals[key] for key in ("converged", "method")}, softmax.params.shape)

# %%
# LDA: digits as normal clouds around ten mean images, with one covariance matrix, which a tenth of shrinkage towards
# its diagonal keeps regular. Naive Bayes: each pixel black or white, with a probability of its own in each digit.

lda = LDA(digits.train_labels, train, shrinkage=0.1).fit()
ink = (train > 0.5).astype(int)
seen = np.ptp(ink, axis=0) > 0
bayes = NaiveBayes(digits.train_labels, ink[:, seen], smoothing=1).fit()

predicted = {"softmax": softmax.predict(np.column_stack([np.ones(len(test)), test])), "LDA": lda.predict(test),
             "naive Bayes": bayes.predict((test > 0.5).astype(int)[:, seen])}
predicted = {name: p.to_numpy() for name, p in predicted.items()}
report = pd.DataFrame({name: {"test accuracy": (p.argmax(axis=1) == truth).mean(),
                              "mean of the largest p": p.max(axis=1).mean(),
                              "true digit below p = 0.001": (p[np.arange(len(truth)), truth] < 0.001).mean()}
                       for name, p in predicted.items()}).T
print(report.round(4))

# %%
# Softmax is the most accurate. Whoever believed the probabilities would expect the accuracy of the second column.
# Softmax with this penalty is too modest; naive Bayes, which takes neighbouring pixels for independent witnesses, is
# nearly always sure, errs in one image of six, and holds the truth for all but impossible in most of these.
#
# Who is taken for whom
# ---------------------

decided = predicted["softmax"].argmax(axis=1)
confusion = pd.crosstab(pd.Series(truth, name="digit"), pd.Series(decided, name="read as"))
print(confusion)
off = confusion.to_numpy() * (1 - np.eye(10, dtype=int))
worst = sorted(((int(off[i, j]), i, j) for i, j in zip(*np.nonzero(off))), key=lambda one: (-one[0], *one[1:]))[:4]
print("most often:", "; ".join(f"{i} read as {j}, {n} times" for n, i, j in worst))

# %%
# The images that softmax doubts most, those with the smallest of the largest probabilities: what it reads, with
# what probability, and what it is.

doubt = predicted["softmax"].max(axis=1).argsort()[:12]
fig, axes = plt.subplots(2, 6, figsize=(9, 3.4), layout="constrained")
for ax, i in zip(axes.flat, doubt):
    ax.imshow(digits.test_images[i].reshape(28, 28), cmap="Greys")
    p = predicted["softmax"][i]
    ax.set_title(f"read as {p.argmax()}, p = {p.max():.2f}\nis {truth[i]}", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# A doubtful image may go to a human reader. If a share of them does, how many of the others are read rightly?

order = -np.sort(-predicted["softmax"].max(axis=1), kind="stable")
for share in (0.0, 0.05, 0.1, 0.2, 0.3):
    kept = predicted["softmax"].max(axis=1) >= order[round(len(order) * (1 - share)) - 1]
    print(f"{share:.0%} left to a reader: {(decided == truth)[kept].mean():.1%} of the others right")

# %%
# What the weights look like
# --------------------------
# Upper row: weights of the softmax, red for, blue against. Lower row: LDA's mean images, which is where a generative
# model begins.

weights, means = softmax.params.to_numpy()[1:], lda.means.to_numpy()
fig, axes = plt.subplots(2, 10, figsize=(12, 2.8), layout="constrained")
limit = np.quantile(np.abs(weights), 0.995)
for k in range(10):
    for ax, values, look in ((axes[0, k], weights[:, k], {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}),
                             (axes[1, k], means[k], {"cmap": "Greys"})):
        shown = np.zeros(784)
        shown[live] = values
        ax.imshow(shown.reshape(28, 28), **look)
        ax.set_axis_off()
    axes[0, k].set_title(str(k))
plt.show()

# %%
# The sentence for the report
# ---------------------------

best = report["test accuracy"]
print(f"Of {len(truth):,} test images, softmax regression with a ridge (alpha 0.01, not tuned) reads "
      f"{best['softmax']:.1%} rightly, LDA {best['LDA']:.1%} and naive Bayes {best['naive Bayes']:.1%}.")
