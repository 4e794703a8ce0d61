"""Where an edit changed a case: in which turns, passages and steps."""

from dataclasses import replace

import pytest

from calm.core.case import Answer, Case, Passage, Step, Turn
from calm.core.texts import CaseTexts
from calm.experiment.altered import MOST_PARTS as MOST
from calm.experiment.altered import changes_of
from calm.results.audit import texts_from_json, texts_to_json
from calm.results.parts import line_of, places_of

STEPS = (Step("I read", "read", "{}", "ok"), Step("then", "buy", '{"n": 1}', "bought"), Step("x", "close", "{}", "z"))
TURNS = (Turn("user", "I need 99 chairs"), Turn("assistant", "When?"), Turn("user", "On Monday"))
PASSAGES = (Passage("p1", "a b c d"), Passage("p2", "e f g"), Passage("p3", "h i j"))
CASE = Case("c", "How?", (Answer("a", "It is 99.", steps=STEPS), Answer("b", "no")), turns=TURNS, context=PASSAGES)
GOOD = CASE.answers[0]


def lines(shown, base=CASE):
    """Return the words of all changes, by way of a file."""
    changes, unlisted = changes_of(base, shown)
    kept = CaseTexts("c", "h", "", None, None, {}, {}, (), (), changes=changes, unlisted=unlisted)
    return [line_of(place) for place in places_of(texts_from_json(texts_to_json(kept)))]


def acted(*steps):
    """Return the case in which the run of the first answer has other steps."""
    return replace(CASE, answers=(replace(GOOD, steps=steps), CASE.answers[1]))


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (
            replace(
                CASE,
                turns=(Turn("user", "I need 92 chairs"), *TURNS[1:], Turn("user", "I was wrong: 99")),
                answers=(GOOD, replace(GOOD, id="a~damaged", text="It is 92.")),
            ),
            [
                'in turn 1, of the user: "92" for "99"',
                'turn 4, of the user, was added: "I was wrong: 99"',
                'in the damaged copy of a: "92" for "99"',
            ],
        ),
        (replace(CASE, turns=TURNS[::-1]), ['turns in another order: "3 2 1" for "1 2 3"']),
        (replace(CASE, turns=TURNS[1:]), ['turn 1, of the user, is gone: "I need 99 chairs"']),
        (replace(CASE, context=PASSAGES[::-1]), ['passages in another order: "p3 p2 p1" for "p1 p2 p3"']),
        (
            replace(CASE, context=(PASSAGES[0], Passage("p9", "new"), Passage("p8", "too"), *PASSAGES[1:])),
            ['passages p9 and p8 were added behind p1: "new … too"'],
        ),
        (replace(CASE, context=(Passage("p0", "new"), *PASSAGES)), ['passage p0 was added at the beginning: "new"']),
        (
            replace(CASE, context=(Passage("p1", "a X c d"), PASSAGES[1])),
            ['in passage p1: "X" for "b"', 'passage p3 is gone: "h i j"'],
        ),
        (
            replace(CASE, context=tuple(Passage(i, p.text) for i, p in zip(("p3", "p1", "p2"), PASSAGES, strict=True))),
            ['passages with other ids: "p3 p1 p2" for "p1 p2 p3"'],
        ),
        (acted(STEPS[0]), ['steps 2 and 3 in the run of a are gone: "then buy {"n": 1} bought … x close {} z"']),
        (
            acted(STEPS[0], STEPS[0], replace(STEPS[1], thought="", result="failed"), STEPS[2]),
            [
                'step 2 (read) in the run of a was added: "I read read {} ok"',
                'in the thought of step 3 (buy) in the run of a: without "then"',
                'in the result of step 3 (buy) in the run of a: "failed" for "bought"',
            ],
        ),
        (acted(*STEPS[::-1]), ['steps in another order in the run of a: "3 2 1" for "1 2 3"']),
        (
            replace(CASE, turns=TURNS[1:], question="Why?"),
            ['turn 1, of the user, is gone: "I need 99 chairs"', 'in the question: "Why" for "How"'],
        ),
        (replace(CASE, question="Why?"), []),
        (CASE, []),
    ],
)
def test_each_place_is_named(shown, said):
    """What was changed, added, taken out or moved; without a turn, passage or step the place goes without saying."""
    assert lines(shown) == said


def test_one_answer_needs_no_name():
    """Whose run it is goes without saying where there is one."""
    alone = replace(CASE, answers=(GOOD,))

    said = lines(replace(alone, answers=(replace(GOOD, steps=STEPS[:2]),)), alone)

    assert said == ['step 3 (close) is gone: "x close {} z"']


def test_of_many_places_some_are_listed_and_all_are_counted():
    """A long conversation in which each turn was changed makes no long record."""
    turns = tuple(Turn("user", f"Turn {number}") for number in range(40))
    base = replace(CASE, turns=turns)

    said = lines(replace(base, turns=tuple(Turn("user", f"{turn.text}!") for turn in turns)), base)

    assert len(said) == MOST + 1
    assert said[-1] == f"{40 - MOST} more places"
