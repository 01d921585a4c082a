"""
Why not simply least squares?
=============================

Regress an indicator of each class on the features and give a row to the class of the largest fitted value: nothing is
quicker. When does that go wrong, and what does it have to do with Fisher's discriminant and with LDA?
"""

# %%
# Three classes in a row
# ----------------------
# Simulated: three round normal clouds of 60 rows, their centres on a line.

import pathlib

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import LDA, MNLogit, plots

pd.set_option("display.width", 110)
rng = np.random.default_rng(3)
centres = {"left": -4, "middle": 0, "right": 4}
table = pd.DataFrame({"x": np.concatenate([rng.normal(centre, 1, 60) for centre in centres.values()]),
                      "z": rng.normal(0, 1, 180), "group": np.repeat(list(centres), 60)})

# %%
# Least squares is one line of numpy: a column of coefficients for each indicator.


def least_squares(X, y):
    """Coefficients of the indicators of each class on a constant and X, (p + 1, K)."""
    indicators = (y.to_numpy()[:, None] == np.unique(y)).astype(float)
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), indicators, rcond=None)[0]


B = least_squares(table[["x", "z"]], table["group"])
fitted = np.column_stack([np.ones(180), table[["x", "z"]]]) @ B
decided = pd.Series(np.array(list(centres))[fitted.argmax(axis=1)], name="least squares")
print(pd.crosstab(table["group"], decided))

# %%
# The middle is masked: only rows of it that lie within a narrow strip are told. The picture shows why. The indicator of
# the middle is 0, 1, 0 along the row. The best straight line through that is flat, and one of the other two lines is
# above it nearly everywhere. (The three lines add up to 1, but leave [0, 1]: they are no probabilities.)

lda, logit = (model.from_formula("group ~ x + z", table).fit() for model in (LDA, MNLogit))
line = pd.DataFrame({"x": np.linspace(-6.5, 6.5, 131), "z": 0.0})
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
straight = np.column_stack([np.ones(131), line]) @ B
for ax, values, title in zip(axes, (straight, lda.predict(line)), ("indicators by least squares", "P(group), LDA")):
    for level, value, dashes in zip(centres, np.asarray(values).T, ("-", "--", ":")):
        ax.plot(line["x"], value, dashes, label=level, linewidth=2)
        ax.plot(table.loc[table["group"] == level, "x"], np.full(60, -0.35), "|", color=ax.lines[-1].get_color())
    ax.set(title=title, xlabel="x (z = 0)")
axes[0].legend()
plt.show()

# %%
# LDA and multinomial logit use the same straight lines, but as log-odds. Log-odds of the middle against the left rise,
# and against the right fall, so that the middle is likeliest in the middle.

plots.regions([lda, logit], "x", "z")
plt.show()
for res in (lda, logit):
    wrong = (res.predict(table, which="class") != table["group"]).sum()
    print(f"{type(res.model).__name__}: {wrong} of 180 wrong; least squares: {(decided != table['group']).sum()}")

# %%
# Two classes: three roads to one direction
# -----------------------------------------
# The sex of 200 crabs from five lengths. Fisher (1936) asked for the direction w in which the means are farthest apart
# for the spread within: the largest w'Bw / w'Ww, with B the squares and products between the sexes, W those within.
# The file is ``examples/data/crabs.csv`` of the repository (:download:`crabs.csv
# <../../examples/data/crabs.csv>`); away from it, put it into a folder ``data`` where the script or notebook runs.

folder = pathlib.Path("examples/data" if pathlib.Path("examples/data").is_dir() else "data")
crabs = pd.read_csv(folder / "crabs.csv")
names = ["FL", "RW", "CL", "CW", "BD"]
male = (crabs["sex"] == "M").to_numpy()
X = crabs[names].to_numpy()
means = {sex: X[male == sex].mean(axis=0) for sex in (False, True)}
W = sum((X[male == sex] - means[sex]).T @ (X[male == sex] - means[sex]) for sex in (False, True))
fisher = np.linalg.solve(W, means[True] - means[False])

lda = LDA.from_formula("sex ~ " + " + ".join(names), crabs).fit()
roads = {"Fisher": fisher, "least squares": least_squares(X, crabs["sex"])[1:, 1],
         "canonical axis": lda.canonical.raw["CAN1"], "LDA's slopes": lda.discriminant.params["M"].iloc[1:]}
print(pd.DataFrame({name: np.asarray(w) / np.asarray(w)[0] for name, w in roads.items()}, index=names).round(6))

# %%
# Divided by their first coefficient they are the same numbers. So for two classes least squares finds the right
# direction. Its cut-point is right too where the classes are of one size. What it lacks is a scale: probabilities, and
# standard errors that mean something. LDA has them from the same means and W.

print(lda.discriminant.summary_frame().round(3))
plots.canonical(lda)
plt.show()

# %%
# An outlier
# ----------
# Rows far on the right side of the boundary ought to change nothing. For least squares they are too right: a fitted
# value of 5 misses the indicator's 1 by 4. Ten rows of ``right``, far to the right, pull its boundary with ``left``:

two = table[table["group"] != "middle"]
far = pd.concat([two, pd.DataFrame({"x": np.linspace(25, 34, 10), "z": 0.0, "group": "right"})], ignore_index=True)
cuts = {}
for name, rows in {"without": two, "with ten far rows": far}.items():
    b = least_squares(rows[["x"]], rows["group"])[:, 1]
    normal = LDA.from_formula("group ~ x", rows).fit().discriminant.params["right"]
    firth = MNLogit.from_formula("group ~ x", rows).fit(bias_reduction="firth").params["right"]
    cuts[name] = {"least squares": (0.5 - b[0]) / b[1], "LDA": -normal.iloc[0] / normal.iloc[1],
                  "logit (Firth)": -firth.iloc[0] / firth.iloc[1]}
print(pd.DataFrame(cuts).T.round(2))

# %%
# LDA is pulled as well, since it is a model of all x, and a normal law with such rows is wrong. The logit models the
# group given x; rows that it is sure of weigh nothing. (The two groups do not overlap, so that its own estimate is
# infinite; Firth's penalty gives a finite one.)
#
# The sentence for the report
# ---------------------------

shift = pd.DataFrame(cuts).T.diff().iloc[1]
told = (decided[60:120] == "middle").sum()
print(f"Least squares on indicators told {told} of 60 rows of the middle class. For "
      f"two classes it has Fisher's and LDA's direction; ten rows far on the right side move its cut-point by "
      f"{shift['least squares']:.1f}, LDA's by {shift['LDA']:.1f} and the logit's by {shift['logit (Firth)']:.1f}.")
