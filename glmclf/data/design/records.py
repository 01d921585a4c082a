"""The version of the format in which designs and responses are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glmclf.errors import DataError

VERSION = 1


def check_version(stored: Mapping[str, Any], what: str) -> None:
    """Refuse a record that a newer release wrote."""
    version = stored.get("version") if isinstance(stored, Mapping) else None
    if not isinstance(version, int) or version < 1:
        raise DataError(f"this is not a stored {what}: it has no format version.")
    if version > VERSION:
        raise DataError(
            f"the stored {what} has format version {version}; this release reads up to {VERSION}. "
            f"Upgrade glmclf to read it."
        )
