"""Families of models: the examples in the docstrings are known values."""

import doctest

from calm.core import families


def test_the_examples_hold():
    """Each name of a model has its family."""
    found = doctest.testmod(families)

    assert found.failed == 0
    assert found.attempted >= 3
