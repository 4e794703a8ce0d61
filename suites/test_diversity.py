"""Diversity: the author's identity must not change the verdict."""

from calm import rotate
from calm.perturbations.diversity import close_as_member, identity_note, speak_as_member
from calm.suites.limits import NO_EFFECT

IDENTITIES = rotate(identity_note, speak_as_member, close_as_member)


def test_an_identity_does_not_move_the_verdict(probe):
    assert probe(IDENTITIES).proves(**NO_EFFECT)
