"""Claims about all probes of a run: from the rows at hand, by question, beside those of each probe."""

import math
from dataclasses import replace

import pytest

from calm.core.claims import Claim, Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import gain, net_robustness, pull, worst_gain
from calm.core.order import start_of
from calm.core.reasons import Kind, because
from calm.core.trials import CUED
from calm.core.verdict import FAMILIES, Preferred, Score, Tie, Unreadable
from calm.engine.money import Caps
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from calm.gate.resolution import Attainable
from calm.results.findings import finding
from calm.results.pairing import FEWEST, limits_of, pooled
from calm.results.records import rows_of
from tests.planted import SCALE, Asking, Local, Planted, chance, fair, pair, pairs, setup, singles

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
    """
    Four that ended on the same 45 of 200 cases: a judge that 5 % of the cases sway in all of them may be hiding.

    That no more than 10 % do, so many cases prove.
    """
    edits = [ending(number) for number in together(FEWEST)]
    with setup(Planted(fair), pairs(200)) as given:
        findings = [f for edit in edits for f in recorded(edit, run(given, edit, CLAIMS))]

    found = of_run(findings)
    strict = of_run(findings, limits={"run/gain": 0.05, "run/unreadable_gain": 0.05})

    assert {f.outcome for f in strict.values()} == {Outcome.NOT_TESTED}
    assert {f.reason for f in strict.values()} == {because(Kind.FEW_TOGETHER, 45, 60)}
    assert found["run/net_robustness"].outcome is Outcome.NOT_TESTED
    assert found["run/net_robustness"].reason == because(Kind.FEW_TOGETHER, 45, 60)
    assert {found[f"run/{name}"].outcome for name in ("gain", "unreadable_gain")} == {Outcome.PASS}


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


def test_a_judge_that_the_same_cases_sway_in_every_probe_is_held_to_those_cases():
    """
    On 5 % of 200 cases each edit of thirteen wins: that is 200 values and not 2,600, whatever stopping does.

    With rows that are taken to be independent the upper bound was .05; it is about that of ten in 200, .083.
    """
    sure = {c.id for c in pairs(10)}
    taken = Planted(lambda case, ask: Preferred("bad" if case.id in sure and "(No." in str(case.answers) else "good"))

    findings = probed(taken, 13, cases=pairs(200), stopping=Stopping.FIXED)
    found = of_run(findings, limits={"run/gain": 0.08})["run/gain"]

    assert found.value == pytest.approx(0.05)
    assert 0.08 <= found.high < 0.09
    assert found.outcome is Outcome.UNDECIDED


def test_what_each_probe_can_hide_adds_up():
    """
    An edit wins 14 % of the cases in each of ten probes: none of them fails by itself, and together they do.

    The mean over 2,000 rows is .14 with an error of .008, five of them from the limit.
    """
    claims = (net_robustness >= 0.85, gain <= 0.25)
    findings = probed(lifted(0.14), 10, cases=pairs(200), claims=claims, stopping=Stopping.FIXED)

    found = of_run(findings)

    assert "FAIL" not in {f.outcome.value for f in findings}
    assert (found["run/gain"].outcome, found["run/net_robustness"].outcome) == (Outcome.FAIL, Outcome.FAIL)
    assert found["run/gain"].value == pytest.approx(0.14, abs=0.03)
    assert found["run/unreadable_gain"].outcome is Outcome.PASS


def test_a_small_effect_in_every_probe_is_no_failure():
    """An edit wins 2 % of the cases: the run proves that it is less than 5 %."""
    found = of_run(probed(lifted(0.02), 10, cases=pairs(200), stopping=Stopping.FIXED))

    assert found["run/gain"].outcome is Outcome.PASS
    assert found["run/gain"].value == pytest.approx(0.02, abs=0.02)
    assert found["run/gain"].high < 0.05


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

    assert (found.outcome, found.claim.limit, found.stated.limit) == (Outcome.PASS, 0.2, 0.10)
    assert [claim.limit for claim in limits_of("pairwise") if claim.measure == "gain"] == [0.10]


