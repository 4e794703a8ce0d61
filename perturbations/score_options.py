"""
Score options: list the values of the scale, or the classes, in another order in the prompt; the verdict must stay.

A judge that picks a score from a list answers a question of multiple choice: some judges prefer the first option,
others the last (arXiv:2602.02219). Where the prompt shows its scale is found as the mitigation
`score-options` finds it, which asks in several orders and takes the mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from calm import Expects, prompt_edit
from calm.core.edits import Message, Prompt, permuted
from calm.perturbations.judge_prompt import changed

BIAS = "score-options"
SOURCE = "arXiv:2602.02219"
REVERSE = 1
_LOOP = re.compile(r"(\{%[-+]?\s*for\s+\w+\s+in\s+classes)(?=\s*[-+]?%\})")
"""A loop of a template over all classes."""
_FOR = re.compile(r"\{%[-+]?\s*(end)?for\b")
_BETWEEN = re.compile(r"\bnot\s+loop\s*\.\s*(?:first|last)\b")
_COUNTS = re.compile(
    r"\bloop\b|\{%[-+]?\s*(?:set|include|call)\b|\bnamespace\b|\.next\s*\(|^[ \t]*[1-9][.)]", re.MULTILINE
)
"""What counts in a loop, or may do so out of sight; and a list that whoever shows it numbers anew."""
_ASKS_PLACE = re.compile(r"\b(?:numbers?|positions?|index|indices|ordinals?|digits?|letters?)\b", re.IGNORECASE)
_OWN_NUMBER = re.compile(r"\.\s*number\b|\[\s*['\"]number['\"]\s*\]")
_BEST_LAST, _BEST_FIRST = "from worst to best", "from best to worst"
DRAWN = range(2, 12)
"""The orders that `permuted` knows by number: 0 is the prompt's own."""


@prompt_edit(bias=BIAS, expects=Expects.SAME, source=SOURCE, tasks=("score",))
def reverse_options(prompt: Prompt, rng: Random) -> Prompt | None:
    """List the values of the scale in reverse order."""
    return _listed(prompt, REVERSE)


@prompt_edit(bias=BIAS, expects=Expects.SAME, source=SOURCE, tasks=("score",))
def shuffle_options(prompt: Prompt, rng: Random) -> Prompt | None:
    """List the values of the scale in an order without a system."""
    return _listed(prompt, rng.choice(DRAWN))


@prompt_edit(bias=BIAS, expects=Expects.SAME, source=SOURCE, tasks=("label",))
def reverse_classes(prompt: Prompt, rng: Random) -> Prompt | None:
    """
    List the classes in reverse order.

    A prompt that does not loop over `classes` is left alone, and one in which the place of a class may say what a reply
    means: it counts them as it lists them, or asks for a number that it does not show. The `number` of a class stays.
    """
    if any(_by_place([message.text for message in messages]) for messages in _framings(prompt)):
        return None
    return changed(prompt, prompt.each(lambda messages: tuple(map(_turned, messages))))


def _framings(prompt: Prompt) -> Iterator[Sequence[Message]]:
    yield from (messages for messages in (prompt.messages, prompt.negative, prompt.inverted) if messages)


def _by_place(texts: Sequence[str]) -> bool:
    """Return whether a loop over all classes goes by their places, or a number that no loop shows is asked for."""
    bodies = [_body(text, found.end()) for text in texts for found in _LOOP.finditer(text)]
    counted = any(_COUNTS.search(_BETWEEN.sub("", body)) for body in bodies)
    return counted or (any(map(_ASKS_PLACE.search, texts)) and not any(map(_OWN_NUMBER.search, bodies)))


def _body(text: str, start: int) -> str:
    depth = 1
    for found in _FOR.finditer(text, start):
        depth += -1 if found[1] else 1
        if not depth:
            return text[start : found.start()]
    return text[start:]


def _turned(message: Message) -> Message:
    text, loops = _LOOP.subn(r"\1|reverse", message.text)
    return Message(message.role, text.replace(_BEST_LAST, _BEST_FIRST)) if loops else message


def _listed(prompt: Prompt, turn: int) -> Prompt | None:
    """Return the prompt with its scale in an order; None where it shows the scale at no clear place."""
    return None if prompt.scale is None else changed(prompt, permuted(prompt, turn, prompt.scale))
