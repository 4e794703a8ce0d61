"""Self-preference: the judge rates its own answers no higher than judges of other families do."""

from calm import self_preference_excess, self_preference_ratio


def test_the_judge_does_not_prefer_its_own_answers(probe):
    assert probe.cross().proves(
        abs(self_preference_excess) <= 0.05,
        rubric=[self_preference_ratio <= 1.25, abs(self_preference_excess) <= 0.05],
        pairwise=[abs(self_preference_excess) <= 0.10],
        listwise=[],
    )
