"""
Calibration of stated confidences: whether a judge that says 80 % is right in 80 % of the cases.

| function | what it gives |
|---|---|
| `reliability` | the table: in each bin the mean confidence and the share of right verdicts |
| `calibration_error` | the expected calibration error, beside what chance alone makes of it |

The expected calibration error is never below 0 and chance alone makes it positive: with few cases in a bin it is too
high. So it is given with its mean for a judge whose confidences are exactly right, and beside a debiased form. Sources:
Guo, Pleiss, Sun & Weinberger 2017; Kumar, Liang & Ma 2019 (debiased); Vaicenavicius and others 2019 (resampling).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from random import Random

from calm.errors import EstimateError

BINS = 10
"""Bins at most."""
IN_BIN = 10
"""Cases in a bin, on average, at least."""
DRAWS, NUMBERS = 2000, 4_000_000
"""How often chance is drawn, and how many numbers that takes at most."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases of similar confidence, from `low` to `high`: how many, their mean confidence, the share that is right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class CalibrationError:
    """
    The expected calibration error (`value`), in [0, 1], of a reliability table.

    `chance` is its mean for a judge whose confidences are exactly right, `p` the probability that such a judge has one
    at least as high. `debiased` is the root of the mean squared gap less what chance adds to it.
    """

    value: float
    chance: float
    p: float
    debiased: float
    bins: tuple[Bin, ...]


def reliability(confidences: Sequence[float], right: Sequence[float]) -> tuple[Bin, ...]:
    """
    Return bins of about equally many cases, the least confident first; equal confidences share a bin.

    At most `BINS` bins, of `IN_BIN` cases or more on average. Confidences and `right` lie in [0, 1]. Smallest n: 1.

    Raises `EstimateError` for no cases, or lists of different lengths.

    >>> [(b.n, b.confidence, b.right) for b in reliability([0.5, 0.5, 1.0, 1.0] * 5, [0.0, 1.0, 1.0, 1.0] * 5)]
    [(10, 0.5, 0.5), (10, 1.0, 1.0)]
    """
    if not confidences or len(confidences) != len(right):
        raise EstimateError(f"expected a confidence for each verdict, got {len(confidences)} and {len(right)}")
    pairs = sorted(zip(confidences, right, strict=True))
    wanted = len(pairs) / max(1, min(BINS, len(pairs) // IN_BIN))
    groups: list[list[tuple[float, float]]] = [[]]
    for place, pair in enumerate(pairs):
        full = place >= round(wanted * len(groups)) and groups[-1]
        if full and pair[0] > groups[-1][-1][0]:
            groups.append([])
        groups[-1].append(pair)
    return tuple(
        Bin(g[0][0], g[-1][0], len(g), fsum(c for c, _ in g) / len(g), fsum(r for _, r in g) / len(g)) for g in groups
    )


def calibration_error(confidences: Sequence[float], right: Sequence[bool], rng: Random) -> CalibrationError:
    """
    Return the expected calibration error over bins of equally many cases, and what chance makes of it.

    The mean over cases of |share right - mean confidence| of the bin. Cases are independent. `rng` draws the verdicts
    of a judge whose confidences are exactly right, `DRAWS` times (fewer for very many cases, and never below 100).
    Smallest n: 2.

    Raises `EstimateError` for fewer cases, lists of different lengths, or confidences outside [0, 1].

    >>> found = calibration_error([0.9] * 100, [True] * 60 + [False] * 40, Random(1))
    >>> round(found.value, 2), found.p < 0.01
    (0.3, True)
    """
    import numpy as np

    from calm.statistics.power import uniforms

    if len(confidences) < 2 or not all(0 <= c <= 1 for c in confidences):
        raise EstimateError("expected at least 2 confidences from 0 to 1")
    bins = reliability(confidences, [float(r) for r in right])
    n = len(confidences)
    value = fsum(b.n * abs(b.right - b.confidence) for b in bins) / n
    squares = fsum(b.n * ((b.right - b.confidence) ** 2 - b.right * (1 - b.right) / (b.n - 1)) for b in bins if b.n > 1)
    ordered = np.sort(np.asarray(confidences, dtype=np.float64))
    starts = np.cumsum([0, *(b.n for b in bins[:-1])])
    draws = max(100, min(DRAWS, NUMBERS // n))
    found = np.empty(draws)
    for place in range(draws):
        gaps = (uniforms(rng, (n,)) < ordered) - ordered
        found[place] = np.abs(np.add.reduceat(gaps, starts)).sum() / n
    p = (1 + int((found >= value - 1e-12).sum())) / (1 + draws)
    return CalibrationError(value, float(found.mean()), p, sqrt(max(0.0, squares / n)), bins)
