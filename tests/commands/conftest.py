"""Fixtures of the commands' tests."""

from tests.selfpreference.conftest import studio

__all__ = ["studio"]
