"""A server that fails in all the ways that servers fail, and counts what it did; and a run against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from random import Random
from threading import Lock

from calm.core.case import Answer as Text
from calm.core.case import Case
from calm.core.verdict import NoReply, Verdict
from calm.engine.engine import Engine
from calm.engine.money import Caps, Ledger
from calm.engine.store import Mode, Store
from calm.judges.judgefile import read_judge
from tests.servers import Answer, Turns, Wire, wire_server

FAULTS = (
    (0.05, Answer(status=429, headers={"Retry-After": "0.05"})),
    (0.05, Answer(status=429)),
    (0.05, Answer(status=500)),
    (0.02, Answer(fault="hang")),
    (0.02, Answer(fault="cut")),
    (0.02, Answer(fault="truncated", text="[[A]]")),
    (0.01, Answer(fault="html")),
    (0.01, Answer(fault="mistyped", text="[[A]]")),
)
"""Shares of calls, and what they get."""
USAGE = (40, 5)

JUDGE = """
[judge]
name = "stormy"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 10
timeout_s = {timeout_s}
concurrency = 64
price_usd_per_mtok = {{ input = 10.0, output = 100.0 }}
"""


@dataclass
class Chaos:
    """Answers most calls, fails some, and counts both; `good` are the replies that hold a verdict, by prompt."""

    seed: int = 0
    good: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def respond(self, messages: Turns, _body: Mapping[str, object]) -> Answer:
        """Return an answer, or a fault."""
        with self._lock:
            drawn = self._random.random()
            ends = accumulate(share for share, _ in FAULTS)
            faults = (answer for end, (_, answer) in zip(ends, FAULTS, strict=True) if drawn < end)
            answer = next(faults, Answer("[[A]]"))
            self.kinds[answer.fault or str(answer.status)] += 1
            if answer.status == 200 and answer.fault in (None, "mistyped"):
                self.good[messages[-1][1]] += 1
            return Answer(**{**_fields(answer), "usage": USAGE})


def _fields(answer: Answer) -> dict[str, object]:
    return {name: getattr(answer, name) for name in answer.__dataclass_fields__}


@dataclass(frozen=True)
class Storm:
    """What came of a run: verdicts, what the engine counted, what the server saw."""

    verdicts: list[Verdict]
    ledger: Ledger
    chaos: Chaos
    wire: Wire
    kept: int

    @property
    def lost(self) -> int:
        """Calls that ended without a verdict."""
        return sum(isinstance(v, NoReply) for v in self.verdicts)


def stormed(folder: Path, calls: int, *, caps: Caps | None = None, seed: int = 0, timeout_s: float = 2) -> Storm:
    """Ask a judge behind a failing server for so many verdicts, a hundred cases many times each."""
    chaos = Chaos(seed)
    with wire_server(chaos.respond) as wire:
        return asked(folder, wire, chaos, calls, caps, timeout_s)


def asked(folder: Path, wire: Wire, chaos: Chaos, calls: int, caps: Caps | None = None, timeout_s: float = 2) -> Storm:
    """Do the same with a server that runs already."""
    cases = [Case(f"c{i}", f"What is {i} + 1?", (Text("a", f"It is {i + 1}."), Text("b", "No."))) for i in range(100)]
    path = folder / "judge.toml"
    path.write_text(JUDGE.format(url=wire.url, timeout_s=timeout_s), "utf-8")
    judge = read_judge(path, {})
    engine = Engine(Store(folder / "cache.sqlite", Mode.ON), caps=caps, first_wait_s=0.01)
    try:
        engine.greet(*judge.endpoints)
        found = engine.ask(judge, [(cases[n % 100], 1 + n // 100) for n in range(calls)])
        kept = sum(engine.store.get(key) is not None for one in found for key in one.calls)
    finally:
        engine.close()
    return Storm([one.verdict for one in found], engine.ledger, chaos, wire, kept)
