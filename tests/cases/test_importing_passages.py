"""Rows with retrieved passages, as Ragas, deepeval and others write them, become cases with passages."""

import json

import pytest

from calm.cases.foreign.columns import Columns, columns_from, import_table
from calm.cases.foreign.records import load
from calm.cases.proposed import proposal
from calm.cases.rows import passages_in, unpacked
from calm.core.case import Passage
from calm.core.files import MOST_VALUES
from calm.errors import ConfigError

ROW = {"question": "May I?", "answer": "Yes."}
TEXTS = ["Returns take 30 days.", "Bulbs are sold."]


def imported(tmp_path, row, *maps, name="rows.jsonl"):
    """Return the one case of a row, by the columns that its names show and those that are mapped."""
    path = tmp_path / name
    path.write_text(json.dumps(row) if name.endswith("jsonl") else row)
    mine = columns_from(maps).columns
    guessed = {guess.key: guess.value for guess in proposal(load(path), mine, {}, {}).columns}
    (case,) = import_table(load(path), Columns({**guessed, **mine})).cases
    return case


@pytest.mark.parametrize(
    ("row", "ids"),
    [
        ({"user_input": "May I?", "response": "Yes.", "retrieved_contexts": TEXTS}, ("1", "2")),
        ({"question": "May I?", "answer": "Yes.", "contexts": TEXTS}, ("1", "2")),
        ({"input": "May I?", "actual_output": "Yes.", "retrieval_context": TEXTS}, ("1", "2")),
        (
            {**ROW, "documents": [{"id": 7, "content": TEXTS[0]}, {"id": 9, "content": TEXTS[1]}]},
            ("7", "9"),
        ),
        (
            {**ROW, "context": [{"title": "Terms", "text": TEXTS[0]}, {"title": "Shop", "text": TEXTS[1]}]},
            ("Terms", "Shop"),
        ),
        (
            {
                "query": "May I?",
                "response": "Yes.",
                "retrieved_documents": [
                    {"page_content": text, "metadata": {"source": f"{i}.md"}} for i, text in enumerate(TEXTS)
                ],
            },
            ("0.md", "1.md"),
        ),
    ],
    ids=["ragas", "ragas-old", "deepeval", "documents", "titles", "langchain"],
)  # fmt: skip
def test_a_list_of_texts_or_documents_becomes_passages(tmp_path, row, ids):
    """Each under its own name, or its place; nothing of them is in the fields."""
    case = imported(tmp_path, row)

    assert case.context == tuple(map(Passage, ids, TEXTS))
    assert (case.question, case.answers[0].text, dict(case.fields)) == ("May I?", "Yes.", {})


def test_a_cell_of_a_table_may_hold_the_list_as_json(tmp_path):
    """As a table that was saved as CSV has it."""
    cell = json.dumps(TEXTS).replace('"', '""')

    case = imported(tmp_path, f'question,answer,contexts\nMay I?,Yes.,"{cell}"\n', name="rows.csv")

    assert [passage.text for passage in case.context] == TEXTS


def test_one_text_stays_a_field(tmp_path):
    """Nobody knows where one passage of it ends and the next begins."""
    case = imported(tmp_path, {"question": "May I?", "answer": "Yes.", "context": "[sic] Returns take 30 days."})

    assert case.fields == {"context": "[sic] Returns take 30 days."}
    assert case.context == ()


def test_a_column_can_be_mapped_to_the_context(tmp_path):
    """A name that shows nothing is mapped by hand."""
    case = imported(tmp_path, {"question": "May I?", "answer": "Yes.", "chunks": TEXTS}, "context=chunks")

    assert len(case.context) == 2


@pytest.mark.parametrize("value", [3, {"a": 1}, [1, 2], ["a", None]])
def test_what_is_no_list_of_texts_is_refused(tmp_path, value):
    """The message names record and column, and what was expected."""
    with pytest.raises(ConfigError, match="record 1: contexts: expected a text, or a list of texts or of documents"):
        imported(tmp_path, {"question": "May I?", "answer": "Yes.", "contexts": value})


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], ["1", "2"]),
        ([{"id": "a", "text": "x"}, "y"], ["1", "2"]),
        ([{"id": "a\n", "text": "x"}, {"id": "\x07", "text": "y"}], ["1", "2"]),
        ([{"id": True, "text": "x"}], ["1"]),
        (["", "  ", "x"], ["1"]),
        ([], []),
    ],
)
def test_names_that_cannot_be_told_apart_are_replaced_by_places(value, ids):
    """An id that two passages have, or that some lack, could not be cited; what is empty is left out."""
    assert [one["id"] for one in passages_in(value)] == ids


def test_a_text_of_too_many_values_is_no_list():
    """The bound of a file holds for a text in it, too: of passages and of messages."""
    text = "[" + "1," * MOST_VALUES + "1]"

    assert unpacked(text) is text
    assert passages_in(text) is None
