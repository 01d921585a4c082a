"""Pooling of fits to several completed data sets by Rubin's rules."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.core.design.coding import LevelCoding
from glmclf.data.table.frame import quoted
from glmclf.errors import DataError, FormulaError, escaped
from glmclf.inference.hypotheses import pooling, wald
from glmclf.inference.hypotheses.pooling import Pooled, PooledWald
from glmclf.results.requires import Needs, check_needs, requires
from glmclf.results.tables.folding import folded, folded_note
from glmclf.results.tables.frames import notebook
from glmclf.results.tables.numbers import count, dof, four
from glmclf.results.wald import WaldInference

if TYPE_CHECKING:
    from glmclf.results.tables.render import Summary


class PooledTests:
    """Combinations of pooled parameters, each tested by Student's t with its own degrees of freedom.

    Attributes
    ----------
    effect, sd, tvalue, pvalue, df : (J,) ndarray
        Estimate, standard error, (effect - value) / sd, two-sided p-value and Barnard and Rubin's degrees of freedom.
    fmi, riv : (J,) ndarray
        Fraction of missing information and relative increase in variance.
    """

    def __init__(self, found: Pooled, q: ndarray, index: pd.Index):
        self.effect, self.sd, self.df = found.estimate, np.sqrt(found.total), found.df
        self.fmi, self.riv, self._index = found.fmi, found.riv, index
        with np.errstate(divide="ignore", invalid="ignore"):
            self.tvalue = np.where(self.sd > 0, (self.effect - q) / self.sd, np.nan)
        self.pvalue = wald.z_pvalues(self.tvalue, self.df)

    def conf_int(self, alpha: float = 0.05) -> ndarray:
        """Intervals effect -/+ t sd, (J, 2)."""
        return wald.intervals(self.effect, self.sd, alpha, self.df)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """coef, std err, t, P>|t|, the interval, df, fmi and riv."""
        low, high = self.conf_int(alpha).T
        columns: dict[str, ndarray] = {
            "coef": self.effect,
            "std err": self.sd,
            "t": self.tvalue,
            "P>|t|": self.pvalue,
            "Conf. Int. Low": low,
            "Conf. Int. Upp.": high,
            "df": self.df,
            "fmi": self.fmi,
            "riv": self.riv,
        }
        return pd.DataFrame(columns, index=self._index)

    def __repr__(self) -> str:
        return escaped(self.summary_frame().to_string())

    def _repr_html_(self) -> str:
        return notebook(self.summary_frame())


class PooledResults(WaldInference):
    """Estimates pooled over m completed data sets by Rubin's rules. Made by `glmclf.pool`.

    With Q_j the estimates and U_j their covariances: the estimate is the mean of the Q_j, its covariance
    U + (1 + 1/m) B, U the mean of the U_j and B the covariance of the Q_j.

    Attributes
    ----------
    results : list
        The fits.
    m : int
        How many there are.
    params, bse : Series or DataFrame
        As the fits have them.
    df_complete : float
        Degrees of freedom if no value were missing: the smallest df_resid of the fits, or clusters less one.
    """

    use_t = True
    converged = True
    _no_profile = "of pooled fits: there is no pooled likelihood"

    def __init__(self, results: list[Any]):
        self.results, self.m = results, len(results)
        first = results[0]
        self.model, self._cov = first.model, first._cov
        self._omitted = first._omitted
        self.df_complete = float(min(r._df(True) for r in results))
        self._own = pooling.pooled(
            np.array([r._theta for r in results]), np.array([r._se**2 for r in results]), self.df_complete
        )
        self._theta, self._t_df = self._own.estimate, self._own.df

    @property
    @requires()
    def nobs(self) -> float:
        """Observations of each data set."""
        return self.results[0].nobs

    @property
    @requires()
    def df_resid(self) -> float:
        """Degrees of freedom of the complete data."""
        return self.df_complete

    @property
    @requires()
    def cov_type(self) -> str:
        """Name of the covariance type of the fits."""
        return self.results[0].cov_type

    def _labelled(self, values) -> Any:
        return self.results[0]._labelled(values)

    @property
    def _owner(self) -> Any:
        return self.results[0]._owner

    @cached_property
    def _V(self) -> ndarray:
        between = np.cov(np.array([r._theta for r in self.results]), rowvar=False)
        return np.mean([r._V for r in self.results], axis=0) + (1 + 1 / self.m) * np.atleast_2d(between)

    @property
    def _se(self) -> ndarray:
        return np.sqrt(self._own.total)

    @property
    @requires()
    def df(self) -> Any:
        """Barnard and Rubin's degrees of freedom of each parameter."""
        return self._labelled(self._own.df)

    @property
    @requires()
    def fmi(self) -> Any:
        """Fraction of missing information of each parameter."""
        return self._labelled(self._own.fmi)

    @property
    @requires()
    def riv(self) -> Any:
        """Relative increase in variance due to the missing values, (1 + 1/m) B / U."""
        return self._labelled(self._own.riv)

    @property
    @requires()
    def variances(self) -> pd.DataFrame:
        """Components of each parameter's variance: within, between, total, and lambda, the share of missing values."""
        p = self._own
        columns = {"within": p.within, "between": p.between, "total": p.total, "lambda": p.share}
        return pd.DataFrame(columns, index=self._param_index)

    @property
    def _z(self) -> ndarray:
        return wald.ratios(self._theta, self._se)

    # ------------------------------------------------------------------------------------------------------- tests
    @requires()
    def t_test(self, r_matrix, *, use_t: bool | None = None) -> PooledTests:
        """Test of each row of R theta = q, pooled as a scalar, with Student's t.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            As in `t_test` of the fits.
        use_t : bool, optional
            False is refused: the distribution is Student's t.

        Returns
        -------
        PooledTests
            `effect, sd, tvalue, pvalue, df, fmi, riv, conf_int(alpha), summary_frame(alpha)`.
        """
        if use_t is False:
            raise NotImplementedError("t_test(use_t=False) of pooled fits: their statistics have t distributions")
        R, q = self._constraints(r_matrix)
        tests = [r.t_test((R, q)) for r in self.results]
        found = pooling.pooled(
            np.array([np.atleast_1d(t.effect) for t in tests]),
            np.array([np.atleast_1d(t.sd) ** 2 for t in tests]),
            self.df_complete,
        )
        return PooledTests(found, q, pd.Index([f"c{i}" for i in range(len(R))], dtype=object))

    @requires()
    def wald_test(self, r_matrix, *, use_f: bool | None = None, scalar: bool = True) -> PooledWald:
        """Joint test D1 of R theta = q (Li, Raghunathan & Rubin 1991), F.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            As in `wald_test` of the fits.
        use_f : bool, optional
            False is refused: the distribution is F.
        scalar : bool
            False is refused.

        Returns
        -------
        PooledWald
            statistic (F), pvalue, df, df_denom and riv, the average relative increase in variance.

        Notes
        -----
        df_denom counts `df_complete`: Reiter's (2007) degrees of freedom; of one equation those of `t_test` (F = t^2),
        and so in kind where Reiter's are not defined, with few degrees of freedom of complete data or few data sets.
        """
        if use_f is False or not scalar:
            raise NotImplementedError("wald_test(use_f=False) and scalar=False of pooled fits: D1 is one F statistic")
        return self._joint(*wald.linear_restrictions(*self._constraints(r_matrix)))

    @requires()
    def f_test(self, r_matrix) -> PooledWald:
        """Joint F test, an alias of `wald_test`."""
        return self.wald_test(r_matrix)

    def _joint(self, R: ndarray, q: ndarray) -> PooledWald:
        for r in self.results:
            r._check_joint(R)
        d = np.array([r._contrasts(R)[0] - q for r in self.results])
        return pooling.joint_test(d, np.array([r.cov_params(R) for r in self.results]), self.df_complete)

    def _joint_test(self, at: ndarray) -> tuple[str, float] | None:
        if not self.results[0]._has_joint_tests:
            return None
        try:
            t = self._joint(np.eye(len(self._theta))[at], np.zeros(len(at)))
        except ValueError:
            return "", np.nan
        return f"F({t.df}, {dof(t.df_denom)}) = {four(t.statistic)}", t.pvalue

    @requires()
    def wald_test_terms(self, *, skip_constant: bool = False, use_f: bool = True) -> Any:
        """Joint test D1 of each term.

        Parameters
        ----------
        skip_constant : bool
            Whether to leave the intercept out.
        use_f : bool
            False is refused.

        Returns
        -------
        statsmodels WaldTestResults
            With the numbers in ``.table``: statistic (F), pvalue, df_constraint and df_denom.
        """
        from statsmodels.stats.contrast import WaldTestResults

        if not use_f:
            raise NotImplementedError("wald_test_terms(use_f=False) of pooled fits: D1 is an F statistic")
        check_needs(self.results[0], "wald_test_terms", Needs.UNCONSTRAINED)
        rows = {}
        for name, where in self.model._terms.items():
            at = np.arange(len(self._theta))[where]
            at = at[np.isfinite(self._theta[at])]
            if len(at) and not (skip_constant and name in wald.CONSTANTS):
                t = self._joint(np.eye(len(self._theta))[at], np.zeros(len(at)))
                rows[name] = (t.statistic, t.pvalue, t.df, t.df_denom)
        columns = ["statistic", "pvalue", "df_constraint", "df_denom"]
        table = pd.DataFrame(list(rows.values()), columns=columns, index=pd.Index(rows, dtype=object))
        return WaldTestResults(None, "F", None, table=table)

    @requires()
    def nonlinear_test(self, hypothesis: Any, *, use_t: Any = None) -> Any:
        """Refuse: pooled fits have no such tests; see `pool`."""
        raise NotImplementedError("nonlinear_test() of pooled fits: use t_test, or pool estimates of each fit by hand")

    @requires()
    def t_test_pairwise(self, term_name: Any, method: Any = "holm", alpha: Any = 0.05, **options: Any) -> Any:
        """Refuse: pooled fits have no such tests; see `pool`."""
        raise NotImplementedError("t_test_pairwise() of pooled fits: use t_test of the differences")

    # ------------------------------------------------------------------------------------------------ presentation
    @requires()
    def summary(self, alpha: float = 0.05, exponentiate: bool = False, levels: bool | None = None) -> Summary:
        """Summary of the pooled estimates, with degrees of freedom and fractions of missing information.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals.
        exponentiate : bool
            Whether to show exp(params), their delta-method standard errors and exp of the intervals.
        levels : bool, optional
            As in `summary` of the fits.

        Returns
        -------
        Summary
            `as_text, as_latex, as_html, as_csv, as_markdown, as_typst`.
        """
        from glmclf.results.tables import summary as layout
        from glmclf.results.tables.render import table_classes

        names, result = [str(name) for name in self.model.exog_names], table_classes()["Summary"]()
        result.tables.append(self._header_table(layout))
        terms = folded(self, levels)
        tables = layout._coefficients(self, names, alpha, exponentiate, str(self.model.endog_names), terms)
        for table in tables:
            table.widths = (*layout.PARAM_WIDTHS, 9, 7)
        result.tables.extend(tables)
        notes = [self.results[0]._cov.description or self.cov_type, POOLING_NOTE, *self._compared()]
        notes = [*layout.ratio_notes(self, exponentiate), *notes, *folded_note(self, terms)]
        result.add_extra_txt(["Notes:", *(f"[{i}] {note}" for i, note in enumerate(notes, start=1))])
        return result

    def _compared(self) -> list[str]:
        """Note on the comparison of functions of the caller, if the formulas use any."""
        from glmclf.data.formula.borrowed import functions_of

        beside = _beside(self._owner.model).values()
        names = ", ".join(dict.fromkeys(name for words in beside for name in functions_of(words)))
        said = f"Of {names} the name and the numbers held are the same in all fits; code was not compared."
        return [said] if names else []

    def __repr__(self) -> str:
        return self.summary().as_text()

    def _header_table(self, layout: Any) -> Any:
        kind = type(self._owner.model).__name__
        left = [
            ("Dep. Variable:", str(self.model.endog_names)),
            ("Model:", kind),
            ("Method:", "Rubin's rules"),
            ("Covariance Type:", self.cov_type),
        ]
        right = [
            ("Data Sets:", str(self.m)),
            ("No. Observations:", count(self.nobs)),
            ("Df Complete Data:", count(self.df_complete)),
            ("Largest FMI:", f"{np.nanmax(self._own.fmi):.4f}"),
        ]
        return layout.two_columns(left, right, f"{kind} Results, Pooled over {self.m} Data Sets")

    def _table_cells(self, alpha: float, exponentiate: bool) -> tuple[list[str], list[tuple[str, ...]]]:
        from glmclf.results.tables.summary import _table_cells

        heads, rows = _table_cells(self, alpha, exponentiate)
        more = [(f"{df:9.2f}", f"{fmi:7.4f}") for df, fmi in zip(self._own.df, self._own.fmi, strict=True)]
        gone = np.isnan(self._theta)
        cells = [(*row, *(("", "") if out else extra)) for row, extra, out in zip(rows, more, gone, strict=True)]
        return [*heads, "df", "fmi"], cells

    def _repr_html_(self) -> str:
        return self.summary().as_html()


