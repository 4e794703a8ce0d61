"""
Surfaces: a case with inert words behind its question, so that each of several asks shows the judge something else.

A judge that repeats itself errs in the same way whenever it sees the same, so asking it again says nothing new. It errs
anew where the question looks a little different. The words say only that there is a question.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Final

from calm.core.case import Case

BEGINS: Final = "(The question above "
"""How all inert words behind a question begin."""
_HOW = (
    *("was received", "came in", "was entered", "was put", "arrived", "was given", "was noted", "was taken down"),
    *("was sent", "was asked", "was written", "was typed", "was submitted", "was recorded", "was stored", "was posed"),
)
_AS = (
    *("as it is", "in this form", "as a text", "in writing", "in these words", "by itself", "just so", "as shown"),
    *("like this", "this way", "as it stands", "as it reads", "as a question", "in one piece", "once", "as given"),
)
SURFACES: Final = tuple(f"{BEGINS}{how} {form}.)" for how, form in product(_HOW, _AS))
"""The inert words; an ask beyond them repeats one, with another repeat index."""


def surface(case: Case, number: int) -> tuple[Case, int]:
    """
    Return what an ask of a number shows, and its repeat index.

    Ask 0 shows the case as it is. Asks 1, 2, ... have inert words of their own, and from `len(SURFACES)` + 1 on the
    same words again with the next repeat index. Repeat indices begin at 1.

    Args:
        case: the case, edited or not.
        number: which ask, from 0.
    """
    if number == 0:
        return case, 1
    turn, place = divmod(number - 1, len(SURFACES))
    return replace(case, question=f"{case.question} {SURFACES[place]}"), 1 + turn
