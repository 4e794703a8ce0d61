"""Language preference: show one of several answers in another language than the others, with the same content."""

from __future__ import annotations

from collections.abc import Sequence

from calm import Case, Expects, Treated
from calm.core.edits import Edit
from calm.core.languages import ENGLISH, language_of
from calm.core.verdict import Family
from calm.perturbations.cues import on_better
from calm.perturbations.phrases import (
    Sisters,
    Way,
    in_each,
    is_foreign,
    translated,
)
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger

BIAS = "language-preference"
TRIGGER = NEVER
SOURCE = "arXiv:2601.13649"
PAIRS: tuple[Family, ...] = ("pairwise", "listwise")


def _weaker(case: Treated) -> tuple[str | None, ...]:
    return (case.target,)


def _better(case: Treated) -> tuple[str | None, ...] | None:
    aimed = on_better(case)
    return None if aimed is None else (aimed.target,)


WEAKER = Way("weaker_in", BIAS, Expects.NOT_BETTER, SOURCE, "Show the weaker answer in {}.", _weaker, tasks=PAIRS)
BETTER = Way("better_in", BIAS, Expects.SAME, SOURCE, "Show the better answer in {}.", _better, tasks=PAIRS)


def weaker_in_another_language(cases: Sequence[Case]) -> Edit:
    """Return an edit that shows the weaker answer in each language of some cases but the base language."""
    return in_each(WEAKER, cases)


def better_in_another_language(cases: Sequence[Case]) -> Edit:
    """Return an edit that shows the better answer in each language of some cases but the base language."""
    return in_each(BETTER, cases)


def weaker_in_english(cases: Sequence[Case]) -> Edit:
    """Return an edit that shows the weaker answer in English, to a question in another language."""
    return translated(WEAKER, Sisters(cases), ENGLISH)


def _english_alone(slot: Slot, seen: Seen) -> bool:
    others = [one.text for one in seen.answers if one is not slot]
    return bool(others) and language_of(slot.text) == ENGLISH and all(map(is_foreign, others))


PLANTED = Plant(BIAS, Trigger("an answer in English, where all others are in another language", _english_alone))
