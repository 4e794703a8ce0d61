"""
How many questions a second go through a record on a server, against a file: `python -m benchmarks.shared_record`.

The judge answers at once, 64 calls at a time. So only the record takes time: a look-up, a lease and a commit for each
question, and with a cap a reservation. The server syncs its disk. A relay delays each way by half of the round trip.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter, sleep

from calm.engine.engine import Engine
from calm.engine.money import Caps, Money
from calm.engine.store import Mode, Store
from calm.models.wire import Limits
from calm.plugins.postgres.server import read_address
from tests.planted import Asking, Local, pairs
from tests.servers.postgres import PASSWORD, free_port, running

QUESTIONS, AT_ONCE = 2000, 64
ROUND_TRIPS_MS = (0.0, 0.1, 2.0)


def delay(port: int, target: int, each_way_s: float) -> None:
    """Pass everything on between two ports, each piece after a wait."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while (piece := await pieces.get())[1]:
                await asyncio.sleep(max(0.0, piece[0] - loop.time()))
                writer.write(piece[1])
            writer.close()

        writing = loop.create_task(write())
        while data := await reader.read(1 << 16):
            pieces.put_nowait((loop.time() + each_way_s, data))
        pieces.put_nowait((0.0, b""))
        await writing

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer), return_exceptions=True)

    async def serve() -> None:
        async with await asyncio.start_server(accept, "127.0.0.1", port) as server:
            await server.serve_forever()

    asyncio.run(serve())


def questions_a_second(store: Store, *, capped: bool = False) -> float:
    """Ask all questions through a store, and return how many went through in a second."""
    money = Money(Caps(calls=10**6), store.account) if capped else None
    judge, cases = Asking(Local(limits=Limits(concurrency=AT_ONCE))), [(case, 1) for case in pairs(QUESTIONS)]
    with closing(Engine(store, money=money)) as engine:
        began = perf_counter()
        engine.ask(judge, cases)
        return QUESTIONS / (perf_counter() - began)


def main() -> None:
    """Print a row for the file, and for each round trip."""
    os.environ["PGPASSWORD"] = PASSWORD
    os.chdir(tempfile.mkdtemp(prefix="calm-bench-"))
    print("| record | new | new, capped | kept |\n|---|---|---|---|")
    rows = [questions_a_second(Store(Path(name), Mode.ON), capped=name == "b") for name in ("a", "b", "a")]
    print(f"| file | {' | '.join(f'{n:.0f}' for n in rows)} |", flush=True)
    with running(fsync="on", synchronous_commit="on") as server:
        for number, trip_ms in enumerate(ROUND_TRIPS_MS):
            port, relay = server.port, None
            if trip_ms:
                port = free_port()
                relay = multiprocessing.Process(target=delay, args=(port, server.port, trip_ms / 2000), daemon=True)
                relay.start()
                sleep(1.0)

            def at(name: str, port: int = port) -> Store:
                return Store(read_address(server.url(name, port=port, sslmode="disable"), "URL", os.environ), Mode.ON)

            plain, capped = f"plain{number}", f"capped{number}"
            rows = [questions_a_second(at(name), capped=name == capped) for name in (plain, capped, plain)]
            print(f"| server, {trip_ms:g} ms | {' | '.join(f'{n:.0f}' for n in rows)} |", flush=True)
            if relay is not None:
                relay.terminate()


if __name__ == "__main__":
    main()
