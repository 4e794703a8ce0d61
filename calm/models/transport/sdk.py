"""The transport of the SDKs: their clients send requests over httpx."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from calm.core.releases import refuse_other_releases
from calm.models.address import Address, Provider
from calm.models.transport import headers
from calm.models.transport.proxy import proxy_of
from calm.models.transport.response import NoResponse, Response, plain, read
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
            raise NoResponse(error) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def package(provider: Provider) -> ModuleType:
    """Return the SDK for a provider, imported now if it was not."""
    return import_module("anthropic" if provider == "anthropic" else "openai")


def refuse_other_packages(address: Address) -> None:
    """Raise a `ConfigError` if the SDK for an address, or what it builds on, is of a release that may not fit."""
    refuse_other_releases(address.provider.partition("-")[0], "httpx2")


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
    made: Client = (
        sdk.AsyncAnthropic(open_telemetry=False, **settings)
        if address.provider == "anthropic"
        else sdk.AsyncOpenAI(**settings)
    )
    return made


async def post(client: Client, address: Address, content: bytes, version: str) -> httpx2.Response:
    """Make one request through the SDK's client; `version` is that of the API, if not the SDK's own."""
    import httpx2

    return await client.post(
        address.path,
        cast_to=httpx2.Response,
        content=content,
        options={
            "max_retries": 0,
            "headers": {"anthropic-version": version} if version else {},
            "timeout": address.timeout_s,
        },
    )


def errors(provider: Provider) -> tuple[type[Exception], ...]:
    """Return what a call may raise where there is no response; the first is the root of the SDK's own errors."""
    import httpx2

    sdk = package(provider)
    root: type[Exception] = sdk.AnthropicError if provider == "anthropic" else sdk.OpenAIError
    return (root, httpx2.HTTPError, OSError, ValueError)


def _read(response: httpx2.Response) -> Response:
    return Response(response.status_code, plain(response.headers.multi_items()), response.content)


def _http(address: Address) -> httpx2.AsyncBaseTransport:
    """Return httpx's own transport, which sends our headers alone and reads no more than a reply may have."""
    import httpx2

    class BoundedTransport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            kept = {name: request.headers[name] for name in _OF_A_CONNECTION if name in request.headers}
            request.headers = httpx2.Headers(kept | headers.of_the_sdk(address, request.headers))
            response = await super().handle_async_request(request)
            try:
                content = await read(response.aiter_bytes(), response.headers)
            finally:
                await response.aclose()
            return httpx2.Response(response.status_code, headers=plain(response.headers.multi_items()), content=content)

    safe = address.url.lower().startswith("https:")
    return BoundedTransport(
        verify=httpx2.create_ssl_context() if safe else True,
        proxy=proxy_of(address.url),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
    )
