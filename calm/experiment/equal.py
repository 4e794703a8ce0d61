"""Equal: two equally good answers to the question of a case."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from calm.core.case import TIE, Answer, Case
from calm.core.ready_made import NEUTRAL
from calm.core.verdict import Family
from calm.experiment.inert import even

SIDES: Final = ("one", "two")
"""The ids of two equal answers."""
_REWORDED: Final = frozenset({"paraphrase", "polish", NEUTRAL})
"""Kinds of ready-made texts that say the same as well."""


def as_pair(case: Case, family: Family) -> Case:
    """Return a case as a judge can be shown it: one answer, where two are compared, beside its copy."""
    alone = family == "pairwise" and len(case.answers) == 1
    return even(equal_pair(case)) if alone else case


def equal_pair(case: Case) -> Case:
    """
    Return two equally good answers to the question of a case, under the ids of `SIDES`, in a drawn order.

    They are two of its answers if its gold label says so, else its best answer beside a text of the case that says the
    same in other words, else that answer twice.
    """
    tied = list({answer.text: answer for answer in case.answers}.values())[:2] if case.better == TIE else []
    if len(tied) == 2:
        texts = {side: replace(a, id=side, author=None) for side, a in zip(SIDES, tied, strict=True)}
    else:
        known = {i: case.worth(i) for i in (a.id for a in case.answers)}
        scored = {i: worth for i, worth in known.items() if worth is not None}
        chosen = case.better if case.better not in (None, TIE) else max(scored, key=scored.__getitem__, default=None)
        best = case[chosen] if chosen is not None else case.answers[0]
        other = next(
            (
                held[best.id]
                for kind, held in sorted(case.variants.items())
                if kind in _REWORDED and held.get(best.id, best.text) != best.text
            ),
            best.text,
        )
        texts = {SIDES[0]: replace(best, id=SIDES[0], author=None), SIDES[1]: Answer(SIDES[1], other, steps=best.steps)}
    bare = replace(case, answers=tuple(texts.values()), better=TIE, scores={}, met={}, variants={}, annotations={})
    return replace(bare, label=None).present(order=(), bylines={}, drafts={}, labels=()).balanced("equal pair 1")
