"""What a judge said and what people say of the same things, in one form for all verdicts, and where it errs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, fsum, sqrt
from statistics import median
from typing import Final, TypeAlias

from calm.core.agreement import on_scale
from calm.core.case import TIE, Case
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Family, Preferred, Ranking, Scale, Score, Tie, Verdict, chances, readable
from calm.experiment.pairs import CLUSTER
from calm.results.pairing import summed
from calm.statistics.intervals import clustered_t

Label: TypeAlias = str | float
"""A class, or a score."""

FIRST, SECOND, MET, NOT_MET = "first", "second", "met", "not met"
"""Classes of verdicts on pairs, by the slot in which the answer stood (`tie` is the third), and on a criterion."""
NUMBERED: Final = "slot {}"
"""Class of a ranking: the slot of the answer that it puts first."""
PROBABILITIES, REPEATS = "probabilities", "repeats"
"""Where a confidence comes from."""
SHARES: Final = Scale(0.0, 1.0)
"""What a judge of points gives."""
WITHIN: Final = 1 / 8
"""Share of a scale without steps by which a score may differ from the gold: about one point of ten."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When a score counts as right: within a distance of the gold, or on the same side of the pass mark."""

    scale: Scale
    within: float
    passing: float | None = None

    @classmethod
    def of(cls, scale: Scale, within: float | None = None, passing: float | None = None) -> Rule:
        """
        Return a rule; the distance is by default a step of the scale, or an eighth of one without steps.

        On a scale of two or three values a score must be that of the label: a step off is a third of it or more.
        """
        width = scale.high - scale.low
        default = WITHIN * width if scale.step is None else scale.step if 3 * scale.step <= width else scale.step / 2
        return cls(scale, default if within is None else within, passing)

    def passes(self, score: float) -> bool:
        """Return whether a score as it is written is on the good side of the pass mark, or on the mark."""
        assert self.passing is not None
        return score <= self.passing if self.scale.best == "low" else score >= self.passing

    def alike(self, one: float, other: float) -> bool:
        """Return whether two scores say the same."""
        if self.passing is not None:
            return self.passes(one) == self.passes(other)
        return abs(one - other) <= self.within + 1e-9


@dataclass(frozen=True, slots=True)
class Item:
    """
    One thing that a judge decided: a case, or one criterion of a rubric.

    `gold` is what people say of it, None where there is no label. `said` holds the word of each ask, None where it
    could not be read; `verdict` is what most asks say (of scores: their median). `signal` places it on a line, `target`
    is the place of the gold: for classes -1 to 1, where 1 is `first` or `met`. `right` is the share of asks that agree
    with the gold, `correct` whether `verdict` does. `confidence` and `spread`, how far the asks differ, are in [0, 1].
    `value` and `worth` are what a mean over cases is taken of: by the judge and by people.
    """

    case: str
    part: str
    cluster: str
    tags: Mapping[str, str]
    gold: Label | None
    said: tuple[Label | None, ...]
    verdict: Label | None
    signal: float | None = None
    target: float | None = None
    right: float = 0.0
    correct: bool = False
    confidence: float | None = None
    spread: float = 0.0
    value: float | None = None
    worth: float | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """Whose win rate is the mean of pairs: an answer's id, an author, or the answer that is listed first."""

    name: str
    kind: str
    ids: Mapping[str, str] = field(default_factory=dict)
    """The id of its answer, by case."""


def gold_of(case: Case, task: str) -> Mapping[str, Label]:
    """
    Return the gold of a case by part: "" for the case as a whole, or the ids of criteria; empty where there is none.

    Gold of points is the share of points that the answer earns, as a judge of points gives it. A score is on the scale
    as verdicts are: its high end is good.
    """
    alone = case.answers[0].id
    if task in ("rubric", "rubric-all"):
        known = {criterion.id for criterion in case.criteria}
        return {c: MET if true else NOT_MET for c, true in case.met.get(alone, {}).items() if c in known}
    if task in ("score", "points"):
        score = case.scores.get(alone)
        if score is None and task == "points":
            score = on_scale(case.met.get(alone, {}), case.points, SHARES)
        return {} if score is None else {"": float(score)}
    return {} if case.better is None else {"": case.better}


def items_of(
    cases: Sequence[Case],
    trials: Trials,
    task: str,
    rule: Rule,
    *,
    shown: Callable[[Case], Case],
    entity: Entity | None = None,
) -> list[Item]:
    """Return the items of some cases by their clean verdicts; `shown` gives a case in the order of its slots."""
    by_id = {case.id: case for case in cases}
    source = source_of(trials)
    found: list[Item] = []
    for row in trials.rows:
        case = by_id[row.case]
        gold = gold_of(case, task)
        match trials.family:
            case "rubric":
                asked = [c.id for c in case.criteria if not gold or c.id in gold]
                found += [_criterion(row, case, one, gold.get(one), source) for one in asked]
            case "score":
                score = gold.get("")
                found.append(_score(row, case, None if score is None else float(score), rule, source))
            case _:
                found.append(
                    _choice(row, shown(case), gold.get(""), family=trials.family, source=source, entity=entity)
                )
    return found


