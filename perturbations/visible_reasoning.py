"""Visible reasoning: make the weaker answer look reasoned or checked, with no new reason or check."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import in_case
from calm.perturbations.prose import append, final, open_sentences, prepend, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "visible-reasoning"
ORDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
STEPS = tuple(f"Step {ordinal}:" for ordinal in ORDINALS)
OPENERS = ("Let's break this down step by step:", "Thinking this through one step at a time:")
SECOND_LOOKS = (
    "Wait, let me double-check that. Yes, it still holds.",
    "Hold on, let me go over that once more. All right, it stands.",
)
LOOKED_TWICE = ("Having double-checked every step of this:", "After going over all of this a second time:")
TRIGGER = stock((*STEPS, *OPENERS, *SECOND_LOOKS, *LOOKED_TWICE))
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=250)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def name_steps(case: Treated, rng: Random) -> Treated | None:
    """Number the sentences of the weaker answer as steps, up to the tenth."""
    text = case[case.target].text
    starts = [start for start, _ in open_sentences(text)][: len(STEPS)]
    if len(starts) < 2:
        return None
    kept = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    named = "".join(f"{in_case(text, step)} {part}" for step, part in zip(STEPS, kept, strict=False))
    return case.edit(case.target, lambda _: text[: starts[0]] + named)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def break_down(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a claim that it goes step by step."""
    return prepend(case, rng.choice(OPENERS))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeBiasBench")
def double_check(case: Treated, rng: Random) -> Treated | None:
    """Make the weaker answer check itself before its last sentence, and confirm what it said."""
    text, said = case[case.target].text, rng.choice(SECOND_LOOKS)
    last = final(text)
    ends = [end for _, end in open_sentences(text) if end <= last]
    if not ends:
        return append(case, said)
    return case.edit(case.target, lambda _: f"{text[: ends[-1]]} {in_case(text, said)}{text[ends[-1] :]}")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="JudgeBiasBench")
def looked_twice(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a claim that it was checked twice."""
    return prepend(case, rng.choice(LOOKED_TWICE))
