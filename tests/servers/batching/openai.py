"""OpenAI's files and batches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import BodyPartReader, web

from tests.servers.batching.batch import DAY_S, REPLIES, Batch
from tests.servers.batching.conduct import Fate
from tests.servers.batching.desk import Desk, File, Refused, cut, only, page_size

MOST_REQUESTS: Final = 50_000
MOST_BYTES: Final = 200 * 1024 * 1024
ENDPOINTS: Final = ("/v1/chat/completions", "/v1/responses")
LONGEST_ID: Final = 64
BYTES_PER_TOKEN: Final = 4
WHY_NOT: Final[Mapping[str, str]] = {
    "expired": "This request could not be executed before the completion window expired.",
    "cancelled": "This request was not executed because the batch was cancelled.",
}


def routes(desk: Desk, app: web.Application) -> None:
    """Add the paths."""
    made = Routes(desk)
    for method, path, handle in (
        ("POST", "/v1/files", made.upload),
        ("GET", "/v1/files", made.list_files),
        ("GET", "/v1/files/{id}", made.file),
        ("GET", "/v1/files/{id}/content", made.content),
        ("DELETE", "/v1/files/{id}", made.delete),
        ("POST", "/v1/batches", made.create),
        ("GET", "/v1/batches", made.list_batches),
        ("GET", "/v1/batches/{id}", made.batch),
        ("POST", "/v1/batches/{id}/cancel", made.cancel),
    ):
        app.router.add_route(method, path, desk.handler(handle))


class Routes:
    """What is answered at each path."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def upload(self, request: web.Request) -> Any:
        """Keep a file, piece by piece."""
        self.desk.door(request)
        conduct = self.desk.conduct
        most = conduct.most_bytes or MOST_BYTES
        if request.content_type != "multipart/form-data":
            raise Refused(400, "Invalid Content-Type: expected multipart/form-data")
        fields: dict[str, str] = {}
        file = File(self.desk.name("file-"), self.desk.folder / f"upload{self.desk.made}.jsonl", "", "")
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name != "file":
                fields[str(part.name)] = await part.text()
                continue
            file.filename, size = part.filename or "upload", 0
            with file.path.open("wb") as kept:
                while chunk := await part.read_chunk(1 << 18):
                    size += len(chunk)
                    if size > most:
                        break
                    kept.write(chunk)
            if size > most:
                file.path.unlink()
                raise Refused(413, f"The file is larger than the maximum of {most} bytes.", "file_too_large")
        only(fields, "purpose", "expires_after[anchor]", "expires_after[seconds]")
        if not file.filename:
            raise Refused(400, "'file' is a required property", param="file")
        if fields.get("purpose") != "batch":
            raise Refused(400, f"Invalid value for 'purpose': {fields.get('purpose')!r}", param="purpose")
        file.purpose = "batch"
        if not file.path.stat().st_size:
            raise Refused(400, "The file is empty.", "empty_file", "file")
        self.desk.files[file.id] = file
        if conduct.uses("lose_uploads"):
            cut(request)
        return file.view()

    async def list_files(self, request: web.Request) -> Any:
        """List files, the newest first."""
        self.desk.door(request)
        only(request.query, "after", "limit", "order", "purpose", *self.desk.wire.query)
        wanted = request.query.get("purpose")
        found = [file for file in self.desk.files.values() if wanted in (None, file.purpose)]
        if request.query.get("order", "desc") == "desc":
            found.reverse()
        return _page(request, [file.view() for file in found], page_size(request, 10_000, 10_000))

    async def file(self, request: web.Request) -> Any:
        """Tell about a file."""
        return self._file(request).view()

    async def content(self, request: web.Request) -> Any:
        """Send a file."""
        return await self.desk.download(request, self._file(request).path)

    async def delete(self, request: web.Request) -> Any:
        """Delete a file; a batch that was made of it goes on."""
        file = self._file(request)
        del self.desk.files[file.id]
        return {"id": file.id, "object": "file", "deleted": True}

    def _file(self, request: web.Request) -> File:
        self.desk.door(request)
        wanted = request.match_info["id"]
        if wanted not in self.desk.files:
            raise Refused(404, f"No such File object: {wanted}", param="id")
        return self.desk.files[wanted]

    async def create(self, request: web.Request) -> Any:
        """Begin a batch."""
        headers = self.desk.door(request)
        if self.desk.conduct.uses("refuse_submits"):
            raise Refused(429, "Rate limit reached for batches.", "rate_limit_exceeded")
        body = await request.json()
        only(body, "input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after")
        for name in ("input_file_id", "endpoint", "completion_window"):
            if name not in body:
                raise Refused(400, f"Missing required parameter: '{name}'.", "missing_required_parameter", name)
        if body["completion_window"] != "24h":
            raise Refused(400, "Invalid value: only '24h' is supported.", "invalid_value", "completion_window")
        if body["endpoint"] not in ENDPOINTS:
            raise Refused(400, f"Invalid value: '{body['endpoint']}'.", "invalid_value", "endpoint")
        metadata = _metadata(body.get("metadata"))
        file = self.desk.files.get(body["input_file_id"])
        if file is None or file.purpose != "batch":
            raise Refused(400, f"Invalid input file: {body['input_file_id']}", "invalid_input_file", "input_file_id")
        batch = Batch(self.desk.name("batch_"), "openai", body["endpoint"], file.path, headers, metadata, file.id)
        self.desk.begin(batch, result, lambda made: check(self.desk, made))
        if self.desk.conduct.uses("lose_submits"):
            cut(request)
        return view(self.desk, batch)

    async def batch(self, request: web.Request) -> Any:
        """Tell how a batch is doing."""
        self.desk.door(request)
        self.desk.fail_poll(request)
        return view(self.desk, self.desk.there(request.match_info["id"], "openai"))

    async def list_batches(self, request: web.Request) -> Any:
        """List batches, the newest first."""
        self.desk.door(request)
        only(request.query, "after", "limit", *self.desk.wire.query)
        found = [view(self.desk, batch) for batch in self.desk.listed("openai")]
        return _page(request, found, page_size(request, 100, 20))

    async def cancel(self, request: web.Request) -> Any:
        """Stop a batch."""
        self.desk.door(request)
        batch = self.desk.there(request.match_info["id"], "openai")
        if batch.over or batch.status == "finalizing":
            raise Refused(409, f"Cannot cancel a batch with status '{batch.status}'.")
        if batch.status != "cancelling":
            self.desk.cancel(batch)
        return view(self.desk, batch)