def source_of(trials: Trials) -> str | None:
    """Return where the confidence of these verdicts comes from: their probabilities, else repeats, else nowhere."""
    if trials.weighed:
        return PROBABILITIES
    return REPEATS if any(len(row.clean) > 1 for row in trials.rows) else None


def _choice(
    row: Trial, case: Case, gold: Label | None, *, family: Family, source: str | None, entity: Entity | None
) -> Item:
    slots = case.slots
    pair = family == "pairwise"
    names = (FIRST, SECOND) if pair else tuple(NUMBERED.format(place) for place in range(1, len(slots) + 1))
    named = dict(zip(slots, names, strict=True)) | {TIE: TIE}
    laws = [_law(verdict, named) for verdict in row.clean]
    read = [law for law in laws if law]
    mean = {label: fsum(law.get(label, 0.0) for law in read) / len(read) for law in read for label in law}
    said = tuple(_top(verdict, named) for verdict in row.clean)
    counts = Counter(label for label in said if label is not None)
    verdict = counts.most_common(1)[0][0] if counts else None  # of several, the first said
    if pair and read and counts[FIRST] == counts[SECOND] >= counts[TIE]:
        verdict = TIE  # the asks are at odds
    label = None if gold is None else named.get(str(gold), str(gold))
    own = None if entity is None else entity.ids.get(row.case)
    won = [law.get(named[own], 0.0) + law.get(TIE, 0.0) / 2 for law in read] if own is not None else []
    item = Item(
        row.case,
        "",
        row.cluster or row.case,
        case.tags,
        label,
        said,
        verdict,
        signal=mean.get(FIRST, 0.0) - mean.get(SECOND, 0.0) if pair and read else None,
        target={FIRST: 1.0, SECOND: -1.0, TIE: 0.0}.get(str(label)) if pair else None,
        confidence=mean.get(str(verdict), 0.0),
        value=fsum(won) / len(won) if won else None,  # ties as a half
        worth=None if gold is None or own is None else 0.5 if gold == TIE else float(gold == own),
    )
    return _classed(item, source)


def _criterion(row: Trial, case: Case, name: str, gold: Label | None, source: str | None) -> Item:
    said: list[Label | None] = []
    shares: list[float] = []
    for verdict in row.clean:
        met = verdict.met.get(name) if isinstance(verdict, Criteria) else None
        said.append(None if met is None else MET if met else NOT_MET)
        if met is not None:
            shares.append((chances(verdict) or {}).get(name, float(met)))
    share = fsum(shares) / len(shares) if shares else None
    item = Item(
        row.case,
        name,
        row.cluster or row.case,
        case.tags,
        gold,
        tuple(said),
        None if share is None else MET if share >= 0.5 else NOT_MET,
        signal=None if share is None else 2 * share - 1,
        target=None if gold is None else 1.0 if gold == MET else -1.0,
        confidence=None if share is None else max(share, 1 - share),
        value=share,
        worth=None if gold is None else float(gold == MET),
    )
    return _classed(item, source)


def _classed(item: Item, source: str | None) -> Item:
    said, verdict, gold = item.said, item.verdict, item.gold
    sure = said.count(verdict) / len(said) if source == REPEATS else item.confidence
    return replace(
        item,
        right=said.count(gold) / len(said) if gold is not None else 0.0,
        correct=gold is not None and verdict == gold,
        confidence=None if not source else 0.0 if verdict is None else sure,
        spread=1 - fsum((count / len(said)) ** 2 for count in Counter(said).values()),
    )


def _score(row: Trial, case: Case, gold: float | None, rule: Rule, source: str | None) -> Item:
    written = rule.scale.upright
    gold = None if gold is None else written(gold)
    said = tuple(written(verdict.value) if isinstance(verdict, Score) else None for verdict in row.clean)
    read = [value for value in said if value is not None]
    middle = median(read) if read else None
    near = sum(rule.alike(value, middle) for value in read) / len(said) if middle is not None else 0.0
    if source == PROBABILITIES and middle is not None:
        laws = [law for verdict in row.clean if (law := chances(verdict)) is not None]
        places = [(written(float(place)), p) for law in laws for place, p in law.items()]
        near = fsum(p for place, p in places if rule.alike(place, middle)) / len(laws)
    return Item(
        row.case,
        "",
        row.cluster or row.case,
        case.tags,
        gold,
        said,
        middle,
        signal=middle,
        target=gold,
        right=sum(rule.alike(value, gold) for value in read) / len(said) if gold is not None else 0.0,
        correct=gold is not None and middle is not None and rule.alike(middle, gold),
        confidence=min(1.0, near) if source else None,
        spread=(max(read) - min(read)) / (rule.scale.high - rule.scale.low) if len(read) == len(said) else 1.0,
        value=fsum(read) / len(read) if read else None,
        worth=gold,
    )


