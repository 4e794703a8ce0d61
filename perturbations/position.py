"""Position: show the same answers in another order, or one of them in both slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import factorial
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import TIE
from calm.core.edits import Edit
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Plant, Trigger

TRIGGER = NEVER


@perturbation(bias="position", expects=Expects.SAME, source="arXiv:2410.02736", tasks=("pairwise", "listwise"))
def swap(case: Treated, rng: Random) -> Treated | None:
    """Swap the two answers; more of them rotate by a random number, and the treated one now comes first."""
    return _moved(case, rng.randrange(1, len(case.answers))) if len(case.answers) > 1 else None


def rotate_slots(slots: int) -> Edit:
    """Return an edit that moves each of more than two answers on by some slots, the last ones to the front."""

    @perturbation(bias="position", expects=Expects.SAME, source="AVR", tasks=("listwise",), dose=slots)
    def rotate_slots(case: Treated, rng: Random) -> Treated | None:
        """Rotate the answers by a number of slots; the treated answer is the one that now comes first."""
        count = len(case.answers)
        return _moved(case, slots % count) if count > 2 and slots % count else None

    return rotate_slots


def permute(rank: int) -> Edit:
    """Return an edit that puts the answers in one of their orders, counted from 1 in the order of a dictionary."""

    @perturbation(bias="position", expects=Expects.SAME, source="FairEval", tasks=("listwise",), dose=rank)
    def permute(case: Treated, rng: Random) -> Treated | None:
        """Put the answers in another order; the treated answer is the one that now comes first."""
        order = _permutation([answer.id for answer in case.shown], rank)
        return case.arranged(order).treat(order[0]) if order and rank else None

    return permute


@perturbation(bias="position", expects=Expects.SAME, source="AVR", tasks=("listwise",))
def reverse_order(case: Treated, rng: Random) -> Treated | None:
    """Reverse the order of more than two answers; the treated answer is the one that now comes first."""
    order = tuple(answer.id for answer in case.shown[::-1])
    return case.arranged(order).treat(order[0]) if len(order) > 2 else None


@perturbation(bias="position", expects=Expects.TIE, source="silent-bias", tasks=("pairwise",))
def same_text(case: Treated, rng: Random) -> Treated | None:
    """Show the text of one of two answers in both slots."""
    if len(case.answers) != 2:
        return None
    one = case[rng.choice(sorted(answer.id for answer in case.answers))]
    twins = tuple(replace(one, id=answer.id) for answer in case.answers)
    return None if twins == case.answers else replace(case, answers=twins, better=TIE)


def _permutation(ids: Sequence[str], rank: int) -> tuple[str, ...] | None:
    """
    Return the order of some rank among all orders of the ids, rank 0 being their own; None beyond the last.

    >>> _permutation("abc", 1), _permutation("abc", 5), _permutation("abc", 6)
    (('a', 'c', 'b'), ('c', 'b', 'a'), None)
    """
    left, order = list(ids), []
    if not 0 <= rank < factorial(len(left)):
        return None
    while left:
        place, rank = divmod(rank, factorial(len(left) - 1))
        order.append(left.pop(place))
    return tuple(order)


def _moved(case: Treated, slots: int) -> Treated:
    ids = tuple(answer.id for answer in case.shown)
    order = ids[-slots:] + ids[:-slots]
    return case.arranged(order).treat(order[0])


PLANTED = Plant(
    "position",
    Trigger("the first slot (of two or more)", lambda slot, seen: len(seen.answers) > 1 and slot is seen.answers[0]),
    precedence=310,
)
