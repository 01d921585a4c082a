"""
One row at a time: the perceptron, stochastic gradient and IRLS
===============================================================

Rosenblatt's perceptron (1958) learns from one row at a time, and only from its mistakes. What does it find, on what
does its answer depend, and what does logistic regression, by stochastic gradient or by IRLS, say in its place?
"""

# %%
# The data
# --------
# Depth of the bill and mass or length of the flipper of 333 penguins, standardised. Two questions: is it a gentoo? Is
# it male?

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import Logit, datasets, detect_separation
from glmclf.errors import ConvergenceWarning

pd.set_option("display.width", 110, "display.max_columns", 8)
penguins = datasets.load("penguins").dropna(ignore_index=True)
sizes = {"depth": "bill_depth_mm", "flipper": "flipper_length_mm", "mass": "body_mass_g"}
table = pd.DataFrame({new: penguins[old] for new, old in sizes.items()})
table = ((table - table.mean()) / table.std()).assign(gentoo=(penguins["species"] == "Gentoo").astype(int),
                                                      male=(penguins["sex"] == "male").astype(int))

# %%
# The perceptron
# --------------
# Labels are -1 and 1, the first column is the constant 1. A row on the wrong side (y x'w <= 0) is added to w, with its
# sign; it ends when a pass over all rows makes no mistake.


def perceptron(X, y, seed, passes=100):
    """Weights and mistakes by pass; rows in an order that the seed fixes."""
    w, mistakes = np.zeros(X.shape[1]), []
    order = np.random.default_rng(seed)
    while len(mistakes) < passes and (not mistakes or mistakes[-1]):
        mistakes.append(0)
        for i in order.permutation(len(X)):
            if y[i] * (X[i] @ w) <= 0:
                w += y[i] * X[i]
                mistakes[-1] += 1
    return w, mistakes


X = np.column_stack([np.ones(len(table)), table[["depth", "flipper"]]])
y = 2 * table["gentoo"].to_numpy() - 1
found = {seed: perceptron(X, y, seed) for seed in range(5)}
margins = {seed: (y * (X @ w)).min() / np.linalg.norm(w[1:]) for seed, (w, _) in found.items()}
print(pd.DataFrame({seed: {"mistakes": sum(m), "passes": len(m), "intercept": w[0], "depth": w[1], "flipper": w[2],
                           "margin": margins[seed]} for seed, (w, m) in found.items()}).T.round(3))

# %%
# Three to five mistakes, and it is done. Novikoff (1962) proved that it must: if some w of length 1 has all rows on
# their side, by g or more, there are at most (R/g)^2 mistakes, R the length of the longest row. The best of the five
# gives a bound:

unit = [w / np.linalg.norm(w) for w, _ in found.values()]
gap = max((y * (X @ w)).min() for w in unit)
print(f"at most {(np.linalg.norm(X, axis=1).max() / gap) ** 2:.0f} mistakes, in any order of the rows")

# %%
# But the five answers differ: each is the first line that happened to do. The seed chose; no likelihood and no margin.

fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
for label, mark in ((0, "o"), (1, "^")):
    rows = table[table["gentoo"] == label]
    ax.plot(rows["flipper"], rows["depth"], mark, markersize=4, alpha=0.6, label=["others", "gentoo"][label])
ends = np.array([-2.2, 2.4])
for w, _ in found.values():
    ax.plot(ends, -(w[0] + w[2] * ends) / w[1], color="grey", linewidth=1)
ax.set(xlabel="flipper", ylabel="depth", ylim=(-2.3, 2.4), title="five perceptrons, five orders of the rows")
ax.legend()
plt.show()

# %%
# Logistic regression has no estimate here: its likelihood grows as long as such a w does. ``fit`` decides that exactly,
# and says so, in place of large numbers from wherever it stopped. (Firth's penalised one is finite, and in no order.)

print(detect_separation("gentoo ~ depth + flipper", table))
print(Logit.from_formula("gentoo ~ depth + flipper", table).fit(bias_reduction="firth").params.round(3).to_string())

# %%
# Rows that no line separates
# ---------------------------
# Male or female, by depth and mass: the perceptron never ends. Its mistakes do not become fewer, and where it stands
# after a hundred passes depends on which rows came last.

X = np.column_stack([np.ones(len(table)), table[["depth", "mass"]]])
y = 2 * table["male"].to_numpy() - 1
found = {seed: perceptron(X, y, seed) for seed in range(5)}
print(pd.DataFrame({seed: {"mistakes in pass 1": m[0], "in pass 100": m[99], "depth / mass": w[1] / w[2],
                           "rows wrong at the end": int((y * (X @ w) <= 0).sum())}
                    for seed, (w, m) in found.items()}).T.round(3))

# %%
# Stochastic gradient of the log-likelihood changes one thing: each row is added with the weight y - p, which fades as
# the row is understood, in place of all or nothing. ``fit(method="sgd")`` does that with shrinking steps and averages
# them. ``polish=False`` leaves it there, and it says how far it is; otherwise Newton steps finish.

model = Logit.from_formula("male ~ depth + mass", table)
paths = {"IRLS": [], "sgd, a row a step": [], "sgd, 32 rows a step": []}
irls = model.fit(callback=lambda step, params, llf: paths["IRLS"].append(llf))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # that they end short of the maximum, as asked for
    sgd = {name: model.fit(method="sgd", seed=1, batch_size=size, polish=False,
                           callback=lambda step, params, llf, path=paths[name]: path.append(llf))
           for name, size in (("sgd, a row a step", 1), ("sgd, 32 rows a step", 32))}
fits = {"IRLS": irls, **sgd, "sgd, polished": model.fit(method="sgd", seed=1)}
print(pd.DataFrame({name: {**fit.params, "llf": fit.llf,
                           "standard errors from the maximum": fit.mle_retvals.get("remaining_error", 0.0)}
                    for name, fit in fits.items()}).T.round(3))

# %%
# IRLS weighs all rows at each step, and at the end doubles its correct digits with each. Fifty passes of stochastic
# gradient leave a fifth or a quarter of a standard error: nothing for a prediction, something for a test. They pay
# where columns are so many that the p^2 n products of a step of IRLS are too dear; not here.

fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
for name, path in paths.items():
    short = irls.llf - np.array(path)
    ax.semilogy(np.arange(1, len(path) + 1), np.where(short > 1e-12, short, np.nan), ".-", label=name)
ax.set(xlabel="pass over the rows", ylabel="log-likelihood short of the maximum", title="male ~ depth + mass")
ax.legend()
plt.show()

# %%
# The sentence for the report
# ---------------------------

wrong = [int((y * (X @ w) <= 0).sum()) for w, _ in found.values()]
own = int(((irls.fittedvalues > 0.5) != table["male"]).sum())
print("Depth and flipper separate gentoos from the others: a perceptron finds one of many such lines, and odds ratios "
      f"are infinite. Sex is not separated: perceptrons have {min(wrong)} to {max(wrong)} rows wrong, by the order of "
      f"the rows; logistic regression has {own} in any order, and says how sure it is of each "
      f"(log-likelihood {irls.llf:.1f}).")
