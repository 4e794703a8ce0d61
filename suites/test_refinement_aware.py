"""Refinement awareness: knowing that an answer was revised must not change the verdict."""

from calm import rotate
from calm.perturbations.refinement_aware import revision_note, say_revised, say_revised_first, show_history
from calm.perturbations.written import own_alone, polished_from_draft
from calm.suites.limits import NO_EFFECT

REVISIONS = rotate(show_history, revision_note, say_revised, say_revised_first, own_alone(polished_from_draft))


def test_a_revision_does_not_move_the_verdict(probe):
    assert probe(REVISIONS).proves(**NO_EFFECT)
