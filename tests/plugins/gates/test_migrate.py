"""`calm migrate`: the mark of a gate for another judge, from what both said of the same cases."""

import json
from random import Random

import numpy as np
import pytest

from calm.commands.cli import main
from calm.plugins.gates.linking import LEAST_ALIKE
from tests.lanes import slow
from tests.plugins.gates.planted import table

FIVE, TEN = np.arange(1.0, 6.0), np.arange(1.0, 11.0)


def said(capsys, *words):
    """Return the exit status of the command, and its record."""
    status = main(["migrate", *words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def two_judges(rng, cases, asks, noise=0.4):
    """Return the numbers of the scores of a judge of 1 to 5, and of one of 1 to 10, whose 7 is a 4."""
    places = [rng.gauss(3.2, 1.1) for _ in range(cases)]
    old = [[min(4, max(0, round(x + rng.gauss(0, noise)) - 1)) for _ in range(asks)] for x in places]
    new = [[min(9, max(0, round(2 * x - 0.5 + rng.gauss(0, noise)) - 1)) for _ in range(asks)] for x in places]
    return old, new


def test_the_marks_of_a_judge_whose_scores_are_doubled_are_doubled(tmp_path, capsys):
    """
    By hand: a judge that gives each case exactly twice the score passes the same cases at twice the mark.

    The mean of 3.8 becomes 7.6, with the same cases green and red, and no verdict differs.
    """
    scores = np.array([case % 5 for case in range(50)])
    one = table(tmp_path / "one.csv", FIVE, [[place] * 2 for place in scores])
    two = table(tmp_path / "two.csv", TEN, [[2 * place + 1] * 2 for place in scores])

    status, marks = said(capsys, one, two, "--pass-mark", "4", "--pass-at-least", "0.3")
    _, mean = said(capsys, one, two, "--mean-at-least", "3.8")

    assert (status, marks["mark"], marks["low"], marks["high"]) == (0, 8, 8, 8)
    assert (marks["old_rate"], marks["rate"], marks["differ"]) == pytest.approx((0.4, 0.4, 0))
    assert mean["mark"] == pytest.approx(7.6)
    assert (mean["low"], mean["high"]) == pytest.approx((7.6, 7.6))


def test_how_many_verdicts_differ_by_hand(tmp_path, capsys):
    """
    Of 10 cases 4 are passed by both judges, 4 by none, and 2 by the old one in half of its asks: .1 differ.

    The old judge differs from itself in 2/10 times 2 x .5 x .5 x 2/1 = .2; the new one never does.
    """
    old = [[1, 1]] * 4 + [[0, 1]] * 2 + [[0, 0]] * 4
    new = [[1, 1]] * 4 + [[1, 1]] * 2 + [[0, 0]] * 4
    paths = [table(tmp_path / f"{n}.csv", np.array([0.0, 1.0]), rows) for n, rows in enumerate((old, new))]

    _, found = said(capsys, *paths, "--pass-at-least", "0.4")

    assert (found["what"], found["differ"]) == ("share", pytest.approx(0.1))
    assert (found["old_noise"], found["noise"]) == pytest.approx((0.2, 0))


def test_a_gate_on_scores_moves_to_a_judge_that_passes_or_fails_itself(tmp_path, capsys):
    """By hand: the new judge passes where the old one gives 4 or 5, so the share of .3 stays .3, with no pass mark."""
    scores = [case % 5 for case in range(50)]
    one = table(tmp_path / "one.csv", FIVE, [[place] * 2 for place in scores])
    two = table(tmp_path / "two.csv", np.array([0.0, 1.0]), [[int(place >= 3)] * 2 for place in scores])

    status, found = said(capsys, one, two, "--pass-mark", "4", "--pass-at-least", "0.3")

    assert (status, found["what"], found["mark"]) == (0, "share", pytest.approx(0.3))
    assert (found["old_rate"], found["rate"], found["differ"]) == pytest.approx((0.4, 0.4, 0))
    assert found["rule"]["pass_mark"] is None


@pytest.mark.parametrize("seed", [0, *map(slow, range(1, 20))])
def test_the_same_systems_pass(tmp_path, capsys, seed):
    """
    120 cases by both judges: what passes of 4,000 other cases at the new mark is what passed at the old one.

    A 4 of 5 stands for places from 3.5 on, and so does a 7 of 10. A step of the new scale holds .15 of the cases, so
    another mark would need shares that differ by .07; their standard error between the judges is .014. P < 1e-6.
    """
    rng = Random(seed)
    old, new = two_judges(rng, 120, 3)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, new)

    status, found = said(capsys, *paths, "--pass-mark", "4", "--pass-at-least", "0.3")

    more_old, more_new = (np.array(rows) for rows in two_judges(rng, 4000, 1))
    passed = (FIVE[more_old] >= 4).mean(), (TEN[more_new] >= found["mark"]).mean()
    assert (status, found["mark"]) == (0, 7)
    assert found["low"] <= 7 <= found["high"]
    assert passed[0] == pytest.approx(passed[1], abs=0.05)
    assert found["old_risk"]["low"] <= found["old_risk"]["value"] <= found["old_risk"]["high"]


@pytest.mark.parametrize("seed", [0, *map(slow, range(1, 20))])
def test_judges_that_do_not_rank_alike_have_no_mark(tmp_path, capsys, seed):
    """
    Exit status 1: the second judge scores by chance.

    False alarms: the correlation of 120 independent cases has a standard error of .09; for another end it must reach
    .37, which is 4 of them: P < 4e-5 for a seed. The seeds are fixed: at the first 20 all end so.
    """
    rng = Random(seed)
    old, new = two_judges(rng, 120, 3)
    rng.shuffle(new)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, new)

    status, found = said(capsys, *paths, "--pass-mark", "4")

    assert (status, found["mark"], found["outcome"]) == (1, None, "FAIL")
    assert found["ranks"]["alike"]["high"] < LEAST_ALIKE


