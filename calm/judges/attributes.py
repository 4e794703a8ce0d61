"""The attributes of a callable that is used as a judge: each is read once, checked, and has a default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TypeAlias, cast

from calm.core.classes import Classes, checked
from calm.core.verdict import FAMILY, Scale, Task
from calm.errors import ConfigError, nearest
from calm.judges.blind import READABLE
from calm.judges.values import finite
from calm.models.wire import Traits

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
        got = f"{qualified_name(function)}({', '.join(inspect.signature(function).parameters)})"
        fault(f"expected a callable f(case) or f(case, send) as a judge, got {got}")
    return "second" if second else "keyword" if keyword else ""


def _scale_of(function: Function, task: Task, fault: Fault) -> Scale:
    """Return the classes of a label judge, by its attributes; the scale of any other."""
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
    """Return the scale given as a `Scale` or a mapping, or the task's own."""
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
