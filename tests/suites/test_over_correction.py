"""Over-correction: a judge that fails right answers, even if only where it must give reasons, is red."""

import json

import pytest

from calm.cases import bundled
from tests.inside import run_inside
from tests.lanes import one_in

CASES = {case.id: case.label for case in bundled("label")}
SEEDS = [(task, seed) for seed in range(10) for task in ("label", "score")]


def run(folder, spec, *options):
    """Return the exit status of the suite on a planted judge, what it wrote, and its findings."""
    results = folder / "results.json"
    where = (f"--calm-judge=planted:{spec}", f"--calm-results={results}", f"--rootdir={folder}")
    usual = ("--calm-cache=off", "-q", "--tb=no", "-p", "no:cacheprovider")
    done = run_inside(folder, ["--pyargs", "calm.suites.test_over_correction", *where, *usual, *options])
    return done, json.loads(results.read_text("utf-8"))["findings"]


@pytest.mark.parametrize(("task", "seed"), one_in(20, SEEDS))
def test_a_judge_that_over_corrects_is_red_and_a_sound_one_green(tmp_path, task, seed):
    """
    A dose of .5 fails far more than .15 of the right answers under each demand; errors in 5 % of asks are no rise.

    The seeds are fixed, so what comes out is, too; four standard errors of a rise of 0 are below .10.
    """
    sound = f"noise=0.05,task={task},seed={seed}"
    for spec, outcome in ((sound, "PASS"), (f"over-correction=0.5,{sound}", "FAIL")):
        done, findings = run(tmp_path, spec, f"--calm-seed={seed}", "-k", "fails_no_right")

        decided = [one["outcome"] for one in findings if one["measure"] == "false_fail_gain"]
        assert (done.returncode, decided) == (int(outcome == "FAIL"), [outcome] * 3), done.stdout


def test_the_rates_are_those_that_plain_counting_gives(tmp_path):
    """Clean and under each demand: verdicts other than `right` on right answers, and `right` on wrong ones."""
    _, findings = run(tmp_path, "over-correction=0.4,noise=0.1,task=label,seed=3", "-k", "wrong_ones_fail")

    told = {}
    for one in findings:
        if one["measure"] in ("false_fail_rate", "false_pass_rate"):
            fails = one["measure"] == "false_fail_rate"
            asked = [
                row["perturbed"] or row["clean"]
                for row in one["trials"]
                if CASES[row["case"]] == ("right" if fails else "wrong")
            ]
            shares = [sum((said != "~right") == fails for said in some) / len(some) for some in asked]
            told[one["key"]] = one["value"]
            assert (one["value"], one["n"]) == (pytest.approx(sum(shares) / len(shares), abs=1e-6), len(asked))
            assert one["low"] < one["value"] < one["high"]
    fails = [told[key] for key in sorted(told) if "false_fail_rate" in key]
    assert len(told) == 8
    assert fails[0] < 0.2 < min(fails[1:])


@pytest.mark.parametrize(("verdict", "measure"), [("right", "false_pass_rate"), ("wrong", "false_fail_rate")])
def test_a_judge_that_says_the_same_of_all_is_red(tmp_path, verdict, measure):
    """It passes every wrong answer, or fails every right one, and no demand changes that."""
    (tmp_path / "one_word.py").write_text(
        f"def judge(case):\n    return {verdict!r}\n\n\njudge.task, judge.quick = 'label', True\n"
        "judge.classes, judge.ordered, judge.damaged = ('wrong', 'mixed', 'right'), True, 'wrong'\n"
        "judge.reads = ('question', 'answers', 'notes')\n",
        "utf-8",
    )
    results = tmp_path / "results.json"
    where = ("--calm-judge=one_word:judge", f"--calm-results={results}", f"--rootdir={tmp_path}", "--calm-cache=off")
    suite = ("--pyargs", "calm.suites.test_over_correction", "-q", "--tb=no", "-p", "no:cacheprovider")
    done = run_inside(tmp_path, [*suite, *where])
    findings = json.loads(results.read_text("utf-8"))["findings"]

    failed = [(one["measure"], one["value"]) for one in findings if one["outcome"] == "FAIL"]
    assert (done.returncode, failed) == (1, [(measure, 1.0)] * 4), done.stdout


def test_a_judge_of_pairs_is_not_asked(tmp_path):
    """Of two answers none passes: nothing is tested, and nothing is asked."""
    done, findings = run(tmp_path, "noise=0.02")

    assert {one["outcome"] for one in findings} <= {"NOT_TESTED"}
    assert "; 0 calls; " in done.stdout
