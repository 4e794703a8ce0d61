"""
The own transport beside a plain client of httpx2, in one run: is it worth its lines?

    python -m benchmarks.transport                                      # print it
    python -m benchmarks.transport --write docs/measured/performance.md

Each sends the same bodies to a server of our own on loopback (`stub/stub.c`, answers after 1 ms; needs a C compiler),
which has the other processor. They take turns, with 32 and with 400 calls in flight. The table gives the medians of
calls a second, of the processor's microseconds of a call, and of the ratios within one round. The transport stays
while it makes at least 1.5 times as many calls as httpx2.
"""

import argparse
import asyncio
import os
import statistics
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import httpx2

from benchmarks.pages import measured, put
from benchmarks.throughput import stub
from calm.core.edits import Message
from calm.models.connections import FastTransport
from calm.models.server import Server
from calm.models.transport import ours
from calm.models.wire import Json, encoded

IN_FLIGHT = (32, 400)
PROMPT = (
    Message("system", "You judge."),
    Message("user", "Which answer is better? " + "An answer of some words. " * 40),
)


async def timed(
    send: Callable[[dict[str, Json]], Awaitable[object]], body: dict[str, Json], calls: int, room: int
) -> tuple[float, float]:
    """Return the calls a second and the processor's microseconds of a call, with so many calls in flight."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await send(body)

    began, used = perf_counter(), process_time()
    await asyncio.gather(*(work() for _ in range(room)))
    return calls / (perf_counter() - began), 1e6 * (process_time() - used) / calls


async def rows(url: str, room: int, calls: int, rounds: int) -> list[str]:
    """Return two rows of the table, for one number of calls in flight."""
    server = Server("openai", "stub-judge", base_url=url)
    own, body, address = FastTransport(server.address), server.body(PROMPT), server.address
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    found: dict[str, list[tuple[float, float]]] = {"own": [], "httpx2": []}
    async with httpx2.AsyncClient(limits=limits, headers=ours(address), timeout=None, trust_env=False) as client:

        async def plain(body: dict[str, Json]) -> None:
            (await client.post(address.url + address.path, content=encoded(body))).raise_for_status()

        for number in range(rounds + 1):
            for name, send in (("own", own.send), ("httpx2", plain)):
                took = await timed(send, body, calls, room)
                if number:  # the first round opens the connections
                    found[name].append(took)
    await own.close()
    pairs = list(zip(found["own"], found["httpx2"], strict=True))
    ratios = [
        statistics.median(f(a, b) for a, b in pairs) for f in (lambda a, b: a[0] / b[0], lambda a, b: a[1] / b[1])
    ]
    rows = []
    for name, (speed, cost) in (("own", ratios), ("httpx2", (1.0, 1.0))):
        a_second, micros = (statistics.median(one) for one in zip(*found[name], strict=True))
        rows.append(f"| {name} | {room} | {a_second:,.0f} | {micros:.0f} | {speed:.1f} | {cost:.2f} |")
    return rows


def main() -> None:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--calls", type=int, default=1000, help="in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=8360)
    parser.add_argument("--write", type=Path, help="a page to write it into")
    given = parser.parse_args()
    last = (os.cpu_count() or 1) - 1
    lines = ["| transport | in flight | calls a second | CPU µs each | speed / httpx2 | CPU / httpx2 |"]
    lines.append("|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder, stub(Path(folder), [f"{given.port}:1"], last or None):
        if last and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {0})
        for room in IN_FLIGHT:
            lines += asyncio.run(rows(f"http://127.0.0.1:{given.port}/v1", room, given.calls, given.rounds))
    table = "\n".join(lines) + "\n"
    if given.write is None:
        print(table)
        return
    put(given.write, "transport", table, measured())


if __name__ == "__main__":
    main()
