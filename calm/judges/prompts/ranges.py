"""The ranges of scores that the text of a prompt states."""

from __future__ import annotations

import re
from typing import Final

_N: Final = r"\d{1,4}(?:\.\d{1,2})?"
_LENGTH: Final = (
    r"(?!\s*(?:(?:short|brief|full|complete|bullet|key|main)\s+)?(?:sentences?|lines?|words?|paragraphs?|reasons?|steps?|"
    r"characters?|tokens?|examples?|items?|bullets?|bullet points?|minutes?|pages?)\b)"
)
"""What follows a range that says how long a text is to be."""
_RANGES: Final = (
    re.compile(
        r"\b(?:from|between|scale(?: of)?|range[ds]?(?: from| of)?|rat(?:e|ing)|scores?(?: of)?|integer|number|value)\b"
        rf"[^\d\n]{{0,40}}?\(?\[?({_N})\s*(?:\([^()\d\n]{{1,40}}\)\s*)?(-|–|—|to|and|through|/|\.\.)\s*({_N})\b{_LENGTH}",
        re.IGNORECASE,
    ),
    re.compile(rf"\(({_N})\s*(-|–|—|to)\s*({_N})\)"),
    re.compile(rf"\b({_N})\s*(-|–|—|to)\s*({_N})\s+(?:scale|points?|stars?|rating)", re.IGNORECASE),
)
LEAST: Final = 1
"""A scale begins here or below, unless the prompt states no such range: "4 and 5" are mostly two values of one."""


def range_in(text: str) -> tuple[float, float, int] | None:
    """
    Return the ends of the scale that a text states, and where; None if it states none.

    >>> range_in("Give reasons (1 to 3 lines). Rate it from 1-10.")
    (1.0, 10.0, 42)
    """
    found = [
        (float(one[1]), float(one[3]), one.start(1))
        for pattern in _RANGES
        for one in pattern.finditer(text)
        if float(one[1]) < float(one[3]) and (one[2] != "/" or float(one[1]) <= LEAST)
    ]
    return next((one for one in found if one[0] <= LEAST), found[0] if found else None)
