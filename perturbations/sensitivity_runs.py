"""
Sensitivity to runs: harm what an agent did, and keep its answer, which still says that all of it was done.

Only what was surely needed is harmed: a call in a run that nothing calls wrong, which by the name of its tool changes
something, which the user asked for, and which no other call of the run makes up for. All else gives no edit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Final

from calm import Expects, Treated, perturbation
from calm.core.case import TIE, Step
from calm.core.verdict import Family
from calm.perturbations.agent_runs import READS, changes, verb
from calm.perturbations.prose import stock

BIAS = "sensitivity"
REFUSAL = "the request was turned down and nothing was changed"
TRIGGER = stock((REFUSAL,))

TASKS: Final[tuple[Family, ...]] = ("pairwise", "score", "listwise")
"""No rule says which criterion of a rubric a call served, so none of these edits serves a judge of rubrics."""
MAY_READ: Final = frozenset(("apply", "execute", "make", "open", "push", "start", "stop", "close"))
"""Verbs of calls that may change nothing, or nothing that matters, unless the user used the same word."""
NO_DEED: Final = frozenset((
    "available", "availability", "browser", "details", "draft", "estimate", "help", "history", "info", "log", "logs",
    "memory", "options", "page", "plan", "policy", "preview", "quote", "schema", "scratchpad", "simulate", "status",
    "summary", "tab", "template", "thought", "todo", "todos", "validate", "verify", "window",
)) | READS  # fmt: skip
"""Words in the name of a tool that says what there is, or keeps the agent's own notes, whatever verb begins it."""
OVERWRITES: Final = frozenset((
    "assign", "change", "edit", "modify", "move", "put", "rename", "replace", "schedule", "set", "update", "write",
))  # fmt: skip
"""Verbs of which a later call on the same thing leaves nothing of the earlier one."""
UNDOES: Final = frozenset(("cancel", "delete", "remove", "reopen", "replace", "reset", "reverse", "revoke"))
AMOUNTS: Final = frozenset((
    "adults", "amount", "budget", "children", "copies", "cost", "count", "days", "euros", "dollars", "guests", "hours",
    "items", "minutes", "nights", "passengers", "people", "percent", "persons", "pieces", "price", "qty", "quantity",
    "seats", "sum", "tickets", "total", "units", "weeks",
))  # fmt: skip
"""Words in the name of an argument that says how much or how many."""
SETTINGS: Final = frozenset((
    "attempts", "backoff", "batch", "chunk", "delay", "depth", "id", "index", "interval", "limit", "max", "min", "ms",
    "offset", "page", "per", "priority", "retries", "retry", "revision", "seed", "skip", "temperature", "timeout",
    "timestamp", "top", "ttl", "version", "wait",
))  # fmt: skip
"""Words in the name of an argument that says how a call is made, or which thing it is about, and not how much."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_VALUE: Final = re.compile(r"[^\s\"'=,;(){}\[\]]+")
_NUMBER: Final = re.compile(r"([1-9][0-9]{0,8})((?:\.[0-9]{1,2})?)")
_TRIED_ONLY: Final = re.compile(r"dry.?run|simulat|preview|\"?(?:check|validate|test)_only", re.IGNORECASE)
_FAILED: Final = 4.0
"""A gold score from 1 to below this is that of a failed run: `damage` takes three points, and 1 is the lowest."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def fail_call(case: Treated, rng: Random) -> Treated | None:
    """Let a call of the run that the user asked for fail, with all else as it was."""
    steps = case[case.target].steps
    return _at_deed(case, rng, lambda place: [*steps[:place], _refused(steps[place]), *steps[place + 1 :]])


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def drop_call(case: Treated, rng: Random) -> Treated | None:
    """Leave out a call of the run that the user asked for."""
    steps = case[case.target].steps
    return _at_deed(case, rng, lambda place: [*steps[:place], *steps[place + 1 :]])


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def stop_early(case: Treated, rng: Random) -> Treated | None:
    """End the run before the first call that the user asked for."""
    first = next(iter(_deeds(case)), 0)
    return _harmed(case, case[case.target].steps[:first]) if first else None


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=TASKS)
def change_amount(case: Treated, rng: Random) -> Treated | None:
    """Let a call of the run that the user asked for have another amount, in its arguments and its result."""
    steps, asked = case[case.target].steps, _asked(case)
    found = [(place, name) for place in _deeds(case) for name in _amounts(steps[place], asked)]
    if not found:
        return None
    place, name = rng.choice(found)
    old = str(_held(steps[place])[name])
    number = _NUMBER.fullmatch(old)
    if number is None:
        return None
    whole = int(number[1])
    new = f"{whole + rng.randint(max(1, whole // 10), max(2, whole // 4))}{number[2]}"
    other = re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w.])")
    before = re.compile(rf"({re.escape(json.dumps(name))}\s*:\s*\"?){re.escape(old)}(?![\w.])")
    step = replace(
        steps[place],
        arguments=before.sub(rf"\g<1>{new}", steps[place].arguments),
        result=other.sub(new, steps[place].result),
    )
    return _harmed(case, [*steps[:place], step, *steps[place + 1 :]])


def _refused(step: Step) -> Step:
    return replace(step, result=json.dumps({"error": REFUSAL}))


