"""
A gate of 100,000 judgments by the batch APIs: split into batches, handed in, and collected.

    python -m benchmarks.batch [--calls N ...] [--write docs/measured/performance.md]

The server (`tests/servers/batching`, a process of its own) answers each batch as soon as it has it, so its time shows
where the run waits for it; a provider takes minutes or hours there. Each run is a whole process, on one processor; the
server is on another.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

from benchmarks.pages import measured, put
from benchmarks.throughput import ASKS_A_CASE, JUDGE, Load, environment, gate, memory_mb, pinned, write_cases
from tests.servers.batching.apart import Apart, apart

HEAD = """\
| provider | judgments | batches | until sent, s | server, s | until reported, s | CPU ms each | memory MB |
|---|---|---|---|---|---|---|---|"""
REPLY = "Both were read with care. The first one is the better one. [[A]]"


def row(provider: str, server: Apart, folder: Path, load: Load) -> str:
    """Run once, and return its line of the table."""
    entrant = gate(provider, load)
    judge = JUDGE.format(url=load.url, in_flight=load.in_flight).replace('"openai"', f'"{provider}"')
    (folder / "judge.toml").write_text(judge)
    began = time()
    with (folder / "log.txt").open("w") as log:
        command = [*pinned(0), *entrant.command(folder), "--calm-batch"]
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    ended = time()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit((folder / "log.txt").read_text()[-2000:])
    told = server.told()
    batches, billed = told["batches"], told["billed"]
    if any(times != 1 for times, _, _ in billed.values()):
        raise SystemExit("a judgment was answered twice")
    first = max(batch["times"]["created"] for batch in batches)
    over = max(batch["times"]["completed"] for batch in batches)
    cpu_s, count = used.ru_utime + used.ru_stime, len(billed)
    cells = (f"{first - began:.1f}", f"{over - first:.1f}", f"{ended - over:.1f}", f"{1000 * cpu_s / count:.3f}")
    return f"| {provider} | {count:,} | {len(batches)} | {' | '.join(cells)} | {memory_mb(used):.0f} |"


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, nargs="+", default=[10_000, 100_000], metavar="N")
    parser.add_argument("--providers", nargs="+", default=["openai", "anthropic"], metavar="PROVIDER")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page, too")
    options = parser.parse_args()
    lines = [HEAD]
    with apart(REPLY) as server, TemporaryDirectory() as name:
        for calls in options.calls:
            cases = write_cases(Path(name), calls // ASKS_A_CASE)
            for provider in options.providers:
                folder = Path(name) / f"{provider}-{calls}"
                folder.mkdir()
                server.forget()
                lines.append(row(provider, server, folder, Load(cases, calls, 32, server.url)))
                print(lines[-1], file=sys.stderr)
    text = "\n".join(lines)
    print(text)
    if options.write is not None:
        put(options.write, "batch", text, measured())


if __name__ == "__main__":
    main()
