"""Tables of a result as pandas objects: coefficients, odds ratios, broom's tidy and glance, predictions, term tests."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.checks import is_number
from glmclf.core.likelihood.links import RELATIVE_RISK
from glmclf.errors import escaped
from glmclf.inference.hypotheses.wald import TermTests, check_alpha

if TYPE_CHECKING:
    from statsmodels.stats.contrast import WaldTestResults


class WholeFrame(pd.DataFrame):
    """DataFrame that prints all its columns, in blocks as wide as the screen, texts without a cut, and notes below.

    All else is a DataFrame's; ``pd.DataFrame(table)`` is a plain one. Notes are texts in ``attrs["notes"]``.
    """

    @property
    def _constructor(self) -> type[WholeFrame]:
        return WholeFrame

    def _with_counts(self) -> pd.DataFrame:
        """The table with counts as whole numbers, as a plain DataFrame."""
        found = pd.DataFrame(self)
        for name in [name for name in COUNTS if name in found and found[name].dtype == float]:
            values = found[name]
            if (values.isna() | (values == values.round())).all() and np.isfinite(values).any():
                found[name] = pd.Series([int(v) if np.isfinite(v) else v for v in values], found.index, dtype=object)
        return found

    def __repr__(self) -> str:
        with pd.option_context(*PRINTED_WHOLE):
            return escaped("\n".join([repr(self._with_counts()), *self.attrs.get("notes", ())]))

    def _repr_html_(self) -> str:
        with pd.option_context(*PRINTED_WHOLE):
            table = self._with_counts()._repr_html_()
        notes = (f"<p>{html.escape(note, quote=False)}</p>" for note in self.attrs.get("notes", ()))
        return escaped("\n".join([table, *notes]))


COUNTS = ("df", "k_params", "parameters", "nobs")  # columns of whole numbers, which NaN makes floats


def with_notes(table: pd.DataFrame, *notes: str) -> WholeFrame:
    """Table that prints notes below it."""
    found = WholeFrame(table)
    found.attrs["notes"] = list(notes)
    return found


PRINTED_WHOLE = (
    "display.max_columns", None, "display.max_colwidth", None, "display.expand_frame_repr", True,
)  # fmt: skip


@dataclass(frozen=True)
class Coefficients:
    """Columns of a table of coefficients, each (p,): estimate, standard error, statistic, p-value, interval."""

    estimate: ndarray
    std_error: ndarray
    statistic: ndarray
    pvalue: ndarray
    low: ndarray
    high: ndarray

    def scaled(self, units: ndarray) -> Coefficients:
        """Coefficients for a change of `units` (p,) in the regressor: u b, |u| se, and the interval's ends in order."""
        down = units < 0
        return Coefficients(
            units * self.estimate,
            abs(units) * self.std_error,
            np.sign(units) * self.statistic,
            self.pvalue,
            units * np.where(down, self.high, self.low),
            units * np.where(down, self.low, self.high),
        )

    def exponentiated(self) -> Coefficients:
        """Exponentiated coefficients: exp(b), standard error exp(b) se, exp of the interval; the test of b = 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            ratio, low, high = np.exp(self.estimate), np.exp(self.low), np.exp(self.high)
            return Coefficients(ratio, ratio * self.std_error, self.statistic, self.pvalue, low, high)


def coefficients(res: Any, alpha: float = 0.05, exponentiate: bool = False, method: str = "wald") -> Coefficients:
    """Columns of a result's table of coefficients, as arrays; `method` is the method of the intervals."""
    if exponentiate:
        check_ratio(res)
    keywords = {} if method == "wald" else {"method": method}
    _, spread, tests, *_ = present(res)
    estimate, se = flat(res.params), flat(res.bse)
    z = p = low = high = np.full(len(estimate), np.nan)
    if tests:
        z, p = flat(res.tvalues), flat(res.pvalues)
    if spread or keywords:  # methods of intervals that the fit lacks are refused
        low, high = res.conf_int(check_alpha(alpha), **keywords).to_numpy(dtype=float).T
    table = Coefficients(estimate, se, z, p, low, high)
    return table.exponentiated() if exponentiate else table


def flat(values: pd.Series | pd.DataFrame) -> ndarray:
    """Numbers of parameters in their order, several equations one after the other."""
    return values.to_numpy(dtype=float).ravel(order="F")


def ratio_name(res: Any) -> str:
    """Name of exp(b): that of the link, "relative risk ratio" for several levels, "" where exp(b) is no ratio."""
    link = getattr(res.model, "link", None)
    return RELATIVE_RISK if link is None else link.ratio


def check_ratio(res: Any) -> None:
    """Raise NotImplementedError where exp(b) is not a ratio."""
    name = type(res.model).__name__
    reason = getattr(res, "_no_ratios", "") or f"the exponential of a {name} coefficient is no ratio of anything"
    if getattr(res, "_no_ratios", "") or not ratio_name(res):
        raise NotImplementedError(f"exponentiate=True: {reason}")


def notebook(*parts: str | pd.DataFrame | pd.Series, digits: str | None = None) -> str:
    """Render texts and tables below each other as HTML, for the `_repr_html_` of a result."""
    form = None if digits is None else f"{{:{digits}}}".format
    tables = (part.to_frame() if isinstance(part, pd.Series) else part for part in parts)
    found = "\n".join(
        f"<p>{html.escape(part, quote=False)}</p>" if isinstance(part, str) else part.to_html(float_format=form)
        for part in tables
    )
    return escaped(found)


