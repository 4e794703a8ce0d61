"""
Agreement of two raters as statistics of all items together, with the influence of each item.

| function | what it gives |
|---|---|
| `kappa` | agreement beyond chance (Cohen 1960), plain or by the squared distance of categories (1968) |
| `gwet_ac` | agreement beyond chance that stays high where one category prevails (AC1, AC2: Gwet 2008, 2014) |
| `balanced_accuracy` | mean over the categories of the truth of the share of it that is found |
| `kendall_tau_b` | share of pairs of items in the same order minus that in the other one, for ties corrected |
| `spearman` | correlation of mid-ranks |
| `without_order` | what either is where a rater says the same of every item |

None is a mean over items. Each comes as the value and, for each item, the value plus the item's influence on it (the
infinitesimal jackknife: Efron 1982; for a kappa the large-sample variance of Fleiss, Cohen & Everitt 1969). The mean of
these is the value, and an interval for a mean over items (`clustered_t`) is one for the statistic. `low` and `high` are
where an item would lie that agrees as little, or as much, as one can: the interval places its pseudo-items there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite, sqrt
from operator import mul
from statistics import fmean
from typing import Literal

from calm.errors import EstimateError

Weights = Literal["none", "quadratic"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A value, the same plus the influence of each item, and the ends that an item could be at."""

    value: float
    items: tuple[float, ...]
    low: float
    high: float


def kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    categories: Sequence[Hashable],
    *,
    weights: Weights = "none",
    strata: Sequence[Hashable] | None = None,
) -> Statistic:
    """
    Return kappa, in [-1, 1]; chance gives 0. The value is that of `calm.statistics.agreement.cohen_kappa`.

    A disagreement costs 1, or with quadratic weights the squared distance of the numbers that the categories are. Where
    items are of several kinds, `strata` names that of each: chance is that of raters who know the kind and no more, the
    mean over kinds of the disagreement expected within each (kappa weighted by it: Barlow, Lai & Azen 1991).

    Raises `EstimateError` for no items, or where both raters give one and the same category throughout (each stratum).
    """
    one, other, known = _values(first, second, categories, weights)
    kinds = [None] * len(one) if strata is None else strata
    items_of: dict[Hashable, list[int]] = {}
    for i, kind in enumerate(kinds):
        items_of.setdefault(kind, []).append(i)
    observed = [_cost(a, b, weights) for a, b in zip(one, other, strict=True)]
    chance, within, most = [0.0] * len(one), [0.0] * len(one), 0.0
    for here in items_of.values():
        from_first, from_second = (_mean_cost([side[i] for i in here], weights) for side in (one, other))
        by_kind = fmean(from_second(one[i]) for i in here)
        for i in here:
            chance[i], within[i] = from_second(one[i]) + from_first(other[i]) - by_kind, by_kind
        most = max(most, max(from_second(label) + from_first(label) for label in known) - by_kind)
    expected, apart = fmean(within), fmean(observed)
    alike = len({*zip(kinds, one, strict=True), *zip(kinds, other, strict=True)}) == len(items_of)
    if expected <= 0 or alike:  # rounding can leave a little where all are the same
        raise EstimateError(f"expected labels that differ, got {first[0]!r} throughout: kappa does not exist")
    value, far = 1 - apart / expected, _cost(min(known), max(known), weights)
    slope = apart / expected**2
    items = [value - (o - apart) / expected + slope * (c - expected) for o, c in zip(observed, chance, strict=True)]
    # where an item would lie on which both agree by the rarest label: a sample may hold none of these
    highest = value + apart / expected + slope * (most - expected)
    return _statistic(value, items, 1 - far / expected, highest)


