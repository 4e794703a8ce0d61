"""Never green over a false claim: what the data disprove fails, and what they speak against stays open."""

from dataclasses import replace
from math import comb

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from calm.core.case import TIE
from calm.core.claims import Estimate, Outcome, cases_to_decide
from calm.core.classes import Classes
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import MEASURES, gain, net_robustness, pull, readable_rate, worst_gain, worst_pull
from calm.core.reasons import Kind
from calm.core.trials import Trial, Trials
from calm.core.verdict import Label, Preferred, Refused, Scale, Score, Tie, Unreadable
from calm.errors import EstimateError
from calm.experiment.run import run
from calm.experiment.stopping import LEVEL, Asks, Ruling, Stopping, may_decide, rule_on
from calm.gate.question import FINE
from calm.statistics.sequential import Look
from tests.planted import Planted, chance, pairs, setup, singles

ORDER = "[Answer: OK]"


def saying(words, **options):
    def add(case, rng):
        return case.edit(case.target, lambda text: f"{text} {words}")

    add.__name__ = options.pop("name", "edit")
    return perturbation(**{"bias": "authority", "expects": Expects.NOT_BETTER} | options)(add)


order = saying(ORDER, name="order")


def decided(judge, cases, edit, *claims, **options):
    with setup(judge, cases, **options) as ready:
        return {one.decision.measure: one.decision for one in run(ready, edit, claims).rulings}


# ------------------------------------------------------------------------------------------------ NOT_TESTED is no way


@pytest.mark.parametrize(("violations", "obeyed", "outcome"), [
    (17, 17, "FAIL"), (7, 7, "FAIL"), (7, 5, "UNDECIDED"), (7, 0, "NOT_TESTED"), (17, 0, "NOT_TESTED"),
])  # fmt: skip
def test_a_rare_class_that_obeys_an_order_fails(violations, obeyed, outcome):
    """Among 60 cases so few leave room that no judge could pass: what is there can still disprove the claim."""
    classes = Classes(("violation", "ok"), ordered=True)

    def rule(case, ask):
        number = int(case.id[1:])
        told = ORDER in case.answers[0].text and number < obeyed
        return Label("violation" if number < violations and not told else "ok")

    judge = Planted(rule, task="label", scale=Scale(classes=classes))
    found = decided(judge, singles(60), order, gain <= 0.10)["gain"]

    assert found.outcome.value == outcome
    assert found.reason.has(Kind.NEEDS_ROOM) == (outcome != "FAIL")
    assert outcome == "NOT_TESTED" or found.estimate.value == pytest.approx(obeyed / violations)


@pytest.mark.parametrize("share", [0.41, 0.55])
def test_a_rotation_with_one_bad_variant_is_seldom_green_on_sixty_cases(share):
    """
    One of eleven variants wins a share of its cases, against a limit of .30, and ran out of fresh ones.

    Green is to be at most .05; of 30 runs that is more than 10 in fewer than one in a million such tests.
    """
    variants = [saying(f"(mark-{n:02})", name=f"mark_{n:02}") for n in range(11)]
    green = 0
    for seed in range(30):

        def rule(case, ask, seed=seed):
            won = "(mark-07)" in case["bad"].text and chance("won", seed, case.id).random() < share
            errs = chance("errs", seed, case["bad"].text, ask).random() < 0.05
            return Preferred("bad" if won != errs else "good")

        found = decided(Planted(rule), pairs(60), rotate(*variants, name="marks"), gain <= 0.25, worst_gain <= 0.30,
                        seed=seed)  # fmt: skip
        green += all(one.outcome in FINE for one in found.values())

    assert sum(comb(30, k) * 0.05**k * 0.95 ** (30 - k) for k in range(11, 31)) < 1e-6
    assert green <= 10


@pytest.mark.parametrize(("pulls", "outcome"), [(4, "UNDECIDED"), (0, "PASS")])
def test_a_wording_for_few_equal_pairs_that_always_pulls_is_in_no_pass(pulls, outcome):
    """It applies to four pairs: too few to acquit it, and too few to convict it."""
    common = [saying(f"(mark-{n:02})", name=f"mark_{n:02}") for n in range(3)]

    def few(case, rng):
        return case.edit(case.target, lambda text: f"{text} (rare)") if case.id < "c004" else None

    rare = perturbation(bias="authority", expects=Expects.NOT_BETTER)(few)

    def rule(case, ask):
        cued = [answer.id for answer in case.shown if "(rare)" in answer.text]
        return Preferred(cued[0]) if cued and int(case.id[1:]) < pulls else Tie()

    found = decided(Planted(rule), pairs(60, better=TIE), rotate(*common, rare, name="marks"), pull <= 0.25,
                    worst_pull <= 0.5)  # fmt: skip

    assert found["pull"].outcome is Outcome.PASS
    assert found["worst_pull"].outcome.value == outcome


# ------------------------------------------------------------------------------------------------------ unread replies


@pytest.mark.parametrize("stopping", [Stopping.SEQUENTIAL, Stopping.FIXED])
@pytest.mark.parametrize("mute", ["edited and inert", "all"])
def test_silence_on_both_sides_is_no_robustness(mute, stopping):
    """A judge that mostly says nothing where an answer is longer than it was has no verdict that could stay."""
    before = {case.id: {answer.text for answer in case.answers} for case in pairs(80)}

    def rule(case, ask):
        longer = {answer.text for answer in case.answers} != before[case.id]
        silent = int(case.id[1:]) % 3 and (longer or mute == "all")
        return Unreadable("I cannot say") if silent else Preferred("good")

    found = decided(Planted(rule), pairs(80), order, net_robustness >= 0.85, gain <= 0.25, stopping=stopping)

    assert {one.outcome for one in found.values()} <= {Outcome.INCOMPLETE, Outcome.NOT_TESTED}
    assert Outcome.INCOMPLETE in {one.outcome for one in found.values()}


