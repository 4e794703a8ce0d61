"""The result of an import."""

from __future__ import annotations

from dataclasses import dataclass

from calm.core.case import Case
from calm.errors import few_of


@dataclass(frozen=True, slots=True)
class ImportResult:
    """
    The cases of a foreign file in its order, the number of its records, and notes about them for the user.

    `left` are the records, from 1, of which nothing is taken.
    """

    cases: tuple[Case, ...]
    records: int
    notes: tuple[str, ...] = ()
    left: frozenset[int] = frozenset()


def listed(records: list[int], *, most: int = 10) -> str:
    """
    Return record numbers in words, only the first if they are many.

    >>> listed([3]), listed([3, 5]), listed(list(range(1, 15)), most=3)
    ('record 3', 'records 3, 5', 'records 1, 2, 3 and 11 more')
    """
    return f"record{'s' if len(records) > 1 else ''} {few_of([str(record) for record in records], most)}"
