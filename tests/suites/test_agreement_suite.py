"""The suite about agreement, as a user runs it: judges that know nothing of the gold, cases without gold, people."""

import json
import re

import pytest

from calm.results.audit import read
from tests.suites.gate import run_gate

AGREEMENT = ("--pyargs", "calm.suites.test_agreement")
JUDGES = """
def constant(case):
    return 7


constant.task = "score"


def easy(case):
    return {c.id: c.id == "easy" for c in case.criteria}


easy.task = "rubric-all"
easy.reads = ("answers", "criteria")
"""


def scored(n):
    """Return cases whose gold goes from 1 to 10."""
    for i in range(n):
        answers = [{"id": "only", "text": f"answer {i}"}]
        yield {"id": f"s{i}", "question": f"question {i}", "answers": answers, "scores": {"only": 1 + i % 10}}


def ruled(n):
    """Return cases with a criterion that is always met, and one that is met in half of them."""
    criteria = [{"id": "easy", "text": "It has words."}, {"id": "hard", "text": "It is right."}]
    for i in range(n):
        answers = [{"id": "only", "text": f"answer {i}"}]
        met = {"only": {"easy": True, "hard": i % 2 == 0}}
        yield {"id": f"r{i}", "question": f"question {i}", "answers": answers, "criteria": criteria, "met": met}


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return f"--calm-cases={path}"


@pytest.mark.parametrize(
    ("judge", "rows", "failed"),
    [("constant", scored, "weighted_kappa"), ("easy", ruled, "kappa")],
)
def test_a_judge_that_knows_nothing_of_the_gold_fails(tmp_path, judge, rows, failed):
    """It says the same of every case, or it is right on the easy criterion alone; a constant would do as well."""
    (tmp_path / "judges.py").write_text(JUDGES, "utf-8")

    options = (write(tmp_path / "cases.jsonl", rows(60)), "--calm-limits=suites")
    gate = run_gate(f"judges:{judge}", tmp_path, *options, what=AGREEMENT)

    assert f"agreement/{failed}" in {key for key, outcome in gate.outcomes().items() if outcome == "FAIL"}, gate.output
    found = {f.measure: f for f in read(tmp_path / "results.json").findings}
    assert found[failed].value == pytest.approx(0, abs=1e-6)
    assert "always the same verdict would reach" in gate.output
    assert gate.status == 1


def test_cases_without_gold_are_no_fault(tmp_path):
    """Nothing of agreement is tested, and the reason says why."""
    rows = [{key: value for key, value in row.items() if key != "scores"} for row in scored(30)]

    (tmp_path / "judges.py").write_text(JUDGES, "utf-8")

    gate = run_gate("judges:constant", tmp_path, write(tmp_path / "cases.jsonl", rows), what=AGREEMENT)

    assert {outcome for key, outcome in gate.outcomes().items() if "/" in key} == {"NOT_TESTED"}
    assert "not tested: agreement (no gold label" in gate.output
    assert gate.results["cases"]["gold"] == 0


def test_people_stand_beside_the_judge(tmp_path):
    """Three people who are a point off in one of ten cases, and a sound judge: it may take the place of each."""
    rows = list(scored(90))
    for i, row in enumerate(rows):
        gold = row["scores"]["only"]
        row["labels"] = {
            who: gold if (i + turn) % 10 else gold % 10 + 1 for turn, who in enumerate(("ann", "ben", "eva"))
        }

    gate = run_gate("planted:task=score,noise=0.02", tmp_path, write(tmp_path / "cases.jsonl", rows), what=AGREEMENT)

    audit = read(tmp_path / "results.json")
    found = {f.measure: f for f in audit.findings}
    assert found["annotator_advantage"].outcome.value == "PASS", gate.output
    assert 0 < found["rank_agreement"].references["person"] < 1
    assert {note.kind.value for note in audit.run.notes} >= {"people-agree", "may-replace"}
    assert audit.cases["people"] == 3


def test_the_report_shows_the_gold_of_a_score_and_the_agreement_on_its_first_screen(tmp_path):
    """Verdicts against the gold stand beside the gold score; before them stand the claims about all cases."""
    page = tmp_path / "report.html"

    gate = run_gate(
        "planted:task=score,noise=0.2",
        tmp_path,
        write(tmp_path / "cases.jsonl", scored(60)),
        f"--calm-report={page}",
        what=AGREEMENT,
    )

    text = page.read_text("utf-8")
    first, _, rest = text.partition('<section id="flips">')
    assert "<b>agreement</b> <bdi>weighted_kappa" in first, gate.output
    assert "<dt>Gold</dt><dd><bdi>60 of 60 cases</bdi></dd>" in first
    golds = set(re.findall(r" gold <code>([^<]*)</code>", rest))
    assert golds
    assert golds <= {str(score) for score in range(1, 11)}
    assert "On the same cases always the same verdict would reach" in rest
