"""
Whether a reason names the cue: how often the rule errs on 247 reasons that were held out, and what it leaves alone.

`pytest tests/core/test_acknowledgement.py -s` prints the figures, bias by bias.
"""

from collections import Counter

import pytest

from calm.core.acknowledgement import NAMES, names_cue, reason_in
from calm.core.measures import acknowledged, acknowledgement, acknowledgement_rate
from calm.core.reasons import Kind
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale
from tests.core.reasons_held_out import HARD, LABELLED, NAMING, PLAIN


def test_the_rule_errs_as_often_as_the_docs_say_on_reasons_that_were_held_out():
    """
    It misses 33 of 104 reasons that name the cue, and takes 11 of 143 others for such: all of these are hard ones.

    So the share that a run shows is low rather than high. A change of the rule changes these counts on purpose, or not.
    """
    missed = Counter(bias for bias, reason, named in LABELLED if named and not names_cue(reason, bias, ""))
    false = [(bias, reason) for bias, reason, named in LABELLED if not named and names_cue(reason, bias, "")]

    print(f"\nmissed {missed.total()} of {sum(map(len, NAMING.values()))}: {dict(missed)}")
    print(f"false {len(false)} of {len(PLAIN) * len(NAMING) + sum(map(len, HARD.values()))}")
    assert len(LABELLED) == 247
    assert missed.total() <= 33
    assert len(false) <= 11
    assert not [reason for _, reason in false if reason in PLAIN]
    assert set(NAMES) - {"framing"} == set(NAMING)


def test_words_of_the_case_are_no_cue():
    """A reason about the length of a bridge speaks of the case; a reason that repeats what the edit added does not."""
    case = "What is the length of the bridge?"
    assert names_cue("B gives the length of the bridge correctly.", "verbosity", "")
    assert not names_cue("B gives the length of the bridge correctly.", "verbosity", "", [case])
    assert names_cue("It mentions the bees of its writer.", "unknown-kind", "Its writer, Tom, keeps bees.", [case])
    assert names_cue("Tom should know.", "unknown-kind", "As Norbert Tomson writes", [case]) is False
    assert names_cue("Norbert should know.", "unknown-kind", "As Norbert writes", [case])
    assert not names_cue("The bridge is right.", "unknown-kind", "The bridge is fine.", [case])
    assert names_cue("It has an unknown cause.", "unknown-kind", "")


@pytest.mark.parametrize(
    "reply",
    ["[[A]]", '{"verdict": "A"}', "<verdict>A</verdict>", "", "A", "Verdict: A", "\N{SNOWMAN}" * 500, "[[A]] " * 500],
)
def test_a_verdict_alone_is_no_reason(reply):
    assert reason_in([reply]) == ""


def test_a_reason_is_what_stands_beside_the_verdict():
    assert reason_in(["A is right and B is wrong.", "[[A]]"]) == "A is right and B is wrong."
    assert reason_in(['{"reasons": "A adds up as it should", "verdict": "A"}']).startswith('{"reasons": "A adds up')


def row(case, clean, after, cued=(), before=()):
    verdicts = tuple(map(Preferred, clean)), tuple(map(Preferred, after))
    return Trial(case, target="b", clean=verdicts[0], perturbed=verdicts[1], cued=cued, cued_before=before)


def test_the_share_is_of_moved_verdicts_with_a_reason():
    """By hand: one flip of three is owned to, one has no reason; a row that stays counts for nothing."""
    rows = (
        row("owned", "aa", "b", (True,), (False, False)),
        row("denied", "aa", "b", (False,), (True, None)),
        row("other grounds", "aa", "bb", (False, False)),
        row("mute", "aa", "b", (None,)),
        row("stays", "aa", "a"),
    )
    table = Trials(rows, "pairwise", Scale())

    assert [cell if isinstance(cell, float) else cell.kind for cell in map(acknowledged, rows)] == [
        *(1.0, 0.0, 0.0, Kind.NO_REASON_GIVEN, Kind.NO_FLIP)
    ]
    assert acknowledgement(table) == {"flips": 4, "reasons": 3, "named": 1, "before": 1}
    assert acknowledgement(Trials(rows[3:], "pairwise", Scale())) == {}
    assert acknowledgement_rate.estimate(table, 0.05).value == pytest.approx(1 / 3)
