"""Fixtures of the whole suite. The functions live in tests/references.py; import them from there to parametrise."""

import os
import pathlib

if "PYTEST_XDIST_WORKER" in os.environ:  # before numpy loads BLAS: workers leave each other their processors
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
import references


@pytest.fixture(scope="session")
def reference():
    """``reference(name) -> (case, data)``: a case of tests/reference and its data."""
    return references.reference


@pytest.fixture(scope="session")
def fitted():
    """``fitted(name) -> results``: each binary reference fit, computed once per run."""
    return references.fitted


@pytest.fixture(scope="session")
def repository() -> pathlib.Path:
    """Folder of the checkout, where docs/, examples/ and README.md are."""
    return pathlib.Path(__file__).resolve().parent.parent
