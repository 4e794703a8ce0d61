"""
Cases that are made when they are wanted and then let go: what is held of one is how it is made again.

An edit, inert words and an order are pure functions of a case, an edit and a seed. The cases that a probe made of long
answers would fill the memory many times over, though each is looked at a few times: when its edit is checked, when its
question is put, and when it is asked. Those that were made last stay for a while, and short ones stay for good.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from sys import getsizeof
from typing import Final, Generic, TypeVar
from weakref import ref

from calm.core.case import Case
from calm.errors import EditError

C_co = TypeVar("C_co", bound=Case, covariant=True)
C = TypeVar("C", bound=Case)

ROOM: Final = 1 << 22
"""Bytes of cases that stay after they were made, in a process."""
LEAST: Final = 1 << 10
"""About how many bytes a case takes whose texts are all empty."""
SHORT: Final = 1 << 12
"""Characters of a case that take about as much room as how it is made again."""


class Recipe(Generic[C_co]):
    """
    A case that was made, and how to make it again. It is kept if it is short, or without `make`, as one is that holds
    no text of its own.

    `mark` identifies the case for code that derives something from it and does not keep the case.
    """

    __slots__ = ("__weakref__", "_hash", "_made", "_make", "id", "mark", "slots")

    def __init__(self, case: C_co, make: Callable[[], C_co] | None = None) -> None:
        self.id = case.id
        self.slots = case.slots
        self.mark: object = None
        self._made: C_co | None = case
        if make is not None and _is_long(case):
            self._make = make
            texts = _texts(case)
            self._hash = hash(texts)
            _SHELF.add(self, _size_of(texts))

    def __call__(self) -> C_co:
        """
        Return the case: the one that is still there, or another one with the same content.

        Raises:
            EditError: what makes it made another one this time.
        """
        case = self._made
        if case is None:
            case = self._make()
            texts = _texts(case)
            if hash(texts) != self._hash:
                raise impure(self.id)
            self._made = case
            _SHELF.add(self, _size_of(texts))
        return case

    def let_go(self) -> None:
        """Hold the case no more."""
        self._made = None


class _Shelf:
    """The recipes whose cases are there, the oldest first; it holds none of them."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = 0
        self._lock = threading.Lock()
        self._line: deque[tuple[ref[Recipe[Case]], int]] = deque()

    def add(self, recipe: Recipe[Case], size: int) -> None:
        """Note that the case of a recipe is there, of so many bytes, and let the oldest go until there is room."""
        with self._lock:
            self._line.append((ref(recipe), size))
            self.taken += size
            while self.taken > self.room:
                oldest, freed = self._line.popleft()
                self.taken -= freed
                if (one := oldest()) is not None:
                    one.let_go()


_SHELF: Final = _Shelf(ROOM)


def made(case: C | Recipe[C]) -> C:
    """Return a case that may be held as its recipe."""
    return case() if isinstance(case, Recipe) else case


def impure(case_id: str) -> EditError:
    """Return the error for an edit that made something else of a case the second time."""
    return EditError(
        f"case {case_id}: an edit made something else of it the second time; an edit is a pure function of the case "
        "and of `rng`: draw from `rng` alone, and keep nothing from one case to the next"
    )


def _is_long(case: Case) -> bool:
    answers = case.answers
    plain = not (case.turns or case.context or any(answer.history or answer.steps for answer in answers))
    size = len(case.question) + sum([len(answer.text) for answer in answers]) if plain else sum(map(len, _texts(case)))
    return size > SHORT


def _texts(case: Case) -> tuple[str, ...]:
    """Return the texts of a case, which are most of it."""
    texts = [case.question, *case.notes, *case.fields.values(), *case.surroundings()]
    for answer in case.answers:
        texts += (answer.text, *case.history(answer))
    return tuple(texts)


def _size_of(texts: tuple[str, ...]) -> int:
    """Return about how many bytes of memory a case with these texts takes, also where it shares them with others."""
    return LEAST + sum(map(getsizeof, texts))
