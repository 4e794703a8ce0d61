"""
Servers that answer: OpenAI chat completions, OpenAI responses and Anthropic messages, and whatever speaks like them.

The SDKs are used for what they know best (keys, addresses, headers, kinds of errors) and are imported at the first
call, only the one that is needed: a run that finds all its replies in the cache imports none. What they would send is
drawn once, and then sent over one session of aiohttp, which takes a tenth of their time. Bodies are written and replies
read here, as plain JSON: the body that is sent is, byte for byte, the one that the cache knows. A call is one attempt:
the engine, which counts and caps them, makes the next one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import math
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from calm.core.templates import Message
from calm.errors import ConfigError, JudgeError
from calm.models.conformance import token_fault
from calm.models.wire import Json, Limits, Price, Reply, Sent, Token, Usage

if TYPE_CHECKING:
    import aiohttp
    import httpx2
    import yarl
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic"]
PROVIDERS: Final[tuple[Provider, ...]] = ("openai", "openai-responses", "anthropic")

GREETING: Final = "Answer with the one word: ready."
MOST_BYTES: Final = 20_000_000
"""A reply over this size is an error: no verdict is that long."""
MOST_PACKED_BYTES: Final = 20_000
"""The same for a compressed reply, which is not asked for: it can grow a thousandfold."""
MOST_SAID: Final = 200
MOST_TOKENS: Final = 10**9
"""A server that reports more tokens than this for one call is wrong."""
LEAST_SECRET: Final = 6
"""A shorter value than this is no secret worth the name, and stands in honest texts by chance."""
HIDDEN: Final = "***"
TOP_LOGPROBS: Final = 20
RETRIES: Final = 6

HOMES: Final[Mapping[Provider, str]] = {
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}
KEY_NAMES: Final[Mapping[Provider, str]] = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
_PATHS: Final[Mapping[Provider, str]] = {
    "openai": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/v1/messages",
}
KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "api-key"})
_SECRET_HEADERS: Final = KEY_HEADERS | {"proxy-authorization", "cookie"}
_SECRET_QUERY: Final = frozenset({"key", "api_key", "api-key", "apikey", "token", "access_token", "sig", "signature"})
_SDK_HEADERS: Final = frozenset(
    {"accept", "anthropic-version", "connection", "content-length", "content-type", "host", "user-agent"}
)
_OF_A_CONNECTION: Final = frozenset({"connection", "content-length", "host"})
"""What the session writes itself."""
_OWN_SERVER_HEADERS: Final = _SDK_HEADERS | {"openai-organization", "openai-project"}
_LIMITS_OF_TOKENS: Final = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})
_NO_MONEY: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
)
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation"})
_OLD_ANTHROPIC: Final = "2023-06-01"
"""The last version of the API that takes sampling parameters; the SDK's own refuses them, even at their defaults."""