POOLING_NOTE = (
    "Standard errors have the variance between the data sets in them (Rubin 1987), t distributions the degrees of "
    "freedom of Barnard & Rubin (1999)."
)


def pool(results: Iterable[Any]) -> PooledResults:
    """Pool fits of one model to several completed (multiply imputed) data sets by Rubin's rules.

    Parameters
    ----------
    results : list of results
        Two or more fits: the same class, response, names, levels, reference or event, options of the model (fixed
        priors, families), covariance type with its lags and groupings, columns of offset and weights, and number of
        rows; only the values differ. Of LDA, QDA and NaiveBayes the implied logits (`discriminant`) are pooled.

    Returns
    -------
    PooledResults
        `params, bse, tvalues, pvalues, df, fmi, riv, conf_int(), cov_params(), t_test, wald_test, wald_test_terms,
        summary(), summary_frame(), tidy()`.

    Raises
    ------
    TypeError
        What is no fit, or fewer than two of them.
    ValueError
        Fits that differ in what has to be the same, that did not converge or are infinite, transforms of the formula
        that memorised other numbers in each data set (knots, means), and code that looks across rows
        (``x - x.mean()``) of a column that differs, on either side, or values, arrays and functions from beside the
        table (``I(x - m)``, ``I(z > k) ~ x``) that differ, so that coefficients of one name mean different things. The
        message names the fits and what to do.
    NotImplementedError
        Penalised fits, which have no standard errors that count the bias.

    Notes
    -----
    Robust covariances carry over, and with clusters the degrees of freedom of complete data are clusters less one.
    Likelihoods are not pooled: joint tests are D1 (Wald).

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys. Barnard & Rubin (1999), Biometrika 86, 948-955. Li,
    Raghunathan & Rubin (1991), JASA 86, 1065-1073. Reiter (2007), Biometrika 94, 502-508.

    Examples
    --------
    >>> import glmclf
    >>> import numpy as np
    >>> from glmclf import Logit, datasets
    >>> spector, rng = datasets.load("spector"), np.random.default_rng(1)
    >>> drawn = [spector.assign(GPA=spector.GPA.where(spector.index > 3, rng.normal(3.1, 0.4, 32))) for _ in range(5)]
    >>> res = glmclf.pool([Logit.from_formula("GRADE ~ GPA + PSI", d).fit() for d in drawn])
    >>> res.summary_frame()[["coef", "std err", "P>|t|"]].assign(fmi=res.fmi).round(3)
                 coef  std err  P>|t|    fmi
    Intercept -11.393    4.284  0.013  0.082
    GPA         2.966    1.238  0.024  0.091
    PSI         2.433    1.046  0.028  0.072
    """
    fits = _read(results)
    _check_same(fits)
    return PooledResults(fits)


