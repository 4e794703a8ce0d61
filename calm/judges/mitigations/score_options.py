"""
Score options: show the values of the scale in several orders, and take the mean.

A judge's scores follow the order in which its prompt lists them (arXiv:2506.22316). As with the places of answers
(arXiv:2305.17926), each order is asked, and none can add more than another. The first is the prompt's own, the second
its reverse, and each other one is drawn, the same in every run.

A prompt shows its scale in one of two ways. A list has a line for each value, such as "5: excellent": its lines change
places. A range, such as "from 1 to 5" or `from {{ scale.low }} to {{ scale.high }}`, becomes a list of its values; on a
scale without steps, only its ends change places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import TypeVar

from calm.core.case import digest
from calm.core.templates import Message, Prompt
from calm.core.verdict import Scale
from calm.judges.mitigations.mitigation import Mitigation, NotApplicable, Reader, number_argument
from calm.judges.mitigations.prompt_changes import several_prompts
from calm.models.wire import Judge, Rewordable

T = TypeVar("T")

DEFAULT = 3
FEW, MOST_VALUES = 3, 21
"""A scale with so many values is listed: two have no order but two, and more would drown the task."""

_VALUE = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:(?:score|rating|grade)[ \t]+)?\[?(-?\d+(?:\.\d+)?)\]?[ \t]*[:.)=\u2013-]", re.I
)


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
    return prompt.each(lambda messages: tuple(Message(m.role, _turned(m.text, turn, asked, step)) for m in messages))


def _turned(text: str, turn: int, scale: Scale, step: float | None) -> str:
    listed = _listed(text, turn, scale)
    if listed != text:
        return listed
    return _range(scale).sub(lambda found: _instead(found, turn, scale, step), text)


def _listed(text: str, turn: int, scale: Scale) -> str:
    """Return a text whose lists of values have their lines in another order."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and _on_scale(lines[end], scale):
            end += 1
        if end - start >= FEW:
            lines[start:end] = ordered(lines[start:end], turn)
        start = end + 1
    return "\n".join(lines)


def _on_scale(line: str, scale: Scale) -> bool:
    found = _VALUE.match(line)
    return found is not None and scale.holds(float(found[1]))


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


def _score_options(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("score-options", argument, DEFAULT, least=2)
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None:
        raise NotApplicable("score-options: the judge has no prompt that can be rewritten")
    asked = prompt.scale or judge.scale
    step = asked.step or (1.0 if prompt.form == "logprobs" else None)
    if step is not None and not FEW <= (asked.high - asked.low) / step + 1 <= MOST_VALUES:
        raise NotApplicable(f"score-options: expected a scale of {FEW} to {MOST_VALUES} values")
    if permuted(prompt, 1, asked) == prompt:
        raise NotApplicable(
            "score-options: the prompt shows its scale neither as a list, with a line for each value, nor as a range"
        )
    kept: list[Prompt] = []
    turns: list[int] = []
    for turn in range(count):
        found = permuted(prompt, turn, asked)
        if found not in kept:  # a scale without steps has two orders
            kept.append(found)
            turns.append(turn)
    changes = [partial(permuted, turn=turn, scale=judge.scale) for turn in turns]
    return several_prompts("score-options", judge, f"score-options:{count}", changes)


MITIGATIONS = (
    Mitigation(
        "score-options",
        "show the values of the scale in k orders and take the mean",
        ("score",),
        f"k (default {DEFAULT}); 2 for a scale without steps",
        "arXiv:2506.22316, arXiv:2305.17926",
        _score_options,
        "k",
    ),
)
