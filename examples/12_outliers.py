"""
Probit or logit, when one label is wrong
========================================

The two links are so alike that data seldom tell them apart, except in their tails. There they differ by orders of
magnitude, and one bird whose sex was entered wrongly shows it. Which link bears it better, and how is such a row found?
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# Two tails
# ---------
# Log-likelihood of an event at linear predictors ever further on the wrong side. In the logit it falls as a straight
# line, in the probit as a parabola. Both are exact where the probability itself is below the smallest double.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import ndtr

from glmclf import Logit, Probit, datasets, plots

pd.set_option("display.width", 110, "display.max_columns", 10)
eta = np.array([-1.0, -2, -5, -10, -20, -40])
tails = {model.__name__: model(np.append(np.ones(6), 0), np.append(eta, 0)[:, None]).loglikeobs([1.0])[:6]
         for model in (Logit, Probit)}
with np.errstate(divide="ignore"):
    naive = np.log(ndtr(eta))
print(pd.DataFrame({**tails, "log(cdf), probit": naive}, index=eta).round(4))

# %%
# The data
# --------
# Sex and mass of 146 Adélie penguins. The heaviest, of 4.775 kg, is a male. Suppose that it was entered as a female.

adelie = datasets.load("penguins").dropna(ignore_index=True).query("species == 'Adelie'").reset_index(drop=True)
adelie = pd.DataFrame({"male": (adelie["sex"] == "male").astype(int), "mass": adelie["body_mass_g"] / 1000})
heaviest = adelie["mass"].idxmax()
wrong = adelie.copy()
wrong.loc[heaviest, "male"] = 0
fits = {(name, model.__name__): model.from_formula("male ~ mass", data).fit()
        for name, data in {"as it is": adelie, "one wrong": wrong}.items() for model in (Logit, Probit)}
table = {key: {"slope": fit.params["mass"], "llf": fit.llf, "p of the heaviest": fit.fittedvalues[heaviest],
               "its share of llf": fit.model.loglikeobs(fit.params)[heaviest]} for key, fit in fits.items()}
print(pd.DataFrame(table).T.round(4))

# %%
# Of 146 rows one costs the logit a fifth of its slope, and the probit nearly a third: a row that far on the wrong side
# is nearly impossible to a probit, which bends to make it less so.
#
# Which link do the data want?
# ----------------------------
# The models are not nested. Vuong's test compares the log-likelihoods row by row (positive: the logit's are larger).

for name in ("as it is", "one wrong"):
    print(name, fits[name, "Logit"].compare_vuong(fits[name, "Probit"]).loc["uncorrected"].round(3).to_dict())

# %%
# One label turns the sign: a clear preference for the probit becomes one for the logit, if not quite significant. The
# test, like the fit, hangs on the tails. Before one believes it, one asks which rows it rests on.
#
# Finding the row
# ---------------
# Leverage says nothing here: weights p(1 - p) vanish far out, and the row's with them. Cook's distance and the change
# of the Pearson statistic do: they are about the label too.

for model in ("Logit", "Probit"):
    rows = fits["one wrong", model].get_influence().summary_frame()
    print(model, rows[["hat_diag", "dfb_mass", "cooks_d", "delta_chi2"]].nlargest(3, "cooks_d").round(4), sep="\n")
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, model in zip(axes, ("Logit", "Probit")):
    plots.influence(fits["one wrong", model], label=2, ax=ax)
    ax.set_title(model)
plt.show()

# %%
# The further out, the worse
# --------------------------
# Let the wrong bird be lighter or heavier than it was. How steep are the two curves, as shares of what they are without
# the row?

places = np.linspace(3.5, 7, 15)
slopes = pd.DataFrame(index=pd.Index(places, name="mass"), columns=["Logit", "Probit"], dtype=float)
for model in (Logit, Probit):
    without = model.from_formula("male ~ mass", adelie.drop(index=heaviest)).fit().params["mass"]
    for place in places:
        moved = wrong.copy()
        moved.loc[heaviest, "mass"] = place
        slopes.loc[place, model.__name__] = model.from_formula("male ~ mass", moved).fit().params["mass"] / without
print(slopes.iloc[::2].round(3))

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
grid = np.linspace(-8, 4, 121)
for model, scale, style in ((Logit, np.pi / np.sqrt(3), "-"), (Probit, 1.0, "--")):
    one = model(np.append(np.ones(121), 0), np.append(grid * scale, 0)[:, None])
    left.plot(grid, one.loglikeobs([1.0])[:121], style, label=model.__name__)
    right.plot(slopes.index, slopes[model.__name__], style, label=model.__name__)
left.set(xlabel="linear predictor, in standard deviations of the link", title="log-likelihood of an event")
right.set(xlabel="mass of the female that is none, kg", title="slope, as a share of that without it", ylim=(0, 1.05))
left.legend()
plt.show()

# %%
# Neither is robust. A row pulls the logit by (y - p) x, of which the first part is at most 1 and the second has no
# bound; it pulls the probit harder wherever it is far on the wrong side, since there the first part grows as well.
#
# Report what is found with the row and without it. The difference of the log-likelihoods is more than that row's share,
# since the others are fitted worse on its account:

others = wrong.drop(index=heaviest)
kept = {model.__name__: model.from_formula("male ~ mass", others).fit() for model in (Logit, Probit)}
rest = {name: fits["one wrong", name].llf - table["one wrong", name]["its share of llf"] for name in kept}
print(pd.DataFrame({"slope without the row": {name: fit.params["mass"] for name, fit in kept.items()},
                    "llf of the others, fitted without it": {name: fit.llf for name, fit in kept.items()},
                    "fitted with it": rest}).round(3))

# %%
# The sentence for the report
# ---------------------------

share = {m: 1 - fits["one wrong", m].params["mass"] / fits["as it is", m].params["mass"] for m in ("Logit", "Probit")}
cook = {m: fits["one wrong", m].get_influence().summary_frame()["cooks_d"][heaviest] for m in ("Logit", "Probit")}
print(f"One wrong label of {len(wrong)} lowers the slope of the logit by {share['Logit']:.0%} and that of the probit "
      f"by {share['Probit']:.0%} (Cook's distance {cook['Logit']:.2f} and {cook['Probit']:.2f}), and turns "
      "Vuong's test from the probit to the logit.")
