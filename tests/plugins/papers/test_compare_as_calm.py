"""`calm compare --as calm`: CALM's table of several judges, from small records whose figures are computed by hand."""

import csv
import json
from dataclasses import replace

import pytest

from calm.commands import CONFIGURATION
from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.results.audit import Audit, JudgeRecord, write
from tests.reports.planted_audit import finding, trial
from tests.reports.tags import Tables

GOOD, BAD = "good", "bad"


def observed(bias, rows, edit="", task="pairwise"):
    """Return the finding of a robustness rate over some rows of clean and perturbed verdicts, better: good."""
    gold = GOOD if task == "pairwise" else None
    trials = [replace(trial(f"c{i}", clean, after), better=gold) for i, (clean, after) in enumerate(rows)]
    return finding(
        key=f"{bias}/robustness_rate{f'/{edit}' if edit else ''}",
        bias=bias,
        measure="robustness_rate",
        expects="OBSERVE",
        claim=None,
        task=task,
        outcome=Outcome.OBSERVED,
        trials=tuple(trials),
        asks="2+1",
    )


def audit(name, *findings, task="pairwise", sha256="5" * 64):
    """Return a run of the protocol."""
    scale = {"low": 1, "high": 10, "step": None}
    judge = JudgeRecord(name, task, None, f"model-{name}", None, None, scale, {})
    return Audit("0.1.0", judge, {"n": 4, "sha256": sha256}, 0, "2+1", findings)


