"""The APIs of the providers, in `APIS`: how each writes a request, and how its reply is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from calm.core.edits import Message
from calm.core.images import Image
from calm.errors import ConfigError
from calm.models.wire import Attached, Json, Reply, Token, Usage

MOST_TOKENS: Final = 10**9
"""A server that reports more tokens than this for one call is wrong."""
MOST_SAID: Final = 200
"""The most characters of a server's own words that an error repeats."""

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic", "systemone"]
Stop: TypeAlias = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Api:
    """
    How one API writes a request and its reply.

    `home` is the URL of the provider's own server, `path` what is added to it, `key_name` the variable that its key is
    usually read from, `model` what `calm init` writes where none is named, `sdk` the package that may send instead.
    `body` takes the messages, the most tokens of the reply, and whether the model wants that limit by its newer name.
    `schema` and `logprobs` return what is added to a body to ask for them; `logprobs` takes how many alternatives to a
    token are wanted. The questions to a decision model, by their names, go by `schema`. `written` is the inverse of
    `reply`: the JSON that a server would have sent. `key_header` is the header that takes the key, in lower case.
    `mute`: its models are decision models, which answer typed questions and write no text.
    """

    home: str
    path: str
    key_name: str
    model: str
    sdk: Literal["openai", "anthropic"]
    body: Callable[[Sequence[Message], int, bool], dict[str, Json]]
    schema: Callable[[Mapping[str, Json]], dict[str, Json]]
    logprobs: Callable[[int], dict[str, Json]]
    reply: Callable[[Mapping[str, object]], Reply]
    written: Callable[[Reply], dict[str, Json]]
    key_header: str = "authorization"
    mute: bool = False


class BadReply(Exception):
    """A reply that is not in the shape of its API; `billed` if the model may have worked for it."""

    def __init__(self, message: str, *, fatal: bool = False, billed: bool = True) -> None:
        self.fatal, self.billed = fatal, billed
        super().__init__(message)


def missing(what: str, data: Mapping[str, object]) -> BadReply:
    """Return the error for a reply that lacks a part."""
    return BadReply(f"expected a reply with {what}, got {trimmed(json.dumps(dict(data)))}")


def trimmed(text: str) -> str:
    """Return a text on one line, and cut to `MOST_SAID` characters."""
    text = " ".join(text.split())
    return text if len(text) <= MOST_SAID else text[: MOST_SAID - 3] + "..."


def _texts_alone(_part: str | Image) -> Json:
    raise ConfigError(
        "a case has images, and this provider takes texts alone; choose a provider that takes images (openai, "
        "openai-responses, anthropic), or leave them out of the cases"
    )


def turns(messages: Sequence[Message], part: Callable[[str | Image], Json] = _texts_alone) -> list[Json]:
    """Return messages as the APIs write them: a text, or the parts of a message that has images."""
    return [{"role": m.role, "content": [*map(part, m.parts)] if m.images else m.text} for m in messages]


def table(value: object) -> Mapping[str, object]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a JSON list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return a text; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """Return a number of tokens; None for what cannot be one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return cast("int", value) if whole and 0 <= cast("int", value) <= MOST_TOKENS else None


def usage(put: object, got: object, text: str, *, read: object = None, written: object = None) -> Usage:
    """
    Return the usage that a server reports; no prompt has no tokens, nor has a text.

    `read` and `written` are tokens of the prompt that its cache gave or took: together no more than the prompt has.
    """
    prompt, reply = count(put) or None, count(got)
    given = min(count(read) or 0, prompt or 0) if read else 0
    taken = min(count(written) or 0, (prompt or 0) - given) if written else 0
    return Usage(prompt, None if text and not reply else reply, given, taken)


def texts(content: object) -> str:
    """Return a message's content: a text, or the texts of its parts."""
    if isinstance(content, list):
        return "".join(string(table(part).get("text")) for part in content)
    return string(content)


def logprobs_written(tokens: Sequence[Token] | None) -> Json:
    """Return generated tokens as both APIs of OpenAI write them; None if there are none."""
    if tokens is None:
        return None
    return [
        {
            **_token_written(one.text, one.logprob),
            "top_logprobs": [_token_written(*other) for other in one.alternatives],
        }
        for one in tokens
    ]


