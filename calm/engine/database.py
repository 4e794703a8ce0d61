"""What keeps a record: a database that gives blocks to read and write in, and the one that is a file of SQLite."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Final, Protocol, TypeVar

from calm.errors import ConfigError, StorageError

T = TypeVar("T")

VERSION: Final = 2
"""The version of the tables."""
PATIENCE_S: Final = 60.0
"""For how many seconds a database may be kept busy by others before what needs it fails."""
AGAIN_S: Final = 0.2
"""After so many seconds a step is tried again that a busy database refused."""
DAMAGED: Final = (
    "expected replies as calm writes them, got a damaged row in the cache; name another cache, or remove it"
)
BY: Final = 500
"""How many keys one statement names at most; older builds of SQLite take 999."""

TABLES: Final = (
    "create table if not exists reply ("
    "key blob not null unique, request text not null, reply text not null, at real not null, sum blob not null)",
    "create table if not exists served (endpoint text primary key, model text not null, at real not null)",
    "create table if not exists owner ("
    "id text primary key, place text not null, pid integer not null, beat integer not null, at real not null)",
    "create table if not exists lease (key blob primary key, owner text not null)",
    "create table if not exists fresh (key blob primary key, run text not null)",
    "create table if not exists spent ("
    "run text primary key, calls integer not null, tokens integer not null, usd real not null)",
    "create table if not exists held ("
    "run text not null, owner text not null, calls integer not null, tokens integer not null, usd real not null, "
    "primary key (run, owner))",
    "create table if not exists bill (owner text primary key, run text not null, figures text not null)",
)


class Rows(Protocol):
    """What a statement found. It can be looped over, once."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""

    def fetchone(self) -> Any:
        """Return the next row as a tuple; None: there is none."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """
    Takes statements, in a block of a `Database`.

    They are written once, in the SQL that SQLite and PostgreSQL have in common:

    - Marks are `?`. No other sign of a statement may be a question mark or a percent sign, in strings neither.
    - What may be there already is `insert ... on conflict (key) do nothing`, or `do update set a = excluded.a`. In the
      second form a column of the row that is there is named with its table: `calls = spent.calls + excluded.calls`.
    - Types of columns are `blob`, `text`, `integer` (64 bits) and `real` (64 bits). Values are bytes, str, int, float
      and None. Every str comes back as it was, also with NUL and lone surrogates; but compare texts for equality alone.
    - A mark needs a type that can be seen: one beside a column, or in the values of an insert. `? is null` has none.
    - No `rowid`, `last_insert_rowid`, `insert or ...`, `pragma`, `json_extract`, nor `returning`.
    - A table is made by `create table if not exists`, in a block that writes.

    A server answers over a network. So one statement that finds many rows (`where key in (?, ?)`) is better than many,
    and `execute` sends without waiting: first send all that do not depend on each other, then read what they found.
    """

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run a statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run a statement that finds nothing for each row of parameters."""


class Database(Protocol):
    """
    A record of replies, leases and accounts. Its blocks run one at a time, whichever thread they come from.

    Raises:
        StorageError: it cannot be read or written; `busy` if it may work a moment later.
    """

    def reading(self) -> AbstractContextManager[Connection]:
        """Read, in this block."""

    def writing(self) -> AbstractContextManager[Connection]:
        """
        Read and write, in this block: all of it is written, or nothing.

        No other process writes meanwhile, so what the block has read stays true. Where a `StorageError` that is `busy`
        ends the block, nothing was written, and it may be run again.
        """

    def close(self) -> None:
        """Close it."""


class Inspected(Database, Protocol):
    """A database that a person looks at. `model` is the SQL for the model that answered a row of `reply`."""

    @property
    def model(self) -> str:
        """The expression."""

    def size(self) -> int:
        """Return how many bytes the record takes."""

    def shrink(self) -> None:
        """Give back the room of what was deleted, where nobody else uses the record."""


class RemoteDatabase(Inspected, Protocol):
    """A database that a server keeps. `clock` is the SQL for the time of that server, in seconds since the epoch."""

    clock: str

    def hurry(self) -> None:
        """Wait for a server that is away for seconds alone: the run is over."""

    def take_time(self) -> None:
        """Wait as long as before."""


class RecordAddress(Protocol):
    """Where a server is that keeps a record for several machines. Its text is what people see of it: no password."""

    @property
    def beside(self) -> Path:
        """The file of this machine beside which replies go that the server cannot take."""

    def opened(self, *, read_only: bool = False, make: bool = True) -> RemoteDatabase:
        """
        Return its record; one that is not there is made, unless it is `read_only`, or `make` is false.

        Raises:
            ConfigError: it cannot be opened, or is none of ours.
        """


