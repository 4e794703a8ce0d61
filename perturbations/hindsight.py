"""Hindsight: tell the judge the outcome, although it must judge the work itself."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import named, noted
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Plant, in_text_or_note

BIAS = "hindsight"
WELL = "As it turned out later, all ended well for the person who was given"
BADLY = "As it turned out later, all ended badly for the person who was given"
TRIGGER = stock((WELL, BADLY))
PLANTED = Plant(BIAS, in_text_or_note(TRIGGER), precedence=120)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="faizan10152", tasks=("rubric",))
def ended_well(case: Treated, rng: Random) -> Treated | None:
    """Add a note that all ended well for the person who got the answer."""
    return noted(case, f"{WELL} {named(case)}.")


@perturbation(bias=BIAS, expects=Expects.SAME, source="faizan10152", tasks=("rubric",))
def ended_badly(case: Treated, rng: Random) -> Treated | None:
    """Add a note that all ended badly for the person who got the answer."""
    return noted(case, f"{BADLY} {named(case)}.")
