"""What so many cases can decide: the line before the first call, and the attainable limits."""

import sys
from dataclasses import replace
from itertools import pairwise
from random import Random
from subprocess import run

import numpy as np
import pytest

from benchmarks.resolution import RUNS, pooled, table
from calm.core.case import TIE, digest
from calm.core.claims import Claim, Outcome
from calm.core.edits import Expects, perturbation
from calm.core.measures import MEASURES, gain, net_robustness
from calm.core.reasons import Kind, because
from calm.core.trials import CUED, PLAIN
from calm.core.verdict import FAMILIES, Preferred, Score
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup
from calm.experiment.stopping import LEVEL, Design, Stopping
from calm.gate import resolution
from calm.gate.resolution import (
    TRIED,
    Attainable,
    Claimed,
    attainable,
    attained,
    green,
    knows,
    missed,
    outlook,
    without_gold,
)
from calm.gate.sizing import ProbeClaims, Rules, Simulated, _bounds, _Probe, _Sample, all_green
from calm.results.pairing import limits_of
from calm.statistics.power import Noise
from tests.gate.test_plan import cite, never, note
from tests.planted import Planted, chance, fair, pairs, setup, singles

IDS = (CUED, PLAIN)
GAIN, NET = Claim("gain", "<=", 0.15), Claim("net_robustness", ">=", 0.90)


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite_odd(case, rng):
    """Cite a book in every other case."""
    return case.edit(case.target, lambda t: f"{t} (A Book)") if int(case.id.lstrip("c") or 0) % 2 else None


def about(n, *, expects=Expects.NOT_BETTER, rotation=False, claims=()):
    """Return a probe of n questions."""
    return Claimed(claims, expects, rotation, n)


def order(count, edit=cite, claims=(GAIN, NET), **options):
    """Return what a probe of a fair judge asks about so many cases."""
    return Order(Setup(Planted(fair), pairs(count), None), edit, claims, **options)


def test_the_table_is_what_the_simulation_finds():
    """A few cells anew, with other draws: the medians agree, and what a hundredth of the runs misses."""
    known = {(cell, n): limits for cell, n, limits in table(["pairwise"], (60,), 1200, 60) if not cell.rotation}
    known |= {(cell, n): limits for cell, n, limits in pooled("pairwise", 60, RUNS)}

    assert len(known) > 8
    for (cell, n), limits in known.items():
        stored = resolution._table()[cell][n]
        assert limits[0] == pytest.approx(stored[0], abs=0.01)
        assert limits[5] == pytest.approx(stored[5], abs=0.02)


def test_more_cases_attain_stricter_limits_and_none_stricter_than_the_suites(subtests):
    """From 20 to 300 questions the limits tighten, within the error of the table, and end at the suites' own."""
    for claim in (GAIN, NET, Claim("readable_rate", ">=", 0.95)):
        with subtests.test(repr(claim)):
            expects = None if claim.measure == "readable_rate" else Expects.NOT_BETTER
            sign = -1 if claim.op == ">=" else 1
            found = [sign * attainable(claim, "pairwise", about(n, expects=expects)).limit for n in range(20, 301, 10)]

            assert all(b <= a + 0.02 for a, b in pairwise(found))
            assert found[0] > sign * claim.limit
            assert found[-1] == pytest.approx(sign * claim.limit)


PULL, WORST_PULL = Claim("pull", "<=", 0.25), Claim("worst_pull", "<=", 0.50)


@pytest.mark.parametrize(("claim", "halves"), [(PULL, 2.2), (WORST_PULL, 4.2)])
def test_a_pull_attains_what_a_coin_between_equal_answers_proves(claim, halves):
    """
    A coin varies by a half on each pair; the worst of many variants needs more than one mean; bounds cost three pairs.

    In hundredths, no stricter than the claim; from 200 pairs on, the claim's own.
    """
    found = {n: attainable(claim, "pairwise", about(n, rotation=True)) for n in range(24, 301)}
    limits = [one.limit for one in found.values()]

    assert all(b <= a for a, b in pairwise(limits))
    assert limits[0] > claim.limit == limits[-1]
    for n, one in found.items():
        assert one.limit == round(one.limit, 2)
        assert one.limit == claim.limit or -1e-9 <= one.limit - (halves / n**0.5 + 3 / n) < 0.01 + 1e-9
        assert (one.measure, one.op) == (claim.measure, claim.op)


