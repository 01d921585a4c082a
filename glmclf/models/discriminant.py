"""LDA and QDA: Gaussian classes with one covariance matrix, or one each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf import registry
from glmclf.caching import cached_property
from glmclf.checks import check_choice, known_names
from glmclf.core.design.columns import some_columns
from glmclf.core.design.dense import Dense
from glmclf.core.design.factor import expand
from glmclf.core.fit.aliasing import violations
from glmclf.core.fit.rank import roundings
from glmclf.core.gaussian import fit as gaussian
from glmclf.core.gaussian.fit import SingularDispersion, fit_gaussian
from glmclf.core.gaussian.moments import ClassMoments, class_ends, class_moments
from glmclf.core.gaussian.singular import least_variances, redundant_features
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.core.rows.asked import named
from glmclf.core.rows.blocks import Blocks
from glmclf.data.design.arrays import of_one_float, rows_by_place
from glmclf.data.reading.arrays import read_arrays
from glmclf.data.response.priors import numbers
from glmclf.data.table.frame import assigned
from glmclf.data.table.rows import ReadTable
from glmclf.errors import CollinearityWarning, DataError, DataWarning, SingularCovarianceError, warn
from glmclf.models.generative import GenerativeModel, _number
from glmclf.results.generative.discriminant import DiscriminantResults, GaussianFit
from glmclf.results.omitted import new_rows_warning, omitted_note

COVARIANCE_KINDS = ("full", "diag", "spherical")
__all__ = ["LDA", "QDA"]
DIVISORS = ("mle", "unbiased")
INTENSITIES = ("ledoit_wolf", "oas")
TARGETS = ("diag", "identity")
HUGE = 1e200  # stands for infinity where rows are compared with what a column left out equals
MIN_SD = 1e-75  # standard deviation of a feature; the largest is 1 / MIN_SD, so that fourth powers are floats


class DiscriminantModel(GenerativeModel[DiscriminantResults]):
    """Base class of LDA and QDA: x given class k is normal with mean mu_k and covariance Sigma, or Sigma_k.

    Parameters
    ----------
    endog : (n,) array_like
        Class of each row: labels of any sortable type.
    exog : (n, p) array_like
        Features; array or DataFrame. One constant column is left out (`dropped_const`).
    reference : label, optional
        The class that log-odds are against; by default the first of the (sorted or categorical) levels.
    priors : array_like, dict, Series or "equal", optional
        Prior probabilities of the classes, in the order of the levels or by level; estimated by default.
    prior_smoothing : float
        a >= 0: priors (n_k + a) / (N + a K).
    covariance : {"full", "diag", "spherical"}
        Structure of the covariance matrices.
    divisor : {"mle", "unbiased"}
        Divide sums of squares by N (or n_k), or by N - K (n_k - 1), which sampling weights do not have. Likelihoods
        are those of the former.
    shrinkage : float, "ledoit_wolf" or "oas"
        (1 - lambda) Sigma + lambda T, lambda in [0, 1] or chosen from the data.
    target : {"diag", "identity"} or (p, p) array_like
        T: the diagonal of Sigma, its mean variance times I, or a given matrix; of one labelled by features, their part.
    ridge : float
        tau >= 0: Sigma + tau I.
    freq_weights : (n,) array_like or str, optional
        How many equal observations each row stands for.
    weights : (n,) array_like or str, optional
        Sampling weights.
    missing : {"drop", "raise", "none"}
        What to do with rows that hold a missing value. A row to predict is judged by the features that it has.
    """

    _coding: ClassVar[dict[str, Any]] = {
        "reference": None,
        "priors": None,
        "prior_smoothing": 0.0,
        "covariance": "full",
        "divisor": "mle",
        "shrinkage": 0.0,
        "target": "diag",
        "ridge": 0.0,
    }
    _results_class = DiscriminantResults
    _pooled: ClassVar[bool]
    _kept: ClassVar[tuple[str, ...]] = (
        *GenerativeModel._kept,
        *("dropped_const", "_dummies", "_row_counts", "_omitted", "_units"),
    )
    _given: DiscriminantModel | None = None  # the model with all features, of one that left some out
    _omitted: Sequence[Any] = ()  # pairs: place of a column left out, and [place, coefficient] of what it equals
    _units: Sequence[float] = ()  # of rounding of the columns

    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        reference: Any = None,
        priors: Any = None,
        prior_smoothing: float = 0.0,
        covariance: str = "full",
        divisor: str = "mle",
        shrinkage: float | str = 0.0,
        target: Any = "diag",
        ridge: float = 0.0,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        missing: str = "drop",
    ) -> None:
        keywords = {name: value for name, value in locals().items() if name in (*self._coding, *self._variables)}
        self._from_arrays(endog, exog, missing, keywords)

    # ------------------------------------------------------------------------------------------------- input
    def _read(self, formula, data, namespace, coding, **options) -> Any:
        return super()._read(formula, data, namespace, coding, intercept=True, **options)

    def _read_arrays(self, endog, exog, coding, **options) -> ReadTable:
        return read_arrays(endog, exog, response=self._coder(coding), drop_constant=True, **options)

    def _coding_for(self, formula: str) -> dict[str, Any]:
        """Keywords for another formula: a matrix of target= goes with the features."""
        coding, target = super()._coding_for(formula), self._options["target"]
        if isinstance(target, str):
            return coding
        return {**coding, "target": pd.DataFrame(target, self.feature_names, self.feature_names)}

    def _start_with(self, read: Any, keywords: dict[str, Any]) -> None:
        k, held = len(read.design.xnames) - 1, len(read) if isinstance(read, ReadTable) else 0
        size, factors = 8 * max(held, k) * k, getattr(read.design, "factors", {})
        if size > MAX_DENSE_BYTES and any(factor.levels is not None for factor in factors.values()):
            raise NotImplementedError(
                f"{type(self).__name__} takes the levels of a factor as normal features: {len(read):,} rows of {k:,} "
                f"features and their covariances are {1e-9 * size:.1f} GB. NaiveBayes has a table for a factor, Logit "
                "and MNLogit an intercept for each level"
            )
        super()._start_with(read, keywords)

    def _columns(self, read: ReadTable) -> Dense:
        if read.pieces is None:
            return Dense(np.asarray(read.X))
        return self._columns_of(read.pieces, len(read))

    def _columns_of(self, made: Any, n: int | None = None) -> Dense:
        return Dense(expand(made[1:], len(self._rows) if n is None else n))  # the first piece is the intercept

    def _settle(self, keywords: dict[str, Any], lost: list[str]) -> None:
        super()._settle(keywords, lost)
        dropped = getattr(self._design, "dropped", None)
        self.dropped_const = None if dropped is None else dropped.name
        self._dummies = [self.feature_names[j] for j in self._rows.zero_one_columns()]

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        checked = super()._checked(options)
        for name, known in (("covariance", COVARIANCE_KINDS), ("divisor", DIVISORS)):
            check_choice(name, options[name], known)
        shrinkage, target = options["shrinkage"], options["target"]
        if isinstance(shrinkage, str) and shrinkage not in INTENSITIES:
            raise ValueError(f"shrinkage={shrinkage!r}: a number from 0 to 1, {' or '.join(map(repr, INTENSITIES))}")
        checked["shrinkage"] = shrinkage if isinstance(shrinkage, str) else _number(shrinkage, "shrinkage", 0.0, 1.0)
        checked["ridge"] = _number(options["ridge"], "ridge", 0.0, MIN_SD**-2)
        checked["target"] = self._target(target)
        if checked["target"] != "diag" and checked["shrinkage"] == 0:
            raise ValueError("target= is what shrinkage= shrinks to: give shrinkage=, too")
        if self._regularised(checked) and options["covariance"] != "full":
            kind = options["covariance"]
            raise NotImplementedError(f'shrinkage=, ridge= regularise covariance="full"; found covariance="{kind}"')
        if isinstance(checked["target"], list) and isinstance(shrinkage, str):
            raise NotImplementedError(
                f'shrinkage="{shrinkage}" is chosen for target="diag"; give a number with a matrix'
            )
        return checked

    def _target(self, target) -> str | list[list[float]]:
        if isinstance(target, str):
            check_choice("target", target, TARGETS, '"diag", "identity" or a covariance matrix')
            return target
        if isinstance(target, pd.DataFrame):
            names = self.feature_names
            if not (set(names) <= set(target.index) == set(target.columns)):
                found = known_names(target.columns)
                raise ValueError(f"target= is labelled {found}; the features are {known_names(names)}")
            target = target.loc[names, names]
        p = len(self.feature_names)
        T = numbers(target, "target", f'a ({p}, {p}) matrix, or "diag" or "identity"')
        if T.shape != (p, p) or not np.allclose(T, T.T, rtol=1e-10) or not (np.abs(T) <= MIN_SD**-2).all():
            raise ValueError(f"target= must be a symmetric ({p}, {p}) matrix, for {known_names(self.feature_names)}")
        if np.linalg.eigvalsh(T)[0] <= 0:
            raise ValueError("target= must be positive definite")
        return T.tolist()

    @staticmethod
    def _regularised(options: dict[str, Any]) -> bool:
        return options["shrinkage"] != 0 or options["ridge"] != 0

    # ------------------------------------------------------------------------------------------------- names
    @property
    def feature_names(self) -> list[str]:
        """Names of the features: the columns of the design without the constant, and without those that a fit with
        ``collinear="drop"`` left out."""
        return self.exog_names[1:]

    @property
    def exog_names(self) -> list[str]:
        """Names of the constant and of the features, which are the regressors of the implied logit."""
        return [name for j, name in enumerate(self._all_names) if j not in self._left_out]

    @property
    def _all_names(self) -> list[str]:
        """Names of the constant and of all features, those left out among them."""
        names = self._design.xnames
        features = names[1:] if self.formula is not None else names
        return [getattr(self, "dropped_const", None) or "Intercept", *features]

    @property
    def _left_out(self) -> dict[int, dict[int, float]]:
        """Columns left out, by their places in `_all_names`, and the combinations that they equal."""
        return {j: dict(terms) for j, terms in self._omitted}

    @property
    def _kept_features(self) -> ndarray:
        """Places of the features among those of the design."""
        return np.setdiff1d(np.arange(len(self._all_names) - 1), [j - 1 for j in self._left_out])

    def _violations(self, X: ndarray, constant: float = 1.0) -> dict[int, ndarray]:
        """Rows of all features (n, p), or changes of rows with `constant` 0, that violate what a column left out
        equals."""
        if not self._omitted:
            return {}
        A = np.nan_to_num(np.column_stack([np.full(len(X), constant), X]), nan=np.nan, posinf=HUGE, neginf=-HUGE)
        return violations(self._left_out, A, self._units)

    @property
    @named
    def exog(self) -> ndarray:
        """Features of the rows of the fit, (n, p)."""
        return self._rows.X.toarray()

    def _fit_table(self) -> pd.DataFrame:
        if self._given is not None:
            return self._given._fit_table()
        if self.data.table is not None:
            return super()._fit_table()
        r = self._rows
        labels = self._response.decode(self.endog)
        table = pd.DataFrame(self.exog, index=r.index, columns=self.feature_names)
        return assigned(table, {self.endog_names: labels})

    @property
    def _feature_terms(self) -> dict[str, list[int]]:
        """Features of each term of the formula."""
        start, found = 1 if self.formula is not None else 0, {}
        place = {int(j): k for k, j in enumerate(self._kept_features)}
        for name, part in self._design.terms.items():
            if here := [place[j - start] for j in range(part.start, part.stop) if j - start in place]:
                found[name] = here
        return found

    @cached_property
    def _row_counts(self) -> list[float]:  # type: ignore[override]
        return self._class_sizes.tolist()

    def _features(self, newdata) -> ndarray:
        """Features of new rows, NaN where missing; a numeric array is returned unchanged."""
        X = self._all_features(newdata)
        if not self._omitted:
            return X
        if broken := self._violations(X):
            warn(new_rows_warning(broken, self._left_out, self._all_names, len(X)), DataWarning)
        return X[:, self._kept_features]

    def _all_features(self, newdata) -> ndarray:
        if self.formula is None:
            rows = self._same_table(newdata)
            if isinstance(rows, ndarray):
                return rows_by_place(rows, self._design.xnames, self._design.dropped)
            return self._design.matrix(newdata, partial=True)
        X = self._design.matrix(newdata)
        if np.isnan(X[:, 0]).any():  # a row that misses a value is NaN throughout
            X = self._design.matrix(newdata, partial=True)
        return X[:, 1:]

    def _same_table(self, newdata):
        """Values of a table whose columns are the features in order, as floats; any other table unchanged."""
        if not of_one_float(newdata) or list(map(str, newdata.columns)) != self._design.xnames:
            return newdata
        return newdata.to_numpy()

    # --------------------------------------------------------------------------------------------------- fit
    def _blocks(self, n_threads: int | None = None) -> Blocks:
        return self._rows.blocks(n_threads=n_threads).map(_weighted)

    def _fit(
        self, cov_type: str, keywords, bias_reduction: str | None, collinear: str, n_threads: int | None
    ) -> DiscriminantResults:
        blocks = self._blocks(n_threads)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = class_moments(blocks, self.J, self._options["covariance"], self._pooled)
        self._check_units(moments)
        try:
            fitted = self._estimate(blocks, moments)
        except SingularDispersion as singular:
            redundant = self._redundant(blocks, moments)
            if collinear == "raise" or not redundant:
                raise self._singular_error(singular, moments, {*redundant}) from None
            return self._without(redundant)._fit(cov_type, keywords, bias_reduction, "raise", n_threads)
        if self._omitted:
            note = omitted_note(self._left_out, self._all_names)
            warn(f"{note} The fit is that of the other features, for rows that obey the same.", CollinearityWarning)
        if fitted.law.near:
            names = ", ".join(f'"{self.feature_names[j]}"' for j in fitted.law.near)
            warn(
                f"{names}: all but a combination of the other features within classes (tolerance below 1e-8), so that "
                "discriminant coefficients have few digits. Drop one, or use shrinkage=",
                DataWarning,
            )
        return DiscriminantResults._fitted(self, fitted, cov_type, keywords, bias_reduction, blocks)

    def _redundant(self, blocks: Blocks, moments: ClassMoments) -> dict[int, dict[int, float]]:
        """Features that can be left out of a singular fit, as of `redundant_features`, unless all are; regularised
        covariances need no more than that none is constant."""
        whole = self._options["covariance"] == "full" and not self._regularised(self._options)
        R = gaussian.residual_factors(blocks, moments, True)[0] if whole else None
        found = redundant_features(moments, R)
        return found if len(found) < moments.p else {}

    def _without(self, redundant: dict[int, dict[int, float]]) -> Self:
        """A copy of the model without some features."""
        assert not self._omitted
        kept = np.setdiff1d(np.arange(len(self.feature_names)), list(redundant))
        units = roundings(self._blocks().map(lambda X, *rest: (X,))).tolist()
        _ = self._ranges, self._row_counts, self._sums  # of all features, or without another pass
        return self._copy_with(
            keep=("_ranges", "_row_counts", "_sums"),
            _given=self,
            _rows_=self._rows.map(partial(_some_features, kept)),
            _omitted=[[j + 1, [[i + 1, c] for i, c in terms.items()]] for j, terms in redundant.items()],
            _units=[0.0, *units],
            _dummies=[name for name in self._dummies if self.feature_names.index(name) in kept],
        )

    def _estimate(self, blocks: Blocks, moments: ClassMoments) -> GaussianFit:
        o = self._options
        kind, pooled = o["covariance"], self._pooled
        options: dict[str, Any] = {"divisor": o["divisor"], **self._prior_options}
        if not self._frequency:
            options["rows"] = np.array(self._row_counts)
        if self._regularised(o):
            target = o["target"] if isinstance(o["target"], str) else np.array(o["target"])
            law = fit_gaussian(
                moments,
                kind,
                pooled,
                shrinkage=self._intensity(blocks, moments),
                target=target,
                ridge=o["ridge"],
                **options,
            )
            return GaussianFit(law, moments, None)
        factors = None
        if kind == "full" and gaussian.ill_conditioned(moments, pooled):
            factors = gaussian.residual_factors(blocks, moments, pooled)
        return GaussianFit(fit_gaussian(moments, kind, pooled, factors=factors, **options), moments, factors)

    def _intensity(self, blocks: Blocks, moments: ClassMoments):
        wanted = self._options["shrinkage"]
        if not isinstance(wanted, str):
            return wanted
        if not self._frequency and self._weight_sum is not None:
            # only the ratios of sampling weights count: N is the number of rows
            unit = len(self._rows) / self._weight_sum
            moments = moments.scaled(unit)
            blocks = blocks.map(lambda X, y, w: (X, y, w * unit))
        if wanted == "ledoit_wolf":
            return gaussian.ledoit_wolf(blocks, moments, self._pooled)
        return gaussian.oas(moments, self._pooled)

    def _check_bias_reduction(self, wanted: str | None, cov_type: str) -> None:
        if wanted is None:
            return
        name = type(self).__name__
        if wanted in ("firth", "median"):
            raise NotImplementedError(
                f'bias_reduction="{wanted}" is for {registry.listed(registry.REGRESSIONS)}; LDA: "exact"'
            )
        check_choice("bias_reduction", wanted, ("exact",))
        o = self._options
        if not self._pooled or o["covariance"] != "full" or self._regularised(o):
            raise NotImplementedError(
                f'bias_reduction="exact" is for LDA with an unregularised full covariance, not {name}'
            )
        if self._pseudo:
            raise NotImplementedError('bias_reduction="exact" knows no sampling weights=')
        if cov_type not in ("nonrobust", "expected"):
            raise NotImplementedError(f'bias_reduction="exact" has its own exact covariance, not cov_type="{cov_type}"')

    # ------------------------------------------------------------------------------------------------- errors
    def _check_units(self, moments: ClassMoments) -> None:
        """Refuse features whose squares, or those of coefficients, a float cannot hold."""
        with np.errstate(over="ignore", invalid="ignore"):
            sd = np.sqrt(moments.total_squares / moments.n)
            large = ~(sd * MIN_SD <= 1) | ~np.isfinite(moments.means).all(axis=0)
        small = ~large & (sd < MIN_SD)
        if small.any():  # too small, but not constant
            ends = self._blocks().sum(partial(class_ends, K=self.J))
            small &= np.fmin.reduce(ends.low) < np.fmax.reduce(ends.high)
        if (large | small).any():
            names = ", ".join(f'"{self.feature_names[j]}"' for j in np.flatnonzero(large | small))
            what = " or ".join(word for word, any_ in (("large", large.any()), ("small", small.any())) if any_)
            raise DataError(
                f"the values of {names} are too {what} for their squares and products (standard deviations from "
                f"{MIN_SD:g} to {1 / MIN_SD:g}): change the units"
            )

    def _singular_error(
        self, s: SingularDispersion, moments: ClassMoments, redundant: Collection[int]
    ) -> SingularCovarianceError:
        if s.reason == "constant within a class":
            s = self._all_constant(s, moments)
        columns, classes = [self.feature_names[j] for j in s.columns], [self._classes[k] for k in s.classes]
        combination = {self.feature_names[j]: c for j, c in s.combination.items()}
        verb = "is" if len(columns) == 1 else "are"
        what = ", ".join(f'"{name}"' for name in columns)
        where = self._listed([repr(c) for c in classes])
        if s.reason == "too few rows":
            message = self._too_few(s, classes)
        elif s.reason == "collinear":
            equal = "; ".join(f'"{self.feature_names[j]}" = {self._sum(terms)}' for j, terms in s.combinations.items())
            inside = f"in class {where} " if classes else "within classes "
            message = f"the features are linearly dependent {inside}(up to a constant of the class): {equal}"
        elif s.reason == "constant within a class":
            message = f"{what} {verb} constant in class {where}{self._almost(s, moments)}"
        else:
            message = f"{what} {verb} constant within every class{self._almost(s, moments)}"
            spread = moments.between_squares[list(s.columns)] / moments.n
            floors = least_variances(moments.total_squares, moments.n, moments.means)[list(s.columns)]
            if (spread > floors).any():
                message += ", and the means of the classes differ: that alone separates them perfectly"
        advice = self._advice(s, moments)
        if s.columns and {*s.columns} <= {*redundant}:
            advice = advice.rstrip(".") + ', or collinear="drop".'
        return SingularCovarianceError(f"{message}. {advice}", columns, classes, combination)

    def _too_few(self, s: SingularDispersion, classes: list[Any]) -> str:
        p = len(self.feature_names)
        if not classes:
            return (
                f"{s.rows[0]:g} rows in {self.J} classes are too few for {p} features: at least {s.needed} are needed"
            )
        parts = [
            f"class {c!r} has {n:.15g} row{'' if n == 1 else 's'}, needs at least {s.needed}"
            for c, n in zip(classes, s.rows, strict=True)
        ]
        return f"too few rows for a covariance matrix of {p} features: {self._listed(parts, '; ')}"

    @staticmethod
    def _listed(parts: list[str], separator: str = ", ", most: int = 5) -> str:
        more = [] if len(parts) <= most else [f"and {len(parts) - most} more classes"]
        return separator.join([*parts[:most], *more])

    @staticmethod
    def _almost(s: SingularDispersion, moments: ClassMoments) -> str:
        """Note that a "constant" feature has some variance, but too little; or ""."""
        squares = moments.class_squares[list(s.classes)] if s.classes else moments.class_squares
        exact = (squares[:, list(s.columns)] == 0).all()
        return "" if exact else " (it varies less than rounding or 1e-10 of its overall spread)"

    @staticmethod
    def _all_constant(s: SingularDispersion, moments: ClassMoments) -> SingularDispersion:
        """Complete an error, raised for the first class, with all classes in which its features are constant."""
        at = list(s.columns)
        floors = least_variances(moments.total_squares, moments.n, moments.means)[at]
        variances = moments.class_squares[:, at] / moments.counts[:, None]
        constant = variances <= floors
        everywhere = constant.all(axis=0)
        if everywhere.any():
            return SingularDispersion("constant within every class", np.array(at)[everywhere])
        return SingularDispersion(s.reason, at, np.flatnonzero(constant.all(axis=1)))

    @staticmethod
    def _join(terms) -> str:
        return " + ".join(terms).replace("+ -", "- ")

    def _sum(self, terms: dict[int, float]) -> str:
        names = self.feature_names
        parts = [names[j] if abs(c - 1) < 1e-9 else f"{c:.6g} * {names[j]}" for j, c in terms.items()]
        return self._join(parts) if parts else "constant"

    def _pools(self, moments: ClassMoments) -> bool:
        """Whether the pooled covariance of all classes is regular."""
        try:
            fit_gaussian(moments, self._options["covariance"], True)
        except SingularDispersion:
            return False
        return True

    def _advice(self, s: SingularDispersion, moments: ClassMoments) -> str:
        if s.reason == "constant within every class":
            return f"Drop {'it' if len(s.columns) == 1 else 'them'}."
        o = self._options
        least = min(s.rows, default=np.inf) - (self.J if not s.classes else 1)  # degrees of freedom
        ways = ["Drop a feature"]
        if s.reason == "too few rows":
            ways = ["Use fewer features" if least > 0 else "Join small classes, or drop their rows"]
        if not self._pooled:
            if self._pools(moments):
                ways.append("pool the covariances (LDA)")
            dummies = [self.feature_names[j] for j in s.columns if self.feature_names[j] in self._dummies]
            if dummies:
                ways.append(f"use NaiveBayes, which models {', '.join(dummies)} as categories")
        if s.reason == "constant within a class":
            other = "use ridge="
            if len(s.columns) < len(self.feature_names):  # the mean variance is positive: shrinkage has a target
                other += ', or shrinkage= with target="identity"'
            return ", or ".join([*ways, 'use covariance="spherical"' if o["covariance"] == "diag" else other]) + "."
        if o["covariance"] == "full" and least > 0:
            ways += ['use covariance="diag"', "a larger shrinkage=" if self._regularised(o) else "shrinkage="]
        elif o["covariance"] == "full":
            ways.append("use ridge=")  # all variances within classes are 0: shrinkage has no target
        return ", or ".join(ways) + "."

    # ------------------------------------------------------------------------------------------ for the summary
    def _summary_notes(self) -> list[str]:
        notes = super()._summary_notes()
        if self._dummies:
            n = len(self._dummies)
            notes.append(
                f"{n} dummy column{'s' if n > 1 else ''} modelled as Gaussian ({', '.join(self._dummies[:6])}"
                f"{', ...' if n > 6 else ''}): use a robust cov_type, and NaiveBayes for categories."
            )
        if self.dropped_const:
            notes.append(f'The constant column "{self.dropped_const}" was left out of the features.')
        if self._omitted:
            notes.append(omitted_note(self._left_out, self._all_names))
        return notes


def _some_features(kept: ndarray, X: Any, *rest: Any) -> tuple:
    """The arrays of a block with the features at some places alone."""
    return some_columns(X, kept), *rest


def _weighted(X: Any, y: ndarray, trials: None, offset: None, weights: ndarray | None) -> tuple:
    """Drop trials and offset, which generative models do not have, from the arrays of a block."""
    return X, y, weights


class LDA(DiscriminantModel):
    """Linear discriminant analysis: normal classes with one covariance matrix.

    `fit` maximises the joint likelihood sum_i f_i (log pi_y + log phi(x_i; mu_y, Sigma)); the log-odds are then linear
    in x, with slopes Sigma^-1 (mu_k - mu_0), and `discriminant` gives their standard errors and tests as MNLogit does.

    {parameters}

    References
    ----------
    Efron (1975), The efficiency of logistic regression compared to normal discriminant analysis. JASA 70, 892-898.
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition.

    Examples
    --------
    >>> from glmclf import LDA, datasets
    >>> penguins = datasets.load("penguins")
    >>> res = LDA.from_formula("species ~ bill_length_mm + body_mass_g", penguins, reference="Gentoo").fit()
    >>> res.discriminant.params.round(4)
                     Adelie  Chinstrap
    Intercept       45.3417    -7.9628
    bill_length_mm  -0.6234     1.1148
    body_mass_g     -0.0042    -0.0105
    """

    _pooled = True


class QDA(DiscriminantModel):
    """Quadratic discriminant analysis: normal classes with a covariance matrix each.

    `fit` maximises the joint likelihood sum_i f_i (log pi_y + log phi(x_i; mu_y, Sigma_y)); the log-odds are quadratic
    in x, and `discriminant` gives the coefficients of x, their squares and products with standard errors and tests.

    {parameters}

    References
    ----------
    McLachlan (1992), Discriminant Analysis and Statistical Pattern Recognition, section 3.2.

    Examples
    --------
    >>> from glmclf import QDA, datasets
    >>> res = QDA.from_formula("species ~ bill_length_mm + body_mass_g", datasets.load("penguins")).fit()
    >>> round(res.llf, 3), res.k_params
    (-3716.416, 17)
    """

    _pooled = False
