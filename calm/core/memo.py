"""Stores of what was made before: by the objects it was made from, or the latest within so many bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Generic, TypeVar, TypeVarTuple, cast

from calm.core.case import Case
from calm.core.order import Recipe

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


K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """
    The last things that were made, by their keys; the oldest go when all take more than `room` bytes together.

    May be used from several threads.
    """

    def __init__(self, room: int) -> None:
        self.room, self.taken = room, 0
        self._held: dict[K, tuple[V, int]] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return what is held under a key, or None."""
        found = self._held.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, size: int) -> V:
        """Hold something of so many bytes, and return it."""
        with self._lock:
            if key in self._held:
                self.taken -= self._held.pop(key)[1]
            self._held[key] = value, size
            self.taken += size
            while self.taken > self.room:
                self.taken -= self._held.pop(next(iter(self._held)))[1]
        return value


class Identity:
    """
    A key that is equal to another one of the same object, and to no other.

    It holds the object, so no later object can be taken for it. The object itself may be unhashable.

    >>> one, other = [1], [1]
    >>> Identity(one) == Identity(one), Identity(one) == Identity(other)
    (True, False)
    """

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)
