"""Whether a prompt is in English: rules about its wording look for English words."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")
_COMMON: Final = re.compile(
    r"the|an|is|are|of|to|in|and|or|for|on|with|as|that|this|be|it|your?|which|what|if|not|by|from", re.IGNORECASE
)
"""Words that every English text of some length has."""
LEAST: Final = 0.12
"""The share of common words from which on a text is taken for English; a German or French one has about 0.03."""
SHORT: Final = 12
"""Words below which a text is taken for English: there is too little to tell."""


def is_english(text: str) -> bool:
    """
    Return whether a text is in English, as far as its common words say.

    >>> is_english("Which of the two answers is better? Say A if the first is, and B if the second is better.")
    True
    >>> is_english("Welche der beiden Antworten ist besser? Schreibe A, wenn es die erste ist, sonst schreibe B.")
    False
    """
    words = _WORD.findall(text)
    foreign = sum(ord(sign) > 0x2FF for sign in text if sign.isalpha())
    if foreign > sum(sign.isalpha() for sign in text) / 3:
        return False
    return len(words) < SHORT or sum(_COMMON.fullmatch(word) is not None for word in words) >= LEAST * len(words)
