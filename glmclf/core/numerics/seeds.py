"""Seeds of random numbers, checked."""

from __future__ import annotations

from typing import Any

import numpy as np


def generator(seed: Any) -> np.random.Generator:
    """Random generator from a seed of any kind; ValueError for anything else."""
    try:
        if isinstance(seed, (bool, np.bool_)):
            raise TypeError
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(f"seed={seed!r}: a whole number, 0 or more, a SeedSequence or a Generator") from None


def whole(seed: Any) -> int:
    """A seed that is a whole number; ValueError otherwise."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed={seed!r}: a whole number, 0 or more")
    return int(seed)
