"""
Score options: list the values of the scale, or the classes, in another order in the prompt; the verdict must stay.

A judge that picks a score from a list answers a question of multiple choice: some judges prefer the first option,
others the last (arXiv:2602.02219). Where the prompt shows its scale is found as the mitigation
`score-options` finds it, which asks in several orders and takes the mean.
"""

from __future__ import annotations

import re
from random import Random

from calm import Expects, prompt_edit
from calm.core.templates import Message, Prompt
from calm.judges.mitigations.score_options import permuted
from calm.perturbations.judge_prompt import changed

BIAS = "score-options"
SOURCE = "arXiv:2602.02219"
REVERSE = 1
_LOOP = re.compile(r"(\{%[-+]?\s*for\s+\w+\s+in\s+classes)(?=\s*[-+]?%\})")
"""A loop of a template over all classes."""
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
    """List the classes in reverse order; a prompt that does not loop over `classes` is left alone."""
    return changed(prompt, prompt.each(lambda messages: tuple(map(_turned, messages))))


def _turned(message: Message) -> Message:
    text, loops = _LOOP.subn(r"\1|reverse", message.text)
    return Message(message.role, text.replace(_BEST_LAST, _BEST_FIRST)) if loops else message


def _listed(prompt: Prompt, turn: int) -> Prompt | None:
    """Return the prompt with its scale in an order; None where it shows the scale at no clear place."""
    return None if prompt.scale is None else changed(prompt, permuted(prompt, turn, prompt.scale))
