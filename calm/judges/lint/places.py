"""The place in the files that a finding is about: the text that is sent is searched for in the files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from calm.judges.lint.page import SIGNS, STRANGE

SHORTEST: Final = 4
"""Characters that a piece of a line must have to be looked for."""
_LITERALS: Final = re.compile(rf"[^{SIGNS}{STRANGE}\n]+")


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file; lines count from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Source:
    """A file and its text."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of a prompt: its templates first, the judge.toml that names them last."""

    files: tuple[Source, ...]

    def place(self, line: str, *, words: tuple[str, ...] = ()) -> Place:
        """Return the place of a line that is sent: its longest piece, else any of `words`, else the beginning."""
        pieces = sorted((piece.strip() for piece in _LITERALS.findall(line)), key=len, reverse=True)
        for wanted in (*[p for p in pieces if len(p) >= SHORTEST], *words):
            for source in self.files:
                at = source.text.find(wanted)
                if at >= 0:
                    return Place(source.file, source.text.count("\n", 0, at) + 1)
        return Place(self.files[0].file, 1)

    def place_of_key(self, key: str) -> Place:
        """Return the line of judge.toml that sets a key; its first line if none does."""
        last = self.files[-1]
        found = re.search(rf"^\s*{re.escape(key)}\s*=", last.text, re.MULTILINE)
        return Place(last.file, 1 if found is None else last.text.count("\n", 0, found.end()) + 1)
