"""Parts of cases that a judge is never shown: a conversation, passages or runs for which its prompt has no place."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from calm.cases.shapes import WITHOUT
from calm.core.case import Case
from calm.errors import ConfigError
from calm.models.wire import Judge

LOOKED_AT: Final = 5
"""So many cases with a part are rendered with and without it; a prompt that shows it shows it in one of them."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A part that the judge is never shown, by its key, and how many of the cases have it."""

    part: str
    cases: int
    of: int


def unseen(judge: Judge, cases: Sequence[Case]) -> tuple[Unseen, ...]:
    """
    Return the parts of cases that make no difference to what a judge is shown.

    Cases are rendered, and no judge is asked. A case that cannot be shown at all is left out.
    """
    found = []
    for part, without in WITHOUT.items():
        having = [(case, bare) for case in cases if (bare := without(case)) != case]
        if having and not any(_differ(judge, *both) for both in having[:LOOKED_AT]):
            found.append(Unseen(part, len(having), len(cases)))
    return tuple(found)


def _differ(judge: Judge, case: Case, bare: Case) -> bool:
    with suppress(ConfigError):  # whoever refuses such a case says why
        return repr(judge.sees(case)) != repr(judge.sees(bare))
    return True
