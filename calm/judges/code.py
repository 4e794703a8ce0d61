"""The code of users as a judge: how it runs, what it may return, and what becomes of what it raises."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from calm.core.case import Case
from calm.core.reasons import Kind, Reason, Said, because, name
from calm.core.verdict import FAMILY, NoReply, Refused, Verdict, readable
from calm.engine.queue import SetAside
from calm.errors import CalmError, JudgeError
from calm.judges.blind import Blinded, Undeclared
from calm.judges.traces import in_short, place_of
from calm.judges.values import EXPECTED, brief, verdict_of
from calm.models.wire import Judge, Remarks

EXAMPLES: Final = 2
"""How many of the values that are no verdict a judge keeps."""
Outcome: TypeAlias = tuple[object, BaseException | None]
"""What some code returned, and what it raised instead."""
_ENDS: Final = (asyncio.CancelledError, GeneratorExit)
"""What ends a task. Where code raises it by itself, it is an error of the code."""


@dataclass(slots=True)
class _Fault:
    """What code did that is no verdict: about which case first, with which message, where, and how often."""

    case: str
    message: str
    where: str
    asks: int = 0


@dataclass(frozen=True, slots=True)
class Watch:
    """Makes verdicts of what the code of one judge returns, and notes what it did that is none."""

    unread: list[str] = field(default_factory=list)
    """What it returned first that could not be read."""
    faults: dict[tuple[str, str], _Fault] = field(default_factory=dict)
    """What it did that is no verdict, by the kind of the exception and the place."""

    async def verdict(self, judge: Judge, hidden: Blinded, call: Callable[[], Awaitable[object]]) -> Verdict:
        """
        Return what a judge's code says of a blinded case, as a verdict on the case itself.

        Raises:
            JudgeError: the code raised an exception, or returned what is no verdict on this case.
            ConfigError: it read what it does not declare.
        """
        value = await self._called(judge, hidden.case, call)
        try:
            verdict = hidden.named(verdict_of(value, hidden.case, FAMILY[judge.task], judge.scale))
        except ValueError as error:
            self._count("", "", hidden.case, str(error))
            raise JudgeError(because(Kind.VALUE_WRONG, name(judge.name), Said(str(error)))) from None
        if len(self.unread) < EXAMPLES and not readable(verdict) and not isinstance(verdict, Refused | NoReply):
            self.unread.append(brief(value))
        return verdict

    async def _called(self, judge: Judge, case: Case, call: Callable[[], Awaitable[object]]) -> object:
        try:
            return await call()
        except Undeclared as error:
            raise Undeclared(f"judge {judge.name}: {problem}" for problem in error.problems) from None
        except (CalmError, SetAside):
            raise  # it comes from `send`: the judge could not answer, or waits for a batch, and is not wrong
        except _ENDS:
            raise  # this task is ended: what the code raises of the kind comes as a cause
        except BaseException as error:  # also `sys.exit()`, which would end the loop, and leave all who wait
            own = error.__cause__ if isinstance(error.__cause__, (StopIteration, *_ENDS)) else error
            kind, where = type(own).__name__, place_of(own)
            self._count(kind, where, case, in_short(own))
            raise JudgeError(because(Kind.CODE_RAISED, name(judge.name), kind, name(where))) from error

    def _count(self, kind: str, where: str, case: Case, message: str) -> None:
        self.faults.setdefault((kind, where), _Fault(case.id, message, where)).asks += 1

    def remarks(self, judge: Judge, own: Remarks) -> Remarks:
        """Return what a judge has to say by itself, and what it returned or raised that is no verdict."""
        faults = tuple(self._said(judge.name))
        notes = (*own.notes, *faults)
        values = dict.fromkeys(self.unread)
        if values:
            expected = EXPECTED[FAMILY[judge.task]]
            faults = (*faults, because(Kind.VALUES_UNREAD, name(judge.name), expected, *map(Said, values)))
        return Remarks(notes, own.agreement, (*own.unread, *faults))

    def _said(self, whose: str) -> Iterator[Reason]:
        """Return what the code did that is no verdict: each kind once, with its first case."""
        for one in list(self.faults.values()):
            if one.where:
                details = (name(one.where), Said(one.message), Said(one.case), one.asks)
                yield because(Kind.CODE_RAISED_FIRST, name(whose), *details)
            else:
                yield because(Kind.VALUE_WRONG_FIRST, name(whose), Said(one.message), Said(one.case), one.asks)


def attempted(run: Callable[[], object]) -> Outcome:
    """Return what a call returns and what it raises, whatever that is."""
    try:
        return run(), None
    except BaseException as error:  # noqa: BLE001 - whatever it is, `owned` raises it again
        return None, error


async def awaited(run: Callable[[], object]) -> Outcome:
    """Return what a call gives, awaited if it has to be, and what it raises: `sys.exit()` would end the loop."""
    try:
        value = run()
        return await value if inspect.isawaitable(value) else value, None
    except BaseException as error:  # noqa: BLE001 - whatever it is, `owned` raises it again
        return None, error


def owned(value: object, error: BaseException | None) -> object:
    """
    Return what code returned, or raise what it raised.

    Raises:
        RuntimeError: it raised what would end the task of whoever waits; that is the cause.
    """
    if isinstance(error, _ENDS):
        raise RuntimeError(f"its code raised {type(error).__name__}") from error
    if error is not None:
        raise error
    return value


async def settled(outcome: asyncio.Future[Outcome]) -> object:
    """Return what code that runs elsewhere returns, or raise what it raises; a stop of this task remains one."""
    value: object = None
    error: BaseException | None = None
    try:
        value, error = await outcome
    except asyncio.CancelledError as ended:  # the task of the code was cancelled, or this one
        error = ended
    present = asyncio.current_task()
    if present is not None and present.cancelling():
        raise asyncio.CancelledError
    return owned(value, error)


async def in_task(run: Callable[[], object]) -> object:
    """Run asynchronous code in a task of its own, so that whatever it cancels is not the task of the engine."""
    return await settled(asyncio.create_task(awaited(run)))


async def in_thread(run: Callable[[], object]) -> object:
    """
    Run in a daemon thread. A thread of a pool would delay the end of the process after Ctrl-C.

    An exception is returned with the value, as a future cannot hold a StopIteration.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = copy_context()

    def settle(outcome: Outcome) -> None:
        if not done.done():  # cancelled meanwhile
            done.set_result(outcome)

    def guarded() -> None:
        outcome = attempted(lambda: context.run(run))
        with suppress(RuntimeError):  # the loop was closed meanwhile, so nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=guarded, name="calm-judge", daemon=True).start()
    return await settled(done)
