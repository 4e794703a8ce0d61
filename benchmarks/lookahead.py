"""
How near a suite of many probes comes to the time that its slowest answers take.

    python -m benchmarks.lookahead [--write PAGE] [--probes N] [--cases N] [--rounds N] [--median-ms X]

A judge in Python answers after a time that is drawn, for each question by itself, from a lognormal distribution with a
heavy tail (sigma 1.2), and writes a line for each question it is asked. Whole runs of pytest are timed: test by test,
with look-ahead, with two workers of xdist, and stopping early (the default) with one look at a time and with
the next one asked ahead. Beside each stands its floor, from the answers that it waited for: the slowest chain of
answers of which each is asked only when the one before is known. With look-ahead and a fixed design that is the
slowest answer; stopping early, the largest sum, over the looks of a probe, of the slowest answer of each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.pages import measured, put

ROOT = Path(__file__).resolve().parent.parent
SLOW = '''"""A judge whose answers take their time, written down question by question."""

import asyncio
import json
import os
from math import exp
from random import Random
from time import monotonic

from calm.core.case import digest
from calm.core.verdict import Preferred

MEDIAN_S, SIGMA, LOG = {median_s}, {sigma}, {log!r}


async def judge(case, send):
    """Prefer the better answer, and in one ask of twenty the other."""
    dice = Random(digest(case.id, case.question, send.ask))
    seconds = MEDIAN_S * exp(SIGMA * dice.gauss(0.0, 1.0))
    begun = monotonic()
    await asyncio.sleep(seconds)
    line = json.dumps([case.id, case.question, send.ask, seconds, begun, os.getpid()])
    with open(LOG, "a") as log:
        log.write(line + "\\n")
    errs = dice.random() < 0.05
    return Preferred(next(answer.id for answer in case.answers if (answer.id == case.better) is not errs))


judge.fingerprint = "slow 1"
judge.reads = "question", "answers", "better"
judge.concurrency = 4000
'''
SUITE = '''"""Probes of a polite word each."""

from dataclasses import replace

import pytest

from calm import Expects, net_robustness, perturbation


def polite(number):
    def add(case, rng):
        """Add a word to the question."""
        return replace(case, question=f"{{case.question}} Please ({{number}}).")

    add.__name__ = f"polite_{{number}}"
    return perturbation(bias="load", expects=Expects.SAME, source="own")(add)


EDITS = [polite(number) for number in range({probes})]


@pytest.mark.parametrize("edit", EDITS, ids=range({probes}))
def test_a_polite_word_does_not_move_the_verdict(probe, edit):
    assert probe(edit).proves(net_robustness >= 0.70)
'''
SIGMA = 1.2


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run the suite."""

    name: str
    options: Sequence[str]
    by_looks: bool = False
    in_turn: bool = False


WAYS = (
    Way("test by test", ["--calm-lookahead=0"], in_turn=True),
    Way("look-ahead", []),
    Way("look-ahead, -n 2", ["-n", "2"]),
    Way("sequential, test by test", ["--calm-lookahead=0"], by_looks=True, in_turn=True),
    Way("sequential, one look at a time", [], by_looks=True),
    Way("sequential, the next look asked ahead", ["--calm-looks-ahead=1"], by_looks=True),
)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question as the judge wrote it down."""

    case: str
    question: str
    ask: int
    seconds: float


def looks_of(cases: int) -> list[int]:
    """Return the numbers of cases at which a claim is looked at, as the engine plans them."""
    from calm.experiment.stopping import Stopping, looks

    return [look.n for look in looks(Stopping.SEQUENTIAL, cases, top_ups=0).looks if not look.topped]


def order_of(path: Path) -> dict[str, int]:
    """Return the place of each case in the order in which looks take them."""
    from calm.core.case import digest

    names = [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()]
    return {name: place for place, name in enumerate(sorted(names, key=lambda name: digest("sample", 0, name)))}


def probe_of(question: str) -> str:
    """Return the number of the probe that added a word to a question; nothing in the clean arm."""
    return question.rpartition("Please (")[2].removesuffix(").") if question.endswith(").") else ""


def floor_s(way: Way, answers: Iterable[Answered], place: dict[str, int], ends: Sequence[int]) -> float:
    """Return the time of the slowest chain of answers, or, test by test, of one chain after the other."""
    slowest: defaultdict[str, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for one in answers:
        batch = sum(place[one.case] >= end for end in ends) if way.by_looks else 0
        if one.ask > 2 and probe_of(one.question):
            batch += len(ends)  # asks of a top-up come after all looks
        chain = slowest[probe_of(one.question)]
        chain[batch] = max(chain[batch], one.seconds)
    clean: dict[int, float] = slowest.pop("", defaultdict(float))
    chains = [
        sum(max(own.get(k, 0.0), clean.get(k, 0.0) if k in own else 0.0) for k in {*own, *clean})
        for own in slowest.values()
    ]
    if not way.in_turn:
        return max(chains)
    first, *rest = [sum(own.values()) for own in slowest.values()]  # the clean arm is asked once, with the first
    return max(first, *clean.values()) + sum(rest)


def run(way: Way, folder: Path, cases: Path, count: int) -> tuple[float, list[Answered], str]:
    """Run the suite once; return its seconds, what the judge was asked, and the findings."""
    log = folder / "asked.jsonl"
    log.unlink(missing_ok=True)
    for old in folder.glob("cache.sqlite*"):
        old.unlink()
    where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
    given = [f"--calm-cases={cases}", f"--calm-sample={count}", f"--calm-cache-file={folder / 'cache.sqlite'}"]
    command = [sys.executable, "-m", "pytest", "-q", *where, str(folder / "test_polite.py"), "--calm-judge=slow:judge"]
    outputs = [f"--calm-results={folder / 'results.json'}"]
    began = perf_counter()
    done = subprocess.run(
        [*command, *given, *outputs, *way.options],
        cwd=folder,
        env=environment(ROOT, folder),
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = perf_counter() - began
    if done.returncode not in (0, 1):  # claims may be open
        raise SystemExit(f"{way.name}: the run failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    found = json.loads((folder / "results.json").read_text("utf-8"))["findings"]
    answers = [Answered(case, question, ask, took) for case, question, ask, took, *_ in rows]
    return seconds, answers, json.dumps(found, sort_keys=True)


def environment(*folders: Path) -> dict[str, str]:
    """Return the environment of a run that imports from some folders, and as usual with bytecode that is kept."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTHONDONTWRITEBYTECODE": ""}


