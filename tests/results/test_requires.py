"""What methods of results need of a fit is said of each of them, and refused for every kind of fit that lacks it."""

import contextlib
import contextvars
import functools
import gc
import inspect
import io
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest

from glmclf import LDA, QDA, CLogLog, Logit, MNLogit, NaiveBayes, Probit, datasets, load, registry
from glmclf.core.rows.streamed import RowsElsewhereError
from glmclf.errors import DataError
from glmclf.results.generative.discriminant import DiscriminantResults
from glmclf.results.generative.implied_logit import ImpliedLogit
from glmclf.results.generative.naive_bayes import NaiveBayesResults
from glmclf.results.pooling import PooledResults
from glmclf.results.regression.binary import BinaryResults
from glmclf.results.regression.multinomial import MultinomialResults
from glmclf.results.regression.penalized import RegularizedBinaryResults, RegularizedMultinomialResults
from glmclf.results.requires import REFUSALS, SPECIAL, Kind, Needs, is_of, needs_of, requires

RESULTS = (
    *(BinaryResults, MultinomialResults, RegularizedBinaryResults, RegularizedMultinomialResults),
    *(DiscriminantResults, NaiveBayesResults, ImpliedLogit, PooledResults),
)


def public(results):
    """Names of methods and properties; of what makes a result, and of plain attributes, nothing is to be decided."""
    for name in dir(results):
        found = inspect.getattr_static(results, name)
        plain = isinstance(found, (staticmethod, classmethod, str, bool, int, float, type(None)))
        if not name.startswith("_") and not plain:
            yield name


@pytest.mark.parametrize("results", RESULTS)
def test_every_public_name_is_decided_about(results):
    undecided = [name for name in public(results) if needs_of(results, name) is None]
    assert not undecided, (
        f"{results.__name__}: say by @requires(...) what {', '.join(undecided)} need of a fit; @requires() if nothing"
    )


# ------------------------------------------------------------------------------------------------------ kinds of fits
@functools.cache
def table():
    rng = np.random.default_rng(7)
    t = pd.DataFrame({"x": rng.normal(size=90), "z": rng.normal(size=90), "w": rng.uniform(0.5, 2.0, size=90)})
    t["y"] = (rng.uniform(size=90) < 1 / (1 + np.exp(-t.x))).astype(int)
    t["m"] = rng.choice(["a", "b", "c"], size=90)
    t["apart"] = (t.x > 0).astype(int)
    t["share"] = (0.1 + 0.8 * t.y + 0.05 * np.sin(t.z)).round(3)
    return t


def of(model, response="y", **options):
    return model.from_formula(f"{response} ~ x + z", table(), **options)


def stream(model, response="y"):
    return model.from_formula(f"{response} ~ x + z", lambda: iter([table()[:50], table()[50:]]))


def without_rows(res):
    res.remove_data()
    return res


def loaded(res):
    file = io.StringIO()
    res.save(file)
    file.seek(0)
    return load(file)


