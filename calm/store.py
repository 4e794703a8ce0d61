"""The record of replies: one SQLite file, safe for several processes, so that nothing answered is paid twice."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from time import time

from calm.errors import ConfigError
from calm.wire import Json, Message, Reply, Token, Usage

APPLICATION_ID = 0x63616C6D  # "calm" in ASCII: tells our files from other people's
VERSION = 1
MEMORY = ":memory:"

_TABLES = f"""
begin immediate;
pragma application_id={APPLICATION_ID};
pragma user_version={VERSION};
create table if not exists reply (
    key blob not null unique, request text not null, reply text not null, at real not null
);
create table if not exists served (endpoint text primary key, model text not null, at real not null);
commit;
"""


class Mode(StrEnum):
    """What a run does with the record."""

    ON = "on"
    """Use what is there, add what is new."""
    REPLAY = "replay"
    """Never call: what is not there is an error."""
    REFRESH = "refresh"
    """Ask everything again and replace what is there."""
    OFF = "off"
    """Keep nothing beyond this run."""


class Store:
    """
    Replies by key, and the model that last served each endpoint. May be used from several threads.

    Raises:
        ConfigError: the file is not one of ours, is damaged, or cannot be opened; it is left as it was.
    """

    def __init__(self, path: Path | None, mode: Mode) -> None:
        self.path, self.mode = path, mode
        self._lock = threading.Lock()
        self._seen: set[bytes] = set()
        if path is None or mode is Mode.OFF:
            self._db = _connected(MEMORY)
            return
        if mode is Mode.REPLAY and not path.exists():
            raise ConfigError(f"{path}: there is no cache to replay; run once without --calm-cache=replay")
        _make_private(path)
        _refuse_foreign(path)
        self._db = _connected(str(path))

    def get(self, key: bytes) -> Reply | None:
        """Return the reply under a key; in `refresh` only what this run has put there."""
        if self.mode is Mode.REFRESH and key not in self._seen:
            return None
        with self._lock:
            row = self._db.execute("select reply from reply where key = ?", (key,)).fetchone()
        return _reply(json.loads(row[0])) if row else None

    def put(self, key: bytes, prompt: tuple[Message, ...], body: Mapping[str, Json], reply: Reply) -> Reply:
        """Store an answered call and return the reply that now stands: the first one, if another process was faster."""
        request = json.dumps({"prompt": [[m.role, m.text] for m in prompt], "body": body}, ensure_ascii=False)
        text = json.dumps(asdict(reply), ensure_ascii=False)
        replace = self.mode is Mode.REFRESH and key not in self._seen
        with self._lock:
            how = "replace" if replace else "ignore"
            done = self._db.execute(
                f"insert or {how} into reply values (?, ?, ?, ?)",  # noqa: S608 - one of two words of ours
                (key, _storable(request), _storable(text), time()),
            )
        self._seen.add(key)
        if done.rowcount == 0:
            return self.get(key) or reply
        return reply

    def prompt(self, key: bytes) -> tuple[Message, ...]:
        """Return the prompt of a stored call."""
        with self._lock:
            row = self._db.execute("select request from reply where key = ?", (key,)).fetchone()
        return tuple(Message(role, text) for role, text in json.loads(row[0])["prompt"]) if row else ()

    def served(self, endpoint: str) -> str | None:
        """Return the model that last served an endpoint."""
        with self._lock:
            row = self._db.execute("select model from served where endpoint = ?", (endpoint,)).fetchone()
        return str(row[0]) if row else None

    def serves(self, endpoint: str, model: str) -> None:
        """Note the model that serves an endpoint now."""
        with self._lock:
            self._db.execute("insert or replace into served values (?, ?, ?)", (endpoint, model, time()))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


def _make_private(path: Path) -> None:
    """Make the file, and its folder with a .gitignore, if they are not there; other processes may do the same now."""
    folder = path.parent
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            (folder / ".gitignore").write_text("*\n", "utf-8")
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as error:
        raise ConfigError(f"{path}: cannot make this file for the cache: {error.strerror or error}") from error


def _refuse_foreign(path: Path) -> None:
    """Refuse a file that is not ours by its header, before SQLite, which may write to it, opens it."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise ConfigError(f"{path}: expected a cache of calm; {error.strerror or error}; name another file") from error
    if not header:
        return
    identity, version = (int.from_bytes(header[at : at + 4]) for at in (68, 60))  # sqlite.org/fileformat2.html
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0") or identity != APPLICATION_ID:
        raise ConfigError(f"{path}: expected a cache of calm, got another file; name another one")
    if version != VERSION:
        raise ConfigError(f"{path}: expected a cache of version {VERSION}, got {version}; name another file")


def _connected(where: str) -> sqlite3.Connection:
    db = None
    try:
        db = sqlite3.connect(where, timeout=30, isolation_level=None, check_same_thread=False)
        if not db.execute("select 1 from sqlite_master limit 1").fetchone():
            db.executescript(_TABLES)
            with suppress(sqlite3.OperationalError):  # locked: another process that started now does the same
                db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=normal")
    except (sqlite3.Error, OSError) as error:
        if db is not None:
            db.close()
        raise ConfigError(f"{where}: expected a cache of calm; {error}; name another file or remove it") from error
    return db


def _storable(text: str) -> str:
    """Return text that SQLite can hold: JSON escapes for lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _reply(data: dict[str, Json]) -> Reply:
    tokens = data["tokens"]
    usage = data["usage"]
    assert isinstance(usage, dict)
    return Reply(
        text=str(data["text"]),
        model=str(data["model"]),
        stop=data["stop"],  # type: ignore[arg-type]  # written by `put` from a Reply
        refusal=None if data["refusal"] is None else str(data["refusal"]),
        tokens=None if not isinstance(tokens, list) else tuple(_token(t) for t in tokens),
        usage=Usage(**usage),  # type: ignore[arg-type]  # the same
        retries=int(str(data["retries"])),
    )


def _token(data: Json) -> Token:
    assert isinstance(data, dict)
    alternatives = data["alternatives"]
    assert isinstance(alternatives, list)
    pairs = tuple((str(a[0]), float(str(a[1]))) for a in alternatives if isinstance(a, list))
    return Token(str(data["text"]), float(str(data["logprob"])), pairs)
