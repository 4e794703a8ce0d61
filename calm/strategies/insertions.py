"""
Insertions: any of the words that an edit added to a text, at any place of it.

A hunt shrinks in four spaces, one after the other. In each a smaller choice is simpler for a person, and each is made
for what Hypothesis' shrinker does well: it halves integers, deletes from short lists, and lowers single choices.

| space | what is chosen | what becomes simpler |
|---|---|---|
| `Chosen` | which parts of a list stay, in order | fewer edits; later, fewer words |
| `Windows` | for each place, a run of the words that were added there | fewer places, fewer words |
| `Insertions` | places, what is taken away there, and the words that are put there | commoner words, plainer places |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from hypothesis import strategies as st

from calm.strategies.minimal import encoded
from calm.strategies.tokens import Piece, by_simplicity, fillers, pieces_of, rendered, tokens_of

T = TypeVar("T")

MOST_PIECES = 40
"""At most so many places of a text are changed at once."""
MOST_TOKENS = 2_000
"""At most so many tokens stand at one place."""


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """Some of the parts of a list, in their order."""

    parts: tuple[T, ...]

    @property
    def strategy(self) -> st.SearchStrategy[list[int]]:
        """The numbers of the parts that stay."""
        return st.lists(st.integers(0, max(0, len(self.parts) - 1)), max_size=len(self.parts))

    def of(self, drawn: Sequence[int]) -> tuple[T, ...] | None:
        """Return the parts; None where the numbers do not ascend."""
        if any(a >= b for a, b in pairwise(drawn)):
            return None
        return tuple(self.parts[n] for n in drawn)

    @property
    def whole(self) -> bytes:
        """All parts, encoded."""
        drawn: list[int | bool] = [choice for n in range(len(self.parts)) for choice in (True, n)]
        return encoded([*drawn, False])


@dataclass(frozen=True, slots=True)
class Windows:
    """For each piece a run of its tokens, and whether it takes away what it took away."""

    pieces: tuple[Piece, ...]

    @property
    def strategy(self) -> st.SearchStrategy[tuple[tuple[int, int, int], ...]]:
        """For each piece: how many of its first tokens, of these how many of the last, and whether it cuts."""
        runs = [
            st.tuples(st.integers(0, len(p.tokens)), st.integers(0, len(p.tokens)), st.integers(0, 1))
            for p in self.pieces
        ]
        return st.tuples(*runs)

    def of(self, drawn: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
        """Return the pieces that say or take away something."""
        cut = (
            Piece(p.place, p.removes * removes, p.tokens[max(0, upto - count) : upto])
            for p, (upto, count, removes) in zip(self.pieces, drawn, strict=True)
        )
        return tuple(piece for piece in cut if piece.tokens or piece.removes)

    @property
    def whole(self) -> bytes:
        """All of each piece, encoded."""
        return encoded([n for p in self.pieces for n in (len(p.tokens), len(p.tokens), int(p.removes > 0))])


@dataclass(frozen=True, slots=True)
class Insertions:
    """
    Any tokens of an alphabet at any places of a text.

    Simpler are fewer places, fewer words, earlier words of the alphabet, the end of the text rather than its beginning,
    and the beginning rather than somewhere within.
    """

    tokens: tuple[str, ...]
    alphabet: tuple[str, ...]
    removes: int = 1
    """At most so many tokens of the text are taken away at one place."""

    @property
    def strategy(self) -> st.SearchStrategy[list[tuple[int, int, list[int]]]]:
        """For each piece: its place in order of simplicity, what it takes away, and the numbers of its tokens."""
        token = st.integers(0, len(self.alphabet) - 1)
        one = st.tuples(
            st.integers(0, len(self.tokens)), st.integers(0, self.removes), st.lists(token, max_size=MOST_TOKENS)
        )
        return st.lists(one, max_size=MOST_PIECES)

    def of(self, drawn: Sequence[tuple[int, int, Sequence[int]]]) -> tuple[Piece, ...]:
        """Return the pieces that were drawn."""
        return tuple(
            Piece(self._place(place), removes, tuple(self.alphabet[n] for n in numbers))
            for place, removes, numbers in drawn
        )

    def encoded(self, pieces: Sequence[Piece]) -> bytes:
        """
        Return what makes Hypothesis draw these pieces.

        A list draws a yes before each of its elements and a no at its end, a tuple its parts in turn, and an integer
        itself.
        """
        number = {token: place for place, token in enumerate(self.alphabet)}
        drawn: list[int | bool] = []
        for piece in pieces:
            drawn += [True, self._order(piece.place), piece.removes]
            for token in piece.tokens:
                drawn += [True, number[token]]
            drawn.append(False)
        return encoded([*drawn, False])

    def _place(self, order: int) -> int:
        """Return the place of an order: the end, the beginning, and then from left to right."""
        return len(self.tokens) if order == 0 else order - 1

    def _order(self, place: int) -> int:
        return 0 if place == len(self.tokens) else place + 1


def pieces_between(before: str, after: str) -> tuple[Piece, ...]:
    """Return what made one text the other, as far as a hunt can shrink it."""
    pieces = pieces_of(tokens_of(before), tokens_of(after))[:MOST_PIECES]
    return tuple(Piece(p.place, p.removes, p.tokens[:MOST_TOKENS]) for p in pieces)


def insertions_into(before: str, pieces: Sequence[Piece], common: Counter[str]) -> Insertions:
    """
    Return the space of all that is simpler than some pieces in a text.

    Args:
        before: the text as it was.
        pieces: what was put into it.
        common: how often each word is used (`calm.strategies.tokens.commonness`).
    """
    used = by_simplicity([t for piece in pieces for t in piece.tokens], common)
    spare = [one for one in fillers(common) if one not in used]
    return Insertions(tokens_of(before), (*spare, *used) or (" a",), max([1, *(p.removes for p in pieces)]))


def insertions(text: str, edited: str) -> st.SearchStrategy[str]:
    """
    Return a strategy of texts: any of the words that an edit added, at any place, simplest first.

    Args:
        text: the text as it was.
        edited: the same text after an edit.
    """
    space = insertions_into(text, pieces_between(text, edited), Counter())
    return space.strategy.map(lambda drawn: rendered(space.tokens, space.of(drawn)))
