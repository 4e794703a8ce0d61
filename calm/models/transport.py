"""
How a request leaves this process, and how its response comes back.

There are two transports. Both send the same bodies to the same address, and both return every response, whatever its
status. An SDK is imported by its own transport alone, at the first call. A call is one attempt: the engine, which
counts and caps them, makes the next one.
"""

from __future__ import annotations

import ipaddress
import os
import zlib
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.metadata import version as release
from typing import Final, Literal, Protocol, TypeAlias, get_args
from urllib.parse import SplitResult, urlsplit

from calm.models.apis import APIS, Provider
from calm.models.secrets import Secrets, learn
from calm.models.wire import Json


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


MOST_BYTES: Final = 8_000_000
"""A reply over this size is an error: no verdict is that long, and many are read at a time."""
MOST_PACKED_BYTES: Final = 20_000
"""The same for a compressed reply, which is not asked for: it can grow a thousandfold."""
_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
_EITHER: Final = 32
"""Added to the size of its window, it has zlib find out whether there is a header of gzip or one of zlib."""
_CODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Response:
    """What was answered, with whatever status: the headers as `plain` gives them, and the unpacked bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def kind(self) -> str:
        """What the bytes are said to be."""
        return self.headers.get("content-type", "no content type")


class NoResponse(Exception):
    """No whole response came. `cause` is a `TimeoutError`, a `TooLarge`, a `Cut`, or what else stopped it."""

    def __init__(self, error: BaseException) -> None:
        self.cause = _bottom(error)
        super().__init__(str(self.cause))


class TooLarge(ValueError):
    """A reply that is too large to be read."""


class Cut(ConnectionError):
    """A response of success that began and did not end: the server may bill it."""


def plain(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names in lower case, without those that speak of the bytes on the wire."""
    return {name.lower(): value for name, value in headers if name.lower() not in _CODED}


def packed(headers: Mapping[str, str]) -> bool:
    """Return whether the bytes are compressed; the headers must be looked up without regard to case."""
    return headers.get("content-encoding", "identity").lower() not in {"", "identity"}


def too_large(most: int) -> TooLarge:
    """Return the error for a reply of more than so many bytes."""
    return TooLarge(f"the reply is larger than {most} bytes, the most that is read")


def unpacked(response: Response, headers: Mapping[str, str]) -> Response:
    """
    Return a response whose bytes are compressed, as `headers` say, with what they hold.

    Raises:
        TooLarge: that is more than such a reply may have.
        ValueError: they cannot be unpacked.
    """
    coding, content = headers.get("content-encoding", "").lower(), response.content
    if coding not in _CODINGS:
        raise ValueError(f"the reply has the content encoding {coding!r}, which was not asked for")
    bare = coding == "deflate" and content[:1] != b"\x78"  # some leave out the header that begins so
    packer = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | _EITHER)
    try:
        found = packer.decompress(content, MOST_PACKED_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"the reply cannot be unpacked: {error}") from None
    if len(found) > MOST_PACKED_BYTES:
        raise too_large(MOST_PACKED_BYTES)
    if not packer.eof:
        raise ValueError("the reply cannot be unpacked: it is cut")
    return replace(response, content=found)


async def read(chunks: AsyncIterable[bytes], headers: Mapping[str, str]) -> bytes:
    """
    Return the bytes of all chunks, unpacked as they are.

    Raises:
        TooLarge: there are more than a reply may have.
    """
    most = MOST_PACKED_BYTES if packed(headers) else MOST_BYTES
    found = bytearray()  # it grows in place: a list of chunks would stand beside the whole
    async for chunk in chunks:
        if len(found) + len(chunk) > most:
            raise too_large(most)
        found += chunk
    return bytes(found)


def _bottom(error: BaseException) -> BaseException:
    """Return what is at the bottom of an error: the SDKs wrap it twice and call much of it a timeout."""
    while error.__cause__ is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error