def test_a_judge_turned_over_ranks_in_the_opposite_way(tmp_path, capsys):
    """It says so."""
    old, new = two_judges(Random(1), 80, 2)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, 9 - np.array(new))

    assert main(["migrate", *paths, "--mean-at-least", "3"]) == 1
    told = capsys.readouterr().out
    assert "opposite ways" in " ".join(told.split())
    assert max(len(line) for line in told.splitlines() if str(tmp_path) not in line) <= 80


def test_noise_widens_the_bounds_of_how_alike_the_judges_rank(tmp_path, capsys):
    """By hand: the noise takes from the correlation and from both its bounds the same part."""
    old, new = two_judges(Random(2), 40, 2, noise=0.9)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, new)

    ranks = said(capsys, *paths, "--mean-at-least", "3")[1]["ranks"]

    low = np.tanh(np.arctanh(ranks["value"]) - 1.645 * np.sqrt((1 + ranks["value"] ** 2 / 2) / 37))
    assert ranks["most"] < 0.95
    assert ranks["alike"]["low"] == pytest.approx(low / ranks["most"], abs=1e-3)


def test_few_cases_cannot_tell_whether_the_judges_rank_alike(tmp_path, capsys):
    """
    Exit status 4, with the mark all the same.

    By hand: 6 cases of which the second judge swaps each two neighbours have a correlation of 1 - 6 * 6 / 210 = .829,
    and the lower bound tanh(atanh .829 - 1.645 sqrt((1 + .829^2 / 2) / 3)) = .083, below .5.
    """
    old, new = ([[place] * 2 for place in places] for places in ((0, 1, 2, 3, 4, 5), (1, 0, 3, 2, 5, 4)))
    paths = table(tmp_path / "old.csv", TEN, old), table(tmp_path / "new.csv", TEN, new)

    status, found = said(capsys, *paths, "--mean-at-least", "3")

    assert (status, found["outcome"]) == (4, "UNDECIDED")
    assert found["mark"] is not None
    assert found["ranks"]["value"] == pytest.approx(0.829, abs=1e-3)
    assert found["ranks"]["alike"]["low"] == pytest.approx(0.083, abs=2e-3)


def test_one_verdict_on_each_case_gives_a_mark_and_no_risk(tmp_path, capsys):
    """The noise is not known."""
    old, new = two_judges(Random(3), 120, 1)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, new)

    status, found = said(capsys, *paths, "--mean-at-least", "3")

    assert (status, found["old_risk"], found["risk"]) == (0, None, None)


def test_both_judges_may_stand_in_one_table(tmp_path, capsys):
    """`--new-map` names the column of the second one."""
    old, new = two_judges(Random(4), 100, 1)
    path = tmp_path / "both.csv"
    lines = [f"c{n},{a[0] + 1},{b[0] + 1}" for n, (a, b) in enumerate(zip(old, new, strict=True))]
    path.write_text("\n".join(["case,old,new", *lines]))

    words = ["--map", "score=old", "--new-map", "score=new", "--mean-at-least", "3"]
    status, found = said(capsys, str(path), str(path), *words)

    assert status == 0
    assert found["mark"] == pytest.approx(5.5, abs=0.5)


def test_judges_of_different_tasks_are_refused(tmp_path, capsys, monkeypatch):
    """One scores an answer, the other prefers one of two: no mark of the first means anything for the second."""
    monkeypatch.chdir(tmp_path)
    for task in ("score", "pairwise"):
        main(["audit", f"planted:task={task}", "--sample", "6", "-o", task, "--", "-k", "consistency"])
    capsys.readouterr()

    assert main(["migrate", "score", "pairwise", "--mean-at-least", "5"]) == 4
    assert "different tasks" in capsys.readouterr().err
    assert main(["gate-risk", "score", "pairwise"]) == 4
    assert "different tasks" in capsys.readouterr().err


def test_a_pass_mark_has_no_likeness_where_the_new_judge_passes_or_fails_itself(tmp_path, capsys):
    """Without a share there is nothing to carry over: it is refused with what to add."""
    scores = [case % 5 for case in range(20)]
    one = table(tmp_path / "one.csv", FIVE, [[place] * 2 for place in scores])
    two = table(tmp_path / "two.csv", np.array([0.0, 1.0]), [[int(place >= 3)] * 2 for place in scores])

    assert main(["migrate", one, two, "--pass-mark", "4"]) == 4
    assert "--pass-at-least" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words", "about"),
    [
        (lambda rows: rows[:-5], ["--pass-mark", "4"], "5 only in "),
        (lambda rows: [[4, 4]] * len(rows), ["--pass-mark", "4"], "expected scores that differ between cases"),
        (lambda rows: rows, [], "expected a mark to carry over"),
        (lambda rows: rows, ["--pass-at-least", "0.9"], "--pass-mark X"),
        (lambda rows: rows, ["--pass-mark", "9"], "--pass-mark: expected a score on the scale"),
        (lambda rows: rows, ["--mean-at-least", "9"], "--mean-at-least: expected a mean on the scale"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, capsys, change, words, about):
    """In one paragraph: what was expected, what came, and what to do."""
    old, new = two_judges(Random(5), 40, 2)
    paths = table(tmp_path / "old.csv", FIVE, old), table(tmp_path / "new.csv", TEN, change(new))

    status = main(["migrate", *paths, *words])

    told = capsys.readouterr()
    assert (status, told.out) == (4, "")
    assert about in told.err
    assert len(told.err.strip().splitlines()) == 1
