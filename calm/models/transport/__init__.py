"""
How a request leaves this process, and how its response comes back.

There are two transports. Both send the same requests, and both return every response, whatever its status. An SDK is
imported at the first call, only the one that is needed: a run that finds all its replies in the cache imports none. A
call is one attempt: the engine, which counts and caps them, makes the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Literal, Protocol, TypeAlias, get_args

from calm.core.reasons import NONE, Kind, Reason, Said, because
from calm.models.address import Address
from calm.models.transport import fast, sdk
from calm.models.transport.headers import KEY_HEADERS
from calm.models.transport.response import NoResponse, Response, TooLarge
from calm.models.wire import Json

__all__ = [
    "KEY_HEADERS",
    "TRANSPORTS",
    "Connections",
    "NoResponse",
    "Response",
    "TooLarge",
    "Transport",
    "TransportName",
]

TransportName: TypeAlias = Literal["fast", "sdk"]
TRANSPORTS: Final[tuple[TransportName, ...]] = get_args(TransportName)


class Transport(Protocol):
    """The connections to one server that belong to one event loop."""

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """
        Send a body once and return the response, whatever its status.

        `version` is that of the API, if not the SDK's own. Redirects are not followed.

        Raises:
            NoResponse: none came within the address's `timeout_s` (seconds, for the whole call), or none that is whole.
        """

    async def close(self) -> None:
        """Close all connections."""


class Connections:
    """
    The transport of an address, chosen at its first call.

    If the SDK breaks what the fast transport relies on, the SDK's own is used, and `note` says so.
    """

    def __init__(self, address: Address, name: TransportName = "fast") -> None:
        self.address = address
        self.note: Reason = NONE
        self._name = name
        self._transport: Transport | None = None
        self._choosing = asyncio.Lock()

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; see `Transport`."""
        return await (self._transport or await self._chosen()).send(body, version)

    async def close(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.close()

    async def _chosen(self) -> Transport:
        async with self._choosing:
            if self._transport is None:
                fault = await fast.fault(self.address) if self._name == "fast" else ""
                if fault:
                    release = sdk.release(self.address.provider)
                    self.note = because(Kind.SDK_TRANSPORT, release, Said(fault))
                usable = self._name == "fast" and not fault
                self._transport = fast.FastTransport(self.address) if usable else sdk.SdkTransport(self.address)
            return self._transport
