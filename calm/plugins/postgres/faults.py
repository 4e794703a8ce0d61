"""What an error of PostgreSQL means for a run: its cause in plain words, and whether it may pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from calm.errors import StorageError
from calm.models.secrets import hidden

if TYPE_CHECKING:
    from psycopg import Error

PASSING: Final = ("08", "40", "57", "55P03", "53000", "53200", "53300")
"""How the codes of errors begin that may be gone soon (postgresql.org/docs/current/errcodes-appendix.html)."""
_STANDBY: Final = (
    "the server lets nobody write, as a standby does; name the server that may be written, or replay from this one "
    "with --calm-cache=replay"
)
_DENIED: Final = "the user may not do this; grant it, as docs/how-to/share-a-record.md says"
_FULL: Final = "the server has no free connection; end others, or allow more"
_SILENT: Final = "nothing answers there; correct the host, or open the way to it"
_OTHER: Final = "no PostgreSQL answers there; correct host and port"
_STARTING: Final = "the server starts or stops; wait until it is up"
_CODES: Final = {
    "25006": _STANDBY,
    "53100": "the disk of the server is full; free some space there",
    "42501": _DENIED,
    "42P01": "its tables were removed; leave them in place until runs end",
}
_WORDS: Final = {
    "password authentication failed": "set the right password in the variable PGPASSWORD, or in ~/.pgpass",
    "no password supplied": "set the password in the variable PGPASSWORD, or in ~/.pgpass",
    "could not translate host name": "there is no such host; correct its name",
    "failed to resolve host": "there is no such host; correct its name",
    "Connection refused": "no server listens there; start it, or correct host and port",
    "does not support SSL": "a password would go to another machine unencrypted; let the server use TLS, or add "
    "?sslmode=disable to the URL if you trust the network between",
    "certificate verify failed": "name the authority that signed the server's certificate: ?sslrootcert=FILE",
    "root certificate file": "name the authority that signed the server's certificate: ?sslrootcert=FILE",
    "does not match host name": "the certificate is for another host; name that host in the URL",
    "timeout expired": _SILENT,
    "no answer for": _SILENT,
    "timed out": _SILENT,
    "unreachable": _SILENT,
    "No route to host": _SILENT,
    "received invalid response": _OTHER,
    "expected authentication request": _OTHER,
    "SSL encryption": "the server admits no such connection; allow it there, in pg_hba.conf",
    "no encryption": "the server may admit none without TLS: take sslmode out of the URL, or allow it in pg_hba.conf",
    "pg_hba.conf": "the server admits no such connection; allow it there",
    "too many c": _FULL,
    "remaining connection slots": _FULL,
    "session is read-only": _STANDBY,
    "permission denied": _DENIED,
    "starting up": _STARTING,
    "shutting down": _STARTING,
    "recovery mode": _STARTING,
    "Hot standby mode is disabled": _STANDBY,
    "accepting connections": _STARTING,
    "invalid connection option": "correct the parameters of the URL",
    "invalid URI": "correct the parameters of the URL",
    "invalid sslmode": "correct the parameters of the URL",
}
_MISSING: Final = {
    "database": "make it with `createdb`, or correct its name",
    "role": "make it with `createuser`, or correct the name of the user",
}


def passes(error: Error) -> bool:
    """Return whether the server itself says that what it refuses now may work a moment later."""
    return (error.sqlstate or "").startswith(PASSING)


def fault(shown: str, error: Error, *, busy: bool = False) -> StorageError:
    """Return what a failed access to a record means; `busy` if it may work a moment later."""
    said = _said(error)
    return StorageError(f"{shown}: {said}: {_cause(error.sqlstate or '', said, busy=busy)}, then run again", busy=busy)


def gone(shown: str, error: Error, waited_s: float) -> str:
    """Return that a server was away for so many seconds, and is not waited for any more."""
    return (
        f"{shown}: {_said(error)}: the server was away for {waited_s:g} seconds; run again when it is back, or let "
        "?patience=SECONDS in the URL state a longer wait"
    )


def _said(error: Error) -> str:
    return hidden(re.sub(r"\s+", " ", str(error)).strip(" .")) or type(error).__name__


def _cause(code: str, said: str, *, busy: bool) -> str:
    if found := _CODES.get(code):
        return found
    for words, cause in _WORDS.items():
        if words in said:
            return cause
    if said.endswith("does not exist"):
        for what, cause in _MISSING.items():
            if f'{what} "' in said:
                return cause
    return "wait until the server is back" if busy else "look at the server"
