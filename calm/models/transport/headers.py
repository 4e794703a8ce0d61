"""The headers of a request: the user's, the key's, and those that a server needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version as release
from typing import Final

from calm.models.address import Address

KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "api-key"})
ANTHROPIC_VERSION: Final = "2026-10-21"
"""The version of Anthropic's API that bodies and replies are written and read in: that of the SDK 2.10."""
_SCOPES: Final = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""What OpenAI's own server is told of whose calls they are, and the variables that say so, as its SDK knows them."""
_SDK_HEADERS: Final = frozenset({"accept", "anthropic-version", "content-type", "user-agent"})


def ours(address: Address, version: str = "") -> dict[str, str]:
    """
    Return all headers of a request but those of its connection, by their names in lower case.

    `version` is that of the API, if not the usual one.
    """
    named = {"accept": "application/json", "content-type": "application/json", "user-agent": _agent()}
    if address.provider == "anthropic":
        named["anthropic-version"] = version or ANTHROPIC_VERSION
    elif address.own:
        named |= {name: said for name, variable in _SCOPES.items() if (said := os.environ.get(variable))}
    return named | _given(address)


@cache
def _agent() -> str:
    """Return the name and release of the program that sends."""
    return f"calm-judge/{release('calm-judge')}"


def of_the_sdk(address: Address, drawn: Mapping[str, str]) -> dict[str, str]:
    """
    Return the same where the SDK sends the request, from the headers that it would send.

    It adds some from the environment, keys included, so that only the ones that a server needs are taken over.
    """
    kept = _SDK_HEADERS | (_SCOPES.keys() if address.own else set())
    named = {name.lower(): value for name, value in drawn.items()}
    sdks = {name: value for name, value in named.items() if name in kept or name.startswith("x-stainless-")}
    return sdks | _given(address)


def _given(address: Address) -> dict[str, str]:
    given = {name.lower(): value for name, value in (*address.headers.items(), *address.secrets.headers.items())}
    headers = {"accept-encoding": "identity"}
    if address.secrets.key is not None or KEY_HEADERS.isdisjoint(given):
        headers |= _key(address, address.secrets.key or "none")
    return headers | given


def _key(address: Address, key: str) -> dict[str, str]:
    """Return the headers that carry a key: Anthropic takes it in a header of its own, and its gateways in either."""
    bearer = {"authorization": f"Bearer {key}"}
    if address.provider != "anthropic":
        return bearer
    return {"x-api-key": key} if address.own else {"x-api-key": key} | bearer
