"""The simplest text that still does what an edited text does: four spaces, one after the other (`insertions`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

from calm.strategies.insertions import Chosen, Windows, insertions_into
from calm.strategies.minimal import encoded, minimal
from calm.strategies.tokens import Piece, fillers, rendered, tokens_of

T = TypeVar("T")

LONG: Final = 8
"""From so many added words on, words that say nothing are tried in their place: it may be length alone."""


def fewest(parts: Sequence[T], holds: Callable[[tuple[T, ...]], bool], seed: int) -> tuple[T, ...]:
    """
    Return the fewest parts of a list for which a predicate holds, as far as Hypothesis shrinks; all if it finds none.

    Args:
        parts: the list, for which it holds.
        holds: the predicate; it says the same of the same parts each time.
        seed: decides the order in which parts are dropped.
    """
    now = tuple(parts)
    run = st.tuples(st.integers(0, len(now)), st.integers(0, len(now)))
    cut = minimal(run, lambda ends: holds(_cut(now, *ends)), seed, known=[encoded([len(now), len(now)])])
    space = Chosen(now if cut is None else _cut(now, *cut[0]))

    def held(drawn: list[int]) -> bool:
        some = space.of(drawn)
        return some is not None and holds(some)

    found = minimal(space.strategy, held, seed, known=[space.whole])
    return space.parts if found is None else space.of(found[0]) or space.parts


def _cut(parts: tuple[T, ...], upto: int, count: int) -> tuple[T, ...]:
    """Return of the first parts the last ones."""
    return parts[max(0, upto - count) : upto]


def simplest(
    text: str, pieces: Sequence[Piece], holds: Callable[[str], bool], seed: int, common: Counter[str]
) -> tuple[Piece, ...]:
    """
    Return the simplest pieces in a text for which a predicate holds, as far as Hypothesis shrinks; else those given.

    Args:
        text: the text without the pieces.
        pieces: what is in it now; the predicate holds for the text with them.
        holds: the predicate of the whole text; it says the same of one text each time.
        seed: decides the order in which things are tried.
        common: how often each word is used.
    """
    tokens = tokens_of(text)

    def fits(some: Sequence[Piece]) -> bool:
        return holds(rendered(tokens, some))

    now = tuple(pieces)
    windows = Windows(now)
    run = minimal(windows.strategy, lambda drawn: fits(windows.of(drawn)), seed, known=[windows.whole])
    now = windows.of(run[0]) if run else now
    now = _joined(fewest(_words(now), lambda some: fits(_joined(some)), seed))
    space = insertions_into(text, now, common)
    last = minimal(space.strategy, lambda drawn: fits(space.of(drawn)), seed, known=[space.encoded(now)])
    return space.of(last[0]) if last else now


def by_length(
    text: str, pieces: Sequence[Piece], holds: Callable[[str], bool], seed: int, common: Counter[str]
) -> tuple[Piece, ...]:
    """
    Return the fewest words that say nothing, at the end of a text, where as many of them as were added do as much.

    Nothing where they do not: then it is not length alone. The arguments are those of `simplest`.
    """
    tokens, added = tokens_of(text), sum(len(piece.tokens) for piece in pieces)
    word = next(iter(fillers(common)), " a")

    def filled(count: int) -> tuple[Piece, ...]:
        return (Piece(len(tokens), 0, (word,) * count),)

    def held(count: int) -> bool:
        return count > 0 and holds(rendered(tokens, filled(count)))

    least = minimal(st.integers(0, added), held, seed, known=[encoded([added])]) if added >= LONG else None
    return filled(least[0]) if least else ()


def _words(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return pieces of a single token, or of none that take something away."""
    found: list[Piece] = []
    for piece in pieces:
        if piece.removes:
            found.append(Piece(piece.place, piece.removes, ()))
        found += [Piece(piece.place, 0, (token,)) for token in piece.tokens]
    return tuple(found)


def _joined(words: Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces of `_words` as they were: one for each place."""
    found: list[Piece] = []
    for word in words:
        if found and found[-1].place == word.place:
            last = found[-1]
            found[-1] = Piece(last.place, last.removes + word.removes, (*last.tokens, *word.tokens))
        else:
            found.append(word)
    return tuple(found)
