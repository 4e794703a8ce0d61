"""From a text that flips the judge to the simplest one: first fewer edits, then fewer, commoner and plainer words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

from calm.strategies.insertions import pieces_between
from calm.strategies.minimal import minimal
from calm.strategies.simplest import by_length, fewest, simplest
from calm.strategies.tokens import Piece, rendered
from calm.studies.hunt.arms import Arm, Layer, laid
from calm.studies.hunt.proposers import Try
from calm.studies.hunt.quarry import Quarry

GAPS: Final = 8
"""Words of an edit are moved to so many places when Hypothesis generates: where the edit has them, the beginning, the
end, and behind the first sentences."""
MOST_LAYERS: Final = 6


def shrunk(one: Try, seed: int, common: Counter[str]) -> tuple[tuple[Layer, ...], tuple[Piece, ...]]:
    """
    Return the fewest edits, and of the words that they added the simplest, with which a text still flips the judge.

    Args:
        one: a text that flips the judge in its quarry.
        seed: of the edits, and of the shrinker.
        common: how often each word is used in the run's cases.
    """
    quarry, layers, text = one.quarry, one.layers, one.text
    whole = pieces_between(quarry.original, text)
    if filled := by_length(quarry.original, whole, quarry.flips, seed, common):
        return layers, filled
    if len(layers) > 1:
        layers = fewest(layers, lambda some: _flips(quarry, some, seed), seed)
        text = laid(layers, quarry.aim.case, quarry.place, seed) or text
    pieces = pieces_between(quarry.original, text)
    return layers, simplest(quarry.original, pieces, quarry.flips, seed, common)


def text_of(quarry: Quarry, pieces: Sequence[Piece]) -> str:
    """Return the text of a quarry with pieces in it."""
    return rendered(quarry.tokens, pieces)


def generated(
    quarry: Quarry, arms: Sequence[Arm], examples: int, seed: int, fresh: Callable[[str], bool]
) -> Try | None:
    """
    Return a text that flips the judge, of those that Hypothesis generates from some arms; None if it finds none.

    It draws up to six arms and for each a place, and goes after what lets the answer rise (`hypothesis.target`).

    Args:
        quarry: the case.
        arms: what it draws from, the most promising first.
        examples: how many texts are generated at most.
        seed: decides what is drawn.
        fresh: whether a text may be asked about: it holds nothing that was found before.
    """
    if not arms:
        return None
    layer = st.tuples(st.integers(0, len(arms) - 1), st.integers(0, GAPS - 1))

    def layers(drawn: Sequence[tuple[int, int]]) -> tuple[Layer, ...]:
        return tuple(Layer(arms[number], at) for number, at in drawn)

    def text(drawn: Sequence[tuple[int, int]]) -> str | None:
        return laid(layers(drawn), quarry.aim.case, quarry.place, seed)

    def holds(drawn: Sequence[tuple[int, int]]) -> bool:
        return (made := text(drawn)) is not None and fresh(made) and quarry.flips(made)

    def score(drawn: Sequence[tuple[int, int]]) -> float:
        return quarry.favour(text(drawn) or quarry.original)

    found = minimal(st.lists(layer, max_size=MOST_LAYERS), holds, seed, examples=examples, score=score)
    return None if found is None else Try(quarry, text(found[0]) or "", layers(found[0]), "hypothesis")


def _flips(quarry: Quarry, layers: Sequence[Layer], seed: int) -> bool:
    text = laid(layers, quarry.aim.case, quarry.place, seed)
    return text is not None and quarry.flips(text)
