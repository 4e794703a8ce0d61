"""Two texts as one, with what was taken out and what was put in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from calm.results.reports.diff import Piece, compare
from calm.results.wording import printable


AROUND = 10_000
"""Characters shown around a change: enough to show texts of an ordinary length in full."""


def coloured() -> bool:
    """Return whether the output is a terminal that may be shown colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def differences(before: str, after: str, *, colour: bool = False, context: int = AROUND) -> str:
    """Return a word diff, in colours or as `[-old-]{+new+}`; `context` is the number of characters around a change."""
    signs = {"gone": ("\x1b[31;9m", "\x1b[0m"), "new": ("\x1b[32;1m", "\x1b[0m")}
    if not colour:
        signs = {"gone": ("[-", "-]"), "new": ("{+", "+}")}
    found = compare(before, after, context=context)
    parts = []
    for piece in _woven(found.old, found.new):
        opening, closing = signs.get(piece.kind, ("", ""))
        text = printable(piece.text, keep="\n") if piece.text else f"[... {piece.size} characters ...]"
        parts.append(f"{opening}{text}{closing}")
    return "".join(parts)


def _woven(old: Sequence[Piece], new: Sequence[Piece]) -> Iterator[Piece]:
    """Yield what was taken out, then what was put in, between the pieces that both have in common."""
    shared = ("same", "gap")
    rest = iter(new)
    for piece in old:
        if piece.kind not in shared:
            yield piece
            continue
        for other in rest:
            yield other
            if other.kind in shared:
                break
    yield from rest