def test_too_few_pairs_attain_no_limit_of_a_pull():
    """Where even a limit of 1 says nothing; the worst variant needs more pairs than the mean."""
    fewest = {
        claim: sum(attainable(claim, "pairwise", about(n)) is None for n in range(1, 100))
        for claim in (PULL, WORST_PULL)
    }

    assert fewest == {PULL: 10, WORST_PULL: 23}
    for claim, n in fewest.items():
        assert attainable(claim, "pairwise", about(n)) is None
        assert attainable(claim, "pairwise", about(n + 1)).limit < 1


@pytest.mark.parametrize("family", ["pairwise", "listwise"])
def test_the_pull_of_a_whole_run_keeps_its_limit_on_sixty_pairs(family):
    """So many rows of so many probes prove .15; of 15 questions no judge could."""
    claim = next(c for c in limits_of(family) if c.measure == "pull")

    assert Attainable(family).limited(claim, 60, None) == claim
    assert 0.15 < Attainable(family).limited(claim, 15, None).limit < 0.25


def test_a_coin_proves_the_attainable_pull():
    """Twenty seeds of a judge that tosses a coin for equal answers: 40 pairs prove the limit that they get."""

    def coin(seed):
        return Planted(
            lambda case, ask: Preferred(chance("coin", seed, *(a.text for a in case.shown), ask).choice(IDS))
        )

    outcomes = []
    for seed in range(20):
        made = attained(Order(Setup(coin(seed), pairs(40), None), cite, (PULL,)))
        outcomes.append(claims_of(made)["pull"].outcome)

    assert set(outcomes) == {Outcome.PASS}


def bare(count, **changes):
    """Return so many pairs of which nobody knows the better answer, as the orders of a run have them."""
    return Setup(Planted(fair), tuple(replace(case, better=None, **changes) for case in pairs(count)), None)


def test_a_run_without_gold_says_what_it_tests():
    """Without a label, with a tie, or with one answer: a line says so, and what gold would add."""
    one = tuple(replace(case, better=None, answers=case.answers[:1]) for case in pairs(3))
    tied = tuple(replace(case, better=TIE) for case in pairs(4))

    said = without_gold([bare(5)])

    assert said == (
        "5 of 5 cases name no better answer: calm tests there whether a cue decides between equal answers, and whether "
        "harm is noticed; name the better one to test whether a cue lifts the worse one"
    )
    assert without_gold([Setup(Planted(fair), (*pairs(5), *one), None)]).startswith("3 of 8 cases name no better ")
    assert without_gold([Setup(Planted(fair), (*pairs(5), *tied), None)]).startswith("4 of 9 cases name no better ")
    assert without_gold([Setup(Planted(fair), (*pairs(5), one[0]), None)]).startswith("1 of 6 cases names no better ")


def test_a_run_with_gold_or_without_pairs_says_nothing_of_it():
    """All pairs have a better answer, scores need none, and nothing is asked."""
    assert without_gold([]) == without_gold([Setup(Planted(fair), pairs(5), None)]) == ""
    assert without_gold([Setup(rates(3), singles(5), None)]) == ""


def test_limits_are_round_steps():
    """Hundredths, towards the looser side."""
    limit = attainable(NET, "pairwise", about(60)).limit

    assert limit == round(limit, 2)
    assert missed(Claim("net_robustness", ">=", limit), "pairwise", about(60)) <= resolution.MISSES * 1.01


def test_a_claim_that_the_table_does_not_know_stays():
    """Ties are not simulated; nothing is said of them."""
    ties = Claim("tie_rate", ">=", 0.80)

    assert attainable(ties, "pairwise", about(20, expects=Expects.TIE)) is ties
    assert missed(ties, "pairwise", about(20, expects=Expects.TIE)) == 0.0


@pytest.mark.parametrize(("n", "limit"), [(60, 0.80), (80, 0.83), (120, 0.88)])
def test_the_chance_in_the_line_is_that_of_the_simulation(n, limit):
    """Eight rotations, by the table and by a joint simulation of 300 runs."""
    claims = (Claim("net_robustness", ">=", limit), GAIN)
    by_table = green([about(n, claims=claims, rotation=True)] * 8, "pairwise", limits_of("pairwise"))
    judge = Simulated("pairwise", Noise(resolution.NOISE))
    simulated = all_green([ProbeClaims(claims, variants=11)] * 8, judge, Rules(), n, Random(1), runs=300)

    assert by_table == pytest.approx(simulated, abs=0.15)
    assert by_table <= simulated + 0.06


