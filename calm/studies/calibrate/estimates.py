"""What follows from the labels: corrected means, what the judge may decide alone, and which labels are missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random
from typing import Final

from calm.core.case import digest
from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import accuracy
from calm.core.verdict import Scale
from calm.errors import EstimateError
from calm.results.pairing import summed
from calm.statistics.confidence import CalibrationError, calibration_error
from calm.statistics.intervals import clustered_t
from calm.statistics.prediction_powered import Clusters, PredictionPowered, drawn_alike, prediction_powered_mean
from calm.statistics.selective import Selective, select
from calm.studies.calibrate.items import PROBABILITIES, Item
from calm.studies.calibrate.tables import LEVEL

LIMITS: Final = (0.70, 0.80, 0.90)
GRID: Final = (
    *(1.0, 0.999, 0.995, 0.99, 0.98, 0.97, 0.96, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.0),
)
"""Thresholds of confidences by probabilities, fixed before any label is seen; those of repeats are shares of asks."""
FEW: Final = 10
"""With fewer labelled cases a criterion is in no figure, where some cases are labelled in part."""
DRAWN: Final = 0.01
"""The rate at which a random sample of labelled cases is wrongly called not random."""
EVEN: Final = 1e-9
"""Confidences that differ by less are equal."""


@dataclass(frozen=True, slots=True)
class Budget:
    """
    A claim that the judge is right in at least `limit` of the cases: what the labels say of it, and how many decide.

    `cases` is how many labelled cases a fresh run needs to decide it in four of five runs, None if no number would.
    """

    limit: float
    outcome: Outcome
    cases: int | None


@dataclass(frozen=True, slots=True)
class Next:
    """A case without a label, how far the asks about it differ, and how sure the judge is."""

    case: str
    spread: float
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Alone:
    """What the judge may decide alone; `share` is that share of all cases asked, `source` of what confidence."""

    found: Selective
    risk: float
    source: str
    share: float | None


@dataclass(frozen=True, slots=True)
class Partly:
    """
    Criteria where labelled cases are labelled in part: those that can be compared, and those left out.

    The first of `left` are those that a labelled case has without a label.
    """

    kept: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draw:
    """
    Whether the labelled cases are drawn like the others, by what the judge says of both.

    `labelled` and `unlabelled` are its mean verdicts, in their units; `p` is that of `drawn_alike`.
    """

    labelled: float
    unlabelled: float
    p: float

    @property
    def differs(self) -> bool:
        """Whether the two differ by the evidence: by chance alone in at most `DRAWN` of the runs."""
        return self.p <= DRAWN


@dataclass(frozen=True, slots=True)
class Corrected:
    """The mean over cases without labels, corrected by those with labels, in units of the verdicts."""

    found: PredictionPowered
    labelled: int
    unlabelled: int
    draw: Draw


def share_right(items: Sequence[Item]) -> Estimate | None:
    """Return the share of right verdicts with one-sided bounds, as claims take it; None for fewer than 2 questions."""
    known = [item for item in items if item.gold is not None]
    sums, sizes = summed([(item.cluster, item.right) for item in known])
    if len(sums) < 2:
        return None
    low, high = clustered_t(sums, sizes, 0.0, 1.0, LEVEL)
    value = fsum(sums) / sum(sizes)
    return Estimate(value, max(0.0, low), min(1.0, high), len({i.case for i in known}), LEVEL, {}, len(sums))


def budgets(found: Estimate, limits: Sequence[float]) -> tuple[Budget, ...]:
    """Return for each limit whether the claim is decided, and how many labelled cases decide it."""
    made = []
    for limit in sorted({*LIMITS, *limits}):
        claim = Claim("accuracy", ">=", limit)
        outcome = decide(found, claim)
        needed = None
        if outcome is Outcome.UNDECIDED:
            needed = cases_to_decide(found, claim, accuracy.smallest_n(claim, LEVEL))
        made.append(Budget(limit, outcome, needed))
    return tuple(made)


def next_labels(items: Sequence[Item], count: int, seed: int) -> tuple[Next, ...]:
    """
    Return which cases to label next: those on which the asks differ most, then those of the least confidence.

    Equal ones come in an order drawn from the seed.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.case].append(item)
    found = []
    for case, group in groups.items():
        sure = [item.confidence for item in group if item.confidence is not None]
        spread = fsum(item.spread for item in group) / len(group)
        found.append(Next(case, round(spread, 6), round(min(sure), 6) if sure else None))
    found.sort(key=lambda n: (-n.spread, 1.0 if n.confidence is None else n.confidence, digest("next", seed, n.case)))
    return tuple(found[:count])


