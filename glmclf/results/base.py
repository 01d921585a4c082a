"""Base class of results: summary, information criteria, other covariances, files, and fits without their data."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy import ndarray

import glmclf
from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.data.reading.open_source import by_part
from glmclf.data.table.frame import as_frame, assigned
from glmclf.inference.covariance.wording import documents_covariances
from glmclf.results import saving
from glmclf.results.requires import Kind, Needs, caller_of, is_of, requires
from glmclf.results.tables import frames
from glmclf.results.wald import WaldInference

if TYPE_CHECKING:
    from glmclf.results.tables.render import Summary


class row_property(cached_property):
    """Cached quantity with one entry a row; `remove_data` drops it."""


def times_of(rows: Any, frequency: bool) -> ndarray:
    """Number of observations that each row stands for, (n,)."""
    if rows.weights is None or not frequency:
        return np.ones(len(rows), dtype=int)
    return rows.weights.astype(int)


def codes_of_clusters(model: Any, groups: Any, what: str) -> Any:
    """Clusters of the rows by one grouping; `what` is what wants them, in messages."""
    found = model._groups(groups)
    if len(found.codes) > 1:
        raise NotImplementedError(f"{what} draws the clusters of one grouping; there are {' and '.join(found.names)}")
    if found.codes[0].max() < 1:
        raise ValueError(f"{what}: {found.names[0]} has one group only, and two are needed at least")
    return found.codes[0]


class Results(WaldInference):
    """Base class of results: summary, information criteria, other covariances, save and load, remove_data."""

    _group_names: list[str]
    _options: Mapping[str, Any] = MappingProxyType({})  # of the fit, as they were given
    _facts: ClassVar[tuple[str, ...]] = ()

    converged: bool

    def _as_dict(self) -> dict[str, Any]:
        """Content of the file that `save` writes, as a dict; subclasses add their estimates."""
        return {
            "format": "glmclf",
            "version": saving.FORMAT,
            "model": self.model._as_dict(),
            "covariance": self._cov.to_dict(self._group_names),
            "facts": {name: getattr(self, name) for name in self._remembered},
        }

    def _fit_header(self) -> list[tuple[str, str]]:
        """Facts about the fit for the summary."""
        pairs = zip(self._group_names, self._cov.clusters, strict=True)
        found = ", ".join(f"{count} ({name})" for name, count in pairs)
        return [("Clusters:", found)] if found else []

    @property
    def _said(self) -> str:
        model = self.model
        end = "converged" if self.converged else "did NOT converge"
        return f"{type(model).__name__}: {model._said}\n llf {self.llf:#.5g}, {end}, covariance {self.cov_type}"

    @property
    @requires()
    def llf(self) -> float:
        """Log-likelihood."""
        raise NotImplementedError

    @property
    @requires()
    def nobs(self) -> float:
        """Rows, or the sum of the frequency weights."""
        return self.model.nobs

    @property
    def _k_counted(self) -> float:
        """Number of parameters that information criteria count."""
        raise NotImplementedError

    @property
    def _regularised(self) -> bool:
        """Whether the estimate is regularised, so that it differs from the maximum of the likelihood."""
        return False

    @property
    def _short(self) -> bool:
        """Whether the fit did not reach the maximum of the likelihood."""
        return False

    @property
    def _has_bic(self) -> bool:
        """Whether BIC is known; of a penalised fit it counts effective parameters."""
        return True

    @property
    @requires()
    def aic(self) -> float:
        """Akaike's criterion, -2 llf + 2 p; NaN for a pseudo-likelihood and a fit that did not converge.

        Of a generative model it is that of the joint likelihood, which compares models of the same features, never a
        generative model with Logit or MNLogit.
        """
        return self.info_criteria("aic")

    @property
    @requires()
    def bic(self) -> float:
        """Schwarz's criterion, -2 llf + p log(nobs).

        NaN for a pseudo-likelihood, a regularised fit and one that did not converge. Of a generative model it is that
        of the joint likelihood.
        """
        return self.info_criteria("bic")

    @requires()
    def info_criteria(self, crit: str, dk_params: float = 0) -> float:
        """AIC or BIC with `dk_params` more parameters counted.

        Parameters
        ----------
        crit : {"aic", "bic"}
        dk_params : float

        Returns
        -------
        float
            NaN for a pseudo-likelihood, and where the fit ended short of the maximum; BIC also of a regularised fit of
            a generative model. Of a penalised fit parameters are effective ones.
        """
        check_choice("crit", crit, ("aic", "bic"))
        p = self._k_counted + dk_params
        penalty = {"aic": 2.0 * p, "bic": p * np.log(float(self.nobs))}
        if self.model._pseudo or self._short or (crit == "bic" and not self._has_bic):
            return np.nan
        return float(-2.0 * self.llf + penalty[crit])

    @requires(Needs.MAXIMUM, Needs.UNCONSTRAINED, Needs.ROWS)
    def refit(self, formula: str, *, eval_env: int = 0) -> Self:
        """Fit of another formula to the rows of this fit, with its options: R's ``update(m, . ~ . - x)``.

        Nested models compare on the same rows only: where the variables that are left out have missing values, a fit of
        the smaller formula to the table would have more rows.

        Parameters
        ----------
        formula : str
            A formula, in which "." stands for the left or right side of this one: ``". ~ . - x + z"``.
        eval_env : int
            How many callers up functions and variables are looked up that this formula does not have.

        Returns
        -------
        Results
            Of the same class: the model with its offset, weights, trials, event or reference and other keywords, of
            features (`families`, `multinomial`, a matrix of `target`) those of features that it has; the fit with its
            options and covariance, but from its own start.

        Raises
        ------
        DataError
            A model of arrays.
        MissingDataError
            A variable of the new formula is missing in a row of the fit: fit the larger formula first, and refit to
            the smaller one.

        See Also
        --------
        glmclf.compare : Criteria and tests of fits of the same rows.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> penguins = datasets.load("penguins")
        >>> res = Logit.from_formula("species == 'Gentoo' ~ bill_length_mm + sex", penguins).fit()
        >>> small = res.refit(". ~ . - sex")
        >>> int(small.nobs), res.compare_lr_test(small).df
        (333, 1)
        """
        caller = caller_of(sys._getframe(1), eval_env)
        model = self.model._again(formula, {**caller.f_globals, **caller.f_locals})
        return model.fit(**{**self._options, "cov_type": self.cov_type, "cov_kwds": self._cov_options() or None})

    def _cov_options(self) -> dict[str, Any]:
        """Keywords of the covariance as they were given, groups beside the table as values of the rows of the fit."""
        given = dict(self._options.get("cov_kwds") or {})
        given |= {name: self.cov_kwds[name] for name in ("seed",) if name in self.cov_kwds}
        if "groups" not in given or isinstance(given["groups"], str):
            return given
        found = self.model._groups(given["groups"])
        index = self.model._rows.index
        pairs = zip(found.codes, found.names, strict=True)
        return {**given, "groups": [pd.Series(codes, index=index, name=name) for codes, name in pairs]}

    @property
    @requires()
    def cov_type(self) -> str:
        """Name of the covariance type."""
        return self._cov.name

    @property
    @requires()
    def cov_kwds(self) -> dict[str, Any]:
        """Options of the covariance type, as given and as found.

        `groups` and `n_groups`: names of the groupings and how many clusters each has; `maxlags` of "HAC"; of
        "bootstrap" `reps`, `used`, `left_out` (replications without an estimate, by reason) and `seed`, a whole
        number that repeats these numbers, whatever was given. All of it may be given to `with_cov` again, if groups are
        columns.
        """
        groups = {"groups": self._group_names, "n_groups": list(self._cov.clusters)} if self._group_names else {}
        return {**groups, **self._cov.options}

    @documents_covariances
    @requires(Needs.MAXIMUM)
    def with_cov(self, cov_type: str, **kwds) -> Self:
        """Results with the same estimate and another covariance, without a new fit.

        Of a generative model it is that of the implied logit and of predictions: standard errors of `params`, the
        classes' own parameters, stay those of the inverse information.

        Parameters
        ----------
        cov_type : str
            With A the observed information, s_i the score of row i, n the observations and p the parameters:

            {covariances}

            Counts are one observation a row, a row of frequency weight f is f equal ones. Separated fits (of which the
            finite coefficients have a covariance) and bias-reduced ones have no refits, generative models none of
            {regression_types}.
        **kwds
            `groups` of "cluster" and "bootstrap": one variable, of "cluster" also several, by column name or value;
            `maxlags`, L, of "HAC": by default the whole part of 4 (n/100)^(2/9); of "bootstrap" `reps`, replications,
            by default 999, and `seed`: a whole number, SeedSequence or Generator. Without a seed the numbers differ
            from call to call; `cov_kwds` of the result has the one that was drawn.

        Returns
        -------
        Results
            A new object.

        Raises
        ------
        TypeError
            A keyword that the type does not take.
        EstimationError
            "jackknife": rows without which there is no estimate; "bootstrap": more than half of the replications have
            none.
            {leverage_types}: rows of leverage one.
        NotImplementedError
            A type that the model or the fit does not have; a bootstrap by several groupings.
        DataError
            The rows were removed, or not saved.

        Warns
        -----
        InferenceWarning
            Fewer than 20 clusters, rows missing in a series, replications without an estimate.

        References
        ----------
        {sources}

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("GRADE ~ GPA + PSI", datasets.load("spector")).fit()
        >>> res.with_cov("HC3").bse.round(3)
        Intercept    4.903
        GPA          1.459
        PSI          1.037
        dtype: float64
        """
        self.model._check_covariance(cov_type)
        keywords = self.model._cov_keywords(cov_type, kwds)
        other = copy.copy(self)
        other._set_covariance(cov_type, keywords)
        other._options = {**self._options, "cov_kwds": kwds}
        return other

    def _set_covariance(self, cov_type: str, keywords) -> None:
        """Replace the covariance, and clear cached quantities that depend on it."""
        raise NotImplementedError

    def _covariance_notes(self) -> list[str]:
        doubt = self.model._doubt(self._cov.name)
        return [self._cov.description, *([doubt] if doubt else [])]

    @requires()
    def summary(
        self,
        yname: Any = None,
        xname: Any = None,
        title: Any = None,
        alpha: float = 0.05,
        exponentiate: bool = False,
        date: bool = True,
        levels: bool | None = None,
    ) -> Summary:
        """Summary of the fit in statsmodels' layout, with notes on the response and the rows.

        Parameters
        ----------
        yname : str, optional
            Name of the response.
        xname : list of str or "levels", optional
            Names of the parameters; "levels": of levels of factors as "sex: male".
        title : str, optional
        alpha : float
            One minus the level of the intervals.
        exponentiate : bool
            Whether to show exp(params), their delta-method standard errors and exp of the intervals.
        date : bool
            Whether the header has date and time.
        levels : bool, optional
            Whether each coefficient has a row. By default a term of more than 50 coefficients, such as a factor of
            hundreds of levels, stands in one line: how many levels, the range of the estimates, and their joint Wald
            test; those that are infinite or left out are counted. With False each term of two or more.

        Returns
        -------
        Summary
            `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`.
        """
        from glmclf.results.tables.summary import summary

        return summary(
            self, yname=yname, xname=xname, title=title, alpha=alpha, exponentiate=exponentiate, date=date,
            levels=levels,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    @requires()
    def glance(self) -> pd.DataFrame:
        """Table of one row with measures of the fit, in the column names of R's broom."""
        return frames.glance(self)

    # ------------------------------------------------------------------------------------------- beside the table
    @by_part
    @requires()
    def augment(self, newdata=None) -> pd.DataFrame:
        """Table of the rows with their predictions, in the column names of R's broom.

        Parameters
        ----------
        newdata : DataFrame, path, pyarrow Dataset or callable, optional
            By default the rows of the fit. Of data in parts, as `from_formula` takes them, the answer is an iterator
            over such tables, one a part, whose index goes on from part to part: of files it is that of the whole table
            as pandas reads it, of a function and of Dask that of their tables.

        Returns
        -------
        DataFrame
            A copy. Of binary models with ``.fitted`` (probability of the event) and ``.se_fit``; of other
            models with ``.fitted_<level>`` and ``.se_fit_<level>`` of each level and ``.class``, the most probable one.
            Regressions have ``.resid`` (deviance residual), ``.hat`` (leverage; of several classes the trace of the
            leverage block) and ``.cooksd`` of the rows of the fit, those of an event also ``.std_resid``; NaN of a
            separated fit of several classes. Penalised fits have ``.resid`` alone, and of a ridge ``.se_fit``, the
            posterior standard deviation.
        """
        new = self._fitted_columns(newdata)
        if newdata is not None:
            return assigned(as_frame(newdata, empty=True, scalars=True), new)
        new |= self._row_columns()
        return assigned(self.model._fit_table(), new).set_axis(self.model._rows.index)

    def _fitted_columns(self, newdata) -> dict[str, Any]:
        """Columns of predictions that `augment` adds to the table of rows."""
        raise NotImplementedError

    def _row_columns(self) -> dict[str, Any]:
        """Columns of residuals and influence that `augment` adds to the rows of the fit."""
        return {}

    def _header(self) -> list[tuple[str, str]]:
        """Facts of the summary's header in addition to those of statsmodels."""
        return self.model._header() + self._fit_header()

    def __getstate__(self) -> dict[str, Any]:
        """State for a pickle; of a fit to a stream, whose rows are not pickled, with all that is computed from them."""
        return self._without_stream() if is_of(self, Kind.STREAMED) else self.__dict__

    def _without_stream(self) -> dict[str, Any]:
        """State of a fit to a stream for a pickle."""
        if not self.model._rows.stream.source.by_cluster:
            self._remember()
        return {name: value for name, value in self.__dict__.items() if name != "_fingerprint"}

    def _prepared(self) -> Self:
        """The result itself; where a cluster makes the passes with what is computed from them, which no pickle can ask
        for. Only what brings all rows here, the sums of the data, is left to who asks for it."""
        if is_of(self, Kind.STREAMED) and self.model._rows.stream.source.by_cluster:
            self._remember(but="_data_sums")
        return self

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @requires()
    def remove_data(self) -> None:
        """Drop every array with one entry a row, and the table; predictions and inference remain."""
        self._remember()
        self._drop_rows()

    def _drop_rows(self) -> None:
        for cls in type(self).__mro__:
            for name, value in vars(cls).items():
                if isinstance(value, row_property):
                    self.__dict__.pop(name, None)
        self.__dict__.pop("_fingerprint", None)
        self.__dict__.pop("_options", None)  # groups have a value a row
        self.model = self.model._without_rows()

    @property
    def _remembered(self) -> tuple[str, ...]:
        """Names of the quantities that need the rows and are kept without them."""
        return self._facts

    def _remember(self, but: str = "") -> None:
        """Compute and cache the quantities that need the rows, but one, before the rows are dropped."""
        for name in self._remembered:
            if name != but:
                getattr(self, name)

    @requires()
    def save(self, path) -> None:
        """Write the result as JSON: formula, levels, transforms, estimate and covariance, no row of the data.

        Of each variable that is a number a file of a model of an event holds the least and the largest value, from
        which `inverse_predict` starts.

        Parameters
        ----------
        path : str, path or open text or binary file
            Where; read it back with `glmclf.load`.
        """
        self._remember()
        saving.write(path, self._as_dict())

    @requires()
    def report(self, path, *, others=(), **options) -> None:
        """Write a report of the fit: what was modelled, found, checked and validated, and how to cite it.

        Parameters
        ----------
        path : str, path or open file
            ``.html`` for one file, ``.md`` for Markdown with its pictures beside it.
        others : list of results
            To put beside this one.
        **options
            Of `glmclf.report`, such as ``sections=["model", "summary"]``.

        See Also
        --------
        glmclf.report : Its options.
        """
        glmclf.report([self, *others], path, **options)

    @staticmethod
    def load(path, functions=None) -> Results:
        """Read a result that `save` wrote; see `glmclf.load`."""
        return saving.load(path, functions)
