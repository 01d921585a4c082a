"""Penalised estimates, and the coding of the coefficients that a penalty is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.arrow import of_levels
from glmclf.core.design.centring import constant_centring
from glmclf.core.design.columns import some_columns
from glmclf.core.design.product import Product
from glmclf.core.design.sparse import Sparse
from glmclf.core.fit.coordinates import Coordinates, covariance_from_basis, from_basis, placed, wide
from glmclf.core.fit.estimate import FACTORED_ALONE, Estimate
from glmclf.core.fit.information import loses_digits
from glmclf.core.fit.level_rank import dependencies_in
from glmclf.core.fit.restricted import DerivedObjective, Restricted, Selected, Within
from glmclf.core.fit.solvers.kronecker import Kronecker, KroneckerOfDiagonal, KroneckerPart, lbfgs
from glmclf.core.fit.solvers.loop import Fit
from glmclf.core.fit.warm_start import information_is_dear
from glmclf.core.likelihood.objective import (
    CholeskyFactor,
    DeferredEvaluation,
    Evaluation,
    MultinomialObjective,
    Objective,
)
from glmclf.core.numerics.arrow import ArrowMatrix, BlocksPlusLowRank, matrix_of, record_of
from glmclf.core.penalised.projection import MIN_RCOND_OF_LARGE, CentredOnConstant, PartialledOut, enough
from glmclf.core.penalised.proximal import (
    PROXIMAL_TOL,
    HeldInformation,
    Ridge,
    kkt_violations,
    largest_lasso,
    proximal_newton,
)
from glmclf.core.rows.blocks import one_blas_thread
from glmclf.errors import EstimationError

VIOLATED = "the optimality conditions do not hold"
KKT_TOL = 1e-8  # violation of the optimality conditions, over the scale of the score, up to which a fit has converged
MIN_RIDGE_SHARE = 1e-8  # share of the information above which a ridge is far from its rounding
MAX_INFORMATION_COST = 25.0  # cost of a pass with the information for a ridge to use it, in passes for the gradient
MAX_FACTORED_SIZE = 3000  # coefficients up to which an information is formed once, for standard errors
LAST_STEP_TOL_SHARE = 0.01  # share of the tolerance below which a Newton step, the last, leaves nothing
MAX_METRIC_COLUMNS = 3000  # columns up to which a metric of gradients is made of their gram, not of its diagonal alone
MAX_SPARSE_FACTORED = 1000  # columns of a sparse design up to which factoring costs no more than its gradients
MAX_FORMED_SIZE = 16_384  # coefficients up to which an array of all by all is ever formed: 2 GiB
MIN_COLUMNS_TO_CHOOSE = 32  # columns below which choosing among them costs more than it saves
MAX_COLUMNS_AT_ONCE = 400  # columns that are added to those in use before the conditions are looked at again
MAX_WORKING_SHARE = 0.8  # share of the columns above which all are taken
MAX_STRONG_RATIO = 1.25  # ratio of two penalties of a path, or what it counts for in the strong rule
LASSO_ROUNDING = 1e-12  # share of a penalty that is rounding of a score
EXCLUDING_LASSO = 1e150  # factor of an absolute value that no score outweighs
GRADIENT_STEPS_PER_NEWTON = 10  # steps by gradients to one of the proximal Newton method


@dataclass(frozen=True)
class Penalty:
    """Penalty N sum_j alpha_j ((1 - L1_wt)/2 b_j^2 + L1_wt |b_j|) of coefficients b.

    Attributes
    ----------
    alpha : (d,) ndarray
        >= 0; 0 leaves a coefficient free, infinity has it 0.
    L1_wt : float
        In [0, 1]; not 0 where an alpha is infinite.
    n : float
        Observations, N.
    """

    alpha: ndarray
    L1_wt: float
    n: float

    @property
    def ridge(self) -> ndarray:
        """Precisions of the normal prior that the squares amount to."""
        return self.n * (1.0 - self.L1_wt) * np.where(self.excluded, 0.0, self.alpha)

    @property
    def lasso(self) -> ndarray:
        """Factors of the absolute values."""
        return np.where(self.excluded, EXCLUDING_LASSO, self.n * self.L1_wt * np.where(self.excluded, 0.0, self.alpha))

    @property
    def excluded(self) -> ndarray:
        """Mask of the coefficients that are 0 whatever the data."""
        return np.isinf(self.alpha)

    def times(self, a: float) -> Penalty:
        """The penalty with each alpha times a number."""
        return replace(self, alpha=scaled_alpha(self.alpha, a))

    def value(self, b: ndarray) -> float:
        """The penalty at b."""
        return float(0.5 * self.ridge @ (b * b) + self.lasso @ np.abs(b))

    def part(self, places: ndarray) -> Penalty:
        """The penalty of some of the coefficients."""
        return replace(self, alpha=self.alpha[places])


def scaled_alpha(alpha: ndarray, a: float) -> ndarray:
    """Weights of a penalty times a number; what is infinite stays so at 0 times."""
    return np.where(np.isinf(alpha), np.inf, a * np.where(np.isinf(alpha), 0.0, alpha))


@dataclass(frozen=True)
class ClassCoding:
    """Coding of the parameters of a model by penalised coefficients b, equation by equation: theta = D b.

    Attributes
    ----------
    D : (p, d) ndarray or None
        None is the identity.
    T : (d, c) ndarray or None
        Coefficients that are free in every class are estimated for all classes but the first and then centred: b = T c
        with c = b[places] - (the first class's, where it is free). None is the identity.
    places : (c,) integer ndarray
    """

    D: ndarray | None
    T: ndarray | None
    places: ndarray

    @classmethod
    def of_equations(cls, p: int) -> ClassCoding:
        """Coding by the parameters themselves."""
        return cls(None, None, np.arange(p))

    @staticmethod
    def symmetric(contrasts: ndarray, free: ndarray) -> SymmetricCoding:
        """Coding by a coefficient vector for each of K classes; what is free adds up to 0 over the classes
        (glmnet's softmax).

        Parameters
        ----------
        contrasts : (K-1, K) ndarray
            The equations as differences of classes.
        free : (k,) bool ndarray
            Columns that no class's penalty is on.
        """
        return SymmetricCoding(contrasts, free)

    def of_columns(self, columns: ndarray, k: int, d: int) -> ClassCoding:
        """Coding of the coefficients of some of k columns."""
        return ClassCoding.of_equations(len(columns) * (d // k))

    @classmethod
    def of_some(cls, p: int, places: ndarray) -> ClassCoding:
        """Coding by some of p parameters, the others being 0."""
        return cls(None, np.eye(p)[:, places], places)

    @property
    def by_class(self) -> bool:
        """Whether every class has a coefficient vector."""
        return self.D is not None

    def theta(self, b: ndarray) -> ndarray:
        """The model's parameters."""
        return b if self.D is None else self.D @ b

    def b(self, c: ndarray) -> ndarray:
        """All coefficients from those that are estimated."""
        return c if self.T is None else self.T @ c

    def c(self, b: ndarray, k: int) -> ndarray:
        """Coefficients that are estimated; the first class's coefficients are taken off where it is left out."""
        if not self.by_class:
            return b[self.places]
        anchored = np.setdiff1d(np.arange(k), self.places)
        B = b.reshape(-1, k).copy()
        B[:, anchored] -= B[:1, anchored]
        return B.ravel()[self.places]

    def score(self, s: ndarray) -> ndarray:
        """Derivatives in c of a function with derivatives s in b."""
        return s if self.T is None else self.T.T @ s

    def objective(self, objective: Objective | DerivedObjective) -> Any:
        """The log-likelihood as a function of c."""
        if self.D is None and self.T is None:
            return objective
        Q = self.T if self.D is None else self.D if self.T is None else self.D @ self.T
        assert Q is not None
        return Within(objective, Q, np.zeros(len(Q)))

    def gradients(self, objective: Any) -> Any:
        """The log-likelihood as a function of b, with `gradient` alone."""
        assert self.D is None
        return objective

    def information(self, A: ndarray) -> ndarray:
        """The information of b from that of the model's parameters: an array of its own."""
        return A.copy() if self.D is None else self.D.T @ A @ self.D

    def centred(self, b: ndarray) -> ndarray:
        """Coefficients, derivatives in them or a root of their covariance, with what is free adding up to 0 over the
        classes."""
        return b

    def covariance(self, V: ndarray) -> ndarray:
        """Covariance of the model's parameters from that of b."""
        return V if self.D is None else self.D @ V @ self.D.T


class SymmetricCoding(ClassCoding):
    """Symmetric coding of classes, see `ClassCoding.symmetric`. The matrices are formed when they are asked for: they
    are large and nearly empty."""

    contrasts: ndarray
    free: ndarray

    def __init__(self, contrasts: ndarray, free: ndarray):
        kept = np.ones((contrasts.shape[1], len(free)), dtype=bool)
        kept[0] = ~free
        self.__dict__.update(contrasts=contrasts, free=free, places=np.flatnonzero(kept))

    @cached_property
    def D(self) -> ndarray:
        """Matrix D (p, d) from coefficients to parameters."""
        return np.kron(self.contrasts, np.eye(len(self.free)))

    @cached_property
    def T(self) -> ndarray:
        """Matrix T (d, c) from estimated coefficients to all."""
        K, places = self.contrasts.shape[1], self.places
        T = np.zeros((K * len(self.free), len(places)))
        T[places, np.arange(len(places))] = 1.0
        mean = np.kron(np.full((K, K), 1.0 / K), np.diag(self.free.astype(float)))
        return T - mean @ T

    @property
    def by_class(self) -> bool:
        return True

    def of_columns(self, columns: ndarray, k: int, d: int) -> ClassCoding:
        return SymmetricCoding(self.contrasts, self.free[columns])

    def theta(self, b: ndarray) -> ndarray:
        return (self.contrasts @ self._by_class(b)).ravel()

    def b(self, c: ndarray) -> ndarray:
        b = np.zeros(self.contrasts.shape[1] * len(self.free))
        b[self.places] = c
        return self.centred(b)

    def score(self, s: ndarray) -> ndarray:
        return self.centred(s)[self.places]

    def gradients(self, objective: Any) -> Any:
        return ByClass(objective, self)

    def information(self, A: ndarray) -> ndarray:
        C, k = self.contrasts, len(self.free)
        A = A.reshape(len(C), k, len(C), k)
        return np.einsum("ja,jxly,lb->axby", C, A, C, optimize=True).reshape(C.shape[1] * k, -1)

    def covariance(self, V: ndarray) -> ndarray:
        C, k = self.contrasts, len(self.free)
        V = V.reshape(C.shape[1], k, C.shape[1], k)
        return np.einsum("ja,axby,lb->jxly", C, V, C, optimize=True).reshape(len(C) * k, -1)

    def _by_class(self, b: ndarray) -> ndarray:
        return b.reshape(-1, len(self.free))

    def centred(self, b: ndarray) -> ndarray:
        B = b.reshape(self.contrasts.shape[1], len(self.free), *b.shape[1:]).copy()
        B[:, self.free] -= B[:, self.free].mean(axis=0)
        return B.reshape(b.shape)


class ByClass(Restricted):
    """The log-likelihood of a coefficient vector for each class."""

    def __init__(self, objective: MultinomialObjective, coding: SymmetricCoding):
        super().__init__(objective)
        self.coding = coding

    def theta(self, eta: ndarray) -> ndarray:
        return self.coding.theta(eta)

    def score(self, s: ndarray) -> ndarray:
        return (self.coding.contrasts.T @ s.reshape(len(self.coding.contrasts), -1)).ravel()

    def information(self, A: ndarray) -> ndarray:
        return self.coding.information(A)


class LazyCovariance:
    """Covariance and effective degrees of freedom of an estimate, formed when they are first asked for.

    Parameters
    ----------
    form : callable
        Without arguments; gives V, shares and the covariance of the parameters.
    shares : ndarray, optional
        Where they are known without it.
    refused : bool
        Whether `form` refuses, as the information is too large to form.
    """

    def __init__(self, form: Callable[[], tuple[Any, ndarray, Any]], shares: ndarray | None = None, refused=False):
        self._form: Callable | None = form
        self._found: tuple[Any, ndarray, Any] | None = None
        self._shares, self.refused = shares, refused

    @classmethod
    def of(cls, V: Any, shares: ndarray, parameters: Any = None) -> LazyCovariance:
        """LazyCovariance of matrices that are known."""
        return cls(lambda: (V, shares, parameters)).know()

    @property
    def shares_known(self) -> bool:
        """Whether the degrees of freedom wait for nothing."""
        return self._found is not None or self._shares is not None

    def know(self) -> LazyCovariance:
        """Form the covariance, where it was not, and return it.

        Raises
        ------
        numpy.linalg.LinAlgError
            The information with the ridge is singular to rounding.
        """
        if self._form is not None:
            self._found, self._form = self._form(), None  # and the data with it
        return self

    @property
    def _all(self) -> Any:
        try:
            return self.know()._found
        except np.linalg.LinAlgError:
            raise EstimationError(
                "the information with the penalty is singular to rounding: there are no standard errors and no "
                "effective degrees of freedom. Raise alpha"
            ) from None

    @property
    def V(self) -> Any:
        """Covariance of the coefficients, (d, d)."""
        return self._all[0]

    @property
    def shares(self) -> ndarray:
        """Effective degrees of freedom of each coefficient, (d,)."""
        return self._all[1] if self._shares is None else self._shares

    @property
    def parameters(self) -> Any:
        """Covariance of the parameters, (p, p)."""
        return self._all[2]


@dataclass(frozen=True, kw_only=True)
class PenalisedEstimate(Estimate):
    """A maximum of llf - penalty. `fit` is in the model's parameters, or in those of `basis`; its evaluation is of the
    plain log-likelihood.

    Attributes
    ----------
    penalty : Penalty
        Of b.
    b : (d,) ndarray
        The coefficients that the penalty is on.
    spread : LazyCovariance
        Of b: V, the inverse of the information and the ridge of the coefficients that are not 0, with 0 for the others
        and of a lasso; shares, the diagonal of V I. And the same covariance of the parameters of `fit`.
    inner : Evaluation or None
        The plain log-likelihood in the coordinates of the problem.
    kkt : float
        Largest violation of the optimality conditions, of llf/N - penalty/N. Where the problem is solved in a
        `PartialledOut`, with the columns without a penalty orthonormal and projected out of the others.
    symmetric : bool
        Whether every class has a coefficient vector.
    constant : int or None
        Which column is the intercept.
    """

    penalty: Penalty
    b: ndarray
    spread: LazyCovariance
    inner: Evaluation | None = None
    kkt: float = 0.0
    symmetric: bool = False
    constant: int | None = None

    @property
    def theta(self) -> ndarray:
        """The model's parameters."""
        return from_basis(self.basis, self.fit.theta)

    def reported(self, theta: ndarray) -> ndarray:
        """The coefficients, whatever parameters they make."""
        return self.b

    @property
    def reported_size(self) -> int:
        """Number of coefficients."""
        return len(self.b)

    def free_count(self, lost: int) -> float:
        """Effective degrees of freedom."""
        return float(self.shares.sum())

    @property
    def V(self) -> Any:
        """Covariance of b, (d, d): an array, or a `BlocksPlusLowRank` of many levels."""
        return self.spread.V

    @property
    def shares(self) -> ndarray:
        """Effective degrees of freedom of each coefficient, (d,)."""
        return self.spread.shares

    @property
    def too_wide(self) -> bool:  # type: ignore[override]
        """Whether the information is too large to form."""
        return self.spread.refused

    @property
    def name(self) -> str:
        """Name of the penalty."""
        return {0.0: "Ridge", 1.0: "Lasso"}.get(self.penalty.L1_wt, "Elastic net")

    def widened(self, coordinates: Coordinates) -> PenalisedEstimate:
        """The estimate with the coefficients of all columns, 0 for those left out."""
        if not coordinates.omitted:
            return self
        m = len(self.b) // len(coordinates.columns)
        at, d = coordinates.places_of(m), coordinates.k * m
        spread = LazyCovariance(partial(_wide_spread, self.spread, at, d, coordinates), refused=self.too_wide)
        penalty = replace(self.penalty, alpha=placed(self.penalty.alpha, at, d))
        return replace(super().widened(coordinates), penalty=penalty, b=placed(self.b, at, d), spread=spread)

    def retvals(self, method: str) -> dict[str, Any]:
        """Facts that a solver reports of its end; the gradient of the likelihood alone is not 0."""
        found = super().retvals(method)
        del found["gradient_norm"]
        return {**found, "kkt": self.kkt}

    def to_dict_beside(self) -> dict[str, Any]:
        """Record for a file of the penalty and of what follows from it."""
        p = self.penalty
        penalty = {
            **{"alpha": p.alpha, "L1_wt": p.L1_wt, "n": p.n, "b": self.b, "shares": self.shares},
            "V": None if self.too_wide or not self.V.diagonal().any() else record_of(self.V),
            **{"kkt": self.kkt, "symmetric": self.symmetric, "constant": self.constant},
        }
        return {"results": "regularized", "penalty": penalty}

    @staticmethod
    def parts_from_dict(stored: dict[str, Any]) -> dict[str, Any]:
        """Attributes that a file has beside those of any estimate."""
        p: dict[str, Any] = {name: np.array(v) if isinstance(v, list) else v for name, v in stored.items()}
        parts: dict[str, Any] = {name: p[name] for name in ("b", "kkt", "symmetric", "constant")}
        d = len(p["b"])
        if p["V"] is None and d > MAX_FORMED_SIZE:
            spread = LazyCovariance(partial(refuse_to_form, d), p["shares"], refused=True)
        else:
            spread = LazyCovariance.of(np.zeros((d, d)) if p["V"] is None else matrix_of(p["V"]), p["shares"])
        return parts | {"penalty": Penalty(p["alpha"], p["L1_wt"], p["n"]), "spread": spread}


class Remembered(DerivedObjective):
    """An objective that remembers its last gradient."""

    _last: tuple[ndarray, Evaluation] | None = None

    def __call__(self, theta: ndarray, expected: bool = True) -> Evaluation:
        """Value, score and information."""
        return self.objective(theta, expected)

    def gradient(self, theta: ndarray) -> Evaluation:
        """Value and score alone."""
        if self._last is None or not np.array_equal(self._last[0], theta):
            self._last = theta.copy(), self.objective.gradient(theta)
        return self._last[1]


class WorkingSet:
    """The columns in use along a path of penalties, and the information where the last step was made."""

    def __init__(self) -> None:
        self.whole: Any = None
        self.columns = np.zeros(0, dtype=np.intp)
        self.information: ndarray | None = None

    def of(self, objective: Objective) -> Remembered:
        """All columns of an objective; what is known of another one is forgotten."""
        if self.whole is None or self.whole.objective is not objective:
            self.__init__()  # type: ignore[misc]
            self.whole = Remembered(objective)
        return self.whole

    def has(self, columns: ndarray) -> bool:
        """Whether columns are in use."""
        return bool(np.isin(columns, self.columns).all())

    def add(self, columns: ndarray) -> None:
        """Take more columns, or all where most are asked for."""
        whole = self.whole.objective
        k = whole.blocks.arrays[0].shape[1]
        self.columns, self.information = np.union1d(self.columns, columns), None
        if len(self.columns) > MAX_WORKING_SHARE * k:
            self.columns, self.objective = np.arange(k), self.whole
            return
        blocks = whole.blocks.map(lambda X, *rest: (some_columns(X, self.columns), *rest))
        self.objective = type(whole)(whole.likelihood, blocks.rechunk(blocks.arrays[0].block_size), whole.unit)

    def held(self, ridge: ndarray) -> HeldInformation:
        """The information with a ridge."""
        return HeldInformation(None if self.information is None else self.information + ridge)

    def keep(self, held: HeldInformation, ridge: ndarray) -> None:
        """Remember the information without the ridge in it."""
        assert held.matrix is not None
        self.information = held.matrix - ridge


@dataclass(frozen=True)
class Problem:
    """A penalised likelihood to maximise.

    Attributes
    ----------
    objective : Objective
        The log-likelihood of the columns that are left, in the coordinates of `frame`.
    coding : ClassCoding
    penalty : Penalty
        Of their coefficients b.
    maxiter : int
    tol : float or None
    callback : callable or None
    frame : PartialledOut or None
        The columns as they are without one.
    mixed : bool
        Whether the frame mixes columns with a penalty, so that the ridge is a form in all of them.
    gram : (k, k) ndarray or None
        Information of the first equation where the fit starts.
    scale : (c,) ndarray or None
        Of the score in the coefficients that are estimated.
    mean : (W, G) or None
        Of a ridge that is solved by gradients: W (x) G is the information where the fit starts, if without slopes.
    by_information : callable or None
        The same problem solved by another information, in coordinates that suit the columns; without arguments.
    arrow : ArrowMatrix or None
        Information where the fit starts, if of many levels and no array is made of it on the way.
    working : WorkingSet
        Shared by the problems of a path.
    """

    objective: Objective
    coding: ClassCoding
    penalty: Penalty
    maxiter: int = 200
    tol: float | None = None
    callback: Callable | None = None
    frame: PartialledOut | None = None
    mixed: bool = False
    gram: ndarray | None = None
    scale: ndarray | None = None
    mean: tuple[ndarray, ndarray] | None = None
    by_information: Callable[[], Problem] | None = None
    arrow: ArrowMatrix | None = None
    working: WorkingSet = field(default_factory=WorkingSet)

    def placed(self, start: ndarray) -> Problem:
        """Problem in coordinates that suit the columns or, where the information is too dear to form, as it is
        for gradients; `start` are parameters of X."""
        return self._placed_arrow(start) if self._keeps_arrow else self._placed_array(start)

    def _placed_array(self, start: ndarray) -> Problem:
        """As `placed`, where an information is an array."""
        if not self._too_dear:
            return self._placed(start)
        most = MAX_SPARSE_FACTORED if isinstance(self.objective.blocks.arrays[0], Sparse) else MAX_METRIC_COLUMNS
        W, G = self.objective.mean_information(start, diagonal=self.n_columns > most)
        if isinstance(self.coding, SymmetricCoding):
            W = self.coding.contrasts.T @ W @ self.coding.contrasts
        size = np.outer(np.diag(W), _diagonal(G)).ravel()[self.coding.places]
        scale = np.sqrt(self.penalty.n * size)
        return replace(self, mean=(W, G), scale=scale, by_information=partial(self._placed, start))

    @property
    def _too_dear(self) -> bool:
        """Whether the information is not formed: if that takes far longer, of a ridge, which is solved by gradients, or
        if it is too large."""
        objective = self.objective
        if self._too_wide:
            return True
        if self.penalty.lasso.any():
            return False
        if not isinstance(objective, MultinomialObjective):
            return isinstance(objective.blocks.arrays[0], Sparse) and self.n_columns > MAX_SPARSE_FACTORED
        return objective.cost > MAX_INFORMATION_COST and information_is_dear(objective)

    @property
    def _too_wide(self) -> bool:
        """Whether the information is too large to form, whatever asks for it."""
        return len(self.penalty.alpha) > MAX_FORMED_SIZE and self.arrow is None

    @property
    def _keeps_arrow(self) -> bool:
        """Whether a factor has many levels, and the penalty is on the model's parameters themselves."""
        plain = not self.coding.by_class and self.coding.T is None
        return plain and of_levels(self.objective.blocks) is not None

    def _placed_arrow(self, start: ndarray) -> Problem:
        """Problem whose information stays an arrow matrix, with numbers less their means where an intercept without
        a penalty takes these up and levels leave little of them."""
        X: Any = of_levels(self.objective.blocks)
        free = np.asarray(~self.penalty.alpha.reshape(-1, X.shape[1]).any(axis=0))
        out, e = replace(self, by_information=partial(self._placed_array, start)), self.objective(start, True)
        constant = X.constant_column
        if constant is not None and free[constant] and loses_digits(X, e):
            frame = CentredOnConstant(self.objective, free, constant_centring(self.objective.blocks))
            out = replace(out, objective=frame.apply(self.objective), frame=frame)
            e = out.objective(frame.into(start), True)
        return replace(out, arrow=e.information, scale=out._scale_of(e.information))

    def _resolved(self, least: float) -> bool:
        """Whether an arrow matrix, with `least` times the ridge, leaves enough digits."""
        A = self.arrow
        assert A is not None
        try:
            A = A + ArrowMatrix.of_diagonal(A.layout, least * self.penalty.ridge)
            return A.factor().exceeds(MIN_RCOND_OF_LARGE)
        except np.linalg.LinAlgError:
            return False

    def _placed(self, start: ndarray) -> Problem:
        X = self.objective.blocks.arrays[0]
        k, out = X.shape[1], self
        information = self.objective(start, True).information
        if not enough(information[:k, :k], X):
            frame = PartialledOut.of(self.objective, np.asarray(~self.penalty.alpha.reshape(-1, k).any(axis=0)))
            out, start = replace(self, objective=frame.apply(self.objective), frame=frame), frame.into(start)
            information = out.objective(start, True).information
        return replace(out, gram=information[:k, :k], scale=out._scale_of(information))

    def well_mixed(self, least: float = 1.0) -> Problem:
        """Problem with penalised columns mixed where a ridge, `least` times this one's, leaves them
        ill-conditioned; such a one is not solved by gradients."""
        if self.arrow is not None:
            assert self.by_information is not None
            return self if self._resolved(least) else self.by_information().well_mixed(least)
        if self.mean is not None:
            assert self.by_information is not None
            usable = self._too_wide or self._metric(least) is not None  # what is too wide has no other coordinates
            return self if usable else self.by_information().well_mixed(least)
        frame, gram = self.frame, self.gram
        if frame is None or gram is None or self.penalty.lasso.any():
            return self
        A = least * (1.0 - self.penalty.L1_wt) * self.penalty.alpha.reshape(-1, len(gram))
        partly = (A[:, ~frame.free] == 0).any()
        if partly or enough(gram + np.diag(self.penalty.n * A.mean(axis=0)), frame.raw.blocks.arrays[0]):
            return self
        try:
            mixed = frame.mixed(A.mean(axis=0))
            objective = mixed.apply(frame.raw)
        except np.linalg.LinAlgError:  # the ridge is lost in rounding
            return self
        return replace(self, objective=objective, frame=mixed, mixed=True)

    @property
    def n_columns(self) -> int:
        """Columns of the design."""
        return self.objective.blocks.arrays[0].shape[1]

    def into(self, b: ndarray) -> ndarray:
        """Parameters of X in the coordinates of the problem."""
        return b if self.frame is None else self.frame.into(b)

    def moved(self, other: Objective) -> Objective:
        """The likelihood of other rows of the same columns in these coordinates."""
        return other if self.frame is None else self.frame.apply(other)

    @property
    def _ridge(self) -> ndarray:
        """Precisions of the coordinates c, or their matrix."""
        if not self.mixed:
            return self.penalty.part(self.coding.places).ridge
        assert self.frame is not None
        at = self.coding.places
        return self.frame.quadratic(self.penalty.ridge)[np.ix_(at, at)]

    def _metric(self, least: float = 1.0) -> Kronecker | KroneckerOfDiagonal | None:
        """The information where the fit starts, with `least` times the mean ridge of the equations; None where the
        columns are ill-conditioned with it."""
        assert self.mean is not None
        W, G = self.mean
        ridge, large = least * self.penalty.ridge.reshape(len(W), -1), len(self.coding.places) > MAX_FACTORED_SIZE
        if G.ndim == 1:
            return KroneckerOfDiagonal(W, G, ridge.mean(axis=0))
        if not enough(G + np.diag(ridge.min(axis=0)), self.objective.blocks.arrays[0], large):
            return None
        try:
            return Kronecker(W, G, ridge.mean(axis=0))
        except np.linalg.LinAlgError:
            return None

    def solve(self, c: ndarray) -> Fit:
        """The maximum in the coordinates c, from a start; its evaluation has the ridge in it."""
        alone = one_blas_thread() if len(c) in FACTORED_ALONE else nullcontext()
        c = np.where(self.penalty.part(self.coding.places).excluded, 0.0, c)
        with np.errstate(over="ignore", invalid="ignore"), alone:
            found = None if self.mean is None or self.penalty.lasso.any() else self._by_gradients(c)
            if found is None:
                found = self._by_information(c)
            elif not found.converged and len(c) <= MAX_FACTORED_SIZE:
                found = self._by_information(found.theta)
            return self._judged(found, self._scale(c) if self.scale is None else self.scale)

    def _by_information(self, c: ndarray) -> Fit:
        """Maximum by the proximal Newton method, as `solve` returns it."""
        if not self.penalty.lasso.any():
            return self._by_newton(c)
        blocks = self.objective.blocks
        few = self.n_columns < MIN_COLUMNS_TO_CHOOSE or blocks.streamed or isinstance(blocks.arrays[0], Product)
        few = few or self.arrow is not None  # that of all columns is as cheap
        return self._polished(self._by_newton(c) if few else self._by_working_sets(c))

    @property
    def _with_ridge(self) -> Ridge:
        """The log-likelihood with the ridge, as a function of c."""
        return Ridge(self.coding.objective(self.objective), self._ridge)

    def _by_newton(self, c: ndarray, held: HeldInformation | None = None) -> Fit:
        lasso = self.penalty.part(self.coding.places).lasso
        options: dict[str, Any] = {"maxiter": self.maxiter, "tol": self.tol, "callback": self.callback}
        return proximal_newton(self._with_ridge, lasso, c, held=held, keep=self.arrow is None, **options)

    def _by_working_sets(self, c: ndarray) -> Fit:
        """Maximum over some columns at a time, until the optimality conditions hold for all.

        The first columns are those in use and those whose score says that they may be needed, as of the sequential
        strong rule (Tibshirani, Bien, Friedman, Hastie, Simon, Taylor & Tibshirani 2012, Journal of the Royal
        Statistical Society B 74); then those are added of which the conditions do not hold.
        """
        at, working = self.coding.places % self.n_columns, self.working
        objective = Ridge(self.coding.objective(working.of(self.objective)), self._ridge)
        lasso = self.penalty.part(self.coding.places).lasso
        e, trace, steps = DeferredEvaluation.at(objective, c), (), 0
        pull = np.abs(e.score) / np.where(lasso > 0, lasso, np.inf)
        ratio = min(float(pull.max()), MAX_STRONG_RATIO)
        used = (c != 0) | (lasso == 0)
        wanted = used | _most_of(pull, (pull >= 2.0 - ratio) & ~used)
        while True:
            if not working.has(at[wanted]):
                working.add(at[wanted | _most_of(pull, (pull >= 2.0 - ratio**2) & ~wanted)])
            chosen = np.isin(at, working.columns)
            if not chosen.any():  # every coefficient is 0, and none is wanted
                return Fit(c, e, 0, True, "converged", 0.0)
            part = self._of_working_set(c, chosen, steps)
            found = part._by_newton(c[chosen], held := working.held(np.diag(part._ridge)))
            working.keep(held, np.diag(part._ridge))
            steps, trace = steps + found.iterations, (*trace, *found.trace)
            c = c.copy()
            c[chosen] = found.theta
            e = DeferredEvaluation.at(objective, c)
            wrong = ~chosen & (np.abs(e.score) > lasso * (1 + LASSO_ROUNDING))
            if not wrong.any() or not found.converged:
                return replace(found, theta=c, evaluation=e, iterations=steps, trace=trace)
            wanted = chosen | _most_of(np.abs(e.score) / np.where(lasso > 0, lasso, np.inf), wrong)

    def _of_working_set(self, c: ndarray, chosen: ndarray, steps: int) -> Problem:
        """The problem of the columns in use, whose coefficients are `chosen` of c, the others being 0."""
        d, columns = len(self.penalty.alpha), self.working.columns
        coding = self.coding.of_columns(columns, self.n_columns, d)
        penalty = self.penalty.part(np.flatnonzero(np.isin(np.arange(d) % self.n_columns, columns)))
        callback = None if self.callback is None else partial(self._called_back, self.callback, c.copy(), chosen, steps)
        objective = self.working.objective
        return replace(self, objective=objective, coding=coding, penalty=penalty, frame=None, callback=callback)

    @staticmethod
    def _called_back(callback: Callable, c: ndarray, chosen: ndarray, steps: int, iteration: int, b: ndarray, value):
        c[chosen] = b
        callback(steps + iteration, c.copy(), value)

    def _by_gradients(self, c: ndarray) -> Fit | None:
        """Maximum of a ridge by gradients, as `solve` returns it, without an information; None where no
        metric is to be had."""
        coding, metric = self.coding, self._metric()
        if metric is None:
            return None
        tol = LAST_STEP_TOL_SHARE * PROXIMAL_TOL if self.tol is None else self.tol
        objective = Ridge(coding.gradients(self.objective), self.penalty.ridge)
        most = GRADIENT_STEPS_PER_NEWTON * self.maxiter
        fit = lbfgs(objective, coding.b(c), metric, tol=tol, maxiter=most, callback=self.callback)
        form = partial(_penalised_information, self.objective, coding, self.penalty, coding.theta(fit.theta))
        e = DeferredEvaluation(fit.evaluation.value, coding.score(fit.evaluation.score), form)
        return replace(fit, theta=coding.c(fit.theta, self.n_columns), evaluation=e)

    def _of_active(self, found: Fit) -> Problem | None:
        """The problem of what is not 0 with its columns mixed, where they are ill-conditioned; None where not."""
        frame, places = self.frame, self.coding.places
        active = (found.theta != 0) | (self.penalty.part(places).lasso == 0)
        if frame is None or self.arrow is not None or self.mixed or not active.any():
            return None
        here = self._spread(active).reshape(-1, len(frame.free))
        which = here.all(axis=0) & ~frame.free
        ridge = self.penalty.ridge.reshape(here.shape).mean(axis=0) / frame.raw.n
        H = found.evaluation.information[np.ix_(active, active)]
        if (here.any(axis=0) & ~frame.free & ~which).any() or not which.any() or enough(H, frame.raw.blocks.arrays[0]):
            return None  # other columns by equation
        T = np.eye(len(places)) if self.coding.T is None else self.coding.T
        coding = ClassCoding(self.coding.D, T[:, active], places[active])
        try:
            mixed = frame.mixed(ridge, which)
            return replace(self, objective=mixed.apply(frame.raw), frame=mixed, mixed=True, coding=coding)
        except np.linalg.LinAlgError:
            return None

    def _polished(self, found: Fit) -> Fit:
        """Estimate polished to have the digits that ill-conditioned columns cost: with its signs the rest is smooth."""
        part = self._of_active(found) if found.converged else None
        if part is None:
            return found
        assert part.frame is not None
        at, c = part.coding.places, self._spread(found.theta)
        linear = part.frame.with_linear(self.penalty.lasso * np.sign(c))[at]
        objective = Ridge(part.coding.objective(part.objective), part._ridge, linear)
        better = proximal_newton(objective, np.zeros(len(at)), part.frame.remixed(c)[at], maxiter=self.maxiter)
        new = part.frame.unmixed(part._spread(better.theta))
        kept = (np.sign(new) == np.sign(c))[self.penalty.lasso > 0].all()
        if not (better.converged and kept):
            return found
        new = new[self.coding.places]
        return replace(found, theta=new, evaluation=self._with_ridge(new, False))

    def _root(self, found: Fit, active: ndarray) -> ndarray:
        """A root of the inverse of the information, with the ridge, of the coefficients `active`, (c, active)."""
        out = np.zeros((len(found.theta), len(active)))
        part = self._of_active(found) if self.penalty.lasso.any() else None
        if part is None:
            out[active] = CholeskyFactor(found.evaluation.information[np.ix_(active, active)]).root
            return out
        assert part.frame is not None
        g = part.frame.remixed(self._spread(found.theta))[part.coding.places]
        e = Ridge(part.coding.objective(part.objective), part._ridge)(g, False)
        return part.frame.unmixed(part._spread(CholeskyFactor(e.information).root))[self.coding.places]

    def _scale(self, c: ndarray) -> ndarray:
        """Scale of the score: root of N times the information, as of N rows with scores of one size."""
        return self._scale_of(self.objective(self.coding.theta(self.coding.b(c)), True).information)

    def _scale_of(self, A: ndarray) -> ndarray:
        coding = self.coding
        if coding.D is not None or coding.T is not None:
            A = coding.objective(self.objective).information(A)
        return np.sqrt(self.penalty.n * np.abs(A.diagonal()))

    def _judged(self, found: Fit, scale: ndarray) -> Fit:
        """A fit that has converged only if the optimality conditions hold."""
        off = float((self._violations(found) / np.where(scale > 0, scale, 1.0)).max(initial=0.0))
        if not found.converged or off <= KKT_TOL:
            return found
        message = f"{VIOLATED}: they are violated by {off:.2g} of the scale of the score"
        return replace(found, converged=False, message=message)

    def _violations(self, found: Fit) -> ndarray:
        """Violations of the optimality conditions, coefficient by coefficient."""
        lasso, score = self.penalty.part(self.coding.places).lasso, found.evaluation.score
        if self.mixed:
            assert self.frame is not None
            score = self.frame.slopes(self._spread(score))[self.coding.places]
        return kkt_violations(score, lasso, found.theta)

    def _spread(self, c: ndarray) -> ndarray:
        """Entries of c among those of b."""
        out = np.zeros((len(self.penalty.alpha), *c.shape[1:]), dtype=c.dtype)
        out[self.coding.places] = c
        return out

    def scaled(self, alpha: float) -> Problem:
        """Problem with `alpha` times the penalty."""
        return replace(self, penalty=self.penalty.times(alpha))

    def null(self, c: ndarray) -> Fit:
        """The maximum with every coefficient that has a penalty at 0."""
        places = np.flatnonzero(self.penalty.part(self.coding.places).alpha == 0)
        out = np.zeros(len(c))
        if self.mean is not None:
            out[places] = c[places]
            return self._null_by_gradients(out, places)
        inner = self.coding.objective(self.objective)
        if len(places):
            part = Selected(inner, places, out)
            with np.errstate(over="ignore", invalid="ignore"):
                fit = proximal_newton(part, np.zeros(len(places)), c[places], maxiter=self.maxiter)
            out[places] = fit.theta
        e = inner(out, False)
        return Fit(out, e, 0, True, "converged", 0.0)

    def _null_by_gradients(self, c: ndarray, free: ndarray) -> Fit:
        assert self.mean is not None
        coding, metric = self.coding, KroneckerPart(*self.mean, self.coding.places[free])
        most = GRADIENT_STEPS_PER_NEWTON * self.maxiter
        with np.errstate(over="ignore", invalid="ignore"):
            tol = LAST_STEP_TOL_SHARE * PROXIMAL_TOL
            fit = lbfgs(coding.gradients(self.objective), coding.b(c), metric, tol=tol, maxiter=most)
        e = replace(fit.evaluation, score=coding.score(fit.evaluation.score))
        return replace(fit, theta=coding.c(fit.theta, self.n_columns), evaluation=e)

    def largest_alpha(self, null: Fit, least: float = 1e-3) -> float:
        """The alpha from which on all coefficients that have a penalty are 0; of a ridge that of L1_wt = `least`."""
        penalty = self.penalty.part(self.coding.places)
        share = penalty.n * max(penalty.L1_wt, least) * penalty.alpha
        return largest_lasso(null.evaluation, penalty.alpha == 0, share)

    def weakest(self, found: Fit) -> float:
        """Least share of the ridge in the information, scaled by its diagonal, along what the data say nothing about.

        Such directions, combinations of columns that are 0 in every row and coefficients that all classes share, have
        nothing but the ridge; below the rounding of the information it decides nothing. 1 where there is none.
        """
        ridge, mine = self.penalty.ridge, self.penalty.part(self.coding.places)

        def little(size):
            return bool((mine.ridge[mine.ridge > 0] < MIN_RIDGE_SHARE * size[mine.ridge > 0]).any())

        if not ridge.any() or (found.evaluation.dear and not little(self._most())):
            return 1.0
        if self._too_wide:
            some = mine.ridge > 0
            return float((mine.ridge[some] / np.maximum(self._most()[some], np.finfo(float).tiny)).min())
        size = self._sizes(found)
        if not little(size):
            return 1.0
        blocks = (self.objective if self.frame is None else self.frame.raw).blocks
        k, full = blocks.arrays[0].shape[1], self._spread(size)
        active = (self.coding.b(found.theta) != 0) | (self.penalty.lasso == 0)
        rows = _null_rows(dependencies_in(blocks.map(lambda X, *rest: (X,))), k)
        if self.frame is not None:
            rows[:, self.frame.free] = 0.0  # projected out
        nothing = [np.kron(np.eye(len(ridge) // k), row) for row in rows]
        if self.coding.by_class:
            nothing.append(np.kron(np.ones(len(ridge) // k), np.eye(k)))
        V = np.vstack(nothing) ** 2 if nothing else np.zeros((0, len(ridge)))
        V = V[~V[:, ~active].any(axis=1) & (V @ ridge > 0)]
        return float(((V @ ridge) / (V @ full)).min(initial=1.0))

    def _most(self) -> ndarray:
        """Upper bound of the diagonal of the information, a quarter of the gram's."""
        assert self.mean is not None
        return np.tile(_diagonal(self.mean[1]), len(self.mean[0]))[self.coding.places]

    def _sizes(self, found: Fit) -> ndarray:
        """Diagonal of the information with the ridge; in a frame, without what free columns explain."""
        A, at = found.evaluation.information, self.coding.places
        if not self.mixed:
            return A.diagonal()
        assert self.frame is not None
        half = self.frame.slopes(self._spread(A))[at]
        return np.diag(self.frame.slopes(self._spread(half.T))[at])

    def finish(self, found: Fit) -> PenalisedEstimate:
        """The estimate in the model's parameters, with the covariance and degrees of freedom that it has.

        Raises
        ------
        numpy.linalg.LinAlgError
            The information with the ridge is singular.
        """
        if self.arrow is not None:
            return self._finish_arrow(found)
        if found.evaluation.dear or self._too_wide:
            return self._finish_later(found)
        coding, penalty = self.coding, self.penalty.part(self.coding.places)
        c = found.theta
        active = np.flatnonzero((c != 0) | (penalty.lasso == 0))
        root, shares = np.zeros((len(c), 0)), np.zeros(len(c))
        only_lasso = penalty.lasso.any() and not penalty.ridge.any()
        if len(active) and not only_lasso:
            root = self._root(found, active)
        root = root if coding.T is None else coding.T @ root
        theta = coding.theta(coding.b(c))
        plain = DeferredEvaluation.at(self.working.of(self.objective), theta)
        estimate, V, spread = self._in_final_coordinates(found, theta, plain, root)
        shares[active] = 1.0 if only_lasso else 1.0 - (penalty.ridge * np.diag(V)[coding.places])[active]
        return self._with_penalty(estimate, found, LazyCovariance.of(V, self._spread(shares), spread))

    def _with_penalty(
        self, estimate: Callable[..., PenalisedEstimate], found: Fit, spread: LazyCovariance
    ) -> PenalisedEstimate:
        kkt = float(self._violations(found).max(initial=0.0)) / self.penalty.n
        return estimate(penalty=self.penalty, spread=spread, kkt=kkt, symmetric=self.coding.by_class)

    def _finish_arrow(self, found: Fit) -> PenalisedEstimate:
        """Return the estimate of many levels, of which no array has an entry for each pair."""
        A, penalty, p = found.evaluation.information, self.penalty, len(found.theta)
        active = (found.theta != 0) | (penalty.lasso == 0)
        shares = active.astype(float)
        if penalty.lasso[~penalty.excluded].any() and not penalty.ridge.any():
            V = BlocksPlusLowRank(A.layout, np.zeros_like(A.C), np.zeros((p, 0)), np.zeros((0, 0)))
        else:
            V = A.narrowed(active).factor().inverse.embedded(np.flatnonzero(active), p)
            shares[active] -= (penalty.ridge * V.diagonal())[active]
        basis = None if self.frame is None else self.frame.basis
        plain = DeferredEvaluation.at(self.working.of(self.objective), found.theta)
        spread = LazyCovariance.of(covariance_from_basis(basis, V), shares, V)
        b = from_basis(basis, found.theta)
        estimate = partial(PenalisedEstimate, replace(found, evaluation=plain), basis, b=b, inner=plain)
        return self._with_penalty(estimate, found, spread)

    def _finish_later(self, found: Fit) -> PenalisedEstimate:
        """Finish an estimate whose information, and what follows from it, wait until they are asked for where they
        are large, and are refused where they are too large."""
        coding, b = self.coding, self.coding.b(found.theta)
        theta = coding.theta(b)
        e = self.working.of(self.objective).gradient(theta)
        too_wide = partial(refuse_to_form, len(theta))
        form = too_wide if self._too_wide else partial(self.objective.information, theta)
        plain = DeferredEvaluation(e.value, e.score, form)
        spread = LazyCovariance(partial(_ridge_spread, plain, coding, self.penalty.ridge))
        if self._too_wide:
            shares = self._shares_of_lasso(found) if not self.penalty.ridge.any() else None
            spread = LazyCovariance(too_wide, shares, refused=True)
        elif len(found.theta) <= MAX_FACTORED_SIZE:
            spread.know()
        estimate = partial(PenalisedEstimate, replace(found, theta=theta, evaluation=plain), None, b=b, inner=plain)
        return self._with_penalty(estimate, found, spread)

    def _shares_of_lasso(self, found: Fit) -> ndarray:
        lasso = self.penalty.part(self.coding.places).lasso
        return self._spread(((found.theta != 0) | (lasso == 0)).astype(float))

    def _in_final_coordinates(
        self, found: Fit, theta: ndarray, plain: Evaluation, root: ndarray
    ) -> tuple[Callable[..., PenalisedEstimate], ndarray, ndarray]:
        """The estimate but for its penalty, V and the covariance of the parameters, from parameters in the coordinates
        of the problem and a root of V there."""
        coding, frame, b = self.coding, self.frame, self.coding.b(found.theta)
        spread = root if coding.D is None else coding.D @ root
        if frame is None:
            fit = replace(found, theta=theta, evaluation=plain)
            return partial(PenalisedEstimate, fit, None, b=b, inner=plain), root @ root.T, spread @ spread.T
        basis, theta, exact = frame.final[0], frame.finally_into(theta), frame.exact
        root, spread, b = coding.centred(frame.out(root)), frame.finally_into(spread), coding.centred(frame.out(b))
        evaluation = plain if frame.final_is_own else DeferredEvaluation.at(frame.raw.rotated(basis, exact), theta)
        fit = replace(found, theta=theta, evaluation=evaluation)
        estimate = partial(PenalisedEstimate, fit, basis, exact=exact, b=b, inner=plain)
        return estimate, root @ root.T, spread @ spread.T


def refuse_to_form(size: int) -> Any:
    """Raise EstimationError, with what an array of all coefficients by all would take."""
    raise EstimationError(
        f"the information of {size:,} coefficients takes {size * size / 2**27:,.0f} GiB and is not formed: there are "
        f"no standard errors, no effective degrees of freedom and nothing that rests on them of more than "
        f"{MAX_FORMED_SIZE:,} coefficients, files included. params, llf, predictions and pickle need none of them; for "
        "inference fit the columns that matter, such as those that a lasso selects"
    )


def _most_of(pull: ndarray, wanted: ndarray) -> ndarray:
    """Mask of what is wanted, or of the part of it with the largest `pull`, where that is much."""
    at = np.flatnonzero(wanted)
    if len(at) > MAX_COLUMNS_AT_ONCE:
        wanted = np.zeros_like(wanted)
        wanted[at[np.argpartition(pull[at], -MAX_COLUMNS_AT_ONCE)[-MAX_COLUMNS_AT_ONCE:]]] = True
    return wanted


def _diagonal(G: ndarray) -> ndarray:
    return G if G.ndim == 1 else np.diag(G)


def _penalised_information(objective, coding: ClassCoding, penalty: Penalty, theta: ndarray) -> ndarray:
    """The information in the coordinates c, with the ridge; the mean over classes of what is free changes nothing."""
    at = coding.places
    return coding.information(objective.information(theta))[np.ix_(at, at)] + np.diag(penalty.part(at).ridge)


def _ridge_spread(e: Evaluation, coding: ClassCoding, ridge: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """V, shares and the covariance of the parameters from their information, without a penalty.

    What is free in every class is held in place by a weight on its sum over the classes, which is then taken off.
    """
    A = coding.information(e.information)
    held, K, k = np.zeros(0, dtype=np.intp), 1, len(A)
    if isinstance(coding, SymmetricCoding):
        held, K, k = np.flatnonzero(coding.free), coding.contrasts.shape[1], len(coding.free)
    weights = [(np.arange(j, len(A), k), float(A[j::k, j::k].trace()) / K) for j in held]
    A[np.diag_indices_from(A)] += ridge
    for at, weight in weights:
        A[np.ix_(at, at)] += weight / K
    factor = CholeskyFactor(A)
    del A  # it is large
    V = factor.inverse
    for at, weight in weights:
        V[np.ix_(at, at)] -= 1.0 / (weight * K)
    shares = 1.0 - ridge * np.diag(V)
    shares[held] = 0.0  # of the first class
    return V, shares, coding.covariance(V)


def _null_rows(found: Mapping[int, Mapping[int, float]], k: int) -> ndarray:
    """Combinations of k columns that are 0 in every row, (., k)."""
    out = np.zeros((len(found), k))
    for row, (j, terms) in zip(out, found.items(), strict=True):
        row[j] = -1.0
        row[list(terms)] = list(terms.values())
    return out


def _wide_spread(
    found: LazyCovariance, at: ndarray, d: int, coordinates: Coordinates
) -> tuple[ndarray, ndarray, ndarray | None]:
    parameters = None if found.parameters is None else coordinates.wide(found.parameters)
    return wide(found.V, at, d), placed(found.shares, at, d), parameters


def without_covariance(found: PenalisedEstimate) -> PenalisedEstimate:
    """The estimate without matrices, so that many can be kept; with NaN for shares that were not formed yet."""
    shares = found.shares if found.spread.shares_known else np.full(len(found.b), np.nan)
    e = found.fit.evaluation
    fit = replace(found.fit, evaluation=DeferredEvaluation(e.value, e.score, _none))
    return replace(found, fit=fit, spread=LazyCovariance.of(np.zeros((0, 0)), shares), inner=None)


def _none() -> ndarray:
    return np.zeros((0, 0))
