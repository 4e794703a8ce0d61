"""A server that never stops: what is read of its replies is bounded, over either transport, and the message says so."""

import asyncio
import gzip
import socket
import zlib
from contextlib import closing, suppress
from itertools import chain, repeat

import pytest

from calm.errors import JudgeError
from calm.models.server import Server
from calm.models.transport import MOST_BYTES, TRANSPORTS
from calm.models.wire import Message

ALL = 400_000_000
"""Bytes that a server sends if nobody stops it."""
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
BIG = b"x" * 65_536
CHUNK = b"%x\r\n" % len(BIG) + BIG + b"\r\n"
LARGE = "larger than 8000000 bytes"


def packed(bits, count=200):
    """Return a compressed body of `count` MB."""
    z = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join(z.compress(b"x" * 10**6) for _ in range(count)) + z.flush()


def whole(body, headers=b""):
    return OK + headers + b"content-length: %d\r\n\r\n" % len(body) + body


ENDLESS = {
    "chunks": (OK + b"transfer-encoding: chunked\r\n\r\n", CHUNK, LARGE),
    "until the connection closes": (OK + b"\r\n", BIG, LARGE),
    "a length of 1 GB": (OK + b"content-length: 1000000000\r\n\r\n", BIG, LARGE),
    "an error": (b"HTTP/1.1 500 No\r\n\r\n", BIG, LARGE),
    "a redirect": (b"HTTP/1.1 307 Go\r\nlocation: /\r\n\r\n", BIG, LARGE),
    "events": (OK + b"\r\n", b'data: {"a": 1}\n\n' * 4000, LARGE),
    "headers": (OK, b"x-a: " + b"y" * 1000 + b"\r\n", "could not be reached"),
    "one header": (OK + b"x-a: ", BIG, "could not be reached"),
    "a status line": (b"HTTP/1.1 200 ", BIG, "could not be reached"),
    "trailers": (OK + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"x-a: " + b"y" * 1000 + b"\r\n", ""),
}
BOMBS = {
    "gzip": (lambda: whole(packed(31), b"content-encoding: gzip\r\n"), "larger than 20000 bytes"),
    "deflate": (lambda: whole(packed(15), b"content-encoding: deflate\r\n"), "larger than 20000 bytes"),
    "gzip in gzip": (lambda: whole(gzip.compress(packed(31)), b"content-encoding: gzip, gzip\r\n"), ""),
    "tiny values": (lambda: whole(b"[" + b"[]," * 2_000_000 + b"[]]"), "expected at most 1,000,000 values"),
    "nesting": (lambda: whole(b"[" * 900_000), "nested at most 100 deep"),
    "digits": (lambda: whole(b'{"id": ' + b"9" * 100_000 + b"}"), "at most 300 digits"),
}


async def outcome(transport, head, more, *, timeout_s=30.0, pause=0.0, calls=1):
    """Return what a call says, for each, and how much the server could send before it was hung up on."""
    sent, tasks = 0, set()

    async def answer(reader, writer):
        nonlocal sent
        tasks.add(asyncio.current_task())
        with suppress(ConnectionError, asyncio.IncompleteReadError), closing(writer):
            request = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in request.lower().split(b"\r\n") if line.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            for part in [head] if not more else chain([head], repeat(more, ALL // len(more))):
                writer.write(part)
                await writer.drain()
                sent += len(part)
                await asyncio.sleep(pause)
            await reader.read()  # until the client hangs up

    free = await asyncio.start_server(answer, "127.0.0.1", 0)
    free.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
    port = free.sockets[0].getsockname()[1]
    server = Server("openai", "tiny", base_url=f"http://127.0.0.1:{port}/v1", transport=transport, timeout_s=timeout_s)
    body = server.body((Message("user", "x"),))
    try:
        found = await asyncio.gather(*(server.call(body) for _ in range(calls)), return_exceptions=True)
    finally:
        await server.close()
        free.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, JudgeError) for one in found)
    assert all(len(str(one)) < 1000 for one in found)
    return [str(one) for one in found], sent


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", ENDLESS)
def test_a_reply_without_end_is_read_to_its_limit(kind, transport):
    """Bodies, errors, events, headers: the server is hung up on soon after the limit, not at 400 MB."""
    head, more, said = ENDLESS[kind]
    told, sent = asyncio.run(outcome(transport, head, more))

    assert said in told[0]
    assert sent < 2 * MOST_BYTES  # what the buffers of the system hold comes on top of what is read


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_reply_that_unfolds_is_refused(kind, transport):
    """Compressed bodies and JSON whose values take a hundred times its bytes are refused with the limit."""
    made, said = BOMBS[kind]
    told, _ = asyncio.run(outcome(transport, made(), b""))

    assert said in told[0]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_reply_that_drips_ends_with_the_time_of_the_call(transport):
    """A byte now and then does not begin the time anew; neither does one interim response after the other."""
    hints = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    for head, more in [(OK + b"\r\n", b" "), (hints, hints)]:
        told, sent = asyncio.run(outcome(transport, head, more, timeout_s=0.5, pause=0.01))

        assert "did not answer within timeout_s=0.5" in told[0]
        assert sent < 100_000


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_many_endless_replies_at_a_time_are_each_read_to_the_limit(transport):
    """Eight at a time cost eight times the limit, not more."""
    told, sent = asyncio.run(outcome(transport, OK + b"\r\n", BIG, calls=8))

    assert all(LARGE in one for one in told)
    assert sent < 16 * MOST_BYTES
