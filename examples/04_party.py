"""
Who identifies with which party?
================================

The American National Election Study of 1996 asked 944 people whether they think of themselves as a Democrat, a
Republican or an independent, where they stand between left and right, and what they have learnt and earn. How do
education and income go with party, among people of the same political leaning?
"""

# %%
# The data
# --------
# A subset of the study (www.electionstudies.org), in the public domain, that statsmodels distributes as ``anes96``.
# Party identification has seven levels; ``educ`` runs from 1 (grade school) to 7 (PhD), ``income`` over 24 classes
# from under $3,000 to $105,000 and over, ``selfLR`` from 1 (extremely liberal) to 7 (extremely conservative).

import matplotlib.pyplot as plt
import pandas as pd
from statsmodels.datasets import anes96

from glmclf import MNLogit, plots

pd.set_option("display.width", 110, "display.max_columns", 10)
levels = ["strong Democrat", "weak Democrat", "leaning Democrat", "independent", "leaning Republican",
          "weak Republican", "strong Republican"]
anes = anes96.load_pandas().data
anes["identity"] = pd.Categorical.from_codes(anes["PID"].astype(int), levels)
print(anes["identity"].value_counts(sort=False))

# %%
# Seven parties, or fewer?
# ------------------------
# Two outcomes may be merged when nothing tells them apart: when all slopes of one equal those of the other.

formula = "identity ~ selfLR + educ + income + age"
seven = MNLogit.from_formula(formula, anes, reference="independent").fit()
for a, b in zip(levels[:-1], levels[1:], strict=True):
    test = seven.combine_test(a, b)
    print(f"{a:20} {b:20} chi2(4) = {test.statistic:6.2f}   p = {test.pvalue:.4f}")

# %%
# Those who lean to a party are not told apart from its weak members (p = 0.09 and 0.81): they count as what they lean
# to. Strong members differ from weak ones, but where the question is which party, they belong to it.

party = {level: level.split()[-1] for level in levels} | {"independent": "Independent"}
anes["party"] = anes["identity"].astype(str).map(party)
res = MNLogit.from_formula("party ~ selfLR + educ + income + age", anes, reference="Democrat").fit(cov_type="HC1")
print(res.summary())

# %%
# How to read it
# --------------
# Each block compares one level with the Democrats. ``exp`` of a coefficient is a relative risk ratio: by what the
# ratio of the two probabilities is multiplied with one more unit of the regressor. A step of ten classes of income
# is more of a unit than one class:

print(res.odds_ratios(units={"income": 10, "age": 10}).round(3))

# %%
# Age tells nobody apart. A term has two parameters and one test over both equations:

print(res.wald_test_terms())

# %%
# Another base asks another question without another fit: what tells Republicans from Independents?

print(res.rebase("Independent").t_test("yRepublican_income = 0"))

# %%
# All pairs at once, for the leaning between left and right:

print(res.level_contrasts().xs("selfLR", level="regressor").round(4))

# %%
# In probabilities
# ----------------
# The average probability of each party, everybody with their own answers but the leaning:

leaning = {"liberal": 2, "moderate": 4, "conservative": 6}
average = pd.DataFrame({name: res.predict(anes.assign(selfLR=x)).mean() for name, x in leaning.items()}).T
print(average.round(3))
plots.probabilities(res, "selfLR")
plt.show()

# %%
# A moderate of 47 with some college, in the class of income that begins at $10,000 and in that from $50,000:

person = pd.DataFrame({"selfLR": 4, "educ": 4, "income": [10, 20], "age": 47}, index=["$10,000", "$50,000"])
prediction = res.get_prediction(person).summary_frame()
print(prediction.round(3))

# %%
# The table and the sentence for the report
# -----------------------------------------

ratios = res.odds_ratios(units={"income": 10, "age": 10}).loc["Republican"]
low, high = ratios.columns[-2:]
table = pd.DataFrame({
    "ratio": ratios.iloc[:, 0].map("{:.2f}".format),
    "95 % interval": [f"{a:.2f} to {b:.2f}" for a, b in zip(ratios[low], ratios[high], strict=True)],
    "p": ["< 0.001" if p < 0.001 else f"{p:.3f}" for p in ratios["P>|z|"]],
}).drop("Intercept").rename({
    "selfLR": "a step to the right (of 6)", "educ": "a step of education (of 6)",
    "income (per 10)": "ten classes of income",
    "age (per 10)": "ten years of age"})
print(table)

income = ratios.loc["income (per 10)"]
share = prediction["predicted"].xs("Republican", level="level")
print(f"Among {res.nobs:.0f} Americans asked in 1996, ten classes more of income multiply the ratio of Republicans to "
      f"Democrats by {income.iloc[0]:.1f} (robust 95 % interval {income[low]:.1f} to {income[high]:.1f}) at the same "
      f"political leaning, education and age; a moderate of 47 with some college is a Republican with probability "
      f"{share.iloc[0]:.0%} at an income of $10,000 and {share.iloc[1]:.0%} at $50,000.")
