"""Position: show the same answers in another order."""

from __future__ import annotations

from random import Random

from calm import Case, Expects, perturbation
from calm.edits import Edit
from calm.perturbations.prose import NEVER

TRIGGER = NEVER


@perturbation(bias="position", expects=Expects.SAME, source="arXiv:2410.02736", tasks=("pairwise", "listwise"))
def swap(case: Case, rng: Random) -> Case | None:
    """Swap the two answers (of more, move all on by a drawn number of slots); the treated one comes first now."""
    return _moved(case, rng.randrange(1, len(case.answers))) if len(case.answers) > 1 else None


def rotate_slots(slots: int) -> Edit:
    """Return an edit that moves each of more than two answers on by some slots, the last ones to the front."""

    @perturbation(bias="position", expects=Expects.SAME, source="AVR", tasks=("listwise",), dose=slots)
    def rotate_slots(case: Case, rng: Random) -> Case | None:
        """Move every answer on by some slots; the treated answer is the one that comes first now."""
        count = len(case.answers)
        return _moved(case, slots % count) if count > 2 and slots % count else None

    return rotate_slots


def _moved(case: Case, slots: int) -> Case:
    ids = tuple(answer.id for answer in case.shown)
    order = ids[-slots:] + ids[:-slots]
    return case.arranged(order, target=order[0])
