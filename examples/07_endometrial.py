"""
A risk factor that is never without the disease
===============================================

Heinze and Schemper (2002): 79 women with cancer of the endometrium. Which of neovascularisation, the pulsatility index
of the uterine artery and the height of the endometrium tell a high grade? All 13 women with neovascularisation had
one.
"""

# %%
# The data
# --------
# ``HG`` is the grade (1 high), ``NV`` neovascularisation, ``PI`` the pulsatility index, ``EH`` the height.

import pathlib
import warnings

import matplotlib.pyplot as plt
import pandas as pd

from glmclf import Logit, detect_separation, plots

here = pathlib.Path(__file__).parent if "__file__" in globals() else pathlib.Path()
endometrial = pd.read_csv(here / "data" / "endometrial.csv")
print(pd.crosstab(endometrial["NV"], endometrial["HG"]))

# %%
# An empty cell, so that the odds ratio of the table is infinite; and in the model?

formula = "HG ~ NV + PI + EH"
print(detect_separation(formula, endometrial))

# %%
# The fit
# -------
# ``fit`` warns, and gives what there is: an infinite coefficient, and the limit estimates of the others.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    res = Logit.from_formula(formula, endometrial).fit()
print(said[0].message)
print(res.summary())

# %%
# Wald tests say nothing of an infinite coefficient. The likelihood does: with NV left out it is so much smaller.

print(res.anova().round(4))

# %%
# And it says how small the coefficient may be: the profile interval has a lower end.

profile = res.conf_int(method="profile")
print(profile.round(3))

# %%
# A finite answer
# ---------------
# Firth's penalty makes the estimate finite. Its intervals and tests are those of the penalised likelihood, as in R's
# logistf; the median bias-reduced estimate is as likely too large as too small.

model = Logit.from_formula(formula, endometrial)
firth, median = (model.fit(bias_reduction=kind) for kind in ("firth", "median"))
print(pd.DataFrame({"ml": res.params, "firth": firth.params, "median": median.params}).round(3))
print(firth.conf_int(method="profile").round(3))
print(firth.anova().round(4))
plots.coefficients({"maximum likelihood": res, "Firth": firth, "median": median}, drop=["Intercept"])
plt.show()

# %%
# Probabilities of a woman with neovascularisation and average other values: the maximum likelihood one is 1, which 13
# women cannot show. FLIC corrects Firth's, so that they add up to the cases.

woman = pd.DataFrame({"NV": [0, 1], "PI": endometrial["PI"].mean(), "EH": endometrial["EH"].mean()})
flic = model.fit(bias_reduction="firth", flic=True)
fits = {"ml": res, "firth": firth, "flic": flic}
print(pd.DataFrame({name: fit.predict(woman) for name, fit in fits.items()}).set_axis(["NV = 0", "NV = 1"]).round(3))
print({name: round(float(fit.fittedvalues.sum()), 3) for name, fit in fits.items()}, endometrial["HG"].sum())

# %%
# The sentence for the report
# ---------------------------

test = res.anova().loc["NV"]
low, high = firth.conf_int(method="profile").loc["NV"]
print(f"All {endometrial['NV'].sum()} women with neovascularisation had a high grade (likelihood ratio test, "
      f"chi2(1) = {test.statistic:.2f}, p = {test.pvalue:.4f}; the log odds ratio is at least "
      f"{profile.loc['NV', 0]:.2f} with 97.5 % confidence). Firth's estimate of it is {firth.params['NV']:.2f} "
      f"(95 % profile interval {low:.2f} to {high:.2f}).")
