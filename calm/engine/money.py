"""What calls use: the caps of a run, what is reserved before each call and used by it, and what was spent."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import inf
from time import monotonic
from typing import Final, Protocol, TypeAlias, TypeVar

from calm.core.reasons import NONE, Kind, Reason, because, name, reason_of
from calm.engine.batch_records import Bill
from calm.engine.database import PATIENCE_S, Connection, Database, patiently
from calm.engine.leases import Leases
from calm.engine.servers import Server
from calm.engine.thread import Clerk
from calm.errors import JudgeError, StorageError
from calm.models.pricing import Cost, cost, dearest, dollars
from calm.models.sampling import limited
from calm.models.wire import Endpoint, Reply, Sent, Usage


@dataclass(frozen=True, slots=True)
class Caps:
    """Hard limits of one run; None: no limit. `tokens` counts those of prompts and replies together."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """What calls use: how many, their tokens, their cost in US dollars."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Amount) -> Amount:
        """Return the sum of two amounts."""
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)

    def minus(self, other: Amount) -> Amount:
        """Return what is left of this one without another."""
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.usd - other.usd)

    def within(self, limits: Amount) -> bool:
        """Return whether it is within limits."""
        return self.calls <= limits.calls and self.tokens <= limits.tokens and self.usd <= limits.usd


NOTHING: Final = Amount()


class Grant(StrEnum):
    """What an account says to who wants to reserve an amount."""

    GIVEN = "given"
    LATER = "later"
    """It does not fit beside what calls under way have reserved; they may use less."""
    NEVER = "never"
    """It does not fit beside what was used."""


class Account(Protocol):
    """
    Counts what calls use. The most that a call can use is reserved first; each step is done whole or not at all.

    One that is `remote` takes its time: what several calls want is reserved in one step.
    """

    @property
    def remote(self) -> bool:
        """Whether a server keeps it."""

    def reserve(self, worsts: Sequence[Amount], limits: Amount) -> list[Grant]:
        """Reserve each amount for which the sum stays within limits; while one waits, none after it goes before it."""

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used."""

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""


@dataclass
class LocalAccount:
    """The account of one process: what was `used`, and what is `held` in reserve."""

    used: Amount = NOTHING
    held: Amount = NOTHING
    under_way: int = 0

    @property
    def remote(self) -> bool:
        """It is not."""
        return False

    def reserve(self, worsts: Sequence[Amount], limits: Amount) -> list[Grant]:
        """Reserve each amount for which the sum stays within limits."""
        return [self._reserve(worst, limits) for worst in worsts]

    def _reserve(self, worst: Amount, limits: Amount) -> Grant:
        if not self.spent().plus(worst).within(limits):
            hope = self.under_way and self.used.plus(worst).within(limits)
            return Grant.LATER if hope else Grant.NEVER
        self.held = self.held.plus(worst)
        self.under_way += 1
        return Grant.GIVEN

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used."""
        self.under_way -= 1
        self.held = self.held.minus(worst) if self.under_way else NOTHING  # no crumbs of rounding are left
        self.used = self.used.plus(used)

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""
        return self.used.plus(self.held)


