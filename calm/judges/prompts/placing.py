"""
Where a user's own prompt shows what its templates have no place for: notes, names beside labels, earlier drafts.

As in CALM's g(I), the instruction of arXiv 2410.02736 with something added, every prompt has a place. A note goes after
the question, or at the end of the last user message; a name and drafts go before the answer's text. What the templates
show themselves stays where they show it.
"""

from __future__ import annotations

from collections.abc import Callable
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
    Return the messages about a case with all that it presents, and the places of what the templates do not show.

    The places are "question" (after it), "end" (of the last user message) and "text" (before that of an answer). Of
    a bundled prompt, and of one that refuses, the messages are those of the templates.
    """
    messages = draw(case)
    if not places_anything(prompt, case):
        return messages, frozenset()
    notes, names, drafts = _hidden(case, draw)
    openings = {answer: _drafted(case.drafts[answer]) for answer in drafts}
    openings |= {answer: f"({case.bylines[answer]})\n{openings.get(answer, '')}" for answer in names}
    stood = set()
    if openings:
        opened = (replace(a, text=f"{openings[a.id]}{a.text}") if a.id in openings else a for a in case.answers)
        case = replace(case, answers=tuple(opened))
        messages = draw(case)
        stood.add("text")
    if notes:
        messages, place = _noted(prompt, case, "\n\n".join(notes), draw, messages)
        stood.add(place)
    return messages, frozenset(stood)


def _hidden(case: Case, draw: Draw) -> tuple[list[str], list[str], list[str]]:
    """Return the notes, the answers whose names and those whose drafts are not in the messages, by drawing marks."""
    notes = {_mark("note", place): note for place, note in enumerate(case.notes)}
    names = {_mark("name", place): answer for place, answer in enumerate(case.bylines)}
    drafts = {_mark("draft", place): answer for place, (answer, texts) in enumerate(case.drafts.items()) if texts}
    marked = case.present(
        notes=tuple(notes),
        bylines={answer: mark for mark, answer in names.items()},
        drafts={answer: (mark,) for mark, answer in drafts.items()},
    )
    shown = "".join(message.text for message in draw(marked)).lower()
    hidden = [[value for mark, value in marks.items() if mark not in shown] for marks in (notes, names, drafts)]
    return hidden[0], hidden[1], hidden[2]


def _mark(kind: str, place: int) -> str:
    """Return a word that stands in no text, and that no filter of a template changes but in its case."""
    return f"calm{kind}mark{place}mark"


def _drafted(drafts: tuple[str, ...]) -> str:
    """Return drafts as they stand before the text of their answer."""
    return "".join(f"[Earlier draft {n}]\n{draft}\n\n" for n, draft in enumerate(drafts, start=1)) + "[Answer]\n"


def _noted(prompt: Prompt, case: Case, said: str, draw: Draw, messages: Messages) -> tuple[Messages, str]:
    """Return the messages with a note once: after the question where a user message ends with it, or at the end."""
    if prompt.notes == "question":
        mark = _mark("question", 0)
        marked = draw(replace(case, question=f"{case.question}\n\n{mark}"))
        places = [(place, message) for place, message in enumerate(marked) if mark in message.text]
        if sum(message.text.count(mark) for message in marked) == 1 and places[0][1].role == "user":
            return draw(replace(case, question=f"{case.question}\n\n{said}")), "question"
        asked = [place for place, message in places if message.role == "user"]
        if asked and (once := _once(marked, asked[-1], f"\n\n{mark}", mark, said)) is not None:
            return once, "question"
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=len(messages) - 1)
    closed = Message(messages[last].role, f"{messages[last].text.rstrip()}\n\n{said}")
    return (*messages[:last], closed, *messages[last + 1 :]), "end"


def _once(marked: Messages, place: int, added: str, mark: str, said: str) -> Messages | None:
    """Return messages in which the question stands several times, with the note after its last one in `place` alone."""
    before, _, after = marked[place].text.rpartition(added)
    texts = {at: message.text.replace(added, "") for at, message in enumerate(marked)}
    texts[place] = f"{before.replace(added, '')}\n\n{said}{after}"
    if any(mark in text for text in texts.values()):
        return None  # a template changes the question where it shows it
    return tuple(Message(message.role, texts[at]) for at, message in enumerate(marked))
