"""
The fast transport: the head of a request is written once, and connections of our own send it with every body.

asyncio reads and writes, llhttp (httptools) parses. That takes a small part of an SDK's own time, and imports none.
"""

from __future__ import annotations

import asyncio
import re
import selectors
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from aiohappyeyeballs import AddrInfoType, start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from calm.models.transport import (
    MOST_BYTES,
    MOST_PACKED_BYTES,
    Address,
    Cut,
    NoResponse,
    Response,
    ours,
    packed,
    plain,
    proxy_of,
    too_large,
    unpacked,
)
from calm.models.wire import Json, encoded

if TYPE_CHECKING:
    from calm.models.relays import Proxied


MOST_AROUND: Final = 65_536
"""Bytes of a response around its body: status lines, headers, interim responses, trailers."""
MOST_FRAME: Final = 16
"""Bytes more that may stand around each byte of a body: a chunk of a single byte takes six."""


class Connection(asyncio.BufferedProtocol):
    """
    A connection that carries one exchange after the other.

    `room` is where bytes are read into: they are parsed at once, so all connections of a loop share it. `free` is
    called when another request may go here, `gone` when none may any more.
    """

    def __init__(
        self, room: memoryview, free: Callable[[Connection], None], gone: Callable[[Connection], None]
    ) -> None:
        self._room, self._free, self._gone = room, free, gone
        self._parser = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Response] | None = None
        self._found: Response | None = None
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._read = 0
        self._in_body = self._bounded = self._usable = self._ended = False
        self.idle_since_s = 0.0

    async def ask(self, request: bytes) -> Response:
        """
        Send the bytes of a request and return the response.

        Raises:
            OSError: the connection ended before the response was whole.
            ValueError: what came is no response of HTTP, is larger than a response may be, or is packed strangely.
        """
        assert self._transport is not None, "it is open"
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._found, self._read, self._in_body = None, 0, False
        self._transport.write(request)
        del request  # it may be long, and the answer takes its time
        try:
            return await answer
        except BaseException:
            if self._answer is answer:  # else it was answered, and may carry another request already
                self.abort()
            raise

    def abort(self) -> None:
        """Close the connection at once."""
        self._answer = None
        if self._transport is not None:
            self._transport.abort()

    @property
    def usable(self) -> bool:
        """Whether a request may go here: neither side has closed it, as far as the loop has looked."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def silent(self) -> bool:
        """Whether the system has nothing from the server, not even that it closed the connection a moment ago."""
        socket = None if self._transport is None else self._transport.get_extra_info("socket")
        if socket is None or socket.fileno() < 0:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(socket.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    # ---------------------------------------------------------------------------------------------- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note where bytes are written to."""
        self._transport = cast(asyncio.Transport, transport)  # a loop may have a class of its own for it

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where bytes are read into."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Parse the bytes that were read."""
        if self._answer is None:  # nobody asked: whatever comes now could be taken for the next response
            self.abort()
            return
        self._read += nbytes
        try:
            self._parser.feed_data(self._room[:nbytes])
        except (HttpParserError, HttpParserUpgrade) as error:
            self._usable = False
            if self._found is None:
                self._fail(ValueError(f"expected a response of HTTP/1.1: {error}"))
                return
        if len(self._body) > MOST_PACKED_BYTES and (len(self._body) > MOST_BYTES or packed(self._headers)):
            self._fail(too_large(MOST_PACKED_BYTES if packed(self._headers) else MOST_BYTES))
        elif self._found is not None:
            self._give(self._found)
        elif self._read - len(self._body) > MOST_AROUND + MOST_FRAME * len(self._body):
            self._fail(ValueError(f"more than {MOST_AROUND} bytes came around the body of a response"))

    def eof_received(self) -> None:
        """Note that the server writes nothing more; the connection is closed then."""
        self._ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange that was under way: a body without a length ends here, and any other is cut."""
        self._gone(self)
        if self._answer is None:
            return
        if self._ended and self._in_body and not self._bounded:  # its end is that of the connection
            self._usable = False
            self._give(self._response())
        else:
            why = "the server closed the connection before its response was whole"
            begun = self._in_body and 200 <= self._parser.get_status_code() < 300
            self._fail(Cut(why) if begun else exc or ConnectionError(why))

    # ---------------------------------------------------------------------------------------------- what llhttp calls

    def on_message_begin(self) -> None:
        """Begin a response, an interim one or the last."""
        if self._found is not None:  # a second response, which nobody asked for
            self._usable = False
            return
        self._headers, self._body = {}, bytearray()
        self._in_body = self._bounded = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        if self._in_body or self._found is not None:  # a trailer says nothing of the response
            return
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        self._headers[key] = said
        self._bounded |= key == "content-length" or (key == "transfer-encoding" and "chunked" in said.lower())

    def on_headers_complete(self) -> None:
        """Note that the body follows."""
        if self._found is None:
            self._in_body = True

    def on_body(self, body: bytes) -> None:
        """Note a part of the body."""
        if self._found is None:
            self._body += body

    def on_message_complete(self) -> None:
        """Note that a response is whole."""
        if self._found is None and self._parser.get_status_code() >= 200:  # else it is an interim one
            self._usable = self._parser.should_keep_alive()
            self._found = self._response()

    # ---------------------------------------------------------------------------------------------- how it ends

    def _response(self) -> Response:
        return Response(self._parser.get_status_code(), plain(self._headers.items()), bytes(self._body))

    def _give(self, response: Response) -> None:
        answer, self._answer = self._answer, None
        if self._usable:
            self._free(self)
        else:
            self.abort()
        if answer is None or answer.done():
            return
        try:
            answer.set_result(unpacked(response, self._headers) if packed(self._headers) else response)
        except ValueError as error:
            answer.set_exception(error)

    def _fail(self, error: Exception) -> None:
        answer = self._answer
        self.abort()
        if answer is not None and not answer.done():
            answer.set_exception(error)


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

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.abort()

    def free(self) -> Connection | None:
        """Return the connection that was used last: those that few requests need grow old, and are closed."""
        now_s = asyncio.get_running_loop().time()
        while self._idle:
            connection, _ = self._idle.popitem()
            idle_s = now_s - connection.idle_since_s
            if connection.usable and idle_s < IDLE_S and (idle_s < DOUBT_S or connection.silent):
                return connection
            connection.abort()
        return None

    async def opened(self) -> Connection:
        """Return a new connection."""
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


_BREAKS: Final = frozenset("\r\n\0")
_OF_THE_BODY: Final = frozenset({"content-length", "transfer-encoding"})
_PORTS: Final = {"http": 80, "https": 443}
_OF_A_PATH: Final = "/%:@!$&'()*+,;="
"""What is not escaped in a path; a sign of per cent begins an escape."""
_NO_RESPONSE: Final = (OSError, ValueError)
"""What a call raises where there is no response."""


class FastTransport:
    """Requests over connections of our own; through a proxy, over httpx2."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._starts: dict[str, bytes] = {}
        self._url: SplitResult | None = None
        self._direct: Direct | None = None
        self._proxied: Proxied | None = None

    async def send(self, body: Mapping[str, Json], version: str = "") -> Response:
        """Send a body once and return the response; see `Transport`."""
        try:
            if self._url is None:
                url = url_of(self._address)
                self._open(url)
                self._url = url
            async with asyncio.timeout(self._address.timeout_s):
                if self._direct is not None:
                    request = self._request(self._url, body, version)
                    answer = (self._direct.free() or await self._direct.opened()).ask(request)
                    del request  # it may be long, and the answer takes its time
                    return await answer
                assert self._proxied is not None, "requests go one way or the other"
                named = _checked(ours(self._address, version))
                return await self._proxied.post(self._url.geturl(), named, encoded(body))
        except _NO_RESPONSE as error:
            raise NoResponse(error) from None

    async def close(self) -> None:
        """Close all connections."""
        if self._direct is not None:
            self._direct.close()
        if self._proxied is not None:
            await self._proxied.close()

    def _request(self, url: SplitResult, body: Mapping[str, Json], version: str) -> bytes:
        content = encoded(body)
        start = self._starts.get(version) or self._started(url, version)
        return b"%b%d\r\n\r\n%b" % (start, len(content), content)

    def _started(self, url: SplitResult, version: str) -> bytes:
        named = _checked({"host": url.netloc, **ours(self._address, version)})
        lines = [f"{name}: {value}".encode() for name, value in named.items()]
        target = (f"{url.path}?{url.query}" if url.query else url.path).encode("ascii")
        start = b"\r\n".join([b"POST %b HTTP/1.1" % target, *lines, b"content-length: "])
        self._starts[version] = start
        return start

    def _open(self, url: SplitResult) -> None:
        safety = _safety() if url.scheme == "https" else None
        proxy = proxy_of(self._address.url)
        if proxy:
            from calm.models.relays import Proxied

            self._proxied = Proxied(proxy, safety)
        else:
            self._direct = Direct(Peer(url.hostname or "", url.port or _PORTS[url.scheme], safety))


