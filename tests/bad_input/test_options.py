"""Keywords and options: unknown ones are errors, those of a later version say so."""

import contextlib
import inspect
import re

import numpy as np
import pytest
from bad_input.refusal import refused
from properties.toys import MODELS, close, fit, make, models, shared, toy

import glmclf
from glmclf import datasets, plots, registry


@models
@pytest.mark.parametrize(
    "keyword", ["exposure", "weight", "freq_weight", "family", "link", "Offset", "var_weights", "priors", "reference"]
)
def test_unknown_model_keywords(model, keyword):
    with refused(keyword, error=TypeError):
        make(model, "y ~ x1", toy(), **{keyword: "off"})
    with refused(keyword, error=TypeError):
        getattr(glmclf, model)(toy().y01, toy()[["x1"]], **{keyword: toy().off})


@models
@pytest.mark.parametrize("keyword", ["max_iter", "full_output", "start", "use_t", "covtype", "alpha", "groups", "seed"])
def test_unknown_fit_keywords(model, keyword):
    with refused(keyword, error=TypeError):
        shared(model).model.fit(**{keyword: 1})


@models
@pytest.mark.parametrize("value", ["yes", 1, None], ids=repr)
def test_progress_is_true_or_false(model, value):
    with refused("progress", repr(value), error=ValueError):
        shared(model).model.fit(progress=value)


@models
@pytest.mark.parametrize(
    "options, words",
    [
        ({"method": "nm"}, ["nm", "irls", "lbfgs"]),
        ({"method": "IRLS"}, ["IRLS", "irls"]),
        ({"method": None}, ["None", "irls"]),
        ({"cov_type": "hc0"}, ["hc0", "HC0"]),
        ({"cov_type": "robust"}, ["robust", "HC0"]),
        ({"cov_type": "HC6"}, ["HC6"]),
        ({"bias_reduction": "jeffreys"}, ["jeffreys"]),
        ({"separation": "ignore"}, ["ignore"]),
        ({"collinear": "keep"}, ["keep"]),
        ({"start_params": [0.0]}, ["1", "5"]),
        ({"start_params": np.zeros(6)}, ["6", "5"]),
        ({"start_params": [0, 0, np.nan, 0, 0]}, ["start_params"]),
        ({"start_params": [0, 0, np.inf, 0, 0]}, ["start_params"]),
        ({"maxiter": -1}, ["maxiter"]),
        ({"maxiter": 2.5}, ["maxiter"]),
        ({"tol": -1.0}, ["tol"]),
        ({"tol": np.nan}, ["tol"]),
        ({"tol": "a"}, ["tol"]),
        ({"n_threads": 0}, ["n_threads"]),
        ({"n_threads": -2}, ["n_threads"]),
    ],
    ids=str,
)
def test_values_of_options(model, options, words):
    with refused(*words, error=(ValueError, TypeError, NotImplementedError)):
        shared(model).model.fit(**options)


@models
def test_methods_of_results_refuse_unknown_words(model):
    res = shared(model)
    for call, words in (
        (lambda: res.conf_int(method="exact"), ["exact"]),
        (lambda: res.predict(which="prob"), ["prob", "mean"]),
        (lambda: res.predict(toy(), which=None), ["None"]),
        (lambda: res.predict(toy(), which="joint"), ["joint"]),
        (lambda: res.get_prediction(which="class"), ["class"]),
        (lambda: res.info_criteria("hqic"), ["hqic", "aic"]),
        (lambda: res.predict(which="class", threshold=1.5), ["threshold", "1.5"]),
        (lambda: res.predict(which="class", threshold=-0.1), ["threshold"]),
        (lambda: res.predict(which="class", threshold=np.nan), ["threshold"]),
        (lambda: res.predict(which="class", threshold="high"), ["threshold", "high"]),
        (lambda: res.pred_table(2), ["threshold"]),
        (lambda: res.pred_table(np.nan), ["threshold"]),
        (lambda: res.simulate(0), ["n=0"]),
        (lambda: res.simulate(1.5), ["1.5"]),
        (lambda: res.simulate(-1), ["-1"]),
        (lambda: res.with_cov("huber"), ["huber"]),
        (lambda: res.summary(xname=["a"]), ["xname", "1", "5"]),
    ):
        with refused(*words, error=(ValueError, TypeError, NotImplementedError)):
            call()


@models
@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5, 95, np.nan, "a", "0.05", True, None])
def test_alpha(model, alpha):
    res = shared(model)
    calls = [
        res.conf_int,
        res.summary_frame,
        res.tidy,
        res.get_prediction(toy(5, 2)).conf_int,
        res.get_prediction(toy(5, 2)).summary_frame,
    ]
    calls.append(lambda a: res.summary(alpha=a))
    for call in calls:
        with refused("alpha", error=(ValueError, TypeError)):
            call(alpha)


