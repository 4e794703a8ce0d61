"""Cues: say something about an answer outside its text, in a note that names it or beside its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from calm import Case
from calm.core.case import TIE

ADDED = "added~"
"""How the ids of answers begin that an edit adds, and those of a case's own answers do not."""


def named(case: Case) -> str:
    """Return what a note calls the treated answer: by its label where there are several."""
    ids = [answer.id for answer in case.shown]
    place = ids.index(case[case.target].id)
    return f"answer {case.slot_labels[place]}" if len(ids) > 1 else "this answer"


def noted(case: Case, note: str) -> Case:
    """Return the case with one more note."""
    return replace(case, notes=(*case.notes, note))


def signed(case: Case, bylines: Mapping[str, str]) -> Case | None:
    """Return the case with names beside the labels of some answers; None if they stand there already."""
    after = {**case.bylines, **bylines}
    return None if after == dict(case.bylines) else replace(case, bylines=after)


def on_either(case: Case, rng: Random) -> Case:
    """Return the case with any of its answers drawn as the treated one."""
    return replace(case, target=rng.choice(sorted(answer.id for answer in case.answers)))


def on_better(case: Case) -> Case | None:
    """Return the case with its better answer as the treated one; None if there is one answer, or none known as best."""
    ids = {answer.id for answer in case.answers}
    others = ids - {case.target}
    if case.better == TIE or len(ids) == 1:
        return None
    best = case.better if case.better in ids else max(others) if len(others) == 1 else None
    return replace(case, target=best) if best in others else None
