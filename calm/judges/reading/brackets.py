"""Verdicts between brackets, or between the tags of an element."""

from __future__ import annotations

import re

from calm.core.verdict import Unreadable
from calm.judges.reading.marks import Mark

_BRACKETS = re.compile(r"(?:\\?\[\\?\[|【【)([^\[\]【】\n]{0,2000}?)(?:\\?\]\s?\\?\]|】】|\](?=[\s*.]{0,20}\Z))")


def bracket_marks(text: str) -> list[Mark]:
    """Return the text between double brackets."""
    return [Mark(m.start(), m.end(), m[1]) for m in _BRACKETS.finditer(text)]


def tag_marks(text: str, tag: str) -> list[Mark] | Unreadable:
    """Return the text between an opening tag and the closing one that follows it."""
    marks = []
    opened: re.Match[str] | None = None
    for found in re.finditer(rf"<(/?){re.escape(tag)}(?:\s[^<>]{{0,200}})?>", text, re.IGNORECASE):
        if not found[1]:
            opened = found
        elif opened is not None:
            marks.append(Mark(opened.start(), found.end(), text[opened.end() : found.start()]))
            opened = None
    if opened is not None:
        return Unreadable(f"the last <{tag}> is not closed")
    return marks