_REASONING = re.compile(r"(o[1-9]|gpt-[5-9]|codex)(?!\d)")
_CLAUDE = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_LOOKS_SECRET = re.compile(r"(?i)\b(?:sk|pk|rk)-[\w*.-]{6,}|bearer\s+\S+")


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """The values behind names of variables: never shown, stored or compared."""

    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Secrets(...)"

    @property
    def values(self) -> tuple[str, ...]:
        """All values, the longest first, for scrubbing."""
        found = [*self.headers.values(), *([self.key] if self.key else [])]
        return tuple(sorted((v for v in found if v), key=len, reverse=True))

    def scrub(self, text: str) -> str:
        """Return the text without any of the values, and without what looks like a key."""
        for value in self.values:
            text = text.replace(value, "[secret]")
        return _LOOKS_SECRET.sub("[secret]", text)

    def hide(self, text: str) -> str:
        """Return a text of the model's own with `***` for each of the values: nothing else in it is changed."""
        for value in self.values:
            if len(value) >= LEAST_SECRET:
                text = text.replace(value, HIDDEN)
        return text

    def hide_all(self, data: object) -> object:
        """Do the same to all texts in what a JSON reply holds."""
        if isinstance(data, str):
            return self.hide(data)
        if isinstance(data, list):
            return [self.hide_all(item) for item in data]
        if isinstance(data, dict):
            return {name: self.hide_all(item) for name, item in data.items()}
        return data


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """
    A model on a server: the `[model]` table of judge.toml, with the keys that its variables hold.

    `base_url` is None for the provider's own server. `temperature` is None where the user did not say: 0 is sent then
    to models that take it, except to a Claude model, which has to be asked through an older version of its API.
    `schema` and `logprobs` are what its judge will ask for, so that `greet` finds out whether the server takes them.
    `retries` is how often the engine tries a call again. A `keyless` server was read without its keys, for a replay:
    it cannot be called.
    """

    provider: Provider
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    max_tokens: int = 4096
    temperature: float | None = None
    timeout_s: float = 120.0
    limits: Limits = field(default_factory=Limits)
    price: Price | None = None
    served_as: str | None = None
    schema: Mapping[str, Json] | None = None
    logprobs: bool = False
    retries: int = RETRIES
    keyless: bool = False
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )

    @property
    def live(self) -> bool:
        """A run begins with a live call: models change behind their names."""
        return True

    @property
    def url(self) -> str:
        """The URL that paths are added to."""
        url = (self.base_url or HOMES[self.provider]).rstrip("/")
        return url.removesuffix("/v1") if self.provider == "anthropic" else url

    @property
    def own(self) -> bool:
        """Whether this is the provider's own server, not a compatible one."""
        home, host = (_host(url) or "" for url in (HOMES[self.provider], self.url))
        return host == home or host.endswith(f".{home}")

    @property
    def identity(self) -> str:
        """What decides the answer besides the request; no value of a variable is in it."""
        parts = [self.provider, self.url, self.model, dict(self.query), {k.lower(): v for k, v in self.headers.items()}]
        return json.dumps(parts, sort_keys=True)

    def body(
        self, messages: Sequence[Message], *, schema: Mapping[str, Json] | None = None, logprobs: bool = False
    ) -> dict[str, Json]:
        """Return the body of a request in the provider's shape; the user's `extra_body` wins over all of it."""
        shape = _SHAPES[self.provider]
        body: dict[str, Json] = {"model": self.model, **shape.body(self, messages), **sampling(self)}
        if schema is not None:
            body |= shape.structured(schema)
        if logprobs:
            body |= shape.logprobs()
        if not _LIMITS_OF_TOKENS.isdisjoint(self.extra_body):
            body = {name: value for name, value in body.items() if name not in _LIMITS_OF_TOKENS}
        return merged(body, self.extra_body)

    async def call(self, body: Mapping[str, Json]) -> Reply:
        """Send a body once and return the reply; a `JudgeError` if there is none."""
        return await self._call(body)

    async def greet(self) -> Reply:
        """
        Ask for one word, with the judge's own parameters, so that one which the model refuses is found at once.

        Raises:
            JudgeError: no answer, or none with log-probabilities of its own text where the judge needs them.
        """
        body = self.body([Message("user", GREETING)], schema=self.schema, logprobs=self.logprobs)
        reply = await self._call(body)
        if self.logprobs and not reply.tokens:
            raise JudgeError(
                f"{self._whose()}: expected log-probabilities, as [verdict] format = 'logprobs' needs them, and the "
                "reply has none; choose a model and server that give them, or another format",
                fatal=True,
            )
        if self.logprobs and (fault := token_fault(reply)):
            raise JudgeError(
                f"{self._whose()}: expected log-probabilities of the reply's own tokens, but {fault}; "
                "choose another server, or another format",
                fatal=True,
            )
        return reply

    async def close(self) -> None:
        """Close the connections that the running event loop holds; a loop that shuts down properly does so itself."""
        held = self._clients.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.life.aclose()

    async def _call(self, body: Mapping[str, Json]) -> Reply:
        if self.keyless:
            raise JudgeError(
                f"{self._whose()} was read without its keys, to replay what the cache holds: no call can be made; "
                "run without --calm-cache=replay",
                fatal=True,
            )
        import aiohttp
        import httpx2

        line = await self._line()
        expected = (_sdk_root(self.provider), aiohttp.ClientError, httpx2.HTTPError, OSError, ValueError)
        try:
            drawn = await line.drawn(_OLD_ANTHROPIC if self._needs_old_version(body) else "")
            response = await line.fetched(drawn, body)
        except expected as error:
            if (declined := self._declined(error)) is not None:
                return declined
            raise self._failure(error) from None  # what the SDK raises may quote the key, and a traceback shows it
        try:
            return _hidden(_SHAPES[self.provider].reply(self._data(response)), self.secrets)
        except _Strange as error:
            text = self.secrets.scrub(f"{self._whose()}: {error}")
            raise JudgeError(text, fatal=error.fatal, again=not error.fatal, billed=error.billed) from None

    def _needs_old_version(self, body: Mapping[str, Json]) -> bool:
        if self.provider != "anthropic" or _SAMPLING.isdisjoint(body):
            return False
        return all(name.lower() != "anthropic-version" for name in (*self.headers, *self.headers_env))

    async def _line(self) -> _Line:
        """Return the connections of the running event loop, opened at its first call and closed when it shuts down."""
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            line = _open(self)
            # An asynchronous generator is the one thing that a loop closes by itself at its end.
            held = self._clients[loop] = _Held(line, life := _lifetime(line, self._clients))
            await anext(life)
        return held.line

    def _whose(self) -> str:
        return f"judge model {self.model!r} at {self.url}"

    def _data(self, response: _Response) -> Mapping[str, object]:
        try:
            data: object = json.loads(response.content)
        except (ValueError, RecursionError):
            text = _trimmed(self.secrets.scrub(response.content.decode("utf-8", "replace")))
            raise _Strange(
                f"expected a JSON reply, got {response.kind}: {text!r}; "
                "is base_url the address of the API, with its /v1?"
            ) from None
        if self.secrets.values:
            data = self.secrets.hide_all(data)
        if not isinstance(data, dict):
            raise _Strange(f"expected a JSON object as reply, got {_trimmed(json.dumps(data))}")
        if data.get("error") and not data.get("choices"):
            said = _trimmed(self.secrets.scrub(_said(data)))
            raise _Strange(f"the server answered with an error: {said!r}", fatal=_hopeless(200, data), billed=False)
        return data

    def _declined(self, error: BaseException) -> Reply | None:
        """Return the refusal in an error: some servers answer 400 where a filter declines the prompt."""
        data = _error_data(error)
        if getattr(error, "status_code", None) != 400 or _kinds(data).isdisjoint(_FILTERED):
            return None
        return Reply("", stop="refusal", refusal=_trimmed(self.secrets.scrub(_said(data))))

    def _failure(self, error: BaseException) -> JudgeError:
        """Return one paragraph on what went wrong and how to mend it."""
        status = getattr(error, "status_code", None)
        if isinstance(status, int):
            data = _error_data(error)
            said = _trimmed(self.secrets.scrub(_said(data)))
            fatal, headers = _hopeless(status, data), _error_headers(error)
            return JudgeError(
                self.secrets.scrub(f"{self._whose()} answered {status}: {said!r}; {_advice(status, data, self)}"),
                fatal=fatal,
                again=not fatal and _worth_another_try(status, headers),
                after_s=_after_s(headers),
                limited=status == 429,
            )
        root = _root(error)
        text = self.secrets.scrub(f"{self._whose()} {_unreached(root, self)}")
        return JudgeError(
            text, again=not isinstance(root, _TooLarge), billed=isinstance(root, TimeoutError | _TooLarge)
        )


