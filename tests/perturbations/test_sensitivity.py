"""Known values of the edits that harm an answer."""

from random import Random

import pytest

from calm import Answer, Case, Criterion
from calm.checks import verify
from calm.perturbations.sensitivity import break_criterion, change_number, delete_point, negate, truncate


def damaged(edit, text, seed=0, **fields):
    """Return the text of a case's only answer after an edit, or None."""
    case = Case(id="c", question="Why?", answers=(Answer("a", text),), order=("a",), target="a", **fields)
    edited = edit(case, Random(seed))
    return None if edited is None else edited["a"].text


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("First 10, then 50 km.", ("First 10, then ", " km.", 40, 60)),
        ("It has 1,000 seats.", ("It has ", " seats.", 800, 1200)),
        ("It costs 3.50 now.", ("It costs ", " now.", 2.8, 4.2)),
        ("There are 0 left. Step 2: stop.", ("There are ", " left. Step 2: stop.", 1, 1)),
        ("He has 7.\n\n```\nx = 99\n```\n2. `y3 = 4`", ("He has ", ".\n\n```\nx = 99\n```\n2. `y3 = 4`", 6, 8)),
        ("Use utf8 and v1.2.3 at 10:30, or 20 times.", ("Use utf8 and v1.2.3 at 10:30, or ", " times.", 16, 24)),
    ],
)
def test_the_last_number_of_the_prose_changes(text, pattern):
    """The last number is another one within a fifth; numbers of code, steps, items, versions and times stay."""
    head, tail, low, high = pattern
    for seed in range(30):
        changed = damaged(change_number, text, seed)

        assert changed != text
        assert changed.startswith(head)
        assert changed.endswith(tail)
        assert low <= float(changed[len(head) : -len(tail)].replace(",", "")) <= high


def test_a_text_without_a_number_has_none_to_change():
    """Numbers that are part of names or code are none."""
    assert damaged(change_number, "Use `x = 3` in utf8.") is None


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The sky is blue.", "The sky is not blue."),
        ("The sky is not green.", "The sky is green."),
        ("It can fly.", "It cannot fly."),
        ("It cannot fly.", "It can fly."),
        ("It isn't far.", "It is far."),
        ("You should wait. `x is y`", "You should not wait. `x is y`"),
        ("Is it far?", None),
    ],
)
def test_one_statement_is_denied(text, denied):
    """A "not" is put in or taken out; questions and code are no statements."""
    assert damaged(negate, text) == denied


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        (
            "A short point here. A much longer point stands here. The end comes now.",
            "A short point here. The end comes now.",
        ),
        ("A much longer point stands here. A short point here.", "A short point here."),
        ("A short point here. A much longer point stands here.", "A short point here."),
        ("- one short point\n- another point that is longer\n- a third point", "- one short point\n- a third point"),
        (
            "A short point here.\n\nA much longer point stands here.\n\nThe last one.",
            "A short point here.\n\n\nThe last one.",
        ),
        ("Only one point that counts. Yes.", None),
    ],
)
def test_the_longest_point_is_deleted(text, shorter):
    """The longest sentence or item goes, where another one with content stays."""
    assert damaged(delete_point, text) == shorter


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("The first point. The second point.", "The first point."),
        ("one two three four five six", "one two three"),
        ("Too short.", None),
    ],
)
def test_an_answer_breaks_off(text, cut):
    """What is left is the first sentence, or half of a single one."""
    assert damaged(truncate, text) == cut


def test_one_verifiable_criterion_is_broken():
    """The criterion that is hit was met and is not met any more; one that was never met is not drawn."""
    criteria = (
        Criterion("c1", "No commas.", check={"kind": "no_commas"}),
        Criterion("c2", "Mentions salt.", check={"kind": "contains", "value": "salt"}),
        Criterion("c3", "Is kind."),
    )
    case = Case(
        id="c",
        question="Why?",
        answers=(Answer("a", "Rain falls on the plain."),),
        criteria=criteria,
        met={"a": {"c1": True, "c2": False, "c3": True}},
        order=("a",),
        target="a",
    )

    edited = break_criterion(case, Random(0))

    assert edited.hit == "c1"
    assert edited.met == {"a": {"c1": False, "c2": False, "c3": True}}
    assert not verify({"kind": "no_commas"}, edited["a"].text)
