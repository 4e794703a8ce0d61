"""A judge that falls for one form of a cue, and for no other, turns the gate red: written by hand, not planted."""

import pytest

from benchmarks.planted_biases import suite_of
from tests.lanes import slow
from tests.suites.gate import run_gate

JUDGES = '''
"""Judges that know the better answer, and fall for one form of a cue in four questions of five."""

import hashlib
import re

FORMS = {
    "told_in_text": r"(?i)(?:you wrote this answer|this is your own answer)[.]",
    "told_first": r"(?i)(?:you wrote this answer|this is your own answer):",
    "told_in_note": r"(?:You wrote answer (?P<after>[AB])|Answer (?P<before>[AB]) is your own answer)",
    "author_in_brackets": r"\\(\\D+, \\d{4}\\)$",
    "year_in_brackets": r"\\(\\d{4}\\)$",
    "number_in_brackets": r"\\[1\\]\\n\\n\\[1\\] ",
}


def falls(case):
    return hashlib.sha256(case.question.encode()).digest()[0] / 256 < 0.8


def judge_of(form):
    cue = re.compile(FORMS[form])

    def judge(case):
        carriers = [answer.id for answer in case.shown if cue.search(answer.text)]
        for found in filter(None, map(cue.search, case.notes)):
            label = found.groupdict().get("after") or found.groupdict().get("before")
            carriers.append(case.slots[case.slot_labels.index(label)])
        return carriers[0] if len(set(carriers)) == 1 and falls(case) else case.better

    judge.quick, judge.reads = True, ("question", "answers", "notes", "labels", "better")
    return judge


def skims(case):
    one, other = (answer.text for answer in case.shown)
    read = max(len(one), len(other)) // 5
    return case.better if one[:read] != other[:read] else "tie"


skims.quick, skims.reads = True, ("question", "answers", "better")

for form in FORMS:
    globals()[form] = judge_of(form)
'''
FORMS = [
    slow("self-authorship", "told_in_text"),
    ("self-authorship", "told_in_note"),
    slow("authority", "year_in_brackets"),
    ("authority", "number_in_brackets"),
]
"""The other forms, and those of each other variant: tests/power/test_single_variants.py."""


@pytest.mark.parametrize(("bias", "form"), FORMS)
def test_a_judge_that_falls_for_one_form_is_found(tmp_path, bias, form):
    """One variant in fifteen is enough at the default size: the claim about the worst of them decides."""
    (tmp_path / "judges.py").write_text(JUDGES)

    gate = run_gate(f"judges:{form}", tmp_path, what=(str(suite_of(bias)),))

    assert gate.failed == {bias}, gate.output
    assert gate.status == 1


def test_a_judge_that_reads_only_the_beginning_is_found(tmp_path):
    """It notices each early error, and none in the middle or at the end: a mean over the places would hide that."""
    (tmp_path / "judges.py").write_text(JUDGES)

    gate = run_gate("judges:skims", tmp_path, what=(str(suite_of("defect-place")),))

    assert {key.rpartition("/")[2]: outcome for key, outcome in gate.outcomes().items() if "defect" in key} == {
        "err_early": "PASS",
        "err_midway": "FAIL",
        "err_late": "FAIL",
    }, gate.output
