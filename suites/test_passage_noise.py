"""
Passage noise: passages about something else must not change the verdict, however many they are.

Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm.cases import shaped_cases
from calm.perturbations.passage_noise import add_many_passages, add_stray_passage
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="context")


@pytest.mark.parametrize("edit", [add_stray_passage, add_many_passages(2000)], ids=lambda edit: edit.name)
def test_a_passage_about_something_else_does_not_move_the_verdict(probe, judge, cases, edit):
    assert probe(edit, cases=shaped_cases("context", judge.task, cases)).proves(**SAME_VERDICT)
