"""
The alternative-annotator test: may a judge take the place of a person who labels (Calderon, Reichart & Dror 2025)?

Each person in turn is left out, and judge and person are compared with the others. For an item, the one that agrees
with the others at least as well as the other one wins it; both may. The judge may take a person's place if it wins no
fewer items than the person, less `epsilon`, the advantage that a person has for being expensive: .2 for experts, .15
for skilled people, .1 for a crowd, by the paper.

Here items are d = 1 (the person wins alone), 0 (both win), -1 (the judge wins alone). H0: mean d >= epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Final

from calm.errors import EstimateError
from calm.statistics.beta import student_cdf
from calm.statistics.multiplicity import benjamini_yekutieli

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
