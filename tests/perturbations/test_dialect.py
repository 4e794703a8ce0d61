"""Dialect: words and endings change by rule; code, numbers, other words and the last sentence do not."""

import pytest

from calm import Answer, Case
from calm.cases import bundled, sample
from calm.core.claims import Outcome
from calm.core.measures import gain, net_robustness
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.perturbations import planted as judges
from calm.perturbations.dialect import (
    AFRICAN_AMERICAN,
    APPALACHIAN,
    SCOTS,
    TRIGGER,
    african_american,
    african_american_throughout,
    appalachian,
    scots,
)
from calm.suites.test_dialect import VARIETIES
from tests.each import each
from tests.planted import setup


def spoken(edit, text):
    """Return what an edit makes of a single answer."""
    edited = edit.apply(Case("c", "What?", (Answer("a", text),)).treat("a"), 0)
    return None if edited is None else edited["a"].text


@each(
    ("edit", "before", "after"),
    [
        (african_american, "They are making it. That is all.", "They makin' it. That is all."),
        (african_american, "It isn't with the king. End.", "It ain't wit' tha king. End."),
        (african_american, "Nothing is missing in spring. End.", "Nothing is missin' in spring. End."),
        (scots, "You cannot go to a small house. End.", "You cannae go tae a wee hoose. End."),
        (scots, "It Does not fly. End.", "It Doesnae fly. End."),
        (appalachian, "He is walking over there with those. End.", "He is a-walkin' over yonder with them thar. End."),
        (appalachian, "THESE are shouting. End.", "THESE are a-shoutin'. End."),
        (
            african_american,
            "Run `the code` with https://the.org/and now. End.",
            "Run `the code` wit' https://the.org/and now. End.",
        ),
        (scots, "The end is the best.", None),
        (appalachian, "Plain words stay. Nothing else.", None),
        (scots, "Aye, it isnae far from here. End.", None),
        (african_american, "", None),
    ],
)
def test_an_answer_is_said_in_a_dialect(edit, before, after):
    """What a dialect has no rule for stays, and what was said in it already is left alone."""
    assert spoken(edit, before) == after


@each("lexicon", [AFRICAN_AMERICAN, SCOTS, APPALACHIAN])
def test_every_word_of_a_dialect_is_known_for_it(lexicon):
    """So the planted judge hears each of them, and no word of Standard English that stands in for it."""
    assert all(TRIGGER.search(f"so {word} it") for word in lexicon.values())
    assert not any(TRIGGER.search(f"so {word} it") for word in lexicon)


def test_all_answers_can_speak_the_same_dialect():
    """Then none of them stands out; a pair of which one has nothing to change is left alone."""
    both = Case("c", "What?", (Answer("a", "With the dog. End."), Answer("b", "And the cat. End."))).treat("a")

    edited = african_american_throughout.apply(both, 0)

    assert [a.text for a in edited.answers] == ["Wit' tha dog. End.", "An' tha cat. End."]
    assert edited.target == "a"
    assert african_american_throughout.apply(both.edit("b", lambda _: "No."), 0) is None


@pytest.mark.parametrize(("spec", "passed"), [("noise=0.05", True), ("dialect=0.8", False), ("language=0.8", True)])
def test_a_judge_that_goes_by_dialect_fails_and_others_do_not(spec, passed):
    """The bias of other languages is another one. Fixed seeds; at 0.8 of the questions the limits are far away."""
    cases = sample(bundled("pairwise"), 80, 0)
    with setup(judges.planted(f"planted:{spec}"), cases, design=Design(1, 1)) as ready:
        found = run(ready, VARIETIES, [net_robustness >= 0.80, abs(gain) <= 0.25]).rulings

    outcomes = [one.decision.outcome for one in found]
    assert (outcomes == [Outcome.PASS] * 2) == passed
    assert (Outcome.FAIL in outcomes) != passed
