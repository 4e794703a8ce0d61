"""A record without texts: the numbers stay, and nothing that may quote a text does."""

import json
from dataclasses import fields, replace

from calm.core.claims import Outcome
from calm.core.reasons import NONE, Kind, Said, because, counted, in_words, listed, name, reason_of
from calm.results.audit import Audit, Run
from calm.results.codes import from_code, to_code
from calm.results.redaction import ANOTHER, NOTE, OTHER, WHY, bare, digested, without_texts
from tests.reports.planted_audit import empty, finding, judge, sample

CANARY = "canary-4711"


def test_numbers_codes_and_claims_stay():
    """Every finding but for its reason is the same."""
    before, after = sample(), without_texts(sample())

    plain = {"reason": NONE, "excluded": {}}
    assert [replace(f, **plain) for f in after.findings] == [replace(f, **plain) for f in before.findings]
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


QUOTED = reason_of(f"judge x: case c1: got an exception: ValueError: {CANARY}")
CAPPED = because(Kind.CAPPED, "--calm-max-calls 5")


def test_why_replies_were_lost_is_left_out(subtests):
    """The error of a judge may quote a reply, whatever the outcome; what calm says around it stays."""
    for reason, left in [
        (QUOTED, "why is left out with the texts"),
        (because(Kind.OLDER, Said(f"a cap was reached: --calm-max-calls 5 {CANARY} (3 cases)")), str(WHY)),
        (counted({QUOTED: 3}), f"{WHY} (3 cases)"),
        (counted({CAPPED: 3, QUOTED: 1}), f"a cap was reached: --calm-max-calls 5 (3 cases); {WHY} (1 case)"),
        (because(Kind.TRIED, QUOTED, 7), f"{WHY} (tried 7 times)"),
        (because(Kind.VARIANT, QUOTED), f"one variant of a rotation: {WHY}"),
    ]:
        with subtests.test(reason=reason, left=left):
            lost = {because(Kind.APPLIES_NOT): 4, QUOTED: 2, reason_of(f"another: {CANARY}"): 1}
            found = without_texts(
                empty(findings=tuple(finding(outcome=outcome, reason=reason, excluded=lost) for outcome in Outcome))
            )

            assert {str(f.reason) for f in found.findings} == {left}
            assert found.findings[0].excluded == {because(Kind.APPLIES_NOT): 4, OTHER: 3}


def test_what_a_person_wrote_in_the_gate_file_stays():
    """The reason of an exception was written for reviewers."""
    words = because(Kind.GATE_FILE, "2026-09-01", "agreed; see the minutes")
    quoting = listed([QUOTED, words])
    found = without_texts(empty(findings=(finding(reason=words), finding(reason=quoting))))

    assert [f.reason for f in found.findings] == [words, listed([WHY, words])]


def test_a_reason_of_our_own_stays(subtests):
    """A cap is said: it quotes nobody. So it is, too, after it stood in a file."""
    for reason in [
        counted({because(Kind.CAPPED, "--calm-max-usd 0.5"): 3}),
        counted({CAPPED: 1, because(Kind.STOPPED): 20}),
        because(Kind.UNREAD_REPLIES, "clean", 0.5),
        because(Kind.OTHER_TASK, "rotate(high_anchor, mark_reference_high, name='high')", "score", "rubric-all"),
        because(Kind.VARIANT, because(Kind.OTHER_TASK, "high_anchor", "score", "pairwise")),
        counted({because(Kind.NOT_SHOWN, "notes"): 3, because(Kind.APPLIES_NOT): 2}),
        because(Kind.FIGURE, "the judge's model 'm' wrote none"),
    ]:
        with subtests.test(reason=reason):
            audit = empty(findings=(finding(outcome=Outcome.INCOMPLETE, reason=reason, excluded={reason: 2}),))

            for one in (audit, Audit.from_json(audit.to_json())):
                found = without_texts(one).findings[0]

                assert (found.reason, found.excluded) == (reason, {reason: 2})


def test_every_kind_has_words_and_a_code(subtests):
    """With as many details as it takes, and back from its code; a text in any place of them is left out."""
    for kind in list(Kind):
        with subtests.test(kind=kind):
            places = next(n for n in range(7) if spoken(kind, n))
            numbers = because(kind, *[1] * places)

            assert from_code(json.loads(json.dumps(to_code(numbers))), "") == numbers
            for place in range(places):
                quoting = because(kind, *(Said(CANARY) if n == place else 1 for n in range(places)))
                assert CANARY not in repr(bare(quoting, WHY))


