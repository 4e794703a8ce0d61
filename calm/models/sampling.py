"""What a model takes: the sampling parameters that its name lets it be sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from calm.models.address import Provider
from calm.models.wire import Json

SAMPLING: Final = frozenset({"temperature", "top_p", "top_k"})

_REASONING = re.compile(r"(o[1-9]|gpt-[5-9]|codex)(?!\d)")
_CLAUDE = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?")


def reasons(model: str) -> bool:
    """
    Return whether this is a reasoning model of OpenAI, which takes no sampling parameters and no `max_tokens`.

    >>> [reasons(name) for name in ("gpt-5-mini", "openai/o4-mini", "gpt-5-chat-latest", "gpt-4.1-mini", "gpt-50")]
    [True, True, False, False, False]
    """
    name = _bare(model)
    return bool(_REASONING.match(name)) and "-chat" not in name


def fixed_claude(model: str) -> bool | None:
    """
    Return whether a Claude model refuses sampling parameters in every version of the API; None: no Claude model.

    >>> [fixed_claude(name) for name in ("claude-opus-4-7", "claude-opus-4-20250514", "claude-3-5-haiku", "tiny")]
    [True, False, False, None]
    """
    name = _bare(model)
    if "claude" not in name:
        return None
    found = _CLAUDE.search(name)
    if found:
        return (int(found[1]), int(found[2] or 0)) > (4, 6)
    return re.search(r"claude-(?:instant|v?[23])(?!\d)", name) is None


def sampling(
    provider: Provider, model: str, *, temperature: float | None, own: bool, extra_body: Mapping[str, Json]
) -> dict[str, Json]:
    """
    Return the sampling parameters that a model takes.

    `temperature` is None where the user did not say: 0 is sent then, except to a Claude model. A compatible server
    (not `own`) is also sent `top_p = 1`: some cut the tail of the distribution by default.

    >>> sampling("openai", "gpt-4.1-mini", temperature=None, own=True, extra_body={})
    {'temperature': 0.0}
    """
    fixed = fixed_claude(model)
    if fixed or (reasons(model) and not effortless(extra_body)):
        return {}
    if fixed is False and provider == "anthropic":
        return {} if temperature is None else {"temperature": temperature}
    parameters: dict[str, Json] = {"temperature": 0.0 if temperature is None else temperature}
    if not own:
        parameters["top_p"] = 1.0
    return parameters


def effortless(extra_body: Mapping[str, Json]) -> bool:
    """Return whether reasoning is switched off, which brings the sampling parameters back."""
    nested = extra_body.get("reasoning")
    effort = nested.get("effort") if isinstance(nested, dict) else extra_body.get("reasoning_effort")
    return effort == "none"


def _bare(model: str) -> str:
    return model.rsplit("/", 1)[-1].lower()
