"""
How many prompt tokens a real llama.cpp server computes for a gate: each question by itself in the order, or by case.

    python -m benchmarks.prefixes --server llama-server --gguf model.gguf                 # print the table
    python -m benchmarks.prefixes ... --write docs/measured/performance.md               # put it into the page

`llama-server` is llama.cpp's own, of any build. For each run it starts anew, with nothing kept, and takes the calls of
a whole run of pytest with the bundled prompt. Its own counters say which tokens it computed, and which it had kept. A
grammar makes any model say a verdict, so that a small one will do. `--layers 1` keeps only the first layer of it: the
counts are of the same kind, in a tenth of the time. It needs the package `gguf`.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter, sleep
from urllib.request import urlopen

from benchmarks.pages import measured, put

ROOT = Path(__file__).resolve().parent.parent
SUITES = ("position", "authority", "sentiment")
START_S = 120
CONTEXT = 2048
JUDGE = """[judge]
name = "local"
task = "pairwise"
[model]
provider = "openai"
model = "local"
base_url = "{url}/v1"
temperature = 0.0
max_tokens = 8
concurrency = {concurrency}
timeout_s = 600
extra_body = {{ grammar = 'root ::= "[[A]]" | "[[B]]"' }}
"""


@dataclass(frozen=True, slots=True)
class Way:
    """How a gate asks: the server's slots, calls at a time, the server's own store in memory, and the order."""

    slots: int
    concurrency: int
    store_mb: int
    by_case: bool

    @property
    def words(self) -> str:
        """The order, as the table names it."""
        return "by case" if self.by_case else "each by itself"


WAYS = tuple(
    Way(slots, concurrency, store_mb, by_case)
    for slots, concurrency, store_mb in ((1, 1, 0), (4, 4, 0), (1, 1, 8192), (4, 8, 0))
    for by_case in (False, True)
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a run took: calls, prompt tokens sent, those of them that the server computed, seconds of pytest."""

    calls: int
    sent: int
    computed: int
    wall_s: float

    @property
    def saved(self) -> float:
        """The share of the tokens sent that the server had kept."""
        return 1 - self.computed / self.sent


def cut(gguf: Path, layers: int, folder: Path) -> Path:
    """Write a copy of a model with its first layers only, and return its path."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter

    reader = GGUFReader(gguf)
    kind = reader.fields["general.architecture"].contents()
    path = folder / "cut.gguf"
    writer = GGUFWriter(path, kind)
    for name, one in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        within = one.types[-1] if one.types[0] == GGUFValueType.ARRAY else None
        value = layers if name == f"{kind}.block_count" else one.contents()
        writer.add_key_value(name, value, one.types[0], sub_type=within)
    numbered = [(re.match(r"blk\.(\d+)\.", tensor.name), tensor) for tensor in reader.tensors]
    kept = [tensor for number, tensor in numbered if number is None or int(number[1]) < layers]
    for tensor in kept:
        writer.add_tensor_info(
            tensor.name, tensor.data.shape, tensor.data.dtype, tensor.data.nbytes, tensor.tensor_type
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in kept:
        writer.write_tensor_data(tensor.data)
    writer.close()
    return path


@contextmanager
def served(server: str, gguf: Path, way: Way, log: Path) -> Iterator[str]:
    """Serve a model in this block, on one core, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "--model": gguf,
        "--alias": "local",
        "--host": "127.0.0.1",
        "--port": port,
        "--parallel": way.slots,
        "--ctx-size": CONTEXT * way.slots,
        "--cache-ram": way.store_mb,
        "--threads": 1,
        "--threads-batch": 1,
    }
    command = [server, *(str(part) for option in options.items() for part in option), "--metrics"]
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as running:
        try:
            until = monotonic() + START_S
            while not answers(f"{url}/health"):
                if running.poll() is not None or monotonic() > until:
                    raise SystemExit(f"{server} did not start:\n{log.read_text('utf-8', 'replace')[-1000:]}")
                sleep(0.2)
            yield url
        finally:
            running.kill()  # it has nothing to lose


def answers(url: str) -> bool:
    """Return whether a server answers that it is ready."""
    try:
        urlopen(url, timeout=5).close()
    except OSError:
        return False
    return True


def counter(url: str, name: str) -> int:
    """Return one of the counters of a server."""
    with urlopen(f"{url}/metrics", timeout=60) as page:
        text = page.read().decode()
    found = re.search(rf"^llamacpp:{name} (\S+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the server counts no {name}:\n{text}")
    return int(float(found[1]))


def run(server: str, gguf: Path, way: Way, *, cases: int, suites: Sequence[str] = SUITES) -> Counted:
    """Run the gate once on a fresh server."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with served(server, gguf, way, folder / "server.log") as url:
            judge = JUDGE.format(url=url, concurrency=way.concurrency)
            (folder / "judge.toml").write_text(judge, "utf-8")
            began = perf_counter()
            done = subprocess.run(
                command_of(folder, way, cases, suites),
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"},
                capture_output=True,
                text=True,
                check=False,
            )
            wall_s = perf_counter() - began
            made = re.search(r"; ([\d,]+) calls", done.stdout)
            if made is None or done.returncode not in (0, 1):
                raise SystemExit(done.stdout[-3000:] + done.stderr[-1000:])
            computed, kept = counter(url, "prompt_tokens_total"), counter(url, "prompt_tokens_cached_total")
    return Counted(int(made[1].replace(",", "")), computed + kept, computed, wall_s)


def command_of(folder: Path, way: Way, cases: int, suites: Sequence[str]) -> list[str]:
    """Return the command of a gate that asks about all cases, so that both orders ask the same."""
    order = [] if way.by_case else ["-p", "benchmarks.scattered"]
    where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
    given = [f"--calm-judge={folder / 'judge.toml'}", f"--calm-sample={cases}", "--calm-cache=off"]
    tests = [str(ROOT / "suites" / f"test_{suite}.py") for suite in suites]
    return [sys.executable, "-m", "pytest", "-q", *where, *order, *given, "--calm-stopping=fixed", *tests]


def table(server: str, gguf: Path, ways: Sequence[Way], *, cases: int) -> str:
    """Return a line for each way; the time is a ratio to that of the old order."""
    lines = [
        "| slots | calls at a time | server's store, MB | order | calls | tokens sent | computed | kept | wall |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    before: dict[tuple[int, int, int], Counted] = {}
    for way in ways:
        found = run(server, gguf, way, cases=cases)
        old = before.setdefault((way.slots, way.concurrency, way.store_mb), found)
        lines.append(
            f"| {way.slots} | {way.concurrency} | {way.store_mb} | {way.words} | {found.calls:,} | {found.sent:,} "
            f"| {found.computed:,} | {found.saved:.0%} | {found.wall_s / old.wall_s:.2f} |"
        )
        print(lines[-1], f"{found.wall_s:.0f} s", file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--server", default="llama-server", help="the program (default llama-server)")
    parser.add_argument("--gguf", type=Path, required=True, help="a model that can follow a chat")
    parser.add_argument("--layers", type=int, metavar="N", help="keep only the first N layers of the model")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--ways", type=int, nargs="+", choices=range(len(WAYS)), default=range(len(WAYS)), metavar="N")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page, too")
    given = parser.parse_args()
    ways = [WAYS[number] for number in given.ways]
    with TemporaryDirectory() as folder:
        model = cut(given.gguf, given.layers, Path(folder)) if given.layers else given.gguf.resolve()
        text = table(given.server, model, ways, cases=given.cases)
    print(text)
    if given.write is not None:
        put(given.write, "prefixes", text, measured())


if __name__ == "__main__":
    main()
