"""
The same judgments through this engine, through nothing at all and through other tools, side by side.

    python -m benchmarks.throughput [--write PAGE] [--peers FOLDER] [--calls N] [--in-flight N] [--rounds N] [--large]

Starts a judge server of our own on loopback (`stub/stub.c`: answers after 50 ms; needs a C compiler), and runs each
tool as a whole process on one processor, the server on another. Rounds take all tools in turn, so that a busy machine
is busy for all of them; the table gives the medians, and their ratios are of one round. With `--peers` the other tools
are installed in FOLDER, each in an environment of its own, and run on 1,000 and on 3,000 judgments with 100 in flight,
as is this engine: what the 2,000 more took is what a tool sustains, without its start and end. `--large` adds 100,000
judgments, asked and then all cached.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from benchmarks.pages import measured, put

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
ASKS_A_CASE = 10
REPEATS = "2+2"
"""Asks of a case in a gate of three probes: 2 as it stands, 2 with inert words, and 2 for each probe, 10 together."""
PEERS = {
    "openevals": ["openevals", "openai"],
    "pydantic-evals": ["pydantic-evals", "pydantic-ai-slim[openai]"],
    "inspect-ai": ["inspect-ai", "openai"],
    "deepeval": ["deepeval"],
    "promptfoo": [],
}
OTHERS = ("anyio", "hypothesispytest", "xdist", "xdist.looponfail")
"""Plugins that are in an environment for development and in no user's: Hypothesis alone takes half a second."""
SMALL, LONGER, SMALL_IN_FLIGHT = 1000, 3000, 100
LONGEST_S = 900
JUDGE = """[judge]
name = "stub"
task = "pairwise"
[model]
provider = "openai"
model = "stub-judge"
base_url = "{url}"
max_tokens = 64
concurrency = {in_flight}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds on the clock and of the processor, most memory, calls that the server counted."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    calls: int


@dataclass(frozen=True, slots=True)
class Entrant:
    """A tool, how many judgments it makes, and how its command is made for a fresh folder."""

    name: str
    judgments: int
    command: Callable[[Path], Sequence[str]]
    prepare: Callable[[Path], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Load:
    """What is judged: cases, how many judgments of them, how many at a time, and by which server."""

    cases: Path
    judgments: int
    in_flight: int
    url: str


@contextmanager
def stub(folder: Path, ports: Sequence[str], processor: int | None) -> Iterator[None]:
    """Compile the server and keep it up."""
    program = folder / "stub"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("expected a C compiler (cc, gcc or clang), and found none")
    subprocess.run([compiler, "-O2", "-o", program, HERE / "stub" / "stub.c"], check=True)
    process = subprocess.Popen([*pinned(processor), str(program), *ports], stdout=subprocess.PIPE)
    try:
        if process.stdout is None or process.stdout.readline() != b"ready\n":
            raise SystemExit(f"the server did not start: are the ports {', '.join(ports)} free?")
        yield
    finally:
        process.terminate()
        process.wait()


def pinned(processor: int | None) -> list[str]:
    """Return what keeps a command on one processor, where the system can."""
    return ["taskset", "-c", str(processor)] if processor is not None and shutil.which("taskset") else []


def counted(url: str, path: str) -> int:
    """Ask the server how many calls came, or to forget them."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}{path}", timeout=10) as answer:
        return int(json.load(answer)["count"])


def timed(
    command: Sequence[str], folder: Path, url: str, processor: int | None = 0, *, fine: Sequence[int] = (0,)
) -> Run:
    """Run one process, on one processor or on all (None), and measure it and what it started whole."""
    counted(url, "/reset")
    with (folder / "log.txt").open("w") as log:
        began = perf_counter()
        whole = [*pinned(processor), *command]
        process = subprocess.Popen(whole, cwd=folder, stdout=log, stderr=log, env=environment())
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended or perf_counter() - began > LONGEST_S:
                break
            sleep(0.01)
        wall_s = perf_counter() - began
    if not ended:
        process.kill()
        process.wait()
        raise RuntimeError(f"not done after {LONGEST_S} s")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in fine:
        raise RuntimeError((folder / "log.txt").read_text()[-600:])
    return Run(wall_s, used.ru_utime + used.ru_stime, memory_mb(used), counted(url, "/count"))


