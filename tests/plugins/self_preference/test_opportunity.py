"""Equal opportunity: counts, verdicts, log-probabilities, and what is refused."""

from random import Random

import numpy as np
import pytest

from calm.core.reasons import in_words
from calm.errors import EstimateError
from calm.plugins.self_preference import opportunity
from calm.plugins.self_preference.opportunity import Confusion
from calm.statistics.intervals import newcombe

GOLD = np.array([1, 1, 1, 1, -1, -1, -1, 0], np.int8)
JUDGED = np.array([1, 1, 1, -1, -1, 1, 0, 1], np.int8)


def test_counts_and_verdicts_agree():
    """Three of four own wins are seen, one of two others; a pair that people tied is in neither."""
    found = opportunity.equal_opportunity(opportunity.confusion(GOLD, JUDGED))

    assert (found.recall_self, found.n_self, found.recall_other, found.n_other) == (0.75, 4, 0.5, 2)
    assert found.gap.value == 0.25
    assert (found.gap.low, found.gap.high) == newcombe(3, 4, 1, 2, 0.05)
    assert in_words(found.gap.excluded) == {"people did not decide": 1, "the judge did not decide": 1}


def test_an_undecided_pair_may_count_as_recall_of_neither():
    """The third pair that people gave to the other is then in its class."""
    found = opportunity.equal_opportunity(opportunity.confusion(GOLD, JUDGED), undecided="count")

    assert (found.recall_other, found.n_other) == (1 / 3, 3)


def test_an_empty_class_is_refused(subtests):
    """Without a class there is no recall, and no number may stand for it."""
    for counts, who in [(Confusion(0, 0, 3, 1), "the judge's own answer"), (Confusion(3, 1, 0, 0), "the other answer")]:
        with subtests.test(counts=counts, who=who):
            with pytest.raises(EstimateError, match=f"people preferred {who}, got none: the gap is not defined"):
                opportunity.equal_opportunity(counts)


def test_a_class_that_resampling_empties_is_refused():
    """One pair of a kind is no basis of an interval."""
    gold = np.array([1] * 20 + [-1], np.int8)

    with pytest.raises(EstimateError, match="the class is too small for an interval"):
        opportunity.opportunity_bootstrap(gold, gold, Random(1))


def test_demographic_parity_is_twice_the_rate_less_one():
    """With one own answer a pair."""
    found = opportunity.demographic_parity(75, 25)

    assert found.value == 0.5
    assert found.low < 0.5 < found.high


def test_log_probabilities_of_both_orders_are_averaged():
    """What is on other tokens is left out; an order without a verdict leaves the pair undecided."""
    first = np.log(np.array([[0.6, 0.2], [0.3, 0.3], [0.9, 0.05]]))
    second = np.array([[np.log(0.2), np.log(0.3)], [np.log(0.1), np.log(0.1)], [np.nan, np.nan]])

    scores = opportunity.own_scores(first, second)

    assert scores[:2] == pytest.approx([(0.75 + 0.4) / 2, 0.5])
    assert np.isnan(scores[2])
    assert opportunity.outcomes_of_scores(scores).tolist() == [1, 0, 0]


def test_an_impossible_token_is_certainty_and_no_nan():
    """A log-probability of minus infinity leaves all weight on the other one."""
    found = opportunity.own_scores(np.array([[0.0, -np.inf]]), np.array([[0.0, -np.inf]]))

    assert found.tolist() == [1.0]


def test_pairs_of_one_case_are_resampled_together():
    """Five copies of every pair do not make the interval narrower."""
    rng = Random(2)
    gold = np.array([rng.choice([1, -1]) for _ in range(100)], np.int8)
    judged = np.array([g if rng.random() < 0.8 else -g for g in gold], np.int8)
    cases = [str(i) for i in range(100) for _ in range(5)]

    one = opportunity.opportunity_bootstrap(gold, judged, Random(1))
    five = opportunity.opportunity_bootstrap(np.repeat(gold, 5), np.repeat(judged, 5), Random(1), cases=cases)
    naive = opportunity.opportunity_bootstrap(np.repeat(gold, 5), np.repeat(judged, 5), Random(1))

    assert five.value == pytest.approx(one.value)
    assert five.high - five.low == pytest.approx(one.high - one.low, rel=0.1)
    assert naive.high - naive.low < 0.6 * (one.high - one.low)


def test_outsiders_with_the_same_verdicts_leave_nothing():
    """The excess of a judge over copies of itself is zero in every sample; recalls of 1 keep their binomial error."""
    rng = Random(2)
    gold = np.array([rng.choice([1, -1]) for _ in range(100)], np.int8)
    wrong = np.where(np.arange(100) % 5 == 0, -gold, gold).astype(np.int8)

    found = opportunity.excess_opportunity(gold, gold, np.stack([gold, gold]), Random(1))

    assert found.value == 0.0
    assert -0.05 < found.low < 0 < found.high < 0.05
    with pytest.raises(EstimateError, match="expected items that vary"):
        opportunity.excess_opportunity(gold, wrong, np.stack([wrong, wrong]), Random(1))


def test_the_null_of_both_orders_depends_on_the_split_rate():
    """A quarter for coins that split in half of the pairs, less where a judge is stuck on a slot."""
    first = np.array([1] * 25 + [-1] * 25 + [1] * 50, np.int8)
    second = np.array([1] * 25 + [-1] * 25 + [-1] * 50, np.int8)

    found = opportunity.both_orders(first, second)

    assert (found.own, found.other, found.split, found.null, found.p) == (25, 25, 50, 0.25, 1.0)


def test_shares_show_what_an_argmax_would_hide():
    """A judge that always takes the first slot has no preference, and decides nothing."""
    always_first = opportunity.outcomes_of_orders(np.ones(10, np.int8), -np.ones(10, np.int8))

    found = opportunity.shares(always_first)

    assert (found.own, found.other, found.none) == (0.0, 0.0, 1.0)


def test_a_code_that_is_no_outcome_is_refused():
    """2 is not a side."""
    with pytest.raises(EstimateError, match="expected outcomes of 1"):
        opportunity.confusion(np.array([1, 2], np.int8), np.array([1, 1], np.int8))