def _read(results: Any) -> list[Any]:
    if isinstance(results, WaldInference) or not isinstance(results, Iterable):
        raise TypeError("pool() takes a list of fits: pool([res1, res2, ...])")
    fits = [getattr(r, "discriminant", r) for r in results]
    for i, r in enumerate(fits, start=1):
        if not isinstance(r, WaldInference) or isinstance(r, PooledResults):
            raise TypeError(f"pool(): number {i} is no fit of a model but {type(r).__name__}")
        owner = r._owner
        if owner._regularised:
            raise NotImplementedError(f"pool(): fit {i} is penalised: its standard errors ignore the bias. Use fit()")
        if not owner.converged:
            raise ValueError(f"pool(): fit {i} did not converge")
        if np.isinf(r._theta).any() or getattr(owner, "separation", None) is not None:
            raise ValueError(
                f"pool(): the estimate of fit {i} is infinite, so that there is no mean. Fit all of them with "
                'bias_reduction="firth", or leave the term out'
            )
    if len(fits) < 2:
        raise TypeError(f"pool() needs two fits or more, found {len(fits)}")
    return fits


def _check_same(fits: list[Any]) -> None:
    """Raise ValueError unless all fits are of one model, apart from the data."""
    first, *others = [_described(r) for r in fits]
    for i, other in enumerate(others, start=2):
        for what, value in first.items():
            if other[what] != value:
                raise ValueError(f"pool(): fits 1 and {i} differ in {what}: {value}; {other[what]}")
    models = [r._owner.model for r in fits]
    _check_beside(models)
    states = [_states(model._design) for model in models]
    for i, other in enumerate(states[1:], start=2):
        differ = [code for code, state in states[0].items() if other.get(code) != state]
        if differ:
            raise ValueError(
                f"pool(): {', '.join(differ)} memorised other numbers in fit {i} than in fit 1 (knots, means, order of "
                "levels), so that its coefficients mean something else. Fix them: bs(x, knots=[...], lower_bound=..., "
                "upper_bound=...), a categorical with its levels, or compute the column before"
            )
    _check_across(models)


