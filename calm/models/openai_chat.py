"""OpenAI chat completions, and the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from calm.core.templates import Message
from calm.models.api import Api, Stop, items, missing, string, table, texts, tokens, turns, usage
from calm.models.wire import Json, Reply, Token

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
    refusal, text = string(message.get("refusal")) or None, texts(message.get("content"))
    return Reply(
        text=text,
        model=string(data.get("model")),
        stop="refusal" if refusal else STOPS.get(string(choice.get("finish_reason")), "other"),
        refusal=refusal,
        tokens=_prompt_tokens(data.get("prompt_logprobs")) or tokens(table(choice.get("logprobs")).get("content")),
        usage=usage(used.get("prompt_tokens"), used.get("completion_tokens"), text),
    )


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


API: Final = Api("https://api.openai.com/v1", "/chat/completions", "OPENAI_API_KEY", _body, _schema, _logprobs, _reply)
