"""
A curved boundary from a linear model
=====================================

A logit is linear in its columns, not in what the columns are made of. With fixed functions phi(x) for columns, a
straight line in phi(x) is a curve in x. What does that look like, and how does one choose the functions?
"""

# %%
# Two clusters with another between them
# --------------------------------------
# Simulated: no straight line parts the middle from the ends.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import Logit, datasets, plots

pd.set_option("display.width", 110, "display.max_columns", 10)
rng = np.random.default_rng(1)
centres = np.repeat([[-1.6, -1.2], [0, 0], [1.6, 1.2]], [60, 120, 60], axis=0)
table = pd.DataFrame(centres + rng.normal(0, 0.55, (240, 2)), columns=["x", "z"])
table["middle"] = np.repeat([0, 1, 0], [60, 120, 60])
straight = Logit.from_formula("middle ~ x + z", table).fit()
print(straight.pred_table())

# %%
# Two Gaussian bumps, one at each end: phi1 and phi2 say how near a row is to the lower and to the upper end. A bump in
# the plane is a product of two bumps.

lower = "rbf(x, [-1.6], scale=1):rbf(z, [-1.2], scale=1)"
upper = "rbf(x, [1.6], scale=1):rbf(z, [1.2], scale=1)"
bumps = Logit.from_formula(f"middle ~ {lower} + {upper}", table).fit()
print(bumps.pred_table())
print(bumps.params.set_axis(["Intercept", "phi1", "phi2"]).round(3).to_string())
print(f"likelihood ratio chi2(2) against the intercept alone: {bumps.llr:.1f}; of x + z {straight.llr:.1f}")

# %%
# The same rows, the same boundary, in x and in phi(x):

b0, b1, b2 = bumps.params
phi = bumps.model.exog[:, 1:]
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
plots.regions(bumps, "x", "z", ax=left, resolution=80)
for label, mark in enumerate("os"):
    rows = phi[table["middle"] == label]
    right.plot(rows[:, 0], rows[:, 1], mark, markersize=4, alpha=0.7, label=label)
ends = np.array([-0.05, -b0 / b1 + 0.05])
right.plot(ends, -(b0 + b1 * ends) / b2, "k-")
right.set(xlabel="phi1: near the lower end", ylabel="phi2: near the upper end", title="the same in phi(x)")
right.legend()
plt.show()

# %%
# Near neither end is the middle: below the line. Nothing else has changed. It is a logit with two columns, whose
# coefficients have standard errors, tests and a likelihood; but the centres and the scale of the bumps were given to
# it. They are not estimated, and no standard error knows that we looked.
#
# Which functions?
# ----------------
# Which of 6,366 married women had an affair (Fair 1978), by years of marriage? Nobody knows the curve. Several families
# of functions, of one to four columns:

fair = datasets.load("fair")
fair["affair"] = (fair["affairs"] > 0).astype(int)
terms = ["yrs_married", "poly(yrs_married, 2)", "poly(yrs_married, 3)", "hinge(yrs_married, [5])",
         "yrs_married + hinge(yrs_married, [5, 12])", "rbf(yrs_married, df=3)", "sigmoid(yrs_married, df=3)",
         "bs(yrs_married, df=4)", "C(yrs_married)"]
fits = {term: Logit.from_formula(f"affair ~ {term}", fair).fit() for term in terms}
print(pd.DataFrame({term: {"columns": fit.df_model, "llf": fit.llf, "AIC": fit.aic, "BIC": fit.bic}
                    for term, fit in fits.items()}).T.round(1))

# %%
# The last row has a column for each of the values that occur: no function of years can fit better, and every other row
# has a test of fit against it. A hinge alone, flat for five years, is worse than the line. The curve of the least AIC
# among true curves, with its band:

saturated = fits.pop("C(yrs_married)")
best = min(fits, key=lambda term: fits[term].aic)
print(f"{best}: chi2 = {2 * (saturated.llf - fits[best].llf):.2f} on {saturated.df_model - fits[best].df_model:.0f} "
      "degrees of freedom against a column for each value")
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plots.probabilities(fits[best], "yrs_married", ax=ax)
share = fair.groupby("yrs_married")["affair"].agg(["mean", "size"])
ax.scatter(share.index, share["mean"], share["size"] / 20, color="black", zorder=3)
ax.set_title("curve, and shares (area: women)")
plt.show()

# %%
# What a coefficient of a basis function says, nobody wants to know. The slope in years goes through all functions: the
# probability rises by so much a year, at three stages.

slopes = {x: fits[best].get_margeff(at={"yrs_married": x}).summary_frame().iloc[0] for x in (1.0, 6.0, 13.0)}
print(pd.DataFrame(slopes).T.iloc[:, :2].astype(float).round(4))

# %%
# More functions are not better
# -----------------------------
# Learn from a hundred women only, and the rows of the fit always like one function more. All other women do not: the
# mean log probability of what they answered, over ten samples.

scores = []
for seed in range(10):
    few = fair.sample(100, random_state=seed)
    others = fair.drop(index=few.index)
    for degree in range(1, 6):
        fit = Logit.from_formula(f"affair ~ poly(yrs_married, {degree})", few).fit()
        p = fit.predict(others)
        scores.append({"degree": degree, "own rows": fit.llf / 100,
                       "other rows": np.log(np.where(others["affair"] == 1, p, 1 - p)).mean(), "AIC": fit.aic})
scores = pd.DataFrame(scores).groupby("degree").mean()
print(scores.round(4))

# %%
# AIC, which knows the own rows alone, stops where the other rows do, or nearly. :doc:`/guides/regularisation` is the
# other way out: many functions, and a penalty that cross-validation chooses.
#
# The sentence for the report
# ---------------------------

line = fits["yrs_married"]
print("The share of women with an affair grows with the years of marriage, steeply at first and hardly after six: a "
      f"spline (AIC {fits[best].aic:.1f}) fits as well as a column for each value and far better than a straight line "
      f"(AIC {line.aic:.1f}). With a hundred women, degree {scores['other rows'].idxmax()} is the best to predict the "
      "others by.")
