"""
How many looks it takes to shrink 481 words to the one that matters: in four spaces, and as one flat list of words.

    python -m benchmarks.hunt.spaces --seeds 5

A flat list is what one would first give to Hypothesis. Its engine gives up after 500 steps that make something simpler.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from calm.cases import bundled
from calm.strategies.shrinking import Piece, commonness, encoded, minimal, simplest, tokens_of

WORDS = 480
"""Words around the one that matters."""
MARKER = " certified"


def in_spaces(text: str, words: Sequence[str], seed: int) -> tuple[int, int]:
    """Return how many texts are looked at, and how many words are left."""
    seen: set[str] = set()

    def holds(one: str) -> bool:
        seen.add(one)
        return MARKER.strip() in one

    common = commonness(answer.text for case in bundled("pairwise") for answer in case.answers)
    left = simplest(text, [Piece(len(tokens_of(text)), 0, tuple(words))], holds, seed, common)
    return len(seen), sum(len(piece.tokens) for piece in left)


def in_a_list(words: Sequence[str], seed: int) -> tuple[int, int]:
    """Return how many lists are looked at, and how many words are left."""
    seen: set[tuple[int, ...]] = set()

    def holds(drawn: list[int]) -> bool:
        seen.add(tuple(drawn))
        return any(words[number] == MARKER for number in drawn)

    whole = [part for number in range(len(words)) for part in (True, number)]
    lists = st.lists(st.integers(0, len(words) - 1))
    found = minimal(lists, holds, seed, known=[encoded([*whole, False])])
    return len(seen), len(words) if found is None else len(found)


def main() -> None:
    """Print a line for each seed."""
    parser = argparse.ArgumentParser(description="Count the looks of two ways to shrink.")
    parser.add_argument("--seeds", type=int, default=5)
    cases = bundled("pairwise")
    pool = [token for case in cases for answer in case.answers for token in tokens_of(answer.text)]
    for seed in range(parser.parse_args().seeds):
        rng = Random(seed)
        words = rng.sample(pool, WORDS)
        words.insert(rng.randrange(WORDS), MARKER)
        for how, (looks, left) in (
            ("four spaces", in_spaces(cases[seed % len(cases)]["bad"].text, words, seed)),
            ("a flat list", in_a_list(words, seed)),
        ):
            print(f"seed {seed}, {how}: {looks} looks, {left} words left")


if __name__ == "__main__":
    main()
