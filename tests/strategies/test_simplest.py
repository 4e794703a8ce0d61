"""Shrinking: the witness of a rule comes out, alike each time, and in few looks."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.cases import bundled
from calm.strategies import insertions
from calm.strategies.shrinking import (
    Chosen,
    Enough,
    Piece,
    Windows,
    by_length,
    commonness,
    encoded,
    fewest,
    insertions_into,
    minimal,
    pieces_between,
    rendered,
    simplest,
    tokens_of,
)

TEXT = "The bread bakes for twenty minutes. Then it rests."
CASES = bundled("pairwise")[:40]
COMMON = commonness(text for case in CASES for text in (case.question, *(answer.text for answer in case.answers)))


class Looks:
    """A rule, and the texts it was asked about; each once."""

    def __init__(self, rule, most=10_000):
        self.rule, self.most, self.seen = rule, most, {}

    def __call__(self, text):
        if text not in self.seen:
            if len(self.seen) >= self.most:
                raise Enough
            self.seen[text] = self.rule(text)
        return self.seen[text]


def padded(words, seed):
    """Return the text with so many words put behind it, and a marker among them."""
    some = [word for case in CASES for word in case.question.split()]
    return f"{TEXT} {' '.join(Random(seed).sample(some, words))}"


@pytest.mark.parametrize("seed", range(20))
def test_the_witness_of_a_word_is_the_word(seed):
    """Of 200 words one matters: it alone stays, at the end of the text, after fewer than 120 looks."""
    edited = f"{padded(120, seed)} certified. {padded(80, seed + 100)}"
    looks = Looks(lambda text: "certified" in text)
    found = simplest(TEXT, pieces_between(TEXT, edited), looks, seed, COMMON)

    assert rendered(tokens_of(TEXT), found) == f"{TEXT} certified"
    assert len(looks.seen) < 120


@pytest.mark.parametrize("seed", range(20))
def test_two_words_stay_where_both_matter(seed):
    """A rule of two markers keeps both, and nothing of the words between them."""
    edited = f"Experts say: {TEXT} {' '.join(padded(60, seed).split()[9:])} It was verified by many."
    looks = Looks(lambda text: "Experts" in text and "verified" in text)
    found = simplest(TEXT, pieces_between(TEXT, edited), looks, seed, COMMON)

    assert sorted(token.strip() for piece in found for token in piece.tokens) == ["Experts", "verified"]


def test_the_place_matters_where_the_rule_says_so():
    """A marker that counts in the first sentence only stays at the beginning."""
    edited = f"As the authorities confirm: {TEXT} This is what authorities say."
    looks = Looks(lambda text: "authorities" in text.partition(".")[0])
    found = simplest(TEXT, pieces_between(TEXT, edited), looks, 0, COMMON)

    assert rendered(tokens_of(TEXT), found) == f"authorities {TEXT}"


def test_a_rule_about_length_gets_words_that_say_nothing():
    """The fewest words that pass a threshold, found by halves; where length does nothing, one look tells."""
    pieces = pieces_between(TEXT, padded(120, 1))
    looks, other = Looks(lambda text: len(text.split()) > 60), Looks(lambda text: "certified" in text)
    found = by_length(TEXT, pieces, looks, 0, COMMON)

    assert len(rendered(tokens_of(TEXT), found).split()) == 61
    assert len({token for piece in found for token in piece.tokens}) == 1
    assert len(looks.seen) < 20
    assert by_length(TEXT, pieces, other, 0, COMMON) == ()
    assert len(other.seen) == 1


def test_what_an_edit_took_away_may_be_what_matters():
    """A rule that misses a word keeps the cut, and nothing else of the edit."""
    edited = "Dear reader! The bread bakes for minutes. Then it rests. Thank you."
    looks = Looks(lambda text: "twenty" not in text)
    found = simplest(TEXT, pieces_between(TEXT, edited), looks, 0, COMMON)

    assert "".join(rendered(tokens_of(TEXT), found).split()) == "".join(TEXT.replace(" twenty", "").split())


def test_the_fewest_parts_stay():
    """Of 60 parts one matters, or two: they stay, in their order; one is found in fewer than 30 looks, two in 90."""
    one, two = Looks(lambda some: 30 in some), Looks(lambda some: {7, 41} <= set(some))

    assert fewest(range(60), one, 0) == (30,)
    assert fewest(range(60), two, 0) == (7, 41)
    assert len(one.seen) < 30
    assert len(two.seen) < 90


def test_a_flat_list_of_words_would_take_many_more_looks():
    """The reason for the spaces: of 300 words in one list more than 50 are left after 400 looks."""
    edited = f"{padded(200, 1)} certified {padded(100, 2)}"
    pieces = pieces_between(TEXT, edited)
    space = insertions_into(TEXT, pieces, COMMON)
    looks = Looks(lambda text: "certified" in text, 400)
    found = minimal(
        space.strategy, lambda d: looks(rendered(space.tokens, space.of(d))), 0, known=[space.encoded(pieces)]
    )

    assert found is not None
    assert sum(len(piece.tokens) for piece in space.of(found)) > 50


def test_the_same_seed_shrinks_alike():
    """Two shrinks with one seed look at the same texts in the same order; another seed may look at others."""
    pieces = pieces_between(TEXT, f"{padded(50, 3)} certified {padded(30, 4)}")
    seen = []
    for seed in (1, 1):
        looks = Looks(lambda text: "certified" in text)
        simplest(TEXT, pieces, looks, seed, COMMON)
        seen.append(list(looks.seen))

    assert seen[0] == seen[1]


def test_whoever_can_tell_nothing_more_ends_it():
    """A predicate that raises `Enough` ends the shrink with the simplest so far, and no other error."""
    pieces = pieces_between(TEXT, f"{padded(120, 5)} certified {padded(50, 6)}")
    looks = Looks(lambda text: "certified" in text, 12)
    found = simplest(TEXT, pieces, looks, 0, COMMON)

    assert "certified" in rendered(tokens_of(TEXT), found)
    assert len(looks.seen) == 12


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.lists(st.integers(0, 4), max_size=5)), max_size=5))
@settings(max_examples=50)
def test_what_is_encoded_is_drawn(drawn):
    """Pieces that are encoded come out of Hypothesis as they went in."""
    space = insertions_into(TEXT, [Piece(0, 1, tuple(" abcde"[n : n + 2] for n in range(5)))], Counter())
    pieces = space.of([(place, cut, numbers) for place, cut, numbers in drawn])
    came = []
    minimal(space.strategy, lambda d: bool(came.append(space.of(d))), 0, known=[space.encoded(pieces)])

    assert came == [pieces]


def test_all_of_it_is_drawn_first():
    """The whole of a list and of windows, encoded, is the whole list and the whole windows."""
    pieces = (Piece(0, 1, ("a", " b")), Piece(3, 0, ("c",)))
    for space, whole in ((Chosen(pieces), pieces), (Windows(pieces), pieces)):
        came = []
        minimal(space.strategy, lambda d, s=space, c=came: bool(c.append(s.of(d))), 0, known=[space.whole])

        assert came == [whole]


def test_where_no_known_example_holds_there_is_nothing():
    """Nothing is generated: what is shrunk held before."""
    assert minimal(st.integers(0, 1_000_000), lambda n: False, 1, known=[encoded([7])]) is None


def test_insertions_is_a_strategy_of_texts():
    """`insertions(text, edited)` shrinks to the one word that a property trips over."""
    from hypothesis import find

    found = find(insertions(TEXT, f"{TEXT} This was certified by all."), lambda text: "certified" in text)

    assert found == f"{TEXT} certified"
    assert encoded([True, 1]) == encoded((True, 1))