def spoken(kind, places):
    """Return whether a kind can be said with so many details."""
    try:
        str(because(kind, *[1] * places))
    except (IndexError, TypeError, ValueError):
        return False
    return True


def test_a_record_without_codes_keeps_its_words_and_they_are_left_out(subtests):
    """Nobody can tell what its sentences quote, so only its own reader may show them."""
    for code, words in [
        (None, f"the server said {CANARY}"),
        ({"kind": "no-such-kind", "details": []}, f"the server said {CANARY}"),
        ({"kind": "tried", "details": []}, f"the server said {CANARY}"),
        ({"kind": "capped", "details": [None]}, f"the server said {CANARY}"),
        ({"kind": "capped"}, f"the server said {CANARY}"),
    ]:
        with subtests.test(code=code, words=words):
            body = empty(
                findings=(finding(reason=reason_of(words), excluded={words: 2}),), run=Run(notes=(reason_of(words),))
            ).to_json()
            body["findings"][0] |= {
                "reason_code": code,
                "excluded_codes": [] if code is None else [{**code, "count": 2}],
            }
            body["run"]["note_codes"] = [code]

            read = Audit.from_json(body)
            hidden = without_texts(read)

            assert (str(read.findings[0].reason), in_words(read.findings[0].excluded)) == (words, {words: 2})
            assert [str(note) for note in read.run.notes] == [words]
            assert CANARY not in json.dumps(hidden.to_json())


def test_a_record_without_codes_is_read_as_what_it_says():
    """A few of its sentences decide something, and are known."""
    body = empty(
        findings=(finding(reason=because(Kind.VARIANT, because(Kind.APPLIES_NOT))),),
        run=Run(notes=(because(Kind.INTERRUPTED), NOTE)),
    ).to_json()
    del body["findings"][0]["reason_code"], body["run"]["note_codes"]

    read = Audit.from_json(body)

    assert read.findings[0].single
    assert read.run.notes == (because(Kind.INTERRUPTED), NOTE)


def test_what_the_comparison_with_a_baseline_repeats_is_left_out():
    """A finding about the baseline quotes the reasons of others, and the parameters that changed."""
    worse = finding(
        key="authority/worsening",
        measure="worsening",
        outcome=Outcome.FAIL,
        reason=listed(
            [
                because(Kind.NOW_OPEN, "x", "INCOMPLETE", QUOTED),
                because(Kind.CASES_LOST, 1, 9, "c1", QUOTED),
                because(Kind.CHANGES, Said(f"parameters.schema: a -> {CANARY}")),
            ]
        ),
    )

    found = without_texts(empty(findings=(worse,)))

    assert CANARY not in repr(found)
    assert [one.kind for one in found.findings[0].reason.details] == [
        Kind.NOW_OPEN,
        Kind.CASES_LOST,
        Kind.HIDDEN_CHANGES,
    ]


def test_notes_are_kept_if_they_quote_nobody(subtests):
    """A note that holds what somebody said goes."""
    for note, kept in [
        (because(Kind.SERVED_NOW, "m", "m-2", "m-1"), True),
        (because(Kind.NO_USAGE, "m"), True),
        (because(Kind.INTERRUPTED), True),
        (because(Kind.DID_NOT_RUN, 3, 9, "a, b, c"), True),
        (because(Kind.PANEL_SILENT, "three", "b", 3, 40), True),
        (because(Kind.NO_USAGE, name(f"m, which said {CANARY}\nand more")), False),
        (reason_of(CANARY), False),
    ]:
        with subtests.test(note=note, kept=kept):
            found = without_texts(empty(run=Run(notes=(note,))))

            assert found.run.notes == (note if kept else ANOTHER, NOTE)


def test_why_a_server_was_given_up_is_kept_without_its_last_words():
    """Which server it was, and how often it failed, quotes nobody."""
    note = because(Kind.SERVER_LOST, "m", 8, QUOTED)

    found = without_texts(empty(run=Run(notes=(note,)))).run.notes[0]

    assert found == because(Kind.SERVER_LOST, "m", 8, WHY)


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
    numbers = {"started", "seconds", "calls", "tokens", "usd", "per_finding", "kept"}
    names = {"unpriced", "judge", "case_files"}  # names of models, files and judges stay, as the judge's own does
    assert {f.name for f in fields(Run)} == {*numbers, *names, "notes"}