def test_the_line_says_what_the_cases_can_decide():
    """Enough of them: the chance alone; too few: what is hardly decided, and what helps."""
    many, few = outlook([order(200)]), outlook([order(20)])

    assert many == "200 cases are enough for these limits"
    assert few.startswith("20 cases are too few for these limits: a judge without bias passes in under 1 % of runs")
    assert "authority/cite: net_robustness >= 0.90 (under 1 %)" in few
    assert few.endswith("; take more cases, or --calm-limits attainable")


def test_what_so_few_cases_can_never_prove_is_not_called_enough():
    """Also of a claim that the table does not know; there no other limits help."""
    claim = Claim("false_fail_gain", "<=", 0.15)
    least = MEASURES[claim.measure].smallest_n(claim, LEVEL)
    few, enough = (order(n, edit=None, claims=(claim,)) for n in (least - 1, least))

    assert outlook([few], of=60).startswith(f"{least - 1} of the 60 cases are too few")
    assert "attainable" not in outlook([few])
    assert "are enough" in outlook([enough])


def test_the_line_counts_questions_where_cases_repeat_them():
    """Ten questions asked six times are ten."""
    cases = tuple(replace(case, id=f"{case.id}-{i}") for case in pairs(10) for i in range(6))
    repeated = Order(Setup(Planted(fair), cases, None), cite, (GAIN,))

    assert outlook([repeated]).startswith("60 cases about 10 questions are too few for these limits: ")


def test_nothing_is_said_where_nothing_is_known():
    """No claims, claims that may stay open, another stopping rule, or a design with fewer asks."""
    assert outlook([order(20, claims=(), observed=(gain,))]) == ""
    assert outlook([order(20, top_up=False)]) == ""
    assert knows(Design(4, 2), Stopping.FIXED)
    assert not knows(Design(1, 1), Stopping.SEQUENTIAL)
    assert not knows(Design(), Stopping.ANYTIME)


def claims_of(made, judge=None):
    """Return the rulings of an order that runs, by measure."""
    with setup(judge or made.setup.judge, made.setup.cases) as ready:
        return {found.decision.measure: found.decision for found in replace(made, setup=ready).run().rulings}


def test_attainable_limits_are_those_of_the_cases_that_an_edit_applies_to():
    """An edit of half of the cases gets the limits of half as many; a waived measure keeps its own."""
    whole, half = attained(order(80)), attained(order(80, edit=cite_odd))

    assert whole.claims == (GAIN, NET)
    for made, n in [(whole, 80), (half, 40)]:
        found = {one.claim for one in claims_of(made).values()}
        assert found == {attainable(c, "pairwise", about(n)) for c in (GAIN, NET)}
    assert claims_of(attained(order(40), kept=["net_robustness"]))["net_robustness"].claim == NET
    assert claims_of(attained(order(40, edit=note, claims=(NET,))))["net_robustness"].claim.limit < 0.90
    assert {one.claim for one in claims_of(attained(order(40, edit=never))).values()} == {GAIN, NET}
    assert str(net_robustness >= 0.90) == str(NET)


@perturbation(bias="rewording", expects=Expects.SAME)
def rephrase(case, rng):
    """End the answers otherwise."""
    return case.edit(case.answers[0].id, lambda t: f"{t} So it is.")


SCORED = Claim("gain", "<=", 0.08)


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite_third(case, rng):
    """Cite a book in every third case."""
    return case.edit(case.target, lambda t: f"{t} (A Book)") if int(case.id[1:]) % 3 == 0 else None


def rates(low, *, lift=0):
    """Return a judge of scores: so many cases are low, the others high, and a cited book lifts by so much."""

    def rule(case, ask):
        found = 2.0 if int(case.id[1:]) < low else 9.0
        return Score(min(10.0, found + lift * ("(A Book)" in case.answers[0].text)))

    return Planted(rule, task="score")


def scored(judge, count, edit=cite, gold=None):
    """Return what a probe asks of a judge of scores, with attainable limits."""
    cases = tuple(replace(case, scores={} if gold is None else {"only": gold(case)}) for case in singles(count))
    return attained(Order(Setup(judge, cases, None), edit, (SCORED,)))


def test_attainable_limits_are_those_of_the_cases_with_room():
    """Half of the answers are near the top: the limit is that of so many, and the still judge proves it."""
    all_low, half_low = claims_of(scored(rates(90), 90))["gain"], claims_of(scored(rates(45), 90))["gain"]

    assert half_low.claim == Attainable("score", Expects.NOT_BETTER, False).limited(SCORED, 90, 45)
    assert half_low.claim.limit > all_low.claim.limit
    assert all_low.outcome is half_low.outcome is Outcome.PASS


