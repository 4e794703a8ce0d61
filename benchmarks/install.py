"""
What an installed calm weighs, and how long it takes to start.

    python benchmarks/install.py                    # print it
    python benchmarks/install.py --write            # write it into docs/measured/performance.md

Builds the wheel, installs it with what it needs into an empty environment without a cache of packages (with uv, too, if
there is one), and adds up the files of each package there, without bytecode and with it. Then it starts Python in that environment for each thing to import, in turn, with bytecode in place,
and gives the median processor time beside that of an interpreter that does nothing.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

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


def environment(folder: Path) -> tuple[Path, Path, dict[str, tuple[float, float]]]:
    """Install the wheel into a new environment; return its Python, the wheel, and each tool's seconds and CPU seconds."""
    checked(sys.executable, "-m", "build", "--no-isolation", "--wheel", f"--outdir={folder}", ROOT)
    wheel, uv = next(folder.glob("*.whl")), shutil.which("uv")
    for name in ("env", "other"):
        checked(sys.executable, "-m", "venv", folder / name)
    python, other = (folder / name / "bin" / "python" for name in ("env", "other"))
    took = {"`pip install --no-cache-dir`": cold(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", wheel)}
    if uv:
        took["`uv pip install --no-cache`"] = cold(uv, "pip", "install", "--quiet", "--no-cache", "--python", other, wheel)
    return python, wheel, took


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


def tables(
    both: dict[str, tuple[int, int]], wheel: int, took: dict[str, tuple[float, float]], starts: dict[str, float]
) -> str:
    """Return the tables: installs, sizes in MB (10^6 bytes), and starts in ms and as a multiple of nothing."""
    sizes, whole = ({name: pair[i] for name, pair in both.items() if name not in TOOLS} for i in (0, 1))
    every, ours = sum(sizes.values()), sizes.pop("calm-judge")
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:LARGEST]
    rest = sum(sizes.values()) - sum(size for _, size in largest)
    rows = [("calm", ours), *largest, (f"{len(sizes) - LARGEST} others", rest), ("all together", every)]
    lines = ["| install of the wheel | packages | MB | MB with bytecode | seconds | CPU s |", "|---|---|---|---|---|---|"]
    for name, (seconds, used) in took.items():
        lines.append(
            f"| {name} | {len(whole)} | {every / 1e6:.0f} | {sum(whole.values()) / 1e6:.0f} | {seconds:.0f} | {used:.0f} |"
        )
    lines += ["", "| package | MB | of all |", "|---|---|---|", f"| the wheel of calm | {wheel / 1e6:.1f} | |"]
    lines += [f"| {name} | {size / 1e6:.1f} | {size / every:.0%} |" for name, size in rows]
    bare = starts["Python that does nothing"]
    lines += ["", "| start | CPU ms | of Python that does nothing |", "|---|---|---|"]
    lines += [f"| {name} | {ms:.0f} | {ms / bare:.1f} |" for name, ms in starts.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--write", action="store_true", help=f"write it into {PAGE.relative_to(ROOT)}")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        python, wheel, took = environment(Path(temporary))
        both = json.loads(checked(python, "-c", FILES))
        times: dict[str, list[float]] = {name: [] for name in STARTS}
        for number in range(given.rounds + 1):
            for name, arguments in STARTS.items():
                one = started(python, arguments)
                if number:  # the first round writes the bytecode
                    times[name].append(one)
        middle = {name: statistics.median(each) for name, each in times.items()}
        found = tables(both, wheel.stat().st_size, took, middle)
    if not given.write:
        print(found)
        return
    before, _, after = PAGE.read_text("utf-8").partition(OPEN)
    if not after:
        raise SystemExit(f"{PAGE}: expected {OPEN!r}")
    PAGE.write_text(f"{before}{OPEN}{found}{CLOSE}{after.partition(CLOSE)[2]}", "utf-8")


if __name__ == "__main__":
    main()
