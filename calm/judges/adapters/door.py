"""
The door for the judges of other tools: what their clients would send to a model goes through calm's `send`.

While such a judge is asked, `Client.send` and `AsyncClient.send` of httpx and httpx2 are replaced. A POST to the path
of a model is handed to the `Visitor` of the context. All else goes on as before: other requests, and all code that is
not asked by calm, calm's own calls among it. With the end of the last ask everything is as it was.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import partial
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from calm.judges.adapters.models import provider_of
from calm.models.wire import Json

T = TypeVar("T")

CLIENTS: Final = ("httpx", "httpx2")
"""The packages whose clients are known: those of all SDKs of OpenAI and Anthropic."""
NO_RETRY: Final = {"x-should-retry": "false"}
"""Keeps these SDKs from trying again: the engine does that."""


class Visitor(Protocol):
    """What answers the requests of one ask; `loop` and `context` are those in which it is to be asked."""

    loop: asyncio.AbstractEventLoop
    context: Context

    async def reply(
        self, url: str, headers: Mapping[str, str], content: bytes, *, once: bool
    ) -> tuple[int, dict[str, Json]]:
        """Return the status and the JSON that a request to a model is answered with; see `ONCE`."""

    def passes(self, url: str) -> bool:
        """Return whether another request may go on its way, after having noted it."""


ONCE: Final[ContextVar[bool]] = ContextVar("calm_once", default=False)
"""Whether what is sent belongs to no single ask: its reply is that of the first one (`calm.models.wire.Request`)."""
VISITOR: Final[ContextVar[Visitor | None]] = ContextVar("calm_visitor", default=None)


class Patch(NamedTuple):
    """An attribute of a class or module that is replaced while a judge is asked: `made` gets what it was."""

    owner: Any
    name: str
    made: Callable[[Any], Any]


class _Patched:
    """Patches that are in place while anybody is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._kept: list[tuple[Patch, Any, Any]] = []

    @contextmanager
    def entered(self, patches: Callable[[], Sequence[Patch]]) -> Iterator[None]:
        """Put patches in place for the first one inside, and take them away with the last one."""
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._kept = [_replaced(patch) for patch in patches()]
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    for patch, before, ours in reversed(self._kept):
                        if vars(patch.owner).get(patch.name) is ours:  # else somebody else replaced it meanwhile
                            setattr(patch.owner, patch.name, before)
                    self._kept = []


_DOOR: Final = _Patched()


def patched() -> _Patched:
    """Return a place for further patches that an adapter needs while its judge is asked."""
    return _Patched()


@contextmanager
def visiting(visitor: Visitor) -> Iterator[None]:
    """Let the visitor answer what this context sends to models."""
    with _DOOR.entered(_patches):
        token = VISITOR.set(visitor)
        try:
            yield
        finally:
            VISITOR.reset(token)


def _replaced(patch: Patch) -> tuple[Patch, Any, Any]:
    before = vars(patch.owner)[patch.name]
    ours = patch.made(before)
    setattr(patch.owner, patch.name, ours)
    return patch, before, ours


def _patches() -> list[Patch]:
    found = []
    for name in CLIENTS:
        if importlib.util.find_spec(name) is not None:
            module = importlib.import_module(name)
            found.append(Patch(module.AsyncClient, "send", partial(_asynchronous, module)))
            found.append(Patch(module.Client, "send", partial(_blocking, module)))
    return found


def _asynchronous(module: ModuleType, before: Callable[..., Any]) -> Callable[..., Any]:
    async def send(self: Any, request: Any, **given: Any) -> Any:
        visitor = _wanted(module, request)
        if visitor is None:
            return await before(self, request, **given)
        content = await request.aread()
        reply = visitor.reply(str(request.url), dict(request.headers), content, once=ONCE.get())
        return _response(module, request, *await asyncio.wrap_future(_begun(visitor, reply)))

    return send


def _blocking(module: ModuleType, before: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, request: Any, **given: Any) -> Any:
        visitor = _wanted(module, request)
        if visitor is None:
            return before(self, request, **given)
        reply = visitor.reply(str(request.url), dict(request.headers), request.read(), once=ONCE.get())
        return _response(module, request, *_begun(visitor, reply).result())

    return send


def _wanted(module: ModuleType, request: Any) -> Visitor | None:
    """Return who answers a request; None: it goes on its way."""
    visitor = VISITOR.get()
    if visitor is None:
        return None
    if request.method == "POST" and provider_of(request.url.path) is not None:
        return visitor
    if not visitor.passes(str(request.url)):
        raise module.ConnectError(f"calm makes no request to {request.url.host} before the run", request=request)
    return None


def _begun(visitor: Visitor, reply: Coroutine[Any, Any, T]) -> Any:
    """
    Begin a reply in the visitor's loop and context, and return its future of the module `concurrent`.

    Its own calls would come back here in the context of the judge.
    """

    async def there() -> T:
        return await asyncio.get_running_loop().create_task(reply, context=visitor.context.copy())

    return asyncio.run_coroutine_threadsafe(there(), visitor.loop)


def _response(module: ModuleType, request: Any, status: int, data: dict[str, Json]) -> Any:
    return module.Response(status, json=data, request=request, headers=NO_RETRY if status >= 400 else None)
