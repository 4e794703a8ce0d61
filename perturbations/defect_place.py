"""Place of a defect: put the same error at the beginning, in the middle or at the end of an answer."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import in_case
from calm.core.verdict import Family
from calm.perturbations.prose import sentences, stock
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "defect-place"
SOURCE = "arXiv:2604.18835"
TASKS: tuple[Family, ...] = ("pairwise", "score", "listwise")
"""On a rubric, no rule can find which criterion such an error breaks."""
ERRORS = (
    "By the way an hour has a hundred minutes.",
    "All fish breathe through their feathers after all.",
    "Winter is known to be the hottest part of summer.",
)
"""Blatant errors that fit into any answer, at any place."""
TRIGGER = stock(ERRORS)

FIRST, MIDDLE, LAST = range(3)


@perturbation(bias=BIAS, expects=Expects.WORSE, source=SOURCE, tasks=TASKS)
def err_early(case: Treated, rng: Random) -> Treated | None:
    """Put a blatant error before the answer's first sentence."""
    return _wrong(case, FIRST, rng)


@perturbation(bias=BIAS, expects=Expects.WORSE, source=SOURCE, tasks=TASKS)
def err_midway(case: Treated, rng: Random) -> Treated | None:
    """Put the same blatant error in the middle of the answer's sentences."""
    return _wrong(case, MIDDLE, rng)


@perturbation(bias=BIAS, expects=Expects.WORSE, source=SOURCE, tasks=TASKS)
def err_late(case: Treated, rng: Random) -> Treated | None:
    """Put the same blatant error behind the answer's last sentence."""
    return _wrong(case, LAST, rng)


def _wrong(case: Treated, place: int, rng: Random) -> Treated | None:
    """Return the case with an answer harmed at a place; None if it has fewer than two sentences: no middle."""
    text = case[case.target].text
    spans = sentences(text)
    if len(spans) < 2:
        return None
    error = in_case(text, rng.choice(ERRORS))
    if place == LAST:
        at = spans[-1][1]
        return case.damage(case.target, lambda _: f"{text[:at]} {error}{text[at:]}")
    at = spans[0 if place == FIRST else len(spans) // 2][0]
    return case.damage(case.target, lambda _: f"{text[:at]}{error} {text[at:]}")


def _late(slot: Slot, seen: Seen) -> bool:
    found = TRIGGER.search(slot.text)
    return found is not None and not sentences(slot.text[found.end() :])


PLANTED = Plant(
    BIAS, Trigger("an error of this module behind the answer's last sentence", _late), effect=Effect.OVERLOOK
)
