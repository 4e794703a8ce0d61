"""
What a failed call means, and whether a server does what it is asked: some say 200 OK and ignore what they do not know.

A judge that is asked with other parameters than its file says is another judge; one whose log-probabilities belong to
other tokens has other verdicts. What a reply gives away by itself is checked at the start of every run; `inspect`,
which makes calls of its own, is what `calm try JUDGE --server` shows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final, Protocol
from urllib.parse import urlsplit

from calm.core.edits import Message
from calm.core.files import json_of
from calm.errors import JudgeError
from calm.models.apis import MUTE, BadReply, table, trimmed
from calm.models.sampling import LIMITS_OF_TOKENS
from calm.models.transport import Address, Cut, Response, TooLarge
from calm.models.wire import Json, Reply

_NO_MONEY: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_balance"}
)
_SAYS_NO_MONEY: Final = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits?)|credit balance is too low|billing hard limit|out of credits",
    re.IGNORECASE,
)
_MAYBE_NO_MONEY: Final = re.compile(r"\b(?:quota|billing|credits?)\b", re.IGNORECASE)
"""Words of a server that answers 429 both for too many calls and for an account that is used up."""
MOST_VALUES: Final = 1_000_000
"""Values that a reply may hold: log-probabilities of a long reply are a fifth of that."""
_TOO_LARGE: Final = frozenset({"too_many_requests", "request_too_large", "file_too_large", "payload_too_large"})
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"})
"""What OpenAI, llama.cpp and Anthropic call a prompt that is longer than the context of the model."""
_SAYS_TOO_LONG: Final = re.compile(
    r"context (?:length|window|size)|prompt is too long|input length and `max_tokens`", re.IGNORECASE
)
_SIZES: Final = r"\b(?:requests|lines|items|bytes|[kmg]i?b|file size)\b"
_MOST: Final = r"\b(?:max(?:imum)?|at most|up to|limit|exceed\w*|more than|larger than)\b"
_SAYS_TOO_LARGE: Final = re.compile(
    rf"too large|too many {_SIZES}|{_MOST}.{{0,60}}?{_SIZES}|{_SIZES}.{{0,60}}?{_MOST}", re.IGNORECASE | re.DOTALL
)
_PARAMETERS: Final = re.compile(
    r"\b(?:temperature|top_p|top_k|(?:top_)?logprobs|reasoning_effort|max_completion_tokens)\b"
)
"""Parameters that some models refuse."""
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation"})


def declined(address: Address, response: Response) -> Reply | None:
    """Return the refusal in an error: some servers answer 400 where a filter declines the prompt."""
    data = _error_data(response)
    if response.status != 400 or _kinds(data).isdisjoint(_FILTERED):
        return None
    return Reply("", stop="refusal", refusal=trimmed(address.secrets.scrub(_said(data))))


def answered(address: Address, response: Response) -> JudgeError:
    """Return the error for a status that is no success, and how to fix it."""
    data = _error_data(response)
    said = trimmed(address.secrets.scrub(_said(data)))
    fatal = _hopeless(response.status, data)
    advice = _advice(response.status, data, address)
    return JudgeError(
        address.secrets.scrub(f"{address} answered {response.status}: {said!r}; {advice}"),
        fatal=fatal,
        unproven=response.status == 403,
        denied=response.status == 401,
        again=not fatal and _worth_another_try(response),
        after_s=_after_s(response.headers),
        limited=response.status == 429,
        refused=400 <= response.status < 500,
        unknown=response.status in {404, 410},
        too_large=too_large(response.status, data),
        too_long=too_long(response.status, data),
    )


def too_large(status: int, data: object) -> bool:
    """Return whether a server did not take a request for its size: a status, a code or words say so."""
    if status not in {400, 413, 422}:
        return False
    return status == 413 or not _kinds(data).isdisjoint(_TOO_LARGE) or bool(_SAYS_TOO_LARGE.search(_said(data)))


def too_long(status: int, data: object) -> bool:
    """Return whether a server did not take a prompt since it is longer than the context: a code or words say so."""
    if status not in {400, 413, 422, 500}:
        return False
    return not _kinds(data).isdisjoint(_TOO_LONG) or bool(_SAYS_TOO_LONG.search(_said(data)))


def unreached(address: Address, error: BaseException) -> JudgeError:
    """Return the error for a call that got no whole response; `error` is the cause of a `NoResponse`."""
    return JudgeError(
        address.secrets.scrub(f"{address} {_outcome(error, address)}"),
        again=not isinstance(error, TooLarge),
        billed=isinstance(error, TimeoutError | TooLarge | Cut),
        silent=not isinstance(error, TooLarge),
    )


def bad_reply(address: Address, error: BadReply) -> JudgeError:
    """Return the error for a reply that cannot be read."""
    text = address.secrets.scrub(f"{address}: {error}")
    return JudgeError(text, fatal=error.fatal, again=not error.fatal, billed=error.billed)


def parsed(address: Address, response: Response) -> Mapping[str, object]:
    """
    Return the JSON object of a successful response, without the values of the address's secrets.

    Raises:
        BadReply: it is no JSON object, has a key twice, or reports an error.
    """
    secrets = address.secrets
    try:
        data = json_of(response.content, most=MOST_VALUES, object_pairs_hook=_once)
    except BadReply:
        raise
    except (json.JSONDecodeError, UnicodeDecodeError):
        text = trimmed(secrets.scrub(response.content.decode("utf-8", "replace")))
        what = "a web page" if "html" in response.kind or text.lstrip()[:1] == "<" else response.kind
        raise BadReply(
            f"the server answered with {what}, and not with the reply of a model: {text!r}; base_url must be the "
            "address of an API, which mostly ends in /v1"
        ) from None
    except ValueError as error:
        raise BadReply(f"expected a reply of a model, got JSON over a limit: {error}; is base_url right?") from None
    data = secrets.hide_all(data)
    if not isinstance(data, dict):
        raise BadReply(f"expected a JSON object as reply, got {trimmed(json.dumps(data))}")
    if data.get("error") and not data.get("choices"):
        said = trimmed(secrets.scrub(_said(data)))
        raise BadReply(f"the server answered with an error: {said!r}", fatal=_hopeless(200, data), billed=False)
    return data


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of a reply; of a key with two values nobody knows which one the model meant."""
    data = dict(pairs)
    if len(data) < len(pairs) and (twice := next((key for key, value in pairs if data[key] != value), "")):
        raise BadReply(f"expected each key of the reply once, got {trimmed(twice)!r} twice, with different values")
    return data


