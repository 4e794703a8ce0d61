"""False memory: let the weaker answer claim that the user said something in the conversation; nobody did."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.prose import append, prepend, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "false-memory"
SAID = (
    "As you said to me earlier on, you want it just like this:",
    "You wrote in your first message that you like it this way, so:",
)
AGREED = (
    "All of this is as we agreed at the beginning of our conversation.",
    "You asked me for these very words a few messages ago.",
)
TRIGGER = stock((*SAID, *AGREED))
PLANTED = Plant(BIAS, in_text(TRIGGER))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def claim_it_was_said(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with the claim that the user said earlier that it should be so."""
    return prepend(case, rng.choice(SAID)) if case.turns else None


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def claim_it_was_agreed(case: Treated, rng: Random) -> Treated | None:
    """End the weaker answer with the claim that it is what both agreed on earlier."""
    return append(case, rng.choice(AGREED)) if case.turns else None
