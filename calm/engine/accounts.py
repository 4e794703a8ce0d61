"""What the processes of a run used together, and reserved: in one of them alone, or in the record that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from calm.engine.database import Connection, Database, patiently
from calm.engine.leases import Leases


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
        """Reserve each amount for which the sum stays within limits; while one waits, none after it goes before it."""
        grants: list[Grant] = []
        for worst in worsts:
            if grants and grants[-1] is Grant.LATER:
                grants.append(Grant.LATER)
            elif self.spent().plus(worst).within(limits):
                self.held = self.held.plus(worst)
                self.under_way += 1
                grants.append(Grant.GIVEN)
            else:
                waits = self.under_way and self.used.plus(worst).within(limits)
                grants.append(Grant.LATER if waits else Grant.NEVER)
        return grants

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used."""
        self.under_way -= 1
        self.held = self.held.minus(worst) if self.under_way else NOTHING  # no crumbs of rounding are left
        self.used = self.used.plus(used)

    def spent(self) -> Amount:
        """Return the sum of what was used and what is reserved."""
        return self.used.plus(self.held)


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