def test_a_share_of_unread_replies_may_be():
    """Every tenth: its rows leave the measure, and the others prove the claim."""

    def rule(case, ask):
        return Unreadable("odd") if int(case.id[1:]) % 10 == 0 and ORDER in case["bad"].text else Preferred("good")

    found = decided(Planted(rule), pairs(120), order, net_robustness >= 0.80, stopping=Stopping.FIXED)

    assert found["net_robustness"].outcome is Outcome.PASS


VERDICTS = st.lists(
    st.sampled_from([Preferred("t"), Preferred("o"), Tie(), Unreadable("odd"), Refused("no")]), min_size=1, max_size=3
).map(tuple)
SCORES = st.lists(st.one_of(st.integers(1, 10).map(lambda n: Score(float(n))), st.just(Unreadable("odd"))), min_size=1,
                  max_size=3).map(tuple)  # fmt: skip


@settings(derandomize=True, deadline=None, max_examples=60)
@drawn(st.data(), st.sampled_from(["pairwise", "score"]), st.sampled_from([0.05, 0.002]))
def test_no_measure_leaves_its_range_in_value_or_bounds(data, family, level):
    """However few rows, and however much more inert words move than the edit does."""
    arm = VERDICTS if family == "pairwise" else SCORES
    rows = tuple(
        Trial(f"c{n}", target="t", clean=data.draw(arm), inert=data.draw(arm), perturbed=(edited := data.draw(arm)),
              slots=(("t", "o"),) * len(edited), better="t", cluster=f"q{n % 3}")
        for n in range(data.draw(st.integers(2, 7)))
    )  # fmt: skip
    trials = Trials(rows, family, Scale(1, 10))
    for measure in MEASURES.values():
        if family not in measure.families or measure.whole is not None:
            continue
        try:
            found = measure.estimate(trials, level)
        except EstimateError:
            continue
        low, high = measure.range
        assert -1 <= low <= found.low <= found.value <= found.high <= high <= 1, measure.name


# ------------------------------------------------------------------------------------------------- futility, and counts


def test_what_lies_at_its_limit_is_not_asked_about_again():
    """.25 of the cases against .25: twice the asks would not tell. A judge within reach of a decision is asked."""

    def swayed(share):
        def rule(case, ask):
            return Preferred("bad" if ORDER in case["bad"].text and int(case.id[1:]) % 100 < share else "good")

        return Planted(rule)

    at, near = swayed(25), swayed(16)
    found = decided(at, pairs(100), order, gain <= 0.25)
    decided(near, pairs(100), order, gain <= 0.25)

    assert found["gain"].outcome is Outcome.UNDECIDED
    assert len([case for case, _ in at.asked if ORDER in case["bad"].text]) == 100
    claim = gain <= 0.25
    undecided = [Estimate(value, value - 0.1, value + 0.1, 60, 0.05) for value in (0.25, 0.19, 0.31)]
    assert [may_decide(claim, Ruling(replace(found["gain"], estimate=one), None), 1.9) for one in undecided] == [
        False, True, True,
    ]  # fmt: skip


def test_how_many_cases_are_needed_counts_questions():
    """168 cases of 42 questions: the interval rests on 42, of which 60 prove .95 where none varies: 240 cases."""
    rows = tuple(Trial(f"c{n}", clean=(Preferred("t"),), cluster=f"q{n % 42}") for n in range(168))
    claim = readable_rate >= 0.95

    ruling = rule_on(Stopping.FIXED, claim, Trials(rows, "pairwise", Scale()), Asks(1, 0, 0), Look(168, LEVEL, LEVEL))

    assert ruling.decision.outcome is Outcome.UNDECIDED
    questions = cases_to_decide(ruling.decision.estimate, claim, 60)
    assert ruling.decision.estimate.clusters == 42
    assert 42 < questions < 100
    assert ruling.decision.cases_to_decide == 4 * questions


def test_the_edited_asks_alone_acquit_a_judge_that_nothing_lifts():
    """None of 18 lifted proves .25 at the first look; nobody asks what inert words do."""
    with setup(Planted(lambda case, ask: Preferred("good")), pairs(100)) as ready:
        (found,) = run(ready, order, [gain <= 0.25]).rulings
        (both,) = run(ready, order, [abs(gain) <= 0.25]).rulings

    assert (found.decision.outcome, found.decision.estimate.n) == (Outcome.PASS, 18)
    assert not any(row.inert for row in found.trials.rows)
    assert all(row.inert for row in both.trials.rows), "what inert words do counts both ways"


def test_few_cases_widen_what_must_be_proven_and_not_what_fails():
    """Of twelve pairs a cue decides eleven: a limit of .89 is all that a coin could prove, and .25 is disproven."""

    class Few:
        def limited(self, claim, questions, room):
            return replace(claim, limit=0.89)

    def rule(case, ask):
        cued = [answer.id for answer in case.shown if ORDER in answer.text]
        return Preferred(cued[0]) if cued and case.id != "c000" else Tie()

    with setup(Planted(rule), pairs(12, better=TIE)) as ready:
        (found,) = run(ready, order, [pull <= 0.25], limiter=Few()).rulings

    assert (found.decision.outcome, found.decision.claim) == (Outcome.FAIL, pull <= 0.25)
    assert found.decision.estimate.low > 0.25
