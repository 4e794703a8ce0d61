"""Files that are handed over as cases and are none: the message names the command that makes cases of them."""

import json

import pytest

from calm import ConfigError
from calm.cases import read_files
from calm.gate.from_spec import cases_from, judge_from

SCORED = {"id": "c", "question": "q", "answers": [{"id": "a", "text": "x"}], "scores": {"a": 11}}


def test_a_table_points_to_the_import(tmp_path, monkeypatch):
    """With the whole command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my tickets.csv").write_text("question,answer\nq,a\n")
    with pytest.raises(
        ConfigError, match=r"my tickets\.csv: it holds no cases in JSON Lines.+import 'my tickets.csv' -o cases"
    ):
        read_files(["my tickets.csv"])


def test_a_gold_score_beyond_the_scale_is_refused(tmp_path):
    """Nothing could be held against it; one on the scale is taken."""
    path = tmp_path / "cases.jsonl"
    judge = judge_from("planted:task=score")
    path.write_text(json.dumps(SCORED), "utf-8")

    with pytest.raises(ConfigError, match=r"1 to 10, got 11 in case 'c' \(1 of 1 cases\)"):
        cases_from([str(path)], judge)

    path.write_text(json.dumps({**SCORED, "scores": {"a": 10}}), "utf-8")
    assert cases_from([str(path)], judge)