@models
@pytest.mark.parametrize(
    "priors, words",
    [
        ({"yes": 0.5}, ["no", "priors"]),
        ({"yes": 0.5, "no": 0.6}, ["priors", "0.6"]),
        ({"yes": 1.0, "no": 0.0}, ["priors"]),
        ({"yes": -0.5, "no": 1.5}, ["priors"]),
        ({"yes": 0.5, "nein": 0.5}, ["no", "priors"]),
        ({"yes": np.nan, "no": 0.5}, ["priors"]),
        ([0.2, 0.3, 0.5], ["priors"]),
        (0.5, ["priors"]),
        ("yes", ["priors"]),
        ([0.5, 0.6], ["priors"]),
    ],
)
def test_priors(model, priors, words):
    with refused(*words):
        shared(model).predict(priors=priors)


@models
@pytest.mark.parametrize(
    "hypothesis, words",
    [
        ("x9 = 0", ["x9"]),
        ("x1 =", []),
        ("x1 * x2 = 0", ["x1 * x2"]),
        ("x1**2", []),
        ("", []),
        ("0 = 0", []),
        ("x1 - x1 = 0", []),
        (np.eye(4), ["4", "5"]),
        (np.ones(3), ["3", "5"]),
        (np.full(5, np.nan), ["NaN"]),
        (np.zeros(5), []),
        ((np.eye(5), np.zeros(3)), ["3", "5"]),
        (["x1 = 0", "x9 = 0"], ["x9"]),
        (None, []),
        ([], []),
    ],
)
def test_hypotheses(model, hypothesis, words):
    res = shared(model)
    with refused(*words, error=(ValueError, TypeError)):
        res.wald_test(hypothesis)
    if not (isinstance(hypothesis, np.ndarray) and not hypothesis.any()):
        with refused(*words, error=(ValueError, TypeError)):
            res.t_test(hypothesis)


@models
def test_contradictions_are_named(model):
    with refused("contradict"):
        shared(model).wald_test("x1 = 0, x1 = 1")
    a = shared(model).wald_test("x1 = 0, x2 = 0, x1 + x2 = 0")
    close(a.statistic, shared(model).wald_test("x1 = 0, x2 = 0").statistic)


@models
def test_units_of_odds_ratios(model):
    res = shared(model)
    if model != "Logit":
        with refused("Logit", model, res.model.link.ratio, error=NotImplementedError):
            res.odds_ratios()
        return
    for units in ({"age": 10}, {"x1": 0}, {"x1": np.inf}, {"x1": np.nan}):
        with refused("units", next(iter(units))):
            res.odds_ratios(units=units)


@models
def test_likelihood_ratio_tests_of_what_is_not_nested(model):
    t = toy()
    full, small = shared(model), shared(model, "y ~ x1")
    assert full.compare_lr_test(small).df == 3
    with refused():
        small.compare_lr_test(full)
    holed = t.copy()
    holed.loc[:3, "x1"] = np.nan
    for other, word in (
        (fit(model, "y ~ x1", holed), "rows"),
        (fit(model, "y ~ x1", t.iloc[:150]), "rows"),
        (fit(model, "y ~ x1", t, freq_weights=1 + t.times), "weights"),
        (fit(model, "y ~ x1", t, offset="off"), "offset"),
        (fit(model, "won + lost ~ x1", t[t.trials > 0]), "numbers of observations"),
        (fit(model, "y ~ x1", t, weights="sw"), "pseudo"),
    ):
        with refused(word):
            full.compare_lr_test(other)
    other_event = fit(model, "y ~ x1", t, event="no")
    if not full.model.link.symmetric:  # another model
        with refused("event"):
            full.compare_lr_test(other_event)
    else:  # the same one, told the other way round
        assert full.compare_lr_test(other_event).statistic == pytest.approx(full.compare_lr_test(small).statistic)
    another = MODELS[MODELS.index(model) - 1]
    with refused(model, another):
        full.compare_lr_test(shared(another, "y ~ x1"))
    with refused("nested"):
        full.compare_lr_test(shared(model, "y ~ h"))
    with refused("nested"):
        shared(model, "y ~ x1 + g").compare_lr_test(shared(model, "y ~ x2"))
    for thing in (None, "y ~ x1", full.model, full.llf):
        with refused(error=(ValueError, TypeError)):
            full.compare_lr_test(thing)


