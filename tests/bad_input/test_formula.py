"""Formulas that cannot be read, or make no sense."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, toy

import glmclf
import glmclf.formula.api as smf
from glmclf.errors import DataError, FormulaError


@models
@pytest.mark.parametrize(
    "formula, words",
    [
        ("", ["y ~ x1"]),
        ("y", ["y ~ x1"]),
        ("~ x1", ["response"]),
        ("y ~", ["regressors"]),
        ("y ~ x1 +", ["y ~ x1 +"]),
        ("y ~ (x1", ["(x1"]),
        ("y ~ x1)", ["x1)"]),
        ("y ~ x1 ~ x2", ["~"]),
        ("y ~ . - x9", ["x9", "leaves out"]),
        ("y ~ x1^2", ["^"]),
        ("y ~ x1 | g", ["|"]),
        ("y:g ~ x1", ["interaction"]),
        ("y*g ~ x1", ["interaction"]),
        ("1 ~ x1", ["response"]),
        ("0 ~ x1", ["response"]),
        ("y ~ sin(x1)", ["sin"]),
        ("y ~ np.sine(x1)", ["sine"]),
        ("y ~ I(x1 +)", ["x1 +"]),
        ("y ~ x1 + 2", ["2"]),
        ("y ~ bs(g, df=4)", ["g"]),
        ("y ~ bs(x1)", ["bs"]),
        ("y ~ bs(x1, df=-1)", ["bs"]),
        ("y ~ np.log(g)", ["g"]),
        ("y ~ center(g)", ["g"]),
        ("y ~ C(g, Treatment('z'))", ["z"]),
        ("y ~ C(g, Treatment(7))", ["7"]),
        ("y ~ g + 1 / 0", []),
        ("y ~ I(1 / 0)", []),
        ("y ~ x1[0]", []),
        ("y ~ x1.mean()", []),
        ("y ~ 'text'", []),
    ],
)
def test_formulas(model, formula, words):
    with refused(*words):
        make(model, formula, toy())


@models
@pytest.mark.parametrize(
    "formula, column",
    [("y ~ x1 + dose group", "dose group"), ("dose group ~ x1", "dose group"), ("y ~ relapse#1", "relapse#1"),
     ("y ~ x1 + class", "class"), ("y ~ 'dose group' + relapse#1", "relapse#1")],
)
def test_names_that_are_no_words_of_python(model, formula, column):
    table = toy().rename(columns={"x2": column})
    with refused(f'The table has "{column}"', f'write Q("{column}").', error=FormulaError):
        make(model, formula, table)
    with refused(column, but=["write Q"]):  # no such column: no such hint
        make(model, formula, toy())


@models
@pytest.mark.parametrize("formula", [None, 5, ["y ~ x1"], b"y ~ x1", toy()])
def test_not_text(model, formula):
    with refused("formula", error=(ValueError, TypeError)):
        make(model, formula, toy())


@models
def test_arguments_in_the_wrong_order(model):
    with refused(error=(ValueError, TypeError, NotImplementedError)):
        make(model, toy(), "y ~ x1")


@models
def test_functions_that_fail_or_give_the_wrong_length(model):
    short = lambda v: np.asarray(v)[:5]
    broken = lambda v: v.no_such_thing
    assert short is not None and broken is not None
    cls = getattr(glmclf, model)
    with refused("short(x1)"):
        cls.from_formula("y ~ short(x1)", toy())
    with refused("broken(x1)"):
        cls.from_formula("y ~ broken(x1)", toy())
    with refused("short(x2)"):
        cls.from_formula("y ~ x1 + short(x2):x1", toy(), missing="raise")


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_lower_case_names(name):
    with refused("nowhere"):
        getattr(smf, name)("y ~ nowhere", toy())
    scale_of_the_caller = 2.0
    res = getattr(smf, name)("y ~ I(x1 * scale_of_the_caller)", toy()).fit()
    assert scale_of_the_caller == 2.0 and len(res.params) == 2


@pytest.mark.parametrize("model", ["Logit", "MNLogit", "LDA", "NaiveBayes"])
@pytest.mark.parametrize(
    "formula",
    ["y ~ x + y", "y ~ y", "y ~ x * y", "C(y) ~ x + C(y)", "y ~ . + y", "y ~ x + C(y)", "C(y) ~ y", "y ~ I(x + y)"],
)
def test_a_response_is_no_regressor_of_itself(model, formula):
    d = pd.DataFrame({"y": [0, 1] * 20, "x": np.arange(40.0) % 7})
    with pytest.raises(FormulaError, match='"y" is the response and cannot explain itself'):
        getattr(glmclf, model).from_formula(formula, d)


def test_messages_that_say_what_to_write():
    d = pd.DataFrame({"y": [0, 1] * 20, "x": np.arange(40.0) % 7, 3: 1.0, "n": 4})
    make = glmclf.Logit.from_formula
    with pytest.raises(FormulaError, match=r'I\(a / n\) with trials="n"'):
        make("y/n ~ x", d)
    with pytest.raises(FormulaError, match=r"called by a number.*df.rename\(columns=str\)"):
        make("y ~ Q('3')", d)
    with pytest.raises(DataError, match=r'subset="xx > 1": no column "xx". Did you mean \'x\'?'):
        make("y ~ x", d, subset="xx > 1")
    with pytest.raises(DataError, match="local variable"):
        make("y ~ x", d, subset="x > @nowhere")
    for query in ("x = 3", "n = x"):
        with pytest.raises(DataError, match="as in x == 1"):
            make("y ~ x", d, subset=query)
