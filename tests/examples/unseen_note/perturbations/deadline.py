"""Deadline: add a remark about time pressure."""

from calm import Expects, Treated, perturbation


@perturbation(bias="deadline", expects=Expects.SAME)
def hurry(case: Treated, rng) -> Treated:
    """Add a note that the judge should be quick."""
    return case.present(notes=(*case.notes, "Please be quick: the deadline is near."))
