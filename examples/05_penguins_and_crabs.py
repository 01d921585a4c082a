"""
Which classifier to trust?
==========================

The sex of a penguin from four of its measurements, and that of a crab from five. Multinomial logit, discriminant
analysis and naive Bayes answer the same question from different assumptions. Which answer deserves trust, and how can
one tell?
"""

# %%
# The penguins
# ------------
# 333 penguins of three species, whose sex is known from their blood. The models are not told the species.

import pathlib
import sys

import numpy as np
import pandas as pd

from glmclf import LDA, QDA, MNLogit, NaiveBayes, datasets

pd.set_option("display.width", 110, "display.max_columns", 10)
penguins = datasets.load("penguins").dropna(ignore_index=True)
formula = "sex ~ bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"
lda, qda, bayes, logit = (model.from_formula(formula, penguins).fit() for model in (LDA, QDA, NaiveBayes, MNLogit))
print(lda.summary())

# %%
# The summary ends with the logit that the normal distributions imply. It is the same model of sex given size as the
# multinomial logit, with other estimates, so that they stand in one table:

print(pd.concat({"LDA": lda.discriminant.params["male"], "se": lda.discriminant.bse["male"],
                 "robust se": lda.with_cov("HC0").discriminant.bse["male"],
                 "MNLogit": logit.params["male"], "its se": logit.bse["male"]}, axis=1).round(4))

# %%
# They agree within their errors. LDA's are smaller: it uses the sizes themselves, not just sex given size. Whether it
# may is a question of its assumptions.

# %%
# The assumptions
# ---------------
# One covariance matrix for both sexes? Box's M says no. Normal sizes? Three species make three humps: no. Independent
# measurements, as naive Bayes wants? The ladder shows what each assumption costs, in joint likelihood.

print(lda.boxm_test().round(4).to_frame("Box's M").T)
print(lda.mardia_test().round(4))
print(lda.ladder()[["llf", "k_params", "aic", "bic", "llf_conditional", "error_loo"]].round(3))

# %%
# The joint likelihood wants QDA, and condemns independence: heavier penguins have longer flippers.

print(bayes.independence_audit(most=2).round(3))

# %%
# But a wrong density can give a right discriminant. Does the logit, which assumes nothing about sizes, fit sex better
# than chance allows?

print(lda.compare_conditional(logit))

# %%
# It does not: for sex given size LDA is as good as the logit, in spite of Box and Mardia.

# %%
# New penguins
# ------------
# The test that needs no theory: predict the rows that the fit has not seen, ten times a tenth. The score is the sum of
# log probabilities of the true sex, which punishes confident errors.

MODELS = (LDA, QDA, NaiveBayes, MNLogit)


def out_of_sample(formula, data, label, folds=10):
    """Errors and log score of each model on rows left out."""
    fold = np.random.default_rng(1).permutation(np.arange(len(data)) % folds)
    rows = {}
    for model in MODELS:
        fits = [model.from_formula(formula, data[fold != k]).fit() for k in range(folds)]
        p = pd.concat([fit.predict(data[fold == k]) for k, fit in enumerate(fits)]).sort_index()
        own = p.to_numpy()[np.arange(len(p)), p.columns.get_indexer(data[label])]
        within = model.from_formula(formula, data).fit()
        log_l = within.llf if model is MNLogit else within.llf_conditional
        rows[model.__name__] = {"score in the sample": log_l, "score of new rows": np.log(own).sum(),
                                "errors of new rows": (p.idxmax(axis=1) != data[label]).sum()}
    return pd.DataFrame(rows).T.round(2)


print(out_of_sample(formula, penguins, "sex"))

# %%
# Three answers are alike; naive Bayes errs more than twice as often. It counts the evidence of size four times over.

# %%
# A penguin that was not weighed
# ------------------------------
# A generative model judges by what is there: the missing mass is integrated out. The logit has no answer.

new = pd.DataFrame({"bill_length_mm": [45.0, 45.0], "bill_depth_mm": [17.5, 17.5], "flipper_length_mm": [205.0, 205.0],
                    "body_mass_g": [4700.0, np.nan]}, index=["weighed", "not weighed"])
print(lda.get_prediction(new).summary_frame().round(3))
print(logit.predict(new).round(3))

# %%
# The crabs
# ---------
# Campbell and Mahon (1974) measured 200 rock crabs, fifty of each sex and of two colours. Here the models differ.

crabs = pd.read_csv(pathlib.Path(sys.argv[0]).parent / "data" / "crabs.csv")
formula = "sex ~ FL + RW + CL + CW + BD"
lda, logit = (model.from_formula(formula, crabs).fit() for model in (LDA, MNLogit))
print(lda.boxm_test().round(4).to_frame("Box's M").T)
print(lda.ladder()[["llf", "k_params", "aic", "llf_conditional", "error_loo"]].round(3))
print(lda.compare_conditional(logit))
comparison = out_of_sample(formula, crabs, "sex")
print(comparison)

# %%
# The logit fits the crabs that it has seen best by far, significantly better than LDA. New crabs turn that round: the
# logit has nearly separated the sexes, and is too sure of itself. QDA, which Box's M asks for, gives the best
# probabilities. Naive Bayes cannot see the sex for the size: within a sex all five lengths rise together.
#
# Of the four groups by colour and sex, the logit has no estimate at all. LDA has.

crabs["group"] = crabs["sp"] + crabs["sex"]
four = LDA.from_formula("group ~ FL + RW + CL + CW + BD", crabs).fit()
try:
    MNLogit.from_formula("group ~ FL + RW + CL + CW + BD", crabs).fit()
except ValueError as error:
    print(f"{type(error).__name__}: ... ({str(error).partition('infinite (')[2]}")
print(four.error_rates().confusion["leave-one-out"])

# %%
# The sentence for the report
# ---------------------------

best = comparison["score of new rows"].idxmax()
error = four.error_rates().rates.loc["leave-one-out", "error"]
print(f"Sex is told from five lengths by {best} (cross-validated log score {comparison.loc[best].iloc[1]:.1f}, against "
      f"{comparison.loc['MNLogit'].iloc[1]:.1f} for multinomial logit and {comparison.loc['NaiveBayes'].iloc[1]:.1f} "
      f"for naive Bayes); colour and sex together by LDA with {error:.0%} of crabs wrong, each judged "
      "by the others.")
