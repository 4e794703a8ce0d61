"""Prose: add to a text, or cut from it, without touching its code, its numbers and the words that stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calm import Treated
from calm.core.additions import COMPLETE, ITEM, closed, fenced, is_prose, opened
from calm.core.languages import ENGLISH, language_of

NEVER = re.compile(r"(?!)")
"""The trigger of a module whose edits add nothing to a text."""

_MARK = re.compile(r"\$\$?|\\[()]")
_MARK_BUT_DOLLAR = re.compile(r"\\[()]")
_FORMULAS = {"$$": "$$", "\\[": "\\]", "\\begin": "\\end"}


def stock(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a trigger: a pattern that finds any of some stock phrases, in any letter case."""
    alike: dict[str, list[str]] = {}  # by their first letter, so that a place in a text is not tried with each of them
    for phrase in phrases:
        alike.setdefault(phrase[0].lower(), []).append(re.escape(phrase[1:]))
    return re.compile("|".join(f"{re.escape(f)}(?:{'|'.join(rest)})" for f, rest in alike.items()), re.IGNORECASE)


def append(case: Treated, addition: str, *, block: bool = False) -> Treated | None:
    """Return the case with prose added behind the treated answer; None if its text is blank or ends inside code."""
    added = closed(case[case.target].text, addition, block=block)
    return None if added is None else case.edit(case.target, lambda _: added)


def prepend(case: Treated, opening: str) -> Treated | None:
    """Return the case with prose put before the treated answer; None if its text is blank."""
    added = opened(case[case.target].text, opening)
    return None if added is None else case.edit(case.target, lambda _: added)


def items(text: str) -> list[tuple[int, int, int]]:
    """Return the list items outside code, each by the offsets of its line, of its words and of its end."""
    return [
        (start, start + marker.end(), start + len(line.rstrip()))
        for start, line in _lines(text)
        if (marker := ITEM.match(line))
    ]


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the complete sentences of prose and of list items by offset; none of code, headings, tables, formulas."""
    found: list[tuple[int, int]] = []
    language = ENGLISH if text.isascii() else language_of(text) or ENGLISH
    for first, last in _blocks(text):
        start = end = first
        open_marks = 0
        block = text[first:last].replace("\n", " ")
        marked = any(mark in block for mark in "`$\\")
        marks = _MARK if block.count("$") % 2 == 0 else _MARK_BUT_DOLLAR
        for piece in _pieces(block, language):
            end += len(piece)
            if marked:
                open_marks ^= piece.count("`") % 2 | len(marks.findall(piece)) % 2 << 1
            if open_marks:  # no sentence ends inside inline code or a formula; a dollar alone is a price
                continue
            sentence = text[start:end]
            if COMPLETE.search(sentence.rstrip()):
                found.append((end - len(sentence.lstrip()), start + len(sentence.rstrip())))
            start = end
    return found


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the paragraphs and list items by offset, an item without its marker."""
    found: list[tuple[int, int]] = []
    for start, line in _lines(text):
        end = start + len(line)
        if marker := ITEM.match(line):
            found.append((start + marker.end(), end))
        elif is_prose(line) and found and found[-1][1] == start - 1:
            found[-1] = (found[-1][0], end)
        elif is_prose(line):
            found.append((start, end))
    return found


def _pieces(line: str, language: str) -> list[str]:
    from sentencex import segment

    try:
        pieces = [str(piece) for piece in segment(language, line)]
    except UnicodeEncodeError:  # half a surrogate pair, which is no text that can be split
        return [line]
    return pieces if "".join(pieces) == line else [line]


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines outside code and displayed formulas, each with its offset."""
    lines = text.split("\n")
    code, _ = fenced(lines)
    found, offset, closing = [], 0, ""
    for line, inside in zip(lines, code, strict=True):
        opening = next((mark for mark in _FORMULAS if line.lstrip().startswith(mark)), "")
        if closing:
            closing = "" if closing in line else closing
        elif opening and not inside:
            closing = _FORMULAS[opening] if _FORMULAS[opening] not in line.lstrip()[2:] else ""
        elif not inside:
            found.append((offset, line))
        offset += len(line) + 1
    return found
