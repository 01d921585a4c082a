"""What pytest leaves alone in docs/: sphinx's configuration and output, and pages whose package is not installed."""

import pathlib
from importlib.util import find_spec

import pytest

collect_ignore = ["conf.py", "_ext", "_build", "auto_examples", "generated"]
collect_ignore += [] if find_spec("sklearn") else ["guides/scikit-learn.md", "guides/text.md"]

WARNINGS = {  # of pages that show what is warned of
    "4-when-it-goes-wrong.md": "glmclf.errors.SeparationWarning glmclf.errors.CollinearityWarning",
    "collinearity.md": "glmclf.errors.CollinearityWarning",
    "covariances.md": "glmclf.errors.InferenceWarning",
    "index.md": "glmclf.errors.SeparationWarning",
    "separation.md": "glmclf.errors.SeparationWarning",
}


def pytest_collection_modifyitems(items):
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents and item.path.name in WARNINGS:
            for category in WARNINGS[item.path.name].split():
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))
