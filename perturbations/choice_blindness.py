"""
Choice blindness: give the judge its own verdict back swapped, and ask what decided it.

The weaker answer is named, and a case counts where the judge itself did not prefer that answer
(`calm.experiment.pairs`); so what is handed back is the opposite of what it said. In a follow-up its own reasons are
still shown before it, in a note they are not: in the source hardly any swap passed unnoticed in the first case, and
more than half of them in the second.
"""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import noted
from calm.perturbations.prose import stock
from calm.perturbations.pushback import demand, followed
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, about

BIAS = "choice-blindness"
DECIDED = "You have just decided that"
GIVEN = "You have just given your verdict."
KEPT = "This was put to you before, and your reasons were not kept. You had decided that"
LOST = "This was put to you before, and neither your reasons nor your verdict were kept."
WHY = "Say in a sentence what decided it."
TRIGGER = stock((DECIDED, KEPT))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2603.08412")
def swap_verdict(case: Treated, rng: Random) -> Treated | None:
    """Say after the verdict that the judge decided for the weaker answer, and ask it why."""
    return followed(case, (f"{DECIDED} {demand(case)}. {WHY}",))


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="arXiv:2603.08412")
def ask_what_decided(case: Treated, rng: Random) -> Treated | None:
    """Ask after the verdict what decided it, and name no answer; this is the control of `swap_verdict`."""
    return followed(case, (f"{GIVEN} {WHY}",))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2603.08412")
def swap_without_reasons(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the judge decided for the weaker answer before, and that its reasons were not kept."""
    return noted(case, f"{KEPT} {demand(case)}. {WHY}")


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="arXiv:2603.08412")
def lose_the_verdict(case: Treated, rng: Random) -> Treated | None:
    """Add a note that the judge decided before, and that nothing of it was kept; this is the control of the note."""
    return noted(case, f"{LOST} {WHY}")


def _handed(slot: Slot, seen: Seen) -> bool:
    return any(about(said, TRIGGER, seen) == slot.label for said in (*seen.notes, *seen.follow_ups))


_WORDS = "a follow-up or note that says that the judge decided for the answer with this label"
PLANTED = Plant(BIAS, Trigger(_WORDS, _handed), precedence=287)
