"""`notes()`: remarks that edits of calm write, and made-up ones."""

from random import Random

from hypothesis import find, given, settings

from calm.strategies import notes
from calm.strategies.cases import during
from tests.planted import pairs, singles

QUIET = settings(database=None, deadline=None, max_examples=2_000)


def smallest(holds=lambda _: True):
    """Return what Hypothesis shrinks to, with a fixed seed."""
    return find(notes(), holds, settings=QUIET, random=Random(1))


def test_a_remark_shrinks_to_one_plain_word():
    """And to one sentence of an edit where a plain word will not do."""
    assert smallest() == "Read."
    assert smallest(lambda note: "%" in note).count(".") == 1


def test_a_remark_of_an_edit_names_answers_as_the_case_does():
    """By the label where there are several, else as this answer."""
    with during(pairs(3), "pairwise", ""):
        assert "nswer " in smallest(lambda note: "nswer A" in note or "nswer B" in note)
    with during(singles(3), "score", ""):
        assert smallest(lambda note: "this answer" in note)


def test_no_remark_is_empty_or_endless():
    """Each is a sentence or two."""

    @settings(QUIET, max_examples=200, derandomize=True)
    @given(notes())
    def holds(note):
        assert 0 < len(note) < 1_200
        assert note.strip() == note

    holds()
