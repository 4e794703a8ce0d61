"""`calm report --hunt`: what hunts found, in the page of a run."""

import json

import jsonschema
import pytest

from calm.commands.cli import main
from calm.results.audit import read, write
from tests.plugins.search.test_hunt_report import found, record
from tests.reports.planted_audit import sample
from tests.reports.test_schema import SCHEMA


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the results of a run and their texts."""
    monkeypatch.chdir(tmp_path)
    write(sample(), tmp_path / "results.json")
    return tmp_path


def hunted(folder, name="hunt.json", **changed):
    """Write the record of a hunt of the planted audit's judge."""
    (folder / name).write_text(json.dumps(record(found(), **changed)), "utf-8")


def test_a_hunt_stands_in_the_page(folder):
    """`--hunt` puts what a hunt found into the report; it may be given several times."""
    hunted(folder)
    hunted(folder, "question.json", where="question")

    assert main(["report", "results.json", "--hunt", "hunt.json", "--hunt", "question.json"]) == 0

    page = (folder / "report.html").read_text("utf-8")
    assert "The smallest texts that flip the judge" in page
    assert page.index("Hunt <bdi>in the answer") < page.index("Hunt <bdi>in the question")


def test_a_hunt_is_kept_in_the_record(folder):
    """As JSON it is one of the extras, so that a page made from it later has it."""
    hunted(folder)

    assert main(["report", "results.json", "--hunt", "hunt.json", "-o", "both.json"]) == 0

    jsonschema.validate(json.loads((folder / "both.json").read_text("utf-8")), SCHEMA)
    assert read(folder / "both.json").extras["hunt"] == [record(found())]


def test_a_hunt_of_another_judge_is_refused(folder, capsys):
    """It says in one paragraph whose hunt was expected and whose came, and nothing is written."""
    hunted(folder, judge="other-judge", fingerprint="ab" * 32)

    assert main(["report", "results.json", "--hunt", "hunt.json"]) == 4

    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "support-judge (pairwise, fingerprint 9f1c9f1c9f1c9f1c)" in said
    assert "other-judge (pairwise, fingerprint abababababababab)" in said
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "calm-results/2"}', "{"])
def test_what_is_no_record_of_a_hunt_is_refused(folder, capsys, text):
    """An empty file, a list, another record and half a file are named with what was expected."""
    (folder / "hunt.json").write_text(text, "utf-8")

    assert main(["report", "results.json", "--hunt", "hunt.json"]) == 4

    assert "hunt.json" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--texts", "none"], ["-o", "a.sarif"], ["-o", "a.md"]])
def test_a_hunt_is_not_lost_without_a_word(folder, capsys, wrong):
    """Where it could not be shown, `--hunt` is refused."""
    hunted(folder)

    assert main(["report", "results.json", "--hunt", "hunt.json", *wrong]) == 4

    assert "--hunt" in capsys.readouterr().err
