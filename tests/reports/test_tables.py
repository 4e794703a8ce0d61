"""Trials as CSV and Parquet: a row for each case, arm and ask, nothing lost, and no formula."""

import csv
import json
import re
import sys
from dataclasses import replace
from io import StringIO

import pyarrow.parquet
import pytest

from calm.core.releases import install
from calm.errors import ConfigError
from calm.results.reports.tables import COLUMNS, neutral, render_csv, rows, write_csv, write_parquet
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, sample, trial

MIXED = trial("c1", [7.0, "!unreadable"], [{"c1": True, "c2": None}, [["a"], ["b", "c"]]], control=["tie", "!refused"])
MIXED = replace(MIXED, pilot="good", inert=("tie",), cluster="q", slots=(("a", "b"), ("b", "a")))


def parsed(text):
    """Return the rows of a CSV file."""
    return list(csv.DictReader(StringIO(text)))


def test_there_is_a_row_for_each_ask():
    """Two hundred cases with four and two asks are 1200 rows."""
    of_authority = [r for r in parsed(render_csv(sample())) if r["bias"] == "authority"]

    assert len(of_authority) == 200 * (4 + 2)
    assert {r["arm"] for r in of_authority} == {"clean", "perturbed"}


def test_findings_with_the_same_trials_share_their_rows():
    """A case is not counted twice because two claims rest on it."""
    assert parsed(render_csv(sample()))[0]["keys"] == "authority/gain/rotation authority/net_robustness/rotation"


def test_findings_with_other_trials_do_not():
    """A claim that was topped up has rows of its own."""
    two = (
        finding(trials=(trial("c", ["good"], ["bad"]),)),
        finding(key="x/gain", trials=(trial("c", ["good"] * 2, ["bad"]),)),
    )

    assert [r["keys"] for r in rows(empty(findings=two))] == ["authority/net_robustness"] * 2 + ["x/gain"] * 3


def test_each_kind_of_verdict_has_its_form():
    """Scores are numbers, criteria and rankings JSON, and a pilot is ask 0."""
    found = [
        (r["arm"], r["ask"], r["kind"], r["verdict"], r["score"])
        for r in rows(empty(findings=(finding(trials=(MIXED,)),)))
    ]

    assert found == [
        ("pilot", 0, "preferred", "good", None),
        ("clean", 1, "score", "7.0", 7.0),
        ("clean", 2, "unreadable", "!unreadable", None),
        ("inert", 1, "tie", "tie", None),
        ("perturbed", 1, "criteria", '{"c1": true, "c2": null}', None),
        ("perturbed", 2, "ranking", '[["a"], ["b", "c"]]', None),
        ("control", 1, "tie", "tie", None),
        ("control", 2, "refused", "!refused", None),
    ]


def test_a_row_names_the_question_that_its_case_is_about():
    """A case that shares it with no other is a question of its own."""
    two = finding(trials=(MIXED, trial("c2", ["good"], ["bad"])))

    assert {(r["case"], r["cluster"]) for r in rows(empty(findings=(two,)))} == {("c1", "q"), ("c2", "c2")}


def test_no_cell_is_a_formula(subtests):
    """No cell begins as a formula would, and a row stays a row."""
    for text in [t for t in HOSTILE if len(t) < 1000]:
        with subtests.test(text=text):
            shown = render_csv(hostile_audit(text))

            found = parsed(shown)
            assert len(found) == len(list(rows(hostile_audit(text))))
            assert all(None not in row for row in found)
            cells = [cell for row in found for cell in row.values() if cell]
            assert not [
                cell for cell in cells if cell.lstrip()[0] in "=+-@\uff1d\uff0b\uff0d\uff20" or cell[0] in "\t\r\n"
            ]
            assert "\x00" not in shown
            assert "\x1b" not in shown


def test_a_negative_score_stays_a_number():
    """What calm itself writes as a number is one."""
    found = parsed(render_csv(empty(findings=(finding(trials=(trial("c", [-2.5]),)),))))[0]

    assert float(found["score"]) == -2.5
    assert found["verdict"] == "'-2.5"


def test_a_harmless_text_is_left_alone():
    """Only what a spreadsheet would take for a formula gets an apostrophe."""
    assert [neutral(t) for t in ("fact-001", "a=b", "", "1+1")] == ["fact-001", "a=b", "", "1+1"]


def test_parquet_holds_the_same_rows(tmp_path):
    """The file has the columns in their kinds, and texts as they are."""
    write_parquet(sample(), tmp_path / "out" / "trials.parquet")

    table = pyarrow.parquet.read_table(tmp_path / "out" / "trials.parquet")
    assert table.to_pylist() == list(rows(sample()))
    assert {f.name: str(f.type) for f in table.schema} == COLUMNS
    beside = {"trials.parquet", *(f"trials.{name}.parquet" for name in ("findings", "cases", "flips"))}
    assert {p.name for p in (tmp_path / "out").iterdir()} == beside


def test_parquet_takes_any_text(tmp_path, subtests):
    """Half a character becomes an escape; everything else is kept."""
    for text in HOSTILE:
        with subtests.test(text=text):
            write_parquet(hostile_audit(text), tmp_path / "t.parquet")

            found = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()
            assert found[0]["edit"] == text.encode("utf-8", "backslashreplace").decode()


def test_an_audit_without_trials_is_a_table_without_rows(tmp_path):
    """The head is there all the same."""
    write_csv(empty(), tmp_path / "t.csv")
    write_parquet(empty(), tmp_path / "t.parquet")

    assert (tmp_path / "t.csv").read_text("utf-8") == ",".join(COLUMNS) + "\n"
    assert pyarrow.parquet.read_table(tmp_path / "t.parquet").num_rows == 0


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(ConfigError, match=re.escape(install("parquet"))):
        write_parquet(sample(), tmp_path / "t.parquet")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    """The message names it."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot be written"):
        write_parquet(sample(), tmp_path / "file" / "t.parquet")


def test_trials_can_be_made_again_from_the_table():
    """The verdicts of every case are in the rows, in their order."""
    one = sample().findings[0]
    found = {}
    for row in parsed(render_csv(empty(findings=(one,)))):
        found.setdefault((row["case"], row["arm"]), []).append(
            json.loads(row["verdict"]) if row["kind"] in ("score", "criteria", "ranking") else row["verdict"]
        )

    assert {(t.case, "perturbed"): list(t.perturbed) for t in one.trials}.items() <= found.items()
    assert {(t.case, "clean"): list(t.clean) for t in one.trials}.items() <= found.items()
