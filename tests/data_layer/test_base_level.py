"""C(g, base="b"): the base level of a factor in short."""

import io

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf import LDA, Logit, MNLogit, NaiveBayes, datasets
from glmclf.errors import DataError, FormulaError


@pytest.fixture(scope="module")
def penguins():
    return datasets.load("penguins").dropna().reset_index(drop=True)


@pytest.mark.parametrize("model, y", [(Logit, "sex"), (MNLogit, "species"), (LDA, "species"), (NaiveBayes, "species")])
def test_as_treatment(model, y, penguins):
    one = model.from_formula(f"{y} ~ C(year, base=2008) + bill_length_mm", penguins).fit()
    two = model.from_formula(f"{y} ~ C(year, Treatment(2008)) + bill_length_mm", penguins).fit()
    a, b = (getattr(res, "discriminant", res) for res in (one, two))
    np.testing.assert_array_equal(a.params, b.params)
    assert "C(year, base=2008)[T.2007]" in a.model.exog_names and "C(year, base=2008)[T.2008]" not in a.model.exog_names


def test_saved_streamed_and_at_new_rows(penguins, tmp_path):
    formula = 'sex ~ C(island, base="Dream") + bill_length_mm'
    res = Logit.from_formula(formula, penguins).fit()
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    np.testing.assert_array_equal(glmclf.load(file).predict(penguins[:7]), res.predict(penguins[:7]))
    penguins.to_parquet(tmp_path / "p.parquet", row_group_size=50)
    streamed = Logit.from_formula(formula, str(tmp_path / "p.parquet")).fit()
    np.testing.assert_allclose(streamed.params, res.params, rtol=1e-9)
    assert list(streamed.params.index) == list(res.params.index)


def test_a_base_of_the_caller(penguins):
    base = "Torgersen"  # noqa: F841  of the formula
    names = Logit.from_formula("sex ~ C(island, base=base)", penguins).exog_names
    assert names == ["Intercept", "C(island, base=base)[T.Biscoe]", "C(island, base=base)[T.Dream]"]


@pytest.mark.parametrize("model, y", [(Logit, "sex"), (NaiveBayes, "species")])
@pytest.mark.parametrize("base", ["'Sum'", "1", "'dream'"])
def test_what_is_no_level(model, y, base, penguins):
    """A number is no place among the levels, which Treatment(1) is."""
    with pytest.raises(FormulaError, match="none of its levels"):
        model.from_formula(f"{y} ~ C(island, base={base})", penguins)


def test_beside_another_coding(penguins):
    with pytest.raises(DataError, match="beside another coding"):
        Logit.from_formula("sex ~ C(island, Sum, base='Dream')", penguins)


def test_truth_values(penguins):
    table = penguins.assign(heavy=penguins.body_mass_g > 4200)
    assert Logit.from_formula("sex ~ C(heavy, base=True)", table).exog_names[1] == "C(heavy, base=True)[T.False]"
    assert pd.notna(Logit.from_formula("sex ~ C(heavy, base=True)", table).fit().llf)


def test_codings_of_very_many_levels():
    """Treatment coding holds no matrix of levels; what would hold one of gigabytes is refused."""
    t = pd.DataFrame({"y": np.arange(34_000) % 2, "g": [f"v{i}" for i in range(17_000)] * 2})
    design = Logit.from_formula("y ~ C(g, base='v3')", t)._design
    assert design.xnames[:2] == ["Intercept", "C(g, base='v3')[T.v0]"] and len(design.xnames) == 17_000
    with pytest.raises(FormulaError, match=r"17,000 levels would take a matrix of 2.3 GB"):
        Logit.from_formula("y ~ C(g, Helmert)", t)
    with pytest.raises(FormulaError, match=r"without an intercept of 17,000 levels"):
        Logit.from_formula("y ~ 0 + C(g, Sum)", t)
    assert len(Logit.from_formula("y ~ C(g, Sum)", t)._design.xnames) == 17_000


def test_codings_that_are_not_finite():
    t = pd.DataFrame({"y": np.arange(800) % 2, "g": np.arange(800) % 400})
    with pytest.raises(FormulaError, match=r'"C\(g, Poly\)" cannot be coded: .* not finite'):
        Logit.from_formula("y ~ C(g, Poly)", t)