def memory_mb(used: resource.struct_rusage) -> float:
    """Return the most memory that a process had."""
    return used.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def environment() -> dict[str, str]:
    """Return the environment of a run: with this checkout, and as usual with bytecode that is kept."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}


def gate(name: str, load: Load, cache: Path | None = None) -> Entrant:
    """Return a whole run of pytest with three probes: decisions, results and report."""

    def prepare(folder: Path) -> None:
        (folder / "judge.toml").write_text(JUDGE.format(url=load.url, in_flight=load.in_flight))
        if cache is not None:
            shutil.copy(cache, folder / "cache.sqlite")

    def command(folder: Path) -> list[str]:
        where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
        where += [part for name in OTHERS for part in ("-p", f"no:{name}")]
        outputs = [f"--calm-results={folder / 'results.json'}", f"--calm-report={folder / 'report.html'}"]
        return [
            *(sys.executable, "-m", "pytest", "-q", *where, str(HERE / "gate" / "test_load.py")),
            *(f"--calm-judge={folder / 'judge.toml'}", f"--calm-cases={load.cases}", *outputs),
            *(f"--calm-sample={load.judgments // ASKS_A_CASE}", f"--calm-cache-file={folder / 'cache.sqlite'}"),
            *("--calm-stopping=fixed", f"--calm-repeats={REPEATS}"),
        ]

    return Entrant(name, load.judgments, command, prepare)


def bare(name: str, load: Load, cache: Path | None = None) -> Entrant:
    """Return the floor: the same judgments with nothing around them."""

    def command(folder: Path) -> list[str]:
        where = [str(cache or folder / "bare.sqlite"), str(folder / "bare.json")]
        asked = [str(load.cases), str(load.judgments), str(load.in_flight), load.url]
        return [sys.executable, str(HERE / "bare.py"), *asked, *where]

    return Entrant(name, load.judgments, command)


def peer(name: str, home: Path, prompts: Path, url: str) -> list[Entrant]:
    """Return another tool, installed in a folder of its own, with few judgments and more; nothing if it cannot be."""
    folder = home / name
    try:
        if name == "promptfoo":
            program = folder / "node_modules" / ".bin" / "promptfoo"
            if not program.exists():
                folder.mkdir(parents=True, exist_ok=True)
                subprocess.run(["npm", "install", "--silent", "--prefix", folder, name], check=True, timeout=LONGEST_S)
            python, more = sys.executable, [str(program)]
        else:
            python, more = str(folder / "bin" / "python"), []
            if not Path(python).exists():
                subprocess.run([sys.executable, "-m", "venv", folder], check=True)
                subprocess.run([python, "-m", "pip", "install", "-q", *PEERS[name]], check=True, timeout=LONGEST_S)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{name}: does not install: {error}", file=sys.stderr)
        return []
    script = str(HERE / "peers" / f"{name.removesuffix('-ai').replace('-', '_')}_peer.py")

    def entrant(count: int) -> Entrant:
        given = [script, str(prompts), str(count), str(SMALL_IN_FLIGHT), url, *more]
        return Entrant(_sized(name, count), count, lambda _: [python, *given])

    return [entrant(SMALL), entrant(LONGER)]


def _sized(name: str, count: int) -> str:
    return name if count == SMALL else f"{name}, {count:,}"


def sustained(names: Sequence[str], found: dict[str, list[Run]], ours: str) -> str:
    """Return what each tool makes of judgments without its start and end: the difference of two sizes."""
    lines = ["| sustained | a second | CPU ms each | calm is faster by |", "|---|---|---|---|"]
    rates = {}
    for name in names:
        pairs = list(zip(found.get(name, []), found.get(_sized(name, LONGER), []), strict=False))
        if pairs:
            more, mid = LONGER - SMALL, statistics.median
            rates[name] = mid(more / (b.wall_s - a.wall_s) for a, b in pairs), mid(b.cpu_s - a.cpu_s for a, b in pairs)
    for name, (rate, cpu_s) in rates.items():
        lines.append(f"| {name} | {rate:.0f} | {1000 * cpu_s / (LONGER - SMALL):.3f} | {rates[ours][0] / rate:.1f} |")
    return "\n".join(lines)


def rounds(entrants: Sequence[Entrant], count: int, url_of: Callable[[Entrant], str]) -> dict[str, list[Run]]:
    """Run all in turn, so many times."""
    found: dict[str, list[Run]] = {}
    broken: set[str] = set()
    for number in range(count):
        for entrant in entrants:
            if entrant.name in broken:
                continue
            with TemporaryDirectory() as name:
                folder = Path(name)
                entrant.prepare(folder)
                try:
                    run = timed(entrant.command(folder), folder, url_of(entrant))
                except RuntimeError as error:
                    broken.add(entrant.name)
                    print(f"{entrant.name}: left out, its run failed: {error}", file=sys.stderr)
                    continue
            print(f"round {number + 1}: {entrant.name}: {entrant.judgments / run.wall_s:.0f}/s", file=sys.stderr)
            found.setdefault(entrant.name, []).append(run)
    return found


def table(entrants: Sequence[Entrant], found: dict[str, list[Run]], against: str) -> str:
    """Return the medians, and ratios of speed and of processor time to those of one of them."""
    floor = found[against]
    size = {entrant.name: entrant.judgments for entrant in entrants}
    lines = [
        f"| whole process, one processor | judgments | a second | CPU ms each | memory MB | calls | speed / {against} "
        f"| CPU / {against} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, runs in found.items():
        n, mid = size[name], statistics.median
        wall_s, cpu_s = mid(r.wall_s for r in runs), mid(r.cpu_s for r in runs)
        pairs = list(zip(runs, floor, strict=False))
        speed = mid((n / a.wall_s) / (size[against] / b.wall_s) for a, b in pairs)
        cost = mid((a.cpu_s / n) / (b.cpu_s / size[against]) for a, b in pairs)
        calls, memory = mid(r.calls for r in runs), mid(r.memory_mb for r in runs)
        lines.append(
            f"| {name} | {n} | {n / wall_s:.0f} | {1000 * cpu_s / n:.3f} | {memory:.0f} | {calls:.0f} "
            f"| {speed:.2f} | {cost:.2f} |"
        )
    return "\n".join(lines)


def write_cases(folder: Path, count: int) -> Path:
    """Write cases whose gold a program knows."""
    path = folder / f"cases-{count}.jsonl"
    command = ["-m", "calm", "cases", "generate", "--task", "pairwise", "--count", str(count), "--seed", "1"]
    subprocess.run([sys.executable, *command, "-o", path], check=True, env=environment(), stdout=subprocess.DEVNULL)
    return path


def write_prompts(cases: Path, path: Path) -> Path:
    """Write the questions and answers that other tools judge: both answers of a case, one a line."""
    with cases.open(encoding="utf-8") as lines, path.open("w", encoding="utf-8") as out:
        for line in lines:
            case = json.loads(line)
            for answer in case["answers"]:
                out.write(json.dumps({"question": case["question"], "answer": answer["text"]}) + "\n")
    return path


def filled(entrant: Entrant, folder: Path, url: str, name: str) -> Path:
    """Run once and keep the cache that it leaves."""
    home = folder / f"filling {entrant.name}"
    home.mkdir()
    entrant.prepare(home)
    run = timed(entrant.command(home), home, url)
    print(f"{entrant.name}, to fill the cache: {run}", file=sys.stderr)
    return home / name


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--peers", type=Path, help="install other tools here, and run them, too")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=8350)
    parser.add_argument("--large", action="store_true", help="also 100,000 judgments, asked and cached")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page, too")
    given = parser.parse_args()
    last = (os.cpu_count() or 1) - 1
    url, json_url = (f"http://127.0.0.1:{given.port + n}/v1" for n in (0, 1))
    with TemporaryDirectory() as name:
        folder = Path(name)
        said = folder / "said.txt"
        said.write_text('{"score": 0.8, "pass": true, "reason": "ok", "reasoning": "ok"}')
        ports = [f"{given.port}:50", f"{given.port + 1}:50:{said}"]
        with stub(folder, ports, last or None):
            cases = write_cases(folder, given.calls // ASKS_A_CASE)
            load = Load(cases, given.calls, given.in_flight, url)
            floor, ours = bare("bare", load), gate("calm", load)
            kept, kept_bare = filled(ours, folder, url, "cache.sqlite"), filled(floor, folder, url, "bare.sqlite")
            first = [floor, ours, bare("bare, all cached", load, kept_bare), gate("calm, all cached", load, kept)]
            found = {"throughput": table(first, rounds(first, given.rounds, lambda _: url), "bare")}
            if given.large:
                many = write_cases(folder, 10_000)
                load = Load(many, 100_000, given.in_flight, url)
                asked = gate("calm, 100,000", load)
                kept = filled(asked, folder, url, "cache.sqlite")
                third = [bare("bare, 100,000", load), asked, gate("calm, 100,000, all cached", load, kept)]
                found["throughput"] += "\n\n" + table(third, rounds(third, 1, lambda _: url), "bare, 100,000")
            if given.peers:
                longer = write_cases(folder, LONGER // ASKS_A_CASE)
                prompts = write_prompts(write_cases(folder, LONGER // 2), folder / "prompts.jsonl")
                second = [
                    make(_sized(name, count), Load(longer, count, SMALL_IN_FLIGHT, url))
                    for name, make in (("bare", bare), ("calm", gate))
                    for count in (SMALL, LONGER)
                ]
                for tool in PEERS:
                    second += peer(tool, given.peers.resolve(), prompts, url_for(tool, url, json_url))
                runs = rounds(second, given.rounds, lambda one: url_for(one.name.split(",")[0], url, json_url))
                lasting = sustained(["bare", "calm", *PEERS], runs, "calm")
                found["peers"] = f"{table(second, runs, 'calm')}\n\n{lasting}"
    for block, text in found.items():
        print(text, "\n", sep="")
        if given.write is not None:
            put(given.write, block, text, measured())


def url_for(name: str, url: str, json_url: str) -> str:
    """Return the server for a tool: those that ask for JSON get JSON."""
    return url if name in ("bare", "calm", "promptfoo", "inspect-ai") else json_url


if __name__ == "__main__":
    main()
