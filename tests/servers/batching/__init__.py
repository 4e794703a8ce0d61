"""
A server on loopback that answers as `wire_server` does, and takes the same requests by batch, too.

    from tests.servers.batching import Conduct, batch_server

    with batch_server(respond, conduct=Conduct(takes_s=None, expires=0.1)) as server:
        ...                                 # base_url = server.url: POST /v1/files, /v1/batches, /v1/messages/batches
        server.finish()                     # `takes_s=None`: a batch takes until it is told
        assert server.batches[-1].status == "expired"
        assert all(bill.times == 1 for bill in server.billed.values())

Each item is answered by the same `respond`, with the same refusals, as a live request. `server.conduct` says what goes
wrong and may be changed at any time. `python -m tests.servers.batching` is such a server in a process of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aiohttp import web

from tests.servers import Respond, Wire, serving
from tests.servers.batching import anthropic, openai
from tests.servers.batching.batch import Batch, Bill
from tests.servers.batching.conduct import Conduct
from tests.servers.batching.desk import Desk

__all__ = ["Batch", "BatchServer", "Bill", "Conduct", "batch_server"]


@dataclass(frozen=True)
class BatchServer:
    """A running server: the wire of live requests, and the desk of batches."""

    wire: Wire
    desk: Desk

    @property
    def url(self) -> str:
        """The `base_url` of a judge.toml, for every provider."""
        return self.wire.url

    @property
    def conduct(self) -> Conduct:
        """What goes wrong; change its fields."""
        return self.desk.conduct

    @property
    def batches(self) -> list[Batch]:
        """All batches that were ever made, in their order."""
        return list(self.desk.batches.values())

    @property
    def billed(self) -> dict[str, Bill]:
        """What was answered by batch, by custom_id."""
        return self.desk.billed

    def finish(self, batch_id: str | None = None, within_s: float = 60) -> None:
        """Bring a batch, or all, to its end now, and wait for it."""
        for batch in self.batches if batch_id is None else [self.desk.batches[batch_id]]:
            self.desk.loop.call_soon_threadsafe(batch.woken.set)
            assert batch.ended.wait(within_s), f"{batch.id} is {batch.status} after {within_s} s"

    def vanish(self, batch_id: str) -> None:
        """Know nothing of a batch any more."""
        self.desk.vanished.add(batch_id)


@contextmanager
def batch_server(
    respond: Respond,
    *,
    conduct: Conduct | None = None,
    model: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    models: Sequence[str] | None = None,
    greetings: bool = True,
) -> Iterator[BatchServer]:
    """Run a server in a thread of its own until the block ends; all but `conduct` is as for `wire_server`."""
    wire = Wire(respond, model, api_key, headers or {}, query or {}, models, greetings)
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(wire, replace(conduct or Conduct()), Path(folder))

        def add(app: web.Application) -> None:
            openai.routes(desk, app)
            anthropic.routes(desk, app)
            desk.routes(app)

        try:
            with serving(wire, add):
                yield BatchServer(wire, desk)
        finally:
            desk.thread.shutdown(cancel_futures=True)
