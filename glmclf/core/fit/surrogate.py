"""Surrogate likelihood of a large problem, of a fixed part of its rows: a start, and the curvature of the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy import ndarray

from glmclf.core.likelihood.objective import Evaluation, Objective

MIN_PART_ROWS = 3_000
MIN_PART_ROWS_PER_PARAMETER = 250
PART_ONE_ROW_IN = 100  # rows of a large whole is in the part, up to
MAX_PART_ROWS_BY_SHARE = 250_000  # rows of a stream are held in memory for it, and more tell little more
MIN_PARTS_OF_WHOLE = 8  # rows of all over rows of the part, below which it is no help
MAX_CHORD_STEPS = 8  # to the maximum of the surrogate
CORRECTION_TOL2 = 1e-6  # share of the surrogate's correction, squared
# lengths of Newton's step that the surrogate's may be off it: a part without rare events tells nothing
MAX_DETOUR = 0.5
MAX_EXCESS_DISTANCE2 = 10.0  # squared distance of the part's maximum from that of all rows over the expected one


class SurrogateLikelihood:
    """The likelihood of every s-th run of rows, as a surrogate for that of all.

    Newton's step errs by what the information changes on its way. The rows of the part tell that change to within a
    few hundredths, and cost little: the step to the maximum of ::

        score(theta + d) = score(theta) - I(theta) d + s [score_part(theta + d) - score_part(theta) + I_part(theta) d]

    which agrees with all rows in value, score and information at theta, leaves a few hundredths of the error of
    Newton's (the surrogate likelihood of Jordan, Lee & Yang 2019, with the information of all rows besides).

    Parameters
    ----------
    objective : Objective
    times : int
        One of how many runs of rows is in the part.
    """

    def __init__(self, objective: Objective, times: int):
        self.times, self.part = times, objective.every(times)
        self._at: tuple[ndarray, Evaluation] | None = None

    @classmethod
    def of(cls, objective: Objective, p: int) -> SurrogateLikelihood | None:
        """Surrogate of a part of the rows that tells p parameters well; None where it would be much of the whole."""
        share = min(objective.n // PART_ONE_ROW_IN, MAX_PART_ROWS_BY_SHARE)
        times = objective.n // max(MIN_PART_ROWS, MIN_PART_ROWS_PER_PARAMETER * p, share)
        return cls(objective, times) if times >= MIN_PARTS_OF_WHOLE else None

    def misled(self, opening: Evaluation) -> bool:
        """Whether all rows, evaluated at the part's estimate, say that it is far from where they end: a column may
        vary in few rows, none of which is in the part."""
        try:
            decrement = float(opening.factor.solve(opening.score) @ opening.score)
        except np.linalg.LinAlgError:
            return True
        return not decrement <= MAX_EXCESS_DISTANCE2 * self.part.unit * self.times * len(opening.score)

    def _evaluation(self, theta: ndarray) -> Evaluation:
        """Evaluation of the part's likelihood, with the observed information."""
        if self._at is None or self._at[0] is not theta:
            self._at = theta, self.part(theta, False)
        return self._at[1]

    def step(self, theta: ndarray, evaluation: Evaluation, newton: ndarray) -> ndarray:
        """The step from theta to the surrogate's maximum; Newton's where this one goes astray.

        Parameters
        ----------
        theta : (p,) ndarray
        evaluation : Evaluation
            Of all rows at theta, with the observed information.
        newton : (p,) ndarray
            ``evaluation.factor.solve(evaluation.score)``.
        """
        part, factor = self._evaluation(theta), evaluation.factor
        d, correction = newton, np.inf
        for _ in range(MAX_CHORD_STEPS):
            bent = self.part.gradient(theta + d).score - part.score + part.information @ d
            residual = evaluation.score - evaluation.information @ d + self.times * bent
            move = factor.solve(residual)
            size = float(move @ residual)
            if not size <= correction:
                return newton
            correction, d = (size if np.isinf(correction) else correction), d + move
            if size <= CORRECTION_TOL2 * correction:
                break
        astray = d - newton
        return d if astray @ evaluation.information @ astray <= MAX_DETOUR**2 * (newton @ evaluation.score) else newton

    def moved(self, theta: ndarray, evaluation: Evaluation, step: ndarray) -> Evaluation:
        """The evaluation with the information at theta + step, as the part tells how it changes."""
        change = self.part(theta + step, False).information - self._evaluation(theta).information
        return replace(evaluation, information=evaluation.information + self.times * change)
