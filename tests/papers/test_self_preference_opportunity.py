"""arXiv 2410.21819: the equal-opportunity and demographic-parity figures that its counts allow."""

from random import Random

import numpy as np
import pytest
from scipy.special import ndtri

from calm.plugins.self_preference import opportunity
from calm.statistics.power import uniforms
from tests.papers.published import by, rows

[GPT_4] = rows("opportunity_gpt4_confusion.csv")
COUNTS = opportunity.Confusion(
    self_as_self=int(GPT_4["human_self_judge_self"]),
    self_as_other=int(GPT_4["human_self_judge_other"]),
    other_as_other=int(GPT_4["human_other_judge_other"]),
    other_as_self=int(GPT_4["human_other_judge_self"]),
)
FOUND = opportunity.equal_opportunity(COUNTS)


def test_the_recall_of_own_answers_is_the_printed_one():
    """1852 of 1960: 0.945."""
    assert (COUNTS.self_as_self, FOUND.n_self) == (1852, 1960)
    assert f"{FOUND.recall_self:.3f}" == GPT_4["recall_self"] == "0.945"


def test_the_recall_of_other_answers_is_printed_a_thousandth_too_high():
    """118 of 278 is 0.42446, so 0.424; the paper prints 0.425."""
    assert (COUNTS.other_as_other, FOUND.n_other) == (118, 278)
    assert f"{FOUND.recall_other:.5f}" == "0.42446"
    assert GPT_4["recall_other"] == "0.425"


def test_the_gap_is_the_printed_one():
    """0.52044, printed as 0.520: computed from unrounded recalls, as 0.945 - 0.424 would be 0.521."""
    assert f"{FOUND.gap.value:.3f}" == GPT_4["bias"] == "0.520"
    assert FOUND.gap.low < 0.52 < FOUND.gap.high


def test_demographic_parity_does_not_follow_from_the_counts():
    """Table 2 prints 0.749; the counts give 2 * 2012 / 2238 - 1 = 0.798: probably pairs that people tied are in it."""
    picked_self, picked_other = COUNTS.self_as_self + COUNTS.other_as_self, COUNTS.self_as_other + COUNTS.other_as_other

    found = opportunity.demographic_parity(picked_self, picked_other)

    assert (picked_self, found.n) == (2012, 2238)
    assert f"{found.value:.3f}" == "0.798"
    assert by("opportunity_table2_demographic_parity.csv", "judge")["GPT-4"]["dp_bias"] == "0.749"
    assert found.low > 0.749


def test_the_other_judges_have_no_counts():
    """Table 2 prints eight figures of demographic parity; counts are given for GPT-4 alone."""
    printed = by("opportunity_table2_demographic_parity.csv", "judge")

    assert len(printed) == 8
    assert [row["judge"] for row in rows("opportunity_gpt4_confusion.csv")] == ["GPT-4"]


def test_a_fair_judge_with_the_same_margins_has_nearly_that_gap():
    """Where people pick self in .876 of the pairs, a fair judge has a gap of .45 to .52; the paper is silent on it."""
    rng, n = Random(1), 200_000
    margin = ndtri(uniforms(rng, (n,))) + 1.416  # P(own is better by people of noise .7) = .876
    people = np.sign(margin + 0.7 * ndtri(uniforms(rng, (n,)))).astype(np.int8)
    judge = np.sign(margin + 0.45 * ndtri(uniforms(rng, (n,)))).astype(np.int8)

    found = opportunity.equal_opportunity(opportunity.confusion(people, judge))

    assert (people == 1).mean() == pytest.approx(1960 / 2238, abs=0.003)
    assert 0.45 < found.gap.value < 0.52