def _token_written(text: str, logprob: float) -> dict[str, Json]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "surrogatepass"))}


def tokens(content: object) -> tuple[Token, ...] | None:
    """Return generated tokens with their alternatives, as both APIs of OpenAI write them; None if there are none."""
    if not isinstance(content, list):
        return None
    return tuple(
        Token(
            string(entry.get("token")),
            _logprob(entry),
            tuple(
                (string(other.get("token")), _logprob(other)) for other in map(table, items(entry.get("top_logprobs")))
            ),
        )
        for entry in map(table, content)
    )


def _logprob(entry: Mapping[str, object]) -> float:
    value = entry.get("logprob")
    return float(value) if isinstance(value, int | float) else float("-inf")


REASONING: Final = ("reasoning_content", "reasoning")
"""Fields of a message into which servers put what a model thinks; some put the whole reply there."""
CHAT_STOPS: Final[Mapping[str, Stop]] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


def _chat_part(part: str | Image) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": Attached(part, url=True)}}


def _chat_body(messages: Sequence[Message], max_tokens: int, newer: bool) -> dict[str, Json]:
    return {"messages": turns(messages, _chat_part), "max_completion_tokens" if newer else "max_tokens": max_tokens}


def _chat_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    inner: Json = {"name": "verdict", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": inner}}


def _chat_logprobs(most: int) -> dict[str, Json]:
    return {"logprobs": True, "top_logprobs": most}


def _chat_reply(data: Mapping[str, object]) -> Reply:
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
        stop="refusal" if refusal else CHAT_STOPS.get(string(choice.get("finish_reason")), "other"),
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


def _chat_written(reply: Reply) -> dict[str, Json]:
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
    found: list[Token] = []
    for place in items(content):
        for token in table(place).values():
            entry = table(token)
            logprob = entry.get("logprob")
            if isinstance(logprob, int | float) and not isinstance(logprob, bool):
                found.append(Token(string(entry.get("decoded_token")), float(logprob)))
                break  # the prompt's own token comes first; the others are alternatives
    return tuple(found) or None


OPENAI_CHAT: Final = Api(
    "https://api.openai.com/v1",
    "/chat/completions",
    "OPENAI_API_KEY",
    "gpt-4.1-mini",
    "openai",
    _chat_body,
    _chat_schema,
    _chat_logprobs,
    _chat_reply,
    _chat_written,
)


RESPONSES_STOPS: Final[Mapping[str, Stop]] = {"max_output_tokens": "length", "content_filter": "refusal"}


def _responses_part(part: str | Image) -> Json:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": Attached(part, url=True), "detail": "auto"}


def _responses_body(messages: Sequence[Message], max_tokens: int, _newer: bool) -> dict[str, Json]:
    return {"input": turns(messages, _responses_part), "max_output_tokens": max_tokens, "store": False}


def _responses_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"text": {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": dict(schema)}}}


def _responses_logprobs(most: int) -> dict[str, Json]:
    return {"include": ["message.output_text.logprobs"], "top_logprobs": most}


def _responses_reply(data: Mapping[str, object]) -> Reply:
    output = [table(item) for item in items(data.get("output"))]
    parts = [table(p) for item in output if item.get("type") == "message" for p in items(item.get("content"))]
    if "output" not in data:
        raise missing("output", data)
    refusal = "".join(string(p.get("refusal")) for p in parts if p.get("type") == "refusal") or None
    cut = RESPONSES_STOPS.get(string(table(data.get("incomplete_details")).get("reason")), "other")
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


def _responses_written(reply: Reply) -> dict[str, Json]:
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


OPENAI_RESPONSES: Final = Api(
    "https://api.openai.com/v1",
    "/responses",
    "OPENAI_API_KEY",
    "gpt-4.1-mini",
    "openai",
    _responses_body,
    _responses_schema,
    _responses_logprobs,
    _responses_reply,
    _responses_written,
)


OLD_VERSION: Final = "2023-06-01"
"""The last version of the API that takes sampling parameters; the SDK's own refuses them, even at their defaults."""
ANTHROPIC_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _anthropic_part(part: str | Image) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    data = Attached(part, url=False)
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": data}}


def _anthropic_body(messages: Sequence[Message], max_tokens: int, _newer: bool) -> dict[str, Json]:
    first = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    if any(m.role == "system" for m in messages[first:]):
        raise ConfigError(
            "the provider 'anthropic' takes system messages before all others only; put them first in messages_file"
        )
    system = [m.text for m in messages[:first] if m.text]
    body: dict[str, Json] = {"messages": turns(messages[first:], _anthropic_part), "max_tokens": max_tokens}
    if len(system) == 1:
        body["system"] = system[0]
    elif system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    return body


def _anthropic_schema(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}


def _anthropic_logprobs(_most: int) -> dict[str, Json]:
    raise ConfigError("the provider 'anthropic' gives no log-probabilities; choose another [verdict] format")


def _anthropic_reply(data: Mapping[str, object]) -> Reply:
    if not isinstance(data.get("content"), list):
        raise missing("content", data)
    blocks = [table(block) for block in items(data.get("content"))]
    stop = ANTHROPIC_STOPS.get(string(data.get("stop_reason")), "other")
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


def _anthropic_written(reply: Reply) -> dict[str, Json]:
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


ANTHROPIC: Final = Api(
    "https://api.anthropic.com",
    "/v1/messages",
    "ANTHROPIC_API_KEY",
    "claude-haiku-4-5",
    "anthropic",
    _anthropic_body,
    _anthropic_schema,
    _anthropic_logprobs,
    _anthropic_reply,
    _anthropic_written,
    "x-api-key",
)

VERDICT: Final = "verdict"
"""The name of the question whose answer is the verdict."""
BARE_INSTRUCTIONS: Final = "Answer by what the state says."
"""What a question says where a prompt has no system message: no server takes an empty one."""


def told(messages: Sequence[Message]) -> str:
    """Return the instructions of a question to a decision model: the texts of the system messages."""
    return "\n\n".join(m.text for m in messages if m.role == "system") or BARE_INSTRUCTIONS


def _systemone_body(messages: Sequence[Message], _max_tokens: int, _newer: bool) -> dict[str, Json]:
    shown = turns([m for m in messages if m.role != "system"])
    only = string(table(shown[0]).get("content")).strip() if len(shown) == 1 else ""
    return {"state": only or shown, "questions": {VERDICT: {"type": "noul", "instructions": told(messages)}}}


def _systemone_questions(questions: Mapping[str, Json]) -> dict[str, Json]:
    return {"questions": dict(questions)}


def _systemone_logprobs(_most: int) -> dict[str, Json]:
    raise ConfigError("the provider 'systemone' gives probabilities of its answers, not of tokens")


def _systemone_reply(data: Mapping[str, object]) -> Reply:
    answers, used = data.get("answers"), table(data.get("usage"))
    if not isinstance(answers, dict):
        raise missing("answers", data)
    return Reply(
        text=json.dumps(answers),
        model=string(data.get("model")),
        usage=Usage(count(used.get("input_tokens")) or None, count(used.get("output_tokens")) or 0),
    )


def _systemone_written(reply: Reply) -> dict[str, Json]:
    put, got = reply.usage.input or 0, reply.usage.output or 0
    return {
        "model": reply.model,
        "answers": json.loads(reply.text or "{}"),
        "usage": {"input_tokens": put, "output_tokens": got},
    }


SYSTEMONE: Final = Api(
    "https://api.typesafe.ai/v1",
    "/systemone",
    "TYPESAFE_API_KEY",
    "jev-1.13.0",
    "openai",
    _systemone_body,
    _systemone_questions,
    _systemone_logprobs,
    _systemone_reply,
    _systemone_written,
    mute=True,
)

APIS: Final[Mapping[Provider, Api]] = {
    "openai": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "systemone": SYSTEMONE,
}
PROVIDERS: Final[tuple[Provider, ...]] = tuple(APIS)
MUTE: Final = tuple(name for name, api in APIS.items() if api.mute)
"""The providers of decision models, which write no text."""
MAKERS: Final = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC)
"""
The APIs as their makers serve them: the newer limit of tokens, no `top_p`, a batch API. Another provider that speaks as
one of them does is sent what a compatible server is sent.
"""
