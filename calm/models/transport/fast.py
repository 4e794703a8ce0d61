"""
The fast transport: the SDK draws a request once, and connections of our own send all of them.

That takes a small part of the SDK's own time. It relies on what no SDK promises: `fault` says how one breaks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calm.models.address import Address
from calm.models.transport import headers, sdk
from calm.models.transport.response import NoResponse, Response
from calm.models.wire import Json

if TYPE_CHECKING:
    import httpx2

    from calm.models.transport.direct import Direct
    from calm.models.transport.proxied import Proxied

_BODIES: Final = (b'{"a":1}', b'{"b":[2]}')
"""What is drawn to find out whether two requests differ in their bodies alone."""
_VERSION: Final = "2000-01-01"
"""A version of the API that is drawn to find out whether it can be chosen."""
_BREAKS: Final = frozenset("\r\n\0")
_NOT_AS_KNOWN: Final = (AttributeError, TypeError, LookupError, RuntimeError, ImportError)
"""What comes of calling an SDK whose functions are not the known ones."""


@dataclass(frozen=True, slots=True, repr=False)
class _Head:
    """The head of a request: where it goes, and its headers, which hold the key: a traceback shows neither."""

    url: str
    headers: Mapping[str, str]
    start: bytes
    """All bytes before the number of those of the body."""


class FastTransport:
    """Requests as the SDK draws them, over connections of our own; through a proxy, over aiohttp."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._heads: dict[str, _Head] = {}
        self._errors = sdk.errors(address.provider)
        self._proxy = sdk.proxy_of(address.url)
        self._direct: Direct | None = None
        self._proxied: Proxied | None = None

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; see `Transport`."""
        content = sdk.encoded(body)
        try:
            head = self._heads.get(version) or await self._draw(version)
            async with asyncio.timeout(self._address.timeout_s):
                if self._direct is not None:
                    return await self._direct.post(b"%b%d\r\n\r\n%b" % (head.start, len(content), content))
                assert self._proxied is not None, "what is drawn goes one way or the other"
                return await self._proxied.post(head.url, head.headers, content)
        except self._errors as error:
            raise NoResponse(error) from None

    async def close(self) -> None:
        """Close all connections."""
        if self._direct is not None:
            self._direct.close()
        if self._proxied is not None:
            await self._proxied.close()

    async def _draw(self, version: str) -> _Head:
        """Return the head of all requests of a version, as the SDK draws it; the first one opens the way."""
        request = (await drawn(self._address, (b"{}", version)))[0]
        sent, url = headers.sent(self._address, request.headers), request.url
        host = url.netloc.decode("ascii")
        found = _Head(str(url), sent, _start(url.raw_path, {"host": host, **sent}))
        if self._direct is None and self._proxied is None:
            self._open(url)
        self._heads[version] = found
        return found

    def _open(self, url: httpx2.URL) -> None:
        import httpx2

        from calm.models.transport.direct import Direct, Peer

        safe = url.scheme == "https"
        # the SDKs' own choice of certificates, with SSL_CERT_FILE and SSL_CERT_DIR
        safety = httpx2.create_ssl_context() if safe else None
        if self._proxy:
            from calm.models.transport.proxied import Proxied

            self._proxied = Proxied(self._proxy, safety)
        else:
            self._direct = Direct(Peer(url.raw_host.decode("ascii"), url.port or (443 if safe else 80), safety))


def _start(path: bytes, named: Mapping[str, str]) -> bytes:
    """
    Return how a request begins, up to the number of bytes of its body.

    Raises:
        ValueError: a header would end before its end.
    """
    lines = [f"{name}: {value}" for name, value in named.items()]
    if any(not _BREAKS.isdisjoint(line) for line in lines):
        raise ValueError("a header holds a line break, which would begin another header")
    return b"\r\n".join([b"POST %b HTTP/1.1" % path, *(line.encode() for line in lines), b"content-length: "])


async def drawn(address: Address, *calls: tuple[bytes, str]) -> list[httpx2.Request]:
    """Return the requests that the SDK would send for calls with these bodies and versions; nothing is sent."""
    import httpx2

    requests: list[httpx2.Request] = []

    class SilentTransport(httpx2.AsyncBaseTransport):  # the one type that a client takes
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            requests.append(request)
            return httpx2.Response(200)

    async with sdk.client(address, SilentTransport()) as client:
        for body, version in calls:
            await sdk.post(client, address, body, version)
    return requests


async def fault(address: Address) -> str:
    """
    Return what the SDK does that the fast transport cannot rely on; nothing if all is as it should be.

    A call makes one request; it goes to the address with its path and query; its body is the one that was given, and
    no stream is asked for; two requests have the same headers, and the version of the API can be chosen.
    """
    expected: tuple[type[Exception], ...] = (*sdk.errors(address.provider), *_NOT_AS_KNOWN)
    try:
        requests = await drawn(address, (_BODIES[0], ""), (_BODIES[1], ""), (_BODIES[0], _VERSION))
    except expected as error:
        return address.secrets.scrub(f"its client cannot be used: {type(error).__name__}: {error}")
    return next(_broken(address, requests), "")


def _broken(address: Address, requests: Sequence[httpx2.Request]) -> Iterator[str]:
    import httpx2

    if len(requests) != 3:
        yield f"three calls make {len(requests)} requests"
        return
    first, second, versioned = requests
    if first.method != "POST":
        yield f"a request is a {first.method}, not a POST"
    if first.url.copy_with(query=None) != httpx2.URL(address.url + address.path):
        yield "a request goes to another address"
    if dict(first.url.params) != dict(address.query) or first.url != second.url:
        yield "a request has another query"
    if (first.content, second.content) != _BODIES:
        yield "a body is changed on its way"
    if "event-stream" in first.headers.get("accept", ""):
        yield "a stream is asked for"
    one, two = (headers.sent(address, request.headers) for request in (first, second))
    for name in sorted(one.keys() | two.keys()):
        if one.get(name) != two.get(name):
            yield f"two requests differ in the header {name!r}"
    if address.provider == "anthropic" and versioned.headers.get("anthropic-version") != _VERSION:
        yield "the version of the API cannot be chosen"