def _law(verdict: Verdict, named: Mapping[str, str]) -> Mapping[str, float]:
    law = chances(verdict)
    if law is not None and isinstance(verdict, Preferred | Tie):
        return {named.get(answer, answer): p for answer, p in law.items()}
    top = _top(verdict, named)
    return {} if top is None else {top: 1.0}


def _top(verdict: Verdict, named: Mapping[str, str]) -> str | None:
    match verdict:
        case Preferred(answer=answer):
            return named.get(answer)
        case Ranking(order=order):
            return named.get(order[0][0]) if len(order[0]) == 1 else TIE
        case _:
            return TIE if readable(verdict) else None


def entity_of(cases: Sequence[Case], wanted: str | None = None) -> Entity | None:
    """
    Return whose win rate the cases tell: the wanted answer id or author, or what all cases have.

    Without a wish: an id that all cases have, else an author whom all have, else the answer that is listed first. None
    if no case has answers to choose from, or the wanted one is not in every case.
    """
    if not cases or any(len(case.answers) < 2 for case in cases):
        return None
    tables = {
        "answer": [{a.id: a.id for a in case.answers} for case in cases],
        "author": [{a.author: a.id for a in case.answers if a.author is not None} for case in cases],
    }
    for kind, table in tables.items():
        common = set(table[0]).intersection(*table[1:])
        names = sorted(common) if wanted is None else [wanted] if wanted in common else []
        if names:
            return Entity(names[0], kind, {c.id: row[names[0]] for c, row in zip(cases, table, strict=True)})
    return None if wanted is not None else Entity("", "first", {case.id: case.answers[0].id for case in cases})


# ----------------------------------------------------------------------------------------------------- tables of errors

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

    def noted(label: Label) -> str:
        name = named(label)
        places[name] = min(places.get(name, _place(label)), _place(label))
        return name

    for item in items:
        if item.gold is not None:
            row = counts[noted(item.gold)]
            for one in item.said:
                row[UNREAD if one is None else noted(one)] += 1 / len(item.said)
    order = sorted(places, key=lambda name: (places[name], name))
    gold = [name for name in order if name in counts]
    said = [*order, *([UNREAD] if any(UNREAD in row for row in counts.values()) else [])]
    table = tuple(tuple(round(counts[name].get(other, 0.0), 6) for other in said) for name in gold)
    return Confusion(tuple(gold), tuple(said), table)


def by_class(items: Sequence[Item], named: Callable[[Label], str]) -> tuple[Row, ...]:
    """Return the share of right verdicts among the items of each gold label; all intervals hold together."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.gold is not None:
            groups[named(item.gold)].append(item)
    order = sorted(groups, key=lambda name: (min(_place(i.gold) for i in groups[name] if i.gold is not None), name))
    return tuple(_row(name, groups[name], len(groups)) for name in order)


def _place(label: Label) -> float:
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
        for tag, value in {**item.tags, **({CRITERION: item.part} if item.part else {})}.items():
            if tag not in (CLUSTER, "drawn"):
                groups[tag, value].append(item)
    values = Counter(tag for tag, _ in groups)
    sliced = {key: group for key, group in groups.items() if 1 < values[key[0]] <= VALUES}
    large = {key: group for key, group in sliced.items() if len({i.cluster for i in group}) >= FEWEST}
    order = sorted(large, key=lambda key: (-len(large[key]), key))
    shown = sorted(order[:SLICES])
    total = fsum(item.right for item in known)
    rows = []
    for tag, value in shown:
        group = large[tag, value]
        row = _row(value, group, len(shown))
        inside = set(map(id, group))
        others = [item for item in known if id(item) not in inside]
        if not others:
            rows.append(row)
            continue
        rest = (total - fsum(item.right for item in group)) / len(others)
        low, high = bounds(others, LEVEL / len(shown))
        difference = row.right - rest
        differs = difference - sqrt((row.right - row.low) ** 2 + (high - rest) ** 2) > 0 or (
            difference + sqrt((row.high - row.right) ** 2 + (rest - low) ** 2) < 0
        )
        rows.append(replace(row, tag=tag, rest=rest, differs=differs))
    return Slices(tuple(rows), len(sliced) - len(large), len(large) - len(shown))


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
