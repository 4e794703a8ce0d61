"""What is wrong with a judge, by bias and the worst first, the verdict on a run, and what to do next."""

from dataclasses import replace

import pytest

from calm.core.case import COPY
from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.results.audit import Audit, Limit
from calm.results.codes import Ending, State
from calm.results.reports import html, markdown, terminal
from calm.results.sentences import name_of
from calm.results.steps import (
    LOOK,
    MOST_NAMED,
    NEED_TEXT,
    REMEDIES,
    UNNOTICED,
    next_step,
    proven,
    remedies,
    steps_of,
    troubles,
    verdict_of,
)
from tests.reports.planted_audit import empty, finding, judge, sample, trial


def failed(bias, value, *, measure="gain", **changes):
    """Return a claim that failed."""
    claim = Limit(">=", 0.90) if measure == "net_robustness" else Limit("<=", 0.10)
    given = {"bias": bias, "measure": measure, "claim": claim, "outcome": Outcome.FAIL, "value": value}
    return finding(key=f"{bias}/{measure}", **(given | changes))


OPEN = failed("verbosity", 0.1, outcome=Outcome.UNDECIDED)
LOST = failed("bandwagon", None, low=None, high=None, outcome=Outcome.INCOMPLETE)
CHANGED = replace(trial("case-7", ["good"] * 2, ["bad"] * 2, edit="cite_book"), target="bad")


def test_the_worst_comes_first_and_what_sums_up_all_probes_last():
    """What failed, then what lacks replies, then what is undecided; in each part what lies furthest beyond."""
    audit = empty(
        findings=(
            OPEN,
            failed("run", 0.9),
            LOST,
            failed("verbosity-2", 0.33),
            failed("authority", 0.51),
            failed("position", 0.7, measure="net_robustness", expects="SAME"),
            finding(bias="framing"),
        )
    )

    assert [(one.bias, one.outcome) for one in troubles(audit)] == [
        ("authority", Outcome.FAIL),
        ("verbosity-2", Outcome.FAIL),
        ("position", Outcome.FAIL),
        ("run", Outcome.FAIL),
        ("bandwagon", Outcome.INCOMPLETE),
        ("verbosity", Outcome.UNDECIDED),
    ]


def test_what_moves_the_judge_comes_before_what_it_does_not_notice():
    """However far the latter lies beyond: a judge that likes length notices no edit that makes a text longer."""
    blind = failed("fallacy-oversight", -0.3, measure="net_detection", expects="WORSE", claim=Limit(">=", 0.40))
    audit = empty(findings=(blind, failed("verbosity", 0.2)))

    assert [one.bias for one in troubles(audit)] == ["verbosity", "fallacy-oversight"]


def test_the_claim_that_names_a_direction_leads():
    """A pull before verdicts that moved, whatever the expectation; of these, that which lies furthest beyond."""
    for expects in ("NOT_BETTER", "SAME"):
        moved = failed("authority", 0.0, measure="net_robustness", expects=expects)
        pulled = failed("authority", 0.3, measure="pull", expects=expects)
        gained = failed("authority", 0.2, measure="gain", expects=expects)

        [found] = troubles(empty(findings=(moved, gained, pulled)))

        assert found.lead == pulled
        assert found.findings == (pulled, gained, moved)


def test_an_alarm_leads_before_what_says_more():
    """A claim that failed goes before an undecided one of a direction, and a figure before none."""
    [found] = troubles(
        empty(
            findings=(
                failed("authority", 0.5, measure="pull", outcome=Outcome.UNDECIDED),
                failed("authority", 0.5, measure="net_robustness"),
            )
        )
    )
    [other] = troubles(empty(findings=(replace(LOST, bias="a"), failed("a", 0.1, outcome=Outcome.INCOMPLETE))))

    assert (found.outcome, found.lead.measure) == (Outcome.FAIL, "net_robustness")
    assert other.lead.value == 0.1


def test_what_was_accepted_is_no_trouble():
    """Nor what passed, or was only observed."""
    fine = (finding(), failed("a", 0.9, accepted="known"), finding(outcome=Outcome.OBSERVED))

    assert troubles(empty(findings=fine)) == ()


def test_of_what_is_proven_each_bias_has_its_nearest_claim():
    """Those nearest to their limits first, and what sums up all probes last."""
    near, far = (
        finding(key=f"{b}/g", bias=b, measure="gain", claim=Limit("<=", 0.3), value=v)
        for b, v in (("a", 0.2), ("b", 0.0))
    )
    second = replace(far, key="a/h", bias="a")
    whole = replace(near, key="run/gain", bias="run", value=0.29)

    assert proven(empty(findings=(whole, far, second, near, failed("c", 0.9)))) == [near, far, whole]


def verdict(*findings, green=False, **changes):
    return verdict_of(empty(findings=findings, **changes), green=green)


SKIPPED = {"tests": (Ending("a.py::test_a", State.NOT_TESTED, because(Kind.SKIPPED, "x")),)}
PART = {"run": replace(empty().run, notes=(because(Kind.SELECTED, 3, 22),))}
CRASHED = {"tests": (Ending("a.py::test_a", State.CRASHED, because(Kind.CUT_SHORT)),)}


