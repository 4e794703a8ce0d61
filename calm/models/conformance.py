"""
Whether a server does what it is asked: some answer 200 OK and ignore what they do not know.

A judge that is asked with other parameters than its file says is another judge; one whose log-probabilities belong to
other tokens has other verdicts. What a reply gives away by itself is checked at the start of every run; `inspect`,
which makes calls of its own, is what `calm try JUDGE --server` shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from calm.core.templates import Message
from calm.errors import JudgeError
from calm.models.sampling import LIMITS_OF_TOKENS
from calm.models.wire import Json, Reply

WORDS: Final = "Write the numbers from one to one hundred as words, one after the other."
COIN: Final = "Write a random word of ten random letters, and nothing else."
UNKNOWN: Final = "calm_unknown_parameter"
CUTS: Final[Mapping[str, Json]] = {"top_k": 0, "min_p": 0.0}
"""What some servers cut the distribution by, unless these values are sent."""
LEAST_TOKENS: Final = 16
"""The least that a reply can be limited to everywhere."""
SLACK: Final = 1e-3
MOST_SHOWN: Final = 60


class State(StrEnum):
    """What came of a check."""

    OK = "ok"
    FAILS = "FAILS"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table: what was checked, what came of it, and what it means."""

    name: str
    state: State
    words: str


class Probed(Protocol):
    """What is needed of a server."""

    @property
    def logprobs(self) -> bool:
        """Whether the judge needs log-probabilities."""

    @property
    def schema(self) -> Mapping[str, Json] | None:
        """What the judge wants its replies to look like."""

    @property
    def extra_body(self) -> Mapping[str, Json]:
        """What the user has sent besides."""

    @property
    def own(self) -> bool:
        """Whether this is the provider's own server."""

    def body(
        self, messages: Sequence[Message], *, schema: Mapping[str, Json] | None = None, logprobs: bool = False
    ) -> dict[str, Json]:
        """Return the body of a request."""

    async def call(self, body: Mapping[str, Json]) -> Reply:
        """Send a body once; a `JudgeError` if there is no reply."""


def token_fault(reply: Reply) -> str:
    """
    Return what is wrong with the log-probabilities of a reply; nothing if they belong to its text.

    >>> from calm.models.wire import Token
    >>> token_fault(Reply("Yes", tokens=(Token("Yes", -0.1, (("Yes", -0.1), ("No", -2.4))),)))
    ''
    >>> token_fault(Reply("Yes", tokens=(Token("No", -0.1),)))
    "they belong to another text: 'No'"
    """
    if not reply.tokens:
        return "there are none"
    text = "".join(t.text for t in reply.tokens)
    # the end of the turn is a token that no text shows, and some servers cut white space at the ends
    if "\ufffd" not in text and reply.text.strip() not in text:
        return f"they belong to another text: {text[:MOST_SHOWN]!r}"
    for token in reply.tokens:
        listed = [token.logprob, *(p for _, p in token.alternatives)]
        if any(math.isnan(p) or p > SLACK for p in listed):
            return f"the one of {token.text!r} is above 0: {max(listed):g}"
        if math.fsum(math.exp(p) for _, p in token.alternatives) > 1 + SLACK:
            return f"the probabilities of the alternatives to {token.text!r} add up to more than 1"
        own = dict(token.alternatives).get(token.text)
        if own is not None and abs(own - token.logprob) > SLACK and math.isfinite(token.logprob):
            return f"{token.text!r} has two of them: {token.logprob:g} and {own:g}"
    return ""


def schema_fault(reply: Reply, schema: Mapping[str, Json]) -> str:
    """
    Return how a reply breaks its schema; nothing if it does not, or if it was cut short.

    >>> schema_fault(Reply("ready"), {"type": "object"})
    "expected JSON, got 'ready'"
    """
    if reply.stop != "stop" or reply.refusal:
        return ""
    try:
        found = json.loads(reply.text)
    except ValueError:
        return f"expected JSON, got {reply.text[:MOST_SHOWN]!r}"
    if schema.get("type") == "object":
        if not isinstance(found, dict):
            return f"expected an object, got {reply.text[:MOST_SHOWN]!r}"
        required = schema.get("required")
        missing = [name for name in required if name not in found] if isinstance(required, list) else []
        if missing:
            return f"expected {missing[0]!r}, got {reply.text[:MOST_SHOWN]!r}"
    return ""