def test_the_limits_depend_on_the_kind_of_verdict():
    """Pairs and rankings are held to a pull, too; on pairs fewer rows tell of a gain, so its limit is looser."""
    stated = {family: {claim.measure: claim.limit for claim in limits_of(family)} for family in FAMILIES}
    others = {"net_robustness": 0.95, "gain": 0.05, "unreadable_gain": 0.05}

    assert stated["pairwise"] == {"pull": 0.15, "net_robustness": 0.95, "gain": 0.10, "unreadable_gain": 0.10}
    assert stated["listwise"] == {"pull": 0.15, **others}
    assert [stated[family] for family in ("score", "rubric", "label")] == [others] * 3


PULLED = (pull <= 0.25,)


def taking(share, *, ties=True):
    """Return a judge that takes the numbered one of two equal answers in a share of the cases, of each edit anew."""

    def rule(case, ask):
        marked = [a for a in case.answers if "(No." in a.text]
        if marked and chance("take", case.id, marked[0].text[-4:]).random() < share:
            return Preferred(marked[0].id)
        return Tie() if ties else Preferred(case.slots[0])

    return Planted(rule)


def asks_of(findings):
    """Return how often the rows of findings were asked."""
    return {len(row.perturbed) for f in findings for row in f.trials}


def test_what_cues_do_between_equal_answers_is_pooled():
    """Four probes of a judge that no cue moves: asked once a row, since that acquits them, and proven together."""
    findings = probed(taking(0.0), FEWEST, claims=PULLED)

    found = of_run(findings)["run/pull"]

    assert asks_of(findings) == {1}
    assert of_run(findings[: FEWEST - 1]) == {}
    assert (found.outcome, found.value, found.claim.limit) == (Outcome.PASS, 0.0, 0.15)
    assert str(found.reason) == f"over all {sum(len(f.trials) for f in findings)} rows of 4 probes"


def test_rows_with_one_ask_are_upper_bounds_of_a_pull():
    """
    A judge that always takes the first answer: the cue never decides, and a row of one ask says at most so much.

    The cue is put on the answer that lost. Where it still loses, the pull is 0; a judge that goes by the cue in every
    case wins that ask and the other one. No row says less than what both sides would say.
    """
    slot, cued = probed(taking(0.0, ties=False), FEWEST, claims=PULLED), probed(taking(1.0), FEWEST, claims=PULLED)
    rows = [row for f in slot for row in rows_of(f)]
    once = [replace(row, perturbed=row.perturbed[:1]) for f in cued for row in rows_of(f)]

    assert asks_of(slot) == {1}
    assert {pull.per_case(row, SCALE) for row in rows} == {0.0}
    assert of_run(slot)["run/pull"].outcome is Outcome.PASS
    assert asks_of(cued) == {2}
    assert {pull.per_case(row, SCALE) for row in once} == {1.0}
    assert (of_run(cued)["run/pull"].outcome, of_run(cued)["run/pull"].value) == (Outcome.FAIL, 1.0)


def test_pulls_that_each_probe_can_hide_add_up():
    """Of ten probes each takes 20 % of the pairs: less than each may, and together more than a run may."""
    findings = probed(taking(0.20), 10, cases=pairs(200), claims=PULLED, stopping=Stopping.FIXED)

    found = of_run(findings)["run/pull"]

    assert "FAIL" not in {f.outcome.value for f in findings}
    assert found.value == pytest.approx(0.20, abs=0.03)
    assert found.outcome is Outcome.FAIL


def test_rows_of_pairs_with_gold_are_in_no_pull():
    """A probe that claims both: its equal pairs tell of the pull, and its cases of the gain."""
    findings = probed(taking(0.0), FEWEST, claims=(*PULLED, *CLAIMS), stopping=Stopping.FIXED)

    found = of_run(findings)

    assert set(found) == {"run/pull", "run/gain", "run/net_robustness", "run/unreadable_gain"}
    assert found["run/pull"].reason == because(Kind.OVER_ROWS, 400, 4)
    assert found["run/gain"].reason == because(Kind.OVER_ROWS, 400, 4)
    assert {row.target for f in findings if f.measure == "pull" for row in f.trials} == {CUED}
    assert {row.target for f in findings if f.measure == "gain" for row in f.trials} == {"bad"}


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
