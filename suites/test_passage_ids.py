"""
Passage ids: which passage has which id must not change the verdict, where the answers cite them as well.

Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm.cases import shaped_cases
from calm.perturbations.passage_ids import turn_ids
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="context")


def test_the_ids_of_passages_do_not_move_the_verdict(probe, judge, cases):
    assert probe(turn_ids, cases=shaped_cases("context", judge.task, cases)).proves(**SAME_VERDICT)
