"""One connection over HTTP/1.1: asyncio reads and writes, llhttp (httptools) parses; a request, then its response."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from calm.models.transport.response import (
    MOST_BYTES,
    MOST_PACKED_BYTES,
    Cut,
    Response,
    packed,
    plain,
    too_large,
    unpacked,
)

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
