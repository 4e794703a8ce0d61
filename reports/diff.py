"""Two texts side by side: what differs, by words, with a little of what surrounds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rapidfuzz.distance import Indel

from calm.core.alike import WORD, shared

CONTEXT = 120
"""Characters shown on each side of a difference, unless more are asked for."""
LONGEST = 6_000
"""Characters of a changed passage that are compared by words, and shown: the time grows with their square."""

Kind = Literal["same", "gone", "new", "gap", "cut"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one text; of a `gap` (alike in both, not shown) and a `cut` (not shown) only `size` is known."""

    kind: Kind
    text: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both texts in pieces. `whole` is true if nothing was left out, `by_words` false if a change was too long."""

    old: tuple[Piece, ...]
    new: tuple[Piece, ...]
    whole: bool
    by_words: bool


def compare(old: str, new: str, *, context: int = CONTEXT, lines: int = 0) -> Comparison:
    """
    Return two texts in pieces, in time that is linear in their length.

    `context` is the number of characters on each side of a difference, `lines` how many lines at most (0: any number).

    >>> [p.kind for p in compare("the sky is blue", "the sea is blue").new]
    ['same', 'new', 'same']
    """
    head = shared(old, new)
    tail = shared(old[head:][::-1], new[head:][::-1])
    gone, came = old[head : len(old) - tail], new[head : len(new) - tail]
    by_words = max(len(gone), len(came)) <= LONGEST
    left, right = [], []
    for alike, a, b in _runs(gone, came) if by_words else [(False, gone, came)]:
        left += _around(a, context, lines) if alike else _changed("gone", a)
        right += _around(b, context, lines) if alike else _changed("new", b)
    before, after = _end(old[:head], context, lines), _beginning(old[len(old) - tail :], context, lines)
    sides = (*before, *left, *after), (*before, *right, *after)
    whole = not any(p.kind in ("gap", "cut") for side in sides for p in side)
    one, other = (tuple(_joined(side)) for side in sides)
    return Comparison(one, other, whole=whole, by_words=by_words)


def marked(text: str, words: Iterable[str], *, context: int = CONTEXT, lines: int = 0) -> tuple[Piece, ...]:
    """
    Return a text in which some passages, each where it occurs first, are new; nothing if none occurs.

    >>> [p.kind for p in marked("the sea is blue", ["sea", "sky"])]
    ['same', 'new', 'same']
    """
    found = sorted((place, place + len(one)) for one in words if one and (place := text.find(one)) >= 0)
    if not found:
        return ()
    pieces, last = _end(text[: found[0][0]], context, lines), found[0][0]
    for start, end in found:
        if last < start:
            pieces += _around(text[last:start], context, lines)
        pieces += _changed("new", text[max(start, last) : end])
        last = max(last, end)
    pieces += _beginning(text[last:], context, lines)
    return tuple(Piece("cut", size=p.size) if p.kind == "gap" else p for p in _joined(pieces))


def _runs(a: str, b: str) -> Iterator[tuple[bool, str, str]]:
    """Yield stretches that are alike or not; a lone short word between two changes belongs to them."""
    words_a, words_b = _words(a), _words(b)
    steps = [
        (op.tag == "equal", "".join(words_a[op.src_start : op.src_end]), "".join(words_b[op.dest_start : op.dest_end]))
        for op in Indel.opcodes(words_a, words_b)
    ]
    last = len(steps) - 1
    marked = [(alike and not (0 < i < last and len(x.strip()) < 4), x, y) for i, (alike, x, y) in enumerate(steps)]
    for alike, group in groupby(marked, key=lambda step: step[0]):
        parts = list(group)
        yield alike, "".join(x for _, x, _ in parts), "".join(y for _, _, y in parts)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _changed(kind: Kind, text: str) -> list[Piece]:
    pieces = [Piece(kind, text[:LONGEST])] if text else []
    return [*pieces, Piece("cut", size=len(text) - LONGEST)] if len(text) > LONGEST else pieces


def _around(text: str, context: int, lines: int) -> list[Piece]:
    """Return what stands between two changes: its middle left out if it is long."""
    if len(text) <= 3 * context and (not lines or text.count("\n") <= 2 * lines):
        return [Piece("same", text)]
    first, last = text[: _shown_from_start(text, context, lines)], text[_shown_to_end(text, context, lines) :]
    return [Piece("same", first), Piece("gap", size=len(text) - len(first) - len(last)), Piece("same", last)]


def _beginning(text: str, context: int, lines: int) -> list[Piece]:
    shown = text[: _shown_from_start(text, context, lines)]
    return [Piece("same", shown), Piece("gap", size=len(text) - len(shown))]


def _end(text: str, context: int, lines: int) -> list[Piece]:
    shown = text[_shown_to_end(text, context, lines) :]
    return [Piece("gap", size=len(text) - len(shown)), Piece("same", shown)]


def _shown_from_start(text: str, context: int, lines: int) -> int:
    """Return where the beginning of a text ends that is shown: behind all of it, if it is short."""
    end = len(text) if len(text) <= 2 * context else _after_word(text, context)
    if lines:
        rows = text[:end].split("\n", lines)
        end -= len(rows[lines]) + 1 if len(rows) > lines else 0
    return end


def _shown_to_end(text: str, context: int, lines: int) -> int:
    """Return where the end of a text begins that is shown: before all of it, if it is short."""
    start = 0 if len(text) <= 2 * context else _before_word(text, len(text) - context)
    if lines:
        rows = text[start:].rsplit("\n", lines)
        start += len(rows[0]) + 1 if len(rows) > lines else 0
    return start


def _before_word(text: str, place: int) -> int:
    """Return the start of the word that a place lies in, or the place itself in a very long one."""
    return 1 + max(text.rfind(" ", place - WORD, place), text.rfind("\n", place - WORD, place), place - 1 - WORD)


def _after_word(text: str, place: int) -> int:
    ends = [text.find(sign, place, place + WORD) for sign in " \n"]
    return min((end for end in ends if end >= 0), default=place)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces with neighbours of one kind as one, and without empty ones."""
    for kind, group in groupby((p for p in pieces if p.text or p.size), key=lambda p: p.kind):
        parts = list(group)
        yield Piece(kind, "".join(p.text for p in parts), sum(p.size for p in parts))
