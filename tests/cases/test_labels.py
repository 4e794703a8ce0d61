"""Labels of several people: read, made gold together, split with their answers, written back."""

import json

import pytest

from calm.cases import for_task, read_cases
from calm.cases.lines import line
from calm.core.annotations import Annotation
from calm.errors import ConfigError

PAIR = {"id": "q", "question": "Q?", "answers": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}]}
ONE = {"id": "q", "question": "Q?", "answers": [{"id": "only", "text": "A"}]}
CRITERIA = {"criteria": [{"id": "c1", "text": "one"}, {"id": "c2", "text": "two"}]}
THREE = {
    "id": "q",
    "question": "Q?",
    "answers": [{"id": i, "text": i, "author": f"model {i}"} for i in ("a", "b", "c")],
}


def read(tmp_path, row, task=None):
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    return read_cases(path, task=task)


@pytest.mark.parametrize(
    ("labels", "gold"),
    [
        ({"ann": "a", "ben": "a", "eva": "tie"}, "a"),
        (["tie", "tie", "b"], "tie"),
        ({"ann": "a", "ben": "b"}, None),
        ([None, "b"], "b"),
        (["a", "a", "b", "tie"], None),
    ],
)
def test_what_more_than_half_of_the_people_choose_is_the_gold_of_a_pair(tmp_path, labels, gold):
    (case,) = read(tmp_path, PAIR | {"labels": labels}, "pairwise")

    assert case.better == gold


def test_a_gold_label_of_the_case_itself_stands(tmp_path):
    """What the people say is kept beside it."""
    (case,) = read(tmp_path, PAIR | {"better": "b", "labels": {"ann": "a", "ben": "a"}})

    assert case.better == "b"
    assert case.annotations["ann"] == Annotation(better="a")


def test_scores_have_a_mean_and_criteria_a_majority(tmp_path):
    """A criterion that people are divided on has no truth."""
    (scored,) = read(tmp_path, ONE | {"labels": [7, 8, None]})
    (ruled,) = read(
        tmp_path,
        ONE | CRITERIA | {"labels": {"ann": {"c1": True, "c2": True}, "ben": {"c1": True, "c2": False}}},
    )

    assert scored.scores == {"only": 7.5}
    assert ruled.met == {"only": {"c1": True}}


def test_labels_of_several_answers_go_with_the_cases_made_of_them(tmp_path):
    """Scores of three answers become a score each, and a choice in each pair."""
    row = THREE | {"labels": {"ann": {"a": 9, "b": 4, "c": 4}, "ben": [["a", "b"], "c"]}}
    alone = read(tmp_path, row, "score")
    pairs = read(tmp_path, row, "pairwise")

    assert [case.annotations["ann"].scores for case in alone] == [{"answer": 9}, {"answer": 4}, {"answer": 4}]
    assert [case.annotations["ann"].better for case in pairs] == ["a", "a", "tie"]
    assert [case.annotations["ben"].better for case in pairs] == ["tie", "a", "b"]
    assert for_task(alone[0], "score") == [alone[0]]


@pytest.mark.parametrize(
    "row",
    [
        PAIR | {"labels": {"ann": "a", "ben": "tie"}},
        ONE | {"labels": [7, 8]},
        ONE | CRITERIA | {"labels": {"ann": {"c1": True}}},
        THREE | {"labels": {"ann": {"a": 9, "b": 4}, "ben": [["a", "b"], "c"]}},
    ],
)
def test_labels_are_written_as_they_were_read(tmp_path, row):
    (case,) = read(tmp_path, row)

    assert read(tmp_path, json.loads(line(case))) == [case]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (PAIR | {"labels": {"ann": "c"}}, "labels.ann: expected an answer's id or 'tie', got 'c'"),
        (PAIR | {"labels": "a"}, "labels: expected an object of people and their labels, or a list"),
        (PAIR | {"labels": [7]}, "labels.1: expected an object with the score of each answer, got one number for 2"),
        (PAIR | {"labels": {" ": "a"}}, "labels: expected the name of a person"),
        (PAIR | {"labels": {"a\nb": "a"}}, "labels: expected the name of a person"),
        (ONE | {"labels": [True]}, "labels.1: expected a label, got True"),
        (ONE | {"labels": ["tie"]}, "labels.1: expected a class, a score or the truth of criteria, got the text 'tie'"),
        (ONE | {"labels": [10**400]}, "line: expected numbers of at most 300 digits, got one of 401"),
        (
            ONE | CRITERIA | {"labels": [{"c3": True}]},
            "labels.1: expected the id of a criterion or of the answer, got 'c3'",
        ),
        (ONE | CRITERIA | {"labels": [{"c1": 1}]}, "labels.1.c1: expected true or false, got 1"),
        (THREE | {"labels": [["a", "b"]]}, "labels.1: expected all 3 answers once, from best to worst"),
        (THREE | {"labels": [{"a": "x"}]}, "labels.1.a: expected a score or the truth of criteria, got 'x'"),
        (PAIR | {"labels": ["a"] * 1_001}, "labels: expected at most 50 people, got 1001"),
    ],
)
def test_a_label_that_cannot_be_is_a_fault_with_its_place(tmp_path, row, fault):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, row)

    assert fault in str(caught.value)
    assert len(caught.value.problems) == 1
