"""Connections of our own, against a server whose every byte is written here: what is reused, and what is refused."""

import asyncio
import gzip
import ssl
import zlib
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from calm.errors import JudgeError
from calm.models import connections
from calm.models.secrets import Secrets
from calm.models.server import Server
from calm.models.transport import proxy_of
from calm.models.wire import Message

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Of localhost and 127.0.0.1, with its key; nobody trusts it by himself."""
PROMPT = (Message("user", "Which?"),)
BODY = b'{"model": "m", "choices": [{"message": {"content": "[[A]]"}, "finish_reason": "stop"}]}'
PACKER = zlib.compressobj(wbits=-15)
RAW = PACKER.compress(BODY) + PACKER.flush()


def whole(body=BODY, *lines, status=b"HTTP/1.1 200 OK"):
    return b"\r\n".join([status, b"content-length: %d" % len(body), *lines, b"", body])


def chunked(*chunks, after=b"\r\n"):
    parts = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + parts + b"0\r\n" + after


class Script:
    """What a server answers to one request after the other, and what it saw: the heads, by connection."""

    def __init__(self, *answers):
        self.answers, self.heads, self.port = list(answers), [], 0
        self.held = asyncio.Event()

    async def serve(self, reader, writer):
        heads = []
        self.heads.append(heads)
        with suppress(ConnectionError, asyncio.IncompleteReadError), closing(writer):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                heads.append(head)
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.partition(b":")[2]))
                answer = self.answers.pop(0) if self.answers else whole()
                for part in answer if isinstance(answer, list) else [answer]:
                    if part is None:  # hang up
                        return
                    if part == "half":
                        writer.write_eof()
                        continue
                    if part == "hold":
                        await self.held.wait()
                        continue
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.01)


@asynccontextmanager
async def serving(*answers, host="127.0.0.1", **how):
    script = Script(*answers)
    listening = await asyncio.start_server(script.serve, host, 0, **how)
    script.port = listening.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        listening.close()


def at(port, *, host="127.0.0.1", scheme="http", **settings):
    return Server("openai", "m", base_url=f"{scheme}://{host}:{port}/v1", **{"timeout_s": 5.0, **settings})


async def asked(server, times=1):
    """
    Return what came of some calls, one a moment after the other: a text, or the words of an error.

    The moment is several turns of the loop, as what the server does in one is seen in a later one, however late it is.
    """
    found = []
    for number in range(times):
        for _ in range(5 * (number > 0)):
            await asyncio.sleep(0.01)
        try:
            found.append((await server.call(server.body(PROMPT))).text)
        except JudgeError as error:
            found.append(str(error))
    return found


async def told(*answers, times=1, **settings):
    """Return what came of calls that are answered so, and how many connections they took."""
    async with serving(*answers) as script:
        server = at(script.port, **settings)
        found = await asked(server, times)
        await server.close()
    return found, [len(heads) for heads in script.heads if heads]


READABLE = {
    "a length": whole(),
    "chunks": chunked(BODY[:7], BODY[7:]),
    "chunks of one byte": chunked(*(BODY[i : i + 1] for i in range(len(BODY)))),
    "byte by byte": [*(whole()[i : i + 1] for i in range(40)), whole()[40:]],
    "a trailer": chunked(BODY, after=b"content-encoding: gzip\r\n\r\n"),
    "interim responses": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" + whole(),
    "no reason": whole(status=b"HTTP/1.1 200"),
    "gzip": whole(gzip.compress(BODY), b"Content-Encoding: GZIP"),
    "deflate": whole(zlib.compress(BODY), b"content-encoding: deflate"),
    "deflate without its header": whole(RAW, b"content-encoding: deflate"),
}


@pytest.mark.parametrize("kind", READABLE)
def test_a_connection_is_used_again_after_a_whole_response(kind):
    """However it is framed; what a trailer says is not a header."""
    found, used = asyncio.run(told(READABLE[kind], times=3))

    assert found == ["[[A]]"] * 3
    assert used == [3]


ENDING = {
    "HTTP/1.0": [b"HTTP/1.0 200 OK\r\n\r\n" + BODY, None],
    "no length": [b"HTTP/1.1 200 OK\r\n\r\n" + BODY[:9], BODY[9:], None],
    "no length, half closed": [b"HTTP/1.1 200 OK\r\n\r\n" + BODY, "half"],
    "connection: close": whole(BODY, b"Connection: close"),
    "a second response at once": whole() + whole(b'{"choices": [{"message": {"content": "[[B]]"}}]}'),
    "bytes behind it": whole() + b"junk",
    "hung up after it": [whole(), None],
    "half closed after it": [whole(), "half"],
}


@pytest.mark.parametrize("kind", ENDING)
def test_a_connection_that_ends_or_says_too_much_carries_no_other_request(kind):
    """The response counts, and the next request goes elsewhere: it never gets what was left over."""
    found, used = asyncio.run(told(ENDING[kind], times=2))

    assert found == ["[[A]]"] * 2
    assert used == [1, 1]


BROKEN = {
    "no HTTP": b"SSH-2.0-OpenSSH\r\n\r\n",
    "a header without a name": whole(BODY, b": x"),
    "a space before the colon": whole(BODY, b"x-a : 1"),
    "a folded header": whole(BODY, b"x-a: 1", b" 2"),
    "a null byte": whole(BODY, b"x-a: \0"),
    "two lengths": whole(BODY, b"content-length: 1"),
    "a length below zero": b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n" + BODY,
    "a length and chunks": whole(BODY, b"transfer-encoding: chunked"),
    "a chunk of no size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    "a chunk too large to count": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    "another protocol": b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nabc",
    "cut in its head": [b"HTTP/1.1 200 OK\r\nconte", None],
    "cut in its body": [whole()[:-5], None],
    "cut in a chunk": [chunked(BODY)[:-9], None],
    "half closed in its body": [whole()[:-5], "half"],
    "nothing": [None],
    "an encoding that nobody asked for": whole(BODY, b"content-encoding: br"),
    "gzip that is none": whole(BODY, b"content-encoding: gzip"),
    "gzip that is cut": whole(gzip.compress(BODY)[:-9], b"content-encoding: gzip"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_whole_response_is_an_error_and_ends_its_connection(kind):
    """It may have been read by the server, so it is not sent again here; the next call is answered."""
    found, used = asyncio.run(told(BROKEN[kind], times=2))

    assert "could not be reached" in found[0]
    assert found[1] == "[[A]]"
    assert len(used) == (1 if "gzip that" in kind or "encoding" in kind else 2)


def test_bytes_that_nobody_asked_for_do_not_answer_the_next_request():
    """A response that comes while nothing is asked ends the connection."""

    async def run():
        planted = whole(b'{"choices": [{"message": {"content": "[[B]]"}}]}')
        async with serving([whole(), planted]) as script:
            server = at(script.port)
            first = await asked(server)
            await asyncio.sleep(0.1)
            return first + await asked(server), [len(heads) for heads in script.heads]

    assert asyncio.run(run()) == (["[[A]]", "[[A]]"], [1, 1])


def test_a_connection_that_the_server_closed_meanwhile_is_left_before_anything_is_sent(monkeypatch):
    """The system knows it before the loop has looked: no request is lost on the way."""
    monkeypatch.setattr(connections, "DOUBT_S", 0.0)

    async def run():
        async with serving([whole(), "hold", None]) as script:
            server = at(script.port)
            first = await asked(server)
            for one in server._clients[asyncio.get_running_loop()].transport._direct._open:
                one._transport.pause_reading()  # as if the loop were busy
            script.held.set()
            await asyncio.sleep(0.05)
            return first + await asked(server), [len(heads) for heads in script.heads]

    assert asyncio.run(run()) == (["[[A]]", "[[A]]"], [1, 1])


def test_an_old_connection_is_not_used(monkeypatch):
    """What lies between may have forgotten it."""
    monkeypatch.setattr(connections, "IDLE_S", 0.0)
    assert asyncio.run(told(times=3)) == (["[[A]]"] * 3, [1, 1, 1])


def test_as_many_connections_as_calls_at_a_time():
    """Ten calls at a time open ten, and the next ten use them again; a call that is given up ends its own alone."""

    async def run():
        async with serving() as script:
            server = at(script.port)
            for _ in range(3):
                await asyncio.gather(*(asked(server) for _ in range(10)))
            before = len(script.heads)
            script.answers.append(["hold"])
            call = asyncio.ensure_future(asked(server))
            await asyncio.sleep(0.05)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await asyncio.gather(*(asked(server) for _ in range(10)))
            return before, len(script.heads)

    assert asyncio.run(run()) == (10, 11)


def test_a_call_that_times_out_ends_its_connection():
    """Its late response answers nobody else."""
    late = [b"", *[b""] * 30, whole(b'{"choices": [{"message": {"content": "[[B]]"}}]}')]
    found, used = asyncio.run(told(late, times=2, timeout_s=0.2))

    assert "did not answer within timeout_s=0.2" in found[0]
    assert found[1] == "[[A]]"
    assert used == [1, 1]


def test_a_server_is_reached_over_ipv6_and_by_its_name():
    """The name and the port stand in the host header."""

    async def run(host, name):
        async with serving(host=host) as script:
            found = await asked(at(script.port, host=name))
            return found, script.heads[0][0].split(b"\r\n")[1], script.port

    for host, name in (("127.0.0.1", "localhost"), ("::1", "[::1]")):
        try:
            found, line, port = asyncio.run(run(host, name))
        except OSError:
            assert host == "::1"  # a machine without IPv6
            continue
        assert found == ["[[A]]"]
        assert line == f"host: {name}:{port}".encode()


def test_a_header_cannot_begin_another_one():
    """A value from a variable may hold a line break: nothing is sent then."""

    async def run(secrets):
        async with serving() as script:
            return await asked(at(script.port, secrets=secrets)), script.heads

    for broken in ("t\r\nx-admin: 1", "t\nx", "t\0"):
        found, heads = asyncio.run(run(Secrets("k", {"X-Token": broken})))
        assert "could not be reached" in found[0]
        assert heads == []


def test_a_certificate_is_checked(monkeypatch):
    """A server that nobody vouches for is not asked; with SSL_CERT_FILE it is, by the names that it proves."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    async def run(host, listening="127.0.0.1"):
        async with serving(host=listening, ssl=context) as script:
            found = await asked(at(script.port, host=host, scheme="https"), 3)
            return found, [len(heads) for heads in script.heads]

    refused, heads = asyncio.run(run("localhost"))
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    trusted, again = asyncio.run(run("localhost"))
    other, none = asyncio.run(run("127.0.0.2", "127.0.0.2"))

    assert all("certificate" in one.lower() for one in (*refused, *other))
    assert (heads, none) == ([], [])
    assert (trusted, again) == (["[[A]]"] * 3, [3])


