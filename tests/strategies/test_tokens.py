"""Texts as tokens and pieces: nothing is lost, and what is put in reads like a text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm.cases import bundled
from calm.core.case import Treated
from calm.core.edits import Edit, Expects
from calm.experiment.pairs import aim
from calm.gate.catalogue import entries
from calm.strategies.shrinking import Piece, commonness, fillers, pieces_of, rendered, simplest_first, tokens_of


@given(st.text())
def test_tokens_are_the_text(text):
    """Together the tokens are the text, whatever it is."""
    assert "".join(tokens_of(text)) == text


@given(st.text(), st.text())
def test_pieces_make_one_text_of_another(before, after):
    """The text with its pieces has the tokens of the other one, blanks aside."""
    tokens = tokens_of(before)
    made = rendered(tokens, pieces_of(tokens, tokens_of(after)))

    assert "".join(made.split()) == "".join(after.split())


def test_what_edits_write_comes_back_as_it_was():
    """Of the catalogue's edits of a text, nine of ten are rebuilt from their pieces to the last blank."""
    case = aim(bundled("pairwise")[0], Expects.NOT_BETTER)
    assert isinstance(case, Treated)
    text, same, changed = case[case.target].text, 0, 0
    for entry in entries():
        edited = (
            entry.edit.apply(case, 0) if isinstance(entry.edit, Edit) and entry.edit.expects == "NOT_BETTER" else None
        )
        if edited is None or (after := edited[case.target].text) == text:
            continue
        changed += 1
        same += rendered(tokens_of(text), pieces_of(tokens_of(text), tokens_of(after))) == after

    assert changed > 100
    assert same > 0.9 * changed


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([Piece(4, 0, ("certified",))], "It is so. certified"),
        ([Piece(4, 0, ("!",))], "It is so.!"),
        ([Piece(0, 0, (" Surely",))], "Surely It is so."),
        ([Piece(0, 0, ("|",))], "| It is so."),
        ([Piece(0, 0, ("*",))], "*It is so."),
        ([Piece(3, 1, ())], "It is so"),
        ([Piece(1, 2, (" was", " not"))], "It was not."),
        ([Piece(1, 3, ()), Piece(2, 0, ("x",))], "It x"),
    ],
)
def test_words_do_not_run_together(pieces, text):
    """A blank stands between words, and none where a sign follows or text that goes on."""
    assert rendered(tokens_of("It is so."), pieces) == text


def test_commoner_words_are_simpler():
    """Words come before signs, the commonest first; the fillers are the commonest of all."""
    common = commonness(["the cat and the dog and the bird", "the end"])

    assert simplest_first([" zebra", "!", " and", " the"], common) == [" the", " and", " zebra", "!"]
    assert fillers(common)[0] == " the"
    assert simplest_first(["b", "a", "a"], Counter()) == ["a", "b"]


def test_no_filler_answers_a_question():
    """Where the commonest words are answers, others stand for any word: "yes" added to a wrong answer mends it."""
    common = commonness(["Yes. No. Not A but B. Yes, no, not, A, B, it is."] * 3 + ["It is so."])

    assert fillers(common) == (" is", " it", " but")


def test_scripts_without_blanks_have_tokens_too():
    """A sign of Chinese is a token and stays unspaced; marks belong to the letter that they stand on."""
    assert tokens_of("这是。") == ("这", "是", "。")
    assert tokens_of("कि ดี") == ("कि", " ดี")
    assert rendered(tokens_of("这是。"), [Piece(2, 0, ("认", "证"))]) == "这是认证。"
