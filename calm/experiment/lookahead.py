"""Probes asked ahead of the tests that want them, a few at a time, in the order of the tests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from time import perf_counter
from typing import NoReturn

from calm.core.claims import Claim
from calm.core.edits import AnyEdit
from calm.core.measures import Measure
from calm.experiment import run as experiment
from calm.experiment.run import Result, Setup
from calm.models.pacing import PRIORITY

SLICE_S = 0.2
"""Waits are cut into slices of so many seconds, since an untimed one cannot be interrupted everywhere."""


class NeedsData(BaseException):
    """
    Ends the trace of a test where it wants a number that nobody has asked for yet.

    It is no `Exception`, so that no `except Exception` of a test takes it for a fault of the judge.
    """


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """All that `experiment.run` needs for one question of a test."""

    setup: Setup
    edit: AnyEdit | None
    claims: tuple[Claim, ...]
    observed: tuple[Measure, ...] = ()
    against: AnyEdit | None = None
    top_up: bool = True

    @property
    def key(self) -> Hashable:
        """
        What two orders share that have one result: the same objects, not equal ones.

        A perturbation that is made anew in the body of a test, or cases of a fixture that are read again, make another
        order; the calls of both are the same, and the engine makes them once.
        """
        own, setup = (id(self.edit), id(self.against), id(self.setup.judge)), self.setup
        cases = tuple(id(case) for case in setup.cases)
        measures = tuple(m.name for m in self.observed)
        return own, cases, setup.seed, setup.design, setup.stopping, self.claims, measures, self.top_up

    def run(self) -> Result:
        """Ask and decide."""
        return experiment.run(
            self.setup, self.edit, self.claims, observed=self.observed, against=self.against, top_up=self.top_up
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """A result and the seconds that it took, from the first ask to the last decision."""

    result: Result
    seconds: float


class Ahead:
    """
    Runs orders before they are wanted: at most `probes` at a time, those of earlier tests first.

    What is found is what the test would have found, since the same function runs on the same objects; an order that
    nobody foresaw runs when it is wanted. `wait` is called again and again while a test waits, `rest` when its wait is
    over.
    """

    def __init__(
        self,
        probes: int,
        wait: Callable[[Ahead], None] = lambda _ahead: None,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._pool = ThreadPoolExecutor(max_workers=probes, thread_name_prefix="calm-ahead")
        self._foreseen: dict[Hashable, tuple[Order, Future[Timed]]] = {}
        self._stopped = threading.Event()
        self._wait, self._rest = wait, rest
        self._count = 0
        self._done = 0

    @property
    def foreseen(self) -> int:
        """How many orders were submitted."""
        return self._count

    @property
    def decided(self) -> int:
        """How many of them have been run."""
        return self._done

    def submit(self, order: Order) -> None:
        """Run an order as soon as it is its turn; nothing happens if it was submitted before."""
        if order.key not in self._foreseen and not self._stopped.is_set():
            self._count += 1
            # the order is kept with its future: its key speaks of objects that must not be freed
            self._foreseen[order.key] = order, (future := self._pool.submit(self._timed, order, self._count))
            future.add_done_callback(self._note)

    def result(self, order: Order) -> Timed:
        """Return what an order found: wait for it if it was submitted, else run it now. Taken once, it is forgotten."""
        found = self._foreseen.pop(order.key, None)
        if found is not None:
            try:
                return self._waited(found[1])
            except CancelledError:  # stopped before its turn came
                pass
            finally:
                self._rest()
        return self._timed(order, 0)

    def stop(self) -> None:
        """Begin nothing new; what is under way ends when the engine lets go of it."""
        self._stopped.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _waited(self, future: Future[Timed]) -> Timed:
        while True:
            try:
                return future.result(timeout=SLICE_S)
            except NotYet:
                if future.done():  # the work itself timed out, not the wait
                    raise
                self._wait(self)

    def _note(self, _future: Future[Timed]) -> None:
        self._done += 1

    def _timed(self, order: Order, rank: int) -> Timed:
        began = perf_counter()
        token = PRIORITY.set(rank)
        try:
            with order.setup.engine.working():
                return Timed(order.run(), perf_counter() - began)
        finally:
            PRIORITY.reset(token)


class Foreseen:
    """What `.proves` and the like return in a trace: true, so that the test goes on; whatever else is asked ends it."""

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