def patiently(step: Callable[[], T]) -> T:
    """
    Return what a step on a database returns; while others keep it busy, it is tried again. Not for an event loop.

    Raises:
        StorageError: it failed, or was busy for `PATIENCE_S` seconds.
    """
    until = monotonic() + PATIENCE_S
    while True:
        try:
            return step()
        except StorageError as error:
            if not error.busy or monotonic() >= until:
                raise
        sleep(AGAIN_S)


def marks(values: Sequence[object]) -> str:
    """Return a mark for each of some values, for `in (...)`."""
    return ",".join("?" * len(values))


def digest(db: Connection) -> str:
    """
    Return the SHA-256 of all keys and checksums of a record, in hexadecimal: equal for equal replies alone.

    Raises:
        StorageError: a row is not as calm writes it.
    """
    found = sha256()
    for key, sum_ in db.execute("select key, sum from reply order by key"):
        if not isinstance(key, bytes) or not isinstance(sum_, bytes):
            raise StorageError(DAMAGED)
        found.update(key)
        found.update(sum_)
    return found.hexdigest()


APPLICATION_ID: Final = 0x63616C6D  # "calm" in ASCII: tells our files from other people's
UNKEPT: Final = ""
"""The name of a database that goes with its connection: a part lies in memory, the rest in a file without a name."""
ROOM_KB: Final = 4096
"""So many kilobytes of it lie in memory."""
OPEN_S: Final = 30.0
"""For how many seconds opening waits for other processes."""
WAIT_S: Final = 0.1
"""For how many seconds one statement waits for them: the loop of the engine stands still meanwhile."""

_SCRIPT: Final = ";\n".join(
    ("begin immediate", f"pragma application_id={APPLICATION_ID}", f"pragma user_version={VERSION}", *TABLES, "commit;")
)
_COMPUTED: Final = (
    "select name from sqlite_master where type in ('view', 'trigger') or sql like 'create virtual%' "
    "or sql like '% as (%' limit 1"
)
_OTHER: Final = "name another file or remove it"
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_READ_ONLY: Final = "the file or its folder may not be written; allow it, or replay it with --calm-cache=replay"
_CAUSES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: "the file, or one beside it, cannot be opened; look at the rights of the folder",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; check the disk, or its quota",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; name another one, or remove it",
    sqlite3.SQLITE_NOTADB: "the file is damaged; name another one, or remove it",
    sqlite3.SQLITE_BUSY: "another program keeps it locked; end that program",
    sqlite3.SQLITE_LOCKED: "another program keeps it locked; end that program",
}


