"""Likelihood ratio test of nested regressions."""

from __future__ import annotations

from typing import Any

from glmclf.inference.hypotheses import wald
from glmclf.inference.hypotheses.records import LRTest
from glmclf.results.comparison import comparability
from glmclf.results.comparison.nesting import check_nested


def compare_lr_test(res: Any, restricted: Any) -> LRTest:
    """See `LikelihoodTests.compare_lr_test`."""
    if restricted._regularised:
        raise NotImplementedError(
            "compare_lr_test with a penalised fit: its log-likelihood is no maximum. Fit it by fit()"
        )
    _check_comparable(res, restricted)
    value = res._criterion.of_smaller(restricted)
    return wald.lr_test(res._state.estimate.maximised, value, res._size - restricted._size)


def _check_comparable(res: Any, other: Any) -> None:
    alike = type(res.model) is type(other.model)
    if not alike and not comparability.same_link(res, other):
        _refuse_other_class(res, other)
    if res.bias_reduction != other.bias_reduction:
        a, b = (f"bias_reduction={r.bias_reduction!r}" for r in (res, other))
        raise ValueError(f"compare_lr_test: this fit has {a}, the restricted one {b}: fit both alike")
    if res.model._pseudo or other.model._pseudo:
        raise ValueError(
            "sampling weights or fractions make the log-likelihood a pseudo-likelihood, which has no likelihood "
            "ratio test; use wald_test"
        )
    for which, one in (("this", res), ("the restricted", other)):
        if not one.converged:
            raise ValueError(f"{which} model's fit did not converge, so that its log-likelihood is no maximum")
    differ = comparability.different_data(res, other)
    if not differ and res.bias_reduction and not comparability.same_offset(res, other):
        differ = ["offset"]  # the penalised likelihood is maximised again with the offset of this fit
    if differ:
        raise ValueError(
            f"the two models were fitted to different data (their {', '.join(differ)} differ). Fit both to the "
            "same rows: drop rows with missing values of either first, for example with data.dropna()"
        )
    if alike and not comparability.same_link(res, other):
        _refuse_other_class(res, other)
    if res._size <= other._size:
        raise ValueError(
            f"the restricted model has {other._size} parameters, this one {res._size}: call compare_lr_test on "
            "the larger model, with the smaller one as its argument"
        )
    check_nested(res, other)


def _refuse_other_class(res: Any, other: Any) -> None:
    a, b = type(res.model).__name__, type(other.model).__name__
    link = getattr(res.model, "link", None)
    if a == b and link is not None and not link.symmetric:
        raise ValueError(
            f"a {a} is not nested in one of the other event, as the two tails of its link differ. Fit both with "
            "the same event="
        )
    names = [comparability.coded_levels(one) for one in (res, other)]
    if len(names[0]) != len(names[1]):
        raise ValueError(
            f"the models are not nested: their levels differ, this one has {names[0]} and the restricted one "
            f"{names[1]}. Fit both to the same response"
        )
    raise ValueError(f"a {b} is not nested in a {a}: a likelihood ratio test compares models of one class")
