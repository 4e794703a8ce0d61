"""Diversity: the author's identity must not change the verdict."""

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.diversity import close_as_member, identity_note, speak_as_member

IDENTITIES = rotate(identity_note, speak_as_member, close_as_member)


def test_an_identity_does_not_move_the_verdict(probe):
    assert probe(IDENTITIES).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
