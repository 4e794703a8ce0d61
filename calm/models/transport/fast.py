"""
The fast transport: the head of a request is written once, and connections of our own send it with every body.

That takes a small part of an SDK's own time, and imports none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from calm.core.releases import refuse_other_releases
from calm.models.address import Address
from calm.models.transport import headers
from calm.models.transport.proxy import proxy_of
from calm.models.transport.response import NoResponse, Response
from calm.models.wire import Json, encoded

if TYPE_CHECKING:
    import ssl

    from calm.models.transport.direct import Direct
    from calm.models.transport.proxied import Proxied

_BREAKS: Final = frozenset("\r\n\0")
_OF_THE_BODY: Final = frozenset({"content-length", "transfer-encoding"})
_PORTS: Final = {"http": 80, "https": 443}
_OF_A_PATH: Final = "/%:@!$&'()*+,;="
"""What is not escaped in a path; a sign of per cent begins an escape."""
_NO_RESPONSE: Final = (OSError, ValueError)
"""What a call raises where there is no response."""


class FastTransport:
    """Requests over connections of our own; through a proxy, over httpx2."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._starts: dict[str, bytes] = {}
        self._url: SplitResult | None = None
        self._direct: Direct | None = None
        self._proxied: Proxied | None = None

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; see `Transport`."""
        try:
            if self._url is None:
                url = url_of(self._address)
                self._open(url)
                self._url = url
            async with asyncio.timeout(self._address.timeout_s):
                if self._direct is not None:
                    return await self._direct.post(self._request(self._url, body, version))
                assert self._proxied is not None, "requests go one way or the other"
                named = _checked(headers.ours(self._address, version))
                return await self._proxied.post(self._url.geturl(), named, encoded(body))
        except _NO_RESPONSE as error:
            raise NoResponse(error) from None

    async def close(self) -> None:
        """Close all connections."""
        if self._direct is not None:
            self._direct.close()
        if self._proxied is not None:
            await self._proxied.close()

    def _request(self, url: SplitResult, body: Mapping[str, Json], version: str) -> bytes:
        """Return the bytes of a request."""
        content = encoded(body)
        start = self._starts.get(version) or self._started(url, version)
        return b"%b%d\r\n\r\n%b" % (start, len(content), content)

    def _started(self, url: SplitResult, version: str) -> bytes:
        """Return how the requests of a version begin, up to the number of bytes of the body."""
        named = _checked({"host": url.netloc, **headers.ours(self._address, version)})
        lines = [f"{name}: {value}".encode() for name, value in named.items()]
        target = (f"{url.path}?{url.query}" if url.query else url.path).encode("ascii")
        start = b"\r\n".join([b"POST %b HTTP/1.1" % target, *lines, b"content-length: "])
        self._starts[version] = start
        return start

    def _open(self, url: SplitResult) -> None:
        """Open the way to the server."""
        safety = _safety() if url.scheme == "https" else None
        proxy = proxy_of(self._address.url)
        if proxy:
            from calm.models.transport.proxied import Proxied

            self._proxied = Proxied(proxy, safety)
        else:
            from calm.models.transport.direct import Direct, Peer

            self._direct = Direct(Peer(url.hostname or "", url.port or _PORTS[url.scheme], safety))


def url_of(address: Address) -> SplitResult:
    """
    Return where requests go, as it is written in a request: escaped, and without the usual port.

    Raises:
        ValueError: the address is no URL of a server.
    """
    given = urlsplit(address.url + address.path)
    host, port, usual = given.hostname, given.port, _PORTS.get(given.scheme)
    if not host or usual is None:
        raise ValueError(f"expected a URL that begins with http:// or https:// and names a host, got {address.url!r}")
    if not host.isascii():
        host = _as_ascii(host)
    shown = f"[{host}]" if ":" in host else host
    path = quote(re.sub("%(?![0-9A-Fa-f]{2})", "%25", given.path), safe=_OF_A_PATH)
    netloc = shown if port in (None, usual) else f"{shown}:{port}"
    return SplitResult(given.scheme, netloc, path, urlencode(address.query), "")


def _as_ascii(host: str) -> str:
    import httpx2

    try:
        return httpx2.URL(scheme="http", host=host).raw_host.decode()
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None


def _safety() -> ssl.SSLContext:
    """Return the SDKs' own choice of certificates, with SSL_CERT_FILE and SSL_CERT_DIR."""
    import httpx2

    return httpx2.create_ssl_context()


def _checked(named: Mapping[str, str]) -> Mapping[str, str]:
    """
    Return headers.

    Raises:
        ValueError: one would end before its end.
    """
    for name, value in named.items():
        if not _BREAKS.isdisjoint(f"{name}{value}"):
            raise ValueError("a header holds a line break, which would begin another header")
        if name in _OF_THE_BODY:
            raise ValueError(f"the header {name} says how a body is sent, which only the connection knows; take it out")
        if not _is_text(value):
            raise ValueError(f"the header {name} holds what is no text: is its variable, or the key's, UTF-8?")
    return named


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_other_packages(address: Address) -> None:
    """Raise a `ConfigError` if a package that sends requests to an address is of a release that may not fit."""
    if address.url.lower().startswith("https:") or proxy_of(address.url):
        refuse_other_releases("httpx2")
