"""Requirements of methods on a fit: the decorator `requires`, its check, and the messages of refusals."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import FrameType, MappingProxyType
from typing import Any, TypeVar, cast

from glmclf import registry
from glmclf.checks import check_keywords, check_truths, keyword_options, truth_options
from glmclf.core.likelihood.links import RELATIVE_RISK, LogitLink
from glmclf.core.rows.asked import ASKED, asking, spelled
from glmclf.core.rows.streamed import RowsElsewhereError, rows_removed
from glmclf.results.tables.frames import ratio_name

F = TypeVar("F", bound=Callable[..., Any])


class Needs(Enum):
    """Properties of a model or a fit that a method may require, those of the model first."""

    BINARY = "a binary model: the probability of one event rises or falls with the linear predictor"
    LEVELS = "three levels of the response, or more"
    ODDS = "coefficients that are logarithms of odds ratios, or of relative risk ratios"
    DISTRIBUTION = "a response with a distribution: fractions have a mean only"
    REFERENCE = "equations of levels against a reference level"
    MAXIMUM = "an estimate without a penalty; bias-reduced ones have it"
    MLE = "the maximum likelihood estimate: neither penalised nor bias-reduced"
    TESTS = "Wald tests: a penalised estimate has none, its refit by maximum likelihood has"
    SPREAD = "standard errors, be they posterior deviations of a ridge"
    LIKELIHOOD = "the maximum of a likelihood, not of a pseudo-likelihood of sampling weights or fractions"
    OBJECTIVE = "an objective whose maxima compare: the likelihood, or Firth's penalised one"
    UNCONSTRAINED = "no linear constraints on the parameters"
    FINITE = "a finite estimate: no separation"
    REPEATABLE = "a fit that has an estimate on resampled rows, too: converged and not separated"
    ROWS = "the rows of the fit one by one, in memory"


class Kind(Enum):
    """Kinds of models and fits that lack what some methods need, with their names in messages."""

    CLASSES = "a model of classes"
    TWO_LEVELS = "a fit of two levels"
    OTHER_RATIO = "a link whose exp(b) is another ratio"
    NO_RATIO = "a link whose exp(b) is no ratio"
    FRACTIONS = "a fractional response"
    SYMMETRIC = "a penalised fit with symmetric=True"
    PENALISED = "a penalised fit"
    REFIT = "a refit after selection"
    NOT_REFIT = "a penalised fit without a refit"
    SELECTED = "a lasso"
    WITHOUT_POSTERIOR = "a penalised pseudo-likelihood"
    PSEUDO = "a pseudo-likelihood"
    PSEUDO_JOINT = "a joint pseudo-likelihood"
    UNCONVERGED = "a fit that did not converge"
    SHRUNK = "a regularised fit"
    OF_SHRUNK = "the logit that a regularised fit implies"
    SMOOTHED = "a fit with a penalty or smoothing"
    REDUCED = "a bias-reduced fit"
    WITHOUT_OBJECTIVE = "a bias-reduced fit without a penalised likelihood"
    CONSTRAINED = "a constrained fit"
    SEPARATED = "a separated fit"
    STREAMED = "a fit to a stream"
    WITHOUT_ROWS = "a fit whose rows are gone"


SPECIAL = (Kind.SEPARATED, Kind.CONSTRAINED, Kind.REDUCED, Kind.PENALISED)  # estimates with an inference of their own


def has_rows(res: Any) -> bool:
    """Whether a result has the rows of the fit one by one."""
    return not (is_of(res, Kind.STREAMED) or is_of(res, Kind.WITHOUT_ROWS))


def is_of(res: Any, kind: Kind) -> bool:
    """Whether a result is of a kind; False for estimates that are no fit, such as an implied logit."""
    return bool(_OF[kind](res))


def _penalised(res: Any) -> bool:
    state = getattr(res, "_state", None)
    return state is not None and state.penalised


def _joint(res: Any) -> bool:
    return hasattr(type(res), "llf_conditional")


def _estimate(res: Any) -> Any:
    """The estimate of a regression; None of other results."""
    state = getattr(res, "_state", None)
    return None if state is None else state.estimate


def _reduced(res: Any) -> bool:
    return _estimate(res) is not None and _estimate(res).bias_reduction is not None


def _without_spread(res: Any) -> bool:
    return _penalised(res) and not res._has_spread


def _link(res: Any) -> Any:
    """The link of a binary model; None of models of classes."""
    return getattr(res.model, "link", None)


_OF: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.CLASSES: lambda res: _link(res) is None,
    Kind.TWO_LEVELS: lambda res: _link(res) is None and len(res.model.levels) < 3,
    Kind.OTHER_RATIO: lambda res: ratio_name(res) not in ("", LogitLink.ratio, RELATIVE_RISK),
    Kind.NO_RATIO: lambda res: not ratio_name(res),
    Kind.FRACTIONS: lambda res: _link(res) is not None and res.model._response.kind == "fraction",
    Kind.SYMMETRIC: lambda res: _penalised(res) and res.symmetric,
    Kind.PENALISED: _penalised,
    Kind.REFIT: lambda res: _penalised(res) and res._has_tests,
    Kind.NOT_REFIT: lambda res: _penalised(res) and not res._has_tests,
    Kind.SELECTED: lambda res: _without_spread(res) and not res.model._pseudo,
    Kind.WITHOUT_POSTERIOR: lambda res: _without_spread(res) and res.model._pseudo,
    Kind.PSEUDO: lambda res: res.model._pseudo and not _joint(res),
    Kind.PSEUDO_JOINT: lambda res: res.model._pseudo and _joint(res),
    Kind.UNCONVERGED: lambda res: not res.converged,
    Kind.SHRUNK: lambda res: _joint(res) and res._regularised,
    Kind.OF_SHRUNK: lambda res: getattr(res, "_parent", None) is not None and res._parent._regularised,
    Kind.SMOOTHED: lambda res: _joint(res) and not res._maximum,
    Kind.REDUCED: _reduced,
    Kind.WITHOUT_OBJECTIVE: lambda res: _reduced(res) and _estimate(res).maximised is None,
    Kind.CONSTRAINED: lambda res: _estimate(res) is not None and _estimate(res).constraints,
    Kind.SEPARATED: lambda res: getattr(res, "separation", None) is not None,
    Kind.STREAMED: lambda res: res.model._rows_ is not None and res.model._rows_.streamed,
    Kind.WITHOUT_ROWS: lambda res: res.model._rows_ is None,
}


@dataclass(frozen=True)
class Refusal:
    """Refusal of a kind of fit that lacks a need: the error and its sentence.

    In it `name` is the method, `what` the method as it is called, `why` the part that differs among methods, `res` the
    result, `model` the name of its model's class.
    """

    kind: Kind
    error: Callable[..., Exception]
    sentence: str = ""  # empty where the error class has its own
    why: str = ""  # empty where the method has its own words
    of: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    only: tuple[str, ...] = ()  # methods that the sentence is for; all if empty


NO_MAXIMUM = "the estimate is not the maximum of the likelihood"
PENALISED = Refusal(
    Kind.PENALISED,
    NotImplementedError,
    "{name} of a penalised fit: {why}",
    f"{NO_MAXIMUM}. Use fit()",
    {
        "llr": f"{NO_MAXIMUM}. deviance and prsquared are there",
        "llr_pvalue": NO_MAXIMUM,
        "compare_lr_test": f"{NO_MAXIMUM}. Compare aic, or fit_regularized_cv",
        "anova": "its tests need a maximum of the likelihood. Compare aic, or use fit()",
        "wald_test_terms": "its tests need a maximum of the likelihood. Use fit()",
        "score_test": "the score is not zero at the estimate. Use fit()",
        "compare_vuong": f"{NO_MAXIMUM}. Compare aic, or use fit()",
        "gof_test": "its degrees of freedom need a maximum of the likelihood. Use fit()",
        "information_matrix_test": "it needs a maximum of the likelihood. Use fit()",
        "get_influence": "leverage and the change without a row are those of a maximum of the likelihood. Use fit()",
        "with_cov": "the covariance is the posterior's, or there is none. Use fit(cov_type=...)",
        "rebase": "the penalty is on contrasts with the reference. Fit with the other reference, or symmetric=True",
        "level_contrasts": "it tests. params has the estimates",
        "combine_test": "it tests. Use fit()",
        "iia_test": "it compares maximum likelihood estimates. Use fit()",
        "equations": "they have tests. params has the estimates",
        "hauck_donner": "there is no Wald test. Use fit()",
        "digits": "they are known of maximum likelihood. mle_retvals has the violation of the optimality conditions",
    },
)
NO_REFIT = Refusal(
    Kind.REFIT,
    NotImplementedError,
    "{name} of a refit after selection: {why}",
    "the columns were selected by a penalty. Fit a model of the selected columns by fit() to have it",
    dict.fromkeys(
        ("llr", "llr_pvalue", "compare_lr_test", "anova", "wald_test_terms", "score_test", "gof_test")
        + ("constraint_test", "linktest", "compare_vuong", "information_matrix_test"),
        "the data chose the columns, so that a test of the model as a whole is none. wald_test ignores that, too; fit "
        "a model of the selected columns by fit() to have this one",
    ),
)
REDUCED = Refusal(
    Kind.REDUCED,
    NotImplementedError,
    '{what} of a fit with bias_reduction="{res.bias_reduction}": {why}',
    "it needs maximum likelihood. Use fit()",
    {
        "score_test": "its score is not zero. Use compare_lr_test or wald_test",
        "anova": 'its score is not zero. Use test="LR" or "wald"',
        "iia_test": "it compares maximum likelihood estimates",
        "linktest": "it compares maximum likelihood fits",
        "compare_conditional": "it compares maximum likelihood fits",
    },
)
CALIBRATION = "calibration plots and predictions"

REFUSALS: Mapping[Needs, tuple[Refusal, ...]] = {
    Needs.BINARY: (
        Refusal(
            Kind.CLASSES,
            NotImplementedError,
            f"{{what}} of {{model}}: it is for {registry.listed(['binary'])}. {{why}}",
            of={"inverse_predict": "predictions() has the probabilities at values of a variable"},
        ),
    ),
    Needs.LEVELS: (
        Refusal(
            Kind.TWO_LEVELS, ValueError, "{name} leaves one level out and needs two others; the levels are {res.levels}"
        ),
    ),
    Needs.ODDS: (
        Refusal(
            Kind.OTHER_RATIO,
            NotImplementedError,
            "{what} is for Logit: exp of a {model} coefficient is not an odds ratio but a {res.model.link.ratio}: use "
            "summary_frame(exponentiate=True)",
        ),
        Refusal(
            Kind.NO_RATIO, NotImplementedError, "{what} is for Logit: exp of a {model} coefficient is not an odds ratio"
        ),
    ),
    Needs.DISTRIBUTION: (
        Refusal(
            Kind.FRACTIONS, NotImplementedError, "{what} needs a distribution; a fractional response has a mean only"
        ),
    ),
    Needs.REFERENCE: (
        Refusal(
            Kind.SYMMETRIC, NotImplementedError, "{what} with symmetric=True: its equations have no working residuals"
        ),
    ),
    Needs.MAXIMUM: (
        Refusal(
            Kind.PENALISED,
            NotImplementedError,
            '{name} of a regularised fit: a penalty is in it. Use vif(of="design")',
            only=("vif",),
        ),
        NO_REFIT,
        PENALISED,
    ),
    Needs.MLE: (
        Refusal(
            Kind.REDUCED,
            NotImplementedError,
            "{name} of {model} with bias_reduction={res.bias_reduction!r}: it compares maximum likelihood fits",
            only=("compare_vuong",),
        ),
        Refusal(
            Kind.PENALISED,
            NotImplementedError,
            "{name} of {model} with a penalty or smoothing: it compares maximum likelihood fits",
            only=("compare_vuong",),
        ),
        Refusal(
            Kind.PENALISED,
            NotImplementedError,
            "{name} of a penalised fit: it compares maximum likelihood fits",
            only=("compare_conditional",),
        ),
        NO_REFIT,
        PENALISED,
        REDUCED,
        Refusal(
            Kind.SMOOTHED,
            NotImplementedError,
            "{name} of {model} with a penalty or smoothing: {why}",
            "it needs maximum likelihood",
            {"compare_vuong": "it compares maximum likelihood fits"},
        ),
    ),
    Needs.TESTS: (
        Refusal(
            Kind.NOT_REFIT,
            NotImplementedError,
            "{name} of a penalised fit: there are no Wald tests. A ridge has posterior_sd and conf_int(); after a "
            "lasso refit=True has tests, which ignore the selection",
        ),
        Refusal(
            Kind.OF_SHRUNK,
            ValueError,
            "a regularised discriminant is biased: its standard deviations do not make a test. Fit without shrinkage= "
            "and ridge=",
        ),
    ),
    Needs.SPREAD: (
        Refusal(
            Kind.SELECTED,
            NotImplementedError,
            "{what} of a penalised fit with L1_wt={res.L1_wt:g}: a selected estimate has no standard errors. L1_wt=0 "
            "has, and refit=True",
        ),
        Refusal(
            Kind.WITHOUT_POSTERIOR,
            NotImplementedError,
            "{what} of a penalised fit with {weights}: the log-likelihood is a pseudo-likelihood, which has no "
            "posterior",
        ),
    ),
    Needs.LIKELIHOOD: (
        Refusal(
            Kind.PSEUDO,
            ValueError,
            "{what} needs a likelihood; sampling weights or fractions make it a pseudo-likelihood. Use {why}",
            "wald_test",
            {
                "anova": 'anova(test="wald")',
                "conf_int": 'conf_int(method="wald")',
                "constraint_test": 'constraint_test("wald")',
                "iia_test": "weights of whole numbers as freq_weights=",
                "hauck_donner": "compare_lr_test of a model that has one",
                "gof_test": CALIBRATION,
                "gof_groups": CALIBRATION,
                "information_matrix_test": "robust standard errors, which do not need it",
                "compare_conditional": "frequency weights, which are counts",
            },
        ),
        Refusal(
            Kind.PSEUDO_JOINT,
            ValueError,
            "{what} needs a likelihood; sampling weights make it a pseudo-likelihood: use Wald tests of discriminant, "
            "which are robust",
        ),
        Refusal(
            Kind.SHRUNK, ValueError, "{what} is not defined for a regularised fit: fit without shrinkage= and ridge="
        ),
        Refusal(
            Kind.UNCONVERGED, ValueError, "{what}: the fit did not converge, so that its log-likelihood is no maximum"
        ),
    ),
    Needs.OBJECTIVE: (
        Refusal(
            Kind.WITHOUT_OBJECTIVE,
            NotImplementedError,
            '{what} of a {model} with bias_reduction="{res.bias_reduction}": its adjusted score is the gradient of no '
            'likelihood. Use wald_test, or bias_reduction="firth" of a Logit or MNLogit',
        ),
    ),
    Needs.UNCONSTRAINED: (
        Refusal(
            Kind.CONSTRAINED,
            NotImplementedError,
            "hauck_donner of a constrained fit: use constraint_test()",
            only=("hauck_donner",),
        ),
        Refusal(
            Kind.CONSTRAINED,
            NotImplementedError,
            "{what} of a fit with the constraints {res._state.estimate.constraint}: use {why}",
            "constraint_test()",
            {
                "anova": "constraint_test(), or wald_test of what the constraints leave free",
                "wald_test_terms": "wald_test of parameters that the constraints leave free",
                "score_test": 'constraint_test("score")',
                "refit": "fit_constrained of the model of the other formula",
                "score_bootstrap_test": "that of model.fit(), with the constraints as its hypothesis",
                "iia_test": "a fit without them",
                "compare_conditional": "a fit without them",
                "vif": 'vif(of="design")',
            },
        ),
    ),
    Needs.FINITE: (
        Refusal(
            Kind.SEPARATED,
            ValueError,
            "iia_test compares estimates, of which some are infinite ({res.separation})",
            only=("iia_test",),
        ),
        Refusal(Kind.SEPARATED, ValueError, "{what} of {model}: the estimate is infinite ({res.separation})"),
    ),
    Needs.ROWS: (Refusal(Kind.STREAMED, RowsElsewhereError), Refusal(Kind.WITHOUT_ROWS, rows_removed)),
    Needs.REPEATABLE: (
        Refusal(Kind.UNCONVERGED, ValueError, "{what} repeats the fit, which did not converge"),
        Refusal(
            Kind.SEPARATED,
            ValueError,
            "{what} repeats the fit, whose estimate is infinite ({res.separation}), and so are those of resamples: fit "
            'with bias_reduction="firth" or fit_regularized',
        ),
    ),
}


def requires(*needs: Needs) -> Callable[[F], F]:
    """Declare what a public method or property of a result requires of the fit; without needs, nothing.

    It stands directly above the ``def``, below ``@property`` and its like. What lacks one of the needs is refused by
    the sentence of `REFUSALS`, before anything is computed. Options annotated as ``bool`` take nothing else.

    Parameters
    ----------
    *needs : Needs
        In the order in which they are checked: first those of the model, which no other fit of it would have.

    Examples
    --------
    >>> from glmclf.results.requires import Needs, requires
    >>> class Fit:
    ...     @requires(Needs.MLE, Needs.LIKELIHOOD)
    ...     def osius_rojek_test(self): ...
    >>> Fit.osius_rojek_test.needs
    (<Needs.MLE: 'the maximum likelihood estimate: neither penalised nor bias-reduced'>, ...)
    """

    def decorated(method: F) -> F:
        if not inspect.isfunction(method):
            raise TypeError(f"@requires stands directly above the def, not above {type(method).__name__}")
        name = method.__name__
        checks, options, keywords = tuple(_checks(name, needs)), truth_options(method), keyword_options(method)

        @functools.wraps(method)
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            check_keywords(name, keywords, kwargs)
            if ASKED.get() is None:
                with asking(type(self), name):
                    return checked(self, *args, **kwargs)
            for lacks, refusal in checks:
                if lacks(self):
                    raise _refused(refusal, self, name)
            check_truths(options, (self, *args), kwargs)
            return method(self, *args, **kwargs)

        checked.needs = needs  # type: ignore[attr-defined]
        return cast(F, checked)

    return decorated


def caller_of(frame: FrameType, steps: int) -> FrameType:
    """Frame of who called a method, some `steps` further up: those of its requirements are nobody's."""
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    for _ in range(steps):
        if frame.f_back is None:
            raise ValueError(f"eval_env={steps}: there are not that many callers")
        frame = frame.f_back
    return frame


