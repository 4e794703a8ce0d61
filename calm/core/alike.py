"""Where two texts are alike: how far they begin with the same whole words."""

from __future__ import annotations

import re
from typing import Final

WORD: Final = 80
"""Characters of the longest word that is kept in one piece."""


def shared(a: str, b: str) -> int:
    """
    Return how many characters the common beginning of two texts has, without a word that they share only in part.

    A very long word may be split.

    >>> shared("the sea is deep", "the seal is grey"), shared("same", "same")
    (4, 4)
    """
    count = _beginning(a, b)
    split = any(re.match(r"\w", text[count : count + 1]) for text in (a, b))
    word = re.search(r"\w*\Z", a[max(0, count - WORD) : count])
    return count - len(word.group()) if split and word else count


def _beginning(a: str, b: str) -> int:
    """Return the length of the common beginning, by halving: comparing slices is much faster than characters."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low
