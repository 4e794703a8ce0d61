"""A model on a server: where it is reached, what is sent with every request, and what comes back."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from calm.core.edits import Message
from calm.core.plugins import needed
from calm.core.releases import refuse_other_releases
from calm.errors import JudgeError
from calm.models import faults
from calm.models.apis import APIS, MAKERS, OLD_VERSION, BadReply, Provider
from calm.models.faults import token_fault
from calm.models.pricing import window_of
from calm.models.prompt_cache import LEAST_CHARACTERS, CacheRule, cache_rule, marked, texts_in
from calm.models.sampling import (
    LIMITS_OF_TOKENS,
    SAMPLING,
    effort_of,
    fixed_claude,
    most_logprobs,
    sampling,
    takes_one,
    takes_sampling,
    thinks,
    unknown_effort,
    wants_newer_limit,
)
from calm.models.secrets import SHAPES, Secrets
from calm.models.transport import Address, NoResponse, Response, Transport, TransportName, host_of, loopback, proxy_of
from calm.models.wire import Batching, Json, Limits, Price, Reply, Sent

LEAST_RANDOM: Final = 20
"""Letters and digits in a row that can look random: names, versions, dates and UUIDs have dashes and dots between."""
LEAST_ENTROPY: Final = 3.25
"""Bits a character, by the frequencies in the row itself: 20 random hexadecimal digits have about 3.5."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_SECRET_WORDS: Final = frozenset(
    {
        *("apikey", "auth", "authorization", "bearer", "cookie", "credential", "credentials", "passphrase", "passwd"),
        *("password", "secret", "sig", "signature", "token", "jwt"),
    }
)
"""The last word of a name says what its value is: `session_token`, but not `token_budget`."""
_SECRET_PAIRS: Final = frozenset(
    (first, "key") for first in ("access", "api", "auth", "master", "private", "secret", "service", "subscription")
)
_TEMPLATE_TOKENS: Final = frozenset(
    f"{what}_token" for what in ("bos", "cls", "eos", "mask", "pad", "sep", "stop", "unk")
)
"""Signs of a model's own vocabulary, such as `<|endoftext|>`: no credentials."""
_ROW: Final = re.compile(r"[A-Za-z0-9]+")


def literal_secrets(server: Server) -> Iterator[tuple[str, str]]:
    """Give the values of a judge.toml that are credentials, as (key of judge.toml, problem); none is shown."""
    for name, value in server.headers.items():
        if _secret_name(name, ("key",)) or _secret_value(value):
            yield "headers", _advice(name, "headers_env")
    for name, value in server.query.items():
        if _secret_name(name, ("key", "code")) or _secret_value(value):
            yield "query", _advice(name, "query_env")
    for path, value in _texts("", server.extra_body):
        if (_secret_name(path.rpartition(".")[2], ()) and len(value) >= 8) or SHAPES.search(value):
            yield (
                "extra_body",
                f"{path!r} holds a secret, and neither a file nor the cache is a place for it; send it as a header: "
                "headers_env = { 'NAME-OF-A-HEADER' = 'NAME_OF_A_VARIABLE' }",
            )


def _advice(name: str, key: str) -> str:
    return (
        f"{name!r} holds a secret, and a file is no place for it; "
        f"write {key} = {{ {json.dumps(name)} = 'NAME_OF_A_VARIABLE' }}"
    )