@dataclass(frozen=True, slots=True)
class _Held:
    line: _Line
    life: AsyncGenerator[None]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Where a request goes and what its headers are: as the SDK writes it, and then as we want it."""

    url: yarl.URL
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Response:
    """What was answered with success: the bytes, and what they are said to be."""

    content: bytes
    kind: str


class _Strange(Exception):
    """A reply that is not in the provider's shape."""

    def __init__(self, message: str, *, fatal: bool = False, billed: bool = True) -> None:
        self.fatal, self.billed = fatal, billed
        super().__init__(message)


# ------------------------------------------------------------------------------------------------- what a model takes


def reasons(model: str) -> bool:
    """
    Return whether this is a reasoning model of OpenAI, which takes no sampling parameters and no `max_tokens`.

    >>> [reasons(name) for name in ("gpt-5-mini", "openai/o4-mini", "gpt-5-chat-latest", "gpt-4.1-mini", "gpt-50")]
    [True, True, False, False, False]
    """
    name = _bare(model)
    return bool(_REASONING.match(name)) and "-chat" not in name


def fixed_claude(model: str) -> bool | None:
    """
    Return whether a Claude model refuses sampling parameters in every version of the API; None: no Claude model.

    >>> [fixed_claude(name) for name in ("claude-opus-4-7", "claude-opus-4-20250514", "claude-3-5-haiku", "tiny")]
    [True, False, False, None]
    """
    name = _bare(model)
    if "claude" not in name:
        return None
    found = _CLAUDE.search(name)
    if found:
        return (int(found[1]), int(found[2] or 0)) > (4, 6)
    return re.search(r"claude-(?:instant|v?[23])(?!\d)", name) is None


