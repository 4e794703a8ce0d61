"""The tables of a record on a server: they are made once, in a schema of their own, and known by their version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from calm.engine.database import TABLES, VERSION
from calm.errors import ConfigError
from calm.plugins.postgres.statements import translated

if TYPE_CHECKING:
    from psycopg import Connection

    Db: TypeAlias = Connection[tuple[Any, ...]]

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
