"""Naive Bayes: features that are independent given the class, each from its own family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import check_choice, check_truth
from glmclf.core.gaussian.moments import class_ends
from glmclf.core.naive_bayes.families import (
    FAMILY_CLASSES,
    OUTSIDE,
    Categorical,
    Defect,
    Family,
    GaussianFamily,
    MultinomialFamily,
    SparseSums,
)
from glmclf.core.naive_bayes.fit import (
    NaiveBayesFit,
    Record,
    UnusableFeatures,
    class_statistics,
    fit_naive_bayes,
    grouped,
    packed,
)
from glmclf.core.rows.asked import named
from glmclf.core.rows.blocks import Blocks
from glmclf.data.design.arrays import is_sparse, sparse_table
from glmclf.data.design.feature_design import FeatureValues
from glmclf.data.design.sparse_features import SparseFeatureDesign
from glmclf.data.reading.feature_arrays import read_feature_arrays
from glmclf.data.reading.features import Feature, FeatureDesign, code_of, read_features
from glmclf.data.reading.sparse_features import read_sparse_features
from glmclf.data.table.frame import quoted, row_labels
from glmclf.data.table.rows import ReadTable
from glmclf.errors import DataError, EstimationError, SingularCovarianceError, ZeroCellWarning, warn
from glmclf.models.discriminant import MIN_SD
from glmclf.models.generative import MAX_SMOOTHING, GenerativeModel, _number
from glmclf.results.generative.densities import MAX_NAMED
from glmclf.results.generative.naive_bayes import NaiveBayesResults

__all__ = ["NaiveBayes"]
MAX_SD_REST = 1e-10  # share of a feature's standard deviation below which its deviation within a class counts as 0


class NaiveBayes(GenerativeModel[NaiveBayesResults]):
    """Naive Bayes: the features are independent given the class, each with its own family of distributions.

    `fit` maximises the joint likelihood sum_i f_i (log pi_y + sum_j log f_jy(x_ij)). The log-odds are then linear in
    statistics of the features (x and x^2 of a gaussian one, indicators of the levels of a categorical one), and
    `discriminant` gives their coefficients with standard errors and tests as MNLogit does. A missing value leaves out
    its feature, not its row.

    Parameters
    ----------
    endog : (n,) array_like
        Class of each row: labels of any sortable type.
    exog : (n, p) array_like or scipy.sparse array
        Features; array or DataFrame, whose columns may hold labels. One constant column is left out (`dropped_const`).
        Of a scipy.sparse array (or pandas' sparse columns) counts and 0/1 features, which are never written out.
    reference : label, optional
        The class that log-odds are against; by default the first of the (sorted or categorical) levels.
    priors : array_like, dict, Series or "equal", optional
        Prior probabilities of the classes, in the order of the levels or by level; estimated by default.
    prior_smoothing : float
        a >= 0: priors (n_k + a) / (N + a K).
    families : dict or str, optional
        Family of a feature by term or column, or of all: "gaussian", "bernoulli", "categorical", "poisson",
        "exponential" or "gamma". By default bools, and numbers that are all 0 or 1, are bernoulli, labels and ``C()``
        categorical, other numbers gaussian. A bool, or what is bernoulli here, has 0 and 1, whichever of them occur. In
        a formula ``a:b`` of categories is one joint table over the crossed levels.
    multinomial : list of str or "all", optional
        Columns of counts that make one block, conditional on their sum.
    smoothing : float
        a >= 0: a pseudo-count for each cell of tables and multinomials; .5 on slopes of one table is Firth's. Levels
        that a categorical column or ``C(x, levels=)`` declares count without rows, too.
    unknown : {"raise", "missing"}
        What a level is, in rows to predict, that the rows of the fit did not have: an error, or a missing value.
    covariance : {"diag"}
        The only structure of naive Bayes; QDA and LDA have others.
    divisor : {"mle", "unbiased"}
        Variances of gaussian features divide sums of squares by the rows that have the feature, or by these less one
        (pooled: less K), as R's e1071. Likelihoods are those of the former.
    pooled : bool
        Gaussian features have one variance for all classes.
    freq_weights : (n,) array_like or str, optional
        How many equal observations each row stands for.
    weights : (n,) array_like or str, optional
        Sampling weights.
    missing : {"skip", "drop", "raise", "level", "none"}
        "skip" leaves out what is missing, and keeps the rest of the row; "level" makes missing a level of categories.

    References
    ----------
    Hand & Yu (2001), Idiot's Bayes: not so stupid after all?, International Statistical Review 69, 385-398.

    Examples
    --------
    >>> from glmclf import NaiveBayes, datasets
    >>> penguins = datasets.load("penguins")
    >>> res = NaiveBayes.from_formula("species ~ bill_length_mm + sex", penguins, reference="Gentoo").fit()
    >>> res.discriminant.params.round(3)
                      Adelie  Chinstrap
    Intercept         13.379     10.594
    bill_length_mm     0.462     -0.598
    bill_length_mm^2  -0.018      0.008
    sex[T.male]       -0.050     -0.050
    """

    _coding: ClassVar[dict[str, Any]] = {
        "reference": None,
        "priors": None,
        "prior_smoothing": 0.0,
        "families": None,
        "multinomial": None,
        "smoothing": 0.0,
        "unknown": "raise",
        "covariance": "diag",
        "divisor": "mle",
        "pooled": False,
    }
    _missing: ClassVar[str] = "skip"
    _results_class = NaiveBayesResults
    _kept: ClassVar[tuple[str, ...]] = (*GenerativeModel._kept, "dropped_const")
    _design: FeatureDesign | SparseFeatureDesign
    _takes_sparse: ClassVar[bool] = True

    def __init__(
        self,
        endog: Any,
        exog: Any,
        *,
        reference: Any = None,
        priors: Any = None,
        prior_smoothing: float = 0.0,
        families: Mapping[str, str] | str | None = None,
        multinomial: Sequence[str] | str | None = None,
        smoothing: float = 0.0,
        unknown: str = "raise",
        covariance: str = "diag",
        divisor: str = "mle",
        pooled: bool = False,
        offset: Any = None,
        freq_weights: Any = None,
        weights: Any = None,
        missing: str = "skip",
    ) -> None:
        keywords = {name: value for name, value in locals().items() if name in (*self._coding, *self._variables)}
        self._from_arrays(endog, exog, missing, keywords)

    # ------------------------------------------------------------------------------------------------- input
    def _read(self, formula, data, namespace, coding, **options) -> Any:
        check = partial(_check_domains, bool(coding["pooled"]))
        return read_features(formula, data, namespace=namespace, check=check, **self._reading(coding), **options)

    def _read_arrays(self, endog, exog, coding, **options) -> ReadTable:
        sparse = is_sparse(exog) or sparse_table(exog) is not None
        read = read_sparse_features if sparse else read_feature_arrays
        return read(endog, exog, **self._reading(coding), **options)

    @property
    def _sparse(self) -> bool:
        """Whether the features are columns of a scipy.sparse array."""
        return isinstance(self._design, SparseFeatureDesign)

    def _reading(self, coding: dict[str, Any]) -> dict[str, Any]:
        options = {name: coding[name] for name in ("families", "multinomial", "pooled")}
        smoothed = _number(coding["smoothing"], "smoothing", 0.0, MAX_SMOOTHING) > 0
        return {"response": self._coder(coding), "smoothed": smoothed, **options}

    def _split(self, keywords):
        _check_words({**self._coding, **keywords})
        return super()._split(keywords)

    def _coding_for(self, formula: str) -> dict[str, Any]:
        """Keywords for another formula: what they say of features that it takes out is taken out, too."""
        from glmclf.data.formula.parse import written_order

        coding = dict(super()._coding_for(formula))
        old, new = ({_parts(term) for term in written_order(text)} for text in (self.formula, formula))
        if isinstance(coding["families"], Mapping):
            coding["families"] = {k: v for k, v in coding["families"].items() if _parts(str(k)) not in old - new}
        if coding["multinomial"] not in (None, "all"):
            coding["multinomial"] = [c for c in coding["multinomial"] if _parts(code_of(c)) not in old - new] or None
        return coding

    def _columns(self, read: ReadTable) -> FeatureValues:
        assert read.values is not None
        return FeatureValues(read.values)

    def _columns_of(self, made: Any) -> FeatureValues:
        return made

    def _settle(self, keywords: dict[str, Any], lost: list[str]) -> None:
        super()._settle(keywords, lost)
        dropped = self._design.dropped
        self.dropped_const = None if dropped is None else dropped.name
        if self._sparse:
            self._ranges = None

    def _checked(self, options: dict[str, Any]) -> dict[str, Any]:
        checked = super()._checked(options)
        checked["smoothing"] = _number(options["smoothing"], "smoothing", 0.0, MAX_SMOOTHING)
        checked["families"] = _plain(options["families"], dict)
        checked["multinomial"] = _plain(options["multinomial"], list)
        return checked

    # ------------------------------------------------------------------------------------------------- names
    @property
    def features(self) -> list[Feature]:
        """Features of the model: name, family, levels and columns of each."""
        return self._design.features

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [feature.name for feature in self.features]

    @property
    def exog_names(self) -> list[str]:
        """Names of the constant and of the features' statistics, which are the regressors of the implied logit."""
        return [getattr(self, "dropped_const", None) or "Intercept", *self._design.xnames[1:]]

    @property
    @named
    def exog(self) -> ndarray:
        """Features side by side, (n, p): codes for levels, NaN where missing."""
        return self._rows.X.toarray()

    @property
    def _values(self) -> list[ndarray]:
        """Features of the rows of the fit, an array each."""
        X: Any = self._rows.X
        return X.values

    @property
    def _families(self) -> list[Family]:
        if isinstance(self._design, SparseFeatureDesign):
            return self._design.families
        return [_family(feature, self._options["pooled"], self._divisor) for feature in self.features]

    @property
    def _divisor(self) -> str:
        """Divisor of the variances; older files do not say it."""
        return self._options.get("divisor", "mle")

    @property
    def _feature_terms(self) -> dict[str, list[int]]:
        """Features of each term."""
        terms: dict[str, list[int]] = {}
        for j, feature in enumerate(self.features):
            terms.setdefault(feature.term, []).append(j)
        return terms

    def _fit_table(self) -> pd.DataFrame:
        if self._sparse:
            raise NotImplementedError(
                "this needs a table of all features, which is not made of scipy.sparse ones: fit to an array, "
                "exog.toarray()"
            )
        if self.data.table is not None:
            return super()._fit_table()
        r = self._rows
        columns: dict[str, Any] = {}
        for feature, v in zip(self.features, self._values):
            if feature.kind == "counts":
                columns |= {str(name): v[:, j] for j, name in enumerate(feature.levels or ())}
            elif feature.kind == "codes":
                levels = np.array([*(feature.levels or ()), None], dtype=object)
                columns[feature.name] = levels[v]
            else:
                columns[feature.name] = v
        labels = self._response.decode(self.endog)
        return pd.DataFrame({**columns, self.endog_names: labels}, index=r.index)

    # --------------------------------------------------------------------------------------------------- fit
    def _check_bias_reduction(self, wanted: str | None, cov_type: str) -> None:
        if wanted is not None:
            raise NotImplementedError(
                f"bias_reduction={wanted!r} of NaiveBayes is not available; smoothing=.5 removes the bias of the "
                "slopes of tables"
            )

    def _blocks(self, n_threads: int | None = None) -> Blocks:
        """The rows of the fit: features, side by side where they are one group, classes, weights."""
        return self._rows.blocks(n_threads=n_threads).map(partial(_side_by_side, grouped(self._families)))

    def _fit(self, cov_type: str, keywords, bias_reduction, collinear: str, n_threads) -> NaiveBayesResults:
        if collinear == "drop":
            raise NotImplementedError(
                'collinear="drop" is for LDA and QDA: NaiveBayes takes each feature alone, and leaves constant ones out'
            )
        if not self._rows.streamed and not self._sparse:  # the reader has checked these
            self._check_domains(self._values, self._rows.index)
        with np.errstate(over="ignore", invalid="ignore"):
            record = class_statistics(self._families, self._blocks(n_threads), self.J)
        self._check_units(record)
        fitted = self._estimate(record)
        self._warn_zero_cells(fitted)
        return NaiveBayesResults._fitted(self, fitted, cov_type, keywords, n_threads)

    def _estimate(self, record: Record) -> NaiveBayesFit:
        """Fit to the sufficient statistics of the rows."""
        smoothing = self._options["smoothing"]
        try:
            return fit_naive_bayes(self._families, record, smoothing=smoothing, **self._prior_options)
        except UnusableFeatures as unusable:
            raise self._unusable_error(unusable.defects, record) from None

    # ------------------------------------------------------------------------------------- errors and warnings
    def _check_domains(self, values: Sequence[ndarray], index: pd.Index, new: bool = False) -> None:
        """Refuse values that a family cannot have; the design checks sparse ones."""
        if self._sparse:
            return
        _check_domains(self._options["pooled"], self.features, values, index, new)

    def _check_domain(self, feature: int, values: ndarray, index: pd.Index) -> None:
        """Refuse values of one feature of new rows that its family cannot have."""
        _check_domains(self._options["pooled"], [self.features[feature]], [values], index, True)

    def _check_units(self, record: Record) -> None:
        """Refuse numbers whose squares, or those of coefficients, a float cannot hold."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            sd = np.concatenate([_spreads(f, s) for f, s in zip(grouped(self._families), record.statistics)], axis=1)
        large = ~(sd * MIN_SD <= 1).all(axis=0)
        small = ~large & (sd < MIN_SD).any(axis=0) & (sd.max(axis=0) < MIN_SD / MAX_SD_REST)
        for j in np.flatnonzero(small).tolist():  # too small, but not constant
            small[j] = self._varies(j, sd[:, j] < MIN_SD)
        if (large | small).any():
            names = quoted([self.feature_names[j] for j in np.flatnonzero(large | small)], MAX_NAMED)
            what = " or ".join(word for word, any_ in (("large", large.any()), ("small", small.any())) if any_)
            raise DataError(
                f"the values of {names} are too {what} for their squares and products (standard deviations within "
                f"classes from {MIN_SD:g} to {1 / MIN_SD:g}): change the units"
            )

    def _varies(self, feature: int, classes: ndarray) -> bool:
        """Whether a feature has different values within one of some classes."""
        K = self.J
        ends = self._rows.blocks().sum(lambda X, y, *_: class_ends(X.values[feature][:, None], y, None, K))
        return bool((ends.low < ends.high)[classes].any())

    def _unusable_error(self, defects: list[Defect], record: Record) -> EstimationError:
        """Error of the first kind of defect, with its features and classes and what to do."""
        reason = defects[0].reason
        same = [d for d in defects if d.reason == reason]
        names = list(dict.fromkeys(self.feature_names[d.feature] for d in same))
        classes = list(dict.fromkeys(self._classes[d.klass] for d in same if d.klass is not None))
        what, where = quoted(names), ", ".join(repr(c) for c in classes)
        if reason == "no observed value in a class":
            return EstimationError(
                f"{what} is never observed in class {where}: leave the feature out, or the class with subset="
            )
        if reason == "zero in a whole class":
            return EstimationError(
                f"{what} is 0 in every row of class {where}, where an exponential rate is infinite: leave it out"
            )
        constant = self._constant_everywhere(same)
        if constant:
            message = f"{quoted(constant)} is constant within every class: drop it"
            return SingularCovarianceError(message, constant, [])
        return SingularCovarianceError(f"{self._constant_in(names, classes)}", names, classes)

    def _constant_everywhere(self, defects: list[Defect]) -> list[str]:
        """Features that are constant in every class."""
        found: dict[int, int] = {}
        for d in defects:
            found[d.feature] = found.get(d.feature, 0) + (self.J if d.klass is None else 1)
        return [self.feature_names[j] for j, n in found.items() if n == self.J]

    def _constant_in(self, names: list[str], classes: list[Any]) -> str:
        """Features that are constant in some classes, one of which may be a single row."""
        alone = [c for c in classes if self._row_counts[self._classes.index(c)] == 1]
        gaussian = {f.family for f in self.features if f.name in names} == {"gaussian"}
        pool = ["use pooled=True, one variance for all classes"] if gaussian else []
        if alone:
            ways = ["leave the class out with subset=", *pool]
            return f"class {alone[0]!r} has 1 row, which gives {quoted(names)} no variance: {', or '.join(ways)}"
        ways = ["drop it", *pool, f'make it a table with families={{"{names[0]}": "categorical"}}']
        where = ", ".join(repr(c) for c in classes)
        return f"{quoted(names)} is constant in class {where}, which leaves it no variance: {', or '.join(ways)}"

    def _warn_zero_cells(self, fitted: NaiveBayesFit) -> None:
        """Warn once of probabilities that are estimated as 0, by feature, level and class."""
        cells = fitted.zero_cells()
        if not cells:
            return
        parts = []
        for z in cells[:MAX_NAMED]:
            feature = self.features[z.feature]
            level = " > 0" if z.level is None else f" = {_level(feature, z.level)}"
            parts.append(f"{feature.name}{level} in class {self._classes[z.klass]!r}")
        more = f", and {len(cells) - MAX_NAMED} more" if len(cells) > MAX_NAMED else ""
        poisson = all(z.level is None for z in cells)
        advice = "Leave the feature out." if poisson else "Use smoothing=.5."
        warn(
            f"never seen: {'; '.join(parts)}{more}. The estimate is 0, its log -inf without a standard error, and a "
            f"row that has it cannot be of that class. {advice}",
            ZeroCellWarning,
        )

    # ------------------------------------------------------------------------------------------ for the summary
    def _modelled(self) -> list[tuple[str, str]]:
        kinds: dict[str, list[str]] = {}
        for feature in self.features:
            kinds.setdefault(feature.family, []).append(feature.name)
        words = [f"{family}: {', '.join(_shortened(names))}" for family, names in kinds.items()]
        facts = [*super()._modelled(), ("Families:", "; ".join(words))]
        if self._divisor != "mle":
            facts.append(("Variances:", "unbiased (pooled: N - K)" if self._options["pooled"] else "unbiased (n - 1)"))
        if self._options["smoothing"]:
            facts.append(("Smoothing:", f"{self._options['smoothing']:g}"))
        if self._design.missing in ("skip", "level"):
            how = "factor dropped" if self._design.missing == "skip" else "a level of categories"
            facts.append(("Missing:", how))
        return facts

    def _summary_notes(self) -> list[str]:
        notes = super()._summary_notes()
        if self.dropped_const:
            notes.append(f'The constant column "{self.dropped_const}" was left out of the features.')
        return notes


def _parts(term: str) -> frozenset[str]:
    """Factors of a term, without the spaces of their code."""
    return frozenset("".join(term.split()).split(":"))


def _plain(option: Any, kind: type) -> Any:
    """A collection that an option holds, in a plain type; None and words as they are."""
    return option if option is None or isinstance(option, str) else kind(option)


def _check_words(options: Mapping[str, Any]) -> None:
    """Refuse words that are no option, before the data are read."""
    covariance, unknown = options["covariance"], options["unknown"]
    if covariance in ("full", "spherical"):
        raise NotImplementedError(
            f'covariance="{covariance}" is not naive Bayes, which takes features as independent ("diag"): use LDA or '
            "QDA"
        )
    if covariance != "diag":
        raise ValueError(f'covariance={covariance!r}: NaiveBayes has "diag" only')
    check_choice("unknown", unknown, ("raise", "missing"))
    check_choice("divisor", options["divisor"], ("mle", "unbiased"))
    check_truth("pooled", options["pooled"])


def _family(feature: Feature, pooled: bool, divisor: str = "mle") -> Family:
    """The family of a feature, for the arrays of the core."""
    if feature.family == "gaussian":
        return GaussianFamily(pooled=pooled, divisor=divisor)
    if feature.family == "categorical":
        return Categorical(feature.cells)
    if feature.family == "multinomial":
        return MultinomialFamily(feature.cells)
    return FAMILY_CLASSES[feature.family]()


def _side_by_side(
    groups: Sequence[Family], X: FeatureValues, y: ndarray, trials: None, offset: None, weights: ndarray | None
) -> tuple:
    return *packed(groups, X.values), y, weights


def _check_domains(
    pooled: bool, features: Sequence[Feature], values: Sequence[ndarray], index: pd.Index, new: bool = False
) -> None:
    """Refuse values that a family cannot have; the reader has checked that numbers are finite."""
    for feature, v in zip(features, values):
        family = _family(feature, pooled)
        if family.name == "categorical" or (family.name == "gaussian" and (not new or np.isfinite(v.sum()))):
            continue
        for rows, reason in family.violations(v)[:1]:
            found = np.unique(v[rows][OUTSIDE[reason](v[rows])])
            mask = np.zeros(len(v), dtype=bool)
            mask[rows] = True
            raise DataError(
                f'"{feature.name}" is {family.name}, but has {reason} in {len(rows)} of {len(v)} rows '
                f"({row_labels(mask, index)}): {quoted(found.tolist(), 4)}. {_instead(family.name, reason, new)}"
            )


def _spreads(family: Family, s: Any) -> ndarray:
    """Standard deviations of the fitted distributions, (K, p); 1 for tables, and for classes without a value."""
    n = np.asarray(s.n, dtype=float).reshape(len(s.n), -1)
    if family.kind is SparseSums:  # whole numbers
        return np.ones(n.shape)
    if family.name == "gaussian":
        sd = np.sqrt(s.squares / n)
    elif family.name == "gamma":  # nearly mean / sqrt(shape)
        sd = (s.mean * np.sqrt(2 * s.excess / s.n))[:, None]
    elif family.name == "exponential":
        sd = s.sums / n
    elif family.name == "poisson":
        sd = np.sqrt(s.sums / n)
    else:
        return np.ones((len(n), 1))
    return np.where(n > 0, sd, 1.0)


def _level(feature: Feature, level: int) -> str:
    """Name of a level in messages."""
    value = (feature.levels or (0, 1))[level]
    return feature.word(level) if isinstance(value, tuple) else repr(value)


def _instead(family: str, reason: str, new: bool) -> str:
    """Advice on values outside a family's domain."""
    if family == "bernoulli":
        return "It was 0 or 1 in all rows of the fit." if new else "Choose another family with families=."
    if reason == "infinite values" or family == "multinomial" or new:
        return "Mend these values, or make them missing."
    return 'Mend these values, or choose another family with families=, as "gaussian".'


def _shortened(names: Iterable[str], most: int = 6) -> list[str]:
    names = list(names)
    return names if len(names) <= most else [*names[:most], f"... {len(names) - most} more"]
