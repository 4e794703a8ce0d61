"""What the three APIs share: a request's turns, and the parts of a JSON reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from calm.core.templates import Message
from calm.models.wire import Json, Reply, Token, Usage

MOST_TOKENS: Final = 10**9
"""A server that reports more tokens than this for one call is wrong."""
MOST_SAID: Final = 200
"""The most characters of a server's own words that an error repeats."""

Stop: TypeAlias = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True, slots=True)
class Api:
    """
    How one API writes a request and its reply.

    `home` is the URL of the provider's own server, `path` what is added to it, `key_name` the variable that its key is
    usually read from. `body` takes the messages, the most tokens of the reply, and whether the model wants that limit
    by its newer name. `schema` and `logprobs` return what is added to a body to ask for them; `logprobs` takes how many
    alternatives to a token are wanted. `written` is the inverse of `reply`: the JSON that a server would have sent.
    """

    home: str
    path: str
    key_name: str
    body: Callable[[Sequence[Message], int, bool], dict[str, Json]]
    schema: Callable[[Mapping[str, Json]], dict[str, Json]]
    logprobs: Callable[[int], dict[str, Json]]
    reply: Callable[[Mapping[str, object]], Reply]
    written: Callable[[Reply], dict[str, Json]]


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


def turns(messages: Sequence[Message]) -> list[Json]:
    """Return messages as all three APIs write them."""
    return [{"role": m.role, "content": m.text} for m in messages]


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
