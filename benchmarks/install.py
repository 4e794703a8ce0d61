"""
What an installed calm weighs, and how long it takes to start.

    python benchmarks/install.py                    # print it
    python benchmarks/install.py --write            # write it into docs/measured/performance.md

Builds the wheel, installs it with what it needs into an empty environment, and adds up the files of each package there,
without bytecode. Then it starts Python in that environment for each thing to import, in turn, with bytecode in place,
and gives the median processor time beside that of an interpreter that does nothing.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "measured" / "performance.md"
OPEN, CLOSE = "<!-- measured: install -->\n", "<!-- end: install -->"
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
FILES = """
import json
from importlib.metadata import distributions
from pathlib import Path
sizes = {}
for one in distributions():
    paths = {Path(one.locate_file(file)).resolve() for file in one.files or () if not str(file).endswith(".pyc")}
    sizes[one.name.lower()] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(sizes))
"""


def checked(*command: object) -> str:
    """Return what a command prints, or end with what it says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path) -> tuple[Path, Path]:
    """Install the wheel into a new environment, and return its Python and the wheel."""
    checked(sys.executable, "-m", "build", "--no-isolation", "--wheel", f"--outdir={folder}", ROOT)
    wheel = next(folder.glob("*.whl"))
    checked(sys.executable, "-m", "venv", folder / "env")
    python = folder / "env" / "bin" / "python"
    checked(python, "-m", "pip", "install", "--quiet", wheel)
    return python, wheel


def started(python: Path, arguments: tuple[str, ...]) -> float:
    """Return the processor's milliseconds of one start."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, *arguments], env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def tables(sizes: dict[str, int], wheel: int, starts: dict[str, float]) -> str:
    """Return both tables: sizes in MB (10^6 bytes) and as a share of all, starts in ms and as a multiple of nothing."""
    ours, tools = sizes.pop("calm-judge"), ("pip", "setuptools")
    needed = {name: size for name, size in sizes.items() if name not in tools}
    largest = sorted(needed.items(), key=lambda pair: -pair[1])[:LARGEST]
    rest = sum(needed.values()) - sum(size for _, size in largest)
    every = ours + sum(needed.values())
    rows = [("calm", ours), *largest, (f"{len(needed) - LARGEST} others", rest), ("all together", every)]
    bare = starts["Python that does nothing"]
    lines = ["| package | MB | of all |", "|---|---|---|", f"| the wheel of calm | {wheel / 1e6:.1f} | |"]
    lines += [f"| {name} | {size / 1e6:.1f} | {size / every:.0%} |" for name, size in rows]
    lines += ["", "| start | CPU ms | of Python that does nothing |", "|---|---|---|"]
    lines += [f"| {name} | {took:.0f} | {took / bare:.1f} |" for name, took in starts.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help=f"write it into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        python, wheel = environment(Path(temporary))
        sizes = json.loads(checked(python, "-c", FILES))
        times: dict[str, list[float]] = {name: [] for name in STARTS}
        for number in range(given.rounds + 1):
            for name, arguments in STARTS.items():
                took = started(python, arguments)
                if number:  # the first round writes the bytecode
                    times[name].append(took)
        found = tables(sizes, wheel.stat().st_size, {name: statistics.median(each) for name, each in times.items()})
    if not given.write:
        print(found)
        return
    before, _, after = PAGE.read_text("utf-8").partition(OPEN)
    if not after:
        raise SystemExit(f"{PAGE}: expected {OPEN!r}")
    PAGE.write_text(f"{before}{OPEN}{found}{CLOSE}{after.partition(CLOSE)[2]}", "utf-8")


if __name__ == "__main__":
    main()
