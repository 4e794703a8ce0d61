"""`calm.testing.check_perturbation`: it finds each fault that an edit can have, and every shipped edit passes."""

import re
from dataclasses import replace
from random import Random
from time import sleep

import pytest

from calm import Expects, perturbation
from calm import cases as datasets
from calm.core.edits import Edit
from calm.core.verdict import FAMILY
from calm.gate.catalogue import entries
from calm.testing import LONG, check_perturbation


def edit(expects=Expects.NOT_BETTER, **more):
    """Return the decorator of an edit that is in order but for what a test does to it."""
    return perturbation(bias="shouting", expects=expects, **{"source": "own", **more})


@edit()
def sound(case, rng):
    """Append one of two words to the weaker answer."""
    word = rng.choice(("Hear.", "Listen."))
    return case.edit(case.target, lambda text: f"{text} {word}")


def test_a_sound_edit_passes():
    """Nothing is raised, on samples and on one's own cases."""
    check_perturbation(sound)
    check_perturbation(sound, datasets.bundled("pairwise")[:3])


CALLS = iter(range(10**9))
OUTSIDE = Random(7)


@edit()
def counts(case, rng):
    """Append a number that grows with each call."""
    return case.edit(case.target, lambda text: f"{text} Call {next(CALLS)}.")


@edit()
def draws_from_outside(case, rng):
    """Append a number that comes from elsewhere."""
    return case.edit(case.target, lambda text: f"{text} {OUTSIDE.random()}")


@edit()
def changes_its_argument(case, rng):
    """Write into the case that it was given."""
    case.fields["seen"] = "yes"
    return case.edit(case.target, lambda text: f"{text} Hear.")


@edit()
def leaves_all_as_it_was(case, rng):
    """Return the case."""
    return case


@edit()
def turns_the_gold(case, rng):
    """Let the treated answer be the better one."""
    louder = case.edit(case.target, lambda text: f"{text} Hear.")
    return replace(louder, better=case.target)


@edit()
def raises_the_score(case, rng):
    """Let the answer be worth more than it is."""
    louder = case.edit(case.target, lambda text: f"{text} Hear.")
    return replace(louder, scores={case.target: 10.0})


@edit()
def returns_text(case, rng):
    """Return the text alone."""
    return case[case.target].text + " Hear."


@edit()
def breaks_on_nothing(case, rng):
    """Shout the first word."""
    first = case[case.target].text.split()[0]
    return case.edit(case.target, lambda text: f"{first}! {text}")


@edit()
def drops_numbers(case, rng):
    """Leave the numbers out."""
    return case.edit(case.target, lambda text: re.sub(r"\d+", "some", text) + " Hear.")


@edit()
def takes_an_answer_away(case, rng):
    """Show the treated answer alone."""
    alone = tuple(a for a in case.answers if a.id == case.target)
    return replace(case, answers=alone, order=(case.target,), question=f"{case.question} Hear.")


@edit(expects=Expects.WORSE)
def harms_in_secret(case, rng):
    """Append nonsense to the better answer."""
    return case.edit(case.target, lambda text: f"{text} Two and two make five.")


@edit()
def applies_nowhere(case, rng):
    """Do nothing."""


@edit(source="")
def without_a_source(case, rng):
    """Append a word."""
    return sound(case, rng)


@edit()
def without_a_word(case, rng):
    return sound(case, rng)


@edit(tasks=("score",))
def takes_its_time(case, rng):
    """Take as long over a long text as an edit does whose time grows with the square of the length."""
    text = case[case.target].text
    sleep(1.8 * (len(text) / LONG) ** 2)
    return case.edit(case.target, lambda old: f"{old} Hear.")


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (counts, "two runs with one seed differ"),
        (draws_from_outside, "two runs with one seed differ; draw from the `rng` that it is given"),
        (changes_its_argument, "it changed its argument"),
        (leaves_all_as_it_was, "returned case .* unchanged; return None"),
        (turns_the_gold, "it expects NOT_BETTER and changed better"),
        (raises_the_score, "it expects NOT_BETTER and changed scores"),
        (returns_text, "expected a case or None, got str"),
        (breaks_on_nothing, "IndexError: list index out of range"),
        (drops_numbers, "numbers: expected all of the original, lost"),
        (takes_an_answer_away, "it took an answer away"),
        (harms_in_secret, "it expects WORSE and does not say which answer it harmed"),
        (applies_nowhere, "it applies to none of the cases"),
        (without_a_source, "it names no source"),
        (without_a_word, "its function has no docstring"),
        (takes_its_time, "three edits took longer than 5 seconds: its time is not linear"),
        (lambda case, rng: None, "expected a perturbation, got function: decorate the function"),
    ],
)
def test_a_fault_is_found_and_named(faulty, said):
    """The error says what is wrong and how to mend it."""
    with pytest.raises(AssertionError, match=said):
        check_perturbation(faulty)


def test_a_fault_that_only_shows_on_own_cases_is_found():
    """The cases that are given are held to the same."""
    question = datasets.bundled("pairwise")[0].question

    @edit()
    def breaks_there(case, rng):
        """Fail on one question."""
        if case.question == question:
            raise ValueError("not this one")
        return sound(case, rng)

    check_perturbation(breaks_there)
    with pytest.raises(AssertionError, match="ValueError: not this one"):
        check_perturbation(breaks_there, datasets.bundled("pairwise")[:1])


SHIPPED = {entry.key: entry.edit for entry in entries() if isinstance(entry.edit, Edit)}


def own_cases(tasks, count=40):
    """Return bundled cases of the tasks that an edit serves."""
    found = []
    for task in ("pairwise", "score", "rubric"):
        if FAMILY[task] in tasks:
            found += datasets.bundled(task)[:count]
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_edit_passes(name):
    """On the samples and on forty bundled cases of each task that it serves."""
    shipped = SHIPPED[name]

    check_perturbation(shipped, own_cases(shipped.tasks))
