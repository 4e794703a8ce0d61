"""What both batch APIs need of HTTP: requests with the SDK's own headers, and answers as JSON or line by line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from calm.core.files import json_of
from calm.core.reasons import Kind, because
from calm.errors import JudgeError
from calm.models import faults
from calm.models.address import Address
from calm.models.api import BadReply
from calm.models.transport import Response
from calm.models.transport.headers import ours
from calm.models.transport.proxy import proxy_of
from calm.models.transport.response import MOST_BYTES, plain
from calm.models.wire import Reply

if TYPE_CHECKING:
    import httpx2

LEAST_TIMEOUT_S: Final = 300.0
"""A provider may read and check hundreds of megabytes before it answers."""
CUSTOM_ID: Final = "custom_id"
_JSON: Final = {"content-type": "application/json"}


class BatchSession:
    """Requests to one server, with the headers that the SDK sends; `version` is that of the API, if not its own."""

    def __init__(self, address: Address, version: str = "") -> None:
        self.address = address
        self._version = version
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def asked(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        data: Mapping[str, object] | None = None,
        content: AsyncIterable[bytes] | None = None,
        form: tuple[Mapping[str, str], tuple[str, IO[bytes], str]] | None = None,
    ) -> Mapping[str, object]:
        """
        Return the JSON object that the server answers to a request.

        `path` is added to the address. `data` is sent as JSON, `content` as JSON that is written already, `form` as
        fields and a file.

        Raises:
            JudgeError: no answer, or an error.
        """
        import httpx2

        client = await self._opened()
        written = json.dumps(data).encode() if data is not None else content
        fields, file = form or (None, None)
        try:
            response = await client.request(
                method,
                self.address.url + path,
                params={**self._query, **(query or {})},
                content=written,
                headers={} if written is None else {"content-type": "application/json"},
                data=fields,
                files=None if file is None else {"file": file},
            )
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise faults.unreached(self.address, error) from None
        found = Response(response.status_code, plain(response.headers.multi_items()), response.content)
        if not found.ok:
            raise faults.answered(self.address, found) from None
        try:
            return faults.parsed(self.address, found)
        except BadReply as error:
            raise faults.bad_reply(self.address, error) from None

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """
        Yield the lines of an answer that is read while it comes, without those over the limit of a reply.

        Raises:
            JudgeError: no answer, an error, or an end in the middle.
        """
        import httpx2

        try:
            async with self._streamed(path) as response:
                rest, skipping = bytearray(), False
                async for part in response.aiter_bytes():
                    *whole, last = part.split(b"\n")
                    for piece in whole:
                        if not skipping:
                            yield bytes(rest + piece)
                        rest.clear()
                        skipping = False
                    rest += last
                    if len(rest) > MOST_BYTES:
                        rest.clear()
                        skipping = True
                if rest and not skipping:
                    yield bytes(rest)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise faults.unreached(self.address, error) from None

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    @property
    def _query(self) -> Mapping[str, str]:
        return self.address.query

    @asynccontextmanager
    async def _streamed(self, path: str) -> AsyncIterator[httpx2.Response]:
        client = await self._opened()
        async with client.stream("GET", self.address.url + path, params=self._query) as response:
            if not 200 <= response.status_code < 300:
                found = Response(response.status_code, plain(response.headers.multi_items()), await response.aread())
                raise faults.answered(self.address, found) from None
            yield response

    async def _opened(self) -> httpx2.AsyncClient:
        async with self._opening:
            if self._client is None:
                self._client = await self._made()
            return self._client

    async def _made(self) -> httpx2.AsyncClient:
        import httpx2

        headers = ours(self.address, self._version)
        timeout_s = max(LEAST_TIMEOUT_S, self.address.timeout_s)
        return httpx2.AsyncClient(
            headers={name: value for name, value in headers.items() if name not in ("content-type", "accept")},
            proxy=proxy_of(self.address.url),
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 30.0)),
            follow_redirects=False,
            trust_env=False,
        )


def answered(read: Callable[[Response], Reply], status: int, data: object) -> Reply | JudgeError:
    """Return the reply in what was answered with a status, as the live API would have; else why there is none."""
    try:
        return read(Response(status, _JSON, json.dumps(data).encode()))
    except JudgeError as error:
        return error


def entry(line: bytes) -> tuple[bytes | None, Mapping[str, object]]:
    """Return the key that a line of results is about, and what it holds; None for a line that is about none of ours."""
    try:
        data: Any = json_of(line)
        key = bytes.fromhex(data[CUSTOM_ID])
    except (ValueError, KeyError, TypeError):
        return None, {}
    return key or None, data


def named(part: str) -> str:
    """Return a name that a server gave as one part of a path, whatever is in it."""
    return quote(part, safe="")


def not_answered(kind: Kind, *, again: bool) -> JudgeError:
    """Return why a request of a batch has no answer."""
    return JudgeError(because(kind), again=again)
