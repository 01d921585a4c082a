"""Contrasts of labelled estimates, of contrasts again, and tests of combinations of their rows."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.caching import cached_property
from glmclf.checks import check_choice
from glmclf.core.numerics.arrow import MAX_DENSE_BYTES
from glmclf.core.numerics.constants import EPS
from glmclf.core.rows.asked import under_usual_errors
from glmclf.data.table.frame import quoted
from glmclf.errors import DataError
from glmclf.inference.hypotheses import wald
from glmclf.inference.margins import contrasts
from glmclf.inference.margins.delta import DeltaCovariance
from glmclf.results.hypotheses.linear import constraints
from glmclf.results.tables.frames import FrameShown, with_notes

PAIRS = ("pairwise", "reference", "sequential")
MAX_PAIRS = 2_000_000  # of rows, each with its gradient
SIGNS = {"difference": " - ", "ratio": " / ", "odds ratio": " / "}


class LabelledRow(NamedTuple):
    """Row of a table of estimates: its place among them, level of the response, setting, and its name in it."""

    place: int
    level: tuple[Any, ...]
    setting: tuple[Any, ...]
    name: tuple[Any, ...]


@under_usual_errors
class RowTests(FrameShown):
    """Base class of tables of estimates: tests of combinations of their rows.

    Subclasses have the rows, the names of what they are labelled by, and the estimates with their covariance on the
    scale on which these are nearly normal.
    """

    _labelled: list[LabelledRow]
    _setting_names: list[str]
    _row_names: list[str]

    def _estimates(self) -> tuple[ndarray, DeltaCovariance]:
        raise NotImplementedError

    def _sizes(self) -> ndarray:
        """Size of what the estimates are computed from, with which their rounding grows."""
        value, C = self._estimates()
        return np.abs(value) + C.spreads()

    @cached_property
    def _index(self) -> pd.Index:
        """Labels of the rows of tables."""
        rows = [(*row.level, *row.setting, *row.name) for row in self._labelled]
        names = [*(["level"] if rows and self._labelled[0].level else []), *self._setting_names, *self._row_names]
        if not names:
            return pd.RangeIndex(len(rows))
        if len(names) == 1:
            return pd.Index([row[0] for row in rows], dtype=object, name=names[0])
        return pd.MultiIndex.from_tuples(rows, names=names)

    def __len__(self) -> int:
        return len(self._labelled)

    def _check_tested(self, what: str) -> None:
        """Refuse tests of a regularised fit."""
        if getattr(getattr(self, "results", None), "_regularised", False):
            raise NotImplementedError(f"{what} of a regularised fit: it has no tests. predictions() has intervals")

    def _hypothesis(self, what: str, r_matrix: Any) -> tuple[ndarray, DeltaCovariance, ndarray, ndarray, ndarray]:
        """Combinations of rows that a hypothesis is about, with their covariance; its matrix and right-hand sides; and
        which combinations are 0 by construction."""
        self._check_tested(what)
        R, q = constraints(r_matrix, [f"b{i}" for i in range(len(self))])
        value, C = self._estimates()
        at = [row.place for row in self._labelled]
        of_rows = np.zeros((len(R), len(value)))
        np.add.at(of_rows.T, at, R.T)
        made, C = wald.combine(of_rows, value), C.combined(of_rows)
        nothing = contrasts.vanishing(made, C, wald.combine(np.abs(of_rows), self._sizes()))
        return np.where(nothing, 0.0, made), C.without(nothing), R, q, nothing

    def t_test(self, r_matrix: Any) -> Any:
        """Test combinations of rows one by one: their estimates, standard errors, z, p-values and intervals.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            The rows are b0, b1, ... in the order of `summary_frame`: ``"b1 - b0 = 0"``, ``"b3 - b2 = b1 - b0"``; or a
            matrix R with a column for each row, or (R, q), q a value a row of R or a number for all. Of ratios it is
            about their logs.

        Returns
        -------
        statsmodels ContrastResults

        Raises
        ------
        ValueError
            No such row, a matrix of another size.
        NotImplementedError
            A regularised fit.
        """
        made, C, _, q, _ = self._hypothesis("t_test()", r_matrix)
        return wald.t_test(made, np.diag(C.errors**2), np.eye(len(made)), q)

    def wald_test(self, r_matrix: Any) -> Any:
        """Test combinations of rows together, by chi-squared.

        Parameters
        ----------
        r_matrix : str, list of str, array_like or (R, q)
            As in `t_test`: ``"b0 = b1, b1 = b2"``.

        Returns
        -------
        statsmodels ContrastResults

        Raises
        ------
        ValueError
            No such row; combinations that are 0 by construction, or depend on each other, as effects on all levels,
            which add up to 0.
        NotImplementedError
            A regularised fit.
        """
        made, C, R, q, nothing = self._hypothesis("wald_test()", r_matrix)
        if nothing.any():
            raise ValueError(
                f"nothing to test in row {', '.join(map(str, np.flatnonzero(nothing)))} of the hypothesis, which is 0 "
                "by construction, whatever the parameters: leave it out"
            )
        kept = wald.independent_rows(R, q)
        V = C.in_units(kept)
        S = contrasts.correlation(V)
        if np.isfinite(S).all() and np.linalg.eigvalsh(S)[0] <= 100 * len(S) * EPS:
            raise ValueError(
                f"the {len(S)} combinations depend on each other, as effects on all levels of the response do, which "
                "add up to 0, or the covariance of the fit has a lower rank, as of few clusters: test fewer at once"
            )
        return wald.wald_test(made[kept], C.matrix(kept), np.eye(len(kept)), q[kept])


@under_usual_errors
class ContrastsOfSettings(RowTests):
    """Base class of tables of effects and contrasts, which differ between settings and groups."""

    def contrasts(
        self, *, by: Any = None, contrast: str = "pairwise", adjust: str = "none", seed: int = 0
    ) -> Contrasts:
        """Contrasts of each row between its settings and groups: of effects, or of contrasts (second differences).

        Parameters
        ----------
        by : str or list of str, optional
            Variables, of those that the settings and groups are of, to compare within; by default all settings are
            compared.
        contrast : {"pairwise", "reference", "sequential"}
            All pairs of settings, each against the first one, or each against the one before it.
        adjust : {"none", "bonferroni", "holm", "sidak", "tukey"}
            p-values and intervals that hold for the contrasts of a row together, as in `AdjustedPredictions.contrasts`.
        seed : int
            Of the integration of "tukey".

        Returns
        -------
        Contrasts
            Differences; of ratios ratios of ratios.

        Raises
        ------
        ValueError
            A single setting.
        DataError
            `by` that no setting is of.
        NotImplementedError
            A regularised fit.

        References
        ----------
        Mize (2019), Best practices for estimating, interpreting, and presenting nonlinear interaction effects.
        Sociological Science 6, 81-117.

        Examples
        --------
        >>> from glmclf import Logit, datasets
        >>> res = Logit.from_formula("sex ~ body_mass_g * species", datasets.load("penguins"), event="male").fit()
        >>> first = res.get_margeff(variables="body_mass_g", over="species")
        >>> first.contrasts(adjust="holm").summary_frame().iloc[:, :4].round(5)
                                        difference       se        z   pvalue
        species            variable
        Chinstrap - Adelie body_mass_g     0.00001  0.00011  0.11516  0.90832
        Gentoo - Adelie    body_mass_g    -0.00012  0.00003 -4.57572  0.00001
        Gentoo - Chinstrap body_mass_g    -0.00013  0.00011 -1.18719  0.47031
        """
        check_choice("contrast", contrast, PAIRS)
        check_choice("adjust", adjust, contrasts.ADJUSTMENTS)
        self._check_tested("contrasts()")
        names = self._setting_names
        held = [by] if isinstance(by, str) else list(by or ())
        stray = [name for name in held if name not in names]
        if stray:
            raise DataError(
                f"contrasts(by=) names {quoted(stray)}, of which no setting is; "
                + (f"they are of {quoted(names)}" if names else "there is one setting")
            )
        kept = [names.index(name) for name in held]
        free = [i for i in range(len(names)) if i not in kept]
        pairs = RowPairs(
            contrast,
            [((*row.level, *(row.setting[i] for i in kept)), row.name) for row in self._labelled],
            [", ".join(str(row.setting[i]) for i in free) for row in self._labelled],
            self._sign,
            "contrasts() needs two settings or more: at={variable: [values]}, over= or by= with two groups",
            self._estimates()[1].J.shape[1],
        )
        rows = [
            LabelledRow(i, self._labelled[a].level, tuple(self._labelled[a].setting[j] for j in kept), (label, *name))
            for i, (a, label, (_, name)) in enumerate(zip(pairs.first, pairs.labels, pairs.keys, strict=True))
        ]
        at = np.array([row.place for row in self._labelled])
        value, C = self._estimates()
        first, second = at[pairs.first], at[pairs.second]
        with np.errstate(invalid="ignore"):
            made = contrasts.differences(value, C, self._sizes(), first, second, self._exponential)
        row_names = [", ".join(names[i] for i in free), *self._row_names]
        return Contrasts(made, rows, held, row_names, pairs.family, self._comparison, adjust, seed)

    _comparison = "difference"
    _exponential = False

    @property
    def _sign(self) -> str:
        return SIGNS[self._comparison]


class RowPairs:
    """RowPairs of rows that are compared.

    Attributes
    ----------
    first, second : (m,) integer ndarray
        Both sides, by their number.
    labels : list of str
    keys : list
        Of each pair, what its rows have in common.
    family : (m,) integer ndarray
        Number of that.
    """

    def __init__(self, contrast: str, keys: Sequence[Hashable], things: Sequence[str], sign: str, too_few: str, p: int):
        members: dict[Any, list[int]] = {}
        for i, key in enumerate(keys):
            members.setdefault(key, []).append(i)
        if min(map(len, members.values())) < 2:
            raise ValueError(too_few)
        number = sum(len(some) * (len(some) - 1) // 2 for some in members.values())
        if contrast == "pairwise" and (number > MAX_PAIRS or 8 * number * p > MAX_DENSE_BYTES):
            raise NotImplementedError(
                f'contrasts() of {number:,} pairs: use contrast="reference" or "sequential", or name some levels; the '
                f"gradients of all pairs in {p:,} parameters have {8e-9 * number * p:,.1f} GB"
            )
        found = [(a, b, which) for which, some in enumerate(members.values()) for a, b in _of(contrast, some)]
        self.first, self.second, self.family = (np.array(part) for part in zip(*found, strict=True))
        self.labels = [sign.join((things[b], things[a])) for a, b, _ in found]
        self.keys = [keys[a] for a in self.first]


def critical_value(C: DeltaCovariance, at: Any, adjust: str, alpha: float, seed: int) -> float:
    """Joint critical value of some estimates; only "tukey" needs their full covariance."""
    R = contrasts.correlation(C.in_units(at)) if adjust == "tukey" else None
    return contrasts.joint_critical_value(R, adjust, alpha, seed, int((C.errors[at] > 0).sum()))


@under_usual_errors
class Contrasts(ContrastsOfSettings):
    """Comparisons of adjusted predictions, of effects or of contrasts; made by `contrasts`.

    Attributes
    ----------
    comparison, adjust : str
    """

    def __init__(
        self,
        made: contrasts.Comparisons,
        rows: list[LabelledRow],
        setting_names: list[str],
        row_names: list[str],
        family: ndarray,
        comparison: str,
        adjust: str,
        seed: int,
    ):
        self._labelled, self._setting_names, self._row_names = rows, setting_names, row_names
        self._centre, self._C, self._size, self._exponential = made
        self._family, self.adjust, self._seed = family, adjust, seed
        self.comparison = self._comparison = comparison

    def _estimates(self) -> tuple[ndarray, DeltaCovariance]:
        return self._centre, self._C

    def _sizes(self) -> ndarray:
        return self._size

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance matrix of the differences, or of the logs of ratios."""
        return pd.DataFrame(self._C.matrix(), index=self._index, columns=self._index)

    @cached_property
    def _se(self) -> ndarray:
        return self._C.errors

    def _series(self, values: ndarray, name: str) -> pd.Series:
        return pd.Series(values, index=self._index, name=name)

    @property
    def estimate(self) -> pd.Series:
        """Estimates of the contrasts."""
        return self._series(_exp(self._centre) if self._exponential else self._centre, self.comparison)

    @property
    def se(self) -> pd.Series:
        """Standard errors of the contrasts; of a ratio the standard error of its log times the ratio."""
        se = self._se * _exp(self._centre) if self._exponential else self._se
        return self._series(se, "se")

    @property
    def tvalues(self) -> pd.Series:
        """Differences, or logs of ratios, over their standard errors; NaN where these are 0."""
        return self._series(wald.ratios(self._centre, self._se), "z")

    @property
    def _families(self) -> list[ndarray]:
        """Places of the contrasts of each family, which are adjusted for each other."""
        order = np.argsort(self._family, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self._family[order])) + 1)

    @property
    def pvalues(self) -> pd.Series:
        """Two-sided p-values of no difference, adjusted."""
        z, out = self.tvalues.to_numpy(), np.full(len(self._index), np.nan)
        for at in self._families:
            R = contrasts.correlation(self._C.in_units(at)) if self.adjust == "tukey" else None
            out[at] = contrasts.adjusted_pvalues(z[at], R, self.adjust, self._seed)
        return self._series(out, "pvalue")

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of level 1 - alpha, of all contrasts of a setting together where these are adjusted.

        Parameters
        ----------
        alpha : float
            In (0, 1).

        Returns
        -------
        DataFrame
            ci_lower, ci_upper.
        """
        c = np.empty(len(self._index))
        for at in self._families:
            c[at] = critical_value(self._C, at, self.adjust, alpha, self._seed)
        ends = np.column_stack([self._centre - c * self._se, self._centre + c * self._se])
        ends = _exp(ends) if self._exponential else ends
        return pd.DataFrame(ends, index=self._index, columns=["ci_lower", "ci_upper"])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of the comparison, se, z, pvalue, ci_lower and ci_upper.

        Parameters
        ----------
        alpha : float
            One minus the level of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            A contrast that is 0 by construction (a ratio 1) has the standard error 0 and no test, as a note says.
        """
        table = pd.concat([self.estimate, self.se, self.tvalues, self.pvalues, self.conf_int(alpha)], axis=1)
        nothing = (self._centre == 0) & (self._C.spreads() == 0) & ~self._C.unknown
        note = f"Not tested: {'1' if self._exponential else '0'} by construction, whatever the parameters."
        return with_notes(table, *[note] * int(nothing.any()))


def _exp(x: ndarray) -> ndarray:
    """Exponential, infinite beyond the largest double, without a warning."""
    with np.errstate(over="ignore"):
        return np.exp(x)


def _of(contrast: str, members: list[int]) -> list[tuple[int, int]]:
    if contrast == "reference":
        return [(members[0], b) for b in members[1:]]
    return list(itertools.pairwise(members)) if contrast == "sequential" else list(itertools.combinations(members, 2))
