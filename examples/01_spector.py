"""
Did a teaching method help?
===========================

Spector and Mazzeo (1980) asked whether students of economics who were taught by a personalised system of instruction
(PSI) improved their grade more often than others. Thirty-two students, some taught by it and some not: does PSI
matter once their grades on entry (GPA) and their score in an earlier test (TUCE) are taken into account?
"""

# %%
# The data
# --------
# One row a student; GRADE is 1 if the grade in the intermediate course was better than before.

import matplotlib.pyplot as plt
import pandas as pd

from glmclf import Logit, datasets, plots

spector = datasets.load("spector")
print(spector.groupby("PSI")["GRADE"].agg(["count", "sum", "mean"]).round(3))

# %%
# Eight of fourteen improved with PSI, three of eighteen without. But the two groups may have differed from the start.
#
# The fit
# -------
# A logit of GRADE on the method and on what was known of the students before.

res = Logit.from_formula("GRADE ~ GPA + TUCE + PSI", spector).fit()
print(res.summary())

# %%
# How to read it
# --------------
# Coefficients are differences of log-odds. As odds ratios, with a tenth of a grade point as the step of GPA:

print(res.odds_ratios(units={"GPA": 0.1}).round(3))

# %%
# TUCE adds little. Is the method needed? Compare with the model without it (the likelihood-ratio test is more
# trustworthy than z with so few rows).

without = Logit.from_formula("GRADE ~ GPA + TUCE", spector).fit()
statistic, pvalue, df = res.compare_lr_test(without)
print(f"LR = {statistic:.4f} on {df:.0f} df, p = {pvalue:.5f}")

# %%
# A new student
# -------------
# GPA 3.2 and TUCE 22, about the average: the probability of a better grade, with a 95 % interval.

student = pd.DataFrame({"GPA": [3.2, 3.2], "TUCE": [22, 22], "PSI": [0, 1]}, index=["without PSI", "with PSI"])
chances = res.get_prediction(student).summary_frame()
print(chances.round(4))

# %%
# The same over all grades on entry. The bands are wide: thirty-two students are few.

plots.probabilities(res, "GPA", by="PSI", at={"TUCE": 22})
plt.show()

# %%
# What if
# -------
# Had all thirty-two students been taught by it, or none: the average probability, each with their own GPA and TUCE.

everybody = res.predict(spector.assign(PSI=1)).mean()
nobody = res.predict(spector.assign(PSI=0)).mean()
print(f"all with PSI: {everybody:.4f}, none: {nobody:.4f}, difference {everybody - nobody:.4f}")

# %%
# The sentence for the report
# ---------------------------

ratio = res.odds_ratios().loc["PSI"]
low, high = ratio.iloc[-2:]
print(f"With the same grades and test score, the odds of improving were {ratio.iloc[0]:.1f} times as high with PSI "
      f"(95 % interval {low:.2f} to {high:.0f}, likelihood-ratio p = {pvalue:.3f}); "
      f"on average it would lift the chance from {nobody:.0%} to {everybody:.0%}.")