class Budget:
    """
    What is left of the caps.

    The most that a call can use is reserved before the call is made. What it did not use is free again after it. A call
    that does not fit waits while calls under way may still use less than they have reserved: so a cap stops a run only
    when one more call could pass it. `started` is the time, in seconds of `clock`, from which `minutes` count.
    """

    def __init__(
        self,
        caps: Caps,
        account: Account | None = None,
        started: float | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.caps, self._account, self._clock = caps, account or LocalAccount(), clock
        self.started = clock() if started is None else started
        most = float("inf")
        self._limits = Amount(
            caps.calls if caps.calls is not None else 2**62,
            caps.tokens if caps.tokens is not None else 2**62,
            caps.usd if caps.usd is not None else most,
        )
        self._counts = caps.calls is not None or caps.tokens is not None or caps.usd is not None

    @property
    def counts(self) -> bool:
        """Whether there is a cap on what calls use."""
        return self._counts

    @property
    def remote(self) -> bool:
        """Whether a server counts it: it takes its time."""
        return self._counts and self._account.remote

    @property
    def seconds_left(self) -> float | None:
        """For how many seconds new calls may still begin; None: there is no limit."""
        if self.caps.minutes is None:
            return None
        return 60 * self.caps.minutes - (self._clock() - self.started)

    @property
    def out_of_time(self) -> Reason:
        """The reason why a call is not made, or is given up, when the minutes are over."""
        return because(Kind.CAPPED, f"--calm-max-minutes {self.caps.minutes:g}")

    @property
    def out_of_tokens(self) -> Reason:
        """The reason why a call is not made that would pass the cap on tokens."""
        return because(Kind.CAPPED, f"--calm-max-tokens {self.caps.tokens}")

    @property
    def out_of_usd(self) -> Reason:
        """The reason why a call is not made that would pass the cap in dollars."""
        return because(Kind.CAPPED, f"--calm-max-usd {self.caps.usd or 0:g}")

    def reserve(self, worst: Amount) -> bool:
        """
        Reserve the most that a call can use; return False if that may fit when calls under way have ended.

        Raises:
            JudgeError: a cap would be passed; its reason is of the kind `CAPPED` and names the option.
        """
        if not self._counts and self.caps.minutes is None:
            return True
        found = self.reserve_all([worst])[0]
        if isinstance(found, JudgeError):
            raise found
        return found

    def reserve_all(self, worsts: Sequence[Amount]) -> list[bool | JudgeError]:
        """Do the same for several amounts in their order, and return the errors."""
        left = self.seconds_left
        if left is not None and left <= 0:
            return [JudgeError(self.out_of_time) for _ in worsts]
        if not self._counts:
            return [True] * len(worsts)
        grants = self._account.reserve(worsts, self._limits)
        return [
            JudgeError(self._passed(worst)) if grant is Grant.NEVER else grant is Grant.GIVEN
            for worst, grant in zip(worsts, grants, strict=True)
        ]

    def spent(self) -> Amount:
        """Return what was used or is reserved; it is counted only where there is a cap on it."""
        return self._account.spent()

    def settle(self, worst: Amount, used: Amount) -> None:
        """Note what a call used of what was reserved for it."""
        if self._counts:
            self._account.settle(worst, used)

    def _passed(self, worst: Amount) -> Reason:
        """Return the reason why an amount is not reserved: the cap that it would pass."""
        after, caps = self._account.spent().plus(worst), self.caps
        if caps.calls is not None and after.calls > caps.calls:
            return because(Kind.CAPPED, f"--calm-max-calls {caps.calls}")
        if caps.tokens is not None and after.tokens > caps.tokens:
            return self.out_of_tokens
        return self.out_of_usd


KEY_BYTES: Final = 12
"""So many bytes of a key tell it from all others of a run."""


@dataclass(frozen=True, slots=True)
class Keys:
    """
    Which calls a process found in the cache and which it made, by the first bytes of their keys.

    A process of a run with several of them also finds what another one has made. Only together they tell how many
    calls the cache saved.
    """

    found: set[bytes] = field(default_factory=set)
    answered: set[bytes] = field(default_factory=set)

    def packed(self) -> tuple[bytes, bytes]:
        """Return both, as bytes."""
        return b"".join(self.found), b"".join(self.answered)


def saved(packed: Iterable[tuple[bytes, bytes]]) -> int:
    """Return how many calls the processes of one run found in the cache that none of them had made."""

    def keys(data: bytes) -> set[bytes]:
        return {data[at : at + KEY_BYTES] for at in range(0, len(data), KEY_BYTES)}

    found: set[bytes] = set()
    answered: set[bytes] = set()
    for one, other in packed:
        found |= keys(one)
        answered |= keys(other)
    return len(found - answered)


@dataclass
class Ledger:
    """
    What a process has used so far.

    `calls` counts by kind: `made` attempts, failed and repeated ones included; `retried` attempts; calls that were
    `cached`; asks and requests that `failed`, and those `unmade`, as a cap was reached or the run ended before; and
    verdicts that were `recorded` beforehand, for which nobody was asked. `answers` counts the asks and requests that
    were answered. `tokens` counts `input` and `output`. `usd` is the cost in US dollars, as far as prices are known;
    `unpriced` are the models that were called at a price that is not. `notes` are what a reader of the run should know.
    """

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    usd: float = 0.0
    unpriced: list[str] = field(default_factory=list)
    keys: Keys | None = None
    notes: list[Reason] = field(default_factory=list)

    def found(self, key: bytes) -> None:
        """Count a call whose reply the cache holds."""
        self.calls["cached"] += 1
        if self.keys is not None:
            self.keys.found.add(key[:KEY_BYTES])

    def answered(self, key: bytes) -> None:
        """Note a call that this process made."""
        if self.keys is not None:
            self.keys.answered.add(key[:KEY_BYTES])

    def collected(self, bill: Bill) -> None:
        """Count replies that a batch brought and nobody here waits for."""
        self.calls["made"] += bill.answered
        self.tokens["input"] += bill.input
        self.tokens["output"] += bill.output
        self.usd += bill.usd

    @property
    def cost(self) -> Cost:
        """The cost so far."""
        return Cost(self.usd, tuple(self.unpriced))

    def no_price(self, model: str) -> None:
        """Note that a model was called whose price is not known, once."""
        if model not in self.unpriced:
            self.unpriced.append(model)

    def note(self, note: Reason) -> None:
        """Add a note, once."""
        if note not in self.notes:
            self.notes.append(note)


_KEEP: Final = (
    "insert into bill values (?, ?, ?) on conflict (owner) do update set run = excluded.run, figures = excluded.figures"
)


class Bills:
    """
    The bills of a run that has several processes, `me` being this one. Only those are kept that ask for it.

    A bill is written in the transaction that keeps replies, and with each sign of life. So it covers all that was kept.
    """

    def __init__(self, database: Database, me: str, run: str) -> None:
        self._database, self._me, self._run = database, me, run
        self._figures: Callable[[], str] | None = None
        self._read = False

    def keep(self, figures: Callable[[], str]) -> None:
        """
        Keep from now on what this process has used, as a function tells it.

        Raises:
            StorageError: the file cannot be written.
        """
        self._figures = figures

        def write() -> None:
            with self._database.writing() as db:
                self.write(db)

        patiently(write)

    def write(self, db: Connection) -> None:
        """Write the bill of this process down, in a transaction of the caller's."""
        if self._figures is not None:
            db.execute(_KEEP, (self._me, self._run, self._figures()))

    def left(self) -> list[str]:
        """Return the bills of all processes of this run that kept one."""
        self._read = True
        with self._database.reading() as db:
            wanted = "select figures from bill where run = ? order by owner"
            rows = db.execute(wanted, (self._run,)).fetchall()
        return [figures for (figures,) in rows]

    def close(self, db: Connection) -> None:
        """Forget the bills of this run, if this is the process that has read them."""
        if self._read:
            db.execute("delete from bill where run = ?", (self._run,))


_BEGIN: Final = "insert into spent values (?, 0, 0, 0) on conflict (run) do nothing"
_CHANGE: Final = "update spent set calls = calls + ?, tokens = tokens + ?, usd = usd + ? where run = ?"
_SET: Final = "update spent set calls = ?, tokens = ?, usd = ? where run = ?"
_HOLD: Final = (
    "insert into held values (?, ?, ?, ?, ?) on conflict (run, owner) do update set "
    "calls = held.calls + excluded.calls, tokens = held.tokens + excluded.tokens, usd = held.usd + excluded.usd"
)


class SharedAccount:
    """
    What a run has used, in all of its processes together, and what each of them has reserved.

    What a process that died had reserved counts as used: its calls may have been billed.
    """

    def __init__(self, database: Database, leases: Leases, run: str, *, remote: bool) -> None:
        self._database, self._leases, self._run, self.remote = database, leases, run, remote
        self._unsettled: list[tuple[Amount, Amount]] = []

    def reserve(self, worsts: Sequence[Amount], limits: Amount) -> list[Grant]:
        """Reserve each amount for which the sum stays within limits; while one waits, none after it goes before it."""
        grants: list[Grant] = []
        with self._writing() as db:
            self._leases.beat(db)
            db.execute(_BEGIN, (self._run,))
            spent, given, waits = self._sum(db), NOTHING, False
            for worst in worsts:
                if waits:
                    grants.append(Grant.LATER)
                elif spent.plus(worst).within(limits):
                    spent, given = spent.plus(worst), given.plus(worst)
                    grants.append(Grant.GIVEN)
                else:
                    under_way = self._held_by_the_living(db).plus(given)
                    waits = under_way.calls > 0 and spent.minus(under_way).plus(worst).within(limits)
                    grants.append(Grant.LATER if waits else Grant.NEVER)
            if given.calls:
                db.execute(_SET, (spent.calls, spent.tokens, spent.usd, self._run))
                self._hold(db, given)
        return grants

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used; where that fails, the next step or `settle_rest` does it."""
        self._unsettled.append((worst, used))
        if not self.remote:  # else the next step takes it along
            self.settle_rest()

    def settle_rest(self) -> None:
        """Write down what was used and could not be written yet: others may wait for what is not used."""
        if self._unsettled:
            with self._writing():
                pass

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Write, in this block, after what was used since the last step that worked."""
        with self._database.writing() as db:
            settled = self.settle_in(db)
            yield db
        self.settled(settled)

    def settle_in(self, db: Connection) -> int:
        """Write down in a block of the caller's what was used; return the count for `settled`, to be told later."""
        settled = len(self._unsettled)
        change, freed = NOTHING, NOTHING
        for worst, used in self._unsettled[:settled]:
            change, freed = change.plus(used).minus(worst), freed.plus(worst)
        if settled:
            db.execute(_CHANGE, (change.calls, change.tokens, change.usd, self._run))
            self._hold(db, NOTHING.minus(freed))
        return settled

    def settled(self, count: int) -> None:
        """Forget so many amounts, which were written down."""
        del self._unsettled[:count]

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""
        with self._database.reading() as db:
            return self._sum(db)

    def _sum(self, db: Connection) -> Amount:
        row = db.execute("select calls, tokens, usd from spent where run = ?", (self._run,)).fetchone()
        return Amount(*row) if row else NOTHING

    def _hold(self, db: Connection, amount: Amount) -> None:
        db.execute(_HOLD, (self._run, self._leases.me, amount.calls, amount.tokens, amount.usd))

    def _held_by_the_living(self, db: Connection) -> Amount:
        found = NOTHING
        for owner, *row in db.execute("select owner, calls, tokens, usd from held where run = ?", (self._run,)):
            if row[0] > 0 and self._leases.lives(db, owner):
                found = found.plus(Amount(*row))
        return found


LOOK_S: Final = 0.05
"""Who waits for room looks again after so many seconds: another process may have made some."""

Waiting: TypeAlias = "list[tuple[Amount, asyncio.Future[None]]]"


class Reservations:
    """
    Reserves amounts for an event loop, while it goes on. Who came first goes first.

    `check` raises the `JudgeError` of a run that is stopped. `failed` is told why the account cannot be written; it
    returns the error for who waits, or None where it may work a moment later.
    """

    def __init__(
        self,
        budget: Budget,
        clerk: Clerk,
        check: Callable[[], None],
        failed: Callable[[StorageError], JudgeError | None],
    ) -> None:
        self._budget, self._clerk, self._check, self._failed = budget, clerk, check, failed
        self._line: deque[tuple[Amount, asyncio.Future[None]]] = deque()
        self._asking = False
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, worst: Amount) -> None:
        """
        Reserve an amount, and wait until there is room.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._line.append((worst, future))
        if len(self._line) == 1:
            loop.call_soon(self.ask)
        try:
            await future
            self._check()
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._budget.settle(worst, NOTHING)  # the room came just when nobody wanted it any more
            raise

    def ask(self) -> None:
        """Ask for all who stand in line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._asking:
            return
        waiting = [one for one in self._line if not one[1].done()]
        self._line.clear()
        try:
            self._check()
        except JudgeError as error:
            for _, future in waiting:
                future.set_exception(error)
            return
        if waiting:
            self._asking = True
            step = partial(self._budget.reserve_all, [worst for worst, _ in waiting])
            self._clerk.do(step, partial(self._answered, waiting), partial(self._refused, waiting))

    def _answered(self, waiting: Waiting, found: Sequence[bool | JudgeError]) -> None:
        self._asking = False
        later: Waiting = []
        for (worst, future), given in zip(waiting, found, strict=True):
            if given is True and future.done():
                self._budget.settle(worst, NOTHING)
            elif future.done():
                continue
            elif isinstance(given, JudgeError):
                future.set_exception(given)
            elif given:
                future.set_result(None)
            else:
                later.append((worst, future))
        self._again(later)

    def _refused(self, waiting: Waiting, error: Exception) -> None:
        self._asking = False
        reason: Exception | None = self._failed(error) if isinstance(error, StorageError) else error
        if reason is None:
            self._again(waiting)
            return
        for _, future in waiting:
            if not future.done():
                future.set_exception(reason)
        self._again([])

    def _again(self, later: Waiting) -> None:
        """Let those who have to wait stand before those who came meanwhile, and ask in a moment."""
        new = bool(self._line)
        self._line.extendleft(reversed(later))
        if later:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self.ask)
        elif new:
            self.ask()


