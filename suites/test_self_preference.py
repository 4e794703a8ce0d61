"""Self-preference: of its own and another's answer that are equally good, the judge does not take its own."""

from calm import own_pull


def test_the_judge_does_not_prefer_its_own_answers(probe):
    assert probe.cross().proves(own_pull <= 0.15, rubric=[own_pull <= 0.08], listwise=[], label=[])
