"""
Samples: ask the same k times and take the mean (arXiv:2303.16634, arXiv:2203.11171).

G-Eval draws n replies to one prompt and takes the mean of the scores; self-consistency takes the verdict of most. Both
draw at a temperature above 0, which is the one that judge.toml sets here. The first sample is the judge's own prompt.
Each other one has a number at its end, so that a server which keeps replies, or a temperature of 0, gives new ones too.
"""

from __future__ import annotations

from functools import partial

from calm.core.templates import Prompt
from calm.judges.mitigations.mitigation import EVERY, Mitigation, Reader, number_argument
from calm.judges.mitigations.prompt_changes import several_prompts, with_rule
from calm.models.wire import Judge

DEFAULT = 5


def _numbered(prompt: Prompt, number: int) -> Prompt:
    """Return the prompt of a sample; the first one is as it is, so it costs nothing where the judge was asked alone."""
    return prompt if number == 1 else with_rule(prompt, f"(Sample number {number}.)")


def _samples(judge: Judge, argument: str, _: Reader) -> Judge:
    count = number_argument("samples", argument, DEFAULT, least=2)
    changes = [partial(_numbered, number=number) for number in range(1, count + 1)]
    return several_prompts("samples", judge, f"samples:{count}", changes)


MITIGATIONS = (
    Mitigation(
        "samples",
        "ask the same k times and take the mean; of answers and criteria, what most samples say",
        EVERY,
        f"k (default {DEFAULT})",
        "arXiv:2303.16634, arXiv:2203.11171",
        _samples,
        "k",
    ),
)
