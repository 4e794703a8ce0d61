"""
Feed every reader of a file with changed copies of good files.

A reader may return, or refuse in words (a `CalmError`); any other exception, a hang and a want of memory are findings.
Each input follows from the seed, the reader and its number: `--only READER --number N` runs one again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from calm.errors import CalmError
from tests.fuzz import mutations
from tests.fuzz.readers import READERS, Reader

MEMORY = 3 * 10**9
"""Bytes that a child may take beyond what it has when it begins."""
HANG_S = 60
"""Seconds of processor time on one input."""
SLICE_S = 20
"""Seconds of processor time that one child feeds its reader for."""
LONG = 20_000
"""Characters that a refusal may have."""


def written(reader: Reader, seeds: list, folder: Path, rng: Random) -> None:
    """Write one input of a reader into a folder."""
    files = rng.choice(seeds)
    if reader.write is not None:
        reader.write(folder, files, rng)
        return
    chosen = rng.choice([*files])
    every = [data for held in seeds for data in held.values()]
    for name, data in files.items():
        new = data
        if name == chosen:
            if reader.changed is None or rng.random() < reader.by_bytes or name.endswith(".gz"):
                new = mutations.bytes_of(data, rng, every)
            else:
                new = reader.changed(data, rng)
                if rng.random() < 0.1:
                    new = mutations.bytes_of(new, rng, every)
        (folder / name).write_bytes(new)


def place_of(error: BaseException) -> str:
    """Return what went wrong and where: the last line of ours in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        one
        for one in frames
        if "/calm/" in one.filename or "/perturbations/" in one.filename or "/reports/" in one.filename
    ]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} in {last.filename.rpartition('/calm/')[2]}:{last.lineno} ({last.name})"


def fed(reader: Reader, seed: int, start: int, count: int, home: Path, say) -> None:
    """Feed a reader; what is said goes to the parent, a line for each step."""
    seed_folder = home / "seeds"
    shutil.rmtree(seed_folder, ignore_errors=True)
    seed_folder.mkdir(parents=True)
    seeds = reader.seeds(seed_folder)
    begun = time.process_time()
    for number in range(start, start + count):
        folder = home / "input"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            written(reader, seeds, folder, Random(f"{seed}/{reader.name}/{number}"))
        except Exception:  # noqa: BLE001 - such a file cannot be written at all
            continue
        copy = home / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        say(f"begin\t{number}")
        try:
            reader.read(folder)
            say("read\t")
        except CalmError as error:
            bad = (
                "" if 0 < len(str(error)) < LONG else f"a refusal of {len(str(error))} characters in {place_of(error)}"
            )
            say(f"finding\t{bad}" if bad else "refused\t")
        except MemoryError as error:
            say(f"finding\tmemory: {place_of(error)}")
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            say(f"finding\t{place_of(error)}: {str(error)[:200]!r}")
        if time.process_time() - begun > SLICE_S:
            break
    say("end\t")


def child(reader: Reader, seed: int, start: int, count: int, home: Path, out: int) -> None:
    """Feed a reader in this process, within limits; it ends with it."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        fed(reader, seed, start, count, home, lambda said: os.write(out, f"{said}\n".encode("utf-8", "replace")))
    except BaseException:  # noqa: BLE001 - the lane itself is wrong
        os.write(out, f"broken\t{traceback.format_exc()[-1500:]!r}\n".encode())
    os._exit(0)


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process and its children took."""
    with contextlib.suppress(OSError):
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, parts[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def turn(reader: Reader, seed: int, start: int, count: int, home: Path, found: dict, kept: Path) -> Counter:
    """Run one child; return how many inputs were read and refused, and note what was found."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(reader, seed, start, count, home, writing)
    os.close(writing)
    counts: Counter = Counter()
    rest, number, since, ended = b"", start, 0.0, False
    wall = time.monotonic()

    def finding(what: str) -> None:
        counts["finding"] += 1
        name = (reader.name, what.partition(": ")[0])
        if name not in found:
            found[name] = f"{reader.name} #{number}: {what}"
            print(f"FOUND {found[name]}", flush=True)
            with contextlib.suppress(OSError):
                shutil.copytree(
                    home / "copy",
                    kept / f"{reader.name.replace(' ', '-').replace('/', '-')}-{number}",
                    dirs_exist_ok=True,
                )

    while not ended:
        ready, _, _ = select.select([reading], [], [], 2)
        if not ready:
            busy = processor_time(pid) - since
            if busy > HANG_S or time.monotonic() - wall > 20 * HANG_S:
                os.kill(pid, signal.SIGKILL)
                finding(f"hang: {busy:.0f} s of processor time on one input")
                break
            continue
        part = os.read(reading, 1 << 16)
        if not part:
            finding("crash: the process ended")
            break
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            kind, _, what = line.decode("utf-8", "replace").partition("\t")
            if kind == "begin":
                number, since, wall = int(what), processor_time(pid), time.monotonic()
                counts["inputs"] += 1
            elif kind == "finding":
                finding(what)
            elif kind == "broken":
                finding(f"the lane itself: {what}")
                ended = True
            elif kind == "end":
                ended = True
            else:
                counts[kind] += 1
    os.close(reading)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    counts["next"] = number + 1
    return counts


def main() -> int:
    """Run for so many minutes; the status is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one reader, by its name")
    parser.add_argument("--number", type=int, help="one input of it")
    parser.add_argument("--kept", type=Path, help="where inputs that were found stay; the default is a new folder")
    options = parser.parse_args()
    readers = [one for one in READERS if options.only in (None, one.name)]
    if not readers:
        parser.error(f"expected a reader: {', '.join(one.name for one in READERS)}")
    kept = options.kept or Path(tempfile.mkdtemp(prefix="calm-fuzz-found-"))
    total = {one.name: Counter() for one in readers}
    found: dict = {}
    following = dict.fromkeys(total, options.number or 0)
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="calm-fuzz-") as home:
        while True:
            for reader in readers:
                count = 1 if options.number is not None else 10**6
                counts = turn(reader, options.seed, following[reader.name], count, Path(home), found, kept)
                following[reader.name] = counts.pop("next")
                total[reader.name] += counts
                if time.monotonic() > end:
                    break
            if time.monotonic() > end or options.number is not None:
                break
            print(f"{sum(one['inputs'] for one in total.values()):,} inputs, {len(found)} findings", flush=True)
    width = max(map(len, total))
    print(f"\nseed {options.seed}, {options.minutes:g} minutes; inputs that are found stay in {kept}")
    print(f"{'reader':{width}}  inputs    read  refused  found")
    for name, one in total.items():
        print(f"{name:{width}} {one['inputs']:7,} {one['read']:7,} {one['refused']:8,} {one['finding']:6,}")
    spent = os.times().children_user + os.times().children_system
    print(
        f"{'all':{width}} {spent / 60:.1f} minutes of processor time, "
        f"{sum(one['inputs'] for one in total.values()):,} inputs; findings: {len(found)}"
    )
    for said in found.values():
        print(f"  {said}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