def url_of(address: Address) -> SplitResult:
    """
    Return where requests go, as it is written in a request: escaped, and without the usual port.

    Raises:
        ValueError: the address is no URL of a server.
    """
    given = urlsplit(address.url + address.path)
    host, port, usual = given.hostname, given.port, _PORTS.get(given.scheme)
    if not host or usual is None:
        raise ValueError(f"expected a URL that begins with http:// or https:// and names a host, got {address.url!r}")
    if not host.isascii():
        host = _as_ascii(host)
    shown = f"[{host}]" if ":" in host else host
    path = quote(re.sub("%(?![0-9A-Fa-f]{2})", "%25", given.path), safe=_OF_A_PATH)
    netloc = shown if port in (None, usual) else f"{shown}:{port}"
    return SplitResult(given.scheme, netloc, path, urlencode(address.query), "")


def _as_ascii(host: str) -> str:
    import httpx2

    try:
        return httpx2.URL(scheme="http", host=host).raw_host.decode()
    except httpx2.InvalidURL as error:
        raise ValueError(str(error)) from None


def _safety() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


def _checked(named: Mapping[str, str]) -> Mapping[str, str]:
    """
    Return headers.

    Raises:
        ValueError: one would end before its end.
    """
    for name, value in named.items():
        if not _BREAKS.isdisjoint(f"{name}{value}"):
            raise ValueError("a header holds a line break, which would begin another header")
        if name in _OF_THE_BODY:
            raise ValueError(f"the header {name} says how a body is sent, which only the connection knows; take it out")
        if not _is_text(value):
            raise ValueError(f"the header {name} holds what is no text: is its variable, or the key's, UTF-8?")
    return named


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
