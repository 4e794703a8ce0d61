"""
Ids of imported cases and answers: the same on every machine, and never one id for two.

A case is named after its file, its record and what it holds, so that five files with one name can be in one run. An
answer is named after its author, or else after its column. Where that would name two answers under one question, a
digest of the text is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from calm.core.annotations import renamed
from calm.core.case import TIE, Answer, Case, digest
from calm.core.items import item_of

_HELD: Final = ("question", "answers", "reference", "fields", "variants")
"""What of a row its digest covers: a corrected label makes no other case."""
_DIGITS: Final = 8


def case_id(file: str, record: int, row: Mapping[str, object]) -> str:
    """Return the id of the case of a row: the name of its file, the number of its record, and a digest of it."""
    return f"{Path(file).stem}-{record:05d}-{digest('case', [row.get(key) for key in _HELD])[:_DIGITS]}"


def named(cases: Sequence[Case]) -> list[Case]:
    """Return cases in which the ids of several answers name their authors, and each id names one answer a question."""
    meant: dict[tuple[str, str], set[tuple[str | None, str]]] = {}
    for case in cases:
        for answer in case.answers:
            meant.setdefault((item_of(case), _base(answer)), set()).add((answer.author, answer.text))
    return [_renamed(case, meant) if len(case.answers) > 1 else case for case in cases]


def _base(answer: Answer) -> str:
    """Return the name of an author as an id may be, or the id that the answer has."""
    name = " ".join((answer.author or "").replace("~", "-").split()).lstrip("! ")
    return f"author {name}" if name == TIE else name or answer.id


def _renamed(case: Case, meant: Mapping[tuple[str, str], set[tuple[str | None, str]]]) -> Case:
    names: dict[str, str] = {}
    for answer in case.answers:
        base = _base(answer)
        name = base
        if len(meant[item_of(case), base]) > 1:
            name = f"{base}-{digest('answer', answer.author, answer.text)[:_DIGITS]}"
        while name in names.values():  # the same answer twice in one case
            name = f"{base}-{digest('again', name)[:_DIGITS]}"
        names[answer.id] = name
    return replace(
        case,
        answers=tuple(replace(answer, id=names[answer.id]) for answer in case.answers),
        better=None if case.better is None else names.get(case.better, case.better),
        scores={names[key]: value for key, value in case.scores.items()},
        met={names[key]: value for key, value in case.met.items()},
        annotations=renamed(case.annotations, names),
        variants={edit: {names[key]: text for key, text in texts.items()} for edit, texts in case.variants.items()},
    )
