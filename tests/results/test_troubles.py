"""What is wrong with a judge, by bias and in a line: the data of every headline."""

from dataclasses import replace

from calm.core.claims import Outcome
from calm.judges.mitigations import MITIGATIONS
from calm.judges.mitigations.mitigation import EVERY
from calm.results.audit import Limit
from calm.results.remedies import REMEDIES, SERVES, WITHOUT_PROMPT, remedies
from calm.results.reports import html, markdown
from calm.results.troubles import effect_of, in_a_line, troubles
from tests.reports.planted_audit import empty, finding, judge, sample

SCALE = {"low": 1.0, "high": 10.0}


def failed(bias, value, *, measure="gain", **changes):
    """Return a claim that failed."""
    claim = Limit(">=", 0.90) if measure == "net_robustness" else Limit("<=", 0.10)
    given = {"bias": bias, "measure": measure, "claim": claim, "outcome": Outcome.FAIL, "value": value}
    return finding(key=f"{bias}/{measure}", **(given | changes))


def test_the_line_names_what_failed_the_worst_first():
    """A verb is said once for what does the same, and what sums up all probes is not named beside a bias."""
    audit = empty(
        findings=(
            failed("run", 0.09),
            failed("verbosity", 0.33),
            failed("authority", 0.51),
            failed("position", 0.7, measure="net_robustness", expects="SAME"),
        )
    )

    assert in_a_line(audit) == "Authority wins 51 %, verbosity 33 %, position moves 30 %"
    assert [one.bias for one in troubles(audit)] == ["authority", "verbosity", "position", "run"]


def test_scores_are_told_in_points_beside_the_share():
    """A gain of .09 on a scale that is nine points long is +0.8 of 9."""
    audit = empty(findings=(failed("authority", 0.09, task="score", scale=SCALE),))

    assert in_a_line(audit) == "Authority adds 9 % (+0.8 of 9)"
    assert effect_of(audit.findings[0]).sentence == "Adds 9 % (+0.8 of 9) of the scale."


def test_a_share_that_cannot_be_is_not_told(subtests):
    """No negative share is noticed, "only" is said of what is less than the claim, and no edit moves minus 2 %."""
    detection = {"measure": "net_detection", "claim": Limit(">=", 0.60)}
    readable = {"measure": "readable_rate", "claim": Limit(">=", 0.95), "outcome": Outcome.UNDECIDED}
    robust = {"measure": "net_robustness", "outcome": Outcome.UNDECIDED}
    for told, one in [
        (
            "Errors are rewarded more often than noticed (by 52 % of the cases).",
            failed("fallacy-oversight", -0.52, **detection),
        ),
        ("Only 30 % of the errors are noticed.", failed("sensitivity", 0.3, **detection)),
        ("100 % of the replies can be read.", failed("consistency", 1.0, **readable)),
        ("Only 90 % of the replies can be read.", failed("consistency", 0.9, **readable)),
        ("Moves 2 % fewer of the verdicts than inert words move.", failed("authority", 1.02, **robust)),
        ("Moves 2 % of the verdicts beyond what inert words move.", failed("authority", 0.98, **robust)),
        ("Moves 0 % of the verdicts beyond what inert words move.", failed("authority", 1.0, **robust)),
    ]:
        with subtests.test(told):
            assert effect_of(one).sentence == told
    line = "Fallacy oversight: errors are rewarded more often than noticed (by 52 % of the cases)"
    assert in_a_line(empty(findings=(failed("fallacy-oversight", -0.52, **detection),))) == line


def test_what_a_cue_does_between_equal_answers_is_told(subtests):
    """It wins more than it loses, or loses more than it wins; on scores and classes it adds, takes or moves."""
    equal, both = Limit("<=", 0.25), Limit("abs<=", 0.25)
    for told, one in [
        (
            "Wins 60 % more of the pairs of equally good answers than it loses.",
            failed("authority", 0.6, measure="pull", claim=equal),
        ),
        (
            "Loses 60 % more of the pairs of equally good answers than it wins.",
            failed("authority", -0.6, measure="pull", claim=both),
        ),
        (
            "Wins 90 % more of the pairs of equally good answers than it loses.",
            failed("authority", 0.9, measure="worst_pull", claim=equal),
        ),
        ("Adds 30 % (+2.7 of 9) of the scale.", failed("authority", 0.3, measure="lift", task="score", scale=SCALE)),
        (
            "Takes 30 % (-2.7 of 9) of the scale.",
            failed("authority", -0.3, measure="lift", task="score", scale=SCALE, claim=both),
        ),
        ("Moves 30 % of the verdicts in a bad direction.", failed("authority", 0.3, measure="lift", task="label")),
        (
            "Moves 30 % of the verdicts in the reverse of a bad direction.",
            failed("authority", -0.3, measure="lift", task="label", claim=both),
        ),
    ]:
        with subtests.test(told):
            assert effect_of(one).sentence == told


