"""The account of a run with several processes: rows of the cache file, which they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from calm.engine.budget import NOTHING, Amount, Grant
from calm.engine.database import Connection, Database
from calm.engine.leases import Leases

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
