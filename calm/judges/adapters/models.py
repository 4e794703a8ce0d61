"""The models that another tool's judge asks: an endpoint, and a request, for what its client would have sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from calm.core.templates import Message
from calm.errors import JudgeError
from calm.models.apis import items, string, table, texts
from calm.models.secrets import Secrets
from calm.models.server import APIS, Server
from calm.models.transport import ANTHROPIC_VERSION, Provider
from calm.models.wire import Json

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
    """Return the headers that decide what is answered, and those that may hold a key, without the usual ones."""
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
    """Return the provider's usual variable if it holds the key, so that an error can name it."""
    usual = APIS[provider].key_name
    return usual if key is not None and os.environ.get(usual) == key else None
