"""
The values of a scale in the order of a turn, where a prompt shows them.

A prompt shows its scale in one of two ways. A list has a line for each value of the whole scale, such as "5: best": its
lines change places, each with the indented lines below it. Other numbered lines stay. Without a list, one range
changes: the first in a sentence about scores, else the first "from 1 to 5", else the only one. A range, such as "from 1
to 5" or `from {{ scale.low }} to {{ scale.high }}`, becomes a list of its values; on a scale without steps, only its
ends change places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from calm.core.case import digest
from calm.core.templates import Message, Prompt
from calm.core.verdict import Scale

T = TypeVar("T")

FEW, MOST_VALUES = 3, 21
"""A scale with so many values is listed: two have no order but two, and more would drown the task."""

_NUMBER = r"(?:(?:score|rating|grade)[ \t]+)?\[?(?P<value>-?\d+(?:\.\d+)?)\]?[ \t]*[:.)=\u2013-](?!\d)"
_VALUE = re.compile(rf"^[ \t]*(?P<item>(?:[-*][ \t]+)?{_NUMBER})", re.I)
_HEADED = re.compile(rf"^[^\n]*?:[ \t]+(?P<item>{_NUMBER})", re.I)
"""A line that begins with a value; a header with the first value behind it."""

_OF_SCORES = re.compile(r"\b(?:scor(?:e|es|ed|ing)|rat(?:e|es|ed|ing|ings)|scales?|grad(?:e|es|ed|ing)|marks?)\b", re.I)
_FROM = re.compile(r"from\b|between\b", re.I)
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")

LIST, SCORED, BOUNDED, BARE = range(4)
"""How surely a place shows the scale: a whole list, a range in a sentence of scores, "from 1 to 5", a mere "1-5"."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place of a text that may show the scale: how surely it does, and its parts (start, end) in the text."""

    sure: int
    parts: tuple[tuple[int, int], ...]


def ordered(values: Sequence[T], turn: int) -> list[T]:
    """
    Return values in the order of a turn: 0 is their own, 1 the reverse, and each other one is drawn.

    >>> ordered([1, 2, 3], 1)
    [3, 2, 1]
    """
    if turn < 2:
        return list(values) if turn == 0 else list(reversed(values))
    rng = Random(digest("score-options", turn))
    return rng.sample(list(values), k=len(values))


def permuted(prompt: Prompt, turn: int, scale: Scale) -> Prompt:
    """Return a prompt that shows its scale in the order of a turn; the same one where it shows none."""
    if turn == 0:
        return prompt
    asked = prompt.scale or scale
    step = asked.step or (1.0 if prompt.form == "logprobs" else None)
    return prompt.each(lambda messages: _shown(messages, turn, asked, step))


def _shown(messages: Sequence[Message], turn: int, scale: Scale, step: float | None) -> tuple[Message, ...]:
    """Return messages with one place turned: the surest, and the first of equally sure ones that stand for scores."""
    found = [(n, place) for n, m in enumerate(messages) for place in _places(m.text, scale, step)]
    surest = [(n, place) for n, place in found if place.sure == min(other.sure for _, other in found)]
    if not surest or (len(surest) > 1 and surest[0][1].sure in (LIST, BARE)):
        return tuple(messages)
    at, place = surest[0]
    text = _replaced(messages[at].text, place, turn, scale, step)
    return tuple(Message(m.role, text) if n == at else m for n, m in enumerate(messages))


def _places(text: str, scale: Scale, step: float | None) -> list[_Place]:
    ranges = [_Place(_sure(text, found), (found.span(),)) for found in _range(scale).finditer(text)]
    return _lists(text, scale, step) + ranges


def _sure(text: str, found: re.Match[str]) -> int:
    """Return how surely a range is that of the scale, by the sentence that it stands in."""
    start = max((end.end() for end in _SENTENCE_ENDS.finditer(text, 0, found.start())), default=0)
    end = _SENTENCE_ENDS.search(text, found.end())
    if _OF_SCORES.search(text[start : end.start() if end else len(text)]):
        return SCORED
    return BOUNDED if _FROM.match(found["before"]) else BARE


def _replaced(text: str, place: _Place, turn: int, scale: Scale, step: float | None) -> str:
    """Return a text with the parts of a place in the order of a turn."""
    if place.sure == LIST:
        new = ordered([text[start:end] for start, end in place.parts], turn)
    else:
        found = _range(scale).match(text, place.parts[0][0])
        new = [_instead(found, turn, scale, step)] if found else []
    for (start, end), part in reversed(list(zip(place.parts, new, strict=True))):
        text = text[:start] + part + text[end:]
    return text


def _lists(text: str, scale: Scale, step: float | None) -> list[_Place]:
    """Return the lists that hold the whole scale; those with blank lines between values only if there is no other."""
    for apart in (False, True):
        found = []
        for run in _runs(text, apart=apart):
            # the first line may be a sentence that merely looks like a header with a value
            whole = next((items for items in (run, run[1:]) if _whole([value for value, _ in items], scale, step)), [])
            if whole:
                found.append(_Place(LIST, tuple(span for _, span in whole)))
        if found:
            return found
    return []


def _runs(text: str, *, apart: bool) -> list[list[tuple[float, tuple[int, int]]]]:
    """Return each run of lines with a value, as values and their spans; an indented line goes with that before it."""
    runs: list[list[tuple[float, tuple[int, int]]]] = [[]]
    at = 0
    for line in text.split("\n"):
        item = _VALUE.match(line)
        headed = None if item else _HEADED.match(line)
        run = runs[-1]
        if item:
            run.append((float(item["value"]), (at + item.start("item"), at + len(line))))
        elif run and line[:1] in (" ", "\t") and line.strip():
            value, (start, _) = run[-1]
            run[-1] = (value, (start, at + len(line)))
        elif headed:
            runs.append([(float(headed["value"]), (at + headed.start("item"), at + len(line)))])
        elif line.strip() or not apart:
            runs.append([])
        at += len(line) + 1
    return [run for run in runs if run]


def _whole(values: Sequence[float], scale: Scale, step: float | None) -> bool:
    """Return whether values are each step of a scale once; without steps, each whole number."""
    size = step or 1.0
    count = round((scale.high - scale.low) / size) + 1
    if not FEW <= len(values) == count:
        return False
    return all(abs(value - scale.low - size * n) < 1e-6 for n, value in enumerate(sorted(values)))


def _range(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of the range of a scale, in words of a template or in numbers."""
    low, high = (
        rf"(?:\{{\{{[-+]?\s*scale\.{end}\s*[-+]?\}}\}}|(?<![\d.]){re.escape(f'{value:g}')}(?![\d]|\.\d))"
        for end, value in (("low", scale.low), ("high", scale.high))
    )
    before = r"(?P<before>(?:\b(?:from|between|of)\s+)?)"
    return re.compile(rf"{before}(?P<low>{low})\s*(?:to|and|-|\u2013)\s*(?P<high>{high})")


def _instead(found: re.Match[str], turn: int, scale: Scale, step: float | None) -> str:
    if step is None:
        return f"{found['before']}{found['high']} to {found['low']}" if turn == 1 else found[0]
    count = round((scale.high - scale.low) / step) + 1
    values = ordered([f"{scale.low + step * place:g}" for place in range(count)], turn)
    return f"(one of {', '.join(values)})"
