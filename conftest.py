"""What all tests need, those of docstrings and of docs/, too: figures are drawn on no screen, and closed."""

import os
import sys

os.environ.setdefault("MPLBACKEND", "Agg")

import pytest


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close what pyplot holds."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
