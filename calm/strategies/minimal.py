"""
Search and shrink with Hypothesis' engine: what `hypothesis.find` does, with a seed and with examples to start from.

`find` takes no seed without giving up its example database, and stops to shrink after five minutes of a clock. A hunt
must end alike whether its judge is fast or slow, and begins with what it knows. So this module, and no other, drives
the engine below `find` (`ConjectureRunner`), which is not a public name: see decision 29.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Generic, TypeAlias, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.control import BuildContext
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.engine import ConjectureRunner, RunIsComplete
from hypothesis.internal.escalation import InterestingOrigin
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Choices: TypeAlias = tuple[int, ...]
"""What a strategy of lists, tuples, integers and booleans draws, in turn."""

_KEY: Final = b"calm"
_UNSHRUNK: Final = b"calm.secondary"
"""Where the engine keeps examples that are not minimal: what it finds there it shrinks."""
_ONE: Final = InterestingOrigin(ValueError, None, None, (), ())
"""All examples are shrunk as one."""


class Enough(Exception):
    """Raised by a predicate that can tell nothing more: what was found so far is the result."""


class _Runner(ConjectureRunner):
    """The engine without its clock: a slow judge is shrunk as far as a fast one."""

    @property
    def finish_shrinking_deadline(self) -> float | None:
        return None

    @finish_shrinking_deadline.setter
    def finish_shrinking_deadline(self, _value: float | None) -> None:
        pass


@dataclass(slots=True)
class _Watched(Generic[T]):
    """Runs a predicate on what is drawn, and keeps the simplest that it holds for."""

    strategy: SearchStrategy[T]
    holds: Callable[[T], bool]
    score: Callable[[T], float] | None
    found: dict[Choices, T] = field(default_factory=dict)

    def __call__(self, data: ConjectureData) -> None:
        with BuildContext(data, wrapped_test=self.holds):
            one = data.draw(self.strategy)
        try:
            held = self.holds(one)
        except Enough:
            raise RunIsComplete from None
        if self.score is not None:
            data.target_observations["favour"] = self.score(one)
        if held:
            self.found[tuple(map(int, data.choices))] = one
            data.mark_interesting(_ONE)


def minimal(
    strategy: SearchStrategy[T],
    holds: Callable[[T], bool],
    seed: int,
    *,
    known: Iterable[bytes] = (),
    examples: int = 0,
    score: Callable[[T], float] | None = None,
) -> tuple[T, Choices] | None:
    """
    Return the simplest value found for which a predicate holds, with what was drawn for it; None if there is none.

    Known examples are tried first, the shortest first. If none holds, `examples` others are generated. What holds is
    shrunk. The result depends on the arguments alone. Simpler means fewer choices, then smaller ones.

    Args:
        strategy: lists, tuples, integers from 0 on, and booleans, in any combination, and nothing else.
        holds: the predicate. It says the same of a value each time, and raises nothing but `Enough`.
        seed: decides what is generated.
        known: examples, as `encoded` gives them.
        examples: how many values to generate at most.
        score: what is to grow while values are generated, called after `holds`; None: nothing guides them.
    """
    database = InMemoryExampleDatabase()
    for one in known:
        database.save(_UNSHRUNK, one)
    watched = _Watched(strategy, holds, score)
    generating = (Phase.generate, Phase.target) if examples else ()
    rules = settings(
        database=database,
        phases=[Phase.reuse, *generating, Phase.shrink],
        max_examples=examples or 100,  # so many known ones are tried, too
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    _Runner(watched, settings=rules, random=Random(seed), database_key=_KEY).run()
    if not watched.found:
        return None
    simplest = min(watched.found, key=lambda drawn: (len(drawn), drawn))
    return watched.found[simplest], simplest


def encoded(drawn: Sequence[int | bool]) -> bytes:
    """Return what makes the engine draw these choices, as its example database keeps it."""
    return choices_to_bytes(drawn)