FITS = {
    "ridge": (lambda: of(Logit).fit_regularized(0.1), {Kind.PENALISED, Kind.NOT_REFIT}),
    "ridge, several classes": (lambda: of(MNLogit, "m").fit_regularized(0.1), {Kind.PENALISED, Kind.NOT_REFIT}),
    "lasso": (lambda: of(Probit).fit_regularized(0.02, 1.0), {Kind.PENALISED, Kind.NOT_REFIT, Kind.SELECTED}),
    "refit": (lambda: of(Logit).fit_regularized(0.02, 1.0, refit=True), {Kind.PENALISED, Kind.REFIT}),
    "penalised pseudo-likelihood": (
        lambda: of(Logit, weights="w").fit_regularized(0.1),
        {Kind.PENALISED, Kind.NOT_REFIT, Kind.WITHOUT_POSTERIOR, Kind.PSEUDO},
    ),
    "Firth": (lambda: of(Logit).fit(bias_reduction="firth"), {Kind.REDUCED}),
    "Firth without a likelihood": (
        lambda: of(CLogLog).fit(bias_reduction="firth"),
        {Kind.REDUCED, Kind.WITHOUT_OBJECTIVE},
    ),
    "median": (lambda: of(Logit).fit(bias_reduction="median"), {Kind.REDUCED, Kind.WITHOUT_OBJECTIVE}),
    "constrained": (lambda: of(MNLogit, "m").fit_constrained("yb_x = 0"), {Kind.CONSTRAINED}),
    "separated": (lambda: of(Logit, "apart").fit(), {Kind.SEPARATED}),
    "pseudo-likelihood": (lambda: of(MNLogit, "m", weights="w").fit(), {Kind.PSEUDO}),
    "not converged": (lambda: of(Logit).fit(maxiter=1), {Kind.UNCONVERGED}),
    "stream": (lambda: stream(Logit).fit(), {Kind.STREAMED}),
    "several classes": (lambda: stream(MNLogit, "m").fit(), {Kind.STREAMED}),
    "stream, ridge": (lambda: stream(Logit).fit_regularized(0.1), {Kind.STREAMED, Kind.PENALISED, Kind.NOT_REFIT}),
    "generative stream": (lambda: stream(LDA).fit(), {Kind.STREAMED, Kind.TWO_LEVELS}),
    "without rows": (lambda: without_rows(of(QDA).fit()), {Kind.WITHOUT_ROWS, Kind.TWO_LEVELS}),
    "generative": (lambda: of(NaiveBayes, "m").fit(), set()),
    "generative pseudo-likelihood": (
        lambda: of(QDA, weights="w").fit(),
        {Kind.PSEUDO_JOINT, Kind.TWO_LEVELS},
    ),
    "shrunk": (lambda: of(LDA, shrinkage=0.2).fit(), {Kind.SHRUNK, Kind.SMOOTHED, Kind.TWO_LEVELS}),
    "two levels": (lambda: of(MNLogit).fit(), {Kind.TWO_LEVELS}),
    "two levels, lasso": (
        lambda: of(MNLogit).fit_regularized(0.02, 1.0),
        {Kind.TWO_LEVELS, Kind.PENALISED, Kind.NOT_REFIT, Kind.SELECTED},
    ),
    "two levels, pseudo-likelihood": (lambda: of(MNLogit, weights="w").fit(), {Kind.TWO_LEVELS, Kind.PSEUDO}),
    "two levels, stream": (lambda: stream(MNLogit).fit(), {Kind.TWO_LEVELS, Kind.STREAMED}),
    "two levels, loaded": (lambda: loaded(of(MNLogit).fit()), {Kind.TWO_LEVELS, Kind.WITHOUT_ROWS}),
    "fractions": (lambda: of(Probit, "share").fit(), {Kind.FRACTIONS, Kind.PSEUDO}),
    "fractions, stream": (lambda: stream(Probit, "share").fit(), {Kind.FRACTIONS, Kind.PSEUDO, Kind.STREAMED}),
    "fractions, loaded": (lambda: loaded(of(Logit, "share").fit()), {Kind.FRACTIONS, Kind.PSEUDO, Kind.WITHOUT_ROWS}),
    "symmetric": (
        lambda: of(MNLogit, "m").fit_regularized(0.1, symmetric=True),
        {Kind.SYMMETRIC, Kind.PENALISED, Kind.NOT_REFIT},
    ),
    "symmetric, loaded": (
        lambda: loaded(of(MNLogit, "m").fit_regularized(0.1, symmetric=True)),
        {Kind.SYMMETRIC, Kind.PENALISED, Kind.NOT_REFIT, Kind.WITHOUT_ROWS},
    ),
}
OF_MODELS = {  # what only the model decides
    "Probit": {Kind.NO_RATIO},
    "CLogLog": {Kind.OTHER_RATIO},
    **{name: {Kind.CLASSES} for name in ("MNLogit", "LDA", "QDA", "NaiveBayes")},
}


