"""Facts: what of a text may be a fact, and what a number of it counts."""

from __future__ import annotations

import re

NUMBER = re.compile(r"\d[\d.,:]*\d|\d")
"""A number as it stands in a text, with its points, commas and colons."""

_MARKER = re.compile(r"^[ \t]*(?:[0-9]+[.)](?=\s|$)|#{1,6}[ \t][^\n]*)", re.MULTILINE)
_NEXT = re.compile(r"[ \t]*%|[ \t\u00a0-]?([^\W\d_]+)")
_BEFORE = re.compile(r"([^\W_]+|[^\w\s])[\s*_\"'(]*$")
_NEAR = 40
"""Characters before a number in which the word or sign before it is looked for."""


def unmarked(text: str) -> str:
    """Return the text with blanks for its headings and the numbers of its list items; every offset stays."""
    return _MARKER.sub(lambda found: " " * len(found[0]), text)


def counted(text: str, start: int, end: int) -> str:
    """
    Return what a number of a text counts, in small letters: the word right behind it, else the word before it.

    >>> counted("We have 2 Kids.", 8, 9), counted("It was in 1871.", 10, 14), counted("7 + 2 = 9", 8, 9)
    ('kids', 'in', '=')
    """
    if behind := _NEXT.match(text, end):
        return (behind[1] or "%").casefold()
    before = _BEFORE.search(text, max(0, start - _NEAR), start)
    return "" if before is None else before[1].casefold()
