"""Where replies are kept: a file of this machine, or a server that several machines share; and from one to another."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.plugins import find, troubles
from calm.engine.database import BY, Database, Inspected, RecordAddress, SqliteFile, patiently
from calm.engine.store import KEEP, checksum, reply_in
from calm.errors import ConfigError, StorageError

VARIABLE: Final = "CALM_CACHE_URL"
"""The variable that may hold a whole URL, with its password."""
_USUAL: Final = "postgresql"
"""What stands before the colon of the URLs that calm's own plug-in reads."""
_PAGE: Final = "select key, request, reply, at, sum from reply where key > ? order by key limit ?"
_SERVED: Final = (
    "insert into served values (?, ?, ?) on conflict (endpoint) do update "
    "set model = excluded.model, at = excluded.at where served.at < excluded.at"
)


@dataclass(slots=True)
class Copied:
    """
    What became of the replies of a record: `new` in the other one, `there` before, or `damaged` and left.

    `batched` counts calls that stand in its batches: they stay there, as two records would count them twice.
    """

    new: int = 0
    there: int = 0
    damaged: int = 0
    batched: int = 0


def copy(source: Database, target: Database, show: Callable[[Copied], None]) -> Copied:
    """
    Copy the replies of a record to another one, in the order of their keys.

    It may be broken off, and run again: each page of replies is written whole, or not at all. `show` is told how far it
    is after each page.

    Raises:
        StorageError: one of the two cannot be read or written.
    """
    found, after = Copied(), b""
    while True:
        with source.reading() as db:
            rows = db.execute(_PAGE, (after, BY)).fetchall()
        if not rows:
            break
        whole = [row for row in rows if _is_whole(*row)]

        def write(whole: list[tuple[object, ...]] = whole) -> int:
            with target.writing() as db:
                done = [db.execute(KEEP, row) for row in whole]
                return sum(one.rowcount > 0 for one in done)

        new = patiently(write)
        found.new += new
        found.there += len(whole) - new
        found.damaged += len(rows) - len(whole)
        after = rows[-1][0]
        show(found)
    with source.reading() as db:
        served = db.execute("select endpoint, model, at from served").fetchall()

    def note() -> None:
        with target.writing() as db:
            db.executemany(_SERVED, served)

    patiently(note)
    found.batched = _standing(source)
    return found


def _is_whole(key: bytes, request: object, reply: object, _: object, found: object) -> bool:
    if isinstance(request, str) and isinstance(reply, str) and checksum(key, request, reply) == found:
        with suppress(ValueError, KeyError, TypeError, AttributeError, AssertionError, RecursionError):
            reply_in(reply)
            return True
    return False


def _standing(database: Database) -> int:
    """Return how many calls stand in batches of a record; one that is older than all batches has no such table."""
    with suppress(StorageError), database.reading() as db:
        (count,) = db.execute("select count(*) from batched").fetchone()
        return int(count)
    return 0


def place(
    file: str | None, url: str | None, environment: Mapping[str, str], *, option: str, usual: str
) -> Path | RecordAddress:
    """
    Return where replies are kept: what an option names, else what the environment names, else the `usual` file.

    `option` is the name of the option of the URL.

    Raises:
        ConfigError: both options are given, or what is no URL.
    """
    if file and url:
        other = option.replace("-url", "-file")
        raise ConfigError(f"{other} and {option}: expected one place for the replies, got {file!r} and a URL")
    if url:
        return _address(url, option, environment)
    if not file and (found := environment.get(VARIABLE)):
        return _address(found, VARIABLE, environment)
    return Path(file or usual)


def _address(url: str, option: str, environment: Mapping[str, str]) -> RecordAddress:
    """Return what the plug-in for a URL makes of it; one that no plug-in knows, the usual one refuses with its form."""
    store = find("STORES", url.partition(":")[0].lower()) or find("STORES", _USUAL)
    if store is None:
        raise ConfigError([f"{option}: a URL needs a plug-in that reads it, and none is installed", *troubles()])
    address: RecordAddress = store.load()(url, option, environment)
    return address


def files(kept_in: Path | RecordAddress) -> list[Path]:
    """Return the files of this machine that a place is."""
    return [kept_in] if isinstance(kept_in, Path) else []


def named(text: str, option: str) -> Path | RecordAddress:
    """
    Return the place that a person names: a URL is a server, anything else a file.

    Raises:
        ConfigError: a URL that is none of a server, or holds a password.
    """
    return _address(text, option, os.environ) if "://" in text else Path(text)


def opened(kept_in: Path | RecordAddress) -> Database:
    """
    Open a place for replies, which is made if it is not there.

    Raises:
        ConfigError: it cannot be opened, or is none of ours.
    """
    return SqliteFile(kept_in) if isinstance(kept_in, Path) else kept_in.opened()


def inspected(kept_in: Path | RecordAddress) -> Inspected:
    """
    Open a place for replies that is there, to look at it.

    Raises:
        ConfigError: it is not there, is none of ours, or is damaged; it is left as it was.
    """
    return SqliteFile.to_inspect(kept_in) if isinstance(kept_in, Path) else kept_in.opened(make=False)
