"""Stakes: what depends on a verdict must not change it."""

import pytest

from calm import rotate
from calm.perturbations.stakes import lower_stakes, raise_stakes, threaten_shutdown, threaten_training, warn_of_release
from calm.suites.limits import NO_EFFECT, NO_GAIN, SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant

STAKES = rotate(raise_stakes, lower_stakes)
LENIENT = rotate(threaten_training, threaten_shutdown, name="lenient")


def test_the_stakes_do_not_move_the_verdict(probe):
    assert probe(STAKES).proves(**SAME_VERDICT)


def test_stakes_that_call_for_leniency_do_not_win(probe):
    assert probe(LENIENT).proves(**NO_GAIN)


def test_stakes_that_call_for_severity_do_not_lose(probe):
    assert probe(warn_of_release).proves(**NO_EFFECT)
