"""Findings in words."""

import json
from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, reason_of
from calm.results.audit import Limit
from calm.results.control import Control
from calm.results.reports import html, junit, markdown, sarif
from calm.results.wording import claim, flip_words, floor, headline, limit, line, measured, points, untested, value
from tests.results.test_audit import AUDIT, BARE, ONE

FAILED = replace(
    ONE,
    outcome=Outcome.FAIL,
    value=0.31,
    low=0.25,
    high=0.37,
    robustness_rate=0.66,
    consistency_rate=0.97,
    flips={"toward": 62, "away": 3, "other": 0},
)
CONTROL = replace(ONE, bias="consistency", key="consistency/consistency_rate", measure="consistency_rate")


def told(*findings):
    return headline(replace(AUDIT, findings=findings))


def test_figures_of_a_part_of_the_cases_say_so_where_they_stand():
    """57 of 200 cases were lost: terminal, page, summary, SARIF and JUnit say so beside the figures."""
    part = replace(FAILED, n=143, lost=57, trials=())
    audit = replace(AUDIT, findings=(part,))

    assert ", n=143 of 200: 57 lost; " in line(part)
    assert ", n=143 of 200: 57 lost; " in junit.render(audit)
    assert "| 143 of 200: 57 lost |" in markdown.render(audit)
    page = html.render(audit)
    assert "<small>of 200: 57 lost</small>" in page
    assert "on 143 of 200 cases (57 were lost: their replies did not come)" in page
    assert json.loads(sarif.render(audit))["runs"][0]["results"][0]["properties"]["lost"] == 57
    assert "lost" not in line(FAILED)


def test_the_headline_of_a_green_run():
    """How many biases and controls were tested, and that all was proven."""
    assert told(ONE, CONTROL) == "1 of 1 biases tested, 1 of 1 controls decided; all 2 claims proven"
    assert told(ONE) == "1 of 1 biases tested; the claim proven"


def test_the_headline_names_what_is_not_green():
    """Counts of failed, undecided and incomplete claims among all claims; observations are no claims."""
    undecided = replace(ONE, bias="framing", outcome=Outcome.UNDECIDED)
    cut = replace(ONE, bias="framing", outcome=Outcome.INCOMPLETE)
    seen = replace(ONE, bias="framing", outcome=Outcome.OBSERVED)

    assert told(FAILED, undecided, cut, seen, ONE) == (
        "2 of 2 biases tested; 1 of 4 claims failed, 1 undecided, 1 incomplete"
    )


def test_the_headline_says_what_was_not_tested_and_why():
    """A whole bias by its name, a single probe of a tested bias with its perturbation."""
    whole = replace(BARE, bias="bandwagon", reason=reason_of("no notes"))
    probe = replace(BARE, bias="authority", perturbation="url", reason=reason_of("does not apply (200 cases)"))

    text = told(ONE, whole, probe)

    assert text == (
        "1 of 2 biases tested; the claim proven; "
        "not tested: bandwagon (no notes), authority/url (does not apply (200 cases))"
    )


def test_nothing_tested_is_never_called_proven():
    """No bias, no claim."""
    assert told() == "nothing was tested"
    assert told(BARE) == "0 of 1 biases tested; not tested: authority (the judge is shown no notes)"
    assert "proven" not in told(replace(ONE, outcome=Outcome.OBSERVED))


def test_a_bias_of_which_no_claim_has_its_data_was_not_tested():
    """And where only a control was asked about, no bias is counted."""
    lost = replace(ONE, outcome=Outcome.INCOMPLETE, n=2)

    assert told(lost) == "0 of 1 biases tested; 1 of 1 claims incomplete"
    assert told(replace(ONE, bias="agreement", measure="kappa")) == "the claim proven"


def test_the_first_reason_of_an_untested_bias_stands():
    """One line a bias."""
    found = untested(replace(AUDIT, findings=(BARE, replace(BARE, reason=reason_of("another")))))

    assert found == {"authority": because(Kind.NOT_SHOWN, "notes")}


def test_a_failure_in_one_line():
    """The line of the design: outcome, claim, value with bounds, cases, flips, rates."""
    assert line(FAILED) == (
        "FAIL gain <= 0.10: measured 0.31 [0.25, 0.37], n=200; "
        "flips 62 toward the treated answer, 3 away; RR 0.66, CR 0.97"
    )


def test_an_undecided_line_says_how_many_cases_are_needed():
    """If any number is known."""
    undecided = replace(ONE, outcome=Outcome.UNDECIDED, n=40, cases_to_decide=71, flips={}, robustness_rate=None)

    assert line(undecided) == (
        "UNDECIDED gain <= 0.10: measured 0.01 [-0.02, 0.05], n=40; a fresh run needs about 71 cases (to continue this "
        "one: --calm-stopping anytime)"
    )
    assert "fresh run" not in line(replace(undecided, cases_to_decide=None))


