"""The engine: the only door to a model. It schedules, caps, caches and records every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as NotYet
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from threading import Event
from typing import Final, Protocol, TypeVar

from calm.core.case import Case
from calm.core.plugins import hook, needed
from calm.core.reasons import Kind, Reason, because, name, reason_of
from calm.engine.asks import Asks, Judgment, Prefetch, Question, Response
from calm.engine.calls import Calls, Route
from calm.engine.journal import Journal
from calm.engine.leases import BEAT_S
from calm.engine.money import STOPPED, Caps, Money
from calm.engine.queue import Gathering, Scheduler
from calm.engine.servers import Servers
from calm.engine.signals import SIGNALS
from calm.engine.store import Mode, Store
from calm.engine.thread import CLOSING_S, LoopThread
from calm.errors import ConfigError, JudgeError, StorageError
from calm.models.faults import schema_fault
from calm.models.pricing import SET_PRICE
from calm.models.wire import Batchable, Composed, Endpoint, Judge, Request

DRAIN_S: Final = 0.02
"""While calls under way are waited for, they are counted again after so many seconds."""


class Batches(StrEnum):
    """
    What a run does with the calls that gather.

    Where it does not wait, each call without a reply fails with the reason, and a later run goes on.
    """

    WAIT = "wait"
    """Hand them in, and wait for the replies."""
    LEAVE = "leave"
    """Hand them in, and end."""
    HOLD = "hold"
    """Note them, and end: they go to a file, for whatever engine."""


@dataclass(slots=True)
class BatchFigures:
    """How far the batches of a process are: how many it has seen to, and how many of them are over."""

    batches: int = 0
    over: int = 0


class Batcher(Route, Protocol):
    """The way of calls that go by batch. A plug-in brings it. `holds`: nothing is handed in, as a file takes it."""

    holds: bool

    @property
    def figures(self) -> BatchFigures:
        """How far the batches are."""

    def stop(self, why: Reason) -> None:
        """Take nothing more, and end all waits with a reason."""

    def trust(self) -> None:
        """Take calls again."""

    def clear(self) -> None:
        """Forget who waits."""


class LoopEngine:
    """
    Asks judges about cases and models for texts, many at a time, in one event loop.

    `start` begins a task in that loop; every method is to be called there. `patience_s` turns the seconds for which
    calls under way are waited for at the end into those that are left; `over` says whether the run was told to end.
    `asks` takes what is asked, `calls` makes single calls. `batches` says what becomes of calls that
    can go by batch (None: all are made live),
    and `least` how many make a batch; `computing` whether a thread computes that may soon ask for more.
    """

    def __init__(
        self,
        store: Store,
        money: Money,
        start: Callable[[Coroutine[object, object, None]], None],
        *,
        served: Mapping[str, str],
        first_wait_s: float,
        grace_s: float,
        seed: int,
        patience_s: Callable[[float], float] = float,
        over: Callable[[], bool] = lambda: False,
        batches: Batches | None = None,
        least: int = 1,
        computing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.store, self.money, self.ledger = store, money, money.ledger
        self._patience_s = patience_s
        self.scheduler = Scheduler(start)
        self.servers = Servers(served, batches=batches is not None)
        self.journal = Journal(store, self.end_waits, self.ledger.note)
        money.open(self.journal, grace_s, over)
        self.calls = Calls(
            store,
            self.journal,
            money,
            self.servers,
            idling=self.scheduler.idling,
            first_wait_s=first_wait_s,
            jitter=Random(f"{store.host.place} {store.host.pid}"),  # processes do not wait in step
        )
        self.batcher: Batcher | None = None
        if batches is not None:
            self.calls.route = self.batcher = needed("batches.batcher", "--calm-batch")(
                self.calls,
                self.journal,
                again=self.scheduler.again,
                under_way=lambda: self.scheduler.under_way,
                computing=computing,
                start=start,
                batches=batches,
                least=least,
                first_wait_s=first_wait_s,
            )
        self.asks = Asks(self.calls, self.scheduler, seed)

    def end_waits(self, why: Reason = STOPPED) -> None:
        """End all waits, for servers and for other processes: whoever waits gets a `JudgeError` with the reason."""
        self.scheduler.release()
        self.servers.stop(why)
        if self.batcher is not None:
            self.batcher.stop(why)
        self.journal.dismiss()

    async def drain(self) -> None:
        """Begin nothing new, and wait for the calls under way while there is patience: they are billed anyway."""
        self.money.stopping = True
        self.end_waits()
        loop, grace_s = asyncio.get_running_loop(), self.money.grace_s
        deadline_s = loop.time() + grace_s
        while self.money.under_way and loop.time() < deadline_s and self._patience_s(grace_s) > 0:  # noqa: ASYNC110 - counted where calls begin and end
            await asyncio.sleep(DRAIN_S)

    async def cancel_all(self) -> None:
        """Cancel all that the loop does but the present task, keep what was answered, and forget what was not."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.batcher is not None:
            self.batcher.clear()
        await self.journal.flush()
        self.scheduler.clear()
        self.asks.clear()

    async def live(self) -> None:
        """Let other processes know that this one is alive; a sign that fails is not the last one."""
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(StorageError):
                await self.journal.step(self.store.show_life)


