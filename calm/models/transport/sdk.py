"""
The transport of the SDKs: their clients send requests over httpx.

Releases of 2025 are built on httpx and later ones on httpx2, which has the same names. It takes what the installed SDK
is built on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from calm.core.releases import refuse_other_releases
from calm.models.address import Address, Provider
from calm.models.transport import headers
from calm.models.transport.proxy import proxy_of
from calm.models.transport.response import Cut, NoResponse, Response, plain, read
from calm.models.wire import Json, encoded

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

    Client: TypeAlias = AsyncOpenAI | AsyncAnthropic

_OF_A_CONNECTION = ("host", "content-length")


class SdkTransport:
    """Every request goes through the SDK's client and httpx. It is slow, and relies on what the SDK documents."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client = client(address, _http(address))
        self._errors = errors(address.provider)
        self._status_error: type[Any] = package(address.provider).APIStatusError

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once; the SDK's error for a status is the response that it holds."""
        try:
            content = encoded(body)
            async with asyncio.timeout(self._address.timeout_s):
                return _read(await post(self._client, self._address, content, version))
        except self._status_error as error:
            return _read(error.response)
        except self._errors as error:
            found = NoResponse(error)
            raise NoResponse(Cut(str(found))) if "complete message body" in str(found) else found from None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def package(provider: Provider) -> ModuleType:
    """Return the SDK for a provider, imported now if it was not."""
    return import_module("anthropic" if provider == "anthropic" else "openai")


def refuse_other_packages(address: Address) -> None:
    """Raise a `ConfigError` if the SDK for an address is of a release that may not fit; it brings its own httpx."""
    refuse_other_releases(address.provider.partition("-")[0])


def httpx_of(provider: Provider) -> ModuleType:
    """Return the httpx that a provider's SDK is built on."""
    bases = package(provider).DefaultAsyncHttpxClient.__mro__
    return import_module(next(one.__module__ for one in bases if one.__name__ == "AsyncClient").partition(".")[0])


def client(address: Address, transport: httpx2.AsyncBaseTransport) -> Client:
    """Return the SDK's client for an address, over a transport of httpx."""
    sdk = package(address.provider)
    http = sdk.DefaultAsyncHttpxClient(transport=transport, follow_redirects=False, trust_env=False)
    settings: dict[str, Any] = {
        "http_client": http,
        "base_url": address.url,
        "api_key": address.secrets.key or "none",
        "default_query": dict(address.query),
        "timeout": address.timeout_s,
    }
    kind = sdk.AsyncAnthropic if address.provider == "anthropic" else sdk.AsyncOpenAI
    if "open_telemetry" in signature(kind).parameters:
        settings["open_telemetry"] = False
    made: Client = kind(**settings)
    return made


async def post(client: Client, address: Address, content: bytes, version: str) -> httpx2.Response:
    """Make one request through the SDK's client; `version` is that of the API, if not the one that bodies are in."""
    named = {"anthropic-version": version or headers.ANTHROPIC_VERSION} if address.provider == "anthropic" else {}
    post: Any = client.post  # releases of 2025 take bytes as the body, later ones have a parameter for them
    taken = "content" if "content" in signature(post).parameters else "body"
    response: httpx2.Response = await post(
        address.path,
        cast_to=httpx_of(address.provider).Response,
        options={"max_retries": 0, "headers": named, "timeout": address.timeout_s},
        **{taken: content},
    )
    return response


def errors(provider: Provider) -> tuple[type[Exception], ...]:
    """Return what a call may raise where there is no response; the first is the root of the SDK's own errors."""
    sdk = package(provider)
    root: type[Exception] = sdk.AnthropicError if provider == "anthropic" else sdk.OpenAIError
    return (root, httpx_of(provider).HTTPError, OSError, ValueError)


def _read(response: httpx2.Response) -> Response:
    return Response(response.status_code, plain(response.headers.multi_items()), response.content)


def _http(address: Address) -> httpx2.AsyncBaseTransport:
    """Return httpx's own transport, which sends our headers alone and reads no more than a reply may have."""
    import httpx2  # for its choice of certificates, which httpx had in the same place, but not in each release

    httpx = httpx_of(address.provider)

    async def bounded(self: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        kept = {name: request.headers[name] for name in _OF_A_CONNECTION if name in request.headers}
        request.headers = httpx.Headers(kept | headers.of_the_sdk(address, request.headers))
        response = await httpx.AsyncHTTPTransport.handle_async_request(self, request)
        try:
            content = await read(response.aiter_bytes(), response.headers)
        finally:
            await response.aclose()
        made: httpx2.Response = httpx.Response(
            response.status_code, headers=plain(response.headers.multi_items()), content=content
        )
        return made

    safe = address.url.lower().startswith("https:")
    kind = type("BoundedTransport", (httpx.AsyncHTTPTransport,), {"handle_async_request": bounded})
    made: httpx2.AsyncBaseTransport = kind(
        verify=httpx2.create_ssl_context() if safe else True,
        proxy=proxy_of(address.url),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
    )
    return made
