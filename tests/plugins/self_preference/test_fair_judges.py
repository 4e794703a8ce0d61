"""A judge that says exactly the truth, as its peers do: a pull and an excess of 0 with honest bounds, no accusation."""

import json
import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest

from benchmarks.fair_judges import PLAIN, Setting, simulated
from calm.cases.lines import line
from calm.commands import cli
from calm.core.case import TIE, Answer, Case
from calm.core.claims import Claim, Outcome
from calm.core.verdict import Preferred, Tie
from calm.experiment.crossing import Judgment
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.rubric import RubricTable
from calm.plugins.self_preference.scores import ScoreTable
from calm.plugins.self_preference.tables import decide_on

NAMES = ("ada", "bea", "cid")
FAMILIES = {name: name for name in NAMES}
KINDS = ("pairwise", "score", "rubric")
LIMITS = {"pairwise": 0.15, "score": 0.15, "rubric": 0.08}
ENOUGH, FEW = 80, {"pairwise": 20, "score": 20, "rubric": 36}
"""Questions that suffice for the limits of the suite, and that do not."""


def perfect(kind, n, *, lenient=0):
    """
    Return the verdicts of three judges on n questions, all the truth; `lenient` points are added to all scores.

    In each question two of the three answers are equally good.
    """
    rng = Random(n)
    places, items = range(3), tuple(map(str, range(n)))
    worth = np.array([rng.sample((1.0, 2.0, 2.0), 3) for _ in range(n)]).T
    grid = Grid(NAMES, NAMES, FAMILIES)
    if kind == "score":
        said = np.repeat(worth[None] + lenient, 3, axis=0)
        return Tables("score", FAMILIES, scores=ScoreTable(grid, items, said, 1.0, 5.0, worth))
    if kind == "rubric":
        truth = np.array([rng.sample([0, 1] * (n // 2), n) for _ in NAMES], dtype=np.int8)
        said = np.repeat(truth[None], 3, axis=0)
        table = RubricTable(grid, items, items, np.arange(n), said, truth, np.ones(n))
        return Tables("rubric", FAMILIES, rubrics=table)
    judged = []
    for item in range(n):
        answers = tuple(Answer(name, f"{name} {item}", author=name) for name in NAMES)
        for a, b in ((a, b) for a in places for b in places if a != b):
            better = {1: NAMES[a], 0: TIE, -1: NAMES[b]}[int(np.sign(worth[a, item] - worth[b, item]))]
            said = Tie() if better == TIE else Preferred(better)
            case = Case(
                f"{item}{min(a, b)}{max(a, b)}{'ab'[a > b]}",
                f"question {item}",
                (answers[min(a, b)], answers[max(a, b)]),
                better=better,
                tags={"item": str(item)},
            ).present(order=(NAMES[a], NAMES[b]))
            judged += [Judgment(name, case, said) for name in NAMES]
    return Tables("pairwise", FAMILIES, pairs=tuple(judged))


@pytest.mark.parametrize("kind", KINDS)
def test_a_perfect_judge_passes_where_the_questions_suffice(kind):
    """Its pull is 0; the bound shrinks with the number of questions, and below enough of them it is UNDECIDED."""
    limit, widths = LIMITS[kind], {}
    for n, outcome in ((FEW[kind], Outcome.UNDECIDED), (ENOUGH, Outcome.PASS), (150, Outcome.PASS)):
        found = decide_on(perfect(kind, n), "ada", Claim("own_pull", "<=", limit), 0)
        assert (found.measure, found.outcome) == ("own_pull", outcome), (n, found)
        assert found.estimate.value == pytest.approx(0, abs=1e-9)
        assert found.estimate.low < 0 < found.estimate.high
        widths[n] = found.estimate.high
    assert widths[FEW[kind]] > limit > widths[ENOUGH] > widths[150] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_of_a_perfect_judge_is_there(kind):
    """Means, and each corrected figure with a bound on both sides of what a fair judge has; none is "not estimated"."""
    for lenient in (0, 1) if kind == "score" else (0,):
        [row, *_] = perfect(kind, ENOUGH, lenient=lenient).report(0).rows

        assert {"own_pull", "self_preference_excess"} <= row.corrected.keys(), row.reasons
        for name, found in row.corrected.items():
            fair = 1.0 if "ratio" in name else 0.0
            assert found.value == pytest.approx(fair, abs=1e-9), name
            assert found.low < fair < found.high, name
        if kind == "score":
            worth = perfect(kind, ENOUGH).scores.truth + lenient
            assert row.published["own"] == pytest.approx(worth[0].mean())
            assert row.published["received"] == pytest.approx(row.published["own"])
            assert row.published["given"] == pytest.approx(worth[1:].mean())
            assert row.published["p_received"] == 1
        elif kind == "pairwise":
            assert row.published["gap"] == 0
        else:
            assert row.published["mra"] == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("worth", [1.0, -1.0])
def test_a_fair_deterministic_judge_with_noisy_peers_is_not_accused(kind, worth):
    """Its model writes by far the best answers, or by far the worst; 20 worlds of 100 questions each."""
    assert simulated(kind, Setting(f"exact, worth {worth}", 0.0, PLAIN, worth), 20, 100).fails == 0


JUDGES = """
def judge(name):
    def judged(case):
        return int(case.answers[0].text.split()[-1])
    judged.task, judged.name, judged.quick, judged.scale = "score", name, True, {"low": 1, "high": 5}
    return judged

ada, bea, cid = map(judge, ("ada", "bea", "cid"))
"""


def test_the_commands_say_so_of_judges_in_python(tmp_path, monkeypatch, capsys):
    """Three exact judges and 80 scored questions: means, a pull of 0 with its bound, and PASS from the suite."""
    worth = perfect("score", ENOUGH).scores.truth.astype(int).T.tolist()
    cases = [
        Case(
            f"{item}-{name}", f"question {item}", (Answer("x", f"worth {points}", author=name),), scores={"x": points},
            tags={"item": str(item)},
        )
        for item, row in enumerate(worth)
        for name, points in zip(NAMES, row, strict=True)
    ]  # fmt: skip
    (tmp_path / "answers.jsonl").write_text("".join(map(line, cases)), "utf-8")
    (tmp_path / "exact.py").write_text(JUDGES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    given = [f"--family={name}={name}" for name in NAMES]
    judges = [f"exact:{name}" for name in NAMES]

    status = cli.main(["self-preference", *judges, "--cases=answers.jsonl", "-o", "out.json", *given])

    told, body = capsys.readouterr().out, json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert status == 0, told
    assert "none: " not in told
    [ada, *_] = body["judges"]
    assert ada["published"]["own"] == pytest.approx(np.mean([row[0] for row in worth]))
    found = ada["corrected"]["own_pull"]
    assert found["value"] == pytest.approx(0, abs=1e-9)
    assert -0.15 < found["low"] < 0 < found["high"] < 0.15
    options = ["--calm-cases=answers.jsonl", "--calm-peers=out.json", "--calm-results=results.json"]
    command = ["-q", "-p", "no:cacheprovider", "--pyargs", "calm.suites.test_self_preference", *options]
    families = f"--calm-families={','.join(f'{name}={name}' for name in NAMES)}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--calm-judge={judges[0]}", *command, families],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    findings = json.loads((tmp_path / "results.json").read_text("utf-8"))["findings"]
    assert {f["outcome"] for f in findings} == {"PASS"}, done.stdout
