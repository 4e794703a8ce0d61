"""The batch API of OpenAI: a file of requests in, a file of answers and one of errors out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from typing import BinaryIO, Final

from calm.core.reasons import Kind
from calm.errors import JudgeError
from calm.models.api import items, string, table
from calm.models.batch_api.session import CUSTOM_ID, BatchSession, answered, entry, named, not_answered
from calm.models.faults import too_large
from calm.models.transport import Response
from calm.models.wire import BatchState, Reply

MOST: Final = 50_000
MOST_BYTES: Final = 200_000_000
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

    most = MOST
    most_bytes = MOST_BYTES
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
        answered, total = _number(counts, "completed") + _number(counts, "failed"), _number(counts, "total")
        if status != "failed":
            return BatchState(status in OVER, answered, total)
        crowded = any(string(one.get("code")) in CROWDED for one in faults)
        large = any(too_large(NONE_TAKEN, {"error": dict(one)}) for one in faults)
        return BatchState(True, 0, total, said or "the server gives no reason", crowded, large)

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
        return not_answered(Kind.BATCH_EXPIRED, again=True)
    if code == CANCELLED:
        return not_answered(Kind.BATCH_CANCELLED, again=False)
    return answered(read, 500, {"error": dict(error) or {"message": "the line holds neither a response nor an error"}})


def _number(counts: Mapping[str, object], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) else 0
