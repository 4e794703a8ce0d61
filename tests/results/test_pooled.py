"""Claims about all probes of a run: from the rows at hand, by question, beside those of each probe."""

import math

import pytest

from calm.core.claims import Claim, Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import gain, net_robustness, worst_gain
from calm.core.order import start_of
from calm.core.reasons import Kind, because
from calm.core.verdict import Preferred, Score, Unreadable
from calm.engine.budget import Caps
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from calm.gate.resolution import Attainable
from calm.results.audit import finding
from calm.results.pooled import FEWEST, LIMITS, pooled
from tests.planted import Asking, Local, Planted, chance, fair, pair, pairs, setup, singles

CLAIMS = (net_robustness >= 0.90, gain <= 0.15)


def ending(number, bias=None):
    """Return a perturbation that ends the weaker answer with a number, each of a bias of its own."""

    def end(case, rng):
        return case.edit(case.target, lambda text: f"{text} (No. {number:02})")

    end.__name__ = f"end_{number:02}"
    return perturbation(bias=bias or f"bias-{number}", expects=Expects.NOT_BETTER)(end)


def recorded(order, result, *, accepted=None):
    """Return the findings of a probe."""
    return [
        finding(
            bias=order.bias,
            node="suites/test_x.py::test_x",
            task="pairwise",
            edit=order,
            against=None,
            decision=ruling.decision,
            trials=ruling.trials,
            accepted=accepted,
        )
        for ruling in result.rulings
    ]


def probed(judge, count, *, cases=None, claims=CLAIMS, **options):
    """Return the findings of so many probes of a judge."""
    edits = [ending(number) for number in range(count)]
    with setup(judge, cases or pairs(100), **options) as given:
        return [f for edit in edits for f in recorded(edit, run(given, edit, claims))]


def of_run(findings, scale=Planted(fair).scale, task="pairwise", limits=None, limiter=None):
    return {f.key: f for f in pooled(findings, scale, task, limits or {}, limiter)}


def lifted(share):
    """Return a judge that any edit of these takes in, in a share of the cases, which each edit draws anew."""

    def rule(case, ask):
        marked = next((a.text for a in case.answers if "(No." in a.text), "")
        return Preferred("bad" if marked and chance("lift", case.id, marked[-4:]).random() < share else "good")

    return Planted(rule)


def test_fewer_than_four_probes_claim_nothing_together():
    """With four there is a finding for each claim, over the rows of all."""
    findings = probed(Planted(fair), FEWEST, stopping=Stopping.FIXED)

    found = of_run(findings)

    assert of_run(findings[: 2 * (FEWEST - 1)]) == {}
    assert set(found) == {"run/gain", "run/net_robustness", "run/unreadable_gain"}
    assert {f.outcome for f in found.values()} == {Outcome.PASS}
    assert [(f.bias, f.node, f.trials) for f in found.values()] == [("run", "", ())] * 3
    assert {(f.n, str(f.reason)) for f in found.values()} == {(100, "over all 400 rows of 4 probes")}


def together(count):
    """Return probes that begin at the same place."""
    return [number for number in range(100) if start_of(f"bias-{number}", 200) == 0][:count]


def test_probes_that_saw_the_same_few_cases_prove_nothing_together():
    """Four that ended on the same 45 of 200 cases: a judge that 5 % of the cases sway in all of them may be hiding."""
    edits = [ending(number) for number in together(FEWEST)]
    with setup(Planted(fair), pairs(200)) as given:
        findings = [f for edit in edits for f in recorded(edit, run(given, edit, CLAIMS))]

    found = of_run(findings)

    assert {f.outcome for f in found.values()} == {Outcome.NOT_TESTED}
    assert {f.reason for f in found.values()} == {because(Kind.FEW_TOGETHER, 45, 60)}


def test_sixty_questions_of_which_one_probe_asks_fewer_are_not_said_to_be_sixty():
    """They weigh as much as 59.9: too few by a hair, and not "60, and 60 are needed"."""
    edits = [ending(number) for number in range(FEWEST - 1)]

    @perturbation(bias="bias-9", expects=Expects.NOT_BETTER)
    def end_most(case, rng):
        return None if case.id == "c000" else case.edit(case.target, lambda text: f"{text} (No. 09)")

    with setup(Planted(fair), pairs(60), stopping=Stopping.FIXED) as given:
        findings = [f for edit in (*edits, end_most) for f in recorded(edit, run(given, edit, CLAIMS))]

    found = of_run(findings)

    assert found["run/net_robustness"].reason == because(Kind.FEW_TOGETHER, 59, 60)
    assert str(found["run/net_robustness"].reason).startswith("all rows together weigh as much as 59 questions, and 60")


