"""Connections straight to a server: as many as there are requests under way, and each is used again."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aiohappyeyeballs import AddrInfoType, start_connection

from calm.models.transport.connection import Connection
from calm.models.transport.response import Response

ROOM: Final = 65_536
"""Bytes that are read at once."""
IDLE_S: Final = 15.0
"""For how many seconds a connection without a request is kept: servers, and what lies between, close it some day."""
DOUBT_S: Final = 0.5
"""After so many seconds without a request the system is asked whether the server has closed a connection meanwhile."""
KNOWN_S: Final = 10.0
"""For how many seconds the addresses of a name are taken to stand."""
NEXT_S: Final = 0.25
"""After so many seconds without an answer the next address of a server is tried besides (RFC 8305)."""

Addresses: TypeAlias = Sequence[AddrInfoType]


@dataclass(frozen=True, slots=True)
class Peer:
    """A server: its name or number, its port, and how it proves who it is (None: not at all)."""

    host: str
    port: int
    safety: ssl.SSLContext | None


class Direct:
    """
    The connections of one event loop to one server.

    A connection that the server closed is left before anything is written to it. A request that met its end on the way
    may have been read, so it is not sent again: that is for the engine, which counts attempts.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._room = memoryview(bytearray(ROOM))
        self._idle: dict[Connection, None] = {}
        self._open: set[Connection] = set()
        self._addresses: Addresses = ()
        self._until_s = float("-inf")
        self._looking = asyncio.Lock()

    async def post(self, request: bytes) -> Response:
        """Send a request and return the response; see `Connection.ask`."""
        answer = (self._free_one() or await self._opened()).ask(request)
        del request
        return await answer

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.abort()

    def _free_one(self) -> Connection | None:
        """Return the connection that was used last: those that few requests need grow old, and are closed."""
        now_s = asyncio.get_running_loop().time()
        while self._idle:
            connection, _ = self._idle.popitem()
            idle_s = now_s - connection.idle_since_s
            if connection.usable and idle_s < IDLE_S and (idle_s < DOUBT_S or connection.silent):
                return connection
            connection.abort()
        return None

    async def _opened(self) -> Connection:
        loop, peer = asyncio.get_running_loop(), self._peer
        found = await start_connection(await self._known(), happy_eyeballs_delay=NEXT_S, interleave=1)
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self._room, self._freed, self._gone),
                sock=found,
                ssl=peer.safety,
                server_hostname=None if peer.safety is None else peer.host,
            )
        except BaseException:
            found.close()
            raise
        self._open.add(connection)
        return connection

    async def _known(self) -> Addresses:
        """Return the addresses of the server; many connections at a time look them up once."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            if loop.time() >= self._until_s:
                self._addresses = await loop.getaddrinfo(self._peer.host, self._peer.port, type=socket.SOCK_STREAM)
                self._until_s = loop.time() + KNOWN_S
        return self._addresses

    def _freed(self, connection: Connection) -> None:
        connection.idle_since_s = asyncio.get_running_loop().time()
        self._idle[connection] = None

    def _gone(self, connection: Connection) -> None:
        self._idle.pop(connection, None)
        self._open.discard(connection)
