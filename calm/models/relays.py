"""Requests that others send: httpx2 through a proxy, or an SDK over the httpx that it is built on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from calm.models.apis import APIS, Provider
from calm.models.transport import (
    ANTHROPIC_VERSION,
    Address,
    Cut,
    NoResponse,
    Response,
    of_the_sdk,
    packed,
    plain,
    proxy_of,
    read,
    unpacked,
)
from calm.models.wire import Json, encoded


class Proxied:
    """Connections of httpx2 to one server, through a proxy."""

    def __init__(self, proxy: str, safety: ssl.SSLContext | None) -> None:
        import httpx2

        safe = httpx2.create_ssl_context() if proxy.lower().startswith("https:") else None
        try:
            self._transport = httpx2.AsyncHTTPTransport(
                verify=True if safety is None else safety,
                proxy=httpx2.Proxy(proxy, ssl_context=safe),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            )
        except (httpx2.InvalidURL, ImportError, ValueError):  # the address itself may hold a password
            raise ValueError("expected a proxy such as http://host:port in the environment, got another kind") from None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """
        Send a body once and return the response; no redirect is followed.

        Raises:
            OSError, ValueError: there is none, or none that is whole.
        """
        import httpx2

        begun = False
        try:
            named = [(name.encode(), value.encode()) for name, value in headers.items()]
            response = await self._transport.handle_async_request(
                httpx2.Request("POST", url, headers=named, content=body)
            )
            begun = response.is_success
            try:
                content = await read(response.aiter_raw(), response.headers)
            finally:
                await response.aclose()
        except httpx2.InvalidURL as error:
            raise ValueError(str(error)) from None
        except httpx2.HTTPError as error:
            if begun:
                raise Cut(str(error)) from None
            raise ConnectionError(str(error) or type(error).__name__) from error.__cause__
        found = Response(response.status_code, plain(response.headers.multi_items()), content)
        return unpacked(found, response.headers) if packed(response.headers) else found

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


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
    return import_module(APIS[provider].sdk)


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
    named = {"anthropic-version": version or ANTHROPIC_VERSION} if address.provider == "anthropic" else {}
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
    import httpx2  # for its choice of certificates, which httpx had in the same place, but not in each release

    httpx = httpx_of(address.provider)

    async def bounded(self: httpx2.AsyncHTTPTransport, request: httpx2.Request) -> httpx2.Response:
        kept = {name: request.headers[name] for name in _OF_A_CONNECTION if name in request.headers}
        request.headers = httpx.Headers(kept | of_the_sdk(address, request.headers))
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
