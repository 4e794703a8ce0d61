"""Where a judge errs: the confusion table, and errors by class and by slice with intervals that hold together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, sqrt
from typing import Final

from calm.core.case import TIE
from calm.experiment.setup import CLUSTER
from calm.results.pairing import summed
from calm.statistics.intervals import clustered_t
from calm.studies.calibrate.items import Item, Label, Rule

UNREAD: Final = "unread"
LEVEL: Final = 0.05
"""Error probability of an interval, both sides together; of a table, all of its intervals together."""
LEVELS: Final = 11
"""A scale of more steps is shown in `RANGES` ranges."""
RANGES: Final = 5
FEWEST: Final = 10
"""A slice of fewer cases is not shown: it could only mislead."""
VALUES: Final = 20
"""A tag with more values than this is no slice."""
SLICES: Final = 40
"""So many slices are shown, the largest."""
CRITERION: Final = "criterion"


@dataclass(frozen=True, slots=True)
class Row:
    """The share of right verdicts among some items, with its interval; `n` counts items, `clusters` their questions."""

    name: str
    n: int
    clusters: int
    right: float
    low: float
    high: float
    tag: str = ""
    rest: float | None = None
    """The share among all other items."""
    differs: bool = False
    """Whether it differs from the rest by the evidence, whatever the number of slices."""


@dataclass(frozen=True, slots=True)
class Slices:
    """Errors by slice. All intervals hold together; `small` counts slices that are too small, `more` those left out."""

    rows: tuple[Row, ...]
    small: int
    more: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """
    How often the judge says what where people say what: gold label by label of the judge.

    A case whose asks differ is split between what they say, so that a row sums to its number of items.
    """

    gold: tuple[str, ...]
    said: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]


def namer(items: Sequence[Item], rule: Rule) -> Callable[[Label], str]:
    """Return what names a label: a class by itself; a score by its value, its range, or by pass and fail."""
    scale = rule.scale
    if rule.passing is not None:
        return lambda label: label if isinstance(label, str) else "pass" if rule.passes(label) else "fail"
    values = {v for item in items for v in (*item.said, item.gold) if isinstance(v, float)}
    if len(values) <= LEVELS:
        return lambda label: label if isinstance(label, str) else f"{label:g}"
    width = (scale.high - scale.low) / RANGES

    def named(label: Label) -> str:
        if isinstance(label, str):
            return label
        place = min(RANGES, max(1, ceil((label - scale.low) / width - 1e-9)))
        return f"{scale.low + (place - 1) * width:g} to {scale.low + place * width:g}"

    return named


def confusion(items: Sequence[Item], named: Callable[[Label], str]) -> Confusion:
    """Return the confusion table of labelled items."""
    counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    places: dict[str, float] = {}
    for item in items:
        if item.gold is None:
            continue
        row = counts[_noted(item.gold, named, places)]
        for one in item.said:
            row[UNREAD if one is None else _noted(one, named, places)] += 1 / len(item.said)
    order = sorted(places, key=lambda name: (places[name], name))
    gold = [name for name in order if name in counts]
    said = [*order, *([UNREAD] if any(UNREAD in row for row in counts.values()) else [])]
    table = tuple(tuple(round(counts[name].get(other, 0.0), 6) for other in said) for name in gold)
    return Confusion(tuple(gold), tuple(said), table)


def _noted(label: Label, named: Callable[[Label], str], places: dict[str, float]) -> str:
    """Return the name of a label, and note its place among the others: scores by size, ties last."""
    name = named(label)
    places[name] = min(places.get(name, _place(label)), _place(label))
    return name


def by_class(items: Sequence[Item], named: Callable[[Label], str]) -> tuple[Row, ...]:
    """Return the share of right verdicts among the items of each gold label; all intervals hold together."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.gold is not None:
            groups[named(item.gold)].append(item)
    order = sorted(groups, key=lambda name: (_place(min(map(_gold, groups[name]), key=_place)), name))
    return tuple(_row(name, groups[name], len(groups)) for name in order)


def _gold(item: Item) -> Label:
    assert item.gold is not None
    return item.gold


def _place(label: Label) -> float:
    """Return the place of a label among others: scores by size, ties last."""
    return label if isinstance(label, float) else 1.0 if label == TIE else 0.0


def slices(items: Sequence[Item]) -> Slices:
    """
    Return the share of right verdicts by tag, and by criterion, each beside all other items.

    The intervals hold together with probability 1 - `LEVEL` (Bonferroni), and so does what `differs` says. The bounds
    of a difference are taken from those of its parts (Newcombe 1998; Zou & Donner 2008).
    """
    known = [item for item in items if item.gold is not None]
    groups: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in known:
        for tag, value in _tags(item).items():
            groups[tag, value].append(item)
    values = Counter(tag for tag, _ in groups)
    sliced = {key: group for key, group in groups.items() if 1 < values[key[0]] <= VALUES}
    large = {key: group for key, group in sliced.items() if len({i.cluster for i in group}) >= FEWEST}
    order = sorted(large, key=lambda key: (-len(large[key]), key))
    shown = sorted(order[:SLICES])
    total, weight = fsum(item.right for item in known), len(known)
    rows = []
    for tag, value in shown:
        group = large[tag, value]
        row = _row(value, group, len(shown))
        left = weight - len(group)
        if not left:
            rows.append(row)
            continue
        inside = set(map(id, group))
        others = [item for item in known if id(item) not in inside]
        rest = (total - fsum(item.right for item in group)) / left
        low, high = bounds(others, LEVEL / len(shown))
        difference = row.right - rest
        differs = difference - sqrt((row.right - row.low) ** 2 + (high - rest) ** 2) > 0 or (
            difference + sqrt((row.high - row.right) ** 2 + (rest - low) ** 2) < 0
        )
        rows.append(Row(row.name, row.n, row.clusters, row.right, row.low, row.high, tag, rest, differs))
    return Slices(tuple(rows), len(sliced) - len(large), len(large) - len(shown))


def _tags(item: Item) -> Mapping[str, str]:
    found = {tag: value for tag, value in item.tags.items() if tag not in (CLUSTER, "drawn")}
    return {**found, CRITERION: item.part} if item.part else found


def _row(name: str, group: Sequence[Item], tests: int) -> Row:
    low, high = bounds(group, LEVEL / tests)
    right = fsum(item.right for item in group) / len(group)
    return Row(name, len(group), len({item.cluster for item in group}), right, low, high)


def bounds(group: Sequence[Item], level: float) -> tuple[float, float]:
    """Return the two-sided interval of the share of right verdicts, over clusters; all of [0, 1] for a single one."""
    sums, sizes = summed([(item.cluster, item.right) for item in group])
    if len(sums) < 2:
        return 0.0, 1.0
    low, high = clustered_t(sums, sizes, 0.0, 1.0, level / 2)
    return max(0.0, low), min(1.0, high)
