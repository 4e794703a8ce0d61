"""
A store of what was made from the same objects, for code that looks at them many times.

Edits, inert words and orders are pure functions of a case, an edit and a seed. The probes of a run share their cases,
with the order of these and their inert forms. A plan goes through all probes three times, and with every variant it
meets each edit twice in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar, TypeVarTuple, cast

from calm.core.case import Case
from calm.core.recipes import Recipe

T = TypeVar("T")
C = TypeVar("C", bound=Case)
Ts = TypeVarTuple("Ts")


class Memo:
    """
    Keeps what was made, by what it was made of: objects by identity, and values, the first of which names the kind.

    It holds the objects, so that no later one can be taken for them. So it grows, and is kept no longer than what it
    serves. What is made for one judge is kept apart from what is made for another: each has a memo of its own. With
    `kinds`, nothing else is kept, and cases with texts of their own as their recipes alone.
    """

    def __init__(self, kinds: frozenset[str] | None = None) -> None:
        self._kinds = kinds
        self._made: dict[tuple[Hashable, ...], tuple[object, tuple[object, ...]]] = {}

    @property
    def whole(self) -> bool:
        """Whether it keeps whatever was made."""
        return self._kinds is None

    def once(self, make: Callable[[], T], of: tuple[object, ...], *values: Hashable) -> T:
        """Return what `make` returned for these objects and values the first time; an error is not kept."""
        if self._kinds is not None and values[0] not in self._kinds:
            return make()
        key = (*map(id, of), *values)
        if key not in self._made:
            self._made[key] = make(), of
        return cast(T, self._made[key][0])


def recipe(memo: Memo | None, case: C, make: Callable[[], C]) -> Recipe[C]:
    """Return a case that was made as it is held, by how it is made again; beside a memo of all kinds it is kept."""
    return Recipe(case, None if memo is not None and memo.whole else make)


def remade(memo: Memo | None, make: Callable[[*Ts], C], *of: *Ts) -> Recipe[C]:
    """Return what a function makes, as it is held."""
    return recipe(memo, make(*of), partial(make, *of))


def once(memo: Memo | None, make: Callable[[], T], of: tuple[object, ...], *values: Hashable) -> T:
    """Return what is made of objects and values: made once if there is a memo, else anew."""
    return make() if memo is None else memo.once(make, of, *values)
