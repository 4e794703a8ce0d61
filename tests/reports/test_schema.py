"""`calm-results/2` has a published JSON Schema: what calm writes keeps to it, and it names every field."""

import json
from dataclasses import fields, replace
from importlib.resources import files

import jsonschema
import pytest

from calm.results.audit import Audit, Finding, JudgeRecord, Limit, Run, TrialRecord
from calm.results.audit import _laid_out as laid_out
from calm.results.redaction import without_texts
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, judge, sample, trial

SCHEMA = json.loads(files("calm").joinpath("results/data/calm-results-2.schema.json").read_text("utf-8"))
CHECK = jsonschema.Draft202012Validator(SCHEMA)
SHA = "0" * 64


def written(audit):
    """Return an audit as its file holds it."""
    return json.loads("".join(laid_out(audit)))


def test_it_is_a_schema():
    """The schema itself is valid."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_is_written_is_valid(subtests):
    """Records of every outcome keep to the schema."""
    for audit in [empty(), sample(), without_texts(sample())]:
        with subtests.test(audit=audit):
            CHECK.validate(written(audit))


def test_any_text_is_valid(subtests):
    """Texts are free; digests are not."""
    for text in [t for t in HOSTILE if len(t) < 1000]:
        with subtests.test(text=text):
            audit = hostile_audit(text)
            audit = replace(audit, judge=replace(audit.judge, prompt_sha256=SHA))
            audit = replace(audit, findings=tuple(replace(f, baseline=None) for f in audit.findings))

            CHECK.validate(written(audit))


def test_every_kind_of_verdict_is_valid():
    """Answers, scores, criteria, rankings and failures are codes."""
    codes = ["good", "tie", 7, 7.5, {"c1": True, "c2": None}, [["a"], ["b", "c"]], "!unreadable", "!refused"]

    CHECK.validate(written(empty(findings=(finding(trials=(trial("c", codes, codes, control=codes),)),))))


def test_it_names_every_field_and_no_other(subtests):
    """A field that is added to a record is added to the schema; beside the words of a reason stands its code."""
    for record, place in [
        (JudgeRecord, SCHEMA["$defs"]["judge"]),
        (Finding, SCHEMA["$defs"]["finding"]),
        (TrialRecord, SCHEMA["$defs"]["trial"]),
        (Run, SCHEMA["$defs"]["run"]),
        (Limit, SCHEMA["$defs"]["limit"]),
    ]:
        with subtests.test(record=record, place=place):
            codes = {Finding: {"reason_code", "excluded_codes", "unused_codes"}, Run: {"note_codes", "digest"}}

            assert set(place["properties"]) == {f.name for f in fields(record)} | codes.get(record, set())
            assert place["additionalProperties"] is False


def test_it_names_every_field_of_the_whole():
    """The same for the outermost object."""
    ours = {f.name for f in fields(Audit)} - {"texts"}

    assert set(SCHEMA["properties"]) == {*SCHEMA["required"], "extras"} == ours | {"schema", "outcome"}


def broken(**changes):
    """Return a valid record in which a finding, or the whole, was changed."""
    body = written(empty(findings=(finding(trials=(trial("c", ["good"], ["bad"]),)),)))
    place = body["findings"][0] if set(changes) <= set(body["findings"][0]) else body
    place |= changes
    return body


def test_a_record_with_a_fault_is_not_valid(subtests):
    """A wrong kind, a missing number, or a field that nobody knows is refused."""
    for body in [
        broken(schema="calm-results/1"),
        broken(outcome="GREEN"),
        broken(seed="1"),
        broken(claim={"op": "<", "limit": 0.1}),
        broken(value=None),
        broken(low=None),
        broken(robustness_rate=1.2),
        broken(n=-1),
        broken(flips={"sideways": 1}),
        broken(excluded={"reason": "many"}),
        broken(trials=[{"case": "c"}]),
        broken(trials=[{**broken()["findings"][0]["trials"][0], "clean": [None]}]),
        broken() | {"more": 1},
    ]:
        with subtests.test(body=body):
            with pytest.raises(jsonschema.ValidationError):
                CHECK.validate(body)


def test_a_judge_without_a_prompt_is_valid():
    """A judge in Python has neither prompt nor model."""
    CHECK.validate(written(empty(judge=judge(model=None, served=None, prompt_sha256=None, fingerprint=None))))
