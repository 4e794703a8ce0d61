"""Which cases are about one question, and answers whose id names another one there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from calm.core.case import Case, digest

ITEM: Final = "item"
"""The tag that says which question a case is about, where its own text does not."""
LANGUAGE: Final = "language"
"""The tag that names the language of a case by its code: one item may be asked in several."""


@dataclass(frozen=True, slots=True)
class Clash:
    """An id that names one answer in an earlier case and another one in this case, under one question."""

    case: str
    answer: str
    first: str

    def __str__(self) -> str:
        return (
            f"expected an id of one answer under one question, got {self.answer!r} for another text or "
            f"author than in case {self.first!r}; rename one of the two, or give the cases different tags.{ITEM} if "
            "they are not about the same question"
        )


def item_of(case: Case) -> str:
    """
    Return the question that a case is about: its tag `item`, else its question with all that is shown beside it.

    That is its reference, fields, turns and passages.

    >>> from calm.core.case import Answer
    >>> item_of(Case("1", "Why?", (Answer("a", "So."),))), item_of(Case("2", "Why?", (), tags={"item": "q7"}))
    ('Why?', 'q7')
    """
    if (named := case.tags.get(ITEM)) is not None:
        return named
    around = case.around()
    if case.reference is None and not case.fields and not around:
        return case.question
    told = case.reference, sorted(case.fields.items())
    return f"{case.question} #{digest('item', *told, *([around] if around else []))[:16]}"


def clashes(cases: Iterable[Case], *, strict: bool = False) -> list[Clash]:
    """
    Return the ids that name two answers under one question in one language, each with the first case that has it.

    The id of a single answer names nothing, so only cases with several answers count. Where all cases have
    one question and no tag says otherwise, the question says nothing of what they are about: unless `strict`, none of
    them clash.
    """
    several = [case for case in cases if len(case.answers) > 1]
    if not strict and len({item_of(case) for case in several}) == 1 and not any(ITEM in case.tags for case in several):
        return []
    known: dict[tuple[str, str, str], tuple[tuple[str, str | None], str]] = {}
    found: list[Clash] = []
    for case in several:
        item, language = item_of(case), case.tags.get(LANGUAGE, "")
        for answer in case.answers:
            said, first = known.setdefault((item, language, answer.id), ((answer.text, answer.author), case.id))
            if said != (answer.text, answer.author):
                found.append(Clash(case.id, answer.id, first))
    return found
