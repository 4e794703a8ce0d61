"""What a run knows of the servers that it calls: their pace, health and price, and how many tokens they report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from calm.core.reasons import NONE, Kind, Reason, because, name
from calm.models.pacing import Health, Pace
from calm.models.pricing import price_of, tokens_in
from calm.models.wire import Batchable, Endpoint, Price, Usage

GREETING_TOKENS: Final = 1000
"""The most tokens that the prompt of a greeting is taken to have: one short sentence, and the judge's schema."""
MARGIN: Final = 1.2
"""A call may use this many times the most that was seen so far."""
KNOWN, SHORT = 3, 64
"""After so many replies the longest of them says what a short one is, but never less than so many tokens."""
ALL: Final = 10**9
GATHERED: Final = 1000
"""So many asks at a time write their calls down for a batch, or read the replies; those that wait are set aside."""
MOST_ENDPOINTS: Final = 1024
"""How many endpoints are remembered with their servers; beyond that their identities are read again."""


@dataclass(eq=False)
class Server:
    """
    What is known of the server of all endpoints of one identity; `endpoint` is the first of them.

    `per_character` and `output` are the most tokens that it has reported: for a character of a body, and for a reply.
    `written` is the most that one of its `replies` has, those of greetings left out; where it reports none, a byte of
    the text counts as a token.
    """

    identity: str
    endpoint: Endpoint
    pace: Pace
    health: Health
    per_character: float = 0.0
    output: int = 0
    written: int = 0
    replies: int = 0

    @cached_property
    def price(self) -> Price | None:
        """What its tokens cost, if it is known. The look-up takes a moment, and a replay does not need it."""
        return price_of(self.endpoint) if self.endpoint.live else None

    @cached_property
    def batchable(self) -> bool:
        """Whether calls to it can go by batch. Looked at for each call, and a protocol takes long to compare."""
        return isinstance(self.endpoint, Batchable)

    @cached_property
    def batch_price(self) -> Price | None:
        """What its tokens cost in a batch, if it is known."""
        price, endpoint = self.price, self.endpoint
        if price is None or not isinstance(endpoint, Batchable):
            return price
        return price.times(endpoint.batch_share)

    def price_of(self, *, batch: bool) -> Price | None:
        """Return what its tokens cost, live or in a batch."""
        return self.batch_price if batch else self.price

    def worst(self, size: int, max_tokens: int) -> Usage:
        """Return the most tokens that a call with a body of `size` characters can use; 0 stands for a greeting."""
        put = tokens_in(size, max(0.5, MARGIN * self.per_character)) if size else GREETING_TOKENS
        return Usage(put, max(max_tokens, int(MARGIN * self.output)))

    @property
    def short(self) -> int | None:
        """A limit of tokens that none of its replies so far would come near; None: too few are known."""
        return max(SHORT, 2 * self.written) if self.replies >= KNOWN else None

    def note(self, used: Usage, size: int, written: int) -> None:
        """Note what a call with a body of `size` characters used, and about how many tokens its reply has."""
        self.output = max(self.output, used.output or 0)
        if size:
            self.per_character = max(self.per_character, (used.input or 0) / size)
            self.written = max(self.written, written)
            self.replies += 1


class Servers:
    """
    The servers of a run, by the identities of their endpoints.

    `served` names the model that serves each of those that were greeted; `broken` is why the first one was given up.
    With `batches`, the calls to those that take batches go by batch.
    """

    def __init__(self, served: Mapping[str, str], *, batches: bool = False) -> None:
        self.served = dict(served)
        self.batches = batches
        self._first: dict[str, str] = {}
        self._servers: dict[str, Server] = {}
        self._endpoints: dict[int, tuple[Endpoint, Server]] = {}
        self.broken: Reason | None = None

    def of(self, endpoint: Endpoint) -> Server:
        """Return the server of an endpoint. It is remembered, because writing an identity down takes some time."""
        known = self._endpoints.get(id(endpoint))
        if known is not None:
            return known[1]
        identity, limits = endpoint.identity, endpoint.limits
        found = self._servers.get(identity)
        if found is None:
            found = self._servers[identity] = Server(identity, endpoint, Pace(limits), Health(limits))
        if len(self._endpoints) >= MOST_ENDPOINTS:
            self._endpoints.clear()
        self._endpoints[id(endpoint)] = endpoint, found
        return found

    def width(self, server: Server, *, holds: bool) -> int:
        """Return how many asks of a server may be under way; with `holds`, they stay so while they wait for a batch."""
        if self.batches and isinstance(server.endpoint, Batchable):
            return ALL if holds else GATHERED
        return server.pace.limits.concurrency

    def mismatch(self, server: Server, model: str) -> Reason:
        """
        Return why a reply of a model is not one of this run, or `NONE`.

        Where no greeting told which model serves the endpoint, it is the one that judge.toml names, or that of the
        first reply.
        """
        endpoint, known = server.endpoint, self.served.get(server.identity)
        if not model:
            return NONE
        if known is None and endpoint.served_as is not None and model != endpoint.served_as:
            return because(Kind.NOT_SERVED_AS, name(endpoint.model), name(model), name(endpoint.served_as))
        expected = known or self._first.setdefault(server.identity, model)
        return NONE if model == expected else because(Kind.OTHER_MODEL, *map(name, (endpoint.model, expected, model)))

    def lose(self, server: Server, why: Reason) -> None:
        """Give a server up; the first reason of a run stays in `broken`."""
        server.health.lose(why)
        self.broken = self.broken or why

    def stop(self, why: Reason) -> None:
        """End all waits for servers."""
        for server in self._servers.values():
            server.health.lose(why)

    def trust(self) -> None:
        """Trust all servers again, those that were given up included."""
        for server in self._servers.values():
            server.health = Health(server.pace.limits)
