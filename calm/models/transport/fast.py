"""
The fast transport: the SDK draws a request once, and one session of aiohttp sends all of them.

That takes about an eighth of the SDK's own time. It relies on what no SDK promises: `fault` says how one breaks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calm.models.address import Address
from calm.models.transport import headers, sdk
from calm.models.transport.response import MOST_BYTES, NoResponse, Response, packed, plain, read
from calm.models.wire import Json

if TYPE_CHECKING:
    import aiohttp
    import httpx2
    import yarl

_BODIES: Final = (b'{"a":1}', b'{"b":[2]}')
"""What is drawn to find out whether two requests differ in their bodies alone."""
_VERSION: Final = "2000-01-01"
"""A version of the API that is drawn to find out whether it can be chosen."""
_NOT_AS_KNOWN: Final = (AttributeError, TypeError, LookupError, RuntimeError, ImportError)
"""What comes of calling an SDK whose functions are not the known ones."""


@dataclass(frozen=True, slots=True, repr=False)
class _Head:
    """The head of a request: where it goes, and its headers, which hold the key: a traceback shows neither."""

    url: yarl.URL
    headers: Mapping[str, str]


class FastTransport:
    """Requests as the SDK draws them, over one session of aiohttp."""

    def __init__(self, address: Address) -> None:
        import aiohttp
        import httpx2

        self._address = address
        self._heads: dict[str, _Head] = {}
        self._proxy = sdk.proxy_of(address.url)
        self._errors: tuple[type[Exception], ...] = (*sdk.errors(address.provider), aiohttp.ClientError)
        safe = address.url.lower().startswith("https:")
        self._session = aiohttp.ClientSession(
            # the SDKs' own choice of certificates, with SSL_CERT_FILE and SSL_CERT_DIR
            connector=aiohttp.TCPConnector(limit=0, ssl=httpx2.create_ssl_context() if safe else True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=address.timeout_s),
            trust_env=False,  # it would also read passwords from .netrc
        )

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; see `Transport`."""
        try:
            head = self._heads.get(version) or await self._draw(version)
            async with self._session.post(
                head.url,
                data=sdk.encoded(body),
                headers=head.headers,
                allow_redirects=False,  # else a header from a variable could reach another host
                proxy=self._proxy,
            ) as response:
                content = await _content(response)
                return Response(response.status, plain(response.headers.items()), content)
        except self._errors as error:
            raise NoResponse(error) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _draw(self, version: str) -> _Head:
        import yarl

        request = (await drawn(self._address, (b"{}", version)))[0]
        found = self._heads[version] = _Head(
            yarl.URL(str(request.url), encoded=True), headers.sent(self._address, request.headers)
        )
        return found


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


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return what was answered, within a limit of size; a body of a known length is read at once."""
    length = response.content_length
    if length is not None and length <= MOST_BYTES and not packed(response.headers):
        return await response.read()
    return await read(response.content.iter_any(), response.headers)