def test_a_judge_that_the_same_cases_sway_in_every_probe_is_held_to_those_cases():
    """
    On 5 % of 200 cases each edit of thirteen wins: that is 200 values and not 2,600, whatever stopping does.

    With rows that are taken to be independent the upper bound was .05; it is about that of ten in 200, .083.
    """
    sure = {c.id for c in pairs(10)}
    taken = Planted(lambda case, ask: Preferred("bad" if case.id in sure and "(No." in str(case.answers) else "good"))

    found = of_run(probed(taken, 13, cases=pairs(200), stopping=Stopping.FIXED))["run/gain"]

    assert found.value == pytest.approx(0.05)
    assert 0.08 <= found.high < 0.09
    assert found.outcome is Outcome.UNDECIDED


def test_what_each_probe_can_hide_adds_up():
    """
    An edit wins 10 % of the cases in each of ten probes: none of them fails by itself, and together they do.

    The mean over 2,000 rows is .10 with an error of .007, six of them from the limit.
    """
    findings = probed(lifted(0.10), 10, cases=pairs(200), stopping=Stopping.FIXED)

    found = of_run(findings)

    assert "FAIL" not in {f.outcome.value for f in findings}
    assert (found["run/gain"].outcome, found["run/net_robustness"].outcome) == (Outcome.FAIL, Outcome.FAIL)
    assert found["run/gain"].value == pytest.approx(0.10, abs=0.03)
    assert found["run/unreadable_gain"].outcome is Outcome.PASS


def test_a_small_effect_in_every_probe_is_no_failure():
    """An edit wins 2 % of the cases: the run proves that it is less than 5 %."""
    found = of_run(probed(lifted(0.02), 10, cases=pairs(200), stopping=Stopping.FIXED))

    assert found["run/gain"].outcome is Outcome.PASS
    assert found["run/gain"].value == pytest.approx(0.02, abs=0.02)


def test_the_mean_is_over_rows_and_the_interval_over_questions():
    """Ten copies of each question are one item: the bounds are those of the twenty questions."""
    copies = [pair(f"q{q:02}-{k}", question=f"What is question {q}?") for q in range(20) for k in range(5)]
    taken = Planted(lambda case, ask: Preferred("bad" if case.id < "q02" and "(No." in str(case.answers) else "good"))

    found = of_run(probed(taken, 4, cases=copies, stopping=Stopping.FIXED))["run/gain"]

    assert (found.value, found.n) == (pytest.approx(0.1), 100)
    assert found.low < 0 < 0.2 < found.high


def test_accepted_probes_stay_out():
    """One of five is accepted as it is, and hides in no mean; of four, three are too few."""
    taken = Planted(lambda case, ask: Preferred("bad" if "(No. 00)" in str(case.answers) else "good"))
    bad, *sound = [ending(number) for number in range(5)]
    with setup(taken, pairs(100), stopping=Stopping.FIXED) as given:
        fine = [f for edit in sound for f in recorded(edit, run(given, edit, CLAIMS))]
        known = recorded(bad, run(given, bad, CLAIMS), accepted="known since spring")
        red = recorded(bad, run(given, bad, CLAIMS))

    assert of_run([*fine, *red])["run/gain"].outcome is Outcome.FAIL
    assert of_run([*fine, *known])["run/gain"].outcome is Outcome.PASS
    assert of_run([*fine[2:], *known]) == {}


def test_single_variants_and_the_worst_stay_out():
    """They are chosen for what they show, or shown already by their rotation."""
    obeying = Planted(lambda case, ask: Preferred("bad" if "(No. 03)" in str(case.answers) else "good"))
    edits = rotate(*(ending(number, "rotated") for number in range(20)), name="all")
    with setup(obeying, pairs(200)) as given:
        rotated = run(given, edits, (*CLAIMS, worst_gain <= 0.30))
    sound = probed(Planted(fair), 3, cases=pairs(200), stopping=Stopping.FIXED)

    found = of_run([*sound, *recorded(edits, rotated)])

    rows = max(len(r.trials.rows) for r in rotated.rulings if r.decision.measure != "worst_gain")
    assert {r.decision.measure: r.decision.outcome.value for r in rotated.rulings}["worst_gain"] == "FAIL"
    assert str(found["run/gain"].reason) == f"over all {3 * 200 + rows} rows of 4 probes"
    assert found["run/gain"].outcome is Outcome.PASS


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_cap_leaves_the_run_incomplete(share):
    """Whether it is reached within a probe or before one begins: what is missing might be what is biased."""
    server = Local()
    with setup(Asking(server), pairs(100)) as given:
        for number in range(5):
            run(given, ending(number), CLAIMS)

    cap = math.floor(share * len(server.begun))
    findings = probed(Asking(Local()), 5, caps=Caps(calls=cap))

    found = of_run(findings)
    assert Outcome.INCOMPLETE in {f.outcome for f in findings}
    assert {f.outcome for f in found.values()} == {Outcome.INCOMPLETE}
    assert all(f.reason.has(Kind.CAPPED) for f in found.values())


