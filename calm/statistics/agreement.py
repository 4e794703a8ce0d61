"""How far raters agree, plainly and beyond chance, and whether a judge may take the place of one (arXiv:2501.10970)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import fsum, isfinite, sqrt
from statistics import fmean
from typing import Any, Final, Literal

from calm.errors import EstimateError
from calm.statistics.intervals import student_cdf
from calm.statistics.multiplicity import benjamini_yekutieli

Ratings = Sequence[Sequence[Hashable | None]]


def raw_agreement(ratings: Ratings) -> float:
    """
    Return the mean over items of the share of pairs of ratings that are equal, in [0, 1].

    Items with fewer than two ratings are left out. Items are independent. Smallest n: 1 item with two ratings.

    Raises `EstimateError` if no item has two ratings.

    >>> raw_agreement([["a", "a"], ["a", "b"]])
    0.5
    """
    return fmean([_equal_pairs(counts) for counts in _counts(ratings)])


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    weights: Literal["none", "linear", "quadratic"] = "none",
    categories: Sequence[Hashable] | None = None,
) -> float:
    """
    Return the agreement of two raters beyond chance, in [-1, 1]; chance gives 0.

    1 - (observed / expected disagreement), from each rater's own marginals (Cohen 1960; weighted: Cohen 1968). With
    weights a disagreement counts by the distance of its places in `categories`, or by that distance squared; by default
    the categories are those that occur, sorted. Items are independent. Smallest n: 1.

    Raises `EstimateError` for no items, lists of different lengths, an unknown category, or where both raters give the
    same category throughout: kappa does not exist there.

    >>> yes_no = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    >>> round(cohen_kappa([a for a, _ in yes_no], [b for _, b in yes_no]), 3)  # (.7 - .5) / (1 - .5)
    0.4
    """
    if not first or len(first) != len(second):
        raise EstimateError(f"expected two equally long lists of ratings, got {len(first)} and {len(second)}")
    known = _ordered({*first, *second}) if categories is None else list(categories)
    place = {category: index for index, category in enumerate(known)}
    unknown = [rating for rating in (*first, *second) if rating not in place]
    if unknown:
        raise EstimateError(f"expected ratings among {known!r}, got {unknown[0]!r}")

    def cost(a: Hashable, b: Hashable) -> float:
        apart = abs(place[a] - place[b])
        return float(apart > 0) if weights == "none" else float(apart if weights == "linear" else apart**2)

    n = len(first)
    both = Counter(zip(first, second, strict=True))
    observed = fsum(cost(a, b) * count for (a, b), count in both.items()) / n
    left, right = Counter(first), Counter(second)
    expected = fsum(cost(a, b) * left[a] * right[b] for a in left for b in right) / (n * n)
    if expected == 0:
        raise EstimateError(f"expected ratings that differ, got {first[0]!r} throughout: kappa does not exist")
    return 1 - observed / expected


def fleiss_kappa(ratings: Ratings) -> float:
    """
    Return the agreement of several raters beyond chance, in [-1, 1]; chance gives 0.

    (observed - expected agreement) / (1 - expected), with the marginals of all raters together (Fleiss 1971). Each item
    has the same number of ratings, two or more; the raters need not be the same. Items are independent. Smallest n: 1.

    Raises `EstimateError` for no items, a missing rating, or the same category throughout.

    >>> table = [["a", "a", "a"], ["b", "b", "b"], ["a", "b", "b"], ["a", "a", "b"]]
    >>> round(fleiss_kappa(table), 4)  # (2/3 - 1/2) * 2
    0.3333
    """
    counts = _counts(ratings)
    sizes = {sum(row.values()) for row in counts} | {len(row) for row in ratings}
    if len(sizes) != 1:
        raise EstimateError(f"expected equally many ratings of every item, got {sorted(sizes)}; use krippendorff_alpha")
    observed = fmean([_equal_pairs(row) for row in counts])
    totals = _total(counts)
    n = sum(totals.values())
    expected = fsum((count / n) ** 2 for count in totals.values())
    if len(totals) < 2:
        raise EstimateError(
            f"expected ratings that differ, got {next(iter(totals))!r} throughout: kappa does not exist"
        )
    return (observed - expected) / (1 - expected)


def krippendorff_alpha(ratings: Ratings, *, scale: Literal["nominal", "ordinal", "interval"] = "nominal") -> float:
    """
    Return the agreement of any number of raters beyond chance, at most 1; chance gives 0.

    1 - observed / expected disagreement over pairs of ratings of an item and of all items (Krippendorff 2004, chapter
    11). Disagreement is 0 or 1 (nominal), the squared difference (interval), or the squared number of ratings between
    two ranks (ordinal; ranks are those of the sorted ratings). Items with fewer than two ratings are left out. Items
    are independent. Smallest n: 2 ratings of one item.

    Raises `EstimateError` if no item has two ratings, if all ratings are the same, or if the ratings of an interval
    scale are not numbers.

    >>> ratings = [[1, 1], [2, 2], [3, 3], [3, 4], [1, 2]]
    >>> [round(krippendorff_alpha(ratings, scale=scale), 3) for scale in ("nominal", "ordinal", "interval")]
    [0.5, 0.847, 0.812]
    """
    counts = _counts(ratings)
    totals = _total(counts)
    if len(totals) < 2:
        raise EstimateError(
            f"expected ratings that differ, got {next(iter(totals))!r} throughout: alpha does not exist"
        )
    apart = _difference(totals, scale)
    n = sum(totals.values())
    observed = fsum(_unlike_pairs(row, apart) / (sum(row.values()) - 1) for row in counts) / n
    expected = _unlike_pairs(totals, apart) / (n * (n - 1))
    return 1 - observed / expected


def gwet_ac1(ratings: Ratings, *, categories: Sequence[Hashable] | None = None) -> float:
    """
    Return Gwet's AC1: agreement beyond chance, in [-1, 1], that does not collapse where one category prevails.

    (observed - expected) / (1 - expected), expected = sum of share (1 - share) over the categories, divided by their
    number less one (Gwet 2008). Shares are means over items with any rating, agreement over items with two or more. By
    default the categories are those that occur. Items are independent. Smallest n: 1 item with two ratings.

    Raises `EstimateError` if no item has two ratings, for an unknown category, or for fewer than two categories: name
    them where only one occurs.

    >>> round(gwet_ac1([["a", "a"]] * 96 + [["a", "b"]] * 4), 3)  # expected: 2 * .98 * .02
    0.958
    >>> gwet_ac1([["a", "a"]] * 10, categories=["a", "b"])
    1.0
    """
    observed = raw_agreement(ratings)
    rated = [Counter(r for r in row if r is not None) for row in ratings if any(r is not None for r in row)]
    seen = _total(rated)
    known = list(seen) if categories is None else list(categories)
    if len(known) < 2 or not set(seen) <= set(known):
        raise EstimateError(f"expected two categories or more that hold all ratings, got {known!r} for {list(seen)!r}")
    shares = [fmean([row[category] / sum(row.values()) for row in rated]) for category in known]
    expected = fsum(share * (1 - share) for share in shares) / (len(known) - 1)
    return (observed - expected) / (1 - expected)


def icc(scores: Sequence[Sequence[float]], *, kind: Literal["2,1", "3,1"] = "2,1") -> float:
    """
    Return the intraclass correlation of single scores, at most 1.

    Shrout & Fleiss (1979): "2,1" is absolute agreement with raters as a sample, "3,1" consistency with these raters
    only (a rater who is always one point higher costs nothing). From the two-way analysis of variance without repeats.
    One row for each item, one place for each rater, none missing. Items are independent. Smallest n: 2 items and 2
    raters.

    Raises `EstimateError` for fewer items or raters, rows of different lengths, or scores that do not vary.

    >>> scores = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> round(icc(scores), 2), round(icc(scores, kind="3,1"), 2)  # table 4 of the paper
    (0.29, 0.71)
    """
    n, k = len(scores), len(scores[0]) if scores else 0
    if n < 2 or k < 2 or any(len(row) != k for row in scores):
        raise EstimateError(f"expected 2 items and 2 raters or more and no gap, got {n} items of {k} scores")
    if not all(isfinite(score) for row in scores for score in row):
        raise EstimateError("expected finite scores, got infinity or NaN")
    grand = fmean([score for row in scores for score in row])
    items, raters = [fmean(row) for row in scores], [fmean(column) for column in zip(*scores, strict=True)]
    between_items = k * fsum((m - grand) ** 2 for m in items) / (n - 1)
    between_raters = n * fsum((m - grand) ** 2 for m in raters) / (k - 1)
    total = fsum((score - grand) ** 2 for row in scores for score in row)
    rest = max(0.0, total - between_items * (n - 1) - between_raters * (k - 1)) / ((n - 1) * (k - 1))
    spread = between_items + (k - 1) * rest + (k * (between_raters - rest) / n if kind == "2,1" else 0.0)
    if not total > 0 or not spread > 1e-12 * total:
        raise EstimateError("expected scores that vary between items, got none: the correlation does not exist")
    return (between_items - rest) / spread


def _counts(ratings: Ratings) -> list[Counter[Hashable]]:
    """Return how often each item got each rating, for the items with two ratings or more."""
    counts = [Counter(r for r in row if r is not None) for row in ratings]
    paired = [row for row in counts if sum(row.values()) >= 2]
    if not paired:
        raise EstimateError(f"expected an item with two ratings or more, got none among n={len(ratings)}")
    return paired


def _total(counts: Sequence[Counter[Hashable]]) -> Counter[Hashable]:
    total: Counter[Hashable] = Counter()
    for row in counts:
        total += row
    return total


def _equal_pairs(row: Counter[Hashable]) -> float:
    n = sum(row.values())
    return sum(count * (count - 1) for count in row.values()) / (n * (n - 1))


def _unlike_pairs(row: Counter[Hashable], apart: Callable[[Hashable, Hashable], float]) -> float:
    return fsum(row[a] * row[b] * apart(a, b) for a in row for b in row if a != b)


def _difference(totals: Counter[Hashable], scale: str) -> Callable[[Hashable, Hashable], float]:
    if scale == "nominal":
        return lambda _a, _b: 1.0
    if scale == "interval":
        numbers: dict[Hashable, float] = {r: float(r) for r in totals if isinstance(r, int | float) and isfinite(r)}
        if len(numbers) < len(totals):
            raise EstimateError(
                f"expected numbers on an interval scale, got {[r for r in totals if r not in numbers]!r}"
            )
        return lambda a, b: (numbers[a] - numbers[b]) ** 2
    ranks = _ordered(totals)
    middles = {r: up_to - totals[r] / 2 for r, up_to in zip(ranks, accumulate(totals[r] for r in ranks), strict=True)}
    return lambda a, b: (middles[a] - middles[b]) ** 2


def _ordered(ratings: set[Hashable] | Counter[Hashable]) -> list[Hashable]:
    try:
        return sorted(ratings, key=_as_is)
    except TypeError:
        raise EstimateError(
            f"expected ratings that can be sorted, got {list(ratings)!r}; name the categories"
        ) from None


def _as_is(rating: Hashable) -> Any:
    """Return the rating; only sorting shows whether it has an order."""
    return rating


LEAST: Final = 30
"""Items of a person below which nothing is tested: the rank test that the paper names there does not keep its level."""
ENOUGH: Final = 0.5
"""Share of the people whose place the judge may take from which it may take any person's."""