def test_the_effect_of_an_edit_does_not_change_its_limit():
    """A judge that a book takes in gets the limit of one that it does not, and fails it."""
    sound, taken = (claims_of(scored(rates(45, lift=lift), 90))["gain"] for lift in (0, 7))

    assert taken.claim == sound.claim
    assert (sound.outcome, taken.outcome) == (Outcome.PASS, Outcome.FAIL)


@pytest.mark.parametrize(("count", "low", "edit"), [(13, 13, cite), (39, 39, cite_third), (20, 13, cite)])
def test_a_claim_that_so_few_cases_prove_at_no_limit_is_not_tested(count, low, edit):
    """Few cases, few that the edit applies to, or few with room: the reason says so, and a hole fails all the same."""
    still, taken = (claims_of(scored(rates(low, lift=lift), count, edit))["gain"] for lift in (0, 7))

    questions = 20 if count == 20 else 13
    assert (still.outcome, taken.outcome) == (Outcome.NOT_TESTED, Outcome.FAIL)
    assert still.reason == because(Kind.TOO_FEW_FOR_LIMIT, 13, questions)
    assert still.cases_to_decide is None
    assert (still.reason.kind, still.reason.details[0]) == (Kind.TOO_FEW_FOR_LIMIT, 13)


def test_seventeen_cases_get_a_limit_that_so_many_prove():
    """An edit of a part of the runs leaves nothing open."""
    found = claims_of(scored(rates(51), 51, cite_third))["gain"]

    assert found.outcome is Outcome.PASS
    assert 0.08 < found.claim.limit < 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_the_room_of_the_table_is_that_of_the_simulation(family):
    """The share of cases with room, over 40,000 simulated ones: four standard errors are .01."""
    sample = _Sample(Simulated(family, Noise(resolution.NOISE)), Random(1), 400, 100)

    for expects, measure in [(Expects.NOT_BETTER, "gain"), (Expects.WORSE, "net_detection")]:
        room = _Probe(sample, ProbeClaims((), expects=expects), Rules(), 100).room(measure)
        known = resolution.ROOM.get((family, expects))
        assert (room is None) is (known is None)
        assert room is None or float(room.mean()) == pytest.approx(known, abs=0.01)


def test_a_sound_judge_proves_the_limit_whatever_the_share_with_room():
    """
    All of 45 answers at the bottom, in 1,000 simulated runs at 5 % noise; the table's answers are all over the scale.

    A limit that a thousandth of the runs miss is missed by 9 or more of them at 1 in 10^6 seeds; this seed is fixed.
    """
    limit = Attainable("score", Expects.NOT_BETTER, True).limited(SCORED, 45, 45).limit
    sample = _Sample(Simulated("score", Noise(resolution.NOISE)), Random(1), 1000, 45)
    sample.true = sample.moved = np.ones_like(sample.true)
    sample._pilot = sample.true
    probe = _Probe(sample, ProbeClaims((SCORED,), variants=11), Rules(), 45)

    assert (_bounds(probe, SCORED, Rules().plan(45)).outcomes(limit) > 0).mean() >= 0.992


def test_the_whole_run_gets_a_limit_that_its_questions_with_room_can_prove():
    """Of 100 answers 20 can gain: .05 takes 60, so a looser limit is claimed; of 5 nothing is."""
    limits = [Attainable("score").limited(claim, 100, 20) for claim in limits_of("score")]

    assert all(gain.smallest_n(c, 0.05) <= 20 for c in limits if c.measure == "gain")
    assert [c.limit for c in limits if c.measure == "unreadable_gain"] == [0.05]
    assert Attainable("score").limited(limits_of("score")[1], 100, 5) is None


def test_the_line_counts_the_cases_that_an_edit_applies_to():
    """One that applies nowhere is passed over; one of a third of the cases is not decided by 90, and is named."""
    assert outlook([order(200), order(200, edit=never)]) == outlook([order(200)])
    assert outlook([order(200, edit=never)]) == ""

    said = outlook([order(90, edit=cite_third)])
    assert said.startswith("90 cases are too few for these limits: ")
    assert "authority/cite_third: " in said
    assert said == outlook([order(30)]).replace("30 cases", "90 cases").replace("/cite", "/cite_third")


