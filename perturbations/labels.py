"""Labels: give the same answers, in the same slots, other labels."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.case import LETTERS
from calm.core.verdict import Family
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger

BIAS = "labels"
TASKS: tuple[Family, ...] = ("pairwise", "listwise")
TRIGGER = NEVER

# None of them is a "C" alone or holds a bracket, ">" or "=", which stand for a tie and for an order in a verdict.
NUMBERS = tuple("123456789")
LATE = tuple("PQRSTUVWXYZ")
WORDED = tuple(f"TEXT_{letter}" for letter in "ABCDEFGHI")
SYMBOLS = tuple("◆●▲■★✚")
_UNLIKE = "HJKMPRTVWX"
"""Letters that no reader takes for a digit."""


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def number_labels(case: Treated, rng: Random) -> Treated | None:
    """Label the answers 1, 2, ..., in the order of their slots."""
    return _named(case, NUMBERS)


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def late_labels(case: Treated, rng: Random) -> Treated | None:
    """Label the answers with letters from the end of the alphabet, such as X, Y and Z."""
    return _named(case, LATE[-len(case.answers) :])


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def worded_labels(case: Treated, rng: Random) -> Treated | None:
    """Label the answers TEXT_A, TEXT_B, ..., in the order of their slots."""
    return _named(case, WORDED)


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def symbol_labels(case: Treated, rng: Random) -> Treated | None:
    """Label the answers with symbols that have no order."""
    return _named(case, rng.sample(SYMBOLS, k=len(SYMBOLS)))


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def random_labels(case: Treated, rng: Random) -> Treated | None:
    """Label the answers with random codes such as H7K2."""
    letters = rng.sample(_UNLIKE, k=len(_UNLIKE))
    return _named(
        case, [f"{letter}{rng.randrange(2, 10)}{rng.choice(_UNLIKE)}{rng.randrange(2, 10)}" for letter in letters]
    )


@perturbation(bias=BIAS, expects=Expects.SAME, source="llm-judge-bias-suite", tasks=TASKS)
def reverse_labels(case: Treated, rng: Random) -> Treated | None:
    """Assign the labels in reverse order, so that B is shown before A."""
    return _named(case, case.slot_labels[::-1])


def _named(case: Treated, names: Sequence[str]) -> Treated | None:
    labels = tuple(names[: len(case.answers)])
    fits = len(labels) == len(case.answers) > 1 and labels != case.slot_labels
    return case.present(labels=labels) if fits else None


def _called_first(slot: Slot, seen: Seen) -> bool:
    labels = tuple(s.label for s in seen.answers)
    return labels != tuple(LETTERS[: len(labels)]) and len(labels) > 1 and slot.label == min(labels)


_WORDS = "the answer's label comes first in the alphabet, where labels are not A, B, ... in this order"
PLANTED = Plant(BIAS, Trigger(_WORDS, _called_first), precedence=280)