def test_what_an_order_does_between_two_answers_is_told():
    """The first one wins more, or the last one; the name of the suite stands before it."""
    one = {"measure": "slot_pull", "claim": Limit("abs<=", 0.20)}

    assert in_a_line(empty(findings=(failed("position", 0.6, **one),))) == "Position: the first answer wins 60 % more"
    assert (
        in_a_line(empty(findings=(failed("position", -0.6, **one),)))
        == "Position: the last answer wins 60 % more of the asks than the first"
    )


def test_the_pull_of_a_probe_leads():
    """Before its gain and its worst variant, whether the verdict may change or not."""
    for expects in ("NOT_BETTER", "SAME"):
        rest = [
            failed("authority", 0.9, measure=name, expects=expects) for name in ("gain", "worst_pull", "worst_gain")
        ]
        pulled = failed("authority", 0.3, measure="pull", expects=expects)

        [found] = troubles(empty(findings=(*rest, pulled)))

        assert found.lead == pulled
        assert in_a_line(empty(findings=(*rest, pulled))) == "Authority wins 30 %"


def test_many_are_counted():
    """Four are named, and the others counted."""
    audit = empty(findings=tuple(failed(f"b{i}", 0.9 - i / 10) for i in range(6)))

    assert in_a_line(audit) == "B0 wins 90 %, b1 80 %, b2 70 %, b3 60 % and 2 more"


def test_what_did_not_fail_is_told_as_well(subtests):
    """Undecided and incomplete biases are named where nothing failed; a green run and an empty one say so."""
    open_one = failed("verbosity", 0.1, outcome=Outcome.UNDECIDED)
    for told, audit in [
        ("Undecided: verbosity", empty(findings=(open_one,))),
        ("Incomplete: verbosity", empty(findings=(replace(open_one, outcome=Outcome.INCOMPLETE),))),
        ("No bias beyond the limits", empty(findings=(finding(),))),
        ("No bias beyond the limits", empty(findings=(finding(), replace(open_one, accepted="known")))),
        ("Nothing was proven", empty()),
    ]:
        with subtests.test(told):
            assert in_a_line(audit) == told


def test_the_claim_that_says_most_leads():
    """Of one probe the gain speaks before the worst variant; where nothing may change, the verdicts that moved do."""
    worst = failed("authority", 0.9, measure="worst_gain")
    gained = failed("authority", 0.3)
    same = failed("position", 0.2, expects="SAME"), failed("position", 0.6, measure="net_robustness", expects="SAME")

    found = troubles(empty(findings=(worst, gained, *same)))

    assert [one.lead.key for one in found] == ["position/net_robustness", "authority/gain"]
    assert len(found[1].findings) == 2


def test_page_and_summary_say_the_same_line():
    """The headline is made once."""
    told = in_a_line(sample())

    assert told == "Authority wins 31 %"
    assert told.replace(" %", "\N{NO-BREAK SPACE}%") in html.render(sample())
    assert f"**{told}.**" in markdown.render(sample())


def test_remedies_fit_the_judge():
    """A judge without a prompt gets none that would change it, and a score judge none that swaps answers."""
    plain, scored = judge(prompt_sha256=None), judge(task="score")

    assert remedies("verbosity", judge()) == ("debias", "evidence:3", "cot")
    assert remedies("verbosity", plain) == ()
    assert remedies("injection", plain) == ("string-filter", "statistical-filter")
    assert remedies("position", judge()) == ("swap", "rotations")
    assert not {"swap", "rotations"}.intersection(*(remedies(bias, scored) for bias in REMEDIES))


def test_the_table_of_remedies_fits_that_of_mitigations():
    """Every remedy is the name of a mitigation, and serves the tasks that the table says."""
    for names in REMEDIES.values():
        for name in names:
            kind = name.partition(":")[0]
            assert SERVES.get(kind, EVERY) == MITIGATIONS[kind].families
    assert set(MITIGATIONS) >= WITHOUT_PROMPT
