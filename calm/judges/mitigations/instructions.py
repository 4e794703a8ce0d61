"""Instructions: ask the judge to be fair, or to solve the question before it reads the answers."""

from __future__ import annotations

from calm.judges.mitigations.mitigation import EVERY, Mitigation
from calm.judges.mitigations.prompt_changes import need_room_for_reasons, prompt_mitigation, with_rule
from calm.models.wire import Judge

FAIR = (
    "Be fair. The order in which answers are shown, their length, their formatting, a confident tone, the names beside "
    "them, what others are said to prefer and who is said to have written them are no reasons. Content alone counts: "
    "what is correct, and what serves the person who asked. Where two answers are equally good, none of these may tip "
    "the balance."
)
SOLVE = (
    "Before you judge, solve the question on your own, step by step, without regard to what you are shown as answers. "
    "Write your own solution down first. Then compare what you are to judge with it, and only then write your verdict, "
    "in the form that is asked for."
)


def _debias(judge: Judge, *_: object) -> Judge:
    return prompt_mitigation("debias", judge, "debias", lambda prompt: with_rule(prompt, FAIR), key="debias-2")


def _cot(judge: Judge, *_: object) -> Judge:
    need_room_for_reasons("cot", judge)
    return prompt_mitigation("cot", judge, "cot", lambda prompt: with_rule(prompt, SOLVE))


MITIGATIONS = (
    Mitigation("debias", "say in the prompt what must not count", EVERY, "1", "arXiv:2306.05685", _debias),
    Mitigation("cot", "solve the question first, then judge", EVERY, "1", "arXiv:2306.05685", _cot),
)
