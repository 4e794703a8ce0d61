"""The cache of replies on disk: one SQLite file that several processes may share, so no reply is paid for twice."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic, time
from uuid import uuid4

from calm.core.templates import Message
from calm.engine.budget import Amount
from calm.errors import ConfigError
from calm.models.wire import Json, Reply, Token, Usage

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
_SHARED = """
begin immediate;
create table if not exists owner (id text primary key, pid integer not null, beat real not null);
create table if not exists lease (key blob primary key, owner text not null);
create table if not exists fresh (key blob primary key, run text not null);
create table if not exists spent (
    run text primary key, calls integer not null, tokens integer not null, usd real not null
);
commit;
"""
_PUT = """
insert into reply values (?, ?, ?, ?)
on conflict (key) do update set request = excluded.request, reply = excluded.reply, at = excluded.at where at < ?
"""
BEAT_S = 1.0
"""Every so many seconds a process shows that it is alive."""
STALE_S = 15.0
"""A process that showed no life for so many seconds holds no lease; on a busy machine a live one may be late."""


class Mode(StrEnum):
    """What a run does with the cache."""

    ON = "on"
    """Use the replies that are there, add new ones."""
    REPLAY = "replay"
    """Make no call: a reply that is not there is an error."""
    REFRESH = "refresh"
    """Make every call again and replace the replies that are there."""
    OFF = "off"
    """Keep nothing beyond this run."""


BY = 500
"""How many keys one query names; older builds of SQLite take at most 999."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An answered call, as it is stored: `request` is what `request_text` made of its prompt and body."""

    key: bytes
    request: str
    reply: Reply


def request_text(prompt: tuple[Message, ...], body: str) -> str:
    """Return a prompt and a body, which is JSON, as one text to store."""
    messages = json.dumps([[m.role, m.text] for m in prompt], ensure_ascii=False)
    return _storable(f'{{"prompt": {messages}, "body": {body}}}')


