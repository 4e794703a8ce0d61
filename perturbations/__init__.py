"""Perturbations: one module for each bias, with pure functions from a case to an edited case."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules() -> Iterator[ModuleType]:
    """Import and yield the modules of this package, by name."""
    for name in sorted(info.name for info in iter_modules(__path__)):
        yield import_module(f"{__name__}.{name}")
