"""
Grading scale: ask for the same score on another scale, in whole numbers or school grades.

A coarser scale costs a sound judge up to half a step, which is no drift: it goes up as often as down.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from calm import Expects, prompt_edit
from calm.core.edits import Prompt
from calm.core.verdict import Scale
from calm.perturbations.bundled_prompt import lettered, rescaled
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "grading-scale"
TRIGGER = NEVER
TOPS = (5, 10, 100)
"""The upper ends of scales that begin at 0."""
GRADES = ("F", "D", "C", "B", "A")
"""School grades from worst to best."""


@prompt_edit(bias=BIAS, expects=Expects.SAME, source="arXiv:2601.03444", tasks=("score",), bundled=True)
def to_five(prompt: Prompt, rng: Random) -> Prompt | None:
    """Ask for a whole number from 0 to 5."""
    return _graded(prompt, TOPS[0])


@prompt_edit(bias=BIAS, expects=Expects.SAME, source="arXiv:2601.03444", tasks=("score",), bundled=True)
def to_ten(prompt: Prompt, rng: Random) -> Prompt | None:
    """Ask for a whole number from 0 to 10."""
    return _graded(prompt, TOPS[1])


@prompt_edit(bias=BIAS, expects=Expects.SAME, source="arXiv:2601.03444", tasks=("score",), bundled=True)
def to_hundred(prompt: Prompt, rng: Random) -> Prompt | None:
    """Ask for a whole number from 0 to 100."""
    return _graded(prompt, TOPS[2])


@prompt_edit(bias=BIAS, expects=Expects.SAME, source="own", tasks=("score",), bundled=True)
def to_grades(prompt: Prompt, rng: Random) -> Prompt | None:
    """Ask for a school grade from A to F."""
    on_five = _graded(prompt, len(GRADES) - 1)
    if on_five is None or on_five.scale is None:
        return None
    best_first = on_five.scale.best == "low"
    values = {grade: float(place) for place, grade in enumerate(GRADES[::-1] if best_first else GRADES)}
    said = "where N is a school grade, A, B, C, D or F: A for the best an answer can be, F for the worst."
    edited = lettered(on_five, said)
    return edited and replace(edited, values=values)


def _graded(prompt: Prompt, top: int) -> Prompt | None:
    """Return the prompt with a scale of whole numbers from 0 on; None if it has one, or its verdict is a token."""
    own = prompt.scale
    if own is None or prompt.form == "logprobs" or (own.low, own.high) == (0, top):
        return None
    return rescaled(prompt, lambda scale: Scale(0.0, float(top), 1.0, scale.best))


def _on_another(slot: Slot, seen: Seen) -> bool:
    return seen.family == "score" and seen.scale.low == 0 and seen.scale.high in (*TOPS, len(GRADES) - 1)


_WORDS = "a score is asked for on a scale of 0 to 4, 5, 10 or 100"
PLANTED = Plant(BIAS, Trigger(_WORDS, _on_another), precedence=289, effect=Effect.COMPRESS)
