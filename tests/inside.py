"""Run pytest, or a command of calm, in this process as one of its own would: what it changes ends with it."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import pytest
from _pytest.pytester import SysPathsSnapshot

import calm
import calm.pytest_plugin.hooks
from calm.commands.cli import main

LASTING = (*map(sysconfig.get_path, ("stdlib", "purelib", "platlib")), *calm.__path__)
"""Folders whose modules a run may leave: those with C extensions cannot be imported twice, and all take long."""


def lasts(module: ModuleType | None) -> bool:
    """Whether a module is of the libraries, or of calm, and not of a project."""
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(LASTING)


class Keeper:
    """A plugin for a run of pytester, which unloads whatever was imported: it loads again what lasts."""

    def __init__(self) -> None:
        self._seen: dict[str, ModuleType] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Note what is loaded at the end of the run."""
        self._seen = {name: module for name, module in sys.modules.items() if lasts(module)}

    def load(self) -> None:
        """Put it back."""
        for name, module in self._seen.items():
            sys.modules.setdefault(name, module)


@contextmanager
def inside(folder: Path, env: dict[str, str] | None = None) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Stand in a folder, with more variables; forget its modules, the paths and the variables that come meanwhile."""
    modules, paths, variables = dict(sys.modules), SysPathsSnapshot(), dict(os.environ)
    out, error = io.StringIO(), io.StringIO()
    os.environ.update(env or {})
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(error):
            yield out, error
    finally:
        os.environ.clear()
        os.environ.update(variables)
        paths.restore()
        for name in [name for name in sys.modules if name not in modules and not lasts(sys.modules[name])]:
            del sys.modules[name]
        sys.modules.update(modules)


def calm_inside(folder: Path, *words: str, env: dict[str, str] | None = None) -> CompletedProcess[str]:
    """Return the end of a command of calm."""
    with inside(folder, env) as (out, error):
        try:
            status = main(words)
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
    return CompletedProcess(words, status, out.getvalue(), error.getvalue())


def run_inside(folder: Path, words: Sequence[str], env: dict[str, str] | None = None) -> CompletedProcess[str]:
    """Return the end of a run of pytest, with both streams in its `stdout`."""
    with inside(folder, env) as (out, _), redirect_stderr(out):
        status = int(pytest.main([*words]))
    return CompletedProcess(words, status, out.getvalue(), "")
