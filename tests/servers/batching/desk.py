"""The desk of a server that takes batches: it keeps them and their files, answers their items, and counts."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeAlias, TypeVar

from aiohttp import web

from tests.servers import Answer, Seen, Wire, error_of, shaped, turns_of
from tests.servers.batching.batch import Batch, Bill
from tests.servers.batching.conduct import Conduct, Fate

T = TypeVar("T")
Write: TypeAlias = Callable[[Batch, int, str, Fate, int, Any], tuple[str, dict[str, Any]]]
"""Batch, place in the results, custom_id, fate, status and body -> the file it stands in, and its line."""


class Refused(Exception):
    """A request that gets an error."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param


@dataclass
class File:
    """A file of OpenAI's."""

    id: str
    path: Path
    filename: str
    purpose: str
    created: float = field(default_factory=time.time)

    def view(self) -> dict[str, Any]:
        """Return it as OpenAI tells it."""
        told = {"id": self.id, "object": "file", "bytes": self.path.stat().st_size, "created_at": int(self.created)}
        return told | {"filename": self.filename, "purpose": self.purpose, "status": "processed", "expires_at": None}


class Desk:
    """All batches and files of a server, and its bill."""

    def __init__(self, wire: Wire, conduct: Conduct, folder: Path) -> None:
        self.wire, self.conduct, self.folder = wire, conduct, folder
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, File] = {}
        self.vanished: set[str] = set()
        self.billed: dict[str, Bill] = {}
        self.taken: Counter[str] = Counter()
        self.made = 0
        self.turned_away = 0
        self.polls = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.thread = ThreadPoolExecutor(1)

    def name(self, prefix: str) -> str:
        """Return a new id."""
        self.made += 1
        return f"{prefix}{self.made:08d}"

    def door(self, request: web.Request) -> dict[str, str]:
        """Return the headers of a request that may come in; raise Refused."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        if away := self.wire.turned_away(headers, dict(request.query)):
            raise Refused(away.status, away.message, away.code)
        return headers

    def handler(self, handle: Callable[[web.Request], Any]) -> Callable[[web.Request], Any]:
        """Return a handler that tells what is refused in the words of the provider."""

        async def handled(request: web.Request) -> web.StreamResponse:
            try:
                found = await handle(request)
            except Refused as no:
                self.turned_away += 1
                answer = Answer(status=no.status, message=str(no), code=no.code)
                data = error_of(request.path, answer)
                if no.param and "code" in data["error"]:
                    data["error"]["param"] = no.param
                headers = {"Retry-After": "0.01"} if no.status == 429 else None
                return web.json_response(data, status=no.status, headers=headers)
            return found if isinstance(found, web.StreamResponse) else web.json_response(found)

        return handled

    async def aside(self, work: Callable[[], T]) -> T:
        """Do what takes long in a thread, while the server answers others."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, work)

    def begin(self, batch: Batch, write: Write, check: Callable[[Batch], None] = lambda batch: None) -> None:
        """Let a batch live: `check` finds its items, or its errors; `write` makes the line of a result."""
        batch.times["created"] = time.time()
        self.batches[batch.id] = batch
        task = asyncio.get_running_loop().create_task(self._live(batch, write, check))
        self.tasks.add(task)

        def over(done: asyncio.Task[None]) -> None:
            self.tasks.discard(done)
            if not done.cancelled() and done.exception():  # a mistake in a test's `respond`: let nobody wait for it
                batch.errors.append({"code": "server_error", "line": None, "message": repr(done.exception())})
                batch.turn("failed")

        task.add_done_callback(over)

    async def _live(self, batch: Batch, write: Write, check: Callable[[Batch], None]) -> None:
        await self.aside(lambda: check(batch))
        if batch.errors:
            return batch.turn("failed")
        if batch.status != "cancelling":
            batch.turn("in_progress")
        with suppress(TimeoutError):
            await asyncio.wait_for(batch.woken.wait(), self.conduct.takes_s)
        cancelled = batch.status == "cancelling"
        if not cancelled:
            batch.turn("finalizing")
        await self.aside(lambda: self._answer(batch, write, cancelled=cancelled))
        return batch.turn("cancelled" if cancelled else "expired" if batch.count("expired") else "completed")

    def _answer(self, batch: Batch, write: Write, *, cancelled: bool) -> None:
        """Write the results of a batch: the answers in one file and, with OpenAI, the errors in another."""
        outputs = {kind: self.folder / f"{batch.id}.{kind}" for kind in ("output", "error")}
        told = Counter({"output": 0, "error": 0})
        last = ""
        with outputs["output"].open("w") as output, outputs["error"].open("w") as error:
            files: dict[str, TextIO] = {"output": output, "error": error}
            for n, (custom_id, body) in enumerate(batch.shuffled(self.conduct.seed)):
                fate = self.conduct.fate(custom_id, self.taken[custom_id], cancelled=cancelled)
                if isinstance(fate, int):
                    answer = Answer(status=fate, message="this item was told to fail")
                else:
                    answer = Answer() if fate in ("expired", "cancelled") else self._think(batch, body)
                seen = Seen(batch.endpoint, batch.headers, {}, body, [])
                data: Any = None
                if fate not in ("expired", "cancelled"):
                    data = shaped(self.wire, seen, answer) if fate != "garbled" else {"html": "<!doctype html>"}
                if answer.payload is not None:
                    data = {"text": answer.payload.decode(errors="replace")}
                self._enter(batch, custom_id, fate, answer, data)
                kind, line = write(batch, n, custom_id, fate, answer.status, data)
                last = json.dumps(line)
                whole = last if fate != "torn" else last[: len(last) // 2]
                for _ in range(2 if n < self.conduct.repeated else 1):
                    files[kind].write(f"{whole}\n")
                told[kind] += 1
            for n in range(self.conduct.unknown if last else 0):
                files["output"].write(json.dumps(json.loads(last) | {"custom_id": f"unknown-{n}"}) + "\n")
        for kind, count in told.items():
            if count and batch.provider == "openai":
                file = File(self.name("file-"), outputs[kind], f"{batch.id}_{kind}.jsonl", "batch_output")
                self.files[file.id] = file
                setattr(batch, f"{kind}_id", file.id)

    def _think(self, batch: Batch, body: Any) -> Answer:
        try:
            seen = Seen(batch.endpoint, batch.headers, dict(self.wire.query), body, turns_of(batch.endpoint, body))
            if body.get("stream"):
                return Answer(status=400, message="stream: not permitted in a batch")
        except (KeyError, TypeError, AttributeError) as error:
            return Answer(status=400, message=f"the body is not of this endpoint: {error!r}")
        answer = self.wire.think(seen)
        return Answer(status=500, message="The server had an error") if answer.fault else answer

    def _enter(self, batch: Batch, custom_id: str, fate: object, answer: Answer, data: Any) -> None:
        """Write what became of an item into the batch and the bill."""
        failed = answer.status != 200
        batch.items[custom_id] = str(answer.status) if failed else str(fate)
        if failed or data is None:
            return
        put, got = answer.usage or (0, 0)
        bill = self.billed.setdefault(custom_id, Bill())
        bill.times, bill.put, bill.got = bill.times + 1, bill.put + put, bill.got + got
        batch.put, batch.got = batch.put + put, batch.got + got

    def there(self, batch_id: str, provider: str) -> Batch:
        """Return a batch; raise Refused."""
        batch = self.batches.get(batch_id)
        if batch is None or batch.id in self.vanished or batch.provider != provider:
            raise Refused(404, f"No batch found with id '{batch_id}'.")
        return batch

    def listed(self, provider: str) -> list[Batch]:
        """Return the batches of a provider, the newest first."""
        mine = [b for b in self.batches.values() if b.provider == provider and b.id not in self.vanished]
        return mine[::-1]

    def fail_poll(self, request: web.Request) -> None:
        """Count a look at a batch, and fail if told to."""
        self.polls += 1
        if self.conduct.uses("fail_polls"):
            if self.conduct.poll_fault == "cut":
                cut(request)
            raise Refused(500, "The server had an error while processing your request.")

    async def download(self, request: web.Request, path: Path) -> web.StreamResponse:
        """Send the lines of results, or half of them."""
        if not self.conduct.uses("cut_downloads"):
            return web.FileResponse(path, headers={"Content-Type": "application/x-jsonl"})
        size = path.stat().st_size  # noqa: ASYNC240 - a test server on a local disk
        response = web.StreamResponse(headers={"Content-Length": str(size)})
        await response.prepare(request)
        with path.open("rb") as file:
            left = size // 2
            while left and (chunk := file.read(min(left, 1 << 16))):
                await response.write(chunk)
                left -= len(chunk)
        await asyncio.sleep(0.01)  # what was written is on its way
        cut(request)
        return response

    def cancel(self, batch: Batch) -> None:
        """Stop a batch; what was done stands."""
        batch.turn("cancelling")
        batch.woken.set()

    def routes(self, app: web.Application) -> None:
        """Add the paths that only tests know."""

        async def told(request: web.Request) -> Any:
            return self.told()

        async def finish(request: web.Request) -> Any:
            for batch in self.batches.values():
                batch.woken.set()
            while not all(batch.over for batch in self.batches.values()):  # noqa: ASYNC110 - their threads set it
                await asyncio.sleep(0.01)
            return {}

        async def change(request: web.Request) -> Any:
            for name, value in (await request.json()).items():
                setattr(self.conduct, name, {int(k): v for k, v in value.items()} if name == "fails" else value)
            return {}

        async def forget(request: web.Request) -> Any:
            self.forget()
            return {}

        app.router.add_get("/v1/told", self.handler(told))
        for path, handle in (("finish", finish), ("conduct", change), ("forget", forget)):
            app.router.add_post(f"/v1/{path}", self.handler(handle))

        async def begun(app: web.Application) -> None:
            self.loop = asyncio.get_running_loop()

        app.on_startup.append(begun)

    def forget(self) -> None:
        """Begin anew, with no batch, no file and no bill."""
        for each in (self.batches, self.files, self.billed, self.taken, self.wire.seen):
            each.clear()

    def told(self) -> dict[str, Any]:
        """Return all counts."""
        billed = {custom_id: [bill.times, bill.put, bill.got] for custom_id, bill in self.billed.items()}
        batches = [batch.told() for batch in self.batches.values()]
        return {"batches": batches, "billed": billed, "live": len(self.wire.judged), "polls": self.polls}


def cut(request: web.Request) -> None:
    """End the connection without a response."""
    assert request.transport is not None
    request.transport.abort()


def only(given: Mapping[str, Any], *names: str) -> None:
    """Refuse fields that nobody knows."""
    for name in given:
        if name not in names:
            raise Refused(400, f"Unknown parameter: '{name}'.", "unknown_parameter", name)


def page_size(request: web.Request, most: int, usual: int) -> int:
    """Return how many objects a list may hold."""
    told = request.query.get("limit", str(usual))
    if not told.isdigit() or not 1 <= int(told) <= most:
        raise Refused(400, f"limit: must be between 1 and {most}", "invalid_value", "limit")
    return int(told)
