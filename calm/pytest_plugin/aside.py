"""
Output files of an earlier run: set aside while a run lasts, so that none is taken for what this run found.

`results.json` is `results.json.before` from the first moment of a run. A run that tells something writes its own files
and removes the earlier ones. One that is killed, or tells nothing, leaves them beside: nothing paid for is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ENDING = ".before"


class Aside:
    """The output files of a run, and what an earlier run left in their places."""

    def __init__(self) -> None:
        self._moved: list[Path] = []
        self._done = False

    def move(self, outputs: Iterable[Path]) -> None:
        """
        Set aside, once, what lies in the places of outputs. They were checked: it is what calm wrote.

        An empty file stays: it says nothing, and may be anybody's.
        """
        if self._done:
            return
        self._done = True
        for path in outputs:
            if path.is_file() and path.stat().st_size:
                self._move(path)

    def _move(self, path: Path) -> None:
        with suppress(OSError):  # a folder that is read alone: the output will be refused there, too
            if _before(path).exists():  # an earlier run told nothing, and what lies here is all that it wrote
                path.resolve().unlink()
            else:
                path.resolve().replace(_before(path))
                self._moved.append(path)

    def put_back(self) -> None:
        """Undo all of it: no run has begun."""
        for path in self._moved:
            with suppress(OSError):
                if not path.exists():
                    _before(path).replace(path.resolve())
        self._moved.clear()
        self._done = False

    def remove(self, outputs: Iterable[Path]) -> None:
        """Remove what was set aside: this run, which told something, has taken its place."""
        for path in outputs:
            with suppress(OSError):
                _before(path).unlink(missing_ok=True)

    @staticmethod
    def kept(outputs: Iterable[Path]) -> list[Path]:
        """Return the places of outputs whose earlier file is beside."""
        return [path for path in outputs if _before(path).exists()]


def _before(path: Path) -> Path:
    """Return where an earlier file is set aside; a link to a file is followed."""
    place = path.resolve()
    return place.with_name(f"{place.name}{ENDING}")
