"""
How a request leaves this process, and how its response comes back.

There are two transports. Both send the same bodies to the same address, and both return every response, whatever its
status. An SDK is imported by its own transport alone, at the first call. A call is one attempt: the engine, which
counts and caps them, makes the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol, TypeAlias, get_args

from calm.models.address import Address
from calm.models.transport import fast, sdk
from calm.models.transport.headers import KEY_HEADERS
from calm.models.transport.response import Cut, NoResponse, Response, TooLarge
from calm.models.wire import Json

__all__ = [
    "KEY_HEADERS",
    "TRANSPORTS",
    "Cut",
    "NoResponse",
    "Response",
    "TooLarge",
    "Transport",
    "TransportName",
    "opened",
]

TransportName: TypeAlias = Literal["fast", "sdk"]
TRANSPORTS: Final[tuple[TransportName, ...]] = get_args(TransportName)


class Transport(Protocol):
    """The connections to one server that belong to one event loop."""

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """
        Send a body once and return the response, whatever its status.

        `version` is that of the API, if not the usual one. Redirects are not followed.

        Raises:
            NoResponse: none came within the address's `timeout_s` (seconds, for the whole call), or none that is whole.
        """

    async def close(self) -> None:
        """Close all connections."""


def opened(address: Address, name: TransportName = "fast") -> Transport:
    """
    Return the transport of a name for an address; its connections are opened by its first calls.

    Raises:
        ConfigError: a package that it needs is of a release that may not fit.
    """
    chosen = fast if name == "fast" else sdk
    chosen.refuse_other_packages(address)
    return fast.FastTransport(address) if name == "fast" else sdk.SdkTransport(address)
