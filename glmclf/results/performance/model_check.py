"""Check of a fit: calibration, residuals, influence, overlap and laws, each found, judged and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from glmclf.checks import check_choice
from glmclf.core.numerics import seeds
from glmclf.core.rows.asked import ASKED, under_usual_errors
from glmclf.errors import DataError, InferenceWarning, escaped, without_warnings
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.results.performance.findings import FINE, LOOK, PROBLEM, REFUSED, Finding, Inspection, unbroken
from glmclf.results.performance.fit_checks import PANELS
from glmclf.results.performance.law_checks import LAW_PANELS
from glmclf.results.tables.frames import notebook

VERDICTS = ("", FINE, LOOK, PROBLEM)  # the worst last
PANEL_ORDER = (
    *("estimate", "calibration", "regressors", "features", "residuals", "distances", "influence", "covariances"),
    *("independence", "collinearity", "roc"),
)
CHECK_COLUMNS = ["panel", "found", "value", "pvalue", "verdict", "threshold", "source"]


@under_usual_errors
class ModelCheck:
    """Check of a fit. Made by `check`, not by hand.

    Attributes
    ----------
    panels : list of str
        What was looked at, in the order in which it is drawn.
    left_out : Series
        Panels, and checks within them, that the fit cannot have: why.
    """

    def __init__(self, res: Any, panels: str | Sequence[str] | None, alpha: float, seed: Any):
        known = {name: (PANELS | LAW_PANELS)[name] for name in PANEL_ORDER}
        if not (panels is None or isinstance(panels, (str, list, tuple))):
            raise TypeError(f"panels={panels!r}: a name or a list of names, of {', '.join(known)}")
        asked = None if panels is None else [panels] if isinstance(panels, str) else list(panels)
        for name in known if asked is None else asked:
            check_choice("panels", name, known)
        if asked == []:
            raise ValueError(f"panels=[]: name one at least, of {', '.join(known)}")
        self.results, self.alpha = res, check_alpha(alpha)
        self._inspection = Inspection(res, self.alpha, seeds.generator(seed))
        self._findings: dict[str, list[Finding]] = {}
        with without_warnings(InferenceWarning):
            for name, panel in known.items():
                if asked is None or name in asked:
                    self._look(name, panel, asked is not None)
        self.panels = list(self._findings)

    def _look(self, name: str, panel: Callable[[Inspection], list[Finding]], asked: bool) -> None:
        """Fill a panel, or say why the fit cannot have it."""
        token = ASKED.set(None)  # errors are to name the method that cannot be had
        try:
            self._findings[name] = panel(self._inspection)
        except REFUSED as error:
            if asked:
                kind = NotImplementedError if isinstance(error, NotImplementedError) else DataError
                raise kind(f'check(panels=["{name}"]): {error}') from None
            self._inspection.drawn.pop(name, None)
            self._inspection.why[name] = str(error)
        finally:
            ASKED.reset(token)

    # ---------------------------------------------------------------------------------------------------- answers
    @property
    def table(self) -> pd.DataFrame:
        """Table of the checks, a row each.

        Columns panel, found (in words), value, pvalue, verdict, threshold, source.
        """
        rows = [(f.check, name, *f[1:]) for name, found in self._findings.items() for f in found]
        return pd.DataFrame(rows, columns=["check", *CHECK_COLUMNS]).set_index("check")

    @property
    def left_out(self) -> pd.Series:
        """Reasons why panels, or checks within them, are not there."""
        return pd.Series(self._inspection.why, dtype=object)

    @property
    def verdict(self) -> str:
        """The worst verdict of all checks."""
        return _worst(f for found in self._findings.values() for f in found)

    def words(self, panel: str) -> str:
        """Words and verdict of a panel: those of its worst check, and how many more are as bad.

        Parameters
        ----------
        panel : str
            One of `panels`.
        """
        found, worst = self._findings[panel], self.verdict_of(panel)
        first, *more = [f.found for f in found if f.verdict == worst]
        first += f" (and {len(more)} more)" if more and worst != FINE else ""
        return first + (f": {worst}" if worst else "")

    def verdict_of(self, panel: str) -> str:
        """The worst verdict of a panel.

        Parameters
        ----------
        panel : str
            One of `panels`.
        """
        return _worst(self._findings[panel])

    def __repr__(self) -> str:
        lines = [self._heading()]
        lines += [
            f"  {row.Index}: {row.found}" + f": {row.verdict}" * bool(row.verdict) for row in self.table.itertuples()
        ]
        lines += self._unseen() or [f"left out: {', '.join(self._inspection.why)}"] * bool(self._inspection.why)
        return escaped("\n".join(lines))

    def _repr_html_(self) -> str:
        table = self.table[["panel", "found", "verdict", "threshold", "source"]]
        return notebook(self._heading(), table.assign(found=table["found"].map(unbroken)), *self._unseen())

    def _heading(self) -> str:
        """First line; where the estimate alone was looked at, its verdict is none of the fit."""
        alone = "only the estimate was looked at: " if self.panels == ["estimate"] else ""
        return f"Check of {type(self.results.model).__name__}: {alone}{self.verdict}"

    def _unseen(self) -> list[str]:
        """What could not be looked at, a line a reason, where the estimate alone could be."""
        if self.panels != ["estimate"]:
            return []
        reasons: dict[str, list[str]] = {}
        for name, why in self._inspection.why.items():
            if not why.startswith(f"{name} is of "):  # other models
                reasons.setdefault(re.sub(r"^\w+\(\) ", "each ", why), []).append(name)
        return [f"not looked at: {', '.join(names)}: {why}" for why, names in reasons.items()]


def _worst(findings: Iterable[Finding]) -> str:
    return max((f.verdict for f in findings), key=VERDICTS.index, default="")
