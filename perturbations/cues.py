"""Cues: say something about an answer outside its text, in a note that names it or beside its label."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from calm import Treated
from calm.core.case import TIE
from calm.core.markup import called

ADDED = "added~"
"""How the ids of answers begin that an edit adds, and those of a case's own answers do not."""


def named(case: Treated) -> str:
    """Return what a note calls the treated answer: by its label where there are several."""
    return called(case, case[case.target].id)


def noted(case: Treated, note: str) -> Treated:
    """Return the case with one more note."""
    return case.present(notes=(*case.notes, note))


def signed(case: Treated, bylines: Mapping[str, str]) -> Treated | None:
    """Return the case with names beside the labels of some answers; None if they are there already."""
    after = {**case.bylines, **bylines}
    return None if after == dict(case.bylines) else case.present(bylines=after)


def on_either(case: Treated, rng: Random) -> Treated:
    """Return the case with any of its answers drawn as the treated one."""
    return case.treat(rng.choice(sorted(answer.id for answer in case.answers)))


def on_better(case: Treated) -> Treated | None:
    """Return the case with its better answer as the treated one; None if there is one answer, or none known as best."""
    ids = {answer.id for answer in case.answers}
    others = ids - {case.target}
    if case.better == TIE or len(ids) == 1:
        return None
    best = case.better if case.better in ids else max(others) if len(others) == 1 else None
    return case.treat(best) if best in others else None
