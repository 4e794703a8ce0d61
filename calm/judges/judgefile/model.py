"""The `[model]` table of judge.toml: a server."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calm.judges.judgefile.keys import HEADER, OWN_BODY, VARIABLE
from calm.judges.judgefile.tables import Table, one_of, shown
from calm.models.secrets import Secrets
from calm.models.server import APIS, BATCH_SHARE, PROVIDERS, Server
from calm.models.transport import KEY_HEADERS, TRANSPORTS
from calm.models.wire import Json, Limits, Price

CACHE_READ: Final = 0.1
CACHE_WRITE: Final = 1.25
"""What Anthropic asks for a token that its cache gives or takes, as a multiple of the price of a token of a prompt."""


def server_of(
    model: Table, env: Mapping[str, str] | None, schema: Mapping[str, Json] | None, *, logprobs: bool
) -> Server:
    """Return the server that the table describes; what is wrong with it is noted, and left out."""
    provider = one_of(PROVIDERS, model.choice("provider")) or "openai"
    base_url = model.text("base_url")
    headers = model.texts("headers")
    headers_env = model.texts("headers_env")
    query, query_env = model.texts("query"), model.texts("query_env")
    key_name = model.text("api_key_env")
    limits = Limits(model.count("concurrency") or Limits().concurrency, model.count("rpm"), model.count("tpm"))
    for name in {h.lower() for h in headers} & {h.lower() for h in headers_env}:
        model.say("headers_env", f"the header {name!r} is in headers, too; expected it in one of them")
    for name in query.keys() & query_env.keys():
        model.say("query_env", f"the parameter {name!r} is in query, too; expected it in one of them")
    for name in (*headers, *headers_env):
        if not re.fullmatch(HEADER, name):
            model.say("headers", f"expected the name of a header, got {name!r}")
    server = Server(
        provider=provider,
        model=model.line("model") or "",
        base_url=base_url,
        api_key_env=key_name,
        headers=headers,
        headers_env=headers_env,
        query=query,
        query_env=query_env,
        extra_body=_extra_body(model),
        max_tokens=model.count("max_tokens") or 4096,
        temperature=model.number("temperature"),
        timeout_s=model.number("timeout_s") or 120.0,
        limits=limits,
        price=_price(model),
        batch_share=_batch_share(model),
        served_as=model.line("served_as"),
        context_window=model.count("context_window"),
        prompt_cache=model.truth("prompt_cache"),
        schema=schema,
        logprobs=logprobs,
        greeting=model.truth("greeting") is not False,
        keyless=env is None,
        transport=one_of(TRANSPORTS, model.choice("transport")) or "fast",
    )
    return replace(server, secrets=_secrets(model, env, server))


def _secrets(model: Table, env: Mapping[str, str] | None, server: Server) -> Secrets:
    values = {name: _value(model, "headers_env", variable, env) for name, variable in server.headers_env.items()}
    known = {name: value for name, value in values.items() if value is not None}
    key_name = server.api_key_env
    authorised = KEY_HEADERS & {name.lower() for name in (*server.headers, *server.headers_env)}
    chosen = model.values.get("provider") == server.provider and "api_key_env" not in model.values
    if key_name is None and chosen and server.own and not authorised:
        key_name = APIS[server.provider].key_name  # no other server than the provider's own is given its key unasked
    key = None if key_name is None else _value(model, "api_key_env", key_name, env)
    asked = {name: _value(model, "query_env", variable, env) for name, variable in server.query_env.items()}
    return Secrets(key, known, {name: value for name, value in asked.items() if value is not None})


def _value(model: Table, key: str, variable: str, env: Mapping[str, str] | None) -> str | None:
    """Return the value of a variable; what does not look like its name is never shown, as it may be the key itself."""
    if not re.fullmatch(VARIABLE, variable):
        model.say(key, "expected the name of an environment variable, such as 'OPENAI_API_KEY', never the key itself")
        return None
    if env is None:
        return None
    value = env.get(variable)
    if value is None or not value.strip():
        state = "is not set" if value is None else "is empty"
        model.say(key, f"the environment variable {variable!r} {state}; set it, or name another one")
        return None
    return value.strip()


def _extra_body(model: Table) -> dict[str, Json]:
    table = model.table("extra_body")
    if table is None:
        return {}
    for name in sorted(OWN_BODY & set(table.values)):
        model.say("extra_body", f"{name!r} is not for extra_body; expected only what calm does not set or read itself")
    found: dict[str, Json] = {}
    for name, value in table.values.items():
        if _is_json(value):
            found[name] = json.loads(json.dumps(value))
        else:
            model.say("extra_body", f"expected what JSON can hold, got {shown(name, value)}; dates go in quotes")
    return found


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_json(v) for v in value.values())
    if isinstance(value, list):
        return all(_is_json(v) for v in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int | bool)


def _batch_share(model: Table) -> float:
    """Return the share of the live price that a call in a batch costs; `_price` says what is wrong with it."""
    table = model.values.get("price_usd_per_mtok")
    share = table.get("batch") if isinstance(table, dict) else None
    return float(share) if isinstance(share, int | float) and not isinstance(share, bool) else BATCH_SHARE


def _price(model: Table) -> Price | None:
    table = model.table("price_usd_per_mtok")
    if table is None:
        return None
    put, got, _, read, write = (table.number(one) for one in ("input", "output", "batch", "cache_read", "cache_write"))
    table.unknown()
    if put is None or got is None:
        return None
    if model.values.get("provider") == "anthropic":
        read, write = CACHE_READ * put if read is None else read, CACHE_WRITE * put if write is None else write
    return Price(put, got, model.path.name, read=read, write=write)
