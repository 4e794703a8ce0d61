"""Judges that users wrote in Python: a callable `f(case)`, and a class of their own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal, TypeAlias, cast

from calm.core.case import Case
from calm.core.classes import Classes, checked
from calm.core.reasons import Kind, because, name
from calm.core.verdict import FAMILY, Scale, Task, Verdict
from calm.errors import ConfigError, nearest
from calm.judges.blind import GOLD, READABLE, Blinded, blinded, visible
from calm.judges.code import Watch, attempted, finite, in_task, in_thread, owned
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Endpoint, Json, Judge, Remarks, Reply, Request, Send, Traits

Function: TypeAlias = Callable[..., object]
Fault: TypeAlias = Callable[[str], None]
"""Takes what is wrong with an attribute."""

CRITERIA_TASKS = frozenset({"rubric", "rubric-all", "points"})
SYNC_CONCURRENCY, ASYNC_CONCURRENCY = 1, 32


def attributes_of(function: Function, name: str, fault: Fault) -> dict[str, object]:
    """Return what a `PythonJudge` takes from the attributes of its callable; `fault` gets each that is wrong."""
    if not callable(function):
        fault(f"expected a callable f(case) or f(case, send) as a judge, got {function!r}; name a function")
        return {}
    own = getattr(function, "name", None) or name or qualified_name(function)
    task = _task(function, fault)
    quick = cast(bool, _typed(function, "quick", bool, False, fault))
    send = _send(function, fault)
    if quick and send and not is_async(function):
        fault(
            "quick=True: expected a callable without `send`, or an async one, got a sync one; it would wait for itself"
        )
    default = ASYNC_CONCURRENCY if is_async(function) else SYNC_CONCURRENCY
    concurrency = cast(int, _typed(function, "concurrency", int, default, fault))
    if concurrency < 1:
        fault(f"expected a concurrency of 1 or more, got concurrency={concurrency}; leave it out to take the default")
    return {
        "name": str(own),
        "task": task,
        "reads": reads_of(function, task, fault),
        "scale": _scale_of(function, task, fault),
        "fingerprint": _typed(function, "fingerprint", str, None, fault),
        "traits": Traits(concurrency=concurrency, quick=quick, sends=bool(send)),
        "takes_send": send,
    }


def qualified_name(function: Function) -> str:
    """Return the module and the name of a callable, as `package.module:name`."""
    found = function if hasattr(function, "__qualname__") else type(function)
    return f"{found.__module__}:{found.__qualname__}"


def is_async(function: Function) -> bool:
    """Return whether a call of a callable has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - the method itself is looked at


def _typed(function: Function, name: str, kind: type, default: object, fault: Fault) -> object:
    value = getattr(function, name, None)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        fault(f"expected {name} to be of type {kind.__name__}, got {name}={value!r}; set the attribute on the callable")
        return default
    return value


def _task(function: Function, fault: Fault) -> Task:
    task = getattr(function, "task", None) or "pairwise"
    if task not in FAMILY:
        fault(f"expected a task, got task={task!r}{nearest(str(task), FAMILY)}")
        return "pairwise"
    return cast(Task, task)


def reads_of(function: object, task: Task, fault: Fault) -> tuple[str, ...]:
    """Return what a judge's code declares that it reads, in the order of `READABLE`; a rubric needs its criteria."""
    reads = getattr(function, "reads", None)
    if reads is None:
        return ("question", "answers", "criteria") if task in CRITERIA_TASKS else ("question", "answers")
    if isinstance(reads, str) or not isinstance(reads, Sequence | set | frozenset) or not reads:
        fault(f"expected reads to be a tuple of names of a case's fields, got reads={reads!r}; such as ('question',)")
        return ()
    unknown = sorted(str(r) for r in reads if r not in READABLE)
    for one in unknown:
        fault(f"reads: expected a field of a case, got {one!r}{nearest(one, READABLE)}")
    return tuple(r for r in READABLE if r in reads)


def _send(function: Function, fault: Fault) -> str:
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
        got = f"{qualified_name(function)}({', '.join(inspect.signature(function).parameters)})"
        fault(f"expected a callable f(case) or f(case, send) as a judge, got {got}")
    return "second" if second else "keyword" if keyword else ""


