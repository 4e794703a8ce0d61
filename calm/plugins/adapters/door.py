"""
The door for the judges of other tools: what their clients would send to a model goes through calm's `send`.

From the first ask of such a judge on, `Client.send` and `AsyncClient.send` of httpx and httpx2 are replaced. A POST to
the path of a model is handed to the `Ask` of the context, which makes it a request of calm, and the reply the JSON that
the client expects. What a judge leaves running when its ask has ended gets no reply, as far as it has the context of
that ask: tasks have it, and threads of `asyncio.to_thread`; threads of its own never did. All else goes on as before:
other requests, and all code that is not asked by calm, calm's own calls among it.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache, partial
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from calm.core.edits import Message
from calm.core.reasons import NONE
from calm.errors import JudgeError
from calm.judges.reading import key_twice
from calm.models.apis import APIS, Provider, items, string, table, texts
from calm.models.secrets import Secrets
from calm.models.server import Server
from calm.models.transport import ANTHROPIC_VERSION
from calm.models.wire import Json, Reply, Request, Send

PATHS: Final[Mapping[str, Provider]] = {
    "/chat/completions": "openai",
    "/responses": "openai-responses",
    "/messages": "anthropic",
}
"""How the path of a request to a model ends, and whose API that is."""
PARAMETERS: Final = frozenset(
    {
        "temperature", "top_p", "top_k", "logprobs", "top_logprobs", "seed", "frequency_penalty", "presence_penalty",
        "reasoning", "reasoning_effort", "thinking", "verbosity", "max_tokens", "max_completion_tokens",
        "max_output_tokens",
    }
)  # fmt: skip
"""What of a body a greeting repeats, so that a parameter which the model refuses is found at once."""
LIMITS: Final = ("max_completion_tokens", "max_tokens", "max_output_tokens")
MOST_TOKENS: Final = 4096
"""The longest reply that is assumed, in tokens, where the judge sets no limit."""
_KEY_QUERY: Final = frozenset({"key", "api_key", "api-key", "subscription-key", "code"})
_PLAIN_HEADERS: Final[tuple[str, ...]] = (
    "openai-organization",
    "openai-project",
    "anthropic-beta",
    "http-referer",
    "x-title",
)
_GATEWAYS: Final = ("helicone-", "x-portkey-", "cf-aig-", "x-bt-")
"""How headers begin that a gateway needs; they may hold a key of it."""


def provider_of(path: str) -> Provider | None:
    """
    Return whose API the path of a URL belongs to; None: it is no request to a model.

    >>> provider_of("/v1/chat/completions"), provider_of("/v1/embeddings")
    ('openai', None)
    """
    path = path.rstrip("/")
    return next((provider for end, provider in PATHS.items() if path.endswith(end)), None)


class Models:
    """
    The endpoints of one judge: one for each server, model and limit of tokens, made at its first request.

    A `keyless` judge is for a replay: its endpoints cannot be called.
    """

    def __init__(self, *, keyless: bool = False) -> None:
        self._keyless = keyless
        self._known: dict[object, Server] = {}

    def of(self, url: str, headers: Mapping[str, str], body: Mapping[str, Json]) -> Server:
        """
        Return the endpoint that a request would have gone to.

        Raises:
            JudgeError: the request names no model, or the path is not that of a model.
        """
        parts = urlsplit(url)
        provider, model = provider_of(parts.path), body.get("model")
        if provider is None or not isinstance(model, str):
            raise JudgeError(f"expected a request that names its model, got one to {parts.path} without", fatal=True)
        path = parts.path.rstrip("/")
        base = urlunsplit((parts.scheme, parts.netloc, path.removesuffix(APIS[provider].path), "", ""))
        if provider == "anthropic":  # a gateway may have another path before it than /v1
            base = base.removesuffix("/messages")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        plain, secret = _headers(provider, headers)
        limit = next((value for name in LIMITS if isinstance(value := body.get(name), int)), MOST_TOKENS)
        secrets = Secrets(_key(headers), secret, {k: v for k, v in query.items() if k.lower() in _KEY_QUERY})
        known = provider, base, model, tuple(query.items()), tuple(plain.items()), limit, secrets.values
        found = self._known.get(known)
        if found is None:
            found = self._known[known] = Server(
                provider=provider,
                model=model,
                base_url=base,
                api_key_env=_variable(provider, secrets.key),
                headers=plain,
                query={k: v for k, v in query.items() if k.lower() not in _KEY_QUERY},
                extra_body={name: body[name] for name in body if name in PARAMETERS},
                max_tokens=limit,
                keyless=self._keyless,
                whole=True,
                secrets=secrets,
            )
        return found


def prompt_of(body: Mapping[str, Json]) -> tuple[Message, ...]:
    """Return the messages of a body of one of the three APIs, each as one text."""
    found = [Message("system", text) for name in ("system", "instructions") if (text := texts(body.get(name)))]
    turns = body.get("messages", body.get("input"))
    if isinstance(turns, str):
        return (*found, Message("user", turns))
    said = [
        Message(string(turn.get("role")) or "user", texts(turn.get("content"))) for turn in map(table, items(turns))
    ]
    return (*found, *said)


def _headers(provider: Provider, headers: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    named = {name.lower(): value for name, value in headers.items()}
    plain = {name: named[name] for name in _PLAIN_HEADERS if name in named}
    version = named.get("anthropic-version", ANTHROPIC_VERSION)
    if provider == "anthropic" and version != ANTHROPIC_VERSION:
        plain["anthropic-version"] = version
    secret = {name: value for name, value in named.items() if name.startswith(_GATEWAYS)}
    if "api-key" in named:
        secret["api-key"] = named["api-key"]
    return plain, secret


def _key(headers: Mapping[str, str]) -> str | None:
    named = {name.lower(): value for name, value in headers.items()}
    scheme, _, token = named.get("authorization", "").partition(" ")
    if named.get("x-api-key"):
        return named["x-api-key"]
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def _variable(provider: Provider, key: str | None) -> str | None:
    usual = APIS[provider].key_name
    return usual if key is not None and os.environ.get(usual) == key else None


T = TypeVar("T")

CLIENTS: Final = ("httpx", "httpx2")
"""The packages whose clients are known: those of all SDKs of OpenAI and Anthropic."""
NO_RETRY: Final = {"x-should-retry": "false"}
"""Keeps these SDKs from trying again: the engine does that."""

DRY: Final[ContextVar[bool]] = ContextVar("calm_dry", default=False)
"""Whether a judge is asked to find out what it asks: what it learns is not to be kept."""
VISITOR: Final[ContextVar[Ask | None]] = ContextVar("calm_visitor", default=None)


class Patch(NamedTuple):
    """An attribute of a class that is replaced before a judge is asked: `made` gets what it was."""

    owner: Any
    name: str
    made: Callable[[Any], Any]


FURTHER: Final[list[Patch]] = []
"""What an adapter needs replaced besides."""
_LOCK: Final = threading.Lock()
_OURS: Final = "calm_door"


@contextmanager
def visiting(ask: Ask) -> Iterator[None]:
    """Let an ask answer what this context sends to models, until it ends; then refuse what still comes from there."""
    with _LOCK:
        for owner, name, made in (*_clients(), *FURTHER):
            before = vars(owner)[name]
            if not hasattr(before, _OURS):
                ours = made(before)
                setattr(ours, _OURS, True)
                setattr(owner, name, ours)
    token = VISITOR.set(ask)
    try:
        yield
    finally:
        VISITOR.reset(token)
        ask.ended = True


@cache
def _clients() -> tuple[Patch, ...]:
    there = [importlib.import_module(name) for name in CLIENTS if importlib.util.find_spec(name) is not None]
    return (
        *(Patch(module.AsyncClient, "send", partial(_asynchronous, module)) for module in there),
        *(Patch(module.Client, "send", partial(_blocking, module)) for module in there),
    )


def _asynchronous(module: ModuleType, before: Callable[..., Any]) -> Callable[..., Any]:
    async def send(self: Any, request: Any, **given: Any) -> Any:
        visitor = _wanted(module, request)
        if visitor is None:
            return await before(self, request, **given)
        content = await request.aread()
        if visitor.ended:
            return _response(module, request, *LATE)
        reply = visitor.reply(str(request.url), dict(request.headers), content)
        return _response(module, request, *await asyncio.wrap_future(_begun(visitor, reply)))

    return send


def _blocking(module: ModuleType, before: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, request: Any, **given: Any) -> Any:
        visitor = _wanted(module, request)
        if visitor is None:
            return before(self, request, **given)
        content = request.read()
        if visitor.ended:
            return _response(module, request, *LATE)
        reply = visitor.reply(str(request.url), dict(request.headers), content)
        return _response(module, request, *_begun(visitor, reply).result())

    return send


def _wanted(module: ModuleType, request: Any) -> Ask | None:
    visitor = VISITOR.get()
    if visitor is None:
        return None
    if request.method == "POST" and provider_of(request.url.path) is not None:
        return visitor
    if not visitor.passes(str(request.url)):
        raise module.ConnectError(f"calm makes no request to {request.url.host} before the run", request=request)
    return None


def _begun(visitor: Ask, reply: Coroutine[Any, Any, T]) -> Any:
    """
    Begin a reply in the visitor's loop and context, and return its future of the module `concurrent`.

    Its own calls would come back here in the context of the judge.
    """

    async def there() -> T:
        return await asyncio.get_running_loop().create_task(reply, context=visitor.context.copy())

    return asyncio.run_coroutine_threadsafe(there(), visitor.loop)


def _response(module: ModuleType, request: Any, status: int, data: dict[str, Json]) -> Any:
    return module.Response(status, json=data, request=request, headers=NO_RETRY if status >= 400 else None)


REFUSED = 400
"""The status of what has no reply: no SDK tries it again, and the judge's own error is not looked at."""


