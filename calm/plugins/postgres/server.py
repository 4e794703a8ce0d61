"""
A record on a PostgreSQL server: its connection, which comes back after a loss, and its blocks.

Its URL holds no password that a file or a command line could show.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from calm.engine.places import VARIABLE
from calm.errors import ConfigError, StorageError
from calm.models.secrets import hidden, keep
from calm.models.transport import loopback
from calm.plugins.postgres.faults import fault, gone, passes
from calm.plugins.postgres.statements import LOCK, Found, all_parameters, check, make, parameters, translated

if TYPE_CHECKING:
    import psycopg


T = TypeVar("T")

SPILLS: Final = Path(".calm")
PATIENCE_S: Final = 120.0
"""For how many seconds a server may be away: it may restart, or another one may take its place."""
SOON_S: Final = 0.1
LATE_S: Final = 2.0
"""The first wait before a connection is tried again, and the longest one, in seconds."""
ALIVE_S: Final = 15
"""After so many seconds without a sign of the other end, a connection is lost, on both sides."""
_CONNECT: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 1000 * ALIVE_S,
    "application_name": "calm",
    "client_encoding": "UTF8",
    "target_session_attrs": "read-write",
}
"""What libpq is told, unless the URL says otherwise; times in seconds but for `tcp_user_timeout`, in milliseconds."""
_SETTINGS: Final = {
    "idle_in_transaction_session_timeout": f"{ALIVE_S}s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "2",
    "tcp_user_timeout": str(1000 * ALIVE_S),
}
"""
So a machine that is gone keeps the others waiting for no longer than this.

