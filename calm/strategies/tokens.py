"""
Texts as tokens, and what an edit did to one as pieces: so many tokens taken away at a place, and others put there.

    a text and its edited copy --pieces_of--> Pieces --some dropped, moved, simplified--> rendered --> a simpler copy
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import regex
from rapidfuzz.distance import Indel

_WORD = r"[[\w\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}]]+"
_TOKEN = regex.compile(rf"\s*\n\s*|[^\S\n]*(?:{_WORD}(?:['’]{_WORD})*|\S)|[^\S\n]+", regex.V1)
"""
A line break with the white space around it, a word or another sign with the blanks before it, or blanks alone. A sign
of Chinese and of Japanese script is a token of its own, as these write no blanks. So are the words and the hyphen of a
word with one: either of them may be what moves the judge.
"""
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_CLOSES: Final = ".,;:!?)]}\"'”’…"
"""Signs behind which a word does not stand without a blank."""
_OPENS: Final = "([{“‘"
_GLUES: Final = "([{“‘\"'<*_`~#"
"""Signs behind which the text itself goes on without a blank."""
FILLERS: Final = 3
"""So many of the commonest words may take the place of any other word."""
_TELLING: Final = frozenset(
    (
        *("yes", "no", "not", "never", "none", "nothing", "both", "neither", "better", "worse"),
        *("true", "false", "right", "wrong", "correct", "incorrect"),
        *("ja", "nein", "nicht", "oui", "non", "pas", "si", "sí"),
    )
)
"""Words that may be an answer or turn one round; so may a single letter."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens put at a place (before the token of this number), where `removes` tokens of the text are taken away."""

    place: int
    removes: int
    tokens: tuple[str, ...]


def tokens_of(text: str) -> tuple[str, ...]:
    """
    Return the tokens of a text; together they are the text.

    >>> tokens_of("Yes, it's so.")
    ('Yes', ',', " it's", ' so', '.')
    """
    return tuple(_TOKEN.findall(text))


def pieces_of(before: Sequence[str], after: Sequence[str]) -> tuple[Piece, ...]:
    """
    Return what made the tokens of one text those of another, blanks before a token aside.

    >>> pieces_of(tokens_of("It is so."), tokens_of("Surely it is so!"))
    (Piece(place=0, removes=1, tokens=('Surely', ' it')), Piece(place=3, removes=1, tokens=('!',)))
    """
    old, new = [t.strip(" ") for t in before], [t.strip(" ") for t in after]
    found: list[Piece] = []
    for one in Indel.opcodes(old, new):
        a, b, c, d = one.src_start, one.src_end, one.dest_start, one.dest_end
        if one.tag == "equal":
            continue
        last = found[-1] if found else None
        if last is not None and last.place + last.removes == a:  # a removal and what stands in its place
            found[-1] = Piece(last.place, last.removes + b - a, (*last.tokens, *after[c:d]))
        else:
            found.append(Piece(a, b - a, tuple(after[c:d])))
    return tuple(found)


def rendered(tokens: Sequence[str], pieces: Iterable[Piece]) -> str:
    """
    Return a text with pieces in it; of two that take away the same token, the later one takes what is left.

    A blank is put between two tokens that would run together.

    >>> rendered(tokens_of("It is so."), [Piece(4, 0, ("certified",)), Piece(0, 0, ("Well",))])
    'Well It is so. certified'
    """
    text, at, theirs = "", 0, True
    for piece in sorted(pieces, key=lambda p: p.place):
        place = max(at, piece.place)
        for token in tokens[at:place]:
            text, theirs = (text if theirs else _spaced(text, token, _GLUES)) + token, True
        for number, token in enumerate(piece.tokens):
            text = _spaced(text, token, "" if number else None) + token if text else token.lstrip(" ")
        at = min(len(tokens), max(place, piece.place + piece.removes))
        theirs = False
    for token in tokens[at:]:
        text, theirs = (text if theirs else _spaced(text, token, _GLUES)) + token, True
    return text


def _spaced(text: str, token: str, glues: str | None) -> str:
    """
    Return a text, with a blank at its end if a token would run into it.

    `glues` are the signs behind which a word goes on without a blank; "": all but words, None: all but words and the
    ends of sentences.
    """
    left, right = text[-1:], token[:1]
    if not left or left.isspace() or right.isspace() or (_UNSPACED.match(left) and _UNSPACED.match(right)):
        return text
    if glues:
        apart = right.isalnum() and left not in glues
    else:
        ends = _CLOSES if glues is None else ""
        apart = (left.isalnum() or left in ends) and (right.isalnum() or (glues is None and right in _OPENS))
    return f"{text} " if apart else text


def by_simplicity(tokens: Iterable[str], common: Counter[str]) -> list[str]:
    """
    Return tokens without doubles, the simplest first: words before other signs, commoner ones before rarer ones.

    Args:
        tokens: the tokens.
        common: how often each word is used, in small letters.
    """

    def key(token: str) -> tuple[bool, int, int, str]:
        word = token.strip()
        return not word[:1].isalnum(), -common[word.lower()], len(word), token

    return sorted(dict.fromkeys(tokens), key=key)


def commonness(texts: Iterable[str]) -> Counter[str]:
    """Return how often each word is used in some texts, in small letters."""
    return Counter(word.lower() for text in texts for word in regex.findall(r"[\w\p{M}]+(?:['’\-][\w\p{M}]+)*", text))


def fillers(common: Counter[str]) -> tuple[str, ...]:
    """
    Return the commonest words, with a blank before each: those that may replace any other word.

    None of them is an answer by itself, or reverses one: what is found with it would be no flaw of the judge.
    """
    silent = (w for w in common if w.isalpha() and len(w) > 1 and w not in _TELLING)
    words = sorted(silent, key=lambda w: (-common[w], len(w), w))
    return tuple(f" {word}" for word in words[:FILLERS])
