"""Requests through a proxy that the environment names: aiohttp speaks to it."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import aiohttp
from yarl import URL

from calm.models.transport.response import MOST_BYTES, Cut, Response, packed, plain, read


class Proxied:
    """One session of aiohttp to one server, through a proxy."""

    def __init__(self, proxy: str, safety: ssl.SSLContext | None) -> None:
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=True if safety is None else safety),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,  # it would also read passwords from .netrc
        )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """
        Send a body once and return the response.

        Raises:
            OSError, ValueError: there is none, or none that is whole.
        """
        try:
            async with self._session.post(
                URL(url, encoded=True),
                data=body,
                headers=headers,
                allow_redirects=False,  # else a header from a variable could reach another host
                proxy=self._proxy,
            ) as response:
                return Response(response.status, plain(response.headers.items()), await _content(response))
        except aiohttp.ClientPayloadError as error:
            raise Cut(str(error)) from None
        except aiohttp.ClientError as error:
            if isinstance(error, OSError | ValueError):
                raise
            raise ConnectionError(str(error) or type(error).__name__) from error.__cause__

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return what was answered, within a limit of size; a body of a known length is read at once."""
    length = response.content_length
    if length is not None and length <= MOST_BYTES and not packed(response.headers):
        return await response.read()
    return await read(response.content.iter_any(), response.headers)