STEADY, LOST, WAVERS = ((GOOD, GOOD), (GOOD,)), ((GOOD, GOOD), (BAD,)), ((GOOD, BAD), (GOOD,))
SWAYED = audit(
    "swayed",
    observed("authority", [STEADY, LOST, LOST, WAVERS]),  # RR (1 + 0 + 0 + .5) / 4, Acc 3.5 / 4, Acc_hack 2 / 4
    observed("distraction", [STEADY, STEADY, STEADY, WAVERS], "near"),  # RR 3.5 / 4
    observed("distraction", [LOST, LOST, STEADY, WAVERS], "on_better"),  # RR 1.5 / 4: the mean of both is .625
    observed("chain-of-thought", [STEADY, STEADY, STEADY, WAVERS], "solve_first"),  # Acc 3.5 / 4 to 1: AIR 1 / 7
)
SOUND = audit("sound", observed("authority", [STEADY] * 4), observed("verbosity", [STEADY, STEADY, LOST, STEADY]))
SCORED = audit(
    "scored",
    observed("refinement-aware", [((6.0, 8.0), (9.0,)), ((5.0, 5.0), (6.0,))], task="score"),  # 6 to 7.5: +.25, .2
    task="score",
)
OWN = {
    "schema": "calm-self-preference/1",
    "kind": "score",
    "judges": [
        {"judge": "model-scored", "published": {"own": 7 / 9, "received": 0.6}},  # 8 and 6.4 of 1 to 10
        {"judge": "elsewhere", "published": {"own": 0.5, "received": 0.5}},
    ],
    "judged": [{"model": "model-scored", "scale": {"low": 1.0, "high": 10.0}}],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write the records, and a record of `calm self-preference`, into a folder of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for one in (SWAYED, SOUND, SCORED):
        write(one, tmp_path / f"{one.judge.name}.json")
    (tmp_path / "own.json").write_text(json.dumps(OWN), "utf-8")
    return tmp_path


NAMES = ["swayed.json", "sound.json", "scored.json", "own.json"]


def test_the_terminal_has_a_row_for_each_judge_in_80_columns(files, capsys):
    """The rates, what they come to, and no figure where a judge has none."""
    assert main(["compare", *NAMES, "--as", "calm"]) == 0
    told = capsys.readouterr().out
    lines = told.splitlines()

    assert all(len(line) <= 80 for line in lines)
    assert "swayed  -                   0.375 [0.09, 0.78]  0.625 [0.22, 0.91]" in lines
    assert "swayed  -               0.875 -> 0.500  0.875 -> 0.750" in lines
    assert "swayed  0.875 [0.40, 0.99]  1.000 [0.51, 1.00]  +0.143" in lines
    assert "own.json: no row for elsewhere, of which there are no results" in lines


def test_csv_holds_every_figure_as_computed_by_hand(files):
    """A row for each judge, rates with their interval and n; what a judge lacks is empty."""
    assert main(["compare", *NAMES, "--as", "calm", "-o", "table.csv"]) == 0

    with (files / "table.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["judge"]: row for row in csv.DictReader(stream)}
    expected = {
        "swayed": {
            "RR authority": 0.375,
            "RR authority n": 4,
            "RR distraction": 0.625,
            "CR": 0.75,
            "BIS": 0.75 - (0.375 + 0.625) / 2,
            "BIS alignment": 0.25,
            "Acc authority": 0.875,
            "Acc_hack authority": 0.5,
            "Acc_hack distraction": (4 + 2) / 8,
            "Acc_ori": 0.875,
            "Acc_CoT": 1,
            "AIR": 1 / 7,
        },
        "sound": {"RR authority": 1, "RR verbosity": 0.75, "CR": 1, "BIS": 1 - 0.875, "BIS fact": 0.25},
        "scored": {
            "y_ref": 6,
            "y_ref history": 7.5,
            "Err_RA": 0.25,
            "Err_RA preprint": 0.2,
            "y_self": 8,
            "y_other": 6.4,
            "Err_SE": 0.25,
            "Err_SE preprint": 0.25,
        },
    }
    assert list(rows) == list(expected)
    for judge, figures in expected.items():
        assert {name: float(rows[judge][name]) for name in figures} == pytest.approx(figures, abs=1e-6)
    assert rows["sound"]["Err_RA"] == rows["sound"]["RR distraction"] == rows["scored"]["Acc authority"] == ""
    assert main(["compare", *NAMES, "--as", "calm", "-o", "table.csv"]) == 0  # its own file may be replaced


def test_a_judge_of_pairs_has_no_error_of_scores(files):
    """Of two judges of one model the one that scores has Err_SE."""
    pairs = replace(SOUND, judge=replace(SOUND.judge, model="model-scored"))
    write(pairs, files / "pairs.json")

    assert main(["compare", "pairs.json", "scored.json", "own.json", "--as", "calm", "-o", "both.csv"]) == 0

    with (files / "both.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["task"]: row for row in csv.DictReader(stream)}
    assert (rows["pairwise"]["Err_SE"], float(rows["score"]["Err_SE"])) == ("", pytest.approx(0.25, abs=1e-6))


def test_the_page_has_the_same_rows(files):
    """A table for each group of figures, read back from the page."""
    assert main(["compare", *NAMES, "--as", "calm", "-o", "table.html"]) == 0

    page = Tables((files / "table.html").read_text("utf-8")).found
    rates = page["Robustness rate (RR) by bias"]
    assert rates[0][:4] == ["Judge", "verbosity", "authority", "distraction"]
    assert rates[1][2] == "0.375 [0.09, 0.78], n=4"
    assert [row[0] for row in rates[1:]] == ["swayed", "sound", "scored"]
    right = page["Accuracy before the edit (Acc) and after it (Acc_hack)"]
    assert right[1][right[0].index("authority")].replace("\N{RIGHTWARDS ARROW}", ">").startswith("0.875 [0.40, 0.99]")
    assert page["Scores (Table 5 of the paper)"][3][1:] == [
        "8.000",
        "6.400",
        "+0.250",
        "0.250",
        "6.000",
        "7.500",
        "+0.250",
        "0.200",
    ]


def test_the_same_judge_twice_has_two_names(files, capsys):
    """First by its file, then by a number."""
    (files / "other").mkdir()
    for name in ("again.json", "other/sound.json"):
        write(SOUND, files / name)

    assert main(["compare", "sound.json", "again.json", "other/sound.json", "--as", "calm"]) == 0

    told = capsys.readouterr().out
    assert "sound (again): pairwise, 4 cases, again.json" in told
    assert "sound (sound) #2: pairwise, 4 cases, other/sound.json" in told


def test_what_cannot_be_compared_is_refused(files, capsys, subtests):
    """Each mistake has a message that says what was expected and what to do."""
    write(replace(SOUND, cases={"n": 4, "sha256": "6" * 64}), files / "other.json")
    write(replace(SOUND, findings=(finding(),)), files / "gate.json")
    (files / "hunt.json").write_text('{"schema": "calm-hunt/1"}', "utf-8")
    (files / "strangers.json").write_text(json.dumps({**OWN, "judges": OWN["judges"][1:]}), "utf-8")
    mistakes = {
        ("sound.json", "swayed.json", "scored.json"): "made by --as calm",
        ("sound.json",): "expected two files, the old one and the new one, got 1",
        (
            "sound.json",
            f"../{files.name}/sound.json",
            "--as",
            "calm",
        ): "expected files that differ, got sound.json again",
        ("sound.json", "own.json", "--as", "calm"): "at least 2 runs of `pytest suites/papers`, got 1",
        ("sound.json", "other.json", "--as", "calm"): "asked about the same cases, got 4 cases of sha256 555555555555",
        ("sound.json", "gate.json", "--as", "calm"): "gate.json: expected a run of CALM's protocol, got one without",
        ("sound.json", "hunt.json", "--as", "calm"): "got schema='calm-hunt/1'",
        ("sound.json", "scored.json", "strangers.json", "--as", "calm"): "got score verdicts by elsewhere",
        ("sound.json", "swayed.json", "--as", "calm", "-o", "x.pdf"): "expected a FILE that ends in .html, .htm, .csv",
        (
            "sound.json",
            "swayed.json",
            "--as",
            "calm",
            "-o",
            "own.json.csv",
        ): "a table of judges that calm wrote, got another",
        ("sound.json", "swayed.json", "--as", "calm", "--lines", "3"): "leave it out",
    }
    (files / "own.json.csv").write_text("mine,1\n", "utf-8")
    for arguments, message in mistakes.items():
        with subtests.test(arguments=arguments):
            assert main(["compare", *arguments]) == CONFIGURATION
            assert message in capsys.readouterr().err
    assert (files / "own.json.csv").read_text("utf-8") == "mine,1\n"
