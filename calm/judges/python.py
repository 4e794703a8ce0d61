"""Any Python callable as a judge: `f(case)` or `f(case, send)`, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from calm.core.case import Case
from calm.core.reasons import Kind, Reason, Said, because, name
from calm.core.verdict import FAMILY, NoReply, Refused, Scale, Task, Verdict, readable
from calm.errors import CalmError, ConfigError, JudgeError
from calm.judges.attributes import Function, attributes_of, is_async, qualified_name
from calm.judges.blind import GOLD, Undeclared, blinded, visible
from calm.judges.traces import in_short, place_of
from calm.judges.values import EXPECTED, brief, verdict_of
from calm.models.wire import Endpoint, Json, Remarks, Reply, Request, Send, Traits

EXAMPLES: Final = 2
"""How many of the values that are no verdict a judge keeps."""


@dataclass(frozen=True)
class PythonJudge:
    """
    A callable as a judge. The callable describes itself with attributes.

    | attribute | meaning | default |
    |---|---|---|
    | `task` | what it is asked to do, as in judge.toml | "pairwise" |
    | `reads` | the parts of a case that reach its verdict; others are withheld | question, answers (criteria) |
    | `scale` | the range of its scores, a `Scale` or a mapping | 1 to 10; 0 to 1 for `points` |
    | `classes` | the classes of the task `label`, from worst to best if `ordered` is true | none: they must be named |
    | `ordered`, `harm`, `damaged` | what the table `[labels]` of a judge.toml says of classes | False, none, None |
    | `fingerprint` | a text that changes whenever its verdicts can; without one nothing is cached | None |
    | `concurrency` | how many calls may run at a time | 1 if sync, 32 if async |
    | `quick` | a sync function that returns at once: no thread is used | False |
    | `name` | how reports call it | its qualified name |

    It gets of the case what it declares (`calm.judges.blind`), with its answers in slot order, under the ids A, B, ....
    To read anything else of it is an error that says what to declare. It returns a verdict, or the id
    of an answer or "tie", a number on its scale, a mapping of criterion to bool, a list of ids from best to worst, or a
    class.
    None means that no verdict could be read. A preference names the better answer, whatever the framing. If the low end
    of the scale is the best, a plain number is turned over; a `Score` is taken as it is.

    Args:
        function: the callable.
        name: how reports call it, if it has no `name` of its own.

    Raises:
        ConfigError: attributes are wrong; each fault is named.
    """

    function: Function
    name: str = ""
    task: Task = field(init=False)
    reads: tuple[str, ...] = field(init=False)
    scale: Scale = field(init=False)
    fingerprint: str | None = field(init=False)
    traits: Traits = field(init=False)
    takes_send: Literal["", "second", "keyword"] = field(init=False)
    """How the callable takes `send`, if it does."""
    _unread: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """What it returned first that could not be read."""
    _faults: dict[tuple[str, str], _Fault] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What it did that is no verdict, by the kind of the exception and the place."""

    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    def __post_init__(self) -> None:
        problems: list[str] = []
        for key, value in attributes_of(self.function, self.name, problems.append).items():
            object.__setattr__(self, key, value)
        if problems:
            raise ConfigError(problems)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        return {"callable": qualified_name(self.function), "reads": list(self.reads)}

    @property
    def remarks(self) -> Remarks:
        """That it goes by gold labels, if it does, and what it returned that is no verdict."""
        gold = sorted(GOLD & set(self.reads))
        notes = (because(Kind.READS_GOLD, name(self.name), ", ".join(gold)),) if gold else ()
        faults = tuple(self._faults_said())
        values = dict.fromkeys(self._unread)
        if values:
            expected = EXPECTED[FAMILY[self.task]]
            faults = (*faults, because(Kind.VALUES_UNREAD, name(self.name), expected, *map(Said, values)))
        return Remarks((*notes, *(one for one in faults if one.kind is not Kind.VALUES_UNREAD)), unread=faults)

    def sees(self, case: Case) -> object:
        """Return what of a case can reach its verdict: the fields that it declares."""
        return visible(case, self.reads)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the callable's verdict on a case.

        Raises:
            JudgeError: the callable raised an exception, or returned what is no verdict on this case.
            ConfigError: it read what it does not declare.
        """
        hidden = blinded(case, self.reads)
        value = await self._called(hidden.case, send)
        try:
            verdict = hidden.named(verdict_of(value, hidden.case, FAMILY[self.task], self.scale))
        except ValueError as error:
            raise self._wrong(case, str(error)) from None
        if len(self._unread) < EXAMPLES and not readable(verdict) and not isinstance(verdict, Refused | NoReply):
            self._unread.append(brief(value))
        return verdict

    async def _called(self, case: Case, send: Send) -> object:
        threaded = not self.traits.quick and not is_async(self.function)
        door = _BlockingSend(send, asyncio.get_running_loop()) if threaded else send
        more = (door,) if self.takes_send == "second" else ()
        named = {"send": door} if self.takes_send == "keyword" else {}

        def run() -> object:
            return self.function(case, *more, **named)

        try:
            value = await in_thread(run) if threaded else run()
            return await value if inspect.isawaitable(value) else value
        except Undeclared as error:
            raise Undeclared(f"judge {self.name}: {problem}" for problem in error.problems) from None
        except CalmError:
            raise  # it comes from `send`: the judge could not answer, and is not wrong
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # also `sys.exit()`, which would end the loop, and leave all who wait
            # no coroutine can raise a StopIteration: it becomes the cause of another error
            raise self._raised(
                case, error.__cause__ if isinstance(error.__cause__, StopIteration) else error
            ) from error

    def _raised(self, case: Case, error: BaseException) -> JudgeError:
        """Return the error for an ask in which the callable raised an exception: one for each kind and place."""
        kind, where = type(error).__name__, place_of(error)
        first = self._faults.setdefault((kind, where), _Fault(case.id, in_short(error), where))
        first.asks += 1
        return JudgeError(because(Kind.CODE_RAISED, name(self.name), kind, name(where)))

    def _wrong(self, case: Case, message: str) -> JudgeError:
        """Return the error for an ask in which the callable returned what is no verdict."""
        first = self._faults.setdefault(("", ""), _Fault(case.id, message, ""))
        first.asks += 1
        return JudgeError(because(Kind.VALUE_WRONG, name(self.name), Said(message)))

    def _faults_said(self) -> Iterator[Reason]:
        """Return what the callable did that is no verdict: each kind once, with its first case."""
        for one in list(self._faults.values()):
            if one.where:
                details = (name(one.where), Said(one.message), Said(one.case), one.asks)
                yield because(Kind.CODE_RAISED_FIRST, name(self.name), *details)
            else:
                yield because(Kind.VALUE_WRONG_FIRST, name(self.name), Said(one.message), Said(one.case), one.asks)


@dataclass(slots=True)
class _Fault:
    """What a callable did that is no verdict: about which case first, with which message, where, and how often."""

    case: str
    message: str
    where: str
    asks: int = 0


@dataclass(frozen=True, slots=True)
class _BlockingSend:
    """`send` for a function in a thread: it is called without `await`, or with `await` where a loop is running."""

    send: Send
    loop: asyncio.AbstractEventLoop

    @property
    def ask(self) -> int:
        return self.send.ask

    def __call__(self, request: Request) -> Reply | Awaitable[Reply]:
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self.loop:  # a coroutine that the function only made
            return self.send(request)
        reply = asyncio.run_coroutine_threadsafe(_reply(self.send, request), self.loop)
        return asyncio.wrap_future(reply) if running else reply.result()


async def _reply(send: Send, request: Request) -> Reply:
    return await send(request)


async def in_thread(run: Callable[[], object]) -> object:
    """
    Run in a daemon thread. A thread of a pool would delay the end of the process after Ctrl-C.

    An exception is returned with the value, as a future cannot hold a StopIteration.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
    context = copy_context()

    def settle(outcome: tuple[object, BaseException | None]) -> None:
        if not done.done():  # cancelled meanwhile
            done.set_result(outcome)

    def guarded() -> None:
        try:
            outcome: tuple[object, BaseException | None] = (context.run(run), None)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised again below
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop was closed meanwhile, so nobody waits
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=guarded, name="calm-judge", daemon=True).start()
    value, error = await done
    if error is not None:
        raise error
    return value
