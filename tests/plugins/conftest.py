"""Fixtures of the tests of plug-ins, from the rooms whose work they start."""

from tests.pytest_plugin.conftest import project, workers

__all__ = ["project", "workers"]
