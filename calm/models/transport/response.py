"""What comes back from a server: a response, or the reason why there is none."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

MOST_BYTES: Final = 8_000_000
"""A reply over this size is an error: no verdict is that long, and many are read at a time."""
MOST_PACKED_BYTES: Final = 20_000
"""The same for a compressed reply, which is not asked for: it can grow a thousandfold."""
_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
_EITHER: Final = 32
"""Added to the size of its window, it has zlib find out whether there is a header of gzip or one of zlib."""
_CODED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Response:
    """What was answered, with whatever status: the headers as `plain` gives them, and the unpacked bytes."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def kind(self) -> str:
        """What the bytes are said to be."""
        return self.headers.get("content-type", "no content type")


class NoResponse(Exception):
    """No whole response came. `cause` is a `TimeoutError`, a `TooLarge`, a `Cut`, or what else stopped it."""

    def __init__(self, error: BaseException) -> None:
        self.cause = _bottom(error)
        super().__init__(str(self.cause))


class TooLarge(ValueError):
    """A reply that is too large to be read."""


class Cut(ConnectionError):
    """A response of success that began and did not end: the server may bill it."""


def plain(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names in lower case, without those that speak of the bytes on the wire."""
    return {name.lower(): value for name, value in headers if name.lower() not in _CODED}


def packed(headers: Mapping[str, str]) -> bool:
    """Return whether the bytes are compressed; the headers must be looked up without regard to case."""
    return headers.get("content-encoding", "identity").lower() not in {"", "identity"}


def too_large(most: int) -> TooLarge:
    """Return the error for a reply of more than so many bytes."""
    return TooLarge(f"the reply is larger than {most} bytes, the most that is read")


def unpacked(response: Response, headers: Mapping[str, str]) -> Response:
    """
    Return a response whose bytes are compressed, as `headers` say, with what they hold.

    Raises:
        TooLarge: that is more than such a reply may have.
        ValueError: they cannot be unpacked.
    """
    coding, content = headers.get("content-encoding", "").lower(), response.content
    if coding not in _CODINGS:
        raise ValueError(f"the reply has the content encoding {coding!r}, which was not asked for")
    bare = coding == "deflate" and content[:1] != b"\x78"  # some leave out the header that begins so
    packer = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | _EITHER)
    try:
        found = packer.decompress(content, MOST_PACKED_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"the reply cannot be unpacked: {error}") from None
    if len(found) > MOST_PACKED_BYTES:
        raise too_large(MOST_PACKED_BYTES)
    if not packer.eof:
        raise ValueError("the reply cannot be unpacked: it is cut")
    return replace(response, content=found)


async def read(chunks: AsyncIterable[bytes], headers: Mapping[str, str]) -> bytes:
    """
    Return the bytes of all chunks, unpacked as they are.

    Raises:
        TooLarge: there are more than a reply may have.
    """
    most = MOST_PACKED_BYTES if packed(headers) else MOST_BYTES
    found = bytearray()  # it grows in place: a list of chunks would stand beside the whole
    async for chunk in chunks:
        if len(found) + len(chunk) > most:
            raise too_large(most)
        found += chunk
    return bytes(found)


def _bottom(error: BaseException) -> BaseException:
    """Return what is at the bottom of an error: the SDKs wrap it twice and call much of it a timeout."""
    while error.__cause__ is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error