@functools.cache
def fit(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITS[name][0]()


@pytest.mark.parametrize("name", FITS)
def test_kinds(name):
    of_model = OF_MODELS.get(type(fit(name).model).__name__, set())
    assert {kind for kind in Kind if is_of(fit(name), kind)} == FITS[name][1] | of_model
    known = set().union(*(kinds for _, kinds in FITS.values()), *OF_MODELS.values())
    assert known == {*Kind} - {Kind.OF_SHRUNK}


@pytest.mark.parametrize("name", FITS)
def test_what_a_fit_lacks_is_refused_whatever_else_is_given(name):
    res = fit(name)
    for asked in public(type(res)):
        lacking = [
            refusal
            for need in needs_of(type(res), asked) or ()
            for refusal in REFUSALS[need]
            if is_of(res, refusal.kind) and (not refusal.only or asked in refusal.only)
        ]
        if lacking:
            error = lacking[0].error if inspect.isclass(lacking[0].error) else DataError
            with pytest.raises(error, match=rf"^{asked}\b"):
                getattr(res, asked)()


OF_THE_MODEL = {Needs.BINARY, Needs.LEVELS, Needs.ODDS, Needs.DISTRIBUTION, Needs.REFERENCE}


@pytest.mark.parametrize("results", RESULTS)
def test_what_no_fit_of_the_model_has_is_judged_first(results):
    for name in public(results):
        of_the_model = [need in OF_THE_MODEL for need in needs_of(results, name)]
        assert of_the_model == sorted(of_the_model, reverse=True), name


NEVER = {  # what no other fit, fit again or in memory, would have, and the only advice to give
    "inverse_predict": (
        ("ridge, several classes", "two levels, lasso", "symmetric", "constrained", "several classes", "shrunk"),
        rf"inverse_predict\(\) of \w+: it is for {registry.listed(['binary'])}\. predictions\(\) has the probabilities",
    ),
    "iia_test": (
        tuple(f"two levels{how}" for how in ("", ", lasso", ", pseudo-likelihood", ", stream", ", loaded")),
        r"iia_test leaves one level out and needs two others; the levels are \[0, 1\]",
    ),
    "odds_ratios": (("lasso", "fractions"), r"odds_ratios\(\) is for Logit: exp of a Probit coef"),
    "simulate": (("fractions", "fractions, stream", "fractions, loaded"), r"simulate\(\) needs a distribution;"),
    "get_distribution": (("fractions", "fractions, stream"), r"get_distribution\(\) needs a distribution;"),
    "resid_quantile": (("fractions", "fractions, stream", "fractions, loaded"), r"resid_quantile\(\) needs a dist"),
    "resid_partial": (("symmetric", "symmetric, loaded"), r"resid_partial\(\) with symmetric=True: its equations"),
}


@pytest.mark.parametrize("asked, name", [(asked, name) for asked, (names, _) in NEVER.items() for name in names])
def test_advice_is_of_what_the_model_never_has(asked, name):
    with pytest.raises((ValueError, NotImplementedError), match=f"^{NEVER[asked][1]}"):
        getattr(fit(name), asked)()


def test_the_logit_of_a_shrunk_fit_has_no_tests():
    res = fit("shrunk").discriminant
    assert is_of(res, Kind.OF_SHRUNK)
    for name in [n for n in public(ImpliedLogit) if Needs.TESTS in needs_of(ImpliedLogit, n)]:
        with pytest.raises(ValueError, match="regularised discriminant is biased"):
            getattr(res, name)()


def test_a_new_method_is_refused_to_all_that_lack_what_it_needs():
    @requires(Needs.MLE, Needs.LIKELIHOOD)
    def osius_rojek_test(self, groups: int = 10) -> float:
        """A test."""
        return 1.0

    assert osius_rojek_test.needs == (Needs.MLE, Needs.LIKELIHOOD) and osius_rojek_test.__doc__ == "A test."
    assert list(inspect.signature(osius_rojek_test).parameters) == ["self", "groups"]
    assert osius_rojek_test(fit("stream")) == osius_rojek_test(fit("separated"), groups=3) == 1.0
    for name in ("ridge", "lasso", "refit", "Firth", "median", "shrunk"):
        with pytest.raises(NotImplementedError, match="^osius_rojek_test"):
            osius_rojek_test(fit(name))
    for name in ("pseudo-likelihood", "not converged", "generative pseudo-likelihood"):
        with pytest.raises(ValueError, match="^osius_rojek_test"):
            osius_rojek_test(fit(name))


def test_a_refusal_without_advice_ends_with_its_sentence():
    @requires(Needs.BINARY)
    def osius_rojek_test(self):
        """A test."""

    with pytest.raises(NotImplementedError, match=rf"it is for {registry.listed(['binary'])}\.$"):
        osius_rojek_test(fit("two levels"))


def takes_rows(results, name):
    """Whether a method takes other rows than those of the fit, which it needs only without them."""
    found = inspect.getattr_static(results, name)
    return inspect.isfunction(found) and "newdata" in inspect.signature(found).parameters


@pytest.mark.parametrize("name", ["stream", "several classes", "stream, ridge", "generative stream"])
def test_all_else_is_answered_from_sums_over_parts(name):
    res = fit(name)
    for asked in {*public(type(res))} - {"remove_data"}:
        if Needs.ROWS in (needs_of(type(res), asked) or ()) or takes_rows(type(res), asked):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(TypeError, ValueError, AttributeError, NotImplementedError):  # for other reasons
                try:
                    found = getattr(res, asked)
                    _ = found() if inspect.ismethod(found) else found
                except RowsElsewhereError:
                    pytest.fail(f"{asked} needs the rows, which @requires(Needs.ROWS) should say")


def test_rows_one_by_one():
    @requires(Needs.ROWS)
    def rows(self):
        return 1

    assert rows(fit("Firth")) == 1
    for name, words in (("stream", "one by one, which are in a stream"), ("without rows", "which were removed")):
        with pytest.raises((NotImplementedError, DataError), match=rf"^rows needs the rows of the fit.* {words}"):
            rows(fit(name))


def test_needs_stand_above_the_function():
    with pytest.raises(TypeError, match="directly above the def, not above property"):
        requires()(property(lambda self: None))


def test_every_need_and_kind_is_used():
    refused = {refusal.kind for refusals in REFUSALS.values() for refusal in refusals}
    assert set(REFUSALS) == set(Needs) and refused | {*SPECIAL} == set(Kind)


@pytest.mark.parametrize("name", ["stream", "several classes", "generative stream", "without rows"])
def test_models_say_what_was_asked_for(name):
    res, refused = fit(name), {}
    for asked in public(type(res.model)):
        if not asked.startswith(("fit", "from_")):
            try:
                found = getattr(res.model, asked)
                _ = found(res.params) if inspect.ismethod(found) else found
            except (TypeError, ValueError, NotImplementedError) as error:  # of arguments, and for other reasons
                refused[asked] = str(error)
    refused = {asked: words for asked, words in refused.items() if "needs the rows" in words}
    assert "exog" in refused and all(words.startswith(asked) for asked, words in refused.items())


def test_a_context_copied_during_a_call_keeps_no_data():
    contexts = []
    model = Logit.from_formula("GRADE ~ GPA", datasets.load("spector"))
    res = model.fit(callback=lambda *_: contexts.append(contextvars.copy_context()))
    gone = weakref.ref(model)
    del model, res
    gc.collect()
    assert contexts and gone() is None


@pytest.mark.parametrize(
    "method, keyword, hint",
    [
        ("predictions", "over", "it is by= here"),
        ("contrasts", "over", "it is by= here"),
        ("get_margeff", "by", "it is over= here"),
        ("predictions", "atexog", "it is at= here"),
        ("get_margeff", "atexo", "did you mean atexog="),
        ("conf_int", "level", "alpha= here, one minus the level"),
        ("t_test_pairwise", "adjust", "it is method= here"),
        ("predict", "nonsense", "$"),
    ],
)
def test_keywords_of_other_methods_are_named(method, keyword, hint):
    res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
    with pytest.raises(TypeError, match=rf"{method}\(\) got an unexpected keyword argument '{keyword}'.*{hint}"):
        getattr(res, method)(**{keyword: "PSI"})
    with pytest.raises(TypeError, match="it is by= here"):
        res.get_margeff(over="PSI").contrasts(over="PSI")


def test_a_column_of_the_offset_is_set_by_at():
    data = datasets.load("spector").assign(hours=2.0)
    res = Logit.from_formula("GRADE ~ GPA", data, offset="np.log(hours)").fit()
    with pytest.raises(DataError, match='"hours" is the offset, or a column of it, .* set it by at='):
        res.predictions({"hours": [1, 2]})
    assert len(res.predictions(at={"hours": [1, 2]}).predicted) == 2
