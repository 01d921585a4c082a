"""Implied logit of a generative model, with the attributes of an MNLogit result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.discriminant.quadratic import products
from glmclf.core.naive_bayes.fit import NaiveBayesFit
from glmclf.inference.covariance.types import Covariance
from glmclf.results.hypotheses.chosen import MAX_COVARIANCE_BYTES
from glmclf.results.regression.levels import LevelEstimates, LevelLabels
from glmclf.results.requires import Needs, check_needs, requires
from glmclf.results.wald import MAX_FORMED

MAX_ROBUST = 12_000  # coefficients with a robust covariance: 1.2 GB


@dataclass
class LogitLabels(LevelLabels):
    """Names of the implied logit's parameters, which tables read from ``model``."""

    endog_names: str
    levels: list[Any]
    reference: Any
    exog_names: list[str]
    _regressor_terms: dict[str, Any]
    link: Any = None
    formula: str | None = None


class ClosedForm(Protocol):
    """Protocol of a covariance of coefficients with closed forms for its entries, at the origin of the features."""

    def variances(self) -> ndarray:
        """Variances of the coefficients, (K-1, m)."""

    def block(self, rows: ndarray) -> ndarray:
        """Covariance of some coefficients by flat position."""


class _Blocks:
    """Covariance matrix that forms only the blocks indexed by np.ix_."""

    def __init__(self, block):
        self._block = block

    def __getitem__(self, at: tuple[ndarray, ndarray]) -> ndarray:
        return self._block(at[0].ravel())


