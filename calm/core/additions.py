"""Additions: words before or behind a text, which leave its code, lists and formulas whole; what a note calls one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calm.core.case import Case

ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])[ \t]+(?=\S)")
"""The marker of a list item, at the start of its line."""
COMPLETE = re.compile(r"[.!?…。！？؟۔।]['\")\]*_»”’）」』]*$")
"""How a complete sentence ends."""

_WIDE = re.compile(r"[。！？：、，；）」』》]")
"""A mark of Chinese or Japanese, which needs no space behind it."""
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_OTHER = re.compile(r" {0,3}(?:#{1,6}\s|[|>$\\<]|\*\*[^*]+\*\*\s*$|[-*_=]{3})| {4}|\t")


def closed(text: str, addition: str, *, block: bool = False) -> str | None:
    """
    Return a text with prose added behind it; None if it is blank or ends inside code.

    The addition goes on the last line if that is prose and ends in a full stop, else, or as a `block`, apart from it.
    """
    if not text.strip() or fenced(text.split("\n"))[1]:
        return None
    body = text.rstrip()
    last = body.rpartition("\n")[2]
    inline = not block and is_prose(last) and COMPLETE.search(last[-40:]) is not None
    return f"{body}{_gap(body) if inline else chr(10) * 2}{in_case(text, addition)}{text[len(body) :]}"


def opened(text: str, opening: str) -> str | None:
    """Return a text with prose put before it, on its first line if that is prose; None if it is blank."""
    if not text.strip():
        return None
    inline = not text[0].isspace() and is_prose(text.partition("\n")[0])
    return f"{in_case(text, opening)}{_gap(opening) if inline else chr(10) * 2}{text}"


def _gap(text: str) -> str:
    return "" if _WIDE.fullmatch(text[-1:]) else " "


def in_case(text: str, addition: str) -> str:
    """Lower an addition to a text without capital letters, which may have been asked for."""
    return addition.lower() if text.islower() else addition


def called(case: Case, answer_id: str) -> str:
    """Return what a note calls an answer: by its label where there are several."""
    ids = [answer.id for answer in case.shown]
    return f"answer {case.slot_labels[ids.index(answer_id)]}" if len(ids) > 1 else "this answer"


def fenced(lines: Sequence[str]) -> tuple[list[bool], bool]:
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


def is_prose(line: str) -> bool:
    """Return whether a line is prose: no heading, table, list item, formula, fence or indented code, and not blank."""
    return bool(line.strip()) and not (_OTHER.match(line) or ITEM.match(line) or _FENCE.match(line))
