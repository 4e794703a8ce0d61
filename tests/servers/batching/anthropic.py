"""Anthropic's message batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from tests.servers.batching.batch import DAY_S, Batch
from tests.servers.batching.conduct import Fate
from tests.servers.batching.desk import Desk, Refused, cut, only, page_size

MOST_REQUESTS: Final = 100_000
MOST_BYTES: Final = 256 * 1024 * 1024
PATH: Final = "/v1/messages/batches"
NAMED: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
OPENS: Final = re.compile(r'\s*\{\s*"requests"\s*:\s*\[')
BETWEEN: Final = re.compile(r"\s*,?\s*")


def routes(desk: Desk, app: web.Application) -> None:
    """Add the paths."""
    made = Routes(desk)
    for method, path, handle in (
        ("POST", PATH, made.create),
        ("GET", PATH, made.list_batches),
        ("GET", f"{PATH}/{{id}}", made.batch),
        ("GET", f"{PATH}/{{id}}/results", made.results),
        ("POST", f"{PATH}/{{id}}/cancel", made.cancel),
        ("DELETE", f"{PATH}/{{id}}", made.delete),
    ):
        app.router.add_route(method, path, desk.handler(handle))


class Routes:
    """What is answered at each path."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def _door(self, request: web.Request) -> dict[str, str]:
        headers = self.desk.door(request)
        if "anthropic-version" not in headers:
            raise Refused(400, "anthropic-version: header is required")
        return headers

    async def create(self, request: web.Request) -> Any:
        """Begin a batch."""
        headers, conduct = self._door(request), self.desk.conduct
        if conduct.uses("refuse_submits"):
            raise Refused(429, "Number of requests in the queue has exceeded your rate limit.")
        most, size = conduct.most_bytes or MOST_BYTES, 0
        batch_id = self.desk.name("msgbatch_")
        body, source = self.desk.folder / f"{batch_id}.body", self.desk.folder / f"{batch_id}.jsonl"
        with body.open("wb") as kept:
            async for chunk in request.content.iter_chunked(1 << 18):
                size += len(chunk)
                if size > most:
                    raise Refused(413, f"Request exceeds the maximum allowed number of bytes: {most}.")
                kept.write(chunk)
        batch = Batch(batch_id, "anthropic", "/v1/messages", source, headers)
        await self.desk.aside(lambda: _read(self.desk, batch, body))
        batch.status = "in_progress"
        self.desk.taken.update(batch.items.keys())
        self.desk.begin(batch, result)
        if conduct.uses("lose_submits"):
            cut(request)
        return self.view(request, batch)

    async def batch(self, request: web.Request) -> Any:
        """Tell how a batch is doing."""
        self._door(request)
        self.desk.fail_poll(request)
        return self.view(request, self._there(request))

    async def results(self, request: web.Request) -> Any:
        """Send the results of a batch that has ended."""
        self._door(request)
        batch = self._there(request)
        if not batch.over:
            raise Refused(404, "The results are not available: the batch has not ended.")
        return await self.desk.download(request, self.desk.folder / f"{batch.id}.output")

    async def cancel(self, request: web.Request) -> Any:
        """Stop a batch."""
        self._door(request)
        batch = self._there(request)
        if batch.over:
            raise Refused(400, "A batch that has ended cannot be canceled.")
        if batch.status == "in_progress":
            self.desk.cancel(batch)
        return self.view(request, batch)

    async def delete(self, request: web.Request) -> Any:
        """Delete a batch that has ended."""
        self._door(request)
        batch = self._there(request)
        if not batch.over:
            raise Refused(400, "A batch can be deleted only when it has ended: cancel it first.")
        self.desk.vanished.add(batch.id)
        return {"id": batch.id, "type": "message_batch_deleted"}

    async def list_batches(self, request: web.Request) -> Any:
        """List batches, the newest first."""
        self._door(request)
        only(request.query, "before_id", "after_id", "limit", *self.desk.wire.query)
        found = [self.view(request, batch) for batch in self.desk.listed("anthropic")]
        limit, ids = page_size(request, 1000, 20), [each["id"] for each in found]
        before, after = request.query.get("before_id"), request.query.get("after_id")
        for cursor in (before, after):
            if cursor is not None and cursor not in ids:
                raise Refused(400, f"no batch has the id {cursor}")
        start = ids.index(after) + 1 if after else 0
        page, more = found[start : start + limit], start + limit < len(found)
        if before:
            end = ids.index(before)
            page, more = found[max(0, end - limit) : end], end - limit > 0
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
        return {"data": page, "has_more": more, **ends}

    def _there(self, request: web.Request) -> Batch:
        return self.desk.there(request.match_info["id"], "anthropic")

    def view(self, request: web.Request, batch: Batch) -> dict[str, Any]:
        """Return a batch as Anthropic tells it."""
        counts = batch.counts if batch.over else {"waiting": len(batch.items)}
        names = {"processing": "waiting", "canceled": "cancelled"}
        kinds = ("processing", "succeeded", "errored", "canceled", "expired")
        told = {kind: counts.get(names.get(kind, kind), 0) for kind in kinds}
        if self.desk.conduct.lies:
            told = dict.fromkeys(kinds, 0) | {"succeeded": len(batch.items) + 5}
        status = "ended" if batch.over else "canceling" if batch.status == "cancelling" else "in_progress"
        created, ended = batch.times["created"], batch.times.get(batch.status)
        stopped = batch.times.get("cancelling")
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": told,
            "ended_at": _when(ended) if batch.over and ended else None,
            "created_at": _when(created),
            "expires_at": _when(created + DAY_S),
            "archived_at": None,
            "cancel_initiated_at": _when(stopped) if stopped else None,
            "results_url": f"http://{request.host}{PATH}/{batch.id}/results" if batch.over else None,
        }


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _read(desk: Desk, batch: Batch, body: Path) -> None:
    """Write the requests of a body to the source of the batch, one in a line; raise Refused."""
    with batch.source.open("w") as source:
        for n, request in enumerate(_requests(body.read_text("utf-8"))):
            if n >= (desk.conduct.most_requests or MOST_REQUESTS):
                raise Refused(400, f"requests: at most {desk.conduct.most_requests or MOST_REQUESTS} items")
            if not isinstance(request, dict):
                raise Refused(400, f"requests.{n}: must be an object")
            for name in ("custom_id", "params"):
                if name not in request:
                    raise Refused(400, f"requests.{n}.{name}: Field required")
            for name in request.keys() - {"custom_id", "params"}:
                raise Refused(400, f"requests.{n}.{name}: Extra inputs are not permitted")
            custom_id = str(request["custom_id"])
            if not NAMED.fullmatch(custom_id):
                raise Refused(400, f"requests.{n}.custom_id: must match ^{NAMED.pattern}$")
            if custom_id in batch.items:
                raise Refused(400, f"requests.{n}.custom_id: {custom_id} is not unique in the batch")
            batch.items[custom_id] = "waiting"
            source.write(json.dumps({"custom_id": custom_id, "body": request["params"]}) + "\n")
    body.unlink()
    if not batch.items:
        raise Refused(400, "requests: must not be empty")
    for _ in batch.lines():
        pass


