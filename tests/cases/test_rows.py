"""Turns, passages and steps in a file of cases: read, refused with the place and the fix, and written back."""

import json

import pytest

from calm.cases import read_cases
from calm.cases.lines import line
from calm.cases.shapes import in_task, parts_in
from calm.core.case import Passage, Step, Turn
from calm.errors import ConfigError

PLAIN = {"id": "c", "question": "And then?", "answers": [{"id": "a", "text": "Four."}, {"id": "b", "text": "Five."}]}


def written(tmp_path, **more):
    """Write one case and return the file."""
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({**PLAIN, **more}) + "\n", "utf-8")
    return path


def acted(*steps):
    """Return answers of which the first has a run."""
    return [{**PLAIN["answers"][0], "steps": list(steps)}, PLAIN["answers"][1]]


def test_they_are_read_and_written_back(tmp_path):
    path = written(
        tmp_path,
        turns=[{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Yes?"}],
        context=["Lamps are sold.", {"id": "p2", "text": "Bulbs, too."}],
        answers=acted({"thought": "Look.", "tool": "stock", "arguments": {"item": "lamp"}, "result": [3]}),
    )

    (case,) = read_cases(path)

    assert case.turns == (Turn("user", "Hello."), Turn("assistant", "Yes?"))
    assert case.context == (Passage("1", "Lamps are sold."), Passage("p2", "Bulbs, too."))
    assert case["a"].steps == (Step("Look.", "stock", '{"item": "lamp"}', "[3]"),)
    path.write_text(line(case), "utf-8")
    assert read_cases(path) == [case]
    assert parts_in([path]) == {"turns", "context", "steps"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"turns": "user: hello"}, "turns: expected a list, got 'user: hello'; write [{"),
        ({"turns": [{"role": "user", "content": "x"}]}, "turns[0].content: expected the key 'text'"),
        ({"turns": [{"text": "x"}]}, "turns[0].role: expected a text, got none; add it"),
        ({"turns": [{"role": "u\n", "text": "x"}]}, "turns[0].role: expected a printable role"),
        ({"context": [{"id": "p", "text": "x"}, {"id": "p", "text": "y"}]}, "context[1].id: expected ids that differ"),
        ({"context": ["x", {"id": "1", "text": "y"}]}, "context[1].id: expected ids that differ"),
        ({"context": [3]}, "context[0]: expected an object, got 3"),
        ({"context": ["x\0"]}, "context[0]: expected a text without NUL"),
        ({"answers": acted({})}, "answers[0].steps[0]: expected a thought or a call of a tool, got neither"),
        ({"answers": acted({"result": "x"})}, "answers[0].steps[0].tool: expected the name of the tool"),
        ({"steps": []}, "steps: expected them in an answer"),
        ({"turns": [{"role": "user", "text": "x"}] * 2001}, "turns: expected at most 2000 of them, got 2001"),
    ],
)
def test_what_cannot_be_is_a_fault_with_its_place(tmp_path, more, message):
    with pytest.raises(ConfigError) as caught:
        read_cases(written(tmp_path, **more))

    assert message in str(caught.value)


def test_files_that_cannot_be_read_have_no_parts(tmp_path):
    (tmp_path / "x").write_bytes(b'{"turns": [\xff\n["turns"]\n{"answers": 3, "steps": 1}\n')

    assert parts_in([tmp_path / "x", tmp_path / "missing", tmp_path]) == frozenset()


THREE = {
    "answers": [{"id": name, "text": f"{name}."} for name in ("good", "near", "far")],
    "better": "good",
    "scores": {"good": 9, "near": 6, "far": 2},
    "criteria": [{"id": "k", "text": "It is good."}],
    "met": {"good": {"k": True}, "near": {"k": False}, "far": {"k": False}},
    "variants": {"cite": {"near": "near!", "far": "far!"}},
}


def test_a_case_of_three_answers_serves_each_task(tmp_path):
    (case,) = read_cases(written(tmp_path, **THREE))

    two, one = in_task(case, "pairwise"), in_task(case, "rubric")

    assert {a.id for a in two.answers} == {"good", "bad"}
    assert two.better == "good"
    assert two.variants["cite"]["bad"] == two["bad"].text.replace(".", "!")
    assert [a.id for a in one.answers] == ["only"]
    assert one.scores["only"] == THREE["scores"][one["only"].text[:-1]]
    assert one.met["only"]["k"] is (one["only"].text == "good.")
    assert in_task(case, "listwise") is case
