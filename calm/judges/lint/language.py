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
"""The share of common words from which on a text is English for sure; a German or French one has about 0.03."""
_FOREIGN: Final = re.compile(
    # German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Indonesian, Turkish, Polish
    r"der|das|und|ist|nicht|ein|eine|mit|von|zu|dem|wenn|oder|auf|sich|im|sie|beiden|welche|wie|nach"
    r"|le|la|les|une|un|est|et|que|pour|dans|du|de|sur|vous|ou|ne|pas|il|qui|si|deux"
    r"|el|los|las|una|es|para|por|con|del|se|cual|dos|di|che|della|sono|gli|delle|due"
    r"|os|um|uma|com|na|em|het|een|van|en|niet|voor|op|zijn|och|att|det|som|av"
    r"|yang|dan|untuk|adalah|atau|dari|ve|bir|bu|ile|nie|jest|czy|lub|oraz",
    re.IGNORECASE,
)
"""Words that texts in other languages have, and English ones do not."""
SIGN: Final = 0.06
"""The share of words of other languages, or with letters that English lacks, from which on a text shows one of them."""
SHORT: Final = 12
"""Words below which a text is taken for English: there is too little to tell."""


def is_english(text: str) -> bool:
    """
    Return whether a text is in English, as far as its common words say.

    >>> is_english("Which of the two answers is better? Say A if the first is, and B if the second is better.")
    True
    >>> is_english("Welche der beiden Antworten ist besser? Schreibe A, wenn es die erste ist, sonst schreibe B.")
    False
    >>> is_english("Compare two responses. Pick better one. Consider helpfulness, correctness, tone, brevity, depth.")
    True
    """
    words = _WORD.findall(text)
    foreign = sum(ord(sign) > 0x2FF for sign in text if sign.isalpha())
    if foreign > sum(sign.isalpha() for sign in text) / 3:
        return False
    if len(words) < SHORT or sum(_COMMON.fullmatch(word) is not None for word in words) >= LEAST * len(words):
        return True
    return sum(not word.isascii() or _FOREIGN.fullmatch(word) is not None for word in words) < SIGN * len(words)
