"""Any Python callable as a judge: `f(case)` or `f(case, send)`, sync or async."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import ClassVar, Literal, TypeAlias, cast

from calm.core.case import TIE, Case
from calm.core.verdict import (
    FAMILY,
    Criteria,
    Family,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Task,
    Tie,
    Unreadable,
    Verdict,
)
from calm.errors import CalmError, ConfigError, JudgeError, nearest
from calm.models.wire import Endpoint, Json, Remarks, Reply, Request, Send, Traits

READABLE = (
    "question",
    "answers",
    "reference",
    "criteria",
    "fields",
    "notes",
    "labels",
    "bylines",
    "order",
    "examples",
    "framing",
    "follow_ups",
    "better",
    "scores",
    "met",
)
"""What a callable may declare that it reads: fields of a case. `answers` are all of them, in slot order."""

SYNC_CONCURRENCY, ASYNC_CONCURRENCY = 1, 32

EXPECTED: Mapping[Family, str] = {
    "pairwise": "an answer's id or 'tie'",
    "score": "a number",
    "rubric": "a mapping of criterion ids to true or false",
    "listwise": "a list of answer ids from best to worst",
}
"""What a callable of each kind returns, beside a verdict or None."""

Function: TypeAlias = Callable[..., object]


@dataclass(frozen=True)
class PythonJudge:
    """
    A callable as a judge, with what the callable says of itself in attributes of its own.

    | attribute | meaning | default |
    |---|---|---|
    | `task` | what it is asked to do, as in judge.toml | "pairwise" |
    | `reads` | the fields of a case that can reach its verdict, of `READABLE` | ("question", "answers") |
    | `scale` | the range of its scores, a `Scale` or a mapping | 1 to 10; 0 to 1 for `points` |
    | `fingerprint` | a text that changes whenever its verdicts can; without one nothing is cached | None |
    | `concurrency` | how many calls may run at a time | 1 if sync, 32 if async |
    | `quick` | a sync function that returns at once: no thread is used | False |
    | `name` | how reports call it | its qualified name |

    It is given the case without what the experiment knows, its answers in slot order. It returns a verdict, or an
    answer's id or "tie", a number on its scale, a mapping of criterion to bool, a list of ids from best to worst. None
    means that no verdict could be read. A preference names the better answer whatever the case's framing; a plain
    number of a scale whose best end is the low one is turned over, a `Score` is taken as it is.

    Args:
        function: the callable.
        name: how reports call it, if it has no `name` of its own.

    Raises:
        ConfigError: all that is wrong with the attributes.
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

    remarks: ClassVar[Remarks] = Remarks()
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    def __post_init__(self) -> None:
        problems: list[str] = []
        for key, value in _declared(self.function, self.name, problems.append).items():
            object.__setattr__(self, key, value)
        if problems:
            raise ConfigError(problems)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        return {"callable": _qualified(self.function), "reads": list(self.reads)}

    def sees(self, case: Case) -> object:
        """Return what of a case can reach its verdict: the fields that it declares."""
        return tuple((name, case.shown if name == "answers" else getattr(case, name)) for name in self.reads)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the callable's verdict on a case.

        Raises:
            JudgeError: the callable raised an exception, or returned what is no verdict on this case.
        """
        value = await self._called(replace(case.blind(), answers=case.shown), send)
        try:
            return _verdict(value, case, FAMILY[self.task], self.scale)
        except ValueError as error:
            raise JudgeError(f"judge {self.name}: case {case.id}: {error}") from None

    async def _called(self, case: Case, send: Send) -> object:
        threaded = not self.traits.quick and not _is_async(self.function)
        door = _Door(send, asyncio.get_running_loop()) if threaded else send
        more = (door,) if self.takes_send == "second" else ()
        named = {"send": door} if self.takes_send == "keyword" else {}

        def run() -> object:
            return self.function(case, *more, **named)

        try:
            value = await _in_thread(run) if threaded else run()
            return await value if inspect.isawaitable(value) else value
        except CalmError:
            raise  # of `send`: a judge that could not answer, not one that is wrong
        except Exception as error:
            raise JudgeError(
                f"judge {self.name}: case {case.id}: expected {EXPECTED[FAMILY[self.task]]}, "
                f"got an exception: {type(error).__name__}: {error}; mend the callable"
            ) from error


@dataclass(frozen=True, slots=True)
class _Door:
    """`send` as a function in a thread of its own calls it: without `await`; with `await` where a loop is running."""

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


async def _in_thread(run: Callable[[], object]) -> object:
    """
    Run in a daemon thread, which does not hold up the end of the process as a pool's would: Ctrl-C is heard at once.

    An exception is carried out by hand, as a future cannot hold a StopIteration.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[object, Exception | None]] = loop.create_future()
    context = copy_context()

    def settle(outcome: tuple[object, Exception | None]) -> None:
        if not done.done():  # cancelled meanwhile
            done.set_result(outcome)

    def guarded() -> None:
        try:
            outcome: tuple[object, Exception | None] = (context.run(run), None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised again below
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for the outcome
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=guarded, name="calm-judge", daemon=True).start()
    value, error = await done
    if error is not None:
        raise error
    return value