def _at_deed(case: Treated, rng: Random, harm: Callable[[int], Sequence[Step]]) -> Treated | None:
    places = _deeds(case)
    return _harmed(case, harm(rng.choice(places))) if places else None


def _harmed(case: Treated, steps: Sequence[Step]) -> Treated | None:
    return case.damage(case.target, lambda text: text, steps=steps)


# -------------------------------------------------------------------------------------------------- what was needed


def _deeds(case: Treated) -> list[int]:
    """Return the places of the calls without which the run is surely worse; none of a run that is known to be wrong."""
    if _is_wrong(case):
        return []
    steps, asked = case[case.target].steps, _asked(case)
    said = [asked, *(step.result.casefold() for step in steps)]
    return [
        place
        for place, step in enumerate(steps)
        if _is_deed(step, asked)
        and any(_stands(value, known) for value in _values(step) for known in said[: place + 1])
        and not _made_up_for(steps, place)
    ]


def _is_wrong(case: Treated) -> bool:
    """Return whether a gold label says that another answer is better, or that the run did not do all it should."""
    name = case.target
    met = case.met.get(name or "", {})
    if case.better not in (None, TIE, name) or any(met[c] != (case.points[c] > 0) for c in met if c in case.points):
        return True
    score = case.scores.get(name or "")
    if score is None or len(case.answers) > 1:
        return score is not None and score < max(case.scores.values())
    return not met and (score <= 0 or 1 < score < _FAILED)


def _asked(case: Treated) -> str:
    """Return what the user said: the question, and the turns before it."""
    return "\n".join([case.question, *(turn.text for turn in case.turns if turn.role == "user")]).casefold()


def _is_deed(step: Step, asked: str) -> bool:
    """Return whether a call did something that the user asked for, by its verb or by one of its values."""
    words = [word.lower() for word in _WORD.findall(step.tool[:200])]
    what = verb(step.tool)
    if not changes(step) or _TRIED_ONLY.search(step.tool + step.arguments) or NO_DEED & set(words):
        return False
    named = _says(what, asked)
    return named or (what not in MAY_READ and any(_stands(value, asked) for value in _values(step)))


def _says(what: str, asked: str) -> bool:
    """Return whether a text has a verb, also in a form such as "booked" or "moving"."""
    stem = re.escape(what.removesuffix("e"))
    return re.search(rf"\b(?:re)?{stem}(?:e|es|s|ed|d|ing|{what[-1]}ed|{what[-1]}ing)?\b", asked) is not None


def _held(step: Step) -> Mapping[str, object]:
    """Return the arguments of a call by their names; nothing where they are no object of JSON."""
    return _read(step.arguments) if len(step.arguments) <= _LONGEST else {}


@lru_cache(maxsize=256)
def _read(arguments: str) -> Mapping[str, object]:
    """Return what arguments hold; those of one run are compared with each other, and so read again and again."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_LONGEST: Final = 100_000
"""Characters of arguments that are looked at."""


def _values(step: Step) -> list[str]:
    """Return what a call is about: its arguments that are texts or numbers, in lower case."""
    held = _held(step).values()
    parts = [str(value) for value in held if isinstance(value, str | int | float) and not isinstance(value, bool)]
    return [part.casefold() for part in parts or (_VALUE.findall(step.arguments[:_LONGEST]) if not held else [])]


def _stands(value: str, text: str) -> bool:
    value = value.strip()
    start = value[:200]
    if start not in text or (len(value) < 2 and not value.isdigit()):
        return False
    return re.search(rf"(?<![\w.]){re.escape(start)}(?!\w|\.\w)", text) is not None


def _made_up_for(steps: Sequence[Step], place: int) -> bool:
    """Return whether another call of the run does the same, does it anew, or undoes it."""
    step = steps[place]
    own, made = _values(step), {*_values(step), *_given(step)}
    for number, other in enumerate(steps):
        if number == place or not changes(other):
            continue
        theirs = _values(other)
        same = other.tool == step.tool
        if same and (theirs == own or _held(other) == _held(step) != {}):
            return True
        if number > place and same and verb(step.tool) in OVERWRITES and own[:1] == theirs[:1]:
            return True
        if number > place and not same and verb(other.tool) in UNDOES and made & set(theirs):
            return True
    return False


def _given(step: Step) -> Iterator[str]:
    for found in re.finditer(r":\s*\"([^\"\n]{1,80})\"", step.result[:_LONGEST]):
        yield found[1].casefold()


def _amounts(step: Step, asked: str) -> list[str]:
    """Return the arguments of a call that say how much: by their names, or as the user said the same number."""
    found = []
    for name, value in _held(step).items():
        words = {word.lower() for word in _WORD.findall(name[:200])}
        number = isinstance(value, int | float | str) and not isinstance(value, bool)
        if not number or SETTINGS & words or _NUMBER.fullmatch(str(value)) is None:
            continue
        if AMOUNTS & words or _counts(name) or _stands(str(value), asked):
            found.append(name)
    return found


def _counts(name: str) -> bool:
    """Return whether the name of an argument says the number of something: `num_rooms`, `numberOfRooms`."""
    return re.match(r"(?i)(?:n|num|nr|no|number)_?(?:of)?_[a-z]|number_?of|num(?:of)?(?-i:[A-Z])", name) is not None
