"""Persona: tell the judge who it is while it judges."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import noted
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Effect, Plant, in_note

BIAS = "persona"
OPENING = "You judge in the role of"
ROLES = (
    "a retired headmistress of a small school",
    "a young engineer in a large firm",
    "a nurse who works at night",
    "a farmer from the hills",
    "a clerk of a court of law",
)
TRIGGER = stock((OPENING,))
PLANTED = Plant(BIAS, in_note(TRIGGER), precedence=330, effect=Effect.LAST_WINS)


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite")
def assign_role(case: Treated, rng: Random) -> Treated | None:
    """Add a note that gives the judge an occupation that has nothing to do with the question."""
    return noted(case, f"{OPENING} {rng.choice(ROLES)}.")
