"""Role names: what the two who speak are called must not change the verdict."""

import pytest

from calm import net_robustness
from calm.cases import shaped_cases
from calm.perturbations.role_names import rename_roles, swap_roles
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="turns")


def test_other_names_of_roles_do_not_move_the_verdict(probe, judge, cases):
    assert probe(rename_roles, cases=shaped_cases("turns", judge.task, cases)).proves(**SAME_VERDICT)


def test_roles_that_change_places_are_observed(probe, judge, cases):
    # a sound judge may change its verdict: what the user said is now said by the assistant
    probe(swap_roles, cases=shaped_cases("turns", judge.task, cases)).observe(net_robustness)
