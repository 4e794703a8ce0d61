"""Across languages: ask the same in another language, its question or its answers or both."""

from __future__ import annotations

from collections.abc import Sequence

from calm import Case, Expects, Treated
from calm.core.edits import Edit
from calm.core.languages import spoken_words
from calm.core.verdict import Family
from calm.perturbations.phrases import Way, in_each, is_foreign
from calm.perturbations.prose import NEVER
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "across-languages"
TRIGGER = NEVER


FEWEST = 5
"""Words of an answer below which the planted judge takes it for no text: a lone opener is none."""


def _all(case: Treated) -> tuple[str, ...]:
    return tuple(one.id for one in case.answers)


def _none(case: Treated) -> tuple[str, ...]:
    return ()


TASKS: tuple[Family, ...] = ("pairwise", "score", "listwise")
"""Not rubrics: their criteria stay in one language, and those that a program checks look for its words."""
_SAME = BIAS, Expects.SAME
WHOLE = Way("whole_in", *_SAME, "arXiv:2505.12201", "Ask the whole item in {}.", _all, question=True, tasks=TASKS)
QUESTION = Way(
    *("question_in", *_SAME, "arXiv:2601.13649", "Ask the question in {}; the answers stay.", _none),
    question=True,
    tasks=TASKS,
)
ANSWERS = Way(
    *("answers_in", *_SAME, "arXiv:2606.14278", "Show all answers in {}; the question stays.", _all), tasks=TASKS
)


def in_another_language(cases: Sequence[Case]) -> Edit:
    """Return an edit that asks an item in each language of some cases but the base language: question and answers."""
    return in_each(WHOLE, cases)


def question_in_another_language(cases: Sequence[Case]) -> Edit:
    """Return an edit that asks the question in each language of some cases but the base language; the answers stay."""
    return in_each(QUESTION, cases)


def answers_in_another_language(cases: Sequence[Case]) -> Edit:
    """Return an edit that shows all answers in each language of some cases but the base language, not the question."""
    return in_each(ANSWERS, cases)


def _not_english(slot: Slot, seen: Seen) -> bool:
    return is_foreign(seen.question) or all(is_foreign(s.text) and spoken_words(s.text) >= FEWEST for s in seen.answers)


PLANTED = Plant(
    BIAS,
    Trigger("a question, or all answers, in another language than English", _not_english),
    effect=Effect.LAST_WINS,
)
