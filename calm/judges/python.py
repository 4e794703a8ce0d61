"""Any Python callable as a judge: `f(case)` or `f(case, send)`, sync or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from calm.core.case import Case
from calm.core.reasons import Kind, because, name
from calm.core.verdict import Scale, Task, Verdict
from calm.errors import ConfigError
from calm.judges.attributes import Function, attributes_of, is_async, qualified_name
from calm.judges.blind import GOLD, blinded, visible
from calm.judges.code import Watch, attempted, in_task, in_thread, owned
from calm.models.wire import Endpoint, Json, Remarks, Reply, Request, Send, Traits


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
    _watch: Watch = field(default_factory=Watch, init=False, repr=False, compare=False)

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
        return self._watch.remarks(self, Remarks(notes))

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
        threaded = not self.traits.quick and not is_async(self.function)
        door = _BlockingSend(send, asyncio.get_running_loop()) if threaded else send
        more = (door,) if self.takes_send == "second" else ()
        named = {"send": door} if self.takes_send == "keyword" else {}

        def run() -> object:
            return self.function(hidden.case, *more, **named)

        async def called() -> object:
            value = await in_thread(run) if threaded else owned(*attempted(run))
            return await in_task(lambda: value) if inspect.isawaitable(value) else value

        return await self._watch.verdict(self, hidden, called)


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