@pytest.mark.parametrize(
    ("names", "spared"),
    [
        ("judge.test", [0, 1, 2]),
        ("*.judge.test", [0, 1, 2]),
        ("judge.test:8443", [1]),
        ("*", [0, 1, 2, 3, 4]),
        (" 10.0.0.0/8 , other", [3]),
        ("10.1.2.3", [3]),
        ("[2001:db8::1]", [4]),
        ("2001:db8::/32", [4]),
        ("/,:,10.0.0.0/99", []),
    ],
)
def test_servers_that_no_proxy_names_are_reached_without_one(monkeypatch, names, spared):
    """In each of the usual forms: a key would else be shown to the proxy, or the server not found."""
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    monkeypatch.setenv("no_proxy", names)
    urls = ["judge.test/v1", "judge.test:8443/v1", "a.judge.test", "10.1.2.3/v1", "[2001:db8::1]/v1"]

    assert [place for place, url in enumerate(urls) if proxy_of(f"https://{url}") is None] == spared


def test_a_proxy_of_the_environment_is_used_for_other_machines(monkeypatch):
    """It gets the whole address, and the response that it gives is the server's; a fault of it is one of the call."""

    async def run(*answers):
        async with serving(*answers) as script:
            for name in ("HTTP_PROXY", "http_proxy"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{script.port}")
            for name in ("NO_PROXY", "no_proxy"):
                monkeypatch.delenv(name, raising=False)
            server = at(80, host="judge.test")
            found = await asked(server, 2)
            await server.close()
            return found, [head.split(b"\r\n")[0] for heads in script.heads for head in heads]

    found, lines = asyncio.run(run(whole(), whole(gzip.compress(BODY), b"content-encoding: gzip")))
    lost, _ = asyncio.run(run([None], b"SSH-2.0\r\n\r\n"))

    assert found == ["[[A]]"] * 2
    assert set(lines) == {b"POST http://judge.test/v1/chat/completions HTTP/1.1"}
    assert all("could not be reached" in one for one in lost)
