"""statsmodels' summary_col: certified numbers in its table, and the lines below it."""

import pytest
import references
from statsmodels.iolib.summary2 import summary_col

import glmclf
from glmclf import datasets


def test_coefficients_and_lines_below():
    fits = [references.fitted("birthwt__logit"), references.fitted("birthwt__probit")]
    values = [references.reference(f"birthwt__{name}")[0]["values"] for name in ("logit", "probit")]
    table = summary_col(fits, stars=True, float_format="%.6f", model_names=["a", "b"]).tables[0]
    for column, v in zip(("a", "b"), values):
        for name, b in v["params"].items():
            place = table.index.get_loc(name)
            assert float(table[column].iloc[place].rstrip("*")) == pytest.approx(b, abs=1e-6)
            assert float(table[column].iloc[place + 1].strip("()")) == pytest.approx(v["bse"][name], abs=1e-6)
            assert table[column].iloc[place].count("*") == sum(v["pvalues"][name] < x for x in (0.1, 0.05, 0.01))
        below = {"AIC": "aic", "BIC": "bic", "Log-likelihood": "llf", "Pseudo R-squared": "prsquared"}
        for label, key in below.items():
            if label in table.index:  # statsmodels before 0.15 asks for none
                assert float(table.loc[label, column]) == pytest.approx(v[key], abs=1e-4)


def test_equations_of_several_levels():
    res = glmclf.MNLogit.from_formula("island ~ bill_length_mm", datasets.load("penguins")).fit()
    table = summary_col(list(res.equations.values()), model_names=list(res.equations)).tables[0]
    for level in res.params:
        expected = res.params.loc["bill_length_mm", level]
        assert float(table.loc["bill_length_mm", level]) == pytest.approx(expected, abs=1e-4)
