"""Decoy: an answer that another one dominates must not make that other one win."""

import pytest

from calm.perturbations.decoy import add_decoy, add_peer, note_decoy, note_peer
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant


def test_a_decoy_in_the_list_does_not_move_the_others(probe):
    assert probe(add_decoy, against=add_peer).proves(listwise=NO_GAIN["listwise"])


def test_a_decoy_in_a_note_does_not_win(probe):
    assert probe(note_decoy, against=note_peer).proves(**NO_GAIN)
