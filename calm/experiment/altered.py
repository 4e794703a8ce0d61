"""Where an edit changed a case: in which turn, passage, step or answer, and what came or went there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from operator import itemgetter
from typing import Final, Generic, TypeAlias, TypeVar

from rapidfuzz.distance import Indel

from calm.core.case import COPY, Case
from calm.core.material import Passage, Step, Turn, texts_of_steps
from calm.core.texts import GAP, Change
from calm.experiment.changes import beginning, changed_words, differing

MOST: Final = 6
"""Changes that are kept of a case; the others are counted."""
ALIKE: Final = 0.4
"""Two texts that share so much of their words may be one text that was changed."""
SEEN: Final = 600
"""Characters of a text by which it is known again."""
PAIRED: Final = 40
"""Turns or steps beside each other that are compared; in a longer stretch none is recognised."""
AROUND: Final = frozenset({"turn", "passage", "step", *(field.name for field in fields(Step))})
"""Parts of a case beside question and answers: without a change in one of them, its place goes without saying."""

NOWHERE: Final = -1
"""The place of what only came, or only went, on the other side."""

Pair: TypeAlias = tuple[int, int]
"""The place of something before the edit, and after it."""
Part = TypeVar("Part", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Known(Generic[Part]):
    """By what a part without an id is known: its kind, such as a role or a tool, and its text."""

    kind: Callable[[Part], str]
    text: Callable[[Part], str]


def changes_of(base: Case, shown: Case) -> tuple[tuple[Change, ...], int]:
    """
    Return where an edit changed what a judge sees, and how many such changes are left out of a long list.

    Both are empty if no turn, no passage and no step differs. An answer is compared with its own damaged copy, if there
    is one, and then the others, which the copy replaced, are no change.
    """
    found = [*_turns(base.turns, shown.turns), *_passages(base.context, shown.context), *_answers(base, shown)]
    if not any(one.part in AROUND for one in found):
        return (), 0
    found += [Change(part, came=beginning(came), went=beginning(went)) for part, came, went in differing(base, shown)]
    return tuple(found[:MOST]), len(found[MOST:])


def _turns(old: Sequence[Turn], new: Sequence[Turn]) -> Iterator[Change]:
    def changed(was: Turn, now: Turn, name: str) -> Iterator[Change]:
        yield _changed("turn", (name,), was.text, now.text, of=now.role)

    yield from _row("turn", old, new, _Known(lambda turn: turn.role, lambda turn: turn.text), changed)


def _passages(old: Sequence[Passage], new: Sequence[Passage]) -> Iterator[Change]:
    """Yield what became of passages, which are known by their ids; with the same texts in their order, ids changed."""
    if old == new:
        return
    if Counter(old) == Counter(new):
        yield Change("passage", "order", came=_ids(new), went=_ids(old))
        return
    if [passage.text for passage in old] == [passage.text for passage in new]:
        yield Change("passage", "ids", came=_ids(new), went=_ids(old))
        return
    before, after = ({passage.id: passage.text for passage in side} for side in (old, new))
    behind = ""
    for there, group in groupby(new, key=lambda passage: passage.id in before):
        run = list(group)
        if not there:
            text = beginning(GAP.join(passage.text for passage in run))
            yield Change("passage", "added", tuple(passage.id for passage in run), behind=behind, came=text)
        for passage in run if there else ():
            if before[passage.id] != passage.text:
                yield _changed("passage", (passage.id,), before[passage.id], passage.text)
        behind = run[-1].id
    for passage in old:
        if passage.id not in after:
            yield Change("passage", "gone", (passage.id,), went=beginning(passage.text))
    stayed = [[passage.id for passage in side if passage.id in before and passage.id in after] for side in (old, new)]
    if stayed[0] != stayed[1]:
        yield Change("passage", "order", came=_ids(new), went=_ids(old))


def _answers(base: Case, shown: Case) -> Iterator[Change]:
    known = {answer.id: answer for answer in base.answers}
    several = len(base.answers) > 1
    for other in shown.answers:
        copied = other.id not in known and other.id.endswith(COPY)
        one = known.get(other.id.removesuffix(COPY) if copied else other.id)
        if one is None:
            continue
        yield from _steps(one.steps, other.steps, other.id if several else "")
        if one.text != other.text:
            yield _changed("copy" if copied else "answer", (one.id,) if several else (), one.text, other.text)


def _steps(old: Sequence[Step], new: Sequence[Step], answer: str) -> Iterator[Change]:
    def changed(was: Step, now: Step, name: str) -> Iterator[Change]:
        for field in fields(Step):
            before, after = getattr(was, field.name), getattr(now, field.name)
            if before != after:
                yield _changed(field.name, (name,), before, after, of=now.tool, answer=answer)

    yield from _row("step", old, new, _Known(lambda step: step.tool, _words_of), changed, answer=answer)


def _words_of(step: Step) -> str:
    return " ".join(texts_of_steps([step]))


def _row(
    part: str,
    old: Sequence[Part],
    new: Sequence[Part],
    known: _Known[Part],
    changed: Callable[[Part, Part, str], Iterator[Change]],
    *,
    answer: str = "",
) -> Iterator[Change]:
    """Yield what became of parts in a row, which have no ids: those that came, or went, side by side are one change."""
    if Counter(old) == Counter(new):
        if list(old) != list(new):
            yield _order(part, old, new, answer)
        return
    for joined, group in groupby(_runs(_stretches(old, new, known)), key=itemgetter(0)):
        pairs = [pair for _, pair in group]
        if joined is None:
            for was, now in pairs:
                yield from changed(old[was], new[now], str(now + 1))
            continue
        came = pairs[0][1] >= 0
        places, run = ([now for _, now in pairs], new) if came else ([was for was, _ in pairs], old)
        names, of = tuple(str(place + 1) for place in places), known.kind(run[places[0]]) if len(places) == 1 else ""
        text = beginning(GAP.join(known.text(run[place]) for place in places))
        if came:
            yield Change(part, "added", names, of, answer, came=text)
        else:
            yield Change(part, "gone", names, of, answer, went=text)


def _runs(pairs: Iterable[Pair]) -> Iterator[tuple[int | None, Pair]]:
    """Yield pairs of places, each with the number of the stretch of what only came, or only went, that it is in."""
    number, last = 0, (NOWHERE, NOWHERE)
    for pair in pairs:
        if NOWHERE not in pair:
            yield None, pair
            continue
        follows = any(now == before + 1 and before >= 0 for before, now in zip(last, pair, strict=True))
        number, last = number + (not follows), pair
        yield number, pair


def _order(part: str, old: Sequence[Part], new: Sequence[Part], answer: str) -> Change:
    """Return that the same parts stand in another order, by the numbers that they had."""
    places: dict[Part, list[str]] = {}
    for place, one in enumerate(old, 1):
        places.setdefault(one, []).append(str(place))
    came, went = (places[one].pop(0) for one in new), map(str, range(1, len(old) + 1))
    return Change(part, "order", answer=answer, came=beginning(" ".join(came)), went=beginning(" ".join(went)))


def _stretches(old: Sequence[Part], new: Sequence[Part], known: _Known[Part]) -> Iterator[Pair]:
    """Yield the places of what differs, side by side where one became the other, in the order of the new ones."""
    left: list[int] = []
    right: list[int] = []
    for step in Indel.opcodes(old, new):
        if step.tag == "equal":
            yield from _matched(old, new, left, right, known)
            left, right = [], []
            continue
        left += range(step.src_start, step.src_end)
        right += range(step.dest_start, step.dest_end)
    yield from _matched(old, new, left, right, known)


def _matched(
    old: Sequence[Part], new: Sequence[Part], left: Sequence[int], right: Sequence[int], known: _Known[Part]
) -> Iterator[Pair]:
    became: dict[int, int] = {}
    if [known.kind(old[i]) for i in left] == [known.kind(new[j]) for j in right]:
        became = dict(zip(right, left, strict=True))
    elif max(len(left), len(right)) <= PAIRED:
        begin = 0
        for i in left:
            rated = [
                (_alike(known.text(old[i]), known.text(new[j])), -place)
                for place, j in enumerate(right)
                if place >= begin and known.kind(new[j]) == known.kind(old[i])
            ]
            alike, place = max(rated, default=(0.0, 0))
            if alike >= ALIKE:
                became[right[-place]] = i
                begin = 1 - place
    stayed = set(became.values())
    yield from ((i, NOWHERE) for i in left if i not in stayed)
    yield from ((became.get(j, NOWHERE), j) for j in right)


def _alike(one: str, other: str) -> float:
    return Indel.normalized_similarity(one[:SEEN].split(), other[:SEEN].split())


def _changed(part: str, names: tuple[str, ...], old: str, new: str, *, of: str = "", answer: str = "") -> Change:
    came, went = changed_words(old, new)
    return Change(part, names=names, of=of, answer=answer, came=beginning(came), went=beginning(went))


def _ids(passages: Sequence[Passage]) -> str:
    return beginning(" ".join(passage.id for passage in passages))
