"""Plots of results: each function draws on `ax=`, or on a figure of its own, and returns the Figure; none shows it.

Needs matplotlib (``pip install 'glmclf[plot]'``).
"""

from importlib import import_module
from typing import Any

_MODULES: dict[str, tuple[str, ...]] = {  # module: the functions in it
    "model_check": ("check",),
    "forest": ("coefficients", "margins"),
    "curves": ("roc", "precision_recall"),
    "confusion_table": ("confusion",),
    "reliability": ("calibration",),
    "predicted": ("probabilities",),
    "paths": ("regularization",),
    "diagnostics": ("influence", "residuals", "partial_residuals"),
    "decision_regions": ("regions",),
    "discriminant_space": ("ellipses", "canonical"),
    "density_curves": ("densities", "ladder"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [*_WHERE]


def __getattr__(name: str) -> Any:
    """A function, imported when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{_WHERE[name]}"), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
