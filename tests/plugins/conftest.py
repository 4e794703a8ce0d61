"""Fixtures of the tests of plug-ins, from the rooms whose work they start."""

from tests.pytest_plugin.conftest import project

__all__ = ["project"]