A server sends no keepalives while what it sent is not acknowledged, so without `tcp_user_timeout`, in milliseconds, a
machine that was cut off just when it got the lock would hold it for a quarter of an hour.
"""
_STATUS: Final = "select pg_xact_status(%s::xid8)"


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """
    Where a shared record is.

    `conninfo` is what libpq connects by, a URL; it may hold a password, so nothing shows it. The tables stand in
    `schema`.
    """

    conninfo: str = field(repr=False)
    schema: str
    shown: str
    """What people see of it: no password, no parameters."""
    patience_s: float = PATIENCE_S
    """For how many seconds a server that is away is waited for."""

    @property
    def beside(self) -> Path:
        """The file of this machine beside which replies go that the server cannot take."""
        return SPILLS / f"postgresql-{sha256(self.shown.encode()).hexdigest()[:16]}"

    def __str__(self) -> str:
        return self.shown

    def opened(self, *, read_only: bool = False, make: bool = True) -> PostgresRecord:
        """Return its record. Raises as `PostgresRecord` does."""
        return PostgresRecord(self, read_only=read_only, make=make)


class PostgresRecord:
    """
    A record on a server. It waits for a server that is away, for the seconds that its address states, and in a `hurry`
    for a few. When these are over, the server is gone for good: no step is tried again.

    Writing blocks exclude each other by an advisory lock, so they are as exact as those of a file. Where the connection
    is lost while a block is committed, the server is asked what became of it: no block is written twice.

    Its tables are made where there are none, unless it is `read_only`, or `make` is false.

    Raises:
        ConfigError: psycopg is missing, the database cannot be reached, or holds no record of this version.
    """

    clock = "extract(epoch from clock_timestamp())::double precision"

    def __init__(self, address: PostgresAddress, *, read_only: bool = False, make: bool = True) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._psycopg, patience = _library()
        self._patience = patience.Patience(address.patience_s)
        self._connection = patience.patient(self._patience)
        self._gone = ""
        self._read_only, self._makes = read_only, make and not read_only
        self._key = int.from_bytes(blake2b(f"calm {address.schema}".encode(), digest_size=8).digest(), signed=True)
        self._db = self._begun()

    @contextmanager
    def reading(self) -> Iterator[_Reading]:
        """Read, in this block: where the connection is lost, a statement is run again on the next one."""
        with self._lock:
            yield _Reading(self._read)

    @contextmanager
    def writing(self) -> Iterator[_Writing]:
        """Read and write, in this block: all of it is written, or nothing, and once."""
        with self._lock:
            db = self._again(self._connected)
            number: str | None = None
            try:
                with db.pipeline() as pipeline:
                    db.execute("begin")
                    first = db.execute(LOCK, (self._key,))
                    yield _Writing(db, pipeline.sync)
                    found = first.fetchone()
                    number = found[0] if found else None
                    db.execute("commit")
            except self._psycopg.Error as error:
                failed = self._failed(error, db)
                if number is None or not self._was_committed(db, number, failed):
                    self._roll_back(db)
                    raise failed from error
            except BaseException:
                self._roll_back(db)
                raise
            self._patience.answered()

    def hurry(self) -> None:
        """Wait for a server that is away for seconds alone: the run is over."""
        self._patience.hurry()

    def take_time(self) -> None:
        """Wait as long as before."""
        self._patience.take_time()

    @property
    def model(self) -> str:
        """The SQL for the model that answered a row of `reply`."""
        return f"coalesce(nullif({_json('reply')} ->> 'model', ''), {_json('request')} -> 'body' ->> 'model', '')"

    def size(self) -> int:
        """Return how many bytes the tables take."""
        with self.reading() as db:
            sizes = "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class where relkind = 'r' "
            named = "and relnamespace = to_regnamespace(?)"
            return int((db.execute(f"{sizes}{named}", (self.address.schema,)).fetchone() or (0,))[0])

    def shrink(self) -> None:
        """Leave the room of what was deleted to the server: it uses it again."""

    def close(self) -> None:
        """Close the connection."""
        self.hurry()
        with self._lock, suppress(self._psycopg.Error):
            self._db.close()

    def _read(self, sql: str, values: Sequence[Any]) -> Found:
        found = self._again(lambda: self._connected().execute(translated(sql), parameters(values)))
        self._patience.answered()
        return Found(found, _nothing)

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._db.closed:
            self._db = self._open()
        return self._db

    def _again(self, step: Callable[[], T]) -> T:
        """Return what a step returns that needs the server; try it again while the server is away, but not for ever."""
        wait_s = SOON_S
        while True:
            if self._gone:
                raise StorageError(self._gone)
            try:
                return step()
            except self._psycopg.Error as error:
                failed = self._failed(error, self._db)
                if not failed.busy or self._patience.over:
                    raise StorageError(str(failed)) from error
            self._patience.pause(wait_s)
            wait_s = min(2 * wait_s, LATE_S)

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        given = self._psycopg.conninfo.conninfo_to_dict(self.address.conninfo)
        usual = {name: value for name, value in _CONNECT.items() if name not in given}
        if self._read_only:
            usual.pop("target_session_attrs", None)
        db: psycopg.Connection[tuple[Any, ...]] = self._connection.connect(**usual, **given, autocommit=True)
        try:
            lock_s = min(ALIVE_S, self.address.patience_s / 2)  # whoever waits for another machine hears of it in time
            settings = {**_SETTINGS, "search_path": f'"{self.address.schema}"', "lock_timeout": f"{1000 * lock_s:.0f}"}
            if self._read_only:
                settings["default_transaction_read_only"] = "on"
            names = ", ".join("set_config(%s, %s, false)" for _ in settings)
            db.execute(f"select {names}", [part for pair in settings.items() for part in pair])
        except BaseException:
            db.close()
            raise
        return db

    def _begun(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the first connection: what is wrong now is for a person to mend, so nothing is waited for."""
        db = None
        try:
            db = self._open()
            if self._makes:
                make(db, self.address.shown, self.address.schema, self._key)
            check(db, self.address.shown, self.address.schema)
        except self._psycopg.Error as error:
            if db is not None:
                db.close()
            raise fault(str(self.address), error) from error
        except BaseException:
            if db is not None:
                db.close()
            raise
        return db

    def _was_committed(self, db: psycopg.Connection[tuple[Any, ...]], number: str, failed: StorageError) -> bool:
        """
        Return whether a block was committed, of which the answer was lost.

        Raises:
            StorageError: the server did not come back, so nobody can tell.
        """
        if not db.closed:  # it answered: it was not
            return False

        def ask() -> bool:
            while True:
                found = self._connected().execute(_STATUS, (number,)).fetchone()
                if found != ("in progress",):
                    return found == ("committed",)
                if self._patience.over:
                    raise failed
                sleep(SOON_S)

        return self._again(ask)

    def _roll_back(self, db: psycopg.Connection[tuple[Any, ...]]) -> None:
        try:
            db.rollback()
        except self._psycopg.Error:
            db.close()

    def _failed(self, error: psycopg.Error, db: psycopg.Connection[tuple[Any, ...]]) -> StorageError:
        """Return what a failed step means; where its connection is closed, the server is away, and then gone."""
        shown, busy = str(self.address), passes(error)
        if db.closed or busy:
            self._patience.missed()
        if db.closed and self._patience.spent:
            self._gone = str(gone(shown, error, self.address.patience_s))
            return StorageError(self._gone)
        return fault(shown, error, busy=db.closed or busy)