def _page(request: web.Request, found: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    after = request.query.get("after")
    ids = [each["id"] for each in found]
    if after is not None and after not in ids:
        raise Refused(400, f"No object found with id '{after}'.", "invalid_value", "after")
    start = 0 if after is None else ids.index(after) + 1
    page = found[start : start + limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return {"object": "list", "data": page, **ends, "has_more": start + limit < len(found)}


def _metadata(given: Any) -> dict[str, str] | None:
    if given is None:
        return None
    fits = isinstance(given, dict) and len(given) <= 16
    if not fits or not all(isinstance(v, str) and len(k) <= 64 and len(v) <= 512 for k, v in given.items()):
        raise Refused(400, "metadata: at most 16 keys of 64 characters, values of 512", "invalid_value", "metadata")
    return dict(given)


def check(desk: Desk, batch: Batch) -> None:
    """Read the requests of a batch into it, or why it is refused as a whole."""
    size = 0
    for n, line in enumerate(batch.lines(), 1):
        size += len(line)
        if n > (desk.conduct.most_requests or MOST_REQUESTS):
            _refuse(batch, None, "too_many_requests", "The batch input file contains too many requests.")
            return
        _check_line(batch, n, line)
    if not batch.offsets:
        _refuse(batch, None, "empty_file", "The batch input file is empty.")
    batch.tokens = size // BYTES_PER_TOKEN
    queued = [b.tokens for b in desk.listed("openai") if b is not batch and not b.over and b.model == batch.model]
    most = desk.conduct.most_enqueued_tokens
    if not batch.errors and most is not None and sum(queued) + batch.tokens > most:
        text = f"Enqueued token limit reached for {batch.model}. Limit: {most:,} enqueued tokens."
        _refuse(batch, None, "token_limit_exceeded", f"{text} Please try again once some batches have been completed.")
    if not batch.errors:
        desk.taken.update(batch.items.keys())


def _refuse(batch: Batch, line: int | None, code: str, message: str, param: str | None = None) -> None:
    batch.errors.append({"code": code, "line": line, "message": message, "param": param})


def _check_line(batch: Batch, n: int, line: str) -> None:
    try:
        item = json.loads(line)
    except ValueError:
        return _refuse(batch, n, "invalid_json_line", "This line is not parseable as valid JSON.")
    if not isinstance(item, dict):
        return _refuse(batch, n, "invalid_json_line", "This line is not a JSON object.")
    for name, kind in (("custom_id", str), ("method", str), ("url", str), ("body", dict)):
        if not isinstance(item.get(name), kind):
            return _refuse(batch, n, "missing_required_parameter", f"Missing or mistyped parameter: '{name}'.", name)
    for name in item.keys() - {"custom_id", "method", "url", "body"}:
        return _refuse(batch, n, "unknown_parameter", f"Unknown parameter: '{name}'.", name)
    custom_id, model = item["custom_id"], item["body"].get("model")
    if not 1 <= len(custom_id) <= LONGEST_ID:
        return _refuse(batch, n, "invalid_custom_id", f"custom_id: 1 to {LONGEST_ID} characters.", "custom_id")
    if custom_id in batch.items:
        return _refuse(batch, n, "duplicate_custom_id", f"The custom_id '{custom_id}' is not unique.", "custom_id")
    if item["method"] != "POST":
        return _refuse(batch, n, "invalid_method", f"Invalid method: '{item['method']}'.", "method")
    if item["url"] != batch.endpoint:
        return _refuse(batch, n, "invalid_url", "The URL does not match the endpoint of the batch.", "url")
    batch.model = batch.model or model
    if model is None or model != batch.model:
        text = f"The model '{model}' is not that of the first request, '{batch.model}'."
        return _refuse(batch, n, "mismatched_model", text, "body.model")
    batch.items[custom_id] = "waiting"
    return None


def view(desk: Desk, batch: Batch) -> dict[str, Any]:
    """Return a batch as OpenAI tells it."""
    when = {status: int(at) for status, at in batch.times.items()}
    created = when["created"]
    names = ("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled")
    counts, over = batch.counts, batch.status in REPLIES
    told = {"total": len(batch.items), "completed": counts["succeeded"], "failed": counts["errored"]}
    if batch.status in ("validating", "failed"):
        told = dict.fromkeys(told, 0)
    if desk.conduct.lies:
        told = {"total": told["total"] + 5, "completed": told["total"] + 5, "failed": 0}
    put, got = (batch.put, batch.got) if over else (0, 0)
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "model": batch.model,
        "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
        "input_file_id": batch.input_file_id,
        "completion_window": "24h",
        "status": batch.status,
        "output_file_id": batch.output_id if over else None,
        "error_file_id": batch.error_id if over else None,
        "created_at": created,
        "expires_at": created + DAY_S,
        **{f"{name}_at": when.get(name) for name in names},
        "request_counts": told,
        "usage": {
            "input_tokens": put,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": got,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": put + got,
        },
        "metadata": batch.metadata,
    }


def result(batch: Batch, n: int, custom_id: str, fate: Fate, status: int, data: Any) -> tuple[str, dict[str, Any]]:
    """Return the file and the line of an item's result."""
    line: dict[str, Any] = {"id": f"batch_req_{batch.id}_{n}", "custom_id": custom_id, "response": None, "error": None}
    if fate in ("expired", "cancelled"):
        return "error", line | {"error": {"code": f"batch_{fate}", "message": WHY_NOT[str(fate)]}}
    line["response"] = {"status_code": status, "request_id": f"req_{batch.id}_{n}", "body": data}
    return "output" if status == 200 else "error", line
