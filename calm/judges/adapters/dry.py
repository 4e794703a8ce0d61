"""What another tool's judge asks, found before the run: it is asked about a sample, and nothing leaves this process."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from calm.errors import JudgeError
from calm.judges.adapters.ask import Ask
from calm.judges.adapters.models import Models
from calm.models.apis import items, table
from calm.models.wire import Json, Reply, Request

MOST_CALLS: Final = 60
"""A judge that asks more than this about one case is stopped: its replies make no sense, so it may go on for ever."""
DEEPEST: Final = 12
WORD: Final = "dry"

DRY: Final[ContextVar[bool]] = ContextVar("calm_dry", default=False)
"""Whether a judge is asked to find out what it asks: what it learns is not to be kept."""


@dataclass(frozen=True, slots=True)
class DryAsk:
    """
    What came of a dry ask.

    `requests` are those to models, in their order. `elsewhere` names the hosts that it tried to reach otherwise.
    `error` is what ended it early: then more requests may follow.
    """

    requests: tuple[Request, ...]
    elsewhere: tuple[str, ...]
    error: BaseException | None


def dry_ask(asked: Callable[[Ask], Awaitable[object]], models: Models) -> DryAsk:
    """Have a judge asked, with replies that are as small as the judge's own schema lets them be."""
    found: list[DryAsk] = []

    async def once() -> None:
        DRY.set(True)
        send = _DrySend()
        ask = _DryVisitor(send, models)
        error: BaseException | None = None
        try:
            await asked(ask)
        except BaseException as caught:  # noqa: BLE001 - it is reported if the judge sent nothing before
            error = caught
        found.append(DryAsk(tuple(send.requests), tuple(ask.elsewhere), ask.error or error))

    with _no_connections() as reached:
        thread = threading.Thread(target=lambda: asyncio.run(once()), name="calm-dry", daemon=True)
        thread.start()
        thread.join()
    dry = found[0]
    requests = dry.requests if dry.error is None else _first_tries(dry.requests)
    return DryAsk(requests, tuple(dict.fromkeys((*dry.elsewhere, *reached))), dry.error)


def _first_tries(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    """Return requests without those that ask again, with an earlier prompt or after it, as no reply was good enough."""
    kept: list[Request] = []
    for one in requests:
        again = any(one.prompt[: len(before.prompt)] == before.prompt for before in kept)
        if not again:
            kept.append(one)
    return tuple(kept)


class _DryVisitor(Ask):
    """An ask of which nothing goes on its way."""

    def passes(self, url: str) -> bool:
        """Return that no request goes on its way, and note its host."""
        self.elsewhere.setdefault(urlsplit(url).netloc)
        return False


class _DrySend:
    """A `send` that notes each request and calls no server."""

    ask = 1

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if len(self.requests) > MOST_CALLS:
            raise JudgeError(f"it asked more than {MOST_CALLS} times about one case")
        return _smallest_reply(request.body)


def _smallest_reply(body: Mapping[str, Json]) -> Reply:
    """Return the smallest reply that fits what a body asks for: the call of a tool, JSON of a schema, or a word."""
    for tool in map(table, items(body.get("tools"))):
        function = table(tool.get("function")) or tool
        name, schema = function.get("name"), function.get("parameters", function.get("input_schema"))
        if isinstance(name, str) and isinstance(schema, dict):
            return Reply("", calls=((name, json.dumps(_smallest(schema, schema))),))
    given = table(body.get("response_format")) or table(table(body.get("text")).get("format"))
    given = given or table(table(body.get("output_config")).get("format"))
    inner = table(given.get("json_schema")) or given
    schema = inner.get("schema")
    return Reply(json.dumps(_smallest(schema, schema)) if isinstance(schema, dict) else WORD)


def _smallest(schema: object, root: Mapping[str, Any], depth: int = 0) -> Json:
    """Return a small value that fits a JSON schema, as far as these APIs take them; lists have one item."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return WORD
    if isinstance(ref := schema.get("$ref"), str):
        target: Any = root
        for step in ref.removeprefix("#/").split("/"):
            target = table(target).get(step)
        return _smallest(target, root, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if items(schema.get(name)):
            return _smallest(items(schema[name])[0], root, depth + 1)
    if "const" in schema:
        return schema["const"]  # type: ignore[no-any-return]  # it is JSON
    if items(schema.get("enum")):
        return items(schema["enum"])[0]  # type: ignore[return-value]  # it is JSON
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            properties = table(schema.get("properties"))
            return {name: _smallest(inner, root, depth + 1) for name, inner in properties.items()}
        case "array":
            return [_smallest(schema.get("items"), root, depth + 1)]
        case "number" | "integer":
            return schema.get("minimum", 0)  # type: ignore[no-any-return]  # it is JSON
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return WORD


@contextmanager
def _no_connections() -> Iterator[list[str]]:
    """
    Refuse the connections of a dry ask, and give the list of where they were to go.

    They are those of its context, and of all threads that begin meanwhile. Other threads of the process are let be.
    """
    reached: list[str] = []
    others = {thread.ident for thread in threading.enumerate()}
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def refused(self: socket.socket, address: Any) -> bool:
        mine = DRY.get() or threading.get_ident() not in others
        if not mine or self.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        reached.append(f"{address[0]}:{address[1]}")
        return True

    def guarded(self: socket.socket, address: Any) -> None:
        if refused(self, address):
            raise ConnectionRefusedError("calm makes no connection before the run")
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        if refused(self, address):
            raise ConnectionRefusedError("calm makes no connection before the run")
        return connect_ex(self, address)

    kind: Any = socket.socket
    kind.connect, kind.connect_ex = guarded, guarded_ex
    try:
        yield reached
    finally:
        kind.connect, kind.connect_ex = connect, connect_ex
