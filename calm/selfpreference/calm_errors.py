"""
CALM's error rates of self-enhancement and refinement (arXiv 2410.02736), and whether a judge knows its own answers.

CALM compares the mean score that a judge gives its own answers with the mean that the other judges give the same
answers, so the judge's leniency stays in it. `framing_scores.score_excess` removes it, against all outsiders or one
neutral outsider; `self_enhancement` shows the three side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.errors import EstimateError
from calm.selfpreference.framing_scores import ScoreTable, score_excess
from calm.statistics.intervals import clopper_pearson, newcombe


def self_enhancement_error(own: float, by_others: float, *, signed: bool = True) -> float:
    """
    Return CALM's self-enhancement error from two mean scores above 0: own / by_others - 1, or its absolute value.

    `own` is the mean score that a judge gives its own answers, `by_others` the mean that the other judges give the same
    answers. The camera-ready is signed (above 0: the judge rates itself higher), the preprint |1 - own / by_others|.

    >>> round(self_enhancement_error(5.21, 6.25), 4), round(self_enhancement_error(5.21, 6.25, signed=False), 4)
    (-0.1664, 0.1664)
    """
    return _relative(own, by_others, signed)


def refinement_error(refined: float, with_history: float, *, signed: bool = True) -> float:
    """
    Return CALM's refinement-aware error from two mean scores above 0.

    `refined` is the mean score of refined answers, `with_history` that of the same answers shown with their history.
    Camera-ready: with_history / refined - 1. Preprint: |1 - refined / with_history|.

    >>> round(refinement_error(8.31, 8.45), 4)
    0.0168
    """
    return _relative(with_history, refined, True) if signed else _relative(refined, with_history, False)


def bias_intensity(consistency_rate: float, robustness_rates: Sequence[float]) -> float:
    """
    Return CALM's bias intensity score of a data set: the consistency rate minus the mean robustness rate.

    Rates are in [0, 1], the result in [-1, 1]. Raises `EstimateError` for no robustness rate.

    >>> round(bias_intensity(0.9, [0.8, 0.6]), 3)
    0.2
    """
    if not robustness_rates:
        raise EstimateError("expected at least one robustness rate, got none")
    return consistency_rate - sum(robustness_rates) / len(robustness_rates)


@dataclass(frozen=True, slots=True)
class SelfEnhancement:
    """
    CALM's error of a judge, and what is left of it.

    `own` and `by_others` are mean scores of the judge's own answers. `over_judges` is the excess over all outsiders,
    `over_outsider` that over the neutral one, if one was named; both in points of the scale, 0 for a fair judge.
    """

    judge: str
    own: float
    by_others: float
    error: float
    over_judges: Estimate
    over_outsider: Estimate | None = None


def self_enhancement(
    table: ScoreTable, judge: str, rng: Random, *, outsider: str | None = None, level: float = 0.05
) -> SelfEnhancement:
    """
    Return CALM's self-enhancement error of a judge with its excess over the other judges and over a neutral outsider.

    `outsider` should be a judge that writes no answers of the table and is of no generator's family. Scores by other
    judges are pooled over judges and items, missing ones left out.

    Raises `EstimateError` where the judge wrote nothing, or no other judge scored its answers.
    """
    row, column = table.grid.row(judge), table.grid.columns(judge, "self")[0]
    given = table.scores[:, column]
    own = given[row][~np.isnan(given[row])]
    others = np.delete(given, row, axis=0)
    others = others[~np.isnan(others)]
    if not own.size or not others.size:
        raise EstimateError(f"expected scores of the answers of {judge!r} by itself and by others, got none")
    mean_own, mean_others = float(own.mean()), float(others.mean())
    return SelfEnhancement(
        judge,
        mean_own,
        mean_others,
        self_enhancement_error(mean_own, mean_others),
        score_excess(table, judge, rng, level=level),
        None if outsider is None else score_excess(table, judge, rng, outsiders=[outsider], level=level),
    )


def self_recognition(recognised: int, asked: int, choices: int, *, level: float = 0.05) -> Estimate:
    """
    Return how much more often than chance a judge picks its own answer out of `choices`, in [-1, 1].

    The judge is asked which of the answers it wrote, in all orders or in a balanced one; chance is 1 / choices. Exact
    one-sided bounds at `level` (Clopper & Pearson 1934). Items are independent. Smallest n: 1.

    Raises `EstimateError` for no items, or fewer than 2 choices.

    >>> round(self_recognition(60, 100, 2).value, 2)
    0.1
    """
    if choices < 2:
        raise EstimateError(f"expected at least 2 answers to choose from, got choices={choices}")
    low, high = clopper_pearson(recognised, asked, level)
    chance = 1 / choices
    return Estimate(recognised / asked - chance, low - chance, high - chance, asked, level)


def recognition_split(
    recognised_own: int, recognised: int, unrecognised_own: int, unrecognised: int, *, level: float = 0.05
) -> Estimate:
    """
    Return how much more often a judge prefers its own answer if it recognised it than if it did not, in [-1, 1].

    Newcombe's bounds for two independent rates, each one-sided at `level`. Above 0, recognition may be why the judge
    prefers itself. Raises `EstimateError` where one of the groups is empty.

    >>> round(recognition_split(40, 50, 25, 50).value, 2)
    0.3
    """
    low, high = newcombe(recognised_own, recognised, unrecognised_own, unrecognised, level)
    value = recognised_own / recognised - unrecognised_own / unrecognised
    return Estimate(value, low, high, recognised + unrecognised, level)


def _relative(above: float, below: float, signed: bool) -> float:
    if not (isfinite(above) and isfinite(below) and below > 0):
        raise EstimateError(f"expected mean scores above 0, got {above!r} and {below!r}")
    error = above / below - 1
    return error if signed else abs(error)