@models
def test_the_same_rows_reached_in_two_ways(model):
    t = toy()
    t.loc[[5, 6, 90], "x2"] = np.nan
    full = fit(model, "y ~ x1 + x2", t)
    expected = full.compare_lr_test(fit(model, "y ~ x1", t, subset=t.x2.notna())).statistic
    close(full.compare_lr_test(fit(model, "y ~ x1", t[t.x2.notna()])).statistic, expected)
    close(fit(model, "y ~ x1 + x2", t.dropna()).compare_lr_test(fit(model, "y ~ x1", t.dropna())).statistic, expected)


@models
def test_no_maximum_within_the_iterations(model):
    from glmclf.errors import ConvergenceWarning

    for method in ("irls", "newton", "bfgs", "lbfgs"):
        with pytest.warns(ConvergenceWarning, match=f"{method}.*1 iteration.*gradient norm") as caught:
            res = shared(model).model.fit(method=method, maxiter=1)
        assert len(caught) == 1
        assert res.converged is False and res.mle_retvals["converged"] is False and res.mle_retvals["iterations"] <= 1
        report = res.summary().as_text()
        assert "NOT a maximum" in report and "False" in report
        assert res.llf < shared(model).llf


@models
def test_no_iteration_at_all(model):
    with pytest.warns(UserWarning, match="0 iterations"):
        res = shared(model).model.fit(maxiter=0)
    assert not res.converged


@models
def test_a_callback_sees_every_iteration_and_disp_prints(model, capsys):
    seen = []
    res = shared(model).model.fit(callback=lambda i, params, llf: seen.append((i, np.array(params), llf)))
    assert capsys.readouterr().out == ""
    assert [i for i, _, _ in seen] == list(range(1, res.mle_retvals["iterations"] + 1))
    close(seen[-1][1], res.params, 1e-5)
    close(seen[-1][2], res.llf, 1e-9)
    shared(model).model.fit(disp=True)
    assert capsys.readouterr().out.count("iteration") == res.mle_retvals["iterations"]


@models
def test_a_likelihood_ratio_needs_two_maxima(model):
    with pytest.warns(UserWarning):
        unfinished = make(model, "y ~ x1", toy()).fit(maxiter=0)
    with pytest.warns(UserWarning, match="converge|maximum"):
        try:
            shared(model).compare_lr_test(unfinished)
        except ValueError as error:
            import warnings

            warnings.warn(str(error), UserWarning, stacklevel=1)


def test_bias_reductions_in_words():
    with refused('choose "firth" or "median"'):
        shared("Logit").model.fit(bias_reduction="nope")
    model = shared("Logit").model
    close(model.fit(bias_reduction="firth", refine=False).params, model.fit(bias_reduction="firth").params)
    with refused("refine=True", "firth", error=NotImplementedError):
        model.fit(bias_reduction="firth", refine=True)


def test_passes_without_polish_are_counted():
    from glmclf.errors import ConvergenceWarning

    model = shared("Logit").model
    raw = model.fit(method="sgd", polish=False, maxiter=3, seed=1)
    assert raw.mle_retvals["iterations"] == 3
    with refused("this model's fit did not converge"):
        raw.compare_lr_test(fit("Logit", "y ~ x1"))
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iteration,"):
        model.fit(method="newton", maxiter=1)


def test_what_is_left_of_a_pseudo_likelihood_is_in_its_own_standard_errors():
    t = toy()
    t["w"] = np.linspace(0.5, 40.0, len(t))
    model = make("Logit", "y ~ x1 + x2", t, weights="w")
    raw, known = model.fit(method="sgd", polish=False, maxiter=4, seed=1), model.fit()
    d = raw.params - known.params
    left = raw.mle_retvals["remaining_error"]
    close(left, np.sqrt(d @ np.linalg.solve(raw.cov_params(), d)), 0.1)
    t["w"] *= 1000.0
    again = make("Logit", "y ~ x1 + x2", t, weights="w").fit(method="sgd", polish=False, maxiter=4, seed=1)
    close(left, again.mle_retvals["remaining_error"], 1e-6)


@models
@pytest.mark.parametrize("option", [{"callback": 5}, {"callback": "f"}, {"disp": "x"}, {"disp": None}], ids=str)
def test_callback_and_disp(model, option):
    ((name, value),) = option.items()
    with refused(f"{name}={value!r}"):
        shared(model).model.fit(**option)


def test_an_estimate_short_of_the_maximum_has_no_criteria():
    model = make("Logit", "y ~ x1 + x2", toy())
    raw, best = model.fit(method="sgd", polish=False, seed=1), model.fit()
    for name in ("prsquared", "aic", "bic", "llr", "llr_pvalue"):
        assert np.isnan(getattr(raw, name)) and np.isfinite(getattr(best, name))
    assert raw.pseudo_rsquared().iloc[:4].isna().all() and raw.llf <= best.llf
    assert "What compares maxima is NaN" in " ".join(raw.summary().as_text().split())


