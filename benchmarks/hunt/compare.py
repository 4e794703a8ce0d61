"""
What `calm hunt` finds on ten planted rules that its author did not see, with and without a writer.

    python -m benchmarks.hunt.compare --seeds 1                      # a quick look
    python -m benchmarks.hunt.compare --rows rows.jsonl --workers 2  # goes on where it stopped
    python -m benchmarks.hunt.compare --rows rows.jsonl --write docs/measured/hunts.md

Each hunt is one call of `hunt` (`calm.plugins.search`): a method, a rule, a budget of asks and a seed. They differ in
who proposes texts; they have the same cases, referee, shrinker and confirmation. The rules are in
`benchmarks/hunt/rules.py`, written by somebody else than the search, and so is the writer
(`benchmarks/hunt/writer.py`). No row names a rule: only its class is shown. A file of rows belongs to the code that
wrote it: after a change, begin another one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from benchmarks.hunt.rules import EASY, HARD, MIDDLING, RULES, judge_of
from benchmarks.hunt.writer import rewrites
from benchmarks.pages import measured, note, noted, put
from calm.cases import bundled, sample
from calm.core.case import Case, digest
from calm.core.reasons import Reason
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.setup import Setup
from calm.judges.python import PythonJudge
from calm.models.wire import Json, Limits, Price, Reply, Request, Usage
from calm.plugins.search.arms import Arm, arms_for
from calm.plugins.search.hunt import hunt
from calm.plugins.search.proposers import Bandit, BestOf, bandit_for
from calm.plugins.search.subjects import PLACES, Bounds
from calm.plugins.search.writer import Writer
from calm.statistics.intervals import clopper_pearson

BUDGETS: Final = (30, 300)
METHODS: Final[Mapping[str, tuple[str, ...]]] = {
    "many edits, few edits": ("many edits", "few edits"),
    "many edits, few edits, writer": ("many edits", "few edits", "best-of"),
    "many edits alone": ("many edits",),
    "few edits alone": ("few edits",),
}
"""The proposers of each method. The first two are those of `calm hunt`, without a writer and with one."""
CLASSES: Final = {"easy": EASY, "middling": MIDDLING, "hard": HARD}
CASES: Final = 100
"""Cases of a hunt, drawn from the bundled pairs by its seed."""
SEEDS: Final = 4
"""So many seeds take about 7 minutes of one core."""
NOISE: Final = 0.05
LEVEL: Final = 0.05

_PART = r"<{0}>\n(.*?)\n</{0}>"


@dataclass(frozen=True)
class Scribe:
    """The simulated writer as an endpoint in this process: it reads the prompt that any writer gets."""

    seed: int
    identity: str = "scribe"
    model: str = "scribe"
    served_as: str | None = None
    live: bool = False
    greeting: bool = False
    limits: Limits = field(default_factory=lambda: Limits(concurrency=64))
    price: Price | None = None
    max_tokens: int = 4096
    retries: int = 0
    schema: Mapping[str, Json] | None = None
    notes: tuple[Reason, ...] = ()

    async def call(self, body: Mapping[str, Any]) -> Reply:
        """Return a rewrite, drawn from the prompt and the number of the request."""
        prompt = str(body["prompt"])
        text = rewrites(
            _part(prompt, "answer"),
            _part(prompt, "question"),
            Random(digest("scribe", self.seed, prompt, body["number"])),
        )
        return Reply(f"<rewrite>\n{text}\n</rewrite>", model=self.model, usage=Usage(0, 0))

    async def greet(self) -> Reply:
        """Return an empty reply that names the model."""
        return Reply("", model=self.model)


def _part(prompt: str, name: str) -> str:
    found = re.search(_PART.format(name), prompt, re.S)
    return found[1] if found else ""


@dataclass
class Simulated:
    """What a hunt takes for a writer; each of its requests has a number, so that equal prompts get several texts."""

    server: Scribe
    name: str = "scribe"
    requests: int = 0

    def request(self, messages: Sequence[Any]) -> Request:
        """Return the next request."""
        self.requests += 1
        return Request(self.server, tuple(messages), {"prompt": messages[-1].text, "number": self.requests})


@dataclass(frozen=True)
class Row:
    """One hunt: how many findings fresh asks confirmed, how many there were, and what it took; seconds of a core."""

    method: str
    rule: int
    kind: str
    budget: int
    seed: int
    noise: float
    confirmed: int
    findings: int
    asks: int
    written: int
    seconds: float

    @property
    def key(self) -> tuple[str, int, int, int, float]:
        """Which hunt it is."""
        return self.method, self.rule, self.budget, self.seed, self.noise


Key = tuple[str, int, int, int, float]


@cache
def _pairs() -> list[Case]:
    return list(bundled("pairwise"))


@cache
def _arms() -> tuple[Arm, ...]:
    return arms_for("pairwise")


def hunted(key: Key) -> Row:
    """Return the row of one hunt."""
    method, rule, budget, seed, noise = key
    kind = next(name for name, rules in CLASSES.items() if RULES[rule] in rules)
    began = time.process_time()
    engine = Engine(Store(None, Mode.OFF))
    try:
        judge = PythonJudge(judge_of(RULES[rule], noise, seed))
        cases = tuple(sample(_pairs(), CASES, seed))
        setup, place = Setup(judge, cases, engine, seed), PLACES["answer"]
        writer = BestOf(cast(Writer, Simulated(Scribe(seed))), setup)  # its server is no `Server`, and is never set up
        whole = bandit_for(_arms(), place, setup, writer, asks=budget)
        found = hunt(setup, place, Bandit([whole.parts[name] for name in METHODS[method]]), Bounds(asks=budget))
    finally:
        engine.close()
    if found.asks > budget or found.incomplete:
        raise AssertionError(f"{key}: expected at most {budget} asks, got {found.asks} ({found.incomplete})")
    took = time.process_time() - began
    confirmed, findings = len(found.confirmed), len(found.findings)
    return Row(method, rule, kind, budget, seed, noise, confirmed, findings, found.asks, writer.written, took)


def rows_in(path: Path | None) -> dict[Key, Row]:
    """Return the hunts of an earlier run."""
    if path is None or not path.exists():
        return {}
    found = (Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines())
    return {row.key: row for row in found}


def run(keys: Sequence[Key], path: Path | None, workers: int) -> Iterator[Row]:
    """Yield the rows of hunts as they end, and keep them in a file."""
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for number, one in enumerate(as_completed([pool.submit(hunted, key) for key in keys]), 1):
            row = one.result()
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{json.dumps(asdict(row))}\n")
            said = f"{row.method}, {row.kind}, {row.budget} asks: {row.confirmed} confirmed, {row.seconds:.1f} s"
            print(f"{number}/{len(keys)} {said}", file=sys.stderr, flush=True)
            yield row


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the tables: hunts with a confirmed flip, by method and budget; by class; and all confirmed findings."""
    yield f"{len(RULES)} rules, noise {rows[0].noise:g}: hunts with a confirmed flip.\n"
    yield from _grid(rows, _hunts)
    for kind, rules in CLASSES.items():
        some = [row for row in rows if row.kind == kind]
        yield f"\nThe {len(rules)} {kind} rules alone:\n"
        yield from _grid(some, _hunts)
    yield "\nConfirmed findings in all hunts together; a hunt looks for three:\n"
    yield from _grid(rows, lambda some: f"{sum(row.confirmed for row in some)} in {len(some)}")
    minutes = sum(row.seconds for row in rows) / 60
    yield f"\nAll hunts together took {minutes:.0f} minutes of one core."


