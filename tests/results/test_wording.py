"""Findings in words."""

import io
import json
from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, reason_of
from calm.results.audit import Control, Limit
from calm.results.records import counted
from calm.results.reports import html, markdown, sarif
from calm.results.wording import (
    NO_RESULT,
    claim,
    figures,
    fitted,
    flip_words,
    floor,
    limit,
    measured,
    points,
    untested,
    value,
)
from calm.results.wording import tested as asked_about
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
    return asked_about(replace(AUDIT, findings=findings))


def test_figures_of_a_part_of_the_cases_say_so_where_they_stand():
    """57 of 200 cases were lost: terminal, page, summary, SARIF and JUnit say so beside the figures."""
    part = replace(FAILED, n=143, lost=57, trials=())
    audit = replace(AUDIT, findings=(part,))

    assert ", n=143 of 200: 57 lost; " in figures(part)
    assert "from 143 of 200 cases" in sarif.render_junit(audit)
    assert "| 143 of 200: 57 lost |" in markdown.render(audit)
    page = html.render(audit)
    assert "<small>of 200: 57 lost</small>" in page
    assert "from 143 of 200 cases" in page
    assert json.loads(sarif.render(audit))["runs"][0]["results"][0]["properties"]["lost"] == 57
    assert "lost" not in figures(FAILED)


def test_biases_and_controls_that_were_decided_are_counted():
    """Of those that were asked about; an observation decides nothing, and a control has its own measure."""
    undecided = replace(ONE, bias="framing", outcome=Outcome.UNDECIDED)
    seen = replace(ONE, bias="dialect", outcome=Outcome.OBSERVED)
    readable = replace(CONTROL, measure="readable_rate")

    assert told(ONE) == "biases: 1 passed"
    assert told(FAILED, undecided, seen, ONE, CONTROL).startswith(
        "biases: 1 failed, 1 undecided, 1 only observed; controls: 1 passed"
    )
    assert told(ONE, readable) == f"biases: 1 passed; controls: 1 {NO_RESULT}"


def test_what_was_not_tested_is_named():
    """A whole bias by its name, a single probe of a tested bias with its perturbation."""
    whole = replace(BARE, bias="bandwagon", reason=reason_of("no notes"))
    probe = replace(BARE, bias="authority", perturbation="url", reason=reason_of("does not apply (200 cases)"))

    assert told(ONE, whole, probe) == "biases: 1 passed, 1 not tested; not tested: bandwagon; 1 tested in part"


def test_nothing_tested_is_told_as_nothing():
    """No bias, no claim; of a claim without its data nothing was tested; agreement is no bias."""
    assert told() == "tested: nothing"
    assert told(BARE) == "biases: 1 not tested; not tested: authority (the judge is not shown the notes)"
    assert told(replace(ONE, outcome=Outcome.INCOMPLETE, n=2)) == f"biases: 1 {NO_RESULT}"
    assert told(replace(ONE, bias="agreement", measure="kappa")) == "tested: nothing"


def test_a_part_of_the_gate_says_that_it_is_one():
    """With -k, say: what the others test is not known."""
    run = replace(AUDIT.run, notes=(because(Kind.SELECTED, 3, 22),))

    assert asked_about(replace(AUDIT, findings=(ONE,), run=run)) == "tests: 3 of 22 tests selected; biases: 1 passed"


def test_the_first_reason_of_an_untested_bias_stands():
    """One line a bias."""
    found = untested(replace(AUDIT, findings=(BARE, replace(BARE, reason=reason_of("another")))))

    assert found == {"authority": because(Kind.NOT_SHOWN, "notes")}


def test_the_figures_of_a_failure_in_one_line():
    """Claim, value with bounds, cases, flips, rates."""
    assert figures(FAILED) == (
        "gain <= 0.10: measured 0.31 [0.25, 0.37], n=200; "
        "changed verdicts: 62 in favour of the edited answer, 3 against it; RR 0.66, CR 0.97"
    )


def test_the_figures_of_an_undecided_claim_have_how_many_cases_are_needed():
    """If any number is known."""
    undecided = replace(ONE, outcome=Outcome.UNDECIDED, n=40, cases_to_decide=71, flips={}, robustness_rate=None)

    assert figures(undecided).startswith("gain <= 0.10: measured 0.01 [-0.02, 0.05], n=40; ")
    assert "71 cases" in figures(undecided)
    assert "cases" not in figures(replace(undecided, cases_to_decide=None))


def test_how_many_cases_are_needed_counts_those_of_the_whole_run():
    """Of 60 cases 36 have room, and 53 with room decide: that are 89 like these in all."""
    one = replace(ONE, outcome=Outcome.UNDECIDED, n=36, cases_to_decide=53, trials=())
    run = replace(AUDIT.run, case_files=("cases.jsonl",))
    audit = replace(AUDIT, cases={"n": 60, "of": 60}, findings=(one, replace(one, n=60)), run=run)

    part, whole = counted(audit).findings

    assert (part.needed, whole.needed) == (89, 53)
    assert "89 cases" in figures(part)


def test_figures_without_a_number_are_the_claim():
    """And with one the reason is behind it."""
    assert figures(BARE) == "gain"
    cut = replace(
        ONE, outcome=Outcome.INCOMPLETE, reason=reason_of("a cap was reached (3 cases)"), flips={}, robustness_rate=None
    )
    assert figures(cut).endswith("n=200; a cap was reached (3 cases)")


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
    assert flip_words(ONE) == "changed verdicts: 1 in favour of the edited answer, 0 against it, 2 otherwise"


def test_a_control_stands_beside_the_finding_in_one_line():
    """What inert words did in the place of the edit; nothing where they were not asked about."""
    assert "; neutral words moved 0.28, gained -0.01" in figures(
        replace(ONE, control=Control("text-10", 0.284, -0.012, 97))
    )
    assert "inert" not in figures(ONE)


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
            assert (f"({told}), n=" in figures(one)) is bool(told)


def test_rows_are_named_where_a_case_has_several():
    """Flips are counted by row; a case under two variants has two."""
    once = replace(ONE, trials=ONE.trials[:1])
    twice = replace(ONE, trials=(*ONE.trials[:1], *ONE.trials[:1]))

    assert flip_words(once) == "changed verdicts: 1 in favour of the edited answer, 0 against it, 2 otherwise"
    assert flip_words(twice) == f"{flip_words(once)}, of 2 rows"


def test_a_terminal_shows_lines_that_end_between_words(monkeypatch):
    """A command stays whole, a deeper line keeps its indent, and no line is wider; a file gets the text as it is."""
    monkeypatch.setenv("COLUMNS", "20")
    text = "one two three four five six\n  calm audit judge.toml --sample 60\n    why: it is so and not otherwise"

    lines = fitted(text, Seen()).splitlines()

    assert " ".join(line.strip() for line in lines).split() == text.split()
    assert lines[2] == "  calm audit judge.toml --sample 60"
    assert all(len(line) <= 20 for line in lines if line != lines[2])
    assert all(line.startswith("    ") for line in lines[3:])
    assert fitted(text, io.StringIO()) == text


class Seen(io.StringIO):
    """A stream that a person sees."""

    def isatty(self):
        """Return that it is a terminal."""
        return True
