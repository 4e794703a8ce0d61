"""Reference: remove the reference, or put a wrong one in its place."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from calm import Answer, Case, Expects, Treated, perturbation
from calm.perturbations import sensitivity
from calm.perturbations.prose import NEVER

TRIGGER = NEVER


@perturbation(bias="reference", expects=Expects.OBSERVE, source="Dzeli")
def hide_reference(case: Treated, rng: Random) -> Treated | None:
    """Hide the case's reference from the judge."""
    return replace(case, reference=None) if case.reference else None


@perturbation(bias="reference", expects=Expects.OBSERVE, source="arXiv:2310.07641")
def spoil_reference(case: Treated, rng: Random) -> Treated | None:
    """Change a number in the reference, or deny one of its statements."""
    if not case.reference:
        return None
    alone = Case("reference", case.question, (Answer("reference", case.reference),)).treat("reference")
    wrong = sensitivity.change_number(alone, rng) or sensitivity.negate(alone, rng)
    return None if wrong is None else replace(case, reference=wrong["reference"].text)
