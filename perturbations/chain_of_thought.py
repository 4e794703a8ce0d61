"""Chain of thought: ask the judge to solve the question itself before it judges."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import noted
from calm.perturbations.prose import NEVER

TRIGGER = NEVER


@perturbation(bias="chain-of-thought", expects=Expects.OBSERVE, source="arXiv:2410.02736", needs_text=True)
def solve_first(case: Treated, rng: Random) -> Treated | None:
    """Add a note that asks the judge to work out an answer of its own before it gives its verdict."""
    if len(case.answers) > 1:
        then = "compare the answers with it and with each other"
    else:
        then = "check the answer against each criterion" if case.criteria else "hold the answer against it"
    return noted(case, f"Work out your own answer to the question first, step by step. Only then {then}.")
