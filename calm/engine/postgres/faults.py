"""What an error of PostgreSQL means for a run: its cause in plain words, and whether it may pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from calm.errors import StorageError
from calm.models.vault import hidden

if TYPE_CHECKING:
    from psycopg import Error

PASSING: Final = ("08", "40", "57", "55P03", "53000", "53200", "53300")
"""How the codes of errors begin that may be gone soon (postgresql.org/docs/current/errcodes-appendix.html)."""
_CODES: Final = {
    "25006": "the server lets nobody write, as a standby does; name the server that may be written, or replay from "
    "this one with --calm-cache=replay",
    "53100": "the disk of the server is full; free some space there",
    "42501": "the user may not do this; grant it, as docs/how-to/share-a-record.md says",
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
    "timeout expired": "nothing answers there; correct the host, or open the way to it",
    "pg_hba.conf": "the server admits no such connection; allow it there",
    "too many connections": "the server has no free connection; end others, or allow more",
    "remaining connection slots": "the server has no free connection; end others, or allow more",
    "invalid connection option": "correct the parameters of the URL",
    "invalid URI": "correct the parameters of the URL",
    "invalid sslmode": "correct the parameters of the URL",
}
_MISSING: Final = {
    "database": "make it with `createdb`, or correct its name",
    "role": "make it with `createuser`, or correct the name of the user",
}


def fault(shown: str, error: Error, *, lost: bool = False) -> StorageError:
    """Return what a failed access to a record means; with `lost`, the connection to it ended."""
    code = error.sqlstate or ""
    said = hidden(re.sub(r"\s+", " ", str(error)).strip()) or type(error).__name__
    busy = lost or code.startswith(PASSING)
    return StorageError(f"{shown}: {said}: {_cause(code, said, lost=lost)}, then run again", busy=busy)


def _cause(code: str, said: str, *, lost: bool) -> str:
    if found := _CODES.get(code):
        return found
    for words, cause in _WORDS.items():
        if words in said:
            return cause
    if said.endswith("does not exist"):
        for what, cause in _MISSING.items():
            if f'{what} "' in said:
                return cause
    return "wait until the server is back" if lost else "look at the server"