def _refusal(why: object) -> tuple[int, dict[str, Json]]:
    return REFUSED, {"error": {"message": f"calm: {why}", "type": "invalid_request_error", "code": None}}


LATE: Final = _refusal("the judge had ended when it asked this")


class Ask:
    """
    The requests of one ask.

    `error` is the first one of `send`; after it nothing more is asked. `replies` counts what was answered, of which
    `declined` are refusals and `empty` hold neither a text nor a call. `twice` is why one of them leaves in doubt what
    it says: its JSON, or that of a call, has a key twice. `elsewhere` names the hosts of other requests. Once it has
    `ended`, nothing more is asked.
    """

    def __init__(self, send: Send, models: Models) -> None:
        self._send, self._models = send, models
        self.loop = asyncio.get_running_loop()
        self.context: Context = copy_context()
        self.error: JudgeError | None = None
        self.ended = False
        self.replies = self.declined = self.empty = 0
        self.twice = NONE
        self.refusal = ""
        self.elsewhere: dict[str, None] = {}
        self._sent: Counter[tuple[Server, str]] = Counter()

    def passes(self, url: str) -> bool:
        """Return that a request which is not to a model may go on its way, and note its host."""
        self.elsewhere.setdefault(urlsplit(url).netloc)
        return True

    async def reply(self, url: str, headers: Mapping[str, str], content: bytes) -> tuple[int, dict[str, Json]]:
        """Return the status and the JSON of the reply to a request of the judge."""
        try:
            if self.error is not None:
                raise self.error
            body = _body(content)
            server = self._models.of(url, headers, body)
            asked = body.pop("n", None)  # so many replies in one: calm's are asked for one by one
            count = asked if isinstance(asked, int) and asked > 1 else 1
            replies = [await self._one(server, body) for _ in range(count)]
        except JudgeError as error:
            self.error = self.error or error
            return _refusal(error)
        written = [APIS[server.provider].written(reply) for reply in replies]
        return 200, _joined(written)

    async def _one(self, server: Server, body: dict[str, Json]) -> Reply:
        key = server, json.dumps(body, sort_keys=True)
        occurrence = self._sent[key]
        self._sent[key] += 1
        reply = await self._send(Request(server, prompt_of(body), body, occurrence=occurrence))
        self.replies += 1
        self.empty += not (reply.text.strip() or reply.calls or reply.refusal)
        said = (reply.text, *(arguments for _, arguments in reply.calls))
        self.twice = self.twice or next(filter(None, map(key_twice, said)), NONE)
        if reply.refusal is not None:
            self.declined += 1
            self.refusal = reply.refusal
        return reply


def _body(content: bytes) -> dict[str, Json]:
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise JudgeError(f"expected a request with a JSON object, got {content[:80]!r}", fatal=True)
    if body.get("stream"):
        raise JudgeError(
            "the judge asks for its replies piece by piece (stream=True), which calm cannot keep; set stream=False "
            "in its model",
            fatal=True,
        )
    return body


def _joined(written: list[dict[str, Json]]) -> dict[str, Json]:
    first, *others = written
    choices, usage = first.get("choices"), first.get("usage")
    for other in others:
        more, used = other.get("choices"), other.get("usage")
        if isinstance(choices, list) and isinstance(more, list):
            choices += [{**one, "index": len(choices)} for one in more if isinstance(one, dict)]
        if isinstance(usage, dict) and isinstance(used, dict):
            for name, value in used.items():
                if isinstance(value, int) and isinstance(old := usage.get(name), int):
                    usage[name] = old + value
    return first
