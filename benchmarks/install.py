"""
What an installed calm weighs, and how long it takes to start.

    python -m benchmarks.install                    # print it
    python -m benchmarks.install --write docs/measured/performance.md

Builds the wheel, installs it with what it needs into an empty environment without a cache of packages, also with uv if
there is one, which writes no bytecode, and adds up the files of each package there. Then it starts Python in that
environment for each thing to import, in turn, with bytecode in place, and gives the median processor time beside that
of an interpreter that does nothing.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.pages import measured, put

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 8
STARTS = {
    "Python that does nothing": ("-c", "pass"),
    "`import calm`": ("-c", "import calm"),
    "`import pytest`": ("-c", "import pytest"),
    "`from calm import gain`": ("-c", "from calm import gain"),
    "`calm --version`": ("-m", "calm", "--version"),
    "`import openai`": ("-c", "import openai"),
}
"""What is started: the third and the last one stand there to compare with."""
TOOLS = ("pip", "setuptools")
"""What a new environment has before anything is installed."""
FILES = """
import json
from importlib.metadata import distributions
from pathlib import Path
sizes = {}
for one in distributions():
    paths = {Path(one.locate_file(file)).resolve() for file in one.files or ()}
    found = [(path.suffix == ".pyc", path.stat().st_size) for path in paths if path.is_file()]
    sizes[one.name.lower()] = [sum(size for code, size in found if code <= much) for much in (False, True)]
print(json.dumps(sizes))
"""


def checked(*command: object) -> str:
    """Return what a command prints, or end with what it says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True, slots=True)
class Installed:
    """What a tool installed: the environment's Python, and the seconds that it took, on the clock and the processor."""

    python: Path
    seconds: float
    cpu_s: float

    def sizes(self) -> dict[str, tuple[int, int]]:
        """Return the bytes of each package without bytecode, and with what there is of it."""
        found = json.loads(checked(self.python, "-c", FILES))
        return {name: (plain, whole) for name, (plain, whole) in found.items() if name not in TOOLS}


def environments(folder: Path) -> tuple[Path, dict[str, Installed]]:
    """Install the wheel into new environments; return it, and what each tool made of it."""
    checked(sys.executable, "-m", "build", "--no-isolation", "--wheel", f"--outdir={folder}", ROOT)
    wheel, uv = next(folder.glob("*.whl")), shutil.which("uv")
    made: dict[str, Installed] = {}
    for name in ("`pip install --no-cache-dir`", "`uv pip install --no-cache`")[: 2 if uv else 1]:
        home = folder / str(len(made))
        checked(sys.executable, "-m", "venv", home)
        python = home / "bin" / "python"
        tool = [uv, "pip", "install", "--python", python, "--no-cache"] if made else [python, "-m", "pip", "install"]
        made[name] = Installed(python, *cold(*tool, "--quiet", *([] if made else ["--no-cache-dir"]), wheel))
    return wheel, made


def cold(*command: object) -> tuple[float, float]:
    """Return the seconds that a command takes, on the clock and of the processor."""
    before, began = cpu_s(), perf_counter()
    checked(*command)
    return perf_counter() - began, cpu_s() - before


def cpu_s() -> float:
    """Return the processor's seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def started(python: Path, arguments: tuple[str, ...]) -> float:
    """Return the processor's milliseconds of one start."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    before = cpu_s()
    subprocess.run([python, *arguments], env=env, stdout=subprocess.DEVNULL, check=True)
    return (cpu_s() - before) * 1000


def tables(wheel: int, made: dict[str, Installed], starts: dict[str, float]) -> str:
    """Return the tables: installs, sizes in MB (10^6 bytes), and starts in ms and as a multiple of nothing."""
    lines = ["| cold install of the wheel | packages | MB | seconds | CPU s |", "|---|---|---|---|---|"]
    for name, one in made.items():
        disk = one.sizes()
        whole = sum(size for _, size in disk.values()) / 1e6
        lines.append(f"| {name} | {len(disk)} | {whole:.0f} | {one.seconds:.0f} | {one.cpu_s:.0f} |")
    sizes = {name: plain for name, (plain, _) in disk.items()}
    every, ours = sum(sizes.values()), sizes.pop("calm-judge")
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:LARGEST]
    rest = sum(sizes.values()) - sum(size for _, size in largest)
    rows = [("calm", ours), *largest, (f"{len(sizes) - LARGEST} others", rest), ("all together", every)]
    lines += [
        "",
        "| package | MB without bytecode | of all |",
        "|---|---|---|",
        f"| the wheel of calm | {wheel / 1e6:.1f} | |",
    ]
    lines += [f"| {name} | {size / 1e6:.1f} | {size / every:.0%} |" for name, size in rows]
    bare = starts["Python that does nothing"]
    lines += ["", "| start | CPU ms | of Python that does nothing |", "|---|---|---|"]
    lines += [f"| {name} | {ms:.0f} | {ms / bare:.1f} |" for name, ms in starts.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page, too")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        wheel, made = environments(Path(temporary))
        python = next(iter(made.values())).python
        times: dict[str, list[float]] = {name: [] for name in STARTS}
        for number in range(given.rounds + 1):
            for name, arguments in STARTS.items():
                one = started(python, arguments)
                if number:  # the first round writes the bytecode
                    times[name].append(one)
        middle = {name: statistics.median(each) for name, each in times.items()}
        found = tables(wheel.stat().st_size, made, middle)
    print(found)
    if given.write is not None:
        put(given.write, "install", found, measured())


if __name__ == "__main__":
    main()
