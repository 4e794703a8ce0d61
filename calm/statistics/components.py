"""
What verdicts vary by: components of variance of crossed sources, and the error of a mean for a design of asks.

The model is that of generalizability theory (Brennan 2001): a verdict is the sum of a mean, an effect of each source
(such as its case, its wording), of each set of sources together, and of the repeat. A component is the variance of one
such effect. Components are estimated from the mean squared differences of pairs of verdicts, by what the pair has in
common (Koch 1968). For complete tables that is the analysis of variance; missing cells need no other formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import expm1, inf, log, prod
from random import Random
from typing import Final, TypeAlias

import numpy as np
from scipy.special import chdtri, ndtri

from calm.errors import EstimateError
from calm.statistics.drift import Floats
from calm.statistics.power import uniforms

CASE, WORDING, ORDER, JUDGE = "case", "wording", "order", "judge"
SOURCES: Final = (CASE, WORDING, ORDER, JUDGE)
ORDERS: Final = 2
"""A pair has two orders, and no more: asked in both, its mean owes nothing to the order."""
DRAWS: Final = 1000
FEWEST: Final = 5
"""A variance over fewer cases says next to nothing."""
TINY: Final = 1e-12

Effect: TypeAlias = tuple[str, ...]
"""The sources that act together, in the order of `SOURCES`; of none: the repeat."""


@dataclass(frozen=True, slots=True)
class Said:
    """One verdict as a number in [0, 1], and the level of each source under which it was given."""

    value: float
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Components:
    """
    The components: `values` by effect, and `draws`, one row of all of them for each resample, in the same order.

    `left` holds the effects that could not be told from 0 and are left out: what was estimated of each, by chance also
    below 0, and its upper bound. `levels` counts what was asked of each source with two levels or more. `mean` is that
    of all verdicts. Without a verdict asked twice alike, what a repeat adds and what all sources add together cannot be
    told apart: `repeated` is False, and the effect of none holds both. `unseen` is the largest variance that so many
    questions, in none of which two verdicts differ, leave open.
    """

    values: Mapping[Effect, float]
    draws: Floats
    left: Mapping[Effect, tuple[float, float]]
    levels: Mapping[str, int]
    mean: float
    repeated: bool
    unseen: float = 0.0


def components(
    said: Sequence[Said], clusters: Mapping[str, str], rng: Random, *, draws: int = DRAWS, level: float = 0.05
) -> Components:
    """
    Return what verdicts vary by. `clusters` maps a case to its question: cases of one question are drawn together.

    A resample gives each cluster a weight by lot (Rubin 1981). Wordings are few, so in each resample the variance of
    their means is divided by a lot of its chi-square distribution (as in Weerahandi 1993), and so is the variance of
    repeats, with the degrees of freedom that the resamples show (Satterthwaite 1946). The variance that is divided is
    at least that of the noise alone: less is luck, and proves nothing. Orders and judges are no sample, so how far
    their means are apart is shifted by a lot of its noise, in the distribution of Student. Effects are left out one by
    one, those of most sources first, unless they are told from 0: by the resamples if they are of a case, else by the F
    test of the variance of their means. That is at a one-sided `level` for a source alone, and for all effects of
    several sources together. Smallest n: 5 cases.

    Raises:
        EstimateError: fewer cases.
    """
    places = [_numbered(one.levels[n] for one in said) for n in range(len(SOURCES))]
    cases = places[0]
    cells = _cells(said, places)
    held = {name: len(found) for name, found in zip(SOURCES, places, strict=True) if len(found) > 1}
    clustered = _numbered(clusters[case] for case in cases)
    if len(clustered) < FEWEST:
        raise EstimateError(
            f"expected verdicts on at least {FEWEST} cases of different questions, got {len(clustered)}"
        )
    of = [clustered[clusters[case]] for case in cases]
    lots = -np.log(uniforms(rng, (draws, len(clustered))))
    shared, means, roots = _pairs(cells, np.vstack([np.ones(len(of)), lots[:, of]]), list(held))
    left: dict[Effect, tuple[float, float]] = {}
    freedom = {effect: float(prod(held[name] - 1 for name in effect)) for effect in _subsets(list(held))}

    def solved(kept: Sequence[Effect], effect: Effect) -> tuple[Floats, bool]:
        """Return an effect in all resamples beside those that are kept, and whether it is told from 0."""
        least = level if len(effect) < 2 else level / several
        found, place = means @ np.linalg.pinv(_columns(kept, shared) * roots), kept.index(effect)
        one = found[:, place]
        told = bool(np.quantile(one[1:], least) > 0)
        if not effect and one[0] > TINY:
            free = _degrees(one, len(clustered), cells[0])
            one[1:] = one[0] * free / chdtri(free, uniforms(rng, (draws,)))
        if (CASE in effect and effect != (CASE,)) or not effect:
            return one, told
        rest = found @ _loads(cells[0], kept, effect) - one
        spread, drawn, free = max(float(one[0] + rest[0]), 0.0), one[1:] + rest[1:], freedom[effect]
        if effect == (CASE,):
            free = max(min(len(clustered) - 1, 2 * spread**2 / max(float(drawn.var()), TINY)), 1.0)
            one[1:] = spread * free / chdtri(free, uniforms(rng, (draws,))) - rest[1:] if one[0] > 0 else one[1:]
            return one, told
        told = bool(spread * free > rest[0] * chdtri(free, least) + TINY)
        number = len(clustered) / (len(cases) * float(_loads(cells[0], [(CASE, *effect)], effect)[0]))  # of a level
        noise = float(rest[0]) if rest[0] > TINY else _unseen(number, level) / number
        if WORDING in effect:
            one[1:] = max(spread, noise) * free / chdtri(free, uniforms(rng, (draws,))) - np.maximum(rest[1:], TINY)
            return one, told and bool(np.quantile(one[1:], least) > 0)
        sizes = dict(zip(kept, found[0].tolist(), strict=True)) | {other: size for other, (size, _) in left.items()}
        beside = [other for other in sizes if CASE not in other and set(effect) < set(other)]  # in no resample of cases
        parts = np.array([max(sizes[other], 0.0) for other in beside]) * _loads(cells[0], beside, effect)
        noise += sum(part for other, part in zip(beside, parts.tolist(), strict=True) if other in left)
        off = float(rest[1:].var()) + sum(2 * parts**2 / [freedom[other] for other in beside])
        sure = max(min(len(clustered) - 1, 2 * noise**2 / max(off, TINY**2)), 1.0)
        one[1:] = _apart(spread, free, noise * sure / chdtri(sure, uniforms(rng, (draws,))), noise, rng)
        return one, told and bool(np.quantile(one[1:], least) > 0)

    kept: list[Effect] = []
    for effect in _subsets(list(held)):  # those that the means can tell from each other
        if np.linalg.matrix_rank(_columns([*kept, effect], shared)) > len(kept):
            kept.append(effect)
    several = sum(len(effect) > 1 for effect in kept)
    for effect in sorted(kept, key=len, reverse=True):
        one, told = solved(kept, effect)
        if effect not in ((), (CASE,)) and not told:
            kept = [other for other in kept if other != effect]
            left[effect] = float(one[0]), max(0.0, float(np.quantile(one[1:], 1 - level)))
    found = np.array([solved(kept, effect)[0] for effect in kept])
    twice = {of[case] for case in np.flatnonzero((cells[0] > 1).any(axis=(1, 2, 3)))}
    return Components(
        dict(zip(kept, found[:, 0].tolist(), strict=True)),
        found[:, 1:].T,
        left,
        held,
        float(cells[1].sum() / cells[0].sum()),
        bool(twice),
        _unseen(len(twice or clustered), level),
    )


def _degrees(found: Floats, clusters: int, asks: Floats) -> float:
    """Return the degrees of freedom of a variance of repeats (Satterthwaite): no more than what was asked again."""
    spread = max(float(found[1:].var()) * (1 + 2 / (clusters - 1)), TINY)
    again = float((asks - 1).clip(0).sum())
    return max(min(2 * float(found[0]) ** 2 / spread, again or inf), 1.0)


def _cells(said: Sequence[Said], places: Sequence[Mapping[str, int]]) -> Floats:
    """Return the number of verdicts at each place, their sum, and that of their squares."""
    cells = np.zeros((3, *map(len, places)))
    at = tuple([numbers[one.levels[n]] for one in said] for n, numbers in enumerate(places))
    for n in range(3):
        np.add.at(cells[n], at, np.array([one.value for one in said]) ** n)
    return cells


def _unseen(number: float, level: float) -> float:
    """Return the largest variance of an ask that so many questions without a difference leave open."""
    return -expm1(log(level) / number) / 2


def _apart(spread: float, free: float, noises: Floats, noise: float, rng: Random) -> Floats:
    """Return how far means are apart, if each of some noises moved what was seen: `spread`, which holds `noise`."""
    seen = max(spread * free - noise * (free - 1), 0.0) ** 0.5
    apart: Floats = np.maximum(seen + ndtri(uniforms(rng, noises.shape)) * np.sqrt(noises), 0.0) ** 2 / free
    return apart


def _subsets(names: Sequence[str]) -> Iterator[Effect]:
    return (one for size in range(len(names) + 1) for one in combinations(names, size))


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _columns(effects: Sequence[Effect], shared: Sequence[frozenset[str]]) -> Floats:
    """Return for each component in which mean over pairs it is, by the sources that each of them shares."""
    return np.array([[float(not effect or not set(effect) <= one) for one in shared] for effect in effects])


def _pairs(cells: Floats, weights: Floats, held: Sequence[str]) -> tuple[list[frozenset[str]], Floats, Floats]:
    """
    Return half the mean squared difference of two verdicts, by the sources that they share, for each row of weights.

    It is the sum of the components of all effects that hold a source which they do not share, and of the repeat. Each
    cell counts once, however often it was asked. The means are multiplied by the roots of their numbers of pairs, which
    follow, for least squares.
    """
    asks = cells[0]
    alone = cells / np.maximum(asks, 1.0)
    beside = [name for name in held if name != CASE]
    sums: dict[tuple[bool, Effect], Floats] = {}
    for shared in _subsets(beside):  # the pairs that share these sources, and maybe others
        gone = tuple(1 + place for place, name in enumerate(SOURCES) if name != CASE and name not in shared)
        n, s, q = alone.sum(axis=gone).reshape(3, cells.shape[1], -1)
        within = np.array([(n * q - s * s).sum(axis=1), (n * n).sum(axis=1)])
        every = [(weights @ n) * (weights @ q) - (weights @ s) ** 2, (weights @ n) ** 2]
        sums[True, shared] = within @ weights.T
        sums[False, shared] = np.array(every).sum(axis=2) - within @ (weights**2).T
    rows, means, counts = [], [], []
    for same, shared in sums:
        more = [one for one in _subsets(beside) if set(shared) <= set(one)]
        apart, pairs = sum((-1) ** (len(one) - len(shared)) * sums[same, one] for one in more)
        count = pairs[0] * (asks.sum() / alone[0].sum()) ** 2
        if same and len(shared) == len(beside):  # of a cell with itself: the variance of its asks
            twice = asks > 1
            inside = np.where(twice, (cells[2] - cells[1] * alone[1]) / np.maximum(asks - 1.0, 1.0), 0.0)
            apart, pairs = (weights @ one.reshape(len(one), -1).sum(axis=1) for one in (inside, twice))
            count = (asks * (asks - 1.0)).sum()
        if count > 0.5:  # a whole number
            rows.append(frozenset((*shared, CASE) if same else shared))
            means.append(apart / np.maximum(pairs, TINY))
            counts.append(count)
    roots = np.sqrt(counts)
    return rows, np.array(means).T * roots, roots


def _loads(asks: Floats, effects: Sequence[Effect], of: Effect) -> Floats:
    """
    Return how much of each component is in the variance of the means of the levels of an effect.

    Where cells are missing, the means of a source also differ by what others add: their levels weigh differently.
    """

    def summed(table: Floats, *names: str) -> Floats:
        total: Floats = table.sum(axis=tuple(k for k, name in enumerate(SOURCES) if name not in names), keepdims=True)
        return total

    there = (asks > 0).astype(float)
    shares = there / np.maximum(summed(there, *of), 1.0)
    levels = summed(there, *of) > 0
    number, found = int(levels.sum()), []
    for effect in effects:
        inside = summed(shares, *of, *effect) ** 2 if effect else shares**2 / np.maximum(asks, 1.0)
        load = float(summed(inside, *of)[levels].mean())
        if effect and not set(of) <= set(effect):
            both = float((summed(shares, *effect) ** 2).sum())
            load = load - (both - load * number) / (number * (number - 1)) if len(of) == 1 else 0.0
        found.append(load)
    return np.array(found)


@dataclass(frozen=True, slots=True)
class Asks:
    """
    A design: how many cases, and in how many wordings, orders and repeats, by how many judges, each case is asked.

    If wordings are `dealt`, so many are in use in all, and each case is asked in `wordings` of them, in turn.
    """

    cases: int
    wordings: int = 1
    orders: int = 1
    repeats: int = 1
    judges: int = 1
    dealt: int = 0

    @property
    def each(self) -> int:
        """The asks of a case."""
        return self.wordings * self.orders * self.repeats * self.judges

    @property
    def calls(self) -> int:
        """All asks."""
        return self.cases * self.each


def errors(found: Components, asks: Asks, *, cases: bool) -> tuple[float, Floats]:
    """
    Return the standard error of the mean verdict for a design, and one for each resample.

    The mean is over all wordings that say the same, both orders, and the judges that were asked; with `cases` over all
    cases of the kind, else over those that are asked. One order of a pair is drawn by lot for each case.

    >>> import numpy
    >>> values = {(): 0.04, ("case",): 0.09, ("wording",): 0.01}
    >>> some = Components(values, numpy.zeros((0, 3)), {}, {"case": 9, "wording": 3}, 0.5, True)
    >>> round(errors(some, Asks(100, wordings=2), cases=False)[0] ** 2, 6)  # 0.01 / 2 + 0.04 / 200
    0.0052
    """
    whole = {ORDER: ORDERS, JUDGE: found.levels.get(JUDGE, 1), **({} if cases else {CASE: asks.cases})}
    size = {CASE: asks.cases, WORDING: asks.wordings, ORDER: asks.orders, JUDGE: asks.judges}
    loads = []
    for effect in found.values:
        among = {**size, WORDING: asks.dealt or asks.wordings} if effect and CASE not in effect else size
        load = 1 / prod(among[name] for name in effect) if effect else 1 / asks.calls
        if ORDER in effect and CASE not in effect and asks.orders == 1:
            load *= (1 + 1 / asks.cases) / ORDERS
        if effect and set(effect) <= set(whole):
            load -= 1 / prod(whole[name] for name in effect)
        loads.append(load)
    values = np.maximum(np.array(list(found.values.values())), 0.0)
    return float(np.sqrt(values @ np.array(loads))), np.sqrt(np.maximum(found.draws, 0.0) @ np.array(loads))
