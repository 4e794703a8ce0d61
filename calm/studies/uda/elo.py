"""Elo ratings of several judges side by side, with a K-factor and an outcome for each comparison, in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, isfinite, log
from random import Random
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.errors import ConfigError
from calm.statistics.power import uniforms

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Elo:
    """
    The rule of the ratings: where they start, how far one result moves them, and what a difference of them means.

    The expected share of the first is 1 / (1 + base ** ((second - first) / scale)). The paper has base e, chess 10.
    """

    start: float = 1200.0
    k: float = 32.0
    base: float = e
    scale: float = 400.0

    def __post_init__(self) -> None:
        numbers = (self.start, self.k, self.base, self.scale)
        if not all(isfinite(x) for x in numbers) or self.base <= 1 or self.scale <= 0 or self.k <= 0:
            raise ConfigError(
                f"expected finite start, k above 0, base above 1 and scale above 0, got start={self.start!r}, "
                f"k={self.k!r}, base={self.base!r}, scale={self.scale!r}; change the one that is outside"
            )

    @property
    def slope(self) -> float:
        """Return the factor from a difference of ratings to log-odds."""
        return log(self.base) / self.scale


@dataclass(frozen=True, slots=True)
class Lanes:
    """
    Comparisons of several judges side by side: a row for each turn, a column for each judge, in the judge's order.

    `source` is the number of the comparison, -1 where a judge has no more of them; `first` and `second` are the models.
    """

    source: Ints
    first: Ints
    second: Ints

    @property
    def live(self) -> NDArray[np.bool_]:
        """Return where there is a comparison."""
        return self.source >= 0

    def spread(self, values: NDArray[np.float64], fill: float = 0.0) -> Floats:
        """Return one value for each comparison, arranged as the lanes, `fill` where there is none."""
        laid: Floats = np.where(self.live, values[np.maximum(self.source, 0)], fill)
        return laid


def lanes(judge: Ints, first: Ints, second: Ints, judges: int) -> Lanes:
    """Return comparisons arranged by judge, each judge's in the order given."""
    per_judge = [np.flatnonzero(judge == j) for j in range(judges)]
    longest = max((len(places) for places in per_judge), default=0)
    source = np.full((longest, judges), -1, np.int32)
    for j, places in enumerate(per_judge):
        source[: len(places), j] = places
    at = np.maximum(source, 0)
    return Lanes(source, first[at].astype(np.int32), second[at].astype(np.int32))


def shuffled(laid: Lanes, rng: Random) -> Lanes:
    """Return each judge's comparisons in a new order, the empty turns last."""
    drawn = np.where(laid.live, uniforms(rng, laid.source.shape), 2.0)
    order = np.argsort(drawn, axis=0, kind="stable")
    source, first, second = (np.take_along_axis(x, order, axis=0) for x in (laid.source, laid.first, laid.second))
    return Lanes(source, first, second)


def rate(laid: Lanes, share: Floats, models: int, rule: Elo, k: Floats | None = None) -> Floats:
    """
    Return the last ratings, a row for each judge and a column for each model.

    `share` is what the first won, arranged as the lanes; `k` likewise, by default the rule's own for all. What one
    model gains the other loses, so the sum of a judge's ratings stays `start` times the number of models.
    """
    turns, judges = laid.source.shape
    factors = np.full((turns, judges), rule.k) if k is None else k
    factors = np.where(laid.live, factors, 0.0)
    ratings = np.full((judges, models), rule.start)
    rows = np.arange(judges)
    for turn in range(turns):
        first, second = laid.first[turn], laid.second[turn]
        ahead = ratings[rows, first] - ratings[rows, second]
        expected = 0.5 * (1 + np.tanh(0.5 * rule.slope * ahead))  # the logistic function, without overflow
        change = factors[turn] * (share[turn] - expected)
        ratings[rows, first] += change
        ratings[rows, second] -= change
    return ratings
