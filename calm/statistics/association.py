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

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

from calm.errors import EstimateError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Places: TypeAlias = NDArray[np.int64]

Weights = Literal["none", "quadratic"]

BLOCK = 2_000_000
"""Pairs of distinct items that are compared at once."""


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
    import numpy as np

    one, other, known = _values(first, second, categories, weights)
    kinds = np.zeros(len(one), dtype=int) if strata is None else _places(strata)
    observed, chance, within, most = _cost(one, other, weights), np.zeros(len(one)), np.zeros(len(one)), 0.0
    for kind in range(int(kinds.max()) + 1):
        here = kinds == kind
        from_first, from_second = (_mean_cost(side[here], len(known), weights) for side in (one, other))
        within[here] = from_second(one[here]).mean()
        chance[here] = from_second(one[here]) + from_first(other[here]) - within[here]
        most = max(most, float((from_second(known) + from_first(known)).max() - within[here][0]))
    expected, apart = float(within.mean()), float(observed.mean())
    if expected <= 0:
        raise EstimateError(f"expected labels that differ, got {first[0]!r} throughout: kappa does not exist")
    value, far = 1 - apart / expected, float(_cost(known.min(), known.max(), weights))
    moved = (observed - apart) / expected - apart / expected**2 * (chance - expected)
    # where an item would lie on which both agree by the rarest label: a sample may hold none of these
    highest = value + apart / expected + apart / expected**2 * (most - expected)
    return _statistic(value, value - moved, 1 - far / expected, highest)


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
    import numpy as np

    size = len(categories)
    if size < 2:
        raise EstimateError(f"expected two categories or more, got {list(categories)!r}: AC does not exist")
    rated = np.array([label is not None for label in second], dtype=bool)
    told = [categories[0] if label is None else label for label in second]
    one, other, known = _values(first, told, categories, weights)
    place = {category: index for index, category in enumerate(categories)}
    here, there = (np.array([place[label] for label in side]) for side in (first, told))
    far = float(_cost(known.min(), known.max(), weights))
    pairs = (
        float((_mean_cost(known, size, weights)(known)).sum()) * size / far
    )  # disagreement of all pairs of categories
    spread = (size * size - pairs) / (size * (size - 1))
    share = (np.bincount(here, minlength=size) + np.bincount(there[rated], minlength=size)) / (2 * len(one))
    chance = spread * float((share * (1 - share)).sum())
    agreed = (1 - _cost(one, other, weights) / far) * rated
    seen, slope = float(agreed.mean()), 1 - 2 * share
    value = (seen - chance) / (1 - chance)
    by_chance = spread * ((slope[here] + slope[there] * rated) / 2 - float(share @ slope))
    moved = (agreed - seen) / (1 - chance) - (1 - seen) / (1 - chance) ** 2 * by_chance
    return _statistic(value, value + moved, -chance / (1 - chance))


def balanced_accuracy(truth: Sequence[Hashable], said: Sequence[Hashable]) -> Statistic:
    """
    Return the mean over the categories of the truth of the share of its items that are found, in [0, 1].

    Raises `EstimateError` for no items, or where all have the same truth: then it is the accuracy.
    """
    import numpy as np

    if not truth or len(truth) != len(said):
        raise EstimateError(f"expected two equally long lists of labels, got {len(truth)} and {len(said)}")
    known = sorted(set(truth), key=repr)
    if len(known) < 2:
        raise EstimateError(f"expected labels that differ, got {truth[0]!r} throughout: there is nothing to balance")
    place = {category: index for index, category in enumerate(known)}
    of = np.array([place[one] for one in truth])
    right = np.array([float(a == b) for a, b in zip(truth, said, strict=True)])
    share = _shares(of, len(known))
    found = np.bincount(of, weights=right, minlength=len(known)) / np.bincount(of, minlength=len(known))
    value = float(found.mean())
    moved = (right - found[of]) / (len(known) * share[of])
    rarest = 1 / (len(known) * float(share.min()))
    highest = value + float(((1 - found) / share).max()) / len(known)  # one more found where most are missed
    return _statistic(value, value + moved, 1 - rarest, highest)


def kendall_tau_b(first: Sequence[float], second: Sequence[float]) -> Statistic:
    """
    Return Kendall's tau-b, in [-1, 1] (Kendall 1945). The value is that of `scipy.stats.kendalltau`.

    The influence is that of a ratio of U-statistics (Hoeffding 1948).

    Raises `EstimateError` for fewer than two items, or a rater whose values are all the same.
    """
    import numpy as np

    one, other = _numbers(first, second)
    n = len(one)
    before, above = _sides(one), _sides(other)
    concordant = _concordance(one, other) / (n - 1)
    untied, unlike = (before[0] + before[1]) / (n - 1), (above[0] + above[1]) / (n - 1)
    top, left, right = float(concordant.mean()), float(untied.mean()), float(unlike.mean())
    if left <= 0 or right <= 0:
        raise EstimateError("expected values that differ, got the same throughout: a rank correlation does not exist")
    scale = float(np.sqrt(left * right))
    value = top / scale
    moved = 2 * (concordant - top) / scale - value * ((untied - left) / left + (unlike - right) / right)
    highest = value + 2 * (1 - top) / scale - value * ((1 - left) / left + (1 - right) / right)
    return _statistic(value, value + moved, 1 - 4 / scale, highest)


