"""Requests through a proxy on loopback, forwarded and through a tunnel: what it sees, and what is no whole response."""

import asyncio
import base64
import gzip
import ssl
from contextlib import asynccontextmanager, closing, suppress

import pytest

from calm.models.relays import Proxied
from calm.models.transport import MOST_BYTES, Cut, TooLarge
from tests.models.test_connection import BODY, CERTIFICATE, serving, whole

HEADERS = {"authorization": "Bearer k-1", "x-team": "é"}


@asynccontextmanager
async def tunnels(status=b"200 OK"):
    """Run a proxy that connects to whatever it is asked for; it notes the heads of what it is asked."""
    heads = []

    async def copied(reader, writer):
        with suppress(ConnectionError):
            while part := await reader.read(65_536):
                writer.write(part)
                await writer.drain()

    async def serve(reader, writer):
        with closing(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head)
            writer.write(b"HTTP/1.1 %b\r\n\r\n" % status)
            if not status.startswith(b"200"):
                return
            host, _, port = head.split()[1].decode().rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            with closing(back):
                await asyncio.wait(
                    [asyncio.create_task(copied(reader, back)), asyncio.create_task(copied(there, writer))],
                    return_when=asyncio.FIRST_COMPLETED,
                )

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heads
    finally:
        listening.close()


def safety():
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(CERTIFICATE)
    return found


async def through(proxy, url, trusted, times=1):
    """Return what came of some posts to a server through a proxy: the content, or the error."""
    way = Proxied(proxy, ssl.create_default_context(cafile=CERTIFICATE if trusted else None))
    found = []
    for _ in range(times):
        try:
            found.append((await way.post(url, HEADERS, b"{}")).content)
        except (OSError, ValueError) as error:
            found.append(error)
    await way.close()
    return found


def test_an_https_server_is_reached_through_a_tunnel_that_sees_no_key():
    """The proxy gets its own password and the name of the server; the certificate of the server is checked."""

    async def run():
        async with tunnels() as (port, heads), serving(whole(), whole(), host="localhost", ssl=safety()) as script:
            proxy, url = f"http://joe:p%40ss@127.0.0.1:{port}", f"https://localhost:{script.port}/v1/chat/completions"
            trusted = await through(proxy, url, True, 2)
            return trusted, await through(proxy, url, False), heads, [len(seen) for seen in script.heads if seen]

    trusted, refused, heads, served = asyncio.run(run())

    assert trusted == [BODY, BODY]
    assert isinstance(refused[0], OSError)
    assert served == [2]
    assert all(head.startswith(b"CONNECT localhost:") and b"k-1" not in head for head in heads)
    assert all(b"Basic " + base64.b64encode(b"joe:p@ss") in head for head in heads)


@pytest.mark.parametrize("status", [b"407 Proxy Authentication Required", b"502 Bad Gateway"])
def test_a_tunnel_that_is_refused_is_an_error_of_the_connection(status):
    async def run():
        async with tunnels(status) as (port, _):
            return await through(f"http://127.0.0.1:{port}", "https://judge.test/v1", True)

    (error,) = asyncio.run(run())

    assert isinstance(error, ConnectionError)
    assert not isinstance(error, Cut)
    assert status[:3].decode() in str(error)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"
BAD = {
    "cut within the body": ([HEAD + b"abc", None], Cut),
    "cut within an error": ([HEAD.replace(b"200 OK", b"500 No") + b"abc", None], ConnectionError),
    "cut before the head": ([None], ConnectionError),
    "another protocol": (b"SSH-2.0\r\n\r\n", ConnectionError),
    "too large": ([b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * (MOST_BYTES + 1)], TooLarge),
    "grows": (whole(gzip.compress(b"a" * 1_000_000), b"content-encoding: gzip"), TooLarge),
    "an unknown coding": (whole(BODY, b"content-encoding: br"), ValueError),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_whole_response_is_an_error(kind):
    answer, expected = BAD[kind]

    async def run():
        async with serving(answer) as script:
            return await through(f"http://127.0.0.1:{script.port}", "http://judge.test/v1", False)

    (error,) = asyncio.run(run())

    assert isinstance(error, expected)
    assert isinstance(error, Cut) == (expected is Cut)


def test_a_redirect_is_a_response_as_any_other():
    async def run():
        moved = b"HTTP/1.1 307 Moved\r\nlocation: http://elsewhere.test/\r\ncontent-length: 2\r\n\r\nok"
        async with serving(moved, whole(gzip.compress(BODY), b"content-encoding: gzip")) as script:
            found = await through(f"http://127.0.0.1:{script.port}", "http://judge.test/v1", False, 2)
            return found, [head for heads in script.heads for head in heads]

    found, heads = asyncio.run(run())

    assert found == [b"ok", BODY]
    assert [head.split()[1] for head in heads] == [b"http://judge.test/v1"] * 2
    assert all("x-team: é".encode() in head and b"host: judge.test" in head.lower() for head in heads)


@pytest.mark.parametrize("proxy", ["socks4://127.0.0.1:9", "http://joe:se/cret@127.0.0.1:9", "ftp://h"])
def test_an_address_that_is_none_of_a_proxy_is_an_error_without_its_password(proxy):
    async def run():
        return await through(proxy, "http://judge.test/v1", False)

    with pytest.raises(ValueError, match="proxy") as caught:
        asyncio.run(run())

    assert "cret" not in str(caught.value)
