"""Wild bootstrap tests: scores of clusters with random signs, whose statistics tell how large a true hypothesis lets
them be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.core.numerics import seeds

ROOT5 = 5.0**0.5
#: values of the multipliers of mean 0 and variance 1, and their probabilities
MULTIPLIERS: dict[str, tuple[ndarray, ndarray]] = {
    "rademacher": (np.array([-1.0, 1.0]), np.full(2, 1 / 2)),
    "webb": (np.array([-(1.5**0.5), -1.0, -(0.5**0.5), 0.5**0.5, 1.0, 1.5**0.5]), np.full(6, 1 / 6)),
    "mammen": (np.array([1 - ROOT5, 1 + ROOT5]) / 2, np.array([ROOT5 + 1, ROOT5 - 1]) / (2 * ROOT5)),
}
MAX_ENTRIES = 2**22  # entries of the draws that are in memory at a time
TIE = 1e-9  # relative difference of two statistics up to which they are equal: rounding


def wild_test(
    scores: ndarray, shares: ndarray, statistic: float | None, multipliers: str, reps: int, seed: Any
) -> tuple[float, float, int, bool]:
    """Test by draws of T* = N' C^-1 N, N = sum_g a_g, C = sum_g (a_g - c_g N) (a_g - c_g N)' with a_g = v_g u_g.

    Parameters
    ----------
    scores : (G, q) ndarray
        Scores u_g of the clusters in the q directions tested, of rank q < G.
    shares : (G,) ndarray
        Shares c_g of the clusters in the rows: C is about the mean of the rows.
    statistic : float or None
        Of the data; None for T* with v_g = 1.
    multipliers : str
        Of `MULTIPLIERS`: what the v_g are.
    reps : int
        How many draws. Where signs ("rademacher") have no more, all 2^G are taken, each once.
    seed : int, SeedSequence or Generator

    Returns
    -------
    statistic, pvalue, reps, whether all signs were taken
        The p-value is the share of draws with T* of at least the statistic; the data count as one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from glmclf.inference.hypotheses.wild import wild_test
    >>> test = wild_test(np.array([[1.0], [2.0], [4.0]]), np.full(3, 1 / 3), None, "rademacher", 99, None)
    >>> round(test[0], 9), *test[1:]
    (10.5, 0.25, 8, True)
    """
    G, q = scores.shape
    Z = np.linalg.qr(scores)[0]
    T = float(_statistics(np.ones((1, G)), Z, shares)[0]) if statistic is None else statistic
    every: bool = multipliers == "rademacher" and 2**G <= reps
    size = max(1, MAX_ENTRIES // (G + q * q))
    draws = _all_signs(G, size) if every else _drawn(G, size, multipliers, reps, seeds.generator(seed))
    reached = sum(int((_statistics(v, Z, shares) >= (1 - TIE) * T).sum()) for v in draws)
    if every:
        reached, reps = 2 * reached, 2**G
    pvalue = reached / reps if every and statistic is None else (1 + reached) / (1 + reps)
    return T, pvalue, reps, every


def _statistics(v: ndarray, Z: ndarray, shares: ndarray) -> ndarray:
    """T* of draws v (B, G) from scores Z (G, q) with orthonormal columns.

    With M = sum_g a_g a_g' and b = sum_g c_g a_g it is A/((1 - B)^2 + A (sum_g c_g^2 - D)), A = N'M^-1 N, B = N'M^-1 b,
    D = b'M^-1 b: by Woodbury's identity, so that C may be close to singular.
    """
    N, b = v @ Z, v @ (shares[:, None] * Z)
    M = (v * v @ (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1)).reshape(-1, Z.shape[1], Z.shape[1])
    half = np.linalg.solve(M, np.stack([N, b], axis=2))
    A, B, D = (N * half[..., 0]).sum(axis=1), (N * half[..., 1]).sum(axis=1), (b * half[..., 1]).sum(axis=1)
    with np.errstate(divide="ignore"):
        return A / ((1 - B) ** 2 + A * np.maximum((shares**2).sum() - D, 0.0))


def _all_signs(G: int, size: int) -> Iterator[ndarray]:
    """All signs of G clusters of which the last has +: a change of all signs leaves the statistic."""
    for low in range(0, 2 ** (G - 1), size):
        numbers = np.arange(low, min(low + size, 2 ** (G - 1)))
        yield np.column_stack([1.0 - 2.0 * (numbers[:, None] >> np.arange(G - 1) & 1), np.ones(len(numbers))])


def _drawn(G: int, size: int, multipliers: str, reps: int, rng: np.random.Generator) -> Iterator[ndarray]:
    values, shares = MULTIPLIERS[multipliers]
    equal = (shares == shares[0]).all()  # choice is quicker then
    for low in range(0, reps, size):
        yield rng.choice(values, size=(min(size, reps - low), G), p=None if equal else shares)