@pytest.mark.parametrize(
    ("expected", "told", "audit", "green"),
    [
        ("GREEN", "every claim holds", empty(findings=(finding(),)), True),
        ("GREEN", "every claim of 3 of 22 tests holds", empty(findings=(finding(),), **PART), True),
        ("GREEN", "every claim holds, but 1 test skipped", empty(findings=(finding(),), **SKIPPED), True),
        ("RED", "1 of 2 claims fails: authority", empty(findings=(finding(), failed("authority", 0.5))), False),
        ("RED", "2 of 2 claims fail: b, a", empty(findings=(failed("a", 0.5), failed("b", 0.6))), False),
        ("RED", "1 of 1 claim fails", empty(findings=(failed("run", 0.5),)), False),
        ("RED", "1 of 2 claims fails: a", empty(findings=(failed("a", 0.5), OPEN), **CRASHED), False),
        ("NOT GREEN", "1 of 2 claims needs more data", empty(findings=(finding(), OPEN)), False),
        ("NOT GREEN", "1 of 2 claims lacks replies", empty(findings=(finding(), LOST)), False),
        ("NOT GREEN", "1 of 2 claims lacks replies, 1 needs more data", empty(findings=(OPEN, LOST)), False),
        ("NOT GREEN", "the run is not whole: ", empty(findings=(finding(),), **CRASHED), False),
        ("NOT GREEN", "no claim passed", empty(findings=(finding(outcome=Outcome.NOT_TESTED),)), False),
        ("NOT GREEN", "no claim passed", empty(), False),
        (
            "NOT GREEN",
            "consistency",
            empty(findings=(finding(), finding(bias="consistency", measure="readable_rate"))),
            False,
        ),
        ("GREEN", "1 of 2 claims hold, 1 undecided (only a warning)", empty(findings=(finding(), OPEN)), True),
        (
            "GREEN",
            "1 of 2 claims hold, 1 accepted (gate.toml or xfail)",
            empty(findings=(finding(), failed("a", 0.9, accepted="known"))),
            True,
        ),
        ("GREEN", "every claim holds", empty(findings=(finding(), finding(outcome=Outcome.OBSERVED))), True),
    ],
)
def test_a_run_is_green_or_red_or_neither_and_says_why(expected, told, audit, green):
    """Red is what was disproven; what was not proven is not green."""
    word, why = verdict_of(audit, green=green)

    assert word == expected
    assert told in why
    assert audit.green(undecided="warn" if "warning" in told else "fail") is green


def test_few_biases_are_named_and_the_others_counted():
    """The worst ones."""
    word, why = verdict(*(failed(f"b-{i}", 0.9 - i / 20) for i in range(7)))

    assert word == "RED"
    assert why.startswith("7 of 7 claims fail")
    assert why.endswith(f"{', '.join(f'b {i}' for i in range(MOST_NAMED))} and {7 - MOST_NAMED} more")


def test_page_summary_comment_and_terminal_say_the_same_of_a_run():
    """The verdict is made once."""
    word, why = verdict_of(sample(), green=False)

    assert (word, why) == ("RED", "2 of 7 claims fail: authority")
    assert f"{word} (exit 1): {why}" in terminal.shown(sample(), terminal.Screen(), terminal.Ended(False, 1))[0].text
    for page in (html.render(sample()), markdown.render(sample()), markdown.render_comment(sample())):
        assert word in page
        assert why in page


def test_a_bias_has_a_name_in_a_sentence():
    """In words, without signs of a key."""
    names = [name_of(bias) for bias in ("authority", "compassion-fade", "run", "baseline")]

    assert names == ["authority", "compassion fade", "all probes together", "the baseline"]


def with_judge(*findings):
    """Return an audit whose judge and cases a command line can name."""
    return empty(findings=findings, run=replace(empty().run, judge="judge.toml"))


def test_what_is_next_after_a_failure_has_a_command():
    """That of the worst bias; the report has all of them."""
    hunted = failed("a", 0.9, hunt={"edits": "authority.cite_book", "where": "answer"})
    audit = with_judge(OPEN, failed("b", 0.5, node="test_b.py::test"), hunted)

    step = next_step(audit, "results.json", green=False)

    first = troubles(audit)[0]
    assert first.bias == "a"
    assert step == next(one for one in steps_of(audit, first) if one.command)
    assert step.command.startswith("calm ")
    commands = [one.command for one in steps_of(audit, first)]
    assert any(one.startswith("calm hunt judge.toml") and "authority.cite_book" in one for one in commands)


def test_what_is_next_where_replies_to_an_edit_hold_no_verdict_is_such_a_reply():
    """To run it again would take the same replies from the cache."""
    silent = replace(CHANGED, perturbed=("!unreadable",) * 2)
    lost = replace(
        OPEN,
        outcome=Outcome.INCOMPLETE,
        reason=because(Kind.UNREAD_REPLIES, "perturbed", 1.0),
        trials=(CHANGED, silent),
        commands={"cite_book": "authority.cite_book"},
    )

    step = next_step(with_judge(lost), "results.json", green=False)

    assert step.command.startswith("calm try judge.toml")
    assert "--edit=authority.cite_book" in step.command


