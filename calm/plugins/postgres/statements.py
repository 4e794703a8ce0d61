"""
How a statement of ours is put to PostgreSQL: its marks, the types of its tables, and texts that it cannot hold.

The tables are made once, in a schema of their own, and known by their version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from calm.engine.database import TABLES, VERSION
from calm.errors import ConfigError

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

    Db: TypeAlias = Connection[tuple[Any, ...]]


_TYPES: Final = {"blob": "bytea", "real": "double precision", "integer": "bigint"}
_TYPE: Final = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_SIGN: Final = "\U0010ffff"
"""Stands before what PostgreSQL cannot hold. It means no character, so texts hold it only on purpose."""
_WRITTEN: Final = re.compile("[\0\ud800-\udfff\U0010ffff]")
_READ: Final = re.compile(f"{_SIGN}([0-9a-f]{{6}})")


@lru_cache(512)
def translated(sql: str) -> str:
    """
    Return a statement in the form that psycopg takes.

    >>> translated("insert into lease values (?, ?)"), translated("create table if not exists a (key blob, n integer)")
    ('insert into lease values (%s, %s)', 'create table if not exists a (key bytea, n bigint)')
    """
    if sql.startswith("create table"):
        sql = _TYPE.sub(lambda found: _TYPES[found[0]], sql)
    return sql.replace("?", "%s")


def written(text: str) -> str:
    r"""
    Return a text that PostgreSQL can hold; `read` returns the text again.

    >>> written("a\0b") == "a\U0010ffff000000b", read(written("a\0\ud800\U0010ffffb")) == "a\0\ud800\U0010ffffb"
    (True, True)
    """
    return _WRITTEN.sub(lambda found: f"{_SIGN}{ord(found[0]):06x}", text)


def read(text: str) -> str:
    """Return the text that `written` made storable."""
    return _READ.sub(lambda found: chr(int(found[1], 16)), text) if _SIGN in text else text


def parameters(values: Sequence[Any]) -> list[Any]:
    """Return the parameters of a statement as PostgreSQL can take them."""
    return [written(str(value)) if isinstance(value, str) else value for value in values]


def row(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of PostgreSQL as it was stored."""
    return tuple(read(value) if isinstance(value, str) else value for value in values)


class Found:
    """What a statement found. Its rows wait in a cursor of psycopg, or are still on their way until `sync` waits."""

    def __init__(self, cursor: Cursor[tuple[Any, ...]], sync: Callable[[], None]) -> None:
        self._cursor, self._sync = cursor, sync

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""
        if self._cursor.pgresult is None:
            self._sync()
        return self._cursor.rowcount

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None: there is none."""
        found = self._cursor.fetchone()
        return None if found is None else row(found)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        return [row(found) for found in self._cursor.fetchall()]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return map(row, self._cursor)


def all_parameters(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return the parameters of a statement that runs once for each row."""
    return [parameters(values) for values in rows]


LOCK: Final = "select pg_current_xact_id()::text from pg_advisory_xact_lock(%s)"
"""Waits until no other process writes, and says which transaction this is."""
_ANOTHER: Final = "name another schema: ?schema=NAME"
_VERSION_TABLE: Final = "create table if not exists version (version integer not null)"


def make(db: Db, address: str, schema: str, key: int) -> None:
    """
    Make the tables, unless they are there, or another process makes them at this time; `key` is that of the lock.

    Raises:
        ConfigError: the schema holds other tables.
    """
    if _version(db, address, schema) is not None:
        return
    with db.transaction():
        db.execute(LOCK, (key,))
        if _version(db, address, schema) is not None:
            return
        if names := _tables(db, schema):
            raise ConfigError(
                f"{address}: expected a record of calm, got other tables in the schema {schema!r} "
                f"({', '.join(names[:3])}); {_ANOTHER}"
            )
        if db.execute("select 1 from pg_namespace where nspname = %s", (schema,)).fetchone() is None:
            db.execute(f'create schema "{schema}"')
        for table in (*TABLES, _VERSION_TABLE):
            db.execute(translated(table))
        db.execute("insert into version values (%s)", (VERSION,))


def check(db: Db, address: str, schema: str) -> None:
    """
    Look whether a schema holds a record that this version of calm can use.

    Raises:
        ConfigError: it holds none, or one of another version, or the database cannot hold all texts.
    """
    version = _version(db, address, schema)
    if version is None:
        raise ConfigError(f"{address}: there is no record of calm; name another schema, or run once")
    if version != VERSION:
        newer = "install a newer calm, or " if version > VERSION else ""
        raise ConfigError(f"{address}: expected a record of version {VERSION}, got {version}; {newer}{_ANOTHER}")
    encoding = db.execute("show server_encoding").fetchone()
    if encoding != ("UTF8",):
        got = encoding[0] if encoding else "none"
        raise ConfigError(f"{address}: expected a database in the encoding UTF8, got {got}; make another one")


def _tables(db: Db, schema: str) -> list[str]:
    """Return the names of the tables in a schema, as of now: another process may have made them a moment ago."""
    named = "select c.relname from pg_class c join pg_namespace n on c.relnamespace = n.oid where n.nspname = %s "
    return [name for (name,) in db.execute(f"{named} and c.relkind in ('r', 'v') order by 1", (schema,))]


def _version(db: Db, address: str, schema: str) -> int | None:
    """
    Return the version of the tables in a schema; None: it holds no record.

    Raises:
        ConfigError: it holds a table of the same name that is none of calm.
    """
    if "version" not in _tables(db, schema):
        return None
    found = db.execute(f'select * from "{schema}".version').fetchone()  # noqa: S608 - a name that was checked
    if found is None:
        return None
    if len(found) != 1 or not isinstance(found[0], int):
        raise ConfigError(f"{address}: expected a record of calm, got another table 'version'; {_ANOTHER}")
    return int(found[0])
