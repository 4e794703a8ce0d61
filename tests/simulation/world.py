"""A simulated run: real engines on a real cache file, a server that bills, faults of a plan, and what must hold."""

from __future__ import annotations

import asyncio
import logging
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from calm.core.case import Case
from calm.core.reasons import Kind as Reason
from calm.core.verdict import NoReply, Preferred, Verdict
from calm.engine.accounts import Amount
from calm.engine.calls import MOST_WAIT_S
from calm.engine.database import PATIENCE_S
from calm.engine.engine import LoopEngine
from calm.engine.leases import LONG_AGO_S, STALE_S, Host
from calm.engine.money import Caps, Money
from calm.engine.store import Mode, Store, checksum, rows, spilled
from calm.errors import ConfigError, JudgeError
from calm.models.wire import Limits, Price, Reply, Traits, Usage
from tests.planted import Asking, Local, Planted, pairs
from tests.simulation.faults import FILLS, OF_CALLS, OF_STATEMENTS, OF_STEPS, Fault, Kind, Plan
from tests.simulation.loops import Loop, Loops

logging.getLogger("asyncio").setLevel(logging.CRITICAL)
PRICE = Price(10.0, 100.0, "test")
MOST_TOKENS = 100
WORST_USD = (MOST_TOKENS * PRICE.output + 200 * PRICE.input) / 1e6
GRACE_S = 6.0
GAVE_UP = "gave up"
TIMEOUT_S = 20.0
"""For how long a call waits for a reply."""
NAPS, NAP_EACH = 12, 25
"""A machine that sleeps does so this often, each time after so many steps of one process."""
HALF_A_LINE = 300
"""Bytes of a line beside the cache, which has more."""
WIDTH = 4
"""So many calls of a process to the server, and so many of its code, may be under way at once."""
LAST = 99
"""The number of the process that nothing happens to."""
_PAGE_SIZE, _FRAMES, _COPIED = (14, 2), (16, 4), (96, 4)
"""Where the index of a log, which processes share, says what is in it (sqlite.org/walformat.html): places, lengths."""
_WRITES = ("begin", "insert", "update", "delete", "commit", "create")


class Broken(AssertionError):
    """Something happened that must never happen."""


class Crashed(BaseException):
    """The process does not exist any more."""


@dataclass(eq=False)
class Payment:
    """A call that the server bills: by whom, for what, and how far it got."""

    process: Process
    text: str
    state: str = "under way"
    usd: float = 0.0
    coded: bool = False


