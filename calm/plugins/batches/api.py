"""
The batch APIs of the providers: many requests are handed in as one batch, answered within a day, at a lower price.

OpenAI takes a file of requests (`/v1/files`, `/v1/batches`), Anthropic a list of them (`/v1/messages/batches`). Both
name each request by a `custom_id`; here that is its key in the cache, in hexadecimal.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import quote

from calm.core.files import json_of
from calm.core.reasons import Kind, because
from calm.errors import ConfigError, JudgeError
from calm.models import faults
from calm.models.apis import APIS, MAKERS, BadReply, items, string, table
from calm.models.faults import too_large
from calm.models.transport import MOST_BYTES, Address, Response, ours, plain, proxy_of
from calm.models.wire import Batching, BatchState, Reply

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

        written = json.dumps(data).encode() if data is not None else content
        fields, file = form or (None, None)
        try:
            response = await self._client.request(
                method,
                self.address.url + path,
                params={**self.address.query, **(query or {})},
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
        if (client := self.__dict__.pop("_client", None)) is not None:
            await client.aclose()

    @asynccontextmanager
    async def _streamed(self, path: str) -> AsyncIterator[httpx2.Response]:
        async with self._client.stream("GET", self.address.url + path, params=self.address.query) as response:
            if not 200 <= response.status_code < 300:
                found = Response(response.status_code, plain(response.headers.multi_items()), await response.aread())
                raise faults.answered(self.address, found) from None
            yield response

    @cached_property
    def _client(self) -> httpx2.AsyncClient:
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


MARK: Final = "calm"
"""The key of the metadata under which a batch holds our mark."""
PAGE: Final = 100
OVER: Final = frozenset({"completed", "failed", "expired", "cancelled"})
CROWDED: Final = frozenset({"token_limit_exceeded", "rate_limit_exceeded"})
NONE_TAKEN: Final = 400
"""The status for what a server says of a batch that it read, and did not take."""
EXPIRED, CANCELLED = "batch_expired", "batch_cancelled"


class OpenAIBatches:
    """Batches at `endpoint`, the path that each line of a file names."""

    most = 50_000
    most_bytes = 200_000_000
    opening = closing = b""
    between = b"\n"

    def __init__(self, session: BatchSession, read: Callable[[Response], Reply], endpoint: str) -> None:
        self._session, self._read, self._endpoint = session, read, endpoint
        self._files: dict[str, tuple[str, ...]] = {}

    def line(self, key: bytes, body: str) -> bytes:
        """Return a request as a line of the file, without its end."""
        return request_line(key, self._endpoint, body)

    async def submit(self, mark: str, file: BinaryIO) -> str:
        """Upload a file and begin its batch; see `Batching`."""
        form = {"purpose": "batch"}, (f"calm-{mark}.jsonl", file, "application/jsonl")
        uploaded = string((await self._session.asked("POST", "/files", form=form)).get("id"))
        data = {
            "input_file_id": uploaded,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {MARK: mark},
        }
        try:
            begun = await self._session.asked("POST", "/batches", data=data)
        except JudgeError as error:
            if error.refused:  # else there may be a batch of it
                with suppress(JudgeError):
                    await self._removed(uploaded)
            raise
        if not (found := string(begun.get("id"))):
            raise JudgeError(f"{self._session.address}: expected the id of a batch, got none; is base_url right?")
        return found

    async def find(self, mark: str, total: int, since: float, known: Collection[str]) -> str:
        """Return the batch that holds a mark; see `Batching`."""
        after = ""
        while True:
            query = {"limit": str(PAGE)} | ({"after": after} if after else {})
            page = await self._session.asked("GET", "/batches", query=query)
            batches = [table(one) for one in items(page.get("data"))]
            for one in batches:
                if table(one.get("metadata")).get(MARK) == mark:
                    return string(one.get("id"))
            last = string(batches[-1].get("id")) if batches else ""
            if not page.get("has_more") or not last or last == after:
                return ""
            after = last

    async def state(self, batch: str) -> BatchState:
        """Return how far a batch is."""
        data = await self._session.asked("GET", f"/batches/{named(batch)}")
        status, counts = string(data.get("status")), table(data.get("request_counts"))
        files = (data.get("output_file_id"), data.get("error_file_id"))
        self._files[batch] = tuple(name for name in map(string, files) if name)
        faults = [table(one) for one in items(table(data.get("errors")).get("data"))]
        said = "; ".join(string(one.get("message")) or string(one.get("code")) for one in faults[:3])
        if status != "failed":
            return BatchState(status in OVER, _number(counts, "completed") + _number(counts, "failed"))
        crowded = any(string(one.get("code")) in CROWDED for one in faults)
        large = any(too_large(NONE_TAKEN, {"error": dict(one)}) for one in faults)
        return BatchState(True, 0, said or "the server gives no reason", crowded, large)

    async def results(self, batch: str) -> AsyncIterator[tuple[bytes, Reply | JudgeError]]:
        """Yield what was answered, in any order; see `Batching`."""
        if batch not in self._files:
            await self.state(batch)
        for file in self._files[batch]:
            async for line in self._session.lines(f"/files/{named(file)}/content"):
                key, data = entry(line)
                if key is not None:
                    yield key, answer_in(data, self._read)

    async def cancel(self, batch: str) -> None:
        """Have the server answer no more of it; what it has answered is billed."""
        await self._session.asked("POST", f"/batches/{named(batch)}/cancel")

    async def tidy(self, mark: str, batch: str) -> None:
        """Remove the file that was uploaded for a batch that is over, if it is ours; its results stay."""
        data = await self._session.asked("GET", f"/batches/{named(batch)}")
        if string(data.get("status")) in OVER and table(data.get("metadata")).get(MARK) == mark:
            await self._removed(string(data.get("input_file_id")))

    async def _removed(self, file: str) -> None:
        if file:
            await self._session.asked("DELETE", f"/files/{named(file)}")

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def request_line(key: bytes, endpoint: str, body: str) -> bytes:
    """Return a request in OpenAI's batch format, without the end of its line."""
    head = json.dumps({CUSTOM_ID: key.hex(), "method": "POST", "url": endpoint})
    return f'{head[:-1]}, "body": {body}}}'.encode()


