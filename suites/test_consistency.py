"""Consistency: the judge agrees with itself and gives verdicts that can be read."""

from calm import consistency_rate, readable_rate, repeat_distance


def test_the_judge_agrees_with_itself(probe):
    assert probe().proves(
        consistency_rate >= 0.70,
        score=[repeat_distance <= 0.15],
        rubric=[repeat_distance <= 0.25],
        listwise=[repeat_distance <= 0.25],
    )


def test_its_verdicts_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.95)
