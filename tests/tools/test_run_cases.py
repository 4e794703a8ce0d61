"""The shipped runs of agents: each call is made again in its world, and gives what the file says."""

import json
from collections import Counter
from pathlib import Path

import pytest

import calm
from calm.cases import bundled, shaped_cases
from calm.cases.generate.scores import gold
from tools.cases.errands import CONDITIONS, ERRANDS
from tools.cases.runs import COUNT, WAYS, errand_of, run_cases, verified
from tools.cases.worlds import WORLDS, Calendar, Files, Ledger, Orders

FILE = Path(calm.__file__).parent / "cases" / "data" / "runs-1.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def runs():
    """Yield each run of the file: its case, its errand, and the answer with its steps."""
    for number, row in enumerate(ROWS):
        _, errand = errand_of(number)
        for answer in row["answers"]:
            yield row, errand, answer


def test_the_file_is_what_its_program_makes():
    assert json.loads(json.dumps(run_cases(COUNT))) == ROWS


def test_each_call_gives_in_its_world_what_the_file_says():
    """Call by call, from the state of the errand on."""
    for row, errand, answer in runs():
        world = WORLDS[errand.world](errand.state)
        for step in answer["steps"]:
            assert world.call(step["tool"], step["arguments"]) == step["result"], row["id"]


def test_gold_is_what_holds_in_the_end():
    for row, errand, answer in runs():
        calls = [(step["tool"], step["arguments"]) for step in answer["steps"]]
        met = verified(errand, calls, answer["text"])

        assert row["met"][answer["id"]] == met
        assert row["scores"][answer["id"]] == gold(sum(met.values()), len(CONDITIONS))


def test_the_good_run_meets_all_the_near_one_misses_one_and_the_far_one_claims_success_after_a_failed_call():
    for row, _, answer in runs():
        count = sum(row["met"][answer["id"]].values())
        failed = any("error" in step["result"] for step in answer["steps"])

        assert count == {"good": 3, "near": 2}.get(answer["id"], min(count, 1)), row["id"]
        assert failed or answer["id"] != "far", row["id"]
        assert row["better"] == "good"


def test_cases_have_questions_of_their_own_and_every_kind_of_errand():
    assert len({row["question"] for row in ROWS}) == len({row["id"] for row in ROWS}) == len(ROWS) == COUNT
    assert Counter(row["tags"]["errand"] for row in ROWS) == dict.fromkeys(ERRANDS, COUNT // len(ERRANDS))
    assert {row["tags"]["world"] for row in ROWS} == set(WORLDS)


def test_neither_length_nor_failures_say_which_run_is_good():
    """The note beside the file says how many; no count of steps and no failed call stands for the gold."""
    steps = [{a["id"]: len(a["steps"]) for a in row["answers"]} for row in ROWS]
    failed = Counter(a["id"] for _, _, a in runs() if any("error" in step["result"] for step in a["steps"]))

    for way in ("near", "far"):
        longer = sum((n["good"] > n[way]) + (n["good"] == n[way]) / 2 for n in steps)
        assert 0.35 < longer / COUNT < 0.65, way
    assert (failed["good"], COUNT - failed["near"], failed["far"]) == (143, 72, COUNT)


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_they_serve_each_task(task):
    cases = shaped_cases("steps", task, bundled(task))

    assert len(cases) == COUNT
    assert all(answer.steps for case in cases for answer in case.answers)
    assert shaped_cases("steps", task, cases) is None
    assert {answer.id for case in cases for answer in case.answers} == (
        {"good", "bad"} if task == "pairwise" else {"only"}
    )
    assert set(WAYS) == {"good", "near", "far"}


SHOP = {"orders": {"1": {"customer": "Mara", "item": "lamp", "quantity": 2, "price": 5, "status": "open",
                         "address": "x", "refund": 0}}, "stock": {"lamp": 1}}  # fmt: skip


@pytest.mark.parametrize(
    ("world", "tool", "arguments", "said"),
    [
        (Orders(SHOP), "refund", {"order": "1", "amount": 11}, "11 is more than the 10 that can be paid back"),
        (Orders(SHOP), "change_quantity", {"order": "1", "quantity": 4}, "only 1 more are in stock"),
        (Orders(SHOP), "read_order", {"order": "2"}, "there is no order 2"),
        (Orders(SHOP), "burn", {}, "there is no tool burn"),
        (Orders(SHOP), "read_order", {"number": "1"}, "read_order takes other arguments"),
        (Files({"files": {"/a/x": "1"}, "locked": ["/a/x"]}), "delete_file", {"path": "/a/x"}, "/a/x is locked"),
        (Files({"files": {"/a/x": "1"}, "locked": []}), "write_file", {"path": "/b/x", "text": ""}, "is no folder /b"),
        (
            Calendar({"events": {"e1": {"title": "T", "day": "Monday", "start": 9, "end": 11, "room": "Oak"}},
                      "rooms": ["Oak"]}),
            "create_event",
            {"title": "N", "day": "Monday", "start": 10, "end": 12, "room": "Oak"},
            "Oak is taken then by T",
        ),
        (Ledger({"accounts": {"a": 5, "b": 0}, "entries": {}, "closed": []}), "transfer",
         {"source": "a", "target": "b", "amount": 6, "note": ""}, "a holds only 5"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_done_says_why_and_changes_nothing(world, tool, arguments, said):
    before = json.dumps(world.state)

    result = world.call(tool, arguments)

    assert said in result["error"]
    assert json.dumps(world.state) == before
