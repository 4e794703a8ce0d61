"""
The tracer: what each test will ask, as orders, before it runs.

A test whose `probe` traces hands its orders to a sink and gets a `Placeholder` back. The `Lookahead` runs such orders
together, before their tests want them; a plan prices them and runs none. Where several processes trace the same tests,
each runs its share of the orders, and gets the other results from those that run them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import is_
from time import perf_counter
from typing import NoReturn, Protocol

from calm.core.case import digest
from calm.core.claims import Claim, Limiter, Outcome
from calm.core.edits import AnyEdit
from calm.core.measures import MEASURES, Measure
from calm.core.memo import once
from calm.core.reasons import Reason
from calm.engine.queue import GUEST, Guest
from calm.engine.thread import settled
from calm.experiment import run as experiment
from calm.experiment.run import Result
from calm.experiment.setup import Setup
from calm.experiment.stopping import HEARD, Ruling


class NeedsData(BaseException):
    """
    Ends the trace of a test where it needs a number that was not asked for yet.

    It is no `Exception`, so that no `except Exception` of a test takes it for a fault of the judge.
    """


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """
    All that `experiment.run` needs for one question of a test.

    `suite` names the bias where there is no edit. `own_cases`: the test brought the cases itself, so that no sample
    cuts them. `limiter` chooses the limits of the claims when the pilots are there; without it they stay. `lenient`:
    what it disproves alone is no finding, as it is one variant of a rotation, its test is expected to fail, or an
    earlier question of its test is open, and it may never be asked.

    Two orders are equal if they have one result: they hold the same objects, not equal ones. An edit that the body of
    a test makes anew makes another order. The calls of both are the same, and the engine makes them once.
    """

    setup: Setup
    edit: AnyEdit | None
    claims: tuple[Claim, ...]
    observed: tuple[Measure, ...] = ()
    against: AnyEdit | None = None
    top_up: bool = True
    suite: str = ""
    own_cases: bool = False
    limiter: Limiter | None = None
    lenient: bool = False

    @property
    def bias(self) -> str:
        """The bias that is tested."""
        return self.edit.bias if self.edit else self.suite

    @property
    def title(self) -> str:
        """What people see of it: the bias, and the perturbation if it has a name of its own."""
        return f"{self.bias}/{self.edit.label}" if self.edit and self.edit.name else self.bias

    def key(self, measure: str) -> str:
        """Return the key that a finding about a measure has in gate.toml and in the results."""
        edit = self.edit
        return "/".join(part for part in (self.bias, measure, edit.label if edit and edit.name else "") if part)

    @property
    def keys(self) -> list[str]:
        """The keys of all findings that it makes, those of its claims first."""
        return [self.key(one) for one in (*(c.measure for c in self.claims), *(m.name for m in self.observed))]

    @property
    def unserved(self) -> Reason:
        """Why the judge has nothing to say about this bias, or `NONE`."""
        return experiment.unserved(self.setup.judge, self.bias)

    @property
    def idle(self) -> bool:
        """Whether nothing is asked: nothing is claimed or observed, or the judge does not serve the bias."""
        return not (self.claims or self.observed) or bool(self.unserved)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Order):
            return NotImplemented
        mine, others = self.setup, other.setup
        same = self.edit is other.edit and self.against is other.against and mine.judge is others.judge
        return same and self._plain == other._plain and _same(mine.cases, others.cases)

    def __hash__(self) -> int:
        return hash(self._plain)

    @property
    def work(self) -> int:
        """How much there is to ask, to compare it with that of others: cases."""
        return max(1, len(self.setup.cases))

    @property
    def name(self) -> str:
        """What is asked in words, equal in all processes that trace the same tests; other orders may share it."""
        setup = self.setup
        sample = once(setup.memo, lambda: digest(*(c.identity() for c in setup.cases)), (setup.cases,), "sample")
        known = setup.judge.fingerprint or setup.judge.name
        return digest(known, self.bias, repr(self.against), repr(self._plain), sample)

    @property
    def _plain(self) -> tuple[Hashable, ...]:
        """What may be compared by value."""
        setup, measures = self.setup, tuple(m.name for m in self.observed)
        rules = setup.seed, setup.design, setup.stopping, self.top_up, repr(self.limiter)
        return repr(self.edit), *rules, self.claims, measures

    @property
    def pulled(self) -> Order:
        """The same with its claims about the mean pull of a cue alone."""
        measures = {claim: MEASURES[claim.measure] for claim in self.claims}
        kept = tuple(claim for claim, one in measures.items() if one.crosswise and not one.worst_of)
        return replace(self, claims=kept, observed=())

    def parted(self) -> tuple[Order | None, Order | None]:
        """Return what is asked of pairs of equal answers, and what of the cases as they are; None where nothing is."""
        parts = experiment.parted(self.claims, self.observed, lambda one: experiment.of_equals(one, self.edit))
        crossed, rest = (replace(self, claims=part[0], observed=part[1]) if any(part) else None for part in parts)
        return crossed, rest

    def suspicion(self) -> float:
        """Ask a little, and return how far a cue seems to decide between equal answers beyond what is claimed."""
        return 0.0 if self.idle else experiment.seems_pulled(self.setup, self.edit, self.claims)

    def run(self) -> Result:
        """Ask and decide."""
        return experiment.run(
            self.setup,
            self.edit,
            self.claims,
            observed=self.observed,
            against=self.against,
            top_up=self.top_up,
            limiter=self.limiter,
        )


@dataclass(frozen=True, slots=True)
class Timing:
    """A result and the seconds that it took, from the first ask to the last decision."""

    result: Result
    seconds: float


class Workers(Protocol):
    """The processes that trace the same tests, in the same order, as this one."""

    def share(self, orders: Sequence[Order]) -> Sequence[bool]:
        """Return for each order whether this process is to run it."""

    def leave(self, place: int, order: Order, timing: Timing | None) -> None:
        """Leave the result of an order of this process for the others; None: it failed."""

    def result(self, place: int, order: Order) -> Timing | None:
        """Wait for a result of another process, given the order and its place; None: none will come."""


def stretches(work: Sequence[int], count: int) -> list[int]:
    """
    Return which of so many processes runs each order: neighbours together, and about as much work in each.

    Neighbours are tests of one file, which often share a judge and its cases, and so the asks of the clean cases.

    >>> stretches([1, 1, 1, 1, 1, 1], 2)
    [0, 0, 0, 1, 1, 1]
    >>> stretches([5, 1, 1, 1, 1, 1], 2)
    [0, 1, 1, 1, 1, 1]
    """
    total, before, found = sum(work), 0, []
    for one in work:
        found.append(min(count - 1, (2 * before + one) * count // (2 * total)))
        before += one
    return found


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return whether two sequences hold the same objects."""
    return one is other or (len(one) == len(other) and all(map(is_, one, other)))


