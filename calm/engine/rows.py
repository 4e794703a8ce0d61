"""A reply as a row of the cache: its texts, and the checksum that tells a damaged row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from calm.core.templates import Message
from calm.models.wire import Json, Reply, Token, Usage

SUM_BYTES: Final = 16
_TURN: Final = {"role", "content"}
_PLAIN: Final = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """An answered call, as it is stored: `request` is what `request_text` made of its prompt and body."""

    key: bytes
    request: str
    reply: Reply


def request_text(prompt: tuple[Message, ...], body: str, data: Mapping[str, Json] | None = None) -> str:
    """
    Return a prompt and a body, which is JSON, as one text to store.

    With the `data` of the body, the prompt is left out where these show it: `prompt_in` finds it there.
    """
    if data is not None and messages_in(data) == prompt:
        return storable(f'{{"body": {body}}}')
    messages = _PLAIN.encode([[m.role, m.text] for m in prompt])
    return storable(f'{{"prompt": {messages}, "body": {body}}}')


def prompt_in(request: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the prompt of what `request_text` wrote."""
    told = request.get("prompt")
    return messages_in(request["body"]) or () if told is None else tuple(Message(role, text) for role, text in told)


def messages_in(body: Mapping[str, Json]) -> tuple[Message, ...] | None:
    """Return the messages that a body of a known API holds, in which each is one text; None for any other body."""
    first, turns = body.get("system"), body.get("messages", body.get("input"))
    if not isinstance(turns, list) or not isinstance(first, str | None):
        return None
    found = [] if first is None else [Message("system", first)]
    for turn in turns:
        if not isinstance(turn, dict) or turn.keys() != _TURN:
            return None
        role, text = turn["role"], turn["content"]
        if not isinstance(role, str) or not isinstance(text, str):
            return None
        found.append(Message(role, text))
    return tuple(found)


def storable(text: str) -> str:
    """Return text that SQLite can hold: JSON escapes for lone surrogates, which UTF-8 has no bytes for."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checksum(key: bytes, request: str, reply: str) -> bytes:
    """Return the checksum of a row, `SUM_BYTES` bytes. It tells damage; who changes a row on purpose can compute it."""
    found = blake2b(key, digest_size=SUM_BYTES)
    for text in (request, reply):
        data = text.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8))
        found.update(data)
    return found.digest()


def reply_text(reply: Reply) -> str:
    """Return a reply as JSON that SQLite can hold."""
    tokens: Json = None
    if reply.tokens is not None:
        tokens = [
            {"text": t.text, "logprob": t.logprob, "alternatives": [[text, p] for text, p in t.alternatives]}
            for t in reply.tokens
        ]
    usage: Json = {"input": reply.usage.input, "output": reply.usage.output}
    kept: list[Json] = [reply.usage.read, reply.usage.written]
    data: Json = {
        "text": reply.text,
        "model": reply.model,
        "stop": reply.stop,
        "refusal": reply.refusal,
        "tokens": tokens,
        "usage": usage,
        "retries": reply.retries,
        **({"calls": [list(call) for call in reply.calls]} if reply.calls else {}),
        **({"elsewhere": reply.elsewhere} if reply.elsewhere else {}),
        **({"kept": kept} if any(kept) else {}),
    }
    return storable(_PLAIN.encode(data))


def reply_in(text: str) -> Reply:
    """Return the reply that `reply_text` wrote."""
    data: dict[str, Json] = json.loads(text)
    tokens = data["tokens"]
    usage = data["usage"]
    assert isinstance(usage, dict)
    return Reply(
        text=str(data["text"]),
        model=str(data["model"]),
        stop=data["stop"],  # type: ignore[arg-type]  # written by `reply_text` from a Reply
        refusal=None if data["refusal"] is None else str(data["refusal"]),
        tokens=None if not isinstance(tokens, list) else tuple(_token(t) for t in tokens),
        usage=Usage(usage["input"], usage["output"], *_list(data.get("kept"))),  # type: ignore[arg-type]
        retries=int(str(data["retries"])),
        calls=tuple((str(one[0]), str(one[1])) for one in _list(data.get("calls")) if isinstance(one, list)),
        elsewhere=str(data.get("elsewhere", "")),
    )


def _list(data: Json) -> list[Json]:
    return data if isinstance(data, list) else []


def _token(data: Json) -> Token:
    assert isinstance(data, dict)
    alternatives = data["alternatives"]
    assert isinstance(alternatives, list)
    pairs = tuple((str(a[0]), float(str(a[1]))) for a in alternatives if isinstance(a, list))
    return Token(str(data["text"]), float(str(data["logprob"])), pairs)