def answer_in(data: Mapping[str, object], read: Callable[[Response], Reply]) -> Reply | JudgeError:
    """Return the reply in a line of OpenAI's batch output; a `JudgeError` if it holds none."""
    response, error = table(data.get("response")), table(data.get("error"))
    if response:
        status, body = response.get("status_code"), response.get("body")
        if body is None:  # vLLM says beside the response what is wrong
            body = dict(error) if "error" in error else {"error": data.get("error")}
        return answered(read, status if isinstance(status, int) else 200, body)
    code = string(error.get("code"))
    if code == EXPIRED:
        return JudgeError(because(Kind.BATCH_EXPIRED), again=True)
    if code == CANCELLED:
        return JudgeError(because(Kind.BATCH_CANCELLED))
    return answered(read, 500, {"error": dict(error) or {"message": "the line holds neither a response nor an error"}})


def _number(counts: Mapping[str, object], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0


PATH: Final = "/v1/messages/batches"
PIECE: Final = 1 << 16
"""So many bytes of a file are sent at a time."""
SKEW_S: Final = 600.0
"""The server's clock may be so many seconds behind ours."""
ENDED: Final = "ended"


class AnthropicBatches:
    """
    Batches of messages.

    The server keeps no mark of ours. So a batch whose submission was not answered is looked for among those that began
    since then and hold as many requests: once its results are there, their names show whether it is the one.
    """

    most = 100_000
    most_bytes = 256_000_000
    opening, between, closing = b'{"requests": [', b",", b"]}"

    def __init__(self, session: BatchSession, read: Callable[[Response], Reply]) -> None:
        self._session, self._read = session, read

    def line(self, key: bytes, body: str) -> bytes:
        """Return a request as one entry of the list."""
        return f'{{"{CUSTOM_ID}": "{key.hex()}", "params": {body}}}'.encode()

    async def submit(self, mark: str, file: BinaryIO) -> str:
        """Begin a batch; see `Batching`."""
        begun = await self._session.asked("POST", PATH, content=_pieces(file))
        if not (found := string(begun.get("id"))):
            raise JudgeError(f"{self._session.address}: expected the id of a batch, got none; is base_url right?")
        return found

    async def find(self, mark: str, total: int, since: float, known: Collection[str]) -> str:
        """Return the batch that may be the one; see `Batching`."""
        after, candidates = "", list[tuple[bool, float, str]]()
        while True:
            query = {"limit": str(PAGE)} | ({"after_id": after} if after else {})
            page = await self._session.asked("GET", PATH, query=query)
            batches = [table(one) for one in items(page.get("data"))]
            young = [one for one in batches if _moment(one.get("created_at")) >= since - SKEW_S]
            for one in young:
                name, at = string(one.get("id")), _moment(one.get("created_at"))
                if name not in known and sum(_counts(one).values()) == total:
                    candidates.append((at < since, at, name))
            last = string(page.get("last_id"))
            if not page.get("has_more") or len(young) < len(batches) or not last or last == after:
                return min(candidates)[2] if candidates else ""  # the first one since then, by clocks that agree
            after = last

    async def state(self, batch: str) -> BatchState:
        """Return how far a batch is."""
        data = await self._session.asked("GET", f"{PATH}/{named(batch)}")
        counts = _counts(data)
        done = sum(counts.values()) - counts.get("processing", 0)
        return BatchState(string(data.get("processing_status")) == ENDED, done)

    async def results(self, batch: str) -> AsyncIterator[tuple[bytes, Reply | JudgeError]]:
        """Yield what was answered, in any order; see `Batching`."""
        async for line in self._session.lines(f"{PATH}/{named(batch)}/results"):
            key, data = entry(line)
            if key is not None:
                yield key, self._outcome(table(data.get("result")))

    async def cancel(self, batch: str) -> None:
        """Have the server answer no more of it; what it has answered is billed."""
        await self._session.asked("POST", f"{PATH}/{named(batch)}/cancel")

    async def tidy(self, mark: str, batch: str) -> None:
        """Remove nothing: a batch came without a file, and its results go by themselves."""

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _outcome(self, result: Mapping[str, object]) -> Reply | JudgeError:
        kind = string(result.get("type"))
        if kind == "succeeded":
            return answered(self._read, 200, result.get("message"))
        if kind == "expired":
            return JudgeError(because(Kind.BATCH_EXPIRED), again=True)
        if kind == "canceled":
            return JudgeError(because(Kind.BATCH_CANCELLED))
        error = table(result.get("error"))
        inner = table(error.get("error")) or error
        return answered(self._read, STATUS.get(string(inner.get("type")), 500), {"error": dict(inner)})


STATUS: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status with which the live API would have answered an error."""


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


def _counts(batch: Mapping[str, object]) -> dict[str, int]:
    counts = table(batch.get("request_counts"))
    return {name: value for name, value in counts.items() if isinstance(value, int)}


def _moment(text: object) -> float:
    """Return a time in seconds since the epoch; one that cannot be read is later than all."""
    try:
        return datetime.fromisoformat(string(text)).timestamp()
    except ValueError:
        return float("inf")


def batching_of(address: Address, version: str, read: Callable[[Response], Reply], *, held: bool) -> Batching:
    """
    Return the batch API at an address; nothing is sent before it is used.

    `version` is that of the API, if not the SDK's own. `read` makes a reply of what the live API would have sent. What
    is `held` for a file is not handed in, and may be for any provider.

    Raises:
        ConfigError: calm knows no batch API of this provider, and one is needed.
    """
    if not held and APIS[address.provider] not in MAKERS:
        raise ConfigError(
            f"calm knows no batch API of the provider {address.provider!r}: run without batches, or let another engine "
            "answer a file with `calm batch write` (--calm-batch-hold)"
        )
    session = BatchSession(address, version)
    if address.provider == "anthropic":
        return AnthropicBatches(session, read)
    return OpenAIBatches(session, read, f"/v1{address.path}")
