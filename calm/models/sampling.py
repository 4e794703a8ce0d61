"""
Which models take sampling parameters, log-probabilities and efforts: rules as data, each with its source.

Providers change this from model to model, and no API tells it. The rules are as of `AS_OF`; sources are the providers'
own guides, or threads in which somebody called the API and showed what it answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from calm.models.apis import MUTE, Provider
from calm.models.wire import Json, Sent

AS_OF: Final = "2026-11-25"
"""The day on which the rules were last held against their sources."""

Efforts: TypeAlias = tuple[str, ...]
UNSET: Final = ""
"""The effort of a request that names none."""
NONE: Final = "none"

LOW: Final[Efforts] = ("low", "medium", "high")
XHIGH: Final[Efforts] = (*LOW, "xhigh")
MAX: Final[Efforts] = (*XHIGH, "max")
MOST_LOGPROBS: Final = 20
"""The most alternatives to a token that the APIs of OpenAI give."""


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """
    What models of OpenAI take whose bare name a pattern finds from its beginning.

    `sampled` are the efforts with which temperature, top_p and log-probabilities are taken; `UNSET` stands for a
    request that names none. `efforts` are those that the model takes; None: not known, or all. `top_logprobs` is the
    largest number of alternatives to a token. `newer` models refuse `max_tokens` and take `max_completion_tokens`.
    """

    names: re.Pattern[str]
    sampled: Efforts
    efforts: Efforts | None
    source: str
    top_logprobs: int = MOST_LOGPROBS
    newer: bool = True


def _rule(
    names: str,
    sampled: Efforts,
    efforts: Efforts | None,
    source: str,
    *,
    top_logprobs: int = MOST_LOGPROBS,
    newer: bool = True,
) -> SamplingRule:
    return SamplingRule(re.compile(names), sampled, efforts, source, top_logprobs, newer)


RULES: Final[tuple[SamplingRule, ...]] = (
    _rule(
        r"gpt-4o(?:-mini)?-search|gpt-5-search",
        (),
        None,
        "github.com/vercel/ai/issues/5609: 400 'Model incompatible request argument supplied: temperature'",
        newer=False,
    ),
    _rule(
        r"gpt-5-chat",
        (UNSET,),
        (),
        "github.com/langchain-ai/langchain/pull/32624: it does not reason",
        newer=False,
    ),
    _rule(r"o[1-9](?!\d)", (), LOW, "OpenAI's guide to reasoning; 403 for logprobs: confident-ai/deepeval pull 2184"),
    _rule(r"gpt-[\d.]+-?codex|codex", (), None, "OpenAI's guide to reasoning"),
    _rule(r"gpt-\d[\d.]*-pro", (), None, "OpenAI's guide to reasoning; langchain_openai lists them as responses only"),
    _rule(
        r"gpt-5\.\d+-chat",
        (),
        ("medium",),
        "github.com/Aider-AI/aider/issues/4707: 400 for temperature; they reason at one effort",
    ),
    _rule(r"gpt-5(?![\d.])", (), ("minimal", *LOW), "OpenAI's guide to GPT-5; inspect_ai always_reasons_model"),
    _rule(r"gpt-5\.1(?!\d)", (NONE, UNSET), (NONE, *LOW), "github.com/UKGovernmentBEIS/inspect_ai/pull/5242, called"),
    _rule(
        r"gpt-5\.[23](?!\d)",
        (NONE, UNSET),
        (NONE, *XHIGH),
        "github.com/UKGovernmentBEIS/inspect_ai/pull/5242 and BerriAI/litellm-docs pull 1064, called",
    ),
    _rule(
        r"gpt-5\.4(?!\d)",
        (NONE, UNSET),
        (NONE, *XHIGH),
        "inspect_ai pull 5242; at most 5 top_logprobs: github.com/confident-ai/deepeval/issues/2548",
        top_logprobs=5,
    ),
    _rule(
        r"gpt-5\.5(?!\d)",
        (NONE,),
        (NONE, *XHIGH),
        "github.com/UKGovernmentBEIS/inspect_ai/pull/5242, called",
        top_logprobs=5,
    ),
    _rule(r"gpt-5\.6(?!\d)", (NONE,), (NONE, *MAX), "inspect_ai pulls 5242 and 5172", top_logprobs=5),
    _rule(
        r"gpt-6-astra|gpt-6\.1-sol",
        (),
        MAX,
        "github.com/UKGovernmentBEIS/inspect_ai/pull/5254, called: no effort none; OpenAI's guide to its latest model",
    ),
    _rule(r"gpt-6-(?:sol|luna)", (NONE,), (NONE, *MAX), "github.com/BerriAI/litellm/discussions/42523", top_logprobs=5),
    _rule(
        r"gpt-(?:[5-9]|[1-9]\d+)(?!\d)",
        (NONE,),
        None,
        "no source: later models are taken for ones that reason",
        top_logprobs=5,
    ),
)
"""The first rule that fits holds. A name that none fits is that of a model which takes all parameters and no effort."""

CLAUDE_FIXED_AFTER: Final = (4, 6)
"""
Claude models after this version refuse a temperature in every version of the API.

Source: Anthropic's page on extended thinking; github.com/mem0ai/mem0/issues/6210; 400 "`temperature` is deprecated for
this model.".
"""
CLAUDE_ONE_FROM: Final = (4, 1)
"""
Claude models from this version on take temperature or top_p, not both.

Source: github.com/onyx-dot-app/onyx/pull/12735; 400 "`temperature` and `top_p` cannot both be specified".
"""


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
    older version takes one, and to a decision model, which samples nothing. A compatible server (not `own`) is also
    sent `top_p = 1`, as some cut the tail of the distribution by default; but not for a Claude model, which takes one
    of the two.

    >>> sampling("openai", "gpt-4.1-mini", temperature=None, own=True, extra_body={})
    {'temperature': 0.0}
    """
    fixed = fixed_claude(model)
    if provider in MUTE or fixed or not takes_sampling(model, extra_body):
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
