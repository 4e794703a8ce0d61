"""What keeps a record: a database that gives blocks to read and write in, whether it is a file or a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from time import monotonic, sleep
from typing import Any, Final, Protocol, TypeVar

from calm.errors import StorageError

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