def _after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server asks for, in seconds: a number, or a date; None: it says nothing that is one."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit)
        if seconds is not None and not math.isnan(seconds):
            return max(0.0, seconds)
    return None


def _seconds(value: str, unit: float) -> float | None:
    try:
        return float(value) / unit
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def _worth_another_try(response: Response) -> bool:
    """Return whether the same call may be answered later; a server that says so itself knows best."""
    said, status = response.headers.get("x-should-retry"), response.status
    return said == "true" if said in {"true", "false"} else status in {408, 409, 429} or status >= 500


def _said(data: object) -> str:
    if isinstance(data, dict):
        error = data.get("error", data)
        if isinstance(error, dict):
            said = error.get("message") or error.get("detail") or error.get("type")
            return said if isinstance(said, str) else json.dumps(error)
        return error if isinstance(error, str) else json.dumps(data)
    return data if isinstance(data, str) else json.dumps(data)


def _error_data(response: Response) -> object:
    """Return what the body of an error holds: JSON if it is, else its text."""
    try:
        found = json_of(response.content, most=MOST_VALUES)
    except ValueError:
        found = None
    return _text(response) if found is None else found


def _text(response: Response) -> str:
    import httpx2

    return httpx2.Response(response.status, headers=response.headers, content=response.content).text


def _kinds(data: object) -> frozenset[str]:
    whole = table(data)
    error = table(whole.get("error")) or whole
    return frozenset(kind for kind in (error.get("code"), error.get("type")) if isinstance(kind, str))


