"""CALM's figures of one judge: rates of questions with several values, sides, what is left out, and what is damaged."""

from dataclasses import replace

import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.plugins.papers.pages import lines_of, view_of
from calm.plugins.papers.protocol import (
    KEY,
    calm_protocol,
    enhancement_of,
    mean_of,
    share_of,
    with_protocol,
)
from calm.results.redaction import without_texts
from tests.plugins.papers.test_compare_as_calm import LOST, STEADY, SWAYED, audit, observed
from tests.reports.planted_audit import finding


def test_values_of_one_question_count_as_less_than_as_many_questions():
    """Three rows of one question, one of another: the mean of the four, with the interval of 16 / 10 questions."""
    found = share_of({"a": [1.0, 1.0, 0.0], "b": [0.0]})
    n, z2 = 1.6, 1.959963984540054**2
    centre, half = 0.5 + z2 / (2 * n), (z2 * (0.25 / n + z2 / (4 * n * n))) ** 0.5

    assert (found.value, found.n) == (0.5, 2)
    assert (found.low, found.high) == pytest.approx([(centre + side * half) / (1 + z2 / n) for side in (-1, 1)])
    assert share_of({}) is None


def test_a_mean_of_sides_has_the_interval_of_the_smaller():
    """Rates of 1 and of .5 make .75, with the interval of 3 of 4; one side is itself."""
    many, few = share_of({str(n): [1.0] for n in range(9)}), share_of({str(n): [n % 2] for n in range(4)})

    assert mean_of([many, few]) == share_of({str(n): [float(n > 0)] for n in range(4)})
    assert mean_of([few]) == few
    assert mean_of([]) is None


def test_a_record_without_texts_says_why_in_words():
    """The figures are computed anew, so the reason is no digest; a record without them gets none."""
    untested = finding(
        key="calm/self_preference_excess",
        bias="calm",
        measure="self_preference_excess",
        outcome=Outcome.NOT_TESTED,
        reason=because(Kind.NO_FIGURE, "pairwise"),
    )
    run = with_protocol(replace(SWAYED, findings=(*SWAYED.findings, untested)))

    assert without_texts(run).extras == run.extras
    assert run.extras[KEY]["biases"][-1] == {"bias": "self-enhancement", "reason": "pairwise verdicts have none"}
    assert KEY not in without_texts(SWAYED).extras
    assert "without figures: self-enhancement (pairwise verdicts have none)" in lines_of(calm_protocol(run))


def test_a_variant_by_itself_and_a_gate_are_no_protocol():
    """Only what was observed of the whole rotation counts."""
    whole = observed("authority", [STEADY, LOST])
    single = replace(observed("authority", [LOST], "cite_book"), reason=because(Kind.VARIANT))

    assert calm_protocol(audit("j", whole, single)).of("authority").robustness_rate.value == 0.5
    assert calm_protocol(audit("j", finding())) is None


def test_a_damaged_record_costs_its_part_and_not_the_report():
    """A scale that ends before it begins."""
    assert view_of(replace(SWAYED, judge=replace(SWAYED.judge, scale={"low": 5, "high": 1}))) is None


def test_own_scores_that_a_record_does_not_have_are_none(subtests):
    """No scores, another judge, no scale of its own, or damaged."""
    row = {"judge": "m", "published": {"own": 0.5, "received": 0.25}}
    asked = {"model": "m", "scale": {"low": 0, "high": 8}}

    assert enhancement_of({"kind": "score", "judges": [row], "judged": [asked]}, "m").value == 1.0
    for record in (
        None,
        {"kind": "rubric", "judges": [row]},
        {"kind": "score", "judges": [{**row, "judge": "other"}]},
        {"kind": "score", "judges": [row], "judged": [{"model": "m"}]},
        {"kind": "score", "judges": [{"judge": "m", "published": {"own": "x", "received": 1}}]},
        {"kind": "score", "judges": 3},
    ):
        with subtests.test(record=record):
            assert enhancement_of(record, "m") is None