class SqliteFile:
    """
    An open file. Its statements run one at a time, whichever thread they come from.

    `driver` is the class of its connections.
    """

    def __init__(self, path: Path | None, *, driver: type[sqlite3.Connection] = sqlite3.Connection) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._copy: TemporaryDirectory[str] | None = None
        if path is not None:
            make_private(path.parent)
            _make(path)
            _refuse_foreign(path)
        self._db = _connected(UNKEPT if path is None else str(path), driver)
        self._inode = None if path is None else _inode(path)

    @classmethod
    def to_read(cls, path: Path) -> SqliteFile:
        """
        Open a file for reading alone: no reply in it changes, and its folder may be read-only.

        Raises:
            ConfigError: there is none, it is no cache of calm, is damaged, or cannot be opened.
        """
        _refuse_foreign(path)
        self = cls.__new__(cls)
        self.path, self._lock, self._copy, self._inode = path, threading.Lock(), None, _inode(path)
        log = path.with_name(f"{path.name}-wal")
        try:
            if _writable(path) and _writable(path.parent):  # SQLite keeps files beside it
                self._db = _connected(str(path), sqlite3.Connection)
            elif not log.exists() or not log.stat().st_size:
                self._db = _plain(f"{path.resolve().as_uri()}?mode=ro&immutable=1", sqlite3.Connection)
            else:  # of a run that goes on, or was killed: it belongs to the file
                self._copy = TemporaryDirectory(prefix="calm-")
                copy = Path(self._copy.name) / path.name
                copyfile(path, copy)
                copyfile(log, copy.with_name(log.name))
                self._db = _plain(str(copy), sqlite3.Connection)
            with ExitStack() as opened:
                opened.callback(self.close)
                _refuse_computed(self._db, path)
                self._db.execute("select 1 from reply limit 1").fetchone()
                opened.pop_all()
        except (sqlite3.Error, OSError) as error:
            raise _no_cache(path, error) from error
        return self

    @classmethod
    def to_inspect(cls, path: Path) -> SqliteFile:
        """
        Open the file of an existing cache, to inspect or clean it.

        Raises:
            ConfigError: it does not exist, is no cache of calm, or is damaged; it is left as it was.
        """
        if not path.is_file():
            raise ConfigError(f"{path}: there is no cache; name another file with --cache-file")
        self = cls(path)
        try:
            said = self._db.execute("pragma quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            self.close()
            raise fault(path, error) from error
        if said != "ok":
            self.close()
            raise ConfigError(f"{path}: expected a cache of calm, got a damaged one: {said}; name another file")
        return self

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """
        Read, in this block.

        Raises:
            StorageError: the file cannot be read.
        """
        with self._lock:
            try:
                yield self._db
            except sqlite3.Error as error:
                raise fault(self.path, error) from error

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """
        Read and write, in this block: all of it is written, or nothing.

        Raises:
            StorageError: the file cannot be read or written; `busy` if it may work a moment later.
        """
        if self.path is not None and _inode(self.path) != self._inode:  # what is written now, nobody would find
            raise StorageError(f"{self.path}: the file was removed or replaced; leave it in place until runs end")
        with self._lock:
            try:
                self._db.execute("begin immediate")
                try:
                    yield self._db
                    self._db.execute("commit")
                except BaseException:
                    with suppress(sqlite3.Error):  # SQLite may have done it by itself
                        self._db.execute("rollback")
                    raise
            except sqlite3.Error as error:
                raise fault(self.path, error) from error

    @property
    def model(self) -> str:
        """The SQL for the model that answered a row of `reply`."""
        return "coalesce(nullif(json_extract(reply, '$.model'), ''), json_extract(request, '$.body.model'), '')"

    def size(self) -> int:
        """Return how many bytes the file takes, with what was written last."""
        path = self.path or Path()
        return sum(f.stat().st_size for f in (path, path.with_name(f"{path.name}-wal")) if f.is_file())

    def shrink(self) -> None:
        """Give back the room of what was deleted; a run that has it open keeps the file at its size."""
        with self._lock, suppress(sqlite3.OperationalError):
            self._db.execute("vacuum")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
        if self._copy is not None:
            self._copy.cleanup()


def fault(path: Path | None, error: sqlite3.Error | OSError) -> StorageError:
    """Return what a failed access to a file means."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF  # the rest tells apart cases of the same kind
    cause = _CAUSES.get(primary or 0, "look at the disk and the rights of its folder")
    return StorageError(f"{path or 'the cache in memory'}: {error}: {cause}, then run again", busy=primary in _BUSY)


def _no_cache(path: Path, error: sqlite3.Error | OSError) -> ConfigError:
    """Return why a file cannot be opened: it is damaged, or something stands in the way."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return ConfigError(f"{path}: expected a cache of calm; {error}; {_OTHER}")
    return fault(path, error)


def make_private(folder: Path) -> None:
    """
    Make a folder, with a .gitignore, if it does not exist; another process may do so at this time.

    Raises:
        ConfigError: it cannot be made.
    """
    try:
        if not folder.exists():
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            (folder / ".gitignore").write_text("*\n", "utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot make this folder for the cache: {error.strerror or error}") from error


def _make(path: Path) -> None:
    try:
        if not path.exists():
            path.touch(mode=0o600)
    except OSError as error:
        raise ConfigError(f"{path}: cannot make this file for the cache: {error.strerror or error}") from error


def _refuse_foreign(path: Path) -> None:
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


def _refuse_computed(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database in which anything is computed where it is read: it may be a query that does not end."""
    odd = db.execute(_COMPUTED).fetchone()
    if odd:
        raise ConfigError(
            f"{path}: expected a cache of calm, got one with {odd[0]!r}, which calm does not make; {_OTHER}"
        )


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _plain(where: str, driver: type[sqlite3.Connection]) -> sqlite3.Connection:
    return sqlite3.connect(
        where,
        timeout=OPEN_S,
        isolation_level=None,
        check_same_thread=False,
        factory=driver,
        uri=where.startswith("file:"),
    )


def _connected(where: str, driver: type[sqlite3.Connection]) -> sqlite3.Connection:
    with ExitStack() as opened:
        try:
            db = opened.enter_context(closing(_plain(where, driver)))
            _refuse_computed(db, Path(where))
            if not db.execute("select 1 from sqlite_master limit 1").fetchone():
                db.executescript(_SCRIPT)
                with suppress(sqlite3.OperationalError):  # locked: another process that started now does the same
                    db.execute("pragma journal_mode=wal")
            db.execute("pragma synchronous=normal")
            if where == UNKEPT:
                db.execute(f"pragma cache_size={-ROOM_KB}")
            db.execute(f"pragma busy_timeout={int(1000 * WAIT_S)}")
        except (sqlite3.Error, OSError) as error:
            raise _no_cache(Path(where), error) from error
        opened.pop_all()
    return db
