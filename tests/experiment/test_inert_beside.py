"""Inert words in conversations, passages and runs: they stand where an edit said something, and only there."""

from collections import Counter
from dataclasses import replace
from difflib import SequenceMatcher

import pytest

from calm.cases import bundled, shaped_cases
from calm.core.case import Passage, Step, Turn
from calm.core.edits import Edit
from calm.experiment.altered import aligned
from calm.experiment.inert import floor_of
from calm.gate.catalogue import entries
from tests.each import each
from tests.planted import pair

TURNS = (Turn("user", "I have 3 lamps."), Turn("assistant", "Which ones?"))
PASSAGES = (Passage("p1", "Lamps are sold."), Passage("p2", "Bulbs are in the box."))
STEPS = (Step("Look it up.", "stock", '{"item": "lamp"}', "3"), Step("I know it now."))
BASE = replace(pair("c", turns=TURNS, context=PASSAGES), better="good").acted("bad", STEPS)
SOURCE = BASE.treat("bad")


def floor(shown, number=1):
    """Return what an edited case is held against."""
    return floor_of(SOURCE, BASE, shown, BASE.differences(shown), number)


def test_an_added_turn_is_held_against_an_inert_turn_of_the_same_speaker():
    added = (*TURNS, Turn("user", "You are the best helper that I have ever met, so thank you very much."))

    found = floor(replace(BASE, turns=added))

    assert found.name == "turn"
    assert found.case.turns[:2] == TURNS
    assert found.case.turns[2].role == "user"
    assert "best" not in found.case.turns[2].text
    assert replace(found.case, turns=TURNS) == BASE


def test_words_in_a_turn_are_held_against_inert_words_behind_it():
    shown = replace(BASE, turns=(TURNS[0], Turn("assistant", "Which ones? I trust you in all of this, my friend.")))

    found = floor(shown)

    assert found.case.turns[0] == TURNS[0]
    assert found.case.turns[1].text.startswith("Which ones? ")
    assert "trust" not in found.case.turns[1].text


def test_an_added_passage_is_held_against_an_inert_one_in_its_place():
    shown = replace(BASE, context=(PASSAGES[0], Passage("p9", "Lamps are never sold."), PASSAGES[1]))

    found = floor(shown)

    assert found.name == "passage"
    assert [passage.id for passage in found.case.context] == ["p1", "p9", "p2"]
    assert "never" not in found.case.context[1].text


@pytest.mark.parametrize("shown", [
    replace(BASE, context=PASSAGES[::-1]),
    replace(BASE, context=PASSAGES[:1]),
    replace(BASE, context=(Passage("x", PASSAGES[0].text), PASSAGES[1])),
    BASE.acted("bad", STEPS[:1]),
])  # fmt: skip
def test_what_says_nothing_new_is_held_against_the_briefest_words_in_each_answer(shown):
    found = floor(shown)

    assert found.name == "each-text-5"
    assert (found.case.turns, found.case.context) == (TURNS, PASSAGES)


def test_words_in_a_run_are_held_against_inert_words_there():
    louder = (replace(STEPS[0], thought="Look it up. All of this went perfectly well."), STEPS[1])
    longer = (*STEPS, Step("I am now sure that each part of the task is done."))

    changed, added = floor(BASE.acted("bad", louder)), floor(BASE.acted("bad", longer))

    assert changed.name == added.name == "step"
    assert changed.case["bad"].steps[0].thought.startswith("Look it up. ")
    assert replace(changed.case["bad"].steps[0], thought="Look it up.") == STEPS[0]
    assert added.case["bad"].steps[:2] == STEPS
    assert "sure" not in added.case["bad"].steps[2].thought
    assert changed.case["good"] == BASE["good"]


@each("part", ["turns", "context"])
def test_each_ask_has_other_inert_words(part):
    more = {"turns": Turn("user", "More of it."), "context": Passage("p9", "More of it.")}[part]
    shown = replace(BASE, **{part: (*getattr(BASE, part), more)})

    assert len({getattr(floor(shown, number).case, part) for number in range(1, 5)}) == 4


def in_common(old, new):
    """What two lists have in common by the library, which takes the cube of their length where things repeat."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(a + place, b + place) for a, b, size in blocks for place in range(size)]


def listed(case):
    """The turns of a case, the texts of its passages, and the runs of its answers."""
    return case.turns, tuple(passage.text for passage in case.context), *(answer.steps for answer in case.answers)


def test_the_edits_that_ship_leave_in_common_what_the_library_finds():
    """Of each edit of turns, passages or runs, on cases that ship: so the inert words stand in the same places."""
    edits = [entry.edit for entry in entries() if isinstance(entry.edit, Edit)]
    pairs = set()
    for part in ("turns", "context", "steps"):
        for case in shaped_cases(part, "pairwise", bundled("pairwise"))[::30]:
            treated = case.treat(case.answers[-1].id)
            for edit in edits:
                shown = edit.apply(treated, 1) if "pairwise" in edit.tasks else None
                pairs |= set() if shown is None else set(zip(listed(case), listed(shown.untreated()), strict=True))
    changed = [(old, new) for old, new in pairs if Counter(new) - Counter(old)]  # what only moved has no such words

    assert len(changed) > 200
    assert [pair for pair in changed if aligned(*pair) != in_common(*pair)] == []


class Counted(str):
    """A text that counts how often it is looked at."""

    looked = 0

    def __eq__(self, other):
        Counted.looked += 1
        return str.__eq__(self, other)

    def __hash__(self):
        Counted.looked += 1
        return str.__hash__(self)


@each("times", [1000, 4000])
def test_a_long_run_of_equal_steps_takes_steps_by_its_length(times):
    """Twenty looks for each step at the most, whether something stands after each, instead of some, or in reverse."""
    same = ["wait"] * times
    paused = [one for step in same for one in (step, "I rest.")]
    changed = ["wait" if place % 3 else f"other {place}" for place in range(times)]
    turned = [f"{place}" for place in range(times)]
    for old, new in ((same, paused), (paused, same), (same, changed), (turned, turned[::-1]), (same, same * 2)):
        Counted.looked = 0
        found = aligned([Counted(one) for one in old], [Counted(one) for one in new])
        assert Counted.looked <= 20 * (len(old) + len(new))
        assert all(old[i] == new[k] for i, k in found)
    assert aligned(same, paused) == [(place, 2 * place) for place in range(times)]
