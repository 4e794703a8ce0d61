"""Runs of the gate that die at any moment, against a server that counts what it answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Lock
from time import monotonic, sleep
from typing import Any

from calm.cases import bundled
from calm.engine.store import prompt_in
from tests.servers import Answer, Turns, Wire, wire_server
from tests.servers.planted import planted_respond

SUITES = ("calm.suites.test_authority", "calm.suites.test_bandwagon", "calm.suites.test_sophistication")
SAMPLE = 40
CONCURRENCY = 8
WINDOW = 32
"""So many replies may wait to be committed, in each process."""
DELAY_S = 0.02

JUDGE = """
[judge]
name = "mortal"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 50
concurrency = {concurrency}
"""


@dataclass(frozen=True)
class Ended:
    """What became of a run that got a signal."""

    status: int
    answered: int
    lost: int
    """Answers that are not in the cache."""
    after: int
    """Posts that came after the first process of the run had ended."""
    late: int
    """Posts that came after the signal."""
    seconds: float
    """From the signal to that end."""
    record: dict[str, Any] | None

    @property
    def sound(self) -> bool:
        """Whether the run ended as it should: what was answered is kept, and the record says what is missing."""
        if self.status == -signal.SIGTERM or self.status == -signal.SIGHUP:
            return self.answered == 0  # it came before there was anything to keep
        if self.lost or self.after:
            return False
        if self.status in (0, 1):  # the run was over
            return self.record is not None
        if self.record is None:
            return self.answered == 0
        return self.status == 2 and self.record["outcome"] != "PASS"


@dataclass
class Mortal:
    """A folder, a judge and a server that counts its answers, by prompt."""

    folder: Path
    wire: Wire
    answered: Counter[str] = field(default_factory=Counter)
    needed: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    wasted: int = 0

    @property
    def cache(self) -> Path:
        """The file of replies."""
        return self.folder / "cache.sqlite"

    def forget(self) -> None:
        """Begin with an empty cache."""
        for file in self.folder.glob("cache.sqlite*"):
            file.unlink()
        self.answered.clear()

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start a run in a session of its own."""
        command = [sys.executable, "-m", "pytest", "--pyargs", *SUITES, "-q", "--tb=no", "-p", "no:cacheprovider"]
        outputs = (f"--calm-cache-file={self.cache}", "--calm-results=results.json", f"--calm-sample={SAMPLE}")
        return subprocess.Popen(
            [*command, "--calm-judge=judge.toml", *outputs, *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def whole(self, *options: str) -> str:
        """Run to the end and return the findings as text."""
        results = self.folder / "results.json"
        results.unlink(missing_ok=True)
        with self.start(*options) as running:
            output, _ = running.communicate(timeout=240)
        assert results.exists(), output
        body = json.loads(results.read_text("utf-8"))
        body.pop("run")
        return json.dumps(body)

    def committed(self) -> Counter[str]:
        """Return how many replies the cache holds, by prompt."""
        if not self.cache.exists():
            return Counter()
        with suppress(sqlite3.OperationalError):  # it was killed before it had made its tables
            db = sqlite3.connect(self.cache)
            rows = db.execute("select request from reply").fetchall()
            db.close()
            return Counter(prompt_in(json.loads(request))[-1].text for (request,) in rows)
        return Counter()

    def die(self, rng: Random, *options: str) -> int:
        """Start a run and kill all of it at a random moment; return how many answers were paid and not kept."""
        before, paid = self.committed(), self.answered.copy()
        with self.start(*options) as running:
            self._await(rng)
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate(timeout=60)
        self.settle()
        self.kills += 1
        after, now = self.committed(), self.answered - paid
        assert not before - after, "a reply that was committed is lost"
        asked_again = now - (self.needed - before)
        assert not asked_again, f"asked again although it was in the cache: {asked_again}"
        lost = now.total() - (after - before).total()
        workers = 2 if options else 1
        assert 0 <= lost <= workers * (CONCURRENCY + WINDOW), f"{lost} answers were paid and not kept"
        self.wasted += lost
        return lost

    def end(self, rng: Random, number: int, *options: str, twice: bool = False, all_of_it: bool = False) -> Ended:
        """
        Send a signal to a run at a random moment, to its first process alone; return what became of it.

        `twice` sends another one at once, `all_of_it` sends it to each process, as a terminal does. Every answer must
        be kept, and none be asked for after the run.
        """
        (self.folder / "results.json").unlink(missing_ok=True)
        before, paid = self.committed(), self.answered.copy()
        with self.start(*options) as running:
            self._await(rng)
            sent, begun = monotonic(), len(self.wire.seen)
            for _ in range(2 if twice else 1):
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, number) if all_of_it else running.send_signal(number)
            status = running.wait(timeout=120)
            posts, took = len(self.wire.seen), monotonic() - sent
            running.communicate(timeout=120)
        self.settle()
        now, kept = self.answered - paid, self.committed() - before
        self.wasted += now.total() - kept.total()
        record = self.folder / "results.json"
        body = json.loads(record.read_text("utf-8")) if record.exists() else None
        late = len(self.wire.seen) - begun
        return Ended(status, now.total(), now.total() - kept.total(), len(self.wire.seen) - posts, late, took, body)

    def until_answered(self, count: int) -> None:
        """Wait until so many answers were given."""
        until = monotonic() + 60
        while self.answered.total() < count and monotonic() < until:
            sleep(0.01)

    def settle(self) -> None:
        """Wait for what was on its way to the server when its sender died."""
        seen = -1
        while seen != len(self.wire.seen):
            seen = len(self.wire.seen)
            sleep(0.4)

    def lose_a_worker(self, rng: Random) -> int:
        """Kill one worker of two at a random moment, let the run end; return how many answers were not kept."""
        before, paid = self.committed(), self.answered.copy()
        with self.start("-n2") as running:
            self._await(rng)
            if workers := children(running.pid):
                os.kill(rng.choice(workers), signal.SIGKILL)
                self.kills += 1
            running.communicate(timeout=240)
        self.settle()
        now = self.answered - paid
        run = json.loads((self.folder / "results.json").read_text("utf-8"))["run"]
        kept = (self.committed() - before).total()
        # what the worker had begun when it last wrote its bill may not have reached the server
        most = now.total() + CONCURRENCY
        assert kept <= run["calls"]["made"] <= most, f"{kept} kept, {run['calls']} in the bill, {now.total()} answered"
        lost = now.total() - (self.committed() - before).total()
        assert not (before + now) - self.needed or lost, "asked again although nothing was lost"
        assert 0 <= lost <= CONCURRENCY + WINDOW, f"{lost} answers were paid and not kept"
        self.wasted += lost
        return lost

    def _await(self, rng: Random) -> None:
        """Wait for a random number of answers, or, one time in four, for a moment without regard to them."""
        if rng.random() < 0.25:
            sleep(rng.uniform(0.05, 2.5))
            return
        until, count = monotonic() + 20, self.answered.total() + rng.randint(1, max(1, self.needed.total() // 8))
        while self.answered.total() < count and monotonic() < until:
            sleep(0.002)
            if self.answered.total() >= self.needed.total():
                return
        sleep(rng.uniform(0, 0.06))


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    text = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in text.read_text().split()] if text.exists() else []


@contextmanager
def mortal(folder: Path, delay_s: float = DELAY_S, listening: socket.socket | None = None) -> Iterator[Mortal]:
    """Run the server of a planted judge that thinks for `delay_s` and counts; see `wire_server` for `listening`."""
    lock = Lock()
    think = planted_respond("planted:authority=0.6,seed=1", bundled("pairwise"))

    def respond(messages: Turns, body: dict[str, object]) -> Answer:
        text = think(messages, body)
        assert isinstance(text, str)
        with lock:
            made.answered[messages[-1][1]] += 1
        return Answer(text, delay_s=delay_s)

    with wire_server(respond, listening=listening) as wire:
        made = Mortal(folder, wire)
        (folder / "judge.toml").write_text(JUDGE.format(url=wire.url, concurrency=CONCURRENCY), "utf-8")
        yield made


def campaign(made: Mortal, rng: Random, kills: int, *options: str) -> str:
    """Begin with nothing, die so many times, and return the findings of the run that then comes to its end."""
    made.forget()
    for _ in range(kills):
        made.die(rng, *options)
    before, paid = made.committed(), made.answered.copy()
    found = made.whole(*options)
    assert made.committed() == made.needed, "the cache holds other replies than an undisturbed run's"
    asked, missing = made.answered - paid, made.needed - before
    assert asked == missing, f"asked besides what was missing: {asked - missing}; not asked: {missing - asked}"
    return found