T = TypeVar("T")
R = TypeVar("R")

FIRST_WAIT_S: Final = 0.5
LEAST_BATCH: Final = 20
"""A wave of fewer calls than this is made live."""
GRACE_S: Final = 10.0
"""For how many seconds a stopped run waits for the calls under way: they are billed anyway, and go to the cache."""


class Engine:
    """
    Asks judges about cases and models for texts, many at a time, in a thread of its own.

    An equal call is made once in a run and once in the life of its cache; only answered calls are kept. A call that
    fails is tried again after a wait of `first_wait_s` seconds, then twice as many; each attempt counts against the
    caps. A server that stopped answering is given up (`broken`).

    Questions that wait are asked by round (`calm.models.pacing.PRIORITY`), within a round case by case; the order of
    the cases, and that of the questions about each, are drawn from `seed`. With `batches`, calls to servers that take
    batches go by batch, all but the first one and waves of fewer than `least` calls.

    The cap in dollars holds because the most that a call can cost is reserved before the call is made: a token for two
    characters of its body, and the longest reply that is allowed, or more if the server was seen to report more. One
    gap remains: a server that reports more tokens than that before it was seen to. The first calls under way can then
    pass the cap. Where a server reports no usage, the most that was reserved is what counts.

    When the longest reply that is allowed does not fit the cap any more, the limit of tokens that is sent becomes twice
    the longest reply so far. A reply that this cuts is billed and not used, so what is left is spent and not passed.
    """

    def __init__(
        self,
        store: Store,
        *,
        caps: Caps | None = None,
        money: Money | None = None,
        served: Mapping[str, str] | None = None,
        first_wait_s: float = FIRST_WAIT_S,
        grace_s: float = GRACE_S,
        seed: int = 0,
        batches: Batches | None = None,
        least: int = LEAST_BATCH,
    ) -> None:
        self.store = store
        self.money = money or Money(caps)
        self._thread = LoopThread("calm-engine")
        self._inner = LoopEngine(
            store,
            self.money,
            self._thread.start,
            served=served or {},
            first_wait_s=first_wait_s,
            grace_s=grace_s,
            seed=seed,
            patience_s=SIGNALS.patience_s,
            over=lambda: SIGNALS.over,
            batches=batches,
            least=least,
            computing=lambda: self._thread.computing,
        )
        self.ledger = self.money.ledger
        self._thread.soon(self._show_life)

    @property
    def served(self) -> dict[str, str]:
        """The model that serves each endpoint since the run began, by the endpoint's identity."""
        return self._inner.servers.served

    @property
    def notes(self) -> list[Reason]:
        """What a reader of the run should know of its calls."""
        return self.ledger.notes

    @property
    def broken(self) -> Reason | None:
        """Why nothing more is asked: the cache failed, or a server stopped answering; None: neither."""
        return self._inner.journal.fault or self._inner.servers.broken

    def lost(self, judge: Judge) -> Reason | None:
        """Return why a server of a judge was given up; None: all of its servers are still asked."""
        servers = (self._inner.servers.of(endpoint) for endpoint in judge.endpoints)
        return next((why for server in servers if (why := server.health.lost) is not None), None)

    @property
    def pending(self) -> int:
        """How many asks are under way or wait for their turn."""
        return self._inner.scheduler.pending

    @property
    def batch_figures(self) -> BatchFigures | None:
        """How far the batches of this process are; None: all calls are made live."""
        return None if self._inner.batcher is None else self._inner.batcher.figures

    def note_batches(self) -> None:
        """Note calls that stand in batches, where this run makes its calls live: it may pay for them twice."""
        with suppress(StorageError):  # another process is writing; the note is not worth a wait
            records = hook("batches.records") if self._inner.batcher is None else None
            if records is not None and (count := records(self.store).out()):
                self.ledger.note(because(Kind.BATCHES_OUT, count))

    def greet(self, *endpoints: Endpoint) -> None:
        """
        Make one live call to each endpoint and note which model serves it; in `replay`, look that up in the cache.

        Raises:
            ConfigError: no answer, the wrong model, nothing to replay, a cap in dollars for a model without a price, or
                batches of a provider that has none.
        """
        for endpoint in endpoints:
            if self.money.caps.usd is not None and endpoint.live and self._inner.servers.of(endpoint).price is None:
                cap = self.money.caps.option
                unknown = f"{cap}usd: no price is known for the model {endpoint.model!r}"
                raise ConfigError(f"{unknown}; {SET_PRICE}, or give {cap}calls")
            if (batcher := self._inner.batcher) is not None and isinstance(endpoint, Batchable):
                endpoint.batching(held=batcher.holds)  # refuses a provider without
            self._greet(endpoint)

    def _greet(self, endpoint: Endpoint) -> None:
        """
        Note which model serves an endpoint, for this run and in the store; in `replay`, look it up in the store.

        Raises:
            ConfigError: no answer, another model than the user named, or nothing to replay.
        """
        if not endpoint.live or endpoint.identity in self.served:
            return
        if not endpoint.greeting:
            self.ledger.note(because(Kind.NOT_GREETED, name(endpoint.model)))
            return
        before = self.store.served(endpoint.identity)
        if self.store.mode is Mode.REPLAY:
            if before is None:
                raise ConfigError(
                    f"--calm-cache=replay: the cache {self.store.place} holds no run of the model {endpoint.model!r}"
                )
            self.served[endpoint.identity] = before
            return
        self.served[endpoint.identity] = now = self._served_by(endpoint)
        if before is not None and before != now:
            self.ledger.note(because(Kind.SERVED_NOW, name(endpoint.model), name(now), name(before)))
        self.store.serves(endpoint.identity, now)

    def _served_by(self, endpoint: Endpoint) -> str:
        try:
            found = self._run(self._inner.calls.greeting(endpoint))
        except JudgeError as error:
            raise ConfigError(f"{error}{_hint(endpoint, error)}") from error
        if endpoint.served_as and found.model and found.model != endpoint.served_as:
            raise ConfigError(
                f"the model {endpoint.model!r} is served by {found.model!r}, but judge.toml says "
                f"served_as = {endpoint.served_as!r}; correct it, or find out who changed the model"
            )
        if endpoint.schema is not None and schema_fault(found, endpoint.schema):
            self.ledger.note(because(Kind.SCHEMA_BROKEN, name(endpoint.model)))
        return found.model or endpoint.model

    def admit(self, judge: Judge) -> None:
        """
        Greet the endpoints of a judge; where it is code, note that a cap in dollars does not see what it spends.

        Raises `ConfigError` as `greet` does; of a panel it names the member.
        """
        for endpoint in judge.endpoints:
            try:
                self.greet(endpoint)
            except ConfigError as error:
                whose = judge.whose(endpoint) if isinstance(judge, Composed) else ""
                if not whose or isinstance(error, StorageError):
                    raise
                raise ConfigError(f"{whose}: {error}") from error
        alone = not judge.endpoints and not judge.traits.quick and not judge.traits.sends
        if alone and self.money.caps.usd is not None:
            self.ledger.note(because(Kind.CAP_SEES_NO_CODE, name(judge.name), self.money.caps.option))

    def ask(self, judge: Judge, questions: Sequence[tuple[Case, int]]) -> list[Judgment]:
        """Return the verdict on each (case, repeat index), in the order given. Blocks; Ctrl-C is honoured."""
        return self.ask_each([(judge, case, ask) for case, ask in questions])

    def ask_each(self, questions: Sequence[Question]) -> list[Judgment]:
        """Return the same where each question names its judge, for example because prompts differ from case to case."""
        return self._run(self._inner.asks.ask(questions))

    def generate(self, requests: Sequence[tuple[Request, int]]) -> list[Response]:
        """
        Return the response to each (request, repeat index), in the order given. Blocks; Ctrl-C is honoured.

        A request that fails has a `NoReply` in place of its reply, with the reason; the others are not affected.
        """
        return self._run(self._inner.asks.generate(requests))

    def prefetch(self, questions: Sequence[Question]) -> Prefetch:
        """Ask what may be wanted soon, in the round of the context; nobody waits."""
        prefetch = Prefetch()
        self._thread.soon(lambda: self._thread.start(self._inner.asks.prefetch(questions, prefetch)))
        return prefetch

    def withdraw(self, prefetch: Prefetch) -> None:
        """Take questions back: what has not begun, and nobody else wants, is not asked."""
        self._thread.soon(self._inner.asks.withdraw, prefetch)

    @contextmanager
    def gathering(self) -> Iterator[Gathering]:
        """
        Let experiments begin their first look together.

        No question of a first look, or of a later one, is asked before the block has ended and all its guests have put
        theirs. Pilots go on meanwhile. An error in the block, and a stop, end the wait.
        """
        gathering = Gathering(self._release)
        self._thread.soon(self._inner.scheduler.hold)
        try:
            yield gathering
        except BaseException:
            self._release()
            raise
        gathering.one_less()

    def working(self, given_up: Event) -> AbstractContextManager[None]:
        """
        Let one thread compute at a time. While it waits for answers, another one may.

        Where the work was given up meanwhile, its next wait ends with a `CancelledError`.
        """
        return self._thread.working(given_up)

    def refuse_fork(self) -> None:
        """Return if this process can ask; else raise `ConfigError`: it is a fork of the one that can."""
        self._thread.refuse_fork()

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return what some work that asks returns for each item, in their order; what they ask is asked together."""
        return self._thread.each(work, items, self._interrupted)

    def stop(self) -> None:
        """
        Send nothing new, and wait for the calls under way: they are billed anyway, and go to the cache.

        After a signal the wait is shorter (`Signals.patience_s`).
        """
        if self._thread.closed:
            return
        self.money.stopping = True
        with suppress(NotYet):
            closing_s = 0.5 if SIGNALS.came else CLOSING_S
            self._thread.finish(self._inner.drain(), SIGNALS.patience_s(self.money.grace_s) + closing_s)

    def close(self) -> None:
        """Cancel what is under way, stop the thread and close the cache."""
        if not self._thread.closed:
            self._thread.end()
            self._thread.finish(self._inner.cancel_all())
            self._thread.close()
            self._inner.journal.close()
            self.store.close()

    def _run(self, work: Coroutine[object, object, T]) -> T:
        return self._thread.run(work, self._interrupted)

    def _interrupted(self) -> None:
        """End what is under way, which must not go on costing money; afterwards the engine can be used again."""
        self.stop()
        with suppress(NotYet):
            self._thread.finish(self._inner.cancel_all())
        if SIGNALS.came:  # the process ends: nothing new is asked
            return
        self.money.stopping = False
        self._inner.servers.trust()
        if self._inner.batcher is not None:
            self._inner.batcher.trust()
        self._thread.soon(self._show_life)

    def _release(self) -> None:
        with suppress(RuntimeError):  # the loop is closed, and holds nothing
            self._thread.soon(self._inner.scheduler.release)

    def _show_life(self) -> None:
        self._thread.start(self._inner.live())


def _hint(endpoint: Endpoint, error: JudgeError) -> str:
    if reason_of(error).has(Kind.CAPPED):
        return "; the first live call did not fit: allow more"
    if error.fatal or error.silent or error.again or error.unknown:  # it answers nothing else either
        return ""
    return (
        "; this was the greeting, the first call of a run; if the server answers the judge's own prompts alone, set "
        "greeting = false in the [model] table of judge.toml"
    )
