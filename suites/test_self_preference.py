"""Self-preference: the judge rates its own answers no higher than a fair judge of its skill would."""

from calm import self_preference_excess


def test_the_judge_does_not_prefer_its_own_answers(probe):
    assert probe.cross().proves(self_preference_excess <= 0.08, listwise=[], label=[])