def _check_beside(models: list[Any]) -> None:
    """Raise ValueError for values of the caller that a factor uses and that differ among fits."""
    first, *others = [_beside(model) for model in models]
    for i, other in enumerate(others, start=2):
        for code in first:
            one, two = first[code], other.get(code, {})
            differ = [name for name in one if name in two and one[name] != two[name]]
            if differ:
                values = "; ".join(str({name: part[name] for name in differ}) for part in (one, two))
                raise ValueError(
                    f'pool(): fits 1 and {i} differ in what "{code}" takes from beside the table: {values}. Fit all '
                    "with the same values, as coefficients of one name mean different things otherwise, or compute "
                    "the column before"
                )


def _check_across(models: list[Any]) -> None:
    """Raise ValueError for terms whose value in a row depends on other rows, as these differ among data sets."""
    for code, e in _expressions(models[0]).items():
        if not e.unknown:
            continue
        tables = [table for model in models if (table := _columns_of(model, e)) is not None]
        if len(tables) < len(models):
            raise ValueError(
                f'pool(): "{code}" calls a function that may look at other rows, and a fit that was kept in a file has '
                "no data to tell. Pool the fits before they are saved, or compute the column before; of a function f "
                "of each row alone, declare that, f = glmclf.rowwise(f)"
            )
        for i, table in enumerate(tables[1:], start=2):
            changed = [name for name in e.columns if not table[name].equals(tables[0][name])]
            if changed:
                raise ValueError(
                    f'pool(): the value of "{code}" in a row depends on other rows, and {quoted(changed)} there are '
                    f"others in fit {i} than in fit 1, so that its coefficient may mean something else. Take fixed "
                    "numbers (a mean that is known), or compute the column before; of a function f of each row alone, "
                    "declare that, f = glmclf.rowwise(f)"
                )