def proxy_of(url: str) -> str | None:
    """
    Return the proxy that the environment names for a server; what goes to this machine is shown to none.

    NO_PROXY names hosts, also with a port, and domains (`.example.com`, `*.example.com`) and networks (`10.0.0.0/8`).
    """
    host = host_of(url)
    if host is None or loopback(host):
        return None
    from urllib.request import getproxies, proxy_bypass  # takes a moment, and a local server needs none of it

    given, named = urlsplit(url), getproxies()
    if proxy_bypass(host) or _spared(given, host, named.get("no", "")):
        return None
    learn({f"{name}_proxy": url for name, url in named.items()})
    proxy = named.get(given.scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _spared(url: SplitResult, host: str, names: str) -> bool:
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed lacks it

    shown, port = f"[{host}]" if ":" in host else host, 443 if url.scheme == "https" else 80
    with suppress(ValueError):  # its port is no number
        port = url.port or port
    plain = ",".join(name.strip().removeprefix("*.") for name in names.split(",") if name.strip() != "*")
    if proxy_bypass_environment(f"{shown}:{port}", {"no": plain}):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in _networks(names))


def _networks(names: str) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    for name in names.split(","):
        try:
            yield ipaddress.ip_network(name.strip(), strict=False)
        except ValueError:  # it names a host
            continue


KEY_HEADERS: Final = frozenset({"api-key", *(api.key_header for api in APIS.values())})
ANTHROPIC_VERSION: Final = "2026-10-21"
"""The version of Anthropic's API that bodies and replies are written and read in: that of the SDK 2.10."""
_SCOPES: Final = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""What OpenAI's own server is told of whose calls they are, and the variables that say so, as its SDK knows them."""
_SDK_HEADERS: Final = frozenset({"accept", "anthropic-version", "content-type", "user-agent"})


def ours(address: Address, version: str = "") -> dict[str, str]:
    """
    Return all headers of a request but those of its connection, by their names in lower case.

    `version` is that of the API, if not the usual one.
    """
    named = {"accept": "application/json", "content-type": "application/json", "user-agent": _agent()}
    if address.provider == "anthropic":
        named["anthropic-version"] = version or ANTHROPIC_VERSION
    elif _of_openai(address):
        named |= {name: said for name, variable in _SCOPES.items() if (said := os.environ.get(variable))}
    return named | _given(address)


def _of_openai(address: Address) -> bool:
    return address.own and address.provider.startswith("openai")


@cache
def _agent() -> str:
    return f"calm-judge/{release('calm-judge')}"


def of_the_sdk(address: Address, drawn: Mapping[str, str]) -> dict[str, str]:
    """
    Return the same where the SDK sends the request, from the headers that it would send.

    It adds some from the environment, keys included, so that only the ones that a server needs are taken over.
    """
    kept = _SDK_HEADERS | (_SCOPES.keys() if _of_openai(address) else set())
    named = {name.lower(): value for name, value in drawn.items()}
    sdks = {name: value for name, value in named.items() if name in kept or name.startswith("x-stainless-")}
    return sdks | _given(address)


def _given(address: Address) -> dict[str, str]:
    given = {name.lower(): value for name, value in (*address.headers.items(), *address.secrets.headers.items())}
    headers = {"accept-encoding": "identity"}
    if address.secrets.key is not None or KEY_HEADERS.isdisjoint(given):
        headers |= _key(address, address.secrets.key or "none")
    return headers | given


def _key(address: Address, key: str) -> dict[str, str]:
    """Return the headers that carry a key: a provider may take it in one of its own, and its gateways in either."""
    bearer = {"authorization": f"Bearer {key}"}
    header = APIS[address.provider].key_header
    if header in bearer:
        return bearer
    return {header: key} if address.own else {header: key} | bearer


TransportName: TypeAlias = Literal["fast", "sdk"]
TRANSPORTS: Final[tuple[TransportName, ...]] = get_args(TransportName)


class Transport(Protocol):
    """The connections to one server that belong to one event loop."""

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """
        Send a body once and return the response, whatever its status.

        `version` is that of the API, if not the usual one. Redirects are not followed.

        Raises:
            NoResponse: none came within the address's `timeout_s` (seconds, for the whole call), or none that is whole.
        """

    async def close(self) -> None:
        """Close all connections."""
