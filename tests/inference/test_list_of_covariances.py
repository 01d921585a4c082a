"""The list of covariances, and that documentation, messages and the shell have all of it."""

import re
from pathlib import Path

import numpy as np
import pytest
from properties.toys import fit, shared

from glmclf import LDA, Logit, NaiveBayes
from glmclf.checks import either
from glmclf.inference.covariance.types import COVARIANCES, MODEL_BASED, REFITS, check
from glmclf.inference.covariance.wording import documents_covariances, enumerated, for_generative, names
from glmclf.shell.options import parser

GUIDE = Path(__file__).parents[2] / "docs/guides/covariances.md"


def test_every_entry_says_what_it_is():
    for name, entry in COVARIANCES.items():
        assert entry.name == name and entry.kind in ("model", "rows", "clusters", "series", "refits")
        assert entry.description.startswith("Standard errors are ") and entry.description.endswith(".")
        assert entry.formula and (entry.compute is None) != (entry.leverage is None)
        assert set(entry.found).isdisjoint(set(entry.options) - {"groups"})
        assert entry.kind != "refits" or entry.needs_rows
    assert MODEL_BASED == ("nonrobust", "expected") and REFITS == ("bootstrap", "jackknife")


@pytest.mark.parametrize("name", COVARIANCES)
def test_docstrings_have_all(name):
    """Of `with_cov` with the formula, of `fit` the name; of generative models those that they have."""
    doc = " ".join(str(type(shared("Logit")).with_cov.__doc__).split())
    assert f'- "{name}": {COVARIANCES[name].formula}' in doc
    for source in filter(None, COVARIANCES[name].source.split("; ")):
        assert source in doc
    assert f'"{name}"' in str(Logit.fit.__doc__)
    for model in (LDA, NaiveBayes):
        types = str(model.fit.__doc__).split("cov_type : {")[1].split("}")[0]
        assert (f'"{name}"' in types) != COVARIANCES[name].of_regressions


def test_no_docstring_has_a_gap():
    for f in (Logit.fit, LDA.fit, type(shared("Logit")).with_cov):
        doc = str(f.__doc__)
        assert not re.search(r"\{(cov|gen|reg|lev|sources)\w*\}", doc) and max(map(len, doc.split("\n"))) <= 120


def test_the_shell_has_all():
    words = " ".join(parser().format_help().split())
    assert f"{enumerated(COVARIANCES, 'or', quote='')} (default: nonrobust)" in words


def test_the_guide_has_a_row_of_each():
    rows = [line.split("|")[1] for line in GUIDE.read_text(encoding="utf-8").split("\n") if line.startswith("| `")]
    found = [name for row in rows for name in re.findall(r'`"(\w+)"`', row)]
    assert found == [*COVARIANCES], f"docs/guides/covariances.md: rows of {found}, entries of {[*COVARIANCES]}"


def test_messages_have_all():
    with pytest.raises(ValueError, match=re.escape(f"choose {either(COVARIANCES)}")):
        check("HC9")
    generative = fit("LDA", "y ~ x1")
    for name in names(lambda entry: entry.of_regressions):
        with pytest.raises(NotImplementedError, match=f"LDA has {enumerated(names(for_generative))}"):
            generative.with_cov(name)
    assert enumerated(names(for_generative)) == '"HC0", "HC1", "cluster" and "HAC"'


def test_words():
    assert enumerated(["HC0"]) == '"HC0"' and enumerated(["HC0", "HAC"], "or") == '"HC0" or "HAC"'

    @documents_covariances
    def documented():
        """Take `{other}`, {{cov_types}}.

        {covariances}
        """

    lines = str(documented.__doc__).split("\n")
    assert len([line for line in lines if line.startswith("        - ")]) == len(COVARIANCES)
    assert "`{other}`" in lines[0] and '{"nonrobust", ' in lines[0]

    def silent():
        pass

    assert documents_covariances(silent).__doc__ is None


@pytest.mark.parametrize("name", names(lambda entry: entry.kind in ("model", "rows")))
def test_without_keywords_all_are_finite(name):
    assert np.isfinite(shared("Logit").with_cov(name).bse).all()