def _expressions(model: Any) -> dict[str, Any]:
    """Expressions of the formula: factors of the right side, and of the left side without functions of the caller."""
    found = {code: factor.expression for code, factor in getattr(model._design, "factors", {}).items()}
    frame = model.data.table
    if model.formula is None or frame is None:
        return found
    from glmclf.data.formula.factors import resolve
    from glmclf.data.formula.parse import parse_formula

    for code in parse_formula(model.formula).left:
        with suppress(FormulaError):  # names of the caller are no longer available
            found[code] = resolve(code, frame.columns, {})
    return found


def _columns_of(model: Any, e: Any) -> dict[str, pd.Series] | None:
    """Columns of an expression; None where they are not stored."""
    frame = model.data.table
    if frame is None or not set(e.columns) <= set(frame.columns):
        return None
    return {name: frame[name].reset_index(drop=True) for name in e.columns}


def _described(r: Any) -> dict[str, Any]:
    """Description of a fit that must be equal among pooled fits."""
    owner, model = r._owner, r._owner.model
    weights = {name: column for name, column in model._names.items() if name != "offset"}
    omitted = [] if r._omitted is None else np.flatnonzero(r._omitted).tolist()
    levels = model._classes if hasattr(model, "_classes") else model._response.levels
    return {
        "model": type(model).__name__,
        "the response": str(model.endog_names),
        "the levels of the response, the reference first": [str(level) for level in levels],
        "the names of the parameters": list(r._param_names),
        "the number of observations": model.nobs,
        "the covariance type": owner.cov_type,
        "the options of the covariance": _covariance_options(owner),
        "bias_reduction": getattr(owner, "bias_reduction", None),
        "flic": getattr(getattr(getattr(owner, "_state", None), "estimate", None), "flic", False),
        "the constraints": getattr(owner, "constraints", []),
        "the kind of weights": "none" if not weights else "freq_weights" if model._frequency else "weights",
        "the weights": list(weights.values()),
        "the offset": model._names.get("offset", "none"),
        "columns left out as combinations of others": [r._param_names[j] for j in omitted],
        "the families of the features": [f"{f.name}: {f.family}" for f in getattr(model, "features", [])],
        **{f"{name}=": _plain(value) for name, value in getattr(model, "_options", {}).items()},
    }


