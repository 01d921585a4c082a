"""stargazer: it knows the results, and shows certified numbers."""

import re
import subprocess
import sys

import pytest
import references

import glmclf
from glmclf import datasets

stargazer = pytest.importorskip("stargazer.stargazer")


def test_certified_numbers():
    fits = [references.fitted("birthwt__logit"), references.fitted("birthwt__probit")]
    text = stargazer.Stargazer(fits).render_latex()
    for j, name in enumerate(("birthwt__logit", "birthwt__probit")):
        values = references.reference(name)[0]["values"]
        for term in ("age", "smoke", "Intercept"):
            row, below = re.search(rf"^ {term} & (.*) \\\\\n(.*) \\\\$", text, re.M).groups()
            assert f"{values['params'][term]:.3f}" in row.split("&")[j]
            assert f"({values['bse'][term]:.3f})" in below.split("&")[j + 1]
            stars = sum(values["pvalues"][term] < x for x in (0.1, 0.05, 0.01))
            assert row.split("&")[j].count("*") == stars
    assert re.search(r"Observations & 189 & 189", text) and re.search(r"Pseudo \$R\^2\$ & 0\.142 & 0\.143", text)
    assert "GRADE" not in text and "low" in text


def test_intervals():
    res = references.fitted("birthwt__logit")
    table = stargazer.Stargazer([res])
    table.show_confidence_intervals(True)
    low, high = references.reference("birthwt__logit")[0]["values"]["conf_int"]["lwt"]
    assert f"({low:.3f} , {high:.3f})" in table.render_html()


def test_several_levels_go_by_equation():
    res = glmclf.MNLogit.from_formula("island ~ bill_length_mm", datasets.load("penguins")).fit()
    text = stargazer.Stargazer(list(res.equations.values())).render_latex()
    row = re.search(r"^ bill_length_mm & (.*) \\\\$", text, re.M)[1]
    for j, level in enumerate(res.params):
        assert f"{res.params.loc['bill_length_mm', level]:.3f}" in row.split("&")[j]
    with pytest.raises(NotImplementedError):  # not a silent table of something else
        stargazer.Stargazer([res])


def test_results_from_a_file(tmp_path):
    """In a process that has made no result itself."""
    references.fitted("birthwt__logit").save(tmp_path / "a.json")
    code = (
        "import sys, glmclf\n"
        "assert 'statsmodels' not in sys.modules\n"
        f"res = glmclf.load({str(tmp_path / 'a.json')!r})\n"
        "from stargazer.stargazer import Stargazer\n"
        "assert 'smoke' in Stargazer([res]).render_latex()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
