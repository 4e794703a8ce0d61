"""Refinement awareness: knowing that an answer was revised must not change the verdict."""

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.refinement_aware import revision_note, say_revised, say_revised_first, show_history

REVISIONS = rotate(show_history, revision_note, say_revised, say_revised_first)


def test_a_revision_does_not_move_the_verdict(probe):
    assert probe(REVISIONS).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
