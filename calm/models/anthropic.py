"""Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from calm.core.templates import Message
from calm.errors import ConfigError
from calm.models.api import Api, Stop, count, items, missing, string, table, turns, usage
from calm.models.wire import Json, Reply

OLD_VERSION: Final = "2023-06-01"
"""The last version of the API that takes sampling parameters; the SDK's own refuses them, even at their defaults."""
STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _body(messages: Sequence[Message], max_tokens: int, _newer: bool) -> dict[str, Json]:
    first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    if any(m.role == "system" for m in messages[first:]):
        raise ConfigError(
            "the provider 'anthropic' takes system messages before all others only; put them first in messages_file"
        )
    system = [m.text for m in messages[:first] if m.text]
    body: dict[str, Json] = {"messages": turns(messages[first:]), "max_tokens": max_tokens}
    if len(system) == 1:
        body["system"] = system[0]
    elif system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    return body


def _schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}


def _logprobs(_most: int) -> dict[str, Json]:
    raise ConfigError("the provider 'anthropic' gives no log-probabilities; choose another [verdict] format")


def _reply(data: Mapping[str, object]) -> Reply:
    if not isinstance(data.get("content"), list):
        raise missing("content", data)
    blocks = [table(block) for block in items(data.get("content"))]
    stop = STOPS.get(string(data.get("stop_reason")), "other")
    why = string(table(data.get("stop_details")).get("explanation"))
    used = table(data.get("usage"))
    read = [count(used.get(name)) for name in READ]
    text = "".join(string(b.get("text")) for b in blocks if b.get("type") == "text")
    return Reply(
        text=text,
        model=string(data.get("model")),
        stop=stop,
        refusal=(why or "the model declined") if stop == "refusal" else None,
        usage=usage(
            None if read[0] is None else sum(n or 0 for n in read),
            used.get("output_tokens"),
            text,
            written=read[1],
            read=read[2],
        ),
        calls=tuple((string(b.get("name")), json.dumps(b.get("input"))) for b in blocks if b.get("type") == "tool_use"),
    )


def _written(reply: Reply) -> dict[str, Json]:
    text: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
    called: list[Json] = [
        {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": json.loads(arguments)}
        for place, (name, arguments) in enumerate(reply.calls)
    ]
    stop = {"length": "max_tokens", "refusal": "refusal"}.get(reply.stop, "tool_use" if reply.calls else "end_turn")
    return {
        "id": "msg_calm",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [*text, *called],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": reply.usage.input or 0, "output_tokens": reply.usage.output or 0},
    }


API: Final = Api(
    "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY", _body, _schema, _logprobs, _reply, _written
)