class ImpliedLogit(LevelEstimates):
    """Implied logit: coefficients of log p_k(x) / p_0(x) under a generative model, with their inference.

    Rows of `params` are the intercept and the functions of the features, columns the levels but the reference, as in
    MNLogit. `llf` is the conditional log-likelihood at them, which compares with MNLogit's; `aic` and `bic` are NaN,
    because these coefficients do not maximise it.

    Attributes
    ----------
    params, bse, tvalues, pvalues : DataFrame
        p-values are from the normal distribution.
    """

    def __init__(
        self,
        parent,
        labels: LogitLabels,
        coefficients: ndarray,
        cov: Covariance,
        closed: ClosedForm | None,
        centred: ndarray | None = None,
        to_raw=None,
    ):
        """`cov` holds the covariance at the features' centre, or nothing where `closed` has it."""
        self._parent, self.model = parent, labels
        self._theta = coefficients.ravel()
        self._cov, self._closed = cov, closed
        self._centred, self._to_raw = centred, to_raw

    @property
    def _owner(self) -> Any:
        return self._parent

    @property
    def _said(self) -> str:
        own, levels = self._parent, ", ".join(map(str, self.model._equations))
        return f"{type(own.model).__name__}: {own.model._said}\n {levels} against {self.model.reference}"

    # ----------------------------------------------------------------------------------------------- covariance
    @cached_property
    def _V(self) -> ndarray:
        if self._closed is not None:
            return self._closed.block(np.arange(len(self._theta)))
        m = len(self.model.exog_names)
        V = self._raw(self._cov.matrix.reshape(-1, m)).reshape(self._cov.matrix.shape)
        V = self._raw(V.T.reshape(-1, m)).reshape(V.shape)
        return 0.5 * (V + V.T)

    def _raw(self, rows: ndarray) -> ndarray:
        return rows if self._to_raw is None else self._to_raw(rows)

    def _variances(self) -> ndarray:
        if self._closed is not None:
            return self._closed.variances().ravel()
        return super()._variances()

    def _coordinates(self, R: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Estimate, covariance and R at the features' centre, where nothing cancels; of many only those that R uses."""
        check_needs(self, "discriminant", Needs.TESTS)
        if self._closed is None and self._centred is not None:
            m = len(self.model.exog_names)
            M = self._raw(np.eye(m))  # rows: images of the unit vectors
            R = (R.reshape(-1, m) @ M.T).reshape(R.shape)
            return self._centred.ravel(), self._cov.matrix, R
        return super()._coordinates(R)

    def _block(self, at: ndarray) -> ndarray:
        return super()._block(at) if self._closed is None else self._closed.block(at)

    # ------------------------------------------------------------------------------------------------- numbers
    @property
    @requires()
    def tvalues(self) -> Any:
        """Estimates over their standard errors; NaN for a regularised fit, whose bias they would ignore."""
        if self._parent._regularised:
            return self._labelled(np.full(len(self._theta), np.nan))
        return super().tvalues

    @property
    @requires()
    def pvalues(self) -> Any:
        """Two-sided p-values from the normal distribution; NaN for a regularised fit."""
        if self._parent._regularised:
            return self._labelled(np.full(len(self._theta), np.nan))
        return super().pvalues

    @property
    def _has_joint_tests(self) -> bool:
        return not self._parent._regularised

    def _tested_terms(self) -> tuple[ndarray, Any, Any, Any]:
        return self._theta, _Blocks(self._block), self.model._terms, None

    def _slopes(self) -> ndarray:
        return np.eye(len(self.model.exog_names))[1:]

    @property
    @requires()
    def cov_type(self) -> str:
        """Name of the covariance type."""
        return self._cov.name

    @property
    @requires()
    def nobs(self) -> float:
        """Rows, or the sum of the frequency weights."""
        return self._parent.nobs

    @property
    @requires()
    def llf(self) -> float:
        """Conditional log-likelihood at these coefficients."""
        return self._parent.llf_conditional

    @property
    @requires()
    def prsquared(self) -> float:
        """McFadden's pseudo-R-squared of the conditional likelihood."""
        return self._parent.prsquared

    @property
    @requires()
    def aic(self) -> float:
        """Akaike's criterion: NaN, as the coefficients do not maximise the conditional likelihood."""
        return np.nan

    @property
    @requires()
    def bic(self) -> float:
        """Schwarz's criterion: NaN, as `aic`."""
        return np.nan

    @property
    @requires()
    def df_model(self) -> int:
        """Slopes of all equations."""
        return len(self._theta) - len(self.model._equations)

    @property
    @requires()
    def df_resid(self) -> float:
        """Observations less coefficients."""
        return self.nobs - len(self._theta)


def _check_block(n: int) -> None:
    """Refuse a covariance of n coefficients that would take all memory."""
    if 8 * n * n > MAX_COVARIANCE_BYTES:
        raise NotImplementedError(
            f"a joint test of {n:,} coefficients needs their covariance of {8e-9 * n * n:,.1f} GB, which is not "
            "formed: term_tests() of the fit has likelihood ratios, and bse the standard error of each"
        )


class ClosedFormCovariance:
    """Covariance of the implied logit of naive Bayes, entry by entry; it multiplies like a matrix, ``J @ V``."""

    __array_ufunc__ = None  # J @ V is this class's product

    def __init__(self, fit: NaiveBayesFit):
        self._fit = fit

    def __len__(self) -> int:
        """Number of coefficients."""
        return (self._fit.K - 1) * self._fit.M

    def __rmatmul__(self, J: ndarray) -> ndarray:
        """Products J V for rows of J (e, (K-1) M)."""
        return J @ self._whole if len(self) <= MAX_FORMED else self._fit.covariance_times(J)

    @cached_property
    def _whole(self) -> ndarray:
        return self.full()

    def full(self) -> ndarray:
        """The whole covariance matrix."""
        return self._fit.covariance()

    def diagonal(self) -> ndarray:
        """Variances of all coefficients, ((K-1) M,)."""
        return self.variances().ravel()

    def variances(self) -> ndarray:
        """(K-1, M)."""
        return self._fit.standard_errors() ** 2

    def block(self, rows: ndarray) -> ndarray:
        """Covariance of some coefficients by flat position."""
        _check_block(len(rows))
        equation, column = np.divmod(np.asarray(rows, dtype=np.intp), self._fit.M)
        columns = np.unique(column)
        at = equation * len(columns) + np.searchsorted(columns, column)
        return self._fit.covariance(columns)[np.ix_(at, at)]


class NaiveBayesLogit(ImpliedLogit):
    """Implied logit of naive Bayes."""

    def __init__(self, *parts: Any, tested: tuple[ndarray, ndarray]):
        """`tested` is that of a `NaiveBayesFit`, for one equation."""
        super().__init__(*parts)
        kept, base = tested
        equations = np.arange(0, len(self._theta), len(base))[:, None]
        self._kept, self._base = np.tile(kept, len(equations)), (equations + base).ravel()

    def _joint_test(self, at: ndarray) -> tuple[str, float] | None:
        at = at[self._kept[at]]
        return None if len(at) > MAX_FORMED else super()._joint_test(at)

    def _tested_terms(self) -> tuple[ndarray, Any, Any, Any]:
        """Tested parameters of each term, see `NaiveBayesFit.tested`."""
        kept, base = self._kept, self._base
        places = np.arange(len(base))
        with np.errstate(invalid="ignore"):  # infinite ones
            theta = np.where(base < places, self._theta - self._theta[base], self._theta)
        terms = {name: (at := places[where])[kept[at]] for name, where in self.model._terms.items()}
        return theta, _Blocks(lambda at: self._differences(at, base)), terms, None

    def _differences(self, at: ndarray, base: ndarray) -> ndarray:
        """Covariance of some coefficients, each less the first of its block."""
        if (base[at] == at).all():
            return self._block(at)
        _check_block(len(at))
        used = np.union1d(at, base[at])
        R, rows = np.zeros((len(at), len(used))), np.arange(len(at))
        R[rows, np.searchsorted(used, at)] = 1.0
        moved = base[at] < at
        R[rows[moved], np.searchsorted(used, base[at][moved])] = -1.0
        return R @ self._block(used) @ R.T


def quadratic_names(names: list[str], terms: dict[str, list[int]], kind: str) -> tuple[list[str], dict[str, list[int]]]:
    """Regressors of a quadratic logit, and the places of each term's: x, its squares, its products with others.

    Names are unique: of ``a * b`` the feature is a:b, its square (a:b)^2, and the product of a and b (a):(b).

    Parameters
    ----------
    names : list of str
        The constant, then the features.
    terms : dict
        Features of each term.
    kind : {"full", "diag", "spherical"}
    """
    constant, features = names[0], names[1:]
    if kind == "spherical":
        square = f"|{','.join(features)}|^2" if len(features) < 4 else "|x|^2"
        named = _unique([*names], [(square, f"({square})")])
        places = {constant: [0], **{t: [j + 1 for j in at] for t, at in terms.items()}}
        return named, {**places, named[-1]: [len(names)]}
    words = [f"({name})" if ":" in name else name for name in features]
    pairs = products(kind, len(features))
    made = [
        (f"{words[i]}^2", f"({features[i]})^2") if i == j else
        (f"{words[i]}:{words[j]}", f"({features[i]}):({features[j]})")
        for i, j in pairs
    ]  # fmt: skip
    of_feature: list[list[int]] = [[] for _ in features]
    for place, pair in enumerate(pairs, start=len(names)):
        for j in set(pair):
            of_feature[j].append(place)
    places = {constant: [0]}
    for term, at in terms.items():
        places[term] = [*(j + 1 for j in at), *sorted({place for j in at for place in of_feature[j]})]
    return _unique([*names], made), places


def _unique(names: list[str], more: list[tuple[str, str]]) -> list[str]:
    """Names, and more of them: each the first of a pair unless that is taken, then the second, in as many parentheses
    as make it unique."""
    taken = set(names)
    for name, other in more:
        name = name if name not in taken else other
        while name in taken:
            name = f"({name})"
        taken.add(name)
        names.append(name)
    return names
