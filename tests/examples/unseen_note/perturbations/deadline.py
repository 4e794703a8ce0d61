"""Deadline: a remark about time pressure must not move the verdict."""

from dataclasses import replace

from calm import Case, Expects, perturbation


@perturbation(bias="deadline", expects=Expects.SAME)
def hurry(case: Case, rng) -> Case:
    """Add a note that the judge should be quick."""
    return replace(case, notes=(*case.notes, "Please be quick: the deadline is near."))
