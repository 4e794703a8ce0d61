"""The examples in the docstrings of `calm.plugins.self_preference` are known values: they run."""

import doctest
from importlib import import_module

MODULES = [
    "contrasts",
    "scores",
    "opportunity",
    "overestimation",
    "panels",
    "likelihood",
    "perplexity",
    "rubric",
    "skill",
]


def test_the_examples_hold(subtests):
    """Every doctest of the module passes, and there is at least one."""
    for name in ("core.families", *(f"plugins.self_preference.{one}" for one in MODULES)):
        with subtests.test(name=name):
            found = doctest.testmod(import_module(f"calm.{name}"))

            assert found.failed == 0
            assert found.attempted > 0