def _scale_of(function: Function, task: Task, fault: Fault) -> Scale:
    scale = getattr(function, "scale", None)
    given = {key: getattr(function, key, None) for key in ("classes", *CLASS_KEYS)}
    if task != "label":
        for key in (key for key, value in given.items() if value is not None and key in ("classes", "harm")):
            fault(f"{key} is for task = 'label' only, got task={task!r}; take it out")
        return _scale(scale, task, fault)
    if isinstance(scale, Scale) and scale.classes is not None:
        found = scale.classes
        given = {**{key: getattr(found, key) for key in CLASS_KEYS}, "classes": found.names}
        given["meanings"] = dict(zip(found.names, found.meanings, strict=False)) or None
    if given["classes"] is None:
        fault('task = "label" needs the classes that it chooses from; write: NAME_OF_IT.classes = ("no", "yes")')
        return Scale(classes=Classes(("no", "yes")))
    try:
        more = {key: value for key in CLASS_KEYS if (value := given[key]) is not None}
        return Scale(classes=checked(given["classes"], **more))
    except ConfigError as error:
        for problem in error.problems:
            fault(problem)
        return Scale(classes=Classes(("no", "yes")))


CLASS_KEYS = ("ordered", "harm", "damaged", "meanings")
"""What a label judge may say of its classes."""


def _scale(scale: object, task: Task, fault: Fault) -> Scale:
    default = Scale(0.0, 1.0) if task == "points" else Scale()
    if scale is None:
        return default
    known = {f.name for f in fields(Scale)} - {"classes"}
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
    wrong += [f"scale: expected a number, got {k}={v!r}; write it plainly" for k, v in numbers.items() if not finite(v)]
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


NEEDED = ("name", "task", "scale", "fingerprint", "about", "endpoints", "sees", "judge")
"""What the object must have to be asked at all."""
VISIBLE = tuple(name for name in READABLE if name not in GOLD)


@dataclass(frozen=True, slots=True, eq=False)
class ForeignJudge(JudgeWrapper):
    """A judge around an object of a user's class: it is handed a case as any code is, and may lack traits."""

    own: Traits
    reads: tuple[str, ...] = VISIBLE
    _watch: Watch = field(default_factory=Watch, init=False, repr=False)

    @property
    def traits(self) -> Traits:
        """Its traits, as they were when it was given."""
        return self.own

    @property
    def remarks(self) -> Remarks:
        """What the object has to say now, and what it returned or raised that is no verdict."""
        given: object = self.inner
        if hasattr(given, "remarks"):
            return self._watch.remarks(self, self.inner.remarks)
        notes, agreement = (tuple(map(str, getattr(given, name, ()))) for name in ("notes", "agreement"))
        return self._watch.remarks(self, Remarks(notes, agreement))

    def sees(self, case: Case) -> object:
        """Return what the object says that it sees of the case that it is handed."""
        return self.inner.sees(blinded(case, self.reads).case)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the object's verdict on the case that it is handed, by the ids of the case itself.

        What it returns may be all that a callable may return (`calm.judges.python`). A verdict may also name an answer
        by the id that it has in the file, as that of a class which looks verdicts up by the id of the case.

        Raises:
            JudgeError: it raised an exception, or returned what is no verdict on this case.
        """
        hidden = blinded(case, self.reads)
        known = hidden if "criteria" in self.reads else blinded(case, (*self.reads, "criteria"))
        letters = {one: letter for letter, one in hidden.ids.items() if one not in hidden.ids}

        def run() -> object:
            return self.inner.judge(hidden.case, send)

        async def called() -> object:
            said = await in_task(run)
            return Blinded(hidden.case, letters).named(cast(Verdict, said))

        return await self._watch.verdict(self, known, called)


def judge_of(given: object) -> Judge:
    """
    Return an object as a judge: one of ours as it is, one of a user's class as a `ForeignJudge`.

    Raises:
        ConfigError: it lacks a member that has no default (all of them are named), or its `reads` are wrong.
    """
    missing = [name for name in NEEDED if not hasattr(given, name)]
    if missing:
        raise ConfigError(
            f"expected a judge, got {given!r}, which lacks {', '.join(missing)}; make one with judge_from(SPEC) of "
            "calm.gate.from_spec, or of a function with PythonJudge(f) of calm.judges.python"
        )
    judge = cast(Judge, given)
    if type(given).__module__.partition(".")[0] == "calm":
        return judge
    problems: list[str] = []
    reads = reads_of(given, judge.task, problems.append) if getattr(given, "reads", None) else VISIBLE
    if problems:
        raise ConfigError(problems)
    if hasattr(given, "traits"):
        return ForeignJudge(judge, judge.traits, reads)
    known = {one.name: getattr(given, one.name) for one in fields(Traits) if hasattr(given, one.name)}
    sends = {"sends": bool(getattr(given, "send", ""))}
    return ForeignJudge(judge, Traits(**{**sends, **known}), reads)
