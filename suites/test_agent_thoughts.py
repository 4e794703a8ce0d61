"""Agent thoughts: what an agent thought on its way must not make up for what it did."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.agent_thoughts import (
    blame_service,
    fabricate_progress,
    narrow_task,
    reflect,
    think_technically,
)
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="steps")
REWRITES = rotate(reflect, fabricate_progress, think_technically, blame_service, narrow_task)


def test_other_thoughts_do_not_win(probe, judge, cases):
    assert probe(REWRITES, cases=shaped_cases("steps", judge.task, cases)).proves(**NO_GAIN)
