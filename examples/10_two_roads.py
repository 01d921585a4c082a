"""
Model the classes, or only the boundary?
========================================

Generative models (LDA, QDA, naive Bayes) describe how the features of each class arise and get at p(class given x) by
Bayes' rule; discriminative ones (logit, multinomial logit) model p(class given x) alone. What does the longer road buy,
and what does it cost?
"""

# %%
# The data
# --------
# Length and depth of the bills of three species of penguins. Four models of the same two features:

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import LDA, QDA, Logit, MNLogit, NaiveBayes, datasets, plots

pd.set_option("display.width", 110, "display.max_columns", 10)
penguins = datasets.load("penguins").dropna(ignore_index=True)
penguins = penguins.rename(columns={"bill_length_mm": "length", "bill_depth_mm": "depth"})
fits = {model.__name__: model.from_formula("species ~ length + depth", penguins).fit()
        for model in (LDA, QDA, NaiveBayes, MNLogit)}
plots.regions(fits, "length", "depth", resolution=60)
plt.show()

# %%
# LDA and multinomial logit have straight boundaries, QDA and naive Bayes curves of second degree. Two likelihoods: of
# species and bills together, which the logit does not have, and of species given bills, which all have and which only
# the logit maximises.

table = {name: {"joint": getattr(fit, "llf", np.nan) if name != "MNLogit" else np.nan,
                "species given bills": fit.llf if name == "MNLogit" else fit.llf_conditional,
                "parameters": fit.k_params if name != "MNLogit" else fit.params.size} for name, fit in fits.items()}
print(pd.DataFrame(table).T.round(2))

# %%
# Judged by the joint likelihood, QDA gains 15 on LDA with six parameters more, and naive Bayes loses 64 to QDA with
# three fewer: within a species, long bills are deep. Given bills, the logit is best, as it must be against LDA, which
# has the same straight lines; and it has no more parameters than LDA has means.
#
# Drawing from a model
# --------------------
# A generative model can be asked what it believes. ``sample`` draws rows from the fitted law; what looks unlike the
# data is wrong with the model. A logit cannot be asked: it says nothing of bills.

drawn = {name: fits[name].sample(len(penguins), seed=1) for name in ("LDA", "QDA", "NaiveBayes")}
fig, axes = plt.subplots(1, 4, figsize=(9.6, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, (name, rows) in zip(axes, {"the penguins": penguins, **drawn}.items()):
    for (species, one), mark in zip(rows.groupby("species"), "os^"):
        ax.plot(one["length"], one["depth"], mark, markersize=3, alpha=0.7, label=species)
    ax.set(title=name, xlabel="length")
axes[0].set_ylabel("depth")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()
within = pd.DataFrame({name: rows.groupby("species")[["length", "depth"]].corr().xs("length", level=1)["depth"]
                       for name, rows in {"the penguins": penguins, **drawn}.items()})
print(within.round(2))

# %%
# Naive Bayes draws bills whose length and depth have nothing to do with each other: its clouds stand upright, and where
# two of them meet, the boundary is wrong.
#
# Where the assumptions hold
# --------------------------
# Let the truth be a fitted LDA, of sex given bill and mass: draw training sets of several sizes from it, fit, and judge
# on 2,000 more rows. The score is the mean of -log p(true sex), less that of the truth itself: the smaller the better.
# (The logit is Firth's, which exists when small sets are separated.)


def learning_curve(draw, truth, sizes=(60, 150, 400), repetitions=8):
    """Mean excess score of LDA and the logit by number of training rows."""
    new = draw(2000, 0)
    y, X = new.iloc[:, 0].to_numpy(), new.iloc[:, 1:].to_numpy()

    def score(p):
        return -np.log(np.where(y == 1, p, 1 - p)).mean()

    rows = []
    for n in sizes:
        for seed in range(1, repetitions + 1):
            train = draw(n, seed)
            labels, features = train.iloc[:, 0].to_numpy(), train.iloc[:, 1:].to_numpy()
            lda = LDA(labels, features).fit().predict(X)
            logit = Logit(labels, np.column_stack([np.ones(n), features])).fit(bias_reduction="firth")
            p = {"LDA": np.asarray(lda)[:, 1], "logit": np.asarray(logit.predict(np.column_stack([np.ones(2000), X])))}
            rows.append({"rows": n, **{name: score(one) - score(truth(new)) for name, one in p.items()}})
    return pd.DataFrame(rows).groupby("rows").mean()


penguins["male"] = (penguins["sex"] == "male").astype(int)
normal = LDA.from_formula("male ~ depth + length + body_mass_g", penguins).fit()
curves = {"LDA's assumptions hold": learning_curve(lambda n, seed: normal.sample(n, seed=seed),
                                                   lambda new: normal.predict(new)[1].to_numpy())}
print(curves["LDA's assumptions hold"].round(3))

# %%
# Both are on their way to the truth, since its log-odds are linear, and LDA is ahead: it also learns from where the
# bills are. Efron (1975) has the ratio of rows needed, which grows with the distance of the classes.
#
# Where they fail
# ---------------
# Now two skewed (lognormal) features, and a true logit: log-odds are linear, but no class is normal.


def skewed(n, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(np.exp(rng.normal(size=(n, 2))), columns=["a", "b"])
    rows.insert(0, "y", (rng.uniform(size=n) < true_p(rows)).astype(int))
    return rows


def true_p(rows):
    return (1 / (1 + np.exp(3 - 1.5 * rows["a"] - 0.5 * rows["b"]))).to_numpy()


curves["they fail"] = learning_curve(skewed, true_p)
print(curves["they fail"].round(3))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, curve) in zip(axes, curves.items()):
    for model, style in (("LDA", "o-"), ("logit", "s--")):
        ax.semilogx(curve.index, curve[model], style, label=model)
    ax.set(title=name, xlabel="rows to learn from", xticks=curve.index, xticklabels=curve.index)
    ax.minorticks_off()
axes[0].set_ylabel("mean of -log p beyond the truth's")
axes[0].legend()
plt.show()

# %%
# LDA stops short: more rows make it surer of the wrong line. One need not know the truth to see that. Is the logit
# better than chance allows if LDA were right? A test on 400 rows of each:

for name, rows in {"hold": normal.sample(400, seed=99), "fail": skewed(400, 99)}.items():
    formula = f"{rows.columns[0]} ~ " + " + ".join(rows.columns[1:])
    test = LDA.from_formula(formula, rows).fit().compare_conditional(Logit.from_formula(formula, rows).fit())
    print(f"assumptions {name}: statistic {test.statistic:.2f}, p = {test.pvalue:.2g}")

# %%
# The sentence for the report
# ---------------------------

hold, fail = (curve.loc[[60, 400]] for curve in curves.values())
print(f"With 60 rows LDA is {hold['LDA'].iloc[0]:.3f} from the truth and the logit {hold['logit'].iloc[0]:.3f} where "
      f"classes are normal; where they are not, LDA is still {fail['LDA'].iloc[1]:.3f} off with 400 rows, and the "
      f"logit {fail['logit'].iloc[1]:.3f}.")
