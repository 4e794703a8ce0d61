"""A record without texts: the numbers stay, and nothing that may quote a text does."""

import json
from dataclasses import fields, replace

import pytest

from calm.core.claims import Outcome
from calm.results.audit import Run
from calm.results.redaction import ANOTHER, NOTE, OTHER, WHY, digested, without_texts
from tests.reports.planted_audit import empty, finding, judge, sample

CANARY = "canary-4711"


def test_numbers_codes_and_claims_stay():
    """Every finding but for its reason is the same."""
    before, after = sample(), without_texts(sample())

    bare = {"reason": "", "excluded": {}}
    assert [replace(f, **bare) for f in after.findings] == [replace(f, **bare) for f in before.findings]
    assert [sum(f.excluded.values()) for f in after.findings] == [sum(f.excluded.values()) for f in before.findings]
    assert after.outcome is before.outcome
    assert after.cases == before.cases


def test_texts_and_prompts_go():
    """Neither the texts nor the templates nor a word of them are left."""
    shown = repr(without_texts(sample())).lower()

    for word in ("mountain", "compare two answers", "harlow", "[question]"):
        assert word in repr(sample()).lower()
        assert word not in shown


def test_the_hash_of_the_prompt_stays():
    """Two runs can still be told apart."""
    assert without_texts(sample()).judge.prompt_sha256 == judge().prompt_sha256


@pytest.mark.parametrize(
    "reason",
    [
        f"judge x: case c1: got an exception: ValueError: {CANARY} (3 cases)",
        f"a cap was reached: --calm-max-calls 5 (3 cases); {CANARY} (1 case)",
        f"a cap was reached: --calm-max-calls 5 {CANARY} (3 cases)",
        f"the run was stopped (3 cases)\n{CANARY}",
    ],
)
def test_why_replies_were_lost_is_left_out(reason):
    """The error of a judge may quote a reply, whatever the outcome."""
    lost = {"does not apply": 4, reason: 2, f"another: {CANARY}": 1}
    found = without_texts(
        empty(findings=tuple(finding(outcome=outcome, reason=reason, excluded=lost) for outcome in Outcome))
    )

    assert {f.reason for f in found.findings} == {WHY}
    assert found.findings[0].excluded == {"does not apply": 4, OTHER: 3}


def test_what_a_person_wrote_in_the_gate_file_stays():
    """The reason of an exception was written for reviewers."""
    words = "gate.toml, until 2026-09-01: agreed; see the minutes"
    found = without_texts(empty(findings=(finding(reason=words), finding(reason=f"said {CANARY}; {words}"))))

    assert [f.reason for f in found.findings] == [words, f"{WHY}; {words}"]


@pytest.mark.parametrize(
    "reason",
    [
        "a cap was reached: --calm-max-usd 0.5 (3 cases)",
        "a cap was reached: --calm-max-calls 5 (1 case); the run was stopped (20 cases)",
        "no reply of the clean arm holds a verdict",
        "rotate(high_anchor, mark_reference_high, name='high') serves score; the judge's task is rubric-all",
        "one variant of a rotation: high_anchor serves score; the judge's task is pairwise",
        "the judge is shown no notes (3 cases); does not apply (2 cases)",
    ],
)
def test_a_reason_of_our_own_stays(reason):
    """A cap is said: it quotes nobody."""
    found = without_texts(empty(findings=(finding(outcome=Outcome.INCOMPLETE, reason=reason),)))

    assert found.findings[0].reason == reason


@pytest.mark.parametrize("outcome", [Outcome.INCOMPLETE, Outcome.FAIL])
def test_a_figure_of_a_table_keeps_its_reason_only_where_it_cannot_be_had(outcome):
    """Lost replies have the words of an error, here too; what an estimator says holds names and numbers alone."""
    common = {"measure": "self_preference_excess", "reason": f"the judge's model 'm' wrote none: {CANARY}"}

    found = without_texts(
        empty(findings=(finding(outcome=Outcome.NOT_TESTED, **common), finding(outcome=outcome, **common)))
    )

    assert [f.reason for f in found.findings] == [common["reason"], WHY]


def test_what_the_comparison_with_a_baseline_repeats_is_left_out():
    """A finding about the baseline quotes the reasons of others, and the parameters that changed."""
    lost = finding(outcome=Outcome.INCOMPLETE, reason=f"got {CANARY}")
    worse = finding(
        key="authority/worsening",
        measure="worsening",
        outcome=Outcome.FAIL,
        reason=f"x is INCOMPLETE now: got {CANARY}; since the baseline parameters.schema: a -> {CANARY}",
    )

    found = without_texts(empty(findings=(lost, worse)))

    assert CANARY not in repr(found)
    assert found.findings[1].reason.startswith("x is INCOMPLETE now: ")


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        ("'m' is served by 'm-2' now and was by 'm-1': earlier replies are not reused", True),
        ("the server of 'm' reports no usage: its cost is an upper estimate", True),
        ("the run was interrupted: the record holds only what was decided before", True),
        ("3 of 9 tests did not run: a, b, c", True),
        ("panel three: b gave no verdict in 3 of 40 asks; the panel went without it", True),
        (f"the server of 'm' stopped answering: the last one so: {CANARY}", False),
        (CANARY, False),
    ],
)
def test_notes_are_kept_if_they_quote_nobody(note, kept):
    """A note that is not known to be harmless goes."""
    found = without_texts(empty(run=Run(notes=(note,))))

    assert found.run.notes == (note if kept else ANOTHER, NOTE)


def test_parameters_are_numbers_or_digests():
    """A schema of the reply is a part of the prompt."""
    asked = judge(parameters={"temperature": 0.0, "format": {"description": CANARY}, "stop": [CANARY]})

    found = without_texts(empty(judge=asked)).judge.parameters

    assert found["temperature"] == 0.0
    assert CANARY not in json.dumps(dict(found))
    assert found["format"] != found["stop"]


def test_other_analyses_keep_names_and_numbers():
    """What an analysis holds beside them may quote a text."""
    unit = "attack success rate, net of a clean re-ask"
    body = {"judges": ["vendor/model-x"], "matrix": [[0.25, None]], "note": f"judge x said: {CANARY}, at some length"}
    body |= {"unit": unit}

    found = without_texts(empty(extras={"self_preference": body, "own": {"said": CANARY}})).extras

    assert CANARY not in json.dumps(found)
    assert found["self_preference"]["judges"] == ["vendor/model-x"]
    assert found["self_preference"]["matrix"] == [[0.25, None]]
    assert found["self_preference"]["unit"] == unit


def test_it_can_be_done_twice():
    """A record without texts is left as it is."""
    once = without_texts(sample())

    assert without_texts(once) == once


def test_a_digest_tells_texts_apart():
    """Equal texts have equal digests, others have others."""
    assert digested("a") == digested("a") != digested("b")


def test_no_field_was_forgotten():
    """A field that is added to a run or a judge has to be looked at here."""
    assert {f.name for f in fields(Run)} == {"started", "seconds", "calls", "tokens", "usd", "per_finding", "notes"}
