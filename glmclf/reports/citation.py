"""How to cite the package, and the versions that numbers were computed with."""

from __future__ import annotations

import platform
from importlib import metadata

import glmclf

YEAR = 2026  # of the version
AUTHOR, TITLE = "The glmclf developers", "glmclf: classification models from formulas, with the statistics"
BESIDE = ("numpy", "scipy", "pandas", "patsy", "statsmodels", "matplotlib")  # packages whose versions are named


def reference() -> str:
    """The package as a list of references has it."""
    return f"{AUTHOR} ({YEAR}). {TITLE}. Version {glmclf.__version__}."


def bibtex() -> str:
    """The package as an entry of BibTeX."""
    fields = {"author": f"{{{AUTHOR}}}", "title": TITLE, "year": YEAR, "version": glmclf.__version__}
    lines = [f"  {name:<7} = {{{value}}}" for name, value in fields.items()]
    return "@software{glmclf,\n" + ",\n".join(lines) + "\n}"


def versions() -> dict[str, str]:
    """Versions of the package, of Python and of the packages beside it that are installed."""
    found = {"glmclf": glmclf.__version__, "Python": platform.python_version()}
    for name in BESIDE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
