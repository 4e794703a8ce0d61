"""Recorded judges: what real models said, replayed on their own cases."""

import asyncio
import json
import subprocess
import sys

import pytest

from calm.cases.lines import line
from calm.core.case import Framing
from calm.core.verdict import Criteria, Score, Unreadable
from calm.errors import ConfigError, JudgeError
from calm.gate.from_spec import cases_from, judge_from
from calm.plugins.self_preference import recorded
from calm.plugins.self_preference.recorded import RecordedJudge
from tests.judges.test_real_records import Ask

GEMINI = "recorded:headlines/gemini-2.5-pro-preview-05-06"


def said(judge, case, ask=1):
    """Return the verdict of a judge on a case."""
    return asyncio.run(judge.judge(case, Ask(ask)))


def test_the_headlines_are_there():
    """Five judges; 100 items by five models and by people, but for eleven texts that were never written."""
    cases = recorded.recorded_cases("headlines")

    assert len(recorded.recording("headlines").judges) == 5
    assert len(cases) == 589
    assert len({case.id for case in cases}) == 589
    assert {case.answers[0].author for case in cases} == set(recorded.HEADLINE_FAMILIES)


def test_ifeval_is_there_with_its_truth():
    """Twelve judges, 541 prompts by twelve generators, 834 criteria each."""
    cases = recorded.recorded_cases("ifeval")

    assert len(recorded.recording("ifeval").judges) == 12
    assert len(cases) == 541 * 12
    assert sum(len(case.criteria) for case in cases) == 834 * 12
    assert all(set(case.met["answer"]) == {c.id for c in case.criteria} for case in cases)


def test_a_negative_score_is_mapped_back():
    """How good: 4 of 5. How bad, from 1 the best: raw 2, so 4 again."""
    judge = judge_from("recorded:headlines/claude-3-7-sonnet-20250219")
    case = next(c for c in cases_from([], judge) if c.id == "headlines-000-claude-3-7-sonnet-20250219")

    assert said(judge, case) == Score(4.0)
    assert said(judge, case.present(framing=Framing.NEGATIVE)) == Score(4.0)


def test_the_replayed_scores_are_those_of_the_table():
    """Every verdict on every case, in both framings: the suites and the papers read the same numbers."""
    judge = judge_from(GEMINI)
    for framing in judge.recording.framings:
        table = recorded.score_table(framing, people=True)
        row = table.grid.row(judge.model)
        for case in cases_from([], judge):
            column = table.grid.generators.index(case.answers[0].author)
            assert said(judge, case.present(framing=framing)) == Score(
                table.scores[row, column, table.items.index(case.tags["item"])]
            )


def test_the_replayed_marks_are_those_of_the_table():
    """Every mark of one judge."""
    judge, table = judge_from("recorded:ifeval/GPT-5"), recorded.rubric_table()
    row = table.grid.row("GPT-5")
    for case in cases_from([], judge):
        marks = table.verdicts[row, table.grid.generators.index(case.answers[0].author)]
        assert said(judge, case) == Criteria({c.id: bool(marks[int(c.id[1:])]) for c in case.criteria})


def test_a_verdict_that_the_record_lacks_is_unreadable():
    """One judge's replies could not be read on some texts: data, and no number."""
    judge = judge_from("recorded:headlines/sonar-reasoning-pro")

    verdicts = [said(judge, case) for case in cases_from([], judge)]

    assert sum(isinstance(v, Unreadable) for v in verdicts) == 589 - sum(isinstance(v, Score) for v in verdicts) > 0


def test_only_the_framing_of_headlines_reaches_the_verdict():
    """What else is edited was never asked: an edit of it cannot count as withstood."""
    headline, marks = judge_from(GEMINI), judge_from("recorded:ifeval/GPT-5")
    case, other = cases_from([], headline)[0], cases_from([], marks)[0]

    held = headline.record.held
    assert held(case) == held(case.present(framing=Framing.NEGATIVE)) == 1
    assert held(case.present(framing=Framing.INVERTED)) == held(case.present(notes=("90 % prefer it",))) == 0
    assert marks.record.held(other) == 1
    assert marks.record.held(other.present(framing=Framing.NEGATIVE)) == 0


def test_there_is_one_repeat():
    """A second ask has no verdict, so that no consistency is made up."""
    judge = judge_from(GEMINI)

    with pytest.raises(JudgeError, match="no verdict on the case as it is shown is on record"):
        said(judge, cases_from([], judge)[0], ask=2)


def test_a_case_of_another_set_has_no_verdict():
    """The record knows its own cases alone."""
    judge = judge_from(GEMINI)
    cases_from([], judge)

    with pytest.raises(JudgeError, match="no verdict on the case as it is shown is on record"):
        said(judge, recorded.recorded_cases("ifeval")[0])


