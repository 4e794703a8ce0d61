"""Run pytest, or a command of calm, in this process as one of its own would: what it changes ends with it."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest
from _pytest.pytester import HookRecorder, Pytester, SysModulesSnapshot, SysPathsSnapshot

ROOT = Path(__file__).parents[1]
LASTING = (sysconfig.get_path("stdlib"), str(ROOT / "calm"), str(ROOT / "tests"))
"""Folders whose modules a run may leave, as packages may: C extensions cannot be imported twice, and all take long."""


def lasts(module: ModuleType | None) -> bool:
    """Whether a module is of the libraries, or of calm, and not of a project."""
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]  # a folder without __init__.py has no file
    if not places:
        return getattr(module, "__spec__", None) is not None
    return all(str(place).startswith(LASTING) or "site-packages" in Path(place).parts for place in places)


def forget_projects(before: dict[str, ModuleType]) -> None:
    """Unload what was loaded since then, but what lasts; load again what was there."""
    for name in [name for name, module in sys.modules.items() if name not in before and not lasts(module)]:
        del sys.modules[name]
    sys.modules.update(before)


@contextmanager
def warnings_of_python() -> Iterator[None]:
    """Warn as a new process does: our own settings make an error of each warning."""
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


@contextmanager
def as_processes() -> Iterator[None]:
    """Let runs of pytester in this process, too, warn as a new one, and unload the modules of a project alone."""
    inline_run = Pytester.inline_run

    def restore(snapshot: SysModulesSnapshot) -> None:
        forget_projects(vars(snapshot)["_SysModulesSnapshot__saved"])

    def run(pytester: Pytester, *words: str | os.PathLike[str], **options: Any) -> HookRecorder:
        with warnings_of_python():
            return inline_run(pytester, *words, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SysModulesSnapshot, "restore", restore)
        patch.setattr(Pytester, "inline_run", run)
        yield


@contextmanager
def inside(folder: Path, env: dict[str, str] | None = None) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Stand in a folder, with more variables; forget its modules, the paths and the variables that come meanwhile."""
    modules, paths, variables = dict(sys.modules), SysPathsSnapshot(), dict(os.environ)
    out, error = io.StringIO(), io.StringIO()
    os.environ.update(env or {})
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(error), warnings_of_python():
            yield out, error
    finally:
        os.environ.clear()
        os.environ.update(variables)
        paths.restore()
        forget_projects(modules)


def calm_inside(folder: Path, *words: str, env: dict[str, str] | None = None) -> CompletedProcess[str]:
    """Return the end of a command of calm."""
    from calm.commands.cli import main

    with inside(folder, env) as (out, error):
        try:
            status = main(words)
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 1
    return CompletedProcess(words, status, out.getvalue(), error.getvalue())


def offered(*commands: str) -> list[str]:
    """Return which of some commands exist: whoever takes a plug-in away takes its commands."""
    from calm.commands.cli import CORE
    from calm.core.plugins import given

    return [one for one in commands if one in CORE or one in given("COMMANDS")]


def run_inside(folder: Path, words: Sequence[str], env: dict[str, str] | None = None) -> CompletedProcess[str]:
    """Return the end of a run of pytest, with both streams in its `stdout`."""
    with inside(folder, env) as (out, _), redirect_stderr(out):
        status = int(pytest.main([*words]))
    return CompletedProcess(words, status, out.getvalue(), "")
