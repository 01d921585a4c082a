"""
Who has affairs?
================

In 1974 Redbook magazine asked its readers, among much else, how much time they spent in extramarital affairs. Fair
(1978) used the 6366 answers of women in their first marriage to test an economic theory of time. How do the years of
a marriage, and its quality, go with the probability of any affair?
"""

# %%
# The data
# --------
# ``affairs`` measures time; any amount above 0 is an affair.

import matplotlib.pyplot as plt
import pandas as pd

from glmclf import Probit, datasets, plots

fair = datasets.load("fair")
print(f"{len(fair)} answers, {(fair['affairs'] > 0).mean():.1%} with an affair")
print((fair["affairs"] > 0).groupby(fair["rate_marriage"]).agg(["size", "mean"]).round(3))

# %%
# The fit
# -------
# An expression is a response, too. The survey is large but hardly a perfect model of marriage: the standard errors
# are robust from the start.

formula = "I(affairs > 0) ~ rate_marriage + age + yrs_married + children + religious + educ + C(occupation)"
res = Probit.from_formula(formula, fair).fit(cov_type="HC1")
print(res.summary())

# %%
# How to read it
# --------------
# The sign says the direction: rating the marriage a point better, or being more religious, makes an affair less
# likely; with the same age, each year of marriage makes it more likely. Does robustness matter?

plain = res.with_cov("nonrobust")
print(pd.DataFrame({"HC1": res.bse, "nonrobust": plain.bse, "ratio": res.bse / plain.bse}).round(4))

# %%
# Hardly. Terms as a whole: occupation has five parameters and one test.

print(res.wald_test_terms())

# %%
# In probabilities
# ----------------
# Probit coefficients have no unit that one can picture. The average probability, each woman with her own answers
# but the rating of the marriage:

for rating in (1, 3, 5):
    print(f"rated {rating}: {res.predict(fair.assign(rate_marriage=rating)).mean():.4f}")

# %%
# The same over the years of the marriage, with 95 % intervals:

plots.probabilities(res, "yrs_married", by={"rate_marriage": [1, 3, 5]})
plt.show()

# %%
# A woman of 32, nine years married with two children, mildly religious, with a college degree and a white-collar
# job, by the rating of her marriage:

woman = {"age": 32, "yrs_married": 9, "children": 2, "religious": 2, "educ": 16, "occupation": 3}
woman = pd.DataFrame({"rate_marriage": [1, 3, 5], **woman})
print(res.get_prediction(woman).summary_frame().set_index(woman["rate_marriage"]).round(4))

# %%
# The sentence for the report
# ---------------------------

low, high = (res.predict(fair.assign(rate_marriage=rating)).mean() for rating in (5, 1))
interval = res.conf_int().loc["rate_marriage"]
print(f"Among {res.nobs:.0f} women, those who rate their marriage very good would have an affair with probability "
      f"{low:.0%}, very poor {high:.0%}, all else as it is (probit coefficient {res.params['rate_marriage']:.2f}, "
      f"robust 95 % interval {interval.iloc[0]:.2f} to {interval.iloc[1]:.2f}).")
