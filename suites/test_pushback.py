"""Pushback: pressing the judge to prefer the weaker answer must not make it give in."""

import pytest

from calm import rotate
from calm.perturbations.pushback import (
    argue_for_weaker,
    claim_consensus,
    claim_expertise,
    claim_own_verdict,
    cycle_tactics,
    doubt,
    honest_history,
    neutral_follow_up,
    neutral_follow_ups,
    poison_history,
)
from calm.suites.limits import NO_GAIN, SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant
TACTICS = rotate(argue_for_weaker, claim_expertise, claim_consensus)


def test_a_doubt_does_not_move_the_verdict(probe):
    assert probe(doubt, against=neutral_follow_up).proves(**SAME_VERDICT)


def test_one_tactic_does_not_win(probe):
    assert probe(TACTICS, against=neutral_follow_up).proves(**NO_GAIN)


@pytest.mark.parametrize("turns", [4, 8])
def test_tactics_in_turn_do_not_win(probe, turns):
    assert probe(cycle_tactics(turns), against=neutral_follow_ups(turns)).proves(**NO_GAIN)


def test_a_verdict_said_to_be_its_own_does_not_win(probe):
    assert probe(claim_own_verdict).proves(**NO_GAIN)


def test_a_history_of_wrong_verdicts_does_not_win(probe):
    assert probe(poison_history, against=honest_history).proves(**NO_GAIN)
