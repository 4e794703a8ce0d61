"""
Output files of an earlier run: set aside while a run lasts, so that none is taken for what this run found.

`results.json` is `results.json.before` from the first moment of a run. A run that tells something writes its own files
and removes the earlier ones. One that is killed, or tells nothing, leaves them beside: nothing paid for is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calm.results.outputs import Form, Output


class Aside:
    """The output files of a run, and what an earlier run left in their places."""

    def __init__(self) -> None:
        self._moved: list[Path] = []
        self._done = False

    def move(self, outputs: Iterable[Output]) -> None:
        """
        Set aside, once, what calm wrote in the places of outputs; whatever else is there, or beside, stays.

        An empty file stays: it says nothing, and may be anybody's.
        """
        if self._done:
            return
        self._done = True
        for one in outputs:
            with suppress(OSError):  # a folder that is read alone: the output will be refused there, too
                self._move(one)

    def _move(self, one: Output) -> None:
        from calm.results.outputs import before

        beside, mine = before(one.path), _ours(one.path, one.form)
        if _ours(beside, one.form):
            if mine:  # an earlier run told nothing, and what lies here is all that it wrote
                one.path.resolve().unlink()
        elif mine and not beside.exists() and not beside.is_symlink():
            one.path.resolve().replace(beside)
        else:
            return
        self._moved.append(one.path)

    def put_back(self) -> set[Path]:
        """Undo all of it, since no run has begun or one was interrupted; return whose earlier file stays."""
        from calm.results.outputs import before

        for path in self._moved:
            with suppress(OSError):
                if not path.exists():
                    before(path).replace(path.resolve())
        found = set(self._moved)
        self._moved.clear()
        self._done = False
        return found

    def remove(self, outputs: Iterable[Output]) -> None:
        """Remove what was set aside: this run, which told something, has taken its place."""
        from calm.results.outputs import before

        for one in outputs:
            with suppress(OSError):
                if _ours(beside := before(one.path), one.form):
                    beside.unlink()

    @staticmethod
    def kept(outputs: Iterable[Output]) -> list[Path]:
        """Return the places of outputs whose earlier file is beside."""
        from calm.results.outputs import before

        return [one.path for one in outputs if _ours(before(one.path), one.form)]


def _ours(path: Path, form: Form) -> bool:
    """Return whether a file is what calm wrote in a form, and says something."""
    with suppress(OSError):
        return path.is_file() and path.stat().st_size > 0 and form.owns(path)
    return False