# --------------------------------------------------------------------------------------------- what the callable says


def _declared(function: Function, name: str, fault: Callable[[str], None]) -> dict[str, object]:
    """Return the attributes of a callable, with their defaults; a fault for each that is wrong."""
    if not callable(function):
        fault(f"expected a callable f(case) or f(case, send) as a judge, got {function!r}; name a function")
        return {}
    own = getattr(function, "name", None) or name or _qualified(function)
    task = _task(function, fault)
    quick = cast(bool, _typed(function, "quick", bool, False, fault))
    send = _send(function, fault)
    if quick and send and not _is_async(function):
        fault(
            "quick=True: expected a callable without `send`, or an async one, got a sync one; it would wait for itself"
        )
    default = ASYNC_CONCURRENCY if _is_async(function) else SYNC_CONCURRENCY
    concurrency = cast(int, _typed(function, "concurrency", int, default, fault))
    if concurrency < 1:
        fault(f"expected a concurrency of 1 or more, got concurrency={concurrency}; leave it out to take the default")
    return {
        "name": str(own),
        "task": task,
        "reads": _reads(function, fault),
        "scale": _scale(getattr(function, "scale", None), task, fault),
        "fingerprint": _typed(function, "fingerprint", str, None, fault),
        "traits": Traits(concurrency=concurrency, quick=quick, sends=bool(send)),
        "takes_send": send,
    }


def _qualified(function: Function) -> str:
    found = function if hasattr(function, "__qualname__") else type(function)
    return f"{found.__module__}:{found.__qualname__}"


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is looked at


def _typed(function: Function, name: str, kind: type, default: object, fault: Callable[[str], None]) -> object:
    value = getattr(function, name, None)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        fault(f"expected {name} to be of type {kind.__name__}, got {name}={value!r}; set the attribute on the callable")
        return default
    return value


def _task(function: Function, fault: Callable[[str], None]) -> Task:
    task = getattr(function, "task", None) or "pairwise"
    if task not in FAMILY:
        fault(f"expected a task, got task={task!r}{nearest(str(task), FAMILY)}")
        return "pairwise"
    return cast(Task, task)


def _reads(function: Function, fault: Callable[[str], None]) -> tuple[str, ...]:
    reads = getattr(function, "reads", None)
    if reads is None:
        return ("question", "answers")
    if isinstance(reads, str) or not isinstance(reads, Sequence | set | frozenset) or not reads:
        fault(f"expected reads to be a tuple of names of a case's fields, got reads={reads!r}; such as ('question',)")
        return ()
    unknown = sorted(str(r) for r in reads if r not in READABLE)
    for one in unknown:
        fault(f"reads: expected a field of a case, got {one!r}{nearest(one, READABLE)}")
    return tuple(r for r in READABLE if r in reads)


def _send(function: Function, fault: Callable[[str], None]) -> str:
    """Return how a callable takes `send`: not at all, as its second argument, or by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one written in C may have no signature; it is asked f(case)
        return ""
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    second = len(by_place) > 1 and (by_place[1].default is inspect.Parameter.empty or by_place[1].name == "send")
    keyword = not second and any(p.name == "send" for p in [*by_place[2:], *by_name])
    needed = [
        p for p in by_place[1 + second :] + by_name if p.default is p.empty and not (keyword and p.name == "send")
    ]
    takes_case = bool(by_place) or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if needed or not takes_case:
        fault(
            f"expected a callable f(case) or f(case, send) as a judge, got {_qualified(function)}{_signature(function)}"
        )
    return "second" if second else "keyword" if keyword else ""


def _signature(function: Function) -> str:
    return "(" + ", ".join(inspect.signature(function).parameters) + ")"


def _scale(scale: object, task: Task, fault: Callable[[str], None]) -> Scale:
    """Return the scale given as a `Scale` or a mapping, or the task's own."""
    default = Scale(0.0, 1.0) if task == "points" else Scale()
    if scale is None:
        return default
    known = {f.name for f in fields(Scale)}
    if isinstance(scale, Scale):
        given: dict[str, object] = {name: getattr(scale, name) for name in known}
    elif isinstance(scale, Mapping):
        given = {str(key): value for key, value in scale.items()}
    else:
        fault(f"expected scale to be a Scale or a mapping, got scale={scale!r}; such as {{'low': 1, 'high': 5}}")
        return default
    wrong = [f"scale: expected a known key, got {key!r}{nearest(key, known)}" for key in given if key not in known]
    best = given.get("best", "high")
    if best not in ("high", "low"):
        wrong.append(f"scale: expected best to be 'high' or 'low', got best={best!r}")
    low, high, step = given.get("low", default.low), given.get("high", default.high), given.get("step")
    numbers = {"low": low, "high": high, **({} if step is None else {"step": step})}
    wrong += [
        f"scale: expected a number, got {k}={v!r}; write it plainly" for k, v in numbers.items() if not _finite(v)
    ]
    if not wrong and not cast(float, low) < cast(float, high):
        wrong.append(f"scale: expected low < high, got low={low!r}, high={high!r}; exchange them, and say best='low'")
    if not wrong and step is not None and not 0 < cast(float, step) <= cast(float, high) - cast(float, low):
        wrong.append(
            f"scale: expected a step above 0 that fits the scale, got step={step!r}; leave it out if it has none"
        )
    for one in wrong:
        fault(one)
    if wrong:
        return default
    return Scale(
        float(cast(float, low)),
        float(cast(float, high)),
        None if step is None else float(cast(float, step)),
        "low" if best == "low" else "high",
    )