# ---------------------------------------------------------------------------------------------------- True or False
WIDER = {  # options that are more than True or False, and what checks them
    *{(f"{model}.{method}", "disp") for model in registry.names(*registry.REGRESSIONS)  # statsmodels' verbosity
      for method in ("fit", "fit_regularized")},
    ("regression_table", "stars"),
    ("regression_table", "intervals"),
}


def results():
    """A result for each class of results, and the objects that their methods return, by name."""
    table = datasets.load("spector").assign(m=lambda t: np.array(["a", "b", "c"])[np.arange(len(t)) % 3])
    binary, classes = glmclf.Logit.from_formula("GRADE ~ GPA", table), glmclf.MNLogit.from_formula("m ~ GPA", table)
    yield from {"Logit": binary.fit(), "MNLogit": classes.fit(), "ridge": binary.fit_regularized(0.1)}.items()
    yield "LDA", glmclf.LDA.from_formula("m ~ GPA", table).fit()
    yield "NaiveBayes", glmclf.NaiveBayes.from_formula("m ~ GPA", table).fit()
    yield "pooled", glmclf.pool([binary.fit(), binary.fit()])
    yield "roc", binary.fit().roc()
    yield "table", binary.fit().summary().tables[0]


def public_functions():
    """Names and functions of all that is public: of the package, its plots, models, and results of each kind."""
    for owner in (glmclf, plots):
        for name in owner.__all__:
            found = getattr(owner, name)
            yield (name, found)
            if inspect.isclass(found):
                yield from ((f"{name}.{m}", getattr(found, m)) for m in dir(found) if not m.startswith("_"))
    for kind, found in results():
        for owner in (found, getattr(found, "discriminant", None)):
            methods = [m for m in dir(type(owner)) if not m.startswith("_")]
            methods = [m for m in methods if inspect.isroutine(getattr(type(owner), m))]
            yield from ((f"{kind}.{m}", getattr(owner, m)) for m in methods)


def truths():
    for name, function in public_functions():
        with contextlib.suppress(TypeError, ValueError):  # has no signature
            for option, parameter in inspect.signature(function).parameters.items():
                hint = str(parameter.annotation)
                if isinstance(parameter.default, bool) or "bool" in hint:
                    yield name, function, option, hint


def test_every_option_that_is_true_or_false_takes_nothing_else():
    """Texts and numbers were taken for their truth: exponentiate="no" was yes."""
    tried = set()
    for name, function, option, hint in truths():
        of_others = not str(function.__module__).startswith("glmclf")  # statsmodels' tables are lists
        if (name, option) in WIDER or name == "NaiveBayes" or of_others:
            continue
        tried.add(option)
        assert hint in ("bool", "bool | None"), f"{name}({option}=): annotate it as bool"
        places = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        others = {p.name: None for p in places if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)}
        for value in ("no", 1, 0.0, np.array([True])) + ((None,) if hint == "bool" else ()):
            with pytest.raises((ValueError, NotImplementedError)) as caught:
                function(**{**others, option: value})
            refused_before = str(caught.value).startswith((f"{name.partition('.')[2]} of a penalised fit",
                                                           f"{name.partition('.')[2]}() of pooled fits"))
            assert refused_before or re.match(rf"{option}=.*: choose True", str(caught.value)), (name, caught.value)
            assert refused_before or repr(value) in str(caught.value), name
    assert tried == set(
        "exponentiate progress flic refine polish symmetric refit penalize_intercept expected diagonal dummy count "
        "use_t use_f scalar skip_constant date trusted standardized discriminant center points panels stacked smooth "
        "histogram shade levels impose_null".split()
    )


def test_pooled_is_true_or_false():
    with pytest.raises(ValueError, match="pooled='no': choose True or False"):
        glmclf.NaiveBayes.from_formula("y ~ x1", toy(), pooled="no")


def test_options_by_keyword_have_no_place_among_results():
    res = glmclf.Logit.from_formula("GRADE ~ GPA", datasets.load("spector")).fit()
    assert "(12)" in str(glmclf.regression_table(*[res] * 12, exponentiate=True))
    with pytest.raises(ValueError, match="expected=1: choose True or False"):
        res.model.information(res.params, 1)  # by place


def test_truths_of_numpy_are_truths():
    res = glmclf.Logit.from_formula("GRADE ~ GPA", datasets.load("spector")).fit(disp=0, progress=np.False_, flic=False)
    assert res.summary(exponentiate=np.True_).as_csv() == res.summary(exponentiate=True).as_csv()
