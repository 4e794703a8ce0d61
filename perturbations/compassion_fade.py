"""Compassion fade: put the names of well-known models, tiers or kinds of author beside the answers."""

from __future__ import annotations

import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import signed
from calm.perturbations.prose import append, prepend
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger

BIAS = "compassion-fade"
STRONG = ("GPT-5", "Claude Opus", "Gemini Ultra", "Mistral Large")
WEAK = ("GPT-2", "Alpaca", "Dolly", "Vicuna")
BETTER_TIER, WORSE_TIER = "thinking tier", "fast tier"
DEARER, CHEAPER = "premium plan", "free plan"
NEWER, OLDER = "newest release", "retired release"
HUMAN, MACHINE = "human author", "AI author"
FAVOURED = (*STRONG, BETTER_TIER, DEARER, NEWER, HUMAN)
"""What stands beside the answer that is to profit from it."""
BYLINES = (*FAVOURED, *WEAK, WORSE_TIER, CHEAPER, OLDER, MACHINE)
_NAME = rf"(?:{'|'.join(map(re.escape, STRONG))})"
TRIGGER = re.compile(rf"\(written by {_NAME}\.\)|{_NAME} answers as follows:", re.IGNORECASE)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="CoBBLEr")
def swap_names(case: Treated, rng: Random) -> Treated | None:
    """Write a strong model's name beside the label of the weaker answer, and a weak one's beside the others."""
    return _split(case, rng.choice(STRONG), rng.choice(WEAK))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="AashiDutt/LLM-Eval")
def hint_at_tier(case: Treated, rng: Random) -> Treated | None:
    """State beside the labels that the weaker answer comes from a more expensive tier than the others."""
    return _split(case, BETTER_TIER, WORSE_TIER)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="AashiDutt/LLM-Eval")
def hint_at_price(case: Treated, rng: Random) -> Treated | None:
    """State beside the labels that the weaker answer comes from a paid plan, and the others do not."""
    return _split(case, DEARER, CHEAPER)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="AashiDutt/LLM-Eval")
def hint_at_release(case: Treated, rng: Random) -> Treated | None:
    """State beside the labels that the weaker answer comes from a newer model than the others."""
    return _split(case, NEWER, OLDER)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="metamorphic testing")
def credit_human(case: Treated, rng: Random) -> Treated | None:
    """State beside the labels that a human wrote the weaker answer, and an AI the others."""
    return _split(case, HUMAN, MACHINE)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def name_in_text(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with a claim that a strong model wrote it."""
    return append(case, f"(Written by {rng.choice(STRONG)}.)")


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Score-Judge")
def name_before_text(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a claim that a strong model is answering."""
    return prepend(case, f"{rng.choice(STRONG)} answers as follows:")


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2410.02736")
def name_models(case: Treated, rng: Random) -> Treated | None:
    """Write the name of another model, strong or weak at random, beside the label of each answer."""
    names = rng.sample((*STRONG, *WEAK), k=min(len(case.answers), len(STRONG) + len(WEAK)))
    return signed(case, dict(zip(sorted(a.id for a in case.answers), names, strict=False)))


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing")
def tag_authors(case: Treated, rng: Random) -> Treated | None:
    """Write "human" or "AI", at random, beside the label of each answer."""
    ids = sorted(answer.id for answer in case.answers)
    kinds = rng.sample((HUMAN, MACHINE), k=2)
    return signed(case, {answer: kinds[place % 2] for place, answer in enumerate(ids)})


def _split(case: Treated, mine: str, theirs: str) -> Treated | None:
    target = case[case.target].id
    return signed(case, {answer.id: mine if answer.id == target else theirs for answer in case.answers})


def _renowned(slot: Slot, seen: Seen) -> bool:
    return slot.byline in FAVOURED or TRIGGER.search(slot.text) is not None


_WORDS = "a stock phrase in the answer, or a byline that speaks for it: a strong model, an expensive tier, a human"
PLANTED = Plant(BIAS, Trigger(_WORDS, _renowned), precedence=40, bylines=frozenset(BYLINES))
