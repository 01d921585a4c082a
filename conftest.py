"""What all tests need, those of docstrings and of docs/, too: figures are drawn on no screen, and closed."""

import os
import re
import sys
from importlib.util import find_spec

os.environ.setdefault("MPLBACKEND", "Agg")

import pytest

# where a package is not installed, what needs it is left alone
collect_ignore = [] if find_spec("sklearn") else ["glmclf/sklearn.py"]


def pytest_collection_modifyitems(items):
    """Skip pages that draw, where matplotlib is not installed."""
    for item in items if find_spec("matplotlib") is None else []:
        if item.path.suffix == ".md" and re.search(r"^>>> .*\bplots\b", item.path.read_text(encoding="utf-8"), re.M):
            item.add_marker(pytest.mark.skip(reason="needs matplotlib"))


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close what pyplot holds."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
