"""OpenAI responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from calm.core.templates import Message
from calm.models.api import (
    Api,
    Stop,
    items,
    logprobs_written,
    missing,
    string,
    table,
    tokens,
    turns,
    usage,
)
from calm.models.wire import Json, Reply

STOPS: Final[Mapping[str, Stop]] = {"max_output_tokens": "length", "content_filter": "refusal"}


def _body(messages: Sequence[Message], max_tokens: int, _newer: bool) -> dict[str, Json]:
    return {"input": turns(messages), "max_output_tokens": max_tokens, "store": False}


def _schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"text": {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": dict(schema)}}}


def _logprobs(most: int) -> dict[str, Json]:
    return {"include": ["message.output_text.logprobs"], "top_logprobs": most}


def _reply(data: Mapping[str, object]) -> Reply:
    output = [table(item) for item in items(data.get("output"))]
    parts = [table(p) for item in output if item.get("type") == "message" for p in items(item.get("content"))]
    if "output" not in data:
        raise missing("output", data)
    refusal = "".join(string(p.get("refusal")) for p in parts if p.get("type") == "refusal") or None
    cut = STOPS.get(string(table(data.get("incomplete_details")).get("reason")), "other")
    written = [p for p in parts if p.get("type") == "output_text"]
    text = "".join(string(p.get("text")) for p in written)
    found = [tokens(p.get("logprobs")) for p in written]
    used = table(data.get("usage"))
    kept = table(used.get("input_tokens_details"))
    return Reply(
        text=text,
        model=string(data.get("model")),
        stop="refusal" if refusal else "stop" if data.get("status") == "completed" else cut,
        refusal=refusal,
        tokens=tuple(t for group in found for t in group or ()) or None,
        usage=usage(
            used.get("input_tokens"),
            used.get("output_tokens"),
            text,
            read=kept.get("cached_tokens"),
            written=kept.get("cache_write_tokens"),
        ),
        calls=tuple(
            (string(item.get("name")), string(item.get("arguments")))
            for item in output
            if item.get("type") == "function_call"
        ),
    )


def _written(reply: Reply) -> dict[str, Json]:
    parts: list[Json] = []
    if reply.refusal is not None:
        parts.append({"type": "refusal", "refusal": reply.refusal})
    elif reply.text or not reply.calls:
        logprobs = logprobs_written(reply.tokens)
        parts.append({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": logprobs or []})
    message: Json = {"type": "message", "id": "msg_calm", "role": "assistant", "status": "completed", "content": parts}
    called: list[Json] = [
        {
            "type": "function_call",
            "id": f"fc_{place}",
            "call_id": f"call_{place}",
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }
        for place, (name, arguments) in enumerate(reply.calls)
    ]
    put, got = reply.usage.input or 0, reply.usage.output or 0
    cut = reply.stop == "length"
    return {
        "id": "resp_calm",
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "model": reply.model,
        "output": [*([message] if parts else []), *called],
        "usage": {
            "input_tokens": put,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": got,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": put + got,
        },
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


API: Final = Api(
    "https://api.openai.com/v1", "/responses", "OPENAI_API_KEY", _body, _schema, _logprobs, _reply, _written
)
