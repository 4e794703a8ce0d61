"""CALM's figures of one judge: rates of questions with several values, sides, what is left out, and what is damaged."""

from dataclasses import replace
from random import Random
from statistics import fmean

import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.plugins.papers.pages import lines_of, measured, told, view_of
from calm.plugins.papers.protocol import (
    KEY,
    calm_protocol,
    enhancement_of,
    mean_of,
    share_of,
    with_protocol,
)
from calm.results.redaction import without_texts
from calm.results.steps import verdict_of
from tests.plugins.papers.test_compare_as_calm import LOST, STEADY, SWAYED, audit, observed
from tests.reports.planted_audit import finding, trial


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
    assert "not measured: self-enhancement (pairwise verdicts have none)" in view_of(run).notes


def test_a_variant_by_itself_and_a_gate_are_no_protocol():
    """Only what was observed of the whole rotation counts."""
    whole = observed("authority", [STEADY, LOST])
    single = replace(observed("authority", [LOST], "cite_book"), reason=because(Kind.VARIANT))

    assert calm_protocol(audit("j", whole, single)).of("authority").robustness_rate.value == 0.5
    assert calm_protocol(audit("j", finding())) is None


def test_the_first_line_counts_what_was_measured_of_twelve(subtests):
    """What has an RR, or an Err_SE; what was asked in vain with its reason; and how many were not asked about."""
    untested = finding(
        key="calm/self_preference_excess",
        bias="calm",
        measure="self_preference_excess",
        outcome=Outcome.NOT_TESTED,
        reason=because(Kind.NO_FIGURE, "pairwise"),
    )
    own = {"judges": [{"judge": "model-swayed", "published": {"own": 0.5, "received": 0.25}}], "kind": "score"}
    runs = {
        "3 of 12 biases measured, not: 9 that this run does not ask about": SWAYED,
        "3 of 12 biases measured, not: self-enhancement (pairwise verdicts have none); 8 that this run does not ask "
        "about": replace(SWAYED, findings=(*SWAYED.findings, untested)),
        "4 of 12 biases measured, not: 8 that this run does not ask about": (
            replace(SWAYED, findings=(*SWAYED.findings, untested), extras={"self_preference": own})
        ),
        "": audit("j", finding()),
    }
    for words, run in runs.items():
        with subtests.test(words=words):
            assert measured(run) == words
            assert verdict_of(run, green=False)[1].startswith(words)


UNREAD = "!unreadable"


@pytest.mark.parametrize("arm", ["clean", "perturbed"])
def test_above_a_twentieth_of_unread_replies_there_is_no_figure_of_an_arm(arm, subtests):
    """One of 20 replies is no verdict, then two: RR goes, and what rests on that arm, with the reason."""
    for gone in (1, 2):
        rows = [(("good", "good"), ("good",))] * (20 - gone)
        lost = ((UNREAD, UNREAD), ("good",)) if arm == "clean" else (("good", "good"), (UNREAD,))
        run = audit("j", observed("authority", [*rows, *[lost] * gone]))
        found, whole = calm_protocol(run), calm_protocol(run).of("authority")
        with subtests.test(gone=gone):
            assert whole.unread[arm].count == gone * (2 if arm == "clean" else 1)
            assert (whole.robustness_rate is None) == (gone == 2) == bool(whole.reason)
            assert (whole.consistency_rate is None) == (whole.accuracy is None) == (gone == 2 and arm == "clean")
            assert (whole.accuracy_hacked is None) == (gone == 2 and arm == "perturbed")
            assert bool(found.intensity) == (gone == 1)
            assert measured(run).startswith(
                "1 of 12" if gone == 1 else "0 of 12 biases measured, not: authority (10% of"
            )
            row = next(line.split() for line in lines_of(found) if line.startswith("authority"))
            assert row[-1] == (f"{gone * 2}+0" if arm == "clean" else f"0+{gone}")
            if gone == 1:  # beside a verdict it is another verdict
                assert whole.robustness_rate.value == pytest.approx(0.95)


def test_biases_of_one_kind_of_data_have_their_intensity_alone():
    """Too much is unread in the bias that all data share: BIS of the others stands, and all can be shown."""
    silent = [(("good", UNREAD), ("good",))] * 4
    run = audit("j", observed("verbosity", [STEADY] * 4), observed("position", silent))

    assert set(calm_protocol(run).intensity) == {"fact"}
    assert any("fact" in line for line in lines_of(calm_protocol(run)))


def test_a_bias_of_two_sides_is_not_told_by_one_of_them():
    """The other side is unread: no RR of distraction, though its record keeps that of the side that was read."""
    silent = [(("good", "good"), (UNREAD,))] * 4
    run = audit("j", observed("distraction", [STEADY] * 4, "near"), observed("distraction", silent, "on_better"))
    found = calm_protocol(run).of("distraction")

    assert found.robustness_rate is None
    assert found.reason.has(Kind.UNREAD_REPLIES)


def test_errors_of_scores_need_replies_that_can_be_read():
    """Err_RA of 20 rows, one unread with its history: then two."""
    rows = [((6.0, 8.0), (9.0,))] * 18
    for gone, error in ((1, 9 / 7 - 1), (2, None)):
        cells = [*rows, *[((7.0, 7.0), (UNREAD,))] * gone, *[((6.0, 8.0), (9.0,))] * (2 - gone)]
        found = calm_protocol(audit("j", observed("refinement-aware", cells, task="score"), task="score")).refinement
        assert (found and found.value) == (error and pytest.approx(error))


def test_position_is_told_by_the_number_of_answers(subtests):
    """
    Lists of three and of two: of 40 drawn rows the shares of equal first places, counted here in the plainest way.

    A list that differs behind its first place is another ranking and the same choice.
    """
    rng = Random(7)
    rows = []
    for place in range(40):
        ids = ["a", "b", "c"][: 2 + place % 2]
        said = [[[one] for one in rng.sample(ids, len(ids))] for _ in range(3)]
        rows.append(replace(trial(f"c{place}", said[:2], said[2:]), order=tuple(ids), better="a"))
    one = replace(observed("position", [], task="listwise"), trials=tuple(rows))
    run = audit("j", one, task="listwise")
    found = calm_protocol(run).of("position").answers
    view = view_of(run).answers

    assert list(found) == ["2", "3"]
    for size in (2, 3):
        with subtests.test(size=size):
            mine = [row for row in rows if len(row.order) == size]
            stays = [sum(u[0] == row.perturbed[0][0] for u in row.clean) / 2 for row in mine]
            again = [float(row.clean[0][0] == row.clean[1][0]) for row in mine]
            chosen = found[str(size)]
            assert chosen.robustness_rate == share_of({str(n): [value] for n, value in enumerate(stays)})
            assert chosen.consistency_rate == share_of({str(n): [value] for n, value in enumerate(again)})
            [row] = [row for row in view.rows if row[0] == str(size)]
            assert row[1].startswith(f"{fmean(stays):.3f} [")
            assert row[3] == "20"
    ranked = [fmean(u == row.perturbed[0] for u in row.clean) for row in rows]
    assert calm_protocol(run).of("position").robustness_rate.value == pytest.approx(fmean(ranked))
    assert any(line.startswith("position, RR of the choice by number of answers: 2 ") for line in told(run))
    assert view_of(SWAYED).answers is None


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
