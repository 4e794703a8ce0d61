"""Requests as they are sent and stored: body, size, and key in the cache."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Final

from calm.core.recent import Recent
from calm.engine.attempts import Call
from calm.engine.rows import request_text
from calm.engine.servers import Server, Servers
from calm.models.pricing import tokens_in
from calm.models.wire import Request, Sent

if TYPE_CHECKING:
    from hashlib import _Hash as _Digest

_COMPACT: Final = json.JSONEncoder(separators=(",", ":"))
REMEMBERED: Final = 1 << 22
"""Bytes of requests that are remembered; the same one is sent several times, under several repeat indices."""
LEAST_BYTES: Final = 2000
"""About how many bytes a request takes beside the texts in it."""


@dataclass(eq=False)
class PreparedRequest:
    """
    A request with its server and its body as it is sent.

    `digest` is that of its key without the repeat index, `shown` counts the characters of the prompt, and `size` those
    of the body or the prompt, whichever has more.
    """

    request: Request
    server: Server
    sent: Sent
    digest: _Digest
    size: int
    shown: int

    def key(self, ask: int) -> bytes:
        """Return its key in the cache, for a repeat index."""
        key = self.digest.copy()
        key.update(f",{ask}]".encode())
        return key.digest()

    @cached_property
    def call(self) -> Call:
        """What makes it."""
        endpoint = self.request.endpoint
        tokens = tokens_in(self.shown) // 2 + endpoint.max_tokens // 8
        # what makes it may not hold this request, which holds it: each would wait for the collector of cycles
        make = partial(endpoint.call, self.sent)
        beginning = self.beginning if any(self.sent.shared[:1]) else b""
        return Call(endpoint, make, self.size, tokens, endpoint.retries, self.sent, beginning)

    @property
    def beginning(self) -> bytes:
        """What its prompt and those about all other cases begin with, and which server it goes to."""
        text = "".join(message.text for message in self.request.prompt)[: self.sent.shared[0]]
        return blake2b(f"{self.server.identity} {text}".encode(errors="surrogatepass"), digest_size=16).digest()

    @property
    def stored(self) -> str:
        """The text that the cache keeps of it."""
        return request_text(self.request.prompt, self.sent.text, self.sent)


class Requests:
    """Prepares requests. The model that serves a server is a part of the key, and so is a series that is not ""."""

    def __init__(self, servers: Servers, series: str = "") -> None:
        self._servers = servers
        self._series = (series,) if series else ()
        self._prepared = Recent[int, PreparedRequest](REMEMBERED)

    def prepared(self, request: Request) -> PreparedRequest:
        """Return a request with all that follows from it."""
        found = self._prepared.get(id(request))  # which holds the request
        if found is None:
            server = self._servers.of(request.endpoint)
            served = self._servers.served.get(server.identity, "")
            again = (request.occurrence,) if request.occurrence else ()  # a number, which no series is
            whose = _COMPACT.encode([server.identity, served, *self._series, *again])
            sent = Sent(request.body, request.shared)
            shown = sum(len(m.text) for m in request.prompt)
            digest = sha256(f"{whose[:-1]},".encode())
            digest.update(sent.text.encode())
            made = PreparedRequest(request, server, sent, digest, max(len(sent.text), shown), shown)
            found = self._prepared.put(id(request), made, LEAST_BYTES + len(sent.text) + shown)
        return found