def _hunts(rows: Sequence[Row]) -> str:
    """Return how many hunts have a confirmed flip, and an interval of their share."""
    found = sum(row.confirmed > 0 for row in rows)
    low, high = clopper_pearson(found, len(rows), LEVEL, sides=2)
    return f"{found} of {len(rows)} [{low:.2f}, {high:.2f}]"


def _grid(rows: Sequence[Row], cell: Callable[[Sequence[Row]], str]) -> Iterator[str]:
    budgets = sorted({row.budget for row in rows})
    yield f"| method | {' | '.join(f'{budget:,} asks' for budget in budgets)} |"
    yield f"|---|{'---|' * len(budgets)}"
    for method in METHODS:
        cells = [[row for row in rows if (row.method, row.budget) == (method, budget)] for budget in budgets]
        if all(cells):
            yield f"| {method} | {' | '.join(map(cell, cells))} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the hunts that are not in the file yet, and print or write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hunt.compare", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep the rows there, and go on from those it has")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"hunts of a kind (default {SEEDS})")
    parser.add_argument("--noise", type=float, default=NOISE, help=f"how often the judge errs (default {NOISE})")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="N", help="asks of a hunt")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default 1)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables of all rows into a page")
    options = parser.parse_args(arguments)
    wanted = [
        (method, rule, budget, seed, options.noise)
        for seed in range(1, options.seeds + 1)
        for budget in options.budgets
        for rule in range(len(RULES))
        for method in options.methods
    ]
    found = rows_in(options.rows)
    left = [key for key in wanted if key not in found]
    if options.rows and left:
        note(options.rows)
    found |= {row.key: row for row in run(left, options.rows, options.workers)}
    text = "\n".join(table([row for row in found.values() if row.noise == options.noise])) + "\n"
    if options.write:
        put(options.write, "hunts", text, noted(options.rows) if options.rows else measured())
    print(text)


if __name__ == "__main__":
    main()
