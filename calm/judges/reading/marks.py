"""A verdict as it is written, and its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from calm.core.reasons import Kind, Reason, Said, because

INVISIBLE: Final = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
"""Signs that have no width; a reply is read, and compared with what it quotes, without them."""
PICTURES: Final = re.compile("[\u2600-\u27bf\ufe0f\U0001f300-\U0001faff]+")
"""Pictures beside a verdict, such as a tick."""
MAX_MARKS: Final = 200
"""Verdicts that are looked at, from the end of a reply; a judge writes one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """
    A verdict as written, and where: `start` and `end` in the text that is looked at.

    `stop` is where all of it ends, if that is another place; `about` are the words in it that say of which stage it is,
    and `key` is how many characters of its line number the criterion that it is on.
    A `remark` is a bare word such as A or 7: it counts only where a sentence gives it as a verdict. With `led`, the
    judge's own form of a verdict announces it: what the user's expression has before its group.
    """

    start: int
    end: int
    raw: object
    stop: int = -1
    about: str = ""
    key: int = 0
    remark: bool = False
    led: bool = False

    def __post_init__(self) -> None:
        if self.stop < 0:
            object.__setattr__(self, "stop", self.end)


@dataclass(frozen=True, slots=True)
class Clash:
    """Different `values` for one key of a JSON object, or of entries that a path names alike."""

    key: str
    values: tuple[object, ...] = ()

    @property
    def reason(self) -> Reason:
        """Why no verdict is read from it."""
        return because(Kind.KEY_TWICE, Said(short(self.key)))

    def __repr__(self) -> str:
        return f"{len(self.values)} values"


def line_of(text: str, mark: Mark) -> tuple[int, int]:
    """Return start and end of the line (or lines) that a verdict stands in."""
    end = text.find("\n", mark.end)
    return text.rfind("\n", 0, mark.start) + 1, len(text) if end < 0 else end


def unpictured(text: str) -> str:
    """Return a text without pictures; as it is where one of them is the verdict, as where symbols name the answers."""
    bare = PICTURES.sub("", text)
    said = bare.rstrip(" \t\r\n*_`\"'“”‘’.")
    return bare if said and not said.endswith((":", "：")) else text


def short(text: object) -> str:
    """Return a few words of a text for a message, with nothing in them that could move a terminal's cursor."""
    words = " ".join(str(text)[:400].split())
    return ascii(words if len(words) <= 80 else f"{words[:77]}...")
