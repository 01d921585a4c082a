"""Gaussian classes as a law: distances, densities and posteriors of rows, and the law of some of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.dense import Dense
from glmclf.core.gaussian.dispersion import Dispersion, OfClasses
from glmclf.core.numerics.constants import LOG_2PI
from glmclf.core.numerics.softmax import to_log_softmax, to_softmax
from glmclf.core.rows.blocks import Blocks

MIN_LAW_TOLERANCE = 1e-8  # tolerance of a feature below which few digits of the data themselves are left
LONG_ROW_FEATURES = 32  # features from which a loop over those of a row is long
CACHED_NUMBERS = 128_000  # numbers of X that are handled at a time, so that they stay in the cache
CHUNKS_PER_TASK = 4  # chunks of as many numbers that a worker is given at once


@dataclass(frozen=True)
class Gaussian(OfClasses):
    """Gaussian classes: x of class k is N(mu_k, Sigma_k), and y is k with probability pi_k.

    Attributes
    ----------
    counts : (K,) ndarray
        n_k, rows or sums of weights.
    log_priors : (K,) ndarray
        log pi_k.
    priors_free : bool
        Whether the priors were estimated.
    prior_counts : (K,) ndarray
        Counts behind the priors: n_k plus the smoothing.
    means : (K, p) ndarray
    dispersions : tuple of Dispersion
        One where pooled, else one a class.
    centre : (p,) ndarray
        Grand mean of the features.
    divisor : {"mle", "unbiased"}
    shrinkage : tuple of float
        Intensity of each dispersion, in [0, 1]; empty for none.
    target : {"diag", "identity", "fixed"}
        What they are shrunk to.
    ridge : float
        Added to the variances.
    rest : (K, p) ndarray or float
        What rounding left of the means: a mean is the sum of both.
    """

    counts: ndarray
    log_priors: ndarray
    priors_free: bool
    prior_counts: ndarray
    means: ndarray
    dispersions: tuple[Dispersion, ...]
    centre: ndarray
    divisor: str = "mle"
    shrinkage: tuple[float, ...] = ()
    target: str = "diag"
    ridge: float = 0.0
    rest: ndarray | float = 0.0

    @property
    def pooled(self) -> bool:
        """Whether all classes share one covariance matrix."""
        return len(self.dispersions) == 1

    @property
    def kind(self) -> str:
        """Structure of the dispersions: "full", "diag" or "spherical"."""
        return self.dispersions[0].kind

    @property
    def regularised(self) -> bool:
        """Whether the dispersions were shrunk or ridged."""
        return self.ridge > 0 or any(s > 0 for s in self.shrinkage)

    @property
    def maximum(self) -> bool:
        """Whether means and dispersions maximise the likelihood."""
        return self.divisor == "mle" and not self.regularised

    @cached_property
    def near(self) -> tuple[int, ...]:
        """Features that the other features nearly determine: tolerance below 1e-8 in some class."""
        below = [d.tolerance < MIN_LAW_TOLERANCE for d in self.dispersions]
        return tuple(np.flatnonzero(np.any(below, axis=0)).tolist())

    def dispersion(self, k: int) -> Dispersion:
        """The dispersion of class k."""
        return self.dispersions[0 if self.pooled else k]

    def distances(self, X: ndarray, n_threads: int | None = None) -> ndarray:
        """Squared Mahalanobis distances D_k^2 of rows of X (n, p) to the class means, (n, K)."""
        return self._by_blocks(X, self._distances, n_threads)

    def log_joint(self, X: ndarray, n_threads: int | None = None) -> ndarray:
        """Joint log density log pi_k f_k(x) of rows of X (n, p), (n, K); its units are those of x^-p."""
        return self._by_blocks(X, self._log_joint, n_threads)

    def log_posterior(self, X: ndarray, n_threads: int | None = None) -> ndarray:
        """Posterior log probabilities log p(y = k | x) of rows of X (n, p), (n, K).

        Where pooled, from scores linear in x: what the classes share is never computed.
        """
        return self._by_blocks(X, self._log_posterior, n_threads)

    def scores(self, X: ndarray, n_threads: int | None = None) -> ndarray:
        """Discriminant scores, log pi_k f_k(x) of rows of X (n, p) less what all classes have in common, (n, K)."""
        return self._by_blocks(X, self._scores, n_threads)

    def posterior(self, X: ndarray, n_threads: int | None = None) -> ndarray:
        """Posterior probabilities p(y = k | x) of rows of X (n, p), (n, K)."""
        return self._by_blocks(X, self._posterior, n_threads)

    def marginal(self, observed: ndarray) -> Gaussian:
        """The law of the features where `observed` (p,) is true; without any, the priors."""
        dispersions = tuple(d.marginal(observed) for d in self.dispersions)
        means, rest = self.means[:, observed], np.broadcast_to(self.rest, self.means.shape)[:, observed]
        return replace(self, means=means, dispersions=dispersions, centre=self.centre[observed], rest=rest)

    @property
    def about(self) -> ndarray:
        """Means less the centre, (K, p), with more digits than the means themselves have."""
        return self.means - self.centre + self.rest

    def shifted(self) -> Gaussian:
        """The law of x - centre, where arithmetic keeps more digits."""
        return replace(self, means=self.about, centre=np.zeros(self.p), rest=0.0)

    def _by_blocks(self, X: ndarray, f: Callable[[ndarray, ndarray], None], n_threads: int | None = None) -> ndarray:
        """Array (n, K) in memory by column, of which f fills a (K, rows) part from rows of X."""
        out = np.empty((self.K, len(X)))

        size = max(256, CACHED_NUMBERS // max(self.p, self.K))

        def fill(block: Dense, part: ndarray) -> int:
            for start in range(0, len(part), size):
                rows = slice(start, start + size)
                f(block.X[rows], part[rows].T)
            return 0

        if len(X):
            Blocks(Dense(X), out.T, size=CHUNKS_PER_TASK * size, n_threads=n_threads).sum(fill)
        return out.T

    def _distances(self, X: ndarray, out: ndarray) -> None:
        # rows lie side by side: loops over them are long, those over features short
        D = np.subtract(X.T, self.centre[:, None], order="C")
        means = self.about
        if self.pooled:  # whitened once; squared distances of whitened points do not cancel
            D, means = self.dispersions[0].whiten_columns(D), self.dispersions[0].whiten(means)
        Z = np.empty_like(D)
        for k, mean in enumerate(means):
            np.subtract(D, mean[:, None], out=Z)
            white = Z if self.pooled else self.dispersions[k].whiten_columns(Z)
            np.einsum("ji,ji->i", white, white, out=out[k])

    def _log_joint(self, X: ndarray, out: ndarray) -> None:
        logdet = np.array([d.logdet for d in self.dispersions])
        self._distances(X, out)
        out *= -0.5
        out += (self.log_priors - 0.5 * (logdet + self.p * LOG_2PI))[:, None]

    def _scores(self, X: ndarray, out: ndarray) -> None:
        if not self.pooled:
            return self._log_joint(X, out)
        slopes, constants = self._linear
        # short rows are put side by side, so that loops are long
        D = np.subtract(X.T, self.centre[:, None], order="C" if self.p < LONG_ROW_FEATURES else "K")
        np.matmul(slopes, D, out=out)
        out += constants[:, None]

    def _log_posterior(self, X: ndarray, out: ndarray) -> None:
        self._scores(X, out)
        to_log_softmax(out)

    def _posterior(self, X: ndarray, out: ndarray) -> None:
        self._scores(X, out)
        to_softmax(out)

    @cached_property
    def _linear(self) -> tuple[ndarray, ndarray]:
        """Slopes (K, p) and constants (K,) of the scores in x - centre, of each class against class 0."""
        means = self.about
        slopes = self.dispersions[0].solve(means - means[0])
        middles = 0.5 * (means + means[0])
        return slopes, self.log_priors - np.einsum("ij,ij->i", slopes, middles)
