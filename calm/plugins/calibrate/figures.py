"""
What follows from the labels: the mapping that fits best, corrected means, what the judge may decide alone.

A mapping leads from what the judge says to what people say, and is tried on cases that did not fit it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from random import Random
from statistics import median
from typing import Final

from calm.core.case import digest
from calm.core.claims import Claim, Estimate, Outcome, cases_to_decide, decide
from calm.core.measures import accuracy
from calm.core.verdict import Family, Scale
from calm.errors import EstimateError
from calm.models.wire import Json
from calm.plugins.calibrate.items import LEVEL, PROBABILITIES, WITHIN, Item, Rule
from calm.results.pairing import summed
from calm.statistics.calibration import (
    Band,
    CalibrationError,
    Clusters,
    Interval,
    Line,
    PredictionPowered,
    Selective,
    Steps,
    calibration_error,
    drawn_alike,
    fit_band,
    fit_line,
    fit_steps,
    prediction_powered_mean,
    select,
)
from calm.statistics.intervals import clustered_t

# ------------------------------------------------------------------------------------------------------------- mappings

FOLDS: Final = 10
FEWEST: Final = 20
"""Questions below which no mapping is fitted."""
RAW, CONSTANT = "raw", "constant"
EVEN: Final = 1e-9

Mapped = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    One mapping: what it achieves on cases that did not fit it, and by how much it is better than the judge as it is.

    For classes `value` is the share that is right (more is better), for scores the mean absolute error (less is
    better). `better` is its improvement over `raw`, positive if it is one.
    """

    name: str
    value: Interval
    better: Interval | None
    fitted: Mapping[str, Json] = field(default_factory=dict)
    """The mapping as data, fitted on all labelled cases."""


@dataclass(frozen=True, slots=True)
class Fit:
    """
    All mappings, with the judge as it is (`raw`) and a constant; `best` is the one to take.

    It is `raw` unless another one is better than it by the evidence. `measure` is "accuracy" or "mean_absolute_error".
    `unread` counts items without a readable verdict, which no mapping can help.
    """

    measure: str
    candidates: tuple[Candidate, ...]
    best: str
    n: int
    unread: int

    def of(self, name: str) -> Candidate:
        """Return a candidate by its name."""
        return next(one for one in self.candidates if one.name == name)


@dataclass(frozen=True, slots=True)
class _Point:
    cluster: str
    x: float
    y: float
    raw: float
    """What the judge itself says."""


def fit(items: Sequence[Item], family: Family, rule: Rule, seed: int) -> Fit | None:
    """
    Return mappings with what each achieves in cross-validation; None with fewer than `FEWEST` labelled questions.

    The folds are drawn by question, from the seed and its name. Within a fold the mapping is fitted on all others.
    The constant is taken from all of them. Rankings have no line on which a threshold could lie, and no mapping.
    """
    if family == "listwise":
        return None
    known = [item for item in items if item.target is not None]
    points = [_point(item, rule) for item in known if item.signal is not None]
    if len({point.cluster for point in points}) < FEWEST:
        return None
    classes = family != "score" or rule.passing is not None
    makers = _of_classes(family, rule, points) if classes else _of_scores(rule)
    fold = {c: int(digest("fold", seed, c)[:8], 16) % FOLDS for c in {point.cluster for point in points}}
    predicted: dict[str, list[float]] = {name: [0.0] * len(points) for name in makers}
    for number in range(FOLDS):
        inside = [place for place, point in enumerate(points) if fold[point.cluster] == number]
        training = [point for point in points if fold[point.cluster] != number]
        if not inside or not training:
            continue
        for name, make in makers.items():
            mapped, _ = make(training)
            for place in inside:
                predicted[name][place] = mapped(points[place].x)
    same, _ = makers[CONSTANT](points)  # it learns next to nothing, and out of fold it would be unfairly bad
    predicted[CONSTANT] = [same(point.x) for point in points]
    predicted[RAW] = [point.raw for point in points]
    span = 1.0 if classes else rule.scale.high - rule.scale.low
    values = {
        name: [float(p.y == v) if classes else abs(p.y - v) for p, v in zip(points, found, strict=True)]
        for name, found in predicted.items()
    }
    sign = 1.0 if classes else -1.0
    candidates = []
    for name in (RAW, CONSTANT, *(n for n in makers if n != CONSTANT)):
        better = None
        if name != RAW:
            gains = [sign * (v - r) for v, r in zip(values[name], values[RAW], strict=True)]
            # the error of a case moves no further than its score does here; a mapping may move others more
            moved = [abs(v - r) for v, r in zip(predicted[name], predicted[RAW], strict=True)]
            reach = span if classes else max(WITHIN * span, *moved)
            better = _interval(points, gains, -reach, reach)
        fitted = makers[name](points)[1] if name != RAW else {}
        candidates.append(Candidate(name, _interval(points, values[name], 0.0, span), better, fitted))
    others = [one for one in candidates if one.better is not None and one.better.low > 0]
    best = max(others, key=lambda one: one.better.value if one.better else 0.0).name if others else RAW
    measure = "accuracy" if classes else "mean_absolute_error"
    return Fit(measure, tuple(candidates), best, len(points), len(known) - len(points))


