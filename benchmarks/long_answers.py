"""
How much memory a gate takes whose answers are long, and how its processor time grows with the number of cases.

    python -m benchmarks.long_answers                                              # print the tables (two minutes)
    python -m benchmarks.long_answers --write docs/measured/performance.md

Two suites of the gate, authority and verbosity, run as whole processes of pytest, with results and report. First on 200
pairs of long answers: once with a simulated judge, and once with a model that a server of our own on loopback stands
for (`stub/stub.c`, which needs a C compiler). Then on many short cases, with a simulated judge. `memory` is the most
that a process had in memory at one moment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from benchmarks.pages import measured, put
from benchmarks.throughput import JUDGE, OTHERS, ROOT, Run, stub, timed, write_cases

SUITES = ("authority", "verbosity")
SIMULATED = "planted:noise=0.05"
CASES, SIZES = 200, (20, 100)
"""How many cases have long answers, and how many kilobytes each of their answers has."""
COUNTS = (2000, 8000)
"""How many short cases there are."""
IN_FLIGHT, DELAY_MS = 32, 1
_WORDS = (
    "a able about after again air all also and another any answer around as ask at away back be because before began "
    "being below best better between both boat bring but by call came can carry change city close cold come could "
    "country cut day did different do does door down each early earth east eat end enough even every example eye face "
    "family far farm father feet few find first fish follow food for form found four from garden get give go good "
    "great green ground group grow had half hand hard has have head hear help here high him his hold home horse house "
    "how"
)
WORDS = _WORDS.split()


def prose(rng: Random, size: int) -> str:
    """Return sentences in paragraphs, about so many characters, in which no number and no name stands."""
    parts: list[str] = []
    left = size
    while left > 0:
        words = rng.choices(WORDS, k=rng.randint(8, 18))
        sentence = f"{words[0].capitalize()} {' '.join(words[1:])}."
        parts += [sentence, "\n\n" if rng.random() < 0.15 else " "]
        left -= len(sentence) + 1
    return "".join(parts[:-1])


def write_long(path: Path, cases: int, kilobytes: int) -> Path:
    """Write pairs of long answers, of which one is said to be better."""
    rng = Random(kilobytes)
    with path.open("w", encoding="utf-8") as out:
        for number in range(cases):
            answers = [{"id": name, "text": prose(rng, 1000 * kilobytes)} for name in ("x", "y")]
            row = {"id": f"long-{number:04}", "question": f"What of {prose(rng, 60)}", "answers": answers}
            out.write(json.dumps({**row, "better": rng.choice("xy")}) + "\n")
    return path


def run(judge: str, cases: Path, folder: Path, url: str, options: Sequence[str] = ()) -> Run:
    """Run the suites in a folder, and measure the process."""
    where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
    where += [part for name in OTHERS for part in ("-p", f"no:{name}")]
    outputs = [f"--calm-results={folder / 'results.json'}", f"--calm-report={folder / 'report.html'}"]
    command = [
        *(sys.executable, "-m", "pytest", "-q", *where, *(str(ROOT / "suites" / f"test_{one}.py") for one in SUITES)),
        *(f"--calm-judge={judge}", f"--calm-cases={cases}", "--calm-sample=100000", *outputs),
        *(f"--calm-cache-file={folder / 'cache.sqlite'}", *options),
    ]
    return timed(command, folder, url, processor=None, fine=(0, 1))  # a gate may be red


def long_table(home: Path, url: str) -> str:
    """Return what long answers take."""
    (home / "judge.toml").write_text(JUDGE.format(url=url, in_flight=IN_FLIGHT), "utf-8")
    lines = [
        "| judge | cases | an answer, kB | file of cases, MB | memory, MB | processor, s | calls |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in SIZES:
        cases = write_long(home / f"long-{size}.jsonl", CASES, size)
        for name, judge in (("simulated", SIMULATED), ("a model", str(home / "judge.toml"))):
            with TemporaryDirectory() as folder:
                found = run(judge, cases, Path(folder), url)
            cells = f"{name} | {CASES} | {size} | {cases.stat().st_size / 1e6:.0f} | {found.memory_mb:.0f}"
            lines.append(f"| {cells} | {found.cpu_s:.1f} | {found.calls:,} |")
            print(lines[-1], file=sys.stderr)
        cases.unlink()
    return "\n".join(lines)


def count_table(home: Path, url: str) -> str:
    """Return what many short cases take, and how that grows."""
    lines = ["| short cases | memory, MB | processor, s | times that of the first row |", "|---|---|---|---|"]
    first = 0.0
    for count in COUNTS:
        cases = write_cases(home, count)
        with TemporaryDirectory() as folder:
            found = run(SIMULATED, cases, Path(folder), url)
        first = first or found.cpu_s
        lines.append(f"| {count:,} | {found.memory_mb:.0f} | {found.cpu_s:.1f} | {found.cpu_s / first:.2f} |")
        print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--port", type=int, default=8390)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page, too")
    given = parser.parse_args()
    url = f"http://127.0.0.1:{given.port}/v1"
    with TemporaryDirectory() as name:
        home = Path(name)
        with stub(home, [f"{given.port}:{DELAY_MS}"], None):
            text = f"{long_table(home, url)}\n\n{count_table(home, url)}"
    print(text)
    if given.write is not None:
        put(given.write, "long answers", text, measured())


if __name__ == "__main__":
    main()
