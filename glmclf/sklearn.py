"""Models as a scikit-learn estimator, for pipelines, searches and cross-validation.

Needs scikit-learn (``pip install 'glmclf[sklearn]'``).
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray
from scipy import sparse

import glmclf
from glmclf import registry
from glmclf.checks import check_choice
from glmclf.data.design.arrays import is_sparse, named_sparse
from glmclf.data.formula.parse import left_columns
from glmclf.data.reading.features import code_of
from glmclf.data.table.frame import as_frame, assigned
from glmclf.errors import DataError
from glmclf.models.binary import BinaryModel

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data
except ImportError as error:
    raise ImportError("glmclf.sklearn needs scikit-learn 1.6 or later: pip install 'glmclf[sklearn]'") from error

__all__ = ["FormulaClassifier"]

NO_OPTIONS = ("self", "disp", "alphas")
LINEAR = (*registry.names(*registry.REGRESSIONS), "LDA")


class FormulaClassifier(ClassifierMixin, BaseEstimator):
    """Scikit-learn classifier with any model of the package, described by a formula.

    Parameters
    ----------
    model : str or class
        The lower-case name, as in `glmclf.formula.api`, or the class. Binary models, "logit" and its like, are of two
        classes; "mnlogit", "lda", "qda" and "naivebayes" take several.
    formula : str, optional
        A patsy formula, ``"y ~ x1 + C(g)"``, or its right side alone. By default all columns, each as it is. Columns of
        arrays are called x0, x1, ...
    weight_type : {"weights", "freq_weights"}
        What `sample_weight` of `fit` is: sampling weights (any numbers; robust standard errors), or how many equal rows
        each row stands for (whole numbers). The predictions are the same.
    class_weight : {"balanced"} or dict, optional
        Factors of the rows' sampling weights by class, a dict from labels (1 for those not in it). "balanced": n / (K
        n_k) for the n_k of n rows of class k of K, counted with `sample_weight`, so that all classes weigh alike:
        probabilities are then those of a population in which they are equally frequent.
    functions : dict, optional
        Functions that the formula calls beside numpy's, patsy's and glmclf's, by name. Variables of the caller are not
        looked up.
    trusted : bool
        Whether the formula may run any Python. False is for formulas from outside: they may call the functions above
        and nothing else, as of `from_formula`.
    **options
        Keywords of the model and of its `fit`, or with ``alpha=`` other than None of `fit_regularized`: ``event=``,
        ``bias_reduction="firth"``, ``alpha=0.1``, ``priors=``, ``shrinkage=``, ``cov_type=``, ... They are parameters
        of the estimator that `set_params` and searches change. ``missing=`` is "raise" by default, and NaiveBayes' own.

    Attributes
    ----------
    results_ : Results
        The fit, with all its statistics: ``results_.summary()``.
    formula_ : str or None
        The formula that was fitted; of scipy.sparse arrays none. Labels beside X have a name that no column of X and no
        option has.
    classes_ : (K,) ndarray
        Labels, sorted; columns of probabilities are in this order. One whose rows have no weight has probability 0.
    n_features_in_ : int
        Columns of X, without the response.
    feature_names_in_ : ndarray
        Their names, of tables.

    Notes
    -----
    The model of two classes is of ``event=``, by default of the second class. Where the classes are separated by the
    regressors, maximum likelihood estimates are infinite, and rows whose probability is not determined raise when they
    are predicted: give ``alpha=`` or ``bias_reduction="firth"``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from glmclf import datasets
    >>> from glmclf.sklearn import FormulaClassifier
    >>> penguins = datasets.load("penguins").dropna()
    >>> X, y = penguins.drop(columns="sex"), penguins["sex"]
    >>> classifier = FormulaClassifier("logit", "poly(body_mass_g, 2) + bill_depth_mm")
    >>> cross_val_score(classifier, X, y, cv=3, scoring="roc_auc").round(2)
    array([0.94, 0.98, 0.95])
    >>> classifier.fit(X, y).results_.odds_ratios().loc["bill_depth_mm", "odds ratio"].round(2)
    np.float64(7.91)
    """

    def __init__(
        self,
        model: str | type = "logit",
        formula: str | None = None,
        *,
        weight_type: str = "weights",
        class_weight: str | Mapping[Any, float] | None = None,
        functions: Mapping[str, Callable] | None = None,
        trusted: bool = True,
        **options: Any,
    ) -> None:
        self.model, self.formula, self.weight_type, self.functions = model, formula, weight_type, functions
        self.class_weight = class_weight
        self.trusted = trusted
        self._options = options

    # ------------------------------------------------------------------------------------------------ parameters
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator, options among them.

        Parameters
        ----------
        deep : bool
            No parameter is an estimator, so that this changes nothing.

        Returns
        -------
        dict
        """
        return {**super().get_params(deep), **self._options}

    def set_params(self, **params: Any) -> FormulaClassifier:
        """Change parameters; `fit` refuses those that the model does not know.

        Parameters
        ----------
        **params
            As those of the class.

        Returns
        -------
        FormulaClassifier
            The estimator itself.
        """
        own = self._get_param_names()
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
            else:
                self._options = {**self._options, name: value}
        return self

    formula_: str | None
    _responses: Sequence[str] = ()  # variables of the formula's left side, where it is evaluated in the table

    def _class(self) -> type[Any]:
        """Class of the model."""
        if isinstance(self.model, str) and self.model.lower() in registry.LOWER_CASE:
            return registry.model_class(registry.LOWER_CASE[self.model.lower()])
        if isinstance(self.model, type) and hasattr(self.model, "_from_formula"):
            return self.model
        known = ", ".join(f'"{name}"' for name in registry.LOWER_CASE)
        raise ValueError(f"model={self.model!r}: choose {known} or a class of glmclf")

    def _split(self, cls: type[Any]) -> tuple[dict[str, Any], str, dict[str, Any]]:
        """Split the options: keywords of the model, the name of the method that fits it, and keywords of the method."""
        options, method = dict(self._options), "fit"
        if options.get("alpha") is not None:
            method = "fit_regularized"
        elif hasattr(cls, "fit_regularized"):
            options.pop("alpha", None)
        if not hasattr(cls, method):
            raise TypeError(f"{cls.__name__} has no penalty alpha=; LDA and QDA have shrinkage= and ridge=")
        of_model = {*cls._coding, *cls._variables, "missing"}
        of_fit = {*inspect.signature(getattr(cls, method)).parameters} - {*NO_OPTIONS}
        unknown = {*options} - of_model - of_fit
        if unknown:
            names, have = ", ".join(map(repr, sorted(unknown))), ", ".join(sorted(of_model | of_fit))
            raise TypeError(f"{cls.__name__} and its {method}() take no keyword {names}; they have {have}")
        if not issubclass(cls, glmclf.NaiveBayes):
            options.setdefault("missing", "raise")
        made = {name: options.pop(name) for name in list(options) if name in of_model}
        return made, method, options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(ValueError):
            cls = self._class()
            tags.classifier_tags.multi_class = not issubclass(cls, BinaryModel)
            takes = self._options.get("missing", "skip") in ("skip", "level")
            tags.input_tags.allow_nan = issubclass(cls, glmclf.NaiveBayes) and takes
            counts = not {"multinomial", "families"}.isdisjoint(self._options)
            tags.input_tags.sparse = self._takes_sparse() and (counts or not issubclass(cls, glmclf.NaiveBayes))
        return tags

    # ------------------------------------------------------------------------------------------------------- fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FormulaClassifier:
        """Fit the model.

        Parameters
        ----------
        X : DataFrame (any that narwhals reads), (n, k) array_like or scipy.sparse array
            The variables of the formula, by name. Without formula also a scipy.sparse array, whose columns are x0, x1,
            ..., as those of other arrays: of regressions any, which get an intercept; of "naivebayes" counts and 0/1
            features, with ``multinomial="all"`` or ``families=``.
        y : (n,) array_like, optional
            Labels. By default the left side of the formula, evaluated in X.
        sample_weight : (n,) array_like, optional
            Weights of the rows, of the kind `weight_type`.

        Returns
        -------
        FormulaClassifier
            The estimator itself.

        Raises
        ------
        TypeError
            An option that neither the model nor its fit has.
        ValueError
            Data that the model cannot use, or a formula.
        """
        cls = self._class()
        keywords, method, options = self._split(cls)
        weights = self._weights(keywords, sample_weight)
        if self._takes_sparse() and is_sparse(X):
            return self._fit_sparse(cls, X, y, keywords, weights, method, options)
        table, labels = self._table(X, y, reset=True, allow_nan=keywords.get("missing") != "raise")
        if sample_weight is not None:
            check_consistent_length(table, sample_weight)
        if labels is not None:
            self._check_labels(labels, cls)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            weights = self._by_class(codes, weights)
            name = self._response_name(y, table.columns, keywords | options)
            table = assigned(table, {name: pd.Categorical.from_codes(codes, categories=self.classes_)})
            self.formula_ = f"{name} ~ {self._right_side(table.columns.drop(name))}"
        else:
            self.formula_ = str(self.formula)
            if self.class_weight is not None:
                raise ValueError("class_weight= weights labels: give them beside the table, fit(X, y)")
        functions = dict(self.functions or {})
        made = cls._from_formula(self.formula_, table, functions, trusted=self.trusted, **keywords, **weights)
        self.results_ = getattr(made, method)(**options)
        if labels is None:
            self.classes_ = np.unique(np.asarray(self._levels(), dtype=None))
        return self

    def _takes_sparse(self) -> bool:
        """Whether scipy.sparse arrays are fitted as they are: by regressions, and by NaiveBayes, of counts and 0/1
        features."""
        return self.formula is None and not issubclass(self._class(), (glmclf.LDA, glmclf.QDA))

    def _fit_sparse(
        self,
        cls: type[Any],
        X: Any,
        y: Any,
        keywords: dict[str, Any],
        weights: dict[str, ndarray],
        method: str,
        options: dict[str, Any],
    ) -> FormulaClassifier:
        """Fit to the columns of a scipy.sparse array."""
        if y is None:
            raise ValueError("This FormulaClassifier estimator requires y to be passed, but the target y is None")
        given = y
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
        for own in weights.values():
            check_consistent_length(y, own)
        self._check_labels(y, cls)
        self.classes_, codes = np.unique(y, return_inverse=True)
        columns = _columns_of_array(X)
        name = self._response_name(given, columns, keywords | options)
        labels = pd.Series(pd.Categorical.from_codes(codes, categories=self.classes_), name=name)
        self.formula_ = None
        constant = [] if issubclass(cls, glmclf.NaiveBayes) else ["Intercept"]
        rows = named_sparse(self._with_constant(cls, X), [*constant, *columns])
        made = cls(labels, rows, **keywords, **self._by_class(codes, weights))
        self.results_ = getattr(made, method)(**options)
        return self

    def _with_constant(self, cls: type[Any], X: Any) -> Any:
        """Rows of arrays with the constant that regressions have."""
        if issubclass(cls, glmclf.NaiveBayes):
            return X
        return sparse.hstack([np.ones((X.shape[0], 1)), sparse.csr_array(X)], format="csr")

    def _refuse_sparse(self, cls: type[Any], X: Any) -> None:
        """Refuse a scipy.sparse array where none is fitted."""
        if not is_sparse(X):
            return
        why = f"{cls.__name__} takes none" if self.formula is None else "its columns have no names for the formula"
        if hasattr(self, "results_") and self._takes_sparse():
            why = "the model was fitted to an array or a table"
        raise DataError(
            f"X is a scipy.sparse array, and {why}: pass an array, X.toarray(), or a table with names, "
            "pd.DataFrame.sparse.from_spmatrix(X, columns=names). Without a formula "
            f"{registry.listed(registry.REGRESSIONS)} (alpha= is their ridge or lasso), and NaiveBayes of counts, are "
            "fitted to it as it is"
        )

    def _weights(self, keywords: dict[str, Any], sample_weight: Any) -> dict[str, ndarray]:
        """Keyword in which the model takes `sample_weight`."""
        check_choice("weight_type", self.weight_type, ("weights", "freq_weights"))
        if self.class_weight is not None:
            _refuse_both("class_weight", keywords)
            if self.weight_type == "freq_weights" and sample_weight is not None:
                raise ValueError(
                    'class_weight= makes sampling weights, and weight_type="freq_weights" numbers of rows: use one'
                )
        if sample_weight is None:
            return {}
        _refuse_both("sample_weight", keywords)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.ndim != 1:
            raise ValueError(f"sample_weight has shape {weights.shape}: give one weight a row")
        if not weights.any():
            raise ValueError("sample_weight is zero in all rows: no weight is left")
        return {self.weight_type: weights}

    def _by_class(self, codes: ndarray, weights: dict[str, ndarray]) -> dict[str, ndarray]:
        """Keyword for the weights of rows, with the factors of their classes."""
        if self.class_weight is None:
            return weights
        own = weights.get("weights", np.ones(len(codes)))
        totals = np.bincount(codes, own, minlength=len(self.classes_))
        if isinstance(self.class_weight, Mapping):
            strange = [label for label in self.class_weight if label not in self.classes_.tolist()]
            if strange:
                raise ValueError(f"class_weight= names {strange[0]!r}; the classes are {self.classes_.tolist()}")
            factors = np.array([float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()])
            if not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ValueError(f"class_weight={dict(self.class_weight)!r}: numbers from 0 on")
        else:
            check_choice("class_weight", self.class_weight, ("balanced",))
            there = totals > 0
            factors = np.divide(totals.sum(), there.sum() * totals, out=np.ones(len(totals)), where=there)
        return {"weights": own * factors[codes]}

    def _table(self, X: Any, y: Any, reset: bool, allow_nan: bool) -> tuple[pd.DataFrame, ndarray | None]:
        """Convert variables to a table, and labels to an array; note or check names and numbers of columns."""
        self._refuse_sparse(self._class(), X)
        own = reset and y is None
        if own and (self.formula is None or "~" not in self.formula):
            raise ValueError(
                "This FormulaClassifier estimator requires y to be passed, but the target y is None. Pass y, or a "
                "formula with a left side whose variables are in X"
            )
        labels = None if y is None else column_or_1d(y, warn=True)
        if not _is_table(X):
            finite: Any = "allow-nan" if allow_nan else True
            given = {} if y is None else {"y": y}
            checked = validate_data(self, X, **given, reset=reset, ensure_all_finite=finite, dtype="numeric")
            array = checked[0] if given else checked
            names = getattr(self, "feature_names_in_", _columns_of_array(array))
            return pd.DataFrame(array, columns=names), labels
        table = as_frame(X)
        if reset:
            self._responses = [c for c in table if c in self._left_side()] if own else []
        inside = [c for c in self._responses if c in table]
        features = table.drop(columns=inside) if inside else X
        validate_data(self, features, reset=reset, skip_check_array=True)
        if labels is not None:
            check_consistent_length(table, labels)
        if not all(isinstance(name, str) for name in table):
            table = table.set_axis(_columns_of_array(table), axis=1)
        return table, labels

    def _left_side(self) -> set[str]:
        """Variables of the formula's left side."""
        return left_columns(str(self.formula))

    def _check_labels(self, y: ndarray, cls: type[Any]) -> None:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if issubclass(cls, BinaryModel) and kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. {cls.__name__} is a model "
                'of two classes; model="mnlogit", "lda", "qda" and "naivebayes" take several'
            )

    def _response_name(self, y: Any, columns: Iterable[str], options: dict[str, Any]) -> str:
        """Name for labels that are given beside the table: the name in the formula or of y, where it means nothing
        else.

        Options name columns, too (`offset`, `groups`): no word of theirs and no column of X is taken.
        """
        left = str(self.formula or "").partition("~")[0].strip()
        texts = (self._right_side(columns), *_texts(options))
        taken = {*columns, *(word for text in texts for word in re.findall(r"\w+", text))}
        for name in (left, getattr(y, "name", None), "y", "label"):
            if isinstance(name, str) and name.isidentifier() and code_of(name) == name and name not in taken:
                return name
        return next(name for i in itertools.count() if (name := f"y{i}") not in taken)

    def _right_side(self, columns: Any) -> str:
        """Right side of the formula."""
        if self.formula is None:
            return " + ".join(map(code_of, columns))
        return (self.formula.partition("~")[2] if "~" in self.formula else self.formula).strip()

    # --------------------------------------------------------------------------------------------------- predict
    def _levels(self) -> list[Any]:
        """Labels in the order of the model's probabilities."""
        response = self.results_.model._response
        if getattr(response, "kind", "classes") not in ("binary", "classes"):
            raise ValueError(f"{self.formula_}: counts and fractions are no labels of rows; fit the model itself")
        return list(response.levels)

    def _log_p(self, X: Any) -> tuple[ndarray, ndarray]:
        """Log probabilities and probabilities of the classes, (n, K)."""
        check_is_fitted(self, "results_")
        allow_nan = self.__sklearn_tags__().input_tags.allow_nan
        if self.formula_ is None:
            rows = X if _is_table(X) else validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric")
            rows = self._with_constant(type(self.results_.model), rows)
        else:
            rows, _ = self._table(X, None, reset=False, allow_nan=allow_nan)
        log_p, p, lacking = self._judged(rows)
        lost = np.flatnonzero(np.isnan(log_p).any(axis=1) | (lacking & (not allow_nan)))
        if len(lost):
            raise DataError(
                f"{len(lost)} of {len(log_p)} rows have no prediction (the first is row {lost[0]}): a variable is "
                "missing (NaN), or the classes are separated and the probability is not determined. Impute the values; "
                'against separation give alpha= or bias_reduction="firth"'
            )
        at = self._places()
        whole = np.full((2, len(log_p), len(self.classes_)), np.array([-np.inf, 0.0])[:, None, None])
        whole[0][:, at], whole[1][:, at] = log_p, p
        return whole[0], whole[1]

    def _judged(self, table: Any) -> tuple[ndarray, ndarray, ndarray]:
        """Log probabilities and probabilities of the model's levels, and a mask of rows that lack a feature."""
        res = self.results_
        if not hasattr(res, "_n_missing"):
            log_p, p = res._log_p(table, None)[:2]
            return log_p, p, np.zeros(len(log_p), dtype=bool)
        values, _ = res._values(table)
        log_p = res._log_posterior(values)
        return log_p, np.exp(log_p), res._n_missing(values) > 0

    def _places(self) -> list[int]:
        """Places of the model's levels among the labels; a class whose rows have no weight is no level."""
        labels = self.classes_.tolist()
        return [labels.index(level) for level in self._levels()]

    def predict(self, X: Any) -> ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : DataFrame or (n, k) array_like
            As in `fit`.

        Returns
        -------
        (n,) ndarray
            Labels.
        """
        log_p, _ = self._log_p(X)
        return self.classes_[log_p.argmax(axis=1)]

    def predict_proba(self, X: Any) -> ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : DataFrame or (n, k) array_like
            As in `fit`.

        Returns
        -------
        (n, K) ndarray
            In the order of `classes_`.

        Raises
        ------
        DataError
            A variable is missing, or separation leaves a probability undetermined.
        """
        return self._log_p(X)[1]

    def predict_log_proba(self, X: Any) -> ndarray:
        """Logarithms of the probabilities, exact where the probabilities themselves are 0 or 1 to rounding.

        Parameters
        ----------
        X : DataFrame or (n, k) array_like
            As in `fit`.

        Returns
        -------
        (n, K) ndarray
            In the order of `classes_`.
        """
        return self._log_p(X)[0]

    def decision_function(self, X: Any) -> ndarray:
        """Log-odds of the second class, log p_1 - log p_0, of every link; of several classes log p_k.

        Parameters
        ----------
        X : DataFrame or (n, k) array_like
            As in `fit`.

        Returns
        -------
        (n,) or (n, K) ndarray
            The prediction is the second class where it is positive; of several classes, that of the largest.
        """
        log_p, _ = self._log_p(X)
        return log_p[:, 1] - log_p[:, 0] if log_p.shape[1] == 2 else log_p

    # ---------------------------------------------------------------------------------------------- coefficients
    @property
    def coef_(self) -> ndarray:
        """Coefficients of the design's columns, (1, k) of two classes, (K, k) of several; zero for the reference.

        Of regressions, and of the logit that LDA implies. Columns are those of the formula,
        ``results_.model.exog_names`` without the intercept, which are features only without a formula.
        """
        return self._linear()[1:].T

    @property
    def intercept_(self) -> ndarray:
        """Intercepts, (1,) or (K,); -inf of a class whose rows had no weight."""
        return self._linear()[0]

    def _linear(self) -> ndarray:
        """Intercept and slopes, (1 + k, 1) of two classes or (1 + k, K)."""
        if "results_" not in vars(self):
            raise AttributeError("coef_ and intercept_ are there after fit()")
        res = self.results_
        kind = type(res.model).__name__
        if kind not in LINEAR:
            raise AttributeError(f"{kind} has no linear coefficients: see results_.params")
        res = res.discriminant if kind == "LDA" else res
        params = pd.DataFrame(res.params)
        if res._omitted is not None:
            params = params.mask(res._omitted.reshape(params.shape, order="F"), 0.0)
        params = params.reindex(["Intercept", *params.index.drop("Intercept", errors="ignore")], fill_value=0.0)
        if len(self.classes_) == 2 and not isinstance(res.params, pd.DataFrame):
            return self._signed(params.to_numpy(), kind)
        labels, at = self.classes_.tolist(), self._places()
        values = np.zeros((len(params), len(labels)))
        values[0, [k for k in range(len(labels)) if k not in at]] = -np.inf  # probability 0
        levels = params.columns if isinstance(res.params, pd.DataFrame) else [res.model._equations[0]]
        for level, column in zip(levels, params.to_numpy().T, strict=True):
            values[:, labels.index(level)] = column
        return values if len(labels) > 2 else values[:, [1]] - values[:, [0]]

    def _signed(self, values: ndarray, kind: str) -> ndarray:
        """Coefficients with the sign of the second class as the event, whichever event the model has."""
        if self._levels()[1] == self.classes_[1]:
            return values
        link = getattr(self.results_.model, "link", None)
        if link is not None and not link.symmetric:
            raise AttributeError(f"{kind} of event={self.classes_[0]!r} is not linear in the other class")
        return -values


def _refuse_both(name: str, keywords: Mapping[str, Any]) -> None:
    """Refuse weights of the estimator beside weights among the model's keywords."""
    if {"weights", "freq_weights"} & {*keywords}:
        raise ValueError(f"{name}= and weights= or freq_weights= were both given: use one")


def _texts(value: Any) -> Iterator[str]:
    """Iterate over all strings in the value of an option."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from _texts(each)


def _columns_of_array(X: Any) -> list[str]:
    """Names of columns that have none: x0, x1, ..."""
    return [f"x{i}" for i in range(X.shape[1])]


def _is_table(X: Any) -> bool:
    """Whether X has columns with names."""
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "shape"))