def _covariance_options(owner: Any) -> dict[str, Any]:
    """Lags, and the groupings by name, or by size where they have no name."""
    given = owner.cov_kwds
    out = {name: given[name] for name in ("maxlags", "groups") if name in given}
    if "groups" in out:
        out["groups"] = list(out["groups"])
        if "groups" in out["groups"]:  # groups given as arrays
            out["n_groups"] = [int(G) for G in given["n_groups"]]
    return out


def _plain(value: Any) -> Any:
    """Convert arrays and tuples to lists, so that == compares values."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return np.asarray(value).tolist() if isinstance(value, (ndarray, np.generic, list, tuple)) else value


def _beside(model: Any) -> dict[str, dict[str, Any]]:
    """Values that each factor takes from the caller; of an older file, numbers and text of the right side."""
    if "borrowed" in model._facts:
        return model._facts["borrowed"]
    bound = {code: factor.expression.borrowed for code, factor in getattr(model._design, "factors", {}).items()}
    plain = (bool, int, float, str, np.generic)
    return {code: {n: v for n, v in part.items() if isinstance(v, plain)} for code, part in bound.items()}


def _states(design: Any) -> dict[str, str]:
    """Memorised state of each factor as text: levels, transforms and contrasts."""
    from glmclf.data.design.codec import _packed

    parts: dict[str, list[Any]] = {}
    for code, factor in getattr(design, "factors", {}).items():
        record = factor.to_record()
        parts[code] = [record["levels"], record["transforms"]]
    for subterm in getattr(design, "subterms", []):
        for code, matrix in subterm.contrasts.items():
            parts[code].append(list(vars(matrix).values()) if isinstance(matrix, LevelCoding) else np.asarray(matrix))
    return {code: _written(_packed, part) for code, part in parts.items()}


def _written(packed: Any, part: list[Any]) -> str:
    try:
        return json.dumps(packed(part))
    except DataError:  # the state of a caller's transform cannot be written
        return ""