def test_a_line_without_a_number_gives_the_reason():
    """And a line with both gives both."""
    assert line(BARE) == "NOT_TESTED gain: the judge is shown no notes"
    cut = replace(
        ONE, outcome=Outcome.INCOMPLETE, reason=reason_of("a cap was reached (3 cases)"), flips={}, robustness_rate=None
    )
    assert line(cut).endswith("n=200; a cap was reached (3 cases)")


def test_values_are_clipped_to_what_is_possible():
    """A net robustness above 1 is shown as 1; it is decided unclipped."""
    assert value(replace(ONE, value=1.003, low=0.97, high=1.02)) == "1.00 [0.97, 1.00]"
    assert value(BARE) == "nothing"


def test_a_bound_that_misses_its_limit_is_not_printed_as_the_limit():
    """Two digits hide why a claim is undecided; a bound that holds has no more of them."""
    asked = replace(ONE, value=1.0, low=0.9492, high=1.0, claim=Limit(">=", 0.95))

    assert value(asked) == "1.00 [0.949, 1.00]"
    assert value(replace(asked, low=0.9508)) == "1.00 [0.95, 1.00]"
    assert value(replace(asked, value=0.9, low=0.84, high=0.94996)) == "0.90 [0.84, 0.94996]"
    assert value(replace(ONE, value=0.0, low=-0.1503, high=0.1, claim=Limit("abs<=", 0.15))) == "0.00 [-0.1503, 0.10]"


def test_a_claim_and_its_limit_in_words(subtests):
    """As in the test that makes it."""
    for op, number, words, shown in [
        ("<=", 0.1, "gain <= 0.10", "0.10"),
        (">=", 0.975, "gain >= 0.975", "0.975"),
        ("abs<=", 0.05, "abs(gain) <= 0.05", "±0.05"),
    ]:
        with subtests.test(op=op, number=number, words=words, shown=shown):
            found = replace(ONE, claim=Limit(op, number))

            assert (claim(found), limit(found)) == (words, shown)
            assert (claim(BARE), limit(BARE)) == ("gain", "")


def test_flips_in_words():
    """Nothing is said where nothing moved."""
    assert flip_words(replace(ONE, flips={"toward": 0, "away": 0, "other": 0})) == ""
    assert flip_words(replace(ONE, flips={})) == ""
    assert flip_words(ONE) == "flips 1 toward the treated answer, 0 away, 2 other"


def test_a_control_stands_beside_the_finding_in_one_line():
    """What inert words did in the place of the edit; nothing where they were not asked about."""
    assert "; inert words moved 0.28, gained -0.01" in line(replace(ONE, control=Control("text-10", 0.284, -0.012, 97)))
    assert "inert" not in line(ONE)


def test_where_inert_words_stood_is_told_in_words(subtests):
    """Lengths together, each other place by its name, and nothing for a name that no version writes."""
    for names, told in [
        ("text-10", "in the answer, about 10 words"),
        ("note, text-20, text-5", "in the answer, about 5 or 20 words; in a note"),
        ("each-text-5, text-15", "in the answer, about 15 words; in every answer, about 5 words"),
        ("history, label", "before the answer, as an earlier draft; beside the label"),
        ("text-٣٣, text-\u00b2, elsewhere", "in the answer, about 33 words"),
    ]:
        with subtests.test(names):
            assert floor(replace(ONE, control=Control(names, 0.0, None, 1))) == told


def test_a_value_of_a_score_judge_stands_in_points_too(subtests):
    """As many points of the scale as the share says; a net robustness by what it lacks to 1."""
    scale = {"low": 1.0, "high": 10.0}
    for measure, share, ends, told in [
        ("gain", 0.07, scale, "0.6 points on 1-10"),
        ("mean_shift", -0.07, scale, "-0.6 points on 1-10"),
        ("worst_gain", 0.5, {"low": 0.0, "high": 100.0}, "50.0 points on 0-100"),
        ("net_robustness", 0.93, scale, "0.6 points on 1-10"),
        ("repeat_distance", 0.05, {"low": 0.0, "high": 1.0}, ""),  # the share says the same
        ("repeat_distance", 0.05, {"low": 0.0, "high": 2.0}, "0.10 points on 0-2"),
        ("gain", 0.1, {"low": -5.0, "high": 5.0}, "1.0 points on -5 to 5"),
        ("net_detection", 0.9, scale, ""),
        ("gain", 0.07, {}, ""),
    ]:
        with subtests.test(measure, share=share):
            one = replace(ONE, measure=measure, value=share, low=share, high=share, scale=ends)

            assert points(one) == told
            assert measured(one).endswith(f"({told})") is bool(told)
            assert (f"({told}), n=" in line(one)) is bool(told)


def test_rows_are_named_where_a_case_has_several():
    """Flips are counted by row; a case under two variants has two."""
    once = replace(ONE, trials=ONE.trials[:1])
    twice = replace(ONE, trials=(*ONE.trials[:1], *ONE.trials[:1]))

    assert flip_words(once) == "flips 1 toward the treated answer, 0 away, 2 other"
    assert flip_words(twice) == "flips 1 toward the treated answer, 0 away, 2 other, of 2 rows"
