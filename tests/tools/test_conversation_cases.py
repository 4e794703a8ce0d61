"""Test the stored conversations against the rules they were built by: the good reply keeps to what was said."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import calm
from calm.cases import bundled, shaped_cases
from calm.cases.heuristics import read_heuristics, warnings
from calm.core.checks import verify
from tools.cases.scenarios import SCENARIOS, Fact
from tools.cases.talks import talk_cases

FILE = Path(calm.__file__).parent / "cases" / "data" / "conversations-1.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def said(row: dict[str, Any], role: str) -> str:
    """Return all that one of the two said before the question."""
    return "\n".join(turn["text"] for turn in row["turns"] if turn["role"] == role)


def reply(row: dict[str, Any], way: str) -> str:
    """Return one of the replies."""
    return str(next(answer["text"] for answer in row["answers"] if answer["id"] == way))


def facts(row: dict[str, Any]) -> list[tuple[Fact, str, dict[str, Any]]]:
    """Return each fact of a case, what the user said of it in the end, and its check."""
    scenario = next(one for one in SCENARIOS if one.name == row["tags"]["category"])
    checks = [criterion["check"] for criterion in row["criteria"]]
    return [(fact, check["value"], check) for fact, check in zip(scenario.facts, checks, strict=True)]


def test_the_file_is_what_its_program_makes() -> None:
    """The same seed makes the same conversations, and another one makes others."""
    assert talk_cases(200, 20261126) == ROWS
    assert talk_cases(15, 1) != ROWS[:15]
    with pytest.raises(ValueError, match="expected fewer conversations"):
        talk_cases(100_000, 1)


def test_the_conversations_are_many_and_differ() -> None:
    """There are 200 of 4 to 10 turns about 15 things; no two are equal, and each has a question of its own."""
    assert len(ROWS) == len({row["question"] for row in ROWS}) == len({json.dumps(row["turns"]) for row in ROWS}) == 200
    lengths = Counter(len(row["turns"]) for row in ROWS)
    assert set(lengths) == {4, 6, 8, 10}
    assert min(lengths.values()) >= 15
    assert min(Counter(row["tags"]["category"] for row in ROWS).values()) >= 13
    assert all(turn["role"] == ("assistant" if at % 2 else "user") for r in ROWS for at, turn in enumerate(r["turns"]))


def test_the_good_reply_keeps_to_all_that_the_user_said() -> None:
    """Each fact stands in a turn of the user, not in the question, and in the good reply."""
    for row in ROWS:
        for _, _, check in facts(row):
            assert verify(check, said(row, "user")), row["id"]
            assert not verify(check, row["question"]), row["id"]
            assert verify(check, reply(row, "good")), row["id"]
        assert row["scores"]["good"] == 10
        assert all(row["met"]["good"].values())


def test_the_near_reply_forgets_one_thing_and_says_nothing_else_wrong() -> None:
    """One fact is missing in it; no other value of a fact stands there, and nothing is asked for."""
    for row in ROWS:
        text = reply(row, "near")
        assert sum(not verify(check, text) for _, _, check in facts(row)) == 1, row["id"]
        for fact, value, _ in facts(row):
            others = [other for other in fact.values.split("|") if other != value]
            assert not any(verify({"kind": "contains", "value": other}, text) for other in others), row["id"]
            assert not any(asked in text for asked in fact.again.split("|")), row["id"]
        assert row["scores"]["near"] == 7


def test_the_far_reply_contradicts_or_asks_for_what_was_said() -> None:
    """Two facts of it are wrong: another value stands there, or the question for one that the user gave."""
    for row in ROWS:
        text = reply(row, "far")
        wrong = 0
        for fact, value, check in facts(row):
            others = [other for other in fact.values.split("|") if other != value]
            contradicted = any(verify({"kind": "contains", "value": other}, text) for other in others)
            wrong += not verify(check, text) and (contradicted or any(a in text for a in fact.again.split("|")))
        assert wrong == 2, row["id"]
        assert row["scores"]["far"] <= 4


def test_a_corrected_fact_is_said_wrongly_first_and_rightly_later() -> None:
    """In more than a third of the conversations the user corrects a fact, and the last word on it is the right one."""
    corrected = [row for row in ROWS if row["tags"]["corrected"] != "nothing"]
    assert len(corrected) >= 67
    for row in corrected:
        fact, value, check = next(one for one in facts(row) if one[0].name == row["tags"]["corrected"])
        places = [at for at, turn in enumerate(row["turns"]) if verify(check, turn["text"])]
        wrong = [
            o
            for o in fact.values.split("|")
            if o != value and verify({"kind": "contains", "value": o}, said(row, "user"))
        ]
        assert places[0] == len(row["turns"]) - 2, row["id"]
        assert len(wrong) == 1, row["id"]


def test_the_truth_of_criteria_is_computed() -> None:
    for row in ROWS:
        assert row["met"] == {
            way: {c["id"]: verify(c["check"], reply(row, way)) for c in row["criteria"]}
            for way in ("good", "near", "far")
        }


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric", "listwise"])
def test_they_serve_each_task_and_no_heuristic_tells_the_gold(task) -> None:
    """A run on the bundled cases is asked about them; neither length nor place gives the better reply away."""
    cases = shaped_cases("turns", task, bundled(task))
    assert cases is not None
    assert len(cases) == 200
    assert shaped_cases("turns", task, cases) is None
    assert list(warnings(read_heuristics(cases))) == []


def test_length_hardly_goes_with_the_gold() -> None:
    lengths = [float(len(reply(row, way))) for row in ROWS for way in ("good", "near", "far")]
    golds = [float(row["scores"][way]) for row in ROWS for way in ("good", "near", "far")]
    assert abs(statistics.correlation(lengths, golds)) < 0.25
