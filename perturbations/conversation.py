"""Conversation: change the turns that led to the question, and nothing of the question and the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from calm import Treated
from calm.core.case import ASSISTANT, USER, Turn
from calm.core.markup import closed, in_case

ASKERS: Final = (USER, "human", "customer", "client")
REPLIERS: Final = (ASSISTANT, "ai", "gpt", "bot", "model", "agent")
BESIDE: Final = ("system", "developer", "tool", "function")
"""Roles of those who ask, who reply, and who do neither."""


def asker(case: Treated) -> str:
    """Return the role of the one who asks: a known one, else that of the first speaker."""
    roles = [turn.role for turn in case.turns if turn.role.lower() not in BESIDE]
    known = [role for role in roles if role.lower() in ASKERS]
    return next(iter([*known, *roles]), USER)


def replier(case: Treated) -> str:
    """Return the role of the one who replies: a known one, else that of the other speaker."""
    asks = asker(case)
    roles = [turn.role for turn in case.turns if turn.role.lower() not in BESIDE and turn.role != asks]
    known = [role for role in roles if role.lower() in REPLIERS]
    return next(iter([*known, *roles]), ASSISTANT)


def places(case: Treated) -> list[int]:
    """Return where the asker speaks, by the numbers of the turns from 0."""
    asks = asker(case)
    return [place for place, turn in enumerate(case.turns) if turn.role == asks and turn.text.strip()]


def replies(case: Treated) -> list[int]:
    """Return where the one who replies speaks, by the numbers of the turns from 0."""
    role = replier(case)
    return [place for place, turn in enumerate(case.turns) if turn.role == role and turn.text.strip()]


def with_turns(case: Treated, turns: Iterable[Turn]) -> Treated:
    """Return the case with another conversation."""
    return replace(case, turns=tuple(turns))


def said_in(case: Treated, chosen: Iterable[int], words: Callable[[], str]) -> Treated | None:
    """Return the case with words behind the texts of some turns; None if they can stand in none of them."""
    turns = list(case.turns)
    for place in chosen:
        text = closed(turns[place].text, words())
        if text is not None:
            turns[place] = Turn(turns[place].role, text)
    return None if tuple(turns) == case.turns else with_turns(case, turns)


def exchanged(case: Treated, at: int, asked: str, replied: str) -> Treated:
    """Return the case with one exchange more, before the turn of a number or behind the last one."""
    near = case.turns[min(at, len(case.turns) - 1)].text
    added = Turn(asker(case), in_case(near, asked)), Turn(replier(case), in_case(near, replied))
    return with_turns(case, (*case.turns[:at], *added, *case.turns[at:]))
