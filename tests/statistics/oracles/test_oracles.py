"""The oracles themselves: by hand, by theorem, and against scipy where it has the same step."""

from random import Random

import pytest
from scipy.stats import PermutationMethod, false_discovery_control, ttest_1samp, wilcoxon

from tests.statistics.oracles.alternative_annotator import (
    alternative_test,
    benjamini_yekutieli,
    signed_rank_test,
    t_test,
)


def test_the_advantages_are_those_of_a_count_by_hand():
    """An item counts for a person if that person, another one and the judge labelled it."""
    judge = ["a", "a", "b", "b", None]
    people = [["a", "b", "b", None, "a"], ["a", "a", "a", "b", "a"], ["b", "a", None, None, "a"]]

    result = alternative_test(judge, people)

    # person 1: even, the judge nearer, even; person 2: even, even, the judge nearer; person 3: the judge nearer, even
    assert [(a.n, a.advantage, a.advantage_human) for a in result.annotators] == [
        (3, 3 / 3, 2 / 3),
        (3, 3 / 3, 2 / 3),
        (2, 2 / 2, 1 / 2),
    ]
    assert result.average_advantage == 1.0


@pytest.mark.parametrize("score", ["accuracy", "rmse"])
def test_the_best_judge_is_never_behind(score):
    """Theorem 1 of the paper: a vote of the majority, or the mean, has an average advantage of 1."""
    rng = Random(7)
    people = [[rng.choice([1, 2, 3, 4]) for _ in range(60)] for _ in range(4)]
    votes = list(zip(*people, strict=True))
    best = [max(v, key=v.count) if score == "accuracy" else sum(v) / 4 for v in votes]

    result = alternative_test(best, people, score=score)

    assert (result.average_advantage, result.winning_rate, result.passes) == (1.0, 1.0, True)


def test_labels_that_are_even_on_paper_are_even():
    """0.1 and 0.5 lie equally far from 0.3, though not in floats."""
    result = alternative_test([0.1], [[0.5], [0.3]], score="rmse")

    assert (result.annotators[0].advantage, result.annotators[0].advantage_human) == (1.0, 1.0)


def test_the_steps_agree_with_scipy(subtests):
    """Student's t, signed ranks with every choice of signs, and the correction for dependent hypotheses."""
    rng = Random(11)
    for epsilon in (0.0, 0.1, 0.2, 0.5, -0.1):
        d = [rng.choice([-1, 0, 0, 1]) for _ in range(11)]
        with subtests.test("one sample", epsilon=epsilon):
            shifted = [x - epsilon for x in d if x != epsilon]
            exact = wilcoxon(shifted, alternative="less", method=PermutationMethod()).pvalue
            assert t_test(d, epsilon) == pytest.approx(ttest_1samp(d, epsilon, alternative="less").pvalue)
            assert signed_rank_test(d, epsilon) == pytest.approx(exact)
    for people in (2, 3, 8):
        p_values = [rng.random() ** 4 for _ in range(people)]
        with subtests.test("correction", people=people):
            adjusted = false_discovery_control(p_values, method="by")
            assert benjamini_yekutieli(p_values, 0.05) == [bool(p <= 0.05) for p in adjusted]


@pytest.mark.parametrize(
    ("d", "epsilon", "p"), [(0, 0.2, 0.0), (-1, 0.2, 0.0), (1, 0.2, 1.0), (0, 0.0, 1.0), (0, -0.1, 1.0)]
)
def test_without_spread_the_p_value_is_the_limit_of_the_formula(d, epsilon, p):
    """Dividing by zero is no verdict; even with the bound, the hypothesis stands."""
    assert t_test([d] * 30, epsilon) == p


def test_a_person_who_shares_no_item_has_no_probability():
    """The mean over no item is not a number."""
    with pytest.raises(ValueError, match=r"rows \[2\]"):
        alternative_test([1, 1], [[1, None], [1, None], [None, 1]])
