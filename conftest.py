"""What all tests need, those of docstrings and of docs/, too: figures are drawn on no screen, and closed."""

import os
import sys
from importlib.util import find_spec

os.environ.setdefault("MPLBACKEND", "Agg")

import pytest

# where a package is not installed, what needs it is left alone
collect_ignore = [] if find_spec("sklearn") else ["glmclf/sklearn.py"]
collect_ignore += [] if find_spec("matplotlib") else ["README.md"]


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close what pyplot holds."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
