"""Grounding: take away the passage that an answer rests on, so that no passage says what the answer says."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.material import Passage
from calm.perturbations.prose import stock
from calm.perturbations.retrieved import in_passage, support
from calm.perturbations.triggers import Plant

BIAS = "grounding"
INSTEAD = (
    "Notes on the upkeep of stone walls: a loose stone is set again before frost, moss may stay where it grows.",
    "Notes on the upkeep of stone walls: a wall is built dry, and the widest stones go to the bottom.",
    "Notes on the upkeep of stone walls: a gap for water is left at each third step, wide enough for a hand.",
)
TRIGGER = stock(("Notes on the upkeep of stone walls",))
PLANTED = Plant(BIAS, in_passage(TRIGGER))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2503.15620", tasks=("score", "rubric"))
def lose_passage(case: Treated, rng: Random) -> Treated | None:
    """Put a passage about something else in the place of the one that the only answer rests on."""
    at = support(case, case[case.target].text)
    if at is None:
        return None
    other = Passage(case.context[at].id, rng.choice(INSTEAD))
    return case.unfounded((*case.context[:at], other, *case.context[at + 1 :]))