class Lookahead:
    """
    Runs orders together before their tests want them: `probes` at a time, the next one as soon as one is decided.

    Orders are first collected. When they `begin`, the first looks of those that run at once are asked together, in one
    drawn order: what changes while a run lasts then meets all arms alike.

    A test gets what it would have found by itself, since the same function runs on the same objects. An order that was
    not submitted runs when its test wants it. `wait` is called again and again while a test waits, `rest` at the end.
    `heard` is called with each claim that is disproved, as soon as it is, in the thread that runs its order; and again
    where its test gets it.

    With `workers`, this process runs its share of the orders. A result of another process is waited for; where none
    comes, the order runs here: its calls are found in the cache.
    """

    def __init__(
        self,
        probes: int,
        wait: Callable[[Lookahead], None] = lambda _lookahead: None,
        rest: Callable[[], None] = lambda: None,
        heard: Callable[[Order, Ruling], None] = lambda _order, _ruling: None,
        workers: Workers | None = None,
    ) -> None:
        self._probes = probes
        self._pool = ThreadPoolExecutor(max_workers=probes, thread_name_prefix="calm-lookahead")
        self._orders: list[Order] = []
        self._places: dict[Order, int] = {}
        self._futures: dict[int, Future[Timing]] = {}
        self._stopped = threading.Event()
        self._wait, self._rest, self._heard = wait, rest, heard
        self._workers = workers
        self._done = 0

    def one_by_one(self) -> None:
        """Run one order at a time, in the order in which they are submitted: what ends a run leaves the last undone."""
        self._probes, self._pool = 1, ThreadPoolExecutor(max_workers=1, thread_name_prefix="calm-lookahead")

    @property
    def submitted(self) -> int:
        """How many orders were submitted."""
        return len(self._orders)

    @property
    def decided(self) -> int:
        """How many of them have been run here."""
        return self._done

    def submit(self, order: Order) -> None:
        """Collect an order; nothing happens if it asks nothing or was submitted before."""
        if order.idle or order in self._places or self._stopped.is_set():
            return
        self._places[order] = len(self._orders)
        self._orders.append(order)

    def begin(self) -> None:
        """Run what was collected, or this process's share of it."""
        orders = self._orders
        mine = [True] * len(orders) if self._workers is None else self._workers.share(orders)
        places = [place for place, own in enumerate(mine) if own]
        if not places or self._stopped.is_set():
            return
        with orders[0].setup.engine.gathering() as gathering:
            for turn, place in enumerate(places):
                guest = gathering.guest() if turn < self._probes else None  # the others wait for a thread
                future = self._futures[place] = self._pool.submit(self._timed, orders[place], self._stopped, guest)
                future.add_done_callback(partial(self._note, guest, place))

    def result(self, order: Order) -> Timing:
        """Return the result of an order: wait for it if it was submitted, else run it now. It is handed out once."""
        order.setup.engine.refuse_fork()
        place = self._places.pop(order, None)
        try:
            found = None if place is None else self._found(place)
            found = self._timed(order, threading.Event()) if found is None else found
            self._tell(order, found.result)
            return found
        finally:
            self._rest()

    def stop(self) -> None:
        """Begin nothing new; what is under way ends when its answers are there, or when the engine lets go of it."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _found(self, place: int) -> Timing | None:
        """Return a result that was or will be found here or elsewhere; None: there will be none."""
        future = self._futures.pop(place, None)
        if future is None:
            return None if self._workers is None else self._workers.result(place, self._orders[place])
        try:
            while not settled(future):
                self._wait(self)
            return future.result()
        except CancelledError:  # stopped before its turn came
            return None

    def _note(self, guest: Guest | None, place: int, future: Future[Timing]) -> None:
        self._done += 1
        if guest is not None:  # it may have asked nothing
            guest.arrived()
        if self._workers is not None and not future.cancelled():
            self._workers.leave(place, self._orders[place], None if future.exception() else future.result())

    def _timed(self, order: Order, given_up: threading.Event, guest: Guest | None = None) -> Timing:
        tokens = GUEST.set(guest), HEARD.set(partial(self._heard, order))
        try:
            with order.setup.engine.working(given_up):
                began = perf_counter()
                result = order.run()
                self._tell(order, result)
                return Timing(result, perf_counter() - began)
        finally:
            GUEST.reset(tokens[0])
            HEARD.reset(tokens[1])

    def _tell(self, order: Order, result: Result) -> None:
        for ruling in result.rulings:
            if ruling.decision.outcome is Outcome.FAIL:
                self._heard(order, ruling)


class Placeholder:
    """
    What `.proves` and similar calls return in a trace.

    It is true, so that the test goes on. A test that wants to know more needs data, and its trace ends there.
    """

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> NoReturn:
        raise NeedsData(f"reads .{name}")

    def __getitem__(self, key: object) -> NoReturn:
        raise NeedsData(f"reads the value of {key!r}")

    def __iter__(self) -> NoReturn:
        raise NeedsData("reads the values")

    def __len__(self) -> NoReturn:
        raise NeedsData("reads how many values there are")

    def __eq__(self, other: object) -> NoReturn:
        raise NeedsData("compares what was found")

    __hash__ = None  # type: ignore[assignment]  # what is compared by its data has no hash before there are any
