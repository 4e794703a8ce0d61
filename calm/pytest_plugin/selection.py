"""Which tests of the gate run: those beyond the default gate, and whether a part of them was chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from calm.pytest_plugin.options import EXTRA, case_files, flag


@dataclass
class Selection:
    """The tests of a run that take a probe, as this process knows them."""

    beyond: dict[str, str] = field(default_factory=dict)
    """The tests that were collected and left out, with the reason: they are none of the default gate."""
    collected: tuple[pytest.Item, ...] = ()
    """The tests with a probe before anything left some of them out."""
    selected: int = 0
    """How many tests of the gate were selected."""
    deselected: int = 0
    """How many tests of the gate options of pytest, plugins or a conftest.py left out."""
    parts: frozenset[str] | None = None
    """What the cases of the run's files have beside question and answers, once it was looked for."""
    narrowed: bool = False
    """Whether they left out any, in this process or in a worker of xdist that has come to its end."""


SELECTION: pytest.StashKey[Selection] = pytest.StashKey()


def parts_of(config: pytest.Config) -> frozenset[str]:
    """Return what the cases of the run's files have beside question and answers: turns, context, steps."""
    from calm.cases.shapes import parts_in

    ours = config.stash[SELECTION]
    if ours.parts is None:
        ours.parts = parts_in(case_files(config))
    return ours.parts


def takes_probe(item: pytest.Item) -> bool:
    """Return whether a test takes `probe`."""
    return "probe" in getattr(item, "fixturenames", ())


def probed(session: pytest.Session) -> list[pytest.Item]:
    """Return the tests that take `probe`."""
    return [item for item in session.items if takes_probe(item)]


def in_gate(item: pytest.Item) -> bool:
    """Return whether a test takes the probe or the judge of a run: such a test is in the record."""
    return not {"probe", "judge"}.isdisjoint(getattr(item, "fixturenames", ()))


def beyond(item: pytest.Item) -> str:
    """Return why a test is none of the default gate: neither all variants nor its file were asked for; else nothing."""
    marker = item.get_closest_marker(EXTRA)
    if marker is None:
        return ""
    folder = bool(marker.kwargs.get("folder", False))
    if (not folder and flag(item.config, "every-variant")) or _is_named(item, folder=folder):
        return ""
    if (part := marker.kwargs.get("unless")) is not None:
        if part in parts_of(item.config):
            return ""
        how = f"where a case has {part}, with --calm-every-variant, or if its file is named"
        return f"beyond the default gate: asked {how}"
    how = "if its folder or file is named" if folder else "with --calm-every-variant, or if its file is named"
    return f"beyond the default gate: asked {how}"


def _is_named(item: pytest.Item, *, folder: bool) -> bool:
    """
    Return whether the command line names the file of a test, or its folder if that will do.

    pytest forgets that a file was named if its folder was named, too. So the arguments themselves are read.
    """
    places = {item.path, item.path.parent} if folder else {item.path}
    if any(item.session.isinitpath(place) for place in places):
        return True
    own = item.nodeid.partition("::")[2]
    for argument in item.config.args:
        path, _, name = str(argument).partition("::")
        if Path(path).absolute() in places and (not name or own == name or own.startswith((f"{name}[", f"{name}::"))):
            return True
    return False


def deselect_beyond(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests beyond the default gate that were not asked for."""
    found = {item.nodeid: why for item in items if (why := beyond(item))}
    if found:
        config.stash[SELECTION].beyond = found
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in found])
        items[:] = [item for item in items if item.nodeid not in found]


def count_selected(session: pytest.Session) -> None:
    """Note how many tests with a probe are to run, and how many were left out."""
    ours = session.config.stash[SELECTION]
    left = {item.nodeid for item in session.items}
    ours.selected = len(probed(session))
    ours.deselected = sum(item.nodeid not in left and not beyond(item) for item in ours.collected)
    ours.narrowed, ours.collected = ours.deselected > 0, ()


NARROWING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")
"""The options of pytest that choose a part of the tests."""


def part_chosen(config: pytest.Config) -> bool:
    """
    Return whether this is a run of a part of the tests: by options, by paths, or by a filter of a plugin or a conftest.

    Known when the tests are collected; with workers of xdist, at the end.
    """
    narrowed = any(getattr(config.option, name, None) for name in NARROWING)
    return narrowed or config.stash[SELECTION].narrowed or _by_path(config)


def _by_path(config: pytest.Config) -> bool:
    """
    Return whether the paths of a run are a part: a node, a file, or a folder beside or below other tests.

    Where the ini file has `testpaths`, these are the whole.
    """
    if any("::" in str(one) for one in config.args):
        return True
    root = config.rootpath
    paths = [_path_of(config, str(one)) for one in config.args]
    homes = [home for pattern in config.getini("testpaths") for home in root.glob(pattern)] or [root]
    if all(any(home.is_relative_to(path) for path in paths) for home in homes):
        return False
    if homes != [root] or any(path.is_file() for path in paths):
        return True
    named = config.getini("python_files")
    for parent in {path.parent for path in paths}:
        deep = ("", "*/") if root in parent.parents else ("",)  # what lies beside the root is another project
        found = (test for name in named for where in deep for test in parent.glob(f"{where}{name}"))
        if any(not any(test.is_relative_to(path) for path in paths) for test in found):
            return True
    return False


def _path_of(config: pytest.Config, argument: str) -> Path:
    """Return the file or folder that an argument of pytest means, which may be the name of a module."""
    path = config.invocation_params.dir / argument
    if path.exists() or not config.option.pyargs:
        return path.resolve()
    try:
        found = find_spec(argument)
    except (ImportError, ValueError):
        return path
    where = (found.submodule_search_locations or [found.origin or ""]) if found is not None else []
    return next((Path(one).resolve() for one in where if one), path)
