"""
How a request leaves this process, and how its response comes back.

The SDK knows the addresses, headers and versions of its API. What it would send is drawn once, over a transport that
sends nothing, and then sent over one session of aiohttp, which takes a tenth of the SDK's time. An SDK is imported at
the first call, only the one that is needed: a run that finds all its replies in the cache imports none. A call is one
attempt: the engine, which counts and caps them, makes the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from calm.models.address import Address, Provider, host_of, loopback
from calm.models.wire import Json, Sent

if TYPE_CHECKING:
    import aiohttp
    import httpx2
    import yarl
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

MOST_BYTES: Final = 20_000_000
"""A reply over this size is an error: no verdict is that long."""
MOST_PACKED_BYTES: Final = 20_000
"""The same for a compressed reply, which is not asked for: it can grow a thousandfold."""
KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "api-key"})
_SDK_HEADERS: Final = frozenset(
    {"accept", "anthropic-version", "connection", "content-length", "content-type", "host", "user-agent"}
)
_OF_A_CONNECTION: Final = frozenset({"connection", "content-length", "host"})
"""What the session writes itself."""
_OWN_SERVER_HEADERS: Final = _SDK_HEADERS | {"openai-organization", "openai-project"}


@dataclass(frozen=True, slots=True)
class Response:
    """What was answered: the status, the headers by their names in lower case, and the bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def kind(self) -> str:
        """What the bytes are said to be."""
        return self.headers.get("content-type", "no content type")


class TooLarge(ValueError):
    """A reply that is too large to be read."""


def errors(provider: Provider) -> tuple[type[Exception], ...]:
    """Return what a call may raise where there is no response."""
    import aiohttp
    import httpx2

    return (_sdk_root(provider), aiohttp.ClientError, httpx2.HTTPError, OSError, ValueError)


def _sdk_root(provider: Provider) -> type[Exception]:
    if provider == "anthropic":
        from anthropic import AnthropicError

        return AnthropicError
    from openai import OpenAIError

    return OpenAIError


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Where a request goes and what its headers are."""

    url: yarl.URL
    headers: Mapping[str, str]


class Connections:
    """The connections to a server that belong to one event loop."""

    def __init__(self, address: Address, client: AsyncOpenAI | AsyncAnthropic, session: aiohttp.ClientSession) -> None:
        self.address, self._client, self._session = address, client, session
        self._drawn: dict[str, _Drawn] = {}
        self._proxy = _proxy(address.url)

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; `version` is that of the API, if not the SDK's own."""
        drawn = self._drawn.get(version) or await self._draw(version)
        async with self._session.post(
            drawn.url,
            data=(body if isinstance(body, Sent) else Sent(body)).text.encode(),
            headers=drawn.headers,
            allow_redirects=False,  # else a header from a variable could reach another host
            proxy=self._proxy,
        ) as response:
            content = await _content(response)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Response(response.status, headers, content)

    async def _draw(self, version: str) -> _Drawn:
        """Return what the SDK would send, but for the body."""
        import httpx2
        import yarl

        response = await self._client.post(
            self.address.path,
            cast_to=httpx2.Response,
            content=b"{}",
            options={
                "max_retries": 0,
                "headers": {"anthropic-version": version} if version else {},
                "timeout": self.address.timeout_s,
            },
        )
        request = response.request
        drawn = self._drawn[version] = _Drawn(
            yarl.URL(str(request.url), encoded=True), _written(self.address, request.headers)
        )
        return drawn

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
        await self._session.close()


def connect(address: Address) -> Connections:
    """Return new connections; they belong to the running event loop."""
    import aiohttp
    import httpx2

    class Silent(httpx2.AsyncBaseTransport):  # the one type that a client takes
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(200)

    transport: dict[str, Any] = {"transport": Silent(), "follow_redirects": False, "trust_env": False}
    settings: dict[str, Any] = {
        "base_url": address.url,
        "api_key": address.secrets.key or "none",
        "default_query": dict(address.query),
        "timeout": address.timeout_s,
    }
    client: AsyncOpenAI | AsyncAnthropic
    if address.provider == "anthropic":
        import anthropic

        client = anthropic.AsyncAnthropic(
            http_client=anthropic.DefaultAsyncHttpxClient(**transport), open_telemetry=False, **settings
        )
    else:
        import openai

        client = openai.AsyncOpenAI(http_client=openai.DefaultAsyncHttpxClient(**transport), **settings)
    safe = address.url.lower().startswith("https:")
    session = aiohttp.ClientSession(
        # the SDKs' own choice of certificates, with SSL_CERT_FILE and SSL_CERT_DIR
        connector=aiohttp.TCPConnector(limit=0, ssl=httpx2.create_ssl_context() if safe else True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=address.timeout_s),
        trust_env=False,  # it would also read passwords from .netrc
    )
    return Connections(address, client, session)


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a server; what goes to this machine is shown to none."""
    host = host_of(url)
    if host is None or loopback(host) or proxy_bypass(host):
        return None
    named = getproxies()
    proxy = named.get(urlsplit(url).scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return what was answered, within a limit of size."""
    packed = response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}
    most = MOST_PACKED_BYTES if packed else MOST_BYTES
    if not packed and (response.content_length or most + 1) <= most:
        return await response.read()
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"the reply is larger than {most} bytes, the most that is read")
        chunks.append(chunk)
    return b"".join(chunks)


def _headers(address: Address) -> dict[str, str]:
    """Return the headers of every request, by their names in lower case."""
    given = {name.lower(): value for name, value in (*address.headers.items(), *address.secrets.headers.items())}
    headers = {"accept-encoding": "identity"}
    if address.secrets.key is not None or KEY_HEADERS.isdisjoint(given):
        headers["authorization"] = f"Bearer {address.secrets.key or 'none'}"
    return headers | given


def _written(address: Address, drawn: Mapping[str, str]) -> dict[str, str]:
    """Return our headers, and of the SDK's no other: it adds some from the environment, keys included."""
    kept = _OWN_SERVER_HEADERS if address.own else _SDK_HEADERS
    named = {name.lower(): value for name, value in drawn.items()}
    ours = {n: v for n, v in named.items() if (n in kept or n.startswith("x-stainless-")) and n not in _OF_A_CONNECTION}
    return ours | _headers(address)