def sampling(server: Server) -> dict[str, Json]:
    """
    Return the sampling parameters that the model takes.

    A compatible server is also told `top_p = 1`: some cut the tail of the distribution unless told not to.
    """
    model = server.served_as or server.model
    fixed = fixed_claude(model)
    if fixed or (reasons(model) and not _effortless(server)):
        return {}
    if fixed is False and server.provider == "anthropic":
        return {} if server.temperature is None else {"temperature": server.temperature}
    parameters: dict[str, Json] = {"temperature": 0.0 if server.temperature is None else server.temperature}
    if not server.own:
        parameters["top_p"] = 1.0
    return parameters


def _effortless(server: Server) -> bool:
    """Return whether reasoning is switched off, which brings the sampling parameters back."""
    nested = server.extra_body.get("reasoning")
    effort = nested.get("effort") if isinstance(nested, dict) else server.extra_body.get("reasoning_effort")
    return effort == "none"


def _bare(model: str) -> str:
    return model.rsplit("/", 1)[-1].lower()


def merged(base: Mapping[str, Json], over: Mapping[str, Json]) -> dict[str, Json]:
    """
    Return a body with the user's entries over it; tables are merged key by key.

    >>> merged({"a": 1, "t": {"x": 1, "y": 2}}, {"t": {"y": 3}, "b": 4})
    {'a': 1, 't': {'x': 1, 'y': 3}, 'b': 4}
    """
    body = dict(base)
    for name, value in over.items():
        old = body.get(name)
        body[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return body


# --------------------------------------------------------------------------------------------- faults of configuration


def faults(server: Server) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the settings of a server, as (key of judge.toml, problem)."""
    yield from _url_faults(server)
    for name in server.headers:
        if name.lower() in _SECRET_HEADERS:
            yield (
                "headers",
                f"{name!r} holds a secret, and a file is no place for it; "
                f"write headers_env = {{ {json.dumps(name)} = 'NAME_OF_A_VARIABLE' }}",
            )
    for name in server.query:
        if name.lower() in _SECRET_QUERY:
            yield (
                "query",
                f"{name!r} looks like a secret, which an address must not hold; use api_key_env or headers_env",
            )
    for name, value in (*server.headers.items(), *server.secrets.headers.items(), ("api_key_env", server.secrets.key)):
        if value and not (value.isascii() and value.isprintable()):
            key = name if name == "api_key_env" else "headers" if name in server.headers else "headers_env"
            yield key, f"the value of {name!r} has a line break or a character that no header may hold"
    if server.logprobs:
        model = server.served_as or server.model
        if server.provider == "anthropic" or (reasons(model) and not _effortless(server)):
            yield (
                "format",
                f"'logprobs' needs log-probabilities, and the model {model!r} of the provider "
                f"{server.provider!r} gives none; choose another format",
            )


def _url_faults(server: Server) -> Iterator[tuple[str, str]]:
    if server.base_url is None:
        return
    try:
        url = urlsplit(server.base_url)
        host, _ = url.hostname, url.port
    except ValueError:
        url, host = urlsplit(""), None
    if url.scheme not in {"http", "https"} or not host or any(c.isspace() for c in server.base_url):
        yield "base_url", "expected an address such as 'http://127.0.0.1:8000/v1', got " + _shown_url(server.base_url)
        return
    if url.username is not None or url.password is not None:
        yield "base_url", "expected an address without a name and password in it; use api_key_env or headers_env"
        return
    if url.query or url.fragment:
        yield "base_url", "expected an address without '?' and '#'; write its parameters as query = { name = 'value' }"
    if url.scheme == "http" and not loopback(host) and server.secrets.values:
        yield (
            "base_url",
            f"a key or header from a variable goes over plain http to this machine only, not to {host!r}; "
            "use https, or reach the server through a tunnel to 127.0.0.1",
        )


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _shown_url(url: str) -> str:
    return "one that cannot be shown, as it may hold a password" if "@" in url else repr(url)


def loopback(host: str | None) -> bool:
    """
    Return whether a host is this machine.

    >>> [loopback(host) for host in ("127.0.0.1", "localhost", "::1", "10.0.0.1", "localhost.example.com")]
    [True, True, True, False, False]
    """
    if host is None:
        return False
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# --------------------------------------------------------------------------------------------------------- the clients


def _sdk_root(provider: Provider) -> type[Exception]:
    if provider == "anthropic":
        from anthropic import AnthropicError

        return AnthropicError
    from openai import OpenAIError

    return OpenAIError


_ANSWER: ContextVar[httpx2.Response] = ContextVar("calm_answer")
"""What the transport of the SDK's client gives it: nothing, or an error that came over our own session."""


class _Line:
    """
    The connections to a server that belong to one event loop.

    The SDK's client draws requests and makes errors, over a transport that sends nothing. What it drew is sent over
    one session of aiohttp.
    """

    def __init__(self, server: Server, client: AsyncOpenAI | AsyncAnthropic, session: aiohttp.ClientSession) -> None:
        self._server, self._client, self._session = server, client, session
        self._drawn: dict[str, _Drawn] = {}
        self._proxy = _proxy(server.url)

    async def drawn(self, version: str) -> _Drawn:
        """Return what the SDK would send, but for the body; `version` is that of the API, if not the SDK's own."""
        found = self._drawn.get(version)
        if found is None:
            import httpx2
            import yarl

            headers = {"anthropic-version": version} if version else {}
            request = (await self._through(httpx2.Response(200), headers)).request
            found = self._drawn[version] = _Drawn(
                yarl.URL(str(request.url), encoded=True), _written(self._server, request.headers)
            )
        return found

    async def fetched(self, drawn: _Drawn, body: Mapping[str, Json]) -> _Response:
        """Send a body once; what is no success is raised as the SDK raises it."""
        async with self._session.post(
            drawn.url,
            data=(body if isinstance(body, Sent) else Sent(body)).text.encode(),
            headers=drawn.headers,
            allow_redirects=False,  # else a header from a variable could reach another host
            proxy=self._proxy,
        ) as response:
            content = await _content(response)
            if 200 <= response.status < 300:
                return _Response(content, response.headers.get("content-type", "no content type"))
        import httpx2

        plain = {n: v for n, v in response.headers.items() if n.lower() not in _CODED}
        await self._through(httpx2.Response(response.status, headers=plain, content=content), {})
        raise ValueError(f"the SDK took the status {response.status} for a success")

    async def _through(self, answer: httpx2.Response, headers: Mapping[str, str]) -> httpx2.Response:
        import httpx2

        _ANSWER.set(answer)
        return await self._client.post(
            _PATHS[self._server.provider],
            cast_to=httpx2.Response,
            content=b"{}",
            options={"max_retries": 0, "headers": headers, "timeout": self._server.timeout_s},
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()
        await self._session.close()


_CODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers that speak of the bytes on the wire, not of the content as it was unpacked."""


def _open(server: Server) -> _Line:
    """Return new connections; they belong to the running event loop."""
    import aiohttp
    import httpx2

    class Silent(httpx2.AsyncBaseTransport):  # the one type that a client takes
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return _ANSWER.get()

    transport: dict[str, Any] = {"transport": Silent(), "follow_redirects": False, "trust_env": False}
    settings: dict[str, Any] = {
        "base_url": server.url,
        "api_key": server.secrets.key or "none",
        "default_query": dict(server.query),
        "timeout": server.timeout_s,
    }
    client: AsyncOpenAI | AsyncAnthropic
    if server.provider == "anthropic":
        import anthropic

        client = anthropic.AsyncAnthropic(
            http_client=anthropic.DefaultAsyncHttpxClient(**transport), open_telemetry=False, **settings
        )
    else:
        import openai

        client = openai.AsyncOpenAI(http_client=openai.DefaultAsyncHttpxClient(**transport), **settings)
    safe = server.url.lower().startswith("https:")
    session = aiohttp.ClientSession(
        # the SDKs' own choice of certificates, with SSL_CERT_FILE and SSL_CERT_DIR
        connector=aiohttp.TCPConnector(limit=0, ssl=httpx2.create_ssl_context() if safe else True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=server.timeout_s),
        trust_env=False,  # it would also read passwords from .netrc
    )
    return _Line(server, client, session)


def _proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a server; what goes to this machine is shown to none."""
    host = _host(url)
    if host is None or loopback(host) or proxy_bypass(host):
        return None
    named = getproxies()
    proxy = named.get(urlsplit(url).scheme) or named.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


async def _content(response: aiohttp.ClientResponse) -> bytes:
    """Return what was answered, within a limit of size."""
    packed = response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}
    most = MOST_PACKED_BYTES if packed else MOST_BYTES
    if not packed and (response.content_length or most + 1) <= most:
        return await response.read()
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most:
            raise _TooLarge(f"the reply is larger than {most} bytes, the most that is read")
        chunks.append(chunk)
    return b"".join(chunks)


def _headers(server: Server) -> dict[str, str]:
    """Return the headers of every request, by their names in lower case."""
    given = {name.lower(): value for name, value in (*server.headers.items(), *server.secrets.headers.items())}
    headers = {"accept-encoding": "identity"}
    if server.secrets.key is not None or KEY_HEADERS.isdisjoint(given):
        headers["authorization"] = f"Bearer {server.secrets.key or 'none'}"
    return headers | given


def _written(server: Server, drawn: Mapping[str, str]) -> dict[str, str]:
    """Return our headers, and of the SDK's no other: it adds some from the environment, keys included."""
    kept = _OWN_SERVER_HEADERS if server.own else _SDK_HEADERS
    named = {name.lower(): value for name, value in drawn.items()}
    ours = {n: v for n, v in named.items() if (n in kept or n.startswith("x-stainless-")) and n not in _OF_A_CONNECTION}
    return ours | _headers(server)


async def _lifetime(line: _Line, clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        clients.pop(asyncio.get_running_loop(), None)
        await line.close()


class _TooLarge(ValueError):
    """A reply that is too large to be read."""


def _json(response: httpx2.Response) -> object:
    try:
        return cast("object", json.loads(response.content))
    except (ValueError, RecursionError):
        return None


def _after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server asks for, in seconds: a number, or a date; None: it says nothing that is one."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit)
        if seconds is not None and not math.isnan(seconds):
            return max(0.0, seconds)
    return None


def _seconds(value: str, unit: float) -> float | None:
    try:
        return float(value) / unit
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def _worth_another_try(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether the same call may be answered later; a server that says so itself knows best."""
    said = headers.get("x-should-retry")
    return said == "true" if said in {"true", "false"} else status in {408, 409, 429} or status >= 500


# -------------------------------------------------------------------------------------------------------------- errors


def _said(data: object) -> str:
    """Return what a server says in the body of an error, whichever of the usual shapes it has."""
    if isinstance(data, dict):
        error = data.get("error", data)
        if isinstance(error, dict):
            said = error.get("message") or error.get("detail") or error.get("type")
            return said if isinstance(said, str) else json.dumps(error)
        return error if isinstance(error, str) else json.dumps(data)
    return data if isinstance(data, str) else json.dumps(data)


def _trimmed(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_SAID else text[: MOST_SAID - 3] + "..."


def _error_data(error: BaseException) -> object:
    """Return what the body of an error reply holds: JSON if it is, else its text."""
    response: httpx2.Response | None = getattr(error, "response", None)
    if response is None:
        return None
    found = _json(response)
    return response.text if found is None else found


def _error_headers(error: BaseException) -> Mapping[str, str]:
    response: httpx2.Response | None = getattr(error, "response", None)
    return {} if response is None else response.headers


def _kinds(data: object) -> frozenset[str]:
    """Return the code and the type of the error that a server reports."""
    error = _table(_table(data).get("error"))
    return frozenset(kind for kind in (error.get("code"), error.get("type")) if isinstance(kind, str))


def _broke(data: object) -> bool:
    """Return whether the server says that there is no money or quota left, which no wait mends."""
    return not _kinds(data).isdisjoint(_NO_MONEY) or "credit balance is too low" in _said(data).lower()


def _hopeless(status: int, data: object) -> bool:
    return status in {401, 402, 403, 404, 405} or 300 <= status < 400 or _broke(data)


def _advice(status: int, data: object, server: Server) -> str:
    if _broke(data) or status == 402:
        return "the account has no quota or credit left: see to its billing, or use another key"
    if status == 401:
        return (
            f"check the key in the variable {server.api_key_env!r}"
            if server.api_key_env
            else ("the server wants a key: name the variable that holds it with api_key_env")
        )
    if status == 403:
        return "the key may not use this model or server: ask for access, or use another key"
    if status == 404:
        return "check model and base_url (most servers want its /v1) in the [model] table of judge.toml"
    if status == 429:
        return "lower concurrency, rpm or tpm in the [model] table of judge.toml, or wait"
    if 300 <= status < 400 or status == 405:
        return "redirects are not followed: write the address that the server means as base_url"
    if status in {400, 413, 422}:
        return "what is sent is refused: check extra_body, max_tokens, schema_file and the length of the prompt"
    return "the server failed: look at its log, or wait"


def _root(error: BaseException) -> BaseException:
    """Return what is at the bottom of an error: the SDKs wrap it twice and call much of it a timeout."""
    while error.__cause__ is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error


def _unreached(root: BaseException, server: Server) -> str:
    """Return what happened to a call that got no status."""
    why = _trimmed(server.secrets.scrub(str(root))) or type(root).__name__
    if isinstance(root, _TooLarge):
        return f"sent no usable reply: {why}; is base_url right?"
    if isinstance(root, TimeoutError):
        return f"did not answer within timeout_s={server.timeout_s:g}; raise timeout_s, or see to it"
    return f"could not be reached: {why}; is it running, and is base_url right?"


# ---------------------------------------------------------------------------------------------------------- the shapes


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one API writes a request and its reply."""

    body: Callable[[Server, Sequence[Message]], dict[str, Json]]
    structured: Callable[[Mapping[str, Json]], dict[str, Json]]
    logprobs: Callable[[], dict[str, Json]]
    reply: Callable[[Mapping[str, object]], Reply]


def _hidden(reply: Reply, secrets: Secrets) -> Reply:
    """Return a reply without the values of variables, which a server may repeat, also across parts and tokens."""
    if not secrets.values:
        return reply
    refusal = None if reply.refusal is None else secrets.hide(reply.refusal)
    tokens = None if reply.tokens is None else _hidden_tokens(reply.tokens, secrets)
    return replace(
        reply, text=secrets.hide(reply.text), model=secrets.hide(reply.model), refusal=refusal, tokens=tokens
    )


def _hidden_tokens(tokens: tuple[Token, ...], secrets: Secrets) -> tuple[Token, ...]:
    whole = "".join(t.text for t in tokens)
    found = [
        match.span()
        for value in secrets.values
        if len(value) >= LEAST_SECRET
        for match in re.finditer(re.escape(value), whole)
    ]
    kept: list[Token] = []
    at = 0
    for token in tokens:
        start, at = at, at + len(token.text)
        inside = any(start < end and at > begin for begin, end in found)
        kept.append(Token(HIDDEN, token.logprob) if inside else token)
    return tuple(kept)


def _turns(messages: Sequence[Message]) -> list[Json]:
    return [{"role": m.role, "content": m.text} for m in messages]


def _chat_body(server: Server, messages: Sequence[Message]) -> dict[str, Json]:
    newer = server.own or reasons(server.served_as or server.model)
    return {
        "messages": _turns(messages),
        "max_completion_tokens" if newer else "max_tokens": server.max_tokens,
    }


def _responses_body(server: Server, messages: Sequence[Message]) -> dict[str, Json]:
    return {"input": _turns(messages), "max_output_tokens": server.max_tokens, "store": False}


def _anthropic_body(server: Server, messages: Sequence[Message]) -> dict[str, Json]:
    first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    if any(m.role == "system" for m in messages[first:]):
        raise ConfigError(
            "the provider 'anthropic' takes system messages before all others only; put them first in messages_file"
        )
    system = [m.text for m in messages[:first] if m.text]
    body: dict[str, Json] = {"messages": _turns(messages[first:]), "max_tokens": server.max_tokens}
    if len(system) == 1:
        body["system"] = system[0]
    elif system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    return body


def _chat_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    inner: Json = {"name": "verdict", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": inner}}


def _responses_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"text": {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": dict(schema)}}}


def _anthropic_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}


def _no_logprobs() -> dict[str, Json]:
    raise ConfigError("the provider 'anthropic' gives no log-probabilities; choose another [verdict] format")


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    """Return a number of tokens; None for what cannot be one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return cast("int", value) if whole and 0 <= cast("int", value) <= MOST_TOKENS else None


def _usage(put: object, got: object, text: str) -> Usage:
    """Return the usage that a server reports; no prompt has no tokens, nor has a text."""
    read, written = _count(put), _count(got)
    return Usage(read or None, None if text and not written else written)


def _texts(content: object) -> str:
    """Return a message's content: a text, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(_string(_table(part).get("text")) for part in content)
    return _string(content)


def _prompt_tokens(content: object) -> tuple[Token, ...] | None:
    """Return the tokens of the prompt but the first, where a server gives their log-probabilities, as vLLM does."""
    found: list[Token] = []
    for place in _list(content):
        for token in _table(place).values():
            entry = _table(token)
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and not isinstance(logprob, bool):
                found.append(Token(_string(entry.get("decoded_token")), float(logprob)))
                break  # the prompt's own token comes first; the others are alternatives
    return tuple(found) or None


def _tokens(content: object) -> tuple[Token, ...] | None:
    if not isinstance(content, list):
        return None
    return tuple(
        Token(
            _string(entry.get("token")),
            _logprob(entry),
            tuple(
                (_string(other.get("token")), _logprob(other))
                for other in map(_table, _list(entry.get("top_logprobs")))
            ),
        )
        for entry in map(_table, content)
    )


def _logprob(entry: Mapping[str, object]) -> float:
    value = entry.get("logprob")
    return float(value) if isinstance(value, int | float) else float("-inf")


_Stop: TypeAlias = Literal["stop", "length", "refusal", "other"]


def _chat_reply(data: Mapping[str, object]) -> Reply:
    choices = _list(data.get("choices"))
    if not choices:
        raise _Strange(f"expected a reply with choices, got {_trimmed(json.dumps(dict(data)))}")
    choice = _table(choices[0])
    message, usage = _table(choice.get("message")), _table(data.get("usage"))
    refusal, text = _string(message.get("refusal")) or None, _texts(message.get("content"))
    stops: Mapping[str, _Stop] = {"stop": "stop", "length": "length", "content_filter": "refusal"}
    stop: _Stop = "refusal" if refusal else stops.get(_string(choice.get("finish_reason")), "other")
    return Reply(
        text=text,
        model=_string(data.get("model")),
        stop=stop,
        refusal=refusal,
        tokens=_prompt_tokens(data.get("prompt_logprobs")) or _tokens(_table(choice.get("logprobs")).get("content")),
        usage=_usage(usage.get("prompt_tokens"), usage.get("completion_tokens"), text),
    )


def _responses_reply(data: Mapping[str, object]) -> Reply:
    output = [_table(item) for item in _list(data.get("output"))]
    parts = [_table(p) for item in output if item.get("type") == "message" for p in _list(item.get("content"))]
    if "output" not in data:
        raise _Strange(f"expected a reply with output, got {_trimmed(json.dumps(dict(data)))}")
    refusal = "".join(_string(p.get("refusal")) for p in parts if p.get("type") == "refusal") or None
    stops: Mapping[str, _Stop] = {"max_output_tokens": "length", "content_filter": "refusal"}
    reason = _string(_table(data.get("incomplete_details")).get("reason"))
    stop: _Stop = "stop" if data.get("status") == "completed" else stops.get(reason, "other")
    written = [p for p in parts if p.get("type") == "output_text"]
    text = "".join(_string(p.get("text")) for p in written)
    found = [_tokens(p.get("logprobs")) for p in written]
    usage = _table(data.get("usage"))
    return Reply(
        text=text,
        model=_string(data.get("model")),
        stop="refusal" if refusal else stop,
        refusal=refusal,
        tokens=tuple(t for tokens in found for t in tokens or ()) or None,
        usage=_usage(usage.get("input_tokens"), usage.get("output_tokens"), text),
    )


def _anthropic_reply(data: Mapping[str, object]) -> Reply:
    if not isinstance(data.get("content"), list):
        raise _Strange(f"expected a reply with content, got {_trimmed(json.dumps(dict(data)))}")
    blocks = [_table(block) for block in _list(data.get("content"))]
    stops: Mapping[str, _Stop] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }
    stop = stops.get(_string(data.get("stop_reason")), "other")
    why = _string(_table(data.get("stop_details")).get("explanation"))
    usage = _table(data.get("usage"))
    read = [_count(usage.get(k)) for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    text = "".join(_string(b.get("text")) for b in blocks if b.get("type") == "text")
    return Reply(
        text=text,
        model=_string(data.get("model")),
        stop=stop,
        refusal=(why or "the model declined") if stop == "refusal" else None,
        usage=_usage(None if read[0] is None else sum(n or 0 for n in read), usage.get("output_tokens"), text),
    )


_SHAPES: Final[Mapping[Provider, _Shape]] = {
    "openai": _Shape(_chat_body, _chat_schema, lambda: {"logprobs": True, "top_logprobs": TOP_LOGPROBS}, _chat_reply),
    "openai-responses": _Shape(
        _responses_body,
        _responses_schema,
        lambda: {"include": ["message.output_text.logprobs"], "top_logprobs": TOP_LOGPROBS},
        _responses_reply,
    ),
    "anthropic": _Shape(_anthropic_body, _anthropic_schema, _no_logprobs, _anthropic_reply),
}
