"""The headers of a request: the user's, the key's, and those of the SDK that a server needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.models.address import Address

KEY_HEADERS: Final = frozenset({"authorization", "x-api-key", "api-key"})
SDK_HEADERS: Final = frozenset({"accept", "anthropic-version", "content-type", "user-agent"})
OWN_SERVER_HEADERS: Final = SDK_HEADERS | {"openai-organization", "openai-project"}


def sent(address: Address, drawn: Mapping[str, str]) -> dict[str, str]:
    """
    Return all headers of a request but those of its connection, by their names in lower case.

    `drawn` are those that the SDK would send. It adds some from the environment, keys included, so that only the ones
    that a server needs are taken over.
    """
    kept = OWN_SERVER_HEADERS if address.own else SDK_HEADERS
    named = {name.lower(): value for name, value in drawn.items()}
    sdks = {name: value for name, value in named.items() if name in kept or name.startswith("x-stainless-")}
    return sdks | _ours(address)


def _ours(address: Address) -> dict[str, str]:
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
