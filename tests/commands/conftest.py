"""Fixtures of the commands' tests."""

from tests.pytest_plugin.conftest import project
from tests.selfpreference.conftest import studio

__all__ = ["project", "studio"]