@dataclass(frozen=True, slots=True)
class Place:
    """
    One person against the judge, over n items.

    `advantage` is the share of items that the judge wins (with those that both do), `of_person` that of the person.
    `p` is the p value of H0, None below `LEAST` items; `rejected` says whether the judge may take the place.
    """

    n: int
    advantage: float
    of_person: float
    p: float | None
    rejected: bool = False


@dataclass(frozen=True, slots=True)
class Replacing:
    """
    The test of all people together, by name.

    `winning_rate` is the share of the tested people whose place the judge may take, `advantage` the mean of the shares
    of items that the judge wins, `passes` whether the rate is `ENOUGH`.
    """

    people: Mapping[str, Place]
    winning_rate: float
    advantage: float
    epsilon: float

    @property
    def passes(self) -> bool:
        """Whether the judge may take the place of a person."""
        return self.winning_rate >= ENOUGH


def alternative_annotator(
    differences: Mapping[str, Sequence[float]], *, epsilon: float, level: float = 0.05
) -> Replacing:
    """
    Return the test of some people: `differences` holds for each d of each item, in {-1, 0, 1}.

    One-sided paired t test for each person, then Benjamini & Yekutieli's procedure over the people at `level`. Where
    all d are the same no t exists: there p is the greatest chance of such items under H0. Items are independent.
    Smallest n: `LEAST` items of one person.

    Raises:
        EstimateError: fewer than two people, or none with `LEAST` items.

    >>> alternative_annotator({"ann": [0.0] * 30, "ben": [1.0] * 30}, epsilon=0.2).passes
    True
    """
    if len(differences) < 2:
        raise EstimateError(f"expected two people or more, got {len(differences)}")
    found = {person: _place(values, epsilon) for person, values in differences.items() if values}
    tested = {person: place.p for person, place in found.items() if place.p is not None}
    if not tested:
        most = max((place.n for place in found.values()), default=0)
        raise EstimateError(f"expected {LEAST} items of a person, which others labelled too, got {most} at most")
    adjusted = benjamini_yekutieli(list(tested.values()))
    rejected = {person: p <= level for person, p in zip(tested, adjusted, strict=True)}
    people = {
        person: Place(place.n, place.advantage, place.of_person, place.p, rejected.get(person, False))
        for person, place in found.items()
    }
    advantage = fsum(people[person].advantage for person in tested) / len(tested)
    return Replacing(people, sum(rejected.values()) / len(tested), advantage, epsilon)


def _place(values: Sequence[float], epsilon: float) -> Place:
    n = len(values)
    advantage, of_person = sum(d <= 0 for d in values) / n, sum(d >= 0 for d in values) / n
    return Place(n, advantage, of_person, _p(values, epsilon) if n >= LEAST else None)


def _p(values: Sequence[float], epsilon: float) -> float:
    n = len(values)
    mean = fsum(values) / n
    variance = fsum((d - mean) ** 2 for d in values) / (n - 1)
    if variance > 0:
        return student_cdf(n - 1, (mean - epsilon) / sqrt(variance / n))
    if mean >= epsilon:
        return 1.0
    return ((1 - epsilon) if mean == 0 else (1 - epsilon) / 2) ** n