def _point(item: Item, rule: Rule) -> _Point:
    assert item.signal is not None
    assert item.target is not None
    if rule.passing is not None:
        y, raw = (1.0 if rule.passes(score) else -1.0 for score in (item.target, item.signal))
        return _Point(item.cluster, rule.scale.upright(item.signal), y, raw)
    if isinstance(item.verdict, str):
        raw = {"first": 1.0, "met": 1.0, "second": -1.0, "not met": -1.0}.get(item.verdict, 0.0)
        return _Point(item.cluster, item.signal, item.target, raw)
    return _Point(item.cluster, item.signal, item.target, item.signal)


Maker = Callable[[Sequence[_Point]], tuple[Mapped, dict[str, Json]]]


def _of_classes(family: Family, rule: Rule, points: Sequence[_Point]) -> dict[str, Maker]:
    raw = Band(-EVEN, EVEN) if family == "pairwise" else Band(0.0, 0.0)
    upright = rule.scale.upright  # a cut is fitted with the good side above it
    if rule.passing is not None:
        raw = Band(upright(rule.passing), upright(rule.passing))

    def constant(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        counts = Counter(point.y for point in training)
        most = max(counts, key=lambda label: (counts[label], label))
        return (lambda _: most), {"value": most}

    def cut(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        found = fit_band([p.x for p in training], [p.y for p in training], raw, ties=False)
        return found, {"at": round(upright(found.low), 6)}

    def band(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        found = fit_band([p.x for p in training], [p.y for p in training], raw, ties=True)
        return found, {"low": round(found.low, 6), "high": round(found.high, 6)}

    tied = family == "pairwise" and any(point.y == 0 for point in points)
    return {CONSTANT: constant, "threshold": cut, **({"tie_band": band} if tied else {})}


def _of_scores(rule: Rule) -> dict[str, Maker]:
    low, high = rule.scale.low, rule.scale.high

    def constant(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        middle = median(point.y for point in training)
        return (lambda _: middle), {"value": middle}

    def shift(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        off = fsum(p.y - p.x for p in training) / len(training)
        return Line(1.0, off, low, high), {"add": round(off, 6)}

    def line(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        found = fit_line([p.x for p in training], [p.y for p in training], low, high)
        return found, {"slope": round(found.slope, 6), "intercept": round(found.intercept, 6)}

    def steps(training: Sequence[_Point]) -> tuple[Mapped, dict[str, Json]]:
        found = fit_steps([p.x for p in training], [p.y for p in training])
        gold, last = found.gold, len(found.gold) - 1
        kept = [i for i in range(last + 1) if i in (0, last) or not gold[i - 1] == gold[i] == gold[i + 1]]  # no flats
        short = Steps(tuple(found.knots[i] for i in kept), tuple(gold[i] for i in kept))
        return short, {"knots": [round(k, 6) for k in short.knots], "gold": [round(g, 6) for g in short.gold]}

    return {CONSTANT: constant, "shift": shift, "linear": line, "isotonic": steps}


def _interval(points: Sequence[_Point], values: Sequence[float], low: float, high: float) -> Interval:
    sums, sizes = summed([(point.cluster, value) for point, value in zip(points, values, strict=True)])
    below, above = clustered_t(sums, sizes, low, high, LEVEL / 2)
    return Interval(fsum(values) / len(values), max(low, below), min(high, above))


# ------------------------------------------------------------------------------------------------------------ estimates

LIMITS: Final = (0.70, 0.80, 0.90)
GRID: Final = (
    *(1.0, 0.999, 0.995, 0.99, 0.98, 0.97, 0.96, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.0),
)
"""Thresholds of confidences by probabilities, fixed before any label is seen; those of repeats are shares of asks."""
FEW: Final = 10
"""With fewer labelled cases a criterion is in no figure, where some cases are labelled in part."""
DRAWN: Final = 0.01
"""The rate at which a random sample of labelled cases is wrongly called not random."""


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
    found: dict[str, tuple[float, float, str]] = {}
    for item in items:
        sure, wrong, _ = found.get(item.case, (1.0, 0.0, ""))
        mine = 0.0 if item.confidence is None else item.confidence
        found[item.case] = min(sure, mine), max(wrong, float(not item.correct)), item.cluster
    return list(found.values())


def reliable(labelled: Sequence[Item], seed: int) -> CalibrationError | None:
    """Return the expected calibration error of the confidences; None for fewer than two."""
    known = [(i.confidence, i.correct) for i in labelled if i.gold is not None and i.confidence is not None]
    rng = Random(int(digest("reliability", seed)[:16], 16))
    return None if len(known) < 2 else calibration_error([sure for sure, _ in known], [r for _, r in known], rng)
