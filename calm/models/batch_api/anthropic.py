"""The batch API of Anthropic: a list of requests in, a stream of results out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from datetime import datetime
from typing import BinaryIO, Final

from calm.core.reasons import Kind
from calm.errors import JudgeError
from calm.models.api import items, string, table
from calm.models.batch_api.session import CUSTOM_ID, BatchSession, answered, entry, named, not_answered
from calm.models.transport import Response
from calm.models.wire import BatchState, Reply

PATH: Final = "/v1/messages/batches"
MOST: Final = 100_000
MOST_BYTES: Final = 256_000_000
PAGE: Final = 100
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

    most = MOST
    most_bytes = MOST_BYTES
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
        total = sum(counts.values())
        return BatchState(string(data.get("processing_status")) == ENDED, total - counts.get("processing", 0), total)

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
            return not_answered(Kind.BATCH_EXPIRED, again=True)
        if kind == "canceled":
            return not_answered(Kind.BATCH_CANCELLED, again=False)
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