def start_s(folder: Path) -> float:
    """Return what pytest and the plugin take to start and to end with one probe of one case, answered at once."""
    (folder / "test_start.py").write_text('def test_start(probe):\n    """Take the fixture alone."""\n')
    where = ["-c", os.devnull, f"--rootdir={folder}", "--import-mode=importlib", "-p", "no:cacheprovider"]
    env = environment(ROOT)
    began = perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", *where, "test_start.py", "--calm-judge=lexical"]
    subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    return perf_counter() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--probes", type=int, default=20)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--median-ms", type=float, default=200.0)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page, too")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        cases = folder / "cases.jsonl"
        made = ["cases", "generate", "--task", "pairwise", "--count", str(given.cases), "--seed", "1", "-o", str(cases)]
        env = environment(ROOT)
        subprocess.run([sys.executable, "-m", "calm", *made], check=True, env=env, stdout=subprocess.DEVNULL)
        slow = SLOW.format(median_s=given.median_ms / 1000, sigma=SIGMA, log=str(folder / "asked.jsonl"))
        (folder / "slow.py").write_text(slow)
        (folder / "test_polite.py").write_text(SUITE.format(probes=given.probes))
        place, ends = order_of(cases), looks_of(given.cases)
        found: dict[str, list[tuple[float, list[Answered], str]]] = {way.name: [] for way in WAYS}
        starts = []
        for _ in range(given.rounds):
            starts.append(start_s(folder))
            for way in WAYS:
                found[way.name].append(run(way, folder, cases, given.cases))
                print(f"{way.name}: {found[way.name][-1][0]:.1f} s", file=sys.stderr)
        start = statistics.median(starts)
    print(f"{given.probes} probes, {given.cases} cases, 4+2 asks; pytest itself: {start:.1f} s, in every wall time\n")
    lines = ["| way | wall s | floor s | wall / floor | without pytest's start | calls | asked twice | findings |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for way in WAYS:
        runs = found[way.name]
        wall = statistics.median(seconds for seconds, *_ in runs)
        # what is asked beyond a look that decides is not waited for: the floor is that of the run without it
        waited = found["sequential, one look at a time"] if "--calm-looks-ahead=1" in way.options else runs
        floor = statistics.median(floor_s(way, answers, place, ends) for _, answers, _ in waited)
        keys = [[(a.case, a.question, a.ask) for a in answers] for _, answers, _ in runs]
        twice = max(len(asked) - len(set(asked)) for asked in keys)
        like = found["sequential, test by test" if way.by_looks else "test by test"][0][2]
        equal = "equal" if all(findings == like for *_, findings in runs) else "DIFFER"
        calls = statistics.median(len(asked) for asked in keys)
        lines.append(
            f"| {way.name} | {wall:.2f} | {floor:.2f} | {wall / floor:.2f} | {(wall - start) / floor:.2f} "
            f"| {calls:.0f} | {twice} | {equal} |"
        )
    print("\n".join(lines))
    if given.write is not None:
        put(given.write, "look-ahead", "\n".join(lines), measured())


if __name__ == "__main__":
    main()
