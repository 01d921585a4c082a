"""Comparison of fits: information criteria, Vuong's test, nesting, comparability."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glmclf.results.comparison.conditional import ConditionalComparison as ConditionalComparison


def __getattr__(name: str) -> Any:
    """``ConditionalComparison``, by its documented path; generative models alone need the module."""
    if name != "ConditionalComparison":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from glmclf.results.comparison.conditional import ConditionalComparison

    return ConditionalComparison