def gwet_ac(
    first: Sequence[Hashable],
    second: Sequence[Hashable | None],
    categories: Sequence[Hashable],
    *,
    weights: Weights = "none",
) -> Statistic:
    """
    Return Gwet's AC1, or AC2 with quadratic weights, in [-1, 1]; chance gives 0.

    `categories` are all that a rater could have given: their number counts, and one that occurs in one item of a
    thousand would change the value by a jump if only those that occur were taken. A second label None agrees with
    nothing and is of no category.

    Raises `EstimateError` for no items, or fewer than two categories.
    """
    size = len(categories)
    if size < 2:
        raise EstimateError(f"expected two categories or more, got {list(categories)!r}: AC does not exist")
    told = [categories[0] if label is None else label for label in second]
    one, other, known = _values(first, told, categories, weights)
    far = _cost(min(known), max(known), weights)
    of_all = _mean_cost(known, weights)
    pairs = sum(map(of_all, known)) * size / far  # disagreement of all pairs of categories
    spread = (size * size - pairs) / (size * (size - 1))
    count = Counter([*first, *(label for label in second if label is not None)])
    share = {category: count[category] / (2 * len(one)) for category in categories}
    chance = spread * sum(p * (1 - p) for p in share.values())
    level = sum(p * (1 - 2 * p) for p in share.values())
    agreed = [
        0.0 if label is None else 1 - _cost(a, b, weights) / far for a, b, label in zip(one, other, second, strict=True)
    ]
    seen = fmean(agreed)
    value = (seen - chance) / (1 - chance)
    items = []
    for a, b, own in zip(first, second, agreed, strict=True):
        slopes = 1 - 2 * share[a] + (0 if b is None else 1 - 2 * share[b])
        by_chance = spread * (slopes / 2 - level)
        items.append(value + (own - seen) / (1 - chance) - (1 - seen) / (1 - chance) ** 2 * by_chance)
    return _statistic(value, items, -chance / (1 - chance))


def balanced_accuracy(truth: Sequence[Hashable], said: Sequence[Hashable]) -> Statistic:
    """
    Return the mean over the categories of the truth of the share of its items that are found, in [0, 1].

    Raises `EstimateError` for no items, or where all have the same truth: then it is the accuracy.
    """
    if not truth or len(truth) != len(said):
        raise EstimateError(f"expected two equally long lists of labels, got {len(truth)} and {len(said)}")
    count = Counter(truth)
    if len(count) < 2:
        raise EstimateError(f"expected labels that differ, got {truth[0]!r} throughout: there is nothing to balance")
    right = Counter(a for a, b in zip(truth, said, strict=True) if a == b)
    found = {label: right[label] / n for label, n in count.items()}
    step = {label: len(truth) / n / len(count) for label, n in count.items()}  # what one item more found is worth
    value = fmean(found.values())
    items = [value + ((a == b) - found[a]) * step[a] for a, b in zip(truth, said, strict=True)]
    highest = value + max((1 - found[label]) * step[label] for label in count)  # one more found where most are missed
    return _statistic(value, items, 1 - max(step.values()), highest)


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> Statistic:
    """
    Return Kendall's tau-b, in [-1, 1] (Kendall 1945). The value is that of `scipy.stats.kendalltau`.

    The influence is that of a ratio of U-statistics (Hoeffding 1948).

    Raises `EstimateError` for fewer than two items, or a rater whose values are all the same.
    """
    one, other = _numbers(first, second)
    n = len(one)
    tied, level = (_mid_ranks(side)[1] for side in (one, other))
    untied, unlike = ([1 - of / (n - 1) for of in ties] for ties in (tied, level))
    concordant = [net / (n - 1) for net in _concordance(one, other)]
    top, left, right = fmean(concordant), fmean(untied), fmean(unlike)
    if left <= 0 or right <= 0:
        raise EstimateError("expected values that differ, got the same throughout: a rank correlation does not exist")
    scale = sqrt(left * right)
    value = top / scale
    items = [
        value + 2 * (c - top) / scale - value * ((a - left) / left + (b - right) / right)
        for c, a, b in zip(concordant, untied, unlike, strict=True)
    ]
    highest = value + 2 * (1 - top) / scale - value * ((1 - left) / left + (1 - right) / right)
    return _statistic(value, items, 1 - 4 / scale, highest)


def spearman(first: Sequence[float], second: Sequence[float]) -> Statistic:
    """
    Return Spearman's correlation of mid-ranks, in [-1, 1]. The value is that of `scipy.stats.spearmanr`.

    The influence counts that an item moves the ranks of the others, too.

    Raises `EstimateError` for fewer than two items, or a rater whose values are all the same.
    """
    one, other = _numbers(first, second)
    left, right = (_mid_ranks(side)[0] for side in (one, other))
    both, wide, high = (fmean(map(mul, a, b)) for a, b in ((left, right), (left, left), (right, right)))
    if wide <= 0 or high <= 0:
        raise EstimateError("expected values that differ, got the same throughout: a rank correlation does not exist")
    scale = sqrt(wide * high)
    value = both / scale

    def moved(mean: float, *of: list[float]) -> list[float]:
        return [a * b - mean + up + down for a, b, up, down in zip(*of, strict=True)]

    up, up_of_second = _raised(one, left), _raised(other, right)
    product = moved(both, left, right, _raised(one, right), _raised(other, left))
    square = moved(wide, left, left, up, up)
    square_of_second = moved(high, right, right, up_of_second, up_of_second)
    items = [
        value + p / scale - value / 2 * (a / wide + b / high)
        for p, a, b in zip(product, square, square_of_second, strict=True)
    ]
    extreme = value / 2 * ((0.25 - 3 * wide) / wide + (0.25 - 3 * high) / high)  # first or last by both raters
    highest = value + (0.25 - 3 * both) / scale - extreme
    return _statistic(value, items, 1 - 0.5 / scale, highest)