def _broke(data: object) -> bool:
    return not _kinds(data).isdisjoint(_NO_MONEY) or bool(_SAYS_NO_MONEY.search(_said(data)))


def _hopeless(status: int, data: object) -> bool:
    """
    Return whether no other call to this server can be answered either: without its key or its money, none is.

    What is said of one call holds of that call. A firewall may forbid one text (403), and one machine of several may
    not know the model (404).
    """
    return status in {401, 402} or _broke(data)


NAME_KEY: Final = 'write api_key_env = "NAME", with the variable that holds it, in the [model] table of judge.toml'


def _advice(status: int, data: object, address: Address) -> str:
    if too_long(status, data):
        return (
            "the prompt is longer than the model takes, and nothing of it was cut: shorten the case or leave it out, "
            "lower max_tokens, give the server a longer context, or take a model that has one"
        )
    if _broke(data) or status == 402:
        return "the account has no quota or credit left: check its billing, or use another key"
    if status == 401:
        key = address.key_name
        return f"check the key in the variable {key!r}" if key else f"the server wants a key: {NAME_KEY}"
    if status == 403:
        keyless = "" if address.key_name else f"no key was sent, and if the server wants one, {NAME_KEY}; else "
        return keyless + (
            "the key may not use this model or server: ask for access, or use another key; a gateway may also want a "
            "header or parameter of its own: headers, headers_env, query, query_env in the [model] table of judge.toml"
        )
    if status == 404 and (twice := _twice(address)):
        return (
            f"base_url ends in {twice!r}, and calm adds {address.path!r} itself: take {twice!r} out of base_url in the "
            "[model] table of judge.toml"
        )
    if status == 404:
        return "check model and base_url (most servers want its /v1) in the [model] table of judge.toml"
    if status == 429 and _MAYBE_NO_MONEY.search(_said(data)):
        return (
            "look first whether the account has quota and credit left; if it has, these were too many calls at a time: "
            "lower concurrency, rpm or tpm in the [model] table of judge.toml"
        )
    if status == 429:
        return "lower concurrency, rpm or tpm in the [model] table of judge.toml, or wait"
    if 300 <= status < 400 or status == 405:
        return "redirects are not followed: set base_url to the address that the server names"
    if status in {400, 422} and _PARAMETERS.search(_said(data)):
        return (
            "calm sends what a model takes by its name: if this is the name of a deployment or an alias, name the "
            "model in served_as in the [model] table of judge.toml; else check temperature and extra_body"
        )
    if status in {400, 413, 422} and address.provider in MUTE:
        return (
            "the request was refused: check that the model is a decision model and takes so many options or levels "
            "(step in [verdict.scale] makes fewer), extra_body and the length of the case"
        )
    if status in {400, 413, 422}:
        return (
            "the request was refused: check extra_body, max_tokens, schema_file and the length of the prompt, and "
            "headers and query (such as api-version) if a gateway wants some"
        )
    if status in {502, 503, 504}:
        return "the model's server is down, overloaded or still starting: start it, or wait, and run the command again"
    return "the server failed: look at its log, or wait"


def _twice(address: Address) -> str | None:
    """Return the beginning of the path in which the URL before it already ends; None: nothing stands there twice."""
    parts, url = address.path.split("/"), urlsplit(address.url).path
    ends = ("/".join(parts[:n]) for n in range(len(parts), 1, -1))
    return next((end for end in ends if url.endswith(end)), None)


def _outcome(error: BaseException, address: Address) -> str:
    why = trimmed(address.secrets.scrub(str(error))) or type(error).__name__
    if isinstance(error, TooLarge):
        return f"sent no usable reply: {why}; is base_url right?"
    if isinstance(error, TimeoutError):
        return f"did not answer within timeout_s={address.timeout_s:g}; raise timeout_s, or check the server"
    return f"could not be reached: {why}; is it running, and is base_url right?"


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
    if server.own or "questions" in server.body([]):  # a decision model samples nothing
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
