"""
CALM's figures of a judge (arXiv 2410.02736) that are made of means: error rates, bias intensity, improvement rate.

CALM compares the mean score that a judge gives its own answers with the mean that the other judges give the same
answers, so the judge's leniency stays in it. `scores.score_excess` removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

from calm.errors import EstimateError

MOST_UNREAD: Final = 0.05
"""
The share of unread replies above which what rests on them is no figure.

An unread reply counts as a changed and a wrong verdict, and nothing is subtracted for it, as no neutral words are
asked about. So it moves a rate by its share: up to here by less than the interval of 200 questions is wide. The gate
claims `readable_rate >= 0.95` for the same share.
"""


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


def improvement_rate(original: float, with_reasoning: float) -> float:
    """
    Return CALM's accuracy improvement rate of chain-of-thought: (with_reasoning - original) / original.

    Both are accuracies in [0, 1]; above 0, solving the question first makes the judge right more often. Raises
    `EstimateError` for an original accuracy of 0.

    >>> round(improvement_rate(0.6, 0.642), 3)
    0.07
    """
    if not 0 < original <= 1 or not 0 <= with_reasoning <= 1:
        got = f"{original!r} and {with_reasoning!r}"
        raise EstimateError(f"expected accuracies in [0, 1], the first above 0, got {got}")
    return (with_reasoning - original) / original


def _relative(above: float, below: float, signed: bool) -> float:
    if not (isfinite(above) and isfinite(below) and below > 0):
        raise EstimateError(f"expected mean scores above 0, got {above!r} and {below!r}")
    error = above / below - 1
    return error if signed else abs(error)