class Store:
    """
    Replies by key, and the model that last served each endpoint. May be used from several threads.

    Replies from before the time `oldest` (seconds since the epoch) are not used.

    Raises:
        ConfigError: the file is no cache of calm, is damaged, or cannot be opened; it is left as it was.
    """

    def __init__(self, path: Path | None, mode: Mode, *, run: str = "", oldest: float = 0.0) -> None:
        self.path, self.mode, self.run, self.oldest = path, mode, run or uuid4().hex, oldest
        self._lock = threading.Lock()
        self._seen: set[bytes] = set()
        self._me = uuid4().hex
        self._beat = 0.0
        self._alone = path is None or mode in (Mode.OFF, Mode.REPLAY)
        if path is None or mode is Mode.OFF:
            self._db = _connected(MEMORY)
            return
        if mode is Mode.REPLAY and not path.exists():
            raise ConfigError(f"{path}: there is no cache to replay; run once without --calm-cache=replay")
        _make_private(path)
        _refuse_foreign(path)
        self._db = _connected(str(path))
        if not self._alone:
            self._db.executescript(_SHARED)

    def get(self, key: bytes) -> Reply | None:
        """Return the reply under a key; in `refresh` only what this run has put there."""
        with self._lock:
            if self.mode is Mode.REFRESH and not self._is_fresh(key):
                return None
            row = self._db.execute("select reply from reply where key = ? and at >= ?", (key, self.oldest)).fetchone()
        return _reply(json.loads(row[0])) if row else None

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Reply]:
        """Return the replies that are stored, by their keys."""
        if self.mode is Mode.REFRESH:
            return {key: reply for key in keys if (reply := self.get(key)) is not None}
        wanted, rows = list(keys), []
        with self._lock:
            for at in range(0, len(wanted), BY):
                some = wanted[at : at + BY]
                marks = ",".join("?" * len(some))
                question = f"select key, reply from reply where key in ({marks}) and at >= ?"  # noqa: S608 - marks alone
                rows += self._db.execute(question, (*some, self.oldest)).fetchall()
        return {key: _reply(json.loads(text)) for key, text in rows}

    def put(self, key: bytes, prompt: tuple[Message, ...], body: Mapping[str, Json], reply: Reply) -> Reply:
        """Store an answered call and return the reply that now stands: the first one, if another process was faster."""
        return self.put_all([Entry(key, request_text(prompt, json.dumps(body)), reply)])[0]

    def put_all(self, answered: Sequence[Entry]) -> list[Reply]:
        """Store answered calls, all or none of them, and return the replies that now stand."""
        refresh = self.mode is Mode.REFRESH
        stands: list[bool] = []
        with self._lock:
            self._db.execute("begin immediate")
            try:
                for call in answered:
                    worthless = refresh and not self._is_fresh(call.key)
                    before = float("inf") if worthless else self.oldest
                    row = call.key, call.request, _storable(_reply_text(call.reply)), time(), before
                    done = self._db.execute(_PUT, row)
                    stands.append(done.rowcount > 0)
                    if refresh:
                        self._db.execute("insert or replace into fresh values (?, ?)", (call.key, self.run))
                if not self._alone:
                    self._db.executemany("delete from lease where key = ?", [(call.key,) for call in answered])
            except BaseException:
                self._db.execute("rollback")
                raise
            self._db.execute("commit")
        if refresh:
            self._seen.update(call.key for call in answered)
        return [c.reply if new else self.get(c.key) or c.reply for c, new in zip(answered, stands, strict=True)]

    def _is_fresh(self, key: bytes) -> bool:
        """Return whether this run has put a reply there: this process, or another one of the same run."""
        if key in self._seen:
            return True
        row = self._db.execute("select 1 from fresh where key = ? and run = ?", (key, self.run)).fetchone()
        return row is not None

    def _answered(self, key: bytes) -> bool:
        if self.mode is Mode.REFRESH:
            return self._is_fresh(key)
        row = self._db.execute("select 1 from reply where key = ? and at >= ?", (key, self.oldest)).fetchone()
        return row is not None

    @property
    def alone(self) -> bool:
        """Whether no other process can make the calls of this one."""
        return self._alone

    def claim(self, key: bytes) -> bool:
        """
        Return whether this process is to make a call; False while another live process makes it.

        The lease ends with `put` or `release`, or with the process that holds it.
        """
        return self.claim_all([key])[0]

    def claim_all(self, keys: Sequence[bytes]) -> list[bool]:
        """Return the same for each of some calls, with one write to the file."""
        if self._alone:
            return [True] * len(keys)
        with self._lock:
            self._show_life()
            self._db.execute("begin immediate")
            try:
                mine = [self._claimed(key) for key in keys]
            except BaseException:
                self._db.execute("rollback")
                raise
            self._db.execute("commit")
        return mine

    def _claimed(self, key: bytes) -> bool:
        if self._answered(key):  # by another process, since this one looked for a reply
            return False
        if self._db.execute("insert or ignore into lease values (?, ?)", (key, self._me)).rowcount:
            return True
        holder = self._db.execute("select owner from lease where key = ?", (key,)).fetchone()
        if holder is not None and (holder[0] == self._me or self._lives(holder[0])):
            return bool(holder[0] == self._me)
        # this transaction is the only one that writes: of several heirs of a dead one, one gets it
        return bool(self._db.execute("insert or replace into lease values (?, ?)", (key, self._me)).rowcount)

    def release(self, key: bytes) -> None:
        """Give up a lease on a call that was not answered."""
        if not self._alone:
            with self._lock:
                self._db.execute("delete from lease where key = ? and owner = ?", (key, self._me))

    def show_life(self) -> None:
        """Show other processes that this one is alive; to be called at least every `BEAT_S` seconds."""
        if not self._alone:
            with self._lock:
                self._show_life()

    def _show_life(self) -> None:
        now = monotonic()
        if now - self._beat >= BEAT_S:
            self._db.execute("insert or replace into owner values (?, ?, ?)", (self._me, os.getpid(), now))
            self._beat = now

    def _lives(self, owner: str) -> bool:
        row = self._db.execute("select pid, beat from owner where id = ?", (owner,)).fetchone()
        if row is None:
            return False
        pid, beat = row
        # the monotonic clock is one for all processes of a machine; a beat in its future is of an earlier boot
        return -STALE_S < monotonic() - beat < STALE_S and _runs(pid)

    def spend(self, amount: Amount, limits: Amount | None) -> bool:
        """Add to what this run has used, in all of its processes together, unless a limit would be passed."""
        given = (amount.calls, amount.tokens, amount.usd)
        clause = ""
        bounds: tuple[float, ...] = ()
        if limits is not None:
            clause = " and calls + ? <= ? and tokens + ? <= ? and usd + ? <= ?"
            bounds = tuple(
                value for pair in zip(given, (limits.calls, limits.tokens, limits.usd), strict=True) for value in pair
            )
        with self._lock:
            self._db.execute("insert or ignore into spent values (?, 0, 0, 0)", (self.run,))
            done = self._db.execute(
                f"update spent set calls = calls + ?, tokens = tokens + ?, usd = usd + ? where run = ?{clause}",  # noqa: S608 - a text of ours
                (*given, self.run, *bounds),
            )
        return bool(done.rowcount)

    def spent(self) -> Amount:
        """Return what this run has used, in all of its processes together."""
        with self._lock:
            row = self._db.execute("select calls, tokens, usd from spent where run = ?", (self.run,)).fetchone()
        return Amount(*row) if row else Amount()

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
        """Close the file, and give up the leases of this process."""
        with self._lock:
            if not self._alone:
                with suppress(sqlite3.Error):
                    self._db.execute("delete from lease where owner = ?", (self._me,))
                    self._db.execute("delete from owner where id = ?", (self._me,))
            self._db.close()


