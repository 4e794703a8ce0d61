"""
Score options: show the values of the scale in several orders, and take the mean.

A judge's scores follow the order in which its prompt lists them (arXiv:2506.22316). As with the places of answers
(arXiv:2305.17926), each order is asked, and none can add more than another. The first is the prompt's own, the second
its reverse, and each other one is drawn, the same in every run.
"""

from __future__ import annotations

from functools import partial

from calm.core.scale_orders import FEW, MOST_VALUES, permuted
from calm.core.templates import Prompt
from calm.judges.mitigations.mitigation import Mitigation, NotApplicable, Reader, number_argument
from calm.judges.mitigations.prompt_changes import several_prompts
from calm.models.wire import Judge, Rewordable

DEFAULT = 3


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
            "score-options: the prompt shows its scale at no clear place, as a list with a line for each value or as a "
            "range"
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