def _finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


# ------------------------------------------------------------------------------------------- what the callable returns


def _verdict(value: object, case: Case, family: Family, scale: Scale) -> Verdict:
    """Return the verdict that a returned value stands for; a ValueError says why it stands for none."""
    if value is None:
        return Unreadable("the callable returned None")
    match value:
        case Unreadable() | Refused() | NoReply():
            return value
        case Preferred(answer=answer) if family == "pairwise":
            _expect_ids([answer], [a.id for a in case.answers], EXPECTED[family])
            return value
        case Tie() if family == "pairwise":
            return value
        case str() if family == "pairwise":
            _expect_ids([value], [*(a.id for a in case.answers), TIE], EXPECTED[family])
            return Tie() if value == TIE else Preferred(str(value))
        case Score(value=number) if family == "score":
            return replace(value, value=_on_scale(number, scale))
        case Real() if family == "score" and not isinstance(value, bool):
            number = _on_scale(value, scale)
            return Score(scale.turned(number) if scale.best == "low" else number)
        case Criteria(met=met) if family == "rubric":
            return replace(value, met=_truths(met, case))
        case Mapping() if family == "rubric":
            return Criteria(_truths(value, case))
        case Ranking(order=order) if family == "listwise":
            return Ranking(_ranks(order, case))
        case list() | tuple() if family == "listwise":
            return Ranking(_ranks(value, case))
    raise ValueError(f"expected {EXPECTED[family]}, got {_brief(value)}; return that, or a verdict of calm")


def _brief(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:80] + '...'} of type {type(value).__name__}"


def _expect_ids(given: Sequence[object], known: Sequence[str], expected: str) -> None:
    for one in given:
        if one not in known:
            raise ValueError(f"expected {expected}, got {one!r}{nearest(str(one), known)}")


def _on_scale(value: Real | float, scale: Scale) -> float:
    if not _finite(value) or not scale.holds(float(value)):
        step = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ValueError(
            f"expected a number from {scale.low:g} to {scale.high:g}{step}, got {_brief(value)}; set `scale`"
        )
    return float(value)


def _truths(met: Mapping[object, object] | Mapping[str, bool | None], case: Case) -> dict[str, bool | None]:
    known = [c.id for c in case.criteria]
    _expect_ids(list(met), known, "a criterion's id")
    if missing := [c for c in known if c not in met]:
        raise ValueError(
            f"expected a truth for each criterion, got none for {missing[0]!r}; return None for one unread"
        )
    truths = {c: met[c] for c in known}
    for criterion, truth in truths.items():
        if truth is not None and not isinstance(truth, bool):
            raise ValueError(f"expected true, false or None for criterion {criterion!r}, got {_brief(truth)}")
    return cast("dict[str, bool | None]", truths)


def _ranks(order: Sequence[object], case: Case) -> tuple[tuple[str, ...], ...]:
    groups = [tuple(group) if isinstance(group, list | tuple) else (group,) for group in order]
    ids = [one for group in groups for one in group]
    known = [a.id for a in case.answers]
    _expect_ids(ids, known, "an answer's id")
    if len(ids) != len(known) or len(set(ids)) != len(known):
        raise ValueError(f"expected each answer's id once ({', '.join(known)}), got {_brief(order)}")
    return tuple(tuple(str(one) for one in group) for group in groups if group)
