"""What went wrong with a call: a status, a reply or an exception becomes a `JudgeError`, or a refusal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from calm.core.files import json_of
from calm.errors import JudgeError
from calm.models.address import Address
from calm.models.api import BadReply, table, trimmed
from calm.models.transport import Cut, Response, TooLarge
from calm.models.wire import Reply

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
    advice = _advice(response.status, data, address.key_name)
    return JudgeError(
        address.secrets.scrub(f"{address} answered {response.status}: {said!r}; {advice}"),
        fatal=fatal,
        unproven=response.status == 403,
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
    """Return what a server says in the body of an error, whichever of the usual shapes it has."""
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
    """Return the code and the type of the error that a server reports."""
    whole = table(data)
    error = table(whole.get("error")) or whole
    return frozenset(kind for kind in (error.get("code"), error.get("type")) if isinstance(kind, str))


def _broke(data: object) -> bool:
    """Return whether the server says that there is no money or quota left, which no wait fixes."""
    return not _kinds(data).isdisjoint(_NO_MONEY) or bool(_SAYS_NO_MONEY.search(_said(data)))


def _hopeless(status: int, data: object) -> bool:
    """
    Return whether no other call to this server can be answered either: without its key or its money, none is.

    What is said of one call holds of that call. A firewall may forbid one text (403), and one machine of several may
    not know the model (404).
    """
    return status in {401, 402} or _broke(data)


def _advice(status: int, data: object, key_name: str | None) -> str:
    if too_long(status, data):
        return (
            "the prompt is longer than the model takes, and nothing of it was cut: shorten the case or leave it out, "
            "lower max_tokens, give the server a longer context, or take a model that has one"
        )
    if _broke(data) or status == 402:
        return "the account has no quota or credit left: check its billing, or use another key"
    if status == 401:
        return (
            f"check the key in the variable {key_name!r}"
            if key_name
            else ("the server wants a key: name the variable that holds it with api_key_env")
        )
    if status == 403:
        return (
            "the key may not use this model or server: ask for access, or use another key; a gateway may also want a "
            "header or parameter of its own: headers, headers_env, query, query_env in the [model] table of judge.toml"
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
    if status in {400, 413, 422}:
        return (
            "the request was refused: check extra_body, max_tokens, schema_file and the length of the prompt, and "
            "headers and query (such as api-version) if a gateway wants some"
        )
    if status in {502, 503, 504}:
        return "the model's server is down, overloaded or still starting: start it, or wait, and run the command again"
    return "the server failed: look at its log, or wait"


def _outcome(error: BaseException, address: Address) -> str:
    """Return what happened to a call that got no status."""
    why = trimmed(address.secrets.scrub(str(error))) or type(error).__name__
    if isinstance(error, TooLarge):
        return f"sent no usable reply: {why}; is base_url right?"
    if isinstance(error, TimeoutError):
        return f"did not answer within timeout_s={address.timeout_s:g}; raise timeout_s, or check the server"
    return f"could not be reached: {why}; is it running, and is base_url right?"
