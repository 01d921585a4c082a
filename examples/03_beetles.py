"""
How much poison kills half of the beetles?
==========================================

Bliss (1935) exposed eight groups of flour beetles to carbon disulphide for five hours and counted the dead. Which
curve describes the dose and its effect, and which dose kills half of them?
"""

# %%
# The data
# --------
# One row a group: counts, not beetles. The dose is the base-10 logarithm of the concentration in mg per litre.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from glmclf import CLogLog, Logit, Probit, datasets, plots

beetles = datasets.load("beetles")
print(beetles.assign(share=(beetles["killed"] / beetles["n"]).round(3)).to_string(index=False))

# %%
# The fit
# -------
# ``killed + survived`` is the response. Three links, the same data: the smaller AIC is the better.

formula = "killed + survived ~ dose"
fits = {model.__name__: model.from_formula(formula, beetles).fit() for model in (Logit, Probit, CLogLog)}
table = pd.DataFrame({"llf": [fit.llf for fit in fits.values()],
                      "AIC": [fit.aic for fit in fits.values()],
                      "deviance": [(fit.resid_dev**2).sum() for fit in fits.values()]}, index=list(fits))
print(table.round(3))

# %%
# The deviance, on six degrees of freedom, condemns the symmetric curves and finds nothing wrong with the
# complementary log-log.

res = fits["CLogLog"]
print(res.summary())

# %%
# Where the logit goes wrong: dead beetles, counted and expected.

expected = pd.DataFrame({name: beetles["n"] * fit.fittedvalues for name, fit in fits.items()})
print(beetles[["dose", "n", "killed"]].join(expected.round(2)).to_string(index=False))

# %%
# Dose and response
# -----------------
# The probability of death along the doses, with intervals.

grid = pd.DataFrame({"dose": np.linspace(1.65, 1.90, 6)})
curve = res.get_prediction(grid).summary_frame().set_index(grid["dose"].round(2))
print(curve.round(4))

# %%
# The complementary log-log with its band, the logit dashed, and the eight groups:

doses = np.linspace(beetles["dose"].min(), beetles["dose"].max(), 100)
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plots.probabilities(res, "dose", ax=ax)
ax.plot(doses, fits["Logit"].predict(pd.DataFrame({"dose": doses})), "--", color="0.4", label="logit")
ax.plot(beetles["dose"], beetles["killed"] / beetles["n"], "o", color="black", clip_on=False, label="observed")
ax.set(title="complementary log-log and logit", ylabel="share killed")
ax.legend(loc="lower right", frameon=False)
plt.show()

# %%
# The dose that kills half of them has the linear predictor log(log 2). Its standard error is by the delta method:
# the gradient of (c - a) / b is (-1, -dose) / b.

intercept, slope = res.params
half = (np.log(np.log(2)) - intercept) / slope
gradient = np.array([-1, -half]) / slope
se = float(np.sqrt(gradient @ res.cov_params().to_numpy() @ gradient))
print(f"dose {half:.5f}, standard error {se:.5f}")

# %%
# The sentence for the report
# ---------------------------

low, high = 10 ** (half - 1.96 * se), 10 ** (half + 1.96 * se)
deviance = table["deviance"]
print(f"Half of the beetles die at {10**half:.1f} mg/l of carbon disulphide (95 % interval {low:.1f} to {high:.1f}); "
      f"mortality rises faster towards high doses than a logit allows (deviance {deviance['CLogLog']:.1f} "
      f"against {deviance['Logit']:.1f} on 6 degrees of freedom).")
