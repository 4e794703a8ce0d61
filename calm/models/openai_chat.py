"""OpenAI chat completions, and the many servers that speak it."""

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
    texts,
    tokens,
    turns,
    usage,
)
from calm.models.wire import Json, Reply, Token

REASONING: Final = ("reasoning_content", "reasoning")
"""Fields of a message into which servers put what a model thinks; some put the whole reply there."""
STOPS: Final[Mapping[str, Stop]] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


def _body(messages: Sequence[Message], max_tokens: int, newer: bool) -> dict[str, Json]:
    return {"messages": turns(messages), "max_completion_tokens" if newer else "max_tokens": max_tokens}


def _schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    inner: Json = {"name": "verdict", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": inner}}


def _logprobs(most: int) -> dict[str, Json]:
    return {"logprobs": True, "top_logprobs": most}


def _reply(data: Mapping[str, object]) -> Reply:
    choices = items(data.get("choices"))
    if not choices:
        raise missing("choices", data)
    choice = table(choices[0])
    message, used = table(choice.get("message")), table(data.get("usage"))
    kept = table(used.get("prompt_tokens_details"))
    refusal, text = string(message.get("refusal")) or None, texts(message.get("content"))
    return Reply(
        text=text,
        model=string(data.get("model")),
        stop="refusal" if refusal else STOPS.get(string(choice.get("finish_reason")), "other"),
        refusal=refusal,
        tokens=_prompt_tokens(data.get("prompt_logprobs")) or tokens(table(choice.get("logprobs")).get("content")),
        usage=usage(
            used.get("prompt_tokens"),
            used.get("completion_tokens"),
            text,
            read=kept.get("cached_tokens"),
            written=kept.get("cache_write_tokens"),
        ),
        calls=tuple(
            (string(called.get("name")), string(called.get("arguments")))
            for one in items(message.get("tool_calls"))
            if (called := table(table(one).get("function")))
        ),
        elsewhere="" if text else next((name for name in REASONING if string(message.get(name)).strip()), ""),
    )


def _written(reply: Reply) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": reply.text or None, "refusal": reply.refusal}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for place, (name, arguments) in enumerate(reply.calls)
        ]
    elif reply.refusal is None:
        message["content"] = reply.text
    put, got = reply.usage.input or 0, reply.usage.output or 0
    logprobs = logprobs_written(reply.tokens)
    return {
        "id": "chatcmpl-calm",
        "object": "chat.completion",
        "created": 0,
        "model": reply.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if reply.calls else "length" if reply.stop == "length" else "stop",
                "logprobs": None if logprobs is None else {"content": logprobs, "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": put, "completion_tokens": got, "total_tokens": put + got},
    }


def _prompt_tokens(content: object) -> tuple[Token, ...] | None:
    """Return the tokens of the prompt but the first, where a server gives their log-probabilities, as vLLM does."""
    found: list[Token] = []
    for place in items(content):
        for token in table(place).values():
            entry = table(token)
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and not isinstance(logprob, bool):
                found.append(Token(string(entry.get("decoded_token")), float(logprob)))
                break  # the prompt's own token comes first; the others are alternatives
    return tuple(found) or None


API: Final = Api(
    "https://api.openai.com/v1", "/chat/completions", "OPENAI_API_KEY", _body, _schema, _logprobs, _reply, _written
)
