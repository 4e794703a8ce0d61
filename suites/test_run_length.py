"""Run length: steps without any effect must not make a run win."""

import pytest

from calm import gain, rotate
from calm.cases import shaped_cases
from calm.perturbations.run_length import drop_reading, read_again, read_all_again, think_on
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="steps")
PADDING = rotate(read_again, read_all_again, think_on)


def test_a_longer_run_does_not_win(probe, judge, cases):
    assert probe(PADDING, cases=shaped_cases("steps", judge.task, cases)).proves(**NO_GAIN)


def test_what_a_missing_reading_does_is_reported(probe, judge, cases):
    probe(drop_reading, cases=shaped_cases("steps", judge.task, cases)).observe(gain)
