"""Where replies go that the cache cannot take: a file beside it, whose room was taken before the disk was full."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.engine.rows import Entry, checksum, reply_in, reply_text

RESERVE: Final = 1 << 18
"""So many bytes are reserved on the disk: enough for the replies that are in hand at one moment."""
LONGEST: Final = 1 << 26
"""Bytes of a line that are read; a longer one is no reply of ours."""
_MARK: Final = ".spill-"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@dataclass(frozen=True, slots=True)
class Row:
    """A spilled reply, as the cache keeps it; `at` is when it came, in seconds since the epoch."""

    key: bytes
    request: str
    reply: str
    at: float
    sum: bytes


class Spill:
    """The file of one process; `owner` is the id of its leases."""

    def __init__(self, cache: Path, owner: str) -> None:
        self.path = cache.with_name(f"{cache.name}{_MARK}{owner}")
        self._end = 0
        with (
            suppress(OSError),
            os.fdopen(os.open(self.path, _NEW, 0o600), "wb") as file,
        ):
            file.write(bytes(RESERVE))
            file.flush()
            os.fsync(file.fileno())

    def write(self, entries: Sequence[Entry], at: float) -> None:
        """
        Write entries, and wait until they are on the disk.

        Raises:
            OSError: they cannot be written.
        """
        data = b"".join(_line(entry, at) for entry in entries)
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.seek(self._end)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._end += len(data)

    def close(self) -> None:
        """Remove the file if nothing is in it, else its empty rest."""
        with suppress(OSError):
            if self._end:
                os.truncate(self.path, self._end)
            else:
                self.path.unlink(missing_ok=True)


def spilled(cache: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files beside a cache that hold replies, or had room for some, and the ids of their owners."""
    with suppress(OSError):
        for path in sorted(cache.parent.iterdir()):
            before, mark, owner = path.name.partition(_MARK)
            if mark and before == cache.name and path.is_file() and not path.is_symlink():
                yield path, owner


def rows(path: Path) -> Iterator[Row]:
    """
    Yield the replies of a file, without what was half written or damaged.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        while line := file.readline(LONGEST):
            with suppress(ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                data = json.loads(line.strip(b"\0"))
                key, request, reply = bytes.fromhex(data["key"]), data["request"], data["reply"]
                row = Row(key, request, reply, float(data["at"]), bytes.fromhex(data["sum"]))
                if checksum(key, request, reply) == row.sum:
                    reply_in(reply)
                    yield row


def _line(entry: Entry, at: float) -> bytes:
    reply = reply_text(entry.reply)
    found = checksum(entry.key, entry.request, reply)
    data = {"key": entry.key.hex(), "request": entry.request, "reply": reply, "at": at, "sum": found.hex()}
    return json.dumps(data).encode() + b"\n"