def test_an_unknown_record_names_those_that_there_are(subtests):
    """A typo is an error with the nearest name."""
    for spec, message in [
        ("recorded:headlines", "expected recorded:SET/MODEL"),
        ("recorded:headline/x", "did you mean 'headlines'"),
        ("recorded:ifeval/GPT5", "did you mean 'GPT-5'"),
    ]:
        with subtests.test(spec=spec, message=message):
            with pytest.raises(ConfigError, match=message):
                judge_from(spec)


def test_other_cases_are_refused(tmp_path):
    """A file of other cases has no recorded verdicts."""
    file = tmp_path / "mine.jsonl"
    file.write_text(line(recorded.recorded_cases("ifeval")[0]), "utf-8")

    with pytest.raises(ConfigError, match=r"expected some of its own cases, .* got 1 others, .*leave the cases out"):
        cases_from([str(file)], judge_from(GEMINI))


def suite(name, spec, tmp_path, *more):
    """Return the output of a suite run on a recorded judge, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"suites/{name}", f"--calm-judge={spec}"]
    options = [f"--calm-cache-file={tmp_path / 'cache.sqlite'}", "-v"]
    return subprocess.run([*command, *options, *more], capture_output=True, text=True, check=False).stdout


def test_the_framing_suite_runs_on_a_recorded_judge(tmp_path):
    """A judge that is harsher in the negative framing by a tenth of the scale does not pass, on all its cases."""
    output = suite("test_framing.py", GEMINI, tmp_path, "--calm-sample=1000")

    assert "\nUNDECIDED framing/mean_shift: " in output
    assert "  abs(mean_shift) <= 0.08: measured -0.10 [" in output


def findings(name, spec, tmp_path, *more):
    """Return what a suite finds of a recorded judge, by measure, and its output."""
    results = tmp_path / "results.json"
    output = suite(name, spec, tmp_path, f"--calm-results={results}", *more)
    return {one["measure"]: one for one in json.loads(results.read_text("utf-8"))["findings"]}, output


def test_other_suites_are_not_tested(tmp_path, subtests):
    """Nothing is withstood that was never asked."""
    for name in ["test_authority.py", "test_bandwagon.py", "test_sensitivity.py", "test_verbosity.py"]:
        with subtests.test(name=name):
            found, output = findings(name, GEMINI, tmp_path)

            assert {one["outcome"] for one in found.values()} == {"NOT_TESTED"}
            assert "no claim passed" in output


def test_the_self_preference_suite_runs_on_its_whole_table(tmp_path, subtests):
    """On all items, whatever the sample: observed where nobody knows which headline is better, else decided."""
    for spec, measure, outcome in [
        (GEMINI, "self_preference_excess", "OBSERVED"),
        ("recorded:ifeval/Qwen-235B", "own_pull", "UNDECIDED"),
        ("recorded:ifeval/Gemma-27B", "own_pull", "PASS"),
    ]:
        with subtests.test(spec=spec):
            found, _ = findings("test_self_preference.py", spec, tmp_path)

            assert {name: one["outcome"] for name, one in found.items()} == {measure: outcome}


def test_the_sample_does_not_cut_the_table(tmp_path):
    """The figures are those of all recorded verdicts."""
    found, _ = findings("test_self_preference.py", "recorded:ifeval/Qwen-235B", tmp_path, "--calm-sample=10")

    one = found["own_pull"]
    assert (round(one["value"], 2), round(one["low"], 2), round(one["high"], 2), one["n"]) == (0.12, 0.03, 0.18, 538)


def test_a_recorded_judge_is_asked_as_often_as_it_has_verdicts(tmp_path):
    """One clean and one perturbed ask, whatever the user says: two have no second verdict."""
    options = ([], ["--calm-repeats=2+2"])
    said = [findings("test_framing.py", GEMINI, tmp_path, "--calm-sample=1000", *more) for more in options]

    assert all(" 1,178 " in output for _, output in said)
    assert [round(found["mean_shift"]["value"], 2) for found, _ in said] == [-0.10, -0.10]


def test_accuracy_on_criteria_is_tested_where_their_truth_is_known(tmp_path):
    """The marks of a model against those of a program; and every mark was read."""
    output = suite("test_sensitivity.py", "recorded:ifeval/GPT-5", tmp_path, "-k", "better")
    read = suite("test_consistency.py", "recorded:ifeval/GPT-5", tmp_path)

    assert "no claim passed" in output  # no suite claims it of criteria
    assert "\n1 passed, 1 not tested" in read.replace("= ", "\n")


def test_a_set_that_ships_with_calm_keeps_its_name(tmp_path, monkeypatch):
    """Also where a folder of that name is here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headlines").mkdir()

    assert isinstance(judge_from(GEMINI), RecordedJudge)