def open_file(path: Path) -> sqlite3.Connection:
    """
    Open the file of an existing cache, to inspect or clean it.

    Raises:
        ConfigError: it does not exist, is no cache of calm, or is damaged; it is left as it was.
    """
    if not path.is_file():
        raise ConfigError(f"{path}: there is no cache; name another file with --cache-file")
    _refuse_foreign(path)
    db = _connected(str(path))
    try:
        said = db.execute("pragma quick_check(1)").fetchone()[0]
        if said != "ok":
            raise sqlite3.DatabaseError(said)
    except sqlite3.DatabaseError as error:
        db.close()
        raise ConfigError(f"{path}: expected a cache of calm, got a damaged one: {error}; name another file") from error
    return db


def _make_private(path: Path) -> None:
    """Make the file, and its folder with a .gitignore, if they do not exist; another process may do so at this time."""
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
    """Refuse a file that is no cache of calm. Its header is read first, because SQLite may write to a file it opens."""
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


def _runs(pid: int) -> bool:
    """Return whether a process of this number runs on this machine."""
    if os.name == "nt":  # there a signal of 0 would end it; the beat alone has to do
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _storable(text: str) -> str:
    """Return text that SQLite can hold: JSON escapes for lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _reply_text(reply: Reply) -> str:
    tokens: Json = None
    if reply.tokens is not None:
        tokens = [
            {"text": t.text, "logprob": t.logprob, "alternatives": [[text, p] for text, p in t.alternatives]}
            for t in reply.tokens
        ]
    usage: Json = {"input": reply.usage.input, "output": reply.usage.output}
    data: Json = {
        "text": reply.text,
        "model": reply.model,
        "stop": reply.stop,
        "refusal": reply.refusal,
        "tokens": tokens,
        "usage": usage,
        "retries": reply.retries,
    }
    return json.dumps(data, ensure_ascii=False)


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
