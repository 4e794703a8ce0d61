"""`calm diagnose` as a person runs it: a judge, a plan, a record of a run, and what is refused."""

import json

import pytest

from calm.commands.cli import main
from tests.suites.gate import run_gate

JUDGE = '''
from collections import Counter
from random import Random

from calm.cases import bundled
from calm.core.case import digest

GOOD = {case.question: case[case.better].text for case in bundled("pairwise") if case.better != "tie"}
HARD = sorted(GOOD)[:4]
ASKED = Counter()


def judge(case):
    """Toss a coin for four questions, and be right about the others."""
    if case.question not in GOOD:
        return "tie"
    ASKED[case.question] += 1
    wrong = case.question in HARD and Random(digest(case.question, ASKED[case.question])).random() < 0.5
    return next(a.id for a in case.shown if (a.text == GOOD[case.question]) != wrong)


judge.quick = True
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a judge of Python code."""
    (tmp_path / "unsure.py").write_text(JUDGE, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "unsure", raising=False)
    return tmp_path


def test_a_judge_is_asked_and_its_unsure_cases_are_named(folder, capsys):
    """As text, as JSON and as a record, which hold the same names; the replies of a second run are new."""
    assert main(["diagnose", "unsure:judge", "--sample=240", "-o", "found.json"]) == 0
    text = capsys.readouterr().out
    record = json.loads((folder / "found.json").read_text())

    assert len(record["named"]) == 4
    assert all(f"case {one['name']}: the same words get different verdicts" in text for one in record["named"])
    assert "wrote found.json" in text
    assert main(["diagnose", "unsure:judge", "--sample=240", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in printed["named"]} == {one["name"] for one in record["named"]}


def test_the_plan_asks_nothing(folder, capsys):
    assert main(["diagnose", "unsure:judge", "--sample=20", "--plan"]) == 0
    assert "at least 160 calls" in (told := capsys.readouterr().out)
    assert "at most 640 calls" in told
    assert not (folder / ".calm").exists()


def test_a_cap_leaves_the_diagnosis_incomplete(folder, capsys):
    """Half of the asks are made: the status is 1, and the reason is there."""
    assert main(["diagnose", "planted:noise=0.05", "--sample=20", "--max-calls=80", "-o", "found.json"]) == 1
    assert "INCOMPLETE" in capsys.readouterr().out
    assert json.loads((folder / "found.json").read_text())["incomplete"]


def test_a_record_of_a_run_is_diagnosed_without_a_call(folder, capsys):
    """The clean asks of the controls are its repeats; with two of each case nothing can be named, and it says so."""
    suite = ("--pyargs", "calm.suites.test_consistency")
    run_gate("unsure:judge", folder, "--calm-sample=240", "--calm-repeats=40+1", "--calm-stopping=fixed", what=suite)
    assert main(["diagnose", "results.json"]) == 0
    told = capsys.readouterr().out

    assert told.count("\ncase ") == 4
    assert "question: " in told
    assert "no call was made" in told
    run_gate("planted:noise=0.1", folder, "--calm-sample=40", what=suite)
    assert main(["diagnose", "results.json"]) == 0
    assert "a case was asked up to" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--asks=1"], "--asks: expected a number from 2"),
        (["--sample=0"], "--sample: expected a number above 0"),
        (["--rate=0.7"], "--rate: expected a share"),
        (["--wrong=nan"], "--wrong: expected a share"),
        (["--tolerance=-1"], "--tolerance: expected a share"),
        (["--wordings=99"], "--wordings: expected a number from 0 to 12"),
        (["--paraphrases=none.json"], "none.json: "),
        (["-o", "unsure.py"], "unsure.py"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(folder, capsys, given, told):
    assert main(["diagnose", "unsure:judge", *given]) == 4
    assert told in capsys.readouterr().err


def test_what_holds_no_repeats_is_refused(folder, capsys):
    """A record without repeats, a record with a plan, and a file that is no record."""
    (folder / "other.json").write_text('{"schema": "x"}')
    assert main(["diagnose", "other.json"]) == 4
    assert main(["diagnose", "nowhere.json"]) == 4
    assert main(["diagnose", "other.json", "--plan"]) == 4
    assert "nothing is asked" in capsys.readouterr().err
