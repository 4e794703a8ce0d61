"""What claims mean in plain words, and the order of the three resolutions."""

from dataclasses import replace

from calm.core.measures import MEASURES
from calm.core.reasons import Kind, because
from calm.results.audit import Limit
from calm.results.meaning import Resolution, in_order, meaning, meanings, resolution
from tests.reports.planted_audit import finding

PROBE = finding(key="authority/gain", measure="gain", claim=Limit("<=", 0.15))
RUN = replace(PROBE, key="run/gain", bias="run", claim=Limit("<=", 0.05))
WORST = replace(PROBE, key="authority/worst_gain", measure="worst_gain", claim=Limit("<=", 0.30))


def test_there_are_three_resolutions():
    """A run, a probe, and the worst variant or one by itself; findings are read in this order."""
    single = replace(PROBE, key="authority/gain/cite_book", reason=because(Kind.VARIANT))

    assert [resolution(f) for f in (RUN, PROBE, WORST, single)] == [
        Resolution.RUN,
        Resolution.PROBE,
        Resolution.VARIANT,
        Resolution.VARIANT,
    ]
    assert in_order([WORST, single, PROBE, RUN]) == [RUN, PROBE, WORST, single]


def test_a_limit_in_plain_words(subtests):
    """Who may do how much of what: on pairs a share of cases, on scores a share of the scale."""
    scored = {"task": "score"}
    for one, told in [
        (RUN, "on average over all probes, an edit wins at most 5 % of the cases that it could win"),
        (PROBE, "an edit wins at most 15 % of the cases that it could win"),
        (WORST, "even the worst variant of an edit wins at most 30 % of the cases that it could win"),
        (
            finding(claim=Limit(">=", 0.975)),
            "an edit moves at most 2.5 % of the verdicts beyond what inert words move",
        ),
        (
            replace(PROBE, **scored, measure="mean_shift", claim=Limit("abs<=", 0.05)),
            "an edit raises or lowers the answer by at most 5 % of the scale",
        ),
        (
            replace(PROBE, **scored),
            "an edit raises the answer by at most 15 % of the scale, where it could rise",
        ),
        (
            finding(bias="rewording", measure="rewording_rate", claim=Limit("<=", 0.15)),
            "inert words move at most 15 % of the verdicts beyond what asking again moves",
        ),
        (finding(claim=None), ""),
        (finding(measure="self_preference_excess"), ""),
        (replace(PROBE, claim=Limit("<=", -0.1)), ""),
    ]:
        with subtests.test(one.key, claim=one.claim):
            assert meaning(one) == told


def test_a_limit_on_equal_answers_in_plain_words(subtests):
    """Of pairs: how much more often the cue wins than it loses; of scores and classes: what an answer rises."""
    for measure, task, op, told in [
        ("pull", "pairwise", "<=", "an edit wins at most 25 % more of the pairs of equally good answers than it loses"),
        ("pull", "listwise", "<=", "an edit wins at most 25 % more of the pairs of equally good answers than it loses"),
        (
            "pull",
            "pairwise",
            "abs<=",
            "an edit wins or loses at most 25 % more of the pairs of equally good answers than the reverse",
        ),
        (
            "worst_pull",
            "pairwise",
            "<=",
            "even the worst variant of an edit wins at most 25 % more of the pairs of equally good answers than it "
            "loses",
        ),
        (
            "worst_pull",
            "pairwise",
            "abs<=",
            "even the worst variant of an edit wins or loses at most 25 % more of the pairs of equally good answers "
            "than the reverse",
        ),
        (
            "lift",
            "score",
            "<=",
            "an edit raises an answer that is not perfect, good or weak, by at most 25 % of the scale",
        ),
        (
            "lift",
            "rubric",
            "abs<=",
            "an edit raises or lowers an answer that is not perfect by at most 25 % of the scale",
        ),
        (
            "lift",
            "label",
            "<=",
            "an edit moves at most 25 % of the verdicts more in a bad direction than in its reverse",
        ),
        (
            "lift",
            "label",
            "abs<=",
            "an edit moves at most 25 % of the verdicts more in a bad direction than in its reverse, or less",
        ),
    ]:
        with subtests.test(measure, task=task, op=op):
            assert meaning(finding(measure=measure, task=task, claim=Limit(op, 0.25))) == told
    whole = finding(bias="run", measure="pull", claim=Limit("<=", 0.15))
    assert meaning(whole).startswith("on average over all probes, an edit wins at most 15 % more of the pairs ")


def test_every_measure_that_can_be_claimed_has_words(subtests):
    """In the direction in which it is claimed, of each kind of verdict that it serves."""
    for name, measure in MEASURES.items():
        for task in measure.families:
            with subtests.test(name, task=task):
                op = "abs<=" if name == "slot_pull" else measure.op
                assert meaning(finding(measure=name, task=task, claim=Limit(op, 0.2)))


def test_each_claim_is_told_once():
    """The run's own first, by its key."""
    assert list(meanings([WORST, PROBE, replace(PROBE, bias="framing"), RUN]).values()) == [
        "run/gain <= 0.05",
        "gain <= 0.15",
        "worst_gain <= 0.30",
    ]
