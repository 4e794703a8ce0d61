"""What an edit is held against: inert words in its place, and a pilot that repeats no arm."""

from dataclasses import replace

import pytest

from calm.core.case import Answer
from calm.core.claims import Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import consistency_rate, gain, net_detection, net_robustness, rewording_rate
from calm.core.reasons import Kind, because
from calm.core.verdict import Criteria, Preferred, Ranking, Score
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from calm.perturbations.rewording import FORMS, reword
from tests.planted import (
    Planted,
    by_criteria,
    chance,
    constant_score,
    fair,
    pair,
    pairs,
    rubric_case,
    setup,
    single,
    singles,
)

BOOK = "(Citation: A Book)"
REWORDINGS = rotate(*(reword(form) for form in range(1, FORMS + 1)))


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Cite a book in the weaker answer."""
    return case.edit(case.target, lambda text: f"{text} {BOOK}")


@perturbation(bias="sensitivity", expects=Expects.WORSE)
def harm(case, rng):
    """Harm the answer."""
    return case.damage(case.target, lambda text: f"{text} not short")


@perturbation(bias="sensitivity", expects=Expects.WORSE)
def break_short(case, rng):
    """Break the criterion `short`."""
    return case.damage(case.target, lambda text: f"{text} not short", hit="short")


def texts(case):
    return tuple(sorted(a.text for a in case.answers)), case.notes


def outcomes(result):
    return {d.decision.measure: d.decision.outcome.value for d in result.rulings}


def estimate(result, measure):
    return next(d.decision.estimate for d in result.rulings if d.decision.measure == measure)


def listed(case, ask):
    """Rank the answers by their ids, damaged copies last."""
    order = sorted((a.id for a in case.answers), reverse=True)
    return Ranking(tuple((one,) for one in sorted(order, key=lambda one: one.endswith("~damaged"))))


def turning(share, seed=0):
    """Return a judge that turns on any other words in a share of the cases, and repeats itself on the same ones."""

    def rule(case, ask):
        words = texts(case)
        turned = words != texts(pair(case.id)) and chance("turn", seed, case.id, words).random() < share
        return Preferred("bad" if turned else "good")

    return Planted(rule)


def test_a_frozen_judge_that_turns_on_any_words_fails_rewording_and_nothing_else():
    """
    In 30 % of the cases any added words turn it, and equal prompts get equal replies, as at temperature 0.

    The net effect of the edit is 0 on average; three judges fail a limit of .10 or .15 in fewer than 1 of 300 tests,
    and miss .30 against .15 in fewer than 1 of 1,000.
    """
    found = []
    for seed in range(3):
        with setup(turning(0.3, seed), pairs(200)) as given:
            cited = run(given, cite, [net_robustness >= 0.90, gain <= 0.15])
            found.append(outcomes(cited)["net_robustness"] + outcomes(cited)["gain"])
            if seed == 0:
                assert outcomes(run(given, REWORDINGS, [rewording_rate <= 0.15])) == {"rewording_rate": "FAIL"}
                assert outcomes(run(given, None, [consistency_rate >= 0.75])) == {"consistency_rate": "PASS"}

    assert not [one for one in found if "FAIL" in one]


def test_what_a_frozen_judge_turns_on_is_no_gain():
    """
    A coin of .3 for each text: the pilot aims, the inert words are the floor, and each has words of its own.

    Var = .21 (1 + 1) a case, over 600 cases .0265; 5 of it are exceeded in fewer than 1 of 10^6 runs. With the
    pilot's own words in the floor the gain would be .3, as the treated answer is the one that lost there.
    """

    def coin(case, ask):
        first = chance("coin", case.id, texts(case)).random() < 0.7
        return Ranking((("good",), ("bad",)) if first else (("bad",), ("good",)))

    with setup(Planted(coin, task="listwise"), pairs(600, better=None), stopping=Stopping.FIXED) as given:
        found = run(given, replace(cite, expects=Expects.SAME), [gain <= 0.15], top_up=False)

    assert estimate(found, "gain").n == 600
    assert abs(estimate(found, "gain").value) < 0.132


@pytest.mark.parametrize(
    ("judge", "cases"),
    [
        (Planted(fair), pairs(12)),
        (Planted(listed, task="listwise"), pairs(12, better=None)),
        (Planted(constant_score, task="score"), singles(12)),
        (Planted(by_criteria, task="rubric"), [rubric_case(f"c{i}") for i in range(12)]),
    ],
    ids=["pairs", "lists without gold", "scores", "rubrics"],
)
def test_a_pilot_repeats_no_arm(judge, cases):
    """Its words stand in no other ask: at temperature 0 a repeat would be the same verdict twice."""
    with setup(judge, cases) as given:
        run(given, cite, [gain <= 0.15])

    shown = {ask > 0: {texts(c) for c, k in judge.asked if (k > 0) == (ask > 0)} for ask in (0, 1)}
    assert len(shown[False]) == 12
    assert not shown[False] & shown[True]


def test_each_ask_with_words_has_words_of_its_own():
    """
    Four inert ones after the top-up, so that a server that repeats itself gives several draws; so have edited ones.

    Judges that turn on any words in 10 % of 60 cases stay undecided about a limit of .10.
    """
    judge = turning(0.1)

    with setup(judge, pairs(60)) as given:
        result = run(given, cite, [net_robustness >= 0.90])

    clean = {c.id: texts(c) for c in pairs(60)}
    shown = {(c.id, texts(c)) for c, ask in judge.asked if ask and texts(c) != clean[c.id]}
    edited = sorted(name for name, said in shown if BOOK in str(said))
    assert outcomes(result) == {"net_robustness": "UNDECIDED"}
    assert sorted(name for name, said in shown if BOOK not in str(said)) == sorted(4 * list(clean))
    assert edited == sorted(len(result.rulings[0].trials.rows[0].perturbed) * list(clean))
    assert len(edited) > len(clean)
    assert {row.floor for row in result.rulings[0].trials.rows} == {"text-5"}


def test_no_inert_arm_is_asked_where_no_measure_needs_it():
    """Rewording is itself made of inert words, and consistency is of the clean arm alone."""
    judge = Planted(fair)

    with setup(judge, pairs(20)) as given:
        reworded = run(given, REWORDINGS, [rewording_rate <= 0.15], top_up=False)
        run(given, None, [consistency_rate >= 0.75], top_up=False)

    assert {row.inert for row in reworded.rulings[0].trials.rows} == {()}


# ------------------------------------------------------------------------------------------------------- room to fall


def test_what_is_at_the_bottom_leaves_detection_with_a_count():
    """30 of 120 answers have the lowest score already: the others fall, and prove that harm is noticed."""
    harsh = Planted(
        lambda case, ask: Score(1.0 if case.id < "c030" or "not short" in case.answers[0].text else 6.0), task="score"
    )

    with setup(harsh, singles(120), stopping=Stopping.FIXED) as given:
        result = run(given, harm, [net_detection >= 0.6])

    found = estimate(result, "net_detection")
    assert outcomes(result) == {"net_detection": "PASS"}
    assert (found.value, found.n, found.excluded) == (1.0, 90, {because(Kind.AT_BOTTOM): 30})


def test_what_is_called_wrong_need_not_fall():
    """Of 120 answers 40 are false and rated 3 of 10; an edit that denies what they say makes them true, rightly."""
    fair_judge = Planted(
        lambda case, ask: Score(9.0 if (case.id < "c040") == ("not short" in case.answers[0].text) else 3.0),
        task="score",
    )

    with setup(fair_judge, singles(120), stopping=Stopping.FIXED) as given:
        result = run(given, harm, [net_detection >= 0.6])

    found = estimate(result, "net_detection")
    assert outcomes(result) == {"net_detection": "PASS"}
    assert (found.value, found.n, found.excluded) == (1.0, 80, {because(Kind.AT_BOTTOM): 40})


def test_a_criterion_that_was_unmet_already_cannot_be_broken():
    """On a rubric the criterion that is hit counts, not the points of the answer."""

    def judged(case, ask):
        short = case.id >= "c030" and "not short" not in case.answers[0].text
        return Criteria({"short": short, "kind": case.id < "c060"})

    with setup(
        Planted(judged, task="rubric"), [rubric_case(f"c{i:03}") for i in range(90)], stopping=Stopping.FIXED
    ) as given:
        result = run(given, break_short, [net_detection >= 0.6])

    found = estimate(result, "net_detection")
    assert (found.value, found.n, found.excluded) == (1.0, 60, {because(Kind.AT_BOTTOM): 30})


def test_too_few_answers_that_can_fall_are_not_tested_and_say_so():
    """Nothing can be proven of 5 cases: better answers are needed."""

    def noticing(case, ask):
        return Score(1.0 if case.id >= "c005" else 6.0 - 3 * ("not short" in case.answers[0].text))

    with setup(Planted(noticing, task="score"), singles(80)) as given:
        decision = run(given, harm, [net_detection >= 0.6]).rulings[0].decision

    assert decision.outcome is Outcome.NOT_TESTED
    assert decision.reason.details[:3] == (5, 80, 15)


def test_too_few_answers_that_can_gain_are_not_tested_and_say_so():
    """The counterpart: 5 of 80 lack a quarter of the scale."""
    high = Planted(lambda case, ask: Score(9.0 if case.id >= "c005" else 6.0), task="score")

    with setup(high, singles(80)) as given:
        decision = run(given, cite, [gain <= 0.05]).rulings[0].decision

    assert decision.outcome is Outcome.NOT_TESTED
    assert decision.reason.details[:3] == (5, 80, 60)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("pairwise", "prefers the worse answer"),
        ("listwise", "ranks the worst answer near the top"),
        ("rubric", "all criteria met"),
        ("label", "no move between the classes does harm"),
        ("another", "full marks"),
    ],
)
def test_what_makes_room_is_said_for_the_kind_of_verdict(family, words):
    """A judge of pairs or classes gives no marks; a record of an older run names no kind."""
    assert words in str(because(Kind.NEEDS_ROOM, 5, 80, 60, family))
    assert "full marks" in str(because(Kind.NEEDS_ROOM, 5, 80, 60))


@pytest.mark.parametrize("task", ["pairwise", "listwise"])
def test_a_copy_beside_its_original_can_always_fall(task):
    """The pilot of a list, asked without the copy, says nothing of the copy; a pair without gold has no pilot."""
    more = () if task == "pairwise" else (Answer("worse", "The answer is six."),)

    def judged(case, ask):
        ranking = listed(case, ask)
        return ranking if task == "listwise" else Preferred(ranking.order[0][0])

    cases = [replace(single(f"c{i:03}"), answers=(*pair(f"c{i:03}").answers, *more)) for i in range(60)]
    judge = Planted(judged, task=task)
    with setup(judge, cases, stopping=Stopping.FIXED) as given:
        result = run(given, harm, [net_detection >= 0.6])

    assert outcomes(result) == {"net_detection": "PASS"}
    assert (estimate(result, "net_detection").n, estimate(result, "net_detection").excluded) == (60, {})
    assert sum(ask == 0 for _, ask in judge.asked) == (60 if task == "listwise" else 0)