@dataclass(eq=False)
class Process:
    """One process: its number and place, its engine, and what happened to it."""

    number: int
    place: str
    faults: list[Fault]
    world: World
    loop: Loop | None = None
    main: asyncio.Task[None] | None = None
    engine: LoopEngine | None = None
    disk: sqlite3.Connection | None = None
    dead: bool = False
    full: bool = False
    slow_s: float = 0.0
    disk_failed: bool = False
    stopped: bool = False
    refused: bool = False
    closing: bool = False
    statements: int = 0
    steps: int = 0
    calls: int = 0
    wall_s: float = 0.0
    torn: float | None = None
    short: float | None = None
    owner: str = ""
    asked: list[tuple[Asking | Coded, Case, int]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    not_before: dict[str, float] = field(default_factory=dict)
    longest_s: Counter[str] = field(default_factory=Counter)
    """The longest wait that the server asked for, by question."""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether it ended, in whatever way."""
        return self.dead or (self.main is not None and self.main.done())

    @property
    def unreliable(self) -> bool:
        """Whether others may have taken its leases: it died, stood still for long, or lost its disk."""
        return self.dead or self.slow_s >= STALE_S / 2 or self.failed or self.stopped

    @property
    def failed(self) -> bool:
        """Whether its disk failed, or was locked for longer than it waits."""
        return self.disk_failed or self.world.long_lock


class Machine(Host):
    """What a process sees of its machine."""

    def __init__(self, world: World, process: Process) -> None:
        self._world, self._process = world, process
        self.place = process.place

    @property
    def pid(self) -> int:
        """The number of the process, as it is in its place."""
        return self._process.number

    def now(self) -> float:
        """The virtual clock."""
        return self._world.loops.time

    def wall(self) -> float:
        """The calendar of the process, which may be wrong and may jump."""
        return 1e9 + self._world.loops.time + self._process.wall_s

    def runs(self, pid: int) -> bool:
        """Whether a process of the same place runs."""
        return any(one.number == pid and one.place == self.place and not one.over for one in self._world.processes)


class Kept(Store):
    """The store of a process that may die while it writes beside a full disk."""

    world: World
    process: Process

    def spill(self, answered):
        """Write replies beside the cache; what is not yet written when the process dies is missing."""
        before = self._spill._end
        if self.process.short is not None:
            most, self.process.short = before + 1 + int(self.process.short * HALF_A_LINE), None
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            try:
                return super().spill(answered)
            except OSError:
                self.world.lost.update(text for one in answered if (text := self.world.text_in(one.request)))
                raise
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        path = super().spill(answered)
        if self.process.torn is not None:
            cut = before + int(self.process.torn * (self._spill._end - before))
            with path.open("r+b") as file:
                file.seek(cut)
                file.write(bytes(self._spill._end - cut))  # its room was taken before, and is empty
            self.world.crash(self.process)
            raise Crashed
        return path


class Server(Local):
    """A server that may be slow, busy or broken, and bills what it answers."""

    def __init__(self, world: World, process: Process) -> None:
        super().__init__(price=PRICE, max_tokens=MOST_TOKENS, limits=Limits(concurrency=WIDTH))
        self._world, self._process = world, process

    async def call(self, body):
        """Answer, or fail; without faults of the plan at most twice for one question."""
        world, process, text = self._world, self._process, body["text"].splitlines()[0]
        payment = Payment(process, text)
        world.check_payment(payment)
        late = world.befall_call(process)
        rng = Random(f"{world.plan.seed} {text} {world.tried[text]}")
        drawn = rng.random() if world.tried[text] < 2 else 0.0
        limited_s = world.limited_until - world.loops.time
        tokens = Usage(len(body["text"]) // 4, rng.randrange(20, MOST_TOKENS + 1))
        slow_s = rng.choice((0.05, 0.3, 0.3, 0.3, 2.0, 2.0, 2.0, 30.0)) * rng.random()
        failure = None
        if limited_s > 0:
            failure = JudgeError("429", again=True, limited=True, after_s=limited_s if world.says_when else None)
            slow_s = min(slow_s, 0.3)
        elif late or slow_s > TIMEOUT_S:
            failure, slow_s = JudgeError("no reply in time", again=True, billed=True), TIMEOUT_S
        elif drawn >= 0.85:
            failure = JudgeError("busy", again=True, limited=drawn >= 0.97, billed=drawn < 0.94)
        if limited_s <= 0:
            world.tried[text] += 1
        if failure is None or failure.billed:  # the others are refused before they are billed
            payment.usd = (tokens.input * PRICE.input + tokens.output * PRICE.output) / 1e6
            world.bill(payment.usd, WORST_USD if failure else payment.usd)
        world.payments.append(payment)
        await asyncio.sleep(slow_s)
        if failure is not None:
            payment.state = "failed"
            process.failures[text] += 1
            if (failure.after_s or 0.0) <= MOST_WAIT_S:  # else the call is given up, and another judge may ask
                process.not_before[text] = world.loops.time + (failure.after_s or 0.0)
            process.longest_s[text] = max(process.longest_s[text], failure.after_s or 0.0)
            raise failure
        payment.state = "answered"
        return Reply(text.partition("c")[2], model="m-1", usage=tokens)


class Reading(Asking):
    """A judge that checks, before it reads a reply, that this reply is kept."""

    world: World
    process: Process

    async def judge(self, case, send):
        """Return the verdict on a case."""
        found = await super().judge(case, send)
        if not self.process.dead and not self.world.damaged and not self.world.is_kept(f"What is {case.id}?"):
            self.world.break_with(f"{case.id}: the reply was handed on before it was kept")
        self.world.handed_on.add(f"What is {case.id}?")
        return found


class Hasty(Asking):
    """A judge that asks the same of the same server, and does not wait for long."""

    process: Process

    async def judge(self, case, send):
        """Return the verdict on a case, or give up."""
        rng = Random(f"{self.process.world.plan.seed} {self.process.number} {case.id}")
        try:
            async with asyncio.timeout(rng.choice((0.04, 0.3, 1.0, 60.0))):
                return await super().judge(case, send)
        except TimeoutError:
            raise JudgeError(GAVE_UP) from None


@dataclass(eq=False)
class Coded(Planted):
    """A judge that is code: each of its asks is a call, and no reply is kept."""

    process: Process | None = None

    async def judge(self, case, send):
        """Return the verdict on a case."""
        world = self.process.world
        payment = Payment(self.process, f"{self.process.number}: {case.id} {send.ask}", coded=True)
        world.check_payment(payment)
        world.befall_call(self.process)
        world.payments.append(payment)
        await asyncio.sleep(Random(f"{world.plan.seed} {payment.text}").choice((0.05, 0.3, 2.0)))
        payment.state = "failed"  # nobody keeps it
        return _truth(case)


class World:
    """
    Runs a plan in a folder of its own.

    Raises:
        Broken: an invariant does not hold.
        Stuck: the run does not end.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.path = plan, folder / "cache.sqlite"
        self.loops = Loops(plan.seed, self._stepped)
        self.cases = pairs(plan.questions)
        self.processes: list[Process] = []
        self.payments: list[Payment] = []
        self.tried: Counter[str] = Counter()
        self.happened: Counter[Kind] = Counter()
        self.usd = self.most_usd = self.lost_usd = 0.0
        self.lost_calls = 0
        self.lost: set[str] = set()
        """The questions whose replies were on the disk of the machine that failed, and did not stay there."""
        self.handed_on: set[str] = set()
        self.limited_until = 0.0
        self.says_when = False
        self._locked_until = 0.0
        self.long_lock = self.damaged = False
        self._closed = False
        self._eye: sqlite3.Connection | None = None
        self._broken: Broken | None = None

    def run(self) -> None:
        """Run the plan, then a last process that nothing happens to; check what must hold."""
        plan = self.plan
        caps = Caps(usd=plan.usd, calls=plan.calls)
        for number in range(plan.processes):
            place = f"place {number if plan.apart else 0}"
            self._begin(number, place, [fault for fault in plan.faults if fault.process == number], caps, plan.seed)
        self.loops.run(lambda: all(one.over for one in self.processes))
        self._check_ends(caps)
        self.loops.time += LONG_AGO_S + 1
        self.limited_until = 0.0
        kept = self._kept()
        last = self._begin(LAST, "place 0", [], Caps(), plan.seed + 1)
        self.loops.run(lambda: last.over)
        self._check(last)
        again = {one.text for one in self.payments if one.process is last} & kept
        if again:
            raise Broken(f"{sorted(again)}: paid for again, although kept")
        if [_truth(case) for case in self.cases] != last.verdicts:
            raise Broken(f"a run that nothing happens to found {last.verdicts}")

    def _begin(self, number: int, place: str, faults: list[Fault], caps: Caps, seed: int, wait_s: float = 0) -> Process:
        process = Process(number, place, faults, self, wall_s=self.plan.skew_s * (number % 50))
        self.processes.append(process)
        process.loop, process.main = self.loops.begin(lambda: self._work(process, caps, seed, wait_s))
        return process

    async def _work(self, process: Process, caps: Caps, seed: int, wait_s: float) -> None:
        """Do what an engine does in its thread."""
        await asyncio.sleep(wait_s)
        loop = asyncio.get_running_loop()
        try:
            store = Kept(self.path, Mode.ON, run="one", host=Machine(self, process), driver=_driver(self, process))
            store.world, store.process, process.owner = self, process, store.leases.me
        except ConfigError:
            process.refused = True
            return
        money = Money(caps, store.account if caps != Caps() else None, 0.0, loop.time)
        started: set[asyncio.Task[None]] = set()

        def start(work):
            task = loop.create_task(work)
            started.add(task)
            task.add_done_callback(started.discard)

        process.engine = engine = LoopEngine(
            store, money, start, served={}, first_wait_s=0.5, grace_s=GRACE_S, seed=seed
        )
        start(engine.live())
        process.asked = self._questions(process)
        try:
            found = await engine.asks.ask(process.asked)
            process.verdicts = [one.verdict for one in found]
        finally:
            process.closing = True
            if not process.dead:
                if not process.stopped:
                    await engine.drain()
                await engine.cancel_all()
                store.close()

    def _questions(self, process: Process) -> list[tuple[Asking | Coded, Case, int]]:
        server = Server(self, process)
        judge = Reading(server, traits=Traits(patient=self.plan.seed % 2 == 0))
        judge.world, judge.process = self, process
        asked = [(judge, case, 1) for case in self.cases]
        if process.number == LAST:
            return asked
        if self.plan.hasty:
            hasty = Hasty(server, fingerprint="hasty-1")
            hasty.process = process
            asked += [(hasty, case, 1) for case in self.cases]
        code = Coded(_truth, fingerprint=None, traits=Traits(concurrency=WIDTH), process=process)
        return asked + [(code, case, ask) for case in self.cases for ask in range(1, self.plan.coded + 1)]

    async def _stop(self, process: Process) -> None:
        """Stop a process as Ctrl-C does."""
        await process.engine.drain()
        if not process.closing:
            process.main.cancel()

    def _stepped(self, loop: Loop) -> None:
        """Let faults happen whose step has come."""
        if self._broken is not None:
            raise self._broken
        process = next(one for one in self.processes if one.loop is loop)
        for fault in process.faults:
            if fault.kind in OF_STEPS and not process.over and process.steps in _moments(fault):
                self.happened[fault.kind] += 1
                self._befall(process, fault)
        process.steps += 1

    def _befall(self, process: Process, fault: Fault) -> None:
        if fault.kind is Kind.CRASH:
            self.crash(process)
        elif fault.kind is Kind.PAUSE:
            self._stand_still(process, fault.seconds)
        elif fault.kind is Kind.SLEEP:  # nobody saw anything meanwhile, so nobody may take anything
            for one in self.processes:
                one.loop.stands_until = max(one.loop.stands_until, self.loops.time + fault.seconds)
        elif fault.kind is Kind.CLOCK:
            process.wall_s += fault.seconds
        elif fault.kind is Kind.TORN:
            self._lose_power(fault.part)
        elif process.engine is not None and not process.stopped:
            process.stopped = True
            process.loop.create_task(self._stop(process))

    def _stand_still(self, process: Process, seconds: float) -> None:
        process.slow_s += seconds
        process.loop.stands_until = self.loops.time + seconds

    def befall_call(self, process: Process) -> bool:
        """Let faults happen whose call has come; return whether this call is answered too late."""
        number, process.calls = process.calls, process.calls + 1
        kinds = set()
        for fault in process.faults:
            if fault.kind in OF_CALLS and fault.at == number:
                self.happened[fault.kind] += 1
                kinds.add(fault.kind)
                if fault.kind in (Kind.LIMITED, Kind.RETRY_AFTER):
                    self.limited_until = self.loops.time + fault.seconds
                    self.says_when = fault.kind is Kind.RETRY_AFTER
                elif fault.kind is Kind.LOST_LEASE:
                    self._stand_still(process, fault.seconds)
        return Kind.TIMEOUT in kinds

    def _lose_power(self, part: float) -> None:
        """
        End all processes at once, and cut the log of the file where its bytes had reached the disk.

        SQLite writes the log to the disk before it copies a part of it into the file. What came after that may be
        missing from any byte on.
        """
        log, shared = (self.path.with_name(f"{self.path.name}-{name}") for name in ("wal", "shm"))
        kept, spent = self._kept(), self._spent()
        whole = {path: path.read_bytes() for path in (self.path, log, shared) if path.exists()}
        for process in [one for one in self.processes if not one.over]:
            process.place += " before"
            self.crash(process)
        if self._eye is not None:
            self._eye.close()
            self._eye = None
        if shared in whole:
            index = whole.pop(shared)
            page, frames, copied = (
                int.from_bytes(index[at : at + size], sys.byteorder) for at, size in (_PAGE_SIZE, _FRAMES, _COPIED)
            )
            least, most = (32 + count * (24 + page) if count else 0 for count in (copied, frames))
            whole[log] = whole[log][: least + int(part * (most - least))]
        for path, data in whole.items():
            path.write_bytes(data)
        shared.unlink(missing_ok=True)
        now = self._spent()
        self.lost |= kept - self._kept()
        self.lost_calls += max(0, spent.calls - now.calls)
        self.lost_usd += max(0.0, spent.usd - now.usd)

    def text_in(self, request: str) -> str:
        """Return the question that a stored request asks; "" if it is none."""
        return next((text for case in self.cases if (text := f"What is {case.id}?") in request), "")

    def _kept(self) -> set[str]:
        return {text for case in self.cases if self.is_kept(text := f"What is {case.id}?")}

    def _spent(self) -> Amount:
        made = self._look("select 1 from sqlite_master where name = 'spent'")
        found = self._look("select calls, tokens, usd from spent") if made else []
        return Amount(*found[0]) if found else Amount()

    def crash(self, process: Process) -> None:
        """End a process at this very moment, as kill -9 does."""
        process.dead = process.loop.dead = True
        if process.disk is not None:
            if process.disk.in_transaction:  # a statement that still runs would keep it open
                sqlite3.Connection.execute(process.disk, "rollback")
            sqlite3.Connection.close(process.disk)
        if self.plan.again and process.number < 50:
            caps = Caps(usd=self.plan.usd, calls=self.plan.calls)
            self._begin(process.number + 50, process.place, [], caps, self.plan.seed, wait_s=1.0)

    def statement(self, process: Process, sql: str, run: Callable[[], object]) -> object:
        """Run a statement of a process, or let a fault happen in its place."""
        if self._closed:
            raise _error("the world has ended", sqlite3.SQLITE_IOERR)
        if process.dead:
            raise Crashed
        number, process.statements = process.statements, process.statements + 1
        word = sql.split(None, 1)[0].lower()
        faults = [fault for fault in process.faults if fault.kind in OF_STATEMENTS and fault.at == number]
        for fault in faults:
            self.happened[fault.kind] += 1
            if fault.kind is Kind.BUSY:
                self._locked_until = max(self._locked_until, self.loops.time + fault.seconds)
                self.long_lock |= fault.seconds >= PATIENCE_S / 2  # several locks may follow each other
            if fault.kind is Kind.DAMAGE:
                self._damage()
            if fault.kind is Kind.TORN_SPILL:
                process.torn = fault.part
            if fault.kind is Kind.FULL_BESIDE:
                process.short = fault.part
            process.full |= fault.kind in FILLS
            process.disk_failed |= fault.kind in FILLS or fault.kind is Kind.IOERR
        kinds = {fault.kind for fault in faults}
        if Kind.CRASH_BEFORE in kinds:
            self.crash(process)
            raise Crashed
        if Kind.IOERR in kinds:
            raise _error("disk I/O error", sqlite3.SQLITE_IOERR)
        if process.full and word in _WRITES:
            raise _error("database or disk is full", sqlite3.SQLITE_FULL)
        if self.loops.time < self._locked_until and word == "begin":
            raise _error("database is locked", sqlite3.SQLITE_BUSY)
        found = run()
        if Kind.CRASH_AFTER in kinds:
            if isinstance(found, sqlite3.Cursor):
                found.close()
            self.crash(process)
            raise Crashed
        return found

    def check_payment(self, payment: Payment) -> None:
        """Check that a call may begin: nobody pays for what another one pays for, or what is kept."""
        mine, text = payment.process, payment.text
        for other in self.payments:
            if other.text != text or other.state == "failed" or text in self.lost or mine.failed or self.damaged:
                continue
            if other.state == "under way" and other.process.over:  # it was cut off
                continue
            if other.process is mine and other.state == "answered":
                self.break_with(f"{text}: paid twice by process {mine.number}")
            if other.process is not mine and not other.process.unreliable:
                self.break_with(f"{text}: paid by process {mine.number}, and by {other.process.number}, who lives")
        if self.is_kept(text) and not any(one.unreliable for one in self.processes):
            self.break_with(f"{text}: paid by process {mine.number}, although the reply is kept")
        if self.loops.time < mine.not_before.get(text, 0.0):
            self.break_with(f"{text}: asked again before the time that the server named")
        if mine.failures[text] >= (1 + Local.retries) * (1 + self.plan.hasty):
            self.break_with(f"{text}: asked again after {mine.failures[text]} failures")
        with_mine = [one for one in self.payments if one.process is mine and one.coded == payment.coded]
        if sum(one.state == "under way" for one in with_mine) >= WIDTH:
            self.break_with(f"process {mine.number} has more than {WIDTH} calls under way")
        if mine.engine.money.stopping or mine.engine.journal.fault:
            self.break_with(f"{text}: a call of process {mine.number} began after its end")
        most = None if self.plan.calls is None else self.plan.calls + self.lost_calls
        if most is not None and mine.number != LAST and len(self.payments) >= most:
            self.break_with(f"{len(self.payments) + 1} calls, with a cap of {self.plan.calls}")

    def bill(self, usd: float, most: float) -> None:
        """Add to the bill; `most` is what an engine has to count, which does not know what a failed call costs."""
        self.usd += usd
        self.most_usd += most
        running = any(not one.over for one in self.processes if one.number != LAST)
        if running and self.plan.usd is not None and self.usd > self.plan.usd + self.lost_usd + 1e-12:
            self.break_with(f"{self.usd:.4f} USD, with a cap of {self.plan.usd}")

    def break_with(self, what: str) -> None:
        """End the run after this step: something happened that must not."""
        self._broken = self._broken or Broken(what)

    def is_kept(self, text: str) -> bool:
        """Return whether the reply to a question is on the disk."""
        made = self._look("select 1 from sqlite_master where name = 'reply'")  # a process may die before it makes it
        found = self._look("select key, request, reply, sum from reply where instr(request, ?)", text) if made else []
        if any(checksum(key, request, reply) == sum_ for key, request, reply, sum_ in found):
            return True
        if not self.happened.keys() & (FILLS | {Kind.IOERR, Kind.BUSY}):
            return False
        return any(text in row.request for path, _ in spilled(self.path) for row in rows(path))

    def _look(self, sql: str, *given: object) -> list[tuple[object, ...]]:
        """Read the file as any other program may."""
        if self._eye is None:
            self._eye = sqlite3.connect(self.path, isolation_level=None)
        return self._eye.execute(sql, given).fetchall()

    def _damage(self) -> None:
        """Change a stored reply, as a failing disk does, so that it says something else."""
        with suppress(sqlite3.OperationalError):  # there is no table yet, or a process writes at this moment
            self._look("pragma busy_timeout=0")
            rows = self._look("select rowid from reply order by rowid")
            if rows:
                self._look("update reply set reply = replace(reply, '?', '!') where rowid = ?", rows[0][0])
                self.damaged = True

    def _check_ends(self, caps: Caps) -> None:
        for process in self.processes:
            self._check(process)
            self._check_books(process)
        if not self.damaged and (gone := self.handed_on - self.lost - self._kept()):
            raise Broken(f"{sorted(gone)}: handed on, and not kept")
        self._check_account(caps)
        capped = [v for one in self.processes for v in one.verdicts if _is_capped(v, "--calm-max-usd")]
        calm = not any(one.unreliable for one in self.processes)
        if calm and capped and caps.usd is not None and caps.usd - self.most_usd >= WORST_USD:
            raise Broken(f"the cap of {caps.usd} USD stopped the run at {self.usd:.4f}")

    def _check(self, process: Process) -> None:
        """Check what must hold of a process that has ended."""
        if self._broken is not None:
            raise self._broken
        if process.dead:
            return
        error = None if process.main.cancelled() else process.main.exception()
        if error is not None:
            raise Broken(f"process {process.number} ended with {error!r}") from error
        for context in process.loop.crashes:
            raise Broken(f"process {process.number}: {context}")
        if process.refused:
            if not process.failed and not self.happened[Kind.BUSY]:  # a real disk is waited for
                raise Broken(f"process {process.number} did not begin")
            return
        self._check_replies(process)
        self._check_verdicts(process)

    def _check_books(self, process: Process) -> None:
        """Check that a process that ended counted all that it paid, and that it left nothing behind."""
        if process.dead or process.refused:
            return
        ledger, mine = process.engine.ledger, [one for one in self.payments if one.process is process]
        if ledger.calls["made"] != len(mine):
            raise Broken(f"process {process.number} made {len(mine)} calls, and counted {ledger.calls['made']}")
        if ledger.usd < (usd := sum(one.usd for one in mine)) - 1e-12:
            raise Broken(f"process {process.number} paid {usd:.4f} USD, and counted {ledger.usd:.4f}")
        if process.failed or self.happened.keys() & {Kind.BUSY, Kind.TORN}:  # what it wrote at its end may be lost
            return
        if self._look("select 1 from lease where owner = ?", process.owner):
            raise Broken(f"process {process.number} ended, and holds a lease")
        if any(owner == process.owner for _, owner in spilled(self.path)):
            raise Broken(f"process {process.number} ended, and left a file beside the cache")

    def _check_account(self, caps: Caps) -> None:
        """Check that the account holds no less than what was used, and no more if nothing happened to anybody."""
        spent, calls = self._spent(), len(self.payments)
        if caps == Caps():
            return
        if spent.calls < calls - self.lost_calls or spent.usd < self.usd - self.lost_usd - 1e-12:
            raise Broken(f"{calls} calls for {self.usd:.4f} USD, and the account has {spent}")
        if spent.calls > calls and not any(one.unreliable for one in self.processes):
            raise Broken(f"{calls} calls, and the account has {spent}")

    def _check_replies(self, process: Process) -> None:
        answered = {one.text for one in self.payments if one.process is process and one.state == "answered"}
        for text in sorted(answered):
            if not self.damaged and text not in self.lost and not self.is_kept(text):
                raise Broken(f"{text}: answered to process {process.number}, and not kept")

    def _check_verdicts(self, process: Process) -> None:
        allowed = {Reason.STOPPED: process.stopped, Reason.NOT_KEPT: process.failed}
        allowed[Reason.CAPPED] = self.plan.usd is not None or self.plan.calls is not None
        for (judge, case, _), verdict in zip(process.asked, process.verdicts, strict=not process.stopped):
            if isinstance(verdict, NoReply):
                text = f"What is {case.id}?"
                if isinstance(judge, Hasty) and str(verdict.reason) == GAVE_UP:
                    continue
                given_up = process.failures[text] > Local.retries or process.longest_s[text] > MOST_WAIT_S
                if not given_up and not allowed.get(verdict.reason.kind, False):
                    raise Broken(f"{case.id}: no verdict, since {verdict.reason}")
            elif verdict != _truth(case):
                raise Broken(f"{case.id}: the verdict is {verdict}")

    def close(self) -> None:
        """Forget everything."""
        self._closed = True
        self.loops.close()
        for disk in (self._eye, *(one.disk for one in self.processes)):
            if disk is not None:
                sqlite3.Connection.close(disk)


def _moments(fault: Fault) -> Sequence[int]:
    """Return the steps at which a fault happens."""
    return range(fault.at, fault.at + NAPS * NAP_EACH, NAP_EACH) if fault.kind is Kind.SLEEP else (fault.at,)


def _truth(case: Case) -> Verdict:
    return Preferred(f"{case.id[1:]}?")


def _is_capped(verdict: Verdict, option: str) -> bool:
    return isinstance(verdict, NoReply) and verdict.reason.has(Reason.CAPPED) and option in str(verdict.reason)


def _error(words: str, code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(words)
    error.sqlite_errorcode = code
    return error


def _driver(world: World, process: Process) -> type[sqlite3.Connection]:
    """Return the class of the connections of a process."""

    class Disk(sqlite3.Connection):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            process.disk = self
            super().execute("pragma synchronous=off")  # a crash of a process, not of the machine

        def execute(self, sql, *given):
            if sql.startswith("pragma synchronous"):
                return super().execute("pragma synchronous=off")
            if sql == "begin immediate" and process.loop is not None:
                world.loops.meanwhile(process.loop)
            return world.statement(process, sql, lambda: super(Disk, self).execute(sql, *given))

        def executemany(self, sql, *given):
            return world.statement(process, sql, lambda: super(Disk, self).executemany(sql, *given))

        def executescript(self, sql):
            return world.statement(process, sql, lambda: super(Disk, self).executescript(sql))

        def close(self):
            if not process.dead:
                super().close()

    return Disk


def run(plan: Plan, folder: Path | None = None) -> World:
    """
    Run a plan in a new folder, and return its world.

    Raises:
        AssertionError: an invariant does not hold, or the run does not end.
    """
    shm = Path("/dev/shm")
    where = Path(tempfile.mkdtemp(prefix="calm-", dir=folder or (shm if shm.is_dir() else None)))
    world = World(plan, where)
    try:
        world.run()
    finally:
        world.close()
        shutil.rmtree(where)
    return world


def failure(plan: Plan) -> str:
    """Return what breaks in a plan; nothing if all holds."""
    try:
        run(plan)
    except AssertionError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def first_failure(seeds: Sequence[int]) -> tuple[Plan, str] | None:
    """Return the first plan of some seeds that breaks, and what does; None: all hold."""
    for seed in seeds:
        plan = Plan.drawn(seed)
        if why := failure(plan):
            return plan, why
    return None
