"""Replies that nobody can read, in each table: they are counted, and a figure that rests on none is no figure."""

import csv
import json
from io import StringIO

import pytest

from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.results import tabular
from calm.results.audit import read
from calm.results.compare import compare, render_text
from calm.results.reports import comparison, html, markdown, sarif
from tests.reports.tags import Tables
from tests.suites.gate import run_gate

CASES = 60
COLUMNS = 6
"""A row of the table of claims has more."""
NONE = "\N{EN DASH}"
JUDGES = '''
import re

from calm import Refused
from calm.core.case import digest


def _good(case):
    return max(case.answers, key=lambda answer: int(answer.text.split(".")[0].split()[-1])).id


def mute(case):
    """Refuses all."""
    return Refused("no")


def few(case):
    """Gives no verdict on a fortieth of the texts, each time; else the better answer."""
    text = "".join([case.question, *(answer.text for answer in case.answers)])
    return None if int(digest(text)[:8], 16) % 40 == 0 else _good(case)


def edited(case):
    """Gives no verdict where an answer has anything added."""
    plain = all(re.fullmatch("The number is [0-9]+. It is so.", answer.text) for answer in case.answers)
    return _good(case) if plain else None


def declines(case):
    """Refuses where the other one gives no verdict: of a judge that refuses, a run asks on."""
    return edited(case) or Refused("no")


for one in (mute, few, edited, declines):
    one.quick = True
'''


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The papers' suite on each judge, and the gate's suite on the one that an edit silences: results by name."""
    folder = tmp_path_factory.mktemp("unread")
    (folder / "silent.py").write_text(JUDGES, "utf-8")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for n in range(CASES):
            answers = [{"id": i, "text": f"The number is {w}. It is so."} for i, w in (("a", 2 * n + 7), ("b", n + 2))]
            case = {"id": f"c{n}", "question": f"Which number is greater, {n}?", "answers": answers, "better": "a"}
            stream.write(json.dumps(case) + "\n")
    papers = ("--pyargs", "calm.suites.papers", "-k", "authority")
    wanted = {name: (name, papers) for name in ("mute", "few", "edited")}
    wanted["gate"] = "declines", ("--pyargs", "calm.suites.test_authority")
    for name, (judge, what) in wanted.items():
        ran = run_gate(f"silent:{judge}", folder, "--calm-cases=cases.jsonl", what=what)
        assert ran.results["findings"], ran.output
        (folder / "results.json").rename(folder / f"{name}.json")
    return folder


def figures(folder, name):
    """Return CALM's figures of authority as the record holds them."""
    body = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return next(one for one in body["extras"]["calm_protocol"]["biases"] if one["bias"] == "authority")


def verdicts(folder, name):
    """Return the clean and the edited verdicts of each row, in codes."""
    audit = read(folder / f"{name}.json")
    finding = next(one for one in audit.findings if one.measure == "robustness_rate" and one.trials)
    return [(row.clean, row.perturbed) for row in finding.trials]


RATES = ("robustness_rate", "consistency_rate", "accuracy", "accuracy_hacked")


def test_a_judge_that_is_never_read_has_counts_and_no_figure(runs):
    """120 clean and 60 edited replies; no rate is 0."""
    found = figures(runs, "mute")

    assert found["unread"] == {"clean": {"count": 120, "of": 120}, "perturbed": {"count": 60, "of": 60}}
    assert not found.keys() & set(RATES)


def test_a_judge_that_an_edit_silences_has_figures_of_the_clean_arm_alone(runs):
    """What compares both arms, or is of the edited one, is no figure."""
    found = figures(runs, "edited")

    assert found["unread"] == {"clean": {"count": 0, "of": 120}, "perturbed": {"count": 60, "of": 60}}
    assert found["consistency_rate"]["value"] == found["accuracy"]["value"] == 1.0
    assert not found.keys() & {"robustness_rate", "accuracy_hacked"}


def test_two_unread_replies_are_not_equal_verdicts(runs):
    """They leave RR and CR; one beside a verdict is another verdict, and an unread reply is not right."""
    found, rows = figures(runs, "few"), verdicts(runs, "few")
    silent = "!unreadable"
    pairs = [(u, v) for clean, edited in rows for u in clean for v in edited if (u, v) != (silent, silent)]
    repeats = [clean for clean, _ in rows if clean != (silent, silent)]
    by_case = [clean[0] == edited[0] for clean, edited in rows if (clean[0], edited[0]) != (silent, silent)]

    counts = [sum(one == silent for row in rows for one in row[arm]) for arm in (0, 1)]
    assert 0 < counts[0] <= 6
    assert [one["count"] for one in found["unread"].values()] == counts
    assert found["robustness_rate"]["n"] == len(by_case) == len(pairs) / 2
    assert found["robustness_rate"]["value"] == pytest.approx(sum(u == v for u, v in pairs) / len(pairs), abs=1e-6)
    assert found["consistency_rate"] | {"low": 0, "high": 0} == {"value": 1.0, "low": 0, "high": 0, "n": len(repeats)}
    assert found["accuracy"]["value"] == pytest.approx(1 - counts[0] / 120, abs=1e-6)


