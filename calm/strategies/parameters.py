"""What the parameters of edits are drawn from: their doses, numbers of times, shares and names, the least first."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from calm.core.edits import Edit
from calm.errors import ConfigError
from calm.gate.catalogue import Entry, factory_of
from calm.strategies.running import running

VARIATIONS: Final = 8
"""In so many ways an edit is drawn: with other parameters, and other words where it draws its words."""

KINDS: Final[Mapping[str, Callable[[], Sequence[object]]]] = {
    "percent": lambda: (60, 75, 90, 99),
    "tokens": lambda: (50, 200, 500, 1000),
    "share": lambda: (0.05, 0.1, 0.25, 0.5),
    "times": lambda: (2, 3, 4),
    "appeals": lambda: (2, 3, 4),
    "model": lambda: (running().model,),
    "int": lambda: (1, 2, 3, 4),
    "float": lambda: (1.5, 2.0, 3.0, 4.0),
    "str": lambda: (running().model,),
    "Sequence[Case]": lambda: (running().cases,),
}
"""The values of a parameter by its name, or else by its type: what `STANDS_FOR` has one sample of each."""


@dataclass(frozen=True, slots=True)
class Step:
    """An edit with its parameters, the seed of the words that it draws, and how a test writes it."""

    edit: Edit
    name: str
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.name} (seed {self.seed})" if self.seed else self.name


def step(entry: Entry, variation: int) -> Step | None:
    """
    Return an edit of the catalogue in one of its variations, from 0; the first one has the least parameters.

    None where this one does not take such a parameter, or for an edit of a prompt.
    """
    seed, given = variation, {}
    for name, values in _kinds(entry).items():
        seed, place = divmod(seed, len(values()))
        given[name] = values()[place]
    try:
        edit = factory_of(entry)(**given) if given else entry.edit
    except ConfigError:
        return None
    if not isinstance(edit, Edit):
        return None
    shown = ", ".join(name if name == "cases" else repr(value) for name, value in given.items())
    return Step(edit, f"{entry.key}({shown})" if given else entry.key, seed)


@cache
def _kinds(entry: Entry) -> Mapping[str, Callable[[], Sequence[object]]]:
    """Return what each parameter of an entry can be; nothing if one of them is of no known kind."""
    if not entry.takes:
        return {}
    parameters = inspect.signature(factory_of(entry)).parameters.values()
    found = {p.name: KINDS.get(p.name, KINDS.get(str(p.annotation))) for p in parameters}
    return {name: kind for name, kind in found.items() if kind is not None} if all(found.values()) else {}
