"""maketables: its regression table of our fits, and our regression table in Word."""

import re
import sys

import pytest
import references

import glmclf
from glmclf import datasets, regression_table

maketables = pytest.importorskip("maketables")
docx = pytest.importorskip("docx")


def test_certified_numbers():
    fits = [references.fitted("birthwt__logit"), references.fitted("birthwt__probit")]
    text = maketables.ETable(fits).make(type="tex")
    for j, name in enumerate(("birthwt__logit", "birthwt__probit")):
        values = references.reference(name)[0]["values"]
        for term in ("age", "smoke", "Intercept"):
            cell = re.search(rf"^{term} & (.*) \\\\$", text, re.M)[1].split("&")[j]
            assert f"{values['params'][term]:.3f}" in cell and f"({values['bse'][term]:.3f})" in cell
        assert f"{values['llf']:.3f}" in re.search(r"^Log-likelihood & (.*) \\\\$", text, re.M)[1].split("&")[j]
    assert re.search(r"^Observations & 189 & 189", text, re.M)


def test_a_regression_table_in_word(tmp_path, monkeypatch):
    species = datasets.load("penguins").replace({"island": {"Dream": "Dream_<&> \\ #1"}})
    several = glmclf.MNLogit.from_formula("island ~ bill_length_mm", species).fit()
    fits = references.fitted("birthwt__logit"), several
    table = regression_table(*fits, stars=True, title="A & <b>", names=["a_b", "$c"])
    path = tmp_path / "table.docx"
    table.as_docx(path)
    table.as_docx(path)  # again, over what is there
    document = docx.Document(str(path))
    rows = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    frame = table.to_frame()
    assert [row[1:] for row in rows[2:-1]] == frame.to_numpy().tolist()
    assert [row[0] for row in rows[2:-1]] == frame.index.tolist()
    assert rows[1][1:] == ["P(low = 1)", "Dream_<&> \\ #1", "Torgersen"]
    assert rows[0][1] == "a_b" and rows[0][2] == "$c" and rows[-1][0] == "\n".join(table._notes())
    assert document.paragraphs[0].text.endswith("A & <b>")
    monkeypatch.setitem(sys.modules, "maketables", None)
    with pytest.raises(ImportError, match=r"pip install maketables\): .*maketables.*None in sys.modules"):
        table.as_docx(path)
