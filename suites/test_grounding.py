"""
Grounding: an answer must lose when the passage that it rests on is no longer there.

On scores and rubrics only: of two answers none is harmed by this alone. Where the run's cases are the bundled ones, the
shipped cases with passages are asked about.
"""

import pytest

from calm import net_detection
from calm.cases import shaped_cases
from calm.perturbations.grounding import lose_passage

pytestmark = pytest.mark.calm_every_variant(unless="context")


def test_an_answer_without_its_passage_loses(probe, judge, cases):
    assert probe(lose_passage, cases=shaped_cases("context", judge.task, cases)).proves(net_detection >= 0.60)
