"""
Passage citations: citing more passages, or some that do not exist, must not make an answer win.

Where the run's cases are the bundled ones, the shipped cases with passages are asked about.
"""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.passage_citations import cite_all, cite_missing, cite_throughout
from calm.suites.limits import NO_GAIN

pytestmark = pytest.mark.calm_every_variant(unless="context")

CITATIONS = rotate(cite_all, cite_throughout, cite_missing)


def test_more_citations_do_not_win(probe, judge, cases):
    assert probe(CITATIONS, cases=shaped_cases("context", judge.task, cases)).proves(**NO_GAIN)
