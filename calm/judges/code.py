"""A user's own code as a judge: how it is imported and run, and what it returns."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import math
import pkgutil
import sys
import sysconfig
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from numbers import Real
from pathlib import Path
from typing import Final, TypeAlias, cast

from calm.core.case import TIE, Case
from calm.core.reasons import Kind, Reason, Said, because, name
from calm.core.verdict import (
    FAMILY,
    Criteria,
    Family,
    Label,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Tie,
    Unreadable,
    Verdict,
    readable,
)
from calm.engine.queue import SetAside
from calm.errors import CalmError, ConfigError, JudgeError, nearest
from calm.judges.blind import Blinded, Undeclared
from calm.models.wire import Judge, Remarks

LONGEST_MESSAGE: Final = 300
"""Characters of the message of an exception that are shown."""
_INSTALLED: Final = tuple(
    {
        *(str(Path(__file__).parent.parent), str(Path(asyncio.__file__).parent.parent)),
        *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
"""Folders whose code is not the user's."""


def in_short(error: BaseException) -> str:
    """Return the kind and the message of an exception, in a line that is not long."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it is the user's code, which may fail here, too
        said = "its message cannot be read"
    text = " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."


def place_of(error: BaseException) -> str:
    """
    Return the last line of the user's own code in the trace of an exception, as "judges.py, line 12, in lookup".

    Code that is installed, and calm's own, is not the user's; where there is no other, the last line will do.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*_INSTALLED, "<"))]
    if not (own or frames):
        return "its code"
    frame = (own or frames)[-1]
    path = Path(frame.filename)
    with suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return f"{path.as_posix()}, line {frame.lineno}, in {frame.name}"


EXPECTED: Mapping[Family, str] = {
    "pairwise": "an answer's id or 'tie'",
    "score": "a number",
    "rubric": "a mapping of criterion ids to true or false",
    "listwise": "a list of answer ids from best to worst",
    "label": "one of the classes",
}
"""What a callable of each kind returns, beside a verdict or None."""


def verdict_of(value: object, case: Case, family: Family, scale: Scale) -> Verdict:
    """
    Return the verdict that a value means.

    Raises:
        ValueError: it means none; the message says why.
    """
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
            return Score(scale.upright(number))
        case Criteria(met=met) if family == "rubric":
            return replace(value, met=_truths(met, case))
        case Mapping() if family == "rubric":
            return Criteria(_truths(value, case))
        case Ranking(order=order) if family == "listwise":
            return Ranking(_ranks(order, case))
        case list() | tuple() if family == "listwise":
            return Ranking(_ranks(value, case))
        case Label(value=said, probabilities=law) if family == "label":
            known = None if law is None else {_class(name, scale): p for name, p in law.items()}
            return Label(_class(said, scale), known)
        case str() if family == "label":
            return Label(_class(value, scale))
    raise ValueError(f"expected {EXPECTED[family]}, got {brief(value)}; return that, or a verdict of calm")


def _class(value: str, scale: Scale) -> str:
    classes = scale.classes
    found = None if classes is None else classes.named(value)
    if found is None:
        names = () if classes is None else classes.names
        raise ValueError(f"expected one of the classes ({', '.join(names)}), got {value[:80]!r}{nearest(value, names)}")
    return found


def brief(value: object) -> str:
    """Return a value in a few words, for a message."""
    if value is None:
        return "None"
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:80] + '...'} of type {type(value).__name__}"


def _expect_ids(given: Sequence[object], known: Sequence[str], expected: str) -> None:
    for one in given:
        if one not in known:
            raise ValueError(f"expected {expected}, got {one!r}{nearest(str(one), known)}")


def _on_scale(value: Real | float, scale: Scale) -> float:
    if not finite(value) or not scale.holds(float(value)):
        step = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ValueError(
            f"expected a number from {scale.low:g} to {scale.high:g}{step}, got {brief(value)}; set `scale`"
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
            raise ValueError(f"expected true, false or None for criterion {criterion!r}, got {brief(truth)}")
    return cast("dict[str, bool | None]", truths)


def _ranks(order: Sequence[object], case: Case) -> tuple[tuple[str, ...], ...]:
    groups = [tuple(group) if isinstance(group, list | tuple) else (group,) for group in order]
    ids = [one for group in groups for one in group]
    known = [a.id for a in case.answers]
    _expect_ids(ids, known, "an answer's id")
    if len(ids) != len(known) or len(set(ids)) != len(known):
        raise ValueError(f"expected each answer's id once ({', '.join(known)}), got {brief(order)}")
    return tuple(tuple(str(one) for one in group) for group in groups if group)


def finite(value: object) -> bool:
    """Return whether a value is a finite number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def imported(spec: str, module: str, attribute: str, *, wanted: Callable[[object], bool]) -> object:
    """
    Return an attribute of a module, which may lie in the current folder; `spec` is what the user wrote.

    Of the names that a message lists, each is of an object that is `wanted`.

    Raises:
        ConfigError: there is no such module or attribute, or importing it failed.
    """
    here = str(Path.cwd())
    added = here not in sys.path
    if added:  # as `python -m pytest` does, for the `calm` commands
        sys.path.insert(0, here)
    try:
        return _attribute(importlib.import_module(module), attribute, wanted)
    except ModuleNotFoundError as error:
        raise ConfigError(f"--calm-judge {spec}: {_no_module(module, error.name or module)}") from error
    except ConfigError as error:
        raise ConfigError([f"--calm-judge {spec}: {problem}" for problem in error.problems]) from error
    except (Exception, SystemExit) as error:  # whatever the user's module does on import is the user's to read
        raise ConfigError(f"--calm-judge {spec}: importing it failed: {in_short(error)} ({place_of(error)})") from error
    finally:
        if added:
            sys.path.remove(here)


def _no_module(module: str, missing: str) -> str:
    if missing != module and not module.startswith(f"{missing}."):
        return f"there is no module {missing!r}, which it imports; install it"
    if module.endswith(".py"):
        return f"there is no module {module!r}; write it without .py: {module.removesuffix('.py').replace('/', '.')}"
    package, _, _ = missing.rpartition(".")
    parent = sys.modules.get(package)
    places = [str(Path.cwd())] if not package else list(getattr(parent, "__path__", ()))
    there = [f"{package}.{one.name}".lstrip(".") for one in pkgutil.iter_modules(places)]
    close = get_close_matches(missing, there, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "run calm in the folder that holds it, or install it"
    return f"there is no module {missing!r}; {hint}"


def _attribute(found: object, path: str, wanted: Callable[[object], bool]) -> object:
    for step in path.split("."):
        if not hasattr(found, step):
            known = [one for one in dir(found) if not one.startswith("_") and wanted(getattr(found, one, None))]
            where = getattr(found, "__name__", type(found).__name__)
            raise ConfigError(f"{where!r} has no attribute {step!r}{nearest(step, known) if known else ''}")
        found = getattr(found, step)
    return found


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
