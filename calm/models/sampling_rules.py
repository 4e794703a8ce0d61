"""
Which models take sampling parameters, log-probabilities and efforts: rules as data, each with its source.

Providers change this from model to model, and no API tells it. The rules are as of `AS_OF`; sources are the providers'
own guides, or threads in which somebody called the API and showed what it answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

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