class FrameShown:
    """Mixin of results that are shown as their `summary_frame`."""

    def summary_frame(self) -> pd.DataFrame:
        """Table of the result."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self._shown_frame)

    def _repr_html_(self) -> str:
        return self._shown_frame._repr_html_()

    @property
    def _shown_frame(self) -> WholeFrame:
        table = self.summary_frame()
        return table if isinstance(table, WholeFrame) else WholeFrame(table)


def headings(res: Any) -> tuple[str, str]:
    """Names of the test's two columns: z and P>|z|, or t and P>|t|."""
    return ("t", "P>|t|") if res.use_t else ("z", "P>|z|")


def interval_headings(alpha: float) -> tuple[str, str]:
    """Headings of the ends of a 1 - alpha interval in summaries: '[0.025' and '0.975]'."""
    return f"[{alpha / 2:.10g}", f"{1 - alpha / 2:.10g}]"


def present(res: Any) -> ndarray:
    """Mask of the six columns of a table of coefficients that a fit has: a ridge has no test, a lasso the estimates."""
    spread, tests = getattr(res, "_has_spread", True), getattr(res, "_has_tests", True)
    return np.array([True, spread, tests, tests, spread, spread])


def _frame(table: Coefficients, columns: list[str], index: pd.Index, res: Any = None) -> pd.DataFrame:
    """DataFrame of the columns, without those that a result `res` does not have."""
    values = (table.estimate, table.std_error, table.statistic, table.pvalue, table.low, table.high)
    named = zip(columns, values, present(res), strict=True)
    return WholeFrame({name: value for name, value, here in named if here}, index=index)


def summary_frame(res: Any, alpha: float = 0.05, exponentiate: bool = False, method: str = "wald") -> pd.DataFrame:
    """See `WaldInference.summary_frame`; the columns are those of statsmodels' ``t_test().summary_frame()``."""
    columns = ["coef", "std err", *headings(res), "Conf. Int. Low", "Conf. Int. Upp."]
    return _frame(coefficients(res, alpha, exponentiate, method), columns, res._param_index, res)


def odds_ratios(
    res: Any, alpha: float = 0.05, units: Mapping[str, float] | None = None, method: str = "wald"
) -> pd.DataFrame:
    """See `BinaryResults.odds_ratios`."""
    index = res._param_index
    regressors = index.get_level_values(-1) if isinstance(index, pd.MultiIndex) else index
    sizes = _sizes(units or {}, regressors)
    table = coefficients(res, alpha, method=method).scaled(sizes).exponentiated()
    columns = [ratio_name(res), "std err", *headings(res), *interval_headings(alpha)]
    return _frame(table, columns, _per_unit(index, sizes), res)


def per_unit(name: Any, size: float) -> Any:
    """Label of a ratio for a change of `size` in a regressor: "age (per 10)", and the name alone for a change of 1."""
    return name if size == 1 else f"{name} (per {size:.15g})"


def _per_unit(index: pd.Index, sizes: ndarray) -> pd.Index:
    """Labels of coefficients with the sizes of the changes."""
    if (sizes == 1).all():
        return index
    if not isinstance(index, pd.MultiIndex):
        return pd.Index([per_unit(*pair) for pair in zip(index, sizes, strict=True)], dtype=object, name=index.name)
    rows = [(*key[:-1], per_unit(key[-1], size)) for key, size in zip(index, sizes, strict=True)]
    return pd.MultiIndex.from_tuples(rows, names=index.names)


def _sizes(units: Mapping[str, float], index: pd.Index) -> ndarray:
    """Change of each coefficient's regressor, in the order of the coefficients."""
    unknown = [name for name in units if name not in index]
    if unknown:
        raise ValueError(
            f"units= names {', '.join(map(repr, unknown))}, which is no coefficient of the model. "
            f"Its coefficients are {', '.join(map(str, index.unique()))}"
        )
    sizes = pd.Series(1.0, index=index)
    for name, size in units.items():
        if not is_number(size) or not np.isfinite(size) or size == 0:
            raise ValueError(f"units={{{name!r}: {size!r}}}: the size of a change is a finite number other than zero")
        sizes[name] = float(size)
    return sizes.to_numpy()


def tidy(res: Any, alpha: float = 0.05, exponentiate: bool = False) -> pd.DataFrame:
    """See `WaldInference.tidy`."""
    columns = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    index = res._param_index
    frame = _frame(coefficients(res, alpha, exponentiate), columns, pd.RangeIndex(len(index)))
    frame.insert(0, "term", [str(name) for name in index.get_level_values(-1)])
    if isinstance(index, pd.MultiIndex):  # broom's name for the level of an equation
        frame.insert(0, "y_level", list(index.get_level_values(0)))
    return frame


def glance(res: Any) -> pd.DataFrame:
    """See `Results.glance`."""
    row = {
        "null_deviance": res.null_deviance,
        "df_null": res.df_resid + res.df_model,
        "log_lik": res.llf,
        "aic": res.aic,
        "bic": res.bic,
        "deviance": res.deviance,
        "df_residual": res.df_resid,
        "nobs": res.nobs,
    }
    return WholeFrame(row, index=pd.RangeIndex(1))


def term_table(tests: TermTests) -> WaldTestResults:
    """Convert tests of terms to statsmodels' WaldTestResults, with `table`, `summary_frame()` and its text.

    The columns of `table` are statistic, pvalue, df_constraint, and df_denom for F tests; its index holds the terms.
    """
    from statsmodels.stats.contrast import WaldTestResults

    columns = {"statistic": tests.statistic, "pvalue": tests.pvalue, "df_constraint": tests.df_constraint}
    if tests.df_denom is not None:
        columns["df_denom"] = np.full(len(tests.names), tests.df_denom)
    table = pd.DataFrame(columns, index=pd.Index(tests.names, dtype=object))
    return WaldTestResults(None, "chi2" if tests.df_denom is None else "F", None, table=table)
