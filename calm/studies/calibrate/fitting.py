"""The mapping from what the judge says to what people say that fits best, tried on cases that did not fit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from statistics import median
from typing import Final

from calm.core.case import digest
from calm.core.verdict import Family
from calm.models.wire import Json
from calm.results.pairing import summed
from calm.statistics.intervals import clustered_t
from calm.statistics.mapping import Band, Line, Steps, fit_band, fit_line, fit_steps
from calm.statistics.prediction_powered import Interval
from calm.studies.calibrate.items import WITHIN, Item, Rule
from calm.studies.calibrate.tables import LEVEL

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
    score = _hit if classes else _miss
    values = {name: [score(p.y, v) for p, v in zip(points, found, strict=True)] for name, found in predicted.items()}
    sign = 1.0 if classes else -1.0
    candidates = []
    for name in (RAW, CONSTANT, *(n for n in makers if n != CONSTANT)):
        better = None
        if name != RAW:
            gains = [sign * (v - r) for v, r in zip(values[name], values[RAW], strict=True)]
            reach = span if classes else _reach(predicted[name], predicted[RAW], WITHIN * span)
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


def _hit(gold: float, predicted: float) -> float:
    return float(gold == predicted)


def _miss(gold: float, predicted: float) -> float:
    return abs(gold - predicted)


Maker = Callable[[Sequence[_Point]], tuple[Mapped, dict[str, Json]]]


def _of_classes(family: Family, rule: Rule, points: Sequence[_Point]) -> dict[str, Maker]:
    """Return a constant, a cut and, where people called some pairs tied, a band of ties."""
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
    """Return a constant, a shift, a line and a rising step function."""
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
        found = _short(fit_steps([p.x for p in training], [p.y for p in training]))
        return found, {"knots": [round(k, 6) for k in found.knots], "gold": [round(g, 6) for g in found.gold]}

    return {CONSTANT: constant, "shift": shift, "linear": line, "isotonic": steps}


def _short(found: Steps) -> Steps:
    """Return the same function without the knots inside flat parts."""
    gold = found.gold
    kept = [i for i in range(len(gold)) if i in (0, len(gold) - 1) or not gold[i - 1] == gold[i] == gold[i + 1]]
    return Steps(tuple(found.knots[i] for i in kept), tuple(gold[i] for i in kept))


def _reach(mapped: Sequence[float], raw: Sequence[float], least: float) -> float:
    """
    Return how far the error of a case can move: no further than its score does on these cases.

    A mapping that hardly moves these scores may move others. So it is `least` at least: an eighth of the scale.
    """
    return max(least, *(abs(one - other) for one, other in zip(mapped, raw, strict=True)))


def _interval(points: Sequence[_Point], values: Sequence[float], low: float, high: float) -> Interval:
    sums, sizes = summed([(point.cluster, value) for point, value in zip(points, values, strict=True)])
    below, above = clustered_t(sums, sizes, low, high, LEVEL / 2)
    return Interval(fsum(values) / len(values), max(low, below), min(high, above))
