"""Seeds of random numbers, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from glmclf.checks import check_whole, is_truth


def generator(seed: Any) -> np.random.Generator:
    """Random generator from a seed of any kind; ValueError for anything else."""
    try:
        if is_truth(seed):
            raise TypeError
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(f"seed={seed!r}: a whole number, 0 or more, a SeedSequence or a Generator") from None


def whole(seed: Any) -> int:
    """A seed that is a whole number; ValueError otherwise."""
    return check_whole("seed", seed, 0)
