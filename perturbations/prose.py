"""Prose: add to a text, or cut from it, without touching its code, its numbers and the words that stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calm import Treated

NEVER = re.compile(r"(?!)")
"""The trigger of a module whose edits add nothing to a text."""

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])[ \t]+(?=\S)")
_OTHER = re.compile(r" {0,3}(?:#{1,6}\s|[|>$\\<]|\*\*[^*]+\*\*\s*$|[-*_=]{3})| {4}|\t")
_INLINE = re.compile(r"`[^`\n]+`|https?://\S+")
_COMPLETE = re.compile(r"[.!?…。！？؟۔]['\")\]*_»”’]*$")
_MARK = re.compile(r"\$\$?|\\[()]")
_MARK_BUT_DOLLAR = re.compile(r"\\[()]")
_FORMULAS = {"$$": "$$", "\\[": "\\]", "\\begin": "\\end"}


def stock(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a trigger: a pattern that finds any of some stock phrases, in any letter case."""
    return re.compile("|".join(re.escape(phrase) for phrase in phrases), re.IGNORECASE)


def in_case(text: str, addition: str) -> str:
    """Lower an addition to a text without capital letters, which may have been asked for."""
    return addition.lower() if text.islower() else addition


def append(case: Treated, addition: str, *, block: bool = False) -> Treated | None:
    """Return the case with prose added behind the treated answer; None if its text is blank or ends inside code."""
    text = case[case.target].text
    if not text.strip() or _fenced(text.split("\n"))[1]:
        return None
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    inline = not block and _is_prose(last) and _COMPLETE.search(last[-40:]) is not None
    added = f"{body}{' ' if inline else chr(10) * 2}{in_case(text, addition)}{text[len(body) :]}"
    return case.edit(case.target, lambda _: added)


def prepend(case: Treated, opening: str) -> Treated | None:
    """Return the case with prose put before the treated answer; None if its text is blank."""
    text = case[case.target].text
    if not text.strip():
        return None
    inline = not text[0].isspace() and _is_prose(text.partition("\n")[0])
    return case.edit(case.target, lambda _: f"{in_case(text, opening)}{' ' if inline else chr(10) * 2}{text}")


def without_code(text: str) -> str:
    """Return the text with blanks for its code blocks, inline code and addresses; every offset stays."""
    lines = text.split("\n")
    code, _ = _fenced(lines)
    bare = "\n".join(" " * len(line) if inside else line for line, inside in zip(lines, code, strict=True))
    return _INLINE.sub(lambda found: " " * len(found[0]), bare)


def items(text: str) -> list[tuple[int, int, int]]:
    """Return the list items outside code, each by the offsets of its line, of its words and of its end."""
    return [
        (start, start + marker.end(), start + len(line.rstrip()))
        for start, line in _lines(text)
        if (marker := _ITEM.match(line))
    ]


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the complete sentences of prose and of list items by offset; none of code, headings, tables, formulas."""
    found: list[tuple[int, int]] = []
    for first, last in _blocks(text):
        start = end = first
        open_marks = 0
        marks = _MARK if text.count("$", first, last) % 2 == 0 else _MARK_BUT_DOLLAR
        for piece in _pieces(text[first:last].replace("\n", " ")):
            end += len(piece)
            open_marks ^= piece.count("`") % 2 | len(marks.findall(piece)) % 2 << 1
            if open_marks:  # no sentence ends inside inline code or a formula; a dollar alone is a price
                continue
            sentence = text[start:end]
            if _COMPLETE.search(sentence.rstrip()):
                found.append((end - len(sentence.lstrip()), start + len(sentence.rstrip())))
            start = end
    return found


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the paragraphs and list items by offset, an item without its marker."""
    found: list[tuple[int, int]] = []
    for start, line in _lines(text):
        end = start + len(line)
        if marker := _ITEM.match(line):
            found.append((start + marker.end(), end))
        elif _is_prose(line) and found and found[-1][1] == start - 1:
            found[-1] = (found[-1][0], end)
        elif _is_prose(line):
            found.append((start, end))
    return found


def _pieces(line: str) -> list[str]:
    from sentencex import segment

    try:
        pieces = [str(piece) for piece in segment("en", line)]
    except UnicodeEncodeError:  # half a surrogate pair, which is no text that can be split
        return [line]
    return pieces if "".join(pieces) == line else [line]


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines outside code and displayed formulas, each with its offset."""
    lines = text.split("\n")
    code, _ = _fenced(lines)
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


def _fenced(lines: list[str]) -> tuple[list[bool], bool]:
    """Return for each line whether it belongs to a code block, and whether the last block is still open."""
    inside, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        inside.append(bool(fence or mark))
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
    return inside, bool(fence)


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not (_OTHER.match(line) or _ITEM.match(line) or _FENCE.match(line))