def _requests(text: str) -> Iterator[Any]:
    """Read {"requests": [...]} one item at a time: a whole body of 256 MB would be a gigabyte of objects."""
    opened, decoder = OPENS.match(text), json.JSONDecoder()
    try:
        if opened is None:
            only(json.loads(text), "requests")
            raise Refused(400, "requests: Field required, as a list")
        at = opened.end()
        while text[(at := _after(text, at))] != "]":
            item, at = decoder.raw_decode(text, at)
            yield item
        if text[at + 1 :].strip() != "}":
            raise Refused(400, "only `requests` is permitted in the body")
    except (ValueError, IndexError, AttributeError) as error:
        raise Refused(400, f"The request body is not valid JSON: {error}") from None


def _after(text: str, at: int) -> int:
    found = BETWEEN.match(text, at)
    return found.end() if found else at


def result(batch: Batch, n: int, custom_id: str, fate: Fate, status: int, data: Any) -> tuple[str, dict[str, Any]]:
    """Return the file and the line of an item's result."""
    if fate in ("expired", "cancelled"):
        return "output", {"custom_id": custom_id, "result": {"type": str(fate).replace("cancelled", "canceled")}}
    if status != 200:
        return "output", {"custom_id": custom_id, "result": {"type": "errored", "error": data}}
    return "output", {"custom_id": custom_id, "result": {"type": "succeeded", "message": data}}
