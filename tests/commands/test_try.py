"""`calm try`: one case, each reply named by its slot, its id, its author and its worth."""

import json

import pytest

from calm.commands import cli

CASE = json.dumps(
    {
        "id": "c",
        "question": "Who?",
        "better": "a",
        "answers": [
            {"id": "a", "text": "It rains here. It was her.", "author": "Bot v1"},
            {"id": "b", "text": "It snows here. It was him.", "author": "Bot v2"},
        ],
    }
)


def last(capsys, *arguments):
    """Return the last line of the command."""
    assert cli.main(["try", *arguments]) == 0
    return capsys.readouterr().out.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("judge", "winner"), [("planted", "id a, Bot v1, "), ("planted:formatting=1", "id b, Bot v2, ")]
)
def test_a_verdict_names_the_winner(tmp_path, monkeypatch, capsys, judge, winner):
    """Before and after the edit in one line; the edit is on the worse reply, whose slot is that of the prompt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text(CASE)

    line = last(capsys, judge, "--cases", "cases.jsonl", "--edit", "formatting.bullets_and_bold")

    before, after = line.split("; after ")
    assert "id a, Bot v1" in before
    assert winner in after
    assert line.endswith("changed.") is ("formatting" in judge)


@pytest.mark.parametrize("task", ["score", "rubric", "listwise", "label"])
def test_each_kind_of_verdict_is_named(capsys, task):
    """One case of the bundled ones, as it is and under an edit."""
    assert "-- verdict: " in last(capsys, f"planted:task={task}")
    assert last(capsys, f"planted:task={task}", "--edit", "authority.cite_book").startswith("As it is, ")
