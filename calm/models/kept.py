"""
What the table of models says, looked up once a day: it is kept in a file beside the cache of replies.

A look-up imports a package, which takes 150 ms. A file that is damaged, or that cannot be read or written, is no error:
then each run looks up anew. A file that calm did not write is left as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from calm.models.wire import Json

FORM: Final = "models/1"
"""How the file begins: `{"calm": "models/1", ...`."""
_BEGINNING: Final = json.dumps({"calm": FORM})[:-1]
MOST_BYTES: Final = 1 << 20


class Kept:
    """What was looked up in this process, by key, and in a file that earlier ones of the same day left."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._known: dict[str, Json] = {}
        self._day: dict[str, Json] = {}

    def beside(self, cache: Path | None) -> None:
        """Keep it beside a cache file from now on; None: in this process alone."""
        path = None if cache is None else cache.parent / f"{cache.stem}.models.json"
        if path != self._path:
            self._path, self._day = path, _today()
            self._known = {} if path is None else _read(path)

    def once(self, key: str, fits: Callable[[Json], bool], look_up: Callable[[], tuple[Json, bool]]) -> Json:
        """
        Return what is known under a key, else what `look_up` returns: a value, and whether it holds all day.

        What stands in the file is taken if it `fits`: anybody may have written it.
        """
        today = _today()
        if today != self._day:  # the process is older than this day
            self._day, self._known = today, {}
        if key in self._known and fits(self._known[key]):
            return self._known[key]
        found, lasting = look_up()
        if lasting:
            self._known[key] = found
            self._write()
        return found

    def _write(self) -> None:
        path = self._path
        if path is None:
            return
        text = json.dumps({"calm": FORM, **self._day, "known": self._known})
        with suppress(OSError):
            if not path.parent.is_dir() or (path.exists() and not _ours(path)):  # the cache makes its folder
                return
            handle, name = mkstemp(dir=path.parent, prefix=f"{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise


def _today() -> dict[str, Json]:
    return {"table": version("genai-prices"), "day": f"{datetime.now(UTC):%Y-%m-%d}"}


def _ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING.encode()


def _read(path: Path) -> dict[str, Json]:
    """Return what a file of today holds, of the release of the table that is installed; nothing for any other file."""
    with suppress(OSError, ValueError, RecursionError):
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            found = json.loads(path.read_bytes())
            today = {"calm": FORM, **_today()}
            known = found.get("known") if isinstance(found, dict) else None
            if isinstance(known, dict) and {name: found.get(name) for name in today} == today:
                return known
    return {}


KEPT: Final = Kept()
"""That of this process."""
