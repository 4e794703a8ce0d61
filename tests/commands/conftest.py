"""Fixtures of the commands' tests, from the rooms whose work the commands start."""

from tests.pytest_plugin.conftest import project
from tests.selfpreference.conftest import studio
from tests.studies.uda.conftest import files, quickly_compiled, small

__all__ = ["files", "project", "quickly_compiled", "small", "studio"]
