"""
Multiple evidence: write the evidence before the verdict, several times, and take the mean (arXiv:2305.17926).

The paper draws several replies to one prompt. Here each prompt has a number. So the replies differ at temperature 0
too, and a run with more of them finds those of a run with fewer in the cache.
"""

from __future__ import annotations

from functools import partial

from calm.core.templates import Prompt
from calm.judges.mitigations.mitigation import EVERY, Mitigation, Reader, number_argument
from calm.judges.mitigations.prompt_changes import need_room_for_reasons, several_prompts, with_rule
from calm.models.wire import Judge

DEFAULT = 3


def _instructed(prompt: Prompt, place: int) -> Prompt:
    text = (
        "Write the evidence first: for each text that you judge, what speaks for it and what against it, with the "
        "words that show it. Then write your verdict, in the form that is asked for, and let it follow from the "
        f"evidence. (Independent evaluation number {place}.)"
    )
    return with_rule(prompt, text)


def _evidence(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("evidence", argument, DEFAULT)
    need_room_for_reasons("evidence", judge)
    changes = [partial(_instructed, place=place) for place in range(1, count + 1)]
    return several_prompts("evidence", judge, f"evidence:{count}", changes)


MITIGATIONS = (
    Mitigation(
        "evidence",
        "write the evidence before the verdict, k times, and take the mean",
        EVERY,
        f"k (default {DEFAULT})",
        "arXiv:2305.17926",
        _evidence,
        "k",
    ),
)