def needs_of(owner: type, name: str) -> tuple[Needs, ...] | None:
    """Needs declared by a public method or property of a class; None where it declares none."""
    found = inspect.getattr_static(owner, name)
    for inner in ("fget", "func", "__func__"):
        found = getattr(found, inner, found)
    return getattr(found, "needs", None)


def check_needs(res: Any, what: str, *needs: Needs) -> None:
    """Refuse a result that lacks one of the needs; called inside methods whose arguments decide on them.

    Parameters
    ----------
    res : result
    what : str
        What is asked for: the name of the method, or a call of it, such as ``'anova(test="LR")'``.
    *needs : Needs
    """
    for lacks, refusal in _checks(what, needs):
        if lacks(res):
            raise _refused(refusal, res, what)


def _checks(what: str, needs: tuple[Needs, ...]) -> Iterator[tuple[Callable[[Any], Any], Refusal]]:
    """Iterate over the kinds of fits that a method is refused for, the most special sentence first."""
    asked = {what, _stem(what)}
    for need in needs:
        for refusal in REFUSALS[need]:
            if not refusal.only or not asked.isdisjoint(refusal.only):
                yield _OF[refusal.kind], refusal


def _refused(refusal: Refusal, res: Any, what: str) -> Exception:
    return refusal.error(_said(refusal, res, what)) if refusal.sentence else refusal.error()


def kinds(res: Any, among: tuple[Kind, ...]) -> Iterator[str]:
    """Iterate over the names in messages of the kinds that a result is of."""
    return (kind.value for kind in among if is_of(res, kind))


def _stem(what: str) -> str:
    return what.partition("(")[0].rstrip()


def _said(refusal: Refusal, res: Any, what: str) -> str:
    called = spelled(type(res), what) if what == _stem(what) else what
    said = refusal.sentence.format(
        name=what,
        what=called,
        why=refusal.of.get(_stem(what), refusal.why),
        res=res,
        model=type(res.model).__name__,
        weights="a fractional response" if getattr(res.model, "_frequency", False) else "sampling weights",
    )
    return said.rstrip()  # a method without words of its own ends before {why}