def comparable(
    labelled: Sequence[Item], unlabelled: Sequence[Item], criteria: Mapping[str, Collection[str]]
) -> tuple[list[Item], list[Item], Partly | None]:
    """
    Return the items of the same criteria with and without labels, and which these are if they are not all.

    `criteria` holds the ids of all criteria of each labelled case. If some have no label, the labels tell of a choice
    of criteria, and the cases without labels of all: no mean over them is the same. Then a criterion is kept if every
    labelled case that has it labels it, so that the labelled ones are not a choice, at least `FEW` do, and other cases
    have it, too.
    """
    told = Counter(item.part for item in labelled)
    had = Counter(name for case in {item.case for item in labelled} for name in criteria.get(case, ()))
    if all(told[name] >= count for name, count in had.items()):
        return list(labelled), list(unlabelled), None
    others = {item.part for item in unlabelled}
    known = {name for name, count in had.items() if told[name] >= count >= FEW}
    kept = known & others if unlabelled else known
    left = sorted((had.keys() | others) - kept, key=lambda name: (told[name] >= had[name], name))
    found = Partly(tuple(sorted(kept)), tuple(left))
    return [i for i in labelled if i.part in kept], [i for i in unlabelled if i.part in kept], found


def corrected(
    labelled: Sequence[Item], unlabelled: Sequence[Item], scale: Scale | None, seed: int = 0
) -> Corrected | None:
    """
    Return the mean gold over the cases without labels by prediction-powered inference; None if it has no meaning.

    A case counts by the mean of its parts. A verdict that could not be read counts as the judge's mean over the others:
    any fixed number keeps the interval valid, and this one keeps it narrow. `seed` is that of the test of the draw.
    """
    low, high = (0.0, 1.0) if scale is None else (scale.low, scale.high)
    read = [item.value for item in (*labelled, *unlabelled) if item.value is not None]
    if not read:
        return None
    silent = min(high, max(low, fsum(read) / len(read)))
    known = [item for item in labelled if item.worth is not None]
    gold = _by_cluster(known, [item.worth or 0.0 for item in known])
    said, others = (
        _by_cluster(some, [silent if item.value is None else item.value for item in some])
        for some in (known, unlabelled)
    )
    predicted, unseen = _clusters(said), _clusters(others)
    try:
        found = prediction_powered_mean(_clusters(gold), predicted, unseen, (low, high), level=LEVEL)
    except EstimateError:
        return None
    p = drawn_alike(said, others, Random(int(digest("draw", seed)[:16], 16)))
    return Corrected(found, sum(predicted.sizes), sum(unseen.sizes), Draw(predicted.mean, unseen.mean, p))


def _by_cluster(items: Sequence[Item], values: Sequence[float]) -> list[list[float]]:
    """Return the values of the cases of each cluster, each case by the mean of its items."""
    cases: dict[tuple[str, str], list[float]] = defaultdict(list)
    for item, value in zip(items, values, strict=True):
        cases[item.cluster, item.case].append(value)
    clusters: dict[str, list[float]] = defaultdict(list)
    for (cluster, _), some in cases.items():
        clusters[cluster].append(fsum(some) / len(some))
    return list(clusters.values())


def _clusters(values: Sequence[Sequence[float]]) -> Clusters:
    return Clusters(tuple(map(fsum, values)), tuple(map(len, values)))


def alone(labelled: Sequence[Item], unlabelled: Sequence[Item], source: str | None, risk: float) -> Alone | None:
    """
    Return the share of cases that the judge may decide alone at an error of at most `risk`; None without confidences.

    The unit is the case: a rubric is wrong if a word on any of its criteria is, and as sure as the least sure of them.
    """
    if source is None:
        return None
    cases = _cases([item for item in labelled if item.gold is not None])
    if not cases:
        return None
    most = max((len(item.said) for item in labelled), default=1)
    grid = GRID if source == PROBABILITIES else [*(place / most for place in range(most, 0, -1)), 0.0]
    confidences, wrong, clusters = zip(*cases, strict=True)
    found = select(confidences, wrong, grid, risk=risk, level=LEVEL, clusters=clusters)
    share = None
    if found.chosen is not None:
        every = [sure for sure, _, _ in (*cases, *_cases(unlabelled))]
        share = sum(sure >= found.chosen.threshold - EVEN for sure in every) / len(every)
    return Alone(found, risk, source, share)


def _cases(items: Sequence[Item]) -> list[tuple[float, float, str]]:
    """Return the confidence, the error and the cluster of each case."""
    found: dict[str, tuple[float, float, str]] = {}
    for item in items:
        sure, wrong, _ = found.get(item.case, (1.0, 0.0, ""))
        mine = 0.0 if item.confidence is None else item.confidence
        found[item.case] = min(sure, mine), max(wrong, float(not item.correct)), item.cluster
    return list(found.values())


def reliable(labelled: Sequence[Item], seed: int) -> CalibrationError | None:
    """Return the expected calibration error of the confidences; None for fewer than two."""
    known = [(i.confidence, i.correct) for i in labelled if i.gold is not None and i.confidence is not None]
    if len(known) < 2:
        return None
    rng = Random(int(digest("reliability", seed)[:16], 16))
    return calibration_error([sure for sure, _ in known], [right for _, right in known], rng)
