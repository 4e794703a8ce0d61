"""
Where a user's own prompt shows what its templates have no place for: notes, names beside labels, earlier drafts.

As in CALM's g(I), the instruction of arXiv 2410.02736 with something added, every prompt has a place. A note stands
after the question, or at the end of the last user message; a name and drafts stand before the answer's text. What the
templates show themselves stays where they show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from calm.core.case import Case
from calm.core.templates import Message, Messages, Prompt

Draw = Callable[[Case], Messages]
"""Renders the templates with a case."""


def places_anything(prompt: Prompt, case: Case) -> bool:
    """Return whether a case presents something that the templates of a prompt may have no place for."""
    return not prompt.bundled and prompt.notes != "refuse" and bool(case.notes or case.bylines or case.drafts)


def placed(prompt: Prompt, case: Case, draw: Draw) -> tuple[Messages, frozenset[str]]:
    """
    Return the messages about a case, with all that it presents, and where what the templates do not show stands.

    The places are "question" (after it), "end" (of the last user message) and "text" (before that of an answer). Of
    a bundled prompt, and of one that refuses, the messages are those of the templates.
    """
    messages = draw(case)
    if not places_anything(prompt, case):
        return messages, frozenset()
    bare = (
        (_with_drafts, case.present(drafts={})),
        (_with_bylines, case.present(bylines={})),
        (_with_notes, case.present(notes=())),
    )
    hidden = [add for add, without in bare if without != case and draw(without) == messages]
    stood = set()
    for add in hidden:
        found = add(case, prompt, draw, messages)
        if found is not None:
            case, messages, place = found
            stood.add(place)
    return messages, frozenset(stood)


_Added = tuple[Case, Messages, str]


def _with_drafts(case: Case, prompt: Prompt, draw: Draw, messages: Messages) -> _Added | None:
    """Put the drafts that an edit shows before the text of their answer; those of the case's own file stay hidden."""
    texts = {
        answer: "".join(f"[Earlier draft {n}]\n{draft}\n\n" for n, draft in enumerate(drafts, start=1)) + "[Answer]\n"
        for answer, drafts in case.drafts.items()
        if drafts
    }
    return _before_texts(case, texts, draw, messages)


def _with_bylines(case: Case, prompt: Prompt, draw: Draw, messages: Messages) -> _Added | None:
    return _before_texts(case, {answer: f"({name})\n" for answer, name in case.bylines.items()}, draw, messages)


def _before_texts(case: Case, texts: Mapping[str, str], draw: Draw, messages: Messages) -> _Added | None:
    opened = tuple(replace(a, text=f"{texts[a.id]}{a.text}") if a.id in texts else a for a in case.answers)
    case = replace(case, answers=opened)
    drawn = draw(case)
    return None if drawn == messages else (case, drawn, "text")


def _with_notes(case: Case, prompt: Prompt, draw: Draw, messages: Messages) -> _Added | None:
    said = "\n\n".join(case.notes)
    if prompt.notes == "question":
        asked = replace(case, question=f"{case.question}\n\n{said}")
        drawn = draw(asked)
        if drawn != messages:
            return asked, drawn, "question"
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        return None
    closed = Message("user", f"{messages[last].text.rstrip()}\n\n{said}")
    return case, (*messages[:last], closed, *messages[last + 1 :]), "end"
