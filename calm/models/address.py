"""Where a model is reached, and what is sent with every request to it but the body."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from calm.models.secrets import Secrets

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic"]


@dataclass(frozen=True, slots=True)
class Address:
    """
    A model on a server: what the transport needs to reach it, and what an error says of it.

    `url` is the URL that `path` is added to; `own` is true for the provider's own server, not a compatible one.
    `headers` are the plain ones; `secrets` holds the key, and the headers that come from variables. `key_name` is the
    variable that the key is read from, if one is named. `timeout_s` is the most that one call may take, in seconds.
    """

    provider: Provider
    model: str
    url: str
    path: str
    own: bool
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: Secrets
    key_name: str | None
    timeout_s: float

    def __str__(self) -> str:
        return f"judge model {self.model!r} at {self.url}"


@lru_cache(maxsize=1024)
def host_of(url: str) -> str | None:
    """Return the host of a URL; None if it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def loopback(host: str | None) -> bool:
    """
    Return whether a host is this machine.

    >>> [loopback(host) for host in ("127.0.0.1", "localhost", "::1", "10.0.0.1", "localhost.example.com")]
    [True, True, True, False, False]
    """
    if host is None:
        return False
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
