"""What a model takes: the sampling parameters that its name lets it be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from calm.models.address import Provider
from calm.models.sampling_rules import (
    CLAUDE_FIXED_AFTER,
    CLAUDE_ONE_FROM,
    MOST_LOGPROBS,
    RULES,
    UNSET,
    SamplingRule,
)
from calm.models.wire import Json, Sent

SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})
LIMITS_OF_TOKENS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")

_PREFIX = re.compile(r"^(?:ft:|(?:[a-z-]+\.)?openai\.)")
"""What stands before the name of a model: of one that was tuned, and of one at Bedrock."""
_CLAUDE = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")
_REVERSED = re.compile(r"claude-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?-(?:opus|sonnet|haiku)")


def rule_of(model: str) -> SamplingRule | None:
    """
    Return what is known of a model of OpenAI; None: it takes all parameters.

    >>> [rule_of(name) is not None for name in ("gpt-5-mini", "us.openai.gpt-5.6-sol", "gpt-4.1-mini", "gpt-oss-20b")]
    [True, True, False, False]
    """
    name = _PREFIX.sub("", _bare(model))
    return next((rule for rule in RULES if rule.names.match(name)), None)


def wants_newer_limit(model: str) -> bool:
    """Return whether a model refuses `max_tokens`: its reasoning counts in `max_completion_tokens`."""
    rule = rule_of(model)
    return rule is not None and rule.newer


def takes_sampling(model: str, extra_body: Mapping[str, Json]) -> bool:
    """
    Return whether a model of OpenAI takes a temperature, top_p and log-probabilities with these further parameters.

    >>> [takes_sampling(name, {}) for name in ("gpt-4.1", "gpt-5", "gpt-5.1", "gpt-5.2-chat-latest", "gpt-5.6-sol")]
    [True, False, True, False, False]
    >>> takes_sampling("gpt-5.6-sol", {"reasoning_effort": "none"})
    True
    """
    rule = rule_of(model)
    if rule is None:
        return True
    nested = extra_body.get("reasoning")
    if isinstance(nested, dict) and nested.get("mode") == "pro":
        return False
    return effort_of(extra_body) in rule.sampled


def most_logprobs(model: str) -> int:
    """Return how many alternatives to a token may be asked for."""
    rule = rule_of(model)
    return MOST_LOGPROBS if rule is None else rule.top_logprobs


def unknown_effort(model: str, extra_body: Mapping[str, Json]) -> tuple[str, ...]:
    """
    Return the efforts that a model takes, if it does not take the one in a body; else nothing.

    >>> unknown_effort("gpt-6-astra", {"reasoning_effort": "none"})
    ('low', 'medium', 'high', 'xhigh', 'max')
    """
    rule, effort = rule_of(model), effort_of(extra_body)
    if rule is None or not rule.efforts or effort == UNSET or effort in rule.efforts:
        return ()
    return rule.efforts


def fixed_claude(model: str) -> bool | None:
    """
    Return whether a Claude model refuses sampling parameters in every version of the API; None: no Claude model.

    >>> [fixed_claude(name) for name in ("claude-opus-4-7", "claude-4.6-sonnet", "claude-3-5-haiku", "tiny")]
    [True, False, False, None]
    """
    name = _bare(model)
    if "claude" not in name:
        return None
    if version := _claude_version(name):
        return version > CLAUDE_FIXED_AFTER
    return re.search(r"claude-(?:instant|v?[23])(?!\d)", name) is None


def takes_one(model: str) -> bool:
    """
    Return whether a Claude model takes a temperature or a top_p, but not both.

    >>> takes_one("claude-haiku-4-5-20251001"), takes_one("claude-opus-4-20250514")
    (True, False)
    """
    version = _claude_version(_bare(model))
    return version is not None and CLAUDE_ONE_FROM <= version <= CLAUDE_FIXED_AFTER


def _claude_version(name: str) -> tuple[int, int] | None:
    found = _CLAUDE.search(name) or _REVERSED.search(name)
    return (int(found[1]), int(found[2] or 0)) if found else None


def thinks(extra_body: Mapping[str, Json]) -> bool:
    """Return whether a body switches the thinking of a Claude model on: then its temperature is 1."""
    thinking = extra_body.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")


def limited(body: Mapping[str, Json], most: int) -> Sent | None:
    """
    Return a body with a lower limit of tokens; None: it has none that is higher, or thinks within a budget of its own.

    >>> limited({"max_tokens": 4096, "n": 1}, 64)
    {'max_tokens': 64, 'n': 1}
    """
    name = next((name for name in LIMITS_OF_TOKENS if name in body), "")
    now = body.get(name)
    if not isinstance(now, int) or now <= most or thinks(body):
        return None
    return Sent({**body, name: most}, body.shared if isinstance(body, Sent) else ())


def sampling(
    provider: Provider, model: str, *, temperature: float | None, own: bool, extra_body: Mapping[str, Json]
) -> dict[str, Json]:
    """
    Return the sampling parameters that a model takes.

    `temperature` is None where the user did not say: 0 is sent then, except to Anthropic's own API, of which only an
    older version takes one. A compatible server (not `own`) is also sent `top_p = 1`, as some cut the tail of the
    distribution by default; but not for a Claude model, which takes one of the two.

    >>> sampling("openai", "gpt-4.1-mini", temperature=None, own=True, extra_body={})
    {'temperature': 0.0}
    """
    fixed = fixed_claude(model)
    if fixed or not takes_sampling(model, extra_body):
        return {}
    if fixed is False and provider == "anthropic":
        return {} if temperature is None else {"temperature": temperature}
    if fixed is False and temperature is None and (thinks(extra_body) or "top_p" in extra_body):
        return {}
    parameters: dict[str, Json] = {"temperature": 0.0 if temperature is None else temperature}
    if not own and fixed is None:
        parameters["top_p"] = 1.0
    return parameters


def effort_of(extra_body: Mapping[str, Json]) -> str:
    """Return the effort of reasoning that a body names, in the form of either API; `UNSET`: none."""
    nested = extra_body.get("reasoning")
    effort = nested.get("effort") if isinstance(nested, dict) else extra_body.get("reasoning_effort")
    return effort if isinstance(effort, str) else UNSET


def _bare(model: str) -> str:
    return model.rsplit("/", 1)[-1].lower()
