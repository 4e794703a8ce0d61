"""Requests through a proxy that the environment names: httpx2 speaks to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import httpx2

from calm.models.transport.response import Cut, Response, packed, plain, read, unpacked


class Proxied:
    """Connections of httpx2 to one server, through a proxy."""

    def __init__(self, proxy: str, safety: ssl.SSLContext | None) -> None:
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