def _secret_name(name: str, alone: tuple[str, ...]) -> bool:
    """
    Return whether a name says that its value is a credential; the names `alone` do where they are the whole name.

    >>> [_secret_name(name, ()) for name in ("X-Api-Key", "sessionToken", "max_tokens", "eos_token")]
    [True, True, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or name.lower() in _TEMPLATE_TOKENS:
        return False
    return words[-1] in _SECRET_WORDS or tuple(words[-2:]) in _SECRET_PAIRS or (len(words) == 1 and words[0] in alone)


def _secret_value(value: str) -> bool:
    """
    Return whether a value has the shape of a credential, or is long and random.

    >>> [_secret_value(v) for v in ("evals", "Bearer abcdefgh", "4f9a0c1e7b2d8a6f3c5e9d1b", "a description in words")]
    [False, True, True, False]
    """
    if SHAPES.search(value):
        return True
    rows = (row for row in _ROW.findall(value) if len(row) >= LEAST_RANDOM and not row.isalpha() and not row.isdigit())
    return any(entropy(row) >= LEAST_ENTROPY for row in rows)


def entropy(text: str) -> float:
    """
    Return the entropy of the characters of a text, in bits a character.

    >>> entropy("aaaa"), entropy("abcd")
    (0.0, 2.0)
    """
    shares = [count / len(text) for count in Counter(text).values()]
    return abs(sum(share * math.log2(share) for share in shares))


def _texts(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(path, inner)


SCHEMES: Final = ("http", "https")
"""How an address of a server can begin."""


def wrong_settings(server: Server) -> Iterator[tuple[str, str]]:
    """Give what is wrong with the settings of a server, as (key of judge.toml, problem)."""
    yield from _url_faults(server)
    yield from literal_secrets(server)
    for name, value in (*server.headers.items(), *server.secrets.headers.items(), ("api_key_env", server.secrets.key)):
        if value and not (value.isascii() and value.isprintable()):
            key = name if name == "api_key_env" else "headers" if name in server.headers else "headers_env"
            yield key, f"the value of {name!r} has a line break or a character that no header may hold"
    model = server.served_as or server.model
    yield from _sampling_faults(server, model)
    if server.logprobs and (server.provider == "anthropic" or not takes_sampling(model, server.extra_body)):
        yield (
            "format",
            f"'logprobs' needs log-probabilities, and the model {model!r} of the provider "
            f"{server.provider!r} gives none; choose another format",
        )


def _sampling_faults(server: Server, model: str) -> Iterator[tuple[str, str]]:
    """Give what a model is sure to refuse; a temperature that it does not take is left out, and said."""
    if known := unknown_effort(model, server.extra_body):
        effort = effort_of(server.extra_body)
        yield (
            "extra_body",
            f"the model {model!r} does not reason at the effort {effort!r}; expected {', '.join(known)}",
        )
    if fixed_claude(model) is not False or server.temperature is None:
        return
    if thinks(server.extra_body) and server.temperature != 1:
        yield (
            "temperature",
            f"expected 1 or none, as {model!r} takes no other one while it thinks (extra_body.thinking)",
        )
    if takes_one(model) and "top_p" in server.extra_body:
        yield "temperature", f"the model {model!r} takes temperature or top_p, not both; leave one out"


def _url_faults(server: Server) -> Iterator[tuple[str, str]]:
    if server.base_url is None:
        return
    try:
        url = urlsplit(server.base_url)
        host, _ = url.hostname, url.port
    except ValueError:
        url, host = urlsplit(""), None
    if url.scheme not in SCHEMES or not host or any(c.isspace() for c in server.base_url):
        bare = re.fullmatch(r"(localhost|[\d.]+|[\w.-]+)(?::\d+)?(?:/([\w./-]*))?", server.base_url)
        scheme = "https" if bare and re.search("[a-z]", bare[1]) and bare[1] != "localhost" else "http"
        path = urlsplit(APIS[server.provider].home).path if bare and not bare[2] else ""
        head = f"did you mean {scheme}://{server.base_url.rstrip('/')}{path}?" if bare else "correct it"
        yield (
            "base_url",
            f"expected an address such as 'http://127.0.0.1:8000/v1', got {_shown_url(server.base_url)}; {head}",
        )
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


def _shown_url(url: str) -> str:
    return "one that cannot be shown, as it may hold a password" if "@" in url else repr(url)


GREETING: Final = "Answer with the one word: ready."
RETRIES: Final = 6
_NOT_TAKEN: Final = frozenset({400, 404, 415, 422, 500, 501})
"""What a server may answer to a body that it cannot read: a gateway may end with an error of its own at a list."""
BATCH_SHARE: Final = 0.5
"""What a call in a batch costs, as a share of the live price, with both providers."""


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """
    A model on a server: the `[model]` table of judge.toml, with the keys that its variables hold.

    `base_url` is None for the provider's own server. `temperature` is None where the user did not say: 0 is sent then
    to models that take it, except to Anthropic's API, of which only an older version takes one.
    `schema` and `logprobs` are what its judge will ask for, so that `greet` finds out whether the server takes them.
    `greeting` says whether a run begins with a call that asks for one word.
    `retries` is how often the engine tries a call again. A `keyless` server was read without its keys, for a replay:
    it cannot be called. `transport` says what its requests are sent with; it changes no request and no reply.
    `context_window` is how many tokens prompt and reply may have together (None: what is known of the model).
    `prompt_cache` says whether bodies are marked for the cache of prompts (None: those to the provider's own server).
    The requests of a `whole` one come from another tool as they are: calm adds no sampling parameter to its greeting.
    """

    provider: Provider
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    query_env: Mapping[str, str] = field(default_factory=dict)
    extra_body: Mapping[str, Json] = field(default_factory=dict)
    max_tokens: int = 4096
    temperature: float | None = None
    timeout_s: float = 120.0
    limits: Limits = field(default_factory=Limits)
    price: Price | None = None
    served_as: str | None = None
    context_window: int | None = None
    prompt_cache: bool | None = None
    schema: Mapping[str, Json] | None = None
    logprobs: bool = False
    greeting: bool = True
    retries: int = RETRIES
    keyless: bool = False
    whole: bool = False
    transport: TransportName = "fast"
    batch_share: float = BATCH_SHARE
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Session] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False
    )
    _fixed: list[tuple[bool, dict[str, Json]]] = field(default_factory=list, init=False, repr=False)
    """What is the same in all of its bodies, once it was worked out."""
    _takes_marks: list[bool] = field(default_factory=list, init=False, repr=False)
    """Whether it takes marks for a cache of prompts, once it has answered a body with some."""
    _met: set[int] = field(default_factory=set, init=False, repr=False)
    """The beginnings of prompts about one case that were sent."""

    @property
    def live(self) -> bool:
        """Its calls cost money and time, and models change behind their names."""
        return True

    @property
    def url(self) -> str:
        """The URL that paths are added to."""
        url = (self.base_url or APIS[self.provider].home).rstrip("/")
        return url.removesuffix("/v1") if self.provider == "anthropic" else url

    @property
    def own(self) -> bool:
        """Whether this is the provider's own server, not a compatible one."""
        home, host = (host_of(url) or "" for url in (APIS[self.provider].home, self.url))
        return host == home or host.endswith(f".{home}")

    @property
    def _of_maker(self) -> bool:
        """Whether this is the own server of the API's maker, not of a provider that speaks as the maker does."""
        return self.own and APIS[self.provider] in MAKERS

    @property
    def identity(self) -> str:
        """What decides the answer besides the request; no value of a variable is in it."""
        parts = [self.provider, self.url, self.model, dict(self.query), {k.lower(): v for k, v in self.headers.items()}]
        return json.dumps(parts, sort_keys=True)

    @property
    def address(self) -> Address:
        """Where it is reached, and what is sent with every request."""
        return Address(
            provider=self.provider,
            model=self.model,
            url=self.url,
            path=APIS[self.provider].path,
            own=self.own,
            query={**self.query, **self.secrets.query},
            headers=self.headers,
            secrets=self.secrets,
            key_name=self.api_key_env,
            timeout_s=self.timeout_s,
        )

    @property
    def sampling(self) -> dict[str, Json]:
        """The sampling parameters that its model takes."""
        if self.whole:
            return {}
        model = self.served_as or self.model
        own, more = self._of_maker, self.extra_body
        return sampling(self.provider, model, temperature=self.temperature, own=own, extra_body=more)

    @property
    def cached_from(self) -> int:
        """From how many tokens on its provider keeps the beginning of a prompt; 0: nobody knows."""
        return self._cache.least if self._cache else 0

    @property
    def _cache(self) -> CacheRule | None:
        """What is known of the cache that its provider keeps of prompts; None where it needs marks and gets none."""
        rule = cache_rule(self.provider, self.served_as or self.model)
        marks = self.own if self.prompt_cache is None else self.prompt_cache
        return None if rule is not None and rule.marks and not marks else rule

    @property
    def window(self) -> int | None:
        """How many tokens its context has: as the user says, or as is known of the model; None where nobody knows."""
        return self.context_window or window_of(self.served_as or self.model)

    @property
    def unsent(self) -> dict[str, Json]:
        """What the user set and is not sent, as the model does not take it."""
        given: dict[str, Json] = {} if self.temperature is None else {"temperature": self.temperature}
        return {name: value for name, value in given.items() if name not in self.sampling}

    def body(
        self, messages: Sequence[Message], *, schema: Mapping[str, Json] | None = None, logprobs: bool = False
    ) -> dict[str, Json]:
        """Return the body of a request in the provider's shape; the user's `extra_body` wins over all of it."""
        api, model = APIS[self.provider], self.served_as or self.model
        if not self._fixed:
            self._fixed.append((self._of_maker or wants_newer_limit(model), self.sampling))
        newer, chosen = self._fixed[0]
        body = {"model": self.model, **api.body(messages, self.max_tokens, newer), **chosen}
        if schema is not None:
            body |= api.schema(schema)
        if logprobs:
            body |= api.logprobs(most_logprobs(model))
        if any(name in self.extra_body for name in LIMITS_OF_TOKENS):
            body = {name: value for name, value in body.items() if name not in LIMITS_OF_TOKENS}
        return merged(body, self.extra_body)

    async def greet(self) -> Reply:
        """
        Ask for one word, with the judge's own parameters, so that one which the model refuses is found at once.

        Raises:
            JudgeError: no answer, or none with log-probabilities of its own text where the judge needs them. An empty
                answer, as a model without training in conversation may give, has none and shows nothing.
        """
        body = self.body([Message("user", GREETING)], schema=self.schema, logprobs=self.logprobs)
        reply = await self.call(body)
        if not reply.text and not reply.tokens:
            return reply
        if self.logprobs and not reply.tokens:
            raise JudgeError(
                f"{self.address}: expected log-probabilities, as [verdict] format = 'logprobs' needs them, and the "
                "reply has none; choose a model and server that give them, or another format",
                fatal=True,
            )
        if self.logprobs and (fault := token_fault(reply)):
            raise JudgeError(
                f"{self.address}: expected log-probabilities of the reply's own tokens, but {fault}; "
                "choose another server, or another format",
                fatal=True,
            )
        return reply

    async def close(self) -> None:
        """Close the connections that the running event loop holds; a loop that shuts down properly does so itself."""
        held = self._clients.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held.life.aclose()

    async def call(self, body: Mapping[str, Json]) -> Reply:
        """Send a body once and return the reply; a `JudgeError` if there is none."""
        if self.keyless:
            raise JudgeError(
                f"{self.address} was read without its keys, to replay what the cache holds: no call can be made; "
                "run without --calm-cache=replay",
                fatal=True,
            )
        held = self._clients.get(asyncio.get_running_loop()) or await self._opened()
        version = OLD_VERSION if self._needs_old_version(body) else ""
        marked = self._marked(body) if held.marks and isinstance(body, Sent) else None
        try:
            response = await held.transport.send(body if marked is None else marked, version)
            if marked is not None and not self._takes_marks:  # an older server, or a gateway, may not know them
                whole = response.status not in _NOT_TAKEN
                response = response if whole else await held.transport.send(body, version)
                if response.ok:
                    self._takes_marks.append(whole)
        except NoResponse as error:
            raise faults.unreached(held.address, error.cause) from None  # the SDK's error may quote the key
        return self._read(held.address, response)

    def _marked(self, body: Sent) -> Mapping[str, Json] | None:
        """
        Return a body with the marks that its model's cache of prompts goes by; None: it is sent as it is.

        What only the prompts about one case share is marked from the second of them on: a single one would pay for it.
        """
        if False in self._takes_marks:
            return None
        text = "".join(texts_in(self.provider, body) or ())
        of_case = {end: hash(text[:end]) for end in body.shared[1:]}
        ends = [end for end in body.shared if end not in of_case or of_case[end] in self._met]
        self._met.update(of_case.values())
        return marked(self.provider, body, ends) if len(text) > LEAST_CHARACTERS else None

    def read(self, response: Response) -> Reply:
        """Return the reply in a response; a `JudgeError` if there is none."""
        return self._read(self.address, response)

    @property
    def reached_by(self) -> dict[str, Json]:
        """The keys of a [model] table by which a later command reaches it; no credential is in it."""
        found: dict[str, Json] = {
            "provider": self.provider,
            "model": self.model,
            "base_url": self.base_url,
            "api_key_env": self.api_key_env,
            "headers": dict(self.headers),
            "headers_env": dict(self.headers_env),
            "query": dict(self.query),
            "query_env": dict(self.query_env),
            "extra_body": dict(self.extra_body),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "timeout_s": self.timeout_s,
            "served_as": self.served_as,
            "context_window": self.context_window,
        }
        if self.price is not None:
            rates: dict[str, Json] = {"input": self.price.input, "output": self.price.output, "batch": self.batch_share}
            rates |= {"cache_read": self.price.read, "cache_write": self.price.write}
            found["price_usd_per_mtok"] = {name: rate for name, rate in rates.items() if rate is not None}
        return {name: value for name, value in found.items() if value not in (None, {})}

    def batching(self, *, held: bool = False) -> Batching:
        """Return the batch API of its server; with `held`, nothing is handed in, and there need be none."""
        made: Batching = needed("batches.api", "a batch").batching_of(self.address, self.version, self.read, held=held)
        return made

    def request_line(self, key: bytes, body: str) -> bytes:
        """Return a request in OpenAI's batch format, without the end of its line."""
        path = self.address.path
        path = path if path.startswith("/v1/") else f"/v1{path}"
        line: bytes = needed("batches.api", "a batch").request_line(key, path, body)
        return line

    def answer(self, line: Mapping[str, object]) -> Reply | JudgeError:
        """Return the reply in a line of OpenAI's batch output; a `JudgeError` if there is none."""
        found: Reply | JudgeError = needed("batches.api", "a batch").answer_in(line, self.read)
        return found

    def _read(self, address: Address, response: Response) -> Reply:
        if not response.ok:
            if (refusal := faults.declined(address, response)) is not None:
                return refusal
            raise faults.answered(address, response) from None
        try:
            return self.secrets.hide_in(APIS[self.provider].reply(faults.parsed(address, response)))
        except BadReply as error:
            raise faults.bad_reply(address, error) from None

    @property
    def version(self) -> str:
        """The version of the API that its own parameters need; nothing: the SDK's own."""
        return OLD_VERSION if self._needs_old_version({**self.sampling, **self.extra_body}) else ""

    def _needs_old_version(self, body: Mapping[str, Json]) -> bool:
        if self.provider != "anthropic" or SAMPLING.isdisjoint(body):
            return False
        return all(name.lower() != "anthropic-version" for name in (*self.headers, *self.headers_env))

    async def _opened(self) -> _Session:
        address = self.address
        transport = opened(address, self.transport)
        # An asynchronous generator is the one thing that a loop closes by itself at its end.
        marks = self._cache is not None and self._cache.marks
        held = _Session(address, transport, life := _lifetime(transport, self._clients), marks)
        self._clients[asyncio.get_running_loop()] = held
        await anext(life)
        return held


@dataclass(frozen=True, slots=True)
class _Session:
    """The connections of one event loop, the generator that closes them at its end, and whether bodies get `marks`."""

    address: Address
    transport: Transport
    life: AsyncGenerator[None]
    marks: bool


def opened(address: Address, name: TransportName = "fast") -> Transport:
    """
    Return the transport of a name for an address; its connections are opened by its first calls.

    Raises:
        ConfigError: a package that it needs is of a release that may not fit.
    """
    if name == "fast":
        if address.url.lower().startswith("https:") or proxy_of(address.url):
            refuse_other_releases("httpx2")
        from calm.models.connections import FastTransport  # a run that asks nobody needs neither of them

        return FastTransport(address)
    refuse_other_releases(APIS[address.provider].sdk)  # it brings its own httpx
    from calm.models.relays import SdkTransport

    return SdkTransport(address)


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


async def _lifetime(
    transport: Transport, clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Session]
) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        clients.pop(asyncio.get_running_loop(), None)
        await transport.close()
