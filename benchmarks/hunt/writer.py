"""
A simulated writer: what a language model does when it is told to rewrite an answer so that a judge prefers it.

It keeps all sentences, numbers and names of the answer, and adds matter and layout. It does not know the judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from benchmarks.hunt.moves import MOVES, Move, Place

COUNTS: Final = (1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 9)
"""How many moves a rewrite has: each equally often."""
FORMED: Final = 0.5
"""The probability that the layout of the answer itself changes."""
AGAIN: Final = 0.3
"""How much less often a move is chosen for each move of its kind that is there."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9“\"*])")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LISTED = re.compile(r"(?:[-*•]|#{1,6}|\d{1,2}[.)]) |[|>]")

Form = Callable[[Sequence[str]], str]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a line of a list is one."""
    found: list[str] = []
    for line in text.splitlines():
        if line.strip():
            found += [line.strip()] if _LISTED.match(line) else _SENTENCE.split(line.strip())
    return found


def _bold(sentence: str) -> str:
    return sentence if "*" in sentence or _LISTED.match(sentence) else f"**{sentence}**"


def _each(mark: Callable[[int], str]) -> Form:
    def form(parts: Sequence[str]) -> str:
        return "\n".join(p if _LISTED.match(p) else mark(i) + p for i, p in enumerate(parts, 1))

    return form


def _titled(first: str, rest: str) -> Form:
    def form(parts: Sequence[str]) -> str:
        return f"{first}\n\n{parts[0]}\n\n{rest}\n\n" + "\n".join(parts[1:]) if len(parts) > 1 else parts[0]

    return form


FORMS: Final[Mapping[str, Form]] = {
    "bullets": _each(lambda _: "- "),
    "stars": _each(lambda _: "* "),
    "numbers": _each(lambda i: f"{i}. "),
    "steps": _each(lambda i: f"**Step {i}:** "),
    "paragraphs": "\n\n".join,
    "lead": lambda parts: "\n".join([_bold(parts[0]), "", *parts[1:]]),
    "result": lambda parts: "\n".join([*parts[:-1], "", _bold(parts[-1])]),
    "bold": lambda parts: "\n\n".join(map(_bold, parts)),
    "sections": _titled("## Answer", "## Explanation"),
    "labels": _titled("**Main point:**", "**Details:**"),
    "headed list": lambda parts: "### Explanation\n\n" + FORMS["bullets"](parts),
    "headed steps": lambda parts: "## Solution\n\n" + FORMS["numbers"](parts),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A move in the words in which a text has it."""

    move: Move
    words: str


def rewrites(text: str, question: str, rng: Random) -> str:
    """
    Return one rewrite of an answer, which holds all of its sentences.

    Args:
        text: the answer.
        question: what it answers.
        rng: what is drawn from; another one gives another rewrite.
    """
    parts = sentences(text)
    if not parts:
        return text
    chosen = _chosen(_bank(parts, question), rng.choice(COUNTS), rng)
    if "```" in text:  # lines of code: it stays in one piece
        return _assembled([text.strip()], None, [p for p in chosen if p.move.place is not Place.INSIDE], rng)
    form = rng.choice(list(FORMS.values())) if rng.random() < FORMED else None
    return _assembled(parts, form, chosen, rng, text)


def _bank(parts: Sequence[str], question: str) -> list[Piece]:
    """Return all moves in all wordings that this answer has the material for."""
    numbers = list(dict.fromkeys(_NUMBER.findall(" ".join(parts))))
    prose = [p for p in parts if not _LISTED.match(p)] or [""]
    values = {
        "question": question,
        "first": prose[0],
        "last": prose[-1],
        "number": numbers[-1] if numbers else "",
        "numbers": ", ".join(numbers),
    }
    lacking = [f"{{{key}}}" for key, value in values.items() if not value]
    return [
        Piece(move, wording.format(**values))
        for move in MOVES
        for wording in move.wordings
        if not any(key in wording for key in lacking)
    ]


def _chosen(bank: Sequence[Piece], number: int, rng: Random) -> list[Piece]:
    """Return some pieces, no move twice."""
    chosen: list[Piece] = []
    for _ in range(number):
        taken = {p.move.name for p in chosen}
        free = {p.move.name: p.move for p in bank if p.move.name not in taken}
        if not free:
            break
        kinds = [p.move.kind for p in chosen]
        name = rng.choices(list(free), [m.weight * AGAIN ** kinds.count(m.kind) for m in free.values()])[0]
        chosen.append(rng.choice([p for p in bank if p.move.name == name]))
    return chosen


def _assembled(parts: list[str], form: Form | None, chosen: Sequence[Piece], rng: Random, text: str = "") -> str:
    """Return the answer with its pieces in their places."""
    at = {place: [p.words for p in chosen if p.move.place is place] for place in Place}
    closing = [p.words for p in sorted(chosen, key=lambda p: p.move.kind == "summary") if p.move.place is Place.AFTER]
    body = list(parts)
    prose = [i for i, p in enumerate(parts[:-1], 1) if not _LISTED.match(p) and not _LISTED.match(parts[i])]
    inside = at[Place.INSIDE] if prose else []
    places = sorted(((rng.choice(prose), words) for words in inside), reverse=True)
    for place, words in places:
        body[place - 1] += f" {words}"
    if form is not None:
        shown = form(body)
    elif not inside and text:
        shown = text.strip()
    else:
        shown = _as_before(body)
    opening = [w if rng.random() < 0.7 or w.startswith(("#", "*")) or "\n" in w else f"{w} " for w in at[Place.OPEN]]
    if opening and opening[-1].endswith(" ") and not _LISTED.match(shown):
        shown, opening = opening[-1] + shown, opening[:-1]
    return "\n\n".join(part.strip() for part in (*opening, shown, *closing, *at[Place.END]))


def _as_before(parts: Sequence[str]) -> str:
    """Return sentences as prose, and lines of lists as lines."""
    shown = parts[0]
    for before, part in pairwise(parts):
        shown += ("\n" if _LISTED.match(part) or _LISTED.match(before) else " ") + part
    return shown