def spearman(first: Sequence[float], second: Sequence[float]) -> Statistic:
    """
    Return Spearman's correlation of mid-ranks, in [-1, 1]. The value is that of `scipy.stats.spearmanr`.

    The influence counts that an item moves the ranks of the others, too.

    Raises `EstimateError` for fewer than two items, or a rater whose values are all the same.
    """
    import numpy as np

    one, other = _numbers(first, second)
    n = len(one)
    (below, above), (under, over) = _sides(one), _sides(other)
    left, right = (below - above) / (2 * n), (under - over) / (2 * n)  # mid-distribution function minus a half
    both, wide, high = float((left * right).mean()), float((left**2).mean()), float((right**2).mean())
    if wide <= 0 or high <= 0:
        raise EstimateError("expected values that differ, got the same throughout: a rank correlation does not exist")
    scale = float(np.sqrt(wide * high))
    value = both / scale
    shifts = (
        (_raised(one, right), _raised(other, left), both, left * right),
        (_raised(one, left), _raised(one, left), wide, left**2),
        (_raised(other, right), _raised(other, right), high, right**2),
    )
    product, first_square, second_square = (own - mean + a + b for a, b, mean, own in shifts)
    moved = product / scale - value / 2 * (first_square / wide + second_square / high)
    extreme = value / 2 * ((0.25 - 3 * wide) / wide + (0.25 - 3 * high) / high)  # first or last by both raters
    highest = value + (0.25 - 3 * both) / scale - extreme
    return _statistic(value, value + moved, 1 - 0.5 / scale, highest)


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


def _statistic(value: float, items: Floats, low: float, high: float = 1.0) -> Statistic:
    return Statistic(value, tuple(map(float, items)), min(low, float(items.min())), max(high, float(items.max())))


def _values(
    first: Sequence[Hashable], second: Sequence[Hashable], categories: Sequence[Hashable], weights: Weights
) -> tuple[Floats, Floats, Floats]:
    """Return the labels of both raters, and all categories, as numbers: their places, or with weights as they are."""
    import numpy as np

    if not first or len(first) != len(second):
        raise EstimateError(f"expected two equally long lists of labels, got {len(first)} and {len(second)}")
    numbers = [float(str(one)) if weights == "quadratic" else float(i) for i, one in enumerate(categories)]
    number = dict(zip(categories, numbers, strict=True))
    if unknown := [label for label in (*first, *second) if label not in number]:
        raise EstimateError(f"expected labels among {list(categories)!r}, got {unknown[0]!r}")
    one, other = (np.array([number[label] for label in side]) for side in (first, second))
    return one, other, np.array(numbers)


def _cost(one: Floats, other: Floats, weights: Weights) -> Floats:
    """Return what a disagreement costs, item by item."""
    import numpy as np

    apart: Floats = (one - other) ** 2 if weights == "quadratic" else np.not_equal(one, other).astype(np.float64)
    return apart


def _mean_cost(side: Floats, size: int, weights: Weights) -> Callable[[Floats], Floats]:
    """Return a function of labels: what each costs against all labels of one rater, on average."""
    import numpy as np

    if weights == "quadratic":
        mean, square = float(side.mean()), float((side**2).mean())
        return lambda labels: labels**2 - 2 * labels * mean + square
    share = np.bincount(side.astype(int), minlength=size) / len(side)
    return lambda labels: 1 - share[labels.astype(int)]


def _places(labels: Sequence[Hashable]) -> Places:
    """Return the place of each label among those that occur."""
    import numpy as np

    known = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    return np.array([known[label] for label in labels])


def _shares(places: Places, size: int) -> Floats:
    import numpy as np

    return np.bincount(places, minlength=size) / len(places)


def _numbers(first: Sequence[float], second: Sequence[float]) -> tuple[Floats, Floats]:
    import numpy as np

    if len(first) < 2 or len(first) != len(second):
        raise EstimateError(f"expected two equally long lists of two numbers or more, got {len(first)}, {len(second)}")
    one, other = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise EstimateError("expected finite numbers, got infinity or NaN")
    return one, other


def _sides(values: Floats) -> tuple[Floats, Floats]:
    """Return, for each item, how many items have a lower value, and how many a higher one."""
    import numpy as np

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    up_to = np.cumsum(count)
    return (up_to - count)[place].astype(np.float64), (len(values) - up_to)[place].astype(np.float64)


def _raised(values: Floats, weights: Floats) -> Floats:
    """Return how the mean of `weights` times mid-ranks moves with one more item at each place, less the mean."""
    import numpy as np

    _, place = np.unique(values, return_inverse=True)
    of_value = np.bincount(place, weights=weights)
    above = of_value.sum() - np.cumsum(of_value)
    moved = (above + of_value / 2)[place] / len(values)
    centred: Floats = moved - moved.mean()
    return centred


def _concordance(one: Floats, other: Floats) -> Floats:
    """Return, for each item, the number of items in the same order with it less that in the other order."""
    import numpy as np

    pairs, place, count = np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True, return_counts=True)
    found = np.empty(len(pairs))
    step = max(1, BLOCK // len(pairs))
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        signs = np.sign(part[:, None, 0] - pairs[None, :, 0]) * np.sign(part[:, None, 1] - pairs[None, :, 1])
        found[start : start + step] = signs @ count
    return found[place.reshape(-1)]
