"""How a statement of ours is put to PostgreSQL: its marks, the types of its tables, and texts that it cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from psycopg import Cursor

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
