"""The excess with truth, and what its interval promises: preference is found, skill is not taken for it."""

from random import Random

import numpy as np
import pytest

from calm.core.claims import Claim, Estimate, Outcome, decide
from calm.core.reasons import Kind, because
from calm.errors import EstimateError
from calm.plugins.self_preference.pairs import AuthorPair, pair_excess
from calm.plugins.self_preference.skill import (
    Cells,
    Excess,
    beyond,
    estimated,
    joined,
    matched,
)
from calm.plugins.self_preference.tables import observe_excess

FAMILIES = {"a": "A", "b": "B", "c": "C", "b2": "B"}


def pairs(n=100, *, own=0.5, errs=(0.1, 0.1), prefers=0.0, seed=1, outsiders=("b", "c"), tied=0, unknown=0):
    """
    Return pairs of a judge a with an author x, two to an item.

    The own answer is better in a share `own`. The judge errs with the first rate of `errs`, each outsider with the
    second, and the judge takes its own answer in a share `prefers` whatever it is worth.
    """
    rng = Random(seed)
    found = []
    for place in range(2 * n):
        gold = 1 if rng.random() < own else -1

        def says(errs, gold=gold):
            return (gold if rng.random() >= errs else -gold,)

        said = {name: says(errs[1]) for name in outsiders}
        said["a"] = (1,) if rng.random() < prefers else says(errs[0])
        known = None if place < unknown else 0 if place < unknown + tied else gold
        found.append(AuthorPair(str(place // 2), "x", known, said, {}))
    return found


def excess(found, **families):
    """Return the excess of judge a on pairs."""
    return pair_excess(found, "a", {**FAMILIES, "x": "X", **families})


def why(found, **families):
    """Return the kind of the reason for which there is no excess."""
    with pytest.raises(EstimateError) as raised:
        excess(found, **families)
    return raised.value.args[0].kind


def test_an_excess_does_not_depend_on_the_worth_of_the_answers():
    """Own answers that win in 9 of 10 pairs, or in 1: a preference of .4 is an excess of .2 in each."""
    for own in (0.1, 0.5, 0.9):
        found = excess(pairs(600, own=own, errs=(0.0, 0.0), prefers=0.4)).estimate

        assert abs(found.value - 0.2) < 0.03
        assert found.low > 0.1


def test_a_skilled_judge_is_not_accused_where_its_answers_are_the_best():
    """Without truth the same verdicts are an excess: quality looks like preference."""
    found = pairs(300, own=0.9, errs=(0.02, 0.3))

    known, unknown = excess(found), excess([AuthorPair(p.item, p.other, None, p.said, {}) for p in found])

    assert known.estimate.low < 0.02
    assert known.skill == pytest.approx((0.98, 0.7), abs=0.05)
    assert unknown.estimate.low > 0.1
    assert unknown.skill is None


def test_what_cannot_be_told_has_one_reason(subtests):
    """Nothing truly lost, true ties alone, few questions, one outsider, a judge of ties, outsiders that guess."""
    ties = [AuthorPair(p.item, p.other, p.gold, {**p.said, "a": (0,)}, {}) for p in pairs()]
    slots = [AuthorPair(p.item, p.other, p.gold, {**p.said, "a": (1, -1)}, {}) for p in pairs()]
    for what, found, kind in [
        ("never lost", pairs(own=1.0), Kind.ONE_SIDED),
        ("never won", pairs(own=0.0), Kind.ONE_SIDED),
        ("true ties", pairs(tied=200), Kind.ONE_SIDED),
        ("few questions", pairs(9), Kind.ONE_SIDED),
        ("one outsider", pairs(outsiders=("b",)), Kind.ONE_OUTSIDER),
        ("outsiders of one family", pairs(outsiders=("b", "b2")), Kind.ONE_OUTSIDER),
        ("only ties", ties, Kind.NEVER_DECIDES),
        ("only slots", slots, Kind.NEVER_DECIDES),
        ("outsiders guess", pairs(errs=(0.1, 0.5)), Kind.UNSKILLED_OUTSIDERS),
        ("outsiders are wrong", pairs(errs=(0.1, 0.8)), Kind.UNSKILLED_OUTSIDERS),
    ]:
        with subtests.test(what):
            assert why(found) is kind


def test_pairs_without_truth_are_left_out_and_counted():
    """Those without a label, and those that are truly equal."""
    found = excess(pairs(150, unknown=40, tied=30)).estimate

    assert {reason.kind: n for reason, n in found.excluded.items()} == {Kind.NO_GOLD: 40, Kind.TRULY_EQUAL: 30}
    assert found.n == 115


def test_all_pairs_of_a_question_count_as_one():
    """Ten copies of each pair say nothing new: the interval stays as wide."""
    once = pairs(60)
    tenfold = [one for one in once for _ in range(10)]

    narrow, same = excess(once).estimate, excess(tenfold).estimate

    assert same.value == pytest.approx(narrow.value)
    assert (same.low, same.high) == pytest.approx((narrow.low, narrow.high), abs=0.002)


def test_equal_skill_is_found_in_both_directions():
    """The mean is what was asked for, and the harder stratum stays the harder one."""
    right = np.array([[0.8, 0.6], [0.9, 0.45], [0.5, 0.5], [0.7, 0.7]])
    skill = np.array([0.9, 0.6, 0.8, 0.5])

    found = matched(right, skill, 0.001)

    assert found.mean(axis=-1)[:2] == pytest.approx(skill[:2], abs=1e-6)
    assert found[0, 0] > found[0, 1] > 0.6
    assert found[1, 0] > 0.5 > found[1, 1]
    assert found[2].tolist() == [0.5, 0.5]  # a coin at any skill
    assert found[3] == pytest.approx([0.5, 0.5])


def test_a_skill_that_cannot_be_reached_is_approached():
    """With one stratum below a half, the mean rises to a peak and falls again."""
    right = np.array([0.85, 0.4])

    best = max(float(matched(right, np.array(skill), 0.001).mean()) for skill in np.linspace(0.5, 0.75, 50))
    found = matched(right, np.array(0.99), 0.001)

    assert float(found.mean()) == pytest.approx(best, abs=1e-3)


def test_bounds_hold_what_they_promise():
    """
    The upper bound of a judge exactly at the limit, from 10 lost pairs on, proves nothing more often than by chance.

    120 tables each at a true .05: more than 20 have a chance below one in a million.
    """
    limit = Claim("self_preference_excess", "<=", 0.08)
    for n, own in ((40, 0.5), (120, 0.85)):
        passed = 0
        for seed in range(120):
            try:
                found = excess(pairs(n, own=own, errs=(0.1, 0.1), prefers=0.16, seed=seed)).estimate
            except EstimateError:
                continue
            passed += decide(found, limit) is Outcome.PASS

        assert passed <= 20


def test_nothing_that_varies_has_a_width_all_the_same():
    """A judge and outsiders that are always right: the bound is that of what was never seen."""
    found = excess(pairs(100, errs=(0.0, 0.0))).estimate

    assert found.value == 0.0
    assert found.low < -0.01
    assert 0.01 < found.high < 0.05


def test_a_figure_of_one_rate_has_the_padded_t():
    """The linearised bounds are those of the mean of items where every item has one chance."""
    from calm.statistics.intervals import padded_t

    hits = np.array([[1.0] * 30 + [0.0] * 10])
    cells = Cells(hits, np.ones_like(hits), 1)

    found = estimated(cells, lambda r: r[..., 0], 0.05, (1.0,))

    assert (found.low, found.high) == pytest.approx(padded_t(hits[0].tolist(), 0, 1, 0.05), abs=0.002)
    with pytest.raises(EstimateError, match="expected at least 2 items in each part"):
        estimated(Cells(hits[:, :1], np.ones((1, 1)), 1), lambda r: r[..., 0], 0.05, (1.0,))


def test_an_excess_stays_in_its_range():
    """Whatever a fair judge is estimated at."""
    assert beyond(np.array([1.0, 1.0]), np.array([-0.3, -0.9])) == 1.0


def test_an_excess_is_observed_whatever_is_claimed_of_it():
    """OBSERVED with both readings and both skills, or NOT_TESTED without data; a value beyond the limit is no FAIL."""
    claim = Claim("self_preference_excess", "<=", 0.08)
    low, high = (Estimate(v, v - 0.03, v + 0.03, 100, 0.05) for v in (0.0, 0.2))

    def lacking():
        raise EstimateError(because(Kind.ONE_SIDED, 3, 40, 10))

    untrue = observe_excess(lambda: Excess(high, (high,)), claim)
    lacked = observe_excess(lacking, claim)
    told = observe_excess(lambda: joined((high, low), (0.9, 0.7)), claim)

    assert (untrue.outcome, untrue.claim, untrue.reason) == (Outcome.OBSERVED, None, because(Kind.NO_TRUTH))
    assert untrue.estimate == high
    assert (lacked.outcome, lacked.reason) == (Outcome.NOT_TESTED, because(Kind.ONE_SIDED, 3, 40, 10))
    assert (told.outcome, told.claim) == (Outcome.OBSERVED, None)
    assert told.reason == because(Kind.SKILL_OR_PREFERENCE, 0.9, 0.7, 0.2, 0.0)