async def inspect(server: Probed, greeting: str) -> list[Check]:
    """Ask a server some questions and return what it obeys; at most eight calls."""
    checks = []
    plain = server.body([Message("user", greeting)])
    reply = await _tried(server, plain)
    if isinstance(reply, JudgeError):
        return [Check("answers", State.FAILS, str(reply))]
    checks.append(Check("answers", State.OK, f"as {reply.model!r}" if reply.model else "but does not say its model"))
    known = reply.usage.input is not None and reply.usage.output is not None
    words = "both are reported" if known else "not reported: costs are upper estimates"
    checks.append(Check("usage", State.OK if known else State.UNSURE, words))
    makers: tuple[Callable[[Probed, str], Awaitable[Check | None]], ...] = (
        _length, _logprobs, _schema, _strict, _cuts, _seed,
    )  # fmt: skip
    found = [await make(server, greeting) for make in makers]
    return [*checks, *(check for check in found if check is not None)]


async def _tried(server: Probed, body: Mapping[str, Json]) -> Reply | JudgeError:
    try:
        return await server.call(body)
    except JudgeError as error:
        return error


async def _length(server: Probed, _greeting: str) -> Check | None:
    """Limit a long text to a few tokens: a server that ignores this ignores other parameters, too."""
    body = server.body([Message("user", WORDS)])
    names = [name for name in LIMITS_OF_TOKENS if name in body]
    if not names:
        return None
    reply = await _tried(server, {**body, names[0]: LEAST_TOKENS})
    if isinstance(reply, JudgeError):
        return Check(names[0], State.UNSURE, str(reply))
    written = reply.usage.output
    if (written is not None and written > 2 * LEAST_TOKENS) or len(reply.text.split()) > 2 * LEAST_TOKENS:
        got = f"asked for {LEAST_TOKENS} tokens, got {reply.text[:MOST_SHOWN]!r}..."
        return Check(names[0], State.FAILS, f"ignored: {got}")
    if reply.stop != "length":
        return Check(names[0], State.UNSURE, "the reply was short anyway, or does not say that it was cut")
    return Check(names[0], State.OK, "obeyed")


async def _logprobs(server: Probed, greeting: str) -> Check | None:
    if not server.logprobs:
        return None
    reply = await _tried(server, server.body([Message("user", greeting)], logprobs=True))
    fault = str(reply) if isinstance(reply, JudgeError) else token_fault(reply)
    wrong = f"{fault}; the format 'logprobs' needs them: choose another server or format"
    return Check("log-probabilities", State.FAILS if fault else State.OK, wrong if fault else "they fit the text")


async def _schema(server: Probed, greeting: str) -> Check | None:
    if server.schema is None:
        return None
    reply = await _tried(server, server.body([Message("user", greeting)], schema=server.schema))
    fault = str(reply) if isinstance(reply, JudgeError) else schema_fault(reply, server.schema)
    return Check("schema", State.FAILS if fault else State.OK, f"not obeyed: {fault}" if fault else "obeyed")


async def _strict(server: Probed, greeting: str) -> Check:
    reply = await _tried(server, {**server.body([Message("user", greeting)]), UNKNOWN: 1})
    if isinstance(reply, JudgeError):
        return Check("unknown parameters", State.OK, "refused: it accepts only what it knows")
    return Check("unknown parameters", State.UNSURE, "ignored: a misspelt one goes unnoticed")


async def _cuts(server: Probed, greeting: str) -> Check | None:
    """Find out whether the server takes parameters that cut nothing off; a provider's own server is not asked."""
    sent = [name for name in CUTS if name in server.extra_body]
    if server.own:
        return None
    if len(sent) == len(CUTS):
        return Check("top_k, min_p", State.OK, "sent by extra_body")
    reply = await _tried(server, {**server.body([Message("user", greeting)]), **CUTS})
    if isinstance(reply, JudgeError):
        return Check("top_k, min_p", State.OK, "refused, so none is applied under these names")
    return Check(
        "top_k, min_p",
        State.UNSURE,
        "accepted, but not sent: some servers cut off the tail by default, which hides a judge's noise; "
        "write extra_body = { top_k = 0, min_p = 0.0 }",
    )


async def _seed(server: Probed, _greeting: str) -> Check | None:
    if "seed" not in server.extra_body:
        return None
    body = server.body([Message("user", COIN)])
    if "temperature" in body:
        body["temperature"] = 1.0
    replies = [await _tried(server, body) for _ in range(2)]
    texts = [str(r) if isinstance(r, JudgeError) else r.text for r in replies]
    if any(isinstance(r, JudgeError) for r in replies):
        return Check("seed", State.FAILS, texts[0])
    same = texts[0] == texts[1]
    words = "equal replies for equal seeds" if same else "not obeyed: two replies differ; do not count on it"
    return Check("seed", State.OK if same else State.FAILS, words)
