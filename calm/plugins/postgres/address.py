"""Where a shared record is: its URL, without any password that a file or a command line could show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from calm.engine.places import VARIABLE
from calm.errors import ConfigError
from calm.models.secrets import hidden, keep
from calm.models.transport import loopback
from calm.plugins.postgres.server import PATIENCE_S, PostgresAddress

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
