"""Paths to files of data: their suffixes, and how messages call them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".dta": "stata"}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")


def suffix_of(path: str) -> str:
    """The last suffix of a file's name, before that of a compressed text."""
    *before, last = ["", *(s.lower() for s in Path(path).suffixes)]
    return before[-1] if last in COMPRESSED and before[-1] in SEPARATORS else last


def separator_of(path: str) -> str:
    """What separates the fields of a file of text."""
    return SEPARATORS.get(suffix_of(path), ",")


def paths_of(data: Any) -> list[Any]:
    """Paths in a list or tuple of paths; an empty list for anything else."""
    several = isinstance(data, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in data)
    return list(data) if several else []


def short(path: Any) -> str:
    """The last part of a path."""
    return os.path.basename(os.fspath(path).rstrip("/\\")) or os.fspath(path)
