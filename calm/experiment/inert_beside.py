"""
Inert words beside the answers: where an edit said something in a conversation, in passages, or in the run of an agent.

They are put where the edit changed a text; where it added a turn, passage or step, an inert one is added. They say only
that a message, a passage or a step is one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Final, TypeVar

from calm.core.additions import closed
from calm.core.case import Case, digest
from calm.core.checks import words
from calm.core.material import Passage, Step, Turn

T = TypeVar("T", Turn, Passage, Step)

NAMES: Final = {"turns": "turn", "context": "passage", "steps": "step"}
"""What a floor is called whose inert words stand in a part of the case."""

_SAID: Final = {
    "turns": (
        "This message stands here as it was sent.",
        "These words belong to the conversation as it was kept.",
        "What stands here was written as one of the messages.",
        "This is one of the messages as it was received.",
    ),
    "context": (
        "This text stands here as it was retrieved.",
        "These words belong to what was found in the search.",
        "What stands here was kept as one of the passages.",
        "This is one of the passages as it was received.",
    ),
    "steps": (
        "This step stands here as it was recorded.",
        "These words belong to the run as it was kept.",
        "What stands here was noted as one of the steps.",
        "This is one of the steps as it was recorded.",
    ),
}
"""Sentences of eight to ten words for each part."""
_SENTENCE: Final = 9
_MOST_SENTENCES: Final = 4


def beside(base: Case, shown: Case, part: str, number: int) -> Case | None:
    """
    Return the case with inert words in a part where an edit said something; None where it only took away or moved.

    Args:
        base: the case as it is shown without the edit.
        shown: the case after the edit.
        part: "turns", "context" or "steps".
        number: which of the forms of the words, counted from 1.
    """
    start = int(digest("inert", base.id, part), 16)

    def say(count: int) -> str:
        """Return inert words, about as many as a text has."""
        said = _SAID[part]
        sentences = min(_MOST_SENTENCES, max(1, round(count / _SENTENCE)))
        return " ".join(said[(start + number - 1 + place) % len(said)] for place in range(sentences))

    made: Case | None = None
    if part == "turns":
        turns = _worded(base.turns, shown.turns, _text_of_turn, say, _turn)
        made = None if turns is None else replace(base, turns=turns)
    elif part == "context":
        passages = _worded(base.context, shown.context, _text_of_passage, say, _passage)
        made = None if passages is None else replace(base, context=passages)
    else:
        after = {answer.id: answer.steps for answer in shown.answers}
        for answer in base.answers:
            steps = _worded(answer.steps, after.get(answer.id, answer.steps), _text_of_step, say, _step)
            made = made if steps is None else (made or base).acted(answer.id, steps)
    return made


def _worded(
    old: Sequence[T],
    new: Sequence[T],
    text: Callable[[T], str],
    say: Callable[[int], str],
    made: Callable[[T | None, T, Callable[[int], str]], T],
) -> tuple[T, ...] | None:
    """Return a part with inert words where the new one says something else; None where it says nothing new."""
    if not Counter(map(text, new)) - Counter(map(text, old)):
        return None
    found = tuple(_each(old, new, text, say, made))
    return None if found == tuple(old) else found  # as where only the names of roles are others


def _each(
    old: Sequence[T],
    new: Sequence[T],
    text: Callable[[T], str],
    say: Callable[[int], str],
    made: Callable[[T | None, T, Callable[[int], str]], T],
) -> Iterator[T]:
    i = k = 0
    for kept, found in (*aligned(list(map(text, old)), list(map(text, new))), (len(old), len(new))):
        both = min(kept - i, found - k)
        for place in range(both):
            yield made(old[i + place], new[k + place], say)
        yield from old[i + both : kept]
        for one in new[k + both : found]:
            yield made(None, one, say)
        yield from old[kept : kept + 1]
        i, k = kept + 1, found + 1


def aligned(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """
    Return the places of what two lists have in common, in the order of both.

    One walk through both: where they differ, the nearer of the next places at which they meet again goes first. It
    takes about as many steps as both are long, however often the same thing stands in them.

    >>> aligned("abcd", "axbcyd")
    [(0, 0), (1, 2), (2, 3), (3, 5)]
    """
    places: tuple[defaultdict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for at, listed in zip(places, (old, new), strict=True):
        for place in reversed(range(len(listed))):
            at[listed[place]].append(place)

    def ahead(side: int, wanted: Hashable, start: int) -> float:
        """Return how far behind a place a thing stands next; places that were passed are forgotten."""
        left = places[side].get(wanted, [])
        while left and left[-1] < start:
            left.pop()
        return left[-1] - start if left else inf

    found = []
    i = k = 0
    while i < len(old) and k < len(new):
        if old[i] == new[k]:
            found.append((i, k))
            i, k = i + 1, k + 1
            continue
        gone, added = ahead(0, new[k], i), ahead(1, old[i], k)
        if gone == added == inf:
            i, k = i + 1, k + 1
        elif added <= gone:
            k += 1
        else:
            i += 1
    return found


def _closed(old: str, new: str, say: Callable[[int], str]) -> str:
    """Return a text with inert words behind it, about as many as another one has more; the same if that is equal."""
    if old == new:
        return old
    said = say(words(new) - words(old))
    return closed(old, said) or (said if not old.strip() else old)


def _text_of_turn(turn: Turn) -> str:
    return f"{turn.role}: {turn.text}"


def _turn(old: Turn | None, new: Turn, say: Callable[[int], str]) -> Turn:
    return Turn(new.role, say(words(new.text))) if old is None else Turn(old.role, _closed(old.text, new.text, say))


def _text_of_passage(passage: Passage) -> str:
    return passage.text


def _passage(old: Passage | None, new: Passage, say: Callable[[int], str]) -> Passage:
    if old is None:
        return Passage(new.id, say(words(new.text)))
    return Passage(old.id, _closed(old.text, new.text, say))


def _text_of_step(step: Step) -> str:
    return "\n".join((step.thought, step.tool, step.arguments, step.result))


def _step(old: Step | None, new: Step, say: Callable[[int], str]) -> Step:
    if old is None:
        return Step(say(words(new.thought) + words(new.result)))
    return replace(old, thought=_closed(old.thought, new.thought, say), result=_closed(old.result, new.result, say))
