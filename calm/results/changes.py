"""Where an edit changed a case, in words: one line for each turn, passage, step or answer that it touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.texts import CaseTexts, Change

FEW: Final = 4
"""Names that are listed; of more, the first ones and their number."""
ROWS: Final[Mapping[str, str]] = {"turn": "turns", "passage": "passages", "step": "steps"}
WORDS: Final[Mapping[str, str]] = {
    "question": "in the question",
    "answer": "in the answer",
    "copy": "in the damaged copy",
    "reference": "in the reference",
    "criteria": "in the criteria",
    "fields": "in the fields",
    "labels": "in the labels",
    "bylines": "in the bylines",
    "drafts": "in the drafts",
    "notes": "in the notes",
    "examples": "in the examples",
    "framing": "in how the question is put",
    "follow_ups": "in a turn after the verdict",
}
"""Parts beside turns, passages and steps; of another one its name is the word."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place that an edit touched: which one, in words, and the beginning of the words that came and went."""

    where: str
    came: str
    went: str


def places_of(texts: CaseTexts | None) -> tuple[Place, ...]:
    """Return the places that an edit touched, with one more line if some are not listed; empty if they go unsaid."""
    if texts is None or not texts.changes:
        return ()
    found = tuple(Place(where(one), one.came, one.went) for one in texts.changes)
    more = texts.unlisted
    return (*found, Place(f"{more} more {'place' if more == 1 else 'places'}", "", "")) if more else found


def line_of(place: Place) -> str:
    """
    Return a place as a plain line.

    >>> line_of(Place("in passage p3", "30 days", "20 days"))
    'in passage p3: "30 days" for "20 days"'
    >>> line_of(Place("in passage p3", "", "20 days")), line_of(Place("passage p7 was added behind p2", "New.", ""))
    ('in passage p3: without "20 days"', 'passage p7 was added behind p2: "New."')
    """
    if place.came and place.went:
        return f'{place.where}: "{place.came}" for "{place.went}"'
    if place.went:
        without = "" if place.where.endswith("gone") else "without "
        return f'{place.where}: {without}"{place.went}"'
    return f'{place.where}: "{place.came}"' if place.came else place.where


def where(one: Change) -> str:
    """
    Return which place changed, and how, without the words that came and went.

    >>> where(Change("result", names=("2",), of="read_order")), where(Change("step", "gone", ("2", "3")))
    ('in the result of step 2 (read_order)', 'steps 2 and 3 are gone')
    >>> where(Change("turn", "added", ("5",), of="user", behind="4")), where(Change("passage", "order"))
    ('turn 5, of the user, was added', 'passages in another order')
    >>> where(Change("passage", "added", ("p7",), behind="p2"))
    'passage p7 was added behind p2'
    """
    run = f" in the run of {one.answer}" if one.answer else ""
    if one.deed == "order":
        return f"{ROWS.get(one.part, one.part)} in another order{run}"
    if one.deed == "ids":
        return f"{ROWS.get(one.part, one.part)} with other ids"
    if one.part not in ROWS:
        return _inside(one, run)
    name = f"{ROWS[one.part] if len(one.names) > 1 else one.part} {_listed(one.names)}{_of(one)}{run}"
    if one.deed == "changed":
        return f"in {name.removesuffix(',')}"
    if one.deed == "gone":
        return f"{name} {'are' if len(one.names) > 1 else 'is'} gone"
    place = ""
    if one.part == "passage":  # turns and steps say by their numbers where they stand
        place = f" behind {one.behind}" if one.behind else " at the beginning"
    return f"{name} {'were' if len(one.names) > 1 else 'was'} added{place}"


def _inside(one: Change, run: str) -> str:
    """Return a place within a step, or in a part of the case that has no number."""
    if one.part in ("thought", "tool", "arguments", "result"):
        tool = f" ({one.of})" if one.of else ""
        return f"in the {one.part} of step {_listed(one.names)}{tool}{run}"
    words = WORDS.get(one.part, f"in {one.part}")
    if one.part == "copy" and one.names:
        return f"{words} of {_listed(one.names)}"
    return f"{words} {_listed(one.names)}".rstrip()


def _of(one: Change) -> str:
    """Return whose turn it is, set off by commas, or the tool of a step."""
    if not one.of:
        return ""
    return f", of the {one.of}," if one.part == "turn" else f" ({one.of})"


def _listed(names: Sequence[str]) -> str:
    """
    Return names in a list; numbers in a row as the first and the last one.

    >>> _listed(("2", "3")), _listed(("2", "3", "4")), _listed(("p1", "p2", "p3", "p4", "p5", "p6"))
    ('2 and 3', '2 to 4', 'p1, p2, p3 and 3 more')
    """
    if len(names) > 2 and all(name.isdecimal() for name in names):
        return f"{names[0]} to {names[-1]}"
    if len(names) > FEW:
        return f"{', '.join(names[: FEW - 1])} and {len(names) - FEW + 1} more"
    *first, last = names or ("",)
    return f"{', '.join(first)} and {last}" if first else last
