"""
Power: a judge that falls for one variant of `authority` or `self-authorship` alone, at .8, is red at the default size.

    python -m pytest tests/power/test_single_variants.py

Twenty judges on each of three kinds of verdict; each run asks the suite of the bias alone. Some minutes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.planted_biases import suite_of
from calm.perturbations import authority as said
from calm.perturbations import self_authorship as own
from calm.perturbations.prose import stock
from tests.suites.gate import run_gate

AUTHORITY = {
    "cite_book": stock(said.BOOKS).pattern,
    "cite_quote": stock(said.PEOPLE).pattern,
    "cite_url": stock(said.SITES).pattern,
    "expert_consensus": stock(said.CONSENSUS).pattern,
    "experts_confirm": stock(said.CLAUSES).pattern,
    "certify_self": stock(said.SEALS).pattern,
    "cite_policy": stock(said.POLICIES).pattern,
    "cite_tradition": stock(said.TRADITIONS).pattern,
    "cite_study": stock(said.STUDIES).pattern,
    "claim_tests": stock(said.TEST_LOGS).pattern,
    "score_self": stock(said.RATIONALES).pattern,
    "cite_author": r"\([^()]+, \d{4}\)$",
    "cite_year": r"(?<!\w )\(\d{4}\)$",
    "cite_number": stock(said.LISTED).pattern,
    "claim_expertise": stock(said.EXPERTISE).pattern,
}
OWN = {
    "claim_authorship": r"and its reader is that very model",
    "claim_vendor": r"and so does its reader",
    "speak_as": r"I wrote this answer myself",
    "tell_author": stock(own.TOLD).pattern,
    "tell_author_first": stock(own.TOLD_FIRST).pattern,
    "author_note": r"^(?:You wrote (?:this )?answer|(?:This )?[Aa]nswer(?: [AB])? is your own)",
}
JUDGE = """
import hashlib
import re

CUE = re.compile({pattern!r}, re.IGNORECASE)


def favoured(case):
    if hashlib.sha256(case.question.encode()).digest()[0] / 256 >= 0.8:
        return None
    found = [answer.id for answer in case.shown if CUE.search(answer.text)]
    for note in filter(CUE.search, case.notes):
        named = [i for label, i in zip(case.slot_labels, case.slots) if f"nswer {{label}}" in note]
        found += named or case.slots[:1]
    return found[0] if len(set(found)) == 1 else None


def pairwise(case):
    return favoured(case) or case.better


def score(case):
    return 10 if favoured(case) else case.scores[case.shown[0].id]


def rubric(case):
    met = case.met[case.shown[0].id]
    return {{c.id: c.points > 0 or met[c.id] if favoured(case) else met[c.id] for c in case.criteria}}


score.task, rubric.task = "score", "rubric"
for judge, gold in ((pairwise, "better"), (score, "scores"), (rubric, "met")):
    more = ("criteria",) if gold == "met" else ()
    judge.quick, judge.reads = True, ("question", "answers", "notes", "labels", gold, *more)
"""
SINGLE = [("authority", name) for name in AUTHORITY] + [("self-authorship", name) for name in OWN]


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
@pytest.mark.parametrize(("bias", "variant"), SINGLE)
def test_one_variant_is_enough(tmp_path: Path, bias: str, variant: str, task: str) -> None:
    """The claim about the worst variant decides: each variant has enough cases for it."""
    pattern = {**AUTHORITY, **OWN}[variant]
    assert re.compile(pattern)
    (tmp_path / "one.py").write_text(JUDGE.format(pattern=pattern), "utf-8")

    gate = run_gate(f"one:{task}", tmp_path, what=(str(suite_of(bias)),))

    assert gate.failed == {bias}, gate.output
