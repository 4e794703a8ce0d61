"""Test the checks that a program verifies."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.checks import KINDS, problem, verify, violate

CODE = "Run this:\n```\n- ls -l\n# all\n1. x\n```\nDone."
LIST = "Bring these:\n\n- bread\n* salt\n• wine, red\n"

# kind with parameters, a text that meets it, a text that does not
KNOWN: list[tuple[dict[str, object], str, str]] = [
    ({"kind": "contains", "value": "lamp"}, "The Lamp, at last.", "Two lamps and a headlamp."),
    ({"kind": "contains", "value": "old mill"}, "The old\nmill.", "The old, mill."),
    ({"kind": "contains_all", "value": ["sea", "sky"]}, "Sky and sea.", "Sky and seas."),
    ({"kind": "mentions_at_least", "value": "tea", "times": 2}, "Tea or tea?", "Tea for a team."),
    ({"kind": "avoids", "value": "ship"}, "Two ships.", "A ship."),
    ({"kind": "starts_with", "value": "In short"}, "  in  Short: yes.", "Yes, in short."),
    ({"kind": "ends_with", "value": "That is all."}, "Yes. That is all.\n", "That is all. Yes."),
    ({"kind": "max_words", "value": 3}, "A well-known - tale", "It is 3.5 long"),
    ({"kind": "min_words", "value": 4}, "It is 3.5 long", "A well-known - tale"),
    ({"kind": "max_sentences", "value": 2}, "One. Two", "One. Two? Three."),
    ({"kind": "exact_sentences", "value": 2}, '1. He said "go." Then he left.', "One line only, at 3.5 m."),
    ({"kind": "exact_sentences", "value": 2}, "# Title\nOne sentence.", CODE + " And more."),
    ({"kind": "exact_paragraphs", "value": 2}, "One\ntwo\n \n\nthree\n", "One\ntwo"),
    ({"kind": "exact_bullets", "value": 3}, LIST, CODE),
    ({"kind": "exact_bullets", "value": 1}, "- one", "-one\n--- \n**bold** text"),
    ({"kind": "numbered_list", "value": 2}, "1. a\ntext\n 2) b", "1. a\n3. b"),
    ({"kind": "has_heading"}, "Text\n### Part", "#hash\n" + CODE),
    ({"kind": "bold_title"}, "Text\n**The Title**\nmore", "**Bold** and more\n****"),
    ({"kind": "has_code_block"}, CODE, "```\nnever closed"),
    ({"kind": "has_quotation"}, "He said “go”.", 'A 5" pipe and "" too'),
    ({"kind": "has_digits"}, "It is 5.", "1. One\n2. Two"),
    ({"kind": "no_digits"}, "1. One\n2. Two", "It is 5."),
    ({"kind": "no_commas"}, "No; none.", "One, two."),
    ({"kind": "no_exclamation"}, "Calm.", "Go!"),
    ({"kind": "all_lowercase"}, "all 3 are small.", "All small."),
]


def _make(kind: str, value: str, number: int) -> dict[str, object]:
    """Fill the parameters of a kind."""
    chosen: Mapping[type, object] = {str: value, int: number, list: [value]}
    return {"kind": kind, **{name: chosen[sort] for name, sort in KINDS[kind].parameters.items()}}


def test_known_values(subtests):
    """Each kind tells a text that meets it from one that does not."""
    for check, good, bad in KNOWN:
        with subtests.test(check=check, good=good, bad=bad):
            assert problem(check) is None
            assert verify(check, good)
            assert not verify(check, bad)


def test_known_texts_can_be_broken(subtests):
    """Each kind has an edit that breaks it, the edit depends on the seed alone, and a bad text gets none."""
    for check, good, bad in KNOWN:
        with subtests.test(check=check, good=good, bad=bad):
            edited = violate(check, good, random.Random(3))
            assert edited is not None
            assert not verify(check, edited)
            assert edited == violate(check, good, random.Random(3))
            assert violate(check, bad, random.Random(3)) is None


def test_every_kind_is_known_to_the_table() -> None:
    """The table of known values covers every kind, and every kind has a description."""
    assert {str(check["kind"]) for check, _, _ in KNOWN} == set(KINDS)
    assert all(kind.description for kind in KINDS.values())


LINES = st.sampled_from(
    ["Rain falls here.", "- a bullet, red", "2. second", "1. First item", "# Head", "**Bold**", "```", "",
     "the tea is 3", 'She said "tea" there.', "tea", "Tea and more tea!", "straße ÄÖ", "** x",
     "-  ", "__a__", "a _b_ c?)", "“q” …"]
)  # fmt: skip
TEXTS = st.one_of(st.lists(LINES, max_size=9).map("\n".join), st.text(max_size=60))
CHECKS = st.builds(
    _make, st.sampled_from(sorted(KINDS)), st.sampled_from(["tea", "the tea", "c?", "3"]), st.integers(1, 5)
)


@settings(max_examples=600, deadline=None)
@given(CHECKS, TEXTS, st.integers(0, 9))
def test_a_violation_fails(check: dict[str, object], text: str, seed: int) -> None:
    """A text that meets a check gets an edit that does not meet it, and other texts get none."""
    edited = violate(check, text, random.Random(seed))
    if verify(check, text):
        assert edited is None or not verify(check, edited)
    else:
        assert edited is None


@given(CHECKS, TEXTS)
def test_verify_is_pure(check: dict[str, object], text: str) -> None:
    """The same question gets the same answer, and the check is not changed."""
    before = dict(check)
    assert verify(check, text) == verify(check, text)
    assert check == before


def test_errors_name_the_fault(subtests):
    """A check that is not well formed is refused with its kind, its parameter and the nearest known name."""
    for check, message in [
        ({}, "a check needs a 'kind'"),
        ({"kind": 3}, "unknown check kind 3"),
        ({"kind": "no_coma"}, "unknown check kind 'no_coma'; did you mean 'no_commas'?"),
        ({"kind": "xyzzy"}, "unknown check kind 'xyzzy'"),
        ({"kind": "max_words"}, "check 'max_words' lacks the parameter 'value'"),
        ({"kind": "max_words", "vlaue": 3}, "check 'max_words' has no parameter 'vlaue'; did you mean 'value'?"),
        ({"kind": "no_commas", "value": 3}, "check 'no_commas' has no parameter 'value'"),
        ({"kind": "max_words", "value": "3"}, "parameter 'value' must be a whole number of at least 1, not '3'"),
        ({"kind": "max_words", "value": True}, "parameter 'value' must be a whole number of at least 1, not True"),
        ({"kind": "max_words", "value": 0}, "parameter 'value' must be a whole number of at least 1, not 0"),
        ({"kind": "contains", "value": " "}, "parameter 'value' must be a text that is not blank, not ' '"),
        ({"kind": "contains_all", "value": []}, "parameter 'value' must be a list of texts that are not blank"),
        ({"kind": "mentions_at_least", "value": "a"}, "check 'mentions_at_least' lacks the parameter 'times'"),
    ]:
        with subtests.test(check=check, message=message):
            assert message in str(problem(check))
            with pytest.raises(ValueError) as caught:
                verify(check, "Text.")
            assert str(caught.value) == problem(check)
            with pytest.raises(ValueError):
                violate(check, "Text.", random.Random(1))


def test_a_check_that_no_edit_breaks(subtests):
    """A violation that cannot be had is None and takes no long time."""
    for check in [{"kind": "min_words", "value": 1}, {"kind": "max_words", "value": 10**9}]:
        with subtests.test(check=check):
            assert violate(check, "One word.", random.Random(1)) is None


def test_edits_are_small() -> None:
    """The edits leave the rest of the text as it was."""
    rng = random.Random(5)
    assert violate({"kind": "has_code_block"}, CODE, rng) == "Run this:\n- ls -l\n# all\n1. x\nDone."
    assert violate({"kind": "bold_title"}, "**Tea**\nHot.", rng) == "Tea\nHot."
    assert violate({"kind": "numbered_list", "value": 2}, "1. a\n2. b", rng) in {"1. a", "1. b"}
    assert violate({"kind": "has_digits"}, "1. It is 2,500 m.", rng) == "1. It is several m."
    assert violate({"kind": "avoids", "value": "ship"}, "It is calm.", rng) == "It is calm (see also ship)."
    assert violate({"kind": "exact_paragraphs", "value": 1}, "One. Two.", rng) == "One.\n\nTwo."
    assert violate({"kind": "min_words", "value": 3}, "It is calm, now.", rng) == "It is."
