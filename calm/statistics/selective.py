"""
Selective decisions: which share of the items may be decided without a second look, at a bounded risk of error.

The items are ordered by a confidence. Thresholds are tried from the surest down, and each is a test of the claim that
the items above it are wrong in at most a given share. The first test that fails ends the search (fixed-sequence
testing), so all of them together err with probability `level`, however many thresholds there are. The share is one of
items: items that come in a cluster are no independent evidence, and each of them counts. Sources: Geifman & El-Yaniv
2017 (selective risk), Angelopoulos, Bates, Candes, Jordan & Lei 2021 (Learn then Test).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, log

from calm.errors import EstimateError
from calm.statistics.intervals import clopper_pearson, clustered_t

NEAR = 1e-9
"""Confidences that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One threshold: the items whose confidence is at least so high.

    `share` is theirs of all items, `n` counts them, `errors` is the sum of their errors, `clusters` counts the clusters
    in which they come. `effective` is the number of independent items that tell as much: at most `clusters`, and fewer
    where they differ in size. `bound` is the upper bound of their risk at the level of the search.
    """

    threshold: float
    share: float
    n: int
    errors: float
    bound: float
    clusters: int
    effective: float


@dataclass(frozen=True, slots=True)
class Selective:
    """
    The thresholds in the order in which they were tried, and the last one that was proven (None: none was).

    `least` is the effective number of items without any error that proves the smallest share; `passed` is the last
    threshold above which there were fewer, so that it was not tried.
    """

    steps: tuple[Step, ...]
    chosen: Step | None
    least: int
    passed: Step | None = None


def least_without_error(risk: float, level: float) -> int:
    """
    Return how many items without an error prove that at most a share `risk` is wrong: ln(level) / ln(1 - risk).

    >>> least_without_error(0.05, 0.05), least_without_error(0.10, 0.05)
    (59, 29)
    """
    if not (0 < risk < 1 and 0 < level < 1):
        raise EstimateError(f"expected a risk and a level between 0 and 1, got {risk!r} and {level!r}")
    return ceil(log(level) / log(1 - risk) - 1e-12)


def select(
    confidences: Sequence[float],
    wrong: Sequence[float],
    thresholds: Sequence[float],
    *,
    risk: float,
    level: float = 0.05,
    clusters: Sequence[Hashable] | None = None,
) -> Selective:
    """
    Return the largest share of items, the surest first, that is wrong in at most `risk`, with probability 1 - level.

    `wrong` holds the error of each item, in [0, 1], `thresholds` are chosen without looking at it. Thresholds above
    which too few items lie to prove anything are passed over, which also needs no label. For items that are each a
    cluster of their own the bound is that of Clopper & Pearson. Otherwise it is the larger of two. The first is that
    of Clopper & Pearson for clusters, each counted by its errors over the greatest size (a number in [0, 1], never more
    extreme than a yes or no of the same mean), times greatest over mean size. It holds where a few large clusters may
    be wrong and none in the sample is. The second is `clustered_t`, which knows that sizes vary, too.

    The guarantee is exact for single items of which those of less confidence are not rarer wrong than surer ones. Where
    they are, a threshold that was passed over may hide it; simulations stay below the level there, and near it with
    clusters of different size (`tests/statistics/test_selective.py`). No bound knows of large clusters that are so rare
    that the sample holds none.

    Smallest n: `least_without_error(risk, level)` clusters of equal size; with fewer nothing is chosen.

    Raises `EstimateError` for lists of different lengths, no item or no threshold.

    >>> found = select([0.9] * 60 + [0.5] * 40, [0.0] * 60 + [0.5] * 40, [1.0, 0.9, 0.5], risk=0.05)
    >>> found.chosen.threshold, found.chosen.share, round(found.chosen.bound, 4)
    (0.9, 0.6, 0.0487)
    """
    if not confidences or not thresholds or len(confidences) != len(wrong):
        raise EstimateError(
            f"expected a confidence and an error for each item, and a threshold, got {len(confidences)}, "
            f"{len(wrong)} and {len(thresholds)}"
        )
    names: Sequence[Hashable] = range(len(wrong)) if clusters is None else clusters
    least = least_without_error(risk, level)
    items = sorted(zip(confidences, wrong, names, strict=True), key=lambda item: -item[0])
    sums: dict[Hashable, float] = defaultdict(float)
    sizes: Counter[Hashable] = Counter()
    steps: list[Step] = []
    chosen: Step | None = None
    passed: Step | None = None
    place = 0
    for threshold in sorted(set(thresholds), reverse=True):
        added = 0
        while place < len(items) and items[place][0] >= threshold - NEAR:
            sums[items[place][2]] += items[place][1]
            sizes[items[place][2]] += 1
            place, added = place + 1, added + 1
        if not added:
            continue
        step = _step(threshold, place / len(items), sums, sizes, level)
        if step.effective < least - NEAR:
            passed = step
            continue
        steps.append(step)
        if step.bound > risk:
            break
        chosen = step
    return Selective(tuple(steps), chosen, least, passed)


def _step(
    threshold: float, share: float, sums: Mapping[Hashable, float], sizes: Mapping[Hashable, int], level: float
) -> Step:
    """Return a threshold with the bound of the risk of the items above it, given by cluster."""
    counts = list(sizes.values())
    n, errors = sum(counts), fsum(sums.values())
    stretch = len(counts) * max(counts) / n
    least = clopper_pearson(0.0, len(counts), level)[1] * stretch
    effective = log(level) / log(1 - least) if least < 1 else 1.0
    bound = min(1.0, clopper_pearson(min(errors / max(counts), len(counts)), len(counts), level)[1] * stretch)
    if n > len(counts) > 1:
        bound = max(bound, min(1.0, clustered_t([sums[name] for name in sizes], counts, 0.0, 1.0, level)[1]))
    return Step(threshold, share, n, errors, bound, len(counts), effective)
