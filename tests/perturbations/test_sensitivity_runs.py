"""Edits that harm a run: what they take is surely needed, and all else is left alone."""

import json
from random import Random

import pytest

from calm import Answer, Case
from calm.cases import bundled, shaped_cases
from calm.core.case import Criterion, Step, Turn
from calm.core.edits import Expects
from calm.experiment.pairs import aim
from calm.perturbations.sensitivity_runs import change_amount, drop_call, fail_call, stop_early

EDITS = (fail_call, drop_call, stop_early, change_amount)


def call(tool, result="done", **arguments):
    """Return a step that calls a tool."""
    return Step("", tool, json.dumps(arguments), json.dumps({"result": result}))


READ = call("read_page", "The room costs 80.", page="rooms")
BOOK = call("book_room", "b7", room="Oak", nights=3, guests=2)


def run(question, *steps, **more):
    """Return a case of one run of these steps, behind one that reads."""
    answer = Answer("a", "All of it is done.", steps=(READ, *steps))
    return Case("c", question, (answer,), **{"scores": {"a": 10.0}, **more}).treat("a")


def harmed(edit, case):
    """Return the steps that an edit leaves, for some seeds; None where it does not apply."""
    found = [edit(case, Random(seed)) for seed in range(6)]
    return None if None in found else [one["a"].steps for one in found]


def test_what_the_user_asked_for_is_harmed():
    """It fails, is gone, comes after the end, or is about another amount."""
    case = run("Book the room Oak for 3 nights.", BOOK)

    assert all("turned down" in steps[1].result for steps in harmed(fail_call, case))
    assert harmed(drop_call, case) == harmed(stop_early, case) == [(READ,)] * 6
    for _, step in harmed(change_amount, case):
        made, was = json.loads(step.arguments), json.loads(BOOK.arguments)
        assert sum(made[name] != was[name] for name in was) == 1
        assert made["room"] == "Oak"


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("What is the price?", [call("open_page", url="about")]),
        ("What is the price?", [call("start_browser", url="x"), call("execute_query", sql="select price")]),
        ("What is the price of an order?", [call("order_status", order="7")]),
        ("Book a flight.", [call("book_search", to="Rome"), call("update_plan", flight="Rome")]),
        ("Book the room Oak.", [call("book_room", room="Oak", dry_run=True)]),
        ("Book the room Oak.", [BOOK, BOOK]),
        (
            "Set the room to Oak.",
            [call("set_room", room="hall", to="Elm"), call("set_room", room="hall", to="Oak")][:1],
        ),
        ("Cancel order 7.", [call("cancel_order", order=8)]),
        ("Tell Ann.", [call("create_event", "e1", day="Monday")]),
        ("Book the room Oak.", [Step("", "book_room", '{"room": "Oak"}', '{"error": "taken"}')]),
    ],
)
def test_a_call_that_may_be_of_no_use_is_left_alone(question, steps):
    """It may only read, or is there twice, or is about something that nobody spoke of."""
    assert [edit(run(question, *steps), Random(0)) for edit in EDITS] == [None] * 4


def test_what_a_later_call_does_anew_or_undoes_is_no_loss():
    """The last one of several counts."""
    anew = run(
        "Set the day of the talk.", call("set_day", talk="talk", day="Monday"), call("set_day", talk="talk", day=2)
    )
    undone = run("Book the room Oak.", call("book_room", "b7", room="Oak"), call("cancel_booking", booking="b7"))

    assert all(steps[1:] == anew["a"].steps[1:2] for steps in harmed(drop_call, anew))
    assert drop_call(undone, Random(0)) is None


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        ("Send Ann the news.", {"to": "Ann", "timeout_s": 30, "retries": 2}),
        ("Send Ann the first 30 lines.", {"to": "Ann", "limit": 30, "page": 3, "version": 2, "id": 30}),
        ("Send Ann the news.", {"to": "Ann", "priority": 1, "body": "at 15"}),
        ("Send Ann the news.", {"to": "Ann", "urgent": True, "code": "x12"}),
    ],
)
def test_a_number_that_says_how_a_call_is_made_stays(question, arguments):
    """It is no amount, also where the user spoke of the same number."""
    assert change_amount(run(question, call("send_email", **arguments)), Random(0)) is None


@pytest.mark.parametrize(
    ("question", "arguments", "name"),
    [
        ("Pay Ann what she is owed.", {"to": "Ann", "amount": 49.95, "retries": 3}, "amount"),
        ("Pay Ann 120.", {"to": "Ann", "cents": "120", "page": 120}, "cents"),
        ("Pay for Ann.", {"to": "Ann", "number_of_seats": 2}, "number_of_seats"),
        ("Pay for Ann.", {"to": "Ann", "numRooms": 2}, "numRooms"),
    ],
)
def test_an_amount_is_told_by_its_name_or_by_what_the_user_said(question, arguments, name):
    """Nothing else in the call changes."""
    case = run(question, call("pay_bill", **arguments))

    for _, step in harmed(change_amount, case):
        made = json.loads(step.arguments)
        assert float(made[name]) > float(arguments[name])
        assert {**made, name: arguments[name]} == arguments


@pytest.mark.parametrize(
    "more",
    [
        {"scores": {"a": 2.0}},
        {"scores": {"a": 0.0}},
        {
            "criteria": (Criterion("k", "The room is Oak."), Criterion("l", "It is for three nights.")),
            "met": {"a": {"k": True, "l": False}},
        },
    ],
)
def test_a_run_that_is_known_to_be_wrong_is_not_harmed(more):
    """What is done wrong may be better undone."""
    assert [edit(run("Book the room Oak.", BOOK, **more), Random(0)) for edit in EDITS] == [None] * 4


def test_of_two_runs_the_worse_one_is_not_harmed():
    """Its call may be the reason why it is worse."""
    case = run("Book the room Oak.", BOOK)
    pair = Case("c", case.question, (*case.answers, Answer("b", "No.")), better="b")

    assert drop_call(pair.treat("a"), Random(0)) is None


def test_what_the_user_said_before_counts_and_what_the_agent_said_does_not():
    """A user may only say "Yes" at the end."""
    said = (Turn("user", "Book the room Oak."), Turn("assistant", "Shall I?"))
    offered = (Turn("user", "Hello."), Turn("assistant", "Shall I book the room Oak?"))

    assert drop_call(run("Yes.", BOOK, turns=said), Random(0)) is not None
    assert drop_call(run("Hm.", BOOK, turns=offered), Random(0)) is None


@pytest.mark.parametrize(("task", "least"), [("pairwise", 150), ("score", 150), ("listwise", 150)])
def test_most_shipped_errands_are_served(task, least):
    """So that the control decides; an amount is in a quarter of them."""
    cases = [aim(case, Expects.WORSE) for case in shaped_cases("steps", task, bundled(task), right=True)]

    assert all(sum(edit.apply(case, 1) is not None for case in cases) >= least for edit in EDITS[:3])
    assert sum(change_amount.apply(case, 1) is not None for case in cases) >= 45


@pytest.mark.parametrize(
    "arguments", ["", "{", "[1]", "null", "{}", "[" * 100_000, '{"a": {"b": [1]}}', "\ud800", "x" * 300_000]
)
def test_arguments_of_any_kind_are_read(arguments):
    """Also what is no JSON."""
    step = Step("", "book_room", arguments, '{"room": "Oak"}')
    for edit in EDITS:
        edit(run("Book the room Oak.", step), Random(0))
