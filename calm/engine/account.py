"""The account of a run with several processes: rows of the cache file, which they share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from calm.engine.budget import NOTHING, Amount, Grant
from calm.engine.database import Connection, Database
from calm.engine.leases import Leases

_BEGIN: Final = "insert into spent values (?, 0, 0, 0) on conflict (run) do nothing"
_FITTING: Final = (
    "update spent set calls = calls + ?, tokens = tokens + ?, usd = usd + ? where run = ? "
    "and calls + ? <= ? and tokens + ? <= ? and usd + ? <= ?"
)
_CHANGE: Final = "update spent set calls = calls + ?, tokens = tokens + ?, usd = usd + ? where run = ?"
_HOLD: Final = (
    "insert into held values (?, ?, ?, ?, ?) on conflict (run, owner) do update set "
    "calls = held.calls + excluded.calls, tokens = held.tokens + excluded.tokens, usd = held.usd + excluded.usd"
)


class SharedAccount:
    """
    What a run has used, in all of its processes together, and what each of them has reserved.

    What a process that died had reserved counts as used: its calls may have been billed.
    """

    def __init__(self, database: Database, leases: Leases, run: str) -> None:
        self._database, self._leases, self._run = database, leases, run
        self._unsettled: list[tuple[Amount, Amount]] = []

    def reserve(self, worst: Amount, limits: Amount) -> Grant:
        """Reserve an amount if the sum stays within limits."""
        with self._writing() as db:
            self._leases.beat(db)
            db.execute(_BEGIN, (self._run,))
            if db.execute(_FITTING, _fitting(self._run, worst, limits)).rowcount:
                self._hold(db, worst)
                return Grant.GIVEN
            under_way = self._held_by_the_living(db)
            hope = under_way.calls > 0 and self._sum(db).minus(under_way).plus(worst).within(limits)
            return Grant.LATER if hope else Grant.NEVER

    def settle(self, worst: Amount, used: Amount) -> None:
        """Replace a reserved amount by what was used; where that fails, the next step or `settle_rest` does it."""
        self._unsettled.append((worst, used))
        self.settle_rest()

    def settle_rest(self) -> None:
        """Write down what was used and could not be written yet: others may wait for what is not used."""
        if self._unsettled:
            with self._writing():
                pass

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Write, in this block, after what was used since the last step that worked."""
        settled = len(self._unsettled)
        with self._database.writing() as db:
            for worst, used in self._unsettled[:settled]:
                change = used.minus(worst)
                db.execute(_CHANGE, (change.calls, change.tokens, change.usd, self._run))
                self._hold(db, NOTHING.minus(worst))
            yield db
        del self._unsettled[:settled]

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


def _fitting(run: str, worst: Amount, limits: Amount) -> tuple[str | float, ...]:
    """Return the parameters of `_FITTING`."""
    pairs = (worst.calls, limits.calls, worst.tokens, limits.tokens, worst.usd, limits.usd)
    return (worst.calls, worst.tokens, worst.usd, run, *pairs)
