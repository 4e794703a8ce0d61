"""A prompt as the linter looks at it: one text, in which each slot is a single sign, and the turns in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

Role: TypeAlias = Literal[
    "question", "answer", "reference", "context", "criteria", "name", "note", "draft", "example", "unknown"
]
"""What stands in a slot."""

FIRST_SIGN: Final = 0xE000
MOST_SLOTS: Final = 6_000
"""Signs of the private use area, which mean nothing in a prompt; see `without_signs`."""
SIGNS: Final = f"{chr(FIRST_SIGN)}-{chr(FIRST_SIGN + MOST_SLOTS)}"
"""The signs of slots, for a class of a regular expression."""
_SIGN: Final = re.compile(f"[{SIGNS}]")
STRANGE: Final = "\N{REPLACEMENT CHARACTER}"
"""What stands in the page for such a sign that the prompt itself holds."""
BETWEEN: Final = "\n\n"
"""What stands between two turns."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that a case fills: role, number of the answer (from 0), the place of its sign, how it is written."""

    role: Role
    number: int
    at: int
    written: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the prompt: from `start` to `stop` in the page's text; `line` is where it begins in its file."""

    role: str
    start: int
    stop: int
    line: int | None = None


@dataclass(frozen=True)
class Page:
    """A prompt with signs for slots."""

    text: str
    slots: tuple[Slot, ...]
    turns: tuple[Turn, ...]

    def of(self, *roles: Role) -> list[Slot]:
        """Return the slots of some roles, in their order."""
        return [slot for slot in self.slots if slot.role in roles]

    @cached_property
    def answers(self) -> tuple[tuple[Slot, ...], ...]:
        """The slots of each answer, the answer that is shown first at the head."""
        numbers = dict.fromkeys(slot.number for slot in self.of("answer"))
        return tuple(tuple(s for s in self.of("answer") if s.number == number) for number in numbers)

    @cached_property
    def prose(self) -> str:
        """The text of the prompt alone: a slot is one space."""
        return _SIGN.sub(" ", self.text)

    def line(self, at: int) -> tuple[int, int]:
        """Return where the line with a place begins and ends."""
        stop = self.text.find("\n", at)
        return self.text.rfind("\n", 0, at) + 1, len(self.text) if stop < 0 else stop

    def turn(self, at: int) -> Turn:
        """Return the turn with a place."""
        return next((turn for turn in self.turns if at <= turn.stop), self.turns[-1])

    def ahead(self, slot: Slot) -> int:
        """Return the place of the last sign before a slot that is no space; the slot's own if there is none."""
        text = self.text[: slot.at].rstrip()
        return max(len(text) - 1, 0) if text else slot.at

    def before(self, slot: Slot) -> str:
        """Return the text from the slot before it, or the beginning of its turn, to a slot."""
        start = max([self.turn(slot.at).start, *(s.at + 1 for s in self.slots if s.at < slot.at)])
        return self.text[start : slot.at]

    def after(self, slot: Slot) -> str:
        """Return the text from a slot to the next slot, or to the end of its turn."""
        stop = min([self.turn(slot.at).stop, *(s.at for s in self.slots if s.at > slot.at)])
        return self.text[slot.at + 1 : stop]


def without_signs(text: str) -> str:
    """Return a text of the same length in which no character passes for a slot."""
    return _SIGN.sub(STRANGE, text)


def page_of(
    turns: Sequence[tuple[str, str]], slots: Iterable[tuple[Role, int, str]], lines: Sequence[int] = ()
) -> Page:
    """
    Return the page of some turns, whose texts hold the sign of each slot in the order of `slots`.

    `lines` are those of the file where the turns begin, if they stand in it as they are.
    """
    known = list(slots)
    text, made = "", []
    for place, (role, said) in enumerate(turns):
        start = len(text) + (len(BETWEEN) if text else 0)
        text = f"{text}{BETWEEN if text else ''}{said}"
        made.append(Turn(role, start, len(text), lines[place] if lines else None))
    found = []
    for sign in _SIGN.finditer(text):
        role_of, number, written = known[ord(sign[0]) - FIRST_SIGN]
        found.append(Slot(role_of, number, sign.start(), written))
    return Page(text, tuple(found), tuple(made))


def sign(number: int) -> str:
    """Return the sign of a slot."""
    return chr(FIRST_SIGN + min(number, MOST_SLOTS))