T = TypeVar("T")

STOPPED: Final = because(Kind.STOPPED)
NOT_KEPT: Final = because(Kind.NOT_KEPT)
ONE: Final = Amount(1)


class Calls:
    """
    Begins and ends the calls of a process. `grace_s` is how many seconds calls may go on after the end of a run.

    `fault` is why no call may begin any more: the cache failed. `halted` is called when that happens, with the reason
    that each call gets. `clerk` takes reservations to an account on a server. `over` says whether a signal has come.
    """

    def __init__(
        self,
        budget: Budget,
        ledger: Ledger,
        grace_s: float,
        halted: Callable[[Reason], None],
        clerk: Clerk,
        *,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        self.budget, self.ledger, self.grace_s = budget, ledger, grace_s
        self.stopping = False
        self.under_way = 0
        self.fault = NONE
        self._halted, self._over = halted, over
        self._line: deque[asyncio.Event] = deque()
        self._busy_since: float | None = None
        self._clerk = clerk
        self._reservations: Reservations | None = None
        if budget.remote:
            self._reservations = Reservations(budget, clerk, self.check, self._failed)

    def begin_now(self, worst: Amount) -> bool:
        """
        Count a call and reserve the most that it can use; return False if it has to wait for calls under way.

        Raises:
            JudgeError: a cap would be passed, or the run is stopped.
        """
        return self._reservations is None and not self._line and self._begins(worst)

    async def begin(self, worst: Amount) -> None:
        """Do the same, and wait until there is room. Who came first goes first."""
        if self._reservations is not None:
            await self._reservations.take(worst)
            self._count()
            return
        mine = asyncio.Event()
        self._line.append(mine)
        try:
            while self._line[0] is not mine or not self._begins(worst):
                self.check()
                mine.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await mine.wait()
        finally:
            self._line.remove(mine)
            self._call_next()

    def _begins(self, worst: Amount) -> bool:
        self.check()
        try:
            if not self.budget.reserve(worst):
                return False
        except StorageError as error:
            if self.patient(error):
                return False
            raise self.broken(error) from error
        self._count()
        return True

    def _count(self) -> None:
        self.served()
        self.ledger.calls["made"] += 1
        self.under_way += 1

    def _failed(self, error: StorageError) -> JudgeError | None:
        """Return the error for who waits; None: it may work a moment later."""
        return None if self.patient(error) else self.broken(error)

    def end(self, worst: Amount, used: Amount) -> None:
        """Note what a call used; the rest of what was reserved is free again."""
        self.under_way -= 1
        try:
            self.budget.settle(worst, used)
        except StorageError as error:  # the amount stays reserved, so the cap holds
            if not self.patient(error):
                self.broken(error)
        self._call_next()

    def _call_next(self) -> None:
        if self._reservations is not None:
            self._reservations.ask()
        elif self._line:
            self._line[0].set()

    def check(self) -> None:
        """Raise a `JudgeError` if the run is stopped."""
        if self.fault:
            raise JudgeError(NOT_KEPT, fatal=True)
        if self.stopping or self._over():
            raise JudgeError(STOPPED, fatal=True)

    def patient(self, error: StorageError) -> bool:
        """Return whether what failed may be tried again in a moment: others keep the cache locked, not for long yet."""
        if not error.busy:
            return False
        now = asyncio.get_running_loop().time()
        if self._busy_since is None:
            self._busy_since = now
        return now - self._busy_since < PATIENCE_S

    async def storing(self, step: Callable[[], T]) -> T:
        """
        Return what a step on the cache returns; while others keep the cache locked, it is tried again.

        Raises:
            JudgeError: the cache failed.
        """
        while True:
            try:
                found = await self._clerk.wait(step)
            except StorageError as error:
                if not self.patient(error):
                    raise self.broken(error) from error
                await asyncio.sleep(LOOK_S)
            else:
                self.served()
                return found

    def served(self) -> None:
        """Note that the cache took or gave something: it is not locked."""
        self._busy_since = None

    def broken(self, error: StorageError) -> JudgeError:
        """Begin no more calls, since the cache failed; return the error for who waits."""
        if not self.fault:
            self.fault = because(Kind.CACHE_FAILED, str(error))
            self._halted(NOT_KEPT)
        return JudgeError(NOT_KEPT, fatal=True)

    @property
    def longest_s(self) -> float | None:
        """For how many seconds a call may last, so that the cap in minutes holds; None: there is no such cap."""
        left_s = self.budget.seconds_left
        return None if left_s is None else max(0.0, left_s) + self.grace_s


SMALL: Final = 0.05
"""A cap is large enough where one call can cost no more than this share of it."""


@dataclass(eq=False, slots=True)
class Charge:
    """
    What is reserved for one attempt: tokens of `input` and `output`, US dollars (0 where nobody counts them).

    `size` counts the characters of the body; an attempt by `batch` costs less. `sent` is the body, where that may
    be changed, and `short` what is sent instead: its limit of tokens is `output`. `cap` is why, if it is one.
    """

    server: Server
    endpoint: Endpoint
    size: int
    batch: bool
    sent: Sent | None = None
    input: int = 0
    output: int = 0
    usd: float = 0.0
    short: Sent | None = None
    cap: Reason = NONE

    @property
    def worst(self) -> Amount:
        """The most that the attempt can use."""
        tokens = self.input + self.output
        return Amount(1, tokens, self.usd) if tokens else ONE

    def limit(self, most: int) -> None:
        """Reserve for a reply of so many tokens, or more where the server was seen to report more."""
        price, worst = self.server.price_of(batch=self.batch), self.server.worst(self.size, most)
        self.input, self.output = worst.input or 0, worst.output or 0
        self.usd = cost(price, dearest(price, worst)) if price else 0.0

    def shorten(self, cap: Reason) -> bool:
        """Take a limit of tokens that is well above all replies so far; return False if there is none that is lower."""
        most = self.server.short
        if self.sent is None or self.short is not None or most is None:
            return False
        most = self.server.worst(self.size, most).output or most
        self.short, self.cap = limited(self.sent, most), cap
        if self.short is not None:
            self.limit(most)
        return self.short is not None

    def cuts(self, reply: Reply) -> bool:
        """Return whether a reply ends at the lower limit: it is not the one that was asked for."""
        return self.short is not None and (reply.stop == "length" or _written(reply) >= self.output)


class Charges:
    """Begins attempts within the caps, and counts what came of them."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._ledger = calls, calls.ledger

    async def begin(
        self,
        server: Server,
        endpoint: Endpoint,
        size: int,
        *,
        batch: bool,
        again: bool,
        sent: Sent | None = None,
    ) -> Charge:
        """
        Reserve the most that an attempt can use, and count it; `again` if it is not the first one of its call.

        Where that does not fit a cap on tokens or dollars any more, and the body that is `sent` may be changed, a limit
        that is twice the longest reply so far may still fit: what is left is spent on calls that can hardly need more.

        Raises:
            JudgeError: a cap would be passed, the server was given up, or the run is stopped.
        """
        price = server.price_of(batch=batch)
        if price is None and endpoint.live and self._calls.budget.caps.usd is not None:
            raise JudgeError(because(Kind.CAPPED_UNPRICED, name(endpoint.model)))
        charge = Charge(server, endpoint, size, batch, sent)
        if self._calls.budget.counts or price is not None:
            charge.limit(endpoint.max_tokens)
        while True:
            try:
                if not self._calls.begin_now(charge.worst):
                    async with server.health.waiting():
                        await self._calls.begin(charge.worst)
            except JudgeError as error:
                if not self._lowered(charge, reason_of(error)):
                    raise
            else:
                self._ledger.calls["retried"] += again
                return charge

    def _lowered(self, charge: Charge, cap: Reason) -> bool:
        """Note a cap on tokens or dollars that an attempt would pass; return whether a lower limit may still fit."""
        budget, whole = self._calls.budget, charge.usd
        if cap not in (budget.out_of_tokens, budget.out_of_usd):
            return False
        if charge.shorten(cap):
            return True
        said = any(note.kind is Kind.CAP_TOO_LOW for note in self._ledger.notes)
        if not said and whole > SMALL * (budget.caps.usd or inf):
            self._ledger.note(because(Kind.CAP_TOO_LOW, cap.details[0], name(charge.endpoint.model), dollars(whole)))
        return False

    def answered(self, charge: Charge, reply: Reply) -> None:
        """Count what an answered attempt used; where the server does not say, the most that it can have used."""
        try:
            amount = self._used(charge, reply)
        except BaseException:
            self._calls.end(charge.worst, charge.worst)
            raise
        self._calls.end(charge.worst, amount)

    def failed(self, charge: Charge, error: JudgeError) -> None:
        """Count an attempt without an answer; one that may be billed counts by the most that it can cost."""
        used = ONE
        if error.pending:  # whoever collects its reply counts it; what may be at the server stays reserved
            self._ledger.calls["made"] -= 1
            used = NOTHING if error.again else charge.worst
        elif error.billed:
            used = charge.worst
            self._ledger.usd += charge.usd
            if charge.usd:
                self._ledger.note(because(Kind.MAY_BE_BILLED, name(charge.endpoint.model)))
            elif charge.endpoint.live:
                self._ledger.no_price(charge.endpoint.model)
        self._calls.end(charge.worst, used)

    def _used(self, charge: Charge, reply: Reply) -> Amount:
        used = reply.usage
        ledger, server, model = self._ledger, charge.server, charge.endpoint.model
        price = server.price_of(batch=charge.batch)
        ledger.tokens["input"] += used.input or 0
        ledger.tokens["output"] += used.output or 0
        server.note(used, charge.size, max(_written(reply), charge.output if charge.cuts(reply) else 0))
        pairs = (used.input, charge.input), (used.output, charge.output)
        tokens = sum(reported if reported is not None else most for reported, most in pairs)
        if price is None:
            if charge.endpoint.live:
                ledger.no_price(model)
            return Amount(1, tokens, 0.0)
        if used.input is None or used.output is None:
            ledger.note(because(Kind.NO_USAGE, name(model)))
        dollars = cost(price, used, dearest(price, Usage(charge.input, charge.output)))
        ledger.usd += dollars
        return Amount(1, tokens, dollars)


def _written(reply: Reply) -> int:
    """Return how many tokens a reply has; where the server does not say, the bytes of its text: it has no more."""
    return len(reply.text.encode(errors="replace")) if reply.usage.output is None else reply.usage.output