def test_a_table_of_judges_has_a_row_for_each_and_nothing_where_nothing_was_read(runs, monkeypatch, capsys):
    """The CSV file has empty cells and counts, the terminal dashes."""
    monkeypatch.chdir(runs)

    assert main(["compare", "mute.json", "few.json", "edited.json", "--as", "calm", "-o", "table.csv"]) == 0
    told = capsys.readouterr().out

    mute, _, edited = csv.DictReader(StringIO((runs / "table.csv").read_text("utf-8")))
    assert {mute[name] for name in ("RR authority", "CR", "Acc authority", "Acc_hack authority", "BIS")} == {""}
    assert (mute["unread clean authority"], mute["unread edited authority"]) == ("120", "60")
    assert (edited["Acc authority"], edited["Acc_hack authority"], edited["unread edited"]) == ("1.0", "", "60")
    assert "1.000 -> -" in told


def test_a_comparison_counts_them_in_both_runs(runs):
    """A figure of an arm that nobody can read is compared with nothing."""
    old, new = (read(runs / f"{name}.json") for name in ("few", "edited"))
    rate = next(one.robustness_rate for one in old.findings if one.measure == "robustness_rate" and one.trials)

    found = compare(old, new)
    moved = next(one for one in found.moved if one.key == "authority/robustness_rate")

    assert moved.difference is None
    assert (moved.old.value, moved.new.value) == (pytest.approx(rate, abs=1e-6), None)
    before = sum(edited == ("!unreadable",) for _, edited in verdicts(runs, "few"))
    assert [side["perturbed"].count for side in moved.unread] == [before, 60]
    assert found.unread[1] == {"clean": tabular.Unread(0, 120), "perturbed": tabular.Unread(60, 60)}
    assert f"{rate:.2f} -> -" in render_text(found, 300)
    assert not any(one.way for one in found.moved)
    rows = Tables(comparison.render(found, old, new)).found["What moved without a clear direction"]
    assert any(NONE in row and "now 0 of 120 clean, 60 of 60 edited" in row[-1] for row in rows)


def test_every_report_of_the_gate_counts_them_and_shows_no_figure_of_them(runs):
    """The suite of authority on a judge that declines whatever is edited: of its claims all edited replies."""
    audit = read(runs / "gate.json")
    silenced = {one.key: one for one in audit.findings if any(row.perturbed for row in one.trials)}
    counts = {key: tabular.unread(one.trials)["perturbed"] for key, one in silenced.items()}

    assert len(silenced) == 3
    assert all(one.count == one.of > 0 for one in counts.values())
    assert not [key for key, one in silenced.items() if one.outcome is Outcome.PASS]
    frame = {row["key"]: row for row in tabular.FINDINGS.rows(audit) if row["key"] in silenced}
    assert {key: row["unread_perturbed"] for key, row in frame.items()} == {k: one.count for k, one in counts.items()}
    assert {row[name] for row in frame.values() for name in ("value", "low", "high", "robustness_rate")} == {None}
    head, *rows = [row for row in Tables(html.render(audit)).found[""] if len(row) > COLUMNS]
    places = [next(place for place, cell in enumerate(head) if cell.startswith(name)) for name in ("Measured", "RR")]
    unread = next(place for place, cell in enumerate(head) if cell.startswith("Unread"))
    assert {row[place] for row in rows for place in places} == {NONE}
    assert sorted(int(row[unread].split(" / ")[-1]) for row in rows) == sorted(one.count for one in counts.values())
    table = markdown.render(audit).split("Every claim")[1].splitlines()[4 : 4 + len(silenced)]
    assert all(f" / {one.count} |" in line for one, line in zip(counts.values(), table, strict=True))
    assert {line.split(" | ")[2] for line in table} == {"-"}
    log = {one["properties"]["key"]: one["properties"] for one in sarif.to_sarif(audit)["runs"][0]["results"]}
    assert {key: log[key]["unread"]["perturbed"] for key in counts} == {key: one.count for key, one in counts.items()}
    assert {log[key].get("value") for key in counts} == {None}