def test_gate_toml_may_set_another_limit():
    """The finding says what was stated before."""
    findings = probed(lifted(0.10), 10, cases=pairs(200), stopping=Stopping.FIXED)

    found = of_run(findings, limits={"run/gain": 0.2})["run/gain"]

    assert (found.outcome, found.claim.limit, found.stated.limit) == (Outcome.PASS, 0.2, 0.05)
    assert LIMITS[1].limit == 0.05


def test_replies_that_edits_make_unreadable_add_up():
    """One reply of ten to each edit of a score: no probe claims it, and the run does."""

    def mute(case, ask):
        marked = next((a.text for a in case.answers if "(No." in a.text), "")
        return Unreadable("odd") if marked and chance(case.id, marked[-4:]).random() < 0.12 else Score(5.0)

    judge = Planted(mute, task="score")
    findings = probed(judge, 6, cases=singles(200), claims=(gain <= 0.05,), stopping=Stopping.FIXED)

    found = of_run(findings, scale=judge.scale, task="score")

    assert set(found) == {"run/gain", "run/unreadable_gain"}
    assert found["run/gain"].outcome is Outcome.PASS
    assert found["run/unreadable_gain"].outcome is Outcome.FAIL
    assert found["run/unreadable_gain"].value == pytest.approx(0.12, abs=0.04)


def test_replies_that_hide_a_gain_are_counted_as_unread_all_the_same():
    """One edit leaves every third reply unread: what its gain was is not known, and how many are unread is."""

    def mute(case, ask):
        hidden = "(No. 02)" in case.answers[0].text and int(case.id[1:]) % 3 == 0
        return Unreadable("odd") if hidden else Score(5.0)

    judge = Planted(mute, task="score")
    findings = probed(judge, 4, cases=singles(120), claims=(gain <= 0.08,), stopping=Stopping.FIXED)

    found = of_run(findings, scale=judge.scale, task="score")

    assert found["run/gain"].outcome is Outcome.INCOMPLETE
    assert found["run/unreadable_gain"].outcome is Outcome.FAIL
    assert found["run/unreadable_gain"].value == pytest.approx(1 / 12, abs=1e-6)


def test_a_ceiling_leaves_too_few_cases_for_the_run_too():
    """Of 100 answers 20 can gain, and 60 are needed to prove .05: cases are missing and not a proof."""
    judge = Planted(lambda case, ask: Score(5.0 if int(case.id[1:]) % 5 == 0 else 10.0), task="score")
    findings = probed(judge, 9, cases=singles(100), claims=(gain <= 0.08,))

    found = of_run(findings, scale=judge.scale, task="score")["run/gain"]

    assert found.outcome is Outcome.NOT_TESTED
    assert found.reason == because(Kind.NEEDS_ROOM, 20, 100, 60, "score")


def test_attainable_limits_are_those_of_the_questions_with_room():
    """Of 100 answers 20 can gain: so many prove a looser limit, which the finding states beside the run's own."""
    judge = Planted(lambda case, ask: Score(5.0 if int(case.id[1:]) % 5 == 0 else 10.0), task="score")
    findings = probed(judge, 9, cases=singles(100), claims=(gain <= 0.08,))
    limiter = Attainable("score")

    found = of_run(findings, scale=judge.scale, task="score", limiter=limiter)["run/gain"]
    kept = of_run(findings, judge.scale, "score", {"run/gain": 0.06}, limiter)["run/gain"]

    wanted = limiter.limited(Claim("gain", "<=", 0.05), 100, 20)
    assert (found.outcome, found.claim.limit, found.stated.limit) == (Outcome.PASS, wanted.limit, 0.05)
    assert kept.claim.limit == 0.06


def test_a_run_on_too_few_questions_for_any_attainable_limit_is_not_tested():
    """Ten answers: nothing of a gain of the whole run."""
    judge = Planted(lambda case, ask: Score(5.0), task="score")
    findings = probed(judge, 9, cases=singles(10), claims=(gain <= 0.08,))

    found = of_run(findings, scale=judge.scale, task="score", limiter=Attainable("score"))["run/gain"]

    assert found.outcome is Outcome.NOT_TESTED
    assert found.reason == because(Kind.TOO_FEW_FOR_LIMIT, 10, 10)
