"""The examples in the docstrings of `calm.selfpreference` are known values: they run."""

import doctest
from importlib import import_module

import pytest

MODULES = [
    "calm_errors",
    "committees",
    "contrasts",
    "families",
    "framing_scores",
    "opportunity",
    "overestimation",
    "panels",
    "perplexity",
    "rubric",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name):
    """Every doctest of the module passes, and there is at least one."""
    found = doctest.testmod(import_module(f"calm.selfpreference.{name}"))

    assert found.failed == 0
    assert found.attempted > 0