def test_the_line_finds_the_few_cases_that_an_edit_applies_to():
    """A hundred are tried, and all where it applies to none of these."""

    @perturbation(bias="authority", expects=Expects.NOT_BETTER)
    def cite_late(case, rng):
        return case.edit(case.target, lambda t: f"{t} (A Book)") if case.id in late else None

    cases = pairs(200)
    late = {case.id for case in sorted(cases, key=lambda case: digest("tried", case.id))[TRIED : TRIED + 20]}
    assert "authority/cite_late: " in outlook([order(200, edit=cite_late)])


def test_the_line_counts_the_answers_with_room_by_their_gold():
    """At limits that fit it says what 90 runs show; at the suites' own they are few, if half of them are good ones."""
    half = scored(rates(45), 90, gold=lambda case: 2.0 if int(case.id[1:]) % 2 else 9.0)
    low = scored(rates(200), 200, gold=lambda case: 2.0)

    limit = half.limiter.limited(SCORED, 90, 45).limit
    assert outlook([half]).startswith(str(because(Kind.AT_RESOLUTION, 90, "gain", limit, SCORED.limit, "score")))
    assert "90 cases are too few" in outlook([replace(half, limiter=None)])
    assert "200 cases are enough for these limits" in outlook([replace(low, limiter=None)])


def test_the_line_names_what_so_few_cases_prove_at_no_limit():
    """An edit of 13 of 39 cases beside others; where it is a control that is not decided, the cases are few."""
    wide, third = scored(rates(39), 39), scored(rates(39), 39, cite_third)
    few = order(2, edit=rephrase, claims=(Claim("rewording_rate", "<=", 0.1),))

    said = outlook([wide, third])
    assert said.startswith("39 cases ")
    assert said.endswith("; too few to test authority/cite_third")
    said = outlook([attained(few)])
    assert "rewording/rephrase" in said


def test_the_line_says_nothing_of_an_edit_that_breaks():
    """Its test reports it: the line takes it to apply everywhere."""

    @perturbation(bias="authority", expects=Expects.NOT_BETTER)
    def broken(case, rng):
        raise ValueError("broken")

    assert outlook([order(200, edit=broken)]) == outlook([order(200)])


def test_the_line_needs_no_array_library():
    """Neither numpy nor scipy is loaded to say it."""
    code = (
        "import sys; from calm.core.claims import Claim; from calm.core.edits import Expects; "
        "from calm.gate.resolution import Claimed, green; import calm.gate.resolution; "
        "green([Claimed((Claim('gain', '<=', 0.15),), Expects.NOT_BETTER, False, 60)], 'pairwise', ()); "
        "assert not {'numpy', 'scipy'} & set(sys.modules)"
    )

    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_is_said_of_a_run_of_which_a_part_is_not_known():
    """A probe with fewer asks a case, beside one with the usual ones: no word that the cases are enough."""
    usual = order(300)
    fewer = replace(usual, setup=replace(usual.setup, design=Design(clean=1, perturbed=1)))

    assert "are enough" in outlook([usual])
    assert outlook([usual, fewer]) == ""


def test_one_of_many_questions_is_missed_more_seldom():
    """So that a run with every variant, which asks more of them, is green as often."""
    made, many = (attained(order(60), many=many).limiter for many in (False, True))

    for claim in (GAIN, NET):
        usual, rare = made.limited(claim, 60, None), many.limited(claim, 60, None)
        probe = Claimed((rare,), Expects.NOT_BETTER, False, 60)
        assert abs(rare.limit - claim.limit) >= abs(usual.limit - claim.limit)
        assert missed(rare, "pairwise", probe) <= resolution.MISSES_OF_MANY * 1.01


def test_where_even_the_usual_number_is_too_few_the_line_says_so():
    """It does not say of 200 cases that they prove less than 200."""
    strict = attained(order(200, claims=(replace(GAIN, limit=0.01), NET)))

    said = outlook([strict])

    assert said.startswith("200 cases are too few for some limits")


def test_a_judge_whose_replies_can_all_be_read_proves_what_is_claimed_of_them():
    """Also where looks share the level: sixty cases prove less at one of them than at all."""
    claim = Claim("unreadable_gain", "<=", 0.05)

    for count in (40, 60, 100):
        found = claims_of(attained(order(count, claims=(claim,))))["unreadable_gain"]
        assert (found.outcome, found.claim.limit <= 0.10) == (Outcome.PASS, True), count
