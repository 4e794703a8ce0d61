"""Frames: call an answer common wisdom, right, doubtful or imagined."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import named, noted, on_better
from calm.perturbations.prose import prepend, stock
from calm.perturbations.triggers import Plant, in_text_or_note

BIAS = "frames"
CULTURAL = ("Our community has always known this:", "Among our own people it is said like this:")
AFFIRMATIVE = ("Absolutely and without any doubt:", "Yes indeed and this is exactly how it is:")
HYPOTHETICAL = (
    "Imagine a world in which somebody answers like this:",
    "Suppose for a moment that it is told like this:",
)
NEGATIVE = ("is problematic in more ways than one", "has to be taken with great caution")
TRIGGER = stock((*CULTURAL, *AFFIRMATIVE, *HYPOTHETICAL, *NEGATIVE))
PLANTED = Plant(BIAS, in_text_or_note(TRIGGER), precedence=140)


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-stress-test")
def claim_community(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer by saying that a community has always known it."""
    return prepend(case, rng.choice(CULTURAL))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-stress-test")
def affirm(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer with a strong yes."""
    return prepend(case, rng.choice(AFFIRMATIVE))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="llm-judge-stress-test")
def imagine(case: Treated, rng: Random) -> Treated | None:
    """Open the weaker answer by saying that it belongs to an imagined scenario."""
    return prepend(case, rng.choice(HYPOTHETICAL))


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-stress-test")
def cast_doubt(case: Treated, rng: Random) -> Treated | None:
    """Add a note that calls the better or only answer problematic and gives no reason."""
    # said by the answer itself it would be part of what it says, and could rightly cost it points
    aimed = case if len(case.answers) == 1 else on_better(case)
    if aimed is None:
        return None
    about = named(aimed)
    return noted(aimed, f"{about[0].upper()}{about[1:]} {rng.choice(NEGATIVE)}.")