def without_order(n: int) -> Statistic:
    """
    Return the rank correlation with n values that are all the same: 0, and as far from it as n items leave it open.

    If a share p of all items differed, the correlation could be sqrt(3 p (1 - p)), where these are the highest: an
    indicator against ranks without ties. The ends lie where the interval reaches that, with p at the exact bound of 0
    in n at level 0.05. At a smaller level the interval is wider than it must be.

    Raises `EstimateError` for fewer than two items.
    """
    if n < 2:
        raise EstimateError(f"expected two items or more, got n={n}")
    share = 1 - 0.05 ** (1 / n)
    end = max(1.0, sqrt(3 * share * (1 - share)) / share)
    return Statistic(0.0, (0.0,) * n, -end, end)


def _statistic(value: float, items: Sequence[float], low: float, high: float = 1.0) -> Statistic:
    return Statistic(value, tuple(map(float, items)), min(low, *items), max(high, *items))


def _values(
    first: Sequence[Hashable], second: Sequence[Hashable], categories: Sequence[Hashable], weights: Weights
) -> tuple[list[float], list[float], list[float]]:
    """Return the labels of both raters, and all categories, as numbers: their places, or with weights as they are."""
    if not first or len(first) != len(second):
        raise EstimateError(f"expected two equally long lists of labels, got {len(first)} and {len(second)}")
    numbers = [float(str(one)) if weights == "quadratic" else float(i) for i, one in enumerate(categories)]
    number = dict(zip(categories, numbers, strict=True))
    if unknown := [label for label in (*first, *second) if label not in number]:
        raise EstimateError(f"expected labels among {list(categories)!r}, got {unknown[0]!r}")
    return [number[label] for label in first], [number[label] for label in second], numbers


def _cost(one: float, other: float, weights: Weights) -> float:
    return (one - other) ** 2 if weights == "quadratic" else float(one != other)


def _mean_cost(side: Sequence[float], weights: Weights) -> Callable[[float], float]:
    """Return a function of a label: what it costs against all labels of one rater, on average."""
    if weights == "quadratic":
        mean = fmean(side)
        spread = fmean((label - mean) ** 2 for label in side)
        return lambda label: (label - mean) ** 2 + spread
    count = Counter(side)
    return lambda label: 1 - count[label] / len(side)


def _numbers(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    if len(first) < 2 or len(first) != len(second):
        raise EstimateError(f"expected two equally long lists of two numbers or more, got {len(first)}, {len(second)}")
    one, other = list(map(float, first)), list(map(float, second))
    if not all(map(isfinite, (*one, *other))):
        raise EstimateError("expected finite numbers, got infinity or NaN")
    return one, other


def _mid_ranks(values: Sequence[float]) -> tuple[list[float], list[int]]:
    """Return, for each item, its mid-distribution function minus a half, and how many others have the same value."""
    ordered = sorted(values)
    sides = [(bisect_left(ordered, value), bisect_right(ordered, value)) for value in values]
    return [(low + high) / (2 * len(values)) - 0.5 for low, high in sides], [high - low - 1 for low, high in sides]


def _raised(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return how the mean of `weights` times mid-ranks moves with one more item at each place, less the mean."""
    total: dict[float, float] = defaultdict(float)
    for value, weight in zip(values, weights, strict=True):
        total[value] += weight
    moved, above = {}, 0.0
    for value in sorted(total, reverse=True):
        moved[value] = (above + total[value] / 2) / len(values)
        above += total[value]
    mean = fmean(moved[value] for value in values)
    return [moved[value] - mean for value in values]


def _concordance(one: Sequence[float], other: Sequence[float]) -> list[int]:
    """Return, for each item, the number of items in the same order with it less that in the other order."""
    net = [0] * len(one)
    for sign in (1, -1):  # against the items that are lower, then against those that are higher
        seen: list[float] = []
        for _, tied in groupby(sorted(range(len(one)), key=lambda i: sign * one[i]), one.__getitem__):
            here = [(i, sign * other[i]) for i in tied]
            for i, value in here:
                net[i] += bisect_left(seen, value) + bisect_right(seen, value) - len(seen)
            for _, value in here:
                insort(seen, value)
    return net