def test_what_is_next_of_an_undecided_bias_is_a_case_that_changed():
    """Where a command can name it; else there is no command, and how many cases decide is said."""
    changed = replace(OPEN, trials=(CHANGED,), commands={"cite_book": "authority.cite_book"}, cases_to_decide=90)

    step = next_step(with_judge(changed), "results.json", green=False)

    assert step.command.startswith("calm try judge.toml")
    assert "--case=case-7" in step.command
    assert "--edit=authority.cite_book" in step.command
    assert next_step(with_judge(replace(OPEN, trials=(CHANGED,))), "results.json", green=False).command == ""
    still = replace(changed, trials=(replace(CHANGED, perturbed=("good",) * 2),))
    [told] = steps_of(with_judge(still), troubles(with_judge(still))[0])
    assert "90 cases" in told.what
    assert told.command == ""


def test_what_is_next_of_a_green_run_is_to_keep_it():
    """As a baseline, if there is a file with results and no baseline yet."""
    audit = empty(findings=(finding(),))
    compared = empty(findings=(finding(baseline={"value": 0.9, "outcome": "PASS"}),))
    pooled = empty(findings=(finding(), finding(key="baseline/net_robustness", bias="baseline")))

    assert next_step(audit, "my results.json", green=True).command == "calm accept 'my results.json'"
    assert next_step(audit, "", green=True) is None
    assert next_step(compared, "results.json", green=True) is None
    assert next_step(pooled, "results.json", green=True) is None
    assert next_step(audit, "results.json", green=False) is None


def test_a_case_of_the_worst_variant_is_looked_at():
    """Not that of another one, which may have changed as much."""
    other = replace(CHANGED, case="case-1", edit="cite_url")
    names = {"cite_book": "authority.cite_book", "cite_url": "authority.cite_url"}
    one = replace(OPEN, trials=(other, CHANGED), commands=names, reason=because(Kind.WORST, 2, "cite_book"))

    assert "--case=case-7" in next_step(with_judge(one), "", green=False).command
    assert (
        "--case=case-1"
        in next_step(
            with_judge(replace(one, trials=(other,), reason=because(Kind.WORST, 2, "cite_url"))), "", green=False
        ).command
    )


def test_remedies_fit_the_judge():
    """A judge without a prompt gets none that would change it, and a score judge none that swaps answers."""
    plain, scored = judge(prompt_sha256=None), judge(task="score")

    assert remedies("verbosity", judge()) == ("debias", "evidence:3", "cot")
    assert remedies("verbosity", plain) == ()
    assert remedies("injection", plain) == ("string-filter", "statistical-filter")
    assert remedies("position", judge()) == ("swap", "rotations")
    assert not {"swap", "rotations"}.intersection(*(remedies(bias, scored) for bias in REMEDIES))
    mute = judge(about={"provider": "systemone"})
    assert remedies("consistency", mute) == ("swap",)
    assert {one for bias in REMEDIES for one in remedies(bias, mute) if one.partition(":")[0] in NEED_TEXT} == set()


def test_of_damage_a_case_that_the_judge_did_not_notice_is_shown():
    """A verdict that stays is the fault there; one that the first ask shows comes first."""
    named = {"drop": "completeness.drop"}
    noticed = replace(CHANGED, edit="drop")
    missed = replace(noticed, case="case-8", perturbed=noticed.clean)
    late = replace(noticed, case="case-9", perturbed=(noticed.clean[0], "bad"))
    one = failed("completeness", 0.2, measure="worst_detection", trials=(noticed, late, missed), commands=named)
    other = replace(one, measure="gain", key="completeness/gain", trials=(missed, late, noticed))

    for found, what, case in ((one, UNNOTICED, "case-8"), (other, LOOK, "case-7")):
        audit = with_judge(found)
        (step,) = [step for step in steps_of(audit, troubles(audit)[0]) if step.command.startswith("calm try")]
        assert (step.what, f"--case={case}" in step.command) == (what, True)


def test_a_damaged_copy_is_noticed_where_its_original_wins():
    """The verdict stays there: the case that is shown is one in which it does not."""
    noticed = replace(CHANGED, target=f"good{COPY}", perturbed=CHANGED.clean, edit="drop")
    missed = replace(noticed, case="case-8", perturbed=("TIE",) * 2)
    given = {"trials": (noticed, missed), "commands": {"drop": "completeness.drop"}}
    audit = with_judge(failed("completeness", 0.2, measure="worst_detection", **given))

    (step,) = [step for step in steps_of(audit, troubles(audit)[0]) if step.command.startswith("calm try")]

    assert "--case=case-8" in step.command


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_that_is_made_again_takes_replies_from_the_cache_only_if_they_were_kept(kept):
    """A record says whether they were, also when it is read again."""
    audit = with_judge(LOST)
    audit = Audit.from_json(replace(audit, run=replace(audit.run, kept=kept)).to_json())

    (step,) = steps_of(audit, troubles(audit)[0])

    assert audit.run.kept is kept
    assert ("from the cache" in step.what) is kept