class _Reading:
    """A connection in a block that reads."""

    def __init__(self, read: Callable[[str, Sequence[Any]], Found]) -> None:
        self._read = read

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Found:
        return self._read(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        for values in rows:
            self._read(sql, values)


class _Writing:
    """A connection in a block that writes: statements are sent without waiting for the ones before."""

    def __init__(self, db: psycopg.Connection[tuple[Any, ...]], sync: Callable[[], None]) -> None:
        self._db, self._sync = db, sync

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Found:
        return Found(self._db.execute(translated(sql), parameters(values)), self._sync)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        self._db.cursor().executemany(translated(sql), all_parameters(rows))


def _json(column: str) -> str:
    escapes = r"'(\\\\)|\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\1', 'g'"
    return f"regexp_replace({column}, {escapes})::json"


def _library() -> tuple[Any, Any]:
    try:
        import psycopg

        from calm.plugins.postgres import patience
    except ImportError as error:
        from calm.core.releases import absent, install

        raise ConfigError(f"--calm-cache-url: {absent('psycopg', error)}; install it: {install('postgres')}") from error
    logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of comes as an error, too
    return psycopg, patience


def _nothing() -> None:
    """Do nothing: what was read is there."""


SCHEMES: Final = ("postgresql", "postgres")
SCHEMA: Final = "calm"
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_DAY_S: Final = 86_400
_FORM: Final = "postgresql://user@host/database"
_PASSWORD: Final = (
    "a password here could be seen by others; take it out, and set the variable PGPASSWORD, write it to ~/.pgpass, or "
    f"put the whole URL into the variable {VARIABLE}"
)


def read_address(text: str, option: str, environment: Mapping[str, str]) -> PostgresAddress:
    """
    Return the address that a URL names; `option` says where it stands, `VARIABLE` for the environment.

    Where a password would go to another machine, the connection is encrypted, unless the URL states `sslmode`.

    Raises:
        ConfigError: it is none, or holds a password that does not come from the environment.
    """
    try:
        parts = urlsplit(text)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise ConfigError(f"{option}: expected a URL such as {_FORM}") from None
    password = unquote(parts.netloc.rpartition("@")[0].partition(":")[2])
    passwords = [value for name, value in pairs if name in ("password", "sslpassword")]
    if password or passwords:
        keep([password, *passwords])
        if option != VARIABLE:
            raise ConfigError(f"{option}: expected a URL without a password such as {_FORM}; {_PASSWORD}")
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"{option}: expected a URL such as {_FORM}, got {hidden(text)!r}")
    if value := environment.get("PGPASSWORD"):
        keep([value])
    given = dict(pairs)
    schema = given.pop("schema", SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ConfigError(
            f"{option}: schema: expected small letters, digits and _, at most 63, such as {SCHEMA!r}, got {schema!r}"
        )
    patience_s = _seconds(given.pop("patience", f"{PATIENCE_S:g}"), option)
    hosts = _hosts(parts.netloc, given, environment)
    if "sslmode" not in given and "PGSSLMODE" not in environment and not all(map(_here, hosts)):
        given["sslmode"] = "require"
    place = parts.netloc.rpartition("@")[2] or ",".join(hosts) or "this machine"
    shown = f"postgresql://{place}/{parts.path.lstrip('/')}"
    conninfo = urlunsplit(("postgresql", parts.netloc, parts.path or "/", urlencode(given, quote_via=quote), ""))
    if not parts.netloc:  # urlunsplit leaves the two slashes out
        conninfo = f"postgresql://{conninfo.partition(':')[2]}"
    return PostgresAddress(conninfo, schema, shown if schema == SCHEMA else f"{shown} (schema {schema})", patience_s)


def _seconds(text: str, option: str) -> float:
    with suppress(ValueError):
        if 0 < (found := float(text)) <= _DAY_S:
            return found
    raise ConfigError(f"{option}: patience: expected seconds above 0, at most {_DAY_S}, such as 300, got {text!r}")


def _hosts(netloc: str, given: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return the hosts that libpq would try; none: the socket of this machine."""
    named = given.get("hostaddr") or given.get("host") or netloc.rpartition("@")[2]
    if not named:
        named = environment.get("PGHOSTADDR") or environment.get("PGHOST", "")
    return [_without_port(unquote(host)) for host in named.split(",") if host]


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.startswith("/") or host.count(":") > 1 else host.partition(":")[0]


def _here(host: str) -> bool:
    return host.startswith(("/", "@")) or loopback(host)
